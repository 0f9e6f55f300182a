"""A peel with good credentials that lies, floods and sends nonsense: it is refused or dropped with a reason, and others do not notice."""
import re

import pytest

from fleet import SERVER, Fleet
from nats_client import Client
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
