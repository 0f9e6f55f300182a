"""Packages that cannot be had, configured or removed, and states of a level that share a run, with real apt and dpkg."""
import json
import time

import pytest

from debian import Machine, needs_apt

pytestmark = needs_apt

FAILS = "#!/bin/sh\necho the port is taken >&2\nexit 3\n"


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.package("zt-base", "1.0")
    for version in ("1.0", "2.0"):
        made.package("zt-app", version, depends="zt-base")
    made.package("zt-conf", "1.0", conffile=True)
    made.package("zt-post", "1.0", scripts={"postinst": FAILS})
    made.package("zt-prerm", "1.0", scripts={"prerm": FAILS})
    made.package("zt-needy", "1.0", depends="zt-missing (>= 3)")
    made.update()
    return made


def run(machine, text, *words):
    """Apply these states: exit status and results by name."""
    machine.state(text)
    out = machine.zester("state.apply", "t", "--format=json", *words)
    assert out.stdout, out.stderr
    return out.returncode, {result["name"]: result for result in json.loads(out.stdout)[0]["results"]}


def states(kind, *names, more=""):
    return "".join(f"{name}:\n  pkg.{kind}:\n    - name: {name}\n{more}" for name in names)


def only(results):
    assert len(results) == 1
    return next(iter(results.values()))


def install(machine, *names):
    machine.run("apt-get", "-qy", "install", *names, check=True)


def runs_of_apt(machine):
    log = machine.path("/var/log/apt/history.log")
    return log.read_text().count("Commandline: apt-get") if log.exists() else 0


def test_the_words_of_a_script_that_failed_are_in_the_error(machine):
    status, results = run(machine, states("installed", "zt-post"))
    error = only(results)["error"]
    assert status != 0 and "the port is taken\n" in error and "\r" not in error
    assert "post-installation script subprocess returned error exit status 3" in error
    assert only(results)["details"]["changes"] == {"zt-post": "(none) -> half installed"}
    status, results = run(machine, states("installed", "zt-post"), "--test")
    assert only(results)["diff"] == "zt-post is half installed and needs to be installed"
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.status("zt-post") == ""


def test_a_package_that_is_half_configured_is_configured(machine):
    run(machine, states("installed", "zt-post"))
    machine.path("/var/lib/dpkg/info/zt-post.postinst").write_text("#!/bin/sh\n")
    status, results = run(machine, states("installed", "zt-post"))
    assert status == 0 and only(results)["changed"] and machine.has("zt-post") == "1.0"


def test_what_a_package_lacks_is_in_the_error(machine):
    error = only(run(machine, states("installed", "zt-needy"))[1])["error"]
    assert "zt-needy : Depends: zt-missing (>= 3) but it is not installable" in error
    install(machine, "zt-prerm")
    error = only(run(machine, states("removed", "zt-prerm"))[1])["error"]
    assert "the port is taken" in error and machine.has("zt-prerm") == "1.0"


def test_a_name_that_is_nowhere_gets_a_suggestion(machine):
    error = only(run(machine, states("installed", "zt-ap"))[1])["error"]
    assert error.endswith("Unable to locate package zt-ap (did you mean 'zt-app'?)")
    error = only(run(machine, states("latest", "zt_conf"))[1])["error"]
    assert "(did you mean 'zt-conf'?)" in error
    error = only(run(machine, "all:\n  pkg.installed:\n    - pkgs: [zt-base, zt-cnf, unlike-anything]\n")[1])["error"]
    assert "(did you mean 'zt-conf' for 'zt-cnf'?)" in error and machine.status("zt-base") == ""


def test_nobody_fails_for_the_script_of_another_and_what_came_has_changed(machine):
    text = states("installed", "zt-post", "zt-base", "zt-conf") + "".join(
        f"after-{name}:\n  cmd.run:\n    - name: 'true'\n    - onchanges:\n      - pkg: {name}\n" for name in ("zt-base", "zt-conf"))
    status, results = run(machine, text)
    assert status != 0
    assert {name for name, result in results.items() if "error" in result} == {"pkg.installed:zt-post"}
    assert {name for name, result in results.items() if result["changed"]} == {
        "pkg.installed:zt-base", "pkg.installed:zt-conf", "cmd.run:after-zt-base", "cmd.run:after-zt-conf"}
    assert machine.zester("state.revert", "t").returncode == 0
    assert [machine.status(name) for name in ("zt-post", "zt-base", "zt-conf")] == ["", "", ""]


