"""What survives a daemon: crashes, restarts, snapshots."""
import glob
import json
import os
import random
import signal
import subprocess
import time

import pytest

from kepler_home import CONFIG_FILES, CONTAINMENTS, DAEMON, PATIENCE, Home, alive, contained, wait_until


@pytest.fixture(params=CONTAINMENTS)
def home(request):
    yield from contained(request.param)


AUTOSTART = """
    kepler: {autostart: {environment: [MARK]}}
    services:
      db: {run: "echo db $$ >> starts; exec sleep 1000", restart: always}
      web: {run: "echo web $$ >> starts; exec sleep 1000", restart: always, depends_on: [db]}
      job: {run: "echo job $$ >> starts; exit 3"}
    """


def starts(home):
    """The services that wrote that they were started."""
    path = home.path("starts")
    return sorted(line.split()[0] for line in home.read("starts").splitlines()) if os.path.exists(path) else []


def state_files(home):
    root = os.path.join(home.state, "configs")
    return [os.path.join(root, name, "state.json") for name in os.listdir(root)
            if os.path.exists(os.path.join(root, name, "state.json"))]


def test_a_crash_leaves_no_orphan_and_autostart_comes_back(home):
    home.write(AUTOSTART)
    home.start()
    home.wait_for("web", "running")
    home.wait_for("job", "exited")
    wait_until(lambda: starts(home) == ["db", "job", "web"], "all have told that they were started")
    before = home.services()
    home.kill_daemon()
    assert alive(before["web"]["pid"])
    home.start_daemon()
    assert not alive(before["web"]["pid"]) and not alive(before["db"]["pid"])
    after = home.wait_for("web", "running")
    assert after["pid"] != before["web"]["pid"]
    services = home.services()
    assert services["job"]["status"] == "exited" and services["job"]["exit_code"] == 3
    wait_until(lambda: starts(home) == ["db", "db", "job", "web", "web"], "they were started again, and job was not")
    wait_until(lambda: len(home.processes()) == 2, "only they are there")


COUNT = "${{ (function() for i = 1, 3000000 do end return \"service_started\" end)() }}$"


def test_a_slow_config_delays_no_other_recovery(home):
    home.write("kepler: {autostart: true}\nservices:\n  quick: {run: 'echo quick >> starts; exec sleep 1000'}\n")
    home.write("kepler: {autostart: true}\nservices:\n  slow: {run: 'echo slow >> starts; exec sleep 1000'}\n" + "".join(
        f"  s{i}: {{run: 'exec sleep 1000', depends_on: {{slow: {{condition: '{COUNT}'}}}}}}\n" for i in range(30)), "slow.yaml")
    home.start()
    home.start("slow", file="slow.yaml")
    wait_until(lambda: starts(home) == ["quick", "slow"], "both run")
    home.kill_daemon()
    os.remove(home.path("starts"))
    home.begin_daemon()
    wait_until(lambda: starts(home), "the first is back")
    home.stop_daemon()  # most likely it still reads the other one
    home.start_daemon()
    home.wait_for("slow", "running", file="slow.yaml")
    home.wait_for("quick", "running")
    wait_until(lambda: set(starts(home)) == {"quick", "slow"}, "both have come back")
    assert home.read("starts").startswith("quick")


def test_started_services_come_back_however_soon_the_daemon_is_killed(home):
    home.write("kepler: {autostart: true}\nservices:\n  a: {run: exec sleep 1000}\n  b: {run: exec sleep 1000}\n")
    home.start("b")
    for _ in range(5):
        home.run("stop", "b")
        home.start("b")
        home.kill_daemon()
        home.start_daemon()
        home.wait_for("b", "running")
    assert home.status("a") == "stopped"


def test_stopped_services_stay_down_however_soon_the_daemon_is_killed(home):
    home.write("kepler: {autostart: true}\nservices:\n  a: {run: exec sleep 1000}\n  b: {run: exec sleep 1000}\n")
    home.start()
    for _ in range(3):
        home.start("b")
        home.run("stop", "b")
        home.kill_daemon()
        home.start_daemon()
        home.wait_for("a", "running")
        assert home.status("b") == "stopped"


