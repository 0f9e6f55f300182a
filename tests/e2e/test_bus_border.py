"""The border between the accounts of the bus: for every subject in use, who may publish, who may subscribe, and that naming it as a
reply subject reaches nothing beyond the account of whoever does.

Subjects come from the table of src/wire/subject.c and from the streams of a running fleet. What is expected is written down here, once
more, by hand: a grant that appears in the program and not here fails.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bus import Bus
from enroll_client import read_jwt, seed_text
from fleet import SERVER, Fleet
from nats_client import Client
from packing import pack
from peels import CREDS, fetch_credentials, start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
SOURCE = Path(__file__).parents[2] / "src/wire/subject.c"

# What each kind of client may do, with '*' for one token and '>' for the rest. NAME is its own name.
PEEL_PUBLISHES = [
    "zester.target.resolve", "zester.job.*.ack.NAME", "zester.job.*.return.NAME", "zester.job.*.schedule.NAME", "zester.job.*.progress.NAME",
    "zester.event.NAME.send.>", "zester.event.NAME.beacon.>", "zester.fact.NAME", "$KV.facts.NAME", "$KV.peel-heartbeat.NAME",
    "$KV.basket.NAME.>", "$KV.update-status.peel.NAME", "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.NAME",
    "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._master_curve_pub", "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._cluster_info",
    "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files.>", "$JS.API.DIRECT.GET.KV_settings-files.$KV.settings-files.>",
    "$JS.API.DIRECT.GET.OBJ_files", "$JS.API.DIRECT.GET.OBJ_files.$O.files.>", "$JS.API.DIRECT.GET.OBJ_update-binaries",
    "$JS.API.DIRECT.GET.OBJ_update-binaries.$O.update-binaries.>"]
PEEL_HEARS = ["zester.cmd.NAME", "zester.job.*.cancel", "zester.update.cmd.NAME", "$KV.secrets.NAME", "$KV.secrets._master_curve_pub",
              "$KV.secrets._cluster_info", "$KV.state-files._revision", "$KV.settings-files._revision", "_INBOX.NAME.>"]
OPERATOR_PUBLISHES = ["zester.operator.NAME.>"]
OPERATOR_HEARS = ["zester.job.*.return.*", "zester.job.*.progress.*", "zester.event.>", "_INBOX._operator.NAME.>"]
# A leaf node passes on what any peel may do, and answers.
LEAF_PUBLISHES = [subject.replace("NAME", "*") for subject in PEEL_PUBLISHES] + ["_INBOX.>", "_R_.>", "zester.event.*", "$KV.basket.*"]
LEAF_HEARS = [subject.replace("NAME", "*") for subject in PEEL_HEARS]
ACTORS = {"peel": ("evil-01", PEEL_PUBLISHES, PEEL_HEARS), "operator": ("alice", OPERATOR_PUBLISHES, OPERATOR_HEARS),
          "leaf": ("rack-7", LEAF_PUBLISHES, LEAF_HEARS)}
# Requests to JetStream about a stream, and those about none.
VERBS = ["STREAM.CREATE.{}", "STREAM.UPDATE.{}", "STREAM.DELETE.{}", "STREAM.PURGE.{}", "STREAM.INFO.{}", "STREAM.MSG.DELETE.{}", "STREAM.MSG.GET.{}",
         "STREAM.SNAPSHOT.{}", "STREAM.RESTORE.{}", "STREAM.PEER.REMOVE.{}", "CONSUMER.CREATE.{}", "CONSUMER.DURABLE.CREATE.{}.x", "CONSUMER.LIST.{}",
         "CONSUMER.DELETE.{}.reactor", "CONSUMER.MSG.NEXT.{}.reactor", "DIRECT.GET.{}"]
OTHERS = ["$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.META.LEADER.STEPDOWN", "$JS.ACK.events.reactor.1.1.1.1.1",
          "$SYS.REQ.SERVER.PING", "$SYS.REQ.CLAIMS.UPDATE", "_INBOX.master.x", "_INBOX.web-01.x", "_R_.AAAAAA.BBBBBB", "$O.files.C.x", "$O.files.M.x"]


def matches(pattern, subject):
    """Does a pattern of NATS match all that `subject`, which may be one, matches?"""
    pattern, subject = pattern.split("."), subject.split(".")
    for number, token in enumerate(pattern):
        if token == ">":
            return len(subject) > number
        if number >= len(subject) or subject[number] == ">" or (token != "*" and token != subject[number]):
            return False
    return len(pattern) == len(subject)


def is_allowed(patterns, name, subject):
    return any(matches(pattern.replace("NAME", name), subject) for pattern in patterns)


def newest_server(folder):
    """A nats-server built from the newest release, or the reason why there is none."""
    if os.environ.get("NATS_SERVER_NEW"):
        return os.environ["NATS_SERVER_NEW"]
    if not shutil.which("go") or os.environ.get("FAULTS") != "all":
        return None
    made = subprocess.run(["go", "install", "github.com/nats-io/nats-server/v2@latest"], env={**os.environ, "GOBIN": str(folder)},
                          capture_output=True, timeout=600, check=False)
    return str(folder / "nats-server") if made.returncode == 0 else None


@pytest.fixture(scope="module", params=["installed", "newest"])
def fleet(request, tmp_path_factory):
    server = SERVER if request.param == "installed" else newest_server(tmp_path_factory.mktemp("go"))
    if not server:
        pytest.skip("the newest nats-server is built with FAULTS=all and go, or named by NATS_SERVER_NEW")
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.make_keys()
        fleet.server = fleet.add("nats", [server, "-c", fleet.folder / "nats.conf"])
        fleet.wait(lambda: fleet.listens(fleet.port), "nats-server listens")
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0})
        fleet.good = start_peel(fleet, fleet.master, "web-01")
        fetch_credentials(fleet, fleet.master, "evil-01", fleet.folder / "evil")
        fleet.zester("operator", "add", "alice", "--dir", fleet.auth, "--out", fleet.folder / "alice.creds")
        fleet.run("zester", "nats-auth", "leaf", "rack-7", "--dir", fleet.auth, "--out", fleet.folder / "leaf", "--data", fleet.folder / "leaf-data",
                  "--hub", "tls://127.0.0.1:1")
        fleet.creds = {"peel": fleet.folder / "evil/evil-01.creds", "operator": fleet.folder / "alice.creds", "leaf": fleet.folder / "leaf/leaf.creds"}
        yield fleet


@pytest.fixture(scope="module")
def spy(fleet):
    """Hears all that there is in the fleet's account, and may ask JetStream for anything."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as spy:
        spy.send(b"".join(f"SUB {subject} 9{number}\r\n".encode() for number, subject in enumerate(("zester.>", "$KV.>", "$O.>", "$JS.>", "_INBOX.>"))))
        spy.flush()
        yield spy


