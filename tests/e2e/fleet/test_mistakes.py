"""Mistakes that people make, each typed once: the message says what, where and what to try, all of them at once, and the status is not 0."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import pytest

from fleet import SERVER, free_port
from kepler_home import BUILD

PROGRAMS = os.path.abspath(BUILD)
PATIENCE = 120
TOP = pathlib.Path(__file__).resolve().parents[3]


def run(folder, *words):
    env = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HOME": str(folder)}
    env.pop("NATS_URL", None)
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)


def mistake(folder, *words, status=1):
    result = run(folder, *words)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stderr


def local(folder, *words):
    return ["zester", "--local", "--states-dir", str(folder), "--settings-dir", str(folder / "settings"), "--data-dir", str(folder / "data"), *words]


def places(text):
    """line:column of each message about a file."""
    return re.findall(r"^\S+?:(\d+:\d+): (?!note:)", text, re.M)


def test_mistakes_of_a_state_file_come_from_top_to_bottom(tmp_path):
    (tmp_path / "web.zy").write_text("""a:
  cmd.run:
    - name: ls
    - timeout: soon
    - retry: {attempts: many}
    - order: middle
    - onlyif: {fun: nofun.x}
    - requires: [cmd: b]
""")
    shown = mistake(tmp_path, *local(tmp_path, "state.apply", "web"))
    assert places(shown) == ["4:16", "5:25", "6:14", "7:21", "8:7"], shown
    assert "did you mean 'require'?" in shown


def test_a_state_that_fails_names_its_place_in_text_and_for_programs(tmp_path):
    (tmp_path / "web.zy").write_text(f"""good: {{cmd.run: [{{name: 'true'}}]}}
motd:
  file.managed:
    - name: {tmp_path}/motd
    - source: zester://not/there
owned:
  file.managed: [{{name: {tmp_path}/owned}}, {{contents: x}}, {{user: no-such-user}}]
""")
    shown = run(tmp_path, *local(tmp_path, "state.apply", "web"))
    assert shown.returncode == 2
    for place in ("2:1", "6:1"):
        assert f"\n    at {tmp_path}/web.zy:{place}\n" in shown.stdout, shown.stdout
    record, = json.loads(run(tmp_path, *local(tmp_path, "state.apply", "web", "--format", "json")).stdout)
    assert {state["name"]: state.get("place") for state in record["results"]} == {
        "cmd.run:good": None, "file.managed:motd": f"{tmp_path}/web.zy:2:1", "file.managed:owned": f"{tmp_path}/web.zy:6:1"}


def test_a_top_file_that_is_not_a_map_of_targets_is_refused_at_its_place(tmp_path):
    (tmp_path / "top.zy").write_text("base:\n  - common\n")
    assert "top.zy:2:3: top file: expected a map of targets, got a list" in mistake(tmp_path, *local(tmp_path, "state.show_top"))


def test_all_mistakes_of_the_configuration_of_a_master_come_at_once_and_unknown_keys_with_them(tmp_path):
    (tmp_path / "master.yaml").write_text("""nats_urll: tls://x
