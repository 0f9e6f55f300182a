"""The rules of depends_on, each with real processes."""
import json
import os

import pytest

from kepler_home import PATIENCE, alive, wait_until

FOREVER = "exec sleep 1000"


def test_simple_extended_and_mixed_forms_wait_for_what_they_name(home):
    home.write("""
        services:
          one: {run: "exec sleep 1000"}
          two: {run: "exec sleep 1000", depends_on: [one]}
          three: {run: "exec sleep 1000", depends_on: {two: {condition: service_started}}}
          four: {run: "exec sleep 1000", depends_on: [one, {three: {condition: service_started}}]}
        """)
    home.start("--wait", "--timeout", "100s")
    services = home.services()
    assert {name: one["status"] for name, one in services.items()} == dict.fromkeys(["one", "two", "three", "four"], "running")
    text = home.log()
    order = [text.index(f"service running config={home.path('kepler.yaml')} service={name} ")
             for name in ("one", "two", "three", "four")]
    assert order == sorted(order)


def test_service_healthy_waits_until_a_check_passes(home):
    home.write("""
        services:
          db:
            run: "exec sleep 1000"
            healthcheck: {run: "test -e ok", interval: 50ms, retries: 1000}
          web: {run: "exec sleep 1000", depends_on: {db: {condition: service_healthy}}}
        """)
    home.start()
    home.wait_for("db", "running")
    assert home.status("web") == "waiting"
    assert home.ps()["web"] == ("waiting", "-")
    home.write("", "ok")
    home.wait_for("web", "running")
    assert home.ps()["db"][0].endswith("(healthy)")


def test_service_unhealthy_waits_for_a_fall_after_health(home):
    home.write("ok", "ok")
    home.write("""
        services:
          db:
            run: "exec sleep 1000"
            healthcheck: {run: "test -e ok", interval: 50ms, retries: 2}
          medic: {run: "exec sleep 1000", depends_on: {db: {condition: service_unhealthy}}}
        """)
    home.start()
    home.wait_for("db", "healthy")
    assert home.status("medic") == "waiting"
    os.unlink(home.path("ok"))
    home.wait_for("medic", "running")
    assert home.ps()["db"][0].endswith("(unhealthy)")


@pytest.mark.parametrize("condition, code, runs", [
    ("service_completed_successfully", 0, True),
    ("service_completed_successfully", 1, False),
    ("service_failed", 1, True),
    ("service_failed", 0, False),
    ("service_stopped", 0, True),
    ("service_stopped", 7, True),
])
def test_conditions_on_the_end_of_a_dependency(home, condition, code, runs):
    home.write(f"""
        services:
          job: {{run: "exit {code}"}}
          next: {{run: "exec sleep 1000", depends_on: {{job: {{condition: {condition}}}}}}}
        """)
    home.start()
    if runs:
        home.wait_for("next", "running")
    else:
        found = home.wait_for("next", "skipped")
        assert found["skip_reason"] == f"dependency `job` exited with exit code Some({code}), won't restart (policy: No)"
        words = f"dependency `job` exited with status {code}; not restarted because its restart policy is no"
        assert home.ps()["next"] == (f"Skipped ({words})", "-")


@pytest.mark.parametrize("codes, code, runs", [
    ("[1]", 1, True), ("[1]", 2, False), ('["5:10"]', 7, True), ('["5:10"]', 10, True), ('["5:10"]', 11, False),
    ('[1, "5:10"]', 1, True), ('[1, "5:10"]', 5, True), ('[1, "5:10"]', 3, False),
])
def test_exit_code_filters_take_numbers_and_ranges(home, codes, code, runs):
    home.write(f"""
        services:
          job: {{run: "exit {code}"}}
          next: {{run: "exec sleep 1000", depends_on: {{job: {{condition: service_failed, exit_code: {codes}}}}}}}
        """)
    home.start()
    home.wait_for("next", "running" if runs else "skipped")


def test_a_killed_dependency_has_failed(home):
    home.write("""
        services:
          job: {run: "kill -9 $$"}
          next: {run: "exec sleep 1000", depends_on: {job: {condition: service_failed}}}
        """)
    home.start()
    home.wait_for("next", "running")
    assert home.ps()["job"][0].startswith("Killed (SIGKILL) ")


