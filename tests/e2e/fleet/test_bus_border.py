"""The border between the accounts of the bus: for every subject in use, what a peel, an operator, a leaf node and a stranger reach by
publishing to it, by subscribing to it, and by naming it as a reply subject.

Subjects come from the table of src/fleet/wire/subject.c and from the streams of a running fleet. What is expected is written down here, once
more, by hand: a grant that appears in the program and not here fails.

A nats-server before 2.14 takes any message of a leaf node, whatever its credentials say. What it says in the name of peels is taken for theirs;
everything else must stay in the account of the peels.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bus import Bus
from enroll_client import derive_account, read_jwt, seed_text, sign_claims
from fleet import SERVER, Fleet, free_port
from leaf_client import Leaf
from nats_client import Client, read_creds
from packing import pack
from peels import CREDS, fetch_credentials, start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
SOURCE = Path(__file__).parents[3] / "src/fleet/wire/subject.c"

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
# One who may ask for nothing but enrollments hears no returns and no events.
DEAF_HEARS = ["_INBOX._operator.NAME.>"]
ACTORS = {"peel": ("evil-01", PEEL_PUBLISHES, PEEL_HEARS), "operator": ("alice", OPERATOR_PUBLISHES, OPERATOR_HEARS),
          "enroller": ("eve", OPERATOR_PUBLISHES, DEAF_HEARS), "leaf": ("rack-7", LEAF_PUBLISHES, LEAF_HEARS)}
CLIENTS = ("peel", "operator", "enroller")
# What each account hears of the fleet's: inboxes of peels are not exported.
ALL = (">", "zester.>", "$KV.>", "$O.>", "$JS.>", "_INBOX.>", "$SYS.>", "_R_.>")
# A name that no machine has which runs, so that nobody else speaks of it.
OTHER = "db-01"
# Requests to JetStream about a stream, and those about none.
VERBS = ["STREAM.CREATE.{}", "STREAM.UPDATE.{}", "STREAM.DELETE.{}", "STREAM.PURGE.{}", "STREAM.INFO.{}", "STREAM.MSG.DELETE.{}", "STREAM.MSG.GET.{}",
         "STREAM.SNAPSHOT.{}", "STREAM.RESTORE.{}", "STREAM.PEER.REMOVE.{}", "CONSUMER.CREATE.{}", "CONSUMER.DURABLE.CREATE.{}.x", "CONSUMER.LIST.{}",
         "CONSUMER.DELETE.{}.reactor", "CONSUMER.MSG.NEXT.{}.reactor", "DIRECT.GET.{}"]
OTHERS = ["$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.META.LEADER.STEPDOWN", "$JS.ACK.events.reactor.1.1.1.1.1",
          "$JS.ACK.job-events.late-returns.1.1.1.1.1", "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.events.reactor",
          "$JS.FC.events.reactor.x", "$JS.SNAPSHOT.ACK.events.x", "$JS.API.ACCOUNT.PURGE.x", "$JS.API.SERVER.REMOVE", "$NRG.V.x", "$SYS.REQ.USER.INFO",
          "$SYS.REQ.SERVER.PING", "$SYS.REQ.CLAIMS.UPDATE", "_INBOX.master.x", f"_INBOX.{OTHER}.x", "_INBOX._operator.bob.x", "_R_.AAAAAA.BBBBBB", "$O.files.C.x", "$O.files.M.x"]


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
        fleet.leaf_port = free_port()
        fleet.make_keys("--leaf-port", fleet.leaf_port)
        fleet.server = fleet.add("nats", [server, "-c", fleet.folder / "nats.conf"])
        fleet.wait(lambda: fleet.listens(fleet.port), "nats-server listens")
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0})
        fleet.good = start_peel(fleet, fleet.master, "web-01")
        fetch_credentials(fleet, fleet.master, "evil-01", fleet.folder / "evil")
        fetch_credentials(fleet, fleet.master, OTHER, fleet.folder / "other")
        for name, role in (("alice", "operator"), ("eve", "enroller")):
            fleet.zester("operator", "add", name, "--role", role, "--dir", fleet.auth, "--out", fleet.folder / f"{name}.creds")
        fleet.run("zester", "nats-auth", "leaf", "rack-7", "--dir", fleet.auth, "--out", fleet.folder / "leaf", "--data", fleet.folder / "leaf-data",
                  "--hub", "tls://127.0.0.1:1")
        fleet.creds = {"peel": fleet.folder / "evil/evil-01.creds", "operator": fleet.folder / "alice.creds", "enroller": fleet.folder / "eve.creds",
                       "leaf": fleet.folder / "leaf/leaf.creds"}
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
        for name in ("evil-01", OTHER, "alice", "_master"):
            found.append(pattern.replace("{peel}", name).replace("{target}", name).replace("{jid}", "J1").replace("{tag>}", "a.b"))
    assert len(set(found)) > 60
    for stream in streams(spy):
        found += [f"$JS.API.{verb.format(stream)}" for verb in VERBS]
        if stream.startswith("KV_"):
            bucket = stream.removeprefix("KV_")
            found += [f"$KV.{bucket}.{key}" for key in ("evil-01", OTHER, "evil-01.x", f"peel.{OTHER}", "_revision", "_manifest", "_cluster_info")]
            found += [f"$JS.API.DIRECT.GET.{stream}.$KV.{bucket}.{key}" for key in ("evil-01", OTHER, "_cluster_info", "top.zy")]
    return sorted({*found, *OTHERS})


def open_actor(fleet, actor):
    if actor == "leaf":
        return Leaf(fleet.leaf_port, fleet.creds[actor], fleet.auth / "nats-ca.crt")
    return Client(fleet.port, fleet.creds[actor], fleet.auth / "nats-ca.crt")


def hear(spy, number):
    """All that has reached the fleet's account since the last time, and asks for no answer: requests of those that run do."""
    mark = f"$KV.facts.mark-{number}"  # everything before it has been delivered when it comes
    spy.send(f"PUB {mark} 0\r\n\r\n".encode())
    heard = set()
    while mark not in heard:
        message = spy.read()
        if message and (not spy.reply or message[0] == mark):
            heard.add(message[0])
    return heard - {mark}


