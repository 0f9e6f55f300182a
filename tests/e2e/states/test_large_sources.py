"""Sources of states may have any size: they are copied, hashed and extracted piece by piece, in bounded memory."""
import functools
import hashlib
import http.server
import json
import os
import subprocess
import tarfile
import threading

import pytest

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
MIB = 1 << 20
LARGE = 100 * MIB
# What a run with a large file may take more than one without.
ROOM = 48 * MIB
# memory that was freed counts as free, also with the sanitizer
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}


class Machine:
    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "root"
        self.states = folder / "states"
        for path in (self.root, self.states):
            path.mkdir()

    def start(self, *words):
        """The record of a run, and how much memory it took at most."""
        command = [ZESTER, "--local", "--states-dir", str(self.states), "--data-dir", str(self.folder / "data"), "--format", "json", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
            out, err = process.stdout.read(), process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert out, err
        return json.loads(out)[0], usage.ru_maxrss << 10

    def apply(self, text, *words):
        (self.states / "it.zy").write_text(text.replace("ROOT", str(self.root)))
        return self.start("state.apply", "it", *words)


def make_large(path, seed):
    """Sparse, and no part of it like another."""
    with open(path, "wb") as file:
        for at in range(0, LARGE, MIB):
            file.seek(at)
            file.write(hashlib.sha256(b"%s %d" % (seed, at)).digest() * 128)
        file.truncate(LARGE)


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("large"))
    (machine.states / "tree").mkdir()
    make_large(machine.states / "tree/large.img", b"tree")
    machine.sum = sum_of(machine.states / "tree/large.img")
    with tarfile.open(machine.states / "large.tar", "w") as archive:
        archive.add(machine.states / "tree/large.img", "large.img")
    _, machine.usual = machine.apply("it:\n  file.managed:\n    - name: ROOT/small\n    - contents: x\n")
    return machine


def check_run(machine, text, changed=1):
    record, memory = machine.apply(text)
    assert record["success"], record
    assert memory - machine.usual < ROOM, f"{memory / MIB:.0f} MiB, usually {machine.usual / MIB:.0f} MiB"
    assert record["summary"]["changed"] == changed, record["summary"]
    return record


def test_a_large_file_of_the_tree_is_managed_and_reverted_in_bounded_memory(machine):
    target = machine.root / "managed"
    make_large(target, b"before")
    before = sum_of(target)
    state = "it:\n  file.managed:\n    - name: ROOT/managed\n    - source: salt://tree/large.img\n    - mode: '0640'\n    - backup: .old\n    - check_cmd: grep -q -a .\n"
    check_run(machine, state)
    assert sum_of(target) == machine.sum and target.stat().st_mode & 0o777 == 0o640
    assert sum_of(machine.root / "managed.old") == before
    check_run(machine, state, changed=0)
    record, memory = machine.start("state.revert", "it")
    assert record["success"] and memory - machine.usual < ROOM
    assert sum_of(target) == before


def test_the_sizes_of_a_large_file_are_shown_instead_of_a_diff(machine):
    (machine.root / "shown").write_text("short\n")
    record, memory = machine.apply("it:\n  file.managed:\n    - name: ROOT/shown\n    - source: tree/large.img\n", "--test")
    assert f"6 -> {LARGE} bytes" in json.dumps(record) and memory - machine.usual < ROOM
    assert (machine.root / "shown").read_text() == "short\n"


def test_the_hash_of_a_large_file_is_checked_before_it_is_written(machine):
    state = "it:\n  file.managed:\n    - name: ROOT/hashed\n    - source: %s\n    - source_hash: sha256=%s\n"
    source = machine.states / "tree/large.img"
    record, memory = machine.apply(state % (source, "0" * 64))
    assert not record["success"] and "expected 0000" in json.dumps(record) and memory - machine.usual < ROOM
    assert not (machine.root / "hashed").exists()
    check_run(machine, state % (source, machine.sum))
    assert sum_of(machine.root / "hashed") == machine.sum


def test_large_files_are_copied_with_their_folder_in_bounded_memory(machine):
    (machine.states / "tree/small").write_text("small\n")
    state = "it:\n  file.recurse:\n    - name: ROOT/copied\n    - source: salt://tree\n"
    check_run(machine, state)
    assert sum_of(machine.root / "copied/large.img") == machine.sum and (machine.root / "copied/small").read_text() == "small\n"
    check_run(machine, state, changed=0)


def test_a_large_archive_is_extracted_in_bounded_memory(machine):
    state = "it:\n  archive.extracted:\n    - name: ROOT/extracted\n    - source: salt://large.tar\n"
    check_run(machine, state)
    assert sum_of(machine.root / "extracted/large.img") == machine.sum
    check_run(machine, state, changed=0)
    listed, memory = machine.start("archive.list", "salt://large.tar")
    assert "large.img" in json.dumps(listed) and memory - machine.usual < ROOM


def test_functions_hash_and_cache_large_files_in_bounded_memory(machine):
    source = str(machine.states / "tree/large.img")
    for words in (("cp.hash_file", "salt://tree/large.img"), ("file.get_hash", source), ("hashutil.digest_file", source, "sha256")):
        answer, memory = machine.start(*words)
        assert machine.sum in json.dumps(answer) and memory - machine.usual < ROOM, words
    record = check_run(machine, "it:\n  file.cached:\n    - name: salt://tree/large.img\n")
    assert sum_of(record["results"][0]["details"]["path"]) == machine.sum


def test_a_large_file_is_fetched_in_bounded_memory_and_kept_under_its_hash(machine):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(machine.states / "tree")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        check_run(machine, f"it:\n  file.managed:\n    - name: ROOT/fetched\n    - source: http://127.0.0.1:{server.server_port}/large.img\n"
                           f"    - source_hash: sha256={machine.sum}\n")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert sum_of(machine.root / "fetched") == machine.sum
    assert sum_of(machine.folder / "data/fetched" / machine.sum) == machine.sum


def test_a_template_that_is_too_large_says_so(machine):
    record, _ = machine.apply("it:\n  file.managed:\n    - name: ROOT/rendered\n    - source: tree/large.img\n    - template: jinja\n")
    assert not record["success"] and "larger than the limit of 67108864 bytes" in json.dumps(record)
