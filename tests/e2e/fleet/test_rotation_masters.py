"""A new signing key in fleets of several masters and servers: all of them learn of it, and none takes it away."""
import shutil

import pytest

from fleet import SERVER, Fleet
from enroll_client import read_jwt
from test_revocation import is_let_in, join
from test_rotation import rotate, status

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet


def test_a_master_with_keys_of_its_own_learns_of_a_new_key_and_never_takes_it_away(fleet):
    server = fleet.start_server()
    other_auth = fleet.folder / "auth2"
    shutil.copytree(fleet.auth, other_auth)
    first = fleet.start_ready_master("first")
    second = fleet.start_ready_master("second", auth_dir=str(other_auth))
    third = fleet.start_ready_master("third", auth_dir=str(shutil.copytree(fleet.auth, fleet.folder / "auth3")))
    third.stop()
    rotate(fleet, "--spread", "0s")
    key = status(fleet)["key"]
    fleet.wait(lambda: first.has_logged(f"signing key key={key}"), "the master beside uses it")
    fleet.wait(lambda: second.has_logged("account signing keys changed"), "another one has heard of it")
    fleet.wait(lambda: second.checks()["ca"] == "degraded", "and says that it has not the key")
    assert "copy 'account-signing.seed'" in second.get("/readyz")[1]
    machine, enrollment, jwt = join(fleet, first, "web-01")
    assert read_jwt(jwt)["iss"] == key
    other, other_enrollment, other_jwt = join(fleet, second, "db-01")
    assert read_jwt(other_jwt)["iss"] == read_jwt(jwt)["nats"]["issuer_account"], "without the seed, the account itself signs"

    # both revoke, and one that was stopped meanwhile comes back: none of them brings the old claims back
    first.stop()
    fleet.zester("enroll", "revoke", other_enrollment)
    assert not is_let_in(fleet.port, other, other_jwt) and is_let_in(fleet.port, machine, jwt)
    third.start()
    fleet.wait_ready(third)
    fleet.wait(lambda: third.has_logged("revocations confirmed"), "it has told the server what it knows")
    assert is_let_in(fleet.port, machine, jwt) and not is_let_in(fleet.port, other, other_jwt)
    claims = read_jwt((fleet.folder / "auth3/account.jwt").read_text())["nats"]
    assert any(tag.startswith("zester-keys:") and tag.endswith(f":{key}") for tag in claims["tags"]) and "signing_keys" not in claims

    shutil.copy2(fleet.auth / "account-signing.seed", other_auth)
    fleet.wait(lambda: second.checks()["ca"] == "ok", "it has found the key")
    again, _, new_jwt = join(fleet, second, "lab-01")
    assert read_jwt(new_jwt)["iss"] == key

    server.kill()
    server.start()
    fleet.wait(lambda: fleet.listens(fleet.port), "the server listens again")
    assert is_let_in(fleet.port, machine, jwt) and is_let_in(fleet.port, again, new_jwt)


def join_some_time(fleet, master, name):
    """While servers of a cluster elect leaders, what they store fails."""
    machines = iter(range(100))

    def try_join():
        try:
            return join(fleet, master, f"{name}-{next(machines)}")
        except (AssertionError, KeyError):
            return None
    return fleet.wait(try_join, "a machine has joined")


def test_a_new_key_is_not_used_before_every_server_knows_it(fleet):
    fleet.start_cluster()
    master = fleet.start_ready_master()
    _, _, jwt = join_some_time(fleet, master, "web-01")
    fleet.servers[2].kill()

    def try_rotation():
        result = rotate(fleet, status=None)
        assert result.returncode != 0
        return "2 of 3 servers confirmed" in result.stderr
    fleet.wait(try_rotation, "the rotation was refused")
    assert not (fleet.auth / "account-signing.seed").exists()
    again, _, again_jwt = join_some_time(fleet, master, "lab-01")
    assert read_jwt(again_jwt)["iss"] == read_jwt(jwt)["iss"]
    fleet.servers[2].start()
    fleet.wait(lambda: fleet.listens(fleet.ports[2]), "the server listens again")
    fleet.wait(lambda: rotate(fleet, status=None).returncode == 0, "the rotation has ended")
    key = status(fleet)["key"]
    assert status(fleet)["generation"] == 1
    fleet.wait(lambda: master.has_logged(f"signing key key={key}"), "the master uses it")
    new, _, new_jwt = join_some_time(fleet, master, "db-01")
    assert read_jwt(new_jwt)["iss"] == key
    for port in fleet.ports:
        assert is_let_in(port, new, new_jwt) and is_let_in(port, again, again_jwt)
