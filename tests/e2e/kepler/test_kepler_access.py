"""Rights that a config grants, tokens of services, hardening levels: real accounts, and callers who mean harm."""
import json
import os
import re
import shutil
import signal
import socket
import time

import pytest

from kepler_home import variables_of, wait_until
from kepler_users import UIDS, Users
from kepler_wire import acting_as, ask

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a daemon for many users needs root")
TOKEN = re.compile(r"[0-9a-f]{64}")


class Access(Users):
    words = ()

    def start_with(self, *words):
        """A daemon with these arguments."""
        self.words = words
        self.start_daemon()

    def daemon_argv(self):
        return [*super().daemon_argv(), *self.words]

    def refused(self, *words, **how):
        run = self.run(*words, check=False, **how)
        assert run.returncode == 1 and "Permission denied" in run.stderr, (words, run.stdout, run.stderr)
        return run.stderr


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    home = Access(tmp_path_factory.mktemp("machine"))
    yield home
    home.close()


def clear(home):
    """No daemon, and nothing stored."""
    home.words = ()
    home.env.pop("KEPLER_HARDENING", None)
    if home.daemon and home.daemon.poll() is None:
        home.stop_daemon()
    shutil.rmtree(home.state, ignore_errors=True)


@pytest.fixture
def idle(machine):
    """Accounts that all tests share, and no daemon yet."""
    clear(machine)
    return machine


@pytest.fixture
def home(machine):
    """The same, with a daemon that may have served other tests."""
    if machine.words or not machine.daemon or machine.daemon.poll() is not None:
        clear(machine)
        machine.start_daemon()
    else:
        machine.run("prune", "--force")
    return machine


def facts_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def shared(home, acl, services="web: {run: 'echo hello; exec sleep 1000'}", **how):
    """A config of alice with these rules that everybody can read, and that runs."""
    lines = "\n".join("    " + line for line in acl.splitlines())
    file = home.give("alice", f"kepler:\n  acl:\n{lines}\nservices:\n  {services}\n", mode=0o644)
    home.start("--wait", file=file, user="alice", **how)
    return file


# --- rules ----------------------------------------------------------------------------------------


def test_rules_for_users_and_groups_grant_exactly_what_they_name(home):
    file = shared(home, "users: {bob: [status, logs]}\ngroups: {kepler: [restart], '4510': [stop]}")
    assert "running" in home.run("ps", "--json", file=file, user="bob").stdout
    wait_until(lambda: "hello" in home.run("logs", file=file, user="bob").stdout, "a line")
    home.run("restart", "web", file=file, user="bob")
    assert "restart requested by bob\n" in home.run("why", "web", file=file, user="bob").stdout
    for words, right in ((["stop"], "'stop'"), (["start", "-d"], "'start'"), (["run", "-d"], "'run'"), (["recreate"], "'recreate'"),
                         (["inspect"], "'inspect'"), (["logs", "-F", "hello"], "'logs:search'"),
                         (["restart", "--no-deps", "web"], "'restart:no-deps'"), (["restart", "-e", "A=1"], "'restart:env-override'"),
                         (["restart", "-D", "a=1"], "'restart:env-override'"), (["restart", "--follow"], "'subscribe'"),
                         (["stop", "--clean", "-s", "KILL"], "'stop', 'stop:clean' and 'stop:signal'")):
        assert right in home.refused(*words, file=file, user="bob"), words
    assert home.status("web", file=file) == "running"


def test_users_without_a_rule_have_no_rights_and_rules_are_for_members(home):
    file = shared(home, "users: {mallory: [all], bob: [status]}")
    assert "usermod -aG kepler" in home.refused("ps", file=file, user="mallory")
    home.machine.sh("gpasswd -a mallory kepler")
    home.run("stop", file=file, user="mallory")
    home.machine.sh("gpasswd -d mallory kepler")
    assert "usermod -aG kepler" in home.refused("ps", file=file, user="mallory")
    home.machine.sh("useradd --uid 4504 --groups kepler carol")
    try:
        assert "belongs to 'alice'" in home.refused("ps", file=file, user="carol")
    finally:
        home.machine.sh("userdel carol")