@pytest.mark.parametrize("actor", ACTORS)
def test_credentials_say_what_is_written_here_and_no_more(fleet, actor):
    name, publishes, hears = ACTORS[actor]
    claims = read_jwt(re.search(r"JWT-+\n(\S+)", fleet.creds[actor].read_text()).group(1))
    assert sorted(claims["nats"]["pub"]["allow"]) == sorted(subject.replace("NAME", name) for subject in publishes)
    assert sorted(claims["nats"]["sub"]["allow"]) == sorted(subject.replace("NAME", name) for subject in hears)
    assert claims["nats"]["allowed_connection_types"] == ["LEAFNODE" if actor == "leaf" else "STANDARD"]
    owner = read_jwt((fleet.auth / "account.jwt").read_text())["sub"]
    assert claims["nats"]["issuer_account"] != owner, "it is not a user of the account that owns JetStream"


@pytest.mark.parametrize("actor", CLIENTS)
def test_publishing_and_subscribing_are_refused_wherever_they_are_not_granted(fleet, spy, subjects, actor):
    name, publishes, hears = ACTORS[actor]
    forbidden = [subject for subject in subjects if not is_allowed(publishes, name, subject)]
    with open_actor(fleet, actor) as client:
        for subject in forbidden:
            client.publish(subject, b"x")
            refused = client.refusals()
            assert len(refused) == 1 and "Permissions Violation for Publish" in refused[0], (subject, refused)
        for subject in (*subjects, *ALL):
            client.subscribe(subject)
            refused = client.refusals()
            assert bool(refused) != is_allowed(hears, name, subject), (subject, refused)
    assert not hear(spy, f"{actor}-publish").intersection(forbidden)


def try_each(fleet, subjects, what, attempt):
    """As a leaf node. A server that refuses one closes the connection; returns those that it did not refuse."""
    rest, taken = list(subjects), []
    while rest:
        with open_actor(fleet, "leaf") as leaf:
            while rest and not leaf.is_closed:
                subject = rest.pop()
                attempt(leaf, subject)
                leaf.flush()
                assert leaf.errors in ([], [f"-ERR 'Permissions Violation for {what} \"{subject}\"'"])
                taken += [] if leaf.errors else [subject]
    return taken


def test_a_leaf_node_is_refused_every_subscription_that_is_not_granted(fleet, subjects):
    name, _, hears = ACTORS["leaf"]
    forbidden = [subject for subject in subjects if not is_allowed(hears, name, subject)]
    assert not try_each(fleet, forbidden, "Subscription to", lambda leaf, subject: leaf.subscribe(subject))


