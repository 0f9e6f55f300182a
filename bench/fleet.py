"""Fleet: a job to many agents, to the last answer, against the bare message sequence over as many connections

Ours is a master and agents with the code of src/fleet/peel, 1,000 in a process, each with an identity and folders of its own; the peer sends only the
documented messages (bench/driver_floor.c). Both are connected to the same server over TLS with credentials, and measured in turn. The processor
time is that of server, master and agents. Folders of the agents are in memory where there is /dev/shm: a thousand machines have a thousand disks.
A highstate has 20 files, none of which changes; the peer reads and compares 20 files, too. It is measured against the peer twice: with a message for
each state, as runs have them that take longer than 20 ms, and without any. FLEET=N,N... measures other numbers of agents.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from box import Box, cpu_seconds, free_port, resident_kb
from frame import Failure, Line, Note, Sample

COUNTS = [int(word) for word in os.environ.get("FLEET", "1000,5000").split(",")]
CROWD = 1_000  # agents in a process: each needs 16 files, and a process has 20,000 of them in many places
STATES = 20
TURNS = 3  # one for more than CROWD agents, which take a while to start
ROUNDS = 4  # the first of a turn is not counted
WORK = (("test.ping", "ping", "2x"), ("state.highstate", f"highstate of {STATES}", "2x"))
SILENT = "state.apply"  # what the peer does as a highstate, but without progress
IDLE_SECONDS = 12
IDLE_REACH = "8 MiB"


class Fleet:
    """`count` agents of both kinds."""

    def __init__(self, bench, box, count):
        self.bench, self.box, self.count = bench, box, count
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="zester-bench-peels.", dir=memory)
        self.driver, self.bare = bench.driver("fleet"), bench.driver("floor")
        self.real_agents, self.bare_agents = [], []
        for kind in ("peel", "bare"):
            subprocess.run([self.driver, "identities", box.auth, self.folder, kind, "0", str(count)], check=True)

    def close(self):
        for process in self.real_agents + self.bare_agents:
            self.box.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def crowds(self):
        return [(first, min(CROWD, self.count - first)) for first in range(0, self.count, CROWD)]

    def start_agents(self, driver, name, *more):
        """One process after the other: a thousand machines do not start in the same second."""
        started = []
        for first, count in self.crowds():
            command = [driver, "peels", self.box.url, self.box.auth, self.folder, str(first), str(count), *more]
            process = self.box.begin(command, name, stdout=subprocess.PIPE, text=True)
            started.append(process)
            if process.stdout.readline() != "ready\n":
                raise Failure(f"{name}: not connected\n{self.box.log(name)[-2000:]}")
        return started

    def write_states(self):
        body = "".join(f"{self.folder}/peel-out/{{{{ facts.id }}}}-{number}:\n  file.managed:\n    - contents: a line of file {number}\n\n"
                       for number in range(STATES))
        os.mkdir(f"{self.folder}/peel-out")
        self.box.write("states/work.zy", body)
        self.box.write("states/top.zy", "base:\n  '*':\n    - work\n")

    def start_master(self):
        self.box.start_master(states_dir=f"{self.box.folder}/states", settings_dir=f"{self.box.folder}/settings")

    def start_bare_master(self):
        process = self.box.begin([self.bare, "master", self.box.url, self.box.auth, str(self.count)], "bare", stdout=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            raise Failure("the bare master does not begin")
        return process

    def run_job(self, function, rounds):
        """Rows of numbers, as bench/driver_fleet.c says."""
        command = [self.driver, "job", self.box.url, self.box.auth, str(self.count), str(rounds), function]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            raise Failure(f"{function} to {self.count} agents: {run.stderr}\n{self.box.log('master')[-2000:]}")
        return [[int(word) for word in line.split()] for line in run.stdout.splitlines()]

    def wait_for_states(self):
        """The agents have the tree when it runs everywhere."""
        def has_tree():
            return all(os.path.exists(f"{self.folder}/peel-{number:06}/states/top.zy") for number in range(self.count))
        self.box.wait_for(has_tree, "the agents have the states")


def measure_turn(fleet, function, processes):
    """Seconds of each round that counts, and of processor time of each process for one round."""
    fleet.run_job(function, 1)
    before = [cpu_seconds(process.pid) for process in processes]
    rows = fleet.run_job(function, ROUNDS - 1)
    used = [(cpu_seconds(process.pid) - since) / (ROUNDS - 1) for process, since in zip(processes, before)]
    return [row[2] / 1e9 for row in rows], used


class Side:
    """What was measured of ours, or of the peer."""

    def __init__(self):
        self.seconds, self.cpu, self.master_cpu = [], [], []

    def add(self, seconds, used):
        self.seconds += seconds
        self.cpu.append(sum(used))
        self.master_cpu.append(used[1])

    def sample(self, peak_kb):
        return Sample(statistics.median(self.seconds), statistics.median(self.cpu), peak_kb, len(self.seconds))


def measure_all(fleet, works, sides):
    box = fleet.box
    for turn in range(TURNS if fleet.count <= CROWD else 1):
        if turn > 0:
            fleet.start_master()
        for work in works:
            sides[work[0], "ours"].add(*measure_turn(fleet, work[0], [box.server, box.master, *fleet.real_agents]))
        box.master_kb = resident_kb(box.master.pid)
        box.end(box.master)
        master = fleet.start_bare_master()
        for work in works:
            sides[work[0], "bare"].add(*measure_turn(fleet, work[0], [box.server, master, *fleet.bare_agents]))
        sides[SILENT, "bare"].add(*measure_turn(fleet, SILENT, [box.server, master, *fleet.bare_agents]))
        box.end(master)


def run_fleet(bench, box, count):
    fleet = Fleet(bench, box, count)
    sides = {(function, side): Side() for function in (*(work[0] for work in WORK), SILENT) for side in ("ours", "bare")}
    try:
        fleet.write_states()
        fleet.start_master()
        alone_kb = resident_kb(box.master.pid)
        fleet.real_agents = fleet.start_agents(fleet.driver, "peels")
        fleet.wait_for_states()
        works, size = list(WORK), 0
        try:
            size = fleet.run_job("state.highstate", 2)[-1][4] // count  # nothing changes in the second round
        except Failure:
            if count <= CROWD:
                raise
            works = works[:1]
            yield Note(f"a highstate of {count:,} agents at once is more than this machine can do now: some did not acknowledge it within ten seconds")
        fleet.bare_agents = fleet.start_agents(fleet.bare, "bare", str(size), str(STATES + 1), str(STATES), "0")
        measure_all(fleet, works, sides)
        agents_kb = [sum(resident_kb(process.pid) for process in agents) for agents in (fleet.real_agents, fleet.bare_agents)]
        for function, what, reach in works:
            ours, bare = sides[function, "ours"], sides[function, "bare"]
            yield Line(f"{what} to {count:,}", ours.sample(agents_kb[0]), "bare", bare.sample(agents_kb[1]), reach, count)
            if function == "state.highstate":
                bare = sides[SILENT, "bare"]
                yield Line("the same", ours.sample(agents_kb[0]), "bare, no progress", bare.sample(agents_kb[1]), reach, count)
        yield Note(f"{count:,} agents: the master needs {(box.master_kb - alone_kb) / count:.1f} kB for each, and " + " and ".join(
            f"{statistics.median(sides[function, 'ours'].master_cpu) / count * 1e6:.0f} us of processor time for the {what} of each"
            for function, what, _ in works) + f"; an agent among {CROWD:,} in a process {agents_kb[0] / count:.0f} kB")
    finally:
        fleet.close()


def idle_note(bench, box):
    """Resident memory of a real agent in a process of its own, after its start."""
    with tempfile.TemporaryDirectory(prefix="zester-bench-peels.") as folder:
        subprocess.run([bench.driver("fleet"), "identities", box.auth, folder, "peel", "0", "1"], check=True)
        own, health = f"{folder}/peel-000000", free_port()
        words = {"id": "peel-000000", "nats-url": box.url, "nats-ca": f"{box.auth}/nats-ca.crt", "auth-dir": f"{own}/auth", "data-dir": f"{own}/data",
                 "states-cache": f"{own}/states", "facts-file": f"{own}/facts", "health-addr": f"127.0.0.1:{health}"}
        path = box.write("peel.yaml", "".join(f"{key.replace('-', '_')}: {text}\n" for key, text in words.items()))
        peel = box.begin([bench.program("zester-peel"), "--config", path], "peel")
        box.wait_for(lambda: "connected server=" in box.log("peel"), "the agent is connected")
        time.sleep(IDLE_SECONDS)  # it gives memory back when nothing has happened for a while
        resident = resident_kb(peel.pid)
        box.end(peel)
    return Note(f"resident memory of one idle agent: {resident / 1024:.1f} MiB (reach {IDLE_REACH})")


def lines(bench):
    for count in COUNTS:
        with Box(bench, "fleet") as box:
            box.start_server()
            yield from run_fleet(bench, box, count)
            if count == COUNTS[0]:
                box.start_master()
                yield idle_note(bench, box)
