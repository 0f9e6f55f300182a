"""debconf.set and set_file with the real debconf, on a copy of its database."""
import pytest

from machine import PROGRAM, Machine, skip_without

QUESTIONS = "{zt/host: {type: string, value: mail.example.org}, zt/pass: {type: password, value: 'geheim word'}}"


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    skip_without("debconf-communicate", "debconf-set-selections")
    machine = Machine(tmp_path)
    machine.sh("mkdir /mnt/debconf; cp -a /var/cache/debconf/. /mnt/debconf; mount --bind /mnt/debconf /var/cache/debconf")
    yield machine
    machine.leave()


def answers(machine, *commands):
    text = "\\n".join(("CAPB escape", *commands))
    return machine.sh(f"printf '{text}\\n' | debconf-communicate zt || true").splitlines()[1:]


def test_a_password_is_set_and_shown_nowhere(machine):
    (machine.states / "case.zy").write_text(f"it:\n  debconf.set: [{{name: zt-mail}}, {{data: {QUESTIONS}}}]\n")
    for words in (["--test"], []):
        result = machine.run(PROGRAM, "--local", "--states-dir", machine.states, "--data-dir", machine.root / "data",
                             "state.apply", "case", *words, check=False)
        assert "zt/pass" in result.stdout and "geheim" not in result.stdout + result.stderr
    assert answers(machine, "GET zt/pass", "METAGET zt/pass type", "METAGET zt/pass owners", "FGET zt/pass seen") == [
        "1 geheim word", "1 password", "1 zt-mail", "0 true"]
    machine.revert()
    assert answers(machine, "GET zt/pass") == ["10 zt/pass doesn't exist"]


def test_a_revert_restores_value_type_owner_and_flag(machine):
    machine.sh("printf 'zt-old zt/host note a  b\\nzt-old zt/host seen false\\n' | debconf-set-selections")
    machine.sh(r"printf 'CAPB escape\nSET zt/host a\\ \\ b\\nsecond\n' | debconf-communicate zt-old")
    before = answers(machine, "GET zt/host", "METAGET zt/host type", "METAGET zt/host owners", "FGET zt/host seen")
    assert before == ["1 a  b\\nsecond", "1 note", "1 zt-old", "0 false"]
    machine.settles(f"it:\n  debconf.set: [{{name: zt-mail}}, {{data: {QUESTIONS}}}]\n")
    machine.revert()
    assert answers(machine, "GET zt/host", "METAGET zt/host type", "METAGET zt/host owners", "FGET zt/host seen") == before


def test_a_file_is_rendered_and_its_lines_are_compared(machine):
    (machine.states / "selections").write_text(
        "# comment\n\nzt-a zt/one string  {{ word }} \\\n  more\nzt-b zt/two multiselect a, b\nzt-b zt/two seen false\n")
    text = "it:\n  debconf.set_file: [{name: x}, {source: salt://selections}, {template: jinja}, {context: {word: hello}}]\n"
    machine.settles(text)
    assert answers(machine, "GET zt/one", "GET zt/two", "FGET zt/two seen", "METAGET zt/two owners") == [
        "1  hello   more", "1 a, b", "0 false", "1 zt-b"]
    (machine.states / "selections").write_text("zt-a zt/one string\nbroken line\n")
    state = machine.apply(text)["debconf.set_file:it"]
    assert state["failed"] and "selections: line 2: expected: PACKAGE QUESTION TYPE VALUE" in state["text"]


def test_mistakes_are_reported_before_anything_runs(machine):
    said = machine.mistakes("""
a: {debconf.set: [{name: x}, {data: {x/a: {type: boolean, value: maybe}}}]}
b: {debconf.set: [{name: x}, {data: {x/a: {type: colour, value: red}}}]}
c: {debconf.set: [{name: x}, {data: {x/a: {type: string, value: "a\\nb"}}}]}
d: {debconf.set: [{name: x y}, {data: {x/a: {type: string, value: a}}}]}
e: {debconf.set: [{name: x}, {data: {x/a: 1}}]}
f: {debconf.set: [{name: x}]}
""")
    for words in ("question 'x/a' is a boolean: its value must be true or false", "question 'x/a' has an unknown type: 'colour'",
                  "the value of 'x/a' must be one line", "'x y' is not a valid package name",
                  "each question must be a map with 'type' and 'value'", "'data'"):
        assert words in said, said
