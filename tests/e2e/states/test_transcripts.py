"""Providers of tools that are not on every machine, by transcripts of the real tools: see transcripts.py.

With tools/record-transcripts the same tests run the real tools, so what is asserted here held there."""
import os

import pytest

import transcripts
import user_systemd
from machine import skip_without

APP = "pkg.installed:app"
REPO = "zt: {pkgrepo.managed: [{baseurl: %s, gpgcheck: false}]}"
LONG = "zt-a-name-that-is-so-long-that-no-column-of-a-table-has-room-for-all-of-it"


@pytest.fixture
def machine(request, tmp_path):
    """A machine with the tool that the name of the test begins with."""
    tool, name = request.node.name.removeprefix("test_").split("_", 1)
    tool = request.node.callspec.params.get("tool", tool) if hasattr(request.node, "callspec") else tool
    name = name.split("[")[0]
    if os.geteuid() != 0:
        pytest.skip("a private mount namespace needs root")
    skip_without("unshare", "nsenter")
    made = transcripts.tool_machine(tmp_path, tool, name)
    yield made
    try:
        made.end()
    finally:
        made.leave()


def app(*lines, name="zt-app", kind="pkg.installed"):
    return f"app:\n  {kind}:\n    - name: {name}\n" + "".join(f"    - {line}\n" for line in lines)


def one(results):
    assert len(results) == 1, results
    return next(iter(results.values()))


def call(machine, *words):
    """What a function answers."""
    return machine.zester(*words)[0][0]["results"][0]["details"]["result"]


def versions(machine):
    """The packages of the test that zester knows of."""
    return {name: version for name, version in call(machine, "pkg.list_pkgs").items() if name.startswith("zt-")}


# --- dnf and zypper: packages of rpm ----------------------------------------------------------------------------------------

RPM = pytest.mark.parametrize("tool", ["dnf", "zypper"])


def with_repository(machine):
    result = machine.apply(REPO % "file:///srv/zt")["pkgrepo.managed:zt"]
    assert result["changed"] and not result["failed"], result
    return machine


@RPM
def test_rpm_installs_upgrades_downgrades_and_reverts(machine, tool):
    with_repository(machine)
    assert not machine.apply(REPO % "file:///srv/zt")["pkgrepo.managed:zt"]["changed"]
    result = machine.settles(app("version: 1.0-1.el9"))[APP]
    assert result["diff"] == f"installed zt-app via {tool}"
    assert result["details"]["changes"] == {"zt-app": "(none) -> 1.0-1.el9", "zt-base": "(none) -> 1.0-1"}
    # a version without its release will do, and a newer one is found by a condition
    assert not machine.apply(app("version: '1.0'"))[APP]["changed"]
    assert one(machine.settles(app("version: '>=1.1,<2'")))["details"]["changes"] == {"zt-app": "1.0-1.el9 -> 1.2-1.el9"}
    assert one(machine.settles(app("version: '1.0'")))["details"]["changes"] == {"zt-app": "1.2-1.el9 -> 1.0-1.el9"}
    assert one(machine.settles(app(kind="pkg.latest")))["details"]["changes"] == {"zt-app": "1.0-1.el9 -> 2.0-1.el9"}
    assert versions(machine) == {"zt-app": "2.0-1.el9", "zt-base": "1.0-1"}
    for result in machine.revert().values():
        assert not result["failed"], result
    assert versions(machine) == {}


@RPM
def test_rpm_holds_what_is_held(machine, tool):
    with_repository(machine)
    machine.apply(app("version: '1.2'"))
    machine.settles(app(kind="pkg.held"))
    # the newest version is not for those that are held, unless they say so
    result = one(machine.apply(app(kind="pkg.latest")))
    assert not result["changed"], result
    result = one(machine.apply(app("version: '2.0'", "update_holds: true")))
    assert not result["failed"] and result["details"]["changes"]["zt-app"] == "1.2-1.el9 -> 2.0-1.el9", (tool, result)
    assert not one(machine.apply(app(kind="pkg.held")))["changed"]
    machine.settles(app(kind="pkg.unheld"))


