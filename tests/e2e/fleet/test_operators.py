"""Operators with a name: roles and scopes that masters check and servers enforce, and jobs that wait for a second person."""
import json
import re
import signal
import subprocess
import time

import pytest

from fleet import BUILD, SECONDS, SERVER, Fleet, read_marks
from nats_client import Client
from packing import pack
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0})
        for peel in ("web-01", "db-01"):
            start_peel(fleet, fleet.master, peel)
        add(fleet, "alice", "--target", "web*", "--function", "test.*", "--function", "cmd.run", "--function", "schedule.*")
        add(fleet, "vera", "--role", "viewer")
        yield fleet


def creds(fleet, name):
    return fleet.folder / f"{name}.creds"


def add(fleet, name, *words, **more):
    return fleet.zester("operator", "add", name, *words, "--dir", fleet.auth, "--out", creds(fleet, name), **more)


def run_as(fleet, name, *words, **more):
    return fleet.run("zester", *words, "--master", fleet.url, "--nats-ca", fleet.auth / "nats-ca.crt", "--creds", creds(fleet, name), **more)


def refused(fleet, name, *words):
    return run_as(fleet, name, *words, status=1).stderr


def json_as(fleet, name, *words):
    return json.loads(run_as(fleet, name, *words, "--format", "json").stdout)


def audited(fleet, text):
    fleet.wait(lambda: any(re.search(text, line["msg"]) for line in fleet.master.lines()), f"audit {text}")


def test_an_operator_runs_jobs_within_functions_and_targets(fleet):
    result = run_as(fleet, "alice", "web*", "test.ping")
    assert result.stdout == "web-01:\n    true\n" and "dispatched" in result.stderr
    jid = json_as(fleet, "alice", "web-01", "cmd.run", "echo mine", "--async")["jid"]
    assert "mine" in run_as(fleet, "alice", "job", "watch", jid).stdout
    record = json_as(fleet, "alice", "job", "show", jid)
    assert record["job"]["user"] == "alice" and record["job"]["metadata"]["operator"] == "alice"
    assert record["returns"][0]["success"]
    assert jid in [job["jid"] for job in json_as(fleet, "alice", "job", "list", "--user", "alice")]
    assert "web-01" in run_as(fleet, "alice", "*", "test.ping", "--preview").stdout
    audited(fleet, rf'audit action=job\.dispatch result=ok by="alice" id="{jid}" function="cmd\.run" target="web-01"')


def test_a_function_outside_of_the_scope_is_refused(fleet):
    assert "operator 'alice' may not run 'state.apply'" in refused(fleet, "alice", "web-01", "state.apply", "x")
    audited(fleet, r'audit action=job\.dispatch result=refused by="alice" .*function="state\.apply"')


def test_a_schedule_keeps_only_functions_that_are_allowed(fleet):
    assert "may not run 'pkg.upgrade'" in refused(fleet, "alice", "web-01", "schedule.add", "x", "function=pkg.upgrade", "interval=1h")
    run_as(fleet, "alice", "web-01", "schedule.add", "x", "function=test.ping", "interval=1h")


@pytest.mark.parametrize("words", [
    ("schedule.modify", "kept", "args={{command: echo}}"), ("test.nop", "name=x", "onlyif=touch {mark}"), ("test.nop", "name=x", "unless=[touch {mark}]"),
    ("state.single", "cmd.run", "name=touch {mark}"), ("state.template_str", "x: {{cmd.run: [name: touch {mark}]}}"),
    ("state.single", "test.nop", "name=x", "check_cmd=touch {mark}"), ("module.run", "name=cmd.run", "cmd=touch {mark}"),
    ("schedule.modify", "test.ping", "args={{command: touch {mark}}}"), ("test.nop", "name=test.nop", "--batch", "1", "--gate", "state.single cmd.run"),
    ("state.single", "test.nop", "name=test.nop", "--batch", "1", "--gate", "state.single cmd.run")])
