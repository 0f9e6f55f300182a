"""A fleet from an empty Debian with systemd as its first process to its end: packages, setup beside the nats-server of Debian, three
peels, published states, drift, another name, an upgrade while a job runs, the loss of all that the master had, and removal."""
import json
import re
import subprocess
import time

import pytest

from chroot import Chroot, shared_packages
from test_deb import EXPOSURE_MAX, NAMES, RELEASE, make, put, run

SECONDS = 60
BOOT_SECONDS = 30
DAEMONS = ("zester-nats", "zester-master", "zester-peel")
PEELS = ["box", "web-01", "web-02"]
# What a master keeps; the first peel lives on the same machine, and keeps its own.
MASTER_FILES = [*(f"/var/lib/zester/{name}" for name in ("auth", "nats", "states", "settings", "reactor", "orchestrations")),
                "/etc/zester/master.yaml", "/etc/zester/nats-server.conf"]
SITE = """app:
  archive.extracted:
    - name: /srv/{{ grains.id }}
    - source: zester://app.tgz
    - if_missing: /srv/{{ grains.id }}/program
default:
  file.absent:
    - name: /srv/{{ grains.id }}/default.conf
page:
  file.managed:
    - name: /srv/{{ grains.id }}/page
    - contents: {{ settings.text }}
"""

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
    assert modes(machine, "/var/lib/zester/states", "/var/lib/zester/settings") == ["zester 755", "zester 700"]
    again = machine.run("zester-master", "setup", "--host", "127.0.0.1")
    assert "Nothing to do" in again and "created" not in again


def ping(machine):
    return machine.run("zester", "*", "test.ping", check=False).stdout.count("true") == len(PEELS)


def publish(machine, text):
    """The text of the page, as a setting: what fileserver update says."""
    machine.path("/var/lib/zester/settings/all.zy").write_text(text)
    return machine.run("zester", "fileserver", "update", check=False)


def apply(machine, *words):
    """The states of the site on all peels: the status, which tells whether anything changed."""
    return machine.run("zester", "*", "state.apply", "site", "--detailed-exitcode", *words, check=False).returncode


def pages(machine):
    return [machine.path(f"/srv/{peel}/page").read_text() for peel in PEELS]


def test_three_peels_join(machine):
    machine.run("zester-peel", "join", "127.0.0.1", machine.token, "--id", PEELS[0])
    path, kill_mode, active = unit(machine, "zester-peel", "FragmentPath", "KillMode", "ActiveState")
    assert path.startswith(("/lib/", "/usr/lib/")) and (kill_mode, active) == ("process", "active")
    for number, peel in enumerate(PEELS[1:]):
        config = f"/etc/zester/{peel}.yaml"
        machine.run("zester-peel", "join", "127.0.0.1", machine.token, "--id", peel, "--config", config, "--auth-dir", f"/var/lib/{peel}/auth",
                    "--data-dir", f"/var/lib/{peel}", "--health-addr", f"127.0.0.1:{9093 + number}", "--supervisor", "none")
        log = f"append:/var/log/{peel}.log"
        machine.run("systemd-run", f"--unit={peel}", "--property=Restart=always", "--property=KillMode=process", f"--property=StandardOutput={log}",
                    f"--property=StandardError={log}", "zester-peel", "--config", config)
    until(lambda: ping(machine), "the peels answer")
    assert modes(machine, "/var/lib/zester/settings") == ["zester 700"]


def test_one_run_of_what_is_published_is_enough(machine):
    machine.sh("mkdir -p /tmp/app && cd /tmp/app && echo default > default.conf && echo program > program && "
               "tar -czf /var/lib/zester/states/app.tgz default.conf program")
    machine.path("/var/lib/zester/states/site.zy").write_text(SITE)
    machine.path("/var/lib/zester/settings/top.zy").write_text("base: {'*': [all]}\n")
    assert publish(machine, "text: one\n").returncode == 0
    assert apply(machine) == 2
    for peel in PEELS:
        assert sorted(path.name for path in machine.path(f"/srv/{peel}").iterdir()) == ["page", "program"]
    assert pages(machine) == ["one\n"] * 3
    assert apply(machine) == 0, "a second run changes nothing"
    assert modes(machine, "/var/lib/zester/settings") == ["zester 700"]


def test_a_settings_file_with_a_mistake_is_refused_at_its_place_and_the_revision_stays(machine):
    def revision():
        return json.loads(machine.run("zester", "fileserver", "history", "settings", "--format", "json"))[0]["revision"]

    before = revision()
    refused = publish(machine, "text: two\nmore: [1\n")
    assert refused.returncode == 1 and re.search(r"all\.zy:\d+:\d+: ", refused.stdout + refused.stderr), refused.stdout + refused.stderr
    assert revision() == before and apply(machine) == 0 and pages(machine) == ["one\n"] * 3
    assert publish(machine, "text: one\n").returncode == 0


