"""Events of operators on a real bus: zester event send and watch, and how rules are tested."""
import json
import re
import signal
import subprocess
import time

import pytest

from bus import Bus
from fleet import BUILD, SECONDS, SERVER, Fleet
from peels import fetch_credentials

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("events")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master(reactor={"enabled": False})
        yield fleet


@pytest.fixture
def bus(fleet):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        yield bus


class Watch:
    """zester event watch, which sees everything that is sent after this."""

    def __init__(self, fleet, *words):
        self.process = subprocess.Popen(
            [f"{BUILD}/zester", "event", "watch", *words, "--config", str(fleet.write_cli_conf())], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stderr.readline() == "Watching events; press Ctrl-C to stop\n"

    def line(self):
        return self.process.stdout.readline()

    def stop(self):
        """What is left of its output."""
        self.process.send_signal(signal.SIGINT)
        rest, errors = self.process.communicate(timeout=SECONDS)
        assert (self.process.returncode, errors) == (0, "")
        return rest

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def test_an_event_that_was_sent_is_stored_and_described(fleet):
    sent = fleet.zester_json("event", "send", "myco/deploy/finished", "version=1.2.3", "a=b=c")
    assert sent == {"id": sent["id"], "tag": "myco/deploy/finished", "match_key": "_admin/myco/deploy/finished",
                    "subject": "zester.event._admin.send.myco.deploy.finished"}
    assert re.fullmatch(r"[0-9A-Za-z]{27}", sent["id"])
    text = fleet.zester("event", "send", "myco.deploy.finished").stdout
    assert "match key: _admin/myco/deploy/finished\n" in text and text.startswith("Event sent\n")


@pytest.mark.parametrize("words, message", [
    (["my co"], "'my co' is not a valid tag"),
    (["a//b"], "'a//b' is not a valid tag"),
    (["a/*"], "'a/*' is not a valid tag"),
    (["a", "b"], "'b' is not KEY=VALUE"),
    (["a", "=b"], "'=b' is not KEY=VALUE"),
])
def test_a_bad_tag_or_pair_is_a_mistake(fleet, words, message):
    result = fleet.zester("event", "send", *words, status=1)
    assert message in result.stderr and result.stdout == ""


def test_credentials_that_others_can_read_are_used_with_a_warning(fleet):
    shared = fleet.folder / "shared.creds"
    shared.write_text((fleet.auth / "admin.creds").read_text())
    shared.chmod(0o644)
    sent = fleet.zester("event", "send", "a/b", "--creds", shared)
    assert "others can read the credentials" in sent.stderr and str(shared) in sent.stderr


@pytest.fixture(scope="module")
def foreign(fleet):
    """Credentials of somebody who may not do what operators may: of a peel."""
    fetch_credentials(fleet, fleet.master, "web-99", fleet.folder / "foreign")
    return fleet.folder / "foreign/web-99.creds"


@pytest.mark.parametrize("words, right", [
    (["event", "send", "a/b"], "publish to 'zester.event._admin.send.a.b'"),
    (["event", "watch"], "subscribe to 'zester.event.>'"),
    (["reactor", "test", "_admin/a"], "publish to 'zester.reactor.test'"),
])
def test_credentials_without_the_grants_of_events_fail_and_say_so(fleet, foreign, words, right):
    result = fleet.zester(*words, "--creds", foreign, status=1)
    assert f"no permission to {right}" in result.stderr and result.stdout == ""


def test_help_has_the_time_that_each_command_takes_and_no_empty_list_of_options(fleet):
    assert "--timeout TIME            how long to wait for a master (5s)\n" in fleet.run("zester", "reactor", "test", "--help").stdout
    assert "--timeout TIME            how long to watch; default: until Ctrl-C\n" in fleet.run("zester", "event", "watch", "--help").stdout
    assert "--timeout TIME            how long to wait for answers (60s)\n" in fleet.run("zester", "event", "why", "--help").stdout
    plain = fleet.run("zester", "completion", "--help").stdout
    assert plain.startswith("usage: zester completion bash|zsh|fish\n") and "options:" not in plain


def test_values_of_an_event_are_texts(fleet):
    with Watch(fleet, "--format", "json") as watch:
        fleet.zester("event", "send", "texts", "number=1", "flag=true", "empty=", "pair=a=b")
        assert json.loads(watch.line())["data"] == {"number": "1", "flag": "true", "empty": "", "pair": "a=b"}


def test_without_a_server_nothing_is_sent(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.make_keys()
        assert "cannot connect" in fleet.zester("event", "send", "a", status=1).stderr


def test_a_watch_prints_a_line_for_each_event(fleet):
    with Watch(fleet) as watch:
        fleet.zester("event", "send", "maintenance/start", "reason=kernel patching")
        assert re.fullmatch(r"\d\d:\d\d:\d\d  _admin/maintenance/start {20}  {\"reason\":\"kernel patching\"}\n", watch.line())
        fleet.zester("event", "send", "plain")
        assert re.fullmatch(r"\d\d:\d\d:\d\d  _admin/plain\n", watch.line())
        assert watch.stop() == ""


def test_a_watch_ends_with_status_0_also_when_its_server_has_a_name(fleet):
    with Watch(fleet, "--master", f"tls://localhost:{fleet.port}") as watch:
        assert watch.stop() == ""


def test_a_watch_skips_what_is_not_an_event(fleet, bus):
    with Watch(fleet) as watch:
        for subject, payload in [("zester.event._admin.send.a", b""), ("zester.event._admin.send.a", b"\xc1"),
                                 ("zester.event._admin.send.a", b"\x91\x01"), ("zester.event._odd.send.a", b"\x80"),
                                 ("zester.event.web-01", b"\x80")]:
            bus.publish(subject, payload)
        bus.flush()
        fleet.zester("event", "send", "good")
        assert watch.line().endswith("  _admin/good\n")
        assert watch.stop() == ""


def test_a_watch_shows_only_keys_that_match_and_a_star_crosses_slashes(fleet):
    with Watch(fleet, "*/deploy/*", "--format", "json") as watch:
        fleet.zester("event", "send", "deploy")
        fleet.zester("event", "send", "deploy/a/b", "n=1")
        fleet.zester("event", "send", "other/deploy/c")
        first, second = json.loads(watch.line()), json.loads(watch.line())
        assert watch.stop() == ""
    assert list(first) == ["ts", "key", "origin", "tag", "id", "data"]
    assert (first["key"], first["origin"], first["tag"], first["data"]) == ("_admin/deploy/a/b", "_admin", "deploy/a/b", {"n": "1"})
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", first["ts"])
    assert second["key"] == "_admin/other/deploy/c" and "data" not in second


def test_a_watch_prints_documents_of_yaml(fleet):
    with Watch(fleet, "--format", "yaml") as watch:
        fleet.zester("event", "send", "a/b", "n=1")
        lines = [watch.line() for _ in range(8)]
        assert watch.stop() == ""
    assert lines[0] == "---\n" and "key: _admin/a/b\n" in lines


def test_a_test_of_rules_needs_a_master_with_a_reactor(fleet):
    result = fleet.zester("reactor", "test", "web-01/a", status=1)
    assert "no master with an enabled reactor is running" in result.stderr


def test_a_test_of_rules_waits_five_seconds_for_a_master(fleet, bus):
    bus.send(b"SUB zester.reactor.test 7\r\n")  # somebody listens, and never answers
    bus.flush()
    began = time.monotonic()
    result = fleet.zester("reactor", "test", "web-01/a", status=1)
    assert "no answer" in result.stderr and time.monotonic() - began >= 5
    bus.send(b"UNSUB 7\r\n")


@pytest.mark.parametrize("words, message", [
    (["--event-json", "{"], "--event-json"),
    (["--event-json", "[1]"], "--event-json: expected an object"),
    (["--data", "x"], "--data: 'x' is not KEY=VALUE"),
])
def test_data_of_a_test_that_is_not_data_is_a_mistake(fleet, words, message):
    assert message in fleet.zester("reactor", "test", "web-01/a", *words, status=1).stderr
