"""Promises of tests/promises/fleet.txt that no other file shows: statuses, listings, facts that do not change, schedules, metrics."""
import getpass
import json
import re
import signal
from pathlib import Path

import pytest

from fleet import SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
FINAL = {"complete", "failed", "partial", "timeout", "canceled"}
# Long enough for a busy machine to answer in.
DEADLINE = "15s"
GROUPS = {"front": "web* or app*", "back": ["db*", "and", "not", "N@front"], "all": "N@front or N@back"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, nodegroups=GROUPS)
        fleet.peels = {name: start_peel(fleet, fleet.master, name, environment={"PEEL": name}) for name in ("web-01", "db-01")}
        yield fleet


def end_of(fleet, jid):
    """Status, returns and successes of a job that has ended."""
    def ended():
        job = fleet.zester_json("job", "show", jid)["job"]
        return (job["status"], job.get("return_count", 0), job.get("success_count", 0)) if job["status"] in FINAL else None
    return fleet.wait(ended, f"job {jid} has ended")


def answers_of(fleet, jid):
    """The stored answer of each target: its status and its error."""
    return {answer["peel_id"]: (answer["status"], answer.get("error")) for answer in fleet.zester_json("job", "show", jid)["returns"]}


def send(fleet, target, command, *words):
    return fleet.zester_json(target, "cmd.run", command, "--async", *words)["jid"]


def test_every_final_status_is_reached_with_its_counts(fleet, tmp_path):
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    hold.touch()
    wait = f"while [ -e {hold} ]; do sleep 0.1; done"
    late = send(fleet, "db-01", f"touch {begun}; {wait}", "--timeout", DEADLINE)
    some = send(fleet, "*", f'[ "$PEEL" = web-01 ] || {wait}', "--timeout", DEADLINE)
    fleet.wait(begun.exists, "the first one runs")
    stopped = send(fleet, "db-01", "true")
    fleet.zester("job", "kill", stopped)
    assert end_of(fleet, stopped)[0] in ("canceled", "failed")  # failed: its return was faster than the end
    assert end_of(fleet, send(fleet, "web-01", "true")) == ("complete", 1, 1)
    assert end_of(fleet, send(fleet, "web-01", "exit 1")) == ("failed", 1, 0)
    assert end_of(fleet, late) == ("timeout", 0, 0)
    assert end_of(fleet, some) == ("partial", 1, 1)
    assert answers_of(fleet, late) == {"db-01": ("unreachable", "UNREACHABLE: no answer before the timeout")}
    assert answers_of(fleet, some) == {"db-01": ("unreachable", "UNREACHABLE: no answer before the timeout"), "web-01": ("success", None)}
    hold.unlink()
    for jid, counts in ((late, 1), (some, 2)):
        fleet.wait(lambda jid=jid, counts=counts: end_of(fleet, jid) == ("complete", counts, counts), "the real return corrects the record")
    assert answers_of(fleet, some) == {"db-01": ("success", None), "web-01": ("success", None)}


def test_jobs_are_listed_newest_first_by_pages_and_by_what_they_are(fleet):
    jids = [send(fleet, "web-01", f"echo {number}") for number in range(3)]
    failed = send(fleet, "web-01", "exit 4")
    for jid in [*jids, failed]:
        end_of(fleet, jid)
    listed = [job["jid"] for job in fleet.zester_json("job", "list", "--function", "cmd.run")]
    assert set([*jids, failed]) <= set(listed)
    pages = [fleet.zester_json("job", "list", "--function", "cmd.run", "--limit", "2", "--offset", str(offset)) for offset in (0, 2)]
    assert [job["jid"] for page in pages for job in page] == listed[:4]
    assert failed in [job["jid"] for job in fleet.zester_json("job", "list", "--status", "failed")]
    assert not set(jids) & {job["jid"] for job in fleet.zester_json("job", "list", "--status", "failed")}
    assert fleet.zester_json("job", "list", "--user", "nobody-of-that-name") == []
    assert set([*jids, failed]) <= {job["jid"] for job in fleet.zester_json("job", "list", "--peel", "web-01", "--limit", "1000")}
    assert not set([*jids, failed]) & {job["jid"] for job in fleet.zester_json("job", "list", "--peel", "db-01", "--limit", "1000")}
    assert fleet.zester("job", "list", "--offset", "10000").stdout == "No jobs found.\n"
    assert "invalid job status" in fleet.zester("job", "list", "--status", "done", status=1).stderr


