"""Somebody with the power of a server: reads and writes what it likes, but does not have the key of the account."""
import base64
import hashlib
import json
import os

from bus import Bus
from packing import pack

# Of a published tree, beside its files.
RECORDS = ("_manifest", "_signature")


class Intruder(Bus):
    """Writes to buckets as a server could."""

    def put(self, bucket, key, value):
        assert not self.store([(f"$KV.{bucket}.{key}", value, os.urandom(8).hex())])

    def get(self, bucket, key):
        query = json.dumps({"last_by_subj": f"$KV.{bucket}.{key}"}).encode()
        reply = json.loads(self.request(f"$JS.API.STREAM.MSG.GET.KV_{bucket}", query))
        return base64.b64decode(reply["message"]["data"])

    def delete(self, bucket, key):
        assert not self.store([(f"$KV.{bucket}.{key}", b"", os.urandom(8).hex())], "KV-Operation: DEL\r\n")

    def announce(self, bucket):
        """There are news, say readers."""
        self.put(bucket, "_revision", str(int(self.get(bucket, "_revision")) + 1).encode())

    def forge(self, bucket, path, text):
        """A file, and a manifest that fits."""
        self.put(bucket, path, text)
        self.put(bucket, "_manifest", pack({"files": [{"key": path, "sha256": hashlib.sha256(text).hexdigest()}]}))
        self.announce(bucket)

    def copy(self, bucket, path):
        """All of a tree of one file."""
        return {key: self.get(bucket, key) for key in (path, *RECORDS)}

    def replay(self, bucket, values):
        for key, value in values.items():
            self.put(bucket, key, value)
        self.announce(bucket)

    # --- requests -------------------------------------------------------------------------

    def listen(self, peel):
        """Hear all that is sent to a peel."""
        self.send(f"SUB zester.cmd.{peel} 77\r\n".encode())
        self.flush()

    def catch(self):
        """The next signed request as it was sent: header and payload."""
        while True:
            words = self.line().decode().split()
            if words[0] == "PING":
                self.send(b"PONG\r\n")
            elif words[0] == "HMSG":
                data = self.take(int(words[-1]))
                return data[:int(words[-2])], data[int(words[-2]):]

    def deliver(self, peel, header, payload, reply=""):
        self.publish_with(f"zester.cmd.{peel}", header, payload, reply)

    def publish_with(self, subject, header, payload, reply=""):
        self.send(f"HPUB {subject} {reply} {len(header)} {len(header) + len(payload)}\r\n".encode() + header + payload + b"\r\n")
        self.flush()
