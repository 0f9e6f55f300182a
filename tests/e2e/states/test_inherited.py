"""What a program gets from the one that starts it changes nothing: signals, masks, limits, streams, the folder it starts in."""
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile

import pytest

from kepler_home import Home, wait_until
from test_states import ZESTER, Machine

SECONDS = 60
ALL = set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP}
# What is blocked and what is ignored.
SIGNALS = "sed -n 's/^Sig\\(Blk\\|Ign\\):[[:space:]]*//p' /proc/self/status"


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    return Machine(tmp_path)


def start(machine, *words, before=None, **options):
    return subprocess.Popen(machine.command(*words), preexec_fn=before, text=True, **options)


def finish(child):
    out, err = child.communicate(timeout=SECONDS)
    assert "Sanitizer" not in (err or ""), err
    return out, err


def run(machine, *words, before=None, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    child = start(machine, *words, before=before, **pipes)
    out, err = finish(child)
    return child.returncode, out, err


def ignore(*signals):
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in signals]


# --- signals ---------------------------------------------------------------------------------------

def wait_for_line(machine):
    """A run that has begun and waits: it goes on when a line is written to the fifo."""
    os.mkfifo(machine.root / "go")
    os.mkfifo(machine.root / "begun")
    machine.state("wait", "it: {cmd.run: [{name: 'echo x > ROOT/begun; cat ROOT/go > ROOT/done'}]}\n")


def test_a_hangup_that_nohup_ignores_cancels_nothing(machine):
    wait_for_line(machine)
    child = start(machine, "state.apply", "wait", "-o", "json", before=ignore(signal.SIGHUP), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    (machine.root / "begun").read_text()
    child.send_signal(signal.SIGHUP)
    (machine.root / "go").write_text("on\n")
    out, err = finish(child)
    assert child.returncode == 0 and json.loads(out)[0]["success"], out + err
    assert machine.read("done") == "on\n"


def test_a_hangup_cancels_without_nohup(machine):
    wait_for_line(machine)
    child = start(machine, "state.apply", "wait", "-o", "json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    (machine.root / "begun").read_text()
    child.send_signal(signal.SIGHUP)
    out, _ = finish(child)
    assert child.returncode == 2 and json.loads(out)[0]["summary"]["canceled"]


def masks(text):
    """(blocked, ignored) as sets of signals."""
    return tuple({number for number in ALL if int(line, 16) >> (number - 1) & 1} for line in text.split()[:2])


@pytest.mark.parametrize("kept", [set(), {signal.SIGHUP}])
def test_commands_begin_with_default_signals_and_only_the_hangup_of_nohup_ignored(machine, kept):
    machine.state("look", "it:\n  cmd.run:\n    - name: >-\n        " + SIGNALS + " > ROOT/seen\n")

    def before():
        for number in ALL - {signal.SIGHUP}:
            if number not in (32, 33, 34):
                signal.signal(number, signal.SIG_IGN)
        for number in kept:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, ALL)

    status, out, err = run(machine, "state.apply", "look", before=before, restore_signals=False)
    assert status == 0, out + err
    assert masks(machine.read("seen")) == (set(), kept)


def test_children_can_be_waited_for_when_sigchld_was_ignored(machine):
    machine.state("it", "it: {cmd.run: [{name: 'exit 3'}, {success_retcodes: [3]}]}\n")
    status, out, err = run(machine, "state.apply", "it", before=ignore(signal.SIGCHLD))
    assert status == 0, out + err


def test_a_time_limit_ends_a_run_that_began_with_all_signals_blocked(machine):
    machine.state("it", "it: {cmd.run: [{name: 'sleep 1000'}]}\n")
    status, out, err = run(machine, "--timeout", "0.2s", "state.apply", "it", "-o", "json",
                           before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ALL))
    assert status == 2 and json.loads(out)[0]["summary"]["canceled"], out + err


# --- limits, masks, streams --------------------------------------------------------------------------

