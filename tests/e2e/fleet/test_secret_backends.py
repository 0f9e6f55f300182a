"""Secret back-ends: values that a master gets from files, programs and servers, and seals for the peels that need them."""
import contextlib
import http.server
import json
import os
import signal
import ssl
import threading

import pytest

from fleet import SERVER, Fleet, free_port, read_marks, yaml_of
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
TOKEN = "vault-token-1"
# Prints the file of the path; every call is written down, and a path can be made to fail or to hang.
PROGRAM = """#!/bin/sh
echo "$1" >> "$CALLS"
case "$1" in slow*) while [ -e "$STORE/hang" ]; do sleep 0.1; done;; esac
[ -e "$STORE/fail" ] && { echo "printed-before-failing"; echo "leaked-by-stderr" >&2; exit 7; }
cat "$STORE/$1"
"""
TOP = """base:
  '*': [common]
  'web-*': [web]
  db-01: [db]
"""
WEB = """web:
  password: !secret_from tool:web
  list: [plain, !secret_from 'tool:hosts/{id}']
  vault: !secret_from vault:apps/web#password
"""
DB = """db:
  password: !secret_from disk:db/main
  url: !secret_from disk:db/doc#url
"""


class Vault:
    """A server that answers as Vault's KV does."""

    def __init__(self, port, certificate):
        self.values, self.asked, self.status = {}, [], 200
        vault = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                vault.asked.append(self.path)
                name = self.path.removeprefix("/v1/secret/data/")
                good = self.headers.get("X-Vault-Token") == TOKEN
                status = 403 if not good else 404 if name not in vault.values else vault.status
                body = json.dumps({"data": {"data": vault.values.get(name) if status == 200 else None}}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*map(str, certificate))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def write_private(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    path.write_text(text)


def write_settings(fleet, **files):
    fleet.settings.mkdir(exist_ok=True)
    for name, text in files.items():
        (fleet.settings / f"{name}.zy").write_text(text)


def backends_of(fleet, port):
    folder = fleet.folder
    return {"disk": {"kind": "file", "folder": str(folder / "disk"), "refresh": "1s"},
            "tool": {"kind": "command", "command": [str(folder / "tool")], "refresh": "1s", "timeout": "20s",
                     "environment": {"STORE": str(folder / "store"), "CALLS": str(folder / "calls")}},
            "vault": {"kind": "http", "url": f"https://127.0.0.1:{port}/v1/secret/data", "token_file": str(folder / "token"),
                      "ca": str(fleet.auth / "ca/root.crt"), "fields": "data.data", "refresh": "1s"}}


def keys_of(fleet, settings):
    return {"settings_dir": str(settings), "states_dir": str(fleet.folder / "tree"), "reactor": {"dir": str(fleet.folder / "rules")},
            "publisher_status_file": "", "secret_backends": fleet.backends, "files_republish_interval": "1s"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("backends")) as fleet:
        fleet.start_server()
        folder = fleet.folder
        fleet.run("zester", "ca", "issue", "enroll", "--dir", fleet.auth / "ca", "--ip", "127.0.0.1", "--out", folder / "vault")
        port = free_port()
        fleet.vault = Vault(port, (folder / "vault/enroll.crt", folder / "vault/enroll.key"))
        fleet.vault.values = {"apps/web": {"password": "vault-secret-1"}, "unused": {"password": "vault-unused"}}
        write_private(folder / "token", TOKEN + "\n")
        (folder / "tool").write_text(PROGRAM)
        (folder / "tool").chmod(0o755)
        for name, text in {"web": "tool-secret-1\n", "hosts/web-01": "host-secret-web-01\n", "hosts/web-02": "host-secret-web-02\n",
                           "unused": "tool-unused\n", "slow": "slow-secret\n"}.items():
            write_private(folder / "store" / name, text)
        (folder / "disk").mkdir(0o700)
        (folder / "disk/db").mkdir(0o700)
        write_private(folder / "disk/db/main", "disk secret 1\n")
        write_private(folder / "disk/db/doc", '{"url": "postgres://disk-doc"}')
        fleet.settings, fleet.backends = folder / "settings", backends_of(fleet, port)
        write_settings(fleet, top=TOP, common="motd: hello\n", web=WEB, db=DB, nobody="x: !secret_from tool:unused\n")
        fleet.master = fleet.start_ready_master(**keys_of(fleet, fleet.settings))
        fleet.peels = {name: start_peel(fleet, fleet.master, name) for name in ("web-01", "db-01")}
        yield fleet
        fleet.vault.stop()


def on_disk(fleet, peel):
    path = fleet.peels[peel].folder / "data/settings-snapshot.msgpack"
    return path.read_bytes() if path.exists() else b""


def wait_for_secret(fleet, peel, text):
    fleet.wait(lambda: text.encode() in on_disk(fleet, peel), f"{peel} has {text}")


def readiness(master):
    return json.loads(master.get("/readyz")[1])["checks"]["publisher-lease"]


def wait_for_status(fleet, status):
    return fleet.wait(lambda: readiness(fleet.master)["status"] == status and readiness(fleet.master), f"publishing is {status}")


def renew(fleet, mark):
    """Other values for web-01, which get there."""
    write_private(fleet.folder / "store/web", f"tool-secret-{mark}\n")
    fleet.vault.values["apps/web"] = {"password": f"vault-secret-{mark}"}
    wait_for_secret(fleet, "web-01", f"tool-secret-{mark}")
    wait_for_secret(fleet, "web-01", f"vault-secret-{mark}")


def wait_for_message(fleet, text):
    return fleet.wait(lambda: text in readiness(fleet.master)["message"] and readiness(fleet.master)["status"] == "degraded",
                      lambda: f"{text}, not {readiness(fleet.master)}")


@contextlib.contextmanager
def store_that(fleet, word):
    """While this lasts the program hangs, or fails."""
    (fleet.folder / "store" / word).touch()
    try:
        yield
    finally:
        (fleet.folder / "store" / word).unlink()


def calls(fleet):
    return read_marks(fleet.folder / "calls")


def test_values_of_every_kind_reach_the_peels_that_need_them_and_no_other(fleet):
    for text in ("tool-secret-1", "host-secret-web-01", "vault-secret-1"):
        wait_for_secret(fleet, "web-01", text)
    for text in ("disk secret 1", "postgres://disk-doc"):
        wait_for_secret(fleet, "db-01", text)
    assert b"secret-1" not in on_disk(fleet, "db-01") and b"disk" not in on_disk(fleet, "web-01")
    assert wait_for_status(fleet, "ok")["message"] == "publishes"


def test_the_bus_and_the_logs_never_have_a_value_in_clear(fleet):
    wait_for_secret(fleet, "web-01", "vault-secret-1")
    stored = b"".join(path.read_bytes() for path in (fleet.folder / "js").rglob("*") if path.is_file())
    assert b"__ZESTER_SECRET:web.zy:web.password__" in stored
    for text in ("tool-secret", "host-secret", "vault-secret", "disk secret", "disk-doc", TOKEN):
        assert text.encode() not in stored and text not in fleet.logs(), text


def test_values_are_masked_when_they_are_shown(fleet):
    wait_for_secret(fleet, "web-01", "vault-secret-1")
    shown = fleet.zester_json("settings", "show", "web-01")
    assert shown == {"motd": "hello", "web": {"password": "********", "list": ["plain", "********"], "vault": "********"}}
    answer = fleet.zester("web-01", "settings.items", "--format", "json").stdout
    assert "********" in answer and "secret-1" not in answer and "ZESTER_SECRET" not in answer


def test_nothing_is_asked_for_that_no_peel_needs(fleet):
    wait_for_secret(fleet, "web-01", "vault-secret-1")
    before = calls(fleet).count("web")
    fleet.wait(lambda: calls(fleet).count("web") >= before + 2, "values are asked for again")
    assert set(calls(fleet)) == {"web", "hosts/web-01"} and set(fleet.vault.asked) == {"/v1/secret/data/apps/web"}


def test_a_new_value_is_published_to_the_machines_concerned(fleet):
    renew(fleet, "old")
    sealed = fleet.master.log().count("secrets sealed peel=db-01")
    renew(fleet, "new")
    assert b"secret-old" not in on_disk(fleet, "web-01")
    assert fleet.master.log().count("secrets sealed peel=db-01") == sealed


def test_a_peel_that_comes_later_gets_its_values(fleet):
    fleet.peels["web-02"] = start_peel(fleet, fleet.master, "web-02")
    wait_for_secret(fleet, "web-02", "host-secret-web-02")
    assert b"host-secret-web-01" not in on_disk(fleet, "web-02")


def test_templates_of_later_files_see_the_value(fleet):
    renew(fleet, "derived")
    write_settings(fleet, top=TOP + "  web-01: [derived]\n", derived="derived: 'got {{ settings.web.password }}'\n")
    fleet.zester("fileserver", "update")
    wait_for_secret(fleet, "web-01", "got tool-secret-derived")
    assert fleet.zester_json("settings", "show", "web-01", "derived") == "got ********"
    write_settings(fleet, top=TOP)
    fleet.zester("fileserver", "update")


def test_the_last_value_stays_while_a_back_end_fails_and_readiness_says_which(fleet):
    renew(fleet, "lasting")
    with store_that(fleet, "fail"):
        wait_for_message(fleet, f"secret back-end 'tool', 'hosts/web-01': '{fleet.folder}/tool' failed: exit status 7")
        fleet.wait(lambda: fleet.master.has_logged("cannot fetch a secret, the last value stays published secret=tool:web "), "it is logged")
        write_settings(fleet, common="motd: changed meanwhile\n")
        fleet.zester("fileserver", "update")
        wait_for_secret(fleet, "web-01", "changed meanwhile")
        assert b"tool-secret-lasting" in on_disk(fleet, "web-01")
        assert fleet.master.metric('zester_secret_failures_total{backend="tool"}') > 0
    wait_for_status(fleet, "ok")
    assert fleet.master.has_logged("secret back-end answers again secret=tool:web")
    assert "printed-before-failing" not in fleet.logs() and "leaked-by-stderr" not in fleet.logs()


def test_a_value_that_was_never_got_is_a_mistake_with_its_place_and_holds_up_nobody_else(fleet):
    wait_for_secret(fleet, "db-01", "disk secret 1")
    write_settings(fleet, db=DB + "  # the next line is the mistake\n  lost: !secret_from disk:db/nowhere\n")
    fleet.zester("fileserver", "update")
    fleet.wait(lambda: fleet.master.has_logged("cannot render the settings of a peel, its secrets are unchanged peel=db-01"), "the mistake is logged")
    mistake = "db.zy:5:9: cannot fetch secret 'disk:db/nowhere': no such file"
    assert mistake in fleet.master.log()
    assert mistake in fleet.zester("settings", "show", "db-01", status=1).stderr
    wait_for_message(fleet, "secret back-end 'disk', 'db/nowhere': no such file")
    renew(fleet, "unhindered")
    assert b"disk secret 1" in on_disk(fleet, "db-01")
    write_private(fleet.folder / "disk/db/nowhere", "found at last")
    wait_for_secret(fleet, "db-01", "found at last")
    write_settings(fleet, db=DB)
    fleet.zester("fileserver", "update")
    wait_for_status(fleet, "ok")


def test_a_field_that_is_not_there_is_a_mistake_and_what_was_sealed_stays(fleet):
    renew(fleet, "sealed")
    fleet.vault.values["apps/web"] = {"passwort": "other"}
    mistake = "web.zy:4:10: secret 'vault:apps/web': it has no field 'password'"
    fleet.wait(lambda: mistake in fleet.master.log(), "the mistake is logged")
    assert b"vault-secret-sealed" in on_disk(fleet, "web-01")
    renew(fleet, "mended")


def test_a_token_is_not_sent_where_a_server_redirects_to(fleet):
    renew(fleet, "direct")
    fleet.vault.status = 302
    wait_for_message(fleet, "apps/web': HTTP status 302")
    assert "/elsewhere" not in fleet.vault.asked and b"vault-secret-direct" in on_disk(fleet, "web-01")
    fleet.vault.status = 200
    wait_for_status(fleet, "ok")


def test_a_back_end_that_hangs_holds_up_no_other(fleet):
    renew(fleet, "prompt")
    with store_that(fleet, "hang"):
        write_settings(fleet, db=DB + "".join(f"  slow{number}: !secret_from tool:slow/{number}\n" for number in range(5)))
        fleet.zester("fileserver", "update")
        fleet.wait(lambda: any(path.startswith("slow/") for path in calls(fleet)), "the program hangs")
        fleet.vault.values["apps/web"] = {"password": "vault-secret-meanwhile"}
        wait_for_secret(fleet, "web-01", "vault-secret-meanwhile")
        assert not fleet.master.has_logged("was not finished after")
    write_settings(fleet, db=DB)
    fleet.zester("fileserver", "update")


def test_a_reference_that_cannot_be_read_keeps_its_file_from_being_published(fleet):
    for text, why in (("x: !secret_from nonsense\n", "line 1: !secret_from: expected NAME:PATH or NAME:PATH#FIELD"),
                      ("x: !secret_from disk:../../etc/shadow\n", "line 1: !secret_from: the path has a part that is empty, '.' or '..'"),
                      ("x: !secret_from disk:{{ grains.role }}\n", "line 1: a template tag in a value that is got from a secret back-end"),
                      ("x" * 400000 + "\nx: !secret_from disk:a\n", "cannot have !secret_from values")):
        write_settings(fleet, bad=text)
        assert f"bad.zy: {why}" in fleet.zester("fileserver", "update", status=1).stdout.replace("files of more than 262144 bytes ", "")
    (fleet.settings / "bad.zy").unlink()
    fleet.zester("fileserver", "update")


def reload_backends(fleet, backends):
    fleet.master.conf_path.write_text(yaml_of({**fleet.master.conf, "secret_backends": backends}))
    fleet.master.send(signal.SIGHUP)


def test_the_configuration_of_back_ends_is_read_again(fleet):
    renew(fleet, "here")
    write_private(fleet.folder / "other/web", "other-secret\n")
    write_private(fleet.folder / "other/hosts/web-01", "other-host\n")
    write_private(fleet.folder / "other/hosts/web-02", "other-host\n")
    other = {**fleet.backends["tool"], "environment": {**fleet.backends["tool"]["environment"], "STORE": str(fleet.folder / "other")}}
    reload_backends(fleet, {**fleet.backends, "tool": other})
    wait_for_secret(fleet, "web-01", "other-secret")
    reload_backends(fleet, {name: value for name, value in fleet.backends.items() if name != "tool"})
    wait_for_message(fleet, "this master has no such back-end in 'secret_backends'")
    assert b"other-secret" in on_disk(fleet, "web-01")
    reload_backends(fleet, {**fleet.backends, "odd": {"kind": "file", "folder": "relative"}})
    fleet.wait(lambda: fleet.master.has_logged("'folder'"), "a mistake is reported, and changes nothing")
    reload_backends(fleet, fleet.backends)
    wait_for_secret(fleet, "web-01", "tool-secret-here")
    wait_for_status(fleet, "ok")


def start_second(fleet):
    own = fleet.folder / "second"
    keys = {**keys_of(fleet, own / "settings"), "states_dir": str(own / "states"), "reactor": {"dir": str(own / "rules")}}
    second = fleet.start_ready_master("second", files_mirror_after="0s", **keys)
    fleet.wait(lambda: (own / "settings/web.zy").exists() and (own / "settings/web.zy").read_text() == WEB, "it has the settings")
    return second


def test_a_master_that_takes_over_goes_on_with_the_same_values_and_stops_while_a_back_end_hangs(fleet):
    renew(fleet, "before")
    second = start_second(fleet)
    assert readiness(second)["message"] == "standby"
    written = on_disk(fleet, "web-01")
    assert fleet.master.stop() == 0
    asked = len(calls(fleet))
    fleet.wait(lambda: second.metric("zester_master_publisher_leader") == 1, "it publishes")
    fleet.wait(lambda: calls(fleet)[asked:].count("web") >= 2, "it asks the back-ends")
    assert not second.has_logged("secrets sealed") and on_disk(fleet, "web-01") == written
    fleet.master, fleet.settings = second, fleet.folder / "second/settings"
    renew(fleet, "after")
    assert wait_for_status(fleet, "ok")["message"] == "publishes"
    with store_that(fleet, "hang"):
        write_settings(fleet, db=DB + "  slow: !secret_from tool:slow\n")
        fleet.zester("fileserver", "update")
        fleet.wait(lambda: "slow" in calls(fleet), "the program hangs")
        assert second.stop() == 0
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and is_of_the_tool(fleet, pid)]


def is_of_the_tool(fleet, pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"STORE={fleet.folder}/".encode() in file.read()
    except OSError:
        return False
