"""The fleet over HTTPS: what programs with a token can do, and what the others cannot."""
import json
import pathlib
import signal
import time

import pytest

from api_client import Api
from fleet import SECONDS, SERVER, Fleet, read_marks
from peels import start_peel, write_secret

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

ADMIN, VIEWER = "correct-horse-battery-staple", "look-but-do-not-touch-me"
PEELS = ["web-01", "web-02"]
TOP = pathlib.Path(__file__).parents[3]


class ApiFleet(Fleet):
    """One master with two tokens, and two peels."""

    def __init__(self, folder):
        super().__init__(folder)
        self.start_server()
        tokens = self.auth / "api-tokens"
        tokens.mkdir()
        write_secret(tokens / "ci", ADMIN + "\n")
        (tokens / "screen").write_text(VIEWER)
        (tokens / "screen").chmod(0o644)
        self.master = self.start_ready_master(api={"docs_enabled": True, "tokens": [
            {"username": "ci", "token_file": str(tokens / "ci")},
            {"username": "screen", "token_file": "api-tokens/screen", "role": "viewer"}]})
        self.peels = {name: start_peel(self, self.master, name) for name in PEELS}
        self.api = self.client(ADMIN)

    def client(self, token=None):
        return Api(self.master, self.auth / "ca/root.crt", token)

    def wait_job(self, jid):
        """Until it has ended; returns what the API shows of it."""
        def ended():
            shown = self.api.get(f"jobs/{jid}").json()
            return shown if shown["status"] not in ("pending", "claimed", "running") else None
        return self.wait(ended, f"job {jid} has ended")

    def run_job(self, **body):
        answer = self.api.post("jobs", body)
        assert answer.status == 202, answer
        return self.wait_job(answer.json()["jid"])


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with ApiFleet(tmp_path_factory.mktemp("api")) as fleet:
        yield fleet


def audit_lines(fleet, *words):
    return [line for line in fleet.master.log().splitlines() if "audit action=" in line and all(word in line for word in words)]


# --- who may --------------------------------------------------------------------------

@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {ADMIN}"}, {"Authorization": "Bearer "},
                                     {"Authorization": f"Bearer {ADMIN}x"}, {"Authorization": f"Bearer {ADMIN[:-1]}"}])
def test_a_request_without_a_right_token_is_refused(fleet, headers):
    answer = fleet.client().get("jobs", headers={"X-Request-ID": "who-is-it", **headers})
    assert answer.status == 401 and "token" in answer.json()["error"], answer
    assert answer.headers["WWW-Authenticate"].startswith("Bearer") and answer.headers["X-Request-ID"] == "who-is-it"
    fleet.wait(lambda: any("http.request.unauthorized" in line and "who-is-it" in line for line in fleet.master.log().splitlines()), "it is logged")


def test_a_viewer_looks_and_changes_nothing(fleet):
    viewer = fleet.client(VIEWER)
    assert viewer.get("peels").status == 200 and viewer.get("jobs").status == 200
    for path, body in [("jobs", {"target": "*", "function": "test.ping"}), ("events", {"tag": "a/b"}), ("enrollments/web-01/revoke", {}), ("jobs/x/cancel", {})]:
        answer = viewer.post(path, body)
        assert answer.status == 403 and "viewer" in answer.json()["error"], answer


def test_a_secret_is_replaced_by_replacing_its_file(fleet):
    path = fleet.auth / "api-tokens/screen"
    old, new = fleet.client(VIEWER), fleet.client("a-new-secret-for-the-screen")
    assert old.get("jobs").status == 200 and new.get("jobs").status == 401
    path.write_text("a-new-secret-for-the-screen\n")
    assert old.get("jobs").status == 401 and new.get("jobs").status == 200
    path.write_text("\n")
    assert new.get("jobs").status == 401 and fleet.client("").get("jobs").status == 401
    path.unlink()
    assert new.get("jobs").status == 401
    path.write_text(VIEWER)
    assert old.get("jobs").status == 200


def test_a_token_file_that_others_can_read_is_reported_at_the_start(fleet):
    lines = [line for line in fleet.master.lines() if "readable by others" in line["msg"]]
    assert len(lines) == 1 and "api-tokens/screen" in json.dumps(lines[0]), lines


