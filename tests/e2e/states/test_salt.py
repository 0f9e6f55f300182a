"""Salt trees: what a file that ends in .sls means. docs/reference/salt.md names each point that is tested here."""
import fcntl
import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import time

import pytest

from test_states import Machine, web


class SaltMachine(Machine):
    """The same with files of Salt."""

    def sls(self, name, text):
        path = self.folder / "states" / (name.replace(".", "/") + ".sls")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("ROOT", str(self.root)))

    def file(self, name, text):
        path = self.folder / "states" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("ROOT", str(self.root)))

    def pillar(self, **files):
        (self.folder / "settings").mkdir(exist_ok=True)
        (self.folder / "settings" / "top.sls").write_text("base: {'*': [%s]}" % ", ".join(files))
        for name, text in files.items():
            (self.folder / "settings" / (name + ".sls")).write_text(text)

    def log(self):
        path = self.root / "log"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def machine(tmp_path):
    return SaltMachine(tmp_path)


def say(name, *more):
    return "%s:\n  cmd.run:\n    - name: echo %s >> ROOT/log\n%s" % (
        name, name, "".join("    - %s\n" % line for line in more))


def names(record):
    return [state["name"].split(":", 1)[1] for state in record["results"]]


# --- order ---------------------------------------------------------------------------------------------------------

def test_states_run_as_they_are_written_and_requisites_are_moved_ahead(machine):
    machine.sls("web", say("zulu", "require: [{cmd: mike}]") + say("alpha") + say("mike") + say("last", "order: 1"))
    record = machine.record("state.apply", "web", status=0)
    assert machine.log() == names(record) == ["last", "mike", "zulu", "alpha"]


def test_requisites_are_moved_ahead_in_the_order_of_their_lists(machine):
    machine.sls("web", say("x", "require: [{cmd: c}, {cmd: b}]") + say("a") + say("b") + say("c") + say("y", "require: [{cmd: g}]") +
                say("d", "require_in: [{cmd: y}]") + say("g") + say("z", "watch: [{cmd: k}]", "require: [{cmd: l}]") + say("k") + say("l"))
    assert names(machine.record("state.apply", "web", status=0)) == machine.log() == list("cbxagdylkz")


def test_a_state_needs_what_it_names_before_what_others_add_to_it(machine):
    """The includer's first, then those of its includes; compared with Salt 3007."""
    machine.sls("below", say("deepest", "require_in: [{cmd: target}]"))
    machine.sls("included", "include: [below]\n" + say("target", "require: [{cmd: own}]") + say("own") + say("inner", "require_in: [{cmd: target}]"))
    machine.sls("web", "include: [included]\n" + say("outer", "require_in: [{cmd: target}]"))
    machine.run("state.apply", "web", status=0)
    assert machine.log() == ["deepest", "own", "outer", "inner", "target"]


def test_the_same_file_in_the_other_language_keeps_its_levels(machine):
    machine.state("web", say("zulu", "require: [{cmd: mike}]") + say("alpha") + say("mike"))
    record = machine.record("state.apply", "web", status=0)
    assert [state["level"] for state in record["results"]] == [0, 0, 1]


def test_check_cmd_of_a_salt_file_has_the_last_word(machine):
    text = """
same: {test.nop: [{check_cmd: 'false'}]}
fails: {test.fail_without_changes: [{check_cmd: ['true', 'true']}]}
both: {test.fail_without_changes: [{check_cmd: 'false'}]}
held: {test.nop: [{onlyif: 'false'}, {check_cmd: 'false'}]}
"""

    def by_id(record):
        return {state["name"].split(":", 1)[1]: state for state in record["results"]}
    machine.sls("web", text)
    found = by_id(machine.record("state.apply", "web", status=2))
    assert {name: bool(state.get("error")) for name, state in found.items()} == {"same": True, "fails": False, "both": True, "held": False}
    assert 'check_cmd "false"' in found["same"]["error"] and "check_cmd succeeded although the state failed" in found["fails"]["diff"]
    assert not any('check_cmd "' in state.get("error", "") for state in machine.record("state.apply", "web", "--test", status=None)["results"])
    machine.state("ours", text)
    found = by_id(machine.record("state.apply", "ours", status=2))
    assert {name: bool(state.get("error")) for name, state in found.items()} == {"same": False, "fails": True, "both": True, "held": False}


def test_a_file_is_there_before_a_command_that_is_written_after_it(machine):
    machine.sls("web", """
conf: {file.managed: [{name: ROOT/conf, contents: x}]}
read: {cmd.run: [{name: cat ROOT/conf > ROOT/copy}]}
gone: {file.absent: [{name: ROOT/conf}]}
""")
    machine.run("state.apply", "web", status=0)
    assert machine.read("copy") == "x\n" and not (machine.root / "conf").exists()


def test_the_graph_and_the_plan_tell_the_order_and_why(machine):
    machine.sls("web", say("one") + say("two", "require: [{cmd: one}]") + say("three"))
    graph = machine.run("state.graph", "web", status=0).stdout
    assert "require cmd.run:one" in graph and "written order cmd.run:two" in graph
    assert graph.count("written order") == 1, "what a requisite says is not said again"
    shown = json.loads(machine.run("state.show", "web", "--format", "json", status=0).stdout)
    assert shown[1]["written order"] == ["cmd.run:one"] and shown[1]["require"] == ["cmd.run:one"]


def test_listen_reacts_once_at_the_end_and_only_to_a_change(machine):
    machine.sls("web", say("service", "listen: [{file: conf}]", "unless: 'test -e ROOT/log'") + """
conf: {file.managed: [{name: ROOT/conf, contents: x}]}
""" + say("end"))
    first = machine.record("state.apply", "web", status=0)
    assert names(first) == ["service", "conf", "end", "listener_service"]
    again = machine.record("state.apply", "web", status=0)
    assert names(again) == ["service", "conf", "end"]


def test_a_list_under_unless_holds_back_only_as_a_whole(machine):
    machine.sls("web", say("one", "unless: ['true', 'false']") + say("all", "unless: ['true', 'true']"))
    machine.run("state.apply", "web", status=0)
    assert machine.log() == ["one"]


def test_attempts_are_all_tries(machine):
    machine.sls("web", say("try", "retry: {attempts: 2, interval: 0}").replace(">> ROOT/log", ">> ROOT/log; false"))
    machine.run("state.apply", "web", status=2)
    assert machine.log() == ["try", "try"]


def test_an_unknown_parameter_is_a_warning_with_its_place(machine):
    machine.sls("web", "x: {file.managed: [{name: ROOT/x, contents: x, colour: red}]}\n"
                       "y: {file.managed: [{name: ROOT/y, contents: x, colour: red}]}\n")
    told = machine.run("state.apply", "web", status=0).stderr
    assert told.count("file.managed has no parameter 'colour'") == 1 and "web.sls:1:" in told
    machine.state("ours", "x: {file.managed: [{name: ROOT/x, colour: red}]}")
    assert "has no parameter 'colour'" in machine.run("state.apply", "ours", status=1).stderr


# --- values --------------------------------------------------------------------------------------------------------

