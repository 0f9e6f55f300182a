"""pkgrepo states through `zester --local`: real apt on a machine of its own; the files of other managers."""
import json

import pytest

from debian import Machine, needs_apt

pytestmark = needs_apt

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ\n-----END PGP PUBLIC KEY BLOCK-----\n"


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.path("/etc/apt/sources.list").write_text("# mine\n")
    made.package("zt-app", "1.0")
    return made


def run(machine, text, *words):
    machine.state(text)
    out = machine.zester("state.apply", "t", "--format=json", *words)
    assert out.stdout, out.stderr
    results = json.loads(out.stdout)[0]["results"]
    return out.returncode, results


def managed(machine, *lines):
    return "r:\n  pkgrepo.managed:\n    - name: zt\n" + "".join(f"    - {line}\n" for line in (
        f"baseurl: copy:{machine.repo}", "dist: ./", "gpgcheck: false", *lines))


LIST = "/etc/apt/sources.list.d/zt.list"


def test_a_repository_is_added_used_and_taken_back(machine):
    text = managed(machine, "humanname: Test packages") + (
        "app:\n  pkg.installed:\n    - name: zt-app\n    - require:\n      - pkgrepo: r\n")
    status, results = run(machine, text)
    assert status == 0 and all(result["changed"] for result in results), results
    assert machine.path(LIST).read_text() == (
        f"# Managed by Zester: Test packages\ndeb [trusted=yes] copy:{machine.repo} ./\n")
    assert machine.has("zt-app") == "1.0"
    status, results = run(machine, text)
    assert status == 0 and not any(result["changed"] for result in results)
    assert machine.zester("state.revert", "t").returncode == 0
    assert not machine.path(LIST).exists() and machine.status("zt-app") == ""


def test_a_dry_run_shows_the_file_and_writes_nothing(machine):
    status, results = run(machine, managed(machine), "--test")
    assert status == 0 and f"repo file {LIST} does not exist" in results[0]["diff"]
    assert f"+deb [trusted=yes] copy:{machine.repo} ./" in results[0]["diff"]
    assert not machine.path(LIST).exists() and not list(machine.path("/var/lib/apt/lists").glob("*Packages"))


def test_a_repository_that_cannot_be_read_is_not_kept(machine):
    broken = managed(machine).replace(str(machine.repo), "/nowhere")
    for _ in range(2):
        status, results = run(machine, broken)
        assert status != 0 and "the repository was not kept" in results[0]["error"]
        assert not machine.path(LIST).exists()


def test_the_file_of_a_repository_that_moved_names_the_new_place_only(machine):
    machine.path(LIST).write_text("deb http://old.example ./\n")
    assert run(machine, managed(machine))[0] == 0
    assert "old.example" not in machine.path(LIST).read_text()
    assert machine.zester("state.revert", "t").returncode == 0
    assert machine.path(LIST).read_text() == "deb http://old.example ./\n"


def test_a_whole_line_goes_into_the_list_of_the_machine_and_keeps_the_others(machine):
    line = f"deb [trusted=yes] copy:{machine.repo} ./"
    text = f"'{line}':\n  pkgrepo.managed: []\n"
    assert run(machine, text)[0] == 0
    assert machine.path("/etc/apt/sources.list").read_text() == f"# mine\n{line}\n"
    status, results = run(machine, text.replace("managed", "absent"))
    assert status == 0 and results[0]["changed"]
    assert machine.path("/etc/apt/sources.list").read_text() == "# mine\n"
    status, results = run(machine, text.replace("managed", "absent"))
    assert status == 0 and not results[0]["changed"]


def test_a_paragraph_is_what_a_sources_file_gets_and_apt_uses_it(machine):
    place = "/etc/apt/sources.list.d/zt.sources"
    text = managed(machine, f"file: {place}", "humanname: Test packages")
    assert run(machine, text)[0] == 0
    stanza = f"Types: deb\nURIs: copy:{machine.repo}\nSuites: ./\nTrusted: yes\n"
    assert machine.path(place).read_text() == "# Managed by Zester: Test packages\n" + stanza
    assert "zt-app" in machine.run("apt-cache", "policy", "zt-app").stdout
    assert not run(machine, text)[1][0]["changed"]
    other = "\nTypes: deb\nURIs: copy:/nowhere\nSuites: ./\nEnabled: no\n"
    machine.path(place).write_text(stanza + other)
    assert run(machine, text.replace("enabled", "x").replace("gpgcheck: false", "gpgcheck: false\n    - enabled: false"))[0] == 0
    assert machine.path(place).read_text() == "Enabled: no\n" + stanza + other
    status, results = run(machine, f"'deb copy:{machine.repo} ./':\n  pkgrepo.absent: []\n")
    assert status == 0 and results[0]["changed"] and machine.path(place).read_text() == other.lstrip("\n"), results
    status, results = run(machine, "zt:\n  pkgrepo.absent: []\n")
    assert status == 0 and not machine.path(place).exists()


