"""States that come from git remotes (`gitfs.remotes`): real repositories over file://, masters that die, remotes that break."""
import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from bus import Bus
from fleet import Fleet, yaml_of
from peels import start_peel
from rounds import run_during_a_round

# What a test of gitfs must not depend on: the configuration of whoever runs it.
GIT = {**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")}, "GIT_CONFIG_GLOBAL": "/dev/null",
       "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@example.org"}


def git(folder, *words):
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=GIT).stdout.strip()


class Repository:
    """A bare repository that masters know, and a working copy that pushes to it."""

    def __init__(self, folder, name):
        self.bare, self.copy = folder / "remotes" / f"{name}.git", folder / "copies" / name
        self.url = f"file://{self.bare}"
        self.bare.parent.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True, env=GIT)
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.copy)], check=True, env=GIT)

    def commit(self, files, branch="main", amend=False):
        """`files` are paths and texts; None removes one. Returns the commit that was pushed."""
        for path, text in files.items():
            place = self.copy / path
            if text is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        git(self.copy, "add", "-A")
        git(self.copy, "commit", "-q", "--allow-empty", "-m", "change", *(["--amend"] if amend else []))
        git(self.copy, "push", "-q", "--force", str(self.bare), f"HEAD:refs/heads/{branch}")
        return git(self.copy, "rev-parse", "HEAD")


def start(fleet, name, remotes, environment=None, **more):
    keys = {"publisher_status_file": "", "files_mirror_after": "0s", "files_republish_interval": "1s", **more}
    master = fleet.start_master(name, gitfs={"remotes": remotes, "interval": "1h"}, **keys)
    master.states = fleet.folder / name / "states"
    return master


def reload(fleet, master, **gitfs):
    """Another section `gitfs`, read by SIGHUP."""
    master.conf["gitfs"] = {"interval": "1h", **gitfs}
    master.conf_path.write_text(yaml_of(master.conf))
    before = master.log().count("configuration read again")
    master.send(signal.SIGHUP)
    fleet.wait(lambda: master.log().count("configuration read again") > before, "the configuration is read")


def update(fleet, status=0):
    """What `fileserver update` says about the states."""
    reply = fleet.zester_json("fileserver", "update", status=None)
    return next(row for row in reply["sets"] if row["name"] == "states")


def stored(fleet, key):
    """The bytes of a key of what is published; None: it is not there."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        answer = json.loads(bus.request("$JS.API.STREAM.MSG.GET.KV_state-files", json.dumps({"last_by_subj": f"$KV.state-files.{key}"}).encode()))
    message = answer.get("message", {})
    is_gone = not message or b"KV-Operation" in base64.b64decode(message.get("hdrs", ""))
    return None if is_gone else base64.b64decode(message.get("data", ""))


def published(fleet):
    """The paths that the manifest names."""
    return {key.decode() for key in re.findall(rb"\xa3key(?:[\xa0-\xbf]|\xd9.)([^\xa6]*)\xa6sha256", stored(fleet, "_manifest") or b"", re.S)}


def wait_content(fleet, path, text):
    fleet.wait(lambda: stored(fleet, path) == text.encode(), lambda: f"{path} is {text!r}, not {stored(fleet, path)!r}")


def read_cache(fleet, path):
    place = fleet.cache / path
    return place.read_text() if place.is_file() else None


def wait_cache(fleet, path, text):
    fleet.wait(lambda: read_cache(fleet, path) == text, lambda: f"{path} is {text!r}, not {read_cache(fleet, path)!r}")


def end_lease(fleet):
    """A master that was killed does not give it up."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        bus.request("$JS.API.STREAM.PURGE.KV_leases", b'{"filter": "$KV.leases.publisher"}')


def leads(master):
    return master.metric("zester_master_publisher_leader") == 1


