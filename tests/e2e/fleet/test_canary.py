"""A canary of the states: some peels try a revision before all others get it."""
import base64
import json
import os
import signal

import pytest

from bus import Bus
from fleet import Fleet
from peels import start_peel
from rounds import run_during_a_round

NAMES = ("web-01", "app-01", "db-01")
GROUPS = {"front": "web* or app*", "wide": ["N@front", "or", "db*"]}


def start_master(fleet, name):
    # the tests say when something is published
    return fleet.start_ready_master(name, publisher_status_file="", files_watch=False, files_republish_interval="0", files_mirror_after="0s",
                                    nodegroups=GROUPS)


def leads(master):
    return master.metric("zester_master_publisher_leader") == 1


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("canary")) as fleet:
        fleet.start_server()
        write(fleet, "one", **{"top.zy": "base: {'*': [web]}\n", "web.zy": "a: {test.nop: []}\n", "same.txt": "same\n"})
        fleet.masters = {"one": start_master(fleet, "one")}
        fleet.peels = {name: start_peel(fleet, fleet.masters["one"], name) for name in NAMES}
        wait_files(fleet, NAMES, **{"same.txt": "same\n"})
        yield fleet


def write(fleet, master, **files):
    folder = fleet.folder / master / "states"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def publish(fleet):
    return {row["name"]: row for row in fleet.zester_json("fileserver", "update")["sets"]}["states"]


def show(fleet):
    return fleet.zester_json("fileserver", "canary")


def hasten(fleet):
    """Peels look at news some seconds later, unless they run states."""
    fleet.zester("*", "state.apply", status=None)


def read(peel, name):
    path = peel.folder / "states" / name
    return path.read_text() if path.exists() else None


def wait_files(fleet, names, **files):
    """Until these peels have these files; None: they do not have it."""
    def have():
        hasten(fleet)
        return all(read(fleet.peels[peel], name) == text for peel in names for name, text in files.items())
    fleet.wait(have, lambda: f"{names} have {files}, and not {[[read(fleet.peels[peel], name) for name in files] for peel in names]}")


def stored_keys(fleet):
    """Keys of the bucket that have a value."""
    keys = set()
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        body = json.dumps({"subjects_filter": "$KV.state-files.>"}).encode()
        subjects = json.loads(bus.request("$JS.API.STREAM.INFO.KV_state-files", body))["state"]["subjects"]
        for subject in subjects:
            last = json.loads(bus.request("$JS.API.STREAM.MSG.GET.KV_state-files", json.dumps({"last_by_subj": subject}).encode()))
            if b"KV-Operation" not in base64.b64decode(last["message"].get("hdrs", "")):
                keys.add(subject.removeprefix("$KV.state-files."))
    return keys


def stored_value(fleet, key):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        body = json.dumps({"last_by_subj": f"$KV.state-files.{key}"}).encode()
        return json.loads(bus.request("$JS.API.STREAM.MSG.GET.KV_state-files", body))["message"].get("data")


def fact(fleet, peel, key):
    answer = fleet.zester("kv", "fact", "get", peel, key, status=None)
    return json.loads(answer.stdout) if answer.returncode == 0 else None


def test_only_the_peels_that_it_means_get_changes(fleet):
    assert show(fleet) == {"master": show(fleet)["master"], "active": False, "peels": 0, "following": 0, "changes": []}
    before = {key: stored_value(fleet, key) for key in stored_keys(fleet) if key != "_revision"}
    begun = fleet.zester("fileserver", "canary", "web-01 or G@role:test")
    assert "published to 1 peels that match web-01 or G@role:test" in begun.stdout
    write(fleet, "one", **{"web.zy": "b: {test.nop: []}\n", "new.txt": "new\n"})
    (fleet.folder / "one/states/same.txt").rename(fleet.folder / "one/states/other name.txt")
    reply = publish(fleet)
    assert reply["changed"] and reply["note"] == "canary: only for web-01 or G@role:test"
    assert not publish(fleet)["changed"]
    wait_files(fleet, ["web-01"], **{"web.zy": "b: {test.nop: []}\n", "new.txt": "new\n", "other name.txt": "same\n", "same.txt": None})
    wait_files(fleet, ["app-01", "db-01"], **{"web.zy": "a: {test.nop: []}\n", "new.txt": None, "same.txt": "same\n"})
    fleet.wait(lambda: show(fleet)["following"] == 1, "its facts say which revision it has")
    state = show(fleet)
    assert (state["phase"], state["peels"], fact(fleet, "web-01", "states_canary")) == ("running", 1, state["revision"])
    assert [(row["change"], row["path"]) for row in state["changes"]] == [("added", "new.txt"), ("added", "other name.txt"),
                                                                         ("removed", "same.txt"), ("changed", "web.zy")]
    assert state["revision"] > state["base"] == fleet.zester_json("fileserver", "history", "states")[0]["revision"]
    assert "changed  web.zy" in fleet.zester("fileserver", "canary").stdout
    assert {key: stored_value(fleet, key) for key in before} == before, "what all others have is untouched"
    stored = stored_keys(fleet) - before.keys()
    assert len([key for key in stored if key.startswith("_canary.file.")]) == 3 and {"_canary", "_canary.manifest"} <= stored
    assert fact(fleet, "db-01", "states_canary") is None


