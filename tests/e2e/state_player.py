"""Plays a case of tests/e2e/state_maker.py with the real program, and compares each step with the model.

A case is a machine, a tree and a list of steps: {do: apply | planned | test | revert | edit | drop | flag | meddle, ...}. `apply` and
`revert` may have `how`, an interruption: {strike: ID, signal: TERM or KILL} (the command of that state sends it to the program),
{timeout: SECONDS}, {kill: N} or {full: N} (at the Nth system call that changes the file system).
"""
import collections
import ctypes
import errno
import json
import os
import pwd
import re
import shutil
import stat
import subprocess

import yaml

from state_model import ACTS, CHANGED, FAILED, SKIPPED, UNCHANGED, REACTS, Failure, Run, Verdict, World, expand, in_order, mode_of_parent

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
INJECT = os.path.abspath(os.path.join(BUILD, "tests/faults/inject"))
SECONDS = 120
SECRET = "s3cret-of-the-case"
TOKEN = "{{ pillar['token'] }}"
DRAFT = re.compile(r"\.zester-[0-9a-f]{16}")
PR_SET_CHILD_SUBREAPER = 36
PLAIN = ("text", "target", "mode", "user", "makedirs", "order", "failhard", "test", "parallel", "onfail_stop")
PACKAGES = ["p0", "p1", "p2", "p3", "broken"]  # what the repository has

# dnf and rpm of the case: packages are files of a folder. `broken` is there and cannot be installed.
RPM = """#!/bin/sh
[ "$1" = -qa ] || exit 0
cd DB && for name in *; do [ ! -e "$name" ] || printf '%s\\t1.0-1\\tnoarch\\n' "$name"; done
"""
DNF = """#!/bin/sh
verb= names= parent=$PPID
for word; do
    case $word in
    -*) ;;
    *) if [ -z "$verb" ]; then verb=$word; else names="$names ${word%-1.0-1}"; fi ;;
    esac
done
case $verb in
list)
    echo Available Packages
    for name in $names; do case " PACKAGES " in *" $name "*) echo "$name.noarch 1.0-1 repo" ;; esac; done ;;
install)
    for name in $names; do
        case " PACKAGES " in *" $name "*) ;; *) echo "no package $name" >&2; exit 1 ;; esac
        if [ "$name" = broken ]; then echo "broken fails" >&2; exit 1; fi
    done
    if [ -e WORK/strike-install ]; then . WORK/strike-install; fi
    for name in $names; do : > DB/"$name"; done
    if [ -e WORK/strike-installed ]; then . WORK/strike-installed; fi ;;
remove) for name in $names; do rm -f DB/"$name"; done ;;
esac
exit 0
"""


# The command of a state: writes its line, does what is asked of it while it runs (a strike), and ends as it should.
STEP = """#!/bin/sh
parent=$1 tag=$2 status=0
shift 2
echo "$tag" >> WORK/log
if [ -e WORK/strike-"$tag" ]; then . WORK/strike-"$tag"; fi
while [ $# -gt 0 ]; do
    case $1 in
    fail) status=3 ;;
    fails) shift; [ "$(grep -cx "$tag" WORK/log)" -gt "$1" ] || status=3 ;;
    makes) : > WORK/made-"$tag" ;;
    says) shift; echo "said $1" ;;
    esac
    shift
done
exit $status
"""


class Wrong(AssertionError):
    """The program did something else than the model says."""


def check(condition, *words):
    if not condition:
        raise Wrong(" ".join(map(str, words)))


# --- a tree as a file ------------------------------------------------------------------------------------

