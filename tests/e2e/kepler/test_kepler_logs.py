"""Logs: every key of `logs` does what it says, and `kepler logs` shows what was written, for as long as it is kept."""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from kepler_home import KEPLER, PATIENCE, wait_until


def segments(home):
    """The files that hold lines, with their sizes."""
    found = {}
    for path in glob.glob(os.path.join(home.state, "configs", "*", "logs", "*.log")):
        try:
            found[path] = os.path.getsize(path)
        except FileNotFoundError:
            pass
    return found


def texts(home, *words):
    return [text for _, text in home.lines(*words)]


def levels(home, *words):
    """The level of each text."""
    found = [json.loads(line) for line in home.run("logs", "--json", *words).stdout.splitlines()]
    return {line["msg"]: line["level"] for line in found}


def raw(home, *words):
    """The bytes of `kepler logs --raw`."""
    run = subprocess.run([KEPLER, "-f", home.path("kepler.yaml"), "logs", "--raw", *words], env=home.environment(),
                         cwd=home.folder, capture_output=True, timeout=PATIENCE, check=True)
    return run.stdout


# --- what is stored ---------------------------------------------------------------------------


@pytest.mark.parametrize("whole, own, stored", [
    ("true", None, ["out", "err"]),
    ("false", None, []),
    ("{stdout: false}", None, ["err"]),
    ("{stderr: false}", None, ["out"]),
    ("false", "true", ["out", "err"]),
    ("true", "{stderr: false}", ["out"]),
])
def test_store_selects_streams_and_the_service_setting_wins(home, whole, own, stored):
    home.write(f"""
        kepler: {{logs: {{store: {whole}, retention: {{on_stop: retain}}}}}}
        services:
          a:
            run: "echo out; sleep 0.2; echo err >&2"
            {f'logs: {{store: {own}}}' if own else ''}
          b: {{run: "echo end", logs: {{store: true}}, depends_on: {{a: {{condition: service_stopped}}}}}}
        """)
    home.run("start")
    assert home.lines() == [*(("a", text) for text in stored), ("b", "end")]


def test_damaged_lines_are_reported_in_place(home):
    home.write("""
        kepler: {logs: {retention: {on_stop: retain, on_start: retain}}}
        services:
          a: {run: "seq -f 'line %.0f.' 100"}
        """)
    for _ in range(2):
        home.run("start")
        home.run("stop")
    path, = segments(home)
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        data[data.index(b"line 50.")] ^= 1
        file.seek(0)
        file.write(data)
    told, *lines = home.run("logs").stdout.splitlines()
    assert "[WARN] kepler | 100 lines lost: " in told and os.path.basename(path) in told, told
    assert [line.split(" | ")[1] for line in lines] == [f"line {i}." for i in range(1, 101)]
    first, *rest = [json.loads(line) for line in home.run("logs", "--json").stdout.splitlines()]
    assert first["level"] == "warn" and first["msg"].startswith("100 lines lost: ") and len(rest) == 100


def test_unstored_lines_are_not_shown_and_block_no_writer(home):
    home.write("services:\n  a: {run: 'seq 1 100000; echo done > done', logs: {store: false}}\n")
    assert home.run("start", "--raw").stdout == ""
    assert home.read("done") == "done\n"


# --- when lines go ----------------------------------------------------------------------------


def run_twice(home, key, service):
    """The lines that are left of two runs of service `a` under one rule of retention."""
    home.write(f"""
        kepler: {{logs: {{retention: {{on_stop: retain, {key}}}}}}}
        services:
          a: {service}
        """)
    home.run("start", check=False)
    home.run("start", check=False)
    return texts(home, "a")


@pytest.mark.parametrize("key, service, left", [
    ("on_start: retain", "{run: 'echo x'}", ["x", "x"]),
    ("on_start: clear", "{run: 'echo x'}", ["x"]),
    ("on_success: clear", "{run: 'echo x'}", []),
    ("on_success: clear", "{run: 'echo x; exit 3'}", ["x", "x"]),
    ("on_failure: clear", "{run: 'echo x; exit 3'}", []),
    ("on_failure: clear", "{run: 'echo x'}", ["x", "x"]),
    ("on_exit: clear", "{run: 'echo x; exit 3'}", []),
    ("on_exit: clear", "{run: 'echo x'}", []),
    ("on_exit: retain", "{run: 'echo x'}", ["x", "x"]),
])
def test_retention_clears_lines_at_starts_and_ends(home, key, service, left):
    assert run_twice(home, key, service) == left