def test_what_was_broken_before_does_not_fail_a_state(machine):
    machine.run("apt-get", "-qy", "install", "zt-post")
    assert machine.status("zt-post") == "iF"
    status, results = run(machine, states("installed", "zt-conf"))
    assert status == 0 and only(results)["changed"] and machine.has("zt-conf") == "1.0"
    assert only(results)["diff"].startswith("installed zt-conf via apt\napt-get install: exit status 100: ")
    assert "the port is taken" in only(results)["diff"]
    status, results = run(machine, states("removed", "zt-conf"))
    assert status == 0 and only(results)["changed"] and machine.has("zt-conf") is None


def test_one_name_that_is_nowhere_does_not_cost_the_others_their_common_run(machine):
    status, results = run(machine, states("installed", "zt-base", "zt-conf", "zt-nowhere"))
    assert status != 0
    assert {name for name, result in results.items() if "error" in result} == {"pkg.installed:zt-nowhere"}
    assert runs_of_apt(machine) == 1


@pytest.mark.parametrize("kind", ["latest", "removed", "purged"])
def test_states_of_a_level_share_one_run_whatever_they_ask_for(machine, kind):
    install(machine, "zt-app=1.0" if kind == "latest" else "zt-app", "zt-conf")
    if kind == "latest":
        machine.package("zt-conf", "2.0")
    before = runs_of_apt(machine)
    status, results = run(machine, states(kind, "zt-app", "zt-conf"))
    assert status == 0 and all(result["changed"] for result in results.values()), results
    assert runs_of_apt(machine) == before + 1
    assert sum(f"together with pkg.{kind}:" in result["diff"] for result in results.values()) == 1
    assert (machine.has("zt-app"), machine.has("zt-conf")) == (("2.0", "2.0") if kind == "latest" else (None, None))
    assert not any(result["changed"] for result in run(machine, states(kind, "zt-app", "zt-conf"))[1].values())
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.has("zt-app") == ("1.0" if kind == "latest" else "2.0") and machine.has("zt-conf") == "1.0"


def test_a_state_that_asks_for_a_separate_run_gets_one(machine):
    text = states("installed", "zt-base", "zt-conf", more="    - aggregate: false\n")
    assert run(machine, text)[0] == 0 and runs_of_apt(machine) == 2
    status, results = run(machine, text.replace("installed", "removed").replace("false", "true"))
    assert status == 0 and runs_of_apt(machine) == 3


def test_a_package_that_does_not_go_leaves_the_others_of_the_level_gone(machine):
    install(machine, "zt-prerm", "zt-conf")
    status, results = run(machine, states("removed", "zt-conf", "zt-prerm"))
    assert status != 0 and "the port is taken" in results["pkg.removed:zt-prerm"]["error"]
    assert results["pkg.removed:zt-conf"]["changed"] and machine.has("zt-conf") is None


def test_the_latest_version_can_be_asked_of_installed(machine):
    text = states("installed", "zt-app", more="    - version: latest\n")
    install(machine, "zt-app=1.0")
    assert 'zt-app version mismatch: got "1.0", want ">=2.0"' in only(run(machine, text, "--test")[1])["diff"]
    machine.package("zt-app", "3.0", depends="zt-base")
    status, results = run(machine, text)
    assert status == 0 and machine.has("zt-app") == "3.0", results
    assert not only(run(machine, text)[1])["changed"]
    assert machine.zester("state.revert", "t").returncode == 0 and machine.has("zt-app") == "1.0"


def test_an_index_that_is_young_enough_is_not_refreshed(machine):
    text = states("latest", "zt-base", more="    - refresh: true\n    - cache_valid_time: 3600\n")
    install(machine, "zt-base")
    machine.package("zt-base", "2.0")
    lists = machine.path("/var/lib/apt/lists")
    machine.run("touch", "-d", "@" + str(int(time.time()) - 1800), "/var/lib/apt/lists", check=True)
    assert not only(run(machine, text)[1])["changed"]
    machine.run("touch", "-d", "@" + str(int(time.time()) - 7200), "/var/lib/apt/lists", check=True)
    assert only(run(machine, text)[1])["changed"] and machine.has("zt-base") == "2.0"
    assert lists.stat().st_mtime > time.time() - 3600


