"""Somebody with the power of a server, but without the key of the account, changes published trees and forges requests: nobody believes it."""
import base64
import hashlib
import json
import os
import signal
import time

import pytest

from bus import Bus, pack
from fleet import SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
TREES = {"states": {"web.zy": "said: {cmd.run: [{name: echo one}]}\n"}, "settings": {"top.zy": "base: {'*': [color]}\n", "color.zy": "color: red\n"},
         "reactor": {"top.zy": "reactor: [{'deploy/*': [reactor.a]}]\n", "a.zy": "x: {log: {message: a}}\n"}}
FORGED = b"said: {cmd.run: [{name: echo forged}]}\n"
RECORDS = ("_manifest", "_signature")


class Intruder(Bus):
    """Writes to buckets as a server could."""

    def put(self, bucket, key, value):
        assert not self.store([(f"$KV.{bucket}.{key}", value, os.urandom(8).hex())])

    def get(self, bucket, key):
        query = json.dumps({"last_by_subj": f"$KV.{bucket}.{key}"}).encode()
        reply = json.loads(self.request(f"$JS.API.STREAM.MSG.GET.KV_{bucket}", query))
        return base64.b64decode(reply["message"]["data"])

    def delete(self, bucket, key):
        assert not self.store([(f"$KV.{bucket}.{key}", b"", os.urandom(8).hex())], "KV-Operation: DEL\r\n")

    def announce(self, bucket):
        """There are news, say readers."""
        self.put(bucket, "_revision", str(int(self.get(bucket, "_revision")) + 1).encode())

    def forge(self, bucket, path, text):
        """A file, and a manifest that fits."""
        self.put(bucket, path, text)
        self.put(bucket, "_manifest", pack({"files": [{"key": path, "sha256": hashlib.sha256(text).hexdigest()}]}))
        self.announce(bucket)

    def copy(self, bucket, path):
        """All of a tree of one file."""
        return {key: self.get(bucket, key) for key in (path, *RECORDS)}

    def replay(self, bucket, values):
        for key, value in values.items():
            self.put(bucket, key, value)
        self.announce(bucket)


def start_master(fleet, name, **more):
    """One that does not repair by itself what somebody changed on the bus."""
    for tree, files in TREES.items():
        (fleet.folder / name / tree).mkdir(parents=True)
        for path, text in files.items():
            (fleet.folder / name / tree / path).write_text(text)
    return fleet.start_master(name, publisher_status_file="", files_republish_interval="1h", files_mirror_after="0s", files_watch=False, **more)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("signed")) as fleet:
        fleet.start_server()
        fleet.one = start_master(fleet, "one")
        fleet.wait(lambda: all(fleet.one.has_logged(f"published {name}:") for name in TREES), "the first one publishes")
        fleet.two = start_master(fleet, "two")
        fleet.wait_ready(fleet.two)
        fleet.peel = start_peel(fleet, fleet.one, "web-01")
        fleet.wait(lambda: said(fleet) == "one", "the peel has the tree")
        yield fleet


