"""States from git over ssh and https: a real sshd, git http-backend behind TLS, and servers that refuse, hang and die."""
import base64
import contextlib
import http.server
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

from fleet import BUILD, SECONDS, SERVER, STOP_SECONDS, Fleet
from ssh_server import SSHD, USER, SshServer, make_key
from test_gitfs import GIT, Repository, check, reload, update, wait_content

BACKEND = pathlib.Path("/usr/lib/git-core/git-http-backend")
PASSWORD = "over-tls-only-4711"

pytestmark = [pytest.mark.skipif(not SERVER, reason="no nats-server in PATH"), pytest.mark.skipif(not SSHD, reason="no sshd"),
              pytest.mark.skipif(not BACKEND.exists(), reason="no git http-backend")]


class Sshd(SshServer):
    """Knows a key that may not log in, too; clients know its host key from FOLDER/known."""

    def __init__(self, folder):
        folder.mkdir()
        super().__init__(folder, make_key(folder / "key"))
        self.stranger = make_key(folder / "stranger")
        self.trust(self.host_key)
        self.start()

    def trust(self, key):
        """What clients know of the host; None: nothing."""
        (self.folder / "known").write_text(self.known_host(key) if key else "")


class Https:
    """git http-backend behind TLS, with a password, and ways to go wrong."""

    def __init__(self, root, certificate):
        outer, self.mode = self, "good"
        self.released = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self, root)

            do_POST = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*map(str, certificate))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request, root):
        request.close_connection = True
        if self.mode == "hang":
            self.released.wait(SECONDS)
            return
        wanted = "Basic " + base64.b64encode(f"git:{PASSWORD}".encode()).decode()
        if request.headers.get("Authorization") != wanted:
            request.send_response(401)
            request.send_header("WWW-Authenticate", 'Basic realm="git"')
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        path, _, query = request.path.partition("?")
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        environment = {**GIT, "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                       "REQUEST_METHOD": request.command, "CONTENT_TYPE": request.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                       "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": request.headers.get("Git-Protocol", "")}
        output = subprocess.run([str(BACKEND)], input=body, capture_output=True, env=environment, timeout=SECONDS).stdout
        head, _, content = output.partition(b"\r\n\r\n")
        request.send_response(200)
        for line in head.decode().splitlines():
            request.send_header(*line.split(": ", 1))
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if self.mode == "die" and request.command == "POST":
            request.wfile.write(content[:len(content) // 2])
            request.wfile.flush()
            return
        request.wfile.write(content)

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("gitfs-remotes")) as fleet:
        fleet.start_server()
        fleet.sshd = Sshd(fleet.folder / "sshd")
        try:
            prepare(fleet)
            yield fleet
        finally:
            fleet.sshd.stop()
            if hasattr(fleet, "https"):
                fleet.https.stop()


def prepare(fleet):
    """A master whose ssh knows the hosts of the test and no others, and whose git trusts the authority of the test."""
    fleet.run("zester", "ca", "issue", "enroll", "--dir", fleet.auth / "ca", "--ip", "127.0.0.1", "--out", fleet.folder / "web-server")
    fleet.repository, fleet.local = Repository(fleet.folder, "app"), Repository(fleet.folder, "local")
    fleet.repository.commit({"init.zy": "first\n", "large.bin": os.urandom(300000).hex()})
    fleet.local.commit({"init.zy": "local\n"})
    fleet.https = Https(fleet.repository.bare.parent, (fleet.folder / "web-server/enroll.crt", fleet.folder / "web-server/enroll.key"))
    fleet.ssh_url = f"ssh://{USER}@127.0.0.1:{fleet.sshd.port}{fleet.repository.bare}"
    fleet.https_url = f"https://127.0.0.1:{fleet.https.port}/app.git"
    home, programs = fleet.folder / "home", fleet.folder / "bin"
    home.mkdir()
    programs.mkdir()
    (home / ".gitconfig").write_text(f"[http]\n\tsslCAInfo = {fleet.auth}/ca/root.crt\n")
    (programs / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F /dev/null -o UserKnownHostsFile={fleet.sshd.folder}/known '
                                  '-o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=4 "$@"\n')
    (programs / "ssh").chmod(0o755)
    fleet.master = fleet.start_master("one", environment={"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}, publisher_status_file="",
                                      files_mirror_after="0s", files_republish_interval="1s", gitfs={"remotes": [fleet.local.url], "interval": "1h"})
    fleet.master.states_dir = fleet.folder / "one/states"
    fleet.wait_ready(fleet.master)


def ssh_remote(fleet, **more):
    return {"url": fleet.ssh_url, "ssh_key": str(fleet.sshd.key), **more}


def https_remote(fleet, password=PASSWORD):
    return {"url": fleet.https_url.replace("https://", f"https://git:{password}@")}


def use(fleet, remote):
    reload(fleet, fleet.master, remotes=[remote, fleet.local.url])


def change(fleet, text):
    """Both repositories have it; the answer of an update."""
    fleet.repository.commit({"init.zy": text})
    fleet.local.commit({"init.zy": text})
    return update(fleet)


def works(fleet, text):
    row = change(fleet, text)
    assert "err" not in row, row
    wait_content(fleet, "app/init.zy", text)
    wait_content(fleet, "local/init.zy", text)
    assert check(fleet.master)[0] == "ok"


def fails(fleet, text, *reasons, before):
    """The remote keeps what is published; the other one goes on; the reason is shown."""
    row = change(fleet, text)
    status, message = check(fleet.master)
    for reason in reasons:
        assert reason in row["err"] and reason in message, (reason, row, message)
    assert status == "degraded" and PASSWORD not in row["err"] + message
    wait_content(fleet, "local/init.zy", text)
    wait_content(fleet, "app/init.zy", before)


def update_words(fleet):
    return [f"{BUILD}/zester", "fileserver", "update", "--config", str(fleet.write_cli_conf())]


# --- ssh ------------------------------------------------------------------------------------

def test_a_repository_is_pulled_over_ssh(fleet):
    use(fleet, ssh_remote(fleet))
    works(fleet, "over ssh\n")
    works(fleet, "and again\n")


def test_the_short_form_of_ssh_and_one_key_for_all_remotes(fleet):
    fleet.sshd.authorize(f"git-upload-pack '{fleet.repository.bare}'")
    (fleet.folder / "bin/ssh").write_text((fleet.folder / "bin/ssh").read_text().replace('-F /dev/null', f'-F /dev/null -p {fleet.sshd.port}'))
    reload(fleet, fleet.master, ssh_key=str(fleet.sshd.key), remotes=[f"{USER}@127.0.0.1:app.git", fleet.local.url])
    works(fleet, "short\n")
    fleet.sshd.authorize()


def test_a_wrong_key_an_unknown_host_and_another_host_are_refused(fleet):
    use(fleet, ssh_remote(fleet))
    works(fleet, "good\n")
    use(fleet, ssh_remote(fleet, ssh_key=str(fleet.sshd.stranger)))
    fails(fleet, "wrong key\n", "Permission denied", "ssh_key", before="good\n")
    use(fleet, ssh_remote(fleet, ssh_key=str(fleet.folder / "none")))
    fails(fleet, "no key\n", "Permission denied", before="good\n")
    use(fleet, ssh_remote(fleet))
    fleet.sshd.trust(None)
    fails(fleet, "unknown\n", "Host key verification failed", "known_hosts", before="good\n")
    assert (fleet.sshd.folder / "known").read_text() == "", "nobody has accepted it"
    fleet.sshd.trust(fleet.sshd.stranger)
    fails(fleet, "changed\n", "Host key verification failed", before="good\n")
    fleet.sshd.trust(fleet.sshd.host_key)
    works(fleet, "good again\n")


def test_an_ssh_server_that_is_gone_hangs_or_dies_in_the_middle(fleet):
    use(fleet, ssh_remote(fleet))
    works(fleet, "alive\n")
    fleet.sshd.stop()
    fails(fleet, "gone\n", "Connection refused", before="alive\n")
    with socket.create_server(("127.0.0.1", fleet.sshd.port)):  # accepts, and says nothing
        fails(fleet, "silent\n", "timed out", before="alive\n")
    fleet.sshd.start()
    fleet.sshd.authorize(f"git-upload-pack --advertise-refs '{fleet.repository.bare}'")  # and is gone
    fleet.repository.commit({"large.bin": os.urandom(300000).hex()})
    fails(fleet, "cut\n", "git fetch:", before="alive\n")
    fleet.sshd.authorize()
    works(fleet, "alive again\n")


def test_a_remote_that_hangs_in_the_middle_is_given_up_when_it_is_taken_off_the_list(fleet):
    use(fleet, ssh_remote(fleet))
    works(fleet, "before\n")
    fleet.sshd.authorize(f"git-upload-pack --advertise-refs '{fleet.repository.bare}'; cat > /dev/null")  # and says nothing more
    fleet.local.commit({"init.zy": "not held up\n"})
    with subprocess.Popen(update_words(fleet), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as asking:
        fleet.wait(lambda: git_children(fleet.master.process.pid), "git waits for the server")
        reload(fleet, fleet.master, remotes=[fleet.local.url])
        wait_content(fleet, "local/init.zy", "not held up\n")
        asking.wait(SECONDS)
    fleet.sshd.authorize()


# --- https ----------------------------------------------------------------------------------

def test_a_repository_is_pulled_over_https_and_the_password_is_never_shown(fleet):
    use(fleet, https_remote(fleet))
    works(fleet, "over https\n")
    works(fleet, "and again over https\n")
    use(fleet, https_remote(fleet, PASSWORD + "-wrong"))
    fails(fleet, "wrong password\n", "Authentication failed", before="and again over https\n")
    use(fleet, {"url": fleet.https_url})
    fails(fleet, "no password\n", "could not read Username", "credential helper", before="and again over https\n")
    assert PASSWORD not in fleet.master.log()


def test_a_credential_helper_of_git_gives_the_password(fleet):
    config = fleet.folder / "home/.gitconfig"
    before = config.read_text()
    config.write_text(before + f'[credential]\n\thelper = "!f() {{ echo username=git; echo password={PASSWORD}; }}; f"\n')
    use(fleet, {"url": fleet.https_url})
    works(fleet, "with a helper\n")
    config.write_text(before)


def test_a_certificate_that_nobody_vouches_for_is_refused(fleet):
    config = fleet.folder / "home/.gitconfig"
    before = config.read_text()
    use(fleet, https_remote(fleet))
    works(fleet, "vouched\n")
    config.write_text("")
    fails(fleet, "not vouched\n", "certificate", before="vouched\n")
    config.write_text(before)


def test_an_https_server_that_dies_in_the_middle(fleet):
    use(fleet, https_remote(fleet))
    works(fleet, "alive over https\n")
    fleet.https.mode = "die"
    fails(fleet, "died\n", "git fetch:", before="alive over https\n")
    fleet.https.mode = "good"
    works(fleet, "alive over https again\n")


def test_a_first_clone_that_is_cut_leaves_nothing_half(fleet):
    reload(fleet, fleet.master, remotes=[fleet.local.url])
    update(fleet)
    fleet.wait(lambda: not (fleet.master.states_dir / "app").exists(), "the folder is gone")
    fleet.https.mode = "die"
    use(fleet, https_remote(fleet))
    row = update(fleet)
    assert "git fetch:" in row["err"] and not (fleet.master.states_dir / "app").exists()
    # it may be trying again just now
    fleet.wait(lambda: not list((fleet.master.states_dir / ".zester-gitfs").glob("app*")), "nothing half is left")
    fleet.https.mode = "good"
    works(fleet, "whole\n")


def test_a_master_that_waits_for_a_server_that_hangs_ends_in_time_and_leaves_no_process(fleet):
    use(fleet, https_remote(fleet))
    works(fleet, "before it hangs\n")
    fleet.https.mode = "hang"
    with subprocess.Popen(update_words(fleet), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as asking:
        fleet.wait(lambda: git_children(fleet.master.process.pid), "git waits for the server")
        began = time.monotonic()
        assert fleet.master.stop() == 0
        assert time.monotonic() - began < STOP_SECONDS
        asking.kill()
    fleet.wait(lambda: not git_running(fleet), "no git is left")


def git_running(fleet):
    """Processes of git that talk to the server of the test."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes()
            if b"git-remote-https" in words and str(fleet.https.port).encode() in words:
                found.append(path.parent.name)
    return found


def git_children(pid):
    children = subprocess.run(["ps", "--ppid", str(pid), "-o", "comm="], capture_output=True, text=True).stdout.split()
    return "git" in children
