"""Time zone, locale, host name, alternatives, environment, known hosts and Python packages."""
import base64
import hashlib
import json
import os
import zipfile

import pytest

import fake_pip
import real_pip
from machine import PROGRAM, Machine, by_name, skip_without

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00"


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    yield machine
    machine.leave()


def test_the_time_zone_is_set_and_taken_back(machine):
    root = machine.root / "image"
    (root / "etc").mkdir(parents=True)
    (root / "usr/share/zoneinfo/Europe").mkdir(parents=True)
    (root / "usr/share/zoneinfo/Europe/Berlin").write_text("TZif")
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    (root / "etc/timezone").write_text("Etc/UTC\n")
    (root / "etc/adjtime").write_text("0.1 2 0.0\n2\nLOCAL\n")
    machine.settles(f"Europe/Berlin: {{timezone.system: [{{root: {root}, utc: true}}]}}")
    assert os.readlink(root / "etc/localtime") == "/usr/share/zoneinfo/Europe/Berlin"
    assert (root / "etc/timezone").read_text() == "Europe/Berlin\n"
    assert (root / "etc/adjtime").read_text() == "0.1 2 0.0\n2\nUTC\n"
    machine.revert()
    assert os.readlink(root / "etc/localtime") == "/usr/share/zoneinfo/Etc/UTC"
    assert (root / "etc/adjtime").read_text() == "0.1 2 0.0\n2\nLOCAL\n"
    result = machine.apply(f"Europe/Nowhere: {{timezone.system: [{{root: {root}}}]}}")
    assert "no time zone 'Europe/Nowhere'" in result["timezone.system:Europe/Nowhere"]["error"]


def test_a_locale_is_made_and_removed(machine):
    skip_without("localedef", "locale")
    if not os.path.exists("/usr/share/i18n/locales/eo"):
        pytest.skip("the sources of locales are not installed")
    machine.sh("mkdir -p /mnt/locale; cp -a /usr/lib/locale/. /mnt/locale; mount --bind /mnt/locale /usr/lib/locale")
    gen = machine.path("/etc/locale.gen")
    gen.write_text("# eo.UTF-8 UTF-8\n# de_AT.UTF-8 UTF-8\n")
    machine.settles("de_AT.UTF-8 UTF-8: {locale.present: []}")
    assert "de_AT.utf8" in machine.run("locale", "-a").split()
    assert gen.read_text() == "# eo.UTF-8 UTF-8\nde_AT.UTF-8 UTF-8\n"
    machine.revert()
    assert "de_AT.utf8" not in machine.run("locale", "-a").split()
    assert gen.read_text() == "# eo.UTF-8 UTF-8\n# de_AT.UTF-8 UTF-8\n"


def test_the_archive_of_locales_goes_with_its_last_one(machine):
    skip_without("localedef", "locale")
    if not os.path.exists("/usr/share/i18n/locales/eo"):
        pytest.skip("the sources of locales are not installed")
    machine.sh("mkdir -p /mnt/locale; mount --bind /mnt/locale /usr/lib/locale")
    machine.settles("de_AT.UTF-8: {locale.present: []}\neo.UTF-8: {locale.present: []}")
    assert machine.path("/usr/lib/locale/locale-archive").exists()
    assert not any(state["failed"] for state in machine.revert().values())
    assert os.listdir(machine.path("/usr/lib/locale")) == []


def test_the_system_locale_keeps_other_lines(machine):
    machine.path("/etc/default/locale").write_text("# x\nLANG=C\nLC_TIME=C\n")
    machine.settles("de_DE.UTF-8: {locale.system: []}")
    assert machine.path("/etc/default/locale").read_text() == "# x\nLANG=de_DE.UTF-8\nLC_TIME=C\n"