@RPM
def test_rpm_takes_all_packages_of_a_level_in_one_run_and_looks_once(machine, tool):
    with_repository(machine)
    before = len(machine.calls())
    names = ["zt-app", "zt-epoch", "zt-rec", LONG]
    text = "".join(f"{name}:\n  pkg.installed: []\n" for name in names)
    results = machine.apply(text)
    assert all(result["changed"] and not result["failed"] for result in results.values()), results
    assert len(machine.calls()) == before + 1, machine.calls()[before:]
    assert all(name in machine.calls()[-1] for name in names)
    looks = machine.count("-qa")
    results = machine.apply(text)
    assert not any(result["changed"] for result in results.values())
    assert machine.count("-qa") == looks + 1, "one look at the database for all states"
    assert call(machine, "pkg.version", "zt-epoch") == "1:1.5-3.el9", tool


@RPM
def test_rpm_says_what_cannot_be_had_and_installs_the_rest(machine, tool):
    with_repository(machine)
    results = machine.apply("zt-nowhere:\n  pkg.installed: []\nzt-base:\n  pkg.installed: []\n")
    assert "zt-nowhere" in results["pkg.installed:zt-nowhere"]["error"], tool
    assert results["pkg.installed:zt-base"]["changed"] and not results["pkg.installed:zt-base"]["failed"]
    result = one(machine.apply(app("version: '9.9'")))
    assert result["failed"] and "9.9" in result["error"], result
    result = one(machine.apply(app("version: '>=9'")))
    assert "no version of 'zt-app' satisfies '>=9'" in result["error"], result


@RPM
def test_rpm_removes_with_what_depends_and_brings_it_back(machine, tool):
    with_repository(machine)
    machine.apply(app("version: '1.2'"))
    result = one(machine.settles(app(name="zt-base", kind="pkg.removed")))
    assert set(result["details"]["changes"]) == {"zt-base", "zt-app"}, tool
    assert versions(machine) == {}
    machine.settles(app())
    machine.settles(app(kind="pkg.purged"))
    assert versions(machine) == {"zt-base": "1.0-1"} or versions(machine) == {}


@RPM
def test_rpm_knows_files_repositories_and_recommendations(machine, tool):
    with_repository(machine)
    machine.sh(f"mkdir {machine.states}/files; cp /srv/late/zt-late-1.0-1.rpm {machine.states}/files/ || : > "
               f"{machine.states}/files/zt-late-1.0-1.rpm")
    machine.settles("f:\n  pkg.installed:\n    - skip_verify: true\n    - sources:\n"
                    "      - zt-late: salt://files/zt-late-1.0-1.rpm\n")
    machine.settles(app("install_recommends: false", "fromrepo: zt", name="zt-rec"))
    assert set(versions(machine)) == {"zt-late", "zt-rec"}, tool
    assert call(machine, "pkg.latest_version", "zt-base") == "1.0-1"
    call(machine, "pkg.install", LONG)
    call(machine, "pkg.remove", LONG)
    assert set(versions(machine)) == {"zt-late", "zt-rec"}, tool
    call(machine, "pkg.refresh_db")
    result = machine.apply("zt: {pkgrepo.absent: []}")["pkgrepo.absent:zt"]
    assert result["changed"] and not result["failed"], result


# --- pacman -----------------------------------------------------------------------------------------------------------------

def with_pacman_repository(machine):
    result = machine.apply(REPO % "file:///srv/zt")["pkgrepo.managed:zt"]
    assert result["changed"] and not result["failed"], result


def old_app(machine):
    """Install the older version, from its file."""
    machine.sh(f"mkdir {machine.states}/files; cp /srv/old/zt-app-1.0-1-any.pkg.tar.gz {machine.states}/files/ || : > "
               f"{machine.states}/files/zt-app-1.0-1-any.pkg.tar.gz")
    return machine.settles("app:\n  pkg.installed:\n    - sources:\n"
                           "      - zt-app: salt://files/zt-app-1.0-1-any.pkg.tar.gz\n")[APP]


