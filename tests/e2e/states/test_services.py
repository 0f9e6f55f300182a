"""service.*: init scripts for real, in a copy of /etc. systemd is in test_services_systemd.py, its systemctl and
OpenRC are in test_transcripts.py, kepler is in test_services_kepler.py."""
import json
import os

import pytest

from machine import PROGRAM, Machine, by_name, skip_without

SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides:          toy
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: toy
### END INIT INFO
pid=DIR/toy.pid
alive() { [ -e $pid ] && kill -0 $(cat $pid) 2>/dev/null; }
echo "$1" >> DIR/calls
case $1 in
start) alive && exit 0; BODY ;;
stop) alive && kill $(cat $pid); rm -f $pid ;;
restart) $0 stop; $0 start ;;
reload) alive || exit 7 ;;
status) alive || exit 3 ;;
esac
"""
SLEEP = "sleep 600 </dev/null >/dev/null 2>&1 & echo $! > $pid"


@pytest.fixture
def machine(tmp_path):
    skip_without("update-rc.d")
    machine = Machine(tmp_path)
    write_script(machine, SLEEP)
    yield machine
    machine.sh("/etc/init.d/toy stop", check=False)
    machine.leave()


def write_script(machine, body):
    script = machine.path("/etc/init.d/toy")
    script.write_text(SCRIPT.replace("DIR", str(machine.root)).replace("BODY", body))
    script.chmod(0o755)


def calls(machine):
    """What the script was asked to do since the last time."""
    path = machine.root / "calls"
    words = [word for word in path.read_text().split() if word != "status"] if path.exists() else []
    path.unlink(missing_ok=True)
    return words


def is_enabled(machine):
    return machine.sh("ls /etc/rc3.d/S??toy", check=False).returncode == 0


RUNNING = "toy: {service.running: [{provider: sysv, enable: true}]}"


def test_a_service_is_started_enabled_and_both_are_taken_back(machine):
    result = machine.settles(RUNNING)["service.running:toy"]
    assert result["details"]["action"] == "enabled, started" and result["details"]["manager"] == "sysv"
    assert is_enabled(machine) and calls(machine) == ["start"]
    assert machine.revert()["service.running:toy"]["diff"] == "stopped, disabled toy (revert)"
    assert not is_enabled(machine)
    assert calls(machine) == ["stop"]
    assert machine.sh("ls -d /etc/rc?.d/*toy", check=False).stdout == "", "links that were not there before"


def test_reverting_brings_back_that_a_service_was_switched_off(machine):
    machine.sh("update-rc.d toy defaults && update-rc.d toy disable")
    before = machine.sh("ls /etc/rc?.d")
    machine.apply(RUNNING)
    assert is_enabled(machine)
    machine.revert()
    assert machine.sh("ls /etc/rc?.d") == before


WATCH = """
conf:
  file.managed:
    - name: {root}/toy.conf
    - contents: "{content}"
toy:
  service.running:
    - provider: sysv
    - enable: true
    - {reload}
    - watch: [file: conf]
