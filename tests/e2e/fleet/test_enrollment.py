"""Machines enroll over HTTPS at a real master: every call, every refusal, every transition."""
import base64
import concurrent.futures
import itertools
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from enroll_client import SECONDS, Machine, public_of, sign
from fleet import SERVER, Fleet, yaml_of

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
UNLIMITED = {"rate_burst": 0}


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        yield fleet


@pytest.fixture
def master(fleet):
    return fleet.start_ready_master(enroll=UNLIMITED)


def machine(fleet, master, peel="web-01"):
    return Machine(master.enroll_port, peel, fleet.auth / "ca/root.crt")


def enroll(fleet, master, peel="web-01"):
    """A machine with a pending enrollment, and its id."""
    joining = machine(fleet, master, peel)
    status, body = joining.submit(fleet.pin())
    assert status == 201, body
    return joining, body["id"]


def test_the_oracle_signs_as_rfc_8032_has_it():
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    assert public_of(seed).hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert sign(seed, b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb88215")


def test_a_machine_enrolls_is_approved_and_gets_its_credentials_once(fleet, master):
    joining, enrollment = enroll(fleet, master)
    assert joining.state(enrollment) == "pending"
    assert joining.creds(enrollment)[0] == 403
    row, = fleet.zester_json("enroll", "list")
    assert row == {"id": enrollment, "peel_id": "web-01", "hostname": "web-01.example", "source": "127.0.0.1", "state": "pending",
                   "trust": "ok", "created": row["created"]}
    assert "web-01" in fleet.zester("enroll", "list").stdout
    assert fleet.zester("enroll", "approve", enrollment).stdout == f"{enrollment} (web-01) approved\n"
    assert joining.state(enrollment) == "approved"
    status, body = joining.creds(enrollment)
    assert status == 200 and body["peel_id"] == "web-01"
    jwt = base64.urlsafe_b64decode(body["creds_data"]).decode()
    claims = json.loads(base64.urlsafe_b64decode(jwt.split(".")[1] + "=="))
    assert claims["sub"] == joining.public and claims["name"] == "web-01"
    assert joining.state(enrollment) == "issued"
    assert joining.creds(enrollment)[0] in (403, 409)
    assert fleet.zester_json("enroll", "list", "-s", "issued")[0]["id"] == enrollment
    assert fleet.zester_json("enroll", "show", "web-01")["decided_by"]
    said = master.log()
    for action in ("enroll.request", "enroll.approve", "enroll.issue"):
        assert re.search(rf"audit action={action} result=ok .*{enrollment}", said), action
    assert master.metric('zester_enrollments_total{state="pending"}') == 1
    assert master.metric('zester_http_requests_total{status="201"}') == 1


def test_a_peel_can_be_named_with_its_dots(fleet, master):
    joining, enrollment = enroll(fleet, master, "web-01_example_com")
    assert [row["peel_id"] for row in fleet.zester_json("enroll", "list") if row["id"] == enrollment] == ["web-01.example.com"]
    assert fleet.zester_json("enroll", "show", "web-01.example.com")["id"] == enrollment
    fleet.zester("enroll", "approve", "--peel", "web-01.example.com")
    assert joining.state(enrollment) == "approved"


def test_what_does_not_fit_is_refused_with_its_status(fleet, master):
    joining, pin = machine(fleet, master), fleet.pin()
    assert joining.nonce(peel_id="bad.id")[0] == 400
    assert joining.nonce(peel_id="_master")[0] == 400
    assert joining.nonce(public_key="UABC")[0] == 400
    assert joining.call("POST", "/api/v1/enroll", "{")[0] == 400
    assert joining.call("POST", "/api/v1/enroll", json.dumps({"peel_id": "x" * 5000}))[0] == 400
    assert joining.call("POST", "/api/v1/enroll", b"x" * (2 << 20))[0] == 413
    assert joining.submit(signature=base64.b64encode(bytes(64)).decode())[0] == 401
    assert joining.submit(challenge_id="chl-" + "0" * 27)[0] == 401
    _, nonce = joining.nonce()
    assert joining.call("POST", "/api/v1/enroll", joining.body(nonce, pin, peel_id="other-01"))[0] == 401
    _, nonce = joining.nonce()
    body = joining.body(nonce, pin)
    assert joining.call("POST", "/api/v1/enroll", body)[0] == 201
    assert joining.call("POST", "/api/v1/enroll", body)[0] == 401  # a challenge is good once
    for path in ("/api/v1/enroll/enr-nothing/status", "/api/v1/enroll/enr-nothing/stream", "/api/v1/enroll/enr-nothing/creds", "/"):
        assert joining.call("GET", path)[0] == 404, path
    assert joining.call("DELETE", "/api/v1/enroll")[0] == 405


def test_nobody_takes_a_name_by_being_second_and_the_same_key_may_ask_again(fleet, master):
    first, enrollment = enroll(fleet, master)
    status, body = machine(fleet, master).submit(fleet.pin())
    assert status == 409 and "another key holds this peel id" in str(body) and "zester enroll reject --peel web-01" in str(body)
    status, body = first.submit(fleet.pin())
    assert (status, body["id"]) == (200, enrollment)
    fleet.zester("enroll", "approve", "--peel", "web-01")
    assert first.creds(enrollment)[0] == 200
    status, body = first.submit(fleet.pin())  # it has lost its credentials
    assert status == 201 and body["id"] != enrollment
    status, body = machine(fleet, master).submit(fleet.pin())
    assert status == 409 and "zester enroll" in str(body)


def test_credentials_are_for_the_holder_of_the_key(fleet, master):
    joining, enrollment = enroll(fleet, master)
    fleet.zester("enroll", "approve", enrollment)
    path = f"/api/v1/enroll/{enrollment}/creds"
    assert joining.call("GET", path)[0] == 401
    assert joining.call("GET", path, headers={"Authorization": "Bearer x"})[0] == 401
    assert joining.creds(enrollment, signed="enr-other")[0] == 401
    assert machine(fleet, master).creds(enrollment)[0] == 401
    assert joining.creds(enrollment)[0] == 200


def test_a_rejected_machine_gets_nothing_and_may_ask_again(fleet, master):
    joining, enrollment = enroll(fleet, master)
    fleet.zester("enroll", "reject", enrollment, "--reason", "not \x1b[31mours")
    assert joining.state(enrollment) == "rejected" and joining.creds(enrollment)[0] == 403
    assert "not ?[31mours" in fleet.zester("enroll", "show", enrollment).stdout
    assert "cannot be approved" in fleet.zester("enroll", "approve", enrollment, status=1).stderr
    assert joining.submit(fleet.pin())[0] == 201


def test_a_machine_that_trusts_somebody_else_is_shown_and_needs_force(fleet, master):
    joining = machine(fleet, master)
    status, body = joining.submit("sha256:" + "0" * 64)
    assert status == 201
    assert fleet.zester_json("enroll", "list")[0]["trust"] == "MISMATCH!"
    assert "trust mismatch" in fleet.zester("enroll", "approve", body["id"], status=1).stderr
    assert joining.state(body["id"]) == "pending"
    silent = machine(fleet, master, "db-01")
    assert silent.submit()[0] == 201
    assert "--force" in fleet.zester("enroll", "approve", "--peel", "db-01", status=1).stderr
    fleet.zester("enroll", "approve", "--all-pending", "--force")
    assert fleet.zester_json("enroll", "list") == []


def test_what_is_not_there_cannot_be_decided_and_nothing_selected_is_an_error(fleet, master):
    assert "no such enrollment" in fleet.zester("enroll", "approve", "enr-gone", status=1).stderr
    assert "no such enrollment" in fleet.zester("enroll", "approve", "--peel", "gone", status=1).stderr
    assert "no pending enrollments" in fleet.zester("enroll", "approve", "--all-pending", status=1).stderr
    assert "no such enrollment" in fleet.zester("enroll", "show", "gone", status=1).stderr
    fleet.zester("enroll", "approve", status=1)
    fleet.zester("enroll", "reject", "a", "--peel", "b", status=1)


def test_without_a_master_a_decision_can_be_written_directly(fleet, master):
    joining, enrollment = enroll(fleet, master)
    master.stop()
    assert "--direct-kv" in fleet.zester("enroll", "approve", enrollment, status=1).stderr
    fleet.zester("enroll", "approve", enrollment, "--direct-kv")
    assert fleet.zester_json("enroll", "list", "-s", "approved")[0]["id"] == enrollment
    master.start()
    fleet.wait_ready(master)
    assert joining.creds(enrollment)[0] == 200


def read_stream(joining, enrollment, ready):
    """The events of a stream, each as (event, data); `ready` is called after the first."""
    connection = joining.connect()
    try:
        connection.request("GET", f"/api/v1/enroll/{enrollment}/stream")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream"
        events, name = [], None
        for line in answer:
            key, _, value = line.decode().strip().partition(": ")
            if key == "event":
                name = value
            elif key == "data":
                events.append((name, json.loads(value)["state"]))
                if len(events) == 1:
                    ready()
        return events
    finally:
        connection.close()


def test_a_stream_reports_the_decision_at_once(fleet, master):
    joining, enrollment = enroll(fleet, master)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        events = pool.submit(read_stream, joining, enrollment, lambda: fleet.zester("enroll", "approve", enrollment)).result(SECONDS)
    assert events == [("state", "pending"), ("state", "approved")]
    assert read_stream(joining, enrollment, lambda: None) == [("state", "approved")]


def test_addresses_that_ask_too_often_have_to_wait(fleet):
    master = fleet.start_ready_master(enroll={"rate_burst": 3, "rate_per_minute": 1})
    joining = machine(fleet, master)
    assert [joining.nonce()[0] for _ in range(5)] == [200, 200, 200, 429, 429]
    assert 1 <= int(joining.headers["Retry-After"]) <= 61
    assert joining.call("GET", "/api/v1/enroll/ca")[0] == 200
    master.conf["enroll"]["rate_burst"] = 0
    master.conf_path.write_text(yaml_of(master.conf))
    master.send(signal.SIGHUP)
    fleet.wait(lambda: joining.nonce()[0] == 200, "the new limit")


def test_the_endpoint_speaks_tls_1_3_alone_with_a_certificate_of_the_fleet(fleet, master):
    joining = machine(fleet, master)
    status, document = joining.call("GET", "/api/v1/enroll/ca")
    assert status == 200 and document["v"] == 1 and document["fingerprint"] == fleet.pin() and document["nats_urls"] == []
    assert document["ca_bundle_pem"] == (fleet.auth / "ca/root.crt").read_text()
    assert joining.headers["Cache-Control"] == "max-age=60" and "Strict-Transport-Security" in joining.headers
    old = ssl._create_unverified_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError), socket.create_connection(("127.0.0.1", master.enroll_port), timeout=SECONDS) as plain:
        old.wrap_socket(plain)


