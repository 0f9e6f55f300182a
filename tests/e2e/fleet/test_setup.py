"""From nothing to a fleet: 'zester-master setup', and machines that join with the token that it prints."""
import base64
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import urllib.request

import pytest

from enroll_client import Bus, jwt_of
from enroll_client import Machine as Client
from fleet import BUILD, SECONDS, SERVER, Fleet, free_port
from machine import Machine

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


class Home(Fleet):
    """A machine's folders below one, with a kepler-daemon of its own that ends with the test."""

    def __init__(self, folder):
        super().__init__(folder)
        self.prefix = []  # what commands begin with, to be run elsewhere
        self.enroll_port, self.health_port, self.peel_port, self.monitor_port = free_port(), free_port(), free_port(), free_port()
        (folder / "bin").mkdir()
        (folder / "bin/nats-server").symlink_to(SERVER)
        self.environment = {"KEPLER_DAEMON_PATH": str(folder / "kepler"), "KEPLER_COLOR": "false",
                            "PATH": f"{folder}/bin:{BUILD}:{os.environ['PATH']}"}

    def setup(self, host="127.0.0.1", supervisor="kepler", monitor=None, status=0):
        words = ["setup", "--host", host, "--supervisor", supervisor, "--config", self.folder / "etc/master.yaml",
                 "--auth-dir", self.auth, "--nats-conf", self.folder / "etc/nats.conf", "--jetstream-store", self.folder / "js",
                 "--nats-host", "127.0.0.1", "--port", self.port, "--enroll-addr", f"127.0.0.1:{self.enroll_port}",
                 "--health-addr", f"127.0.0.1:{self.health_port}", "--kepler-conf", self.folder / "etc/kepler.yaml",
                 "--monitor-addr", monitor or f"127.0.0.1:{self.monitor_port}"]
        result = subprocess.run([*self.prefix, f"{BUILD}/zester-master", *map(str, words)], capture_output=True, text=True, timeout=3 * SECONDS,
                                env={**os.environ, **self.environment})
        assert result.returncode == status, result.stdout + result.stderr + self.kepler("logs", "-f", self.folder / "etc/kepler.yaml")
        return result

    def join(self, token, *more, name="peel", supervisor="kepler", port=None, status=0):
        words = ["join", "127.0.0.1", token, "--id", "web-01", "--config", self.folder / name / "peel.yaml",
                 "--auth-dir", self.folder / name / "auth", "--data-dir", self.folder / name / "data",
                 "--health-addr", f"127.0.0.1:{self.peel_port}", "--enroll-port", port or self.enroll_port, "--port", self.port,
                 "--supervisor", supervisor, "--kepler-conf", self.folder / name / "kepler.yaml", *more]
        result = subprocess.run([*self.prefix, f"{BUILD}/zester-peel", *map(str, words)], capture_output=True, text=True, timeout=3 * SECONDS,
                                env={**os.environ, **self.environment})
        assert result.returncode == status, result.stdout + result.stderr
        return result

    def start_cluster_master(self):
        """Three servers with what setup has made, and its master; returns the line for other machines."""
        self.start_cluster(conf=self.folder / "etc/nats.conf")
        conf = self.folder / "etc/master.yaml"
        conf.write_text(re.sub(r"^nats_url: .*$", f'nats_url: "{self.url}"', conf.read_text(), flags=re.M) + "revocation_sync_interval: 2s\n")
        self.master = self.add("master", [f"{BUILD}/zester-master", "--config", conf], health=self.health_port)
        self.wait_ready(self.master)
        return self.run("zester-master", "token", "--host", "127.0.0.1", "--config", conf).stdout.split()

    def kepler(self, *words):
        result = subprocess.run([f"{BUILD}/kepler", *map(str, words)], capture_output=True, text=True, timeout=SECONDS,
                                env={**os.environ, **self.environment})
        return result.stdout + result.stderr

    def close(self):
        self.kepler("daemon", "stop")
        super().close()


