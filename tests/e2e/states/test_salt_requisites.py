"""What `extend`, requisites, `names`, `listen` and guards of .sls files mean where Salt differs from the first guess.

Orders and outcomes are those of Salt 3007.1."""
import json

import pytest

from test_salt import SaltMachine


@pytest.fixture
def machine(tmp_path):
    return SaltMachine(tmp_path)


def apply(machine, text, status=0, **files):
    """The names of the states in the order of the run; files are included by their names."""
    for name, body in files.items():
        machine.sls(name, body)
    machine.sls("c", text)
    return [state["name"] for state in machine.record("state.apply", "c", status=status)["results"]]


def show(machine):
    return json.loads(machine.run("state.show", "c", "--format", "json", status=0).stdout)


def test_extend_replaces_a_function_finds_names_and_a_name_takes_the_place_of_names(machine):
    included = """
e1: {file.managed: [name: ROOT/e1, contents: x]}
e2: {file.managed: [name: ROOT/e2, contents: x]}
e3: {file.managed: [names: [ROOT/n1, ROOT/n2], contents: x]}
e4: {test.nop: []}
"""
    (machine.root / "e1").write_text("there")
    order = apply(machine, """
include: [d]
extend:
  e1: {file.absent: []}
  ROOT/e2: {file: [contents: by name]}
  e3: {file: [name: ROOT/one]}
  e4: {cmd.run: [name: touch ROOT/e4]}
""", d=included)
    assert order == ["file.absent:e1", "file.managed:e2", "file.managed:e3", "test.nop:e4", "cmd.run:e4"]
    assert sorted(path.name for path in machine.root.iterdir()) == ["e2", "e4", "one"]
    assert (machine.root / "e2").read_text() == "by name\n"


def test_a_name_of_several_states_cannot_be_extended(machine):
    machine.sls("d", "a: {test.nop: [name: x]}\nb: {test.nop: [name: x]}")
    machine.sls("c", "include: [d]\nextend: {x: {test.nop: [order: 1]}}")
    told = machine.run("state.apply", "c", status=1).stderr
    assert 'c.sls:2:10: compiler: extend: state "x" not found in included files' in told


def test_a_requisite_means_every_state_with_that_id_or_name(machine):
    (machine.root / "foo").write_text("x\n")
    order = apply(machine, """
a: {cmd.wait: [name: echo reacts >> ROOT/log, watch: [file: ROOT/foo]]}
ROOT/foo: {file.managed: [contents: x]}
more: {file.append: [name: ROOT/foo, text: more]}
""")
    assert order == [f"file.managed:{machine.root}/foo", "file.append:more", "cmd.wait:a"]
    assert machine.log() == ["reacts"]


def test_a_requisite_on_a_file_covers_what_the_file_brought_into_the_run(machine):
    order = apply(machine, "include: [d, e]\na: {test.nop: [require: [sls: d], order: 1]}",
                  d="include: [f]\nd1: {test.nop: []}", f="include: [g]\nf1: {test.nop: []}", g="g1: {test.nop: []}",
                  e="include: [g]\ne1: {test.nop: []}")
    assert order == ["test.nop:g1", "test.nop:f1", "test.nop:d1", "test.nop:a", "test.nop:e1"]


def test_two_files_of_salt_cannot_declare_one_id_and_ours_can(machine):
    machine.sls("web", "include: [other]\nx: {test.nop: []}\ny: {test.nop: []}")
    machine.sls("other", "x: {cmd.run: [name: touch ROOT/ran]}")
    told = machine.run("state.apply", "web", status=1).stderr
    assert "other.sls:1:1: conflicting IDs: 'x' is declared in 'web' and in 'other'" in told
    assert "web.sls:2:1: note: the other one" in told and not (machine.root / "ran").exists()
    machine.file("mine.zy", "include: [more]\nx: {test.nop: []}")
    machine.file("more.zy", "x: {cmd.run: [command: 'true']}")
    assert len(machine.record("state.apply", "mine", status=0)["results"]) == 2


