"""The signing key of peels' credentials is replaced: peels get new credentials by themselves, jobs run all the time, and the old
key is worthless in the end."""
import json
import shutil
import signal
import threading
import time

import pytest

from bus import read_creds
from enroll_client import Bus, derive_account, nkey, public_of, read_jwt, read_seed, sign_claims
from fleet import SERVER, Fleet
from test_revocation import is_let_in, join

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet


def rotate(fleet, *words, **more):
    return fleet.zester("nats-auth", "rotate", "--dir", fleet.auth, *words, **more)


def status(fleet):
    return json.loads(rotate(fleet, "--status", "--format", "json").stdout)


def issuer_of(peel):
    return read_jwt(read_creds(peel.folder / f"auth/{peel.name}.creds")[0])["iss"]


def wait_renewed(fleet, peels, key):
    def is_renewed(peel):
        if issuer_of(peel) == key:
            return True
        peel.send(signal.SIGHUP)  # it looks now, and not within minutes
        time.sleep(0.2)
        return False
    for peel in peels:
        fleet.wait(lambda peel=peel: is_renewed(peel), f"{peel.name} has credentials of the new key")


def ping(fleet, *peels):
    result = fleet.zester("*", "test.ping", "--format", "json", status=None)
    answers = json.loads(result.stdout) if result.returncode == 0 else []
    return sorted(answer["peel_id"] for answer in answers if answer["success"]) == sorted(peels)


def doctor(fleet, master):
    """What it says of the signing key, on the machine of a master."""
    found = json.loads(fleet.run("zester", "doctor", "--format", "json", "--config", master.conf_path, status=None).stdout)
    return next((line["status"], line["message"]) for line in found if line["check"] == "signing key")


def test_peels_get_credentials_of_a_new_key_and_the_old_key_is_worthless_in_the_end(fleet):
    server = fleet.start_server()
    master = fleet.start_ready_master()
    peels = [fleet.start_ready_peel(name) for name in ("web-01", "db-01")]
    account = nkey("A", public_of(derive_account(fleet.auth / "account.seed")))
    assert {issuer_of(peel) for peel in peels} == {account}
    assert sorted(status(fleet)["peels"]["account"]) == ["db-01", "web-01"]

    rotate(fleet, "--spread", "0s")
    first = status(fleet)
    assert (first["generation"], first["servers"], first["servers_current"], first["older_keys"]) == (1, 1, 1, [])
    assert (fleet.auth / "account-signing.seed").stat().st_mode & 0o777 == 0o600
    fleet.wait(lambda: master.has_logged("credentials are issued with the account's signing key"), "the master uses the key")
    wait_renewed(fleet, peels, first["key"])
    claims = read_jwt(read_creds(peels[0].folder / "auth/web-01.creds")[0])
    assert claims["nats"]["issuer_account"] == account
    fleet.wait(lambda: ping(fleet, "web-01", "db-01"), "jobs run")
    machine, _, old_jwt = join(fleet, master, "lab-01")
    assert read_jwt(old_jwt)["iss"] == first["key"] and is_let_in(fleet.port, machine, old_jwt)

    old_seed = read_seed(fleet.auth / "account-signing.seed")
    rotate(fleet, "--spread", "0s")
    second = status(fleet)
    assert second["generation"] == 2 and second["older_keys"] == [first["key"]] and second["key"] != first["key"]
    assert doctor(fleet, master) == ("warn", "1 older still accepted")
    refused = rotate(fleet, "--finish", status=1)
    assert "lab-01" in refused.stderr and "older key" in refused.stderr
    fleet.wait(lambda: status(fleet)["key"] == second["key"] and master.has_logged(second["key"]), "the master uses the key")
    wait_renewed(fleet, peels, second["key"])
    assert sorted(status(fleet)["peels"]["current"]) == ["db-01", "web-01"] and status(fleet)["peels"]["older"] == ["lab-01"]
    assert is_let_in(fleet.port, machine, old_jwt), "until the end both are accepted"
    bus = Bus(fleet.port, machine, old_jwt)
    assert bus.is_let_in()

    assert "1 older key is no longer accepted" in rotate(fleet, "--finish", "--force").stdout
    for act, result in (("rotate", "ok"), ("finish", "refused"), ("finish", "ok")):
        fleet.wait(lambda act=act, result=result: master.has_logged(f"audit action=key.{act} result={result} by="), f"{act} is in the audit")
    while bus.read():
        pass
    assert not is_let_in(fleet.port, machine, old_jwt), "the old credentials are refused"
    forged = sign_claims({**read_jwt(old_jwt), "iat": int(time.time())}, "A", old_seed)
    assert not is_let_in(fleet.port, machine, forged), "the old seed signs for nobody"
    fleet.wait(lambda: ping(fleet, "web-01", "db-01"), "jobs run")
    assert status(fleet)["peels"]["gone"] == ["lab-01"]
    assert "Nothing to do" in rotate(fleet, "--finish").stdout
    assert doctor(fleet, master) == ("ok", second["key"])

    # a script of an operator that signs with the account's own key goes on working
    own = sign_claims({**read_jwt(old_jwt), "iat": int(time.time())}, "A", derive_account(fleet.auth / "account.seed"))
    assert is_let_in(fleet.port, machine, own)

    # the server has it on disk; one that lost its disk is told again
    server.kill()
    server.start()
    fleet.wait(lambda: ping(fleet, "web-01", "db-01"), "jobs run after a restart of the server")
    assert not is_let_in(fleet.port, machine, old_jwt)
    server.kill()
    shutil.rmtree(fleet.folder / "js")
    server.start()
    for peel in peels:
        fleet.wait_ready(peel)
    assert {issuer_of(peel) for peel in peels} == {second["key"]}


