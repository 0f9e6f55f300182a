"""schedule.* and beacons.*: what a peel does by itself is shown and changed by jobs, and the changes last."""
import signal

import pytest
import yaml

from fleet import SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("duties")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master()
        fleet.peel = start_peel(fleet, fleet.master, "web-01", schedule={"look": {"module": "test.ping", "interval": "1h"}},
                                beacons={"load": [{"fifteen": 1000}, {"interval": "1h"}]})
        yield fleet


def call(fleet, function, *words, status=0):
    """The result of a function on the peel; its error when it fails."""
    answer, = fleet.zester_json("web-01", function, *words, status=status)
    if status:
        return answer["error"]
    result = answer["results"][0]["details"]["result"]
    return yaml.safe_load(result) if result.startswith("enabled: ") or result in ("true", "false") else result


def entries(fleet, kind="schedule"):
    return call(fleet, f"{kind}.list")["entries"]


def restart(fleet):
    fleet.peel.kill()
    fleet.peel.start()
    fleet.wait_ready(fleet.peel)


def reload(fleet):
    before = fleet.peel.log().count("configuration read again")
    fleet.peel.send(signal.SIGHUP)
    fleet.wait(lambda: fleet.peel.log().count("configuration read again") > before, "the configuration was read again")


def test_an_entry_that_was_added_runs_and_lasts_through_reloads_and_restarts(fleet):
    ticks = fleet.folder / "ticks"
    words = ["tick", "function=cmd.run", f"args={{command: echo x >> {ticks}}}", "interval=100ms"]
    assert call(fleet, "schedule.add", *words, "--test").startswith("would add 'tick': {")
    assert "tick" not in entries(fleet)
    assert call(fleet, "schedule.add", *words).startswith("added 'tick': {")
    fleet.wait(lambda: ticks.exists() and ticks.read_text().count("x") >= 2, "it runs")
    assert entries(fleet)["tick"]["source"] == "added on the peel"
    assert call(fleet, "schedule.add", *words, status=2) == "there is an entry 'tick' already; schedule.modify changes it"
    for again in (reload, restart):
        again(fleet)
        ticks.unlink()
        fleet.wait(ticks.exists, f"it runs after a {again.__name__}")
    assert call(fleet, "schedule.delete", "tick").startswith("deleted 'tick': {")
    assert list(entries(fleet)) == ["look"]
    restart(fleet)
    assert list(entries(fleet)) == ["look"]


def test_every_mistake_of_an_entry_is_reported_at_once(fleet):
    error = call(fleet, "schedule.add", "bad", "function=test.pnig", "interval=soon", "cron=61 * * * *", "color=red", status=2)
    for part in ("'bad' is not valid", "'interval'", "'61' is not a valid minute", "unknown function 'test.pnig' (did you mean 'test.ping'?)", "'color'"):
        assert part in error
    assert "either 'interval' or 'cron' is needed" in error
    assert "write interval: 30s" in call(fleet, "schedule.add", "bad", "function=test.ping", "seconds=30", status=2)
    assert "did you mean 'service'?" in call(fleet, "beacons.add", "servce", "services=[nginx]", status=2)
    assert "schedule.add requires the name of a schedule entry" == call(fleet, "schedule.add", "function=test.ping", status=2)
    assert "did you mean 'schedule.list'?" in call(fleet, "schedule.lst", status=2)
    assert list(entries(fleet)) == ["look"]


def test_an_entry_of_the_configuration_is_changed_on_the_peel_and_goes_back(fleet):
    assert entries(fleet)["look"]["source"] == "configuration" and entries(fleet)["look"]["next"].endswith("Z")
    assert "'look' is from the configuration" in call(fleet, "schedule.delete", "look", status=2)
    assert call(fleet, "schedule.modify", "look", "cron=0 4 * * *").startswith("changed 'look': {")
    assert entries(fleet)["look"]["entry"] == {"module": "test.ping", "cron": "0 4 * * *"}
    assert call(fleet, "schedule.disable_job", "look").startswith("disabled 'look'")
    assert call(fleet, "schedule.show_next_fire_time", "look") == "never: the entry is disabled"
    assert call(fleet, "schedule.is_enabled", "look") is False and call(fleet, "schedule.is_enabled") is True
    assert call(fleet, "schedule.run_job", "look", status=2) == "'look' is disabled; force=true runs it all the same"
    restart(fleet)
    look = entries(fleet)["look"]
    assert (look["source"], look["enabled"], "next" in look) == ("configuration, changed on the peel", False, False)
    assert call(fleet, "schedule.enable_job", "look").startswith("enabled 'look'")
    assert call(fleet, "schedule.enable_job", "look") == "'look' is enabled already"
    assert "T04:00:00Z" in call(fleet, "schedule.show_next_fire_time", "look") or entries(fleet)["look"]["next"]
    assert call(fleet, "schedule.delete", "look").startswith("undid the changes of 'look'")
    assert entries(fleet)["look"]["source"] == "configuration"


