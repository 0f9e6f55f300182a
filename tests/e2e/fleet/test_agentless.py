"""Machines without an agent: zester ssh, with real ssh servers, some of which are down, strange or hostile."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from agentless import BUILD, SECONDS, SSH, Site
from ssh_server import SSHD, make_key

pytestmark = [pytest.mark.skipif(not SSHD, reason="no sshd"), pytest.mark.skipif(not SSH, reason="no ssh")]

SECRET = "rabbit-hole-4711"
OTHER = "mirror-door-1871"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("agentless")) as site:
        site.add("web-01", facts={"roles": ["web"]})
        site.add("db-01", facts={"roles": ["db"]})
        prepare(site)
        yield site


def prepare(site):
    (site.states / "files").mkdir()
    (site.states / "files/motd").write_text("from a file\n")
    (site.states / "web.zy").write_text(
        "page:\n  file.managed:\n    - name: {{ pillar.folder }}/page\n    - contents: 'I am {{ grains.id }}, {{ pillar.password }}'\n"
        "motd:\n  file.managed:\n    - name: {{ pillar.folder }}/motd\n    - source: salt://files/motd\n")
    (site.states / "bad.zy").write_text("bad:\n  cmd.run:\n    - name: 'false'\n")
    (site.settings / "top.zy").write_text("base: {'web*': [web], 'db*': [db]}\n")
    for name, machine, secret in (("web", "web-01", SECRET), ("db", "db-01", OTHER)):
        (site.settings / f"{name}.zy").write_text(f"folder: {site.machines[machine].folder}/made\npassword: !secret {secret}\n")
        (site.machines[machine].folder / "made").mkdir()


@contextlib.contextmanager
def roster(site, **changes):
    """Other keys for some machines."""
    site.write(**changes)
    try:
        yield
    finally:
        site.write()


@contextlib.contextmanager
def program(site, name, text):
    """Another zester for one machine."""
    path = site.folder / "another-zester"
    path.write_text("#!/bin/sh\n" + text)
    with roster(site, **{name.replace("-", "_"): {"program": str(path)}}):
        yield


def preview(site, *words):
    """The names of those who are meant."""
    head, *lines = site.run(*words, "--preview").stdout.splitlines()
    assert head.split() == ["MACHINE", "HOST"]
    return [line.split()[0] for line in lines]


def wait(condition, what):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def runs_of(machine):
    return [path for path in machine.store.iterdir() if path.name.startswith("run-")]


def commands_with(text):
    """Processes whose command line has it."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes():
                found.append(path)
    return found


def nodes_of(machine):
    """The far sides of zester that run there."""
    found = []
    for path in commands_with("--ssh-node"):
        with contextlib.suppress(OSError):
            if os.readlink(path.parent / "cwd").startswith(str(machine.folder)):
                found.append(path)
    return found


# --- answers ----------------------------------------------------------------------------------------------------------


def test_machines_answer_as_peels_do_with_one_login_each(site):
    before = site.logins()
    assert site.run("*", "test.ping").stdout == "db-01:\n    true\nweb-01:\n    true\n"
    assert site.logins() == before + 2
    answers = json.loads(site.run("web-01", "test.ping", "--format", "json").stdout)
    assert list(answers[0]) == ["peel_id", "status", "success", "results"]
    assert (answers[0]["peel_id"], answers[0]["status"], answers[0]["success"]) == ("web-01", "success", True)
    assert answers[0]["results"][0]["details"] == {"result": "true"}
    shown = site.run("web-01", "test.ping", "--format", "yaml").stdout
    assert shown.startswith("---\npeel_id: web-01\n") and shown.endswith("status: success\nsuccess: true\n")