def streams(spy):
    return json.loads(ask(spy, "$JS.API.STREAM.NAMES"))["streams"]


def ask(spy, subject, payload=b""):
    """The answer, among all that it hears."""
    inbox = f"_INBOX.spy{os.urandom(8).hex()}"
    spy.send(f"PUB {subject} {inbox} {len(payload)}\r\n".encode() + payload + b"\r\n")
    while True:
        message = spy.read()
        if message and message[0] == inbox:
            return message[1]


@pytest.fixture(scope="module")
def subjects(spy):
    """All that are in use: of the table, of streams, of JetStream. For each name in them, ours and that of another."""
    found = []
    for pattern in re.findall(r'\[SUBJECT_\w+\]\s*= \{ "([^"]+)"', SOURCE.read_text()):
        for name in ("evil-01", "web-01", "alice", "_master"):
            found.append(pattern.replace("{peel}", name).replace("{target}", name).replace("{jid}", "J1").replace("{tag>}", "a.b"))
    assert len(set(found)) > 60
    for stream in streams(spy):
        found += [f"$JS.API.{verb.format(stream)}" for verb in VERBS]
        if stream.startswith("KV_"):
            bucket = stream.removeprefix("KV_")
            found += [f"$KV.{bucket}.{key}" for key in ("evil-01", "web-01", "evil-01.x", "peel.web-01", "_revision", "_manifest", "_cluster_info")]
            found += [f"$JS.API.DIRECT.GET.{stream}.$KV.{bucket}.{key}" for key in ("evil-01", "web-01", "_cluster_info", "top.zy")]
    return sorted({*found, *OTHERS})


