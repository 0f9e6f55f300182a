"""Templates: a 200-line state file with loops, macros and filters, against Jinja2 in the same run"""
import json
import os
import statistics
import subprocess
import tempfile
import time

import jinja2

from frame import Failure, Line, Sample

TEMPLATE = "bench/data/state.zy"
RENDERS, PARSES, ROUNDS = 1000, 100, 5


def context():
    users = [{"name": f"user{i}", "service": f"svc{i % 8 + 1}", "groups": ["admin"] if i % 10 == 0 else ["staff", f"g{i % 3}"]}
             for i in range(40)]
    for user in users[::3]:
        user["fullname"] = user["name"].upper() + " Person"
    services = {f"svc{i}": {"name": f"daemon{i}", "port": 8000 + i, "packages": [f"Lib{c}" for c in "zyxabc"]} for i in range(1, 9)}
    return {"settings": {"users": users, "services": services}, "facts": {"os": {"family": "debian"}}}


def ours(bench, context_file, count, *words):
    run = subprocess.run([bench.driver("jinja"), TEMPLATE, context_file, str(count), *words], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failure(run.stderr)
    seconds, size = run.stdout.split()
    return float(seconds), int(size)


def theirs(values, count, parse):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    with open(TEMPLATE) as f:
        text = f.read()
    template = environment.from_string(text)
    size = len(template.render(**values).encode())
    start = time.perf_counter()
    for _ in range(count):
        if parse:
            template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(text)
        template.render(**values)
    return (time.perf_counter() - start) / count, size


def pair(bench, what, values, context_file, count, parse):
    samples = [], []
    for _ in range(ROUNDS):  # side by side, so that both see the same machine
        mine, size = ours(bench, context_file, count, *(["parse"] if parse else []))
        other, want = theirs(values, max(count // 10, 10), parse)
        if size != want:
            raise Failure(f"{what}: {size} bytes, Jinja2 makes {want}")
        samples[0].append(mine)
        samples[1].append(other)
    us, them = (Sample(statistics.median(s), statistics.median(s), 0, ROUNDS) for s in samples)
    return Line(what, us, "jinja2", them)


def lines(bench):
    values = context()
    with tempfile.TemporaryDirectory() as folder:
        context_file = os.path.join(folder, "context.json")
        with open(context_file, "w") as f:
            json.dump(values, f)
        yield pair(bench, "render, compiled once", values, context_file, RENDERS, False)
        yield pair(bench, "parse and render", values, context_file, PARSES, True)
