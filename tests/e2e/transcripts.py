"""Transcripts of real tools: what a program printed when our providers ran it, to be replayed where it is not installed.

A transcript is a JSON file of tests/e2e/transcripts: the tool and its version, and steps. A step is a command line, its
exit status and output, and, when it changed them, the files that providers read by themselves. `tools/record-transcripts`
writes them: it runs test_transcripts.py with the real tools, on a copy of the machine that is thrown away. In an ordinary
run the same tests get a machine whose tools are replayed. A command line that was not recorded is refused.
"""
import json
import os
import pathlib
import re
import subprocess

import machine as machines
from transcript_tool import TOOLS, is_look

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "transcripts"
# A folder with one layer for each tool, when this is a recording; set by tools/record-transcripts.
RECORDING = os.environ.get("ZESTER_RECORD")

# The stand-ins of programs.
PROGRAM = """#!/bin/sh
exec /usr/bin/python3 -IS {here}/transcript_tool.py {root} {program} "$@"
"""
HELPER = f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport json, transcript_tool as tool\n"


class Tool(machines.Machine):
    """A machine with this tool: recorded or replayed, by the name of the test."""
    DIALECT = "zy"

    def __init__(self, root, tool, name):
        self.tool, self.file = tool, FOLDER / f"{tool}-{name}.json"
        super().__init__(root, namespace=False)
        (root / "bin").mkdir()
        for program in TOOLS[tool]["programs"]:
            path = root / "bin" / program
            path.write_text(PROGRAM.format(here=HERE, root=root, program=program))
            path.chmod(0o755)
        self.env["PATH"] = f"{root}/bin:" + os.environ["PATH"]
        self.env["PYTHONDONTWRITEBYTECODE"] = "1"
        (root / "settings").mkdir()
        (root / "settings/top.zy").write_text("base:\n  '*':\n    - all\n")
        (root / "settings/all.zy").write_text(f"providers:\n  pkg: {tool}\n")
        self.begin()

    def zester(self, *words):
        """States of a level one after the other: command lines come in the order in which they were recorded."""
        return super().zester("--parallel", "1", *words)

    def state(self):
        return json.loads((self.root / "transcript.state").read_text())

    def calls(self):
        """The deeds so far: command lines that do not only look."""
        state = self.state()
        steps = state["steps"] if RECORDING else state["steps"][:state["cursor"]]
        return [" ".join(step["argv"]) for step in steps if not is_look(self.tool, step["argv"])]

    def count(self, *words):
        """How often a command line with these words was run."""
        return sum(1 for line in (self.root / "commands").read_text().splitlines() if all(word in line for word in words))


class Replayed(Tool):
    EMPTY = machines.Machine.EMPTY + ["/var/lib"]

    def begin(self):
        transcript = json.loads(self.file.read_text())
        for step in transcript["steps"]:
            step.update({key: "\n".join(step[key]) for key in ("stdout", "stderr")})
        self.enter()
        (self.root / "transcript.state").write_text(json.dumps({
            "tool": self.tool, "recording": False, "steps": transcript["steps"], "cursor": 0, "done": [], "files": [], "refused": []}))
        if transcript["files"]:
            self.run("/usr/bin/python3", "-c", HELPER + f"tool.put_files({{'files': []}}, {transcript['files']!r})")

    def end(self):
        state = self.state()
        assert not state["refused"], state["refused"]
        left = [" ".join(step["argv"]) for step in state["steps"][state["cursor"]:] if not is_look(self.tool, step["argv"])]
        assert not left, f"recorded, but no longer run: {left}"


class Recorded(Tool):
    """The real tool, in a layer over the whole machine."""

    def begin(self):
        layer = pathlib.Path(RECORDING) / self.tool
        for name in ("up", "work", "top"):
            (self.root / "layer" / name).mkdir(parents=True)
        self.layer = self.root / "layer/top"
        text = (f"set -e; mount --make-rprivate /; mount -t overlay overlay -o lowerdir={layer}:/,upperdir={self.root}/layer/up,"
                f"workdir={self.root}/layer/work {self.layer}; for f in dev sys; do mount --rbind /$f {self.layer}/$f; done; "
                f"mount -t proc proc {self.layer}/proc; mount -t tmpfs tmpfs {self.layer}/run; mkdir {self.layer}/run/lock; "
                f"mkdir -p {self.layer}{self.root}; mount --bind {self.root} {self.layer}{self.root}; "
                f"echo ready; exec chroot {self.layer} sh -c 'echo in; exec cat'")
        self.process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "sh", "-c", text], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert [self.process.stdout.readline(), self.process.stdout.readline()] == ["ready\n", "in\n"]
        self.inside = int(subprocess.run(["pgrep", "-P", str(self.process.pid)], text=True, capture_output=True,
                                         check=True).stdout)
        (self.root / "transcript.state").write_text(json.dumps({"tool": self.tool, "recording": True, "steps": []}))
        self.before = json.loads(self.run("/usr/bin/python3", "-c", HELPER +
                                          f"print(json.dumps(tool.snapshot(tool.TOOLS[{self.tool!r}]['files'])))"))

    def run(self, *words, check=True):
        argv = ["nsenter", "-t", str(self.inside), "-m", "-p", "-r", "-w", *map(str, words)]
        result = subprocess.run(argv, text=True, capture_output=True, check=False, env=self.env)
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout if check else result

    def path(self, path):
        return pathlib.Path(f"/proc/{self.inside}/root{path}")

    def end(self):
        steps = self.state()["steps"]
        lines = self.run(*TOOLS[self.tool]["version"]).splitlines()
        version = next(line for line in lines if re.search(r"\d", line)).lstrip(" .-")
        for step in steps:
            step.update({key: step[key].split("\n") for key in ("stdout", "stderr")})
        about = "Recorded from the real tool by tools/record-transcripts; do not edit."
        transcript = {"about": about, "tool": self.tool, "version": version, "system": "Debian 12",
                      "files": self.before, "steps": steps}
        self.file.write_text(json.dumps(transcript, indent=1, ensure_ascii=False) + "\n")


def tool_machine(root, tool, name):
    return (Recorded if RECORDING else Replayed)(root, tool, name)