class Place:
    """The folder of a case."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.root, self.work, self.data = (os.path.join(self.folder, name) for name in ("root", "work", "data"))
        self.log = os.path.join(self.work, "log")

    def command(self, decl, tag):
        """A call of STEP."""
        end = "fail" if decl.get("does") == "fail" else f"fails {decl['fails']}" if decl.get("fails") else "ok"
        words = ["$PPID", tag, end] + ["makes"] * bool(decl.get("makes")) + ["says", TOKEN] * bool(decl.get("secret"))
        return f"{self.work}/step {' '.join(words)}"

    def guard(self, guard):
        name = f"work/flag-{guard['flag']}" if "flag" in guard else f"root/{guard['path']}"
        return f"test -e {self.folder}/{name}"

    def name(self, decl, item):
        """The full name of a state."""
        if item is None:
            return f"{decl['module']}:{decl['id']}"
        if decl["module"] == "cmd.run":
            return f"cmd.run:{self.command(decl, decl['names'][item])}".replace(TOKEN, "********")
        return f"{decl['module']}:{self.root}/{decl['names'][item]}"

    def arguments(self, decl):
        """What the module is told, as a list of maps."""
        module, body = decl["module"], []
        names = decl.get("names")
        if names:
            body.append({"names": [self.command(decl, name) if module == "cmd.run" else f"{self.root}/{name}" for name in names]})
        elif module == "cmd.run":
            body.append({"name": self.command(decl, decl["id"])})
        elif module.startswith("pkg."):
            body.append({"pkgs": decl["packages"]} if len(decl["packages"]) > 1 else {"name": decl["packages"][0]})
        else:
            body.append({"name": f"{self.root}/{decl['path']}"})
        if "contents" in decl:
            body.append({"contents": decl["contents"].replace(SECRET, TOKEN)})
        body += [{key: decl[key]} for key in PLAIN if key in decl]
        if module == "file.symlink":
            body.append({"force": True})
        return body + self.attributes(decl)

    def attributes(self, decl):
        body = []
        if decl.get("makes"):
            body.append({"creates": f"{self.work}/made-{decl['id']}"})
        if "retry" in decl:
            body.append({"retry": {"attempts": decl["retry"], "interval": 0}})
        if "check_fails" in decl:
            tag = decl["id"] + ".check"
            # file.managed adds the path of the new content, before it is in place
            body.append({"check_cmd": f"{self.work}/step $PPID {tag} fails {decl['check_fails']}"})
        for word in ("onlyif", "unless"):
            if word in decl:
                body.append({word: [self.guard(guard) for guard in decl[word]]})
        return body

    def text(self, tree):
        """The .zy file of a tree."""
        modules = {decl["id"]: decl["module"] for decl in tree}
        states = {}
        for decl in tree:
            body = self.arguments(decl)
            for word, targets in decl.get("requisites", {}).items():
                body.append({word: [write_target(modules[target], target, index) for index, target in enumerate(targets)]})
            states[decl["id"]] = {decl["module"]: body}
        return yaml.safe_dump(states, sort_keys=False, width=1000)


def write_target(module, name, index):
    """The ways to name a state take turns."""
    family = module.split(".")[0]
    return [{family: name}, {module: name}, name][(index + int(name[1:])) % 3]


# --- the machine --------------------------------------------------------------------------------------

def adopt_orphans():
    """Commands that a killed program leaves become children of this process, which can wait for them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_orphans():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def describe(path):
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        return ("link", os.readlink(path))
    mode, owner = f"{stat.S_IMODE(info.st_mode):04o}", pwd.getpwuid(info.st_uid).pw_name
    if stat.S_ISDIR(info.st_mode):
        return ("folder", mode, owner)
    with open(path, encoding="utf-8") as file:
        return ("file", file.read(), mode, owner)


ALL = ("--all", "--yes")  # every run, not the last one alone


