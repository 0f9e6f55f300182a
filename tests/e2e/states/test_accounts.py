"""user.* and group.* with the real programs, in copies of the account files."""
import subprocess

import pytest

from machine import PROGRAM, Machine, skip_without

HASH = "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"
FILES = ["passwd", "shadow", "group", "gshadow", "subuid", "subgid"]


@pytest.fixture
def machine(tmp_path):
    skip_without("useradd", "usermod", "groupadd", "chpasswd", "chage", "gpasswd")
    machine = Machine(tmp_path)
    yield machine
    machine.leave()


def account_files(machine):
    return {name: machine.path(f"/etc/{name}").read_text() for name in FILES
            if machine.path(f"/etc/{name}").exists()}


def test_a_user_is_made_with_all_that_is_said_and_goes_again(machine):
    before = account_files(machine)
    machine.settles(f"""
staff2:
  group.present:
    - gid: 4200
deploy:
  user.present:
    - uid: 4300
    - gid: staff2
    - groups: [daemon, bin]
    - home: /home/deploy
    - shell: /bin/bash
    - fullname: Deploy User
    - roomnumber: 12
    - password: {HASH}
    - maxdays: 90
    - expire: 2030-01-02
    - require: [group: staff2]
""")
    assert machine.run("getent", "passwd", "deploy") == "deploy:x:4300:4200:Deploy User,12:/home/deploy:/bin/bash\n"
    assert set(machine.run("id", "-nG", "deploy").split()) == {"staff2", "daemon", "bin"}
    shadow = machine.run("getent", "shadow", "deploy").strip().split(":")
    assert shadow[1] == HASH and shadow[4] == "90" and shadow[7] == "21916"
    assert machine.path("/home/deploy").is_dir()
    results = machine.revert()
    assert not "".join(state.get("error", "") for state in results.values())
    assert account_files(machine) == before
    assert not machine.path("/home/deploy").exists()


def test_the_password_hash_is_never_shown(machine):
    machine.sh("useradd deploy")
    text = f"deploy: {{user.present: [{{password: '{HASH}'}}]}}"
    for words in (["--test"], []):
        (machine.states / "case.zy").write_text(text)
        result, _ = machine.zester("state.apply", "case", *words)
        assert HASH not in str(result) and "password hash differs" in str(result) or not words
    assert HASH in machine.run("getent", "shadow", "deploy")


def test_a_change_touches_only_what_differs_and_is_taken_back_exactly(machine):
    machine.sh("groupadd old; groupadd new; useradd -u 4301 -G old -c 'Old Name' -s /bin/sh -m mallory;"
               "chage -M 50 mallory; touch /home/mallory/file; chown 4301 /home/mallory/file")
    before = account_files(machine)
    text = f"""
mallory:
  user.present:
    - uid: 4444
    - groups: [new]
    - remove_groups: true
    - shell: /bin/bash
    - fullname: New Name
    - home: /home/elsewhere
    - password: '{HASH}'
    - mindays: 3
"""
    looked = machine.apply(text, "--test")["user.present:mallory"]["text"]
    assert "uid 4301 != 4444" in looked and "groups [old] != [new]" in looked
    assert account_files(machine) == before
    machine.settles(text)
    assert machine.run("id", "-nG", "mallory").split() == ["mallory", "new"]
    assert machine.path("/home/elsewhere/file").stat().st_uid == 4444
    assert not machine.path("/home/mallory").exists()
    result = machine.revert()["user.present:mallory"]
    assert not result["failed"], result
    assert account_files(machine) == before
    assert machine.path("/home/mallory/file").stat().st_uid == 4301


def test_a_group_that_gets_its_number_back_takes_its_accounts_along(machine):
    machine.sh("groupadd -g 4400 crew; useradd -g crew -M eve")
    before = account_files(machine)
    machine.settles("crew: {group.present: [{gid: 4500}]}")
    assert machine.run("id", "-g", "eve").strip() == "4500"
    result = machine.revert()["group.present:crew"]
    assert "reverted group crew" in result["text"], result
    assert account_files(machine) == before


def test_a_dry_run_says_that_a_login_group_cannot_be_removed(machine):
    machine.sh("groupadd crew; useradd -g crew -M eve")
    text = "crew: {group.absent: []}"
    assert "crew is the login group of user 'eve'" in machine.apply(text, "--test")["group.absent:crew"]["text"]
    assert "cannot remove the primary group of user 'eve'" in machine.apply(text)["group.absent:crew"]["error"]
    machine.sh("userdel eve; groupadd -f crew")
    assert "login group" not in machine.apply(text, "--test")["group.absent:crew"]["text"]
    machine.settles(text)