def test_one_name_may_be_in_the_names_of_several_ids_and_twice_in_one_list(machine):
    order = apply(machine, """
a: {test.nop: [names: [x, y, x]]}
b: {test.nop: [names: [x, z, y]]}
x: {test.nop: []}
c: {test.nop: [require: [test: y]]}
""")
    assert order == [f"test.nop:{name}" for name in ("a: x", "y", "b: x", "z", "b: y", "x", "c")]
    shown = {state["name"]: state for state in show(machine)}
    assert shown["test.nop:c"]["require"] == ["test.nop:y", "test.nop:b: y"]


def test_listeners_react_one_after_the_other_in_the_order_of_those_who_name_them(machine):
    order = apply(machine, """
a: {test.succeed_with_changes: [listen_in: [cmd: z, cmd: y]]}
z: {cmd.wait: [name: echo z >> ROOT/log]}
b: {cmd.wait: [name: echo b >> ROOT/log, listen: [test: a]]}
y: {cmd.wait: [name: echo y >> ROOT/log]}
bad: {test.fail_without_changes: [listen_in: [cmd: never]]}
never: {cmd.wait: [name: echo never >> ROOT/log]}
""", status=2)
    assert machine.log() == ["z", "y", "b"]
    assert order[-3:] == ["cmd.wait:listener_z", "cmd.wait:listener_y", "cmd.wait:listener_b"]


def test_states_of_one_id_in_the_split_form_come_first(machine):
    order = apply(machine, "a:\n  file.touch: [name: ROOT/f]\n  cmd.run: [name: 'true']\n  test: [nop]")
    assert order == ["test.nop:a", "file.touch:a", "cmd.run:a"]


def test_guards_run_with_the_folder_and_the_environment_of_their_state(machine):
    (machine.root / "sub").mkdir()
    apply(machine, """
a: {cmd.run: [name: echo a >> ROOT/log, cwd: ROOT, onlyif: test -d sub]}
b: {cmd.run: [name: echo b >> ROOT/log, cwd: ROOT, unless: test -d sub]}
c: {cmd.run: [name: echo c >> ROOT/log, env: [{FLAG: here}], onlyif: ['test "$FLAG" = here']]}
d: {cmd.run: [name: echo d >> ROOT/log, success_retcodes: [7], cwd: ROOT, unless: [exit 3, exit 7]]}
e: {cmd.run: [name: echo e >> ROOT/log, cwd: ROOT, onlyif: test -d sub, cmd_opts_exclude: [cwd]]}
""")
    assert machine.log() == ["a", "c", "d"]


def test_functions_that_only_templates_have_can_be_guards(machine):
    machine.pillar(p="here: {flag: true}")
    apply(machine, """
a: {cmd.run: [name: echo a >> ROOT/log, onlyif: [{fun: pillar.get, args: ['here:flag']}]]}
b: {cmd.run: [name: echo b >> ROOT/log, onlyif: [{fun: config.get, key: nowhere}]]}
c: {cmd.run: [name: echo c >> ROOT/log, unless: [{fun: grains.get, args: [os_family]}]]}
d: {cmd.run: [name: echo d >> ROOT/log, onlyif: [{fun: pillar.get, args: [here], get_return: flag}]]}
""")
    assert machine.log() == ["a", "d"]


def test_a_truth_is_not_a_guard(machine):
    machine.sls("c", """
a: {cmd.run: [name: echo a >> ROOT/log, onlyif: false]}
b: {cmd.run: [name: echo b >> ROOT/log, onlyif: ['true', true, 'false']]}
c: {cmd.run: [name: echo c >> ROOT/log, unless: [false, 'true']]}
""")
    told = machine.run("state.apply", "c", status=0).stderr
    assert machine.log() == ["a", "b"]
    assert "'onlyif' must be a command or a function, not a boolean: it is ignored, like what follows it" in told
    assert "c.sls:2:" in told and "write the command in quotes: 'false'" in told


def test_options_of_guards_are_for_salts_files(machine):
    machine.state("c", "a: {cmd.run: [{name: 'true', cmd_opts_exclude: [cwd]}]}")
    assert "has no parameter 'cmd_opts_exclude'" in machine.run("state.apply", "c", status=1).stderr


def test_a_retry_that_is_a_list_means_the_defaults_of_salt(machine):
    machine.sls("c", "a: {test.nop: [retry: [attempts: 9]]}")
    assert show(machine)[0]["retry"] == {"attempts": 1, "interval": 30.0}
    told = machine.run("state.apply", "c", status=0).stderr
    assert "c.sls:1:23: 'retry' must be a map, not a list: it is tried twice, 30 seconds apart" in told