def test_a_dry_run_finds_what_was_changed_by_hand_and_the_list_of_peels_shows_it(machine):
    machine.path("/srv/web-01/page").write_text("by hand\n")
    assert apply(machine, "--test") == 2

    def drift():
        return {row["peel_id"]: row["drift"] for row in json.loads(machine.run("zester", "peel", "list", "--format", "json"))}

    until(lambda: drift() == {"box": "none", "web-01": "drifted", "web-02": "none"}, "the list shows it")
    assert re.search(r"^web-01 .*1 differs: file\.managed:\S*page$", machine.run("zester", "peel", "list"), re.M)
    assert pages(machine) == ["one\n", "by hand\n", "one\n"], "a dry run changes nothing"


def test_a_revert_takes_back_the_last_run_only(machine):
    assert publish(machine, "text: two\n").returncode == 0
    assert apply(machine) == 2 and pages(machine) == ["two\n"] * 3
    machine.run("zester", "*", "state.revert", "site", "yes=True")
    assert pages(machine) == ["one\n", "by hand\n", "one\n"]
    assert all(machine.path(f"/srv/{peel}/program").exists() for peel in PEELS)


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
    jid = machine.run("zester", "box", "cmd.run", "touch /srv/begun; while ! test -e /srv/go; do sleep 0.1; done; echo done > /srv/done", "--async",
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


def owners(machine):
    """Who may do what with each file of the master, but for the store of the server, which names its files itself."""
    lines = machine.run("find", "/var/lib/zester", "/etc/zester", *MASTER_FILES, "-maxdepth", "1", "-printf", "%p %u:%g %m\\n").splitlines()
    return {line for line in lines if line.startswith((*MASTER_FILES, "/etc/zester ", "/var/lib/zester ")) and "/nats/" not in line}


def lose_disks(machine):
    """A new machine has the packages, and nothing that setup has made."""
    machine.run("systemctl", "kill", "--signal=KILL", *DAEMONS[:2])
    machine.run("systemctl", "disable", "--now", *DAEMONS[:2])
    machine.run("rm", "-r", *MASTER_FILES, *(f"/etc/systemd/system/{name}.service.d" for name in DAEMONS[:2]))
    machine.sh("chown root:root /var/lib/zester; chmod 755 /var/lib/zester; systemctl daemon-reload")
    machine.run("systemctl", "enable", "--now", "nats-server")


def test_after_the_loss_of_all_that_the_master_had_its_backup_brings_the_fleet_back(machine):
    def rows(*words):
        return json.loads(machine.run("zester", *words, "--format", "json"))

    machine.sh("umask 077; mkdir /backup; head -c 32 /dev/urandom > /root/backup.key")
    machine.run("zester-master", "backup", "/backup/fleet.zb", "--key-file", "/root/backup.key")
    enrolled, jobs, before = rows("enroll", "list", "-s", "all"), {row["jid"] for row in rows("job", "list")}, owners(machine)
    logged = [machine.path(f"/var/log/{peel}.log").read_text().count("enrollment submitted") for peel in PEELS[1:]]
    lose_disks(machine)
    until(lambda: re.search(r":107E \S+ 0A", machine.run("cat", "/proc/net/tcp", "/proc/net/tcp6")), "the server of Debian has the port")
    restore = "umask 077; zester-master restore /backup/fleet.zb --key-file /root/backup.key"
    refused = machine.sh(restore, check=False)
    assert refused.returncode == 1 and re.search(r"port 4222 of nats-server is in use by nats-server \(process \d+, unit nats-server\.service\): "
                                                 "stop it with 'systemctl disable --now nats-server.service', and run this again", refused.stderr)
    machine.run("systemctl", "disable", "--now", "nats-server.service")
    machine.run("systemctl", "reset-failed", "nats-server.service")
    said = machine.sh(restore)
    assert "THE FLEET NOW HAS ITS STATE OF" in said and "zester-master setup" in said
    machine.run("zester-master", "setup")
    assert [unit(machine, name, "User", "ActiveState") for name in DAEMONS[:2]] == [["zester", "active"]] * 2
    until(lambda: ping(machine), "the peels answer the restored master")
    assert owners(machine) == before
    assert machine.run("find", "/var/lib/zester/nats", "!", "-user", "zester") == ""
    assert rows("enroll", "list", "-s", "all") == enrolled
    assert [machine.path(f"/var/log/{peel}.log").read_text().count("enrollment submitted") for peel in PEELS[1:]] == logged
    assert jobs <= {row["jid"] for row in rows("job", "list")}
    assert publish(machine, "text: three\n").returncode == 0
    assert apply(machine) == 2 and pages(machine) == ["three\n"] * 3
    machine.run("zester", "doctor")
    assert "Nothing to do" in machine.run("zester-master", "setup")


def test_keys_that_root_makes_belong_to_the_user_of_the_master(machine):
    machine.run("zester", "nats-auth", "rotate", "--spread", "1s")
    assert modes(machine, "/var/lib/zester/auth/account-signing.seed") == ["zester 600"]
    until(lambda: ping(machine), "the peels go on")


def test_packages_can_be_removed_and_keys_stay(machine):
    machine.run("dpkg", "-r", *reversed(NAMES))
    assert machine.run("systemctl", "--failed", "--no-legend").strip() == ""
    assert not machine.path("/etc/systemd/system/multi-user.target.wants/zester-peel.service").is_symlink()
    assert machine.path("/var/lib/zester/auth/account.seed").exists()
