"""What people and programs read of a fleet: answers, jobs and events."""
import datetime
import json
import re

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from packing import pack
from peels import start_with_tree

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
STATES = {
    "top": "base: {'*': [app]}\n",
    "app": """
conf:
  file.managed:
    - name: {{ grains.cwd_of_test }}/{{ grains.id }}.conf
    - contents: name = {{ grains.id }}
same:
  test.nop: []
check:
  cmd.run:
    - name: {% if grains.id == 'db-01' %}echo 'no space left' >&2; exit 1{% else %}'true'{% endif %}
""",
}
# Peels that are known, but never answer.
SILENT = [f"idle-{number:02}" for number in range(10)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("output")) as fleet:
        fleet.out = fleet.folder / "out"
        fleet.out.mkdir()
        states = {name: text.replace("{{ grains.cwd_of_test }}", str(fleet.out)) for name, text in STATES.items()}
        settings = fleet.folder / "settings"
        settings.mkdir()
        (settings / "top.zy").write_text("base: {'*': [all]}\n")
        (settings / "all.zy").write_text("port: 80\nnames: [a, b]\n")
        start_with_tree(fleet, ["web-01", "db-01"], states, settings_dir=str(settings))
        fleet.wait(lambda: "names" in fleet.zester("web-01", "settings.items").stdout, "web-01 has its settings")
        yield fleet


def forget_files(fleet):
    for path in fleet.out.iterdir():
        path.unlink()


def run_states(fleet, *words, target="web-01", status=0, **more):
    forget_files(fleet)
    return fleet.zester(target, "state.apply", "app", *words, status=status, **more)


def test_a_run_shows_what_changed_and_counts_the_rest(fleet):
    told = run_states(fleet, target="*", status=2)
    first, second = told.stdout.split("web-01:\n")
    assert first.startswith("db-01:\n") and "        error: command" in first and "stderr: no space left" in first
    assert "            +name = web-01\n" in second and "\n        changed: true\n" in second
    assert second.count("test.nop:same") == 0 and "\n    1 unchanged\n" in second
    assert "\n\n2 peels: 1 changed, 1 failed, 0 unchanged, 0 without answer; took " in told.stdout
    assert told.stderr.endswith("1 peel(s) failed\n")


def test_a_dry_run_says_what_would_change(fleet):
    told = run_states(fleet, "--test").stdout
    assert "        would change: true\n" in told and "changed: true" not in told
    assert "1 peel: 1 would change, 0 failed, 0 unchanged, 0 without answer; took " in told


def test_the_length_of_a_report_is_asked_for_by_option_or_variable(fleet):
    assert "    test.nop:same:\n        changed: false\n" in run_states(fleet, "--state-output", "full").stdout
    terse = {"environment": {"ZESTER_STATE_OUTPUT": "terse"}}
    assert "    unchanged     test.nop:same  " in run_states(fleet, **terse).stdout
    assert "test.nop:same" not in run_states(fleet, "--state-output", "changes", **terse).stdout
    wrong = run_states(fleet, status=1, environment={"ZESTER_STATE_OUTPUT": "short"})
    assert "variable ZESTER_STATE_OUTPUT must be one of" in wrong.stderr and "dispatched" not in wrong.stderr


def test_equal_answers_of_many_peels_are_one_block_with_some_of_their_names(fleet):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        for name in SILENT:
            bus.publish(f"$KV.facts.{name}", pack({"id": name}))
        bus.flush()
    fleet.wait(lambda: len(fleet.zester_json("*", "test.ping", "--preview")) == len(SILENT) + 2, "all are known")
    told = fleet.zester("*", "test.ping", "--timeout", "2s", status=3)
    names = ", ".join(SILENT[:8])
    assert told.stdout.startswith(f"2 peels (db-01, web-01):\n    true\n10 peels ({names} and 2 more):\n    UNREACHABLE: ")
    assert "\n\n12 peels: 2 succeeded, 0 failed, 10 without answer; took 2" in told.stdout
    assert told.stderr.startswith("Targeting 12 peel(s): [db-01 ") and " and 2 more]" in told.stderr
    everyone = fleet.zester("*", "test.ping", "--timeout", "2s", "-v", status=3)
    assert f"({', '.join(SILENT)}):" in everyone.stdout and SILENT[9] in everyone.stderr
    assert len(json.loads(fleet.zester("*", "test.ping", "--timeout", "2s", "--format", "json", status=3).stdout)) == 12


# --- programs -----------------------------------------------------------------------------


@pytest.mark.parametrize("words, value, text", [
    (["test.ping"], True, "true"),
    (["cmd.run", "echo 3"], "3", None),
    (["grains.item", "id", "os"], {"id": "web-01", "os": "Debian"}, "id: web-01\nos: Debian"),
    (["settings.items"], {"port": 80, "names": ["a", "b"]}, None),
    (["grains.get", "no_such_fact"], "", ""),
    (["file.file_exists", "/no/such/file"], False, "false")])
@pytest.mark.parametrize("direct", [[], ["--direct"]])
def test_the_value_of_an_answer_has_its_types_and_its_details_are_texts(fleet, words, value, text, direct):
    result = fleet.zester_json("web-01", *words, *direct)[0]["results"][0]
    assert result["value"] == value and type(result["value"]) is type(value)
    assert all(isinstance(detail, str) for detail in result["details"].values())
    assert text is None or result["details"] == {"result": text}


