"""Programs of a machine raise events through the agent: stored, or kept on disk while there is no bus."""
import json
import os
import socket
import stat
import subprocess

import pytest

from fleet import BUILD, SECONDS, SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


RULES = {
    "top.zy": "reactor:\n  - '_admin/go': [reactor.go]\n  - '*/sub/step': [reactor.say]\n",
    "say.zy": "a: { log: 'step at depth {{ event.depth }}' }\n",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("local")) as fleet:
        fleet.start_server()
        rules = fleet.folder / "rules"
        rules.mkdir()
        for name, text in RULES.items():
            (rules / name).write_text(text)
        command = f"{BUILD}/zester-peel event sub/step --config {fleet.folder}/web-01/peel.yaml"
        (rules / "go.zy").write_text(f"a: {{ local.cmd.run: {{ tgt: web-01, arg: ['{command}'] }} }}\n")
        fleet.master = fleet.start_ready_master(reactor={"dir": str(rules)})
        fleet.wait(lambda: fleet.master.metric("zester_reactor_rules_loaded") == 2, "the rules are loaded")
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        yield fleet


def raise_event(fleet, *words, **more):
    return fleet.run("zester-peel", "event", *words, "--config", fleet.peel.folder / "peel.yaml", **more)


def raise_json(fleet, *words):
    return json.loads(raise_event(fleet, *words, "--format", "json").stdout)


def outcome(fleet, event):
    """What a master made of the event; None: it has not seen it yet."""
    result = fleet.zester("event", "why", event, "--format", "json", status=None)
    return json.loads(result.stdout)["outcome"] if result.returncode == 0 else None


def test_an_event_of_a_script_is_stored_and_reaches_the_reactor(fleet):
    answer = raise_json(fleet, "backup.finished", "size=3GB")
    assert {key: answer[key] for key in answer if key != "id"} == {
        "tag": "backup/finished", "match_key": "web-01/backup/finished", "subject": "zester.event.web-01.send.backup.finished",
        "status": "stored"}
    assert fleet.wait(lambda: outcome(fleet, answer["id"]), "a master has seen it") == "unmatched"
    assert raise_event(fleet, "backup/finished").stdout.startswith("Event stored\n  id:        ")


def test_the_configuration_may_be_named_before_the_command(fleet):
    config = fleet.peel.folder / "peel.yaml"
    for words in (["--config", config], [f"--config={config}"], ["-c", config]):
        assert fleet.run("zester-peel", *words, "event", "backup/finished").stdout.startswith("Event stored\n")
    assert "unknown command 'evnt'" in fleet.run("zester-peel", "--config", config, "evnt", status=2).stderr


def test_an_event_that_the_job_of_a_reaction_raises_has_the_depth_of_that_job(fleet):
    raise_event(fleet, "sub/step")
    fleet.wait(lambda: fleet.master.has_logged("step at depth 0"), "an event of a person")
    fleet.zester("event", "send", "go")
    fleet.wait(lambda: fleet.master.has_logged("step at depth 1"), "an event of a reaction")


def test_a_bad_tag_or_pair_is_refused_before_anything_is_sent(fleet):
    assert "tag" in raise_event(fleet, "no tag", status=1).stderr
    assert "is not KEY=VALUE" in raise_event(fleet, "tag", "nonsense", status=1).stderr


def test_the_socket_is_for_root_and_the_user_of_the_agent(fleet):
    path = fleet.peel.folder / "data/event.sock"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    # also when the mode lets them in, others may not
    os.chmod(path, 0o666)
    os.chmod(path.parent, 0o711)
    script = "import os, socket\nos.seteuid(65534)\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n" \
        "s.connect('event.sock')\nprint(s.recv(65536))"
    denied = subprocess.run(["python3", "-c", script], cwd=path.parent, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert "permission denied" in denied.stdout
    os.chmod(path.parent, 0o700)
    os.chmod(path, 0o600)


def talk(fleet, packet):
    """The answer to a packet, as bytes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(SECONDS)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        client.connect(str(fleet.peel.folder / "data/event.sock"))
        client.send(packet)
        return client.recv(1 << 16)


@pytest.mark.parametrize("packet, why", [
    (b"\xff\xfe nonsense", b"refused"),
    (b"\x80", b"tag"),
    (b"\x81\xa3tag\xa5a b c", b"tag"),
    (b"\x82\xa3tag\xa1a\xa5depth\x07", b"depth"),
    (b"x" * 70000, b"exceeds the limit of 65536 bytes"),
])
def test_a_packet_that_is_not_an_event_is_refused_with_a_reason(fleet, packet, why):
    answer = talk(fleet, packet)
    assert b"refused" in answer and why in answer
    assert raise_json(fleet, "still/alive")["status"] == "stored"


def test_events_wait_on_disk_for_the_bus_also_across_a_restart(fleet):
    fleet.server.kill()
    fleet.wait(lambda: fleet.peel.checks().get("nats") == "down", "the peel is cut off")
    first, second = raise_json(fleet, "cut/off", "n=1"), raise_json(fleet, "cut/off", "n=2")
    assert [first["status"], second["status"]] == ["buffered", "buffered"]
    assert raise_event(fleet, "cut/off", "n=3").stdout.startswith("Event buffered on disk")
    assert fleet.peel.metric("zester_peel_local_events") == 3
    fleet.peel.kill()
    assert "the agent is not running" in raise_event(fleet, "nobody/home", status=1).stderr
    fleet.peel.start()
    fleet.server = fleet.start_server()
    fleet.wait_ready(fleet.peel)
    fleet.wait(lambda: fleet.peel.metric("zester_peel_local_events") == 0, "what was kept is stored")
    for event in (first, second):
        assert fleet.wait(lambda event=event: outcome(fleet, event["id"]), "a master has seen it") == "unmatched"


def test_a_flood_is_refused_and_the_agent_stays(fleet):
    packet = b"\x81\xa3tag\xa5flood"
    answers = [talk(fleet, packet) for _ in range(130)]
    assert any(b"too many events" in answer for answer in answers)
    assert any(b"stored" in answer for answer in answers)
    assert fleet.peel.is_running()
