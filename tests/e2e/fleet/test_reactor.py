"""Reactions of real masters: rules that are published, events that fire them, and what became of each."""
import contextlib
import json

import pytest

from enroll_client import Machine
from fleet import SERVER, STOP_SECONDS, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

RULES = {
    "top.zy": """reactor:
  - '_admin/say/*': [reactor.say]
  - '_admin/chain': [reactor.chain]
  - '_master/reaction/*': [reactor.say]
  - '_admin/slow/*':
      react: [reactor.say]
      throttle: 1h
  - '_admin/wrong': [reactor.wrong]
  - '_admin/nobody': [reactor.nobody]
""",
    "say.zy": "line:\n  log: \"heard {{ tag }} from {{ data.get('from', 'nobody') }}\"\n",
    "chain.zy": "next:\n  event.send: { tag: step/two, data: { from: '{{ event.origin }}' } }\n",
    "wrong.zy": "a: { log: one }\nb: { lgo: two }\n",
    "nobody.zy": "a: { dispatch.module: { target: 'no-such-*', function: test.ping } }\n",
}


def write_rules(folder, rules):
    for path, text in rules.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def reactor_of(fleet, rules=None, **keys):
    """The block `reactor` of a configuration, with a folder of rules."""
    return {"dir": str(write_rules(fleet.folder / "rules", rules or RULES)), **keys}


def start(fleet, name="master", rules=None, groups=None, **keys):
    """A master that has the rules of the fleet, and has loaded them."""
    master = fleet.start_master(name, reactor=reactor_of(fleet, rules, **keys), files_republish_interval="1s", nodegroups=groups or {})
    wait_for_rules(fleet, master, count_rules(rules or RULES))
    return master


def count_rules(rules):
    return rules["top.zy"].count("reactor.")


def wait_for_rules(fleet, master, count):
    fleet.wait_ready(master)
    fleet.wait(lambda: master.metric("zester_reactor_rules_loaded") == count, f"{count} rules are loaded")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        yield fleet


def send(fleet, tag, *pairs):
    return fleet.zester_json("event", "send", tag, *pairs)["id"]


def reactions(master, rule, result):
    return master.metric(f'zester_reactor_reactions_total{{rule="{rule}",result="{result}"}}') or 0



def test_rules_are_published_and_an_event_fires_the_one_that_matches(fleet):
    master = start(fleet, storm_rate=1)
    event = send(fleet, "say/hello", "from=me")
    fleet.wait(lambda: master.has_logged("heard say/hello from me"), "the reaction")
    line = next(line for line in master.lines() if "heard say/hello" in line["msg"])
    assert line["level"] == "info" and line["msg"] == "heard say/hello from me"
    assert {key: line[key] for key in ("rule", "event_id", "tag", "origin")} == {
        "rule": "reactor.say", "event_id": event, "tag": "say/hello", "origin": "_admin"}
    fleet.wait(lambda: reactions(master, "reactor.say", "dispatched") == 1, "the count")
    send(fleet, "other")
    fleet.wait(lambda: master.metric("zester_reactor_events_unmatched_total") == 1, "no rule matches")
    assert master.metric('zester_reactor_events_total{origin_type="admin"}') == 2
    assert master.metric("zester_reactor_render_duration_seconds_count") >= 1
    send(fleet, "say/again")
    fleet.wait(lambda: master.metric('zester_reactor_breaker_open{rule="reactor.say"}') == 1, "more than one a minute is too much")
    assert master.stop(seconds=STOP_SECONDS) == 0


def test_the_first_event_of_a_new_fleet_finds_its_rules(fleet):
    master = fleet.start_ready_master(reactor=reactor_of(fleet))
    send(fleet, "say/early", "from=me")
    fleet.wait(lambda: master.has_logged("heard say/early from me"), "the reaction")
    assert not master.has_logged("rules loaded rules=0")


def test_a_reaction_may_send_an_event_that_fires_another_rule(fleet):
    master = start(fleet)
    send(fleet, "chain")
    fleet.wait(lambda: master.has_logged("heard reaction/step/two from _admin"), "the second reaction")
    assert reactions(master, "reactor.chain", "dispatched") == 1


