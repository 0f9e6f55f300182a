"""Modules: packages and accounts that are as they should be, against others who look at the same"""
import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import tempfile

from frame import Failure, Job, Line

PACKAGES = 500
ACCOUNTS = 200
FIRST_ID = 40000
CLONE_NEWNS = 0x00020000
PYTHON = "/usr/bin/python3"  # the one of the system: it knows apt
ANSIBLE = ["-c", "local", "-i", "localhost,", "-e", f"ansible_python_interpreter={PYTHON}"]


class Namespace:
    """A mount namespace in which /etc is a copy, so that accounts can be made. Commands that are
    started inside have it at no cost of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.outside = os.open("/proc/self/ns/mnt", os.O_RDONLY)

    def _check(self, result, what):
        if result != 0:
            raise Failure(f"{what}: {os.strerror(ctypes.get_errno())}")

    def __enter__(self):
        copy = os.path.join(self.folder, "etc")
        shutil.copytree("/etc", copy, symlinks=True)
        for name in ("passwd", "group", "shadow", "gshadow"):
            if os.path.exists(f"/etc/{name}"):
                shutil.copystat(f"/etc/{name}", f"{copy}/{name}")
        self._check(self.libc.unshare(CLONE_NEWNS), "a private mount namespace")
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "--bind", copy, "/etc"], check=True)
        return self

    def __exit__(self, *what):
        self._check(self.libc.setns(self.outside, CLONE_NEWNS), "back to the machine")
        os.close(self.outside)


def installed():
    """Names of packages that are here, whole and not held."""
    if not shutil.which("dpkg-query"):
        return []
    out = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\n"], capture_output=True, text=True,
                         check=True).stdout
    return sorted({name for status, name in (line.split("\t") for line in out.splitlines()) if status == "ii "})


class Place:
    def __init__(self, bench, root, name):
        self.bench, self.root = bench, os.path.join(root, name)
        os.makedirs(os.path.join(self.root, "states"))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def zester(self, text):
        self.write("states/work.zy", text)
        return [self.bench.program("zester"), "--local", "--states-dir", f"{self.root}/states", "--data-dir",
                f"{self.root}/data", "state.apply", "work"]

    def puppet(self, text):
        """Exit status 2 tells of a change: then the benchmark fails."""
        program = self.bench.peer("puppet")
        return program and [program, "apply", "--detailed-exitcodes", self.write("work.pp", text)]

    def ansible(self, text, needs=None):
        program = self.bench.peer("ansible-playbook")
        if not program or (needs and subprocess.run([PYTHON, "-c", f"import {needs}"], stderr=subprocess.DEVNULL,
                                                    check=False).returncode):
            return None
        return [program, *ANSIBLE, self.write("work.yml", "- hosts: localhost\n  gather_facts: false\n  tasks:\n" + text)]


def checked(name, command):
    """What is measured: ansible tells of changes in words only, so somebody reads them."""
    if not command or not name.startswith("ansible"):
        return command
    return ["sh", "-c", "\"$@\" | grep -q 'changed=0 .*failed=0'", "sh", *command]


# How each is asked what it would do, and what it then says when that is nothing.
LOOKS = {
    "ours": (["--test", "--format", "json"], r'"changed": 0\b'),
    "puppet": (["--noop"], r"\A(?!.*should be)"),
    "ansible": (["--check"], r"ok=[1-9]\d* +changed=0 +unreachable=0 +failed=0"),
}


def look(name, command):
    """All is in order: nobody may find anything to do, before anybody may do something."""
    words, fine = LOOKS[name.split(",")[0]]
    result = subprocess.run([*command, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if result.returncode != 0 or not re.search(fine, result.stdout, re.DOTALL):
        raise Failure(f"{name} would change something, or failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


def compare(bench, what, commands, careful=True):
    """`careful`: everybody is asked first what they would do."""
    for name, command in commands.items():
        if command and (careful or name == "ours"):
            look(name, command)
    jobs = [command and Job(checked(name, command)) for name, command in commands.items()]
    samples = dict(zip(commands, bench.together(jobs)))
    mine = samples.pop("ours")
    return [Line(what, mine, peer, theirs, "<= 0.1") for peer, theirs in samples.items()]


def packages(bench, root):
    names = installed()[:PACKAGES]
    if not names:
        return
    apart, together = Place(bench, root, "apart"), Place(bench, root, "together")
    many = "".join(f"{name}: {{pkg.installed: []}}\n" for name in names)
    resources = "".join(f"package {{ '{name}': ensure => installed }}\n" for name in names)
    listed = "[" + ", ".join(f"'{name}'" for name in names) + "]"
    task = f"    - apt: {{name: {listed}, state: present}}\n"
    yield from compare(bench, f"{len(names)} packages, a state each, no change",
                       {"ours": apart.zester(many), "puppet": apart.puppet(resources),
                        "ansible, one task": apart.ansible(task, "apt")})
    yield from compare(bench, f"{len(names)} packages, one state, no change",
                       {"ours": together.zester(f"all: {{pkg.installed: [{{pkgs: {listed}}}]}}\n"),
                        "ansible, one task": together.ansible(task, "apt")})


def accounts(bench, root):
    place = Place(bench, root, "accounts")
    people = [(f"bench{number:03d}", FIRST_ID + number) for number in range(ACCOUNTS)]
    ours = "bench: {group.present: [{gid: 39999}]}\n" + "".join(
        f"{name}: {{user.present: [{{uid: {uid}, gid: bench, home: /nonexistent, createhome: false, shell: /bin/sh, "
        f"fullname: Account {uid}, require: [bench]}}]}}\n" for name, uid in people)
    resources = "group { 'bench': gid => 39999 }\n" + "".join(
        f"user {{ '{name}': ensure => present, uid => {uid}, gid => 39999, home => '/nonexistent', managehome => false, "
        f"shell => '/bin/sh', comment => 'Account {uid}' }}\n" for name, uid in people)
    items = "".join(f"        - {{name: {name}, uid: {uid}, comment: Account {uid}}}\n" for name, uid in people)
    task = ("    - group: {name: bench, gid: 39999}\n    - user:\n        name: '{{ item.name }}'\n        uid: '{{ item.uid }}'\n"
            "        group: bench\n        home: /nonexistent\n        create_home: false\n        shell: /bin/sh\n"
            f"        comment: '{{{{ item.comment }}}}'\n      loop:\n{items}")
    command = place.zester(ours)
    bench.measure(command, runs=1)
    yield from compare(bench, f"{ACCOUNTS} accounts, no change",
                       {"ours": command, "puppet": place.puppet(resources), "ansible, a loop": place.ansible(task)},
                       careful=False)  # it is a copy of /etc


def lines(bench):
    with tempfile.TemporaryDirectory() as root, contextlib.ExitStack() as stack:
        yield from packages(bench, root)
        if os.geteuid() == 0:
            stack.enter_context(Namespace(root))
            yield from accounts(bench, root)
