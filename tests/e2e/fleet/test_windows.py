"""Maintenance windows: when a machine may be changed, and what happens to jobs and schedules outside of them."""
import re
import time

import pytest

from fleet import SERVER, Fleet, read_marks
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
HOUR = 3600
CLOSED = "outside of the maintenance windows of this machine"


def window(begin, end):
    """Every day, so many hours from now, by a clock that no summer time moves."""
    times = (time.strftime("%H:%M", time.gmtime(time.time() + hours * HOUR)) for hours in (begin, end))
    return f"{'-'.join(times)} UTC"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("windows")) as fleet:
        fleet.start_server()
        fleet.settings, states = fleet.folder / "settings", fleet.folder / "states"
        for folder in (fleet.settings, states):
            folder.mkdir()
        fleet.marks = fleet.folder / "marks"
        (states / "mark.zy").write_text(f"mark:\n  cmd.run:\n    - name: echo state >> {fleet.marks}\n")
        (fleet.settings / "top.zy").write_text("base: {'*': [windows]}\n")
        (fleet.settings / "windows.zy").write_text("other: 1\n")
        fleet.master = fleet.start_ready_master(settings_dir=str(fleet.settings), states_dir=str(states))
        fleet.peel = start_peel(fleet, fleet.master, "web-01", maintenance_windows=[window(5, 6)], schedule={
            "change": {"module": "cmd.run", "args": {"command": f"echo schedule >> {fleet.marks}"}, "interval": "1s"},
            "look": {"module": "test.ping", "interval": "1s"}})
        yield fleet


def set_windows(fleet, text):
    """By settings, which go before the configuration; waits until the peel has them."""
    (fleet.settings / "windows.zy").write_text(f"other: {time.monotonic_ns()}\n{text}\n")
    fleet.zester("fileserver", "update")
    expected = (fleet.settings / "windows.zy").read_text().split()[1]
    fleet.wait(lambda: expected in fleet.zester("web-01", "settings.get", "other").stdout, "the peel has the settings")


def test_what_changes_the_machine_is_refused_outside_and_what_reads_is_not(fleet):
    refused = fleet.zester("web-01", "cmd.run", f"echo no >> {fleet.marks}", status=2)
    assert CLOSED in refused.stdout and "(--queue waits for it, --force-window runs it now)" in refused.stdout
    assert re.search(r"the next opens \w{3} \d{4}-\d\d-\d\d \d\d:\d\d", refused.stdout)
    for words in (["state.apply", "mark"], ["state.highstate"], ["cmd.run", "true", "--direct"]):
        assert CLOSED in fleet.zester("web-01", *words, status=2).stdout
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert "mark" in fleet.zester("web-01", "state.show_sls", "mark").stdout
    assert CLOSED not in fleet.zester("web-01", "event.send", "still/here").stdout
    assert CLOSED not in fleet.zester("web-01", "state.apply", "mark", "--test").stdout
    assert read_marks(fleet.marks) == []


def test_the_schedule_skips_what_would_change_the_machine(fleet):
    fleet.wait(lambda: fleet.peel.has_logged("schedule skipped: outside of the maintenance windows entry=change"), "it is skipped")
    fleet.wait(lambda: fleet.peel.has_logged("schedule ended entry=look"), "what reads runs")
    assert "schedule" not in read_marks(fleet.marks)


def test_a_forced_job_runs_and_is_in_the_audit(fleet):
    assert fleet.zester("web-01", "cmd.run", "echo forced", "--force-window").stdout == "web-01:\n    forced\n"
    assert fleet.zester("web-01", "cmd.run", "echo forced", "--direct", "--force-window").stdout == "web-01:\n    forced\n"
    audits = [line["msg"] for line in fleet.master.lines() if "audit action=job.dispatch" in line["msg"] and "overridden" in line["msg"]]
    assert len(audits) == 1 and 'reason="maintenance windows are overridden"' in audits[0]
    assert fleet.peel.has_logged("maintenance windows are overridden jid=")