def issue_leaf(fleet, name):
    """A certificate from outside, with the same authority."""
    out = fleet.folder / "issued"
    fleet.run("zester", "ca", "issue", "enroll", "--dir", fleet.auth / "ca", "--ip", "127.0.0.1", "--dns", name, "--out", out)
    for file in ("enroll.crt", "enroll.key"):
        os.replace(out / file, fleet.folder / file)


def served_names(master):
    pem = ssl.get_server_certificate(("127.0.0.1", master.enroll_port))
    return subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=pem, text=True, capture_output=True, check=True).stdout


def test_a_certificate_of_the_fleet_is_renewed_after_two_thirds_of_its_life_without_a_restart(fleet):
    master = fleet.start_ready_master(enroll=UNLIMITED, ca={"enroll_cert_validity": "6s"})
    address = ("127.0.0.1", master.enroll_port)
    first = ssl.get_server_certificate(address)
    fleet.wait(lambda: ssl.get_server_certificate(address) != first, "the endpoint shows another certificate")
    assert master.has_logged("certificate of the HTTPS endpoint renewed") and master.is_running()


def test_a_certificate_from_files_is_replaced_without_a_restart(fleet):
    issue_leaf(fleet, "first.example")
    master = fleet.start_ready_master(ca={"mode": "external"}, enroll={
        **UNLIMITED, "tls_cert": str(fleet.folder / "enroll.crt"), "tls_key": str(fleet.folder / "enroll.key")})
    assert "first.example" in served_names(master)
    open_one = machine(fleet, master).connect()
    open_one.request("GET", "/api/v1/enroll/ca")
    open_one.getresponse().read()
    issue_leaf(fleet, "second.example")
    master.send(signal.SIGHUP)
    fleet.wait(lambda: "second.example" in served_names(master), "the new certificate")
    open_one.request("GET", "/api/v1/enroll/ca")
    assert open_one.getresponse().status == 200  # on the connection from before
    open_one.close()
    (fleet.folder / "enroll.crt").write_text("nonsense")
    master.send(signal.SIGHUP)
    fleet.wait(lambda: master.has_logged("keeping the old one"), "the bad certificate is refused")
    assert "second.example" in served_names(master)


