"""Credentials are taken back: the live connection ends, no server lets the machine in again, and who is not sure says so."""
import os
import shutil
import time

import pytest

from bus import Bus as SystemBus
from enroll_client import Bus, Machine, derive_account, jwt_of, nkey, public_of, read_jwt, read_seed, sign_claims
from fleet import SERVER, Fleet

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet


def join(fleet, master, peel="web-01"):
    """A machine with credentials: itself, the id of its enrollment, its JWT."""
    machine = Machine(master.enroll_port, peel, fleet.auth / "ca/root.crt")
    enrollment = machine.submit(fleet.pin())[1]["id"]
    fleet.zester("enroll", "approve", enrollment)
    status, creds = machine.creds(enrollment)
    assert status == 200, creds
    return machine, enrollment, jwt_of(creds)


def is_let_in(port, machine, jwt):
    bus = Bus(port, machine, jwt)
    try:
        return bus.is_let_in()
    finally:
        bus.close()


def wait_cut(bus):
    """The connection ends; returns what the server said last."""
    last = ""
    while line := bus.read():
        last = line
    return last


def test_a_revoked_machine_is_cut_off_and_stays_out_after_a_restart_of_the_server(fleet):
    server = fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    other, _, other_jwt = join(fleet, master, "db-01")
    bus = Bus(fleet.port, machine, jwt)
    assert bus.is_let_in()
    result = fleet.zester("enroll", "revoke", enrollment, "--reason", "stolen")
    assert "WARNING" not in result.stderr
    assert "Revoked" in wait_cut(bus)
    assert machine.state(enrollment) == "revoked" and machine.creds(enrollment)[0] == 403
    assert not is_let_in(fleet.port, machine, jwt) and is_let_in(fleet.port, other, other_jwt)
    assert fleet.zester_json("enroll", "show", enrollment)["reject_reason"] == "stolen"
    assert 'audit action=enroll.revoke result=ok' in master.log()
    assert master.metric('zester_revocation_pushes_total{result="confirmed"}') == 2, "to a new server, and for the machine"
    assert master.checks()["revocation"] == "ok"
    master.stop()
    server.kill()
    server.start()
    fleet.wait(lambda: fleet.listens(fleet.port), "nats-server listens again")
    assert not is_let_in(fleet.port, machine, jwt) and is_let_in(fleet.port, other, other_jwt)


def test_claims_from_before_a_revocation_that_somebody_shows_the_servers_are_replaced(fleet):
    """Whoever has the credentials of the system account, as a leaf node has, cannot sign claims, but keep old ones."""
    fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    account = nkey("A", public_of(derive_account(fleet.auth / "account.seed")))
    with SystemBus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "sys.creds") as system:
        before = system.request(f"$SYS.REQ.ACCOUNT.{account}.CLAIMS.LOOKUP")
        assert read_jwt(before.decode())["sub"] == account
        fleet.zester("enroll", "revoke", enrollment)
        assert not is_let_in(fleet.port, machine, jwt)
        count = master.metric('zester_revocation_pushes_total{result="confirmed"}')
        assert b"200" in system.request("$SYS.REQ.CLAIMS.UPDATE", before)
    fleet.wait(lambda: master.metric('zester_revocation_pushes_total{result="confirmed"}') > count, "the master notices")
    assert not is_let_in(fleet.port, machine, jwt)


