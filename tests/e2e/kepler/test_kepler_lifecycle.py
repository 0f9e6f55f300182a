"""The life of services, from outside: states, starts, stops, restarts, health, limits; and what is kept of them."""
import datetime
import glob
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from kepler_home import KEPLER, PATIENCE, wait_until


def wait_for_file(home, name):
    return wait_until(lambda: os.path.exists(home.path(name)) and home.read(name), f"{name} is written")


def end_of(pid):
    """The exit status of a child, once it has ended."""
    found = wait_until(lambda: (lambda got: got if got[0] == pid else None)(os.waitpid(pid, os.WNOHANG)), "it ends")
    return os.waitstatus_to_exitcode(found[1])


def moment(home, service, before, after):
    """When it last went from one state to another, as `kepler why` knows it."""
    for change in json.loads(home.run("why", "--json", service).stdout)[service]["history"]:
        if (change["from"], change["to"]) == (before, after):
            return datetime.datetime.fromisoformat(change["time"]).timestamp()
    raise AssertionError(f"{service} never went from {before} to {after}")


# --- states ---------------------------------------------------------------------------------------


def test_each_of_the_twelve_states_shows_in_ps(home):
    home.write("""
        services:
          stopped: {run: "exec sleep 1000"}
          waiting: {run: "exec sleep 1000", depends_on: {unhealthy: {condition: service_healthy}}}
          starting: {run: "exec sleep 1000", hooks: {pre_start: {run: "while ! test -e go; do sleep 0.05; done"}}}
          running: {run: "exec sleep 1000"}
          healthy: {run: "exec sleep 1000", healthcheck: {run: "true", interval: 50ms}}
          unhealthy: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 50ms, retries: 2}}
          stopping:
            run: "exec sleep 1000"
            hooks: {pre_stop: {run: "touch stopping; while ! test -e go; do sleep 0.05; done"}}
          restarting:
            run: "exec sleep 1000"
            hooks: {pre_restart: {run: "touch restarting; while ! test -e go; do sleep 0.05; done"}}
          exited: {run: "exit 3"}
          killed: {run: "kill -9 $$"}
          failed: {run: "true", working_dir: /nowhere/at/all}
          skipped: {run: "true", if: "${{ false }}$"}
        """)
    home.start()
    for name in ("stopped", "stopping", "restarting"):
        home.wait_for(name, "running")
    home.run("stop", "stopped")
    going = [home.begin("stop", "stopping"), home.begin("restart", "restarting")]
    for name in ("waiting", "starting", "running", "healthy", "unhealthy", "stopping", "restarting", "exited", "killed",
                 "failed", "skipped", "stopped"):
        home.wait_for(name, name)
    rows = home.ps()
    shapes = {
        "stopped": r"Stopped \d+s ago", "waiting": "waiting", "starting": "Starting", "running": r"Up \d+s",
        "healthy": r"Up \d+s \(healthy\)", "unhealthy": r"Up \d+s \(unhealthy\)", "stopping": "Stopping",
        "restarting": "Restarting", "exited": r"Exited \(3\) \d+s ago", "killed": r"Killed \(SIGKILL\) \d+s ago",
        "failed": r"Failed \d+s ago \(.+\)", "skipped": r"Skipped \(`if` condition evaluated to false: .*\)",
    }
    for name, shape in shapes.items():
        assert re.fullmatch(shape, rows[name][0]), (name, rows[name])
        has_pid = name in ("running", "healthy", "unhealthy", "stopping", "restarting")
        assert (rows[name][1] != "-") == has_pid, (name, rows[name])
    home.write("", "go")
    for command in going:
        command.communicate(timeout=PATIENCE)
        assert command.returncode == 0


def test_a_service_never_started_is_stopped_without_an_age(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n  b: {run: 'true'}\n")
    home.start("a")
    assert home.ps()["b"] == ("Stopped", "-")
    assert home.services()["b"]["initialized"] is False


def test_starting_forgets_how_the_last_run_ended_and_waiting_its_reason(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "test -e ok", interval: 50ms, retries: 100000}}
          late: {run: "exec sleep 1000", depends_on: {db: {condition: service_healthy, timeout: 100ms}}}
          job: {run: "exit 4", hooks: {pre_start: {run: "! test -e hold || while ! test -e go; do sleep 0.05; done"}}}
        """)
    home.start()
    home.wait_for("job", "exited")
    assert "Dependency timeout" in home.wait_for("late", "failed")["fail_reason"]
    assert home.services()["job"]["exit_code"] == 4
    home.write("", "hold")
    home.start()
    found = home.wait_for("job", "starting")
    assert (found["exit_code"], found["signal"], found["fail_reason"]) == (None, None, None)
    home.write("", "go")
    assert home.wait_for("job", "exited")["exit_code"] == 4
    home.write("", "ok")
    home.wait_for("db", "healthy")
    home.start()
    assert home.wait_for("late", "running")["fail_reason"] is None


def test_a_stop_ends_in_stopped_and_keeps_how_the_process_went(home):
    home.write("""
        services:
          signal: {run: "exec sleep 1000"}
          code: {run: "trap 'exit 7' TERM; touch ready; while :; do sleep 0.05; done"}
        """)
    home.start()
    home.wait_for("signal", "running")
    wait_until(lambda: os.path.exists(home.path("ready")), "the trap is set")
    home.run("stop")
    services = home.services()
    assert (services["signal"]["status"], services["signal"]["signal"], services["signal"]["exit_code"]) == ("stopped", 15, None)
    assert (services["code"]["status"], services["code"]["signal"], services["code"]["exit_code"]) == ("stopped", None, 7)
    assert services["code"]["started_at"] is None and services["code"]["stopped_at"] is not None


# --- start ------------------------------------------------------------------------------------------


def test_start_restarts_ended_services_and_reevaluates_skipped_ones(home):
    home.write("""
        services:
          exited: {run: "echo x >> exited; exit 1"}
          killed: {run: "echo x >> killed; kill -9 $$"}
          failed: {run: "exec sleep 1000", working_dir: later}
          skipped: {run: "exec sleep 1000", if: "${{ kepler.flags.on == '1' }}$"}
          stopped: {run: "exec sleep 1000"}
        """)
    home.start()
    home.wait_for("exited", "exited")
    home.wait_for("killed", "killed")
    home.wait_for("failed", "failed")
    home.wait_for("skipped", "skipped")
    home.wait_for("stopped", "running")
    home.run("stop", "stopped")
    os.mkdir(home.path("later"))
    assert home.start("-D", "on=1").stdout == "Started 5 services\n"
    for name in ("failed", "skipped", "stopped"):
        home.wait_for(name, "running")
    for name in ("exited", "killed"):
        wait_until(lambda: home.read(name) == "x\nx\n", f"{name} ran twice")


def test_start_by_name_ignores_if_and_returns_when_the_service_has_ended(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "test -e ok", interval: 50ms, retries: 100000}}
          web:
            run: "exec sleep 1000"
            if: "${{ false }}$"
            hooks: {post_start: {run: "sleep 0.2; touch up"}}
            depends_on: {db: {condition: service_healthy}}
        """)
    assert home.start("db").stdout == "Started 1 service\n"
    assert home.status("db") == "running"
    command = home.begin("start", "-d", "web")
    home.wait_for("web", "waiting")
    assert command.poll() is None
    home.write("", "ok")
    assert command.communicate(timeout=PATIENCE)[0] == "Started 1 service\n"
    assert os.path.exists(home.path("up"))
    assert home.status("web") == "running"


