"""Names and addresses of a machine change while its peel runs. The fleet is in a network and a host name of its own."""
import ctypes
import os
import shutil
import subprocess

import pytest

from fleet import Fleet
from peels import start_peel

NAMESPACES = {"net": 0x40000000, "uts": 0x04000000}
ADDRESS = "10.254.77.1"


@pytest.fixture
def own_network():
    libc = ctypes.CDLL(None, use_errno=True)
    old = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in NAMESPACES]
    if not shutil.which("ip"):
        pytest.skip("no ip")
    if libc.unshare(sum(NAMESPACES.values())) < 0:
        pytest.skip(f"no namespaces: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    yield
    for number in old:
        assert libc.setns(number, 0) == 0
        os.close(number)


@pytest.mark.usefixtures("own_network")
def test_addresses_and_names_that_change_are_published(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        fleet.peel = start_peel(fleet, fleet.start_ready_master(), "web-01", facts_file=str(tmp_path / "facts"))

        def fact(key):
            return fleet.zester_json("kv", "fact", "get", "web-01", key, status=None)

        assert ADDRESS not in fact("ipv4")
        subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        fleet.wait(lambda: ADDRESS in fact("ipv4"), "the new address is published")
        assert fleet.zester_json(f"S@{ADDRESS}", "test.ping")[0]["peel_id"] == "web-01"
        subprocess.run(["ip", "address", "del", f"{ADDRESS}/32", "dev", "lo"], check=True)
        fleet.wait(lambda: ADDRESS not in fact("ipv4"), "and its end")
        subprocess.run(["hostname", "another-name"], check=True)
        fleet.zester("web-01", "facts.set", "looked", "again")
        fleet.wait(lambda: fact("host") == "another-name", "the new name is published")
