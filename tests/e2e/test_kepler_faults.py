"""What can go wrong around a daemon: load, full disks, escaping children, files that change under it."""
import json
import os

import pytest

from kepler_home import Home, wait_until

CYCLES = int(os.environ.get("KEPLER_CYCLES", "600"))
# Of a daemon with one config of which nothing runs: the socket, locks, the loop, logs.
RESTING_FILES = 20


@pytest.fixture(params=["cgroups", "sessions"])
def home(request):
    """A daemon for each of the two ways to hold a tree of processes."""
    home = Home(cgroups=request.param == "cgroups")
    # Freed memory is to be used again, also under a sanitizer.
    home.env["ASAN_OPTIONS"] = "quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", "")
    home.start_daemon()
    if request.param == "cgroups" and not home.has_cgroups():
        home.close()
        pytest.skip("no control groups can be made here")
    yield home
    home.close()


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
    wait_until(lambda: runs() > CYCLES, f"{CYCLES} restarts")
    assert memory(home) - before < 4096
    home.run("stop")
    assert home.processes() == []
    wait_for_files(home, RESTING_FILES)


def test_a_service_that_rests_holds_no_open_file(home):
    home.write(many(50, "{command: [sleep, '1000']}"))
    home.run("start", "-d", "--wait")
    assert open_files(home) > 50 + RESTING_FILES
    home.run("stop")
    wait_for_files(home, RESTING_FILES)


def test_a_program_that_is_not_there_leaves_no_open_file_behind(home):
    home.write(many(50, "{command: [/no/such/program]}"))
    home.run("start", "-d", check=False)
    home.wait_for("s49", "failed")
    assert "No such file" in json.dumps(home.services()["s0"])
    wait_for_files(home, RESTING_FILES)