def test_a_name_that_is_given_twice_counts_once(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    assert home.start("a", "a").stdout == "Started 1 service\n"
    assert home.run("restart", "a", "a").stdout == "Restarted 1 service\n"


def test_an_unstarted_dependency_skips_unless_its_policy_keeps_it_up(home):
    home.write("""
        services:
          once: {run: "exec sleep 1000"}
          always: {run: "exec sleep 1000", restart: always}
          a: {run: "exec sleep 1000", depends_on: [once]}
          b: {run: "exec sleep 1000", depends_on: [always]}
        """)
    assert home.start("a", check=False).returncode == 1
    assert home.services()["a"]["skip_reason"] == "dependency `once` was not started, won't restart (policy: No)"
    command = home.begin("start", "-d", "b")
    home.wait_for("b", "waiting")
    home.start("always")
    command.communicate(timeout=PATIENCE)
    assert home.status("b") == "running"


def test_services_of_one_start_share_the_global_table_and_a_restart_does_not(home):
    home.write("""
        services:
          first:
            run: "exec sleep 1000"
            environment:
              - SEEN=${{ (function() global.count = (global.count or 0) + 1; return global.count end)() }}$
          second:
            run: "echo second $SEEN; exec sleep 1000"
            depends_on: [first]
            environment:
              - SEEN=${{ (function() global.count = (global.count or 0) + 1; return global.count end)() }}$
        """)
    home.start("--wait", "--timeout", "100s")
    wait_until(lambda: ("second", "second 2") in home.lines(), "the second one saw what the first one wrote")
    home.run("restart", "second")
    wait_until(lambda: ("second", "second 1") in home.lines(), "a restart begins anew")


def test_a_config_without_services_says_so(home):
    home.write("services: {}\n")
    run = home.start()
    assert run.stdout == f"No services in '{home.path('kepler.yaml')}'\n"
    assert home.run("start").returncode == 0
    assert home.run("ps").stdout == "NAME  STATUS  PID\n"


def test_wait_on_some_services_is_not_ended_by_the_failure_of_others(home):
    home.write("""
        services:
          broken: {run: "exit 1"}
          web: {run: "exec sleep 1000"}
          dependent: {run: "exec sleep 1000", depends_on: {broken: {condition: service_completed_successfully}}}
        """)
    home.start("broken")
    home.wait_for("broken", "exited")
    run = home.start("--wait", "--timeout", "100s", "web")
    assert (run.stdout, run.stderr) == ("Started 1 service\n", "")
    assert home.status("web") == "running"
    run = home.start("--wait", "--timeout", "100s", "dependent", check=False)
    assert run.returncode == 1 and "service 'broken' failed: exit code 1" in run.stderr
    assert home.status("web") == "running"


def test_a_failure_right_after_ready_still_counts(home):
    """Right after is a fifth of a second, in which a busy machine may not come to it: it tries again."""
    home.write("services:\n  a: {run: 'sleep 0.02; exit 9'}\n  b: {run: 'exec sleep 1000'}\n")
    for _ in range(20):
        run = home.start("--wait", check=False)
        if run.returncode != 0:
            break
        home.run("stop")
    assert (run.returncode, run.stdout) == (1, "")
    assert "Error: service 'a' failed: exit code 9\n" in run.stderr
    assert home.status("b") == "stopped"


def test_detached_without_wait_ignores_failures_and_handled_ones_count_nowhere(home):
    home.write("""
        services:
          a: {run: "exit 9"}
          b: {run: "exec sleep 1000"}
          c: {run: "exec sleep 1000", depends_on: {a: {condition: service_stopped}}}
        """)
    assert home.start().returncode == 0
    home.wait_for("c", "running")
    home.run("stop")
    run = home.start("--wait", "--timeout", "100s")
    assert run.stderr == ""
    assert home.status("c") == "running"


@pytest.mark.parametrize("condition, codes, end, status", [
    ("service_failed", "[3]", "exit 3", 0), ("service_failed", "[3]", "exit 4", 1), ("service_stopped", '["5:10"]', "exit 4", 1),
    ("service_failed", "[3]", "kill -9 $$", 1),
])
def test_a_failure_is_handled_only_by_those_whose_exit_code_matches(home, condition, codes, end, status):
    home.write(f"""
        services:
          job: {{run: "{end}"}}
          handler: {{run: "true", depends_on: {{job: {{condition: {condition}, exit_code: {codes}}}}}}}
        """)
    run = home.run("start", check=False)
    assert run.returncode == status
    assert ("service 'job' failed" in run.stderr) == (status == 1)
    assert home.status("handler") == ("exited" if status == 0 else "skipped")


def test_a_start_or_restart_of_a_file_that_has_changed_since_says_so(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    assert home.start("--wait").stderr == ""
    assert home.start().stderr == ""
    home.write("services:\n  a: {run: 'exec sleep 1001'}\n")
    note = f"Warning: '{home.path('kepler.yaml')}' has changed since it was loaded: 'kepler apply' reads it again\n"
    assert home.start().stderr == note
    assert home.start("--wait").stderr == note
    assert home.start("-q").stderr == ""
    for words in ([], ["--wait"]):
        run = home.run("restart", *words)
        assert (run.stdout, run.stderr) == ("Restarted 1 service\n", note)
    assert home.run("recreate").stderr == ""
    assert home.run("restart").stderr == ""
    assert home.start().stderr == ""


# --- stop -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", ["stop_grace_period: 1500ms", "restart: {policy: on-failure, grace_period: 1500ms}"])
def test_a_service_that_ignores_sigterm_is_killed_after_its_grace_period(home, extra):
    home.write(f"""
        services:
          a:
            run: "trap 'echo term >> got' TERM; touch ready; while :; do sleep 0.05; done"
            {extra}
        """)
    home.start()
    wait_until(lambda: os.path.exists(home.path("ready")), "the trap is set")
    begun = time.monotonic()
    home.run("stop")
    assert time.monotonic() - begun >= 1.5
    asked, killed = [moment(home, "a", *words) for words in (("running", "stopping"), ("stopping", "stopped"))]
    assert 1.5 <= killed - asked < 9, "it was not the grace that all have"
    assert home.read("got") == "term\n"
    found = home.services()["a"]
    assert (found["status"], found["signal"]) == ("stopped", 9)


def test_stop_takes_the_whole_tree_and_runs_in_parallel(home):
    home.write("""
        services:
          a: {run: "NAME=a; . ./service", stop_grace_period: 1h}
          b: {run: "NAME=b; . ./service", stop_grace_period: 1h}
          c: {run: "NAME=c; . ./service", stop_grace_period: 1h}
          d: {run: "NAME=d; . ./service", stop_grace_period: 1h}
        """)
    # Each waits for all the others: one after the other they would never end.
    home.write("""
        asked() { touch down.$NAME; until [ $(ls | grep -c ^down) = 4 ]; do sleep 0.05; done; exit 0; }
        (setsid sleep 1000 &)
        trap asked TERM
        touch up.$NAME
        while :; do sleep 0.05; done
        """, "service")
    home.start()
    for name in "abcd":
        wait_until(lambda: os.path.exists(home.path("up." + name)), "the trap is set")
    run = home.run("stop")
    assert (run.stdout, run.stderr) == ("", "")
    assert {one["exit_code"] for one in home.services().values()} == {0}
    assert home.processes() == []


@pytest.mark.parametrize("word, got", [("INT", "int"), ("SIGUSR1", "usr1"), ("12", "usr2"), ("HUP", "hup")])
def test_stop_takes_signals_by_name_and_number(home, word, got):
    home.write("""
        services:
          a:
            run: "for s in INT USR1 USR2 HUP; do trap \\"echo $s > got; exit\\" $s; done; touch ready; while :; do sleep 0.05; done"
        """)
    home.start()
    wait_until(lambda: os.path.exists(home.path("ready")), "the traps are set")
    home.run("stop", "-s", word)
    assert home.read("got").strip().lower() == got


@pytest.mark.parametrize("word", ["NIX", "SIGNIX", "0", "-1", "999", ""])
def test_an_unknown_signal_is_refused_and_stops_nothing(home, word):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    run = home.run("stop", f"--signal={word}", check=False)
    assert (run.returncode, run.stderr) == (1, f"Error: unknown signal '{word}': expected a name such as TERM, or a number\n")
    assert home.status("a") == "running"


def test_a_stop_during_the_pause_before_a_restart_wins(home):
    home.write("services:\n  a: {run: 'echo x >> runs; exit 1', restart: {policy: always, delay: 400ms}}\n")
    home.start()
    home.wait_for("a", "starting")
    home.run("stop")
    assert home.status("a") == "stopped"
    runs = home.read("runs")
    time.sleep(0.7)  # longer than the pause
    assert (home.status("a"), home.read("runs")) == ("stopped", runs)


def test_sigkill_waits_neither_for_hooks_nor_for_the_grace_of_a_restart(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000", hooks: {pre_stop: {run: "touch hook; sleep 1000"}}}
          b: {run: "trap '' TERM; touch up; while :; do sleep 0.05; done", stop_grace_period: 1h}
        """)
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("up")), "b has set its trap")
    stop = home.begin("stop", "a")
    wait_until(lambda: os.path.exists(home.path("hook")), "the hook hangs")
    restart = home.begin("restart", "b")
    home.wait_for("b", "restarting")
    home.run("stop", "-s", "KILL")
    assert home.services()["a"]["signal"] == home.services()["b"]["signal"] == signal.SIGKILL
    assert (stop.communicate(timeout=PATIENCE), stop.returncode) == (("", ""), 0)
    assert restart.communicate(timeout=PATIENCE)[1] == "Error: service 'b' did not come up again: it was stopped during the restart\n"
    assert restart.returncode == 1


def test_a_start_by_name_that_is_stopped_meanwhile_is_reported(home):
    home.write("services:\n  a: {run: 'exec sleep 1000', hooks: {pre_start: {run: 'sleep 1000'}}}\n")
    start = home.begin("start", "-d", "a")
    home.wait_for("a", "starting")
    home.run("stop")
    assert start.communicate(timeout=PATIENCE) == ("Started 0 services\n", "Error: service 'a' was stopped while it was starting\n")


def test_a_start_that_waits_for_post_exit_and_is_stopped_meanwhile_says_so(home):
    home.write("""
        services:
          a: {run: "exit 1", hooks: {post_exit: {run: "while [ ! -e go ]; do sleep 0.02; done"}}}
        """)
    home.start()
    home.wait_for("a", "stopping")
    start = home.begin("start", "-d", "a")
    state, = glob.glob(home.path("state/configs/*/state.json"))
    wait_until(lambda: '"goal": "up"' in home.read(state), "it waits")
    stop = home.begin("stop", "a")
    out, err = start.communicate(timeout=PATIENCE)
    home.write("", "go")
    assert (start.returncode, out) == (1, "Started 0 services\n") and "was stopped while it was starting" in err
    assert stop.wait(PATIENCE) == 0


def test_a_named_stop_leaves_the_others_and_unknown_names_are_reported(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n  b: {run: 'exec sleep 1000', depends_on: [a]}\n")
    home.start("--wait")
    home.run("stop", "a")
    assert (home.status("a"), home.status("b")) == ("stopped", "running")
    run = home.run("stop", "nix", check=False)
    assert run.returncode == 1 and "no service 'nix'" in run.stderr


def test_clean_runs_pre_cleanup_of_services_that_ever_ran_and_removes_everything(home):
    home.write("""
        services:
          ran: {run: "exit 0", hooks: {pre_cleanup: {run: "echo ran >> cleaned"}}}
          runs: {run: "exec sleep 1000", hooks: {pre_cleanup: {run: "echo runs >> cleaned"}}}
          skipped: {run: "true", if: "${{ false }}$", hooks: {pre_cleanup: {run: "echo skipped >> cleaned"}}}
          cascade: {run: "true", depends_on: [skipped], hooks: {pre_cleanup: {run: "echo cascade >> cleaned"}}}
        """)
    home.start("--wait")
    home.run("stop", "--clean", "runs")
    assert home.status("runs") == "stopped"  # with a name nothing is forgotten
    home.run("stop", "--clean")
    assert sorted(set(home.read("cleaned").split())) == ["ran", "runs"]
    assert os.listdir(os.path.join(home.state, "configs")) == []
    assert "start it first" in home.run("ps").stderr


# --- restart, recreate, run ---------------------------------------------------------------------------


def test_restart_needs_a_running_service(home):
    home.write("services:\n  a: {run: 'echo a; exec sleep 1000'}\n  b: {run: 'exit 0'}\n")
    run = home.run("restart", check=False)
    assert run.returncode == 1 and "start it first" in run.stderr
    home.start("--wait")
    home.wait_for("b", "exited")
    before = home.services()["a"]["pid"]
    assert home.run("restart").stdout == "Restarted 1 service\n"
    now = home.services()
    assert now["a"]["pid"] not in (None, before) and now["b"]["status"] == "exited"
    assert home.run("restart", "b").stdout == "No running services to restart\n"
    home.run("stop")
    assert home.run("restart").stdout == "No running services to restart\n"


def test_a_restart_that_does_not_come_up_again_is_an_error(home):
    home.write("services:\n  a: {run: 'exec sleep 1000', hooks: {pre_start: {run: '! test -e bad'}}}\n  b: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    home.write("", "bad")
    run = home.run("restart", check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("Error: service 'a' did not come up again: ")
    assert (home.status("a"), home.status("b")) == ("failed", "running")


def test_a_restart_evaluates_if_again_unless_the_service_is_named(home):
    home.write("services:\n  a: {run: 'exec sleep 1000', if: \"${{ kepler.flags.off ~= '1' }}$\"}\n  b: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    assert home.run("restart", "a", "-D", "off=1").stdout == "Restarted 1 service\n"
    assert home.status("a") == "running"
    home.run("restart")
    assert (home.status("a"), home.status("b")) == ("skipped", "running")


def test_restart_stops_in_one_order_and_starts_in_reverse(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", hooks: {post_stop: {run: "echo -db >> order"}, pre_start: {run: "echo +db >> order"}}}
          web:
            run: "exec sleep 1000"
            depends_on: [db]
            hooks: {post_stop: {run: "echo -web >> order"}, pre_start: {run: "echo +web >> order"}}
        """)
    home.start("--wait")
    os.unlink(home.path("order"))
    home.run("restart")
    assert home.read("order").split() == ["-web", "-db", "+db", "+web"]


def test_restart_follow_shows_lines_from_the_beginning_and_ctrl_c_leaves_the_services_alone(home):
    home.write("services:\n  a: {run: 'echo begin $$; while :; do echo $$; sleep 0.05; done'}\n")
    home.start("--wait")
    before = home.services()["a"]["pid"]
    command = home.begin("restart", "--follow", "--raw")
    seen = []

    def is_seen(line):
        if line not in seen:
            seen.append(command.stdout.readline().strip())
        return line in seen

    wait_until(lambda: is_seen("Restarted 1 service"), "the restart is told")
    pid = home.services()["a"]["pid"]
    assert pid != before
    wait_until(lambda: is_seen(f"begin {pid}"), "its first line is shown")
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=PATIENCE)
    assert command.returncode == 0
    found = home.services()["a"]
    assert (found["status"], found["pid"]) == ("running", pid)


@pytest.mark.parametrize("words", [["--wait"], ["--follow"]])
def test_a_followed_restart_starts_nothing_that_did_not_run(home, words):
    home.write("""
        services:
          a: {run: "exec sleep 1000"}
          once: {run: "echo x >> once"}
          fell: {run: "exit 3", depends_on: [once]}
          down: {run: "exec sleep 1000"}
    """)
    home.start("--wait", "--no-abort-on-failure", check=False)
    for name, status in (("a", "running"), ("once", "exited"), ("fell", "exited"), ("down", "running")):
        home.wait_for(name, status)
    home.run("stop", "down")
    command = home.begin("restart", *words)
    assert command.stdout.readline() == "Restarted 1 service\n"
    if words == ["--follow"]:
        command.send_signal(signal.SIGINT)
    errors = command.communicate(timeout=PATIENCE)[1]
    assert (command.returncode, errors) == (0, "")
    found = home.services()
    assert {name: found[name]["status"] for name in found} == {"a": "running", "once": "exited", "fell": "exited",
                                                              "down": "stopped"}
    assert home.read("once") == "x\n"
    home.run("stop", "a")
    assert home.run("restart", *words).stdout == "No running services to restart\n"


def test_a_waiting_restart_reports_a_failure_and_tries_once(home):
    home.write("""
        services:
          a: {run: "echo x >> runs; test $(wc -l < runs) -gt 1 && exit 3; exec sleep 1000"}
          b: {run: "exec sleep 1000", healthcheck: {run: "! test -e hold", interval: 50ms, retries: 100000}}
    """)
    home.start("--wait")
    wait_for_file(home, "runs")
    home.write("", "hold")  # b is not ready before a fails
    run = home.run("restart", "--wait", check=False)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", "Error: service 'a' failed: exit code 3\n")
    home.wait_for("b", "running")
    assert (home.status("a"), home.read("runs")) == ("exited", "x\nx\n")


def test_recreate_starts_from_scratch(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000", hooks: {pre_start: {run: "echo first >> ran", if: "${{ not service.initialized }}$"}}}
        """)
    home.start("--wait")
    home.run("stop")
    home.start("--wait")
    assert home.read("ran") == "first\n"
    home.run("recreate", "-D", "x=1")
    home.wait_for("a", "running")
    assert home.read("ran") == "first\nfirst\n"
    assert json.loads(home.run("inspect", "--flags").stdout)["flags"] == {"x": "1"}


# --- policies, health ----------------------------------------------------------------------------------


def test_pauses_grow_by_the_factor_from_the_first_restart_on(home):
    home.write("""
        services:
          a:
            run: "date +%s.%N >> starts; exit 1"
            restart: {policy: on-failure, delay: 200ms, backoff: 2.0, max_delay: 500ms}
        """)
    home.start()
    wait_until(lambda: os.path.exists(home.path("starts")) and len(home.read("starts").split()) >= 5, "five starts")
    starts = [float(word) for word in home.read("starts").split()]
    gaps = [b - a for a, b in zip(starts, starts[1:])][:4]
    least = [0.2, 0.4, 0.5, 0.5]  # more on a busy machine, never less
    assert all(gap >= want for gap, want in zip(gaps, least)), gaps


@pytest.mark.parametrize("words", [["start", "-d"], ["start", "-d", "a"], ["restart"], ["restart", "a"]], ids=" ".join)
def test_a_delayed_restart_happens_at_once_on_request(home, words):
    home.write("services:\n  a: {run: 'test -e mended || exit 1; exec sleep 1000', restart: {policy: always, delay: 1h}}\n")
    home.start()
    wait_until(lambda: "waiting before the next start" in home.run("why", "a").stdout, "a pauses")
    home.write("", "mended")
    assert home.run(*words).stdout in ("Started 1 service\n", "Restarted 1 service\n")
    home.wait_for("a", "running")


@pytest.mark.parametrize("policy, code, again", [
    ("on-failure", 1, True), ("on-failure", 0, False), ("on-success", 0, True), ("on-success", 1, False),
    ("on-failure|on-success", 0, True), ("on-unhealthy", 1, False), ("always", 0, True), ("no", 1, False),
])
def test_policies_restart_the_documented_exits(home, policy, code, again):
    home.write(f"services:\n  a: {{run: 'echo x >> runs; test -e stop && exec sleep 1000; exit {code}', restart: '{policy}'}}\n")
    home.start()
    if again:
        wait_until(lambda: os.path.exists(home.path("runs")) and len(home.read("runs").split()) >= 3, "it is started again")
        home.write("", "stop")
        home.wait_for("a", "running")
    else:
        assert home.wait_for("a", "exited")["exit_code"] == code
        assert home.read("runs") == "x\n"


def test_a_pre_start_that_fails_in_a_restart_by_policy_is_a_failed_start(home):
    home.write("""
        services:
          a:
            run: "echo run >> runs; exec sleep 1000"
            restart: always
            hooks: {pre_start: {run: "echo try >> tries; test ! -e broken"}}
        """)
    home.start("--wait")
    home.write("", "broken")
    os.kill(home.services()["a"]["pid"], signal.SIGKILL)
    wait_until(lambda: len(home.read("tries").split()) >= 3, "it was tried again")
    assert home.services()["a"]["status"] == "starting" and home.read("runs") == "run\n"
    os.unlink(home.path("broken"))
    home.wait_for("a", "running")
    wait_until(lambda: home.read("runs") == "run\nrun\n", "it runs")


def test_a_crash_loop_is_slowed_down_and_never_counts_as_an_end(home):
    home.write("""
        services:
          a: {run: "date +%s.%N >> runs; exit 1", restart: on-failure}
          b: {run: "touch wrong", depends_on: {a: {condition: service_stopped}}}
        """)
    home.start()
    wait_until(lambda: os.path.exists(home.path("runs")) and len(home.read("runs").split()) >= 24, "some restarts")
    starts = [float(word) for word in home.read("runs").split()]
    if starts[20] - starts[0] > 8:
        pytest.skip("this machine is too slow for a crash loop")
    assert starts[23] - starts[21] >= 1.5
    assert home.status("a") in ("starting", "running") and home.status("b") == "waiting"
    assert not os.path.exists(home.path("wrong"))


def test_a_service_that_its_start_limit_ends_has_the_exit_code_of_its_last_run(home):
    home.write("""
        services:
          a: {run: "exit 2", restart: always, start_limit: {count: 1, interval: 1m}}
          two: {run: "exit 0", depends_on: {a: {condition: service_failed, exit_code: [2]}}}
          nine: {run: "exit 0", depends_on: {a: {condition: service_failed, exit_code: [9]}}}
        """)
    home.start("--wait")
    last = home.wait_for("a", "failed")
    assert last["exit_code"] == 2 and "restarted 1 time within 60 s" in last["fail_reason"]
    assert home.wait_for("two", "exited")["exit_code"] == 0
    reason = "dependency `a` failed with exit code Some(2), won't restart (policy: Always)"
    assert home.wait_for("nine", "skipped")["skip_reason"] == reason


def test_a_start_limit_ends_a_crash_loop_and_a_start_resets_it(home):
    home.write("""
        services:
          a: {run: "echo x >> runs; exit 1", restart: always, start_limit: {count: 3, interval: 1m}}
        """)
    home.start()
    home.wait_for("a", "failed")
    assert re.fullmatch(r"Failed \d+s ago \(start limit reached: restarted 3 times within 60 s, last because "
                        r"process ended: exit status 1\)", home.ps()["a"][0])
    assert len(home.read("runs").split()) == 4
    home.start()
    wait_until(lambda: len(home.read("runs").split()) == 8, "four more")
    home.wait_for("a", "failed")


def test_a_check_that_takes_too_long_fails_and_dies_with_its_tree(home):
    home.write("""
        services:
          a:
            run: "exec sleep 1000"
            healthcheck: {run: "(setsid sleep 997 &) ; sleep 998", interval: 50ms, timeout: 200ms, retries: 2}
        """)
    home.start()
    home.wait_for("a", "unhealthy")
    assert home.services()["a"]["health_check_failures"] >= 2
    home.run("stop")
    assert home.processes() == []


def test_checks_begin_after_the_start_period_and_interval_counts_from_the_end(home):
    home.write("""
        services:
          a:
            run: "exec sleep 1000"
            healthcheck: {run: "date +%s.%N >> checks; sleep 0.2", start_period: 1s, interval: 300ms}
        """)
    begun = time.time()
    home.start()
    wait_until(lambda: os.path.exists(home.path("checks")) and len(home.read("checks").split()) >= 3, "three checks")
    checks = [float(word) for word in home.read("checks").split()]
    assert checks[0] - begun >= 1
    assert checks[1] - checks[0] >= 0.49 and checks[2] - checks[1] >= 0.49


def test_unhealthy_restarts_only_under_its_policy(home):
    home.write("""
        services:
          stays: {run: "exec sleep 1000", restart: on-failure, healthcheck: {run: "false", interval: 50ms, retries: 1}}
          goes:
            run: "echo x >> runs; exec sleep 1000"
            restart: on-unhealthy
            healthcheck: {run: "test $(cat checks | wc -l) -ge 2 || { echo x >> checks; false; }", interval: 50ms, retries: 2}
        """)
    home.write("", "checks")
    home.start()
    pid = home.wait_for("stays", "unhealthy")["pid"]
    home.wait_for("goes", "healthy")
    wait_until(lambda: home.read("runs") == "x\nx\n", "it was started twice")
    assert home.services()["stays"]["pid"] == pid


# --- the command line -------------------------------------------------------------------------------------


def test_the_file_may_be_named_anywhere_on_the_line(home):
    path = home.write("services:\n  a: {run: 'exec sleep 1000'}\n", "other.yaml")
    for words in (["-f", path, "ps"], ["ps", "-f", path], ["ps", f"--file={path}"], ["--file", path, "-q", "ps"], ["ps", f"-f{path}"]):
        run = subprocess.run([KEPLER, *words], env=home.environment(), capture_output=True, text=True, timeout=PATIENCE, cwd="/")
        assert run.returncode == 0 and "other.yaml" in run.stderr, (words, run)


def test_kepler_yml_is_used_without_kepler_yaml(home):
    home.write("services:\n  b: {run: 'true'}\n", "kepler.yml")

    def names():
        run = subprocess.run([KEPLER, "graph"], env=home.environment(), capture_output=True, text=True, timeout=PATIENCE, cwd=home.folder)
        return run.stdout
    assert names() == "Level 0:\n  b\n"
    home.write("services:\n  a: {run: 'true'}\n")
    assert names() == "Level 0:\n  a\n"


def test_invalid_pairs_are_reported_and_ignored(home):
    home.write("services:\n  a: {run: 'echo $A-$B'}\n")
    run = home.start("-e", "A=1=2", "-e", "nix", "-e", "=x", "-D", "flag", "-D", "k=v")
    assert run.stderr == ("Warning: ignoring -e 'nix': not KEY=VALUE\nWarning: ignoring -e '=x': not KEY=VALUE\n"
                          "Warning: ignoring -D 'flag': not KEY=VALUE\n")
    wait_until(lambda: home.lines() == [("a", "1=2-")], "it ran")
    assert json.loads(home.run("inspect", "--flags").stdout)["flags"] == {"k": "v"}


def test_verbose_mentions_hooks_and_the_file_and_quiet_only_errors(home):
    path = home.write("services:\n  a: {run: 'exit 0', hooks: {pre_start: {run: 'true'}}}\n")
    run = home.run("start", "-v")
    assert f"Config: {path}\n" in run.stderr
    assert "a: hook pre_start started\n" in run.stderr and "a: hook pre_start completed\n" in run.stderr
    assert home.run("start", "-d", "-q").stdout == ""
    assert home.run("restart", "-q").stdout == ""


def test_ps_of_all_shortens_the_home_folder_and_sorts(home):
    home.write("services:\n  b: {run: 'exec sleep 1000'}\n  a: {run: 'exec sleep 1000'}\n")
    home.write("services:\n  c: {run: 'exec sleep 1000'}\n", "another.yaml")
    home.start("--wait")
    home.start("--wait", file="another.yaml")
    lines = home.run("ps", "--all", env={"HOME": home.folder}).stdout.splitlines()
    assert lines[0].split() == ["CONFIG", "NAME", "STATUS", "PID"]
    assert [line.split()[:2] for line in lines[1:]] == [["~/another.yaml", "c"], ["~/kepler.yaml", "a"], ["~/kepler.yaml", "b"]]
    assert all(line.split()[-1].isdigit() for line in lines[1:])


def test_progress_is_shown_only_on_terminals(home):
    home.write("services:\n  db: {run: 'exec sleep 1000'}\n  web: {run: 'exec sleep 1000', depends_on: [db]}\n")
    text, status = home.on_terminal("start", "-d", "--wait")
    assert status == 0 and "web  Started" in text and "web  Waiting" in text
    text, status = home.on_terminal("restart")
    assert status == 0 and "db  Restarting" in text and "web  Started" in text
    text, status = home.on_terminal("recreate")
    assert status == 0 and "web  Stopped" in text
    home.wait_for("web", "running")
    text, status = home.on_terminal("stop", "-q")
    assert (text, status) == ("", 0)
    home.start("--wait")
    text, status = home.on_terminal("stop", "--clean")
    assert status == 0 and "db  Stopping" in text and "web  Stopped" in text
    assert home.start("--wait").stderr == ""
    assert home.run("restart").stderr == ""
    assert home.run("stop").stderr == ""


def screen(text, columns):
    """What stands on a terminal in the end: our own words move up, clear below, and begin lines."""
    rows, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[(?:\d+A|J)|[\r\n]|[^\x1b\r\n]", text):
        if token.endswith("A") and token.startswith("\x1b"):
            row -= int(token[2:-1])
            assert row >= 0, "above the beginning"
        elif token == "\x1b[J":
            rows = rows[:row] + [rows[row][:column]]
        elif token == "\r":
            column = 0
        elif token == "\n":
            row += 1
        else:
            if column == columns:
                row, column = row + 1, 0
            while len(rows) <= row:
                rows.append("")
            rows[row] = rows[row][:column].ljust(column) + token + rows[row][column + 1:]
            column += 1
        while len(rows) <= row:
            rows.append("")
    return [line.rstrip() for line in rows if line.rstrip()]


def test_progress_draws_over_itself_also_where_reasons_are_wrapped(home):
    home.write("""
        services:
          job: {run: "sleep 0.3; exit 0"}
          never: {run: "true", depends_on: {job: {condition: service_failed}}}
          web: {run: "exec sleep 1000", healthcheck: {run: "sleep 0.3", interval: 50ms}}
        """)
    text, status = home.on_terminal("start", "-d", "--wait", size=(24, 40))
    assert status == 0
    lines = screen(text, 40)
    assert "".join(lines).count("job  ") == 1, lines
    assert "web  Healthy" in "".join(lines) and "never  Skipped: dependency `job` exited with" in "".join(lines).replace("\n", ""), lines


def test_on_a_terminal_ctrl_c_stops_the_services_and_a_second_one_ends_the_command(home):
    home.write("""
        services:
          a: {run: "trap 'touch asked; while ! test -e go; do sleep 0.05; done; exit 0' TERM; touch up; while :; do sleep 0.05; done"}
        """)
    for twice in (False, True):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(home.folder)
            os.execve(KEPLER, [KEPLER, "start"], home.environment())
        try:
            wait_until(lambda: os.path.exists(home.path("up")), "the trap is set")
            os.write(terminal, b"\x03")
            wait_until(lambda: os.path.exists(home.path("asked")), "it was asked to stop")
            if twice:
                os.write(terminal, b"\x03")
                assert end_of(pid) == 130
                assert home.status("a") == "stopping"
            home.write("", "go")
            if not twice:
                assert end_of(pid) == 0
        finally:
            os.close(terminal)
        home.wait_for("a", "stopped")
        for name in ("up", "asked", "go"):
            os.unlink(home.path(name))


def test_a_foreground_start_of_running_services_follows_them(home):
    home.write("services:\n  a: {run: 'while :; do echo said; sleep 0.05; done'}\n")
    home.start("--wait")
    command = home.begin("start", "--raw")
    assert command.stdout.readline() == "said\n"
    assert command.poll() is None
    home.run("stop")
    command.communicate(timeout=PATIENCE)
    assert command.returncode == 0


def test_overrides_stay_and_the_environment_is_refreshed_only_on_request(home):
    home.write("services:\n  a: {run: 'echo $ONE-$TWO; exec sleep 1000'}\n")
    seen = []

    def check(*words, env, want):
        home.run(*words, env=env)
        seen.append(want)
        wait_until(lambda: [text for _, text in home.lines()] == seen, f"{words}: {want}")
    check("start", "-d", "--wait", "-e", "ONE=1", env={"TWO": "a"}, want="1-a")
    check("restart", env={"ONE": "x", "TWO": "b"}, want="1-a")
    check("restart", "-e", "ONE=2", env={"TWO": "c"}, want="2-a")
    check("restart", "-r", env={"ONE": "3", "TWO": "d"}, want="3-d")
    check("restart", "-r", "-e", "ONE=4", env={"ONE": "5", "TWO": "e"}, want="4-e")
    check("restart", env={"ONE": "6"}, want="4-e")


def test_concurrent_commands_reach_one_outcome(home):
    home.write("""
        services:
          a:
            run: "trap 'while ! test -e go; do sleep 0.05; done; exit 0' TERM; touch up; while :; do sleep 0.05; done"
            stop_grace_period: 1h
          b: {run: "exec sleep 1000", depends_on: [a]}
        """)
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("up")), "the trap is set")
    first = home.begin("stop")
    home.wait_for("a", "stopping")
    second = home.begin("start", "-d", "--wait", "--timeout", "100s")
    time.sleep(0.2)  # so that they do meet; without that all is as well
    home.write("", "go")
    for command in (first, second):
        out, err = command.communicate(timeout=PATIENCE)
        assert command.returncode == 0, (command.args, out, err)
    assert {one["status"] for one in home.services().values()} == {"running"}


def test_a_timeout_of_wait_names_what_is_not_ready(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 50ms, retries: 100000}}
          web: {run: "true", depends_on: {db: {condition: service_healthy}}}
          fine: {run: "exec sleep 1000"}
        """)
    run = home.start("--wait", "--timeout", "2s", check=False)
    assert run.returncode == 1
    assert run.stderr == "Error: timeout: not all services are ready: db is running, web is waiting\n"
    assert home.status("fine") == "running"


def test_a_row_of_ps_is_one_line_whatever_the_reason_holds(home):
    home.write("""
        services:
          bad: {run: "true", environment: ["X=${{ error('one' .. string.char(10) .. 'two — three') }}$"]}
          good: {run: "exec sleep 1000"}
        """)
    home.start()
    home.wait_for("bad", "failed")
    home.wait_for("good", "running")
    lines = home.run("ps").stdout.splitlines()
    assert len(lines) == 3 and "one two — three" in lines[1]
    assert len({line.rindex(line.split()[-1]) for line in lines}) == 1, lines


# --- what is kept ------------------------------------------------------------------------------------------


def test_a_config_that_is_not_loaded_is_still_known(home):
    home.write("""
        services:
          job: {run: "echo line; echo '::output::k=v'; exit 0", output: true}
          web: {run: "exec sleep 1000", logs: {retention: {on_stop: retain}}}
        """)
    home.start()
    home.wait_for("job", "exited")
    home.wait_for("web", "running")
    wait_until(lambda: home.lines() == [("job", "line")], "the line is stored")
    home.kill_daemon()
    home.start_daemon()
    rows = home.ps()
    assert rows["web"] == ("Stopped", "-") or rows["web"][0].startswith("Stopped ")
    assert rows["job"][0].startswith("Exited (0) ")
    assert home.lines() == [("job", "line")]
    shown = json.loads(home.run("inspect").stdout)
    assert shown["services"]["job"]["state"]["status"] == "exited"
    assert shown["services"]["web"]["state"]["status"] == "stopped"
    assert shown["services"]["job"]["outputs"]["process"] == {"k": "v"}
    assert "not loaded" in home.run("why", "web").stdout
    assert home.run("stop").returncode == 0
    everything = json.loads(home.run("ps", "--all", "--json").stdout)
    assert [one["config_path"] for one in everything] == [home.path("kepler.yaml")]
    home.start()
    home.wait_for("web", "running")
    assert home.services()["job"]["initialized"] is True


def test_inspect_has_the_promised_keys(home):
    home.write("services:\n  a: {run: 'exec sleep 1000', environment: {B: 2, A: x}, output: true}\n")
    home.start("--wait")
    shown = json.loads(home.run("inspect").stdout)
    assert list(shown) == ["config_hash", "config_path", "environment", "flags", "kepler", "services", "state_dir"]
    assert shown["kepler"] is None
    assert shown["state_dir"].endswith("/configs/" + shown["config_hash"])
    one = shown["services"]["a"]
    assert sorted(one) == ["config", "environment", "outputs", "state"]
    assert sorted(one["outputs"]) == ["hooks", "path", "process"]
    assert one["config"]["environment"] == ["B=2", "A=x"]
    assert one["environment"]["A"] == "x" and one["environment"]["B"] == "2"
    assert shown["environment"]["MARK"] == home.folder
    assert sorted(json.loads(home.run("inspect", "a").stdout)["services"]["a"]) == ["config", "outputs", "state"]
    assert sorted(json.loads(home.run("inspect", "--env").stdout)) == ["config_hash", "config_path", "environment", "kepler", "state_dir"]
    home.write("kepler: {}\nservices:\n  a: {run: 'exec sleep 1000'}\n", "other.yaml")
    home.start("--wait", file="other.yaml")
    assert json.loads(home.run("inspect", file="other.yaml").stdout)["kepler"] is not None


def test_prune_marks_orphans_and_keeps_running_configs(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    for name in ("gone", "idle"):
        home.write("services:\n  a: {run: 'exit 0'}\n", f"{name}.yaml")
        home.run("start", file=f"{name}.yaml")
    home.start("--wait")
    os.unlink(home.path("gone.yaml"))
    shape = re.compile(r"^(.+?)  \S*/(\w+)\.yaml  [0-9a-f]{8}  \d+(\.\d+)? \w+$", re.M)
    would = home.run("prune", "--dry-run").stdout
    assert sorted((m[2], m[1]) for m in shape.finditer(would)) == [
        ("gone", "would prune (orphaned)"), ("idle", "would prune"), ("kepler", "running")]
    done = home.run("prune").stdout
    assert sorted((m[2], m[1]) for m in shape.finditer(done)) == [("gone", "orphaned"), ("idle", "pruned"), ("kepler", "running")]
    assert done.splitlines()[-1].startswith("Total: 2 configs, ")
    assert home.status("a") == "running"