def test_aliases_stand_for_lists_and_all_for_everything(home):
    file = shared(home, "aliases: {look: [status, logs], operate: [look, restart]}\nusers: {bob: [operate]}")
    home.run("restart", file=file, user="bob")
    home.run("ps", file=file, user="bob")
    home.refused("stop", file=file, user="bob")
    home.give("alice", home.read(file).replace("[operate]", "[all]"), mode=0o644)
    home.run("run", "-d", file=file, user="alice")
    home.run("stop", "--clean", file=file, user="bob")
    assert home.run("ps", "--all", user="alice").stdout.split() == ["CONFIG", "NAME", "STATUS", "PID"]


def test_a_user_who_can_no_longer_read_the_file_loses_all_rights(home):
    file = shared(home, "users: {bob: [all]}")
    home.run("ps", file=file, user="bob")
    os.chmod(home.path(file), 0o600)
    assert home.path(file) in home.refused("ps", file=file, user="bob")
    assert "web" not in home.run("ps", "--all", user="bob").stdout
    home.refused("stop", file=file, user="bob")
    home.run("ps", file=file, user="alice")
    os.chown(home.path(file), 0, 0)
    assert home.path(file) in home.refused("stop", file=file, user="alice")
    os.remove(home.path(file))
    home.refused("stop", file=file, user="bob")
    home.run("stop", file=file, user="alice")


def test_lists_show_configs_with_the_right_status_only(home):
    file = shared(home, "users: {bob: [status]}")
    hidden = home.give("alice", "kepler: {acl: {users: {bob: [start, logs]}}}\nservices: {secret: {run: 'exec sleep 1000'}}",
                       name="other.yaml", mode=0o644)
    home.start("--wait", file=hidden, user="alice")
    for words in (["ps", "--all"], ["daemon", "status"]):
        shown = home.run(*words, user="bob").stdout
        assert file in shown and hidden not in shown


def test_rules_apply_while_the_config_is_not_loaded(home):
    file = shared(home, "users: {bob: [status, logs, start]}")
    wait_until(lambda: home.lines(file=file), "a line")
    home.kill_daemon()
    home.start_daemon()
    assert "hello" in home.run("logs", file=file, user="bob").stdout
    assert "web" in home.run("ps", "--all", user="bob").stdout
    home.refused("stop", "--clean", file=file, user="bob")
    home.refused("recreate", file=file, user="bob")
    home.start("--wait", file=file, user="bob", env={"BOBS": "1", "PATH": home.path("mallory") + ":" + home.env["PATH"]})
    pid = home.wait_for("web", "running", file=file)["pid"]
    assert facts_of(pid)["Uid"].split()[0] == "4501"
    variables = variables_of(pid)
    assert "BOBS" not in variables and variables["USER"] == "alice" and "mallory" not in variables["PATH"]
    assert "belongs to" not in home.run("ps", file=file, user="alice").stdout


def test_inspect_omits_sections_without_their_right(home):
    file = shared(home, "users: {bob: [inspect]}")

    def sections(user="bob"):
        return set(json.loads(home.run("inspect", file=file, user=user).stdout)) & {"services", "environment", "flags"}

    assert sections() == set() and sections("alice") == {"services", "environment", "flags"}
    for rights in (["services"], ["environment", "flags"]):
        text = re.sub(r"\[inspect.*?\]", "[" + ", ".join(["inspect", *("inspect:" + name for name in rights)]) + "]", home.read(file))
        home.give("alice", text, mode=0o644)
        home.run("run", "-d", file=file, user="alice")
        assert sections() == set(rights)
    assert "environment" not in json.loads(home.run("inspect", "web", "--environment", file=file, user="bob").stdout).get("services", {})


