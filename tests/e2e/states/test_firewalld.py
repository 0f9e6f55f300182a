"""firewalld, with a stand-in for firewall-cmd."""
import json
import shutil

import pytest

import fake_firewalld
from machine import Machine


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    machine = Machine(tmp_path, namespace=False)
    machine.store = tmp_path / "firewall.json"
    machine.env["PATH"] = f"{fake_firewalld.install(tmp_path / 'bin', machine.store)}:{machine.env['PATH']}"
    return machine


def zone(machine, name="public"):
    return json.loads(machine.store.read_text())["zones"][name]


ALL = """
public:
  firewalld.present:
    - default: true
    - masquerade: true
    - block_icmp: [echo-reply, echo-request]
    - ports: [22/tcp, 25/tcp]
    - port_fwd: ['80:8080:tcp', '81:8081:tcp:10.0.0.2']
    - services: [http]
    - prune_services: true
    - interfaces: [eth0]
    - sources: [192.0.2.0/24]
    - rich_rules: ['rule family="ipv4" source address="192.0.2.9" reject']
"""


def test_a_zone_gets_what_it_lacks_and_gives_it_back(machine):
    machine.settles(ALL)
    assert zone(machine) == {
        "icmp-block": ["echo-reply", "echo-request"], "port": ["22/tcp", "25/tcp"],
        "forward-port": ["port=80:proto=tcp:toport=8080:toaddr=", "port=81:proto=tcp:toport=8081:toaddr=10.0.0.2"],
        "service": ["http"], "interface": ["eth0"], "source": ["192.0.2.0/24"],
        "rich-rule": ['rule family="ipv4" source address="192.0.2.9" reject'], "masquerade": True}
    machine.revert()
    assert zone(machine)["service"] == ["dhcpv6-client", "ssh"]
    assert not any(value for key, value in zone(machine).items() if key != "service")


def test_a_zone_that_is_missing_is_made_and_becomes_the_default(machine):
    machine.settles("dmz: {firewalld.present: [{default: true}, {ports: [80/tcp]}]}")
    assert json.loads(machine.store.read_text())["default"] == "dmz" and zone(machine, "dmz")["port"] == ["80/tcp"]
    machine.revert()
    data = json.loads(machine.store.read_text())
    assert data["default"] == "public" and "dmz" not in data["zones"] and data["running"] == ["public"]


@pytest.mark.parametrize("noun, module", [("zone", "present"), ("service", "service")])
def test_what_a_run_did_not_come_to_make_or_what_is_gone_needs_no_revert(machine, noun, module):
    machine.apply(f"app: {{firewalld.{module}: [{{ports: [80/tcp]}}]}}")
    machine.sh(f"firewall-cmd --permanent --delete-{noun}=app")
    (result,) = machine.revert().values()
    assert not result["changed"] and "error" not in result, result
    assert "app" not in json.loads(machine.store.read_text())[noun + "s"]


def test_only_what_is_to_be_pruned_is_removed(machine):
    machine.settles("public: {firewalld.present: [{ports: [1/tcp, 2/tcp]}]}")
    machine.settles("public: {firewalld.present: [{ports: [2/tcp]}, {prune_ports: true}]}")
    assert zone(machine)["port"] == ["2/tcp"] and zone(machine)["service"] == ["dhcpv6-client", "ssh"]
    machine.settles("public: {firewalld.present: [{prune_services: true}]}")
    assert zone(machine)["service"] == []


def test_a_service_has_its_ports_and_protocols_and_no_others(machine):
    machine.settles("app: {firewalld.service: [{ports: [8000/tcp, 8001/tcp]}, {protocols: [igmp]}]}")
    machine.settles("app: {firewalld.service: [{ports: [8001/tcp]}]}")
    assert json.loads(machine.store.read_text())["services"] == {"app": {"port": ["8001/tcp"], "protocol": []}}
    machine.revert()
    machine.revert()
    assert json.loads(machine.store.read_text())["services"] == {}


@pytest.mark.skipif(bool(shutil.which("firewall-cmd", path="/usr/sbin:/usr/bin:/sbin:/bin")), reason="the real program is installed")
def test_a_dry_run_foresees_a_firewall_that_is_not_there_yet(machine):
    (machine.root / "bin/firewall-cmd").unlink()
    state = machine.apply(ALL, "--test")["firewalld.present:public"]
    assert state["changed"] and "firewall-cmd does not exist" in state["diff"], state
    assert "firewall-cmd" in machine.apply(ALL)["firewalld.present:public"]["error"]


def test_a_forwarding_of_another_form_is_a_mistake(machine):
    assert "PORT:TO_PORT:PROTOCOL" in machine.mistakes("public: {firewalld.present: [{port_fwd: ['80']}]}")
