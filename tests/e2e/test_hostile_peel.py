"""A peel with good credentials that lies, floods and sends nonsense: it is refused or dropped with a reason, and others do not notice."""
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

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
FLOOD = 5000
# A map with one key whose value is a map, and so on.
DEEP = b"\x81\xa1a" * 5000 + b"\xc0"
NONSENSE = [b"", b"\xc1", b"not msgpack", b"\x80", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xffx", b"\xc6\xff\xff\xff\xff", DEEP, b"\x00" * 500_000]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A master, a good peel, and the credentials of a bad one."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
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


def text(value):
    """A short text in MessagePack."""
    return bytes([0xa0 + len(value)]) + value.encode()


def message(**keys):
    """A map of texts and booleans, with the time that acks and returns need."""
    forms = {True: b"\xc3", False: b"\xc2"}
    pairs = b"".join(text(key) + (forms[value] if isinstance(value, bool) else text(value)) for key, value in keys.items())
    return bytes([0x80 + len(keys) + 1]) + pairs + text("timestamp") + b"\xd6\xff\x65\x00\x00\x00"


def dropped(fleet, reason):
    return fleet.master.metric(f'zester_job_messages_dropped_total{{reason="{reason}"}}') or 0


def hold_job(fleet, tmp_path):
    """A job of the good peel that runs until the file is gone."""
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    hold.touch()
    jid = fleet.zester_json("web-01", "cmd.run", f"touch {begun}; while [ -e {hold} ]; do sleep 0.05; done; echo mine", "--async")["jid"]
    fleet.wait(begun.exists, "the job runs")
    return jid, hold


@pytest.mark.parametrize("subject", [
    "zester.job.J1.ack.web-01", "zester.job.J1.return.web-01", "zester.job.J1.progress.web-01", "zester.job.J1.schedule.web-01",
    "zester.job.J1.cancel", "zester.job.J1.status", "zester.cmd.web-01", "zester.dispatch", "zester.event.web-01.send.x",
    "zester.event._master.x", "zester.event._admin.send.x", "zester.admin.enroll.approve", "$KV.facts.web-01",
    "$KV.peel-heartbeat.web-01", "$KV.basket.web-01.x", "$KV.jobs.J1", "$KV.job-returns.J1.web-01", "$KV.secrets.evil-01",
    "$KV.leases.publisher", "$KV.state-files.top.zy", "_INBOX.web-01.x", "$JS.API.STREAM.DELETE.job-events",
    "$JS.API.CONSUMER.CREATE.KV_secrets", "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.web-01", "$SYS.REQ.SERVER.PING"])
def test_nothing_can_be_said_in_the_name_of_another(evil, subject):
    evil.publish(subject, b"x")
    refused, = evil.refusals()
    assert "Permissions Violation for Publish" in refused


@pytest.mark.parametrize("subject", [">", "zester.>", "zester.cmd.web-01", "zester.cmd.*", "zester.job.*.return.*", "_INBOX.>",
                                     "_INBOX.web-01.>", "$KV.secrets.web-01", "$KV.secrets.>", "$KV.facts.>", "$JS.API.>"])
def test_nothing_of_others_can_be_heard(evil, subject):
    evil.subscribe(subject)
    refused, = evil.refusals()
    assert "Permissions Violation for Subscription" in refused


def test_answers_to_the_job_of_another_are_dropped_with_a_reason(fleet, evil, tmp_path):
    jid, hold = hold_job(fleet, tmp_path)
    before = {reason: dropped(fleet, reason) for reason in ("malformed", "spoof", "stranger")}
    for kind in ("ack", "return"):
        evil.publish(f"zester.job.{jid}.{kind}.evil-01", message(jid=jid, peel_id="web-01", success=True))
        evil.publish(f"zester.job.{jid}.{kind}.evil-01", message(jid=jid, peel_id="evil-01", success=True))
        evil.publish(f"zester.job.{jid}.{kind}.evil-01", b"\xc1 nonsense")
    assert evil.refusals() == []
    for reason, count in before.items():
        fleet.wait(lambda reason=reason, count=count: dropped(fleet, reason) >= count + 2, f"{reason} is counted")
    assert fleet.master.has_logged(f"job {jid}: dropped a message on zester.job.{jid}.ack.evil-01: spoof")
    hold.unlink()
    assert fleet.zester("job", "watch", jid).stdout == "web-01:\n    mine\n"
    record = fleet.zester_json("job", "show", jid)
    assert [entry["peel_id"] for entry in record["returns"]] == ["web-01"]


def test_what_servers_and_masters_answer_it_stops_no_job_of_another(fleet, evil, tmp_path):
    """A request says where its answer goes, and a server asks nobody whether they may publish there."""
    jid, hold = hold_job(fleet, tmp_path)
    for request in ("$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._cluster_info", "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.evil-01",
                    "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files.none", "zester.event.evil-01.send.x", "zester.target.resolve"):
        evil.publish(request, b"\x81" + text("expr") + text("*") if request.endswith("resolve") else b"", reply=f"zester.job.{jid}.cancel")
    assert evil.refusals() == []
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"  # comes after all of it
    assert fleet.zester_json("job", "show", jid)["job"]["status"] == "running"
    hold.unlink()
    assert fleet.zester("job", "watch", jid).stdout == "web-01:\n    mine\n"


def test_a_job_whose_record_a_server_was_made_to_overwrite_ends_as_it_would(fleet, evil, tmp_path):
    jid, hold = hold_job(fleet, tmp_path)
    evil.publish("$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._cluster_info", b"", reply=f"$KV.jobs.{jid}")
    evil.publish("zester.event.evil-01.send.x", b"", reply=f"$KV.jobs.{jid}")
    assert evil.refusals() == []
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"  # comes after all of it
    assert fleet.zester("job", "show", jid, status=1).stdout == "", "the attack has no effect: drop this test"
    hold.unlink()
    fleet.wait(lambda: fleet.master.has_logged(f"job {jid}: its record was overwritten"), "the master notices it")
    fleet.wait(lambda: '"status": "complete"' in fleet.zester("job", "show", jid, status=None).stdout, "the record is whole again")
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
        assert fleet.master.has_logged(f"written again; somebody with credentials of a peel is hostile bucket={bucket} key={key}")


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
    assert fleet.master.has_logged("lease 'publisher' was overwritten with an answer of a server: written again")
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
    fleet.wait(lambda: fleet.master.has_logged("it is lost bucket=enrollments key=peel.web-01"), "the other one is not")
    assert damaged(fleet, "enrollments", "lost") == 1
    bus.request(index, name)
    assert "web-01" in fleet.zester("enroll", "list", "-s", "all").stdout


def test_nonsense_on_every_subject_that_it_may_use_harms_nobody(fleet, evil):
    for payload in NONSENSE:
        for subject in ("zester.job.J1.ack.evil-01", "zester.job.J1.return.evil-01", "zester.job.J1.progress.evil-01", "zester.job.J1.schedule.evil-01",
                        "zester.event.evil-01.send.x", "zester.event.evil-01.beacon.x", "zester.target.resolve", "$KV.facts.evil-01",
                        "$KV.peel-heartbeat.evil-01", "$KV.basket.evil-01.x"):
            evil.publish(subject, payload, reply="_INBOX.evil-01.r")
    assert evil.refusals() == []
    assert fleet.zester("*", "test.ping", "--preview").stdout.splitlines()[-1] == "web-01"
    assert fleet.zester("peel", "list").stdout.count("web-01") == 1


def test_a_message_that_is_too_large_ends_its_sender_alone(fleet, evil):
    evil.publish("zester.event.evil-01.send.x", b"x" * (evil.max_payload + 1))
    evil.flush()
    assert evil.is_closed
    assert fleet.server.has_logged("maximum payload")


def test_a_flood_of_events_and_answers_is_counted_and_others_go_on(fleet, evil, tmp_path):
    jid, hold = hold_job(fleet, tmp_path)
    lines = len(fleet.master.lines())
    for number in range(FLOOD):
        evil.publish("zester.event.evil-01.send.flood", b"\x83" + text("id") + text(str(number)) + text("tag") + text("flood") + text("v") + b"\x01")
        evil.publish(f"zester.job.{jid}.return.evil-01", message(jid=jid, peel_id="evil-01", success=True))
    assert evil.refusals() == []
    fleet.wait(lambda: dropped(fleet, "stranger") >= FLOOD, "every answer was looked at")
    fleet.wait(lambda: fleet.master.metric('zester_reactor_events_dropped_total{reason="ratelimit"}'), "events beyond the rate are dropped")
    hold.unlink()
    assert fleet.zester("job", "watch", jid).stdout == "web-01:\n    mine\n"
    said = [line["msg"] for line in fleet.master.lines()[lines:] if re.search(f"dropped.*{jid}", line["msg"])]
    assert len(said) <= 1  # the log is not flooded