def test_mistakes_in_rules_are_reported_with_place_and_suggestion(home):
    file = home.give("alice", """\
        kepler:
          acl:
            aliases: {stop: [status], deep: [deeper], deeper: [deepest], deepest: [logs]}
        services: {web: {run: x, permissions: [strat, "start:no_deps"]}}
        """)
    run = home.run("validate", file=file, user="alice", check=False)
    assert run.returncode == 1
    for text in (":3:", "alias 'stop' has the name of a right", "alias 'deeper' is made of aliases itself",
                 ":4:40: unknown right 'strat'", "did you mean 'start'?", "did you mean 'start:no-deps'?"):
        assert text in run.stdout + run.stderr, (text, run.stdout + run.stderr)
    home.give("alice", "kepler: {acl: {users: {nobody-here: [status]}, groups: {'4510': [status]}}}\nservices: {}\n")
    run = home.run("validate", file=file, user="alice")
    assert "'kepler.acl.users'" in run.stderr and "nobody-here" in run.stderr and "4510" not in run.stderr


# --- authorizers ----------------------------------------------------------------------------------

ANSWERS = {
    "true": ("return true", True),
    "one": ("return 1", False),
    "a text": ("return 'true'", False),
    "nothing": ("local x = 1", False),
    "false": ("return false", False),
    "an error": ("error('the password is xyzzy')", False),
    "a loop": ("while true do end", False),
    "a hungry one": ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end return true", False),
    "a pattern that never ends": ("return (('a'):rep(1e5)):find(('.-'):rep(50) .. 'b') == nil", False),
    "a global": ("x = 1 return true", False),
    "a swallowed limit": ("pcall(function() while true do end end) return true", False),
    "no globals of others": ("return global == nil and io == nil and load == nil and debug == nil and os.date == nil and os.time() > 0", True),
}


def test_an_authorizer_must_return_exactly_true(home):
    files = {}
    for name, (code, agrees) in ANSWERS.items():
        files[name] = home.give("alice", f"kepler: {{acl: {{users: {{bob: {{allow: [status], authorize: \"{code}\"}}}}}}}}\nservices: {{}}\n",
                                name=name.replace(" ", "-") + ".yaml", mode=0o644)
        home.start(file=files[name], user="alice")
    for name, (code, agrees) in ANSWERS.items():
        if agrees:
            home.run("ps", file=files[name], user="bob")
            continue
        said = home.refused("ps", file=files[name], user="bob")
        assert "an authorizer of" in said and "xyzzy" not in said, name
    shown = home.run("daemon", "status", user="bob").stdout
    assert {name for name in files if files[name] in shown} == {name for name in files if ANSWERS[name][1]}
    assert "xyzzy" in home.log() and f"authorizer took more than 100 ms config={home.path(files['a loop'])}" in home.log()
    assert f"authorizer took more than 100 ms config={home.path(files['true'])}" not in home.log()
    home.run("ps", file=files["a loop"])  # root is not asked about


def test_an_endless_authorizer_delays_no_other_client(home):
    file = shared(home, "users: {bob: {allow: [status], authorize: 'while true do end'}}")
    slow = home.begin("ps", file=file, user="bob")
    try:
        home.run("ps", file=file, user="alice")
        assert slow.poll() is None, "it was answered before the slow one"
    finally:
        said = slow.communicate(timeout=60)[1]
    assert slow.returncode == 1 and "an authorizer of" in said


def test_an_authorizer_sees_the_request_and_the_caller(home):
    file = shared(home, """\
lua: |
  function is_web(request) return #request.params.services == 1 and request.params.services[1] == 'web' end
users:
  bob:
    allow: [restart, 'restart:no-deps', status]
    authorize: |
      if request.action ~= 'restart' then return true end
      return is_web(request) and not request.params.no_deps and caller.uid == 4502 and caller.gid == 4502
        and caller.username == 'bob' and table.find(caller.groups, 'kepler') ~= nil and caller.token == false""",
                  services="web: {run: 'exec sleep 1000'}\n  db: {run: 'exec sleep 1000'}")
    home.run("restart", "web", file=file, user="bob")
    home.refused("restart", "db", file=file, user="bob")
    home.refused("restart", file=file, user="bob")
    home.refused("restart", "--no-deps", "web", file=file, user="bob")


