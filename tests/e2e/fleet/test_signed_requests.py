"""Peels that run only what was signed: somebody with the power of a server forges, changes and repeats requests, and nothing of it runs."""
import base64
import json
import os
import time

import pytest

from bus import read_creds
from enroll_client import sign
from fleet import SERVER, Fleet
from intruder import Intruder
from packing import pack
from peels import start_peel, write_secret

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


def request(jid, command):
    return pack({"v": 1, "jid": jid, "module": "cmd.run", "id": command, "args": {"name": command}, "epoch": 1})


def refusals(peel):
    return peel.metric("zester_peel_requests_refused_total") or 0


def is_warned(fleet, peel, reason):
    fleet.wait(lambda: any("request refused" in line["msg"] and reason in line["msg"] for line in peel.lines()), f"refused: {reason}")
    return True


def show(fleet, jid):
    """The record of a job."""
    return fleet.zester_json("job", "show", jid, status=None)["job"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Peels that run only what was signed, and masters that sign what operators have signed."""
    with Fleet(tmp_path_factory.mktemp("requests")) as fleet:
        fleet.start_server()
        fleet.masters = [fleet.start_ready_master(name, sign_requests=True, require_signed_requests=True) for name in ("one", "two")]
        fleet.peels = [start_peel(fleet, fleet.masters[0], name, require_signed_requests=True) for name in ("db-01", "db-02")]
        yield fleet


@pytest.fixture
def intruder(fleet):
    with Intruder(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as intruder:
        yield intruder


def test_jobs_batches_and_direct_requests_work_when_everything_must_be_signed(fleet):
    assert fleet.zester("db-*", "test.ping").stdout.count("true") == 2
    assert fleet.zester("db-01", "cmd.run", "echo direct", "--direct").stdout.count("direct")
    assert fleet.zester("db-*", "cmd.run", "echo waves", "--batch", "1").stdout.count("waves") == 2
    assert all(refusals(peel) == 0 for peel in fleet.peels)


def test_a_forged_request_is_refused_and_says_why(fleet, intruder, tmp_path):
    mark = tmp_path / "mark"
    peel = fleet.peels[0]
    intruder.publish("zester.cmd.db-01", request("forged1", f"touch {mark}"))
    intruder.flush()
    assert is_warned(fleet, peel, "it is not signed")
    answer = intruder.request("zester.cmd.db-01", request("", f"touch {mark}"))
    assert b"request refused: it is not signed" in answer and b"sign_requests: true" in answer
    fleet.wait(lambda: refusals(peel) == 2, "it counts them")
    assert not mark.exists()


def test_a_signed_request_is_good_for_its_peel_and_once(fleet, intruder, tmp_path):
    mark = tmp_path / "mark"
    intruder.listen("db-01")
    fleet.zester("db-01", "cmd.run", f"echo x >> {mark}")
    header, payload = intruder.catch()
    assert b"Zester-Signature: 1 " in header and b"Zester-Jwt" not in header
    intruder.deliver("db-02", header, payload)
    assert is_warned(fleet, fleet.peels[1], "its signature does not match")
    intruder.deliver("db-01", header, payload.replace(b"echo x", b"echo y"))
    assert is_warned(fleet, fleet.peels[0], "its signature does not match")
    intruder.deliver("db-01", header, payload)
    fleet.zester("db-01", "cmd.run", f"echo direct >> {mark}", "--direct")
    header, payload = intruder.catch()
    assert b"Zester-Jwt: " in header
    intruder.deliver("db-01", header, payload, f"{intruder.inbox}.again")
    assert is_warned(fleet, fleet.peels[0], "it was delivered before")
    fleet.zester("db-*", "test.ping")
    assert mark.read_text() == "x\ndirect\n"


def test_masters_do_not_sign_for_somebody_who_is_no_operator(fleet, intruder, tmp_path):
    mark = tmp_path / "mark"
    job = {"jid": "forged2", "function": "cmd.run", "args": {"name": f"touch {mark}"}, "targets": ["db-01"], "timeout": 10**10,
           "status": "pending", "created": 1.0, "updated": 1.0, "user": "root", "state_id": f"touch {mark}"}
    assert b"it is not signed" in intruder.request("zester.dispatch", pack(job))
    assert b"it is not signed" in intruder.request("zester.admin.enroll.approve", pack({"id": "x", "operator": "root"}))
    assert b"it is not signed" in intruder.request("zester.admin.fileserver.rollback", pack({"tree": "states", "revision": 1}))
    assert b"it is not signed" in intruder.request("zester.admin.fileserver.canary", pack({"act": "begin", "target": "*"}))
    assert "no canary: start one with" in fleet.zester("fileserver", "canary", "--abort", status=1).stderr, "what an operator asks for is considered"
    assert not mark.exists()


# --- who was removed -----------------------------------------------------------------------


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def let_ask_directly(fleet, name):
    """Credentials of an operator that somebody with the account's seed has issued by hand, with the grants of admin.creds."""
    head, body, _ = read_creds(creds(fleet, name))[0].split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    admin = read_creds(fleet.auth / "admin.creds")[0].split(".")[1]
    claims["nats"].update({key: json.loads(base64.urlsafe_b64decode(admin + "=="))["nats"][key] for key in ("pub", "sub", "issuer_account")})
    del claims["nats"]["tags"]  # they are of the fleet's account
    claims["iss"] = claims["nats"]["issuer_account"]
    account = (fleet.auth / "account.seed").read_text().strip()
    signed = f"{head}.{base64url(json.dumps(claims).encode())}"
    jwt = f"{signed}.{base64url(sign(base64.b32decode(account + '=' * (-len(account) % 8))[2:34], signed.encode()))}"
    text = creds(fleet, name).read_text()
    direct = fleet.folder / f"{name}-direct.creds"
    write_secret(direct, text.replace(read_creds(creds(fleet, name))[0], jwt))
    return direct


def creds(fleet, name):
    return fleet.folder / f"{name}.creds"


def add_operator(fleet, name, *words):
    fleet.zester("operator", "add", name, *words, "--dir", fleet.auth, "--out", creds(fleet, name))


def run_with(fleet, file, *words, **more):
    return fleet.run("zester", *words, "--master", fleet.url, "--nats-ca", fleet.auth / "nats-ca.crt", "--creds", file, **more)


def has_logged_since(peel, before, *texts):
    return any(all(text in line["msg"] for text in texts) for line in peel.lines()[before:])


def start_with_forged_list(fleet, intruder, peel, value, reason):
    """Masters put the right list back with their next push, which can come before the peel has seen the forged one."""
    for _ in range(20):
        peel.stop()
        before = len(peel.lines())
        intruder.put("state-files", "_revoked", value)
        peel.start()
        if fleet.wait(lambda: (has_logged_since(peel, before, "revoked keys are not used", reason) and "refused")
                      or (intruder.get("state-files", "_revoked") != value and "put back"), f"refused: {reason}") == "refused":
            return
    raise AssertionError(f"each list was put back before the peel had it: {reason}")


def test_a_peel_runs_nothing_directly_for_an_operator_who_was_removed_whatever_servers_do(fleet, intruder, tmp_path):
    mark, peel = tmp_path / "mark", fleet.peels[0]
    add_operator(fleet, "dora")
    direct = let_ask_directly(fleet, "dora")
    run_with(fleet, direct, "db-01", "cmd.run", f"echo before >> {mark}", "--direct")
    assert mark.read_text() == "before\n"
    peel.stop()
    intruder.listen("db-01")
    run_with(fleet, direct, "db-01", "cmd.run", f"echo after >> {mark}", "--direct", "--timeout", "2s", status=None)
    header, payload = intruder.catch()  # a server that kept it for later
    fleet.zester("operator", "remove", "dora")
    fleet.wait(lambda: any("revoked keys are published for peels" in master.log() for master in fleet.masters), "the list is published")
    peel.start()
    fleet.wait(lambda: any("revoked keys are known" in line["msg"] for line in peel.lines()), "the peel has the list")
    fleet.wait((peel.folder / "data/revoked-keys").exists, "it is on disk")
    kept = (peel.folder / "data/revoked-keys").stat()
    assert (kept.st_mode & 0o7777, kept.st_uid, kept.st_gid) == (0o644, os.geteuid(), os.getegid())
    assert "true" in fleet.zester("db-01", "test.ping").stdout
    intruder.deliver("db-01", header, payload, f"{intruder.inbox}.late")
    assert is_warned(fleet, peel, "the credentials of 'dora', who signed it, were revoked")
    # the list cannot be taken back, forged, or replaced by an older one: the last one is on disk
    old, before = intruder.get("state-files", "_revoked"), len(peel.lines())
    add_operator(fleet, "dirk")
    fleet.zester("operator", "remove", "dirk")
    fleet.wait(lambda: intruder.get("state-files", "_revoked") != old, "a newer one is published")
    peel.stop()
    peel.start()
    fleet.wait(lambda: has_logged_since(peel, before, "revoked keys are known"), "the peel has that one")
    newest = intruder.get("state-files", "_revoked")
    forged = newest[:-1] + bytes([newest[-1] ^ 1])
    for value, reason in ((old, "older than the one that is here"), (forged, "not signed by the account"), (b"nonsense", "cannot be read")):
        start_with_forged_list(fleet, intruder, peel, value, reason)
        fleet.wait(lambda: "true" in fleet.zester("db-01", "test.ping", status=None).stdout, "the peel works")
        refused = refusals(peel)
        intruder.deliver("db-01", header, payload, f"{intruder.inbox}.late")
        fleet.wait(lambda: refusals(peel) == refused + 1, "it is refused")
    assert mark.read_text() == "before\n"


def test_masters_do_nothing_for_an_operator_who_was_removed_although_the_policy_is_brought_back(fleet, intruder, tmp_path):
    mark = tmp_path / "mark"
    add_operator(fleet, "rita")
    intruder.send(b"SUB zester.operator.rita.dispatch 77\r\n")
    intruder.flush()
    run_with(fleet, creds(fleet, "rita"), "db-01", "cmd.run", f"echo x >> {mark}")
    header, payload = intruder.catch()
    policy = intruder.get("operators", "rita")
    fleet.zester("operator", "remove", "rita")
    intruder.put("operators", "rita", policy)
    intruder.publish_with("zester.operator.rita.dispatch", header, payload)
    fleet.wait(lambda: any("the credentials of 'rita', who signed it, were revoked" in master.log() for master in fleet.masters), "it is refused")
    assert mark.read_text() == "x\n"


def test_a_job_goes_on_when_another_master_takes_it_over_and_a_forged_record_is_not_carried_on(fleet, intruder, tmp_path):
    hold, mark, forged = tmp_path / "hold", tmp_path / "mark", tmp_path / "forged"
    hold.touch()
    jid = fleet.zester_json("db-*", "cmd.run", f"while [ -e {hold} ]; do sleep 0.1; done; echo x >> {mark}", "--async", "--batch", "1")["jid"]
    owner = fleet.wait(lambda: show(fleet, jid).get("owner"), "a master has it")
    job = {**show(fleet, jid), "jid": "forged3", "args": {"name": f"touch {forged}"}, "owner": "master-gone", "created": time.time(), "updated": time.time(),
           "deadline": time.time() + 600}
    intruder.put("jobs", "active.forged3", pack({"owner": "master-gone", "updated": time.time()}))
    intruder.put("jobs", "forged3", pack({key: value for key, value in job.items() if not isinstance(value, dict) or key == "args"}))
    next(master for master in fleet.masters if owner in master.log()).stop()
    fleet.wait(lambda: any(f"job {jid}: taking over" in master.log() for master in fleet.masters), "the other one takes it over")
    hold.unlink()
    fleet.wait(lambda: show(fleet, jid)["status"] == "complete", "it ends")
    assert mark.read_text() == "x\nx\n"
    fleet.wait(lambda: show(fleet, "forged3")["status"] == "failed", "the master ends the forged one")
    assert "not signed by a master" in show(fleet, "forged3")["metadata"]["failed_reason"]
    assert not forged.exists()
