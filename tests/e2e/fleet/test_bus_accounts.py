"""Peels and operators have accounts of their own on the bus: a fleet from before that is moved in steps, without enrolling again."""
import json

import pytest

from bus import read_creds
from enroll_client import derive_account, nkey, public_of, read_jwt, read_seed, sign_claims
from fleet import SERVER, Fleet
from test_revocation import is_let_in, join
from test_rotation import Traffic, issuer_of, ping, rotate, status, wait_renewed

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
LONG_AGO = 1000


@pytest.fixture
def older(tmp_path):
    """A fleet as it was made when all of it was one account."""
    with Fleet(tmp_path) as fleet:
        fleet.make_shared_account()
        for name in ("master", "admin"):
            age_creds(fleet, fleet.auth / f"{name}.creds")
        yield fleet


def age_creds(fleet, path):
    """As an older version has issued them."""
    jwt = read_creds(path)[0]
    claims = read_jwt(jwt)
    claims["iat"] -= LONG_AGO
    claims["nats"]["pub"]["allow"] = [subject for subject in claims["nats"]["pub"]["allow"] if subject != "_R_.>"]
    path.write_text(path.read_text().replace(jwt, sign_claims(claims, "A", read_seed(fleet.auth / "account.seed"))))


def account_of(peel):
    return read_jwt(read_creds(peel.folder / f"auth/{peel.name}.creds")[0])["nats"]["issuer_account"]


def test_a_fleet_from_before_is_moved_in_steps_while_jobs_run(older):
    server = older.start_server()
    master = older.start_ready_master()
    peels = [older.start_ready_peel(name) for name in ("web-01", "db-01")]
    fleet_key = read_jwt((older.auth / "account.jwt").read_text())["sub"]
    peel_key = nkey("A", public_of(derive_account(older.auth / "account.seed")))
    assert {account_of(peel) for peel in peels} == {fleet_key}
    machine, _, old_jwt = join(older, master, "lab-01")
    doctor = json.loads(older.run("zester", "doctor", "--format", "json", "--config", master.conf_path, status=None).stdout)
    finding = next(line for line in doctor if line["check"] == "accounts")
    assert finding["status"] == "warn" and "zester nats-auth rotate" in finding["advice"]

    with Traffic(older, "web-01", "db-01"):
        said = rotate(older, "--spread", "0s").stdout
        assert "have their own accounts" in said and "master.creds" in said
        key = status(older)["key"]
        older.wait(lambda: master.has_logged(f"signing key key={key}"), "the master issues with the new key")
        wait_renewed(older, peels, key)
    assert {account_of(peel) for peel in peels} == {peel_key}
    assert status(older)["peels"]["unmoved"] == ["lab-01"]
    assert is_let_in(older.port, machine, old_jwt), "both are accepted until the end"
    refused = rotate(older, "--finish", status=1)
    assert "lab-01" in refused.stderr and "not moved" in refused.stderr

    master.stop()  # it has new credentials
    master.start()
    older.wait_ready(master)
    assert "Older credentials of the fleet's account are no longer accepted" in rotate(older, "--finish", "--force").stdout
    assert not is_let_in(older.port, machine, old_jwt), "what was issued before is refused"
    older.wait(lambda: ping(older, "web-01", "db-01"), "jobs run")
    assert "Nothing to do" in rotate(older, "--finish").stdout
    doctor = json.loads(older.run("zester", "doctor", "--format", "json", "--config", master.conf_path, status=None).stdout)
    assert next(line for line in doctor if line["check"] == "accounts")["status"] == "ok"
    older.run("zester", "nats-auth", "lint", "--dir", older.auth)

    # a revocation afterwards keeps all of it
    older.zester("enroll", "revoke", "--peel", "db-01")
    older.wait(lambda: peels[1].has_logged("User Authentication Revoked"), "it is cut off")
    assert not is_let_in(older.port, machine, old_jwt)
    server.kill()
    server.start()
    older.wait(lambda: ping(older, "web-01"), "jobs run after a restart of the server")
    assert not is_let_in(older.port, machine, old_jwt)


def test_a_fleet_that_is_not_moved_works_as_before(older):
    older.start_server()
    older.start_ready_master()
    peel = older.start_ready_peel("web-01")
    assert issuer_of(peel) == read_jwt((older.auth / "account.jwt").read_text())["sub"]
    for mode in ([], ["--direct"]):
        assert older.zester("web-01", "test.ping", *mode).stdout == "web-01:\n    true\n"
    older.zester("operator", "add", "alice", "--dir", older.auth, "--out", older.folder / "alice.creds")
    said = older.run("zester", "web-01", "test.ping", "--master", older.url, "--nats-ca", older.auth / "nats-ca.crt", "--creds", older.folder / "alice.creds")
    assert said.stdout == "web-01:\n    true\n"