def test_the_host_name_is_set_and_taken_back(machine):
    skip_without("hostname")
    name = machine.run("hostname").strip()
    states = machine.states / "case.zy"
    states.write_text("web7.example.org: {network.hostname: []}\n")
    # the name of a host has a namespace of its own
    run = (f"hostname before; {PROGRAM} --local --quiet --states-dir {machine.states} --data-dir {machine.root}/data "
           "state.apply case > /dev/null; hostname; cat /etc/hostname; "
           f"{PROGRAM} --local --quiet --states-dir {machine.states} --data-dir {machine.root}/data "
           "state.revert case > /dev/null; hostname")
    before = machine.path("/etc/hostname").read_text() if machine.path("/etc/hostname").exists() else None
    out = machine.run("unshare", "--uts", "sh", "-c", run).split()
    assert out == ["web7.example.org", "web7.example.org", "before"]
    assert machine.run("hostname").strip() == name
    after = machine.path("/etc/hostname").read_text() if machine.path("/etc/hostname").exists() else None
    assert before == after
    assert "is not a valid host name" in machine.mistakes("'a b': {network.hostname: []}")


def test_an_alternative_is_chosen_and_given_back(machine):
    skip_without("update-alternatives")
    root = machine.root
    for folder in ("alt", "admin", "bin"):
        (root / folder).mkdir()
    for name in ("one", "two"):
        (root / "bin" / name).write_text("")
    options = f"--altdir {root}/alt --admindir {root}/admin --log {root}/log"
    for name, priority in (("one", 10), ("two", 5)):
        machine.sh(f"update-alternatives {options} --install {root}/bin/tool tool {root}/bin/{name} {priority}")
    machine.settles(f"""
tool: {{alternatives.set: [{{path: {root}/bin/two, altdir: {root}/alt, admindir: {root}/admin}}]}}
""")
    assert os.readlink(root / "alt/tool") == f"{root}/bin/two"
    machine.revert()
    assert os.readlink(root / "alt/tool") == f"{root}/bin/one"
    assert (root / "admin/tool").read_text().startswith("auto\n")


class Alternatives:
    """A name 'tool' with the programs 'one' and 'two', in folders of its own."""

    def __init__(self, machine):
        skip_without("update-alternatives")
        self.machine, self.root = machine, machine.root
        for folder in ("alt", "admin", "bin"):
            (self.root / folder).mkdir()
        for name in ("one", "two", "one.1", "two.1"):
            (self.root / "bin" / name).write_text("")

    def update(self, words):
        self.machine.sh(f"update-alternatives --altdir {self.root}/alt --admindir {self.root}/admin --log {self.root}/log {words}")

    def state(self, kind, **args):
        args = {"name": "tool", "altdir": f"{self.root}/alt", "admindir": f"{self.root}/admin", **args}
        return f"{args.get('path', 'tool')}: {{alternatives.{kind}: [{json.dumps(args)}]}}\n"

    def install(self, name, priority):
        return self.state("install", path=f"{self.root}/bin/{name}", link=f"{self.root}/bin/tool", priority=priority)

    def chosen(self, link="tool"):
        path = self.root / "alt" / link
        return os.path.basename(os.readlink(path)) if path.is_symlink() else None

    def known(self):
        return (self.root / "admin/tool").read_text()


def test_alternatives_are_added_and_the_best_is_chosen(machine):
    tool = Alternatives(machine)
    machine.settles(tool.install("one", 10) + tool.install("two", 5))
    assert tool.chosen() == "one" and os.readlink(tool.root / "bin/tool") == f"{tool.root}/alt/tool"
    machine.settles(tool.install("one", 10) + tool.install("two", 20))
    assert tool.chosen() == "two"
    machine.revert()
    assert tool.chosen() is None and not (tool.root / "bin/tool").exists()


def test_links_that_follow_an_alternative_stay_with_it(machine):
    tool = Alternatives(machine)
    for name, priority in (("one", 10), ("two", 5)):
        tool.update(f"--install {tool.root}/bin/tool tool {tool.root}/bin/{name} {priority} "
                    f"--slave {tool.root}/bin/tool.1 tool.1 {tool.root}/bin/{name}.1")
    before = tool.known()
    machine.settles(tool.install("two", 20))
    assert (tool.chosen(), tool.chosen("tool.1")) == ("two", "two.1")
    machine.revert()
    assert tool.known() == before and tool.chosen("tool.1") == "one.1"
    tool.update(f"--set tool {tool.root}/bin/two")
    before = tool.known()
    machine.settles(tool.state("remove", path=f"{tool.root}/bin/two"))
    assert tool.chosen() == "one"
    machine.revert()
    assert tool.known() == before and (tool.chosen(), tool.chosen("tool.1")) == ("two", "two.1")


