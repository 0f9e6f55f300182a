"""Lines in files of the system, crontabs, mounts and kernel parameters, on a machine of its own."""
import os

import pytest

from machine import Machine, disk_folder, skip_without

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00"


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    yield machine
    machine.leave()


def test_a_host_gets_two_families_from_two_states_and_goes_again(machine):
    hosts = machine.path("/etc/hosts")
    hosts.write_text("127.0.0.1 localhost # loop\n10.0.0.1 web old\n")
    machine.settles("""
four: {host.present: [{name: web, ip: 10.0.0.2}]}
six: {host.present: [{name: web, ip: 'fd00::2'}]}
list: {host.present: [{name: db, ip: [10.0.0.1, 'fd00::1'], aliases: [db.example.org]}]}
""")
    lines = hosts.read_text().splitlines()
    assert lines[:2] == ["127.0.0.1 localhost # loop", "10.0.0.1 old db db.example.org"]
    assert sorted(lines[2:]) == ["10.0.0.2\tweb", "fd00::1\tdb db.example.org", "fd00::2\tweb"]
    machine.revert()
    assert hosts.read_text() == "127.0.0.1 localhost # loop\n10.0.0.1 web old\n"
    machine.settles("old: {host.absent: []}")
    assert hosts.read_text() == "127.0.0.1 localhost # loop\n10.0.0.1 web\n"


def test_a_file_that_a_container_mounts_is_edited_in_place(machine):
    """/etc/hosts of a container is a mount: nothing can be renamed to it."""
    machine.path("/srv/hosts").write_text("127.0.0.1 localhost\n192.0.2.1 a-name-that-makes-the-file-longer\n")
    machine.sh("mount --bind /srv/hosts /etc/hosts")
    machine.settles("two: {host.present: [{ip: 192.0.2.2}]}")
    assert machine.path("/srv/hosts").read_text().endswith("192.0.2.2\ttwo\n")
    machine.settles("/etc/hosts: {file.managed: [{contents: short, mode: '0640'}]}")
    assert machine.path("/srv/hosts").read_text() == "short\n"
    assert machine.path("/etc/hosts").stat().st_mode & 0o777 == 0o640
    results = machine.revert()
    assert not any(state["failed"] for state in results.values()), results
    assert machine.path("/etc/hosts").read_text().startswith("127.0.0.1 localhost\n")
    assert not [name for name in os.listdir(machine.path("/etc")) if name.startswith(".zester")]
    machine.sh("mount -o remount,ro,bind /etc/hosts")
    failed = machine.apply("three: {host.present: [{ip: 192.0.2.3}]}")["host.present:three"]
    assert "write '/etc/hosts', which is mounted: Read-only file system" in failed["error"]


def test_times_that_no_cron_knows_are_reported_before_anything_runs(machine):
    said = machine.mistakes("""
a: {cron.present: [{name: x, minute: 60}]}
b: {cron.present: [{name: x, hour: 24}]}
c: {cron.present: [{name: x, daymonth: 0}]}
d: {cron.present: [{name: x, dayweek: someday}]}
""")
    assert ":2:38: 'minute' must be numbers from 0 to 59" in said and "got '60'" in said
    for words in ("'hour' must be numbers from 0 to 23", "'daymonth' must be numbers from 1 to 31",
                  "'dayweek' must be numbers from 0 to 7"):
        assert words in said


def test_lines_cannot_be_smuggled_in(machine):
    said = machine.mistakes(f"""
a: {{host.present: [{{name: "x\\n6.6.6.6 bank", ip: 10.0.0.1}}]}}
b: {{host.present: [{{name: x, ip: nowhere}}]}}
c: {{ssh_auth.present: [{{name: {KEY}, user: root, comment: "x\\nssh-rsa AAAA evil"}}]}}
d: {{cron.present: [{{command: "true\\n* * * * * evil"}}]}}
e: {{cron.present: [{{command: "true", minute: "* *"}}]}}
f: {{mount.mounted: [{{name: /mnt/x, device: "a\\nb"}}]}}
g: {{sysctl.present: [{{name: "a\\nb", value: 1}}]}}
h: {{sysctl.present: [{{name: kernel.x, value: "1\\nb=2"}}]}}
""")
    assert said.count("case.zy:") >= 8, said
    assert "'ip' must be an IPv4 or IPv6 address, got 'nowhere'" in said


