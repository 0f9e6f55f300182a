"""State runs over a fleet of real processes: progress, queues, plans, reverts."""
import os
import re
import subprocess

import pytest

from fleet import BUILD, SERVER, Fleet
from peels import start_peel
from terminal import run_on_terminal

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
NAMES = ("web-01", "db_example")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.tree = fleet.folder / "tree"
        fleet.tree.mkdir()
        (fleet.tree / "top.zy").write_text("base:\n  '*': [one]\n")
        (fleet.tree / "one.zy").write_text("one: {test.nop: []}\n")
        fleet.start_server()
        fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, states_dir=str(fleet.tree))
        fleet.peels = {name: start_peel(fleet, fleet.master, name) for name in NAMES}
        yield fleet


def declare(fleet, **files):
    """State files that every peel has."""
    for name, text in files.items():
        (fleet.tree / f"{name}.zy").write_text(text)
    fleet.zester("fileserver", "update")
    copies = [(peel.folder / "states" / f"{name}.zy", text) for peel in fleet.peels.values() for name, text in files.items()]
    fleet.wait(lambda: all(copy.exists() and copy.read_text() == text for copy, text in copies), f"{list(files)} are on every peel")


def waiting(path):
    """A command that ends when the file is gone."""
    return f"while [ -e {path} ]; do sleep 0.05; done"


def argv(fleet, *words):
    return [f"{BUILD}/zester", *map(str, words), "--config", fleet.write_cli_conf()]


def test_a_terminal_shows_each_state_and_a_line_for_each_peel_while_a_pipe_is_quiet(fleet, tmp_path):
    hold = tmp_path / "hold"
    hold.touch()
    declare(fleet, steps=f"first: {{cmd.run: [name: 'true']}}\nsecond: {{cmd.run: [name: '{waiting(hold)}', require: [cmd: first]]}}\n")

    def release(text):
        if re.search(r"^web-01 +1/2 +cmd.run:first\r$", text, re.M):
            hold.unlink(missing_ok=True)
    text, status = run_on_terminal(argv(fleet, "*", "state.apply", "steps"), seen=release, env={**os.environ, "TERM": "xterm"})
    assert status == 0 and not hold.exists()
    for name in ("web-01", "db.example"):
        assert re.search(rf"{name}: 1/2 cmd.run:first, changed, ", text) and re.search(rf"{name}: 2/2 cmd.run:second, changed, ", text), text
    assert re.search(r"^0/2 returned, 0 failed, 2 running, 0 queued, ", text, re.M)
    assert "returned" not in text.rsplit("\x1b[J", 1)[1]  # nothing of the block is left
    result = fleet.zester("*", "state.apply", "steps")
    assert [line.split()[0] for line in result.stderr.splitlines()] == ["Targeting", "Job"]


def test_a_state_run_says_behind_what_it_waits_and_reads_do_not_wait(fleet, tmp_path):
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    hold.touch()
    declare(fleet, long=f"long: {{cmd.run: [name: 'touch {begun}; {waiting(hold)}']}}\n", short="short: {cmd.run: [name: 'true']}\n")
    first = fleet.zester_json("web-01", "state.apply", "long", "--async")["jid"]
    fleet.wait(begun.exists, "the first run works")
    errors = tmp_path / "errors"
    with open(errors, "wb") as file, subprocess.Popen(argv(fleet, "web-01", "state.apply", "short"), stdout=subprocess.DEVNULL, stderr=file) as second:
        fleet.wait(lambda: f"web-01: waiting for state.apply of job {first}\n" in errors.read_text(), "the second run says behind what it waits")
        assert fleet.zester("web-01", "test.ping").stdout == "web-01:\n    true\n"
        assert second.poll() is None
        hold.unlink()
        assert second.wait(60) == 0
    assert fleet.zester("job", "watch", first).returncode == 0