def test_a_limit_on_the_size_of_files_fails_a_state_and_is_reported(machine):
    machine.state("it", f"it: {{file.managed: [{{name: ROOT/large}}, {{contents: '{'x' * 100000}'}}]}}\nother: {{file.touch: [{{name: ROOT/small}}]}}\n")
    status, out, err = run(machine, "state.apply", "it", "-o", "json",
                           before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
    assert status == 2, (status, out, err)
    states = {state["name"]: state for state in json.loads(out)[0]["results"]}
    assert "File too large" in states["file.managed:it"]["error"] and not (machine.root / "large").exists()


def test_a_umask_without_rights_of_the_owner_locks_nobody_out(machine):
    machine.state("it", "it: {file.managed: [{name: ROOT/made/file}, {contents: x}, {makedirs: true}]}\n"
                        "command: {cmd.run: [{name: 'echo x > ROOT/own; cat ROOT/own'}, {umask: '077'}]}\n")
    words = machine.command("state.apply", "it")
    if os.geteuid() == 0:
        os.chmod(machine.folder, 0o777)
        os.chmod(machine.root, 0o777)
        for parent in machine.folder.parents[:3]:
            os.chmod(parent, 0o755)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]
    result = subprocess.run(words, text=True, capture_output=True, preexec_fn=lambda: os.umask(0o777), timeout=SECONDS)
    assert result.returncode == 0, result.stdout + result.stderr
    assert machine.read("made/file") == "x\n" and machine.read("own") == "x\n"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_are_not_taken_for_files_that_are_opened_later(machine, closed):
    machine.state("it", "it: {file.managed: [{name: ROOT/file}, {contents: text}]}\ncommand: {cmd.run: [{name: 'cat > ROOT/input'}]}\n")
    status, out, _ = run(machine, "state.apply", "it", before=lambda: [os.close(fd) for fd in closed],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # A report that could not be written is an error.
    assert status == (2 if 1 in closed else 0), (status, out)
    assert machine.read("file") == "text\n" and machine.read("input") == ""


# Starts its arguments with every signal ignored and blocked, a umask of nothing, and no stream but one.
HOSTILE = """
import os, signal, sys
for number in set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
os.umask(0o777)
os.close(0), os.close(1)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_daemon_and_its_services_begin_as_usual():
    home = Home()
    try:
        home.start_daemon(sys.executable, "-c", HOSTILE)
        with open(f"{home.folder}/look.sh", "w") as script:
            script.write(f"{SIGNALS} > {home.folder}/seen\necho x > {home.folder}/done\n")
        home.write(f"services: {{look: {{command: [sh, {home.folder}/look.sh]}}}}\n")
        home.start("--wait")
        wait_until(lambda: os.path.exists(f"{home.folder}/done"), "the service has run")
        with open(f"{home.folder}/seen") as file:
            assert masks(file.read()) == (set(), set())
        home.stop_daemon()  # by SIGTERM
    finally:
        home.close()


# --- the folder ------------------------------------------------------------------------------------

def test_relative_folders_are_those_of_the_start(machine):
    with tarfile.open(machine.folder / "states/a.tar", "w") as archive:
        path = machine.folder / "one"
        path.write_text("one\n")
        archive.add(path, "one")
    machine.state("it", "it: {archive.extracted: [{name: ROOT/to}, {source: zester://a.tar}, {enforce_toplevel: false}, {skip_verify: true}]}\n"
                        "script: {cmd.script: [{name: run}, {source: zester://run.sh}, {cwd: /}]}\n")
    (machine.folder / "states/run.sh").write_text(f"#!/bin/sh\npwd > {machine.root}/pwd\n")
    words = [ZESTER, "--local", "--states-dir", "states", "--settings-dir", "./settings", "--data-dir", "data"]
    for more in (["state.apply", "it"], ["state.revert", "it"]):
        result = subprocess.run(words + more, cwd=machine.folder, text=True, capture_output=True, timeout=SECONDS)
        assert result.returncode == 0, result.stdout + result.stderr
        if more[0] == "state.apply":
            assert machine.read("to/one") == "one\n" and machine.read("pwd") == "/\n"
    assert not (machine.root / "to").exists() and (machine.folder / "data").is_dir()