# A parameter of a line in a file of the system: BAD stands where a line end must not come through.
ONE_LINE = f"""
user.present: [{{name: BAD}}]
user.present: [{{name: x, fullname: BAD}}]
user.present: [{{name: x, roomnumber: BAD}}]
user.present: [{{name: x, shell: BAD}}]
user.present: [{{name: x, home: /BAD}}]
user.present: [{{name: x, groups: [BAD]}}]
user.present: [{{name: x, gid: BAD}}]
user.present: [{{name: x, password: BAD}}]
user.present: [{{name: x, expire: BAD}}]
group.present: [{{name: BAD}}]
group.present: [{{name: x, members: [BAD]}}]
group.present: [{{name: x, addusers: [BAD]}}]
host.present: [{{name: x, ip: 10.0.0.1, aliases: [BAD]}}]
host.absent: [{{name: BAD}}]
cron.present: [{{name: x, user: BAD}}]
cron.present: [{{name: x, identifier: BAD}}]
cron.present: [{{name: x, special: BAD}}]
cron.present: [{{name: x, hour: BAD}}]
mount.mounted: [{{name: /BAD, device: y}}]
mount.mounted: [{{name: /x, device: y, fstype: BAD}}]
mount.mounted: [{{name: /x, device: y, opts: BAD}}]
sysctl.present: [{{name: a.b, value: BAD}}]
ssh_auth.present: [{{name: {KEY}, user: root, options: [BAD]}}]
ssh_auth.present: [{{name: {KEY}, user: root, enc: BAD}}]
ssh_auth.present: [{{name: BAD, user: root}}]
ssh_known_hosts.present: [{{name: BAD, key: {KEY}}}]
ssh_known_hosts.present: [{{name: x, key: BAD}}]
ssh_known_hosts.absent: [{{name: BAD}}]
environ.setenv: [{{name: BAD, value: x}}]
environ.setenv: [{{name: X, value: BAD}}]
locale.system: [{{name: BAD}}]
locale.present: [{{name: BAD}}]
timezone.system: [{{name: BAD}}]
network.hostname: [{{name: BAD}}]
pkgrepo.managed: [{{name: x, baseurl: BAD}}]
pkgrepo.managed: [{{name: x, humanname: BAD, baseurl: deb http://x y z}}]
""".strip().splitlines()


@pytest.mark.parametrize("end", ["\\n", "\\r", "\\0"])
def test_no_parameter_lets_a_line_end_through(machine, end):
    def quoted(line):
        return line.replace("/BAD", f'"/x{end}y"').replace("BAD", f'"x{end}y"')

    said = machine.mistakes("".join(f"s{i}: {{{quoted(line)}}}\n" for i, line in enumerate(ONE_LINE)))
    for number, line in enumerate(ONE_LINE, 1):
        assert f"case.zy:{number}:" in said, line


def test_a_key_belongs_to_the_user_with_the_modes_sshd_requires(machine):
    machine.sh("useradd -m -u 4300 ada")
    machine.settles(f"""
key: {{ssh_auth.present: [{{name: {KEY}, enc: ed25519, user: ada, comment: ada@home, options: [no-pty]}}]}}
""")
    path = machine.path("/home/ada/.ssh/authorized_keys")
    assert path.read_text() == f"no-pty ssh-ed25519 {KEY} ada@home\n"
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (4300, 0o600)
    assert (path.parent.stat().st_uid, path.parent.stat().st_mode & 0o777) == (4300, 0o700)
    machine.settles(f"key: {{ssh_auth.absent: [{{name: {KEY}, user: ada}}]}}")
    assert path.read_text() == ""
    machine.revert()
    assert not path.parent.exists()


def test_a_whole_line_and_a_file_of_keys(machine):
    path = machine.root / "keys"
    path.write_text("# mine\nssh-rsa AAAAother me\n")
    (machine.states / "team.pub").write_text("ssh-rsa AAAAone one\n\n# two\nssh-rsa AAAAtwo two\n")
    machine.settles(f"""
line: {{ssh_auth.present: [{{name: 'from="10.0.0.0/8" ssh-ed25519 {KEY} x', config: {path}}}]}}
team: {{ssh_auth.present: [{{source: 'salt://team.pub', config: {path}, require: [ssh_auth: line]}}]}}
""")
    assert path.read_text() == (f'# mine\nssh-rsa AAAAother me\nfrom="10.0.0.0/8" ssh-ed25519 {KEY} x\n'
                                "ssh-rsa AAAAone one\nssh-rsa AAAAtwo two\n")


def test_a_user_cannot_lead_root_elsewhere_by_a_link(machine):
    machine.sh("useradd -m -u 4300 ada; mkdir /home/ada/.ssh; ln -s /etc/shadow /home/ada/.ssh/authorized_keys;"
               "chown -hR ada /home/ada/.ssh")
    result = machine.apply(f"key: {{ssh_auth.present: [{{name: {KEY}, user: ada}}]}}")["ssh_auth.present:key"]
    assert ("refusing to follow '/home/ada/.ssh/authorized_keys': it belongs to 'ada' and leads to a file of 'root'"
            in result["error"])


@pytest.mark.parametrize("link", ["/home/ada/.ssh", "/home/ada/.ssh/authorized_keys", "/home/ada/.ssh/known_hosts"])
def test_no_name_below_a_home_leads_root_to_files_of_others(machine, link):
    """A user who lays ~/.ssh to root's would get into root's authorized_keys what is meant for his own."""
    machine.sh(f"useradd -m -u 4300 ada; mkdir /srv/root; touch /srv/file; mkdir -p $(dirname {link});"
               f"ln -s {'/srv/root' if link.endswith('.ssh') else '/srv/file'} {link}; chown -hR ada /home/ada")
    results = machine.apply(f"""
key: {{ssh_auth.present: [{{name: {KEY}, user: ada}}]}}
host: {{ssh_known_hosts.present: [{{key: {KEY}, user: ada}}]}}
gone: {{ssh_known_hosts.absent: [{{user: ada}}]}}
""")
    failed = {name for name, state in results.items() if "refusing to follow" in state.get("error", "")}
    assert ("ssh_auth.present:key" in failed) == (not link.endswith("known_hosts")), results
    assert ("ssh_known_hosts.present:host" in failed) == (not link.endswith("authorized_keys")), results
    assert machine.path("/srv/file").read_text() == "" and not os.listdir(machine.path("/srv/root"))


