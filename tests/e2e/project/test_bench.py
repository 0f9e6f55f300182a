"""Benchmarks that are cut off leave nothing behind."""
import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys

import pytest

from kepler_home import DAEMON, PATIENCE, wait_until

BENCH = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "bench"))
SCRIPT = """
import os, signal, sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import kepler

class Bench:
    program = staticmethod(lambda name: os.path.join(sys.argv[2], name))

if len(sys.argv) > 3:
    kepler.end_earlier()
    sys.exit(0)
signal.signal(signal.SIGTERM, lambda signo, frame: sys.exit(128 + signo))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without it
run = kepler.Kepler(Bench, None)
try:
    run.time_start(5)
    print(run.folder, flush=True)
    time.sleep(1000)
finally:
    run.stop()
"""


def begin(*words):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, BENCH, os.path.dirname(DAEMON), *words],
                            stdout=subprocess.PIPE, text=True)


def marked(bench):
    """Processes that were started by that benchmark."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/environ", "rb") as file:
                if f"KEPLER_BENCH={bench}:".encode() in file.read():
                    found.append(int(name))
        except (ValueError, OSError):
            pass
    return found


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT])
def test_a_benchmark_that_is_asked_to_end_ends_all_that_it_started(signo):
    bench = begin()
    folder = bench.stdout.readline().strip()
    assert len(marked(bench.pid)) >= 6
    bench.send_signal(signo)
    bench.communicate(timeout=PATIENCE)
    assert marked(bench.pid) == []
    assert not os.path.exists(folder)


def test_what_a_killed_benchmark_left_is_ended_by_the_next_one():
    bench = begin()
    folder = bench.stdout.readline().strip()
    bench.kill()
    bench.communicate(timeout=PATIENCE)
    assert len(marked(bench.pid)) >= 6
    with open(os.path.join(folder, "state", "cgroup")) if os.path.exists(os.path.join(folder, "state", "cgroup")) \
            else open(os.devnull) as file:
        group = file.read().strip()
    assert begin("again").wait(PATIENCE) == 0
    wait_until(lambda: marked(bench.pid) == [], "all ended")
    assert not os.path.exists(folder)
    assert not group or not os.path.exists(group)


def load_soak():
    loader = importlib.machinery.SourceFileLoader("soak", os.path.join(os.path.dirname(BENCH), "tools", "soak"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
    loader.exec_module(module)
    return module


class Named:
    def __init__(self, name):
        self.name = name


def test_a_soak_reports_memory_and_files_that_grow_and_nothing_else():
    watch = load_soak().Watch([Named(name) for name in ("steady", "memory", "files", "nats")])
    for number in range(90):
        watch.samples["steady"].append((10000 + number % 7, 20 + number % 3))
        watch.samples["memory"].append((10000 + 100 * number, 20))
        watch.samples["files"].append((10000, 20 + number))
        watch.samples["nats"].append((10000 + 100 * number, 20))  # its cache is its own business
    assert [problem.split(":")[0] for problem in watch.check()] == ["memory", "files"]
