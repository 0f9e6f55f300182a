"""A peel with good credentials that takes all it can get: room on the bus, the memory of masters, the ids of messages of others."""
import base64
import hashlib
import json
import os
import re
import signal
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from bus import Bus
from fleet import SERVER, Fleet, yaml_of
from nats_client import Client
from packing import pack
from peels import fetch_credentials, start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
MIB = 1 << 20
# All of the bus: `events` has a sixteenth of it, `job-events` an eighth.
TOTAL = 256 * MIB
# What is freed is not kept for the sanitizer.
LEAN = {"ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1")))}
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KSUID_EPOCH = 1400000000


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A small bus, a master, a good peel, and the credentials of a bad one."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.make_keys()
        conf = fleet.folder / "nats.conf"
        conf.write_text(conf.read_text().replace("jetstream {", f"jetstream {{\n  max_file_store: {TOTAL}"))
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, jetstream_max_bytes=TOTAL, peel_flood="report", environment=LEAN)
        fleet.good = start_peel(fleet, fleet.master, "web-01")
        fetch_credentials(fleet, fleet.master, "evil-01", fleet.folder / "evil/auth")
        yield fleet


def connect(fleet, name="evil"):
    return Client(fleet.port, fleet.folder / f"{name}/auth/{name}-01.creds", fleet.auth / "nats-ca.crt")


@pytest.fixture
def evil(fleet):
    with connect(fleet) as client:
        yield client
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert fleet.master.is_running() and fleet.good.is_running()


