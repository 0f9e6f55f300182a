"""A master that is killed at any step of a canary leaves what the next one finishes or goes on with.

`make test` takes a sample of the steps, `make faults` (FAULTS=all) all of them.
"""
import base64
import json
import os

import pytest

from bus import Bus
from fleet import Fleet

ALL = os.environ.get("FAULTS") == "all"
# The step, and whether it is killed before the record says that the act has begun: then nothing has happened.
BEGIN = [("canary-step:1", True), ("canary-step:2", True), ("canary-step:3", False), ("canary-step:4", False)]
PROMOTE = [("canary-step:1", True), *((f"canary-step:{step}", False) for step in range(2, 7))]
ABORT = [("canary-step:1", True), *((f"canary-step:{step}", False) for step in range(2, 6)), ("tree-file-placed:1", False)]
SAMPLE = {"begin": (2,), "promote": (2,), "abort": (5,)}


def cases():
    for act, steps in (("begin", BEGIN), ("promote", PROMOTE), ("abort", ABORT)):
        for number, (step, is_early) in enumerate(steps):
            if ALL or number in SAMPLE[act]:
                yield pytest.param(act, step, is_early, id=f"{act}-{step}")


def start_master(fleet, name):
    # the tests say when something is published
    return fleet.start_ready_master(name, publisher_status_file="", files_watch=False, files_republish_interval="0", files_mirror_after="0s")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("canary")) as fleet:
        fleet.start_server()
        fleet.states = fleet.folder / "one/states"
        fleet.states.mkdir(parents=True)
        fleet.one = start_master(fleet, "one")
        yield fleet


def ask(fleet, subject, **body):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        return json.loads(bus.request(subject, json.dumps(body).encode()))


def for_all(fleet, name):
    """The file that peels have which the canary does not mean."""
    message = ask(fleet, "$JS.API.STREAM.MSG.GET.KV_state-files", last_by_subj=f"$KV.state-files.{name}")["message"]
    return base64.b64decode(message["data"]).decode()


def restart(fleet, crash=None):
    fleet.one.stop()
    ask(fleet, "$JS.API.STREAM.PURGE.KV_leases", filter="$KV.leases.publisher")  # it need not wait for its lease to end
    fleet.one.environment = {"ZESTER_CRASH": crash} if crash else None
    fleet.one.start()
    fleet.wait(lambda: fleet.one.metric("zester_master_publisher_leader") == 1, "it publishes")


def write(fleet, text):
    for name in ("web.zy", "more.zy"):
        (fleet.states / name).write_text(text)


def read(fleet):
    return {(fleet.states / name).read_text() for name in ("web.zy", "more.zy")}


def publish(fleet):
    fleet.zester("fileserver", "update")


def show(fleet):
    return fleet.zester_json("fileserver", "canary")


@pytest.mark.parametrize("act, step, is_early", cases())
def test_a_kill_is_made_good_by_the_next_master(fleet, act, step, is_early):
    write(fleet, f"base of {act} {step}\n")
    publish(fleet)
    if act != "begin":
        fleet.zester("fileserver", "canary", "web*")
        write(fleet, f"tried by {act} {step}\n")
        publish(fleet)
    restart(fleet, crash=f"{step}:0")
    publish(fleet)
    words = {"begin": ("canary", "web*"), "promote": ("promote",), "abort": ("canary", "--abort")}[act]
    fleet.zester("fileserver", *words, "--timeout", "1s", status=None)
    fleet.wait(lambda: not fleet.one.is_running(), "it was killed")
    restart(fleet)
    publish(fleet)  # when what was interrupted is finished
    state = show(fleet)
    if act == "begin":
        assert state["active"] != is_early
        if is_early:
            fleet.zester("fileserver", "canary", "web*")
        write(fleet, "tried after all\n")
        publish(fleet)
        assert for_all(fleet, "web.zy") == f"base of {act} {step}\n"
        assert [row["change"] for row in show(fleet)["changes"]] == ["changed", "changed"]
        fleet.zester("fileserver", "canary", "--abort")
    elif is_early:
        assert state["phase"] == "running" and read(fleet) == {f"tried by {act} {step}\n"}
        fleet.zester("fileserver", *words)
    fleet.wait(lambda: not show(fleet)["active"], "it has ended")
    wanted = f"tried by {act} {step}\n" if act == "promote" else f"base of {act} {step}\n"
    assert read(fleet) == {wanted} and {for_all(fleet, name) for name in ("web.zy", "more.zy")} == {wanted}
    assert not (fleet.states / ".zester-rollback").exists()
    notes = [row.get("note", "") for row in fleet.zester_json("fileserver", "history", "states")[:2]]
    assert "canary of web* promoted" in notes if act == "promote" else "canary of web* aborted" in notes


@pytest.mark.parametrize("act", ["promote", "abort"] if ALL else ["abort"])
def test_another_master_finishes_what_the_killed_one_began(fleet, act):
    write(fleet, f"base of {act}\n")
    publish(fleet)
    fleet.zester("fileserver", "canary", "web*")
    write(fleet, f"tried by {act}\n")
    publish(fleet)
    restart(fleet, crash="canary-step:2:0")
    two = start_master(fleet, "two")
    fleet.wait(lambda: (fleet.folder / "two/states/web.zy").exists() and (fleet.folder / "two/states/web.zy").read_text() == f"tried by {act}\n",
               "it has the files of the canary")
    words = {"promote": ("promote",), "abort": ("canary", "--abort")}[act]
    fleet.zester("fileserver", *words, "--timeout", "1s", status=None)
    fleet.wait(lambda: not fleet.one.is_running(), "it was killed")
    ask(fleet, "$JS.API.STREAM.PURGE.KV_leases", filter="$KV.leases.publisher")
    fleet.wait(lambda: two.metric("zester_master_publisher_leader") == 1, "the other one publishes")
    fleet.wait(lambda: not show(fleet)["active"], "it has finished it")
    wanted = f"tried by {act}\n" if act == "promote" else f"base of {act}\n"
    assert for_all(fleet, "web.zy") == (fleet.folder / "two/states/web.zy").read_text() == wanted
    fleet.one.environment = None
    fleet.one.start()
    fleet.wait(lambda: read(fleet) == {wanted}, "the first one follows")
    two.stop()
    restart(fleet)