@pytest.fixture
def home(tmp_path):
    with Home(tmp_path) as home:
        yield home


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_command_makes_a_fleet_a_second_run_changes_nothing_and_a_machine_joins_with_the_token(home):
    said = home.setup().stdout
    before = {**files_of(home.auth), **files_of(home.folder / "etc")}
    again = home.setup().stdout
    assert "Nothing to do" in again and "created" not in again and "zt1." not in again
    assert {**files_of(home.auth), **files_of(home.folder / "etc")} == before
    for name, what, mode in (("states", "states", 0o755), ("settings", "settings", 0o700), ("reactor", "rules and reactions", 0o755)):
        folder = home.auth.parent / name
        assert f"created folder of {what} ({folder})\n" in said and stat.S_IMODE(folder.stat().st_mode) == mode
    conf = (home.folder / "etc/master.yaml").read_text()
    assert f'states_dir: "{home.auth.parent}/states"\n' in conf and f'reactor:\n  dir: "{home.auth.parent}/reactor"\n' in conf
    assert f'orchestrate_dir: "{home.auth.parent}/orchestrations"\n' in conf
    match = re.search(rf"^  zester-peel join --enroll-port {home.enroll_port} --port {home.port} 127\.0\.0\.1 (zt1\.\S+)$", said, re.M)
    assert match, said
    ps = home.kepler("ps", "-f", home.folder / "etc/kepler.yaml")
    assert "nats" in ps and "master" in ps
    machine = Client(home.enroll_port, "web-01", home.auth / "ca/root.crt")
    machine.token = match.group(1)
    home.wait(lambda: machine.nonce()[0] == 200, "the master is ready")
    body = home.wait(lambda: (answer := machine.submit(home.pin())[1])["state"] == "approved" and answer, "approved by the token")
    bus = Bus(home.port, machine, jwt_of(machine.creds(body["id"])[1]))
    assert bus.is_let_in()
    bus.close()


def with_other_pin(token):
    """The token of another fleet, as a machine would see it."""
    data = bytearray(base64.urlsafe_b64decode(token[len("zt1."):]))
    data[0] ^= 1
    return "zt1." + base64.urlsafe_b64encode(data[:-4] + hashlib.sha256(data[:-4]).digest()[:4]).decode()


def check_failed_joins(home, token):
    """What goes wrong is told at its cause, and the next attempt begins anew."""
    conf = home.folder / "peel/peel.yaml"
    closed = free_port()
    assert f"connect to '127.0.0.1:{closed}': Connection refused" in home.join(token, "--wait", "1s", port=closed, status=1).stderr
    assert not conf.exists()
    assert "does not match the pin" in home.join(with_other_pin(token), status=1).stderr
    assert not conf.exists()
    withdrawn = home.run("zester-master", "token", "--peels", "db-*", "--config", home.folder / "etc/master.yaml").stdout.split()[-1]
    assert "did not accept the join token" in home.join(withdrawn, "--wait", "1s", status=1).stderr
    assert conf.exists() and [row["peel_id"] for row in home.zester_json("enroll", "list")] == ["web-01"]
    assert "names the master" in home.join(token, port=free_port(), status=1).stderr


def test_two_commands_make_a_fleet(home):
    token = home.setup().stdout.split()[-1]
    check_failed_joins(home, token)
    said = home.join(token).stdout
    assert "This machine is peel 'web-01' of the fleet." in said
    home.wait(lambda: (home.auth.parent / "publisher-status").exists(), "the master of these folders says that it publishes")
    with urllib.request.urlopen(f"http://127.0.0.1:{home.peel_port}/readyz", timeout=SECONDS) as answer:  # it has waited for that
        assert answer.status == 200
    assert f'states_cache: "{home.folder}/peel/data/states"\n' in (home.folder / "peel/peel.yaml").read_text()
    assert home.run("zester-master", "token", "--host", "m1.example", "--config",
                    home.folder / "etc/master.yaml").stdout.startswith(f"zester-peel join --enroll-port {home.enroll_port} m1.example zt1.")
    row, = home.wait(lambda: home.zester_json("enroll", "list", "-s", "active"), "the peel is active")
    assert row["peel_id"] == "web-01" and row["trust"] == "ok"
    answers = home.zester_json("web-01", "test.ping")
    assert [(answer["peel_id"], answer["success"]) for answer in answers] == [("web-01", True)]

    before = {**files_of(home.folder / "peel"), **files_of(home.auth)}
    said = home.join(token).stdout
    assert "Nothing to do" in said and "created" not in said
    after = {**files_of(home.folder / "peel"), **files_of(home.auth)}
    assert {path: after[path] for path in before if "data" not in path.parts} == \
        {path: text for path, text in before.items() if "data" not in path.parts}

    assert "WARNING" not in home.zester("enroll", "revoke", "--peel", "web-01").stderr
    home.zester("web-01", "test.ping", status=5)  # its facts are gone: nobody is meant


