"""Secrets in settings: sealed by masters for each peel, opened by that peel alone, never shown."""
import base64
import json

import pytest

from bus import Bus
from fleet import Fleet
from packing import pack
from peels import start_peel

TOP = """base:
  '*': [common]
  'web-*': [web]
  db-01: [db]
"""
WEB = """web:
  password: !encrypted {password}
  {{% if facts.id == 'web-01' %}}
  keys: [plain, !encrypted first-key]
  {{% endif %}}
"""
DERIVED = """url: 'https://admin:{{ settings.web.password }}@host'
strong: {{ settings.web.password | length > 8 }}
"""
STATES = """show:
  cmd.run:
    - name: echo "got {{ pillar['web']['password'] }}"
"""


def write_tree(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("secrets")) as fleet:
        fleet.start_server()
        fleet.settings, fleet.states = fleet.folder / "settings", fleet.folder / "tree"
        write_tree(fleet.settings, {"top.zy": TOP, "common.zy": "motd: hello\n", "web.zy": WEB.format(password="web-pass-one"),
                                    "db.zy": "db: {password: !encrypted 'db pass'}\n"})
        write_tree(fleet.states, {"show.sls": STATES})
        fleet.master = fleet.start_ready_master(settings_dir=str(fleet.settings), states_dir=str(fleet.states),
                                                reactor={"dir": str(fleet.folder / "rules")}, publisher_status_file="")
        fleet.peels = {name: start_peel(fleet, fleet.master, name) for name in ("web-01", "db-01")}
        yield fleet


def on_disk(fleet, peel):
    path = fleet.peels[peel].folder / "data/settings-snapshot.msgpack"
    return path.read_bytes() if path.exists() else b""


def wait_for_secret(fleet, peel, text):
    fleet.wait(lambda: text.encode() in on_disk(fleet, peel), f"{peel} has opened its secret")


def test_a_peel_opens_its_own_secrets(fleet):
    wait_for_secret(fleet, "web-01", "web-pass-one")
    wait_for_secret(fleet, "web-01", "first-key")
    wait_for_secret(fleet, "db-01", "db pass")


def test_a_peel_gets_no_secret_of_others(fleet):
    wait_for_secret(fleet, "db-01", "db pass")
    assert b"web-pass-one" not in on_disk(fleet, "db-01")
    for name in fleet.peels:
        for path in (fleet.folder / name).rglob("*"):
            if path.is_file() and path.name != "settings-snapshot.msgpack":
                assert b"web-pass-one" not in path.read_bytes(), path


def test_the_bus_never_has_a_secret_in_clear(fleet):
    wait_for_secret(fleet, "web-01", "web-pass-one")
    stored = b"".join(path.read_bytes() for path in (fleet.folder / "js").rglob("*") if path.is_file())
    assert b"__ZESTER_SECRET:web.zy:web.password__" in stored
    assert b"web-pass-one" not in stored and b"db pass" not in stored


def test_secrets_are_masked_in_answers_and_logs(fleet):
    wait_for_secret(fleet, "web-01", "web-pass-one")
    shown = fleet.zester("web-01", "settings.items", "--format", "json").stdout
    assert "********" in shown and "web-pass-one" not in shown and "ZESTER_SECRET" not in shown
    fleet.wait(lambda: (fleet.peels["web-01"].folder / "states/show.sls").exists(), "the states are there")
    for words in ((), ("--test",)):
        answer = fleet.zester("web-01", "state.apply", "show", *words, "--format", "json")
        assert "web-pass-one" not in answer.stdout + answer.stderr
    assert "got ********" in fleet.zester("web-01", "state.apply", "show").stdout
    assert "web-pass-one" not in fleet.logs() and "db pass" not in fleet.logs()


