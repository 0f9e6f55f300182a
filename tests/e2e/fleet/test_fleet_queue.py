"""Jobs that are kept for absent peels."""
import re

import pytest

from fleet import SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    """A fleet with one peel, which is absent."""
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0})
        fleet.peel = start_peel(fleet, fleet.master, "lap_top")
        fleet.peel.stop()
        yield fleet


def test_a_queued_job_runs_once_when_its_peel_is_back_also_after_a_restart_of_the_master_and_newer_work_replaces_it(fleet, tmp_path):
    runs = tmp_path / "runs"
    work = ("*", "cmd.run", f"echo x >> {runs}", "--queue", "1h")
    result = fleet.zester(*work, "--timeout", "2s", status=3)  # less than it takes to know that the peel is absent
    old = re.search(r"^Job (\w+) dispatched$", result.stderr, re.M).group(1)
    assert re.search(r"^lap.top:\n    queued until \S+Z: the peel is not connected\n", result.stdout)
    assert result.stderr.endswith("1 peel(s) queued\n")
    listed, = fleet.zester_json("job", "list")
    assert (listed["jid"], listed["status"], listed["queued"]) == (old, "running", ["lap.top"])
    assert "running, 1 queued" in fleet.zester("job", "list").stdout
    assert [entry["status"] for entry in fleet.zester_json("job", "show", old)["returns"]] == ["queued"]

    new = fleet.zester_json(*work, "--async")["jid"]
    fleet.wait(lambda: fleet.zester_json("job", "show", old)["job"]["status"] == "failed", "the older job has ended")
    replaced, = fleet.zester_json("job", "show", old)["returns"]
    assert replaced["error"] == f"not sent: replaced by job {new}"
    fleet.master.stop()
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.peel.start()
    fleet.wait(lambda: fleet.zester_json("job", "show", new)["job"]["status"] == "complete", "the newer job has run")
    assert runs.read_text() == "x\n"


def test_a_job_cannot_be_queued_without_a_record_or_for_ever(tmp_path):
    fleet = Fleet(tmp_path)  # refused before there is a connection
    assert "--queue requires a job" in fleet.zester("*", "test.ping", "--queue", "1h", "--direct", status=1).stderr
    assert "--queue" in fleet.zester("*", "test.ping", "--queue", "999h", status=1).stderr
