"""service.* with a real systemd over its socket, and by systemctl where there is none. What systemctl prints elsewhere is
in test_transcripts.py."""
import glob
import os
import signal
import subprocess

import pytest

import user_systemd
from machine import PROGRAM, Machine, skip_without

UNITS = {
    "web": "[Service]\nExecStart=/bin/sleep 61803\nExecReload=/bin/touch /srv/reloaded\n[Install]\nWantedBy=default.target\n",
    "broken": "[Service]\nType=oneshot\nExecStart=/bin/false\n",
    "slow": "[Service]\nType=notify\nExecStart=/bin/sleep 61803\nTimeoutStartSec=1\nKillSignal=SIGKILL\n",
    "needy": "[Unit]\nRequires=broken.service\nAfter=broken.service\n[Service]\nExecStart=/bin/sleep 61803\n",
    "never": "[Service]\nType=oneshot\nExecStart=/bin/sleep 61803\n",
    "dying": "[Service]\nExecStart=/bin/false\n",
    "looping": "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=61803\n",
}
# systemctl by name is that of the manager under test; what it was asked is kept.
SYSTEMCTL = """#!/bin/sh
echo "$*" >> DIR/asked
exec /usr/bin/systemctl --user "$@"
"""


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    machine.sh("mount -t tmpfs tmpfs /run; mkdir -p /srv/data/systemd/user")
    for name, text in UNITS.items():
        write_unit(machine, name, text)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(SYSTEMCTL.replace("DIR", str(tmp_path)))
    (tmp_path / "bin/systemctl").chmod(0o755)
    machine.env["PATH"] = f"{tmp_path}/bin:" + machine.env["PATH"]
    machine.env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={tmp_path}/no-bus"
    try:
        with user_systemd.manager(machine):
            yield machine
    finally:
        machine.leave()


@pytest.fixture
def bus(machine):
    """The manager is where root finds that of the machine."""
    machine.sh(f"ln -s {user_systemd.SOCKET} /run/systemd/private")
    yield machine
    assert asked(machine) == [], "all of it went over the bus"


def write_unit(machine, name, text):
    machine.path(f"/srv/data/systemd/user/{name}.service").write_text(text)


def asked(machine):
    path = machine.root / "asked"
    return path.read_text().splitlines() if path.exists() else []


def service(kind, *more, name="web"):
    return f"{name}: {{service.{kind}: [{', '.join(f'{{{option}}}' for option in more)}]}}"


def one(results):
    assert len(results) == 1, results
    return next(iter(results.values()))


def call(machine, *words):
    """What a function answers."""
    return machine.zester(*words)[0][0]["results"][0]["details"]["result"]


def error_of(machine, *words):
    result = machine.run(PROGRAM, "--local", "--quiet", "--data-dir", machine.root / "data", *words, check=False)
    assert result.returncode == 1 and "Sanitizer" not in result.stderr, result
    return result.stderr.strip().removeprefix("zester --local: ")


def ctl(machine, *words):
    return machine.run("/usr/bin/systemctl", "--user", *words, check=False).stdout.strip()


def see(name):
    return f"see 'systemctl status {name}.service' and 'journalctl -xeu {name}.service'"


def pid(machine):
    return ctl(machine, "show", "--property=MainPID", "--value", "web")


def test_a_service_is_started_enabled_stopped_disabled_and_given_back(bus):
    result = one(bus.settles(service("running", "enable: true")))
    assert result["details"] == {"service": "web", "action": "enabled, started", "manager": "systemd"}
    assert ctl(bus, "is-active", "web") == "active" and ctl(bus, "is-enabled", "web") == "enabled"
    assert call(bus, "service.status", "web") == "running"
    bus.settles(service("dead", "enable: false", name="web.service"))
    assert ctl(bus, "is-active", "web") == "inactive" and ctl(bus, "is-enabled", "web") == "disabled"
    assert call(bus, "service.status", "web") == "stopped"
    # first what dead did, then what running did
    for result in bus.revert().values():
        assert not result["failed"], result
    assert ctl(bus, "is-active", "web") == "inactive" and ctl(bus, "is-enabled", "web") == "disabled"


