"""States on this machine, from the command line: `zester --local`."""
import functools
import hashlib
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))


class Machine:
    """A scratch tree of states, settings and data, and a root to work in."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        (folder / "states").mkdir()

    def state(self, name, text):
        path = self.folder / "states" / (name.replace(".", "/") + ".zy")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("ROOT", str(self.root)))

    def settings(self, **files):
        (self.folder / "settings").mkdir(exist_ok=True)
        (self.folder / "settings" / "top.zy").write_text("base: {'*': [%s]}" % ", ".join(files))
        for name, text in files.items():
            (self.folder / "settings" / (name + ".zy")).write_text(text)

    def command(self, *words):
        return [ZESTER, "--local", "--states-dir", str(self.folder / "states"), "--settings-dir",
                str(self.folder / "settings"), "--data-dir", str(self.folder / "data"), *words]

    def run(self, *words, status=None, env=None):
        result = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=120, env=env)
        if status is not None:
            assert result.returncode == status, result.stdout + result.stderr
        return result

    def record(self, *words, status=None):
        result = self.run(*words, "--format", "json", status=status)
        records = json.loads(result.stdout)
        assert len(records) == 1
        return records[0]

    def read(self, name):
        return (self.root / name).read_text()


def has_ended(pid):
    """Gone, or dead and only waiting for its new parent to take notice."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


MOTD = """
motd:
  file.managed:
    - name: ROOT/motd
    - contents: hello
    - mode: '0640'
"""


def test_a_file_is_made_kept_mended_and_taken_back(machine):
    machine.state("web", MOTD)
    first = machine.record("state.apply", "web", status=0)
    assert first["success"] and first["summary"]["changed"] == 1
    assert machine.read("motd") == "hello\n"
    assert (machine.root / "motd").stat().st_mode & 0o7777 == 0o640

    again = machine.record("state.apply", "web", status=0)
    assert again["summary"]["changed"] == 0

    (machine.root / "motd").write_text("drift\n")
    preview = machine.run("state.apply", "web", "--test", status=0)
    assert "would change" in preview.stdout
    assert "-drift" in preview.stdout and "+hello" in preview.stdout
    assert machine.read("motd") == "drift\n"

    machine.run("state.apply", "web", status=0)
    assert machine.read("motd") == "hello\n"
    machine.run("state.revert", "web", status=0)  # the run that mended it, and no other
    assert machine.read("motd") == "drift\n"
    assert "was changed between run" in machine.run("state.revert", "web", status=2).stdout
    assert machine.read("motd") == "drift\n"
    machine.run("state.revert", "web", "--force", status=0)
    assert not (machine.root / "motd").exists()


def test_revert_by_run_id_takes_back_that_run_only(machine):
    machine.state("web", MOTD)
    machine.run("state.apply", "web", status=0)
    machine.state("web", MOTD.replace("hello", "bye"))
    second = machine.record("state.apply", "web", status=0)
    assert machine.read("motd") == "bye\n"
    machine.run("state.revert", second["summary"]["run_id"], status=0)
    assert machine.read("motd") == "hello\n"


def test_a_revert_of_a_mistyped_reference_is_a_mistake_with_a_suggestion(machine):
    machine.state("webserver", MOTD)
    machine.state("quiet", "x: {test.nop: []}")
    machine.run("state.apply", "webserver", status=0)
    wrong = machine.run("state.revert", "webservr", status=1)
    assert "did you mean 'webserver'?" in wrong.stderr
    assert (machine.root / "motd").exists()
    record = machine.record("state.revert", "nothing.like.it", status=1)
    assert "no run of 'nothing.like.it' is recorded" in record["error"]
    # A state file that never changed anything is no mistake.
    assert "nothing to revert" in machine.run("state.revert", "quiet", status=0).stdout


@pytest.mark.parametrize("word", ["--test", "test=True"])
def test_a_dry_run_of_a_revert_shows_what_it_would_do_and_does_nothing(machine, word):
    machine.state("web", MOTD)
    machine.run("state.apply", "web", status=0)
    said = machine.run("state.revert", "web", word, status=0).stdout
    assert "would revert  file.managed:motd" in said and "-hello" in said and f"would remove {machine.root}/motd" in said
    assert machine.read("motd") == "hello\n"
    machine.run("state.revert", "web", status=0)
    assert not (machine.root / "motd").exists()


def test_a_revert_says_which_runs_it_took_back(machine):
    machine.state("web", MOTD)
    first = machine.record("state.apply", "web", status=0)["summary"]["run_id"]
    machine.state("web", MOTD.replace("hello", "bye"))
    second = machine.record("state.apply", "web", status=0)["summary"]["run_id"]
    text = machine.run("state.revert", "web", "--all", "--yes", status=0).stdout
    assert "1 state: 1 reverted, 0 failed" in text
    assert f"2 runs, from {second} to {first}" in text
    machine.run("state.apply", "web", status=0)
    record = machine.record("state.revert", "web", status=0)
    assert record["summary"]["reverted"] == [record["summary"]["run_id"]]


def test_a_highstate_is_taken_back_by_that_name_and_a_list_of_references_by_each(machine):
    machine.state("web", MOTD)
    machine.state("top", "base: {'*': [web]}")
    machine.run("state.apply", status=0)
    machine.run("state.revert", "highstate", status=0)
    assert not (machine.root / "motd").exists()
    machine.run("state.apply", "highstate", status=0)
    assert (machine.root / "motd").exists()
    machine.run("state.revert", "web", status=0)
    machine.state("other", "x: {test.nop: []}")
    machine.run("state.apply", "mods=web,other", status=0)
    machine.run("state.revert", "other", status=0)
    assert not (machine.root / "motd").exists()


def test_folders_that_states_of_one_level_made_together_are_all_taken_back(machine):
    machine.state("many", "".join(
        f"ROOT/x/y/{i}/f: {{file.managed: [{{makedirs: true, contents: a}}]}}\n" for i in range(30)))
    for _ in range(5):
        machine.run("state.apply", "many", status=0)
        assert (machine.root / "x/y/29/f").exists()
        machine.run("state.revert", "many", status=0)
        assert list(machine.root.iterdir()) == []


def test_mistakes_are_shown_with_a_path_that_can_be_opened(machine):
    machine.state("web.site", "x: {foo.bar: []}")
    assert f"{machine.folder}/states/web/site.zy:1:5: " in machine.run("state.apply", "web.site", status=1).stderr
    machine.settings(common="x: [1\n")
    said = machine.run("settings.items", status=1).stderr
    assert f"{machine.folder}/settings/common.zy:1:4: '[' is never closed" in said


