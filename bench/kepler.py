"""Supervision: how soon services run, how soon one is back, and what 200 of them cost

Each service is a shell that makes a file and becomes `sleep`: the clock stops when all files are there. Every
supervisor starts from nothing, its own start included, and all of them take turns, so that they see the same
machine. Times are medians of five turns; those that take long have fewer. The columns of memory are the
proportional set of all processes of the supervisor without the services; processor time is that of the same
processes, while they start the services, or while they idle.

In a chain each service waits until the one before runs. The bare loop starts each when the program of the one
before is executed; s6 and runit have no dependencies, so that run files wait with s6-svwait and `sv check`, as
their manuals advise. s6-rc, which has them, is not in Debian 12; supervisord knows none.
"""
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from frame import Failure, Job, Line, Sample

COUNT = 200
DEPTHS = (50, 200)
RUNS = 5
TURNS = ((20, 1), (3, 3), (0, RUNS))  # who takes so many seconds or more has so many turns
IDLE_SECONDS = 5
PATIENCE = 180
# In the environment of all that a run starts: "number of this process:folder of the run".
MARK = "KEPLER_BENCH"


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"in vain: {what}")
        time.sleep(0.0005)


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def cpu(pids):
    """Seconds that all threads of these processes have run."""
    nanoseconds = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a helper that has ended
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                    nanoseconds += int(file.read().split()[0])
    return nanoseconds / 1e9


def memory(pids):
    """KiB; pages that several processes share are counted once, among them."""
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total


def family(root, services):
    """The supervisor and what belongs to it, without the services."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = parent(name)
            except OSError:
                pass
    found, grown = {root}, True
    while grown:
        more = {pid for pid, above in parents.items() if above in found} - found
        grown = bool(more)
        found |= more
    return found - services


def marks():
    """(pid, bench, folder) of every process that a run started and that lives."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/environ", "rb") as file:
                words = [word for word in file.read().split(b"\0") if word.startswith(f"{MARK}=".encode())]
        except (ValueError, OSError):
            continue
        for word in words:
            bench, folder = word.decode().split("=", 1)[1].split(":", 1)
            yield int(name), int(bench), folder


def end(which):
    """Kill all of which it is true, until none is left: a supervisor may start some again."""
    def round_():
        pids = [pid for pid, bench, folder in marks() if which(bench, folder)]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not pids
    until(round_, "processes of a run end")


def is_gone(bench):
    return bench != os.getpid() and not os.path.exists(f"/proc/{bench}")


def end_earlier():
    """What a benchmark left that was killed before it could clean up."""
    folders = {folder for _, bench, folder in marks() if is_gone(bench)}
    end(lambda bench, folder: is_gone(bench))
    for folder in folders:
        clean(folder)


def remove_groups(group):
    """True when they are gone: who was just killed may still be in one, though it shows nothing any more."""
    for path, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(path)
        except OSError:
            pass
    return not os.path.exists(group)


def clean(folder):
    """Remove the folder of a run, and the control groups of a daemon that could not do that."""
    try:
        with open(os.path.join(folder, "state", "cgroup"), encoding="utf-8") as file:
            group = file.read().strip()
    except OSError:
        group = ""
    if group:
        until(lambda: remove_groups(group), "control groups of a run are empty")
    shutil.rmtree(folder, ignore_errors=True)


class Supervisor:
    """One run of one supervisor in a fresh folder."""

    def __init__(self, bench, program):
        self.bench, self.program = bench, program
        self.folder = tempfile.mkdtemp(prefix="kepler-bench.")
        self.env = dict(os.environ, **{MARK: f"{os.getpid()}:{self.folder}"})
        self.ready = os.path.join(self.folder, "ready")
        os.mkdir(self.ready)
        self.process = None

    def command(self, i):
        return f"echo $$ > {self.ready}/{i}.new; mv {self.ready}/{i}.new {self.ready}/{i}; exec sleep 100000"

    def begin(self, command):
        self.process = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)

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

    def pids(self, count):
        return family(self.process.pid, {self.pid(i) for i in range(count)})

    def cost(self, count):
        """(CPU seconds while idle, KiB)"""
        pids = self.pids(count)
        time.sleep(1)  # what was begun may end
        before = cpu(pids)
        time.sleep(IDLE_SECONDS)
        return cpu(pids) - before, memory(pids)

    def stop(self):
        end(lambda bench, folder: folder == self.folder)
        if self.process:
            self.process.wait()
        clean(self.folder)


class Kepler(Supervisor):
    chain = False

    def prepare(self, count):
        self.env.update(KEPLER_DAEMON_PATH=os.path.join(self.folder, "state"), SHELL="/bin/sh")
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
        self.begin([self.bench.program("kepler-daemon")])
        until(lambda: os.path.exists(os.path.join(self.folder, "state", "kepler.sock")), "the daemon listens")
        self.kepler("start", "-d")

    def stop(self):
        try:
            if self.process:
                self.process.terminate()
                self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
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


