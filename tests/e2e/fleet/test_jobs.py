"""Jobs on a fleet of real processes: dispatch, answers, statuses, recovery."""
import json
import re
import signal
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from kepler_home import alive
from peels import start_peel
from test_events import Watch

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
UNLIMITED = {"rate_burst": 0}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """One fleet for the tests that leave it as it was: a master, two peels."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll=UNLIMITED)
        fleet.peels = {name: start_peel(fleet, fleet.master, name) for name in ("web-01", "db_example")}
        yield fleet


@pytest.fixture
def own_fleet(tmp_path):
    """One that a test may break."""
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll=UNLIMITED)
        yield fleet


def jid_of(result):
    return re.search(r"^Job (\w+) dispatched$", result.stderr, re.M).group(1)


def final_job(fleet, jid):
    """The record of a job once it has ended."""
    def ended():
        record = fleet.zester_json("job", "show", jid)
        return record if record["job"]["status"] not in ("claimed", "running") else None
    return fleet.wait(ended, f"job {jid} has ended")


def test_options_may_come_before_the_target_and_colour_can_be_forced(fleet):
    result = fleet.zester("--direct", "--timeout", "30s", "--force-color", "web-01", "test.ping", environment={"NO_COLOR": "1"})
    assert result.stdout == "\x1b[32mweb-01:\x1b[0m\n    true\n" and result.stderr == ""
    assert fleet.zester("--test", "web-01", "cmd.run", "touch /nowhere/x", "--no-color").stdout.startswith("web-01:\n")
    jid = json.loads(fleet.zester("--async", "--format", "json", "*", "test.ping").stdout)["jid"]
    final_job(fleet, jid)


@pytest.mark.parametrize("words, stdout", [
    (["command=echo a b"], "a b"),
    (["LANG=C echo a=b c"], "a=b c"),
    (["echo a=b"], "a=b"),
    (["command=echo", "shell=/bin/bash"], ""),
])
def test_the_command_is_a_word_or_has_its_name(fleet, words, stdout):
    (answer,) = fleet.zester_json("web-01", "cmd.run", *words)
    assert answer["results"][0]["details"]["stdout"] == stdout


@pytest.mark.parametrize("words, text", [
    (["pkg.installed"], "pkg.installed requires a name argument"),
    (["file.managed", "contents=x"], "file.managed requires a name argument"),
    (["pkg.installed", "name="], "pkg.installed requires a name argument"),
    (["test.echo"], "test.echo requires a text argument"),
    (["cmd.run", ""], "cmd.run requires a command argument"),
    (["cmd.run", "command="], "cmd.run requires a command argument"),
    (["facts.get", ""], "facts.get requires a key argument"),
    (["state.apply", "test=True", "web"], "unexpected argument 'web' after key=value: the state comes first"),
])
def test_a_call_that_says_nothing_about_what_is_refused_before_it_is_sent(fleet, words, text):
    refused = fleet.zester("web-01", *words, status=1)
    assert text in refused.stderr and "Targeting" not in refused.stderr


@pytest.mark.parametrize("words, name, seconds", [
    (["state.apply", "web"], "web", 300),
    (["state.apply", "state=web"], "web", 300),
    (["state.apply", "mods=web,db"], "web,db", 300),
    (["state.apply", "mods=[web, db]"], "ad-hoc", 300),
    (["state.apply", "test=True"], "highstate", 600),
    (["state.highstate"], "highstate", 600),
    (["facts.get", "key=os.name"], "os.name", 60),
])
def test_a_job_has_the_name_and_the_time_of_what_it_is_about(fleet, words, name, seconds):
    jid = fleet.zester_json("web-01", *words, "--test", "--async")["jid"]
    job = final_job(fleet, jid)["job"]
    assert (job["state_id"], job["timeout"]) == (name, seconds * 10**9)


def test_words_beyond_the_first_are_the_next_parameters_of_a_function_as_on_one_machine(fleet):
    def said(*words):
        (answer,) = fleet.zester_json("web-01", *words)
        return answer["results"][0]["details"]["result"]
    assert said("grains.item", "os", "kernel") == "os: Debian\nkernel: Linux"
    assert said("pillar.get", "no.such", "otherwise") == "otherwise"
    for words, name in ((("pillar.get", "no.such", "other", "default=named"), "default"), (("test.echo", "a", "text=b"), "text")):
        assert f"{words[0]}: '{name}' is given twice, by position and by name" in fleet.zester("web-01", *words, status=1).stderr
    assert said("pillar.item", "a", "b") == "a: ''\nb: ''"
    assert said("file.join", "/a", "b", "c") == "/a/b/c"
    assert "unexpected argument 'more'" in fleet.zester("web-01", "user.info", "root", "more", status=1).stderr
    assert "unexpected argument 'more'" in fleet.zester("web-01", "file.managed", "/x", "more", status=1).stderr


def test_a_peel_takes_the_word_for_none_as_no_name(fleet):
    """Not as the name of a package: requests also come from rules, schedules and programs."""
    (answer,) = fleet.zester_json("web-01", "state.single", "fun=pkg.installed", "--test", status=2)
    assert answer["error"] == "pkg.installed requires a name argument"
    (answer,) = fleet.zester_json("web-01", "state.single", "fun=test.nop")
    assert answer["success"]
    (answer,) = fleet.zester_json("web-01", "pkg.installed", "pkgs=[base-files]", "--test")
    assert answer["success"], answer


def test_a_request_says_when_it_was_made(fleet):
    """The times of a job are never nil, nor 1970, on the wire: readers of other languages take them as they are."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        bus.send(b"SUB zester.dispatch 9\r\n")
        bus.flush()
        fleet.zester("web-01", "test.ping")
        subject, payload = bus.read()
        assert subject == "zester.dispatch"
        for key in (b"\xa7created\xd7\xff", b"\xa7updated\xd7\xff"):
            (word,) = struct.unpack(">Q", payload.split(key)[1][:8])
            assert abs((word & (1 << 34) - 1) - time.time()) < 3600


