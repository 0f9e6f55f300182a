"""zester doctor: what it finds between this machine and a working fleet, and what it advises."""
import base64
import json
import os
import re
import signal
import subprocess

import pytest

from fleet import SECONDS, SERVER, STOP_SECONDS, Fleet
from nats_client import Client

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet


def diagnose(fleet, status=0):
    """Check -> its statuses, each once."""
    findings = fleet.zester_json("doctor", status=status)
    assert all(set(finding) <= {"check", "status", "message", "advice"} for finding in findings)
    assert all("advice" in finding for finding in findings if finding["status"] != "ok")
    return {finding["check"]: finding["status"] for finding in findings}


def test_a_doctor_finds_a_fleet_without_peels_well(fleet):
    fleet.start_server()
    fleet.start_ready_master()
    fleet.wait(lambda: diagnose(fleet, status=None).get("masters") == "ok", "the master is seen")
    found = diagnose(fleet)
    assert found.pop("peels") == "warn"
    assert set(found.values()) == {"ok"}
    assert {"config", "name", "port", "credentials", "certificate", "login", "server", "clock", "streams"} <= set(found)
    text = fleet.zester("doctor").stdout
    assert "no peel is connected" in text and "-> add machines" in text


@pytest.mark.parametrize("seconds, status", [(30, "warn"), (-90, "fail")])
def test_a_doctor_finds_a_clock_that_is_wrong(fleet, seconds, status):
    fleet.start_server()
    fleet.start_ready_master()
    found = fleet.zester_json("doctor", status=None, environment=fleet.wrong_clock(seconds))
    finding = next(finding for finding in found if finding["check"] == "clock")
    assert finding["status"] == status and "synchronise the clocks" in finding["advice"], finding
    shown = int(re.fullmatch(r"differs from the server's by less than (\d+) s", finding["message"]).group(1))
    assert abs(seconds) - 20 <= shown <= abs(seconds) + 1  # what the question took is not counted


# --- certificates that servers present ------------------------------------------------------

DAY = 86400


def issue(fleet, kind, ago, days, out):
    """A certificate that was issued so many days ago."""
    fleet.run("zester", "ca", "issue", kind, "--dir", fleet.auth / "ca", "--ip", "127.0.0.1", "--out", out, "--days", days,
              environment=fleet.wrong_clock(-ago * DAY))


def find_end(fleet, address, *words):
    """Status, message and advice of what is presented there."""
    found = json.loads(fleet.run("zester", "doctor", "--format", "json", *words, status=None).stdout)
    return next((finding["status"], finding["message"], finding.get("advice", "")) for finding in found
                if finding["check"] == "certificate" and f"{address}:" in finding["message"])


def test_a_doctor_looks_at_the_certificate_that_the_server_presents(fleet):
    fleet.make_keys()
    address, conf = f"127.0.0.1:{fleet.port}", ("--config", fleet.write_cli_conf())
    issue(fleet, "nats-server", 400, 399, fleet.auth)
    server = fleet.start_server()
    status, message, advice = find_end(fleet, address, *conf)
    assert (status, message) == ("fail", f"{address}: expired") and "zester ca issue nats-server" in advice
    assert "certificate has expired -> set the clock" in advice_of(fleet, "login")
    issue(fleet, "nats-server", 380, 400, fleet.auth)
    server.process.send_signal(signal.SIGHUP)
    fleet.wait(lambda: find_end(fleet, address, *conf)[0] == "warn", "the server presents the new certificate")
    status, message, advice = find_end(fleet, address, *conf)
    assert re.fullmatch(rf"{address}: good for (19|20) days", message) and "then reload nats-server" in advice


def test_a_doctor_looks_at_the_certificate_of_the_enrollment_endpoint(fleet):
    fleet.start_server()
    issue(fleet, "enroll", 380, 400, fleet.folder)
    files = {"tls_cert": str(fleet.folder / "enroll.crt"), "tls_key": str(fleet.folder / "enroll.key")}
    master = fleet.start_ready_master(enroll=files, ca={"mode": "external"})
    address, conf = f"enrollment at 127.0.0.1:{master.enroll_port}", ("--config", master.conf_path)
    status, message, advice = find_end(fleet, address, *conf)
    assert status == "warn" and "zester ca issue enroll' and reload the master" in advice
    assert re.fullmatch(rf"{address}: good for (19|20) days", message)
    assert master.stop(seconds=STOP_SECONDS) == 0
    found = json.loads(fleet.run("zester", "doctor", "--format", "json", *conf, status=1).stdout)
    assert {"check": "port", "status": "fail", "message": f"{address} cannot be reached",
            "advice": "start zester-master and check its log"} in found
    # a master that issues its own certificate renews it: that it lives for an hour is no reason to warn
    master = fleet.start_ready_master(ca={"enroll_cert_validity": "1h"})
    status, message, _ = find_end(fleet, f"enrollment at 127.0.0.1:{master.enroll_port}", "--config", master.conf_path)
    assert status == "ok" and message.endswith(" hours")


