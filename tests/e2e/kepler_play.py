"""Plays a case on a real daemon, event by event, beside the model.

A case is the config itself, with the events under the key `x-events`. Its services are `./serve NAME`, which run until the test
says how they end; `./hook`, `./check` and `./serve` write what happens to files beside the config.
"""
import os
import re
import signal
import subprocess
import time

import yaml

from kepler_home import PATIENCE, Home, alive, wait_until
from kepler_model import LOST, UP, Model, split_end, split_event

SCRIPTS = {
    # Ends with the code that it reads; one that is polite writes that it was asked to end.
    "serve": """#!/bin/sh
exec 3<> "$1.word"
[ "$2" ] && trap 'echo "- $1" >> runs; exit 0' TERM
echo "+ $1 $$" >> runs
read code <&3
exit $code
""",
    "hook": """#!/bin/sh
[ $2 = pre_start ] && [ -e $1.broken ] && { echo "$1 $2!" >> steps; exit 1; }
echo "$1 $2" >> steps
while [ $2 = post_exit ] && [ -e $1.held ]; do sleep 0.02; done
""",
    "check": """#!/bin/sh
rm $1.hiccup 2> /dev/null && exit 1
[ ! -e $1.sick ]
""",
}
CHANGE = re.compile(r" info service (\w+) config=(\S+) service=(\S+) was=(\w+) cause=")
# Statuses in which a condition may hold; the model knows more.
ENDS = ("stopped", "exited", "killed", "failed")
MET_BY = {"service_started": UP, "service_healthy": ("healthy",), "service_unhealthy": ("unhealthy",),
          "service_completed_successfully": ENDS[:2], "service_failed": ENDS[1:], "service_stopped": ENDS}
REQUEST = re.compile(r" debug request name=\w+ id=1 pid=(\d+) ")


# As `kepler ps --json` would show a service of a config that was never started.
UNKNOWN = dict(status="stopped", exit_code=None, signal=None, skip_reason=None, fail_reason=None, stop_reason=None)


class Mismatch(Exception):
    pass


def dump_case(case):
    return yaml.safe_dump(case, sort_keys=False, allow_unicode=True, width=150, default_flow_style=None)


