"""box - a bus with TLS and credentials, and a master, in a folder of their own, for benchmarks of the fleet.

    with Box(bench, "reactor") as box:
        box.start_server()
        box.start_master(reactor={...})

Whatever was started is gone at the end, and so is the folder.
"""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from frame import Failure

SECONDS = 120
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_server(bench):
    server = bench.peer("nats-server") or bench.peer("/usr/sbin/nats-server")
    if not server:
        raise Failure("nats-server is not installed")
    return server


def cpu_seconds(pid):
    """Of a process since its start."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


class Box:
    def __init__(self, bench, name):
        self.bench, self.folder = bench, tempfile.mkdtemp(prefix=f"zester-bench-{name}.")
        self.auth, self.processes, self.server, self.master = f"{self.folder}/auth", [], None, None
        self.port = free_port()
        self.url = f"tls://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is Failure:
            self.show_troubles()
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def show_troubles(self):
        """What server and master complained about last, before their logs are gone."""
        for name in ("nats", "master"):
            lines = [line for line in self.log(name).splitlines() if any(mark in line for mark in ("[WRN]", "[ERR]", "[INF]", '"warn"', '"error"'))]
            print("\n".join([f"--- {name}", *lines[-8:]]), file=sys.stderr)

    def begin(self, command, name, **how):
        """A process with a log in NAME.log, or with its output in a pipe."""
        with open(f"{self.folder}/{name}.log", "ab") as log:
            process = subprocess.Popen(command, **{"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, **how})
        self.processes.append(process)
        return process

    def end(self, process):
        process.terminate()
        process.wait()
        self.processes.remove(process)

    def log(self, name):
        with contextlib.suppress(FileNotFoundError), open(f"{self.folder}/{name}.log", encoding="utf-8", errors="replace") as file:
            return file.read()
        return ""

    def wait_for(self, condition, what):
        deadline = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                raise Failure(f"not in time: {what}\n{self.log('master')[-2000:]}")
            time.sleep(0.02)

    def write(self, path, text):
        path = f"{self.folder}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def accepts(self, port):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as client:
            return client.recv(4) == b"INFO"
        return False

    def nats_auth(self, *words):
        subprocess.run([self.bench.program("zester"), "nats-auth", *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    def start_server(self, leaf_port=None):
        self.leaf_port, more = leaf_port, ["--leaf-port", leaf_port] if leaf_port else []
        self.nats_auth("init", "--dir", self.auth, "--nats-conf", f"{self.folder}/nats.conf", "--jetstream-store",
                       f"{self.folder}/js", "--host", "127.0.0.1", "--port", self.port, *more)
        with open(f"{self.folder}/nats.conf", encoding="utf-8") as file:
            conf = "".join(line for line in file if not line.startswith("http:"))
        self.write("nats.conf", conf)
        self.server = self.begin([find_server(self.bench), "-c", f"{self.folder}/nats.conf"], "nats")
        self.wait_for(lambda: self.accepts(self.port), "nats-server listens")

    def start_leaf(self, name):
        """The URL of a leaf node in front of the server."""
        port, folder = free_port(), f"{self.folder}/{name}"
        self.nats_auth("leaf", name, "--dir", self.auth, "--out", folder, "--data", f"{folder}/data", "--hub", f"tls://127.0.0.1:{self.leaf_port}",
                       "--host", "127.0.0.1", "--port", port)
        self.begin([find_server(self.bench), "-c", f"{folder}/nats-server.conf"], name)
        self.wait_for(lambda: self.accepts(port) and self.log(name).count("Leafnode connection created") == 2, f"{name} listens")
        return f"tls://127.0.0.1:{port}"

    def start_master(self, **keys):
        """`keys` are those of master.yaml; ready when this returns."""
        health = free_port()
        conf = {"nats_url": self.url, "auth_dir": self.auth, "health_addr": f"127.0.0.1:{health}", "publisher_status_file": "",
                "enroll": {"addr": f"127.0.0.1:{free_port()}"}, **keys}
        path = self.write("master.yaml", json.dumps(conf))
        self.master = self.begin([self.bench.program("zester-master"), "--config", path], "master")
        self.wait_for(lambda: is_ready(health), "the master is ready")


def is_ready(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as client:
        client.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
        return b" 200 " in client.recv(64)
    return False
