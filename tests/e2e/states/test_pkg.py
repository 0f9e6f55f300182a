"""Package states through `zester --local`, with real apt and dpkg and a repository of small packages."""
import json

import pytest

from debian import Machine, needs_apt

pytestmark = needs_apt


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.package("zt-base", "1.0")
    made.package("zt-app", "1.0", depends="zt-base")
    made.package("zt-app", "1.2", depends="zt-base")
    made.package("zt-app", "2.0", depends="zt-base")
    made.package("zt-conf", "1.0", conffile=True)
    made.update()
    return made


def apply(machine, *words):
    """Apply the state file 't': exit status and results by name."""
    out = machine.zester("state.apply", "t", "--format=json", *words)
    assert out.stdout, out.stderr
    record = json.loads(out.stdout)[0]
    return out.returncode, {result["name"]: result for result in record["results"]}


def run(machine, text, *words):
    machine.state(text)
    return apply(machine, *words)


INSTALLED = "app:\n  pkg.installed:\n    - name: zt-app\n"
NAME = "pkg.installed:app"


def only(results):
    assert len(results) == 1
    return next(iter(results.values()))


def test_a_package_is_installed_once_and_reverted_with_what_came_along(machine):
    status, results = run(machine, INSTALLED)
    result = only(results)
    assert status == 0 and result["changed"], result
    assert result["diff"] == "installed zt-app via apt"
    assert result["details"]["manager"] == "apt" and result["details"]["package"] == "zt-app"
    assert result["details"]["changes"] == {"zt-app": "(none) -> 2.0", "zt-base": "(none) -> 1.0"}
    assert (machine.has("zt-app"), machine.has("zt-base")) == ("2.0", "1.0")
    assert machine.path("/opt/zt-app/version").read_text() == "2.0\n"

    status, results = apply(machine)
    assert status == 0 and not only(results)["changed"]

    out = machine.zester("state.revert", "t")
    assert out.returncode == 0, out.stdout + out.stderr
    assert (machine.status("zt-app"), machine.status("zt-base")) == ("", "")


def test_a_dry_run_reports_and_does_nothing(machine):
    before = machine.path("/var/lib/dpkg/status").read_bytes()
    status, results = run(machine, INSTALLED, "--test")
    assert status == 0 and only(results)["diff"] == "zt-app needs to be installed"
    assert only(results)["changed"] and machine.path("/var/lib/dpkg/status").read_bytes() == before
    machine.package("zt-app", "3.0")
    status, results = run(machine, INSTALLED.replace("installed", "latest") + "    - refresh: true\n", "--test")
    assert status == 0 and machine.has("zt-app") is None
    policy = machine.run("apt-cache", "policy", "zt-app").stdout
    assert "Candidate: 2.0" in policy, "the dry run has refreshed the index"


def test_reverting_leaves_what_was_there_before(machine):
    machine.run("apt-get", "-qy", "install", "zt-base", check=True)
    assert run(machine, INSTALLED)[0] == 0
    assert machine.zester("state.revert", "t").returncode == 0
    assert (machine.status("zt-app"), machine.has("zt-base")) == ("", "1.0")


def test_reverting_keeps_a_dependency_that_somebody_needs_by_now(machine):
    machine.package("zt-other", "1.0", depends="zt-base")
    machine.update()
    assert run(machine, INSTALLED)[0] == 0
    machine.run("apt-get", "-qy", "install", "zt-other", check=True)
    out = machine.zester("state.revert", "t")
    assert out.returncode == 0 and "kept dependencies" in out.stdout, out.stdout
    assert (machine.status("zt-app"), machine.has("zt-base"), machine.has("zt-other")) == ("", "1.0", "1.0")


def test_reverting_refuses_to_take_away_what_others_need(machine):
    machine.package("zt-other", "1.0", depends="zt-app")
    machine.update()
    assert run(machine, INSTALLED)[0] == 0
    machine.run("apt-get", "-qy", "install", "zt-other", check=True)
    out = machine.zester("state.revert", "t")
    assert out.returncode != 0 and "other packages need what would be removed" in out.stdout + out.stderr
    assert machine.has("zt-app") == "2.0" and machine.has("zt-other") == "1.0"


