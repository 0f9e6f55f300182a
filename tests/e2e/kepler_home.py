"""A daemon of its own for each test, in a folder of its own; nothing of it is left behind."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time

import pytest

from machine import Machine
from terminal import run_on_terminal

# What the folder of a config may hold.
CONFIG_FILES = {"config.yaml", "source_path.txt", "state.json", "acl.json", "history.log", "expanded_config.yaml", "env_files", "logs", "monitor", "outputs"}
BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
KEPLER = os.path.abspath(os.path.join(BUILD, "kepler"))
DAEMON = os.path.abspath(os.path.join(BUILD, "kepler-daemon"))
PATIENCE = 60  # seconds; only failures take that long


def process_state(pid):
    """The letter of /proc; "": there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid):
    """Does the process exist, and is it not a zombie?"""
    return process_state(pid) not in ("", "Z")


def wait_until(condition, what, seconds=PATIENCE):
    """Look again and again; returns what the condition returned."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.01)


def variables_of(pid):
    """The environment of a process. Between exec and its first instruction it shows neither that nor its words."""
    def words():
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    wait_until(words, f"process {pid} shows its words")
    with open(f"/proc/{pid}/environ") as file:
        return dict(pair.split("=", 1) for pair in file.read().split("\0") if pair)


class Home:
    """`cgroups` False: as where there are none."""

    def __init__(self, cgroups=True):
        # A short path: the name of a socket has 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="kepler-")
        self.state = os.path.join(self.folder, "state")
        self.env = dict(os.environ, KEPLER_DAEMON_PATH=self.state, LC_ALL="C.UTF-8", SHELL="/bin/sh")
        if not cgroups:
            self.env["KEPLER_CGROUPS"] = "no"
        for name in ("KEPLER_SOCKET_PATH", "KEPLER_COLOR", "NO_COLOR"):
            self.env.pop(name, None)
        self.env["PATH"] = os.path.dirname(KEPLER) + ":" + self.env.get("PATH", "/usr/bin:/bin")
        self.daemon = None

    def argv(self, user=None):
        """How the command line begins; those who know users say more."""
        assert user is None
        return [KEPLER]

    def daemon_argv(self):
        return [DAEMON]

    # --- the daemon -------------------------------------------------------------------------

    def begin_daemon(self, *prefix):
        """`prefix`: a command that runs it."""
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.daemon = subprocess.Popen([*prefix, *self.daemon_argv()], env=self.env, stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log)

    def start_daemon(self, *prefix):
        self.begin_daemon(*prefix)
        wait_until(self.is_up, "the daemon listens")

    def has_cgroups(self):
        return os.path.exists(os.path.join(self.state, "cgroup"))

    def is_up(self):
        assert self.daemon.poll() is None, self.log()
        return self.run("daemon", "status", check=False).returncode == 0

    def log(self):
        with open(os.path.join(self.folder, "log")) as file:
            return file.read()

    def kill_daemon(self):
        """As a crash would."""
        self.daemon.kill()
        self.daemon.wait(PATIENCE)

    def stop_daemon(self):
        self.daemon.terminate()
        assert self.daemon.wait(PATIENCE) == 0, self.log()

    def close(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                self.daemon.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.daemon.send_signal(signal.SIGTERM)
                self.daemon.wait(PATIENCE)
        left = self.left()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        text = self.log() if self.daemon else ""
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not left, f"left behind: {left}"
        assert "AddressSanitizer" not in text and "runtime error" not in text, text

    def left(self, seconds=10):
        """Processes that stay; commands that have just lost their daemon are about to end."""
        deadline = time.monotonic() + seconds
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.processes()

    @contextlib.contextmanager
    def frozen(self):
        """What happens meanwhile happens to the daemon all at once."""
        self.daemon.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: process_state(self.daemon.pid) == "T", "the daemon stands still")
            yield
        finally:
            self.daemon.send_signal(signal.SIGCONT)

    def processes(self):
        """All processes that stand in our folder or were started with it in their environment."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    ours = f"MARK={self.folder}".encode() in file.read().split(b"\0")
            except OSError:
                continue
            if ours and alive(name):
                found.append(int(name))
        return found

    # --- the command line -------------------------------------------------------------------

    def write(self, text, name="kepler.yaml"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        return path

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def environment(self):
        return dict(self.env, MARK=self.folder)

    def run(self, *words, check=True, file="kepler.yaml", env=None, user=None, patience=PATIENCE * 2):
        run = subprocess.run([*self.argv(user), "-f", self.path(file), *words], env=dict(self.environment(), **(env or {})),
                             cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience)
        assert "AddressSanitizer" not in run.stderr and "runtime error" not in run.stderr, run.stderr
        if check:
            assert run.returncode == 0, (words, run.stdout, run.stderr, self.log())
        return run

    def start(self, *words, **options):
        return self.run("start", "-d", *words, **options)

    def begin(self, *words, file="kepler.yaml", user=None):
        """A command that goes on."""
        return subprocess.Popen([*self.argv(user), "-f", self.path(file), *words], env=self.environment(), cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def on_terminal(self, *words, stdout=False, size=(50, 200), env=None):
        """What a command writes to the terminal that is its standard error, and output if asked for; and its exit status."""
        argv = [*self.argv(), "-f", self.path("kepler.yaml"), *words]
        return run_on_terminal(argv, stdout=stdout, size=size, cwd=self.folder, env={**self.environment(), "TERM": "xterm", **(env or {})}, seconds=PATIENCE * 2)

    def services(self, file="kepler.yaml"):
        return json.loads(self.run("ps", "--json", file=file).stdout)

    def status(self, service, file="kepler.yaml"):
        return self.services(file)[service]["status"]

    def wait_for(self, service, *statuses, file="kepler.yaml"):
        """Until the service is in one of these states; returns what is known of it."""
        def look():
            found = self.services(file).get(service)
            return found if found and found["status"] in statuses else None
        try:
            return wait_until(look, f"{service} is {' or '.join(statuses)}")
        except AssertionError:
            raise AssertionError(f"{service} never was {statuses}:\n{self.run('ps').stdout}\n{self.log()}")

    def ps(self, *words, file="kepler.yaml"):
        """Rows of the table, by service: (status, pid)."""
        lines = self.run("ps", *words, file=file).stdout.splitlines()
        at = [lines[0].index(word) for word in ("STATUS", "PID")]
        return {line[:at[0]].split()[-1]: (line[at[0]:at[1]].strip(), line[at[1]:].strip()) for line in lines[1:]}

    def lines(self, *words, file="kepler.yaml"):
        """What services wrote, as (service, text)."""
        found = [json.loads(line) for line in self.run("logs", "--json", *words, file=file).stdout.splitlines()]
        return [(line["service"], line["msg"]) for line in found]


# The two ways to hold a tree of processes.
CONTAINMENTS = ("cgroups", "sessions")


def contained(containment):
    """For fixtures: a home whose daemon runs that way."""
    home = Home(cgroups=containment == "cgroups")
    # Freed memory is to be used again, also under a sanitizer.
    home.env["ASAN_OPTIONS"] = "quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", "")
    home.start_daemon()
    if containment == "cgroups" and not home.has_cgroups():
        home.close()
        pytest.skip("no control groups can be made here")
    yield home
    home.close()


@contextlib.contextmanager
def daemon_home():
    """A home whose daemon runs, beside programs of the sanitizer build that each hold little memory."""
    made = Home()
    made.env["ASAN_OPTIONS"] = "quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", "")
    try:
        made.start_daemon()
        yield made
    finally:
        made.close()


def machine_beside(folder, home, config):
    """A machine whose states talk to the daemon of that home."""
    made = Machine(folder, namespace=False)
    made.env = home.environment()
    made.home = home
    made.config = config
    return made
