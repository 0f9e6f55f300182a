"""Secrets of `zester --local`: !secret in state files, and secrets that were written with escapes."""
import base64
import json
import subprocess

import pytest
import yaml

from test_states import Machine

PASSWORD = "hünter\"2\\2's&x"

STATES = """
token:
  file.managed: [{name: ROOT/token, contents: !secret 'hunter-token', mode: '0600'}]
env:
  cmd.run:
    - name: 'echo "$PW"; echo "{\\"pw\\": \\"$PW\\"}" >&2; test ! -e ROOT/broken'
    - env: {PW: !secret hunter-nested, OTHER: fine}
    - retry: {attempts: 1, interval: 0}
react:
  cmd.run: [{name: !secret 'echo hunter-command >> ROOT/log'}, {onchanges: [{cmd: env}]}, {unless: [!secret 'test -e hunter-guard']}]
"""
HIDDEN = ["hunter-token", "hunter-nested", "hunter-command", "hunter-guard"]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def stored(machine, *, but=("undo",)):
    """Everything that runs have left in the data folder."""
    return b"\n".join(path.read_bytes() for path in (machine.folder / "data").rglob("*")
                      if path.is_file() and not any(part in but for part in path.parts))


def find(text, hidden):
    text = text.encode() if isinstance(text, str) else text
    return [secret for secret in hidden if secret.encode() in text]


@pytest.mark.parametrize("dialect", ["zy", "sls"])
@pytest.mark.parametrize("broken", [False, True])
def test_a_secret_in_a_state_file_is_shown_nowhere(machine, dialect, broken):
    (machine.folder / f"states/web.{dialect}").write_text(STATES.replace("ROOT", str(machine.root)))
    if broken:
        (machine.root / "broken").write_text("")
    said = ""
    for words in (["state.apply", "web", "--test"], ["state.show_sls", "web"], ["state.apply", "web", "--test", "--format", "json"],
                  ["state.apply", "web", "--format", "json"], ["state.last"], ["state.apply", "web", "--format", "yaml"],
                  ["state.show_lowstate", "web"], ["state.owed"], ["state.revert", "web"]):
        result = machine.run(*words)
        said += result.stdout + result.stderr
    assert "********" in said and find(said, HIDDEN) == []
    assert find(stored(machine), HIDDEN) == []
    undo = [path for path in (machine.folder / "data/undo").rglob("*") if path.is_file()]
    assert undo and all(path.stat().st_mode & 0o077 == 0 for path in undo)


def test_a_secret_in_a_state_file_is_what_the_state_gets(machine):
    machine.state("web", STATES)
    machine.run("state.apply", "web", status=0)
    assert machine.read("token") == "hunter-token\n" and machine.read("log") == "hunter-command\n"


def test_a_secret_is_masked_in_a_mistake_of_its_file(machine):
    machine.state("web", "a:\n  file.managed:\n    - name: ROOT/a\n    - mode: !secret hunter-mode\n")
    said = machine.run("state.apply", "web", status=1).stderr
    assert "web.zy:4:" in said and "hunter-mode" not in said
    assert find(stored(machine), ["hunter-mode"]) == []


def test_a_secret_is_masked_in_the_keys_of_an_answer(machine):
    machine.settings(all="token: !secret hunter-key\n")
    for words in ([], ["--format", "json"], ["--format", "yaml"]):
        said = machine.run("slsutil.renderer", "string={hunter-key: {a: hunter-key}}", *words, status=0).stdout
        assert "hunter-key" not in said and "********" in said


@pytest.mark.parametrize("text, place, tag", [
    ("a:\n  cmd.run:\n    - name: !sekret hunter22\n", "web.zy:3:13", "!sekret"),
    ("a:\n  cmd.run:\n    - name: !grep -q x\n", "web.zy:3:13", "!grep"),
    ("a:\n  cmd.run: !list [{name: 'true'}]\n", "web.zy:2:12", "!list"),
    ("!id a:\n  test.nop: []\n", "web.zy:1:1", "!id"),
    ("{% set x = 1 %}\na:\n  cmd.run:\n    - name: !encrypted hunter22\n", "web.zy:4:13", "!encrypted"),
])
def test_an_unknown_tag_is_refused_at_its_place(machine, text, place, tag):
    machine.state("web", text)
    said = machine.run("state.apply", "web", status=1).stderr
    assert f"{place}: unknown tag '{tag}'" in said and "!secret" in said and "hunter22" not in said