@pytest.fixture(scope="module")
def bus(fleet):
    """A connection that may read all."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        yield bus


def ask(bus, verb, **body):
    return json.loads(bus.request(f"$JS.API.{verb}", json.dumps(body).encode()))


def read_last(bus, stream, subject):
    """Header and payload of what is stored; None: nothing."""
    message = ask(bus, f"STREAM.MSG.GET.{stream}", last_by_subj=subject).get("message")
    return message and (base64.b64decode(message.get("hdrs", "")).decode(), base64.b64decode(message.get("data", "")))


def begin_job(fleet, tmp_path):
    """A job of the good peel that runs until the file is gone."""
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    hold.touch()
    jid = fleet.zester_json("web-01", "cmd.run", f"touch {begun}; while [ -e {hold} ]; do sleep 0.05; done; echo mine", "--async")["jid"]
    fleet.wait(begun.exists, "the job runs")
    return jid, hold


# --- ids ----------------------------------------------------------------------------------


def ksuid(seconds, payload):
    number, text = int.from_bytes((seconds - KSUID_EPOCH).to_bytes(4, "big") + payload, "big"), ""
    while number:
        number, digit = divmod(number, len(DIGITS))
        text = DIGITS[digit] + text
    return text.rjust(27, "0")


def find_event_id(fleet, jid):
    """The id of the event that the job has ended: it follows from the job alone."""
    created = fleet.zester_json("job", "show", jid)["job"]["created"]
    seconds = int(time.mktime(time.strptime(created[:19], "%Y-%m-%dT%H:%M:%S"))) - time.timezone
    return ksuid(seconds, hashlib.sha256(f"job/{jid}/finalized\0{jid}".encode()).digest()[:16])


def test_no_message_of_another_is_taken_for_a_repetition(fleet, evil, bus, tmp_path):
    """A stream knows ids of all its writers: whoever stores one first makes the other message a duplicate."""
    jid, hold = begin_job(fleet, tmp_path)
    event = find_event_id(fleet, jid)
    for epoch in range(ask(bus, "STREAM.INFO.KV_jobs")["state"]["last_seq"] + 1):
        evil.publish_with("zester.job.J1.ack.evil-01", f"Nats-Msg-Id: {jid}.web-01.{epoch}")
    evil.publish_with("zester.event.evil-01.send.x", f"Nats-Msg-Id: {event}")
    assert evil.refusals() == []
    hold.unlink()
    assert fleet.zester("job", "watch", jid).stdout == "web-01:\n    mine\n"
    fleet.wait(lambda: read_last(bus, "job-events", f"zester.job.{jid}.return.web-01"), "the return is in the stream")
    subject = f"zester.event._master.job.{jid}.finalized"
    fleet.wait(lambda: read_last(bus, "events", subject), "the event is in the stream")
    header, payload = read_last(bus, "events", subject)
    assert event.encode() in payload and event not in header  # the guess was right


def test_the_id_of_a_revert_cannot_be_taken_by_the_result_of_a_schedule(fleet, evil, bus):
    jid = "rxn-" + hashlib.sha256(b"2ABC\0revert\x001").hexdigest()[:32]
    count = fleet.master.metric('zester_job_messages_dropped_total{reason="spoof"}') or 0
    result = {"jid": jid, "entry": "x", "module": "test.ping", "args": {}, "success": True, "return_data": {}, "duration": 1 << 40, "timestamp": time.time()}
    evil.publish(f"zester.job.{jid}.schedule.evil-01", pack(result))
    fleet.wait(lambda: (fleet.master.metric('zester_job_messages_dropped_total{reason="spoof"}') or 0) > count, "it is dropped")
    assert not read_last(bus, "KV_jobs", f"$KV.jobs.{jid}")


# --- memory -------------------------------------------------------------------------------

# A list of so many values of one byte each.
DENSE = 900_000
MEMORY_MAX = 200 * MIB


def dense(count):
    return b"\xdd" + struct.pack(">I", count) + b"\x01" * count


def bomb(count=DENSE, **fields):
    """A message with these fields and a key that holds many values in few bytes, wherever the message has room for any."""
    return b"\xdf" + struct.pack(">I", len(fields) + 1) + b"".join(pack(key) + pack(value) for key, value in fields.items()) + \
        pack("data" if "tag" in fields else "return_data") + b"\x81" + pack("a") + dense(count)


def memory(daemon, key):
    return int(re.search(rf"^{key}:\s+(\d+) kB$", Path(f"/proc/{daemon.process.pid}/status").read_text(), re.M).group(1)) << 10


def is_idle(bus, stream, consumer):
    info = ask(bus, f"CONSUMER.INFO.{stream}.{consumer}")
    return info["num_pending"] == info["num_ack_pending"] == 0


def test_what_it_sends_takes_little_memory_of_a_master(fleet, evil, bus):
    before = memory(fleet.master, "VmRSS")
    Path(f"/proc/{fleet.master.process.pid}/clear_refs").write_text("5")  # the highest from now on
    for number in range(20):
        common = {"jid": f"J{number}", "success": True, "duration": 1, "timestamp": time.time()}
        evil.publish(f"zester.job.J{number}.schedule.evil-01", bomb(module="test.ping", entry="x", **common))
        evil.publish(f"zester.job.J{number}.return.evil-01", bomb(peel_id="evil-01", **common))
        evil.publish("zester.event.evil-01.send.x", bomb(id=f"e{number}", tag="x", v=1))
        evil.publish("$KV.facts.evil-01", b"\x81" + pack("a") + dense(200_000))
        for key in range(15):
            evil.publish(f"$KV.basket.evil-01.k{number}-{key}", b"x" * 60_000)
    assert evil.refusals() == []
    for stream, consumer in (("job-events", "schedule-results"), ("job-events", "late-returns"), ("events", "reactor")):
        fleet.wait(lambda stream=stream, consumer=consumer: is_idle(bus, stream, consumer), f"all of {consumer} is looked at")
    assert memory(fleet.master, "VmHWM") - before < MEMORY_MAX
    assert fleet.master.metric('zester_peel_dropped_total{peel="evil-01",what="basket"}') > 0
    assert fleet.master.log().count("ignored a basket entry over the limit peel=evil-01") == 1


def test_one_message_cannot_remove_what_others_have_written(fleet, evil, bus):
    """A bucket may let a header remove all entries but one."""
    for bucket, key in (("facts", "evil-01"), ("basket", "evil-01.x"), ("peel-heartbeat", "evil-01"), ("update-status", "peel.evil-01")):
        evil.publish_with(f"$KV.{bucket}.{key}", "Nats-Rollup: all", b"\x80")
    assert evil.refusals() == []
    assert read_last(bus, "KV_facts", "$KV.facts.web-01")
    assert fleet.zester("web-01", "test.ping", "--preview").returncode == 0


def test_subscriptions_of_a_machine_take_little_memory_of_a_server(fleet, evil):
    before = memory(fleet.server, "VmRSS")
    for number in range(100_000):
        evil.subscribe(f"_INBOX.evil-01.n{number}")
        if number % 10_000 == 0:
            evil.flush()
    assert len(evil.refusals()) == 100_000 - 1000
    assert memory(fleet.server, "VmRSS") - before < 64 * MIB  # accepted, they would take 96


# --- room ---------------------------------------------------------------------------------

# All that a peel may write to, with a number in it for as many keys as it likes.
TARGETS = ("zester.event.{peel}.send.t{number}", "zester.event.{peel}.beacon.b{number}", "zester.job.J{number}.ack.{peel}",
           "zester.job.J{number}.return.{peel}", "zester.job.J{number}.progress.{peel}", "zester.job.J{number}.schedule.{peel}",
           "$KV.basket.{peel}.k{number}", "$KV.facts.{peel}", "$KV.peel-heartbeat.{peel}", "$KV.update-status.peel.{peel}")
SIZES = (60_000, 100, 900_000)


def flood(client, peel, stop, counts):
    """Everything, as fast as it can, until told to stop or cut off."""
    number = 0
    while not stop.is_set() and not client.is_closed:
        payload = b"x" * SIZES[number // len(TARGETS) % len(SIZES)]
        client.publish(TARGETS[number % len(TARGETS)].format(peel=peel, number=number), payload)
        counts[0] += len(payload)
        number += 1


@contextmanager
def flooding(fleet, name):
    """A machine of this name writes all that it may; gives the number of bytes so far."""
    fetch_credentials(fleet, fleet.master, f"{name}-01", fleet.folder / f"{name}/auth")
    stop, counts = threading.Event(), [0]
    with connect(fleet, name) as client:
        thread = threading.Thread(target=flood, args=(client, f"{name}-01", stop, counts))
        thread.start()
        try:
            yield client, counts
        finally:
            stop.set()
            thread.join()


def configure(fleet, **keys):
    """Other keys of the master."""
    fleet.master.conf.update(keys)
    fleet.master.conf_path.write_text(yaml_of(fleet.master.conf))
    count = fleet.master.log().count("configuration read again")
    fleet.master.send(signal.SIGHUP)
    fleet.wait(lambda: fleet.master.log().count("configuration read again") > count, "the master has read its configuration")


def test_a_machine_that_fills_all_it_can_is_revoked_and_others_go_on(fleet, bus):
    with flooding(fleet, "flood") as (client, counts):
        fleet.wait(lambda: counts[0] > TOTAL, "more was written than the bus has room for")
        assert "flood-01" in fleet.zester("enroll", "revoke", "--peel", "flood-01").stdout
        fleet.wait(lambda: client.is_closed, "it is cut off")
    fetch_credentials(fleet, fleet.master, "new-01", fleet.folder / "new/auth")
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    fleet.zester("operator", "add", "alice")
    streams = ask(bus, "STREAM.LIST")["streams"]
    assert all(stream["state"]["bytes"] <= stream["config"]["max_bytes"] for stream in streams)
    assert sum(stream["config"]["max_bytes"] for stream in streams) <= TOTAL


def test_a_machine_that_floods_the_bus_is_revoked_by_itself(fleet, bus):
    configure(fleet, peel_flood="revoke")
    with flooding(fleet, "storm") as (client, _):
        fleet.wait(lambda: client.is_closed, "it is cut off")
    configure(fleet, peel_flood="report")
    assert fleet.master.has_logged("a peel writes more than its share, and is revoked peel=storm-01")
    assert fleet.master.has_logged("audit") and any("enroll.revoke" in line["msg"] and "limits" in line["msg"] and "storm-01" in line["msg"]
                                                    for line in fleet.master.lines())
    fleet.wait(lambda: read_last(bus, "events", "zester.event._master.peel.storm-01.flood"), "there is an event")
    assert "storm-01" in fleet.zester("enroll", "list", "-s", "revoked").stdout
    assert "masters have revoked storm-01: 'storm-01' wrote" in fleet.zester("doctor", status=None).stdout
    assert sum(fleet.master.metric(f'zester_peel_overuse_total{{peel="storm-01",place="{place}"}}') or 0
               for place in ("events", "job-events", "basket", "facts")) > 0
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
