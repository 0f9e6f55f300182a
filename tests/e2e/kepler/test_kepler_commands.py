"""The commands of `kepler`: what they print, what they return, what they leave."""
import fcntl
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
import xml.etree.ElementTree

import pytest

from kepler_home import DAEMON, KEPLER, PATIENCE, Home, alive, wait_until


TWO = """
    services:
      db: {run: "echo db up; exec sleep 1000"}
      web: {run: "echo web up; echo oops >&2; exec sleep 1000", depends_on: [db]}
    """


# --- without a daemon -------------------------------------------------------------------------


def test_without_a_daemon_commands_explain_how_to_start_one():
    home = Home()
    home.write(TWO)
    try:
        for words in (["start"], ["ps"], ["stop"], ["logs"], ["restart"]):
            run = home.run(*words, check=False)
            assert run.returncode == 2, words
            assert run.stderr.startswith("Error: the daemon is not running")
            assert "kepler daemon start -d" in run.stderr
        run = home.run("daemon", "status", check=False)
        assert (run.returncode, run.stdout) == (1, "Daemon is not running\n")
        assert home.run("daemon", "stop").stdout == "Daemon is not running\n"
        assert home.run("validate").stdout == f"{home.path('kepler.yaml')}: valid, 2 services\n"
        assert home.run("graph").stdout == "Level 0:\n  db\nLevel 1:\n  web <- db (service_started)\n"
        for words in (["--dot"], ["--format", "dot"], ["-o", "dot"]):
            assert '"db" -> "web" [label="service_started"]' in home.run("graph", *words).stdout
        svg = xml.etree.ElementTree.fromstring(home.run("graph", "--format", "svg").stdout)
        boxes = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert boxes == ["db", "web"]
        shown = json.loads(home.run("config", "--json").stdout)
        assert shown["services"]["web"]["depends_on"]["db"]["condition"] == "service_started"
    finally:
        home.close()


def test_validate_warns_of_missing_files_and_accounts(home):
    home.write("""
        services:
          a:
            run: "true"
            env_file: settings.env
            user: no-such-user
            groups: [no-such-group]
            working_dir: missing
            hooks: {pre_start: {run: "true", working_dir: kepler.yaml}}
            healthcheck: {run: "true", user: "${{ 'no-such-user' }}$"}
        """)
    run = home.run("validate")
    path = home.path("kepler.yaml")
    assert run.stdout == f"{path}: valid, 1 service\n"
    assert run.stderr.splitlines() == [
        f"Warning: {path}:5:15: 'env_file': no such file: '{home.path('settings.env')}'",
        f"Warning: {path}:8:18: 'working_dir': no such folder: '{home.path('missing')}'",
        f"Warning: {path}:6:11: 'user': no user 'no-such-user'",
        f"Warning: {path}:7:14: 'groups': no group 'no-such-group'",
        f"Warning: {path}:9:51: 'working_dir': '{path}' is a file, not a folder",
    ]
    home.write("", "settings.env")
    os.mkdir(home.path("missing"))
    home.write("services:\n  a: {run: 'true', env_file: settings.env, user: root, groups: [0], working_dir: missing}\n")
    assert home.run("validate").stderr == ""


def test_validate_reports_every_mistake_with_its_place():
    home = Home()
    home.write("services:\n  a: {run: x, comand: y}\n  b: {run: x, depends_on: [nix]}\n")
    try:
        run = home.run("validate", check=False)
        assert run.returncode == 1
        assert run.stderr.startswith("Error: the config is not valid\n")
        assert "kepler.yaml:2:" in run.stderr and "comand" in run.stderr
        assert "kepler.yaml:3:" in run.stderr and "nix" in run.stderr
        assert not run.stderr.endswith("\n\n")
    finally:
        home.close()


def test_validate_reports_invalid_lua_before_a_service_fails_because_of_it():
    home = Home()
    home.write("""
        lua: 'function f(x) return "${{ not code }}$" end'
        services:
          a: {run: "echo ${{ 1 + }}$ ${{ f(1) }}$ ${{ }}$"}
          b: {run: "exec ./b", environment: !lua "return {"}
          c: {run: "echo ${{ service.nothing.at.all }}$", if: "${{ never_called() }}$"}
        """)
    try:
        run = home.run("validate", check=False)
        assert run.returncode == 1
        places = [line.split(home.path("kepler.yaml"))[1] for line in run.stderr.splitlines() if line.startswith(home.folder)]
        assert [place.split(": ")[0] for place in places] == [":4:12", ":4:22", ":5:43"], run.stderr
        assert "the expression is empty" in run.stderr
    finally:
        home.close()


def test_the_daemon_starts_in_the_background_and_stops_with_its_services():
    home = Home()
    home.write(TWO)
    try:
        assert home.run("daemon", "start", "-d").stdout == "Daemon started\n"
        assert home.run("daemon", "start", "-d").stdout == "Daemon is already running\n"
        pid = int(open(os.path.join(home.state, "kepler.pid")).read())
        assert alive(pid)
        home.start("--wait")
        status = home.run("daemon", "status").stdout
        assert status == f"Daemon is running (pid {pid})\n  {home.path('kepler.yaml')}: 2 services, 2 running\n"
        pids = [one["pid"] for one in home.services().values()]
        assert home.run("daemon", "restart", "-d").stdout == "Daemon stopped\nDaemon started\n"
        assert not any(map(alive, pids))
        assert home.run("daemon", "stop").stdout == "Daemon stopped\n"
        assert not os.path.exists(os.path.join(home.state, "kepler.pid"))
        assert not os.path.exists(os.path.join(home.state, "kepler.sock"))
    finally:
        home.run("daemon", "stop", check=False)
        home.close()


