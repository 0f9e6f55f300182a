"""A backup and a restore that are killed at random moments: the last backup stays whole, and a restore is finished by repeating it.

A sample in `make test`, more in `make faults` (FAULTS=all); FAULTS_SEED is another sequence.
"""
import os
import random
import shutil
import subprocess
import time

import pytest

from fleet import BUILD, SERVER, read_marks
from test_backup import backup, fleet, verify

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

ALL = os.environ.get("FAULTS") == "all"
KILLS = int(os.environ.get("FAULTS_KILLS", "40" if ALL else "4"))
SEED = int(os.environ.get("FAULTS_SEED", "1"))


def kill_after(program, words, seconds):
    """Status of a command that is killed after so long; None: it was."""
    process = subprocess.Popen([f"{BUILD}/{program}", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def test_a_backup_and_a_restore_that_are_killed_leave_nothing_half_done(fleet):
    chance = random.Random(SEED)
    fleet.zester("event", "send", "deploy", "what=once")
    fleet.wait(lambda: read_marks(fleet.marks) == ["once"], "the rule has fired")
    path = fleet.folder / "killed.zb"
    began = time.monotonic()
    backup(fleet, path)
    takes = time.monotonic() - began
    words = ["backup", path, "--key-file", fleet.key, "--config", fleet.master.conf_path, "--nats-conf", fleet.folder / "nats.conf"]
    for _ in range(KILLS):
        kill_after("zester-master", words, chance.uniform(0, takes))
        verify(fleet, path)  # the old one, or a new one, whole
    backup(fleet, path)
    fleet.master.kill()
    shutil.rmtree(fleet.folder / "auth")
    shutil.rmtree(fleet.folder / "tree")
    fleet.master.conf_path.unlink()
    words = ["restore", path, "--key-file", fleet.key, "--force"]
    began = time.monotonic()
    fleet.run("zester-master", *words)
    takes = time.monotonic() - began
    for _ in range(KILLS):
        kill_after("zester-master", words, chance.uniform(0, takes))
    fleet.run("zester-master", *words)
    fleet.master.start()
    fleet.wait_ready(fleet.master)
    fleet.wait(lambda: fleet.zester("*", "test.ping", status=None).returncode == 0, "every peel answers")
    assert read_marks(fleet.marks) == ["once"]
