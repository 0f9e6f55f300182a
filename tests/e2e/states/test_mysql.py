"""mysql_user, mysql_database, mysql_grants and mysql_query with a real MariaDB server."""
import subprocess

import pytest

import databases
from machine import PROGRAM, Machine

NATIVE = "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4"  # of "mypass"


@pytest.fixture(name="server", scope="module")
def fixture_server():
    with databases.mariadb() as server:
        yield server


class Local(Machine):
    """States with the way to the server filled in."""

    def __init__(self, root, server):
        super().__init__(root, namespace=False)
        self.server = server

    def fill(self, text):
        return text.replace("LOGIN", self.server.login)

    def apply(self, text, *words):
        return super().apply(self.fill(text), *words)


@pytest.fixture(name="machine")
def fixture_machine(tmp_path, server):
    return Local(tmp_path, server)


def account(server, name, host="localhost"):
    return server.sql(f"SHOW CREATE USER `{name}`@`{host}`;", check=False)


def grants(server, name, host="localhost"):
    return sorted(line.split(" TO ")[0] for line in server.sql(f"SHOW GRANTS FOR `{name}`@`{host}`;") if "USAGE" not in line)


def test_an_account_gets_a_password_and_loses_it_again(machine, server):
    server.sql("CREATE USER plain@localhost;")
    text = "it:\n  mysql_user.present: [{name: plain}, {password: mypass}, LOGIN]\n"
    machine.settles(text)
    assert account(server, "plain") == [f"CREATE USER `plain`@`localhost` IDENTIFIED BY PASSWORD '{NATIVE}'"]
    machine.revert()
    assert account(server, "plain") == ["CREATE USER `plain`@`localhost`"]


@pytest.mark.parametrize("args, wanted", [
    ("{password: mypass}", f"IDENTIFIED BY PASSWORD '{NATIVE}'"),
    (f"{{password_hash: '{NATIVE}'}}", f"IDENTIFIED BY PASSWORD '{NATIVE}'"),
    ("{allow_passwordless: true}", ""),
    ("{allow_passwordless: true}, {unix_socket: true}", "IDENTIFIED VIA unix_socket"),
])
def test_an_account_is_created_and_removed(machine, server, args, wanted):
    machine.settles(f"it:\n  mysql_user.present: [{{name: \"it's `me`\"}}, {{host: '10.%'}}, {args}, LOGIN]\n")
    assert account(server, "it's ``me``", "10.%") == [f"CREATE USER `it's ``me```@`10.%` {wanted}".strip()]
    machine.revert()
    assert account(server, "it's ``me``", "10.%") == []


def test_a_password_is_on_no_command_line_and_in_no_output(machine, server, tmp_path):
    """A client that writes down how it is called stands before the real one."""
    tools = tmp_path / "bin"
    tools.mkdir()
    real = subprocess.run(["which", "mariadb"], capture_output=True, text=True, check=True).stdout.strip()
    (tools / "mariadb").write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/called\nexec {real} \"$@\"\n")
    (tools / "mariadb").chmod(0o755)
    machine.env["PATH"] = f"{tools}:{machine.env['PATH']}"
    server.sql("CREATE USER admin@localhost IDENTIFIED BY 'boss-secret'; GRANT ALL ON *.* TO admin@localhost WITH GRANT OPTION;")
    (machine.states / "case.zy").write_text(
        "it:\n  mysql_user.present: [{name: hidden}, {password: user-secret}, "
        f"{{connection_unix_socket: {server.socket}}}, {{connection_user: admin}}, {{connection_pass: boss-secret}}]\n")
    for words in (["state.apply", "case", "--test"], ["state.apply", "case"], ["state.revert", "case"]):
        result = machine.run(PROGRAM, "--local", "--states-dir", machine.states, "--data-dir", tmp_path / "data", *words, check=False)
        assert result.returncode in (0, 2) and "hidden" in result.stdout, result.stdout + result.stderr
        assert "secret" not in result.stdout + result.stderr
    called = (tmp_path / "called").read_text()
    assert "--user=admin" in called and "secret" not in called and "hidden" not in called


