"""Random trees of states, with runs that are repeated, edited, interrupted and reverted, compared with a model.

    ZESTER_CASES=N pytest tests/e2e/states/test_state_model.py      N cases; 40 in `make test`, thousands in `make faults`
    ZESTER_SEED=N pytest tests/e2e/states/test_state_model.py       that case alone
    ZESTER_CASE=FILE pytest -s tests/e2e/states/test_state_model.py the case of a file, with what the program said

A case that fails is made smaller, and printed with its state file. Seeds are the same everywhere.
"""
import concurrent.futures
import copy
import os
import re
import shutil
import tempfile

import pytest
import yaml

from state_maker import Maker, shrink
from state_player import Player, Wrong, adopt_orphans

CASES = int(os.environ.get("ZESTER_CASES", "40"))
SHRUNK_MAX = 5  # failures that are made smaller: each takes as long as hundreds of cases
FIRST_SEED = 1


def play(case):
    """What is wrong, and what was said; (None, ...): nothing."""
    folder = tempfile.mkdtemp(prefix="zester-model-")
    player = None
    try:
        player = Player(copy.deepcopy(case), folder)
        player.play()
        return None, player
    except Wrong as wrong:
        return str(wrong), player
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_seed(seed):
    wrong, _ = play(Maker(seed).make())
    return (seed, wrong) if wrong else None


def kind_of(wrong):
    """Failures that are about the same: the first words, without the step, names and numbers."""
    return re.sub(r"\S*[\d/:]\S*", "", wrong.split("}: ", 1)[-1]).split()[:4] if wrong else None


def tell(seed):
    """A failing case, as small as it gets, to read and to run again."""
    case = Maker(seed).make()
    kind = kind_of(play(case)[0])
    if kind is None:
        return f"seed {seed}: is right when it runs again"
    case = shrink(case, lambda less: kind_of(play(less)[0]) == kind)
    wrong, player = play(case)
    path = os.path.join(tempfile.gettempdir(), f"zester-case-{seed}.yaml")
    text = yaml.safe_dump(case, sort_keys=False, width=140)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return (f"seed {seed}: {wrong}\n--- {path}, which runs with\n"
            f"    ZESTER_CASE={path} pytest -s tests/e2e/states/test_state_model.py\n{text}--- as a state file\n{player.place.text(player.tree)}")


def run_in_workers(function, items):
    with concurrent.futures.ProcessPoolExecutor(2, initializer=adopt_orphans) as pool:
        return [result for result in pool.map(function, items) if result]


@pytest.mark.skipif("ZESTER_CASE" in os.environ, reason="another case is asked for")
def test_runs_of_random_trees_are_what_the_model_says():
    seeds = [int(os.environ["ZESTER_SEED"])] if "ZESTER_SEED" in os.environ else range(FIRST_SEED, FIRST_SEED + CASES)
    found = run_in_workers(try_seed, seeds)
    shown = run_in_workers(tell, [seed for seed, _ in found[:SHRUNK_MAX]])
    assert not found, "%d of %d cases are wrong, seeds %s\n\n%s" % (
        len(found), len(seeds), ", ".join(str(seed) for seed, _ in found), "\n\n".join(shown))


@pytest.mark.skipif("ZESTER_CASE" not in os.environ, reason="ZESTER_CASE names a file")
def test_the_case_of_a_file():
    adopt_orphans()
    with open(os.environ["ZESTER_CASE"], encoding="utf-8") as file:
        wrong, player = play(yaml.safe_load(file))
    print("\n".join(player.outputs))
    assert not wrong, wrong
