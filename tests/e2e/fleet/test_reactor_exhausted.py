"""Events that the server gave up after five deliveries: recorded, counted and told, and sent again by an operator, or once by a master if none has tried them."""
import base64
import hashlib
import json
import os
import time

import pytest

from bus import Bus, event
from fleet import BUILD, SERVER, Fleet
from packing import pack
from test_reactor import reactions, start

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

DELIVERIES = 5
AGAIN = "Zester-Again: 1\r\n"  # of events that a master has sent again before
RULES = {
    "top.zy": """reactor:
  - '_admin/say': [reactor.say]
  - '_admin/claim': [reactor.claim]
  - '_master/reactor/exhausted': [reactor.alarm]
""",
    "say.zy": "line:\n  log: \"heard {{ data.what }}\"\n",
    "claim.zy": "job:\n  dispatch.module: { target: web-01, function: test.ping }\n",
    "alarm.zy": "line:\n  log: \"alarm: {{ data.key }} after {{ data.deliveries }}\"\n",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A fleet whose masters were down while two events were delivered as often as the server does."""
    with Fleet(tmp_path_factory.mktemp("exhausted")) as fleet:
        fleet.start_server()
        fleet.master = start(fleet, rules=RULES)
        fleet.master.stop()
        fleet.events = exhaust(fleet, "first", "second")
        fleet.master.start()
        fleet.wait_ready(fleet.master)
        yield fleet


def exhaust(fleet, *texts, deliveries=DELIVERIES, tag="say", header=AGAIN):
    """Events that were refused as often; their ids."""
    made = [event(tag, {"what": text}) for text in texts]
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        assert bus.store([("zester.event._admin.send." + tag.replace("/", "."), payload, name) for name, payload in made], header) == []
        for _ in range(deliveries * len(made)):
            bus.pull("events", "reactor")
            bus.publish(bus.reply, b"-NAK")
        bus.flush()
    return [name for name, _ in made]


def test_what_the_server_gave_up_is_recorded_counted_and_reported(fleet):
    for name in fleet.events:
        fleet.wait(lambda name=name: fleet.zester("event", "why", name, status=None).returncode == 0, "it is on record")
        why = fleet.zester_json("event", "why", name)
        assert (why["outcome"], why["key"], why["deliveries"], why["rules"]) == ("exhausted", "_admin/say", DELIVERIES, [])
    fleet.wait(lambda: fleet.master.metric("zester_reactor_events_exhausted_total") == 2, "the count")
    fleet.wait(lambda: fleet.master.log().count("alarm: _admin/say after 5") == 2, "a rule is told")
    assert f"event was given up id={fleet.events[0]} key=_admin/say deliveries=5" in fleet.master.log()
    assert not fleet.master.has_logged("heard first")


def test_an_operator_sends_again_what_was_given_up_and_nothing_else(fleet):
    first, second = fleet.events
    sent = fleet.zester_json("reactor", "retry", first)
    assert [(row["id"], row["key"]) for row in sent] == [(first, "_admin/say")]
    fleet.wait(lambda: fleet.master.has_logged("heard first"), "it has fired")
    fleet.wait(lambda: fleet.zester_json("event", "why", first)["outcome"] == "fired", "that is on record")
    assert "the event was not given up: fired" in fleet.zester("reactor", "retry", first, status=1).stderr
    assert "no outcome recorded for the event" in fleet.zester("reactor", "retry", "unknown", status=1).stderr
    assert fleet.zester("reactor", "retry", "--all").stdout == f"{second} sent again (_admin/say)\n"
    fleet.wait(lambda: fleet.master.has_logged("heard second"), "it has fired")
    fleet.wait(lambda: fleet.zester("reactor", "retry", "--all").stdout == "no event was given up\n", "none is left")
    assert reactions(fleet.master, "reactor.say", "dispatched") == 2
    for words in ([], ["--all", first]):
        assert "expected event ids, or --all" in fleet.zester("reactor", "retry", *words, status=1).stderr


def copies_of(fleet, name, subject):
    """What the stream has of an event on subjects that end so: data and headers of each message."""
    state = ask(fleet, "$JS.API.STREAM.INFO.events")["state"]
    stored = [ask(fleet, "$JS.API.STREAM.MSG.GET.events", seq=seq).get("message", {"subject": ""})
              for seq in range(state["first_seq"], state["last_seq"] + 1)]
    found = [(base64.b64decode(message.get("data", "")), base64.b64decode(message.get("hdrs", ""))) for message in stored
             if message["subject"].endswith(subject)]
    return [copy for copy in found if name.encode() in copy[0]]


def test_what_no_master_has_tried_is_sent_again_once_by_a_master(fleet):
    fleet.master.stop()
    name, = exhaust(fleet, "by itself", header="")
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: fleet.master.has_logged("heard by itself"), "it has fired")
    fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "fired", "that is on record")
    assert f"event was given up id={name} key=_admin/say deliveries=5" in fleet.master.log()
    assert fleet.master.metric("zester_reactor_events_exhausted_total") == 1
    copies = copies_of(fleet, name, ".send.say")
    assert [AGAIN.encode() in headers for _, headers in copies] == [False, True]
    assert copies[0][0] == copies[1][0]  # also its time: what is too old by then is dropped
    assert copies_of(fleet, name, "_master.reactor.exhausted") == []  # it has fired: nobody is alarmed


def ask(fleet, subject, **body):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        return json.loads(bus.request(subject, json.dumps(body).encode()))


def test_what_the_server_gave_up_without_a_word_is_found_by_an_audit_and_can_be_sent_again(fleet):
    fleet.wait(lambda: "message" in ask(fleet, "$JS.API.STREAM.MSG.GET.KV_reactor-acks", last_by_subj="$KV.reactor-acks.checked"),
               "the stream is audited")
    fleet.master.stop()
    assert ask(fleet, "$JS.API.STREAM.DELETE.event-exhausted")["success"]  # who would keep what the server says
    (given_up,), (unmatched,) = exhaust(fleet, "unheard"), exhaust(fleet, "unheard", tag="nobody/listens")
    exhaust(fleet, "next", tag="nobody/listens", deliveries=1)  # the server says it when it delivers the next one
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: fleet.zester("event", "why", given_up, status=None).returncode == 0, "it is on record")
    why = fleet.zester_json("event", "why", given_up)
    assert (why["outcome"], why["reason"], why["deliveries"]) == ("exhausted", "not acknowledged by any master", DELIVERIES)
    assert fleet.zester("event", "why", unmatched, status=None).returncode != 0  # it would have done nothing
    assert fleet.zester("reactor", "retry", "--all").stdout == f"{given_up} sent again (_admin/say)\n"
    fleet.wait(lambda: fleet.zester_json("event", "why", given_up)["outcome"] == "fired", "it has fired")
    assert fleet.master.log().count("heard unheard") == 1


def read_checked(fleet):
    """Up to where the stream was audited, and when the consumer was made which that goes for."""
    message = ask(fleet, "$JS.API.STREAM.MSG.GET.KV_reactor-acks", last_by_subj="$KV.reactor-acks.checked").get("message")
    seq, created, *_ = base64.b64decode(message["data"]).decode().split(" ") if message else ("0", "")
    return int(seq), created


def test_what_another_consumer_was_never_to_deliver_is_not_given_up(fleet):
    fleet.wait(lambda: read_checked(fleet)[1], "the stream is audited")
    fleet.master.stop()
    assert ask(fleet, "$JS.API.CONSUMER.DELETE.events.reactor")["success"]
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        missed = [event("say", {"what": "missed"}) for _ in range(8)]
        assert bus.store([("zester.event._admin.send.say", payload, name) for name, payload in missed]) == []
    fleet.master.start()  # makes a consumer, which begins at the end of the stream
    fleet.wait_ready(fleet.master)
    fleet.zester("event", "send", "say", "what=after")
    fleet.wait(lambda: fleet.master.has_logged("heard after"), "the next one fires")
    last, created = (ask(fleet, subject) for subject in ("$JS.API.STREAM.INFO.events", "$JS.API.CONSUMER.INFO.events.reactor"))
    fleet.wait(lambda: read_checked(fleet) >= (last["state"]["last_seq"], created["created"]), "that was audited")
    assert read_checked(fleet)[1] == created["created"]
    assert not fleet.master.metric("zester_reactor_events_exhausted_total")
    assert fleet.zester("event", "why", missed[0][0], status=None).returncode != 0
    assert not fleet.master.has_logged("heard missed")


@pytest.mark.parametrize("away", [-2, 3])
def test_an_event_that_servers_number_differently_is_found_nearby_and_no_other_is_sent(fleet, away):
    made = [event("say", {"what": f"nearby {away} {number}"}) for number in range(8)]
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        assert bus.store([("zester.event._admin.send.say", payload, name) for name, payload in made]) == []
    for name, _ in made:
        fleet.wait(lambda name=name: fleet.zester("event", "why", name, status=None).returncode == 0, "it has fired")
    name, seq = made[4][0], ask(fleet, "$JS.API.STREAM.INFO.events")["state"]["last_seq"] - 3
    record = pack({"id": name, "outcome": "exhausted", "key": "_admin/say", "rules": [], "ts": time.time(), "master": "m", "deliveries": 5,
                   "seq": seq + away})
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        assert bus.store([(f"$KV.event-outcomes.{name}", record, os.urandom(8).hex())]) == []
    sent = ask(fleet, "$JS.API.STREAM.INFO.events")["state"]["last_seq"]
    assert fleet.zester("reactor", "retry", name).stdout == f"{name} sent again (_admin/say)\n"
    stored = base64.b64decode(ask(fleet, "$JS.API.STREAM.MSG.GET.events", seq=sent + 1)["message"]["data"])
    assert name.encode() in stored and f"nearby {away} 4".encode() in stored
    assert b"Nats-Msg-Id: " in base64.b64decode(ask(fleet, "$JS.API.STREAM.MSG.GET.events", seq=sent + 1)["message"]["hdrs"])
    fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "fired", "it has fired again")


@pytest.mark.skipif("release" in BUILD, reason="only test builds crash on request")
def test_what_a_master_takes_with_it_at_the_last_delivery_is_on_record_without_a_word_of_the_server(fleet):
    fleet.master.kill()
    name, = exhaust(fleet, "third", deliveries=DELIVERIES - 1)
    fleet.master.environment = {"ZESTER_CRASH": "reaction-rendered:1:0"}
    fleet.master.start()
    fleet.wait(lambda: not fleet.master.is_running(), "the master ends in the middle of its last attempt")
    fleet.master.environment = {}
    fleet.master.start()
    fleet.wait_ready(fleet.master)  # the server says nothing before a minute has passed
    why = fleet.zester_json("event", "why", name)
    assert (why["outcome"], why["reason"], why["deliveries"]) == ("exhausted", "last delivery", DELIVERIES)
    assert fleet.zester("reactor", "retry", "--all").stdout == f"{name} sent again (_admin/say)\n"
    fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "fired", "it has fired")
    assert fleet.master.log().count("heard third") == 1


def test_the_last_delivery_leaves_what_came_of_it(fleet):
    fleet.master.kill()
    name, = exhaust(fleet, "fourth", deliveries=DELIVERIES - 1)
    fleet.master.start()
    fleet.wait(lambda: fleet.master.has_logged("heard fourth"), "it has fired")
    fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "fired", "that is on record")
    assert fleet.zester_json("event", "why", name)["deliveries"] == DELIVERIES


def test_what_masters_tried_in_vain_is_in_the_stream_once_and_reported_once(fleet):
    fleet.master.stop()
    name, = exhaust(fleet, "claimed", deliveries=DELIVERIES - 1, tag="claim", header="")
    jid = "rxn-" + hashlib.sha256(f"_admin\0{name}\0reactor.claim\0job".encode()).hexdigest()[:32]
    claim = {"jid": jid, "function": "test.ping", "targets": ["web-01"], "timeout": 60 * 10**9, "status": "claimed",
             "created": time.time(), "updated": time.time(), "owner": "master-other", "deadline": time.time() + 600}
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        assert bus.store([("$KV.facts.web-01", pack({"os": {"family": "debian"}}), "facts"), (f"$KV.jobs.{jid}", pack(claim), jid),
                          ("$KV.master-heartbeat.master-other", pack({"master_id": "master-other", "timestamp": time.time()}), "beat")]) == []
        fleet.master.start()
        in_vain = f"event_id={name} key=_admin/claim error=another master has claimed the job"
        fleet.wait(lambda: fleet.master.has_logged(f"event was given up id={name}"), "it is given up")
        fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "exhausted", "it is on record")
        fleet.wait(lambda: fleet.master.has_logged("alarm: _admin/claim after 5"), "that is reported")
        later = fleet.zester_json("event", "send", "say", "what=later")["id"]
        fleet.wait(lambda: fleet.zester("event", "why", later, status=None).returncode == 0, "what came after it is on record")
        assert fleet.zester_json("event", "why", name)["outcome"] == "exhausted"
        assert fleet.master.log().count(in_vain) == 1
        assert len(copies_of(fleet, name, ".send.claim")) == 1
        assert len(copies_of(fleet, name, "_master.reactor.exhausted")) == 1
        assert bus.store([(f"$KV.jobs.{jid}", b"", "free")], "KV-Operation: DEL\r\n") == []
        fleet.zester("reactor", "retry", name)
        fleet.wait(lambda: fleet.zester_json("event", "why", name)["outcome"] == "fired", "it has fired")