def test_hosts_known_to_a_user_are_for_that_user(machine):
    """A file of the user is private, as ssh makes it; one that is there stays as open as it is."""
    machine.sh("useradd -m -u 4300 ada")
    path = machine.path("/home/ada/.ssh/known_hosts")
    machine.settles(f"host: {{ssh_known_hosts.present: [{{key: {KEY}, user: ada}}]}}")
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (4300, 0o600)
    path.chmod(0o644)
    machine.settles(f"other: {{ssh_known_hosts.present: [{{key: {KEY}, user: ada}}]}}")
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (4300, 0o644)


def test_a_link_to_what_the_user_owns_is_followed(machine):
    machine.sh("useradd -m -u 4300 ada; mkdir /home/ada/keys; ln -s keys /home/ada/.ssh; chown -hR ada /home/ada")
    machine.settles(f"key: {{ssh_auth.present: [{{name: {KEY}, user: ada}}]}}")
    assert KEY in machine.path("/home/ada/keys/authorized_keys").read_text()


def test_keys_of_a_host_go_and_other_names_patterns_and_markers_stay(machine):
    skip_without("ssh-keygen")
    path, other = machine.root / "known_hosts", KEY[:-2] + "11"
    before = (f"# mine\na,b ssh-ed25519 {other}\n*.org ssh-ed25519 {other}\n@revoked a ssh-ed25519 {other}\n"
              "a ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDfake")
    path.write_text(before)
    machine.settles(f"a: {{ssh_known_hosts.present: [{{key: {KEY}, config: {path}}}]}}")
    assert path.read_text() == before.replace("a,b", "b") + f"\na ssh-ed25519 {KEY}\n"
    machine.settles(f"a: {{ssh_known_hosts.absent: [{{config: {path}}}]}}")
    assert path.read_text() == "".join(before.replace("a,b", "b").splitlines(keepends=True)[:4])
    assert not machine.apply(f"x.org: {{ssh_known_hosts.absent: [{{config: {path}}}]}}")["ssh_known_hosts.absent:x.org"][
        "changed"]
    machine.revert()
    assert path.read_text() == before


def test_a_hidden_host_goes_by_its_port(machine):
    skip_without("ssh-keygen")
    path = machine.root / "known_hosts"
    machine.settles(f"h: {{ssh_known_hosts.present: [{{key: {KEY}, config: {path}, hash_known_hosts: true, port: 2222}}]}}")
    assert path.read_text().startswith("|1|")
    assert not machine.apply(f"h: {{ssh_known_hosts.absent: [{{config: {path}}}]}}")["ssh_known_hosts.absent:h"]["changed"]
    machine.settles(f"h: {{ssh_known_hosts.absent: [{{config: {path}, port: 2222}}]}}")
    assert path.read_text() == ""


def test_a_user_that_is_not_there_yet_is_a_difference_of_a_dry_run(machine):
    text = f"""
ada: {{user.present: []}}
key: {{ssh_auth.present: [{{name: {KEY}, user: ada, require: [user: ada]}}]}}
"""
    result = machine.apply(text, "--test")["ssh_auth.present:key"]
    assert result["changed"] and "user ada does not exist yet" in result["diff"]
    assert not machine.apply(text)["ssh_auth.present:key"]["failed"]


def test_crontabs_keep_what_is_not_ours(machine):
    skip_without("crontab")
    machine.sh("useradd ada; printf 'MAILTO=me\\n# note\\n0 1 * * *  old   job\\n@reboot start\\n' | crontab -u ada -")
    before = machine.run("crontab", "-u", "ada", "-l")
    machine.settles("""
backup:
  cron.present:
    - command: /bin/backup --all
    - user: ada
    - minute: 30
    - hour: 3
    - comment: every night
taken: {cron.present: [{command: old job, user: ada, minute: 0, hour: 2}]}
boot: {cron.present: [{command: /bin/boot, user: ada, special: '@reboot'}]}
off: {cron.present: [{command: /bin/off, user: ada, commented: true}]}
""")
    now = machine.run("crontab", "-u", "ada", "-l")
    assert "# ZESTER_CRON_ID: backup\n# every night\n30 3 * * * /bin/backup --all\n" in now
    assert "MAILTO=me\n# note\n# ZESTER_CRON_ID: taken\n0 2 * * * old job\n@reboot start\n" in now
    assert "@reboot /bin/boot\n" in now and "#DISABLED# * * * * * /bin/off\n" in now
    assert "backup" in str(machine.zester("cron.list", "ada")[0])
    machine.revert()
    assert machine.run("crontab", "-u", "ada", "-l") == before


def test_an_address_has_the_names_of_host_only_and_no_others(machine):
    hosts = machine.path("/etc/hosts")
    hosts.write_text("127.0.0.1 localhost\n127.0.1.1\told old.example.org # me\n127.0.1.1 more\n10.0.0.1 old\n")
    before = hosts.read_text()
    results = machine.settles("127.0.1.1: {host.only: [{hostnames: [web1.example.org, web1]}]}\n10.0.0.1: {host.only: [{hostnames: []}]}")
    assert "10.0.0.1 is not in /etc/hosts" in results["host.only:10.0.0.1"]["diff"]
    assert hosts.read_text() == "127.0.0.1 localhost\n127.0.1.1\tweb1.example.org web1 # me\n"
    machine.revert()
    assert hosts.read_text() == before
    said = machine.mistakes("a: {host.only: [{name: web1, hostnames: x}]}\nb: {host.only: [{name: 10.0.0.1, hostnames: ['a b', 'c#d']}]}")
    assert "'name' must be an IPv4 or IPv6 address, got 'web1'" in said and "'hostnames' must not contain blanks" in said


