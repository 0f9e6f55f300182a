"""kepler apply and diff: a changed file is applied to the services that changed, and to no other."""
import copy
import json
import os
import random
import time

import pytest
import yaml

from kepler_home import PATIENCE, wait_until

EDITS = int(os.environ.get("KEPLER_EDITS", "60"))
SEED = int(os.environ.get("KEPLER_SEED", "7"))
SLEEP = "exec sleep 1000"
FILE = {"services": {
    "db": {"run": SLEEP},
    "api": {"run": SLEEP, "depends_on": {"db": {"restart": True}}},
    "web": {"run": SLEEP, "depends_on": {"api": {"restart": True}}},
    "worker": {"run": SLEEP, "depends_on": ["db"], "environment": ["TOKEN=one"]},
    "old": {"run": SLEEP},
}}


def write(home, file):
    home.write(yaml.safe_dump(file, sort_keys=False))


def changed(**services):
    """FILE with some keys of services replaced; None: without the service."""
    file = copy.deepcopy(FILE)
    for name, keys in services.items():
        if keys is None:
            del file["services"][name]
        else:
            file["services"].setdefault(name, {}).update(keys)
    return file


def pids(home):
    return {name: one["pid"] for name, one in home.services().items()}


def running(home, file=FILE):
    write(home, file)
    home.start("--wait")
    return pids(home)


def moved(before, after):
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def apply(home, *words, check=True):
    return home.run("apply", *words, check=check)


EDIT = dict(db={"environment": ["A=1"]}, new={"run": SLEEP}, old=None, worker={"stop_grace_period": "3s"})
PLAN = """restart   db: environment changed
restart   api: dependency db restarts
restart   web: dependency api restarts
in place  worker: stop_grace_period changed
start     new: new
stop      old: no longer in the file
0 unchanged
"""


def test_the_plan_names_each_service_with_its_reason_and_moves_nothing(home):
    before = running(home)
    write(home, changed(**EDIT))
    assert apply(home, "--test").stdout == PLAN
    assert pids(home) == before
    plan = json.loads(apply(home, "--test", "--json").stdout)
    assert [(one["service"], one["action"], one["cause"]) for one in plan["services"]][:2] == [
        ("db", "restart", None), ("api", "restart", "db")]
    assert plan["services"][0]["changed"] == [{"key": "environment"}] and not plan["same"]


def test_apply_touches_what_changed_and_what_follows_and_nothing_else(home):
    before = running(home, changed(calm={"run": "echo said once; " + SLEEP}))
    write(home, changed(**EDIT, calm={"run": "echo said once; " + SLEEP}))
    assert apply(home, "--wait").stdout == PLAN.replace("0 unchanged", "1 unchanged") + "Applied\n"
    after = pids(home)
    assert moved(before, after) == {"db", "api", "web", "new", "old"} and "old" not in after
    assert all(after.values())
    assert home.run("logs", "--raw", "calm").stdout == "said once\n"
    assert home.run("diff").stdout == ""
    assert apply(home).stdout == "No changes\n"
    assert pids(home) == after
    home.run("stop")
    assert set(pids(home).values()) == {None}


def test_a_change_of_comments_and_order_touches_nothing_but_the_stored_text(home):
    before = running(home)
    write(home, {"services": dict(reversed(FILE["services"].items()))})
    assert home.run("diff").stdout == ""
    assert apply(home).stdout == "No changes\n"
    assert pids(home) == before
    assert "has changed since" not in home.run("start", "-d").stderr
    home.run("restart", "worker")
    assert moved(before, pids(home)) == {"worker"}


def test_the_difference_shows_old_and_new_values_but_no_variable(home):
    running(home)
    write(home, changed(worker={"environment": ["TOKEN=two"], "run": "exec sleep 2000"}, old=None, more={"run": SLEEP}))
    run = home.run("diff", check=False)
    assert run.returncode == 2
    assert run.stdout == ('worker\n'
                          '  run: "exec sleep 1000" -> "exec sleep 2000"\n'
                          '  environment: ["TOKEN=***"] -> ["TOKEN=***"]\n'
                          'more (new)\n'
                          'old (removed)\n')
    assert home.run("diff", "--json", check=False).returncode == 2
    write(home, FILE)
    assert home.run("diff").stdout == ""


