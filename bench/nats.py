"""NATS: our client against libnats, and against the least that speaks the protocol (raw)

One server, one connection, messages of 300 bytes, no TLS. `raw` is one thread with blocking calls that knows
neither reconnects nor errors: the limit. publish: into a stream on disk, 1024 under way; pull: with an ack for each
message; requests are answered by a process of its own. The peaks of the idle connections are the memory of all of
them. The last row is the time from the start of a new server until all connections are back. Runs are short and many, since a
ratio is the median of those of the turns.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

from frame import Failure, Job, Line, Sample

RUNS = 25
IDLE = 1000
AGAIN = 5000
# What, how often, messages to store before.
WORK = (
    ("publish", 50_000, 0),
    ("pull", 50_000, 50_000),
    ("both", 20_000, 0),
    ("request", 2_000, 0),
    ("pipeline", 20_000, 0),
    ("put", 2_000, 0),
    ("get", 2_000, 0),
    ("update", 2_000, 0),
)


class Server:
    def __init__(self, program, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.program, self.folder, self.process = program, folder, None
        self.url = f"nats://127.0.0.1:{self.port}"

    def accepts(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
            return client.recv(4) == b"INFO"
        return False

    def start(self):
        command = [self.program, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.folder]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.accepts():
            if self.process.poll() is not None:
                raise Failure("nats-server ended")
            time.sleep(0.01)

    def stop(self):
        stop_process(self.process)


def start_responder(raw, driver, server):
    process = subprocess.Popen([raw, "respond", server.url, "0"])
    deadline = time.monotonic() + 10
    while subprocess.run([driver, "request", server.url, "1"], stderr=subprocess.DEVNULL, check=False).returncode:
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure("the responder does not answer")
        time.sleep(0.01)
    return process


def stop_process(process):
    process.kill()
    process.wait()


def reconnect(server, command):
    """Seconds from the start of a new server until all connections are back."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "ready\n":
            raise Failure(f"{' '.join(command)}: no connections")
        server.stop()
        begun = time.monotonic()
        server.start()
        if process.wait() != 0:
            raise Failure(f"{' '.join(command)}: exit status {process.returncode}")
        return Sample(time.monotonic() - begun, 0, 0, 1)


def lines(bench):
    program = bench.peer("nats-server") or bench.peer("/usr/sbin/nats-server")
    if not program:
        raise Failure("nats-server is not installed")
    driver, raw_driver = bench.driver("nats"), bench.driver("raw")
    theirs = os.path.join(bench.build, "bench/driver_libnats")
    theirs = os.path.abspath(theirs) if os.path.exists(theirs) else None
    folder = tempfile.mkdtemp(prefix="zester-bench-nats.")
    server = Server(program, folder)
    server.start()
    responder = None
    try:
        responder = start_responder(raw_driver, driver, server)
        for what, count, stored in WORK:
            def before(stored=stored):
                if subprocess.run([driver, "setup", server.url, str(stored)], check=False).returncode:
                    raise Failure("cannot set up the stream")

            jobs = [Job([driver, what, server.url, str(count)], before),
                    Job([raw_driver, what, server.url, str(count)], before),
                    theirs and Job([theirs, what, server.url, str(count)], before)]
            ours, raw, libnats = bench.together(jobs, RUNS)
            yield Line(f"{what} {count:,}", ours, "raw", raw, "1.25x", count)
            yield Line(f"{what} {count:,}", ours, "libnats", libnats, "1x", count)
        jobs = [Job([driver, "idle", server.url, str(IDLE)]), theirs and Job([theirs, "idle", server.url, str(IDLE)])]
        ours, libnats = bench.together(jobs, RUNS)
        yield Line(f"{IDLE:,} connections", ours, "libnats", libnats, "")
        stop_process(responder)  # it has no business with what follows: its server is stopped
        responder = None
        ours = reconnect(server, [driver, "again", server.url, str(AGAIN)])
        libnats = theirs and reconnect(server, [theirs, "again", server.url, str(AGAIN)])
        yield Line(f"{AGAIN:,} reconnect", ours, "libnats", libnats, "")
    finally:
        if responder:
            stop_process(responder)
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
