"""Files that masters publish: of any size, in bounded memory, and of any name."""
import hashlib
import os
import re
from pathlib import Path

import pytest

from fleet import Fleet
from peels import start_peel

MIB = 1 << 20
LARGE = 200 * MIB
# What a daemon may take more than before while a large file goes through it.
ROOM = 64 * MIB
NAMES = [b"plain.txt", b"two words", b"new\nline", b"tab\there", b"quote'\"", b"back\\slash", "ünïcödé-日本".encode(), b"latin-\xe4", b"a" * 255,
         b"-dash", b"per%cent", b"star*?[x]", b"semi;&|$x", b"_under", b"=equal", b"dot."]


def make_large(path):
    """Sparse, and no part of it like another."""
    with open(path, "wb") as file:
        for at in range(0, LARGE, MIB):
            file.seek(at)
            file.write(os.urandom(4096))
        file.truncate(LARGE)


def sum_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(MIB):
            digest.update(part)
    return digest.hexdigest()


def memory(daemon, line):
    status = daemon.status_path.read_text()
    return int(re.search(rf"^{line}:\s+(\d+) kB", status, re.M).group(1)) << 10


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("files")) as fleet, pytest.MonkeyPatch.context() as patch:
        # memory that was freed counts as free, also with the sanitizer
        patch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64")
        fleet.start_server()
        fleet.tree = fleet.folder / "tree"
        fleet.tree.mkdir()
        (fleet.tree / "top.zy").write_text("base: {}\n")
        fleet.master = fleet.start_ready_master(states_dir=str(fleet.tree), settings_dir=str(fleet.folder / "none"),
                                                reactor={"dir": str(fleet.folder / "none")}, publisher_status_file="")
        fleet.peel = start_peel(fleet, fleet.master, "web-01")
        fleet.cache = fleet.folder / "web-01/states"
        for daemon in (fleet.master, fleet.peel):
            daemon.status_path = Path(f"/proc/{daemon.process.pid}/status")
        yield fleet


def publish(fleet):
    """The note of the set of states."""
    return {row["name"]: row.get("err", "") for row in fleet.zester_json("fileserver", "update")["sets"]}["states"]


def test_a_file_of_200_mib_reaches_the_peel_in_bounded_memory(fleet):
    large = fleet.tree / "large.img"
    make_large(large)
    before = {daemon: memory(daemon, "VmRSS") for daemon in (fleet.master, fleet.peel)}
    assert publish(fleet) == ""
    fleet.wait(lambda: (fleet.cache / "large.img").exists(), "the file has come")
    assert sum_of(fleet.cache / "large.img") == sum_of(large)
    for daemon, start in before.items():
        assert memory(daemon, "VmHWM") - start < ROOM, daemon.name
    large.unlink()


def test_files_of_any_name_come_as_they_are(fleet):
    folder = os.fsencode(fleet.tree / "names")
    cache = os.fsencode(fleet.cache / "names")
    os.mkdir(folder)
    for name in NAMES:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"I am " + name)
    with open(os.path.join(folder, b".hidden"), "wb") as file:
        file.write(b"hidden files are not published")
    assert publish(fleet) == ""
    fleet.wait(lambda: os.path.exists(cache), "all have come")
    assert sorted(os.listdir(cache)) == sorted(NAMES)
    for name in NAMES:
        with open(os.path.join(cache, name), "rb") as file:
            assert file.read() == b"I am " + name
