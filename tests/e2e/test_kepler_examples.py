"""Every example of examples/kepler, run as it stands."""
import glob
import os

import pytest

from kepler_home import Home, wait_until

EXAMPLES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../../examples/kepler/*.yaml")))

# What services come to, once nothing moves any more: the status, or the beginning of what `ps` says.
EXPECTED = {
    "completed-failure": {"migration": "Exited (3)", "app": "Skipped (dependency exited with exit code Some(3), won't restart (policy: No))"},
    "error-handler": {"app": "Exited (1)", "error-handler": "Exited (0)"},
    "exit-codes": {"worker": "Exited (7)", "five-to-ten": "Exited (0)", "twenty": "Skipped ("},
    "extended": {"backend": "Up "},
    "failure-monitor": {"app": "Exited (1)", "monitor": "Exited (0)"},
    "migration": {"migration": "Exited (0)", "app": "Exited (0)"},
    "mixed": {"migration": "Exited (0)", "app": "Up "},
    "output-passing": {"setup": "Exited (0)", "app": "Exited (0)"},
    "simple": {},
    "timeout": {},
}


@pytest.fixture(scope="module")
def home():
    home = Home()
    home.start_daemon()
    yield home
    home.close()


def test_there_are_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: os.path.basename(path)[:-5])
def test_the_example_runs(home, path):
    path = os.path.realpath(path)
    name = os.path.basename(path)[:-5]
    home.run("start", "-d", file=path)
    for service, words in EXPECTED.get(name, {}).items():
        wait_until(lambda: home.ps(file=path)[service][0].startswith(words), f"{name}: {service} is {words}")
    wait_until(lambda: not any(one["status"] == "starting" for one in home.services(path).values()), "nothing starts")
    assert home.services(path)
    home.run("stop", "--clean", file=path)
    assert home.processes() == []
