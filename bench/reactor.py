"""Reactor: events through a master, against a bare loop that publishes, pulls and acknowledges with the same parameters

Rates are to be at least 0.7 of the bare loop's, that is a ratio of at most 1.43; latencies at 1,000 events a second at most twice
those of a bare handler. Everything is over TLS with credentials; the latency of a reaction ends with its line in the master's log.
"""
import contextlib
import datetime
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from frame import Failure, Job, Line, Sample

COUNT = 20_000
PACED = 5_000  # five seconds at 1,000 a second
RUNS = 5
SECONDS = 60
RULES = {
    "top.zy": "reactor:\n" + "".join(f"  - 'web-{n}*/deploy/*': [reactor.log]\n" for n in range(20)) + "  - '_admin/log': [reactor.log]\n",
    "log.zy": "line:\n  log: \"t={{ data.t }}\"\n",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bus:
    """A server and a master with rules, in a folder."""

    def __init__(self, bench, server, folder):
        self.folder, self.auth, self.processes = folder, f"{folder}/auth", []
        port, self.health = free_port(), free_port()
        self.url = f"tls://127.0.0.1:{port}"
        words = ["nats-auth", "init", "--dir", self.auth, "--nats-conf", f"{folder}/nats.conf", "--jetstream-store", f"{folder}/js",
                 "--host", "127.0.0.1", "--port", str(port)]
        subprocess.run([bench.program("zester"), *words], check=True, stdout=subprocess.DEVNULL)
        with open(f"{folder}/nats.conf", encoding="utf-8") as file:
            conf = "".join(line for line in file if not line.startswith("http:"))
        with open(f"{folder}/nats.conf", "w", encoding="utf-8") as file:
            file.write(conf)
        os.mkdir(f"{folder}/rules")
        for name, text in RULES.items():
            with open(f"{folder}/rules/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        with open(f"{folder}/master.yaml", "w", encoding="utf-8") as file:
            json.dump({"nats_url": self.url, "auth_dir": self.auth, "health_addr": f"127.0.0.1:{self.health}",
                       "enroll": {"addr": f"127.0.0.1:{free_port()}"},
                       "reactor": {"dir": f"{folder}/rules", "source_rate_limit": 0, "storm_rate": 0}}, file)
        self.begin([server, "-c", f"{folder}/nats.conf"], "nats.log")
        self.begin([bench.program("zester-master"), "--config", f"{folder}/master.yaml"], "master.log")
        self.wait_for(lambda: "rules=21" in self.log())

    def begin(self, command, name):
        with open(f"{self.folder}/{name}", "wb") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def log(self):
        with contextlib.suppress(FileNotFoundError), open(f"{self.folder}/master.log", encoding="utf-8", errors="replace") as file:
            return file.read()
        return ""

    def wait_for(self, condition):
        deadline = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                raise Failure(f"the master does not begin\n{self.log()[-2000:]}")
            time.sleep(0.05)

    def latencies(self):
        """Seconds from an event to its line in the log, of all so far."""
        found = []
        for line in self.log().splitlines():
            record = json.loads(line) if '"msg":"t=' in line else None
            if record:
                whole, _, fraction = record["ts"].rstrip("Z").partition(".")
                at = int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp()) * 10**9 + int(fraction.ljust(9, "0"))
                found.append((at - int(record["msg"].split()[0][2:])) / 1e9)
        return found

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def percentile(values, share):
    return Sample(sorted(values)[min(int(len(values) * share), len(values) - 1)], 0, 0, 1)


def latency_lines(bus, driver):
    command = [driver, "floor-pace", bus.url, bus.auth, str(PACED)]
    floor = [int(line) / 1e9 for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()]
    before = len(bus.latencies())
    subprocess.run([driver, "reactor-pace", bus.url, bus.auth, str(PACED), "log"], check=True)
    ours = bus.latencies()[before:]
    if len(ours) != PACED:
        raise Failure(f"{len(ours)} of {PACED} events were reacted to")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        yield Line(f"latency {name} at 1,000/s", percentile(ours, share), "bare handler", percentile(floor, share), "2x")


def lines(bench):
    server = bench.peer("nats-server") or bench.peer("/usr/sbin/nats-server")
    if not server:
        raise Failure("nats-server is not installed")
    driver = bench.driver("reactor")
    folder = tempfile.mkdtemp(prefix="zester-bench-reactor.")
    bus = None
    try:
        bus = Bus(bench, server, folder)
        jobs = [Job([driver, "reactor", bus.url, bus.auth, str(COUNT), "nobody"]), Job([driver, "reactor", bus.url, bus.auth, str(COUNT), "log"]),
                Job([driver, "floor", bus.url, bus.auth, str(COUNT)])]
        unmatched, logged, floor = bench.together(jobs, RUNS)
        yield Line(f"no match {COUNT:,}", unmatched, "bare loop", floor, "1.43x")
        yield Line(f"log {COUNT:,}", logged, "bare loop", floor, "1.43x")
        yield from latency_lines(bus, driver)
    finally:
        if bus:
            bus.stop()
        shutil.rmtree(folder, ignore_errors=True)
