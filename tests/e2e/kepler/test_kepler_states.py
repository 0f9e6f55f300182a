"""kepler.* states: configs of the orchestrator, with the real kepler-daemon."""
import contextlib
import json
import os
import socket
import threading

import pytest

from kepler_home import daemon_home, machine_beside, wait_until
from machine import PROGRAM

WEB = """
services:
  web:
    command: ["sleep", "infinity"]
"""
# Healthy as soon as the file is there.
CHECKED = """
services:
  web:
    command: ["sleep", "infinity"]
    healthcheck: {test: ["test", "-e", "DIR/well"], interval: 50ms, timeout: 10s, retries: 1000}
  migrate:
    command: ["sh", "-c", "echo run >> DIR/migrations"]
    restart: "no"
"""


@pytest.fixture
def home():
    with daemon_home() as made:
        yield made


@pytest.fixture
def machine(tmp_path, home):
    return machine_beside(tmp_path, home, home.path("kepler.yaml"))


def running(machine, text=None, *more):
    items = [f"name: {machine.config}", *more]
    if text:
        (machine.states / "kepler.yaml").write_text(text.replace("DIR", machine.home.folder))
        items.append("source: zester://kepler.yaml")
    return "web: {kepler.running: [" + ", ".join(f"{{{item}}}" for item in items) + "]}\n"


def result(results):
    return results["kepler.running:web"]


def test_a_config_is_installed_started_and_given_back(machine):
    state = running(machine, WEB)
    dry = result(machine.apply(state, "--test"))
    assert dry["changed"] and f"{machine.config} is not running" in dry["text"]
    assert not os.path.exists(machine.config)
    done = result(machine.settles(state))
    assert done["details"]["action"] == "started" and done["details"]["condition"] == "started"
    assert machine.home.status("web") == "running"
    machine.revert()
    assert not os.path.exists(machine.config) and machine.home.run("ps", "--all").stdout.count("web") == 0


def test_why_leads_from_a_service_to_the_run_that_requested_it(machine):
    machine.apply(running(machine, WEB))
    words = [PROGRAM, "why", f"{machine.config}:web", "--data-dir", machine.root / "data", "--format", "json"]
    machine.env["HOME"] = str(machine.root)
    found = json.loads(machine.run(*words))
    assert [link["kind"] for link in found["chain"]] == ["service", "run"], found
    assert found["chain"][1]["what"].startswith("state.apply case: 1 state, 1 changed")
    assert found["first_cause"] == "not recorded: the run was not a job of the fleet"
    machine.home.run("stop", "web", file=machine.config)
    found = json.loads(machine.run(*words))
    assert len(found["chain"]) == 1 and found["first_cause"].startswith("stop requested by "), found
    called = machine.zester("kepler.why", "web")[0][0]["results"][0]["details"]["result"]
    assert called["status"] == "stopped" and called["config"] == machine.config
    assert "kepler has no service 'nope'" in machine.run(PROGRAM, "--local", "kepler.why", "nope", check=False).stderr


def test_a_changed_config_runs_again_and_a_revert_runs_the_old_one(machine):
    machine.apply(running(machine, WEB))
    (machine.states / "case.zy").write_text(running(machine, WEB.replace("infinity", "1000")))
    run = machine.zester("state.apply", "case")[0][0]
    assert run["results"][0]["details"]["action"] == "restarted" and command(machine) == ["sleep", "1000"]
    assert not result(machine.apply(running(machine, WEB.replace("infinity", "1000"))))["changed"]
    machine.zester("state.revert", run["summary"]["run_id"])
    assert command(machine) == ["sleep", "infinity"] and open(machine.config).read() == WEB
    assert not result(machine.apply(running(machine, WEB)))["changed"]


def test_a_config_that_another_state_writes_runs_its_old_text_after_a_revert(machine):
    machine.home.write(WEB)
    machine.home.start()
    text = (f"file: {{file.managed: [{{name: {machine.config}, contents: 'services: {{web: {{command: [sleep, \"1000\"]}}}}'}}]}}\n"
            f"web: {{kepler.running: [{{name: {machine.config}}}, {{watch: [{{file: file}}]}}]}}\n")
    assert result(machine.apply(text))["details"]["action"] == "restarted"
    assert not result(machine.apply(text))["changed"]
    assert command(machine) == ["sleep", "1000"]
    machine.revert()
    wait_until(lambda: command(machine) == ["sleep", "infinity"], "the old config runs")
    assert not result(machine.apply(running(machine)))["changed"], "file and daemon agree"


def command(machine):
    pid = machine.home.wait_for("web", "running")["pid"]
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().rstrip("\0").split("\0")


