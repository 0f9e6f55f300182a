"""promises - lists of promises and the tests that hold them: tests/promises/NAME.txt.

A list has sections, `## title`. A promise is a line; its tests follow, each on a line of its own, indented: `file::test`. One without
a test says why instead: `not built: ` or `not shown: ` and the reason.
"""
import os

FOLDER = "tests/promises"
WITHOUT = ("not built: ", "not shown: ")
# How a test of each kind of file is written down.
TEST_FORMS = {".c": "TEST({})\n", ".py": "def {}(", ".txt": "## {}\n"}


def has_test(path, name):
    """Does the file `path`, wherever it is, have this test?"""
    form = TEST_FORMS.get(os.path.splitext(path)[1])
    if not form or not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        return form.format(name) in file.read()


def read(path):
    """[(line, promise, [(line, test)])], as the list has them."""
    promises = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate((line.rstrip("\n") for line in file), 1):
            if line.startswith("    ") and promises:
                promises[-1][2].append((number, line.strip()))
            elif line and not line.startswith("#"):
                promises.append((number, line, []))
    return promises


def mistakes(path, root="."):
    """(line, text) of each promise without a test, and of each test that is not there."""
    for number, promise, tests in read(path):
        if not tests:
            yield number, f"'{promise}' names no test; add one below it: file::test"
        for line, test in tests:
            file, _, name = test.partition("::")
            if not test.startswith(WITHOUT) and not has_test(os.path.join(root, file), name):
                yield line, f"there is no test '{name}' in '{file}'; name the one that holds '{promise}'"
