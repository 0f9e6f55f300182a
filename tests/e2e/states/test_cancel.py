"""A run that is canceled while it waits for something ends at once and says so, whatever it waits for."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from test_states import Machine

SECONDS = 60
PROMPT = 20  # on a busy machine; what is waited for takes far longer
LONG = "echo x > ROOT/begun; sleep 1000"

WAITING = {
    "retry": "it: {cmd.run: [{name: 'echo x > ROOT/begun; false'}, {retry: {attempts: 5, interval: 1000}}]}\n",
    "onlyif": f"it: {{test.succeed_with_changes: [{{onlyif: '{LONG}'}}]}}\n",
    "unless": f"it: {{test.succeed_with_changes: [{{unless: '{LONG}'}}]}}\n",
    "check_cmd": f"it: {{test.succeed_with_changes: [{{check_cmd: '{LONG}'}}]}}\n",
    "prereq": f"it: {{test.succeed_with_changes: [{{prereq: [slow]}}]}}\nslow: {{test.succeed_with_changes: [{{unless: '{LONG}'}}]}}\n",
    "function": "it: {test.succeed_with_changes: [{onlyif: [{fun: cmd.retcode, cmd: 'echo x > ROOT/begun; sleep 1000'}]}]}\n",
    "download": "it: {file.managed: [{name: ROOT/file}, {source: 'http://127.0.0.1:PORT/file'}, {skip_verify: true}]}\n",
    "slow download": "it: {file.managed: [{name: ROOT/file}, {source: 'http://127.0.0.1:PORT/drip'}, {skip_verify: true}]}\n",
    "sleep": "it: {test.sleep: [{length: 1000}]}\n",
}


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    machine = Machine(tmp_path)
    os.mkfifo(machine.root / "begun")
    return machine


@contextlib.contextmanager
def stalling_server(begun):
    """Answers and never ends: with nothing, or with a byte now and then."""
    ended = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    drips = b"/drip" in peer.recv(65536)
                    begun.set()
                    if drips:
                        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                    while not ended.wait(0.05):
                        if drips:
                            peer.sendall(b"x")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def read_fifo(machine, begun):
    (machine.root / "begun").read_text()
    begun.set()


@pytest.mark.parametrize("how", ["signal", "timeout"])
@pytest.mark.parametrize("kind", sorted(WAITING))
def test_a_run_that_waits_is_canceled_at_once_and_says_so(machine, kind, how):
    begun = threading.Event()
    limit = ["--timeout", "1s"] if how == "timeout" else []
    with stalling_server(begun) as port:
        machine.state("it", WAITING[kind].replace("PORT", str(port)))
        child = subprocess.Popen(machine.command("--quiet", "state.apply", "it", "-o", "json", *limit), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "begun" in WAITING[kind]:
            threading.Thread(target=read_fifo, args=(machine, begun), daemon=True).start()
        if how == "signal":
            if kind == "sleep":
                wait_until_it_sleeps(child)
            else:
                assert begun.wait(SECONDS)
            child.send_signal(signal.SIGTERM)
        start = time.monotonic()
        out, err = child.communicate(timeout=SECONDS)
        took = time.monotonic() - start
    assert child.returncode == 2 and "Sanitizer" not in err, (child.returncode, out, err)
    record = json.loads(out)[0]
    assert record["summary"]["canceled"] and record["error"] == "execution canceled" and not record["success"], out
    assert took < PROMPT, took


def wait_until_it_sleeps(child):
    """A thread of it waits in poll, and the data folder has the lock of the run."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(OSError):
            if any("poll" in open(f"/proc/{child.pid}/task/{task}/wchan").read() for task in os.listdir(f"/proc/{child.pid}/task")):
                return
        time.sleep(0.01)


def test_a_revert_that_is_canceled_can_be_repeated(machine):
    machine.state("it", "it: {file.managed: [{name: ROOT/folder/file}, {contents: x}, {makedirs: true}]}\n"
                        "more: {file.managed: [{name: ROOT/other}, {contents: x}, {require: [it]}]}\n")
    machine.run("state.apply", "it", status=0)
    result = machine.run("--timeout", "1us", "state.revert", "it", "-o", "json")
    assert result.returncode != 0
    assert machine.run("state.revert", "it").returncode == 0 and not (machine.root / "other").exists()