def test_a_service_is_restarted_and_reloaded_and_its_changed_file_is_read(bus):
    assert call(bus, "service.start", "web") == "started web"
    first = pid(bus)
    assert call(bus, "service.reload", "web") == "reloaded web"
    assert bus.path("/srv/reloaded").exists() and pid(bus) == first
    assert call(bus, "service.restart", "web") == "restarted web"
    assert pid(bus) not in ("0", first)
    write_unit(bus, "web", UNITS["web"].replace("61803", "27182"))
    assert ctl(bus, "show", "--property=NeedDaemonReload", "--value", "web") == "yes"
    call(bus, "service.restart", "web")
    assert "27182" in bus.path(f"/proc/{pid(bus)}/cmdline").read_text()
    write_unit(bus, "web", UNITS["web"])
    assert call(bus, "service.systemctl_reload") is True
    assert ctl(bus, "show", "--property=NeedDaemonReload", "--value", "web") == "no"
    assert call(bus, "service.stop", "web") == "stopped web"
    assert error_of(bus, "service.reload", "web") == \
        "systemd: the job to reload web.service ended with result 'invalid': it is not active; " + see("web")


def test_a_service_is_masked_and_unmasked(bus):
    bus.settles(service("masked"))
    assert ctl(bus, "is-enabled", "web") == "masked"
    assert "Unit web.service is masked" in error_of(bus, "service.start", "web")
    assert "masked" in one(bus.apply(service("running")))["error"]
    bus.settles(service("running", "unmask: true"))
    bus.settles(service("dead"))
    bus.settles(service("masked", "runtime: true"))
    assert ctl(bus, "is-enabled", "web") == "masked-runtime"
    bus.settles(service("unmasked", "runtime: true"))


def test_a_unit_that_nobody_knows_is_reported_and_one_that_is_new_is_found(bus):
    assert call(bus, "service.available", "late") is False
    assert call(bus, "service.status", "late") == "stopped"
    assert error_of(bus, "service.start", "late") == "systemd has no service 'late'"
    assert one(bus.apply(service("running", name="late")))["error"] == \
        "systemd: failed to start late.service: Unit late.service not found."
    assert not one(bus.apply(service("dead", name="late")))["failed"]
    write_unit(bus, "late", UNITS["web"])
    bus.settles(service("running", name="late"))


@pytest.mark.parametrize("name, result", [("broken", "'failed': the service ended with 'exit-code'"),
                                          ("needy", "'dependency': a dependency failed"),
                                          ("slow", "'failed': the service ended with 'timeout'")])
def test_the_error_of_a_job_reports_unit_and_result(bus, name, result):
    expected = f"systemd: the job to start {name}.service ended with result {result}; {see(name)}"
    assert error_of(bus, "service.start", name) == expected
    assert one(bus.apply(service("running", name=name)))["error"] == expected


def test_no_block_does_not_wait_for_the_job(bus):
    # the start never ends: whoever waits for it is here for an hour
    result = one(bus.apply(service("running", "no_block: true", "timeout: 1s", name="never")))
    assert ctl(bus, "is-active", "never") == "activating", result
    assert call(bus, "service.stop", "never") == "stopped never"
    assert ctl(bus, "is-active", "never") in ("inactive", "failed")


def test_a_service_that_is_on_its_way_is_not_dead(bus):
    for name in ("never", "looping"):
        ctl(bus, "start", "--no-block", name)
        bus.sh(user_systemd.until(f'[ "$(/usr/bin/systemctl --user is-active {name})" = activating ]'))
        looked = one(bus.apply(service("dead", name=name), "--test"))
        assert looked["diff"] == f"{name} is starting or stopping and should be dead"
        bus.settles(service("dead", name=name))
        assert ctl(bus, "is-active", name) in ("inactive", "failed")


def test_a_service_that_dies_at_once_fails_the_state(bus):
    for _ in range(20):  # a machine that is busy may let it live for longer than anybody looks
        result = one(bus.apply(service("running", name="dying")))
        if result["failed"]:
            break
    assert result["error"] == "dying was started, but systemd says 'failed'"


def test_a_timeout_ends_the_wait_for_a_job(bus):
    result = one(bus.apply(service("running", "timeout: 2s", name="never")))
    assert result["error"] == "systemd did not start never.service within 2 seconds"


def test_a_unit_that_others_start_is_neither_switched_on_nor_off(bus):
    for kind in ("enabled", "disabled"):
        result = one(bus.apply(service(kind, name="dying")))
        assert not result["changed"] and not result["failed"], result
    assert ctl(bus, "is-enabled", "dying") == "static"


def test_a_unit_that_is_only_linked_is_not_enabled(bus):
    bus.path("/mnt/far.service").write_text(UNITS["web"])
    ctl(bus, "link", "/mnt/far.service")
    assert ctl(bus, "is-enabled", "far") == "linked"
    bus.settles(service("enabled", name="far"))
    assert ctl(bus, "is-enabled", "far") == "enabled"