def test_apply_requires_the_right_run_and_diff_those_to_inspect(home):
    file = shared(home, "users:\n  bob: {allow: [run, inspect, 'inspect:services'], authorize: \"return request.action ~= 'run'\"}\n"
                        "groups: {'4510': [inspect]}", env={"SECRET": "of alice"})
    text = home.read(file)
    home.give("alice", text.replace("echo hello", "echo $SECRET"), mode=0o644)
    assert home.run("diff", file=file, user="bob", check=False).returncode == 2
    home.refused("run", "-d", file=file, user="bob")
    assert "'readiness'" in home.refused("apply", "--wait", file=file, user="bob")
    assert home.run("apply", file=file, user="bob", env={"SECRET": "of bob"}).stdout == "restart   web: run changed\n0 unchanged\nApplied\n"
    wait_until(lambda: home.run("logs", "--raw", file=file).stdout.endswith("of alice\n"), "it runs in the owner's environment")
    home.give("alice", text.replace("[run, inspect", "[start, inspect").replace("users:", "users:\n      carol: [all]"), mode=0o644)
    assert "kepler.acl" in home.run("apply", file=file, user="alice", check=False).stderr
    home.run("run", "-d", file=file, user="alice")
    assert "'run'" in home.refused("apply", "--test", file=file, user="bob")


def test_a_rule_that_names_the_owner_runs_its_authorizer_but_never_for_root(home):
    file = shared(home, "users: {alice: {allow: [], authorize: \"return request.action ~= 'stop'\"}}")
    home.run("ps", file=file, user="alice")
    assert "an authorizer of" in home.refused("stop", file=file, user="alice")
    home.run("stop", file=file)


# --- tokens ---------------------------------------------------------------------------------------

WITH_TOKEN = """
    services:
      web: {run: "exec sleep 1000", permissions: [status, restart]}
      db: {run: "exec sleep 1000"}
    """


def token_of(home, name, file="kepler.yaml"):
    return variables_of(home.wait_for(name, "running", file=file)["pid"])["KEPLER_TOKEN"]


def test_a_service_token_grants_exactly_its_permissions(home):
    file = home.give("alice", WITH_TOKEN)
    home.start("--wait", file=file, user="alice")
    variables = variables_of(home.wait_for("web", "running", file=file)["pid"])
    assert TOKEN.fullmatch(variables["KEPLER_TOKEN"])
    assert variables["KEPLER_SOCKET_PATH"] == os.path.join(home.state, "kepler.sock")
    assert not {"KEPLER_TOKEN", "KEPLER_SOCKET_PATH"} & set(variables_of(home.services(file)["db"]["pid"]))
    own = {"KEPLER_TOKEN": variables["KEPLER_TOKEN"]}
    home.run("restart", "db", file=file, user="alice", env=own)
    assert "restart requested by alice, with the token of service 'web'" in home.run("why", "db", file=file, user="alice", env=own).stdout
    for words in (["stop"], ["logs"], ["inspect"], ["start", "-d"], ["restart", "--no-deps", "db"]):
        assert "the token does not grant" in home.refused(*words, file=file, user="alice", env=own)
    for words in (["prune"], ["daemon", "stop"]):
        assert "only root may" in home.refused(*words, env=own)


def test_hooks_and_checks_get_the_token_and_it_is_never_shown(home):
    file = home.give("alice", """
        services:
          web:
            run: "exec sleep 1000"
            permissions: [status]
            hooks: {pre_start: {run: "echo $KEPLER_TOKEN > hook"}, post_stop: {run: "echo $KEPLER_TOKEN > last"}}
            healthcheck: {run: "echo $KEPLER_TOKEN > next; mv next check", interval: 50ms}
        """)
    home.start("--wait", file=file, user="alice")
    token = variables_of(home.wait_for("web", "healthy", file=file)["pid"])["KEPLER_TOKEN"]
    assert home.read("alice/hook").strip() == home.read("alice/check").strip() == token
    assert token not in home.run("inspect", file=file, user="alice").stdout
    home.run("stop", file=file, user="alice")
    assert home.read("alice/last").strip() == token
    assert token.encode() not in home.everything_stored()