def peel_checks(home):
    """Name of a check of the peel that has joined -> its status and message."""
    connection = http.client.HTTPConnection("127.0.0.1", home.peel_port, timeout=SECONDS)
    with contextlib.closing(connection):
        connection.request("GET", "/readyz")
        return {name: (check["status"], check.get("message", "")) for name, check in json.load(connection.getresponse())["checks"].items()}


def test_a_peel_survives_the_loss_of_its_server_in_a_cluster_and_a_revocation_cuts_it_off(home):
    home.setup(supervisor="none")
    program, command, *_, host, token = home.start_cluster_master()
    assert (program, command, host) == ("zester-peel", "join", "127.0.0.1")
    home.join(token)
    home.wait(lambda: home.zester_json("enroll", "list", "-s", "active"), "the peel is active")
    assert peel_checks(home)["nats"][0] == "ok"

    def answers():  # nobody leads while servers elect
        result = home.zester("web-01", "test.ping", status=None)
        return result.returncode == 0
    home.servers[0].kill()  # the one that the peel knows from its configuration
    home.wait(answers, "the peel answers through another server")

    def revoke():  # refused while the master moves to another server
        result = home.zester("enroll", "revoke", "--peel", "web-01", status=None)
        return result.returncode == 0 and result.stderr
    assert "WARNING: 2 of 3 servers confirmed" in home.wait(revoke, "revoked with a server down")
    home.wait(lambda: peel_checks(home)["nats"][0] != "ok", "the peel is cut off")
    home.servers[0].start()
    home.wait(lambda: home.master.checks().get("revocation") == "ok", "the server that was down has confirmed")
    home.wait(lambda: "Authorization Violation" in peel_checks(home)["nats"][1], "no server lets the peel in")


def test_a_join_with_a_bad_token_makes_nothing(home):
    assert "not a join token" in home.join("nonsense", status=1).stderr
    assert "typing mistake" in home.join("zt1." + "A" * 96, status=1).stderr
    assert not (home.folder / "peel").exists()


@pytest.mark.parametrize("port, option", [("port", "--port"), ("enroll_port", "--enroll-addr"), ("health_port", "--health-addr"),
                                          ("monitor_port", "--monitor-addr")])
def test_where_a_port_is_in_use_nothing_is_made(home, port, option):
    with socket.create_server(("127.0.0.1", getattr(home, port))):
        said = home.setup(status=1).stderr
    assert "Address already in use" in said and option in said
    assert not home.auth.exists() and not (home.folder / "etc").exists()


def test_the_process_that_has_the_port_is_named(home):
    with socket.create_server(("127.0.0.1", home.port)):
        said = home.setup(status=1).stderr
    assert re.search(rf"in use by \S+ \(process {os.getpid()}(, unit \S+)?\); choose another with --port", said), said


def names_of(certificate):
    return subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", certificate], capture_output=True, text=True, check=True).stdout


def change(home, *words, supervisor="none", status=0):
    result = subprocess.run([f"{BUILD}/zester-master", "setup", "--change", *map(str, words), "--supervisor", supervisor, "--config",
                             home.folder / "etc/master.yaml", "--nats-conf", home.folder / "etc/nats.conf", "--kepler-conf",
                             home.folder / "etc/kepler.yaml"], capture_output=True, text=True, timeout=2 * SECONDS, env={**os.environ, **home.environment})
    assert result.returncode == status, result.stdout + result.stderr
    return result


