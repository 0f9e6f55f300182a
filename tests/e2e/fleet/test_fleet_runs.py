"""State runs over a fleet of real processes: progress, queues, plans, reverts."""
import os
import re
import subprocess

import pytest

from fleet import BUILD, SERVER, Fleet, empty_folder
from peels import start_with_tree
from terminal import answer_on_terminal, run_on_terminal
from test_help import completes

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
NAMES = ("web-01", "db_example")
KSUID = "2MCR4fWFJ3Dv8vZ3ted9lGHsVYM"  # of no job


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A fleet whose state files are there before its peels: FOLDER/work is what they work on."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.work = fleet.folder / "work"
        fleet.work.mkdir()
        start_with_tree(fleet, NAMES, states(fleet.work))
        yield fleet


@pytest.fixture
def work(fleet):
    """The folder of the states, empty."""
    return empty_folder(fleet.work)


def waiting(path):
    """A command that ends when the file is gone."""
    return f"while [ -e {path} ]; do sleep 0.05; done"


def states(work):
    """The state files of the fleet by name."""
    return {
        "top": "base:\n  '*': [one]\n",
        "one": "one: {test.nop: []}\n",
        "listed": f"{work}/{{{{ facts.id }}}}.listed: {{file.managed: [contents: new]}}\n",
        "short": "short: {cmd.run: [name: 'true']}\n",
        "long": f"long: {{cmd.run: [name: 'touch {work}/begun; {waiting(work / 'hold')}']}}\n",
        "steps": f"first: {{cmd.run: [name: 'true']}}\nsecond: {{cmd.run: [name: '{waiting(work / 'hold')}', require: [cmd: first]]}}\n",
        "made": f"{work}/{{{{ facts.id }}}}:\n  file.managed:\n    - contents: planned\n",
        "gated": f"conf: {{file.managed: [name: '{work}/{{{{ facts.id }}}}', contents: new]}}\n"
                 f"healthy: {{cmd.run: [name: 'test ! -e {work}/sick', require: [file: conf]]}}\n",
        "reload": f"{work}/{{{{ facts.id }}}}:\n  file.managed:\n    - contents: new\n"
                  f"reload:\n  cmd.run:\n    - name: 'true'\n    - onchanges: [file: {work}/{{{{ facts.id }}}}]\n",
        "owing": f"changed: {{cmd.run: [name: 'true']}}\nbroken: {{cmd.wait: [name: 'test ! -e {work}', watch: [cmd: changed]]}}\n",
    }


def argv(fleet, *words):
    return [f"{BUILD}/zester", *map(str, words), "--config", fleet.write_cli_conf()]


def test_what_machines_print_does_not_control_the_terminal_and_reaches_a_pipe_as_it_is(fleet):
    words = ("web-01", "cmd.run", "printf '\\033]0;title\\007\\033[2Jdone'")
    text, status = run_on_terminal(argv(fleet, *words), stdout=True, env={**os.environ, "TERM": "xterm"})
    assert status == 0 and "    ?]0;title??[2Jdone" in text
    assert "    \x1b]0;title\x07\x1b[2Jdone" in fleet.zester(*words).stdout


def test_a_terminal_shows_each_state_and_a_line_for_each_peel_while_a_pipe_is_quiet(fleet, work):
    hold = work / "hold"
    hold.touch()

    def release(text):
        if re.search(r"^db.example +1/2 +cmd.run:first\r\nweb-01 +1/2 +cmd.run:first\r\n0/2 returned, 0 failed, 2 running, 0 queued, ", text, re.M):
            hold.unlink(missing_ok=True)
    text, status = run_on_terminal(argv(fleet, "*", "state.apply", "steps"), seen=release, env={**os.environ, "TERM": "xterm"})
    assert status == 0 and not hold.exists()
    for name in ("web-01", "db.example"):
        assert re.search(rf"{name}: 1/2 cmd.run:first, changed, ", text) and re.search(rf"{name}: 2/2 cmd.run:second, changed, ", text), text
    assert "returned" not in text.rsplit("\x1b[J", 1)[1]  # nothing of the block is left
    result = fleet.zester("*", "state.apply", "steps")
    assert [line.split()[0] for line in result.stderr.splitlines()] == ["Targeting", "Job"]


