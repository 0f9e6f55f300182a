"""Formulas in the older style: macros that call each other, maps of YAML files, merges with pillar, `do` and `loop.index0`.

What was made, and in which order, is what Salt 3007.1 made of the same files; ROOT stands for the folder of the test."""
import os
import pathlib
import shutil

import pytest

from test_salt import SaltMachine

HERE = pathlib.Path(__file__).parents[1] / "older_formulas"


def files(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()}


@pytest.fixture
def machine(tmp_path):
    machine = SaltMachine(tmp_path)
    for source, target in (("states", machine.folder / "states"), ("pillar", machine.folder / "settings")):
        shutil.copytree(HERE / source, target, dirs_exist_ok=True)
    site = machine.folder / "settings/site.sls"
    site.write_text(site.read_text().replace("ROOT", str(machine.root)))
    return machine


def test_formulas_of_the_older_style_make_what_salt_makes_in_its_order(machine):
    before = files(machine.root)
    results = machine.record("state.apply", status=0)["results"]
    told = [state["name"].replace(":", " ", 1).replace(str(machine.root), "ROOT") for state in results]
    assert told == (HERE / "order.txt").read_text().splitlines()
    made = {name: text.replace(str(machine.root), "ROOT") for name, text in files(machine.root).items()}
    assert made == files(HERE / "made")
    assert os.readlink(machine.root / "sites/default.on") == str(machine.root / "sites/default")
    assert not [state["name"] for state in machine.record("state.apply", status=0)["results"] if state["changed"]]
    machine.run("state.revert", "highstate", status=0)
    left = files(machine.root)
    left.pop("log", None)  # of a command
    assert left == before
