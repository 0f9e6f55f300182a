"""Undo data that a bad disk has damaged: what cannot be reverted is told, and never counts as reverted."""
import glob
import io
import os
import random
import shutil
import socket
import stat
import subprocess
import tarfile

import pytest

from test_states import Machine

ROUNDS = int(os.environ.get("UNDO_ROUNDS", "25"))

INJECT = os.path.abspath(os.path.join(os.environ.get("ZESTER_BUILD", "build/asan"), "tests/faults/inject"))

TREE = "".join(f"""
f{i}:
  file.managed:
    - name: ROOT/f{i}
    - contents: new {i}
    - mode: '0600'
""" for i in range(6))


@pytest.fixture
def applied(tmp_path):
    machine = Machine(tmp_path)
    for i in range(6):
        (machine.root / f"f{i}").write_text(f"old {i}\n" * 400)
    machine.state("web", TREE)
    machine.run("state.apply", "web", status=0)
    shutil.copytree(tmp_path / "data", tmp_path / "saved-data")
    shutil.copytree(machine.root, tmp_path / "saved-root")
    return machine


def put_back(machine):
    for name, target in (("saved-data", machine.folder / "data"), ("saved-root", machine.root)):
        shutil.rmtree(target)
        shutil.copytree(machine.folder / name, target)


def restored(machine):
    return [i for i in range(6) if machine.read(f"f{i}") == f"old {i}\n" * 400]


def damage(path, chance):
    """One flipped bit, or a cut."""
    data = bytearray(open(path, "rb").read())
    if chance.random() < 0.3:
        data = data[:chance.randrange(len(data))]
    else:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    with open(path, "wb") as file:
        file.write(data)


def test_a_damaged_journal_is_reported_and_never_a_success_unless_everything_came_back(applied):
    chance = random.Random(1)
    told = 0
    for number in range(ROUNDS):
        put_back(applied)
        damage(glob.glob(str(applied.folder / "data/undo/*/journal"))[0], chance)
        result = applied.run("state.revert", "web")
        if result.returncode == 0:
            assert restored(applied) == list(range(6)), f"round {number}: {result.stdout}{result.stderr}"
        else:
            told += 1
            assert "damage" in result.stdout + result.stderr, f"round {number}: {result.stdout}{result.stderr}"
    assert told > ROUNDS / 3