def test_a_choice_by_hand_is_given_up_and_comes_back(machine):
    tool = Alternatives(machine)
    machine.apply(tool.install("one", 10) + tool.install("two", 5))
    tool.update(f"--set tool {tool.root}/bin/two")
    (machine.states / "other.sls").write_text(tool.state("auto"))
    result = by_name(machine.zester("state.apply", "other")[0])["alternatives.auto:tool"]
    assert result["diff"].endswith(f"tool is chosen by priority: {tool.root}/bin/one") and tool.chosen() == "one"
    assert not by_name(machine.zester("state.apply", "other")[0])["alternatives.auto:tool"]["changed"]
    machine.zester("state.revert", "other")
    assert tool.chosen() == "two" and tool.known().startswith("manual\n")
    assert "no alternatives for nope" in next(iter(machine.apply(tool.state("auto", name="nope")).values()))["error"]


def test_variables_of_the_environment(machine):
    path = machine.path("/etc/environment")
    path.write_text("# mine\nPATH=/bin\nOLD=1\n")
    machine.settles("vars: {environ.setenv: [{permanent: true}, {value: {EDITOR: vim, OLD: null, PATH: '/bin:/usr/bin'}}]}")
    assert path.read_text() == "# mine\nPATH=/bin:/usr/bin\nEDITOR=vim\n"
    machine.revert()
    assert path.read_text() == "# mine\nPATH=/bin\nOLD=1\n"
    said = machine.mistakes('a: {environ.setenv: [{value: "x\\nEVIL=1"}]}\n"b c": {environ.setenv: [{value: 1}]}')
    assert "must not contain a newline" in said and "is not a valid variable name" in said


def test_sessions_get_the_variables_as_they_were_written(machine):
    skip_without("su")
    if "pam_env" not in machine.path("/etc/pam.d/su").read_text():
        pytest.skip("su does not read /etc/environment here")
    machine.path("/etc/environment").write_text("")
    values = {"ONE": "'a'", "TWO": '"open', "THREE": "it's b", "FOUR": "  blanks ", "FIVE": 'x"y"'}
    machine.settles(f"many: {{environ.setenv: [{{permanent: true}}, {{value: {json.dumps(values)}}}]}}")
    lines = machine.run("su", "root", "-s", "/bin/sh", "-c", "env").splitlines()
    assert {name: value for name, _, value in (line.partition("=") for line in lines) if name in values} == values
    said = machine.mistakes("A: {environ.setenv: [{value: 'b#c'}]}")
    assert "case.zy:1:30: the value of 'A' must not contain '#'" in said, said


def test_commands_that_come_later_have_the_variables(machine):
    machine.env["ZESTER_GONE"] = "still here"
    text = """
set: {environ.setenv: [{name: several, value: {ZESTER_WORD: hello there, ZESTER_GONE: null}}]}
use: {cmd.run: [{name: 'echo "$ZESTER_WORD/$ZESTER_GONE"', require: [set]}]}
own: {cmd.run: [{name: 'echo "$ZESTER_WORD"', env: {ZESTER_WORD: mine}, require: [set]}]}
guard: {cmd.run: [{name: 'true', onlyif: 'test "$ZESTER_WORD" = "hello there"', require: [set]}]}
"""
    for _ in range(2):  # also when the file is right already
        results = machine.apply(text)
        assert results["cmd.run:use"]["details"]["stdout"].strip() == "hello there/"
        assert results["cmd.run:own"]["details"]["stdout"].strip() == "mine"
        assert results["cmd.run:guard"]["changed"]



