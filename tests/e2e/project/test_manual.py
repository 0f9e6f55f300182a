"""The manual pages: made from packaging/man and the command tables of the programs, and complete."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
PATIENCE = 120
PAGES = ["kepler-daemon.8", "kepler.1", "zester-master.8", "zester-migrate.1", "zester-peel.8", "zester-watchdog.8", "zester.1"]
# Read for facts and for marks of our own, not settings of a program.
NOT_SETTINGS = {"LANG", "SHELL", "KEPLER_TREE"}

sys.path.insert(0, str(TOP / "tools"))
import manual  # noqa: E402


def run(*words, **variables):
    return subprocess.run(words, cwd=TOP, capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **variables})


def help_of(program, *words):
    found = run(os.path.join(TOP, BUILD, program), *words, "--help")
    assert (found.returncode, found.stderr) == (0, ""), words
    return found.stdout


@pytest.fixture(name="render", scope="module")
def _render(tmp_path_factory):
    """The text of a page as man shows it, without a warning."""
    folder, known = tmp_path_factory.mktemp("man"), {}

    def render(name):
        if name not in known:
            path = folder / name
            path.write_text(manual.page(name, os.path.join(TOP, BUILD), "9.9"), encoding="utf-8")
            # Wide, without hyphens at the ends of lines, without bold: text to search in.
            shown = run("man", "--warnings=w", "--no-hyphenation", "--no-justification", "-l", str(path), MANWIDTH="240", MAN_KEEP_FORMATTING="")
            assert (shown.returncode, shown.stderr) == (0, ""), name
            known[name] = re.sub(r".\x08", "", shown.stdout)
        return known[name]
    return render


def listed(text):
    """The commands in the text of --help."""
    return re.findall(r"^  ([a-z][a-z-]*)  +\S", text.partition("\ncommands:\n")[2].partition("\n\n")[0], re.M)


def commands_of(program):
    """The words of each command: ("job", "watch")."""
    for name in listed(help_of(program)):
        yield (name,)
        yield from ((name, below) for below in listed(help_of(program, name)))


def section(page, words):
    """What the page says below the heading of a command."""
    found = re.search(rf"^   {re.escape(words)}( [^\n]*)?\n(.*?)(?=^ {{0,3}}\S|\Z)", page, re.M | re.S)
    assert found, f"no section '{words}'"
    return re.sub(r"\s+", " ", found[2])


def test_every_program_has_a_page():
    assert manual.names() == PAGES
    programs = {path.stem for path in (TOP / "src/commands/programs").glob("*.c")} - {"zester-fleet"}
    assert programs == {name.rsplit(".", 1)[0] for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_rendered_without_a_warning_and_leaves_no_mark(render, name):
    page = render(name)
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert re.search(rf"^{heading}$", page, re.M), heading
    assert "zester 9.9" in page and not re.search(r"@[A-Z]+@", page)


@pytest.mark.parametrize("program, page", [("zester", "zester.1"), ("kepler", "kepler.1"), ("zester-migrate", "zester-migrate.1")])
def test_each_command_and_option_of_the_help_is_in_the_page(render, program, page):
    text = render(page)
    common = text.partition("\nOPTIONS\n")[2].partition("\nCOMMANDS\n")[0]
    commands = list(commands_of(program))
    assert commands
    for words in commands:
        about, below = help_of(program, *words), section(text, " ".join((program, *words)))
        assert about.split("\n\n")[1].split("\n")[0].lower().rstrip(".:") in below.lower(), words
        for option in re.findall(r"^  (--[a-z-]+)", about, re.M):
            assert option in below or option in common, (words, option)


@pytest.mark.parametrize("program", ["zester-master", "zester-peel", "zester-watchdog"])
def test_the_page_of_a_daemon_has_its_keys_and_its_commands(render, program):
    text = render(f"{program}.8")
    keys = re.findall(r"^\| `([a-z_.]+)` \| `(--[a-z-]+)`", run(os.path.join(TOP, BUILD, program), "--keys").stdout, re.M)
    assert len(keys) > 10
    for key, option in keys:
        assert option in text and f" ({key}: " in text, key
    for option in re.findall(r"^  (--[a-z-]+)", help_of(program), re.M):
        assert option in text, option
    if "COMMANDS" in text:
        for words in manual.without_group(manual.Page(os.path.join(TOP, BUILD, program)).table()):
            section(text, f"{program} {words['name']}")


def test_local_mode_and_the_fleet_have_sections_with_their_options(render):
    text = render("zester.1")
    for words, heading in ((("--local",), "zester --local"), (("*", "test.ping"), "zester [OPTIONS] TARGET")):
        options = re.findall(r"^  (--[a-z-]+)", help_of("zester", *words), re.M)
        below = section(text, heading)
        assert len(options) > 10
        for option in options:
            assert option in below + text.partition("\nOPTIONS\n")[2].partition("\nCOMMANDS\n")[0], option


def test_exit_statuses_are_lists(render):
    status = render("zester.1").partition("\nEXIT STATUS\n")[2].partition("\nEXAMPLES\n")[0]
    for number in "012345":
        assert re.search(rf"^ +{number}\s+\S", status, re.M), number
    assert "No peel matched." in status


def test_every_variable_that_a_program_reads_is_in_a_page(render):
    sources = {path: path.read_text(encoding="utf-8") for path in (TOP / "src").rglob("*.[ch]") if "modules" not in path.parts}
    names = {name for text in sources.values() for name in re.findall(r'\b(?:getenv|find_setting)\("([A-Z_]+)"\)', text)}
    for macro in {name for text in sources.values() for name in re.findall(r"\bgetenv\(([A-Z_]+)\)", text)}:
        names |= {name for text in sources.values() for name in re.findall(rf'#define {macro} +"([A-Z_]+)"', text)}
    assert len(names) > 10 and "NATS_URL" in names
    everything = "".join(render(name).partition("\nENVIRONMENT\n")[2] for name in PAGES)
    assert {name for name in names - NOT_SETTINGS if not re.search(rf"\b{name}\b", everything)} == set()


def test_text_is_never_taken_for_a_request_or_a_macro(tmp_path, render):
    odd = {"names": "--odd", "value": ".Sh|Op", "text": "'quoted' \\fBnot bold .Pp -- `x` ^ ~ \"y\""}
    page = tmp_path / "odd.1"
    page.write_text(".Dd November 16, 2026\n.Dt ODD 1\n.Os zester\n.Sh NAME\n.Nm odd\n.Nd odd\n.Sh OPTIONS\n" + manual.options([odd]) +
                    manual.prose(".Sh no heading\n\n'tis a paragraph\n  .Ed\n  \\literal\n"), encoding="utf-8")
    shown = run("man", "--warnings=w", "-l", str(page), MANWIDTH="200")
    assert shown.stderr == ""
    for wanted in ("--odd .Sh|Op", "'quoted' \\fBnot bold .Pp -- `x` ^ ~ \"y\".", ".Sh no heading", "'tis a paragraph", ".Ed\n", "\\literal"):
        assert wanted in re.sub(r".\x08", "", shown.stdout), wanted
