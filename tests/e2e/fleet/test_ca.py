"""zester ca: the certificate authority of the fleet, from the command line."""
import os
import re
import socket
import ssl
import stat
import subprocess
import threading

import pytest

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
SECONDS = 60


def ca(*words, status=0):
    result = subprocess.run([ZESTER, "ca", *map(str, words)], capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == status, result.stdout + result.stderr
    return result


@pytest.fixture
def folder(tmp_path):
    ca("init", "--dir", tmp_path / "ca")
    return tmp_path


def shake_hands(root, certificate, key, name):
    """A TLS 1.3 handshake with a server that has this certificate, by a client that trusts `root` alone."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.minimum_version = ssl.TLSVersion.TLSv1_3
    server_side.load_cert_chain(certificate, key)
    client_side = ssl.create_default_context(cafile=str(root))
    ours, theirs = socket.socketpair()

    def serve():
        try:
            with server_side.wrap_socket(theirs, server_side=True) as stream:
                stream.recv(1)
        except (ssl.SSLError, OSError):
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client_side.wrap_socket(ours, server_hostname=name) as stream:
            stream.send(b"x")
            return stream.version()
    finally:
        ours.close()
        thread.join(SECONDS)


def test_a_server_with_an_issued_certificate_is_trusted_by_whoever_has_the_root(folder):
    out = folder / "out"
    ca("issue", "nats-server", "--dir", folder / "ca", "--dns", "nats.example.com", "--ip", "127.0.0.1", "--out", out)
    assert (out / "nats-ca.crt").read_text() == (folder / "ca/root.crt").read_text()
    for name in ("nats.example.com", "127.0.0.1"):
        assert shake_hands(out / "nats-ca.crt", out / "nats-server.crt", out / "nats-server.key", name) == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(out / "nats-ca.crt", out / "nats-server.crt", out / "nats-server.key", "other.example.com")


def test_names_and_addresses_may_be_lists_with_commas(folder):
    out = folder / "out"
    ca("issue", "nats-server", "--dir", folder / "ca", "--dns", "nats,nats.example.com", "--dns", "localhost", "--ip", "127.0.0.1, ::1", "--out", out)
    for name in ("nats", "nats.example.com", "localhost", "127.0.0.1", "::1"):
        assert shake_hands(out / "nats-ca.crt", out / "nats-server.crt", out / "nats-server.key", name) == "TLSv1.3"
    refused = ca("issue", "nats-server", "--dir", folder / "ca", "--dns", "nats,", "--out", folder / "none", status=1)
    assert "'' is not a valid DNS name" in refused.stderr and not (folder / "none").exists()


def test_a_certificate_of_another_authority_is_not_trusted(folder):
    ca("init", "--dir", folder / "other")
    ca("issue", "enroll", "--dir", folder / "other", "--dns", "localhost", "--out", folder)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(folder / "ca/root.crt", folder / "enroll.crt", folder / "enroll.key", "localhost")


def test_the_fingerprint_is_one_line_and_the_same_in_print(folder):
    line = ca("fingerprint", "--dir", folder / "ca").stdout
    assert re.fullmatch(r"sha256:[0-9a-f]{64}\n", line)
    shown = ca("print", "--dir", folder / "ca").stdout
    assert line.strip() in shown and "root key:      here" in shown
    (folder / "ca/root.key").unlink()
    assert "root key:      offline" in ca("print", "--dir", folder / "ca").stdout


def test_init_never_overwrites_and_leaves_nothing_half_made(folder):
    before = (folder / "ca/root.crt").read_bytes()
    refused = ca("init", "--dir", folder / "ca", status=1)
    assert "exists already" in refused.stderr and refused.stdout == ""
    assert (folder / "ca/root.crt").read_bytes() == before
    (folder / "file").write_text("")
    ca("init", "--dir", folder / "file/ca", status=1)


def test_private_keys_are_for_their_owner_only(folder):
    ca("issue", "nats-server", "--dir", folder / "ca", "--dns", "a", "--out", folder / "out")
    for path in (folder / "ca/root.key", folder / "ca/intermediate.key", folder / "out/nats-server.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("words, said", [
    (("issue", "nats-server"), "missing server name"),
    (("issue", "web", "--dns", "a"), "cannot issue 'web': expected nats-server or enroll"),
    (("issue", "nats-server", "--dns", "a b"), "'a b' is not a valid DNS name"),
    (("issue", "nats-server", "--ip", "localhost"), "'localhost' is not a valid IP address"),
    (("issue",), "missing nats-server|enroll"),
    (("fingerprints",), "did you mean 'fingerprint'?"),
    ((), "missing command"),
])
def test_a_mistake_is_an_error_and_writes_nothing(folder, words, said):
    extra = ("--dir", folder / "ca") + (("--out", folder / "out") if "issue" in words else ())
    result = ca(*words, *(extra if words else ()), status=1)
    assert said in result.stderr
    assert not (folder / "out").exists()


def test_without_an_authority_the_error_says_how_to_make_one(tmp_path):
    assert "make one with 'zester ca init'" in ca("fingerprint", "--dir", tmp_path / "ca", status=1).stderr


def test_damaged_files_are_refused(folder):
    (folder / "ca/intermediate.key").write_text("not a key")
    result = ca("issue", "enroll", "--dir", folder / "ca", "--dns", "a", "--out", folder / "out", status=1)
    assert "intermediate.key" in result.stderr and not (folder / "out").exists()
