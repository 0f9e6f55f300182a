"""What a file says and what comes of it: environment, hooks, outputs, watching, Lua. Each with real processes."""
import json
import os
import pwd
import time

import pytest

from kepler_home import Home, wait_until

ROOT = os.geteuid() == 0


@pytest.fixture
def home():
    home = Home()
    home.env["ONLY_THE_DAEMON"] = "secret"
    home.start_daemon()
    del home.env["ONLY_THE_DAEMON"]
    yield home
    home.close()


def pairs(home, name):
    """What a process wrote by dump()."""
    with open(home.path(name)) as file:
        return dict(item.split("=", 1) for item in file.read().split("\0") if item)


def finish(home, *words, **options):
    """Start and wait until everything has ended; returns what was said."""
    return home.run("start", *words, **options)


def dump(name):
    """A command that writes its environment and adds nothing to it."""
    return json.dumps(["cp", "--no-preserve=all", "/proc/self/environ", name])


# --- environment ----------------------------------------------------------------------------------

def test_children_get_exactly_what_the_file_says(home):
    home.write("FROM_FILE=file\nA=file\nexport Q=\"$COLOR ${FROM_FILE}\"\nS='$COLOR'\n", "app.env")
    home.write(f"""
        services:
          inherits:
            command: {dump('inherits')}
            env_file: app.env
            environment:
              - A=1
              - B=${{{{ service.env.A }}}}$-${{{{ service.env.COLOR }}}}$-${{{{ service.env_file.A }}}}$
              - A=2
          bare:
            command: {dump('bare')}
            inherit_env: false
            environment: {{PATH: "{os.environ['PATH']}", X: "${{{{ kepler.env.COLOR }}}}$", N: 1.10, T: true, E: }}
            hooks:
              pre_start:
                - {{command: {dump('hook')}, environment: [H=1]}}
                - {{command: {dump('bare_hook')}, inherit_env: false, environment: {{PATH: "{os.environ['PATH']}", H: 2}}}}
            healthcheck: {{command: {dump('check')}, interval: 50ms}}
        """)
    finish(home, env={"COLOR": "red", "KEPLER_TOKEN": "0" * 64})
    caller = dict(home.environment(), COLOR="red")
    caller.pop("KEPLER_SOCKET_PATH", None)
    assert pairs(home, "inherits") == dict(caller, FROM_FILE="file", Q="red file", S="$COLOR", A="2", B="1-red-file")
    bare = {"PATH": os.environ["PATH"], "X": "red", "N": "1.10", "T": "true", "E": ""}
    assert pairs(home, "bare") == bare
    assert pairs(home, "hook") == dict(bare, H="1")
    assert pairs(home, "bare_hook") == {"PATH": os.environ["PATH"], "H": "2"}


@pytest.mark.skipif(not ROOT, reason="only root runs things as others")
def test_identity_is_that_of_the_user_and_wins(home):
    os.chmod(home.folder, 0o777)
    nobody = pwd.getpwnam("nobody")
    home.write("FROM_FILE=$HOME\n", "app.env")
    home.write(f"""
        services:
          named:
            command: {dump('named')}
            user: nobody
            env_file: app.env
            environment: [HOME=/elsewhere, "SEEN=${{{{ service.env.USER }}}}$"]
            hooks:
              pre_start: {{command: {dump('hook')}, environment: [USER=own]}}
              post_exit: {{command: {dump('root_hook')}, user: root}}
          plain: {{command: {dump('plain')}, user: nobody, user_identity: false, environment: [HOME=/elsewhere]}}
          root: {{command: {dump('root')}}}
          number: {{command: {dump('number')}, user: "{nobody.pw_uid}"}}
        """)
    finish(home, env={"HOME": "/caller", "USER": "caller", "LOGNAME": "caller"})
    identity = {"HOME": nobody.pw_dir, "USER": "nobody", "LOGNAME": "nobody", "SHELL": nobody.pw_shell}

    def shown(name):
        return {key: pairs(home, name).get(key) for key in identity}
    assert shown("named") == identity and shown("number") == identity
    assert pairs(home, "named")["SEEN"] == "nobody"
    assert pairs(home, "named")["FROM_FILE"] == nobody.pw_dir
    assert shown("hook") == dict(identity, USER="own")
    assert shown("root_hook")["USER"] == "root"
    assert shown("plain") == {"HOME": "/elsewhere", "USER": "caller", "LOGNAME": "caller", "SHELL": "/bin/sh"}
    assert shown("root") == {"HOME": "/caller", "USER": "caller", "LOGNAME": "caller", "SHELL": "/bin/sh"}


