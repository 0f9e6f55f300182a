#!/usr/bin/python3
"""check-words: phrases that CONTRIBUTING.md (Words) replaces by better ones.

In comments and string literals of src/, in the documents, the manual pages, examples and tools.
"""
import bisect
import glob
import os
import re

from csource import Problem, main

# What not to write -> what to write instead.
PHRASES = {
    r"(?<!here )\b(?:is|are|was|were) no (?!longer\b|more\b)": "'is not a ...'",
    r"\bwants\b": "'requires', 'expects' or 'needs'",
    r"\b(?:is|are|was|were|be) told\b": "'is reported'",
    r"\b(?:is|are) to be\b": "'must be'",
    r"\bhas not (?:a|an|any|the)\b": "'does not have'",
    r"\bas they should be\b": "'unchanged'",
    r"\b(?:take|takes|taken|took) back\b": "'revert'",
    r"\b(?:goes|gone|went) its own way\b": "'has diverged'",
    r"\blooks after\b": "'manages'",
    r"\bthere twice\b": "'duplicate'",
    r"\bmend(?:s|ed|ing)?\b": "'fix'",
    r"\bas it should be\b": "'up to date'",
    r"\bmay not hold\b": "'must not contain'",
    r"' exclude each other\b": "'are mutually exclusive'",
    r"\bby chance\b": "'random'",
    r"\bworth telling\b": "'to report'",
    r"; without:": "'(default: ...)'",
    r"\ban URL\b": "'a URL'",
    r"\b(?:goes|stands|put|puts) behind\b": "'after'",
    r"\bis as it was\b": "'restored'",
    r"\b(?:is|are|was|were) not to\b": "'must not'",
    r"\band told\b": "'and reported'",
    r"\bas good as\b": "'counts as'",
    r"\bany more\b": "'no longer'",
}
BAD = [(re.compile(pattern), instead) for pattern, instead in PHRASES.items()]

DOCUMENTS = ["README.md", "CHANGELOG.md", *sorted(glob.glob("docs/**/*.md", recursive=True))]

# Whole files, but not this one, which names what it refuses, nor the glossary.
OTHERS = ["Makefile", "packaging/man/*", "tools/*", "examples/**/*"]

LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def check_text(path, first, text, problems):
    """A phrase that is broken over lines counts at the line on which it begins."""
    words = list(re.finditer(r"\S+", re.sub(r"(?m)^[ \t]*\*(?!/)", lambda match: " " * len(match.group()), text)))
    flat, starts = "", []
    for word in words:
        starts.append(len(flat))
        flat += word.group() + " "
    for pattern, instead in BAD:
        for match in pattern.finditer(flat):
            begin = words[bisect.bisect_right(starts, match.start()) - 1].start()
            line = first + text.count("\n", 0, begin)
            problems.append(Problem(path, line, f"'{match.group().strip()}'; write {instead} (CONTRIBUTING.md, Words)"))


def check_source(source, problems):
    for comment in source.comments:
        check_text(source.path, comment.line, comment.text, problems)
    for number, line in enumerate(source.text.split("\n"), 1):
        for literal in LITERAL.findall(line):
            check_text(source.path, number, literal, problems)


def list_others(tree):
    found = {path for pattern in OTHERS for path in glob.glob(tree.path(pattern), recursive=True) if os.path.isfile(path)}
    names = sorted(os.path.relpath(path, tree.path("")) for path in found)
    return [name for name in names if name != "tools/check_words.py" and not name.endswith(".pyc")]


def check(tree):
    problems = []
    for source in tree.sources:
        if source.path.startswith("src/"):
            check_source(source, problems)
    for path in [*DOCUMENTS, *list_others(tree)]:
        if os.path.exists(tree.path(path)):
            check_text(path, 1, tree.read(path), problems)
    return problems


if __name__ == "__main__":
    main(check)
