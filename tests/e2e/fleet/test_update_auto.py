"""Promoted versions that masters roll out by themselves."""
from datetime import datetime

import pytest

from updates import Updates, statuses

AUTO = {"update_auto_interval": "1s", "update_auto_soak_time": "300ms", "rollout_resume_interval": "1s"}


@pytest.fixture(scope="module")
def updates(tmp_path_factory):
    updates = Updates(tmp_path_factory.mktemp("update"))
    with updates.fleet as fleet:
        fleet.start_server()
        updates.masters = [fleet.start_ready_master(name, **AUTO) for name in ("m1", "m2")]
        updates.start_peel("p1", updates.masters[0])
        updates.wait_peel("p1")
        yield updates
        updates.close()


def status_of(updates):
    return updates.fleet.zester_json("update", "auto", "status")


def wait_auto(updates, rollout):
    updates.fleet.wait(lambda: updates.poll("update", "rollouts", rollout), f"{rollout} has started", 120)
    return updates.wait_over(rollout)


def count_logged(updates, *words):
    return sum(all(word in line for word in words) for master in updates.masters for line in master.log().splitlines())


def test_a_promoted_version_is_rolled_out_once_though_two_masters_decide(updates):
    assert status_of(updates) == {"enabled": None, "versions": []}
    updates.publish("12.0")
    updates.fleet.zester("update", "promote", "12.0")
    record = wait_auto(updates, "rol-auto-peel-12.0-r1")
    assert record["state"] == "completed" and statuses(record) == {"p1": "confirmed"}
    assert record["operator"] == "auto" and record["config"]["batch_size"] == 5
    assert [rollout["id"] for rollout in updates.fleet.zester_json("update", "rollouts")] == ["rol-auto-peel-12.0-r1"]
    assert count_logged(updates, "audit", "update.rollout", "rol-auto-peel-12.0-r1") == 1
    assert status_of(updates)["versions"] == [{"version": "12.0", "component": "peel", "rollout": "rol-auto-peel-12.0-r1",
                                               "state": "completed", "error": ""}]


def test_a_node_that_was_brought_back_gets_the_version_when_it_is_promoted_again(updates):
    before = updates.wait_node("p1", state="confirmed")["child_pid"]
    updates.fleet.zester("update", "rollback", "p1")
    updates.fleet.wait(lambda: updates.nodes()["p1"]["version"] != "12.0" and updates.nodes()["p1"]["child_pid"] != before, "it went back", 120)
    updates.fleet.zester("update", "promote", "12.0")
    record = wait_auto(updates, "rol-auto-peel-12.0-r2")
    assert record["state"] == "completed" and statuses(record) == {"p1": "confirmed"}


def test_the_switch_of_the_fleet_stops_all_masters(updates):
    assert updates.fleet.zester("update", "auto", "off").stdout == "automatic rollouts are off\n"
    assert status_of(updates)["enabled"] is False
    updates.publish("13.0")
    updates.fleet.zester("update", "promote", "13.0")
    assert updates.fleet.zester_json("update", "auto", "on")["enabled"] is True
    assert updates.fleet.zester("update", "auto", "status").stdout.startswith("automatic rollouts: on, set by ")
    record = wait_auto(updates, "rol-auto-peel-13.0-r1")
    assert record["state"] == "completed"
    switched = datetime.fromisoformat(status_of(updates)["changed_at"])
    assert datetime.fromisoformat(record["started_at"]) >= switched, "it started before it was switched on"
    updates.fleet.wait(lambda: count_logged(updates, "audit", "update.auto-off") == 2, "both masters have logged it")


def test_a_version_that_does_not_work_goes_back_and_is_held(updates):
    updates.publish("14.0", "peel", "exit 1")
    updates.fleet.zester("update", "promote", "14.0")
    record = wait_auto(updates, "rol-auto-peel-14.0-r1")
    assert record["state"] == "aborted" and statuses(record) == {"p1": "rolled_back"}
    updates.wait_node("p1", version="13.0")
    held = status_of(updates)["versions"][-1]
    assert held["state"] == "aborted" and "p1" in held["error"]


def test_words_and_ids_that_are_not_for_operators_are_refused(updates):
    assert "expected on, off or status" in updates.fleet.zester("update", "auto", "maybe", status=1).stderr
    refused = updates.fleet.zester("update", "rollout", "13.0", "p1", "--id", "rol-auto-peel-13.0-r9", status=1)
    assert "is reserved for automatic rollouts" in refused.stderr


def test_a_component_that_does_not_exist_is_a_mistake_in_the_configuration(updates):
    path = updates.folder / "wrong.yaml"
    path.write_text("update_auto_components: [peel, kettle]\n")
    result = updates.fleet.run("zester-master", "--config", path, status=1)
    assert "'kettle' is not a component: peel|master" in result.stderr