def has_child(pid):
    """Ended or not, as long as it was not waited for."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == pid:
                    return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False


@pytest.mark.parametrize("listens", [True, False])
def test_a_concurrent_daemon_start_is_waited_for(listens):
    home = Home()
    os.mkdir(home.state, 0o700)
    try:
        with open(os.path.join(home.state, "kepler.lock"), "w") as lock, socket.socket(socket.AF_UNIX) as door:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as the daemon of the other does, long before it listens
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            start = subprocess.Popen([KEPLER, "daemon", "start", "-d"], env=home.env, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            log = os.path.join(home.state, "daemon.log")
            wait_until(lambda: os.path.exists(log) and "another daemon uses" in open(log).read(), "ours has given up")
            wait_until(lambda: not has_child(start.pid), "that is known")
            if listens:
                door.bind(os.path.join(home.state, "kepler.sock"))
                door.listen()
            else:
                fcntl.flock(lock, fcntl.LOCK_UN)
            said, error = start.communicate(timeout=PATIENCE)
        if listens:
            assert (start.returncode, said, error) == (0, "Daemon started\n", "")
        else:
            assert start.returncode == 1 and "the daemon did not start: another daemon uses" in error
    finally:
        home.close()


def test_a_daemon_that_could_not_be_started_again_is_not_stopped():
    home = Home()
    alone = home.path("alone/kepler")
    os.mkdir(home.path("alone"))
    shutil.copy(KEPLER, alone)
    env = dict(home.env, PATH="/usr/bin:/bin")
    try:
        home.start_daemon()
        run = subprocess.run([alone, "daemon", "restart", "-d"], env=env, capture_output=True, text=True, timeout=PATIENCE)
        assert run.returncode == 1
        assert run.stderr == "Error: program 'kepler-daemon' not found next to kepler or in PATH\n"
        assert home.is_up()
        home.stop_daemon()
        run = subprocess.run([alone, "daemon", "start", "-d"], env=env, capture_output=True, text=True, timeout=PATIENCE)
        assert run.returncode == 1 and "program 'kepler-daemon'" in run.stderr
    finally:
        home.close()


@pytest.mark.parametrize("words, text", [
    (["start", "--wait"], "--wait requires -d"),
    (["start", "-d", "--timeout", "3s"], "--timeout requires --wait"),
    (["start", "-d", "--wait", "--timeout", "0s"], "at least 1 ms"),
    (["restart", "--wait", "--timeout", "0s"], "at least 1 ms"),
    (["start", "--no-abort-on-failure"], "--no-abort-on-failure requires --wait"),
    (["start", "-d", "--json"], "cannot be used with -d"),
    (["start", "--no-deps"], "--no-deps requires at least one service"),
    (["start", "-d", "--hardening", "stric"], "unknown hardening level 'stric' (did you mean 'strict'?)"),
    (["run", "-d", "--clean"], "--clean cannot be used with -d"),
    (["restart", "--wait", "--follow"], "are mutually exclusive"),
    (["logs", "-F", "level:error"], "a field is written '@level:error'"),
    (["logs", "--sql"], "--sql requires -F"),
    (["logs", "--head", "1", "--tail", "1"], "are mutually exclusive"),
    (["top"], "--json"),
    (["-f", "kepler.yaml", "top", "web", "--history", "5m"], "--history requires --json"),
    (["-f", "kepler.yaml"], "missing command"),
    (["strat"], "did you mean 'start'?"),
    (["daemon", "strat"], "did you mean 'start'?"),
    (["ps", "--jsn"], "did you mean '--json'?"),
])
def test_wrong_usage_is_reported_and_returns_two(words, text):
    run = subprocess.run([KEPLER, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 2
    assert text in run.stderr


@pytest.mark.parametrize("words, text", [
    (["-f", "kepler.yaml", "--version"], "kepler "),
    (["-v", "--help"], "commands:"),
    (["-q", "--file=kepler.yaml", "ps", "--help"], "usage: kepler ps"),
    (["-f", "kepler.yaml", "doc", "limits"], "max_fds"),
    (["-f", "kepler.yaml", "help"], "commands:"),
    (["-v", "-fkepler.yaml", "help", "ps"], "usage: kepler ps"),
    (["help", "--file", "kepler.yaml", "-q", "ps"], "usage: kepler ps"),
])
def test_common_options_may_precede_the_command(words, text):
    run = subprocess.run([KEPLER, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0 and text in run.stdout, run


# --- start ------------------------------------------------------------------------------------


def test_start_detached_reports_and_starts_nothing_twice(home):
    home.write(TWO)
    assert home.start().stdout == "Started 2 services\n"
    home.wait_for("web", "running")
    pids = {name: one["pid"] for name, one in home.services().items()}
    assert home.start().stdout == "All services are already running\n"
    assert {name: one["pid"] for name, one in home.services().items()} == pids
    assert home.start("-q", "db").stdout == ""


def test_an_unknown_service_is_an_error_with_a_suggestion(home):
    home.write(TWO)
    run = home.start("wbe", check=False)
    assert run.returncode == 1
    assert "no service 'wbe'" in run.stderr and "did you mean 'web'?" in run.stderr


def test_a_start_of_an_unknown_service_does_not_load_the_file_that_lacks_it(home):
    home.write(TWO)
    assert "no service 'late'" in home.start("late", check=False).stderr
    assert home.services() == {}
    home.write(TWO.rstrip() + "\n      late: {run: exec sleep 1000}\n")
    assert home.start("late").stdout == "Started 1 service\n"


def test_an_empty_name_is_not_a_config():
    run = subprocess.run([KEPLER, "-f", "", "ps"], capture_output=True, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stderr) == (1, "Error: option '-f' requires a file name\n")


def test_the_foreground_shows_lines_until_all_services_have_ended(home):
    home.write("""
        services:
          a: {run: "echo one; sleep 0.1; echo two"}
          b: {run: "echo three", depends_on: {a: {condition: service_completed_successfully}}}
        """)
    run = home.run("start")
    shape = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[INFO\] (\w+) \| (.*)$")
    assert [shape.match(line).groups() for line in run.stdout.splitlines()] == [
        ("a", "one"), ("a", "two"), ("b", "three")]
    assert run.stderr == ""
    assert home.run("start", "--raw").stdout == "one\ntwo\nthree\n"
    line = json.loads(home.run("start", "--json").stdout.splitlines()[0])
    assert list(line) == ["timestamp", "level", "msg", "service"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["timestamp"])


def test_an_unhandled_failure_sets_the_exit_status_of_the_foreground(home):
    home.write("""
        services:
          a: {run: "exit 3"}
          b: {run: "sleep 0.2; echo end"}
        """)
    run = home.run("start", check=False)
    assert run.returncode == 1
    assert "Error: service 'a' failed: exit code 3\n" in run.stderr
    assert "end" in run.stdout
    home.write("""
        services:
          a: {run: "exit 3"}
          b: {run: "echo handled", depends_on: {a: {condition: service_failed}}}
        """)
    run = home.run("run", "--raw")
    assert (run.returncode, run.stdout, run.stderr) == (0, "handled\n", "")


def test_abort_on_failure_stops_the_others(home):
    home.write("""
        services:
          a: {run: "sleep 0.2; exit 3"}
          b: {run: "exec sleep 1000"}
        """)
    run = home.run("start", "--abort-on-failure", check=False)
    assert run.returncode == 1
    assert home.status("b") == "stopped"


def test_wait_returns_when_all_are_ready(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000", healthcheck: {run: "test -e ok || { sleep 0.1; touch ok; false; }", interval: 50ms, retries: 100}}
          b: {run: "exec sleep 1000", depends_on: {a: {condition: service_healthy}}}
          c: {run: "true"}
          later: {run: "true", depends_on: {b: {condition: service_stopped}}}
        """)
    run = home.start("--wait", "--timeout", "100s")
    assert (run.stdout, run.stderr) == ("Started 3 services\n", "  later  Waiting\n")
    services = home.services()
    assert [services[name]["status"] for name in "ab"] == ["healthy", "running"]
    home.wait_for("c", "exited")
    assert services["later"]["status"] == "waiting"


