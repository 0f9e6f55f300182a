"""New versions of the daemons: watchdogs and rollouts, and what happens when a version or a watchdog fails."""
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from updates import Updates, statuses


@pytest.fixture(scope="module")
def updates(tmp_path_factory):
    updates = Updates(tmp_path_factory.mktemp("update"))
    with updates.fleet as fleet:
        fleet.start_server()
        updates.master = fleet.start_ready_master("m2", rollout_resume_interval="1s")
        for name in ("p1", "p2"):
            updates.start_peel(name, updates.master)
        for name in ("p1", "p2"):
            updates.wait_peel(name)
        yield updates
        updates.close()


def test_a_good_version_reaches_all_peels_batch_by_batch(updates):
    before = updates.nodes()
    updates.publish("2.0")
    record = updates.rollout("2.0", "*", "--batch", "1")
    assert record["state"] == "completed" and record["batches"] == [["p1"], ["p2"]]
    assert statuses(record) == {"p1": "confirmed", "p2": "confirmed"}
    for name in ("p1", "p2"):
        node = updates.wait_node(name, state="confirmed", version="2.0")
        assert node["child_pid"] != before[name]["child_pid"]
        assert (updates.folder / f"{name}-slots/zester-peel").read_text().startswith("#!/bin/sh\n# peel-2.0\n")
        assert (updates.folder / f"{name}-slots/zester-peel.prev").exists()
        updates.fleet.wait(lambda name=name: updates.pings(name), f"{name} answers")
    assert statuses(updates.rollout("2.0", "p1,p2", "--batch", "100%")) == {"p1": "skipped", "p2": "skipped"}


def test_a_bad_version_rolls_back_by_itself(updates):
    before = updates.nodes()["p1"]["version"]
    updates.publish("3.0-bad", line="exit 1")
    record = updates.rollout("3.0-bad", "*", status=2)
    assert record["state"] == "aborted" and record["failed_count"] == 1
    assert statuses(record) == {"p1": "rolled_back", "p2": "pending"}
    assert record["node_results"]["p1"]["error"] == "the new version does not stay up"
    updates.wait_node("p1", state="idle", version=before)
    updates.fleet.wait(lambda: updates.pings("p1"), "p1 answers")


def test_of_rollouts_that_are_started_at_once_one_starts_and_the_others_are_refused_with_its_id(updates):
    before = updates.nodes()["p1"]["version"]
    updates.publish("3.5")
    words = ("update", "rollout", "3.5", "p1", "--soak", "10m")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: updates.fleet.zester(*words, status=None), range(4)))
    started, *others = sorted(results, key=lambda result: result.returncode)
    assert [started.returncode, *(result.returncode for result in others)] == [0, 1, 1, 1]
    first, = (record for record in updates.fleet.zester_json("update", "rollouts") if record["config"]["version"] == "3.5")
    assert all(f"rollout '{first['id']}' of peel is in progress" in result.stderr for result in others)
    updates.wait_node("p1", state="soaking", version="3.5")
    updates.fleet.zester("update", "abort", first["id"])
    updates.wait_over(first["id"])
    updates.wait_node("p1", state="idle", version=before)


def test_a_version_that_a_strange_key_has_signed_is_refused(updates):
    updates.keygen("strange")
    updates.publish("4.0", key="strange")
    record = updates.rollout("4.0", "p1", status=2)
    assert "does not trust" in record["node_results"]["p1"]["error"]
    assert record["state"] == "aborted"


def test_a_peel_with_a_veto_refuses_and_the_rollout_says_so(updates):
    watchdog = updates.watchdogs["p2"]
    updates.publish("5.0")
    updates.write_conf("p2", "peel", watchdog.config, allow=False)
    record = updates.rollout("5.0", "p1,p2", "--batch", "2", status=2)
    assert "does not allow updates" in record["node_results"]["p2"]["error"]
    assert statuses(record) == {"p1": "rolled_back", "p2": "failed"}
    assert "does not allow updates" in updates.wait_node("p2", version="2.0")["veto"]
    updates.write_conf("p2", "peel", watchdog.config)