def test_a_token_ends_with_its_run(home):
    file = home.give("alice", WITH_TOKEN)
    home.start("--wait", file=file, user="alice")
    first = token_of(home, "web", file)
    home.run("restart", "web", file=file, user="alice")
    second = token_of(home, "web", file)
    assert first != second
    os.kill(home.services(file)["web"]["pid"], signal.SIGKILL)
    home.wait_for("web", "killed", file=file)
    home.start("web", file=file, user="alice")
    third = token_of(home, "web", file)
    home.run("stop", "--clean", file=file, user="alice")
    for token in (first, second, third):
        home.refused("ps", "--all", user="mallory", env={"KEPLER_TOKEN": token})
        for user in ("alice", None):
            assert "is not valid" in home.refused("ps", "--all", user=user, env={"KEPLER_TOKEN": token})


FORGED = {"random": "ab" * 32, "short": "ab" * 31, "long": "ab" * 33, "no digits": "xy" * 32, "null": "0" * 64}


def test_a_forged_token_is_refused(home):
    file = home.give("alice", WITH_TOKEN)
    home.start("--wait", file=file, user="alice")
    for name, token in FORGED.items():
        for user in ("bob", "mallory", None):
            said = home.refused("ps", file=file, user=user, env={"KEPLER_TOKEN": token})
            assert "is not valid" in said and token not in said, name
        assert token not in home.log()


def test_a_token_works_for_a_non_member_where_rules_grant_it(home):
    home.write("""
        kepler: {acl: {users: {mallory: [status, stop]}}}
        services:
          web: {run: "exec sleep 1000", user: mallory, permissions: [status, logs, start]}
        """)
    os.chmod(home.path("kepler.yaml"), 0o644)
    home.start("--wait")
    own = {"KEPLER_TOKEN": token_of(home, "web")}
    assert "usermod" in home.refused("ps", user="mallory")
    assert "web" in home.run("ps", user="mallory", env=own).stdout
    assert "web" in home.run("ps", "--all", user="mallory", env=own).stdout
    for words in (["stop"], ["logs"], ["start", "-d"]):
        assert "the token does not grant" in home.refused(*words, user="mallory", env=own)
    file = home.give("mallory", "services: {x: {run: 'exec sleep 1000'}}")
    assert "the token does not grant" in home.refused("start", "-d", file=file, user="mallory", env=own)


def test_a_config_loaded_with_a_token_gets_no_stronger_tokens(home):
    file = home.give("alice", "services: {web: {run: 'exec sleep 1000', permissions: [status, start]}}")
    home.start("--wait", file=file, user="alice")
    own = {"KEPLER_TOKEN": token_of(home, "web", file)}
    other = home.give("alice", """
        kepler: {autostart: true}
        services: {x: {run: "exec sleep 1000", permissions: [all]}, y: {run: "exec sleep 1000"}}
        """, name="other.yaml")
    home.run("start", "-d", file=other, user="alice", env=own)
    assert "KEPLER_TOKEN" not in variables_of(home.wait_for("y", "running", file=other)["pid"])
    for _ in range(2):
        greedy = {"KEPLER_TOKEN": token_of(home, "x", other)}
        home.run("ps", file=other, user="alice", env=greedy)
        assert "the token does not grant 'stop'" in home.refused("stop", file=other, user="alice", env=greedy)
        home.kill_daemon()
        home.start_daemon()


def test_a_tokens_own_authorizer_runs_first(home):
    file = home.give("alice", """
        kepler:
          acl: {lua: "function may(r) return r.action == 'status' end"}
        services:
          web: {run: "exec sleep 1000", permissions: {allow: [status, restart], authorize: "return caller.token and may(request)"}}
        """)
    home.start("--wait", file=file, user="alice")
    own = {"KEPLER_TOKEN": token_of(home, "web", file)}
    home.run("ps", file=file, user="alice", env=own)
    assert "an authorizer of" in home.refused("restart", file=file, user="alice", env=own)


