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
    assert "file.managed:same would change, but is not in the plan:" in refused.stderr
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
    assert mend["error"] == "would change now, but is not in the plan"
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


# --- what the difference does not show ------------------------------------------------------------

# State, what is there, and another intended content of which the report says the same.
HIDDEN = {
    "binary": ("{file.managed: [{name: ROOT/file}, {source: zester://content}]}", b"\0old", b"\0one", b"\0two"),
    "hidden": ("{file.managed: [{name: ROOT/file}, {source: zester://content}, {show_changes: false}]}", b"old\n", b"one\n", b"two\n"),
    "large": ("{file.managed: [{name: ROOT/file}, {source: zester://content}]}", b"old\n", b"1" * (3 << 20), b"2" * (3 << 20)),
    "edited": ("{file.append: [{name: ROOT/file}, {source: zester://content}, {show_changes: false}]}", b"old\n", b"one\n", b"two\n"),
    "copied": ("{file.copy: [{name: ROOT/file}, {source: FOLDER/states/content}, {force: true}]}", b"old\n", b"one\n", b"two\n"),
    "recursed": ("{file.recurse: [{name: ROOT/tree}, {source: zester://tree}]}", b"\0old", b"\0one", b"\0two"),
    "script": ("{cmd.script: [{name: run}, {source: zester://content}]}", b"", b"#!/bin/sh\n: one\n", b"#!/bin/sh\n: two\n"),
}


def refuse(machine, plan):
    refused = machine.run("state.apply", "it", "--plan", plan, status=1)
    assert "would change differently from the plan, in parts not shown" in refused.stderr, refused.stderr


@pytest.mark.parametrize("kind", sorted(HIDDEN))
def test_a_plan_binds_content_that_its_difference_does_not_show(machine, kind):
    state, old, one, two = HIDDEN[kind]
    machine.state("it", "it: " + state.replace("FOLDER", str(machine.folder)) + "\n")
    (machine.folder / "states/tree").mkdir()
    (machine.root / "tree").mkdir()
    sources = [machine.folder / "states/content", machine.folder / "states/tree/file"]
    there = [machine.root / "file", machine.root / "tree/file"]

    def fill(paths, content):
        for path in paths:
            path.write_bytes(content)

    fill(sources, one)
    fill(there, old)
    plan = store(machine, ref="it")
    fill(sources, two)
    refuse(machine, plan)
    fill(sources, one)
    if kind != "script":
        fill(there, old[:-1] + b"x")
        refuse(machine, plan)
        fill(there, old)
    assert machine.record("state.apply", "it", "--plan", plan, status=0)["success"]


def test_a_plan_binds_secrets_and_does_not_tell_them(machine):
    def declare(secret):
        machine.settings(common=f"key: !secret {secret}\n")

    machine.state("it", "it: {file.managed: [{name: ROOT/secret}, {contents: 'key={{ settings.key }}'}]}\n")
    declare("hunter22")
    plan = store(machine, ref="it")
    text = (machine.folder / "plan").read_text()
    assert "hunter" not in text and "plan_hash" in text
    declare("hunter33")
    refuse(machine, plan)
    declare("hunter22")
    assert machine.record("state.apply", "it", "--plan", plan, status=0)["success"]


def test_a_plan_binds_the_environment_of_a_command(machine):
    text = "it: {cmd.run: [{name: 'true'}, {env: [{MODE: one}]}]}\n"
    machine.state("it", text)
    plan = store(machine, ref="it")
    machine.state("it", text.replace("one", "two"))
    refuse(machine, plan)


def test_a_plan_without_hashes_or_with_those_of_another_folder_is_refused(machine):
    plan = store(machine)
    record = json.loads((machine.folder / "plan").read_text())
    for state in record[0]["results"]:
        state.pop("plan_hash", None)
    (machine.folder / "older").write_text(json.dumps(record))
    assert "is in the plan without a hash" in machine.run("state.apply", "web", "--plan", str(machine.folder / "older"), status=1).stderr
    (machine.folder / "data/plan.key").unlink()
    assert "made with another data folder" in machine.run("state.apply", "web", "--plan", plan, status=1).stderr
    assert not (machine.root / "conf").exists()
