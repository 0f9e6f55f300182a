"""One run is enough, or it says that it was not: packages, archives, checkouts and commands that bring files, and states that
remove or edit what is there, in random trees and orders.

    ZESTER_CASES=N pytest tests/e2e/states/test_convergence.py      N random trees; 24 in `make test`
    ZESTER_SEED=N pytest tests/e2e/states/test_convergence.py       that tree alone
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
import yaml

from machine import PROGRAM

CASES = int(os.environ.get("ZESTER_CASES", "24"))
NAMES = ["main.conf", "default", "extra"]
TEXT = "alpha\nbeta\n"
RPM = """#!/bin/sh
[ "$1" = -qa ] || exit 0
cd WORK/db && for name in *; do [ ! -e "$name" ] || printf '%s\\t1.0-1\\tnoarch\\n' "$name"; done
"""
DNF = """#!/bin/sh
verb= names=
for word; do
    case $word in
    -*) ;;
    *) if [ -z "$verb" ]; then verb=$word; else names="$names ${word%-1.0-1}"; fi ;;
    esac
done
case $verb in
list)
    echo Available Packages
    for name in $names; do echo "$name.noarch 1.0-1 repo"; done ;;
install)
    for name in $names; do
        mkdir -p ROOT/"$name" && cp WORK/files/* ROOT/"$name"/ && : > WORK/db/"$name"
    done ;;
esac
"""


class Tree:
    """A machine in a folder, whose package manager brings three files below root/NAME."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.root, self.work = self.folder / "root", self.folder / "work"
        for name in ("root", "states", "settings", "work/bin", "work/db", "work/files"):
            (self.folder / name).mkdir(parents=True)
        self.write("settings/top.zy", "base: {'*': [all]}\n")
        self.write("settings/all.zy", "providers: {pkg: dnf}\ntoken: !secret s3cret-token\n")
        for name in NAMES:
            self.write(f"work/files/{name}", TEXT)
        for name, text in (("rpm", RPM), ("dnf", DNF)):
            self.write(f"work/bin/{name}", text.replace("WORK", str(self.work)).replace("ROOT", str(self.root)))
            (self.work / "bin" / name).chmod(0o755)
        subprocess.run(["tar", "-C", self.work / "files", "-czf", self.folder / "states/a.tgz", "."], check=True)
        self.env = {**os.environ, "PATH": f"{self.work}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def states(self, text, kind="zy"):
        for old in (self.folder / "states").glob("work.*"):
            old.unlink()
        self.write(f"states/work.{kind}", text.replace("ROOT", str(self.root)).replace("WORK", str(self.work)))

    def command(self, *words):
        return [str(PROGRAM), "--local", "--states-dir", str(self.folder / "states"), "--settings-dir", str(self.folder / "settings"),
                "--data-dir", str(self.folder / "data"), *map(str, words)]

    def run(self, *words, status=0):
        result = subprocess.run(self.command(*words), text=True, capture_output=True, check=False, env=self.env, timeout=120)
        assert status is None or result.returncode == status, result.stdout + result.stderr
        return result.stdout

    def apply(self, *words, status=0):
        return json.loads(self.run("state.apply", "work", "--format", "json", *words, status=status))[0]

    def drift(self):
        self.run("report", "--format", "json", "--out", self.folder / "report.json")
        with open(self.folder / "report.json", encoding="utf-8") as file:
            return json.load(file)["machines"][0]


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    return Tree(tmp_path)


def changed(record):
    return {state["name"] for state in record["results"] if state["changed"]}


def again(record):
    return {state["name"] for state in record["results"] if "would_change_again" in state}


def acted(record):
    """What changed, or failed instead."""
    return changed(record) | {state["name"] for state in record["results"] if "error" in state}


# --- random trees -----------------------------------------------------------------------------------------------------

def make_bringers(chance):
    """ID -> (declaration, folder, the names below it)."""
    kinds = {
        "package": lambda id: ({"pkg.installed": []}, NAMES),
        "archive": lambda id: ({"archive.extracted": [{"name": f"ROOT/{id}"}, {"source": "salt://a.tgz"}]}, NAMES),
        "tree": lambda id: ({"file.recurse": [{"name": f"ROOT/{id}"}, {"source": "WORK/files"}]}, NAMES),
        "command": lambda id: ({"cmd.run": [{"name": f"mkdir -p ROOT/{id} && cp WORK/files/* ROOT/{id}/"}, {"creates": f"ROOT/{id}/main.conf"}]}, NAMES),
        "checkout": lambda id: ({"git.latest": [{"name": "file://WORK/repo"}, {"target": f"ROOT/{id}"}]}, NAMES),
    }
    weights = [5, 4, 2, 3, 1 if shutil.which("git") else 0]
    found = {}
    for number in range(chance.randint(1, 3)):
        kind = chance.choices(list(kinds), weights)[0]
        found[f"{kind}{number}"] = kinds[kind](f"{kind}{number}")
    return found


def make_edit(chance, path):
    return chance.choice([
        {"file.absent": [{"name": path}]},
        {"file.absent": [{"name": path}]},
        {"file.replace": [{"name": path}, {"pattern": "alpha"}, {"repl": "gamma"}, {"ignore_if_missing": True}]},
        {"file.append": [{"name": path}, {"text": "delta"}, {"makedirs": True}]},
        {"file.managed": [{"name": path}, {"contents": "whole"}, {"makedirs": True}]},
        {"file.symlink": [{"name": path}, {"target": "elsewhere"}, {"force": True}, {"makedirs": True}]},
        {"file.directory": [{"name": path.rsplit("/", 1)[0]}, {"clean": True}]},
    ])


def make_states(seed):
    """A tree of states as a list, in the order in which they are written."""
    chance = random.Random(seed)
    bringers = make_bringers(chance)
    states = [(id, body) for id, (body, _) in bringers.items()]
    paths = [f"ROOT/{id}/{name}" for id, (_, names) in bringers.items() for name in names + ["local"]]
    chance.shuffle(paths)
    for number, path in enumerate(paths[:chance.randint(1, 4)]):
        body = make_edit(chance, path)
        if chance.random() < 0.3:
            (arguments,) = body.values()
            first = chance.choice(list(bringers))
            (module,) = bringers[first][0]
            if chance.random() < 0.5:
                arguments.append({"require": [{module: first}]})
            else:
                arguments.append({"require_in": [{module: first}]})
        states.append((f"edit{number}", body))
    chance.shuffle(states)
    return states, "sls" if chance.random() < 0.4 else "zy"


def play(seed):
    """What is wrong with the runs of a random tree, or None."""
    states, kind = make_states(seed)
    text = "".join(yaml.safe_dump({id: body}, sort_keys=False, width=1000) for id, body in states)
    with tempfile.TemporaryDirectory(prefix="zester-converge-") as folder:
        tree = Tree(folder)
        if "git.latest" in text:
            subprocess.run("git init -q repo && cp files/* repo/ && cd repo && git add . && git -c user.name=x -c user.email=x@y commit -qm x",
                           shell=True, cwd=tree.work, check=True, env=tree.env)
        tree.states(text, kind)
        first = tree.apply(status=None)
        if first["status"] != "success":
            return None if "converged" not in first else f"seed {seed}: a failed run says that it has looked\n{text}"
        dry = tree.apply("--test", status=None)
        drift = tree.drift()
        second = tree.apply(status=None)
    # a folder with `clean` may remove first what another state would remove
    removed_first = {name for name in again(first) if name.startswith(("file.absent:", "file.directory:")) and "clean: true" in text}
    told = again(first)
    expected = {state["name"] for state in dry["results"] if state["changed"]}
    wrong = (f"it says that {told} would change again, a dry run says {expected}" if told != expected
             else f"converged is {first['converged']}" if first["converged"] != (not told)
             else f"the second run did not change {told - acted(second)}" if not told <= acted(second) | removed_first
             else f"the second run changed {changed(second)}" if not told and changed(second)
             else f"drift is {drift['drift']}" if drift["drift"] != ("drifted" if told else "none") else None)
    return wrong and f"seed {seed}: {wrong}\n--- {kind}\n{text}"


def test_a_second_run_changes_nothing_or_the_first_has_named_the_states_that_it_changes():
    seeds = [int(os.environ["ZESTER_SEED"])] if "ZESTER_SEED" in os.environ else range(1, CASES + 1)
    wrong = [found for found in map(play, seeds) if found]
    assert not wrong, "\n\n".join(wrong[:5])


# --- words ------------------------------------------------------------------------------------------------------------

SITE = """
nginx: {pkg.installed: []}
default site: {file.absent: [{name: ROOT/nginx/default}]}
"""
LATE = """
early: {file.absent: [{name: ROOT/late}]}
late:
  cmd.run:
    - name: touch ROOT/late
    - require: [{file: early}]
"""


def test_a_file_of_a_package_is_removed_by_the_run_that_installs_the_package(tree):
    tree.states(SITE)
    record = tree.apply()
    assert record["converged"] and changed(record) == {"pkg.installed:nginx", "file.absent:default site"}
    assert not (tree.root / "nginx/default").exists() and (tree.root / "nginx/main.conf").exists()
    assert changed(tree.apply()) == set()


def test_a_run_that_has_not_converged_says_which_states_would_change_again_and_why(tree):
    tree.states(LATE)
    text = tree.run("state.apply", "work")
    assert f"not converged file.absent:early\n    {tree.root}/late exists and should be absent\n" in text
    assert "2 states: 1 changed, 0 failed, 0 skipped, 1 unchanged; not converged: 1 would change again; took" in text
    record = tree.apply()
    assert record["success"] and record["converged"] is False and record["summary"]["would_change_again"] == 1
    last = yaml.safe_load(tree.run("state.last"))
    assert last["run"]["would_change_again"] == 1 and last["run"]["differs"] == ["file.absent:early"] and "converged" not in last["run"]
    assert last["states"][0]["would_change_again"] == f"{tree.root}/late exists and should be absent"
    machine = tree.drift()
    assert machine["drift"] == "drifted" and machine["drift_text"] == "1 would change again: file.absent:early"


def test_a_dry_run_a_failed_run_and_one_without_changes_have_no_look(tree):
    tree.states(LATE)
    assert "converged" not in tree.apply("--test")
    tree.states(LATE + "wrong: {cmd.run: [{name: 'false'}]}\n")
    assert "converged" not in tree.apply(status=2)
    assert tree.drift()["drift"] == "failed"
    tree.states("same: {file.absent: [{name: ROOT/none}]}\n")
    assert tree.apply()["converged"] is True
    assert tree.drift()["drift"] == "none"


def test_the_look_runs_no_commands_and_no_guards(tree):
    tree.states("""
guarded: {file.absent: [{name: ROOT/a, onlyif: 'echo x >> ROOT/guards'}]}
always: {cmd.run: [{name: 'echo x >> ROOT/runs; touch ROOT/a'}]}
last: {cmd.run: [{name: 'true', order: last, require: [{cmd: always}]}]}
""")
    assert tree.apply()["converged"] is True
    assert (tree.root / "guards").read_text() == "x\n" and (tree.root / "runs").read_text() == "x\n"


def test_what_the_look_says_hides_secrets(tree):
    tree.states("""
conf: {file.managed: [{name: ROOT/conf, contents: "{{ pillar['token'] }}"}]}
other: {cmd.run: [{name: "echo changed s3cret-token >> ROOT/conf", require: [{file: conf}]}]}
""")
    record = tree.apply()
    assert again(record) == {"file.managed:conf"} and "s3cret" not in json.dumps(record)
    assert "s3cret" not in tree.run("state.last")


def test_a_change_by_a_single_state_or_a_revert_or_a_killed_run_makes_the_drift_unknown(tree):
    tree.states("conf: {file.managed: [{name: ROOT/conf, contents: x}]}\n")
    tree.apply()
    assert tree.drift()["drift_text"] == "none"
    tree.run("file.absent", tree.root / "conf")
    assert tree.drift()["drift_text"] == "unknown: changed since the last run"
    tree.apply()
    assert tree.drift()["drift"] == "none"
    tree.run("state.revert", "work")
    assert tree.drift()["drift"] == "unknown"
    tree.apply("--test")
    assert tree.drift()["drift_text"] == "1 differs: file.managed:conf"
    tree.states("conf: {file.managed: [{name: ROOT/conf, contents: x}]}\n"
                "wait: {cmd.run: [{name: 'touch ROOT/ready; exec sleep 60', require: [{file: conf}]}]}\n")
    tree.apply("--test")
    with subprocess.Popen(tree.command("state.apply", "work"), env=tree.env, stdout=subprocess.DEVNULL) as process:
        while not (tree.root / "ready").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    tree.states("conf: {file.managed: [{name: ROOT/conf, contents: x}]}\n")
    assert tree.drift()["last_run"]["stale"]
    tree.apply()
    assert tree.drift()["drift"] == "none"