def test_a_master_that_starts_sends_the_servers_again(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    master.stop()
    result = fleet.zester("enroll", "revoke", enrollment, "--direct-kv")
    assert "WARNING" in result.stderr
    assert is_let_in(fleet.port, machine, jwt)
    master.start()
    fleet.wait(lambda: not is_let_in(fleet.port, machine, jwt), "the new master has told the server")


def test_a_revocation_outlives_the_disk_of_the_server(fleet):
    server = fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    other, _, other_jwt = join(fleet, master, "db-01")
    fleet.zester("enroll", "revoke", enrollment)
    master.stop()
    server.kill()
    shutil.rmtree(fleet.folder / "js")
    server.start()
    fleet.wait(lambda: fleet.listens(fleet.port), "nats-server listens again")
    master.start()
    fleet.wait_ready(master)
    assert fleet.zester_json("enroll", "list", "-s", "all") == []
    fleet.wait(lambda: not is_let_in(fleet.port, machine, jwt), "the master has told the server")
    assert is_let_in(fleet.port, other, other_jwt)


def test_a_signing_key_that_was_added_to_the_account_outlives_revocations(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    path, signer = fleet.auth / "account.jwt", os.urandom(32)
    claims = read_jwt(path.read_text())
    claims["nats"]["signing_keys"] = [nkey("A", public_of(signer))]
    path.write_text(sign_claims(claims, "O", read_seed(fleet.auth / "operator-signing.seed")))
    machine, enrollment, jwt = join(fleet, master)
    other = Machine(master.enroll_port, "db-01")
    user = {"iat": int(time.time()), "sub": other.public, "name": "db-01",
            "nats": {**read_jwt(jwt)["nats"], "issuer_account": claims["sub"]}}
    other_jwt = sign_claims(user, "A", signer)
    assert not is_let_in(fleet.port, other, other_jwt)
    fleet.zester("enroll", "revoke", enrollment)
    assert not is_let_in(fleet.port, machine, jwt) and is_let_in(fleet.port, other, other_jwt)
    kept = read_jwt(path.read_text())["nats"]
    assert kept["signing_keys"] == claims["nats"]["signing_keys"] and machine.public in kept["revocations"]


def test_a_machine_that_was_revoked_may_enroll_again_and_is_let_in(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    fleet.zester("enroll", "revoke", "--peel", "web-01")
    assert not is_let_in(fleet.port, machine, jwt)
    again, _, new_jwt = join(fleet, master)
    assert is_let_in(fleet.port, again, new_jwt) and not is_let_in(fleet.port, machine, jwt)


def test_credentials_of_a_master_whose_clock_is_ahead_are_revoked_by_another(fleet):
    fleet.start_server()
    ahead = fleet.start_ready_master("ahead", environment=fleet.wrong_clock(120))
    machine, enrollment, jwt = join(fleet, ahead)
    assert abs(read_jwt(jwt)["iat"] - time.time()) < 30, "masters go by the clock of the servers"
    ahead.stop()
    fleet.start_ready_master()
    fleet.zester("enroll", "revoke", enrollment)
    assert not is_let_in(fleet.port, machine, jwt)


def test_a_decision_by_a_clock_that_is_behind_revokes_what_was_issued_before_it(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    master.stop()
    fleet.zester("enroll", "revoke", enrollment, "--direct-kv", environment=fleet.wrong_clock(-120))
    master.start()
    fleet.wait(lambda: not is_let_in(fleet.port, machine, jwt), "the master has told the server")
    fleet.wait_ready(master)
    status, body = machine.submit(fleet.pin())  # the same key, later than all that was revoked
    assert status == 201, body
    fleet.zester("enroll", "approve", body["id"])
    status, creds = machine.creds(body["id"])
    assert status == 200 and is_let_in(fleet.port, machine, jwt_of(creds)) and not is_let_in(fleet.port, machine, jwt)


def test_a_decision_by_a_clock_that_is_ahead_does_not_keep_the_machine_out_for_good(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    machine, enrollment, jwt = join(fleet, master)
    master.stop()
    fleet.zester("enroll", "revoke", enrollment, "--direct-kv", environment=fleet.wrong_clock(3600))
    master.start()
    fleet.wait(lambda: not is_let_in(fleet.port, machine, jwt), "the master has told the server")
    fleet.wait_ready(master)
    status, body = machine.submit(fleet.pin())
    fleet.zester("enroll", "approve", body["id"])
    status, creds = machine.creds(body["id"])
    assert status == 200 and is_let_in(fleet.port, machine, jwt_of(creds)) and not is_let_in(fleet.port, machine, jwt)


@pytest.mark.parametrize("name", ["account.jwt", "operator-signing.seed", "sys.creds"])
def test_a_master_without_what_revocation_needs_does_not_start(fleet, name):
    fleet.make_keys()
    (fleet.auth / name).unlink()
    master = fleet.start_master()
    assert master.process.wait(60) == 1
    assert name in master.log()


def test_every_server_of_a_cluster_confirms_and_one_that_is_down_is_reported_later(fleet):
    fleet.start_cluster()
    master = fleet.start_ready_master(revocation_sync_interval="2s")
    machine, enrollment, jwt = join(fleet, master)
    other, other_enrollment, other_jwt = join(fleet, master, "db-01")
    buses = [Bus(port, machine, jwt) for port in fleet.ports]
    assert all(bus.is_let_in() for bus in buses)
    assert "WARNING" not in fleet.zester("enroll", "revoke", enrollment).stderr
    assert all("Revoked" in wait_cut(bus) for bus in buses)
    assert master.has_logged("revocations confirmed servers=3")

    fleet.servers[2].kill()

    def revoke():  # refused while the servers elect new leaders, or while the master moves to another one
        result = fleet.zester("enroll", "revoke", other_enrollment, status=None)
        return result.returncode == 0 and "not connected" not in result.stderr and result.stderr
    assert "WARNING: 2 of 3 servers confirmed" in fleet.wait(revoke, "revoked with a server down")
    fleet.wait(lambda: master.checks().get("revocation") == "degraded", "readiness says so")
    fleet.servers[2].start()
    fleet.wait(lambda: fleet.listens(fleet.ports[2]), "the server listens again")
    fleet.wait(lambda: master.checks().get("revocation") == "ok", "every server has confirmed")
    for port in fleet.ports:
        assert not is_let_in(port, machine, jwt) and not is_let_in(port, other, other_jwt)
