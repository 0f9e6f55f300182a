"""A run that writes, with a fault at each of its system calls: nothing torn, nothing claimed that is not so, revert exact.

`make test` takes a sample of the faults, `make faults` (FAULTS=all) all of them.
"""
import errno
import io
import json
import os
import random
import re
import shutil
import stat
import subprocess
import tarfile

import pytest

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
INJECT = os.path.abspath(os.path.join(BUILD, "tests/faults/inject"))
ALL = os.environ.get("FAULTS") == "all"
SEED = int(os.environ.get("FAULTS_SEED", "1"))
SAMPLE = 12  # faults of a kind in `make test`
KILLS = int(os.environ.get("FAULTS_KILLS", "300" if ALL else "20"))
SECONDS = 120

TREE = """
app:
  file.directory:
    - name: ROOT/etc/app
    - mode: '0750'
    - makedirs: true
conf:
  file.managed:
    - name: ROOT/etc/app/conf
    - contents: |
        new line one
        new line two
    - mode: '0640'
    - require: [file: app]
big:
  file.managed:
    - name: ROOT/big
    - source: zester://big
fresh:
  file.managed:
    - name: ROOT/deep/down/fresh
    - contents: fresh
    - makedirs: true
link:
  file.symlink:
    - name: ROOT/current
    - target: etc/app
    - force: true
hosts:
  file.append:
    - name: ROOT/hosts
    - text: 10.0.0.1 new
gone:
  file.absent:
    - name: ROOT/old
copy:
  file.copy:
    - name: ROOT/copy
    - source: ROOT/hosts
    - require: [file: hosts]
tree:
  file.recurse:
    - name: ROOT/tree
    - source: zester://tree
unpacked:
  archive.extracted:
    - name: ROOT/unpacked
    - source: FOLDER/archive.tar
    - enforce_toplevel: false
react:
  cmd.run:
    - name: echo reacted >> ROOT/reactions
    - onchanges: [file: conf]
"""
# What the command of the tree leaves behind; no revert takes back a command.
REACTIONS = "reactions"
# The record for reports comes after the run, and does not fail it.
NOT_REPORTED = "warning: the run is not in the next report: "


