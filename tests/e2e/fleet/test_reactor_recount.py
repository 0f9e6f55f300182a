"""A consumer that passed an event over, as those of a cluster may when another server leads: the event is found by its id and sent again."""
import base64
import json

import pytest

from bus import Bus, event
from fleet import SERVER, Fleet
from test_reactor import start

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

RULES = {"top.zy": "reactor:\n  - '_admin/say': [reactor.say]\n", "say.zy": "line:\n  log: \"heard {{ data.what }}\"\n"}
SUBJECT = "zester.event._admin.send."
ALL_ACKNOWLEDGED = bytes(2) + b"\xff" * 64  # a block of the bucket reactor-acks: its first 512 events


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_cluster()
        fleet.master = start(fleet, rules=RULES)
        yield fleet


def ask(fleet, subject, **body):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        return json.loads(bus.request(subject, json.dumps(body).encode()))


def find_leader(fleet):
    return ask(fleet, "$JS.API.CONSUMER.INFO.events.reactor").get("cluster", {}).get("leader")


def knows_leaders(fleet):
    message = ask(fleet, "$JS.API.STREAM.MSG.GET.KV_reactor-acks", last_by_subj="$KV.reactor-acks.checked").get("message")
    return message and "/" in base64.b64decode(message["data"]).decode()


def store(fleet, messages, creds="admin.creds"):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / creds) as bus:
        fleet.wait(lambda: bus.store(messages) == [], "it is stored")


def pass_over(fleet, count):
    """Let the consumer believe that a master has acknowledged so many events."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        for _ in range(count):
            bus.pull("events", "reactor")
            bus.publish(bus.reply, b"+ACK")
        bus.flush()
    fleet.wait(lambda: ask(fleet, "$JS.API.CONSUMER.INFO.events.reactor").get("num_ack_pending") == 0, "the consumer is done")


def test_what_a_consumer_passed_over_is_sent_again_when_another_server_leads(fleet):
    fleet.zester("event", "send", "say", "what=before")
    fleet.wait(lambda: fleet.master.has_logged("heard before"), "it has fired")
    fleet.wait(lambda: knows_leaders(fleet), "a master knows who leads")
    fleet.master.stop()
    (name, payload), (unmatched, nothing) = event("say", {"what": "passed over"}), event("nobody/listens", {})
    store(fleet, [(SUBJECT + "say", payload, name), (SUBJECT + "nobody.listens", nothing, unmatched)])
    pass_over(fleet, 2)
    store(fleet, [("$KV.reactor-acks.0.another-master", ALL_ACKNOWLEDGED, "all")], "master.creds")
    before = find_leader(fleet)
    assert ask(fleet, "$JS.API.CONSUMER.LEADER.STEPDOWN.events.reactor")["success"]
    fleet.wait(lambda: find_leader(fleet) not in (None, "", before), "another server leads")
    fleet.master.start()
    fleet.wait(lambda: fleet.master.has_logged("heard passed over"), "it has fired")
    fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "fired", "that is on record")
    fleet.wait(lambda: fleet.master.has_logged("events were compared with their outcomes"), "the whole stretch was compared")
    log = fleet.master.log()
    assert f"event has no outcome and is sent again id={name} key=_admin/say" in log
    assert log.count("event has no outcome") == 1  # not of those that have one, or that no rule is for
    assert (log.count("heard before"), log.count("heard passed over")) == (1, 1)
    assert not fleet.master.metric("zester_reactor_events_exhausted_total")