def test_an_edge_timeout_fails_the_service_with_a_reason(home):
    home.write("""
        services:
          database: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 50ms, retries: 100000}}
          backend: {run: "exec sleep 1000", depends_on: {database: {condition: service_healthy, timeout: 300ms}}}
        """)
    home.start()
    found = home.wait_for("backend", "failed")
    reason = "Dependency timeout: backend timed out waiting for database to satisfy condition ServiceHealthy"
    assert found["fail_reason"] == reason
    status = home.ps()["backend"][0]
    assert status.startswith("Failed ") and status.endswith(f" ago ({reason})")


UNREACHABLE = {("service_failed", "always"), ("service_failed", "on-failure"), ("service_stopped", "always"),
               ("service_completed_successfully", "always")}


@pytest.mark.parametrize("policy", ["always", "on-failure", "no"])
def test_conditions_made_impossible_by_a_policy_skip_at_once(home, policy):
    conditions = ["service_failed", "service_stopped", "service_completed_successfully", "service_unhealthy",
                  "service_started", "service_healthy"]
    text = f"""
services:
  dep:
    run: "exec sleep 1000"
    restart: "{policy}"
    healthcheck: {{run: "true", interval: 50ms}}
"""
    for condition in conditions:
        text += f"""
  {condition}:
    run: "exec sleep 1000"
    depends_on: {{dep: {{condition: {condition}}}}}
"""
    home.write(text)
    home.start()
    home.wait_for("dep", "healthy")
    services = wait_until(lambda: (lambda s: s if s["service_healthy"]["status"] == "running" else None)(home.services()),
                          "the last condition holds")
    skipped = {name for name, one in services.items() if one["status"] == "skipped"}
    assert skipped == {condition for condition, bad in UNREACHABLE if bad == policy}
    if policy == "always":
        assert services["service_failed"]["skip_reason"] == (
            "`dep` has restart policy `always` — it will always restart, so `service_failed` can never be met")
    assert {services["service_started"]["status"], services["service_healthy"]["status"]} == {"running"}


def test_an_exit_followed_by_a_policy_restart_is_transient(home):
    home.write("""
        services:
          worker:
            run: "echo x >> runs; [ $(wc -l < runs) -ge 3 ] && exit 0; exit 1"
            restart: {policy: on-failure, delay: 50ms}
          cleanup: {run: "wc -l < runs > seen; exec sleep 1000", depends_on: {worker: {condition: service_stopped}}}
        """)
    home.start()
    home.wait_for("cleanup", "running")
    wait_until(lambda: os.path.exists(home.path("seen")) and home.read("seen").strip(), "cleanup wrote")
    assert home.read("seen").strip() == "3"
    assert home.ps()["worker"][0].startswith("Exited (0) ")


def test_an_explicit_stop_is_never_transient(home):
    home.write("""
        services:
          worker: {run: "exec sleep 1000", restart: on-failure}
          cleanup: {run: "exec sleep 1000", depends_on: {worker: {condition: service_stopped}}}
        """)
    home.start()
    home.wait_for("worker", "running")
    assert home.status("cleanup") == "waiting"
    home.run("stop", "worker")
    home.wait_for("cleanup", "running")


@pytest.mark.parametrize("cause", ["crash", "manual", "unhealthy", "watch"])
def test_a_restart_is_passed_on_through_a_chain(home, cause):
    home.write("ok", "ok")
    home.write("first", "watched")
    home.write("""
        services:
          database:
            run: "exec sleep 1000"
            restart: {policy: always, watch: [watched]}
            healthcheck: {run: "test -e ok || { touch ok; exit 1; }", interval: 50ms, retries: 1}
          backend:
            run: "exec sleep 1000"
            restart: always
            depends_on: {database: {condition: service_healthy, restart: true}}
          web: {run: "exec sleep 1000", depends_on: {backend: {condition: service_started, restart: true}}}
          other: {run: "exec sleep 1000", depends_on: [database]}
        """)
    home.start("--wait", "--timeout", "100s")
    before = {name: one["pid"] for name, one in home.services().items()}
    if cause == "crash":
        os.kill(before["database"], 9)
    elif cause == "manual":
        home.run("restart", "database")
    elif cause == "unhealthy":
        os.unlink(home.path("ok"))
    else:
        home.write("second", "watched")

    def all_new():
        now = home.services()
        return all(now[name]["pid"] not in (None, before[name]) for name in ("database", "backend", "web")) and now
    now = wait_until(all_new, "the chain has restarted")
    assert now["other"]["pid"] == before["other"]
    home.wait_for("backend", "running")


