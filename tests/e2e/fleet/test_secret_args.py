"""Secret arguments of jobs: sealed on record, opened by masters for the peel alone, masked in everything that is shown or kept."""
import base64
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import termios

import pytest

from bus import Bus
from fleet import BUILD, SERVER, Fleet
from packing import pack
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")

# In a command a peel shows that it has the value without writing it down.
PROOF = 'printf %s "$TOKEN" | sha256sum | cut -c1-64 > {path}; echo "got $TOKEN"'
STATE = """proof:
  cmd.run:
    - name: printf %s '{{ pillar['db']['password'] }}' | sha256sum | cut -c1-64 > {{ pillar['path'] }}; echo 'state {{ pillar['db']['password'] }}'
conf:
  file.managed:
    - name: {{ pillar['conf'] }}
    - contents: 'password={{ pillar['db']['password'] }}'
"""
VALUES = []  # every secret that a test has used; no two are equal


def secret(name):
    value = f"{name}-Geheimnis-{len(VALUES)}"
    VALUES.append(value)
    return value


def proof_of(value):
    return hashlib.sha256(value.encode()).hexdigest() + "\n"


def send_to_crashing_master(fleet):
    """A job for an absent peel, whose master is killed after the claim and before it sends anything. Others need a while to be sure of that,
    so the last tests look at what became of it."""
    fleet.late_value, fleet.late_proof = secret("queued"), fleet.folder / "late-proof"
    (fleet.folder / "late-value").write_text(fleet.late_value)
    master = fleet.start_master("first", states_dir=str(fleet.folder / "tree"), log_level="debug", environment={"ZESTER_CRASH": "job-claimed:1:0"})
    fleet.wait_ready(master)
    fleet.peels = {name: start_peel(fleet, master, name, log_level="debug") for name in ("web-01", "db-01", "late-01")}
    fleet.peels["late-01"].kill()
    fleet.late = subprocess.Popen([f"{BUILD}/zester", "late-01", "cmd.run", PROOF.format(path=fleet.late_proof), "--queue", "1h", "--async", "--secret",
                                   f"env.TOKEN=@{fleet.folder}/late-value", "--config", str(fleet.write_cli_conf())], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
    fleet.wait(lambda: not master.is_running(), "the master has crashed")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("secret-args")) as fleet:
        fleet.start_server()
        (fleet.folder / "tree").mkdir()
        (fleet.folder / "tree/app.sls").write_text(STATE)
        send_to_crashing_master(fleet)
        fleet.master = fleet.start_ready_master(states_dir=str(fleet.folder / "tree"), log_level="debug")
        fleet.wait(lambda: (fleet.peels["db-01"].folder / "states/app.sls").exists(), "the states are there")
        fleet.outputs = []
        yield fleet
        fleet.late.kill()


def run(fleet, *words, stdin="", status=0, environment=None):
    result = subprocess.run([f"{BUILD}/zester", *map(str, words), "--config", fleet.write_cli_conf()], input=stdin, text=True, capture_output=True,
                            timeout=90, env={**os.environ, **(environment or {})})
    fleet.outputs.append(result.stdout + result.stderr)
    assert status is None or result.returncode == status, f"{words}: {result.returncode}\n{fleet.outputs[-1]}\n{fleet.logs()}"
    return result


def test_the_function_gets_the_argument_and_its_result_is_masked(fleet, tmp_path):
    value, proof = secret("file"), tmp_path / "proof"
    (tmp_path / "value").write_text(value + "\n")
    answer = run(fleet, "db-01", "cmd.run", PROOF.format(path=proof), "--secret", f"env.TOKEN=@{tmp_path}/value")
    assert proof.read_text() == proof_of(value)
    assert "got ********" in answer.stdout


@pytest.mark.parametrize("direct", [(), ("--direct",)])
def test_values_come_from_standard_input_and_from_the_environment(fleet, tmp_path, direct):
    first, second, proof = secret("line"), secret("variable"), tmp_path / "proof"
    answer = run(fleet, "web-01", "cmd.run", f'printf %s "$ONE$TWO" > {proof}; echo "$TWO"', "--secret", "env.ONE", "--secret", "env.TWO=env:SECOND",
                 *direct, stdin=first + "\nnot this one\n", environment={"SECOND": second})
    assert proof.read_text() == first + second
    assert "********" in answer.stdout