def test_a_plan_and_the_steps_of_an_orchestration_can_be_forced_and_have_a_time_on_each_peel(fleet):
    dry = fleet.zester("web-01", "state.apply", "mark", "--test")
    plan = re.search(r"^Job (\w+) dispatched$", dry.stderr, re.M).group(1)
    assert CLOSED in fleet.zester("apply", plan, status=2).stdout
    applied = fleet.zester("apply", plan, "--force-window", "--node-timeout", "60s")
    jid = re.search(r"^Job (\w+) dispatched$", applied.stderr, re.M).group(1)
    limits = {"window": "force", "node_timeout": "60000ms"}
    metadata = fleet.zester_json("job", "show", jid)["job"]["metadata"]
    assert limits.items() <= metadata.items(), metadata
    assert read_marks(fleet.marks) == ["state"]
    assert "--node-timeout is longer" in fleet.zester("apply", plan, "--node-timeout", "2m", "--timeout", "1m", status=1).stderr
    (fleet.folder / "steps").mkdir()
    (fleet.folder / "steps/step.zy").write_text("step:\n  fleet.function: {name: cmd.run, tgt: web-01, arg: [true]}\n")
    words = ["orchestrate", "step", "--states-dir", fleet.folder / "steps", "--data-dir", fleet.folder / "runs"]
    assert CLOSED in fleet.zester(*words, status=2).stdout
    fleet.zester(*words, "--force-window", "--node-timeout", "60s")
    steps = [job for job in fleet.zester_json("job", "list") if job["function"] == "cmd.run"]
    metadata = fleet.zester_json("job", "show", steps[0]["jid"])["job"]["metadata"]
    assert limits.items() <= metadata.items(), metadata
    fleet.marks.unlink()


def test_a_queued_job_waits_for_the_window_or_is_told_that_it_opens_too_late(fleet):
    result = fleet.zester("web-01", "cmd.run", f"echo queued >> {fleet.marks}", "--queue", "20h", status=3)
    assert re.search(r"^    queued until \S+Z: its maintenance window opens then$", result.stdout, re.M)
    assert result.stderr.endswith("1 peel(s) queued\n")
    jid = re.search(r"^Job (\w+) dispatched$", result.stderr, re.M).group(1)
    assert [entry["status"] for entry in fleet.zester_json("job", "show", jid)["returns"]] == ["queued"]
    fleet.zester("job", "kill", jid)
    late = fleet.zester("web-01", "cmd.run", "true", "--queue", "1h", status=3).stdout
    assert "not sent: its window opens" in late and "after the time for which the job is queued" in late
    assert "queued" not in read_marks(fleet.marks)


def test_settings_go_before_the_configuration_and_an_open_window_lets_jobs_and_schedules_run(fleet):
    set_windows(fleet, f"maintenance_windows: ['{window(-1, 2)}', '{window(7, 8)}']")
    assert fleet.zester("web-01", "cmd.run", "echo open").stdout == "web-01:\n    open\n"
    set_windows(fleet, f"maintenance_windows: '{window(7, 8)}'")
    assert CLOSED in fleet.zester("web-01", "cmd.run", "true", status=2).stdout
    set_windows(fleet, "maintenance_windows: []")
    assert fleet.zester("web-01", "state.apply", "mark").returncode == 0
    assert "state" in read_marks(fleet.marks)


def test_windows_that_cannot_be_read_forbid_every_change_and_say_why(fleet):
    set_windows(fleet, "maintenance_windows: ['Someday 01:00-02:00']")
    refused = fleet.zester("web-01", "cmd.run", "true", status=2).stdout
    assert "'maintenance_windows' of this machine: 'Someday 01:00-02:00': 'Someday' is not a day" in refused
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    bad = fleet.folder / "bad.yaml"
    bad.write_text("maintenance_windows: ['1-2']\n")
    assert "expected HH:MM-HH:MM" in fleet.run("zester-peel", "--config", bad, status=1).stderr