def test_a_whole_crontab_comes_from_a_template_and_goes_again(machine):
    skip_without("crontab")
    machine.sh("useradd ada; printf '# mine\\n1 2 * * * old\\n' | crontab -u ada -")
    table = ["crontab", "-u", "ada", "-l"]
    before = machine.run(*table)
    (machine.states / "ada.cron").write_text("MAILTO={{ who }}\n5 * * * * echo 50\\%")
    text = "salt://ada.cron: {cron.file: [{user: ada}, {template: jinja}, {context: {who: me}}%s]}"
    result = machine.settles(text % "")["cron.file:salt://ada.cron"]
    assert "-1 2 * * * old" in result["diff"] and "+MAILTO=me" in result["diff"], result["diff"]
    assert machine.run(*table) == "MAILTO=me\n5 * * * * echo 50\\%\n"
    machine.revert()
    assert machine.run(*table) == before
    kept = machine.apply(text % ", {replace: false}")["cron.file:salt://ada.cron"]
    assert not kept["changed"] and machine.run(*table) == before, kept


def test_a_crontab_that_cron_cannot_read_is_refused_and_the_old_one_stays(machine):
    skip_without("crontab")
    machine.sh("useradd ada; printf '1 2 * * * old\\n' | crontab -u ada -")
    (machine.states / "ada.cron").write_text("61 * * * * never\n")
    failed = machine.apply("salt://ada.cron: {cron.file: [{user: ada}]}")["cron.file:salt://ada.cron"]
    assert "bad minute" in failed["error"], failed
    assert machine.run("crontab", "-u", "ada", "-l") == "1 2 * * * old\n"
    assert not machine.revert()["cron.file:salt://ada.cron"]["failed"]
    (machine.states / "ada.cron").write_text("")
    machine.settles("salt://ada.cron: {cron.file: [{user: ada}]}")
    assert "no crontab for ada" in machine.run("crontab", "-u", "ada", "-l", check=False).stderr
    machine.revert()
    assert machine.run("crontab", "-u", "ada", "-l") == "1 2 * * * old\n"


def test_comments_at_the_top_of_a_crontab_that_has_no_header_stay(machine):
    skip_without("crontab")
    top = "# one\n# two\n# three\n# four\n"
    table = machine.path("/var/spool/cron/crontabs/root")
    table.write_text(top + "1 2 * * * old\n")
    machine.sh("chmod 600 /var/spool/cron/crontabs/root")
    machine.settles("job: {cron.present: [{command: new}]}\nMAILTO: {cron.env_present: [{value: me}]}")
    assert top + "1 2 * * * old\n# ZESTER_CRON_ID: job\n* * * * * new\n" in table.read_text()
    machine.revert()
    assert table.read_text().endswith(top + "1 2 * * * old\n")


def test_nobody_has_no_crontab_to_take_something_from(machine):
    skip_without("crontab")
    for state in machine.apply("""
job: {cron.absent: [{user: no-such-user-here}]}
VAR: {cron.env_absent: [{user: no-such-user-here}]}
""").values():
        assert not state["changed"] and not state["failed"], state


def test_a_dry_run_foresees_the_crontab_of_a_user_that_is_not_there_yet(machine):
    skip_without("crontab")
    text = "job: {cron.present: [{command: /bin/true}, {user: no-such-user-here}]}"
    state = machine.apply(text, "--test")["cron.present:job"]
    assert state["changed"] and not state["failed"], state
    assert "user no-such-user-here does not exist; an earlier state must create it" in state["diff"]
    assert machine.apply(text)["cron.present:job"]["failed"]


def test_a_cron_entry_is_changed_under_its_name_and_removed(machine):
    skip_without("crontab")
    machine.settles("job: {cron.present: [{command: one, minute: 5}]}")
    machine.settles("job: {cron.present: [{command: two, minute: random}]}")
    table = machine.run("crontab", "-l")
    assert "one" not in table and table.count("ZESTER_CRON_ID: job") == 1
    machine.settles("job: {cron.absent: []}")
    assert machine.sh("crontab -l", check=False).returncode != 0 or "two" not in machine.run("crontab", "-l")
    machine.revert()
    assert machine.sh("crontab -l", check=False).returncode != 0


SALTS = """# Lines below here are managed by Salt, do not edit
# SALT_CRON_IDENTIFIER:nightly
0 3 * * * /bin/job
# every hour SALT_CRON_IDENTIFIER:hourly
@hourly /bin/job
# SALT_CRON_IDENTIFIER:idle
#DISABLED#* * * * * /bin/off
# SALT_CRON_IDENTIFIER:/bin/plain
5 * * * * /bin/plain
"""