def test_a_value_is_typed_without_an_echo(fleet, tmp_path):
    value, proof = secret("typed"), tmp_path / "proof"
    ours, theirs = pty.openpty()
    command = subprocess.Popen([f"{BUILD}/zester", "db-01", "cmd.run", PROOF.format(path=proof), "--secret", "env.TOKEN", "--config",
                                str(fleet.write_cli_conf())], stdin=theirs, stdout=theirs, stderr=theirs)
    text = b""
    while b"env.TOKEN: " not in text:
        text += os.read(ours, 4096)
    os.write(ours, value.encode() + b"\n")
    os.close(theirs)
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:
        pass
    os.close(ours)
    assert command.wait(60) == 0, text
    assert proof.read_text() == proof_of(value) and b"got ********" in text and value.encode() not in text


def test_ctrl_c_at_the_prompt_ends_the_command_and_restores_the_terminal(fleet):
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = subprocess.Popen([f"{BUILD}/zester", "db-01", "cmd.run", "true", "--secret", "env.TOKEN"], stdin=theirs, stdout=theirs, stderr=theirs)
    text = b""
    while b"env.TOKEN: " not in text:
        text += os.read(ours, 4096)
    os.write(ours, b"half\x03")
    assert command.wait(60) == 1
    assert termios.tcgetattr(theirs)[3] == before[3]


def test_settings_of_a_state_run_can_be_secret_and_a_plan_keeps_them_sealed(fleet, tmp_path):
    value = secret("pillar")
    (tmp_path / "value").write_text(value)
    pillar = f"pillar={{path: {tmp_path}/proof, conf: {tmp_path}/conf}}"
    words = ("db-01", "state.apply", "app", pillar, "--secret", f"pillar.db.password=@{tmp_path}/value")
    plan = run(fleet, *words, "--test", "--async").stdout.strip()
    fleet.wait(lambda: fleet.zester_json("job", "show", plan)["job"]["status"] == "complete", "the dry run has ended")
    assert not (tmp_path / "proof").exists()
    applied = run(fleet, "apply", plan)
    assert (tmp_path / "proof").read_text() == proof_of(value)
    assert (tmp_path / "conf").read_text().strip() == f"password={value}"
    assert "state ********" in applied.stdout


def test_a_job_shows_that_it_has_secret_arguments_and_a_retry_carries_them(fleet, tmp_path):
    value, proof, gate = secret("retry"), tmp_path / "proof", tmp_path / "gate"
    (tmp_path / "value").write_text(value)
    jid = run(fleet, "web-01", "cmd.run", f"[ -e {gate} ] || exit 3; " + PROOF.format(path=proof), "--async", "--secret",
              f"env.TOKEN=@{tmp_path}/value").stdout.strip()
    fleet.wait(lambda: fleet.zester_json("job", "show", jid)["job"]["status"] == "failed", "it has failed")
    assert fleet.zester_json("job", "show", jid)["job"]["sealed_args"] == {"env.TOKEN": "***"}
    assert 'env.TOKEN=***' in run(fleet, "job", "show", jid).stdout
    gate.touch()
    run(fleet, "job", "retry", jid)
    assert proof.read_text() == proof_of(value)


def test_mistakes_are_reported_before_anything_is_sent(fleet, tmp_path):
    VALUES.append("never-typed")
    for words, why in ((("env.A=never-typed",), "must not be on the command line"), ((f"env.A=@{tmp_path}/none",), "does not exist"),
                       (("env.A=env:NO_SUCH_VARIABLE",), "environment variable 'NO_SUCH_VARIABLE' is not set"), (("env.A",), "unexpected end of standard input"),
                       (("a..b=env:HOME",), "is not the name of an argument"), (("command=env:HOME",), "given twice"),
                       (("x=env:HOME", "--secret", "x=env:HOME"), "given twice"), (("x=env:SHORT",), "could not be masked")):
        answer = run(fleet, "db-01", "cmd.run", "true", "--secret", *words, status=1, environment={"SHORT": "abc"})
        assert why in answer.stderr, answer.stderr
    for function, words in (("event.send", ("some/tag",)), ("schedule.add", ("entry", "function=test.ping"))):
        answer = run(fleet, "db-01", function, *words, "--secret", "x=env:HOME", status=2)
        assert "takes no secret arguments" in answer.stdout
    answer = run(fleet, "db-01", "facts.set", "role", "--secret", "value=env:LONG", status=None, environment={"LONG": secret("fact")})
    assert answer.returncode in (1, 2)