def test_every_target_answers_under_its_own_header_and_dots_come_back(fleet):
    result = fleet.zester("*", "test.ping")
    assert result.stdout == "db.example:\n    true\nweb-01:\n    true\n"
    assert result.stderr.startswith("Targeting 2 peel(s): [db.example web-01]\n")
    record = final_job(fleet, jid_of(result))
    assert record["job"]["status"] == "complete" and record["job"]["return_count"] == record["job"]["success_count"] == 2
    assert sorted(entry["peel_id"] for entry in record["returns"]) == ["db.example", "web-01"]


@pytest.mark.parametrize("target, names", [
    ("web*", ["web-01"]), ("db.example", ["db.example"]), ("L@web-01,db.example", ["db.example", "web-01"]), ("E@^w.b", ["web-01"]),
    ("G@os.family:* and web*", ["web-01"]), ("not (web*)", ["db.example"]), ("(web*)", ["web-01"]), ("G@no.such:x", None),
])
def test_a_target_means_whom_it_says(fleet, target, names):
    result = fleet.zester(target, "test.ping", "--preview", "--format", "json", status=0 if names else 5)
    assert not names or json.loads(result.stdout) == names


def test_a_peel_that_takes_longer_than_each_may_cancels_the_job_itself(fleet, tmp_path):
    pid, left = tmp_path / "pid", tmp_path / "left"
    result = fleet.zester_json("web-01", "cmd.run", f"echo $$ > {pid}; sleep 600; touch {left}", "--node-timeout", "1500ms", status=2)
    assert [entry["status"] for entry in result] == ["failed"]
    assert result[0]["error"] == "canceled: not finished after 1.5 s, the per-machine time limit"
    assert not alive(int(pid.read_text())) and not left.exists()
    jid = fleet.zester_json("job", "list", "--limit", "1")[0]["jid"]
    record = fleet.zester_json("job", "show", jid)
    assert record["job"]["status"] == "failed" and record["job"]["metadata"]["node_timeout"] == "1500ms"
    assert fleet.zester("*", "test.ping", "--node-timeout", "30s").stdout == "db.example:\n    true\nweb-01:\n    true\n"


