"""Installing on a Debian of its own with systemd as its first process: packages, setup beside the nats-server of Debian, a machine
that joins, work, another name, and an upgrade while a job runs."""
import re
import subprocess
import time

import pytest

from chroot import Chroot, shared_packages
from test_deb import EXPOSURE_MAX, NAMES, RELEASE, make, put, run

SECONDS = 60
BOOT_SECONDS = 30
DAEMONS = ("zester-nats", "zester-master", "zester-peel")

pytestmark = pytest.mark.skipif(not RELEASE.exists(), reason="no release build")


@pytest.fixture(scope="module")
def version():
    return run("make", "-s", "version").stdout.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("install")


@pytest.fixture(scope="module")
def packages(tmp_path_factory, version):
    return make(tmp_path_factory.mktemp("deb"), version)


def until(what, words):
    """What `what()` returns, once that is something."""
    deadline = time.monotonic() + SECONDS
    while not (found := what()):
        if time.monotonic() > deadline:
            pytest.fail(f"not in {SECONDS} s: {words}")
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def machine(folder):
    machine = Chroot(folder, include=[*shared_packages(), "dbus", "systemd", "systemd-sysv"], name="box", program=None, systemd=True)
    try:
        deadline = time.monotonic() + BOOT_SECONDS
        while (state := machine.run("systemctl", "is-system-running", check=False).stdout.strip()) not in ("running", "degraded"):
            if time.monotonic() > deadline or machine.process.poll() is not None:
                pytest.skip(f"systemd cannot be the first process here: {state or 'it ended'}")
            time.sleep(0.1)
        yield machine
    finally:
        machine.leave()


def unit(machine, name, *properties):
    text = machine.run("systemctl", "show", f"{name}.service", *(f"--property={key}" for key in properties))
    values = dict(line.split("=", 1) for line in text.splitlines())
    return [values[key] for key in properties]


def modes(machine, *paths):
    return machine.run("stat", "--format=%U %a", *paths).splitlines()


def test_packages_make_users_groups_and_folders_and_everybody_may_use_zester_locally(machine, packages):
    put(machine, packages)
    assert machine.run("getent", "passwd", "zester").split(":")[5:] == ["/var/lib/zester", "/usr/sbin/nologin\n"]
    assert machine.run("getent", "group", "kepler").startswith("kepler:")
    assert modes(machine, "/etc/zester") == ["root 755"]
    assert "true" in machine.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/tmp", "zester", "--local", "test.ping")
    assert machine.run("zester", "no-such-command", check=False).returncode == 1
    assert machine.run("which", "zester-fleet", check=False).returncode == 1, "a helper is not in PATH"


def test_setup_names_the_server_that_has_the_port_and_makes_nothing(machine):
    assert unit(machine, "nats-server", "ActiveState") == ["active"]
    result = machine.run("zester-master", "setup", "--host", "127.0.0.1", check=False)
    assert result.returncode == 1
    assert re.search(r"0\.0\.0\.0:4222.*in use by nats-server \(process \d+, unit nats-server\.service\); choose another with --port or "
                     r"--nats-host, or stop and disable that unit with --take-over-nats", result.stderr), result.stderr
    assert not machine.path("/var/lib/zester/auth").exists() and not machine.path("/etc/zester/master.yaml").exists()
    assert unit(machine, "nats-server", "ActiveState") == ["active"]


def test_setup_takes_the_port_over_and_uses_the_packaged_units(machine):
    said = machine.run("zester-master", "setup", "--host", "127.0.0.1", "--take-over-nats")
    assert "stopped and disabled nats-server.service\n" in said and "No unit" not in said
    assert unit(machine, "nats-server", "ActiveState", "UnitFileState") == ["inactive", "disabled"]
    machine.token = said.split()[-1]
    for name in DAEMONS[:2]:
        path, dropins, user, active = unit(machine, name, "FragmentPath", "DropInPaths", "User", "ActiveState")
        assert path.startswith(("/lib/", "/usr/lib/")) and dropins == f"/etc/systemd/system/{name}.service.d/10-setup.conf"
        assert (user, active) == ("zester", "active")
        security = machine.run("systemd-analyze", "security", f"{name}.service", check=False).stdout
        exposure = re.search(r"exposure level for \S+: ([\d.]+)", security)
        assert exposure and float(exposure[1]) <= EXPOSURE_MAX["zester-master.service"], security[-500:]
    keys = machine.path("/var/lib/zester/auth")
    assert modes(machine, "/var/lib/zester", "/var/lib/zester/auth") == ["root 750", "zester 700"]
    assert set(modes(machine, *(f"/var/lib/zester/auth/{path.name}" for path in keys.iterdir() if path.suffix in (".seed", ".creds", ".key")))) == {"zester 600"}
    assert unit(machine, "zester-master", "Type", "WatchdogUSec") == ["notify", "2min"]
    again = machine.run("zester-master", "setup", "--host", "127.0.0.1")
    assert "Nothing to do" in again and "created" not in again