def test_a_host_that_does_not_answer_is_reported_and_a_wrong_fingerprint_is_a_mistake(machine):
    skip_without("ssh-keyscan")
    text = "127.0.0.1: {ssh_known_hosts.present: [{port: 1}, {timeout: 1}, {fingerprint: '%s'}]}"
    failed = machine.apply(text % ("SHA256:" + "A" * 43))["ssh_known_hosts.present:127.0.0.1"]
    assert failed["error"].startswith("no host key received from 127.0.0.1 at port 1 within 1 s"), failed
    assert "'fingerprint' must be SHA256:..., or hexadecimal digits, got 'xx'" in machine.mistakes(text % "xx")
    machine.apply(text % ":".join(["ab"] * 16))


def test_a_dry_run_foresees_a_pip_that_is_not_there_yet(machine):
    state = machine.apply("x: {pip.installed: [{bin_env: /srv/venv}]}", "--test")["pip.installed:x"]
    assert state["changed"] and not state["failed"] and "pip '/srv/venv'" in state["diff"], state
    failed = machine.apply("x: {pip.installed: [{bin_env: /srv/venv}]}")["pip.installed:x"]
    assert failed["error"] == "program '/srv/venv' is not installed", failed


def test_keys_of_hosts_plain_and_hidden(machine):
    skip_without("ssh-keygen")
    path = machine.root / "known"
    path.write_text("other.example.org ssh-rsa AAAAB3other\n")
    print_ = "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(KEY)).digest()).decode().rstrip("=")
    machine.settles(f"""
git: {{ssh_known_hosts.present: [{{name: git.example.org, port: 2222, key: {KEY}, config: {path}, fingerprint: '{print_}'}}]}}
hidden: {{ssh_known_hosts.present: [{{name: web, key: ssh-ed25519 {KEY}, config: {path}, hash_known_hosts: true,
                                     require: [ssh_known_hosts: git]}}]}}
""")
    lines = path.read_text().splitlines()
    assert lines[0] == "other.example.org ssh-rsa AAAAB3other"
    assert lines[1] == f"[git.example.org]:2222 ssh-ed25519 {KEY}"
    assert lines[2].startswith("|1|") and lines[2].endswith(KEY) and len(lines) == 3
    other = KEY[:-2] + "01"
    machine.settles(f"web: {{ssh_known_hosts.present: [{{key: ssh-ed25519 {other}, config: {path}}}]}}")
    assert path.read_text().splitlines()[2:] == [f"web ssh-ed25519 {other}"]
    wrong = machine.apply(f"web: {{ssh_known_hosts.present: [{{key: {KEY}, fingerprint: 'SHA256:{'A' * 43}', config: {path}}}]}}")
    assert "does not have the fingerprint" in wrong["ssh_known_hosts.present:web"]["error"]
    assert "requires 'key' or 'fingerprint'" in machine.mistakes(
        f"web: {{ssh_known_hosts.present: [{{config: {path}}}]}}")


def test_fake_pip_installs_and_gives_back_what_was_there(tmp_path):
    machine = Machine(tmp_path, namespace=False)
    program = fake_pip.install(tmp_path / "pip3")
    (tmp_path / "pip").write_text("Flask_Login==1.0")
    machine.settles(f"flask: {{pip.installed: [{{version: 2.3.2, bin: {program}}}]}}")
    assert sorted((tmp_path / "pip").read_text().split()) == ["Flask_Login==1.0", "dependency==1.0", "flask==2.3.2"]
    machine.revert()
    assert (tmp_path / "pip").read_text().split() == ["Flask_Login==1.0"]
    assert not machine.apply(f"flask-login: {{pip.installed: [{{bin: {program}}}]}}")["pip.installed:flask-login"]["changed"]
    machine.settles(f"two: {{pip.installed: [{{pkgs: [flask-login==2.0, requests], bin: {program}}}]}}")
    # 12.0 is not 2.0, although it ends in it; 2.0.0 is
    machine.revert()
    (tmp_path / "pip").write_text("flask==12.0\nother==2.0")
    machine.settles(f"flask: {{pip.installed: [{{version: '2.0', bin: {program}}}]}}")
    machine.revert()
    assert (tmp_path / "pip").read_text().split()[:2] == ["flask==12.0", "other==2.0"]
    assert not machine.apply(f"other: {{pip.installed: [{{version: 2.0.0, bin: {program}}}]}}")["pip.installed:other"]["changed"]
    result = machine.apply(f"missing: {{pip.installed: [{{bin: {program}}}]}}")["pip.installed:missing"]
    assert "No matching distribution found" in result["error"]


