#!/usr/bin/python3
"""check-tidy: clang-tidy on the C files that changed, or on all of them.

Changed means: against the place where the branch left main, or on main itself against the commit
before; and what is not committed yet. A changed header means the sources that include it first. A file
that passed is remembered in build/lint by what it and its headers hold and how it is compiled, and not
checked again. Without
--all no file is begun after BUDGET seconds: what is left is said, and the next run goes on from there.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

from csource import Problem, main

MEMORY = "build/lint"
DATABASE = "compile_commands.json"
JOBS = 2
BUDGET = 20


def git(tree, *words):
    """Lines of output; none when there is no git or no history."""
    if not shutil.which("git"):
        return []
    result = subprocess.run(["git", *words], cwd=tree.root, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    return result.stdout.split("\n") if result.returncode == 0 else []


def base_commit(tree):
    """Where the work in this tree began; None without history."""
    head = git(tree, "rev-parse", "HEAD")[:1]
    for main_name in ("origin/main", "main"):
        base = git(tree, "merge-base", "HEAD", main_name)[:1]
        if base and base != head:
            return base[0]
    return (git(tree, "rev-parse", "--verify", "-q", "HEAD~1")[:1] or [None])[0]


def changed(tree):
    base = base_commit(tree)
    names = git(tree, "diff", "--name-only", base) if base else git(tree, "ls-files")
    names += git(tree, "ls-files", "--others", "--exclude-standard")
    changed_headers = {name.removeprefix("src/") for name in names if name.endswith(".h")}
    wanted = set(names)
    for source in tree.sources:
        own = next((path for _, kind, path in source.includes() if kind == '"'), None)
        if own in changed_headers:
            wanted.add(source.path)
    return [source.path for source in tree.sources if source.path in wanted and source.path.endswith(".c")]


def closure(tree, path, seen):
    """The files of this tree that `path` includes, itself among them."""
    if path in seen:
        return
    seen.add(path)
    for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', tree.read(path), re.M):
        for folder in ("src", "tests/unit", "build/generated", os.path.dirname(path)):
            if os.path.exists(tree.path(folder, name)):
                closure(tree, os.path.join(folder, name), seen)
                break


def commands(tree):
    """How each file is compiled."""
    return {entry["file"]: " ".join(entry["arguments"]) for entry in json.loads(tree.read(DATABASE))}


def memory_of(tree, path, command):
    files = set()
    closure(tree, path, files)
    digest = hashlib.sha256(command.encode())
    for name in [".clang-tidy", *sorted(files)]:
        digest.update(f"{name}\0{tree.read(name)}\0".encode())
    return tree.path(MEMORY, digest.hexdigest())


def check_file(tree, path, command):
    memory = memory_of(tree, path, command)
    if os.path.exists(memory):
        return []
    result = subprocess.run(["clang-tidy", "--quiet", "-p", ".", path], cwd=tree.root, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    root = os.path.realpath(tree.root) + "/"
    found = [Problem(file.removeprefix(root), int(line), f"{text.replace(',-warnings-as-errors', '')}; fix it")
             for file, line, text in re.findall(r"^(\S+?):(\d+):\d+: (?:error|warning): (.*)$", result.stdout, re.M)]
    if result.returncode != 0 and not found:
        return [Problem(path, 1, f"clang-tidy: {(result.stderr or result.stdout).strip()}")]
    if not found:
        os.makedirs(tree.path(MEMORY), exist_ok=True)
        with open(memory, "w", encoding="utf-8"):
            pass
    return found


def check(tree, everything=False):
    if not os.path.exists(tree.path(DATABASE)):
        return [Problem(DATABASE, 1, "not there, and clang-tidy needs it; run: make compile_commands.json")]
    paths = [s.path for s in tree.sources if s.path.endswith(".c")] if everything else changed(tree)
    command_of = commands(tree)
    end = time.monotonic() + BUDGET
    left = []

    def one(path):
        if everything or time.monotonic() < end:
            return check_file(tree, path, command_of.get(path, ""))
        left.append(path)
        return []

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        found = {problem for problems in pool.map(one, paths) for problem in problems}
    if left:
        text = f"{len(left)} changed files not checked for want of time; run again, or make lint-all"
        found.add(Problem(left[0], 1, text, note=True))
    return sorted(found)


if __name__ == "__main__":
    main(check)
