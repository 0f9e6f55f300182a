"""Who may do what with the daemon of root, and what it does for them: real accounts, real processes."""
import json
import os
import socket
import subprocess
import sys

import pytest

from kepler_home import variables_of, wait_until
from kepler_users import UIDS, Users

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a daemon for many users needs root")
SECRET = "hunter2-of-root"
# Says how many bytes each client sent.
LISTENER = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1] + "~")
os.chmod(sys.argv[1] + "~", 0o666)
server.listen(8)
os.rename(sys.argv[1] + "~", sys.argv[1])
while True:
    client = server.accept()[0]
    count = 0
    while chunk := client.recv(65536):
        count += len(chunk)
    print(count, flush=True)
"""


@pytest.fixture
def home(tmp_path):
    home = Users(tmp_path)
    home.start_daemon()
    yield home
    home.close()


def facts_of(home, pid):
    """Uid, Gid, Groups, NoNewPrivs of a process."""
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


# --- what a service runs as -----------------------------------------------------------------------


def test_a_service_of_a_member_runs_as_the_member_without_the_group_of_the_daemon(home):
    file = home.give("alice", "services: {web: {run: 'exec sleep 1000'}}")
    home.start("--wait", file=file, user="alice")
    pid = home.wait_for("web", "running", file=file)["pid"]
    facts, variables = facts_of(home, pid), variables_of(pid)
    assert facts["Uid"].split() == ["4501"] * 4 and facts["Gid"].split() == ["4501"] * 4
    assert sorted(facts["Groups"].split()) == ["4501", "4510"]
    assert facts["NoNewPrivs"] == "1"
    assert {name: variables[name] for name in ("HOME", "USER", "LOGNAME", "SHELL")} == {
        "HOME": "/home/alice", "USER": "alice", "LOGNAME": "alice", "SHELL": "/bin/bash"}
    assert os.readlink(f"/proc/{pid}/cwd") == home.path("alice")


def test_root_names_any_user_and_the_identity_can_be_left_alone(home):
    home.write("""
        services:
          a: {run: "exec sleep 1000", user: bob, no_new_privileges: false}
          b: {run: "exec sleep 1000", user: "4502:4510", groups: [4501], user_identity: false}
          c: {run: "exec sleep 1000"}
        """)
    home.start("--wait", env={"HOME": "/of/root"})
    found = {name: facts_of(home, home.wait_for(name, "running")["pid"]) for name in "abc"}
    assert found["a"]["Uid"].split()[0] == "4502" and found["a"]["Groups"].split() == ["4502"]
    assert found["a"]["NoNewPrivs"] == "0"
    assert found["b"]["Gid"].split()[0] == "4510" and found["b"]["Groups"].split() == ["4501"]
    assert variables_of(home.services()["b"]["pid"])["HOME"] == "/of/root"
    assert found["c"]["Uid"].split()[0] == "0"


def test_a_hook_and_a_check_with_a_user_have_the_home_of_that_user(home):
    home.write("""
        services:
          a:
            run: "exec sleep 1000"
            user: alice
            environment: [HOME=/elsewhere]
            hooks:
              pre_start:
                - {run: "echo $HOME $USER"}
                - {run: "echo $HOME $LOGNAME", user: bob}
                - {run: "echo $HOME $USER", user: "4503", inherit_env: false}
            healthcheck: {run: "test -s home || echo $HOME > home", user: mallory, interval: 1h}
        """)
    os.chmod(home.folder, 0o777)
    home.start("--wait")
    assert [text for _, text in home.lines()] == ["/home/alice alice", "/home/bob bob", "/home/mallory mallory"]
    assert home.read("home") == "/home/mallory\n"


def test_a_number_without_an_account_has_nobodys_home(home):
    home.write("services: {a: {run: 'exec sleep 1000', user: '4599'}}")
    home.start("--wait", env={"HOME": "/of/root", "USER": "root", "LOGNAME": "root"})
    variables = variables_of(home.wait_for("a", "running")["pid"])
    assert {name: variables[name] for name in ("HOME", "USER", "LOGNAME", "SHELL")} == {
        "HOME": "/", "USER": "4599", "LOGNAME": "4599", "SHELL": "/bin/sh"}


def test_other_users_cannot_open_the_daemons_lock(home):
    home.write("services: {a: {run: 'exec sleep 1000'}}")
    home.start("--wait")
    locks = [os.path.join(folder, name) for folder, _, names in os.walk(home.state) for name in names
             if name in ("lock", "kepler.lock")]
    assert len(locks) == 2
    for path in locks:
        assert os.stat(path).st_mode & 0o777 == 0o600, path


GAINS = {
    "root": ("user: root", "only root may run services as another user"),
    "uid 0": ("user: 0", "only root may run services as another user"),
    "another member": ("user: bob", "only root may run services as another user"),
    "the group of root": ("user: 'alice:root'", "cannot run in group 0"),
    "a group of others": ("groups: [project, shadow]", "cannot run in group"),
    "computed": ("user: \"${{ 'ro' .. 'ot' }}$\"", "only root may run services as another user"),
}


@pytest.mark.parametrize("words, why", GAINS.values(), ids=GAINS.keys())
def test_an_owner_gains_no_rights_through_the_daemon(home, words, why):
    file = home.give("alice", f"""
        services:
          service: {{run: "id > seen", {words}}}
          hook: {{run: "exec sleep 1000", hooks: {{pre_start: {{run: "id > seen", {words}}}}}}}
          check: {{run: "exec sleep 1000", healthcheck: {{run: "id > seen", interval: 50ms, {words}}}}}
        """)
    home.start(file=file, user="alice")
    for name in ("service", "hook", "check"):
        assert why in home.wait_for(name, "failed", file=file)["fail_reason"]
    assert not os.path.exists(home.path("alice/seen"))


def test_an_owner_may_choose_among_their_own_groups(home):
    file = home.give("alice", "services: {web: {run: 'exec sleep 1000', user: 'alice:project', groups: [alice, kepler]}}")
    home.start("--wait", file=file, user="alice")
    facts = facts_of(home, home.wait_for("web", "running", file=file)["pid"])
    assert facts["Gid"].split()[0] == "4510" and facts["Groups"].split() == ["4501"]


def test_limits_hold_and_only_root_raises_them(home):
    file = home.give("alice", """
        services:
          low: {run: "ulimit -n; ulimit -Hn; ulimit -v; ulimit -t", limits: {max_fds: 64, memory: 512MB, cpu_time: 100}}
          high: {run: "ulimit -n", limits: {max_fds: 2000000000}}
        """)
    home.start(file=file, user="alice")
    home.wait_for("low", "exited", file=file)
    assert [text for name, text in home.lines("low", file=file)] == ["64", "64", "524288", "100"]
    assert "'limits.max_fds' may be at most" in home.wait_for("high", "failed", file=file)["fail_reason"]


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("autostart", [False, True])
def test_an_env_file_that_its_owner_may_not_read_fails_the_service_and_shows_nothing(home, autostart):
    path = home.secret(f"PASSWORD={SECRET}\n")
    os.symlink(path, home.path("alice/link.env"))
    file = home.give("alice", f"""
        kepler: {{autostart: {str(autostart).lower()}}}
        services:
          direct: {{run: "exec env", env_file: {path}}}
          linked: {{run: "exec env", env_file: link.env}}
          hook: {{run: "exec env", hooks: {{pre_start: {{run: "exec env", env_file: {path}}}}}}}
        """)
    home.start(file=file, user="alice")
    for name, named in (("direct", path), ("linked", home.path("alice/link.env")), ("hook", path)):
        reason = home.wait_for(name, "failed", file=file)["fail_reason"]
        assert named in reason and "Permission denied" in reason and "as user 4501" in reason
    shown = home.run("inspect", file=file, user="alice").stdout + home.run("logs", file=file, user="alice").stdout
    assert SECRET not in shown and SECRET.encode() not in home.everything_stored()
    assert "PASSWORD" not in shown


def test_an_env_file_that_its_owner_may_read_through_a_group_is_read(home):
    path = home.secret("COLOR=green\n", mode=0o640)
    os.chown(path, 0, 4510)
    file = home.give("alice", f"services: {{web: {{run: 'echo $COLOR', env_file: {path}}}}}")
    home.start(file=file, user="alice")
    home.wait_for("web", "exited", file=file)
    assert home.lines(file=file) == [("web", "green")]


def test_a_config_that_the_caller_may_not_read_is_not_loaded(home):
    path = home.secret(f"services: {{web: {{run: '{SECRET}'}}}}", name="kepler.yaml")
    run = home.start(user="alice", check=False)
    assert run.returncode == 1 and path in run.stderr and "Permission denied" in run.stderr
    assert SECRET not in run.stderr
    run = home.run("start", "-d", file="alice", user="alice", check=False)
    assert run.returncode == 1 and "not a file" in run.stderr


def test_a_working_dir_hidden_from_the_owner_counts_as_missing(home):
    os.mkdir(home.path("closed"), 0o700)
    os.mkdir(home.path("closed/inside"), 0o755)
    file = home.give("alice", f"""
        services:
          there: {{run: "true", working_dir: {home.path("closed/inside")}}}
          gone: {{run: "true", working_dir: {home.path("closed/nothing")}}}
        """)
    home.start(file=file, user="alice")
    for name in ("there", "gone"):
        assert "Permission denied" in home.wait_for(name, "failed", file=file)["fail_reason"]


def test_files_that_the_owner_may_not_see_are_not_watched_for_them(home):
    os.mkdir(home.path("closed"), 0o700)
    file = home.give("alice", f"""
        services:
          spy: {{run: "exec sleep 1000", restart: {{policy: always, watch: ["{home.path('closed')}/**"]}}}}
          own: {{run: "exec sleep 1000", restart: {{policy: always, watch: ["*.conf"]}}}}
        """)
    home.start("--wait", file=file, user="alice")
    pids = {name: home.services(file)[name]["pid"] for name in ("spy", "own")}
    wait_until(lambda: any("'restart.watch' does not see" in text and "Permission denied" in text for name, text in home.lines("spy", file=file)), "it is told")
    home.write("x", "closed/new")
    home.give("alice", "x", "a.conf")
    wait_until(lambda: home.services(file)["own"]["pid"] not in (None, pids["own"]), "own files are watched")
    assert home.services(file)["spy"]["pid"] == pids["spy"]


def test_the_daemons_files_are_closed_to_users(home):
    file = home.give("alice", "services: {web: {run: 'echo private'}}")
    home.start(file=file, user="alice")
    home.wait_for("web", "exited", file=file)
    folder, = os.listdir(os.path.join(home.state, "configs"))
    for path in ("", "configs", f"configs/{folder}", f"configs/{folder}/logs"):
        run = home.machine.run("setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "ls",
                               os.path.join(home.state, path), check=False)
        assert run.returncode != 0 and "Permission denied" in run.stderr


def test_a_users_text_cannot_control_roots_terminal(home):
    file = home.give("alice", """
        services:
          bad: {run: "true", env_file: "${{ error(string.char(27) .. '[2Jgotcha') }}$"}
          web: {run: "exec sleep 1000", restart: {policy: always, watch: ["*"]}}
        """)
    home.start(file=file, user="alice")
    assert "gotcha" in home.wait_for("bad", "failed", file=file)["fail_reason"]
    home.wait_for("web", "running", file=file)
    home.write("", os.path.join("alice", "\x1b]0;title\x07"))
    wait_until(lambda: "a watched file changed" in home.run("why", "web", file=file).stdout, "web restarts")
    for words in (["ps"], ["ps", "--all"], ["why", "web", "bad"], ["inspect"], ["daemon", "status"]):
        assert "\x1b" not in home.run(*words, file=file).stdout
    os.rename(home.path(file), home.path("alice/\x1b[2J.yaml"))
    run = home.start(file="alice/\x1b[2J.yaml", user="alice", check=False)
    assert run.returncode == 1 and "control characters" in run.stderr


def test_root_is_warned_of_a_file_that_others_can_change(home):
    file = home.give("bob", "services: {web: {run: 'exec sleep 1000'}}")
    run = home.start("--wait", file=file)
    assert "can be changed by 'bob' (uid 4502)" in run.stderr and "run as root" in run.stderr
    assert facts_of(home, home.services(file)["web"]["pid"])["Uid"].split()[0] == "0"
    home.write("services: {web: {run: 'exec sleep 1000'}}")
    assert "can be changed" not in home.start("--wait").stderr


# --- who is let in --------------------------------------------------------------------------------


def test_a_non_member_gets_advice_and_new_membership_takes_effect_at_once(home):
    file = home.give("mallory", "services: {web: {run: 'exec sleep 1000'}}")
    for words in (["start", "-d"], ["ps", "--all"], ["daemon", "status"], ["logs"], ["prune"], ["daemon", "stop"]):
        run = home.run(*words, file=file, user="mallory", check=False)
        assert run.returncode == 1 and "Permission denied" in run.stderr
        assert "usermod -aG kepler" in run.stderr and "KEPLER_DAEMON_PATH" in run.stderr
    home.machine.sh("gpasswd -a mallory kepler")
    home.start("--wait", file=file, user="mallory")
    home.machine.sh("gpasswd -d mallory kepler")
    assert home.run("ps", file=file, user="mallory", check=False).returncode == 1
    assert home.status("web", file=file) == "running"


def test_a_member_by_login_group_is_a_member(home):
    home.machine.sh("usermod -g kepler mallory")
    file = home.give("mallory", "services: {web: {run: 'exec sleep 1000'}}")
    home.start("--wait", file=file, user="mallory")
    assert home.status("web", file=file) == "running"


def test_one_user_cannot_lock_others_out_with_connections(home):
    held = [socket.socket(socket.AF_UNIX) for _ in range(200)]
    try:
        os.setresuid(-1, UIDS["alice"], -1)
        try:
            for one in held:
                one.connect(os.path.join(home.state, "kepler.sock"))
        finally:
            os.setresuid(-1, 0, -1)
        run = home.run("ps", "--all", user="alice", check=False)
        assert run.returncode == 1 and "too many connections" in run.stderr
        assert home.run("ps", "--all", user="bob").returncode == 0
    finally:
        for one in held:
            one.close()
    wait_until(lambda: home.run("ps", "--all", user="alice", check=False).returncode == 0, "alice is back")


def test_without_the_group_the_daemon_serves_only_root_and_explains_why(tmp_path):
    home = Users(tmp_path)
    try:
        home.machine.sh("groupdel kepler")
        home.start_daemon()
        assert "groupadd --system kepler" in home.log()
        file = home.give("alice", "services: {web: {run: 'exec sleep 1000'}}")
        run = home.start(file=file, user="alice", check=False)
        assert run.returncode == 1 and "no group 'kepler'" in run.stderr and "groupadd" in run.stderr
        home.start("--wait", file=file)
        home.machine.sh("groupadd kepler; gpasswd -a bob kepler")
        assert home.run("ps", "--all", user="bob").stdout.split() == ["CONFIG", "NAME", "STATUS", "PID"]
    finally:
        home.close()


# --- whose config it is ---------------------------------------------------------------------------

OTHERS = [["start", "-d"], ["run", "-d"], ["recreate"], ["stop"], ["stop", "--clean"], ["restart"], ["ps"], ["logs"],
          ["inspect"], ["why", "web"]]


def test_a_config_belongs_to_its_loader_and_root(home):
    file = home.give("alice", "services: {web: {run: 'echo mine; exec sleep 1000'}}", mode=0o644)
    home.start("--wait", file=file, user="alice")
    for words in OTHERS:
        run = home.run(*words, file=file, user="bob", check=False)
        assert run.returncode == 1 and "belongs to 'alice' (uid 4501)" in run.stderr, (words, run.stderr)
    for words in (["ps", "--all"], ["daemon", "status"]):
        assert "web" not in (shown := home.run(*words, user="bob").stdout) and "alice" not in shown
    for user in ("alice", None):
        assert "web" in home.run("ps", "--all", user=user).stdout
        assert file in home.run("daemon", "status", user=user).stdout
    for words in (["prune", "--force"], ["daemon", "stop"]):
        run = home.run(*words, user="alice", check=False)
        assert run.returncode == 1 and "only root may" in run.stderr
    assert home.status("web", file=file) == "running"
    home.run("restart", file=file)
    why = home.run("why", "web", file=file, user="alice").stdout
    assert "start requested by alice\n" in why and "restart requested by root\n" in why
    assert facts_of(home, home.wait_for("web", "running", file=file)["pid"])["Uid"].split()[0] == "4501"


def test_a_user_who_cannot_read_a_config_does_not_learn_that_it_is_loaded(home):
    file = home.give("alice", "services: {web: {run: 'exec sleep 1000'}}")
    os.chmod(home.path("alice"), 0o700)
    home.start("--wait", file=file, user="alice")
    loaded = home.run("ps", file=file, user="bob", check=False)
    assert loaded.returncode == 1 and "Permission denied" in loaded.stderr and "alice'" not in loaded.stderr


def test_the_owner_stays_the_owner_through_a_restart_of_the_daemon(home):
    file = home.give("alice", "services: {web: {run: 'echo private of $USER; exec sleep 1000'}}", mode=0o644)
    home.start("--wait", file=file, user="alice")
    wait_until(lambda: home.lines(file=file), "a line")
    home.kill_daemon()
    home.start_daemon()
    for words in (["start", "-d"], ["run", "-d"], ["recreate"], ["stop", "--clean"]):
        run = home.run(*words, file=file, user="bob", check=False)
        assert run.returncode == 1 and "belongs to 'alice'" in run.stderr, (words, run.stderr)
    assert "private" not in home.run("logs", file=file, user="bob", check=False).stdout
    home.run("stop", "--clean", file=file, user="alice")
    home.start("--wait", file=file, user="bob")
    wait_until(lambda: home.lines(file=file), "a line of bob")
    assert home.lines(file=file, ) == [("web", "private of bob")]


@pytest.mark.parametrize("words", [["start", "-d"], ["run", "-d"], ["recreate"]], ids=lambda words: words[0])
def test_services_restarted_by_root_run_as_their_owner_without_roots_environment(home, words):
    file = home.give("alice", "services: {web: {run: 'exec sleep 1000'}}")
    home.start("--wait", file=file, user="alice", env={"OWN": "1"})
    if words[0] == "start":
        home.kill_daemon()
        home.start_daemon()
    home.run(*words, file=file, env={"ROOTS_TOKEN": SECRET})
    pid = home.wait_for("web", "running", file=file)["pid"]
    assert facts_of(home, pid)["Uid"].split()[0] == "4501"
    variables = variables_of(pid)
    assert "ROOTS_TOKEN" not in variables and variables["USER"] == "alice" and "PATH" in variables
    assert ("OWN" in variables) == (words[0] != "start")
    assert home.run("ps", file=file, user="alice").returncode == 0


def test_autostart_restores_a_members_services_as_the_member(home):
    file = home.give("alice", """
        kepler: {autostart: {environment: [PATH]}}
        services: {web: {run: "exec sleep 1000"}}
        """)
    home.start("--wait", file=file, user="alice")
    home.kill_daemon()
    home.start_daemon()
    pid = home.wait_for("web", "running", file=file)["pid"]
    assert facts_of(home, pid)["Uid"].split()[0] == "4501" and facts_of(home, pid)["Groups"].split() == ["4501", "4510"]
    assert json.loads(home.run("ps", "--json", file=file, user="alice").stdout)["web"]["pid"] == pid


# --- who listens ----------------------------------------------------------------------------------


FOREIGN = {"start": ["start", "-d"], "ps": ["ps"], "stop": ["daemon", "stop"], "status": ["daemon", "status"]}


@pytest.mark.parametrize("words", FOREIGN.values(), ids=FOREIGN.keys())
def test_nothing_is_sent_to_a_listener_that_is_neither_root_nor_oneself(home, words):
    path = home.path("mallory/sock")
    listener = subprocess.Popen(["setpriv", f"--reuid={UIDS['mallory']}", "--clear-groups", sys.executable, "-c", LISTENER, path],
                                stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: os.path.exists(path), "somebody listens")
        file = home.give("alice", "services: {web: {run: 'exec sleep 1000'}}")
        run = home.run(*words, file=file, user="alice", check=False, env={"KEPLER_SOCKET_PATH": path, "TOKEN": SECRET})
        assert run.returncode == 2 and "belongs to 'mallory' (uid 4503)" in run.stderr
    finally:
        listener.terminate()
    assert set(listener.communicate()[0].split()) <= {"0"}


# --- a daemon of one user -------------------------------------------------------------------------


def test_a_user_without_rights_has_a_daemon_of_their_own(home):
    own = {"KEPLER_DAEMON_PATH": "", "XDG_STATE_HOME": "", "HOME": home.path("alice")}
    file = home.give("alice", """
        services:
          web: {run: "exec sleep 1000", healthcheck: {run: "true", interval: 50ms}}
          root: {run: "id", user: root}
          group: {run: "id", groups: [project]}
          self: {run: "id -u", user: alice}
        """)
    home.run("daemon", "start", "-d", user="alice", env=own)
    try:
        state = home.path("alice/.local/state/kepler")
        assert os.stat(state).st_uid == UIDS["alice"] and os.stat(state).st_mode & 0o777 == 0o700
        home.run("start", "-d", file=file, user="alice:project", env=own)

        def services():
            return json.loads(home.run("ps", "--json", file=file, user="alice", env=own).stdout)

        wait_until(lambda: services()["web"]["status"] == "healthy" and services()["self"]["status"] == "exited", "they run")
        found = services()
        pid = found["web"]["pid"]
        assert facts_of(home, pid)["Uid"].split() == ["4501"] * 4 and facts_of(home, pid)["NoNewPrivs"] == "1"
        assert variables_of(pid)["USER"] == "alice" and variables_of(pid)["HOME"] == "/home/alice"
        assert found["self"]["exit_code"] == 0
        assert "the daemon does not run as root" in found["root"]["fail_reason"]
        assert "needs a daemon that runs as root" in found["group"]["fail_reason"]
        bob = home.run("ps", user="bob", check=False, env={"KEPLER_DAEMON_PATH": state})
        assert bob.returncode != 0 and "Permission denied" in bob.stderr
        root = home.run("ps", "--all", env={"KEPLER_DAEMON_PATH": state}, check=False)
        assert root.returncode == 2 and "belongs to 'alice' (uid 4501)" in root.stderr
        home.run("prune", "--dry-run", user="alice", env=own)
    finally:
        home.run("daemon", "stop", user="alice", env=own)
    assert "web" not in home.run("ps", "--all").stdout
