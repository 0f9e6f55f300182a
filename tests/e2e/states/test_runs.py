"""state.runs lists the runs, and state.revert takes back one of them, or more if asked: random histories against a model,
and what people are shown and asked."""
import glob
import json
import os
import random
import subprocess

import pytest

from terminal import answer_on_terminal
from test_states import Machine

ROUNDS = int(os.environ.get("RUNS_ROUNDS", "6"))
INJECT = os.path.abspath(os.path.join(os.environ.get("ZESTER_BUILD", "build/asan"), "tests/faults/inject"))


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def write(machine, ref="web", **files):
    machine.state(ref, "".join(f"{ref}-{name}: {{file.managed: [name: ROOT/{name.replace('_', '/')}, contents: '{text}', makedirs: true]}}\n"
                               for name, text in files.items()) or "{}\n")


def apply(machine, ref="web", **files):
    write(machine, ref, **files)
    return machine.record("state.apply", ref, status=0)["summary"].get("run_id")


def tree(machine):
    return {str(path.relative_to(machine.root)): path.read_bytes() if path.is_file() else None for path in sorted(machine.root.rglob("*"))}


def runs(machine, *words):
    return json.loads(machine.run("state.runs", *words, "--format", "json", status=0).stdout)


# --- which runs -----------------------------------------------------------------------------------


def test_a_reference_means_its_last_run_that_changed_something(machine):
    apply(machine, a="1")
    apply(machine, a="2")
    apply(machine, a="2")  # changes nothing, and is no run to revert
    apply(machine, "db", b="1")
    machine.run("state.revert", "web", status=0)
    assert machine.read("a") == "1\n" and machine.read("b") == "1\n"
    machine.run("state.revert", "web", status=0)
    assert list(tree(machine)) == ["b"]
    assert "nothing to revert" in machine.run("state.revert", "web", status=0).stdout


def test_to_a_run_and_since_a_time_go_back_over_all_references(machine):
    first = apply(machine, a="1")
    apply(machine, "db", b="1")
    machine.run("file.managed", f"{machine.root}/c", "contents=1", status=0)
    machine.run("state.revert", "--since", "1h", "--test", status=0)
    assert set(tree(machine)) == {"a", "b", "c"}
    said = machine.run("state.revert", "--to", first[:12], "--yes", status=0).stdout
    assert set(tree(machine)) == {"a"} and "reverted 2 runs, from" in said
    machine.run("state.revert", "to=" + first, "yes=True", status=0)  # there is nothing after it any more
    assert set(tree(machine)) == {"a"}
    machine.run("state.revert", "web", "--since", "2014-01-01", "--yes", status=0)
    assert tree(machine) == {}


def test_a_run_that_was_killed_in_its_first_record_does_not_end_a_revert_since_a_time(machine):
    apply(machine, a="1")
    apply(machine, b="1")
    (torn,) = glob.glob(f"{machine.root}/../data/undo/*2-*/journal") or [None]
    os.truncate(torn, 40)
    os.unlink(os.path.join(os.path.dirname(torn), "seal"))
    machine.run("state.revert", "--since", "1h", "--yes", status=0)
    assert set(tree(machine)) == {"b"}


@pytest.mark.parametrize("words, error", [
    (["web", "--all", "--since", "1h"], "cannot be used together"),
    (["--all"], "'all' requires a reference"),
    ([], "requires a reference, or the id of a job or run"),
    (["web", "--since", "soon"], "neither a time nor a duration"),
    (["web", "--since", ""], "'since' is empty"),
    (["web", "to="], "'to' is empty"),
    (["web", "--to", "nothing", "--yes"], "run 'nothing' has no record here"),
    (["web", "db"], "got 'db' as well"),
    (["RUN", "--all", "--yes"], "is one run"),
    (["web", "--all"], "there is no terminal to ask: use --yes, or --test"),
    (["web", "al=True"], "no parameter 'al'"),
])
def test_a_request_that_is_unclear_reverts_nothing(machine, words, error):
    run = apply(machine, a="1")
    assert error in machine.run("state.revert", *(run if word == "RUN" else word for word in words), status=1).stderr
    assert machine.read("a") == "1\n"


def test_options_of_a_revert_are_not_ignored_elsewhere(machine):
    assert "options of state.revert" in machine.run("state.runs", "--all", status=1).stderr


