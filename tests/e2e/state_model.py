"""A small model of a run of states, in Python: what docs/reference/states.md and docs/reference/requisites.md promise, and nothing else.

It predicts one state at a time, from what has become of those before it: the outcome, why it is skipped, how often its command
runs, what it does to files and packages, and which reactions are owed afterwards. Where two outcomes are right it gives both, and
goes on from the one that was seen. It knows nothing of threads, journals or the disk.
"""
import collections
import copy

# What a requisite asks of its targets, after `listen` became `watch` and inverses were turned round.
SUCCESS_ALL = ("require", "watch", "onchanges")
SUCCESS_ONE = ("require_any", "watch_any", "onchanges_any")
FORCES = ("watch", "watch_any")  # a change of a target forces the state to be applied
NEEDS_CHANGE = ("onchanges", "onchanges_any")  # without a change of a target the state is skipped
REACTS = FORCES + NEEDS_CHANGE
KINDS = ("require", "require_any", "watch", "watch_any", "listen", "onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all",
         "prereq")
ALIASES = {"listen": "watch", "onfail_any": "onfail"}
ORDERS = {"first": -1000000, "last": 1000000}

CHANGED, UNCHANGED, FAILED, SKIPPED = "changed", "unchanged", "failed", "skipped"
# Skips that count as a failure for whoever requires the state; the last one is that of a run that was canceled.
BROKEN = ("require_failed", "failhard_abort", "")


class State:
    """One state of a run: a declaration, or one of its names."""

    def __init__(self, decl, name, item):
        self.decl, self.name, self.item = decl, name, item
        self.targets = {kind: [] for kind in KINDS if kind not in ALIASES}
        self.after = set()  # names of states that come before it
        self.level = 0

    def get(self, key, default=None):
        return self.decl.get(key, default)

    @property
    def order(self):
        return ORDERS.get(self.get("order", 0), self.get("order", 0))

    @property
    def tag(self):
        """The line that its command writes."""
        return self.decl["id"] if self.item is None else f"{self.decl['id']}.{self.item}"

    @property
    def path(self):
        return self.decl["names"][self.item] if self.item is not None else self.get("path")

    def watched(self):
        return [name for kind in REACTS for name in self.targets[kind]]


def expand(tree, name_of):
    """The states of a tree by full name, with levels. name_of(decl, item) gives the names."""
    by_id, states = {}, {}
    for decl in tree:
        items = [None] if "names" not in decl else range(len(decl["names"]))
        by_id[decl["id"]] = [State(decl, name_of(decl, item), item) for item in items]
        states.update((state.name, state) for state in by_id[decl["id"]])
    for decl in tree:
        for word, targets in decl.get("requisites", {}).items():
            for target in targets:
                connect(word, by_id[decl["id"]], by_id[target])
    # "Without the requisite, it would still come after the folder that the same run makes" (docs/reference/requisites.md).
    # "A state that removes or edits what is at its path comes after packages that are not installed yet": it is not known what they bring.
    implied = [(first, state) for first in states.values() for state in states.values() if first is not state and (
        first.decl["module"] == "file.directory" and (state.path or "").startswith(first.path + "/")
        or first.decl["module"] == "pkg.installed" and acts_on_existing(state) and state.order >= first.order)]
    for first, state in [(first, state) for first, state in implied if not reaches(states, first.name, state.name)]:
        state.after.add(first.name)
    place(states)
    return states


def acts_on_existing(state):
    module = state.decl["module"]
    return module in ("file.append", "file.absent") or module == "file.managed" and "contents" not in state.decl


def connect(word, own, others):
    if word.endswith("_in"):
        word, own, others = word[:-3], others, own
    kind = ALIASES.get(word, word)
    for state in own:
        for other in others:
            state.targets[kind].append(other.name)
            if kind == "prereq":  # "it comes before them, and they require it"
                other.targets["require"].append(state.name)
                other.after.add(state.name)
            else:
                state.after.add(other.name)


def reaches(states, start, goal):
    return start == goal or any(reaches(states, name, goal) for name in states[start].after)


def place(states):
    """"A state is one level after the last of those it waits for." """
    left = dict(states)
    while left:
        for name in [name for name, state in left.items() if not state.after & set(left)]:
            state = left.pop(name)
            state.level = 1 + max((states[other].level for other in state.after), default=-1)


def in_order(states):
    """"`order` and then the name decide who is started and listed first." """
    return sorted(states.values(), key=lambda state: (state.level, state.order, state.name.encode()))


