"""A fleet from its backup, as docs/howto/back-up-a-fleet.md drills it: both disks are lost, and no machine enrolls again.

Kills at random moments are in test_backup_faults.py.
"""
import json
import os
import shutil
import signal
import subprocess

import pytest

from fleet import BUILD, SERVER, Fleet, read_marks
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

RULES = {"top.zy": "reactor:\n  - '_admin/deploy': [reactor.deploy]\n", "deploy.zy": """mark:
  dispatch.module:
    target: web-01
    function: cmd.run
    args: { name: "echo {{ data.what }} >> MARKS" }
"""}
PEELS = ["web-01", "web-02", "db-01"]


def write_tree(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def make_key(fleet, name="key"):
    path = fleet.folder / name
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


def backup(fleet, path, *more, **also):
    return fleet.run("zester-master", "backup", path, "--key-file", fleet.key, "--config", fleet.master.conf_path,
                     "--nats-conf", fleet.folder / "nats.conf", *more, **also)


def restore(fleet, path, *more, **also):
    return fleet.run("zester-master", "restore", path, "--key-file", fleet.key, *more, **also)


def verify(fleet, path, *more, **also):
    return fleet.run("zester-master", "verify", path, "--key-file", fleet.key, *more, **also)


def lose_disks(fleet):
    """The master and the server are gone, with all that they had."""
    fleet.master.kill()
    fleet.server.kill()
    for path in ("js", "auth", "master", "tree", "settings", "rules"):
        shutil.rmtree(fleet.folder / path)
    for path in ("nats.conf", "master.yaml"):
        (fleet.folder / path).unlink()


def start_again(fleet):
    fleet.server.start()
    fleet.wait(lambda: fleet.listens(fleet.port), "nats-server listens")
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: fleet.zester("*", "test.ping", status=None).returncode == 0, "every peel answers")


def has_tree(fleet, text):
    return all(text in (fleet.folder / name / "states/one.zy").read_text() for name in PEELS)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("backup")) as fleet:
        fleet.marks = fleet.folder / "marks"
        write_tree(fleet.folder / "tree", {"top.zy": "base: {'*': [one]}\n", "one.zy": "old:\n  test.succeed_without_changes\n"})
        write_tree(fleet.folder / "settings", {"top.zy": "base: {'*': [all]}\n", "all.zy": "password: !encrypted before-the-loss\n"})
        write_tree(fleet.folder / "rules", {name: text.replace("MARKS", str(fleet.marks)) for name, text in RULES.items()})
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, states_dir=f"{fleet.folder}/tree", settings_dir=f"{fleet.folder}/settings",
                                                reactor={"dir": f"{fleet.folder}/rules"})
        fleet.peels = {name: start_peel(fleet, fleet.master, name, schedule={"look": {"module": "test.ping", "interval": "1h"}})
                       for name in [*PEELS, "gone-01"]}
        fleet.key = make_key(fleet)
        fleet.wait(lambda: has_tree(fleet, "old"), "the peels have the tree")
        yield fleet


