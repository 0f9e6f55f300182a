#!/usr/bin/python3
"""check-docs: what the documents name is there.

Every `file.c:function()` and `struct x` in docs/ARCHITECTURE.md is defined in src/, the function in such a file, every `src/...`, `tests/...`, `docs/...`
and `tools/...` path exists, and so does every file that a Markdown link points to. Every point of docs/reference/salt.md in
which a Salt user meets a difference names its tests in a comment, `<!-- test_x tests/golden/y.txt -->`, and they exist.
Every promise of tests/promises names the tests that hold it, and they exist (tools/promises.py). In comments of src/, every function of a line of calls (`x_new -> x_add... -> x_free`) and every
header of one of its folders (`core/base/map.h`) is there. Wherever else a document names a test as `tests/file::test`, it exists too. docs/README.md,
the index, names every document beside and below it.
"""
import glob
import os
import re

import promises
from csource import Problem, main

TOURS = "docs/ARCHITECTURE.md"
INDEX = "docs/README.md"
FUNCTION = re.compile(r"`(?:(\w+\.[ch]):)?(\w+)\(\)`")
STRUCT = re.compile(r"`struct (\w+)`")
PATH = re.compile(r"`((?:src|tests|docs|tools|packaging|bench|examples)/[\w./-]+)`")
# " *     x_new -> x_free" in a comment, and what it names
CALLS = re.compile(r" \*     .* -> ")
NAME = re.compile(r"\b[a-z]+_\w+")
HEADER = re.compile(r"\b[a-z]\w*(?:/\w+)+\.[ch]\b")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


DIFFERENCES = "docs/reference/salt.md"
# The sections of it whose rows and paragraphs are points.
POINTS = ("## What the suffix changes", "## What differs")
TESTS = re.compile(r"<!--\s*((?:test_\w+|tests/[\w./]+)(?:\s+(?:test_\w+|tests/[\w./]+))*)\s*-->")
TEST = re.compile(r"`([^`]+?)::([^`]+)`")
RULE = re.compile(r"\|[-|: ]+\|$")


def documents(tree):
    found = glob.glob(tree.path("*.md")) + glob.glob(tree.path("docs", "**", "*.md"), recursive=True)
    return sorted(os.path.relpath(path, tree.root) for path in found)


def check_functions(tree, problems):
    defined = {(os.path.basename(source.path), name) for source in tree.sources if source.folder for name, _, _ in source.functions}
    for number, line in enumerate(tree.read(TOURS).split("\n"), 1):
        for file, name in FUNCTION.findall(line):
            if not file:
                problems.append(Problem(TOURS, number, f"'{name}()' is named without its file; write file.c:{name}()"))
            elif (file, name) not in defined:
                text = f"'{name}()' is not defined in a file '{file}' of src/; name the function that runs now"
                problems.append(Problem(TOURS, number, text))
        for name in STRUCT.findall(line):
            if not any(f"struct {name} {{" in source.code for source in tree.sources if source.folder):
                problems.append(Problem(TOURS, number, f"'struct {name}' is not defined in src/; name the one that is used now"))


def check_paths(tree, path, problems):
    for number, line in enumerate(tree.read(path).split("\n"), 1):
        for name in PATH.findall(line):
            if not os.path.exists(tree.path(name)):
                problems.append(Problem(path, number, f"'{name}' is not there; name the file that is"))
        for name in LINK.findall(line):
            if not os.path.exists(tree.path(os.path.dirname(path), name)):
                problems.append(Problem(path, number, f"the link to '{name}' leads nowhere; correct the path"))


def check_comments(tree, problems):
    sources = [source for source in tree.sources if source.folder]
    known = {word for source in sources for word in re.findall(r"\w+", source.code)}
    for source in sources:
        for comment in source.comments:
            for number, line in enumerate(comment.text.split("\n"), comment.line):
                for name in NAME.findall(line) if CALLS.match(line) else ():
                    if name not in known:
                        problems.append(Problem(source.path, number, f"'{name}' is not defined in src/; name what is called now"))
                for path in HEADER.findall(line):
                    if path.split("/")[0] in tree.floors.floors and not os.path.exists(tree.path("src", path)):
                        problems.append(Problem(source.path, number, f"'{path}' is not there; name the file that is"))


def find_points(text):
    """Rows of tables and paragraphs of the sections: line of the end, text."""
    inside, paragraph = False, []
    lines = text.split("\n")
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("## "):
            inside = line in POINTS
        if inside and line.startswith("|") and not RULE.match(line) and not RULE.match((lines + [""])[number]):
            yield number, line
        elif inside and line and not line.startswith(("#", "|")):
            paragraph.append(line)
        elif paragraph:
            yield number - 1, "\n".join(paragraph)
            paragraph = []


def check_points(tree, problems):
    defined = set()
    for path in glob.glob(tree.path("tests", "e2e", "*", "test_*.py")):
        with open(path) as file:
            defined.update(re.findall(r"^def (test_\w+)\(", file.read(), re.MULTILINE))
    for number, text in find_points(tree.read(DIFFERENCES)):
        named = [name for names in TESTS.findall(text) for name in names.split()]
        if not named:
            problems.append(Problem(DIFFERENCES, number, "this point names no test; add <!-- test_x -->"))
        for name in named:
            if name not in defined and not (name.startswith("tests/") and os.path.exists(tree.path(name))):
                problems.append(Problem(DIFFERENCES, number, f"there is no test '{name}'; name the one that shows this point"))


def check_promises(tree, problems):
    for path in sorted(glob.glob(tree.path(promises.FOLDER, "*.txt"))):
        problems += [Problem(os.path.relpath(path, tree.root), line, text) for line, text in promises.mistakes(path, tree.root)]


def check_named_tests(tree, path, problems):
    for number, line in enumerate(tree.read(path).split("\n"), 1):
        for file, name in TEST.findall(line):
            if file.startswith("tests/") and not promises.has_test(tree.path(file), name):
                problems.append(Problem(path, number, f"there is no test '{name}' in '{file}'; name the one that shows this"))


def check_index(tree, problems):
    named = set(LINK.findall(tree.read(INDEX)))
    for path in documents(tree):
        if path.startswith("docs/") and path != INDEX and os.path.relpath(path, "docs") not in named:
            problems.append(Problem(path, 1, f"this document is not in {INDEX}; add it to the line of its task"))


def check(tree):
    problems = []
    check_promises(tree, problems)
    if os.path.exists(tree.path(DIFFERENCES)):
        check_points(tree, problems)
    if os.path.exists(tree.path(INDEX)):
        check_index(tree, problems)
    check_comments(tree, problems)
    if os.path.exists(tree.path(TOURS)):
        check_functions(tree, problems)
    for path in documents(tree):
        check_paths(tree, path, problems)
        check_named_tests(tree, path, problems)
    return problems


if __name__ == "__main__":
    main(check)