def test_overrides_and_refreshes_change_what_is_stored(home):
    home.write("""
        services:
          a:
            run: echo "$A $B $C"; exec sleep 1000
            environment: ["C=${{ kepler.flags.c }}$"]
        """)

    def said(*words, **options):
        home.run(*words, **options)
        wait_until(lambda: len(home.lines("a")) > len(seen), "a line")
        seen[:] = home.lines("a")
        return seen[-1][1]
    seen = []
    assert said("start", "-d", "-e", "A=over", "-D", "c=flag", env={"A": "1", "B": "1"}) == "over 1 flag"
    assert said("restart", env={"A": "2", "B": "2"}) == "over 1 flag"
    assert said("restart", "-e", "B=new", "-D", "c=", env={"A": "3", "B": "3"}) == "over new "
    assert said("restart", "--refresh-env", "-e", "B=last", env={"A": "4", "B": "4"}) == "4 last "
    assert said("restart") == "4 last "
    assert "c" not in pairs_of(home, "a")


def pairs_of(home, service):
    with open(f"/proc/{home.services()[service]['pid']}/environ") as file:
        return dict(item.split("=", 1) for item in file.read().split("\0") if item)


def test_autostart_keeps_only_what_is_declared(home):
    home.write("""
        kepler: {autostart: true}
        services:
          a: {command: [/bin/sleep, "1000"]}
          b: {command: [/bin/echo, "${{ kepler.env.HOME }}$"]}
        """, "true.yaml")
    home.write("""
        kepler:
          autostart:
            environment: [COLOR, UNSET, "TWO=2 ${{ kepler.env.COLOR }}$", "THREE=${{ kepler.env.TWO }}$!"]
        services:
          a: {command: [/bin/sleep, "1000"], environment: ["X=${{ kepler.env.UNSET or 'none' }}$"]}
          b: {command: [/bin/echo, "${{ kepler.env.HOME }}$"]}
        """, "declared.yaml")
    home.write("""
        services:
          a: {command: [/bin/sleep, "1000"]}
        """, "off.yaml")
    for file in ("true.yaml", "declared.yaml", "off.yaml"):
        home.start(file=file, env={"COLOR": "red"})
        home.wait_for("a", "running", file=file)

    def environ(file):
        with open(f"/proc/{home.services(file)['a']['pid']}/environ") as found:
            return dict(item.split("=", 1) for item in found.read().split("\0") if item)
    assert environ("true.yaml") == {}
    assert environ("declared.yaml") == {"COLOR": "red", "TWO": "2 red", "THREE": "2 red!", "X": "none"}
    assert environ("off.yaml") == dict(home.environment(), COLOR="red")
    for file in ("true.yaml", "declared.yaml"):
        reason = home.wait_for("b", "failed", file=file)["fail_reason"]
        assert "kepler.env.HOME" in reason and "kepler.autostart.environment" in reason
    folders = [os.path.join(home.state, "configs", name) for name in os.listdir(os.path.join(home.state, "configs"))]
    kept = {open(os.path.join(folder, "source_path.txt")).read(): sorted(os.listdir(folder)) for folder in folders}
    assert "expanded_config.yaml" in kept[home.path("declared.yaml")]
    assert "expanded_config.yaml" not in kept[home.path("off.yaml")]


def test_run_takes_the_shell_of_the_caller_else_bash_else_sh(home):
    home.write("#!/bin/sh\necho \"mine: $*\"\n", "shell")
    os.chmod(home.path("shell"), 0o755)
    home.write("""
        services:
          a: {run: 'echo "$0"'}
        """)
    assert finish(home, "--raw", env={"SHELL": home.path("shell")}).stdout == 'mine: -c echo "$0"\n'
    home.run("stop", "--clean")
    usual = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
    assert finish(home, "--raw", env={"SHELL": ""}).stdout == usual + "\n"


def test_env_files_are_optional_computed_and_must_be_readable(home):
    home.write("A=from dev\n", "dev.env")
    home.write("this is no env file\n", "bad.env")
    home.write("""
        services:
          missing: {run: 'echo ok', env_file: not-there.env}
          computed: {run: 'echo "$A"', env_file: '${{ kepler.env.STAGE }}$.env'}
          bad: {run: 'echo no', env_file: bad.env}
        """)
    finish(home, check=False, env={"STAGE": "dev"})
    assert sorted(home.lines("missing", "computed")) == [("computed", "from dev"), ("missing", "ok")]
    bad = home.services()["bad"]
    assert bad["status"] == "failed" and "bad.env:1" in bad["fail_reason"]