def test_entries_that_salt_has_written_are_unchanged_and_keep_its_labels(machine):
    skip_without("crontab")
    machine.DIALECT = "sls"
    machine.run("sh", "-c", f"printf '%s' '{SALTS}' | crontab -")
    job = "{0}: {{cron.present: [{{name: /bin/{1}}}, {{identifier: {0}}}, {2}]}}\n"
    text = (job.format("nightly", "job", "{minute: 0}, {hour: 3}") + job.format("hourly", "job", "{special: '@hourly'}, {comment: every hour}") +
            job.format("idle", "off", "{commented: true}") + "/bin/plain: {cron.present: [{identifier: false}, {minute: 5}]}\n")
    assert not any(state["changed"] or state["failed"] for state in machine.apply(text).values())
    machine.settles(text.replace("{commented: true}", "{minute: 7}").replace("{hour: 3}", "{hour: 4}"))
    assert machine.run("crontab", "-l") == SALTS.replace("#DISABLED#* *", "7 *").replace("0 3", "0 4")
    # an entry with another label is another one, although the command is the same
    assert not machine.apply("/bin/job: {cron.absent: []}")["cron.absent:/bin/job"]["changed"]
    machine.settles("/bin/plain: {cron.absent: [{identifier: false}]}\nx: {cron.absent: [{identifier: hourly}]}")
    assert machine.run("crontab", "-l").count("/bin/") == 2


def test_an_address_has_a_comment_and_a_name_of_a_salt_file_may_have_two(machine):
    machine.DIALECT = "sls"
    hosts = machine.path("/etc/hosts")
    hosts.write_text("127.0.0.1 localhost\n10.0.0.1 a b # note\n10.0.0.2 c\n")
    machine.settles("c: {host.present: [{ip: 10.0.0.3}, {comment: third}]}\na: {host.present: [{ip: 10.0.0.1}, {comment: other}]}")
    assert hosts.read_text() == "127.0.0.1 localhost\n10.0.0.1 a b # other\n10.0.0.2 c\n10.0.0.3\tc # third\n"
    machine.settles("c: {host.present: [{ip: 10.0.0.3}, {clean: true}]}")
    assert "10.0.0.2" not in hosts.read_text()


def test_the_hardware_clock_of_a_salt_file_is_in_utc_unless_it_is_left_alone(machine):
    machine.DIALECT = "sls"
    adjtime = machine.path("/etc/adjtime")
    adjtime.write_text("0.0 0 0.0\n0\nLOCAL\n")
    machine.sh("ln -sf /usr/share/zoneinfo/Etc/UTC /etc/localtime; echo Etc/UTC > /etc/timezone; ls /usr/share/zoneinfo/Etc/UTC")
    zone = "Etc/UTC: {timezone.system: [%s]}"
    assert not machine.apply(zone % "{utc: false}")["timezone.system:Etc/UTC"]["changed"]
    machine.settles(zone % "")
    assert adjtime.read_text().endswith("\nUTC\n")
    assert not machine.apply(zone % "{utc: false}")["timezone.system:Etc/UTC"]["changed"]


def test_names_of_hosts_are_hashed_in_a_salt_file_unless_told_otherwise(machine):
    skip_without("ssh-keygen")
    machine.DIALECT = "sls"
    path = machine.root / "known_hosts"
    entry = f"web: {{ssh_known_hosts.present: [{{key: ssh-ed25519 {KEY}}}, {{config: {path}}}%s]}}"
    machine.settles(entry % "")
    assert path.read_text().startswith("|1|")
    path.unlink()
    machine.settles(entry % ", {hash_known_hosts: false}")
    assert path.read_text().startswith("web ssh-ed25519")
    said = machine.mistakes(f"web: {{ssh_known_hosts.present: [{{config: {path}}}]}}")
    assert "requires 'key' or 'fingerprint'" in said


def test_a_locale_that_cannot_be_generated_does_not_get_into_the_list(machine):
    skip_without("localedef", "locale")
    machine.path("/etc/locale.gen").write_text("# en_GB.UTF-8 UTF-8\n")
    result = machine.apply("xx_XX.UTF-8: {locale.present: []}")["locale.present:xx_XX.UTF-8"]
    assert result["failed"] and machine.path("/etc/locale.gen").read_text() == "# en_GB.UTF-8 UTF-8\n"


def test_a_dry_run_mentions_a_program_that_is_no_alternative(machine):
    skip_without("update-alternatives")
    machine.sh("update-alternatives --install /usr/bin/zester-ed zester-ed /bin/sh 10 --admindir /mnt --altdir /mnt; rm -f /usr/bin/zester-ed")
    result = machine.apply("zester-ed: {alternatives.set: [{path: /bin/true, admindir: /mnt, altdir: /mnt}]}", "--test")
    assert "/bin/true is not an alternative for zester-ed; an earlier state" in result["alternatives.set:zester-ed"]["text"]


def test_cron_comments_of_several_lines_and_entries_by_their_special_time(machine):
    skip_without("crontab")
    machine.settles("""
a: {cron.present: [{name: /bin/a, comment: "one\\n* * * * * two", special: '@daily'}]}
b: {cron.present: [{name: /bin/b, identifier: B, special: '@reboot'}]}
""")
    text = machine.sh("crontab -u root -l")
    assert "# one\n# * * * * * two\n@daily /bin/a\n" in text
    machine.settles("b: {cron.absent: [{name: /bin/b, identifier: B, special: '@reboot'}]}")
    assert not machine.apply("a: {cron.absent: [{name: /bin/a, special: '@hourly'}]}")["cron.absent:a"]["changed"]
    assert "control characters" in machine.mistakes('a: {cron.present: [{name: /bin/a, comment: "one\\rtwo"}]}')