def test_very_long_lines_are_cut_in_text_and_whole_in_records(machine):
    machine.state("web", "ROOT/long: {file.managed: [{contents: %s}]}" % ("\u00e4" * 5000))
    text = machine.run("state.apply", "web", "--test", status=0).stdout
    assert max(map(len, text.splitlines())) < 400
    assert "more bytes; --format json shows them]" in text
    assert "\u00e4" * 5000 in machine.record("state.apply", "web", "--test")["results"][0]["diff"]


def test_reverting_shows_no_content_that_was_not_to_be_shown(machine):
    machine.state("web", MOTD + "    - show_changes: no\n")
    machine.run("state.apply", "web", status=0)
    record = machine.record("state.revert", "web", status=0)
    assert record["summary"]["changed"] == 1 and "hello" not in str(record)


def test_a_mode_without_quotes_and_zero_is_octal(machine):
    machine.state("web", MOTD.replace("'0640'", "640") + """
made:
  file.directory:
    - name: ROOT/made
    - mode: 1777
""")
    for _ in range(2):
        record = machine.record("state.apply", "web", status=0)
    assert record["summary"]["changed"] == 0
    assert (machine.root / "motd").stat().st_mode & 0o7777 == 0o640
    assert (machine.root / "made").stat().st_mode & 0o7777 == 0o1777


DRY = """
box:
  file.directory:
    - name: ROOT/box
    - user: no-such-user-here
    - group: no-such-group-here
box_file:
  file.managed:
    - name: ROOT/box/file
    - contents: x
    - user: no-such-user-here
    - require: [file: box]
box_command:
  cmd.run:
    - name: 'true'
    - runas: no-such-user-here
    - unless: 'true'
    - require: [file: box_file]
"""


def test_a_dry_run_takes_accounts_for_granted_that_may_come_and_a_run_does_not(machine):
    machine.state("web", DRY)
    record = machine.record("state.apply", "web", "--test", status=0)
    assert [result["changed"] for result in record["results"]] == [True, True, True], record
    assert "no user 'no-such-user-here' yet" in record["results"][0]["diff"]
    assert "no group 'no-such-group-here' yet" in record["results"][0]["diff"]
    record = machine.record("state.apply", "web", status=2)
    assert record["results"][0]["error"] == "no user 'no-such-user-here'"


def test_a_state_with_prereq_comes_after_what_it_requires_and_before_its_target(machine):
    machine.state("web", """
folder:
  file.directory:
    - name: ROOT/folder
drain:
  cmd.run:
    - name: echo drained >> ROOT/folder/log
    - require: [file: folder]
    - prereq: [file: link]
link:
  file.symlink:
    - name: ROOT/folder/link
    - target: elsewhere
    - require: [file: folder]
""")
    record = machine.record("state.apply", "web", status=0)
    assert [result["name"] for result in record["results"]] == ["file.directory:folder", "cmd.run:drain",
                                                                "file.symlink:link"]
    assert machine.read("folder/log") == "drained\n"
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A folder that is served over http: the folder and its address."""
    folder = tmp_path / "web"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_source_over_http_requires_a_hash_a_file_of_hashes_or_skip_verify(machine, web):
    folder, url = web
    (folder / "app.conf").write_text("port=80\n")
    digest = hashlib.sha1(b"port=80\n").hexdigest()
    (folder / "SUMS").write_text(f"{digest} *./app.conf\n")

    def apply(line, status):
        machine.state("web", f"ROOT/app.conf:\n  file.managed:\n    - source: {url}/app.conf\n{line}")
        return machine.record("state.apply", "web", status=status)["results"][0]

    assert "requires a hash" in apply("", 2)["error"]
    assert "has sha1" in apply(f"    - source_hash: sha1={'0' * 40}\n", 2)["error"]
    assert not (machine.root / "app.conf").exists()
    assert apply(f"    - source_hash: {url}/SUMS\n", 0)["changed"]
    assert machine.read("app.conf") == "port=80\n"
    (folder / "app.conf").write_text("port=81\n")
    assert apply("    - skip_verify: true\n", 0)["changed"]
    assert not apply("    - skip_verify: true\n", 0)["changed"]
    assert machine.read("app.conf") == "port=81\n"


def test_a_dry_run_keeps_nothing_of_what_it_fetched_and_the_rest_has_a_bound(machine, web):
    folder, url = web
    kept = machine.folder / "data/fetched"
    (folder / "app.conf").write_text("port=80\n")
    digest = hashlib.sha256(b"port=80\n").hexdigest()
    machine.state("web", f"ROOT/app.conf:\n  file.managed:\n    - source: {url}/app.conf\n"
                         f"    - source_hash: sha256={digest}\n")
    machine.run("state.apply", "web", "--test", status=0)
    assert not kept.exists()
    machine.run("state.apply", "web", status=0)
    assert [path.name for path in kept.iterdir()] == [digest]
    # an old one, and more than there is room for
    for name, age, size in (("old", 31, 1), ("big", 2, 2 << 30), ("new", 1, 10)):
        with open(kept / name, "wb") as file:
            file.truncate(size)
        os.utime(kept / name, (time.time() - age * 86400,) * 2)
    (folder / "app.conf").write_text("port=81\n")
    other = hashlib.sha256(b"port=81\n").hexdigest()
    machine.state("web", (machine.folder / "states/web.zy").read_text().replace(digest, other))
    machine.run("state.apply", "web", status=0)
    assert {path.name for path in kept.iterdir()} == {digest, other, "new"}
    # what is used is not old
    os.utime(kept / other, (time.time() - 40 * 86400,) * 2)
    (machine.root / "app.conf").unlink()
    (folder / "app.conf").unlink()
    machine.run("state.apply", "web", status=0)
    assert time.time() - (kept / other).stat().st_mtime < 1000


def test_the_record_has_the_promised_shape(machine):
    machine.state("web", """
