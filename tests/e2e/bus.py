"""A NATS client for tests, independent of ours: a blocking connection with credentials over TLS, and events as the wire has them.

    bus = Bus(port, ca, creds)
    bus.publish(subject, payload)                    without an answer
    missing = bus.store([(subject, payload, id)])    answered by the stream; those that were not
"""
import base64
import json
import os
import re
import socket
import ssl
import time

from enroll_client import sign
from packing import pack

SECONDS = 60


def event(tag, data=None, **more):
    """Id and payload of an event that is sent now."""
    fields = {"id": os.urandom(10).hex(), "tag": tag, **({"data": data} if data else {}), "ts": time.time(), "v": 1, **more}
    return fields["id"], pack(fields)


def read_creds(path):
    """JWT and seed of a file of credentials."""
    text = path.read_text()
    jwt = re.search(r"BEGIN NATS USER JWT-+\n(\S+)", text).group(1)
    seed = re.search(r"BEGIN USER NKEY SEED-+\n(\S+)", text).group(1)
    return jwt, base64.b32decode(seed + "=" * (-len(seed) % 8))[2:34]


class Bus:
    def __init__(self, port, ca, creds):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self.buffer = b""
        self.errors = []  # what the server refused
        self.reply = None  # where to answer the last message
        self.stored = 0  # messages for the stream so far: a late answer is never taken for that of another message
        info = json.loads(self.line()[5:])
        self.socket = ssl.create_default_context(cafile=str(ca)).wrap_socket(self.socket, server_hostname="127.0.0.1")
        jwt, seed = read_creds(creds)
        signature = base64.urlsafe_b64encode(sign(seed, info["nonce"].encode())).decode().rstrip("=")
        words = {"verbose": False, "pedantic": False, "tls_required": True, "headers": True, "no_responders": True, "lang": "test",
                 "version": "0", "protocol": 1, "jwt": jwt, "sig": signature}
        self.inbox = f"_INBOX.{os.urandom(8).hex()}"
        self.send(b"CONNECT " + json.dumps(words).encode() + b"\r\n")
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def fill(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server closed the connection")
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def take(self, count):
        while len(self.buffer) < count + 2:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count + 2:]
        return data

    def read(self):
        """Subject and payload of the next message; None: a PONG."""
        while True:
            line = self.line()
            verb, *words = line.decode().split()
            if verb == "PING":
                self.send(b"PONG\r\n")
            elif verb == "PONG":
                return None
            elif verb == "-ERR":
                self.errors.append(line.decode())
            elif verb == "MSG":
                self.reply = words[2] if len(words) == 4 else None
                return words[0], self.take(int(words[-1]))
            elif verb == "HMSG":
                self.reply = words[2] if len(words) == 5 else None
                return words[0], self.take(int(words[-1]))[int(words[-2]):]

    def flush(self):
        """The server has seen all that was sent."""
        self.send(b"PING\r\n")
        while self.read():
            pass

    def publish(self, subject, payload):
        self.send(f"PUB {subject} {len(payload)}\r\n".encode() + payload + b"\r\n")

    def request(self, subject, payload=b""):
        """The payload of the answer."""
        self.send(f"SUB {self.inbox}.r 2\r\nPUB {subject} {self.inbox}.r {len(payload)}\r\n".encode() + payload + b"\r\n")
        answer = None
        while not answer:
            answer = self.read()
        self.send(b"UNSUB 2\r\n")
        return answer[1]

    def pull(self, stream, consumer):
        """The payload of the next message of a consumer; self.reply is for what is said about it."""
        return self.request(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", b"1")

    def store(self, messages, header=""):
        """Publish (subject, payload, message id), with more lines of the header; returns those that the stream did not confirm."""
        waiting = dict(enumerate(messages, self.stored))
        self.stored += len(messages)
        self.send(f"SUB {self.inbox}.* 1\r\n".encode())
        for number, (subject, payload, name) in waiting.items():
            lines = f"NATS/1.0\r\nNats-Msg-Id: {name}\r\n{header}\r\n".encode()
            self.send(f"HPUB {subject} {self.inbox}.{number} {len(lines)} {len(lines) + len(payload)}\r\n".encode() + lines + payload +
                      b"\r\n")
        while waiting:
            message = self.read()
            if message and b'"seq"' in message[1]:
                waiting.pop(int(message[0].rsplit(".", 1)[1]), None)
            elif message:
                break  # no stream listens at the moment
        self.send(b"UNSUB 1\r\n")
        return list(waiting.values())