def test_a_wrong_password_of_ours_fails_with_the_words_of_the_server(machine, server):
    server.sql("CREATE USER other@localhost IDENTIFIED BY 'right-one';")
    state = machine.apply(f"it:\n  mysql_database.present: [{{name: x}}, {{connection_unix_socket: {server.socket}}}, "
                          "{connection_user: other}, {connection_pass: wrong-one}]\n")["mysql_database.present:it"]
    assert state["failed"] and "Access denied" in state["text"] and "wrong-one" not in state["text"]


def test_a_removed_account_comes_back_with_its_grants(machine, server):
    server.sql("CREATE DATABASE kept; CREATE USER back@localhost IDENTIFIED BY 'mypass'; "
               "GRANT SELECT, INSERT ON kept.* TO back@localhost WITH GRANT OPTION; GRANT PROCESS ON *.* TO back@localhost;")
    before = account(server, "back"), grants(server, "back")
    machine.settles("it:\n  mysql_user.absent: [{name: back}, LOGIN]\n")
    assert account(server, "back") == []
    machine.revert()
    assert (account(server, "back"), grants(server, "back")) == before


def test_a_database_has_its_character_set_and_goes_only_while_it_is_empty(machine, server):
    text = "it:\n  mysql_database.present: [{name: 'my `db'}, {character_set: utf8}, {collate: utf8_bin}, LOGIN]\n"
    machine.settles(text)
    look = "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='my `db';"
    assert server.sql(look) == ["utf8mb3\tutf8mb3_bin"]
    server.sql("CREATE TABLE `my ``db`.t (a int);")
    state = machine.revert()["mysql_database.present:it"]
    assert state["failed"] and "it has 1 tables and routines by now" in state["text"]
    server.sql("DROP TABLE `my ``db`.t;")
    machine.revert()
    assert server.sql(look) == []


def test_the_defaults_of_a_database_come_back(machine, server):
    server.sql("CREATE DATABASE altered CHARACTER SET latin1 COLLATE latin1_german1_ci;")
    machine.settles("it:\n  mysql_database.present: [{name: altered}, {character_set: utf8mb4}, LOGIN]\n")
    machine.revert()
    assert server.sql("SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='altered';") == ["latin1_german1_ci"]


def test_a_removed_database_that_had_tables_is_not_restored(machine, server):
    server.sql("CREATE DATABASE full_one; CREATE TABLE full_one.t (a int);")
    first = machine.apply("it:\n  mysql_database.absent: [{name: full_one}, LOGIN]\n", "--test")
    assert "its 1 tables and routines cannot be restored by a revert" in first["mysql_database.absent:it"]["text"]
    machine.settles("it:\n  mysql_database.absent: [{name: full_one}, LOGIN]\n")
    state = machine.revert()["mysql_database.absent:it"]
    assert state["failed"] and "restore it from a backup" in state["text"]


GRANT = "it:\n  mysql_grants.present: [{{name: x}}, {{user: {}}}, {}, LOGIN]\n"