# --- hooks ----------------------------------------------------------------------------------------

PHASES = ["pre_start", "post_start", "pre_stop", "post_stop", "pre_restart", "post_restart", "post_exit", "pre_cleanup",
          "post_healthcheck_success", "post_healthcheck_fail"]


def hooks(phases=PHASES):
    """Each phase writes its name into the file `order`."""
    return json.dumps({phase: {"command": ["sh", "-c", f"echo {phase} >> order"]} for phase in phases})


def order(home):
    try:
        return home.read("order").split()
    except FileNotFoundError:
        return []


def test_hooks_run_in_the_order_of_the_documents(home):
    home.write(f"""
        services:
          a:
            run: "echo spawned >> order; exec sleep 1000"
            hooks: {hooks()}
        """)
    home.start()
    wait_until(lambda: order(home)[-1:] == ["post_start"], "it is up")
    assert sorted(order(home)[1:]) == ["post_start", "spawned"] and order(home)[0] == "pre_start"
    os.remove(home.path("order"))
    home.run("restart")
    wait_until(lambda: "post_restart" in order(home) and "spawned" in order(home), "it is up again")
    assert [one for one in order(home) if one != "spawned"] == [
        "pre_restart", "pre_stop", "post_stop", "pre_start", "post_start", "post_restart"]
    os.remove(home.path("order"))
    home.run("stop")
    assert order(home) == ["pre_stop", "post_stop"]
    home.run("stop", "--clean")
    assert order(home) == ["pre_stop", "post_stop", "pre_cleanup"]


def test_hooks_around_an_exit_and_a_policy_restart(home):
    home.write(f"""
        services:
          once: {{run: "echo spawned >> order; exit 3", hooks: {hooks()}}}
        """)
    finish(home, check=False)
    assert order(home)[0] == "pre_start" and order(home)[-1] == "post_exit" and len(order(home)) == 4
    home.run("stop", "--clean")
    os.remove(home.path("order"))
    home.write(f"""
        services:
          again:
            run: "echo spawned >> order; test -e second && exec sleep 1000; touch second; exit 1"
            restart: on-failure
            hooks: {hooks()}
        """)
    home.start()
    wait_until(lambda: "post_restart" in order(home) and order(home).count("spawned") == 2, "it is up again")
    assert [one for one in order(home) if one != "spawned"] == [
        "pre_start", "post_start", "post_exit", "pre_restart", "pre_start", "post_start", "post_restart"]


def test_hooks_of_health_come_with_each_change(home):
    home.write(f"""
        services:
          a:
            run: "exec sleep 1000"
            healthcheck: {{run: "test -e well", interval: 50ms, retries: 2}}
            hooks: {hooks(["post_healthcheck_success", "post_healthcheck_fail"])}
        """)
    home.write("", "well")
    home.start()
    home.wait_for("a", "healthy")
    os.remove(home.path("well"))
    home.wait_for("a", "unhealthy")
    wait_until(lambda: len(order(home)) == 2, "both hooks")
    assert order(home) == ["post_healthcheck_success", "post_healthcheck_fail"]


def test_steps_after_a_failure(home):
    home.write("""
        services:
          healed:
            run: "exit 0"
            hooks:
              pre_start:
                - run: echo one; exit 4
                - run: echo plain is passed over
                - {run: echo always, if: "${{ always() }}$"}
                - {run: echo still failed, if: "${{ hook.had_failure }}$"}
                - {run: echo never, if: false}
                - {run: echo no success, if: "${{ success() }}$"}
                - {run: echo healing, if: "${{ failure() }}$"}
                - run: echo plain again
                - {run: echo no failure any more, if: "${{ failure() }}$"}
          broken:
            run: "exit 0"
            hooks:
              pre_start:
                - run: exit 5
                - {run: "true", if: true}
                - {run: "exit 6", if: "${{ failure() }}$"}
          tolerant:
            run: "exit 0"
            hooks: {post_start: {run: exit 7}, post_exit: {run: exit 8}}
          odd:
            run: "exit 0"
            hooks:
              pre_start:
                - {run: echo skipped, if: "${{ nothing.there }}$"}
                - {run: echo skipped, if: "${{ success('nobody') }}$"}
                - run: echo goes on
        """)
    assert finish(home, check=False).returncode == 1
    healed = [text for _, text in home.lines("healed")]
    assert [text for text in healed if "step" not in text] == ["one", "always", "still failed", "healing", "plain again"]
    assert any("pre_start" in text and "step 1" in text and "4" in text for text in healed)
    services = home.services()
    assert services["healed"]["status"] == "exited" and services["tolerant"]["status"] == "exited"
    assert services["broken"]["status"] == "failed"
    assert "pre_start" in services["broken"]["fail_reason"] and "5" in services["broken"]["fail_reason"]
    assert services["odd"]["status"] == "exited"
    assert [text for _, text in home.lines("odd")][-1] == "goes on"
    found = [json.loads(line) for line in home.run("logs", "--json", "healed").stdout.splitlines()]
    assert {line.get("hook") for line in found} == {"pre_start"}
    assert [line for line in found if "step 1" in line["msg"]][0]["level"] == "error"
    assert "healed.pre_start | one" in home.run("logs", "healed").stdout


