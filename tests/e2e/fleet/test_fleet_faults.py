"""Everything of a fleet is killed with -9 at random while jobs run: each target of each job has one final answer, and no job runs twice.

Each execution appends a line to a file of its peel. `make test` takes a short sample of it, `make faults` (FAULTS=all) runs it whole:
FAULTS_SECONDS of kills on FAULTS_PEELS peels.
"""
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import threading
import time

import pytest

from fleet import BUILD, SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
ALL = os.environ.get("FAULTS") == "all"
SEED = int(os.environ.get("FAULTS_SEED", "1"))
PEELS = int(os.environ.get("FAULTS_PEELS", "20" if ALL else "3"))
KILL_SECONDS = float(os.environ.get("FAULTS_SECONDS", "180" if ALL else "6"))
SUBMITTERS, SUBMIT_PAUSE = (2, 0.0) if ALL else (1, 0.5)
JOBS_MIN = 5
JOB_TIMEOUT = "60s"
SETTLE_SECONDS = 240
FINAL = {"complete", "failed", "partial", "timeout", "canceled"}
# How long a victim stays away, at most, and the longest pause before the next one. Servers need seconds to elect leaders.
AWAY_SECONDS = 3.0
PAUSE_SECONDS = {"server": 15.0, "master": 5.0, "peel": 1.0}
# The command of a job: %s is its token. The file is that of the peel that runs it.
COMMANDS = ("echo %s >> $MARKS", "echo %s >> $MARKS; sleep 0.3", "sleep 0.2; echo %s >> $MARKS", "echo %s >> $MARKS; exit 3")


