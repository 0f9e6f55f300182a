"""Publishing that is finished when it says so: who has a tree, and who cannot use it."""
import concurrent.futures
import re
import signal
import time

import pytest

from fleet import Fleet

TOP = "base:\n  '*': [web]\n"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Two masters and two peels."""
    with Fleet(tmp_path_factory.mktemp("publish")) as fleet:
        fleet.start_server()
        folder = fleet.folder / "one"
        write(folder / "states/top.zy", TOP)
        write(folder / "states/web.zy", "note:\n  test.nop: []\n")
        write(folder / "settings/top.zy", "base:\n  '*': [common]\n")
        write(folder / "settings/common.zy", "port: 80\n")
        write(folder / "reactor/top.zy", "reactor:\n  - 'web-01/first': [reactor.go]\n")
        write(folder / "reactor/go.zy", "go:\n  event.send:\n    - tag: done\n")
        fleet.one = fleet.start_ready_master("one")
        fleet.wait(lambda: leads(fleet.one), "the first master publishes")
        fleet.two = fleet.start_ready_master("two", files_mirror=False)
        fleet.peels = [fleet.start_ready_peel(name) for name in ("web-01", "web-02")]
        yield fleet


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def leads(master):
    return master.metric("zester_master_publisher_leader") == 1


def publish(fleet, *words, hastens=True, **more):
    """Peels fetch a few seconds after a change, or at once before a run: so runs are asked for meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(fleet.zester, "fileserver", "update", *words, waits=True, **more)
        while hastens and not concurrent.futures.wait([answer], timeout=0.5).done:
            fleet.zester("*", "state.test", "--async", status=None)
        return answer.result()


def listed(fleet):
    return {row["peel_id"]: row for row in fleet.zester_json("peel", "list")}


def test_an_update_returns_when_masters_and_peels_have_it(fleet):
    write(fleet.folder / "one/states/web.zy", "changed:\n  test.nop: []\n")
    answer = publish(fleet).stdout
    assert "2 masters and 2 online peels have what is published" in answer, answer
    for peel in fleet.peels:
        assert (peel.folder / "states/web.zy").read_text().startswith("changed"), "the command returned before the peel had it"
    assert {row["trees"] for row in listed(fleet).values()} == {"current"}
    again = fleet.zester_json("fileserver", "update", waits=True)
    assert again["reach"] == {"masters": 2, "masters_with": 2, "peels": 2, "peels_with": 2, "missing": []}


def test_rules_are_in_use_on_every_master_after_an_update(fleet):
    write(fleet.folder / "one/reactor/top.zy", "reactor:\n  - 'web-01/second': [reactor.go]\n")
    publish(fleet)
    for _ in range(4):
        assert "reactor.go" in fleet.zester("reactor", "test", "web-01/second").stdout


def test_a_silent_peel_is_named_and_the_command_ends(fleet):
    slow = fleet.peels[1]
    slow.send(signal.SIGSTOP)
    try:
        write(fleet.folder / "one/states/web.zy", "other:\n  test.nop: []\n")
        answer = publish(fleet, "--timeout", "3s", status=2).stdout
        assert "2 masters and 1 of 2 online peels have what is published; missing: web-02 (" in answer, answer
        assert re.search(r"web-02 \((still has states [0-9a-f]{12}|no answer for \d+ s)\)", answer), answer
    finally:
        slow.send(signal.SIGCONT)
    assert "2 masters and 2 online peels" in publish(fleet).stdout


def doctor_line(fleet):
    """What the doctor says of trees."""
    return "; ".join(line for line in fleet.zester("doctor", status=None).stdout.splitlines() if line.split()[1:2] == ["trees"])


def test_settings_that_a_peel_cannot_render_are_shown_at_once_and_until_they_are_mended(fleet):
    peel = fleet.peels[0]
    started = time.monotonic()
    write(fleet.folder / "one/settings/common.zy", "port: 80\nsize: {{ facts.nothing.at_all }}\n")
    answer = publish(fleet, "--force", "--timeout", "50s", status=2)
    assert "2 masters and 0 of 2 online peels" in answer.stdout, answer.stdout
    assert time.monotonic() - started < 40, "the command waited for peels that had said why not"
    assert "web-01 (settings: common.zy:2:16: " in answer.stdout, answer.stdout
    row = listed(fleet)["web-01"]
    assert row["trees"] == "old" and row["trees_problem"].startswith("settings: common.zy:2:16: ")
    assert "old: settings: common.zy:2:16: " in fleet.zester("peel", "list").stdout
    assert "web-01 (settings: common.zy:2:16" in doctor_line(fleet)
    assert peel.checks()["files"] == "degraded" and peel.metric("zester_peel_trees_old") == 1
    for master in (fleet.one, fleet.two):
        assert master.checks()["peel-trees"] == "degraded" and master.get("/readyz")[0] == 200
        fleet.wait(lambda master=master: master.metric("zester_peels_old") == 2, "the metric counts them")
    write(fleet.folder / "one/settings/common.zy", "port: 81\n")
    assert "2 masters and 2 online peels have" in publish(fleet).stdout
    assert {row["trees"] for row in listed(fleet).values()} == {"current"}
    assert peel.checks()["files"] == "ok" and peel.metric("zester_peel_trees_old") == 0
    assert fleet.two.checks()["peel-trees"] == "ok"
    assert "2 masters and 2 online peels use what is published" in doctor_line(fleet)


