"""Rollouts whose master ends: another one, or its own next version, goes on."""
import os
import signal
import time

import pytest

from updates import Updates, statuses


@pytest.fixture(scope="module")
def updates(tmp_path_factory):
    updates = Updates(tmp_path_factory.mktemp("update"))
    with updates.fleet as fleet:
        fleet.start_server()
        updates.master = fleet.start_ready_master("m2", rollout_resume_interval="1s")
        for name in ("p1",):
            updates.start_peel(name, updates.master)
        for name in ("p1",):
            updates.wait_peel(name)
        yield updates
        updates.close()


def test_a_killed_master_does_not_end_its_rollout(updates):
    """The one that is below a watchdog comes second, so that either may drive."""
    fleet, watchdog = updates.fleet, updates.start_master("m1")
    fleet.wait_ready(watchdog)
    updates.wait_node("m1", state="idle")
    updates.publish("5.0")
    rollout = updates.start_rollout("5.0", "p1", "--soak", "10s")
    updates.wait_node("p1", state="soaking", version="5.0")
    driver = updates.record(rollout)["driver_id"]
    if updates.master.has_logged(driver):
        updates.master.kill()
    else:
        os.kill(updates.nodes()["m1"]["child_pid"], signal.SIGKILL)
    record = updates.wait_over(rollout)
    assert record["state"] == "completed" and statuses(record) == {"p1": "confirmed"}
    assert record["driver_id"] != driver
    fleet.wait_ready(watchdog)


def test_expired_versions_are_removed_by_the_next_master_that_sweeps(updates):
    updates.publish("7.0", "peel", None, "release", "--ttl", "1s")
    updates.fleet.zester("update", "promote", "5.0")
    end = {manifest["version"]: manifest for manifest in updates.fleet.zester_json("update", "versions")}["7.0"]["expires_at"]
    updates.fleet.wait(lambda: time.time() > end + 1, "it has expired")
    if updates.master.is_running():
        updates.master.stop()
    else:
        updates.watchdogs["m1"].stop()
        updates.watchdogs["m1"].start()
    updates.fleet.wait(lambda: "7.0" not in {manifest["version"] for manifest in updates.poll("update", "versions") or [{"version": "7.0"}]},
                       "the expired version is gone")
    assert "5.0" in {manifest["version"] for manifest in updates.fleet.zester_json("update", "versions")}


def test_a_master_that_updates_itself_completes_its_own_rollout(updates):
    before = updates.wait_node("m1", state="idle")
    updates.fleet.wait_ready(updates.watchdogs["m1"])
    updates.publish("2.0", "master")
    rollout = updates.start_rollout("2.0", "*", "--component", "master", "--soak", "300ms")
    record = updates.wait_over(rollout)
    assert record["state"] == "completed" and statuses(record) == {"m1": "confirmed"}
    after = updates.wait_node("m1", state="confirmed", version="2.0")
    assert after["child_pid"] != before["child_pid"]