def test_a_box_cannot_be_moved_into_another_call(fleet, tmp_path):
    """An operator who reads the record gets no use of it."""
    (tmp_path / "value").write_text(secret("moved"))
    jid = run(fleet, "web-01", "cmd.run", "true", "--async", "--secret", f"env.TOKEN=@{tmp_path}/value").stdout.strip()
    fleet.wait(lambda: fleet.zester_json("job", "show", jid)["job"]["status"] == "complete", "it has ended")
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        question = json.dumps({"last_by_subj": f"$KV.jobs.{jid}"}).encode()
        record = base64.b64decode(json.loads(bus.request("$JS.API.STREAM.MSG.GET.KV_jobs", question))["message"]["data"])
        box = re.search(rb"ENC\[xkey,[^\]]+\]", record).group().decode()
        job = {"jid": "other-" + jid, "function": "cmd.run", "args": {"command": f"cat > {tmp_path}/stolen"}, "targets": ["web-01"],
               "user": "thief", "state_id": "ad-hoc", "sealed_args": {"stdin": box}}
        assert b"sealed for another call" in bus.request("zester.dispatch", pack(job))
    assert not (tmp_path / "stolen").exists()


def test_an_operator_with_a_name_seals_too_and_reads_nothing_else_of_the_bucket(fleet, tmp_path):
    value, proof = secret("named"), tmp_path / "proof"
    (tmp_path / "value").write_text(value)
    for name, words in (("olga", ("--function", "cmd.run", "--approval", "cmd.run")), ("otto", ("--target", "web*")), ("vera", ("--role", "viewer"))):
        fleet.zester("operator", "add", name, *words, "--dir", fleet.auth, "--out", tmp_path / f"{name}.creds")

    def run_as(name, *words, **more):
        return run(fleet, *words, "--creds", tmp_path / f"{name}.creds", **more)

    words = ("web-01", "cmd.run", PROOF.format(path=proof), "--secret", f"env.TOKEN=@{tmp_path}/value")
    answer = run_as("otto", *words)
    assert proof.read_text() == proof_of(value) and "got ********" in answer.stdout
    proof.unlink()
    jid = run_as("olga", *words).stdout.strip()
    waiting, = [one for one in json.loads(run_as("otto", "job", "approvals", "--format", "json").stdout) if one["jid"] == jid]
    assert waiting["state"] == "pending" and not proof.exists()
    run_as("otto", "job", "approve", jid)
    fleet.wait(lambda: proof.exists() and proof.read_text() == proof_of(value), "it has run with the value")
    assert "may not read 'KV_secrets': the role is 'viewer'" in run_as("vera", *words, status=1).stderr
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", tmp_path / "otto.creds") as bus:
        bus.inbox = "_INBOX._operator.otto.x"
        for body in ({"last_by_subj": "$KV.secrets.web-01"}, {"seq": 1}, {"last_by_subj": "$KV.secrets.>"}):
            text = bus.request("zester.operator.otto.js.STREAM.MSG.GET.KV_secrets", json.dumps(body).encode())
            assert b"may not read 'KV_secrets'" in text, text
        twice = b'{"last_by_subj":"$KV.secrets._master_curve_pub","Last_By_Subj":"$KV.secrets.web-01"}'
        message = json.loads(bus.request("zester.operator.otto.js.STREAM.MSG.GET.KV_secrets", twice))["message"]
        assert message["subject"] == "$KV.secrets._master_curve_pub"


def test_an_absent_peel_gets_it_from_the_master_that_took_the_job_over(fleet):
    out, err = fleet.late.communicate(timeout=120)
    fleet.outputs.append(out + err)
    assert fleet.late.returncode == 0, err
    fleet.peels["late-01"].start()
    fleet.wait(lambda: fleet.late_proof.exists() and fleet.late_proof.read_text() == proof_of(fleet.late_value), "the peel has got it")


def test_no_secret_is_anywhere_in_clear(fleet):
    """After all of the above: stores of the bus, logs, data of peels, outputs."""
    for daemon in fleet.daemons:
        if daemon is not fleet.server:
            daemon.kill()
    fleet.server.stop(signal.SIGTERM)  # what it has in memory is on its disk then
    wanted = [value.encode() for value in VALUES]
    assert len(wanted) > 8
    looked_at = 0
    for folder in ("js", *fleet.peels):
        for path in (fleet.folder / folder).rglob("*"):
            if path.is_file():
                looked_at += 1
                content = path.read_bytes()
                assert not [value for value in wanted if value in content], path
    assert looked_at > 20
    for path in fleet.folder.glob("*.log"):
        content = path.read_bytes()
        assert not [value for value in wanted if value in content], path
    for output in fleet.outputs:
        assert not [value for value in VALUES if value in output], output