def test_a_change_of_facts_moves_a_peel_in_and_out(fleet):
    fleet.zester("app-01", "facts.set", "role", "test")
    wait_files(fleet, ["app-01"], **{"new.txt": "new\n", "same.txt": None})
    fleet.wait(lambda: show(fleet)["following"] == 2, "both follow it")
    fleet.zester("app-01", "facts.set", "role", "other")
    wait_files(fleet, ["app-01"], **{"new.txt": None, "same.txt": "same\n"})
    fleet.wait(lambda: fact(fleet, "app-01", "states_canary") is None and show(fleet)["peels"] == 1, "it says so")


def test_what_cannot_be_is_refused_with_the_way_out(fleet):
    second = fleet.zester("fileserver", "canary", "*", status=1).stderr
    assert "a canary for web-01 or G@role:test already exists" in second and "fileserver promote" in second and "--abort" in second
    revision = fleet.zester_json("fileserver", "history", "states")[0]["revision"]
    assert "there is a canary of the states" in fleet.zester("fileserver", "rollback", "states", revision, status=1).stderr
    assert "--abort takes no target" in fleet.zester("fileserver", "canary", "*", "--abort", status=1).stderr


def test_a_restart_and_a_takeover_go_on_with_it(fleet):
    one = fleet.masters["one"]
    base = stored_value(fleet, "_manifest")
    fleet.masters["two"] = two = start_master(fleet, "two")
    fleet.wait(lambda: (fleet.folder / "two/states/new.txt").exists(), "the second master has the files of the canary")
    one.kill()
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:  # it need not wait for the lease to end
        bus.request("$JS.API.STREAM.PURGE.KV_leases", b'{"filter": "$KV.leases.publisher"}')
    fleet.wait(lambda: leads(two), "the second master leads")
    write(fleet, "two", **{"web.zy": "c: {test.nop: []}\n"})
    assert publish(fleet)["note"] == "canary: only for web-01 or G@role:test"
    assert stored_value(fleet, "_manifest") == base
    wait_files(fleet, ["web-01"], **{"web.zy": "c: {test.nop: []}\n"})
    wait_files(fleet, ["app-01", "db-01"], **{"web.zy": "a: {test.nop: []}\n"})
    one.start()
    fleet.wait_ready(one)
    fleet.wait(lambda: (fleet.folder / "one/states/web.zy").read_text() == "c: {test.nop: []}\n", "the first one follows the canary now")


def test_promote_refuses_what_nobody_has_tried_and_publishes_the_rest_to_all(fleet):
    write(fleet, "two", **{"web.zy": "d: {test.nop: []}\n"})
    assert "the folder has changed" in fleet.zester("fileserver", "promote", status=1).stderr
    wait_files(fleet, ["web-01"], **{"web.zy": "d: {test.nop: []}\n"})
    assert read(fleet.peels["db-01"], "web.zy") == "a: {test.nop: []}\n"
    assert "published to all peels as revision" in fleet.zester("fileserver", "promote").stdout
    wait_files(fleet, NAMES, **{"web.zy": "d: {test.nop: []}\n", "other name.txt": "same\n", "same.txt": None})
    assert not show(fleet)["active"]
    fleet.wait(lambda: fact(fleet, "web-01", "states_canary") is None, "nobody follows a canary")
    fleet.wait(lambda: not any(key.startswith("_canary") for key in stored_keys(fleet)), "nothing is left of it")
    assert fleet.zester_json("fileserver", "history", "states")[0]["note"] == "canary of web-01 or G@role:test promoted"
    assert "no canary: start one with" in fleet.zester("fileserver", "promote", status=1).stderr
    leader = next(master for master in fleet.masters.values() if leads(master))
    assert leader.has_logged("audit action=fileserver.promote result=ok") and leader.has_logged("audit action=fileserver.promote result=refused")


