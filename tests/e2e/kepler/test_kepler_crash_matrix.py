"""What comes back after the daemon ends: at each moment of a service's life, whatever was requested last."""
import os
import signal

import pytest
import yaml

from kepler_home import PATIENCE, Home, wait_until
from kepler_play import SCRIPTS

# Waits while a file names its phase.
HOOK = """#!/bin/sh
[ "$(cat $1.hold 2> /dev/null)" = $2 ] || exit 0
touch $1.held
exec sleep 1000
"""
CHECK = "#!/bin/sh\n[ ! -e $1.sick ]\n"

# How a service gets to a moment: the hook that holds it from its first start, or from then on; and what happens to it once it runs.
MOMENTS = {
    "waiting": {},
    "start-pre_start": {"first": "pre_start"},
    "start-post_start": {"first": "post_start"},
    "running": {},
    "exit0-post_exit": {"then": "post_exit", "event": "0"},
    "exit1-post_exit": {"then": "post_exit", "event": "1"},
    "kill-post_exit": {"then": "post_exit", "event": "KILL"},
    "exit1-pause": {"event": "1"},
    "exit1-pre_restart": {"then": "pre_restart", "event": "1"},
    "exit1-pre_start": {"then": "pre_start", "event": "1"},
    "exit1-post_start": {"then": "post_start", "event": "1"},
    "stop-pre_stop": {"then": "pre_stop", "event": "stop"},
    "stop-post_stop": {"then": "post_stop", "event": "stop"},
    "restart-pre_restart": {"then": "pre_restart", "event": "restart"},
    "restart-pre_stop": {"then": "pre_stop", "event": "restart"},
    "restart-post_stop": {"then": "post_stop", "event": "restart"},
    "restart-pre_start": {"then": "pre_start", "event": "restart"},
    "restart-post_restart": {"then": "post_restart", "event": "restart"},
    "sick-post_healthcheck_fail": {"then": "post_healthcheck_fail", "event": "sick"},
    "sick-pre_stop": {"then": "pre_stop", "event": "sick"},
}
ENDS = ("0", "1", "KILL")
REQUESTS = ["", "stop", "start", "restart", "stop start", "start stop", "stop restart"]
COMMANDS = {"stop": ["stop"], "start": ["start", "-d"], "restart": ["restart"]}


class Cell:
    """One service: a moment, a policy, and what is requested then."""

    def __init__(self, moment, policy, requests):
        self.moment, self.policy, self.requests = moment, policy, requests.split()
        how = MOMENTS[moment]
        self.first, self.then, self.event = how.get("first"), how.get("then"), how.get("event")
        self.name = "-".join([moment, policy, *self.requests])

    def keys(self):
        phase = self.first or self.then
        pauses = self.moment == "exit1-pause"
        keys = {"command": ["./serve", self.name], "restart": {"policy": self.policy, "delay": "1h"} if pauses else self.policy}
        if phase:
            keys["hooks"] = {phase: {"command": ["./hook", self.name, phase]}}
        if self.event == "sick":
            keys["healthcheck"] = {"command": ["./check", self.name], "interval": "100ms", "retries": 1}
        if self.moment == "waiting":
            keys["depends_on"] = {"never": {"condition": "service_healthy"}}
        return keys

    def runs_at_first(self):
        return self.moment not in ("waiting", "start-pre_start")

    def restarts(self):
        return self.policy == "always" or self.policy == ("on-success" if self.event == "0" else "on-failure")

    def expected(self):
        """The status once another daemon runs."""
        if "stop" in self.requests:
            last = [word for word in self.requests if word != "restart"][-1]
        else:
            last = "start" if "start" in self.requests else "stop" if self.event == "stop" else None
        if last == "stop":
            return "stopped"
        if last is None and self.event in ENDS and not self.restarts():
            return "killed" if self.event == "KILL" else "exited"
        return "waiting" if self.moment == "waiting" else "running"


def cells():
    found = [Cell(moment, "always", requests) for moment in MOMENTS for requests in REQUESTS]
    for policy in ("no", "on-failure", "on-success"):
        found += [Cell(moment, policy, requests) for moment in MOMENTS if moment.endswith("post_exit") for requests in REQUESTS[:4]]
    return found


@pytest.fixture
def home():
    home = Home()
    home.env["KEPLER_LOG"] = "debug"
    home.env["ASAN_OPTIONS"] = "quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", "")
    for name, text in (("serve", SCRIPTS["serve"]), ("hook", HOOK), ("check", CHECK)):
        home.write(text, name)
        os.chmod(home.path(name), 0o755)
    home.start_daemon()
    yield home
    home.close()


def prepare(home, all_cells):
    config = {"kepler": {"autostart": {"environment": ["PATH", "MARK"]}},
              "services": {cell.name: cell.keys() for cell in all_cells}}
    config["services"]["never"] = {"command": ["sleep", "1000"], "healthcheck": {"command": ["false"], "retries": 1}}
    home.write(yaml.safe_dump(config, sort_keys=False))
    for cell in all_cells:
        os.mkfifo(home.path(f"{cell.name}.word"))
        if cell.first:
            home.write(cell.first, f"{cell.name}.hold")


