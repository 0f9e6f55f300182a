"""frame - what the benchmarks share.

A benchmark is a file bench/NAME.py with a docstring (its title) and one generator:

    def lines(bench):
        ours = bench.measure([bench.program("zester"), "--version"])
        yield Line("start", ours, "true", bench.measure(["true"]))

Each line becomes a row: what was done, the median of ours, of the peer, the ratio of the two (the median of the
ratios of the turns where both ran in turn), and what is to be reached; for lines that count things, also the processor time of each thing. A peer that is not installed is `None`: the row says so and the run goes on.
A generator may yield a `Note`, too.
`bench.peer("salt-call")` is the path of a peer, or None. A command that fails ends the run with an error.

Where a peer takes long or the machine is busy, `bench.together([Job(...), None, ...])` runs several commands
in turn, so that all of them see the same machine; the slow ones have fewer turns.
"""
import dataclasses
import os
import shutil
import statistics
import subprocess


class Failure(Exception):
    """A command that should have worked did not."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """Medians of several runs."""

    seconds: float
    cpu_seconds: float
    peak_kb: int
    runs: int
    turns: tuple = ()  # seconds of each turn of `Bench.together`


def median_ratio(ours, theirs):
    """Of their turns, so that what disturbs the machine for a while disturbs both sides of a ratio."""
    if len(ours.turns) == len(theirs.turns) > 0:
        return statistics.median(mine / other for mine, other in zip(ours.turns, theirs.turns))
    return ours.seconds / theirs.seconds


@dataclasses.dataclass(frozen=True)
class Line:
    what: str
    ours: Sample
    peer: str
    theirs: Sample = None  # None: the peer is not installed
    reach: str = ""
    count: int = 0  # of things done: the processor time of each is shown

    def ratio(self):
        return median_ratio(self.ours, self.theirs)


@dataclasses.dataclass(frozen=True)
class Note:
    """A sentence below the table, for what has no peer."""

    text: str


@dataclasses.dataclass(frozen=True)
class Job:
    """A command for `Bench.together`. `before()` is called before each run and not measured."""

    command: list
    before: callable = None
    how: dict = dataclasses.field(default_factory=dict)  # `env`, `cwd`, as for subprocess


# Seconds for all runs of one job of several.
TURN_SECONDS = 10


def rotate(items, by):
    by %= max(len(items), 1)
    return items[by:] + items[:by]


def median(samples):
    seconds, cpu, peak = (statistics.median(column) for column in zip(*samples))
    return Sample(seconds, cpu, int(peak), len(samples), tuple(sample[0] for sample in samples))


class Bench:
    def __init__(self, build, runs):
        self.build, self.runs = build, runs
        self.measurer = self._build_measurer()

    @staticmethod
    def _build_measurer():
        source, program = "bench/measure.c", "build/bench/measure"
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            os.makedirs(os.path.dirname(program), exist_ok=True)
            command = ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source]
            if subprocess.run(command, check=False).returncode != 0:
                raise Failure(f"cannot build {program}")
        return os.path.abspath(program)

    def program(self, name):
        """The path of one of our programs."""
        path = os.path.abspath(os.path.join(self.build, name))
        if not os.path.exists(path):
            raise Failure(f"{path} is not built")
        return path

    def driver(self, name):
        """The path of bench/driver_NAME.c as a program: what must be measured inside one process."""
        return self.program(f"bench/driver_{name}")

    @staticmethod
    def peer(name):
        """The path of somebody else's program, or None."""
        return shutil.which(name)

    def _once(self, command, **how):
        result = subprocess.run([self.measurer, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, check=False, **how)
        words = result.stdout.split()
        if result.returncode != 0 or words[4] != "0":
            status = words[4] if words else result.returncode
            raise Failure(f"{' '.join(command)}: exit status {status}\n{result.stderr}")
        return float(words[0]), float(words[1]) + float(words[2]), int(words[3])

    def measure(self, command, runs=None, before=None, **how):
        """Medians of `runs` runs after one that is not counted. `before()` is called before each run and
        not measured; `env` and `cwd` are those of subprocess."""
        samples = []
        for number in range((runs or self.runs) + 1):
            if before:
                before()
            sample = self._once(command, **how)
            if number > 0:
                samples.append(sample)
        return median(samples)

    def _turn(self, job):
        if job.before:
            job.before()
        return self._once(job.command, **job.how)

    def together(self, jobs, runs=None):
        """A Sample for each job, None for each None: run in turn, each time with another one first, since what
        one leaves behind (files to write, streams to delete) slows the next; after one turn that is not
        counted unless it took more than TURN_SECONDS by itself."""
        jobs, samples, turns = list(jobs), {}, {}
        for number, job in enumerate(jobs):
            if job:
                first = self._turn(job)
                samples[number] = [first] if first[0] > TURN_SECONDS else []
                turns[number] = min(runs or self.runs, max(int(TURN_SECONDS / first[0]), 1))
        for turn in range(max(turns.values(), default=0)):
            for number in rotate(list(samples), turn):
                if len(samples[number]) < turns[number] and turn < turns[number]:
                    samples[number].append(self._turn(jobs[number]))
        return [median(samples[number]) if number in samples else None for number in range(len(jobs))]
