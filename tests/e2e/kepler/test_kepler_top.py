"""Metrics: `kepler.monitor` stores what services use, and `kepler top` shows it."""
import glob
import json
import os
import signal
import time

import pytest

from kepler_home import CONFIG_FILES, KEPLER, wait_until
from terminal import Tmux

BUSY = "while :; do :; done"


def top(home, *words):
    return json.loads(home.run("top", "--json", *words).stdout)


def history(home, service, *words):
    return top(home, "--history", "1h", *words).get(service, [])


def config(monitor="{interval: 100ms}"):
    return f"""
        kepler: {{monitor: {monitor}}}
        services:
          busy: {{run: "{BUSY}"}}
          idle: {{run: "sleep 1000 & exec sleep 1000"}}
        """


def test_metrics_of_services_are_stored_and_shown(home):
    home.write(config())
    home.start("--wait")
    wait_until(lambda: len(history(home, "busy")) >= 5, "five looks")
    newest = top(home)
    assert set(newest) == {"busy", "idle"}
    for metric in newest.values():
        assert set(metric) == {"timestamp", "cpu_percent", "memory_rss", "memory_vss", "pids"}
        assert abs(metric["timestamp"] / 1000 - time.time()) < 60
        assert 0 < metric["memory_rss"] < metric["memory_vss"]
    status = json.loads(home.run("ps", "--json").stdout)
    assert newest["busy"]["pids"] == [status["busy"]["pid"]]
    assert status["idle"]["pid"] in newest["idle"]["pids"] and len(newest["idle"]["pids"]) == 2
    wait_until(lambda: any(metric["cpu_percent"] > 5 for metric in history(home, "busy")), "busy uses a processor")
    assert all(metric["cpu_percent"] < 50 for metric in history(home, "idle")[1:])
    times = [metric["timestamp"] for metric in history(home, "busy")]
    assert times == sorted(times) and len(set(times)) == len(times)
    assert set(top(home, "busy")) == {"busy"}
    run = home.run("top", "--json", "bussy", check=False)
    assert run.returncode == 1 and "did you mean 'busy'" in run.stderr


def test_a_history_can_be_filtered_and_bucketed(home):
    home.write(config())
    home.start("--wait")
    wait_until(lambda: len(history(home, "busy")) >= 12, "twelve looks")
    home.run("stop")
    whole = top(home, "--history", "1h")
    rss = max(metric["memory_rss"] for metric in whole["idle"])
    assert set(top(home, "--history", "1h", "-F", "@service:busy")) == {"busy"}
    assert top(home, "--history", "1h", "-F", f"@memory_rss:>{10 * rss}") == top(home, "-F", "@timestamp:<1000") == {}
    assert top(home, "--history", "1h", "-F", "NOT @service:b* @cpu_percent:>=0")["idle"] == whole["idle"]
    assert top(home, "--history", "1h", "--sql", "-F", "service = 'busy'") == {"busy": whole["busy"]}
    assert top(home, "--sql", "-F", "timestamp = (SELECT max(timestamp) FROM metrics)") == top(home)
    second = whole["busy"][1]["timestamp"]
    assert top(home, "--history", "1h", "--sql", "-F", f"service GLOB 'b*' AND timestamp <= {second}")["busy"] == whole["busy"][:2]
    assert top(home, "--history", "1h", "--sql", "-F", f"pids LIKE '%{whole['busy'][0]['pids'][0]}%'")["busy"] == whole["busy"]
    (bucket,) = top(home, "--history", "1h", "--interval", "1d", "busy")["busy"]
    mean = sum(metric["cpu_percent"] for metric in whole["busy"]) / len(whole["busy"])
    assert bucket["timestamp"] % 86400000 == 0 and abs(bucket["cpu_percent"] - mean) < 0.1
    assert bucket["memory_rss"] == max(metric["memory_rss"] for metric in whole["busy"])