def test_a_key_is_kept_beside_the_line_and_a_new_one_is_noticed(machine):
    text = managed(machine, "refresh: false", f"key_text: {json.dumps(KEY)}")
    assert run(machine, text)[0] == 0
    key = machine.path("/etc/apt/keyrings/zester-zt.asc")
    assert key.read_text() == KEY
    assert "[signed-by=/etc/apt/keyrings/zester-zt.asc trusted=yes]" in machine.path(LIST).read_text()
    assert not run(machine, text)[1][0]["changed"]
    status, results = run(machine, text.replace("mDMEZ", "mDMEY"))
    assert status == 0 and "changed repo file /etc/apt/keyrings/zester-zt.asc" in results[0]["diff"]
    status, results = run(machine, "r:\n  pkgrepo.absent:\n    - name: zt\n    - refresh: false\n")
    assert status == 0 and results[0]["changed"] and not key.exists() and not machine.path(LIST).exists()


def test_a_key_comes_from_the_tree_of_states(machine):
    (machine.states / "zt.gpg").write_bytes(b"\x99\x01\x02")
    assert run(machine, managed(machine, "refresh: false", "key_url: salt://zt.gpg"))[0] == 0
    assert machine.path("/etc/apt/keyrings/zester-zt.gpg").read_bytes() == b"\x99\x01\x02"


def test_a_key_goes_where_the_line_says_as_bytes_where_the_name_needs_them(machine):
    line = f"deb [signed-by=/etc/apt/keyrings/mine.gpg] copy:{machine.repo} ./"
    armored = KEY.replace("mDMEZ\n", "aGVsbG8=\n=abcd\n")
    text = f"'{line}':\n  pkgrepo.managed:\n    - aptkey: false\n    - refresh: false\n    - key_text: {json.dumps(armored)}\n"
    assert run(machine, text)[0] == 0
    assert machine.path("/etc/apt/keyrings/mine.gpg").read_bytes() == b"hello"
    assert machine.path("/etc/apt/sources.list").read_text() == f"# mine\n{line}\n"
    assert not run(machine, text)[1][0]["changed"]
    machine.state(text.replace("aptkey: false", "aptkey: true"))
    assert "'aptkey' can only be false" in machine.zester("state.check", "t").stderr


def test_components_are_a_list_or_words_with_commas(machine):
    for comps in ("[main, contrib]", "main,contrib", "'main, contrib'"):
        text = managed(machine, "refresh: false", f"comps: {comps}").replace("./", "bookworm")
        assert run(machine, text)[0] == 0
        assert machine.path(LIST).read_text().endswith(f"copy:{machine.repo} bookworm main contrib\n")


def test_a_disabled_repository_is_commented_out(machine):
    assert run(machine, managed(machine, "refresh: false", "architectures: [amd64, arm64]"))[0] == 0
    assert f"deb [arch=amd64,arm64 trusted=yes] copy:{machine.repo} ./\n" in machine.path(LIST).read_text()
    assert run(machine, managed(machine, "refresh: false", "enabled: false"))[0] == 0
    assert f"\n# deb [trusted=yes] copy:{machine.repo} ./\n" in machine.path(LIST).read_text()


OTHERS = "# mine\ndeb copy:/one ./\ndeb copy:/two ./\n"


def test_a_name_and_a_file_with_several_sources_take_only_one_of_them(machine):
    place = machine.path("/etc/apt/sources.list.d/shared.list")
    place.write_text(OTHERS)
    absent = "r:\n  pkgrepo.absent:\n    - name: zt\n    - file: /etc/apt/sources.list.d/shared.list\n    - refresh: false\n"
    for words in ([], ["--test"]):
        status, results = run(machine, absent, *words)
        assert status != 0 and "shared.list' has 2 sources: select one with 'baseurl'" in results[0]["error"]
    assert place.read_text() == OTHERS
    assert run(machine, absent + "    - baseurl: copy:/two/\n")[0] == 0
    assert place.read_text() == "# mine\ndeb copy:/one ./\n"
    assert not run(machine, absent + "    - baseurl: copy:/two\n")[1][0]["changed"]
    assert run(machine, absent)[0] == 0 and not place.exists()
    assert not run(machine, absent)[1][0]["changed"]
    assert machine.zester("state.revert", "t", "--all", "--yes").returncode == 0
    assert place.read_text() == OTHERS


