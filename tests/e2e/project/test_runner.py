"""tools/run-tests, on a tiny tree whose test programs are shell scripts."""
import argparse
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest

from kepler_home import alive, wait_until

TOP = pathlib.Path(__file__).resolve().parents[3]


class Tree:
    def __init__(self, root):
        self.root = root
        (root / "tools").mkdir()
        shutil.copy(TOP / "tools/run-tests", root / "tools")
        shutil.copy(TOP / "Makefile", root)

    def write(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def unit(self, name, body, variant="asan"):
        """A unit test: its source, and a script in the place of the program."""
        self.write(f"tests/unit/{name}.c", "")
        self.write(f"build/{variant}/tests/unit/{name}", f"#!/bin/sh\n{body}\n", 0o755)

    def fuzz(self, name, body):
        self.write(f"tests/fuzz/fuzz_{name}.c", "")
        self.write(f"build/fuzz-clang/tests/fuzz/fuzz_{name}", f"#!/bin/sh\n{body}\n", 0o755)

    def lint(self, body="pass"):
        self.write("tools/lint", f"import sys\n{body}\n")

    def run(self, *words):
        result = subprocess.run([sys.executable, "tools/run-tests", *words], cwd=self.root, text=True,
                                capture_output=True, check=False, env={"PATH": os.environ["PATH"]})
        assert result.stderr == ""
        return result.returncode, result.stdout, result.stdout.rstrip("\n").split("\n")[-1]


def has_ended(pid):
    """Gone, or about to be."""
    return wait_until(lambda: not alive(pid), f"process {pid} has ended")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_the_last_line_is_the_sum_of_all_kinds(tree):
    tree.unit("core/base/test_a", 'echo "3 passed, 0 failed"')
    tree.unit("core/sys/test_b", 'echo "2 passed, 0 failed"')
    tree.unit("core/sys/test_b", 'echo "2 passed, 0 failed"', "tsan")
    tree.fuzz("p", "exit 0")
    tree.write("tests/e2e/states/test_x.py", "import pytest\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b(): pass\n")
    tree.lint()
    status, out, last = tree.run()
    assert (status, last) == (0, "10 passed, 0 failed"), out
    assert "e2e  test_x: 1 passed, 0 failed, 1 skipped" in out


def test_a_failure_is_counted_and_its_output_shown(tree):
    tree.unit("core/base/test_a", 'echo "FAIL the_sky_is_green"; echo "2 passed, 1 failed"; exit 1')
    status, out, last = tree.run("--only", "unit")
    assert (status, last) == (1, "2 passed, 1 failed")
    assert "FAIL the_sky_is_green" in out


FAILS_ONCE = 'echo x >> tries; [ $(wc -l < tries) -gt 1 ] && echo "2 passed, 0 failed" && exit 0; echo "%s"; echo "1 passed, 1 failed"; exit 1'


def test_a_job_that_fails_once_and_then_passes_alone_is_reported_as_unstable(tree):
    tree.unit("core/base/test_a", FAILS_ONCE % "")
    status, out, last = tree.run("--only", "unit")
    assert (status, last) == (0, "2 passed, 0 failed"), out
    assert "UNSTABLE unit core/base/test_a: failed once, then passed 2 times alone" in out


def test_an_unstable_job_is_a_failure_when_asked_to_be_strict_or_when_a_sanitizer_found_something(tree):
    tree.unit("core/base/test_a", FAILS_ONCE % "")
    assert tree.run("--only", "unit", "--strict")[::2] == (1, "1 passed, 1 failed")
    (tree.root / "tries").unlink()
    tree.unit("core/base/test_a", FAILS_ONCE % "==1==ERROR: AddressSanitizer: heap-use-after-free")
    assert tree.run("--only", "unit")[::2] == (1, "1 passed, 1 failed")


def test_many_jobs_that_fail_are_not_run_again(tree):
    for name in "abcd":
        tree.unit(f"core/base/test_{name}", FAILS_ONCE.replace("tries", f"tries_{name}") % "")
    status, out, _ = tree.run("--only", "unit")
    assert status == 1 and "[again" not in out


CRASHES = {"a crash": "kill -9 $$", "silence": "exit 0", "nothing run": 'echo "0 passed, 0 failed"; exit 1',
           "a leak after the tests": 'echo "LeakSanitizer"; echo "0 passed, 0 failed"; exit 23'}


@pytest.mark.parametrize("name", CRASHES)
def test_a_program_that_does_not_count_its_tests_is_a_failure(tree, name):
    tree.unit("core/base/test_a", CRASHES[name])
    status, out, last = tree.run("--only", "unit")
    assert (status, last) == (1, "0 passed, 1 failed"), out


def test_a_bad_exit_status_after_a_good_line_is_a_failure(tree):
    tree.unit("core/base/test_a", 'echo "2 passed, 0 failed"; exit 23')
    assert tree.run("--only", "unit")[2] == "2 passed, 1 failed"


def test_a_job_that_hangs_is_ended_with_all_that_it_started_and_says_where_they_stood(tree):
    tree.unit("core/base/test_a", "echo begun; setsid sleep 271828 & exec sleep 314159")
    for seconds in (2, 8, 32):  # a busy machine may need longer to start them
        status, out, last = tree.run("--only", "unit", "--seconds", str(seconds))
        assert (status, last) == (1, "0 passed, 1 failed")
        if out.count(": sleep ") == 2:
            break
    assert "begun\n" in out and f"stopped after {seconds} seconds" in out
    for number in ("271828", "314159"):
        pid, = re.findall(rf"^process (\d+): sleep {number} *$", out, re.M)
        assert has_ended(pid)
    assert len(re.findall(r"^  thread \d+ sleep \| ", out, re.M)) == 2


def test_what_a_job_leaves_behind_is_ended_and_reported(tree):
    tree.unit("core/base/test_a", "setsid sh -c 'touch up; exec sleep 161803' & until [ -e up ]; do sleep 0.01; done; "
              "echo '1 passed, 0 failed'")
    status, out, last = tree.run("--only", "unit")
    assert (status, last) == (0, "1 passed, 0 failed")
    assert "unit core/base/test_a left behind" in out
    pid, = re.findall(r"^process (\d+): sleep 161803 *$", out, re.M)
    assert has_ended(pid)


HANG = """
#include "test.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits_for_the_mutex(void *arg)
{
    (void)pthread_mutex_lock(&mutex);
    return arg;
}

TEST(this_never_ends)
{
    pthread_t thread;

    CHECK_INT(pthread_mutex_lock(&mutex), 0);
    CHECK_INT(pthread_create(&thread, NULL, waits_for_the_mutex, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST(this_ends)
{
    CHECK_INT(1, 1);
}
"""


def test_a_unit_test_that_is_stuck_says_where_each_thread_stands(tmp_path):
    build = TOP / os.environ.get("ZESTER_BUILD", "build/asan")
    compiler = "clang" if build.name.endswith("-clang") else "gcc"
    (tmp_path / "hang.c").write_text(HANG)
    subprocess.run([compiler, "-std=gnu17", "-D_GNU_SOURCE", "-DTEST_SECONDS=1", "-g", "-fno-omit-frame-pointer",
                    "-fsanitize=address,undefined", "-rdynamic", f"-I{TOP}/src", f"-I{TOP}/tests/unit", "-o", tmp_path / "hang",
                    tmp_path / "hang.c", TOP / "tests/unit/test.c", build / "libcore.a", "-lcmocka", "-lpthread", "-lm"],
                   check=True)
    result = subprocess.run([tmp_path / "hang"], text=True, capture_output=True, check=False)
    assert result.returncode == 1 and result.stdout.endswith("1 passed, 1 failed\n")
    assert "FAIL this_never_ends" in result.stdout and "stuck: it took more than 1 second" in result.stdout
    for function in ("waits_for_the_mutex", "this_never_ends"):
        assert re.search(rf" in {function} .*hang\.c:\d+", result.stdout), result.stdout


def test_a_test_that_was_not_built_is_a_failure(tree):
    tree.write("tests/unit/core/base/test_a.c", "")
    status, out, last = tree.run("--only", "unit")
    assert (status, last) == (1, "0 passed, 1 failed") and "not built?" in out


def test_a_program_whose_source_is_gone_is_not_run(tree):
    tree.unit("core/base/test_a", 'echo "1 passed, 0 failed"')
    tree.unit("core/base/test_gone", "exit 1")
    (tree.root / "tests/unit/core/base/test_gone.c").unlink()
    assert tree.run("--only", "unit")[2] == "1 passed, 0 failed"


def test_no_tests_at_all_is_a_failure(tree):
    assert tree.run("--only", "unit")[0] == 1


def test_the_sanitizers_are_told_to_stop_at_the_first_error(tree):
    tree.unit("core/base/test_a", 'echo "$ASAN_OPTIONS $UBSAN_OPTIONS"; echo "0 passed, 1 failed"; exit 1')
    out = tree.run("--only", "unit")[1]
    assert "detect_leaks=1" in out and "halt_on_error=1" in out


def test_the_input_that_crashes_a_parser_is_shown_and_kept(tree):
    tree.write("tests/fuzz/corpus/p/seed", "seed")
    body = """for word; do case $word in -artifact_prefix=*) prefix=${word#*=};; esac; corpus=$word; done
cat "$corpus/seed"; printf 'bad' > "${prefix}crash-1"; touch "$corpus/found"; exit 77"""
    tree.fuzz("p", body)
    status, out, last = tree.run("--only", "fuzz")
    assert (status, last) == (1, "0 passed, 1 failed")
    assert "artifact-crash-1, 3 bytes, in hexadecimal: 626164" in out
    assert (tree.root / "build/fuzz-artifacts/artifact-crash-1").read_text() == "bad"
    assert [path.name for path in (tree.root / "tests/fuzz/corpus/p").iterdir()] == ["seed"]


def test_fuzzers_are_given_their_time_and_limits(tree):
    tree.fuzz("p", 'echo "$@"; exit 1')
    out = tree.run("--only", "fuzz", "--fuzz-seconds", "2")[1]
    assert "-max_total_time=2" in out and "-timeout=" in out and "-rss_limit_mb=" in out
    assert "-seed=0" in out and "-runs=" not in out


def test_fuzzers_without_a_time_try_the_same_inputs_in_every_run(tree):
    tree.fuzz("p", 'echo "$@"; exit 1')
    out = tree.run("--only", "fuzz")[1]
    assert "-runs=" in out and "-reload=0" in out and "-seed=0" not in out


def test_what_failed_is_repeated_in_short_before_the_sums(tree):
    tree.unit("core/base/test_a", 'echo "noise"; echo "==1==ERROR: AddressSanitizer: leak"; echo "SUMMARY: what it was"; exit 3')
    tree.unit("core/base/test_b", 'echo "1 passed, 0 failed"')
    lines = tree.run("--only", "unit")[1].splitlines()
    assert lines[-5:-2] == ["FAILED unit core/base/test_a", "    SUMMARY: what it was", "    exit status 3"], lines


def test_the_thread_sanitizer_is_for_folders_with_threads(tree):
    tree.unit("core/base/test_a", "exit 1", "tsan")
    tree.unit("core/sys/test_b", 'echo "1 passed, 0 failed"', "tsan")
    assert tree.run("--only", "tsan")[2] == "1 passed, 0 failed"


def test_unit_tests_of_another_variant_run_through_a_command(tree):
    tree.unit("core/base/test_a", 'echo "1 passed, 0 failed"', "release")
    tree.write("through", '#!/bin/sh\necho "$1" >> calls; exec "$@"\n', 0o755)
    status, out, last = tree.run("--only", "unit", "--variant", "release", "--through", f"{tree.root}/through")
    assert (status, last) == (0, "1 passed, 0 failed"), out
    assert (tree.root / "calls").read_text() == "build/release/tests/unit/core/base/test_a\n"


def test_end_to_end_tests_are_told_where_the_programs_are(tree):
    tree.write("tests/e2e/states/test_x.py", "import os\ndef test_a(): assert os.environ['ZESTER_BUILD'] == 'build/asan-clang'\n"
               "def test_b(): assert 1 == 2\n")
    status, out, last = tree.run("--only", "e2e", "--suffix=-clang")
    assert (status, last) == (1, "1 passed, 1 failed")
    assert "assert 1 == 2" in out


def test_an_end_to_end_file_that_cannot_be_read_is_a_failure(tree):
    tree.write("tests/e2e/states/test_x.py", "import nosuchmodule\n")
    status, out, last = tree.run("--only", "e2e")
    assert (status, last) == (1, "0 passed, 1 failed") and "nosuchmodule" in out


def test_a_word_chooses_among_names_and_else_among_end_to_end_tests(tree):
    tree.unit("core/base/test_map", 'echo "1 passed, 0 failed"')
    tree.unit("core/base/test_str", "exit 1")
    tree.write("tests/e2e/states/test_x.py", "def test_map_a(): pass\ndef test_other(): assert False\n")
    tree.lint("sys.exit(1)")
    assert tree.run("-k", "map")[2] == "2 passed, 0 failed"


# "in memory" or "on disk", and where; the job fails, so that its output is shown.
WHERE_FILES_GO = 'folder=${TMPDIR:-/tmp}; [ "$(stat -f -c %T "$folder")" = tmpfs ] && echo "in memory: $folder" || echo "on disk: $folder"; exit 1'


def has_memory():
    free = re.search(r"^MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)
    return free and int(free[1]) > 8 << 20 and os.access("/dev/shm", os.W_OK)


@pytest.mark.skipif(not has_memory(), reason="less than 8 GiB of memory are free")
def test_what_tests_write_is_in_memory_and_goes_with_the_run(tree):
    tree.unit("core/base/test_a", WHERE_FILES_GO)
    out = tree.run("--only", "unit", "--strict")[1]
    folder, = re.findall(r"^in memory: (\S+)$", out, re.M)
    assert folder not in ("/tmp", "/dev/shm") and not os.path.exists(folder)


def test_what_tests_write_stays_on_the_disk_when_asked_to(tree):
    tree.unit("core/base/test_a", "echo TMPDIR=${TMPDIR-unset}; exit 1")
    assert "TMPDIR=unset\n" in tree.run("--only", "unit", "--strict", "--disk")[1]


def test_a_job_shows_how_long_it_took_and_how_much_of_that_it_computed(tree):
    tree.unit("core/base/test_a", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo '1 passed, 0 failed'")
    found = re.search(r"test_a: 1 passed, 0 failed \(([\d.]+) s, CPU ([\d.]+) s\)", tree.run("--only", "unit")[1])
    assert 0 < float(found[2]) <= float(found[1]) + 0.1


def test_refused_lint_is_one_failure_with_its_output(tree):
    tree.lint("print('src/core/base/a.c:1: a mistake'); sys.exit(1)")
    status, out, last = tree.run("--only", "lint")
    assert (status, last) == (1, "0 passed, 1 failed") and "src/core/base/a.c:1: a mistake" in out


@pytest.fixture
def runner(monkeypatch):
    """tools/run-tests as a module, on a machine with two cores and a clock that the test moves."""
    loader = importlib.machinery.SourceFileLoader("run_tests", str(TOP / "tools/run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    module.now, module.times = 0, [0, 0]
    monkeypatch.setattr(module, "JOBS", 3)
    monkeypatch.setattr(module, "JOBS_MAX", 5)
    monkeypatch.setattr(module, "time", types.SimpleNamespace(monotonic=lambda: module.now))
    monkeypatch.setattr(module, "read_cpu_times", lambda: module.times)
    return module


def rooms_while(runner, idle, jobs=0):
    """Among how many running jobs there is room for one more after a second in which this share of the cores was idle."""
    slots, rooms = runner.Slots(argparse.Namespace(jobs=jobs)), []
    for running in range(8):
        runner.now += 1
        runner.times = [runner.times[0] + int(200 * idle), runner.times[1] + 200]
        if slots.have_room(running):
            rooms.append(running)
    return rooms


def test_more_jobs_run_at_a_time_while_cores_are_idle(runner):
    assert rooms_while(runner, 0.5) == [0, 1, 2, 3, 4]
    assert rooms_while(runner, 0.1) == [0, 1, 2]


def test_a_job_that_just_started_is_seen_at_work_before_the_next_one_starts_beside_the_usual_number(runner):
    slots = runner.Slots(argparse.Namespace(jobs=0))
    runner.now, runner.times = 1, [200, 200]
    assert slots.have_room(3) and not slots.have_room(4)


def test_no_more_jobs_run_at_a_time_than_asked_for(runner):
    assert rooms_while(runner, 1.0, jobs=1) == [0]


def test_the_longest_end_to_end_files_start_first(tree):
    for name in ("accounts", "contract", "zebra"):
        tree.write(f"tests/e2e/states/test_{name}.py", "def test_a(): pass\n")
    out = tree.run("--only", "e2e", "--jobs", "1")[1]
    assert re.findall(r"e2e +test_(\w+):", out) == ["contract", "accounts", "zebra"]