def open_actor(fleet, actor):
    return Client(fleet.port, fleet.creds[actor], fleet.auth / "nats-ca.crt")


@pytest.mark.parametrize("actor", ACTORS)
def test_credentials_say_what_is_written_here_and_no_more(fleet, actor):
    name, publishes, hears = ACTORS[actor]
    claims = read_jwt(re.search(r"JWT-+\n(\S+)", fleet.creds[actor].read_text()).group(1))
    assert sorted(claims["nats"]["pub"]["allow"]) == sorted(subject.replace("NAME", name) for subject in publishes)
    assert sorted(claims["nats"]["sub"]["allow"]) == sorted(subject.replace("NAME", name) for subject in hears)
    owner = read_jwt((fleet.auth / "account.jwt").read_text())["sub"]
    assert claims["nats"]["issuer_account"] != owner, "it is not a user of the account that owns JetStream"


@pytest.mark.parametrize("actor", ACTORS)
def test_publishing_and_subscribing_are_refused_wherever_they_are_not_granted(fleet, subjects, actor):
    if actor == "leaf":
        return  # logs in as a server, not as a client: its lists are compared above
    name, publishes, hears = ACTORS[actor]
    with open_actor(fleet, actor) as client:
        for subject in subjects:
            if is_allowed(publishes, name, subject):
                continue
            client.publish(subject, b"x")
            refused = client.refusals()
            assert len(refused) == 1 and "Permissions Violation for Publish" in refused[0], (subject, refused)
        for subject in (*subjects, ">", "zester.>", "$KV.>", "$JS.>", "_INBOX.>", "$SYS.>", "_R_.>"):
            client.subscribe(subject)
            refused = client.refusals()
            assert bool(refused) != is_allowed(hears, name, subject), (subject, refused)


def requests_of(actor):
    """What it may ask for, so that an answer comes: by a server, a stream, a master, or nobody."""
    name, publishes, _ = ACTORS[actor]
    if actor == "operator":
        return [(f"zester.operator.{name}.{tokens}", b'{"last_by_subj":"$KV.facts.web-01"}')
                for tokens in ("js.STREAM.MSG.GET.KV_facts", "js.STREAM.INFO.KV_facts", "target.resolve", "dispatch", "nonsense")]
    found = []
    for pattern in publishes:
        subject = pattern.replace("NAME", name).replace("*", "J1").replace(">", "x")
        found.append((subject, pack({"expr": "*"}) if subject.endswith("resolve") else b""))
    return [*found, ("$JS.API.DIRECT.GET.KV_state-files.$KV.state-files._revision", b"")]


def snapshot(spy):
    """Of each stream: whether it is there, and the last that was written to what belongs to others than evil-01."""
    state = {}
    for stream in streams(spy):
        info = json.loads(ask(spy, f"$JS.API.STREAM.INFO.{stream}", b'{"subjects_filter":">"}'))
        counts = info["state"].get("subjects") or {}
        state[stream] = {subject: count for subject, count in counts.items() if "evil-01" not in subject and "heartbeat" not in subject
                         and not stream.endswith(("heartbeat", "leases"))}
    return state