def stored_event(fleet, tag):
    """The payload of the last event of web-01 with that tag, as everybody reads it."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        question = json.dumps({"last_by_subj": f"zester.event.web-01.send.{tag}"}).encode()
        return base64.b64decode(json.loads(bus.request("$JS.API.STREAM.MSG.GET.events", question))["message"]["data"])


def test_secrets_are_masked_in_events(fleet):
    wait_for_secret(fleet, "web-01", "web-pass-one")
    fleet.zester("web-01", "event.send", "leak/job", "word=web-pass-one", "--direct")
    fleet.run("zester-peel", "event", "leak/script", "word=is web-pass-one", "--config", fleet.peels["web-01"].folder / "peel.yaml")
    assert b"********" in stored_event(fleet, "leak.job") and b"web-pass-one" not in stored_event(fleet, "leak.job")
    assert b"is ********" in stored_event(fleet, "leak.script")


def test_secrets_are_masked_in_the_record_of_the_last_run_and_in_reports(fleet):
    wait_for_secret(fleet, "web-01", "web-pass-one")
    assert "got ****" in fleet.zester("web-01", "state.apply", "show", "--format", "json").stdout
    fleet.zester("report", "--out", fleet.folder / "report.html")
    page = (fleet.folder / "report.html").read_text()
    assert "cmd.run:show" in page and "web-pass-one" not in page
    kept = (fleet.peels["web-01"].folder / "data" / "last-run").read_bytes()
    assert b"cmd.run:show" in kept and b"web-pass-one" not in kept


def test_settings_of_a_peel_are_shown_by_the_master_with_masks(fleet):
    shown = fleet.zester_json("settings", "show", "web-01")
    assert shown["web"] == {"password": "********", "keys": ["plain", "********"]} and shown["motd"] == "hello"
    assert fleet.zester_json("settings", "show", "db-01", "db:password") == "********"
    answer = fleet.zester("settings", "show", "nobody", status=1)
    assert "no facts known for this peel" in answer.stderr
    fleet.wait(lambda: any(line.get("msg", "").startswith("audit action=settings.show") for line in fleet.master.lines()), "it is audited")


def claim_key_of_another(fleet, peel, other):
    """Facts are what a machine says of itself: also which key it has."""
    key = json.loads(fleet.zester("kv", "fact", "get", other, "_curve_public_key").stdout)
    folder = fleet.peels[peel].folder
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", folder / f"auth/{peel}.creds") as bus:
        bus.publish(f"$KV.facts.{peel}", pack({"id": peel, "_curve_public_key": key}))
        bus.flush()
        assert not bus.errors
    fleet.wait(lambda: json.loads(fleet.zester("kv", "fact", "get", peel, "_curve_public_key").stdout) == key, "the facts are published")


def test_a_changed_secret_is_sealed_again_to_the_key_of_the_enrollment_whatever_facts_say(fleet):
    wait_for_secret(fleet, "web-01", "web-pass-one")
    claim_key_of_another(fleet, "web-01", "db-01")
    (fleet.settings / "web.zy").write_text(WEB.format(password="web-pass-two"))
    fleet.zester("fileserver", "update")
    wait_for_secret(fleet, "web-01", "web-pass-two")
    assert b"web-pass-one" not in on_disk(fleet, "web-01")


def sealed_for(fleet, peel):
    """What masters have sealed for a peel: names, and boxes that it can open."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        answer = json.loads(bus.request("$JS.API.STREAM.MSG.GET.KV_secrets", json.dumps({"last_by_subj": f"$KV.secrets.{peel}"}).encode()))
    return base64.b64decode(answer["message"]["data"])


def test_a_placeholder_in_a_fact_is_plain_text(fleet):
    """Its name is public: a machine that writes it into a fact, which some setting prints, does not get the secret of another."""
    wait_for_secret(fleet, "web-01", "web-pass")
    claimed = "__ZESTER_SECRET:db.zy:db.password__"
    write_tree(fleet.settings, {"common.zy": "motd: hello\nprinted: '{{ facts.motto | default(0) }}'\n"})
    fleet.zester("fileserver", "update")
    fleet.zester("web-01", "facts.set", "motto", f"'{claimed}'")
    fleet.wait(lambda: fleet.zester_json("settings", "show", "web-01").get("printed") == claimed, "the master renders it as it is")
    fleet.wait(lambda: claimed.encode() in on_disk(fleet, "web-01"), "so does the peel")
    assert "db pass" not in fleet.zester("web-01", "settings.items").stdout
    assert b"db pass" not in on_disk(fleet, "web-01")
    assert b"web.zy:web.password" in sealed_for(fleet, "web-01") and b"db.zy" not in sealed_for(fleet, "web-01")
    fleet.zester("web-01", "facts.set", "motto", "none")
    (fleet.settings / "common.zy").write_text("motd: hello\n")
    fleet.zester("fileserver", "update")


