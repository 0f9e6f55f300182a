"""Runs at the limits of the system: stacks, threads, descriptors, processes, and output that nobody takes."""
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import time

import pytest

from test_states import Machine

# For a busy machine: seconds more than promised, and how often it may be busier than that.
SLACK = 3
TRIES = 4


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


# --- stacks ------------------------------------------------------------------------------------

MACRO = "{% macro m(n) %}{% if n > 0 %}DEEPER{% endif %}x{% endmacro %}{{ m(190) }}"
NEST = "{% set ns = namespace(v=[]) %}{% for i in range(60000) %}{% set ns.v = [ns.v] %}{% endfor %}"
TEMPLATES = {
    "a macro": MACRO.replace("DEEPER", "{{ m(n-1) }}"),
    "a macro in brackets": MACRO.replace("DEEPER", "{{ " + "(" * 150 + "m(n-1)" + ")" * 150 + " ~ 'a' }}"),
    "a macro in lists": MACRO.replace("DEEPER", "{{ " + "'a' ~ [[" * 60 + "m(n-1)" + "]]" * 60 + " }}"),
    "a macro in blocks": MACRO.replace("DEEPER", "{% filter upper %}{% filter lower %}{% with a=1 %}{% for i in [1] %}"
                                       "{{ [n]|map('string')|list|join ~ m(n-1) }}{% endfor %}{% endwith %}"
                                       "{% endfilter %}{% endfilter %}"),
    "a caller": MACRO.replace("DEEPER", "{% call m(n-1) %}{{ caller() if caller is defined else '' }}{% endcall %}"),
    "an include": "{% if n is not defined %}{% set n = 150 %}{% endif %}{% if n > 0 %}{% with n = n - 1 %}"
                  "{% include 't.j2' %}{% endwith %}{% endif %}",
    "a sum": "{{ " + "+".join(["1"] * 990) + " }}",
    "not": "{{ " + "not " * 190 + "1 }}",
    **{f"a deep value, {use}": NEST + "{{ " + use + " }}" for use in [
        "ns.v", "ns.v|tojson", "ns.v|yaml", "ns.v == ns.v", "ns.v|flatten", "[ns.v, ns.v]|sort",
        "[ns.v]|map('string')|list", "ns.v in [ns.v]", "{'a': ns.v}|dictsort"]},
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_nests_deeply_ends_or_is_an_error(machine, name):
    machine.state("web", "".join(f"""
f{i}: {{file.managed: [{{name: ROOT/f{i}, source: 'zester://t.j2', template: jinja}}]}}
""" for i in range(3)))
    (machine.folder / "states/t.j2").write_text(TEMPLATES[name])
    result = machine.run("state.apply", "web")
    assert result.returncode in (0, 2), (result.returncode, result.stderr[-500:])
    if result.returncode:
        assert "limit of" in result.stdout or "too deeply" in result.stdout or "deep" in result.stdout, result.stdout
    for stack in (["prlimit", "--stack=1048576"], []):
        done = subprocess.run([*stack, machine.command()[0], "render", machine.folder / "states/t.j2"], text=True,
                              capture_output=True, check=False, timeout=100)
        assert done.returncode in (0, 1), (done.returncode, done.stderr[-500:])


# --- threads and processes ------------------------------------------------------------------------

# The limit of processes counts all that run as a user. Nobody else has this one, not even another run of these tests.
SOMEBODY = 1_000_000_000 + os.getpid()


def as_somebody(machine, limits, *words):
    """With these limits, as a user of whom nothing else runs."""
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    if not shutil.which("setpriv") or not shutil.which("prlimit"):
        pytest.skip("needs setpriv and prlimit")
    for folder in [machine.folder, *machine.folder.parents][:3]:
        folder.chmod(folder.stat().st_mode | 0o755)
    subprocess.run(["chown", "-R", f"{SOMEBODY}:{SOMEBODY}", machine.folder], check=True)
    return subprocess.run(["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", "prlimit", *limits,
                           "--", *machine.command(*words)],
                          text=True, capture_output=True, check=False, timeout=100, cwd="/",
                          env={"PATH": os.environ["PATH"], "HOME": str(machine.folder),
                               "ASAN_OPTIONS": "detect_leaks=0"})  # it would need a thread


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_run_that_can_start_no_thread_goes_on_with_what_there_is(machine, limit):
    commands = limit > 1
    machine.state("web", "".join(f"f{i}: {{file.managed: [{{name: ROOT/f{i}, contents: x}}]}}\n" for i in range(20)) +
                  "".join(f"c{i}: {{cmd.run: [{{name: 'exec sleep 0.05'}}]}}\n" for i in range(20 * commands)))
    result = as_somebody(machine, [f"--nproc={limit}"], "state.apply", "web")
    assert result.returncode == 0, result.stdout[-1000:] + result.stderr
    assert f"{20 + 20 * commands} changed, 0 failed" in result.stdout
    assert len(list(machine.root.iterdir())) == 20


def test_commands_wait_for_a_descriptor(machine):
    machine.state("web", "".join(f"c{i}: {{cmd.run: [{{name: 'exec sleep 0.01'}}]}}\n" for i in range(200)))
    for limit in (40, 100):
        result = subprocess.run(["prlimit", f"--nofile={limit}:{limit}", *machine.command("state.apply", "web")],
                                text=True, capture_output=True, check=False, timeout=100)
        assert result.returncode == 0, result.stdout[-1000:] + result.stderr
        assert "200 changed, 0 failed" in result.stdout


# --- output --------------------------------------------------------------------------------------

@pytest.mark.parametrize("to", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("words", [[], ["--format", "json"]])
def test_a_report_that_cannot_be_written_does_not_hide_that_the_run_finished(machine, to, words):
    machine.state("web", "a: {file.managed: [{name: ROOT/a, contents: x}]}")
    line = " ".join(f"'{word}'" for word in machine.command("state.apply", "web", *words))
    result = subprocess.run(["sh", "-c", f"{line} {to}"], text=True, capture_output=True, check=False)
    assert result.returncode == 2 and machine.read("a").strip() == "x"
    assert "the run finished (1 changed, 0 failed, 0 skipped); only its report is lost" in result.stderr
    # nothing was run: that is another status
    result = subprocess.run(["sh", "-c", f"{line.replace('web', 'no-such')} {to}"], text=True, capture_output=True,
                            check=False)
    assert result.returncode == 1 and "finished" not in result.stderr


# --- time ----------------------------------------------------------------------------------------

def make_sparse(path, size):
    with open(path, "wb") as file:
        file.truncate(size)


def make_tree(path, count=30000):
    for i in range(count // 1000):
        (path / f"{i}").mkdir(parents=True)
        for k in range(1000):
            os.symlink("x", path / f"{i}/{k}")


def make_lines(path, count=400000, tail=b""):
    path.write_bytes(b"".join(b"key%d = value%d\n" % (i, i) for i in range(count)) + tail)


def make_tar(path):
    info = tarfile.TarInfo("big")
    info.size = 1000 << 20
    path.write_bytes(info.tobuf())
    with open(path, "r+b") as file:
        file.truncate(1024 + (1000 << 20))


# What takes long: a state, and what it works on.
LONG = {
    "test.sleep": ("a: {test.sleep: [{length: 60}]}", None),
    "cmd.run": ("a: {cmd.run: [{name: 'sleep 60'}]}", None),
    "cmd.run, a tree of processes": ("a: {cmd.run: [{name: 'sleep 60 & trap \"\" TERM; sleep 61; wait'}]}", None),
    "a guard": ("a: {test.nop: [{unless: 'sleep 60'}]}", None),
    "a retry": ("a: {test.fail_without_changes: [{retry: {attempts: 9, interval: 60}}]}", None),
    "file.replace": (r"a: {file.replace: [{name: ROOT/f, pattern: '(\w+) = (\w+)', repl: '\2'}]}",
                     lambda root: make_lines(root / "f", tail=b"\xff\n")),
    "file.append": ("a: {file.append: [{name: ROOT/f, text: [%s]}]}" % ", ".join(f"line {i}" for i in range(9000)),
                    lambda root: make_lines(root / "f")),
    "file.copy": ("a: {file.copy: [{name: ROOT/to, source: ROOT/f}]}", lambda root: make_sparse(root / "f", 200 << 30)),
    "file.directory": ("a: {file.directory: [{name: ROOT/t, recurse: [mode, user], user: USER, file_mode: '0600', "
                       "dir_mode: '0700'}]}", lambda root: make_tree(root / "t")),
    "file.absent": ("a: {file.absent: [{name: ROOT/t}]}", lambda root: make_tree(root / "t")),
    "a template": ("a: {file.managed: [{name: ROOT/a, template: jinja, source: 'zester://t.j2'}]}",
                   lambda root: (root.parent / "states/t.j2").write_text(
                       "{% for i in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}")),
    "a template of states": ("{% for i in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}", None),
    "archive.extracted": ("a: {archive.extracted: [{name: ROOT/to, source: ROOT/f.tar}]}",
                          lambda root: make_tar(root / "f.tar")),
    "a fetch": ("a: {file.managed: [{name: ROOT/a, source: 'http://127.0.0.1:PORT/x', skip_verify: true}]}", None),
    "git.latest": ("a: {git.latest: [{name: 'http://127.0.0.1:PORT/x', target: ROOT/a}]}", None),
}


# Trees of a size that a test can make are done sooner on a fast machine.
SHORT = {"file.directory": "20ms", "file.absent": "20ms"}


def is_ready_for_signals(pid):
    """Is SIGINT caught, or blocked because a descriptor receives it?"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except FileNotFoundError:
        return True  # it has ended
    bit = 1 << (signal.SIGINT - 1)
    return int(facts.get("SigCgt", "0"), 16) & bit or int(facts.get("SigBlk", "0"), 16) & bit


def end_by_timeout(machine, name):
    began = time.monotonic()
    result = machine.run("--timeout", SHORT.get(name, "200ms"), "state.apply", "web",
                         env=dict(os.environ, no_proxy="127.0.0.1"))
    return result, time.monotonic() - began - 0.2


def end_by_ctrl_c(machine, name):
    with subprocess.Popen(machine.command("state.apply", "web"), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, no_proxy="127.0.0.1")) as child:
        while not is_ready_for_signals(child.pid):
            time.sleep(0.001)
        if name not in SHORT:
            time.sleep(0.1)  # into the work; at any other moment it ends as fast
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, error = child.communicate()
        return subprocess.CompletedProcess(child.args, child.returncode, out, error), time.monotonic() - began


@pytest.mark.parametrize("end", [end_by_timeout, end_by_ctrl_c])
@pytest.mark.parametrize("name", LONG)
def test_a_run_ends_within_a_second_of_its_timeout_and_of_ctrl_c(machine, name, end):
    text, prepare = LONG[name]
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        if prepare:
            prepare(machine.root)
        machine.state("web", text.replace("PORT", str(deaf.getsockname()[1])).replace("USER", getpass.getuser()))
        for _ in range(TRIES):
            result, took = end(machine, name)
            if took < 1 + SLACK:
                break
    assert took < 1 + SLACK, (took, result.stdout[-500:], result.stderr[-500:])
    done = name in SHORT and end is end_by_ctrl_c and result.returncode == 0  # before the signal came
    assert done or result.returncode in (1, 2), (result.stdout, result.stderr)
    assert done or name == "a retry" or "cancel" in result.stdout + result.stderr, (result.stdout, result.stderr)
    assert [path.name for path in machine.root.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("timeout", ["1ns", "999ns", "1us"])
def test_the_shortest_timeout_is_a_limit_and_zero_is_none(machine, timeout):
    machine.state("web", "a: {cmd.run: [{name: 'sleep 60'}]}")
    result = machine.run("--timeout", timeout, "state.apply", "web", status=2)
    assert "canceled" in result.stdout
    machine.state("web", "a: {cmd.run: [{name: 'sleep 0.01'}]}")
    machine.run("--timeout", "0", "state.apply", "web", status=0)
