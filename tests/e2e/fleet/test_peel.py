"""The agent with a real master: it enrolls, answers, and stays itself."""
import base64
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest

from enroll_client import derive_account, sign
from fleet import BUILD, SECONDS, SERVER, STOP_SECONDS, Fleet, free_port

UNTRUSTED = 3  # the status of an agent that no master may enroll
pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        yield fleet


def result_of(answers):
    (answer,) = answers
    assert answer["success"], answer
    return answer["results"][0]["details"]


def test_a_machine_enrolls_by_itself_and_answers(fleet):
    fleet.start_ready_master()
    peel = fleet.start_peel("web-01")
    fleet.wait(lambda: peel.get("/healthz")[0] == 200, "alive before it is enrolled")
    assert peel.get("/readyz")[0] == 503
    fleet.approve_peel(peel)
    assert stat.S_IMODE(os.stat(peel.folder / "auth/web-01.seed").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(peel.folder / "auth/web-01.creds").st_mode) == 0o600
    assert (peel.folder / "auth/enroll-ca.crt").read_text() == (fleet.auth / "ca/root.crt").read_text()
    assert result_of(fleet.zester_json("web-01", "test.ping")) == {"result": "true"}
    assert result_of(fleet.zester_json("web-01", "cmd.run", "echo $0 hi", "--direct"))["stdout"].endswith("hi")
    assert peel.metric("zester_peel_connected") == 1
    assert json.loads(peel.get("/healthz")[1])["component"] == "peel"
    assert peel.stop(seconds=STOP_SECONDS) == 0


def test_a_pin_is_followed_and_a_wrong_one_is_not(fleet):
    fleet.start_ready_master()
    wrong = fleet.start_peel("web-02", enroll_ca_pin=["sha256:" + "0" * 64])
    right = fleet.start_ready_peel("web-01", enroll_ca_pin=[fleet.pin()], enroll_trust="strict")
    assert wrong.process.wait(SECONDS) == UNTRUSTED, "a wrong pin is fatal"
    assert wrong.has_logged("does not match the pin") and wrong.has_logged("no master has a trusted certificate")
    assert not wrong.has_logged("enrollment submitted")
    assert not (wrong.folder / "auth/enroll-ca.crt").exists()
    assert right.is_running()


def foreign_authority(fleet):
    fleet.zester("ca", "init", "--dir", fleet.folder / "foreign")
    return (fleet.folder / "foreign/root.crt").read_text()


def test_a_certificate_that_was_trusted_before_and_does_not_fit_is_fatal(fleet):
    fleet.start_ready_master()
    (fleet.folder / "web-01/auth").mkdir(parents=True)
    (fleet.folder / "web-01/auth/enroll-ca.crt").write_text(foreign_authority(fleet))
    peel = fleet.start_peel("web-01")
    assert peel.process.wait(SECONDS) == UNTRUSTED
    assert peel.has_logged("is not trusted") and not peel.has_logged("enrollment submitted")


def test_one_master_that_cannot_be_trusted_is_left_for_the_next(fleet):
    foreign_authority(fleet)
    auth = fleet.folder / "impostor"
    shutil.copytree(fleet.auth, auth)
    shutil.rmtree(auth / "ca")
    shutil.copytree(fleet.folder / "foreign", auth / "ca")
    fleet.start_ready_master("impostor", auth_dir=str(auth), nats_ca=str(fleet.auth / "nats-ca.crt"))
    fleet.start_ready_master()
    peel = fleet.start_peel("web-01", enroll_ca_pin=[fleet.pin()])
    fleet.approve_peel(peel)
    assert peel.has_logged("does not match the pin")


def test_without_trust_on_first_use_nothing_is_sent(fleet):
    fleet.start_ready_master()
    peel = fleet.start_peel("web-01", enroll_trust="strict")
    fleet.wait(lambda: peel.has_logged("is not trusted"), "the certificate is refused")
    assert not peel.has_logged("enrollment submitted")


def test_a_master_that_does_not_answer_is_left_for_the_next(fleet):
    master = fleet.start_ready_master()
    peel = fleet.start_peel("web-01", master_urls=[f"https://127.0.0.1:{free_port()}", f"https://127.0.0.1:{master.enroll_port}"])
    fleet.approve_peel(peel)