def test_a_run_that_a_later_one_has_changed_again_is_refused_as_a_whole(machine):
    first = apply(machine, a="1", b="1")
    second = apply(machine, "db", a="2")
    before = tree(machine)
    said = machine.run("state.revert", first, status=1).stderr
    assert f"'{machine.root}/a' was changed again by run {second} of 'db'; nothing was reverted" in said
    assert tree(machine) == before
    machine.run("state.revert", second, status=0)
    machine.run("state.revert", first, status=0)
    assert tree(machine) == {}


def test_a_mode_that_a_later_run_has_set_stays(machine):
    def apply_mode(ref, mode, **more):
        machine.state(ref, f"{ref}: {{file.managed: [name: ROOT/a, mode: '{mode}', replace: false]}}\n")
        return machine.record("state.apply", ref, status=0)["summary"]["run_id"]

    def mode():
        return (machine.root / "a").stat().st_mode & 0o777

    made = apply(machine, a="1")
    first, second = apply_mode("one", "0664"), apply_mode("two", "0600")
    for run, later in ((made, first), (first, second)):
        said = machine.run("state.revert", run, status=1).stderr
        assert f"'{machine.root}/a' was changed again by run {later}" in said and mode() == 0o600
    (machine.root / "a").chmod(0o664)  # as the first one left it
    machine.run("state.revert", first, status=0)
    assert mode() == 0o644
    for run in (second, made):
        machine.run("state.revert", run, status=0)
    assert tree(machine) == {}


# --- the list -------------------------------------------------------------------------------------


def test_runs_are_listed_with_time_user_work_and_whether_they_are_reverted(machine):
    assert machine.run("state.runs", status=0).stdout == "no run is recorded\n"
    first = apply(machine, a="1", b="1")
    second = apply(machine, a="2", b="1")
    machine.run("file.managed", f"{machine.root}/c", "contents=1", status=0)
    machine.run("state.revert", "web", status=0)
    lines = machine.run("state.runs", status=0).stdout.splitlines()
    assert lines[0].split() == ["RUN", "TIME", "CHANGED", "REVERTED", "BY", "WHAT"]
    assert lines[1].endswith(f"file.managed {machine.root}/c")
    assert lines[2].split()[2:] == ["1", "yes", "user", os.environ.get("USER_NAME", "root"), "state.apply", "web"]
    assert lines[3].split()[2] == "2" and all(len(line) <= 80 for line in lines[2:])
    assert machine.run("state.runs", "web", status=0).stdout.count("\n") == 3
    listed = runs(machine, "web")
    assert [run["id"] for run in listed] == [second, first] and [run["reverted"] for run in listed] == [True, False]
    assert listed[1]["changed"] == 2 and listed[1]["refs"] == ["web"] and listed[1]["function"] == "state.apply"
    assert set(listed[1]["states"]) == {"file.managed:web-a", "file.managed:web-b"}


def test_an_id_of_the_list_is_enough_for_a_revert(machine):
    apply(machine, a="1")
    apply(machine, a="2")
    short = machine.run("state.runs", status=0).stdout.splitlines()[1].split()[0]
    assert len(short) < 27
    machine.run("state.revert", short, status=0)
    assert machine.read("a") == "1\n"


def test_a_damaged_record_is_told_and_skipped(machine):
    apply(machine, a="1")
    second = apply(machine, a="2")
    for name in ("journal", "seal"):
        path = glob.glob(f"{machine.folder}/data/undo/*-{second}/{name}")[0]
        size = os.path.getsize(path)
        with open(path, "wb") as file:
            file.write(b"\xff" * size)
    done = machine.run("state.runs", status=2)
    assert f"run {second}: its record is damaged" in done.stderr and len(done.stdout.splitlines()) == 2
    assert [bool(run.get("damage")) for run in runs(machine)] == [True, False]


def test_secrets_are_not_in_the_list(machine):
    machine.state("web", "'note hunter2secret': {file.managed: [name: ROOT/a, contents: !secret hunter2secret]}\n")
    machine.run("state.apply", "web", status=0)
    assert "hunter2secret" not in machine.run("state.runs", "--format", "json", status=0).stdout
    assert "hunter2secret" not in machine.run("state.revert", "web", status=0).stdout


# --- questions --------------------------------------------------------------------------------------