# --- versions -------------------------------------------------------------------------------

def copy_heartbeat(fleet, bucket, ours, copy):
    """A heartbeat as the real daemon wrote it, under another name and of another version."""
    with Client(fleet.port, fleet.auth / "master.creds", fleet.auth / "nats-ca.crt") as client:
        client.subscribe("zester.answer")
        question = json.dumps({"last_by_subj": f"$KV.{bucket}.{ours}"}).encode()
        client.publish(f"$JS.API.STREAM.MSG.GET.KV_{bucket}", question, reply="zester.answer")
        while not client.read_line().startswith("MSG zester.answer"):
            assert not client.is_closed
        beat = base64.b64decode(json.loads(client.read_line())["message"]["data"])
        version = fleet.version.encode()
        assert b"version" in beat and version in beat
        client.publish(f"$KV.{bucket}.{copy}", beat.replace(version, b"9" * len(version)))
        client.flush()


def test_a_doctor_warns_of_masters_and_peels_of_another_version(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    fleet.start_ready_peel("web-1")
    fleet.version = json.loads(master.get("/healthz")[1])["version"]
    fleet.wait(lambda: {"masters": "ok", "peels": "ok"}.items() <= diagnose(fleet, status=None).items(), "both are seen")
    copy_heartbeat(fleet, "master-heartbeat", master.lines()[0]["master_id"], "master-old")
    copy_heartbeat(fleet, "peel-heartbeat", "web-1", "web-2")
    other = "9" * len(fleet.version)
    found = {finding["check"]: finding for finding in fleet.zester_json("doctor")}
    for check, message in (("masters", f"2 running, 1 of another version than this one ({fleet.version}): master-old {other}"),
                           ("peels", f"2 connected, 1 of another version than this one ({fleet.version}): web-2 {other}")):
        assert found[check] == {"check": check, "status": "warn", "message": message,
                                "advice": "install the same version everywhere"}


def advice_of(fleet, check, *words):
    """Message and advice of the first finding that is not ok."""
    found = fleet.zester_json("doctor", *words, status=1)
    return next(f"{finding['message']} -> {finding['advice']}" for finding in found
                if finding["check"] == check and finding["status"] != "ok")


def change_streams(fleet, *requests):
    with Client(fleet.port, fleet.auth / "master.creds", fleet.auth / "nats-ca.crt") as client:
        client.subscribe("zester.answer")
        for subject, body in requests:
            client.publish(f"$JS.API.STREAM.{subject}", json.dumps(body).encode(), reply="zester.answer")
            while "MSG zester.answer" not in client.read_line():
                assert not client.is_closed


def test_a_doctor_has_advice_for_each_kind_of_refusal_and_for_streams_that_were_changed(fleet):
    fleet.start_server()
    assert fleet.start_ready_master().stop(seconds=STOP_SECONDS) == 0
    fleet.run("zester", "nats-auth", "init", "--dir", fleet.folder / "other", "--nats-conf", fleet.folder / "other.conf",
              "--jetstream-store", fleet.folder / "other-js")
    assert "another authority: copy nats-ca.crt" in advice_of(fleet, "login", "--nats-ca", fleet.folder / "other/nats-ca.crt")
    assert "belong to another fleet, have expired or were revoked" in advice_of(fleet, "login", "--creds", fleet.folder / "other/admin.creds")
    assert "connect by a name that the certificate has" in advice_of(fleet, "login", "--master", f"tls://127.1:{fleet.port}")
    change_streams(fleet, ("UPDATE.job-events", {"name": "job-events", "subjects": ["zester.job.>"], "max_age": 3600 * 10**9}),
                   ("DELETE.OBJ_files", {}))
    told = "\n".join(f"{finding['message']} {finding['advice']}" for finding in fleet.zester_json("doctor", status=1)
                     if finding["check"] == "streams")
    assert "'max_age': asked for 604800000000000, the server has 3600000000000" in told
    assert "stream 'OBJ_files': JetStream: stream not found" in told and "restores what differs" in told


def test_a_doctor_says_which_step_fails_and_what_to_do(fleet):
    fleet.make_keys()
    found = diagnose(fleet, status=1)
    assert (found["credentials"], found["port"], found["login"]) == ("ok", "fail", "fail")
    assert "start nats-server" in fleet.zester("doctor", status=1).stdout
    fleet.start_server()
    found = diagnose(fleet, status=1)
    assert (found["login"], found["streams"], found["masters"]) == ("ok", "fail", "fail")
    (fleet.auth / "admin.creds").chmod(0o644)
    assert diagnose(fleet, status=1)["credentials"] == "warn"
    (fleet.auth / "admin.creds").unlink()
    assert diagnose(fleet, status=1)["credentials"] == "fail"
    fleet.write_cli_conf().write_text("master: [\n")
    assert "config" in fleet.run("zester", "doctor", "--config", fleet.folder / "cli.yaml", status=1).stdout