def test_a_leaf_node_reaches_nothing_of_the_fleet_but_what_its_peels_may(fleet, spy, subjects):
    name, publishes, _ = ACTORS["leaf"]
    forbidden = [subject for subject in subjects if not is_allowed(publishes, name, subject)]
    hear(spy, "leaf-before")
    try_each(fleet, forbidden, "Publish to", lambda leaf, subject: leaf.publish(subject, b"x"))
    assert not hear(spy, "leaf-publish").intersection(forbidden)


def say_everything(spy, subjects):
    """In the fleet's account: no stream takes it, and it is half a request, which nobody does; it is heard all the same."""
    header = b"NATS/1.0\r\nNats-Expected-Stream: none\r\n\r\n"
    for subject in subjects:
        spy.send(f"HPUB {subject} {len(header)} {len(header) + 1}\r\n".encode() + header + b"{\r\n")
    spy.flush()


@pytest.mark.parametrize("actor", ACTORS)
def test_of_what_is_said_in_the_fleet_each_hears_its_part_and_no_more(fleet, spy, subjects, actor):
    """A leaf node is not refused wildcards, and hears no more by them."""
    name, _, hears = ACTORS[actor]
    with open_actor(fleet, actor) as client:
        for subject in (*subjects, *(ALL if actor == "leaf" else ())):
            if subject in ALL or is_allowed(hears, name, subject):
                client.subscribe(subject)
        assert not client.refusals()
        client.heard.clear()
        say_everything(spy, [subject for subject in subjects if not subject.startswith("$SYS.")])
        client.flush()
        heard = {message[0] for message in client.heard}.intersection(subjects)
    assert all(is_allowed(hears, name, subject) for subject in heard), heard
    exported = {subject for subject in subjects if is_allowed(hears, name, subject) and (actor in CLIENTS[1:] or not subject.startswith("_INBOX."))}
    assert heard >= exported, exported - heard
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert fleet.master.is_running() and fleet.good.is_running()


def requests_of(actor):
    """What it may ask for, so that an answer comes: by a server, a stream, a master, or nobody."""
    name, publishes, _ = ACTORS[actor]
    if publishes is OPERATOR_PUBLISHES:
        return [(f"zester.operator.{name}.{tokens}", b'{"last_by_subj":"$KV.facts.web-01"}')
                for tokens in ("js.STREAM.MSG.GET.KV_facts", "js.STREAM.INFO.KV_facts", "target.resolve", "dispatch", "nonsense")]
    found = []
    for pattern in publishes:
        subject = pattern.replace("NAME", name).replace("*", "J1").replace(">", "x")
        found.append((subject, pack({"expr": "*"}) if subject.endswith("resolve") else b""))
    return [*found, ("$JS.API.DIRECT.GET.KV_state-files.$KV.state-files._revision", b"")]


def snapshot(spy):
    """Of each stream: the subjects that it has messages of, and how many."""
    state = {}
    for stream in streams(spy):
        info = json.loads(ask(spy, f"$JS.API.STREAM.INFO.{stream}", b'{"subjects_filter":">"}'))
        state[stream] = info["state"].get("subjects") or {}
    return state


# A leaf node reaches consumers of masters: servers hand acknowledgements on as they are (docs/explanation/security.md).
ACKS = "$JS.ACK."


@pytest.mark.parametrize("actor", ACTORS)
def test_a_reply_subject_reaches_nothing_in_the_account_of_the_fleet(fleet, spy, subjects, actor):
    name, publishes, _ = ACTORS[actor]
    before = snapshot(spy)
    hear(spy, f"{actor}-before")
    with open_actor(fleet, actor) as client:
        for request, payload in requests_of(actor):
            for subject in subjects:
                client.publish(request, payload, reply=subject)
            refused = client.refusals()  # a server does not let a client use the replies that it makes itself
            assert all("Publish with Reply of" in text and ("$JS.ACK." in text or "_R_." in text) for text in refused), (request, refused)
            assert not client.is_closed
    own = {request for request, _ in requests_of(actor)}
    answered = {subject for subject in hear(spy, f"{actor}-reply").intersection(subjects) - own if actor != "leaf" or not subject.startswith(ACKS)}
    assert not answered, answered
    after = snapshot(spy)
    assert set(after) == set(before), "no stream was removed"
    kept = ("KV_peel-heartbeat", "KV_master-heartbeat", "KV_leases", "events", "job-events")  # they expire, or have a limit
    gone = {subject for stream, counts in before.items() if stream not in kept for subject in counts if subject not in after[stream]}
    grown = {subject for stream, counts in after.items() for subject in counts if subject not in before[stream]}
    assert not gone and not grown.intersection(subjects) - own, (gone, grown)
    assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
    assert fleet.master.is_running() and fleet.good.is_running()