def test_status_functions_about_dependencies(home):
    home.write("""
        services:
          good: {run: "exit 0"}
          bad: {run: "exit 3"}
          out: {run: "exit 0", if: false}
          a:
            run: "exit 0"
            depends_on:
              good: {condition: service_stopped}
              bad: {condition: service_failed}
              out: {allow_skipped: true}
            hooks:
              pre_start:
                - {run: echo 1, if: "${{ success('good') and not failure('good') and not skipped('good') }}$"}
                - {run: echo 2, if: "${{ failure('bad') and not success('bad') }}$"}
                - {run: echo 3, if: "${{ skipped('out') and deps.out.status == 'skipped' }}$"}
                - {run: echo 4, if: "${{ deps.bad.exit_code == 3 and deps.good.initialized }}$"}
        """)
    finish(home)
    assert [text for _, text in home.lines("a")] == ["1", "2", "3", "4"]


def test_a_step_has_its_own_folder_and_ends_at_its_timeout(home):
    os.mkdir(home.path("sub"))
    os.mkdir(home.path("own"))
    home.write("""
        services:
          a:
            run: "exit 0"
            working_dir: sub
            hooks:
              pre_start: [{run: pwd}, {run: pwd, working_dir: own}]
          late:
            run: "exit 0"
            hooks: {pre_start: {run: sleep 1000, timeout: 200ms}}
        """)
    finish(home, check=False)
    assert [text for _, text in home.lines("a")] == [home.path("sub"), home.path("own")]
    late = home.services()["late"]
    assert late["status"] == "failed" and "timeout" in late["fail_reason"]


# --- outputs --------------------------------------------------------------------------------------

def test_outputs_of_processes_and_steps(home):
    home.write("""
        kepler: {output_max_size: 100B}
        services:
          a:
            run: |
              echo '::output::k=v=w'
              echo '::output::=no key'
              echo '::output::twice=1'
              echo '::output::twice=2'
              echo '::output::no sign'
              echo ' ::output::not=at the front'
              echo '::output::err=x' >&2
              echo line
            output: true
            outputs:
              twice: "declared ${{ service.hooks.pre_start.outputs.prep.id }}$"
              code: ${{ service.exit_code }}$
            hooks:
              pre_start:
                - {run: "echo '::output::id=17'; echo seen", output: prep}
                - {run: "echo ::output::id=here; echo ${{ hooks.pre_start.outputs.prep.id }}$"}
          big:
            run: |
              printf '::output::small=1\\n::output::big=%0200d\\n' 7
            output: true
          plain: {run: "echo ::output::x=1"}
          b:
            run: 'echo "${{ deps.a.outputs.k }}$/${{ deps.a.outputs.twice }}$/${{ deps.a.outputs.code }}$/${{ deps.a.outputs.none }}$"'
            depends_on: {a: {condition: service_completed_successfully}}
        """)
    finish(home)
    assert [text for _, text in home.lines("b")] == ["v=w/declared 17/0/"]
    lines = [text for _, text in home.lines("a")]
    assert [text for text in lines if not text.startswith("a line") and text != "::output::err=x"] == [
        "seen", "::output::id=here", "17", " ::output::not=at the front", "line"]
    assert "::output::err=x" in lines
    assert "a line that begins with ::output:: has no '='" in lines
    assert [text for _, text in home.lines("plain")] == ["::output::x=1"]
    assert any("dropped" in text for _, text in home.lines("big"))
    folder = outputs_folder(home)
    assert read_json(folder, "a", "process.json") == {"k": "v=w", "twice": "2"}
    assert read_json(folder, "a", "outputs.json") == {"k": "v=w", "twice": "declared 17", "code": "0"}
    assert read_json(folder, "a", "hooks", "pre_start", "prep.json") == {"id": "17"}
    assert read_json(folder, "big", "outputs.json") == {"small": "1"}
    shown = json.loads(home.run("inspect").stdout)["services"]["a"]["outputs"]
    assert shown["process"] == {"k": "v=w", "twice": "declared 17", "code": "0"}
    assert shown["hooks"]["pre_start"] == {"outputs": {"prep": {"id": "17"}}}