def test_people_are_asked_before_more_than_one_run_is_reverted(machine):
    apply(machine, a="1")
    apply(machine, a="2")
    command = [str(word) for word in machine.command("state.revert", "web", "--all")]
    for answer in (b"\n", b"n\n", b"\x03"):
        status, said = answer_on_terminal(command, answer)
        assert status == 1 and "Revert these 2 runs? [y/N]" in said and "nothing was reverted" in said, said
        assert "would revert  file.managed:web-a" in said and machine.read("a") == "2\n"
    status, said = answer_on_terminal([*command, "--yes"], b"n\n")
    assert status == 0 and "[y/N]" not in said and tree(machine) == {}


def test_one_run_is_reverted_without_a_question_unless_it_destroys_something(machine):
    apply(machine, a="1")
    status, said = answer_on_terminal([str(word) for word in machine.command("state.revert", "web")], b"n\n")
    assert status == 0 and "[y/N]" not in said and tree(machine) == {}
    subprocess.run(["git", "init", "-q", machine.folder / "repo"], check=True)
    subprocess.run(["git", "-C", machine.folder / "repo", "-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a", "--allow-empty"], check=True)
    machine.state("clone", f"{machine.folder}/repo: {{git.cloned: [target: ROOT/clone]}}\n")
    machine.run("state.apply", "clone", status=0)
    command = [str(word) for word in machine.command("state.revert", "clone")]
    status, said = answer_on_terminal(command, b"n\n")
    assert status == 1 and f"would remove the clone {machine.root}/clone, with all that is in it" in said
    assert "Revert this run? [y/N]" in said and (machine.root / "clone/.git").exists()
    assert answer_on_terminal(command, b"y\n")[0] == 0 and not (machine.root / "clone").exists()


# --- the property -------------------------------------------------------------------------------------


class History:
    """Runs on a small tree, and the tree after each: what a revert must give back."""

    NAMES = ("a", "b", "d_c", "d_e")

    def __init__(self, folder, seed):
        self.chance, self.machine = random.Random(f"runs {seed}"), Machine(folder)
        self.story = []
        for name in "ab":
            if self.chance.random() < 0.5:
                (self.machine.root / name).write_text("before\n")
        self.base, self.done = tree(self.machine), []  # done: (run ID, the tree after it)

    def apply(self):
        for _ in range(self.chance.randint(1, 5)):
            files = {name: self.chance.choice("123") for name in self.chance.sample(self.NAMES, self.chance.randint(1, 4))}
            before = tree(self.machine)
            run = apply(self.machine, **files)
            self.story.append(f"apply {files}: {run}")
            if tree(self.machine) != before:
                self.done.append((run, tree(self.machine)))

    def choose(self):
        """What is asked for, and how many runs stay."""
        count = len(self.done)
        goal = self.chance.randrange(count)
        return self.chance.choice([(["web"], count - 1), ([self.done[-1][0]], count - 1), (["web", "--all", "--yes"], 0),
                                   (["web", "--to", self.done[goal][0], "--yes"], goal + 1), (["--to", self.done[goal][0], "--yes"], goal + 1),
                                   (["web", "--since", "2014-01-01", "--yes"], 0)])

    def revert(self, kill):
        words, stay = self.choose()
        command, after = self.machine.command("state.revert", *words), self.done[stay - 1][1] if stay > 0 else self.base
        self.story.append(f"revert {words}, and {stay} runs stay")
        before = tree(self.machine)
        self.machine.run("state.revert", *words, "--test", status=0)
        assert tree(self.machine) == before, self.story
        if kill and words != ["web"]:  # the next revert of a reference finishes the killed one, or takes the one before
            subprocess.run([INJECT, "--kill", str(self.chance.randint(1, 120)), "--", *command], capture_output=True, timeout=60)
        self.machine.run("state.revert", *words, status=0)
        assert tree(self.machine) == after, self.story
        del self.done[stay:]
        assert [run["id"] for run in runs(self.machine) if not run["reverted"]] == [run for run, _ in reversed(self.done)], self.story


@pytest.mark.parametrize("kill", [False, True])
def test_random_histories_of_runs_and_reverts_are_what_the_model_says(tmp_path, kill):
    for seed in range(ROUNDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        history = History(folder, seed)
        for _ in range(4):
            history.apply()
            if history.done:
                history.revert(kill)