class S6Chain(S6):
    def command(self, i):
        wait = f"until s6-svwait -u {self.scan}/s{i - 1} 2>/dev/null; do sleep 0.01; done; " if i > 0 else ""
        return wait + super().command(i)


class Runit(Scan):
    words = ()


class RunitChain(Runit):
    def command(self, i):
        wait = f"until sv check {self.scan}/s{i - 1} >/dev/null 2>&1; do sleep 0.01; done; " if i > 0 else ""
        return wait + super().command(i)


class Bare(Supervisor):
    """Nothing but fork, exec and wait, in C: the limit."""

    def prepare(self, count):
        with open(os.path.join(self.folder, "commands"), "w", encoding="ascii") as file:
            file.writelines(f"{self.command(i)}\n" for i in range(count))

    def start(self):
        self.begin([self.bench.driver("spawn"), os.path.join(self.folder, "commands")])


class Turns:
    """The runs of one supervisor."""

    def __init__(self, bench, kind, program, count, more):
        self.bench, self.kind, self.program, self.count, self.more = bench, kind, program, count, more
        self.starts, self.restarts, self.work, self.idle = [], [], [], None

    def take(self):
        longest = max(self.starts, default=0)
        if len(self.starts) >= next(turns for seconds, turns in TURNS if longest >= seconds):
            return
        run = self.kind(self.bench, self.program)
        try:
            self.starts.append(run.time_start(self.count))
            self.work.append(cpu(run.pids(self.count)))
            if self.more:
                self.restarts.append(run.time_restart())
            if self.idle is None:
                self.idle = run.cost(self.count) if self.more else (0.0, memory(run.pids(self.count)))
        finally:
            run.stop()

    def samples(self):
        idle, size = self.idle
        found = [Sample(statistics.median(self.starts), statistics.median(self.work), size, len(self.starts))]
        if self.more:
            found += [Sample(statistics.median(self.restarts), 0.0, size, len(self.restarts)),
                      Sample(max(idle, 1e-6), idle, size, 1)]
        return found


def together(bench, kinds, count, more=False):
    """Samples of the start, the restart and the idle state of each kind; None for each that is not installed."""
    turns = [Turns(bench, kind, program, count, more) if program else None for kind, program in kinds]
    for _ in range(RUNS):
        for one in filter(None, turns):
            one.take()
    return [one.samples() if one else [None] * 3 for one in turns]


# What is to be reached beside the bare loop, and beside peers.
ROWS = ((f"{COUNT} services run", "2x", "0.4x"), ("back after kill -9", "3x", ""), (f"CPU in {IDLE_SECONDS} s of idleness", "0", "0"))
PEERS = (("supervisord", "supervisord", Supervisord, None), ("s6", "s6-svscan", S6, S6Chain), ("runit", "runsvdir", Runit, RunitChain))


def flat(bench):
    kinds = [(Kepler, "ours"), (Bare, "ours"), *((kind, bench.peer(program)) for _, program, kind, _ in PEERS)]
    ours, *others = together(bench, kinds, COUNT, more=True)
    for name, found in zip(("bare C loop", *(peer[0] for peer in PEERS)), others):
        for (what, of_bare, of_peers), mine, theirs in zip(ROWS, ours, found):
            yield Line(what, mine, name, theirs, of_bare if name == "bare C loop" else of_peers)


def chain(bench, depth):
    peers = [(name, bench.peer(program), kind) for name, program, _, kind in PEERS if kind]
    ours, bare, *others = together(bench, [(Chain, "ours"), (Bare, "ours"), *((kind, path) for _, path, kind in peers)], depth)
    yield Line(f"a chain of {depth}", ours[0], "bare C loop", bare[0], "3x")
    for (name, _, _), found in zip(peers, others):
        yield Line(f"a chain of {depth}", ours[0], name, found[0])


def ask(bench):
    """How soon the states of all services are known."""
    ours, theirs = Kepler(bench, None), Runit(bench, bench.peer("runsvdir"))
    peer = bench.peer("sv") if theirs.program else None
    try:
        ours.time_start(COUNT)
        command = [bench.program("kepler"), "-f", os.path.join(ours.folder, "kepler.yaml"), "ps"]
        jobs = [Job(command, how={"env": ours.env}), Job(["true"]), None]
        if peer:
            theirs.time_start(COUNT)
            jobs[2] = Job([peer, "status", *(f"{theirs.scan}/s{i}" for i in range(COUNT))])
        mine, nothing, found = bench.together(jobs)
    finally:
        try:
            ours.stop()
        finally:
            theirs.stop()
    yield Line(f"states of {COUNT} services", mine, "true", nothing, "5 ms")
    yield Line(f"states of {COUNT} services", mine, "sv status", found, "1x")


def lines(bench):
    end_earlier()
    yield from flat(bench)
    for depth in DEPTHS:
        yield from chain(bench, depth)
    yield from ask(bench)
