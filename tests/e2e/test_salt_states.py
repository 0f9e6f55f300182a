"""States of Salt and their parameters, in files of Salt. docs/salt.md names what differs."""
import os
import stat

import pytest

from test_salt import SaltMachine


@pytest.fixture
def machine(tmp_path):
    return SaltMachine(tmp_path)


# --- parameters ----------------------------------------------------------------------------------------------------

def test_a_parameter_without_effect_is_a_warning_that_gives_the_reason(machine):
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - contents: hello\n    - win_owner: Administrators\n")
    result = machine.run("state.apply", "web", status=0)
    assert "web.sls:4:7: parameter 'win_owner' of file.managed is not supported: Windows only" in result.stderr
    assert (machine.root / "x").read_text() == "hello\n"


def test_a_parameter_that_cannot_work_fails_its_state_and_no_other(machine):
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - contents: hello\n    - selinux: {setype: etc_t}\n"
                       "ROOT/y:\n  file.managed:\n    - contents: hello\n")
    record = machine.record("state.apply", "web", status=2)
    assert "parameter 'selinux' of file.managed is not supported" in record["results"][0]["error"]
    assert not (machine.root / "x").exists() and (machine.root / "y").exists()


def test_the_arguments_of_a_state_are_variables_of_its_template(machine):
    machine.file("a.j2", "{{ name }} {{ source }} {{ user }} {{ group }} {{ mode }} {{ context.port }} {{ port }} {{ host }} "
                         "{{ color }} {{ defaults }}\n")
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - source: salt://a.j2\n    - template: jinja\n    - mode: 0640\n"
                       "    - host: db1\n    - color: red\n    - context: {port: 80, color: blue}\n")
    result = machine.run("state.apply", "web", status=0)
    assert "host" not in result.stderr
    assert (machine.root / "x").read_text() == f"{machine.root}/x salt://a.j2 None None 640 80 80 db1 blue None\n"


# --- files -----------------------------------------------------------------------------------------------------------

def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def apply_and_revert(machine, folder, left):
    """Applied, the folder holds what is left; again nothing changes; reverted, it is as before."""
    before = tree(folder)
    assert machine.record("state.apply", "web", status=0)["results"][0]["changed"]
    assert tree(folder) == left
    assert not machine.record("state.apply", "web", status=0)["results"][0]["changed"]
    machine.record("state.revert", "web", status=0)
    assert tree(folder) == before


@pytest.mark.parametrize("args, left", [
    ("{matches: ['a.*']}", ["b", "big", "sub"]),
    ("{exclude: ['a.*']}", ["a1", "sub", "sub/a2"]),
    ("{age: 10}, {time_comparison: mtime}", ["a1", "big", "sub", "sub/a2"]),
    ("{size: 1k}", ["a1", "b", "sub", "sub/a2"]),
    ("{size: 1k}, {age: 10}, {time_comparison: mtime}", ["a1", "sub", "sub/a2"]),
    ("{size: 1k}, {age: 10}, {age_size_logical_operator: AND}, {age_size_only: size}", ["a1", "b", "sub", "sub/a2"]),
    ("{matches: [s, a]}, {rmdirs: true}", ["b", "big"]),
    ("{matches: ['.*/sub/']}, {full_path_match: true}", ["a1", "b", "big", "sub"]),
])
def test_tidied_removes_what_is_old_large_or_called_so(machine, args, left):
    folder = machine.root / "old"
    (folder / "sub").mkdir(parents=True)
    for name in ("a1", "b", "sub/a2"):
        (folder / name).write_text("x")
    (folder / "big").write_text("x" * 2000)
    os.utime(folder / "b", (1, 1))
    machine.sls("web", "ROOT/old:\n  file.tidied: [%s]\n" % args)
    apply_and_revert(machine, folder, left)