@pytest.mark.parametrize("keys, text", [
    ({"ca": {"mode": "embedded", "dir": "/nowhere"}}, "/nowhere"),
    ({"ca": {"mode": "external"}}, "enroll.crt"),
    ({"nats_advertise_urls": ["tls://127.0.0.1:4222"]}, "cannot be reached"),
    ({"nats_advertise_urls": ["nats://bus:4222"]}, "tls://"),
    ({"enroll": {"addr": "here:1"}}, "here:1"),
])
def test_a_master_that_cannot_enroll_does_not_start(fleet, keys, text):
    master = fleet.start_master(**keys)
    assert master.process.wait(SECONDS) == 1
    assert text in master.log()


def test_masters_share_enrollments(fleet, master):
    other = fleet.start_ready_master("other", enroll=UNLIMITED)
    joining = machine(fleet, master)
    _, nonce = joining.nonce()
    joining.port = other.enroll_port
    status, body = joining.call("POST", "/api/v1/enroll", joining.body(nonce, fleet.pin()))
    assert status == 201
    fleet.zester("enroll", "approve", body["id"])
    joining.port = master.enroll_port
    assert joining.creds(body["id"])[0] == 200


def test_many_machines_behind_one_address_enroll_at_once(fleet, master):
    def one(number):
        return machine(fleet, master, f"node-{number}").submit(fleet.pin())[0]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(24))) == [201] * 24
    fleet.zester("enroll", "approve", "--all-pending")
    assert len(fleet.zester_json("enroll", "list", "-s", "approved")) == 24