def stranger_creds(fleet):
    """The claims of a peel, and a key that is not theirs."""
    path = fleet.folder / "stranger.creds"
    jwt = re.search(r"JWT-+\n(\S+)", fleet.creds["peel"].read_text()).group(1)
    path.write_text(CREDS.format(jwt=jwt, seed=seed_text(os.urandom(32))))
    return path


class Stranger(Client):
    """Goes on without waiting to be let in; `words` are of CONNECT, or it does not say so much."""
    words = None

    def connect_words(self, jwt, signature):
        return self.words

    def send(self, data):
        if not data.startswith(b"CONNECT") or self.words is not None:
            super().send(data)

    def flush(self):
        """Not before it has said everything."""


@pytest.mark.parametrize("words", [None, {}, {"user": "evil-01", "pass": "x"}, {"jwt": "x", "sig": "x"}], ids=["silent", "nameless", "guessing", "forging"])
@pytest.mark.parametrize("port", ["port", "leaf_port"])
def test_a_stranger_reaches_nothing_whatever_the_subject(fleet, spy, subjects, words, port):
    hear(spy, f"stranger-before-{port}")
    verbs = ("PUB {} 1\r\nx\r\n", "SUB {} 1\r\n", "PUB zester.fact.evil-01 {} 1\r\nx\r\n") if port == "port" else \
        ("LMSG {} 1\r\nx\r\n", "LS+ {}\r\n", "LMSG zester.fact.evil-01 {} 1\r\nx\r\n")
    for verb in verbs:
        stranger = type("Stranger", (Stranger,), {"words": words})(getattr(fleet, port), stranger_creds(fleet), fleet.auth / "nats-ca.crt")
        with stranger:
            stranger.send("".join(verb.format(subject) for subject in subjects).encode())
            Client.flush(stranger)
            assert stranger.is_closed and all("Authorization Violation" in text or "Unknown Protocol" in text for text in stranger.errors)
    assert not hear(spy, f"stranger-{port}").intersection(subjects)


def test_a_stranger_is_not_let_in(fleet):
    for kind, port in ((Client, fleet.port), (Leaf, fleet.leaf_port)):
        with pytest.raises((AssertionError, ConnectionError)):
            kind(port, stranger_creds(fleet), fleet.auth / "nats-ca.crt")


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


@pytest.mark.parametrize("actor", CLIENTS)
def test_credentials_of_clients_are_refused_on_the_port_for_leaf_nodes(fleet, actor):
    """There, a server before 2.14 would let them speak in the name of every other machine, also in that of a master to a peel."""
    with pytest.raises(AssertionError, match="Authorization Violation"):
        Leaf(fleet.leaf_port, fleet.creds[actor], fleet.auth / "nats-ca.crt")


def test_operators_with_older_credentials_cannot_be_leaf_nodes_either(fleet):
    """They are issued for long, and said nothing of ports: the account itself takes no leaf nodes."""
    jwt = read_creds(fleet.creds["operator"])[0]
    claims = read_jwt(jwt)
    del claims["nats"]["allowed_connection_types"]
    path = fleet.folder / "older.creds"
    path.write_text(fleet.creds["operator"].read_text().replace(jwt, sign_claims(claims, "A", derive_account(fleet.auth / "account.seed", "operators"))))
    with Client(fleet.port, path, fleet.auth / "nats-ca.crt") as client:
        assert not client.refusals()
    with pytest.raises(AssertionError, match="maximum account active connections exceeded"):
        Leaf(fleet.leaf_port, path, fleet.auth / "nats-ca.crt")


def test_credentials_of_a_leaf_node_are_refused_from_a_client(fleet):
    with pytest.raises(AssertionError, match="Authorization Violation"):
        Client(fleet.port, fleet.creds["leaf"], fleet.auth / "nats-ca.crt")


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
