"""Random configs and events, on a real daemon and in the model of kepler_model.py: both must come to the same end.

    KEPLER_ROUNDS=1000 KEPLER_SEED=7 pytest tests/e2e/kepler/test_kepler_model.py    more cases, and other ones
    KEPLER_CASE=case.yaml pytest tests/e2e/kepler/test_kepler_model.py               one case, as a failure prints it
"""
import os
import queue
import random
import threading

import pytest
import yaml

from kepler_cases import draw_case, has_timeout, shrink
from kepler_home import BUILD
from kepler_model import Model
from kepler_play import Stage, dump_case

ROUNDS = int(os.environ.get("KEPLER_ROUNDS", "16"))
SEED = int(os.environ.get("KEPLER_SEED", "0"))
WORKERS = 3
TRIES = 150  # to make a failing case smaller
QUIET = 5    # seconds without anything new, after which a difference counts
HASTE = 1.5  # the same while a case is made smaller


class Search:
    """Plays the cases of all seeds, several at once, up to the first one that fails."""

    def __init__(self, seeds):
        self.seeds = queue.Queue()
        self.failure = None  # (seed, case, words)
        self.over = False
        for seed in seeds:
            self.seeds.put(seed)

    def work(self):
        stage = Stage()
        try:
            while not self.failure and not self.over:
                self.play(stage, self.seeds.get_nowait())
        except queue.Empty:
            pass
        finally:
            stage.close()

    def play(self, stage, seed):
        case = draw_case(random.Random(seed))
        words = stage.play(case, QUIET)
        if words and has_timeout(case):
            words = stage.play(case, QUIET)  # a machine that is busy for half a second proves nothing
        if words and not self.failure:
            self.failure = seed, case, words

    def run(self):
        workers = [threading.Thread(target=self.guard) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        finally:
            self.over = True  # also after Ctrl-C

    def guard(self):
        try:
            self.work()
        except Exception as error:
            self.failure = self.failure or ("none", None, repr(error))


def report(seed, case, words):
    """Make the case smaller, write it down, and say how to play it again."""
    stage = Stage()
    try:
        small = shrink(case, lambda one: stage.play(one, HASTE), TRIES)
        words = stage.play(small, QUIET) or words + "\n(it did not fail again)"
    finally:
        stage.close()
    path = os.path.join(BUILD, f"kepler-case-{seed}.yaml")
    with open(path, "w") as file:
        file.write(dump_case(small))
    return (f"seed {seed}: {words}\n\n{dump_case(small)}\n"
            f"KEPLER_CASE={path} ZESTER_BUILD={BUILD} python3 -m pytest -q tests/e2e/kepler/test_kepler_model.py")


@pytest.mark.skipif("KEPLER_CASE" in os.environ, reason="one case is played")
def test_random_configs_and_events_reach_the_models_outcome():
    search = Search(range(SEED, SEED + ROUNDS))
    search.run()
    if search.failure:
        seed, case, words = search.failure
        pytest.fail(report(seed, case, words) if case else words, pytrace=False)


@pytest.mark.skipif("KEPLER_CASE" not in os.environ, reason="no case is given")
def test_a_given_case():
    with open(os.environ["KEPLER_CASE"]) as file:
        case = yaml.safe_load(file)
    stage = Stage()
    try:
        words = stage.play(case, QUIET)
    finally:
        stage.close()
    if words:
        pytest.fail(words, pytrace=False)


# --- the test itself -------------------------------------------------------------------------------


CHAIN = {
    "x-events": ["start -d", "stop b", "end a=1 c=0", "crash", "start -d b"],
    "services": {
        "a": {"command": ["./serve", "a", "polite"], "restart": "always"},
        "b": {"command": ["./serve", "b"], "depends_on": {"a": {"condition": "service_started", "restart": True}}},
        "c": {"command": ["./serve", "c"], "restart": "no", "depends_on": {"a": {}, "b": {"restart": True}}},
    },
}


def test_a_difference_is_found_and_described(monkeypatch):
    start = Model.start_process

    def start_twice(model, service):
        start(model, service)
        service.runs += "+" * (service.name == "b")
    stage = Stage()
    try:
        assert stage.play(CHAIN, QUIET) is None
        monkeypatch.setattr(Model, "start_process", start_twice)
        words = stage.play(CHAIN, HASTE)
    finally:
        stage.close()
    assert "after event 1, 'start -d':" in words
    assert "b: runs: expected ['+', '+'], got ['+']" in words and "  b: starting -> running" in words


def test_a_failing_case_is_made_as_small_as_it_can_be():
    small = shrink(CHAIN, lambda case: "crash" in case["x-events"] and "b" in case["services"].get("c", {}).get("depends_on", {}), 1000)
    assert small == {"x-events": ["crash"], "services": {"b": {"command": ["./serve", "b"]},
                                                         "c": {"command": ["./serve", "c"], "depends_on": {"b": {}}}}}


@pytest.mark.parametrize("policy, unreachable", [
    ("always", {"service_failed", "service_stopped", "service_completed_successfully"}),
    ("on-failure", {"service_failed"}),
    ("no", set()),
])
def test_the_model_has_the_table_of_unreachable_conditions(policy, unreachable):
    conditions = ["service_failed", "service_stopped", "service_completed_successfully", "service_unhealthy", "service_started", "service_healthy"]
    services = {"dep": {"command": ["./serve", "dep"], "restart": policy, "healthcheck": {}}}
    services.update({name: {"command": ["./serve", name], "depends_on": {"dep": {"condition": name}}} for name in conditions})
    model = Model({"services": services})
    model.start()
    assert {name for name in conditions if model.services[name].status == "skipped"} == unreachable


@pytest.mark.parametrize("policy, code, satisfied", [
    ("always", 1, False), ("always", 0, False), ("on-failure", 1, False), ("on-failure", 0, True), ("no", 1, True), ("no", 0, True)])
def test_the_model_has_the_table_of_transient_exits(policy, code, satisfied):
    model = Model({"services": {
        "dep": {"command": ["./serve", "dep"], "restart": policy},
        "next": {"command": ["./serve", "next"], "depends_on": {"dep": {"condition": "service_stopped"}}},
    }})
    model.services["dep"].status = "starting"
    model.start(["next"])
    model.services["dep"].status, model.services["dep"].wanted = "running", True
    model.end([("dep", code, None)])
    assert (model.services["next"].status == "running") == satisfied