def test_targets_are_names_lists_expressions_and_facts_of_the_roster(site):
    for target, names in (("web*", ["web-01"]), ("web-01,db-01", ["web-01", "db-01"]), ("E@^d", ["db-01"]), ("G@roles:web", ["web-01"]),
                          ("not G@roles:web", ["db-01"]), ("*", ["web-01", "db-01"])):
        assert preview(site, target, "test.ping") == names
    (site.folder / "groups.yaml").write_text("nodegroups: {data: 'G@roles:db'}\n")
    assert preview(site, "N@data", "--config", site.folder / "groups.yaml") == ["db-01"]
    assert json.loads(site.run("*", "--preview", "--format", "json").stdout) == ["web-01", "db-01"]
    assert "settings" in site.run("I@role:web", "test.ping", status=1).stderr
    assert "No machine of the roster matched" in site.run("mail*", "test.ping", status=5).stderr


def test_facts_of_the_roster_are_facts_of_the_machine(site):
    assert site.json("web-01", "facts.get", "roles")["web-01"]["results"][0]["details"]["result"] == "- web"
    assert site.json("web-01", "facts.get", "id")["web-01"]["results"][0]["details"]["result"] == "web-01"
    assert site.json("web-01", "facts.get", "kernel")["web-01"]["results"][0]["details"]["result"] == os.uname().sysname


def test_a_failure_and_a_machine_that_is_down_have_the_exit_statuses_of_a_fleet(site):
    assert site.json("*", "cmd.run", "false", status=2)["web-01"]["status"] == "failed"
    site.machines["db-01"].stop()
    try:
        gone = site.json("*", "test.ping", status=3)
        assert gone["db-01"]["status"] == "unreachable" and "Connection refused" in gone["db-01"]["error"]
        assert gone["web-01"]["success"] and not gone["db-01"]["success"]
        assert "1 peel(s) failed, 1 unreachable" in site.run("*", "cmd.run", "false", status=4).stderr
    finally:
        site.machines["db-01"].start()


def test_wrong_usage_is_said_before_anybody_is_asked(site):
    before = site.logins()
    assert "did you mean 'test.ping'" in site.run("*", "test.pin", status=1).stderr
    assert "missing FUNCTION" in site.run("*", status=1).stderr
    assert "requires a command argument" in site.run("*", "cmd.run", status=1).stderr
    assert "--clean takes only a target" in site.run("*", "test.ping", "--clean", status=1).stderr
    assert "did you mean '--parallel'" in site.run("*", "test.ping", "--paralel", "2", status=1).stderr
    assert site.logins() == before


def test_machines_are_asked_so_many_at_a_time(site):
    log = site.folder / "turns"
    for parallel, looks, overlaps in ((1, 5, False), (2, 300, True)):  # each looks for the other that often
        log.write_text("")
        site.run("*", "cmd.run", f"echo begin >> {log}; for i in $(seq {looks}); do [ $(grep -c begin {log}) = 2 ] && break; sleep 0.1; done; echo end >> {log}",
                 "--parallel", parallel)
        assert (log.read_text().split()[:2] == ["begin", "begin"]) == overlaps


# --- states -----------------------------------------------------------------------------------------------------------


def test_states_are_applied_shown_in_a_dry_run_and_reverted_later(site):
    made = site.machines["web-01"].folder / "made"
    dry = site.json("web-01", "state.apply", "web", "--test")["web-01"]
    assert sorted(one["name"] for one in dry["results"]) == ["file.managed:motd", "file.managed:page"] and list(made.iterdir()) == []
    site.run("web-01", "state.apply", "web", "--test", "--detailed-exitcode", status=2)
    site.run("web-01", "test.ping", "--detailed-exitcode", status=1)
    done = site.run("web-01", "state.apply", "web")
    assert (made / "page").read_text().strip() == f"I am web-01, {SECRET}" and (made / "motd").read_text() == "from a file\n"
    assert SECRET not in done.stdout + done.stderr and "********" in done.stdout
    assert not any(one["changed"] for one in site.json("web-01", "state.apply", "web", "--detailed-exitcode")["web-01"]["results"])
    assert runs_of(site.machines["web-01"]) == []
    site.run("web-01", "state.revert", "web")
    assert list(made.iterdir()) == []
    assert site.json("web-01", "state.apply", "bad", status=2)["web-01"]["results"][0]["error"]


