"""Event loop: files, timers and turns of src/core/sys/loop.h, against libuv used plainly (uv_poll, uv_timer)

Both drivers do the same work (bench/loop_work.h). `memory` is told by the peaks: the watches of 9,000 files.
"""
import os

from frame import Job, Line

RUNS = 11
# What, the work, how many files or timers, how often, whether each is worth a column.
WORKS = [
    ("a byte round 1 pipe", "pass", 1, 200_000, True),
    ("a byte round 100 pipes", "pass", 100, 200_000, True),
    ("a byte round 1,000 pipes", "pass", 1000, 200_000, True),
    ("1,000 pipes always ready", "crowd", 1000, 500_000, True),
    ("watch and forget a file", "watch", 0, 100_000, True),
    ("stop and set 1 of 1,000 timers", "timers", 1000, 2_000_000, True),
    ("a timer of 100 us", "short", 0, 1000, True),
    ("memory of 9,000 watches", "memory", 9000, 0, False),
]


def lines(bench):
    peer = os.path.join(bench.build, "bench/driver_uv")
    for what, work, files, times, counts in WORKS:
        words = [work, str(files), str(times)]
        ours = Job([bench.driver("loop"), *words])
        theirs = Job([os.path.abspath(peer), *words]) if os.path.exists(peer) else None
        samples = bench.together([ours, theirs], RUNS)
        yield Line(what, samples[0], "libuv", samples[1], count=times if counts else 0)
