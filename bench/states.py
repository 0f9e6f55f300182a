"""States: converging one machine, against the bare system calls and others who do the same"""
import os
import shutil
import tempfile

import policies
from frame import Failure, Job, Line, Sample



class Place:
    """A folder for one work: its files, our tree and data, the policies of the peers."""

    def __init__(self, root, name, work):
        self.root = os.path.join(root, name)
        self.files = os.path.join(self.root, "files")
        self.states, self.data = os.path.join(self.root, "states"), os.path.join(self.root, "data")
        os.makedirs(self.files)
        os.makedirs(self.states)
        self.work = policies.Work(self.files, **work)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)  # cf-agent refuses what others could write
        return path

    def clear(self):
        for folder in (self.files, self.data):
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.files)

    def check(self):
        """Everybody has left the same behind."""
        for number in range(self.work.count):
            with open(self.work.path(number)) as f:
                text = f.read()
            if text != (f"{number}\n" if self.work.commands else self.work.content(number)):
                raise Failure(f"{self.work.path(number)} is not as it should be")


def ours(bench, place, function="state.apply"):
    if not os.path.exists(os.path.join(place.states, "work.zy")):
        place.write("states/work.zy", policies.zester(place.work))
    return [bench.program("zester"), "--local", "--states-dir", place.states, "--data-dir", place.data, function, "work"]


def bare(bench, place, cold):
    work = "commands" if place.work.commands else "write" if cold else "check"
    return [bench.driver("bare"), work, place.files, str(place.work.count)]


def shell(bench, place, cold):
    return [bench.peer("sh"), place.write("work.sh", policies.shell(place.work))]


def cfengine(bench, place, cold):
    agent = bench.peer("cf-agent")
    return agent and [agent, "-K", "-f", place.write("work.cf", policies.cfengine(place.work))]


def puppet(bench, place, cold):
    """Without this option a failure is no exit status; with it neither a failure nor a change goes by."""
    program = bench.peer("puppet")
    words = [] if cold else ["--detailed-exitcodes"]
    return program and [program, "apply", *words, place.write("work.pp", policies.puppet(place.work))]


def ansible(bench, place, cold):
    program = bench.peer("ansible-playbook")
    return program and [program, "-c", "local", "-i", "localhost,", place.write("work.yml", policies.ansible(place.work))]


PEERS = {"cf-agent": cfengine, "sh": shell, "puppet": puppet}


def compare(bench, place, what, cold=False, reach="", peers=None, agent=""):
    """One line for each peer. All run in turn, and each must leave the same files."""
    commands = {"ours": ours(bench, place), "bare C": bare(bench, place, cold)}
    commands.update({name: peer(bench, place, cold) for name, peer in (PEERS if peers is None else peers).items()})
    place.clear()
    bench.measure(commands["ours"], runs=1)
    place.check()
    before = place.clear if cold else None
    samples = dict(zip(commands, bench.together([command and Job(command, before) for command in commands.values()])))
    place.check()
    mine = samples.pop("ours")
    goals = {"bare C": reach, "cf-agent": agent}
    return [Line(what, mine, peer, theirs, goals.get(peer, "")) for peer, theirs in samples.items()]


def files(bench, root):
    thousand = Place(root, "thousand", {"count": 1000})
    yield from compare(bench, thousand, "1,000 files, no change", reach="<= 3", agent="<= 0.04")
    yield from compare(bench, thousand, "1,000 files, cold", cold=True, reach="<= 2")
    chain = Place(root, "chain", {"count": 100, "order": "chain"})
    yield from compare(bench, chain, "chain of 100, no change", reach="<= 4")
    wide = Place(root, "wide", {"count": 1000, "order": "wide"})
    yield from compare(bench, wide, "1,000 behind one, no change", reach="<= 3")
    small = Place(root, "small", {"count": 100})
    yield from compare(bench, small, "100 files, no change", peers={"ansible": ansible})


def commands(bench, root):
    place = Place(root, "commands", {"count": 200, "commands": True})
    yield from compare(bench, place, "200 guarded commands, cold", cold=True, reach="<= 1.1")
    yield from compare(bench, place, "200 guarded commands, no change", reach="<= 5")


def growth(bench, root):
    one, ten = (Place(root, f"growth{count}", {"count": count}) for count in (1000, 10000))
    jobs = [Job(ours(bench, place)) for place in (one, ten)]
    small, large = bench.together(jobs)
    yield Line("10,000 files, no change", large, "1,000 files", small, "about 10")


def ordered(bench, root):
    """The same states in a Salt file, which run as they are written."""
    place = Place(root, "ordered", {"count": 1000})
    free = ours(bench, place)
    written = free[:-1] + ["written"]
    place.write("states/written.sls", policies.zester(place.work))
    bench.measure(free, runs=1)
    theirs, mine = bench.together([Job(free), Job(written)])
    yield Line("1,000 files in written order, no change", mine, "in levels", theirs, "<= 1.3")


def compiling(bench, root):
    place = Place(root, "graph", {"count": 0})
    place.write("states/work.zy", policies.zester_graph(5000, 4))
    yield Line("compile 5,000 states, 20,000 requisites", bench.measure(ours(bench, place, "state.check")),
               "one second", Sample(1, 1, 0, 1), "<= 1")


def starting(bench):
    jobs = [Job([bench.program("zester"), "--local", "test.ping"]), Job([bench.peer("true")])]
    mine, nothing = bench.together(jobs)
    yield Line("test.ping", mine, "true", nothing, "<= 5 ms")


def lines(bench):
    with tempfile.TemporaryDirectory() as root:
        yield from files(bench, root)
        yield from commands(bench, root)
        yield from growth(bench, root)
        yield from ordered(bench, root)
        yield from compiling(bench, root)
        yield from starting(bench)
