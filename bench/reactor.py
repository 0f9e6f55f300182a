"""Reactor: events through a master, against a bare loop that publishes, pulls and acknowledges with the same parameters

Rates are to be at least 0.7 of the bare loop's, that is a ratio of at most 1.43; latencies at 1,000 events a second at most twice
those of a bare handler. Everything is over TLS with credentials; the latency of a reaction ends with its line in the master's log. Events of a peel come from
the account of peels.
"""
import datetime
import json
import subprocess

from box import Box
from frame import Failure, Job, Line, Sample

COUNT = 20_000
PACED = 5_000  # five seconds at 1,000 a second
RUNS = 5
PEEL = "peel-000000"
RULES = {
    "top.zy": "reactor:\n" + "".join(f"  - 'web-{n}*/deploy/*': [reactor.log]\n" for n in range(20)) + "  - '_admin/log': [reactor.log]\n  - 'peel-*/log': [reactor.log]\n",
    "log.zy": "line:\n  log: \"t={{ data.t }}\"\n",
}


def latencies(box):
    """Seconds from an event to its line in the log of the master, of all so far."""
    found = []
    for line in box.log("master").splitlines():
        record = json.loads(line) if '"msg":"t=' in line else None
        if record:
            whole, _, fraction = record["ts"].rstrip("Z").partition(".")
            at = int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp()) * 10**9 + int(fraction.ljust(9, "0"))
            found.append((at - int(record["msg"].split()[0][2:])) / 1e9)
    return found


def percentile(values, share):
    return Sample(sorted(values)[min(int(len(values) * share), len(values) - 1)], 0, 0, 1)


def as_peel(bench, box):
    """Words for a driver that sends as a peel."""
    folder = f"{box.auth}/peels"
    subprocess.run([bench.driver("fleet"), "identities", box.auth, folder, "peel", "0", "1"], check=True)
    return [PEEL, f"peels/{PEEL}/auth/{PEEL}.creds"]


def latency_lines(box, driver, peel):
    command = [driver, "floor-pace", box.url, box.auth, str(PACED)]
    floor = [int(line) / 1e9 for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()]
    for who, words in (("", []), (" of a peel", peel)):
        before = len(latencies(box))
        subprocess.run([driver, "reactor-pace", box.url, box.auth, str(PACED), "log", *words], check=True)
        ours = latencies(box)[before:]
        if len(ours) != PACED:
            raise Failure(f"{len(ours)} of {PACED} events were reacted to")
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            yield Line(f"latency {name}{who} at 1,000/s", percentile(ours, share), "bare handler", percentile(floor, share), "2x")


def start(box):
    box.start_server()
    for name, text in RULES.items():
        box.write(f"rules/{name}", text)
    box.start_master(reactor={"dir": f"{box.folder}/rules", "source_rate_limit": 0, "storm_rate": 0})
    box.wait_for(lambda: "rules=22" in box.log("master"), "the master has its rules")


def lines(bench):
    driver = bench.driver("reactor")
    with Box(bench, "reactor") as box:
        start(box)
        peel = as_peel(bench, box)
        jobs = [Job([driver, "reactor", box.url, box.auth, str(COUNT), *words]) for words in (["nobody"], ["log"], ["log", *peel])]
        unmatched, logged, sent, floor = bench.together([*jobs, Job([driver, "floor", box.url, box.auth, str(COUNT)])], RUNS)
        for name, sample in (("no match", unmatched), ("log", logged), ("log of a peel", sent)):
            yield Line(f"{name} {COUNT:,}", sample, "bare loop", floor, "1.43x")
        yield from latency_lines(box, driver, peel)
