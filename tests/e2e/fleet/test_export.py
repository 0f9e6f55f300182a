"""Export to webhooks: events and results of jobs reach a receiver at least once, in order, through outages, kills and reloads."""
import http.server
import json
import os
import signal
import ssl
import threading
import time

import pytest

from bus import Bus
from fleet import SERVER, Fleet, free_port, yaml_of
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
TOKEN = "receiver-token-1"


class Receiver:
    """An HTTPS server that keeps what it has taken. `judge` gets the headers and the records of a request and returns its status."""

    def __init__(self, port, certificate=None):
        self.port, self.certificate = port, certificate
        self.taken, self.refused = [], []
        self.judge = lambda headers, records: 200
        self.more = {}
        self.server = None

    def start(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                records = body if isinstance(body, list) else [body]
                status = receiver.judge(self.headers, records)
                entries = [(dict(self.headers), record) for record in records]
                (receiver.taken if status < 300 else receiver.refused).extend(entries)
                self.send_response(status)
                for name, value in receiver.more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, self.certificate))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def records(self, kind="event"):
        """Of that kind, each once, in the order of their first arrival."""
        unique = {}
        for headers, record in list(self.taken):
            if headers["X-Zester-Type"] == kind:
                unique.setdefault(record["export_id"], record)
        return list(unique.values())

    def numbers(self, tag):
        return [record["data"]["n"] for record in self.records() if record["tag"] == tag]


def kill_a_master_that_holds_events(fleet):
    """The server brings them again, and others delete its consumers, only after a while: the last tests look at what became of them."""
    fleet.held = Receiver(free_port()).start()
    fleet.held.judge = lambda headers, records: 500
    fleet.held_export = {"name": "held", "url": f"http://127.0.0.1:{fleet.held.port}/", "match": ["_admin/killed/*"]}
    gone = {"name": "gone", "url": f"http://127.0.0.1:{fleet.held.port}/", "match": ["_admin/nothing"]}
    first = fleet.start_ready_master("first", export=[fleet.held_export, gone])
    fleet.wait(lambda: {("events", "export-held"), ("events", "export-gone")} <= consumers(fleet), "its consumers are there")
    send(fleet, "killed/one", range(3))
    fleet.wait(lambda: fleet.held.refused, "it holds some of them")
    first.kill()
    send(fleet, "killed/one", range(3, 6))
    fleet.held.judge = lambda headers, records: 200


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("export")) as fleet:
        fleet.start_server()
        kill_a_master_that_holds_events(fleet)
        folder = fleet.folder
        fleet.run("zester", "ca", "issue", "enroll", "--dir", fleet.auth / "ca", "--ip", "127.0.0.1", "--out", folder / "receiver")
        fleet.siem = Receiver(free_port(), (folder / "receiver/enroll.crt", folder / "receiver/enroll.key")).start()
        fleet.strict = Receiver(free_port()).start()
        fleet.strict.judge = lambda headers, records: 422 if any("bad" in record.get("tag", "") for record in records) else 204
        (folder / "token").write_text(TOKEN + "\n")
        fleet.exports = [{"name": "siem", "url": f"https://127.0.0.1:{fleet.siem.port}/in", "match": ["_admin/*", "web-01/*"], "jobs": True,
                          "token_file": str(folder / "token"), "ca": str(fleet.auth / "ca/root.crt")},
                         {"name": "strict", "url": f"http://127.0.0.1:{fleet.strict.port}/", "match": ["_admin/strict/*"], "batch": 8}]
        fleet.master = fleet.start_ready_master(export=[*fleet.exports, fleet.held_export])
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        fleet.wait(lambda: {("events", "export-siem"), ("KV_jobs", "export-siem"), ("KV_job-returns", "export-siem"), ("events", "export-strict")}
                   <= consumers(fleet), "the consumers are there")
        yield fleet
        for receiver in (fleet.siem, fleet.strict, fleet.held):
            receiver.stop()


def consumers(fleet):
    """(stream, name) of every consumer of an exporter."""
    found = set()
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        for stream in ("events", "KV_jobs", "KV_job-returns"):
            names = json.loads(bus.request(f"$JS.API.CONSUMER.NAMES.{stream}", b"{}"))["consumers"] or []
            found |= {(stream, name) for name in names if name.startswith("export-")}
    return found


def own_consumers(fleet):
    """Those that the first master has not had."""
    return {(stream, name) for stream, name in consumers(fleet) if name not in ("export-held", "export-gone")}


def send(fleet, tag, numbers):
    for number in numbers:
        fleet.zester("event", "send", tag, f"n={number}")


def reload_with(fleet, exports):
    fleet.master.conf["export"] = [*exports, fleet.held_export]
    fleet.master.conf_path.write_text(yaml_of(fleet.master.conf))
    fleet.master.send(signal.SIGHUP)