def test_a_package_that_a_later_run_has_changed_stays_whatever_the_states_are_called(machine):
    assert run(machine, INSTALLED + "    - version: '1.0'\n")[0] == 0
    first = json.loads(machine.zester("state.runs", "--format=json").stdout)[0]["id"]
    assert run(machine, "others: {pkg.latest: [{pkgs: [zt-app]}]}")[0] == 0
    out = machine.zester("state.revert", first)
    assert out.returncode == 1 and "'pkg:zt-app' was changed again by run" in out.stderr, out.stdout + out.stderr
    assert machine.has("zt-app") == "2.0"
    machine.zester("state.revert", "t")
    assert machine.has("zt-app") == "1.0"
    machine.zester("state.revert", first)
    assert (machine.status("zt-app"), machine.status("zt-base")) == ("", "")


VERSIONS = {"1.2": "1.2", "'1.*'": "1.2", "'>=1.0,<2'": "1.2", "'>1.2'": "2.0", "'<=1.0'": "1.0", "'!=2.0'": "1.2"}


@pytest.mark.parametrize("wish", VERSIONS)
def test_a_version_is_chosen(machine, wish):
    status, results = run(machine, f"{INSTALLED}    - version: {wish}\n")
    assert status == 0, results
    assert machine.has("zt-app") == VERSIONS[wish]
    status, results = apply(machine)
    assert status == 0 and not only(results)["changed"]


def test_a_version_that_nobody_has_is_an_error_that_names_the_offer(machine):
    status, results = run(machine, f"{INSTALLED}    - version: '>=9'\n")
    assert status != 0
    assert "no version of 'zt-app' satisfies '>=9' (apt offers 2.0)" in only(results)["error"]


def test_an_upgrade_and_a_downgrade_are_taken_back_to_the_version_before(machine):
    machine.run("apt-get", "-qy", "install", "zt-app=1.2", check=True)
    for wish in ("2.0", "1.0"):
        status, results = run(machine, f"{INSTALLED}    - version: '{wish}'\n", )
        assert status == 0, results
        assert machine.has("zt-app") == wish
        assert machine.zester("state.revert", "t").returncode == 0
        assert machine.has("zt-app") == "1.2"


def test_a_list_of_packages_is_one_run_of_the_manager(machine):
    status, results = run(machine, "all:\n  pkg.installed:\n    - pkgs:\n      - zt-conf\n      - zt-app: '<2'\n")
    assert status == 0 and only(results)["diff"] == "installed zt-conf, zt-app via apt"
    assert (machine.has("zt-conf"), machine.has("zt-app")) == ("1.0", "1.2")
    log = machine.path("/var/log/apt/history.log").read_text()
    assert log.count("Commandline: apt-get") == 1 and "--force-confold" in log


def test_a_version_beside_a_list_is_not_used_in_files_for_salt_and_a_mistake_in_ours(machine):
    text = "all:\n  pkg.installed:\n    - pkgs: [zt-app]\n    - version: '1.2'\n"
    hint = "'version' is not used with 'pkgs'; write 'name: version' there"
    (machine.states / "t.sls").write_text(text)
    status, results = apply(machine)
    assert status == 0 and only(results)["diff"] == f"installed zt-app via apt\n{hint}" and machine.has("zt-app") == "2.0"
    status, results = apply(machine)
    assert not only(results)["changed"] and only(results)["diff"] == f"zt-app is already installed\n{hint}"
    (machine.states / "t.sls").write_text(text.replace("installed", "removed"))
    assert apply(machine)[0] != 0 and machine.has("zt-app") == "2.0"
    (machine.states / "t.sls").unlink()
    machine.state(text)
    assert "'version' needs a single package" in machine.zester("state.check", "t").stderr


def test_a_version_in_a_list_keeps_its_words(machine):
    machine.package("zt-ten", "1.10")
    machine.update()
    status, results = run(machine, "all:\n  pkg.installed:\n    - pkgs:\n      - zt-ten: 1.10\n")
    assert status == 0, results
    assert machine.has("zt-ten") == "1.10"


def test_an_unknown_package_is_the_managers_error(machine):
    status, results = run(machine, "no:\n  pkg.installed:\n    - name: zt-nowhere\n")
    assert status != 0 and "Unable to locate package zt-nowhere" in only(results)["error"]


def test_an_index_that_lacks_a_package_is_refreshed(machine):
    machine.package("zt-new", "1.0")
    assert run(machine, "new:\n  pkg.installed:\n    - name: zt-new\n    - refresh: false\n")[0] != 0
    status, results = run(machine, "new:\n  pkg.installed:\n    - name: zt-new\n")
    assert status == 0 and machine.has("zt-new") == "1.0", results


