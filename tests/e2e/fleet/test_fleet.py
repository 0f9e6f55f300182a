"""A fleet of real processes on loopback: nats-server, masters, peels."""
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from fleet import BUILD, SECONDS, SERVER, STOP_SECONDS, Fleet, yaml_of
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet


def test_a_master_prepares_the_bus_and_is_ready(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    status, text = master.get("/healthz")
    assert status == 200
    assert json.loads(text) == {"status": "ok", "component": "master", "version": json.loads(text)["version"]}
    assert master.checks()["nats"] == "ok"
    assert master.metric("zester_nats_connected") == 1
    assert master.stop(seconds=STOP_SECONDS) == 0
    line = master.lines()[0]
    assert line["level"] == "info" and line["component"] == "master" and line["master_id"].startswith("master-")


def test_without_a_bus_a_master_is_alive_but_not_ready_and_waits_for_it(fleet):
    fleet.make_keys()
    master = fleet.start_master()
    fleet.wait(lambda: master.get("/healthz")[0] == 200, "alive")
    assert master.get("/readyz")[0] == 503
    assert master.checks()["nats"] == "down"
    fleet.start_server()
    fleet.wait_ready(master)
    assert master.stop(seconds=STOP_SECONDS) == 0


def test_a_master_outlives_a_restart_of_the_server(fleet):
    server = fleet.start_server()
    master = fleet.start_ready_master()
    server.kill()
    fleet.wait(lambda: master.get("/readyz")[0] == 503, "not ready without a server")
    server.start()
    fleet.wait_ready(master)
    assert master.metric("zester_nats_reconnects_total") == 1
    assert master.metric("zester_nats_disconnects_total") == 1


def serve_slow_consumers(fleet, listener):
    """A server that lets everybody in and then says that they read too slowly."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(fleet.auth / "nats-server.crt", fleet.auth / "nats-server.key")
    info = {"server_id": "x", "version": "2.9.10", "max_payload": 1 << 20, "headers": True, "tls_required": True, "nonce": "n"}
    while True:
        try:
            client = listener.accept()[0]
        except OSError:
            return
        with contextlib.suppress(OSError):
            client.sendall(b"INFO " + json.dumps(info).encode() + b"\r\n")
            with context.wrap_socket(client, server_side=True) as client:
                heard = b""
                while b"PING\r\n" not in heard and (more := client.recv(65536)):
                    heard += more
                client.sendall(b"PONG\r\n-ERR 'Slow Consumer'\r\n")


def test_connections_that_the_bus_ends_as_too_slow_are_counted(fleet):
    fleet.make_keys()
    with socket.create_server(("127.0.0.1", fleet.port)) as listener:
        server = threading.Thread(target=serve_slow_consumers, args=(fleet, listener), daemon=True)
        server.start()
        master = fleet.start_master()
        fleet.wait(lambda: (master.metric("zester_nats_slow_consumers_total") or 0) >= 2, "two connections are counted")
        master.kill()
        listener.shutdown(socket.SHUT_RDWR)
        server.join()


def test_a_reload_takes_a_good_file_and_keeps_the_old_one_otherwise(fleet):
    fleet.start_server()
    master = fleet.start_ready_master(log_level="info")
    master.conf_path.write_text("log_level: noisy\n")
    master.send(signal.SIGHUP)
    fleet.wait(lambda: master.has_logged("configuration has errors, keeping the old one"), "the bad file is reported")
    assert "noisy" in master.log()
    master.conf_path.write_text(yaml_of({**master.conf, "nodegroups": {"a": "N@b or web*", "b": "N@a", "c": "N@d"}}))
    master.send(signal.SIGHUP)
    fleet.wait(lambda: "group 'a' contains itself" in master.log() and "no group 'd'" in master.log(), "groups with mistakes are reported")
    master.conf_path.write_text(yaml_of({**master.conf, "log_format": "text", "auth_dir": "/nowhere", "nonsense": 1}))
    master.send(signal.SIGHUP)
    fleet.wait(lambda: master.has_logged("info configuration read again"), "the good file is used")
    assert "takes effect after a restart key=auth_dir" in master.log()
    assert re.search(r"^\S+Z warn certificate cannot be renewed", master.log(), re.M)
    assert "nonsense" in master.log()
    fleet.wait_ready(master)


@pytest.mark.parametrize("words, text", [
    (["extra"], "extra"),
    (["--no-such-flag"], "no-such-flag"),
    (["--config", "/nowhere/master.yaml"], "/nowhere/master.yaml"),
    (["--nats-url", "nats://127.0.0.1:4222", "--health-addr", "127.0.0.1:0"], "tls://"),
    (["--health-addr", "somewhere"], "somewhere"),
])
def test_a_master_that_cannot_start_says_why(fleet, words, text):
    fleet.make_keys()
    result = subprocess.run([f"{BUILD}/zester-master", "--auth-dir", fleet.auth, *words], capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == (2 if words[0] in ("extra", "--no-such-flag") else 1), result.stderr
    assert text in result.stderr and result.stdout == ""


@pytest.mark.parametrize("program", ["zester-master", "zester-peel"])
@pytest.mark.parametrize("word", ["extra", "healt"])
def test_a_word_that_a_daemon_does_not_know_is_status_2(fleet, program, word):
    refused = fleet.run(program, "--config", fleet.folder / "none.yaml", word, status=2)
    assert f"unknown command '{word}'" in refused.stderr and refused.stdout == ""
    assert fleet.run(program, "health", "extra", status=1).stdout == ""


def test_the_version_is_a_command_and_an_option(fleet):
    text = fleet.run("zester", "--version").stdout
    nowhere = {"NATS_URL": "tls://127.0.0.1:1", "ZESTER_CONFIG": str(fleet.folder / "none.yaml")}
    assert fleet.run("zester", "version", environment=nowhere).stdout == text
    assert json.loads(fleet.run("zester", "version", "--format", "json", environment=nowhere).stdout) == \
        {"version": text.split()[1], "commit": text.split()[3], "built": text.split()[5]}
    assert fleet.run("zester", "--format", "yaml", "version").stdout.splitlines()[2] == f"version: {text.split()[1]}"


def test_a_configuration_to_begin_with_is_one_that_agents_accept(fleet):
    path = fleet.folder / "peel.yaml"
    text = fleet.run("zester", "peel", "init").stdout
    assert fleet.run("zester", "peel", "init", "-o", path).stdout == f"Wrote {path}\n" and path.read_text() == text
    refused = fleet.run("zester", "peel", "init", "--output", path, status=1)
    assert str(path) in refused.stderr and path.read_text() == text
    for keys in (text, re.sub(r"^#(?! )", "", text, flags=re.M)):  # as it is, and with all that is shown
        path.write_text(keys + "nonsense: 1\n")
        refused = fleet.run("zester-peel", "--config", path, status=1)
        assert "no key 'nonsense'" in refused.stderr and len(re.findall(r"^\S+:\d+:\d+: ", refused.stderr, re.M)) == 1, refused.stderr


def test_version_and_help_need_neither_file_nor_server(fleet):
    assert fleet.run("zester-master", "--version").stdout.startswith("zester-master ")
    assert "--nats-url" in fleet.run("zester-master", "--help").stdout


# --- the command line ---------------------------------------------------------------------


def test_a_command_finds_the_fleet_by_flags_by_environment_and_by_either_kind_of_file(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    flags = ["--master", fleet.url, "--creds", fleet.auth / "admin.creds", "--nats-ca", fleet.auth / "nats-ca.crt"]
    home = {"HOME": str(fleet.folder / "home"), "NATS_URL": ""}
    listed = ["enroll", "list", "--format", "json"]
    assert json.loads(fleet.run("zester", *listed, *flags, environment=home).stdout) == []
    assert json.loads(fleet.run("zester", *listed, *flags[2:], environment={**home, "NATS_URL": fleet.url}).stdout) == []
    assert fleet.zester_json("enroll", "list") == []
    assert json.loads(fleet.run("zester", *listed, "--config", master.conf_path).stdout) == []
    assert json.loads(fleet.run("zester", "--config", master.conf_path, *listed).stdout) == []
    (fleet.folder / "home/.zester").mkdir(parents=True)
    (fleet.folder / "home/.zester/config.yaml").write_text(fleet.write_cli_conf().read_text())
    assert json.loads(fleet.run("zester", *listed, environment=home).stdout) == []


def test_a_command_that_cannot_connect_says_why(fleet):
    fleet.make_keys()
    assert "Connection refused" in fleet.zester("enroll", "list", status=1).stderr
    assert "does not exist" in fleet.run("zester", "enroll", "list", "--config", "/nowhere.yaml", status=1).stderr
    assert "tls://" in fleet.zester("enroll", "list", "--master", "nats://127.0.0.1:1", status=1).stderr
    (fleet.folder / "bad.yaml").write_text("master: {urls: [tls://localhost:1], creds: x}\n")
    assert "no key 'creds'" in fleet.run("zester", "enroll", "list", "--config", fleet.folder / "bad.yaml", status=1).stderr
    assert "invalid enrollment state" in fleet.zester("enroll", "list", "-s", "gone", status=1).stderr


def test_a_target_that_means_nobody_is_status_5_and_one_that_is_wrong_is_1(fleet):
    fleet.start_server()
    fleet.start_ready_master()
    nobody = fleet.zester("web*", "test.ping", status=5)
    assert nobody.stdout == "" and nobody.stderr == "No peels matched the target expression.\n"
    assert "no colon between key and value" in fleet.zester("G@os", "test.ping", status=1).stderr
    assert "unexpected argument 'b'" in fleet.zester("*", "test.ping", "b", status=1).stderr
    assert "cmd.run requires a command argument" in fleet.zester("*", "cmd.run", status=1).stderr


def test_without_a_master_targets_are_resolved_from_the_facts(fleet):
    fleet.start_server()
    fleet.start_ready_master().stop()
    nobody = fleet.zester("web*", "test.ping", status=5)
    assert "warning: no master resolves targets" in nobody.stderr


def test_while_masters_stand_still_a_command_says_what_was_sent_and_how_to_see_it_later(fleet):
    fleet.start_server()
    master = fleet.start_ready_master()
    start_peel(fleet, master, "web-01")
    master.send(signal.SIGSTOP)
    said = fleet.zester("web-01", "test.ping", "--timeout", "1s", status=1)
    match = re.search(r"no master answered within 10 s: job (\S+) \(test\.ping, 1 peel\(s\)\) was sent and may still run", said.stderr)
    assert match and f"'zester job show {match.group(1)}'" in said.stderr and said.stdout == "", said
    master.send(signal.SIGCONT)
    fleet.wait(lambda: fleet.zester("job", "show", match.group(1), status=None).returncode == 0, "the job is on record")


# --- trees of files -----------------------------------------------------------------------


def update(fleet, *words, status=0):
    """Set -> (number of files, changed, note)."""
    answer = fleet.zester_json("fileserver", "update", *words, status=status)
    return {entry["name"]: (entry["files"], entry["changed"], entry.get("err", "")) for entry in answer["sets"]}


def start_publisher(fleet, **keys):
    for name in ("states", "settings", "rules"):
        (fleet.folder / name).mkdir(exist_ok=True)
    master = fleet.start_ready_master(states_dir=str(fleet.folder / "states"), settings_dir=str(fleet.folder / "settings"),
                                      reactor={"dir": str(fleet.folder / "rules")},
                                      publisher_status_file=str(fleet.folder / "status"), **keys)
    fleet.wait(lambda: master.metric("zester_master_publisher_leader") == 1, "the master publishes")
    return master


def test_trees_are_published_when_they_change_and_only_then(fleet):
    fleet.start_server()
    master = start_publisher(fleet, files_watch=False, files_republish_interval="0s")
    states = fleet.folder / "states"
    (states / "web").mkdir()
    (states / "top.zy").write_text("base: {'*': [web]}\n")
    (states / "web/init.zy").write_text("a:\n  test.nop: []\n")
    (states / "web/.hidden").write_text("x")
    outcome = update(fleet)
    assert outcome["states"] == (2, True, "") and list(outcome) == ["reactor", "settings", "states"]
    assert update(fleet)["states"] == (2, False, "")
    assert update(fleet, "--force")["states"] == (2, True, "")
    (states / "web/init.zy").write_text("b:\n  test.nop: []\n")
    (states / "a name with blanks, and more").write_bytes(b"\xff\0")
    assert update(fleet)["states"] == (3, True, "")
    (states / "large").write_bytes(os.urandom(700_000))
    assert update(fleet)["states"] == (4, True, "")
    assert update(fleet)["states"] == (4, False, "")
    (states / "top.zy").unlink()
    assert update(fleet)["states"] == (3, True, "")
    assert fleet.zester("fileserver", "status").stdout.startswith("Hostname:")
    assert fleet.folder.joinpath("status").read_text().startswith("leader master-")
    assert master.checks()["publisher-lease"] == "ok"


def test_an_empty_folder_never_empties_what_is_published(fleet):
    fleet.start_server()
    start_publisher(fleet, files_watch=False, files_republish_interval="0s")
    (fleet.folder / "states/top.zy").write_text("base: {}\n")
    assert update(fleet)["states"] == (1, True, "")
    (fleet.folder / "states/top.zy").unlink()
    files, changed, note = update(fleet, status=1)["states"]
    assert not changed and "folder is empty" in note


def test_settings_with_values_that_cannot_be_sealed_are_not_published(fleet):
    fleet.start_server()
    start_publisher(fleet, files_watch=False, files_republish_interval="0s")
    (fleet.folder / "settings/top.zy").write_text("base: {'*': [a]}\n")
    (fleet.folder / "settings/a.zy").write_text("# password: !encrypted hunter2\n")
    files, _, note = update(fleet, status=1)["settings"]
    assert files == 1 and "!encrypted" in note and "hunter2" not in note


def test_a_change_is_published_without_being_asked(fleet):
    fleet.start_server()
    master = start_publisher(fleet, files_republish_interval="0s")
    (fleet.folder / "states/top.zy").write_text("base: {}\n")
    fleet.wait(lambda: master.has_logged("published states: 1 files"), "the change is noticed")


def test_another_master_publishes_when_the_first_one_ends(fleet):
    fleet.start_server()
    first = start_publisher(fleet)
    second = fleet.start_ready_master("second", states_dir=str(fleet.folder / "states"))
    assert second.metric("zester_master_publisher_leader") == 0
    assert first.stop(seconds=STOP_SECONDS) == 0
    fleet.wait(lambda: second.metric("zester_master_publisher_leader") == 1, "the lease moves")