def test_wait_on_some_services_does_not_wait_for_the_others(home):
    home.write(TWO)
    home.start("--wait", "--timeout", "100s", "db")
    assert home.status("web") == "stopped"


def test_wait_gives_up_at_its_timeout(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 50ms, retries: 100000}}
        """)
    run = home.start("--wait", "--timeout", "300ms", check=False)
    assert run.returncode == 1
    assert "timeout: not all services are ready: a is running" in run.stderr
    home.wait_for("a", "running")


def test_wait_ends_with_a_failure_and_stops_the_others(home):
    home.write("""
        services:
          a: {run: "exit 5"}
          b: {run: "exec sleep 1000", healthcheck: {run: "false", retries: 100000}}  # never ready
        """)
    run = home.start("--wait", check=False)
    assert run.returncode == 1
    assert "Error: service 'a' failed: exit code 5" in run.stderr
    assert home.status("b") == "stopped"


def test_ctrl_c_stops_services_started_in_the_foreground(home):
    home.write("""
        services:
          a: {run: "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"}
        """)
    command = home.begin("start", "--raw")
    assert command.stdout.readline() == "up\n"
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, err
    assert "bye" in out
    assert home.status("a") == "stopped"


def test_ctrl_c_keeps_services_that_ran_before(home):
    home.write("""
        services:
          a: {run: "while :; do echo a; sleep 0.05; done"}
          b: {run: "while :; do echo b; sleep 0.05; done"}
          c: {run: "exec sleep 1000", depends_on: {b: {condition: service_failed}}}
        """)
    home.start("a")
    for words, up in ((["start", "b"], ["a"]), (["start"], ["a"])):
        command = home.begin(*words, "--raw")
        wait_until(lambda: command.stdout.readline() == "b\n", "b runs")
        command.send_signal(signal.SIGINT)
        err = command.communicate(timeout=PATIENCE)[1]
        assert command.returncode == 0
        assert [name for name, found in home.services().items() if found["status"] != "stopped"] == up
    assert err == "1 service started before this command keeps running: see 'kepler stop'\n"
    command = home.begin("start", "a", "--raw")
    assert command.stdout.readline() == "a\n"
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=PATIENCE)
    assert (command.returncode, home.status("a")) == (0, "running")


def test_a_second_ctrl_c_ends_the_command_alone(home):
    home.write("""
        services:
          a: {run: "trap '' TERM; echo up; while :; do sleep 0.05; done", stop_grace_period: 1h}
        """)
    command = home.begin("start", "--raw")
    assert command.stdout.readline() == "up\n"
    command.send_signal(signal.SIGINT)
    home.wait_for("a", "stopping")
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=PATIENCE)
    assert command.returncode == 130
    home.run("stop", "-s", "KILL")
    home.wait_for("a", "stopped")


def test_a_stop_from_elsewhere_ends_the_foreground_but_a_restart_does_not(home):
    home.write(TWO)
    command = home.begin("start", "--raw")
    home.wait_for("web", "running")
    home.run("restart")
    home.wait_for("web", "running")
    assert command.poll() is None
    home.run("stop", "--clean")
    command.communicate(timeout=PATIENCE)
    assert command.returncode == 0


def test_ps_and_progress_show_reasons_in_words_and_json_as_documented(home):
    home.write("""
        services:
          redis: {run: "exec sleep 1000", restart: always}
          redis-failover: {run: "true", depends_on: {redis: {condition: service_failed}}}
          web: {run: "true", if: "${{ service.debug }}$"}
          api: {run: "true", depends_on: [web]}
          app: {run: "true"}
          monitor: {run: "true", depends_on: {app: {condition: service_failed}}}
          database: {run: "exec sleep 1000", healthcheck: {run: "test -e /nowhere", interval: 1s, retries: 2}}
          backend: {run: "true", depends_on: {database: {condition: service_healthy, timeout: 1s}}}
        """)
    skipped = {
        "redis-failover": "`redis` has restart policy `always` \u2014 it will always restart, "
                          "so `service_failed` can never be met",
        "web": "`if` condition evaluated to false: `service.debug`",
        "api": "dependency `web` was skipped",
    }
    ended = "dependency `app` exited with status 0; not restarted because its restart policy is no"
    late = "Dependency timeout: backend timed out waiting for database to satisfy condition ServiceHealthy"
    text, status = home.on_terminal("start", "-d", "--wait", "--no-abort-on-failure")
    home.wait_for("backend", "failed")
    rows, services = home.ps(), home.services()
    assert status == 1 and f"service 'backend' failed: {late}\r\n" in text
    for name, reason in skipped.items():
        assert f"{name}  Skipped: {reason}\r\n" in text
        assert rows[name] == (f"Skipped ({reason})", "-")
        assert services[name]["skip_reason"] == reason
    assert f"monitor  Skipped: {ended}\r\n" in text and rows["monitor"] == (f"Skipped ({ended})", "-")
    assert services["monitor"]["skip_reason"] == "dependency `app` exited with exit code Some(0), won't restart (policy: No)"
    assert "Some(" not in text + home.run("ps").stdout + home.run("why", "monitor").stdout
    assert re.fullmatch(rf"Failed \d+s ago \({re.escape(late)}\)", rows["backend"][0])
    assert services["backend"]["fail_reason"] == late


def test_a_service_that_was_skipped_is_told_where_it_was_asked_for_and_does_not_count(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000"}
          web: {run: "exec sleep 1000", depends_on: [db]}
          job: {run: "echo job"}
          none: {command: [/nonexistent]}
          medic: {run: "true", depends_on: {none: {condition: service_failed}}}
        """)
    error = "Error: service 'web' was skipped: dependency `db` was not started; 'kepler up web' starts it as well\n"
    run = home.run("start", "web", "job", "--raw", check=False)
    assert (run.returncode, run.stdout, run.stderr) == (1, "job\n", error)
    run = home.start("--wait", "web", "job", check=False)
    assert (run.returncode, run.stdout, run.stderr) == (1, "Started 1 service\n", error)
    run = home.start("--wait", "-q", "web", check=False)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", error)
    assert home.start("--wait").stdout == "Started 4 services\n"
    assert home.status("none") == "failed"