def ping(machine):
    return "true" in machine.run("zester", "*", "test.ping", check=False).stdout


def test_a_machine_joins_and_applies_what_is_published(machine):
    machine.run("zester-peel", "join", "127.0.0.1", machine.token)
    path, kill_mode, active = unit(machine, "zester-peel", "FragmentPath", "KillMode", "ActiveState")
    assert path.startswith(("/lib/", "/usr/lib/")) and (kill_mode, active) == ("process", "active")
    until(lambda: ping(machine), "the peel answers")
    machine.path("/var/lib/zester/states/hello.zy").write_text("hello:\n  file.managed:\n    - name: /srv/hello\n    - contents: hello\n")
    until(lambda: machine.run("zester", "*", "state.apply", "hello", check=False).returncode == 0, "the published state is applied")
    assert machine.path("/srv/hello").read_text() == "hello\n"


def test_another_name_follows_everywhere_and_the_peel_goes_on(machine):
    result = machine.run("zester-master", "setup", "--host", "m2.example", check=False)
    assert result.returncode == 1 and "setup --change --host m2.example" in result.stderr
    said = machine.run("zester-master", "setup", "--change", "--host", "m2.example")
    assert re.search(r"^  zester-peel join m2\.example zt1\.", said, re.M), said
    conf = machine.path("/etc/zester/master.yaml").read_text()
    assert '  enroll_sans: ["m2.example", "127.0.0.1"]\n' in conf and 'nats_advertise_urls: ["tls://m2.example:4222"]\n' in conf
    assert "m2.example" in names_of(machine.path("/var/lib/zester/auth/nats-server.crt").read_text())
    served = subprocess.run(["nsenter", "-t", machine.pid, "--net", "openssl", "s_client", "-connect", "127.0.0.1:8443"], text=True, check=False,
                            capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS).stdout
    assert "m2.example" in names_of(served) and "127.0.0.1" in names_of(served)
    until(lambda: ping(machine), "the peel goes on")


def test_keys_that_root_makes_belong_to_the_user_of_the_master(machine):
    machine.run("zester", "nats-auth", "rotate", "--spread", "1s")
    assert modes(machine, "/var/lib/zester/auth/account-signing.seed") == ["zester 600"]
    until(lambda: ping(machine), "the peel goes on with the new key")


def test_an_override_of_the_administrator_wins_over_the_drop_in_of_setup(machine):
    folder = machine.path("/etc/systemd/system/zester-master.service.d")
    (folder / "override.conf").write_text("[Service]\nUser=root\n")
    machine.run("systemctl", "daemon-reload")
    assert unit(machine, "zester-master", "User") == ["root"]
    (folder / "override.conf").unlink()
    machine.run("systemctl", "daemon-reload")
    assert unit(machine, "zester-master", "User") == ["zester"]


def names_of(certificate):
    return subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=certificate, text=True, capture_output=True, check=True).stdout


def test_an_upgrade_leaves_running_jobs_alone_and_starts_the_new_programs(machine, folder, version):
    newer = make(folder, f"{version}+1")
    before = {name: unit(machine, name, "MainPID")[0] for name in DAEMONS}
    jid = machine.run("zester", "*", "cmd.run", "touch /srv/begun; while ! test -e /srv/go; do sleep 0.1; done; echo done > /srv/done", "--async",
                      "--format", "json")
    until(lambda: machine.path("/srv/begun").exists(), "the job runs")
    put(machine, newer)
    assert machine.run("dpkg-query", "-W", "-f=${Version} ", *NAMES).split() == [f"{version}+1"] * len(NAMES)
    assert unit(machine, "zester-peel", "MainPID") == [before["zester-peel"]], "the agent waits for its job"
    assert unit(machine, "zester-nats", "MainPID") == [before["zester-nats"]]
    assert unit(machine, "zester-master", "MainPID") != [before["zester-master"]]
    machine.path("/srv/go").write_text("")
    until(lambda: machine.path("/srv/done").exists(), "the job goes on to its end")
    until(lambda: unit(machine, "zester-peel", "MainPID", "ActiveState") not in ([before["zester-peel"], "active"],) and
          unit(machine, "zester-peel", "ActiveState") == ["active"], "the new agent runs")
    jid = re.search(r"[0-9A-Za-z_-]{10,}", jid.partition(":")[2])[0]
    until(lambda: '"status": "success"' in machine.run("zester", "job", "show", jid, "--format", "json", check=False).stdout.replace('":"', '": "'),
          "the job is answered")
    until(lambda: ping(machine), "the new agent answers")


def test_packages_can_be_removed_and_keys_stay(machine):
    machine.run("dpkg", "-r", *reversed(NAMES))
    assert machine.run("systemctl", "--failed", "--no-legend").strip() == ""
    assert not machine.path("/etc/systemd/system/multi-user.target.wants/zester-peel.service").is_symlink()
    assert machine.path("/var/lib/zester/auth/account.seed").exists()
