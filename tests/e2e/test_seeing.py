"""What an operator sees of a fleet of real processes: the list of its machines."""
import json

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
NAMES = ("web-01", "web-02")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Two peels whose highstate is one file, FOLDER/work/ID, and a command that fails while FOLDER/work/broken exists."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        tree, fleet.work = fleet.folder / "tree", fleet.folder / "work"
        tree.mkdir()
        fleet.work.mkdir()
        (tree / "top.zy").write_text("base:\n  '*': [site]\n")
        (tree / "site.zy").write_text(
            f"{fleet.work}/{{{{ facts.id }}}}:\n  file.managed:\n    - contents: hello\n"
            f"check:\n  cmd.run:\n    - name: test ! -e {fleet.work}/broken\n"
            f"    - onlyif: test -e {fleet.work}/broken\n    - require: [file: '{fleet.work}/{{{{ facts.id }}}}']\n")
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, states_dir=str(tree))
        fleet.peels = {name: start_peel(fleet, fleet.master, name) for name in NAMES}
        for peel in fleet.peels.values():
            fleet.wait((peel.folder / "states/top.zy").exists, f"{peel.name} has the tree")
        yield fleet


def listed(fleet):
    return {row["peel_id"]: row for row in fleet.zester_json("peel", "list")}


def wait_drift(fleet, drift, name="web-01"):
    """Until the list shows this drift of a peel; returns its row."""
    fleet.wait(lambda: listed(fleet)[name]["drift"] == drift, f"{name} is '{drift}'")
    return listed(fleet)[name]


def forget_heartbeat(fleet, name):
    """What the bucket does by itself after half a minute."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        reply = bus.request("$JS.API.STREAM.PURGE.KV_peel-heartbeat", json.dumps({"filter": f"$KV.peel-heartbeat.{name}"}).encode())
    assert json.loads(reply)["success"] is True


def test_the_list_says_when_machines_converged_and_what_differs_since(fleet):
    row = listed(fleet)["web-01"]
    assert list(row)[:5] == ["peel_id", "os", "arch", "online", "last_seen"]
    assert (row["drift"], row["converged"], row["last_run"], row["differs"]) == ("unknown", None, None, [])

    fleet.zester("*", "state.highstate")
    row = wait_drift(fleet, "none")
    converged = row["converged"]
    assert converged and row["last_run"]["function"] == "state.highstate" and row["last_run"]["states"] == 2

    own = fleet.work / "web-01"
    own.write_text("by hand")
    fleet.zester("web-01", "state.highstate", "--test")
    row = wait_drift(fleet, "drifted")
    assert f"file.managed:{own}" in row["differs"] and row["last_run"]["test"] is True
    assert row["converged"] == converged
    assert listed(fleet)["web-02"]["drift"] == "none"
    assert f"file.managed:{own}" in fleet.zester("peel", "list").stdout

    (fleet.work / "broken").touch()
    fleet.zester("web-01", "state.highstate", status=2)
    row = wait_drift(fleet, "failed")
    assert row["differs"] == ["cmd.run:check"] and row["converged"] == converged
    assert "1 failed: cmd.run:check" in fleet.zester("peel", "list").stdout

    (fleet.work / "broken").unlink()
    fleet.zester("web-01", "state.highstate")
    assert wait_drift(fleet, "none")["converged"] >= converged
    assert own.read_text() == "hello\n"


def test_of_a_machine_that_is_down_the_jobs_tell(fleet):
    (fleet.work / "web-02").unlink(missing_ok=True)
    fleet.zester("web-02", "state.highstate")
    fleet.zester("web-02", "state.highstate", "--test")
    before = wait_drift(fleet, "none", "web-02")
    fleet.peels["web-02"].stop()
    forget_heartbeat(fleet, "web-02")
    row = listed(fleet)["web-02"]
    assert not row["online"] and row["last_seen"] is None
    assert (row["drift"], row["converged"], row["last_run"]["id"]) == (before["drift"], before["converged"], before["last_run"]["id"])
    fleet.peels["web-02"].start()
    fleet.wait_ready(fleet.peels["web-02"])
