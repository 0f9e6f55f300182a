"""Machines without an agent for tests: real ssh servers on loopback, each with its own host key, home folder and undo data.

    with Site(tmp_path) as site:
        site.add("web-01", facts={"roles": ["web"]})
        site.run("web-01", "test.ping")

Every process is gone at the end.
"""
import json
import os
import shutil
import subprocess

from fleet import BUILD, SECONDS
from ssh_server import USER, SshServer, make_key

SSH = shutil.which("ssh")


class Machine(SshServer):
    """An ssh server with a home of its own."""

    def __init__(self, site, name):
        folder = site.folder / name
        super().__init__(folder, site.key, f"SetEnv HOME={folder}/home PATH={folder}/bin:{os.environ['PATH']} "
                                           f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}\n")
        self.home, self.data = folder / "home", folder / "data"
        self.home.mkdir()
        (folder / "bin").mkdir()
        self.store = self.home / ".cache/zester-ssh"

    def program(self, name, text):
        """A program that comes first in the PATH of the machine."""
        path = self.folder / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)


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
        (self.folder / "known").write_text("".join(machine.known_host() for machine in self.machines.values()))

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