def test_a_rejected_machine_says_so_and_waits(fleet):
    fleet.start_ready_master()
    peel = fleet.start_peel("web-01")
    fleet.wait(lambda: peel.has_logged("enrollment submitted"), "it has asked")
    (row,) = fleet.zester_json("enroll", "list")
    fleet.zester("enroll", "reject", row["id"], "--reason", "unknown machine")
    fleet.wait(lambda: peel.has_logged("the enrollment was rejected"), "it was told")
    assert peel.is_running() and peel.get("/readyz")[0] == 503


def test_mistakes_in_the_configuration_end_with_all_of_them(fleet):
    path = fleet.folder / "bad.yaml"
    path.write_text("nats_url: nats://a\nhealth_addr: []\nid: a_b\ncolour: red\n")
    result = fleet.run("zester-peel", "--config", path, status=1)
    assert [line.split(": ", 1)[0] for line in result.stderr.splitlines() if "bad.yaml" in line] == [
        f"{path}:1:11", f"{path}:2:14", f"{path}:3:5", f"{path}:4:1"], result.stderr
    assert "bad.yaml:1:11: 'nats://a': expected 'tls://HOST:PORT'" in result.stderr
    assert "bad.yaml:3:5: 'a_b' is not a valid peel name" in result.stderr
    assert "bad.yaml:4:1: no key 'colour'" in result.stderr
    assert "unknown command 'jion' (did you mean 'join'?)" in fleet.run("zester-peel", "jion", status=2).stderr


def test_a_reload_takes_a_good_file_and_keeps_the_old_one_otherwise(fleet):
    fleet.start_ready_master()
    peel = fleet.start_ready_peel("web-01")
    good = peel.conf_path.read_text()
    peel.conf_path.write_text("log_level: noisy\n")
    peel.send(signal.SIGHUP)
    fleet.wait(lambda: peel.has_logged("configuration has errors, keeping the old one"), "the bad file is reported")
    peel.conf_path.write_text(good)
    peel.send(signal.SIGHUP)
    fleet.wait(lambda: peel.has_logged("configuration read again"), "the good file is read")
    assert result_of(fleet.zester_json("web-01", "test.ping")) == {"result": "true"}


def test_a_job_that_runs_when_the_agent_is_killed_has_one_failed_return(fleet):
    fleet.start_ready_master()
    peel = fleet.start_ready_peel("web-01")
    count, hold = fleet.folder / "count", fleet.folder / "hold"
    hold.touch()  # the command is an orphan, and ends with it
    jid = fleet.zester_json("web-01", "cmd.run", f"echo x >> {count}; while [ -e {hold} ]; do sleep 0.1; done", "--async")["jid"]
    fleet.wait(count.exists, "the job runs")
    peel.kill()
    peel.start()
    fleet.wait(lambda: fleet.zester_json("job", "show", jid)["returns"], "it was answered for")
    (answer,) = fleet.zester_json("job", "show", jid)["returns"]
    assert answer["success"] is False
    assert count.read_text() == "x\n"
    hold.unlink()


def test_trees_of_a_master_reach_the_machine_with_large_and_odd_files(fleet):
    states, settings = fleet.folder / "tree", fleet.folder / "tree-settings"
    (states / "files").mkdir(parents=True)
    settings.mkdir()
    fleet.start_ready_master(states_dir=str(states), settings_dir=str(settings))
    peel = fleet.start_ready_peel("web-01")
    assert peel.has_logged("states engine unavailable at boot; will build when state files appear")
    answer, = fleet.zester_json("web-01", "state.highstate", status=2)
    assert answer["error"].startswith("states engine unavailable: no states directory exists yet (state files not yet synced from KV and no baked")
    (states / "top.zy").write_text("base:\n  '*': [web]\n")
    (states / "web.zy").write_text(f"{fleet.folder}/out:\n  file.managed:\n    - source: zester://files/large ä.bin\n")
    large = os.urandom(1 << 20)
    (states / "files/large ä.bin").write_bytes(large)
    (settings / "top.zy").write_text("base:\n  '*': [common]\n")
    (settings / "common.zy").write_text("motd: hello\n")
    fleet.wait(lambda: (peel.folder / "states/files/large ä.bin").exists() and (peel.folder / "states/top.zy").exists(), "the tree has come")
    fleet.wait(lambda: fleet.zester("web-01", "settings.get", "motd", status=None).stdout.endswith("hello\n"), "settings are resolved")
    assert result_of(fleet.zester_json("web-01", "settings.get", "motd")) == {"result": "hello"}
    fleet.zester("web-01", "state.highstate")
    assert (fleet.folder / "out").read_bytes() == large
    (states / "web.zy").write_text(f"said:\n  cmd.run:\n    - name: echo {{{{ settings.motd }}}} | tee -a {fleet.folder}/said\n")
    fleet.wait(lambda: "motd" in (peel.folder / "states/web.zy").read_text(), "the change has come")
    assert result_of(fleet.zester_json("web-01", "state.apply", "web"))["stdout"] == "hello"
    start_without_a_bus(fleet, peel)