def test_results_that_are_not_success_are_counted(fleet):
    master = start(fleet)
    events = [send(fleet, tag) for tag in ("wrong", "nobody", "slow/a", "slow/b")]
    fleet.wait(lambda: reactions(master, "reactor.wrong", "validate_error") == 1, "a mistake in a block")
    fleet.wait(lambda: reactions(master, "reactor.nobody", "no_targets") == 1, "no target")
    fleet.wait(lambda: reactions(master, "reactor.say", "throttled") == 1, "the throttle")
    assert reactions(master, "reactor.say", "dispatched") == 1
    assert not master.has_logged("log: one") and "no action 'lgo'" in master.log()
    for event, words in zip(events, ("matched, but nothing was done", "matched, but nothing was done", "fired", "matched, but nothing was done")):
        fleet.wait(lambda event=event: fleet.zester("event", "why", event, status=None).returncode == 0, "it is on record")
        assert fleet.zester("event", "why", event).stdout.startswith(f"{event}: {words}\n")


def test_a_test_says_what_the_rules_of_the_moment_would_do(fleet):
    master = start(fleet)
    tested = fleet.zester_json("reactor", "test", "_admin/say/x", "--event-json", '{"n": 1, "from": "me"}', "--data", "from=you")
    assert tested == {"key": "_admin/say/x", "matched": [
        {"rule": "reactor.say", "actions": ["line: log 'heard say/x from you'"], "errors": []}]}
    wrong = fleet.zester_json("reactor", "test", "_admin/wrong")["matched"][0]
    assert wrong["actions"] == [] and "no action 'lgo'" in wrong["errors"][0]
    assert fleet.zester_json("reactor", "test", "web-01/nothing")["matched"] == []
    assert "is not a key" in fleet.zester("reactor", "test", "nothing", status=1).stderr
    assert not master.has_logged("heard say/x")


def test_a_mistake_in_new_rules_keeps_the_old_ones_and_degrades(fleet):
    master = start(fleet)
    write_rules(fleet.folder / "rules", {"top.zy": "reactor:\n  - 'a/b': [reactor.gone]\n"})
    fleet.wait(lambda: master.checks().get("reactor") == "degraded", "the mistake is seen")
    assert master.metric("zester_reactor_rule_errors_total") == 1
    assert master.get("/readyz")[0] == 200
    send(fleet, "say/still")
    fleet.wait(lambda: master.has_logged("heard say/still"), "the old rules work")
    write_rules(fleet.folder / "rules", {"top.zy": RULES["top.zy"] + "  - '_admin/more': [reactor.say]\n"})
    fleet.wait(lambda: master.metric("zester_reactor_rules_loaded") == 7, "the new rules are loaded")
    fleet.wait(lambda: master.checks().get("reactor") == "ok", "healthy again")


def test_an_empty_folder_never_replaces_rules_that_are_published(fleet):
    first = start(fleet)
    assert first.stop(seconds=STOP_SECONDS) == 0
    second = fleet.start_ready_master("second", reactor={"dir": str(fleet.folder / "empty")}, files_republish_interval="1s")
    fleet.wait(lambda: second.metric("zester_master_publisher_leader") == 1, "it has the lease")
    wait_for_rules(fleet, second, 6)
    fleet.zester("fileserver", "update", status=None)
    send(fleet, "say/hello")
    fleet.wait(lambda: second.has_logged("heard say/hello"), "the rules are still there")


def test_events_that_came_while_all_masters_were_down_are_reacted_to(fleet):
    master = start(fleet)
    master.kill()
    ids = [send(fleet, "say/late", f"n={n}") for n in range(5)]
    master.start()
    for event in ids:
        fleet.wait(lambda event=event: master.has_logged(f'"event_id":"{event}"'), "the reaction to an event of before")


def test_without_rules_that_can_be_loaded_events_wait_and_are_counted(fleet):
    master = fleet.start_master(reactor=reactor_of(fleet, {"top.zy": "reactor: 5\n"}), files_republish_interval="1s")
    fleet.wait(lambda: master.metric("zester_reactor_rule_errors_total"), "the mistake is found")
    event = send(fleet, "say/hello")
    assert master.stop() == 0
    master.start()
    fleet.wait(lambda: master.metric("zester_reactor_lag") == 1, "nobody has taken the event")
    write_rules(fleet.folder / "rules", RULES)
    fleet.wait(lambda: master.has_logged(f'"event_id":"{event}"'), "it is taken when there are rules")