def test_text_for_people_has_a_fixed_order_and_readable_durations(fleet):
    first, second = (fleet.zester("web-01", "facts.get", "os").stdout for _ in range(2))
    assert re.sub(r"(?m)^.*uptime.*\n", "", first) == re.sub(r"(?m)^.*uptime.*\n", "", second)
    jid = send(fleet, "web-01", "true")
    end_of(fleet, jid)
    shown = fleet.zester("job", "show", jid).stdout
    assert re.search(r"^web-01\s+success\s+true\s+[\d.]+ ?(µs|us|ms|s)\s*$", shown, re.M), shown


def test_words_that_mean_nothing_are_refused(fleet):
    result = fleet.zester("web-01", "test.ping", "surplus", status=None)
    assert result.returncode == 1 and "surplus" in result.stderr


def test_facts_that_did_not_change_are_not_written(fleet):
    peel = fleet.peels["web-01"]
    fleet.zester("web-01", "facts.set", "role", "first")
    fleet.wait(lambda: fleet.zester("G@role:first", "test.ping", "--preview", status=None).returncode == 0, "the fact is published")
    before = peel.metric("zester_facts_sync_total")
    fleet.zester("web-01", "facts.set", "role", "first")
    fleet.zester("web-01", "facts.set", "role", "second")
    fleet.wait(lambda: fleet.zester("G@role:second", "test.ping", "--preview", status=None).returncode == 0, "the other one is published")
    assert peel.metric("zester_facts_sync_total") == before + 1


def test_a_fact_that_is_a_map_or_a_list_is_matched_by_what_is_in_it(fleet):
    facts = json.loads(fleet.zester("kv", "fact", "get", "web-01").stdout)
    assert isinstance(facts["os"], dict)
    for target in (f"G@os.family:{facts['os']['family']}", f"G@network.ipv4:{facts['network']['ipv4'][0]}"):
        assert "web-01" in fleet.zester(target, "test.ping", "--preview").stdout


@pytest.mark.parametrize("target, peels", [("N@front", "web-01\n"), ("N@back", "db-01\n"), ("N@all and not web-01", "db-01\n")])
def test_groups_of_the_configuration_are_targets(fleet, target, peels):
    assert fleet.zester(target, "test.ping", "--preview").stdout == peels


def test_a_group_that_does_not_exist_is_named_and_close_ones_are_suggested(fleet):
    result = fleet.zester("web* or N@frnt", "test.ping", status=1)
    assert "no group 'frnt'" in result.stderr and "front" in result.stderr and result.stdout == ""


def test_metrics_of_a_master_move(fleet):
    fleet.zester("event", "send", "some/thing")
    fleet.zester("*", "test.ping")
    moving = ("zester_nats_connected", "zester_connected_peels", "zester_facts_sync_total", 'zester_jobs_total{status="complete"}',
              'zester_job_duration_seconds_count{function="test.ping"}', 'zester_http_requests_total{status="201"}',
              'zester_enrollments_total{state="pending"}', 'zester_enrollments_total{state="issued"}',
              'zester_reactor_events_total{origin_type="admin"}', "zester_reactor_events_unmatched_total", "zester_master_publisher_leader")
    for name in moving:
        fleet.wait(lambda name=name: (fleet.master.metric(name) or 0) > 0, f"{name} moves")
    peel = fleet.peels["web-01"]
    for name in ("zester_peel_connected", "zester_peel_uptime_seconds", 'zester_peel_requests_total{function="test.ping",result="success"}',
                 "zester_facts_sync_total"):
        fleet.wait(lambda name=name: (peel.metric(name) or 0) > 0, f"{name} of the peel moves")
    written = "".join(path.read_text() for path in Path(__file__).parents[1].glob("*/test_*.py"))
    for daemon in (fleet.master, peel):  # here, or where it is known what makes them move
        for name in re.findall(r"^# TYPE (\S+)", daemon.get("/metrics")[1], re.M):
            assert name in written, f"no test says that {name} moves"


