"""npm with the real program and a registry on loopback."""
import json

import pytest

import node_registry
from machine import Machine, skip_without


class Node(Machine):
    """States with the address of the registry and the folder of the test filled in."""

    def __init__(self, root, address):
        super().__init__(root, namespace=False)
        self.address = address
        self.env.update(HOME=str(root / "home"), npm_config_prefix=str(root / "global"), npm_config_update_notifier="false")
        (root / "home").mkdir()

    def apply(self, text, *words):
        return super().apply(text.replace("REGISTRY", f"{{registry: '{self.address}'}}").replace("ROOT", str(self.root)), *words)


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    skip_without("npm")
    with node_registry.registry(tmp_path / "registry") as address:
        yield Node(tmp_path, address)


def version(folder):
    path = folder / "node_modules/zt/package.json"
    return json.loads(path.read_text())["version"] if path.exists() else None


def test_a_version_is_installed_for_everybody_and_an_older_one_comes_back(machine, tmp_path):
    machine.run("npm", "install", "--silent", "--global", "zt@1.0.0", "--registry", machine.address)
    machine.settles("it:\n  npm.installed: [{pkgs: ['zt@^2']}, REGISTRY]\n")
    assert version(tmp_path / "global/lib") == "2.0.0"
    machine.revert()
    assert version(tmp_path / "global/lib") == "1.0.0"


def test_a_project_gets_packages_and_loses_them(machine, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/package.json").write_text("{}\n")
    machine.settles("it:\n  npm.installed: [{name: zt}, {dir: ROOT/app}, REGISTRY]\n")
    assert version(tmp_path / "app") == "2.0.0" and version(tmp_path / "global/lib") is None
    machine.settles("it:\n  npm.removed: [{name: zt}, {dir: ROOT/app}, REGISTRY]\n")
    assert version(tmp_path / "app") is None


def test_what_the_registry_does_not_have_is_an_error(machine):
    state = machine.apply("it:\n  npm.installed: [{name: zt@9.9.9}, REGISTRY]\n")["npm.installed:it"]
    assert state["failed"] and "npm install" in state["text"]