def test_a_master_with_its_reactor_off_publishes_rules_for_others(fleet):
    off = fleet.start_ready_master("off", reactor=reactor_of(fleet, enabled=False), files_republish_interval="1s")
    on = fleet.start_master("on", reactor={"dir": str(fleet.folder / "none")})
    wait_for_rules(fleet, on, 6)
    send(fleet, "say/hello")
    fleet.wait(lambda: on.has_logged("heard say/hello"), "the reaction")
    assert not off.has_logged("heard say/hello")


def test_without_rules_every_event_is_taken_and_matches_nothing(fleet):
    master = fleet.start_ready_master()
    assert master.checks()["reactor"] == "ok"
    assert master.metric("zester_reactor_rules_loaded") == 0
    for number in range(20):
        send(fleet, "some/event", f"n={number}")
    fleet.wait(lambda: master.metric("zester_reactor_events_unmatched_total") == 20, "all are taken")
    assert master.metric('zester_reactor_events_total{origin_type="admin"}') == 20
    assert fleet.zester_json("reactor", "test", "_admin/some/event") == {"key": "_admin/some/event", "matched": []}
    assert master.stop(seconds=STOP_SECONDS) == 0


def test_a_reactor_that_is_off_takes_no_event(fleet):
    off = fleet.start_ready_master(reactor={"enabled": False})
    assert off.checks()["reactor"] == "ok"
    assert "switched off" in off.get("/readyz")[1]
    send(fleet, "some/event")
    on = fleet.start_ready_master("on")
    fleet.wait(lambda: on.metric("zester_reactor_events_unmatched_total") == 1, "the other master takes it")
    assert off.metric('zester_reactor_events_total{origin_type="admin"}') is None


def test_what_a_source_sends_beyond_its_rate_is_dropped(fleet):
    master = fleet.start_ready_master(reactor={"source_rate_limit": 1})
    ids = [send(fleet, "flood", f"n={number}") for number in range(40)]

    def dropped():
        return master.metric('zester_reactor_events_dropped_total{reason="ratelimit"}') or 0
    fleet.wait(lambda: dropped() + (master.metric("zester_reactor_events_unmatched_total") or 0) == 40, "all are taken")
    assert dropped() > 0  # how many depends on how long the others took
    whys = [fleet.zester_json("event", "why", event) for event in ids[-3:]]
    assert ("dropped", "ratelimit", []) in [(why["outcome"], why.get("reason"), why["rules"]) for why in whys]


def test_what_became_of_an_event_is_recorded(fleet):
    master = fleet.start_ready_master()
    event = send(fleet, "some/event")
    fleet.wait(lambda: master.metric("zester_reactor_events_unmatched_total") == 1, "it is taken")
    why = fleet.zester_json("event", "why", event)
    assert (why["id"], why["outcome"], why["key"], why["rules"]) == (event, "unmatched", "_admin/some/event", [])
    assert fleet.zester("event", "why", event).stdout.startswith(f"{event}: unmatched: no rule matches its key\n  key:       _admin/some/event\n")
    for unknown in ("nothing", "not an id", "x" * 300):
        assert "no record of event" in fleet.zester("event", "why", unknown, status=1).stderr


# --- jobs on a real peel ----------------------------------------------------------------------

JOBS = {
    "top.zy": """reactor:
  - '_admin/mark': [reactor.mark]
  - '*/from/peel': [reactor.echo]
""",
    "mark.zy": """mark:
  dispatch.module:
    target: '{{ data.peel }}'
    function: cmd.run
    args: { name: "echo {{ event.id }} >> {{ data.file }}" }
""",
    "echo.zy": "line:\n  log: \"{{ event.peel }} says {{ data.what }}, a {{ origin_facts.kernel | default('machine') }}\"\n",
}


