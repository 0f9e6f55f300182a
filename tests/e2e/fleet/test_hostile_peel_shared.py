"""A hostile peel in a fleet that shares one account, from before `zester nats-auth rotate` moves peels to their own: it can have a server
overwrite records by naming them as reply subjects, and masters put them back."""
import base64
import json
import re
from pathlib import Path

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from nats_client import Client
from packing import pack
from peels import fetch_credentials, start_peel
from test_hostile_peel import hold_job

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A master, a good peel, and the credentials of a bad one."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.make_shared_account()
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0})
        fleet.good = start_peel(fleet, fleet.master, "web-01")
        fetch_credentials(fleet, fleet.master, "evil-01", fleet.folder / "evil/auth")
        yield fleet


@pytest.fixture
def evil(fleet):
    with Client(fleet.port, fleet.folder / "evil/auth/evil-01.creds", fleet.auth / "nats-ca.crt") as client:
        yield client
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert fleet.master.is_running() and fleet.good.is_running()


def test_a_job_whose_record_a_server_was_made_to_overwrite_ends_as_it_would(fleet, evil, tmp_path):
    jid, hold = hold_job(fleet, tmp_path)
    evil.publish("$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._cluster_info", b"", reply=f"$KV.jobs.{jid}")
    evil.publish("zester.event.evil-01.send.x", b"", reply=f"$KV.jobs.{jid}")
    assert evil.refusals() == []
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"  # comes after all of it
    assert fleet.zester("job", "show", jid, status=1).stdout == "", "the attack has no effect: drop this test"
    hold.unlink()
    fleet.wait(lambda: fleet.master.has_logged(f"job {jid}: restored its overwritten record"), "the master notices it")
    fleet.wait(lambda: "complete: 1 of 1 returned" in fleet.zester("job", "show", jid, status=None).stdout, "the record is whole again")
    assert [entry["peel_id"] for entry in fleet.zester_json("job", "show", jid)["returns"]] == ["web-01"]


# What a peel may ask a server for, and what the answer is.
ANSWERS = {
    "a copy of an entry": "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._master_curve_pub",
    "a copy of the mark of a deleted entry": "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files.gone",
    "that there is nothing": "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files.none",
    "that an event is stored": "zester.event.evil-01.send.x",
}
# Records of masters and operators, by bucket.
RECORDS = ("enrollments", "operators", "approvals", "update-manifests", "update-rollouts", "peel-presence", "secrets")
# Those that this fleet would not have.
MADE = {"$KV.approvals.J1": pack({"jid": "J1"}), "$KV.update-manifests.peel.9.9.9": pack({"version": "9.9.9"}),
        "$KV.update-rollouts.ro-1": pack({"id": "ro-1"}), "$KV.peel-presence.old-01": pack({"peel_id": "old-01"})}


@pytest.fixture(scope="module")
def bus(fleet):
    """A connection that may read and write all, in a fleet that has records, and a key of its tree that somebody deleted."""
    fleet.zester("operator", "add", "alice")
    fleet.run("zester-master", "token", "--config", fleet.write_cli_conf())
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        for subject, value in MADE.items():
            bus.request(subject, value)
        mark = b"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n"
        bus.send(f"HPUB $KV.state-files.gone {len(mark)} {len(mark)}\r\n".encode() + mark + b"\r\n")
        bus.flush()
        yield bus


def list_records(bus, bucket):
    """Their subjects."""
    body = json.dumps({"subjects_filter": f"$KV.{bucket}.>"}).encode()
    subjects = json.loads(bus.request(f"$JS.API.STREAM.INFO.KV_{bucket}", body))["state"]["subjects"]
    return [subject for subject in subjects if not subject.endswith("._fence") and b"KV-Operation" not in read_last(bus, subject)[1]
            and (bucket != "secrets" or subject.endswith("._cluster_info"))]


def read_last(bus, subject):
    """Sequence, header and payload of what is stored."""
    stream = "KV_" + subject.split(".")[1]
    message = json.loads(bus.request(f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"last_by_subj": subject}).encode()))["message"]
    return message["seq"], base64.b64decode(message.get("hdrs", "")), base64.b64decode(message.get("data", ""))


def damaged(fleet, bucket, result="restored"):
    return fleet.master.metric(f'zester_records_damaged_total{{bucket="{bucket}",result="{result}"}}') or 0


def overwrite(fleet, bus, evil, subject, request):
    """Have the server answer there, and see that it did."""
    before = read_last(bus, subject)[0]
    evil.publish(request, b"", reply=subject)
    assert evil.refusals() == []
    fleet.wait(lambda: read_last(bus, subject)[0] > before, f"{subject} is overwritten")