a: {test.succeed_with_changes: []}
b: {test.fail_without_changes: [{require: [a]}]}
c: {test.nop: [{require: [b]}]}
""")
    record = machine.record("state.apply", "web", status=2)
    assert set(record) == {"peel_id", "status", "success", "results", "summary"}
    assert record["status"] == "failed" and record["success"] is False
    names = [r["name"] for r in record["results"]]
    assert names == ["test.succeed_with_changes:a", "test.fail_without_changes:b", "test.nop:c"]
    assert [r["level"] for r in record["results"]] == [0, 1, 2]
    assert record["results"][2]["skipped"] is True
    assert record["results"][2]["skip_reason"] == "require_failed"
    assert "test.fail_without_changes:b" in record["results"][2]["cause"]
    for result in record["results"]:
        assert isinstance(result["duration"], int) and isinstance(result["changed"], bool)
    assert set(record["summary"]) == {"states", "changed", "failed", "skipped", "duration", "canceled", "run_id"}


def test_every_mistake_is_reported_before_anything_runs(machine):
    machine.state("web", """
ok:
  cmd.run: [{name: touch ROOT/ran}]
one:
  file.manged: []
two:
  file.managed:
    - name: ROOT/x
    - contetns: y
three:
  cmd.run:
    - name: 'true'
    - require:
      - cmd.run: nobody
""")
    result = machine.run("state.apply", "web", status=1)
    assert not (machine.root / "ran").exists()
    for words in ('unknown module "file.manged"', "did you mean 'file.managed'?", "contetns", "did you mean 'contents'?"):
        assert words in result.stderr, result.stderr
    assert "web.zy:5:3" in result.stderr
    machine.state("web", "three: {cmd.run: [{name: 'true'}, {require: [{cmd.run: nobody}]}]}")
    result = machine.run("state.apply", "web", status=1)
    assert 'dag: state "cmd.run:three" requires unknown state "cmd.run:nobody"' in result.stderr


def test_a_cycle_names_its_members(machine):
    machine.state("web", """
a: {test.nop: [{require: [b]}]}
b: {test.nop: [{require: [c]}]}
c: {test.nop: [{require: [a]}]}
""")
    result = machine.run("state.check", "web", status=1)
    assert "dag: cycle detected, resolved 0 of 3 states" in result.stderr
    for name in ("test.nop:a", "test.nop:b", "test.nop:c"):
        assert name in result.stderr


def test_a_mistake_in_rendered_yaml_is_shown_in_the_template(machine):
    machine.state("web", "{% set n = 3 %}\n{#\n two lines\n#}\n{% for i in range(n) %}\ns{{ i }}:\n  test.nopp: []\n{% endfor %}\n")
    result = machine.run("state.check", "web", status=1)
    assert "web.zy:7:3" in result.stderr
    assert result.stderr.count("unknown module") == 1


def test_a_timeout_kills_the_whole_tree_of_a_command(machine):
    machine.state("slow", """
slow:
  cmd.run: [{name: '(setsid sleep 300 & echo $! > ROOT/pid; wait) & sleep 300'}]
after:
  test.nop: [{require: [slow]}]
""")
    for seconds in (2, 8, 32, 128):  # a busy machine may need longer to write the file
        start = time.monotonic()
        result = machine.run("state.apply", "slow", "--timeout", f"{seconds}s", "--format", "json", status=2)
        assert time.monotonic() - start < 250
        if (machine.root / "pid").exists() and machine.read("pid").strip():
            break
    [record] = json.loads(result.stdout)
    assert record["summary"]["canceled"] is True and "the --timeout of this run" in result.stderr
    assert record["results"][1]["skipped"] is True
    assert has_ended(int(machine.read("pid")))


def test_interrupting_a_run_leaves_no_process_behind(machine):
    machine.state("slow", "slow: {cmd.run: [{name: 'echo $$ > ROOT/pid; sleep 300'}]}")
    child = subprocess.Popen(machine.command("state.apply", "slow"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (machine.root / "pid").exists() or not machine.read("pid").strip():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 2 and b"--timeout" not in err
    assert has_ended(int(machine.read("pid")))


def test_a_restart_that_was_due_is_still_due_after_a_failure(machine):
    text = """
config: {file.managed: [{name: ROOT/config, contents: 'one'}]}
restart:
  cmd.run:
    - name: 'test -e ROOT/healthy && echo restarted >> ROOT/log'
    - unless: 'false'
    - onchanges: [config]
"""
    machine.state("web", text)
    machine.run("state.apply", "web", status=2)
    (machine.root / "healthy").touch()
    machine.run("state.apply", "web", status=0)
    assert machine.read("log") == "restarted\n"
    record = machine.record("state.apply", "web", status=0)
    assert record["results"][1]["skip_reason"] == "onchanges_not_met"
    assert machine.read("log") == "restarted\n"


def test_outputs_of_a_state_reach_a_later_one(machine):
    machine.state("web", """
build: {cmd.run: [{name: 'echo 1.2.3'}]}
note:
  file.managed:
    - name: ROOT/version
    - contents: "version {{ outputs('cmd.run:build').stdout }}"
""")
    machine.run("state.apply", "web", status=0)
    assert machine.read("version").strip() == "version 1.2.3"
    graph = machine.run("state.graph", "web", status=0).stdout
    assert graph.index("cmd.run:build") < graph.index("file.managed:note")


def test_an_optional_target_that_is_missing_is_shown_and_holds_nothing_up(machine):
    text = """
conf: {file.managed: [{name: ROOT/conf}, {contents: one}, {require: [{pkg: nginx, optional: true}]}]}
tell: {cmd.run: [{name: 'true'}, {require: [{file: conf, optional: true}]}, {watch_in: [{service: web, optional: true}]}]}
"""
    machine.state("web", text)
    graph = machine.run("state.graph", "web", status=0).stdout
    assert "require pkg.installed:nginx: optional, and not part of this run\n" in graph
    assert "      require file.managed:conf\n      watch_in service.running:web: optional, and not part of this run\n" in graph
    shown = json.loads(machine.run("state.show", "web", "--format", "json", status=0).stdout)
    assert [state.get("absent") for state in shown] == [["require pkg.installed:nginx"], ["watch_in service.running:web"]]
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 2


def test_a_secret_is_masked_wherever_it_could_show(machine):
    machine.settings(db="password: !secret hunter22\n")
    machine.state("web", """
conf: {file.managed: [{name: ROOT/conf, contents: 'pw={{ pillar.password }}'}]}
shout: {cmd.run: [{name: 'echo {{ pillar.password }}; exit 3'}]}
""")
    for words in (("--test",), (), ("--format", "json")):
        result = machine.run("state.apply", "web", *words)
        assert "hunter22" not in result.stdout + result.stderr
    assert "hunter22" in machine.read("conf")
    assert "hunter22" not in machine.run("state.show", "web").stdout


def test_a_secret_on_the_command_line_is_as_secret_as_one_in_a_file(machine):
    machine.state("web", """
