"""zester reactor replay: stored events against the published rules, or those of a folder. Nothing is done."""
import pytest

from fleet import SERVER, Fleet
from test_reactor import reactions, send, start, write_rules

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

RULES = {
    "top.zy": """reactor:
  - '_admin/say/*': [reactor.say]
  - '_admin/slow':
      react: [reactor.say]
      throttle: 1h
  - '_admin/wrong': [reactor.wrong]
""",
    "say.zy": "line:\n  log: \"heard {{ tag }}\"\n",
    "wrong.zy": "line:\n  log: \"{{ data.missing }}\"\n",
}
NEWER = {
    "top.zy": """reactor:
  - '_admin/say/*': [reactor.say]
  - '_admin/other': [reactor.ping]
""",
    "say.zy": "line:\n  log: \"{{ 'heard' if tag == 'say/one' else 'missed' }} {{ tag }}\"\n",
    "ping.zy": "ping:\n  dispatch.module: { target: 'web-*', function: test.ping }\n",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("replay")) as fleet:
        fleet.start_server()
        fleet.master = start(fleet, rules=RULES)
        fleet.events = {tag: send(fleet, tag) for tag in ("say/one", "say/two", "other", "wrong", "slow")}
        fleet.again = send(fleet, "slow")
        for event in [*fleet.events.values(), fleet.again]:
            fleet.wait(lambda event=event: fleet.zester("event", "why", event, status=None).returncode == 0, "it is on record")
        yield fleet


def replay(fleet, *words):
    result = fleet.zester_json("reactor", "replay", *words)
    return {row["id"]: row for row in result["events"]}, result["summary"]


def test_the_rules_of_the_moment_would_do_what_they_did(fleet):
    rows, summary = replay(fleet, "--since", "1d")
    assert summary == {"total": 6, "fire": 4, "differ": 0, "idle": 1, "unmatched": 1, "dropped": 0, "failed": 1}
    assert set(rows) == {*fleet.events.values(), fleet.again} - {fleet.events["other"]}
    assert rows[fleet.events["say/one"]]["now"] == [
        {"rule": "reactor.say", "result": "dispatched", "actions": ["line: log 'heard say/one'"], "errors": []}]
    wrong = rows[fleet.events["wrong"]]["now"][0]
    assert wrong["result"] == "render_error" and "missing" in wrong["errors"][0]
    assert replay(fleet, "--changed") == ({}, summary)
    assert fleet.zester("reactor", "replay", "--changed").stdout == \
        "6 events: 4 would fire, 1 match a rule that would do nothing, 1 match no rule, 0 dropped; 0 would be handled differently\n" \
        "1 match a rule with a mistake, which stops its reaction\n"


def test_other_rules_show_what_would_be_different(fleet):
    folder = write_rules(fleet.folder / "newer", NEWER)
    rows, summary = replay(fleet, "--rules", folder, "--changed")
    assert summary == {"total": 6, "fire": 3, "differ": 5, "idle": 0, "unmatched": 3, "dropped": 0, "failed": 0}
    assert set(rows) == {*fleet.events.values(), fleet.again} - {fleet.events["say/one"]}
    two, other = rows[fleet.events["say/two"]], rows[fleet.events["other"]]
    assert two["now"][0]["actions"] == ["line: log 'missed say/two'"] and two["then"][0]["actions"] == ["line: log 'heard say/two'"]
    assert "test.ping" in other["now"][0]["actions"][0] and other["then"] == []
    text = fleet.zester("reactor", "replay", "--rules", folder).stdout
    assert f"_admin/wrong  {fleet.events['wrong']}  (differs)\n  now:  nothing\n  then: reactor.wrong: render_error\n" in text
    assert reactions(fleet.master, "reactor.say", "dispatched") == 3  # what was replayed has done nothing


def test_a_mistake_in_the_folder_of_rules_is_reported_with_its_place(fleet):
    folder = write_rules(fleet.folder / "broken", {"top.zy": "reactor:\n  - 'a/b': [reactor.gone]\n"})
    result = fleet.zester("reactor", "replay", "--rules", folder, status=1)
    assert f"{folder}/top.zy:2:" in result.stderr and result.stdout == ""
    assert "no .zy files" in fleet.zester("reactor", "replay", "--rules", write_rules(fleet.folder / "none", {"a": ""}), status=1).stderr