class Play:
    """One case. `quiet` is how long nothing happens before a difference counts."""

    def __init__(self, home, case, folder, quiet):
        self.home, self.case, self.quiet = home, case, quiet
        self.model = Model(case)
        self.folder = folder
        self.file = os.path.join(folder, "kepler.yaml")
        self.statuses = dict.fromkeys(case["services"], "stopped")
        self.falls = dict.fromkeys(case["services"], 0)
        self.met = {name: set() for name in case["services"]}  # edges whose condition has held since the service began to wait
        self.early = []     # those that were not waited for
        self.changes = []   # (service, from, to) since the event
        self.requests = set()
        self.log_at = os.path.getsize(home.path("log"))
        self.pending = []   # (command, what the model says of its exit status)
        self.seen = 0       # lines of `runs` before the event
        self.prepare()

    def path(self, name):
        return self.home.path(os.path.join(self.folder, name))

    def prepare(self):
        os.mkdir(self.path(""))
        for name, text in SCRIPTS.items():
            with open(self.path(name), "w") as file:
                file.write(text)
            os.chmod(self.path(name), 0o755)
        for name in self.case["services"]:
            os.mkfifo(self.path(f"{name}.word"))
        self.home.write(dump_case(self.case), self.file)

    # --- what happened ----------------------------------------------------------------------------

    def read_log(self):
        """True when something happened; requests to look do not count."""
        with open(self.home.path("log"), "rb") as file:
            file.seek(self.log_at)
            new = file.read()
        new = new[:new.rfind(b"\n") + 1]
        self.log_at += len(new)
        for line in new.decode(errors="replace").splitlines():
            change, request = CHANGE.search(line), REQUEST.search(line)
            if request:
                self.requests.add(int(request[1]))
            if change and change[2] == self.home.path(self.file):
                self.note_change(change[3], change[4], change[1])
        return b" info " in new or b" warning " in new

    def lines(self, name):
        try:
            with open(self.path(name)) as file:
                return [line.split() for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def runs(self, service):
        return [line[0] for line in self.lines("runs") if line[1] == service]

    def pid(self, service):
        return [int(line[2]) for line in self.lines("runs") if line[:2] == ["+", service]][-1]

    def steps(self, service):
        """A pre_start that is tried again and again counts once."""
        text = " ".join(line[1] for line in self.lines("steps") if line[0] == service)
        return re.sub(r"pre_start!( (pre_restart )?pre_start!)+", "pre_start!", text).split()

    def differences(self):
        """Between the files and the log, and the model: cheap to find."""
        found = []
        for name, service in self.model.services.items():
            for what, want, got in (("status", service.status, self.statuses[name]), ("runs", service.runs, self.runs(name)),
                                    ("hooks", service.steps, self.steps(name)), ("falls", service.falls, self.falls[name])):
                if want != got:
                    found.append(f"{name}: {what}: expected {want}, got {got}")
        return found

    def shown_differences(self):
        """The same with what `kepler ps` shows."""
        found = []
        shown = self.home.services(file=self.file)
        for name, service in self.model.services.items():
            one = shown.get(name, UNKNOWN)
            number = getattr(signal, f"SIG{service.signal}") if service.signal else None
            reason = one["skip_reason"] or one["fail_reason"] or one["stop_reason"]
            for what, want, got in (("status", service.status, one["status"]), ("exit code", service.code, one["exit_code"]),
                                    ("signal", number, one["signal"])):
                if want != got:
                    found.append(f"{name}: {what}: expected {want}, got {got}")
            reasons = {LOST} if service.lost else service.reasons or {None}
            if reason not in reasons:
                found.append(f"{name}: reason: expected {' or '.join(map(str, sorted(reasons, key=str)))}, got {reason}")
        return found

    def wait_settled(self):
        begun = last = time.monotonic()
        while True:
            if self.read_log():
                last = time.monotonic()
            found = self.differences() or self.shown_differences()
            if not found:
                return
            overrun = any(self.runs(name)[:len(one.runs)] == one.runs and len(self.runs(name)) > len(one.runs)
                          for name, one in self.model.services.items())
            now = time.monotonic()
            if now - last > self.quiet or now - begun > PATIENCE or overrun:
                raise Mismatch("\n".join(found))
            time.sleep(0.005)

    def note_change(self, name, old, new):
        """A service that waited starts when each of its conditions has held since."""
        self.changes.append((name, old, new))
        self.statuses[name] = new
        self.falls[name] += new == "unhealthy"
        if new == "waiting":
            self.met[name] = set()
        for service in self.model.services.values():
            self.met[service.name] |= {edge for edge in service.edges if self.statuses[edge.target.name] in MET_BY[edge.condition]}
        if (old, new) == ("waiting", "starting"):
            self.early += [edge for edge in self.model.services[name].edges
                           if edge not in self.met[name] and edge.required and not edge.allow_skipped]

    def check_order(self):
        """Dependents start after, and end before their dependencies."""
        for edge in self.early:
            if not edge.owner.no_deps:
                raise Mismatch(f"{edge.owner.name} was started before {edge.target.name} met {edge.condition}")
        self.early.clear()
        ends = [line[1] for line in self.lines("runs")[self.seen:] if line[0] == "-"]
        for name, service in self.model.services.items():
            for target in {edge.target.name for edge in service.edges}:
                if ends.count(name) == ends.count(target) == 1 and ends.index(name) > ends.index(target):
                    raise Mismatch(f"{target} was stopped before {name}, which depends on it")

    # --- events ----------------------------------------------------------------------------------

    def send(self, *words):
        command = self.home.begin(*words, file=self.file)
        def accepted():
            self.read_log()
            return command.pid in self.requests or command.poll() is not None
        wait_until(accepted, f"the daemon takes {words}")
        return command

    def touch(self, name, there=True):
        if there:
            open(self.path(name), "w").close()
        elif os.path.exists(self.path(name)):
            os.unlink(self.path(name))

    def end_processes(self, ends):
        pids = {name: self.pid(name) for name, _, _ in ends}
        with self.home.frozen():
            for name, code, signo in ends:
                if signo:
                    os.kill(pids[name], getattr(signal, f"SIG{signo}"))
                else:
                    word = os.open(self.path(f"{name}.word"), os.O_WRONLY | os.O_NONBLOCK)
                    os.write(word, f"{code}\n".encode())
                    os.close(word)
            wait_until(lambda: not any(alive(pid) for pid in pids.values()), "the processes have ended")

    def replace_daemon(self, gently):
        self.home.daemon.send_signal(signal.SIGTERM if gently else signal.SIGKILL)
        if gently:
            wait_until(lambda: self.home.log()[self.log_at:].find("daemon stops") >= 0 or self.home.daemon.poll() is not None,
                       "the daemon has heard")
        for name in self.case["services"]:
            self.touch(f"{name}.held", False)
        self.home.daemon.wait(PATIENCE)
        for command, _ in self.pending:
            command.communicate(timeout=PATIENCE)
        self.pending.clear()
        self.read_log()
        self.model.crash(gently)
        for name, service in self.model.services.items():
            self.statuses[name] = "stopped" if service.is_active() else service.status
        self.home.start_daemon()

    def act(self, event):
        word, names, _ = split_event(event)
        command = None
        if word in ("start", "stop", "restart"):
            command = self.send(*event.split())
        elif word == "end":
            self.end_processes([split_end(one) for one in names])
        elif word in ("crash", "terminate"):
            self.replace_daemon(word == "terminate")
            return  # the model was told between the two
        elif word == "hiccup":
            self.touch(f"{names[0]}.hiccup")
        else:
            file, there = {"sicken": ("sick", True), "heal": ("sick", False), "break": ("broken", True), "mend": ("broken", False),
                           "hold": ("held", True), "release": ("held", False)}[word]
            self.touch(f"{names[0]}.{file}", there)
        result = self.model.play(event)
        if command:
            self.pending.append((command, result))

    def check_commands(self):
        for command, result in list(self.pending):
            want = result()
            if want is None:
                if command.poll() is not None:
                    raise Mismatch(f"'kepler {' '.join(command.args[3:])}' has ended with {command.returncode}: {command.communicate()}")
                continue
            try:
                out, err = command.communicate(timeout=4 * self.quiet)
            except subprocess.TimeoutExpired:
                raise Mismatch(f"'kepler {' '.join(command.args[3:])}': expected exit status {want}, but it does not end") from None
            self.pending.remove((command, result))
            if command.returncode != want:
                raise Mismatch(f"'kepler {' '.join(command.args[3:])}': expected exit status {want}, got {command.returncode}: {out}{err}")

    def run(self):
        for number, event in enumerate(self.case["x-events"]):
            event = self.model.trim(event)
            if not event:
                continue
            self.seen = len(self.lines("runs"))
            self.changes.clear()
            try:
                self.act(event)
                self.wait_settled()
                self.check_order()
                self.check_commands()
            except (Mismatch, AssertionError) as error:
                changes = "\n".join(f"  {name}: {old} -> {new}" for name, old, new in self.changes)
                raise Mismatch(f"after event {number + 1}, '{event}':\n{error}\nchanges since the event:\n{changes}") from None

    def close(self):
        for name in self.case["services"]:
            self.touch(f"{name}.held", False)
        self.home.run("stop", "--clean", file=self.file, check=False)
        for command, _ in self.pending:
            command.communicate(timeout=PATIENCE)


class Stage:
    """A daemon on which one case is played after another."""

    def __init__(self):
        self.home = Home()
        self.home.env["KEPLER_LOG"] = "debug"
        self.home.env["ASAN_OPTIONS"] = "quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", "")
        self.home.start_daemon()
        self.count = 0

    def play(self, case, quiet=5):
        """What went wrong; None: nothing."""
        self.count += 1
        play = Play(self.home, case, f"case{self.count}", quiet)
        try:
            if self.home.run("validate", file=play.file, check=False).returncode == 0:
                play.run()
            return None
        except Mismatch as mismatch:
            return str(mismatch)
        finally:
            play.close()

    def close(self):
        self.home.close()