def test_skips_cascade_and_an_edge_may_allow_them(home):
    home.write("""
        services:
          web: {run: "exec sleep 1000", if: "${{ false }}$"}
          api: {run: "exec sleep 1000", depends_on: [web]}
          worker: {run: "exec sleep 1000", depends_on: [api]}
          brave: {run: "exec sleep 1000", depends_on: {web: {condition: service_started, allow_skipped: true}}}
        """)
    home.start("--wait", "--timeout", "100s")
    services = home.services()
    assert services["web"]["skip_reason"].startswith("`if` condition evaluated to false")
    assert services["api"]["skip_reason"] == "dependency `web` was skipped"
    assert services["worker"]["skip_reason"] == "dependency `api` was skipped"
    assert services["brave"]["status"] == "running"
    home.run("stop", "--clean")


def test_a_late_start_has_no_exit_code_of_the_previous_process(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "test ! -e sick", interval: 100ms}}
          api:
            run: "trap 'exit 0' TERM; sleep 1000 & wait"
            depends_on: {db: {condition: service_healthy, restart: true, timeout: 500ms}}
          web: {run: "exec sleep 1000", depends_on: {api: {restart: true}}}
        """)
    home.start("--wait")
    open(home.path("sick"), "w").close()
    home.run("restart", "db")
    home.wait_for("api", "failed")
    home.wait_for("web", "skipped")
    services = home.services()
    assert services["api"]["exit_code"] is None
    assert services["web"]["skip_reason"] == "dependency `api` failed to start, won't restart (policy: No)"
    home.run("stop", "--clean")


def test_a_service_starts_without_dependencies_that_are_not_required(home):
    home.write("""
        services:
          broken: {run: "exit 3"}
          sick: {run: "exec sleep 1000", healthcheck: {test: ["false"], interval: 100ms, retries: 1000}}
          off: {run: "exec sleep 1000", if: false}
          ended: {run: "exec sleep 1000", depends_on: {broken: {condition: service_completed_successfully, required: false}}}
          late: {run: "exec sleep 1000", depends_on: {sick: {condition: service_healthy, timeout: 300ms, required: false}}}
          skipped: {run: "exec sleep 1000", depends_on: {off: {required: false}}}
          alone: {run: "exec sleep 1000", depends_on: {elsewhere: {required: false}}}
          patient: {run: "exec sleep 1000", depends_on: {sick: {condition: service_healthy, required: false}}}
          strict: {run: "exec sleep 1000", depends_on: {broken: {condition: service_completed_successfully, required: true}}}
        """)
    assert "does not wait for 'elsewhere', which is not in this file and not required" in home.run("start", "-d").stderr
    for name in ("ended", "late", "skipped", "alone"):
        home.wait_for(name, "running")
    home.wait_for("strict", "skipped")
    assert home.services()["patient"]["status"] == "waiting"
    assert "dependency sick did not meet service_healthy, and is not required" in home.run("why", "late").stdout
    home.run("stop", "--clean")


def test_outputs_pass_from_one_service_to_the_next(home):
    home.write("""
        services:
          setup:
            command: ["sh", "-c", "echo '::output::token=secret-abc' && echo '::output::port=9090' && echo shown"]
            restart: "no"
            output: true
            outputs: {url: "http://localhost:${{ service.name }}$"}
          app:
            run: "echo $AUTH_TOKEN $BACKEND_PORT $URL"
            depends_on: {setup: {condition: service_completed_successfully}}
            environment:
              - AUTH_TOKEN=${{ deps.setup.outputs.token }}$
              - BACKEND_PORT=${{ deps.setup.outputs.port }}$
              - URL=${{ deps.setup.outputs.url }}$
        """)
    home.start()
    home.wait_for("app", "exited")
    assert home.lines() == [("setup", "shown"), ("app", "secret-abc 9090 http://localhost:setup")]
    outputs = json.loads(home.run("inspect", "setup").stdout)["services"]["setup"]["outputs"]
    assert outputs["process"]["token"] == "secret-abc"
    with open(os.path.join(outputs["path"], "outputs.json")) as file:
        assert json.load(file) == {"token": "secret-abc", "port": "9090", "url": "http://localhost:setup"}


def test_a_cycle_is_refused_naming_its_members(home):
    home.write("""
        services:
          a: {run: "true", depends_on: [b]}
          b: {run: "true", depends_on: [c]}
          c: {run: "true", depends_on: [a]}
        """)
    run = home.start(check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("Error: ")
    for name in "abc":
        assert f"'{name}'" in run.stderr or f" {name}" in run.stderr


def test_named_services_start_without_pulling_others_in(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000"}
          web: {run: "exec sleep 1000", depends_on: [db]}
        """)
    assert home.start("web", check=False).returncode == 1
    home.wait_for("web", "skipped")
    assert home.status("db") == "stopped"
    home.start("web", "--no-deps")
    home.wait_for("web", "running")
    assert home.status("db") == "stopped"


