"""What a reactor says to the server about its events, and when: heard by a third party, with the times that every master has."""
import datetime
import json
import threading
import time

import pytest

from bus import Bus
from fleet import SECONDS, SERVER, Fleet
from peels import start_peel
from test_reactor import count_rules, reactor_of, send, wait_for_rules, write_rules

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

ACKS = "$JS.ACK.events.reactor."
LOOKS = "$JS.API.CONSUMER.INFO.events.reactor"
REVISION = "$KV.reactor-files._revision"
LATE = 5  # seconds after which something is heard on a busy machine
AT_START = 3  # looks: is the consumer there, the first one at its lag, and the first one of whoever audits the stream

RULES = {
    "top.zy": """reactor:
  - '_admin/hold': [reactor.say, reactor.hold]
  - '_admin/run': [reactor.run]
  - '_admin/say': [reactor.say]
  - '_admin/chain': [reactor.chain]
""",
    "say.zy": "line:\n  log: 'heard {{ event.id }}'\n",
    "hold.zy": """job:
  dispatch.module: { target: web-01, function: cmd.run, args: { name: "while [ ! -e {{ data.file }} ]; do sleep 0.1; done" }, timeout: 10m, wait: true }
""",
    "chain.zy": "next:\n  event.send: { tag: nobody/matches }\n",
    "run.zy": "job:\n  dispatch.module: { target: web-01, function: test.ping }\n",
}


class Ear(threading.Thread):
    """All that is said to the server about events, with the time when it was heard."""

    def __init__(self, bus):
        super().__init__(daemon=True)
        self.bus, self.heard = bus, []
        for number, subject in enumerate((f"{ACKS}>", LOOKS), 10):
            bus.send(f"SUB {subject} {number}\r\n".encode())
        bus.flush()
        bus.socket.settimeout(None)
        self.start()

    def run(self):
        try:
            while True:
                message = self.bus.read()
                if message:
                    self.heard.append((time.time(), *message))
        except (OSError, ConnectionError, ValueError):
            pass  # the server is gone

    def times(self, subject, payload=None):
        return [at for at, said, words in self.heard if said.startswith(subject) and payload in (None, words)]


def seconds(text):
    """A time of RFC 3339, with any number of digits after the second."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float(f"0.{fraction or 0}")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("wire")) as fleet:
        fleet.start_server()
        fleet.bus = Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds")
        fleet.ear = Ear(fleet.bus)
        fleet.master = fleet.start_master(reactor=reactor_of(fleet, RULES), files_republish_interval="1s")
        wait_for_rules(fleet, fleet.master, count_rules(RULES))
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        yield fleet


def test_an_event_is_in_progress_until_all_of_its_rules_have_ended_and_is_then_acknowledged(fleet, tmp_path):
    go = tmp_path / "go"
    event = send(fleet, "hold", f"file={go}")
    fleet.wait(lambda: fleet.master.has_logged(f"heard {event}"), "the first rule has ended")
    fleet.wait(lambda: fleet.ear.times(ACKS, b"+WPI"), "the server hears that it is in progress")
    about = [said for _, said, words in fleet.ear.heard if words == b"+WPI"][0]
    assert not fleet.ear.times(about, b"+ACK")
    go.touch()
    fleet.wait(lambda: fleet.ear.times(about, b"+ACK"), "it is acknowledged")
    assert not fleet.ear.times(ACKS, b"-NAK")


def test_the_lag_is_asked_for_every_fifteen_seconds(fleet):
    def span():
        looks = fleet.ear.times(LOOKS)
        return looks[-1] - looks[0] if looks else 0

    fleet.wait(lambda: span() > 15 - LATE, "a look at the consumer after those of the start")
    assert len(fleet.ear.times(LOOKS)) - AT_START <= span() / (15 - LATE)


def test_a_new_revision_of_the_rules_is_loaded_after_two_seconds_and_not_before(fleet):
    loads = fleet.master.log().count("rules loaded")
    write_rules(fleet.folder / "rules", {"top.zy": RULES["top.zy"] + "  - '_admin/more': [reactor.say]\n"})
    fleet.wait(lambda: fleet.master.log().count("rules loaded") > loads, "the new rules are loaded")
    loaded = [line["ts"] for line in fleet.master.lines() if "rules loaded" in line["msg"]][loads]
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        stored = json.loads(bus.request("$JS.API.STREAM.MSG.GET.KV_reactor-files", json.dumps({"last_by_subj": REVISION}).encode()))
    assert 2 <= seconds(loaded) - seconds(stored["message"]["time"]) < 2 + 5 + SECONDS


def is_on_record(fleet, event):
    return fleet.zester("event", "why", event, status=None).returncode == 0


def test_an_event_that_no_rule_matches_has_its_cause_on_record(fleet):
    cause = send(fleet, "chain")
    fleet.wait(lambda: is_on_record(fleet, cause), "the cause is on record")
    event = fleet.zester_json("event", "why", cause)["rules"][0]["blocks"][0]["made"]
    fleet.wait(lambda: is_on_record(fleet, event), "so is what it caused")
    why = fleet.zester_json("event", "why", event)
    assert (why["outcome"], why["key"], why["deliveries"]) == ("unmatched", "_master/reaction/nobody/matches", 1)
    assert why["caused_by"] == [{"id": cause, "key": "_admin/chain", "outcome": "fired"}]
    assert "reaction reactor.chain" in fleet.zester("why", event).stdout


def test_a_failure_that_may_pass_is_given_back_for_ten_seconds(fleet):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        config = json.loads(bus.request("$JS.API.STREAM.INFO.KV_jobs"))["config"]
        answer = bus.request("$JS.API.STREAM.UPDATE.KV_jobs", json.dumps({**config, "max_msg_size": 1}).encode())  # no job can be claimed
    assert json.loads(answer)["config"]["max_msg_size"] == 1
    send(fleet, "run")
    fleet.wait(lambda: fleet.ear.times(ACKS, b'-NAK {"delay":10000000000}'), "the event is given back")
    assert not fleet.ear.times(ACKS, b"-NAK")
