#!/usr/bin/python3
"""check-docs: what the documents name is there.

Every `function()` in docs/ARCHITECTURE.md is defined in src/, every `src/...`, `tests/...`, `docs/...`
and `tools/...` path exists, and so does every file that a Markdown link points to.
"""
import glob
import os
import re

from csource import Problem, main

TOURS = "docs/ARCHITECTURE.md"
FUNCTION = re.compile(r"`(\w+)\(\)`")
PATH = re.compile(r"`((?:src|tests|docs|tools|packaging|bench|examples)/[\w./-]+)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def documents(tree):
    found = glob.glob(tree.path("*.md")) + glob.glob(tree.path("docs", "**", "*.md"), recursive=True)
    return sorted(os.path.relpath(path, tree.root) for path in found)


def check_functions(tree, problems):
    defined = {name for source in tree.sources if source.folder for name, _, _ in source.functions}
    for number, line in enumerate(tree.read(TOURS).split("\n"), 1):
        for name in FUNCTION.findall(line):
            if name not in defined:
                text = f"'{name}()' is not defined in src/; name the function that runs now"
                problems.append(Problem(TOURS, number, text))


def check_paths(tree, path, problems):
    for number, line in enumerate(tree.read(path).split("\n"), 1):
        for name in PATH.findall(line):
            if not os.path.exists(tree.path(name)):
                problems.append(Problem(path, number, f"'{name}' is not there; name the file that is"))
        for name in LINK.findall(line):
            if not os.path.exists(tree.path(os.path.dirname(path), name)):
                problems.append(Problem(path, number, f"the link to '{name}' leads nowhere; correct the path"))


def check(tree):
    problems = []
    if os.path.exists(tree.path(TOURS)):
        check_functions(tree, problems)
    for path in documents(tree):
        check_paths(tree, path, problems)
    return problems


if __name__ == "__main__":
    main(check)
