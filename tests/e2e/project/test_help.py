"""What the programs say to somebody who does not know them yet: help, mistakes on the line, completion."""
import os
import re
import shutil
import subprocess

import pytest

from kepler_home import BUILD, wait_until

ZESTER, KEPLER, DAEMON, MIGRATE = (os.path.abspath(os.path.join(BUILD, name)) for name in ("zester", "kepler", "kepler-daemon", "zester-migrate"))
WIDEST = 100
TOP = os.path.abspath(".")
WEB_APP = os.path.abspath("examples/kepler/web-app.yaml")


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **more)


def commands_of(*words):
    """The commands that a program or a group of commands lists; none for a command."""
    parts = run(*words, "--help").stdout.split("\ncommands:\n")
    return re.findall(r"^  ([\w-]+) +", parts[1].split("\n\n")[0], re.M) if len(parts) > 1 else []


def pages():
    """The words after which --help is asked for, of every page that there is."""
    yield [DAEMON]
    for program, more in ((ZESTER, ["--local"]), (KEPLER, []), (MIGRATE, [])):
        yield [program]
        for command in [*commands_of(program), *more]:
            if command != "top":
                yield [program, command]
                yield from ([program, command, below] for below in commands_of(program, command))


def test_every_page_of_help_has_a_usage_an_example_and_the_exit_statuses_and_fits_a_screen():
    found = list(pages())
    assert len(found) > 20
    for words in found:
        result = run(*words, "--help")
        assert (result.returncode, result.stderr) == (0, ""), words
        text = result.stdout
        name = os.path.basename(words[0])
        assert text.startswith(f"usage: {name}") or text.startswith(f"{name} - "), words
        assert re.search(rf"^  .*{name}", text, re.M), words
        assert "exit status: 0" in text, words
        assert max(map(len, text.splitlines())) <= WIDEST, words
        assert "(null)" not in text, words
        assert " TEXT" not in text, words  # a value has a word that tells what it is