@pytest.mark.parametrize("text, words", [
    ("services:\n  db: {run: 'true', restrat: always}\n  web: {run: 'true', depends_on: [nowhere]}\n", ["restrat", "nowhere"]),
    ("kepler: {timeout: 5s}\nservices: {db: {run: 'true'}}\n", ["kepler.timeout changed", "'kepler run' stops them"]),
    ("lua: x = 1\nservices: {db: {run: 'true'}}\n", ["lua changed"]),
])
def test_a_file_that_cannot_be_applied_is_refused_before_anything_moves(home, text, words):
    before = running(home)
    home.write(text)
    run = apply(home, check=False)
    assert run.returncode == 1 and all(word in run.stderr for word in words), run.stderr
    assert pids(home) == before


def test_a_failure_brings_the_former_definitions_back(home):
    before = running(home)
    write(home, changed(db={"run": "sleep 0.2; exit 7", "healthcheck": {"run": "false", "interval": "100ms", "retries": 2}},
                        new={"run": SLEEP}, old=None))
    run = apply(home, "--wait", "--timeout", "20s", "--revert-on-failure", check=False)
    assert run.returncode == 1 and "not applied: the former config runs again" in run.stderr, run.stderr
    wait_until(lambda: all(pids(home).values()), "all run again")
    after = pids(home)
    assert set(after) == set(before) and after["worker"] == before["worker"]
    assert home.run("diff", check=False).returncode == 2


def test_the_wait_ends_in_time_and_leaves_what_it_applied(home):
    before = running(home)
    write(home, changed(db={"healthcheck": {"run": "sleep 1000"}}))
    run = apply(home, "--wait", "--timeout", "200ms", check=False)
    assert run.returncode == 1 and run.stderr == "Error: service 'db' is running: not ready in time\n"
    assert moved(before, pids(home)) == {"db", "api", "web"}
    assert home.run("diff").stdout == ""


def test_a_service_stopped_by_hand_stays_stopped(home):
    running(home)
    home.run("stop", "worker")
    write(home, changed(worker={"run": "echo new; " + SLEEP}))
    assert "in place  worker: run changed" in apply(home).stdout
    assert pids(home)["worker"] is None
    home.start("worker", "--wait")
    assert home.run("logs", "--raw", "worker").stdout == "new\n"


def test_the_foreground_goes_on_while_all_its_services_are_restarted(home):
    write(home, {"services": {"one": {"run": "echo first; " + SLEEP}}})
    foreground = home.begin("start")
    assert foreground.stdout.readline().endswith("first\n")
    write(home, {"services": {"one": {"run": "echo second; " + SLEEP}}})
    apply(home, "--wait")
    assert foreground.stdout.readline().endswith("second\n")
    assert foreground.poll() is None
    home.run("stop")
    foreground.communicate(timeout=PATIENCE)


def test_commands_that_follow_some_services_follow_the_same_ones_afterwards(home):
    write(home, {"services": {"gone": {"run": SLEEP}, "one": {"run": "echo first; " + SLEEP}, "two": {"run": SLEEP}}})
    home.start("two", "--wait")
    one, gone = home.begin("start", "one"), home.begin("start", "gone")
    assert one.stdout.readline().endswith("first\n")
    wait_until(lambda: pids(home)["gone"], "it runs")
    write(home, {"services": {"zero": {"run": "echo zero; " + SLEEP}, "two": {"run": SLEEP}, "one": {"run": "echo second; " + SLEEP}}})
    before = pids(home)
    apply(home, "--wait")
    assert one.stdout.readline().endswith("second\n") and one.poll() is None
    gone.communicate(timeout=PATIENCE)
    assert pids(home)["two"] == before["two"]
    home.run("stop")
    assert "zero" not in one.communicate(timeout=PATIENCE)[0]