def test_a_restored_fleet_goes_on_and_repeats_nothing(fleet):
    gate, once = fleet.folder / "gate", fleet.folder / "once"
    fleet.zester("operator", "add", "alice", "--target", "web-*", "--function", "test.*", "--dir", fleet.auth, "--out", fleet.folder / "alice.creds")
    token = json.loads(fleet.run("zester-master", "token", "--config", fleet.master.conf_path, "--format", "json").stdout)
    fleet.zester("enroll", "revoke", "--peel", "gone-01", "--reason", "stolen")
    fleet.wait(lambda: fleet.peels["gone-01"].has_logged("evoked") or not fleet.peels["gone-01"].is_running() or
               fleet.peels["gone-01"].checks().get("nats") == "down", "it is cut off")
    ended = fleet.zester_json("web-01", "cmd.run", "echo history", "--async")["jid"]
    fleet.wait(lambda: fleet.zester_json("job", "show", ended)["job"]["status"] == "complete", "a job has ended")
    fleet.zester("event", "send", "deploy", "what=before")
    fleet.wait(lambda: read_marks(fleet.marks) == ["before"], "the rule has fired")
    running = fleet.zester_json("web-02", "cmd.run", f"echo once >> {once}; for i in $(seq 600); do [ -e {gate} ] && break; sleep 0.1; done",
                                "--async", "--timeout", "600s")["jid"]
    fleet.wait(once.exists, "a job runs")
    fleet.master.send(signal.SIGSTOP)  # so that an event waits
    fleet.zester("event", "send", "deploy", "what=waiting")
    backup(fleet, fleet.folder / "b.zb")
    fleet.master.send(signal.SIGCONT)
    fleet.wait(lambda: read_marks(fleet.marks) == ["before", "waiting"], "it fires after the backup")
    fleet.zester("event", "send", "deploy", "what=after")
    fleet.wait(lambda: read_marks(fleet.marks) == ["before", "waiting", "after"], "and another one")
    (fleet.folder / "tree/one.zy").write_text("new:\n  test.succeed_without_changes\n")
    fleet.wait(lambda: has_tree(fleet, "new"), "the peels have a later tree")

    lose_disks(fleet)
    said = restore(fleet, fleet.folder / "b.zb").stdout
    assert "jobs recorded as failed, because they had not ended: 1" in said
    assert "events skipped, because nobody had handled them: 1" in said
    assert "THE FLEET NOW HAS ITS STATE OF" in said
    enrolled = {name: fleet.peels[name].log().count("enrollment submitted") for name in PEELS}
    start_again(fleet)

    assert fleet.zester_json("job", "show", ended)["job"]["status"] == "complete"
    assert "restored from a backup" in json.dumps(fleet.zester_json("job", "show", running))
    assert [one["name"] for one in fleet.zester_json("operator", "list")] == ["alice"]
    assert token["id"] in fleet.run("zester-master", "token", "list", "--config", fleet.master.conf_path).stdout
    assert {name: fleet.peels[name].log().count("enrollment submitted") for name in PEELS} == enrolled
    fleet.wait(lambda: has_tree(fleet, "old"), "the peels have the tree of the backup")
    (fleet.folder / "settings/all.zy").write_text("password: !encrypted after-the-loss\n")
    fleet.wait(lambda: b"after-the-loss" in (fleet.folder / "web-01/data/settings-snapshot.msgpack").read_bytes(), "a peel opens a new secret")
    assert "true" in fleet.zester("web-01", "test.ping", "--creds", fleet.folder / "alice.creds").stdout
    fleet.zester("event", "send", "deploy", "what=restored")
    fleet.wait(lambda: "restored" in read_marks(fleet.marks), "the rule fires")
    gate.touch()
    fleet.zester("*", "test.ping")
    assert read_marks(fleet.marks) == ["before", "waiting", "after", "restored"]
    assert read_marks(once) == ["once"]
    rows = {row["peel_id"]: row["state"] for row in fleet.zester_json("enroll", "list", "-s", "all")}
    assert rows["gone-01"] == "revoked" and rows["web-01"] == "active"
    (fleet.folder / "tree/one.zy").write_text("newer:\n  test.succeed_without_changes\n")
    fleet.wait(lambda: has_tree(fleet, "newer"), "what is published now arrives")
    assert fleet.peels["gone-01"].checks().get("nats") != "ok"
    assert fleet.zester("doctor", status=None).returncode == 0


