"""Who takes over whose jobs: nobody while nobody can be heard, and others when a master is silent; the one that comes back lets go.

Silence lasts half a minute, so these run in `make faults` only (FAULTS=all); `make test` has tests/unit/fleet/jobs/test_heartbeat_monitor.c.
"""
import base64
import json
import os
import signal

import pytest

from bus import Bus
from fleet import SERVER, Fleet, read_marks

pytestmark = [pytest.mark.skipif(not SERVER, reason="no nats-server in PATH"),
              pytest.mark.skipif(os.environ.get("FAULTS") != "all", reason="takes minutes; make faults")]

BEATS_LOST = 45  # one a second, so that every master has been silent for three times as long as it takes


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("takeover")) as fleet:
        fleet.start_server()
        fleet.masters = [fleet.start_master(f"master{number}") for number in range(2)]
        for master in fleet.masters:
            fleet.wait_ready(master)
        fleet.peel = fleet.start_ready_peel("web-1")
        yield fleet


def ask(fleet, subject, **body):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        reply = json.loads(bus.request(subject, json.dumps(body).encode()))
    assert "error" not in reply, reply
    return reply


class Job:
    """One that runs until it is allowed to end, and marks a file each time it is executed."""

    def __init__(self, fleet, name):
        self.fleet, self.gate, self.marks = fleet, fleet.folder / f"gate-{name}", fleet.folder / f"marks-{name}"
        words = f"echo once >> {self.marks}; until [ -e {self.gate} ]; do sleep 0.1; done"
        self.jid = fleet.zester_json("web-1", "cmd.run", words, "--async", "--timeout", "600s")["jid"]
        fleet.wait(self.marks.exists, "it runs")

    def owner(self):
        """The master whose id the record has."""
        message = ask(self.fleet, "$JS.API.STREAM.MSG.GET.KV_jobs", last_by_subj=f"$KV.jobs.{self.jid}")["message"]
        record = base64.b64decode(message["data"])
        return next(master for master in self.fleet.masters if master.lines()[0]["master_id"].encode() in record)

    def end(self):
        self.gate.touch()
        self.fleet.wait(lambda: any(master.has_logged(f"job {self.jid} complete") for master in self.fleet.masters), "it has ended")
        assert read_marks(self.marks) == ["once"]


def freeze(fleet, is_frozen):
    """Let the bucket of heartbeats refuse every one, as it does without a leader, while it can still be read."""
    config = ask(fleet, "$JS.API.STREAM.INFO.KV_master-heartbeat")["config"]
    ask(fleet, "$JS.API.STREAM.UPDATE.KV_master-heartbeat", **{**config, "max_msg_size": 1 if is_frozen else -1})


def reclaims(fleet):
    return sum(master.metric("zester_job_reclaims_total") or 0 for master in fleet.masters)


def lost_beats(master):
    return master.log().count("heartbeat: ")


def test_living_masters_keep_their_jobs_while_nobody_can_be_heard(fleet):
    job = Job(fleet, "frozen")
    owner, before = job.owner(), reclaims(fleet)
    freeze(fleet, True)
    begun = [lost_beats(master) for master in fleet.masters]
    fleet.wait(lambda: all(lost_beats(master) - lost > BEATS_LOST for master, lost in zip(fleet.masters, begun)), "long silence", 240)
    freeze(fleet, False)
    job.end()
    assert (job.owner(), reclaims(fleet)) == (owner, before)


def test_the_job_of_a_master_that_stands_still_goes_to_another_and_it_lets_go_when_it_wakes(fleet):
    job = Job(fleet, "stopped")
    sleeper = job.owner()
    sleeper.send(signal.SIGSTOP)
    fleet.wait(lambda: job.owner() is not sleeper, "another has it", 240)
    sleeper.send(signal.SIGCONT)
    fleet.wait(lambda: sleeper.has_logged(f"job {job.jid}: taken over by another master"), "it lets go")
    job.end()


def test_a_master_whose_clock_is_an_hour_ahead_takes_a_job_over_and_leaves_it_its_time(fleet):
    job = Job(fleet, "ahead")
    sleeper = job.owner()
    ahead = fleet.start_ready_master("ahead", environment=fleet.wrong_clock(3600))
    for master in fleet.masters:
        master.kill()
    fleet.wait(lambda: ahead.has_logged(f"job {job.jid}: taking over from {sleeper.lines()[0]['master_id']}"), "it has the job", 240)
    assert not ahead.has_logged(f"job {job.jid} timeout") and not ahead.has_logged(f"job {job.jid} partial")
    fleet.masters = [ahead]
    job.end()
    assert fleet.zester_json("job", "show", job.jid)["job"]["status"] == "complete"
