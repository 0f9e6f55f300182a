"""What the documents show is what the programs print: their commands are run, and their output is compared."""
import getpass
import os
import pathlib
import re
import subprocess

import pytest

from kepler_home import BUILD, Home

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = os.path.abspath(BUILD)


def blocks(name):
    """(language, text) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (TOP / name).read_text(), re.M | re.S)


def commands(text):
    """(command, what it is said to print) of a block with `$ ` in it."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)


def alike(text):
    """Without what differs from run to run: times, numbers of processes, the width of columns."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "DATE", text)
    text = re.sub(r"\b[\d.]+ (ns|us|ms|s)\b", "TIME", text)
    text = re.sub(r"\b3[0-9A-Za-z]{7}(?:[0-9A-Za-z]{19})?\b", "RUN-ID", text)
    text = re.sub(r"\bpid \d+|(?<=s)  +\d+$", "PID", text, flags=re.M)
    text = re.sub(r"\bUp \d+s", "Up TIME", text)
    text = text.replace(f"requested by {getpass.getuser()}", "requested by root")
    return re.sub(r"(?<=\S)  +", "  ", text).strip()


def shell(command, **more):
    return subprocess.run(["bash", "-c", command], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, **more)


@pytest.fixture
def hello(tmp_path):
    """The reader's folder with the file of the README; returns z() of the README, and the file."""
    yaml = next(text for language, text in blocks("README.md") if language == "yaml")
    assert "/tmp/hello" in yaml
    file = tmp_path / "motd.zy"
    file.write_text(yaml.replace("/tmp/hello", str(tmp_path)))

    def z(words):
        line = f"{PROGRAMS}/zester --local --states-dir {tmp_path} --data-dir {tmp_path}/data --id vm {words}"
        return shell(line).stdout.replace(str(tmp_path), "/tmp/hello")
    return z, file


def test_the_first_commands_of_the_readme_print_what_it_shows(hello):
    z, file = hello
    dry, again, mistake = (text for language, text in blocks("README.md") if "motd" in text and language == "")
    ((command, shown),) = commands(dry)
    assert command.startswith("z ")
    assert alike(z(command[2:])) == alike(shown)
    assert "2 states: 2 changed" in z("state.apply motd")
    assert alike(z("state.apply motd")) == alike(again)
    assert "reverted run" in z("state.revert motd")
    assert not (file.parent / "motd").exists()
    file.write_text(file.read_text().replace("onchanges", "onchange"))
    assert z("state.apply motd") == mistake


def test_the_services_of_the_readme_do_what_it_shows():
    home = Home()
    block = next(text for _, text in blocks("README.md") if "$ kepler daemon start" in text)
    lines = commands(block)
    assert len(lines) == 5
    try:
        for command, shown in lines:
            assert alike(shell(command, env=home.env).stdout) == alike(shown), command
    finally:
        shell("kepler daemon stop", env=home.env)
        home.close()


def test_the_module_that_contributors_are_shown_compiles_without_a_warning(tmp_path):
    code = next(text for language, text in blocks("CONTRIBUTING.md") if language == "c")
    (tmp_path / "file_readonly.c").write_text(code)
    flags = "-std=gnu17 -D_GNU_SOURCE -Isrc -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only"
    result = shell(f"gcc {flags} {tmp_path}/file_readonly.c")
    assert (result.returncode, result.stdout) == (0, "")


# Headers of src/fleet/nats that only its own files include.
INNER_HEADERS = {"core", "fields", "idmap", "kv_layout", "login", "object_layout", "resolve", "transport"}


def read_comment(path):
    """The first comment of a header, without what makes it one."""
    return "".join(line[3:] or "\n" for line in path.read_text().split("*/")[0].splitlines(keepends=True)[1:])


def test_the_manual_of_the_nats_client_names_every_header_and_its_program_compiles(tmp_path):
    page = read_comment(TOP / "src/fleet/nats/conn.h")
    listed, code = re.search(r"another one:\n\n(.*?)\n\n.*?main:\n\n((?:    [^\n]*\n|\n)*)", page, re.S).groups()
    named = {name for line in listed.splitlines() for name in re.split(r"  +", line.strip())[0].split(", ")}
    assert named == {path.stem for path in (TOP / "src/fleet/nats").glob("*.h")} - INNER_HEADERS
    headers = "".join(f'#include "{name}.h"\n' for name in ("core/base/err", "fleet/nats/conn", "fleet/nats/hub", "core/sys/loop"))
    (tmp_path / "hello.c").write_text(f"#include <stdio.h>\n{headers}{code}\nint hello(struct loop *, struct nats_tls *);\n"
                                      "int hello(struct loop *loop, struct nats_tls *tls)\n"
                                      "{\n    struct err err;\n\n    return say_hello(loop, tls, &err);\n}\n")
    flags = "-std=gnu17 -D_GNU_SOURCE -Isrc -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only"
    result = shell(f"gcc {flags} {tmp_path}/hello.c")
    assert (result.returncode, result.stdout) == (0, "")


def test_the_nats_client_names_nothing_of_those_who_use_it():
    for path in (TOP / "src/fleet/nats").iterdir():
        found = re.search(r"\b(zester|peel|kepler|masters?|minions?|salt)\b", path.read_text(), re.I)
        assert not found, f"{path.name}: {found.group()}"


def test_the_template_of_the_manual_gives_what_it_shows():
    block = next(text for _, text in blocks("docs/reference/templates.md") if "$ echo" in text)
    for command, shown in commands(block):
        assert shell(command, env=dict(os.environ, PATH=f"{PROGRAMS}:{os.environ['PATH']}")).stdout == shown


def test_every_requisite_is_in_the_table_of_the_document():
    """The table of the code is the only list; the document has a row for each word of it."""
    words = set(re.findall(r'^    BOTH\("(\w+)"', (TOP / "src/states/compile/requisite.c").read_text(), re.M))
    rows = re.findall(r"^\| (`.*?`) \| (`.*?`) \|", (TOP / "docs/reference/states.md").read_text(), re.M)
    documented = {word for forms, _ in rows for word in re.findall(r"`(\w+)`", forms)}
    assert len(words) > 10 and words <= documented