def test_no_deps_ends_the_wait_of_a_service_that_was_started_before(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "test -e ok", interval: 50ms, retries: 100000}}
          web: {run: "exec sleep 1000", depends_on: {db: {condition: service_healthy, restart: true}}}
        """)
    home.start()
    home.wait_for("web", "waiting")
    assert home.start("web", "--no-deps").stdout == "Started 1 service\n"
    first = home.wait_for("web", "running")["pid"]
    home.run("restart", "db")
    wait_until(lambda: "waiting for db" in home.run("why", "web").stdout, "web is down and waits")
    assert home.start("web", "--no-deps").stdout == "Started 1 service\n"
    assert home.wait_for("web", "running")["pid"] != first


def test_dependents_stop_before_dependencies(home):
    home.write("""
        services:
          db: {run: "trap 'echo db >> order; exit' TERM; echo up; while :; do sleep 0.05; done"}
          api: {run: "trap 'sleep 0.2; echo api >> order; exit' TERM; echo up; while :; do sleep 0.05; done", depends_on: [db]}
          web: {run: "trap 'sleep 0.2; echo web >> order; exit' TERM; echo up; while :; do sleep 0.05; done", depends_on: [api]}
        """)
    home.start("--wait", "--timeout", "100s")
    wait_until(lambda: len(home.lines()) == 3, "all have set their traps")
    home.run("stop")
    assert home.read("order").split() == ["web", "api", "db"]
    assert {one["status"] for one in home.services().values()} == {"stopped"}


# --- each row of the tables --------------------------------------------------------------------------


def test_service_started_holds_for_an_unhealthy_dependency_too(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 50ms, retries: 1}}
          web: {run: "exec sleep 1000", depends_on: {db: {condition: service_started}}}
        """)
    home.start("db")
    home.wait_for("db", "unhealthy")
    home.start("web")
    home.wait_for("web", "running")


@pytest.mark.parametrize("condition", ["service_failed", "service_stopped"])
@pytest.mark.parametrize("end", ["run: 'exit 2'", "run: 'kill -9 $$'", "run: 'true', working_dir: /nowhere/at/all"])
def test_failed_and_stopped_hold_after_an_exit_a_signal_and_a_spawn_error(home, condition, end):
    home.write(f"""
        services:
          job: {{{end}}}
          next: {{run: "exec sleep 1000", depends_on: {{job: {{condition: {condition}}}}}}}
        """)
    home.start()
    home.wait_for("next", "running")


def test_a_spawn_failure_satisfies_service_failed_whatever_the_policy(home):
    home.write("""
        services:
          redis: {run: "true", working_dir: /nowhere/at/all, restart: always}
          failover: {run: "exec sleep 1000", depends_on: {redis: {condition: service_failed}}}
        """)
    run = home.start()
    assert "service_failed" in run.stderr and run.stderr.startswith("Warning: ")
    home.wait_for("failover", "running")
    assert home.status("redis") == "failed"


@pytest.mark.parametrize("condition, policy, words", [
    ("service_failed", "always", "it will always restart"),
    ("service_stopped", "always", "it will always restart"),
    ("service_completed_successfully", "always", "it will always restart"),
    ("service_failed", "on-failure", "it will restart on failure"),
    ("service_completed_successfully", "on-success", "it will restart on success"),
    ("service_stopped", "on-failure|on-success", "it will always restart"),
])
def test_impossible_conditions_are_reported_with_policy_and_condition(home, condition, policy, words):
    home.write(f"""
        services:
          redis: {{run: "exec sleep 1000", restart: "{policy}"}}
          next: {{run: "true", depends_on: {{redis: {{condition: {condition}}}}}}}
        """)
    home.start()
    reason = f"`redis` has restart policy `{policy}` — {words}, so `{condition}` can never be met"
    assert home.wait_for("next", "skipped")["skip_reason"] == reason
    assert home.ps()["next"] == (f"Skipped ({reason})", "-")


