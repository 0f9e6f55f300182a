"""Dependencies, policies and recovery of kepler as a model: no processes, no time, and small enough to read.

A model takes a config (the map that its YAML is) and events, and says what must have come of them once nothing moves any
more: the status of each service and why, the hooks that ran, the starts and stops of its processes, and how each command
ended. Services of a test run until the test ends them, so nothing happens but what an event causes.

Events are lines: `start`, `start -d [NAME...] [--no-deps]`, `stop [NAME...]` and `restart [NAME...]` are commands; `end a=3 b=KILL`
ends processes, all in one instant; `hiccup a` lets one health check fail; `sicken a` and `heal a`, `break a` and `mend a`, `hold a`
and `release a` let all health checks fail, pre_start fail, and post_exit not end, until further notice; `crash` and `terminate`
end the daemon, after which another one is started.

Each event is a method. Afterwards `settle` lets everything follow: first what dependencies allow, then health checks, and
last the timeouts of those who still wait.
"""
INACTIVE = ("stopped", "exited", "killed", "failed", "skipped")
UP = ("running", "healthy", "unhealthy")
LOST = "the daemon ended without stopping it"
TITLES = {"no": "No", "always": "Always", "on-failure": "OnFailure", "on-success": "OnSuccess", "on-unhealthy": "OnUnhealthy"}
NEEDS_HEALTH = ("service_healthy", "service_unhealthy")
# A policy with all of these never lets the condition come true for good.
BLOCKED_BY = {"service_failed": {"on-failure"}, "service_completed_successfully": {"on-success"},
              "service_stopped": {"on-failure", "on-success"}}
WHY_BLOCKED = {"service_failed": "it will restart on failure", "service_completed_successfully": "it will restart on success"}


def split_event(event):
    """Its word, its names, and its options."""
    words = event.split()
    return words[0], [word for word in words[1:] if word[0] != "-"], {word for word in words[1:] if word[0] == "-"}


def split_end(word):
    """(name, code, signal) of `a=3` or `a=KILL`."""
    name, how = word.split("=")
    return (name, int(how), None) if how.isdigit() else (name, None, how)


def matches(codes, code):
    """Is the code in the list of codes and "first:last" ranges? None or an empty list: any is."""
    ranges = [str(one).split(":") for one in codes or ["-1:255"]]
    return any(int(one[0]) <= (-1 if code is None else code) <= int(one[-1]) for one in ranges)


class Edge:
    def __init__(self, owner, target, keys):
        self.owner, self.target = owner, target
        self.condition = keys.get("condition", "service_started")
        self.restart = keys.get("restart", False)
        self.timed = "timeout" in keys
        self.codes = keys.get("exit_code")
        self.allow_skipped = keys.get("allow_skipped", False)
        self.required = keys.get("required", True)

    def holds(self):
        """The table of conditions."""
        target, status = self.target, self.target.status
        return {
            "service_started": status in UP,
            "service_healthy": status == "healthy",
            "service_completed_successfully": status in ("exited", "stopped") and target.code == 0,
            "service_unhealthy": status == "unhealthy" and target.was_healthy,
            "service_failed": target.has_failed() and matches(self.codes, target.code),
            "service_stopped": status in INACTIVE and status != "skipped" and matches(self.codes, target.code),
        }[self.condition]

    def is_unreachable(self):
        blocked = BLOCKED_BY.get(self.condition)
        return blocked is not None and blocked <= self.target.flags

    def verdict(self):
        """True: met. False: not yet. A text: never, and why."""
        target = self.target
        if self.holds():
            return True
        if target.status == "skipped":
            return self.allow_skipped or f"dependency `{target.name}` was skipped"
        if target.status in INACTIVE:
            if target.status == "stopped" and not target.touched and "on-failure" in target.flags:
                return False  # nobody has started it yet, and its policy keeps it up
            return f"dependency `{target.name}` {target.end_words()}, won't restart (policy: {target.policy_title()})"
        if target.status in UP and self.is_unreachable():
            why = "it will always restart" if {"on-failure", "on-success"} <= target.flags else WHY_BLOCKED[self.condition]
            return f"`{target.name}` has restart policy `{target.policy}` — {why}, so `{self.condition}` can never be met"
        if target.status in UP and self.condition in NEEDS_HEALTH and not target.checked and not self.timed:
            return f"`{target.name}` has no healthcheck, so `{self.condition}` can never be met"
        return False


