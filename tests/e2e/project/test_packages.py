"""tools/install-packages, on a machine made of fake programs: a dpkg that knows what we say is installed,
and an apt-get, sudo and id that write down how they were called. Nothing is installed."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
LIST = """\
# package use reason
gcc             build  the compiler
libyaml-dev     build  YAML
pkg-config      build  flags
libfoo:i386     test   another architecture
cmocka          test   unit tests
salt            bench  a peer
"""
ALL = ["installed\tgcc\tamd64\t", "installed\tlibyaml-dev\tamd64\t", "installed\tpkgconf\tamd64\tpkg-config (= 1.8)",
       "installed\tlibfoo\ti386\t", "installed\tcmocka\tall\t"]


class Machine:
    def __init__(self, folder):
        self.folder, self.bin, self.log = folder, folder / "bin", folder / "log"
        self.bin.mkdir()
        (folder / "tools").mkdir()
        (folder / "packaging").mkdir()
        shutil.copy(TOP / "tools/install-packages", folder / "tools")
        (folder / "packaging/packages.txt").write_text(LIST)
        for name in ("sh", "awk", "dirname", "env", "echo"):
            (self.bin / name).symlink_to(shutil.which(name))
        self.fake("dpkg", "echo amd64")
        self.fake("apt-get", f'echo "apt-get $*" >> {self.log}; [ ! -e {folder}/no-$1 ]')

    def fake(self, name, body):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n# A fake {name} of a test.\n{body}\n")
        path.chmod(0o755)

    def run(self, *uses, installed=ALL, user=0, sudo=False):
        (self.folder / "status").write_text("".join(f"{line}\n" for line in installed))
        self.fake("dpkg-query", f'while read -r line; do echo "$line"; done < {self.folder}/status')
        self.fake("id", f"echo {user}")
        if sudo:
            self.fake("sudo", f'echo sudo >> {self.log}; exec "$@"')
        result = subprocess.run([self.folder / "tools/install-packages", *uses], text=True, capture_output=True,
                                env={"PATH": str(self.bin)}, check=False)
        calls = self.log.read_text().split("\n")[:-1] if self.log.exists() else []
        return result, calls


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def without(*names):
    return [line for line in ALL if line.split("\t")[1] not in names]


@pytest.mark.parametrize("user", [0, 1000])
def test_nobody_is_asked_when_everything_is_there(machine, user):
    result, calls = machine.run("build", "test", user=user, sudo=True)
    assert (result.returncode, result.stdout, result.stderr, calls) == (0, "", "", [])


def test_root_installs_what_is_missing_and_nothing_else(machine):
    result, calls = machine.run("build", "test", installed=without("cmocka", "libyaml-dev"))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "installing: libyaml-dev cmocka\n"
    assert calls == ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends libyaml-dev cmocka"]


def test_only_the_uses_that_were_asked_for_count(machine):
    result, calls = machine.run("build", installed=without("cmocka", "libfoo"))
    assert (result.returncode, calls) == (0, [])


def test_a_user_with_sudo_installs_through_it(machine):
    result, calls = machine.run("build", installed=without("gcc"), user=1000, sudo=True)
    assert result.returncode == 0, result.stderr
    assert calls == ["sudo", "apt-get update -qq", "sudo", "apt-get install -y -qq --no-install-recommends gcc"]


def test_a_user_without_sudo_is_told_what_to_run(machine):
    result, calls = machine.run("build", installed=without("gcc"), user=1000)
    assert result.returncode == 1 and calls == []
    assert "run as root: apt-get install -y gcc\n" in result.stderr


def test_a_package_of_two_architectures_is_there_once(machine):
    both = [*ALL, "installed\tlibyaml-dev\ti386\t"]
    assert machine.run("build", installed=both)[1] == []


def test_a_package_of_another_architecture_only_is_missing(machine):
    foreign = [*without("libyaml-dev"), "installed\tlibyaml-dev\ti386\t"]
    assert machine.run("build", installed=foreign)[1][-1].endswith(" libyaml-dev")


def test_a_name_with_its_architecture_means_that_one(machine):
    native = [*without("libfoo"), "installed\tlibfoo\tamd64\t"]
    assert machine.run("test", installed=native)[1][-1].endswith(" libfoo:i386")


def test_a_package_that_was_removed_with_its_settings_kept_is_missing(machine):
    removed = [*without("gcc"), "config-files\tgcc\tamd64\t"]
    assert machine.run("build", installed=removed)[1][-1].endswith(" gcc")


def test_old_package_lists_are_better_than_none(machine):
    (machine.folder / "no-update").touch()
    result, calls = machine.run("build", installed=without("gcc"))
    assert result.returncode == 0 and len(calls) == 2
    assert "could not be renewed" in result.stderr


def test_a_failed_installation_is_a_failure(machine):
    (machine.folder / "no-install").touch()
    result, _ = machine.run("build", installed=without("gcc"))
    assert result.returncode == 1 and "could not install: gcc" in result.stderr


def test_a_list_that_is_gone_is_a_failure(machine):
    (machine.folder / "packaging/packages.txt").unlink()
    result, calls = machine.run("build")
    assert result.returncode == 1 and calls == [] and "cannot read" in result.stderr


def test_generated_pages_are_up_to_date():
    build = os.environ.get("ZESTER_BUILD", "build/asan")
    words = [sys.executable, TOP / "tools/gen-docs", "--check", "--build", build]
    result = subprocess.run(words, text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_package_of_the_list_is_named_once_for_each_use():
    lines = [line.split()[:2] for line in (TOP / "packaging/packages.txt").read_text().split("\n")
             if line and line[0] != "#"]
    assert len(lines) > 20
    assert len({tuple(line) for line in lines}) == len(lines)


def test_the_real_packages_are_found_with_their_architecture(machine):
    """On the machine that builds, all of `build` is there: nothing is said, and the fake apt-get not called."""
    for name in ("dpkg", "sudo", "id"):
        (machine.bin / name).unlink(missing_ok=True)
    result = subprocess.run([TOP / "tools/install-packages", "build"], text=True, capture_output=True, check=False,
                            env={"PATH": f"{machine.bin}:{os.environ['PATH']}"})
    assert (result.returncode, result.stdout) == (0, "")
    assert not machine.log.exists()
