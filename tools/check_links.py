#!/usr/bin/python3
"""check-links: who really uses whom. src/LAYERS speaks of includes; a function can be declared in one folder and
defined in another, and then code below uses code above without a line that shows it. So the objects of the release
build are asked (nm):

- an object refers only to symbols of its own folder and of those that src/LAYERS lets it include;
- what a header declares is defined in the header's folder, or a table that the build makes;
- every object is linked into a program: what none needs is dead.

A table that the build makes (build/generated) belongs to the folder whose header declares it, and may name anything.

Objects that are missing or older than their sources are problems, too: build first.
"""
import os
import re
import subprocess

from csource import Problem, main

BUILD = "build/release"
# Files and folders that no program is linked with yet -> why they are there. What they need counts as linked.
UNLINKED = {}
EXTERN = re.compile(r"^extern\b[^;()]*?\b(\w+)(?:\[[^;]*\])*;", re.M)
DECLARATION = re.compile(r"^[A-Za-z_][\w\s*]*?\b(\w+)\([^;{}]*\)[^;{}]*;", re.M)
SKIPPED = re.compile(r"^\s*(?:static|typedef|#)")


class Objects:
    """What each object of the build defines and needs. Objects are named by their sources."""

    def __init__(self, tree):
        self.tree, self.defined, self.needed = tree, {}, {}
        self.problems = []
        self.sources = [s.path for s in tree.sources if s.folder and s.path.endswith(".c")]
        self.stale = [path for path in self.sources if self._is_stale(path)]
        if not self.stale:
            self._ask(self.sources + self._generated())

    def _object_of(self, path):
        return self.tree.path(BUILD, path[:-2] + ".o")

    def _generated(self):
        folder = self.tree.path(BUILD, "build/generated")
        return [f"build/generated/{name[:-2]}.c" for name in sorted(os.listdir(folder)) if name.endswith(".o")] \
            if os.path.isdir(folder) else []

    def _is_stale(self, path):
        made = self._object_of(path)
        return not os.path.exists(made) or os.path.getmtime(made) < os.path.getmtime(self.tree.path(path))

    def _ask(self, paths):
        objects = {self._object_of(path): path for path in paths}
        out = subprocess.run(["nm", "-A", "-g", *objects], text=True, capture_output=True, check=True).stdout
        for path in paths:
            self.defined[path], self.needed[path] = set(), set()
        for line in out.splitlines():
            made, rest = line.split(":", 1)
            words = rest.split()
            symbol, kind = words[-1], words[-2]
            (self.needed if kind in "Uvw" else self.defined)[objects[made]].add(symbol)


def headers(tree):
    return [source for source in tree.sources if source.folder and source.path.endswith(".h")]


def read_externs(tree):
    """Variable -> the folder whose header declares it."""
    return {name: source.folder for source in headers(tree) for name in EXTERN.findall(source.code)}


def check_uses(tree, objects, owner, problems):
    externs = read_externs(tree)
    for path, needed in sorted(objects.needed.items()):
        folder = tree.folder_of(path)
        for symbol in sorted(needed) if folder else []:
            used = tree.folder_of(owner[symbol]) or externs.get(symbol, "") if symbol in owner else folder
            if used not in tree.floors.folders.get(folder, set()):
                text = f"uses '{symbol}' of {owner[symbol]}, and '{folder}' may not use '{used}' (src/LAYERS); " \
                       "let the caller hand it in, or move the code"
                problems.append(Problem(path, 1, text))


def declared(source):
    """(where in the code, name) of each function and variable that a header declares."""
    for match in DECLARATION.finditer(source.code):
        if not SKIPPED.match(match.group()):
            yield match.start(1), match.group(1)
    for match in EXTERN.finditer(source.code):
        yield match.start(1), match.group(1)


def check_headers(tree, owner, problems):
    """What a header declares and somebody else's folder defines."""
    for source in headers(tree):
        for place, name in declared(source):
            if name not in owner or tree.folder_of(owner[name]) in ("", source.folder):
                continue
            line = source.code.count("\n", 0, place) + 1
            text = f"'{name}' is declared here and defined in {owner[name]}; a header lives where its code is"
            problems.append(Problem(source.path, line, text))


def excuse_of(path):
    return next((place for place in UNLINKED if path == place or place.endswith("/") and path.startswith(place)), None)


def linked_from(objects, owner, roots):
    """All files that these need, as the linker finds them in an archive."""
    queue = list(roots)
    found = set(queue)
    while queue:
        for symbol in objects.needed[queue.pop()]:
            path = owner.get(symbol)
            if path and path not in found:
                found.add(path)
                queue.append(path)
    return found


def check_dead(objects, owner, problems):
    programs = linked_from(objects, owner, [path for path in objects.sources if path.startswith("src/commands/programs/")])
    excused = [path for path in objects.sources if excuse_of(path)]
    known = programs | linked_from(objects, owner, excused)
    for path in objects.sources:
        if path not in known:
            text = "no program is linked with this; remove it, or say in tools/check_links.py why it is there"
            problems.append(Problem(path, 1, text))
    for excuse in sorted({excuse_of(path) for path in excused}):
        if all(path in programs for path in excused if excuse_of(path) == excuse):
            text = f"programs are linked with '{excuse}'; take it out of the list of what is not linked"
            problems.append(Problem("tools/check_links.py", 1, text, note=excuse.endswith("/")))  # it may grow yet


def check(tree):
    problems = []
    objects = Objects(tree)
    if objects.stale:
        text = "has no object of the release build that is new enough; run make first"
        return [Problem(path, 1, text) for path in objects.stale[:1]]
    owner = {symbol: path for path, symbols in objects.defined.items() for symbol in symbols}
    check_uses(tree, objects, owner, problems)
    check_headers(tree, owner, problems)
    check_dead(objects, owner, problems)
    return problems


if __name__ == "__main__":
    main(check)
