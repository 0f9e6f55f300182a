"""What can go wrong around a daemon: load, full disks, escaping children, files that change under it."""
import json
import os
import resource
import signal
import socket
import subprocess
import time

import pytest

from kepler_home import CONTAINMENTS, PATIENCE, Home, alive, contained, wait_until

CYCLES = int(os.environ.get("KEPLER_CYCLES", "600"))
# Seconds, for what many services do; only failures take that long.
LONG = 400
# Of a daemon with one config of which nothing runs: the socket, locks, two loops, logs.
RESTING_FILES = 28


@pytest.fixture(params=CONTAINMENTS)
def home(request):
    yield from contained(request.param)


def many(count, text):
    return "services:\n" + "".join(f"  s{i}: {text}\n" for i in range(count))


# --- growth ------------------------------------------------------------------------------------


def open_files(home):
    return len(os.listdir(f"/proc/{home.daemon.pid}/fd"))


def memory(home):
    """Resident KiB."""
    with open(f"/proc/{home.daemon.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def wait_for_files(home, most):
    """Clients that have just left may still be there."""
    wait_until(lambda: open_files(home) <= most, f"no more than {most} open files, of {open_files(home)}")


def test_starts_and_stops_let_neither_memory_nor_open_files_grow(home):
    count, warm = 50, 3
    home.write(many(count, "{command: [sleep, '1000'], healthcheck: {test: ['true'], interval: 1s}}"))
    home.run("start", "-d", "--wait")
    home.run("stop")
    files = open_files(home)
    for i in range(max(CYCLES // count, 2 * warm)):
        home.run("start", "-d")
        home.run("stop")
        if i == warm:
            before = memory(home)
    wait_for_files(home, files)
    assert memory(home) - before < 4096
    assert home.processes() == []


def test_services_that_restart_themselves_let_neither_memory_nor_open_files_grow(home):
    home.write("""
        services:
          a: {run: "echo out; echo err >&2; echo >> a.runs", restart: always, start_limit: {count: 0}}
          b: {command: [sh, -c, "echo >> b.runs; exit 1"], restart: always, start_limit: {count: 0}}
        """)

    def runs():
        return sum(os.path.getsize(home.path(name)) for name in ("a.runs", "b.runs") if os.path.exists(home.path(name)))

    home.start()
    wait_until(lambda: runs() > 50, "it is warm")
    before = memory(home)
    wait_until(lambda: runs() > CYCLES, f"{CYCLES} restarts", PATIENCE + CYCLES / 5)
    assert memory(home) - before < 4096
    home.run("stop")
    assert home.processes() == []
    wait_for_files(home, RESTING_FILES)


def test_an_inactive_service_holds_no_open_file(home):
    home.write(many(50, "{command: [sleep, '1000']}"))
    home.run("start", "-d", "--wait")
    assert open_files(home) > 50 + RESTING_FILES
    home.run("stop")
    wait_for_files(home, RESTING_FILES)


def test_a_missing_program_leaks_no_open_file(home):
    home.write(many(50, "{command: [/no/such/program]}"))
    home.run("start", "-d", check=False)
    home.wait_for("s49", "failed")
    assert "No such file" in json.dumps(home.services()["s0"])
    wait_for_files(home, RESTING_FILES)


# --- many ----------------------------------------------------------------------------------------


def is_sanitized(home):
    with open(f"/proc/{home.daemon.pid}/maps") as file:
        return "libasan" in file.read()


def test_a_config_may_have_a_thousand_services(home):
    count = int(os.environ.get("KEPLER_SERVICES", "300" if is_sanitized(home) else "1000"))
    home.write(many(count, "{command: [sleep, '1000'], restart: always}"))
    home.run("start", "-d", "--wait", patience=LONG)
    rows = home.ps()
    assert len(rows) == count and all(row[0].startswith("Up") for row in rows.values())
    before = set(grown(home, count))
    home.run("restart", patience=LONG)
    after = set(grown(home, count))
    assert not after & before
    home.run("stop", patience=LONG)
    assert home.processes() == []
    assert {one["status"] for one in home.services().values()} == {"stopped"}
    wait_for_files(home, RESTING_FILES)


@pytest.mark.parametrize("containment", CONTAINMENTS)
def test_the_soft_limit_of_open_files_is_raised_and_a_hard_one_that_is_too_low_is_reported(containment):
    home = Home(cgroups=containment == "cgroups")
    home.start_daemon("prlimit", "--nofile=64:300")
    try:
        home.write(many(40, "{command: [sh, -c, 'ulimit -n; exec sleep 1000']}"))
        home.run("start", "-d", "--wait")
        wait_until(lambda: len(home.lines()) == 40, "all have told")
        assert {text for _, text in home.lines()} == {"64"}
        home.run("stop", "--clean")
        home.write(many(120, "{command: [sleep, '1000']}"))
        run = home.run("start", "-d", "--wait", "--no-abort-on-failure", check=False)
        assert run.returncode == 1
        reasons = {one["fail_reason"] for one in home.services().values() if one["status"] == "failed"}
        assert reasons and all("the 300 files that this process may open are not enough" in text and "LimitNOFILE" in text
                               for text in reasons)
        # The others run, and there is room for commands.
        running = [name for name, one in home.services().items() if one["status"] == "running"]
        assert len(running) > 30
        logs = [home.begin("logs", "--follow") for _ in range(10)]
        home.run("stop")
        assert set(home.processes()) <= {one.pid for one in logs}
        for one in logs:
            one.kill()
            one.communicate()
    finally:
        home.close()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rests(pid):
    """Does it need next to nothing of the processor for a second?"""
    before = cpu_seconds(pid)
    time.sleep(1)
    return cpu_seconds(pid) - before < 0.3


def test_too_many_clients_wait_and_cost_nothing():
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2000:
        pytest.skip("too few files may be opened here")
    home = Home()
    home.start_daemon()
    clients = [socket.socket(socket.AF_UNIX) for _ in range(1100)]
    try:
        for client in clients:
            client.connect(os.path.join(home.state, "kepler.sock"))
        wait_until(lambda: open_files(home) >= 1024, "the daemon is full")
        wait_until(lambda: rests(home.daemon.pid), "they cost nothing, once they have come")
        for client in clients:
            client.close()
        home.run("daemon", "status")
    finally:
        for client in clients:
            client.close()
        home.close()


# --- children that escape ----------------------------------------------------------------------

# Forks twice, each time into a session of its own.
ESCAPE = "setsid -f sh -c 'setsid -f sleep 1000; exec setsid sleep 1000'"
# The same, and deaf.
STUBBORN = "setsid -f sh -c 'trap \"\" TERM; setsid -f sh -c \"sleep 1000; true\"; sleep 1000'"


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def grown(home, count, sleeping=None):
    """Wait for a tree of that many processes, so many of which sleep, else all; returns them. When those are there, it has
    grown: the others have nothing left to start."""
    def look():
        found = home.processes()
        asleep = len([pid for pid in found if name_of(pid) == "sleep"])
        return found if len(found) == count and asleep == (count if sleeping is None else sleeping) else None
    return wait_until(look, f"{count} processes, not {[name_of(pid) for pid in home.processes()]}")


@pytest.mark.parametrize("words", [["stop"], ["stop", "-s", "KILL"], ["stop", "--clean"]])
def test_a_stop_returns_when_the_last_escaped_child_has_ended(home, words):
    home.write(f"""
        services:
          a: {{run: {json.dumps(ESCAPE + "; exec sleep 1000")}}}
          b: {{run: {json.dumps(STUBBORN + "; exec sleep 1000")}, stop_grace_period: 300ms}}
        """)
    home.start("--wait")
    grown(home, 8, sleeping=6)
    home.run(*words)
    assert home.processes() == []


def test_escaped_children_end_with_their_service(home):
    home.write(f"services:\n  a: {{run: {json.dumps(ESCAPE + '; sleep 0.3; exit 5')}}}\n")
    home.start()
    assert home.wait_for("a", "exited")["exit_code"] == 5
    assert home.processes() == []


def test_each_stop_ends_its_own_escaped_children_and_no_others(home):
    text = json.dumps(STUBBORN + "; exec sleep 1000")
    home.write(many(6, f"{{run: {text}, stop_grace_period: 100ms}}"))
    home.start("--wait")
    tree = grown(home, 6 * 5, sleeping=6 * 3)
    for left in range(5, -1, -1):
        home.run("stop", f"s{left}")
        assert len(home.processes()) == left * 5 and set(home.processes()) <= set(tree)


def test_processes_of_a_killed_daemon_are_found_without_their_main_process(home):
    home.write(f"services:\n  a: {{run: {json.dumps(STUBBORN + '; ' + ESCAPE + '; exec sleep 1000')}}}\n")
    home.start("--wait")
    tree = grown(home, 7, sleeping=5)
    main = home.services()["a"]["pid"]
    home.kill_daemon()
    os.kill(main, signal.SIGKILL)
    wait_until(lambda: not alive(main), "the main process is gone")
    assert sorted(home.processes()) == sorted(set(tree) - {main})
    home.start_daemon()
    assert home.processes() == []
    assert home.status("a") == "stopped"


def test_a_foreign_process_in_a_reused_session_is_left_alone():
    """The number of a session that is long over is given out again, and its new leader has ended."""
    home = Home(cgroups=False)
    home.start_daemon()
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    home.kill_daemon()
    stranger = subprocess.Popen(["setsid", "-f", "sh", "-c", "sleep 1000 & echo $$ $! > stranger"], cwd=home.folder)
    stranger.wait()
    try:
        leader, child = wait_until(lambda: os.path.exists(home.path("stranger")) and home.read("stranger").split(), "it runs")
        wait_until(lambda: not os.path.exists(f"/proc/{leader}"), "its leader is gone")
        with open(os.path.join(home.state, "births"), "ab") as file:
            file.write(int(leader).to_bytes(8, "little") + time.clock_gettime_ns(time.CLOCK_BOOTTIME).to_bytes(8, "little"))
        home.start_daemon()
        assert home.processes() == []
        assert alive(child)
    finally:
        os.kill(int(child), signal.SIGKILL)
        home.close()


def test_only_without_control_groups_a_mark_is_added_to_the_environment(home):
    home.write("services:\n  a: {command: [env], inherit_env: false, environment: [A=b]}\n")
    home.run("start")
    names = {text.split("=")[0] for _, text in home.lines()}
    assert ("KEPLER_TREE" in names) == (not home.has_cgroups())
    assert "A" in names


@pytest.mark.parametrize("how", ["signal", "signal twice", "command"])
def test_stopping_the_daemon_ends_all_trees(home, how):
    patient = "trap '' TERM; while :; do sleep 0.1; done"
    home.write(f"""
        services:
          a: {{run: {json.dumps(ESCAPE + "; exec sleep 1000")}, restart: always}}
          b: {{run: {json.dumps(STUBBORN + "; exec sleep 1000")}, stop_grace_period: 300ms, depends_on: [a]}}
          c: {{run: "exit 1", restart: always, start_limit: {{count: 0}}}}
          d: {{run: {json.dumps(patient)}, stop_grace_period: {"60s" if how == "signal twice" else "100ms"}}}
        """)
    home.start()
    home.wait_for("b", "running")
    wait_until(lambda: len(home.processes()) >= 9, "the trees have grown")
    if how == "command":
        home.run("daemon", "stop")
    else:
        home.daemon.terminate()
    if how == "signal twice":
        wait_until(lambda: "daemon stops" in home.log(), "the first one was heard")
        home.daemon.terminate()
    assert home.daemon.wait(PATIENCE) == 0
    assert home.processes() == []
    assert not os.path.exists(os.path.join(home.state, "kepler.sock"))


# --- processes that stand still, and those that are dead ---------------------------------------


def test_a_stopped_process_gets_its_stop_signal(home):
    home.write("""
        services:
          a: {run: "trap 'echo bye > bye; exit 0' TERM; touch up; while :; do sleep 0.05; done", stop_grace_period: 1h}
        """)
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("up")), "the trap is set")
    pid = home.services()["a"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    home.run("stop")
    assert home.read("bye") == "bye\n"
    assert home.processes() == []


def test_a_stopped_tree_can_be_killed(home):
    home.write(f"services:\n  a: {{run: {json.dumps(ESCAPE + '; exec sleep 1000')}, stop_grace_period: 0s}}\n")
    home.start("--wait")
    for pid in grown(home, 3):
        os.kill(pid, signal.SIGSTOP)
    home.run("stop")
    assert home.processes() == []


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def zombies(pid):
    return [child for child in children(pid) if not alive(child)]


STRAYS = "services:\n  a: {run: 'for i in 1 2 3 4 5; do setsid -f sleep 0.2; done; touch done; sleep 1000; true'}\n"


def test_strays_of_services_in_control_groups_are_reaped(home):
    if not home.has_cgroups():
        pytest.skip("without control groups the main process of a service is the parent of its strays")
    home.write(STRAYS)
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("done")), "all were started")
    wait_until(lambda: len(home.processes()) == 2, "they have ended")
    wait_until(lambda: children(home.daemon.pid) == [home.services()["a"]["pid"]], "they were reaped")


def test_a_daemon_as_first_process_reaps_orphans():
    if subprocess.run(["unshare", "-p", "-f", "--mount-proc", "true"], capture_output=True).returncode != 0:
        pytest.skip("no process namespace can be made here")
    home = Home()
    home.start_daemon("unshare", "-p", "-f", "--mount-proc", "--kill-child")
    try:
        inner = children(home.daemon.pid)[0]
        home.write(STRAYS)
        home.start("--wait")
        wait_until(lambda: os.path.exists(home.path("done")), "all were started")
        subprocess.run(["nsenter", "-t", str(inner), "-p", "-m", "setsid", "-f", "sh", "-c", "sleep 0.1 & sleep 0.2"], check=True)
        wait_until(lambda: len(children(inner)) == 1, "only the service is left")
        os.kill(inner, signal.SIGTERM)
        assert home.daemon.wait(PATIENCE) == 0
    finally:
        home.close()