def test_what_runs_other_functions_or_commands_needs_them_allowed(fleet, tmp_path, words):
    """Whoever may test, schedule and apply states does not get commands with it."""
    if not creds(fleet, "paul").exists():
        add(fleet, "paul", *(word for glob in ("test.*", "schedule.*", "state.*", "module.*") for word in ("--function", glob)))
        for entry in ("kept", "test.ping"):  # one has the name of a function that is allowed
            fleet.zester("web-01", "schedule.add", entry, "function=cmd.run", "args={command: 'true'}", "interval=24h")
    mark = tmp_path / "mark"
    said = refused(fleet, "paul", "web-01", *(word.format(mark=mark) for word in words))
    assert "may not run 'cmd.run'" in said and not mark.exists(), said
    run_as(fleet, "paul", "web-01", "state.single", "test.nop", "name=x")
    run_as(fleet, "paul", "web-01", "state.single", "test.nop", "name=python3.11")  # no function


def test_a_job_with_one_target_outside_is_refused_whole(fleet, tmp_path):
    mark = tmp_path / "mark"
    text = refused(fleet, "alice", "*", "cmd.run", f"echo x >> {mark}")
    assert "is limited to 'web*', which leaves out db-01" in text
    assert "leaves out db-01" in refused(fleet, "alice", "db-01", "test.ping")
    assert not mark.exists()


def test_what_no_role_gives_says_that_it_needs_admin_creds(fleet):
    assert "cannot ask peels directly; requires admin.creds" in refused(fleet, "alice", "web-01", "test.ping", "--direct")
    assert "may not do this (peel.delete): the role is 'operator'" in refused(fleet, "alice", "peel", "delete", "web-01")
    assert "may not do this (fileserver.update)" in refused(fleet, "alice", "fileserver", "update")
    assert "cannot add operators; requires admin.creds" in refused(fleet, "alice", "operator", "add", "mallory", "--dir", str(fleet.auth))
    assert "may not read 'KV_enrollments': the role is 'operator'" in refused(fleet, "alice", "enroll", "list")
    assert "may not read 'KV_operators'" in refused(fleet, "alice", "operator", "list")
    assert not (fleet.folder / "mallory.creds").exists()
    add(fleet, "root-anna", "--role", "admin")
    assert "cannot write to buckets; requires admin.creds" in refused(fleet, "root-anna", "enroll", "pause")


def test_an_operator_cancels_own_jobs_only(fleet):
    other = fleet.zester_json("web-01", "cmd.run", "sleep 600", "--async")["jid"]
    assert "may cancel only jobs of their own" in refused(fleet, "alice", "job", "kill", other)
    own = json_as(fleet, "alice", "web-01", "cmd.run", "sleep 600", "--async")["jid"]
    assert "Cancel signal sent" in run_as(fleet, "alice", "job", "kill", own).stdout
    fleet.wait(lambda: json_as(fleet, "alice", "job", "show", own)["job"]["status"] == "canceled", "it is canceled")
    fleet.zester("job", "kill", other)
    fleet.wait(lambda: fleet.zester_json("job", "show", other)["job"]["status"] == "canceled", "the other, too")
    audited(fleet, rf'audit action=job\.kill result=ok by="alice" id="{own}"')
    audited(fleet, r'audit action=job\.kill result=refused by="alice"')


def test_a_viewer_reads_everything_and_runs_nothing(fleet):
    assert {peel["peel_id"] for peel in json_as(fleet, "vera", "peel", "list")} == {"web-01", "db-01"}
    assert "db-01" in run_as(fleet, "vera", "kv", "fact", "get", "db-01", "id").stdout
    jid = fleet.zester_json("web-01", "test.ping", "--async")["jid"]
    assert jid in [job["jid"] for job in json_as(fleet, "vera", "job", "list")]
    assert "may not do this (job.dispatch): the role is 'viewer'" in refused(fleet, "vera", "web-01", "test.ping")
    assert "may not do this (event.send)" in refused(fleet, "vera", "event", "send", "a/b")


def test_events_are_sent_and_watched_by_those_who_may(fleet, tmp_path):
    assert "may not run 'event.send'" in refused(fleet, "alice", "event", "send", "a/b")
    add(fleet, "emil", "--function", "event.send")
    words = [f"{BUILD}/zester", "event", "watch", "--format", "json", "--master", fleet.url, "--nats-ca", str(fleet.auth / "nats-ca.crt"),
             "--creds", str(creds(fleet, "vera"))]
    seen = tmp_path / "seen"
    with open(seen, "w") as out, subprocess.Popen(words, stdout=out) as watch:
        def is_seen():
            run_as(fleet, "emil", "event", "send", "deploy/done", "n=1")
            return "deploy/done" in seen.read_text()
        try:
            fleet.wait(is_seen, "the event is seen")
        finally:
            watch.send_signal(signal.SIGINT)
        assert watch.wait(SECONDS) == 0
    audited(fleet, r'audit action=event\.send result=ok by="emil" id="zester\.event\._admin\.send\.deploy\.done"')


