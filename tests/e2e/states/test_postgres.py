"""postgres_user, group, database, privileges and extension with a real PostgreSQL server."""
import hashlib
import re

import pytest

import databases
from machine import PROGRAM, Machine


@pytest.fixture(name="server", scope="module")
def fixture_server():
    with databases.postgres() as server:
        yield server


class Local(Machine):
    """States with the way to the server filled in."""

    def __init__(self, root, server):
        super().__init__(root, namespace=False)
        self.server = server

    def apply(self, text, *words):
        return super().apply(text.replace("LOGIN", self.server.login), *words)


@pytest.fixture(name="machine")
def fixture_machine(tmp_path, server):
    return Local(tmp_path, server)


def role(server, name):
    return server.sql("SELECT rolsuper, rolcreatedb, rolcreaterole, rolcanlogin, rolreplication, rolinherit, rolconnlimit, rolpassword, "
                      f"rolvaliduntil, array(SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid WHERE m.member = a.oid), "
                      f"(SELECT setconfig FROM pg_db_role_setting WHERE setrole = a.oid) FROM pg_authid a WHERE rolname = '{name}';")


def test_a_user_has_its_attributes_and_groups_and_goes_again(machine, server):
    server.sql("CREATE ROLE g1; CREATE ROLE \"g 2\";")
    machine.settles("it:\n  postgres_user.present: [{name: \"it's \\\"me\\\"\"}, {password: mypass}, {createdb: true}, {createroles: true}, "
                    "{inherit: false}, {groups: 'g1, g 2'}, {valid_until: 2031-01-01 00:00:00+00}, LOGIN]\n")
    found = role(server, "it''s \"me\"")[0].split("|")
    assert found[:7] == ["f", "t", "t", "t", "f", "f", "-1"] and found[7].startswith("SCRAM-SHA-256$4096:")
    assert found[8].startswith("2031-01-01") and found[9] == '{g1,"g 2"}'
    machine.revert()
    assert role(server, "it''s \"me\"") == []


def test_what_is_not_given_stays_and_a_revert_restores_the_rest(machine, server):
    server.sql("CREATE ROLE old LOGIN CREATEDB CONNECTION LIMIT 3 PASSWORD 'before'; CREATE ROLE g3;")
    before = role(server, "old")
    machine.settles("it:\n  postgres_user.present: [{name: old}, {password: after}, {createdb: false}, {groups: [g3]}, LOGIN]\n")
    now = role(server, "old")[0].split("|")
    assert now[1] == "f" and now[3] == "t" and now[6] == "3" and now[7] != before[0].split("|")[7]
    machine.revert()
    assert role(server, "old") == before


@pytest.mark.parametrize("name, password, encrypted, stored", [
    ("p1", "mypass", "md5", "md5" + hashlib.md5(b"mypassp1").hexdigest()),
    ("p2", "mypass", "true", "md5" + hashlib.md5(b"mypassp2").hexdigest()),
    ("p3", "mypass", "scram-sha-256", "SCRAM-SHA-256$"),
    ("p4", "md5" + "0123456789abcdef" * 2, "null", "md5" + "0123456789abcdef" * 2),
])
def test_a_password_is_stored_as_asked_for(machine, server, name, password, encrypted, stored):
    machine.settles(f"it:\n  postgres_user.present: [{{name: {name}}}, {{password: {password}}}, {{encrypted: {encrypted}}}, LOGIN]\n")
    assert role(server, name)[0].split("|")[7].startswith(stored)


def test_a_default_password_is_for_new_users_only_and_a_refreshed_one_is_not_a_change(machine, server):
    machine.settles("it:\n  postgres_user.present: [{name: fresh}, {default_password: first}, LOGIN]\n")
    first = role(server, "fresh")
    machine.apply("it:\n  postgres_user.present: [{name: fresh}, {default_password: second}, LOGIN]\n")
    assert role(server, "fresh") == first
    state = machine.apply("it:\n  postgres_user.present: [{name: fresh}, {password: first}, {refresh_password: true}, LOGIN]\n")
    assert not state["postgres_user.present:it"]["changed"] and role(server, "fresh") != first