# --- join tokens --------------------------------------------------------------------------


def make_token(fleet, *words):
    return json.loads(fleet.run("zester-master", "token", "--config", fleet.write_cli_conf(), "--format", "json", *words).stdout)


def test_a_token_approves_at_once_and_is_never_limited(fleet):
    master = fleet.start_ready_master(enroll={"rate_burst": 1, "rate_per_minute": 0})
    line = fleet.run("zester-master", "token", "--config", fleet.write_cli_conf(), "--host", "master.example").stdout
    assert re.fullmatch(r"zester-peel join master\.example zt1\.[A-Za-z0-9_-]+\n", line)
    token = line.split()[-1]
    for number in range(5):
        joining = machine(fleet, master, f"node-{number}")
        joining.token = token
        fleet.wait(lambda: joining.nonce()[0] == 200, "the master knows the token")
        status, body = joining.submit(fleet.pin())
        assert (status, body["state"]) == (201, "approved")
        assert joining.creds(body["id"])[0] == 200
    row = fleet.zester_json("enroll", "list", "-s", "issued")[0]
    assert fleet.zester_json("enroll", "show", row["id"])["decided_by"].startswith("token:")
    stranger = machine(fleet, master, "stranger")
    stranger.nonce()
    assert stranger.nonce()[0] == 429
    stored = "".join(path.read_text(errors="ignore") for path in (fleet.folder / "js").rglob("*.blk"))
    assert "token." in stored and token not in stored + master.log()