class Jobs:
    """Operators who send jobs until they are stopped; `sent` are those that a master has accepted."""

    def __init__(self, fleet, names):
        self.fleet, self.names = fleet, names
        self.stopped = threading.Event()
        self.sent, self.refused, self.failing = {}, [], set()
        self.config = fleet.write_cli_conf()
        self.threads = [threading.Thread(target=self.submit, args=(number,)) for number in range(SUBMITTERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def submit(self, number):
        chance = random.Random(f"jobs {SEED} {number}")
        count = 0
        while not self.stopped.is_set():
            token = f"t{number}-{count}"
            count += 1
            targets = chance.sample(self.names, chance.randint(1, len(self.names)))
            command = chance.choice(COMMANDS)
            if command == COMMANDS[-1]:
                self.failing.add(token)
            words = [f"{BUILD}/zester", "L@" + ",".join(targets), "cmd.run", command % token, "--async", "--timeout", JOB_TIMEOUT,
                     "--format", "json", "--config", str(self.config)]
            result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
            if result.returncode == 0:
                self.sent[json.loads(result.stdout)["jid"]] = token
            else:
                self.refused.append(result.stderr.strip())  # it may exist all the same: the answer of the master was lost
            self.stopped.wait(SUBMIT_PAUSE)


class Killer:
    """Kills and restarts daemons; of the servers one at a time, so that there is a quorum again and again."""

    def __init__(self, fleet, masters, peels):
        self.fleet = fleet
        self.alive = {"server": [*fleet.servers], "master": [*masters], "peel": [*peels]}
        self.lock = threading.Lock()
        self.kills = collections.Counter()
        self.chance = random.Random(f"kills {SEED}")

    def kill_one(self, kind):
        with self.lock:
            victim = self.alive[kind].pop(self.chance.randrange(len(self.alive[kind])))
            self.kills[kind] += 1
        victim.kill()
        time.sleep(self.chance.uniform(0, AWAY_SECONDS))
        victim.start()
        if kind == "server":
            port = self.fleet.ports[self.fleet.servers.index(victim)]
            self.fleet.wait(lambda: self.fleet.listens(port), f"{victim.name} listens")
        elif kind == "master":
            self.fleet.wait_ready(victim, SETTLE_SECONDS)  # jobs need one now and then
        with self.lock:
            self.alive[kind].append(victim)

    def run(self, seconds):
        """Each kind has its own rhythm, so that several things are gone at once."""
        end = time.monotonic() + seconds
        workers = ["server", "master", *["peel"] * max(1, PEELS // 5)]

        def work(kind):
            while time.monotonic() < end:
                self.kill_one(kind)
                time.sleep(self.chance.uniform(0, PAUSE_SECONDS[kind]))
        with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
            for done in [pool.submit(work, kind) for kind in workers]:
                done.result()


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet


def list_jobs(fleet):
    return fleet.zester_json("job", "list", "--limit", "100000")


def marks_of(peel):
    path = peel.folder / "marks"
    return collections.Counter(path.read_text().split()) if path.exists() else collections.Counter()


def problem_of(entry, count, must_fail):
    """What is wrong with an answer, given how often its job ran on the peel; None when nothing is."""
    if count > 1:
        return f"ran {count} times"
    if entry is None:
        return "no answer"
    status = entry["status"]
    if status == "success" and (count != 1 or must_fail):
        return f"success, but it ran {count} times"
    if status == "unreachable" and count != 0:
        return "ran, but the record says unreachable"
    return None


def check_job(fleet, jid, marks, failing):
    """Problems of one job, as lines; and how its targets ended."""
    record = fleet.zester_json("job", "show", jid)
    job, problems, ends = record["job"], [], collections.Counter()
    token = job["args"]["command"].split("echo ")[1].split()[0]
    answers = collections.defaultdict(list)
    for entry in record["returns"]:
        answers[entry["peel_id"]].append(entry)
    for peel in job["targets"]:
        found = answers.pop(peel, [])
        problem = problem_of(found[0] if found else None, marks[peel][token], token in failing) if len(found) < 2 else "two answers"
        ends[found[0]["status"] if found else "none"] += 1
        if problem:
            problems.append(f"{jid} {token} {job['status']} on {peel}: {problem}")
    problems += [f"{jid}: an answer of {peel}, which is not a target" for peel in answers]
    good = sum(entry["status"] == "success" for entry in record["returns"])
    counts = (job.get("return_count", 0), job.get("success_count", 0))
    if counts != (len(record["returns"]), good):
        problems.append(f"{jid}: {job['status']}, counts {counts}, but there are {len(record['returns'])} answers, {good} successes")
    return problems, ends


def wait_for_peace(fleet, daemons):
    """All is up, every job has ended, and what was kept on disks has been delivered."""
    for daemon in daemons:
        fleet.wait_ready(daemon, SETTLE_SECONDS)
    fleet.wait(lambda: all(job["status"] in FINAL for job in list_jobs(fleet)), "every job has ended", seconds=SETTLE_SECONDS)


def test_kills_at_random_neither_lose_nor_repeat_a_job(fleet):
    fleet.start_cluster()
    masters = [fleet.start_ready_master(name, enroll={"rate_burst": 0}) for name in ("one", "two")]
    names = [f"p{number:02}" for number in range(PEELS)]
    peels = {name: start_peel(fleet, masters[0], name, environment={"MARKS": str(fleet.folder / name / "marks")}) for name in names}
    killer = Killer(fleet, masters, list(peels.values()))
    with Jobs(fleet, names) as jobs:
        killer.run(KILL_SECONDS)
        fleet.wait(lambda: len(jobs.sent) >= JOBS_MIN, "some jobs were accepted", seconds=SETTLE_SECONDS)
    wait_for_peace(fleet, [*masters, *peels.values()])
    ends = {}

    def problems():
        """What is still wrong: late answers correct records."""
        found, ends["of"] = [], collections.Counter()
        records = list_jobs(fleet)
        listed = {job["jid"] for job in records}
        found += [f"{jid}: accepted, but there is no record" for jid in jobs.sent if jid not in listed]
        marks = {name: marks_of(peel) for name, peel in peels.items()}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for lines, counts in pool.map(lambda jid: check_job(fleet, jid, marks, jobs.failing), sorted(listed)):
                found += lines
                ends["of"] += counts
        ends["jobs"], ends["runs"] = len(listed), sum(sum(count.values()) for count in marks.values())
        return found

    deadline = time.monotonic() + SETTLE_SECONDS
    found = problems()
    while found and time.monotonic() < deadline:
        time.sleep(1)
        found = problems()
    print(f"kills {dict(killer.kills)}, jobs {ends['jobs']} ({len(jobs.refused)} not confirmed), answers {dict(ends['of'])}, executions {ends['runs']}")
    assert found == [], "\n".join(["problems:", *found, fleet.logs()])