def check(master):
    """Status and message of the check `gitfs`."""
    answer = json.loads(master.get("/readyz")[1])["checks"]["gitfs"]
    return answer["status"], answer.get("message", "")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("gitfs")) as fleet:
        fleet.start_server()
        fleet.web, fleet.infra = Repository(fleet.folder, "web"), Repository(fleet.folder, "infra")
        fleet.first = fleet.web.commit({"init.zy": "first\n", "deep/crlf.txt": "one\ntwo\n", ".gitattributes": "* text eol=crlf\n"})
        fleet.infra.commit({"salt/motd.zy": "prod\n", "README.md": "not published\n"}, branch="prod")
        fleet.remotes = [fleet.web.url, {"url": fleet.infra.url, "branch": "prod", "root": "salt", "name": "base"}]
        states = fleet.folder / "one/states"
        states.mkdir(parents=True)
        (states / "top.zy").write_text("base: {}\n")
        fleet.one = start(fleet, "one", fleet.remotes)
        fleet.wait_ready(fleet.one)
        fleet.peel = start_peel(fleet, fleet.one, "web-01")
        fleet.cache = fleet.folder / "web-01/states"
        yield fleet


def test_remotes_are_folders_of_the_published_tree(fleet):
    wait_cache(fleet, "web/init.zy", "first\n")
    wait_cache(fleet, "base/motd.zy", "prod\n")
    assert published(fleet) == {"top.zy", "web/init.zy", "web/deep/crlf.txt", "base/motd.zy"}, "neither .git, nor what is outside of root"
    assert (fleet.cache / "web/deep/crlf.txt").read_bytes() == b"one\ntwo\n", "byte for byte as it was committed"
    assert git(fleet.one.states / "web", "rev-parse", "HEAD") == fleet.first
    assert git(fleet.one.states / "web", "status", "--porcelain") == git(fleet.one.states / "base", "status", "--porcelain") == ""
    fleet.wait(lambda: check(fleet.one)[0] == "ok", lambda: check(fleet.one))
    assert f"web at {fleet.first[:12]}" in check(fleet.one)[1]
    assert fleet.one.has_logged(rf'audit action=gitfs.publish result=ok by=\"gitfs\" id=\"web@{fleet.first}\"')


def test_an_update_pulls_at_once_and_says_what_is_published(fleet):
    commit = fleet.web.commit({"init.zy": "second\n", "new.zy": "new\n", "deep/crlf.txt": None})
    row = update(fleet)
    assert row["changed"] and "skipped" not in row and f"web at {commit[:12]}" in row["note"]
    wait_cache(fleet, "web/init.zy", "second\n")
    assert read_cache(fleet, "web/new.zy") == "new\n" and read_cache(fleet, "web/deep/crlf.txt") is None
    row = update(fleet)
    assert not row["changed"] and row["skipped"] == "gitfs-managed"
    text = fleet.zester("fileserver", "update").stdout
    assert f"gitfs-managed: web at {commit[:12]}" in text
    assert fleet.one.metric('zester_gitfs_pulls_total{result="unchanged"}') > 0


def test_a_commit_arrives_without_being_asked_for(fleet):
    reload(fleet, fleet.one, remotes=fleet.remotes, interval="1s")
    fleet.infra.commit({"salt/motd.zy": "later\n"}, branch="prod")
    wait_content(fleet, "base/motd.zy", "later\n")
    reload(fleet, fleet.one, remotes=fleet.remotes)


def test_a_broken_remote_degrades_and_keeps_what_is_published(fleet):
    fleet.web.bare.rename(fleet.web.bare.with_suffix(".gone"))
    commit = fleet.infra.commit({"salt/motd.zy": "while web is broken\n"}, branch="prod")
    row = update(fleet)
    assert "web" in row["err"] and "does not appear to be a git repository" in row["err"] and f"base at {commit[:12]}" in row["note"]
    status, message = check(fleet.one)
    assert status == "degraded" and fleet.web.url in message and fleet.one.get("/readyz")[0] == 200
    assert fleet.one.metric('zester_gitfs_pulls_total{result="failed"}') > 0
    wait_content(fleet, "base/motd.zy", "while web is broken\n")
    assert stored(fleet, "web/init.zy") == b"second\n"
    (fleet.one.states / "web/init.zy").write_text("edited while it is broken\n")
    fleet.wait(lambda: (fleet.one.states / "web/init.zy").read_text() == "second\n", "an edit is reverted all the same")
    (fleet.one.states / "top.zy").write_text("base: {'*': []}\n")
    wait_content(fleet, "top.zy", "base: {'*': []}\n")
    fleet.web.bare.with_suffix(".gone").rename(fleet.web.bare)
    assert "err" not in update(fleet) and check(fleet.one)[0] == "ok"