@pytest.mark.parametrize("program", [ZESTER, KEPLER, DAEMON])
def test_help_that_cannot_be_written_is_an_error_unless_the_reader_has_left(program):
    with open("/dev/full", "w") as full:
        result = subprocess.run([program, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert "cannot write to standard output: No space left on device" in result.stderr
    piped = run("bash", "-c", f"set -o pipefail; {program} --help | head -1")
    assert (piped.returncode, piped.stderr) == (0, "")


@pytest.mark.parametrize("program", [ZESTER, KEPLER, DAEMON])
def test_the_version_is_shown_in_both_spellings(program):
    for word in ("--version", "-V"):
        said = run(program, word).stdout
        assert re.fullmatch(rf"{os.path.basename(program)} \d+\.\d+\.\d+\ncommit (unknown|[0-9a-f]{{40}}(-dirty)?)\nbuilt (unknown|[\d-]+T[\d:]+Z)\n", said), said


@pytest.mark.parametrize("words, said", [
    ([ZESTER, "rendr"], "did you mean 'render'?"),
    ([ZESTER, "help", "rendr"], "did you mean 'render'?"),
    ([ZESTER, "state.apply", "web"], "did you mean 'zester --local state.apply'?"),
    ([ZESTER, "--local", "apply", "web"], "did you mean 'state.apply'?"),
    ([ZESTER, "--local", "file.manged"], "did you mean 'file.managed'?"),
    ([ZESTER, "-G", "os:Debian", "test.ping"], "unknown option '-G'\n      = write it as the target: 'G@os:Debian'\n"),
    ([ZESTER, "*", "test.ping", "--json"], "did you mean '--format json'?"),
    ([ZESTER, "--yaml", "*", "test.ping"], "did you mean '--format yaml'?"),
    ([ZESTER, "*", "state.highstate", "--check"], "did you mean '--test'?"),
    ([ZESTER, "--local"], "missing FUNCTION\n"),
    ([ZESTER, "--local", "--format", "jsn", "state.owed"], "'--format' must be one of"),
    ([ZESTER, "doc", "file.managed", "--format", "markdown"], "takes no NAME"),
    ([ZESTER, "doc", "jinja", "--json"], "as text only"),
    ([KEPLER, "strat"], "did you mean 'start'?"),
    ([KEPLER, "attach"], "did you mean 'logs --follow'?"),
    ([KEPLER, "status"], "did you mean 'ps'?"),
    ([KEPLER, "start", "--detahc"], "did you mean '--detach'?"),
    ([KEPLER, "start", "--timeout", "soon"], "'--timeout' must be a duration such as \"10s\""),
    ([KEPLER, "why"], "missing SERVICE\n"),
    ([KEPLER, "-f", "web.yaml"], "missing command\n"),
    ([KEPLER, "doc", "hooks", "--format", "markdown"], "takes no CHAPTER"),
    ([DAEMON, "web"], "unknown argument 'web'"),
])
def test_a_mistake_on_the_line_says_what_was_meant_and_where_help_is(words, said):
    result = run(*words)
    assert result.returncode == (1 if words[0] == ZESTER else 2), result.stderr
    assert said in result.stderr and result.stdout == ""
    if words[:2] != [ZESTER, "--local"] or "function" not in result.stderr:
        assert re.search(r"^try '\S+( \S+)? --help'$", result.stderr, re.M), result.stderr
    if words[0] == KEPLER:
        assert result.stderr.startswith("Error: ")


def test_help_and_version_are_found_after_other_options():
    assert run(KEPLER, "-f", "web.yaml", "--help").stdout == run(KEPLER, "--help").stdout
    assert run(ZESTER, "--local", "--version").stdout == run(ZESTER, "--version").stdout
    assert run(ZESTER, "help", "--local").stdout == run(ZESTER, "--local", "--help").stdout


def completes(program, *words, home=None, cwd="/proc/self/fdinfo"):
    """What the shell offers for the last word, to a user with this home, in a folder without files that fit."""
    name = os.path.basename(program)
    line = " ".join(f"'{word}'" for word in (name, *words))
    script = run(program, "completion", "bash").stdout + f"""
        COMP_WORDS=({line}); COMP_CWORD={len(words)}; _{name}; echo "${{COMPREPLY[@]}}"
        """
    env = {**os.environ, "PATH": f"{os.path.dirname(program)}:{os.environ['PATH']}", **({"HOME": str(home)} if home else {})}
    return run("bash", "-c", script, cwd=cwd, env=env).stdout.split()


def completes_in_fish(program, *words, cwd="/proc/self/fdinfo"):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    name = os.path.basename(program)
    line = " ".join((name, *words))
    env = {**os.environ, "PATH": f"{os.path.dirname(program)}:{os.environ['PATH']}", "HOME": "/nonexistent"}
    return run("fish", "--no-config", "-c", f"{name} completion fish | source; complete -C '{line}'", cwd=cwd, env=env).stdout.split()


@pytest.mark.parametrize("words, offered", [
    ([KEPLER, "st"], ["start", "stop"]),
    ([KEPLER, "-f", WEB_APP, "stop", "ba"], ["backend"]),
    ([ZESTER, "web*", "test.pi"], ["test.ping"]),
    ([ZESTER, "--local", "--states-dir", f"{TOP}/examples/salt/states", "state.apply", "ng"],
     ["nginx", "nginx.config", "nginx.package", "nginx.service", "nginx.snippets", "nginx.vhosts"]),
])
def test_fish_completes_as_bash_does(words, offered):
    assert sorted(completes_in_fish(*words)) == offered


def test_fish_offers_files_where_no_word_fits(tmp_path):
    (tmp_path / "job.yaml").write_text("")
    assert completes_in_fish(ZESTER, "render", "job", cwd=tmp_path) == ["job.yaml"]


@pytest.mark.parametrize("words, offered", [
    ([KEPLER, "st"], ["start", "stop"]),
    ([KEPLER, "-f", "web.yaml", "st"], ["start", "stop"]),
    ([KEPLER, "daemon", "st"], ["start", "stop", "status"]),
    ([KEPLER, "graph", "--format", "s"], ["svg"]),
    ([KEPLER, "graph", "-o", "d"], ["dot"]),
    ([KEPLER, "doc", "depen"], ["depends_on"]),
    ([KEPLER, "start", "--no-d"], ["--no-deps"]),
    ([KEPLER, "-f", WEB_APP, "stop", "ba"], ["backend"]),
    ([KEPLER, "-f", WEB_APP, "why", "L"], []),
    ([ZESTER, "--lo"], ["--local"]),
    ([ZESTER, "web*", "test.pi"], ["test.ping"]),
    ([ZESTER, "--states-dir", "x", "--local", "state.ap"], ["state.apply"]),
    ([ZESTER, "--batch", "5", "web*", "test.pi"], ["test.ping"]),
    ([ZESTER, "web*", "--format", "j"], ["json"]),
    ([ZESTER, "web*", "--format", "=", "j"], ["json"]),
    ([ZESTER, "--config", "re"], []),
    ([ZESTER, "web*", "report", "lo"], ["locale.get_locale", "locale.present", "locale.system", "log.critical", "log.debug", "log.error",
                                        "log.exception", "log.info", "log.warning"]),
    ([ZESTER, "doc", "file.mana"], ["file.managed"]),
    ([ZESTER, "completion", "z"], ["zsh"]),
    ([ZESTER, "completion", "f"], ["fish"]),
    ([ZESTER, "--local", "--states-dir", f"{TOP}/examples/salt/states", "state.apply", "nginx.s"], ["nginx.service", "nginx.snippets"]),
    ([ZESTER, "--states-dir", f"{TOP}/examples/salt/states", "--local", "state.show", "file.mana"], []),
    ([ZESTER, "--local", "--states-dir", f"{TOP}/examples/salt/states", "cmd.run", "nginx.s"], []),
])
def test_the_shell_completes_commands_options_and_their_values(words, offered):
    assert completes(*words) == offered


def test_the_shell_offers_files_only_where_no_word_fits(tmp_path):
    for name in ("job.yaml", "states", "readme"):
        (tmp_path / name).write_text("")
    assert completes(ZESTER, "j", cwd=tmp_path) == ["job"]
    assert "states" not in completes(ZESTER, "", cwd=tmp_path)
    assert completes(ZESTER, "--config", "j", cwd=tmp_path) == ["job.yaml"]
    assert completes(ZESTER, "reactor", "check", "r", cwd=tmp_path) == ["readme"]


def test_a_variable_names_the_configuration_of_operators(tmp_path):
    (tmp_path / "one.yaml").write_text("master: {urls: 5}\n")
    env = {**os.environ, "ZESTER_CONFIG": str(tmp_path / "one.yaml")}
    result = run(ZESTER, "peel", "list", env=env)
    assert result.returncode == 1 and f"{tmp_path}/one.yaml:1:16: " in result.stderr
    env["ZESTER_CONFIG"] = str(tmp_path / "two.yaml")
    result = run(ZESTER, "peel", "list", env=env)
    assert result.returncode == 1 and f"ZESTER_CONFIG: '{tmp_path}/two.yaml' does not exist" in result.stderr
    result = run(ZESTER, "peel", "list", "--config", str(tmp_path / "three.yaml"), env=env)
    assert result.returncode == 1 and "three.yaml' does not exist" in result.stderr and "ZESTER_CONFIG" not in result.stderr


def test_a_daemon_that_is_asked_to_reports_every_request_and_an_unknown_level_is_reported(home):
    assert "request name=" not in home.log()
    home.stop_daemon()
    home.env["KEPLER_LOG"] = "debug"
    home.start_daemon()
    wait_until(lambda: "reply name=ok" in home.log(), "a reply is in the log")
    assert re.search(r"debug request name=\w+ id=\d+ pid=\d+ uid=\d+$", home.log(), re.M)
    home.stop_daemon()
    home.env["KEPLER_LOG"] = "loud"
    home.start_daemon()
    assert "invalid KEPLER_LOG, using info value=loud" in home.log()


@pytest.mark.parametrize("color", ["auto", "true"])
def test_a_daemon_that_cannot_start_in_the_background_says_why(tmp_path, color):
    env = dict(os.environ, KEPLER_DAEMON_PATH=str(tmp_path / ("x" * 120)), KEPLER_COLOR=color)
    result = run(KEPLER, "daemon", "start", "-d", env=env)
    assert result.returncode == 1 and "\033" not in result.stderr
    assert result.stderr.startswith("Error: the daemon did not start: the socket path ")
    assert "set KEPLER_SOCKET_PATH to a shorter one" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else needs root")
def test_who_has_no_home_keeps_undo_data_nowhere_where_others_could_have_put_some():
    env = {"PATH": os.environ["PATH"]}
    nobody = ["setpriv", "--reuid", "4000000", "--regid", "4000000", "--clear-groups"]
    result = run(*nobody, ZESTER, "--local", "state.owed", env=env, cwd="/")
    if "Permission denied" in result.stderr:
        pytest.skip("the programs are where only root may run them")
    assert result.returncode == 1
    assert "no folder for undo data" in result.stderr and "--data-dir" in result.stderr
