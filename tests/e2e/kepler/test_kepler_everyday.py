"""Everyday use: commands touch what they name, explain what they leave, and know the words of other tools."""
import copy
import glob
import json
import os
import random
import re
import signal

import pytest
import yaml

from kepler_home import wait_until

CHAIN = """
    services:
      db: {run: "echo db >> order; exec sleep 1000"}
      migration: {run: "echo migration >> order; sleep 0.2", depends_on: [db]}
      api:
        run: "echo api >> order; exec sleep 1000"
        depends_on: {migration: {condition: service_completed_successfully}}
      web: {run: "echo web >> order; exec sleep 1000", depends_on: [api]}
      worker: {run: "echo worker >> order; exec sleep 1000"}
    """


def pids(home):
    return {name: one["pid"] for name, one in home.services().items()}


def order(home):
    return home.read("order").split()


# --- run and start by name --------------------------------------------------------------------


EIGHT = "services:\n" + "".join(f"  s{i}: {{run: 'echo old >> said; exec sleep 1000'}}\n" for i in range(7)) \
    + "  worker: {run: 'echo old worker; exec sleep 1000'}\n"


def test_running_one_service_of_an_edited_file_leaves_all_others_alone(home):
    home.write(EIGHT)
    home.start("--wait")
    before = pids(home)
    home.write(EIGHT.replace("old", "new").replace("  s3:", "  other:"))
    run = home.run("run", "-d", "--wait", "worker")
    assert run.stdout == "Started 1 service\n"
    assert run.stderr == (f"Warning: '{home.path('kepler.yaml')}' has changed since it was loaded: 'kepler apply' "
                          "reads it again\n")
    after = pids(home)
    assert {name for name in after if after[name] != before[name]} == {"worker"}
    assert home.run("logs", "--raw", "worker").stdout == "old worker\n" * 2
    home.run("stop", "s1")
    assert home.run("start", "-d", "s1").stderr.count("has changed since it was loaded") == 1
    assert {name for name, pid in pids(home).items() if pid != after[name]} == {"s1"}


def test_a_failure_of_a_service_run_by_name_stops_no_other(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000"}
          follower: {run: "exec sleep 1000", depends_on: {worker: {restart: true}}}
          worker: {run: "test -e good && exec sleep 1000; exit 3"}
        """)
    home.write("", "good")
    home.start("--wait")
    before = pids(home)
    os.unlink(home.path("good"))
    run = home.run("run", "-d", "--wait", "worker", check=False)
    assert run.returncode == 1 and "service 'worker' failed: exit code 3" in run.stderr
    after = pids(home)
    assert (after["a"], after["follower"]) == (before["a"], before["follower"]) and home.status("worker") in ("exited", "stopped")


def test_running_by_name_removes_no_data_while_others_run(home):
    home.write(CHAIN)
    home.start("--wait", "db", "worker")
    before = pids(home)
    for words, option in ((["run", "-d", "--start-clean", "worker"], "--start-clean"), (["run", "--clean", "worker"], "--clean")):
        run = home.run(*words, check=False)
        assert run.returncode == 1 and f"{option} removes the data of all services" in run.stderr
        assert pids(home) == before


def test_running_by_name_reads_the_file_when_nothing_else_runs(home):
    home.write(CHAIN)
    home.start("--wait", "db")
    home.write(CHAIN.replace("echo db", "echo new"))
    run = home.run("run", "-d", "--wait", "db")
    assert (run.stdout, run.stderr) == ("Started 1 service\n", "")
    assert order(home) == ["db", "new"]


# --- up -----------------------------------------------------------------------------------------


def test_up_starts_what_a_service_needs_in_order_and_nothing_else(home):
    home.write(CHAIN)
    run = home.run("up", "-d", "--wait", "web")
    assert (run.stdout, run.stderr) == ("Started 4 services\n", "")
    wait_until(lambda: set(order(home)) == {"db", "migration", "api", "web"}, "all have begun")
    assert order(home).index("migration") < order(home).index("api")
    assert home.services()["worker"]["status"] == "stopped"
    before = pids(home)
    assert home.run("up", "-d", "web").stdout == "All services are already running\n"
    home.run("stop", "web", "db")
    assert home.run("up", "-d", "web").stdout == "Started 2 services\n"
    after = pids(home)
    assert after["api"] == before["api"] and after["web"] and after["db"]
    assert order(home).count("migration") == 1
    assert home.run("up", "-d", "--wait").stdout == "Started 2 services\n"
    assert home.status("worker") == "running"


def test_up_evaluates_the_if_of_dependencies_that_were_not_named(home):
    home.write("""
        services:
          cache: {run: "exec sleep 1000", if: "${{ kepler.flags.cache }}$"}
          db: {run: "exec sleep 1000"}
          web: {run: "exec sleep 1000", if: "${{ false }}$", depends_on: {cache: {allow_skipped: true}, db: {}}}
        """)
    assert home.run("up", "-d", "web").returncode == 0
    assert {name: one["status"] for name, one in home.services().items()} == {"cache": "skipped", "db": "running", "web": "running"}


def test_a_failed_up_stops_what_it_started_and_nothing_else(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000"}
          cache: {run: "exec sleep 1000"}
          other: {run: "exec sleep 1000"}
          web: {run: "exit 4", depends_on: [db, cache]}
        """)
    home.start("--wait", "db", "other")
    before = pids(home)
    run = home.run("up", "-d", "--wait", "web", check=False)
    assert run.returncode == 1 and "service 'web' failed: exit code 4" in run.stderr
    assert home.wait_for("cache", "stopped")
    assert pids(home) == before


