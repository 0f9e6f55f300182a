"""A client of the API of a master: plain HTTPS, one connection for each request."""
import http.client
import json
import socket
import ssl

from fleet import SECONDS


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.headers, self.text = status, headers, text

    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text[:500]}"


class Stream:
    """Events of an answer that goes on."""

    def __init__(self, connection):
        self.connection = connection
        self.answer = connection.getresponse()
        self.status = self.answer.status

    def events(self):
        """(name, data) of each event, to the end of the stream."""
        name = None
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))

    def close(self):
        self.connection.close()


class Api:
    def __init__(self, master, ca, token=None):
        self.port, self.token = master.enroll_port, token
        self.context = ssl.create_default_context(cafile=str(ca))

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=self.context)

    def send(self, connection, method, path, body, headers):
        headers = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **(headers or {})}
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        connection.request(method, path if path.startswith("/") else f"/api/v1/{path}", body, headers)

    def call(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            self.send(connection, method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def stream(self, path):
        connection = self.connect()
        self.send(connection, "GET", path, None, None)
        return Stream(connection)

    def drop_after_sending(self, method, path, body):
        """Send a whole request, and be gone before it can be answered."""
        connection = self.connect()
        self.send(connection, method, path, body, None)
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
