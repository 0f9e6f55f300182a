"""zester reactor check: every mistake of a folder of rules, before it is published."""
import json
import os
import subprocess

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
RULES = {
    "top.zy": "reactor:\n  - 'web-*/deploy': [reactor.deploy.notify]\n",
    "deploy/notify.zy": "notify:\n  local.service.restart: { tgt: '{{ event.peel }}', arg: '{{ data.service }}' }\n",
}


def check(folder, files, status, *before):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    result = subprocess.run([ZESTER, *before, "reactor", "check", "."], cwd=folder, capture_output=True, text=True, timeout=60)
    assert result.returncode == status, result.stdout + result.stderr
    return result


def test_a_folder_without_mistakes_is_counted(tmp_path):
    result = check(tmp_path, RULES, 0)
    assert (result.stdout, result.stderr) == (".: 1 rule, 1 reaction file\n", "")


def test_all_mistakes_are_reported_with_their_places(tmp_path):
    wrong = {"top.zy": "reactor:\n  - 'a/b': [reactor.gone]\n", "x.zy": "a: { lgo: x }\n"}
    result = check(tmp_path, {**RULES, **wrong}, 1)
    assert "./top.zy:2:13: no file 'gone.zy' for 'reactor.gone'" in result.stderr
    assert "./x.zy:1:6: no action 'lgo'" in result.stderr
    assert result.stderr.endswith("zester reactor check: .: 2 mistakes\n")
    assert result.stdout == ""


TEMPLATE = """one:
  dispatch.module:
    target: 'G@os and ('
    function: Test.Ping
two:
  dispatch.state:
    target: '{{ event.peel }}'
three:
  dispatch.module: { target: '{{ data.target }}', function: '{{ data.function }}', bogus: 1 }
four:
  dispatch.module:
    target: '{{ data.target }}'
    function: '{{ data.function }}'
"""


def test_lines_of_a_template_that_are_the_same_for_every_event_are_checked(tmp_path):
    result = check(tmp_path, {**RULES, "deploy/notify.zy": TEMPLATE}, 1)
    mistakes = [line for line in result.stderr.splitlines() if line.startswith("./deploy/notify.zy:")]
    assert [line.split(":")[1] for line in mistakes] == ["3", "3", "4", "6", "9"]
    assert "'sls' or 'highstate' is missing" in mistakes[3] and "has no field 'bogus'" in mistakes[4]
    assert result.stderr.endswith("zester reactor check: .: 5 mistakes\n")


def test_a_template_with_statements_may_leave_out_what_is_required(tmp_path):
    text = "a:\n  dispatch.state:\n    target: '*'\n{% if data.app %}\n    sls: '{{ data.app }}'\n{% endif %}\n"
    check(tmp_path, {**RULES, "deploy/notify.zy": text}, 0)


def test_warnings_are_shown_and_are_not_mistakes(tmp_path):
    enroll = {
        "top.zy": "reactor:\n  - '*': [reactor.enroll]\n",
        "enroll.zy": "a:\n  enroll.approve: { id: '{{ data.id }}', require_peel: '*' }\n",
    }
    result = check(tmp_path, enroll, 0)
    assert result.stdout == ".: 1 rule, 1 reaction file, 2 warnings\n"
    assert "./enroll.zy:2: warning: reactor.enroll: require_peel '*' accepts every peel" in result.stderr
    assert "warning: reactor.enroll: '*' matches events that are not from _master" in result.stderr


def test_a_folder_without_rules_is_a_mistake(tmp_path):
    assert "no .zy files in '.'" in check(tmp_path, {}, 1).stderr


def test_mistakes_and_warnings_for_programs(tmp_path):
    wrong = {"top.zy": "reactor:\n  - 'a/b': [reactor.x]\n", "x.zy": "a: { lgo: x }\n", "deploy/notify.zy": "a: { log: x }\n"}
    found = json.loads(check(tmp_path, wrong, 1, "--format", "json").stdout)
    assert found["rules"] == 1 and found["files"] == 2
    assert found["mistakes"] == [{"file": "./x.zy", "line": 1, "column": 6, "message": "no action 'lgo'", "hint": "did you mean 'log'?"}]
    assert [one["message"] for one in found["warnings"]] == ["no rule names this file"], found
    assert json.loads(check(tmp_path, {"x.zy": "a: { log: x }\n"}, 0, "--format", "json").stdout)["mistakes"] == []


def test_options_of_the_connection_may_stand_before_a_command_that_needs_none(tmp_path):
    check(tmp_path, RULES, 0, "--config", "no-such-file", "--timeout=5s")
    result = subprocess.run([ZESTER, "--config", "no-such-file", "render", "x.j2"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "unknown option" not in result.stderr and "x.j2" in result.stderr, result.stderr
    result = subprocess.run([ZESTER, "--format", "json", "ca", "fingerprint"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and "unknown option '--format'" in result.stderr, "there is no such output"