def marks(path):
    """How often each event left its mark: counted on the peel, not by masters."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.read_text().split())
    return []


def test_a_reaction_runs_a_job_on_a_peel_and_the_job_knows_why(fleet):
    master = start(fleet, rules=JOBS)
    start_peel(fleet, master, "web-01")
    path = fleet.folder / "marks"
    event = send(fleet, "mark", "peel=web-01", f"file={path}")
    fleet.wait(lambda: marks(path) == [event], "the job ran on the peel")
    why = fleet.zester_json("event", "why", event)
    assert why["outcome"] == "fired" and why["rules"][0]["result"] == "dispatched"
    jid = why["rules"][0]["blocks"][0]["made"]
    assert jid.startswith("rxn-") and len(jid) == 36
    job = fleet.zester_json("job", "show", jid)["job"]
    assert (job["user"], job["target_expr"], job["targets"]) == ("reactor:reactor.mark", "web-01", ["web-01"])
    assert job["metadata"] == {"source": "reactor", "rule": "reactor.mark", "event_id": event, "event_tag": "mark", "reactor_depth": "1"}


def test_a_reaction_may_target_a_group_of_the_configuration(fleet):
    start_peel(fleet, start(fleet, rules=JOBS, groups={"front": "web*"}), "web-01")
    path = fleet.folder / "marks"
    event = send(fleet, "mark", "peel=N@front", f"file={path}")
    fleet.wait(lambda: marks(path) == [event], "the job ran on the peel")
    lost = send(fleet, "mark", "peel=N@frnt", f"file={path}")
    fleet.wait(lambda: "no group 'frnt'" in json.dumps(fleet.zester_json("event", "why", lost, status=None)), "the unknown group is named")


def test_a_burst_of_events_is_reacted_to_once_each(fleet):
    master = start(fleet, rules=JOBS, source_rate_limit=0, storm_rate=0)
    start_peel(fleet, master, "web-01")
    path = fleet.folder / "marks"
    ids = sorted(send(fleet, "mark", "peel=web-01", f"file={path}") for _ in range(40))
    fleet.wait(lambda: len(marks(path)) >= 40, "all jobs ran", seconds=180)
    assert marks(path) == ids


def test_events_survive_masters_that_are_killed_and_act_once(fleet):
    masters = [start(fleet, rules=JOBS, source_rate_limit=0, storm_rate=0),
               fleet.start_ready_master("other", reactor={"dir": str(fleet.folder / "rules"), "source_rate_limit": 0, "storm_rate": 0})]
    wait_for_rules(fleet, masters[1], 2)
    start_peel(fleet, masters[0], "web-01")
    path = fleet.folder / "marks"
    ids = []
    for number in range(12):
        ids.append(send(fleet, "mark", "peel=web-01", f"file={path}"))
        if number % 3 == 2:
            victim = masters[number // 3 % 2]
            victim.kill()
            victim.start()
    fleet.wait(lambda: len(set(marks(path))) == len(ids), "every event has left its mark", seconds=240)
    assert marks(path) == sorted(ids)


def test_an_event_of_a_peel_has_its_facts_and_its_name(fleet):
    master = start(fleet, rules=JOBS)
    start_peel(fleet, master, "web-01")
    fleet.zester("web-01", "event.send", "from/peel", "what=hello")
    fleet.wait(lambda: master.has_logged("web-01 says hello, a "), "the reaction")


LIFE = {
    "top.zy": """reactor:
  - '_master/job/*/dispatched': [reactor.line]
  - '_master/job/*/finalized': [reactor.again, reactor.line]