# --- the world ---------------------------------------------------------------------------------------

class World:
    """What states change: paths below the root, packages; and what decides for them: flags, lines of commands."""

    def __init__(self, paths, packages, flags, user):
        self.paths, self.packages, self.flags = dict(paths), set(packages), set(flags)
        self.lines = collections.Counter()
        self.made = set()  # what commands have made, for `creates`
        self.user = user

    def copy(self):
        return copy.deepcopy(self)

    def same(self, other):
        return self.paths == other.paths and self.packages == other.packages

    def holds(self, guard):
        """The command of a guard: {flag: x} or {path: x} is there."""
        return guard["flag"] in self.flags if "flag" in guard else guard["path"] in self.paths

    def parent_is_there(self, path):
        return "/" not in path or path.rsplit("/", 1)[0] in self.paths


class Failure(Exception):
    """A state is not what it should be; `changed`: although something was changed; `maybe`: by a command, who knows?"""

    def __init__(self, why, changed=False, maybe=False):
        super().__init__(why)
        self.changed, self.maybe = changed, maybe


def want_file(world, state, path):
    old = world.paths.get(path)
    text = state.get("contents", "") + "\n"
    mode = state.get("mode") or (old[2] if old else "0644")
    return ("file", text, mode, state.get("user") or (old[3] if old else world.user))


def mode_of_parent(mode):
    """Execution for those who can read."""
    return "%04o" % (int(mode, 8) | (int(mode, 8) & 0o444) >> 2) if mode else "0755"


def set_managed(world, state):
    path = state.path
    if not world.parent_is_there(path):
        if not state.get("makedirs"):
            raise Failure(path)
        world.paths[path.rsplit("/", 1)[0]] = ("folder", mode_of_parent(state.get("mode")), state.get("user") or world.user)
    world.paths[path] = want_file(world, state, path)


def set_append(world, state):
    old = world.paths.get(state.path, ("file", "", "0644", world.user))
    line = state.get("text") + "\n"
    if line not in old[1].splitlines(keepends=True):
        world.paths[state.path] = ("file", old[1] + line, *old[2:])


def set_absent(world, state):
    for path in [path for path in world.paths if path == state.path or path.startswith(state.path + "/")]:
        del world.paths[path]


def set_folder(world, state):
    old = world.paths.get(state.path)
    mode = state.get("mode") or (old[1] if old else "0755")
    world.paths[state.path] = ("folder", mode, state.get("user") or (old[2] if old else world.user))


def set_link(world, state):
    world.paths[state.path] = ("link", state.get("target"))


def set_installed(world, state):
    """All of them or none: `nowhere` is in no repository, `broken` cannot be installed."""
    missing = set(state.get("packages")) - world.packages
    if missing & {"nowhere", "broken"}:
        raise Failure(missing)
    world.packages |= missing


def set_removed(world, state):
    world.packages -= set(state.get("packages"))


def run_command(world, state):
    world.lines[state.tag] += 1
    if state.get("makes"):
        world.made.add(state.tag)
    if state.get("does") == "fail" or world.lines[state.tag] <= state.get("fails", 0):
        raise Failure(state.tag, maybe=True)


ACTS = {
    "file.managed": set_managed, "file.append": set_append, "file.absent": set_absent, "file.directory": set_folder,
    "file.symlink": set_link, "pkg.installed": set_installed, "pkg.removed": set_removed, "cmd.run": run_command,
}


def would_change(world, state):
    """Check: does the system differ from the desired state?"""
    if state.get("makes") and state.tag in world.made:
        return False  # creates: "when all exist, there is nothing to do"
    if state.decl["module"] == "cmd.run":
        return True
    after = world.copy()
    try:
        ACTS[state.decl["module"]](after, state)
    except Failure:
        return True  # a folder or package that does not exist yet "is reported as a difference, since an earlier state may create it"
    return not after.same(world)


def differs(world, state, forced):
    """A command that is forced runs although what it creates is there."""
    return would_change(world, state) or (forced and state.decl["module"] == "cmd.run")


def guards_met(world, state):
    """"onlyif: the state runs only if every command exits 0", "unless: ... only if every command exits non-zero"."""
    return all(map(world.holds, state.get("onlyif", []))) and not any(map(world.holds, state.get("unless", [])))


