"""The basket: facts that peels share, read by other peels in templates and by operators."""
import json
import time

import pytest

from bus import Bus
from fleet import Fleet
from peels import start_peel

SETTINGS = """basket_functions:
  roles:
  network.ip_addrs: {fact: addresses, interval: 0s}
  name: {function: cmd.run, args: {name: "echo I am $PEEL"}, interval: 1h}
  status.loadavg: 1h
"""
STATES = """show:
  cmd.run:
    - name: |
        cat <<END
        mine {{ salt['mine.get']('db*', 'network.ip_addrs') | tojson }} basket {{ basket('G@roles:web', 'roles') | tojson }}
        END
"""
PEERS = """peers:
  mine: {{ salt['mine.get']('db*', 'network.ip_addrs') | tojson }}
  basket: {{ basket('G@roles:web', 'roles') | tojson }}
"""
PEELS = {"db.one": "{roles: [db], addresses: [10.0.0.1]}", "web-01": "{roles: [web, public], addresses: [10.0.0.2]}"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("basket")) as fleet:
        fleet.start_server()
        fleet.settings, states = fleet.folder / "settings", fleet.folder / "tree"
        for folder in (fleet.settings, states):
            folder.mkdir()
        (fleet.settings / "top.zy").write_text("base: {'*': [shared, peers]}\n")
        (fleet.settings / "peers.zy").write_text(PEERS)
        (fleet.settings / "shared.zy").write_text(SETTINGS)
        (states / "show.sls").write_text(STATES)
        fleet.master = fleet.start_ready_master(settings_dir=str(fleet.settings), states_dir=str(states),
                                                reactor={"dir": str(fleet.folder / "rules")}, publisher_status_file="")
        for name, facts in PEELS.items():
            path = fleet.folder / f"{name}.facts"
            path.write_text(facts)
            start_peel(fleet, fleet.master, name.replace(".", "_"), facts_file=str(path), environment={"PEEL": name})
        wait_for(fleet, "*", "roles", {"db.one": ["db"], "web-01": ["web", "public"]})
        wait_for(fleet, "*", "network.ip_addrs", {"db.one": ["10.0.0.1"], "web-01": ["10.0.0.2"]})
        yield fleet


def shared(fleet, target, name):
    return {row["peel_id"]: row.get("value") for row in fleet.zester_json("basket", "get", target, name)}


def wait_for(fleet, target, name, expected):
    fleet.wait(lambda: shared(fleet, target, name) == expected, f"the basket has {name}")


def test_operators_read_what_peels_share(fleet):
    lines = fleet.zester("basket", "get", "*", "roles").stdout.splitlines()
    assert [line.split() for line in lines] == [["PEEL", "VALUE"], ["db.one", '["db"]'], ["web-01", '["web","public"]']]
    assert "(no data)" in fleet.zester("basket", "get", "db.one", "nothing").stdout
    wait_for(fleet, "*", "name", {"db.one": "I am db.one", "web-01": "I am web-01"})
    fleet.wait(lambda: "1-min" in (shared(fleet, "web-01", "status.loadavg")["web-01"] or {}), "what a function answers is shared as it is")
    assert fleet.zester("basket", "list", "db.one").stdout.split() == ["FUNCTION", "name", "network.ip_addrs", "roles", "status.loadavg"]
    assert fleet.zester("basket", "list", "nobody").stdout == "No basket data found for peel nobody.\n"
    answer = fleet.zester("basket", "get", "nobody", "roles", status=5)
    assert answer.stderr == "No peels matched the target expression.\n"


def test_templates_of_a_peel_see_what_others_share(fleet):
    fleet.wait(lambda: (fleet.folder / "web-01/states/show.sls").exists(), "the states are there")
    text = fleet.zester("web-01", "state.apply", "show").stdout
    assert 'mine {db.one: [10.0.0.1]} basket [{peel_id: web-01, value: [web, public]}]' in text.replace('"', "")


def peers(fleet):
    """As settings have them after they were resolved anew: a changed fact is a reason to."""
    fleet.zester("web-01", "facts.set", "looked", str(time.monotonic_ns()))
    return fleet.zester("web-01", "settings.get", "peers").stdout.replace('"', "")


def test_templates_of_settings_see_what_others_share(fleet):
    fleet.wait(lambda: "db.one" in peers(fleet) and "10.0.0.1" in peers(fleet), "what others share is in the settings")
    text = fleet.zester("web-01", "settings.items").stdout
    assert "public" in text and "db.one" in text


def test_a_scope_limits_what_templates_see(fleet):
    (fleet.settings / "shared.zy").write_text(SETTINGS + "basket_scope: web*\n")
    fleet.zester("fileserver", "update")
    fleet.wait(lambda: "mine {} basket" in fleet.zester("web-01", "state.apply", "show").stdout, "the scope counts")
    (fleet.settings / "shared.zy").write_text(SETTINGS)
    fleet.zester("fileserver", "update")


def test_a_changed_fact_is_shared_again(fleet):
    fleet.zester("web-01", "facts.set", "addresses", "[10.0.0.9]")
    wait_for(fleet, "web*", "network.ip_addrs", {"web-01": ["10.0.0.9"]})


def test_the_bucket_keeps_entries_for_ever_and_what_a_peel_shares_expires_when_it_is_gone(fleet):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        config = json.loads(bus.request("$JS.API.STREAM.INFO.KV_basket", b""))["config"]
    assert (config["max_age"], config["max_msgs_per_subject"]) == (0, 1)
    gone = start_peel(fleet, fleet.master, "gone-01", facts_file=str(fleet.folder / "web-01.facts"), environment={"PEEL": "gone"})
    wait_for(fleet, "gone-01", "roles", {"gone-01": ["web", "public"]})
    gone.stop()
    master = fleet.start_ready_master("second", basket_expires="30s", settings_dir=str(fleet.settings), states_dir=str(fleet.folder / "tree"),
                                      reactor={"dir": str(fleet.folder / "rules")}, publisher_status_file="")
    fleet.wait(lambda: shared(fleet, "*", "roles") == {"db.one": ["db"], "gone-01": None, "web-01": ["web", "public"]}, "it has expired", 120)
    assert master.has_logged("removed an expired basket entry")
    assert fleet.zester("basket", "list", "gone-01").stdout == "No basket data found for peel gone-01.\n"
    gone.start()
    wait_for(fleet, "gone-01", "roles", {"gone-01": ["web", "public"]})
    master.stop()
    gone.stop()
    fleet.zester("peel", "delete", "--force", "gone-01")


def test_a_name_that_is_not_shared_any_more_is_removed(fleet):
    (fleet.settings / "shared.zy").write_text("basket_functions: {roles: 1h}\n")
    fleet.zester("fileserver", "update")
    wait_for(fleet, "*", "network.ip_addrs", {"db.one": None, "web-01": None})
    assert shared(fleet, "db*", "roles") == {"db.one": ["db"]}
