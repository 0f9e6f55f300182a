"""A leaf node that does as it likes: the protocol between nats-servers in plain Python, with any credentials.

    with Leaf(port, creds, ca) as leaf:
        leaf.publish(subject, payload, reply=, header=)
        leaf.subscribe(subject)
        leaf.flush()                                    leaf.heard is what came until then, leaf.errors what the hub said

A nats-server as a leaf node holds itself to what its hub tells it of its permissions. This one does not.
"""
import json
import os

from nats_client import Client


class Leaf(Client):
    def connect_words(self, jwt, signature):
        return {"version": "2.9.10", "jwt": jwt, "sig": signature, "tls_required": True, "server_id": os.urandom(16).hex(), "name": "rogue",
                "headers": True, "protocol": 1}

    def publish(self, subject, payload=b"", reply="", header=b""):
        where = f"{subject} {reply} " if reply else f"{subject} "
        if header:
            self.send(f"HMSG {where}{len(header)} {len(header) + len(payload)}\r\n".encode() + header + payload + b"\r\n")
        else:
            self.send(f"LMSG {where}{len(payload)}\r\n".encode() + payload + b"\r\n")

    def subscribe(self, subject):
        self.send(f"LS+ {subject}\r\n".encode())

    def handle(self, line):
        """What the hub says of its own subscriptions is not needed."""
        words = line.split()
        if words[0] == "LMSG":
            self.keep(["MSG", words[1], "", *words[2:]])
        elif words[0] == "HMSG":
            self.keep(["HMSG", words[1], "", *words[2:]])
        else:
            super().handle(line)