def test_only_files_that_changed_are_sent_again(site):
    seen = site.folder / "sent"
    with program(site, "web-01", f'tee {seen} | {BUILD}/zester "$@"\n'):
        (site.states / "files/large").write_bytes(os.urandom(3 << 20))
        sizes = []
        for _ in range(2):
            site.run("web-01", "state.show_top", status=2)
            sizes.append(seen.stat().st_size)
        (site.states / "files/large").unlink()
    assert sizes[0] > 3 << 20 and sizes[1] < 100000


def test_mistakes_in_states_and_settings_come_back_with_their_places(site):
    (site.states / "wrong.zy").write_text("a:\n  file.manage:\n    - name: /x\n")
    (site.settings / "web.zy").rename(site.settings / "kept")
    (site.settings / "web.zy").write_text("a: [\n")
    try:
        error = site.json("web-01", "state.apply", "wrong", status=2)["web-01"]["error"]
        assert "its settings have mistakes" in error and "web.zy:" in error
        assert site.json("web-01", "test.ping")["web-01"]["success"]  # which needs none
    finally:
        (site.settings / "kept").replace(site.settings / "web.zy")
    error = site.json("web-01", "state.apply", "wrong", status=2)["web-01"]["error"]
    assert "wrong.zy:2:3" in error and "file.managed" in error


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_machine_is_sent_its_own_settings_and_no_others(site):
    seen = site.folder / "sent-settings"
    with program(site, "db-01", f'tee {seen} | {BUILD}/zester "$@"\n'):
        assert site.json("*", "settings.get", "folder")["db-01"]["success"]
    sent = seen.read_bytes()
    assert OTHER.encode() in sent and SECRET.encode() not in sent


def test_secrets_are_masked_and_on_no_command_line(site):
    words = site.folder / "argv"
    wrapper = site.folder / "bin/ssh"
    before = wrapper.read_text()
    wrapper.write_text(before.replace("exec ", f'echo "$@" >> {words}\nexec '))
    try:
        done = site.run("web-01", "cmd.run", "echo $KEY; ps axww", "--secret", "env.KEY=env:OPERATOR_KEY", variables={"OPERATOR_KEY": OTHER})
        assert OTHER not in done.stdout + done.stderr and "********" in done.stdout
        shown = site.run("web-01", "settings.items", "--format", "json")
        assert SECRET not in shown.stdout and "********" in shown.stdout
    finally:
        wrapper.write_text(before)
    assert SECRET not in words.read_text() and OTHER not in words.read_text()
    store = site.machines["web-01"].store
    assert not any(SECRET.encode() in path.read_bytes() for path in store.rglob("*") if path.is_file() and path.parent.name == "blobs")


def test_encrypted_settings_reach_their_machine_alone_and_back_ends_are_for_masters(site):
    text, seen = (site.settings / "web.zy").read_text(), site.folder / "sent-encrypted"
    (site.settings / "web.zy").write_text(text + "token: !encrypted through-the-glass\n")
    try:
        with program(site, "db-01", f'tee {seen} | {BUILD}/zester "$@"\n'):
            site.run("db-01", "state.show_top", status=2)
        assert b"through-the-glass" not in seen.read_bytes() and OTHER.encode() in seen.read_bytes()
        assert site.json("web-01", "settings.get", "token")["web-01"]["results"][0]["details"]["result"] == "********"
        done = site.json("web-01", "file.managed", f"{site.machines['web-01'].folder}/token", "contents_pillar=token")["web-01"]
        assert done["success"] and (site.machines["web-01"].folder / "token").read_text().strip() == "through-the-glass"
        (site.settings / "web.zy").write_text(text + "token: !secret_from vault:token\n")
        assert "masters have secret back-ends" in site.json("web-01", "settings.get", "token", status=2)["web-01"]["error"]
    finally:
        (site.settings / "web.zy").write_text(text)


# --- trust ------------------------------------------------------------------------------------------------------------