# The hook holds until somebody writes `go`; the next daemon starts with that.
HELD = """
    kepler: {autostart: {environment: [MARK, PATH]}}
    services:
      a:
        run: "echo a >> starts; exec sleep 1000"
        restart: %s
        hooks: {%s: {run: "test -e go || exec sleep 1000"}}
      handler: {run: "exec sleep 1000", depends_on: {a: {condition: service_failed}}}
    """


def crash_while_stopping(home):
    home.wait_for("a", "stopping")
    home.kill_daemon()
    home.write("", "go")
    home.start_daemon()


@pytest.mark.parametrize("policy, status", [("always", "running"), ("on-failure", "running"), ("on-success", "killed"), ("'no'", "killed")])
def test_a_daemon_killed_during_post_exit_leaves_the_policy_to_the_next(home, policy, status):
    home.write(HELD % (policy, "post_exit"))
    home.start()
    wait_until(lambda: starts(home) == ["a"], "it runs")
    os.kill(home.wait_for("a", "running")["pid"], signal.SIGKILL)
    crash_while_stopping(home)
    assert home.wait_for("a", "running", "exited", "killed", "stopped", "failed")["status"] == status
    if status == "running":
        wait_until(lambda: starts(home) == ["a", "a"], "it was started again")
    else:
        home.wait_for("handler", "running")
        assert starts(home) == ["a"]
        assert "its process ended before the daemon did" in home.run("why", "a").stdout


@pytest.mark.parametrize("last, status", [(["stop", "a"], "stopped"), (["start", "-d", "a"], "running")])
def test_the_last_request_counts_when_the_daemon_dies_during_a_stop(home, last, status):
    home.write(HELD % ("'no'", "post_stop"))
    home.start()
    wait_until(lambda: starts(home) == ["a"], "it runs")
    commands = [home.begin("stop", "a")]
    home.wait_for("a", "stopping")
    commands.append(home.begin(*last))
    if status == "running":
        wait_until(lambda: '"up"' in open(state_files(home)[0]).read().split('"handler"')[0], "the request is on disk")
    crash_while_stopping(home)
    for command in commands:
        command.communicate(timeout=PATIENCE)
    assert home.wait_for("a", "running", "stopped")["status"] == status


def test_a_stop_during_post_exit_holds_when_the_daemon_dies(home):
    home.write(HELD % ("always", "post_exit"))
    home.start()
    wait_until(lambda: starts(home) == ["a"], "it runs")
    os.kill(home.wait_for("a", "running")["pid"], signal.SIGKILL)
    home.wait_for("a", "stopping")
    command = home.begin("stop", "a")
    wait_until(lambda: '"down"' in open(state_files(home)[0]).read(), "the request is on disk")
    crash_while_stopping(home)
    command.communicate(timeout=PATIENCE)
    assert home.wait_for("a", "running", "stopped")["status"] == "stopped"


def test_without_autostart_a_crash_ends_services_and_they_count_as_stopped(home):
    home.write("services:\n  a: {run: '(setsid sleep 1000 &); exec sleep 1000'}\n")
    home.start()
    home.wait_for("a", "running")
    wait_until(lambda: len(home.processes()) >= 2, "the tree has grown")
    home.kill_daemon()
    home.start_daemon()
    assert home.processes() == []
    assert home.status("a") == "stopped"
    assert home.run("daemon", "status").stdout.count("\n") == 1
    home.start()
    home.wait_for("a", "running")


def test_a_graceful_stop_brings_autostart_configs_back_as_they_were(home):
    home.write(AUTOSTART)
    home.start("-e", "COLOR=red")
    home.wait_for("web", "running")
    home.run("stop", "web")
    home.stop_daemon()
    assert home.processes() == []
    home.start_daemon()
    home.wait_for("db", "running")
    assert home.status("web") == "stopped"
    environment = json.loads(home.run("inspect", "--env").stdout)["environment"]
    assert environment["COLOR"] == "red" and environment["MARK"] == home.folder


