"""`zester render` from the command line."""
import json
import os
import pathlib
import re
import subprocess

import pytest

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))


def render(*words, stdin=None, cwd=None):
    return subprocess.run([ZESTER, "render", *words], input=stdin, cwd=cwd, capture_output=True,
                          text=True, timeout=60)


def test_a_template_is_rendered_with_its_context(tmp_path):
    (tmp_path / "t.j2").write_text("{% for u in users %}{{ u.name|upper }}\n{% endfor %}")
    (tmp_path / "c.json").write_text(json.dumps({"users": [{"name": "ada"}, {"name": "bob"}]}))
    run = render("t.j2", "--context", "c.json", cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "ADA\nBOB\n", "")


def test_the_context_may_be_yaml(tmp_path):
    (tmp_path / "c.yaml").write_text("port: 0x10\nnames: [a, b]\n")
    run = render("-", "--context", str(tmp_path / "c.yaml"), stdin="{{ port }} {{ names|join }}")
    assert (run.returncode, run.stdout) == (0, "16 ab")


def test_the_last_newline_stays_unless_it_is_dropped():
    assert render("-", stdin="a\n").stdout == "a\n"
    assert render("-", "--drop-trailing-newline", stdin="a\n").stdout == "a"


def test_includes_are_found_in_the_folders_of_search_in_order(tmp_path):
    for folder, text in (("one", "first"), ("two", "second")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.j2").write_text(text)
    run = render("-", "--search", str(tmp_path / "one"), "--search", str(tmp_path / "two"),
                 stdin="{% include 'part.j2' %}")
    assert run.stdout == "first"


def test_an_include_never_leaves_its_folder(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in").mkdir()
    run = render("-", "--search", str(tmp_path / "in"), stdin="{% include '../secret' %}")
    assert run.returncode == 1
    assert run.stdout == ""
    assert "../secret" in run.stderr


@pytest.mark.parametrize("template, words", [
    ("{{ missing }}", ["-:1:4:", "'missing' is undefined", "^"]),
    ("a\n{{ {'name': 1}.nmae }}", ["-:2:", "nmae", "name"]),
    ("{{ 'x'|uper }}", ["no filter named 'uper'", "did you mean 'upper'?"]),
    ("{% fro x in y %}", ["-:1:4:", "fro", "for"]),
    ("{% if a %}", ["if", "endif"]),
    ("{{ 1 / 0 }}", ["division by zero"]),
    ("{{ 9223372036854775807 + 1 }}", ["integer overflow"]),
    ("{% for i in range(10) %}{{ raise('no more') if i == 3 }}{% endfor %}", ["no more"]),
])
def test_errors_say_where_and_what_to_try(template, words):
    run = render("-", stdin=template)
    assert run.returncode == 1
    assert run.stdout == ""
    for word in words:
        assert word in run.stderr


def test_an_error_inside_an_include_shows_the_way_there(tmp_path):
    (tmp_path / "inner.j2").write_text("ok\n{{ nope }}\n")
    (tmp_path / "outer.j2").write_text("{% include 'inner.j2' %}\n")
    run = render("outer.j2", cwd=tmp_path)
    assert run.returncode == 1
    assert "inner.j2:2:4: 'nope' is undefined" in run.stderr
    assert "outer.j2:1:" in run.stderr


def test_undefined_is_nothing_when_asked_for():
    assert render("-", "--undefined", "lenient", stdin="[{{ missing }}]").stdout == "[]"


def test_endless_loops_and_recursion_end_with_a_named_limit():
    for template in ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
                     "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
                     "{% set x = namespace(s='ab') %}{% for i in range(60) %}{% set x.s = x.s ~ x.s %}{% endfor %}"):
        run = render("-", stdin=template)
        assert run.returncode == 1, template
        assert run.stderr, template


def test_a_missing_file_and_a_wrong_option_are_errors(tmp_path):
    run = render(str(tmp_path / "none.j2"))
    assert run.returncode == 1 and "none.j2" in run.stderr
    run = render("x", "--serach", "y")
    assert run.returncode == 1 and "did you mean '--search'?" in run.stderr


def test_bad_json_in_the_context_is_reported_with_its_place(tmp_path):
    (tmp_path / "c.json").write_text('{"a": 1,\n "b": }')
    run = render("-", "--context", str(tmp_path / "c.json"), stdin="x")
    assert run.returncode == 1
    assert "c.json:2:" in run.stderr


def test_doc_lists_every_kind_of_function():
    run = subprocess.run([ZESTER, "doc", "jinja"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0
    for word in ("regex_replace", "divisibleby", "namespace"):
        assert word in run.stdout


def test_every_filter_has_a_case():
    """In the golden cases, in those that are compared with Jinja2, or in a test that needs a machine."""
    manual = subprocess.run([ZESTER, "doc", "jinja"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z0-9_]+)[:(]", manual[:manual.index("tests, used as")], re.MULTILINE)
    here = pathlib.Path(__file__).resolve().parents[1]
    cases = "".join(path.read_text() for path in [*here.glob("**/*.py"), *here.parent.glob("golden/**/*.txt")])
    assert len(names) > 140
    assert [name for name in names if not re.search(rf"\|\s*{name}\b|['\"]{name}['\"]", cases)] == []