def test_names_and_ports_of_a_master_can_be_changed_and_older_names_stay_in_the_certificate(home):
    home.setup("m1.example", supervisor="none")
    conf, server = home.folder / "etc/master.yaml", home.folder / "etc/nats.conf"
    conf.write_text(conf.read_text() + "log_level: debug  # ours\n")
    port, health = free_port(), free_port()
    change(home, "--host", "m2.example", "--port", port, "--health-addr", f"127.0.0.1:{health}")
    text = conf.read_text()
    assert f'nats_url: "tls://127.0.0.1:{port}"\n' in text and f'health_addr: "127.0.0.1:{health}"\n' in text and "log_level: debug  # ours\n" in text
    assert '  enroll_sans: ["m2.example", "m1.example"]\n' in text and f'nats_advertise_urls: ["tls://m2.example:{port}"]\n' in text
    assert re.findall(r"^port: (\d+)$", server.read_text(), re.M) == [str(port)]
    names = names_of(home.auth / "nats-server.crt")
    assert "m2.example" in names and "m1.example" in names
    assert stat.S_IMODE((home.auth / "nats-server.key").stat().st_mode) == 0o600
    assert "set up as 'm2.example'; to change that" in home.setup("m3.example", supervisor="none", status=1).stderr


def test_a_change_starts_server_and_master_again_and_prints_the_new_way_to_join(home):
    home.setup()
    moved = free_port()
    said = change(home, "--port", moved, supervisor="kepler").stdout
    assert re.search(rf"^  zester-peel join --enroll-port {home.enroll_port} --port {moved} 127\.0\.0\.1 zt1\.", said, re.M), said
    with socket.create_connection(("127.0.0.1", moved), timeout=SECONDS) as connection:
        assert connection.recv(4) == b"INFO"


def test_a_change_that_cannot_be_made_leaves_everything_as_it_is(home):
    assert "is not set up" in change(home, "--host", "m2.example", status=1).stderr
    home.setup("m1.example", supervisor="none")
    conf = home.folder / "etc/master.yaml"
    conf.write_text(conf.read_text().replace('ca:\n  enroll_sans: ["m1.example"]', 'ca: {enroll_sans: ["m1.example"]}'))
    before = {**files_of(home.auth), **files_of(home.folder / "etc")}
    assert "change it by hand" in change(home, "--host", "m2.example", status=1).stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "Address already in use" in change(home, "--port", taken.getsockname()[1], status=1).stderr
    assert {**files_of(home.auth), **files_of(home.folder / "etc")} == before


def test_without_a_supervisor_it_says_what_to_start(home):
    said = home.setup(supervisor="none").stdout
    assert f"-c {home.folder}/etc/nats.conf" in said and f"--config {home.folder}/etc/master.yaml" in said
    assert not (home.folder / "etc/kepler.yaml").exists()
    assert "nats_advertise_urls" not in (home.folder / "etc/master.yaml").read_text()


def test_other_machines_are_told_where_the_bus_is(home):
    home.setup("master.example.com", supervisor="none")
    text = (home.folder / "etc/master.yaml").read_text()
    assert f'nats_advertise_urls: ["tls://master.example.com:{home.port}"]' in text
    names = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", home.auth / "nats-server.crt"],
                           capture_output=True, text=True, check=True).stdout
    assert "master.example.com" in names and "127.0.0.1" in names


# A stand-in for systemctl, since no systemd runs where tests do: it keeps what it was asked, and starts what it is told to.
SYSTEMCTL = """#!/bin/sh
echo "$*" >> DIR/asked
[ "$1 $2" = "enable --now" ] || exit 0
shift 2
for unit; do
    [ -e DIR/$unit.pid ] && continue
    eval "set -- $(sed -n 's/^ExecStart=//p' /etc/systemd/system/$unit)"
    setsid "$@" > DIR/$unit.log 2>&1 < /dev/null &
    echo $! > DIR/$unit.pid
done
"""


