"""Lists of machines in files, and exclusions: --target-file, --exclude, --exclude-file."""
import json

import pytest

from bus import Bus
from fleet import SERVER, Fleet
from packing import pack
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
NAMES = ("web-01", "web-02", "db_example", "10_0_0_7")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """app-01 runs; of the others there are only facts."""
    with Fleet(tmp_path_factory.mktemp("selection")) as fleet:
        fleet.start_server()
        fleet.master = fleet.start_ready_master()
        start_peel(fleet, fleet.master, "app-01")
        with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus:
            for name in NAMES:
                bus.publish(f"$KV.facts.{name}", pack({"id": name, "rack": "r1" if name.startswith("web") else "r2", "ipv4": ["192.0.2.1"]}))
            bus.flush()
        fleet.wait(lambda: len(meant(fleet, "*")[0]) == len(NAMES) + 1, "all are known")
        yield fleet


def meant(fleet, target, *words):
    """Names, and what was said about them."""
    answer = fleet.zester(target, "test.ping", "--preview", "--format", "json", *words, status=None)
    assert answer.returncode in (0, 5), answer.stderr
    return json.loads(answer.stdout) if answer.returncode == 0 else [], answer.stderr


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize("words,expected", [
    (["--exclude", "web*"], ["10.0.0.7", "app-01", "db.example"]),
    (["--exclude", "web-01", "--exclude", "G@rack:r2"], ["app-01", "web-02"]),
    (["--exclude", "*"], [])])
def test_an_excluded_target_is_left_out(fleet, words, expected):
    assert meant(fleet, "*", *words)[0] == expected


def test_lines_of_a_file_are_names_or_targets_and_comments_do_not_count(fleet, tmp_path):
    listed = write(tmp_path, "listed", "# rack 12\n\nweb-01   # the old one\r\n  db.example\nG@rack:r1 and *-02\n")
    assert meant(fleet, "*", "--target-file", listed) == (["db.example", "web-01", "web-02"], "")
    assert meant(fleet, "web*", "--target-file", listed)[0] == ["web-01", "web-02"]
    assert meant(fleet, "*", "--target-file", listed, "--exclude-file", write(tmp_path, "out", "web-02"))[0] == ["db.example", "web-01"]
    assert meant(fleet, "*", "--target-file", listed, "--target-file", write(tmp_path, "two", "web*\n"))[0] == ["web-01", "web-02"]
    assert meant(fleet, "*", "--exclude-file", listed)[0] == ["10.0.0.7", "app-01"]
    assert meant(fleet, "*", "--exclude-file", write(tmp_path, "empty", "# nobody\n"))[0] == sorted(
        ["app-01", *(name.replace("_", ".") for name in NAMES)])


def test_a_line_means_what_it_means_as_a_target(fleet, tmp_path):
    assert meant(fleet, "web*", "--target-file", write(tmp_path, "net", "192.0.2.0/24\n"))[0] == ["web-01", "web-02"]
    assert meant(fleet, "*", "--target-file", write(tmp_path, "net", "10.0.0.7\n"))[0] == ["10.0.0.7"]


def test_thousands_of_names_are_fine(fleet, tmp_path):
    many = write(tmp_path, "many", "".join(f"host-{number}.example\n" for number in range(20000)) + "app-01\n")
    names, told = meant(fleet, "*", "--target-file", many)
    assert names == ["app-01"]
    assert told.startswith(f"warning: {many}: 20000 name(s) not matched by the target: host-0.example, ") and told.endswith(", ...\n")


def test_a_misspelt_name_is_told(fleet, tmp_path):
    names, told = meant(fleet, "web*", "--exclude-file", write(tmp_path, "typo", "wbe-01\nweb-02\n"))
    assert names == ["web-01"]
    assert told == f"warning: {tmp_path}/typo: 1 name(s) not matched by the target: wbe-01\n"


@pytest.mark.parametrize("words,told", [
    (["--exclude", "G@os"], "--exclude: target 'G@os'"),
    (["--target-file", "{}/bad"], "{}/bad:2: target 'E@web('"),
    (["--target-file", "{}/none"], "'{}/none' does not exist"),
    (["--target-file", "{}/empty"], "'{}/empty' names no peel")])
def test_mistakes_name_the_file_and_the_line_before_anything_runs(fleet, tmp_path, words, told):
    write(tmp_path, "bad", "web-01\nE@web(\n")
    write(tmp_path, "empty", "# nobody yet\n")
    answer = fleet.zester("*", "test.ping", *(word.format(tmp_path) for word in words), status=1)
    assert told.format(tmp_path) in answer.stderr


def test_a_job_goes_to_the_selected_peels_only_and_its_record_says_how(fleet, tmp_path):
    result = fleet.zester("*", "test.ping", "--target-file", write(tmp_path, "app", "app-01"), "--exclude", "web*")
    assert result.stdout == "app-01:\n    true\n"
    newest = fleet.zester_json("job", "list", "--limit", "1")
    assert f"* --target-file {tmp_path}/app --exclude web*" in json.dumps(newest)
    assert fleet.zester("app-01", "test.ping", "--exclude", "app*", status=5).stderr == "No peels matched the target expression.\n"