@pytest.mark.parametrize("policy, code", [("always", 1), ("always", 0), ("on-failure", 1), ("on-success", 0)])
@pytest.mark.parametrize("condition", ["service_stopped", "service_failed", "service_completed_successfully"])
def test_an_exit_that_the_policy_restarts_meets_no_condition(home, policy, code, condition):
    home.write(f"""
        services:
          worker: {{run: "echo x >> runs; exit {code}", restart: {{policy: {policy}, delay: 20ms}}}}
          cleanup: {{run: "touch wrong", depends_on: {{worker: {{condition: {condition}}}}}}}
        """)
    home.start()
    wait_until(lambda: os.path.exists(home.path("runs")) and len(home.read("runs").split()) >= 5, "it has ended often")
    assert home.status("cleanup") in ("waiting", "skipped")
    assert not os.path.exists(home.path("wrong"))


@pytest.mark.parametrize("policy", ["always", "on-failure", "on-success", "on-unhealthy", "no"])
def test_a_manual_stop_counts_under_any_policy(home, policy):
    home.write(f"""
        services:
          worker:
            run: "exec sleep 1000"
            restart: "{policy}"
            hooks: {{pre_start: {{run: "sleep 1000"}}}}
          cleanup: {{run: "exec sleep 1000", depends_on: {{worker: {{condition: service_stopped}}}}}}
        """)
    home.start()
    home.wait_for("worker", "starting")
    assert home.status("cleanup") == "waiting"
    home.run("stop", "worker")
    home.wait_for("cleanup", "running")
    assert home.status("worker") == "stopped"


@pytest.mark.parametrize("codes, code, runs", [("[0]", 0, True), ("[0]", 1, False), ('["3:5"]', 4, True), ('[9, "3:5"]', 9, True), ("[]", 7, True)])
def test_service_stopped_takes_exit_code_filters_too(home, codes, code, runs):
    home.write(f"""
        services:
          job: {{run: "exit {code}"}}
          next: {{run: "exec sleep 1000", depends_on: {{job: {{condition: service_stopped, exit_code: {codes}}}}}}}
        """)
    home.start()
    home.wait_for("next", "running" if runs else "skipped")