def test_metrics_survive_a_stop_and_a_daemon_and_go_with_clean(home):
    home.write(config())
    home.start("--wait")
    wait_until(lambda: len(history(home, "busy")) >= 2, "two looks")
    home.run("stop")
    before = top(home, "--history", "1h")
    home.stop_daemon()
    home.start_daemon()
    assert top(home, "--history", "1h") == before, "also of a config that is not loaded"
    home.start("--wait")
    wait_until(lambda: len(history(home, "busy")) > len(before["busy"]), "it goes on")
    assert history(home, "busy")[:len(before["busy"])] == before["busy"]
    home.run("run", "-d", "--wait")
    assert history(home, "busy")[:len(before["busy"])] == before["busy"], "a run keeps them"
    (folder,) = glob.glob(os.path.join(home.state, "configs", "*"))
    assert set(os.listdir(folder)) <= CONFIG_FILES
    home.run("stop", "--clean")
    run = home.run("top", "--json", check=False)
    assert run.returncode == 1 and "kepler.monitor" in run.stderr, run.stderr


def test_without_monitor_nothing_is_stored_and_the_error_says_what_to_set(home):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    run = home.run("top", "--json", check=False)
    assert run.returncode == 1 and "no metrics are stored: set 'kepler.monitor.interval'" in run.stderr, run.stderr
    assert not glob.glob(os.path.join(home.state, "configs", "*", "monitor"))


def test_no_samples_are_taken_while_nothing_runs(home):
    home.write("""
        kepler: {monitor: {interval: 100ms}}
        services:
          once: {run: "sleep 0.5"}
        """)
    home.start()
    wait_until(lambda: "Exited" in home.run("ps").stdout, "it ended")
    count = len(history(home, "once"))
    assert count >= 1

    def sleeps():
        def switches():
            with open(f"/proc/{home.daemon.pid}/status") as file:
                return [line for line in file if line.startswith("voluntary")]
        before = switches()
        time.sleep(0.5)  # of five looks
        return switches() == before
    wait_until(sleeps, "the daemon sleeps")
    assert len(history(home, "once")) <= count + 1


def test_old_metrics_are_removed(home):
    home.write(config("{interval: 100ms, retention_period: 1s, cleanup_interval: 200ms}"))
    home.start("--wait")
    wait_until(lambda: history(home, "busy"), "a look")
    first = history(home, "busy")[0]["timestamp"]
    wait_until(lambda: history(home, "busy") and history(home, "busy")[0]["timestamp"] > first, "the first is gone")
    assert len(history(home, "busy")) < 40


@pytest.mark.parametrize("words, text", [
    (["--json", "--sql"], "--sql requires -F"),
    ([], "top draws on a terminal"),
    (["--history", "1h"], "--history requires --json"),
    (["-F", "@service:a"], "-F requires --json"),
    (["--json", "--interval", "1s"], "requires --history"),
    (["--json", "-F", "word"], "column 1: 'word' has no field: write '@name:value' with service, timestamp, cpu_percent, memory_rss or memory_vss"),
    (["--json", "-F", "@line:x"], "unknown field 'line'"),
    (["--json", "-F", "@cpu_percent:>x"], "'x' is not a number"),
])
def test_invalid_top_options_are_wrong_usage(home, words, text):
    home.write("services:\n  a: {run: 'true'}\n")
    run = home.run("top", *words, check=False)
    assert run.returncode == 2 and text in run.stderr, run.stderr


@pytest.mark.parametrize("clause, text", [
    ("", "the expression is empty"),
    ("EXISTS (SELECT 1 FROM logs)", "no such table: logs"),
    ("cpu = 1", "no such column: cpu"),
])
def test_invalid_sql_about_metrics_is_reported(home, clause, text):
    home.write(config())
    home.start("--wait")
    wait_until(lambda: history(home, "busy"), "a look")
    run = home.run("top", "--json", "--sql", "-F", clause, check=False)
    assert run.returncode == 1 and text in run.stderr, run.stderr


@pytest.mark.parametrize("monitor, text", [
    ("{}", "'interval' is missing"),
    ("{interval: 1ms}", "interval"),
    ("{interval: 1s, intervall: 2s}", "did you mean"),
    ("5s", "map"),
])
def test_an_invalid_monitor_is_reported_with_its_place(home, monitor, text):
    home.write(f"kepler: {{monitor: {monitor}}}\nservices:\n  a: {{run: 'true'}}\n")
    run = home.run("validate", check=False)
    assert run.returncode == 1 and "kepler.yaml:1:" in run.stderr + run.stdout and text in run.stderr + run.stdout, run.stderr + run.stdout


# --- the page -----------------------------------------------------------------------------------


