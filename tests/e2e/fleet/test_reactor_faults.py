"""Events that each dispatch a job, while masters and servers are killed: every event acts exactly once.

Masters end at each step between fetching an event and acknowledging it (ZESTER_CRASH, tests/faults/points), and by kill -9 at any moment;
servers of a cluster of three by kill -9. What is counted is what the jobs did on the peels, and the records of jobs in the bucket.

`make test` takes a few hundred events, `make faults` (FAULTS=all) ten thousand, and prints once a minute how far it is.
"""
import collections
import contextlib
import json
import os
import random
import time

import pytest

from bus import Bus, event
from fleet import SERVER, Fleet, read_marks
from peels import start_peel
from test_reactor import write_rules

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

ALL = os.environ.get("FAULTS") == "all"
EVENTS = int(os.environ.get("FAULTS_EVENTS", "10000" if ALL else "150"))
SEED = int(os.environ.get("FAULTS_SEED", "1"))
BATCH = 20 if ALL else 8
PEELS = 4 if ALL else 1
QUEUE_MAX = 64  # a peel has room for more (DESK_REACTIONS_MAX), and refuses the jobs of events beyond that, which never act
WAITING_MAX = QUEUE_MAX - BATCH  # events of a peel that have not acted yet, while more are sent
STEPS = ["event-fetched", "reaction-rendered", "job-claimed", "job-running", "job-sent", "reaction-dispatched", "event-decided",
         "event-acknowledged"]