class Traffic:
    """Jobs, one after the other, as long as something else happens; all of them succeed."""

    def __init__(self, fleet, *peels):
        self.fleet, self.peels, self.failures, self.count = fleet, peels, 0, 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.is_over.is_set():
            self.count += 1
            self.failures += 0 if ping(self.fleet, *self.peels) else 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        assert self.count > 0 and self.failures == 0


def test_a_rotation_that_is_killed_at_any_step_leaves_a_fleet_that_works_and_goes_on(fleet):
    fleet.start_server()
    fleet.start_ready_master()
    peel = fleet.start_ready_peel("web-01")
    keys = []
    with Traffic(fleet, "web-01"):
        for generation, step in enumerate(("signing-key-made", "signing-key-confirmed", "signing-claims-kept"), 1):
            rotate(fleet, "--spread", "0s", status=-signal.SIGKILL, environment={"ZESTER_CRASH": f"{step}:1:0"})
            assert "has not ended" in rotate(fleet, "--finish", status=1).stderr
            assert "Ended the rotation" in rotate(fleet, "--spread", "0s").stdout
            now = status(fleet)
            assert now["generation"] == generation and now["key"] not in keys, "what was begun is ended, and nothing more"
            assert not (fleet.auth / "account-signing.next").exists()
            keys.append(now["key"])
            wait_renewed(fleet, [peel], now["key"])
        rotate(fleet, "--finish", status=-signal.SIGKILL, environment={"ZESTER_CRASH": "signing-keys-dropped:1:0"})
        fleet.wait(lambda: "Nothing to do" in rotate(fleet, "--finish").stdout, "the servers had it")
        assert status(fleet)["older_keys"] == []
    fleet.run("zester", "nats-auth", "lint", "--dir", fleet.auth)


def test_a_peel_that_was_off_during_a_rotation_renews_by_itself_and_a_revoked_one_does_not(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    rotate(fleet, "--spread", "0s")
    first = status(fleet)["key"]
    fleet.wait(lambda: master.has_logged(f"signing key key={first}"), "the master uses it")
    peels = [fleet.start_ready_peel(name) for name in ("web-01", "db-01", "bad-01")]
    assert {issuer_of(peel) for peel in peels} == {first}
    web, killed, bad = peels
    web.stop()
    rotate(fleet, "--spread", "0s")
    second = status(fleet)["key"]
    fleet.wait(lambda: master.has_logged(f"signing key key={second}"), "the master uses it")

    # killed between the approval of the renewal and the credentials
    killed.stop()
    killed.environment = {"ZESTER_CRASH": "enrollment-approved:1:0"}
    killed.start()
    assert killed.process.wait(60) == -signal.SIGKILL
    assert issuer_of(killed) == first and "db-01" in rotate(fleet, "--finish", status=1).stderr
    killed.environment = None
    killed.start()
    fleet.wait(lambda: issuer_of(killed) == second, "it has asked again")

    wait_renewed(fleet, [bad], second)
    fleet.zester("enroll", "revoke", "--peel", "bad-01")
    assert "web-01" in rotate(fleet, "--finish", status=1).stderr
    rotate(fleet, "--finish", "--force")
    web.start()
    fleet.wait(lambda: issuer_of(web) == second, "refused by the server, it has renewed its credentials")
    fleet.wait_ready(web)
    fleet.wait(lambda: bad.has_logged("no credentials to renew"), "the revoked one was refused")
    assert fleet.zester_json("enroll", "list") == [], "nobody has to decide about anything"
    fleet.wait(lambda: ping(fleet, "web-01", "db-01"), "jobs run")