def test_an_enroller_decides_about_machines_and_nothing_else(fleet):
    add(fleet, "enno", "--role", "enroller")
    assert json_as(fleet, "enno", "enroll", "list", "-s", "all")
    assert "no such enrollment" in refused(fleet, "enno", "enroll", "approve", "enr-none")
    audited(fleet, r'audit action=enroll\.approve result=refused by="enno" id="enr-none"')
    assert "may not do this (job.dispatch): the role is 'enroller'" in refused(fleet, "enno", "web-01", "test.ping")
    assert "may not read 'KV_jobs'" in refused(fleet, "enno", "job", "list")
    with Client(fleet.port, creds(fleet, "enno"), fleet.auth / "nats-ca.crt") as client:
        client.subscribe("zester.event.>")
        assert "Permissions Violation for Subscription" in client.refusals()[0]


def test_an_admin_by_name_does_what_masters_do(fleet):
    assert [one["name"] for one in json_as(fleet, "root-anna", "operator", "list")][0] == "alice"
    run_as(fleet, "root-anna", "*", "test.ping")
    assert "no such peel" in refused(fleet, "root-anna", "peel", "delete", "nobody")
    audited(fleet, r'audit action=peel\.delete result=refused by="root-anna" peel="nobody"')


def test_the_doctor_has_nothing_to_say_of_such_credentials(fleet):
    for name in ("alice", "vera"):
        found = json_as(fleet, name, "doctor")
        assert {"check": "operator", "status": "ok"}.items() <= found[-1].items() and f"masters know '{name}'" in json.dumps(found)
        assert all(one["status"] == "ok" for one in found), found
    fleet.run("zester", "nats-auth", "lint", "--dir", fleet.auth)


# --- who lies -----------------------------------------------------------------------------


@pytest.fixture
def evil(fleet):
    with Client(fleet.port, creds(fleet, "alice"), fleet.auth / "nats-ca.crt") as client:
        yield client
    assert fleet.master.is_running()


FOREIGN = [
    "zester.dispatch", "zester.cmd.web-01", "zester.job.J1.cancel", "zester.job.J1.return.web-01", "zester.operator.vera.dispatch",
    "zester.operator.root-anna.dispatch", "zester.admin.enroll.approve", "zester.admin.job.approve", "zester.event._admin.send.x",
    "zester.target.resolve", "$KV.operators.alice", "$KV.approvals.J1", "$KV.jobs.J1", "$KV.secrets.web-01", "_INBOX._operator.vera.x",
    "$JS.API.STREAM.MSG.GET.KV_secrets", "$JS.API.STREAM.MSG.GET.KV_jobs", "$JS.API.CONSUMER.CREATE.KV_jobs", "$JS.API.DIRECT.GET.KV_facts.$KV.facts.web-01",
    "$JS.API.CONSUMER.MSG.NEXT.events.reactor", "$JS.ACK.x", "$SYS.REQ.SERVER.PING"]
DEAF = [">", "zester.>", "zester.operator.>", "zester.operator.alice.>", "zester.cmd.*", "_INBOX.>", "_INBOX._operator.vera.>",
        "$KV.operators.>", "$KV.secrets.>", "$JS.API.>"]


def test_the_server_refuses_every_subject_but_those_of_the_name(evil):
    for subject in FOREIGN:
        evil.publish(subject, b"x")
        refusal, = evil.refusals()
        assert f'Permissions Violation for Publish to "{subject}"' in refusal
    for subject in DEAF:
        evil.subscribe(subject)
        refusal, = evil.refusals()
        assert f'Permissions Violation for Subscription to "{subject}"' in refusal