def outputs_folder(home):
    configs = os.path.join(home.state, "configs")
    return os.path.join(configs, os.listdir(configs)[0], "outputs")


def read_json(*parts):
    with open(os.path.join(*parts)) as file:
        return json.load(file)


def test_outputs_are_cleared_when_a_service_starts_again(home):
    home.write("""
        services:
          a:
            run: "test -e second || echo ::output::k=1; test ! -e second || exec sleep 1000"
            output: true
        """)
    finish(home)
    assert read_json(outputs_folder(home), "a", "outputs.json") == {"k": "1"}
    home.write("", "second")
    home.start()
    home.wait_for("a", "running")
    assert not os.path.exists(os.path.join(outputs_folder(home), "a", "outputs.json"))


# --- watching -------------------------------------------------------------------------------------

def restarts(home, service):
    return len([text for _, text in home.lines(service) if text == "up"])


def test_changes_of_watched_files_restart(home):
    os.makedirs(home.path("src/deep/er"))
    os.makedirs(home.path("abs"))
    services = {name: {"run": "echo up; exec sleep 1000", "restart": {"policy": "always", "watch": watch}} for name, watch in {
        "star": ["src/*.c"], "deep": ["src/**/*.c"], "one": ["src/a?.c"], "sets": ["src/[a-c]1.[!o]"], "braces": ["src/*.{c,h}"],
        "without": ["src/**/*", "!src/**/*.o"], "absolute": [home.path("abs") + "/*.txt"], "plain": ["src/main.c"],
        "below": ["*.yaml"], "coming": ["gen/**/*.c"], "above": ["../src/./*.yaml"],
    }.items()}
    services["below"]["working_dir"] = services["above"]["working_dir"] = "src"
    services["later"] = {"run": "echo up; exec sleep 1000", "restart": {"policy": "on-failure", "watch": "${{ {'src/**/new/*.c'} }}$"}}
    home.write(json.dumps({"services": services}))
    home.start("--wait", "--timeout", "20s")
    before = {name: home.services()[name]["pid"] for name in services}

    def changed():
        now = home.services()
        return {name for name in services if now[name]["status"] in ("running", "healthy") and now[name]["pid"] != before[name]}

    def expect(path, names, how="w"):
        if how == "w":
            with open(home.path(path), "w") as file:
                file.write(str(time.monotonic()))
        elif how == "mkdir":
            os.makedirs(os.path.dirname(home.path(path)))
            return expect(path, names)
        else:
            os.remove(home.path(path))
        wait_until(lambda: changed() >= names, f"{path} restarts {names}, not {changed()}")
        # A canary that is changed later and seen shows that nobody else was waiting for the first.
        assert changed() == names, path
        before.update({name: home.services()[name]["pid"] for name in services})

    expect("src/a1.c", {"star", "deep", "one", "sets", "braces", "without"})
    expect("src/deep/er/x.c", {"deep", "without"})
    expect("src/b.o", set())
    expect("src/x.h", {"braces", "without"})
    expect("src/main.c", {"star", "deep", "braces", "without", "plain"})
    expect("abs/x.txt", {"absolute"})
    expect("src/app.yaml", {"below", "above", "without"})
    expect("gen/new/x.c", {"coming"}, "mkdir")
    expect("gen/new/y.c", {"coming"})
    expect("src/deep/new/y.c", {"deep", "without", "later"}, "mkdir")
    expect("src/deep/new/y.c", {"deep", "without", "later"}, "remove")
    expect("elsewhere.c", set())
    home.run("stop", "plain")
    lines = restarts(home, "plain")
    expect("src/main.c", {"star", "deep", "braces", "without"})
    assert home.status("plain") == "stopped" and restarts(home, "plain") == lines


def test_a_burst_is_one_restart_and_changes_during_it_count_for_nothing(home):
    home.write("""
        services:
          a:
            run: "echo up; exec sleep 1000"
            restart: {policy: on-failure, watch: ["*.txt"]}
            hooks:
              pre_start: {run: "echo again > again.txt"}
        """)
    home.start("--wait")
    for i in range(20):
        home.write(str(i), f"{i}.txt")
    wait_until(lambda: home.services()["a"]["pid"] and restarts(home, "a") == 2, "a restart")
    home.wait_for("a", "running")
    deadline = time.monotonic() + 1.5  # three windows
    while time.monotonic() < deadline:
        assert restarts(home, "a") == 2
        time.sleep(0.1)