class Service:
    def __init__(self, name, keys):
        restart = keys.get("restart", "no")
        self.name = name
        self.policy = restart if isinstance(restart, str) else restart["policy"]
        self.flags = set(("on-failure|on-success|on-unhealthy" if self.policy == "always" else self.policy).split("|")) - {"no"}
        self.pauses = not isinstance(restart, str) and "delay" in restart  # for longer than a test
        self.checked = "healthcheck" in keys
        self.hooks = keys.get("hooks", {})
        self.polite = "polite" in keys["command"]  # ends with 0 when it is asked to
        self.disabled = keys.get("if") is False
        self.edges, self.dependents = [], []
        self.status, self.code, self.signal = "stopped", None, None
        self.reasons = set()     # why it was skipped or failed: any of these
        self.lost = False        # stopped because the daemon died
        self.touched = False     # it has been inactive since somebody started it
        self.was_healthy = False
        self.falls = 0           # how often it became unhealthy
        self.wanted = False      # the goal
        self.ignores_if = self.no_deps = False
        self.waits = None        # edges to wait for before the next start, with "condition" or "order"; None: no start is due
        self.skip_waits = []     # what it waited for when it was skipped
        self.paused = False      # before a restart
        self.cause = "start"     # of the start that is due: start, manual, propagated, unhealthy, policy
        self.ending = False      # its post_exit runs
        self.leaving = False     # on its way down: what it depends on goes after it
        self.due = None          # "stop" or "restart", once its turn has come
        self.start_due = False   # once it is down
        self.steps = []          # hooks that ran
        self.runs = []           # "+": a process started, "-": it was asked to end and did

    def policy_title(self):
        return "|".join(TITLES[word] for word in self.policy.split("|"))

    def is_active(self):
        return self.status not in INACTIVE

    def is_pausing(self):
        return self.paused and not self.due

    def has_failed(self):
        return self.status in ("failed", "killed") or (self.status == "exited" and self.code != 0)

    def policy_restarts(self):
        return ("on-success" if self.code == 0 else "on-failure") in self.flags

    def is_about_to_restart(self):
        falls = self.status == "unhealthy" and "on-unhealthy" in self.flags
        return self.wanted and not self.leaving and (falls or (self.ending and self.policy_restarts()))

    def restarts_soon(self):
        """It is about to restart, or follows a service of which that is true."""
        follows = self.wanted and self.status in UP
        return self.is_about_to_restart() or (follows and any(edge.restart and edge.target.restarts_soon() for edge in self.edges))

    def end_words(self):
        if self.status == "exited":
            return f"exited with exit code Some({self.code})"
        if self.status == "killed":
            return f"was killed by SIG{self.signal}"
        return {"failed": "failed to start", "stopped": "was stopped" if self.touched else "was not started"}[self.status]

    def run_hook(self, phase):
        if phase in self.hooks:
            self.steps.append(phase)

    def rest(self, status, *reasons):
        """Inactive from here on."""
        self.status, self.reasons, self.touched, self.lost = status, set(reasons), True, False
        if status in ("skipped", "failed"):
            self.forget_run()  # how an earlier process ended is not how this start did
        self.waits = self.due = None
        self.paused = self.ending = self.leaving = False

    def forget_run(self):
        self.code = self.signal = None
        self.was_healthy = False

    def end_process(self):
        """It is asked to end, and does."""
        for phase in ("pre_restart", "pre_stop", "post_stop") if self.due == "restart" else ("pre_stop", "post_stop"):
            self.run_hook(phase)
        self.runs += ["-"] if self.polite else []
        self.code, self.signal = (0, None) if self.polite else (None, "TERM")
        self.due, self.leaving = None, False