def test_a_job_that_waits_for_another_one_has_its_time_all_the_same(fleet, tmp_path):
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    hold.touch()
    first = fleet.zester_json("web-01", "cmd.run", f"touch {begun}; while [ -e {hold} ]; do sleep 0.05; done", "--async")["jid"]
    fleet.wait(begun.exists, "the first job runs")
    waits = fleet.zester_json("web-01", "cmd.run", f"touch {tmp_path}/ran", "--node-timeout", "1s", status=2)
    assert "canceled: not finished after 1 s" in waits[0]["error"]
    direct = fleet.zester_json("web-01", "cmd.run", f"touch {tmp_path}/ran", "--direct", "--node-timeout", "1s", status=2)
    assert "canceled: not finished after 1 s" in direct[0]["error"]
    hold.unlink()
    assert final_job(fleet, first)["job"]["status"] == "complete"
    assert not (tmp_path / "ran").exists()
    assert "longer than --timeout" in fleet.zester("*", "test.ping", "--node-timeout", "2m", "--timeout", "1m", status=1).stderr


def test_a_subset_is_picked_at_random_from_those_who_are_meant(fleet):
    seen = set()

    def pick():
        name, = json.loads(fleet.zester("*", "test.ping", "--subset", "1", "--preview", "--format", "json").stdout)
        seen.add(name)
        return len(seen) == 2
    fleet.wait(pick, "each of the two has been picked")
    assert seen == {"db.example", "web-01"}
    assert json.loads(fleet.zester("*", "test.ping", "--subset", "9", "--preview", "--format", "json").stdout) == ["db.example", "web-01"]
    answer, = fleet.zester_json("*", "test.ping", "--subset", "1")
    assert answer["peel_id"] in seen and answer["success"]
    assert "subset" in fleet.zester("*", "test.ping", "--subset", "0", status=1).stderr


def test_the_list_of_peels_says_who_is_connected(fleet):
    rows = fleet.zester_json("peel", "list")
    assert [(row["peel_id"], row["online"]) for row in rows] == [("db.example", True), ("web-01", True)]
    assert set(rows[0]) >= {"peel_id", "os", "arch", "online", "last_seen"}
    heads = fleet.zester("peel", "list").stdout.splitlines()[0].split()
    assert heads[:6] == ["PEEL", "ID", "OS", "ARCH", "ONLINE", "LAST-SEEN"]


def test_published_facts_can_be_read_without_the_peel(fleet):
    facts = json.loads(fleet.zester("kv", "fact", "get", "db.example").stdout)
    assert json.loads(fleet.zester("kv", "fact", "get", "db.example", "os.family").stdout) == facts["os"]["family"]
    assert "has no fact" in fleet.zester("kv", "fact", "get", "web-01", "no.such", status=1).stderr
    assert "has published no facts" in fleet.zester("kv", "fact", "get", "nobody", status=1).stderr


def test_json_has_the_keys_that_scripts_rely_on(fleet):
    answer, = fleet.zester_json("web-01", "cmd.run", "echo out; echo err >&2")
    one, = answer["results"]
    assert (answer["peel_id"], answer["status"], answer["success"]) == ("web-01", "success", True)
    assert one["details"]["stdout"].strip() == "out" and isinstance(one["duration"], int) and one["changed"] in (True, False) and one["value"] == one["details"]["stdout"]
    assert set(answer) == {"peel_id", "status", "success", "results"}
    assert set(one) <= {"name", "changed", "duration", "details", "value", "diff"} and {"name", "changed", "duration"} <= set(one)
    answer, = fleet.zester_json("web-01", "cmd.run", "exit 3", status=2)
    assert (answer["status"], answer["success"]) == ("failed", False)


def test_yaml_has_a_document_for_each_peel_with_the_same_keys_and_readable_durations(fleet):
    text = fleet.zester("*", "test.ping", "--format", "yaml").stdout
    one = r"---\npeel_id: %s\nresults:\n- changed: false\n  details:\n    result: 'true'\n  duration: [\d.]+ \w+\n  name: test.ping:ping\nstatus: success\nsuccess: true\n"
    assert re.fullmatch((one % re.escape("db.example")) + (one % "web-01"), text), text


def test_a_command_that_fails_is_status_2_and_on_record(fleet):
    result = fleet.zester("*", "cmd.run", "exit 3", status=2)
    assert "exit status 3" in result.stdout and result.stderr.endswith("2 peel(s) failed\n")
    assert final_job(fleet, jid_of(result))["job"]["status"] == "failed"


