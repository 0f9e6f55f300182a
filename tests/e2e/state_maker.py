"""Draws random cases for tests/e2e/state_player.py, and makes a case that fails smaller while it still fails."""
import copy
import os
import random

from state_model import KINDS

FILES = ["f0", "f1", "f2", "f3", "d/g0", "d/g1"]
FLAGS = ["a", "b", "c"]
MODES = ["0600", "0640", "0644"]
OWNERS = ["nobody", "daemon"]
SECRET_CHANCE = 0.15
STATES_MAX = 9


class Maker:
    """One case. What it draws is decided by the seed alone, and by who runs it: only root can give files to others."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.seed = seed
        self.makedirs = self.maybe(0.5)
        self.tree, self.paths, self.pairs = [], {}, set()
        self.free = {"file": FILES[:], "package": ["p0", "p1", "p2", "p3", "nowhere", "broken"], "link": ["l0"], "tree": ["e"]}

    def maybe(self, likely):
        return self.chance.random() < likely

    def pick(self, items):
        return self.chance.choice(items)

    # --- the machine ------------------------------------------------------------------------------

    def make_paths(self):
        paths = {}
        for name in FILES[:4]:
            if self.maybe(0.5):
                paths[name] = ["file", self.pick(["old\n", "text 1\n", "line 2\n", ""]), self.owner(), self.pick(MODES)]
        if self.maybe(0.5):
            paths["d"] = ["folder", self.owner(), self.pick(["0755", "2775", "1777"])]
            if self.maybe(0.5):
                paths["d/g0"] = ["file", "old\n", self.owner(), "0600"]
        if self.maybe(0.5):
            paths.update({"e": ["folder", self.owner(), "0750"], "e/x": ["file", "x\n", self.owner(), "0644"],
                          "e/y": ["file", "y\n", self.owner(), "0444"]})
        if self.maybe(0.5):
            paths["l0"] = ["link", "nowhere"]
        return paths

    def owner(self):
        return self.pick(OWNERS) if self.maybe(0.4) and os.geteuid() == 0 else None

    # --- states -------------------------------------------------------------------------------------

    def take(self, kind):
        """A thing that no state of the tree has yet; None: all have one."""
        return self.free[kind].pop(self.chance.randrange(len(self.free[kind]))) if self.free[kind] else None

    def make_command(self, decl):
        decl["module"] = "cmd.run"
        if self.maybe(0.15):
            decl["names"] = [f"{decl['id']}.0", f"{decl['id']}.1"]
        if self.maybe(0.25):
            decl["does"] = "fail"
        elif self.maybe(0.2):
            decl["fails"] = self.pick([1, 2])
        elif self.maybe(0.2) and "names" not in decl:
            decl["makes"] = True
        if self.maybe(SECRET_CHANCE):
            decl["secret"] = True

    def make_file(self, decl):
        path = self.take("file")
        if not path:
            return self.make_command(decl)
        decl["module"] = "file.managed"
        decl["path"] = path
        decl["contents"] = self.contents()
        more = self.take("file") if self.maybe(0.15) else None
        if more:
            decl["names"] = [decl.pop("path"), more]
        if self.maybe(0.4):
            decl["mode"] = self.pick(MODES)
        if self.maybe(0.15) and os.geteuid() == 0:
            decl["user"] = self.pick(OWNERS)
        if self.makedirs:
            decl["makedirs"] = True
        return None

    def contents(self):
        return "of s3cret-of-the-case" if self.maybe(SECRET_CHANCE) else self.pick(["text 1", "text 2", "old"])

    def make_append(self, decl):
        owners = [other for other in self.tree if other["module"] == "file.managed" and "names" not in other
                  and "/" not in other["path"]]
        if owners and self.maybe(0.3):
            owner = self.pick(owners)
            decl["path"] = owner["path"]
            # Who comes first among states of one file is not random.
            before = [other["id"] for other in self.tree if other.get("path") == owner["path"]]
            decl["requisites"] = {"require": before}
            self.pairs.update((other, decl["id"]) for other in before)
        else:
            decl["path"] = self.take("file")
        if not decl["path"] or "/" in decl["path"]:
            decl.pop("path")
            return self.make_command(decl)
        decl.update({"module": "file.append", "text": self.pick(["line 1", "line 2"])})
        return None

    def make_other(self, decl):
        kind = self.pick(["tree", "link", "folder", "absent"])
        thing = "d" if kind == "folder" else self.take("file" if kind == "absent" else kind)
        if not thing or (kind == "folder" and any(other.get("path") == "d" for other in self.tree)):
            return self.make_command(decl)
        decl["path"] = thing
        decl["module"] = {"tree": "file.absent", "absent": "file.absent", "link": "file.symlink", "folder": "file.directory"}[kind]
        if kind == "link":
            decl["target"] = self.pick(["here", "there"])
        if kind == "folder" and self.maybe(0.5):
            decl["mode"] = self.pick(["0700", "0755"])
        if kind == "folder" and self.maybe(0.3) and os.geteuid() == 0:
            decl["user"] = self.pick(OWNERS)
        return None

    def make_package(self, decl):
        package = self.take("package")
        if not package:
            return self.make_command(decl)
        packages = [package] + [self.take("package")] * self.maybe(0.25)
        removes = self.maybe(0.3) and not set(packages) & {"nowhere", "broken"}
        decl.update({"module": "pkg.removed" if removes else "pkg.installed", "packages": [name for name in packages if name]})
        return None

    def make_state(self):
        decl = {"id": f"s{len(self.tree)}", "module": ""}
        kinds = [self.make_command] * 4 + [self.make_file] * 4 + [self.make_append, self.make_other, self.make_package, self.make_package]
        self.pick(kinds)(decl)
        if self.maybe(0.2):
            decl["retry"] = self.pick([1, 2])
        if "names" not in decl and self.maybe(0.15):
            decl["check_fails"] = self.pick([0, 1, 2])
        for key, value, likely in (("failhard", True, 0.12), ("test", True, 0.04), ("parallel", False, 0.04), ("onfail_stop", False, 0.1)):
            if self.maybe(likely):
                decl[key] = value
        if self.maybe(0.15):
            decl["order"] = self.pick([-1, 1, 2, "first", "last"])
        for word in ("onlyif", "unless"):
            if self.maybe(0.12):
                decl[word] = [{"flag": self.pick(FLAGS)} for _ in range(self.pick([1, 1, 2]))]
        self.tree.append(decl)

    # --- requisites ---------------------------------------------------------------------------------

    def connect(self, earlier, later):
        """One requisite between two states, from either side."""
        pair = (earlier["id"], later["id"])
        if pair in self.pairs:
            return
        self.pairs.add(pair)
        kind = self.pick(KINDS + ("require", "watch", "onchanges", "onchanges", "onfail"))
        own, other = (earlier, later) if kind == "prereq" else (later, earlier)
        if kind == "prereq" and not self.can_be_checked(later):
            kind, own, other = "require", later, earlier
        if self.maybe(0.3) and kind != "onfail_any":  # which has no inverse
            own, other, kind = other, own, kind + "_in"
        own.setdefault("requisites", {}).setdefault(kind, []).append(other["id"])

    def can_be_checked(self, decl):
        """Nobody else changes what a look ahead would see, at the same time."""
        paths = decl.get("names", [decl.get("path")])
        shared = [other for other in self.tree if other is not decl and other.get("path") in paths and other.get("path")]
        return not shared and (self.makedirs or not any("/" in (path or "") for path in paths))

    # --- steps ----------------------------------------------------------------------------------------

    def make_how(self):
        commands = [decl["id"] for decl in self.tree if decl["module"] == "cmd.run" and "names" not in decl]
        kind = self.pick(["strike", "strike", "kill", "full", "timeout"])
        if any(decl["module"] == "pkg.installed" for decl in self.tree):
            commands += ["install", "installed"]
        if kind == "strike" and commands:
            return {"strike": self.pick(commands), "signal": self.pick(["TERM", "KILL"])}
        if kind == "timeout" and commands:
            return {"timeout": 0.4, "hang": self.pick(commands)}
        return {"full" if kind == "full" else "kill": self.chance.randint(1, self.pick([20, 60, 120]))}

    def make_edit(self):
        decl = self.pick(self.tree)
        if "contents" in decl:
            return {"do": "edit", "id": decl["id"], "set": {"contents": self.contents()}}
        if decl["module"] == "cmd.run" and decl.get("does"):
            return {"do": "edit", "id": decl["id"], "set": {"does": "succeed"}}
        if decl["module"] == "cmd.run" and "fails" not in decl:
            return {"do": "edit", "id": decl["id"], "set": {"does": self.pick(["succeed", "fail"])}}
        return {"do": "flag", "name": self.pick(FLAGS)}

    def make_step(self):
        kind = self.chance.choices(["apply", "cut", "planned", "test", "edit", "meddle", "drop", "flag", "revert_last", "revert"],
                                   [28, 25, 8, 10, 12, 6, 2, 8, 4, 5])[0]
        if kind == "cut":
            return {"do": "apply", "how": self.make_how()}
        if kind == "edit":
            return self.make_edit()
        if kind == "meddle":
            return {"do": "meddle", "path": self.pick(FILES[:4]), "text": f"meddled {self.chance.randint(1, 9)}\n"}
        if kind == "drop":
            return {"do": "drop", "id": self.pick(self.tree)["id"]}
        if kind == "flag":
            return {"do": "flag", "name": self.pick(FLAGS)}
        return {"do": kind, "back": True} if kind == "apply" and self.maybe(0.15) else {"do": kind}

    def make(self):
        for _ in range(self.chance.randint(1, STATES_MAX)):
            self.make_state()
        for later in range(len(self.tree)):
            for earlier in range(later):
                if self.maybe(0.3):
                    self.connect(self.tree[earlier], self.tree[later])
        steps = [self.make_step() for _ in range(self.chance.randint(1, 7))]
        last = {"do": "revert"}
        if self.maybe(0.2):
            last["how"] = {self.pick(["kill", "full"]): self.chance.randint(1, 40)}
        return {"seed": self.seed, "paths": self.make_paths(), "packages": [name for name in ("p0", "p1") if self.maybe(0.4)],
                "flags": [name for name in FLAGS if self.maybe(0.5)], "tree": self.tree,
                "steps": [*steps, {"do": "apply"}, {"do": "apply"}, last]}


# --- smaller ------------------------------------------------------------------------------------------------

def without(case, name):
    """The case without one state."""
    less = copy.deepcopy(case)
    less["tree"] = [decl for decl in less["tree"] if decl["id"] != name]
    for decl in less["tree"]:
        for others in decl.get("requisites", {}).values():
            others[:] = [other for other in others if other != name]
    return tidy(less)


def tidy(case):
    """Without lists that became empty."""
    for decl in case["tree"]:
        decl["requisites"] = {word: others for word, others in decl.get("requisites", {}).items() if others}
        if not decl["requisites"]:
            del decl["requisites"]
    return case


def smaller(case):
    """Cases with one thing less, the big things first."""
    for index in range(len(case["steps"])):
        less = copy.deepcopy(case)
        del less["steps"][index]
        yield less
    for decl in case["tree"]:
        yield without(case, decl["id"])
    for index, decl in enumerate(case["tree"]):
        for word, others in decl.get("requisites", {}).items():
            for other in others:
                if any(one["id"] == other and one.get("path") and one.get("path") == decl.get("path") for one in case["tree"]):
                    continue  # two states of one file need an order
                less = copy.deepcopy(case)
                less["tree"][index]["requisites"][word].remove(other)
                yield tidy(less)
    for index, decl in enumerate(case["tree"]):
        for key in decl:
            if key not in ("id", "module", "requisites", "path", "contents", "text", "target", "packages", "names"):
                less = copy.deepcopy(case)
                del less["tree"][index][key]
                yield less
    for index, step in enumerate(case["steps"]):
        if "how" in step:
            less = copy.deepcopy(case)
            del less["steps"][index]["how"]
            yield less
    for part in ("paths", "packages", "flags"):
        for name in case[part]:
            less = copy.deepcopy(case)
            if part == "paths":
                less[part] = {path: what for path, what in less[part].items() if path != name and not path.startswith(name + "/")}
            else:
                less[part].remove(name)
            yield less


def shrink(case, fails, tries=400):
    """The smallest case that can be reached by leaving out one thing at a time. `fails(case)` says whether it still fails."""
    progress = True
    while progress and tries > 0:
        progress = False
        for less in smaller(case):
            tries -= 1
            if tries < 0:
                break
            if less["tree"] and less["steps"] and fails(less):
                case, progress = less, True
                break
    return case