def test_variables_of_any_bytes_survive_a_daemon_restart(home):
    home.write("""
        kepler: {autostart: {environment: [MARK, NAME]}}
        services:
          a: {run: "printf %s $NAME | od -An -tx1; exec sleep 1000"}
        """)
    home.start(env={"NAME": "caf\udce9"})
    shown = ("a", " 63 61 66 e9")
    wait_until(lambda: home.lines("--tail", "1") == [shown], "the variable is there")
    assert json.loads(home.run("inspect", "--env").stdout)["environment"]["NAME"] == "caf\ufffd"
    home.stop_daemon()
    home.start_daemon()
    wait_until(lambda: home.lines() == [shown, shown], "the variable is there again")


def test_a_long_output_is_cut_between_characters(home):
    home.write("""
        services:
          a: {run: "printf ::output::k=x; for i in $(seq 600); do printf ä; done; echo", output: true}
        """)
    home.run("start")
    outputs = json.loads(home.run("inspect", "a").stdout)["services"]["a"]["outputs"]
    assert outputs["process"]["k"] == "x" + "ä" * 511 + "... (truncated)"


def history_of(home, service):
    """(from, to, cause, services of the chain), the latest first."""
    told = json.loads(home.run("why", "--json", service).stdout)[service]["history"]
    return [(one["from"], one["to"], one["cause"], [link["service"] for link in one["chain"]]) for one in told]


