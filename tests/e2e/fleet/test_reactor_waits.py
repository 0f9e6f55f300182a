"""Blocks that wait for their job: what later blocks see, and masters that end meanwhile."""
import json

import pytest

from fleet import SERVER, STOP_SECONDS, Fleet, read_marks
from peels import start_peel
from test_reactor import count_rules, reactor_of, send, wait_for_rules
from test_reactor_faults import Sender, hurry

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

MANY = 40  # more than a master pulls at once (32)

RULES = {
    "top.zy": """reactor:
  - '_admin/deploy': [reactor.deploy]
  - '_admin/say': [reactor.say]
  - '_admin/many': [reactor.many]
""",
    "deploy.zy": """deploy:
  dispatch.module:
    target: 'web-*'
    function: cmd.run
    args: { name: {{ data.command | tojson }} }
    timeout: 10m
    wait: true
{% if outcomes.deploy.ok %}
mark:
  dispatch.module:
    target: web-01
    function: cmd.run
    args: { name: "echo {{ event.id }} >> {{ data.file }}" }
{% else %}
tell:
  log: "deploy {{ outcomes.deploy.status }}: {{ outcomes.deploy.succeeded }} of {{ outcomes.deploy.targets }}, without {{ outcomes.deploy.failed | join('+') }}"
{% endif %}
""",
    "say.zy": "line:\n  log: 'heard {{ data.what }}'\n",
    "many.zy": """one:
  dispatch.module: { target: web-01, function: cmd.run, args: { name: "echo one >> {{ data.file }}" }, max_targets: 1, wait: true }
both:
  dispatch.module: { target: 'web-*', function: cmd.run, args: { name: "echo both >> {{ data.file }}" }, max_targets: 1, wait: true }
states:
  dispatch.state: { target: 'web-*', sls: none, max_targets: 1 }
""",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("waits")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_master(reactor=reactor_of(fleet, RULES, source_rate_limit=0, storm_rate=0),
                                          files_republish_interval="1s")
        wait_for_rules(fleet, fleet.master, count_rules(RULES))
        for name in ("web-01", "web-02"):
            start_peel(fleet, fleet.master, name)
        fleet.ports = [fleet.port]
        yield fleet


@pytest.fixture
def marks(fleet, tmp_path):
    fleet.wait(lambda: waiting(fleet) == 0, "nobody waits yet")
    return tmp_path / "marks"


def until(path):
    """A command that ends when the file is there."""
    return f"command=echo x >> {path}.began; until [ -e {path} ]; do sleep 0.1; done"


def waiting(fleet):
    return fleet.master.metric("zester_reactor_events_waiting") or 0


def blocks(fleet, event):
    why = fleet.zester("event", "why", event, "--format", "json", status=None)
    return [(block["block"], block["result"]) for block in json.loads(why.stdout)["rules"][0]["blocks"]] if not why.returncode else None


def restart(fleet, environment=None):
    fleet.master.environment = environment or {}
    fleet.master.start()
    wait_for_rules(fleet, fleet.master, count_rules(RULES))


def test_later_blocks_see_how_a_job_ended(fleet, marks):
    event = send(fleet, "deploy", "command=true", f"file={marks}")
    fleet.wait(lambda: read_marks(marks) == [event], "the block after a job that succeeded")
    fleet.wait(lambda: waiting(fleet) == 0, "nobody waits")
    fleet.wait(lambda: blocks(fleet, event) == [("deploy", "dispatched"), ("mark", "dispatched")], "the outcome is on record")
    send(fleet, "deploy", f"command=mkdir {marks}.only", f"file={marks}")  # the second of the two fails
    fleet.wait(lambda: fleet.master.has_logged("deploy failed: "), "the block after a job that failed")
    assert read_marks(marks) == [event]


def deliveries(fleet, event):
    return fleet.zester_json("event", "why", event)["deliveries"]


def test_many_events_wait_hold_up_nobody_and_none_is_given_back(fleet, marks, tmp_path):
    go = tmp_path / "go"
    ids = [send(fleet, "deploy", until(go), f"file={marks}") for _ in range(MANY)]
    fleet.wait(lambda: waiting(fleet) == MANY, "all of them wait", seconds=120)
    send(fleet, "say", "what=others")
    fleet.wait(lambda: fleet.master.has_logged("heard others"), "another event")
    assert waiting(fleet) == MANY
    go.touch()
    fleet.wait(lambda: len(read_marks(marks)) >= MANY, "all have gone on", seconds=120)
    assert sorted(read_marks(marks)) == sorted(ids)
    fleet.wait(lambda: blocks(fleet, ids[-1]), "the outcome is on record")
    assert [deliveries(fleet, event) for event in (ids[0], ids[-1])] == [1, 1]


def test_more_targets_than_a_rule_allows_abort_its_job(fleet, marks):
    event = send(fleet, "many", f"file={marks}")
    fleet.wait(lambda: blocks(fleet, event), "the outcome is on record")
    assert blocks(fleet, event) == [("one", "dispatched"), ("both", "aborted"), ("states", "aborted")]
    assert read_marks(marks) == ["one"]


def test_a_master_that_stops_hands_over_what_waits(fleet, marks, tmp_path):
    go = tmp_path / "go"
    event = send(fleet, "deploy", until(go), f"file={marks}")
    fleet.wait(lambda: waiting(fleet) == 1, "it waits")
    assert fleet.master.stop(seconds=STOP_SECONDS) == 0
    restart(fleet)
    fleet.wait(lambda: waiting(fleet) == 1, "it waits again")
    go.touch()
    fleet.wait(lambda: read_marks(marks) == [event], "the next block")
    fleet.wait(lambda: blocks(fleet, event) == [("deploy", "duplicate"), ("mark", "dispatched")], "the outcome is on record")


def test_a_master_that_is_killed_while_it_waits_loses_nothing(fleet, marks, tmp_path):
    go = tmp_path / "go"
    event = send(fleet, "deploy", until(go), f"file={marks}")
    fleet.wait(lambda: waiting(fleet) == 1 and len(read_marks(tmp_path / "go.began")) == 2, "the job runs, and it waits")
    fleet.master.kill()
    restart(fleet)
    fleet.wait(lambda: hurry(Sender(fleet, []), seconds=2), "the event comes again soon")
    fleet.wait(lambda: waiting(fleet) == 1, "it waits again", seconds=120)
    go.touch()
    fleet.wait(lambda: read_marks(marks) == [event], "the next block", seconds=120)
    assert len(read_marks(tmp_path / "go.began")) == 2  # the job ran once on each peel


def test_a_master_that_dies_between_the_end_of_a_job_and_the_next_block_goes_on(fleet, marks, tmp_path):
    assert fleet.master.stop(seconds=STOP_SECONDS) == 0
    restart(fleet, {"ZESTER_CRASH": "reaction-awaited:1:0"})
    go = tmp_path / "go"
    event = send(fleet, "deploy", until(go), f"file={marks}")
    fleet.wait(lambda: waiting(fleet) == 1, "it waits")
    go.touch()
    fleet.wait(lambda: not fleet.master.is_running(), "it dies when the job has ended")
    assert read_marks(marks) == []
    restart(fleet)
    fleet.wait(lambda: hurry(Sender(fleet, []), seconds=2), "the event comes again soon")
    fleet.wait(lambda: read_marks(marks) == [event], "the next block", seconds=120)
    assert len(read_marks(tmp_path / "go.began")) == 2