""",
    "line.zy": "line:\n  log: \"{{ tag.split('/')[2] }} {{ data.function }} {{ data.status }} depth {{ event.depth }}\"\n",
    "again.zy": "again:\n  dispatch.module: { target: web-01, function: test.ping }\n",
}


def test_the_life_of_jobs_is_events_and_a_rule_that_feeds_itself_ends(fleet):
    master = start(fleet, rules=LIFE)
    start_peel(fleet, master, "web-01")
    fleet.zester("web-01", "cmd.run", "true")
    for depth in range(3):
        fleet.wait(lambda depth=depth: master.has_logged(f"finalized {'test.ping' if depth else 'cmd.run'} complete depth {depth}"), "an end")
    fleet.wait(lambda: (master.metric('zester_reactor_events_dropped_total{reason="depth"}') or 0) >= 2, "the loop has ended")
    assert master.has_logged("dispatched cmd.run running depth 0")
    assert reactions(master, "reactor.again", "dispatched") == 3


# --- enrollments ---------------------------------------------------------------------------------

ENROLL = {
    "top.zy": "reactor:\n  - '*/enroll/pending/*': [reactor.enroll]\n",
    "enroll.zy": "accept:\n  enroll.approve: { id: '{{ data.id }}', require_peel: 'web-*' }\n",
}


def enrollments(fleet):
    return {row["peel_id"]: row["state"] for row in fleet.zester_json("enroll", "list", "-s", "all")}


def test_a_reaction_approves_the_machines_that_it_may_and_no_others(fleet):
    master = start(fleet, rules=ENROLL)
    assert "matches events that are not from _master" in master.log()
    ids = {}
    for name in ("web-01", "db-01"):
        status, body = Machine(master.enroll_port, name, fleet.auth / "ca/root.crt").submit(fleet.pin())
        assert status == 201, body
        ids[name] = body["id"]
    fleet.wait(lambda: enrollments(fleet).get("web-01") == "approved", "web-01 is approved")
    fleet.wait(lambda: reactions(master, "reactor.enroll", "refused") == 1, "db-01 is refused")
    assert enrollments(fleet)["db-01"] == "pending"
    fleet.zester("event", "send", "enroll/pending/x", f"id={ids['db-01']}")  # from an operator: not a master
    fleet.wait(lambda: reactions(master, "reactor.enroll", "refused") == 2, "another origin is refused")
    assert enrollments(fleet)["db-01"] == "pending"
    audit = [line["msg"] for line in master.lines() if "reactor:reactor.enroll" in line["msg"]]
    assert any(ids["web-01"] in line for line in audit)


def test_events_of_a_peel_that_was_revoked_meanwhile_are_dropped(fleet):
    off = fleet.start_ready_master("off", reactor=reactor_of(fleet, JOBS, enabled=False), files_republish_interval="1s")
    start_peel(fleet, off, "web-01")
    fleet.zester("web-01", "event.send", "from/peel", "what=hello")
    fleet.zester("enroll", "revoke", "--peel", "web-01")
    on = fleet.start_master("on", reactor={"dir": str(fleet.folder / "none")})
    wait_for_rules(fleet, on, 2)
    fleet.wait(lambda: on.metric('zester_reactor_events_dropped_total{reason="revoked"}') == 1, "it is dropped")
    assert not on.has_logged("web-01 says")


# --- templates that take long --------------------------------------------------------------------

SLOW = {
    "top.zy": "reactor:\n  - '_admin/slow': [reactor.slow]\n  - '_admin/quick': [reactor.quick]\n",
    "slow.zy": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}\n",
    "quick.zy": "line:\n  log: quick\n",
}


def test_a_slow_template_holds_up_neither_others_nor_the_end_of_a_master(fleet):
    master = start(fleet, rules=SLOW, workers=2)
    send(fleet, "slow")
    send(fleet, "quick")
    fleet.wait(lambda: master.has_logged('"rule":"reactor.quick"'), "the quick one", seconds=25)
    assert master.get("/healthz")[0] == 200
    assert master.stop(seconds=STOP_SECONDS) == 0


def test_a_master_that_stops_hands_its_events_to_another_at_once(fleet):
    first = start(fleet, rules=SLOW)
    send(fleet, "slow")
    fleet.wait(lambda: first.metric('zester_reactor_events_total{origin_type="admin"}') == 1, "it is being rendered")
    second = fleet.start_ready_master("second", reactor={"dir": str(fleet.folder / "rules")})
    assert first.stop(seconds=STOP_SECONDS) == 0
    # A machine that is slow to start the second master has reached a limit of the template before: then it is done.
    fleet.wait(lambda: second.metric('zester_reactor_events_total{origin_type="admin"}') == 1 or
               first.has_logged("render_error: reactor.slow"), "it comes again, long before the 60 seconds of ack_wait", seconds=40)
