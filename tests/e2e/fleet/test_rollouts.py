"""Jobs that go through a fleet in waves: gates and pauses between them, and what is reverted when one fails."""
import re

import pytest

from fleet import SERVER, Fleet, empty_folder
from peels import start_with_tree

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
NAMES = ("web-1", "web-2", "web-3", "web-4")
WAVES = ("--batch", "2")


def states(work):
    """App writes a file, waits while 'busy' is there, and fails where 'sick' is; health fails where 'unhealthy' is."""
    return {
        "top": "base:\n  '*': [health]\n",
        "app": f"conf: {{file.managed: [name: '{work}/{{{{ facts.id }}}}', contents: new]}}\n"
               f"starts: {{cmd.run: [name: 'while [ -e {work}/busy-{{{{ facts.id }}}} ]; do sleep 0.05; done; test ! -e {work}/sick-{{{{ facts.id }}}}', require: [file: conf]]}}\n",
        "health": f"health: {{cmd.run: [name: 'test ! -e {work}/unhealthy-{{{{ facts.id }}}}']}}\n",
        "deploy": "rollout:\n  fleet.state:\n    - tgt: 'web-*'\n    - sls: app\n    - batch: 2\n    - gate: state.apply health\n    - revert_on_failure: wave\n",
        "wrong": "rollout:\n  fleet.state:\n    - tgt: 'web-*'\n    - sls: app\n    - gate: test.ping\n",
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("rollouts")) as fleet:
        fleet.work = fleet.folder / "work"
        fleet.work.mkdir()
        start_with_tree(fleet, NAMES, states(fleet.work), sign_requests=True)
        yield fleet


@pytest.fixture
def work(fleet):
    """The folder of the states, empty."""
    return empty_folder(fleet.work)


def written(work):
    return sorted(path.name for path in work.iterdir() if path.name in NAMES)


def jid_of(said):
    return re.search(r"^Job (\w+) dispatched$", said.stderr, re.M).group(1)


def record(fleet, jid):
    return fleet.zester_json("job", "show", jid)["job"]


def names_of(fleet, jid):
    return record(fleet, jid)["targets"]


@pytest.mark.parametrize("scope, left", [("wave", ["web-1", "web-2"]), ("all", [])])
def test_a_rollout_that_fails_reverts_its_wave_or_all_of_it(fleet, work, scope, left):
    (work / "sick-web-4").touch()
    said = fleet.zester("*", "state.apply", "app", *WAVES, "--revert", scope, status=2)
    jid, revert = jid_of(said), re.search(r"^Reverted by job (\S+)$", said.stderr, re.M).group(1)
    assert re.search(r"^Stopped: wave 2: too many peels failed$", said.stderr, re.M)
    assert written(work) == left
    job, reverting = record(fleet, jid), record(fleet, revert)
    assert job["status"] == "failed" and (job["metadata"]["revert"], job["metadata"]["revert_job"]) == (scope, revert)
    assert (reverting["function"], reverting["status"], reverting["metadata"]["rollout"]) == ("state.revert", "complete", jid)
    assert names_of(fleet, revert) == (["web-3", "web-4"] if scope == "wave" else list(NAMES))


def test_a_wave_that_fails_while_one_of_its_peels_is_busy_is_the_one_that_is_reverted(fleet, work):
    (work / "sick-web-1").touch()
    (work / "busy-web-2").touch()
    jid = fleet.zester_json("*", "state.apply", "app", *WAVES, "--revert", "wave", "--async")["jid"]
    fleet.wait(lambda: len(fleet.zester_json("job", "show", jid)["returns"]) == 3, "the second wave is given up")
    (work / "busy-web-2").unlink()
    fleet.wait(lambda: record(fleet, jid)["status"] == "failed", "the rollout has ended")
    assert record(fleet, jid)["metadata"]["stopped"].startswith("wave 1:")
    assert names_of(fleet, record(fleet, jid)["metadata"]["revert_job"]) == ["web-1", "web-2"]
    fleet.wait(lambda: written(work) == [], "the first wave is reverted")


def test_a_wave_is_not_begun_before_the_last_has_ended_and_a_failure_stops_them(fleet, work):
    (work / "sick-web-1").touch()
    said = fleet.zester("*", "state.apply", "app", *WAVES, "--revert", "wave", status=2)
    assert said.stdout.count("not sent: more peels have failed than --max-failures allows") == 2
    assert written(work) == [] and "Stopped: wave 1" in said.stderr
    said = fleet.zester("*", "state.apply", "app", *WAVES, "--max-failures", "1", "--revert", "wave", status=2)
    assert written(work) == ["web-2", "web-3", "web-4"]  # the one that failed has reverted itself
    assert "Stopped" not in said.stderr and "revert_job" not in record(fleet, jid_of(said))["metadata"]


