"""A daemon whose state and logs are on a disk that fills up."""
import json
import os
import signal
import subprocess

import pytest

from kepler_home import CONFIG_FILES, CONTAINMENTS, PATIENCE, Home, alive, wait_until

SIZE = 4 << 20
# What a write to a full disk says.
FULL = "No space left on device"


class SmallHome(Home):
    """The state folder is a small file system of its own, which lives as long as `holder`."""

    def __init__(self, cgroups):
        super().__init__(cgroups)
        # Commands do not see that file system, so the socket is not in it.
        self.env["KEPLER_SOCKET_PATH"] = os.path.join(self.folder, "socket")
        os.mkdir(self.state)
        mount = f'mount -t tmpfs -o size={SIZE},mode=700 small "{self.state}" && touch "{self.state}/mounted" && exec sleep 100000'
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-c", mount], env=self.env, stderr=subprocess.PIPE)
        self.inside = f"/proc/{self.holder.pid}/root{self.state}"
        wait_until(lambda: os.path.exists(f"{self.inside}/mounted") or self.holder.poll() is not None, "a small disk")

    def is_mounted(self):
        return self.holder.poll() is None

    def start_daemon(self, *prefix):
        super().start_daemon("nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", *prefix)

    def fill(self):
        """To the last byte."""
        with open(f"{self.inside}/filler", "ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def free(self):
        os.unlink(f"{self.inside}/filler")

    def files(self, name):
        root = os.path.join(self.inside, "configs")
        return [os.path.join(root, folder, name) for folder in os.listdir(root)
                if os.path.exists(os.path.join(root, folder, name))]

    def state_on_disk(self):
        (path,) = self.files("state.json")
        with open(path) as file:
            return json.load(file)["services"]

    def close(self):
        try:
            super().close()
        finally:
            self.holder.kill()
            self.holder.wait(PATIENCE)
            self.holder.stderr.close()


@pytest.fixture(params=CONTAINMENTS)
def home(request):
    home = SmallHome(request.param == "cgroups")
    if not home.is_mounted():
        home.close()
        pytest.skip("no file system can be mounted here")
    home.start_daemon()
    yield home
    home.close()


CONFIG = """
    kepler: {autostart: {environment: [MARK, PATH]}}
    services:
      steady: {run: "exec sleep 1000", restart: always}
      talk:
        command: [sh, -c, "while :; do yes 0123456789abcdef | head -n 500; echo >> talk.rounds; sleep 0.05; done"]
        restart: always
      crash: {run: "echo >> crash.rounds; sleep 0.1; exit 1", restart: always, start_limit: {count: 0}}
    """


def rounds(home, name):
    path = home.path(f"{name}.rounds")
    return os.path.getsize(path) if os.path.exists(path) else 0


def goes_on(home, name):
    before = rounds(home, name)
    wait_until(lambda: rounds(home, name) > before + 3, f"{name} goes on")


def lost(home):
    return json.loads(home.run("inspect", "-s").stdout).get("logs", {"lines_lost": 0, "error": None})


def test_services_and_commands_continue_and_losses_are_reported(home):
    home.write(CONFIG)
    home.start("--wait")
    steady = home.services()["steady"]["pid"]
    assert lost(home) == {"lines_lost": 0, "error": None}
    home.fill()
    wait_until(lambda: lost(home)["lines_lost"] > 0, "lines are lost")
    wait_until(lambda: FULL in (lost(home)["error"] or ""), "the reason is told")
    goes_on(home, "talk")
    goes_on(home, "crash")
    assert home.services()["steady"]["pid"] == steady
    home.run("restart", "steady")
    assert home.wait_for("steady", "running")["pid"] != steady
    assert not alive(steady)
    home.run("stop", "steady")
    assert home.status("steady") == "stopped"
    home.state_on_disk()  # whole, though old
    home.free()
    wait_until(lambda: home.state_on_disk()["steady"]["status"] == "stopped", "the state is on disk")
    wait_until(lambda: lost(home)["error"] is None, "lines are written again")
    told = wait_until(lambda: [text for _, text in home.lines("talk") if "lines lost" in text], "the log tells")
    assert all(FULL in text for text in told)
    assert sum(int(text.split()[0]) for text in told) <= lost(home)["lines_lost"]
    text = home.log()
    # Now and then a file that is given up leaves room for one more write.
    assert text.count("logs cannot be written") <= 20 and text.count("state cannot be written") <= 20
    assert "state can be written again" in text and "logs can be written again" in text
    home.run("stop")
    assert home.processes() == []


def test_requests_that_need_the_disk_are_refused_with_the_reason(home):
    # Nothing here writes again: a state that is written anew would leave room for another file.
    home.write("services:\n  steady: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    home.fill()
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n", "other.yaml")
    run = home.start(check=False, file="other.yaml")
    assert run.returncode == 1
    assert FULL in run.stderr
    home.free()
    home.start("--wait", file="other.yaml")
    home.run("stop", file="other.yaml")


def test_a_daemon_starts_on_a_full_disk_and_brings_services_back(home):
    home.write(CONFIG)
    home.start("--wait")
    before = home.services()["steady"]["pid"]
    home.fill()
    goes_on(home, "talk")
    home.kill_daemon()
    home.start_daemon()
    assert not alive(before)
    home.wait_for("steady", "running")
    goes_on(home, "crash")
    home.free()
    wait_until(lambda: home.state_on_disk()["steady"]["pid"] == home.services()["steady"]["pid"], "the state is on disk")


def test_no_file_is_half_written_when_the_daemon_is_killed_on_a_full_disk(home):
    home.write(CONFIG)
    home.start("--wait")
    home.fill()
    for _ in range(3):
        goes_on(home, "crash")
        os.kill(home.daemon.pid, signal.SIGKILL)
        home.daemon.wait(PATIENCE)
        assert home.state_on_disk()["talk"]["status"]
        home.start_daemon()
    home.free()
    for path in home.files("state.json"):
        # A file that is just being written has another name for a moment.
        wait_until(lambda: set(os.listdir(os.path.dirname(path))) <= CONFIG_FILES, "there is nothing else")