def test_without_a_terminal_wait_reports_at_the_end_what_was_skipped(home):
    home.write("""
        services:
          web: {run: "exec sleep 1000", if: "${{ service.debug }}$"}
          api: {run: "exec sleep 1000", depends_on: [web]}
          app: {run: "exec sleep 1000"}
        """)
    run = home.start("--wait")
    assert sorted(run.stderr.splitlines()) == ["  api  Skipped: dependency `web` was skipped",
                                               "  web  Skipped: `if` condition evaluated to false: `service.debug`"]
    assert home.start("--wait", "-q").stderr == ""


def test_a_start_by_name_reports_services_that_did_not_start(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000"}
          web: {run: "exec sleep 1000", depends_on: [db]}
          bad: {command: [no-such-program]}
          app: {run: "exec sleep 1000"}
        """)
    run = home.start("web", "bad", "app", check=False)
    assert (run.returncode, run.stdout) == (1, "Started 1 service\n")
    assert run.stderr.splitlines() == [
        "Error: service 'web' was skipped: dependency `db` was not started; 'kepler up web' starts it as well",
        "Error: service 'bad' failed: start 'no-such-program': No such file or directory"]


def test_wait_stays_while_a_chain_waits_for_a_one_shot_that_then_fails(home):
    home.write("""
        services:
          migration: {run: "while [ ! -e go ]; do sleep 0.02; done; exit 3"}
          app: {run: "exec sleep 1000", depends_on: {migration: {condition: service_completed_successfully}}}
          web: {run: "exec sleep 1000", depends_on: [app]}
        """)
    command = home.begin("start", "-d", "--wait")
    home.wait_for("web", "waiting")
    home.wait_for("migration", "running")
    assert command.poll() is None
    home.write("", "go")
    out, err = command.communicate(timeout=PATIENCE)
    assert (command.returncode, out) == (1, "") and "service 'migration' failed: exit code 3" in err
    assert home.status("web") in ("skipped", "stopped")


def test_wait_without_abort_waits_for_all_and_lists_every_failure(home):
    home.write("""
        services:
          bad: {run: "echo first words; exit 1"}
          slow: {run: "while [ ! -e go ]; do sleep 0.02; done; exit 2"}
          check: {run: "exec sleep 1000", healthcheck: {run: "test -e go", interval: 20ms, retries: 100000}}
        """)
    command = home.begin("start", "-d", "--wait", "--no-abort-on-failure")
    home.wait_for("bad", "exited")
    assert home.status("slow") == "running" and command.poll() is None
    home.write("", "go")
    home.wait_for("check", "healthy")
    out, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 1
    assert "service 'bad' failed: exit code 1" in err and "service 'slow' failed: exit code 2" in err
    assert "bad | first words" in err and home.status("check") == "healthy"


def test_output_of_a_failed_check_is_shown_and_kept(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "echo trying; echo no route to host >&2; exit 4", interval: 50ms, retries: 100000}}
          web: {run: "exec sleep 1000", depends_on: {db: {condition: service_healthy, timeout: 1s}}}
        """)
    run = home.start("--wait", check=False)
    assert run.returncode == 1 and "Error: service 'web' failed: Dependency timeout: web timed out" in run.stderr
    said = r"failed \d+ times?, last: exit status 4: no route to host"
    assert re.search(r"^  the health check of db " + said, run.stderr, re.M)
    assert home.status("db") == "stopped"
    assert re.search(r"running -> stopping: .*; health check had " + said, home.run("why", "db").stdout)