conf: {file.managed: [{name: ROOT/conf, contents: 'pw={{ pillar.db.pw }}'}]}
shout: {cmd.run: [{name: 'echo {{ pillar.db.pw }}; exit 3'}]}
""")
    pillar = "pillar={db: {pw: !secret hunter22}}"
    for words in (["state.apply", "web", pillar, "--test"], ["state.apply", "web", pillar],
                  ["state.apply", "web", pillar, "--format", "json"], ["state.show", "web", pillar],
                  ["state.graph", "web", pillar]):
        result = machine.run(*words)
        assert "hunter22" not in result.stdout + result.stderr, words
    assert machine.read("conf").strip() == "pw=hunter22"
    wrong = machine.run("state.apply", "web", "pillar={db: {pw: !secret hunter22: x}}", status=1)
    assert "hunter22" not in wrong.stdout + wrong.stderr
    assert "is supported in fleet settings only" in machine.run("state.apply", "web", "pillar={pw: !encrypted x}", status=1).stderr
    by_hand = machine.run("test.echo", "text={pw: !secret hunter22}")
    assert "hunter22" not in by_hand.stdout + by_hand.stderr


@pytest.mark.parametrize("text", [
    "a: {file.managed: [{name: ROOT/a, contents: x, mode: {{ pillar.password }}}]}",
    "a: {test.nop: [{ {{ pillar.password }}: x}]}",
    "a: {test.nop: [{require: [{{ pillar.password }}]}]}",
    "{{ raise('no such key: ' ~ pillar.password) }}",
    "a: {test.nop: []}\n{{ pillar.password }}",
    "{{ pillar.password }}: {test.succeed_with_changes: []}",
])
def test_a_secret_is_masked_in_mistakes_and_names(machine, text):
    machine.settings(db="password: !secret hunter22\n")
    machine.state("web", text)
    for words in (["state.apply"], ["state.apply", "--format", "json"], ["state.check"], ["state.graph"]):
        result = machine.run(*words, "web")
        assert "hunter22" not in result.stdout + result.stderr
        assert "********" in result.stdout + result.stderr or words == ["state.check"]


def test_a_mistake_in_settings_shows_no_secret(machine):
    machine.state("web", "a: {test.nop: []}")
    machine.settings(db="password: !secret hunter22: x\n")
    result = machine.run("state.apply", "web", status=1)
    assert "db.zy:1:27: ': ' inside a value" in result.stderr and "hunter22" not in result.stderr


def test_a_umask_holds_for_what_a_state_makes_and_for_its_commands(machine):
    machine.state("web", """
file: {file.managed: [{name: ROOT/made/file, contents: x, makedirs: true, umask: '077'}]}
given: {file.managed: [{name: ROOT/given, contents: x, mode: '0644', umask: '077'}]}
folder: {file.directory: [{name: ROOT/folder, umask: '002'}]}
line: {file.append: [{name: ROOT/line, text: x, umask: '027'}]}
usual: {file.managed: [{name: ROOT/usual, contents: x}]}
command: {cmd.run: [{name: 'umask', umask: '027'}]}
""")
    record = machine.record("state.apply", "web", status=0)
    modes = {name: oct((machine.root / name).stat().st_mode & 0o777)
             for name in ("made", "made/file", "given", "folder", "line", "usual")}
    assert modes == {"made": "0o700", "made/file": "0o600", "given": "0o644", "folder": "0o775",
                     "line": "0o640", "usual": "0o644"}
    assert [r["details"]["stdout"] for r in record["results"] if r["name"] == "cmd.run:command"] == ["0027"]
    again = machine.record("state.apply", "web", status=0)
    assert [r["name"] for r in again["results"] if r["changed"]] == ["cmd.run:command"]


def test_a_state_with_test_true_is_looked_at_and_never_applied(machine):
    machine.state("web", """
motd: {file.managed: [{name: ROOT/motd, contents: x, test: true}]}
fine: {file.exists: [{name: ROOT, test: true}]}
reload: {cmd.run: [{name: 'touch ROOT/reloaded', onchanges: [{file: motd}]}]}
after: {cmd.run: [{name: 'touch ROOT/after', require: [{file: motd}]}]}
""")
    record = machine.record("state.apply", "web", status=0)
    results = {r["name"]: r for r in record["results"]}
    assert results["file.managed:motd"]["would_change"] and not results["file.managed:motd"]["changed"]
    assert "+x" in results["file.managed:motd"]["diff"] and "would_change" not in results["file.exists:fine"]
    assert results["cmd.run:reload"]["skip_reason"] == "onchanges_not_met"
    assert results["cmd.run:after"]["changed"] and record["summary"]["would_change"] == 1
    assert sorted(path.name for path in machine.root.iterdir()) == ["after"]
    text = machine.run("state.apply", "web", status=0).stdout
    assert "would change  file.managed:motd" in text and "1 unchanged, 1 would change" in text


def test_a_state_with_test_true_counts_as_unchanged_in_a_dry_run_and_for_prereq(machine):
    machine.state("web", """
motd: {file.managed: [{name: ROOT/motd, contents: x, test: true}]}
reload: {cmd.run: [{name: 'touch ROOT/reloaded', onchanges: [{file: motd}]}]}
before: {cmd.run: [{name: 'touch ROOT/before', prereq: [{file: motd}]}]}
""")
    for words in (["--test"], []):
        record = machine.record("state.apply", "web", *words, status=0)
        results = {r["name"]: r for r in record["results"]}
        assert results["file.managed:motd"]["would_change"] and not results["file.managed:motd"]["changed"], words
        assert results["cmd.run:reload"]["skip_reason"] == "onchanges_not_met", words
        assert results["cmd.run:before"]["skip_reason"] == "prereq_not_met", words
    assert list(machine.root.iterdir()) == []
    text = machine.run("state.apply", "web", "--test", status=0).stdout
    assert "would change  file.managed:motd" in text and "0 unchanged, 1 would change without test: true" in text


def test_a_state_that_is_not_parallel_has_its_level_for_itself(machine):
    log = machine.root / "log"
    command = "echo %s begins >> ROOT/log; sleep 0.2; echo %s ends >> ROOT/log"
    machine.state("web", "\n".join(
        "%s: {cmd.run: [{name: '%s'%s}]}" % (name, command % (name, name), more)
        for name, more in (("a", ""), ("b", ", parallel: false"), ("c", ", parallel: false"), ("d", ""))))
    machine.run("state.apply", "web", status=0)
    assert log.read_text().split("\n")[:-1] == [
        f"{name} {what}" for name in "abcd" for what in ("begins", "ends")]


def test_onchanges_any_runs_beside_a_failure(machine):
    machine.state("web", """