def test_a_secret_is_not_shown_in_a_problem(fleet):
    write(fleet.folder / "one/settings/common.zy", "port: 81\nkey: !secret hush-hush-hush\n")
    publish(fleet)
    write(fleet.folder / "one/settings/more.zy", "{{ raise(settings.key) }}\nlist: {{ settings.key }}: x: y\n")
    write(fleet.folder / "one/settings/top.zy", "base:\n  '*': [common, more]\n")
    publish(fleet, "--force", "--timeout", "50s", status=2)
    rows = listed(fleet)
    assert rows["web-01"]["trees"] == "old" and "more.zy:" in rows["web-01"]["trees_problem"]
    assert "hush-hush" not in str(rows)
    assert not any(daemon.has_logged("hush-hush") for daemon in fleet.daemons)
    write(fleet.folder / "one/settings/top.zy", "base:\n  '*': [common]\n")
    (fleet.folder / "one/settings/more.zy").unlink()
    publish(fleet)


# --- checked before it is published ---------------------------------------------------------


BROKEN = "note:\n  file.managed:\n    - nmae: /tmp/x\n    - require:\n      - test: nothing\n"


def revision(fleet, tree="states"):
    return fleet.zester_json("fileserver", "history", tree)[0]["revision"]


def test_mistakes_in_all_trees_are_reported_at_once_and_nothing_is_published(fleet):
    before = [revision(fleet, tree) for tree in ("states", "settings", "reactor")]
    write(fleet.folder / "one/states/web.zy", BROKEN)
    write(fleet.folder / "one/reactor/top.zy", "reactor:\n  - 'web-01/third': [reactor.missing]\n")
    write(fleet.folder / "one/settings/more.zy", "new: true\n")
    for _ in range(2):  # a repeated command says the same
        answer = publish(fleet, status=1)
        assert "states: web.zy:3:7: file.managed has no parameter 'nmae' (web-01 and 1 more)" in answer.stderr, answer.stderr
        assert "= did you mean 'name'?" in answer.stderr
        assert 'states: web.zy:5:9: dag: state "file.managed:note" requires unknown state "test:nothing"' in answer.stderr
        assert "reactor: top.zy:2:22: no file 'missing.zy' for 'reactor.missing'" in answer.stderr
        assert "nothing was published: 4 mistakes; --force publishes all the same" in answer.stderr
    assert [revision(fleet, tree) for tree in ("states", "settings", "reactor")] == before
    found = fleet.zester_json("fileserver", "update", status=1)["check"]
    assert found["machines"] == found["checked"] == 2 and found["total"] == len(found["mistakes"]) == 4
    fleet.wait(lambda: {row["trees"] for row in listed(fleet).values()} == {"current"}, "peels use what is published")


def test_a_folder_with_mistakes_is_shown_until_it_is_mended(fleet):
    text = "mistakes in the folder: reactor: top.zy:2:22: no file"
    assert text in fleet.one.get("/readyz")[1] and fleet.one.checks()["publisher-lease"] == "degraded"
    assert fleet.one.metric('zester_tree_refused{tree="states"}') == 1
    fleet.wait(lambda: text in doctor_line(fleet), "the doctor says it")
    assert fleet.one.has_logged("a mistake in a folder that is published: states: web.zy:3:7")
    write(fleet.folder / "one/reactor/top.zy", "reactor: []\n")
    write(fleet.folder / "one/states/web.zy", "note:\n  test.nop: []\n")
    assert "2 masters and 2 online peels" in publish(fleet).stdout
    assert fleet.one.checks()["publisher-lease"] == "ok" and fleet.one.metric('zester_tree_refused{tree="states"}') == 0
    assert "use what is published" in fleet.wait(lambda: (line := doctor_line(fleet)) and "mistakes" not in line and line, "it clears")