def passes_check(world, state):
    world.lines[state.tag + ".check"] += 1
    return world.lines[state.tag + ".check"] > state.get("check_fails")


def ask_check(world, state, changed):
    if "check_fails" in state.decl and state.decl["module"] != "file.managed" and not passes_check(world, state):
        raise Failure("check_cmd", changed)


def checks_content(world, state):
    """check_cmd is a parameter of file.managed, which asks before new content is in place."""
    if state.decl["module"] != "file.managed" or "check_fails" not in state.decl:
        return False
    old = world.paths.get(state.path)
    return not old or old[1] != want_file(world, state, state.path)[1]


# --- one run -------------------------------------------------------------------------------------------

class Verdict:
    """One right outcome of a state, and the world after it."""

    def __init__(self, outcome, reason=None, world=None, changed=False, maybe=False, cut=False):
        self.outcome, self.reason, self.world = outcome, reason, world
        self.cut = cut  # in the middle of its work: what it has done is not known
        self.changed = changed or outcome == CHANGED  # something was changed, whatever was reported
        self.maybe = maybe  # ... or it may have been: a command that failed
        self.reacted = True  # to all that it watches

    def __repr__(self):
        return f"{self.outcome}{':' + self.reason if self.reason is not None else ''}"

    @property
    def broken(self):
        return self.outcome == FAILED or (self.outcome == SKIPPED and self.reason in BROKEN)