good: {test.succeed_with_changes: []}
same: {test.nop: []}
bad: {test.fail_without_changes: []}
one: {cmd.run: [{name: 'true', onchanges_any: [{test: good}, {test: bad}]}]}
none: {cmd.run: [{name: 'true', onchanges_any: [{test: same}, {test: bad}]}]}
broken: {cmd.run: [{name: 'true', onchanges_any: [{test: bad}]}]}
strict: {cmd.run: [{name: 'true', onchanges: [{test: good}, {test: bad}]}]}
""")
    results = {r["name"]: r for r in machine.record("state.apply", "web", status=2)["results"]}
    assert results["cmd.run:one"]["changed"]
    assert results["cmd.run:none"]["skip_reason"] == "onchanges_not_met"
    assert results["cmd.run:broken"]["skip_reason"] == "require_failed"
    assert results["cmd.run:strict"]["skip_reason"] == "require_failed"


def test_a_link_that_leads_nowhere_is_reported_by_a_dry_run(machine):
    machine.state("web", """
file: {file.managed: [{name: ROOT/link, contents: x}]}
line: {file.append: [{name: ROOT/link, text: x, require_any: [{file: file}, {file: tree}]}]}
tree: {file.recurse: [{name: ROOT/tree, source: salt://web}]}
""")
    machine.state("web.some", "")
    (machine.root / "link").symlink_to("nowhere/file")
    (machine.root / "tree").symlink_to("nowhere/tree")
    dry = {r["name"]: r for r in machine.record("state.apply", "web", "--test", status=0)["results"]}
    for name in ("file.managed:file", "file.append:line"):
        assert "parent directory %s/nowhere is missing" % machine.root in dry[name]["diff"]
    assert "%s/tree exists but is not a directory — " % machine.root in dry["file.recurse:tree"]["diff"]
    real = {r["name"]: r for r in machine.record("state.apply", "web", status=2)["results"]}
    assert real["file.managed:file"]["error"].startswith("parent directory %s/nowhere does not" % machine.root)
    assert real["file.recurse:tree"]["error"].endswith("(set force: true to replace it)")


def test_what_is_in_the_way_of_a_tree_goes_with_force(machine):
    machine.state("web", "tree: {file.recurse: [{name: ROOT/tree, source: salt://files, force: true}]}")
    machine.state("files.sub.a", "A")
    (machine.root / "tree").write_text("old")
    dry = machine.record("state.apply", "web", "--test", status=0)["results"][0]["diff"]
    assert "tree exists but is not a directory\n" in dry and "apply fails" not in dry
    machine.run("state.apply", "web", status=0)
    assert machine.read("tree/sub/a.zy") == "A"
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0
    machine.run("state.revert", "web", status=0)
    assert machine.read("tree") == "old"


def test_a_replacement_with_escapes_is_found_again(machine):
    machine.state("web", r"""
empty: {file.replace: [{name: ROOT/empty, pattern: '^$', repl: 'x\ty', append_if_not_found: true}]}
added: {file.replace: [{name: ROOT/added, pattern: '^key\s.*', repl: 'key\tvalue', append_if_not_found: true}]}
group: {file.replace: [{name: ROOT/group, pattern: '^(\s*)$', repl: '\1z', append_if_not_found: true}]}
""")
    for name in ("empty", "added", "group"):
        (machine.root / name).write_text("a\n\nb\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("empty") == "a\nx\ty\nb\n"
    assert machine.read("added") == "a\n\nb\nkey\tvalue\n"
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0


def test_a_command_without_a_shell_is_its_words(machine):
    words = "printf '%s|' 'a b' \"c d\" $HOME x\\ y ''"
    assert machine.run("cmd.run", words, "python_shell=False", status=0).stdout == "a b|c d|$HOME|x y||\n"
    assert machine.run("cmd.shell", "echo $((1 + 1)) | cat", "python_shell=True", status=0).stdout == "2\n"
    unclosed = machine.record("cmd.run", "echo 'x", "python_shell=False", status=2)
    assert "unclosed quote" in unclosed["results"][0]["error"]


PATCH = """--- a/conf
+++ b/conf
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""


def put_source(machine, name, text):
    (machine.folder / "states" / name).write_text(text)


def test_a_patch_is_applied_once_and_taken_back(machine):
    put_source(machine, "fix.patch", PATCH)
    machine.state("web", "fix: {file.patch: [{name: ROOT/conf, source: salt://fix.patch}]}")
    (machine.root / "conf").write_text("zero\none\ntwo\nthree\n")
    dry = machine.record("state.apply", "web", "--test", status=0)["results"][0]
    assert dry["changed"] and "-two\n+TWO" in dry["diff"] and machine.read("conf") == "zero\none\ntwo\nthree\n"
    machine.run("state.apply", "web", status=0)
    assert machine.read("conf") == "zero\none\nTWO\nthree\n"
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0
    machine.run("state.revert", "web", status=0)
    assert machine.read("conf") == "zero\none\ntwo\nthree\n"


def test_a_patch_that_does_not_fit_changes_nothing(machine):
    more = PATCH.replace("conf", "other")
    put_source(machine, "fix.patch", PATCH + more)
    machine.state("web", "fix: {file.patch: [{name: ROOT, source: salt://fix.patch, reject_file: ROOT/rej}]}")
    machine.state("one", "fix: {file.patch: [{name: ROOT/conf, source: salt://fix.patch}]}")
    (machine.root / "conf").write_text("one\ntwo\nthree\n")
    (machine.root / "other").write_text("something\nelse\n")
    assert machine.record("state.apply", "web", "--test", status=2)["summary"]["failed"] == 1
    assert not (machine.root / "rej").exists()
    error = machine.record("state.apply", "web", status=2)["results"][0]["error"]
    assert error == "hunk 1 of 1 (line 10 of the patch) does not apply to %s/other; nothing was patched" % machine.root
    assert machine.read("conf") == "one\ntwo\nthree\n" and machine.read("rej") == more
    several = machine.record("state.apply", "one", status=2)["results"][0]["error"]
    assert several.startswith("the patch is for 2 files, but ")


def test_a_patch_makes_edits_and_removes_the_files_of_a_folder(machine):
    put_source(machine, "fix.patch", PATCH.replace("conf", "sub/conf")
               + "--- /dev/null\n+++ b/made/new\n@@ -0,0 +1 @@\n+new\n"
               + "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n")
    machine.state("web", "fix: {file.patch: [{name: ROOT, source: salt://fix.patch}]}")
    (machine.root / "sub").mkdir()
    (machine.root / "sub" / "conf").write_text("one\ntwo\nthree\n")
    (machine.root / "old").write_text("old\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("sub/conf") == "one\nTWO\nthree\n" and machine.read("made/new") == "new\n"
    assert not (machine.root / "old").exists()
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0
    machine.run("state.revert", "web", status=0)
    assert machine.read("sub/conf") == "one\ntwo\nthree\n" and machine.read("old") == "old\n"
    assert not (machine.root / "made").exists()


def test_a_patch_never_leaves_its_folder(machine):
    put_source(machine, "fix.patch", PATCH.replace("b/conf", "b/../../conf"))
    machine.state("web", "fix: {file.patch: [{name: ROOT, source: salt://fix.patch}]}")
    (machine.folder / "conf").write_text("one\ntwo\nthree\n")
    error = machine.record("state.apply", "web", status=2)["results"][0]["error"]
    assert "the patch names '../../conf', which is not below" in error
    assert (machine.folder / "conf").read_text() == "one\ntwo\nthree\n"


def test_a_patch_may_be_for_the_root_of_the_file_system(machine):
    put_source(machine, "fix.patch", PATCH.replace("/conf", f"{machine.root}/conf"))
    machine.state("web", "fix: {file.patch: [{name: /, source: salt://fix.patch}]}")
    (machine.root / "conf").write_text("one\ntwo\nthree\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("conf") == "one\nTWO\nthree\n"


def test_comments_in_a_file_that_is_not_there_say_so(machine):
    for function in ("file.comment", "file.uncomment"):
        answer = machine.run(function, str(machine.root / "none"), "regex=^x", status=0).stdout
        assert "file %s/none does not exist" % machine.root in answer


def test_the_top_file_decides_for_highstate(machine):
    machine.state("a", "a: {test.nop: []}")
    machine.state("b", "b: {test.nop: []}")
    (machine.folder / "states" / "top.zy").write_text("base:\n  'G@kernel:Linux and web*': [a]\n  'db*': [b]\n")
    record = machine.record("--id", "web1", "state.highstate", status=0)
    assert [r["name"] for r in record["results"]] == ["test.nop:a"]
    result = machine.run("--id", "mail1", "state.highstate", status=1)
    assert "no states matched in top.zy" in result.stderr


def test_a_top_file_knows_the_groups_of_the_settings(machine):
    machine.state("a", "a: {test.nop: []}")
    machine.state("b", "b: {test.nop: []}")
    machine.settings(common="nodegroups: {front: web*, rest: not N@front}\n")
    (machine.folder / "states" / "top.zy").write_text("base:\n  N@front: [a]\n  N@rest: [b]\n")
    for name, result in (("web1", "test.nop:a"), ("db1", "test.nop:b")):
        assert [r["name"] for r in machine.record("--id", name, "state.highstate", status=0)["results"]] == [result]
    (machine.folder / "states" / "top.zy").write_text("base:\n  N@frnt: [a]\n")
    assert "no group 'frnt'" in machine.run("--id", "web1", "state.highstate", status=1).stderr


@pytest.mark.parametrize("text", ["abcd" * (9 << 18), "{{ 'abcd' * (9 * 2 ** 18) }}"], ids=["written", "rendered"])
def test_contents_may_be_as_large_as_a_state_file(machine, text):
    machine.state("big", f'big: {{file.managed: [{{name: ROOT/big, contents: "{text}"}}]}}')
    machine.run("state.apply", "big", status=0)
    assert machine.read("big") == "abcd" * (9 << 18) + "\n"
    machine.run("state.revert", "big", status=0)
    assert not (machine.root / "big").exists()


def test_a_question_does_not_wait_for_a_run(machine):
    machine.state("slow", "a: {cmd.run: [{name: 'touch ROOT/began; while ! test -e ROOT/go; do sleep 0.05; done'}]}")
    run = subprocess.Popen(machine.command("state.apply", "slow"), stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (machine.root / "began").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for words in (["test.echo", "true"], ["state.apply", "slow", "--test"]):
            assert "waiting" not in machine.run(*words, status=0).stderr and run.poll() is None
    finally:
        (machine.root / "go").write_text("")
        assert run.wait(60) == 0


def test_modules_are_called_by_hand(machine):
    assert machine.run("test.ping", status=0).stdout == "true\n"
    assert machine.run("cmd.run", "echo hi; echo no >&2", status=0).stdout == "hi\n"
    assert machine.run("cmd.run", "exit 3", status=2).returncode == 2
    path = machine.root / "by_hand"
    preview = machine.run("file.managed", str(path), "contents=hi", "test=True", status=0)
    assert "would change" in preview.stdout and not path.exists()
    machine.run("file.managed", str(path), "contents=hi", "mode=0600", status=0)
    assert path.read_text() == "hi\n"
    result = machine.run("file.manged", str(path), status=1)
    assert "did you mean 'file.managed'?" in result.stderr


def test_a_drawing_of_the_graph_is_wellformed(machine):
    import xml.etree.ElementTree as tree

    machine.state("web", "a: {test.nop: []}\n'b<&\"': {test.nop: [{require: [a]}]}\n")
    svg = tree.fromstring(machine.run("state.graph", "web", "--format", "svg", status=0).stdout)
    assert svg.tag.endswith("svg")
    dot = machine.run("state.graph", "web", "--format", "dot", status=0).stdout
    assert '"test.nop:a" -> "test.nop:b<&\\""' in dot


def test_two_runs_do_not_overlap(machine):
    machine.state("slow", "slow: {cmd.run: [{name: 'echo in >> ROOT/log; sleep 1; echo out >> ROOT/log'}]}")
    children = [subprocess.Popen(machine.command("state.apply", "slow"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for child in children:
        child.communicate(timeout=120)
        assert child.returncode == 0
    assert machine.read("log").split() == ["in", "out", "in", "out"]


def test_all_sleepers_of_one_level_sleep_at_once(machine):
    machine.state("wide", "{% for i in range(200) %}\ns{{ i }}: {cmd.run: [{name: sleep 2}]}\n{% endfor %}\n")
    start = time.monotonic()
    machine.record("state.apply", "wide", status=0)
    assert time.monotonic() - start < 200  # one after the other they would take 400 s


def test_killing_a_run_at_any_moment_leaves_whole_files_that_revert_takes_back(machine):
    old, new = "old\n" * 200, "new " * 500
    for i in range(30):
        (machine.root / f"f{i}").write_text(old)
    machine.state("many", "{% for i in range(30) %}\nf{{ i }}: {file.managed: [{name: ROOT/f{{ i }}, contents: '{{ 'new ' * 500 }}'}]}\n{% endfor %}\n")

    def count_new():
        texts = [machine.read(f"f{i}") for i in range(30)]
        assert all(text == old or text.rstrip() == new.rstrip() for text in texts)
        return sum(text != old for text in texts)

    for enough in (1, 2, 5, 10, 20, 30):
        child = subprocess.Popen(machine.command("state.apply", "many"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while count_new() < enough:
            assert time.monotonic() < deadline and child.poll() is None or count_new() >= enough
            time.sleep(0.001)
        child.kill()
        child.wait()
        count_new()
    machine.run("state.apply", "many", status=0)
    machine.run("state.revert", "many", "--all", "--yes", status=0)
    for i in range(30):
        assert machine.read(f"f{i}") == "old\n" * 200


def test_nothing_that_was_said_on_the_command_line_is_ignored(machine):
    machine.state("web", MOTD)
    typo = machine.run("state.apply", "web", "test=Ture", status=1)
    assert "'test' must be true or false, got 'Ture'" in typo.stderr
    other = machine.run("state.apply", "web", "tset=True", "pilar={a: 1}", status=1)
    assert "state.apply has no parameter 'tset'" in other.stderr and "did you mean 'test'?" in other.stderr
    assert "state.apply has no parameter 'pilar'" in other.stderr and "did you mean 'pillar'?" in other.stderr
    assert not (machine.root / "motd").exists()
    machine.run("state.apply", "web", "test=False", status=0)
    assert machine.read("motd") == "hello\n"


def test_a_module_by_hand_requires_its_argument(machine):
    result = machine.run("cmd.run", status=1)
    assert "cmd.run requires an argument: the command" in result.stderr
    assert machine.run("cmd.run", "command=echo hi", status=0).stdout == "hi\n"
    assert "requires an argument" in machine.run("file.managed", "contents=x", status=1).stderr


def test_secrets_are_masked_in_answers_too(machine):
    machine.settings(db="db: {user: web, password: !secret hunter2}")
    for words in (["settings.items"], ["pillar.get", "db:password"], ["settings.items", "--format", "json"]):
        answer = machine.run(*words, status=0).stdout
        assert "hunter2" not in answer and "********" in answer


def test_the_map_of_a_formula_works_without_settings(machine):
    machine.state("map", """
{% set found = salt['grains.filter_by']({'Debian': {'a': 1}, 'RedHat': {'a': 1}}, grain='os_family',
                                        merge=salt['pillar.get']('web:lookup')) %}
a: {cmd.run: [{name: "echo {{ found.a }}"}]}
""")
    shown = machine.run("state.show", "map", status=0).stdout
    assert "echo 1" in shown


def test_a_dry_run_says_what_would_change_in_its_causes(machine):
    machine.state("web", MOTD + """
reload:
  cmd.run: [{name: 'true'}, {onchanges: [{file: motd}]}]
""")
    dry = machine.record("state.apply", "web", "--test", status=0)
    assert dry["results"][1]["cause"] == "file.managed:motd would change"
    real = machine.record("state.apply", "web", status=0)
    assert real["results"][1]["cause"] == "file.managed:motd changed"


def test_a_closed_pipe_is_not_an_error_but_a_full_disk_is(machine):
    machine.state("many", "{% for i in range(3000) %}\na{{ i }}: {test.succeed_with_changes: []}\n{% endfor %}")
    words = machine.command("state.apply", "many")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        run.stdout.read(10)
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 0
    with open("/dev/full", "w") as full:
        result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 2 and "cannot write to standard output" in result.stderr


def test_a_misspelt_option_before_a_command_gets_a_suggestion():
    result = subprocess.run([ZESTER, "--locl", "test.ping"], capture_output=True, text=True)
    assert result.returncode == 1 and "(did you mean '--local'?)" in result.stderr


def test_an_invalid_mode_is_refused_with_its_place(machine):
    machine.state("web", MOTD.replace("'0640'", "999"))
    result = machine.run("state.apply", "web", status=1)
    assert "web.zy:6:13: 'mode' must be a file mode such as \"0644\", got 999" in result.stderr
    assert not (machine.root / "motd").exists()


def test_completion_knows_functions_modules_and_options():
    script = subprocess.run([ZESTER, "completion", "bash"], capture_output=True, text=True, timeout=60).stdout
    ask = script + """
COMP_WORDS=(zester --local file.mana); COMP_CWORD=2; _zester; echo "${COMPREPLY[@]}"
COMP_WORDS=(zester --local state.apply --tes); COMP_CWORD=3; _zester; echo "${COMPREPLY[@]}"
COMP_WORDS=(zester ren); COMP_CWORD=1; _zester; echo "${COMPREPLY[@]}"
"""
    answers = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert answers == ["file.managed", "--test", "render"]


def test_loose_parameters_are_reported_and_do_no_harm(machine):
    machine.state("web", MOTD + "    - colour: blue\n")
    assert "no parameter 'colour'" in machine.run("state.apply", "web", status=1).stderr
    loose = machine.run("state.apply", "web", "--loose-params", status=0)
    assert "web.zy:7:7: file.managed has no parameter 'colour'" in loose.stderr
    assert machine.read("motd") == "hello\n"



def test_what_is_owed_can_be_listed_and_waived(machine):
    assert machine.run("state.owed", status=0).stdout == "no reactions are owed\n"
    machine.state("web", MOTD + """
reload:
  cmd.run: [{name: 'false'}, {onchanges: [{file: motd}]}]
""")
    machine.run("state.apply", "web", status=2)
    owed = machine.run("state.owed", status=0).stdout
    assert owed.startswith("cmd.run:reload  since run ") and owed.endswith(": file.managed:motd had changed\n")
    debts = json.loads(machine.run("state.owed", "--format", "json", status=0).stdout)
    assert [debt["state"] for debt in debts] == ["cmd.run:reload"]
    assert "owes no reaction" in machine.run("state.waive", "cmd.run:other", status=1).stderr
    machine.run("state.waive", "cmd.run:reload", status=0)
    assert machine.record("state.apply", "web", status=0)["summary"]["changed"] == 0


def test_a_damaged_debt_is_reported_and_can_be_waived_by_its_file(machine):
    machine.state("web", MOTD + """
reload:
  cmd.run: [{name: 'false'}, {onchanges: [{file: motd}]}]
""")
    machine.run("state.apply", "web", status=2)
    debt, = (machine.folder / "data/owed").iterdir()
    debt.write_bytes(debt.read_bytes()[:-1])
    (debt.parent / ".zester-0123456789abcdef").write_bytes(b"left by a killed run")
    told = machine.run("state.owed", status=1)
    assert told.stdout == "" and f"{debt.name}' is damaged" in told.stderr
    machine.run("state.apply", "web", status=2)  # the state knows its debt by the name of the file
    assert [file.name for file in debt.parent.iterdir()] == [debt.name]
    machine.run("state.waive", debt.name, status=0)
    assert machine.run("state.owed", status=0).stdout == "no reactions are owed\n"


def test_a_data_folder_that_cannot_be_made_is_named(machine):
    machine.state("web", MOTD)
    (machine.folder / "data").write_text("a file")
    result = machine.run("state.apply", "web", status=1)
    assert "the data folder '" in result.stderr and not (machine.root / "motd").exists()


def test_escapes_are_for_terminals_that_know_them(machine):
    machine.state("web", MOTD)

    def seen(*more, **env):
        words = machine.command("state.apply", "web", "--test", *more)
        lead, end = os.openpty()
        with subprocess.Popen(words, stdout=end, stderr=end, env={**os.environ, **env}) as run:
            os.close(end)
            text = b""
            while True:
                try:
                    part = os.read(lead, 4096)
                except OSError:  # the other end is closed
                    break
                text += part
                if not part:
                    break
            assert run.wait() == 0
        os.close(lead)
        return text

    assert b"\x1b[32m" in seen(TERM="xterm")
    assert b"\x1b[32m" not in seen(TERM="xterm", NO_COLOR="1")
    assert b"\x1b[32m" not in seen("--no-color", TERM="xterm")
    assert b"\x1b" not in seen(TERM="dumb")


def test_what_a_command_leaves_in_the_background_may_go_on_writing(machine):
    """Far more than a pipe holds, on both streams, after the run has ended; the run does not wait for it."""
    machine.state("app", """
app:
  cmd.run:
    - name: |
        (echo $$; i=0; while test ! -e ROOT/end && test $i -lt 200000; do i=$((i+1)); printf '%1000d\\n' $i; printf '%1000d\\n' $i >&2; echo $i > ROOT/new && mv ROOT/new ROOT/count; done; echo done > ROOT/new && mv ROOT/new ROOT/count) &
        echo $! > ROOT/pid; echo started
""")

    def count():
        return machine.read("count").strip() if (machine.root / "count").exists() else "0"

    def wait_for(reached):
        deadline = time.monotonic() + 60
        while not reached(count()):
            assert time.monotonic() < deadline, count()
            time.sleep(0.01)

    record = machine.record("state.apply", "app", status=0)
    assert record["results"][0]["details"]["stdout"].startswith("started\n")
    pid, ended = int(machine.read("pid")), time.monotonic()
    try:
        at = int(count())
        wait_for(lambda now: int(now) > at + 500 and time.monotonic() > ended + 1)  # 500 KiB more of each stream
        assert not has_ended(pid)
    finally:
        (machine.root / "end").touch()
    wait_for(lambda now: now == "done")
    readers = subprocess.run(["pgrep", "-f", str(machine.root)], capture_output=True, text=True).stdout
    assert readers == "", "nothing is left when it has ended"


def test_a_run_ends_though_the_background_never_stops_writing(machine):
    machine.state("app", "app: {cmd.run: [{name: 'yes & echo $! > ROOT/pid'}]}\n")
    try:
        record = machine.record("state.apply", "app", "--timeout", "100s", status=0)
        assert record["success"] and not has_ended(int(machine.read("pid")))
    finally:
        os.kill(int(machine.read("pid")), signal.SIGKILL)


def test_a_detailed_exit_status_tells_changes_from_none_and_both_from_what_went_wrong(machine):
    machine.state("web", "motd: {file.managed: [{name: ROOT/motd, contents: x}]}")
    machine.state("bad", "bad: {cmd.run: [{name: 'false'}]}")
    machine.state("mistake", "bad: {cmd.rum: []}")
    steps = [("state.apply web --test", 2), ("state.apply web", 2), ("state.apply web --test", 0), ("state.apply web", 0),
             ("state.test web", 0), ("state.apply bad", 1), ("state.apply bad web", 1), ("state.apply mistake", 1),
             ("state.apply nope", 1), ("state.revert web", 2), ("state.revert web", 0), ("state.apply web --test --format json", 2),
             (f"file.managed {machine.root}/one contents=x --test", 2), (f"state.single file.managed {machine.root}/one contents=x", 2),
             ("cmd.run true", 2), ("cmd.run false", 1), ("state.apply web --nope", 1)]
    assert [(words, machine.run(*words.split(), "--detailed-exitcode").returncode) for words, _ in steps] == steps
    assert machine.run("state.apply", "web", "--test").returncode == 0, "without the option, a dry run succeeds"
    for function in ("test.ping", "state.show web", "facts.get id", "service.enabled x", "report"):
        refused = machine.run(*function.split(), "--detailed-exitcode", status=1).stderr
        assert f"--detailed-exitcode is for functions that apply or revert states, not for {function.split()[0]}" in refused


def test_a_report_that_cannot_be_written_is_not_taken_for_a_change(machine):
    machine.state("web", "motd: {file.managed: [{name: ROOT/motd, contents: x}]}")
    with open("/dev/full", "w") as full:
        done = subprocess.run(machine.command("state.apply", "web", "--detailed-exitcode"), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "only its report is lost" in done.stderr