def test_every_act_of_an_operator_is_audited_with_who_what_on_whom_and_its_result(fleet):
    jid = send(fleet, "web-01", "sleep 600")
    fleet.zester("job", "kill", jid)
    fleet.zester("fileserver", "update", status=None)
    fleet.zester("settings", "show", "nobody", status=1)
    by = re.escape(json.dumps(getpass.getuser()))
    for pattern in (rf'audit action=enroll\.approve result=ok by={by} id="enr-\w+" peel="web-01"',
                    rf'audit action=job\.dispatch result=ok by={by} id="{jid}" function="cmd\.run" target="web-01"',
                    rf'audit action=job\.kill result=ok by={by} id="{jid}"',
                    rf"audit action=fileserver\.update result=\w+ by={by}",
                    rf'audit action=settings\.show result=refused by={by} peel="nobody" error="no facts known for this peel"'):
        fleet.wait(lambda pattern=pattern: any(re.match(pattern, line["msg"]) for line in fleet.master.lines()), pattern)


def test_a_direct_call_leaves_a_line_in_the_audit_of_a_master_and_of_the_peel(fleet):
    by = re.escape(json.dumps(getpass.getuser()))
    fleet.zester("*", "cmd.run", '[ "$PEEL" = web-01 ] && echo seen-argument', "--direct", status=2)
    call = r'function="cmd\.run" target="\*" peels=\d+'
    for pattern in (rf"audit action=job\.direct result=ok by={by} {call}$",
                    rf'audit action=job\.direct-end result=ok by={by} {call} reason="1 of \d+ succeeded, 0 did not answer"$'):
        fleet.wait(lambda pattern=pattern: any(re.match(pattern, line["msg"]) for line in fleet.master.lines()), pattern)
    pattern = rf'audit action=job\.direct by={by} function="cmd\.run"$'
    assert any(re.match(pattern, line["msg"]) for line in fleet.peels["web-01"].lines())
    assert "seen-argument" not in fleet.master.log() + fleet.peels["web-01"].log()


# What every command of an operator leaves in the log of a master; those that are refused are acts, too.
AUDITED = {
    "enroll approve": (("enr-none",), "enroll.approve"), "enroll reject": (("enr-none",), "enroll.reject"),
    "enroll revoke": (("enr-none",), "enroll.revoke"), "enroll pause": ((), "enroll.pause"), "enroll resume": ((), "enroll.resume"),
    "peel delete": (("nobody",), "peel.delete"),
    "fileserver update": ((), "fileserver.update"), "fileserver rollback": (("states", "999"), "fileserver.rollback"),
    "fileserver canary": (("I@none:at-all",), "fileserver.canary"), "fileserver promote": ((), "fileserver.promote"),
    "settings show": (("nobody",), "settings.show"), "reactor retry": (("none",), "reactor.retry"),
    "update publish": (("9.0", "{script}", "--key", "{key}"), "update.publish"), "update promote": (("9.0",), "update.promote"),
    "update demote": (("9.0",), "update.demote"), "update set-ttl": (("9.0", "1h"), "update.set-ttl"),
    "update rollout": (("none", "web-01"), "update.rollout"), "update abort": (("none",), "update.abort"),
    "update auto": (("off",), "update.auto-off"), "update rollback": (("nobody",), "update.rollback"),
    "update unpublish": (("9.0",), "update.unpublish"),
    "operator add": (("alice", "--dir", "{none}"), "operator.add"), "operator issue": (("nobody",), "operator.issue"),
    "operator set": (("nobody", "--role", "viewer"), "operator.set"), "operator remove": (("nobody",), "operator.remove"),
    "nats-auth rotate": (("--dir", "{auth}", "--finish"), "key.finish"),
}
# Their jobs are audited; or what they delete, job by job and peel by peel. Whoever has admin.creds decides as 'admin' (test_operators.py).
BY_OTHERS = {"apply", "orchestrate", "job retry", "job kill", "peel prune", "job approve", "job reject"}
# They change nothing of the fleet, or only files of this machine, or machines that are not of the fleet; an event that is sent is its own record.
READERS = {"peel list", "peel init", "runs", "version", "ssh", "job list", "job show", "job watch", "job follow", "event list", "job active", "kv fact", "fileserver status", "fileserver history",
           "enroll list", "enroll show", "doctor", "nats-auth init", "nats-auth leaf", "nats-auth lint", "ca init", "ca fingerprint", "ca print", "ca issue",
           "event send", "event watch", "event why", "reactor check", "reactor test", "reactor replay", "report", "top", "update keygen",
           "operator list", "operator show", "job approvals", "update versions", "update fetch", "update rollouts", "update status", "why", "basket get", "basket list", "render", "doc", "completion"}