def test_a_function_that_does_not_exist_fails_on_the_peel(fleet):
    assert "unknown function 'test.pign'" in fleet.zester("web-01", "test.pign", status=2).stdout


def test_direct_answers_leave_no_job(fleet):
    before = len(fleet.zester_json("job", "list", "--limit", "10000"))
    assert fleet.zester("*", "cmd.run", "echo hi", "--direct").stdout == "db.example:\n    hi\nweb-01:\n    hi\n"
    assert len(fleet.zester_json("job", "list", "--limit", "10000")) == before


def test_a_status_that_does_not_exist_is_refused_with_those_that_do(fleet):
    assert "invalid job status 'bogus' (pending, claimed, running, complete, partial, timeout, failed, canceled)" in \
        fleet.zester("job", "list", "--status", "bogus", status=1).stderr


def test_async_prints_the_id_and_watch_waits_for_it(fleet):
    jid = fleet.zester_json("*", "cmd.run", "echo later", "--async")["jid"]
    assert fleet.zester("job", "watch", jid).stdout == "db.example:\n    later\nweb-01:\n    later\n"
    newest = fleet.zester_json("job", "list", "--function", "cmd.run", "--limit", "1")
    assert [job["jid"] for job in newest] == [jid]


def test_a_fact_that_is_set_becomes_targetable(fleet):
    fleet.zester("web-01", "facts.set", "role", "front")
    assert fleet.zester("web-01", "facts.get", "role").stdout == "web-01:\n    front\n"
    fleet.wait(lambda: fleet.zester("G@role:front", "test.ping", "--preview", status=None).stdout == "web-01\n", "the fact is published")


def test_a_peel_without_state_files_starts_says_so_and_does_everything_else(fleet):
    assert fleet.peels["web-01"].has_logged("states engine unavailable at boot; will build when state files appear")
    answer, = fleet.zester_json("web-01", "state.apply", "web", status=2)
    assert answer["error"] == "states engine unavailable: no states directory exists yet (state files not yet synced from KV " \
        "and no baked states dir); retry after state files are published"
    assert fleet.zester("web-01", "cmd.run", "echo works").stdout == "web-01:\n    works\n"


def test_a_dry_run_changes_nothing(fleet, tmp_path):
    path = tmp_path / "made"
    answer, = fleet.zester_json("web-01", "file.managed", path, "contents=x", "--test")
    assert answer["results"][0]["changed"] and not path.exists()
    fleet.zester("web-01", "file.managed", path, "contents=x")
    assert path.read_text() == "x\n"
    assert fleet.zester("web-01", "cmd.run", "echo hi", "--test").stdout == 'web-01:\n    command "echo hi" will run\n'


def test_a_batch_stops_when_too_many_have_failed(fleet):
    result = fleet.zester("*", "cmd.run", "exit 1", "--batch", "1", "--max-failures", "0", status=2)
    assert "not sent: more peels have failed than --max-failures allows" in result.stdout
    assert result.stdout.count("exit status 1") == 1

@pytest.mark.parametrize("batch", ["0", "-1", "0%", "101%", "+1", "two", "%", ""])
def test_a_batch_that_is_not_a_number_is_refused(fleet, batch):
    assert "expected a number of peels" in fleet.zester("*", "test.ping", f"--batch={batch}", status=1).stderr


def test_one_of_a_batch_that_hangs_makes_room_for_the_next(fleet, tmp_path):
    hold = tmp_path / "hold"
    hang = f"mkdir {hold} && while [ -e {hold} ]; do sleep 0.1; done || true"  # the first one hangs
    result = fleet.zester("*", "cmd.run", hang, "--batch", "50%", "--max-failures", "1", "--timeout", "12s", status=3)
    assert result.stdout.count("UNREACHABLE: no answer before the timeout") == 1
    record = final_job(fleet, jid_of(result))
    assert sorted(answer["status"] for answer in record["returns"]) == ["success", "unreachable"]
    hold.rmdir()
    fleet.wait(lambda: final_job(fleet, jid_of(result))["job"]["status"] == "complete", "the late return corrects the record")


