"""Services of the orchestrator that wait for states: with an agent through its socket, and without one from the record of runs."""
import json
import os
import pathlib
import signal
import socket
import tempfile
import threading

import pytest

from fleet import SERVER, Fleet
from kepler_home import daemon_home, machine_beside, wait_until
from peels import start_peel

APP = """
    kepler: {zester_data: DATA}
    services:
      app:
        command: ["sleep", "infinity"]
        depends_on: {state: STATE}
"""


@pytest.fixture(scope="module")
def shared():
    with daemon_home() as made:
        yield made


@pytest.fixture
def home(shared):
    yield shared
    shared.run("stop", "--clean", check=False)


def write_app(home, data, state):
    home.write(APP.replace("DATA", str(data)).replace("STATE", state))


def why(home):
    return json.loads(home.run("why", "--json", "app").stdout)["app"]


def waits(home):
    """What is said of the state that the service waits for; None: it waits for none."""
    found = why(home)["waits_for"]
    return found[0]["status"] if found else None


def causes(home):
    return [change["cause"] for change in why(home)["history"]]


# --- without an agent -----------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path, home):
    return machine_beside(tmp_path, home, home.path("kepler.yaml"))


def test_a_service_starts_when_a_local_run_of_its_state_succeeded(home, machine):
    (machine.root / "bad").write_text("")
    state = f"conf: {{cmd.run: [{{command: 'test ! -e {machine.root}/bad'}}]}}\n"
    write_app(home, machine.root / "data", "conf")
    home.start()
    wait_until(lambda: waits(home) == "has not run on this machine", "the record was looked at")
    assert "waiting (state conf has not run on this machine)" in home.run("ps").stdout
    machine.apply(state, "--test")
    machine.apply(state)
    wait_until(lambda: (waits(home) or "").startswith("failed in its last run: "), "the failure was heard of")
    (machine.root / "bad").unlink()
    machine.apply(state)
    home.wait_for("app", "running")
    assert "state conf succeeded" in causes(home)
    assert waits(home) is None


def test_a_changed_state_restarts_a_marked_service_and_a_failure_does_not(home, machine):
    path = machine.root / "conf"
    state = f"conf: {{file.managed: [{{path: {path}}}, {{content: '1'}}]}}\n"
    machine.apply(state)
    write_app(home, machine.root / "data", "{conf: {restart: true}}")
    home.start()
    home.wait_for("app", "running")
    first = home.services()["app"]["pid"]
    path.unlink()
    path.mkdir()
    (path / "full").write_text("")
    machine.apply(state)
    (path / "full").unlink()
    path.rmdir()
    machine.apply(state)
    wait_until(lambda: "state conf changed" in causes(home), "the change was heard of")
    home.wait_for("app", "running")
    assert home.services()["app"]["pid"] != first and why(home)["restarts"] == 1


# --- hostile agents -------------------------------------------------------------------------------


@pytest.fixture
def data():
    """A folder that every user can reach, with a short name: that of a socket has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="states-") as folder:
        os.chmod(folder, 0o755)
        inner = pathlib.Path(folder, "data")
        inner.mkdir()
        yield inner


def test_an_agent_with_invalid_replies_keeps_the_service_waiting_and_is_named(home, data):
    write_app(home, data, "highstate")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(data / "event.sock"))
        server.listen()

        def answer():
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(65536)
                    client.send(b"\xc1")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        home.start()
        wait_until(lambda: (waits(home) or "").startswith("cannot be checked: the agent"), "the trouble is told")
        assert home.status("app") == "waiting"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(30)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a socket to another user")
def test_an_agent_of_another_user_is_not_asked(home, data):
    data.chmod(0o777)
    write_app(home, data, "highstate")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        os.seteuid(65534)
        try:
            server.bind(str(data / "event.sock"))
            server.listen()
        finally:
            os.seteuid(0)
        home.start()
        wait_until(lambda: "belongs to" in (waits(home) or ""), "it says whose the agent is")
        assert home.status("app") == "waiting"


# --- with an agent --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("waits")) as fleet:
        tree = fleet.folder / "tree"
        tree.mkdir()
        (tree / "top.zy").write_text("base:\n  '*': [web]\n")
        (tree / "web.zy").write_text(f"conf: {{file.managed: [{{path: {fleet.folder}/conf}}, {{content: '1'}}]}}\n")
        fleet.start_server()
        fleet.master = fleet.start_ready_master(states_dir=str(tree))
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        yield fleet


@pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
def test_a_highstate_of_the_fleet_lets_the_service_start_also_while_the_agent_is_stopped(fleet, home):
    data = fleet.peel.folder / "data"
    fleet.wait((fleet.peel.folder / "states/web.zy").exists, "the peel has the tree")
    fleet.zester("web-01", "state.apply", "web")  # is not a highstate
    write_app(home, data, "highstate")
    home.start()
    wait_until(lambda: waits(home) == "has not run on this machine", "the agent was asked")
    fleet.peel.send(signal.SIGSTOP)
    try:
        wait_until(lambda: "did not answer in time" in (waits(home) or ""), "it says that the agent is silent")
    finally:
        fleet.peel.send(signal.SIGCONT)
    fleet.zester("web-01", "state.highstate")
    home.wait_for("app", "running")
    home.run("stop")
    fleet.peel.stop()
    home.start()
    home.wait_for("app", "running")