def test_only_the_edge_with_a_timeout_runs_out_and_others_are_waited_for(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "test -e db.ok", interval: 50ms, retries: 100000}}
          cache: {run: "exec sleep 1000", healthcheck: {run: "test -e cache.ok", interval: 50ms, retries: 100000}}
          patient: {run: "exec sleep 1000", depends_on: {db: {condition: service_healthy}}}
          both:
            run: "exec sleep 1000"
            depends_on: {db: {condition: service_healthy}, cache: {condition: service_healthy, timeout: 200ms}}
        """)
    home.start()
    assert home.wait_for("both", "failed")["fail_reason"] == (
        "Dependency timeout: both timed out waiting for cache to satisfy condition ServiceHealthy")
    assert home.status("patient") == "waiting"
    home.write("", "db.ok")
    home.wait_for("patient", "running")


PROPAGATION = """
    services:
      database:
        run: "echo +database >> order; exec sleep 1000"
        restart: {policy: on-failure|on-success, watch: [watched]}
        hooks: {post_stop: {run: "echo -database >> order"}}
        healthcheck: {run: "test -e ok && ! test -e sick", interval: 50ms, retries: 1}
      backend:
        run: "echo +backend >> order; exec sleep 1000"
        hooks: {post_stop: {run: "echo -backend >> order"}}
        depends_on: {database: {condition: service_healthy, restart: true}}
    """


@pytest.mark.parametrize("cause", ["signal", "exit", "manual", "watch", "unhealthy"])
def test_a_dependent_stops_waits_for_the_condition_again_and_starts(home, cause):
    home.write("ok", "ok")
    home.write("first", "watched")
    text = PROPAGATION.replace("exec sleep 1000", "while ! test -e leave; do sleep 0.05; done; rm leave; exit 3", 1)
    home.write(text.replace("on-failure|on-success", "on-unhealthy") if cause == "unhealthy" else text)
    home.start("--wait", "--timeout", "100s")
    before = home.services()
    wait_until(lambda: "+backend" in home.read("order"), "both have said that they are there")
    os.unlink(home.path("order"))
    if cause != "unhealthy":
        os.unlink(home.path("ok"))  # the condition does not hold again before it is there
    if cause == "signal":
        os.kill(before["database"]["pid"], 9)
    elif cause == "exit":
        home.write("", "leave")
    elif cause == "manual":
        home.run("restart", "database")
    elif cause == "watch":
        home.write("second", "watched")
    else:
        home.write("", "sick")
    wait_until(lambda: os.path.exists(home.path("order")) and "+database" in home.read("order"), "the dependency is back")
    assert home.services()["backend"]["status"] == "restarting"
    assert "+backend" not in home.read("order")
    home.write("", "ok")
    if cause == "unhealthy":
        os.unlink(home.path("sick"))
    now = home.wait_for("backend", "running")
    assert now["pid"] != before["backend"]["pid"]
    wait_until(lambda: "+backend" in home.read("order"), "it says that it is there")
    order = home.read("order").split()
    assert max(order.index("-backend"), order.index("+database")) < order.index("+backend"), order
    if cause in ("manual", "watch", "unhealthy"):
        assert order.index("-backend") < order.index("-database"), order


def test_the_timeout_of_an_edge_holds_when_a_restart_is_passed_on(home):
    home.write("ok", "ok")
    home.write(PROPAGATION.replace("restart: true", "restart: true, timeout: 400ms").replace(", watch: [watched]", ""))
    home.start("--wait", "--timeout", "100s", "database")
    home.start("--wait", "--timeout", "100s", "backend")
    os.unlink(home.path("ok"))
    home.run("restart", "database")
    assert home.wait_for("backend", "failed")["fail_reason"] == (
        "Dependency timeout: backend timed out waiting for database to satisfy condition ServiceHealthy")
    assert home.services()["database"]["pid"] is not None


def test_services_killed_together_restart_once(home):
    home.write("""
        services:
          a: {run: "echo a >> starts; exec sleep 1000", restart: always}
          b: {run: "echo b >> starts; exec sleep 1000", restart: always, depends_on: {a: {restart: true}}}
          c: {run: "echo c >> starts; exec sleep 1000", restart: always, depends_on: {b: {restart: true}}}
          web: {run: "echo web >> starts; exec sleep 1000", depends_on: {a: {restart: true}, b: {restart: true}, c: {restart: true}}}
        """)
    home.start("--wait")
    for round in range(2, 6):
        before = home.services()
        with home.frozen():
            for name in "abc":
                os.kill(before[name]["pid"], 9)
            wait_until(lambda: not any(alive(before[name]["pid"]) for name in "abc"), "all three are dead")
        wait_until(lambda: len(home.read("starts").split()) == 4 * round, "all are back")
        for name in before:
            assert home.wait_for(name, "running")["pid"] != before[name]["pid"]
    home.run("stop")
    assert sorted(home.read("starts").split()) == sorted(["a", "b", "c", "web"] * 5)


FAR = """
    services:
      a:
        run: "echo a >> starts; exec sleep 1000"
        restart: always
        hooks: {post_exit: {run: "while [ ! -e go ]; do sleep 0.02; done"}}
      b: {run: "echo b >> starts; exec sleep 1000", depends_on: {a: {restart: true}}}
      c: {run: "echo c >> starts; exec sleep 1000", restart: always, depends_on: {b: {restart: true}}}
    """


def end_both(home):
    """The one at the end of the chain could start at once, the one at its beginning cannot."""
    home.start("--wait")
    wait_until(lambda: sorted(home.read("starts").split()) == ["a", "b", "c"], "all have started")
    before = home.services()
    with home.frozen():
        for name in "ac":
            os.kill(before[name]["pid"], 9)
        wait_until(lambda: not any(alive(before[name]["pid"]) for name in "ac"), "both are dead")
    home.wait_for("a", "stopping")
    home.wait_for("c", "starting")
    assert "waiting until a dependency has restarted" in home.run("why", "c").stdout


def test_one_that_ends_with_a_service_far_above_it_is_restarted_once(home):
    home.write(FAR)
    end_both(home)
    home.write("", "go")
    wait_until(lambda: sorted(home.read("starts").split()) == ["a", "a", "b", "b", "c", "c"], "all are back")
    home.run("stop")
    assert len(home.read("starts").split()) == 6


def test_one_that_waits_for_a_restart_far_above_it_starts_when_that_is_stopped(home):
    home.write(FAR)
    end_both(home)
    stop = home.begin("stop", "a")
    home.wait_for("c", "running")
    assert home.status("b") == "running"
    home.write("", "go")
    assert stop.wait(PATIENCE) == 0
    home.wait_for("a", "stopped")
    assert sorted(home.read("starts").split()) == ["a", "b", "c", "c"]


def test_one_that_may_start_because_health_is_bad_waits_for_the_restart_that_follows(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000", restart: always, healthcheck: {run: "rm hiccup && exit 1; true", interval: 50ms, retries: 1}}
          medic: {run: "exec sleep 1000", depends_on: {db: {condition: service_unhealthy}}}
          web: {run: "echo web >> starts; exec sleep 1000", depends_on: {db: {restart: true}, medic: {}}}
        """)
    home.start()
    home.wait_for("db", "healthy")
    home.write("", "hiccup")
    home.wait_for("web", "running")
    wait_until(lambda: os.path.exists(home.path("starts")), "it runs")
    history = json.loads(home.run("why", "--json", "web").stdout)["web"]["history"]
    assert [one["to"] for one in reversed(history)][-2:] == ["starting", "running"]
    home.run("stop")
    assert home.read("starts") == "web\n"


