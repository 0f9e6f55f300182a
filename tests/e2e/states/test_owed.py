"""Reactions that are due: whose they are, when they are not, and what retries and kills leave of them."""
import json
import os
import signal
import subprocess

import pytest

from test_states import Machine

RELOAD = """
conf: {file.managed: [{name: ROOT/NAME.conf}, {contents: 'NAME'}]}
reload:
  cmd.run: [{name: 'echo NAME >> ROOT/log; test ! -e ROOT/broken'}, {onchanges: [{file: conf}]}]
"""
NOT_MET = "onchanges_not_met"


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    for name in ("web", "db"):
        made.state(name, RELOAD.replace("NAME", name))
    made.state("top", "base: {'*': [db, web]}\n")
    return made


def results(machine, *words, status=None):
    return {row["name"]: row for row in machine.record(*words, status=status)["results"]}


def fail_once(machine, *words):
    """The reaction of these words fails, and would not the next time."""
    (machine.root / "broken").write_text("")
    machine.run(*words, status=2)
    (machine.root / "broken").unlink()
    (machine.root / "log").unlink()


def log_of(machine):
    return machine.read("log") if (machine.root / "log").exists() else ""


def debts(machine):
    return json.loads(machine.run("state.owed", "--format", "json", status=0).stdout)


def test_a_state_of_the_same_name_in_another_file_does_not_pay(machine):
    (machine.root / "db.conf").write_text("db\n")
    fail_once(machine, "state.apply", "web")
    rows = results(machine, "state.apply", "db", status=0)
    assert rows["cmd.run:reload"]["skip_reason"] == NOT_MET and log_of(machine) == ""
    assert [(debt["state"], debt["files"], debt["source"]) for debt in debts(machine)] == [("cmd.run:reload", ["web"], "file.managed:conf")]
    rows = results(machine, "state.apply", "web", status=0)
    assert rows["cmd.run:reload"]["changed"] and log_of(machine) == "web\n" and debts(machine) == []


def test_both_owe_apart_and_each_is_waived_by_its_file(machine):
    fail_once(machine, "state.apply", "web")
    fail_once(machine, "state.apply", "db")
    assert [debt["files"] for debt in debts(machine)] == [["db"], ["web"]]
    said = machine.run("state.waive", "cmd.run:reload", status=1).stderr
    assert "use 'db:cmd.run:reload' or 'web:cmd.run:reload'" in said
    machine.run("state.waive", "db:cmd.run:reload", status=0)
    assert [debt["files"] for debt in debts(machine)] == [["web"]]


@pytest.mark.parametrize("words", [("state.highstate",), ("state.apply", "all"), ("state.apply", "web.init")])
def test_the_same_state_pays_however_its_file_comes_into_the_run(machine, words):
    machine.state("top", "base: {'*': [web]}\n")
    machine.state("all", "include: [web]\n")
    fail_once(machine, "state.apply", "web")
    if words[-1] == "web.init":
        (machine.folder / "states/web").mkdir()
        (machine.folder / "states/web.zy").rename(machine.folder / "states/web/init.zy")
    assert results(machine, *words, status=0)["cmd.run:reload"]["cause"].endswith("file.managed:conf had changed")
    assert log_of(machine) == "web\n" and debts(machine) == []


def test_a_state_that_two_files_declare_pays_for_either(machine):
    machine.state("common", "reload:\n  cmd.run: [{order: 7}]\n")
    machine.state("both", "include: [common, web]\n")
    fail_once(machine, "state.apply", "both")
    assert debts(machine)[0]["files"] == ["common", "web"]
    assert results(machine, "state.apply", "web", status=0)["cmd.run:reload"]["changed"]
    (machine.root / "web.conf").unlink()
    (machine.root / "log").unlink()
    fail_once(machine, "state.apply", "web")
    assert results(machine, "state.apply", "both", status=0)["cmd.run:reload"]["changed"]
    assert debts(machine) == []


def test_a_file_that_was_renamed_pays(machine):
    (machine.root / "db.conf").write_text("db\n")
    fail_once(machine, "state.apply", "web")
    (machine.folder / "states/web.zy").rename(machine.folder / "states/site.zy")
    assert results(machine, "state.apply", "site", status=0)["cmd.run:reload"]["changed"]
    assert log_of(machine) == "web\n" and debts(machine) == []


def test_a_corrected_command_and_a_renamed_source_pay(machine):
    fail_once(machine, "state.apply", "web")
    machine.state("web", RELOAD.replace("NAME", "web").replace("echo web", "echo mended").replace("conf: {", "setup: {").replace("file: conf", "file: setup"))
    assert results(machine, "state.apply", "web", status=0)["cmd.run:reload"]["changed"]
    assert log_of(machine) == "mended\n" and debts(machine) == []


def test_what_was_applied_without_a_change_is_no_reason_although_its_watcher_was_skipped(machine):
    machine.state("web", """
forces: {cmd.run: [{name: 'true'}]}
gone: {file.absent: [{name: ROOT/gone}, {watch: [{cmd: forces}]}]}
broken: {cmd.run: [{name: 'test -e ROOT/ok'}]}
react: {cmd.run: [{name: 'echo x >> ROOT/log'}, {onchanges: [{file: gone}]}, {require: [{cmd: broken}]}]}
""")
    rows = results(machine, "state.apply", "web", status=2)
    assert not rows["file.absent:gone"]["changed"] and rows["cmd.run:react"]["skip_reason"] == "require_failed"
    assert debts(machine) == []


