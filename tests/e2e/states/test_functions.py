"""Functions that tell what a machine is like, by hand and from templates, on a machine of its own."""
import json
import os
import subprocess

import pytest

from machine import PROGRAM, Machine


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    yield machine
    machine.leave()


def call(machine, *words):
    """What a function gives."""
    records, status = machine.zester(*words)
    assert status == 0
    return records[0]["results"][0]["details"]["result"]


def refused(machine, *words):
    result = machine.run(PROGRAM, "--local", "--data-dir", machine.root / "data", *words, check=False)
    assert result.returncode == 1, result.stdout
    return result.stderr


def test_a_fact_is_written_and_there_in_the_next_run(machine):
    machine.sh("rm -f /etc/zester/facts")  # of the machine below
    assert call(machine, "facts.set", "site.role", "web") == "web"
    assert call(machine, "grains.setval", "key=site.ports", "val=[80, 443]") == [80, 443]
    assert call(machine, "facts.get", "site") == {"role": "web", "ports": [80, 443]}
    assert call(machine, "grains.get", "site:role") == "web"
    assert "role: web" in machine.path("/etc/zester/facts").read_text()
    assert machine.path("/etc/zester/facts").stat().st_mode & 0o777 == 0o644
    assert "'value' is missing" in refused(machine, "facts.set", "x")
    assert "has no dry run" in refused(machine, "facts.set", "x", "y", "--test")
    assert "x" not in call(machine, "facts.keys")


def test_accounts_are_listed(machine):
    machine.sh("groupadd -g 4400 makers; useradd -u 4300 ada")
    assert "ada" in call(machine, "user.list_users") and "root" in call(machine, "user.list_users")
    assert "makers" in call(machine, "group.list_groups")


def test_files_of_the_system_are_read(machine):
    machine.path("/etc/hosts").write_text("127.0.0.1 localhost # loop\n10.0.0.1\tweb www\n10.0.0.1 again\n")
    assert call(machine, "hosts.list_hosts") == {"127.0.0.1": ["localhost"], "10.0.0.1": ["web", "www", "again"]}
    machine.path("/etc/fstab").write_text("# disks\nUUID=1 /srv/a\\040b ext4 noatime 0 2\ntmpfs /t tmpfs\n")
    assert call(machine, "mount.fstab") == {
        "/srv/a b": {"device": "UUID=1", "fstype": "ext4", "opts": "noatime", "dump": "0", "pass": "2"},
        "/t": {"device": "tmpfs", "fstype": "tmpfs", "opts": "0", "dump": "0", "pass": "0"}}
    machine.path("/etc/default/locale").write_text('# made by hand\nLANG="de_DE.UTF-8"\nLC_TIME=C\n')
    assert call(machine, "locale.get_locale") == "de_DE.UTF-8"
    machine.sh("ln -sf /usr/share/zoneinfo/Europe/Berlin /etc/localtime")
    assert call(machine, "timezone.get_zone") == "Europe/Berlin"
    machine.sh("rm /etc/localtime; echo Asia/Tokyo > /etc/timezone")
    assert call(machine, "timezone.get_zone") == "Asia/Tokyo"
    machine.sh("ln -s /bin/ed /etc/alternatives/test-editor")
    assert call(machine, "alternatives.show_current", "test-editor") == "/bin/ed"
    assert call(machine, "alternatives.show_current", "no-such") == ""
    assert "is not a valid alternative name" in refused(machine, "alternatives.show_current", "../passwd")


def test_keys_of_a_user_are_listed(machine):
    machine.sh("useradd -m -u 4300 ada; install -d -o ada -m 700 /home/ada/.ssh")
    machine.path("/home/ada/.ssh/authorized_keys").write_text(
        '# mine\nno-pty,from="10.0.0.0/8" ssh-ed25519 AAAAC3one ada@home\nnot a key\n')
    assert call(machine, "ssh.auth_keys", "ada") == [
        {"key": "AAAAC3one", "enc": "ssh-ed25519", "comment": "ada@home", "options": 'no-pty,from="10.0.0.0/8"'}]
    assert "user 'nobody-here'" in refused(machine, "ssh.auth_keys", "nobody-here")


def test_the_kernel_and_the_environment_are_asked(machine):
    assert call(machine, "sysctl.get", "kernel.ostype") == "Linux"
    assert "does not exist" in refused(machine, "sysctl.get", "kernel.no_such_thing")
    assert "is not a valid kernel parameter" in refused(machine, "sysctl.get", "../../etc/passwd")
    machine.env["ZESTER_TEST_WORD"] = "a=b"
    assert call(machine, "environ.get", "ZESTER_TEST_WORD") == "a=b"
    assert call(machine, "environ.get", "ZESTER_TEST_NONE", "else") == "else"
    assert call(machine, "environ.items")["ZESTER_TEST_WORD"] == "a=b"
    assert call(machine, "network.get_hostname") == os.uname().nodename