def test_a_change_of_the_folder_alone_is_checked_too(fleet):
    before = revision(fleet)
    write(fleet.folder / "one/states/web.zy", "watched:\n  test.nopp: []\n")
    fleet.wait(lambda: fleet.one.checks()["publisher-lease"] == "degraded", "the master refuses it")
    assert revision(fleet) == before
    write(fleet.folder / "one/states/web.zy", "watched:\n  test.nop: []\n")
    fleet.wait(lambda: revision(fleet) > before, "the next change is published")
    fleet.wait(lambda: fleet.one.checks()["publisher-lease"] == "ok", "it is mended")


def test_force_publishes_with_mistakes_and_says_so(fleet):
    before = revision(fleet)
    write(fleet.folder / "one/reactor/top.zy", "reactor: []\n")
    write(fleet.folder / "one/states/web.zy", BROKEN)
    answer = publish(fleet, "--force")
    assert "warning: published with " in answer.stderr and "states: web.zy:3:7" in answer.stderr
    assert revision(fleet) > before
    write(fleet.folder / "one/states/web.zy", "note:\n  test.nop: []\n")
    publish(fleet)


def test_what_only_the_machine_can_answer_is_no_mistake_and_runs_nothing_on_the_master(fleet):
    mark = fleet.folder / "ran-on-the-master"
    write(fleet.folder / "one/states/web.zy",
          f"{{% set found = salt['cmd.run']('touch {mark}') %}}\nnote:\n  test.nop:\n    - name: {{{{ found }}}}\n")
    write(fleet.folder / "one/settings/top.zy", "base:\n  '*': [common, shared]\n")
    write(fleet.folder / "one/settings/shared.zy", "first: {{ (basket('*', 'nothing') | list | first).value }}\n")
    found = fleet.zester_json("fileserver", "update", status=None)
    assert found["check"]["unknown"] == 2 and found["check"]["total"] == 0, found
    assert not mark.exists()
    write(fleet.folder / "one/settings/top.zy", "base:\n  '*': [common]\n")
    write(fleet.folder / "one/states/web.zy", "note:\n  test.nop: []\n")
    publish(fleet)


def test_states_that_only_fail_on_some_machines_are_found(fleet):
    write(fleet.folder / "one/states/web.zy",
          "{% if grains.id == 'web-02' %}\nnote:\n  test.nopp: []\n{% else %}\nnote:\n  test.nop: []\n{% endif %}\n")
    answer = publish(fleet, status=1)
    assert 'unknown module "test.nopp" (web-02)\n' in answer.stderr, answer.stderr
    write(fleet.folder / "one/states/web.zy", "note:\n  test.nop: []\n")
    publish(fleet)


def test_a_secret_is_not_shown_in_a_mistake(fleet):
    write(fleet.folder / "one/settings/common.zy", "port: 81\nkey: !encrypted hush-hush-hush\nown: !secret quiet-quiet\n")
    write(fleet.folder / "one/states/web.zy", "{{ raise(settings.key + settings.own) }}\nnote:\n  test.nop: []\n")
    answer = publish(fleet, status=1)
    assert "states: web.zy:1:" in answer.stderr and "********" in answer.stderr, answer.stderr
    shown = answer.stderr + fleet.zester("doctor", status=None).stdout + fleet.one.get("/readyz")[1]
    assert "hush-hush" not in shown and "quiet-quiet" not in shown
    assert not any(daemon.has_logged("hush-hush") or daemon.has_logged("quiet-quiet") for daemon in fleet.daemons)
    write(fleet.folder / "one/states/web.zy", "note:\n  test.nop: []\n")
    publish(fleet)


def test_a_canary_begins_and_ends_with_states_that_compile(fleet):
    web = fleet.folder / "one/states/web.zy"
    good, broken = web.read_text(), "broken:\n  file.managed:\n    - nmae: /x\n"
    publish(fleet)
    web.write_text(broken)
    assert "not published: " in fleet.zester("fileserver", "canary", "web-01", status=1).stderr
    assert "No canary" in fleet.zester("fileserver", "canary").stdout
    web.write_text(good)
    fleet.zester("fileserver", "canary", "web-01")
    web.write_text(broken)
    assert "not published: " in fleet.zester("fileserver", "promote", status=1).stderr
    web.write_text(good)
    fleet.zester("fileserver", "canary", "--abort")
    for peel in fleet.peels:
        assert (peel.folder / "states/web.zy").read_text() == good