def test_a_config_with_mistakes_changes_nothing(machine):
    machine.apply(running(machine, WEB))
    before = machine.home.services()["web"]["pid"], open(machine.config).read()
    for words in (["--test"], []):
        found = result(machine.apply(running(machine, WEB.replace("command", "comand")), *words))
        assert found["failed"] and "comand" in found["error"] and "kepler.yaml:4:5" in found["error"], found
    assert (machine.home.services()["web"]["pid"], open(machine.config).read()) == before


@contextlib.contextmanager
def relay(path, daemon, request, before):
    """A socket that leads to that of the daemon, and calls `before` when a request of this name passes."""
    word = bytes([0xA0 + len(request)]) + request.encode()  # as MessagePack has it

    def pump(source, sink, watched):
        while data := source.recv(1 << 16):
            if watched and word in data:
                before()
            sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def accept(listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # the test is over
            server = socket.socket(socket.AF_UNIX)
            server.connect(daemon)
            for ends in ((client, server, True), (server, client, False)):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield


@pytest.mark.parametrize("runs", [False, True])
def test_the_checked_text_is_loaded_even_if_the_file_changes(machine, runs):
    replaced = []

    def replace():
        with open(machine.config, "w", encoding="utf-8") as file:
            file.write(WEB + "  other:\n    command: [sleep, infinity]\n")
        replaced.append(True)

    state = running(machine, WEB)
    if runs:
        machine.settles(state)
        state = running(machine, WEB.replace("infinity", "1000000"))
    path = machine.home.path("relay.sock")
    machine.env = dict(machine.env, KEPLER_SOCKET_PATH=path)
    with relay(path, machine.home.path("state/kepler.sock"), "run" if runs else "start", replace):
        done = result(machine.apply(state))
    assert replaced and done["changed"] and not done["failed"], done
    assert list(machine.home.services()) == ["web"] and machine.home.status("web") == "running"


def test_it_waits_for_health_and_reports_what_is_missing(machine):
    state = running(machine, CHECKED, "condition: healthy", "timeout: 200ms")
    found = result(machine.apply(state))
    assert "does not meet the condition 'healthy' after 200 ms: service 'web' is " in found["error"], found
    dry = result(machine.apply(state, "--test"))
    assert not dry["changed"] and not dry["failed"], dry
    machine.home.write("", "well")
    found = result(machine.apply(running(machine, CHECKED, "condition: healthy")))
    assert not found["failed"] and not found["changed"], found
    assert machine.home.status("web") == "healthy"
    assert machine.home.read("migrations") == "run\n", "a one-shot that is through is not run again"


def test_impossible_conditions_are_reported_at_once(machine):
    config = WEB + "  broken: {command: [\"false\"], restart: \"no\"}\n"
    found = result(machine.apply(running(machine, config, "services: [broken]", "condition: completed_successfully", "timeout: 1h")))
    assert "cannot meet the condition 'completed_successfully': service 'broken' is exited" in found["error"], found
    found = result(machine.apply(running(machine, config, "services: [nope]")))
    assert "no service 'nope'" in found["error"] or "unknown service 'nope'" in found["error"], found


def test_a_service_that_was_stopped_is_started_again_and_a_revert_stops_only_that(machine):
    config = WEB + "  api: {command: [sleep, infinity]}\n"
    machine.home.write(config)
    machine.home.start("api")
    machine.home.wait_for("api", "running")
    dry = result(machine.apply(running(machine), "--test"))
    assert "service 'web' of " in dry["text"] and "is stopped" in dry["text"], dry
    machine.settles(running(machine))
    machine.revert()
    assert machine.home.status("web") == "stopped" and machine.home.status("api") == "running"


def test_absent_stops_and_removes_and_a_revert_starts_it_again(machine):
    machine.home.write(WEB)
    machine.home.start()
    machine.home.wait_for("web", "running")
    state = f"gone: {{kepler.absent: [{{name: {machine.config}}}]}}"
    machine.settles(state)
    assert not os.path.exists(machine.config)
    machine.revert()
    machine.home.wait_for("web", "running")


def test_a_missing_daemon_is_reported(machine):
    machine.home.stop_daemon()
    found = result(machine.apply(running(machine, WEB)))
    assert found["failed"] and "kepler daemon start" in found["error"], found
    dry = result(machine.apply(running(machine, WEB), "--test"))
    assert dry["changed"] and "no kepler daemon is running" in dry["text"], dry


def test_an_autostarted_config_that_ran_anew_comes_back_with_the_daemon(machine):
    config = "kepler: {autostart: true}\n" + WEB
    machine.apply(running(machine, config))
    machine.apply(running(machine, config.replace("infinity", "1000")))
    machine.home.stop_daemon()
    machine.home.start_daemon()
    machine.home.wait_for("web", "running")


def test_mistakes_in_the_state_have_their_place(machine):
    found = machine.mistakes(running(machine, WEB, "condition: heathy"))
    assert "case.zy:1:" in found and '"heathy"' in found and "healthy" in found, found


# --- requisites -----------------------------------------------------------------------------------------

def required(machine, *requisites, dialect="zy"):
    machine.DIALECT = dialect
    return ("load:\n  cmd.run:\n    - name: touch " + machine.home.path("loaded") + "\n    - require:\n" +
            "".join(f"      - kepler: {one}\n" for one in requisites))


@pytest.mark.parametrize("dialect", ["zy", "sls"])
def test_a_state_requires_a_service_that_no_state_manages(machine, dialect):
    machine.home.write(CHECKED.replace("DIR", machine.home.folder), "shop.yaml")
    machine.home.start(file="shop.yaml")
    found = machine.apply(required(machine, "shop/web healthy 200ms", dialect=dialect))
    assert found["cmd.run:load"]["skip_reason"] == "require_failed", found
    assert "shop/web does not meet the condition 'healthy' after 200 ms: service 'web' is " in found["kepler.condition:shop/web healthy 200ms"]["error"]
    machine.home.write("", "well")
    found = machine.apply(required(machine, "shop/web healthy", machine.home.path("shop.yaml:web") + " started", "web healthy", dialect=dialect))
    assert len(found) == 4 and not any(one["failed"] for one in found.values()) and found["cmd.run:load"]["changed"], found
    assert not any(one["changed"] for name, one in found.items() if name.startswith("kepler.condition:")), found


def test_a_service_is_awaited_after_the_state_that_starts_it(machine):
    found = machine.apply(running(machine, WEB) + required(machine, "web started"))
    assert found["cmd.run:load"]["changed"] and found["kepler.running:web"]["changed"], found


def test_a_dry_run_does_not_wait_for_a_service(machine):
    found = machine.apply(running(machine, WEB) + required(machine, "web healthy 1h"), "--test")
    waited = found["kepler.condition:web healthy 1h"]
    assert not waited["failed"] and not waited["changed"], found
    assert found["cmd.run:load"]["changed"] and not os.path.exists(machine.home.path("loaded"))


def test_a_service_that_is_unknown_fails_what_requires_it_and_onfail_runs(machine):
    text = required(machine, "web/nope started") + "alarm: {cmd.run: [{name: 'true'}, {onfail: [{kepler: web/nope started}]}]}\n"
    found = machine.apply(text)
    assert found["kepler.condition:web/nope started"]["error"] == "kepler has no service 'web/nope'"
    assert found["cmd.run:load"]["skip_reason"] == "require_failed" and found["cmd.run:alarm"]["changed"], found


def test_a_wrong_condition_is_a_mistake_with_its_place(machine):
    found = machine.mistakes(required(machine, "web/api heathy", "web/api healthy soon"))
    assert "case.zy:5:17: unknown condition 'heathy' (did you mean 'healthy'?)" in found, found
    assert "case.zy:6:17: timeout: " in found, found


# --- why ------------------------------------------------------------------------------------------------

def test_why_leads_from_a_skipped_state_to_what_failed_and_to_the_run(machine):
    machine.apply(required(machine, "web/nope started"))
    text = machine.run(PROGRAM, "why", "load", "--data-dir", machine.root / "data").splitlines()
    assert text[0] == ("state cmd.run:load: skipped: kepler.condition:web/nope started failed: kepler has no service 'web/nope'"), text
    assert text[1] == "  <- state kepler.condition:web/nope started: failed: kepler has no service 'web/nope'"
    assert text[2].startswith("  <- run ") and ": state.apply case: 2 states, 0 changed, 1 failed, 1 skipped, 20" in text[2], text
    # A machine that has a configuration of a fleet tries to ask it.
    assert text[3].startswith(("  first cause: not recorded: the run was not a job of the fleet", "  first cause: unknown: cannot query the fleet: "))


def test_why_of_a_service_shows_the_orchestrators_explanation(machine):
    machine.home.write(WEB)
    machine.home.start("web")
    name = os.path.basename(machine.home.folder) + "/web"
    text = machine.run(PROGRAM, "why", name, "--data-dir", machine.root / "data").splitlines()
    assert text[0] == f"service web: of {machine.config}" and text[1].startswith("web: running") and "start requested by" in text[-1], text
    found = json.loads(machine.run(PROGRAM, "why", f"{machine.config}:web", "--format", "json", "--data-dir", machine.root / "data"))
    assert found["kind"] == "service" and found["details"]["status"] == "running", found
    failed = machine.run(PROGRAM, "why", "nope", "--data-dir", machine.root / "data", check=False)
    assert failed.returncode == 1 and "nothing is known about 'nope'" in failed.stderr and "kepler has no service 'nope'" in failed.stderr
