"""Targets: who is meant by a compound target among many machines, by the index of a master, against a scan of all facts

`new path` is the first question about a fact that nobody asked for before: its column is made then.
docs/reference/fleet.md says what memory the index needs.
"""
import statistics
import subprocess

from frame import Failure, Line, Sample

TARGET = "G@os.family:debian and web* and not (G@roles:db or G@cpus:>8)"
MACHINES = [1_000, 10_000, 100_000]
REACH = "10 ms"
RUNS = 5


def ask(bench, how, machines, times):
    """Median times of an answer, and how many machines it names."""
    times_taken, found = [], set()
    for _ in range(RUNS):
        run = subprocess.run([bench.driver("target"), how, str(machines), str(times), TARGET], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise Failure(f"driver_target {how} {machines}: {run.stderr}")
        words = run.stdout.split()
        times_taken.append((float(words[0]), float(words[1])))
        found.add(words[2])
    wall, cpu = (statistics.median(column) for column in zip(*times_taken))
    return Sample(wall, cpu, 0, RUNS), found


def lines(bench):
    for machines in MACHINES:
        scan, expected = ask(bench, "scan", machines, 3)
        for how, times, what, reach in (("index", 50, "", REACH), ("cold", 1, ", new path", "")):
            ours, found = ask(bench, how, machines, times)
            if found != expected:
                raise Failure(f"the index finds {found}, a scan {expected}")
            yield Line(f"{machines:,} machines{what}", ours, "scan", scan, reach=reach, count=1)
