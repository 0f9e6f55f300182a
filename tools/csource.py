"""csource - what the lint checks share: C files of a tree, code without its comments and texts, and
problems printed as "file:line: what; what to do".

Each check is a script with a function `check(tree)` that returns a list of Problem. It runs alone
(tools/check-x [FOLDER]) or from tools/lint.
"""
import dataclasses
import functools
import os
import re
import sys


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    file: str
    line: int
    text: str
    note: bool = False  # worth a look, not refused

    def __str__(self):
        return f"{self.file}:{self.line}: {'note: ' if self.note else ''}{self.text}"


@dataclasses.dataclass(frozen=True)
class Comment:
    line: int
    text: str


class Source:
    """One C file. `code` has the same lines and columns as `text`, with comments and the content of
    string and character literals replaced by blanks."""

    def __init__(self, path, text, folder=""):
        """`folder` is core/base for src/core/base/map.c, and empty outside of src/."""
        self.path, self.text, self.folder = path, text, folder
        self.comments = []
        self.code = self._blank()
        self.lines = self.code.split("\n")

    def _blank(self):
        def replace(match):
            part = match.group()
            if part.startswith(("//", "/*")):
                self.comments.append(Comment(self.text.count("\n", 0, match.start()) + 1, part))
                return re.sub(r"[^\n]", " ", part)
            return part[0] + re.sub(r"[^\n]", " ", part[1:-1]) + part[-1]

        pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
        return re.sub(pattern, replace, self.text, flags=re.S)

    def includes(self):
        """(line, '<' or '"', path) of each #include."""
        for number, line in enumerate(self.text.split("\n"), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                yield number, match.group(1), match.group(2)

    @functools.cached_property
    def functions(self):
        """(name, first line, count of lines) of each function: its body opens with a brace in the
        first column, which is what clang-format makes of it."""
        found, start = [], None
        for number, line in enumerate(self.lines):
            if line == "{":
                start = number
            elif line == "}" and start is not None:
                first = self._signature(start)
                head = " ".join(self.lines[first:start])
                match = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)\)*", "", head))
                found.append((match.group(1) if match else "?", first + 1, number - first + 1))
                start = None
        return found

    def _signature(self, brace):
        first = brace
        while first > 0 and self.lines[first - 1].strip() and self.lines[first - 1][-1] not in ";}":
            if self.lines[first - 1].startswith("#"):
                break
            first -= 1
        return first


LAYERS = "src/LAYERS"


class Floors:
    """src/LAYERS: the floors, their folders, and what each folder may use."""

    def __init__(self, text):
        self.floors, self.folders = {}, {}  # floor -> lower floors; floor/folder -> the folders that it may use
        self.problems = []
        floor = None
        for number, line in enumerate(text.split("\n"), 1):
            line = line.split("#")[0].rstrip()
            match = re.fullmatch(r"(    )?([\w/]+):((?:\s+[\w/]+)*)", line)
            if line and (not match or match.group(1) and floor is None):
                self._refuse(number, "not 'floor: floor...', nor, below a floor, '    folder: folder...'")
            elif line and match.group(1):
                self._add_folder(number, floor, match.group(2), match.group(3).split())
            elif line:
                floor = match.group(2)
                self._add_floor(number, floor, match.group(3).split())

    def _refuse(self, number, text):
        self.problems.append(Problem(LAYERS, number, text))

    def _add_floor(self, number, floor, uses):
        if floor in self.floors:
            self._refuse(number, f"a second line for '{floor}'; join the two")
        self._check_above(number, floor, uses, self.floors)
        self.floors[floor] = uses

    def _add_folder(self, number, floor, name, uses):
        folder = f"{floor}/{name}"
        if folder in self.folders:
            self._refuse(number, f"a second line for '{name}'; join the two")
        same = [f"{floor}/{use}" for use in uses]
        self._check_above(number, folder, same, self.folders)
        lower = [known for known in self.folders if known.split("/")[0] in self.floors[floor]]
        self.folders[folder] = {folder, *same, *lower}

    def _check_above(self, number, name, uses, known):
        for use in uses:
            if use not in known:
                self._refuse(number, f"'{name}' names '{use}', which is not above it; move what it needs down, or the line")

    def folder_of(self, path):
        """core/base for core/base/map.h; commands/cli/fleet where that has a line of its own. A file directly below src/ has none."""
        parts = os.path.dirname(path).split("/")
        for length in range(len(parts), 1, -1):
            if "/".join(parts[:length]) in self.folders:
                return "/".join(parts[:length])
        return "/".join(parts[:2])


class Tree:
    """The files of a checkout."""

    def __init__(self, root="."):
        self.root = root

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def read(self, path):
        with open(self.path(path), encoding="utf-8", errors="replace") as file:
            return file.read()

    @functools.cached_property
    def sources(self):
        """All C files below src/ and tests/, in order."""
        found = []
        for top in ("src", "tests"):
            for folder, _, names in os.walk(self.path(top)):
                found += [os.path.relpath(os.path.join(folder, name), self.root)
                          for name in names if name.endswith((".c", ".h"))]
        return [Source(path, self.read(path), self.folder_of(path)) for path in sorted(found)]

    @functools.cached_property
    def floors(self):
        return Floors(self.read(LAYERS) if os.path.exists(self.path(LAYERS)) else "")

    def folder_of(self, path):
        """The folder of src/LAYERS that a file belongs to, as floor/folder; empty outside of src/."""
        return self.floors.folder_of(path.removeprefix("src/")) if path.startswith("src/") else ""


def report(problems):
    """Print them; 1 when one is more than a note."""
    for problem in sorted(problems):
        print(problem)
    return 1 if any(not problem.note for problem in problems) else 0


def main(check):
    sys.exit(report(check(Tree(sys.argv[1] if len(sys.argv) > 1 else "."))))
