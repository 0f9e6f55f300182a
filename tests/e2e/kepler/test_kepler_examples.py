"""Every example of examples/kepler, run as it stands."""
import glob
import os

import pytest

from kepler_home import Home, wait_until

EXAMPLES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../../../examples/kepler/*.yaml")))

# What every service comes to, once nothing moves: the beginning of what `ps` says.
EXPECTED = {
    "completed-failure": {
        "migration": "Exited (3)",
        "app": "Skipped (dependency `migration` exited with status 3; not restarted because its restart policy is no)",
    },
    "error-handler": {"app": "Exited (1)", "error-handler": "Exited (0)"},
    "exit-codes": {"worker": "Exited (7)", "five-to-ten": "Exited (0)", "twenty": "Skipped ("},
    "extended": {"backend": "Up "},
    "failure-monitor": {"app": "Exited (1)", "monitor": "Exited (0)"},
    "migration": {"migration": "Exited (0)", "app": "Exited (0)"},
    "mixed": {"migration": "Exited (0)", "app": "Up "},
    "output-passing": {"setup": "Exited (0)", "app": "Exited (0)"},
    "outputs": {"migration": "Exited (0)", "app": "Exited (0)"},
    "propagation": {"database": "Up ", "backend": "Up "},
    "simple": {"database": "Up ", "cache": "Up ", "backend": "Up "},
    "skipped": {
        "web": "Skipped (`if` condition evaluated to false: `",
        "proxy": "Skipped (dependency `web` was skipped)",
        "metrics": "Exited (0)",
    },
    "timeout": {"cache": "Up ", "backend": "Failed "},
    "transient": {"worker": "Exited (0)", "cleanup": "Exited (0)"},
    "unreachable": {
        "redis": "Up ",
        "redis-failover": "Skipped (`redis` has restart policy `always` — it will always restart, so "
                          "`service_failed` can never be met)",
    },
    "web-app": {"database": "Up ", "backend": "Up "},
}
# What a service wrote, where that is the point of the example.
WRITTEN = {
    "output-passing": ("app", "secret-abc"),
    "outputs": ("app", "database version 42"),
    "transient": ("cleanup", "cleaned up"),
}


@pytest.fixture(scope="module")
def home():
    home = Home()
    home.start_daemon()
    yield home
    home.close()


def test_each_example_has_its_expectation():
    assert {os.path.basename(path)[:-5] for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: os.path.basename(path)[:-5])
def test_the_example_runs(home, path):
    path = os.path.realpath(path)
    name = os.path.basename(path)[:-5]
    home.run("start", "-d", file=path)
    for service, words in EXPECTED[name].items():
        wait_until(lambda: home.ps(file=path)[service][0].startswith(words), f"{name}: {service} is {words}")
    if name in WRITTEN:
        service, words = WRITTEN[name]
        assert words in home.run("logs", service, file=path).stdout
    home.run("stop", "--clean", file=path)
    assert home.processes() == []
