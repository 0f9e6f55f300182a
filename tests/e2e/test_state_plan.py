"""A dry run that was stored, and runs that are held to it: `--plan`."""
import json

import pytest

from test_states import Machine

STATES = """
conf: {file.managed: [{name: ROOT/conf}, {contents: one}]}
more: {file.append: [{name: ROOT/conf}, {text: two}, {require: [conf]}]}
same: {file.managed: [{name: ROOT/same}, {contents: same}, {watch: [conf]}]}
make: {cmd.run: [{name: 'echo made > ROOT/made'}, {onchanges: [conf]}]}
"""


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    machine.state("web", STATES)
    (machine.root / "same").write_text("same\n")
    return machine


def store(machine, form="json", ref="web"):
    """A dry run in a file: its path."""
    path = machine.folder / "plan"
    path.write_text(machine.run("state.apply", ref, "--test", "--format", form, status=0).stdout)
    return str(path)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_run_does_what_its_plan_says(machine, form):
    plan = store(machine, form)
    record = machine.record("state.apply", "web", "--plan", plan, status=0)
    assert [state["name"] for state in record["results"] if state["changed"]] == [
        "file.managed:conf", "cmd.run:make", "file.append:more"]
    assert machine.read("conf") == "one\ntwo\n" and machine.read("made") == "made\n"


def test_nothing_begins_when_more_would_change(machine):
    plan = store(machine)
    (machine.root / "same").write_text("drift\n")
    refused = machine.run("state.apply", "web", "--plan", plan, status=1)
    assert "file.managed:same would change, but not in the plan:" in refused.stderr
    assert "-drift" in refused.stderr and not (machine.root / "conf").exists()


def test_nothing_begins_when_something_else_would_be_written(machine):
    plan = store(machine)
    machine.state("web", STATES.replace("one", "other"))
    refused = machine.run("state.apply", "web", "--plan", plan, status=1)
    assert "file.managed:conf would change differently from the plan:" in refused.stderr
    assert "+other" in refused.stderr and not (machine.root / "conf").exists()


def test_less_than_the_plan_is_fine(machine):
    machine.state("two", "a: {file.touch: [{name: ROOT/a}]}\nb: {file.touch: [{name: ROOT/b}]}\n")
    plan = store(machine, ref="two")
    (machine.root / "a").write_text("")
    assert machine.record("state.apply", "two", "--plan", plan, status=0)["summary"]["changed"] == 1


def test_what_turns_out_during_the_run_fails_instead_of_going_beyond_the_plan(machine):
    machine.state("chain", "spoil: {cmd.run: [{name: 'echo spoilt > ROOT/same'}]}\n"
                           "mend: {file.managed: [{name: ROOT/same}, {contents: same}, {require: [spoil]}]}\n"
                           "behind: {test.nop: [{require: [mend]}]}\n")
    record = machine.record("state.apply", "chain", "--plan", store(machine, ref="chain"), status=2)
    spoil, mend, behind = record["results"]
    assert spoil["changed"] and not mend["changed"]
    assert mend["error"] == "would change now, but not in the plan"
    assert behind["skip_reason"] == "require_failed" and machine.read("same") == "spoilt\n"


def test_what_is_not_a_plan_is_refused(machine):
    run = machine.folder / "run"
    run.write_text(machine.run("state.apply", "web", "--format", "json", status=0).stdout)
    assert "not a dry run" in machine.run("state.apply", "web", "--plan", str(run), status=1).stderr
    other = machine.folder / "other"
    other.write_text(json.dumps([{"peel_id": "elsewhere", "test": True, "results": []}]))
    assert "contains no dry run of" in machine.run("state.apply", "web", "--plan", str(other), status=1).stderr
    assert "does not exist" in machine.run("state.apply", "web", "--plan", "/no/such", status=1).stderr
    assert "applies no states" in machine.run("state.revert", "web", "--plan", str(run), status=1).stderr