def test_a_remote_that_hangs_does_not_keep_others_from_being_pulled(fleet):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = {"url": f"ssh://git@127.0.0.1:{silent.getsockname()[1]}/repo", "name": "aaa"}
        fleet.infra.commit({"salt/motd.zy": "while another hangs\n"}, branch="prod")
        reload(fleet, fleet.one, remotes=[hanging, *fleet.remotes])
        there = fleet.one.states / "base/motd.zy"
        began = time.monotonic()
        fleet.wait(lambda: there.read_text() == "while another hangs\n", "the other remote is pulled", seconds=25)
        assert time.monotonic() - began < 25  # ssh gives up after 30
        assert stored(fleet, "base/motd.zy") != b"while another hangs\n"  # nothing changes while folders may
        reload(fleet, fleet.one, remotes=fleet.remotes)
        wait_content(fleet, "base/motd.zy", "while another hangs\n")


def test_what_others_have_is_published_although_one_hangs(fleet):
    fleet.web.commit({"init.zy": "before it hangs\n"})
    reload(fleet, fleet.one, remotes=fleet.remotes)
    wait_content(fleet, "web/init.zy", "before it hangs\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = {"url": f"ssh://git@127.0.0.1:{silent.getsockname()[1]}/repo", "name": "web"}  # it moved, to where nobody answers
        fleet.infra.commit({"salt/motd.zy": "although another hangs\n"}, branch="prod")
        began = time.monotonic()
        reload(fleet, fleet.one, remotes=[hanging, fleet.remotes[1]], timeout="2s")
        wait_content(fleet, "base/motd.zy", "although another hangs\n")
        assert time.monotonic() - began < 20  # ssh alone would wait for 30
        fleet.wait(lambda: "no answer within 2 seconds ('gitfs.timeout')" in check(fleet.one)[1], lambda: check(fleet.one))
        assert check(fleet.one)[0] == "degraded" and stored(fleet, "web/init.zy") == b"before it hangs\n"
        assert "no answer within 2 seconds" in update(fleet)["err"]
    reload(fleet, fleet.one, remotes=fleet.remotes)
    fleet.wait(lambda: check(fleet.one)[0] == "ok", lambda: check(fleet.one))


def test_a_branch_that_was_rewritten_is_followed_or_refused(fleet):
    commit = fleet.web.commit({"init.zy": "rewritten\n"}, amend=True)
    assert update(fleet)["changed"]
    wait_content(fleet, "web/init.zy", "rewritten\n")
    assert git(fleet.one.states / "web", "rev-parse", "HEAD") == commit
    assert fleet.one.has_logged("was rewritten (force push): following it remote=web")
    reload(fleet, fleet.one, remotes=[{"url": fleet.web.url, "force_push": "refuse"}, fleet.remotes[1]])
    fleet.wait(lambda: check(fleet.one)[0] == "ok", lambda: check(fleet.one))
    fleet.web.commit({"init.zy": "rewritten again\n"}, amend=True)
    row = update(fleet)
    assert "the branch was rewritten" in row["err"] and commit[:12] in row["err"]
    assert (fleet.one.states / "web/init.zy").read_text() == "rewritten\n"
    reload(fleet, fleet.one, remotes=fleet.remotes)
    wait_content(fleet, "web/init.zy", "rewritten again\n")


def test_edits_in_a_checkout_are_reverted_kept_and_never_published(fleet):
    states = fleet.one.states
    (states / "web/init.zy").write_text("edited here\n")
    (states / "web/extra.zy").write_text("added here\n")
    fleet.wait(lambda: fleet.one.has_logged("files were edited in the folder of a git remote"), "it is reported")
    fleet.wait(lambda: (states / "web/init.zy").read_text() == "rewritten again\n", "it is reverted")
    assert not (states / "web/extra.zy").exists()
    assert (states / ".zester-kept/web/init.zy").read_text() == "edited here\n"
    assert (states / ".zester-kept/web/extra.zy").read_text() == "added here\n"
    update(fleet)
    assert "web/extra.zy" not in published(fleet)
    shutil.rmtree(states / "web")
    assert "err" not in update(fleet) and (states / "web/init.zy").read_text() == "rewritten again\n"


def test_a_rollback_of_states_that_come_from_git_is_refused(fleet):
    rows = fleet.zester_json("fileserver", "history", "states")
    answer = fleet.zester("fileserver", "rollback", "states", str(rows[-1]["revision"]), status=1)
    assert "revert the commit there" in answer.stderr


def test_a_canary_gets_commits_first_and_is_aborted_after_they_were_reverted(fleet):
    text = (fleet.one.states / "web/init.zy").read_text()
    fleet.zester("fileserver", "canary", "web-01")
    commit = fleet.web.commit({"init.zy": "tried\n"})
    row = update(fleet)
    assert row["changed"] and row["note"].startswith(f"canary: only for web-01: web at {commit[:12]}")
    wait_cache(fleet, "web/init.zy", "tried\n")
    assert stored(fleet, "web/init.zy") == text.encode(), "all others keep what they have"
    answer = fleet.zester("fileserver", "canary", "--abort", status=1)
    assert "the states come from git ('gitfs.remotes'): revert the commit there instead, then abort the canary" in answer.stderr
    assert read_cache(fleet, "web/init.zy") == "tried\n"
    fleet.web.commit({"init.zy": text})
    assert "err" not in update(fleet)
    run_during_a_round(fleet, fleet.one, "canary", "--abort")
    wait_cache(fleet, "web/init.zy", text)
    fleet.zester("fileserver", "canary", "web-01")
    fleet.web.commit({"init.zy": "tried again\n"})
    assert "err" not in update(fleet)
    wait_cache(fleet, "web/init.zy", "tried again\n")
    run_during_a_round(fleet, fleet.one, "promote")
    wait_content(fleet, "web/init.zy", "tried again\n")
    fleet.web.commit({"init.zy": text})
    assert "err" not in update(fleet)


@pytest.mark.parametrize("step", ["gitfs-fetching", "gitfs-fetched", "gitfs-checked-out", "gitfs-swapped"])
def test_a_master_that_is_killed_during_a_clone_publishes_no_half(fleet, step):
    name = step.removeprefix("gitfs-")
    fresh = Repository(fleet.folder, name)
    fresh.commit({f"{number}.zy": f"{step} {number}\n" for number in range(20)})
    fleet.one.stop()
    fleet.one.environment = {"ZESTER_CRASH": f"{step}:1:0"}
    fleet.one.conf["gitfs"] = {"remotes": [*fleet.remotes, fresh.url], "interval": "1h"}
    fleet.one.conf_path.write_text(yaml_of(fleet.one.conf))
    fleet.one.start()
    fleet.wait(lambda: not fleet.one.is_running(), "it was killed")
    assert not any(key.startswith(name) for key in published(fleet))
    end_lease(fleet)
    fleet.one.environment = None
    fleet.one.start()
    fleet.wait(lambda: sum(key.startswith(name) for key in published(fleet)) == 20, "all of it is published")
    fleet.wait(lambda: check(fleet.one)[0] == "ok", lambda: check(fleet.one))
    store = fleet.one.states / ".zester-gitfs"
    assert not [entry for entry in store.iterdir() if entry.name.endswith((".new", ".old"))]
    assert git(fleet.one.states / name, "status", "--porcelain") == ""


def test_the_folder_of_a_remote_that_is_no_longer_listed_goes_if_it_is_ours(fleet):
    states = fleet.one.states
    reload(fleet, fleet.one, remotes=[*fleet.remotes, *({"url": fleet.web.url, "name": name} for name in ("away", "mine"))])
    fleet.wait(lambda: {"away/init.zy", "mine/init.zy"} <= published(fleet), "both are published")
    shutil.rmtree(states / "mine")
    (states / "mine").mkdir()
    (states / "mine/own.zy").write_text("not from git\n")
    (states / "away/init.zy").write_text("edited\n")
    reload(fleet, fleet.one, remotes=fleet.remotes)
    fleet.wait(lambda: not any(key.startswith("away/") for key in published(fleet)), "it is no longer published")
    assert not (states / "away").exists() and not (states / ".zester-gitfs/away.git").exists()
    assert (states / ".zester-kept/away/init.zy").read_text() == "edited\n"
    assert fleet.one.has_logged("removed its folder and its repository name=away")
    assert (states / "mine/own.zy").exists() and fleet.one.has_logged("the folder stays name=mine")
    reload(fleet, fleet.one, remotes=[*fleet.remotes, {"url": fleet.web.url, "name": "mine"}])
    fleet.wait(lambda: check(fleet.one)[0] == "degraded", "it is refused")
    assert "was not cloned from a remote" in check(fleet.one)[1] and (states / "mine/own.zy").read_text() == "not from git\n"
    shutil.rmtree(states / "mine")
    reload(fleet, fleet.one, remotes=fleet.remotes)
    fleet.wait(lambda: check(fleet.one)[0] == "ok", lambda: check(fleet.one))


def test_another_master_clones_itself_and_publishes_nothing_old(fleet):
    top = (fleet.one.states / "top.zy").read_text()
    fleet.web.commit({"init.zy": "before the takeover\n"})
    update(fleet)
    two_states = fleet.folder / "two/states"
    two_states.mkdir(parents=True)
    (two_states / "top.zy").write_text(top)
    fleet.two = start(fleet, "two", fleet.remotes)
    fleet.wait(lambda: fleet.two.checks().get("gitfs") == "ok", "it is ready")
    assert check(fleet.two) == ("ok", "standby") and not (two_states / "web").exists()
    before = published(fleet)
    fleet.web.bare.rename(fleet.web.bare.with_suffix(".gone"))
    fleet.one.kill()
    end_lease(fleet)
    fleet.wait(lambda: leads(fleet.two), "the second one leads")
    fleet.wait(lambda: fleet.two.has_logged("git remote failed"), "it cannot clone")
    assert published(fleet) == before and not fleet.two.has_logged("published states:")
    fleet.web.bare.with_suffix(".gone").rename(fleet.web.bare)
    fleet.web.commit({"init.zy": "after the takeover\n"})
    assert "err" not in update(fleet)
    wait_content(fleet, "web/init.zy", "after the takeover\n")
    assert published(fleet) == before
    fleet.web.commit({"init.zy": "the first one is back\n"})
    fleet.one.start()
    fleet.two.stop()  # which gives the lease up
    fleet.wait(lambda: leads(fleet.one), "the first one leads again")
    wait_content(fleet, "web/init.zy", "the first one is back\n")
    assert not fleet.one.has_logged("files were edited in the folder of a git remote: reverted, and kept in '.zester-kept' remote=base")


def test_mistakes_in_the_configuration_are_reported_with_their_place(fleet):
    path = fleet.folder / "bad.yaml"
    path.write_text("nats_url: tls://127.0.0.1:1\ngitfs:\n  remotes:\n  - ext::sh -c id\n  - --upload-pack=x\n  - http://host/a.git\n  - https://host/a.git\n"
                    "  - {url: ssh://host/a.git}\n  - {url: https://host/c.git, mountpoint: x}\n  - {url: https://host/d.git, root: ../x}\n"
                    "  - https://me:s3cret@/e.git\n")
    said = fleet.run("zester-master", "--config", path, status=None)
    for line, text in ((4, "must not run a command"), (5, "must not begin with '-'"), (6, "not accepted"), (8, "two remotes are called 'a'"),
                       (9, "mountpoint"), (10, "not a path inside"), (11, "names a host")):
        assert any(f"bad.yaml:{line}:" in row and text in row for row in said.stderr.splitlines()), (line, text, said.stderr)
    assert said.returncode == 1 and "s3cret" not in said.stderr


def test_a_master_without_git_says_what_to_install(fleet):
    before = published(fleet)
    fleet.one.stop()
    fleet.one.environment = {"PATH": str(fleet.folder / "nothing")}
    fleet.one.start()
    fleet.wait(lambda: fleet.one.get("/readyz")[0] == 200 and "git is not installed" in check(fleet.one)[1], lambda: fleet.one.get("/readyz"))
    assert check(fleet.one)[0] == "degraded" and "apt install git" in check(fleet.one)[1]
    assert published(fleet) == before
