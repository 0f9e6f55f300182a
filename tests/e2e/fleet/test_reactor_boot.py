"""How the reactor of a master begins: without its rules, without its consumer, and what a new consumer sees."""
import json

import pytest

from bus import Bus
from enroll_client import Machine
from fleet import SERVER, STOP_SECONDS, Fleet
from test_reactor import reactor_of, send, wait_for_rules, write_rules

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

CONSUMER = "$JS.API.CONSUMER.{}.events.reactor"
RULES = {
    "top.zy": "reactor:\n  - '_admin/say': [reactor.say]\n  - '_master/enroll/pending/*': [reactor.pending]\n",
    "say.zy": "line:\n  log: 'heard {{ data.what }}'\n",
    "pending.zy": "line:\n  log: 'pending {{ tag }} {{ data | tojson }}'\n",
}


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        yield fleet


@pytest.fixture
def bus(fleet):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        yield bus


def ask(bus, subject, **body):
    answer = json.loads(bus.request(subject, json.dumps(body).encode() if body else b""))
    assert "error" not in answer, answer
    return answer


def test_a_reactor_that_cannot_begin_is_down_and_begins_later_while_its_master_works(fleet, bus):
    first = fleet.start_ready_master("first", reactor={"enabled": False})
    assert first.stop(seconds=STOP_SECONDS) == 0
    bus.store([("$KV.reactor-files.reactor/torn.zy", b"x: {log: y}", "torn")])  # without a manifest: is it whole?
    master = fleet.start_master(reactor={"dir": str(fleet.folder / "rules")}, files_republish_interval="1s")
    fleet.wait(lambda: master.checks().get("reactor") == "down", "the reactor cannot begin")
    fleet.wait(lambda: "rules were not loaded" in master.get("/readyz")[1], "the check has the reason")
    assert master.is_running() and master.checks()["dispatch"] == "ok"
    send(fleet, "say", "what=early")
    write_rules(fleet.folder / "rules", RULES)
    wait_for_rules(fleet, master, 2)
    fleet.wait(lambda: master.has_logged("heard early"), "the reaction to an event of before")
    assert master.checks()["reactor"] == "ok"


def test_masters_keep_what_they_know_of_their_fleet_below_the_folder_of_its_keys(fleet):
    for name in ("one", "two"):
        fleet.start_ready_master(name, orchestrate_dir=None, reactor=reactor_of(fleet, RULES))
    kept = fleet.auth / "orchestrations"
    fleet.wait(lambda: len(list(kept.glob("*/signed/reactor/*"))) == 2, "each has noted the rules that it trusts")


def test_a_consumer_that_is_gone_degrades_the_reactor_until_it_is_there_again(fleet, bus):
    master = fleet.start_master(reactor=reactor_of(fleet, RULES))
    wait_for_rules(fleet, master, 2)
    fleet.wait(lambda: master.checks().get("reactor") == "ok", "it takes events")
    config = ask(bus, CONSUMER.format("INFO"))["config"]
    ask(bus, CONSUMER.format("DELETE"))
    fleet.wait(lambda: master.checks().get("reactor") == "down", "it cannot take events")
    ask(bus, CONSUMER.format("CREATE") + ".zester.event.>", stream_name="events", config=config)
    fleet.wait(lambda: master.checks().get("reactor") == "ok", "it has tried again")
    send(fleet, "say", "what=again")
    fleet.wait(lambda: master.has_logged("heard again"), "the reaction")


def test_a_new_consumer_begins_with_new_events(fleet, bus):
    master = fleet.start_master(reactor=reactor_of(fleet, RULES))
    wait_for_rules(fleet, master, 2)
    assert master.stop(seconds=STOP_SECONDS) == 0
    ask(bus, CONSUMER.format("DELETE"))
    send(fleet, "say", "what=before")
    master.start()
    wait_for_rules(fleet, master, 2)
    assert ask(bus, CONSUMER.format("INFO"))["config"]["deliver_policy"] == "new"
    send(fleet, "say", "what=after")
    fleet.wait(lambda: master.has_logged("heard after"), "the reaction to the new event")
    assert not master.has_logged("heard before")


def test_a_machine_that_asks_to_enroll_is_an_event_with_its_id_name_and_address(fleet):
    master = fleet.start_master(reactor=reactor_of(fleet, RULES))
    wait_for_rules(fleet, master, 2)
    status, body = Machine(master.enroll_port, "web-01", fleet.auth / "ca/root.crt").submit(fleet.pin())
    assert status == 201, body
    fleet.wait(lambda: master.has_logged(f"pending enroll/pending/{body['id']} "), "the event")
    line = next(line["msg"] for line in master.lines() if line["msg"].startswith("pending enroll/pending/"))
    data = json.loads(line[line.index("{"):line.rindex("}") + 1])
    assert data == {"id": body["id"], "peel_id": "web-01", "ip": "127.0.0.1"}