def test_numbers_dates_and_truths_are_text_as_salt_has_it(machine):
    machine.pillar(p="mode: 0755\nday: 2024-01-31\n")
    machine.sls("web", """
a: {file.managed: [{name: ROOT/a, contents: 0755, mode: 420}]}
b: {file.managed: [{name: ROOT/b, contents: yes, mode: 0600}]}
c: {file.managed: [{name: ROOT/c, contents: '{{ pillar.mode }} {{ pillar.day }}', mode: {{ pillar.mode }}}]}
""")
    machine.run("state.apply", "web", status=0)
    assert [machine.read(n) for n in "abc"] == ["755\n", "True\n", "755 2024-01-31\n"]
    assert [(machine.root / n).stat().st_mode & 0o7777 for n in "abc"] == [0o420, 0o600, 0o755]


def test_the_last_newline_of_a_template_stays(machine):
    machine.file("t.jinja", "{% for i in [1, 2] %}{{ i }}\n{% endfor -%}\n")
    machine.sls("web", "t: {file.managed: [{name: ROOT/t, source: salt://t.jinja, template: jinja}]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("t") == "1\n2\n\n"


def test_grains_are_salts_in_filter_by_and_config_get(machine):
    machine.sls("web", """
a: {file.managed: [{name: ROOT/a, contents: "{{ salt['grains.filter_by']({'Deb*': 'yes', 'default': 'no'}, grain='os') }}"}]}
b: {file.managed: [{name: ROOT/b, contents: "{{ salt['config.get']('os') }}"}]}
c: {file.managed: [{name: ROOT/c, contents: "{{ salt['grains.filter_by']({'Debian': {'x': 1}}, merge={'y': 2}) }}"}]}
""")
    machine.run("state.apply", "web", status=0)
    assert [machine.read(n) for n in "abc"] == ["yes\n", "Debian\n", "{'x': 1, 'y': 2}\n"]


def test_yaml_is_serialized_in_the_order_and_with_the_indent_of_salt(machine):
    machine.sls("web", "d: {file.serialize: [{name: ROOT/d, serializer: yaml, dataset: {b: [1, 2], a: 'yes'}}]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("d") == "a: 'yes'\nb:\n- 1\n- 2\n"


@pytest.mark.parametrize("body", ["file.replace: [{pattern: a, repl: b}]", "file.comment: [{regex: a}]",
                                  "file.uncomment: [{regex: a}]", "file.line: [{content: a, mode: ensure, after: b}]"])
def test_an_edit_of_a_file_that_is_not_there_fails(machine, body):
    machine.sls("web", "ROOT/missing: {%s}" % body)
    assert "does not exist" in machine.record("state.apply", "web", status=2)["results"][0]["error"]


def test_a_backup_for_the_minion_leaves_nothing_beside_the_file(machine):
    (machine.root / "conf").write_text("old\n")
    machine.sls("web", "ROOT/conf: {file.managed: [{contents: new, backup: minion}]}")
    machine.run("state.apply", "web", status=0)
    assert sorted(p.name for p in machine.root.iterdir()) == ["conf"]
    machine.run("state.revert", "web", status=0)
    assert machine.read("conf") == "old\n"


def test_variables_are_set_for_the_run_and_not_for_the_machine(machine):
    machine.sls("web", """
SALT_TEST_VARIABLE: {environ.setenv: [{value: here}]}
seen: {cmd.run: [{name: echo $SALT_TEST_VARIABLE >> ROOT/log}]}
""")
    machine.run("state.apply", "web", status=0)
    assert machine.log() == ["here"]
    with open("/etc/environment") as f:
        assert "SALT_TEST_VARIABLE" not in f.read()


def test_a_function_is_found_by_its_name_or_a_default_is_taken(machine):
    machine.sls("web", """
a:
  file.managed:
    - name: ROOT/a
    - contents: "{{ salt.get('test.echo')('hi') }} {{ salt.get('no.such', 'default') }} {{ salt.get('no.such') is none }}
        {{ 'test.ping' in salt.keys() }} {{ salt['test.get_opts']().file_client }}"
""")
    machine.run("state.apply", "web", status=0)
    assert machine.read("a") == "hi default True True local\n"


def test_a_retry_until_false_runs_the_state_once(machine):
    machine.sls("web", say("good", "retry: {attempts: 3, interval: 0, until: false}")
                + "bad:\n  cmd.run:\n    - name: 'echo bad >> ROOT/log; false'\n    - retry: {attempts: 3, interval: 0, until: false}\n")
    assert "the state runs once" in machine.run("state.apply", "web", status=2).stderr
    assert machine.log() == ["good", "bad"]


def test_a_variable_is_a_change_when_commands_would_see_another_value(machine, monkeypatch):
    monkeypatch.setenv("SALT_TEST_THERE", "there")
    machine.sls("web", """
SALT_TEST_VARIABLE: {environ.setenv: [{value: 'a#b'}]}
again: {environ.setenv: [{name: SALT_TEST_VARIABLE, value: 'a#b'}]}
SALT_TEST_THERE: {environ.setenv: [{value: there}]}
empty: {environ.setenv: [{value: {SALT_TEST_THERE: false}}]}
gone: {environ.setenv: [{value: {SALT_TEST_THERE: false}, false_unsets: true}]}
seen: {cmd.run: [{name: 'echo "$SALT_TEST_VARIABLE ${SALT_TEST_THERE-none}" >> ROOT/log', onchanges: [{environ: SALT_TEST_VARIABLE}]}]}
not seen: {cmd.run: [{name: echo no >> ROOT/log, onchanges: [{environ: again}]}]}
""")
    record = machine.record("state.apply", "web", status=0)
    changed = dict(zip(names(record), (state["changed"] for state in record["results"])))
    assert changed == {"SALT_TEST_VARIABLE": True, "again": False, "SALT_TEST_THERE": False, "empty": True, "gone": True,
                       "seen": True, "not seen": False}
    assert machine.read("log") == "a#b none\n"


# --- templates -----------------------------------------------------------------------------------------------------

def test_templates_without_context_see_the_machine_and_where_they_are(machine):
    machine.pillar(p="{% import 'm.jinja' as m %}who: {{ m.who }}\nhas: {{ 'grains.get' in salt }}\n")
    (machine.folder / "settings" / "m.jinja").write_text("{% set who = grains.os ~ salt['grains.get']('id', '')|length %}")
    machine.file("app/lib.jinja", "{% macro where() %}{{ tpldir }} {{ tplfile }} {{ sls }} {{ grains.os }} "
                                  "{{ pillar.has }} {{ opts.id is defined }} {{ 'no.such' in salt }}{% endmacro %}")
    machine.file("app/data.yaml", "os: {{ grains.os }}\n")
    machine.sls("app", """
{% from 'app/lib.jinja' import where %}
{% import_yaml 'app/data.yaml' as data %}
a: {file.managed: [{name: ROOT/a, contents: "{{ where() }} {{ data.os }}"}]}
""")
    machine.run("state.apply", "app", status=0)
    assert machine.read("a") == "app app/lib.jinja app Debian True True False Debian\n"


def test_runs_of_several_references_are_taken_back_by_the_same_words(machine):
    machine.sls("a", "ROOT/a: {file.managed: [{contents: x}]}")
    machine.sls("b", "ROOT/b: {file.managed: [{contents: x}]}")
    machine.run("state.apply", "a,b", status=0)
    machine.run("state.revert", "a,b", status=0)
    assert list(machine.root.iterdir()) == []


# --- mistakes ------------------------------------------------------------------------------------------------------

def test_a_mistake_in_one_state_is_the_failure_of_that_state(machine):
    machine.sls("web", """
relative: {file.managed: [{name: not/absolute}]}
unknown: {no.such: [{name: x}]}
waits: {cmd.run: [{name: echo waits >> ROOT/log}, {require: [{pkg: gone}]}]}
asks: {cmd.run: [{name: echo asks >> ROOT/log}, {onlyif: [{fun: no.such}]}]}
after: {cmd.run: [{name: echo after >> ROOT/log}, {require: [{file: relative}]}]}
fine: {cmd.run: [{name: echo fine >> ROOT/log}]}
""")
    record = machine.record("state.apply", "web", status=2)
    assert [bool(state.get("error")) for state in record["results"]] == [True] * 4 + [False] * 2
    assert machine.log() == ["fine"] and record["results"][4]["skip_reason"] == "require_failed"
    told = machine.run("state.check", "web", status=1).stderr
    for words in ("must be an absolute path", "unknown module", "unknown state", "no function"):
        assert words in told
    # in the other language nothing runs
    machine.state("ours", "fine: {cmd.run: [{name: echo ours >> ROOT/log}]}\nbad: {no.such: []}")
    machine.run("state.apply", "ours", status=1)
    assert machine.log() == ["fine"]


# --- functions -----------------------------------------------------------------------------------------------------

def test_module_run_in_all_its_spellings(machine):
    machine.sls("web", """
old: {module.run: [{name: test.echo}, {text: one}]}
new:
  module.run:
    - test.echo: [two]
    - test.version:
test.echo: {module.run: [{args: [three]}]}
named: {module.run: [{name: hashutil.digest}, {kwargs: {instr: abc, checksum: md5}}]}
false: {module.run: [{name: test.false}]}
""")
    record = machine.record("state.apply", "web", status=2)
    found = [state.get("details", {}).get("result") for state in record["results"]]
    assert found[0] == "one" and found[1]["test.echo"] == "two" and found[2] == "three"
    assert found[3] == "900150983cd24fb0d6963f7d28e17f72"
    assert "returned false" in record["results"][4]["error"]


@pytest.mark.parametrize("call, answer", [
    ("salt['match.compound']('G@os:Debian and not E@nobody')", "True"),
    ("salt['match.compound']('G@os.family:debian and G@os_family:Debian')", "True"),
    ("salt['match.grain']('os:Debian')", "True"),
    ("salt['match.pillar']('role:db')", "False"),
    ("salt['file.group_to_gid']('root')", "0"),
    ("salt['file.user_to_uid']('nobody-here')", ""),
    ("salt['file.search']('/etc/passwd', '^root:', multiline=True)", "True"),
    ("salt['file.contains']('/etc/passwd', 'root:')", "True"),
    ("salt['file.get_mode']('/tmp')", "1777"),
    ("salt['file.get_user']('/etc/passwd')", "root"),
    ("salt['file.is_link']('/proc/self')", "True"),
    ("salt['file.join'](['/etc', 'x'])", "/etc/x"),
    ("salt['hashutil.sha256_digest']('abc')[:8]", "ba7816bf"),
    ("salt['hashutil.base64_b64encode']('abc')", "YWJj"),
    ("salt['random.get_str'](12)|length", "12"),
    ("salt['random.rand_int'](3, 3)", "3"),
    ("salt['mine.get']('*', 'network.ip_addrs')", "{}"),
    ("salt['cp.get_file_str']('salt://data.txt')|trim", "data"),
    ("salt['cp.get_file_str']('salt://no.txt')", "False"),
    ("'web' in salt['cp.list_states']()", "True"),
    ("salt['log.debug']('x')", "True"),
    ("salt['pillar.filter_by']({'a': 1, 'default': 2}, 'none')", "2"),
    ("salt['slsutil.merge']({'a': {'b': 1}}, {'a': {'c': 2}})", "{'a': {'b': 1, 'c': 2}}"),
    ("salt['slsutil.merge']({'a': {'b': 1}}, {'a': {'c': 2}}, strategy='overwrite')", "{'a': {'c': 2}}"),
    ("salt['slsutil.merge']({'a': 1, 'b': 2}, {'a': 3}, strategy='list')", "{'a': [1, 3], 'b': 2}"),
    ("salt['slsutil.merge']({'a': [1, 2]}, {'a': [2, 3]}, merge_lists=True)", "{'a': [1, 2, 3]}"),
    ("salt['slsutil.merge_all']([{'a': 1}, {'b': 2}, {'a': 3}])", "{'a': 3, 'b': 2}"),
    ("salt['slsutil.update']({'a': {'b': 1}}, {'a': {'c': 2}}, recursive_update=False)", "{'a': {'c': 2}}"),
    ("salt['slsutil.boolstr'](1, true='on', false='off')", "on"),
    ("salt['slsutil.boolstr']('')", "false"),
    ("salt['slsutil.serialize']('json', {'b': [1], 'a': none})", '{"b": [1], "a": null}'),
    ("salt['slsutil.serialize']('yaml', {'a': [1, 'x']})", "{a: [1, x]}"),
    ("salt['slsutil.deserialize']('json', '[1, 2]')[1]", "2"),
    ("salt['slsutil.deserialize']('yaml', 'mode: 0644').mode", "644"),
    ("salt['slsutil.file_exists']('salt://data.txt'), salt['slsutil.file_exists']('sub')", "(True, False)"),
    ("salt['slsutil.dir_exists']('sub'), salt['slsutil.dir_exists']('data.txt')", "(True, False)"),
    ("salt['slsutil.path_exists']('sub/inner/'), salt['slsutil.path_exists']('su')", "(True, False)"),
    ("salt['slsutil.findup']('sub/inner', ['none.txt', 'data.txt'])", "data.txt"),
    ("salt['slsutil.renderer']('salt://sub/inner/list.sls', what='x')", "['x', 644]"),
    ("salt['slsutil.renderer'](string='{' ~ '{ 1 + 1 }' ~ '}', default_renderer='jinja')", "2"),
    ("salt['slsutil.banner'](20, title='T', text='some words').splitlines()[2:5]",
     "['#        T         #', '#                  #', '# some words       #']"),
    ("99|random_hash|length, 99|rand_str|length, 99|random_hash('sha1')|length", "(64, 32, 40)"),
    ("([1, 2, 3]|random_shuffle)|sort, [1, 2]|random_sample(1)|length", "([1, 2, 3], 1)"),
    ("('52:54:00'|gen_mac)|length", "17"),
    ("'sh'|which is string, 'no-such-program'|which", "(True, None)"),
    ("'/etc/passwd'|is_text_file, '/bin/sh'|is_text_file, '/none'|is_text_file", "(True, False, False)"),
    ("'/bin/sh'|is_bin_file, '/bin/sh'|is_binary_file, '/etc/passwd'|is_bin_file", "(True, True, False)"),
    ("'ROOT/empty'|is_empty_file, '/etc/passwd'|is_empty_file", "(True, False)"),
    ("'ROOT/empty'|file_hashsum('md5')", "d41d8cd98f00b204e9800998ecf8427e"),
    ("'ROOT/tree'|list_files|map('replace', 'ROOT/', '')|list", "['tree', 'tree/a', 'tree/b', 'tree/b/c']"),
    ("'127.0.0.1'|dns_check, 'no-such-host.invalid'|dns_check(safe=True)", "('127.0.0.1', None)"),
    ("'http://127.0.0.1:1/'|http_query|list", "['error']"),
    ("ifelse('no*', 1, 'G@os:Debian', 2, 3), ifelse('no*', 1, 'x*', 2, 3), ifelse(true, 4, 5)", "(2, 3, 4)"),
    ("ifelse('foo*', 'a', 'bar*', 'b', 'c', minion_id='bar03')", "b"),
    ("salt['match.filter_by']({'G@os:no': 1, 'G@os:Debian': 2, 'default': 3}), salt['match.filter_by']({'no*': 1, 'default': 3})", "(2, 3)"),
    ("'slsutil.renderer' in salt and 'slsutil.banner' in salt and 'no.such' not in salt", "True"),
])
def test_functions_that_formulas_call(machine, call, answer):
    machine.file("data.txt", "data\n")
    machine.file("sub/inner/list.sls", "- {{ what }}\n- 0644\n")
    (machine.root / "tree/b").mkdir(parents=True)
    for name in ("empty", "tree/a", "tree/b/c"):
        (machine.root / name).write_text("")
    machine.sls("web", "x: {file.managed: [{name: ROOT/x, contents: {{ (%s) | string | json }}, allow_empty: true}]}" % call)
    machine.run("state.apply", "web", status=0)
    assert machine.read("x").strip() == answer


def test_states_without_an_order_count_on_from_ten_thousand(machine):
    machine.sls("web", say("late", "order: 20000") + say("first") + say("second") + say("early", "order: 9999") +
                say("end", "order: last") + say("third"))
    machine.run("state.apply", "web", status=0)
    assert machine.log() == ["early", "first", "second", "third", "late", "end"]


def test_requisites_of_several_kinds_must_all_agree(machine):
    machine.sls("web", "bad: {cmd.run: [{name: 'false'}]}\nsame: {test.nop: []}\n" + say("good") +
                say("both", "onfail: [{cmd: bad}]", "require: [{cmd: good}]") +
                say("one", "onfail: [{cmd: bad}]", "onchanges: [{test: same}]"))
    machine.run("state.apply", "web", status=2)
    assert machine.log() == ["good", "both"]


def test_a_skip_because_of_a_failure_goes_on_and_one_because_nothing_changed_does_not(machine):
    machine.sls("web", "bad: {cmd.run: [{name: 'false'}]}\nsame: {test.nop: []}\n" + say("one", "require: [{cmd: bad}]") +
                say("two", "require: [{cmd: one}]") + say("three", "onchanges: [{test: same}]") +
                say("four", "require: [{cmd: three}]"))
    record = machine.record("state.apply", "web", status=2)
    assert machine.log() == ["four"]
    assert "bad" in str(record["results"][3])


def test_a_missing_variable_is_an_error_in_states_and_in_pillar_files(machine):
    machine.sls("web", "x: {test.nop: [{name: '{{ nobody.set }}'}]}")
    assert "'nobody' is undefined" in machine.run("state.apply", "web", status=1).stderr
    machine.sls("web", "x: {test.nop: []}")
    machine.pillar(web="x: '{{ nobody }}'\n")
    assert "'nobody' is undefined" in machine.run("state.apply", "web", status=1).stderr


def test_files_that_include_each_other_are_read_once(machine):
    machine.sls("one", "include: [two]\n" + say("a"))
    machine.sls("two", "include: [one]\n" + say("b"))
    machine.run("state.apply", "one", status=0)
    assert sorted(machine.log()) == ["a", "b"]
    machine.state("three", "include: [four]\n" + say("a"))
    machine.state("four", "include: [three]\n" + say("b"))
    assert "include" in machine.run("state.apply", "three", status=1).stderr


def test_prereq_asks_whether_its_target_would_change(machine):
    machine.sls("web", say("before", "prereq: [{file: conf}]") + "conf: {file.managed: [{name: ROOT/conf, contents: x}]}\n" +
                say("agreed", "prereq: [{cmd: after}]") + say("after", "require: [{cmd: agreed}]"))
    machine.run("state.apply", "web", status=0)
    assert machine.log() == ["before", "agreed", "after"]
    machine.run("state.apply", "web", status=0)
    assert machine.log() == ["before", "agreed", "after", "agreed", "after"]


def test_attributes_without_effect_are_warnings_and_refused_in_the_other_language(machine):
    body = "x: {test.nop: [{aggregate: true}, {reload_pillar: true}, {saltenv: dev}]}"
    machine.sls("web", body)
    assert machine.run("state.apply", "web", status=0).stderr.count("has no effect here") == 3
    machine.state("other", body)
    assert machine.run("state.apply", "other", status=1).stderr.count("has no effect here") == 3
    machine.sls("web", "x: {test.nop: [{saltenv: base}]}")
    assert "no effect" not in machine.run("state.apply", "web", status=0).stderr


def test_an_event_of_a_state_is_a_warning_without_a_fleet(machine):
    machine.sls("web", "x: {test.nop: [{fire_event: my/tag}]}")
    assert "'fire_event' has no effect here" in machine.run("state.apply", "web", status=0).stderr
    machine.sls("web", "x: {test.nop: [{fire_event: false}]}")
    assert "no effect" not in machine.run("state.apply", "web", status=0).stderr


@pytest.mark.parametrize("calls", ["{file.touch: [{name: ROOT/x}]}, {test.echo: [{text: hi}]}", "{test.echo: [{text: hi}]}, {file.touch: [{name: ROOT/x}]}"])
def test_a_state_among_several_calls_of_module_run_says_what_to_write(machine, calls):
    machine.sls("web", "several: {module.run: [CALLS]}".replace("CALLS", calls))
    said = machine.run("state.apply", "web", status=2).stderr
    assert "'file.touch' is a state here, not a function to call" in said and "'ID: {file.touch: ...}'" in said
    assert not (machine.root / "x").exists()


def test_a_cycle_does_not_hide_what_would_fail_later(machine):
    machine.sls("web", """
a: {test.nop: [{require: [{test: b}]}]}
b: {test.nop: [{require: [{test: a}]}]}
c: {test.nopp: []}
d: {file.managed: [{name: relative}]}
e: {test.nop: [{unknown_thing: 1}]}
""")
    said = machine.run("state.apply", "web", status=1).stderr
    for words in ("cycle detected", "unknown module \"test.nopp\"", "must be an absolute path", "no parameter 'unknown_thing'"):
        assert words in said


@pytest.mark.parametrize("test", [(), ("--test",)])
def test_an_event_of_event_send_fails_without_a_fleet(machine, test):
    machine.sls("web", "a/b: {event.send: [{data: {x: 1}}]}\nc/d: {event.wait: []}")
    assert "event 'a/b' not sent: events belong to a fleet, and this run has none" in machine.run("state.apply", "web", *test, status=2).stdout
    assert "event 'a/b' not sent" in machine.run("event.send", "a/b", *test, status=2).stdout


def test_a_failure_that_another_state_handles_does_not_fail_the_run(machine):
    body = """
broken: {test.fail_without_changes: []}
rescue: {test.nop: [{onfail: [{test: broken}]}, {onfail_stop: STOP}]}
"""
    machine.sls("web", body.replace("STOP", "true"))
    machine.run("state.apply", "web", status=2)
    machine.sls("web", body.replace("STOP", "false"))
    assert "handled by test.nop:rescue" in machine.run("state.apply", "web", status=0).stdout
    record = machine.record("state.apply", "web", status=0)
    assert (record["success"], record["results"][0]["handled_by"]) == (True, "test.nop:rescue")
    machine.sls("web", body.replace("STOP", "false") + """
second: {test.fail_without_changes: [{onfail: [{test: broken}]}, {onfail_stop: false}]}
""")
    assert "handled by" not in machine.run("state.apply", "web", status=2).stdout


@pytest.mark.parametrize("state", ["pip.installed: [{name: x}, {bin_env: /bin/true}, RUNAS]", "pkg.installed: [{name: no-such-package}, RUNAS]",
                                   "gem.installed: [{name: x}, {gem_bin: /bin/true}, RUNAS]"])
def test_packages_are_installed_by_the_user_of_runas(machine, state):
    machine.sls("web", "x: {%s}" % state.replace("RUNAS", "{runas: no-such-user}"))
    result = machine.run("state.apply", "web", status=2)
    assert "user 'no-such-user' does not exist" in result.stdout and "no effect" not in result.stderr


def test_an_entry_of_fstab_is_found_by_its_folder(machine):
    (machine.root / "fstab").write_text("/dev/one /mnt/x ext4 defaults 0 0\n")
    machine.sls("web", """
/dev/two: {mount.fstab_present: [{fs_file: /mnt/x, fs_vfstype: ext4, mount: false, config: ROOT/fstab}]}
""")
    machine.run("state.apply", "web", status=0)
    assert [line.split()[:2] for line in machine.read("fstab").splitlines()] == [["/dev/two", "/mnt/x"]]
    machine.sls("web", "x: {mount.fstab_present: [{fs_file: /mnt/x, fs_vfstype: ext4, match_on: name, config: ROOT/fstab}]}")
    assert "an entry is found by its folder" in machine.run("state.apply", "web", status=2).stderr


def test_an_entry_of_fstab_whose_mount_failed_is_reverted(machine):
    (machine.root / "fstab").write_text("# none\n")
    machine.sls("web", "/dev/no-such-disk: {mount.fstab_present: [{fs_file: ROOT/gone, fs_vfstype: ext4, config: ROOT/fstab}]}")
    assert "mount" in machine.record("state.apply", "web", status=2)["results"][0]["error"]
    assert "/dev/no-such-disk" in machine.read("fstab")
    machine.run("state.revert", "web", status=0)
    assert machine.read("fstab") == "# none\n"


def test_an_entry_of_fstab_for_swap_is_found_by_its_device(machine):
    (machine.root / "fstab").write_text("/dev/one none swap defaults 0 0\n/dev/two swap swap pri=3 0 0\n")
    machine.sls("web", """
/dev/two: {mount.fstab_present: [{fs_file: swap, fs_vfstype: swap, fs_mntops: pri=5, config: ROOT/fstab}]}
/dev/three: {mount.fstab_present: [{fs_file: none, fs_vfstype: swap, config: ROOT/fstab}]}
""")
    machine.run("state.apply", "web", status=0)
    wanted = ["/dev/one none swap defaults 0 0", "/dev/two swap swap pri=5 0 0", "/dev/three none swap defaults 0 0"]
    assert machine.read("fstab").replace("\t", " ").splitlines() == wanted
    assert not [state for state in machine.record("state.apply", "web", status=0)["results"] if state["changed"]]
    machine.sls("gone", "/dev/one: {mount.fstab_absent: [{fs_file: none, config: ROOT/fstab}]}")
    machine.run("state.apply", "gone", status=0)
    assert machine.read("fstab").replace("\t", " ").splitlines() == wanted[1:]
    machine.sls("web", "x: {mount.fstab_present: [{fs_file: mnt, fs_vfstype: ext4, config: ROOT/fstab}]}")
    assert "must be an absolute path, 'swap' or 'none', got \"mnt\"" in machine.run("state.apply", "web", status=2).stderr


def test_a_head_that_may_not_move_is_not_fetched_for(machine):
    def git(*words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", machine.root / "from", *words],
                              check=True, capture_output=True, text=True).stdout

    (machine.root / "from").mkdir()
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    machine.sls("web", "file://ROOT/from: {git.latest: [{target: ROOT/to, branch: main, update_head: false}]}")
    machine.run("state.apply", "web", status=0)
    git("commit", "-q", "--allow-empty", "-m", "two")
    before = sorted((machine.root / "to/.git/objects").rglob("*"))
    machine.run("state.apply", "web", status=0)
    assert sorted((machine.root / "to/.git/objects").rglob("*")) == before


def test_functions_of_templates_can_be_called_by_hand(machine):
    assert machine.run("config.get", "os_family", status=0).stdout == "Debian\n"
    merged = machine.run("slsutil.merge", "{a: 1}", "{b: [2]}", "--out", "json", status=0).stdout
    assert json.loads(merged)[0]["results"][0]["value"] == {"a": 1, "b": [2]}
    assert machine.run("slsutil.renderer", "string={{ x }}: 0644", "x=a", status=0).stdout == "a: 644\n"
    assert "unknown strategy 'best'" in machine.run("slsutil.merge", "{}", "{}", "strategy=best", status=1).stderr


def test_a_template_that_renders_itself_ends_at_a_limit(machine):
    machine.file("loop.jinja", "{{ salt['slsutil.renderer']('salt://loop.jinja') }}\n")
    machine.sls("web", "x: {test.nop: [{name: {{ salt['slsutil.renderer']('salt://loop.jinja') }}}]}")
    assert "more than 8 nested renderings" in machine.run("state.check", "web", status=1).stderr


def test_functions_and_files_of_the_tree_are_there_in_pillar_files(machine):
    machine.file("data.txt", "data\n")
    machine.pillar(web="a: {{ salt['cp.get_file_str']('salt://data.txt') }}\n"
                       "b: {{ salt['slsutil.boolstr'](true, 'yes', 'no') | json }}\nc: {{ 'config.get' in salt }}\n")
    machine.sls("web", "x: {file.managed: [{name: ROOT/x, contents: {{ [pillar.a, pillar.b, pillar.c] | json }}}]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("x") == "data\nyes\nTrue\n"


def test_a_template_writes_to_the_log_at_its_level(machine):
    machine.pillar(web="secret: !secret hunter2\n")
    machine.sls("web", "{% do salt['log.debug']('fine') %}{% do salt.log.warning('careful ' ~ pillar.secret) %}x: {test.nop: []}")
    told = machine.run("state.apply", "web", status=0).stderr
    assert "warning careful" in told and "hunter2" not in told and "fine" not in told
    assert "debug fine" in machine.run("-l", "debug", "state.apply", "web", status=0).stderr
    assert "careful" not in machine.run("-l", "quiet", "state.apply", "web", status=0).stderr
    assert "--log-level must be" in machine.run("-l", "loud", "state.apply", "web", status=1).stderr


def test_slots_are_filled_when_the_state_starts(machine):
    machine.sls("web", """
one: {cmd.run: [{name: echo born > ROOT/late}]}
two:
  file.managed:
    - name: __slot__:salt:test.echo(ROOT/two) ~ .conf
    - contents:
      - __slot__:salt:cmd.run(cat ROOT/late)
      - __slot__:salt:cmd.run_all("printf '%s' 'a, b'", python_shell=true).stdout
    - mode: 600
""")
    dry = machine.run("state.apply", "web", "--test", status=0).stdout
    assert "what cmd.run will return" in dry and not (machine.root / "late").exists()
    machine.run("state.apply", "web", status=0)
    assert machine.read("two.conf") == "born\na, b\n"
    machine.run("state.revert", "web", status=0)
    assert not (machine.root / "two.conf").exists()


@pytest.mark.parametrize("text, mistake", [
    ("__slot__:salt:no.such(1)", "no function 'no.such'"),
    ("__slot__:salt:test.echo", "a slot has the form"),
    ("__slot__:other:x()", "unknown kind of slot"),
])
def test_a_mistake_in_a_slot_is_reported_before_anything_runs(machine, text, mistake):
    machine.sls("web", "x: {file.managed: [{name: ROOT/x, contents: '%s'}]}" % text)
    assert mistake in machine.run("state.check", "web", status=1).stderr


def test_other_arguments_of_a_managed_template_are_its_variables(machine):
    machine.file("t.jinja", "{{ name.split('/')[-1] }} {{ source }} {{ user }} {{ mode }} {{ who }} {{ port }}\n")
    machine.sls("web", """
x:
  file.managed:
    - {name: '__slot__:salt:test.echo(ROOT/x)', source: 'salt://t.jinja', template: jinja, user: %d, mode: 600, who: me, port: 1}
    - context: {port: 2}
y: {file.managed: [{name: ROOT/y, contents: y, whom: me}]}
""" % os.geteuid())
    told = machine.run("state.apply", "web", status=0).stderr
    assert machine.read("x") == "x salt://t.jinja %d 600 me 2\n" % os.geteuid()
    assert "no parameter 'who'" not in told and "no parameter 'whom'" in told


# --- order that is implied, habits ---------------------------------------------------------------------------------

FOLDER_LAST = """
conf: {file.managed: [{name: ROOT/app/conf, contents: x}]}
app: {file.directory: [{name: ROOT/app}]}
"""


def test_a_first_run_succeeds_where_a_folder_is_written_after_what_is_in_it(machine):
    machine.state("web", FOLDER_LAST)
    shown = json.loads(machine.run("state.show", "web", "--format", "json", status=0).stdout)
    assert [s["name"] for s in shown] == ["file.directory:app", "file.managed:conf"]
    assert shown[1]["implied order"] == ["file.directory:app"]
    machine.run("state.apply", "web", status=0)
    assert machine.read("app/conf") == "x\n"


def test_the_written_order_of_salt_files_is_never_changed_by_what_a_state_plainly_needs(machine):
    machine.sls("web", FOLDER_LAST)
    assert names(machine.record("state.apply", "web", status=2)) == ["conf", "app"]
    machine.sls("keys", """
keyring: {pkg.installed: []}
extra: {pkgrepo.managed: [{name: deb http://x.y/ stable main, file: /etc/apt/sources.list.d/x.list}]}
app: {pkg.installed: []}
""")
    shown = json.loads(machine.run("state.show", "keys", "--format", "json", status=0).stdout)
    assert [s["name"] for s in shown] == ["pkg.installed:keyring", "pkgrepo.managed:extra", "pkg.installed:app"]


def test_a_service_and_a_config_file_wait_for_their_package(machine):
    machine.state("web", """
/etc/zt-web/conf: {file.managed: [{contents: x}]}
/etc/zt-web/made/conf: {file.managed: [{contents: x}, {makedirs: true}]}
zt-web.service: {service.running: []}
packages: {pkg.installed: [{pkgs: [zt-other, {zt-web: 1.0}]}]}
""")
    assert names(machine.record("state.apply", "web", "--test")) == ["/etc/zt-web/made/conf", "packages", "/etc/zt-web/conf", "zt-web.service"]
    graph = machine.run("state.graph", "web", status=0).stdout
    assert graph.count("implied order") == 2, graph


def test_implied_order_can_be_switched_off(machine):
    for words, levels in (("", 2), (", implied_order: false", 1)):
        machine.state("web", """
conf: {file.managed: [{name: ROOT/app/conf, contents: x%s}]}
app: {file.directory: [{name: ROOT/app}]}
""" % words)
        assert machine.run("state.graph", "web", status=0).stdout.count("Level") == levels


def test_grains_that_formulas_compare(machine):
    machine.sls("web", """
x: {file.managed: [{name: ROOT/x, contents: "{{ grains.saltversioninfo[0] >= 3000 }} {{ grains.pythonversion[0] }}
    {{ grains.saltversion is string }} {{ grains.server_id > 0 }} {{ grains.locale_info.defaultlanguage is string }}
    {{ grains.fqdn_ip4 is sequence }} {{ grains.locale_info.timezone }}"}]}
""")
    machine.run("state.apply", "web", status=0, env={**os.environ, "TZ": "XYZ-3"})
    assert machine.read("x").split() == ["True", "3", "True", "True", "True", "True", "XYZ"]


def test_options_and_words_of_salt_call_are_understood(machine):
    machine.sls("web", "x: {test.nop: []}")
    words = machine.command()
    words[words.index("--states-dir")] = "--file-root"
    words[words.index("--settings-dir")] = "--pillar-root"
    machine.command = lambda *more: [*words, *more]
    told = machine.run("--out", "json", "-l", "debug", "--state-output", "changes", "state.apply", "web", "saltenv=base",
                       "queue=True", "pillar={a: 1}", status=0)
    assert json.loads(told.stdout)[0]["success"]
    assert "not those of environment 'dev'" in machine.run("state.apply", "web", "pillarenv=dev", status=1).stderr
    wrong = machine.run("state.event", status=1).stderr
    assert "state.revert" not in wrong and "has no events" in wrong


def test_facts_are_listed_as_salt_does_it(machine):
    assert json.loads(machine.run("grains.item", "os", "os_family", "--out", "json", status=0).stdout)[0]["results"][0][
        "details"]["result"] == {"os": "Debian", "os_family": "Debian"}
    assert machine.run("grains.item", "os", status=0).stdout == "Debian\n"
    for write, answer in (("sls", "{'os': 'Debian'} {'os': 'Debian', 'no': ''}"), ("state", "Debian Debian")):
        getattr(machine, write)(write, "x: {file.managed: [{name: ROOT/x, contents: \"{{ salt['grains.item']('os') }} "
                                       "{{ salt['grains.item']('os', 'no') }}\"}]}")
        machine.run("state.apply", write, status=0)
        assert machine.read("x") == answer + "\n"


@pytest.mark.parametrize("form, shows", [("nested", "changed"), ("highstate", "changed"), ("txt", "changed"), ("raw", '"status"'),
                                         ("pprint", "status:"), ("yaml_out", "status:"), ("quiet", ""), ("no_out", "")])
def test_forms_of_output_are_understood_in_the_words_of_salt(machine, form, shows):
    machine.sls("web", "x: {test.succeed_with_changes: []}")
    told = machine.run("--out", form, "state.apply", "web", status=0).stdout
    assert shows in told and (shows or not told)
    assert "must be" in machine.run("--out", "colorful", "state.apply", "web", status=1).stderr


@pytest.mark.parametrize("mode", ["full", "terse", "mixed", "changes", "filter", "full_id", "terse_id"])
def test_a_report_has_the_length_that_is_asked_for(machine, mode):
    machine.sls("web", """
bad: {cmd.run: [{name: 'exit 3'}]}
good: {test.succeed_with_changes: []}
same: {test.nop: []}
""")
    told = machine.run("--state-output", mode, "state.apply", "web", status=2).stdout.split("run ")[0]
    short = mode.startswith("terse")
    assert ("exit status 3" in told) != short, told
    assert ("unchanged     test.nop:same" in told) == (mode.partition("_")[0] in ("full", "terse", "mixed")), told


def test_a_variable_has_the_default_for_the_length_of_reports(machine, monkeypatch):
    machine.sls("web", "good: {test.succeed_with_changes: []}\nsame: {test.nop: []}\n")
    monkeypatch.setenv("ZESTER_STATE_OUTPUT", "terse")
    assert "unchanged     test.nop:same" in machine.run("state.apply", "web", status=0).stdout
    assert "test.nop:same" not in machine.run("--state-output", "changes", "state.apply", "web", status=0).stdout
    monkeypatch.setenv("ZESTER_STATE_OUTPUT", "short")
    told = machine.run("state.apply", "web", status=1)
    assert "variable ZESTER_STATE_OUTPUT must be one of changes|full|terse|mixed|" in told.stderr and not told.stdout


def has_loopback6():
    """Whether the kernel has a route to ::1."""
    try:
        with open("/proc/net/ipv6_route") as routes:
            return any(line.startswith("0" * 31 + "1 80 ") for line in routes)
    except FileNotFoundError:
        return False


PROGRAMS = {
    "ping": """echo "$*"; [ "$5" = host.example ]""",
    "dig": """echo "answer for $*" """,
    "ip": """echo "$3 via 10.0.0.1 dev eth0 src 10.0.0.7 uid 0"; echo "    cache" """,
    "w": """[ "$1" = -fh ] && echo 'ada      pts/0     09:15    1.00s  0.05s  0.01s vi /etc/motd'""",
}


def add_programs(machine, programs):
    """The environment in which these shell scripts are found first."""
    folder = machine.folder / "bin"
    folder.mkdir()
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


FUNCTIONS = {
    "network.calc_net('10.1.2.3', '255.255.0.0')": "10.1.0.0/16",
    "network.calc_net('2001:db8::7/32')": "2001:db8::/32",
    "network.convert_cidr('192.0.2.77/28')": {"network": "192.0.2.64", "netmask": "255.255.255.240", "broadcast": "192.0.2.79"},
    "network.reverse_ip('192.0.2.1')": "1.2.0.192.in-addr.arpa",
    "network.iphexval('223.255.254.253')": "DFFFFEFD",
    "network.is_private('10.1.1.1')": True,
    "network.is_private('192.0.2.1')": False,
    "network.is_loopback('::1')": True,
    "network.ip_in_subnet('10.0.0.0/8', '10.2.3.4')": True,
    "network.in_subnet('127.0.0.0/8')": True,
    "network.ipaddrs(include_loopback=true, cidr='127.0.0.0/8')": ["127.0.0.1"],
    "network.subnets(include_loopback=true, cidr='127.0.0.0/8')": ["127.0.0.0/8"],
    "network.interface_ip('lo')": "127.0.0.1",
    "network.ifacestartswith('lo')": ["lo"],
    "network.ping('host.example')": "-c 4 -W 10 host.example",
    "network.ping('host.example', timeout=3, return_boolean=true)": True,
    "network.ping('gone.example', return_boolean=true)": False,
    "network.dig('host.example')": "answer for host.example",
    "network.get_route('192.0.2.9')": {"source": "10.0.0.7", "gateway": "10.0.0.1", "interface": "eth0", "destination": "192.0.2.9"},
    "network.arp() is mapping": True,
    "network.routes('inet') | rejectattr('addr_family', 'eq', 'inet') | list": [],
    "network.routes('inet6') | rejectattr('addr_family', 'eq', 'inet6') | list": [],
    "network.routes() | map(attribute='addr_family') | reject('in', ['inet', 'inet6']) | list": [],
    "'::1/128' in (salt.network.routes('inet6') | map(attribute='destination') | list)": has_loopback6(),
    "status.nproc() > 0": True,
    "status.meminfo()['MemTotal']['unit']": "kB",
    "status.uptime()['seconds'] > 0": True,
    "status.loadavg() | list": ["1-min", "5-min", "15-min"],
    "'cpu0' in salt.status.cpustats()": True,
    "'lo' in salt.status.netdev()": True,
    "status.diskusage('/')['/']['total'] > 0": True,
    "'1' in salt.status.procs()": True,
    "status.netstats()['IpExt']['InOctets'] >= 0": True,
    "status.netstats()['TcpExt']['SyncookiesSent'] >= 0": True,
    "status.w()": [{"user": "ada", "tty": "pts/0", "login": "09:15", "idle": "1.00s", "jcpu": "0.05s", "pcpu": "0.01s", "what": "vi /etc/motd"}],
    "status.time('%Y') | length": 4,
    "status.time('')": "",
    "status.time('100%%')": "100%",
    "status.all_status() | list": ["cpuinfo", "cpustats", "diskstats", "diskusage", "loadavg", "meminfo", "netdev", "netstats", "uptime", "vmstats", "w"],
    "status.custom() | list": ["cpu", "btime", "days"],
    "file.find('ROOT/tree', type='f', name='*.conf')": ["ROOT/tree/a.conf", "ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', type='f', iname=['*.CONF'], maxdepth=1)": ["ROOT/tree/a.conf"],
    "file.find('ROOT/tree', type='d', mindepth=1)": ["ROOT/tree/b"],
    "file.find('ROOT/tree', grep='^two')": ["ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', regex='a.*f')": ["ROOT/tree/a.conf"],
    "file.grep('ROOT/tree/b/c.conf', 'T.O', '-i')": {"retcode": 0, "stdout": "two", "stderr": ""},
    "file.grep('ROOT/tree/b/c.conf', 'nothing')['retcode']": 1,
    "file.find('ROOT/tree', type='f', size='+5')": ["ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', type='f', size='-5b')": ["ROOT/tree/a.conf"],
    "file.find('ROOT/tree', type='f', size='8')": ["ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', type='f', size='0k')": ["ROOT/tree/a.conf", "ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', type='f', mtime='+30d')": ["ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', type='f', mtime='-1w3d')": ["ROOT/tree/a.conf"],
    "file.find('ROOT/tree', type='f', mtime='40')": ["ROOT/tree/b/c.conf"],
    "file.find('ROOT/tree', type='f', mtime='39d')": [],
    "file.seek_read('ROOT/tree/b/c.conf', 3, 4)": "two",
    "file.seek_read('ROOT/tree/b/c.conf', 100, 4)": "two\n",
    "file.seek_read('ROOT/tree/b/c.conf', 100, 400)": "",
    "file.get_devmm('/dev/null')": [1, 3],
    "file.get_devmm('ROOT/tree/a.conf')": [0, 0],
    "file.lsattr('ROOT/tree')": [],
    "file.list_backups('ROOT/tree/a.conf')": {},
    "file.list_backups('ROOT/changed')[0]['Size']": 50001,
    "file.list_backups('ROOT/changed')[1]['Size']": 2,
    "file.file_exists(salt.file.list_backups('ROOT/changed')[0]['Location'])": True,
    "file.list_backups('ROOT/changed') | length": 2,
    "file.list_backups('ROOT/changed', limit=1) | list": [0],
    "file.lstat('ROOT/tree/a.conf')['st_size']": 4,
    "file.statvfs('/')['f_blocks'] > 0": True,
    "file.is_chrdev('/dev/null')": True,
    "file.is_fifo('/dev/null')": False,
    "file.is_hardlink('ROOT/tree/a.conf')": False,
    "hashutil.hmac_compute('get salted', 'shared secret')": "78159ff5bb2d5e0f8d88fe403b0a690791ccbd989830fcc433d5b960c9bf0264",
    "hashutil.hmac_signature('get salted', 'shared secret', 'no')": False,
    "random.sample([1, 2, 3], 2) | length": 2,
    "random.shuffle([1, 2, 3]) | sort": [1, 2, 3],
    "random.seed(60) == salt.random.seed(60)": True,
    "random.shadow_hash(password='x')[:3]": "$6$",
    "match.search_by({'deb': ['G@os_family:Debian'], 'rpm': ['G@os_family:RedHat'], 'all': '*'})": ["deb", "all"],
    "config.option('os_family')": "Debian",
    "config.option('no:such', 7)": 7,
    "cp.envs()": ["base"],
    "cp.cache_files(['salt://web.sls', 'salt://none'])": ["STATES/web.sls", ""],
    "cp.cache_dir('salt://lib')": ["STATES/lib/deep/x.jinja", "STATES/lib/y.txt"],
    "cp.cache_dir('salt://lib', include_pat='*.txt')": ["STATES/lib/y.txt"],
    "cp.cache_dir('salt://lib', exclude_pat='E@[.]txt$')": ["STATES/lib/deep/x.jinja"],
    "cp.get_url('salt://lib/y.txt')": "STATES/lib/y.txt",
    "cp.get_url('salt://lib/y.txt', none)": "why",
    "cp.get_url('salt://none')": False,
    "cp.list_master_dirs()": ["lib", "lib/deep"],
    "cp.stat_file('salt://web.sls')": "0644",
}


def test_functions_of_formulas_give_what_salt_gives(machine):
    (machine.root / "tree/b").mkdir(parents=True)
    (machine.root / "tree/a.conf").write_text("one\n")
    (machine.root / "tree/b/c.conf").write_text("one\ntwo\n")
    earlier = time.time() - 40.5 * 86400
    os.utime(machine.root / "tree/b/c.conf", (earlier, earlier))
    for content in ("1", "x" * 50000, "333"):
        machine.run("file.managed", f"{machine.root}/changed", f"contents={content}", status=0)
    machine.file("lib/deep/x.jinja", "")
    machine.file("lib/y.txt", "why")
    machine.pillar(custom="{status.cpustats.custom: [cpu, btime], status.uptime.custom: [days]}")
    machine.sls("web", "x: {test.nop: []}")
    (machine.folder / "states/web.sls").chmod(0o644)
    calls = [call if call.startswith("'") else f"salt.{call}" for call in FUNCTIONS]
    template = "[%s]" % ", ".join("{{ (%s) | tojson }}" % call.replace("ROOT", str(machine.root)) for call in calls)
    machine.file("out.jinja", template)
    machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja",
                status=0, env=add_programs(machine, PROGRAMS))
    answers = json.loads(machine.read("out.json"))
    wanted = json.loads(json.dumps(list(FUNCTIONS.values())).replace("ROOT", str(machine.root)).replace("STATES", f"{machine.folder}/states"))
    assert dict(zip(FUNCTIONS, answers)) == dict(zip(FUNCTIONS, wanted))


def set_nodump(path):
    """What the flags of the file are then; None: the file system has none."""
    with open(path) as file:
        try:
            flags = struct.unpack("I", fcntl.ioctl(file, 0x80086601, bytes(8))[:4])[0] | 0x40
            fcntl.ioctl(file, 0x40086602, struct.pack("Q", flags))
        except OSError:
            return None
    return flags


def test_the_attributes_of_a_file_are_those_of_the_kernel(machine):
    path = machine.root / "flagged"
    path.write_text("")
    flags = set_nodump(path)
    machine.file("out.jinja", "{{ salt.file.lsattr('%s') | tojson }}" % path)
    done = machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja")
    if flags is None:
        assert done.returncode != 0 and f"read the attributes of {path}" in done.stdout + done.stderr
        return
    letters = json.loads(machine.read("out.json"))[str(path)]
    assert ("d" in letters, "e" in letters, "i" in letters) == (True, bool(flags & 0x80000), False)


def test_a_url_is_cached_with_a_hash_and_its_content_can_be_had(machine, web):
    folder, url = web
    (folder / "app.conf").write_text("port=80\n")
    digest = hashlib.sha256(b"port=80\n").hexdigest()

    def get(words, *options):
        machine.file("out.jinja", "{{ salt.cp.get_url('%s/app.conf'%s) | tojson }}" % (url, words))
        return machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja", *options)

    def got(words):
        done = get(words)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(machine.read("out.json"))

    assert "requires a hash" in get("").stdout
    assert "use file.managed" in get(", '/etc/app.conf'").stdout
    assert "data/cached" in get(", skip_verify=true", "--test").stdout
    assert not (machine.folder / "data/cached").exists()
    path = got(f", source_hash='sha256={digest}'")
    assert open(path).read() == "port=80\n" and os.stat(path).st_mode & 0o777 == 0o600
    assert got(", none, skip_verify=true") == "port=80\n"
    (folder / "app.conf").write_text("port=81\n")
    assert got(", skip_verify=true") == path
    assert open(path).read() == "port=81\n"


def test_sockets_of_the_machine_are_listed_and_tried(machine):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        port, near = server.getsockname()[1], client.getsockname()[1]
        machine.file("out.jinja", """[
          {{ salt.network.active_tcp().values() | selectattr('local_port', 'eq', %d) | selectattr('remote_port', 'eq', %d) | list | tojson }},
          {{ salt.network.netstat() | selectattr('local-address', 'eq', '127.0.0.1:%d') | selectattr('state', 'eq', 'LISTEN') | list | tojson }},
          {{ salt.network.connect('127.0.0.1', %d) | tojson }}]""" % (near, port, port, port))  # others on this machine may have the same near port
        machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja", status=0)
    active, listening, connected = json.loads(machine.read("out.json"))
    assert active == [{"local_addr": "127.0.0.1", "local_port": near, "remote_addr": "127.0.0.1", "remote_port": port}]
    assert [(row["proto"], row["foreign-address"], row["user"]) for row in listening] == [("tcp", "0.0.0.0:*", str(os.getuid()))]
    assert listening[0]["program"].startswith(f"{os.getpid()}/")
    assert connected == {"result": True, "comment": f"Successfully connected to 127.0.0.1 (127.0.0.1) on tcp port {port}"}


def test_a_port_that_nobody_has_is_not_connected_to_and_an_option_is_not_a_host(machine):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # without listen(), and nobody else gets it
        port = unused.getsockname()[1]
        machine.file("out.jinja", "{{ salt.network.connect('127.0.0.1', %d) | tojson }}" % port)
        machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja", status=0)
    assert json.loads(machine.read("out.json")) == {
        "result": False, "comment": f"Unable to connect to 127.0.0.1 (127.0.0.1) on tcp port {port}"}
    machine.file("out.jinja", "{{ salt.network.dig('-f/etc/passwd') }}")
    done = machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja", status=2)
    assert "'-f/etc/passwd' is not a host name or an address" in done.stdout
    machine.file("out.jinja", "{{ salt.network.dig('host.example') }}")
    done = machine.run("file.managed", f"{machine.root}/out.json", "source=salt://out.jinja", "template=jinja", status=2,
                       env={**os.environ, "PATH": "/nowhere"})
    assert "program 'dig' is not installed" in done.stdout
