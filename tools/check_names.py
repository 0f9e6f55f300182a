#!/usr/bin/python3
"""check-names: a name leads to one place.

- a struct, union or enum that a header of src/ defines has that name alone: no second header and no source defines it again;
- a static function of src/ has a name of at least two words, and at most three files use it;
- less than 8 % of all static functions share their name with one in another file.

Verbs of modules are meant to be alike: `present_check()` in src/states/modules/user/present.c. So is `main()`.
"""
import collections
import os
import re

from csource import Problem, main

FILES_MAX = 3
SHARED_MAX = 0.08
TAG = re.compile(r"^(?:struct|union|enum) (\w+) \{", re.M)
MODULES = "src/states/modules/"
VERBS = ("check", "apply", "revert", "validate", "call")


def line_of(source, place):
    return source.code.count("\n", 0, place) + 1


def check_tags(tree, problems):
    """Every place that defines a tag which some header defines."""
    places = collections.defaultdict(list)
    for source in tree.sources:
        if source.folder:
            for match in TAG.finditer(source.code):
                places[match.group(1)].append((source.path, line_of(source, match.start())))
    for name, found in places.items():
        first = next((path for path, _ in found if path.endswith(".h")), None)
        for path, line in found:
            if first and path != first:
                text = f"'{name}' is also defined in {first}; give one of them another name"
                problems.append(Problem(path, line, text))


def is_verb(path, name):
    stem = os.path.basename(path)[:-2]
    return path.startswith(MODULES) and any(name == f"{stem}_{verb}" for verb in VERBS)


def statics(tree):
    """(path, line, name) of each static function."""
    for source in tree.sources:
        for name, line, _ in source.functions if source.folder else ():
            if source.lines[line - 1].startswith("static") and not is_verb(source.path, name):
                yield source.path, line, name


def check_statics(tree, problems):
    found = list(statics(tree))
    files = collections.defaultdict(set)
    for path, _, name in found:
        files[name].add(path)
    for path, line, name in found:
        if "_" not in name:
            problems.append(Problem(path, line, f"a function called '{name}'; add what it works on, as in 'find_parent'"))
        elif len(files[name]) > FILES_MAX:
            text = f"'{name}' is a static function of {len(files[name])} files; at most {FILES_MAX}: name what this one works on"
            problems.append(Problem(path, line, text))
    shared = sum(len(files[name]) > 1 for _, _, name in found)
    if shared > SHARED_MAX * len(found):
        text = f"{shared} of {len(found)} static functions share their name with another file's; at most {SHARED_MAX:.0%}"
        problems.append(Problem("src", 1, text))


def check(tree):
    problems = []
    check_tags(tree, problems)
    check_statics(tree, problems)
    return problems


if __name__ == "__main__":
    main(check)