def test_output_of_a_failed_start_is_kept_and_shown(home):
    home.write("""
        kepler: {logs: {retention: {on_stop: clear}}}
        services:
          db: {run: "echo ready; touch ready; exec sleep 1000"}
          web: {run: "until test -e ready; do sleep 0.01; done; echo cannot bind port 80 >&2; exit 7", depends_on: [db]}
        """)
    run = home.start("--wait", check=False)
    assert run.returncode == 1 and run.stdout == ""
    assert "Error: service 'web' failed: exit code 7\n" in run.stderr and "web | cannot bind port 80\n" in run.stderr
    assert home.status("db") == "stopped"
    assert sorted(home.lines()) == [("db", "ready"), ("web", "cannot bind port 80")]
    assert "process ended: exit status 7" in home.run("why", "web").stdout
    home.run("stop")
    assert home.lines() == []


# --- run, recreate, restart, stop ---------------------------------------------------------------


def test_the_file_is_read_at_load_and_again_by_run_and_recreate(home):
    home.write("services:\n  a: {run: 'echo first'}\n")
    assert home.run("start", "--raw").stdout == "first\n"
    home.write("services:\n  a: {run: 'echo second'}\n")
    assert home.run("start", "--raw").stdout == "first\n"
    assert home.run("run", "--raw").stdout == "second\n"
    assert ("a", "first") in home.lines()
    home.write("services:\n  a: {run: 'echo third'}\n")
    assert home.run("recreate").stdout == "Started 1 service\n"
    home.wait_for("a", "exited")
    assert home.lines() == [("a", "third")]
    home.write("services:\n  a: {rnu: 'echo fourth'}\n")
    run = home.run("recreate", check=False)
    assert run.returncode == 1 and "kepler.yaml:2:" in run.stderr
    assert home.lines() == [("a", "third")]


def test_run_start_clean_removes_lines_and_clean_removes_everything(home):
    home.write("services:\n  a: {run: 'echo x'}\n")
    home.run("run")
    home.run("run", "--start-clean")
    assert home.lines() == [("a", "x")]
    home.run("run", "--clean")
    assert os.listdir(os.path.join(home.state, "configs")) == []


def test_restart_only_affects_running_services(home):
    home.write('''
        services:
          db: {run: "exec sleep 1000"}
          web: {run: "exec sleep 1000", depends_on: [db]}
          job: {run: "true"}
        ''')
    assert home.run("restart", check=False).returncode == 1
    home.start("--wait")
    home.wait_for("job", "exited")
    before = home.services()
    assert home.run("restart").stdout == "Restarted 2 services\n"
    after = home.services()
    assert all(after[name]["pid"] not in (None, before[name]["pid"]) for name in ("db", "web"))
    assert after["job"]["status"] == "exited"
    home.run("stop")
    assert home.run("restart").stdout == "No running services to restart\n"


def test_overrides_stay_and_flags_are_for_expressions_only(home):
    home.write("""
        services:
          a:
            run: 'echo "$COLOR/$FLAG"'
            environment: ["FLAG=${{ kepler.flags.mode }}$"]
        """)
    run = home.run("start", "--raw", "-e", "COLOR=red", "-e", "nonsense", "-D", "mode=fast")
    assert run.stdout == "red/fast\n"
    assert "Warning: ignoring -e 'nonsense': not KEY=VALUE" in run.stderr
    assert home.run("start", "--raw").stdout == "red/fast\n"
    assert home.run("start", "--raw", "-r", env={"COLOR": "blue"}).stdout == "blue/fast\n"