def test_non_members_cannot_exhaust_the_daemons_connections(home):
    file = home.give("alice", WITH_TOKEN)
    home.start("--wait", file=file, user="alice")
    held = [socket.socket(socket.AF_UNIX) for _ in range(200)]
    try:
        with acting_as(UIDS["mallory"]):
            for one in held:
                one.connect(os.path.join(home.state, "kepler.sock"))
        home.run("ps", file=file, user="alice")
        sent_away = 0
        for one in held:
            one.settimeout(5)
        for one in held[16:]:
            data = b""
            while chunk := one.recv(65536):
                data += chunk
            sent_away += b"denied" in data
        assert sent_away == len(held) - 16
    finally:
        for one in held:
            one.close()


# --- what a user may do ---------------------------------------------------------------------------


def acl(home, *words, **how):
    """`kepler acl --json`: rights, and where they come from."""
    shown = json.loads(home.run("acl", "--json", *words, **how).stdout)
    return shown["rights"], [source["from"] for source in shown["sources"]], shown["obstacle"]


def test_acl_lists_the_rights_of_a_user_and_the_rules_that_grant_them(home):
    file = shared(home, "users: {bob: {allow: [status, logs], authorize: return true}, '4503': [stop]}\ngroups: {kepler: [status], project: [restart]}")
    said = home.run("acl", "bob", file=file, user="alice").stdout
    assert said == (f"Config: {home.path(file)}\nOwner:  alice (uid 4501)\nUser:   bob (uid 4502)\n\n"
                    "RIGHT   GRANTED BY\nstatus  user bob, group kepler\nlogs    user bob\n\nEach request must also be authorized by: user bob\n")
    expected = (["status", "logs"], ["user bob", "group kepler"], None)
    for how in ({"user": "bob"}, {}, {"user": "alice"}):
        assert acl(home, *(() if how.get("user") == "bob" else ("4502",)), file=file, **how) == expected, how
    assert acl(home, "mallory", file=file) == ([], ["user 4503"], "not in the group 'kepler'")
    assert home.run("acl", "mallory", file=file).stdout.endswith("\n\nNo rights: not in the group 'kepler'\n")
    assert home.run("acl", file=file, user="alice").stdout.endswith("RIGHT  GRANTED BY\nall    owner\n")
    assert home.run("acl", file=file).stdout.endswith("RIGHT  GRANTED BY\nall    root\n")


def test_acl_shows_other_users_only_to_root_and_the_owner(home):
    file = shared(home, "users: {bob: [status]}")
    assert "only root and the owner may query other users" in home.refused("acl", "alice", file=file, user="bob")
    home.run("stop", "--clean", file=file, user="alice")
    assert "belongs to 'alice' (uid 4501)" in home.refused("acl", file=shared(home, "users: {mallory: [status]}"), user="bob")
    assert "usermod -aG kepler" in home.refused("acl", file=file, user="mallory")
    failed = home.run("acl", "nobody-here", file=file, check=False)
    assert failed.returncode == 1 and "nobody-here" in failed.stderr
    other = home.give("alice", "services: {web: {run: x}}", name="other.yaml")
    failed = home.run("acl", file=other, check=False)
    assert failed.returncode == 1 and "is not loaded: its first start sets the owner and the rules" in failed.stderr


def test_acl_reports_an_unreadable_file_and_works_for_an_unloaded_config(home):
    file = shared(home, "users: {bob: [status]}")
    home.stop_daemon()
    home.start_daemon()
    assert acl(home, file=file, user="bob") == (["status"], ["user bob"], None)
    os.chmod(home.path(file), 0o600)
    rights, sources, obstacle = acl(home, "bob", file=file)
    assert (rights, sources) == ([], ["user bob"]) and "Permission denied" in obstacle
    assert "Permission denied" in home.refused("acl", file=file, user="bob")


def test_acl_of_a_token_is_limited_by_the_rights_of_its_user(home):
    file = shared(home, "users: {bob: [status, logs]}", services="web: {run: 'exec sleep 1000', permissions: [status, restart]}")
    own = {"KEPLER_TOKEN": token_of(home, "web", file)}
    assert acl(home, file=file, user="alice", env=own) == (["restart", "status"], ["owner", "token of service 'web'"], None)
    assert acl(home, file=file, user="bob", env=own) == (["status"], ["user bob", "token of service 'web'"], None)
    assert "only root and the owner may query other users" in home.refused("acl", "bob", file=file, user="alice", env=own)


