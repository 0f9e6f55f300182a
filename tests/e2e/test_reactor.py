"""Reactions of real masters: rules that are published, events that fire them, and what became of each."""
import pytest

from fleet import SERVER, STOP_SECONDS, Fleet

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        yield fleet


def send(fleet, tag, *pairs):
    return fleet.zester_json("event", "send", tag, *pairs)["id"]


def test_without_rules_every_event_is_taken_and_matches_nothing(fleet):
    master = fleet.start_ready_master()
    assert master.checks()["reactor"] == "ok"
    assert master.metric("zester_reactor_rules_loaded") == 0
    for number in range(20):
        send(fleet, "some/event", f"n={number}")
    fleet.wait(lambda: master.metric("zester_reactor_events_unmatched_total") == 20, "all are taken")
    assert master.metric('zester_reactor_events_total{origin_type="admin"}') == 20
    assert fleet.zester_json("reactor", "test", "_admin/some/event") == {"key": "_admin/some/event", "matched": []}
    assert master.stop(seconds=STOP_SECONDS) == 0


def test_a_reactor_that_is_off_takes_no_event(fleet):
    off = fleet.start_ready_master(reactor={"enabled": False})
    assert off.checks()["reactor"] == "ok"
    assert "switched off" in off.get("/readyz")[1]
    send(fleet, "some/event")
    on = fleet.start_ready_master("on")
    fleet.wait(lambda: on.metric("zester_reactor_events_unmatched_total") == 1, "the other master takes it")
    assert off.metric('zester_reactor_events_total{origin_type="admin"}') is None


def test_what_a_source_sends_beyond_its_rate_is_dropped(fleet):
    master = fleet.start_ready_master(reactor={"source_rate_limit": 1})
    ids = [send(fleet, "flood", f"n={number}") for number in range(40)]

    def dropped():
        return master.metric('zester_reactor_events_dropped_total{reason="ratelimit"}') or 0
    fleet.wait(lambda: dropped() + (master.metric("zester_reactor_events_unmatched_total") or 0) == 40, "all are taken")
    assert dropped() > 0  # how many depends on how long the others took
    whys = [fleet.zester_json("event", "why", event) for event in ids[-3:]]
    assert ("dropped", "ratelimit", []) in [(why["outcome"], why.get("reason"), why["rules"]) for why in whys]


def test_what_became_of_an_event_is_recorded(fleet):
    master = fleet.start_ready_master()
    event = send(fleet, "some/event")
    fleet.wait(lambda: master.metric("zester_reactor_events_unmatched_total") == 1, "it is taken")
    why = fleet.zester_json("event", "why", event)
    assert (why["id"], why["outcome"], why["key"], why["rules"]) == (event, "unmatched", "_admin/some/event", [])
    assert fleet.zester("event", "why", event).stdout.startswith(f"{event}: unmatched\n  key:       _admin/some/event\n")
    for unknown in ("nothing", "not an id", "x" * 300):
        assert "nothing is recorded about event" in fleet.zester("event", "why", unknown, status=1).stderr