def test_variables_of_a_crontab_are_set_before_all_entries_and_come_back(machine):
    skip_without("crontab")
    before = "# mine\nMAILTO = x\n1 * * * * FOO=1 /bin/cmd\nMAILTO=y\n"
    machine.run("sh", "-c", f"printf '{before}' | crontab -")
    machine.settles("MAILTO: {cron.env_present: [{value: ''}]}\nTZ: {cron.env_present: [{value: UTC}]}")
    assert machine.run("crontab", "-l") == 'TZ=UTC\n# mine\nMAILTO=""\n1 * * * * FOO=1 /bin/cmd\n'
    machine.settles("MAILTO: {cron.env_absent: []}")
    assert not machine.apply("FOO: {cron.env_absent: []}")["cron.env_absent:FOO"]["changed"]
    results = machine.revert()
    assert not any(state["failed"] for state in results.values()), results
    assert machine.run("crontab", "-l") == before
    said = machine.mistakes("a: {cron.env_present: [{name: A B, value: x}]}\n"
                            'b: {cron.env_present: [{name: B, value: "x\\ny"}]}\n')
    assert ":1:31: 'A B' is not a valid variable name" in said and ":2:41: 'value' must not contain control characters" in said


def test_many_cron_states_of_one_level_do_not_lose_each_other(machine):
    skip_without("crontab")
    machine.settles("\n".join(f"job{i}: {{cron.present: [{{command: run {i}}}]}}" for i in range(8)))
    assert machine.run("crontab", "-l").count("ZESTER_CRON_ID") == 8


TMPFS = """
/mnt/data:
  mount.mounted:
    - device: tmpfs
    - fstype: tmpfs
    - opts: {opts}
    - mkmnt: true
"""


def options_at(machine, folder):
    return machine.run("findmnt", "-n", "-o", "OPTIONS", folder).strip().split(",")


def test_a_file_system_is_mounted_kept_in_fstab_and_taken_away(machine):
    fstab = machine.path("/etc/fstab")
    fstab.write_text("# mine\nUUID=12  /   ext4 errors=remount-ro 0 1\n")
    machine.settles(TMPFS.format(opts="size=1m,mode=0750,nosuid"))
    assert fstab.read_text() == ("# mine\nUUID=12  /   ext4 errors=remount-ro 0 1\n"
                                 "tmpfs\t/mnt/data\ttmpfs\tsize=1m,mode=0750,nosuid\t0 0\n")
    assert "nosuid" in options_at(machine, "/mnt/data")
    machine.revert()
    assert machine.sh("findmnt /mnt/data", check=False).returncode != 0
    assert fstab.read_text() == "# mine\nUUID=12  /   ext4 errors=remount-ro 0 1\n"
    assert not machine.path("/mnt/data").exists()


def test_other_options_are_remounted_and_taken_back(machine):
    machine.apply(TMPFS.format(opts="size=1m"))
    machine.sh("touch /mnt/data/kept")
    result = machine.settles(TMPFS.format(opts="[size=2m, ro, noexec]"))
    assert "remounted" in result["mount.mounted:/mnt/data"]["diff"]
    assert {"ro", "noexec", "size=2048k"} <= set(options_at(machine, "/mnt/data"))
    assert machine.path("/mnt/data/kept").exists()
    machine.settles(TMPFS.format(opts="size=2m"))
    assert "rw" in options_at(machine, "/mnt/data")


def test_a_folder_is_bound_and_unbound(machine):
    machine.sh("mkdir -p /srv/from /srv/to; touch /srv/from/file")
    text = "/srv/to: {mount.mounted: [{device: /srv/from, fstype: none, opts: 'bind,ro'}]}"
    machine.settles(text)
    assert machine.path("/srv/to/file").exists() and "ro" in options_at(machine, "/srv/to")
    assert "/srv/to" in str(machine.zester("mount.active")[0])
    machine.settles("/srv/to: {mount.unmounted: [{persist: true}]}")
    assert not machine.path("/srv/to/file").exists()
    assert "/srv/to" not in machine.path("/etc/fstab").read_text()
    machine.revert()
    assert machine.sh("findmnt /srv/to", check=False).returncode != 0


def test_options_of_the_file_system_come_back_with_a_revert(machine):
    machine.sh("mkdir /mnt/data; mount -t tmpfs -o size=1m,mode=0710,nosuid tmpfs /mnt/data")
    before = options_at(machine, "/mnt/data")
    assert "size=1024k" in before
    machine.settles("/mnt/data: {mount.mounted: [{device: tmpfs, fstype: tmpfs, opts: 'size=2m,ro', persist: false}]}")
    assert options_at(machine, "/mnt/data") != before
    machine.revert()
    assert options_at(machine, "/mnt/data") == before
    machine.settles("/mnt/data: {mount.unmounted: []}")
    machine.revert()
    assert options_at(machine, "/mnt/data") == before


def test_an_entry_of_another_device_stays_in_fstab(machine):
    machine.path("/etc/fstab").write_text("/dev/sdz1 /mnt/data ext4 defaults 0 2\n")
    text = "/mnt/data: {{mount.unmounted: [{{device: {}, persist: true}}]}}"
    result = machine.apply(text.format("/dev/sdz2"))["mount.unmounted:/mnt/data"]
    assert not result["changed"] and not result["failed"], result
    assert "/mnt/data" in machine.path("/etc/fstab").read_text()
    machine.settles(text.format("/dev/sdz1"))
    assert machine.path("/etc/fstab").read_text() == ""