def test_a_host_key_that_is_unknown_or_another_one_is_refused(site):
    machine, known = site.machines["web-01"], site.folder / "known"
    for text, words in (("", "log in once with ssh"), (machine.known_host(site.key), "ask why")):
        known.write_text(text)
        answer = site.json("web-01", "test.ping", status=3)["web-01"]
        assert answer["status"] == "unreachable" and "Host key verification failed" in answer["error"] and words in answer["error"]
    site.write()
    with roster(site, web_01={"options": ["StrictHostKeyChecking=no"]}):
        assert re.search(r"roster:\d+:\d+: option 'StrictHostKeyChecking=no' is refused: host keys are always checked",
                         site.run("web-01", "test.ping", status=1).stderr)


def test_a_key_that_is_not_accepted_makes_a_machine_unreachable(site):
    stranger = make_key(site.folder / "stranger")
    with roster(site, web_01={"identity": str(stranger)}):
        answer = site.json("web-01", "test.ping", status=3)["web-01"]
    assert answer["status"] == "unreachable" and "Permission denied (publickey)" in answer["error"]


def test_a_copy_of_the_program_that_somebody_changed_never_runs(site):
    store = site.machines["web-01"].store
    site.run("web-01", "test.ping")
    copies = [path for path in store.iterdir() if path.name.startswith("zester-")]
    before = {path: path.stat().st_ino for path in copies}
    site.run("web-01", "test.ping")
    assert {path: path.stat().st_ino for path in copies} == before  # it is copied once
    (copy,) = [path for path in copies if path.stat().st_size == os.stat(f"{BUILD}/zester").st_size]
    copy.write_text("#!/bin/sh\ntouch $HOME/planted\n")
    assert site.json("web-01", "test.ping")["web-01"]["success"]
    assert not (site.machines["web-01"].home / "planted").exists()


def test_a_folder_that_others_could_write_to_is_refused(site):
    machine = site.machines["web-01"]
    site.run("web-01", "test.ping")
    machine.store.chmod(0o770)
    try:
        answer = site.json("web-01", "test.ping", status=2)["web-01"]
        assert answer["status"] == "failed" and "mode 0700" in answer["error"]
    finally:
        machine.store.chmod(0o700)
    moved = machine.folder / "moved"
    machine.store.rename(moved)
    machine.store.symlink_to(moved)
    try:
        assert "is a link" in site.json("web-01", "test.ping", status=2)["web-01"]["error"]
    finally:
        machine.store.unlink()
        moved.rename(machine.store)


def test_a_roster_that_others_may_write_to_is_refused(site):
    site.roster.chmod(0o666)
    assert "writable only by its owner" in site.run("*", "test.ping", status=1).stderr
    site.roster.chmod(0o600)


# --- machines that are not what they should be ------------------------------------------------------------------------


@pytest.mark.parametrize("command, words", [
    ("yes", "unexpected message received"),
    ("head -c 3000000 /dev/zero", "unexpected message received"),
    ("true", "exited without an answer"),
    ("echo gone wrong >&2; exit 4", "gone wrong"),
], ids=["lines", "zeros", "nothing", "words"])
def test_a_machine_that_answers_something_else_has_failed(site, command, words):
    machine = site.machines["web-01"]
    machine.authorize(command)
    try:
        answer = site.json("web-01", "test.ping", status=2)["web-01"]
    finally:
        machine.authorize()
    assert answer["status"] == "failed" and words in answer["error"], answer


@pytest.mark.parametrize("text, words", [
    ("head -c 100000 /dev/zero\n", "unexpected message received"),
    ("exit 0\n", "exited without an answer"),
    (f"{BUILD}/zester \"$@\" | tr '\\001-\\010' '\\011-\\020'\n", "unexpected message received"),
    ("printf '\\033[31mred\\007 alert\\n' >&2; exit 1\n", "?[31mred? alert"),
    ("echo \"zester: error while loading shared libraries: libsodium.so.23: cannot open shared object file\" >&2; exit 127\n", "apt install libyaml-0-2"),
    ("echo \"./zester: /lib/libc.so.6: version \\`GLIBC_2.36' not found\" >&2; exit 1\n", "C library is older"),
], ids=["zeros", "silence", "damage", "escapes", "libraries", "libc"])
def test_a_program_there_that_answers_something_else_has_failed(site, text, words):
    with program(site, "web-01", text):
        answer = site.json("web-01", "test.ping", status=2)["web-01"]
    assert answer["status"] == "failed" and words in answer["error"], answer


