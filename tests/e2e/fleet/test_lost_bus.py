"""A bus that does not store, or that has lost its disk: masters say so, and make and publish again what was there."""
import json
import shutil
import threading

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from nats_client import Client
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
ROUNDS = 5


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_server()
        fleet.tree = fleet.folder / "tree"
        fleet.tree.mkdir()
        (fleet.tree / "top.zy").write_text("base: {'*': [one]}\n")
        (fleet.tree / "one.zy").write_text("one:\n  test.succeed_without_changes\n")
        fleet.master = fleet.start_ready_master(states_dir=str(fleet.tree), enroll={"rate_burst": 0})
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        fleet.wait((fleet.peel.folder / "states/one.zy").exists, "the peel has the tree")
        yield fleet


def ask(fleet, subject, **body):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        reply = json.loads(bus.request(subject, json.dumps(body).encode()))
    assert "error" not in reply, reply
    return reply


@pytest.mark.parametrize("change", [{"max_bytes": 1, "discard": "new"}, {"subjects": ["elsewhere"]}], ids=["full", "deaf"])
def test_a_bus_that_can_only_be_read_makes_a_master_not_ready(fleet, change):
    config = ask(fleet, "$JS.API.STREAM.INFO.KV_leases")["config"]
    ask(fleet, "$JS.API.STREAM.UPDATE.KV_leases", **{**config, **change})
    fleet.wait(lambda: fleet.master.get("/readyz")[0] == 503, "it is not ready")
    check = json.loads(fleet.master.get("/readyz")[1])["checks"]["store"]
    assert check["status"] == "down" and check["message"].startswith("the bus does not store: "), check
    assert fleet.master.get("/healthz")[0] == 200
    ask(fleet, "$JS.API.STREAM.UPDATE.KV_leases", **config)
    fleet.wait_ready(fleet.master)


@pytest.mark.parametrize("stream", ["KV_reactor-files", "KV_leases", "KV_master-heartbeat"])
def test_a_bucket_that_is_gone_is_made_again_and_filled(fleet, stream):
    ask(fleet, f"$JS.API.STREAM.DELETE.{stream}")
    starts = fleet.master.log().count('"master started')
    fleet.wait(lambda: fleet.master.log().count('"master started') > starts, "the master starts again")
    fleet.wait_ready(fleet.master)
    assert ask(fleet, f"$JS.API.STREAM.INFO.{stream}")
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"


@pytest.mark.parametrize("stream, consumer", [("job-events", "late-returns"), ("event-exhausted", "event-exhausted")])
def test_a_consumer_that_is_gone_is_made_again_and_used(fleet, stream, consumer):
    ask(fleet, f"$JS.API.CONSUMER.DELETE.{stream}.{consumer}")
    starts = fleet.master.log().count('"master started')
    fleet.wait(lambda: fleet.master.log().count('"master started') > starts, "the master starts again")
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: ask(fleet, f"$JS.API.CONSUMER.INFO.{stream}.{consumer}")["num_waiting"] > 0, "the master asks it for messages")


def test_masters_publish_again_when_the_bus_has_lost_its_disk(fleet):
    pid = fleet.master.process.pid
    fleet.server.kill()
    shutil.rmtree(fleet.folder / "js")
    (fleet.tree / "two.zy").write_text("two:\n  test.succeed_without_changes\n")
    fleet.server.start()
    fleet.wait(lambda: fleet.master.has_logged("the bus has lost its data"), "the master has noticed")
    fleet.wait_ready(fleet.master)
    assert fleet.master.is_running() and fleet.master.process.pid == pid
    fleet.wait(lambda: fleet.zester("web-01", "test.ping", status=None).returncode == 0, "the peel is known again")
    fleet.wait((fleet.peel.folder / "states/two.zy").exists, "the peel has the tree that was published again")
    (fleet.tree / "three.zy").write_text("three:\n  test.succeed_without_changes\n")
    fleet.wait((fleet.peel.folder / "states/three.zy").exists, "and what is published after that")
    assert "wrong last sequence" not in fleet.master.log().rpartition("the bus has lost its data")[2]


class Eager(Client):
    """Logs in at the same moment as the others."""

    def __init__(self, start, *words):
        self.start = start
        super().__init__(*words)

    def send(self, data):
        if data.startswith(b"CONNECT"):
            self.start.wait()
        super().send(data)


def log_in_at_once(fleet, files):
    start = threading.Barrier(len(files))
    threads = [threading.Thread(target=lambda file=file: Eager(start, fleet.port, file, fleet.auth / "nats-ca.crt").__exit__()) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def is_answered(fleet):
    with Client(fleet.port, fleet.peel.folder / "auth/web-01.creds", fleet.auth / "nats-ca.crt") as client:
        client.subscribe("_INBOX.web-01.x")
        client.publish("zester.target.resolve", b"x", reply="_INBOX.web-01.x")
        client.socket.settimeout(1)
        try:
            return client.read_line().startswith("MSG _INBOX.web-01.x ")
        except TimeoutError:
            return False


def test_messages_cross_the_accounts_of_a_new_server_that_many_log_in_to_at_once(fleet):
    fleet.peel.stop()
    for _ in range(ROUNDS):
        fleet.master.stop()
        fleet.server.kill()
        shutil.rmtree(fleet.folder / "js/jetstream")  # what is stored for an account makes a server load it before anybody logs in
        fleet.server.start()
        fleet.wait(lambda: fleet.listens(fleet.port), "nats-server listens")
        log_in_at_once(fleet, [fleet.auth / "master.creds", fleet.peel.folder / "auth/web-01.creds", fleet.auth / "admin.creds"] * 4)
        fleet.master.start()
        fleet.wait_ready(fleet.master)
        fleet.wait(lambda: is_answered(fleet), "a peel gets an answer from the other account", seconds=10)