@pytest.fixture
def systemd_home(tmp_path):
    """A machine on which systemd seems to run, and what it runs is ended with the test."""
    machine = Machine(tmp_path)
    machine.sh("mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/system")
    with Home(tmp_path) as home:
        (tmp_path / "bin/systemctl").write_text(SYSTEMCTL.replace("DIR", str(tmp_path)))
        (tmp_path / "bin/systemctl").chmod(0o755)
        home.machine = machine
        home.prefix = ["nsenter", "-t", str(machine.process.pid), "-m", "--wd=/"]
        yield home
        for path in tmp_path.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(path.read_text()), signal.SIGKILL)
    machine.leave()


def test_where_systemd_runs_it_runs_the_services(systemd_home):
    home = systemd_home
    said = home.setup(supervisor="auto").stdout
    assert "run by systemd" in said
    assert "run by systemd" in home.join(said.split()[-1], supervisor="auto").stdout
    home.wait(lambda: home.zester_json("enroll", "list", "-s", "active"), "the peel is active")
    assert (home.folder / "asked").read_text().splitlines() == [
        "daemon-reload", "enable --now zester-nats.service zester-master.service", "daemon-reload", "enable --now zester-peel.service"]
    assert f"No unit zester-master.service is installed (packages and 'make install' have one): wrote /etc/systemd/system/zester-master.service" in said
    assert "Nothing to do" in home.setup(supervisor="auto").stdout
    units = [f"/etc/systemd/system/zester-{name}.service" for name in ("nats", "master", "peel")]
    assert "After=zester-nats.service" in home.machine.path(units[1]).read_text()
    if shutil.which("systemd-analyze"):
        assert home.machine.run("systemd-analyze", "verify", "--man=no", *units, check=False).stderr == ""


def test_installed_units_are_used_and_a_drop_in_has_what_differs(systemd_home):
    """From a prefix where systemd does not look for units."""
    home, prefix = systemd_home, systemd_home.folder / "prefix"
    programs = sorted(path.stem for path in pathlib.Path("src/commands/programs").glob("*.c"))
    subprocess.run(["/usr/bin/python3", "tools/install-files", "--version", "1", "--build", BUILD, "install", prefix, *programs], check=True,
                   capture_output=True)
    # The stand-in would start programs from drop-ins: here they are only asked for.
    (home.folder / "bin/systemctl").write_text(f'#!/bin/sh\necho "$*" >> {home.folder}/asked\n[ "$1" != enable ]\n')
    result = subprocess.run([*home.prefix, prefix / "bin/zester-master", "setup", "--host", "127.0.0.1", "--config", home.folder / "etc/master.yaml",
                             "--auth-dir", home.auth, "--nats-conf", home.folder / "etc/nats.conf", "--jetstream-store", home.folder / "js",
                             "--nats-host", "127.0.0.1", "--port", str(home.port), "--enroll-addr", f"127.0.0.1:{home.enroll_port}",
                             "--health-addr", f"127.0.0.1:{home.health_port}", "--monitor-addr", ""],
                            capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **home.environment}, check=False)
    assert result.returncode == 1 and "'systemctl enable'" in result.stderr, result.stdout + result.stderr
    asked = (home.folder / "asked").read_text().splitlines()
    assert asked[:2] == [f"link {prefix}/lib/systemd/system/zester-{name}.service" for name in ("nats", "master")]
    text = home.machine.path("/etc/systemd/system/zester-master.service.d/10-setup.conf").read_text()
    assert f'ExecStart=\nExecStart="{prefix}/bin/zester-master" --config "{home.folder}/etc/master.yaml"\n' in text
    assert "User=zester\nGroup=zester\n" in text and f"ReadWritePaths=-{home.auth}\n" in text and text.count("PrivateTmp=no\n") == 1
    assert "zester:" in home.machine.path("/etc/passwd").read_text()
    assert not home.machine.path("/etc/systemd/system/zester-master.service").exists()


def test_without_a_server_program_nothing_is_made(home):
    if os.path.exists("/usr/sbin/nats-server"):
        pytest.skip("it is found where Debian puts it")
    home.environment["PATH"] = BUILD
    assert "nats-server" in home.setup(status=1).stderr
    assert not home.auth.exists()