@pytest.mark.parametrize("user, before, args, after", [
    ("g1", "", "{grant: 'select,insert'}, {database: a_b.*}", ["GRANT SELECT, INSERT ON `a\\_b`.*"]),
    ("g2", "", "{grant: all privileges}, {database: 'a_b.*'}, {grant_option: true}, {escape: false}", ["GRANT ALL PRIVILEGES ON `a_b`.*"]),
    ("g3", "", "{grant: 'Select (a), insert'}, {database: a_b.t}", ["GRANT SELECT (`a`), INSERT ON `a_b`.`t`"]),
    ("g4", "GRANT DELETE ON a_b.t TO g4@localhost;", "{grant: select}, {database: a_b.t}", ["GRANT SELECT, DELETE ON `a_b`.`t`"]),
    ("g5", "GRANT DELETE, SELECT ON a_b.t TO g5@localhost WITH GRANT OPTION;", "{grant: select}, {database: a_b.t}, {revoke_first: true}",
     ["GRANT SELECT ON `a_b`.`t`"]),
    ("g6", "GRANT ALL ON a_b.t TO g6@localhost;", "{grant: 'select, update'}, {database: a_b.t}, {revoke_first: true}",
     ["GRANT SELECT, UPDATE ON `a_b`.`t`"]),
    ("g7", "", "{grant: all}, {database: '*.*'}", ["GRANT ALL PRIVILEGES ON *.*"]),
])
def test_privileges_are_granted_and_reverted(machine, server, user, before, args, after):
    server.sql(f"CREATE DATABASE IF NOT EXISTS a_b; CREATE TABLE IF NOT EXISTS a_b.t (a int, b int); CREATE USER {user}@localhost; {before}")
    first = server.sql(f"SHOW GRANTS FOR {user}@localhost;")
    machine.settles(GRANT.format(user, args))
    assert grants(server, user) == after
    machine.revert()
    assert server.sql(f"SHOW GRANTS FOR {user}@localhost;") == first


@pytest.mark.parametrize("user, grant, left", [
    ("r1", "select", ["GRANT INSERT ON `r_d`.*"]),
    ("r2", "all privileges", []),
    ("r3", "select, drop", ["GRANT INSERT ON `r_d`.*"]),
])
def test_privileges_are_revoked_and_reverted(machine, server, user, grant, left):
    server.sql(f"CREATE DATABASE IF NOT EXISTS r_d; CREATE USER {user}@localhost; GRANT SELECT, INSERT ON `r_d`.* TO {user}@localhost;")
    first = grants(server, user)
    machine.settles(f"it:\n  mysql_grants.absent: [{{name: x}}, {{user: {user}}}, {{grant: '{grant}'}}, {{database: r_d.*}}, "
                    "{escape: false}, LOGIN]\n")
    assert grants(server, user) == left
    machine.revert()
    assert grants(server, user) == first


def test_an_account_can_be_made_to_use_encrypted_connections(machine, server):
    server.sql("CREATE USER tls@localhost IDENTIFIED BY 'mypass'; CREATE DATABASE tls;")
    before = account(server, "tls")
    machine.settles(GRANT.format("tls", "{grant: select}, {database: tls.*}, {ssl_option: [{SUBJECT: '/CN=a'}, {ISSUER: b}]}"))
    assert "REQUIRE ISSUER 'b' SUBJECT '/CN=a'" in account(server, "tls")[0]
    machine.revert()
    assert account(server, "tls") == before


def test_a_dry_run_sees_accounts_and_servers_that_are_to_come(machine, server, tmp_path):
    text = GRANT.format("later", "{grant: select}, {database: a.*}")
    state = machine.apply(text, "--test")["mysql_grants.present:it"]
    assert state["changed"] and "the user does not exist" in state["text"]
    state = machine.apply(text)["mysql_grants.present:it"]
    assert state["failed"] and "user 'later'@'localhost' does not exist" in state["text"]
    nowhere = f"it:\n  mysql_user.present: [{{name: a}}, {{password: mypass}}, {{connection_unix_socket: {tmp_path}/none}}]\n"
    state = machine.apply(nowhere, "--test")["mysql_user.present:it"]
    assert state["changed"] and "no MySQL server is running" in state["text"]
    assert machine.apply(nowhere)["mysql_user.present:it"]["failed"]


