"""A peel with good credentials that lies, floods and sends nonsense: it is refused or dropped with a reason, and others do not notice."""
import re
import time

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


@pytest.fixture
def asker(fleet):
    """The bad peel, which asks masters questions and reads the answers."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.folder / "evil/auth/evil-01.creds") as bus:
        bus.inbox = "_INBOX.evil-01.q"
        yield bus


def test_who_is_meant_by_a_target_tells_no_facts_of_others(fleet, asker):
    answer = asker.request("zester.target.resolve", pack({"expr": "web-01", "want_facts": True}))
    assert b"web-01" in answer and b"facts" not in answer and b"kernel" not in answer


def refusals(fleet, reason):
    return fleet.master.metric(f'zester_target_questions_refused_total{{reason="{reason}"}}') or 0


def test_questions_that_take_long_are_refused_and_others_do_not_wait(fleet, evil, asker):
    """A regular expression that goes back and forth over a long text of the peel's own facts, thousands of times."""
    evil.publish("$KV.facts.evil-01", pack({"id": "evil-01", **{f"long{number}": "a" * 40 + str(number) for number in range(9)}}))
    assert evil.refusals() == []
    fleet.wait(lambda: b"evil-01" in asker.request("zester.target.resolve", pack({"expr": "G@long1:aaa*"})), "the master knows the text")
    question = pack({"expr": " or ".join(f"P@long{number}:^(a+)+$" for number in range(9))})
    before = refusals(fleet, "share")
    for _ in range(6000):
        evil.publish("zester.target.resolve", question, reply="_INBOX.evil-01.flood")
    evil.flush()
    began = time.monotonic()
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert time.monotonic() - began < 15
    fleet.wait(lambda: refusals(fleet, "share") - before > 5000, "the others are refused")
    fleet.wait(lambda: b"ask again later" in asker.request("zester.target.resolve", question), "it is told so")
    fleet.wait(lambda: b"web-01" in asker.request("zester.target.resolve", pack({"expr": "web-*"})), "it may ask again after a while")
    evil.publish("$KV.facts.evil-01", pack({"id": "evil-01"}))


def test_a_question_that_is_too_large_is_refused(fleet, asker):
    assert b"too large" in asker.request("zester.target.resolve", pack({"expr": "web-01 or " * 10000 + "web-01"}))
    assert refusals(fleet, "size") == 1


def test_nonsense_on_every_subject_that_it_may_use_harms_nobody(fleet, evil):
    for payload in NONSENSE:
        for subject in ("zester.job.J1.ack.evil-01", "zester.job.J1.return.evil-01", "zester.job.J1.progress.evil-01", "zester.job.J1.schedule.evil-01",
                        "zester.event.evil-01.send.x", "zester.event.evil-01.beacon.x", "zester.target.resolve", "$KV.facts.evil-01",
                        "$KV.peel-heartbeat.evil-01", "$KV.basket.evil-01.x"):
            evil.publish(subject, payload, reply="_INBOX.evil-01.r")
    assert evil.refusals() == []
    assert fleet.zester("*", "test.ping", "--preview").stdout.splitlines()[-1] == "web-01"
    assert fleet.zester("peel", "list").stdout.count("web-01") == 1


def test_problems_that_change_in_each_heartbeat_do_not_fill_the_log(fleet, evil):
    before = fleet.master.log().count("a peel runs on older trees")
    for number in range(20):
        problem = f"{number}: <b>\x1b[31mall is broken\n" + "x" * 1000
        evil.publish("$KV.peel-heartbeat.evil-01", pack({"ts": time.time(), "trees": {"states": "a" * 100, "problem": problem}}))
        shown = f"evil-01: {number}: <b>\\u001b[31mall is broken"
        fleet.wait(lambda shown=shown: shown in fleet.master.get("/readyz")[1], "it is shown, its first line alone and escaped")
    assert 0 < fleet.master.log().count("a peel runs on older trees") - before <= 10
    evil.publish("$KV.peel-heartbeat.evil-01", b"\x80")


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