def test_what_the_index_lacks_is_downloaded_after_a_refresh(machine):
    machine.package("zt-new", "1.0")
    downloaded = "new:\n  pkg.downloaded:\n    - name: zt-new\n"
    status, results = run(machine, downloaded, "--test")
    assert status == 0 and only(results)["diff"].startswith("zt-new needs to be downloaded\n"), results
    assert run(machine, downloaded + "    - refresh: false\n")[0] != 0
    status, results = run(machine, downloaded)
    assert status == 0 and only(results)["changed"] and machine.path("/var/cache/apt/archives/zt-new_1.0_all.deb").exists()
    assert not only(apply(machine)[1])["changed"]


def test_holds_are_set_respected_and_taken_back(machine):
    status, results = run(machine, f"{INSTALLED}    - version: '1.2'\n    - hold: true\n")
    assert status == 0 and machine.status("zt-app") == "hi", results
    status, results = run(machine, f"{INSTALLED}    - version: '2.0'\n")
    assert status != 0 and "zt-app is held at 1.2" in only(results)["error"]
    status, results = run(machine, f"{INSTALLED}    - version: '2.0'\n    - update_holds: true\n")
    assert status == 0 and machine.has("zt-app") == "2.0", results
    assert machine.status("zt-app") == "hi"  # held again
    status, results = run(machine, "app:\n  pkg.unheld:\n    - name: zt-app\n")
    assert status == 0 and machine.status("zt-app") == "ii"
    status, results = run(machine, "app:\n  pkg.held:\n    - name: zt-app\n")
    assert status == 0 and machine.status("zt-app") == "hi"
    assert not only(apply(machine)[1])["changed"]


def test_a_dry_run_counts_on_states_before_that_release_and_upgrade_what_is_held(machine):
    machine.run("apt-get", "-qy", "install", "zt-app=1.0", check=True)
    machine.run("apt-mark", "hold", "zt-app", check=True)
    (machine.states / "t.sls").write_text(
        "free:\n  pkg.unheld:\n    - name: zt-app\n"
        "app:\n  pkg.installed:\n    - name: zt-app\n    - version: '1.2'\n"
        "pin:\n  pkg.held:\n    - name: zt-app\n    - version: '1.2'\n")
    status, results = apply(machine, "--test")
    assert status == 0 and all(result["changed"] for result in results.values()), results
    assert results[NAME]["diff"] == 'zt-app version mismatch: got "1.0", want "1.2", but it is held'
    assert results["pkg.held:pin"]["diff"] == "zt-app is at 1.0 and needs to be held once it is at '1.2'"
    assert apply(machine)[0] == 0
    assert machine.has("zt-app") == "1.2" and machine.status("zt-app") == "hi"
    (machine.states / "t.sls").write_text("pin:\n  pkg.held:\n    - name: zt-app\n    - version: '9'\n")
    status, results = apply(machine)
    assert status != 0 and only(results)["error"] == "'zt-app' is at 1.2, not at '9' as required by the hold"


def test_states_say_why_a_package_stays_as_it_is(machine):
    status, results = run(machine, "app:\n  pkg.installed:\n    - pkgs: [zt-app, dpkg]\n    - only_upgrade: true\n")
    assert status == 0 and not only(results)["changed"], results
    assert only(results)["diff"] == "zt-app is not installed, and only_upgrade is set\ndpkg is already installed"
    for state, absent in (("removed", "zt-app is not installed"), ("purged", "zt-app has no package record")):
        status, results = run(machine, f"no:\n  pkg.{state}:\n    - pkgs: [zt-app, {{dpkg: '9'}}]\n")
        assert status == 0 and not only(results)["changed"] and machine.has("dpkg") == "1.21.0", results
        assert only(results)["diff"] == f"dpkg is installed in version 1.21.0, not '9', and stays\n{absent}"
        assert only(run(machine, f"no:\n  pkg.{state}:\n    - pkgs: []\n")[1])["diff"] == "no packages given"


def test_a_package_that_came_and_was_held_goes_with_a_revert(machine):
    status, results = run(machine, f"{INSTALLED}    - hold: true\n")
    assert status == 0 and machine.status("zt-app") == "hi", results
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.status("zt-app") == ""


