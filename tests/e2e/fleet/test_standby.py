"""Masters that do not publish keep their folders in step, so that nothing changes when one takes over."""
import contextlib
import os
from pathlib import Path

import pytest

from fleet import Fleet

TREES = {
    "one": {"states": {"top.zy": "base: {'*': [web]}\n", "web.zy": "new\n", "deep/large.bin": "x" * 400_000, "odd name": "odd\n"},
            "settings": {"top.zy": "base: {'*': [db]}\n", "db.zy": "password: !encrypted hunter2\n"},
            "reactor": {"top.zy": "[]\n"}},
    "two": {"states": {"top.zy": "base: {'*': [web]}\n", "web.zy": "old\n", "gone/away.zy": "removed long ago\n"},
            "settings": {"db.zy": "password: !encrypted older\n"}, "reactor": {}},
}
SETS = ("states", "settings", "reactor")


def write_tree(folder, tree):
    for name, files in tree.items():
        for path, text in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text)


def read_set(folder):
    files = {}
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(at, name)
            with contextlib.suppress(FileNotFoundError):  # it is being replaced
                if not name.startswith("."):
                    files[os.path.relpath(path, folder)] = Path(path).read_text()
    return files


def read_tree(folder):
    """What a master would publish of its folders."""
    return {name: read_set(folder / name) for name in SETS}


def start(fleet, name, **more):
    return fleet.start_master(name, publisher_status_file="", files_republish_interval="1s", files_mirror_after="0s",
                              files_check=False, **more)  # its trees are bytes, not states


def leads(master):
    return master.metric("zester_master_publisher_leader") == 1


def publish(fleet):
    """Whether each set has changed."""
    reply = fleet.zester_json("fileserver", "update")
    assert [row.get("err", "") for row in reply["sets"]] == [""] * len(SETS)
    return {row["name"]: row["changed"] for row in reply["sets"]}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("standby")) as fleet:
        fleet.start_server()
        for name, tree in TREES.items():
            write_tree(fleet.folder / name, tree)
        fleet.masters = {"one": start(fleet, "one")}
        fleet.wait(lambda: all(fleet.masters["one"].has_logged(f"published {name}:") for name in SETS), "the first one publishes")
        fleet.masters["two"] = start(fleet, "two")
        yield fleet


def test_a_standby_with_another_tree_takes_over_what_is_published_and_changes_nothing(fleet):
    one, two = fleet.masters.values()
    fleet.wait(lambda: read_tree(fleet.folder / "two") == TREES["one"], "the second one has the tree of the first")
    assert (fleet.folder / "two/states/.zester-kept/web.zy").read_text() == "old\n"
    assert (fleet.folder / "two/states/.zester-kept/gone/away.zy").exists()
    assert (fleet.folder / "two/settings/top.zy").stat().st_mode & 0o777 == 0o600
    one.kill()
    assert not leads(two)
    assert publish(fleet) == dict.fromkeys(SETS, False), "who asks meanwhile is answered by the next one"
    assert leads(two)
    assert not any(two.has_logged(f"published {name}:") for name in SETS)


def test_what_was_changed_elsewhere_comes_and_what_was_changed_here_is_kept(fleet):
    states = {name: fleet.folder / name / "states" for name in TREES}
    (states["two"] / "web.zy").write_text("newer\n")
    (states["two"] / "odd name").unlink()
    publish(fleet)
    (states["one"] / "mine.zy").write_text("edited while the first one was down\n")
    (states["one"] / "web.zy").write_text("edited on both\n")
    fleet.masters["one"].start()
    fleet.wait(lambda: (states["one"] / "web.zy").read_text() == "newer\n" and not (states["one"] / "odd name").exists(), "it is in step again")
    assert (states["one"] / "mine.zy").exists()
    assert (states["one"] / ".zester-kept/web.zy").read_text() == "edited on both\n"
    assert not (states["two"] / "mine.zy").exists()
    assert fleet.masters["two"].stop() == 0
    fleet.wait(lambda: leads(fleet.masters["one"]), "the first one leads again")
    fleet.masters["two"].start()
    fleet.wait((states["two"] / "mine.zy").exists, "which the second one gets")
    assert read_tree(fleet.folder / "one") == read_tree(fleet.folder / "two")


def test_secrets_reach_other_masters_sealed(fleet):
    assert (fleet.folder / "two/settings/db.zy").read_text() == TREES["one"]["settings"]["db.zy"]
    stored = b"".join(path.read_bytes() for path in (fleet.folder / "js").rglob("*") if path.is_file())
    assert b"_manifest" in stored and b"hunter2" not in stored


def test_masters_that_share_a_folder_leave_it_to_the_one_that_publishes(fleet):
    leader = next(master for master in fleet.masters.values() if leads(master))
    folders = {f"{name}_dir": str(fleet.folder / leader.name / name) for name in ("states", "settings")}
    third = start(fleet, "three", reactor={"dir": str(fleet.folder / leader.name / "reactor")}, **folders)
    fleet.wait(lambda: third.has_logged("another master publishes from it"), "the third one has seen that")
    for number in range(20):
        (fleet.folder / leader.name / "states/web.zy").write_text(f"edit {number}\n")
        publish(fleet)
    assert read_tree(fleet.folder / leader.name)["states"]["web.zy"] == "edit 19\n"
    assert not any(path.read_text().startswith("edit ") for path in (fleet.folder / leader.name / "states/.zester-kept").rglob("web.zy"))