def test_a_state_run_says_what_it_waits_for_and_reads_do_not_wait(fleet, work, tmp_path):
    hold, begun = work / "hold", work / "begun"
    hold.touch()
    first = fleet.zester_json("web-01", "state.apply", "long", "--async")["jid"]
    fleet.wait(begun.exists, "the first run works")
    errors = tmp_path / "errors"
    with open(errors, "wb") as file, subprocess.Popen(argv(fleet, "web-01", "state.apply", "short"), stdout=subprocess.DEVNULL, stderr=file) as second:
        fleet.wait(lambda: f"web-01: waiting for state.apply of job {first}\n" in errors.read_text(), "the second run says behind what it waits")
        assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
        for words in (["state.apply", "short", "--test"], ["state.test", "short"], ["cmd.run", "exit 1", "--test"]):
            assert "waiting for" not in fleet.zester("web-01", *words).stderr, "a dry run does not wait, either"
        assert second.poll() is None
        hold.unlink()
        assert second.wait(60) == 0
    assert fleet.zester("job", "watch", first).returncode == 0


def plan_id(result):
    return re.search(r"^To run exactly this: zester apply (\w+)$", result.stderr, re.M).group(1)


def test_a_plan_is_applied_as_it_was_shown_and_a_machine_that_has_changed_since_refuses(fleet, work):
    plan = plan_id(fleet.zester("*", "state.apply", "made", "--test"))
    assert not list(work.iterdir())
    (work / "web-01").write_text("by hand\n")
    result = fleet.zester("apply", plan, status=2)
    assert re.search(r"^web-01:\n    ERROR: .*would change differently from the plan:\n(.*\n)*?.*-by hand\n.*\+planned\n", result.stdout, re.M), result.stdout
    assert "nothing was changed; review and store a new dry run" in result.stdout
    assert (work / "web-01").read_text() == "by hand\n" and (work / "db_example").read_text() == "planned\n"
    again = plan_id(fleet.zester("*", "state.apply", "made", "--test"))
    assert fleet.zester("apply", again).returncode == 0
    assert [(work / name).read_text() for name in NAMES] == ["planned\n", "planned\n"]


def test_what_is_not_a_plan_is_not_applied(fleet):
    jid = fleet.zester_json("web-01", "test.ping", "--async")["jid"]
    assert "was not a dry run" in fleet.zester("apply", jid, status=1).stderr
    assert "no such job" in fleet.zester("apply", "nonsense", status=1).stderr
    plan = plan_id(fleet.zester("web-01", "state.apply", "one", "--test"))
    (fleet.peels["web-01"].folder / "data/plans" / plan).unlink()
    assert f"no plan '{plan}' is stored on this machine" in fleet.zester("apply", plan, status=2).stdout


@pytest.mark.parametrize("words", [("state.apply", "nowhere"), ("state.revert", "made"), ("state.show_sls", "made")])
def test_a_dry_run_without_a_plan_names_none(fleet, words):
    assert "zester apply" not in fleet.zester("web-01", *words, "--test", status=None).stderr


def test_a_job_that_changed_nothing_on_a_peel_is_reverted_there_without_a_fault(fleet, work):
    fleet.zester("web-01", "state.apply", "made")
    result = fleet.zester("*", "state.apply", "made")
    jid = re.search(r"^Job (\w+) dispatched$", result.stderr, re.M).group(1)
    result = fleet.zester("*", "state.revert", jid)
    assert "web-01:\n    state.revert:" in result.stdout and "nothing to revert" in result.stdout
    assert [path.name for path in work.iterdir()] == ["web-01"]
    unknown = fleet.zester("*", "state.revert", KSUID, status=2).stdout
    assert unknown.count(f"no run '{KSUID}' is recorded") == 2
    assert "requires a reference, or the id of a job or run" in fleet.zester("web-01", "state.revert", status=1).stderr


def test_a_rollout_ends_at_the_first_unhealthy_peel_and_leaves_it_as_it_was(fleet, work):
    (work / "sick").touch()
    words = ("*", "state.apply", "gated", "--batch", "1", "--revert-on-failure")
    said = fleet.zester(*words, status=2).stdout
    assert "reverted, because the run failed" in said and "not sent: more peels have failed than --max-failures allows" in said
    assert [path.name for path in work.iterdir()] == ["sick"]
    (work / "sick").unlink()
    fleet.zester(*words)
    assert len(list(work.iterdir())) == len(NAMES)