@pytest.mark.parametrize("bucket", RECORDS)
def test_a_record_that_a_server_was_made_to_overwrite_is_put_back(fleet, evil, bus, bucket):
    subjects = list_records(bus, bucket)
    assert subjects and (bucket != "enrollments" or {subject.split(".")[2][:4] for subject in subjects} >= {"peel", "enr-", "toke"})
    for subject in subjects:
        value = read_last(bus, subject)[2]
        for answer, request in ANSWERS.items():
            count = damaged(fleet, bucket)
            overwrite(fleet, bus, evil, subject, request)
            fleet.wait(lambda count=count: damaged(fleet, bucket) > count, f"{subject} is put back after {answer}")
            _, header, now = read_last(bus, subject)
            assert now == value and b"KV-Operation" not in header
        key = subject.split(".", 2)[2]
        assert fleet.master.has_logged(f"written again; the credentials of a peel are used for an attack bucket={bucket} key={key}")


def test_the_record_of_a_job_that_has_ended_is_put_back_from_the_history(fleet, evil, bus):
    said = fleet.zester("web-01", "test.ping")
    jid = re.search(r"^Job (\w+) dispatched$", said.stderr, re.M).group(1)
    subject = f"$KV.jobs.{jid}"
    fleet.wait(lambda: fleet.zester_json("job", "show", jid)["job"]["status"] == "complete", "it has ended")
    before = fleet.zester_json("job", "show", jid)
    for answer, request in ANSWERS.items():
        count = damaged(fleet, "jobs")
        overwrite(fleet, bus, evil, subject, request)
        fleet.wait(lambda count=count: damaged(fleet, "jobs") > count, f"it is put back after {answer}")
    assert fleet.zester_json("job", "show", jid) == before
    evil.publish(ANSWERS["that an event is stored"], b"", reply="$KV.jobs.3FdMzNOSUCHJOB")
    fleet.wait(lambda: damaged(fleet, "jobs", "removed") == 1, "a job that never was is removed")


@pytest.mark.parametrize("kind", ["revision", "manifest", "signature", "blob"])
def test_earlier_revisions_of_trees_are_put_back_from_the_history(fleet, evil, bus, kind):
    states = Path(fleet.master.conf["states_dir"])
    states.mkdir(exist_ok=True)
    (states / "motd.zy").write_text("motd:\n  test.nop: []\n")
    fleet.zester("fileserver", "update")
    subject, *_ = [subject for subject in list_records(bus, "tree-history") if f".{kind}." in subject]
    value = read_last(bus, subject)[2]
    for answer, request in ANSWERS.items():
        count = damaged(fleet, "tree-history")
        overwrite(fleet, bus, evil, subject, request)
        fleet.wait(lambda count=count: damaged(fleet, "tree-history") > count, f"it is put back after {answer}")
        _, header, now = read_last(bus, subject)
        assert now == value and b"KV-Operation" not in header


def test_what_a_server_was_made_to_write_where_nothing_was_is_removed(fleet, evil, bus):
    evil.publish(ANSWERS["that an event is stored"], b"", reply="$KV.enrollments.peel.nobody")
    fleet.wait(lambda: damaged(fleet, "enrollments", "removed") == 1, "it is counted")
    assert b"KV-Operation: DEL" in read_last(bus, "$KV.enrollments.peel.nobody")[1]


def test_who_holds_a_lease_keeps_it(fleet, evil, bus):
    subject = "$KV.leases.publisher"
    holder = read_last(bus, subject)[2]
    assert holder.startswith(b"master-")
    for answer in ("a copy of the mark of a deleted entry", "that an event is stored"):
        count = damaged(fleet, "leases", "kept")
        overwrite(fleet, bus, evil, subject, ANSWERS[answer])
        fleet.wait(lambda: read_last(bus, subject)[2] == holder, f"its entry is written again after {answer}")
        fleet.wait(lambda count=count: damaged(fleet, "leases", "kept") > count, "it is counted")
    assert fleet.master.has_logged("lease 'publisher' restored: it was overwritten with a server's answer")
    assert not fleet.master.has_logged("lease 'publisher' lost") and fleet.master.metric("zester_master_publisher_leader") == 1


def test_a_master_that_was_away_puts_records_back_from_the_history_and_says_what_is_lost(fleet, evil, bus):
    index = "$KV.enrollments.peel.web-01"
    name = read_last(bus, index)[2]
    record = f"$KV.enrollments.{name.decode()}"
    value = read_last(bus, record)[2]
    fleet.master.stop()
    for request in ANSWERS.values():
        overwrite(fleet, bus, evil, record, request)
    for _ in range(10):  # as often as the bucket keeps a key
        overwrite(fleet, bus, evil, index, ANSWERS["that an event is stored"])
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: read_last(bus, record)[2] == value, "it is in the history")
    fleet.wait(lambda: fleet.master.has_logged("had a good one bucket=enrollments key=peel.web-01"), "the other one is not")
    assert damaged(fleet, "enrollments", "lost") == 1
    bus.request(index, name)
    assert "web-01" in fleet.zester("enroll", "list", "-s", "all").stdout