def wheel(folder, name, version, needs=()):
    """A package that pip can install, without anything to build."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as out:
        out.writestr(f"{name}.py", f"version = '{version}'\n")
        out.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" +
                     "".join(f"Requires-Dist: {need}\n" for need in needs))
        out.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@pytest.fixture
def venv(tmp_path):
    """The real pip, in a virtual environment of its own, and a folder of wheels instead of the network."""
    real_pip.make_venv(tmp_path / "venv")
    (tmp_path / "wheels").mkdir()
    for name, version, needs in [("app", "1.0", ["helper>=1"]), ("app", "1.5", ["helper>=1"]), ("app", "2.0", []),
                                 ("helper", "1.2", []), ("other", "0.9", []), ("app", "3.0rc1", [])]:
        wheel(tmp_path / "wheels", name, version, needs)
    return Machine(tmp_path, namespace=False)


def have(venv):
    out = venv.run(venv.root / "venv/bin/pip", "list", "--format=freeze")
    return dict(line.split("==") for line in out.split())


def pip_state(venv, **more):
    return "x: " + json.dumps({"pip.installed": [{"bin_env": str(venv.root / "venv")}, {"no_index": True},
                                                 {"find_links": str(venv.root / "wheels")},
                                                 *({key: value} for key, value in more.items())]})


def test_the_real_pip_installs_upgrades_and_goes_back(venv):
    venv.settles(pip_state(venv, name="app", version="1.0"))
    assert have(venv) == {"app": "1.0", "helper": "1.2"}
    venv.settles(pip_state(venv, name="app<2", upgrade=True))
    assert have(venv)["app"] == "1.5"
    again = venv.apply(pip_state(venv, name="app>=1,<2"))["pip.installed:x"]
    assert not again["changed"] and "already installed" in again["text"]
    venv.apply(pip_state(venv, name="app", upgrade=True, pre_releases=True))
    assert have(venv)["app"] == "3.0rc1"
    venv.revert()
    assert have(venv) == {}


def test_the_real_pip_with_lists_and_without_what_they_need(venv):
    venv.settles(pip_state(venv, pkgs=["app==1.5", "other"], no_deps=True))
    assert have(venv) == {"app": "1.5", "other": "0.9"}
    failed = venv.apply(pip_state(venv, name="missing"))["pip.installed:x"]
    assert "No matching distribution found for missing" in failed["error"]
    assert "app version mismatch" in venv.apply(pip_state(venv, name="app", version="2.0"), "--test")["pip.installed:x"]["text"]


def test_a_requirements_file_of_the_tree_settles(venv):
    (venv.states / "req.txt").write_text("app<2\nother==0.9\n")
    venv.settles(pip_state(venv, requirements="salt://req.txt"))
    assert have(venv) == {"app": "1.5", "helper": "1.2", "other": "0.9"}
    venv.revert()
    assert have(venv) == {}


def test_options_cannot_be_smuggled_into_pip(venv):
    assert "case.zy:" in venv.mistakes(pip_state(venv, name="--index-url=http://evil"))
    assert "case.zy:" in venv.mistakes(pip_state(venv, pkgs=["-rfile"]))


def test_interfaces_and_addresses(machine):
    interfaces = str(machine.zester("network.interfaces")[0])
    assert "'lo'" in interfaces and "127.0.0.1" in interfaces
    assert "127.0.0.1" in str(machine.zester("network.ip_addrs", "include_loopback=true")[0])