def test_the_states_of_a_run_have_a_value_only_if_they_say_something(fleet):
    forget_files(fleet)
    results = {result["name"]: result for result in fleet.zester_json("web-01", "state.apply", "app")[0]["results"]}
    assert "value" not in results["file.managed:conf"] and results["cmd.run:check"]["value"] == ""


# --- jobs ---------------------------------------------------------------------------------


def send(fleet, *words, status=0):
    return fleet.zester(*words, "--async", status=status).stdout.strip()


def end_of(fleet, jid, status):
    fleet.zester("job", "watch", jid, status=status)
    return fleet.wait(lambda: [job for job in [fleet.zester_json("job", "show", jid)["job"]] if job["status"] not in ("claimed", "running")],
                      "the job has ended")[0]


def test_a_job_is_shown_to_people_with_local_times_and_the_error_of_each_peel(fleet):
    jid = send(fleet, "[wd]*", "state.apply", "app", "test=false")
    job = end_of(fleet, jid, 2)
    shown = fleet.zester("job", "show", jid, environment={"TZ": "UTC-3"}).stdout
    moment = datetime.datetime.fromisoformat(job["created"].split(".")[0]) + datetime.timedelta(hours=3)
    for line in (rf"Job +{jid}", r"Function +state\.apply", r"Arguments +.*test=false", r"Target +\[wd\]\*  \(2 peels\)",
                 r"Status +failed: 2 of 2 returned, 1 succeeded", rf"Started +{moment:%Y-%m-%d %H:%M:%S}", r"Took +[\d.]+ m?s", r"Timeout +5 m",
                 r"db-01 +failed +false +[\d.]+ [um]?s", r"web-01 +success +true +[\d.]+ [um]?s",
                 r"db-01: cmd\.run:check: command .*: exit status 1: no space left"):
        assert re.search(rf"^{line}$", shown, re.M), (line, shown)
    row = next(line for line in fleet.zester("job", "list", environment={"TZ": "UTC-3"}).stdout.splitlines() if line.startswith(jid))
    assert row.endswith(f"{moment:%Y-%m-%d %H:%M:%S}")


def test_the_beginning_of_an_id_is_enough_if_it_is_unique(fleet):
    jids = [send(fleet, "web-01", "cmd.run", "true") for _ in range(2)]
    for jid in jids:
        end_of(fleet, jid, 0)
    first, second = sorted(jids)
    short = first[:next(n for n in range(27) if first[n] != second[n]) + 4]
    assert fleet.zester_json("job", "show", short)["job"]["jid"] == first
    assert fleet.zester("job", "follow", short).stdout == "web-01:\n"
    assert first in fleet.zester("why", short).stdout
    assert f"job {first} has already ended: complete" in fleet.zester("job", "kill", short, status=1).stderr
    assert f"job {first} was not a dry run" in fleet.zester("apply", short, status=1).stderr
    assert f"job {first} succeeded everywhere" in fleet.zester("job", "retry", short).stderr
    unclear = fleet.zester("job", "show", first[:4], status=1).stderr
    assert re.search(rf"job id '{first[:4]}' is ambiguous; \d+ jobs have ids that begin so:\n", unclear), unclear
    assert re.search(r"\n  \w{27}  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \w+\.\w+\n", unclear), unclear
    assert "no such job: 'zzzz'" in fleet.zester("job", "show", "zzzz", status=1).stderr
    assert "no such job: '3'" in fleet.zester("job", "show", "3", status=1).stderr


def test_a_job_is_followed_until_its_end_with_its_exit_status(fleet):
    jid = send(fleet, "db-01", "cmd.run", "sleep 1; exit 3")
    followed = fleet.zester("job", "follow", jid, status=2)
    assert followed.stdout.startswith("db-01:\n") and followed.stderr == "1 peel(s) failed\n"


# --- events -------------------------------------------------------------------------------


def test_stored_events_are_listed_by_pattern_and_age(fleet):
    for number in range(3):
        fleet.zester("event", "send", f"listed/{number}", f"number={number}")
    told = fleet.zester("event", "list", "_admin/listed/*", environment={"TZ": "UTC"}).stdout.splitlines()
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y")
    assert [line.split()[2] for line in told] == [f"_admin/listed/{number}" for number in range(3)]
    assert all(re.match(rf"{day}-\d\d-\d\d \d\d:\d\d:\d\d  _admin/listed/\d {{30,}}{{\"number\":\"\d\"}}$", line) for line in told), told
    records = [json.loads(line) for line in fleet.zester("event", "list", "*/listed/1", "--format", "json").stdout.splitlines()]
    assert [record["data"] for record in records] == [{"number": "1"}] and records[0].keys() == {"ts", "key", "origin", "tag", "id", "data"}
    assert fleet.zester("event", "list", "*listed*", "--since", "2020-01-01").stdout.count("\n") == 3
    assert fleet.zester("event", "list", "*listed*", "--since", "1ms").stdout == ""
    assert "neither a duration" in fleet.zester("event", "list", "--since", "soon", status=1).stderr