@pytest.fixture
def intruder(fleet):
    with Intruder(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as intruder:
        yield intruder
    fleet.zester("fileserver", "update", "--force")
    said(fleet)
    fleet.wait(lambda: fleet.peel.checks().get("files") == "ok", "the peel has what masters publish")


def said(fleet):
    """What the states of the peel print when they are applied."""
    results = fleet.zester_json("web-01", "state.apply", "web", status=None)[0].get("results")
    return results[0]["details"]["stdout"] if results else ""


def publish(fleet, word):
    """A tree of states that says it."""
    (fleet.folder / "one/states/web.zy").write_text(TREES["states"]["web.zy"].replace("one", word))
    fleet.zester("fileserver", "update")
    fleet.wait(lambda: said(fleet) == word, f"the states say {word}")


def is_refused(fleet, reason):
    """The peel says why it keeps the files that it has. A job lets it look at once."""
    said(fleet)
    fleet.wait(lambda: fleet.peel.checks().get("files") == "degraded" and reason in fleet.peel.get("/readyz")[1], f"refused: {reason}")
    return f"files not synced, trying again bucket=state-files error={reason}" in fleet.peel.log()


def test_a_tree_that_somebody_changed_on_the_bus_is_not_used_and_the_reason_is_reported(fleet, intruder):
    intruder.forge("state-files", "web.zy", FORGED)
    assert is_refused(fleet, "the signature of the manifest is not that of the account")
    assert said(fleet) == "one"
    intruder.delete("state-files", "_signature")
    intruder.announce("state-files")
    assert is_refused(fleet, "the tree is not signed")
    assert said(fleet) == "one"


def test_an_old_tree_with_its_good_signature_is_not_used_again_and_a_rollback_of_an_operator_is(fleet, intruder):
    old = intruder.copy("state-files", "web.zy")
    publish(fleet, "two")
    intruder.replay("state-files", old)
    assert is_refused(fleet, "revision")
    assert "was signed before" in fleet.peel.log()
    assert said(fleet) == "two"
    fleet.zester("fileserver", "update", "--force")
    first = min(row["revision"] for row in fleet.zester_json("fileserver", "history", "states"))
    fleet.zester("fileserver", "rollback", "states", first)
    fleet.wait(lambda: said(fleet) == "one", "the states are as they were")


def test_a_signature_of_one_tree_is_none_of_another(fleet, intruder):
    for key in RECORDS:
        intruder.put("state-files", key, intruder.get("settings-files", key))
    intruder.announce("state-files")
    assert is_refused(fleet, "the signature of the manifest is not that of the account")


def test_masters_do_not_believe_it_either(fleet, intruder):
    """Else one that takes over would publish it, with its own signature."""
    intruder.forge("state-files", "web.zy", FORGED)
    fleet.wait(lambda: fleet.two.has_logged("states is not in step with what is published: the signature of the manifest"), "the standby refuses it")
    assert b"forged" not in (fleet.folder / "two/states/web.zy").read_bytes()
    intruder.forge("reactor-files", "reactor/top.zy", b"reactor: [{'*': [reactor.evil]}]\n")
    fleet.wait(lambda: all(any("the signature of the manifest is not that of the account" in line.get("msg", "") and "rules" in line.get("msg", "")
                               for line in master.lines()) for master in (fleet.one, fleet.two)), "masters keep their rules")


def test_an_earlier_revision_that_somebody_changed_is_not_brought_back(fleet, intruder):
    publish(fleet, "three")
    revisions = [row["revision"] for row in fleet.zester_json("fileserver", "history", "states")]
    manifest = pack({"files": [{"key": "web.zy", "sha256": hashlib.sha256(FORGED).hexdigest()}]})
    intruder.put("tree-history", f"states.manifest.{min(revisions)}", manifest)
    intruder.put("tree-history", f"states.blob.{hashlib.sha256(FORGED).hexdigest()}", FORGED)
    result = fleet.zester("fileserver", "rollback", "states", min(revisions), status=1)
    assert "the signature of the manifest is not that of the account" in result.stderr
    assert said(fleet) == "three"
    publish(fleet, "one")


def test_the_account_of_a_machine_stays_what_it_was_at_its_enrollment(fleet):
    pinned = fleet.peel.folder / "auth/web-01.account"
    account = pinned.read_text()
    assert account.startswith("A")
    fleet.peel.stop()
    pinned.write_text("ACFVQ7QUNDXWTKEO2QIMGEYLWOPHQZ3D7FQJDXEHUNEZ4ZBZDVDNAOAL\n")
    fleet.peel.start()
    fleet.wait(lambda: fleet.peel.has_logged(f"the credentials are of the account '{account.strip()}', this machine belongs to"), "it refuses")
    pinned.write_text(account)
    fleet.wait_ready(fleet.peel)


# --- requests ---------------------------------------------------------------------------


def listen(intruder, peel):
    """All that is sent to a peel, with headers."""
    intruder.send(f"SUB zester.cmd.{peel} 77\r\n".encode())
    intruder.flush()


def catch(intruder):
    """The next request as it was sent: header and payload."""
    while True:
        words = intruder.line().decode().split()
        if words[0] == "PING":
            intruder.send(b"PONG\r\n")
        elif words[0] == "HMSG":
            data = intruder.take(int(words[-1]))
            return data[:int(words[-2])], data[int(words[-2]):]


def deliver(intruder, peel, header, payload):
    intruder.send(f"HPUB zester.cmd.{peel} {len(header)} {len(header) + len(payload)}\r\n".encode() + header + payload + b"\r\n")
    intruder.flush()


def request(jid, command):
    return pack({"v": 1, "jid": jid, "module": "cmd.run", "id": command, "args": {"name": command}, "epoch": 1})


def refusals(peel):
    return peel.metric("zester_peel_requests_refused_total") or 0


def is_warned(fleet, peel, reason):
    fleet.wait(lambda: any("request refused" in line["msg"] and reason in line["msg"] for line in peel.lines()), f"refused: {reason}")
    return True


@pytest.fixture(scope="module")
def strict(fleet):
    """Peels that run only what was signed, and masters that sign."""
    for master in (fleet.one, fleet.two):
        master.conf_path.write_text(json.dumps({**master.conf, "sign_requests": True, "require_signed_requests": True}))
        master.send(signal.SIGHUP)
        fleet.wait(lambda master=master: master.has_logged("configuration reloaded"), "it has read its configuration")
    fleet.strict = [start_peel(fleet, fleet.one, name, require_signed_requests=True) for name in ("db-01", "db-02")]
    return fleet


def test_jobs_direct_requests_and_schedules_work_when_everything_must_be_signed(strict):
    assert strict.zester("db-*", "test.ping").stdout.count("true") == 2
    assert strict.zester("db-01", "cmd.run", "echo direct", "--direct").stdout.count("direct")
    assert strict.zester("db-*", "cmd.run", "echo waves", "--batch", "1").stdout.count("waves") == 1
    assert all(refusals(peel) == 0 for peel in strict.strict)


def test_a_forged_request_is_refused_and_says_why(strict, intruder, tmp_path):
    mark = tmp_path / "mark"
    peel = strict.strict[0]
    intruder.publish("zester.cmd.db-01", request("forged1", f"touch {mark}"))
    intruder.flush()
    assert is_warned(strict, peel, "it is not signed")
    answer = intruder.request("zester.cmd.db-01", request("", f"touch {mark}"))
    assert b"request refused: it is not signed" in answer and b"sign_requests: true" in answer
    strict.wait(lambda: refusals(peel) == 2, "it counts them")
    assert not mark.exists()


def test_a_signed_request_is_good_for_its_peel_and_once(strict, intruder, tmp_path):
    mark = tmp_path / "mark"
    listen(intruder, "db-01")
    strict.zester("db-01", "cmd.run", f"echo x >> {mark}")
    header, payload = catch(intruder)
    assert b"Zester-Signature: 1 " in header and b"Zester-Jwt" not in header
    deliver(intruder, "db-02", header, payload)
    assert is_warned(strict, strict.strict[1], "its signature does not match")
    deliver(intruder, "db-01", header, payload.replace(b"echo x", b"echo y"))
    assert is_warned(strict, strict.strict[0], "its signature does not match")
    deliver(intruder, "db-01", header, payload)
    strict.zester("db-01", "cmd.run", f"echo direct >> {mark}", "--direct")
    catch(intruder), catch(intruder), catch(intruder)  # its own
    header, payload = catch(intruder)
    assert b"Zester-Jwt: " in header
    deliver(intruder, "db-01", header, payload)
    strict.zester("db-*", "test.ping")
    assert mark.read_text() == "x\ndirect\n"


def test_masters_do_not_sign_for_somebody_who_is_no_operator(strict, intruder, tmp_path):
    mark = tmp_path / "mark"
    job = {"jid": "forged2", "function": "cmd.run", "args": {"name": f"touch {mark}"}, "targets": ["db-01"], "timeout": 10**10,
           "status": "pending", "created": 1.0, "updated": 1.0, "user": "root", "state_id": f"touch {mark}"}
    assert b"it is not signed" in intruder.request("zester.job.dispatch", pack(job))
    # the record of a job whose master is gone
    job.update(jid="forged3", status="running", owner="master-gone", epoch=1, deadline=time.time() + 600, v=1)
    intruder.put("jobs", "active.forged3", pack({"owner": "master-gone", "updated": time.time()}))
    intruder.put("jobs", "forged3", pack(job))
    shown = strict.wait(lambda: next((row for row in [strict.zester_json("job", "show", "forged3", status=None)] if row["status"] == "failed"), None),
                        "a master ends it")
    assert "not signed by a master" in shown["metadata"]["failed_reason"]
    assert not mark.exists()


def test_a_job_goes_on_when_another_master_takes_it_over(strict, tmp_path):
    hold, mark = tmp_path / "hold", tmp_path / "mark"
    hold.touch()
    jid = strict.zester_json("db-*", "cmd.run", f"while [ -e {hold} ]; do sleep 0.1; done; echo x >> {mark}", "--async", "--batch", "1")["jid"]
    owner = strict.wait(lambda: strict.zester_json("job", "show", jid).get("owner"), "a master has it")
    master = next(master for master in (strict.one, strict.two) if owner in master.log())
    master.kill()
    strict.wait(lambda: any(f"job {jid}: taking over" in other.log() for other in (strict.one, strict.two)), "the other one takes it over")
    hold.unlink()
    strict.wait(lambda: strict.zester_json("job", "show", jid)["status"] == "complete", "it ends")
    assert mark.read_text() == "x\nx\n"
    assert all("request refused" not in line["msg"] or jid not in line["msg"] for peel in strict.strict for line in peel.lines())
