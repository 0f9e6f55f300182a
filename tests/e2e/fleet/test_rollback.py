"""Revisions of published trees: they are recorded, listed and brought back."""
import json
import os
import subprocess

import pytest

from bus import Bus
from fleet import Fleet

KEEP = 4


def revisions(fleet, tree):
    """Newest first."""
    return fleet.zester_json("fileserver", "history", tree)


def publish(fleet):
    fleet.zester("fileserver", "update")


def rollback(fleet, tree, revision, status=0):
    return fleet.zester_json("fileserver", "rollback", tree, str(revision), status=status)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("rollback")) as fleet:
        fleet.start_server()
        fleet.states = fleet.folder / "one/states"
        fleet.settings = fleet.folder / "one/settings"
        for folder in (fleet.states / "deep", fleet.settings, fleet.folder / "one/reactor"):
            folder.mkdir(parents=True)
        (fleet.states / "web.zy").write_text("first\n")
        (fleet.states / "deep/large.bin").write_text("x" * 400_000)
        (fleet.settings / "db.zy").write_text("password: !encrypted hunter2\n")
        fleet.one = fleet.start_ready_master("one", publisher_status_file="", files_history=KEEP, files_watch=False,
                                             files_republish_interval="0")  # the tests say when something is published
        fleet.wait(lambda: len(fleet.zester_json("fileserver", "history")) == 2, "the first revisions are recorded")
        yield fleet


def test_each_change_is_a_revision_that_says_what_changed(fleet):
    (fleet.states / "web.zy").write_text("second\n")
    (fleet.states / "more.zy").write_text("more\n")
    (fleet.states / "deep/large.bin").unlink()
    publish(fleet)
    publish(fleet)  # nothing changed: no revision
    new, old = revisions(fleet, "states")
    assert new["revision"] > old["revision"] and old["added"] == 2 and old["files"] == 2
    assert [new[key] for key in ("files", "added", "changed", "removed")] == [2, 1, 1, 1]
    assert {(row["change"], row["path"]) for row in new["changes"]} == {("removed", "deep/large.bin"), ("added", "more.zy"), ("changed", "web.zy")}
    text = fleet.zester("fileserver", "history").stdout
    assert text.splitlines()[0].split()[:3] == ["REVISION", "TREE", "PUBLISHED"]
    assert "added    more.zy" in fleet.zester("fileserver", "history", "states", str(new["revision"])).stdout


def test_a_rollback_changes_the_folder_and_is_a_new_revision(fleet):
    new, old = revisions(fleet, "states")
    os.symlink("/etc", fleet.states / "link")
    reply = rollback(fleet, "states", old["revision"])
    assert reply["files"] == 3 and reply["revision"] > new["revision"]
    assert (fleet.states / "web.zy").read_text() == "first\n"
    assert (fleet.states / "deep/large.bin").read_text() == "x" * 400_000
    assert not (fleet.states / "more.zy").exists() and (fleet.states / "link").is_symlink()
    rows = revisions(fleet, "states")
    assert rows[0]["manifest"] == old["manifest"] and rows[0]["restored"] == old["revision"] and rows[0]["operator"]
    assert fleet.one.has_logged("audit action=fileserver.rollback result=ok")
    publish(fleet)
    assert revisions(fleet, "states") == rows, "the next round does not undo it"
    assert rollback(fleet, "states", old["revision"])["files"] == 0
    assert "as in revision" in fleet.zester("fileserver", "rollback", "states", str(new["revision"])).stdout
    assert (fleet.states / "web.zy").read_text() == "second\n"
    (fleet.states / "link").unlink()


def test_edits_that_were_not_published_are_kept_as_a_revision(fleet):
    target = revisions(fleet, "states")[0]
    (fleet.states / "web.zy").write_text("unpublished\n")
    (fleet.states / "other.zy").write_text("other\n")
    rollback(fleet, "states", target["revision"])
    now, kept = revisions(fleet, "states")[:2]
    assert now["manifest"] == target["manifest"] and kept["added"] == 1 and kept["changed"] == 1
    rollback(fleet, "states", kept["revision"])
    assert (fleet.states / "web.zy").read_text() == "unpublished\n"


def test_a_folder_that_was_emptied_comes_back(fleet):
    for path in fleet.states.rglob("*.zy"):
        path.unlink()
    rollback(fleet, "states", revisions(fleet, "states")[0]["revision"])
    assert (fleet.states / "web.zy").read_text() == "unpublished\n"