def test_stop_ends_the_whole_tree(home):
    home.write("""
        services:
          a: {run: "(trap '' TERM; exec setsid sleep 1000) & sleep 1000 & wait", stop_grace_period: 200ms}
        """)
    home.start("--wait")
    wait_until(lambda: len(home.processes()) >= 3, "the tree has grown")
    home.run("stop")
    assert home.processes() == []


def test_stop_takes_a_signal_and_refuses_an_unknown_one(home):
    home.write("""
        services:
          a: {run: "trap 'echo usr1 > got; exit 0' USR1; echo ready; while :; do sleep 0.05; done"}
        """)
    home.start()
    wait_until(lambda: ("a", "ready") in home.lines(), "the trap is set")
    run = home.run("stop", "-s", "NIX", check=False)
    assert (run.returncode, run.stderr) == (1, "Error: unknown signal 'NIX': expected a name such as TERM, or a number\n")
    assert home.run("stop", "-s", "USR1").stdout == ""
    assert home.read("got") == "usr1\n"


def test_stopping_an_unloaded_config_is_not_an_error(home):
    home.write(TWO)
    assert home.run("stop").returncode == 0
    assert home.run("stop", "--clean").returncode == 0


# --- ps, logs, inspect, why, prune ----------------------------------------------------------------


def test_ps_is_a_table_sorted_by_name(home):
    home.write("""
        services:
          web: {run: "exec sleep 1000"}
          db: {run: "exec sleep 1000", healthcheck: {run: "true", interval: 50ms}}
          job: {run: "exit 3"}
          bad: {run: "true", working_dir: /nowhere/at/all}
        """)
    run = home.run("ps")
    assert (run.stdout, run.returncode) == ("", 0)
    assert "start it first" in run.stderr
    home.start("--wait", "--no-abort-on-failure", check=False)
    home.wait_for("db", "healthy")
    lines = home.run("ps").stdout.splitlines()
    assert re.fullmatch(r"NAME  STATUS +PID", lines[0])
    assert [line.split()[0] for line in lines[1:]] == ["bad", "db", "job", "web"]
    rows = home.ps()
    assert re.fullmatch(r"Failed \d+s ago \(.*nowhere.*\)", rows["bad"][0])
    assert re.fullmatch(r"Up \d+s \(healthy\)", rows["db"][0])
    assert re.fullmatch(r"Exited \(3\) \d+s ago", rows["job"][0])
    assert re.fullmatch(r"Up \d+s", rows["web"][0])
    assert alive(int(rows["web"][1])) and rows["job"][1] == "-"
    home.run("stop", "web")
    assert re.fullmatch(r"Stopped \d+s ago", home.ps()["web"][0])
    found = home.services()["job"]
    assert sorted(found) == ["exit_code", "fail_reason", "health_check_failures", "initialized", "pid", "signal",
                             "skip_reason", "started_at", "status", "stop_reason", "stopped_at"]
    assert (found["exit_code"], found["pid"], found["signal"]) == (3, None, None)
    assert abs(found["stopped_at"] - time.time()) < 60


COLORED = """
    services:
      web: {run: "echo up; echo oh >&2; exec sleep 1000"}
      job: {run: "echo bad; exit 3", depends_on: [web], hooks: {pre_start: {run: "echo hook"}}}
      done: {run: "echo '{\\"msg\\": \\"careful\\", \\"level\\": \\"warn\\"}'", depends_on: {job: {condition: service_failed}}}
      off: {run: "true", if: false}
    """
