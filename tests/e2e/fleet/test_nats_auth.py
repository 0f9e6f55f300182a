"""zester nats-auth: keys and credentials of a fleet, and a configuration that a real nats-server takes."""
import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import time

import pytest

from fleet import Fleet, free_port

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
SERVER = os.environ.get("NATS_SERVER") or shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
SECONDS = 60
SECRET = ("operator.seed", "operator-signing.seed", "account.seed", "master.creds", "admin.creds", "sys.creds", "nats-server.key")
PUBLIC = ("operator.jwt", "account.jwt", "nats-server.crt", "nats-ca.crt")


def auth(*words, status=0, cwd=None):
    result = subprocess.run([ZESTER, "nats-auth", *map(str, words)], capture_output=True, text=True, timeout=SECONDS, cwd=cwd)
    assert result.returncode == status, result.stdout + result.stderr
    return result


def init(folder, *more, status=0):
    return auth("init", "--dir", folder / "auth", "--nats-conf", folder / "nats.conf", "--jetstream-store", folder / "js", *more,
                status=status)


def test_one_command_makes_everything_and_says_what_to_do_next(tmp_path):
    said = init(tmp_path).stdout
    assert f"nats-server -c {tmp_path}/nats.conf" in said
    for name in SECRET:
        assert stat.S_IMODE((tmp_path / "auth" / name).stat().st_mode) == 0o600, name
    for name in PUBLIC:
        assert (tmp_path / "auth" / name).exists(), name
    assert len((tmp_path / "auth/account.seed").read_text().splitlines()) == 1
    assert auth("lint", "--dir", tmp_path / "auth").stdout.endswith("keys, claims and grants are complete\n")


def test_no_seed_is_in_what_is_printed_or_configured(tmp_path):
    shown = init(tmp_path).stdout + (tmp_path / "nats.conf").read_text()
    for name in SECRET:
        for word in re.findall(r"\bS[OAU][A-Z2-7]{50,}", (tmp_path / "auth" / name).read_text()):
            assert word not in shown


def test_scripts_can_replace_the_lines_that_they_need_to(tmp_path):
    init(tmp_path)
    text = (tmp_path / "nats.conf").read_text()
    for key in ("server_name", "host", "port", "http", "max_control_line"):
        assert len(re.findall(rf"^{key}: \S+$", text, re.M)) == 1, key
    assert text.count("store_dir") == 1 and "include" not in text
    assert re.search(r"^resolver \{[^}]*dir: \"/", text, re.M)


@pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
def test_a_real_server_starts_with_it_and_talks_tls_only(tmp_path):
    init(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = (tmp_path / "nats.conf").read_text()
    text = re.sub(r"^port: .*$", f"port: {port}", re.sub(r"^host: .*$", 'host: "127.0.0.1"', text, flags=re.M), flags=re.M)
    (tmp_path / "nats.conf").write_text(re.sub(r"^http: .*\n", "", text, flags=re.M))
    server = subprocess.Popen([SERVER, "-c", str(tmp_path / "nats.conf"), "-l", str(tmp_path / "log")])
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            assert time.monotonic() < deadline and server.poll() is None, (tmp_path / "log").read_text()
            try:
                plain = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        with plain:
            info = plain.recv(65536).decode()
            assert info.startswith("INFO ") and '"tls_required":true' in info and '"nonce"' in info
            context = ssl.create_default_context(cafile=str(tmp_path / "auth/nats-ca.crt"))
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                assert secure.version() == "TLSv1.3"
                secure.sendall(b"CONNECT {}\r\nPING\r\n")
                assert b"-ERR 'Authorization Violation'" in secure.recv(4096)
    finally:
        server.kill()
        server.wait()


@pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
def test_servers_of_a_cluster_find_and_trust_each_other(tmp_path):
    with Fleet(tmp_path) as fleet:
        ports, routes, monitors = ([free_port(), free_port()] for _ in range(3))
        init(tmp_path, "--name", "node-0", "--host", "127.0.0.1", "--port", ports[0], "--cluster", "fleet", "--cluster-port", routes[0],
             "--route", f"nats-route://127.0.0.1:{routes[0]}", "--route", f"nats-route://127.0.0.1:{routes[1]}")
        first = (tmp_path / "nats.conf").read_text().replace("127.0.0.1:8222", f"127.0.0.1:{monitors[0]}")
        second = first.replace("node-0", "node-1").replace(f"port: {ports[0]}", f"port: {ports[1]}").replace(f"{tmp_path}/js", f"{tmp_path}/js1")
        second = second.replace(f'listen: "127.0.0.1:{routes[0]}"', f'listen: "127.0.0.1:{routes[1]}"')
        second = second.replace(f"127.0.0.1:{monitors[0]}", f"127.0.0.1:{monitors[1]}")
        for number, text in enumerate((first, second)):
            (tmp_path / f"n{number}.conf").write_text(text)
            fleet.add(f"n{number}", [SERVER, "-c", tmp_path / f"n{number}.conf"], health=monitors[number])
        for server in fleet.daemons:
            fleet.wait(lambda server=server: server.get("/routez")[1].startswith("{") and
                       json.loads(server.get("/routez")[1])["num_routes"] >= 1, f"{server.name} has a route")


def test_nothing_is_overwritten_and_nothing_half_made(tmp_path):
    init(tmp_path)
    before = (tmp_path / "auth/account.seed").read_text()
    assert "exists already" in init(tmp_path, status=1).stderr
    (tmp_path / "nats.conf").unlink()
    assert "exists already" in init(tmp_path, status=1).stderr
    assert (tmp_path / "auth/account.seed").read_text() == before and not (tmp_path / "nats.conf").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "nats.conf").write_text("mine")
    assert "exists already" in init(other, status=1).stderr
    assert (other / "nats.conf").read_text() == "mine"
    assert [name for name in SECRET + PUBLIC if (other / "auth" / name).exists()] == []