def test_a_peel_that_enrolls_later_gets_its_secrets(fleet):
    fleet.peels["web-02"] = start_peel(fleet, fleet.master, "web-02")
    wait_for_secret(fleet, "web-02", "web-pass")
    assert b"first-key" not in on_disk(fleet, "web-02")


def test_later_templates_see_the_value_of_a_secret(fleet):
    write_tree(fleet.settings, {"derived.zy": DERIVED, "top.zy": TOP + "  web-01: [derived]\n"})
    fleet.zester("fileserver", "update")
    wait_for_secret(fleet, "web-01", "https://admin:web-pass")
    shown = fleet.zester_json("settings", "show", "web-01")
    assert shown["url"] == "https://admin:********@host" and shown["strong"] is True
    assert "web-pass" not in fleet.zester("web-01", "settings.items").stdout


def test_secrets_at_the_same_path_of_two_files_are_two(fleet):
    write_tree(fleet.settings, {"one.zy": "same: !encrypted one-secret\n", "top.zy": TOP + "  web-01: [one, two]\n",
                                "two.zy": "kept: 'was {{ settings.same }}'\nsame: !encrypted two-secret\n"})
    fleet.zester("fileserver", "update")
    wait_for_secret(fleet, "web-01", "was one-secret")
    wait_for_secret(fleet, "web-01", "two-secret")
    shown = fleet.zester_json("settings", "show", "web-01")
    assert (shown["kept"], shown["same"]) == ("was ********", "********")
    (fleet.settings / "top.zy").write_text(TOP)
    fleet.zester("fileserver", "update")


def test_a_mistake_in_a_template_quotes_no_secret(fleet):
    write_tree(fleet.settings, {"wrong.zy": "x: {{ settings[settings.web.password].y }}\n",
                                "top.zy": TOP + "  web-01: [wrong]\n"})
    fleet.zester("fileserver", "update")
    fleet.wait(lambda: fleet.peels["web-01"].has_logged("cannot resolve settings"), "the peel reports the mistake")
    fleet.wait(lambda: fleet.master.has_logged("cannot render the settings of a peel"), "so does the master")
    shown = fleet.zester("settings", "show", "web-01", status=1).stderr
    assert "wrong.zy:1" in shown and "********" in shown
    assert "web-pass" not in shown + fleet.logs()
    (fleet.settings / "top.zy").write_text(TOP)
    fleet.zester("fileserver", "update")


def test_a_file_that_cannot_be_sanitised_is_not_published_and_is_reported(fleet):
    (fleet.settings / "bad.zy").write_text("bad: !encrypted x-{{ y }}-leak\n")
    answer = fleet.zester("fileserver", "update", status=1)
    assert "bad.zy: line 1: a template tag in a value that is encrypted" in answer.stdout
    fleet.wait(lambda: fleet.master.has_logged("skipped a file of the settings"), "it is logged")
    stored = b"".join(path.read_bytes() for path in (fleet.folder / "js").rglob("*") if path.is_file())
    assert b"-leak" not in stored
    (fleet.settings / "bad.zy").write_text("x" * 400000 + "\nbad: !encrypted large-leak\n")
    answer = fleet.zester("fileserver", "update", status=1)
    assert "cannot have !encrypted values" in answer.stdout
    (fleet.settings / "bad.zy").unlink()
    fleet.zester("fileserver", "update")


def test_arguments_of_a_scheduled_run_are_masked_in_the_record_of_its_job(fleet):
    wait_for_secret(fleet, "db-01", "db pass")
    fleet.zester("db-01", "schedule.add", "leak", "function=cmd.run", "args={command: echo db pass}", "interval=24h", "return_job=true")
    assert "echo ********" in fleet.zester("db-01", "schedule.list").stdout
    fleet.zester("db-01", "schedule.run_job", "leak")
    job, = fleet.wait(lambda: fleet.zester_json("job", "list", "--user", "schedule:leak"), "the run is on record")
    shown = fleet.zester("job", "show", job["jid"], "--format", "json").stdout
    assert "db pass" not in shown and json.loads(shown)["job"]["args"] == {"command": "echo ********"}
    fleet.zester("db-01", "schedule.delete", "leak")