def test_a_token_in_the_body_alone_approves_and_one_that_is_not_for_the_machine_leaves_it_pending(fleet, master):
    token = make_token(fleet, "--peels", "web-*")
    joining = machine(fleet, master, "web-01")
    joining.token = token["token"]
    fleet.wait(lambda: joining.nonce()[0] == 200, "alive")
    other = machine(fleet, master, "db-01")
    fleet.wait(lambda: joining.submit(fleet.pin())[1]["state"] == "approved", "the master knows the token")
    for field in (token["token"], token["token"][:-6] + "AAAAAA", "nonsense"):
        status, body = other.submit(fleet.pin(), token=field)
        assert status in (200, 201) and body["state"] == "pending", body
    last = machine(fleet, master, "web-02")
    status, body = last.submit(fleet.pin(), token=token["token"])
    assert (status, body["state"]) == (201, "approved")


def test_a_token_does_not_help_a_machine_that_trusts_somebody_else(fleet, master):
    joining = machine(fleet, master)
    joining.token = make_token(fleet)["token"]
    assert fleet.wait(lambda: joining.submit(fleet.pin())[1]["state"] == "approved", "the master knows the token")
    caught = machine(fleet, master, "db-01")
    caught.token = joining.token
    status, body = caught.submit("sha256:" + "0" * 64)
    assert (status, body["state"]) == (201, "pending") and "trust" in body["message"]


def test_a_stranger_keeps_no_name_from_a_machine_with_a_token(fleet, master):
    token = make_token(fleet)["token"]
    stranger = machine(fleet, master)
    status, squat = stranger.submit(fleet.pin())
    assert (status, squat["state"]) == (201, "pending")
    assert machine(fleet, master).submit(fleet.pin())[0] == 409
    joining = machine(fleet, master)
    joining.token = token
    status, body = joining.submit(fleet.pin())
    assert (status, body["state"]) == (201, "approved"), body
    assert joining.creds(body["id"])[0] == 200
    assert stranger.state(squat["id"]) == "rejected" and stranger.creds(squat["id"])[0] == 403
    assert fleet.zester_json("enroll", "show", squat["id"])["reject_reason"] == "a machine with a join token has the name now"
    fleet.wait(lambda: re.search(rf'audit action=enroll\.reject result=ok by="token:\S+" id="{squat["id"]}"', master.log().replace("\\", "")), "it is audited")
    late = machine(fleet, master)  # a name that was given is kept, and so is that of somebody else with a token
    late.token = token
    assert late.submit(fleet.pin())[0] == 409
    held = machine(fleet, master, "db-01")
    held.token = token
    assert held.submit("sha256:" + "0" * 64)[1]["state"] == "pending"
    late.peel = "db-01"
    assert late.submit(fleet.pin())[0] == 409