def test_keys_are_made_anew_when_that_is_forced_and_the_old_ones_are_kept(tmp_path):
    init(tmp_path)
    names = [*(f"auth/{name}" for name in SECRET + PUBLIC), "nats.conf"]
    before = {name: (tmp_path / name).read_bytes() for name in names}
    root = (tmp_path / "auth/ca/root.crt").read_bytes()
    (tmp_path / "auth/account-signing.seed").write_text("of the older account\n")
    ending = re.search(r"Existing files were renamed: their names now end in '(\.\d+)'", init(tmp_path, "--force").stdout).group(1)
    for name in names:
        old = tmp_path / (name + ending)
        assert old.read_bytes() == before[name] and old.stat().st_mode == (tmp_path / name).stat().st_mode
        assert (tmp_path / name).read_bytes() != before[name] or name.endswith("nats-ca.crt")
    assert (tmp_path / "auth/ca/root.crt").read_bytes() == root
    assert (tmp_path / ("auth/account-signing.seed" + ending)).exists() and not (tmp_path / "auth/account-signing.seed").exists()
    (tmp_path / "nats.conf").unlink()
    (tmp_path / "auth/operator.seed").unlink()
    (tmp_path / "auth/operator.seed").mkdir()  # in the way of what is written first, once it is set aside
    init(tmp_path, "--force")
    assert (tmp_path / "auth/operator.seed").is_file()


def test_relative_paths_become_absolute_in_the_configuration(tmp_path):
    auth("init", "--dir", "auth", "--nats-conf", "nats.conf", "--jetstream-store", "js", cwd=tmp_path)
    paths = re.findall(r'"([^"]*/[^"]*)"', (tmp_path / "nats.conf").read_text())
    assert paths and all(path.startswith(str(tmp_path)) for path in paths)


@pytest.mark.parametrize("words, said", [
    (("--nats-cert", "a.crt"), "--nats-cert and --nats-key must be used together"),
    (("--dns", "a b"), "'a b' is not a valid DNS name"),
    (("--port", "0"), "port"),
    (("--cluster", "fleet"), "--cluster and --route must be used together"),
    (("--cluster", "fleet", "--route", "n1.example:6222"), "route 'n1.example:6222': expected nats-route://HOST:PORT"),
    (("--name", 'a"b'), "has a quote"),
])
def test_a_mistake_makes_no_keys(tmp_path, words, said):
    assert said in init(tmp_path, *words, status=1).stderr
    assert [name for name in SECRET if (tmp_path / "auth" / name).exists()] == []


def test_a_certificate_that_is_not_here_is_a_warning(tmp_path):
    (tmp_path / "a.crt").write_text("")
    said = init(tmp_path, "--nats-cert", tmp_path / "a.crt", "--nats-key", tmp_path / "a.key").stderr
    assert f"warning: nats-server needs '{tmp_path}/a.key', which does not exist here" in said and "a.crt" not in said


def test_lint_names_what_is_missing(tmp_path):
    assert "does not exist" in auth("lint", "--dir", tmp_path, status=1).stderr
    init(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    init(other)
    shutil.copy(other / "auth/account.jwt", tmp_path / "auth/account.jwt")
    assert "is not a key of operator" in auth("lint", "--dir", tmp_path / "auth", status=1).stderr