def test_on_skipped_clears_the_lines_of_earlier_runs(home):
    home.write("""
        services:
          a: {run: "echo x", if: "${{ kepler.flags.off == nil }}$", logs: {retention: {on_skipped: clear}}}
          b: {run: "echo y", if: "${{ kepler.flags.off == nil }}$"}
        """)
    home.run("start")
    assert sorted(texts(home)) == ["x", "y"]
    home.start("-D", "off=1")
    home.wait_for("a", "skipped")
    home.wait_for("b", "skipped")
    assert texts(home) == ["y"]


def test_on_restart_clears_the_lines_of_the_run_before(home):
    home.write("""
        services:
          a: {run: "echo x; exec sleep 1000", logs: {retention: {on_restart: clear}}}
          b: {run: "echo y; exec sleep 1000"}
        """)
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 2, "both wrote")
    home.run("restart")
    wait_until(lambda: texts(home, "b") == ["y", "y"], "b wrote again")
    wait_until(lambda: texts(home, "a") == ["x"], "a has the line of its second run only")


TALKERS = """
    kepler: {logs: {retention: {on_stop: %s}}}
    services:
      a: {run: "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"}
      b: {run: "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"}
      c: {run: "echo once"}
    """


def test_a_named_stop_clears_the_lines_of_that_service_and_a_full_stop_those_of_all(home):
    home.write(TALKERS % "clear")
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 3, "all wrote")
    home.run("stop", "a")
    assert sorted(home.lines()) == [("b", "up"), ("c", "once")], "the last words of `a` are gone as well"
    home.run("stop")
    assert home.lines() == []
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 3, "what comes later is kept")


def test_a_stop_keeps_the_lines_of_all_runs_and_only_clean_removes_them(home):
    home.write(TALKERS.replace("    kepler: {logs: {retention: {on_stop: %s}}}\n", ""))
    home.start("--wait")
    wait_until(lambda: len(home.lines()) == 3, "all wrote")
    home.run("stop", "a")

    def said(*words):
        return sorted(line for line in home.lines(*words) if line[1] != "Terminated")  # which some shells say of their sleep
    assert said("a") == [("a", "bye"), ("a", "up")]
    home.run("stop")
    everything = [("a", "bye"), ("a", "up"), ("b", "bye"), ("b", "up"), ("c", "once")]
    assert said() == everything
    home.stop_daemon()
    home.start_daemon()
    assert said() == everything and said("b") == [("b", "bye"), ("b", "up")], "the next daemon reads them, too"
    home.start("--wait", "c")
    wait_until(lambda: said("c") == [("c", "once")] * 2, "the next run adds to them")
    home.run("stop", "--clean")
    assert home.lines() == []


@pytest.mark.parametrize("other", ["on_success", "on_failure"])
def test_on_exit_excludes_the_keys_it_stands_for(home, other):
    home.write(f"services:\n  a: {{run: x, logs: {{retention: {{on_exit: clear, {other}: retain}}}}}}\n")
    run = home.run("validate", check=False)
    assert run.returncode == 1
    assert f"retention 'on_exit' conflicts with '{other}'" in run.stderr
    assert "'on_exit' stands for 'on_success' and 'on_failure'" in run.stderr


@pytest.mark.parametrize("key", ["flush_interval: 1s", "retention_period: 1s", "cleanup_interval: 1s", "batch_size: 1",
                                 "max_size: 1mb"])
def test_store_wide_settings_are_refused_in_a_service(home, key):
    home.write(f"services:\n  a: {{run: x, logs: {{{key}}}}}\n")
    run = home.run("validate", check=False)
    assert run.returncode == 1 and key.split(":")[0] in run.stderr


@pytest.mark.parametrize("key, words", [
    ("max_size: 100kb", "max_size"),
    ("batch_size: 0", "batch_size"),
    ("flush_interval: 100", "flush_interval"),
    ("retention: {on_start: forget}", "on_start"),
    ("store: maybe", "'store' must be true, false or a map"),
    ("sync: true", "sync"),
])
def test_invalid_settings_are_refused_with_their_place(home, key, words):
    home.write(f"kepler:\n  logs:\n    {key}\nservices:\n  a: {{run: x}}\n")
    run = home.run("validate", check=False)
    assert run.returncode == 1 and words in run.stderr and "kepler.yaml:3:" in run.stderr


