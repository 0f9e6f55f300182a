"""Every state of the table, canceled at each moment that it can notice: no crash, a report that says so, nothing changed that
a revert does not take back, no program left behind, and the next run is whole.

The moments are the calls of cancel_is_raised(); the programs of the asan build count them and cancel themselves
(tests/faults/points). `make test` takes a sample, `make faults` (FAULTS=all) all states and moments.
"""
import contextlib
import glob
import json
import os
import random
import re
import uuid

import pytest

import databases
import test_contract as contract
from debian import reason_to_skip
from machine import TOP, Machine, skip_without

ALL = os.environ.get("FAULTS") == "all"
SEED = os.environ.get("FAULTS_SEED", "1")
MOMENTS = 60 if ALL else 1  # of one state
# Milliseconds after such a moment: while a program runs.
DELAYS = (1, 3, 10, 30, 100, 300) if ALL else (10,)
# In `make test`: the one that crashed, and a few more.
ALWAYS = ["pkg.installed"]
SAMPLE = 8
STEP = "cancel"


def unit_setup():
    """What examples with a ROOT find there: the text of the unit test."""
    text = (TOP / "tests/unit/states/modules/test_contract.c").read_text()
    block = text[text.index("static const char setup[] ="):text.index(";\n\n/* \"x:")]
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', block)).encode().decode("unicode_escape")


def example_cases():
    """The states whose example is about files below ROOT."""
    docs = json.loads(contract.subprocess.run([contract.PROGRAM, "doc", "--json"], capture_output=True, text=True, check=True).stdout)
    wanted = contract.states_of_the_unit_test()
    cases = {}
    for module in docs:
        if module["name"] in wanted:
            args = module["example"].split(":\n", 2)[2].replace("/tmp", "WORK")
            cases[module["name"]] = contract.Case("\n" + args, "cd WORK\n" + unit_setup())
    return cases


class OfFiles(contract.OfSystem):
    """No machine but a folder."""
    FOLDERS = []

    def __init__(self, folder):
        self.machine = Machine(folder, namespace=False)
        self.work = folder / "work"
        self.work.mkdir()
        self.places = {"WORK": str(self.work)}

    def leave(self):
        pass


KINDS = [(OfFiles, example_cases()), (contract.OfSystem, contract.SYSTEM), (contract.OfPackages, contract.PACKAGES),
         (contract.OfServices, contract.SERVICES), (contract.OfNetwork, contract.FIREWALL), (contract.OfFirewalld, contract.FIREWALLD),
         (contract.OfNode, contract.NPM), (contract.OfOrchestrator, contract.ORCHESTRATOR),
         ("mariadb", contract.MYSQL), ("postgres", contract.POSTGRES),
         (OfFiles, {name: contract.Case(args) for name, (args, _, _) in contract.SAYING.items()})]
CASES = {name: (kind, case) for kind, table in KINDS for name, case in table.items()}


def chosen():
    if ALL:
        return sorted(CASES)
    # Real package managers and servers take seconds each.
    quick = sorted(name for name, (kind, _) in CASES.items() if kind in (OfFiles, contract.OfSystem) and name not in ALWAYS)
    return ALWAYS + sorted(random.Random(SEED).sample(quick, SAMPLE))


def test_every_state_has_a_row():
    assert set(CASES) == contract.all_states()


# --- one run ---------------------------------------------------------------------------------------

def zester(machine, env, *words):
    """The record and the exit status."""
    if isinstance(machine, contract.OfPackages):
        out = machine.machine.zester("--quiet", "-o", "json", *words, env=env)
        assert out.returncode in (0, 2) and "Sanitizer" not in out.stderr, (out.returncode, out.stdout + out.stderr)
        return json.loads(out.stdout)[0], out.returncode
    before = machine.machine.env
    machine.machine.env = {**before, **env}
    try:
        record, status = machine.machine.zester(*words)
    finally:
        machine.machine.env = before
    return record[0], status


