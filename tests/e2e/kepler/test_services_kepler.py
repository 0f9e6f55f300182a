"""service.* with the orchestrator as service manager: the real kepler-daemon."""
import os

import pytest

from kepler_home import daemon_home, machine_beside, wait_until
from machine import PROGRAM

SERVICES = """
kepler:
  autostart: AUTOSTART
services:
  web:
    command: ["sh", "-c", "echo $$ > DIR/web.pid; exec sleep 600"]
  once:
    command: ["sh", "-c", "exit 3"]
    restart: "no"
"""


@pytest.fixture
def home():
    with daemon_home() as made:
        yield made


@pytest.fixture
def machine(tmp_path, home):
    return machine_beside(tmp_path, home, write(home, "kepler.yaml"))


def write(home, name, autostart="false"):
    return home.write(SERVICES.replace("DIR", home.folder).replace("AUTOSTART", autostart), name)


def state(machine, kind, *more, service="web"):
    items = ", ".join([f"config: {machine.config}", *more])
    return f"{service}: {{service.{kind}: [{{{items}}}]}}"


def word(machine, *words):
    return machine.zester(*words)[0][0]["results"][0]["details"]["result"]


def test_a_service_of_a_config_is_started_stopped_and_given_back(machine):
    result = machine.settles(state(machine, "running"))["service.running:web"]
    assert result["details"] == {"service": "web", "action": "started", "manager": "kepler"}
    assert machine.home.status("web") == "running"
    machine.settles(state(machine, "dead"))
    assert machine.home.status("web") == "stopped"
    machine.revert()
    assert machine.home.status("web") == "stopped", "what ran before was nothing"


def test_a_service_that_the_daemon_knows_needs_no_config(machine):
    machine.home.start("web")
    machine.home.wait_for("web", "running")
    result = machine.apply("web: {service.running: [{provider: kepler}]}")["service.running:web"]
    assert not result["changed"] and not result["failed"], result
    assert word(machine, "service.status", "web", "provider=kepler") == "running"
    assert word(machine, "service.stop", "web", "provider=kepler") == "stopped web"
    assert word(machine, "service.status", "web", "provider=kepler") == "stopped"
    assert word(machine, "service.available", "web", "provider=kepler") is True
    assert word(machine, "service.available", "nope", "provider=kepler") is False
    result = machine.apply("nope: {service.running: [{provider: kepler}]}")["service.running:nope"]
    assert result["error"] == "kepler has no service 'nope'"


def test_a_name_in_two_configs_requires_the_config(machine):
    machine.home.start("web")
    write(machine.home, "other.yaml")
    machine.home.start("web", file="other.yaml")
    error = machine.apply("web: {service.running: [{provider: kepler}]}")["service.running:web"]["error"]
    assert "kepler has a service 'web' in " in error and "choose one with 'config'" in error
    assert not machine.apply(state(machine, "running"))["service.running:web"]["failed"]


def test_a_service_may_be_named_with_its_config_where_the_provider_is_kepler(machine):
    write(machine.home, "shop.yaml")
    machine.home.start("web", file="shop.yaml")
    write(machine.home, "other.yaml")
    machine.home.start("web", file="other.yaml")
    state_of_shop = "shop/web: {service.dead: [{provider: kepler}]}"
    machine.settles(state_of_shop)
    assert machine.home.status("web", file="shop.yaml") == "stopped" and machine.home.status("web", file="other.yaml") == "running"
    machine.revert()
    machine.home.wait_for("web", "running", file="shop.yaml")
    assert word(machine, "service.status", "shop/web", "provider=kepler") == "running"
    assert "'name' must not contain a slash" in machine.mistakes("shop/web: {service.dead: []}")


def test_a_watched_change_restarts(machine):
    text = (f"conf: {{file.managed: [{{name: {machine.root}/conf, contents: '%s'}}]}}\n"
            f"web: {{service.running: [{{config: {machine.config}, watch: [{{file: conf}}]}}]}}\n")
    machine.apply(text % 1)
    first = wait_until(lambda: machine.home.services()["web"]["pid"], "it has a process")
    assert machine.apply(text % 2)["service.running:web"]["details"]["action"] == "restarted"
    assert machine.home.services()["web"]["pid"] not in (None, first)


def test_a_service_that_ends_at_once_fails_the_state(machine):
    for delay in ("200ms", "2s", "10s", "30s"):  # a busy machine may let it live for longer
        result = machine.apply(state(machine, "running", f"init_delay: {delay}", service="once"))["service.running:once"]
        if result["failed"]:
            break
    assert result["failed"] and "once was started, but kepler says '" in result["error"], result


def test_enable_is_the_autostart_of_the_config(machine):
    error = machine.apply(state(machine, "running", "enable: true"))["service.running:web"]["error"]
    assert "set 'autostart: true' under 'kepler' in '" + machine.config in error
    machine.home.run("stop", "--clean")
    machine.config = write(machine.home, "auto.yaml", "true")
    machine.apply(state(machine, "running"))
    result = machine.apply(state(machine, "running", "enable: true"))["service.running:web"]
    assert not result["changed"] and not result["failed"], result
    assert not machine.apply(state(machine, "enabled"))["service.enabled:web"]["changed"]


def test_unsupported_actions_are_reported(machine):
    machine.home.start("web")
    assert "kepler cannot mask services" in machine.apply(state(machine, "masked"))["service.masked:web"]["error"]
    failed = machine.run(PROGRAM, "--local", "service.reload", "web", f"config={machine.config}", check=False)
    assert failed.returncode != 0 and "kepler cannot reload services" in failed.stderr
    assert "'config' is only for services of kepler" in machine.mistakes(state(machine, "running", "provider: sysv"))


def test_an_invalid_config_is_reported_by_the_daemon(machine):
    machine.config = machine.home.write("services:\n  web: {comand: [x]}\n", "bad.yaml")
    error = machine.apply(state(machine, "running"))["service.running:web"]["error"]
    assert "the config is not valid" in error and "comand" in error


def test_without_a_daemon_the_state_fails_with_advice(machine):
    machine.home.stop_daemon()
    results = machine.apply(state(machine, "running") + "\nother: {test.succeed_with_changes: []}\n")
    assert "the daemon is not running" in results["service.running:web"]["error"]
    assert results["test.succeed_with_changes:other"]["changed"]


def test_the_daemon_is_found_without_an_init(machine):
    for place in ("/run/systemd/system", "/run/openrc", "/run/initctl", "/dev/initctl"):
        if os.path.exists(place):
            pytest.skip(f"an init runs here: {place}")
    machine.home.start("web")
    machine.home.wait_for("web", "running")
    assert word(machine, "service.status", "web") == "running"
