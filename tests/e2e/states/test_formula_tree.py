"""Formulas in the style of the public ones (tests/e2e/formulas), on a Debian of their own: a template formula with map.jinja,
libmapstack, libtofs and clean states, one for accounts, one in the older way with osfamilymap.yaml, and six that are written in the
habits of those for clocks, log rotation, sshd, databases, kernel parameters and repositories of vendors. The first run is clean,
the second changes nothing, a change of the pillar reaches what watches it, a revert leaves the machine as it was.

The journey is made once, by a fixture that writes down what it saw; each test looks at one side of it."""
import json
import pathlib
import subprocess
import types

import pytest

from chroot import PROGRAM, Chroot, shared_packages
from repository import Repository
from test_formula import ask, changed, differences, failures, fill

FORMULAS = pathlib.Path(__file__).resolve().parents[1] / "formulas"
# What a command of the tree wrote, which is not undone.
WRITTEN = {"/var/cache/keeper.sha256", "/etc/sshd", "/etc/sshd/host_ed25519_key", "/etc/sshd/host_rsa_key", "/run/clock.reloads", "/run/sshd.changes"}


def look(machine):
    def text(path):
        return machine.path(path).read_text() if machine.path(path).exists() else None

    return types.SimpleNamespace(
        listing=machine.listing(),
        static=ask(machine, "static"), shop=ask(machine, "shop.example.org"), private=ask(machine, "static", "/private"),
        dpkg=[line for line in text("/var/lib/dpkg/status").splitlines() if not line.startswith("Priority:")],
        accounts={name: text(f"/etc/{name}") for name in ("passwd", "group", "shadow", "gshadow")},
        crontab=machine.run("crontab", "-l", "-u", "root", check=False).stdout,
        pids=[machine.sh(f"cat /run/{name}.pid", check=False).stdout for name in ("webd", "keeper")],
        dump=text("/var/tmp/salt_mapdata_dump.yaml"), nginx=text("/etc/webd/nginx.conf"),
        site=text("/etc/webd/sites-enabled/static"), keeper=text("/etc/keeper.conf"),
        options=text("/var/lib/keeper/options.yaml"), sudoers=text("/etc/sudoers.d/bob"),
        made={path: text(path) for path in ("/etc/clock/clock.conf", "/etc/rotate.conf", "/etc/rotate.d/mail", "/etc/sshd/sshd_config",
                                            "/etc/database/15/main/hba.conf", "/etc/database/15/main/database.conf",
                                            "/etc/sudoers.d/extra", "/etc/profile.d/platform.sh", "/usr/local/bin/edit2")})


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    machine = Chroot(tmp_path_factory.mktemp("tree"), include=shared_packages())
    try:
        yield travel(machine)
    finally:
        machine.leave()


