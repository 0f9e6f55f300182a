"""Files that masters publish: of any size, in bounded memory, and of any name."""
import base64
import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from bus import Bus
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
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
                                                reactor={"dir": str(fleet.folder / "none")}, publisher_status_file="",
                                                files_history=2, files_keep_unused="3s")
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


def subjects_of(fleet, stream, pattern):
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        info = json.loads(bus.request(f"$JS.API.STREAM.INFO.{stream}", json.dumps({"subjects_filter": pattern}).encode()))
    return set(info["state"].get("subjects") or {})


def write_large(path, first):
    """A file that is too large for a value; its sum."""
    path.write_bytes(first * 400_000)
    return sum_of(path)


def is_stored(fleet, digest):
    return f"$O.files.M.{base64.urlsafe_b64encode(digest.encode()).decode()}" in subjects_of(fleet, "OBJ_files", "$O.files.M.>")


def wait_sweep(fleet):
    """Chunks that are no file are removed, and what else nothing needed when they came."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
        bus.publish("$O.files.C.0123456789abcdef", b"a chunk of a put that was killed")
        bus.flush()
    fleet.wait(lambda: not subjects_of(fleet, "OBJ_files", "$O.files.C.0123456789abcdef"), "the chunk is removed")


def test_a_large_file_that_nothing_refers_to_is_removed_from_the_bus(fleet):
    assert publish(fleet) == ""
    kept = write_large(fleet.tree / "kept.bin", b"k")
    first = write_large(fleet.tree / "replaced.bin", b"1")
    assert publish(fleet) == ""
    second = write_large(fleet.tree / "replaced.bin", b"2")
    assert publish(fleet) == ""
    wait_sweep(fleet)
    assert is_stored(fleet, first) and not subjects_of(fleet, "KV_tree-history", f"$KV.tree-history.objects.unused.{first}"), "a revision has it"
    (fleet.tree / "top.zy").write_text("base: {'*': []}\n")
    assert publish(fleet) == ""
    mark = f"$KV.tree-history.objects.unused.{first}"
    fleet.wait(lambda: subjects_of(fleet, "KV_tree-history", mark), "nothing has it, and that is on record")
    assert is_stored(fleet, first), "a peel may still fetch it"
    fleet.master.stop()
    fleet.master.start()
    fleet.wait(lambda: not is_stored(fleet, first), "it is removed")
    fleet.wait(lambda: not subjects_of(fleet, "KV_tree-history", "$KV.tree-history.objects.>"), "so is the mark")
    assert fleet.master.has_logged(f"removed an unused large file sum={first} bytes=400000")
    assert is_stored(fleet, kept) and is_stored(fleet, second)
    assert len(subjects_of(fleet, "OBJ_files", "$O.files.C.>")) == 2, "no chunk of another file is left"
    last = fleet.zester_json("fileserver", "history", "states")[0]["revision"]
    (fleet.tree / "replaced.bin").unlink()
    fleet.zester("fileserver", "rollback", "states", str(last))
    assert sum_of(fleet.tree / "replaced.bin") == second, "a kept revision comes back whole"


def test_a_large_file_that_only_a_canary_has_stays_as_long_as_it_has_it(fleet):
    fleet.zester("fileserver", "canary", "web-01")
    tried = write_large(fleet.tree / "tried.bin", b"t")
    assert publish(fleet) == ""
    fleet.wait(lambda: (fleet.cache / "tried.bin").exists(), "the canary has it")
    wait_sweep(fleet)
    assert is_stored(fleet, tried) and not subjects_of(fleet, "KV_tree-history", f"$KV.tree-history.objects.unused.{tried}")
    (fleet.tree / "tried.bin").unlink()
    assert publish(fleet) == ""
    fleet.wait(lambda: not is_stored(fleet, tried), "nothing has it, and no revision of a canary is recorded before it ends")
    fleet.zester("fileserver", "canary", "--abort")
