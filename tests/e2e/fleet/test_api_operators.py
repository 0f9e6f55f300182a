"""Tokens of the API with the policies of operators: what somebody may not do over the bus, their token may not do over HTTPS."""
import json
import time

import pytest

from api_client import Api
from fleet import SECONDS, SERVER, Fleet, read_marks
from peels import start_peel, write_secret

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

TOKENS = [
    {"username": "root"},
    {"username": "laptop", "operator": "alice"},
    {"username": "phone", "operator": "otto"},
    {"username": "screen", "operator": "vera"},
    {"username": "gone", "operator": "rita"},
    {"username": "nobody", "operator": "nobody"},
    {"username": "boss", "operator": "root-anna"},
    {"username": "deploy", "role": "operator", "target": "web*", "functions": ["test.*", "cmd.run"], "approvals": ["test.version"]},
    {"username": "door", "role": "enroller"},
    {"username": "tv", "role": "viewer"},
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_server()
        for token in TOKENS:
            write_secret(fleet.auth / token["username"], secret(token["username"]))
        fleet.master = fleet.start_ready_master(api={"tokens": [{**token, "token_file": token["username"]} for token in TOKENS]})
        for peel in ("web-01", "db-01"):
            start_peel(fleet, fleet.master, peel)
        add(fleet, "alice", "--target", "web*", "--function", "test.*", "--function", "cmd.run", "--approval", "cmd.run")
        add(fleet, "otto")
        add(fleet, "vera", "--role", "viewer")
        add(fleet, "rita")
        add(fleet, "root-anna", "--role", "admin")
        yield fleet


def secret(name):
    return f"the-secret-of-{name}"


def add(fleet, name, *words):
    fleet.zester("operator", "add", name, *words, "--dir", fleet.auth, "--out", fleet.folder / f"{name}.creds")


def run_as(fleet, name, *words, **more):
    return fleet.run("zester", *words, "--master", fleet.url, "--nats-ca", fleet.auth / "nats-ca.crt", "--creds", fleet.folder / f"{name}.creds", **more)


def api(fleet, name):
    return Api(fleet.master, fleet.auth / "ca/root.crt", secret(name))


def run_job(fleet, name, target, function, **args):
    return api(fleet, name).post("jobs", {"target": target, "function": function, "args": args})


def forbidden(answer, text):
    assert answer.status == 403 and text in answer.json()["error"], answer


def wait_ended(fleet, jid):
    def ended():
        shown = api(fleet, "root").get(f"jobs/{jid}")
        return shown.json() if shown.status == 200 and shown.json()["status"] not in ("pending", "claimed", "running") else None
    return fleet.wait(ended, f"job {jid} has ended")


def audited(fleet, *words):
    fleet.wait(lambda: any("audit action=" in line and all(word in line for word in words) for line in fleet.master.log().splitlines()), f"audit {words}")


# --- jobs -----------------------------------------------------------------------------

def test_a_token_of_an_operator_runs_jobs_as_that_operator(fleet):
    answer = run_job(fleet, "laptop", "web*", "test.ping")
    assert answer.status == 202 and answer.json()["targets"] == ["web-01"], answer
    record = wait_ended(fleet, answer.json()["jid"])["job"]
    assert record["user"] == "alice" and record["metadata"] == {"operator": "alice", "api_token": "laptop"}, record
    audited(fleet, "action=job.dispatch", "result=ok", 'by=\\"alice\\"', record["jid"])
    fleet.wait(lambda: any("http.request.complete" in line and "alice" in line and "laptop" in line for line in fleet.master.log().splitlines()), "both names are logged")


def test_functions_and_targets_of_a_token_are_checked_when_the_targets_are_known(fleet, tmp_path):
    mark = tmp_path / "mark"
    for name, who in (("laptop", "alice"), ("deploy", "api:deploy")):
        forbidden(run_job(fleet, name, "web-01", "state.apply"), f"operator '{who}' may not run 'state.apply'")
        forbidden(run_job(fleet, name, "*", "cmd.run", command=f"echo x >> {mark}"), "is limited to 'web*', which leaves out db-01")
        forbidden(run_job(fleet, name, "G@id:db-01", "test.ping"), "leaves out db-01")
        forbidden(api(fleet, name).post("jobs", {"targets": ["web-01", "db-01"], "function": "test.ping"}), "leaves out db-01")
        audited(fleet, "action=job.dispatch", "result=refused", who, "state.apply")
    assert not mark.exists()
    assert wait_ended(fleet, run_job(fleet, "deploy", "web-01", "test.ping").json()["jid"])["job"]["user"] == "api:deploy"


def test_a_change_of_the_policy_counts_at_once(fleet):
    add(fleet, "carl", "--function", "test.ping")
    fleet.zester("operator", "set", "alice", "--target", "db*")
    forbidden(run_job(fleet, "laptop", "web-01", "test.ping"), "is limited to 'db*', which leaves out web-01")
    fleet.zester("operator", "set", "alice", "--target", "N@nothing")
    forbidden(run_job(fleet, "laptop", "web-01", "test.ping"), "the target 'N@nothing' of operator 'alice'")
    fleet.zester("operator", "set", "alice", "--target", "web*")
    assert run_job(fleet, "laptop", "web-01", "test.ping").status == 202


def test_metadata_cannot_pretend_to_be_of_a_master_or_of_somebody_else(fleet):
    for key in ("operator", "approved_by", "source", "api_token", "reactor_depth"):
        answer = api(fleet, "deploy").post("jobs", {"target": "web-01", "function": "test.ping", "metadata": {key: "alice"}})
        assert answer.status == 400 and f"'{key}' is reserved" in answer.text, answer
    answer = api(fleet, "deploy").post("jobs", {"target": "web-01", "function": "test.ping", "jid": "rxn-0123456789abcdef0123456789abcdef"})
    assert answer.status == 400 and "are reserved for reactions" in answer.text, answer


def test_a_token_cancels_only_jobs_of_its_own(fleet):
    other = run_job(fleet, "root", "web-01", "cmd.run", command="sleep 600").json()["jid"]
    own = run_job(fleet, "deploy", "web-01", "cmd.run", command="sleep 600").json()["jid"]
    forbidden(api(fleet, "deploy").post(f"jobs/{other}/cancel"), "may cancel only jobs of their own")
    forbidden(api(fleet, "laptop").post(f"jobs/{own}/cancel"), "may cancel only jobs of their own")
    assert api(fleet, "deploy").post(f"jobs/{own}/cancel").status == 202
    assert wait_ended(fleet, own)["status"] == "canceled"
    assert api(fleet, "boss").post(f"jobs/{other}/cancel").status == 202
    assert wait_ended(fleet, other)["status"] == "canceled"
    audited(fleet, "action=job.kill", "result=refused", "api:deploy", other)


# --- a second person ------------------------------------------------------------------

def test_a_job_that_needs_a_second_person_waits_and_the_same_person_is_no_other(fleet, tmp_path):
    mark = tmp_path / "mark"
    answer = run_job(fleet, "laptop", "web-01", "cmd.run", command=f"echo done >> {mark}")
    jid = answer.json()["jid"]
    assert answer.status == 202 and answer.json() == {"jid": jid, "targets": ["web-01"], "status": "pending", "approval": "pending"}, answer
    shown = api(fleet, "laptop").get(f"jobs/{jid}")
    assert shown.status == 404 and "waits for approval" in shown.json()["error"], shown
    assert "another person has to decide" in run_as(fleet, "alice", "job", "approve", jid, status=1).stderr  # over the bus: the same alice
    assert not mark.exists()
    run_as(fleet, "otto", "job", "approve", jid)
    assert wait_ended(fleet, jid)["job"]["metadata"] == {"operator": "alice", "api_token": "laptop", "approved_by": "otto"}
    assert read_marks(mark) == ["done"]


def test_a_token_with_a_policy_of_its_own_waits_for_a_second_person_too(fleet):
    jid = run_job(fleet, "deploy", "web-01", "test.version").json()["jid"]
    waiting, = [one for one in json.loads(run_as(fleet, "otto", "job", "approvals", "--format", "json").stdout) if one["jid"] == jid]
    assert waiting["asked_by"] == "api:deploy" and waiting["state"] == "pending"
    run_as(fleet, "otto", "job", "approve", jid)
    assert wait_ended(fleet, jid)["job"]["user"] == "api:deploy"
    jid = run_job(fleet, "deploy", "web-01", "test.version").json()["jid"]
    run_as(fleet, "otto", "job", "reject", jid, "--reason", "not today")
    answer = api(fleet, "deploy").get(f"jobs/{jid}")
    assert answer.status == 404 and "was not dispatched: rejected by otto: not today" in answer.json()["error"], answer


def waits(fleet, name, jid):
    return [one["state"] for one in api(fleet, name).get("approvals?state=pending").json() if one["jid"] == jid] == ["pending"]


@pytest.mark.parametrize("asker, function, args", [("laptop", "cmd.run", {"command": "true"}), ("deploy", "test.version", {})])
def test_a_second_person_decides_over_https_and_never_the_one_who_asked(fleet, asker, function, args):
    jid = run_job(fleet, asker, "web-01", function, **args).json()["jid"]
    for reader in ("screen", "phone", "tv"):
        assert waits(fleet, reader, jid)
    assert api(fleet, "door").get("approvals").status == 403
    refused = api(fleet, asker).post(f"approvals/{jid}/approve", {})
    assert refused.status == 403 and "another person has to decide" in refused.json()["error"], refused
    assert api(fleet, asker).post(f"approvals/{jid}/reject", {}).status == 403
    for reader in ("screen", "tv", "door"):  # these roles decide nothing
        assert api(fleet, reader).post(f"approvals/{jid}/approve", {}).status == 403
    assert waits(fleet, "phone", jid)
    audited(fleet, "action=job.approve", "result=refused", jid)
    answer = api(fleet, "phone").post(f"approvals/{jid}/approve", {"reason": "looks fine"})
    assert answer.status == 200 and answer.json() == {"jid": jid, "approval": "approved"}, answer
    assert wait_ended(fleet, jid)["job"]["metadata"]["approved_by"] == "otto"
    again = api(fleet, "boss").post(f"approvals/{jid}/reject", {})
    assert again.status == 409 and "it no longer waits: approved by otto" in again.json()["error"], again


def test_who_may_not_run_a_job_does_not_approve_it_and_a_rejected_one_never_runs(fleet):
    add(fleet, "paul", "--approval", "state.*")
    jid = json.loads(run_as(fleet, "paul", "db-01", "state.apply", "x", "--async", "--format", "json").stdout)["jid"]
    outside = api(fleet, "deploy").post(f"approvals/{jid}/approve", {})
    assert outside.status == 403 and "may not run 'state.apply'" in outside.json()["error"], outside
    answer = api(fleet, "boss").post(f"approvals/{jid}/reject", {"reason": "not today"})
    assert answer.status == 200 and answer.json()["approval"] == "rejected", answer
    found, = [one for one in api(fleet, "phone").get("approvals?state=rejected").json() if one["jid"] == jid]
    assert (found["asked_by"], found["decided_by"], found["reason"], found["targets"]) == ("paul", "root-anna", "not today", ["db-01"])
    assert api(fleet, "phone").get(f"jobs/{jid}").status == 404


def test_a_decision_about_nothing_and_a_mistake_in_it_are_answered(fleet):
    for name in ("3FdMzNOSUCHJOB", "a.b", "%2e%2e", "*"):
        assert api(fleet, "phone").post(f"approvals/{name}/approve", {}).status == 404
    assert api(fleet, "phone").get("approvals?state=wrong").status == 400
    assert api(fleet, "phone").post("approvals/x/approve", {"raison": "x"}).status == 400


def test_approvals_are_listed_in_pages(fleet):
    everything = api(fleet, "phone").get("approvals").json()
    page = api(fleet, "phone").get("approvals?limit=1&offset=1")
    assert len(everything) > 1 and page.json() == everything[1:2] and page.headers["X-Total-Count"] == str(len(everything))


# --- reading, enrollments, events -----------------------------------------------------

READABLE = {  # path -> tokens that may
    "jobs": {"laptop", "screen", "tv", "boss", "deploy"}, "peels": {"laptop", "screen", "tv", "boss", "deploy"},
    "peels/web-01/facts": {"laptop", "screen", "tv", "boss", "deploy"}, "targets?expr=web*": {"laptop", "screen", "tv", "boss", "deploy", "door"},
    "peels/web-01/settings": {"boss"}, "enrollments": {"boss", "door"}}


@pytest.mark.parametrize("path", READABLE)
def test_a_token_reads_what_an_operator_of_its_role_reads(fleet, path):
    seen = {name for name in ("laptop", "screen", "tv", "boss", "deploy", "door") if api(fleet, name).get(path).status != 403}
    assert seen == READABLE[path]
    assert api(fleet, "root").get(path).status in (200, 404)


def test_only_enrollers_and_admins_decide_about_machines(fleet):
    for verb in ("approve", "reject", "revoke"):
        for name in ("laptop", "screen", "tv", "deploy"):
            forbidden(api(fleet, name).post(f"enrollments/enr-none/{verb}", {}), f"may not do this (enroll.{verb})")
        for name in ("door", "boss"):
            assert api(fleet, name).post(f"enrollments/enr-none/{verb}", {}).status == 404
    for name in ("door", "boss", "laptop"):  # over the bus it needs admin.creds
        forbidden(api(fleet, name).post("enrollments/pause", {}), "admin.creds")
    assert api(fleet, "root").post("enrollments/resume", {}).status == 200
    audited(fleet, "action=enroll.revoke", "result=refused", "api:deploy", "enr-none")


def test_events_need_their_function(fleet):
    for name in ("laptop", "deploy"):
        forbidden(api(fleet, name).post("events", {"tag": "a/b"}), "may not run 'event.send'")
    forbidden(api(fleet, "screen").post("events", {"tag": "a/b"}), "may not do this (event.send)")
    assert api(fleet, "phone").post("events", {"tag": "a/b"}).status == 202
    forbidden(api(fleet, "door").get("events/stream"), "may not read 'events'")


# --- the end --------------------------------------------------------------------------

def test_the_token_of_an_operator_who_is_removed_stops_at_once(fleet):
    rita = api(fleet, "gone")
    assert rita.get("jobs").status == 200
    stream = rita.stream("events/stream?match=nothing*")
    assert stream.status == 200
    fleet.zester("operator", "remove", "rita")
    answer = rita.get("jobs")
    assert answer.status == 401 and answer.json()["error"] == "operator 'rita' was removed", answer
    assert rita.post("jobs", {"target": "*", "function": "test.ping"}).status == 401
    began = time.monotonic()
    assert list(stream.events()) == [("error", {"error": "the token of this stream is no longer valid"})]
    assert time.monotonic() - began < 8  # not with the next beat
    answer = api(fleet, "nobody").get("jobs")
    assert answer.status == 401 and "no such operator: 'nobody'" in answer.json()["error"], answer


def test_a_stream_ends_when_the_role_no_longer_reads_it(fleet):
    stream = api(fleet, "phone").stream("events/stream?match=nothing*")
    fleet.zester("operator", "set", "otto", "--role", "enroller")
    assert [name for name, _ in stream.events()] == ["error"]
    assert api(fleet, "phone").get("jobs").status == 403
    fleet.zester("operator", "set", "otto", "--role", "operator")
    assert api(fleet, "phone").get("jobs").status == 200


def test_a_token_ends_with_the_last_credentials_of_its_operator(fleet):
    fleet.zester("operator", "add", "nobody", "--expires", "3s", "--dir", fleet.auth, "--out", fleet.folder / "nobody.creds")
    assert api(fleet, "nobody").get("jobs").status == 200
    answer = fleet.wait(lambda: (lambda one: one if one.status == 401 else None)(api(fleet, "nobody").get("jobs")), "they have expired")
    assert "the credentials of operator 'nobody' have expired" in answer.json()["error"]


def test_the_master_ends_well_after_all_of_it(fleet):
    stream = api(fleet, "laptop").stream("events/stream")
    assert stream.status == 200 and fleet.master.stop(seconds=SECONDS) == 0
    assert list(stream.events()) == []