@pytest.mark.parametrize("state", ["pkg.latest:\n    - name: zt-app", "pkg.installed:\n    - name: zt-app\n    - version: '2.0'"])
def test_a_held_package_that_is_updated_is_held_again_also_by_a_revert(machine, state):
    machine.run("apt-get", "-qy", "install", "zt-app=1.0", check=True)
    machine.run("apt-mark", "hold", "zt-app", check=True)
    status, results = run(machine, f"app:\n  {state}\n    - update_holds: true\n")
    assert status == 0 and machine.has("zt-app") == "2.0" and machine.status("zt-app") == "hi", results
    assert "held" not in only(results)["details"]["changes"]["zt-app"]
    assert not only(apply(machine)[1])["changed"]
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.has("zt-app") == "1.0" and machine.status("zt-app") == "hi"


def test_a_hold_is_reverted(machine):
    machine.run("apt-get", "-qy", "install", "zt-app", check=True)
    assert run(machine, "app:\n  pkg.held:\n    - name: zt-app\n")[0] == 0
    assert machine.status("zt-app") == "hi"
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.status("zt-app") == "ii"


def test_only_installed_packages_can_be_held(machine):
    status, results = run(machine, "app:\n  pkg.held:\n    - name: zt-app\n")
    assert status != 0 and "'zt-app' cannot be held: it is not installed" in only(results)["error"]
    status, results = run(machine, "app:\n  pkg.held:\n    - name: zt-app\n", "--test")
    assert status == 0 and only(results)["diff"] == "zt-app needs to be held once it is installed"


def test_latest_refreshes_upgrades_and_is_reverted(machine):
    machine.run("apt-get", "-qy", "install", "zt-app", check=True)
    machine.package("zt-app", "3.0")
    status, results = run(machine, "app:\n  pkg.latest:\n    - name: zt-app\n")
    assert status == 0 and machine.has("zt-app") == "3.0", results
    assert only(results)["diff"] == "installed/upgraded zt-app to latest via apt"
    assert not only(apply(machine)[1])["changed"]
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.has("zt-app") == "2.0"


def test_removing_keeps_configuration_and_purging_does_not(machine):
    machine.run("apt-get", "-qy", "install", "zt-conf", check=True)
    machine.path("/opt/zt-conf/conf").write_text("mine\n")
    status, results = run(machine, "gone:\n  pkg.removed:\n    - name: zt-conf\n")
    assert status == 0 and only(results)["diff"] == "removed zt-conf via apt"
    assert machine.status("zt-conf") == "rc" and machine.path("/opt/zt-conf/conf").exists()
    assert not only(apply(machine)[1])["changed"]
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.has("zt-conf") == "1.0" and machine.path("/opt/zt-conf/conf").read_text() == "mine\n"
    status, results = run(machine, "gone:\n  pkg.purged:\n    - name: zt-conf\n")
    assert status == 0 and machine.status("zt-conf") == "" and not machine.path("/opt/zt-conf/conf").exists()
    assert not only(apply(machine)[1])["changed"]


def test_a_package_that_was_removed_keeps_its_configuration_over_a_revert(machine):
    machine.run("apt-get", "-qy", "install", "zt-conf", check=True)
    machine.run("apt-get", "-qy", "remove", "zt-conf", check=True)
    assert run(machine, "app:\n  pkg.installed:\n    - name: zt-conf\n")[0] == 0
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.status("zt-conf") == "rc"


def test_what_had_to_go_with_a_removed_package_comes_back_too(machine):
    machine.run("apt-get", "-qy", "install", "zt-app=1.2", check=True)
    status, results = run(machine, "gone:\n  pkg.removed:\n    - name: zt-base\n")
    assert status == 0 and set(only(results)["details"]["changes"]) == {"zt-base", "zt-app"}
    assert machine.zester("state.revert", "t").returncode == 0
    assert (machine.has("zt-base"), machine.has("zt-app")) == ("1.0", "1.2")


def test_a_package_file_is_installed(machine):
    target = machine.package("zt-file", "1.0")
    (machine.states / "files").mkdir()
    (machine.states / "files/zt-file.deb").write_bytes(target.read_bytes())
    status, results = run(machine, "f:\n  pkg.installed:\n    - sources:\n      - zt-file: salt://files/zt-file.deb\n")
    assert status == 0 and machine.has("zt-file") == "1.0", results
    assert not only(apply(machine)[1])["changed"]