"""


def test_a_watched_change_restarts_or_reloads(machine):
    machine.apply(WATCH.format(root=machine.root, content="1", reload="reload: false"))
    assert calls(machine) == ["start"]
    machine.apply(WATCH.format(root=machine.root, content="2", reload="reload: false"))
    assert calls(machine) == ["restart", "stop", "start"]
    looked = machine.apply(WATCH.format(root=machine.root, content="3", reload="reload: true"), "--test")
    assert looked["service.running:toy"]["text"] == "toy will be reloaded" and calls(machine) == []
    machine.apply(WATCH.format(root=machine.root, content="3", reload="reload: true"))
    assert calls(machine) == ["reload"]
    machine.apply("toy: {service.dead: [{provider: sysv, watch: [{cmd: x}]}]}\nx: {cmd.run: [{name: 'true'}]}")
    looked = machine.apply("toy: {service.dead: [{provider: sysv, watch: [{cmd: x}]}]}\nx: {cmd.run: [{name: 'true'}]}",
                           "--test")
    assert not looked["service.dead:toy"]["changed"]


def test_a_watched_change_restarts_also_when_enable_had_drifted(machine):
    machine.apply(WATCH.format(root=machine.root, content="1", reload="reload: false"))
    machine.sh("update-rc.d toy disable")
    calls(machine)
    result = machine.apply(WATCH.format(root=machine.root, content="2", reload="reload: false"))
    assert result["service.running:toy"]["details"]["action"] == "enabled, restarted"
    assert calls(machine) == ["restart", "stop", "start"] and is_enabled(machine)


def test_a_service_that_does_not_come_up_fails_the_state(machine):
    write_script(machine, "true")
    result = machine.apply("toy: {service.running: [{provider: sysv, timeout: 5s}]}")["service.running:toy"]
    assert result["error"] == "toy was started, but sysv says 'stopped'"


def test_a_script_that_hangs_is_ended_after_the_timeout(machine):
    write_script(machine, "sleep 61803")
    result = machine.apply("toy: {service.running: [{provider: sysv, timeout: 2s}]}")["service.running:toy"]
    assert result["error"] == "/etc/init.d/toy took too long and was killed"


def test_a_service_that_comes_up_late_is_waited_for(machine):
    write_script(machine, "( sleep 0.5; " + SLEEP + " ) </dev/null >/dev/null 2>&1 &")
    result = machine.apply("toy: {service.running: [{provider: sysv, timeout: 20s}]}")["service.running:toy"]
    assert result["changed"] and not result["failed"], result


def test_what_a_failing_script_says_is_in_the_error(machine):
    write_script(machine, "echo no port left >&2; exit 1")
    result = machine.apply("toy: {service.running: [{provider: sysv}]}")["service.running:toy"]
    assert "no port left" in result["error"]


def test_a_text_of_its_command_line_says_whether_a_service_runs_whose_script_does_not_know(machine):
    program = f"sleep 60{os.getpid()}"  # processes of other tests are seen here too
    write_script(machine, program + " </dev/null >/dev/null 2>&1 & echo $! > $pid")
    script = machine.path("/etc/init.d/toy")
    script.write_text(script.read_text().replace("status) alive || exit 3", "status) exit 4"))
    machine.settles(f"toy: {{service.running: [{{provider: sysv, sig: '{program}', timeout: 20s}}]}}")
    assert calls(machine) == ["start"]
    machine.settles(f"toy: {{service.dead: [{{provider: sysv, sig: '{program}', timeout: 20s}}]}}")
    assert calls(machine) == ["stop"]


def test_dead_stops_and_disables_and_revert_brings_both_back(machine):
    machine.apply(RUNNING)
    calls(machine)
    machine.settles("toy: {service.dead: [{provider: sysv, enable: false}]}")
    assert calls(machine) == ["stop"] and not is_enabled(machine)
    # the newest run first: what dead did, then what running did
    machine.revert()
    assert calls(machine) == ["start", "stop"]


def test_enabled_and_disabled(machine):
    machine.settles("toy: {service.enabled: [{provider: sysv}]}")
    assert is_enabled(machine)
    machine.settles("toy: {service.disabled: [{provider: sysv}]}")
    assert not is_enabled(machine) and calls(machine) == []


def test_enabled_and_disabled_are_questions_on_the_command_line_and_states_behind_state_single(machine):
    def ask(function):
        record, status = machine.zester(function, "toy", "provider=sysv")
        assert status == 0
        return record[0]["results"][0]["details"]["result"]

    assert [ask("service.enabled"), ask("service.disabled")] == [False, True] and not is_enabled(machine)
    looked, status = machine.zester("state.single", "service.enabled", "toy", "provider=sysv", "--test")
    assert looked[0]["results"][0]["changed"] and status == 0 and not is_enabled(machine)
    machine.zester("state.single", "service.enabled", "toy", "provider=sysv")
    assert is_enabled(machine)
    assert [ask("service.enabled"), ask("service.disabled"), ask("service.masked")] == [True, False, False]
    assert is_enabled(machine) and calls(machine) == []
    machine.zester("service.disable", "toy", "provider=sysv")
    assert not is_enabled(machine)


def test_a_service_nobody_knows_may_be_dead_but_not_running(machine):
    result = machine.apply("nope: {service.dead: [{provider: sysv, enable: false}]}")["service.dead:nope"]
    assert not result["changed"] and not result["failed"]
    result = machine.apply("nope: {service.running: [{provider: sysv}]}")["service.running:nope"]
    assert result["error"] == "sysv has no service 'nope'"
    result = machine.apply("nope: {service.running: [{provider: sysv}]}", "--test")["service.running:nope"]
    assert result["changed"] and "service nope does not exist yet" in result["diff"]


def test_init_scripts_cannot_be_masked(machine):
    result = machine.apply("toy: {service.masked: [{provider: sysv}]}")["service.masked:toy"]
    assert result["error"] == "init scripts cannot be masked"


def test_functions_of_services(machine):
    assert "stopped" in str(machine.zester("service.status", "toy", "provider=sysv")[0])
    assert "started toy" in str(machine.zester("service.start", "toy", "provider=sysv")[0])
    assert "running" in str(machine.zester("service.status", "toy", "provider=sysv")[0])
    assert "stopped toy" in str(machine.zester("service.stop", "toy", "provider=sysv")[0])


def test_a_missing_manager_fails_the_states_that_need_it_and_no_other(machine):
    machine.sh("rm -rf /etc/init.d; mount -t tmpfs none /run")
    results = machine.apply("toy: {service.running: []}\nother: {test.succeed_with_changes: []}\n")
    error = results["service.running:toy"]["error"]
    for words in ("no service manager", "systemd (/run/systemd/system and systemctl)", "openrc (", "sysv ("):
        assert words in error
    assert results["test.succeed_with_changes:other"]["changed"]


CHKCONFIG = """#!/bin/sh
# A fake chkconfig of a test, as its manual says; there is none in Debian.
echo "$*" >> DIR/chkconfig
case $*,$2 in
"--del "*|*,off) rm -f /etc/rc[2345].d/S??toy ;;
*,on) for level in 2 3 4 5; do ln -sf ../init.d/toy /etc/rc$level.d/S85toy; done ;;
esac
"""


def test_fake_chkconfig_is_used_where_there_is_no_update_rc_d(machine):
    folder = machine.root / "bin"
    folder.mkdir()
    (folder / "chkconfig").write_text(CHKCONFIG.replace("DIR", str(machine.root)))
    (folder / "chkconfig").chmod(0o755)
    machine.env["PATH"] = f"{folder}:" + machine.env["PATH"]
    machine.sh("mount --bind /dev/null $(command -v update-rc.d || echo /usr/sbin/update-rc.d)")
    machine.settles("toy: {service.enabled: [{provider: sysv}]}")
    machine.settles("toy: {service.disabled: [{provider: sysv}]}")
    assert (machine.root / "chkconfig").read_text() == "--add toy\ntoy on\ntoy off\n"


SYSTEMCTL = """#!/bin/sh
# What a container without systemd brings along. Its services are files; "--" and options are not known here.
echo "$*" >> DIR/systemctl.calls
case $1 in
is-active) [ -e DIR/$2.known ] || exit 4; [ -e DIR/$2.up ] && echo active || { echo inactive; exit 3; } ;;
is-enabled) [ -e DIR/$2.on ] ;;
start) touch DIR/$2.up ;;
stop) rm DIR/$2.up ;;
enable) touch DIR/$2.on ;;
disable) rm DIR/$2.on ;;
*) echo "unknown verb $1" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def scripted(machine):
    """A machine without systemd, with a systemctl that is a script."""
    folder = machine.root / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL.replace("DIR", str(machine.root)))
    (folder / "systemctl").chmod(0o755)
    (machine.root / "web.known").touch()
    machine.env["PATH"] = f"{folder}:" + machine.env["PATH"]
    machine.sh("mount -t tmpfs none /run")
    return machine