def test_tidied_leaves_what_another_state_manages(machine):
    (machine.root / "old").mkdir()
    (machine.root / "old" / "gone").write_text("")
    machine.sls("web", "ROOT/old:\n  file.tidied: []\nROOT/old/kept:\n  file.managed:\n    - contents: x\n    - order: 1\n")
    machine.record("state.apply", "web", status=0)
    assert tree(machine.root / "old") == ["kept"]


def test_pruned_removes_empty_folders_and_nothing_else(machine):
    folder = machine.root / "tree"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "c").mkdir()
    machine.sls("web", "ROOT/tree:\n  file.pruned: [{recurse: true}]\n")
    apply_and_revert(machine, folder, [])
    assert folder.exists()
    (folder / "c" / "file").write_text("")
    assert "tree/c is not empty" in machine.record("state.apply", "web", status=2)["results"][0]["error"]
    assert tree(folder) == ["a", "a/b", "c", "c/file"]
    machine.sls("web", "ROOT/tree:\n  file.pruned: [{recurse: true}, {ignore_errors: true}]\n")
    apply_and_revert(machine, folder, ["c", "c/file"])


@pytest.mark.parametrize("retain, left", [
    ("most_recent: 2", "0304-00 0304-12"),
    ("first_of_day: 2", "0303-00 0304-00"),
    ("first_of_month: all", "0101-00 0301-00"),
    ("first_of_year: 1", "0101-00"),
    ("most_recent: 1, first_of_week: 2", "0301-00 0304-00 0304-12"),
    ("most_recent: 0", ""),
])
def test_retention_keeps_some_backups_of_each_time(machine, retain, left):
    folder = machine.root / "backups"
    folder.mkdir()
    days = ["0101-00", "0301-00", "0302-00", "0303-00", "0303-12", "0304-00", "0304-12"]
    for name in days:
        (folder / f"db-2024{name}").write_text("")
    (folder / "README").write_text("")
    machine.sls("web", "ROOT/backups:\n  file.retention_schedule:\n    - strptime_format: db-%%Y%%m%%d-%%H\n    - retain: {%s}\n" % retain)
    apply_and_revert(machine, folder, ["README"] + [f"db-2024{name}" for name in left.split()])


def test_a_hard_link_is_another_name_of_the_file(machine):
    (machine.root / "one").write_text("1")
    (machine.root / "other").write_text("2")
    machine.sls("web", "ROOT/d/two:\n  file.hardlink: [{target: ROOT/one}, {makedirs: true}]\n"
                       "ROOT/other:\n  file.hardlink: [{target: ROOT/one}]\n")
    record = machine.record("state.apply", "web", status=2)
    assert os.path.samefile(machine.root / "one", machine.root / "d" / "two")
    assert "use force: true" in record["results"][1]["error"]
    machine.sls("web", "ROOT/other:\n  file.hardlink: [{target: ROOT/one}, {force: true}]\n")
    machine.record("state.apply", "web", status=0)
    assert os.path.samefile(machine.root / "one", machine.root / "other")
    machine.record("state.revert", "web", status=0)
    assert (machine.root / "other").read_text() == "2" and (machine.root / "one").read_text() == "1"


def test_a_decoded_file_can_come_from_the_pillar(machine):
    machine.pillar(web="blob: |\n  aGVs\n  bG8K\n")
    machine.sls("web", "ROOT/x:\n  file.decode:\n    - contents_pillar: blob\n    - encoding_type: base64\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "x").read_text() == "hello\n"


def test_a_fifo_takes_the_place_of_nothing_else(machine):
    (machine.root / "file").write_text("")
    machine.sls("web", "ROOT/p:\n  file.mknod: [{ntype: p}, {mode: 0640}]\nROOT/file:\n  file.mknod: [{ntype: p}]\n")
    record = machine.record("state.apply", "web", status=2)
    assert stat.S_ISFIFO(os.stat(machine.root / "p").st_mode) and record["results"][0]["changed"]
    assert "exists and is a file, not a fifo" in record["results"][1]["error"]