def test_a_name_in_the_payload_counts_for_nothing(fleet, evil):
    job = {"jid": "2Forged0000000000000000000", "function": "test.ping", "args": None, "targets": ["web-01"], "timeout": 10 * 10**9, "status": "pending",
           "created": time.time(), "updated": time.time(), "user": "root", "owner": "x", "target_expr": "web-01",
           "metadata": {"operator": "root-anna", "source": "schedule", "reactor_depth": "3"}}
    evil.publish("zester.operator.alice.dispatch", pack(job))
    evil.flush()
    fleet.wait(lambda: fleet.zester("job", "show", job["jid"], status=None).returncode == 0, "it is on record")
    record = fleet.zester_json("job", "show", job["jid"])["job"]
    assert record["user"] == "alice" and record["metadata"] == {"operator": "alice"}


@pytest.mark.parametrize("args", [
    {"fun": b"cmd.run"}, {b"fun": "cmd.run"}, {"fun": "test.nop", b"onlyif": "true"}, {"fun": "test.nop", "names": [{"a": [{b"onlyif": "true"}]}]}],
    ids=["value", "key", "guard", "deep"])
def test_what_is_written_as_bytes_is_judged_like_text(fleet, args):
    if not creds(fleet, "petra").exists():
        add(fleet, "petra", "--function", "test.*", "--function", "state.single")
    job = {"jid": "2Bytes000000000000000000000", "function": "state.single", "args": {"name": "true", **args}, "targets": ["web-01"], "timeout": 10**9,
           "created": time.time(), "updated": time.time(), "state_id": "ad-hoc"}
    refusal = r'action=job\.dispatch result=refused by="petra" id="2Bytes'
    before = sum(bool(re.search(refusal, line["msg"])) for line in fleet.master.lines())
    with Client(fleet.port, creds(fleet, "petra"), fleet.auth / "nats-ca.crt") as client:
        client.publish("zester.operator.petra.dispatch", pack(job))
        client.flush()
        fleet.wait(lambda: sum(bool(re.search(refusal, line["msg"])) for line in fleet.master.lines()) > before, "it is refused")
    assert fleet.zester("job", "show", job["jid"], status=None).returncode == 1


def test_the_id_of_a_reaction_cannot_be_taken(fleet, evil):
    job = {"jid": "rxn-0123456789abcdef0123456789abcdef", "function": "test.ping", "targets": ["web-01"], "timeout": 10**9, "created": time.time(), "updated": time.time()}
    evil.publish("zester.operator.alice.dispatch", pack(job))
    audited(fleet, r"by=\"alice\" error=\"'rxn-0123456789abcdef0123456789abcdef' is not a valid job id\"")


def test_a_reply_elsewhere_makes_no_master_publish_there(fleet, evil):
    """A policy of one's own: what a stream has, published by the server or by a master under the key of the policy."""
    before = fleet.zester_json("operator", "show", "alice")
    for tokens in ("js.STREAM.MSG.GET.KV_facts", "js.STREAM.INFO.KV_facts", "target.resolve", "dispatch", "nonsense"):
        evil.publish(f"zester.operator.alice.{tokens}", b'{"last_by_subj":"$KV.facts.web-01"}', reply="$KV.operators.alice")
    evil.flush()
    audited(fleet, r'by="alice" error="reply subject is not an inbox of this operator"')
    run_as(fleet, "alice", "web-01", "test.ping")
    assert fleet.zester_json("operator", "show", "alice") == before


def test_an_operator_who_is_refused_all_the_time_does_not_fill_the_log(fleet):
    add(fleet, "flo", "--role", "viewer")
    with Client(fleet.port, creds(fleet, "flo"), fleet.auth / "nats-ca.crt") as client:
        for _ in range(5000):
            client.publish("zester.operator.flo.nonsense", reply="_INBOX._operator.flo.x")
        client.flush()
    fleet.wait(lambda: fleet.master.has_logged("further refusals are neither logged nor answered for a minute operator=flo"), "it is said")
    assert "web-01" in run_as(fleet, "flo", "peel", "list").stdout  # comes after all of them
    assert sum('by=\\"flo\\" error' in line for line in fleet.master.log().splitlines()) == 1000


ACTS = ["dispatch", "target.resolve", "job.J1.cancel", "event._admin.send.a.b", "admin.job.approve", "admin.enroll.approve", "admin.peel.delete",
        "admin.fileserver.update", "reactor.test", "update.rollout.start", "js.STREAM.MSG.GET.KV_jobs", "js.CONSUMER.CREATE.KV_jobs.o1"]
