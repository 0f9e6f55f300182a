"""The formulas of examples/salt, as people write them for Salt, on a Debian of its own: they converge, stay
converged, follow a change of the pillar, and are taken back until nothing is left of them.

The journey is made once, by a fixture that writes down what it saw; each test looks at one side of it."""
import io
import pathlib
import shutil
import subprocess
import tarfile
import types

import pytest

from chroot import PROGRAM, Chroot, shared_packages
from repository import Repository

HERE = pathlib.Path(__file__).resolve().parents[1]
EXAMPLE = HERE.parents[1] / "examples/salt"

SITE = """
apt:
  repos:
    vendor:
      url: file:/srv/repo
      dist: ./
      comps: []
      options: trusted=yes
packages:
  wanted:
    - handy-tools
    - handy-editor: '>=1.5,<2'
    - tiny-editor
  unwanted: [legacy-daemon]
  held: [handy-editor]
  alternatives:
    toy-editor: /usr/bin/tiny-editor
nginx:
  version: '1.2'
  lookup:
    package: webd
    service: webd
    conf_dir: /etc/webd
    pid: /run/webd.pid
    log_dir: /var/log/webd
    check_cmd: webd -t -c
"""

# What stays after a revert, and why.
LEFTOVERS = {
    "/var/lib/zester": "our own journal of what was done and taken back",
    "/var/log/apt": "logs of apt",
    "/var/log/dpkg.log": "log of dpkg",
    "/var/log/alternatives.log": "log of update-alternatives",
    "/var/log/lastlog": "useradd and userdel write to it",
    "/var/log/faillog": "useradd and userdel write to it",
    "/var/cache/apt": "caches of apt",
    "/var/lib/apt": "lists of the repository, and of what was installed by itself",
    "/var/lib/dpkg/lock": "locks stay as files",
    "/var/lib/dpkg/lock-frontend": "locks stay as files",
    "/var/lib/dpkg/triggers/Lock": "locks stay as files",
    "/var/lib/dpkg/status-old": "the backup of dpkg",
    "/var/lib/dpkg/available": "made by the first use of dpkg",
    "/var/cache/debconf": "caches of debconf",
    "/etc/passwd-": "backups of the account files",
    "/etc/group-": "backups of the account files",
    "/etc/shadow-": "backups of the account files",
    "/etc/gshadow-": "backups of the account files",
    "/etc/subuid-": "backups of the account files",
    "/etc/subgid-": "backups of the account files",
    "/etc/.pwd.lock": "locks stay as files",
    "/var/lib/dpkg/status": "compared by itself",
    "/opt/shop": "the command shop_seed wrote into it, and commands are not undone",
    "/var/log/shop": "the command shop_drain wrote into it",
}


def is_leftover(path):
    return any(path == left or path.startswith(left + "/") for left in LEFTOVERS)


def editor(repository, name, version):
    script = "#!/bin/sh\nset -e\n[ \"$1\" = {when} ] && update-alternatives --{what} || true\n"
    repository.add(name, version, files={f"/usr/bin/{name}": ("#!/bin/sh\nexit 0\n", 0o755)}, scripts={
        "postinst": script.format(when="configure",
                                  what=f"install /usr/bin/toy-editor toy-editor /usr/bin/{name} {len(name)}"),
        "prerm": script.format(when="remove", what=f"remove toy-editor /usr/bin/{name}")})


def fill(repository):
    """The packages of the site."""
    parts = HERE / "webd"
    for version in ("1.2", "1.3"):
        repository.add("webd", version, depends="webd-common", conffiles=["/etc/webd/nginx.conf", "/etc/init.d/webd"],
                       folders=["/etc/webd/sites-enabled"],
                       files={"/usr/sbin/webd": ((parts / "webd").read_text(), 0o755),
                              "/etc/init.d/webd": ((parts / "init").read_text(), 0o755),
                              "/etc/webd/nginx.conf": ((parts / "nginx.conf").read_text(), 0o644),
                              "/etc/webd/sites-available/default": ((parts / "default").read_text(), 0o644)},
                       scripts={name: (parts / name).read_text() for name in ("postinst", "prerm", "postrm")})
    repository.add("webd-common", "1.0", files={"/usr/share/webd/index.html": ("it works\n", 0o644)})
    repository.add("handy-tools", "3.1", files={"/usr/bin/handy": ("#!/bin/sh\necho handy\n", 0o755)})
    for version in ("1.4", "1.6", "2.0"):
        editor(repository, "handy-editor", version)
    editor(repository, "tiny-editor", "1.0")


