"""The guide pages of docs/, typed in by a reader: each file is written, each command is run, and what it prints is what the page shows."""
import os
import re
import subprocess

import pytest

from test_documents import PROGRAMS, alike, blocks, commands

PAGES = ["reference/requisites", "reference/targeting", "reference/settings", "howto/move-from-ansible", "howto/move-from-compose"]
FOLDER = "/tmp/guide"
END = "--end of the output--"


class Reader:
    """One shell for a page; /tmp/guide is a folder of this test."""

    def __init__(self, folder):
        self.folder = folder
        env = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "NO_COLOR": "1"}
        self.shell = subprocess.Popen(["bash"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def type(self, command):
        """What it prints; the next command can still ask for its exit status."""
        text = command.replace(FOLDER, str(self.folder))
        self.shell.stdin.write(f"{text} </dev/null 2>&1\nstatus=$?; echo '{END}'; (exit $status)\n")
        self.shell.stdin.flush()
        lines = []
        for line in self.shell.stdout:
            if line.endswith(f"{END}\n"):
                return "".join([*lines, line[:-len(END) - 1]]).replace(str(self.folder), FOLDER)
            lines.append(line)
        raise AssertionError("the shell ended: " + "".join(lines))

    def write(self, text):
        path = self.folder / re.match(r"# (\S+)\n", text)[1]
        path.write_text(text.replace(FOLDER, str(self.folder)))

    def close(self):
        self.shell.stdin.close()
        self.shell.wait(60)
        self.shell.stdout.close()


@pytest.fixture(name="reader")
def _reader(tmp_path):
    reader = Reader(tmp_path)
    yield reader
    if (tmp_path / "state").exists():  # of the daemon that a page starts
        reader.type("kepler daemon stop")
    reader.close()


def equal(text):
    """Without ids of runs, times and processes of services, and what `alike` leaves out."""
    text = re.sub(r"^((?:reverted )?run) \w{27}$", r"\1 ID", text, flags=re.M)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", text)
    text = re.sub(r"(?<=Up )(\d+[smh] ?)+|(\d+[smh] ?)+(?=ago)", "TIME ", text)
    return alike(re.sub(r"  +(\d+|PID)$", "  PID", text, flags=re.M))


@pytest.mark.parametrize("page", PAGES)
def test_a_reader_who_types_a_guide_in_sees_what_it_shows(reader, page):
    count = 0
    for language, text in blocks(f"docs/{page}.md"):
        if language == "yaml":
            reader.write(text)
        for command, shown in commands(text) if language == "" else []:
            assert equal(reader.type(command)) == equal(shown), command
            count += 1
    assert count > 5
