"""Supervision: how soon services run, how soon one is back, and what 200 of them cost

Each service is a shell that makes a file and becomes `sleep`: the clock stops when all files are there. Every
supervisor starts from nothing, its own start included. Rows of the idle state show CPU time in five
seconds, one tick of the clock at least, and the resident memory of all processes of the supervisor without
the services (shared pages count in each). Starts and restarts are medians of three runs.
"""
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from frame import Failure, Line, Sample

COUNT = 200
DEPTH = 50
RUNS = 3
IDLE_SECONDS = 5
PATIENCE = 60
TICKS = os.sysconf("SC_CLK_TCK")


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"in vain: {what}")
        time.sleep(0.0005)


def stat(pid):
    """(parent, CPU seconds, resident KiB)"""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024


def family(root, services):
    """The supervisor and what belongs to it, without the services."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = stat(name)[0]
            except OSError:
                pass
    found, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return found - services


class Supervisor:
    """One run of one supervisor in a fresh folder."""

    def __init__(self, bench, program):
        self.bench, self.program = bench, program
        self.folder = tempfile.mkdtemp(prefix="kepler-bench.")
        self.ready = os.path.join(self.folder, "ready")
        os.mkdir(self.ready)
        self.process = None

    def command(self, i):
        return f"echo $$ > {self.ready}/{i}.new; mv {self.ready}/{i}.new {self.ready}/{i}; exec sleep 100000"

    def begin(self, command, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True, **how)

    def are_ready(self, count):
        return sum(not name.endswith(".new") for name in os.listdir(self.ready)) >= count

    def pid(self, i):
        with open(os.path.join(self.ready, str(i)), encoding="ascii") as file:
            return int(file.read())

    def time_start(self, count):
        self.prepare(count)
        begun = time.perf_counter()
        self.start()
        until(lambda: self.are_ready(count), f"{count} services run")
        return time.perf_counter() - begun

    def time_restart(self):
        old = self.pid(0)
        os.unlink(os.path.join(self.ready, "0"))
        begun = time.perf_counter()
        os.kill(old, signal.SIGKILL)
        until(lambda: os.path.exists(os.path.join(self.ready, "0")), "the service is back")
        return time.perf_counter() - begun

    def cost(self, count):
        """(CPU seconds while idle, resident KiB)"""
        pids = family(self.process.pid, {self.pid(i) for i in range(count)})
        before = sum(stat(pid)[1] for pid in pids)
        time.sleep(IDLE_SECONDS)
        after = [stat(pid) for pid in pids]
        return sum(one[1] for one in after) - before, sum(one[2] for one in after)

    def stop(self):
        pids = [int(open(os.path.join(self.ready, name), encoding="ascii").read() or 0) for name in os.listdir(self.ready)]
        if self.process:
            pids = [*family(self.process.pid, set()), *pids]
        for pid in filter(None, pids):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process:
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Kepler(Supervisor):
    chain = False

    def prepare(self, count):
        self.env = dict(os.environ, KEPLER_DAEMON_PATH=os.path.join(self.folder, "state"), SHELL="/bin/sh")
        with open(os.path.join(self.folder, "kepler.yaml"), "w", encoding="ascii") as file:
            file.write("services:\n")
            for i in range(count):
                file.write(f"  s{i}:\n    command: [sh, -c, '{self.command(i)}']\n    restart: always\n")
                if self.chain and i > 0:
                    file.write(f"    depends_on: [s{i - 1}]\n")

    def kepler(self, *words):
        command = [self.bench.program("kepler"), "-q", "-f", os.path.join(self.folder, "kepler.yaml"), *words]
        if subprocess.run(command, env=self.env, check=False).returncode != 0:
            raise Failure(" ".join(command))

    def start(self):
        self.begin([self.bench.program("kepler-daemon")], env=self.env)
        until(lambda: os.path.exists(os.path.join(self.folder, "state", "kepler.sock")), "the daemon listens")
        self.kepler("start", "-d")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None
        super().stop()


class Chain(Kepler):
    chain = True


class Supervisord(Supervisor):
    def prepare(self, count):
        with open(os.path.join(self.folder, "conf"), "w", encoding="ascii") as file:
            file.write(f"[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\npidfile={self.folder}/pid\nminfds=4096\n")
            for i in range(count):
                file.write(f"[program:s{i}]\ncommand=sh -c '{self.command(i)}'\nautorestart=true\nstartsecs=0\n"
                           "stdout_logfile=NONE\nstderr_logfile=NONE\n")

    def start(self):
        self.begin([self.program, "-n", "-c", os.path.join(self.folder, "conf")])


class Scan(Supervisor):
    """s6 and runit: a folder with a run file for each service."""

    def prepare(self, count):
        self.scan = os.path.join(self.folder, "scan")
        for i in range(count):
            os.makedirs(f"{self.scan}/s{i}")
            with open(f"{self.scan}/s{i}/run", "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{self.command(i)}\n")
            os.chmod(f"{self.scan}/s{i}/run", 0o755)

    def start(self):
        self.begin([self.program, *self.words, self.scan])


class S6(Scan):
    words = ("-c", "1000")


class Runit(Scan):
    words = ()


class Bare(Supervisor):
    """Nothing but fork, exec and wait, in C: the limit."""

    def prepare(self, count):
        with open(os.path.join(self.folder, "commands"), "w", encoding="ascii") as file:
            file.writelines(f"{self.command(i)}\n" for i in range(count))

    def start(self):
        self.begin([self.bench.driver("spawn"), os.path.join(self.folder, "commands")])


def measure(bench, kind, program, count, more=False):
    """Samples of the start, the restart and the idle state."""
    starts, restarts, idle = [], [], (0.0, 0)
    for number in range(RUNS):
        run = kind(bench, program)
        try:
            starts.append(run.time_start(count))
            if more:
                restarts.append(run.time_restart())
            if number == 0:
                idle = run.cost(count) if more else (0.0, stat(run.process.pid)[2])
        finally:
            run.stop()
    samples = [Sample(statistics.median(starts), 0.0, idle[1], RUNS)]
    if more:
        samples += [Sample(statistics.median(restarts), 0.0, idle[1], RUNS), Sample(max(idle[0], 1 / TICKS), idle[0], idle[1], 1)]
    return samples


ROWS = (f"{COUNT} services run", "back after kill -9", f"CPU in {IDLE_SECONDS} s of idleness")
PEERS = (("supervisord", "supervisord", Supervisord), ("s6", "s6-svscan", S6), ("runit", "runsvdir", Runit))


def lines(bench):
    ours = measure(bench, Kepler, None, COUNT, more=True)
    bare = measure(bench, Bare, None, COUNT, more=True)
    for what, mine, theirs in zip(ROWS, ours, bare):
        yield Line(what, mine, "bare C loop", theirs)
    for name, program, kind in PEERS:
        path = bench.peer(program)
        found = measure(bench, kind, path, COUNT, more=True) if path else [None] * len(ROWS)
        for what, mine, theirs in zip(ROWS, ours, found):
            yield Line(what, mine, name, theirs)
    chain = measure(bench, Chain, None, DEPTH)[0]
    yield Line(f"a chain of {DEPTH}", chain, "bare C loop, flat", measure(bench, Bare, None, DEPTH)[0])
