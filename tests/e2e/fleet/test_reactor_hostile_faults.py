"""A peel with valid credentials that sends what it should not: masters drop it, others notice nothing, and memory stays bounded.

`make test` takes some thousand events, `make faults` (FAULTS=all) a hundred thousand in a minute.
"""
import datetime
import os
import re
import statistics
import threading
import time

import pytest

from bus import SECONDS, Bus, event
from fleet import SERVER, Fleet
from packing import pack
from peels import fetch_credentials
from test_reactor import reactions, send, start

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

ALL = os.environ.get("FAULTS") == "all"
FLOOD = 100000 if ALL else 3000
RATE = 100000 / 60  # events in a second
CHUNK = 100
QUICK = 25 if ALL else 8  # events of an operator meanwhile, fewer than its burst
LATENCY_SECONDS = 5  # for an operator's event, on a machine that is busy with other things
GROWTH_KB = 192 * 1024  # of a master with sanitizers
DEPTH = 200000
BIG = 900 * 1024
RULES = {
    "top.zy": "reactor:\n  - '_admin/quick': [reactor.quick]\n  - 'evil/*': [reactor.evil]\n",
    "quick.zy": "line:\n  log: quick\n",
    "evil.zy": "line:\n  log: evil\n",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    # Sanitizers keep memory that was freed; what is measured is what the master holds.
    os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=8"
    with Fleet(tmp_path_factory.mktemp("hostile")) as fleet:
        fleet.start_server()
        fleet.master = start(fleet, rules=RULES, storm_rate=0)
        fetch_credentials(fleet, fleet.master, "evil", fleet.folder / "evil")
        yield fleet


def connect(fleet):
    return Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.folder / "evil/evil.creds")


def dropped(fleet, reason):
    return fleet.master.metric(f'zester_reactor_events_dropped_total{{reason="{reason}"}}') or 0


def taken(fleet):
    """Events of the peel that masters have seen, by what became of them."""
    return reactions(fleet.master, "reactor.evil", "dispatched") + sum(
        dropped(fleet, reason) for reason in ("malformed", "decode", "spoof", "depth", "ratelimit", "stale"))


def resident_kb(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"^VmRSS:\s+(\d+)", file.read(), re.M).group(1))


def test_subjects_of_others_are_refused_by_the_server_and_odd_ones_are_dropped(fleet):
    _, payload = event("a")
    with connect(fleet) as bus:
        refused = ["zester.event._master.a", "zester.event._admin.send.a", "zester.event.other.send.a", "zester.event.evil", "zester.reactor.test"]
        for subject in refused:
            bus.publish(subject, payload)
        bus.flush()
        assert len(bus.errors) == len(refused) and all("Permissions Violation" in line for line in bus.errors)
        odd = ["zester.event.evil.send.a$b", "zester.event.evil.send.\u00e4", "zester.event.evil.send." + "x" * 3000,
               "zester.event.evil.send." + ".".join("x" * 300)]
        before = dropped(fleet, "malformed")
        for subject in odd:
            bus.publish(subject, payload)
        bus.flush()
    fleet.wait(lambda: dropped(fleet, "malformed") - before >= 2, "odd subjects are dropped")
    assert fleet.master.is_running()


def test_tags_that_are_not_those_of_the_subject_are_spoofs(fleet):
    before = dropped(fleet, "spoof")
    with connect(fleet) as bus:
        for payload in (event("b")[1], event("")[1], event("_master/a")[1], pack({"id": "x"})):
            bus.publish("zester.event.evil.send.a", payload)
        bus.flush()
    fleet.wait(lambda: dropped(fleet, "spoof") - before == 4, "spoofs are dropped")
    assert reactions(fleet.master, "reactor.evil", "dispatched") == 0


def test_payloads_that_are_deep_giant_or_not_events_are_dropped_and_memory_stays(fleet):
    before, resident = dropped(fleet, "decode"), resident_kb(fleet.master)
    deep = b"\x82" + pack("tag") + pack("a") + pack("data") + b"\x81" + pack("x") + b"\x91" * DEPTH + b"\xc0"
    payloads = [b"", b"\xc1", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff", deep, b"\x81" + pack("tag") + b"\xdb\xff\xff\xff\xff"]
    with connect(fleet) as bus:
        for _ in range(3):
            for payload in payloads:
                bus.publish("zester.event.evil.send.a", payload)
        for _ in range(20):
            bus.publish("zester.event.evil.send.a", event("a", {"x": "y" * BIG})[1])
        bus.flush()
    fleet.wait(lambda: dropped(fleet, "decode") - before >= len(payloads), "what is not an event is dropped")
    send(fleet, "quick")
    fleet.wait(lambda: reactions(fleet.master, "reactor.quick", "dispatched") >= 1, "others are reacted to")
    assert resident_kb(fleet.master) - resident < GROWTH_KB


def flood(fleet):
    """Send events at a rate, or as fast as it goes when that is slower."""
    began = time.monotonic()
    with connect(fleet) as bus:
        for number in range(0, FLOOD, CHUNK):
            bus.send(b"".join(message(event("flood/x", {"n": number + i})[1]) for i in range(CHUNK)))
            time.sleep(max(0, began + number / RATE - time.monotonic()))
        bus.flush()


def message(payload, subject="zester.event.evil.send.flood.x"):
    return f"PUB {subject} {len(payload)}\r\n".encode() + payload + b"\r\n"


def logged_at(fleet, name):
    """When the master logged the reaction to an event, in seconds since 1970; None: not yet."""
    for line in fleet.master.lines():
        if line["msg"] == "quick" and line.get("event_id") == name:
            return datetime.datetime.fromisoformat(line["ts"][:26].rstrip("Z") + "+00:00").timestamp()
    return None


def test_a_flood_of_one_peel_delays_nobody_else(fleet):
    before, resident = taken(fleet), resident_kb(fleet.master)
    sender = threading.Thread(target=flood, args=(fleet,))
    sender.start()
    sent = {}
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        for _ in range(QUICK):
            name, payload = event("quick")
            sent[name] = time.time()
            assert bus.store([("zester.event._admin.send.quick", payload, name)]) == []
            fleet.wait(lambda name=name: logged_at(fleet, name), "the operator's event is reacted to")
    sender.join(SECONDS * 10)
    assert not sender.is_alive()
    fleet.wait(lambda: taken(fleet) - before >= FLOOD, "all events are taken", seconds=600)
    latencies = sorted(logged_at(fleet, name) - at for name, at in sent.items())
    print(f"latency of others: median {statistics.median(latencies) * 1000:.1f} ms, worst {latencies[-1] * 1000:.1f} ms")
    assert statistics.median(latencies) < LATENCY_SECONDS
    assert dropped(fleet, "ratelimit") > FLOOD / 2
    assert resident_kb(fleet.master) - resident < GROWTH_KB
    assert fleet.master.get("/readyz")[0] == 200


def test_an_event_with_the_id_of_another_does_not_replace_the_record_of_it(fleet):
    copied = send(fleet, "nobody-matches")
    fleet.wait(lambda: fleet.zester("event", "why", copied, status=None).returncode == 0, "the first one is on record")
    with connect(fleet) as bus:
        bus.publish("zester.event.evil.send.a", event("a", id=copied)[1])
        fleet.wait(lambda: fleet.master.has_logged("uses the id of an event of _admin/nobody-matches"), "the second one is told")
    why = fleet.zester_json("event", "why", copied)
    assert (why["key"], why["outcome"]) == ("_admin/nobody-matches", "unmatched")