def test_ctrl_c_in_a_foreground_up_stops_what_it_started(home):
    home.write(CHAIN)
    home.start("--wait", "db")
    command = home.begin("up", "web", "--raw")
    home.wait_for("web", "running")
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == 0, command.communicate()
    assert {name for name, pid in pids(home).items() if pid} == {"db"}


def test_a_start_by_name_says_which_dependency_is_down_and_what_starts_it(home):
    home.write(CHAIN)
    run = home.start("web", check=False)
    assert run.returncode == 1
    assert run.stderr == "Error: service 'web' was skipped: dependency `api` was not started; 'kepler up web' starts it as well\n"
    assert home.run("up", "-d", "web").returncode == 0


# --- refusals -----------------------------------------------------------------------------------


ODD = [None, [], {}, "", 3, -1, 1.5, True, [None], [[]], [{}], {"x": None}, {"": None}, "x", "${{", "${{ error() }}$", 10**30]
FULL = """
    lua: x = 1
    kepler:
      autostart: {environment: [A=1]}
      acl: {users: {root: {allow: [start]}}, aliases: {z: [start]}}
      monitor: {interval: 1s}
      logs: {max_size: 1M, store: true}
    services:
      a:
        run: x
        hooks: {pre_start: [{run: x, if: always(), environment: [A=b], limits: {memory: 1M}}], post_stop: {run: y}}
        healthcheck: {run: x, interval: 1s, retries: 3, timeout: 1s}
        restart: {policy: on-failure, delay: 1s, backoff: 2.0, watch: ["*.c"]}
        logs: {retention: {on_stop: clear}, store: {stdout: true}}
        limits: {memory: 1M, cpu_time: 1, max_fds: 9}
        depends_on: {b: {condition: service_failed, exit_code: [1, "2:3"], timeout: 1s, restart: true, allow_skipped: true}}
        permissions: {allow: [start], hardening: strict}
        start_limit: {count: 1, interval: 1s}
      b: {command: [x], user: root, groups: [root], working_dir: /, env_file: x, stop_signal: TERM}
    """


def places(value, at=()):
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def replaced(value, at, odd):
    if not at:
        return odd
    result = inner = copy.deepcopy(value)
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = odd
    return result


