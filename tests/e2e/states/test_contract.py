"""The contract of states: each differs, says so without touching anything, is applied, is clean, is taken back exactly,
and differs again. States whose example is about files run in tests/unit/states/modules/test_contract.c; every other one has a
row here, on a machine of its own with the real tools. A state in neither list fails."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import zipfile

import pytest

import databases
import fake_firewalld
import fake_pip
import node_registry
import real_pip
import user_systemd
from chroot import describe
from debian import Machine as Debian
from debian import needs_apt
from kepler_home import Home
from machine import PROGRAM, TOP, Machine, by_name, disk_folder, skip_without

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00"
# What useradd and its like leave beside their files: the ones before, and a lock.
ACCOUNT_COPIES = r"^/etc/(passwd|shadow|group|gshadow|subuid|subgid)-$|^/etc/\.pwd\.lock$"


@dataclasses.dataclass(frozen=True)
class Case:
    """WORK in a text is a folder of the test, DISK one that is not in memory."""
    args: str  # of the state, as YAML
    setup: str = ""  # for the shell, before anything
    look: str = ""  # prints what else the state is about than files
    needs: tuple = ()  # programs
    left: str = ""  # a pattern: paths that may be there, or differ, after a revert


# --- states that change something ------------------------------------------------------------------

ALTERNATIVES = "{altdir: WORK/links}, {admindir: WORK/known}"
INSTALL = "update-alternatives --quiet --altdir WORK/links --admindir WORK/known --install WORK/editor editor WORK/"
EDITORS = f"mkdir -p WORK/links WORK/known; touch WORK/vi WORK/nano; {INSTALL}vi 10; "
BOTH_EDITORS = EDITORS + INSTALL + "nano 20; "
CRONTAB = "crontab -u root -l 2>/dev/null"
# crontab notes in the file when it was written; what it prints is compared.
TAB = r"/crontabs/root$"
REMOTE = ("git init -q -b main WORK/remote; cd WORK/remote; git config user.email x@example.org; git config user.name x; "
          "echo 1 > file; git add file; git commit -q -m one; ")

# A copy of the database of debconf, which keeps the one before beside each file.
DEBCONF = "mkdir /mnt/debconf; cp -a /var/cache/debconf/. /mnt/debconf; mount --bind /mnt/debconf /var/cache/debconf; "
DEBCONF_COPIES = r"^/mnt/debconf/.*-old$"

# Ruby packages, and a source that has them, on a machine whose own ones are hidden.
GEMS = ("mkdir -p /var/lib/gems; mount -t tmpfs tmpfs /var/lib/gems; mount -t tmpfs tmpfs /root; export HOME=/root; mkdir -p WORK/source/gems; "
        "cd WORK/source/gems; for version in 1.0 2.0; do "
        "echo \"Gem::Specification.new { |s| s.name = 'zt'; s.version = '$version'; s.summary = 'x'; s.authors = ['x'] }\" > zt.gemspec; "
        "gem build -q zt.gemspec > /dev/null 2>&1; done; rm zt.gemspec; cd ..; gem generate_index -q > /dev/null 2>&1; ")
OWN_GEMS = GEMS + "printf -- '---\\n:sources:\\n- file://WORK/source/\\n' > /root/.gemrc; "
LOOK_GEMS = "HOME=/root gem list --local zt; HOME=/root gem sources"

FACTS = "mkdir -p /etc/zester; printf 'roles: [db]\\nsite: {dc: north}\\n' > /etc/zester/facts; "

SYSTEM = {
    "grains.absent": Case("[{name: roles}, {force: true}]", FACTS),
    "grains.append": Case("[{name: roles}, {value: web}]", FACTS),
    "grains.list_absent": Case("[{name: roles}, {value: [db, web]}]", FACTS),
    "grains.list_present": Case("[{name: roles}, {value: [db, web]}]", FACTS),
    "grains.present": Case("[{name: 'site:dc'}, {value: south}]"),
    "alternatives.auto": Case(f"[{{name: editor}}, {ALTERNATIVES}]", BOTH_EDITORS +
                              "update-alternatives --quiet --altdir WORK/links --admindir WORK/known --set editor WORK/vi",
                              needs=("update-alternatives",)),
    "alternatives.install": Case(f"[{{name: editor}}, {{link: WORK/editor}}, {{path: WORK/nano}}, {{priority: 5}}, {ALTERNATIVES}]",
                                 EDITORS, needs=("update-alternatives",)),
    "alternatives.remove": Case(f"[{{name: editor}}, {{path: WORK/vi}}, {ALTERNATIVES}]", BOTH_EDITORS,
                                needs=("update-alternatives",)),
    "alternatives.set": Case(f"[{{name: editor}}, {{path: WORK/vi}}, {ALTERNATIVES}]", BOTH_EDITORS,
                             needs=("update-alternatives",)),
    "archive.extracted": Case("[{name: WORK/to}, {source: WORK/a.tar}, {skip_verify: true}]",
                              "mkdir WORK/a; echo x > WORK/a/x; tar -C WORK -cf WORK/a.tar a"),
    "cron.absent": Case("[{name: job}, {user: root}]", "printf '# ZESTER_CRON_IDENTIFIER:job\\n1 2 * * * job\\n0 0 * * * mine\\n' | crontab -u root -",
                        CRONTAB, ("crontab",), TAB),
    "cron.env_absent": Case("[{name: MAILTO}, {user: root}]", "printf 'MAILTO=x\\n0 0 * * * mine\\n' | crontab -u root -", CRONTAB,
                            ("crontab",), TAB),
    "cron.env_present": Case("[{name: MAILTO}, {value: y}, {user: root}]", "printf 'MAILTO=x\\n0 0 * * * mine\\n' | crontab -u root -",
                             CRONTAB, ("crontab",), TAB),
    "cron.file": Case("[{name: WORK/tab}, {user: root}]", "echo '5 5 * * * new' > WORK/tab; echo '0 0 * * * mine' | crontab -u root -",
                      CRONTAB, ("crontab",), TAB),
    "cron.present": Case("[{name: job}, {command: run it}, {user: root}, {minute: 30}]", "echo '0 0 * * * mine' | crontab -u root -",
                         CRONTAB, ("crontab",), TAB),
    "debconf.set": Case("[{name: zt-pkg}, {data: {zt/flag: {type: boolean, value: false}, zt/pass: {type: password, value: hidden}}}]",
                        DEBCONF + "echo 'other zt/flag boolean true' | debconf-set-selections",
                        "printf 'GET zt/flag\\nMETAGET zt/flag owners\\nGET zt/pass\\n' | debconf-communicate zt || true",
                        ("debconf-communicate",), DEBCONF_COPIES),
    "debconf.set_file": Case("[{name: zt-pkg}, {source: WORK/selections}]",
                             DEBCONF + "printf 'zt-pkg zt/a string one two\\nzt-pkg zt/a seen false\\n' > WORK/selections",
                             "printf 'GET zt/a\\nFGET zt/a seen\\n' | debconf-communicate zt || true", ("debconf-communicate",), DEBCONF_COPIES),
    "file.cached": Case("[{name: WORK/source}]", "echo x > WORK/source", "cat WORK/../data/cached/* 2>/dev/null || true"),
    "file.not_cached": Case("[{name: WORK/source}]",
                            "mkdir -p WORK/../data/cached; echo x > WORK/../data/cached/$(printf %s WORK/source | sha256sum | cut -d' ' -f1)",
                            "cat WORK/../data/cached/* 2>/dev/null || true"),
    "gem.installed": Case("[{name: zt}, {version: 1.0}, {source: 'file://WORK/source/'}]", GEMS, LOOK_GEMS, ("gem",)),
    "gem.removed": Case("[{name: zt}]", OWN_GEMS + "gem install -q zt --version 1.0; gem install -q zt", LOOK_GEMS, ("gem",)),
    "gem.sources_add": Case("[{name: 'file://WORK/source/'}]", GEMS, LOOK_GEMS, ("gem",)),
    "gem.sources_remove": Case("[{name: 'file://WORK/source/'}]", OWN_GEMS, LOOK_GEMS, ("gem",)),
    "git.cloned": Case("[{name: WORK/copy}, {url: WORK/remote}, {branch: main}]", REMOTE, needs=("git",)),
    "git.config_set": Case("[{name: user.email}, {value: ada@example.org}, {repo: WORK/remote}]", REMOTE, needs=("git",)),
    "git.config_unset": Case("[{name: 'user\\..+'}, {repo: WORK/remote}]", REMOTE, needs=("git",)),
    "git.detached": Case("[{name: WORK/remote}, {target: WORK/copy}, {rev: main}]", REMOTE, needs=("git",)),
    "git.present": Case("[{name: WORK/new.git}]", needs=("git",)),
    "git.latest": Case("[{name: WORK/remote}, {target: WORK/copy}, {branch: main}]", REMOTE +
                       "git clone -q WORK/remote WORK/copy; echo 2 > file; git commit -q -a -m two",
                       "git -C WORK/copy log --format=%s; git -C WORK/copy status --short", ("git",), r"/copy/\.git/"),
    "group.absent": Case("[{name: zt-old}]", "groupadd -g 61801 zt-old", needs=("groupadd",), left=ACCOUNT_COPIES),
    "group.present": Case("[{name: zt-new}, {gid: 61802}]", needs=("groupadd",), left=ACCOUNT_COPIES),
    "host.absent": Case("[{name: old.example.org}, {config: WORK/hosts}]",
                        "printf '127.0.0.1 localhost\\n192.0.2.1 old.example.org other\\n' > WORK/hosts"),
    "locale.present": Case("[{name: de_AT.UTF-8}]", "mkdir /mnt/locale; cp -a /usr/lib/locale/. /mnt/locale; "
                           "mount --bind /mnt/locale /usr/lib/locale; ls /usr/share/i18n/locales/de_AT > /dev/null",
                           "locale -a", ("localedef", "locale"), r"^/mnt/locale/locale-archive$"),
    "mount.swap": Case("[{name: DISK/swap}]", "dd if=/dev/zero of=DISK/swap bs=1M count=2 status=none; chmod 600 DISK/swap; "
                       "mkswap -q DISK/swap", "grep -c DISK/swap /proc/swaps || true", ("mkswap", "swapon", "swapoff")),
    "mount.unmounted": Case("[{name: /mnt/zt}, {persist: true}]", "mkdir /mnt/zt; mount -t tmpfs zt /mnt/zt; "
                            "echo 'zt /mnt/zt tmpfs defaults 0 0' >> /etc/fstab", "grep ' /mnt/zt ' /proc/mounts || true"),
    "pip.installed": Case("[{name: ztpackage}, {version: 1.0}, {bin: WORK/venv}, {no_index: true}, {find_links: [WORK/wheels]}]",
                          "", "WORK/venv/bin/pip freeze", left="."),
    "pip.removed": Case("[{name: ztpackage}, {bin: WORK/venv}]", "WORK/venv/bin/pip install -q ztpackage==1.0", "WORK/venv/bin/pip freeze", left="."),
    "pip.uptodate": Case("[{name: all}, {bin: PIP/pip3}]", "printf 'dependency==1.0\\nztpackage==1.0\\n' > PIP/pip; echo ztpackage==2.0 > PIP/newest", "sort PIP/pip"),
    "ssh_auth.absent": Case(f"[{{name: {KEY}}}, {{config: WORK/keys}}]", f"printf 'ssh-rsa AAAA one\\nssh-ed25519 {KEY} two\\n' > WORK/keys"),
    "ssh_known_hosts.absent": Case("[{name: old.example.org}, {config: WORK/known_hosts}]",
                                   f"printf 'a ssh-ed25519 {KEY}\\nold.example.org ssh-ed25519 {KEY}\\n' > WORK/known_hosts"),
    "timezone.system": Case("[{name: Europe/Berlin}]", "ln -sf /usr/share/zoneinfo/UTC /etc/localtime; echo Etc/UTC > /etc/timezone"),
    "user.absent": Case("[{name: zt-old}, {purge: true}]", "useradd -m -u 61801 zt-old; echo x > /home/zt-old/mine", "id zt-old 2>&1 || true",
                        ("useradd", "userdel"), ACCOUNT_COPIES),
    "user.present": Case("[{name: zt-new}, {uid: 61802}, {shell: /bin/sh}, {fullname: New one}]", "", "id zt-new 2>&1 || true",
                         ("useradd", "userdel"), ACCOUNT_COPIES),
}

PACKAGES = {
    "pkg.downloaded": Case("[{pkgs: [zt-app: '2.0', zt-tool]}]", look="ls /var/cache/apt/archives/*.deb 2>/dev/null || true"),
    "pkg.held": Case("[{name: zt-app}]", "apt-get -q -y install zt-app=1.0"),
    "pkg.installed": Case("[{pkgs: [zt-app: '>=1.0', zt-tool]}]"),
    "pkg.latest": Case("[{name: zt-app}]", "apt-get -q -y install zt-app=1.0"),
    "pkg.purged": Case("[{name: zt-app}]", "apt-get -q -y install zt-app=1.0"),
    "pkg.removed": Case("[{name: zt-app}]", "apt-get -q -y install zt-app=1.0"),
    "pkg.unheld": Case("[{name: zt-app}]", "apt-get -q -y install zt-app=1.0; apt-mark hold zt-app"),
    "pkg.uptodate": Case("[{name: all}]", "apt-get -q -y install zt-app=1.0"),
    "pkgrepo.absent": Case("[{name: zt}, {refresh: false}]", "echo 'deb [trusted=yes] copy:REPO ./' > /etc/apt/sources.list.d/zt.list"),
    "pkgrepo.managed": Case("[{name: zt}, {baseurl: 'copy:REPO'}, {dist: ./}, {gpgcheck: false}]"),
}

RULE = "{chain: INPUT}, {protocol: tcp}, {dport: 22}, {source: '! 10.0.0.0/8'}, {comment: a b}, {jump: ACCEPT}"
RULES = "iptables -A INPUT -i lo -j ACCEPT; iptables -A INPUT ! -s 10.0.0.0/8 -p tcp -m comment --comment 'a b' --dport 22 -j ACCEPT; iptables -A INPUT -j DROP"
# Folders for the file of rules stay when others made them too.
FIREWALL = {
    "iptables.append": Case(f"[{{name: x}}, {RULE}, {{save: true}}]", look="iptables -S", left=r"^/etc/iptables$"),
    "iptables.chain_absent": Case("[{name: zt}, {table: nat}]", "iptables -t nat -N zt; iptables -t nat -A zt -p tcp -j ACCEPT", "iptables -t nat -S"),
    "iptables.chain_present": Case("[{name: zt}, {table: mangle}, {family: ipv6}]", "", "ip6tables -t mangle -S"),
    "iptables.delete": Case(f"[{{name: x}}, {RULE}, {{save: /etc/rules}}]", RULES + "; echo '# mine' > /etc/rules", "iptables -S"),
    "iptables.flush": Case("[{name: x}]", RULES + "; iptables -A FORWARD -j DROP", "iptables -S"),
    "iptables.insert": Case(f"[{{name: x}}, {{position: 2}}, {RULE}]", "iptables -A INPUT -i lo -j ACCEPT; iptables -A INPUT -j DROP", "iptables -S"),
    "iptables.set_policy": Case("[{name: x}, {chain: FORWARD}, {policy: DROP}]", "", "iptables -S"),
}

# With a stand-in for firewall-cmd, whose configuration is in WORK/firewall.
FIREWALLD = {
    "firewalld.present": Case("[{name: public}, {services: [http]}, {prune_services: true}, {ports: [80/tcp]}]"),
    "firewalld.service": Case("[{name: app}, {ports: [8000/tcp]}]"),
}

# Packages of Node.js for everybody are in WORK/global; npm leaves its folders there.
NPM = {
    "npm.bootstrap": Case("[{name: WORK/app}, {registry: 'REGISTRY'}]", "mkdir WORK/app; echo '{\"dependencies\": {\"zt\": \"^1.0.0\"}}' > WORK/app/package.json"),
    "npm.installed": Case("[{name: zt@1.0.0}, {registry: 'REGISTRY'}]", look="ls WORK/global/lib/node_modules 2>/dev/null || true", left="/global"),
    "npm.removed": Case("[{name: zt}, {registry: 'REGISTRY'}]", "npm install --silent -g zt@1.0.0 --registry REGISTRY",
                        "cat WORK/global/lib/node_modules/zt/package.json 2>/dev/null || true", left="/global"),
}

# The folders for links of systemd are made with the first one, and stay.
LINKS = r"^/srv/config(/systemd(/user)?)?$"

SERVICES = {
    "service.dead": Case("[{name: web}, {enable: false}]", "systemctl --user enable --now web"),
    "service.disabled": Case("[{name: web}]", "systemctl --user enable web"),
    "service.enabled": Case("[{name: web}]", left=LINKS),
    "service.masked": Case("[{name: web}]", left=LINKS),
    "service.running": Case("[{name: web}, {enable: true}]", left=LINKS),
    "service.unmasked": Case("[{name: web}]", "systemctl --user mask web"),
}

# With a daemon of its own.
CONFIG = "services: {web: {command: [sleep, infinity]}}"
KEPLER_LOOK = ("kepler -f WORK/kepler.yaml ps --json 2>/dev/null | "
               "/usr/bin/python3 -c 'import json, sys; print({name: one[\"status\"] for name, one in json.loads(sys.stdin.read() or \"{}\").items()})'")
ORCHESTRATOR = {
    "kepler.absent": Case("[{name: WORK/kepler.yaml}]", f"echo '{CONFIG}' > WORK/kepler.yaml; kepler -f WORK/kepler.yaml start -d --wait", KEPLER_LOOK),
    "kepler.running": Case(f"[{{name: WORK/kepler.yaml}}, {{contents: '{CONFIG}'}}, {{services: [web]}}]", look=KEPLER_LOOK),
}

# Setup and look are SQL; LOGIN is the way to the server.
MYSQL = {
    "mysql_database.absent": Case("[{name: zt-gone}, LOGIN]", "CREATE DATABASE `zt-gone` COLLATE latin1_german1_ci;",
                                  "SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'zt-gone';"),
    "mysql_database.present": Case("[{name: zt-new}, {character_set: latin1}, LOGIN]", "",
                                   "SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'zt-new';"),
    "mysql_grants.absent": Case("[{name: x}, {grant: select}, {database: '*.*'}, {user: zt-less}, LOGIN]",
                                "CREATE USER `zt-less`@localhost; GRANT SELECT, PROCESS ON *.* TO `zt-less`@localhost;",
                                "SHOW GRANTS FOR `zt-less`@localhost;"),
    "mysql_grants.present": Case("[{name: x}, {grant: 'select, process'}, {database: '*.*'}, {user: zt-more}, LOGIN]",
                                 "CREATE USER `zt-more`@localhost;", "SHOW GRANTS FOR `zt-more`@localhost;"),
    "mysql_query.run": Case("[{name: x}, {database: mysql}, {query: SELECT 1 AS one}, {output: WORK/rows}, {overwrite: false}, LOGIN]"),
    "mysql_query.run_file": Case("[{name: x}, {database: mysql}, {query_file: WORK/query.sql}, {output: WORK/rows}, {overwrite: false}, LOGIN]"),
    "mysql_user.absent": Case("[{name: zt-gone}, LOGIN]", "CREATE USER `zt-gone`@localhost IDENTIFIED BY 'x';",
                              "SELECT * FROM mysql.user WHERE User = 'zt-gone';"),
    "mysql_user.present": Case("[{name: zt-new}, {password: mypass}, LOGIN]", "", "SELECT * FROM mysql.user WHERE User = 'zt-new';"),
}

ROLE = "SELECT rolsuper, rolcreatedb, rolcanlogin, rolpassword IS NULL FROM pg_authid WHERE rolname = "

POSTGRES = {
    "postgres_database.absent": Case("[{name: zt-gone}, LOGIN]", 'CREATE DATABASE "zt-gone";',
                                     "SELECT datcollate, encoding FROM pg_database WHERE datname = 'zt-gone';"),
    "postgres_database.present": Case("[{name: zt-new}, {encoding: UTF8}, LOGIN]", "", "SELECT encoding FROM pg_database WHERE datname = 'zt-new';"),
    "postgres_extension.absent": Case("[{name: plpgsql}, LOGIN]", "", "SELECT extversion FROM pg_extension WHERE extname = 'plpgsql';"),
    "postgres_extension.present": Case("[{name: plpgsql}, {maintenance_db: zt_ext}, LOGIN]", "CREATE DATABASE zt_ext; \\c zt_ext\nDROP EXTENSION plpgsql;",
                                       "\\c zt_ext\nSELECT extversion FROM pg_extension WHERE extname = 'plpgsql';"),
    "postgres_group.absent": Case("[{name: zt-gone-group}, LOGIN]", 'CREATE ROLE "zt-gone-group" CREATEDB;', ROLE + "'zt-gone-group';"),
    "postgres_group.present": Case("[{name: zt-new-group}, LOGIN]", "", ROLE + "'zt-new-group';"),
    "postgres_privileges.absent": Case("[{name: zt_less}, {object_name: public}, {object_type: schema}, {privileges: [CREATE]}, LOGIN]",
                                       "CREATE ROLE zt_less; GRANT ALL ON SCHEMA public TO zt_less;",
                                       "SELECT has_schema_privilege('zt_less', 'public', 'CREATE');"),
    "postgres_privileges.present": Case("[{name: zt_more}, {object_name: public}, {object_type: schema}, {privileges: [CREATE]}, LOGIN]",
                                        "CREATE ROLE zt_more;", "SELECT has_schema_privilege('zt_more', 'public', 'CREATE');"),
    "postgres_user.absent": Case("[{name: zt-gone}, LOGIN]", "CREATE ROLE \"zt-gone\" LOGIN PASSWORD 'x';", ROLE + "'zt-gone';"),
    "postgres_user.present": Case("[{name: zt-new}, {password: mypass}, {createdb: true}, LOGIN]", "", ROLE + "'zt-new';"),
}

# --- states that say something ---------------------------------------------------------------------

# They leave nothing behind: what a dry run and a run say, each time.
SAYING = {
    "cmd.wait": ("[{command: 'touch WORK/made'}]", "ok", "ok"),
    "cmd.wait_script": ("[{name: WORK/missing.sh}]", "ok", "ok"),
    "disk.status": ("[{name: /}, {maximum: 100%}]", "ok", "ok"),
    "event.send": ("[{name: a/b}]", "failed", "failed"),  # there is no fleet here: test_jobs.py has one
    "event.wait": ("[{name: a/b}]", "ok", "ok"),
    "file.exists": ("[{name: /etc/passwd}]", "ok", "ok"),
    "file.missing": ("[{name: /etc/nologin-zt}]", "ok", "ok"),
    "cmd.watch": ("[{command: 'touch WORK/made'}]", "ok", "ok"),
    "grains.exists": ("[{name: os}]", "ok", "ok"),
    "module.watch": ("[{name: test.echo}, {text: hello}]", "ok", "ok"),
    "module.wait": ("[{name: test.echo}, {text: hello}]", "ok", "ok"),
    "fleet.function": ("[{name: test.ping}, {tgt: web-01}]", "failed", "failed"),  # there is no fleet here: test_orchestrate.py has one
    "fleet.state": ("[{tgt: web-01}, {sls: app}]", "failed", "failed"),
    "salt.function": ("[{name: test.ping}, {tgt: web-01}]", "failed", "failed"),
    "salt.state": ("[{tgt: web-01}, {sls: app}]", "failed", "failed"),
    "file.accumulated": ("[{filename: WORK/x}, {text: hello}]", "ok", "ok"),
    "kepler.condition": ("[{name: web/api healthy}]", "ok", "failed"),  # there is no daemon
    "module.run": ("[{name: test.echo}, {text: hello}]", "changed", "changed"),
    "test.check_pillar": ("[{verbose: true}]", "ok", "ok"),
    "test.configurable_test_state": ("[{result: true}, {changes: true}]", "changed", "changed"),
    "test.fail_with_changes": ("[{comment: hello}]", "changed", "failed"),
    "test.fail_without_changes": ("[{comment: hello}]", "failed", "failed"),
    "test.nop": ("[]", "ok", "ok"),
    "test.ping": ("[]", "ok", "ok"),
    "test.show_notification": ("[{text: hello}]", "ok", "ok"),
    "test.sleep": ("[{length: 1ms}]", "ok", "ok"),
    "test.succeed_with_changes": ("[{comment: hello}]", "changed", "changed"),
    "test.succeed_without_changes": ("[{comment: hello}]", "ok", "ok"),
}


def all_states():
    out = subprocess.run([PROGRAM, "doc", "--json"], capture_output=True, text=True, check=True).stdout
    return {module["name"] for module in json.loads(out) if module["kind"] == "state"}


def states_of_the_unit_test():
    """Those whose example has a ROOT, which is what tests/unit/states/modules/test_contract.c runs."""
    found = set()
    for path in (TOP / "src/states/modules").glob("*/*.c"):
        text = path.read_text()
        if re.search(r"\.example =(\s*\"[^\n]*\"\n?)*?\s*\"[^\n]*ROOT", text) and re.search(r"^    (\.apply =|\w+_STATE_FIELDS)", text, re.M):
            found.add(f"{path.parent.name}.{path.stem}")
    return found


def test_every_state_has_an_example_that_is_run():
    tables = (SYSTEM, PACKAGES, SERVICES, FIREWALL, FIREWALLD, NPM, ORCHESTRATOR, MYSQL, POSTGRES, SAYING)
    here = {name: case for table in tables for name, case in table.items()}
    assert len(here) == sum(map(len, tables))
    unit = states_of_the_unit_test()
    assert len(unit) > 25 and not unit & set(here)
    assert all_states() == unit | set(here)


# --- machines ----------------------------------------------------------------------------------------

class OfSystem:
    """A private copy of /etc and the like."""
    FOLDERS = [*Machine.COPIES, *Machine.EMPTY]
    KIND = Machine

    def __init__(self, folder):
        self.machine = self.KIND(folder)
        self.work = folder / "work"
        self.work.mkdir()
        self.places = {"WORK": str(self.work)}

    def leave(self):
        self.sh("umount /mnt/zt 2>/dev/null || true")
        self.machine.leave()

    def fill(self, text):
        for word, place in self.places.items():
            text = text.replace(word, place)
        return text

    def sh(self, text):
        return self.machine.sh("set -e\n" + self.fill(text)) if text else ""

    def zester(self, *words):
        return by_name(self.machine.zester(*words)[0])

    def declare(self, name, args, more=""):
        (self.machine.states / "case.zy").write_text(self.fill(f"it:\n  {name}: {args}\n{more}"))

    def files(self, times):
        """Path -> what is there."""
        found = {}
        for top in [*(str(self.machine.path(folder)) for folder in self.FOLDERS), str(self.work)]:
            for folder, folders, files in os.walk(top):
                for name in folders + files:
                    path = os.path.join(folder, name)
                    shown = re.sub(r"^/proc/\d+/root", "", path)
                    found[shown] = describe(path) + (f" {os.lstat(path).st_mtime_ns}" if times else "")
        return found


class OfPackages(OfSystem):
    """Real apt and dpkg, with a repository of two small packages."""

    def __init__(self, folder):
        self.machine = Debian(folder)
        self.places = {"REPO": str(self.machine.repo)}
        for name, version in (("zt-app", "1.0"), ("zt-app", "2.0"), ("zt-tool", "1.0")):
            self.machine.package(name, version)
        self.machine.update()

    def leave(self):
        pass

    def sh(self, text):
        if not text:
            return ""
        out = self.machine.run("sh", "-ec", self.fill(text))
        assert out.returncode == 0, out.stdout + out.stderr
        return out.stdout

    def zester(self, *words):
        out = self.machine.zester("--quiet", "-o", "json", *words)
        assert out.returncode in (0, 2) and "Sanitizer" not in out.stderr, out.stdout + out.stderr
        return by_name(json.loads(out.stdout))

    def declare(self, name, args, more=""):
        self.machine.state(self.fill(f"it:\n  {name}: {args}\n{more}"), "case")

    def files(self, times):
        """What dpkg knows, what its packages hold, and the lists of repositories."""
        found = {"dpkg": self.sh("dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n' 'zt-*' 2>/dev/null || true; "
                                 "apt-mark showhold")}
        for folder in ("/opt", "/etc/apt"):
            for path in sorted(self.machine.path(folder).rglob("*")):
                found[str(path)] = describe(path) + (f" {os.lstat(path).st_mtime_ns}" if times else "")
        return found


class OfServices(OfSystem):
    """A real systemd, found where root finds that of the machine."""
    FOLDERS = ["/srv"]

    def __init__(self, folder):
        super().__init__(folder)
        self.machine.sh("mount -t tmpfs tmpfs /run; mkdir -p /srv/data/systemd/user")
        self.machine.path("/srv/data/systemd/user/web.service").write_text(
            "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep 61803\n[Install]\nWantedBy=default.target\n")
        self.machine.env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={folder}/no-bus"
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(user_systemd.manager(self.machine))
        self.machine.sh(f"ln -s {user_systemd.SOCKET} /run/systemd/private")

    def leave(self):
        self.stack.close()
        self.machine.leave()

    def files(self, times):
        shown = self.machine.sh("systemctl --user show -p ActiveState,UnitFileState web")
        return {**super().files(times), "web": shown}


class OfNetwork(OfSystem):
    """A network of its own."""

    class KIND(Machine):
        NAMESPACES = "mn"

    def __init__(self, folder):
        super().__init__(folder)
        skip_without("iptables", "ip6tables")
        result = self.machine.sh("iptables -S && ip6tables -S", check=False)
        if result.returncode != 0:
            self.leave()
            pytest.skip("the kernel has no tables for iptables: " + result.stderr.strip())


class OfFirewalld(OfSystem):
    """A stand-in for firewall-cmd, with a zone."""

    def __init__(self, folder):
        super().__init__(folder)
        path = fake_firewalld.install(folder / "bin", self.work / "firewall")
        self.machine.env["PATH"] = f"{path}:{self.machine.env['PATH']}"
        self.machine.sh("firewall-cmd --reload")


class OfNode(OfSystem):
    """Real npm, with a registry of two small packages and a home that nobody compares."""

    def __init__(self, folder):
        skip_without("npm")
        super().__init__(folder)
        self.stack = contextlib.ExitStack()
        self.places["REGISTRY"] = self.stack.enter_context(node_registry.registry(folder / "registry"))
        self.machine.env.update(HOME=str(folder / "home"), npm_config_prefix=str(self.work / "global"), npm_config_update_notifier="false")
        (folder / "home").mkdir()

    def leave(self):
        self.stack.close()
        super().leave()


class OfOrchestrator(OfSystem):
    """A daemon of kepler, and no other machine."""
    FOLDERS = []

    def __init__(self, folder):
        self.home = Home()
        self.home.start_daemon()
        self.machine = Machine(folder, namespace=False)
        self.machine.env = self.home.environment()
        self.work = folder / "work"
        self.work.mkdir()
        self.places = {"WORK": str(self.work)}

    def leave(self):
        self.home.close()


class OfDatabases(OfSystem):
    """States about a server of databases."""
    FOLDERS = []

    def __init__(self, folder, server):
        self.machine = Machine(folder, namespace=False)
        self.work, self.server = folder, server
        self.places = {"LOGIN": server.login, "WORK": str(folder)}
        (folder / "query.sql").write_text("SELECT 1 AS one;\n")

    def sh(self, text):
        return "\n".join(self.server.sql(text)) if text else ""

    def files(self, times):
        return {}


def make_wheel(folder):
    folder.mkdir()
    with zipfile.ZipFile(folder / "ztpackage-1.0-py3-none-any.whl", "w") as wheel:
        info = "ztpackage-1.0.dist-info"
        wheel.writestr("ztpackage.py", "x = 1\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: ztpackage\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: zt\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"ztpackage.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@contextlib.contextmanager
def machine_of(kind, folder, name=""):
    machine = kind(folder)
    with contextlib.ExitStack() as stack:
        stack.callback(machine.leave)
        if name == "mount.swap":
            machine.places["DISK"] = str(stack.enter_context(disk_folder()))
            stack.callback(machine.sh, "swapoff DISK/swap 2>/dev/null || true")
        elif name == "pip.uptodate":
            machine.places["PIP"] = str(fake_pip.install(folder / "fake/pip3").parent)
        elif name.startswith("pip."):
            make_wheel(machine.work / "wheels")
            real_pip.make_venv(machine.work / "venv")
            (machine.work / "venv/pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {machine.work}/wheels\n")
        yield machine


# --- the contract --------------------------------------------------------------------------------------

def word(results, module=None):
    """The outcome of the state, or of that of a module."""
    states = [state for name, state in results.items() if not module or name.startswith(module + ":")]
    assert len(states) == 1, results
    state = states[0]
    return "failed" if state["failed"] else "changed" if state["changed"] else "skipped" if "skip" in state else "ok"


def expect(machine, want, *words):
    results = machine.zester(*words)
    assert word(results) == want, (words, results)
    return results


def without(files, pattern):
    return {path: what for path, what in files.items() if not pattern or not re.search(pattern, path)}


def differences(before, after):
    return {path: (before.get(path), after.get(path)) for path in {*before, *after} if before.get(path) != after.get(path)}


# What a check finds; a run that has changed it says what it made of it.
FOUND = re.compile(r"does not exist|should be |should not |needs to |is not |missing")


def tell_what_was_made(results):
    for state in results.values():
        told = [line for line in state.get("diff", "").split("\n") if not line.startswith(("-", "+", "@", " "))]
        assert not [line for line in told if FOUND.search(line)], told


def keep_the_contract(machine, name, case):
    skip_without(*case.needs)
    machine.sh(case.setup)
    machine.declare(name, case.args)
    seen = machine.sh(case.look)
    before, exact = machine.files(False), machine.files(True)
    expect(machine, "changed", "state.apply", "case", "--test")
    assert differences(exact, machine.files(True)) == {}, "a dry run touches nothing"
    assert machine.sh(case.look) == seen
    tell_what_was_made(expect(machine, "changed", "state.apply", "case"))
    expect(machine, "ok", "state.apply", "case", "--test")
    expect(machine, "ok", "state.apply", "case")
    expect(machine, "changed", "state.revert", "case")
    assert differences(without(before, case.left), without(machine.files(False), case.left)) == {}, "a revert is exact"
    assert machine.sh(case.look) == seen
    expect(machine, "changed", "state.apply", "case", "--test")
    foretell_a_watched_change(machine, name, case)


def foretell_a_watched_change(machine, name, case):
    """What is clean and watches something that changes: the dry run says what the run will."""
    expect(machine, "changed", "state.apply", "case")
    machine.declare(name, case.args, "change:\n  test.succeed_with_changes:\n    - watch_in: [it]\n")
    dry, real = (word(machine.zester("state.apply", "case", *words), name) for words in (["--test"], []))
    assert dry == real and real in ("ok", "changed"), (dry, real)


@pytest.mark.parametrize("name", sorted(SYSTEM))
def test_states_of_the_system_keep_the_contract(tmp_path, name):
    with machine_of(OfSystem, tmp_path, name) as machine:
        keep_the_contract(machine, name, SYSTEM[name])


@needs_apt
@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_states_of_packages_keep_the_contract(tmp_path, name):
    with machine_of(OfPackages, tmp_path) as machine:
        keep_the_contract(machine, name, PACKAGES[name])


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_states_of_services_keep_the_contract(tmp_path, name):
    with machine_of(OfServices, tmp_path) as machine:
        keep_the_contract(machine, name, SERVICES[name])


@pytest.mark.parametrize("name", sorted(NPM))
def test_states_of_npm_keep_the_contract(tmp_path, name):
    with machine_of(OfNode, tmp_path) as machine:
        keep_the_contract(machine, name, NPM[name])


@pytest.mark.parametrize("name", sorted(ORCHESTRATOR))
def test_states_of_the_orchestrator_keep_the_contract(tmp_path, name):
    with machine_of(OfOrchestrator, tmp_path) as machine:
        keep_the_contract(machine, name, ORCHESTRATOR[name])


@pytest.mark.parametrize("name", sorted(FIREWALL))
def test_states_of_the_firewall_keep_the_contract(tmp_path, name):
    with machine_of(OfNetwork, tmp_path) as machine:
        keep_the_contract(machine, name, FIREWALL[name])


@pytest.mark.parametrize("name", sorted(FIREWALLD))
def test_states_of_firewalld_keep_the_contract(tmp_path, name):
    with machine_of(OfFirewalld, tmp_path) as machine:
        keep_the_contract(machine, name, FIREWALLD[name])


@pytest.fixture(name="mariadb", scope="module")
def fixture_mariadb():
    with databases.mariadb() as server:
        yield server


@pytest.mark.parametrize("name", sorted(MYSQL))
def test_states_of_mysql_keep_the_contract(tmp_path, name, mariadb):
    keep_the_contract(OfDatabases(tmp_path, mariadb), name, MYSQL[name])


@pytest.fixture(name="postgres", scope="module")
def fixture_postgres():
    with databases.postgres() as server:
        yield server


@pytest.mark.parametrize("name", sorted(POSTGRES))
def test_states_of_postgres_keep_the_contract(tmp_path, name, postgres):
    keep_the_contract(OfDatabases(tmp_path, postgres), name, POSTGRES[name])


@pytest.mark.parametrize("name", sorted(SAYING))
def test_states_that_only_say_something_say_it_each_time(tmp_path, name):
    args, dry, real = SAYING[name]
    machine = Machine(tmp_path, namespace=False)
    (machine.states / "case.zy").write_text(f"it:\n  {name}: {args}\n".replace("WORK", str(tmp_path)))
    for _ in range(2):
        for want, words in ((dry, ["--test"]), (real, [])):
            results = by_name(machine.zester("state.apply", "case", *words)[0])
            assert word(results) == want, results
    assert not (tmp_path / "made").exists()