def test_what_is_in_a_backup_is_shown_and_damage_is_found(fleet):
    path = fleet.folder / "shown.zb"
    backup(fleet, path)
    assert path.stat().st_mode & 0o777 == 0o600
    shown = json.loads(verify(fleet, path, "--format", "json").stdout)
    assert shown["files"] > 10 and {stream["name"] for stream in shown["streams"]} >= {"events", "job-events", "KV_jobs", "KV_enrollments", "OBJ_files"}
    assert not {stream["name"] for stream in shown["streams"]} & {"KV_leases", "KV_master-heartbeat", "KV_peel-presence"}
    assert "complete and undamaged" in verify(fleet, path).stdout
    whole = path.read_bytes()
    for name in ("account.seed", "master.yaml", "echo history"):
        assert name.encode() not in whole
    for text, bytes_ in (("damaged at byte", whole[:5000] + b"x" + whole[5001:]), ("truncated: it ends after 5000 bytes", whole[:5000]),
                         ("truncated: it ends after", whole[:-1]), ("there are bytes after its end", whole + b"x"), ("not a backup", b"hello")):
        path.write_bytes(bytes_)
        result = verify(fleet, path, status=1)
        assert text in result.stderr and "complete" not in result.stdout, result.stderr
    path.write_bytes(whole)
    other = make_key(fleet, "other")
    assert "wrong key file" in fleet.run("zester-master", "verify", path, "--key-file", other, status=1).stderr
    assert "give --key-file" in fleet.run("zester-master", "verify", path, status=1).stderr


def test_a_backup_replaces_a_backup_and_nothing_else(fleet):
    path, key, pipe, link = (fleet.folder / name for name in ("again.zb", "precious", "pipe", "link.zb"))
    path.touch()
    backup(fleet, path)
    first = path.read_bytes()
    backup(fleet, path)
    assert path.read_bytes() != first
    key.write_text("x")
    os.mkfifo(pipe)
    link.symlink_to(path)
    for other, reason in ((key, "is not a backup of a fleet: it is not replaced"), (pipe, "is not a file, but a"), (link, "is not a file, but a"),
                          (fleet.folder, "is not a file, but a")):
        assert f"'{other}' " in (said := backup(fleet, other, status=1).stderr) and reason in said, said
        assert not other.with_name(f"{other.name}.part").exists()
    assert key.read_text() == "x" and pipe.is_fifo() and link.is_symlink()


def test_a_passphrase_comes_from_a_file_and_never_from_the_command_line(fleet):
    path, secret = fleet.folder / "p.zb", fleet.folder / "passphrase"
    secret.write_text("correct horse\n")
    secret.chmod(0o644)
    words = ("--config", fleet.master.conf_path, "--passphrase-file", secret)
    assert "others can read" in fleet.run("zester-master", "backup", path, *words, status=1).stderr
    assert not path.exists() and not path.with_suffix(".zb.part").exists()
    secret.chmod(0o600)
    fleet.run("zester-master", "backup", path, *words)
    assert "complete" in fleet.run("zester-master", "verify", path, "--passphrase-file", secret).stdout
    secret.write_text("wrong horse\n")
    assert "wrong passphrase" in fleet.run("zester-master", "verify", path, "--passphrase-file", secret, status=1).stderr
    asked = subprocess.run([f"{BUILD}/zester-master", "verify", path], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert asked.returncode == 1 and "there is no terminal to ask for the passphrase" in asked.stderr


def test_a_restore_refuses_a_fleet_that_works_and_files_that_differ(fleet):
    path = fleet.folder / "again.zb"
    backup(fleet, path)
    assert "a master is running" in restore(fleet, path, status=1).stderr
    fleet.master.stop()
    assert "the bus is not empty" in restore(fleet, path, status=1).stderr
    extra = fleet.folder / "tree/extra.zy"
    extra.write_text("")
    refused = restore(fleet, path, status=1).stderr
    assert f"{extra}: is not in the backup" in refused and "nothing was changed" in refused
    extra.unlink()
    (fleet.folder / "tree/one.zy").write_text("else:\n  test.nop\n")
    assert "one.zy: has another content" in restore(fleet, path, status=1).stderr
    restore(fleet, path, "--force")
    assert "newer" in (fleet.folder / "tree/one.zy").read_text()
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: fleet.zester("*", "test.ping", status=None).returncode == 0, "every peel answers")