def test_an_interrupt_ends_the_wait_for_a_job(bus):
    argv = ["nsenter", "-t", str(bus.process.pid), "-m", "--wd=/", str(PROGRAM), "--local", "--quiet", "--data-dir",
            str(bus.root / "data"), "service.start", "never"]
    with subprocess.Popen(argv, env=bus.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            bus.sh(user_systemd.until('[ "$(/usr/bin/systemctl --user is-active never)" = activating ]'))
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[0]
        finally:
            process.kill()
    assert process.returncode != 0 and "canceled while waiting for systemd to start never.service" in said, said


def test_states_of_a_level_talk_at_the_same_time(bus):
    names = [f"many{i}" for i in range(8)]
    for name in names:
        write_unit(bus, name, UNITS["web"])
    results = bus.settles("\n".join(service("running", "enable: true", name=name) for name in names))
    assert len(results) == len(names)
    assert ctl(bus, "is-active", *names).split() == ["active"] * len(names)


DBUS = {
    "dbus.socket": "[Socket]\nListenStream=%t/bus\n",
    "dbus.service": "[Unit]\nRequires=dbus.socket\n[Service]\nType=notify\nNotifyAccess=main\nExecStart=/usr/bin/dbus-daemon "
                    "--session --address=systemd: --nofork --nopidfile --systemd-activation\n",
}


def start_bus(machine, options="--session"):
    skip_without("dbus-daemon", "dbus-send")
    for name, text in DBUS.items():
        machine.path(f"/srv/data/systemd/user/{name}").write_text(text.replace("--session", options))
    machine.sh("/usr/bin/systemctl --user daemon-reload && /usr/bin/systemctl --user start dbus.service")
    machine.env["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/run/user/0/bus"
    machine.sh(user_systemd.until("dbus-send --bus=$DBUS_SYSTEM_BUS_ADDRESS --print-reply --dest=org.freedesktop.systemd1 / "
                                  "org.freedesktop.DBus.Peer.Ping"))


# A bus whose rules let everybody do everything, but this.
DENYING = """<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<deny send_destination="org.freedesktop.systemd1" send_interface="org.freedesktop.systemd1.Manager" send_member="{member}"/>
</policy></busconfig>
"""


@pytest.mark.parametrize("member, word", [("StartUnit", "start"), ("LoadUnit", "show"), ("EnableUnitFiles", "enable")])
def test_what_the_bus_denies_is_done_by_systemctl(machine, member, word):
    machine.path("/srv/bus.conf").write_text(DENYING.format(member=member))
    start_bus(machine, "--config-file=/srv/bus.conf")
    machine.settles(service("running", "enable: true"))
    assert ctl(machine, "is-active", "web") == "active" and ctl(machine, "is-enabled", "web") == "enabled"
    assert asked(machine)[0].startswith(word + " "), asked(machine)


def test_a_bus_that_leads_to_systemd_is_as_good_as_its_own_socket(machine):
    start_bus(machine)
    machine.settles(service("running", "enable: true"))
    assert ctl(machine, "is-active", "web") == "active"
    assert "ended with result 'failed'" in error_of(machine, "service.start", "broken")
    machine.settles(service("dead", "enable: false"))
    assert asked(machine) == []


def test_a_name_that_has_to_be_escaped_is_left_to_systemctl(machine):
    machine.sh(f"ln -s {user_systemd.SOCKET} /run/systemd/private")
    assert call(machine, "service.available", "a+b") is False
    assert asked(machine)[0].startswith("show ")
    assert call(machine, "service.available", "web") is True
    assert len(asked(machine)) == 1, "nothing else is"


def test_without_a_bus_systemctl_does_the_work(machine):
    machine.settles(service("running", "enable: true"))
    assert "start -- web" in asked(machine) and "enable -- web" in asked(machine)
    machine.settles(service("dead", "enable: false"))
    assert "stop -- web" in asked(machine) and "disable -- web" in asked(machine)


def test_without_the_library_systemctl_does_the_work(machine):
    libraries = glob.glob("/usr/lib/*/libsystemd.so.0")
    machine.sh(f"ln -s {user_systemd.SOCKET} /run/systemd/private; " +
               "".join(f"mount --bind /dev/null {os.path.realpath(library)}; " for library in libraries))
    machine.settles(service("running"))
    assert "start -- web" in asked(machine)


def test_the_library_is_not_loaded_by_runs_without_services():
    listed = subprocess.run(["ldd", str(PROGRAM)], text=True, capture_output=True, check=True).stdout
    assert "libc.so" in listed and "libsystemd" not in listed