class Model:
    def __init__(self, config):
        self.services = {name: Service(name, keys) for name, keys in config["services"].items()}
        self.autostart = bool(config.get("kepler", {}).get("autostart"))
        self.loaded = False
        self.unhandled = False  # a service failed, and no other one handles that, since the foreground start
        self.sick, self.broken, self.held = set(), set(), set()  # checks fail, pre_start fails, post_exit does not end
        for name, keys in config["services"].items():
            for target, edge in keys.get("depends_on", {}).items():
                edge = Edge(self.services[name], self.services[target], edge)
                edge.owner.edges.append(edge)
                edge.target.dependents.append(edge)

    def pick(self, names):
        return [self.services[name] for name in names] if names else list(self.services.values())

    # --- events as lines ----------------------------------------------------------------------

    def trim(self, event):
        """The event, or what of it can happen now: only what runs can end. None: nothing."""
        word, names, options = split_event(event)
        if word == "end":
            left = [one for one in names if self.services[split_end(one)[0]].status in UP]
            return " ".join([word, *left]) if left else None
        one = self.services[names[0]] if names else None
        never = {
            "start": ("--no-deps" in options and not names) or (not options and all(s.is_active() for s in self.services.values())),
            "restart": not self.loaded,
            "hiccup": one and one.status != "healthy",
            "sicken": one and (not one.checked or "on-unhealthy" in one.flags),  # it would restart for ever
            "break": one and "pre_start" not in one.hooks,
            "hold": one and "post_exit" not in one.hooks,
        }
        never.update(heal=never["sicken"], mend=never["break"], release=never["hold"])
        return None if never.get(word) else event

    def play(self, event):
        """Returns a function that says how the command ends (None: not yet), or None where there is no command."""
        word, names, options = split_event(event)
        if word == "start":
            if not options:
                self.unhandled = False
            self.start(names, "--no-deps" in options)
            return (lambda: self.started(names)) if options else self.watched
        if word == "stop":
            self.stop(names)
            return lambda: self.stopped(names)
        if word == "restart":
            chosen = self.restart(names)
            return lambda: self.restarted(chosen)
        events = {
            "end": lambda: self.end([split_end(one) for one in names]),
            "crash": self.crash, "terminate": lambda: self.crash(gently=True), "hiccup": lambda: self.hiccup(names[0]),
            "sicken": lambda: self.set_health(names[0], False), "heal": lambda: self.set_health(names[0], True),
            "break": lambda: self.set_pre_start(names[0], False), "mend": lambda: self.set_pre_start(names[0], True),
            "hold": lambda: self.set_post_exit(names[0], False), "release": lambda: self.set_post_exit(names[0], True),
        }
        return events[word]()

    # --- what follows by itself ---------------------------------------------------------------

    def settle(self):
        while self.take_turns() or self.start_what_may() or self.check_health() or self.expire():
            pass
        for service in self.services.values():  # whichever of its dependencies was seen first
            if service.status == "skipped":
                service.reasons |= {edge.verdict() for edge in service.skip_waits if isinstance(edge.verdict(), str)}
            service.skip_waits = []

    def take_turns(self):
        """Dependents go down before what they depend on."""
        for service in self.services.values():
            if service.due and not any(edge.owner.leaving for edge in service.dependents):
                self.go_down(service)
                return True
        return False

    def go_down(self, service):
        due = service.due
        service.end_process()
        if due == "stop" or not service.wanted or service.start_due:
            service.rest("stopped")
            if service.start_due:
                self.begin_start(service)

    def start_what_may(self):
        """Look at all that wait; True when something changed."""
        changed = False
        for service in self.services.values():
            while service.waits is not None and not (service.paused or service.ending or service.due) and self.advance(service):
                changed = True
        return changed

    def advance(self, service):
        """One look at its edges; True when something came of it."""
        for edge, kind in list(service.waits.items()):
            verdict = (edge.target.status in UP or not edge.target.is_active()) if kind == "order" else edge.verdict()
            if verdict is True or (isinstance(verdict, str) and not edge.required):
                del service.waits[edge]
            elif isinstance(verdict, str):
                service.skip_waits = [one for one in service.waits if one.required]
                service.rest("skipped", verdict)
                return True
        about = [edge for edge in service.edges if edge.restart and edge.target.restarts_soon()]
        if service.waits or (about and not (service.cause == "start" and service.no_deps)):
            return False
        self.start_process(service)
        return service.waits is None

    def start_process(self, service):
        if service.cause in ("start", "policy"):
            service.status = "starting"
            service.forget_run()
        if service.disabled and not service.ignores_if:
            return service.rest("skipped", "`if` condition evaluated to false: `false`")
        if "pre_start" in service.hooks and service.name in self.broken:
            return self.fail_start(service)
        service.run_hook("pre_start")
        service.run_hook("post_start")
        if service.cause != "start":
            service.run_hook("post_restart")
        service.forget_run()
        service.status, service.waits, service.touched, service.start_due = "running", None, False, False
        service.runs.append("+")

    def fail_start(self, service):
        """Its pre_start failed: a restart by policy goes on trying, everything else is over."""
        service.steps += ["pre_start!"] if service.steps[-1:] != ["pre_start!"] else []  # however often it is tried
        if service.cause in ("policy", "unhealthy") and "on-failure" in service.flags:
            service.status, service.cause, service.paused = "starting", "policy", True
            service.forget_run()
        else:
            self.fail(service, "hook pre_start: step 1: exit status 1")

    def fail(self, service, reason):
        service.rest("failed", reason)
        self.note_failure(service)

    def note_failure(self, service):
        handlers = [edge for edge in service.dependents if edge.condition in ("service_failed", "service_stopped")]
        if service.has_failed() and not any(edge.holds() for edge in handlers):
            self.unhandled = True

    def check_health(self):
        found = [service for service in self.services.values() if service.status == "running" and service.checked]
        for service in found:
            service.status = "unhealthy" if service.name in self.sick else "healthy"
            service.was_healthy |= service.status == "healthy"
            service.falls += service.status == "unhealthy"
            service.run_hook("post_healthcheck_success" if service.status == "healthy" else "post_healthcheck_fail")
        return bool(found)

    def expire(self):
        """Timeouts of those who still wait."""
        for service in self.services.values():
            for edge, kind in list((service.waits or {}).items()):
                if not edge.timed or kind != "condition" or service.paused or service.ending or service.due:
                    continue  # or its time has not begun
                if not edge.required:
                    del service.waits[edge]
                    return True
                title = "".join(word.capitalize() for word in edge.condition.split("_"))
                self.fail(service, f"Dependency timeout: {service.name} timed out waiting for {edge.target.name} to satisfy condition {title}")
                return True
        return False

    # --- restarts -------------------------------------------------------------------------------

    def pass_on(self, services):
        """Their dependents learn that they restart."""
        for edge in [edge for service in services for edge in service.dependents if edge.restart]:
            owner = edge.owner
            if not owner.wanted or not owner.is_active() or (owner.status == "waiting" and owner.no_deps):
                continue
            if owner.status in UP:
                self.begin_restart(owner, "propagated", {edge: "condition"})
                self.pass_on([owner])
            else:
                owner.waits = {**(owner.waits or {}), edge: "condition"}

    def begin_restart(self, service, cause, waits):
        service.status, service.cause, service.waits = "restarting", cause, waits
        service.due, service.leaving = "restart", True
        service.paused = service.pauses and cause != "manual"

    def end_pause(self, service):
        """Now, and not later. One whose pre_start fails goes on trying."""
        service.paused = False
        still_fails = service.name in self.broken and service.steps[-1:] == ["pre_start!"]
        if service.cause == "policy" and not still_fails:
            service.run_hook("pre_restart")

    def judge_end(self, service):
        """The process ended by itself, and post_exit is over."""
        if service.leaving:
            service.rest("stopped")
        elif self.policy_brings_back(service):
            return
        else:
            service.rest("killed" if service.signal else "exited")
            self.note_failure(service)
        if service.start_due:
            self.begin_start(service)

    def policy_brings_back(self, service):
        if not service.policy_restarts():
            return False
        service.status, service.cause, service.waits = "starting", "policy", service.waits or {}
        service.paused, service.ending = service.pauses, False
        service.forget_run()
        if not service.paused:
            service.run_hook("pre_restart")
        return True

    def begin_start(self, service):
        service.start_due = False
        service.status, service.cause, service.reasons, service.lost = "waiting", "start", set(), False
        service.waits = {} if service.no_deps else dict.fromkeys(service.edges, "condition")

    # --- events: processes -----------------------------------------------------------------------

    def end(self, ends):
        """Processes end at once: (name, code or None, signal or None)."""
        restarting = []
        for name, code, signal in ends:
            service = self.services[name]
            service.code, service.signal, service.status, service.ending = code, signal, "stopping", True
            service.run_hook("post_exit")
        for service in [self.services[name] for name, _, _ in ends if name not in self.held]:
            self.judge_end(service)
            restarting += [service] if service.status == "starting" else []
        self.pass_on(restarting)
        self.settle()

    def hiccup(self, name):
        """One health check fails."""
        service = self.services[name]
        service.status = "unhealthy"
        service.falls += 1
        service.run_hook("post_healthcheck_fail")
        while self.start_what_may():
            pass
        if "on-unhealthy" in service.flags:
            self.begin_restart(service, "unhealthy", {})
            self.pass_on([service])
        else:
            service.status = "healthy"
            service.run_hook("post_healthcheck_success")
        self.settle()

    def set_health(self, name, well):
        (self.sick.discard if well else self.sick.add)(name)
        if self.services[name].status == ("unhealthy" if well else "healthy"):
            self.services[name].status = "running"
        self.settle()

    def set_pre_start(self, name, works):
        (self.broken.discard if works else self.broken.add)(name)
        service = self.services[name]
        if works and service.paused and service.steps[-1:] == ["pre_start!"]:
            service.paused = service.pauses
            if not service.paused:
                service.run_hook("pre_restart")
        self.settle()

    def set_post_exit(self, name, ends):
        (self.held.discard if ends else self.held.add)(name)
        service = self.services[name]
        if ends and service.ending:
            self.judge_end(service)
            self.pass_on([service] if service.status == "starting" else [])
        self.settle()

    # --- events: commands ------------------------------------------------------------------------

    def start(self, names=(), no_deps=False, named=None):
        """`kepler start`; the command is asked about with `started`."""
        self.loaded = True
        for service in self.pick(names):
            service.wanted = True
            waits = service.is_active() and not service.is_pausing() and service.status != "stopping"
            if waits and not (no_deps and service.waits and not service.due):
                continue
            service.no_deps, service.ignores_if = no_deps, bool(names) if named is None else named
            if service.status == "stopping":
                service.start_due = True
            elif not service.is_active():
                self.begin_start(service)
            elif service.is_pausing():
                self.end_pause(service)
            else:
                service.waits = {}
        self.settle()

    def started(self, names):
        """The exit status of `kepler start -d NAMES`; None: it still waits."""
        services = [self.services[name] for name in names]
        if any(service.status == "waiting" or service.start_due for service in services):
            return None
        stopping = any(service.status == "stopping" and not service.wanted for service in services)
        return 1 if stopping or any(service.status in ("skipped", "failed", "stopped") for service in services) else 0

    def watched(self):
        """That of a start in the foreground."""
        return int(self.unhandled) if self.is_quiescent() else None

    def is_quiescent(self):
        """Nothing runs or can still start by itself."""
        settled = set()
        for service in sorted(self.services.values(), key=lambda one: len(self.reach(one))):
            waits = service.waits or {}
            hope = any(edge.timed or (edge.target.status == "stopped" and not touched(edge.target)) for edge in waits)
            stuck = service.status == "waiting" and not hope and any(edge.target in settled for edge in waits)
            if (not service.is_active() or stuck) and not service.ending:
                settled.add(service)
        return len(settled) == len(self.services)

    def reach(self, service):
        found = {service}
        for edge in service.edges:
            found |= self.reach(edge.target)
        return found

    def stop(self, names=()):
        for service in self.pick(names) if self.loaded else []:
            service.wanted = service.start_due = False
            service.leaving = service.is_active()
            if service.status in UP:
                service.due = "stop"
            if service.due or service.ending:
                service.status = "stopping"
            elif service.is_active():
                service.rest("stopped")
        self.settle()

    def stopped(self, names):
        return None if any(service.leaving for service in self.pick(names)) else 0

    def restart(self, names=()):
        """`kepler restart`: returns the services that it is about, for `restarted`."""
        chosen = [one for one in self.pick(names) if one.wanted and (one.status in UP or one.is_pausing())] if self.loaded else []
        down = [service for service in chosen if service.status in UP]
        for service in chosen:
            service.ignores_if = bool(names)
            if service in down:
                self.begin_restart(service, "manual", {edge: "order" for edge in service.edges if edge.target in down})
            else:
                self.end_pause(service)
        self.pass_on(down)
        self.settle()
        return [service.name for service in chosen]

    def restarted(self, names):
        services = [self.services[name] for name in names]
        if not self.loaded:
            return 1
        if any(service.due or (service.waits is not None and not service.paused) for service in services):
            return None
        return 1 if any(service.status in ("failed", "stopped") for service in services) else 0

    # --- events: the daemon ----------------------------------------------------------------------

    def crash(self, gently=False):
        """The daemon is killed, or asked to end, and another one is started."""
        back = [service.name for service in self.services.values() if self.comes_back(service)]
        if gently:
            self.stop_with_daemon()
        for service in self.services.values():
            if service.ending and not service.is_about_to_restart() and service.wanted and not service.start_due:
                service.rest("killed" if service.signal else "exited")
            elif service.is_active():
                touched_before = service.touched
                service.rest("stopped")
                service.lost, service.touched = True, touched_before
                service.forget_run()
            service.wanted = service.start_due = False
        self.held.clear()
        self.loaded = self.autostart and self.loaded
        if self.loaded and back:
            self.start(back, named=False)

    def comes_back(self, service):
        """Should it run? One that is ending does if it is to be started again."""
        return service.wanted and service.is_active() and (
            service.status != "stopping" or service.start_due or service.policy_restarts())

    def stop_with_daemon(self):
        """The state on disk stays as it was where the config starts with the daemon: only hooks and processes show."""
        for service in self.services.values():
            if service.status in UP or service.due:
                service.end_process()
            if not self.autostart and service.is_active():
                service.rest("stopped")


def touched(service):
    return service.touched or "on-failure" not in service.flags