def test_abort_brings_the_folder_and_the_peels_back_and_keeps_what_was_tried(fleet):
    folder = fleet.folder / next(name for name, master in fleet.masters.items() if leads(master)) / "states"
    refused = fleet.zester("fileserver", "canary", "I@role:web", status=1).stderr
    assert "settings" in refused and "peels match the target of a canary themselves" in refused
    assert "no group 'nothing'" in fleet.zester("fileserver", "canary", "N@nothing", status=1).stderr
    assert fleet.zester_json("fileserver", "canary", "N@wide and not app*")["peels"] == 2
    (folder / "web.zy").write_text("e: {test.nop: []}\n")
    (folder / "other name.txt").unlink()
    publish(fleet)
    wait_files(fleet, ["web-01", "db-01"], **{"web.zy": "e: {test.nop: []}\n", "other name.txt": None})
    wait_files(fleet, ["app-01"], **{"web.zy": "d: {test.nop: []}\n", "other name.txt": "same\n"})
    base = show(fleet)["base"]
    reply = fleet.zester_json("fileserver", "canary", "--abort")
    assert reply["files"] == 2 and not reply["active"]
    assert (folder / "web.zy").read_text() == "d: {test.nop: []}\n" and (folder / "other name.txt").exists()
    wait_files(fleet, NAMES, **{"web.zy": "d: {test.nop: []}\n", "other name.txt": "same\n"})
    now, tried, before = fleet.zester_json("fileserver", "history", "states")[:3]
    assert (now["restored"], now["revision"], before["revision"]) == (base, reply["published"], base)
    assert tried["note"] == "canary of N@wide and not app* aborted" and (tried["changed"], tried["removed"]) == (1, 1)
    fleet.zester("fileserver", "rollback", "states", tried["revision"])
    wait_files(fleet, NAMES, **{"web.zy": "e: {test.nop: []}\n", "other name.txt": None})


def test_a_peel_that_was_away_decides_when_it_is_back(fleet):
    folder = fleet.folder / next(name for name, master in fleet.masters.items() if leads(master)) / "states"
    db = fleet.peels["db-01"]
    db.stop()
    fleet.zester("fileserver", "canary", "db*")
    (folder / "web.zy").write_text("f: {test.nop: []}\n")
    publish(fleet)
    db.start()
    wait_files(fleet, ["db-01"], **{"web.zy": "f: {test.nop: []}\n"})
    db.send(signal.SIGSTOP)  # it hears of nothing
    fleet.zester("fileserver", "canary", "--abort")
    db.send(signal.SIGCONT)
    wait_files(fleet, NAMES, **{"web.zy": "e: {test.nop: []}\n"})
    assert not os.path.exists(folder / ".zester-rollback")


def test_a_command_that_meets_another_round_need_not_be_repeated(fleet):
    name, leader = next(pair for pair in fleet.masters.items() if leads(pair[1]))
    folder = fleet.folder / name / "states"
    (folder / "web.zy").write_text("base: {test.nop: []}\n")
    publish(fleet)
    base = fleet.zester_json("fileserver", "history", "states")[0]["revision"]
    assert run_during_a_round(fleet, leader, "canary", "web-01")["base"] == base
    (folder / "web.zy").write_text("aborted: {test.nop: []}\n")
    publish(fleet)
    assert not run_during_a_round(fleet, leader, "canary", "--abort")["active"]
    assert (folder / "web.zy").read_text() == "base: {test.nop: []}\n"
    now, tried = fleet.zester_json("fileserver", "history", "states")[:2]
    assert (now["restored"], tried["note"]) == (base, "canary of web-01 aborted")
    fleet.zester("fileserver", "canary", "web-01")
    (folder / "web.zy").write_text("promoted: {test.nop: []}\n")
    publish(fleet)
    assert not run_during_a_round(fleet, leader, "promote", force=True)["active"]
    now = fleet.zester_json("fileserver", "history", "states")[0]
    assert now["note"] == "canary of web-01 promoted" and now["operator"]
    assert run_during_a_round(fleet, leader, "rollback", "states", str(base))["restored"] == base
    now, before = fleet.zester_json("fileserver", "history", "states")[:2]
    assert (now["restored"], before["note"], (folder / "web.zy").read_text()) == (base, "canary of web-01 promoted", "base: {test.nop: []}\n")
