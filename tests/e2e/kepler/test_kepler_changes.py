"""A config file that changes while its services run: what was loaded counts until it is loaded anew."""
import os
import subprocess

import pytest

from kepler_home import KEPLER, Home, wait_until

OLD = """
    services:
      a: {run: "echo old >> said; exec sleep 1000"}
      b: {run: "exec sleep 1000"}
    """
NEW = """
    services:
      a: {run: "echo new >> said; exec sleep 1000"}
      c: {run: "exec sleep 1000"}
    """
# Three mistakes, each of which is to be told.
BROKEN = """
    services:
      a: {run: "true", restrat: always}
      b: {run: "true", depends_on: [nowhere]}
      c: {run: "true", restart: sometimes}
    """
MISTAKES = ("restrat", "nowhere", "sometimes")


def edit(home, text):
    """In place: the same file."""
    home.write(text)


def replace(home, text):
    """As editors and deployments do: another file under the same name."""
    os.rename(home.write(text, "kepler.yaml.new"), home.path("kepler.yaml"))


def pids(home):
    return {name: one["pid"] for name, one in home.services().items()}


def said(home):
    return home.read("said").split()


def start_old(home):
    home.write(OLD)
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("said")) and said(home), "it runs")
    return pids(home)


@pytest.mark.parametrize("change", [edit, replace])
@pytest.mark.parametrize("text", [NEW, BROKEN, ""], ids=["valid", "invalid", "empty"])
def test_editing_the_file_does_not_affect_running_services(home, change, text):
    before = start_old(home)
    change(home, text)
    assert home.start().stdout == "All services are already running\n"
    assert pids(home) == before
    home.run("restart", "a")
    wait_until(lambda: said(home) == ["old", "old"], "it ran again, as it was loaded")
    home.run("stop", "b")
    home.start("b", "--wait")
    assert sorted(home.services()) == ["a", "b"]
    home.run("stop")
    home.start("--wait")
    wait_until(lambda: said(home) == ["old"] * 3, "also after all were stopped")


def test_a_service_only_in_the_edited_file_is_unknown_with_the_reason(home):
    start_old(home)
    edit(home, NEW)
    for words in (["start", "-d", "c"], ["restart", "c"], ["stop", "c"], ["why", "c"]):
        run = home.run(*words, check=False)
        assert run.returncode == 1 and "no service 'c'" in run.stderr
        assert "has changed since it was loaded: 'kepler apply' reads it again" in run.stderr


def test_running_a_service_that_the_loaded_or_the_new_file_lacks_stops_nothing(home):
    before = start_old(home)
    edit(home, NEW)
    for words in (["run", "-d", "c"], ["run", "c", "b", "--start-clean"]):
        run = home.run(*words, check=False)
        assert run.returncode == 1 and "no service 'c'" in run.stderr
        assert pids(home) == before
    home.run("stop")
    run = home.run("run", "-d", "b", check=False)
    assert run.returncode == 1 and "no service 'b'" in run.stderr
    home.run("run", "-d", "c")
    home.wait_for("c", "running")


@pytest.mark.parametrize("gone", [os.unlink, lambda path: os.rename(path, path + ".away")], ids=["deleted", "moved"])
def test_a_deleted_file_can_be_restarted_and_stopped_but_not_loaded(home, gone):
    before = start_old(home)
    gone(home.path("kepler.yaml"))
    home.run("restart", "a")
    wait_until(lambda: said(home) == ["old", "old"], "it ran again")
    for words in (["recreate"], ["run", "-d"]):
        run = home.run(*words, check=False)
        assert run.returncode == 1 and "No such file" in run.stderr, run.stderr
    assert pids(home)["b"] == before["b"]
    assert home.ps()["b"][0].startswith("Up")
    home.run("logs")
    home.run("stop")
    assert home.processes() == []


@pytest.mark.parametrize("words", [["recreate"], ["run", "-d"], ["run", "-d", "--start-clean"]], ids=" ".join)
def test_loading_a_broken_file_keeps_services_running_and_reports_all_mistakes(home, words):
    before = start_old(home)
    edit(home, BROKEN)
    run = home.run(*words, check=False)
    assert run.returncode == 1
    for word in MISTAKES:
        assert word in run.stderr
    assert run.stderr.count("kepler.yaml:") >= len(MISTAKES)
    assert pids(home) == before
    home.run("restart", "a")
    wait_until(lambda: said(home) == ["old", "old"], "it ran again, as it was loaded")


@pytest.mark.parametrize("words", [["recreate"], ["run", "-d"]], ids=" ".join)
def test_reloading_uses_the_new_file_and_stops_removed_services(home, words):
    before = start_old(home)
    replace(home, NEW)
    home.run(*words)
    home.wait_for("c", "running")
    wait_until(lambda: said(home) == ["old", "new"], "it runs as the new file says")
    assert sorted(home.services()) == ["a", "c"]
    assert before["b"] not in home.processes()
    wait_until(lambda: len(home.processes()) == 2, "a and c are left")


class PlainHome(Home):
    """Daemon and commands without the rights of root."""

    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []

    def __init__(self):
        super().__init__()
        if self.become:
            os.chown(self.folder, 65534, 65534)

    def argv(self, user=None):
        return [*self.become, *super().argv(user)]

    def daemon_argv(self):
        return [*self.become, *super().daemon_argv()]


def test_a_file_that_is_no_longer_readable_is_not_loaded():
    if subprocess.run([*PlainHome.become, KEPLER, "--version"], capture_output=True).returncode != 0:
        pytest.skip("the programs are where only root may run them")
    home = PlainHome()
    home.start_daemon()
    try:
        before = start_old(home)
        os.chmod(home.path("kepler.yaml"), 0)
        for words in (["recreate"], ["run", "-d"]):
            run = home.run(*words, check=False)
            assert run.returncode == 1 and "Permission denied" in run.stderr
        assert pids(home) == before
        home.run("restart", "a")
        wait_until(lambda: said(home) == ["old", "old"], "it ran again, as it was loaded")
        home.run("stop")
        assert home.processes() == []
    finally:
        home.close()


def test_a_file_that_became_a_folder_or_a_pipe_is_refused(home):
    before = start_old(home)
    os.unlink(home.path("kepler.yaml"))
    os.mkdir(home.path("kepler.yaml"))
    run = home.run("recreate", check=False)
    assert run.returncode == 1 and "kepler.yaml" in run.stderr
    os.rmdir(home.path("kepler.yaml"))
    os.mkfifo(home.path("kepler.yaml"))
    run = home.run("recreate", check=False)
    assert run.returncode == 1 and "kepler.yaml" in run.stderr
    assert pids(home) == before


def test_a_config_that_fails_to_start_can_be_fixed(home):
    start_old(home)
    edit(home, "services:\n  a: {command: [/no/such/program]}\n")
    home.run("recreate", check=False)
    home.wait_for("a", "failed")
    edit(home, NEW)
    home.run("recreate")
    home.wait_for("c", "running")


def test_edits_after_a_stop_take_effect_after_a_daemon_restart(home):
    start_old(home)
    home.run("stop")
    home.stop_daemon()
    replace(home, NEW)
    home.start_daemon()
    home.start("--wait")
    assert sorted(home.services()) == ["a", "c"]
    wait_until(lambda: said(home) == ["old", "new"], "the new file was loaded")