def test_a_damaged_run_stays_and_can_be_reverted_again(applied):
    journal = glob.glob(str(applied.folder / "data/undo/*/journal"))[0]
    data = bytearray(open(journal, "rb").read())
    data[len(data) // 2] ^= 1
    with open(journal, "wb") as file:
        file.write(data)
    assert applied.run("state.revert", "web").returncode != 0
    before = restored(applied)
    assert len(before) >= 5  # one state at most is lost with a damaged record
    assert applied.run("state.revert", "web").returncode != 0  # nothing is forgotten
    assert restored(applied) == before


# --- runs that are reverted when they fail -------------------------------------------------

RELEASE = """
conf:
  file.managed: [name: ROOT/conf, contents: new]
touched:
  cmd.run: [name: "test ! -e ROOT/meddle || echo more >> ROOT/conf", require: [file: conf]]
health:
  cmd.run: [name: test ! -e ROOT/sick, require: [cmd: touched]]
"""


@pytest.fixture
def release(tmp_path):
    machine = Machine(tmp_path)
    machine.state("release", RELEASE)
    (machine.root / "conf").write_text("old\n")
    return machine


@pytest.mark.parametrize("asked", ["--revert-on-failure", "revert_on_failure=True"])
def test_a_run_that_fails_is_reverted_when_that_was_asked_for(release, asked):
    (release.root / "sick").touch()
    said = release.run("state.apply", "release", asked, status=2).stdout
    assert release.read("conf") == "old\n"
    assert "reverted, because the run failed" in said and " failed and was reverted\n" in said
    assert 'exit 0)\n    not reverted: nothing to revert\n' in said  # a command
    assert "3 states: 2 changed, 1 failed" in said
    again = release.run("state.revert", "release", status=0).stdout
    assert "nothing to revert" in again and release.read("conf") == "old\n"


def test_the_record_of_a_run_says_which_states_were_reverted(release):
    (release.root / "sick").touch()
    record = release.record("state.apply", "release", "--revert-on-failure", status=2)
    assert [state.get("details", {}).get("reverted") for state in record["results"]] == ["true", "false", None]
    assert record["status"] == "failed"


def test_a_run_that_succeeds_a_dry_run_and_one_that_nobody_asked_about_are_not_reverted(release):
    release.run("state.apply", "release", "--revert-on-failure", "--test", status=0)
    assert release.read("conf") == "old\n"
    assert "reverted" not in release.run("state.apply", "release", "--revert-on-failure", status=0).stdout
    assert release.read("conf") == "new\n"
    (release.root / "conf").write_text("old\n")
    (release.root / "sick").touch()
    assert "reverted" not in release.run("state.apply", "release", status=2).stdout
    assert release.read("conf") == "new\n"


def test_what_could_not_be_reverted_after_a_failure_is_a_failure_too(release):
    (release.root / "sick").touch()
    (release.root / "meddle").touch()  # the file is no longer what the state wrote
    said = release.run("state.apply", "release", "--revert-on-failure", status=2).stdout
    assert "not reverted: " in said and "3 states: 1 changed, 2 failed" in said and " failed and was reverted in part\n" in said
    assert release.read("conf") == "new\nmore\n"


# --- what others did between two runs ---------------------------------------------------------

V1 = "f:\n  file.managed: [name: ROOT/f, contents: v1]\ng:\n  file.managed: [name: ROOT/g, contents: v1]\n"


@pytest.fixture
def edited(tmp_path):
    """Run 1 writes v1 over v0, an administrator v2, run 2 writes v1 again."""
    machine = Machine(tmp_path)
    for name in "fg":
        (machine.root / name).write_text("v0\n")
    machine.state("conf", V1)
    runs = [machine.record("state.apply", "conf", status=0)["summary"]["run_id"]]
    (machine.root / "f").write_text("v2\n")
    runs.append(machine.record("state.apply", "conf", status=0)["summary"]["run_id"])
    return machine, runs


def test_an_edit_between_two_runs_is_not_discarded_without_force(edited):
    machine, (first, second) = edited
    for _ in range(2):  # asking twice is no answer
        said = machine.run("state.revert", "conf", "--all", "--yes", status=2).stdout
        assert f"'{machine.root}/f' was changed between run {first} and run {second}" in said and "--force" in said
        assert machine.read("f") == "v2\n" and machine.read("g") == "v0\n"
    machine.run("state.revert", "conf", "--all", "--yes", "--force", status=0)
    assert machine.read("f") == "v0\n"


def test_the_later_run_alone_gives_back_the_edit(edited):
    machine, (first, second) = edited
    machine.run("state.revert", second, status=0)
    assert machine.read("f") == "v2\n"
    said = machine.run("state.revert", first, status=2).stdout
    assert f"'{machine.root}/f' was changed since run {first}" in said and machine.read("f") == "v2\n"


def test_a_removal_between_two_runs_is_noticed_as_well(tmp_path):
    machine = Machine(tmp_path)
    (machine.root / "f").write_text("v0\n")
    machine.state("conf", V1)
    machine.run("state.apply", "conf", status=0)
    (machine.root / "f").unlink()
    machine.run("state.apply", "conf", status=0)
    assert "was changed between run" in machine.run("state.revert", "conf", "--all", "--yes", status=2).stdout
    assert not (machine.root / "f").exists()


# --- a disk that is full ------------------------------------------------------------------------

def test_a_revert_makes_room_on_a_full_disk_although_its_marks_cannot_be_written(release):
    log, before = release.folder / "calls", release.read("conf")
    release.run("state.apply", "release", status=0)
    subprocess.run([INJECT, "--log", str(log), "--", *release.command("state.revert", "release")], check=True, capture_output=True, timeout=120)
    calls = [line.split() for line in log.read_text().splitlines()]
    writes = [number for number, call, path in calls if call == "write" and path.endswith("/marks")]
    assert len(writes) > 2
    for number in writes:
        release.run("state.apply", "release", status=0)
        command = [INJECT, "--fail", f"{number}:28", "--", *release.command("state.revert", "release")]
        status = subprocess.run(command, capture_output=True, timeout=120).returncode
        assert release.read("conf") == before and status == (0 if number != writes[-1] else 1)
        release.run("state.revert", "release", status=0)
        assert release.read("conf") == before


# --- drafts that a killed run leaves ----------------------------------------------------------

DRAFTS = """
conf: {file.managed: [name: ROOT/conf, contents: new]}
link: {file.symlink: [name: ROOT/link, target: new, force: true, require: [file: conf]]}
unpacked: {archive.extracted: [name: ROOT/there, source: ROOT/../a.tar, enforce_toplevel: false, require: [file: link]]}
"""
PLANTED = ".zester-0123456789abcdef"


def drafts_of(machine):
    return [path for path in machine.folder.rglob(".zester-*") if path.name != PLANTED]


def calls_on_drafts(machine, call, *words):
    """The numbers of such calls of a run without a fault."""
    log = machine.folder / "calls"
    command = [INJECT, "--log", str(log), "--", *machine.command(*words)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    calls = [line.split(" ", 2) for line in log.read_text().splitlines()]
    return [number for number, name, path in calls if name == call and ".zester-" in path]


@pytest.fixture
def drafts(tmp_path):
    machine = Machine(tmp_path)
    machine.state("work", DRAFTS)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("deep/er/file")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"text"))
    return machine