def test_groups_are_added_and_the_login_group_never_counts(machine):
    machine.sh("groupadd one; groupadd two; useradd -G one eve")
    machine.settles("eve: {user.present: [{groups: [two]}]}")
    assert machine.run("id", "-nG", "eve").split() == ["eve", "one", "two"]
    result = machine.apply("eve: {user.present: [{groups: [one, two, eve], remove_groups: true}]}")
    assert not result["user.present:eve"]["changed"], result
    machine.settles("eve: {user.present: [{groups: [], remove_groups: true}]}")
    assert machine.run("id", "-nG", "eve").split() == ["eve"]


def test_an_account_of_a_salt_file_leaves_other_groups_and_keeps_its_ids(machine):
    machine.DIALECT = "sls"
    machine.sh("groupadd one; groupadd two; groupadd ted; useradd -u 4301 -M -G one eve; useradd -g two -G ted -M ted")
    machine.settles("eve: {user.present: [{groups: [two]}, {createhome: false}]}")
    assert machine.run("id", "-nG", "eve").split() == ["eve", "two"]
    machine.settles("eve: {user.present: [{groups: [one]}, {remove_groups: false}, {createhome: false}]}")
    assert machine.run("id", "-nG", "eve").split() == ["eve", "one", "two"]
    # the group that has its name does not count
    result = machine.apply("ted: {user.present: [{groups: []}, {createhome: false}]}")["user.present:ted"]
    assert not result["changed"] and machine.run("id", "-nG", "ted").split() == ["two", "ted"]
    for words in (["--test"], []):
        result = machine.apply("eve: {user.present: [{uid: 4401}]}\nted: {user.present: [{gid: one}]}", *words)
        assert "allow_uid_change is not true" in result["user.present:eve"]["error"]
        assert "allow_gid_change is not true" in result["user.present:ted"]["error"]
    machine.settles("eve: {user.present: [{uid: 4401}, {gid: two}, {allow_uid_change: true}, {allow_gid_change: true}]}")


def test_a_home_of_a_salt_file_is_made_and_not_moved(machine):
    machine.DIALECT = "sls"
    machine.sh("useradd -m eve; touch /home/eve/file")
    machine.settles("eve: {user.present: [{home: /home/other}]}")
    assert machine.path("/home/eve/file").exists() and not machine.path("/home/other/file").exists()
    assert machine.path("/home/other").stat().st_mode & 0o777 == 0o755


def test_a_password_is_locked_and_unlocked(machine):
    machine.sh(f"useradd -M eve; usermod -p '{HASH}' eve")
    machine.settles("eve: {user.present: [{password_lock: true, createhome: false}]}")
    assert machine.run("getent", "shadow", "eve").split(":")[1] == "!" + HASH
    machine.settles("eve: {user.present: [{password_lock: false, createhome: false}]}")
    assert machine.run("getent", "shadow", "eve").split(":")[1] == HASH
    machine.settles(f"bob: {{user.present: [{{password: '{HASH}', password_lock: true, createhome: false}}]}}")
    assert machine.run("getent", "shadow", "bob").split(":")[1] == "!" + HASH
    machine.settles(f"bob: {{user.present: [{{password: '{HASH}', password_lock: false, createhome: false}}]}}")
    assert machine.run("getent", "shadow", "bob").split(":")[1] == HASH
    # without a password there is nothing to unlock
    machine.sh("useradd -M ada")
    assert not machine.apply("ada: {user.present: [{password_lock: false, createhome: false}]}")["user.present:ada"]["changed"]


def test_optional_groups_count_where_they_exist(machine):
    machine.sh("groupadd there; useradd eve")
    machine.settles("eve: {user.present: [{optional_groups: [there, nowhere]}]}")
    assert machine.run("id", "-nG", "eve").split() == ["eve", "there"]


def test_a_missing_group_fails_with_its_name(machine):
    result = machine.apply("eve: {user.present: [{groups: [nowhere]}]}")["user.present:eve"]
    assert 'group "nowhere" does not exist' in result["error"]
    result = machine.apply("eve: {user.present: [{gid: nowhere}]}")["user.present:eve"]
    assert 'primary group "nowhere" does not exist' in result["error"]
    assert machine.sh("getent passwd eve", check=False).returncode != 0