@pytest.mark.parametrize("sick, wave, left", [("web-2", 1, []), ("web-3", 2, ["web-1", "web-2"])])
def test_a_gate_that_fails_stops_a_rollout_also_after_its_last_wave(fleet, work, sick, wave, left):
    (work / f"unhealthy-{sick}").touch()
    said = fleet.zester("*", "state.apply", "app", *WAVES, "--gate", "state.apply health", "--revert", "wave", status=2)
    gate = re.search(rf"^Stopped: wave {wave}: its gate failed, see job (\S+)$", said.stderr, re.M).group(1)
    assert written(work) == left and record(fleet, jid_of(said))["status"] == "failed"
    assert (record(fleet, gate)["function"], record(fleet, gate)["metadata"]["rollout"]) == ("state.apply", jid_of(said))
    assert names_of(fleet, gate) == (["web-1", "web-2"] if wave == 1 else ["web-3", "web-4"])


def test_a_gate_that_passes_and_a_pause_let_the_next_wave_begin(fleet, work):
    said = fleet.zester("*", "state.apply", "app", *WAVES, "--gate", "cmd.run true", "--pause", "2s", "--revert", "all")
    assert written(work) == list(NAMES) and "Stopped" not in said.stderr
    times = [(work / name).stat().st_mtime for name in NAMES]
    assert min(times[2:]) - max(times[:2]) >= 2
    assert record(fleet, jid_of(said))["metadata"].items() >= {"gate": "cmd.run true", "pause": "2", "revert": "all", "batch": "2"}.items()


def test_a_dry_run_reverts_nothing_and_programs_get_one_document(fleet, work):
    (work / "unhealthy-web-1").touch()
    fleet.zester("*", "state.apply", "app", *WAVES, "--gate", "state.apply health", "--revert", "wave", "--test", status=2)
    assert written(work) == []
    fleet.zester_json("*", "state.apply", "app", *WAVES, "--gate", "state.apply health", "--revert", "wave", status=2)
    assert written(work) == []


@pytest.mark.parametrize("words, said", [
    (("state.apply", "app", "--gate", "test.ping"), "--gate requires --batch"),
    (("state.apply", "app", "--pause", "3s"), "--pause requires --batch"),
    (("state.apply", "app", "--revert", "wave"), "--revert wave requires --batch"),
    (("test.ping", *WAVES, "--revert", "wave"), "--revert is for state.apply and state.highstate, not for test.ping"),
    (("state.apply", "app", *WAVES, "--revert", "week"), "'--revert' must be one of"),
    (("state.apply", "app", *WAVES, "--gate", "nonsense"), "gate: 'nonsense' is not the name of a function"),
    (("state.apply", "app", *WAVES, "--gate", "test.ping", "--queue", "1h"), "waves do not wait for absent peels"),
    (("test.ping", "--direct", "--gate", "test.ping"), "--gate requires a job: leave out --direct"),
])
def test_mistakes_in_a_rollout_are_reported_before_anything_is_sent(fleet, work, words, said):
    assert said in fleet.zester("*", *words, status=1).stderr
    assert written(work) == []


def test_an_orchestration_has_gates_and_reverts_waves(fleet, work):
    where = ("--states-dir", fleet.tree, "--data-dir", fleet.folder / "orchestrated")
    words = ("orchestrate", "deploy", *where)
    assert "Stopped" not in fleet.zester(*words).stderr and written(work) == list(NAMES)
    for name in NAMES:
        (work / name).unlink()
    (work / "unhealthy-web-3").touch()
    result = fleet.zester(*words, status=2)
    assert re.search(r"wave 2: its gate failed, see job \S+; reverted by job \S+", result.stdout + result.stderr), result.stdout
    fleet.wait(lambda: written(work) == ["web-1", "web-2"], "the second wave is reverted")
    assert "'gate' requires 'batch'" in fleet.zester("orchestrate", "wrong", *where, status=1).stderr


def test_a_master_that_dies_after_it_has_sent_the_revert_leaves_one_revert(fleet, work):
    fleet.master.stop()
    dying = fleet.start_master("dying", states_dir=str(fleet.tree), sign_requests=True, environment={"ZESTER_CRASH": "job-reverted:1:0"})
    fleet.wait_ready(dying)
    (work / "sick-web-4").touch()
    jid = fleet.zester_json("*", "state.apply", "app", *WAVES, "--revert", "wave", "--async")["jid"]
    fleet.wait(lambda: not dying.is_running(), "the master has crashed")
    fleet.master.start()
    fleet.wait(lambda: record(fleet, jid)["status"] == "failed", "another master has ended the job", seconds=90)
    revert = record(fleet, jid)["metadata"]["revert_job"]
    fleet.wait(lambda: record(fleet, revert)["status"] == "complete", "the revert has ended")
    assert written(work) == ["web-1", "web-2"]
    reverts = [one["jid"] for one in fleet.zester_json("job", "list", "--limit", "100") if one["function"] == "state.revert"]
    assert [one for one in reverts if record(fleet, one)["metadata"].get("rollout") == jid] == [revert]