def test_the_architecture_of_the_machine_is_not_part_of_a_name(machine):
    name = f"zt-conf:{machine.arch}"
    status, results = run(machine, states("installed", "'zt-conf:all'"))
    assert status == 0 and machine.has("zt-conf") == "1.0", results
    machine.state(f"c:\n  pkg.installed:\n    - name: {name}\n")
    assert not only(run(machine, f"c:\n  pkg.installed:\n    - name: {name}\n")[1])["changed"]
    status, results = run(machine, f"c:\n  pkg.installed:\n    - name: zt-none:{machine.arch}\n    - normalize: false\n")
    assert f"Unable to locate package zt-none:{machine.arch}" in only(results)["error"]


def test_an_epoch_can_be_ignored(machine):
    machine.package("zt-epoch", "5:1.2")
    machine.update()
    text = states("installed", "zt-epoch", more="    - version: '1.2'\n")
    assert run(machine, text)[0] != 0
    text += "    - ignore_epoch: true\n"
    assert run(machine, text)[0] == 0 and machine.has("zt-epoch") == "5:1.2"
    assert not only(run(machine, text)[1])["changed"]


def test_a_held_package_is_not_removed_and_the_error_says_what_to_do(machine):
    install(machine, "zt-conf")
    machine.run("apt-mark", "hold", "zt-conf", check=True)
    status, results = run(machine, states("removed", "zt-conf"))
    assert status != 0 and only(results)["error"] == "'zt-conf' is held at 1.0: release it with pkg.unheld"
    text = "free:\n  pkg.unheld:\n    - name: zt-conf\ngone:\n  pkg.removed:\n    - name: zt-conf\n    - require: [pkg: free]\n"
    status, results = run(machine, text, "--test")
    assert status == 0 and all(result["changed"] for result in results.values()), results
    assert run(machine, text)[0] == 0 and machine.has("zt-conf") is None


def test_reverting_leaves_alone_what_the_state_named_but_did_not_change(machine):
    install(machine, "zt-app=1.0")
    assert run(machine, "all:\n  pkg.installed:\n    - pkgs: [zt-app, zt-conf]\n")[0] == 0
    install(machine, "zt-app=2.0")
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.has("zt-app") == "2.0" and machine.status("zt-conf") == ""


# Kills the zester above it, once apt has done all of its work.
KILL = """pid=$$
while [ "$(cat /proc/$pid/comm)" != zester ]; do pid=$(sed 's/.*) . //; s/ .*//' /proc/$pid/stat); done
kill -9 $pid
"""


def test_who_watches_a_package_that_came_with_another_reacts_after_a_kill(machine, tmp_path):
    """Both are installed by one run of apt, which the first of the two states does."""
    install(machine, "zt-conf")
    text = states("installed", "zt-app", "zt-base", "zt-conf") + "".join(
        f"{name}-changed:\n  cmd.run: [{{name: 'echo {name} >> {tmp_path}/log'}}, {{{kind}: [{{pkg: {name}}}]}}]\n"
        for name, kind in (("zt-app", "onchanges"), ("zt-base", "onchanges"), ("zt-conf", "onchanges")))
    hook, script = machine.path("/etc/apt/apt.conf.d/99kill"), tmp_path / "kill"
    script.write_text(KILL)
    hook.write_text(f'DPkg::Post-Invoke {{ "sh {script}"; }};\n')
    machine.state(text)
    assert machine.zester("state.apply", "t").returncode != 0
    hook.unlink()
    assert runs_of_apt(machine) == 2 and machine.has("zt-app") and machine.has("zt-base") and not (tmp_path / "log").exists()
    status, results = run(machine, text)
    assert status == 0 and not any(results[f"pkg.installed:{name}"]["changed"] for name in ("zt-app", "zt-base", "zt-conf"))
    assert sorted((tmp_path / "log").read_text().split()) == ["zt-app", "zt-base"]  # zt-conf was there before
    assert results["cmd.run:zt-conf-changed"]["skip_reason"] == "onchanges_not_met"
    status, results = run(machine, text)
    assert not any(row["changed"] for row in results.values())


def test_a_package_that_cannot_be_had_leaves_no_reaction_due(machine, tmp_path):
    text = states("installed", "zt-nowhere") + f"react:\n  cmd.run: [{{name: 'echo x >> {tmp_path}/log'}}, {{onchanges: [{{pkg: zt-nowhere}}]}}]\n"
    assert run(machine, text)[0] != 0
    machine.package("zt-nowhere", "1.0")
    machine.update()
    install(machine, "zt-nowhere")
    status, results = run(machine, text)
    assert status == 0 and results["cmd.run:react"]["skip_reason"] == "onchanges_not_met"