# --- when lines are written -------------------------------------------------------------------


def test_lines_wait_for_the_flush_interval_unless_requested(home):
    home.write("kepler: {logs: {flush_interval: 1d}}\nservices:\n  a: {run: 'echo x; echo done > done; exec sleep 1000'}\n")
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("done")), "a wrote")
    home.run("ps")
    assert segments(home) == {}
    assert texts(home) == ["x"]
    assert len(segments(home)) == 1


def test_a_short_flush_interval_writes_without_being_asked(home):
    home.write("kepler: {logs: {flush_interval: 20ms, batch_size: 1000000}}\nservices:\n  a: {run: 'echo x; exec sleep 1000'}\n")
    home.start("--wait")
    wait_until(lambda: len(segments(home)) == 1, "the line is on disk")


def test_a_batch_does_not_wait_for_the_interval(home):
    home.write("""
        kepler: {logs: {flush_interval: 1d, batch_size: 3}}
        services:
          a: {run: "echo 1; echo 2; echo > two; until [ -e go ]; do sleep 0.02; done; echo 3; exec sleep 1000"}
        """)
    home.start("--wait")
    wait_until(lambda: os.path.exists(home.path("two")), "a wrote two lines")
    assert segments(home) == {}
    home.write("", "go")
    wait_until(lambda: len(segments(home)) == 1, "three lines are on disk")


# --- how much is kept, and how long -----------------------------------------------------------


def test_lines_older_than_the_retention_period_are_not_shown_and_leave_the_disk(home):
    home.write("""
        kepler: {logs: {retention_period: 3s, cleanup_interval: 100ms}}
        services:
          a: {run: "for i in 1 2; do until [ -e go.$i ]; do sleep 0.02; done; echo $i; done; exec sleep 1000"}
        """)
    home.start("--wait")
    begun = time.monotonic()
    home.write("", "go.1")
    wait_until(lambda: texts(home) == ["1"], "a wrote")
    wait_until(lambda: texts(home) == [], "the line is too old")
    assert time.monotonic() - begun > 2.9
    wait_until(lambda: segments(home) == {}, "its segment is removed")
    home.write("", "go.2")
    wait_until(lambda: texts(home) == ["2"], "a wrote again")


def test_cleanup_comes_at_its_interval_but_old_lines_are_hidden_at_once(home):
    home.write("""
        kepler: {logs: {retention_period: 1s, cleanup_interval: 1d, retention: {on_stop: retain}}}
        services:
          a: {run: "echo old"}
        """)
    home.run("start")
    wait_until(lambda: texts(home) == [], "the line is too old")
    assert len(segments(home)) == 1
    home.stop_daemon()
    home.start_daemon()
    assert texts(home) == [], "nor does a config that is not loaded show it"
    home.start()
    wait_until(lambda: len(segments(home)) <= 1 and texts(home) in ([], ["old"]), "loading cleans")


def test_max_size_drops_the_oldest_lines(home):
    home.write("""
        kepler: {logs: {max_size: 1mb}}
        services:
          a: {command: [sh, -c, "seq -f 'line %09.0f ---------------------------------------------------' 1 100000"]}
        """)
    home.run("start", "--raw")
    assert sum(segments(home).values()) <= 1 << 20
    left = texts(home)
    assert left[-1].startswith("line 000100000 ") and 2000 < len(left) < 20000
    numbers = [int(text.split()[1]) for text in left]
    assert numbers == list(range(numbers[0], 100001)), "no gap"


def test_a_slow_disk_only_blocks_the_writers(home):
    home.write("""
        services:
          a: {command: [sh, -c, "seq 1 300000; echo done > done; exec sleep 1000"]}
          b: {run: "echo $$ > pid; exec sleep 1000", restart: always}
        """)
    slow = 30  # seconds that each write takes; one of them is waited for
    with traced(home, "-e", "trace=pwrite64", "-e", f"inject=pwrite64:delay_enter={slow}000000"):
        home.start("--wait")
        begun = time.monotonic()
        for _ in range(3):
            pid = home.services()["b"]["pid"]
            os.kill(pid, 9)
            wait_until(lambda: home.services()["b"]["pid"] not in (None, pid), "b is back")
        assert time.monotonic() - begun < slow
        assert not os.path.exists(home.path("done")), "a waits for its lines to be taken"
    wait_until(lambda: os.path.exists(home.path("done")), "a goes on")
    assert raw(home, "a").decode() == "".join(f"{i}\n" for i in range(1, 300001)), "and nothing is lost"


