"""Functions of states that Salt's users know: a part of a run, one state, other settings, what would run."""
import json

import pytest

from test_states import Machine

WEB = """
base: {test.nop: []}
conf:
  test.succeed_with_changes:
    - comment: for {{ pillar.get('who', 'nobody') }}
    - require: [base]
service:
  test.succeed_with_changes:
    - watch: [conf]
drain:
  test.succeed_with_changes:
    - prereq: [service]
told: {cmd.run: [{name: echo said}]}
hears: {test.show_notification: [{text: "{{ outputs('cmd.run:told').stdout }}"}]}
"""


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    machine.state("web", WEB)
    machine.state("db", "db: {test.nop: []}")
    return machine


def ids(record):
    return [state["name"].split(":")[1] for state in record["results"]]


def test_one_id_runs_with_what_it_needs_and_nothing_else(machine):
    assert ids(machine.record("state.sls_id", "conf", "web", status=0)) == ["base", "conf"]
    # who looks ahead to a state comes before it
    assert ids(machine.record("state.sls_id", "service", "web", status=0)) == ["base", "drain", "conf", "service"]
    heard = machine.record("state.sls_id", "hears", "web", status=0)
    assert ids(heard) == ["told", "hears"] and "said" in heard["results"][1]["diff"]
    wrong = machine.run("state.sls_id", "cnf", "web", status=1)
    assert "no state has the ID 'cnf'" in wrong.stderr and "did you mean 'conf'?" in wrong.stderr
    assert "requires an ID" in machine.run("state.sls_id", status=1).stderr


def test_a_text_is_applied_as_a_file_of_salt(machine):
    text = "include: [db]\nx: {test.succeed_with_changes: [{comment: 'a={{ pillar.who }}'}]}"
    record = machine.record("state.template_str", text, "pillar={who: ada}", status=0)
    assert sorted(ids(record)) == ["db", "x"] and "a=ada" in str(record)
    assert "would" in machine.run("state.template_str", "tem=x: {test.succeed_with_changes: []}", "test=True", status=0).stdout
    wrong = machine.run("state.template_str", "a: {}\nx: {{ nothing.here }}", status=1)
    assert "template_str.sls:2:" in wrong.stderr
    assert "requires one text" in machine.run("state.template_str", status=1).stderr


def test_references_and_ids_can_be_asked_for(machine):
    machine.state("wrong", "wrong: {test.nop: [{require: [gone]}]}\n")

    def answer(*words):
        return json.loads(machine.run(*words, status=0).stdout)
    assert [answer("state.sls_exists", refs) for refs in ("web", "web,db", "gone", "web,gone", "wrong")] == [True, True, False, False, False]
    assert [answer("state.id_exists", wanted, "web") for wanted in ("conf", "conf,base", "conf,gone")] == [True, True, False]
    assert answer("state.id_exists", "ids=db", "mods=web,db") is True
    assert "requires references" in machine.run("state.sls_exists", status=1).stderr
    assert "requires IDs and references" in machine.run("state.id_exists", "conf", status=1).stderr


def test_a_mistake_elsewhere_is_reported_although_one_id_is_asked_for(machine):
    machine.state("web", WEB + "wrong: {test.nop: [{require: [gone]}]}\n")
    assert "unknown state" in machine.run("state.sls_id", "conf", "web", status=1).stderr


def test_settings_of_the_command_line_go_before_those_of_the_machine(machine):
    machine.settings(a="who: ada\nother: {x: 1}\n")
    machine.state("look", "look: {test.show_notification: [{text: '{{ pillar.who }} {{ pillar.other.x }}'}]}")
    assert "ada 1" in str(machine.record("state.apply", "look"))
    assert "bob 1" in str(machine.record("state.apply", "look", "pillar={who: bob}"))
    assert "ada 2" in str(machine.record("state.apply", "look", "settings={other: {x: 2}}"))
    assert "'pillar' must be a map" in machine.run("state.apply", "look", "pillar=bob", status=1).stderr


def test_what_is_excluded_is_left_out(machine):
    whole = machine.record("state.apply", "web,db", "exclude=web", status=0)
    assert ids(whole) == ["db"]
    some = machine.record("state.apply", "web", "exclude=[{id: drain}, {id: service}, {id: hears}]", status=0)
    assert sorted(ids(some)) == ["base", "conf", "told"]
    wrong = machine.run("state.apply", "web", "exclude=wbe", status=1)
    assert "no file 'wbe' in this run" in wrong.stderr and "did you mean 'web'?" in wrong.stderr


def test_one_state_by_salts_longer_way(machine):
    words = ["state.single", "file.managed", f"name={machine.root}/x", "contents=hi"]
    assert machine.record(*words, "test=True", status=0)["results"][0]["changed"]
    assert not (machine.root / "x").exists()
    machine.run(*words, status=0)
    assert machine.read("x") == "hi\n"
    machine.run("state.single", "fun=file.absent", f"name={machine.root}/x", status=0)
    assert not (machine.root / "x").exists()
    assert "did you mean 'file.managed'?" in machine.run("state.single", "file.manged", "x", status=1).stderr
    assert "is a function, not a state" in machine.run("state.single", "test.echo", "x", status=1).stderr
    assert "requires the name of a state" in machine.run("state.single", status=1).stderr