def test_the_environment_of_the_load_stays(home):
    home.env["WHO"] = "first"
    running(home, changed(db={"run": "echo $WHO; " + SLEEP}))
    home.env["WHO"] = "second"
    write(home, changed(db={"run": "echo again $WHO; " + SLEEP}))
    apply(home, "--wait")
    wait_until(lambda: home.run("logs", "--raw", "db").stdout == "first\nagain first\n", "it has the old one")


AUTO = {"kepler": {"autostart": True}}


def test_a_daemon_killed_in_the_middle_leaves_the_new_config_to_the_next(home):
    slow = {"run": "trap '' TERM; while :; do sleep 0.1; done", "stop_grace_period": "30s"}
    running(home, {**AUTO, **changed(db=slow)})
    write(home, {**AUTO, **changed(db={"run": "exec sleep 3000"}, new={"run": SLEEP}, old=None)})
    first = home.begin("apply")
    wait_until(lambda: home.services()["db"]["status"] == "stopping", "db is about to stop")
    run = apply(home, check=False)
    assert run.returncode == 1 and "another 'kepler apply' changes" in run.stderr, run.stderr
    run = home.run("start", "-d", "web", check=False)
    assert run.returncode == 1 and "is being changed: try again" in run.stderr
    home.kill_daemon()
    assert first.wait(PATIENCE) == 1
    first.communicate()
    home.start_daemon()
    wait_until(lambda: set(pids(home)) == {"db", "api", "web", "worker", "new"} and all(pids(home).values()),
               "all services of the new file run")
    assert home.run("diff").stdout == ""


def version_of(pid):
    """The number that the service of this process sleeps for; None: it has just ended."""
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().split("\0")[1]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None


def versioned(version, names):
    return {**AUTO, "services": {name: {"run": f"exec sleep {version}"} for name in names}}


@pytest.mark.parametrize("seed", range(int(os.environ.get("KEPLER_CRASHES", "4"))))
def test_a_daemon_killed_at_any_moment_of_an_apply_leaves_one_version_and_no_mixture(home, seed):
    chance = random.Random(seed)
    versions = {"1001": {"a", "b", "c", "old"}, "1002": {"a", "b", "c", "new"}}
    running(home, versioned("1001", sorted(versions["1001"])))
    write(home, versioned("1002", sorted(versions["1002"])))
    command = home.begin("apply")
    time.sleep(chance.random() * 0.06)  # any moment will do
    home.kill_daemon()
    command.communicate(timeout=PATIENCE)
    home.start_daemon()

    def has_one_version():
        found = pids(home)
        sleeps = {version_of(pid) for pid in found.values()}
        return len(sleeps) == 1 and versions.get(sleeps.pop()) == set(found)
    wait_until(has_one_version, "all services of one version run")


def test_computed_services_are_compared_as_they_are_written_and_evaluated_when_they_start(home):
    home.env["WHO"] = "me"
    lua = "!lua |\n        return {'sh', '-c', 'echo %s ' .. kepler.env.WHO .. '; exec sleep 1000'}"
    text = "services:\n  one:\n    command: " + lua + "\n  two:\n    command: " + lua + "\n    if: ${{ true }}$\n"
    home.write(text % ("first", "calm"))
    home.start("--wait")
    before = pids(home)
    home.write(text % ("second", "calm"))
    assert apply(home, "--wait").stdout == "restart   one: command changed\n1 unchanged\nApplied\n"
    assert moved(before, pids(home)) == {"one"}
    wait_until(lambda: home.run("logs", "--raw", "one").stdout == "first me\nsecond me\n", "it was evaluated again")
    home.write(text.replace("true", "false") % ("second", "calm"))
    assert "restart   two: if changed" in apply(home, "--wait").stdout
    assert home.services()["two"]["status"] == "skipped"