def left_running(mark):
    """The programs that were started with this variable and still run."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in open(path, "rb").read().split(b"\0"):
                found.append(open(path.replace("environ", "cmdline"), "rb").read().replace(b"\0", b" ").decode())
    return found


def count_moments(machine, folder):
    reached = folder / "reached"
    reached.unlink(missing_ok=True)
    zester(machine, {"ZESTER_REACHED": str(reached)}, "state.apply", "case")
    return reached.read_text().splitlines().count(STEP)


def cancel_at(machine, moment, delay):
    """Apply the state and cancel it: the record and the status."""
    mark = f"ZESTER_TEST_MARK={uuid.uuid4()}"
    record, status = zester(machine, {"ZESTER_CANCEL": f"{STEP}:{moment}:{delay}", **dict([mark.split("=")])}, "state.apply", "case")
    # A service of the orchestrator has the environment of who started it, and runs until that is reverted.
    assert isinstance(machine, contract.OfOrchestrator) or left_running(mark) == [], "programs are left"
    return record, status


def check_report(record, status, is_saying):
    """Canceled, or done before it could be."""
    if record["summary"]["canceled"]:
        assert status == 2 and record["error"] == "execution canceled" and not record["success"]
        return
    assert is_saying or (status == 0 and record["success"]), "failed, and is not called canceled: " + json.dumps(record["results"])


class Trial:
    """One state on its machine, as it was before any run."""

    def __init__(self, machine, name, case, folder):
        self.machine, self.case, self.folder = machine, case, folder
        self.is_saying = name in contract.SAYING
        self.has_undo = not self.is_saying and not name.startswith("cmd.")
        machine.sh(case.setup)
        machine.declare(name, case.args)
        self.before, self.seen = self.look()

    def look(self):
        return contract.without(self.machine.files(False), self.case.left), self.machine.sh(self.case.look)

    def check_as_before(self):
        if not self.has_undo:
            return
        for _ in range(2):  # a canceled run, and one that completed it
            record, status = zester(self.machine, {}, "state.revert", "case")
            assert status == 0, record["results"]
        files, seen = self.look()
        assert contract.differences(self.before, files) == {}, "a revert is exact"
        assert seen == self.seen, "a revert is exact"

    def moments(self):
        count = count_moments(self.machine, self.folder)
        self.check_as_before()
        every = list(range(1, count + 1))
        picked = every if len(every) <= MOMENTS else sorted(random.Random(SEED).sample(every, MOMENTS))
        if not picked:
            return []
        return [(moment, 0) for moment in picked] + [(random.Random(SEED).choice(every), delay) for delay in DELAYS]

    def run(self, moment, delay):
        record, status = cancel_at(self.machine, moment, delay)
        check_report(record, status, self.is_saying)
        self.check_as_before()

    def run_all(self):
        wrong = []
        for moment, delay in self.moments():
            try:
                self.run(moment, delay)
            except AssertionError as error:
                wrong.append(f"at {moment}, {delay} ms later: {str(error)[:1500]}")
        assert wrong == [], "\n".join(wrong)
        if not self.is_saying:
            contract.expect(self.machine, "changed", "state.apply", "case")


@pytest.fixture(name="server")
def fixture_server(request):
    """A way to the server of databases that a kind names."""
    started = {}
    with contextlib.ExitStack() as stack:
        def get(kind):
            if kind not in started:
                started[kind] = stack.enter_context(getattr(databases, kind)())
            return started[kind]
        yield get


@pytest.mark.parametrize("name", chosen())
def test_a_state_that_is_canceled_says_so_and_can_be_reverted(tmp_path, name, server):
    kind, case = CASES[name]
    skip_without(*case.needs)
    if kind is contract.OfPackages and reason_to_skip():
        pytest.skip(reason_to_skip())
    if isinstance(kind, str):
        Trial(contract.OfDatabases(tmp_path, server(kind)), name, case, tmp_path).run_all()
        return
    with contract.machine_of(kind, tmp_path, name) as machine:
        Trial(machine, name, case, tmp_path).run_all()