RED, GREEN, YELLOW, CYAN, DIM, OFF = ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[2m", "\x1b[0m")


def start_colored(home):
    home.write(COLORED)
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 5, "all lines are there")
    home.wait_for("done", "exited")


def test_terminals_show_statuses_services_and_levels_in_colour(home):
    start_colored(home)
    rows = home.on_terminal("ps", stdout=True)[0].splitlines()
    assert rows[0] == "NAME  STATUS" + " " * (rows[0].index("PID") - 12) + "PID"
    assert f"{DIM}Exited (0)" in rows[1] and f"{RED}Exited (3)" in rows[2] and f"{DIM}Skipped" in rows[3]
    assert f"{GREEN}Up " in rows[4]
    plain = [re.sub(r"\x1b\[\d+m", "", row) for row in rows]
    assert all(row.rindex(row.split()[-1]) == plain[0].index("PID") for row in plain)
    lines = [line[20:] for line in home.on_terminal("logs", stdout=True)[0].splitlines()]
    colors = {name: color for line in lines for color, name in re.findall(r"(\x1b\[\d+m)(\w+)(?:\.pre_start)? \|", line)}
    # Services get the colours in the order in which they first write, which is a race here.
    assert sorted(colors) == ["done", "job", "web"] and set(colors.values()) == {CYAN, YELLOW, GREEN}
    assert sorted(lines) == sorted([
        f"[INFO] {colors['web']}web |{OFF} up", f"{RED}[ERROR]{OFF} {colors['web']}web |{OFF} oh",
        f"[INFO] {colors['job']}job.pre_start |{OFF} hook", f"[INFO] {colors['job']}job |{OFF} bad",
        f"{YELLOW}[WARN]{OFF} {colors['done']}done |{OFF} careful"])
    home.write("services:\n  a: {run: 'echo hi'}\n")
    home.run("stop", "--clean")
    assert f"[INFO] {CYAN}a |{OFF} hi" in home.on_terminal("start", stdout=True)[0]


@pytest.mark.parametrize("words, terminal, env, colored", [
    (["ps"], False, {}, False),
    (["logs"], False, {}, False),
    (["ps"], True, {"NO_COLOR": "1"}, False),
    (["logs"], True, {"KEPLER_COLOR": "false"}, False),
    (["ps"], True, {"KEPLER_COLOR": "0"}, False),
    (["ps"], True, {"TERM": "dumb"}, False),
    (["logs", "--json"], True, {"KEPLER_COLOR": "1"}, False),
    (["logs", "--raw"], True, {"KEPLER_COLOR": "1"}, False),
    (["ps", "--json"], True, {"KEPLER_COLOR": "1"}, False),
    (["ps"], False, {"KEPLER_COLOR": "true", "NO_COLOR": "1"}, True),
    (["logs"], False, {"KEPLER_COLOR": "1"}, True),
    (["ps"], True, {"KEPLER_COLOR": "auto"}, True),
])
def test_colour_is_for_terminals_unless_a_variable_says_otherwise(home, words, terminal, env, colored):
    start_colored(home)
    text = home.on_terminal(*words, stdout=True, env=env)[0] if terminal else home.run(*words, env=env).stdout
    assert ("\x1b[" in text) == colored, text


@pytest.mark.parametrize("word, colored", [("true", True), ("auto", False)])
def test_the_daemon_log_is_coloured_on_request(home, word, colored):
    second = subprocess.run([DAEMON], env=dict(home.env, KEPLER_COLOR=word), capture_output=True, text=True, timeout=PATIENCE)
    assert second.returncode == 1 and "daemon cannot" in second.stderr
    assert second.stderr.startswith(RED) == second.stderr.endswith(OFF + "\n") == colored, second.stderr


def test_configs_live_beside_each_other(home):
    home.write(TWO)
    home.write("services:\n  db: {run: 'echo other; exec sleep 1000'}\n", "other.yaml")
    home.start("--wait")
    home.start("--wait", file="other.yaml")
    everything = json.loads(home.run("ps", "--all", "--json").stdout)
    assert sorted((os.path.basename(one["config_path"]), sorted(one["services"])) for one in everything) == [
        ("kepler.yaml", ["db", "web"]), ("other.yaml", ["db"])]
    assert home.run("ps", "-a").stdout.split()[:4] == ["CONFIG", "NAME", "STATUS", "PID"]
    home.run("stop")
    assert home.status("db", "other.yaml") == "running"
    wait_until(lambda: home.lines(file="other.yaml") == [("db", "other")], "it wrote")
    pruned = home.run("prune").stdout.splitlines()
    assert re.search(r"^running  .*other\.yaml  [0-9a-f]{8}  ", "\n".join(pruned), re.M)
    assert re.search(r"^pruned  .*kepler\.yaml  [0-9a-f]{8}  ", "\n".join(pruned), re.M)
    assert pruned[-1].startswith("Total: 1 config, ")
    home.run("prune", "--force")
    assert os.listdir(os.path.join(home.state, "configs")) == []
    assert home.processes() == []


def test_logs_head_tail_raw_hooks_and_any_bytes(home):
    home.write(r"""
        services:
          a:
            command: ["sh", "-c", "for i in 1 2 3 4 5; do echo line $i; done; printf 'end \\377'; echo no >&2"]
            hooks: {pre_start: {run: "echo hook"}}
          b: {run: "echo b", depends_on: {a: {condition: service_stopped}}}
        """)
    home.start()
    home.wait_for("b", "exited")
    assert home.lines("--head", "2") == [("a", "hook"), ("a", "line 1")]
    assert home.lines("--head", "0") == []
    lines = home.lines()
    assert ("b", "b") in lines[-3:]  # what `a` wrote to two other pipes in its last moment may be read after it
    assert home.lines("--tail", "1") == lines[-1:]
    assert ("a", "hook") not in home.lines("--no-hook")
    assert home.lines("b") == [("b", "b")]
    plain = home.run("logs", "a").stdout
    assert "[INFO] a.pre_start | hook\n" in plain and "[ERROR] a | no\n" in plain
    raw = subprocess.run([KEPLER, "-f", home.path("kepler.yaml"), "logs", "--raw", "--no-hook", "a"],
                         env=home.environment(), capture_output=True, timeout=PATIENCE).stdout
    assert b"line 1\nline 2\n" in raw and b"end \xff" in raw
    assert json.loads(home.run("logs", "--json", "--head", "1").stdout)["hook"] == "pre_start"


def test_logs_follow_continues_until_the_config_is_unloaded(home):
    home.write("services:\n  a: {run: 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done'}\n")
    home.start("--wait")
    command = home.begin("logs", "--follow", "--raw")
    first = [int(command.stdout.readline()) for _ in range(10)]
    assert first == list(range(1, 11))
    home.run("stop", "--clean")
    command.communicate(timeout=PATIENCE)
    assert command.returncode == 0


def test_many_lines_arrive_whole(home):
    home.write("services:\n  a: {command: [sh, -c, 'seq 1 50000']}\n")
    run = home.run("start", "--raw")
    assert run.stdout == "".join(f"{i}\n" for i in range(1, 50001))
    assert home.run("logs", "--raw").stdout == run.stdout
    assert home.run("logs", "--raw", "--tail", "3").stdout == "49998\n49999\n50000\n"


def test_inspect_shows_sections(home):
    home.write(TWO)
    home.start("--wait", "-D", "x=1")
    whole = json.loads(home.run("inspect").stdout)
    assert sorted(whole) == ["config_hash", "config_path", "environment", "flags", "kepler", "services", "state_dir"]
    assert whole["config_path"] == home.path("kepler.yaml") and whole["flags"] == {"x": "1"}
    assert whole["services"]["web"]["state"]["status"] == "running"
    assert "services" not in json.loads(home.run("inspect", "--flags").stdout)
    assert list(json.loads(home.run("inspect", "web").stdout)["services"]) == ["web"]
    assert home.run("inspect", "nix", check=False).returncode == 1


def test_why_shows_the_history_and_what_a_service_waits_for(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 50ms, retries: 100000}}
          web: {run: "true", depends_on: {db: {condition: service_healthy}}}
        """)
    home.start()
    home.wait_for("db", "running")
    text = home.run("why", "web").stdout
    assert text.startswith("web: waiting\n  waiting for db (service_healthy), which is running: ")
    who = pwd.getpwuid(os.geteuid()).pw_name
    assert f"stopped -> waiting: start requested by {who}\n" in text


def test_why_follows_levels_to_the_first_cause_also_in_json(home):
    home.write("""
        services:
          disk: {run: "while [ ! -e go ]; do sleep 0.05; done"}
          db:
            run: exec sleep 1000
            restart: always
            depends_on: {disk: {condition: service_completed_successfully}}
            healthcheck: {run: "true", interval: 50ms}
          web: {run: "exec sleep 1000", depends_on: {db: {condition: service_healthy, restart: true}}}
        """)
    home.start()
    home.wait_for("disk", "running")
    why = json.loads(home.run("why", "--json", "web").stdout)["web"]
    assert why["status"] == "waiting" and why["levels"] == 2
    db, = why["waits_for"]
    disk, = db["waits_for"]
    assert (db["service"], db["condition"], db["status"]) == ("db", "service_healthy", "waiting")
    assert (disk["service"], disk["condition"]) == ("disk", "service_completed_successfully")
    assert "  waiting through 2 levels\n" in home.run("why", "web").stdout
    home.write("", "go")
    first = home.wait_for("web", "running")["pid"]
    os.kill(home.wait_for("db", "healthy")["pid"], signal.SIGKILL)
    wait_until(lambda: home.services()["web"]["pid"] not in (None, first) and home.status("web") == "running", "web restarts")
    history = json.loads(home.run("why", "--json", "web").stdout)["web"]["history"]
    restarted, = [entry for entry in history if entry["to"] == "restarting"]
    assert restarted["cause"] == "dependency db restarts"
    assert [link["service"] for link in restarted["chain"]] == ["db"]
    assert restarted["chain"][0]["cause"] == "process ended: killed by SIGKILL; restart policy: always"
    begun, = [entry for entry in history if (entry["from"], entry["to"]) == ("waiting", "starting")]
    assert begun["cause"] == "dependency db met service_healthy"
    assert [(link["service"], link["cause"]) for link in begun["chain"]] == [
        ("db", "health check passed"), ("disk", "process ended: exit status 0")]


def test_why_names_the_failure_that_aborted_a_start(home):
    home.write("""
        services:
          web: {run: "exec sleep 1000", healthcheck: {run: "false", retries: 100000}}  # never ready
          bad: {run: "exit 7"}
        """)
    assert home.start("--wait", check=False).returncode == 1
    text = home.run("why", "web", "bad").stdout
    assert "the start was aborted because service 'bad' failed" in text
    assert "running -> exited: process ended: exit status 7" in text
    before = home.run("why", "web").stdout
    home.stop_daemon()
    home.start_daemon()
    after = home.run("why", "web").stdout
    assert after.startswith("web: stopped (the config is not loaded), ended by SIGTERM\n")
    assert after.split("\n", 1)[1] == before.split("\n", 1)[1], "how it came about is known, also when it is not loaded"



def test_completion_knows_the_commands():
    run = subprocess.run([KEPLER, "completion", "bash"], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0
    assert " recreate" in run.stdout and "--no-deps" in run.stdout
    run = subprocess.run([KEPLER, "completion", "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert "source <(kepler completion bash)" in run.stdout and "zester" not in run.stdout


# --- rights ---------------------------------------------------------------------------------------


def test_the_state_is_private(home):
    home.write(TWO)
    home.start("--wait")
    mode = stat.S_IMODE(os.stat(home.state).st_mode)
    assert mode == (0o771 if os.geteuid() == 0 else 0o700)
    folder, = os.listdir(os.path.join(home.state, "configs"))
    for name in ("config.yaml", "state.json", "source_path.txt"):
        assert stat.S_IMODE(os.stat(os.path.join(home.state, "configs", folder, name)).st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_non_member_is_refused_by_roots_daemon(home):
    home.write(TWO)
    home.start("--wait")
    os.chmod(home.folder, 0o755)
    run = subprocess.run([KEPLER, "-f", home.path("kepler.yaml"), "ps"], env=home.environment(), capture_output=True,
                         text=True, timeout=PATIENCE, user=65534, group=65534, extra_groups=[], cwd="/")
    assert run.returncode == 1
    assert "Permission denied" in run.stderr and "group 'kepler'" in run.stderr