def reset(machine):
    shutil.rmtree(machine.root)
    shutil.rmtree(machine.folder / "data", ignore_errors=True)
    (machine.root / "there").mkdir(parents=True)
    (machine.root / "conf").write_text("old\n")
    (machine.root / "link").symlink_to("old")
    for folder in (machine.root, machine.root / "there"):
        (folder / PLANTED).write_text("a user's\n")
    (machine.root / "there/.zester-fedcba9876543210").symlink_to("/etc/passwd")


def test_drafts_of_a_killed_run_are_removed_by_any_next_run_and_planted_names_stay(drafts):
    drafts.state("other", "x: {file.managed: [name: ROOT/x, contents: x]}\n")
    left = 0
    for call in ("renameat", "fchmod", "symlinkat", "openat", "unlinkat"):
        reset(drafts)
        numbers = calls_on_drafts(drafts, call, "state.apply", "work")
        for number in numbers[:1] + numbers[-1:]:
            reset(drafts)
            before = set(drafts_of(drafts))
            command = [INJECT, "--kill", number, "--", *drafts.command("state.apply", "work")]
            assert subprocess.run(command, capture_output=True, timeout=120).returncode == 137
            left += len(set(drafts_of(drafts)) - before)
            drafts.run("state.apply", "other", status=0)
            assert set(drafts_of(drafts)) == before, call
            assert (drafts.root / PLANTED).read_text() == (drafts.root / "there" / PLANTED).read_text() == "a user's\n"
    assert left > 3  # otherwise this shows nothing