def test_another_processor_is_named(site):
    machine = site.machines["web-01"]
    site.run("web-01", "--clean")
    machine.program("uname", "echo Linux riscv64\n")
    try:
        error = site.json("web-01", "test.ping", status=2)["web-01"]["error"]
    finally:
        (machine.folder / "bin/uname").unlink()
    assert "Linux riscv64" in error and "'program' of the roster" in error


def test_a_machine_without_a_home_folder_keeps_its_copy_in_var_tmp(site):
    machine, copy = site.machines["web-01"], pathlib.Path(f"/var/tmp/zester-ssh-{os.getuid()}")
    if copy.exists():
        pytest.skip(f"{copy} is in use")
    machine.home.rename(machine.folder / "away")
    try:
        assert site.json("web-01", "test.ping")["web-01"]["success"]
        assert copy.stat().st_mode & 0o777 == 0o700 and [path.name[:7] for path in copy.iterdir() if path.is_file()] == ["zester-"]
        site.run("web-01", "--clean")
        assert not copy.exists()
    finally:
        (machine.folder / "away").rename(machine.home)


def test_words_of_a_profile_do_not_disturb(site):
    profile = site.machines["web-01"].home / ".bashrc"
    profile.write_text("echo hello from the profile; echo zester-ssh have Linux\n")
    assert site.json("web-01", "test.ping")["web-01"]["success"]
    profile.unlink()