def test_mistakes_are_reported_before_anything_runs(machine):
    said = machine.mistakes("""
a: {mysql_user.present: [{name: x}]}
b: {mysql_user.present: [{name: x}, {password: secret1}, {auth_plugin: "a b"}]}
c: {mysql_grants.present: [{name: x}, {grant: "select; drop"}, {database: a.*}, {user: x}]}
d: {mysql_grants.present: [{name: x}, {grant: select}, {database: a}, {user: x}]}
e: {mysql_grants.present: [{name: x}, {grant: select}, {database: a.*}, {user: x}, {ssl_option: [{TLS: true}]}]}
f: {mysql_database.present: [{name: x}, {character_set: "utf8; drop"}]}
g: {mysql_user.present: [{name: "a\\nb"}, {password: secret1}]}
""")
    for words in ("'password' or 'password_hash' is required, unless 'allow_passwordless' is true", "'auth_plugin' may contain only letters",
                  "'select; drop' is not a valid privilege", "'a' is not a valid privilege level",
                  "'ssl_option' supports only SSL, X509", "'character_set' may contain only letters", "'name'"):
        assert words in said, said


def test_statements_run_in_every_run_and_their_rows_are_in_the_result(machine, server):
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.users (id INT, name VARCHAR(40)); INSERT INTO shop.users VALUES (1, '<a> & \\'b\\'\\n\"c\"'), (2, NULL);")
    name = "mysql_query.run:it"
    text = "it:\n  mysql_query.run: [{name: x}, {database: shop}, {query: 'SELECT id, name FROM users ORDER BY id'}, LOGIN]\n"
    rows = [{"id": "1", "name": "<a> & 'b'\n\"c\""}, {"id": "2", "name": None}]
    assert machine.apply(text, "--test")[name]["changed"]
    for _ in range(2):
        result = machine.apply(text)[name]
        assert result["changed"] and result["details"]["results"] == rows and result["details"]["rows"] == 2
    # a dry run runs nothing
    more = "it:\n  mysql_query.run: [{name: x}, {database: shop}, {query: 'INSERT INTO users VALUES (3, NULL);'}, LOGIN]\n"
    machine.apply(more, "--test")
    assert server.sql("SELECT COUNT(*) FROM shop.users;") == ["2"]
    assert machine.apply(more)[name]["details"]["results"] == []
    assert server.sql("SELECT COUNT(*) FROM shop.users;") == ["3"]
    server.sql("DROP DATABASE shop;")


def test_rows_are_written_to_a_file_and_a_file_of_statements_runs_once(machine, server, tmp_path):
    server.sql("CREATE DATABASE depot;")
    (machine.states / "load.sql").write_text("CREATE TABLE a (x INT);\nINSERT INTO a\n VALUES (1), (2); -- two\nSELECT x FROM a;\nSELECT 'y' AS z")
    text = f"it:\n  mysql_query.run_file: [{{name: x}}, {{database: depot}}, {{query_file: 'salt://load.sql'}}, {{output: {tmp_path}/rows}}, {{overwrite: false}}, LOGIN]\n"
    machine.settles(text)
    assert (tmp_path / "rows").read_text() == "x:1\nx:2\nz:y\n"
    assert "cannot be reverted" in machine.revert()["mysql_query.run_file:it"]["text"] and not (tmp_path / "rows").exists()
    assert "already exists" in machine.apply(text)["mysql_query.run_file:it"]["error"]
    server.sql("DROP DATABASE depot;")


def test_a_query_needs_its_database_unless_it_is_not_asked_for(machine):
    text = "it:\n  mysql_query.run: [{name: x}, {database: nowhere}, {query: 'SELECT 1'}%s, LOGIN]\n"
    assert "an earlier state must create it" in machine.apply(text % "", "--test")["mysql_query.run:it"]["text"]
    assert "database 'nowhere' does not exist" in machine.apply(text % "")["mysql_query.run:it"]["error"]
    assert "Unknown database" in machine.apply(text % ", {check_db_exists: false}")["mysql_query.run:it"]["error"]
    assert "outputs('mysql_query.run:ID')" in machine.mistakes("it:\n  mysql_query.run: [{database: a}, {query: b}, {grain: c}]\n")
