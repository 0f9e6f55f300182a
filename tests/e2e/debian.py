"""A Debian machine for a test: real apt and dpkg, in a private mount namespace.

The folders that apt and dpkg write to are bound over by folders of the test, and the packages put
their files into /opt alone, so the machine is as it was afterwards. Needs root.
"""
import os
import shutil
import subprocess

import pytest

from repository import Repository

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))

# What is bound over; /opt holds the files of the packages.
BOUND = ["/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/etc/apt", "/var/log", "/opt"]

DPKG = """Package: dpkg
Status: install ok installed
Maintainer: Nobody <nobody@example.org>
Architecture: {arch}
Version: 1.21.0
Description: stands for the real one

"""


def reason_to_skip():
    """Why this machine cannot run real package managers; None: it can."""
    for program in ("apt-get", "dpkg", "dpkg-deb", "unshare", "mount"):
        if not shutil.which(program):
            return f"there is no {program}"
    if os.geteuid() != 0:
        return "only root may bind folders over those of apt and dpkg"
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "mount namespaces are not allowed here" if probe.returncode else None


needs_apt = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))


class Machine:
    """A machine without packages but dpkg, and a repository that the test fills."""

    def __init__(self, folder):
        self.folder = folder
        self.repo = folder / "repo"
        self.states = folder / "states"
        self.settings = folder / "settings"
        for part in (self.repo, self.states, self.settings, *map(self.path, BOUND)):
            part.mkdir(parents=True)
        self.arch = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                                   check=True).stdout.strip()
        self.fill()

    def path(self, absolute):
        """Where a path of the machine is for the test."""
        return self.folder / "root" / absolute.lstrip("/")

    def fill(self):
        for name in ("info", "updates", "triggers"):
            self.path(f"/var/lib/dpkg/{name}").mkdir()
        self.path("/var/lib/dpkg/status").write_text(DPKG.format(arch=self.arch))
        self.path("/var/lib/dpkg/available").write_text("")
        self.path("/var/lib/dpkg/info/format").write_text("1\n")
        for name in ("/etc/apt/apt.conf.d", "/etc/apt/sources.list.d", "/etc/apt/preferences.d",
                     "/etc/apt/trusted.gpg.d", "/etc/apt/keyrings", "/var/log/apt",
                     "/var/cache/apt/archives/partial", "/var/lib/apt/lists/partial"):
            self.path(name).mkdir(parents=True)
        self.path("/etc/apt/apt.conf").write_text('APT::Sandbox::User "root";\n')
        self.path("/etc/apt/sources.list").write_text(f"deb [trusted=yes] copy:{self.repo} ./\n")

    def package(self, name, version, depends="", conffile=False, scripts=None, **fields):
        """Build a package into the repository."""
        files = {f"/opt/{name}/version": (version + "\n", 0o644)}
        if conffile:
            files[f"/opt/{name}/conf"] = ("default\n", 0o644)
        return Repository(self.repo).add(name, version, depends, files, conffiles=[f"/opt/{name}/conf"] if conffile else [],
                                         scripts=scripts, fields=fields)

    def run(self, *words, env=None, check=False):
        """Run a program on the machine."""
        binds = "".join(f"mount --bind '{self.path(place)}' '{place}' && " for place in BOUND)
        script = f"mount --make-rprivate / && {binds} exec \"$@\""
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *map(str, words)],
                              capture_output=True, text=True, timeout=300, check=check,
                              env={**os.environ, **(env or {})})

    def update(self):
        self.run("apt-get", "-q", "update", check=True)

    def state(self, text, name="t"):
        (self.states / f"{name}.zy").write_text(text)

    def zester(self, *words, **options):
        return self.run(ZESTER, "--local", "--states-dir", self.states, "--settings-dir", self.settings,
                        "--data-dir", self.folder / "data", *words, **options)

    def has(self, name):
        """The version of an installed package; None. Asked from dpkg, not from us."""
        out = self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", name)
        words = out.stdout.split()
        return words[1] if words and words[0] in ("ii", "hi") else None

    def status(self, name):
        """What dpkg has noted: 'ii', 'hi', 'rc', or '' for no record."""
        return self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name).stdout.strip()