def test_tags_of_the_core_work(machine):
    machine.state("web", "a:\n  file.managed: [{name: !!str ROOT/a, contents: !!str 1, mode: !!str '0600'}]\nb: {test.nop: [{name: ! text}]}\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("a") == "1\n"


WRITTEN = """
json: {file.managed: [{name: ROOT/json, contents: {{ {'pw': pillar.pw} | tojson | tojson }} }]}
yaml: {file.managed: [{name: ROOT/yaml, contents: {{ {'pw': pillar.pw} | yaml(False) | tojson }} }]}
serial: {file.serialize: [{name: ROOT/serial.json, serializer: json, dataset: {pw: {{ pillar.pw | tojson }}}}]}
serial-yaml: {file.serialize: [{name: ROOT/serial.yaml, serializer: yaml, dataset: {pw: {{ pillar.pw | tojson }}}}]}
said:
  cmd.run: [{name: 'cat ROOT/python ROOT/auth; false'}]
"""


def forms():
    return [PASSWORD, json.dumps(PASSWORD)[1:-1], json.dumps(PASSWORD, ensure_ascii=False)[1:-1], yaml.dump(PASSWORD).strip()[1:-1],
            PASSWORD.replace("'", "''"), base64.b64encode(PASSWORD.encode()).decode(), repr(PASSWORD)[1:-1]]


def test_a_password_with_quotes_and_umlauts_is_masked_however_it_is_written(machine):
    machine.settings(db=yaml.dump({"other": 1}) + "pw: !secret " + json.dumps(PASSWORD) + "\n")
    machine.state("web", WRITTEN)
    (machine.root / "python").write_text("\n".join(forms()) + "\n")
    (machine.root / "auth").write_text(base64.b64encode(b"admin:" + PASSWORD.encode()).decode() + "\n")
    said = ""
    for words in (["state.apply", "web", "--test"], ["state.apply", "web", "--format", "json"], ["state.apply", "web", "--format", "yaml"],
                  ["state.apply", "web"], ["state.last"]):
        result = machine.run(*words)
        said += result.stdout + result.stderr
    assert json.loads(machine.read("serial.json"))["pw"] == PASSWORD
    # what --format json quotes once more is seen as it is in the record
    seen = said + "".join(json.loads('"' + piece + '"') if "\n" not in piece else "" for piece in said.split('"') if piece.count("\\") == 0)
    assert find(seen, forms()) == [] and find(stored(machine), forms()) == []
    assert "nter" not in said.replace("printer", "")
    encoded = base64.b64encode(b"admin:" + PASSWORD.encode()).decode()
    assert encoded[12:-4] not in said


def test_states_whose_names_differ_by_a_secret_are_held_to_their_plan_and_named_without_it(machine):
    machine.settings(all="one: !secret hunter-one\ntwo: !secret hunter-two\n")
    machine.state("web", """
write:
  cmd.run:
    - names: ['echo {{ settings.one }} >> ROOT/log', 'echo {{ settings.two }} >> ROOT/log', 'echo plain >> ROOT/log']
conf: {file.managed: [{names: ['ROOT/{{ settings.one }}', ROOT/other]}, {contents: text}, {require: [write]}]}
react: {cmd.run: [{name: 'echo react >> ROOT/log'}, {onchanges: [conf]}]}
""")
    result = machine.run("state.apply", "web", "--test", "--format", "json", status=0)
    plan = machine.folder / "plan"
    plan.write_text(result.stdout)
    said = result.stdout
    for words in (["state.apply", "web", "--plan", str(plan), "--format", "json"], ["state.apply", "web"], ["state.revert", "web"]):
        result = machine.run(*words, status=0)
        said += result.stdout + result.stderr
    assert sorted(machine.read("log").split())[:3] == ["hunter-one", "hunter-one", "hunter-two"] and "react" in machine.read("log")
    assert find(said, ["hunter-one", "hunter-two"]) == [] and find(stored(machine), ["hunter-one", "hunter-two"]) == []