def test_functions_answer_templates_as_well(machine):
    (machine.states / "answers.j2").write_text("")
    machine.path("/etc/hosts").write_text("10.0.0.1 web\n")
    first = machine.settles(f"""
{machine.root}/answer:
  file.managed:
    - contents: {{{{ salt['hosts.list_hosts']()['10.0.0.1'][0] }}}} {{{{ salt['sysctl.get']('kernel.ostype') }}}}
""")
    assert (machine.root / "answer").read_text() == "web Linux\n" and len(first) == 1


def test_the_paths_of_an_archive_are_listed(machine):
    (machine.root / "a").mkdir()
    (machine.root / "a/b").write_text("x")
    subprocess.run(["tar", "-czf", machine.root / "a.tgz", "-C", machine.root, "a"], check=True)
    assert call(machine, "archive.list", machine.root / "a.tgz") == ["a", "a/b"]


def test_words_beyond_the_first_are_the_next_parameters(machine):
    assert call(machine, "pillar.get", "no.such", "otherwise") == "otherwise"
    assert "takes fewer than 2 arguments" in refused(machine, "user.info", "root", "more")
    assert "'default' is given twice, by position and by name" in refused(machine, "pillar.get", "no.such", "a", "default=b")


@pytest.mark.parametrize("name", ["pkg.install", "pkg.remove", "pkg.refresh_db", "service.start", "service.stop",
                                  "service.restart", "service.reload", "service.enable", "service.disable",
                                  "cmd.run_all", "cmd.retcode", "facts.set", "grains.setval"])
def test_a_function_that_acts_has_no_dry_run(machine, name):
    words = [] if name == "pkg.refresh_db" else [f"touch {machine.root}/acted"]
    assert f"{name} has no dry run; nothing was done" in refused(machine, name, *words, "--test")
    assert not (machine.root / "acted").exists()


def test_every_function_and_family_that_was_promised_is_there(machine):
    names = set(call(machine, "sys.list_functions"))
    for family, members in {
            "alternatives": "set show_current", "archive": "extracted list", "cmd": "run run_all retcode which has_exec",
            "cron": "present absent list", "disk": "usage", "environ": "setenv get items", "facts": "get items keys set",
            "file": "read stats file_exists directory_exists basename dirname", "git": "cloned latest revision",
            "grains": "get item items setval", "group": "info list_groups", "hosts": "list_hosts",
            "locale": "present system get_locale", "mount": "mounted unmounted active fstab",
            "network": "hostname interfaces ip_addrs get_hostname", "pillar": "get items keys", "pip": "installed list",
            "pkg": "version list list_pkgs", "service": "status start stop restart reload", "settings": "get items keys",
            "ssh": "auth_keys", "sys": "doc list_functions", "sysctl": "present get",
            "test": "echo version true false ping", "timezone": "system get_zone", "user": "info list_users"}.items():
        for member in members.split():
            assert f"{family}.{member}" in names


# The first line of each manual, by one process.
MANUALS = r"""
{%- set lines = [] %}
{%- for name in salt['sys.list_functions']() %}{% do lines.append(salt['sys.doc'](name).split('\n')[0]) %}{% endfor %}
/mnt/manuals:
  file.managed:
    - contents: {{ lines | join('\n') | tojson }}
"""


def test_the_manual_of_every_name_can_be_read(machine):
    names = call(machine, "sys.list_functions")
    machine.apply(MANUALS)
    lines = machine.path("/mnt/manuals").read_text().splitlines()
    assert len(names) > 100 and [line.split(" - ")[0] for line in lines] == names
    assert call(machine, "sys.doc", "file.managed").splitlines()[0] in lines
    assert "(did you mean 'file.managed'?)" in refused(machine, "sys.doc", "file.managd")


def test_functions_without_a_module_are_listed_and_explained(machine):
    names = call(machine, "sys.list_functions")
    assert names == sorted(names) and len(names) == len(set(names))
    assert {"state.apply", "state.highstate", "event.send", "config.get", "grains.filter_by", "file.managed"} <= set(names)
    assert "schedule.add" not in names  # of an agent
    assert call(machine, "sys.list_functions", "state.show*") == [name for name in names if name.startswith("state.show")]
    assert {"state", "config", "file"} <= set(call(machine, "sys.list_modules"))
    states = call(machine, "sys.list_state_functions", "cmd")
    assert "cmd.run" in states and "cmd.run_all" not in states
    assert "sys" not in call(machine, "sys.list_state_modules")
    assert "state.apply(mods=none, " in call(machine, "sys.doc", "state.apply")
    assert "config.get - " in call(machine, "sys.doc", "config")