LATER = min(EVENTS // 10, 200) if ALL else 4  # a step ends its master at most so many times later
CHAOS_SECONDS = 10 if ALL else 3  # between kills at random, at least
CHAOS_EVENTS = 50 if ALL else 0  # that acted between them: on a busy machine all would be dead before anybody is ready again
END_SECONDS = 1500 if ALL else 240
# What a master that is gone has fetched comes again after this, instead of a minute. The server hands out 64 events at a time: those of
# the dead would hold up everybody else for most of the run.
ACK_WAIT_SECONDS = 8
HURRY_SECONDS = 2  # between two looks at it
REPORT_SECONDS = 60
ANSWER_SECONDS = 5  # of a server that may have died
RETRY_SECONDS = 5  # between two looks of the operator at what was given up

RULES = {
    "top.zy": "reactor:\n  - '_admin/mark': [reactor.mark]\n",
    "mark.zy": """mark:
  dispatch.module:
    target: "{{ data.peel }}"
    function: cmd.run
    args: { name: "echo {{ event.id }} >> {{ data.file }}" }
    timeout: 1h  # a job whose master was killed may wait for the next one, as long as leaders are elected
""",
}


def connect(fleet):
    """A connection to a server that is up."""
    for port in random.sample(fleet.ports, len(fleet.ports)):
        with contextlib.suppress(OSError):
            bus = Bus(port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds")
            bus.socket.settimeout(ANSWER_SECONDS)
            return bus
    return None


def read_marks(path):
    """The events that have marked this file, in the order in which they did."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text().split()
    return []


class Sender:
    """Events that are stored, also when servers end meanwhile: what was not confirmed is sent again, with the same id."""

    def __init__(self, fleet, names):
        self.fleet, self.bus, self.asked = fleet, None, None
        self.ids = {name: [] for name in names}  # of events, by the peel that they mark

    def path(self, peel):
        return self.fleet.folder / f"marks-{peel}"

    def read_marks(self, peel):
        return read_marks(self.path(peel))

    def sent(self):
        return sum(map(len, self.ids.values()))

    def acted(self):
        return sum(len(set(self.read_marks(peel))) for peel in self.ids)

    def room(self):
        """A peel that can bear another batch, or None."""
        waiting = {peel: len(ids) - len(set(self.read_marks(peel))) for peel, ids in self.ids.items()}
        peel = min(waiting, key=waiting.get)
        return peel if waiting[peel] < WAITING_MAX else None

    def send(self, peel, count):
        made = [event("mark", {"peel": peel, "file": str(self.path(peel))}) for _ in range(count)]
        self.ids[peel] += [name for name, _ in made]
        missing = [("zester.event._admin.send.mark", payload, name) for name, payload in made]
        deadline = time.monotonic() + END_SECONDS
        while missing:
            assert time.monotonic() < deadline, self.fleet.logs()
            self.bus = self.bus or connect(self.fleet)
            try:
                missing = self.bus.store(missing) if self.bus else missing
            except (OSError, ConnectionError):
                self.bus = None

    def ask(self, subject, **body):
        """An answer of the stream; None while there is none."""
        self.asked = self.asked or connect(self.fleet)
        try:
            return json.loads(self.asked.request(subject, json.dumps(body).encode())) if self.asked else None
        except (OSError, ConnectionError, ValueError):
            self.asked = None
            return None


class Killer:
    """Masters that crash at a step and come back with the next one; and what is killed at random."""

    def __init__(self, fleet, masters):
        self.fleet, self.masters, self.reached = fleet, masters, collections.Counter()
        self.random = random.Random(SEED)
        self.left = self.random.sample(STEPS, len(STEPS))
        self.due = time.monotonic() + CHAOS_SECONDS
        self.hurry_due = self.report_due = 0.0
        self.chaos_at = 0  # events that have acted
        for master in masters:
            master.aim = None

    def aim(self, master):
        """Start it so that it crashes at the next step; without one when all have had their turn."""
        if not self.left and ALL:
            self.left = self.random.sample(STEPS, len(STEPS))
        master.aim = self.left.pop() if self.left else None
        words = f"{master.aim}:{self.random.randint(1, LATER)}:{self.random.choice([0, 0, 1, 5])}"
        master.environment = {"ZESTER_CRASH": words} if master.aim else {}
        master.start()

    def go_on(self, sender):
        """Start what is dead; kill, when it is time. Nobody waits for long for what the dead had fetched."""
        for master in self.masters:
            if not master.is_running():
                assert master.process.returncode < 0, self.fleet.logs()  # by a signal, not by an error
                self.reached[master.aim] += 1
                self.aim(master)
        if time.monotonic() > self.due and sender.acted() >= self.chaos_at:
            self.due = time.monotonic() + CHAOS_SECONDS
            self.chaos_at = sender.acted() + CHAOS_EVENTS
            self.strike(sender)
        if time.monotonic() > self.hurry_due:
            hurry(sender)
            self.hurry_due = time.monotonic() + HURRY_SECONDS
        if ALL and time.monotonic() > self.report_due:
            print(time.strftime("%H:%M:%S"), "sent", sender.sent(), "acted", sender.acted(), "killed", sum(self.reached.values()), flush=True)
            self.report_due = time.monotonic() + REPORT_SECONDS

    def strike(self, sender):
        """Kill a server or a master; in the sample a server, once. A cluster of three bears the loss of one server at a time."""
        if not ALL and self.reached["server"]:
            return
        victim = self.random.choice(self.fleet.servers + (self.masters if ALL else []))
        if victim in self.fleet.servers and not is_whole(sender):
            return
        victim.kill()
        if victim in self.fleet.servers:
            self.reached["server"] += 1
            victim.start()
        else:
            victim.aim = "master"

    def is_done(self):
        """Has every step had its turn?"""
        if ALL:
            return set(STEPS) <= set(self.reached)
        return not self.left and not any(master.aim for master in self.masters)

    def end(self):
        """All are up again, and no more are killed."""
        for master in self.masters:
            if not master.is_running() or master.environment:
                master.kill()
                master.environment = {}
                master.start()
        for master in self.masters:
            self.fleet.wait_ready(master)


class Operator:
    """One who sends again what the server gave up, because five masters in a row have died with it."""

    def __init__(self, fleet):
        self.fleet, self.retried, self.due = fleet, 0, time.monotonic() + RETRY_SECONDS

    def look(self):
        if time.monotonic() > self.due:
            result = self.fleet.zester("reactor", "retry", "--all", "--format", "json", status=None)
            self.retried += len(json.loads(result.stdout)) if result.stdout else 0
            self.due = time.monotonic() + RETRY_SECONDS


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_cluster()
        yield fleet


def start_masters(fleet):
    keys = {"reactor": {"dir": str(write_rules(fleet.folder / "rules", RULES)), "source_rate_limit": 0, "storm_rate": 0,
                        "max_event_age": 0}, "files_republish_interval": "1s"}
    masters = [fleet.start_master(f"master{number}", **keys) for number in range(3)]
    for master in masters:
        fleet.wait_ready(master)
        fleet.wait(lambda master=master: master.metric("zester_reactor_rules_loaded") == 1, "the rule is loaded")
    return masters


def is_whole(sender):
    """Do all servers have all of what reactions need?"""
    for subject in ("CONSUMER.INFO.events.reactor", "STREAM.INFO.events", "STREAM.INFO.KV_jobs"):
        cluster = (sender.ask(f"$JS.API.{subject}") or {}).get("cluster", {})
        replicas = cluster.get("replicas") or []
        if "leader" not in cluster or len(replicas) < 2 or not all(replica["current"] for replica in replicas):
            return False
    return True


def hurry(sender, seconds=ACK_WAIT_SECONDS):
    """Let what dead masters have fetched come again soon. Masters that start put the value back. False: not yet."""
    config = (sender.ask("$JS.API.CONSUMER.INFO.events.reactor") or {}).get("config", {})
    if config.get("ack_wait") == seconds * 10**9:
        return True
    return bool(config) and "error" not in (sender.ask(
        "$JS.API.CONSUMER.CREATE.events.reactor.zester.event.>", stream_name="events",
        config={**config, "ack_wait": seconds * 10**9}) or {"error": ""})


def count_records(sender):
    info = sender.ask("$JS.API.STREAM.INFO.KV_jobs", subjects_filter="$KV.jobs.*")
    return sum(subject.startswith("$KV.jobs.rxn-") for subject in info["state"].get("subjects", {})) if info else None


def send_all(fleet, sender, killer, operator):
    """Until all were sent and every step has had its turn."""
    def find_room():
        killer.go_on(sender)
        if ALL:
            operator.look()  # what was given up would take all the room in time
        return sender.room()
    while sender.sent() < EVENTS or not killer.is_done():
        peel = fleet.wait(find_room, "jobs run", seconds=END_SECONDS)
        sender.send(peel, min(BATCH, max(EVENTS - sender.sent(), 4)))


def test_every_event_acts_once_wherever_masters_and_servers_are_killed(fleet):
    masters = start_masters(fleet)
    names = [f"web-{number:02}" for number in range(1, PEELS + 1)]
    for name in names:
        start_peel(fleet, masters[0], name)
    sender, killer, operator = Sender(fleet, names), Killer(fleet, masters), Operator(fleet)
    for master in masters:
        master.kill()
        killer.aim(master)
    send_all(fleet, sender, killer, operator)
    killer.end()
    fleet.wait(lambda: hurry(sender), "events come again")
    fleet.wait(lambda: sender.acted() == sender.sent() or operator.look(), "every event has acted", seconds=END_SECONDS)
    for name in names:
        assert sorted(sender.read_marks(name)) == sorted(sender.ids[name])
    # a server that was just elected may still read its log
    fleet.wait(lambda: count_records(sender) == sender.sent(), lambda: f"{count_records(sender)} records, {sender.sent()} events")
    assert set(STEPS) <= set(killer.reached)
    print("events:", sender.sent(), "killed:", dict(killer.reached), "sent again:", operator.retried)
