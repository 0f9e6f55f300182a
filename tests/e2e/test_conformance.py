"""Every promise of docs/reactor-conformance.md has a test that exists."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# How a test of each kind of file is written down.
FORMS = {".c": "TEST({})\n", ".py": "def {}(", ".txt": "## {}\n"}


def rows():
    text = (ROOT / "docs/reactor-conformance.md").read_text()
    return re.findall(r"^\| (.+?) \| `([^`]+?)::([^`]+)` \|$", text, re.M)


def test_every_promise_names_a_test_that_exists():
    found = rows()
    assert len(found) > 60
    missing = [f"{path}::{name}" for _, path, name in found
               if FORMS[pathlib.Path(path).suffix].format(name) not in (ROOT / path).read_text()]
    assert missing == []


def test_every_line_of_the_table_is_a_promise_with_its_test():
    lines = [line for line in (ROOT / "docs/reactor-conformance.md").read_text().splitlines() if line.startswith("| ")]
    assert len(lines) - 1 == len(rows())  # but for the heading