def test_a_dry_run_mentions_groups_that_are_not_there(machine):
    machine.sh("useradd -M bob")
    text = "{}: {{user.present: [{{gid: nowhere}}, {{groups: [daemon, nothing]}}]}}"
    missing = '"{}" does not exist; an earlier state must create it (apply fails otherwise)'
    new = machine.apply(text.format("ada"), "--test")["user.present:ada"]["diff"].splitlines()
    assert new == ["user ada does not exist", "primary group " + missing.format("nowhere"), "group " + missing.format("nothing")]
    old = machine.apply(text.format("bob"), "--test")["user.present:bob"]["diff"]
    assert 'primary group "nowhere" does not exist\n' in old and "group " + missing.format("nothing") in old, old


def test_a_uid_that_may_not_change_is_an_error(machine):
    machine.sh("useradd -u 4301 eve")
    for words in (["--test"], []):
        result = machine.apply("eve: {user.present: [{uid: 4302, allow_uid_change: false}]}", *words)
        assert "allow_uid_change is not true" in result["user.present:eve"]["error"]


def test_an_absent_user_comes_back_with_home_password_and_groups(machine):
    machine.sh(f"groupadd club; useradd -m -G club -p '{HASH}' bob; echo data > /home/bob/file")
    before = account_files(machine)
    machine.settles("bob: {user.absent: [{purge: true}]}")
    assert machine.sh("getent passwd bob", check=False).returncode != 0
    assert not machine.path("/home/bob").exists()
    machine.revert()
    after = account_files(machine)
    for name, text in before.items():
        assert sorted(after[name].splitlines()) == sorted(text.splitlines()), name
    assert machine.path("/home/bob/file").read_text() == "data\n"


def test_members_of_a_group_exactly_more_and_less(machine):
    machine.sh("for u in a1 a2 a3; do useradd $u; done; groupadd team; gpasswd -M a1,a2 team")
    before = account_files(machine)
    machine.settles("team: {group.present: [{addusers: [a3], delusers: [a1]}]}")
    assert machine.run("getent", "group", "team").strip().split(":")[3] == "a2,a3"
    machine.settles("team: {group.present: [{members: [a1]}]}")
    assert machine.run("getent", "group", "team").strip().split(":")[3] == "a1"
    machine.settles("team: {group.present: [{members: []}]}")
    assert machine.run("getent", "group", "team").strip().split(":")[3] == ""
    machine.revert()
    assert account_files(machine) == before


def test_an_absent_group_comes_back(machine):
    machine.sh("useradd a1; groupadd -g 4201 gone; gpasswd -M a1 gone")
    line = machine.run("getent", "group", "gone")
    machine.settles("gone: {group.absent: []}")
    assert machine.sh("getent group gone", check=False).returncode != 0
    machine.revert()
    assert machine.run("getent", "group", "gone") == line


def test_many_accounts_of_one_level_do_not_fight(machine):
    names = [f"many{i}" for i in range(12)]
    results = machine.settles("\n".join(f"{name}: {{user.present: [{{createhome: false}}]}}" for name in names))
    assert all(results[f"user.present:{name}"]["changed"] for name in names)


def test_mistakes_are_reported_before_anything_runs(machine):
    said = machine.mistakes("""
a:
  user.present:
    - name: "bad\\nroot::0:0"
    - fullname: "x:y"
    - expire: soon
b:
  group.present:
    - members: [x]
    - addusers: [y]
""")
    for words in ("'name' is not a valid account name", "'fullname' must not contain colons", "'expire' must be days",
                  "'members' cannot be combined"):
        assert words in said
    assert "case.zy:6:15: 'expire' must be days" in said and "case.zy:9:16: 'members' cannot be combined" in said, said


def test_info_of_users_and_groups(machine):
    result, _ = machine.zester("user.info", "root")
    assert '"uid": 0' in str(result).replace("'", '"')
    result, _ = machine.zester("group.info", "daemon")
    assert '"gid": 1' in str(result).replace("'", '"')


def test_a_plain_password_is_hashed_here_and_settles(machine):
    machine.settles("ada: {user.present: [{password: 'open: sesame', hash_password: true, uid: 4300}]}")
    line = [line for line in machine.path("/etc/shadow").read_text().splitlines() if line.startswith("ada:")][0]
    assert line.split(":")[1].startswith("$6$")
    result = machine.apply("ada: {user.present: [{password: 'something else', hash_password: true}]}")["user.present:ada"]
    assert result["changed"] and "something else" not in str(result) and "$6$" not in str(result)
    assert "'hash_password' requires 'password'" in machine.mistakes("ada: {user.present: [{hash_password: true}]}")