def test_sudo_is_used_without_a_password_or_its_reason_is_shown(site):
    machine = site.machines["web-01"]
    log = machine.folder / "sudo-log"
    machine.program("sudo", f'echo "$1 $2 $3 $4" > {log}\n[ -e {machine.folder}/deny ] && {{ echo "sudo: a password is required" >&2; exit 1; }}\n'
                            'while [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n')
    with roster(site, web_01={"sudo": True}):
        assert site.json("web-01", "test.ping")["web-01"]["success"] and log.read_text() == "-n -H -- /bin/sh\n"
        (machine.folder / "deny").touch()
        answer = site.json("web-01", "test.ping", status=2)["web-01"]
    assert answer["status"] == "failed" and "a password is required" in answer["error"] and "NOPASSWD" in answer["error"]
    (machine.folder / "bin/sudo").unlink()


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["ctrl-c", "term", "kill"])
def test_the_end_of_the_command_ends_the_run_on_the_machine(site, signo):
    machine = site.machines["web-01"]
    mark = f"{machine.port}{signo}.25"
    (site.states / "long.zy").write_text(f"long:\n  cmd.run:\n    - name: sleep {mark} && sleep {mark}\nlater:\n  cmd.run:\n    - name: touch {machine.folder}/later\n"
                                         "    - require: [{cmd: long}]\n")
    command = subprocess.Popen(site.command("web-01", "state.apply", "long", "--format", "json"), env=site.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait(lambda: commands_with(f"sleep\0{mark}"), "the run does not begin")
    command.send_signal(signo)
    output = command.communicate(timeout=SECONDS)[0]
    wait(lambda: not commands_with(f"sleep\0{mark}"), "the run goes on")
    wait(lambda: not runs_of(machine), "the tree of the run is left")
    wait(lambda: not nodes_of(machine), "zester is left")
    assert not (machine.folder / "later").exists()
    if signo != signal.SIGKILL:
        (answer,) = json.loads(output)
        assert command.returncode == 2 and answer["error"] == "execution canceled"


def test_a_run_that_takes_too_long_is_ended_there(site):
    began, mark = time.monotonic(), f"{site.machines['web-01'].port}.5"
    answer = site.json("web-01", "cmd.run", f"sleep {mark}", "--timeout", "1s", status=2)["web-01"]
    assert time.monotonic() - began < SECONDS / 2 and "not finished after 1 s" in answer["error"]
    wait(lambda: not commands_with(f"sleep\0{mark}"), "the command goes on")


def test_a_connection_that_is_lost_in_the_middle_is_said_and_ends_the_run(site):
    port = str(site.machines["web-01"].port)
    mark = f"{port}.75"
    command = subprocess.Popen(site.command("web-01", "cmd.run", f"sleep {mark}", "--format", "json"), env=site.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait(lambda: commands_with(f"sleep\0{mark}"), "the run does not begin")
    for path in commands_with("ServerAliveInterval"):
        if f"\0{port}\0".encode() in path.read_bytes():
            os.kill(int(path.parent.name), signal.SIGKILL)
    (answer,) = json.loads(command.communicate(timeout=SECONDS)[0])
    assert command.returncode == 3 and answer["status"] == "unreachable" and "lost during the run" in answer["error"]
    wait(lambda: not commands_with(f"sleep\0{mark}"), "the command goes on")


def test_what_a_killed_run_left_is_removed_by_the_next_and_all_of_it_on_request(site):
    machine = site.machines["web-01"]
    site.run("web-01", "state.apply", "web")
    left = machine.store / "run-0123456789abcdef"
    (left / "states").mkdir(parents=True)
    old = machine.store / ("zester-" + "0" * 64)
    old.write_text("old\n")
    for path in (left, old):
        os.utime(path, (1, 1))
    site.run("web-01", "test.ping")
    assert not left.exists() and not old.exists()
    assert "clean" in site.run("*", "--clean").stdout
    assert not machine.store.exists() and site.run("*", "--clean").returncode == 0
    site.run("web-01", "state.revert", "web")  # undo data is elsewhere
    assert list((machine.folder / "made").iterdir()) == []


# --- the roster -------------------------------------------------------------------------------------------------------


def test_all_mistakes_of_a_roster_are_reported_at_once(site):
    site.roster.write_text("web-01:\n  hots: 10.0.0.1\n  port: 99999\n  passwd: x\ndb_01: {host: -oProxyCommand=id}\nmail: [1]\n")
    try:
        errors = site.run("*", "test.ping", status=1).stderr
    finally:
        site.write()
    for place, words in (("2:3", "did you mean 'host'"), ("3:9", "65535"), ("4:3", "passwords are never stored"), ("5:1", "stands for a dot"),
                         ("5:15", "may not begin with '-'"), ("6:7", "neither an address nor a map")):
        assert f"roster:{place}:" in errors and words in errors, (place, words, errors)


def test_a_roster_that_is_missing_is_named(site):
    done = subprocess.run([f"{BUILD}/zester", "ssh", "*", "test.ping", "--roster", "/nonexistent/roster"], text=True, capture_output=True, timeout=SECONDS)
    assert done.returncode == 1 and "roster '/nonexistent/roster' does not exist" in done.stderr


def test_short_entries_and_the_words_of_salt_are_understood(site):
    machine = site.machines["web-01"]
    site.roster.write_text(f"web-01:\n  host: 127.0.0.1\n  port: {machine.port}\n  priv: {site.key}\n  data_dir: {machine.data}\n  ssh_options:\n    - Compression=yes\n"
                           "127.0.0.1: 127.0.0.1\n")
    try:
        assert site.json("web-01", "test.ping")["web-01"]["success"]
        assert preview(site, "*") == ["web-01", "127.0.0.1"]
    finally:
        site.write()


def test_help_shows_a_roster(site):
    text = subprocess.run([f"{BUILD}/zester", "ssh", "--help"], text=True, capture_output=True, check=True, timeout=SECONDS).stdout
    assert "web-01: 192.0.2.7" in text and "--parallel N" in text and "zester ssh '*' --clean" in text