nats_url: nats://localhost:4222
health_addr: nowhere
log_level: loud
reactor: {workers: lots, enabld: true}
enroll: {addr: 8443, rate_burst: -4}
""")
    shown = mistake(tmp_path, "zester-master", "--config", "master.yaml")
    errors, warnings = shown.split("zester-master: warning\n")
    assert places(errors) == ["2:11", "3:14", "4:12", "5:20", "6:16", "6:34"], shown
    assert places(warnings) == ["1:1", "5:26"] and "did you mean 'nats_url'?" in warnings


@pytest.mark.parametrize("words, shown", [
    (["zester", "orchestrate"], "missing REF"),
    (["zester-peel", "beacons", "dsk"], "unknown beacon 'dsk'; the beacons are: "),
    (["zester-peel", "join", "localhost", "nonsense"], "not a join token; make one with 'zester-master token'"),
    (["zester-peel", "event", "a b"], "'a b' is not a valid tag"),
    (["zester-peel", "event", "a/b", "x"], "'x' is not KEY=VALUE"),
    (["zester", "web* and (db*", "test.ping"], "target 'web* and (db*': column 10: this parenthesis is never closed"),
    (["zester", "G@", "test.ping"], "target 'G@': column 3: key and value are missing (write key:value as in G@os.family:debian)"),
    (["zester", "--local", "--states-dir", ".", "test.sleep", "5"], "test.sleep requires 'length' by name: try 'length=5'"),
    (["zester-migrate", "states", "/srv"], "zester-migrate states: '--output' is missing"),
    (["zester", "--creds", "/none", "*", "test.ping"], "credentials file '/none' does not exist; run 'zester doctor' for advice"),
    (["zester", "--master", "nats://localhost", "*", "test.ping"], "refused: without TLS, anyone on the network can read and change everything; use 'tls://localhost'"),
    (["zester", "--config", "none.yaml", "peel", "list"], "'none.yaml' does not exist"),
    (["zester", "--local", "--states-dir", "/etc/passwd", "state.apply", "x"], "states folder '/etc/passwd' is a file, not a folder"),
    (["zester", "--local", "--states-dir", "/none", "state.apply", "x"], "= name a folder of state files with --states-dir DIR"),
    (["zester", "render", "/etc"], "read '/etc': Is a directory\n"),
    (["zester", "version", "x"], "unexpected 'x'; expected no operands"),
    (["zester-master", "token", "list", "x"], "unexpected 'x'; expected"),
    (["zester-master", "--config", "none.yaml"], "= name another with --config; 'zester-master setup' writes that of a master"),
    (["zester", "jbo", "list"], "unknown command 'jbo' (did you mean 'job'?)"),
])
def test_a_mistake_on_the_command_line_says_what_to_try(tmp_path, words, shown):
    assert shown in mistake(tmp_path, *words)


@pytest.mark.parametrize("line, shown", [
    ("zester get pods", "unknown command 'get'; here it is 'zester peel list'"),
    ("zester puppet agent -t", "here it is 'zester --local state.highstate'"),
    ("zester ping", "here it is \"zester '*' test.ping\""),
    ("zester enroll accept x", "unknown command 'accept'; here it is 'zester enroll approve ID'"),
    ("zester job lookup_jid 1", "here it is 'zester job show JID'"),
    ("zester jobs.lookup_jid 1", "'jobs.lookup_jid' is not supported: use 'zester job show JID'"),
    ("zester salt-key -A", "did you mean 'zester enroll approve --all-pending'?"),
    ("zester web -m shell -a uptime", "= write the function after the target: zester TARGET cmd.run 'uptime'"),
    ("zester web ping", "'ping' is not supported: use test.ping"),
    ("zester 'web*' service restart NGINX", "did you mean: zester 'web*' service.restart NGINX"),
    ("zester apt install nginx", "did you mean: zester --local pkg.install nginx"),
    ("zester web state.apply x --noop", "did you mean '--test'?"),
    ("zester --local state.apply x --check", "did you mean '--test'?"),
    ("zester --local state.apply x --diff", "a dry run shows the differences: '--test'"),
    ("zester --local package.installed nginx", "did you mean: zester --local pkg.installed nginx"),
    ("zester --local systemctl restart nginx", "did you mean: zester --local service.restart nginx"),
    ("zester --local cmd run 'a; b'", "did you mean: zester --local cmd.run 'a; b'"),
    ("zester --local apt update", "'apt' is not supported: use pkg.refresh_db"),
    ("zester --local yum", "'zester doc pkg' lists what is here instead"),
    ("zester --local cmd.exec ls", "'cmd.exec' is not supported: use cmd.run 'COMMAND'"),
    ("zester --local status.", "'zester doc status' lists the functions of this family"),
    ("zester --local copy", "use file.managed with 'source'"),
])
def test_words_of_other_tools_are_answered_with_what_to_write_here(tmp_path, line, shown):
    assert shown in mistake(tmp_path, *shlex.split(line))


def test_names_of_other_tools_in_a_state_file_get_the_module_of_ours(tmp_path):
    (tmp_path / "web.zy").write_text("a: {package.installed: []}\nb: {apt.removed: []}\nc: {user.add: []}\n")
    shown = mistake(tmp_path, *local(tmp_path, "state.check", "web"))
    for words in ("did you mean 'pkg.installed'?", "did you mean 'pkg.removed'?", '"user.add" is not supported: use the state user.present'):
        assert words in shown


def test_a_program_without_any_word_shows_its_help_and_fails(tmp_path):
    for program in ("zester", "zester-migrate"):
        result = run(tmp_path, program)
        assert result.returncode == 1 and f"{program}: missing command\n" in result.stderr
        assert f"see '{program} COMMAND --help' for details" in result.stdout
    group = run(tmp_path, "zester", "job")
    assert group.returncode == 1 and "usage: zester job COMMAND" in group.stdout and "missing command" in group.stderr


def test_an_empty_roster_is_told_from_a_target_that_matches_nothing(tmp_path):
    (tmp_path / "roster").write_text("")
    (tmp_path / "roster").chmod(0o600)
    assert "roster 'roster' names no machine; add a line such as 'web-01: 192.0.2.7'" in mistake(
        tmp_path, "zester", "ssh", "*", "test.ping", "--roster", "roster")


def test_every_word_of_the_advice_is_a_command_or_a_function():
    """What the tables of other tools' words name is there."""
    text = (TOP / "src/states/compile/unsupported.c").read_text() + (TOP / "src/commands/programs/zester-fleet.c").read_text()
    functions = set(run(TOP, "zester", "--local", "sys.list_functions", "--quiet").stdout.replace("- ", " ").split())
    for name in re.findall(r"use (?:the state )?([a-z_]+\.[a-z_]+)", text):
        assert name in functions, name
    for name in re.findall(r"TARGET ([a-z]+\.[a-z_]+)|--local ([a-z]+\.[a-z_]+)", text):
        assert (name[0] or name[1]) in functions, name
    for group, command in set(re.findall(r"'zester ([a-z]+) ([a-z]+)", text)):
        assert run(TOP, "zester", group, command, "--help").returncode == 0, (group, command)