def test_strangers_cannot_fill_the_store_with_names(fleet):
    master = fleet.start_ready_master(enroll={"pending_per_address": 3, "pending_max": 5})
    strangers = [machine(fleet, master, f"name-{number}") for number in range(6)]
    answers = []
    for number, stranger in enumerate(strangers):
        answers.append(stranger.submit(fleet.pin()))
        fleet.wait(lambda number=number: len(fleet.zester_json("enroll", "list")) == min(number + 1, 3), "the master has seen it")
    assert [status for status, _ in answers] == [201] * 3 + [429] * 3
    assert "enroll.pending_per_address" in answers[-1][1]["error"]
    assert strangers[0].submit(fleet.pin())[0] == 200  # it waits already
    joining = machine(fleet, master, "invited")
    joining.token = make_token(fleet)["token"]
    status, body = joining.submit(fleet.pin())
    assert (status, body["state"]) == (201, "approved"), body
    fleet.zester("enroll", "reject", "--peel", "name-0", "--reason", "not ours")
    fleet.wait(lambda: strangers[4].submit(fleet.pin())[0] == 201, "there is room again")
    fleet.zester("enroll", "approve", "--all-pending")


def token_command(fleet, *words, **more):
    return fleet.run("zester-master", "token", *words, "--config", fleet.write_cli_conf(), **more)


def list_tokens(fleet):
    return json.loads(token_command(fleet, "list", "--format", "json").stdout)


def test_tokens_are_listed_without_their_secret_and_a_revoked_one_lets_nobody_in(fleet, master):
    first, second = make_token(fleet), make_token(fleet, "--peels", "web-*")
    rows = {row["id"]: row for row in list_tokens(fleet)}
    assert rows.keys() == {first["id"], second["id"]}
    assert rows[second["id"]] == {"id": second["id"], "state": "valid", "created": rows[second["id"]]["created"],
                                  "expires": rows[second["id"]]["expires"], "created_by": rows[first["id"]]["created_by"], "peels": "web-*"}
    text = token_command(fleet, "list").stdout
    assert text.startswith("ID ") and first["id"] in text and "zt1." not in text

    for word, message in (("0" * 16, "no such token"), ("nonsense", "not a token or a token id")):
        assert message in token_command(fleet, "revoke", word, status=1).stderr
    assert len(list_tokens(fleet)) == 2
    said = token_command(fleet, "revoke", first["id"], second["token"]).stdout
    assert said == f"{first['id']} revoked\n{second['id']} revoked\n"
    assert list_tokens(fleet) == []
    assert "no such token" in token_command(fleet, "revoke", first["id"], status=1).stderr

    numbers = iter(range(1000))

    def is_pending():
        joining = machine(fleet, master, f"web-{next(numbers)}")
        return joining.submit(fleet.pin(), token=first["token"])[1]["state"] == "pending"
    fleet.wait(is_pending, "the master has heard of the revocation")


def test_a_token_that_has_expired_is_worth_nothing_and_is_forgotten_with_the_next_one(fleet, master):
    token = make_token(fleet, "--valid", "1s")
    joining = machine(fleet, master)
    fleet.wait(lambda: time.time() > token["expires"], "it has expired")
    status, body = joining.submit(fleet.pin(), token=token["token"])
    assert (status, body["state"]) == (201, "pending")
    assert [(row["id"], row["state"]) for row in list_tokens(fleet)] == [(token["id"], "expired")]
    new = make_token(fleet)
    assert [row["id"] for row in list_tokens(fleet)] == [new["id"]]


def test_credentials_are_renewed_for_the_same_key_without_an_operator(fleet, master):
    joining, enrollment = enroll(fleet, master)
    assert joining.submit(fleet.pin(), renew=True)[1]["state"] == "pending"  # there is nothing to renew
    fleet.zester("enroll", "approve", enrollment)
    assert joining.creds(enrollment)[0] == 200
    status, body = joining.submit(fleet.pin(), renew=True)
    assert (status, body["state"]) == (201, "approved") and body["id"] != enrollment
    assert joining.creds(body["id"])[0] == 200
    assert fleet.zester_json("enroll", "show", "web-01")["decided_by"] == "renewal"
    assert re.search(r"audit action=enroll.renew result=ok .*" + body["id"], master.log())
    assert joining.submit("sha256:" + "0" * 64, renew=True)[1]["state"] == "pending"
    fleet.zester("enroll", "reject", "--peel", "web-01")
    assert joining.submit(fleet.pin(), renew=True)[1]["state"] == "pending"
    assert machine(fleet, master).submit(fleet.pin(), renew=True)[0] == 409