@pytest.mark.parametrize("way", [[], ["--direct"]])
def test_output_that_is_larger_than_the_bus_takes_is_shortened_in_its_middle(fleet, way):
    answer, = fleet.zester_json("web-01", "cmd.run", "seq -f ä%.0f 1 700000; echo end >&2", *way)
    result, = answer["results"]
    begin, missing, end = re.fullmatch(r"(.*)\n\[(\d+) bytes left out\]\n(.*)", result["details"]["stdout"], re.S).groups()
    lines = "\n".join(f"ä{number}" for number in range(1, 700001))
    assert lines.startswith(begin) and lines.endswith(end) and len(begin) > 200000 and len(end) > 200000
    assert len((begin + end).encode()) + int(missing) == len(lines.encode())
    assert (answer["success"], result["details"]["stderr"], result["details"]["exitcode"]) == (True, "end", "0")


def test_a_job_that_is_stopped_ends_on_the_peel_and_is_canceled(fleet, tmp_path):
    begun = tmp_path / "begun"
    jid = fleet.zester_json("web-01", "cmd.run", f"touch {begun}; exec sleep 600", "--async")["jid"]
    fleet.wait(begun.exists, "the command runs")
    heads, row = fleet.zester("job", "active").stdout.splitlines()
    assert heads.split() == ["JID", "FUNCTION", "TARGETS", "STATUS", "USER", "OWNER", "STARTED"]
    assert row.split()[:4] == [jid, "cmd.run", "[web-01]", "running"]
    assert [job["jid"] for job in fleet.zester_json("job", "active")] == [jid]
    assert fleet.zester("job", "kill", jid).stdout == f"Cancel signal sent for job {jid}\n"
    assert final_job(fleet, jid)["job"]["status"] in ("canceled", "failed")
    assert fleet.zester("job", "active").stdout == "No active jobs.\n"
    assert "has already ended" in fleet.zester("job", "kill", jid, status=1).stderr
    assert "no such job" in fleet.zester("job", "kill", "nonsense", status=1).stderr


def test_whoever_waits_for_a_job_that_was_stopped_reads_that_it_was_canceled(fleet, tmp_path):
    peel, begun = fleet.peels["web-01"], tmp_path / "begun"
    with ThreadPoolExecutor(1) as waits:
        waiting = waits.submit(fleet.zester, "web-01", "cmd.run", f"touch {begun}; exec sleep 600", status=2)
        fleet.wait(begun.exists, "the command runs")
        peel.send(signal.SIGSTOP)  # it does not answer
        try:
            fleet.zester("job", "kill", fleet.zester_json("job", "active")[0]["jid"])
            result = waiting.result()
        finally:
            peel.send(signal.SIGCONT)
    assert f"Canceled: received 0/1 returns for job {jid_of(result)}\n" in result.stderr and "Timeout" not in result.stderr
    assert result.stdout == "web-01:\n    ERROR: canceled: no answer before the job was stopped\n"


def test_retry_runs_only_where_it_did_not_succeed(fleet, tmp_path):
    script = f"test -e {tmp_path}/x || {{ touch {tmp_path}/x; exit 1; }}"
    result = fleet.zester("web-01", "cmd.run", script, status=2)
    again = fleet.zester("job", "retry", jid_of(result), "--timeout", "90s", "--batch", "1")
    assert again.stdout.startswith("web-01:")
    job = final_job(fleet, jid_of(again))["job"]
    assert (job["timeout"], job["metadata"]["batch"]) == (90 * 10**9, "1")
    assert "nothing to repeat" in fleet.zester("job", "retry", jid_of(fleet.zester("*", "test.ping"))).stderr


def test_a_peel_that_is_gone_is_unreachable_after_about_ten_seconds(own_fleet):
    peel = start_peel(own_fleet, own_fleet.master, "web-01")
    start_peel(own_fleet, own_fleet.master, "db-01")
    peel.kill()
    result = own_fleet.zester("*", "test.ping", status=3)
    assert "UNREACHABLE" in result.stdout and result.stderr.endswith("1 peel(s) unreachable\n")
    record = final_job(own_fleet, jid_of(result))
    assert record["job"]["status"] == "failed"
    assert [answer["status"] for answer in record["returns"]] == ["success", "unreachable"]
    both = own_fleet.zester("*", "cmd.run", "exit 1", "--direct", status=4)
    assert both.stderr == "1 peel(s) failed, 1 unreachable\n"
    direct = own_fleet.zester("web-01", "test.ping", "--direct", status=3)
    assert direct.stdout == "web-01:\n    UNREACHABLE: not connected to the bus\n"
    own_fleet.master.kill()
    direct = own_fleet.zester("db-01", "test.ping", "--direct")
    assert direct.stdout == "db-01:\n    true\n" and "warning: not in the audit of any master: none is running\n" in direct.stderr