@pytest.fixture
def swap(machine):
    """A file to swap to; the machine does not swap to it afterwards."""
    skip_without("mkswap", "swapon", "swapoff")
    with disk_folder() as folder:
        path = folder / "a swap"
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)
        path.chmod(0o600)
        machine.run("mkswap", path)
        if machine.run("swapon", path, check=False).returncode != 0:
            pytest.skip("this kernel does not swap to files here")
        machine.run("swapoff", path)
        yield path
        machine.run("swapoff", path, check=False)


def active(machine):
    return machine.run("cat", "/proc/swaps").replace("\\040", " ")


def test_a_file_is_swapped_to_kept_in_fstab_and_left_alone_again(machine, swap):
    machine.path("/etc/fstab").write_text("# mine\n/dev/sdz1 none swap sw 0 0\n")
    machine.settles(f"'{swap}': {{mount.swap: []}}")
    assert str(swap) in active(machine)
    line = str(swap).replace(" ", "\\040") + "\tnone\tswap\tdefaults\t0 0\n"
    assert machine.path("/etc/fstab").read_text() == "# mine\n/dev/sdz1 none swap sw 0 0\n" + line
    machine.run("swapoff", swap)
    again = machine.apply(f"'{swap}': {{mount.swap: []}}")[f"mount.swap:{swap}"]
    assert again["changed"] and again["diff"].endswith(f"activated swap {swap}"), again
    machine.revert()
    assert str(swap) not in active(machine)
    assert machine.path("/etc/fstab").read_text() == "# mine\n/dev/sdz1 none swap sw 0 0\n"


def test_swap_that_was_there_stays_with_its_entry(machine, swap):
    before = str(swap).replace(" ", "\\040") + " swap swap sw,pri=5 0 0\n"
    machine.path("/etc/fstab").write_text(before)
    machine.run("swapon", swap)
    result = machine.apply(f"'{swap}': {{mount.swap: []}}")[f"mount.swap:{swap}"]
    assert not result["changed"] and not result["failed"], result
    machine.revert()
    assert machine.path("/etc/fstab").read_text() == before and str(swap) in active(machine)


def test_what_cannot_be_swapped_to_does_not_get_into_fstab(machine):
    skip_without("swapon")
    machine.path("/etc/fstab").write_text("# mine\n")
    text = "/srv/nowhere: {mount.swap: []}"
    state = machine.apply(text, "--test")["mount.swap:/srv/nowhere"]
    assert state["changed"] and "/srv/nowhere does not exist; an earlier state must create it" in state["diff"], state
    assert "swapon" in machine.apply(text)["mount.swap:/srv/nowhere"]["error"]
    assert machine.path("/etc/fstab").read_text() == "# mine\n"


def test_what_cannot_be_mounted_does_not_get_into_fstab(machine):
    """A broken line there keeps the machine from starting."""
    machine.sh("mkdir /mnt/data")
    before = machine.path("/etc/fstab").read_text() if machine.path("/etc/fstab").exists() else None
    for words in ("device: /dev/nowhere, fstype: ext4", "device: tmpfs, fstype: nosuchfs"):
        failed = machine.apply(f"/mnt/data: {{mount.mounted: [{{{words}}}]}}")["mount.mounted:/mnt/data"]
        assert failed["failed"], failed
        assert (machine.path("/etc/fstab").read_text() if before is not None else None) == before
    machine.revert()


def test_what_was_mounted_comes_back_when_its_replacement_fails(machine):
    machine.sh("mkdir /mnt/data; mount -t tmpfs -o mode=0700 first /mnt/data; touch /mnt/data/mark")
    failed = machine.apply("/mnt/data: {mount.mounted: [{device: /dev/nowhere, fstype: ext4, persist: false}]}")[
        "mount.mounted:/mnt/data"]
    assert "/dev/nowhere" in failed["error"]
    assert "first /mnt/data tmpfs" in machine.run("cat", "/proc/mounts")
    machine.revert()
    assert "first /mnt/data tmpfs" in machine.run("cat", "/proc/mounts")


def test_a_missing_mount_point_is_reported(machine):
    result = machine.apply("/mnt/no: {mount.mounted: [{device: tmpfs, fstype: tmpfs, persist: false}]}")
    assert "mkmnt: true to create it" in result["mount.mounted:/mnt/no"]["error"]


def test_a_kernel_parameter_is_set_kept_and_taken_back(machine):
    proc = machine.root / "proc"
    (proc / "net/ipv4").mkdir(parents=True)
    (proc / "net/ipv4/tcp_rmem").write_text("4096\t131072\t6291456\n")
    text = f"""
net.ipv4.tcp_rmem:
  sysctl.present:
    - value: 4096 200000 6291456
    - proc: {proc}
"""
    machine.settles(text)
    assert (proc / "net/ipv4/tcp_rmem").read_text().split()[1] == "200000"
    conf = machine.path("/etc/sysctl.d/99-zester.conf")
    assert conf.read_text() == "net.ipv4.tcp_rmem = 4096 200000 6291456\n"
    machine.revert()
    assert (proc / "net/ipv4/tcp_rmem").read_text() == "4096\t131072\t6291456"
    assert not conf.exists()
    result = machine.apply(f"no.such: {{sysctl.present: [{{value: 1, proc: {proc}}}]}}")
    assert "the kernel has no parameter 'no.such'" in result["sysctl.present:no.such"]["error"]