def test_a_package_file_of_another_version_is_installed_and_of_another_package_is_not(machine):
    text = "f:\n  pkg.installed:\n    - sources:\n      - zt-file: salt://zt.deb\n"
    files = {version: machine.package("zt-file", version).read_bytes() for version in ("1.0", "2.0")}
    for version in ("1.0", "2.0", "1.0"):
        (machine.states / "zt.deb").write_bytes(files[version])
        status, results = run(machine, text)
        assert status == 0 and only(results)["changed"] and machine.has("zt-file") == version, results
        assert not only(apply(machine)[1])["changed"]
    status, results = run(machine, text.replace("zt-file:", "zt-other:"))
    assert status != 0 and machine.has("zt-file") == "1.0"
    assert only(results)["error"] == "package file of 'zt-other': 'salt://zt.deb' contains 'zt-file'"


def test_lists_that_name_nothing_twice_or_in_two_ways(machine):
    status, results = run(machine, "all:\n  pkg.installed:\n    - pkgs: []\n")
    assert status == 0 and only(results)["diff"] == "no packages given"
    status, results = run(machine, "all:\n  pkg.installed:\n    - pkgs: [zt-conf, zt-conf]\n")
    assert status == 0 and only(results)["diff"] == "installed zt-conf via apt"
    machine.state("all:\n  pkg.installed:\n    - pkgs: [zt-conf]\n    - sources:\n      - zt-app: salt://x.deb\n")
    assert "'pkgs' and 'sources' are mutually exclusive" in machine.zester("state.check", "t").stderr


def test_what_is_installed_is_reinstalled_in_its_version_in_every_run(machine):
    run(machine, INSTALLED + "    - version: '1.2'\n")
    version = machine.path("/opt/zt-app/version")
    version.write_text("broken\n")
    again = INSTALLED + "    - reinstall: true\n"
    status, results = run(machine, again, "--test")
    assert status == 0 and only(results)["diff"] == "zt-app is reinstalled in every run" and version.read_text() == "broken\n"
    for _ in range(2):
        status, results = run(machine, again)
        assert status == 0 and only(results)["changed"] and "reinstalled zt-app via apt" in only(results)["diff"], results
        assert version.read_text() == "1.2\n" and machine.has("zt-app") == "1.2"


def test_a_package_with_changed_files_is_reinstalled(machine):
    run(machine, INSTALLED + "conf:\n  pkg.installed:\n    - name: zt-conf\n")
    verified = "app:\n  pkg.installed:\n    - pkgs: [zt-app, zt-conf]\n    - pkg_verify: true\n"
    status, results = run(machine, verified)
    assert status == 0 and not only(results)["changed"], results
    version, conf = machine.path("/opt/zt-app/version"), machine.path("/opt/zt-conf/conf")
    version.write_text("broken\n")
    conf.write_text("mine\n")  # configuration is there to be changed
    status, results = run(machine, verified, "--test")
    assert only(results)["diff"] == "/opt/zt-app/version of zt-app is missing or was changed", results
    status, results = run(machine, verified)
    assert status == 0 and "reinstalled zt-app via apt" in only(results)["diff"] and version.read_text() == "2.0\n", results
    version.unlink()
    assert only(run(machine, verified)[1])["changed"] and version.read_text() == "2.0\n"
    assert not only(run(machine, verified)[1])["changed"] and conf.read_text() == "mine\n"
    status, results = run(machine, verified.replace("pkg_verify: true", "pkg_verify: [{ignore_types: [doc, config]}]"))
    assert status == 0 and not only(results)["changed"], results
    machine.state(verified.replace("pkg_verify: true", "pkg_verify: [{ignore_types: [ghost]}]"))
    assert "'ignore_types' has config and doc" in machine.zester("state.check", "t").stderr


def test_recommended_packages_can_be_left_out(machine):
    machine.package("zt-rec", "1.0", Recommends="zt-conf")
    machine.update()
    text = "r:\n  pkg.installed:\n    - name: zt-rec\n    - install_recommends: "
    assert run(machine, text + "false\n")[0] == 0 and machine.has("zt-conf") is None
    assert machine.zester("state.revert", "t").returncode == 0
    assert run(machine, text + "true\n")[0] == 0 and machine.has("zt-conf") == "1.0"


def test_a_provided_name_counts_as_installed(machine):
    machine.package("zt-impl", "1.0", Provides="zt-virtual")
    machine.update()
    assert run(machine, "v:\n  pkg.installed:\n    - name: zt-impl\n")[0] == 0
    assert not only(run(machine, "v:\n  pkg.installed:\n    - name: zt-virtual\n")[1])["changed"]