def test_who_guesses_tokens_is_refused_for_a_while(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        write_secret(fleet.auth / "token", ADMIN)
        fleet.master = fleet.start_ready_master(api={"tokens": [{"username": "ci", "token_file": "token"}]})
        guesser = Api(fleet.master, fleet.auth / "ca/root.crt", "wrong")
        connection = guesser.connect()
        seen = []
        while 429 not in seen and len(seen) < 2000:
            guesser.send(connection, "GET", "jobs", None, None)
            answer = connection.getresponse()
            answer.read()
            seen.append(answer.status)
        assert seen[-1] == 429 and seen.count(401) >= 120, seen
        assert int(answer.headers["Retry-After"]) >= 1
        # docs are off by default: the path is not there
        assert guesser.get("docs").status == 404 and guesser.get("openapi.json").status == 404
        api = Api(fleet.master, fleet.auth / "ca/root.crt", ADMIN)
        fleet.wait(lambda: api.get("jobs").status == 200, "who has a token gets in again")
        # without tokens there is no API; a new configuration is enough
        fleet.master.conf["api"] = {"docs_enabled": True}
        fleet.master.conf_path.write_text(json.dumps(fleet.master.conf))
        fleet.master.send(signal.SIGHUP)
        fleet.wait(lambda: api.get("jobs").status == 404, "there is no API")
        assert api.post("jobs", {}).status == 404 and api.get("docs").status == 404 and api.call("DELETE", "jobs").status == 404


# --- requests -------------------------------------------------------------------------

def test_answers_carry_the_id_of_their_request(fleet):
    assert fleet.api.get("jobs", headers={"X-Request-ID": "ci/4711:a.b-c"}).headers["X-Request-ID"] == "ci/4711:a.b-c"
    ids = {fleet.api.get("jobs", headers={"X-Request-ID": bad}).headers["X-Request-ID"] for bad in ("a b", "x" * 129, 'a"b', "")}
    assert len(ids) == 4 and all(len(one) == 27 for one in ids)
    fleet.wait(lambda: fleet.master.has_logged("ci/4711:a.b-c"), "it is logged")
    line = next(line for line in fleet.master.log().splitlines() if "ci/4711:a.b-c" in line)
    assert "http.request.complete" in line and "status=200" in line and "api:ci" in line and "/api/v1/jobs" in line


def test_paths_and_methods_that_there_are_not(fleet):
    assert fleet.api.get("nothing").status == 404 and fleet.api.get("/api/v2/jobs").status == 404
    answer = fleet.api.call("DELETE", "jobs")
    assert answer.status == 405 and answer.headers["Allow"] == "POST, GET", answer.headers
    assert fleet.api.get("jobs/2x8RmcqCdbVJqVGJMGzK4TWGUZb").status == 404
    assert fleet.api.get("jobs/active.x").status == 404
    assert fleet.api.post("jobs/2x8RmcqCdbVJqVGJMGzK4TWGUZb/cancel").status == 404
    assert fleet.api.get("jobs/2x8RmcqCdbVJqVGJMGzK4TWGUZb/stream").status == 404


def test_a_body_that_is_too_large_is_refused(fleet):
    body = json.dumps({"target": "*", "function": "test.ping", "args": {"text": "x" * (1 << 20)}})
    answer = fleet.api.post("jobs", body)
    assert answer.status == 413 and "larger than 1048576 bytes" in answer.json()["error"], answer
    assert fleet.client().post("jobs", body).status == 401


def test_all_mistakes_of_a_body_are_reported_at_once(fleet):
    answer = fleet.api.post("jobs", {"target": "(web*", "functoin": "test.ping", "timeout": "soon", "batch": "0", "args": [1],
                                     "metadata": {"queue": "5", "ticket": "OPS-1"}, "jid": "a b"})
    assert answer.status == 400, answer
    errors = answer.json()["errors"]
    for words in ("functoin", "'function'", "'timeout'", "'batch'", "'args'", "'queue' is reserved", "'jid'", "parenthes"):
        assert any(words in error for error in errors), (words, errors)
    assert len(errors) == 8, errors
    assert any("did you mean 'function'?" in error for error in errors), errors


@pytest.mark.parametrize("body, words", [
    ("", "required"), ("[]", "must be an object"), ('{"a":', "body:1"), ('{"function": "test.ping"}', "one of 'target' and 'targets' is required"),
    ('{"target": "*", "targets": ["web-01"], "function": "test.ping"}', "cannot both be given"),
    ('{"target": "*", "function": "test.ping", "gate": "test.ping"}', "'gate' requires 'batch'"),
    ('{"target": "*", "function": "test.ping", "batch": "1", "revert_on_failure": "wave"}', "only runs of states can be reverted"),
    ('{"target": "*", "function": "test.ping", "batch": "1", "gate": "rm"}', "gate: 'rm' is not the name of a function"),
    ('{"target": "*", "function": "rm"}', "not the name of a function"), ('{"target": "*", "function": "test.ping", "max_failures": 1}', "requires 'batch'"),
    ('{"target": "*", "function": "test.ping", "timeout": 5}', "timeout"), ('{"target": "N@nobody", "function": "test.ping"}', "nobody")])
def test_a_job_that_makes_no_sense_is_refused(fleet, body, words):
    answer = fleet.api.post("jobs", body)
    assert answer.status == 400 and words in json.dumps(answer.json()), answer


def test_a_query_that_is_misspelt_is_refused(fleet):
    for path in ("jobs?stat=failed", "jobs?limit=0", "jobs?limit=x", "jobs?limit=1001", "jobs?status=done", "enrollments?state=odd", "targets", "targets?expr=("):
        answer = fleet.api.get(path)
        assert answer.status == 400 and answer.json()["error"], (path, answer)


# --- jobs -----------------------------------------------------------------------------

def test_a_job_runs_and_its_returns_are_shown(fleet):
    answer = fleet.api.post("jobs", {"target": "web-*", "function": "cmd.run", "args": {"command": "echo hello"}, "metadata": {"ticket": "OPS-1"}})
    assert answer.status == 202, answer
    jid = answer.json()["jid"]
    assert answer.json() == {"jid": jid, "targets": PEELS, "status": "running"} and answer.headers["X-Job-ID"] == jid
    shown = fleet.wait_job(jid)
    assert shown["status"] == "complete" and shown["job"]["user"] == "api:ci" and shown["job"]["metadata"] == {"ticket": "OPS-1"}
    assert shown["job"]["timeout"] == 60 * 10**9 and shown["job"]["target_expr"] == "web-*"
    assert [one["peel_id"] for one in shown["returns"]] == PEELS
    for one in shown["returns"]:
        assert one["status"] == "success" and one["success"] and one["results"][0]["details"]["stdout"].strip() == "hello" and one["duration"] > 0
    assert audit_lines(fleet, "action=job.dispatch", "result=ok", "api:ci", jid)
    # the same as on the command line
    told = fleet.zester_json("job", "show", jid)
    assert told["job"] == shown["job"]
    brief = fleet.api.get(f"jobs/{jid}?results=false")
    assert told["returns"] == brief.json()["returns"] and brief.headers["X-Total-Count"] == "2" and brief.headers["X-Job-ID"] == jid
    assert [one["peel_id"] for one in fleet.api.get(f"jobs/{jid}?limit=1&offset=1").json()["returns"]] == ["web-02"]


def test_targets_can_be_named(fleet):
    shown = fleet.run_job(targets=["web-02", "web-02"], function="test.ping")
    assert shown["job"]["targets"] == ["web-02"] and shown["job"]["target_expr"] == "L@web-02" and shown["status"] == "complete"
    answer = fleet.api.post("jobs", {"targets": ["web-01", "web-99", "web.98"], "function": "test.ping"})
    assert answer.status == 422 and len(answer.json()["errors"]) == 2 and "'web-99'" in answer.text, answer


def test_a_target_that_nobody_matches_is_an_error(fleet):
    answer = fleet.api.post("jobs", {"target": "db*", "function": "test.ping"})
    assert answer.status == 422 and "no peels matched" in answer.json()["error"], answer


def test_options_of_a_job_are_part_of_it(fleet):
    shown = fleet.run_job(target="*", function="cmd.run", args={"command": "true"}, batch="50%", max_failures=1, node_timeout="20s", test=True, timeout="30s", queue="1h")
    assert shown["job"]["args"]["test"] is True and shown["job"]["timeout"] == 30 * 10**9
    assert shown["job"]["metadata"] == {"batch": "1", "batch_failures": "1", "node_timeout": "20000ms", "queue": "3600"}


def test_waves_over_https_stop_at_a_gate(fleet):
    job = fleet.run_job(target="*", function="test.ping", batch="1", gate="cmd.run false", pause="1s")["job"]
    assert job["status"] == "failed" and job["metadata"]["stopped"].startswith("wave 1: its gate failed, see job rxn-"), job
    assert (job["metadata"]["gate"], job["metadata"]["pause"], job["success_count"]) == ("cmd.run false", "1", 1)


def test_a_request_that_is_repeated_runs_nothing_twice(fleet, tmp_path):
    marks = tmp_path / "marks"
    body = {"jid": "deploy-4711", "target": "web-01", "function": "cmd.run", "args": {"command": f"echo x >> {marks}"}}
    first = fleet.api.post("jobs", body)
    assert first.status == 202 and first.json()["jid"] == "deploy-4711", first
    assert fleet.wait_job("deploy-4711")["status"] == "complete"
    again = fleet.api.post("jobs", body)
    assert again.status == 202 and again.json() == {"jid": "deploy-4711", "targets": ["web-01"], "status": "complete"}, again
    assert read_marks(marks) == ["x"]
    assert fleet.api.post("jobs", {**body, "function": "test.ping"}).status == 409


def test_a_job_outlives_a_connection_that_is_dropped(fleet, tmp_path):
    marks = tmp_path / "marks"
    for number in range(3):
        fleet.api.drop_after_sending("POST", "jobs", {"jid": f"dropped-{number}", "target": "*", "function": "cmd.run",
                                                      "args": {"command": f"sleep 0.3; echo {number} >> {marks}"}})
    fleet.wait(lambda: all(fleet.api.get(f"jobs/dropped-{number}").status == 200 for number in range(3)), "the jobs are there")
    assert [fleet.wait_job(f"dropped-{number}")["status"] for number in range(3)] == ["complete"] * 3
    assert sorted(read_marks(marks)) == ["0", "0", "1", "1", "2", "2"]


def test_jobs_are_listed_as_on_the_command_line(fleet):
    fleet.run_job(target="web-01", function="test.ping")
    fleet.run_job(target="web-02", function="facts.keys")
    answer = fleet.api.get("jobs?limit=3&user=api:ci&status=complete")
    assert answer.json() == fleet.zester_json("job", "list", "--limit", 3, "--user", "api:ci", "--status", "complete")
    assert int(answer.headers["X-Total-Count"]) > 3
    newest = fleet.api.get("jobs?limit=1&function=facts.keys&peel=web-02").json()
    assert len(newest) == 1 and newest[0]["targets"] == ["web-02"]
    assert fleet.api.get("jobs?limit=1&offset=1&user=api:ci&status=complete").json() == answer.json()[1:2]
    assert fleet.api.get("jobs?user=nobody").json() == []


def test_a_job_can_be_canceled(fleet):
    jid = fleet.api.post("jobs", {"target": "web-01", "function": "cmd.run", "args": {"command": "sleep 60"}}).json()["jid"]
    answer = fleet.api.post(f"jobs/{jid}/cancel")
    assert answer.status == 202 and answer.json() == {"jid": jid, "status": "canceling"}, answer
    assert fleet.wait_job(jid)["status"] in ("canceled", "failed")
    fleet.wait(lambda: audit_lines(fleet, "action=job.kill", "api:ci", jid), "it is in the audit")
    answer = fleet.api.post(f"jobs/{jid}/cancel", {})
    assert answer.status == 409 and "already ended" in answer.json()["error"], answer
    assert fleet.run_job(target="web-01", function="test.ping")["status"] == "complete"


def test_a_stream_has_each_return_and_then_the_status(fleet, tmp_path):
    go = tmp_path / "go"
    jid = fleet.api.post("jobs", {"target": "*", "function": "cmd.run", "args": {"command": f"until [ -e {go} ]; do sleep 0.05; done; echo done"}}).json()["jid"]
    stream = fleet.api.stream(f"jobs/{jid}/stream")
    assert stream.status == 200 and stream.answer.headers["Content-Type"] == "text/event-stream"
    go.touch()
    events = list(stream.events())
    assert sorted(data["peel_id"] for name, data in events if name == "return") == PEELS
    assert all(data["results"][0]["details"]["stdout"].strip() == "done" for name, data in events if name == "return")
    assert events[-1] == ("status", {"jid": jid, "status": "complete", "return_count": 2, "success_count": 2})
    # of a job that has ended: the same
    brief = list(fleet.api.stream(f"jobs/{jid}/stream?results=false").events())
    assert [name for name, _ in brief] == ["return", "return", "status"] and "results" not in brief[0][1]


# --- enrollments, peels, events -------------------------------------------------------

def test_machines_are_let_in_and_cut_off(fleet):
    peel = fleet.start_peel("new-01")
    pending = fleet.wait(lambda: fleet.api.get("enrollments").json(), "it has asked")
    assert [one["peel_id"] for one in pending] == ["new-01"] and set(pending[0]) == {"id", "peel_id", "hostname", "source", "state", "trust", "created"}
    assert pending == fleet.zester_json("enroll", "list")
    answer = fleet.api.post(f"enrollments/{pending[0]['id']}/approve", {"reason": "ordered last week"})
    assert answer.status == 200 and answer.json()["state"] == "approved", answer
    assert fleet.api.post(f"enrollments/{pending[0]['id']}/reject").status == 409
    fleet.wait_ready(peel)
    fleet.wait(lambda: "new-01" in fleet.api.get("targets?expr=new*").json(), "it has published facts")
    assert fleet.run_job(target="new-01", function="test.ping")["status"] == "complete"
    answer = fleet.api.post("enrollments/new-01/revoke", {"reason": "stolen"})
    assert answer.status == 200 and answer.json()["state"] == "revoked" and "warning" not in answer.json(), answer
    # its connection is cut, it cannot come back, and nothing of it is left
    fleet.wait(lambda: peel.get("/readyz")[0] != 200, "it is cut off")
    fleet.wait(lambda: fleet.api.get("targets?expr=new*").json() == [], "its facts are gone")
    assert fleet.api.post("jobs", {"target": "new-01", "function": "test.ping"}).status == 422
    assert fleet.api.get("enrollments?state=revoked").json()[0]["id"] == pending[0]["id"]
    assert audit_lines(fleet, "action=enroll.approve", "api:ci", pending[0]["id"]) and audit_lines(fleet, "action=enroll.revoke", "api:ci", "stolen")
    assert fleet.zester_json("enroll", "show", pending[0]["id"])["decided_by"] == "api:ci"
    everything, page = fleet.api.get("enrollments?state=all").json(), fleet.api.get("enrollments?state=all&limit=2&offset=1")
    assert len(everything) == 3 and page.json() == everything[1:3] and page.headers["X-Total-Count"] == "3"
    assert fleet.api.post("enrollments/enr-unknown/approve").status == 404
    assert fleet.api.post("enrollments/enr-unknown/approve", {"reason": "x" * 1025}).status == 400
    peel.stop()


def test_enrollment_is_paused_and_resumed(fleet):
    paused = fleet.api.post("enrollments/pause", {"reason": "moving"}).json()
    assert paused["paused"] and paused["operator"] == "api:ci" and paused["reason"] == "moving"
    assert "enrollment is paused since" in fleet.zester("enroll", "list").stderr
    assert fleet.api.post("enrollments/resume").json()["paused"] is False
    assert audit_lines(fleet, "action=enroll.pause", "api:ci", "moving") and audit_lines(fleet, "action=enroll.resume", "api:ci")


def test_peels_facts_and_targets(fleet):
    peels = fleet.api.get("peels")
    told = fleet.zester_json("peel", "list")
    assert peels.headers["X-Total-Count"] == "2" and [set(one) | {"trees", "trees_problem"} for one in peels.json()] == [set(one) for one in told]
    assert [(one["peel_id"], one["os"], one["online"]) for one in peels.json()] == [(one["peel_id"], one["os"], True) for one in told]
    assert [one["peel_id"] for one in fleet.api.get("peels?limit=1&offset=1").json()] == ["web-02"]
    assert fleet.api.get("peels/web-01/facts").json() == json.loads(fleet.zester("kv", "fact", "get", "web-01").stdout)
    assert fleet.api.get("peels/web-01/facts?key=os.name").json() == told[0]["os"]
    assert fleet.api.get("peels/web-01/facts?key=no.such").status == 404 and fleet.api.get("peels/web-99/facts").status == 404
    assert fleet.api.get("targets?expr=web*%20and%20not%20web-01").json() == ["web-02"]
    assert fleet.api.get("targets?expr=*&limit=1").headers["X-Total-Count"] == "2"


def test_settings_of_a_peel_are_shown_and_secrets_are_not(fleet):
    folder = fleet.folder / "master/settings"
    folder.mkdir(exist_ok=True)
    (folder / "top.zy").write_text("base:\n  'web-01':\n    - site\n")
    (folder / "site.zy").write_text("site:\n  port: 8080\n  password: !secret hunter2\n")
    fleet.zester("fileserver", "update")
    shown = fleet.wait(lambda: fleet.api.get("peels/web-01/settings").json().get("site"), "settings are published")
    assert shown["port"] == 8080 and "hunter2" not in json.dumps(shown)
    assert fleet.api.get("peels/web-01/settings").json() == fleet.zester_json("settings", "show", "web-01")
    assert fleet.api.get("peels/web-01/settings?key=site.port").json() == 8080
    assert fleet.api.get("peels/web-01/settings?key=site.no").status == 404 and fleet.api.get("peels/web-99/settings").status == 404
    assert audit_lines(fleet, "action=settings.show", "api:ci", "web-01")


def test_events_are_stored_and_watched(fleet):
    stream = fleet.api.stream("events/stream?match=_admin/deploy/*")
    assert stream.status == 200
    assert fleet.api.post("events", {"tag": "other/thing"}).status == 202
    answer = fleet.api.post("events", {"tag": "deploy.finished", "data": {"version": 3, "ok": True}})
    assert answer.status == 202 and answer.json()["tag"] == "deploy/finished" and answer.json()["match_key"] == "_admin/deploy/finished", answer
    name, event = next(stream.events())
    stream.close()
    assert name == "event" and event["id"] == answer.json()["id"] and event["origin"] == "_admin" and event["data"] == {"version": 3, "ok": True}
    fleet.wait(lambda: fleet.zester("event", "why", event["id"], status=None).returncode == 0, "a master has seen it")
    assert audit_lines(fleet, "action=event.send", "api:ci", event["id"])
    assert fleet.api.post("events", {"tag": "bad tag"}).status == 400
    assert fleet.api.post("events", {"tag": "a", "data": {"text": "x" * 900000}}).status == 413


# --- manual, configuration ------------------------------------------------------------

def test_the_manual_needs_no_token_and_nothing_from_elsewhere(fleet):
    nobody = fleet.client()
    page = nobody.get("docs")
    assert page.status == 200 and page.headers["Content-Type"].startswith("text/html"), page
    assert "<script" not in page.text and "http://" not in page.text and "https://" not in page.text
    assert "style-src 'sha256-" in page.headers["Content-Security-Policy"]
    document = nobody.get("openapi.json").json()
    assert document["openapi"].startswith("3.0") and set(document["paths"]["/api/v1/jobs"]) == {"get", "post"}
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    written = (TOP / "docs/reference/api.md").read_text()
    for path, item in document["paths"].items():
        assert path in page.text and all(f"`{method.upper()} {path}`" in written for method in item)
        for method, operation in item.items():
            status = nobody.call(method.upper(), path.replace("{jid}", "x").replace("{id}", "x")).status
            assert status == (200 if operation.get("security") == [] else 401), (method, path, status)


def test_mistakes_in_the_configuration_are_reported_with_their_places(fleet, tmp_path):
    conf = tmp_path / "master.yaml"
    conf.write_text("api:\n  docs_enabled: often\n  tokens:\n    - username: 'a b'\n      token_file: /x\n    - usrname: ci\n      role: king\n    - 5\n")
    result = fleet.run("zester-master", "--config", conf, status=1)
    for words in (":2:", ":4:", ":6:", ":7:", ":8:", "docs_enabled", "'username'", "usrname", "token_file", "role", "must be a map"):
        assert words in result.stderr, (words, result.stderr)
    result = fleet.run("zester-master", "--help")
    assert "--api-docs" in result.stdout


def test_a_stream_ends_when_its_token_is_replaced_or_the_master_stops(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        write_secret(fleet.auth / "token", ADMIN)
        fleet.master = fleet.start_ready_master(api={"tokens": [{"username": "ci", "token_file": "token"}]})
        api = Api(fleet.master, fleet.auth / "ca/root.crt", ADMIN)
        first, second = api.stream("events/stream"), api.stream("events/stream")
        write_secret(fleet.auth / "token", "another-secret-for-the-ci")
        began = time.monotonic()
        assert ("error", {"error": "the token of this stream is no longer valid"}) in list(first.events())
        assert time.monotonic() - began < SECONDS
        second.close()
        api.token = "another-secret-for-the-ci"
        third = api.stream("events/stream?match=nothing*")
        assert fleet.master.stop() == 0
        assert list(third.events()) == []


def test_the_master_ends_well_after_all_of_it(fleet):
    fleet.api.drop_after_sending("GET", "jobs", None)
    watching = fleet.api.stream("events/stream")
    assert watching.status == 200 and fleet.master.stop() == 0
    assert list(watching.events()) == []
