"""promises - lists of promises and the tests that hold them, tests/promises/NAME.txt, as docs/NAME-conformance.md.

A list has sections, `## title`. A promise is a line; its tests follow, each on a line of its own, indented: `file::test`.
"""
import glob
import os

FOLDER = "tests/promises"
# What a list is about, where its name does not say it.
TITLES = {"salt": "files that were written for Salt"}
# How a test of each kind of file is written down.
TEST_FORMS = {".c": "TEST({})\n", ".py": "def {}(", ".txt": "## {}\n"}


class Mistake(Exception):
    """A promise without a test, or a test that is not there."""


def has_test(path, name):
    """Does the file `path`, wherever it is, have this test?"""
    form = TEST_FORMS.get(os.path.splitext(path)[1])
    if not form or not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        return form.format(name) in file.read()


def read(path):
    """[(title, [(promise, [test])])], as the list has them."""
    sections = []
    with open(path, encoding="utf-8") as file:
        for line in (line.rstrip("\n") for line in file):
            if line.startswith("## "):
                sections.append((line[3:], []))
            elif line.startswith("    "):
                sections[-1][1][-1][1].append(line.strip())
            elif line and not line.startswith("#"):
                sections[-1][1].append((line, []))
    return sections


def check(path, root="."):
    for title, rows in read(path):
        for promise, tests in rows:
            if not tests:
                raise Mistake(f"{path}: '{promise}' ({title}) names no test; add one below it: file::test")
            for test in tests:
                file, _, name = test.partition("::")
                if not has_test(os.path.join(root, file), name):
                    raise Mistake(f"{path}: there is no test '{name}' in '{file}'; name the one that holds '{promise}'")


def rows_of(section):
    """Its rows in the document."""
    return [f"| {promise} | {', '.join(f'`{test}`' for test in tests)} |" for promise, tests in section]


def page(path):
    """The document, once every promise has its tests."""
    check(path)
    name = os.path.splitext(os.path.basename(path))[0]
    sections = read(path)
    parts = [f"# Conformance of {TITLES.get(name, f'the {name}')}\n\nWhat is promised of it, and the tests that hold it: {sum(len(rows) for _, rows in sections)} promises. "
             f"Written by `make docs` from\n`{path}`, which fails when a promise has no test or a test is not there; so does `make lint`.\n"]
    for title, rows in sections:
        parts.append("\n".join([f"\n## {title}\n", "| promise | test |", "|---|---|", *rows_of(rows), ""]))
    return "".join(parts)


def pages():
    """{document: list}, for all lists."""
    return {f"docs/{os.path.splitext(os.path.basename(path))[0]}-conformance.md": path for path in sorted(glob.glob(f"{FOLDER}/*.txt"))}
