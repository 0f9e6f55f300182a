"""Beacons of a real agent: what changes on its machine becomes an event, and a reaction brings it back."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from fleet import SERVER, Fleet
from kepler_home import Home
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

SERVICES = """
kepler:
  autostart: false
services:
  web:
    command: ["sh", "-c", "echo $$ > DIR/web.pid; exec sleep 600"]
    restart: "no"
"""
PROBE = "beacon-probe"
RULES = {
    "top.zy": "reactor:\n  - '*/beacon/*/service': [reactor.restart]\n  - '*/beacon/*/*': [reactor.note]\n",
    "note.zy": "a: { log: {{ ('heard ' ~ tag ~ ' depth ' ~ event.depth ~ ' ' ~ (data | tojson)) | tojson }} }\n",
    "restart.zy": "{% if not data.running %}\na: { local.service.start: { tgt: '{{ event.peel }}', arg: {{ data.service | tojson }} } }\n{% endif %}\n",
}


@pytest.fixture(scope="module")
def home():
    made = Home()
    made.env["ASAN_OPTIONS"] = "quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", "")
    made.start_daemon()
    yield made
    made.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, home):
    with Fleet(tmp_path_factory.mktemp("beacons")) as fleet:
        fleet.home = home
        fleet.config = home.write(SERVICES.replace("DIR", home.folder), "kepler.yaml")
        home.run("start", "-d", file=fleet.config)
        fleet.watched = fleet.folder / "watched"
        fleet.watched.mkdir()
        (fleet.folder / "app.log").write_text("")
        for name, text in RULES.items():
            (fleet.folder / "rules").mkdir(exist_ok=True)
            (fleet.folder / "rules" / name).write_text(text)
        (fleet.folder / "settings").mkdir()
        (fleet.folder / "settings/top.zy").write_text("base:\n  '*': [common]\n")
        write_settings(fleet, {"service": {"services": {"web": {}}, "interval": "200ms"}, "nosuch": {}})
        (fleet.folder / "states").mkdir()
        (fleet.folder / "states/asked.zy").write_text(f"asked: {{kepler.running: [{{name: {home.path('asked.yaml')}}}]}}\n")
        fleet.start_server()
        fleet.master = fleet.start_ready_master(states_dir=str(fleet.folder / "states"), reactor={"dir": str(fleet.folder / "rules"), "source_rate_limit": 0, "storm_rate": 0},
                                                settings_dir=str(fleet.folder / "settings"),
                                                files_republish_interval="1s")
        fleet.wait(lambda: fleet.master.metric("zester_reactor_rules_loaded") == 2, "the rules are loaded")
        fleet.peel = start_peel(fleet, fleet.master, "web-01", environment=home.environment(), beacons={
            "file": {"files": [str(fleet.watched)], "interval": "1h", "own_changes": "ignore"},
            "log": {"files": {str(fleet.folder / "app.log"): "ERROR"}, "interval": "1h"},
            "kepler": {"interval": "1h"},
            "process": {"processes": ["no-such-program", PROBE], "interval": "1h", "onchangeonly": False}})
        for kind in ("service", "file", "log", "kepler", "process"):
            fleet.wait(lambda kind=kind: fleet.peel.has_logged(f"beacon has its baseline beacon={kind}"), f"the beacon {kind} has looked")
        yield fleet


def write_settings(fleet, beacons):
    (fleet.folder / "settings/common.zy").write_text(json.dumps({"beacons": beacons}))


def heard(fleet, beacon):
    """Depth and data of each event of this beacon that reached the reactor."""
    mark = f"heard beacon/web-01/{beacon} depth "
    texts = [line["msg"].split(mark)[1] for line in fleet.master.lines() if mark in line["msg"]]
    return [(int(text.split()[0]), json.JSONDecoder().raw_decode(text[text.index("{"):])[0]) for text in texts]


def wait_for(fleet, beacon, condition, what):
    return fleet.wait(lambda: next((one for one in heard(fleet, beacon) if condition(one[1])), None), what)


def test_a_service_that_is_killed_is_reported_and_a_rule_brings_it_back(fleet):
    pid = int(open(f"{fleet.home.folder}/web.pid").read())
    os.kill(pid, signal.SIGKILL)
    depth, data = wait_for(fleet, "service", lambda data: not data["running"], "the beacon's event")
    assert depth == 0 and data == {"service": "web", "running": False, "previous": True}
    # what the reaction did is recognised: marked with its job, and one deeper
    depth, data = wait_for(fleet, "service", lambda data: data["running"], "the service runs again")
    assert depth == 1 and data.pop("job").startswith("rxn-") and data.pop("function") == "service.start"
    assert data == {"service": "web", "running": True, "previous": False}
    assert fleet.home.status("web") == "running"
    assert int(open(f"{fleet.home.folder}/web.pid").read()) != pid


def why(fleet, *thing):
    """The chain of a thing, or None: the reactor records what became of an event when it is through with it."""
    result = fleet.zester("why", *thing, "--format", "json", status=None)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout) if result.returncode == 0 else None


def test_why_leads_from_an_event_over_job_and_reaction_to_what_was_seen(fleet):
    def find_line():
        return next((line["msg"] for line in fleet.peel.lines()
                     if line["msg"].startswith("beacon event beacon=service") and " job=rxn-" in line["msg"]), None)
    line = fleet.wait(find_line, "the event of what the reaction did")
    event, job = (line.split(f" {word}=")[1].split()[0] for word in ("id", "job"))
    found = fleet.wait(lambda: why(fleet, event), "the event is recorded")
    assert [link["kind"] for link in found["chain"]] == ["event", "job", "reaction", "event"], found
    assert [link["id"] for link in found["chain"]][:3] == [event, job, "reactor.restart"]
    assert found["chain"][1]["what"].startswith("service.start on web-01, complete, 1 of 1 succeeded")
    assert '"running":false' in found["chain"][3]["what"] and found["first_cause"] == "seen by a beacon of web-01"
    assert why(fleet, job)["chain"] == found["chain"][1:]
    text = fleet.zester("why", job).stdout.splitlines()
    assert text[0].startswith(f"job {job}: service.start on web-01, complete") and text[1].startswith("  <- reaction reactor.restart: fired for beacon/web-01/service")
    assert text[2].startswith("  <- event ") and text[3] == "  first cause: seen by a beacon of web-01", text


def test_why_of_a_job_of_a_person_names_the_person(fleet):
    jid = fleet.zester("web-01", "test.ping", "--async").stdout.strip()
    found = fleet.wait(lambda: why(fleet, jid), "the job is stored")
    assert [link["kind"] for link in found["chain"]] == ["job"] and found["first_cause"].startswith("requested by "), found
    assert "nothing is known about" in fleet.zester("why", "rxn-" + "0" * 32, status=1).stderr


def test_why_leads_from_a_service_of_a_machine_to_the_job_that_asked_for_it(fleet):
    config = fleet.home.write('services: {asked: {command: ["sleep", "600"], restart: "no"}}', "asked.yaml")
    service = f"{config}:asked"
    fleet.wait((fleet.peel.folder / "states/asked.zy").exists, "the peel has the tree")
    fleet.zester("web-01", "state.apply", "asked")
    found = why(fleet, "web-01", service)
    assert [link["kind"] for link in found["chain"]] == ["service", "run", "job"], found
    assert found["chain"][0]["what"] == f"of {config} on web-01" and found["chain"][2]["what"].startswith("state.apply on web-01, complete")
    assert found["first_cause"].startswith("requested by ") and found["details"]["status"] == "running"
    text = fleet.zester("why", "web-01", service).stdout.splitlines()
    assert text[:2] == [f"service asked: of {config} on web-01", "asked: running"] and text[-3].startswith("  <- run "), text

    os.kill(fleet.home.services("asked.yaml")["asked"]["pid"], signal.SIGKILL)
    fleet.wait(lambda: why(fleet, "web-01", service)["details"]["status"] == "killed", "it was killed")
    found = why(fleet, "web-01", service)
    assert len(found["chain"]) == 1 and found["first_cause"] == "process ended: killed by SIGKILL", found
    fleet.home.run("start", "-d", file="asked.yaml")
    found = why(fleet, "web-01", service)
    assert len(found["chain"]) == 1 and found["first_cause"].startswith("start requested by "), found
    fleet.home.run("stop", "--clean", file="asked.yaml")
    shown = fleet.zester("why", "web-01", service, status=1).stderr
    assert f"no state '{service}' in the last job of web-01\n" in shown and f"\n  service: kepler has no service '{service}'" in shown


def test_states_of_the_orchestrator_are_reported_in_its_words(fleet):
    fleet.home.run("stop", "web", file=fleet.config)
    _, data = wait_for(fleet, "kepler", lambda data: data["state"] == "stopped", "the stop")
    assert data["service"] == "web" and data["config"] == fleet.config

    def is_back():
        states = [data["state"] for _, data in heard(fleet, "kepler")]
        return "running" in states[states.index("stopped"):]
    fleet.wait(is_back, "the reaction started it again")


CHECKED = """
services:
  checked:
    command: ["sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.05; done"]
    restart: on-failure
    healthcheck: {test: ["test", "-e", "DIR/well"], interval: 50ms, timeout: 30s, retries: 1}
  broken:
    command: ["/no/such/program"]
    restart: "no"
