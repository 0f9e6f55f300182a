"""Real ssh servers on loopback for tests, with nothing of the machine: each has its own host key, and one key that may log in as the user of the test.

    server = SshServer(folder, make_key(path))
    server.start()
    ...
    server.stop()
"""
import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time

from fleet import SECONDS, free_port

SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
USER = pwd.getpwuid(os.getuid()).pw_name


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


class SshServer:
    def __init__(self, folder, key, settings=""):
        """`settings` are more lines for its sshd_config."""
        self.folder, self.key, self.port, self.process = folder, key, free_port(), None
        folder.mkdir(parents=True, exist_ok=True)
        self.host_key = make_key(folder / "host")
        self.authorize()
        (folder / "conf").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.host_key}\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
            f"PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n{settings}")

    def authorize(self, command=""):
        """What runs instead of what the client asks for, if given."""
        options = f'command="{command}" ' if command else ""
        (self.folder / "authorized").write_text(options + self.key.with_suffix(".pub").read_text())

    def known_host(self, key=None):
        """A line for known_hosts, with another key than the server has if given."""
        return f"[127.0.0.1]:{self.port} {(key or self.host_key).with_suffix('.pub').read_text()}"

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
