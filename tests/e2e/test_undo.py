"""Undo data that a bad disk has damaged: what cannot be reverted is told, and never counts as reverted."""
import glob
import os
import random
import shutil

import pytest

from test_states import Machine

ROUNDS = int(os.environ.get("UNDO_ROUNDS", "25"))

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