def test_the_arguments_of_functions_have_the_form_of_salt(machine):
    assert call(machine, "sys.argspec", "test.echo") == {"test.echo": {"args": ["text"], "defaults": None, "varargs": None, "kwargs": None}}
    assert call(machine, "sys.argspec", "state.apply")["state.apply"]["defaults"] == [None, None, None, False]
    assert call(machine, "sys.argspec", "grains.item")["grains.item"]["args"] == ["keys"]
    assert call(machine, "sys.argspec", "test.arg")["test.arg"] == {"args": [], "defaults": None, "varargs": True, "kwargs": True}
    assert call(machine, "sys.argspec", "event.send")["event.send"]["kwargs"] is True
    assert len(call(machine, "sys.argspec", "file")) > 40
    assert "no function matches 'no.such'" in refused(machine, "sys.argspec", "no.such")


def test_calls_tell_their_arguments(machine):
    assert call(machine, "test.arg", "1", "two", "a={b: [3]}") == {"args": [1, "two"], "kwargs": {"a": {"b": [3]}}}
    assert call(machine, "test.kwarg", "a=1", "b=x") == {"a": 1, "b": "x"}
    assert "'no' is not there" in refused(machine, "pillar.keys", "no")


def manual(machine, *words):
    return machine.run(PROGRAM, "doc", *words)


def test_a_word_that_is_not_the_name_of_a_module_is_searched_in_names_and_texts(machine):
    told = manual(machine, "restart").splitlines()
    assert told[0] == "no module has the name 'restart'; these mention it:"
    names = [line.split()[0] for line in told if line.startswith("  ")]
    assert names[0] == "service.restart" and "service.running" in names and "file.managed" not in names
    assert "user.present" in manual(machine, "Shell")
    wrong = machine.run(PROGRAM, "doc", "no such words", check=False)
    assert wrong.returncode == 1 and "unknown module 'no such words'" in wrong.stderr



def test_the_manual_has_parameters_defaults_and_an_example(machine):
    text = manual(machine, "pkg.installed")
    lines = {line.split()[0]: line for line in text.split("parameters:")[1].splitlines() if line}
    assert "the ID" in lines["name"] and "false" in lines["skip_verify"] and "- nginx: '>=1.18'" in text
    assert max(map(len, text.split("parameters:")[0].splitlines())) <= 100
    assert "file.managed" in manual(machine) and "group.info - " in manual(machine, "group")
    assert {entry["name"] for entry in json.loads(manual(machine, "group", "--json"))} == {
        "group.absent", "group.info", "group.list_groups", "group.present"}
    wrong = machine.run(PROGRAM, "doc", "pkg.instaled", "--json", check=False)
    assert wrong.returncode == 1 and "did you mean 'pkg.installed'?" in wrong.stderr


# What the examples find in the folder, which is fresh for each of them.
EXAMPLE_FILES = """
cd /mnt && find . -mindepth 1 -delete
echo here > present
printf -- '--- present\\n+++ present\\n@@ -1 +1 @@\\n-here\\n+there\\n' > here.patch
printf 'setting=1\\n#hidden=1\\n' > hosts.conf
echo 'PermitRootLogin yes' > sshd_config
echo 'port=80' > app.conf
mkdir -p source/sub; echo a > source/a; echo b > source/sub/b
mkdir -p empty/er backups; touch backups/backup-20240101 backups/backup-20240102 backups/other
printf '#!/bin/sh\\necho made > "$1"\\n' > script.sh
"""


def test_every_example_of_the_manual_can_be_pasted_and_run(machine):
    states = [entry for entry in json.loads(manual(machine, "--json")) if entry["kind"] == "state"]
    assert len(states) > 60
    for entry in states:
        ref = entry["name"].replace(".", "_")
        (machine.states / f"{ref}.sls").write_text(entry["example"].replace("/tmp/", "/mnt/"))
        check = machine.run(PROGRAM, "--local", "--states-dir", machine.states, "--data-dir", machine.root / "data",
                            "state.check", ref, check=False)
        assert check.returncode == 0, check.stderr
        if "/tmp/" in entry["example"]:
            machine.sh(EXAMPLE_FILES)
            results, status = machine.zester("state.apply", ref)
            assert status == 0, results


def test_the_folders_of_salt_are_used_where_ours_are_missing_and_that_is_said_once(machine):
    machine.sh("mkdir /srv/salt /srv/pillar && echo 'base: {\"*\": [site]}' > /srv/pillar/top.sls && echo 'who: me' > /srv/pillar/site.sls")
    machine.path("/srv/salt/web.sls").write_text("x: {file.managed: [{name: /srv/x, contents: {{ pillar.who }}}]}\n")
    words = [PROGRAM, "--local", "--data-dir", machine.root / "data", "state.apply", "web"]
    result = machine.run(*words, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("/srv/salt") == 1 and machine.path("/srv/x").read_text() == "me\n"
    machine.sh("mkdir -p /srv/zester/states && echo 'y: {test.nop: []}' > /srv/zester/states/web.zy")
    result = machine.run(*words, check=False)
    assert result.returncode == 0 and "/srv/salt" not in result.stderr