def test_a_dry_run_leaves_no_record(updates):
    before = updates.fleet.zester_json("update", "rollouts")
    result = updates.fleet.zester_json("update", "rollout", "5.0", "*", "--dry-run")
    assert result["batches"] == [["p1"], ["p2"]] and "id" not in result
    assert updates.fleet.zester_json("update", "rollouts") == before
    assert updates.nodes()["p1"]["state"] == "idle"


def test_mistakes_of_a_rollout_are_refused_at_the_start(updates):
    for words, text in ((("9.9", "*"), "is not published"), (("5.0", "nobody"), "matches no peel"), (("5.0", "p1", "--id", "x"), "rollout id")):
        result = updates.fleet.zester("update", "rollout", *words, status=1)
        assert text in result.stderr
    result = updates.fleet.zester("update", "publish", "5.0", updates.script("other", "exit 2"), "--key", updates.folder / "release.seed",
                                  status=1)
    assert "published with other content" in result.stderr


@pytest.mark.parametrize("step", ["slots-swap:1", "slots-save:5"])
def test_a_watchdog_that_dies_while_it_applies_goes_on_with_a_whole_version(updates, step):
    watchdog = updates.watchdogs["p2"]
    version = "6.0-" + step.replace(":", "-")
    updates.publish(version)
    watchdog.stop()
    watchdog.environment = {"ZESTER_CRASH": step + ":0"}
    watchdog.start()
    updates.fleet.wait_ready(watchdog)
    rollout = updates.start_rollout(version, "p2", "--soak", "300ms")
    assert watchdog.process.wait(60) == -signal.SIGKILL
    watchdog.environment = None
    watchdog.start()
    assert statuses(updates.wait_over(rollout)) == {"p2": "confirmed"}
    updates.wait_node("p2", state="confirmed", version=version)


def test_a_damaged_record_of_the_slots_keeps_the_daemon_running(updates):
    watchdog = updates.watchdogs["p2"]
    watchdog.stop()
    (updates.folder / "p2-slots/zester-peel.slots").write_bytes(b"\0" * 40)
    watchdog.start()
    updates.wait_node("p2", state="idle")
    assert watchdog.has_logged("slot record is damaged")
    updates.fleet.wait(lambda: updates.pings("p2"), "p2 answers")


def test_an_abort_brings_nodes_in_flight_back(updates):
    before = updates.nodes()["p1"]["version"]
    rollout = updates.start_rollout("5.0", "p1", "--soak", "10m")
    updates.wait_node("p1", state="soaking", version="5.0")
    assert "is in progress" in updates.fleet.zester("update", "rollout", "5.0", "p2", status=1).stderr
    updates.fleet.zester("update", "abort", rollout)
    assert statuses(updates.wait_over(rollout)) == {"p1": "rolled_back"}
    updates.wait_node("p1", state="idle", version=before)
    assert "already" in updates.fleet.zester("update", "abort", rollout, status=1).stderr


def test_one_node_goes_back_to_its_previous_version_by_hand(updates):
    before = updates.nodes()["p1"]["version"]
    updates.rollout("5.0", "p1")
    updates.fleet.zester("update", "rollback", "p1")
    updates.wait_node("p1", state="idle", version=before)
    assert "no watchdog" in updates.fleet.zester("update", "rollback", "nobody", status=1).stderr


def test_a_fetched_version_is_what_was_published(updates):
    target = updates.folder / "fetched"
    updates.fleet.zester("update", "fetch", "5.0", target)
    assert target.read_bytes() == (updates.folder / "peel-5.0").read_bytes() and os.access(target, os.X_OK)
    updates.fleet.zester("update", "unpublish", "5.0")
    assert "not published" in updates.fleet.zester("update", "fetch", "5.0", updates.folder / "again", status=1).stderr


def test_a_version_that_is_never_ready_rolls_back_by_itself(updates):
    watchdog = updates.watchdogs["p1"]
    watchdog.stop()
    updates.write_conf("p1", "peel", watchdog.config, start_within="1s")
    watchdog.start()
    before = updates.nodes()["p1"]["version"]
    updates.fleet.wait_ready(watchdog)
    updates.publish("8.0-mute", line="exec sleep 1000")
    record = updates.rollout("8.0-mute", "p1", status=2)
    assert record["node_results"]["p1"]["error"] == "the new version does not become ready"
    updates.wait_node("p1", state="idle", version=before)
