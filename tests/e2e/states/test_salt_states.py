"""States of Salt and their parameters, in files of Salt. docs/reference/salt.md names what differs."""
import functools
import hashlib
import json
import os
import plistlib
import re
import shutil
import stat
import subprocess

import pytest

from machine import PROGRAM
from salt_signatures import PARAMETERS, UNSUPPORTED
from test_salt import SaltMachine


@pytest.fixture
def machine(tmp_path):
    return SaltMachine(tmp_path)


def test_contents_are_joined_from_several_settings_or_facts(machine):
    machine.pillar(keys="a: first\nb: |\n  second\nc: [third, fourth]\n")
    machine.sls("web", "ROOT/out: {file.managed: [contents_pillar: [a, c, b]]}\nROOT/os: {file.managed: [contents_grains: os]}\n"
                       "ROOT/both: {file.managed: [contents_grains: [os, kernel]]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "first\nthird\nfourth\nsecond\n"
    assert machine.read("os") == "Debian\n" and machine.read("both") == "Debian\nLinux\n"


def test_words_that_salt_puts_in_lower_case_may_have_capitals(machine):
    machine.sls("web", "ROOT/out: {file.serialize: [formatter: YAML, dataset: {a: 1}]}\n"
                       "line: {file.line: [name: ROOT/out, mode: Ensure, content: 'b: 2', after: 'a']}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "a: 1\nb: 2\n"


def test_a_result_may_be_left_to_chance(machine):
    machine.sls("web", "".join("s%d: {test.configurable_test_state: [result: Random, changes: random]}\n" % i for i in range(64)))
    results = machine.record("state.apply", "web", status=2)["results"]
    assert {bool(state.get("error")) for state in results} == {state["changed"] for state in results} == {False, True}
    assert machine.record("test.configurable_test_state", "x", "result=no", status=2)["results"][0]["error"] == "configured failure"


# --- signatures ------------------------------------------------------------------------------------------------------

# What every state takes.
# A run reports no more than some hundred mistakes.
PARTS = 4
ATTRIBUTES = {"name", "check_cmd", "creates", "require_in", "runas", "saltenv", "umask"}


@functools.lru_cache(None)
def manual():
    out = subprocess.run([PROGRAM, "doc", "--json"], capture_output=True, text=True, check=True).stdout
    return {module["name"]: module["parameters"] for module in json.loads(out)}


@pytest.mark.parametrize("function", PARAMETERS)
def test_every_parameter_that_salt_documents_is_known(function):
    known = {name for param in manual()[function] for name in (param["name"], *param["aliases"])}
    assert not set(PARAMETERS[function]) - known - ATTRIBUTES


def told_about(machine, states):
    """What is said about states of these functions and arguments."""
    machine.sls("web", "".join(f"s{i}:\n  {function}:\n" + "".join(f"    - {argument}\n" for argument in arguments)
                               for i, (function, arguments) in enumerate(states)))
    told = machine.run("state.show", "web").stderr
    assert not re.search(r"^and \d+ more", told, re.MULTILINE)
    return told


@pytest.mark.parametrize("part", range(PARTS))
def test_no_parameter_of_salt_is_unknown_in_a_state_file(machine, part):
    told = told_about(machine, [(function, ["name: /x", *(f"{name}: null" for name in PARAMETERS[function] if name not in ATTRIBUTES)]) for function in sorted(PARAMETERS)[part::PARTS]])
    assert "no parameter" not in told


@pytest.mark.parametrize("part", range(PARTS))
def test_every_refused_parameter_says_so_in_a_state_file(machine, part):
    refused = {name: function for function, names in PARAMETERS.items() for name in names for param in manual()[function]
               if not param["supported"] and name in (param["name"], *param["aliases"])}
    chosen = sorted(refused)[part::PARTS]
    told = told_about(machine, [(refused[name], [f"{name}: x"]) for name in chosen])
    assert chosen and not [name for name in chosen if f"parameter '{name}' of {refused[name]} is not supported: " not in told]


def test_what_is_not_supported_says_why():
    for function, params in manual().items():
        for param in params:
            assert param["supported"] or len(param["doc"]) >= 8, f"{function} {param['name']}"


@pytest.mark.parametrize("function", UNSUPPORTED)
def test_a_state_of_salt_that_cannot_work_says_why(machine, function):
    machine.sls("web", "it:\n  %s: []\n" % function)
    assert f'"{function}" is not supported: ' in machine.record("state.apply", "web", status=2)["results"][0]["error"]


def test_a_function_that_cannot_work_says_what_to_use_instead(machine):
    machine.sls("web", "a:\n  module.run:\n    - saltutil.refresh_pillar: []\nb:\n  test.nop:\n    - onlyif: [fun: http.query]\n"
                       "c:\n  virtualenv.managed: []\n")
    told = machine.run("state.apply", "web", status=2).stderr
    assert "web.sls:3:7: no function 'saltutil.refresh_pillar'" in told and "= settings are current in every run" in told
    assert "'onlyif': no function 'http.query'" in told and "= use cmd.run with curl, and 'retry'" in told
    assert '"virtualenv.managed" is not supported: use cmd.run with' in told


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


@pytest.mark.parametrize("ignore, text, stays", [
    ("ignore_ordering: true", "b = 2\na = 1\n", True),
    ("ignore_whitespace: true", "a=1\n\tb  =  2\n", True),
    ("ignore_comment_characters: '#'", "a = 1# old\nb = 2\n", True),
    ("ignore_ordering: true", "b=2\na = 1\n", False),
    ("ignore_whitespace: false", "a=1\nb = 2\n", False),
])
def test_a_file_that_differs_in_what_is_ignored_stays_as_it_is(machine, ignore, text, stays):
    (machine.root / "x").write_text(text)
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - contents: |\n        a = 1\n        b = 2\n    - %s\n" % ignore)
    assert machine.record("state.apply", "web", status=0)["results"][0]["changed"] is not stays
    assert (machine.root / "x").read_text() == (text if stays else "a = 1\nb = 2\n")


def test_contents_are_found_by_a_path_with_another_delimiter(machine):
    machine.pillar(web="files: {motd: hello}\n")
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - contents_pillar: files/motd\n    - contents_delimiter: /\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "x").read_text() == "hello\n"


def test_a_key_keeps_its_letters_and_is_added_only_when_it_is_asked_for(machine):
    (machine.root / "x").write_text("Port=1\n")
    machine.sls("web", "ROOT/x: {file.keyvalue: [{key_values: {PORT: 2, other: 3}, separator: '=', key_ignore_case: true}]}\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("x") == "Port=2\n"
    machine.sls("web", "ROOT/x: {file.keyvalue: [{key_values: {other: 3}, separator: '=', append_if_not_found: true}]}\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("x") == "Port=2\nother=3\n"


def test_dir_mode_is_the_mode_of_a_folder_that_has_both(machine):
    (machine.root / "d/below").mkdir(parents=True)
    machine.sls("web", "ROOT/d: {file.directory: [{mode: 700, dir_mode: 711, recurse: [mode]}]}\n")
    machine.run("state.apply", "web", status=0)
    assert [stat.S_IMODE(os.stat(machine.root / path).st_mode) for path in ("d", "d/below")] == [0o711, 0o711]


@pytest.mark.parametrize("body", ("file.replace: [{pattern: b=2, repl: b=3}]", "file.comment: [{regex: ^b}]", "file.uncomment: [{regex: ^c}]",
                                  "file.blockreplace: [{content: x, append_if_not_found: true}]"))
def test_edits_leave_no_copy_unless_it_is_asked_for(machine, body):
    (machine.root / "x").write_text("a=1\nb=2\n#c=3\n")
    machine.sls("web", "ROOT/x: {%s}\n" % body)
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 1
    assert os.listdir(machine.root) == ["x"]


def test_a_block_leaves_a_backup_when_it_is_asked_for(machine):
    (machine.root / "x").write_text("a\n")
    machine.sls("web", "ROOT/x: {file.blockreplace: [{content: b, append_if_not_found: true, backup: .bak}]}\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("x.bak") == "a\n" and machine.read("x").startswith("a\n#-- start managed zone --\nb\n")


def test_a_block_can_come_from_several_sources(machine):
    machine.file("a", "one")
    machine.file("b", "{{ 1 + 1 }}\n")
    (machine.root / "x").write_text("top\n")
    machine.sls("web", "ROOT/x:\n  file.blockreplace:\n    - marker_start: '#<'\n    - marker_end: '#>'\n    - append_if_not_found: true\n"
                       "    - template: jinja\n    - sources: [salt://a, salt://b]\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "x").read_text() == "top\n#<\none\n2\n#>\n"


def test_a_line_creates_a_file_with_its_mode(machine):
    machine.sls("web", "ROOT/x:\n  file.line:\n    - content: hello\n    - mode: ensure\n    - after: x\n    - create: true\n"
                       "    - file_mode: 0600\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "x").stat().st_mode & 0o777 == 0o600


def test_a_script_waits_for_a_change(machine):
    machine.file("note.sh", "#!/bin/sh\necho ran >> $1\n")
    machine.sls("web", "note:\n  cmd.wait_script:\n    - source: salt://note.sh\n    - args: ROOT/log\n    - watch: [{file: ROOT/x}]\n"
                       "ROOT/x:\n  file.managed:\n    - contents: hello\n")
    machine.record("state.apply", "web", status=0)
    machine.record("state.apply", "web", status=0)
    assert machine.log() == ["ran"]


def test_check_pillar_reports_all_that_is_missing_or_of_another_kind(machine):
    machine.pillar(web="port: 80\nname: x\nusers: [a]\ntls: {up: true}\n")
    machine.sls("web", "fine:\n  test.check_pillar:\n    - present: [port, 'tls:up']\n    - integer: port\n    - string: name\n"
                       "    - listing: users\n    - dictionary: tls\n    - boolean: 'tls:up'\n"
                       "wrong:\n  test.check_pillar:\n    - present: gone\n    - string: port\n")
    record = machine.record("state.apply", "web", status=2)
    assert not record["results"][0].get("error")
    assert record["results"][1]["error"] == "'gone' is missing; 'port' is an integer, not a string"


def test_disk_status_fails_outside_of_its_limits(machine):
    machine.sls("web", "/:\n  disk.status: [{maximum: 100}]\nfull:\n  disk.status: [{name: /}, {minimum: 1}, {absolute: true}]\n"
                       "low:\n  disk.status: [{name: /}, {maximum: 1}, {absolute: true}]\n")
    record = machine.record("state.apply", "web", status=2)
    assert [bool(state.get("error")) for state in record["results"]] == [False, False, True]
    assert "above the maximum of 1 KB" in record["results"][2]["error"]


def test_git_config_and_a_detached_copy(machine):
    subprocess.run("git init -q -b main r; cd r; git config user.email a@example.org; git config user.name a; echo 1 > f; git add f; "
                   "git commit -qm 1; git tag v1; echo 2 > f; git commit -qam 2", shell=True, check=True, cwd=machine.root)
    machine.sls("web", "ROOT/r:\n  git.detached: [{target: ROOT/c}, {rev: v1}]\n"
                       "c.x:\n  git.config_set: [{repo: ROOT/c}, {multivar: [one, two]}]\n"
                       "ROOT/new.git:\n  git.present: []\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "c" / "f").read_text() == "1\n"

    def ask(*words):
        return subprocess.run(["git", "-C", machine.root / "c", *words], capture_output=True, text=True, check=False).stdout.split()
    assert ask("config", "--get-all", "c.x") == ["one", "two"] and ask("branch", "--show-current") == []
    assert not any(state["changed"] for state in machine.record("state.apply", "web", status=0)["results"])
    machine.sls("gone", "'c\\..*':\n  git.config_unset: [{repo: ROOT/c}]\n")
    assert "all: true" in machine.record("state.apply", "gone", status=2)["results"][0]["error"]
    machine.sls("gone", "'c\\..*':\n  git.config_unset: [{repo: ROOT/c}, {all: true}]\n")
    machine.record("state.apply", "gone", status=0)
    assert ask("config", "--get-all", "c.x") == []
    machine.record("state.revert", "gone", status=0)
    machine.record("state.revert", "web", status=0)
    assert not (machine.root / "c").exists() and not (machine.root / "new.git").exists()


def test_texts_are_collected_for_a_file(machine):
    machine.file("hosts.j2", "{% for line in accumulator['hosts'] %}{{ line }}\n{% endfor %}")
    (machine.root / "block").write_text("#<\nold\n#>\n")
    machine.sls("web", "one:\n  file.accumulated: [{name: hosts}, {filename: ROOT/hosts}, {text: [a, b]}, {require_in: [{file: ROOT/hosts}]}]\n"
                       "two:\n  file.accumulated: [{name: hosts}, {filename: ROOT/hosts}, {text: [b, 3]}, {require_in: [{file: ROOT/hosts}]}]\n"
                       "ROOT/hosts:\n  file.managed: [{source: salt://hosts.j2}, {template: jinja}]\n"
                       "more:\n  file.accumulated: [{filename: ROOT/block}, {text: x}, {watch_in: [{file: ROOT/block}]}]\n"
                       "ROOT/block:\n  file.blockreplace: [{marker_start: '#<'}, {marker_end: '#>'}, {content: first}]\n")
    assert "+a" in machine.run("state.apply", "web", "--test", status=0).stdout
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "hosts").read_text() == "a\nb\n3\n"
    assert (machine.root / "block").read_text() == "#<\nfirst\nx\n#>\n"
    assert not any(state["changed"] for state in machine.record("state.apply", "web", status=0)["results"])


def test_a_function_waits_for_a_change(machine):
    machine.sls("web", "log:\n  module.wait:\n    - name: cmd.run\n    - m_name: echo ran >> ROOT/log\n    - watch: [{file: ROOT/x}]\n"
                       "also:\n  module.wait:\n    - cmd.run: [{name: echo also >> ROOT/log}]\n    - watch: [{file: ROOT/x}]\n"
                       "ROOT/x:\n  file.managed:\n    - contents: hello\n")
    machine.record("state.apply", "web", status=0)
    machine.record("state.apply", "web", status=0)
    assert machine.log() == ["ran", "also"]


def test_a_state_that_cannot_work_here_fails_with_the_reason(machine):
    machine.sls("web", "tools:\n  pkg.group_installed: []\nROOT/x:\n  file.managed:\n    - contents: hello\n")
    record = machine.record("state.apply", "web", status=2)
    assert record["results"][0]["error"] == '"pkg.group_installed" is not supported: name the packages of the group in pkg.installed'
    assert (machine.root / "x").exists()


def test_a_folder_below_a_setgid_folder_is_one_too(machine):
    (machine.root / "shared").mkdir()
    os.chmod(machine.root / "shared", 0o2775)
    machine.sls("web", "ROOT/shared/a/b:\n  file.directory: [{makedirs: true}]\nROOT/shared/c:\n  file.directory: [{mode: 755}]\n")
    machine.record("state.apply", "web", status=0)
    assert [oct(os.stat(machine.root / "shared" / name).st_mode & 0o7777) for name in ("a", "a/b", "c")] == ["0o2755", "0o2755", "0o755"]
    assert not any(state["changed"] for state in machine.record("state.apply", "web", status=0)["results"])


def test_two_ids_may_have_the_same_name(machine):
    machine.sls("web", "one:\n  file.managed: [{name: ROOT/x}, {contents: one}]\ntwo:\n  file.managed: [{name: ROOT/x}, {contents: two}]\n"
                       "mode:\n  file.managed: [{name: ROOT/x}, {mode: 600}, {replace: false}, {require: [{file: ROOT/x}]}]\n")
    result = machine.run("state.apply", "web", status=0)
    assert "warning" not in result.stderr
    assert (machine.root / "x").read_text() == "two\n"


def test_recurse_takes_the_first_source_that_is_there(machine):
    machine.file("b/file", "b")
    machine.file("c/file", "c")
    machine.sls("web", "ROOT/x:\n  file.recurse:\n    - source: [salt://a, salt://b, salt://c]\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "x" / "file").read_text() == "b"
    assert not machine.record("state.apply", "web", status=0)["results"][0]["changed"]


# --- archives ----------------------------------------------------------------------------------------------------------

def pack(machine, **files):
    """a.tar with these files below app/, and its hash."""
    source = machine.root / "source" / "app"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name, text in files.items():
        (source / name).write_text(text)
    subprocess.run(["tar", "-C", source.parent, "-cf", machine.root / "a.tar", "app"], check=True)
    return "sha256=" + hashlib.sha256((machine.root / "a.tar").read_bytes()).hexdigest()


def extract(machine, digest, *more):
    machine.sls("web", "ROOT/to:\n  archive.extracted:\n    - source: ROOT/a.tar\n    - source_hash: %s\n%s" %
                (digest, "".join("    - %s\n" % line for line in more)))
    return machine.record("state.apply", "web", status=0)["results"][0]


def test_an_archive_leaves_nothing_of_ours_in_the_folder(machine):
    digest = pack(machine, one="1")
    assert extract(machine, digest)["changed"] and not extract(machine, digest)["changed"]
    assert tree(machine.root / "to") == ["app", "app/one"]
    machine.record("state.revert", "web", status=0)
    assert not (machine.root / "to").exists()


def test_what_another_program_has_extracted_is_not_extracted_again(machine):
    digest = pack(machine, one="1")
    (machine.root / "to").mkdir()
    subprocess.run(["tar", "-C", machine.root / "to", "-xf", machine.root / "a.tar"], check=True)
    (machine.root / "to" / "app" / "one").write_text("mine")
    assert not extract(machine, digest)["changed"] and not extract(machine, digest)["changed"]
    assert (machine.root / "to" / "app" / "one").read_text() == "mine"
    (machine.root / "to" / "app" / "one").unlink()
    assert extract(machine, digest)["changed"]


SERIALIZED = {
    "toml": ('{title: "a \\"b\\"", n: 1, f: 2.0, ok: true, l: [1, "x"], deep: {web: {"a b": 1}, none: {}}, servers: [{n: a, sub: {k: v}}, {n: b}]}', "",
             b'title = "a \\"b\\""\nn = 1\nf = 2.0\nok = true\nl = [ 1, "x",]\n\n[deep.web]\n"a b" = 1\n\n[deep.none]\n\n'
             b'[[servers]]\nn = "a"\n\n[servers.sub]\nk = "v"\n\n[[servers]]\nn = "b"\n'),
    "plist": ("{z: a<b, n: 1, f: 1.5, ok: true, l: [x, {}], data: !!binary aGVsbG8=}", "", plistlib.dumps(
        {"z": "a<b", "n": 1, "f": 1.5, "ok": True, "l": ["x", {}], "data": b"hello"})),
    "configparser": ("{b: {Key: 1, t: true, lines: \"x\\ny\"}, DEFAULT: {f: 1.5}}", "",
                     b"[DEFAULT]\nf = 1.5\n\n[b]\nkey = 1\nt = True\nlines = x\n\ty\n\n\n"),
    "keyvalue": ("{b: 1, a: x y, n: null}", "[{separator: ': '}]", b"b: 1\na: x y\nn: None\n"),
    "msgpack": ("[1, true, abc]", "", b"\x93\x01\xc3\xa3abc"),
    "yaml": ("{b: {c: [1]}, a: \u00e9}", "[{indent: 4}, {explicit_start: true}, {sort_keys: false}]",
             b'---\nb:\n    c:\n    - 1\na: "\\xE9"\n'),
}


@pytest.mark.parametrize("serializer", SERIALIZED)
def test_data_is_serialized_as_salt_does_it(machine, serializer):
    data, options, text = SERIALIZED[serializer]
    machine.sls("web", f"a: {{file.serialize: [{{name: ROOT/a, serializer: {serializer}, dataset: {data}"
                       f"{', serializer_opts: ' + options if options else ''}}}]}}")
    machine.run("state.apply", "web", status=0)
    assert (machine.root / "a").read_bytes() == text
    assert not machine.record("state.apply", "web", status=0)["results"][0]["changed"]


@pytest.mark.parametrize("said, outcome", [("changed=yes comment=foretold", "changed"), ("changed=no", "ok")])
def test_a_stateful_command_can_name_the_command_of_dry_runs(machine, said, outcome):
    machine.sls("web", f"""
it: {{cmd.run: [{{name: 'touch ROOT/ran; echo changed=no'}}, {{stateful: [{{test_name: 'touch ROOT/asked; echo {said}'}}]}}]}}
also: {{cmd.script: [{{source: salt://x.sh}}, {{stateful: [{{test_name: 'x'}}]}}]}}
""")
    machine.file("x.sh", "#!/bin/sh\necho changed=no\n")
    dry = machine.record("state.apply", "web", "--test", status=0)["results"][0]
    assert dry["changed"] == (outcome == "changed") and ("foretold" in str(dry)) == (outcome == "changed")
    assert (machine.root / "asked").exists() and not (machine.root / "ran").exists()
    (machine.root / "asked").unlink()
    assert [state["changed"] for state in machine.record("state.apply", "web", status=0)["results"]] == [False, False]
    assert (machine.root / "ran").exists() and not (machine.root / "asked").exists()
    machine.sls("web", "it: {cmd.run: [{name: echo}, {stateful: [{other: x}]}]}")
    assert "test_name: COMMAND" in machine.run("state.apply", "web", status=2).stderr


def test_what_cannot_be_serialized_says_why(machine):
    machine.sls("web", """
empty: {file.serialize: [{name: ROOT/a, serializer: toml, dataset: {a: {b: null}}}]}
mixed: {file.serialize: [{name: ROOT/a, serializer: toml, dataset: {a: [1, {b: 2}]}}]}
number: {file.serialize: [{name: ROOT/a, serializer: plist, dataset: {a: {1: 2}}}]}
nothing: {file.serialize: [{name: ROOT/a, serializer: plist, dataset: {a: null}}]}
python: {file.serialize: [{name: ROOT/a, serializer: python, dataset: {a: 1}}]}
list: {file.serialize: [{name: ROOT/a, serializer: keyvalue, dataset: {a: [1]}}]}
lines: {file.serialize: [{name: ROOT/a, serializer: keyvalue, dataset: {a: "x\\nb=2"}}]}
flat: {file.serialize: [{name: ROOT/a, serializer: configparser, dataset: {a: 1}}]}
merge: {file.serialize: [{name: ROOT/a, serializer: configparser, merge_if_exists: true, dataset: {a: {b: 1}}}]}
""")
    record = machine.record("state.apply", "web", status=2)
    said = {state["name"].partition(":")[2]: state["error"] for state in record["results"]}
    assert "'a.b': TOML cannot represent null" in said["empty"]
    assert "'a': a list in TOML holds either maps alone or none" in said["mixed"]
    assert "a property list cannot have an integer as a key" in said["number"]
    assert "'a': a property list cannot represent null" in said["nothing"]
    assert "only Python reads it" in said["python"]
    assert "a list cannot be a value" in said["list"]
    assert "several lines" in said["lines"]
    assert "sections must be maps" in said["flat"]
    assert "requires json or yaml" in said["merge"]
    assert not (machine.root / "a").exists()


def test_what_is_extracted_already_gets_its_owner_and_a_link_is_not_followed_to_it(machine):
    if os.geteuid() != 0:
        pytest.skip("owners need root")
    folder = machine.folder / "src" / "app"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").write_text("one")
    (folder / "link").symlink_to("sub")
    subprocess.run(["tar", "-cf", machine.root / "a.tar", "app"], cwd=machine.folder / "src", check=True)
    machine.sls("web", "a: {archive.extracted: [{name: ROOT/to, source: ROOT/a.tar}]}")
    machine.run("state.apply", "web", status=0)
    to, outside = machine.root / "to" / "app", machine.root / "outside"
    (to / "extra").write_text("mine")

    machine.sls("later", "a: {archive.extracted: [{name: ROOT/to, source: ROOT/a.tar, user: 1234, group: 4321}]}")

    def owners():
        return {name: os.lstat(to / name)[4:6] for name in ("", "link", "sub", "sub/file", "extra")}

    assert machine.record("state.apply", "later", "test=True", status=0)["results"][0]["changed"]
    assert set(owners().values()) == {(0, 0)}
    assert machine.record("state.apply", "later", status=0)["results"][0]["changed"]
    assert owners() == {"": (1234, 4321), "link": (1234, 4321), "sub": (1234, 4321), "sub/file": (1234, 4321), "extra": (0, 0)}
    assert not machine.record("state.apply", "later", status=0)["results"][0]["changed"]
    machine.run("state.revert", "later", status=0)
    assert set(owners().values()) == {(0, 0)}

    (to / "sub").rename(outside)
    (to / "sub").symlink_to(outside)
    machine.run("state.apply", "later", status=0)
    assert os.stat(outside / "file").st_uid == 0


def test_an_archive_of_a_salt_file_has_one_folder_at_its_top(machine):
    for name, files in {"file": ["one"], "two": ["one", "app"]}.items():
        (machine.root / "top" / "app").mkdir(parents=True, exist_ok=True)
        (machine.root / "top" / "one").write_text("1")
        subprocess.run(["tar", "-C", machine.root / "top", "-cf", machine.root / f"{name}.tar", *files], check=True)
        body = f"ROOT/{name}: {{archive.extracted: [{{source: ROOT/{name}.tar}}%s]}}"
        machine.sls("web", body % "")
        result = machine.record("state.apply", "web", status=2)["results"][0]
        assert "enforce_toplevel is true" in result["error"] and not (machine.root / name).exists()
        machine.sls("web", body % ", {enforce_toplevel: false}")
        machine.record("state.apply", "web", status=0)
        assert (machine.root / name / "one").exists()


def test_what_is_in_the_way_of_an_archive_of_a_salt_file_stays_unless_it_is_forced(machine):
    digest = pack(machine, one="1")
    (machine.root / "to").mkdir()
    (machine.root / "to" / "app").write_text("mine")
    machine.sls("web", "ROOT/to: {archive.extracted: [{source: ROOT/a.tar}]}")
    for words in (["--test"], []):
        result = machine.record("state.apply", "web", *words, status=2)["results"][0]
        assert "force: true replaces it" in result["error"] and (machine.root / "to" / "app").read_text() == "mine"
    assert extract(machine, digest, "force: true")["changed"] and (machine.root / "to" / "app" / "one").exists()
    # also when it is known what was extracted
    (machine.root / "to" / "app" / "one").unlink()
    (machine.root / "to" / "app" / "one").symlink_to("elsewhere")
    machine.sls("web", f"ROOT/to: {{archive.extracted: [{{source: ROOT/a.tar}}, {{source_hash: {digest}}}, {{overwrite: true}}]}}")
    assert "force: true replaces it" in machine.record("state.apply", "web", status=2)["results"][0]["error"]
    assert (machine.root / "to" / "app" / "one").is_symlink()


def test_a_missing_path_alone_does_not_extract_an_archive_of_a_salt_file_again(machine):
    digest = pack(machine, one="1")
    missing = "if_missing: ROOT/to/flag"
    assert extract(machine, digest, missing)["changed"] and not extract(machine, digest, missing)["changed"]
    (machine.root / "to" / "flag").write_text("")
    (machine.root / "to" / "app" / "one").unlink()
    (machine.root / "a.tar").unlink()
    assert not extract(machine, digest, missing)["changed"]


def test_another_hash_extracts_again_only_when_told_or_when_a_file_is_missing(machine):
    extract(machine, pack(machine, one="1"))
    digest = pack(machine, one="2")
    assert not extract(machine, digest)["changed"]
    assert extract(machine, pack(machine, one="3"), "source_hash_update: true")["changed"]
    assert (machine.root / "to" / "app" / "one").read_text() == "3"
    assert extract(machine, pack(machine, one="4", two="2"))["changed"]


def test_clean_removes_what_the_archive_has_at_its_top_and_clean_parent_all(machine):
    for name in ("to/app/old", "to/other/old"):
        (machine.root / name).parent.mkdir(parents=True)
        (machine.root / name).write_text("")
    digest = pack(machine, one="1")
    extract(machine, digest, "clean: true")
    assert tree(machine.root / "to") == ["app", "app/one", "other", "other/old"]
    machine.record("state.revert", "web", status=0)
    assert tree(machine.root / "to") == ["app", "app/old", "other", "other/old"]
    extract(machine, digest, "clean_parent: true")
    assert tree(machine.root / "to") == ["app", "app/one"]


def test_the_list_of_files_can_be_trusted(machine):
    digest = pack(machine, one="1")
    extract(machine, digest, "skip_files_list_verify: true")
    (machine.root / "to" / "app" / "one").unlink()
    assert not extract(machine, digest, "skip_files_list_verify: true")["changed"]
    assert extract(machine, digest)["changed"]


def test_sources_of_edits_are_templates_and_blocks_have_the_markers_of_salt(machine):
    machine.file("a", "{{ 1 + 1 }}\n")
    (machine.root / "x").write_text("top\n")
    (machine.root / "y").write_text("top\n")
    machine.sls("web", "ROOT/x:\n  file.append: [{source: 'salt://a'}, {sources: ['salt://a']}]\n"
                       "ROOT/y:\n  file.blockreplace: [{source: 'salt://a'}, {append_if_not_found: true}]\n")
    machine.record("state.apply", "web", status=0)
    assert (machine.root / "x").read_text() == "top\n2\n"
    assert (machine.root / "y").read_text() == "top\n#-- start managed zone --\n2\n#-- end managed zone --\n"


def test_a_source_is_cached_and_found_there(machine):
    machine.file("app.conf", "one")
    machine.sls("web", "salt://app.conf: {file.cached: []}")
    path = machine.record("state.apply", "web", status=0)["results"][0]["details"]["path"]
    with open(path) as file:
        assert file.read() == "one"
    assert not machine.record("state.apply", "web", status=0)["results"][0]["changed"]
    machine.file("app.conf", "two")
    assert machine.record("state.apply", "web", status=0)["results"][0]["changed"]
    machine.sls("gone", "salt://app.conf: {file.not_cached: []}")
    assert machine.record("state.apply", "gone", status=0)["results"][0]["changed"] and not os.path.exists(path)
    assert not machine.record("state.apply", "gone", status=0)["results"][0]["changed"]
    machine.run("state.revert", "gone", status=0)
    with open(path) as file:
        assert file.read() == "two"
    machine.sls("web", "http://127.0.0.1:1/x: {file.cached: []}")
    assert "requires a hash" in machine.record("state.apply", "web", status=2)["results"][0]["error"]


def test_an_unknown_parameter_of_a_state_that_cleans_is_a_warning(machine):
    machine.sls("web", "x: {file.tidied: [{name: ROOT}, {age: 100}, {nonsense: 1}]}")
    assert "no parameter 'nonsense'" in machine.run("state.apply", "web", status=0).stderr


def test_a_mistake_in_a_json_query_has_its_column(machine):
    machine.sls("web", "x: {test.nop: [{name: '{{ {} | json_query(\"a[b]\") }}'}]}")
    assert "json_query: column 3: unexpected 'b'" in machine.run("state.apply", "web", status=1).stderr


def test_keys_of_an_account_are_those_that_are_given_and_no_others(machine):
    one, two, three = ("AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake0" + digit for digit in "012")
    (machine.root / "keys").write_text(f"# mine\nssh-ed25519 {one} old\nssh-ed25519 {two} kept\n")
    machine.sls("web", f"x: {{ssh_auth.manage: [{{config: ROOT/keys}}, {{enc: ed25519}}, {{ssh_keys: [{two}, ssh-ed25519 {three} new]}}]}}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("keys") == f"# mine\nssh-ed25519 {two} kept\nssh-ed25519 {three} new\n"
    assert not machine.record("state.apply", "web", status=0)["results"][0]["changed"]
    machine.run("state.revert", "web", status=0)
    assert f"{one} old" in machine.read("keys") and three not in machine.read("keys")
    machine.sls("web", "x: {ssh_auth.manage: [{config: ROOT/keys}, {ssh_keys: ['not a key']}]}")
    assert "'ssh_keys' is not a public key" in machine.run("state.apply", "web", status=2).stderr


def test_a_word_that_is_not_a_key_is_not_written_to_the_keys_of_an_account(machine):
    for name in ("notakey", "'ssh-rsa notakey me'"):
        machine.sls("web", f"{name}: {{ssh_auth.present: [{{config: ROOT/keys}}]}}")
        assert "is not a public key" in machine.run("state.apply", "web", status=2).stderr
    assert not (machine.root / "keys").exists()


def test_watch_is_another_name_of_wait(machine):
    machine.sls("web", "f: {file.managed: [{name: ROOT/f, contents: x}]}\n"
                       "touch ROOT/ran: {cmd.watch: [{watch: [{file: f}]}]}\n"
                       "call: {module.watch: [{name: test.echo, text: hello, watch: [{file: f}]}]}\n")
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 3 and (machine.root / "ran").exists()
    (machine.root / "ran").unlink()
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0 and not (machine.root / "ran").exists()