def migrate(kind, output):
    """The tree, as zester-migrate copies it: nothing needs a remark."""
    done = subprocess.run([f"{PROGRAM}-migrate", kind, FORMULAS / kind,
                           "--output", output], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def travel(machine):
    seen = types.SimpleNamespace()
    # Where Salt has them: they are found there.
    migrate("states", machine.path("/srv/salt"))
    migrate("pillar", machine.path("/srv/pillar"))
    fill(Repository(machine.path("/srv/repo")))
    machine.path("/etc/apt/sources.list").write_text("deb [trusted=yes] file:/srv/repo ./\n")
    machine.sh("apt-get -q update && useradd --no-create-home dave")

    seen.before = look(machine)
    seen.first, seen.first_status = machine.zester("state.apply")
    seen.converged = look(machine)
    seen.again, seen.again_status = machine.zester("state.highstate")
    seen.unchanged = look(machine)
    path = machine.path("/srv/pillar/webd.sls")
    pillar = path.read_text()
    path.write_text(pillar.replace("rootgroup: adm", "rootgroup: root").replace("aliases: [", "aliases: [www, "))
    seen.update, seen.update_status = machine.zester("state.apply")
    seen.updated = look(machine)
    path.write_text(pillar)
    seen.clean, seen.clean_status = machine.zester("state.apply", "webd.clean")
    seen.cleaned = look(machine)
    seen.reclean, _ = machine.zester("state.apply", "webd.clean")
    seen.unclean, seen.unclean_status = machine.zester("state.revert", "webd.clean", "--all", "--yes")
    seen.revert, seen.revert_status = machine.zester("state.revert", "highstate", "--all", "--yes")
    seen.after = look(machine)
    return seen


@pytest.mark.parametrize("name, states", [("web1", 102), ("db1", 33)])
def test_the_formulas_compile_as_they_are_for_each_machine(name, states, tmp_path):
    words = [PROGRAM, "--local", "--file-root", FORMULAS / "states", "--pillar-root", FORMULAS / "pillar", "--data-dir",
             tmp_path, "--id", name, "state.check"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{states} states in ") and "file.managed has no parameter" not in result.stderr


def test_states_of_the_formulas_have_the_order_that_salt_gives_them(tmp_path):
    """formulas/order.txt is the order in which Salt 3007.1 ran them."""
    words = [PROGRAM, "--local", "--file-root", FORMULAS / "states", "--pillar-root", FORMULAS / "pillar", "--data-dir", tmp_path, "--id", "web1",
             "--format", "json", "state.show_sls", "vendor,clock,rotate,sshd,database,platform"]
    states = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert [state["name"].replace(":", " ", 1) for state in states] == (FORMULAS / "order.txt").read_text().splitlines()


def test_the_first_run_is_clean(journey):
    assert failures(journey.first) == {} and journey.first_status == 0
    assert len(changed(journey.first)) > 85


def test_the_second_run_changes_nothing(journey):
    assert failures(journey.again) == {} and journey.again_status == 0
    assert changed(journey.again) == set()
    assert set(differences(journey.converged.listing, journey.unchanged.listing)) <= {"/var/log/webd/access.log"}
    assert journey.converged.pids == journey.unchanged.pids


def test_the_map_is_made_of_all_its_sources_in_their_order(journey):
    dump = journey.converged.dump
    for line in ("winner: id", "served_by: WEB1", "rootgroup: adm", "name: webd", "worker_processes: auto", "cli: local",
                 "- webd/parameters/os_family/Debian.yaml", "- webd/parameters/id/web1.yaml.jinja"):
        assert line in dump, line
    assert "RedHat" not in dump


def test_the_most_special_file_of_the_switch_is_taken(journey):
    assert "Do not edit /etc/webd/nginx.conf." in journey.converged.nginx and "not used" not in journey.converged.nginx
    assert journey.converged.site.startswith("# salt://webd/site/files/default/site.conf.jinja for static\n")
    assert journey.converged.listing["/etc/webd/nginx.conf"].startswith("-rw-r--r-- 0:4 ")


def test_the_sites_of_the_pillar_are_served(journey):
    seen = journey.converged
    assert '<h1>Static: "pages" on web1</h1>' in seen.static and "X-Served-By: web1" in seen.static
    assert "<h1>shop.example.org on web1</h1>" in seen.shop and seen.private.startswith("HTTP/1.0 403")
    assert "/etc/webd/sites-enabled/off.example.org" not in seen.listing and "/srv/www/off/index.html" in seen.listing
    assert "/etc/webd/sites-enabled/default" not in seen.listing


def test_accounts_are_made_before_what_belongs_to_them(journey):
    seen = journey.converged
    assert "bob:x:3102:3102:Bob O'Example:/home/bob:/bin/bash\n" in seen.accounts["passwd"]
    assert "deploy:x:" in seen.accounts["group"] and "\ndave:" not in seen.accounts["passwd"]
    assert seen.listing["/home/ada"].startswith("drwxr-x--- 3101:3101")
    assert seen.listing["/home/ada/.ssh/authorized_keys"].startswith("-rw------- 3101:3101")
    assert seen.sudoers == "bob ALL=(root) NOPASSWD:/usr/sbin/webd\n"
    assert seen.listing["/etc/accounts.keys"]


def test_the_older_way_works_as_well(journey):
    seen = journey.converged
    assert ["interval", "=", "30"] in [line.split() for line in seen.keeper.splitlines()] and "peers = 192.0.2.1\n" in seen.keeper
    assert seen.keeper.startswith("# /etc/keeper.conf from salt://keeper/files/keeper.conf, mode of the machine: real\n")
    assert seen.options == "color: false\numask: '022'\n"
    assert "*/15 * * * * /usr/bin/handy report" in seen.crontab and "keeper-sweep" in seen.crontab
    assert seen.pids[1].strip().isdigit()


def test_a_change_of_the_pillar_restarts_what_watches_it(journey):
    assert failures(journey.update) == {} and journey.update_status == 0
    assert changed(journey.update) == {
        "file.managed:webd-config-file-file-managed", "file.managed:webd-site-static-managed",
        "file.managed:webd-mapdata-dump", "service.running:webd-service-running-service-running"}
    assert journey.updated.pids[0] != journey.converged.pids[0] and journey.updated.pids[1] == journey.converged.pids[1]


def test_the_clean_states_remove_it_in_reverse_order(journey):
    assert failures(journey.clean) == {} and journey.clean_status == 0 and changed(journey.reclean) == set()
    names = [state["name"].split(":", 1)[1] for state in journey.clean["results"]]
    assert names[0] == "webd-service-clean-service-dead" and names[-1] == "webd-package-clean-pkg-removed"
    assert journey.cleaned.pids[0] == "" and "/usr/sbin/webd" not in journey.cleaned.listing


def test_a_revert_leaves_the_machine_as_it_was(journey):
    assert failures(journey.unclean) == {} and journey.unclean_status == 0
    assert failures(journey.revert) == {} and journey.revert_status == 0
    different = differences(journey.before.listing, journey.after.listing)
    assert {path: what for path, what in different.items() if path not in WRITTEN} == {}
    for what in ("dpkg", "accounts", "crontab", "pids"):
        assert getattr(journey.before, what) == getattr(journey.after, what), what