@pytest.mark.parametrize("actor", ["peel", "operator"])
def test_a_reply_subject_reaches_nothing_in_the_account_of_the_fleet(fleet, spy, subjects, actor):
    name, publishes, _ = ACTORS[actor]
    before = snapshot(spy)
    with open_actor(fleet, actor) as client:
        client.subscribe("_INBOX.evil-01.>" if actor == "peel" else "_INBOX._operator.alice.>")
        for request, payload in requests_of(actor):
            for subject in subjects:
                client.publish(request, payload, reply=subject)
            refused = client.refusals()  # a server does not let a client use the replies that it makes itself
            assert all("Publish with Reply of" in text and ("$JS.ACK." in text or "_R_." in text) for text in refused), (request, refused)
            assert not client.is_closed
    mark = f"$KV.facts.mark-{actor}"  # everything before it has been delivered when it comes
    spy.send(f"PUB {mark} 0\r\n\r\n".encode())
    own = {request for request, _ in requests_of(actor)}
    heard = set()
    while not heard or mark not in heard:
        message = spy.read()
        if message and (not spy.reply or message[0] == mark):  # an answer asks for none; what masters and peels ask for does
            heard.add(message[0])
    answered = {subject for subject in subjects if subject in heard and subject not in own}
    usual = {subject for subject in answered if "web-01" in subject or "_master" in subject or "_revision" in subject}  # the good peel and masters are alive
    assert answered <= usual, answered - usual
    after = snapshot(spy)
    assert set(after) == set(before), "no stream was removed"
    grown = {subject for stream, counts in after.items() for subject in counts if subject not in before[stream]}
    assert not [subject for subject in grown if subject in subjects], grown
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert fleet.master.is_running() and fleet.good.is_running()


def test_what_is_sent_to_another_peel_by_a_reply_subject_is_not_obeyed(fleet, tmp_path):
    """The account of peels is theirs alone, but they share it."""
    mark = tmp_path / "mark"
    request = pack({"v": 1, "jid": "J9", "module": "cmd.run", "id": f"touch {mark}", "args": {}, "epoch": 7})
    with open_actor(fleet, "peel") as client:
        client.publish("$KV.basket.evil-01.x", request)
        for subject, payload in requests_of("peel"):
            for reply in ("zester.cmd.web-01", "zester.update.cmd.web-01", "zester.job.J1.cancel", "$KV.secrets.web-01", "$KV.state-files._revision"):
                client.publish(subject, payload or request, reply=reply)
        assert not client.refusals()
    fleet.wait(lambda: fleet.good.has_logged("it does not come from the fleet's account"), "it has noticed")
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert not mark.exists() and fleet.good.is_running()


def test_a_stranger_is_not_let_in(fleet):
    path = fleet.folder / "stranger.creds"
    jwt = re.search(r"JWT-+\n(\S+)", fleet.creds["peel"].read_text()).group(1)
    path.write_text(CREDS.format(jwt=jwt, seed=seed_text(os.urandom(32))))
    with pytest.raises((AssertionError, ConnectionError)):
        Client(fleet.port, path, fleet.auth / "nats-ca.crt")


def test_a_peel_cannot_remove_the_facts_of_others_by_a_header(fleet, spy):
    before = json.loads(ask(spy, "$JS.API.STREAM.INFO.KV_facts", b'{"subjects_filter":">"}'))["state"]["subjects"]
    assert "$KV.facts.web-01" in before
    with open_actor(fleet, "peel") as client:
        for value in ("all", "sub"):
            header = f"NATS/1.0\r\nNats-Rollup: {value}\r\n\r\n".encode()
            client.send(f"HPUB $KV.facts.evil-01 {len(header)} {len(header)}\r\n".encode() + header + b"\r\n")
        client.flush()
    after = json.loads(ask(spy, "$JS.API.STREAM.INFO.KV_facts", b'{"subjects_filter":">"}'))["state"]["subjects"]
    assert set(before) <= set(after)