def test_a_repository_does_not_fail_for_another_that_is_out_of_reach(machine):
    machine.path("/etc/apt/sources.list.d/dead.list").write_text("deb [trusted=yes] copy:/nowhere ./\n")
    status, results = run(machine, managed(machine))
    assert status == 0 and results[0]["changed"], results
    assert "zt-app" in machine.run("apt-cache", "policy", "zt-app").stdout
    status, results = run(machine, "r:\n  pkgrepo.absent:\n    - name: zt\n")
    assert status == 0 and not machine.path(LIST).exists(), results
    assert "refresh the package index: apt-get update: exit status 100" in results[0]["diff"]


BAD = {
    "name: '../x'": "is not a valid repository name",
    'humanname: "x\\ndeb http://evil ./"': "humanname",
    'baseurl: "http://x\\ndeb"': "baseurl",
    "ppa: ppa:u/n": "a ppa requires its signing key",
    "name: deb http://x": "a URL and a suite",
}


@pytest.mark.parametrize("line", BAD)
def test_what_could_bring_another_line_is_refused_before_anything_runs(machine, line):
    machine.state(f"r:\n  pkgrepo.managed:\n    - {line}\n")
    out = machine.zester("state.apply", "t")
    assert out.returncode != 0 and BAD[line] in out.stderr + out.stdout, out.stderr + out.stdout


# --- files of other managers; their programs are stand-ins that only note how they were called ---

def stand_in(machine, *names):
    folder = machine.folder / "bin"
    folder.mkdir()
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho {name} \"$@\" >> {machine.folder}/calls\n")
        (folder / name).chmod(0o755)
    (machine.settings / "top.zy").write_text("base:\n  '*':\n    - all\n")
    (machine.settings / "all.zy").write_text(f"providers:\n  pkg: {names[0]}\n")
    return {"env": {"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"}}


def apply_with(machine, env, text):
    machine.state(text)
    out = machine.zester("state.apply", "t", **env)
    assert out.returncode == 0, out.stdout + out.stderr


def test_dnf_gets_a_section_and_keeps_the_others(machine):
    env = stand_in(machine, "dnf", "rpm")
    place = machine.path("/opt/x.repo")
    place.write_text("[other]\nname=o\n\n[zt]\npriority=5\nenabled=0\n")
    text = ("r:\n  pkgrepo.managed:\n    - name: zt\n    - file: /opt/x.repo\n    - baseurl: http://x/$releasever\n"
            "    - humanname: ZT\n    - gpgkey: http://x/key\n    - options:\n        sslverify: '0'\n")
    apply_with(machine, env, text)
    assert place.read_text() == ("[other]\nname=o\n\n[zt]\npriority=5\nenabled=1\nname=ZT\n"
                                 "baseurl=http://x/$releasever\ngpgcheck=1\ngpgkey=http://x/key\nsslverify=0\n")
    assert (machine.folder / "calls").read_text() == "dnf -q -y makecache --refresh\n"
    apply_with(machine, env, "r:\n  pkgrepo.absent:\n    - name: zt\n    - file: /opt/x.repo\n")
    assert place.read_text() == "[other]\nname=o\n\n"


def test_apk_gets_a_line(machine):
    env = stand_in(machine, "apk")
    machine.path("/opt/repositories").write_text("http://a/main\n")
    apply_with(machine, env, "r:\n  pkgrepo.managed:\n    - name: zt\n    - file: /opt/repositories\n"
               "    - baseurl: http://b/main\n")
    assert machine.path("/opt/repositories").read_text() == "http://a/main\nhttp://b/main\n"
    machine.state("r:\n  pkgrepo.managed:\n    - name: zt\n    - baseurl: http://b\n    - dist: x\n")
    out = machine.zester("state.apply", "t", **env)
    assert out.returncode != 0 and "repositories of apk do not support 'dist'" in out.stdout


def test_pacman_gets_a_section(machine):
    env = stand_in(machine, "pacman")
    machine.path("/opt/pacman.conf").write_text("[options]\nColor\n")
    apply_with(machine, env, "r:\n  pkgrepo.managed:\n    - name: zt\n    - file: /opt/pacman.conf\n"
               "    - baseurl: http://x\n    - gpgcheck: false\n")
    assert machine.path("/opt/pacman.conf").read_text() == (
        "[options]\nColor\n\n[zt]\nServer = http://x\nSigLevel = Never\n")