# --- hardening ------------------------------------------------------------------------------------

USERS = """
    services:
      own: {run: "exec sleep 1000"}
      other: {run: "exec sleep 1000", user: bob}
      root: {run: "exec sleep 1000", user: root}
      wheel: {run: "exec sleep 1000", user: "bob:root"}
      hook: {run: "exec sleep 1000", hooks: {pre_start: {run: "true", user: root}}}
    """
ALL = {"own", "other", "root", "wheel", "hook"}
LEVELS = {
    "strict": {None: {"own"}, "none": {"own"}},
    "no-root": {None: {"own", "other"}, "none": {"own", "other"}, "strict": {"own"}},
    "none": {None: {"own", "other"}, "none": ALL, "strict": {"own"}},
}


@pytest.mark.parametrize("daemon", LEVELS)
def test_the_stricter_level_of_daemon_and_config_applies(idle, daemon):
    idle.start_with("--hardening", daemon)
    files = {config: idle.give("alice", USERS, name=f"{config}.yaml") for config in LEVELS[daemon]}
    for config, file in files.items():
        idle.start(*(["--hardening", config] if config else []), file=file, user="alice")
    for config, file in files.items():
        found = wait_until(lambda: (now := {name: one["status"] for name, one in idle.services(file).items()})
                           and set(now.values()) <= {"running", "failed"} and now, "all are settled")
        assert {name for name in ALL if found[name] == "running"} == LEVELS[daemon][config], (daemon, config)


def test_configs_owned_by_root_are_exempt_from_levels(idle):
    idle.env["KEPLER_HARDENING"] = "strict"
    idle.start_daemon()
    idle.write("services: {a: {run: 'exec sleep 1000', user: bob}, b: {run: 'exec sleep 1000'}}")
    idle.start("--wait", "--hardening", "strict")
    assert [facts_of(idle.services()[name]["pid"])["Uid"].split()[0] for name in "ab"] == ["4502", "0"]


def test_a_level_stays_with_the_config_and_survives_a_crash(idle):
    idle.start_with("--hardening=none")
    file = idle.give("alice", "kepler: {autostart: true}\nservices: {a: {run: 'exec sleep 1000'}, b: {run: 'exec sleep 1000', user: bob}}")
    idle.start("--hardening", "strict", file=file, user="alice")
    idle.wait_for("b", "failed", file=file)
    idle.kill_daemon()
    idle.start_daemon()
    idle.wait_for("a", "running", file=file)
    idle.start("b", file=file, user="alice", check=False)
    assert "only root may" in idle.wait_for("b", "failed", file=file)["fail_reason"]
    run = idle.start("--hardening", "none", file=file, user="alice", check=False)
    assert "which stays until" in run.stderr
    idle.run("run", "-d", "--hardening", "no-root", file=file, user="alice")
    idle.wait_for("b", "running", file=file)
    run = idle.start("--hardening", "strict", file=file, user="alice", check=False)
    assert run.returncode == 1 and "is loaded with hardening level no-root" in run.stderr


def test_a_token_may_require_a_level_of_the_config(idle):
    idle.start_with("--hardening", "none")
    file = idle.give("alice", "services: {web: {run: 'exec sleep 1000', permissions: {allow: [status, start], hardening: strict}}}")
    idle.start("--wait", file=file, user="alice")
    own = {"KEPLER_TOKEN": token_of(idle, "web", file)}
    assert "is for configs with hardening level strict" in idle.refused("ps", file=file, user="alice", env=own)
    other = idle.give("alice", "services: {x: {run: 'exec sleep 1000'}, y: {run: 'exec sleep 1000', user: bob}}", name="other.yaml")
    idle.run("start", "-d", file=other, user="alice", env=own)
    idle.wait_for("x", "running", file=other)
    idle.wait_for("y", "failed", file=other)
    idle.run("ps", file=other, user="alice", env=own)