def test_an_entry_is_run_by_hand_and_the_schedule_is_switched_off_and_on(fleet):
    assert call(fleet, "schedule.run_job", "look", "--test").startswith("would run 'look'")
    jid = call(fleet, "schedule.run_job", "look").rsplit(" ", 1)[1]
    fleet.wait(lambda: fleet.peel.has_logged(f"schedule ended entry=look jid={jid} success=true"), "it has run")
    assert call(fleet, "schedule.disable", "--test") == "the schedule: would be disabled"
    assert call(fleet, "schedule.disable") == "the schedule: disabled"
    restart(fleet)
    assert call(fleet, "schedule.list")["enabled"] is False and "next" not in entries(fleet)["look"]
    assert call(fleet, "schedule.is_enabled", "look") is False
    assert call(fleet, "schedule.enable") == "the schedule: enabled"
    assert "next" in entries(fleet)["look"]


def test_beacons_are_added_changed_and_switched_off(fleet):
    watched = fleet.folder / "watched"
    begun = fleet.peel.log().count("beacon has its baseline beacon=file")
    assert call(fleet, "beacons.add", "file", f"files=[{watched}]", "own_changes=ignore").startswith("added 'file'")
    fleet.wait(lambda: fleet.peel.log().count("beacon has its baseline beacon=file") > begun, "it watches")
    watched.touch()
    fleet.wait(lambda: fleet.peel.has_logged("beacon event stored beacon=file"), "it has reported the file")
    assert call(fleet, "beacons.modify", "load", "interval=2h").startswith("changed 'load'")
    assert entries(fleet, "beacons")["load"]["entry"] == {"fifteen": 1000, "interval": "2h"}
    assert call(fleet, "beacons.disable_beacon", "load").startswith("disabled 'load'")
    restart(fleet)
    listed = entries(fleet, "beacons")
    assert {name: (one["source"], one["enabled"]) for name, one in listed.items()} == {
        "load": ("configuration, changed on the peel", False), "file": ("added on the peel", True)}
    assert call(fleet, "beacons.disable") == "beacons: disabled" and call(fleet, "beacons.list")["enabled"] is False
    assert call(fleet, "beacons.enable") == "beacons: enabled"
    assert call(fleet, "beacons.enable_beacon", "load").startswith("enabled 'load'")
    assert call(fleet, "beacons.delete", "file").startswith("deleted 'file'")
    assert call(fleet, "beacons.delete", "load").startswith("undid the changes of 'load'")
    assert {name: one["source"] for name, one in entries(fleet, "beacons").items()} == {"load": "configuration"}


def test_changes_that_are_damaged_are_reported_and_the_configuration_counts(fleet):
    call(fleet, "schedule.add", "more", "function=test.ping", "interval=1h")
    path = fleet.peel.folder / "data/duties"
    assert path.stat().st_mode & 0o777 == 0o600
    fleet.peel.kill()
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    fleet.peel.start()
    fleet.wait_ready(fleet.peel)
    assert fleet.peel.has_logged("changes of schedule and beacons cannot be read and are ignored")
    assert list(entries(fleet)) == ["look"]
    call(fleet, "schedule.add", "more", "function=test.ping", "interval=1h")
    restart(fleet)
    assert list(entries(fleet)) == ["look", "more"]


def test_without_an_agent_the_functions_are_named_as_its_own(fleet):
    result = fleet.run("zester", "--local", "schedule.list", status=1)
    assert "'schedule.list' is a function of the agent" in result.stderr and "zester PEEL schedule.list" in result.stderr
