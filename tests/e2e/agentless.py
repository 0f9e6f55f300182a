"""Machines without an agent for tests: real ssh servers on loopback, each with its own host key, home folder and undo data.

    with Site(tmp_path) as site:
        site.add("web-01", facts={"roles": ["web"]})
        site.run("web-01", "test.ping")

Every process is gone at the end.
"""
import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import time

from fleet import BUILD, SECONDS, free_port

SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
SSH = shutil.which("ssh")
USER = pwd.getpwuid(os.getuid()).pw_name


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


class Machine:
    """An ssh server that one key may log in to, as the user of the test, with a home of its own."""

    def __init__(self, site, name):
        self.site, self.name, self.folder, self.port = site, name, site.folder / name, free_port()
        self.home, self.data, self.process = self.folder / "home", self.folder / "data", None
        self.home.mkdir(parents=True)
        (self.folder / "bin").mkdir()
        self.host_key = make_key(self.folder / "host")
        self.authorize()
        (self.folder / "conf").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.host_key}\nAuthorizedKeysFile {self.folder}/authorized\nStrictModes no\nUsePAM no\n"
            "PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
            f"SetEnv HOME={self.home} PATH={self.folder}/bin:{os.environ['PATH']} ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}\n")
        self.store = self.home / ".cache/zester-ssh"

    def authorize(self, command=""):
        """What runs instead of what the client asks for, if given."""
        options = f'command="{command}" ' if command else ""
        (self.folder / "authorized").write_text(options + self.site.key.with_suffix(".pub").read_text())

    def trust(self, key=None):
        """A line for known_hosts."""
        return f"[127.0.0.1]:{self.port} {(key or self.host_key).with_suffix('.pub').read_text()}"

    def program(self, name, text):
        """A program that comes first in the PATH of the machine."""
        path = self.folder / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def start(self):
        words = [SSHD, "-D", "-e", "-f", f"{self.folder}/conf"]
        if os.getuid() == 0:  # it wants a folder in /run then
            words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"', "sh", *words]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(SECONDS)


class Site:
    """The machine of an operator: a roster, a tree of states, settings, and an ssh that reads no file of the real user."""

    def __init__(self, folder):
        self.folder, self.machines = folder, {}
        self.states, self.settings, self.roster = folder / "states", folder / "settings", folder / "roster"
        self.states.mkdir(parents=True)
        self.settings.mkdir()
        (folder / "bin").mkdir()
        self.key = make_key(folder / "key")
        wrapper = folder / "bin/ssh"
        wrapper.write_text(f'#!/bin/sh\necho x >> {folder}/logins\nexec {SSH} -F /dev/null -o UserKnownHostsFile={folder}/known -o GlobalKnownHostsFile=/dev/null "$@"\n')
        wrapper.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        self.entries = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for machine in self.machines.values():
            machine.stop()

    def add(self, name, **keys):
        machine = self.machines[name] = Machine(self, name)
        machine.start()
        self.entries[name] = {"host": "127.0.0.1", "port": machine.port, "user": USER, "identity": str(self.key), "data_dir": str(machine.data),
                              "timeout": 10, **keys}
        self.write()
        return machine

    def write(self, **changes):
        """The roster, with other keys for some machines; and the host keys that are known."""
        entries = {name: {**keys, **changes.get(name.replace("-", "_"), {})} for name, keys in self.entries.items()}
        self.roster.write_text(json.dumps(entries, indent=1) + "\n")
        self.roster.chmod(0o600)
        (self.folder / "known").write_text("".join(machine.trust() for machine in self.machines.values()))

    def command(self, *words):
        words = [str(word) for word in words]
        return [f"{BUILD}/zester", "ssh", *words, "--roster", str(self.roster), "--states-dir", str(self.states), "--settings-dir", str(self.settings)]

    def run(self, *words, status=0, variables=None):
        environment = {**self.environment, **(variables or {})}
        done = subprocess.run(self.command(*words), env=environment, text=True, capture_output=True, timeout=SECONDS, check=False)
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words, status=0):
        """By the names of machines."""
        return {one["peel_id"]: one for one in json.loads(self.run(*words, "--format", "json", status=status).stdout)}

    def logins(self):
        path = self.folder / "logins"
        return len(path.read_text().split()) if path.exists() else 0