def test_a_slow_log_read_only_delays_its_client(home):
    home.write("services:\n  a: {run: 'seq 1 5; exec sleep 1000'}\n")
    home.start("--wait")
    wait_until(lambda: len(texts(home)) == 5, "the lines are there")
    slow = 100  # seconds that each read takes
    with traced(home, "-e", "trace=pread64", "-e", f"inject=pread64:delay_enter={slow}000000"):
        begun = time.monotonic()
        reader = home.begin("logs", "--raw")
        for _ in range(5):
            assert home.status("a") == "running"
        assert time.monotonic() - begun < slow
        assert reader.poll() is None, "who asked waits"
    assert reader.communicate(timeout=PATIENCE)[0] == "1\n2\n3\n4\n5\n"


def test_logs_of_an_endless_writer_come_to_an_end(home):
    home.write("""
        kepler: {logs: {max_size: 1mb}}
        services:
          a: {command: [yes, "a line"]}
        """)
    home.start("--wait")
    wait_until(lambda: len(segments(home)) > 0 and home.run("logs", "--raw", "--head", "1").stdout, "there are lines")
    for words in ([], ["--tail", "5"], ["--head", "5"]):
        lines = home.run("logs", "--raw", *words).stdout.splitlines()
        assert set(lines) == {"a line"}, words
        assert not words or len(lines) == 5, words


# --- the keys of `kepler` around them ---------------------------------------------------------


