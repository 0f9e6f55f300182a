"""Machines that leave the fleet for good."""
import json
import time

import pytest

from bus import Bus as Wire
from enroll_client import Bus, Machine, jwt_of
from fleet import SERVER, Fleet
from packing import pack
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

DAY = 86400


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_server()
        settings = fleet.folder / "settings"
        settings.mkdir()
        (settings / "top.zy").write_text("base: {'*': [shared]}\n")
        (settings / "shared.zy").write_text("basket_functions: {id: 1h, os: 1h}\n")
        fleet.master = fleet.start_ready_master(settings_dir=str(settings))
        fleet.peel = start_peel(fleet, fleet.master, "lap_top")
        yield fleet


def join(fleet, peel):
    """A machine with credentials, that is not connected: itself, the id of its enrollment, its JWT."""
    machine = Machine(fleet.master.enroll_port, peel, fleet.auth / "ca/root.crt")
    enrollment = machine.submit(fleet.pin())[1]["id"]
    fleet.zester("enroll", "approve", enrollment)
    return machine, enrollment, jwt_of(machine.creds(enrollment)[1])


def peels(fleet):
    return [peel["peel_id"] for peel in fleet.zester_json("peel", "list")]


def enrollments(fleet):
    return {record["id"]: record["state"] for record in fleet.zester_json("enroll", "list", "-s", "all")}


def test_a_connected_peel_is_refused_and_not_touched(fleet):
    refused = fleet.zester("peel", "delete", "lap.top", status=1)
    assert "'lap.top': it is connected" in refused.stderr and refused.stdout == ""
    assert peels(fleet) == ["lap.top"]
    fleet.zester("lap.top", "test.ping")
    assert "active" in enrollments(fleet).values()


def test_one_that_is_not_known_is_an_error_and_the_others_go(fleet):
    machine, enrollment, jwt = join(fleet, "db-01")
    result = fleet.zester("peel", "delete", "db-01", "db-02", "db-01", status=1)
    assert "'db-02': no such peel" in result.stderr
    assert result.stdout == "db-01 deleted: credentials revoked\n"
    bus = Bus(fleet.port, machine, jwt)
    assert not bus.is_let_in()
    bus.close()
    assert enrollments(fleet)[enrollment] == "revoked", "servers learn from this record whom to refuse"
    audit = [line["msg"] for line in fleet.master.lines() if "peel.delete" in line["msg"]]
    assert any("result=ok" in line and 'peel="db-01"' in line for line in audit)
    assert any("result=refused" in line and 'peel="db-02"' in line for line in audit)


def test_an_enrollment_without_credentials_is_forgotten(fleet):
    machine = Machine(fleet.master.enroll_port, "kiosk", fleet.auth / "ca/root.crt")
    enrollment = machine.submit(fleet.pin())[1]["id"]
    deleted, = fleet.zester_json("peel", "delete", "kiosk")
    assert (deleted["peel_id"], deleted["revoked"], deleted["enrollments"]) == ("kiosk", 0, 1)
    assert enrollment not in enrollments(fleet)
    assert machine.submit(fleet.pin())[0] == 201, "the name is free again"


def test_prune_deletes_machines_that_were_not_seen_for_long_and_no_others(fleet):
    ago = {"old-01": 100 * DAY, "young-01": 80 * DAY}
    with Wire(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as wire:
        for name in (*ago, "unseen-01"):
            wire.publish(f"$KV.facts.{name}", pack({"id": name}))
        for name, age in ago.items():
            gone = float(int(time.time()) - age)
            wire.publish(f"$KV.peel-presence.{name}", pack({"state": "offline", "since": gone, "seen": gone}))
        wire.flush()
    fleet.wait(lambda: fleet.zester("old-01,young-01,unseen-01", "test.ping", "--preview", status=None).stdout.count("-01") == 3, "the master knows them")
    listed = fleet.zester("peel", "prune", "--older", "90d", "--test", "--format", "json")
    assert [peel["peel_id"] for peel in json.loads(listed.stdout)] == ["old-01"]
    assert "old-01" in peels(fleet)
    pruned = fleet.zester("peel", "prune", "--older", "90d")
    assert pruned.stdout == "old-01 deleted: facts\n"
    assert peels(fleet) == ["lap.top", "unseen-01", "young-01"]
    assert fleet.zester_json("peel", "prune") == []
    fleet.zester("peel", "delete", "young-01", "unseen-01")


def test_a_forced_delete_removes_everything_and_jobs_that_were_queued_are_not_sent(fleet, tmp_path):
    ran = tmp_path / "ran"
    fleet.wait(lambda: all("value" in row for name in ("id", "os") for row in fleet.zester_json("basket", "get", "*", name)), "it shares two facts")
    fleet.peel.stop()
    job = fleet.zester_json("lap.top", "cmd.run", f"touch {ran}", "--queue", "1h", "--async")["jid"]
    fleet.wait(lambda: fleet.zester_json("job", "list")[0].get("queued") == ["lap.top"], "the job is queued")
    deleted, = fleet.zester_json("peel", "delete", "lap.top", "--force", "--reason", "sold")
    assert (deleted["revoked"], deleted["facts"], deleted["basket"]) == (1, 1, 2) and "err" not in deleted
    assert peels(fleet) == []
    fleet.wait(lambda: fleet.zester_json("job", "show", job)["job"]["status"] == "failed", "the job has ended")
    end, = fleet.zester_json("job", "show", job)["returns"]
    assert end["error"] == "not sent: the peel has left the fleet"
    revoked = [record for record in enrollments(fleet).values() if record == "revoked"]
    assert len(revoked) == 2
    again = fleet.zester("peel", "delete", "lap.top").stdout
    assert again == "lap.top deleted: nothing was left\n"
    assert not ran.exists()


def test_peels_are_listed_without_the_bucket_of_presence_which_masters_of_an_older_version_do_not_make(fleet):
    with Wire(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as wire:
        assert b'"success":true' in wire.request("$JS.API.STREAM.DELETE.KV_peel-presence")
        wire.publish("$KV.facts.lone-01", pack({"id": "lone-01"}))
        wire.flush()
    fleet.wait(lambda: peels(fleet) == ["lone-01"], "it is listed")