def test_settings_come_back_with_their_secrets_which_the_history_does_not_show(fleet):
    first = revisions(fleet, "settings")[0]
    (fleet.settings / "db.zy").write_text("password: !encrypted other-secret\n")
    publish(fleet)
    rollback(fleet, "settings", first["revision"])
    assert (fleet.settings / "db.zy").read_text() == "password: !encrypted hunter2\n"
    stored = b"".join(path.read_bytes() for path in (fleet.folder / "js").rglob("*") if path.is_file())
    assert b"settings.blob." in stored and b"hunter2" not in stored and b"other-secret" not in stored


def test_old_revisions_and_files_that_only_they_had_are_removed(fleet):
    (fleet.states / "brief.zy").write_text("brief content\n")
    publish(fleet)
    (fleet.states / "brief.zy").unlink()
    before = revisions(fleet, "states")[0]["revision"]
    for number in range(KEEP + 1):
        (fleet.states / "web.zy").write_text(f"edit {number}\n")
        publish(fleet)
    rows = revisions(fleet, "states")
    assert len(rows) == KEEP and all(row["revision"] > before for row in rows)
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        body = json.dumps({"subjects_filter": "$KV.tree-history.states.>"}).encode()
        kept = json.loads(bus.request("$JS.API.STREAM.INFO.KV_tree-history", body))["state"]["subjects"]
    assert len([key for key in kept if ".revision." in key]) == len([key for key in kept if ".manifest." in key]) == KEEP
    # web.zy in each of them, more.zy and other.zy once
    assert len([key for key in kept if ".blob." in key]) == KEEP + 2
    assert "is not recorded" in rollback(fleet, "states", before, status=1)["err"]


def test_what_cannot_be_brought_back_is_refused_with_the_reason(fleet):
    answer = fleet.zester("fileserver", "rollback", "states", "999999", status=1)
    assert "revision 999999 is not recorded" in answer.stderr
    assert "invalid tree 'nothing'" in fleet.zester("fileserver", "rollback", "nothing", "1", status=None).stderr
    assert "invalid revision 'first'" in fleet.zester("fileserver", "rollback", "states", "first", status=None).stderr
    subprocess.run(["git", "init", "-q", str(fleet.states)], check=True)
    before = (fleet.states / "web.zy").read_text()
    answer = fleet.zester("fileserver", "rollback", "states", str(revisions(fleet, "states")[1]["revision"]), status=1)
    assert "is a git checkout" in answer.stderr and (fleet.states / "web.zy").read_text() == before
    assert fleet.one.has_logged("audit action=fileserver.rollback result=refused")
    subprocess.run(["rm", "-r", str(fleet.states / ".git")], check=True)


def test_a_master_that_is_killed_in_the_middle_finishes_before_it_publishes(fleet):
    (fleet.states / "web.zy").write_text("before\n")
    (fleet.states / "second.zy").write_text("before\n")
    publish(fleet)
    target = revisions(fleet, "states")[0]
    (fleet.states / "web.zy").write_text("after\n")
    (fleet.states / "second.zy").write_text("after\n")
    publish(fleet)
    last = revisions(fleet, "states")[0]
    fleet.one.stop()
    fleet.one.environment = {"ZESTER_CRASH": "tree-file-placed:1:0"}
    fleet.one.start()
    fleet.wait(lambda: fleet.one.metric("zester_master_publisher_leader") == 1, "it publishes")
    fleet.zester("fileserver", "rollback", "states", str(target["revision"]), "--timeout", "2s", status=None)
    fleet.wait(lambda: not fleet.one.is_running(), "it was killed")
    assert {(fleet.states / name).read_text() for name in ("web.zy", "second.zy")} == {"before\n", "after\n"}
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:  # it need not wait for its lease to end
        bus.request("$JS.API.STREAM.PURGE.KV_leases", b'{"filter": "$KV.leases.publisher"}')
    fleet.one.environment = None
    fleet.one.start()
    fleet.wait(lambda: revisions(fleet, "states")[0]["manifest"] == target["manifest"], "the rollback is finished")
    assert revisions(fleet, "states")[1]["revision"] == last["revision"], "no mixture was published"
    assert (fleet.states / "web.zy").read_text() == (fleet.states / "second.zy").read_text() == "before\n"
    assert not (fleet.states / ".zester-rollback").exists()