def test_the_top_file_is_shown_by_environment(machine):
    machine.state("top", "base: {'*': [web]}\nprod: {'*': [web, db], 'nobody': [gone]}\n")
    shown = machine.run("state.show_top", "--format", "json", status=0)
    assert json.loads(shown.stdout) == {"base": ["web"], "prod": ["db"]}
    assert machine.run("state.show_top", status=0).stdout == "base:\n  - web\nprod:\n  - db\n"
    by_top = json.loads(machine.run("state.show_highstate", "--format", "json", status=0).stdout)
    named = json.loads(machine.run("state.show_sls", "web,db", "--format", "json", status=0).stdout)
    assert by_top == named and len(named) == 7
    assert "it uses the top file" in machine.run("state.show_lowstate", "web", status=1).stderr


def test_a_dry_run_by_salts_other_word(machine):
    assert machine.record("state.test", "web", status=0)["test"]


def test_pairs_that_nobody_reads_are_refused(machine):
    assert "did you mean 'pillar'?" in machine.run("state.apply", "web", "pilar={}", status=1).stderr
    assert "no parameter 'colour'" in machine.run("state.apply", "web", "colour=red", status=1).stderr
    assert "no parameter 'x'" in machine.run("state.revert", "web", "x=1", status=1).stderr
    assert "given twice" in machine.run("state.apply", "db", "mods=web", status=1).stderr


def test_what_commands_print_is_shown(machine):
    machine.state("talk", "a: {cmd.run: [{name: 'echo out; echo err >&2'}]}\n"
                          "b: {cmd.run: [{name: 'yes | head -c 5000'}]}")
    shown = machine.run("state.apply", "talk", status=0).stdout
    assert "    stdout:\n    out\n    stderr:\n    err\n" in shown
    assert "[999 more bytes; --format json shows them]" in shown


def test_states_that_run_at_once_and_change_one_file_are_reported(machine):
    """Salt keeps the order of the file there; here nothing would."""
    both = ("a: {file.managed: [{name: ROOT/f}, {contents: x}]}\n"
            "b: {file.append: [{name: ROOT//f}, {text: y}%s]}\n")
    machine.state("both", both % "")
    told = machine.run("state.check", "both", status=0).stderr
    assert f'warning: "file.managed:a" and "file.append:b" change {machine.root}/f at the same time' in told
    assert "both.zy:1:1" in told and "both.zy:2:1" in told
    machine.state("both", both % ", {require: [a]}")
    assert machine.run("state.check", "both", status=0).stderr == ""
    machine.state("both", "a: {file.managed: [{name: ROOT/f}, {mode: 600}]}\n"
                          "b: {file.append: [{name: ROOT/f}, {text: y}]}\n"
                          "c: {file.append: [{name: ROOT/f}, {text: z}]}\n"
                          "d: {file.absent: [{name: ROOT/g}]}\n"
                          "e: {file.absent: [{name: ROOT/g}]}\n")
    assert machine.run("state.check", "both", status=0).stderr == ""


def test_commands_and_pings_by_hand_have_names_of_their_own(machine):
    command = machine.record("cmd.run", "echo hi", status=0)["results"][0]
    assert command["name"] == "cmd.run:ad-hoc" and command["details"]["stdout"] == "hi"
    ping = machine.record("test.ping", status=0)["results"][0]
    assert ping["name"] == "test.ping:ping" and ping["details"] == {"result": "true"} and "diff" not in ping
    assert ping["value"] is True and command["value"] == "hi"
    assert machine.record("grains.item", "id", "os", status=0)["results"][0]["value"].keys() == {"id", "os"}


def test_a_retry_pauses_up_to_its_splay_longer(machine):
    machine.state("again", "a: {cmd.run: [{name: 'echo x >> ROOT/tries; test $(wc -l < ROOT/tries) -ge 3'},"
                           " {retry: {attempts: 4, interval: 10ms, splay: 20ms}}]}")
    machine.run("state.apply", "again", status=0)
    assert machine.read("tries") == "x\nx\nx\n"


def test_guards_and_retries_are_part_of_what_is_shown(machine):
    machine.state("all", "a: {test.nop: [{onlyif: [{fun: test.true}, 'true']}, {unless: 'false'}, {check_cmd: x},"
                         " {creates: /a}, {retry: {attempts: 2, interval: 500ms}}, {failhard: true}]}")
    shown = json.loads(machine.run("state.show", "all", "--format", "json", status=0).stdout)[0]
    assert shown == {"name": "test.nop:a", "file": "all", "level": 0, "order": 0, "arguments": {},
                     "onlyif": [{"fun": "test.true"}, "true"], "unless": ["false"], "check_cmd": ["x"],
                     "creates": ["/a"], "retry": {"attempts": 2, "interval": 0.5}, "failhard": True}


@pytest.mark.parametrize("function", ["test.ping", "test.true", "network.get_hostname", "facts.keys", "pkg.list_pkgs",
                                      "state.owed", "state.last"])
def test_a_word_that_a_function_does_not_take_is_refused(machine, function):
    result = machine.run(function, "foo", status=1)
    assert f"{function} takes no arguments, got 'foo'" in result.stderr and result.stdout == ""
    assert ("zester doc pkg.list_pkgs" in result.stderr) == (function == "pkg.list_pkgs")
    if function == "state.last":
        machine.run("state.apply", "db", status=0)
    machine.run(function, status=0)


def test_the_last_run_can_be_shown_with_its_states(machine):
    assert "no recorded run" in machine.run("state.last", status=1).stderr
    run_id = machine.run("state.apply", "web", status=0).stdout.split()[-1]
    last = json.loads(machine.run("state.last", "--format", "json", status=0).stdout)[0]["results"][0]["details"]["result"]
    assert last["id"] == last["run"]["id"] == run_id and last["run"]["refs"] == ["web"] and last["run"]["success"] is True
    assert {state["name"]: state["outcome"] for state in last["states"]}["test.nop:base"] == "unchanged"
    assert run_id in machine.run("state.last", status=0).stdout