def test_failhard_leaves_a_debt_only_for_what_changed(machine):
    machine.state("web", """
forces: {cmd.run: [{name: 'true'}]}
a: {file.managed: [{name: ROOT/a}, {contents: x}]}
gone: {file.absent: [{name: ROOT/gone}, {watch: [{cmd: forces}]}]}
stop: {cmd.run: [{name: 'test -e ROOT/ok'}, {failhard: true}, {require: [{file: a}, {file: gone}]}]}
one: {cmd.run: [{name: 'echo one >> ROOT/log'}, {onchanges: [{file: a}]}, {require: [{cmd: stop}]}]}
two: {cmd.run: [{name: 'echo two >> ROOT/log'}, {onchanges: [{file: gone}]}, {require: [{cmd: stop}]}]}
""")
    machine.run("state.apply", "web", status=2)
    assert [debt["state"] for debt in debts(machine)] == ["cmd.run:one"]
    (machine.root / "ok").write_text("")
    rows = results(machine, "state.apply", "web", status=0)
    assert rows["cmd.run:two"]["skip_reason"] == NOT_MET and log_of(machine) == "one\n"


# --- retries --------------------------------------------------------------------------------

RETRIED = """
conf:
  file.append:
    - name: ROOT/conf
    - text: new
    - check_cmd: 'echo . >> ROOT/tries; test $(wc -l < ROOT/tries) -gt FAILS'
    - retry: {attempts: 2, interval: 0}
react:
  cmd.run: [{name: 'echo x >> ROOT/log'}, {KIND: [{file: conf}]}]
"""
SALT = RETRIED.replace("check_cmd: '", "check_cmd:\n      - '").replace("{attempts: 2, interval: 0}", "{attempts: 3, interval: 0, until: true}")


@pytest.mark.parametrize("kind", ["onchanges", "watch", "listen"])
@pytest.mark.parametrize("dialect", ["zy", "sls"])
def test_what_the_first_try_changed_counts(machine, dialect, kind):
    text = (RETRIED if dialect == "zy" else SALT).replace("KIND", kind).replace("FAILS", "1")
    (machine.root / "conf").write_text("old\n")
    (machine.folder / f"states/r.{dialect}").write_text(text.replace("ROOT", str(machine.root)))
    rows = results(machine, "state.apply", "r", status=0)
    assert rows["file.append:conf"]["changed"] and " old\n+new" in rows["file.append:conf"]["diff"]
    assert "x\n" in log_of(machine) and debts(machine) == []
    assert len((machine.root / "tries").read_text().split()) == 2
    machine.run("state.revert", "r", status=0)
    assert machine.read("conf") == "old\n"


def test_a_retry_that_is_of_no_avail_leaves_the_reaction_due(machine):
    machine.state("r", RETRIED.replace("KIND", "onchanges").replace("FAILS", "3"))
    rows = results(machine, "state.apply", "r", status=2)
    assert rows["file.append:conf"]["error"] and "+new" in rows["file.append:conf"]["diff"]
    assert len(debts(machine)) == 1
    rows = results(machine, "state.apply", "r", status=0)
    assert not rows["file.append:conf"]["changed"] and rows["cmd.run:react"]["changed"]


def test_a_run_held_to_a_plan_counts_all_tries(machine):
    machine.state("r", RETRIED.replace("KIND", "onchanges").replace("FAILS", "1"))
    plan = machine.folder / "plan"
    plan.write_text(machine.run("state.apply", "r", "--test", "--format", "json", status=0).stdout)
    assert not (machine.root / "tries").exists()
    rows = results(machine, "state.apply", "r", "--plan", str(plan), status=0)
    assert rows["file.append:conf"]["changed"] and rows["cmd.run:react"]["changed"]


def test_a_run_killed_between_two_tries_leaves_the_reaction_due(machine):
    machine.state("r", RETRIED.replace("KIND", "onchanges").replace("FAILS", "1").replace("interval: 0", "interval: 600"))
    waits = subprocess.Popen(machine.command("state.apply", "r"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (machine.root / "tries").exists():
            assert waits.poll() is None
    finally:
        os.kill(waits.pid, signal.SIGKILL)
        waits.wait()
    assert len(debts(machine)) == 1
    rows = results(machine, "state.apply", "r", status=0)
    assert not rows["file.append:conf"]["changed"] and rows["cmd.run:react"]["changed"] and debts(machine) == []


def test_a_secret_in_the_name_of_a_state_is_in_no_debt_and_the_debt_is_paid(machine):
    machine.settings(all="token: !secret s3cret-of-the-name\n")
    machine.state("web", """
conf: {file.managed: [{names: [ROOT/one.conf, 'ROOT/{{ settings.token }}.conf']}, {contents: text}]}
reload:
  cmd.run:
    - names: ['echo {{ settings.token }} >> ROOT/log; test ! -e ROOT/broken']
    - onchanges: [{file: conf}]
""")
    fail_once(machine, "state.apply", "web")
    owed = debts(machine)
    assert len(owed) == 2 and "s3cret" not in json.dumps(owed) and all("cmd.run:" in debt["state"] for debt in owed)
    for path in (machine.folder / "data").rglob("*"):
        assert path.is_dir() or "undo" in path.parts or b"s3cret" not in path.read_bytes(), path
    assert machine.run("state.apply", "web", status=0) and log_of(machine) == "s3cret-of-the-name\n" and debts(machine) == []
