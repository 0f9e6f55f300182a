"""What a file says and what comes of it: environment, hooks, outputs, watching, Lua. Each with real processes."""
import json
import os
import pwd
import time

from pathlib import Path

import pytest

from kepler_home import Home, variables_of, wait_until

ROOT = os.geteuid() == 0


@pytest.fixture
def home():
    home = Home()
    home.env["ONLY_THE_DAEMON"] = "secret"
    home.start_daemon()
    del home.env["ONLY_THE_DAEMON"]
    yield home
    home.close()


def without_mark(found):
    """Without what the daemon adds where there are no control groups."""
    found.pop("KEPLER_TREE", None)
    return found


def read_environ(path):
    with open(path) as file:
        return without_mark(dict(item.split("=", 1) for item in file.read().split("\0") if item))


def pairs(home, name):
    """What a process wrote by dump()."""
    return read_environ(home.path(name))


def environ(home, service, file="kepler.yaml"):
    return without_mark(variables_of(home.services(file)[service]["pid"]))


def identity(user=None):
    """The variables of a user; of one who runs the tests only when that is not root."""
    if not user and ROOT:
        return {}
    account = pwd.getpwnam(user) if user else pwd.getpwuid(os.getuid())
    return {"HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name, "SHELL": account.pw_shell}


def finish(home, *words, **options):
    """Start and wait until everything has ended; returns what was said."""
    return home.run("start", *words, **options)


def dump(name):
    """A command that writes its environment and adds nothing to it."""
    return json.dumps(["cp", "--no-preserve=all", "/proc/self/environ", name])


# --- environment ----------------------------------------------------------------------------------

def test_children_get_exactly_the_configured_environment(home):
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
    finish(home, env={"COLOR": "red"})
    caller = dict(home.environment(), COLOR="red")
    caller.pop("KEPLER_SOCKET_PATH", None)
    assert pairs(home, "inherits") == dict(dict(caller, **identity()), FROM_FILE="file", Q="red file", S="$COLOR", A="2", B="1-red-file")
    bare = {**identity(), "PATH": os.environ["PATH"], "X": "red", "N": "1.10", "T": "true", "E": ""}
    assert pairs(home, "bare") == bare
    assert pairs(home, "hook") == dict(bare, H="1")
    assert pairs(home, "bare_hook") == {**identity(), "PATH": os.environ["PATH"], "H": "2"}


@pytest.mark.skipif(not ROOT, reason="only root runs things as others")
def test_identity_variables_match_the_user_and_win(home):
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
    own = identity("nobody")

    def shown(name):
        return {key: pairs(home, name).get(key) for key in own}
    assert shown("named") == own and shown("number") == own
    assert pairs(home, "named")["SEEN"] == "nobody"
    assert pairs(home, "named")["FROM_FILE"] == nobody.pw_dir
    assert shown("hook") == dict(own, USER="own")
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
    assert "c" not in environ(home, "a")


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

    assert environ(home, "a", "true.yaml") == identity()
    assert environ(home, "a", "declared.yaml") == dict(identity(), COLOR="red", TWO="2 red", THREE="2 red!", X="none")
    assert environ(home, "a", "off.yaml") == dict(dict(home.environment(), COLOR="red"), **identity())
    for file in ("true.yaml", "declared.yaml"):
        reason = home.wait_for("b", "failed", file=file)["fail_reason"]
        assert "kepler.env.HOME" in reason and "kepler.autostart.environment" in reason
    folders = [os.path.join(home.state, "configs", name) for name in os.listdir(os.path.join(home.state, "configs"))]
    kept = {open(os.path.join(folder, "source_path.txt")).read(): sorted(os.listdir(folder)) for folder in folders}
    assert "expanded_config.yaml" in kept[home.path("declared.yaml")]
    assert "expanded_config.yaml" not in kept[home.path("off.yaml")]


def test_run_uses_the_callers_shell_else_bash_else_sh(home):
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


def test_hooks_run_in_the_documented_order(home):
    home.write(f"""
        services:
          a:
            run: "echo spawned >> order; exec sleep 1000"
            hooks: {hooks()}
        """)
    home.start()
    wait_until(lambda: len(order(home)) == 3, "it is up")
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


def test_hooks_see_the_status_of_their_service(home):
    home.write("""
        services:
          ended:
            run: "exit 3"
            hooks: {post_exit: {run: 'echo "${{ service.status }}$ ${{ service.exit_code }}$ ${{ hook.name }}$"'}}
          killed:
            run: "kill -9 $$"
            hooks: {post_exit: {run: 'echo "${{ service.status }}$ ${{ tostring(service.exit_code) }}$"'}}
          stopped:
            run: "exec sleep 1000"
            logs: {retention: {on_stop: retain}}
            hooks:
              pre_start: {run: 'echo "${{ service.status }}$ ${{ service.initialized }}$"'}
              pre_stop: {run: 'echo "${{ service.status }}$ ${{ service.initialized }}$"'}
              post_stop: {run: 'echo "${{ service.status }}$"'}
          again:
            run: "test -e third && exec sleep 1000; touch second; exit 1"
            restart: on-failure
            hooks: {pre_start: {run: "test ! -e second"}}
        """)
    home.start()
    home.wait_for("ended", "exited")
    home.wait_for("killed", "killed")
    home.wait_for("stopped", "running")
    home.run("stop", "stopped")
    wait_until(lambda: [text for _, text in home.lines("ended")] == ["exited 3 post_exit"], "the hook knows the code")
    wait_until(lambda: [text for _, text in home.lines("killed")] == ["killed nil"], "the hook knows that there is none")
    assert [text for _, text in home.lines("stopped")] == ["starting false", "running true", "stopped"]
    # a restart by policy whose pre_start fails is a failed start: nothing runs, and the policy tries again
    wait_until(lambda: any("pre_start" in text for _, text in home.lines("again")), "the hook fails")
    Path(home.folder, "third").touch()
    Path(home.folder, "second").unlink()
    home.wait_for("again", "running")


def test_health_hooks_run_on_each_change(home):
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


def test_a_folder_that_cannot_be_watched_is_reported_in_the_log_of_the_service(home):
    gone = home.folder + "-gone"  # below the folder of the service it might still come
    home.write(f"services: {{a: {{run: exec sleep 1000, restart: {{policy: always, watch: ['{gone}/*.c']}}}}}}")
    home.start("--wait")
    assert wait_until(lambda: home.lines("a"), "it is told") == [
        ("a", f"'restart.watch' does not see all changes: look at '{gone}': No such file or directory"),
    ]
    assert home.status("a") == "running"


def test_changes_of_watched_files_restart(home):
    """What patterns match is tested by itself; here it is who restarts."""
    os.makedirs(home.path("src/deep/er"))
    os.makedirs(home.path("abs"))
    watches = {
        "star": ["src/*.{c,h}"], "deep": ["src/**/*.c"], "without": ["src/**/*", "!src/**/*.o"], "plain": ["src/a1.c"],
        "absolute": [home.path("abs") + "/*.txt"], "above": ["../src/./[a-b]?.c"], "coming": ["gen/**/*.c"],
        "computed": "${{ {'src/**/new/*.c'} }}$",
    }
    services = {name: {"run": "exec sleep 1000", "restart": {"policy": "on-failure", "watch": watch}} for name, watch in watches.items()}
    services["above"]["working_dir"] = "abs"
    home.write(json.dumps({"services": services}))
    home.start("--wait", "--timeout", "100s")
    before = {name: one["pid"] for name, one in home.services().items()}

    def changed():
        now = home.services()
        return {name for name in services if now[name]["status"] == "running" and now[name]["pid"] != before[name]}

    def expect(*names):
        wait_until(lambda: changed() >= set(names), f"{names} restart, not {changed()}")
        assert changed() == set(names)
        before.update({name: one["pid"] for name, one in home.services().items()})

    with home.frozen():
        home.write("x", "src/b.o")  # if anybody minds this, it is seen with the next
        home.write("x", "src/deep/er/x.c")
    expect("deep", "without")
    with home.frozen():
        home.write("x", "src/a1.c")
        home.write("x", "abs/x.txt")
    expect("star", "deep", "without", "plain", "above", "absolute")
    with home.frozen():
        os.makedirs(home.path("gen/new"))
        home.write("x", "gen/new/x.c")
        os.makedirs(home.path("src/deep/new"))
        home.write("x", "src/deep/new/y.c")
    expect("coming", "deep", "without", "computed")
    home.run("stop", "plain")
    os.utime(home.path("src/a1.c"))  # touch
    expect("star", "deep", "without", "above")
    assert home.status("plain") == "stopped"


def test_a_burst_of_changes_is_one_restart_and_changes_during_it_are_ignored(home):
    home.write("""
        services:
          a:
            run: "echo up; exec sleep 1000"
            restart: {policy: on-failure, watch: ["*.txt"]}
            hooks:
              pre_start: {run: "echo again > again.txt"}
        """)
    home.start("--wait")
    wait_until(lambda: restarts(home, "a") == 1, "it is up")
    with home.frozen():
        for i in range(3):
            home.write(str(i), f"{i}.txt")
    wait_until(lambda: home.services()["a"]["pid"] and restarts(home, "a") == 2, "a restart")
    home.wait_for("a", "running")
    deadline = time.monotonic() + 1.5  # three windows
    while time.monotonic() < deadline:
        assert restarts(home, "a") == 2
        time.sleep(0.1)


# --- values and Lua -------------------------------------------------------------------------------

def evaluate(home, expressions, **more):
    """What becomes of each expression, as a text, or as the reason of a failure."""
    services = {f"s{i}": {"command": ["printf", "%s\\n", text], "env_file": "lua.env", "environment": ["OWN=1"]}
                for i, text in enumerate(expressions)}
    home.write("FROM_FILE=2\n", "lua.env")
    home.write(json.dumps(dict(more, services=services)))
    home.run("start", "-D", "mode=fast", check=False)
    found, lines = home.services(), {}
    for service, text in home.lines():
        lines.setdefault(service, []).append(text)
    return ["\n".join(lines.get(f"s{i}", [])) if found[f"s{i}"]["status"] == "exited" else found[f"s{i}"]["fail_reason"]
            for i in range(len(expressions))]


def test_expressions_see_the_documented_names(home):
    cases = {
        "${{ service.name }}$ ${{ service.status }}$ ${{ service.initialized }}$": "s0 starting false",
        "${{ service.restart_count }}$${{ service.restart_count_since_healthy }}$${{ service.exit_code }}$": "00",
        "${{ service.env.OWN }}$${{ service.env_file.FROM_FILE }}$${{ service.env.FROM_FILE }}$": "122",
        "${{ tostring(service.env_file.OWN) }}$ ${{ tostring(service.hooks) }}$ ${{ tostring(hooks) }}$": "nil nil nil",
        "${{ hook.env.X }}$${{ tostring(hook.name) }}$${{ tostring(hook.had_failure) }}$": "nilnil",
        "${{ kepler.env.SHELL }}$ ${{ kepler.flags.mode }}$ ${{ tostring(kepler.flags.none) }}$": "/bin/sh fast nil",
        "${{ owner.uid }}$ ${{ owner.gid }}$ ${{ owner.user }}$": f"{os.getuid()} {os.getgid()} {pwd.getpwuid(os.getuid()).pw_name}",
        "${{ next(deps) == nil and type(deps) }}$": "table",
        "${{ twice(21) }}$ ${{ shared }}$": "42 chunk",
        "${{ unknown_name }}$|${{ tostring(raw_env) }}$": "|nil",
        "${{ tostring(io) }}$ ${{ tostring(require) }}$ ${{ tostring(debug) }}$ ${{ tostring(os.execute) }}$ ${{ tostring(load) }}$":
            "nil nil nil nil nil",
        "${{ type(os.clock()) }}$ ${{ type(os.time()) }}$ ${{ os.date('!%Y', 0) }}$ ${{ os.difftime(5, 3) }}$": "number number 1970 2",
        "${{ type(os.getgroups(owner.uid)) }}$ ${{ #os.getgroups(owner.user) > 0 }}$": "table true",
        "${{ json.stringify(json.parse('{\"a\": [1, true, null]}')) }}$ ${{ #json.stringify({1, 2}, true) > 5 }}$":
            '{"a":[1,true]} true',
        "${{ yaml.parse('a: [1, no]').a[2] }}$ ${{ yaml.stringify({a = 1}) }}$": "no a: 1\n",
        "${{ (function() local n = 0 for _ in pairs(service.env) do n = n + 1 end return n > 2 end)() }}$": "true",
        "${{ {} }}$ is a table": "[table] is a table",
        "never ${{ closed": "never ${{ closed",
        "$HOME ${HOME} $$": "$HOME ${HOME} $$",
    }
    got = evaluate(home, list(cases), lua="function twice(x) return 2 * x end\nshared = 'chunk'\nlocal hidden = 1")
    assert dict(zip(cases, got)) == cases


def test_a_forbidden_script_operation_fails_only_its_service(home):
    refused = {
        "${{ (function() service.name = 'x' end)() }}$": "'service' is read-only",
        "${{ (function() service.env.X = 'x' end)() }}$": "'service.env' is read-only",
        "${{ (function() kepler.flags.X = 'x' end)() }}$": "'kepler.flags' is read-only",
        "${{ (function() deps.x = 1 end)() }}$": "'deps' is read-only",
        "${{ (function() owner.uid = 1 end)() }}$": "'owner' is read-only",
        "${{ (function() hook.env.X = 1 end)() }}$": "'hook.env' is read-only",
        "${{ (function() string.rep = 1 end)() }}$": "'string' is read-only",
        "${{ os.getgroups() }}$": "os.getgroups",
        "${{ nothing.there }}$": "'nothing' is nil",
        "${{ (function() while true do end end)() }}$": "limit",
        "${{ string.rep('x', 1e9) }}$": "memory limit",
        "${{ string.find(string.rep('a', 1e5), string.rep('a*', 50) .. 'b') }}$": "limit",
        "${{ table.concat(table.create(1e6, string.rep('x', 1000))) }}$": "memory limit",
        "${{ (function() local x = 1 x += 1 end)() }}$": "Lua 5.4",
        "${{ 1 + }}$": "Lua 5.4",
    }
    got = evaluate(home, list(refused) + ["fine"])
    for (text, reason), found in zip(refused.items(), got):
        assert reason in found and "kepler.yaml:1:" in found, (text, found)
    assert got[-1] == "fine"


def test_services_of_one_start_share_global_and_each_start_resolves_again(home):
    home.write("""
        services:
          first:
            command: [echo, "${{ (function() global.token = 'abc' return 'set' end)() }}$"]
          second:
            command: [echo, "${{ tostring(global.token) }}$"]
            depends_on: {first: {condition: service_completed_successfully}}
          hooked:
            run: "exit 0"
            depends_on: {first: {condition: service_completed_successfully}}
            hooks: {pre_start: {run: "echo ${{ tostring(global.token) }}$"}}
          again:
            run: 'echo "$N $SEEN"; test $N -ge 2 && exec sleep 1000; exit 1'
            environment: ["N=${{ service.restart_count }}$", "SEEN=${{ service.initialized }}$"]
            restart: on-failure
          typed:
            command: "${{ {'echo', 1 + 1, 10 / 4, true} }}$"
          block:
            command: !lua |
              local words = {"echo"}
              for i = 1, 3 do words[#words + 1] = "w" .. i end
              return words
          nowhere: {run: "exit 0", working_dir: not-there}
        """)
    home.start()
    wait_until(lambda: len(home.lines("again")) == 3, "the third try")
    for name in ("second", "hooked", "typed", "block"):
        home.wait_for(name, "exited")
    assert [text for _, text in home.lines("second")] == ["abc"]
    assert [text for _, text in home.lines("hooked")] == ["nil"]
    assert [text for _, text in home.lines("again")] == ["0 false", "1 true", "2 true"]
    assert [text for _, text in home.lines("typed")] == ["2 2.5 true"]
    assert [text for _, text in home.lines("block")] == ["w1 w2 w3"]
    nowhere = home.wait_for("nowhere", "failed")
    assert "not-there" in nowhere["fail_reason"]


# --- the file -------------------------------------------------------------------------------------

def test_every_mistake_is_reported_at_once_with_its_place(home):
    home.write("""\
        service: {}
        services:
          a: {command: [x], run: y}
          Bad: {run: x}
          c: {run: x, depends_on: [nobody]}
          d: {run: x, restart: {policy: no, watch: ["*.c"]}}
          e: {run: x, output: true, restart: always}
          f: {run: x, healthcheck: {interval: 1s}}
          g: {run: x, logs: {retention: {on_exit: clear, on_failure: retain}}}
          h: {run: x, depends_on: "${{ {'a'} }}$"}
          i: {run: x, healthcheck: {run: x, timeout: 5}}
          j: {}
        """)
    for words in (["start", "-d"], ["validate"]):
        run = home.run(*words, check=False)
        assert run.returncode == 1
        at = home.path("kepler.yaml")
        for line, text in ((1, "'service'"), (3, "mutually exclusive"), (4, "'Bad'"), (5, "'nobody'"), (6, "'watch'"),
                           (7, "'output'"), (8, "'command' or 'run'"), (9, "on_exit"), (10, "depends_on"), (11, "duration"),
                           (12, "'command' or 'run'")):
            assert any(row.startswith((f"{at}:{line}:", f"Error: {at}:{line}:")) and text in row for row in run.stderr.splitlines()), \
                (line, text, run.stderr)
    assert home.run("ps", check=False).returncode == 0


def test_mistakes_of_lua_and_of_one_edge_are_reported_with_all_others(home):
    home.write("""\
        services:
          a: {run: x, environment: {LIST: [1]}}
          b: {run: "echo ${{ 1 + }}$"}
          c: {run: x, depends_on: {a: {condition: service_ready, exit_code: [one]}}}
          d: {run: x, depends_on: {a: {timeout: "${{ 1 + }}$"}}}
        """)
    said = home.run("validate", check=False)
    places = [row.split(":")[1:3] for row in said.stderr.splitlines() if row.startswith(home.path("kepler.yaml"))]
    assert said.returncode == 1 and places == [["2", "35"], ["3", "22"], ["4", "43"], ["4", "70"], ["5", "46"]], said.stderr


def test_a_healthcheck_in_compose_syntax(home):
    home.write("""
        services:
          list: {run: exec sleep 1000, healthcheck: {test: ["test", "-e", "well"], interval: 50ms}}
          cmd: {run: exec sleep 1000, healthcheck: {test: [CMD, test, -e, well], interval: 50ms}}
          shell: {run: exec sleep 1000, healthcheck: {test: [CMD-SHELL, "test -e well && true"], interval: 50ms}}
          text: {run: exec sleep 1000, healthcheck: {test: "test -e well && true", interval: 50ms}}
          computed: {run: exec sleep 1000, healthcheck: {test: ["test", "-e", "${{ 'well' }}$"], interval: 50ms}}
          nothing: {run: exec sleep 1000, healthcheck: {command: []}}
          sick: {run: exec sleep 1000, healthcheck: {test: ["false"], interval: 50ms, retries: 2}}
          none: {run: exec sleep 1000, healthcheck: {test: [NONE]}}
        """)
    home.write("", "well")
    home.start("--wait")
    found = {name: one["status"] for name, one in home.services().items()}
    assert found == dict.fromkeys(["list", "cmd", "shell", "text", "computed", "nothing"], "healthy") | {
        "sick": "unhealthy", "none": "running"}


def test_settings_of_the_file_and_output_may_be_computed(home):
    home.write("""
        kepler: {output_max_size: '${{ kepler.env.MOST }}$', timeout: '${{ kepler.env.WAIT or "1h" }}$'}
        services:
          a: {run: "echo ::output::k=v", output: '${{ kepler.flags.keep == "yes" }}$'}
          b: {run: "echo ::output::k=v", output: '${{ kepler.flags.keep == "no" }}$'}
          c: {run: "true", output: '${{ "yes" }}$'}
        """)
    run = home.run("start", "-D", "keep=yes", env={"MOST": "2K"}, check=False)
    assert run.returncode == 1 and "'output' must be true or false, got a string" in run.stderr
    found = json.loads(home.run("inspect").stdout)
    assert (found["kepler"]["output_max_size"], found["kepler"]["timeout"]) == (2048, "1h")
    assert [found["services"][name]["outputs"]["process"] for name in "ab"] == [{"k": "v"}, {}]
    assert home.lines("--no-hook") == [("b", "::output::k=v")]
    run = home.run("validate", env={"MOST": "many"}, check=False)
    assert run.returncode == 1 and "'output_max_size' must be a size such as \"10M\", got \"many\"" in run.stderr


def test_output_that_is_computed_needs_a_service_that_ends_for_good(home):
    home.write("services:\n  a: {run: 'true', restart: always, output: '${{ true }}$'}\n")
    run = home.run("validate", check=False)
    assert run.returncode == 1 and "'output' needs restart policy 'no'" in run.stderr


SLOW = "exec sleep ${{ (function() local n = 0 for i = 1, 3000000 do n = n + 1 end return 1000 end)() }}$"


def test_slow_expressions_delay_no_other_client(home):
    home.write("services:\n" + "".join(f"  s{i}: {{run: '{SLOW}'}}\n" for i in range(30)), "slow.yaml")
    home.write("services:\n  web: {run: 'exec sleep 1000'}\n")
    home.start(file="slow.yaml")
    home.start("--wait")
    statuses = [one["status"] for one in home.services("slow.yaml").values()]
    assert "starting" in statuses, "all of it was computed before anybody was answered"
    home.run("stop", file="slow.yaml")
    assert {one["status"] for one in home.services("slow.yaml").values()} == {"stopped"}
    home.start("--wait", "s3", "s7", file="slow.yaml")
    assert home.status("s7", file="slow.yaml") == "running"


CONDITION = "${{ (function() local n = 0 for i = 1, 3000000 do n = n + 1 end return \"service_started\" end)() }}$"


@pytest.mark.parametrize("words", [["start", "-d"], ["run", "-d"], ["recreate"]])
def test_a_slow_config_delays_no_other_client(home, words):
    home.write("services:\n  web: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    home.write("services:\n  s: {run: 'exec sleep 1000'}\n" + "".join(
        f"  s{i}: {{run: 'exec sleep 1000', depends_on: {{s: {{condition: '{CONDITION}'}}}}}}\n" for i in range(40)), "slow.yaml")
    for _ in range(5):  # on a busy machine it may be through before we look
        loading = home.begin(*words, file="slow.yaml")
        answered = 0
        while loading.poll() is None:
            assert home.status("web") == "running"
            answered += loading.poll() is None
        assert loading.wait() == 0, loading.stderr.read()
        home.run("stop", "--clean", file="slow.yaml")
        if answered > 4:
            break
    assert answered > 4, "it was read before anybody was answered"
