"""`orchestrate` in a reaction: a tree of states that a master runs, whose steps are jobs for the fleet."""
import json

import pytest

from fleet import SERVER, Fleet, empty_folder, read_marks
from peels import start_peel
from test_reactor import count_rules, send, wait_for_rules, write_rules

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

LIMIT = 2  # orchestrations at once

STATES = {
    "top": "base: {}\n",
    "app": "WORK/{{ facts.id }}.app:\n  file.managed:\n    - contents: {{ settings.version }}\n",
    "orch/deploy": """
migrate:
  fleet.function: {name: cmd.run, tgt: 'db-*', arg: ['echo migrate >> WORK/order']}
web:
  fleet.state: {tgt: 'web-*', sls: app, pillar: {version: {{ settings.version | tojson }}}, require: [{fleet: migrate}]}
report:
  fleet.function: {name: cmd.run, tgt: 'db-01', arg: ['echo {{ facts.id }} >> WORK/order'], onchanges: [{fleet: web}]}
""",
    "orch/slow": """
first:
  fleet.function: {name: cmd.run, tgt: db-01, arg: ['echo first >> WORK/{{ settings.name }}']}
middle:
  fleet.function:
    - name: cmd.run
    - tgt: web-01
    - arg: ['echo middle >> WORK/{{ settings.name }}; until [ -e WORK/go ]; do sleep 0.1; done']
    - timeout: 5m
    - require: [{fleet: first}]
last:
  fleet.function: {name: cmd.run, tgt: db-01, arg: ['echo last >> WORK/{{ settings.name }}'], require: [{fleet: middle}]}
""",
    "orch/again": """
flaky:
  fleet.function:
    - name: cmd.run
    - tgt: db-01
    - arg: ['echo x >> WORK/tries; [ $(wc -l < WORK/tries) -ge 2 ]']
    - retry: {attempts: 3, interval: 0.1}
""",
    "orch/local": "here:\n  cmd.run: [name: 'touch WORK/here']\nthere:\n  fleet.function: {name: cmd.run, tgt: db-01, arg: ['touch WORK/there']}\n",
}
RULES = {
    "top.zy": """reactor:
  - '_admin/deploy': [reactor.deploy]
  - '_admin/run': [reactor.run]
  - '_admin/plain': [reactor.plain]
""",
    "deploy.zy": """deploy:
  orchestrate:
    sls: orch.deploy
    pillar: { version: {{ data.version | tojson }} }
    timeout: 5m
    wait: true
tell:
  log: "deploy {{ outcomes.deploy.status }} {{ outcomes.deploy.ok }} of {{ event.id }}"
""",
    "run.zy": "run:\n  orchestrate: { sls: orch.{{ data.what }}, pillar: { name: {{ data.name | default('x') | tojson }} } }\n",
    "plain.zy": "run:\n  orchestrate: orch.again\n",
}


def start_master(fleet, name, **more):
    reactor = {"dir": str(fleet.folder / "rules"), "orchestrations": LIMIT}
    return fleet.start_master(name, reactor=reactor, states_dir=str(fleet.folder / "tree"), files_republish_interval="1s",
                              orchestrate_dir=str(fleet.folder / "orchestrate"), **more)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("orchestrate")) as fleet:
        fleet.work = fleet.folder / "work"
        fleet.work.mkdir()
        (fleet.folder / "tree/orch").mkdir(parents=True)
        for name, text in STATES.items():
            (fleet.folder / f"tree/{name}.zy").write_text(text.replace("WORK", str(fleet.work)))
        write_rules(fleet.folder / "rules", RULES)
        fleet.start_server()
        fleet.masters = [start_master(fleet, "master")]
        wait_for_rules(fleet, fleet.masters[0], count_rules(RULES))
        for name in ("web-01", "web-02", "db-01"):
            peel = start_peel(fleet, fleet.masters[0], name)
            fleet.wait((peel.folder / "states/app.zy").exists, f"{name} has the tree")
        yield fleet


@pytest.fixture
def work(fleet):
    return empty_folder(fleet.work)


def outcome(fleet, event):
    """What became of the event; None: nothing yet."""
    why = fleet.zester("event", "why", event, "--format", "json", status=None)
    return None if why.returncode else json.loads(why.stdout)


def find_job(fleet, event):
    """The job that the first block of its rule has made."""
    return fleet.wait(lambda: outcome(fleet, event), "the outcome is on record")["rules"][0]["blocks"][0]["made"]


def wait_for_end(fleet, jid):
    return fleet.wait(lambda: (shown := fleet.zester_json("job", "show", jid))["job"]["status"] != "running" and shown, "the job has ended")