def test_a_return_that_comes_after_the_end_of_its_job_corrects_the_record(own_fleet):
    peel = start_peel(own_fleet, own_fleet.master, "web-01")
    peel.send(signal.SIGSTOP)
    result = own_fleet.zester("web-01", "test.ping", status=3)
    jid = jid_of(result)
    assert final_job(own_fleet, jid)["job"]["status"] == "failed"
    own_fleet.master.stop()  # nobody remembers the job
    own_fleet.start_ready_master("other", enroll=UNLIMITED)
    peel.send(signal.SIGCONT)
    own_fleet.wait(lambda: own_fleet.zester_json("job", "show", jid)["job"]["status"] == "complete", "the record is corrected")
    record = own_fleet.zester_json("job", "show", jid)
    assert record["returns"][0]["status"] == "success" and record["job"]["success_count"] == 1


def test_a_peel_that_is_killed_while_it_works_says_so_when_it_is_back_ends_the_command_and_does_not_run_it_again(own_fleet, tmp_path):
    peel = start_peel(own_fleet, own_fleet.master, "web-01")
    runs, pids = tmp_path / "runs", tmp_path / "pids"
    command = f"sleep 600 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; echo x >> {runs}; wait"
    jid = own_fleet.zester_json("web-01", "cmd.run", command, "--async", "--timeout", "50s")["jid"]
    own_fleet.wait(runs.exists, "the command runs")
    queued = own_fleet.zester_json("web-01", "cmd.run", f"echo y >> {runs}", "--async", "--timeout", "50s")["jid"]
    own_fleet.wait(lambda: peel.has_logged(f"job queued jid={queued}"), "the second one waits")
    peel.kill()
    peel.start()
    record = final_job(own_fleet, jid)
    assert record["job"]["status"] == "failed" and record["returns"][0]["status"] == "failed"
    assert "its running programs were killed; what was done is not known" in own_fleet.zester("job", "watch", jid, status=2).stdout
    assert not any(alive(pid) for pid in pids.read_text().split())
    assert "before the job started; nothing was done" in own_fleet.zester("job", "watch", queued, status=2).stdout
    assert runs.read_text() == "x\n"


def test_the_job_of_a_master_that_is_killed_is_finished_by_another_and_runs_once(own_fleet, tmp_path):
    start_peel(own_fleet, own_fleet.master, "web-01")
    runs = tmp_path / "runs"
    jid = own_fleet.zester_json("web-01", "cmd.run", f"echo x >> {runs}; sleep 3", "--async")["jid"]
    own_fleet.wait(runs.exists, "the command runs")
    own_fleet.master.kill()
    other = own_fleet.start_ready_master("other", enroll=UNLIMITED)
    record = final_job(own_fleet, jid)
    assert record["job"]["status"] == "complete" and record["job"]["reclaim_count"] == 1
    assert runs.read_text() == "x\n"
    assert other.metric("zester_job_reclaims_total") == 1


def test_a_state_with_fire_event_sends_its_result(fleet):
    states = fleet.peels["web-01"].folder / "states"
    states.mkdir(exist_ok=True)
    (states / "fire.sls").write_text("""
/etc/x.conf: {test.nop: [{fire_event: true}]}
broken: {test.fail_without_changes: [{fire_event: custom/tag/nano}]}
quiet: {test.nop: [{fire_event: false}]}
""")
    with Watch(fleet, "web-01/salt/*", "--format", "json") as watch:
        fleet.zester("web-01", "state.apply", "fire", "test=True", status=None)
        fleet.zester("web-01", "state.apply", "fire", status=2)
        first, second = json.loads(watch.line()), json.loads(watch.line())
        assert watch.stop() == ""
    (states / "fire.sls").unlink()
    jid = first["data"]["jid"]
    assert jid in fleet.zester("job", "list", "--function", "state.apply", "--format", "json").stdout
    assert [event["tag"] for event in (first, second)] == [f"salt/state_result/{jid}/web-01/etc/x-conf",
                                                          f"salt/state_result/{jid}/web-01/custom/tag/nano"]
    assert (first["data"]["ret"]["name"], first["data"]["ret"]["result"]) == ("test.nop:/etc/x.conf", True)
    assert (second["data"]["ret"]["result"], second["data"]["ret"]["error"]) == (False, "failure without changes")


