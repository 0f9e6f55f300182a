"""Events when peels come and go: one for the fleet, whoever of the masters decides."""

import pytest

from fleet import SERVER, Fleet
from peels import start_peel
from test_reactor import count_rules, reactor_of, wait_for_rules

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

RULES = {
    "top.zy": "reactor:\n  - '_master/peel/*/online': [reactor.say]\n  - '_master/peel/*/offline': [reactor.say]\n",
    "say.zy": "line:\n  log: \"noticed {{ tag }} of {{ data.peel }}, last seen {{ data.last_seen | default('never') }}\"\n",
}
# A busy machine may delay a heartbeat, which comes every 10 s.
PRESENCE = {"presence": {"grace": "25s"}, "files_republish_interval": "1s"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("presence")) as fleet:
        fleet.server = fleet.start_server()
        rules = reactor_of(fleet, RULES, source_rate_limit=0, storm_rate=0)
        fleet.masters = [fleet.start_master(name, reactor=rules, **PRESENCE) for name in ("m1", "m2")]
        for master in fleet.masters:
            wait_for_rules(fleet, master, count_rules(RULES))
        fleet.wait(lambda: any(master.has_logged("started recording the presence of peels") for master in fleet.masters), "a master decides")
        fleet.peel = start_peel(fleet, fleet.masters[0], "web-01")
        yield fleet


def noticed(fleet):
    """What the rule has said, for each event once: a line is written again when the bus ends before the event is acknowledged."""
    lines = [line for master in fleet.masters for line in master.lines() if line["msg"].startswith("noticed ")]
    events = {}
    for line in sorted(lines, key=lambda line: line["ts"]):
        events.setdefault(line["event_id"], line["msg"].split(",")[0])
    return list(events.values())


def test_each_change_is_one_event_though_masters_and_the_bus_restart(fleet):
    came, went = "noticed peel/web-01/online of web-01", "noticed peel/web-01/offline of web-01"
    fleet.wait(lambda: noticed(fleet) == [came], lambda: f"it came, {noticed(fleet)}")
    holder = next(master for master in fleet.masters if master.has_logged("lease 'presence' acquired"))
    fleet.server.kill()
    fleet.server.start()
    for master in fleet.masters:
        fleet.wait_ready(master)
    fleet.wait(lambda: fleet.zester("web-01", "test.ping", status=None).returncode == 0, "the peel is back")
    fleet.peel.stop()
    fleet.wait(lambda: noticed(fleet) == [came, went], lambda: f"it went, {noticed(fleet)}", 120)
    holder.stop()  # the other one goes on from what is recorded
    fleet.peel.start()
    fleet.wait(lambda: noticed(fleet) == [came, went, came], lambda: f"it came again, {noticed(fleet)}", 120)


def test_a_grace_that_a_heartbeat_can_miss_is_a_mistake_in_the_configuration(fleet):
    path = fleet.folder / "wrong.yaml"
    path.write_text("presence: {grace: 5s}\n")
    assert "presence.grace" in fleet.run("zester-master", "--config", path, status=1).stderr