# A file of lines with things in it that are not ours, a state that adds to it, and what it then ends with.
LINE_FILES = {
    "hosts": ("127.0.0.1 localhost # loop\n\n# last words", "x: {host.present: [{name: web, ip: 10.0.0.1, config: PATH}]}",
              "10.0.0.1\tweb\n"),
    "fstab": ("# disks\n/dev/sda1 / ext4 defaults 0 1\n# last words",
              "x: {mount.mounted: [{name: /srv/x, device: tmpfs, fstype: tmpfs, mount: false, config: PATH}]}",
              "tmpfs\t/srv/x\ttmpfs\tdefaults\t0 0\n"),
    "sysctl": ("; settings\nvm.a=1\n# last words", "x: {sysctl.present: [{name: vm.b, value: 2, live: false, config: PATH}]}",
               "vm.b = 2\n"),
    "environment": ("# words\nA=1\nB='2", "x: {environ.setenv: [{name: C, value: 3, config: PATH}]}", "C=3\n"),
    "locale": ("# words\nLC_TIME=C", "x: {locale.system: [{name: C.UTF-8, config: PATH}]}", "LANG=C.UTF-8\n"),
    "authorized_keys": ("# mine\nssh-rsa AAAAother me", f"x: {{ssh_auth.present: [{{name: {KEY}, enc: ed25519, config: PATH}}]}}",
                        f"ssh-ed25519 {KEY}\n"),
    "known_hosts": ("# mine\nother ssh-rsa AAAAother",
                    f"x: {{ssh_known_hosts.present: [{{name: web, key: ssh-ed25519 {KEY}, config: PATH}}]}}",
                    f"web ssh-ed25519 {KEY}\n"),
}


@pytest.mark.parametrize("name", LINE_FILES)
def test_files_of_lines_keep_what_they_had_and_come_back_byte_for_byte(machine, name):
    if name == "known_hosts":
        skip_without("ssh-keygen")
    before, state, added = LINE_FILES[name]
    path = machine.root / name
    path.write_text(before)
    path.chmod(0o604)
    os.chown(path, 4242, 4243)
    machine.settles(state.replace("PATH", str(path)))
    assert path.read_text() == before + "\n" + added
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (4242, 4243, 0o604)
    machine.revert()
    assert path.read_text() == before
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (4242, 4243, 0o604)


def test_the_root_is_not_removed_by_whatever_name(machine):
    said = machine.mistakes("a: {file.absent: [{name: //}]}\nb: {file.absent: [{name: /srv/../..}]}\n"
                            "c: {file.absent: [{name: /srv/.}]}\n")
    assert "refusing to remove the root of the file system" in said and "got '/srv/../..'" in said and "got '/srv/.'" in said
    machine.sh("mkdir /mnt/again; mount --bind / /mnt/again")
    failed = machine.apply("a: {file.absent: [{name: /mnt/again}]}", "--test")["file.absent:a"]
    assert "'/mnt/again' is the root of the file system" in failed["error"]
    machine.sh("umount /mnt/again")


def test_a_slash_after_a_link_does_not_lead_through_it(machine):
    machine.sh("mkdir /srv/folder; echo data > /srv/folder/file; ln -s folder /srv/link")
    machine.settles("/srv/link/: {file.absent: []}")
    assert machine.path("/srv/folder/file").read_text() == "data\n"
    machine.revert()
    assert os.readlink(machine.path("/srv/link")) == "folder"


def test_a_state_that_failed_before_it_changed_anything_is_not_called_irrevertible(machine):
    machine.apply("/srv/no/where: {file.managed: [{contents: x}]}")
    result = machine.revert()["file.managed:/srv/no/where"]
    assert not result["changed"] and "cannot be reverted" not in result["text"], result
    machine.apply("c: {cmd.run: [{name: 'true'}]}")
    assert "cmd.run cannot be reverted" in machine.revert()["cmd.run:c"]["text"]


def test_null_contents_ask_for_nothing(machine):
    """What a template leaves empty must not empty the file."""
    machine.path("/srv/file").write_text("data\n")
    for key in ("contents", "content"):
        result = machine.apply(f"/srv/file:\n  file.managed:\n    - {key}:\n    - mode: '0600'\n")["file.managed:/srv/file"]
        assert not result["failed"], result
        assert machine.path("/srv/file").read_text() == "data\n"


def test_a_parameter_of_the_kernel_that_stands_there_twice_has_one_value(machine):
    config = machine.path("/etc/sysctl.conf")
    config.write_text("# c\nnet.ipv4.ip_forward = 1\nnet/ipv4/ip_forward=0\n-net.ipv4.ip_forward = 2\nnet.ipv4.tcp_sack=1\n")
    before = config.read_text()
    machine.settles("net.ipv4.ip_forward: {sysctl.present: [{value: 1}, {live: false}, {config: /etc/sysctl.conf}]}")
    assert config.read_text() == "# c\nnet.ipv4.ip_forward = 1\nnet.ipv4.tcp_sack=1\n"
    machine.revert()
    assert config.read_text() == before