def test_a_peel_lists_its_own_functions_and_answers_about_states(fleet):
    states = fleet.peels["web-01"].folder / "states"
    states.mkdir(exist_ok=True)
    (states / "here.sls").write_text("it: {test.nop: []}\n")
    names = fleet.zester("web-01", "sys.list_functions").stdout
    assert "schedule.add" in names and "state.apply" in names and "event.send" in names and "state.event" not in names
    assert "state.sls_exists" in fleet.zester("web-01", "sys.doc", "state.sls_exists").stdout
    for words, answer in ((("sls_exists", "here"), "true"), (("sls_exists", "gone"), "false"), (("id_exists", "it", "mods=here"), "true"),
                          (("id_exists", "that", "mods=here"), "false")):
        assert fleet.zester("web-01", f"state.{words[0]}", *words[1:]).stdout.split()[-1] == answer
    assert "test.nop:it" in fleet.zester("web-01", "state.template_str", "tem=include: [here]", status=0).stdout
    (states / "here.sls").unlink()


def test_the_state_event_send_sends_an_event_as_the_function_does(fleet):
    states = fleet.peels["web-01"].folder / "states"
    states.mkdir(exist_ok=True)
    (states / "tell.sls").write_text("""
deploy/done:
  event.send: [{data: {version: 1.2.3, word: top}}, {word: less}, {colour: green}, {with_grains: [id]}, {with_env: [NOT_SET_HERE]}]
deploy/quiet: {event.send: [{show_changed: false}]}
deploy/watched: {event.wait: [{watch: [{event: deploy/done}]}]}
deploy/unwatched: {event.wait: []}
called: {module.run: [{event.send: [{tag: deploy/called}, {data: {a: 1}}]}]}
rendered: {test.nop: [{comment: "{{ salt['event.send']('deploy/rendered', {'b': 2}, c=3) }}"}]}
""")
    with Watch(fleet, "web-01/deploy/*", "--format", "json") as watch:
        dry = json.loads(fleet.zester("web-01", "state.apply", "tell", "test=True", "--format", "json").stdout)
        done = json.loads(fleet.zester("web-01", "state.apply", "tell", "--format", "json").stdout)
        events = {event["tag"]: event for event in (json.loads(watch.line()) for _ in range(5))}
        assert watch.stop() == ""
    (states / "tell.sls").unlink()
    assert "would send the event deploy/done" in json.dumps(dry)
    assert events["deploy/done"]["data"] == {"version": "1.2.3", "word": "top", "colour": "green", "grains": {"id": "web-01"}, "environ": {}}
    assert {tag: event.get("data") for tag, event in events.items() if tag != "deploy/done"} == {
        "deploy/quiet": None, "deploy/watched": None, "deploy/called": {"a": 1}, "deploy/rendered": {"b": 2, "c": 3}}
    results = {result["name"]: result for result in done[0]["results"]}
    assert [results[f"event.send:deploy/{name}"]["changed"] for name in ("done", "quiet")] == [True, False]
    assert results["event.send:deploy/done"]["details"]["id"] == events["deploy/done"]["id"]


@pytest.mark.parametrize("reload, text", [("false", "none"), ("true", "green")])
def test_facts_are_collected_again_after_a_state_with_reload_grains(fleet, tmp_path, reload, text):
    states = fleet.peels["db_example"].folder / "states"
    states.mkdir(exist_ok=True)
    (states / "name.jinja").write_text("{{ grains.get('colour_%s', 'none') }}" % reload)
    (states / "grow.sls").write_text(f"""
grow: {{module.run: [{{grains.setval: [{{key: colour_{reload}}}, {{val: green}}]}}, {{reload_grains: {reload}}}]}}
{tmp_path}/after: {{file.managed: [{{source: salt://name.jinja, template: jinja}}]}}
""")
    fleet.zester("db.example", "state.apply", "grow", status=0)
    assert (tmp_path / "after").read_text() == text