def test_a_reaction_runs_steps_in_the_order_of_their_requisites_and_later_blocks_see_how_it_ended(fleet, work):
    event = send(fleet, "deploy", "version=1.2")
    fleet.wait(lambda: fleet.masters[0].has_logged(f"deploy complete True of {event}"), "the block after it")
    assert read_marks(work / "order") == ["migrate", "_master"]
    assert {path.name: path.read_text().strip() for path in work.glob("*.app")} == {"web-01.app": "1.2", "web-02.app": "1.2"}


def test_the_run_is_a_job_and_its_steps_are_jobs_that_know_why(fleet, work):
    event = send(fleet, "deploy", "version=1.3")
    jid = find_job(fleet, event)
    shown = wait_for_end(fleet, jid)
    assert (shown["job"]["function"], shown["job"]["targets"], shown["job"]["status"]) == ("state.orchestrate", ["_master"], "complete")
    assert shown["job"]["user"] == "reactor:reactor.deploy" and shown["job"]["metadata"]["event_id"] == event
    results = {result["name"]: result for result in fleet.zester_json("job", "watch", jid)[0]["results"]}
    assert list(results) == ["fleet.function:migrate", "fleet.state:web", "fleet.function:report"] and results["fleet.state:web"]["changed"]
    step = fleet.zester_json("job", "show", results["fleet.state:web"]["details"]["jid"])["job"]
    assert step["jid"].startswith("rxn-") and step["user"] == "reactor:reactor.deploy"
    assert {key: step["metadata"][key] for key in ("orchestrate", "orchestrate_state", "orchestrate_job", "event_id", "reactor_depth")} == {
        "orchestrate": "orch.deploy", "orchestrate_state": "fleet.state:web", "orchestrate_job": jid, "event_id": event, "reactor_depth": "1"}
    assert f"job {jid}" in fleet.zester("event", "why", event).stdout
    chain = fleet.zester_json("why", step["jid"])["chain"]
    assert [link["id"] for link in chain if link["kind"] != "reaction"] == [step["jid"], jid, event]


def test_a_state_that_is_tried_again_is_another_job(fleet, work):
    shown = wait_for_end(fleet, find_job(fleet, send(fleet, "plain")))
    assert shown["job"]["status"] == "complete" and len(read_marks(work / "tries")) == 2


def test_a_tree_with_anything_but_steps_is_refused_as_a_whole(fleet, work):
    shown = wait_for_end(fleet, find_job(fleet, send(fleet, "run", "what=local")))
    assert shown["job"]["status"] == "failed" and "cmd.run is not a step of an orchestration" in shown["returns"][0]["error"]
    assert not list(work.iterdir())
    shown = wait_for_end(fleet, find_job(fleet, send(fleet, "run", "what=nowhere")))
    assert "nowhere" in shown["returns"][0]["error"]


def test_a_few_run_at_once_and_others_wait_for_their_turn(fleet, work):
    names = [f"run{number}" for number in range(LIMIT + 1)]
    jobs = [find_job(fleet, send(fleet, "run", "what=slow", f"name={name}")) for name in names]
    fleet.wait(lambda: sum("first" in read_marks(work / name) for name in names) == LIMIT, "as many run as may")
    assert fleet.masters[0].metric("zester_reactor_orchestrations") == LIMIT
    (work / "go").touch()
    assert [wait_for_end(fleet, jid)["job"]["status"] for jid in jobs] == ["complete"] * len(jobs)
    assert all(read_marks(work / name) == ["first", "middle", "last"] for name in names)


def test_one_that_is_killed_ends_and_nothing_of_it_follows(fleet, work):
    jid = find_job(fleet, send(fleet, "run", "what=slow", "name=killed"))
    fleet.wait(lambda: "middle" in read_marks(work / "killed"), "the second step")
    fleet.zester("job", "kill", jid)
    assert wait_for_end(fleet, jid)["job"]["status"] == "canceled"
    fleet.wait(lambda: fleet.masters[0].metric("zester_reactor_orchestrations") == 0, "its process is gone")
    (work / "go").touch()
    fleet.wait(lambda: not fleet.zester_json("job", "active"), "the job of the step has ended")
    assert read_marks(work / "killed") == ["first", "middle"]


def test_another_master_goes_on_where_the_first_has_died_and_no_step_runs_twice(fleet, work):
    jid = find_job(fleet, send(fleet, "run", "what=slow", "name=taken"))
    fleet.wait(lambda: "middle" in read_marks(work / "taken"), "the second step")
    other = start_master(fleet, "other")
    wait_for_rules(fleet, other, count_rules(RULES))
    fleet.masters[0].kill()
    fleet.wait(lambda: other.metric("zester_reactor_orchestrations") == 1, "the other one has taken it over", seconds=120)
    (work / "go").touch()
    shown = wait_for_end(fleet, jid)
    assert shown["job"]["status"] == "complete" and shown["job"]["reclaim_count"] == 1
    assert read_marks(work / "taken") == ["first", "middle", "last"]
    fleet.masters = [other]