def test_a_daemon_that_is_given_an_unknown_word_ends_with_2_and_says_what_to_try(tmp_path):
    assert "unknown command 'tokn' (did you mean 'token'?)" in mistake(tmp_path, "zester-master", "tokn", status=2)
    assert "unknown command 'jion' (did you mean 'join'?)" in mistake(tmp_path, "zester-peel", "jion", "host", "zt1.x", status=2)


def test_a_master_without_credentials_names_the_command_that_makes_them(tmp_path):
    (tmp_path / "master.yaml").write_text(f"auth_dir: {tmp_path}/auth\ndata_dir: {tmp_path}/data\nhealth_addr: 127.0.0.1:{free_port()}\n")
    result = run(tmp_path, "zester-master", "--config", "master.yaml")
    assert result.returncode == 1 and "run 'zester-master setup'" in result.stdout + result.stderr, result.stdout + result.stderr


def test_the_health_of_a_daemon_is_asked_for_by_a_relative_path_of_its_configuration(tmp_path):
    (tmp_path / "peel.yaml").write_text("health_addr: 127.0.0.1:1\n")
    assert "zester-peel is not running" in mistake(tmp_path, "zester-peel", "health", "--config", "peel.yaml")


def test_the_doctor_does_not_send_people_to_the_doctor(tmp_path):
    result = run(tmp_path, "zester", "doctor", "--creds", "/none", "--master", "tls://127.0.0.1:1")
    assert result.returncode == 1
    assert "credentials file '/none' does not exist" in result.stdout and "for advice" not in result.stdout


@pytest.fixture(name="as_nobody")
def _as_nobody():
    """Runs a program as a user without rights; its folder is one that everybody may enter."""
    if os.geteuid() != 0:
        pytest.skip("becomes another user")

    def run_as(*words):
        return subprocess.run([os.path.join(PROGRAMS, words[0]), *map(str, words[1:])], user="nobody", group="nogroup", extra_groups=[], cwd="/",
                              capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
    try:
        run_as("zester", "--version")
    except PermissionError:
        pytest.skip("the programs are in a folder that others may not enter")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield run_as, pathlib.Path(folder)


def test_a_folder_of_states_that_may_not_be_read_is_named(as_nobody):
    run_as, folder = as_nobody
    private = folder / "private"
    private.mkdir(mode=0o700)
    (private / "a.zy").write_text("a: test.nop\n")
    result = run_as("zester", "--local", "--states-dir", private, "--data-dir", folder / "data", "state.check", "a")
    assert result.returncode == 1 and f"find 'a.zy' in '{private}': Permission denied" in result.stderr


@pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
def test_who_may_not_set_up_a_fleet_is_told_who_may(as_nobody):
    run_as, folder = as_nobody
    result = run_as("zester-master", "setup", "--auth-dir", folder / "auth", "--port", free_port(), "--enroll-addr", f"127.0.0.1:{free_port()}",
                    "--health-addr", f"127.0.0.1:{free_port()}", "--supervisor", "none", "--host", "localhost")
    assert result.returncode == 1 and result.stderr.endswith("Permission denied; this command requires root\n"), result.stderr