def test_every_command_is_audited_or_known_to_change_nothing(fleet, tmp_path):
    script = fleet.run("zester", "completion", "bash").stdout
    found = set(re.findall(r"^        '?([a-z][a-z -]*)'?\)$", script, re.M))
    commands = found - {name.split()[0] for name in found if " " in name}
    assert commands == set(AUDITED) | BY_OTHERS | READERS, "a new command is in one of the lists"
    fleet.run("zester", "update", "keygen", tmp_path / "key")
    (tmp_path / "binary").write_text("#!/bin/sh\n")
    places = {"{script}": str(tmp_path / "binary"), "{key}": str(tmp_path / "key"), "{none}": str(tmp_path / "none"), "{auth}": str(fleet.auth)}
    by = re.escape(json.dumps(getpass.getuser()))
    for name, (words, action) in AUDITED.items():
        fleet.zester(*name.split(), *(places.get(word, word) for word in words), status=None)
        pattern = rf"audit action={re.escape(action)} result=(ok|refused) by={by}"
        fleet.wait(lambda pattern=pattern: any(re.match(pattern, line["msg"]) for line in fleet.master.lines()), pattern)
    for result, action in (("ok", "publish"), ("ok", "promote"), ("refused", "rollout"), ("ok", "unpublish"), ("refused", "rollback")):
        assert fleet.master.has_logged(f"audit action=update.{action} result={result} by=")
    assert fleet.master.has_logged(r'id=\"peel 9.0 linux/')


def test_join_tokens_are_audited_when_they_are_made_and_revoked(fleet):
    conf = ("--config", fleet.write_cli_conf())
    made = json.loads(fleet.run("zester-master", "token", *conf, "--format", "json").stdout)
    fleet.run("zester-master", "token", "revoke", made["id"], *conf)
    for act in ("create", "revoke"):
        pattern = rf'audit action=token\.{act} result=ok by=".+" id="{made["id"]}"'
        fleet.wait(lambda pattern=pattern: any(re.match(pattern, line["msg"]) for line in fleet.master.lines()), pattern)
    assert made["token"] not in fleet.master.log()


def test_a_schedule_counts_from_the_end_of_a_run_and_keeps_its_time_through_reloads(fleet):
    """An interval of a second would never be over if each reload began it anew."""
    marks = fleet.folder / "marks"
    run = f"echo begin $(date +%s%N) >> {marks}; sleep 0.3; echo end $(date +%s%N) >> {marks}"
    peel = start_peel(fleet, fleet.master, "timer-01", schedule={"tick": {"module": "cmd.run", "args": {"command": run}, "interval": "1s", "splay": "200ms"}})
    path = peel.folder / "peel.yaml"
    conf = json.loads(path.read_text())

    def has_run_often():
        conf["schedule"]["other"] = {"module": "test.ping", "interval": f"{1000 + len(peel.lines())}h"}
        path.write_text(json.dumps(conf))
        peel.send(signal.SIGHUP)
        return marks.exists() and marks.read_text().count("end") >= 3
    fleet.wait(has_run_often, "it runs again and again")
    peel.kill()
    words = [line.split() for line in marks.read_text().splitlines()]
    ends, begins = ([int(time) for kind, time in words if kind == wanted] for wanted in ("end", "begin"))
    assert all(begin - end >= 1_000_000_000 for end, begin in zip(ends, begins[1:]))