class Player:
    """A machine in a folder of its own, the model of it, and what both have done so far."""

    def __init__(self, case, folder):
        self.case, self.place = case, Place(folder)
        self.tree = [dict(decl) for decl in case["tree"]]
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.owed = {}
        self.outputs = []
        self.make()
        self.world = World(self.look(), self.installed(), case["flags"], self.user)
        self.first = self.world.copy()  # what a revert of all runs gives back
        self.groups = self.look_at_groups()  # which the model knows nothing of: they come back as well
        self.last = None  # (run id, world before it) of the newest run that changed something
        self.meddled = {}  # path -> what somebody else has made of a file that states manage

    # --- the folder -------------------------------------------------------------------------------

    def make(self):
        place = self.place
        for name in ("states", "settings", "work/bin", "work/db", "root"):
            os.makedirs(os.path.join(place.folder, name))
        self.write("settings/top.zy", "base: {'*': [all]}\n")
        self.write("settings/all.zy", f"token: !secret {SECRET}\nproviders: {{pkg: dnf}}\n")
        for name, text in (("bin/rpm", RPM), ("bin/dnf", DNF), ("step", STEP)):
            text = text.replace("DB", place.work + "/db").replace("PACKAGES", " ".join(PACKAGES)).replace("WORK", place.work)
            self.write("work/" + name, text)
            os.chmod(f"{place.work}/{name}", 0o755)
        self.write("work/log", "")
        for name in self.case["packages"]:
            self.write(f"work/db/{name}", "")
        for name in self.case["flags"]:
            self.write(f"work/flag-{name}", "")
        for path, what in self.case["paths"].items():
            self.put(path, what)

    def put(self, path, what):
        full = os.path.join(self.place.root, path)
        if what[0] == "folder":
            os.mkdir(full)
        elif what[0] == "link":
            os.symlink(what[1], full)
            return
        else:
            self.write("root/" + path, what[1])
        if what[-2]:
            shutil.chown(full, what[-2])
        os.chmod(full, int(what[-1], 8))

    def write(self, name, text):
        with open(os.path.join(self.place.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def look(self):
        """Everything below the root, but drafts of killed runs."""
        found = {}
        for folder, folders, files in os.walk(self.place.root):
            folders[:] = [name for name in folders if not DRAFT.fullmatch(name)]
            for name in folders + files:
                path = os.path.join(folder, name)
                if not DRAFT.fullmatch(name):
                    found[os.path.relpath(path, self.place.root)] = describe(path)
        return found

    def look_at_groups(self):
        return {path: os.lstat(os.path.join(self.place.root, path)).st_gid for path in self.look()}

    def installed(self):
        return set(os.listdir(self.place.work + "/db"))

    def lines(self):
        with open(self.place.log, encoding="utf-8") as file:
            return file.read().split("\n")[:-1]

    # --- the program ------------------------------------------------------------------------------

    def call(self, *words, before=()):
        place = self.place
        command = [*before, ZESTER, "--local", "--states-dir", place.folder + "/states", "--settings-dir", place.folder + "/settings",
                   "--data-dir", place.data, *words]
        env = {**os.environ, "PATH": f"{place.work}/bin:{os.environ['PATH']}"}
        result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=env, check=False)
        wait_for_orphans()
        self.outputs.append(f"$ {' '.join(words)}\n{result.stdout}{result.stderr}")
        for bad in ("Sanitizer", "runtime error:"):
            check(bad not in result.stderr, "the program crashed:", result.stderr)
        check(SECRET not in result.stdout + result.stderr, "the secret is in the output")
        return result

    def debts(self):
        """What `state.owed` lists: state -> sources."""
        result = self.call("state.owed", "--format", "json")
        check(result.returncode == 0, "state.owed failed:", result.stderr)
        found = collections.defaultdict(set)
        for debt in json.loads(result.stdout):
            found[debt["state"]].add(debt["source"])
        return dict(found)

    def scan_secret(self):
        """Outside of the copies that a revert needs, which only the owner can read."""
        for folder, _, files in os.walk(self.place.data):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    if SECRET.encode() in file.read():
                        check("/undo/" in path, "the secret is in", path)
                        check(os.stat(path).st_mode & 0o077 == 0, "others may read", path)

    # --- steps --------------------------------------------------------------------------------------

    def play(self):
        for number, step in enumerate(self.case["steps"]):
            try:
                getattr(self, "do_" + step["do"])(step)
                self.scan_secret()
            except Wrong as wrong:
                raise Wrong(f"step {number + 1}, {json.dumps(step)}: {wrong}") from None

    def do_edit(self, step):
        for decl in self.tree:
            if decl["id"] == step["id"]:
                decl.update(step["set"])

    def do_drop(self, step):
        """The state is gone, and so is what others said about it."""
        self.tree = [decl for decl in self.tree if decl["id"] != step["id"]] or self.tree  # a run has states
        for decl in self.tree:
            left = {word: [name for name in names if name != step["id"]] for word, names in decl.get("requisites", {}).items()}
            decl["requisites"] = {word: names for word, names in left.items() if names}

    def do_flag(self, step):
        path = f"{self.place.work}/flag-{step['name']}"
        self.world.flags ^= {step["name"]}
        if os.path.exists(path):
            os.unlink(path)
        else:
            self.write(f"work/flag-{step['name']}", "")

    def do_meddle(self, step):
        """Somebody else writes to a file."""
        path = step["path"]
        if self.world.paths.get(path, ("",))[0] == "file":
            self.write("root/" + path, step["text"])
            self.world.paths[path] = self.meddled[path] = ("file", step["text"], *self.world.paths[path][2:])

    def states(self):
        self.write("states/t.zy", self.place.text(self.tree))
        return expand(self.tree, self.place.name)

    def do_test(self, _step):
        states = self.states()
        before, lines = self.look(), self.lines()
        run = Run(states, self.world.copy(), self.owed, test=True)
        result = self.call("state.apply", "t", "--test", "--format", "json")
        self.compare(run, self.read(result))
        check((self.look(), self.installed(), self.lines()) == (before, self.world.packages, lines), "a dry run changed something")
        check(self.debts() == self.owed, "a dry run changed what is owed")

    def do_planned(self, _step):
        """A dry run that is stored, and a run that is held to it."""
        states = self.states()
        run = Run(states, self.world.copy(), self.owed, test=True)
        result = self.call("state.apply", "t", "--test", "--format", "json")
        record = self.read(result)
        self.compare(run, record)
        self.write("plan", result.stdout)
        plan = {item["name"] for item in record["results"] if outcome_of(item)[0] == CHANGED}
        run, before, start = Run(states, self.world.copy(), self.owed, plan=plan), self.world.copy(), len(self.lines())
        run.world.lines = collections.Counter(self.lines())
        result = self.call("state.apply", "t", "--format", "json", "--plan", os.path.join(self.place.folder, "plan"))
        self.settle(run, result, self.lines()[start:], None)
        self.remember(result, before)

    def do_apply(self, step):
        states = self.states()
        how = step.get("how") or {}
        run = Run(states, self.world.copy(), self.owed)
        run.world.lines = collections.Counter(self.lines())
        before = self.world.copy()
        start = len(self.lines())
        with_how, words = self.prepare(how)
        words += ["--revert-on-failure"] * bool(step.get("back"))
        result = self.call("state.apply", "t", "--format", "json", *words, before=with_how)
        self.clear_strikes()
        if how:
            self.settle_interrupted(run, result, before, how, self.lines()[start:])
        else:
            self.settle(run, result, self.lines()[start:], before if step.get("back") else None)
        self.remember(result, before)
        if "full" in how:
            self.last = None  # a run of commands alone need not be recorded

    def remember(self, result, before):
        """The newest run that did something; without a report nobody knows its name."""
        if not result.stdout.startswith("["):
            self.last = None
            return
        record = json.loads(result.stdout)[0]
        if any(item["changed"] for item in record["results"]):
            self.last = (record["summary"]["run_id"], before)
        elif any(item.get("error") for item in record["results"]):
            self.last = None  # a full disk may have kept it from being recorded

    def prepare(self, how):
        """(what comes before the program, words for it)."""
        if "kill" in how:
            return [INJECT, "--kill", str(how["kill"]), "--"], []
        if "full" in how:
            return [INJECT, "--full", f"{how['full']}:{errno.ENOSPC}", "--"], []
        if "strike" in how:
            wait = "; exec sleep 60" if how["signal"] == "TERM" else ""
            self.write(f"work/strike-{how['strike']}", f"kill -{how['signal']} $parent{wait}\n")
            return [], []
        if "timeout" in how:
            self.write(f"work/strike-{how['hang']}", "exec sleep 60\n")
            return [], ["--timeout", str(how["timeout"])]
        return [], []

    def clear_strikes(self):
        for name in os.listdir(self.place.work):
            if name.startswith("strike-"):
                os.unlink(os.path.join(self.place.work, name))

    # --- a whole run ----------------------------------------------------------------------------------

    def read(self, result):
        check(result.stdout.startswith("["), "no report:", result.returncode, result.stdout, result.stderr)
        record = json.loads(result.stdout)[0]
        check(record.get("results"), "nothing ran:", result.stdout, result.stderr)
        counted = collections.Counter(outcome_of(item)[0] for item in record["results"])
        for word in (CHANGED, FAILED, SKIPPED):
            check(record["summary"][word] == counted[word], "the summary says", record["summary"], "of", dict(counted))
        check(result.returncode == (0 if record["success"] else 2), "the exit status is", result.returncode)
        return record

    def compare(self, run, record, counts=None, more=None):
        """Each result is one that the model allows. `more(state, seen)` knows verdicts that an interruption adds."""
        states = in_order(run.states)
        check([item["name"] for item in record["results"]] == [state.name for state in states],
              "the order is", [item["name"] for item in record["results"]], "and should be", [state.name for state in states])
        for state, item in zip(states, record["results"]):
            check(item["level"] == state.level, state.name, "is in level", item["level"], "and not", state.level)
            seen = outcome_of(item)
            right = run.verdicts(state)
            fits = [verdict for verdict in right if (verdict.outcome, verdict.reason) == seen
                    and (counts is None or has_count(run, state, verdict, counts))]
            if not fits and more:
                fits = more(state, seen)
            check(fits, state.name, "is", seen, "and should be", right, explain(run, state, right, counts), item.get("error", ""))
            run.accept(state, fits[0])
        check(record["success"] == (run.is_success() and not record["summary"]["canceled"]), "success is", record["success"])

    def settle(self, run, result, lines, back):
        """`back`: the world before a run that is reverted when it fails."""
        counts = collections.Counter(lines)
        record = self.read(result)
        check(not record["summary"].get("canceled"), "the run was canceled")
        self.compare(run, record, counts)
        self.check_barriers(run, lines)
        must, may = run.debts()
        if back and not record["success"]:
            run.world.paths, run.world.packages = dict(back.paths), set(back.packages)
            must, may = set(), must | may
        self.check_world(run.world)
        found = self.debts()
        self.check_debts(found, must, may)
        self.world, self.owed = run.world, found

    def check_debts(self, found, must, may):
        found = pairs(found)
        check(must <= found, "forgotten:", must - found)
        check(found <= must | may, "owed without a reason:", found - must - may)

    def check_barriers(self, run, lines):
        """Nobody begins before the level before has ended."""
        levels = {state.tag: state.level for state in run.states.values()}
        seen = [levels[line.replace(".check", "")] for line in lines]
        check(seen == sorted(seen), "commands of different levels overlap:", lines)

    def check_world(self, world):
        found = self.look()
        for path in sorted(set(found) | set(world.paths)):
            check(found.get(path) == world.paths.get(path), path, "is", found.get(path), "and should be", world.paths.get(path))
        check(self.installed() == world.packages, "installed is", self.installed(), "and should be", world.packages)

    # --- a run that was interrupted ---------------------------------------------------------------------

    def settle_interrupted(self, run, result, before, how, lines):
        """What had ended is exact; what was in flight is before or after; the rest has not begun."""
        if "kill" not in how and how.get("signal") != "KILL":
            check(result.returncode >= 0 and result.returncode < 128, "killed:", result.returncode, result.stderr)
        else:
            check(result.returncode in (0, 2, 137, -9), "status", result.returncode, result.stderr)
        counts = collections.Counter(lines)
        reported = result.stdout.startswith("[") and json.loads(result.stdout)[0].get("results")
        if reported:
            record = json.loads(result.stdout)[0]
            self.compare(run, record, counts, lambda state, seen: self.cut_short(run, state, seen, record, how))
        elif "kill" not in how and how.get("signal") != "KILL":
            check(result.returncode != 0, "no report and status 0")
        self.check_possible(run, before, counts)
        found = self.debts()
        must, may = run.debts() if reported else self.debts_after_kill(run, before, counts)
        may |= {(state.name, source) for state in run.states.values() for source in state.watched()} | pairs(self.owed)
        self.check_debts(found, must, may)
        world = World(self.look(), self.installed(), self.world.flags, self.user)
        world.made = {name[5:] for name in os.listdir(self.place.work) if name.startswith("made-")}
        world.lines = collections.Counter(self.lines())
        self.world, self.owed = world, found

    def cut_short(self, run, state, seen, record, how):
        """Verdicts of a run that was canceled, or whose disk is full."""
        if "full" in how:
            return [Verdict(FAILED, None, run.world, cut=True)] if seen[0] == FAILED else self.after_failure(run, seen)
        check(record["summary"].get("canceled") or record.get("error"), state.name, "is", seen, "in a run that was not canceled")
        if seen == (SKIPPED, ""):
            return [Verdict(SKIPPED, "", run.world)]
        if seen[0] == FAILED:
            check(not any(earlier.reason == "" for name, earlier in run.seen.items() if run.states[name].level < state.level),
                  state.name, "began after the end of the run")
            return [Verdict(FAILED, None, run.world, cut=True)]
        return self.after_failure(run, seen)

    def after_failure(self, run, seen):
        """After something failed half way, the world is not known any more."""
        if any(earlier.cut for earlier in run.seen.values()) and seen[0] in (CHANGED, UNCHANGED, FAILED):
            return [Verdict(seen[0], None, run.world)]
        return []

    def check_possible(self, run, before, counts):
        """Each path is as it was, or as states that touch it make it."""
        possible = {path: {value} for path, value in before.paths.items()}
        for state in in_order(run.states):
            if state.path is None or not state.decl["module"].startswith("file."):
                continue
            for path, value in touched(before, possible, state):
                possible.setdefault(path, {before.paths.get(path)}).add(value)
        found = self.look()
        for path in sorted(set(found) | set(possible)):
            right = possible.get(path, {None})
            check(found.get(path) in right, path, "is", found.get(path), "and should be one of", right)
        for state in run.states.values():
            most = 1 + state.get("retry", 0)
            check(counts[state.tag] <= most, state.tag, "ran", counts[state.tag], "times")

    def debts_after_kill(self, run, before, counts):
        """Who watches something that changed and has certainly not reacted."""
        found, must = self.look(), set()
        paths = collections.Counter(state.path for state in run.states.values())  # who changed what two states touch?
        for state in run.states.values():
            if is_plain(state) and counts[state.tag] == 0:
                sources = [run.states[name] for name in state.watched()]
                must |= {(state.name, source.name) for source in sources
                         if has_changed(source, before, found, counts) and (source.path is None or paths[source.path] == 1)}
        return must, set()

    # --- revert -----------------------------------------------------------------------------------------

    def do_revert(self, step):
        how = step.get("how") or {}
        if how:
            before, words = self.prepare(how)
            self.call("state.revert", "t", *ALL, *words, before=before)
        result = self.call("state.revert", "t", *ALL, "--format", "json")
        if "no run of" in result.stdout:
            self.restart()
            return
        check(result.returncode == 0 or self.meddled, "the revert failed:", result.stdout, result.stderr)
        goal = self.first.copy()
        goal.paths.update(self.keep_meddled())
        self.check_world(goal)
        for path, group in self.look_at_groups().items():
            right = self.groups.get(path, group)
            check(path in self.meddled or group == right, path, "has the group", group, "and should have", right)
        if result.returncode != 0:
            self.insist()
        self.restart()

    def keep_meddled(self):
        """The text stays; a run that has changed the mode or the owner alone gives those back."""
        found = self.look()
        return {path: found[path] if found.get(path, ())[:2] == what[:2] else what for path, what in self.meddled.items()}

    def insist(self):
        """What somebody else has written stayed; with --force it goes, where a run had changed the file before."""
        result = self.call("state.revert", "t", *ALL, "--force", "--format", "json")
        check(result.returncode == 0, "the revert failed with --force:", result.stdout, result.stderr)
        found, goal = self.look(), self.first.copy()
        goal.paths.update((path, found.get(path)) for path, text in self.meddled.items() if found.get(path) == text)
        self.check_world(goal)

    def do_revert_last(self, _step):
        """The newest run alone, by its id."""
        if not self.last or self.meddled:
            return
        run_id, goal = self.last
        result = self.call("state.revert", run_id, "--format", "json")
        check(result.returncode == 0, "the revert failed:", result.stdout, result.stderr)
        goal.lines, goal.made, goal.flags = self.world.lines, self.world.made, self.world.flags
        self.check_world(goal)
        self.world, self.last, self.owed = goal, None, self.debts()

    def restart(self):
        """All runs are reverted: another history begins."""
        fresh = World(self.look(), self.installed(), self.world.flags, self.user)
        fresh.lines, fresh.made = self.world.lines, self.world.made
        self.world, self.first, self.last, self.meddled = fresh, fresh.copy(), None, {}
        self.groups = self.look_at_groups()
        self.owed = self.debts()


def outcome_of(item):
    if item.get("skipped"):
        return (SKIPPED, item.get("skip_reason", ""))
    if item.get("error"):
        return (FAILED, None)
    return (CHANGED if item["changed"] else UNCHANGED, None)


def has_count(run, state, verdict, counts):
    return all(verdict.world.lines[tag] - run.world.lines[tag] == counts[tag] for tag in (state.tag, state.tag + ".check"))


def explain(run, state, right, counts):
    if counts is None:
        return ""
    wanted = [verdict.world.lines[state.tag] - run.world.lines[state.tag] for verdict in right]
    return f"(it ran {counts[state.tag]} times, and should {wanted})"


def touched(before, possible, state):
    """What the state makes of each value that its path may have: (path, value)."""
    parent = state.path.rsplit("/", 1)[0]
    paths = [state.path] + ([parent] if state.get("makedirs") and "/" in state.path else [])
    for value in list(possible.get(state.path, {before.paths.get(state.path)})):
        world = before.copy()
        world.paths.pop(state.path, None)
        if value is not None:
            world.paths[state.path] = value
        if "/" in state.path:
            world.paths.setdefault(parent, ("folder", mode_of_parent(state.get("mode")), state.get("user") or before.user))
        inside = [path for path in world.paths if path.startswith(state.path + "/")]
        try:
            ACTS[state.decl["module"]](world, state)
        except Failure:
            continue
        for path in paths + inside:
            yield path, world.paths.get(path)


def is_plain(state):
    """A command that runs when it should react, whatever else there is."""
    return (state.decl["module"] == "cmd.run" and not any(state.get(key) for key in ("onlyif", "unless", "makes", "test"))
            and not any(state.targets[kind] for kind in ("onfail", "onfail_all", "prereq"))
            and sum(bool(state.targets[kind]) for kind in REACTS) == 1)  # two kinds must agree


def pairs(owed):
    return {(name, source) for name, sources in owed.items() for source in sources}


def has_changed(state, before, found, counts):
    if state.decl["module"] == "cmd.run":
        return counts[state.tag] > 0 and state.get("does") != "fail" and not state.get("fails") and "check_fails" not in state.decl
    return state.path is not None and found.get(state.path) != before.paths.get(state.path)