class World:
    """A folder to work in, as it was before a run, and the run."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "root"
        self.log = folder / "calls"

    def make(self):
        """The same beginning each time."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "states/tree/sub").mkdir(parents=True)
        (self.folder / "states/big").write_text("new big\n" * 20000)
        (self.folder / "states/tree/a").write_text("a\n")
        (self.folder / "states/tree/sub/b").write_text("b\n")
        text = TREE.replace("ROOT", str(self.root)).replace("FOLDER", str(self.folder))
        (self.folder / "states/site.zy").write_text(text)
        for name in ("etc/app", "old/sub"):
            (self.root / name).mkdir(parents=True)
        for name, content, mode in (("etc/app/conf", "old line\n", 0o600), ("hosts", "127.0.0.1 old\n", 0o644),
                                    ("old/sub/x", "x\n", 0o444), ("old/y", "y\n", 0o644), ("big", "old big\n" * 9, 0o640)):
            (self.root / name).write_text(content)
            (self.root / name).chmod(mode)
        (self.root / "current").symlink_to("nowhere")
        for name, mode in (("old/pipe", 0o640), ("old/sub/pipe", 0o4622)):
            os.mkfifo(self.root / name)
            (self.root / name).chmod(mode)
        with tarfile.open(self.folder / "archive.tar", "w") as archive:
            for name in ("one", "sub/two"):
                info = tarfile.TarInfo(name)
                info.size = 4
                archive.addfile(info, io.BytesIO(b"text"))
        return self

    def command(self, *words):
        return [ZESTER, "--local", "--states-dir", str(self.folder / "states"), "--settings-dir", str(self.folder / "none"),
                "--data-dir", str(self.folder / "data"), "--quiet", *words]

    def run(self, *words, inject=()):
        before = [INJECT, "--log", str(self.log), *inject, "--"] if inject is not None else []
        return subprocess.run(before + self.command(*words), capture_output=True, text=True, timeout=SECONDS)

    def clean(self, *words):
        return self.run(*words, inject=None)

    def calls(self):
        """What the last injected run called: (name, path) in order."""
        return [tuple(line.split(" ", 2)[1:]) for line in self.log.read_text().splitlines()]

    def look(self):
        """Everything below root: path -> what it is."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.root)] = describe(path)
        found.pop(REACTIONS, None)
        return found


def describe(path):
    info = os.lstat(path)
    kind = stat.S_IFMT(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return kind, os.readlink(path)
    content = open(path, "rb").read() if stat.S_ISREG(info.st_mode) else b""
    return kind, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, content


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("faults") / "world")


@pytest.fixture(scope="module")
def known(world):
    """(before, after, calls of a run without a fault)."""
    before = world.make().look()
    result = world.run("state.apply", "site", "--format", "json")
    assert result.returncode == 0, result.stdout + result.stderr
    return before, world.look(), world.calls()


def is_draft(path):
    """A file in the making, or what is in a folder of that kind."""
    return any(re.fullmatch(r"\.zester-[0-9a-f]{16}", part) for part in path.split("/"))


def check_no_drafts(world, fault):
    """Neither in the folders that the run works in nor among its own data."""
    found = [path for path in world.folder.rglob("*") if is_draft(path.name)]
    assert found == [], f"{fault}: {found} left behind"


def check_nothing_torn(found, before, after):
    for path, what in found.items():
        if not is_draft(path):
            known = [tree[path] for tree in (before, after) if path in tree]
            # Content and permissions are two steps of some states; each is the old or the new.
            assert known and what[0] in [item[0] for item in known], f"{path} is torn: {what}"
            assert what[-1] in [item[-1] for item in known], f"{path} is torn: {what}"
            if stat.S_ISFIFO(what[0]):
                assert what in known, f"{path} is torn: {what}"
    missing = [path for path in before if path in after and path not in found]
    assert missing == [], "what is replaced was missing"


def check_heals(world, before, after, fault):
    """A run without a fault completes what is missing and owes nothing; reverting all runs gives back the beginning."""
    result = world.clean("state.apply", "site", "--format", "json")
    assert result.returncode == 0, f"{fault}: {result.stdout}{result.stderr}"
    check_no_drafts(world, fault)
    assert world.look() == after, fault
    assert (world.root / REACTIONS).exists(), f"{fault}: the reaction was lost"
    again = json.loads(world.clean("state.apply", "site", "--format", "json").stdout)[0]
    assert again["summary"]["changed"] == 0, f"{fault}: {again}"
    for _ in range(3):
        result = world.clean("state.revert", "site", "--format", "json")
        assert result.returncode == 0, f"{fault}: {result.stdout}{result.stderr}"
    check_no_drafts(world, fault)
    assert world.look() == before, fault


def check_truth(world, result, fault):
    """What a report calls done is done: a dry run finds no difference there."""
    if not result.stdout.startswith("["):
        assert result.returncode != 0, f"{fault}: no report and status 0"
        return
    record = json.loads(result.stdout)[0]
    failed = [state["name"] for state in record["results"] if state.get("error")]
    assert (result.returncode == 0) == (record["success"] and not failed), f"{fault}: {result.returncode} {failed}"
    done = {state["name"] for state in record["results"] if not state.get("error") and not state.get("skipped")}
    dry = json.loads(world.clean("state.apply", "site", "--test", "--format", "json").stdout)[0]
    lies = [state["name"] for state in dry["results"]
            if state["name"] in done and state["changed"] and not state["name"].startswith("cmd.run")]
    assert lies == [], f"{fault}: reported as done, and is not"


def test_every_folder_in_which_a_name_changed_is_synced_before_the_run_ends(world, known):
    """New files, folders and links, and what was removed: done means on disk, name and content."""
    changes = ("renameat", "renameat2", "mkdirat", "symlinkat", "linkat", "unlinkat")
    _, _, calls = known
    root = str(world.root)
    synced_later = set()
    for name, path in reversed(calls):
        path = path.rstrip("/")
        if name in ("fsync", "fdatasync", "syncfs"):
            synced_later.add(path if name != "syncfs" else "*")
        elif name in changes and path.startswith(root):
            folder = os.path.dirname(path)
            gone = any(is_draft(part) for part in (os.path.relpath(path, root),)) and name == "unlinkat"
            assert gone or folder in synced_later or "*" in synced_later or not os.path.isdir(folder), f"{name} {path} is not synced"


def test_what_is_replaced_is_never_missing(world, known):
    """The new one takes the place of the old one in one step, also where a link does."""
    before, after, calls = known
    removed = {os.path.relpath(path, world.root) for name, path in calls if name == "unlinkat"}
    assert removed & set(before) & set(after) == set()


def numbers(calls, salt):
    every = list(range(1, len(calls) + 1))
    return every if ALL else sorted(random.Random(f"{SEED}/{salt}").sample(every, min(SAMPLE, len(every))))


def check_all(faults, check):
    """Every fault is tried; all that went wrong is told at the end."""
    wrong = []
    for fault in faults:
        try:
            check(fault)
        except AssertionError as error:
            wrong.append(f"{fault}: {str(error)[:300]}")
    print(f"{len(faults)} faults, {len(wrong)} wrong")
    assert wrong == [], f"{len(wrong)} of {len(faults)} faults:\n" + "\n".join(wrong)


@pytest.mark.parametrize("option, error", [("--fail", errno.EIO), ("--full", errno.ENOSPC)])
def test_a_call_that_fails_tears_nothing_and_is_never_a_success(world, known, option, error):
    before, after, calls = known

    def check(number):
        world.make()
        result = world.run("state.apply", "site", "--format", "json", inject=(option, f"{number}:{error}"))
        made = world.calls()
        fault = f"{made[number - 1] if number <= len(made) else 'not reached'}"
        check_nothing_torn(world.look(), before, after)
        check_no_drafts(world, fault)
        check_truth(world, result, fault)
        if number <= len(made) and made[number - 1][0] in ("fsync", "fdatasync"):
            assert result.returncode != 0 or NOT_REPORTED in result.stderr, f"{fault}: what is not on disk counts as done"
        check_heals(world, before, after, fault)

    check_all(numbers(calls, option), check)


def test_a_killed_run_tears_nothing_and_the_next_one_completes_it(world, known):
    before, after, calls = known
    chance = random.Random(SEED)

    def check(number):
        world.make()
        result = world.run("state.apply", "site", "--format", "json", inject=("--kill", str(number)))
        assert result.returncode in (0, 137), result.stderr
        check_nothing_torn(world.look(), before, after)
        check_heals(world, before, after, world.calls()[-1:])

    check_all([chance.randint(1, len(calls)) for _ in range(KILLS)], check)


def test_a_revert_that_is_killed_or_fails_can_be_repeated(world, known):
    before, after, _ = known
    world.make()
    assert world.clean("state.apply", "site").returncode == 0
    assert world.run("state.revert", "site").returncode == 0
    calls = numbers(world.calls(), "revert")

    def check(fault):
        world.make()
        assert world.clean("state.apply", "site").returncode == 0
        world.run("state.revert", "site", inject=fault)
        check_nothing_torn(world.look(), before, after)
        if fault[0] == "--fail":
            check_no_drafts(world, fault)
        result = world.clean("state.revert", "site")
        assert result.returncode == 0, result.stdout + result.stderr
        check_no_drafts(world, fault)
        assert world.look() == before, world.calls()[-1:]

    check_all([fault for number in calls for fault in (("--kill", str(number)), ("--fail", f"{number}:{errno.EIO}"))], check)