def page(home, *words, size=(24, 120)):
    words = " ".join(["-f", home.path("kepler.yaml"), "top", "--interval", "200ms", *words])
    command = f"stty -a > {home.path('before')}; {KEPLER} {words}; code=$?; stty -a > {home.path('after')}; (exit $code)"
    return Tmux(home.folder, command, size=size, env=home.environment())


def status(home, name):
    return json.loads(home.run("ps", "--json").stdout)[name]["status"]


def test_the_page_shows_services_charts_logs_and_details_and_acts(home):
    home.write(f"""
        services:
          busy: {{run: "echo first words; {BUSY}"}}
          idle:
            run: |
              printf 'evil \\033[2J end\\n'
              exec sleep 1000
        """)
    home.start("--wait")
    with page(home) as window:
        lines = window.wait("2 of 2 services run")
        assert "[1 dashboard]" in lines[1] and lines[3].split() == "SERVICE STATUS PID CPU MEMORY VIRTUAL PROCESSES".split()
        lines = window.wait("cpu of busy:")
        assert lines[4].split()[:2] == ["busy", "Up"] and lines[5].split()[:2] == ["idle", "Up"], lines
        assert any("█" in line for line in window.wait("█")), "a chart"
        window.press("j")
        window.wait("cpu of idle:")
        window.press("2")
        window.wait("[2 logs]")
        window.wait("busy | first words")
        window.wait("evil \\x1b[2J end")
        window.press("/")
        window.press("first", "Enter")
        wait_until(lambda: not any("evil" in line for line in window.lines()), "the filter counts")
        window.press("Escape")
        window.press("3")
        window.wait("idle: Up")
        window.wait("memory_rss")
        # A question first: any other key is no.
        window.press("X")
        window.wait("stop idle? y: yes")
        window.press("n")
        window.wait("q quit")
        assert status(home, "idle") == "running"
        window.press("X", "y")
        window.wait("stopped idle")
        assert status(home, "idle") == "stopped"
        window.wait("idle: Stopped")
        window.press("S", "y")
        window.wait("started idle")
        window.wait("idle: Up")
        pid = json.loads(home.run("ps", "--json").stdout)["idle"]["pid"]
        window.press("R", "y")
        window.wait("restarted idle")
        assert json.loads(home.run("ps", "--json").stdout)["idle"]["pid"] != pid
        window.press("1", "s")
        lines = window.wait("sort: cpu")
        wait_until(lambda: window.lines()[4].startswith("busy"), "the one that computes comes first")
        window.resize(12, 60)
        wait_until(lambda: not any("cpu of" in line for line in window.lines()), "no room for charts")
        window.resize(24, 120)
        window.wait("cpu of")
        window.press("q")
        window.wait("ended 0")
    with open(home.path("before")) as before, open(home.path("after")) as after:
        assert before.read() == after.read(), "the terminal is as it was"


def is_page(pid):
    with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/cmdline") as words:
        return comm.read() == "kepler\n" and "top" in words.read().split("\0")


@pytest.mark.parametrize("name, code", [("TERM", 143), ("HUP", 129), ("INT", 130)])
def test_a_signal_ends_the_page_and_restores_the_terminal(home, name, code):
    home.write("services:\n  a: {run: 'exec sleep 1000'}\n")
    home.start("--wait")
    with page(home) as window:
        window.wait("1 of 1 services run")
        (pid,) = [pid for pid in home.processes() if is_page(pid)]
        os.kill(pid, getattr(signal, f"SIG{name}"))
        window.wait(f"ended {code}")
    with open(home.path("before")) as before, open(home.path("after")) as after:
        assert before.read() == after.read(), "the terminal is as it was"


def test_the_page_of_one_service_and_of_none_and_without_a_daemon(home):
    home.write(config())
    home.start("--wait")
    wait_until(lambda: len(history(home, "busy")) >= 3, "looks are stored")
    with page(home, "busy") as window:
        lines = window.wait("cpu of busy:")
        assert not any(line.startswith("idle") for line in lines)
        home.stop_daemon()
        window.wait("lost the connection to the daemon")
        window.wait("ended")
    home.start_daemon()
    home.start("--wait")
    with page(home, "bussy") as window:
        window.wait("no service 'bussy'")