def test_every_field_of_the_age_of_a_password(machine):
    machine.settles("""
ada: {user.present: [{uid: 4300, mindays: 1, maxdays: 90, warndays: 7, inactdays: 14, expire: 2031-01-02,
                      date: '2026-01-01', createhome: false}]}
""")
    line = [line for line in machine.path("/etc/shadow").read_text().splitlines() if line.startswith("ada:")][0]
    assert line.split(":")[2:8] == ["20454", "1", "90", "7", "14", "22281"]


def test_a_home_moves_along_with_what_is_in_it_and_back(machine):
    machine.settles("ada: {user.present: [{uid: 4300, home: /home/ada}]}")
    machine.path("/home/ada/letter").write_text("dear")
    machine.settles("ada: {user.present: [{uid: 4300, home: /srv/ada}]}")
    assert machine.path("/srv/ada/letter").read_text() == "dear" and not machine.path("/home/ada").exists()


def test_files_of_the_home_get_their_old_group_back(machine):
    machine.sh("groupadd -g 4400 old; groupadd -g 4401 other; useradd -m -g old ada; touch /home/ada/mine /home/ada/theirs; "
               "chown ada:old /home/ada/mine; chown ada:other /home/ada/theirs")
    owners = ["stat", "-c", "%u:%g", "/home/ada", "/home/ada/mine", "/home/ada/theirs"]
    before = machine.run(*owners)
    result = machine.settles("ada: {user.present: [{uid: 4500}, {gid: users}]}")["user.present:ada"]
    assert result["diff"].splitlines()[1:] == ['primary group is not "users"', "modified user ada"], result["diff"]
    assert machine.run(*owners) != before
    machine.revert()
    assert machine.run(*owners) == before


def test_an_account_that_shares_the_number_of_one_in_use_goes_with_a_revert(machine):
    before = account_files(machine)
    machine.settles("twin: {user.present: [{uid: 0}, {unique: false}]}")
    machine.revert()
    assert account_files(machine) == before


def test_a_uid_may_be_shared_only_when_told(machine):
    machine.sh("useradd -u 4300 ada")
    failed = machine.apply("bob: {user.present: [{uid: 4300}]}")["user.present:bob"]
    assert failed["failed"] and "4300" in failed["error"]
    machine.settles("bob: {user.present: [{uid: 4300, unique: false}]}")


def test_what_an_earlier_level_did_to_the_account_files_is_seen(machine):
    """Checks remember what the files say; they must see what useradd, usermod and an editor did since."""
    machine.sh("useradd -M -s /bin/sh eve; useradd -M -s /bin/sh bob")
    results = machine.apply("""
new: {group.present: [{gid: 4200}]}
eve: {user.present: [{groups: [new], createhome: false, require: [group: new]}]}
edited:
  cmd.run:
    - name: sed -i 's,^\\(bob:.*\\)/bin/sh$,\\1/bin/no,' /etc/passwd && gpasswd -d eve new
    - require: [user: eve]
bob: {user.present: [{shell: /bin/sh, createhome: false, require: [cmd: edited]}]}
new again: {group.present: [{name: new, addusers: [eve], require: [cmd: edited]}]}
""")
    assert not any(state["failed"] for state in results.values()), results
    assert results["user.present:bob"]["changed"] and results["group.present:new again"]["changed"], results
    assert machine.run("getent", "passwd", "bob").endswith(":/bin/sh\n")
    assert machine.run("id", "-nG", "eve").split() == ["eve", "new"]


@pytest.mark.parametrize("sources", ["systemd files", "files [SUCCESS=merge] systemd", "files"])
def test_accounts_settle_whatever_the_name_services_ask(machine, sources):
    rules = machine.path("/etc/nsswitch.conf")
    rules.write_text("".join(f"{name}: {sources}\n" for name in ("passwd", "group", "shadow")))
    machine.settles(f"""
club: {{group.present: [{{gid: 4200}}]}}
eve: {{user.present: [{{uid: 4300, groups: [club], password: '{HASH}', require: [group: club]}}]}}
""")


def test_a_revert_keeps_a_home_and_mail_that_were_there_before_the_account(machine):
    machine.sh("useradd -M -u 4300 probe; userdel probe; mkdir /home/gil; echo data > /home/gil/file;"
               "echo letter > /var/mail/gil; chown -R 4300 /home/gil /var/mail/gil")
    machine.settles("gil: {user.present: [{uid: 4300}]}")
    result = machine.revert()["user.present:gil"]
    assert not result["failed"], result
    assert machine.sh("getent passwd gil", check=False).returncode != 0
    assert machine.path("/home/gil/file").read_text() == "data\n"
    assert machine.path("/var/mail/gil").read_text() == "letter\n"


