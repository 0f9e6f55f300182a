"""The daemon of root with users of its own: accounts in a private copy of /etc, so that the machine that
runs the tests stays as it was. alice and bob are in the group kepler, mallory is not."""
import os
import shutil

from kepler_home import DAEMON, KEPLER, Home
from machine import Machine, skip_without

UIDS = {"alice": 4501, "bob": 4502, "mallory": 4503}
ACCOUNTS = """
groupadd --gid 4500 kepler
groupadd --gid 4510 project
useradd --uid 4501 --create-home --shell /bin/bash --groups kepler,project alice
useradd --uid 4502 --create-home --shell /bin/sh --groups kepler bob
useradd --uid 4503 --create-home --shell /bin/sh mallory
"""


class Users(Home):
    def __init__(self, tmp_path):
        skip_without("useradd", "groupadd", "gpasswd", "setpriv")
        self.machine = Machine(tmp_path)
        self.machine.sh("set -e\n" + ACCOUNTS)
        super().__init__()
        os.chmod(self.folder, 0o755)
        os.mkdir(self.path("bin"))
        for program in (KEPLER, DAEMON):  # the tree of the tests may be closed to others
            shutil.copy(program, self.path("bin"))
        for name in UIDS:
            os.mkdir(self.path(name))
            os.chown(self.path(name), UIDS[name], UIDS[name])
        self.env["PATH"] = self.path("bin") + ":/usr/local/bin:/usr/bin:/bin"

    def inside(self):
        return ["nsenter", "-t", str(self.machine.process.pid), "-m", "--wd=/"]

    def argv(self, user=None):
        name, _, group = (user or "").partition(":")
        become = ["setpriv", f"--reuid={name}", f"--regid={group or name}", "--init-groups"] if user else []
        return [*self.inside(), *become, self.path("bin/kepler")]

    def daemon_argv(self):
        return [*self.inside(), self.path("bin/kepler-daemon")]

    def close(self):
        try:
            super().close()
        finally:
            self.machine.leave()

    def give(self, user, text, name="kepler.yaml", mode=0o600):
        """A file of the user's, in a folder of theirs; returns its name below the home."""
        path = self.write(text, os.path.join(user, name))
        os.chown(path, UIDS[user], UIDS[user])
        os.chmod(path, mode)
        return os.path.join(user, name)

    def secret(self, text, name="secret", mode=0o600):
        """A file that only root may read."""
        path = self.write(text, name)
        os.chmod(path, mode)
        return path

    def everything_stored(self):
        """All bytes that the daemon has written anywhere."""
        found = self.log().encode()
        for folder, _, names in os.walk(self.state):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    if os.path.isfile(path):
                        with open(path, "rb") as file:
                            found += file.read()
                except FileNotFoundError:
                    pass  # it was replaced meanwhile
        return found
