"""A client of NATS with the credentials of a peel that does as it likes: no rule of ours stands between it and the server.

The protocol in plain Python, over TLS, logged in by a signed nonce. What the server refuses is in `errors`,
what came is in `heard`.
"""
import base64
import contextlib
import json
import socket
import ssl
import time

from enroll_client import sign

SECONDS = 60
# Bytes of a seed before the key: two of prefix; after it two of checksum.
SEED_HEAD, SEED_TAIL = 2, 2


def read_creds(path):
    """The claims, and the 32 bytes of the key."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("-")]
    jwt, seed = lines
    raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
    return jwt, raw[SEED_HEAD:-SEED_TAIL]


class Client:
    def __init__(self, port, creds, ca):
        jwt, key = read_creds(creds)
        plain = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.subscriptions = 0
        info = self.read_info(plain)
        context = ssl.create_default_context(cafile=str(ca))
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.buffer, self.errors, self.heard, self.is_closed = b"", [], [], False
        self.max_payload = info["max_payload"]
        signature = base64.urlsafe_b64encode(sign(key, info["nonce"].encode())).rstrip(b"=").decode()
        self.send(f"CONNECT {json.dumps(self.connect_words(jwt, signature))}\r\n".encode())
        self.flush()
        assert not self.errors, self.errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def connect_words(self, jwt, signature):
        return {"jwt": jwt, "sig": signature, "verbose": False, "pedantic": False, "headers": True}

    @staticmethod
    def read_info(plain):
        """The first line, one byte at a time: TLS begins right after it."""
        line = b""
        while not line.endswith(b"\r\n"):
            line += plain.recv(1)
        return json.loads(line.removeprefix(b"INFO "))

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.is_closed = True

    def publish(self, subject, payload=b"", reply=""):
        self.send(f"PUB {subject} {reply + ' ' if reply else ''}{len(payload)}\r\n".encode() + payload + b"\r\n")

    def publish_with(self, subject, header, payload=b""):
        """With lines of a header."""
        lines = f"NATS/1.0\r\n{header}\r\n\r\n".encode()
        self.send(f"HPUB {subject} {len(lines)} {len(lines) + len(payload)}\r\n".encode() + lines + payload + b"\r\n")

    def subscribe(self, subject):
        self.subscriptions += 1
        self.send(f"SUB {subject} {self.subscriptions}\r\n".encode())

    def fill(self):
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self.socket.recv(65536)
        self.is_closed = not data
        self.buffer += data

    def read_line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
            if self.is_closed:
                return ""
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode(errors="replace")

    def flush(self):
        """Until the server has seen all that was sent, or has hung up."""
        self.send(b"PING\r\n")
        deadline = time.monotonic() + SECONDS
        while not self.is_closed and time.monotonic() < deadline:
            line = self.read_line()
            if line == "PONG":
                return
            if line:
                self.handle(line)

    def handle(self, line):
        """What the server says beside a PONG."""
        if line == "PING":
            self.send(b"PONG\r\n")
        elif line.startswith("-ERR"):
            self.errors.append(line)
        elif line.startswith(("MSG ", "HMSG ")):
            self.keep(line.split())

    def keep(self, words):
        """A message: its subject, where to answer it, header and payload."""
        has_header = words[0] == "HMSG"
        data, size = self.take(int(words[-1])), int(words[-2]) if has_header else 0
        self.heard.append((words[1], words[3] if len(words) > 4 + has_header else "", data[:size], data[size:]))

    def take(self, count):
        while len(self.buffer) < count + 2 and not self.is_closed:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count + 2:]
        return data

    def refusals(self):
        """Errors since the last time."""
        self.flush()
        found, self.errors = self.errors, []
        return found