def test_ps_and_why_report_a_daemon_that_died(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n  b: {run: 'exit 0'}\n")
    home.start("--wait")
    home.wait_for("b", "exited")
    pid = home.daemon.pid
    home.kill_daemon()
    for words in (["ps"], ["why", "a"], ["start", "-d"]):
        run = home.run(*words, check=False)
        assert run.returncode == 2 and f"the daemon (pid {pid}) died" in run.stderr
    home.start_daemon()
    lost = "the daemon ended without stopping it"
    for _ in range(2):
        assert home.ps()["a"][0] == f"Stopped ({lost})" and home.ps()["b"][0].startswith("Exited (0)")
        assert home.services()["a"]["stop_reason"] == lost
        assert home.run("why", "a").stdout.startswith(f"a: stopped ({lost}; the config is not loaded)")
        home.stop_daemon()
        assert "the daemon is not running" in home.run("ps", check=False).stderr
        home.start_daemon()
    home.start("b")
    assert home.ps()["a"][0] == f"Stopped ({lost})"
    home.start("a")
    home.run("stop")
    assert lost not in home.run("ps").stdout


def test_why_keeps_the_history_over_a_crash_and_a_daemon_stop(home):
    home.write(AUTOSTART)
    home.start("--wait", "--no-abort-on-failure", check=False)
    home.wait_for("web", "running")
    before = history_of(home, "web")
    assert [one[:2] for one in before] == [("starting", "running"), ("waiting", "starting"), ("stopped", "waiting")]
    assert before[1][3] == ["db"]
    home.kill_daemon()
    home.start_daemon()
    home.wait_for("web", "running")
    after_crash = history_of(home, "web")
    assert after_crash[4:] == before
    assert after_crash[3] == ("running", "stopped", "the daemon ended without stopping it", [])
    home.stop_daemon()
    home.start_daemon()
    home.wait_for("web", "running")
    after_stop = history_of(home, "web")
    assert after_stop[5:] == after_crash
    assert after_stop[3][:2] == ("stopping", "stopped") and "ends for SIGTERM" in after_stop[3][2]
    assert history_of(home, "job")[0][:2] == ("running", "exited")


def test_a_damaged_or_long_history_costs_only_itself(home):
    home.write("kepler: {autostart: {environment: [MARK]}}\nservices:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    path = os.path.join(os.path.dirname(state_files(home)[0]), "history.log")
    before = history_of(home, "a")
    home.kill_daemon()
    with open(path, "ab") as file:
        file.write(b'{"service":"a","number":1000}\n\xff\x00\n[]\n{"service":"a","number":"x"}\n{"servi')
    home.start_daemon()
    home.wait_for("a", "running")
    assert history_of(home, "a")[4:] == before
    for _ in range(40):
        home.run("restart", "a")
    assert len(history_of(home, "a")) == 16
    with open(path, "rb") as file:
        assert len(file.readlines()) <= 8 * 16 + 1


def test_a_run_leaves_no_snapshot_and_a_deleted_file_is_not_restored(home):
    home.write(AUTOSTART)
    home.run("run", "-d")
    home.wait_for("web", "running")
    home.stop_daemon()
    home.start_daemon()
    assert home.status("web") == "stopped"
    home.start()
    home.wait_for("web", "running")
    os.unlink(home.path("kepler.yaml"))
    home.stop_daemon()
    home.start_daemon()
    assert home.status("web") == "stopped"


def test_what_a_run_started_was_stopped_when_the_daemon_was(home):
    home.write(AUTOSTART)
    home.run("run", "-d")
    home.wait_for("web", "running")
    home.stop_daemon()
    home.start_daemon()
    assert home.services()["web"]["stop_reason"] is None and home.ps()["web"][0].startswith("Stopped ")
    assert "the daemon ended without stopping it" not in home.run("ps").stdout


def test_goals_are_stored_also_where_a_snapshot_cannot_be_written(home):
    home.write("kepler: {autostart: {environment: [MARK]}}\nservices:\n  a: {run: exec sleep 1000}\n  b: {run: exec sleep 1000}\n")
    home.start("b")
    folder = os.path.dirname(state_files(home)[0])
    os.rmdir(os.path.join(folder, "env_files"))
    open(os.path.join(folder, "env_files"), "w").close()
    home.start("a")
    home.run("stop", "b")
    assert "state cannot be written" in home.log()
    home.kill_daemon()
    home.start_daemon()
    home.wait_for("a", "running")
    assert home.status("b") == "stopped"


def test_a_changed_file_has_no_effect_on_what_is_restored(home):
    home.write(AUTOSTART)
    home.start()
    home.wait_for("web", "running")
    home.write("services: [broken")
    home.kill_daemon()
    home.start_daemon()
    home.wait_for("web", "running")


def test_outputs_lines_and_reasons_survive(home):
    home.write("""
        services:
          a: {run: "echo '::output::k=v'; echo line", output: true}
          b: {run: "true", if: "${{ false }}$"}
        """)
    home.run("start")
    home.kill_daemon()
    home.start_daemon()
    assert home.ps()["b"][0].startswith("Skipped (`if` condition evaluated to false")
    assert home.lines() == [("a", "line")]
    assert home.run("logs", "--raw", "--tail", "1").stdout == "line\n"


def test_a_broken_state_file_does_not_stop_the_daemon(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    home.stop_daemon()
    for path in state_files(home):
        with open(path, "w") as file:
            file.write('{"services": {"a": ')
    home.start_daemon()
    home.start("--wait")
    assert home.status("a") == "running"


def test_two_daemons_never_share_a_home(home):
    run = subprocess.run([DAEMON], env=home.env, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 1
    assert "another daemon uses" in run.stderr
    assert home.run("daemon", "status").returncode == 0


def test_leaving_services_running_is_possible_and_the_next_daemon_ends_them(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    pid = home.services()["a"]["pid"]
    home.run("daemon", "stop", "--leave-running")
    home.daemon.wait(PATIENCE)
    assert alive(pid)
    home.start_daemon()
    assert not alive(pid)


def test_logs_are_whole_up_to_the_last_flush_after_a_crash(home):
    home.write("services:\n  a: {command: [sh, -c, 'i=0; while :; do i=$((i+1)); echo line $i; sleep 0.002; done']}\n")
    home.start("--wait")
    pattern = os.path.join(home.state, "configs", "*", "logs", "*.log")
    wait_until(lambda: sum(os.path.getsize(path) for path in glob.glob(pattern)) > 4000, "lines are on disk")
    home.kill_daemon()
    home.start_daemon()
    numbers = [int(text.split()[1]) for _, text in home.lines()]
    assert len(numbers) > 10
    assert numbers == list(range(1, len(numbers) + 1))


# The lock is held by the whole tree, the child that escapes included.
LOCKED = "exec 9> lock.{0}; flock -n 9 || echo {0} >> double; setsid -f sleep 1000; exec sleep 1000"
TALK = "i=0; while :; do i=$((i+1)); echo $$ $i; sleep 0.003; done"


def restless(home):
    """Eight services, some of which wait for others, and one that talks."""
    text = "kepler: {autostart: {environment: [MARK, PATH]}}\nservices:\n"
    for i in range(8):
        text += f"  s{i}: {{run: {json.dumps(LOCKED.format(i))}, restart: always"
        text += f", depends_on: [s{i - 1}]}}\n" if i % 3 else "}\n"
    home.write(text + f"  talk: {{command: [sh, -c, {json.dumps(TALK)}], restart: always}}\n")


def kill_while_starting(home, chance):
    """The next daemon does not live long either."""
    home.begin_daemon()
    time.sleep(chance.random() * 0.1)
    home.kill_daemon()


def is_whole(numbers):
    return numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("seed", range(int(os.environ.get("KEPLER_CRASHES", "4"))))
def test_a_daemon_killed_at_any_moment_leaves_a_consistent_state(home, seed):
    chance = random.Random(seed)
    restless(home)
    home.start()
    for _ in range(2):
        actions = [home.begin(*words) for words in chance.sample(
            [["restart"], ["start", "-d"], ["restart", "s0"], ["stop", "s4"], ["stop"], ["recreate"]], 2)]
        time.sleep(chance.random() * 0.3)
        home.kill_daemon()
        for action in actions:
            action.communicate(timeout=PATIENCE)
        for path in state_files(home):
            with open(path) as file:
                json.load(file)
        if chance.random() < 0.5:
            kill_while_starting(home, chance)
        home.start_daemon()
        home.start("--wait", "--timeout", "100s")
    pids = {one["pid"] for one in home.services().values()}
    assert None not in pids and len(pids) == 9
    assert not os.path.exists(home.path("double"))
    # each service, the child that escaped from it, and what talks may have a child of its own
    ours = wait_until(lambda: (lambda found: found if len(found) in (17, 18) else None)(
        [pid for pid in home.processes() if pid != home.daemon.pid]), "the processes of nine services are left")
    assert pids < set(ours)
    for path in state_files(home):
        # A file that is just being written has another name for a moment.
        wait_until(lambda: set(os.listdir(os.path.dirname(path))) <= CONFIG_FILES, "there is nothing else")
    said = {}
    for _, text in home.lines("talk"):
        run, number = text.split()
        said.setdefault(run, []).append(int(number))
    assert said and all(is_whole(numbers) for numbers in said.values()), said


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_an_idle_daemon_uses_no_time_also_after_a_crash_of_a_service(home):
    home.write("services:\n  a: {run: 'exec sleep 1000', restart: always}\n")
    home.start("--wait")
    before = home.services()["a"]["pid"]
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: home.services()["a"]["pid"] not in (None, before), "it is back")

    def rests():
        ticks = cpu_ticks(home.daemon.pid)
        time.sleep(1)
        return cpu_ticks(home.daemon.pid) - ticks <= 5
    wait_until(rests, "nothing more happens")


# --- control groups of other daemons ---------------------------------------------------------------


def group_of(home):
    return home.read("state/cgroup").strip()


def test_a_new_daemon_removes_empty_groups_of_dead_daemons_and_no_others():
    dead, idle, left, new = homes = [Home() for _ in range(4)]
    try:
        for one in (dead, idle, left):
            one.start_daemon()
            one.write("services:\n  a: {run: 'exec sleep 1000'}\n")
        if not dead.has_cgroups():
            pytest.skip("no control groups can be made here")
        left.start("--wait")
        dead.kill_daemon()
        left.kill_daemon()
        new.start_daemon()
        assert not os.path.exists(group_of(dead))
        assert os.path.exists(group_of(idle)) and os.path.exists(group_of(left))
        idle.start("--wait")
        left.start_daemon()  # its group goes with what is in it
    finally:
        for one in homes:
            one.close()