def test_why_and_the_answer_say_which_state_made_another_run_and_which_kept_it_from_running(fleet, work):
    name = f"file.managed:{work}/web-01"
    for cause, what in ((f"{name} changed", f"on web-01, changed, because {name} changed"),
                        (f"no change in {name}", f"on web-01, skipped: no change in {name}")):
        said = fleet.zester("web-01", "state.apply", "reload", "--state-output", "full")
        assert f"        cause: {cause}\n" in said.stdout
        assert fleet.zester_json("why", "web-01", "reload")["chain"][0]["what"] == what
        data = fleet.peels["web-01"].folder / "data"
        chain = fleet.zester_json("why", "cmd.run:reload", "--data-dir", data)["chain"]
        expected = ["cmd.run:reload", name] if cause.endswith(" changed") else ["cmd.run:reload"]
        assert [link["id"] for link in chain if link["kind"] == "state"] == expected
        assert chain[0]["what"] == what.removeprefix("on web-01, ")


def test_only_runs_of_states_are_reverted_on_failure(fleet):
    refused = fleet.zester("*", "test.ping", "--revert-on-failure", status=1).stderr
    assert "--revert-on-failure is for state.apply and state.highstate, not for test.ping" in refused


def test_a_detailed_exit_status_tells_changes_from_none_and_both_from_what_went_wrong(fleet, work):
    def status(*words, text=""):
        result = fleet.zester(*words, "--detailed-exitcode", status=None)
        assert text in result.stderr and "Traceback" not in result.stderr, result.stderr
        return result.returncode

    (work / "web-01").write_text("planned\n")  # nothing to do on this peel alone
    assert status("web-01", "state.apply", "made") == 0
    assert [status("*", "state.apply", "made", "--test"), status("*", "state.apply", "made", "--test", "--direct")] == [2, 2]
    assert [path.name for path in work.iterdir()] == ["web-01"]
    jid = re.search(r"zester apply (\w+)", fleet.zester("*", "state.apply", "made", "--test").stderr).group(1)
    assert [status("apply", jid), status("*", "state.apply", "made")] == [2, 0]
    assert [status("db_example", "state.revert", "made"), status("db_example", "state.revert", "made")] == [2, 0]
    assert status("db_example", "file.managed", work / "more", "contents=x", "--test") == 2
    assert status("*", "state.apply", "nope", "--test", text="2 peel(s) failed") == 1
    assert status("nobody-*", "state.apply", "made", text="No peels matched") == 1
    for words, text in ((("test.ping",), "is for functions that apply or revert states, not for test.ping"),
                        (("facts.get", "id"), "not for facts.get"), (("service.restart", "x"), "not for service.restart"),
                        (("state.apply", "made", "--async"), "is about results: leave out --async"),
                        (("state.apply", "made", "--preview"), "is about results: leave out --preview")):
        assert status("*", *words, text=text) == 1
    fleet.peels["db_example"].stop()
    try:
        assert status("*", "state.apply", "made", "--test", "--timeout", "5s", text="unreachable") == 1
    finally:
        fleet.peels["db_example"].start()
        fleet.wait_ready(fleet.peels["db_example"])


def test_a_job_is_reverted_on_every_peel_by_its_id(fleet, work):
    result = fleet.zester("*", "state.apply", "made")
    jid = re.search(r"^Job (\w+) dispatched$", result.stderr, re.M).group(1)
    assert sorted(path.name for path in work.iterdir()) == sorted(NAMES)
    fleet.zester("*", "state.revert", jid)
    assert not list(work.iterdir())
    labels = '{state="made",result="success"}'
    for name in (f"zester_peel_state_apply_total{labels}", f"zester_peel_state_apply_duration_seconds_count{labels}"):
        assert fleet.peels["web-01"].metric(name) >= 1, name


