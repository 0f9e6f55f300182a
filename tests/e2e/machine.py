"""A machine of its own for tests that change one: the real programs, in a private mount namespace
in which the folders that they write to are copies. The machine that runs the tests stays as it was."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = (TOP / os.environ.get("ZESTER_BUILD", "build/asan") / "zester").resolve()


def skip_without(*programs):
    for program in programs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            pytest.skip(f"{program} is not installed")


@contextlib.contextmanager
def disk_folder():
    """A folder that is not in memory, as temporary ones may be: no kernel swaps to memory."""
    with tempfile.TemporaryDirectory(prefix="zester-disk-", dir="/var/tmp") as folder:
        yield pathlib.Path(folder)


class Machine:
    # What is replaced by a copy; the others begin empty.
    COPIES = ["/etc", "/var/spool"]
    EMPTY = ["/home", "/var/mail", "/srv", "/mnt"]
    # Of the states: 'zy' for levels whose states run at once, 'sls' for Salt's written order.
    DIALECT = "zy"
    # Of its own: mounts ("m"), and with "n" the network, which has no way out.
    NAMESPACES = "m"

    def __init__(self, root, namespace=True):
        self.root = root
        self.states = root / "states"
        self.states.mkdir()
        self.process = None
        self.env = dict(os.environ)
        if namespace:
            self.enter()

    def enter(self):
        if os.geteuid() != 0:
            pytest.skip("a private mount namespace needs root")
        skip_without("unshare", "nsenter", "mount")
        lines = ["set -e", "mount --make-rprivate /"]
        for folder in self.COPIES + self.EMPTY:
            copy = self.root / ("machine" + folder)
            copy.mkdir(parents=True)
            if folder in self.COPIES:
                lines.append(f"cp -a {folder}/. {copy}/")
            lines.append(f"mkdir -p {folder}; mount --bind {copy} {folder}")
        lines += ["echo ready", "exec cat"]
        self.process = subprocess.Popen(["unshare", *self.namespaces(), "sh", "-c", "\n".join(lines)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            pytest.skip("no private mount namespace here: " + self.process.communicate()[1].strip())

    def namespaces(self):
        return [f"-{letter}" for letter in self.NAMESPACES]

    def leave(self):
        if self.process:
            self.process.communicate()

    def run(self, *words, check=True):
        """A program on this machine: what it printed."""
        argv = list(map(str, words))
        if self.process:
            argv = ["nsenter", "-t", str(self.process.pid), *self.namespaces(), "--root", "--wd=/", *argv]
        result = subprocess.run(argv, text=True, capture_output=True, check=False, env=self.env)
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout if check else result

    def sh(self, text, check=True):
        return self.run("sh", "-c", text, check=check)

    def path(self, path):
        """A path of this machine, as this process sees it."""
        if not self.process:
            return pathlib.Path(path)
        return pathlib.Path(f"/proc/{self.process.pid}/root{path}")

    def zester(self, *words):
        """--local with these words: the result as JSON, and the exit status."""
        result = self.run(PROGRAM, "--local", "--quiet", "--states-dir", self.states, "--settings-dir",
                          self.root / "settings", "--data-dir", self.root / "data", "-o", "json", *words,
                          check=False)
        assert result.returncode in (0, 2), result.stdout + result.stderr
        assert "Sanitizer" not in result.stderr, result.stderr
        return json.loads(result.stdout), result.returncode

    def apply(self, text, *words):
        """Apply these states: name -> result."""
        (self.states / f"case.{self.DIALECT}").write_text(text)
        return by_name(self.zester("state.apply", "case", *words)[0])

    def mistakes(self, text):
        """The states have mistakes: what is said of them."""
        (self.states / f"case.{self.DIALECT}").write_text(text)
        result = self.run(PROGRAM, "--local", "--states-dir", self.states, "--data-dir", self.root / "data",
                          "state.check", "case", check=False)
        assert result.returncode == 1, result.stdout
        return result.stderr + result.stdout

    def revert(self):
        return by_name(self.zester("state.revert", "case", "--all", "--yes")[0])

    def settles(self, text):
        """Differs, is applied, is clean; the results of the first apply."""
        looked = self.apply(text, "--test")
        assert any(state["changed"] for state in looked.values()), looked
        first = self.apply(text)
        for name, state in first.items():
            assert not state["failed"], (name, state)
        again = self.apply(text)
        for name, state in again.items():
            assert not state["changed"] and not state["failed"], (name, state)
        return first


def by_name(results):
    """The result of each state, by its name."""
    return {state["name"]: dict(state, failed="error" in state,
                                text=state.get("diff", "") + state.get("error", ""))
            for state in results[0]["results"]}
