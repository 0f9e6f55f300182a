"""Environments: a machine that belongs to one has its section of the top files, and no other."""
import json

import pytest
import yaml

from fleet import Fleet
from peels import start_peel

TOP = """
base:
  '*': [common]
prod:
  '*': [live]
  'db*': [never]
dev:
  '*': [trial]
"""


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.zy").write_text(text)


def write_trees(folder):
    write(folder / "states", top=TOP, **{name: f"{name}-{{{{ saltenv }}}}:\n  test.nop: []\n" for name in ("common", "live", "trial", "never")})
    write(folder / "settings", top=TOP, common="common: yes\n", live="live: '{{ saltenv }}'\npassword: !encrypted live-secret\n",
          trial="trial: yes\nother: !encrypted trial-secret\n", never="never: yes\n")


def answer(fleet, peel, *words):
    """The one result of a function on a peel."""
    reply = fleet.zester_json(peel, *words)
    return yaml.safe_load(reply[0]["results"][0]["details"]["result"])


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("environments")) as fleet:
        fleet.start_server()
        write_trees(fleet.folder / "master")
        fleet.master = fleet.start_ready_master("master", publisher_status_file="")
        facts = fleet.folder / "claimed"
        facts.write_text("peel_environment: dev\nenvironment: dev\n")  # facts of the administrator mean nothing here
        fleet.peels = {"web-01": start_peel(fleet, fleet.master, "web-01", also={"environment": "prod"}),
                       "web-02": start_peel(fleet, fleet.master, "web-02", facts_file=str(facts))}
        fleet.wait(lambda: all((peel.folder / "states/top.zy").exists() for peel in fleet.peels.values()), "both have the states")
        yield fleet


def test_a_peel_of_an_environment_has_its_states_and_one_without_has_all(fleet):
    assert answer(fleet, "web-01", "state.show_top") == {"prod": ["live"]}
    assert answer(fleet, "web-02", "state.show_top") == {"base": ["common"], "prod": ["live"], "dev": ["trial"]}
    names = [row["name"] for row in fleet.zester_json("web-01", "state.highstate")[0]["results"]]
    assert names == ["test.nop:live-prod"]
    names = [row["name"] for row in fleet.zester_json("web-02", "state.highstate")[0]["results"]]
    assert names == ["test.nop:common-base", "test.nop:live-base", "test.nop:trial-base"]


def test_a_run_can_be_of_another_environment(fleet):
    assert answer(fleet, "web-01", "state.show_top", "saltenv=dev") == {"dev": ["trial"]}
    for _ in range(2):  # also when the plan of an earlier run is there
        for environment, name in (("dev", "trial-dev"), ("base", "common-base")):
            names = [row["name"] for row in fleet.zester_json("web-01", "state.highstate", f"saltenv={environment}")[0]["results"]]
            assert names == [f"test.nop:{name}"]
    reply = fleet.zester("web-01", "state.highstate", "saltenv=prdo", status=2)
    assert "no states matched in top.zy" in reply.stdout + reply.stderr and "'prdo'" in reply.stdout + reply.stderr
    reply = fleet.zester("web-01", "state.highstate", "pillarenv=dev", status=2)
    assert "not those of environment 'dev'" in reply.stdout + reply.stderr


def test_settings_and_secrets_are_those_of_the_environment_as_the_master_sees_it(fleet):
    fleet.wait(lambda: answer(fleet, "web-01", "settings.items").keys() == {"live", "password"}, "the settings are there")
    assert answer(fleet, "web-01", "settings.items")["live"] == "prod"
    assert answer(fleet, "web-02", "settings.items").keys() == {"common", "live", "password", "trial", "other"}
    shown = fleet.zester_json("settings", "show", "web-01")
    assert shown.keys() == {"live", "password"}
    assert fleet.zester_json("settings", "show", "web-02").keys() == {"common", "live", "password", "trial", "other"}
    assert answer(fleet, "G@peel_environment:prod", "test.ping") is True
    facts = json.loads(fleet.zester("kv", "fact", "get", "web-02").stdout)
    assert "peel_environment" not in facts and facts["environment"] == "dev"


def test_this_machine_can_be_given_an_environment(tmp_path):
    write_trees(tmp_path)
    write(tmp_path / "settings", live="live: '{{ saltenv }}'\n", trial="trial: yes\n")

    def run(*words):
        return Fleet(tmp_path).run("zester", "--local", "--states-dir", tmp_path / "states", "--settings-dir", tmp_path / "settings",
                                   "--data-dir", tmp_path / "data", "--format", "json", *words).stdout
    assert json.loads(run("state.show_top")).keys() == {"base", "prod", "dev"}
    assert json.loads(run("--environment", "prod", "state.show_top")) == {"prod": ["live"]}
    assert json.loads(run("state.show_top", "saltenv=dev")) == {"dev": ["trial"]}
    items = json.loads(run("--environment", "prod", "settings.items"))
    assert items[0]["results"][0]["details"]["result"] == {"live": "prod"}
    run("--environment", "prod", "state.apply", "pillarenv=prod")