def test_an_unknown_level_is_wrong_usage(idle):
    idle.start_daemon()
    idle.write("services: {}")
    for words in (["start", "-d", "--hardening", "stric"], ["run", "-d", "--hardening", "root"], ["recreate", "--hardening", "x"]):
        run = idle.run(*words, check=False)
        assert run.returncode == 2 and "unknown hardening level" in run.stderr
    for words in (["--hardening", "stric"], ["--hardening"], ["--hardening=none", "more"]):
        run = idle.machine.run(idle.path("bin/kepler-daemon"), *words, check=False)
        assert run.returncode == 2, words


# --- what a hostile client sends ------------------------------------------------------------------


def test_only_the_owner_may_load_text_into_a_config(home):
    file = shared(home, "users: {bob: [all]}")
    home.run("stop", file=file, user="alice")
    path = os.path.join(home.state, "kepler.sock")
    evil = "services: {web: {run: 'id > /tmp/gotcha'}}"
    for name in ("start", "run"):
        for uid in (UIDS["bob"], UIDS["mallory"]):
            answer = ask(path, uid, name, {"config": home.path(file), "text": evil})
            assert b"denied" in answer
            assert uid == UIDS["mallory"] or b"only the owner and root may load text other" in answer
    assert b"ok" in ask(path, UIDS["alice"], "start", {"config": home.path(file)})


def test_another_name_of_a_file_grants_no_additional_rights(home):
    file = shared(home, "users: {bob: {allow: [all], authorize: 'return false'}}")
    path = os.path.join(home.state, "kepler.sock")
    os.symlink(home.path(file), home.path("bob/link.yaml"))
    for other in ("bob/link.yaml", "alice/../alice/kepler.yaml"):
        for name in ("start", "run", "recreate"):
            assert b"denied" in ask(path, UIDS["bob"], name, {"config": home.path(other)}), (other, name)
    assert home.status("web", file=file) == "running"


def test_a_malformed_token_on_the_wire_is_refused(home):
    file = home.give("alice", WITH_TOKEN)
    home.start("--wait", file=file, user="alice")
    path = os.path.join(home.state, "kepler.sock")
    good = token_of(home, "web", file)
    assert b"denied" not in ask(path, UIDS["mallory"], "ping", {}, good)
    for token in ("x", good[:-1], good + "0", good.upper()[:-1] + "x", "0" * 100000):
        assert b"denied" in ask(path, UIDS["mallory"], "ping", {}, token), token[:70]
    assert b"version" not in ask(path, UIDS["mallory"], "ping", {}, "\0" * 64)
    assert b"denied" in ask(path, UIDS["mallory"], "ping", {})


# --- a daemon of one user -------------------------------------------------------------------------


def test_the_daemon_of_a_user_reads_rules_and_levels_and_lends_tokens(home):
    own = {"KEPLER_DAEMON_PATH": "", "XDG_STATE_HOME": "", "HOME": home.path("alice")}
    file = home.give("alice", """
        kepler: {acl: {users: {bob: [all]}}}
        services: {web: {run: "exec sleep 1000", permissions: [status]}}
        """, mode=0o644)
    home.run("daemon", "start", "-d", user="alice", env=own)
    try:
        home.run("start", "-d", "--wait", "--hardening", "none", file=file, user="alice", env=own)
        pid = json.loads(home.run("ps", "--json", file=file, user="alice", env=own).stdout)["web"]["pid"]
        token = {**own, "KEPLER_TOKEN": variables_of(pid)["KEPLER_TOKEN"]}
        home.run("ps", file=file, user="alice", env=token)
        for words in (["stop"], ["daemon", "stop"]):
            home.refused(*words, file=file, user="alice", env=token)
        state = home.path("alice/.local/state/kepler")
        assert home.run("ps", file=file, user="bob", check=False, env={"KEPLER_DAEMON_PATH": state}).returncode != 0
    finally:
        home.run("daemon", "stop", user="alice", env=own)