def test_each_refusal_of_a_broken_file_has_a_place_and_a_sentence(home):
    texts = [open(path).read() for path in sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../../../examples/kepler/*.yaml")))]
    files = [yaml.safe_load(text) for text in [FULL, *texts] if "!lua" not in text]
    cases = [(file, at, odd) for file in files for at in places(file) for odd in ODD]
    chance = random.Random(7)
    refused = 0
    for file, at, odd in chance.sample(cases, 150):
        home.write(json.dumps(replaced(file, at, odd)))
        run = home.run("validate", check=False)
        assert run.returncode in (0, 1), (at, odd)
        if run.returncode == 0:
            continue
        refused += 1
        said = re.findall(r"kepler\.yaml:(\d+):(\d+): (.*)", run.stderr)
        assert run.stderr.startswith("Error: the config is not valid\n") and said, (at, odd, run.stderr)
        for line, column, words in said:
            assert int(line) > 0 and int(column) > 0 and len(words.split()) > 2 and "bug" not in words, (at, odd, run.stderr)
    assert refused > 30


def test_an_empty_hook_step_is_refused_with_its_place_by_every_command(home):
    home.write("services:\n  a: {run: x, hooks: {pre_start: [null]}}\n")
    place = f"{home.path('kepler.yaml')}:2:35: a step of hook 'pre_start' of service 'a' must be a map, got null\n"
    for words in (["validate"], ["start", "-d"], ["up", "-d"], ["run", "-d"], ["recreate"], ["graph"], ["config"]):
        run = home.run(*words, check=False)
        assert run.returncode == 1 and place in run.stderr, (words, run.stderr)
        assert "= write 'run: TEXT' or 'command: [PROGRAM, WORD...]', or remove it" in run.stderr


# --- tables ---------------------------------------------------------------------------------------


def test_ps_fits_the_terminal_and_shows_whole_reasons_elsewhere(home):
    home.write("""
        services:
          a-service-with-a-long-name: {run: "exit 3"}
          next: {run: "true", depends_on: {a-service-with-a-long-name: {condition: service_completed_successfully}}}
        """)
    home.start("--wait", "--no-abort-on-failure", check=False)
    whole = "not restarted because its restart policy is no)"
    for columns in (80, 60):
        rows = home.on_terminal("ps", stdout=True, size=(24, columns))[0].splitlines()
        plain = [re.sub(r"\033\[[0-9;]*m", "", row) for row in rows]
        assert len(plain) == 3 and max(map(len, plain)) <= columns, plain
        assert re.search(r"^next +Skipped \(dependency .*\u2026 +-$", plain[2]), plain
    for words, size in ((["ps", "-v"], 80), (["ps"], 250)):
        text = home.on_terminal(*words, stdout=True, size=(24, size))[0]
        assert whole in text and "\u2026" not in text
    assert whole in home.run("ps").stdout


# --- words of other tools -------------------------------------------------------------------------


WRITERS = """
    services:
      web: {run: "echo one; echo two; exec sleep 1000"}
      db: {run: "echo three; exec sleep 1000"}
    """


def first_lines(command, count):
    try:
        return sorted(command.stdout.readline() for _ in range(count))
    finally:
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=60)


def test_logs_follow_with_f_where_no_file_has_that_name(home):
    home.write(WRITERS)
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 3, "all wrote")
    for words, lines in ((["-f", "web"], ["one\n", "two\n"]), (["web", "-f"], ["one\n", "two\n"]), (["-f", "--tail", "1", "db"], ["three\n"]),
                         (["-f"], ["one\n", "three\n", "two\n"])):
        assert first_lines(home.begin("logs", "--raw", *words), len(lines)) == lines, words
    run = home.run("logs", "-f", "wbe", check=False)
    assert run.returncode == 1 and "no service 'wbe'" in run.stderr and "did you mean 'web'?" in run.stderr
    home.write(WRITERS, "web")
    run = home.run("logs", "-f", "web", check=False)
    assert run.returncode == 0 and "No lines of" in run.stderr, "a file of that name is the config"


def test_logs_of_a_span_of_time_and_without_prefix(home):
    home.write(WRITERS)
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 3, "all wrote")
    stamp = json.loads(home.run("logs", "--json", "-n", "1", "db").stdout)["timestamp"]
    local = home.run("logs", "db").stdout[:19]
    for words, count in ((["--since", "10m"], 3), (["--until", "10m"], 0), (["--since", "1000d", "--until", "0s"], 3), (["-n", "1", "web"], 1),
                         (["--since", stamp, "db"], 1), (["--until", stamp, "db"], 0), (["--since", local, "db"], 1), (["--until", local, "db"], 0),
                         (["--since", "2001-01-01", "--until", "2002-01-01"], 0)):
        assert len(home.run("logs", *words).stdout.splitlines()) == count, words
    assert home.run("logs", "--no-prefix", "db").stdout == "three\n"
    run = home.run("logs", "--since", "soon", check=False)
    assert run.returncode == 2 and "--since 'soon': expected a duration such as 10m, or a time such as" in run.stderr
    assert home.run("logs", "--follow", "--until", "1m", check=False).returncode == 2


def test_wait_returns_when_the_condition_holds_never_can_or_time_is_up(home):
    home.write("""
        services:
          db: {run: "while ! test -e go; do sleep 0.02; done; touch ready; exec sleep 1000", healthcheck: {run: "test -e ready", interval: 20ms}}
          job: {run: "while ! test -e go; do sleep 0.02; done; exit 3"}
        """)
    home.start()
    home.wait_for("job", "running")
    assert home.run("wait", "db", "job").stdout == ""
    run = home.run("wait", "db", "service_healthy", "--timeout", "50ms", check=False)
    assert run.returncode == 1 and re.fullmatch(r"Error: timeout: service 'db' is \w+\n", run.stderr), run.stderr
    command = home.begin("wait", "db", "service_healthy")
    home.write("", "go")
    assert command.wait(60) == 0 and command.communicate() == ("", "")
    run = home.run("wait", "job", "service_completed_successfully", check=False)
    assert (run.returncode, run.stderr) == (1, "Error: service 'job' is exited: dependency `job` exited with status 3; "
                                               "not restarted because its restart policy is no\n")
    assert home.run("wait", "job", "service_failed").returncode == 0
    assert home.run("wait", "service_failed", check=False).returncode == 2


def test_down_is_stop_and_keeps_what_was_stored(home):
    home.write(WRITERS)
    home.run("up", "-d", "--wait")
    wait_until(lambda: len(home.lines()) == 3, "all wrote")
    home.run("down", "db")
    assert home.status("db") == "stopped" and home.status("web") == "running"
    home.run("down")
    assert home.status("web") == "stopped" and len(home.lines()) == 3
    home.run("down", "--clean")
    assert home.lines() == []


def test_events_show_changes_of_the_named_services_as_they_happen(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000"}
          b: {run: "exec sleep 1000", hooks: {pre_start: {run: "true"}}}
          c: {run: "exec sleep 1000"}
        """)
    home.start("--wait", "a", "c")
    command = home.begin("events", "a", "b", "--json")
    try:
        shown = [json.loads(command.stdout.readline())]
        home.start("b")
        home.run("stop", "b", "c")
        while shown[-1].get("status") != "stopped":
            shown.append(json.loads(command.stdout.readline()))
    finally:
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=60)
    assert all(one["time"].endswith("Z") for one in shown)
    words = [(one["service"], one.get("hook"), one.get("what") or one["status"]) for one in shown]
    assert words == [("a", None, "running"), ("b", None, "waiting"), ("b", None, "starting"), ("b", "pre_start", "started"),
                     ("b", "pre_start", "completed"), ("b", None, "running"), ("b", None, "stopping"), ("b", None, "stopped")]


def test_reload_signals_the_main_process_or_says_why_not(home):
    home.write("""
        services:
          web: {run: "trap 'echo read again' HUP; touch up; while :; do sleep 0.05; done"}
          usr: {run: "trap 'echo told' USR1; touch up2; while :; do sleep 0.05; done", reload_signal: USR1}
          plain: {command: [sleep, "1000"]}
          off: {run: "true"}
        """)
    home.start("--wait", "web", "usr", "plain")
    wait_until(lambda: os.path.exists(home.path("up")) and os.path.exists(home.path("up2")), "the traps are set")
    before = pids(home)
    run = home.run("reload", "web", "plain", check=False)
    assert run.returncode == 1 and "service 'plain' (pid" in run.stderr
    assert "does not handle SIGHUP, which would end it: set 'reload_signal', or use 'kepler restart plain'" in run.stderr
    assert home.lines() == [], "nothing was signalled"
    assert home.run("reload", "web", "usr").stdout == "Reloaded 2 services\n"
    wait_until(lambda: sorted(home.lines()) == [("usr", "told"), ("web", "read again")], "both were told")
    assert pids(home) == before
    run = home.run("reload", "off", check=False)
    assert run.returncode == 1 and "service 'off' does not run: 'kepler start off' starts it" in run.stderr
    assert home.run("reload", check=False).returncode == 2


def test_restart_without_dependencies_and_names_says_what_to_write(home):
    home.write(WRITERS)
    run = home.run("restart", "--no-deps", check=False)
    assert run.returncode == 2 and "write 'kepler restart --no-deps SERVICE'" in run.stderr


@pytest.mark.parametrize("word, said", [("check", "validate"), ("kill", "stop -s KILL"), ("attach", "logs --follow")])
def test_words_of_other_tools_name_the_command_to_use(home, word, said):
    run = home.run(word, check=False)
    assert run.returncode == 2 and f"did you mean '{said}'?" in run.stderr