NONSENSE = [b"", b"\xc1", b"{}", b"\x80", b"not msgpack", b"\xdf\xff\xff\xff\xff", b"\x81\xa1a" * 5000 + b"\xc0"]


def test_nonsense_ends_no_master(fleet, evil):
    for tokens in ACTS:
        for payload in NONSENSE:
            evil.publish(f"zester.operator.alice.{tokens}", payload)
            evil.publish(f"zester.operator.root-anna.{tokens}", payload)  # refused by the server
    with Client(fleet.port, creds(fleet, "root-anna"), fleet.auth / "nats-ca.crt") as admin:
        for tokens in ACTS:
            for payload in NONSENSE:
                admin.publish(f"zester.operator.root-anna.{tokens}", payload)
        admin.flush()
    run_as(fleet, "alice", "web-01", "test.ping")


UNKNOWN = ["js.CONSUMER.MSG.NEXT.events.reactor", "js.CONSUMER.DELETE.events.reactor", "js.CONSUMER.CREATE.events.reactor",
           "js.CONSUMER.DURABLE.CREATE.events.x", "js.STREAM.DELETE.events", "js.STREAM.PURGE.events", "js.STREAM.MSG.DELETE.events",
           "admin.audit", "admin.operator.remove", "cmd.web-01", "update.cmd.web-01", "job.J1.return.web-01", "operator.vera.dispatch"]


def test_masters_pass_on_only_what_the_table_has(fleet, evil):
    refusal = r'result=refused by="alice" error="permission denied: requires admin.creds'
    before = sum(bool(re.search(refusal, line["msg"])) for line in fleet.master.lines())
    for tokens in UNKNOWN:
        evil.publish(f"zester.operator.alice.{tokens}", b"{}")
    evil.flush()
    fleet.wait(lambda: sum(bool(re.search(refusal, line["msg"])) for line in fleet.master.lines()) == before + len(UNKNOWN), "all are refused")


# --- time, and the end --------------------------------------------------------------------


def test_a_change_counts_at_once_and_credentials_stay(fleet):
    add(fleet, "carl", "--function", "test.ping")
    assert "may not run 'test.version'" in refused(fleet, "carl", "web-01", "test.version")
    fleet.zester("operator", "set", "carl", "--function", "test.*", "--target", "db*")
    run_as(fleet, "carl", "db-01", "test.version")
    assert "leaves out web-01" in refused(fleet, "carl", "web-01", "test.version")
    shown = fleet.zester_json("operator", "show", "carl")
    assert shown["functions"] == ["test.*"] and shown["target"] == "db*" and shown["state"] == "active" and len(shown["keys"]) == 1


def test_credentials_end_after_their_time_and_new_ones_work(fleet):
    add(fleet, "tim", "--expires", "3s")
    with Client(fleet.port, creds(fleet, "tim"), fleet.auth / "nats-ca.crt") as client:
        fleet.wait(lambda: client.flush() or client.is_closed, "the server cuts the connection")
    assert "the credentials of operator 'tim' have expired: ask for new ones" in refused(fleet, "tim", "web-01", "test.ping")
    assert fleet.zester_json("operator", "show", "tim")["state"] == "expired"
    fleet.zester("operator", "issue", "tim", "--expires", "8h", "--dir", fleet.auth, "--out", creds(fleet, "tim"), status=1)  # never overwritten
    creds(fleet, "tim").unlink()
    fleet.zester("operator", "issue", "tim", "--expires", "8h", "--dir", fleet.auth, "--out", creds(fleet, "tim"))
    run_as(fleet, "tim", "web-01", "test.ping")
    assert creds(fleet, "tim").stat().st_mode & 0o777 == 0o600