def test_parents_of_a_home_go_with_it(machine):
    machine.settles("dan: {user.present: [{home: /srv/a/b/dan}]}")
    assert machine.path("/srv/a/b/dan").is_dir()
    machine.revert()
    assert not machine.path("/srv/a").exists()


def test_the_home_of_an_account_that_is_there_is_made_as_salt_does(machine):
    machine.sh("useradd -M -u 4300 eve; useradd -M -d /nonexistent nix")
    looked = machine.apply("eve: {user.present: []}", "--test")["user.present:eve"]
    assert looked["changed"] and "home folder /home/eve does not exist" in looked["text"]
    machine.settles("eve: {user.present: [{uid: 4310}]}")
    assert machine.path("/home/eve").stat().st_uid == 4310
    machine.revert()
    assert not machine.path("/home/eve").exists()
    for quiet in ("eve: {user.present: [{createhome: false}]}", "nix: {user.present: []}"):
        assert not any(state["changed"] for state in machine.apply(quiet).values()), quiet


def test_an_account_in_use_is_not_deleted_and_the_error_says_what_to_do(machine):
    skip_without("setpriv")
    machine.settles("ada: {user.present: [{uid: 4300}]}")
    with subprocess.Popen(["nsenter", "-t", str(machine.process.pid), "-m", "--wd=/", "setpriv", "--reuid=4300",
                           "--clear-groups", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        reverted = machine.revert()["user.present:ada"]
        deleted = machine.apply("ada: {user.absent: []}")["user.absent:ada"]
        process.communicate()
    assert "used by process" in reverted["error"] and "then revert again" in reverted["error"], reverted
    assert "used by process" in deleted["error"] and "'force: true'" in deleted["error"], deleted
    assert not machine.revert()["user.present:ada"]["failed"]
    assert machine.sh("getent passwd ada", check=False).returncode != 0


def test_a_password_is_enforced_unless_told_otherwise_and_never_empty_by_accident(machine):
    machine.sh(f"useradd -M one; useradd -M -p '{HASH}' two")
    text = "{user.present: [{password: '$6$new', enforce_password: false, createhome: false}]}"
    results = machine.apply(f"one: {text}\ntwo: {text}")
    assert results["user.present:one"]["changed"] and not results["user.present:two"]["changed"], results
    assert "'password' must not be empty" in machine.mistakes("one: {user.present: [{password: ''}]}")


def test_days_that_do_not_exist_are_mistakes_at_their_place(machine):
    said = machine.mistakes("""
eve:
  user.present:
    - expire: 2026-02-31
    - mindays: 2026-01-01
    - groups: 'a,b'
""")
    assert "'expire' must be days or a date YYYY-MM-DD, got '2026-02-31'" in said
    assert "'mindays' must be days, got '2026-01-01'" in said
    assert ":6:15: 'groups' is not a valid account name" in said


def test_a_dry_run_foresees_numbers_that_others_have(machine):
    machine.sh("groupadd -g 4200 one; useradd -M -u 4300 ada; useradd -M eve")
    results = machine.apply("""
two: {group.present: [{gid: 4200}]}
bob: {user.present: [{uid: 4300}]}
eve: {user.present: [{uid: 4300, createhome: false}]}
cat: {user.present: [{uid: 4300, unique: false}]}
one: {group.present: [{gid: 4200}]}
""", "--test")
    assert "gid 4200 belongs to 'one'" in results["group.present:two"]["text"]
    for name in ("bob", "eve"):
        assert "uid 4300 belongs to 'ada'" in results[f"user.present:{name}"]["text"]
    assert "belongs" not in results["user.present:cat"]["text"] and not results["group.present:one"]["changed"]


def test_an_account_that_a_later_run_has_changed_under_another_name_is_not_removed(machine):
    def apply(ref, text):
        (machine.states / f"{ref}.zy").write_text(text)
        return machine.zester("state.apply", ref)[0][0]["summary"]["run_id"]

    apply("made", "made: {user.present: [{name: ada}, {shell: /bin/sh}]}")
    later = apply("used", "used: {user.present: [{name: ada}, {shell: /bin/bash}]}")
    words = ("--local", "--states-dir", machine.states, "--data-dir", machine.root / "data", "state.revert", "made")
    said = machine.run(PROGRAM, *words, check=False)
    assert said.returncode == 1 and f"'user:ada' was changed again by run {later} of 'used'; nothing was reverted" in said.stderr
    assert machine.run("getent", "passwd", "ada").endswith(":/bin/bash\n")
    machine.zester("state.revert", "used")
    machine.zester("state.revert", "made")
    assert not machine.run("getent", "passwd", "ada", check=False).stdout