def test_a_script_called_systemctl_controls_services_where_systemd_does_not_run(scripted):
    result = scripted.settles("web: {service.running: [{enable: true}]}")["service.running:web"]
    assert result["details"]["action"] == "enabled, started" and result["details"]["manager"] == "systemctl"
    assert (scripted.root / "web.up").exists() and (scripted.root / "web.on").exists()
    assert "is-active web" in (scripted.root / "systemctl.calls").read_text().splitlines(), "as a user would type it"
    assert scripted.revert()["service.running:web"]["diff"] == "stopped, disabled web (revert)"
    assert not (scripted.root / "web.up").exists() and not (scripted.root / "web.on").exists()


def test_a_service_that_the_script_does_not_know_is_an_error(scripted):
    assert "systemctl has no service 'nosuch'" in scripted.apply("nosuch: {service.running: []}")["service.running:nosuch"]["error"]


def test_the_program_of_systemd_is_not_used_where_systemd_does_not_run(scripted):
    scripted.sh(f"cp --dereference /bin/sh {scripted.root}/bin/systemctl")
    assert scripted.settles("toy: {service.running: []}")["service.running:toy"]["details"]["manager"] == "sysv"


def test_a_machine_without_any_program_fails_what_needs_one_and_nothing_else(machine):
    """Also packages: what was looked for is told, and where."""
    hide = ""
    for folder in ("/etc/init.d", "/run", "/usr/local", "/usr/sbin", "/usr/bin"):
        (machine.root / "empty" / folder[1:]).mkdir(parents=True)
        hide += f"mount --bind {machine.root}/empty{folder} {folder}; "
    (machine.states / "case.zy").write_text("toy: {service.running: []}\nnginx: {pkg.installed: []}\n"
                                             f"file: {{file.managed: [{{name: {machine.root}/made, contents: x}}]}}\n")
    words = ["--local", "--quiet", "--states-dir", machine.states, "--data-dir", machine.root / "data", "-o", "json"]
    result = machine.run("sh", "-c", f"{hide} exec {PROGRAM} {' '.join(map(str, words))} state.apply case", check=False)
    results = by_name(json.loads(result.stdout))
    assert "no service manager on this machine; searched for systemd (" in results["service.running:toy"]["error"]
    error = results["pkg.installed:nginx"]["error"]
    assert "no package manager found for os.family 'debian': searched for 'apt-get', 'apt-cache', 'dpkg' in PATH '" in error
    assert ":/usr/sbin:/sbin'" in error, "also the folders that are always looked into"
    assert (machine.root / "made").read_text() == "x\n"
