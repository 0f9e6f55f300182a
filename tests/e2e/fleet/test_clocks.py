"""Machines whose clocks differ by an hour: masters go by the clock of the servers, so do commands that compare with what masters wrote."""
import json
import subprocess
import time

import pytest

from enroll_client import Machine
from fleet import BUILD, SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
HOUR = 3600


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("clocks")) as fleet:
        fleet.start_server()
        fleet.masters = [fleet.start_ready_master(name, environment=fleet.wrong_clock(seconds), enroll={"rate_burst": 0}, sign_requests=True,
                                                  require_signed_requests=True) for name, seconds in (("ahead", HOUR), ("behind", -HOUR))]
        fleet.peel = start_peel(fleet, fleet.masters[0], "web-01", require_signed_requests=True)
        yield fleet


def test_every_master_sees_that_a_peel_is_connected(fleet):
    for master in fleet.masters:
        fleet.wait(lambda master=master: master.metric("zester_connected_peels") == 1, f"{master.name} counts it", 25)


def test_a_job_has_its_time_whoever_looks_at_it(fleet):
    hold = fleet.folder / "hold"
    hold.touch()
    began = time.time()
    jid = fleet.zester_json("web-01", "cmd.run", f"while [ -e {hold} ]; do sleep 0.05; done; echo done", "--async", "--timeout", "40s")["jid"]
    record = fleet.zester_json("job", "show", jid)["job"]
    for key, seconds in (("created", 0), ("deadline", 40)):
        stamp = time.mktime(time.strptime(record[key][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
        assert abs(stamp - began - seconds) < 15, record
    hold.unlink()
    assert fleet.zester("job", "watch", jid, environment=fleet.wrong_clock(HOUR)).stdout == "web-01:\n    done\n"


def test_a_command_waits_for_a_job_whatever_its_clock_says(fleet):
    hold = fleet.folder / "hold"
    hold.touch()
    jid = fleet.zester_json("web-01", "cmd.run", f"while [ -e {hold} ]; do sleep 0.05; done; echo done", "--async", "--timeout", "40s")["jid"]
    watch = fleet.add("watch", [f"{BUILD}/zester", "job", "watch", jid, "--config", fleet.write_cli_conf()], environment=fleet.wrong_clock(HOUR))
    with pytest.raises(subprocess.TimeoutExpired):
        watch.process.wait(3)  # it would have given up at once
    hold.unlink()
    assert watch.process.wait(60) == 0 and "done" in watch.log()
    for seconds in (HOUR, -HOUR):
        peel, = fleet.zester_json("peel", "list", environment=fleet.wrong_clock(seconds))
        assert peel["online"] is True


def test_a_challenge_of_one_master_is_answered_at_another(fleet):
    machine = Machine(fleet.masters[1].enroll_port, "web-02", fleet.auth / "ca/root.crt")
    status, nonce = machine.nonce()
    assert status == 200, nonce
    machine.port = fleet.masters[0].enroll_port
    status, body = machine.call("POST", "/api/v1/enroll", machine.body(nonce, fleet.pin()))
    assert status == 201, body


def test_requests_that_masters_sign_are_neither_old_nor_early(fleet):
    for master in fleet.masters:  # each in turn is the only one
        others = [one for one in fleet.masters if one is not master]
        for other in others:
            other.stop()
        assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
        for other in others:
            other.start()
            fleet.wait_ready(other)
    assert not any("request refused" in line["msg"] for line in fleet.peel.lines())


def make_token(fleet, seconds, *words):
    result = fleet.run("zester-master", "token", "--config", fleet.write_cli_conf(), "--format", "json", *words, environment=fleet.wrong_clock(seconds))
    return json.loads(result.stdout)


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_join_token_lives_as_long_as_it_was_made_for_and_takes_no_other_with_it(fleet, seconds):
    earlier = make_token(fleet, 0, "--valid", "10m")
    token = make_token(fleet, seconds, "--valid", "10m")
    assert abs(token["expires"] - time.time() - 600) < 30, token
    for name, one in ((f"joins-{seconds + HOUR}", token), (f"earlier-{seconds + HOUR}", earlier)):
        machine = Machine(fleet.masters[0].enroll_port, name, fleet.auth / "ca/root.crt")
        machine.token = one["token"]
        status, body = machine.submit(fleet.pin())
        assert (status, body["state"]) == (201, "approved"), body


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_credentials_of_an_operator_live_as_long_as_they_were_made_for(fleet, seconds):
    name = f"op{seconds + HOUR}"
    creds = fleet.folder / f"{name}.creds"
    fleet.zester("operator", "add", name, "--expires", "10m", "--dir", fleet.auth, "--out", creds, environment=fleet.wrong_clock(seconds))
    shown = fleet.zester_json("operator", "show", name)
    end = time.mktime(time.strptime(shown["expires"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
    assert abs(end - time.time() - 600) < 30 and shown["state"] == "active", shown
    result = fleet.run("zester", "web-01", "test.ping", "--master", fleet.url, "--nats-ca", fleet.auth / "nats-ca.crt", "--creds", creds)
    assert result.stdout == "web-01:\n    true\n"


@pytest.mark.parametrize("seconds", [2 * HOUR, -2 * HOUR])
def test_an_event_of_an_operator_is_not_too_old(fleet, seconds):
    def count():
        return sum(master.metric('zester_reactor_events_total{origin_type="admin"}') or 0 for master in fleet.masters)
    before = count()
    fleet.zester("event", "send", "deploy/done", environment=fleet.wrong_clock(seconds))
    fleet.wait(lambda: count() > before, "a master takes it")
    assert not any(master.has_logged("event is too old") for master in fleet.masters)
