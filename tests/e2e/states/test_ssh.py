"""Keys of hosts and users with a real sshd on the loopback, run by an ordinary account."""
import os
import shutil
import socket
import subprocess

import pytest

from kepler_home import wait_until
from machine import Machine, skip_without

INSTALLED = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
# An installed server would listen to the world, so it is only unpacked, with what else it needs.
PACKAGES = ["openssh-server", "libwrap0", "libnsl2", "libtirpc3"]


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    """The words to run one with."""
    if INSTALLED:
        return [INSTALLED]
    folder = tmp_path_factory.mktemp("openssh")
    for path in [folder, *folder.parents][:3]:
        path.chmod(path.stat().st_mode | 0o755)
    fetched = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=False, capture_output=True, text=True)
    if fetched.returncode != 0:
        pytest.skip(f"sshd is not installed, and cannot be fetched: {fetched.stderr.strip()[-200:]}")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    libraries = ":".join(str(found) for found in folder.glob("*/lib/*-linux-gnu"))
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(folder / "usr/sbin/sshd")]


class Host:
    """An account 'gitter' of the machine, and its sshd with a key of its own."""

    def __init__(self, machine, sshd):
        self.machine = machine
        self.folder = machine.root / "sshd"
        machine.sh("useradd -m -u 4700 -s /bin/sh gitter")
        self.folder.mkdir()
        self.fingerprints = {}
        for kind in ["ed25519", "rsa"]:
            subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", self.folder / kind], check=True)
            for form in ["sha256", "md5"]:
                line = subprocess.run(["ssh-keygen", "-l", "-E", form, "-f", self.folder / f"{kind}.pub"], check=True,
                                      text=True, capture_output=True).stdout
                self.fingerprints[kind, form] = line.split()[1]
        self.choose_port()
        for path in [self.folder, *self.folder.iterdir()]:
            os.chown(path, 4700, 4700)
        for path in [machine.root, *machine.root.parents][:3]:
            path.chmod(path.stat().st_mode | 0o755)
        argv = ["nsenter", "-t", str(machine.process.pid), "-m", "--wd=/", "setpriv", "--reuid=4700", "--regid=4700",
                "--clear-groups", *sshd, "-D", "-e", "-f", str(self.folder / "config")]
        while not self.listens(argv):
            self.choose_port()

    def choose_port(self):
        """One that is free now; somebody else may take it before sshd does."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        (self.folder / "config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.folder}/ed25519\nHostKey {self.folder}/rsa\n"
            "UsePAM no\nPidFile none\nStrictModes no\nPasswordAuthentication no\n")

    def listens(self, argv):
        """Start sshd; it says when it is there. False when the port was taken."""
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log)
        wait_until(lambda: self.process.poll() is not None or "listening on" in self.log(), "sshd listens")
        ended = self.process.poll() is not None
        assert not ended or "Address already in use" in self.log(), self.log()
        return not ended

    def log(self):
        return (self.folder / "log").read_text()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)


@pytest.fixture
def machine(tmp_path):
    skip_without("ssh-keygen", "ssh-keyscan", "setpriv")
    machine = Machine(tmp_path)
    yield machine
    machine.leave()


@pytest.fixture
def host(machine, sshd):
    host = Host(machine, sshd)
    yield host
    host.stop()


def known(machine, host, **more):
    lines = "".join(f"\n    - {key}: '{value}'" for key, value in more.items())
    return f"127.0.0.1:\n  ssh_known_hosts.present:\n    - port: {host.port}{lines}\n"


def test_a_host_is_asked_for_its_key_and_the_one_that_fits_is_kept(machine, host):
    machine.settles(known(machine, host, fingerprint=host.fingerprints["rsa", "sha256"], timeout="30s"))
    path = machine.path("/etc/ssh/ssh_known_hosts")
    key = (host.folder / "rsa.pub").read_text().split()[1]
    assert path.read_text() == f"[127.0.0.1]:{host.port} ssh-rsa {key}\n"
    host.stop()  # what is known already needs no answer
    again = machine.apply(known(machine, host, fingerprint=host.fingerprints["rsa", "sha256"]))
    assert not again["ssh_known_hosts.present:127.0.0.1"]["changed"]
    machine.revert()
    assert not path.exists()


def test_a_fingerprint_of_nobody_is_refused_and_nothing_is_written(machine, host):
    result = machine.apply(known(machine, host, fingerprint="SHA256:" + "A" * 43, timeout="30s"))
    assert "no key of 127.0.0.1 has the fingerprint" in result["ssh_known_hosts.present:127.0.0.1"]["error"]
    assert not machine.path("/etc/ssh/ssh_known_hosts").exists()


def test_the_older_fingerprints_of_salt_are_known(machine, host):
    print_of = host.fingerprints["ed25519", "md5"]
    assert print_of.startswith("MD5:")
    machine.settles(known(machine, host, fingerprint=print_of, timeout="30s"))
    machine.revert()
    machine.settles(known(machine, host, fingerprint=print_of[4:].upper(), fingerprint_hash_type="md5", timeout="30s"))


def test_git_comes_over_ssh_with_an_identity_when_the_host_is_known(machine, host, tmp_path):
    skip_without("git")
    machine.sh("cd /home/gitter && setpriv --reuid=4700 --regid=4700 --clear-groups sh -c '"
               "export HOME=/home/gitter; git init -q -b main repo && cd repo && echo one > file && git add file &&"
               "git -c user.name=a -c user.email=a@b commit -q -m one'")
    identity = tmp_path / "identity"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", identity], check=True)
    key = (tmp_path / "identity.pub").read_text().split()[1]
    copy = f"""
copy:
  git.latest:
    - name: ssh://gitter@127.0.0.1:{host.port}/home/gitter/repo
    - target: {tmp_path}/copy
    - identity: {identity}
"""
    refused = machine.apply(copy)["git.latest:copy"]
    assert refused["failed"] and not (tmp_path / "copy/.git").exists()
    machine.settles(copy + f"""
    - require: [may, trust]
may: {{ssh_auth.present: [{{name: {key}, enc: ed25519, user: gitter}}]}}
trust: {{ssh_known_hosts.present: [{{name: 127.0.0.1, port: {host.port}, timeout: 30s,
                                   fingerprint: '{host.fingerprints["ed25519", "sha256"]}'}}]}}
""")
    assert (tmp_path / "copy/file").read_text() == "one\n"