def test_runs_of_the_fleet_are_listed_and_reverted_as_far_back_as_asked(fleet, work):
    def runs(*words):
        return {one["peel_id"]: [run for run in one["runs"] if not run["reverted"]] for one in fleet.zester_json("runs", *words)}

    def job(*words):
        return re.search(r"^Job (\w+) dispatched$", fleet.zester(*words).stderr, re.M).group(1)

    before = {peel: len(listed) for peel, listed in runs("*").items()}
    both, one = job("*", "state.apply", "listed"), job("web-01", "state.apply", "one")
    listed = runs("*")
    assert {peel: len(some) - before[peel] for peel, some in listed.items()} == {"web-01": 1, "db.example": 1}
    made = listed["web-01"][0]
    assert made["id"] == both and made["function"] == "state.apply" and made["refs"] == ["listed"] and made["changed"] == 1
    assert made["by"].startswith("operator ") and made["states"] == [f"file.managed:{work}/web-01.listed"]
    text = fleet.zester("runs", "*", "listed").stdout.splitlines()
    assert text[0].split() == ["RUN", "TIME", "PEEL", "CHANGED", "REVERTED", "BY", "WHAT"]
    row, = [line for line in text if both.startswith(line.split()[0])]
    assert "2 peels" in row and row.endswith("state.apply listed")
    assert both in fleet.zester("web-01", "state.runs", "listed").stdout and one not in fleet.zester("web-01", "state.runs").stdout
    assert "write it as an argument of state.revert: 'all=True'" in fleet.zester("*", "state.revert", "listed", "--all", status=1).stderr
    for words in (["all=True"], ["since=1h"], [f"to={both}"]):
        assert "yes=True" in fleet.zester("*", "state.revert", "listed", *words, status=1).stderr
    assert "cannot be used together" in fleet.zester("*", "state.revert", "listed", "all=True", "since=1h", status=1).stderr
    said = fleet.zester("*", "state.revert", "listed", "all=True", "--test").stdout
    assert f"would remove {work}/web-01.listed" in said and sorted(path.name for path in work.iterdir()) == sorted(f"{name}.listed" for name in NAMES)
    fleet.zester("*", "state.revert", "listed", f"to={both}", "yes=True")  # nothing came later
    assert sorted(path.name for path in work.iterdir()) == sorted(f"{name}.listed" for name in NAMES)
    fleet.zester("*", "state.revert", "listed", "since=1h", "yes=True")
    assert not list(work.iterdir())
    assert both not in [run["id"] for some in runs("*").values() for run in some]


def test_people_are_asked_once_before_runs_of_the_fleet_are_reverted(fleet, work):
    fleet.zester("*", "state.apply", "listed")
    command = [str(word) for word in argv(fleet, "*", "state.revert", "listed", "test=False")]
    for answer, status, stays in ((b"n\n", 1, True), (b"y\n", 0, False)):
        ended, said = answer_on_terminal(command, answer)
        assert (ended, said.count("[y/N]")) == (status, 1), said
        assert "Revert run 'listed', or the last run of that reference, on 2 machines? [y/N]" in said
        assert bool(list(work.iterdir())) == stays


def test_states_are_shown_and_owed_reactions_listed_and_waived_over_the_fleet(fleet, work):
    assert "Level 1:\n" in fleet.zester("web-01", "state.graph", "owing").stdout
    shown, = fleet.zester_json("web-01", "state.show_sls", "owing")
    assert "cmd.wait:broken" in shown["results"][0]["details"]["result"]
    assert "- one" in fleet.zester("web-01", "state.show_top").stdout
    assert "test.nop:one" in fleet.zester("web-01", "state.show_highstate").stdout
    assert "1 state in 1 level, no mistakes found" in fleet.zester("web-01", "state.check", "one").stdout
    fleet.zester("web-01", "state.apply", "owing", status=2)
    assert "cmd.wait:broken" in fleet.zester("web-01", "state.owed").stdout
    assert "no longer owes a reaction" in fleet.zester("web-01", "state.waive", "cmd.wait:broken").stdout
    assert "owes no reaction" in fleet.zester("web-01", "state.waive", "cmd.wait:broken", status=2).stdout


def test_the_shell_completes_targets_and_ids_of_jobs_from_what_is_there(fleet):
    home = fleet.folder / "home"
    (home / ".zester").mkdir(parents=True)
    (home / ".zester/config.yaml").write_text(fleet.write_cli_conf().read_text())
    jid = fleet.zester("*", "test.ping", "--async").stdout.split()[-1]
    program = f"{BUILD}/zester"
    assert completes(program, "web", home=home) == ["web-01"]
    assert jid in fleet.wait(lambda: completes(program, "job", "show", jid[:6], home=home), "the job is offered")
    assert completes(program, "job", "list", "--st", home=home) == ["--status"]
    conf = ["--config", str(fleet.write_cli_conf())]  # options on the line say where to look
    assert completes(program, *conf, "web", home="/nonexistent") == ["web-01"]
    assert completes(program, conf[0], "=", conf[1], "web", home="/nonexistent") == ["web-01"]
    assert jid in completes(program, "job", "show", *conf, jid[:6], home="/nonexistent")
    assert completes(program, "web", home="/nonexistent") == []
