#!/usr/bin/python3
"""check-sizes: files and functions that have grown past what a reader can hold.

A table that a tool writes is read by nobody: its first line says "/* Written by tools/NAME ...".
"""
import os
import re

from csource import Problem, main

FILE_MAX = 800
HEADER_NOTE = 250
FUNCTION_MAX = 100  # for one flat switch or one table
FUNCTION_NOTE = 60


def check_file(source, problems):
    count = source.text.count("\n")
    if count > FILE_MAX:
        text = f"{count} lines, more than {FILE_MAX}; look for the second noun in the file"
        problems.append(Problem(source.path, 1, text))
    elif source.path.endswith(".h") and count > HEADER_NOTE:
        text = f"a header of {count} lines, more than {HEADER_NOTE}; does it serve two things?"
        problems.append(Problem(source.path, 1, text, note=True))


def check_functions(source, problems):
    for name, line, count in source.functions:
        if count > FUNCTION_MAX:
            text = f"'{name}' has {count} lines, more than {FUNCTION_MAX}; cut it where it changes its subject"
            problems.append(Problem(source.path, line, text))
        elif count > FUNCTION_NOTE:
            text = f"'{name}' has {count} lines, more than {FUNCTION_NOTE}"
            problems.append(Problem(source.path, line, text, note=True))


def is_written(tree, source):
    match = re.match(r"/\* Written by (tools/[\w-]+)", source.text)
    return bool(match) and os.path.exists(tree.path(match.group(1)))


def check(tree):
    problems = []
    for source in tree.sources:
        if is_written(tree, source):
            continue
        check_file(source, problems)
        check_functions(source, problems)
    return problems


if __name__ == "__main__":
    main(check)
