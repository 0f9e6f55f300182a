"""Runs at the limits of the system: stacks, threads, descriptors, processes, and output that nobody takes."""
import os
import shutil
import subprocess

import pytest

from test_states import Machine


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

def as_somebody(machine, limits, *words):
    """With these limits, as a user of whom nothing else runs."""
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    if not shutil.which("setpriv") or not shutil.which("prlimit"):
        pytest.skip("needs setpriv and prlimit")
    for folder in [machine.folder, *machine.folder.parents][:3]:
        folder.chmod(folder.stat().st_mode | 0o755)
    subprocess.run(["chown", "-R", "54321:54321", machine.folder], check=True)
    return subprocess.run(["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "prlimit", *limits, "--",
                           *machine.command(*words)],
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