"""


def test_every_change_of_the_orchestrator_is_reported_in_order_without_polling(fleet):
    """The interval of the beacon is an hour."""
    home = fleet.home
    config = home.write(CHECKED.replace("DIR", home.folder), "checked.yaml")
    home.write("", "well")

    def changes(service):
        return [(data["previous"], data["state"]) for _, data in heard(fleet, "kepler") if (data["config"], data["service"]) == (config, service)]

    home.start(file="checked.yaml")
    begin = [("stopped", "waiting"), ("waiting", "starting"), ("starting", "running"), ("running", "healthy")]
    fleet.wait(lambda: changes("checked") == begin, "it came up")
    fleet.wait(lambda: changes("broken") == [("stopped", "waiting"), ("waiting", "starting"), ("starting", "failed")], "the other could not start")
    _, data = next((depth, data) for depth, data in heard(fleet, "kepler") if data["state"] == "failed")
    assert "/no/such/program" in data["cause"], data
    os.unlink(home.path("well"))
    fleet.wait(lambda: changes("checked") == [*begin, ("healthy", "unhealthy")], "its check fails")
    home.write("", "well")
    fleet.wait(lambda: changes("checked")[-1] == ("unhealthy", "healthy"), "it is well again")
    before = len(changes("checked"))
    os.kill(home.services("checked.yaml")["checked"]["pid"], signal.SIGTERM)
    fleet.wait(lambda: changes("checked")[before:][-1:] == [("running", "healthy")], "it was restarted")
    assert changes("checked")[before:] == [("healthy", "starting"), ("starting", "running"), ("running", "healthy")], changes("checked")
    home.run("stop", file="checked.yaml")
    fleet.wait(lambda: changes("checked")[-2:] == [("healthy", "stopping"), ("stopping", "stopped")], "the stop")
    home.run("stop", "--clean", file="checked.yaml")
    fleet.wait(lambda: changes("checked")[-1] == ("stopped", "unknown"), "it is forgotten")


def test_files_are_reported_at_once_and_those_of_our_own_jobs_are_ignored_where_asked(fleet):
    ours, theirs = fleet.watched / "ours", fleet.watched / "theirs"
    fleet.zester("web-01", "cmd.run", f"touch {ours}")
    fleet.wait(lambda: fleet.peel.has_logged(f"change of our own ignored beacon=file key={ours}"), "our own change is recognised")
    theirs.write_text("")
    wait_for(fleet, "file", lambda data: data == {"path": str(theirs), "change": "created"}, "a file that somebody made")
    theirs.unlink()
    wait_for(fleet, "file", lambda data: data == {"path": str(theirs), "change": "deleted"}, "a file that somebody removed")
    assert not any(data["path"] == str(ours) for _, data in heard(fleet, "file"))


def test_what_changed_before_a_job_is_not_marked_as_its_work(fleet):
    probe = shutil.copy("/bin/sleep", fleet.folder / PROBE)

    def is_found():  # by the look before the job: the beacon has an interval of an hour. A look that takes long is not waited for
        with subprocess.Popen([probe, "1000"]) as process:
            fleet.zester("web-01", "cmd.run", "true")
            process.kill()
        fleet.zester("web-01", "cmd.run", "true")
        return any(data["process"] == PROBE and data["running"] and "job" not in data for _, data in heard(fleet, "process"))

    fleet.wait(is_found, "a program that somebody started")


def test_a_line_of_a_log_is_reported(fleet):
    with open(fleet.folder / "app.log", "a") as log:
        log.write("fine\nERROR no space\n")
    wait_for(fleet, "log", lambda data: data == {"path": str(fleet.folder / "app.log"), "line": "ERROR no space"}, "the line")


def test_every_look_is_reported_without_onchangeonly(fleet):
    wait_for(fleet, "process", lambda data: data == {"process": "no-such-program", "running": False, "previous": None, "count": 0},
             "the first look")


def test_an_unknown_beacon_is_a_warning_and_a_bad_section_keeps_the_one_before(fleet):
    assert fleet.peel.has_logged("unknown beacon ignored beacon=nosuch")
    write_settings(fleet, {"service": {"services": {"web": {}}, "intervall": 1}})
    fleet.wait(lambda: fleet.peel.has_logged("beacon refused, its section has errors beacon=service"), "the mistake is reported")
    count = len(heard(fleet, "service"))
    os.kill(int(open(f"{fleet.home.folder}/web.pid").read()), signal.SIGKILL)
    fleet.wait(lambda: len(heard(fleet, "service")) >= count + 2, "it is still watched, and brought back")


SYSTEMCTL = """#!/bin/sh
case $1 in
is-active) cat DIR/$2 || exit 3 ;;
start) echo active > DIR/$2 ;;
*) exit 1 ;;
esac
"""


@pytest.mark.skipif(os.path.exists("/run/systemd/system"), reason="systemd itself is asked for services here")
def test_a_machine_without_systemd_can_bring_its_own_systemctl(fleet):
    folder = fleet.folder / "own"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL.replace("DIR", str(folder)))
    (folder / "systemctl").chmod(0o755)
    published = fleet.master.log().count("published settings:")
    write_settings(fleet, {})  # its section would win
    fleet.wait(lambda: fleet.master.log().count("published settings:") > published, "the section is gone")
    peel = start_peel(fleet, fleet.master, "web-02", beacons={"service": {"services": {"own": {}}, "interval": "100ms"}},
                      environment={"PATH": f"{folder}:{os.environ['PATH']}", "KEPLER_DAEMON_PATH": str(folder)})
    fleet.wait(lambda: peel.has_logged("beacon has its baseline beacon=service"), "the beacon has looked")
    (folder / "own").write_text("active\n")

    def events():
        return [data for line in fleet.master.lines() if "heard beacon/web-02/service depth 0 " in line["msg"]
                for data in [json.JSONDecoder().raw_decode(line["msg"][line["msg"].index("{"):])[0]]]
    fleet.wait(lambda: events() == [{"service": "own", "running": True, "previous": False}], "it is up")
    (folder / "own").unlink()
    fleet.wait(lambda: {"service": "own", "running": False, "previous": True} in events(), "it is down")
    fleet.wait((folder / "own").exists, "the reaction has started it with this systemctl")


def test_events_of_an_agent_that_is_cut_off_leave_in_order_later(fleet):
    fleet.server.kill()
    fleet.wait(lambda: fleet.peel.checks().get("nats") == "down", "the peel is cut off")
    names = [f"cut-{number}" for number in range(4)]
    for name in names:
        (fleet.watched / name).write_text("")
        fleet.wait(lambda name=name: fleet.peel.has_logged(f"key={fleet.watched}/{name} "), "it was seen")
    fleet.wait(lambda: fleet.peel.metric("zester_peel_beacon_waiting") >= 4, "all of them wait")
    fleet.server = fleet.start_server()
    fleet.wait(lambda: fleet.peel.metric("zester_peel_beacon_waiting") == 0, "they have left")
    fleet.wait(lambda: fleet.peel.metric('zester_peel_beacon_events_total{beacon="file"}') >= 4, "they are stored")

    def ids(begin):
        return [line["msg"].split(" id=")[1].split()[0] for line in fleet.peel.lines() if line["msg"].startswith(begin)]

    def stored():
        made = ids("beacon event beacon=file")[-4:]
        done = [one for one in ids("beacon event stored beacon=file") if one in made]
        return done == made
    fleet.wait(stored, "they are stored in their order")
    for name in names:
        wait_for(fleet, "file", lambda data, name=name: data["path"].endswith(name), "the reactor has it")


def test_events_beyond_256_that_wait_for_a_bus_are_counted_as_lost(fleet):
    """The last test here: what waited leaves as a burst."""
    fleet.server.kill()
    fleet.wait(lambda: fleet.peel.checks().get("nats") == "down", "the peel is cut off")
    for number in range(300):
        (fleet.watched / f"many-{number}").write_text("")
    fleet.wait(lambda: (fleet.peel.metric('zester_peel_beacon_events_lost_total{beacon="file"}') or 0) >= 44, "the oldest ones are gone")
    assert fleet.peel.metric("zester_peel_beacon_waiting") == 256
    fleet.server = fleet.start_server()
    fleet.wait(lambda: fleet.peel.metric("zester_peel_beacon_waiting") == 0, "the others have left")