def release(path, version):
    """An archive of the shop."""
    files = {"bin/shop": (f"#!/bin/sh\necho shop {version} $1 schema=$SHOP_SCHEMA\n", 0o755),
             "bin/worker": ("trap 'kill $child; wait; exit' TERM\nwhile :; do sleep 100 & child=$!; wait; done\n", 0o755),
             "public/index.html": (f"<h1>shop {version}</h1>\n", 0o644)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, (text, mode) in files.items():
            entry = tarfile.TarInfo(f"shop-{version}/{name}")
            entry.size, entry.mode = len(text), mode
            archive.addfile(entry, io.BytesIO(text.encode()))


def ask(machine, host, path="/"):
    """What the web server answers, with its headers; an empty text when there is none."""
    script = ("my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1:8080') or exit 0;"
              f"print $s \"GET {path} HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n\"; print while <$s>")
    return machine.run("perl", "-MIO::Socket::INET", "-e", script)


def processes(machine):
    """The daemons that run there."""
    lines = machine.sh("for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $p; echo; done 2>/dev/null").splitlines()
    return sorted(line.strip() for line in lines if "webd" in line or "worker" in line)


def look(machine):
    """What a visitor of the machine sees."""
    return types.SimpleNamespace(
        listing=machine.listing(),
        shop=ask(machine, "shop.example.org"), static=ask(machine, "static.example.org"),
        css=ask(machine, "shop.example.org", "/static/css/shop.css"), admin=ask(machine, "shop.example.org", "/admin"),
        packages=machine.sh("dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n'"),
        dpkg=[line for line in machine.path("/var/lib/dpkg/status").read_text().splitlines()
              if not line.startswith("Priority:")],  # dpkg itself corrects those of debootstrap
        accounts={name: machine.path(f"/etc/{name}").read_text() for name in ("passwd", "group", "shadow", "gshadow")},
        crontab=machine.run("crontab", "-l", "-u", "shop", check=False).stdout,
        processes=processes(machine),
        webd=machine.sh("cat /run/webd.pid", check=False).stdout,
        worker=machine.sh("cat /run/shop-worker.pid", check=False).stdout,
        hosts=machine.path("/etc/hosts").read_text() if machine.path("/etc/hosts").exists() else "",
        sysctl=machine.sh("cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/ip_forward").split(),
        alternative=machine.sh("readlink -f /usr/bin/toy-editor", check=False).stdout.strip(),
        time=machine.sh("readlink /etc/localtime; cat /etc/timezone"),
        locales=machine.run("locale", "-a"))


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    machine = Chroot(tmp_path_factory.mktemp("formula"), include=shared_packages())
    try:
        yield travel(machine)
    finally:
        machine.leave()


def change(machine, name, *replacements):
    """Edit a file of the pillar."""
    path = machine.path(f"/srv/zester/settings/{name}")
    text = path.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def travel(machine):
    seen = types.SimpleNamespace(machine=machine)
    tree = machine.path("/srv/zester/states")
    shutil.copytree(EXAMPLE / "states", tree)
    shutil.copytree(EXAMPLE / "pillar", machine.path("/srv/zester/settings"))
    machine.path("/srv/zester/settings/site.sls").write_text(SITE)
    for version in ("1.4.0", "1.5.0"):
        release(tree / f"shop/releases/shop-{version}.tar.gz", version)
    repository = Repository(machine.path("/srv/repo"))
    fill(repository)
    base = Repository(machine.path("/srv/base"))
    base.add("legacy-daemon", "0.9", conffiles=["/etc/legacy.conf"], files={"/etc/legacy.conf": ("old = yes\n", 0o644)})
    machine.path("/etc/apt/sources.list").write_text("deb [trusted=yes] file:/srv/base ./\n")
    machine.sh("apt-get -q update && apt-get -qy install legacy-daemon && useradd --no-create-home dave")

    seen.before = look(machine)
    seen.test, seen.test_status = machine.zester("state.apply", "--test")
    seen.tested = look(machine)
    seen.first, seen.first_status = machine.zester("state.apply")
    seen.converged = look(machine)
    seen.again, seen.again_status = machine.zester("state.highstate")
    seen.unchanged = look(machine)
    change(machine, "shop.sls", ("1.4.0", "1.5.0"))
    change(machine, "web.sls", ("<h1>static</h1>", "<h1>new</h1>"), ("DENY", "SAMEORIGIN"))
    seen.update, seen.update_status = machine.zester("state.apply")
    seen.updated = look(machine)
    seen.deploys = machine.path("/var/log/shop/deploy.log").read_text().splitlines()
    seen.seeded = machine.path("/opt/shop/shared/seeded").read_text()
    change(machine, "shop.sls", ("1.5.0", "1.4.0"))
    change(machine, "web.sls", ("<h1>new</h1>", "<h1>static</h1>"), ("SAMEORIGIN", "DENY"))
    seen.revert, seen.revert_status = machine.zester("state.revert", "highstate", "--all", "--yes")
    seen.after = look(machine)
    return seen


def failures(record):
    return {state["name"]: state.get("error", state.get("skip_reason")) for state in record["results"]
            if "error" in state or state.get("skip_reason") == "require_failed"}


def changed(record):
    return {state["name"] for state in record["results"] if state["changed"]}


def differences(one, other):
    """What differs between two listings, without what may."""
    return {path: (one.get(path), other.get(path)) for path in sorted({*one, *other})
            if one.get(path) != other.get(path) and not is_leftover(path)}


@pytest.mark.parametrize("name, states", [("web1", 69), ("db1", 37)])
def test_the_example_compiles_as_it_is_for_each_machine(name, states, tmp_path):
    words = [PROGRAM, "--local", "--states-dir", EXAMPLE / "states", "--settings-dir", EXAMPLE / "pillar", "--data-dir",
             tmp_path, "--id", name, "state.check"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{states} states in ")


def test_the_first_run_converges_without_a_failure(journey):
    assert failures(journey.first) == {} and journey.first_status == 0
    assert len(journey.first["results"]) > 65 and len(changed(journey.first)) > 60


def test_a_dry_run_on_the_fresh_machine_foresees_every_change_and_makes_none(journey):
    assert failures(journey.test) == {} and journey.test_status == 0
    # what a package brings is not known before
    assert changed(journey.first) - changed(journey.test) == {"file.absent:nginx_vhost_default_off"}
    assert differences(journey.before.listing, journey.tested.listing) == {}


def test_a_second_run_changes_nothing(journey):
    assert failures(journey.again) == {} and journey.again_status == 0
    assert changed(journey.again) == set()
    assert set(differences(journey.converged.listing, journey.unchanged.listing)) <= {"/var/log/webd/access.log"}


def test_the_web_server_serves_what_the_pillar_says(journey):
    seen = journey.converged
    assert seen.shop.startswith("HTTP/1.0 200") and "<h1>shop 1.4.0</h1>" in seen.shop
    assert "X-Frame-Options: DENY" in seen.shop and "X-Served-By: web1" in seen.shop
    assert "<h1>static</h1>" in seen.static and "color: #333" in seen.css
    assert seen.admin.startswith("HTTP/1.0 403")
    assert seen.listing["/etc/webd/sites-enabled/shop"].endswith("/etc/webd/sites-available/shop")
    assert "/etc/webd/sites-enabled/default" not in seen.listing
    assert "/etc/webd/snippets/gzip.conf" in seen.listing and "/etc/webd/snippets/README.md" not in seen.listing
    assert seen.listing["/etc/webd/sites-available/shop"].startswith("-rw-r----- 0:0")  # by extend


def test_packages_have_the_versions_that_were_asked_for(journey):
    lines = journey.converged.packages.splitlines()
    for line in ("ii  webd 1.2", "ii  webd-common 1.0", "ii  handy-tools 3.1", "hi  handy-editor 1.6", "ii  tiny-editor 1.0"):
        assert line in lines, line
    assert "legacy-daemon" not in journey.converged.packages and "/etc/legacy.conf" not in journey.converged.listing
    assert journey.converged.alternative == "/usr/bin/tiny-editor"


def test_accounts_groups_keys_and_rules_are_there(journey):
    passwd, group = journey.converged.accounts["passwd"], journey.converged.accounts["group"]
    assert "ada:x:2101:2101:Ada Example:/home/ada:/bin/bash\n" in passwd
    assert "carol:x:2110:2110:Carol Contractor:/nonexistent:/bin/sh\n" in passwd
    assert "\neve:x:" in passwd and "\ndave:" not in passwd
    assert "deploy:x:2000:bob,ada\n" in group and "auditors:x:2001:bob\n" in group
    listing = journey.converged.listing
    assert listing["/home/ada"].startswith("drwxr-x--- 2101:2101")
    assert listing["/home/ada/.ssh"].startswith("drwx------ 2101:2101")
    assert listing["/home/ada/.ssh/authorized_keys"].startswith("-rw------- 2101:2101")
    assert listing["/home/bob/.profile.managed"].startswith("-rw-r----- 2102:2102")
    assert listing["/etc/sudoers.d/carol"].startswith("-r--r----- 0:0")
    assert "/home/carol" not in listing and "/nonexistent" not in listing


def test_the_system_is_set_up(journey):
    seen = journey.converged
    assert seen.time == "/usr/share/zoneinfo/Europe/Berlin\nEurope/Berlin\n"
    assert "de_DE.utf8" in seen.locales.split()
    assert seen.sysctl == ["1024", "1"]
    assert {"192.0.2.10 db.example.org db database", "192.0.2.11 cache.example.org",
            "2001:db8::11 cache.example.org"} <= {" ".join(line.split()) for line in seen.hosts.splitlines()}
    for path in ("/etc/motd", "/etc/profile.d/zz-managed.sh", "/etc/sysctl.d/60-common.conf", "/etc/default/locale"):
        assert seen.listing[path].startswith("-rw-r--r-- 0:0"), path
    assert seen.listing["/etc/security/limits.conf"] != journey.before.listing["/etc/security/limits.conf"]
    assert seen.listing["/etc/security/limits.conf.orig"] == journey.before.listing["/etc/security/limits.conf"]


def test_the_release_its_worker_and_its_jobs_are_there(journey):
    seen = journey.converged
    assert seen.listing["/opt/shop/current"].endswith(" /opt/shop/releases/1.4.0")
    assert seen.listing["/opt/shop/releases/1.4.0/bin/shop"].startswith("-rwxr-xr-x 2200:2200")
    assert seen.listing["/opt/shop/shared"].startswith("drwxrwx--- 2200:2200")  # of 'names'
    assert seen.listing["/etc/shop/shop.yaml"].startswith("-rw-r----- 0:2200")
    assert "15 */6 * * * /opt/shop/current/bin/cleanup --older-than 30d" in seen.crontab
    assert "@daily /opt/shop/current/bin/report" in seen.crontab
    assert seen.processes == ["/bin/sh /opt/shop/current/bin/worker 2", "/usr/bin/perl /usr/sbin/webd -c /etc/webd/nginx.conf"]
    assert any(path.startswith("/etc/rc3.d/S") and path.endswith("shop-worker") for path in seen.listing)
    assert journey.deploys == ["drain 1.4.0", "drain 1.5.0"]
    assert journey.seeded == "shop 1.4.0 seed schema=\n"


def test_what_is_not_to_be_shown_is_in_no_result(journey):
    for record in (journey.test, journey.first, journey.again, journey.update, journey.revert):
        assert "correct-horse-battery" not in str(record)


def test_a_change_of_the_pillar_reaches_what_depends_on_it_and_nothing_else(journey):
    assert failures(journey.update) == {} and journey.update_status == 0
    assert changed(journey.update) == {
        "archive.extracted:shop_release", "cmd.run:shop_drain", "cmd.run:shop_migrate",
        "file.managed:/srv/www/static/index.html", "file.managed:nginx_snippet_headers", "file.symlink:shop_current",
        "service.running:nginx_service", "service.running:shop-worker"}
    seen = journey.updated
    assert "<h1>shop 1.5.0</h1>" in seen.shop and "X-Frame-Options: SAMEORIGIN" in seen.shop
    assert "<h1>new</h1>" in seen.static


def test_a_watched_change_reloads_the_web_server_and_restarts_the_worker(journey):
    assert journey.converged.webd == journey.updated.webd != "", "the web server is another process"
    # the file is listened to: the worker starts in its place, and is restarted at the end of the first run
    assert "X-Generation: 2" in journey.converged.shop and "X-Generation: 3" in journey.updated.shop
    assert journey.converged.worker != journey.updated.worker != ""


def test_reverting_leaves_the_machine_as_it_was(journey):
    assert failures(journey.revert) == {} and journey.revert_status == 0
    assert differences(journey.before.listing, journey.after.listing) == {}
    before, after = vars(journey.before), vars(journey.after)
    for what in ("packages", "dpkg", "accounts", "crontab", "processes", "sysctl", "alternative", "time", "locales"):
        assert before[what] == after[what], what
    assert after["processes"] == [] and after["shop"] == "", "something still runs"
