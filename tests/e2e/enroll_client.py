"""A machine that enrolls, as tests need it: every field can be wrong.

Ed25519 as RFC 8032 has it, in plain Python: no package of Debian is needed, and it is an oracle of its own.
"""
import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
import ssl

SECONDS = 60
P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493
I = pow(2, (P - 1) // 4, P)


def _recover_x(y, sign):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * I % P
    return P - x if x % 2 != sign else x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = _recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def _add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    u, v = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def _multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point, scalar = _add(point, point), scalar >> 1
    return result


def _compress(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _expand(seed):
    digest = hashlib.sha512(seed).digest()
    return int.from_bytes(digest[:32], "little") & (1 << 254) - 8 | 1 << 254, digest[32:]


def public_of(seed):
    return _compress(_multiply(_expand(seed)[0], BASE))


def curve_of(seed):
    """The X25519 key of the same 32 bytes: the point on the Edwards curve, seen on the Montgomery curve."""
    scalar = int.from_bytes(seed, "little") & ((1 << 254) - 8) | 1 << 254
    y = int.from_bytes(_compress(_multiply(scalar, BASE)), "little") & ((1 << 255) - 1)
    return ((1 + y) * pow(1 - y, P - 2, P) % P).to_bytes(32, "little")


def sign(seed, message):
    scalar, prefix = _expand(seed)
    public = public_of(seed)
    r = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % ORDER
    point = _compress(_multiply(r, BASE))
    h = int.from_bytes(hashlib.sha512(point + public + message).digest(), "little") % ORDER
    return point + ((r + h * scalar) % ORDER).to_bytes(32, "little")


def _crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
    return crc


def nkey(prefix, public):
    """Text of a public key: 'U' a user, 'X' a curve key."""
    data = bytes([(ord(prefix) - ord("A")) << 3]) + public
    return base64.b32encode(data + _crc16(data).to_bytes(2, "little")).decode().rstrip("=")


def derive_account(path, role="peels"):
    """The seed of the account of "peels" or "operators", from the file with that of the fleet's."""
    return hmac.new(read_seed(path), f"zester account of {role} v1".encode(), hashlib.sha256).digest()


def b64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sign_claims(claims, prefix, seed):
    """As nsc does."""
    claims = {**claims, "iss": nkey(prefix, public_of(seed)), "jti": hashlib.sha256(os.urandom(8)).hexdigest()}
    text = f'{b64url(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())}.{b64url(json.dumps(claims).encode())}'
    return f"{text}.{b64url(sign(seed, text.encode()))}"


def read_jwt(text):
    body = text.strip().split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def read_seed(path):
    text = path.read_text().strip()
    return base64.b32decode(text + "=" * (-len(text) % 8))[2:34]


def seed_text(seed):
    """Text of the seed of a user."""
    data = bytes([(ord("S") - ord("A")) << 3 | (ord("U") - ord("A")) >> 2, (ord("U") - ord("A")) << 6 & 0xff]) + seed
    return base64.b32encode(data + _crc16(data).to_bytes(2, "little")).decode().rstrip("=")


class Machine:
    """One that has a key, and talks to the HTTPS endpoint of a master."""

    def __init__(self, port, peel, ca=None):
        self.port, self.peel, self.seed = port, peel, os.urandom(32)
        self.public, self.curve = nkey("U", public_of(self.seed)), nkey("X", curve_of(self.seed))
        self.context = ssl.create_default_context(cafile=str(ca)) if ca else ssl._create_unverified_context()
        self.headers, self.token = {}, None

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=self.context)

    def call(self, method, path, body=None, headers=None):
        """Status and body of an answer, and its headers in self.headers."""
        connection = self.connect()
        try:
            connection.request(method, path, body=json.dumps(body) if isinstance(body, dict) else body, headers={**(headers or {}), **({"X-Zester-Token": self.token} if self.token else {})})
            answer = connection.getresponse()
            self.headers = dict(answer.getheaders())
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def nonce(self, **over):
        fields = {"peel_id": self.peel, "public_key": self.public, **over}
        return self.call("GET", "/api/v1/enroll/nonce?" + "&".join(f"{key}={value}" for key, value in fields.items()))

    def sign(self, message):
        return base64.b64encode(sign(self.seed, message)).decode()

    def body(self, nonce, pin=None, **over):
        challenge = base64.b64decode(nonce["challenge"])
        fields = {"peel_id": self.peel, "public_key": self.public, "curve_public_key": self.curve, "hostname": f"{self.peel}.example",
                  "challenge_id": nonce["challenge_id"], "signature": self.sign(challenge + self.curve.encode()),
                  "metadata": {"os": "debian"}}
        if pin:
            fields.update(trusted_ca_spki=pin,
                          trust_signature=self.sign(challenge + b"zester-enroll-trust-v1\0bind\0" + pin.encode()))
        fields.update(over)
        return fields

    def submit(self, pin=None, **over):
        """Nonce and request; returns status and body."""
        status, nonce = self.nonce()
        assert status == 200, nonce
        return self.call("POST", "/api/v1/enroll", self.body(nonce, pin, **over))

    def state(self, enrollment):
        status, body = self.call("GET", f"/api/v1/enroll/{enrollment}/status")
        return body["state"] if status == 200 else status

    def creds(self, enrollment, signed=None):
        signature = base64.urlsafe_b64encode(sign(self.seed, (signed or enrollment).encode())).decode().rstrip("=")
        return self.call("GET", f"/api/v1/enroll/{enrollment}/creds", headers={"Authorization": f"Nkey {self.public}:{signature}"})


class Bus:
    """A connection to nats-server with credentials of a machine: enough of the protocol to see who is let in."""

    def __init__(self, port, machine, jwt):
        self.received = b""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        info = json.loads(self._read_line()[len("INFO "):])
        self.socket = ssl._create_unverified_context().wrap_socket(self.socket)
        signature = base64.urlsafe_b64encode(sign(machine.seed, info["nonce"].encode())).decode().rstrip("=")
        options = {"verbose": False, "pedantic": False, "jwt": jwt, "sig": signature, "protocol": 1, "lang": "test", "version": "0"}
        self.socket.sendall(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())

    def _read_line(self):
        while b"\r\n" not in self.received:
            more = self.socket.recv(65536)
            if not more:
                return ""
            self.received += more
        line, self.received = self.received.split(b"\r\n", 1)
        return line.decode()

    def read(self):
        """The next line that is not housekeeping; "" at the end of the connection."""
        while True:
            try:
                line = self._read_line()
            except ConnectionError:
                return ""
            if line == "PING":
                self.socket.sendall(b"PONG\r\n")
            elif not line.startswith("INFO "):
                return line

    def is_let_in(self):
        return self.read() == "PONG"

    def close(self):
        self.socket.close()


def jwt_of(creds):
    """The JWT in the answer to Machine.creds."""
    return base64.urlsafe_b64decode(creds["creds_data"]).decode()