def test_who_is_removed_is_cut_off_and_stays_out(fleet):
    add(fleet, "rita")
    run_as(fleet, "rita", "web-01", "test.ping")
    with Client(fleet.port, creds(fleet, "rita"), fleet.auth / "nats-ca.crt") as client:
        assert fleet.zester("operator", "remove", "rita").stdout == "rita removed: credentials revoked\n"
        fleet.wait(lambda: client.flush() or client.is_closed, "the server cuts the connection")
    assert "authorization" in refused(fleet, "rita", "web-01", "test.ping").lower()
    audited(fleet, r'audit action=operator\.remove result=ok by=".+" id="rita"')
    assert "no such operator" in fleet.zester("operator", "remove", "ghost", status=1).stderr
    creds(fleet, "rita").rename(fleet.folder / "old.creds")
    add(fleet, "rita")  # a new one of that name does not bring the old key back
    run_as(fleet, "rita", "web-01", "test.ping")
    assert "authorization" in refused(fleet, "old", "web-01", "test.ping").lower()


def test_who_was_added_by_a_clock_that_is_ahead_is_cut_off_as_well(fleet):
    add(fleet, "ines", environment=fleet.wrong_clock(120))
    run_as(fleet, "ines", "web-01", "test.ping")
    fleet.zester("operator", "remove", "ines")
    assert "authorization" in refused(fleet, "ines", "web-01", "test.ping").lower()


def test_a_master_whose_disk_knows_of_no_removal_lets_nobody_in_again(fleet):
    claims = fleet.auth / "account.jwt"
    before = claims.read_text()
    for name in ("rosa", "rolf"):
        add(fleet, name)
    fleet.zester("operator", "remove", "rosa")
    fleet.master.kill()
    claims.write_text(before)
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.zester("operator", "remove", "rolf")  # the whole list goes to the servers
    for name in ("rosa", "rolf"):
        assert "authorization" in refused(fleet, name, "web-01", "test.ping").lower()
    run_as(fleet, "alice", "web-01", "test.ping")


@pytest.mark.parametrize("words, problem", [
    (("add", "a.b"), "not a valid operator name"), (("add", "admin"), "reserved for the holder of admin.creds"),
    (("add", "x", "--role", "boss"), "boss"), (("add", "x", "--target", "G@"), "--target"), (("add", "alice"), "operator 'alice' already exists"),
    (("add", "x", "--role", "viewer", "--function", "a"), "the role 'viewer' runs none"), (("set", "alice"), "nothing to change"),
    (("set", "nobody", "--role", "viewer"), "no such operator: 'nobody'; 'zester operator list' lists"), (("show", "nobody"), "no such operator"),
    (("add", "x", "--function", "test"), "'test' matches no function"), (("add", "x", "--function", ""), "'' matches no function"),
    (("add", "x", "--approval", "Cmd.run"), "--approval: 'Cmd.run' matches no function"), (("set", "alice", "--function", "test ping"), "matches no function"),
    (("add", "x", "--out", "none/x.creds"), "folder 'none' for the credentials does not exist")])
def test_mistakes_are_reported_and_change_nothing(fleet, words, problem):
    extra = ("--dir", fleet.auth) if words[0] == "add" else ()
    extra += ("--out", fleet.folder / "mistake.creds") if extra and "--out" not in words else ()
    assert problem in fleet.zester("operator", *words, *extra, status=1).stderr
    assert not (fleet.folder / "mistake.creds").exists()
    assert "no such operator" in fleet.zester("operator", "show", "x", status=1).stderr


def test_whoever_is_refused_is_told_what_to_do(fleet):
    add(fleet, "ruth")
    assert refused(fleet, "ruth", "operator", "list") == "zester operator list: operator 'ruth' may not read 'KV_operators': the role is 'operator'\n"
    for words in (("job", "approve", "nothing"), ("job", "reject", "nothing")):
        assert "no such job waits for approval: 'zester job approvals' lists those that do" in refused(fleet, "ruth", *words)
    assert "'a b' is not a valid job id" in refused(fleet, "ruth", "job", "approve", "a b")
    fleet.zester("operator", "remove", "ruth")
    assert "operator 'ruth' was removed: 'zester operator add ruth' makes a new one" in fleet.zester(
        "operator", "issue", "ruth", "--dir", fleet.auth, "--out", fleet.folder / "again.creds", status=1).stderr
    doctor = run_as(fleet, "ruth", "doctor", status=1)
    assert "ask an administrator: 'zester operator show ruth'" in doctor.stdout and "copy admin.creds" not in doctor.stdout