# --- keys -----------------------------------------------------------------------------------

def seeds_below(folder):
    """Every private key that is on the disk: seeds, and the lines of PEM keys."""
    for path in folder.rglob("*"):
        text = path.read_text(errors="replace") if path.is_file() and path.stat().st_size < 65536 else ""
        yield from re.findall(r"\bS[UAO][A-Z2-7]{56}\b", text)
        for body in re.findall(r"-BEGIN (?:EC )?PRIVATE KEY-+\n(.*?)\n-+END", text, re.S):
            yield body.splitlines()[0]


def test_no_private_key_is_in_a_log_or_on_a_command_line(fleet):
    master = fleet.start_ready_master(log_level="debug")
    peel = fleet.start_ready_peel("web-1", log_level="debug")
    fleet.zester("enroll", "revoke", "--peel", "web-1")
    fleet.wait(lambda: not peel.is_running() or peel.get("/readyz")[0] != 200, "the machine is cut off")
    seeds = {*seeds_below(fleet.auth), *seeds_below(peel.folder)}
    assert len(seeds) >= 6
    shown = [daemon.log() for daemon in fleet.daemons]
    shown += [Path(f"/proc/{daemon.process.pid}/cmdline").read_text() for daemon in (master, fleet.server)]
    assert not [seed for seed in seeds for text in shown if seed in text]


def test_while_enrollment_is_paused_no_new_machine_is_admitted_at_any_master(fleet, master):
    joining, enrollment = enroll(fleet, master)
    other = fleet.start_ready_master("other", enroll=UNLIMITED)
    assert fleet.zester("enroll", "pause", "--reason", "moving").stdout == "enrollment paused\n"
    numbers = itertools.count()
    for one in (master, other):
        def newcomer(one=one):
            return machine(fleet, one, f"new-{next(numbers)}").submit(fleet.pin())
        fleet.wait(lambda: newcomer()[0] == 503, "the pause is known")
        assert newcomer() == (503, {"error": "enrollment is paused: moving"})
    assert re.search(r'audit action=enroll.pause result=ok by=', master.log() + other.log())
    assert "enrollment is paused since" in fleet.zester("enroll", "list").stderr
    assert joining.submit(fleet.pin())[0] == 200  # it waits already
    fleet.zester("enroll", "approve", enrollment)
    assert joining.creds(enrollment)[0] == 200
    assert joining.submit(fleet.pin(), renew=True)[0] == 201, "credentials are renewed during a pause"
    assert fleet.zester("enroll", "resume").stdout == "enrollment resumed\n"
    fleet.wait(lambda: newcomer()[0] == 201, "the pause has ended")
    assert fleet.zester("enroll", "list").stderr == ""


def test_an_enrollment_that_nobody_decides_about_is_rejected_and_its_name_is_free(fleet):
    master = fleet.start_ready_master(enroll={**UNLIMITED, "pending_expires": "2s"})
    squatter, enrollment = enroll(fleet, master)
    assert machine(fleet, master).submit(fleet.pin())[0] == 409
    fleet.wait(lambda: squatter.state(enrollment) == "rejected", "the enrollment has expired")
    shown = fleet.zester_json("enroll", "show", enrollment)
    assert shown["decided_by"] == "expiry" and "in time" in shown["reject_reason"]
    assert re.search(rf"audit action=enroll.reject result=ok by=.*expiry.*{enrollment}", master.log())
    assert machine(fleet, master).submit(fleet.pin())[0] == 201