def start_without_a_bus(fleet, peel):
    """States, settings and schedule work from what is cached."""
    said, ticked = fleet.folder / "said", fleet.folder / "ticked"
    assert peel.stop() == 0
    fleet.server.kill()
    tick = {"module": "cmd.run", "args": {"command": f"touch {ticked}"}, "interval": "50ms"}
    peel.conf_path.write_text(json.dumps({**peel.conf, "startup_states": "highstate", "schedule": {"tick": tick}}))
    peel.start()
    fleet.wait(lambda: said.read_text() == "hello\nhello\n" and ticked.exists(), "states were applied and the schedule works")
    assert not peel.has_logged("falling back to baked states dir")
    assert peel.log().count("states engine unavailable at boot") == 1


def test_the_schedule_works_without_a_bus_and_follows_the_configuration(fleet):
    fleet.server.kill()
    ticks = fleet.folder / "ticks"
    entry = {"module": "cmd.run", "args": {"command": f"echo x >> {ticks}"}, "interval": "50ms"}
    bad = {"module": "test.ping", "cron": "61 * * * *"}
    off = {"module": "cmd.run", "args": {"command": f"touch {fleet.folder}/off"}, "interval": "10ms", "enabled": False}
    peel = fleet.start_peel("web-01", schedule={"tick": entry, "bad": bad, "off": off}, master_urls=[f"https://127.0.0.1:{free_port()}"])
    fleet.wait(lambda: ticks.exists() and ticks.read_text().count("x") >= 3, "it runs again and again")
    assert peel.has_logged("schedule entry left out entry=bad error=cron: '61' is not a valid minute")
    assert not (fleet.folder / "off").exists()
    peel.conf.pop("schedule")
    peel.conf_path.write_text(json.dumps(peel.conf))
    peel.send(signal.SIGHUP)
    fleet.wait(lambda: peel.has_logged("configuration read again"), "it was read again")
    begun, ended = (lambda: peel.log().count("schedule begins")), (lambda: peel.log().count("schedule ended"))
    fleet.wait(lambda: begun() == ended(), "the last run has ended")
    count = begun()
    assert peel.stop(seconds=STOP_SECONDS) == 0
    assert peel.log().count("schedule begins") == count


def test_as_many_runs_of_an_entry_as_it_allows_are_under_way_and_one_more_is_skipped(fleet):
    hold, ran = fleet.folder / "hold", fleet.folder / "ran"
    hold.touch()
    work = {"module": "cmd.run", "args": {"command": f"while [ -e {hold} ]; do sleep 0.05; done; echo x >> {ran}"}, "interval": "1s"}
    peel = fleet.start_peel("web-01", schedule={"one": work, "two": {**work, "maxrunning": 2}}, master_urls=[f"https://127.0.0.1:{free_port()}"])
    fleet.wait(lambda: peel.has_logged("schedule skipped: it still runs entry=two"), "a third run is skipped")
    fleet.wait(lambda: peel.has_logged("schedule begins entry=one"), "the other entry is due, too")
    assert peel.log().count("schedule begins entry=two") == 2 and peel.log().count("schedule begins entry=one") == 1
    assert not peel.has_logged("schedule skipped: it still runs entry=one") and not ran.exists()
    hold.unlink()
    fleet.wait(lambda: min(peel.log().count(f"schedule ended entry={name}") for name in ("one", "two")) >= 3, "both go on")


def test_facts_that_the_bus_has_lost_are_published_again(fleet):
    def are_published():
        return fleet.zester("kv", "fact", "get", "web-01", "id", status=None).returncode == 0

    fleet.start_ready_master()
    fleet.start_ready_peel("web-01")
    fleet.wait(are_published, "the facts are published")
    fleet.server.kill()
    shutil.rmtree(fleet.folder / "js")
    fleet.server.start()
    fleet.wait(are_published, "they are there again")