def test_without_a_master_an_operator_with_a_name_sees_why(fleet):
    fleet.master.stop()
    try:
        for words in (("web-01", "test.ping"), ("job", "show", "2xY"), ("job", "approve", "2xY")):
            assert "no master is running" in refused(fleet, "alice", *words)
        assert "is a master running?" in refused(fleet, "alice", "job", "approvals")
    finally:
        fleet.master.start()
        fleet.wait_ready(fleet.master)


def test_while_masters_stand_still_an_operator_with_a_name_sees_what_that_means(fleet):
    fleet.master.send(signal.SIGSTOP)
    try:
        said = refused(fleet, "alice", "web-01", "test.ping")
        assert "no answer within 5 s: a busy or stopped master" in said and "'zester doctor' checks the masters" in said
        assert "is a master running? 'zester doctor' checks them" in refused(fleet, "alice", "job", "show", "2xY")
    finally:
        fleet.master.send(signal.SIGCONT)
    run_as(fleet, "alice", "web-01", "test.ping")


# --- a second person ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(fleet):
    add(fleet, "olga", "--approval", "cmd.*")
    add(fleet, "otto", "--approval", "cmd.*")
    add(fleet, "oscar", "--function", "test.*")
    return fleet


def ask(fleet, tmp_path, name="olga"):
    mark = tmp_path / "mark"
    answer = json_as(fleet, name, "web-01", "cmd.run", f"echo done >> {mark}")
    assert answer["approval"] == "pending" and not mark.exists()
    return answer["jid"], mark


def test_a_job_waits_for_another_person_and_runs_once(pair, tmp_path):
    run_as(pair, "olga", "web-01", "test.ping")  # does not need it
    jid, mark = ask(pair, tmp_path)
    waiting, = [one for one in json_as(pair, "otto", "job", "approvals") if one["jid"] == jid]
    assert (waiting["state"], waiting["asked_by"], waiting["function"], waiting["targets"]) == ("pending", "olga", "cmd.run", ["web-01"])
    assert f"job {jid} waits for approval" in refused(pair, "olga", "job", "watch", jid)
    assert "another person has to decide" in refused(pair, "olga", "job", "approve", jid)
    assert "may not run 'cmd.run'" in refused(pair, "oscar", "job", "approve", jid)
    assert "the role is 'viewer'" in refused(pair, "vera", "job", "approve", jid)
    assert "approved" in run_as(pair, "otto", "job", "approve", jid).stdout
    pair.wait(lambda: read_marks(mark) == ["done"], "it has run")
    assert "it no longer waits" in refused(pair, "otto", "job", "approve", jid)
    assert "it no longer waits" in pair.zester("job", "reject", jid, status=1).stderr
    record = json_as(pair, "olga", "job", "show", jid)["job"]
    assert record["user"] == "olga" and record["metadata"] == {"operator": "olga", "approved_by": "otto"}
    assert read_marks(mark) == ["done"]
    audited(pair, rf'audit action=job\.wait result=ok by="olga" id="{jid}"')
    audited(pair, rf'audit action=job\.approve result=refused by="olga" id="{jid}"')
    audited(pair, rf'audit action=job\.approve result=ok by="otto" id="{jid}" function="cmd\.run" target="web-01"')
    audited(pair, rf'audit action=job\.dispatch result=ok by="olga" id="{jid}"')


@pytest.mark.parametrize("words", [
    ("cmd.shell", "touch {mark}"), ("cmd.run_all", "touch {mark}"), ("state.single", "cmd.run", "name=touch {mark}"), ("state.apply", "any"),
    ("schedule.add", "x", "function=cmd.run", "args={{command: touch {mark}}}", "interval=1s"), ("test.nop", "name=x", "onlyif=touch {mark}"),
    ("pip.list", "bin={program}"), ("pip.list", "{program}"), ("state.single", "gem.installed", "name=x", "gem_bin={program}"),
    ("environ.setenv", "BASH_ENV", "value=$(touch {mark})"), ("kepler.running", "{mark}.yaml", "contents=x"),
    ("cron.env_present", "SHELL", "value={program}")])
def test_what_needs_a_second_person_is_not_walked_around(pair, tmp_path, words):
    if not creds(pair, "bea").exists():
        add(pair, "bea", "--approval", "cmd.run")
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    answer = json_as(pair, "bea", "web-01", *(word.format(mark=mark, program=program) for word in words))
    assert answer["approval"] == "pending" and not mark.exists()
    run_as(pair, "bea", "web-01", "test.ping")
    run_as(pair, "otto", "job", "reject", answer["jid"], "--reason", "no")