def test_pacman_installs_upgrades_and_reverts(machine):
    with_pacman_repository(machine)
    result = old_app(machine)
    assert result["details"]["changes"] == {"zt-app": "(none) -> 1.0-1", "zt-base": "(none) -> 1:1.0-1"}
    assert call(machine, "pkg.latest_version", "zt-app") == "2.0-1"
    assert not one(machine.apply(app()))["changed"]
    assert one(machine.settles(app("version: '>=2'")))["details"]["changes"] == {"zt-app": "1.0-1 -> 2.0-1"}
    assert versions(machine) == {"zt-app": "2.0-1", "zt-base": "1:1.0-1"}


def test_pacman_brings_what_is_newest(machine):
    with_pacman_repository(machine)
    old_app(machine)
    assert one(machine.settles(app(kind="pkg.latest")))["details"]["changes"] == {"zt-app": "1.0-1 -> 2.0-1"}


def test_pacman_takes_all_packages_of_a_level_in_one_run_and_looks_without_a_process(machine):
    with_pacman_repository(machine)
    before = len(machine.calls())
    text = "".join(f"{name}:\n  pkg.installed: []\n" for name in ("zt-app", "zt-base", "zt-other"))
    results = machine.apply(text)
    assert all(result["changed"] and not result["failed"] for result in results.values()), results
    assert len(machine.calls()) == before + 1, machine.calls()[before:]
    runs = machine.count("pacman")
    assert not any(result["changed"] for result in machine.apply(text).values())
    assert machine.count("pacman") == runs
    for result in machine.revert().values():
        assert not result["failed"], result
    assert versions(machine) == {}


def test_pacman_says_what_cannot_be_had_or_done(machine):
    with_pacman_repository(machine)
    results = machine.apply("zt-nowhere:\n  pkg.installed: []\nzt-base:\n  pkg.installed: []\n")
    assert "zt-nowhere" in results["pkg.installed:zt-nowhere"]["error"]
    assert results["pkg.installed:zt-base"]["changed"] and not results["pkg.installed:zt-base"]["failed"]
    assert "pacman cannot install a chosen version" in one(machine.apply(app("version: '1.0-1'")))["error"]
    assert "pacman cannot hold packages" in one(machine.apply(app(name="zt-base", kind="pkg.held")))["error"]


def test_pacman_removes_and_refuses_what_others_need(machine):
    with_pacman_repository(machine)
    machine.settles(app())
    result = one(machine.apply(app(name="zt-base", kind="pkg.removed")))
    assert "zt-app" in result["error"], result
    machine.settles(app(kind="pkg.removed"))
    machine.settles(app(kind="pkg.purged", name="zt-base"))
    assert versions(machine) == {}
    result = machine.apply("zt: {pkgrepo.absent: [{refresh: false}]}")["pkgrepo.absent:zt"]
    assert result["changed"] and not result["failed"], result


# --- OpenRC -----------------------------------------------------------------------------------------------------------------

def boot_openrc(machine):
    """The runlevel that a booted machine is in."""
    if transcripts.RECORDING:
        for name in ("starting started stopping inactive wasinactive failed hotplugged daemons options exclusive scheduled "
                     "tmp").split():
            machine.sh(f"mkdir -p /run/openrc/{name}")
        machine.sh("echo default > /run/openrc/softlevel")


def service(kind, *more, name="web", provider="openrc"):
    return f"{name}: {{service.{kind}: [{{{', '.join([f'provider: {provider}', *more])}}}]}}"


def test_openrc_starts_enables_and_gives_back(machine):
    boot_openrc(machine)
    result = one(machine.settles(service("running", "enable: true")))
    assert result["details"] == {"service": "web", "action": "enabled, started", "manager": "openrc"}
    assert call(machine, "service.status", "web", "provider=openrc") == "running"
    machine.settles(service("dead", "enable: false"))
    assert call(machine, "service.status", "web", "provider=openrc") == "stopped"
    for result in machine.revert().values():
        assert not result["failed"], result


def test_openrc_restarts_and_reloads_what_is_watched(machine):
    boot_openrc(machine)
    text = ("conf: {file.managed: [{name: %s/conf, contents: '%s'}]}\n"
            "web: {service.running: [{provider: openrc, reload: %s, watch: [{file: conf}]}]}\n")
    machine.apply(text % (machine.root, 1, "false"))
    result = machine.apply(text % (machine.root, 2, "false"))["service.running:web"]
    assert result["details"]["action"] == "restarted", result
    result = machine.apply(text % (machine.root, 3, "true"))["service.running:web"]
    assert result["details"]["action"] == "reloaded", result
    machine.apply(service("dead"))