def test_events_that_match_are_delivered_in_order_as_they_are_watched(fleet):
    fleet.zester("event", "send", "strict/bad", "n=0")  # looked at below, after it was given up
    send(fleet, "deploy/step", range(5))
    fleet.wait(lambda: fleet.siem.numbers("deploy/step") == [str(number) for number in range(5)], "all have come")
    headers, record = next(entry for entry in fleet.siem.taken if entry[1]["tag"] == "deploy/step")
    assert headers["Authorization"] == f"Bearer {TOKEN}" and headers["Content-Type"] == "application/json"
    assert headers["X-Zester-Id"] == record["export_id"] == f"_admin/{record['id']}"
    assert (record["key"], record["origin"]) == ("_admin/deploy/step", "_admin") and record["ts"]
    assert not [entry for entry in fleet.siem.taken if entry[1].get("origin") == "_master"]
    assert fleet.master.metric('zester_export_sent_total{exporter="siem"}') >= 5


def test_returns_and_records_of_jobs_that_ended_are_delivered_without_secrets(fleet, tmp_path):
    (tmp_path / "value").write_text("never-exported")
    jid = fleet.zester_json("web-01", "cmd.run", "echo $TOKEN", "--async", "--secret", f"env.TOKEN=@{tmp_path}/value")["jid"]
    found = lambda kind: [record for record in fleet.siem.records(kind) if record["jid"] == jid]
    fleet.wait(lambda: found("return") and found("job"), "both have come")
    returned, job = found("return")[0], found("job")[0]
    assert (returned["peel_id"], returned["success"]) == ("web-01", True) and returned["export_id"].startswith(f"{jid}/web-01/")
    assert (job["status"], job["targets"], job["sealed_args"]) == ("complete", ["web-01"], {"env.TOKEN": "***"})
    assert len(found("job")) == 1, "records of jobs that run are not sent"
    assert "never-exported" not in json.dumps(fleet.siem.taken) and "********" in json.dumps(returned)


def test_what_is_refused_for_good_is_given_up_and_the_rest_of_its_batch_arrives(fleet):
    send(fleet, "strict/good", range(4))
    fleet.wait(lambda: fleet.strict.numbers("strict/good") == ["0", "1", "2", "3"], "the others have come")
    fleet.wait(lambda: fleet.master.metric('zester_export_dropped_total{exporter="strict"}') == 1, "one was given up")
    given_up = [line["msg"] for line in fleet.master.lines() if "gave up after" in line["msg"]]
    assert len(given_up) == 1 and "HTTP status 422" in given_up[0] and "id=_admin/" in given_up[0]
    assert not [entry for entry in fleet.strict.taken if "bad" in entry[1]["tag"]]
    assert "X-Zester-Id" not in fleet.strict.taken[0][0] and fleet.strict.taken[0][1]["export_id"]


def test_nothing_is_lost_while_the_receiver_is_away_or_asks_for_patience(fleet):
    fleet.siem.judge = lambda headers, records: 503
    send(fleet, "outage/one", range(3))
    fleet.wait(lambda: fleet.siem.refused, "it was tried")
    fleet.siem.stop()
    fleet.zester("event", "send", "strict/meanwhile", "n=1")
    fleet.wait(lambda: fleet.strict.numbers("strict/meanwhile") == ["1"], "others are not held up")
    fleet.wait(lambda: (fleet.master.metric('zester_export_lag{exporter="siem"}') or 0) >= 3, "the lag is seen")
    fleet.siem.judge, fleet.siem.more = (lambda headers, records: 429 if not fleet.siem.more else 200), {}
    fleet.siem.start()
    asked = len(fleet.siem.refused)
    fleet.wait(lambda: len(fleet.siem.refused) > asked, "it asks for patience")
    fleet.siem.more = {"X-Any": "thing"}
    fleet.wait(lambda: fleet.siem.numbers("outage/one") == ["0", "1", "2"], "all have come, in order")
    assert fleet.master.metric('zester_export_failed_total{exporter="siem"}') >= 2
    assert fleet.master.has_logged("are accepted again after")
    fleet.siem.judge, fleet.siem.more = (lambda headers, records: 200), {}


def test_a_receiver_that_does_not_answer_holds_up_no_other(fleet):
    reload_with(fleet, [{**fleet.exports[0], "timeout": "5m"}, fleet.exports[1]])
    answer, asked = threading.Event(), []

    def judge(headers, records):
        asked.append(headers["X-Zester-Type"])
        answer.wait()
        return 200
    fleet.siem.judge = judge
    try:
        send(fleet, "silence/one", [1])
        fleet.zester("web-01", "test.ping")
        fleet.wait(lambda: len(set(asked)) >= 2, "it is asked for two kinds, and does not answer")
        send(fleet, "strict/unhindered", [1])
        fleet.wait(lambda: fleet.strict.numbers("strict/unhindered") == ["1"], "the other one gets its event")
    finally:
        fleet.siem.judge = lambda headers, records: 200
        answer.set()
    fleet.wait(lambda: fleet.siem.numbers("silence/one") == ["1"], "it has come")
    reload_with(fleet, fleet.exports)