NEEDS = """
/mnt/data/app/conf: {file.managed: [{contents: x, user: deploy, group: ops}]}
job: {cmd.run: [{name: id, runas: deploy}]}
app: {pkg.installed: []}
extra: {pkgrepo.managed: [{name: deb http://x.y/ stable main, file: /etc/apt/sources.list.d/x.list}]}
/mnt/data/app: {file.directory: []}
/mnt/data: {mount.mounted: [{device: /dev/x, fstype: ext4}]}
deploy: {user.present: [{groups: [ops]}]}
ops: {group.present: []}
"""


def test_what_a_state_plainly_needs_comes_first(machine):
    machine.state("c", NEEDS)
    shown = show(machine)
    needs = {state["name"]: state.get("implied order", []) for state in shown}
    assert needs == {
        "file.managed:/mnt/data/app/conf": ["file.directory:/mnt/data/app", "mount.mounted:/mnt/data", "user.present:deploy", "group.present:ops"],
        "cmd.run:job": ["user.present:deploy"],
        "pkg.installed:app": ["pkgrepo.managed:extra"],
        "file.directory:/mnt/data/app": ["mount.mounted:/mnt/data"],
        "user.present:deploy": ["group.present:ops"],
        "pkgrepo.managed:extra": [], "mount.mounted:/mnt/data": [], "group.present:ops": [],
    }
    place = {state["name"]: number for number, state in enumerate(shown)}
    assert all(place[before] < place[name] for name, list in needs.items() for before in list)


def test_files_of_both_languages_include_and_require_each_other(machine):
    machine.state("ours", "z: {test.nop: []}\na: {test.nop: [{unless: ['true', 'false']}]}\nb: {test.nop: [{require: [{test: second}]}]}")
    machine.sls("c", "include: [ours]\nsecond: {test.nop: [require: [test: z]]}\nfirst: {test.succeed_with_changes: [unless: ['true', 'false']]}")
    results = {state["name"]: state for state in machine.record("state.apply", "c", status=0)["results"]}
    order = list(results)
    assert order.index("test.nop:z") < order.index("test.nop:second") < order.index("test.nop:b")
    assert order.index("test.nop:second") < order.index("test.succeed_with_changes:first")
    assert results["test.nop:a"]["diff"] == "skipped: guard condition not met"
    assert results["test.succeed_with_changes:first"]["changed"]


@pytest.mark.parametrize("text, words", [
    ("a: {test.nop: [require: [file: nothere]]}", ["c.sls:1:26", 'requires unknown state "file:nothere"', "declare it, or include the file that does"]),
    ("a: {test.nop: [name: {{ pillar.nope }}]}", ["c.sls:1:", "'dict object' has no attribute 'nope'"]),
    ("{% from 'nope/map.jinja' import m %}", ["c.sls:1:4", "template 'nope/map.jinja' not found"]),
    ("include: [web.conf]", ["c.sls:1:11", "no state file for 'web.conf'", "expected web/conf.zy"]),
    ("#!py\ndef run(): return {}", ["c.sls:1:1", "no renderer 'py'", "files are rendered by 'jinja|yaml'"]),
])
def test_a_mistake_says_what_where_and_what_to_try(machine, text, words):
    machine.sls("c", text + "\n")
    told = machine.run("state.apply", "c").stderr
    assert [word for word in words if word not in told] == []


def test_an_empty_list_of_names_declares_no_state(machine):
    machine.sls("c", "none: {test.nop: [names: []]}\none: {test.nop: []}")
    assert [state["name"] for state in machine.record("state.apply", "c", status=0)["results"]] == ["test.nop:one"]


def test_a_name_that_map_jinja_defines_and_is_not_imported_is_named_with_its_import(machine):
    machine.file("web/map.jinja", "{% set web = {'port': 80} %}{% set extra = 1 %}")
    machine.sls("web", "{% from 'web/map.jinja' import web with context %}\na: {test.nop: [name: '{{ extra }}']}\n")
    (machine.folder / "states/web.sls").rename(machine.folder / "states/web/init.sls")
    told = machine.run("state.apply", "web").stderr
    assert "'extra' is undefined" in told
    assert "'web/map.jinja' defines it: {% from 'web/map.jinja' import extra with context %}" in told