def test_drafts_of_a_run_that_is_alive_stay(drafts):
    """Another run with the same data waits for it before it looks at them."""
    reset(drafts)
    fifo, draft = drafts.folder / "go", drafts.root / ".zester-aaaaaaaaaaaaaaaa"
    os.mkfifo(fifo)
    drafts.state("slow", f"a: {{cmd.run: [name: 'cat {fifo}']}}\n")
    drafts.state("quick", "x: {file.managed: [name: ROOT/x, contents: x]}\n")
    draft.write_text("in the making")
    info = os.stat(drafts.root)
    slow = subprocess.Popen(drafts.command("state.apply", "slow"), stdout=subprocess.DEVNULL)
    quick = None
    try:
        with open(fifo, "w") as go:  # opens when the command of the run does
            with open(drafts.folder / "data/drafts", "ab") as log:
                log.write(f"{info.st_dev:x} {info.st_ino:x} {draft.name} 0 0 {drafts.root}".encode() + b"\0")
            quick = subprocess.Popen(drafts.command("state.apply", "quick"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            assert "waiting for the run of" in quick.stderr.readline()
            assert draft.exists()
            slow.kill()
            go.write("on")
        slow.wait(60)
        quick.communicate(timeout=60)
        assert quick.returncode == 0 and not draft.exists()
    finally:
        for process in (slow, quick):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def test_an_archive_that_is_too_deep_is_refused_and_leaves_nothing(tmp_path):
    machine = Machine(tmp_path)
    with tarfile.open(tmp_path / "deep.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("/".join("d" * 400)), io.BytesIO())
    machine.state("deep", "a: {archive.extracted: [name: ROOT/there, source: ROOT/../deep.tar, enforce_toplevel: false]}\n")
    for exists in (True, False):
        shutil.rmtree(machine.root)
        machine.root.mkdir()
        if exists:
            (machine.root / "there").mkdir()
        said = machine.run("state.apply", "deep", status=2).stdout
        assert "deeper than the limit of 255 folders" in said
        assert sorted(path.name for path in machine.root.rglob("*")) == (["there"] if exists else [])


@pytest.mark.skipif("os.geteuid() != 0")
def test_a_folder_that_a_killed_run_has_made_gets_its_usual_mode_and_owner(tmp_path):
    machine, log = Machine(tmp_path), tmp_path / "calls"
    machine.state("work", "d: {file.directory: [name: ROOT/d, user: nobody]}\n")
    subprocess.run([INJECT, "--log", str(log), "--", *machine.command("state.apply", "work")], check=True, capture_output=True, timeout=120)
    calls = log.read_text().splitlines()
    made = next(number for number, line in enumerate(calls, 1) if line.endswith("root/d"))
    for number in range(made, made + 4):
        shutil.rmtree(machine.root / "d")
        shutil.rmtree(machine.folder / "data")
        subprocess.run([INJECT, "--kill", str(number), "--", *machine.command("state.apply", "work")], capture_output=True, timeout=120)
        machine.run("state.apply", "work", status=0)
        info = (machine.root / "d").stat()
        assert (stat.S_IMODE(info.st_mode), info.st_uid) == (0o755, 65534), calls[number - 1]


# --- what is neither file, folder nor link -------------------------------------------------------

NODES = {"fifo": (stat.S_IFIFO | 0o640, 0), "chars": (stat.S_IFCHR | 0o620, os.makedev(1, 3)), "blocks": (stat.S_IFBLK | 0o460, os.makedev(7, 0))}
REPLACED = "".join(f"{name}: {{file.symlink: [name: ROOT/{name}, target: /elsewhere, force: true]}}\n" for name in [*NODES, "sock"])


@pytest.fixture
def nodes(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("devices need root")
    machine = Machine(tmp_path)
    for name, (mode, device) in NODES.items():
        os.mknod(machine.root / name, mode, device)
        os.chmod(machine.root / name, stat.S_IMODE(mode))
        os.chown(machine.root / name, 1, 2)
    machine.state("work", REPLACED)
    return machine


def look_at_nodes(machine):
    found = {path.name: path.lstat() for path in machine.root.iterdir()}
    return {name: (info.st_mode, info.st_rdev, info.st_uid, info.st_gid) for name, info in found.items()}


def test_a_socket_that_was_replaced_leaves_room_for_the_next(nodes):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(nodes.root / "sock"))
    before = look_at_nodes(nodes)
    nodes.run("state.apply", "work", status=0)
    said = nodes.run("state.revert", "work", status=0).stdout
    assert "sockets are created by their program" in said
    del before["sock"]
    assert look_at_nodes(nodes) == before


@pytest.mark.parametrize("option, error", [("--kill", ""), ("--fail", ":28")])
def test_a_revert_that_stops_leaves_no_fifo_or_device_with_other_rights(nodes, option, error):
    before = look_at_nodes(nodes)
    nodes.run("state.apply", "work", status=0)
    applied = look_at_nodes(nodes)
    log = nodes.folder / "calls"
    subprocess.run([INJECT, "--log", str(log), "--", *nodes.command("state.revert", "work")], check=True, capture_output=True, timeout=120)
    for number in range(1, len(log.read_text().splitlines()) + 1, 1 if ROUNDS > 100 else 7):
        nodes.run("state.apply", "work", status=0)
        subprocess.run([INJECT, option, f"{number}{error}", "--", *nodes.command("state.revert", "work")], capture_output=True, timeout=120)
        for name, what in look_at_nodes(nodes).items():
            assert name.startswith(".zester-") or what in (before.get(name), applied[name]), (number, name, what)
        nodes.run("state.revert", "work", status=0)
        assert look_at_nodes(nodes) == before, number