def pids(home):
    """Of all processes that were started, by service."""
    found = {}
    if os.path.exists(home.path("runs")):
        for line in home.read("runs").splitlines():
            _, name, pid = line.split()
            found.setdefault(name, []).append(int(pid))
    return found


def send(home, commands, *words):
    """A command that may wait for hooks: until the daemon has it."""
    command = home.begin(*words)
    commands.append(command)
    wait_until(lambda: f"id=1 pid={command.pid} " in home.log() or command.poll() is not None, f"the daemon takes {words}")


def end_process(home, cell, pid):
    if cell.event == "KILL":
        os.kill(pid, signal.SIGKILL)
        return
    with open(home.path(f"{cell.name}.word"), "w") as word:
        word.write(f"{cell.event}\n")


def reach(home, all_cells, commands):
    """Each service comes to its moment."""
    home.start()
    wait_until(lambda: set(pids(home)) == {cell.name for cell in all_cells if cell.runs_at_first()}, "all run that can")
    services = home.services()
    checked = [cell.name for cell in all_cells if cell.event == "sick"]
    wait_until(lambda: all(home.services()[name]["status"] == "healthy" for name in checked), "checks pass")
    assert {services[cell.name]["status"] for cell in all_cells if cell.moment == "waiting"} == {"waiting"}
    first = pids(home)
    for cell in all_cells:
        if cell.then:
            home.write(cell.then, f"{cell.name}.hold")
        if cell.event in ENDS:
            end_process(home, cell, first[cell.name][0])
        elif cell.event == "sick":
            home.write("", f"{cell.name}.sick")
    for word in ("stop", "restart"):
        send(home, commands, word, *(cell.name for cell in all_cells if cell.event == word))
    held = [f"{cell.name}.held" for cell in all_cells if cell.first or cell.then]
    wait_until(lambda: set(held) <= set(os.listdir(home.folder)), "all hooks hold")
    pausing = [cell.name for cell in all_cells if cell.moment == "exit1-pause"]
    wait_until(lambda: all(home.services()[name]["status"] == "starting" for name in pausing), "the others pause")


def request(home, all_cells, commands):
    """Both requests of each service, in their order."""
    for at in range(2):
        for word, words in COMMANDS.items():
            names = [cell.name for cell in all_cells if cell.requests[at:at + 1] == [word]]
            if names:
                send(home, commands, *words, *names)
    home.services()  # an answer means that the state is on disk


def replace_daemon(home, names, how):
    home.daemon.send_signal(how)
    if how != signal.SIGKILL:
        wait_until(lambda: "daemon stops" in home.log(), "the daemon has heard")
        home.daemon.send_signal(how)  # waits for no hook
    home.daemon.wait(PATIENCE)
    for name in names:
        for file in (f"{name}.hold", f"{name}.sick"):
            if os.path.exists(home.path(file)):
                os.unlink(home.path(file))
    before = pids(home)
    home.start_daemon()
    return before


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_what_was_requested_last_counts_when_the_daemon_ends_at_any_moment(home, how):
    all_cells, commands = cells(), []
    prepare(home, all_cells)
    reach(home, all_cells, commands)
    request(home, all_cells, commands)
    before = replace_daemon(home, [cell.name for cell in all_cells], how)
    for command in commands:
        command.communicate(timeout=PATIENCE)

    def differences():
        services, after = home.services(), pids(home)
        found = []
        for cell in all_cells:
            want, status = cell.expected(), services[cell.name]["status"]
            want_runs = len(before.get(cell.name, [])) + (want == "running")
            if (status.replace("healthy", "running"), len(after.get(cell.name, []))) != (want, want_runs):
                found.append(f"{cell.name}: {status}, expected {want}")
        return found

    try:
        wait_until(lambda: not differences(), "all services are as they should be", 20)
    except AssertionError:
        pytest.fail("\n".join(differences()), pytrace=False)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
@pytest.mark.parametrize("words", [["recreate"], ["run", "-d"]], ids=["recreate", "run"])
def test_a_config_that_was_about_to_be_loaded_anew_is_left_as_it_was(home, words, how):
    text = """
        kepler: {autostart: {environment: [PATH, MARK]}}
        services:
          up: {command: [./serve, up], hooks: {post_stop: {command: [./hook, up, post_stop]}}}
          down: {command: [./serve, down]}
        """
    home.write(text)
    for name in ("up", "down"):
        os.mkfifo(home.path(f"{name}.word"))
    home.start()
    home.run("stop", "down")
    wait_until(lambda: len(pids(home).get("up", [])) == 1, "it runs")
    home.write(text.replace("down:", "other:"))
    home.write("post_stop", "up.hold")
    command = home.begin(*words)
    wait_until(lambda: os.path.exists(home.path("up.held")), "it goes down")
    replace_daemon(home, ["up"], how)
    assert command.wait(PATIENCE) != 0
    command.communicate()
    home.wait_for("up", "running")
    assert {name: one["status"] for name, one in home.services().items()} == {"up": "running", "down": "stopped"}
    assert len(pids(home)["up"]) == 2
    home.run("recreate")
    assert set(home.services()) == {"up", "other"}