def test_retry_after_is_heeded(fleet):
    moments = []

    def judge(headers, records):
        if not any(record.get("tag") == "patience/one" for record in records):
            return 200  # results of jobs have a consumer of their own
        moments.append(time.monotonic())
        fleet.siem.more = {"Retry-After": "3"} if len(moments) == 1 else {}
        return 429 if len(moments) == 1 else 200
    fleet.siem.judge = judge
    send(fleet, "patience/one", [1])
    fleet.wait(lambda: fleet.siem.numbers("patience/one") == ["1"], "it has come")
    assert moments[1] - moments[0] > 2.8
    fleet.siem.judge, fleet.siem.more = (lambda headers, records: 200), {}


def test_a_bad_entry_changes_nothing_and_is_reported(fleet):
    for entry, why in (({"name": "x", "url": "http://siem.example/"}, "is not encrypted"), ({"name": "X y", "url": "https://h/"}, "a name has up to"),
                       ({"name": "x", "url": "https://user@h/"}, "use token_file"), ({"name": "x", "url": "https://h/", "bach": 2}, "bach"),
                       ({"name": "siem", "url": "https://h/"}, "duplicate name"), ({"name": "x", "url": "https://h/", "match": []}, "nothing to send")):
        reload_with(fleet, [*fleet.exports, entry])
        fleet.wait(lambda why=why: any(why in line["msg"] for line in fleet.master.lines()), f"it says {why}")
    reload_with(fleet, fleet.exports)
    send(fleet, "after/bad", [1])
    fleet.wait(lambda: fleet.siem.numbers("after/bad") == ["1"], "it goes on")


def test_an_exporter_that_is_removed_has_no_consumer_and_comes_back_with_a_reload(fleet):
    reload_with(fleet, fleet.exports[:1])
    fleet.wait(lambda: not [1 for _, name in consumers(fleet) if name == "export-strict"], "its consumer is deleted")
    assert fleet.master.has_logged("export 'strict': deleted an unused consumer")
    without_jobs = {**fleet.exports[0], "jobs": False}
    reload_with(fleet, [without_jobs])
    fleet.wait(lambda: own_consumers(fleet) == {("events", "export-siem")}, "those of jobs are deleted")
    reload_with(fleet, fleet.exports)
    fleet.wait(lambda: len(own_consumers(fleet)) == 4, "they are there again")
    send(fleet, "strict/again", [1])
    fleet.wait(lambda: fleet.strict.numbers("strict/again") == ["1"], "it sends again")


def test_a_server_that_cannot_be_verified_gets_nothing(fleet):
    other = Receiver(free_port(), fleet.siem.certificate).start()
    reload_with(fleet, [*fleet.exports, {"name": "unverified", "url": f"https://127.0.0.1:{other.port}/", "match": ["_admin/*"]}])
    fleet.wait(lambda: ("events", "export-unverified") in consumers(fleet), "its consumer is there")
    send(fleet, "secret/thing", [1])
    fleet.wait(lambda: any("export 'unverified': events are not accepted" in line["msg"] and "certificate" in line["msg"] for line in fleet.master.lines()),
               "it is reported")
    assert not other.taken and not other.refused
    reload_with(fleet, fleet.exports)
    other.stop()


def test_a_master_that_is_killed_loses_nothing_and_the_next_one_deletes_consumers_that_nobody_uses(fleet):
    fleet.wait(lambda: fleet.held.numbers("killed/one") == [str(number) for number in range(6)], "all have come, in order")
    fleet.wait(lambda: ("events", "export-gone") not in consumers(fleet), "one without an exporter is deleted")
    assert ("events", "export-held") in consumers(fleet)


@pytest.mark.skipif(os.environ.get("FAULTS") != "all", reason="takes more than a minute; make faults")
def test_a_receiver_that_fails_for_a_minute_degrades_the_master(fleet):
    fleet.siem.judge = lambda headers, records: 500
    send(fleet, "degraded/one", [1])
    fleet.wait(lambda: fleet.master.checks().get("export") == "degraded", "it is degraded", 120)
    assert "HTTP status 500" in fleet.master.get("/readyz")[1]
    fleet.siem.judge = lambda headers, records: 200
    fleet.wait(lambda: fleet.master.checks()["export"] == "ok", "it is well again", 120)
    assert fleet.siem.numbers("degraded/one") == ["1"]
