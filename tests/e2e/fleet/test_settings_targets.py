"""Targets by settings (I@ and J@): masters work out the settings of every peel, without its secrets, and only for operators."""
import json

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from packing import pack
from peels import fetch_credentials, start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

SETTINGS = {
    "top.zy": "base:\n  '*': [common]\n  'web-*': [web]\n  'G@tier:gold': [gold]\n",
    "common.zy": "env: prod\nshard: {{ facts.shard | default(0) | int + 1 }}\nzone: {{ facts.zone.name }}\n",
    "web.zy": "role: web\nports: [80, 443]\ndb: {password: !encrypted correct-horse, user: app}\napi: !secret sesame-token\n",
    "gold.zy": "support: gold\nurl: 'postgres://{{ settings.db.password | default(\"x\") }}@db'\nheader: 'Bearer {{ settings.api | default(\"none\") }}'\n",
}
RULES = {"top.zy": "reactor:\n  - '_admin/mark': [reactor.mark]\n",
         "mark.zy": "a: { dispatch.module: { target: 'I@role:web and not I@env:test', function: cmd.run, args: { command: 'touch {{ data.path }}' } } }\n"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """web-01 and db-01 run; bad-01 has published facts that no settings can be made from."""
    with Fleet(tmp_path_factory.mktemp("targets")) as fleet:
        fleet.start_server()
        fleet.settings, rules = fleet.folder / "settings", fleet.folder / "rules"
        for folder, files in ((fleet.settings, SETTINGS), (rules, RULES)):
            folder.mkdir()
            for name, text in files.items():
                (folder / name).write_text(text)
        fleet.master = fleet.start_ready_master(settings_dir=str(fleet.settings), reactor={"dir": str(rules)}, enroll={"rate_burst": 0},
                                                nodegroups={"front": "I@role:web"}, files_republish_interval="1s")
        fleet.wait(lambda: fleet.master.metric("zester_reactor_rules_loaded") == 1, "the rule is loaded")
        for name, facts in {"web-01": "{tier: gold, zone: {name: a}}", "db-01": "{shard: 6, zone: {name: b}}"}.items():
            (fleet.folder / f"{name}.facts").write_text(facts)
            start_peel(fleet, fleet.master, name, facts_file=str(fleet.folder / f"{name}.facts"))
        fetch_credentials(fleet, fleet.master, "bad-01", fleet.folder / "bad")
        fleet.bad = Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.folder / "bad/bad-01.creds")
        fleet.bad.publish("$KV.facts.bad-01", pack({"id": "bad-01"}))
        fleet.wait(lambda: fleet.zester("bad-01", "test.ping", "--preview", status=None).returncode == 0, "its facts are known")
        yield fleet


def meant(fleet, target):
    answer = fleet.zester(target, "test.ping", "--preview", "--format", "json", status=None)
    assert answer.returncode in (0, 5), answer.stderr
    return json.loads(answer.stdout) if answer.returncode == 0 else []


@pytest.mark.parametrize("target,expected", [
    ("I@role:web", ["web-01"]), ("J@role:^w.b$", ["web-01"]), ("I@ports:443", ["web-01"]), ("I@db.user:app", ["web-01"]),
    ("I@db:user:app", ["web-01"]), ("I@shard:>3", ["db-01"]), ("I@env:prod", ["db-01", "web-01"]), ("I@env:PROD and db*", ["db-01"]),
    ("N@front", ["web-01"]), ("I@support:gold", ["web-01"]), ("I@role:none", []), ("I@zone:[ab]", ["db-01", "web-01"])])
def test_settings_of_each_peel_decide(fleet, target, expected):
    assert meant(fleet, target) == expected


def test_a_job_goes_to_those_that_a_target_by_settings_means(fleet):
    assert fleet.zester("I@role:web", "test.ping").stdout == "web-01:\n    true\n"
    assert fleet.zester("I@role:web", "test.ping", "--direct").stdout == "web-01:\n    true\n"
    assert fleet.zester("I@role:nobody", "test.ping", status=5).stderr.endswith("No peels matched the target expression.\n")


@pytest.mark.parametrize("guess", ["correct-horse", "c*", "*", "[a-z]*", "!=x", "********"])
def test_no_guess_at_a_secret_ever_matches(fleet, guess):
    for key in ("db.password", "api", "url", "header"):
        assert meant(fleet, f"I@{key}:{guess}") == []
    assert meant(fleet, "J@db.password:.") == meant(fleet, "J@url:postgres") == meant(fleet, "J@header:sesame") == []
    assert meant(fleet, f"not I@db.password:{guess}") == ["db-01", "web-01"]


def test_a_peel_whose_settings_cannot_be_made_is_not_meant_and_is_named(fleet):
    for target in ("I@env:prod", "not I@env:prod", "not I@role:web"):
        answer = fleet.zester(target, "test.ping", "--preview", status=None)
        assert "bad-01" not in answer.stdout
        assert "settings of 1 peel(s) cannot be rendered, so I@ and J@ leave them out: bad-01" in answer.stderr
    assert meant(fleet, "bad-01 or I@role:web") == ["bad-01", "web-01"]
    assert "warning" not in fleet.zester("*", "test.ping", "--preview").stderr


def test_new_facts_and_a_new_tree_are_seen_by_the_next_question(fleet):
    assert meant(fleet, "I@shard:8") == []
    fleet.zester("db-01", "facts.set", "shard", "7")
    fleet.wait(lambda: meant(fleet, "I@shard:8") == ["db-01"], "the new fact counts")
    (fleet.settings / "web.zy").write_text(SETTINGS["web.zy"] + "added: later\n")
    fleet.zester("fileserver", "update")
    assert meant(fleet, "I@added:later") == ["web-01"]


def test_a_reaction_may_mean_peels_by_their_settings(fleet, tmp_path):
    fleet.zester("event", "send", "mark", f"path={tmp_path}/mark")
    fleet.wait((tmp_path / "mark").exists, "the reaction has run on web-01")


def test_a_peel_may_not_ask_about_settings_of_others(fleet):
    fleet.bad.inbox = "_INBOX.bad-01.x"
    assert b"web-01" in fleet.bad.request("zester.target.resolve", pack({"expr": "web-*"}))
    for question in ({"expr": "I@role:web"}, {"expr": "*", "scope": "not I@role:web"}, {"expr": "N@front"}):
        answer = fleet.bad.request("zester.target.resolve", pack(question))
        assert b"which are not known here" in answer and b"web-01" not in answer


def test_without_a_master_a_target_by_settings_is_refused(fleet):
    fleet.master.stop()
    try:
        answer = fleet.zester("not I@env:prod", "test.ping", status=1)
        assert "no master resolves targets" in answer.stderr and "match settings, which are not known here" in answer.stderr
    finally:
        fleet.master.start()
        fleet.wait_ready(fleet.master)