def test_the_password_that_was_set_is_the_one_that_logs_in_and_is_shown_nowhere(machine, server, tmp_path):
    """A client that writes down how it is called stands before the real one."""
    tools = tmp_path / "bin"
    tools.mkdir()
    tools.chmod(0o755)
    (tools / "psql").write_text(f"#!/bin/sh\necho \"$@\" >> {server.socket}/called\nexec /usr/bin/psql \"$@\"\n")
    (tools / "psql").chmod(0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    server.sql("CREATE ROLE zt_admin SUPERUSER LOGIN;")
    text = "it:\n  postgres_user.present: [{name: NAME}, {password: WORD-secret}, {superuser: true}, LOGIN]\n"
    machine.env["PATH"] = f"{tools}:{machine.env['PATH']}"
    login = f"{{db_host: {server.socket}}}"
    for name, word, way in (("zt_admin", "boss", login), ("plain", "other", f"{login}, {{db_user: zt_admin}}, {{db_password: boss-secret}}")):
        (machine.states / "case.zy").write_text(text.replace("NAME", name).replace("WORD", word).replace("LOGIN", way))
        for words in (["--test"], []):
            result = machine.run(PROGRAM, "--local", "--states-dir", machine.states, "--data-dir", tmp_path / "data", "state.apply", "case",
                                 *words, check=False)
            assert result.returncode == 0 and name in result.stdout, result.stdout + result.stderr
            assert "secret" not in result.stdout + result.stderr and "SCRAM" not in result.stdout + result.stderr
    called = (server.socket / "called").read_text()
    assert "--username=zt_admin" in called and "secret" not in called and "SCRAM" not in called
    wrong = machine.apply(f"it:\n  postgres_user.present: [{{name: x}}, {login}, {{db_user: zt_admin}}, {{db_password: wrong-secret}}]\n")
    state = wrong["postgres_user.present:it"]
    assert state["failed"] and "password authentication failed" in state["text"] and "wrong-secret" not in state["text"]


def test_a_removed_role_comes_back_whole(machine, server):
    server.sql("CREATE ROLE g4; CREATE ROLE member; CREATE ROLE gone LOGIN PASSWORD 'x' VALID UNTIL '2031-01-01' CONNECTION LIMIT 5; GRANT g4 TO gone; "
               "GRANT gone TO member; ALTER ROLE gone SET search_path TO a, b; ALTER ROLE gone SET work_mem TO '8MB';")
    before = role(server, "gone"), role(server, "member")
    machine.settles("it:\n  postgres_user.absent: [{name: gone}, LOGIN]\n")
    machine.revert()
    assert (role(server, "gone"), role(server, "member")) == before


def test_a_group_does_not_log_in(machine, server):
    machine.settles("it:\n  postgres_group.present: [{name: staff}, {createdb: true}, LOGIN]\n")
    assert role(server, "staff")[0].split("|")[:4] == ["f", "t", "f", "f"]


DATABASE = ("SELECT r.rolname, pg_encoding_to_char(encoding), datcollate FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba WHERE datname = ")


def test_a_database_is_created_with_its_properties_and_removed_while_it_is_unused(machine, server):
    server.sql("CREATE ROLE owner1;")
    text = ("it:\n  postgres_database.present: [{name: 'my \"db'}, {owner: owner1}, {encoding: utf-8}, {lc_collate: C}, {lc_ctype: C}, "
            "{template: template0}, {tablespace: pg_default}, LOGIN]\n")
    machine.settles(text)
    assert server.sql(DATABASE + "'my \"db';") == ["owner1|UTF8|C"]
    server.sql('\\c "my ""db"\nCREATE TABLE t (a int);')
    state = machine.revert()["postgres_database.present:it"]
    assert state["failed"] and "is not removed: it has 1 tables by now" in state["text"]
    server.sql('\\c "my ""db"\nDROP TABLE t;')
    machine.revert()
    assert server.sql(DATABASE + "'my \"db';") == []


def test_the_owner_changes_with_all_relations_and_comes_back(machine, server):
    server.sql("CREATE ROLE owner2; CREATE ROLE owner3; CREATE DATABASE owned OWNER owner2;")
    server.sql("\\c owned\nCREATE SCHEMA s AUTHORIZATION owner2; CREATE TABLE s.t (a serial); CREATE VIEW v AS SELECT 1; ALTER TABLE s.t OWNER TO owner2;")
    look = ("\\c owned\nSELECT relname, pg_get_userbyid(relowner) FROM pg_class WHERE relname IN ('t', 'v', 't_a_seq') UNION "
            "SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 's' ORDER BY 1;")
    before = server.sql(look), server.sql(DATABASE + "'owned';")
    machine.settles("it:\n  postgres_database.present: [{name: owned}, {owner: owner3}, {owner_recurse: true}, LOGIN]\n")
    assert server.sql(look) == ["s|owner3", "t|owner3", "t_a_seq|owner3", "v|owner3"]
    machine.revert()
    assert (server.sql(look), server.sql(DATABASE + "'owned';")) == before


def test_what_cannot_be_changed_is_an_error(machine, server):
    server.sql("CREATE DATABASE fixed;")
    state = machine.apply("it:\n  postgres_database.present: [{name: fixed}, {encoding: LATIN1}, LOGIN]\n")["postgres_database.present:it"]
    assert state["failed"] and "database 'fixed' has encoding UTF8, want LATIN1: this cannot be changed" in state["text"]


def test_a_removed_database_that_had_tables_is_not_restored(machine, server):
    server.sql("CREATE DATABASE full_one;")
    server.sql("\\c full_one\nCREATE TABLE t (a int);")
    text = "it:\n  postgres_database.absent: [{name: full_one}, LOGIN]\n"
    assert "its 1 tables cannot be restored by a revert" in machine.apply(text, "--test")["postgres_database.absent:it"]["text"]
    machine.settles(text)
    state = machine.revert()["postgres_database.absent:it"]
    assert state["failed"] and "restore it from a backup" in state["text"]


GRANT = "it:\n  postgres_privileges.{}: [{{name: {}}}, {{object_name: {}}}, {{object_type: {}}}, {}, {{maintenance_db: priv}}, LOGIN]\n"
LISTS = """\\c priv
SELECT relname, relacl FROM pg_class WHERE relname IN ('a', 'b', 'q') UNION ALL SELECT nspname, nspacl FROM pg_namespace WHERE nspname = 's'
UNION ALL SELECT proname, proacl FROM pg_proc WHERE proname = 'f' UNION ALL SELECT datname, datacl FROM pg_database WHERE datname = 'priv'
UNION ALL SELECT lanname, lanacl FROM pg_language WHERE lanname = 'plpgsql' UNION ALL SELECT spcname, spcacl FROM pg_tablespace WHERE spcname = 'pg_default' ORDER BY 1;
SELECT r.rolname, m.admin_option FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE m.roleid = 'team'::regrole ORDER BY 1;
"""


@pytest.fixture(name="lists", scope="module")
def fixture_lists(server):
    """A database with objects of all kinds, whose lists are explicit, so that a revert can be compared. Their order does not count."""
    server.sql("CREATE DATABASE priv; CREATE ROLE who; CREATE ROLE \"Wh o\"; CREATE ROLE team; CREATE ROLE base;")
    server.sql("""\\c priv
CREATE SCHEMA s; CREATE TABLE s.a (x int); CREATE TABLE s.b (x int); CREATE SEQUENCE s.q; CREATE FUNCTION s.f(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
GRANT ALL ON s.a, s.b TO base; GRANT ALL ON SEQUENCE s.q TO base; GRANT ALL ON SCHEMA s TO base; GRANT ALL ON FUNCTION s.f TO base;
GRANT ALL ON DATABASE priv TO base; GRANT ALL ON LANGUAGE plpgsql TO base; GRANT ALL ON TABLESPACE pg_default TO base; GRANT UPDATE ON s.a TO who;""")
    return lambda: [",".join(sorted(re.split("[{},]", line))) for line in server.sql(LISTS)]


@pytest.mark.parametrize("name, thing, kind, args, has", [
    ("who", "a", "table", "{privileges: [SELECT, insert]}, {prepend: s}", "who=arw/postgres"),
    ("who", "a", "table", "{privileges: [UPDATE]}, {prepend: s}, {grant_option: true}", "who=w*/postgres"),
    ("who", "ALL", "table", "{privileges: [ALL]}, {prepend: s}", "who=arwdDxt/postgres"),
    ("\"Wh o\"", "q", "sequence", "{privileges: [USAGE, SELECT]}, {prepend: s}", '\\"Wh o\\"=rU/postgres'),
    ("who", "ALL", "sequence", "{privileges: ['usage,select']}, {prepend: s}", "who=rU/postgres"),
    ("public", "s", "schema", "{privileges: [USAGE]}", "=U/postgres"),
    ("who", "pg_default", "tablespace", "{privileges: [CREATE]}", "who=C/postgres"),
    ("who", "plpgsql", "language", "{privileges: [USAGE]}", "who=U/postgres"),
    ("who", "priv", "database", "{privileges: [CONNECT, TEMP]}", "who=Tc/postgres"),
    ("who", "f(int)", "function", "{privileges: [EXECUTE]}, {prepend: s}", "who=X/postgres"),
    ("who", "team", "group", "{grant_option: true}", "who|t"),
])
def test_privileges_are_granted_and_reverted(machine, lists, name, thing, kind, args, has):
    before = lists()
    machine.settles(GRANT.format("present", name, thing, kind, args))
    assert has in "\n".join(lists()), lists()
    machine.revert()
    assert lists() == before


@pytest.mark.parametrize("thing, kind, args", [
    ("a", "table", "{privileges: [SELECT, DELETE]}, {prepend: s}"),
    ("ALL", "table", "{privileges: [ALL]}, {prepend: s}"),
    ("f(int)", "function", "{privileges: [ALL]}, {prepend: s}"),
])
def test_privileges_are_revoked_and_reverted(machine, lists, thing, kind, args):
    before = lists()
    machine.settles(GRANT.format("absent", "base", thing, kind, args))
    assert lists() != before
    machine.revert()
    assert lists() == before


def test_objects_and_servers_that_are_to_come_are_expected_by_a_dry_run_only(machine, lists, tmp_path):
    assert lists()
    for args in (("present", "who", "nothing", "table", "{privileges: [SELECT]}"), ("present", "nobody", "priv", "database", "{privileges: [CONNECT]}")):
        text = GRANT.format(*args)
        state = machine.apply(text, "--test")["postgres_privileges.present:it"]
        assert state["changed"] and "does not exist; an earlier state must create it" in state["text"]
        assert machine.apply(text)["postgres_privileges.present:it"]["failed"]
    nowhere = f"it:\n  postgres_user.present: [{{name: a}}, {{db_host: {tmp_path}}}]\n"
    state = machine.apply(nowhere, "--test")["postgres_user.present:it"]
    assert state["changed"] and "no PostgreSQL server is running" in state["text"]
    assert machine.apply(nowhere)["postgres_user.present:it"]["failed"]


def test_mistakes_are_reported_before_anything_runs(machine):
    said = machine.mistakes("""
a: {postgres_user.present: [{name: x}, {encrypted: false}]}
b: {postgres_user.present: [{name: x}, {encrypted: sha1}]}
c: {postgres_database.present: [{name: x}, {owner_recurse: true}]}
d: {postgres_privileges.present: [{name: x}, {object_name: t}, {object_type: table}, {privileges: [FLY]}]}
e: {postgres_privileges.present: [{name: x}, {object_name: t}, {object_type: table}]}
f: {postgres_privileges.present: [{name: x}, {object_name: t}, {object_type: group}, {privileges: [SELECT]}]}
g: {postgres_privileges.present: [{name: x}, {object_name: t}, {object_type: chair}, {privileges: [SELECT]}]}
h: {postgres_extension.present: [{name: x}, {from_db: "1.0"}]}
""")
    for words in ("'encrypted: false' is not supported", "'encrypted' must be true, 'md5' or 'scram-sha-256'", "'owner_recurse' requires 'owner'",
                  "'FLY' is not a valid privilege", "'privileges' is required", "'privileges' is not supported for groups", "'object_type'",
                  "'from_db' is not supported"):
        assert words in said, said