def test_results_of_the_schedule_are_on_record_as_jobs(fleet):
    fleet.start_ready_master()
    peel = fleet.start_ready_peel("web-01", schedule={"once": {"module": "test.ping", "interval": "1h", "run_on_start": True,
                                                               "return_job": True}})
    fleet.wait(lambda: peel.has_logged("schedule ended entry=once"), "it ran at the start")
    fleet.wait(lambda: peel.metric("zester_peel_outbox_messages") == 0, "the stream has its result")
    assert not peel.has_logged("return lost")
    jobs = fleet.wait(lambda: fleet.zester_json("job", "list", "--user", "schedule:once"), "a master has recorded it")
    assert [(job["function"], job["status"], job["targets"], job["metadata"]) for job in jobs] == \
        [("test.ping", "complete", ["web-01"], {"source": "schedule", "entry": "once"})]
    assert "web-01:\n    true\n" in fleet.zester("job", "watch", jobs[0]["jid"]).stdout


def test_states_of_the_start_are_applied_once_also_without_a_bus(fleet):
    fleet.server.kill()
    baked = fleet.folder / "web-01/data/states"
    baked.mkdir(parents=True)
    for name in ("one", "two"):
        (baked / f"{name}.zy").write_text(f"{name}:\n  cmd.run:\n    - name: echo {name} >> {fleet.folder}/applied\n")
    snapshot_needed = fleet.start_peel("web-01", startup_states="sls", startup_sls_list=["one", "two"],
                                       master_urls=[f"https://127.0.0.1:{free_port()}"])
    fleet.wait(lambda: snapshot_needed.has_logged("startup states cannot be applied yet"), "without settings it waits, and says so")
    snapshot_needed.kill()
    fleet.server.start()
    fleet.wait(lambda: fleet.listens(fleet.port), "the server is back")
    fleet.start_ready_master()
    peel = fleet.start_peel("web-01", startup_states="sls", startup_sls_list=["one", "two"])
    fleet.approve_peel(peel)
    fleet.wait(lambda: peel.log().count("startup states applied") == 2, "both were applied")
    assert (fleet.folder / "applied").read_text() == "one\ntwo\n"
    assert peel.has_logged("state-file cache dir empty or missing after retries, falling back to baked states dir")


def shorten_life(fleet, creds, days):
    """The same credentials, as if they had been given 180 - `days` days ago."""
    text = creds.read_text()
    old = text.splitlines()[1]
    seed = derive_account(fleet.auth / "account.seed")
    head, body, _ = old.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    claims["exp"] = int(time.time()) + days * 86400
    claims["iat"] = claims["exp"] - 180 * 86400
    signed = head + "." + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    new = signed + "." + base64.urlsafe_b64encode(sign(seed, signed.encode())).decode().rstrip("=")
    creds.write_text(text.replace(old, new))


def test_credentials_are_renewed_before_they_end_without_an_operator(fleet):
    fleet.start_ready_master()
    peel = fleet.start_ready_peel("web-01")
    peel.stop()
    creds = peel.folder / "auth/web-01.creds"
    shorten_life(fleet, creds, 10)
    before = creds.read_text()
    peel.start()
    fleet.wait(lambda: peel.has_logged("credentials end soon"), "it noticed")
    fleet.wait(lambda: creds.read_text() != before, "it has new ones")
    peel.stop()
    peel.start()
    fleet.wait_ready(peel)
    assert peel.log().count("credentials end soon") == 1


def test_dotted_names_come_back_as_they_were(fleet):
    fleet.start_ready_master()
    peel = fleet.start_peel("web", id="web-01.example.com")
    fleet.wait(lambda: peel.has_logged("enrollment submitted"), "it has asked")
    fleet.zester("enroll", "approve", "--peel", "web-01_example_com")
    fleet.wait_ready(peel)
    assert (peel.folder / "auth/web-01_example_com.creds").exists()
    assert result_of(fleet.zester_json("web-01.example.com", "test.ping")) == {"result": "true"}


@pytest.mark.skipif(not BUILD.endswith("release"), reason="the sanitizers need more memory")
def test_an_idle_agent_stays_under_8_mb(fleet):
    def resident():
        with open(f"/proc/{peel.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))
    fleet.start_ready_master()
    peel = fleet.start_ready_peel("web-01")
    fleet.zester("web-01", "cmd.run", "true")
    fleet.wait(lambda: resident() < 8192, "what was needed to start is given back")


def test_help_names_every_key():
    text = subprocess.run([f"{BUILD}/zester-peel", "--help"], capture_output=True, text=True, check=True).stdout
    for flag in ("--nats-url", "--enroll-ca-pin", "--facts-file", "--startup-states", "--config"):
        assert flag in text