@contextlib.contextmanager
def traced(home, *words):
    """While strace looks at the daemon; what it saw is in the file `trace`."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    tracer = subprocess.Popen(["strace", "-f", "-y", *words, "-o", home.path("trace"), "-p", str(home.daemon.pid)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        first = tracer.stderr.readline()
        if "attached" not in first:
            pytest.skip(f"strace cannot attach: {first}")
        yield
    finally:
        tracer.terminate()
        tracer.communicate()


@pytest.mark.parametrize("storage, synced", [("nfs", True), ("local", False)])
def test_storage_nfs_syncs_every_write_of_lines(home, storage, synced):
    home.write(f"kepler: {{storage: {storage}}}\nservices:\n  a: {{run: 'echo x; exec sleep 1000'}}\n")
    with traced(home, "-e", "trace=fdatasync,pwrite64"):
        home.start("--wait")
        wait_until(lambda: len(segments(home)) == 1, "the line is on disk")
        wait_until(lambda: re.search(r"pwrite64\(\d+<[^>]*\.log>.* = \d+\n", home.read("trace")), "the write is seen")
        home.run("ps")
    assert bool(re.search(r"fdatasync\(\d+<[^>]*\.log>", home.read("trace"))) == synced


def test_output_max_size_limits_outputs(home):
    home.write("""
        kepler: {output_max_size: 100b}
        services:
          a:
            output: true
            command: [sh, -c, "echo ::output::small=1; echo ::output::large=$(seq -s. 1 100)"]
        """)
    home.run("start")
    process = json.loads(home.run("inspect", "a").stdout)["services"]["a"]["outputs"]["process"]
    assert process["small"] == "1" and "large" not in process
    assert levels(home, "a") == {"outputs were dropped: too large, or not valid text": "warn"}


def test_a_marked_line_without_a_value_is_a_warning_and_a_step_that_fails_an_error(home):
    home.write("""
        services:
          a:
            output: true
            command: [sh, -c, "echo ::output::nothing"]
            hooks: {post_exit: {run: "exit 3"}}
        """)
    home.run("start")
    assert levels(home, "a") == {"a line that begins with ::output:: has no '='": "warn", "hook post_exit: step 1: exit status 3": "error"}


def test_timeout_applies_to_start_dependencies_without_their_own(home):
    home.write("""
        kepler: {timeout: 300ms}
        services:
          db: {run: "exec sleep 1000", healthcheck: {run: "false", interval: 10s, start_period: 60s}}
          web: {run: "true", depends_on: {db: {condition: service_healthy}}}
          own: {run: "true", depends_on: {db: {condition: service_healthy, timeout: 1h}}}
          monitor: {run: "true", depends_on: {db: {condition: service_failed}}}
          after: {run: "true", depends_on: {db: {condition: service_stopped}}}
          medic: {run: "true", depends_on: {db: {condition: service_unhealthy}}}
          hasty: {run: "true", depends_on: {db: {condition: service_failed, timeout: 400ms}}}
        """)
    home.start()
    assert "db" in home.wait_for("web", "failed")["fail_reason"]
    assert "db" in home.wait_for("hasty", "failed")["fail_reason"]
    for name in ("own", "monitor", "after", "medic"):
        assert home.status(name) == "waiting"


# --- what is shown ----------------------------------------------------------------------------

WORDS = r"""
    services:
      a:
        command:
          - sh
          - -c
          - |
            echo plain
            echo '{"severity":"WARNING","message":"json","ts":1700000000.25,"user":7,"service":"forged"}'
            echo '{"level":"critical","msg":"worst"}'
            echo '{"level":"debug","msg":"least"}'
            echo '{"no":"message"}'
            echo '{broken'
            sleep 0.2
            echo bad >&2
        hooks: {pre_start: {run: "echo before"}, post_start: {run: "echo after"}}
        logs: {retention: {on_stop: retain}}
    """


def test_levels_and_fields_of_json_lines_are_found(home):
    home.write(WORDS)
    home.run("start")
    lines = [json.loads(line) for line in home.run("logs", "--json", "--no-hook").stdout.splitlines()]
    assert [(line["level"], line["msg"]) for line in lines] == [
        ("info", "plain"), ("warn", "json"), ("fatal", "worst"), ("debug", "least"), ("info", '{"no":"message"}'),
        ("info", "{broken"), ("error", "bad")]
    assert lines[1] == {"timestamp": "2023-11-14T22:13:20.250Z", "level": "warn", "msg": "json", "service": "a", "user": 7}
    assert list(lines[1]) == ["timestamp", "level", "msg", "service", "user"]
    assert lines[4]["no"] == "message"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lines[0]["timestamp"])
    plain = home.run("logs", "--no-hook").stdout.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[INFO\] a \| plain", plain[0])
    assert plain[2].endswith(" [FATAL] a | worst")
    assert home.run("logs", "--raw", "--no-hook").stdout.splitlines()[2] == '{"level":"critical","msg":"worst"}'


def test_levels_hooks_and_services_are_filters(home):
    home.write(WORDS)
    home.run("start")
    assert texts(home, "--level", "error") == ["worst", "bad"]
    assert texts(home, "--level", "warn", "--tail", "2") == ["worst", "bad"]
    assert texts(home, "--level", "warn", "--head", "2") == ["json", "worst"]
    assert texts(home, "--level", "trace") == texts(home)
    assert texts(home, "--hook", "pre_start") == ["before"]
    assert texts(home, "--hook", "post_start") == ["after"]
    assert texts(home, "--hook", "post_stop") == []
    assert "before" not in texts(home, "--no-hook")


def write_requests(home):
    """Lines of all kinds: two JSON objects, one of standard error, one of a hook."""
    home.write("""
        services:
          web:
            run: |
              echo '{"level":"warning","msg":"slow request","http":{"status":503},"user":"ann"}'
              echo '{"level":"info","msg":"request","http":{"status":200},"user":"bob"}'
              echo Connection Reset >&2
              exec sleep 1000
            hooks: {pre_start: {run: "echo reset by hook"}}
          db: {run: "exec sleep 1000"}
        """)
    home.start("--wait")
    wait_until(lambda: len(texts(home)) == 4, "all has been written")


def test_lines_are_found_by_text(home):
    write_requests(home)
    assert texts(home, "-F", "reset") == ["reset by hook", "Connection Reset"]
    assert texts(home, "-F", "reset -@hook:*") == texts(home, "-F", '"connection reset"') == ["Connection Reset"]
    assert texts(home, "-F", "@http.status:>=500 OR @user:b*") == ["slow request", "request"]
    assert texts(home, "-F", "@level:>=warn", "--tail", "1") == ["Connection Reset"]
    assert texts(home, "-F", "@level:>=warn", "--head", "1") == ["slow request"]
    assert texts(home, "-F", "request NOT @service:web") == [] and texts(home, "db", "-F", "request") == []
    assert json.loads(home.run("logs", "--json", "--filter", "@user:ann").stdout)["http"] == {"status": 503}
    command = home.begin("logs", "--follow", "--raw", "-F", "hook")
    assert command.stdout.readline() == "reset by hook\n"
    home.run("restart", "web")
    assert command.stdout.readline() == "reset by hook\n"
    command.kill()
    command.communicate()
    home.run("stop")


def test_lines_are_found_in_sql(home):
    def found(clause, *words):
        return texts(home, "--sql", "-F", clause, *words)
    write_requests(home)
    assert found("line LIKE '%reset%'") == ["reset by hook", "Connection Reset"]
    assert found("line LIKE '%reset%' AND hook IS NULL") == found("level = 'error'") == ["Connection Reset"]
    assert found("attributes ->> '$.http.status' >= 500 OR json_extract(attributes, '$.user') GLOB 'b*'") == \
        ["slow request", "request"]
    assert found("level IN ('warn', 'error')", "--tail", "1") == ["Connection Reset"]
    assert found("level IN ('warn', 'error')", "--head", "1") == ["slow request"]
    assert found("service = 'db'") == found("line LIKE '%request%'", "db") == []
    assert found("id = (SELECT max(id) FROM logs)") == texts(home, "--tail", "1")
    assert found("hook = 'pre_start'", "--no-hook") == []
    assert found(f"timestamp BETWEEN {int(time.time() - 600) * 1000} AND {int(time.time() + 600) * 1000}") == texts(home)
    assert json.loads(home.run("logs", "--json", "--sql", "-F", "attributes ->> 'user' = 'ann'").stdout)["http"] == {"status": 503}
    command = home.begin("logs", "--follow", "--raw", "--sql", "-F", "hook IS NOT NULL")
    assert command.stdout.readline() == "reset by hook\n"
    home.run("restart", "web")
    assert command.stdout.readline() == "reset by hook\n"
    home.run("stop", "--clean")
    assert command.wait(PATIENCE) == 0
    command.communicate()


@pytest.mark.parametrize("clause, text", [
    ("", "the expression is empty"),
    ("id = ?", "'?' is not allowed"),
    ("x" * 4097, "longer than 4096 bytes"),
    ("nme = 'x'", "no such column: nme"),
    ("line = 'x", "unrecognized token"),
    ("load_extension('x')", "not authorized to use function: load_extension"),
    ("EXISTS (SELECT 1 FROM sqlite_master)", "not authorized"),
    ("1) UNION SELECT (1", "not one expression"),
])
def test_invalid_or_forbidden_sql_is_reported_with_its_reason(home, clause, text):
    home.write("services:\n  a: {run: 'echo x; exec sleep 1000'}\n")
    home.start("--wait")
    run = home.run("logs", "--sql", "-F", clause, check=False)
    assert run.returncode == 1 and text in run.stderr and "the filter '" in run.stderr, run.stderr


def test_a_slow_sql_search_delays_no_client_and_ends(home):
    home.write("services:\n  a: {run: 'seq 3000; exec sleep 1000'}\n")
    home.start("--wait")
    wait_until(lambda: len(texts(home)) == 3000, "a has written")
    slow = "0 = (SELECT count(*) FROM logs a, logs b, logs c WHERE a.line > b.line AND b.line > c.line AND c.id > logs.id)"
    command = home.begin("logs", "--sql", "-F", slow)
    begun = time.monotonic()
    assert len(texts(home, "--sql", "-F", "id <= 3")) == 3
    assert command.poll() is None, "the other search is not over"
    assert command.wait(PATIENCE) == 1
    assert "takes longer than 5 s" in command.communicate()[1] and time.monotonic() - begun >= 4.5
    # One whose config goes is not waited for.
    command = home.begin("logs", "--follow", "--sql", "-F", slow)
    wait_until(lambda: home.run("ps", check=False).returncode == 0, "the daemon answers")
    begun = time.monotonic()
    home.run("stop", "--clean")
    assert time.monotonic() - begun < 4
    command.wait(PATIENCE)
    command.communicate()


@pytest.mark.parametrize("words, text", [
    (["--level", "loud"], "trace"),
    (["--hook", "pre_stat"], "pre_start"),
    (["--hook", "pre_start", "--no-hook"], "are mutually exclusive"),
    (["--head", "1", "--tail", "1"], "are mutually exclusive"),
    (["--raw", "--json"], "are mutually exclusive"),
    (["-F", "(x"], "the filter '(x': column 1: the parenthesis is not closed"),
    (["--filter", ""], "column 1: a word is missing here"),
    (["--sql"], "--sql requires -F"),
    (["--head", "-1"], "head"),
])
def test_invalid_logs_options_are_wrong_usage(home, words, text):
    home.write("services:\n  a: {run: 'true'}\n")
    run = home.run("logs", *words, check=False)
    assert run.returncode == 2 and text in run.stderr, run.stderr


def test_head_and_tail_are_exact_while_lines_are_being_written(home):
    home.write("services:\n  a: {run: 'i=0; while :; do i=$((i+1)); echo $i; done'}\n")
    home.start("--wait")
    wait_until(lambda: len(home.lines("--head", "100")) == 100, "a wrote 100 lines")
    for count in (0, 1, 7, 100):
        assert texts(home, "--head", str(count)) == [str(i + 1) for i in range(count)]
        tail = [int(text) for text in texts(home, "--tail", str(count))]
        assert len(tail) == count and tail == list(range(tail[0], tail[0] + count)) if count else tail == []


def test_following_the_tail_repeats_nothing_and_misses_nothing(home):
    home.write("services:\n  a: {run: 'i=0; while :; do i=$((i+1)); echo $i; [ $((i % 50)) = 0 ] && sleep 0.01; done'}\n")
    home.start("--wait")
    wait_until(lambda: len(home.lines("--head", "100")) == 100, "a wrote 100 lines")
    command = home.begin("logs", "--follow", "--raw", "--tail", "5")
    first = [int(command.stdout.readline()) for _ in range(500)]
    assert first == list(range(first[0], first[0] + 500)) and first[0] > 90
    command.kill()
    command.communicate()


def test_following_continues_while_retention_clears(home):
    home.write("""
        services:
          a: {run: "echo up $$; exec sleep 1000", logs: {retention: {on_restart: clear, on_stop: clear}}}
          b: {run: "exec sleep 1000"}
        """)
    home.start("--wait")
    command = home.begin("logs", "--follow", "--raw")
    seen = [command.stdout.readline()]
    for _ in range(3):
        home.run("restart", "a")
        seen.append(command.stdout.readline())
    assert len(set(seen)) == 4 and all(line.startswith("up ") for line in seen)
    home.run("stop", "a")
    home.start("a")
    assert command.stdout.readline().startswith("up ")
    home.run("stop", "--clean")
    command.communicate(timeout=PATIENCE)
    assert command.returncode == 0


def test_a_config_without_stored_lines_is_reported_without_error(home):
    for words in ((), ("--follow",), ("--json",)):
        said = home.run("logs", *words, file="never.yaml")
        assert (said.stdout, said.stderr) == ("", f"No lines of '{home.path('never.yaml')}' are stored: start it first\n")
    assert home.run("-q", "logs", file="never.yaml").stderr == ""


def test_logs_of_a_config_that_is_not_loaded_are_read_from_disk_and_following_them_ends(home):
    home.write("kepler: {logs: {retention: {on_stop: retain}}}\nservices:\n  a: {run: 'echo x'}\n")
    home.run("start")
    home.stop_daemon()
    home.start_daemon()
    assert home.run("logs", "--raw").stdout == "x\n"
    followed = home.run("logs", "--raw", "--follow")
    assert followed.stdout == "x\n" and "is not loaded" in followed.stderr
    assert home.run("-q", "logs", "--raw", "--follow").stderr == ""


def test_logs_with_nothing_stored_are_empty(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    for words in (["logs"], ["logs", "--follow"]):
        never = home.run(*words, "--raw")
        assert never.stdout == ""
    home.start("--wait")
    silent = home.run("logs")
    assert (silent.stdout, silent.stderr) == ("", "")


def test_following_ends_with_the_daemon_after_the_last_lines(home):
    home.write("""
        services:
          a: {run: "trap 'echo bye; exit 0' TERM; echo x; while :; do sleep 0.05; done"}
        """)
    home.start("--wait")
    command = home.begin("logs", "--follow", "--raw")
    assert command.stdout.readline() == "x\n"
    home.stop_daemon()
    rest, complaint = command.communicate(timeout=PATIENCE)
    assert "bye\n" in rest
    assert command.returncode == 1 and "lost the connection to the daemon" in complaint


def test_the_beginning_of_a_line_is_seen_before_its_end_comes(home):
    home.write("""
        services:
          a: {run: "printf 'Password: '; until [ -e go ]; do sleep 0.02; done; echo given; exec sleep 1000"}
        """)
    home.start("--wait")
    plain = home.begin("logs", "--follow")
    as_json = home.begin("logs", "--follow", "--json")
    assert plain.stdout.readline().endswith(" a | Password:  ...\n")
    piece = json.loads(as_json.stdout.readline())
    assert (piece["msg"], piece["partial"]) == ("Password: ", True)
    home.write("", "go")
    assert plain.stdout.readline().endswith(" a | ... given\n")
    assert json.loads(as_json.stdout.readline())["msg"] == "given"
    for command in (plain, as_json):
        command.kill()
        command.communicate()
    assert raw(home) == b"Password: given\n", "raw has the line in one piece"


def test_a_line_beyond_the_limit_comes_in_marked_pieces_and_whole_in_raw(home):
    size = 300000
    home.write(f"services:\n  a: {{command: [sh, -c, 'head -c {size} /dev/zero | tr \"\\\\0\" x; echo; echo next']}}\n")
    home.run("start", "--raw")
    lines = [json.loads(line) for line in home.run("logs", "--json").stdout.splitlines()]
    assert [len(line["msg"]) for line in lines] == [131072, 131072, size - 2 * 131072, 4]
    assert [line.get("partial") for line in lines] == [True, True, True, None]
    plain = home.run("logs").stdout.splitlines()
    assert plain[0].endswith("x ...") and " a | ... x" in plain[1] and plain[1].endswith("x ...")
    assert " a | ... x" in plain[2] and plain[2].endswith("x") and plain[3].endswith(" a | next")
    assert raw(home) == b"x" * size + b"\nnext\n"


def test_any_bytes_survive_a_round_trip(home):
    with open(home.path("bytes"), "wb") as file:
        file.write(bytes(range(256)) * 50 + b"\n\xff\xfe\n\0\0\n\n")
    home.write("services:\n  a: {command: [cat, bytes]}\n")
    home.run("start", "--json")
    with open(home.path("bytes"), "rb") as file:
        assert raw(home) == file.read()
    for line in home.run("logs", "--json").stdout.splitlines():
        json.loads(line)


# --- at rest ----------------------------------------------------------------------------------


# The numbers of calls whose fourth word points to the time they wait: futex on x86-64 and on others, epoll_pwait2.
POINTERS = {"202", "98", "441"}


def threads(pid):
    """(system call and its words, voluntary switches) of each thread; one that ends meanwhile is left out."""
    found = {}
    for task in sorted(os.listdir(f"/proc/{pid}/task")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/task/{task}/syscall", encoding="ascii") as file:
                call = file.read().split()
            with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
                switches = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(), re.M).group(1)
            found[task] = (call, int(switches))
    return found


def test_a_daemon_with_200_idle_services_sleeps_without_a_timer(home):
    home.write("services:\n" + "".join(f"  s{i}: {{command: [sleep, '1000'], restart: always}}\n" for i in range(200)))
    home.start("--wait")
    home.run("ps")
    try:
        threads(home.daemon.pid)
    except PermissionError:
        pytest.skip("the system calls of a child cannot be read here")

    def sleeps():
        """All threads wait without a time: a NULL pointer, or -1."""
        calls = [call for call, _ in threads(home.daemon.pid).values()]
        return all(len(call) > 4 and int(call[4], 16) == (0 if call[0] in POINTERS else 0xFFFFFFFF) for call in calls)

    def sleeps_on():
        before = threads(home.daemon.pid)
        time.sleep(2)
        return threads(home.daemon.pid) == before

    wait_until(sleeps, "no timer is set")
    wait_until(sleeps_on, "nobody wakes for two seconds")
    assert sleeps()
