"""On a peel's own machine. zester-peel call: a function here, with the published tree, the settings and the name of this peel, with and without a bus and an
agent. zester doctor: what is wrong with the agent."""
import json
import os
import subprocess

import pytest

from fleet import BUILD, SERVER, Fleet, read_marks
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

STATES = {
    "top.zy": "base: {'*': [site]}\n",
    "site.zy": """page:
  file.managed:
    - name: FOLDER/page
    - contents: "{{ facts.id }} {{ facts.role }} {{ settings.motd }} {{ settings.password }}"
""",
    "slow.zy": """slow:
  cmd.run:
    - name: echo begin >> FOLDER/order; until [ -e FOLDER/gate ]; do sleep 0.05; done; echo end >> FOLDER/order
""",
    "quick.zy": "quick:\n  cmd.run:\n    - name: echo quick >> FOLDER/order\n",
}
SETTINGS = {"top.zy": "base: {'*': [all]}\n", "all.zy": "motd: hello\npassword: !encrypted hush-hush\n"}


def write_tree(folder, files, work):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text.replace("FOLDER", str(work)))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("call")) as fleet:
        write_tree(fleet.folder / "tree", STATES, fleet.folder)
        write_tree(fleet.folder / "settings", SETTINGS, fleet.folder)
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, states_dir=f"{fleet.folder}/tree", settings_dir=f"{fleet.folder}/settings")
        (fleet.folder / "web-01").mkdir()
        (fleet.folder / "web-01/facts").write_text("role: shop\n")
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        fleet.wait((fleet.peel.folder / "states/site.zy").exists, "the peel has the tree")
        fleet.wait((fleet.peel.folder / "data/settings-snapshot.msgpack").exists, "the peel has its settings")
        yield fleet


def call(fleet, *words, **more):
    return fleet.run("zester-peel", "call", "--config", fleet.peel.folder / "peel.yaml", *words, **more)


def check_page(fleet):
    page = fleet.folder / "page"
    page.unlink(missing_ok=True)
    dry = call(fleet, "state.apply", "site", "--test")
    assert not page.exists() and "hush-hush" not in dry.stdout
    result = call(fleet, "state.highstate")
    assert page.read_text().strip() == "web-01 shop hello hush-hush"
    assert "1 changed" in result.stdout and "hush-hush" not in result.stdout + result.stderr


def test_a_call_has_the_tree_the_settings_and_the_facts_of_the_peel(fleet):
    check_page(fleet)
    assert call(fleet, "settings.get", "motd").stdout == "hello\n"
    assert json.loads(call(fleet, "test.ping", "--format", "json").stdout)
    assert call(fleet, "cmd.run", "echo out").stdout == "out\n"


def test_a_failure_and_a_mistake_have_the_statuses_of_zester(fleet):
    assert call(fleet, "state.single", "test.fail_without_changes", "x", status=None).returncode == 2
    assert "unknown function 'no.such'" in call(fleet, "no.such", status=1).stderr
    assert call(fleet, "state.apply", "missing", status=1).stderr


def test_a_call_and_a_job_never_apply_states_at_once(fleet):
    order, gate = fleet.folder / "order", fleet.folder / "gate"
    jid = fleet.zester_json("web-01", "state.apply", "slow", "--async")["jid"]
    fleet.wait(lambda: read_marks(order) == ["begin"], "the job runs")
    second = subprocess.Popen([f"{BUILD}/zester-peel", "call", "--config", fleet.peel.folder / "peel.yaml", "state.apply", "quick"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert "waiting" in second.stdout.readline()
        gate.touch()
        second.stdout.read()
        assert second.wait(60) == 0
    finally:
        second.kill()
        second.stdout.close()
    assert read_marks(order) == ["begin", "end", "quick"]
    fleet.wait(lambda: fleet.zester_json("job", "show", jid)["job"]["status"] == "complete", "the job has ended")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_others_than_root_are_told_so(fleet):
    fleet.peel.folder.joinpath("data").chmod(0o700)
    words = [f"{BUILD}/zester-peel", "call", "--config", str(fleet.peel.folder / "peel.yaml"), "test.ping"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=60, user=65534, cwd="/")
    assert result.returncode == 1 and ("run this as root" in result.stderr or "ermission denied" in result.stderr)


def diagnose(fleet, status=0, conf=None):
    words = ("--peel", conf or fleet.peel.folder / "peel.yaml", "--format", "json")
    findings = json.loads(fleet.run("zester", "doctor", *words, status=status).stdout)
    assert all("advice" in finding for finding in findings if finding["status"] != "ok"), findings
    return {finding["check"]: finding["status"] for finding in findings}


def test_a_doctor_finds_an_agent_well(fleet):
    call(fleet, "state.highstate")
    found = diagnose(fleet)
    assert set(found.values()) == {"ok"}, found
    assert set(found) >= {"config", "identity", "credentials", "port", "agent", "agent: nats", "states", "settings", "outbox", "disk", "last run"}
    broken = fleet.folder / "broken.yaml"
    broken.write_text("no_such_key: 1\n")
    assert diagnose(fleet, status=1, conf=broken) == {"config": "fail"}


def test_a_call_needs_neither_a_bus_nor_an_agent(fleet):
    fleet.master.stop()
    fleet.server.stop()
    check_page(fleet)
    fleet.wait(lambda: diagnose(fleet, status=1).get("agent: nats") == "fail", "the doctor sees that the bus is gone")
    assert diagnose(fleet, status=1)["port"] == "fail"
    fleet.peel.stop()
    check_page(fleet)
    found = diagnose(fleet, status=1)
    assert found["agent"] == "fail" and found["states"] == found["settings"] == found["last run"] == "ok"
    assert "systemctl start zester-peel" in fleet.run("zester", "doctor", "--peel", fleet.peel.folder / "peel.yaml", status=1).stdout
