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

    def __init__(self, path, text):
        self.path, self.text = path, text
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

    @property
    def folder(self):
        """base for src/base/map.c; an empty text outside of src/."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else ""

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
        return [Source(path, self.read(path)) for path in sorted(found)]


def report(problems):
    """Print them; 1 when one is more than a note."""
    for problem in sorted(problems):
        print(problem)
    return 1 if any(not problem.note for problem in problems) else 0


def main(check):
    sys.exit(report(check(Tree(sys.argv[1] if len(sys.argv) > 1 else "."))))