def test_a_restart_only_passes_along_marked_edges_to_running_services(home):
    home.write("""
        services:
          db: {run: "exec sleep 1000"}
          follows: {run: "exec sleep 1000", depends_on: {db: {restart: true}}}
          ignores: {run: "exec sleep 1000", depends_on: {db: {restart: false}}}
          ended: {run: "exit 0", depends_on: {db: {restart: true}}}
          down: {run: "exec sleep 1000", depends_on: {db: {restart: true}}}
        """)
    home.start("--wait", "--timeout", "100s")
    home.wait_for("ended", "exited")
    home.run("stop", "down")
    before = home.services()
    home.run("restart", "db")
    wait_until(lambda: home.services()["follows"]["pid"] not in (None, before["follows"]["pid"]), "it follows")
    now = home.services()
    assert now["ignores"]["pid"] == before["ignores"]["pid"]
    assert (now["ended"]["status"], now["down"]["status"]) == ("exited", "stopped")


@pytest.mark.parametrize("end, reason", [
    ("run: 'sleep 0.1; exit 3'", "dependency `job` exited with exit code Some(3), won't restart (policy: No)"),
    ("run: 'kill -9 $$'", "dependency `job` was killed by SIGKILL, won't restart (policy: No)"),
    ("run: 'true', working_dir: /nowhere/at/all", "dependency `job` failed to start, won't restart (policy: No)"),
    ("run: 'exit 0', restart: on-failure", "dependency `job` exited with exit code Some(0), won't restart (policy: OnFailure)"),
])
def test_permanently_unsatisfied_says_how_the_dependency_ended(home, end, reason):
    home.write(f"""
        services:
          job: {{{end}, healthcheck: {{run: "false", retries: 100000}}}}
          next: {{run: "exec sleep 1000", depends_on: {{job: {{condition: service_healthy}}}}}}
        """)
    home.start()
    assert home.wait_for("next", "skipped")["skip_reason"] == reason


def test_the_foreground_ends_when_the_rest_was_skipped_or_waits_in_vain(home):
    home.write("""
        services:
          job: {run: "exit 0"}
          never: {run: "exec sleep 1000", depends_on: {job: {condition: service_failed}}}
          after: {run: "exec sleep 1000", depends_on: [never]}
        """)
    run = home.run("start")
    assert (run.returncode, run.stderr) == (0, "")
    assert (home.status("never"), home.status("after")) == ("skipped", "skipped")


@pytest.mark.parametrize("text, names", [
    ("a: {run: x, depends_on: [a]}", ["a"]),
    ("a: {run: x, depends_on: [b]}\n  b: {run: x, depends_on: {a: {condition: service_healthy}}, healthcheck: {run: 'true'}}", ["a", "b"]),
])
def test_cycles_are_refused_and_nothing_starts(home, text, names):
    home.write("services:\n  free: {run: 'touch wrong'}\n  " + text + "\n")
    run = home.start(check=False)
    assert run.returncode == 1 and ("cycle" in run.stderr or "itself" in run.stderr)
    assert all(f"'{name}'" in run.stderr for name in names), run.stderr
    assert not os.path.exists(home.path("wrong")) and "start it first" in home.run("ps").stderr