def test_a_manager_that_is_not_there_fails_its_states_and_not_the_others(machine):
    (machine.settings / "top.zy").write_text("base:\n  '*':\n    - all\n")
    (machine.settings / "all.zy").write_text("providers:\n  pkg: zypper\n")
    machine.state(INSTALLED + "ok:\n  test.nop: []\n")
    status, results = apply(machine)
    assert status != 0
    assert "no package manager found for provider 'zypper': searched for 'zypper', 'rpm' in PATH" in results[NAME]["error"]
    assert "error" not in results["test.nop:ok"]


def test_functions_answer(machine):
    def call(*words):
        out = machine.zester(*words)
        assert out.returncode == 0, out.stderr
        return out.stdout

    assert "zt-app" in call("pkg.install", "zt-app", "version=1.2")
    assert "1.2" in call("pkg.version", "zt-app")
    assert "2.0" in call("pkg.latest_version", "zt-app")
    listed = call("pkg.list_pkgs")
    assert "zt-base" in listed and "dpkg" in listed
    machine.package("zt-late", "1.0")
    call("pkg.refresh_db")
    assert "1.0" in call("pkg.latest_version", "zt-late")
    assert "zt-app" in call("pkg.remove", "zt-app")
    out = machine.zester("pkg.version", "zt-app")
    assert out.returncode != 0 and "zt-app not installed" in out.stdout + out.stderr


def test_names_that_are_options_are_refused_before_anything_runs(machine):
    for name in ("'--purge'", "'a b'", "'zt-app=1'", "'../x'"):
        machine.state(f"x:\n  pkg.installed:\n    - name: {name}\n")
        out = machine.zester("state.apply", "t")
        assert out.returncode != 0 and "is not a valid package name" in out.stderr + out.stdout


def runs_of_apt(machine):
    return machine.path("/var/log/apt/history.log").read_text().count("Commandline: apt-get")


def test_states_of_a_level_are_installed_by_one_run_and_each_has_changed(machine):
    text = "".join(f"{name}:\n  pkg.installed: []\n" for name in ("zt-conf", "zt-app", "zt-base"))
    text += "after:\n  cmd.run:\n    - name: 'true'\n    - onchanges:\n      - pkg: zt-conf\n      - pkg: zt-base\n"
    status, results = run(machine, text)
    assert status == 0 and all(result["changed"] for result in results.values()), results
    assert runs_of_apt(machine) == 1
    together = [result["diff"] for result in results.values() if "together with pkg.installed:" in result["diff"]]
    assert len(together) == 2
    assert not any(result.get("changed") for name, result in apply(machine)[1].items() if name.startswith("pkg"))
    out = machine.zester("state.revert", "t")
    assert out.returncode == 0, out.stdout + out.stderr
    assert [machine.status(name) for name in ("zt-conf", "zt-app", "zt-base")] == ["", "", ""]


def test_a_package_that_cannot_be_had_fails_its_own_state_alone(machine):
    text = "".join(f"{name}:\n  pkg.installed: []\n" for name in ("zt-conf", "zt-nowhere", "zt-base"))
    status, results = run(machine, text)
    assert status != 0
    assert {name for name, result in results.items() if "error" in result} == {"pkg.installed:zt-nowhere"}
    assert (machine.has("zt-conf"), machine.has("zt-base")) == ("1.0", "1.0")


def test_states_that_may_not_run_or_need_other_options_run_on_their_own(machine):
    text = ("zt-conf:\n  pkg.installed: []\n"
            "zt-base:\n  pkg.installed:\n    - unless: 'true'\n"
            "zt-app:\n  pkg.installed:\n    - install_recommends: false\n    - onlyif: 'false'\n")
    status, results = run(machine, text)
    assert status == 0 and results["pkg.installed:zt-conf"]["changed"]
    assert machine.has("zt-conf") == "1.0" and machine.has("zt-base") is None and machine.has("zt-app") is None


def test_a_held_version_and_another_wish_for_it_do_not_mix(machine):
    text = ("one:\n  pkg.installed:\n    - name: zt-app\n    - version: '1.0'\n"
            "two:\n  pkg.installed:\n    - pkgs:\n      - zt-conf\n      - zt-app: '1.0'\n    - hold: true\n"
            "three:\n  pkg.installed:\n    - name: zt-base\n")
    status, results = run(machine, text)
    assert status == 0 and all(result["changed"] for result in results.values()), results
    assert machine.status("zt-app") == "hi" and machine.status("zt-conf") == "hi" and machine.status("zt-base") == "ii"
    assert machine.zester("state.revert", "t").returncode == 0
    assert [machine.status(name) for name in ("zt-app", "zt-conf", "zt-base")] == ["", "", ""]
