"""`zester orchestrate`: a tree of states whose steps are jobs for the machines of a fleet."""
import json
import os
import signal
import subprocess

import pytest

from fleet import BUILD, SECONDS, SERVER, Fleet, empty_folder
from peels import start_with_tree

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

NAMES = ("web-01", "web-02", "db-01")
# What peels apply.
STATES = {
    "top": "base:\n  '*': [app]\n",
    "app": "WORK/{{ facts.id }}.app:\n  file.managed:\n    - contents: \"{{ settings.get('version', 'none') }}\"\n",
    "only_first": "made:\n  cmd.run: [name: 'mkdir WORK/only']\n",
}
# What is orchestrated.
STEPS = {
    "deploy": """
migrate:
  fleet.function: {name: cmd.run, tgt: 'db-*', arg: ['echo migrate >> WORK/order']}
web:
  fleet.state: {tgt: 'web-*', sls: app, pillar: {version: '1.2'}, require: [{fleet: migrate}]}
report:
  fleet.function: {name: cmd.run, tgt: 'web-01', arg: ['echo report >> WORK/order'], onchanges: [{fleet: web}]}
""",
    "broken": """
first:
  fleet.state: {tgt: 'web-*', sls: only_first}
after:
  fleet.function: {name: cmd.run, tgt: 'db-01', arg: ['echo after >> WORK/order'], require: [{fleet: first}]}
rescue:
  fleet.function: {name: cmd.run, tgt: 'db-01', arg: ['echo rescue >> WORK/order'], onfail: [{fleet: first}]}
""",
    "tolerant": "first:\n  fleet.state: {tgt: 'web-*', sls: only_first, max_failures: 1}\n",
    "nobody": "nobody:\n  fleet.function: {name: test.ping, tgt: 'mail-*'}\n",
    "types": """
listed:
  fleet.function: {name: test.ping, tgt: 'web-01,db-01', tgt_type: list, batch: 1}
expression:
  fleet.function: {name: cmd.run, tgt: 'E@^web and not web-02', kwarg: {command: 'echo expression >> WORK/order'}}
""",
    "wrong": """
a: {fleet.state: {tgt: 'web-*'}}
b: {fleet.state: {tgt: 'web-*', sls: a, highstate: true}}
c: {fleet.function: {name: cmd.rum, tgt: '*'}}
d: {fleet.function: {name: test.ping, tgt: '(web-*'}}
e: {fleet.function: {name: test.ping, tgt: 'x', tgt_type: globb}}
f: {fleet.function: {name: test.ping, tgt: 'x', arg: [a, b]}}
g: {fleet.state: {tgt: 'x', sls: a, tagret: y}}
""",
    "together": "".join(f"{name}:\n  fleet.function: {{name: cmd.run, tgt: {name}, arg: ['{command}']}}\n" for name, command in {
        "web-01": "touch WORK/one; until [ -e WORK/two ]; do sleep 0.05; done",
        "web-02": "touch WORK/two; until [ -e WORK/one ]; do sleep 0.05; done"}.items()),
    "slow": "slow:\n  fleet.function: {name: cmd.run, tgt: web-01, arg: ['touch WORK/begun; until [ -e WORK/go ]; do sleep 0.05; done']}\n",
}
SALT = """migrate:
  salt.function:
    - name: cmd.run
    - tgt: 'db-*'
    - arg:
      - echo salt >> WORK/order
web:
  salt.state:
    - tgt: 'web-01,web-02'
    - tgt_type: list
    - sls:
      - app
    - pillar:
        version: '2.0'
    - require:
      - salt: migrate
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("orchestrate")) as fleet:
        fleet.steps, fleet.work = fleet.folder / "steps", fleet.folder / "work"
        fleet.steps.mkdir()
        fleet.work.mkdir()
        for name, text in STEPS.items():
            (fleet.steps / f"{name}.zy").write_text(text.replace("WORK", str(fleet.work)))
        (fleet.steps / "salt.sls").write_text(SALT.replace("WORK", str(fleet.work)))
        start_with_tree(fleet, NAMES, {name: text.replace("WORK", str(fleet.work)) for name, text in STATES.items()})
        yield fleet


@pytest.fixture
def work(fleet):
    return empty_folder(fleet.work)


def words(fleet, ref, *more):
    return ("orchestrate", ref, "--states-dir", fleet.steps, "--settings-dir", fleet.folder / "none", "--data-dir", fleet.folder / "runs", *more)


def orchestrate(fleet, ref, *more, status=0):
    """The results of its steps by name."""
    report = fleet.zester_json(*words(fleet, ref, *more), status=status)
    return {result["name"]: result for result in report[0]["results"]}


def order(work):
    return (work / "order").read_text().split() if (work / "order").exists() else []


def files(work):
    return {path.name: path.read_text().strip() for path in work.iterdir() if path.name.endswith(".app")}


def test_steps_run_in_the_order_of_their_requisites_and_tell_what_changed(fleet, work):
    results = orchestrate(fleet, "deploy")
    assert order(work) == ["migrate", "report"] and files(work) == {"web-01.app": "1.2", "web-02.app": "1.2"}
    web = results["fleet.state:web"]
    assert web["changed"] and web["details"]["changed"] == ["web-01", "web-02"] and web["details"]["failed"] == {}
    job = fleet.zester_json("job", "show", web["details"]["jid"])["job"]
    assert (job["function"], job["target_expr"], job["metadata"]) == (
        "state.apply", "web-*", {"orchestrate": "deploy", "orchestrate_state": "fleet.state:web"})
    results = orchestrate(fleet, "deploy")
    assert not results["fleet.state:web"]["changed"] and results["fleet.function:report"]["skipped"]
    assert order(work) == ["migrate", "report", "migrate"]


def test_a_dry_run_is_a_dry_run_on_the_peels(fleet, work):
    results = orchestrate(fleet, "deploy", "--test")
    assert results["fleet.state:web"]["changed"]
    assert "would change 2 of 2 peels: web-01, web-02" in results["fleet.state:web"]["diff"]
    assert results["fleet.function:migrate"]["diff"] == "cmd.run echo migrate >> WORK/order on 'db-*' would run on 1 peel".replace("WORK", str(work))
    assert order(work) == [] and files(work) == {}
    orchestrate(fleet, "deploy")
    assert not orchestrate(fleet, "deploy", "--test")["fleet.state:web"]["changed"]


def test_a_step_that_fails_stops_what_requires_it_and_starts_what_waits_for_failures(fleet, work):
    results = orchestrate(fleet, "broken", status=2)
    first = results["fleet.state:first"]
    assert "1 of 2 peels failed" in first["error"] and len(first["details"]["failed"]) == 1
    assert results["fleet.function:after"]["skipped"] and order(work) == ["rescue"]
    (work / "only").rmdir()
    assert orchestrate(fleet, "tolerant")["fleet.state:first"]["changed"]


def test_a_target_that_means_nobody_fails(fleet, work):
    assert "no peel matches 'mail-*'" in orchestrate(fleet, "nobody", status=2)["fleet.function:nobody"]["error"]
    assert "no peel matches 'mail-*'" in orchestrate(fleet, "nobody", "--test", status=2)["fleet.function:nobody"]["error"]


def test_targets_have_types_and_arguments_have_names(fleet, work):
    results = orchestrate(fleet, "types")
    assert results["fleet.function:listed"]["details"]["targets"] == 2 and order(work) == ["expression"]
    job = fleet.zester_json("job", "show", results["fleet.function:listed"]["details"]["jid"])["job"]
    assert job["target_expr"] == "L@web-01,db-01" and job["metadata"]["batch"] == "1"


def test_mistakes_are_reported_before_anything_is_dispatched(fleet, work):
    result = fleet.zester(*words(fleet, "wrong"), status=1)
    for mistake in ("'sls' or 'highstate' is missing", "mutually exclusive", "no function 'cmd.rum'", "no target type 'globb'",
                    "test.ping takes", "'tagret'"):
        assert mistake in result.stderr, result.stderr
    assert fleet.zester("orchestrate", "deploy", "--states-dir", fleet.folder / "nowhere", status=1)


def test_steps_of_a_level_run_at_once(fleet, work):
    assert len(orchestrate(fleet, "together")) == 2


def test_the_names_of_salt_mean_the_same(fleet, work):
    results = orchestrate(fleet, "salt")
    assert order(work) == ["salt"] and files(work) == {"web-01.app": "2.0", "web-02.app": "2.0"}
    assert results["salt.state:web"]["changed"]


def test_an_interrupted_run_leaves_its_job_and_says_so(fleet, work):
    command = [f"{BUILD}/zester", *map(str, words(fleet, "slow", "--format", "json")), "--config", fleet.write_cli_conf()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        fleet.wait((work / "begun").exists, "the job runs")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 2, err
    assert "canceled" in out and "zester job watch" in out
    assert not (work / "go").exists()
    (work / "go").touch()
    fleet.wait(lambda: not json.loads(fleet.zester("job", "active", "--format", "json").stdout), "the job has ended")


def test_without_a_fleet_there_are_no_steps(fleet, work):
    result = fleet.run("zester", "--local", "state.apply", "nobody", "--states-dir", fleet.steps, "--data-dir", fleet.folder / "runs", status=2)
    assert "there is no fleet here; run this tree with 'zester orchestrate'" in result.stdout
    dead = subprocess.run([f"{BUILD}/zester", *map(str, words(fleet, "nobody")), "--config", fleet.folder / "none.yaml",
                           "--master", "tls://127.0.0.1:1"], capture_output=True, text=True, timeout=SECONDS)
    assert dead.returncode == 1, dead.stderr


@pytest.mark.skipif(os.path.exists("/srv/zester/states") or os.path.exists("/srv/salt"), reason="this machine has a folder of states")
def test_a_machine_without_a_folder_of_states_uses_the_published_ones(fleet, work, tmp_path):
    run = ("orchestrate", "roll", "--data-dir", fleet.folder / "published-data")
    (fleet.tree / "roll.zy").write_text(f"roll:\n  fleet.function: {{name: cmd.run, tgt: web-01, arg: ['echo rolled >> {work}/rolled']}}\n")
    fleet.zester("fileserver", "update")
    environment = {"TMPDIR": str(tmp_path)}
    assert "1 changed" in fleet.zester(*run, environment=environment).stdout
    assert (work / "rolled").read_text() == "rolled\n"
    assert not list(tmp_path.iterdir())
    (fleet.tree / "roll.zy").unlink()
    fleet.zester("fileserver", "update")
    assert "roll" in fleet.zester(*run, environment=environment, status=1).stderr
    assert not list(tmp_path.iterdir())
