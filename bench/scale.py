"""Scale: what each agent costs, as there are more of them: against what it costs where there are a tenth of them

A real server and a real master; the agents only publish facts, acknowledge and return (bench/driver_floor.c), so that what is measured is bus and
master. Near 1, cost grows as the number of agents does. Then the same number of agents behind leaf nodes, against as many that connect to the server
itself. SCALE=N,N... measures other numbers. docs/explanation/scaling.md says what follows from it.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from box import Box, cpu_seconds, free_port, resident_kb
from frame import Failure, Line, Note, Sample

COUNTS = [int(word) for word in os.environ.get("SCALE", "100,1000,10000").split(",")]
LEAVES = 4
BEHIND_LEAVES = 1_000
INDEXED = [1_000, 10_000, 100_000, 1_000_000]
CROWD = 5_000
FACTS = 40
ROUNDS = 5
EVENTS = 20_000
TARGET = "G@os.family:debian and web* and not (G@roles:db or G@cpus:>8)"


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise Failure(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


class Point:
    """What was measured with `count` agents, which connect to `urls`."""

    def __init__(self, bench, box, count, urls):
        self.bench, self.box, self.count, self.urls = bench, box, count, urls
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="zester-bench-peels.", dir=memory)

    def start_agents(self):
        driver, crowd = self.bench.driver("floor"), min(CROWD, self.count // len(self.urls))
        for number, first in enumerate(range(0, self.count, crowd)):
            words = [first, min(crowd, self.count - first), 0, 0, 0, FACTS]
            process = self.box.begin([driver, "peels", self.urls[number % len(self.urls)], self.box.auth, self.folder, *map(str, words)], "agents", stdout=subprocess.PIPE, text=True)
            if process.stdout.readline() != "ready\n":
                raise Failure(f"agents: {self.box.log('agents')[-2000:]}")

    def run_jobs(self, rounds):
        rows = run([self.bench.driver("fleet"), "job", self.box.url, self.box.auth, str(self.count), str(rounds), "test.ping"])
        return [[int(word) / 1e9 for word in line.split()] for line in rows.splitlines()]

    def restart_master(self):
        """Seconds from the start of a master until it knows everybody and a job was answered."""
        self.box.end(self.box.master)
        begun = time.monotonic()
        self.box.start_master()
        self.run_jobs(1)
        return time.monotonic() - begun

    def measure(self):
        box = self.box
        alone = [resident_kb(process.pid) for process in (box.server, box.master)]
        run([self.bench.driver("fleet"), "identities", box.auth, self.folder, "bare", "0", str(self.count)])
        self.start_agents()
        self.run_jobs(1)
        processes = (box.server, box.master)
        before = [cpu_seconds(process.pid) for process in processes]
        rows = self.run_jobs(ROUNDS)
        self.server_cpu, self.master_cpu = ((cpu_seconds(process.pid) - since) / ROUNDS for process, since in zip(processes, before))
        self.resolve, self.fan_out = (statistics.median(column) for column in (list(zip(*rows))[0], list(zip(*rows))[2]))
        self.server_kb, self.master_kb = (resident_kb(process.pid) - kb for process, kb in zip(processes, alone))
        self.restart = self.restart_master()
        begun = time.monotonic()
        run([self.bench.driver("reactor"), "reactor", box.url, box.auth, str(EVENTS), "nobody"])
        self.events = EVENTS / (time.monotonic() - begun)

    def note(self):
        return Note(f"{self.count:,} agents: names in {self.resolve * 1e3:.1f} ms, last answer after {self.fan_out * 1e3:.0f} ms, a new master answers "
                    f"for all {self.restart:.1f} s after its start, {self.events:,.0f} events/s; for each agent the server needs {self.server_kb / self.count:.0f} kB "
                    f"and {self.server_cpu / self.count * 1e6:.0f} us for a job, the master {self.master_kb / self.count:.1f} kB and {self.master_cpu / self.count * 1e6:.0f} us")


def growth(what, now, then, seconds, cpu):
    """A line: of one agent, with `now.count` and with `then.count` of them."""
    ours, theirs = (Sample(seconds(point) / point.count, cpu(point) / point.count, 0, ROUNDS) for point in (now, then))
    return Line(f"{what}, each of {now.count:,}", ours, f"of {then.count:,}", theirs)


def index_lines(bench):
    """The index of facts alone: it can be as large as memory allows."""
    before = None
    for machines in INDEXED:
        words = run([bench.driver("target"), "index", str(machines), "20", TARGET]).split()
        sample = Sample(float(words[0]) / machines, float(words[1]) / machines, 0, 1)
        if before:
            yield Line(f"target, each of {machines:,}", sample, f"of {before[0]:,}", before[1])
        yield Note(f"index of {machines:,} machines: {int(words[3])} bytes each, a compound target in {float(words[0]) * 1e3:.2f} ms")
        before = (machines, sample)


def measure_point(bench, count, leaves=0):
    with Box(bench, "scale") as box:
        box.start_server(free_port() if leaves else None)
        urls = [box.start_leaf(f"leaf{number}") for number in range(leaves)] or [box.url]
        box.start_master()
        point = Point(bench, box, count, urls)
        try:
            point.measure()
        finally:
            shutil.rmtree(point.folder, ignore_errors=True)
    return point


def leaf_lines(bench):
    """The server of the fleet, with all of its agents behind leaf nodes, and without any."""
    direct, behind = measure_point(bench, BEHIND_LEAVES), measure_point(bench, BEHIND_LEAVES, LEAVES)
    ours, theirs = (Sample(point.fan_out, point.server_cpu, point.server_kb, ROUNDS) for point in (behind, direct))
    yield Line(f"fan-out, {BEHIND_LEAVES:,} behind {LEAVES} leaf nodes", ours, "direct", theirs)
    yield Note(f"behind leaf nodes, the server of the fleet needs {behind.server_kb / behind.count:.0f} kB and {behind.server_cpu / behind.count * 1e6:.0f} us "
               f"for a job for each agent, else {direct.server_kb / direct.count:.0f} kB and {direct.server_cpu / direct.count * 1e6:.0f} us")


def lines(bench):
    before = None
    for count in COUNTS:
        try:
            point = measure_point(bench, count)
        except Failure as failure:
            if not before:
                raise
            yield Note(f"{count:,} agents are more than this machine can do now: {str(failure).splitlines()[0].rpartition(': ')[2]}")
            break
        if before:
            yield growth("fan-out", point, before, lambda p: p.fan_out, lambda p: p.server_cpu + p.master_cpu)
            yield growth("master restart", point, before, lambda p: p.restart, lambda p: p.master_cpu)
        yield point.note()
        before = point
    yield from leaf_lines(bench)
    yield from index_lines(bench)