def test_the_text_says_how_to_go_on(pair):
    result = run_as(pair, "olga", "web-01", "cmd.run", "true")
    jid = result.stdout.strip()
    assert f"Job {jid} waits for approval: zester job approve {jid}\n" in result.stderr
    assert pair.zester("job", "approve", jid).stdout.startswith(f"Job {jid} approved")  # admin.creds, as 'admin'
    audited(pair, rf'audit action=job\.approve result=ok by="admin" id="{jid}"')


def test_who_decides_sees_the_gate_and_which_arguments_are_secret(pair):
    words = ("cmd.run", "true", "--batch", "1", "--gate", "test.version x", "--secret", "stdin=env:PRIVATE")
    result = run_as(pair, "olga", "web-01", *words, "--format", "json", environment={"PRIVATE": "geheim"})
    jid = json.loads(result.stdout)["jid"]
    shown, = [one for one in json_as(pair, "otto", "job", "approvals") if one["jid"] == jid]
    assert shown["metadata"]["gate"] == "test.version x" and shown["sealed_args"] == {"stdin": "***"}, shown
    run_as(pair, "otto", "job", "reject", jid, "--reason", "no")


def test_a_rejected_job_never_runs(pair, tmp_path):
    jid, mark = ask(pair, tmp_path)
    assert run_as(pair, "otto", "job", "reject", jid, "--reason", "not today").stdout == f"Job {jid} rejected\n"
    found, = [one for one in json_as(pair, "olga", "job", "approvals") if one["jid"] == jid]
    assert (found["state"], found["decided_by"], found["reason"]) == ("rejected", "otto", "not today")
    assert "rejected by otto" in refused(pair, "otto", "job", "approve", jid)
    assert "was not dispatched: rejected by otto: not today" in refused(pair, "olga", "job", "show", jid)
    assert not mark.exists()
    assert "no such job waits" in pair.zester("job", "approve", "nothing", status=1).stderr


def test_of_two_decisions_at_once_exactly_one_counts(pair, tmp_path):
    jid, mark = ask(pair, tmp_path)
    common = ("--master", pair.url, "--nats-ca", str(pair.auth / "nats-ca.crt"), "--creds", str(creds(pair, "otto")))
    deciders = [subprocess.Popen([f"{BUILD}/zester", "job", verb, jid, *common], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for verb in ("approve", "reject") * 2]
    statuses = [decider.wait(SECONDS) for decider in deciders]
    assert sorted(statuses) == [0, 1, 1, 1]
    state, = [one["state"] for one in json_as(pair, "olga", "job", "approvals") if one["jid"] == jid]
    if statuses.index(0) % 2 == 0:
        pair.wait(lambda: read_marks(mark) == ["done"], "it has run")
    else:
        assert state == "rejected" and not mark.exists()


def test_a_job_of_somebody_who_was_removed_is_not_approved(pair, tmp_path):
    add(pair, "olaf", "--approval", "*")
    jid, mark = ask(pair, tmp_path, "olaf")
    pair.zester("operator", "remove", "olaf")
    assert "no longer an operator" in refused(pair, "otto", "job", "approve", jid)
    assert not mark.exists()


def test_an_approved_job_runs_although_the_master_dies_before_it_sends_it(pair, tmp_path):
    jid, mark = ask(pair, tmp_path)
    pair.master.kill()
    pair.master.environment = {"ZESTER_CRASH": "job-approved:1:0"}
    pair.master.start()
    pair.wait_ready(pair.master)
    run_as(pair, "otto", "job", "approve", jid, "--timeout", "3s", status=1)
    pair.master.process.wait(SECONDS)
    assert not mark.exists()
    pair.master.environment = None
    pair.master.start()
    pair.wait_ready(pair.master)
    pair.wait(lambda: read_marks(mark) == ["done"], "another master sends it")
    pair.wait(lambda: [one["state"] for one in json_as(pair, "olga", "job", "approvals") if one["jid"] == jid] == ["dispatched"], "it is on record")
    assert read_marks(mark) == ["done"]