class Run:
    """A run of a tree, state by state. `owed` maps states to the sources of their debts, `plan` has the states that may change."""

    def __init__(self, states, world, owed, test=False, plan=None):
        self.states, self.world, self.owed, self.test, self.plan = states, world, owed, test, plan
        self.seen = {}  # Verdicts of the states that have ended

    def verdicts(self, state):
        """Every right outcome of the state, after those of the levels before it."""
        aborted = any(self.states[name].get("failhard") and seen.outcome == FAILED and self.states[name].level < state.level
                      for name, seen in self.seen.items())
        if aborted:  # "all remaining DAG levels are skipped"
            return [Verdict(SKIPPED, "failhard_abort", self.world)]
        return [self.judge_all(state, owed) for owed in self.debts_of(state)]

    def debts_of(self, state):
        """What an earlier run left undone counts like a change of that target now; what the state no longer watches may or not."""
        sources = self.owed.get(state.name, set())
        kinds = {kind for kind in REACTS if sources & set(state.targets[kind])}
        if sources <= set(state.watched()):
            return [kinds]
        return [kinds, {kind for kind in REACTS if state.targets[kind]}]

    def targets(self, state, kind):
        return [self.seen[name] for name in state.targets[kind]]

    def judge_all(self, state, owed):
        """A state that was not asked to react may have been applied for another reason."""
        verdict = self.judge(state, owed)
        changes = [target for kind in REACTS for target in self.targets(state, kind) if target.outcome == CHANGED]
        verdict.reacted = verdict.outcome != SKIPPED and bool(owed or changes)
        return verdict

    def judge(self, state, owed):
        """"For each state: abort, gate, prereq, guards, check, apply." """
        reason = self.refusal(state, owed)
        if reason:
            return Verdict(SKIPPED, reason, self.world)
        forced = bool(owed & set(FORCES)) or any(
            target.outcome == CHANGED for kind in FORCES for target in self.targets(state, kind))
        if state.targets["prereq"]:
            if not self.look_ahead(state):
                return Verdict(SKIPPED, "prereq_not_met", self.world)
            forced = True  # "(forced apply, skipping its own Check)"
        return self.preview(state, forced) if self.test or state.get("test") else self.apply(state, forced)

    def refusal(self, state, owed):
        """Requisites: "several requisites must all agree"; None when they do."""
        for kind in SUCCESS_ALL[:2] + SUCCESS_ONE[:2]:
            if self.lacks_success(state, kind):
                return "require_failed"
        for kind in NEEDS_CHANGE:
            targets = self.targets(state, kind)
            if targets and self.lacks_success(state, kind):
                return "require_failed"
            if targets and kind not in owed and not any(target.outcome == CHANGED for target in targets):
                return "onchanges_not_met"
        one, all_of = self.targets(state, "onfail"), self.targets(state, "onfail_all")
        if one and not any(target.outcome == FAILED for target in one):
            return "onfail_not_met"
        if all_of and not all(target.outcome == FAILED for target in all_of):
            return "onfail_not_met"
        return None

    def lacks_success(self, state, kind):
        """"Skips go on: what requires a state that failed, or that was skipped because something failed, is skipped too." """
        broken = [target.broken for target in self.targets(state, kind)]
        return bool(broken) and (any(broken) if kind in SUCCESS_ALL else all(broken))

    def look_ahead(self, state):
        """"Zester test-runs the target's Check, and if it reports a pending change, the prereq state runs." """
        targets = [self.states[name] for name in state.targets["prereq"]]
        return any(guards_met(self.world, target) and would_change(self.world, target) and not target.get("test") for target in targets)

    def preview(self, state, forced):
        """"In a dry run, a changed result means the state would change; guards do run; retry is not honoured." With `test: true`
        "the state is only looked at, in every run; what would change is reported, and counts as unchanged". """
        pending = guards_met(self.world, state) and differs(self.world, state, forced)
        return Verdict(CHANGED if pending and not state.get("test") else UNCHANGED, world=self.world)

    def apply(self, state, forced):
        """Tries until one succeeds: "re-runs the state up to N additional times on failure". "What any try has changed, the state
        has changed, and check_cmd runs again after each." """
        world, changed, maybe = self.world.copy(), False, False
        for _ in range(1 + state.get("retry", 0)):
            try:
                changed |= self.attempt(state, world, forced, changed or maybe)
                return Verdict(CHANGED if changed or maybe else UNCHANGED, world=world)
            except Failure as failure:
                changed |= failure.changed
                maybe |= failure.maybe
        return Verdict(FAILED, world=world, changed=changed, maybe=maybe)

    def attempt(self, state, world, forced, again):
        """Check unless it is forced, apply, check_cmd. Guards gate forced applies, too."""
        if not guards_met(world, state) or not (forced or would_change(world, state)):
            if again:
                ask_check(world, state, False)
            return False
        if self.plan is not None and state.name not in self.plan:
            if differs(world, state, forced):
                raise Failure("not in the plan")  # "a state that has to change because of what the others did fails instead"
            return False
        if checks_content(world, state) and not passes_check(world, state):
            raise Failure("check_cmd")
        before = world.copy()
        ACTS[state.decl["module"]](world, state)
        changed = state.decl["module"] == "cmd.run" or not before.same(world)
        ask_check(world, state, changed)
        return changed

    def accept(self, state, verdict):
        self.seen[state.name] = verdict
        self.world = verdict.world

    def is_success(self):
        """"Success if zero states failed"; with `onfail_stop: false`, "when it succeeds, the failures of its onfail targets do not
        fail the run"."""
        return all(self.is_handled(name) for name, seen in self.seen.items() if seen.outcome == FAILED)

    def is_handled(self, name):
        handlers = [self.seen[other.name] for other in self.states.values()
                    if other.get("onfail_stop") is False and name in other.targets["onfail"] + other.targets["onfail_all"]]
        return any(one.outcome in (CHANGED, UNCHANGED) for one in handlers) and not any(one.broken for one in handlers)

    # --- afterwards -------------------------------------------------------------------------------

    def debts(self):
        """(what is owed, what may be), as pairs of a state and what had changed: "A reaction that was due and did not happen stays
        due. When a file changed and the restart that watches it failed, was skipped by a failure, or the machine stopped in between,
        the next run does it although nothing changed then. It is forgotten when it succeeded, and when the state turns out not to
        be needed." """
        before = {(name, source) for name, sources in self.owed.items() for source in sources}
        if self.test:
            return before, set()
        must = {pair for pair in before if pair[0] not in self.states}
        for name, seen in self.seen.items():
            state = self.states[name]
            all_stay = seen.broken or (state.get("test") and seen.outcome != SKIPPED)
            # What failed and was not needed, as with `watch_any`, may have changed all the same.
            stay = {source for source in state.watched() if all_stay or (not seen.reacted and self.seen[source].broken)}
            must |= {pair for pair in before if pair[0] == name and (all_stay or pair[1] in stay)}
            must |= {(name, source) for source in stay if self.leaves_debt(state, source)}
        unwatched = {pair for pair in must if pair[0] in self.states and not self.states[pair[0]].watched()}
        return must - unwatched, unwatched

    def leaves_debt(self, state, source):
        """"A command that failed may have done anything: states that watch it owe a reaction, states that have it in onchanges do
        not." """
        seen = self.seen[source]
        return seen.changed or (seen.maybe and not any(source in state.targets[kind] for kind in NEEDS_CHANGE))