def test_openrc_says_what_fails_and_what_it_cannot_do(machine):
    boot_openrc(machine)
    result = one(machine.apply(service("running", name="broken")))
    assert "no port left" in result["error"], result
    assert one(machine.apply(service("running", name="nope")))["error"] == "openrc has no service 'nope'"
    assert not one(machine.apply(service("dead", name="nope")))["failed"]
    assert "OpenRC cannot mask" in one(machine.apply(service("masked")))["error"]


# --- systemd ----------------------------------------------------------------------------------------------------------------

@pytest.fixture
def systemd(machine):
    """The recording needs a manager. No bus leads to any, so systemctl is used."""
    machine.env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={machine.root}/no-bus"
    if not transcripts.RECORDING:
        machine.sh("! [ -d /run/systemd ] || mount -t tmpfs tmpfs /run/systemd")
        yield machine
        return
    with user_systemd.manager(machine):
        yield machine


def test_systemd_starts_enables_and_gives_back(systemd):
    result = one(systemd.settles(service("running", "enable: true", provider="systemd")))
    assert result["details"] == {"service": "web", "action": "enabled, started", "manager": "systemd"}
    assert call(systemd, "service.status", "web", "provider=systemd") == "running"
    systemd.settles(service("dead", "enable: false", provider="systemd"))
    assert call(systemd, "service.status", "web", "provider=systemd") == "stopped"
    for result in systemd.revert().values():
        assert not result["failed"], result


def test_systemd_restarts_reloads_and_reads_changed_units_again(systemd):
    text = ("conf: {file.managed: [{name: %s/conf, contents: '%s'}]}\n"
            "web: {service.running: [{provider: systemd, reload: %s, watch: [{file: conf}]}]}\n")
    systemd.apply(text % (systemd.root, 1, "false"))
    result = systemd.apply(text % (systemd.root, 2, "false"))["service.running:web"]
    assert result["details"]["action"] == "restarted", result
    result = systemd.apply(text % (systemd.root, 3, "true"))["service.running:web"]
    assert result["details"]["action"] == "reloaded", result
    if transcripts.RECORDING:
        systemd.sh("echo '# changed' >> /srv/data/systemd/user/web.service")
    systemd.apply(text % (systemd.root, 4, "false"))
    assert any("daemon-reload" in line for line in systemd.calls())
    systemd.apply(service("dead", "no_block: true", provider="systemd"))
    assert "systemctl stop --no-block -- web" in systemd.calls()


def test_systemd_masks_and_unmasks(systemd):
    systemd.settles(service("masked", provider="systemd"))
    result = one(systemd.apply(service("running", provider="systemd")))
    assert "masked" in result["error"], result
    systemd.settles(service("running", "unmask: true", provider="systemd"))
    systemd.settles(service("dead", provider="systemd"))
    systemd.settles(service("masked", "runtime: true", provider="systemd"))
    systemd.settles(service("unmasked", "runtime: true", provider="systemd"))
    result = one(systemd.apply(service("masked", "runtime: true", name="own", provider="systemd")))
    assert "own was masked, but systemd does not report it as masked" in result["error"]


def test_systemd_learns_of_a_unit_that_is_new(systemd):
    assert one(systemd.apply(service("running", name="late", provider="systemd"), "--test"))["changed"]
    if transcripts.RECORDING:
        systemd.sh("cp /srv/data/systemd/user/web.service /srv/data/systemd/user/late.service")
    systemd.settles(service("running", name="late", provider="systemd"))
    systemd.settles(service("dead", name="late", provider="systemd"))


def test_systemd_says_what_fails(systemd):
    result = one(systemd.apply(service("running", name="broken", provider="systemd")))
    assert "broken" in result["error"], result
    result = one(systemd.apply(service("running", name="nope", provider="systemd")))
    assert "Unit nope.service not found" in result["error"], result
    assert not one(systemd.apply(service("dead", name="nope", provider="systemd")))["failed"]