def test_hooks_checks_and_watches_of_services_that_stay_go_on(home):
    stays = {"run": SLEEP, "healthcheck": {"run": "echo check >> checks", "interval": "50ms"},
             "restart": {"policy": "always", "watch": ["watched"]}, "hooks": {"pre_stop": {"run": "echo stopped >> hooked"}}}
    before = running(home, changed(stays=stays))
    write(home, {"services": {"another": {"run": SLEEP}, **changed(stays=stays, old=None)["services"]}})
    apply(home, "--wait")
    assert moved(before, pids(home)) == {"old", "another"}
    count = len(home.read("checks"))
    wait_until(lambda: len(home.read("checks")) > count + 20, "checks go on")
    home.write("x", "watched")
    wait_until(lambda: pids(home)["stays"] not in (None, before["stays"]), "a watched file restarts it")
    pid = pids(home)["stays"]
    os.kill(pid, 9)
    wait_until(lambda: pids(home)["stays"] not in (None, pid), "its policy restarts it")
    home.run("stop")
    assert "stopped" in home.read("hooked")
    assert home.run("why", "stays").stdout.count("a watched file changed") >= 1


def test_a_config_that_is_not_loaded_is_refused(home):
    write(home, FILE)
    for word in ("apply", "diff"):
        run = home.run(word, check=False)
        assert run.returncode == 1 and "is not loaded: start it first" in run.stderr


def restarting(file):
    """Services that depend on each of them, with `restart: true`."""
    def follow(names):
        more = {name for name, keys in file["services"].items()
                if any(edge.get("restart") for dep, edge in keys.get("depends_on", {}).items() if dep in names)}
        return names if more <= names else follow(names | more)
    return follow


def random_edit(chance, file):
    """One to three changes at random places."""
    file = copy.deepcopy(file)
    services = file["services"]
    for _ in range(chance.randint(1, 3)):
        name = chance.choice(sorted(services))
        kind = chance.choice(["env", "place", "edge", "new", "gone", "check"])
        if kind == "env":
            services[name]["environment"] = [f"N={chance.random()}"]
        elif kind == "place":
            services[name]["stop_grace_period"] = f"{chance.randint(1, 9)}s"
        elif kind == "check":
            services[name]["healthcheck"] = {"run": "true", "interval": f"{chance.randint(1, 99)}m"}
        elif kind == "edge":
            earlier = [other for other in services if other < name]
            services[name]["depends_on"] = {other: {"restart": chance.random() < 0.5}
                                            for other in chance.sample(earlier, min(len(earlier), 2))}
        elif kind == "new" and len(services) < 12:
            fresh = f"s{chance.randint(0, 99):02}"
            if fresh not in services:
                services[fresh] = {"run": SLEEP}
        elif kind == "gone" and len(services) > 3:
            del services[name]
            for keys in services.values():
                keys.get("depends_on", {}).pop(name, None)
    return file


def must_move(old, new):
    """The model: what was started with other words, and what follows it."""
    live = ("stop_grace_period", "depends_on")
    fixed = lambda keys: {key: value for key, value in keys.items() if key not in live}
    before, after = old["services"], new["services"]
    other = {name for name in before.keys() & after.keys() if fixed(before[name]) != fixed(after[name])}
    return (restarting(new)(other) & before.keys()) | (before.keys() ^ after.keys())


def test_random_edits_keep_the_process_of_every_unchanged_service(home):
    chance = random.Random(SEED)
    file = {"services": {f"s{i:02}": {"run": SLEEP} for i in range(6)}}
    before = running(home, file)
    for number in range(EDITS):
        edited = random_edit(chance, file)
        write(home, edited)
        run = apply(home, "--wait")
        after = pids(home)
        assert moved(before, after) == must_move(file, edited), (SEED, number, file, edited, run.stdout)
        assert all(after.values()), (number, after)
        file, before = edited, after
