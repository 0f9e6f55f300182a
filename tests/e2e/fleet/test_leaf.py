"""A leaf node: peels connect to a server without JetStream, which has one connection to the servers of the fleet."""
import re

import pytest

from fleet import SERVER, Fleet, free_port


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("leaf")) as box:
        leaf_port, port = free_port(), free_port()
        conf = box.folder / "nats.conf"
        box.run("zester", "nats-auth", "init", "--dir", box.auth, "--nats-conf", conf, "--jetstream-store", box.folder / "js",
                "--host", "127.0.0.1", "--port", box.port, "--leaf-port", leaf_port)
        conf.write_text(re.sub(r"^http: .*\n", "", conf.read_text(), flags=re.M))
        box.run("zester", "nats-auth", "leaf", "rack-7", "--dir", box.auth, "--out", box.folder / "leaf", "--data", box.folder / "leaf-data",
                "--hub", f"tls://127.0.0.1:{leaf_port}", "--host", "127.0.0.1", "--port", port)
        box.start_server()
        box.leaf = box.add("leaf", [SERVER, "-c", box.folder / "leaf" / "nats-server.conf"])
        box.wait(lambda: box.listens(port), "the leaf node listens")
        states = box.folder / "master" / "states"
        states.mkdir(parents=True)
        (states / "top.zy").write_text("base:\n  '*': [mark]\n")
        (states / "mark.zy").write_text("mark:\n  file.managed:\n    - name: {{ facts.mark }}\n    - contents: here\n")
        box.master = box.start_ready_master()
        box.near = box.start_ready_peel("near-01")
        box.far = box.start_ready_peel("far-01", nats_url=f"tls://127.0.0.1:{port}")
        yield box


def test_a_peel_behind_a_leaf_node_is_connected_to_that_node(fleet):
    assert fleet.far.has_logged("connected server=rack-7")


def test_jobs_reach_peels_on_both_sides(fleet):
    for mode in ([], ["--direct"]):
        assert fleet.zester("*", "test.ping", *mode).stdout == "far-01:\n    true\nnear-01:\n    true\n"


def test_states_facts_and_events_pass_through_a_leaf_node(fleet):
    mark = fleet.folder / "far.mark"
    fleet.zester("far-01", "facts.set", "mark", mark)
    fleet.wait(lambda: fleet.zester("far-01", "state.highstate", status=None).returncode == 0, "the states are there")
    assert mark.read_text() == "here\n"
    fleet.wait(lambda: fleet.zester("G@mark:*", "test.ping", status=None).stdout == "far-01:\n    true\n", "its facts are known")
    fleet.zester("far-01", "event.send", "rack/ready")


def test_a_peel_comes_back_with_its_leaf_node(fleet):
    fleet.leaf.kill()
    fleet.wait(lambda: fleet.far.get("/readyz")[0] != 200, "the peel has noticed")
    fleet.leaf.start()
    fleet.wait_ready(fleet.far)
    fleet.wait(lambda: fleet.zester("far-01", "test.ping", status=None).returncode == 0, "the peel answers again")


def test_keys_of_a_leaf_node_are_readable_by_their_owner_alone(fleet):
    secret = [path for path in (fleet.folder / "leaf").iterdir() if path.suffix in (".creds", ".key")]
    assert len(secret) == 3 and all(path.stat().st_mode & 0o077 == 0 for path in secret), secret


def test_files_of_a_leaf_node_are_not_overwritten(fleet):
    again = fleet.run("zester", "nats-auth", "leaf", "rack-7", "--dir", fleet.auth, "--out", fleet.folder / "leaf", "--hub", "tls://127.0.0.1:1", status=1)
    assert "never overwritten" in again.stderr
    wrong = fleet.run("zester", "nats-auth", "leaf", "rack-8", "--dir", fleet.auth, "--out", fleet.folder / "other", "--hub", "127.0.0.1:7422", status=1)
    assert "hub '127.0.0.1:7422': expected tls://HOST:PORT" in wrong.stderr and not (fleet.folder / "other").exists()


def test_a_revoked_peel_is_refused_by_the_leaf_node(fleet):
    fleet.zester("enroll", "revoke", "--peel", "far-01")
    fleet.wait(lambda: fleet.far.has_logged("disconnected error=the server says: User Authentication Revoked"), "the leaf node has closed its connection")
    fleet.wait(lambda: fleet.far.has_logged("cannot connect, trying again error=the server says: Authorization Violation"), "it is not let in again")
