"""zester-migrate: configuration of Salt becomes ours, and what cannot is reported with its place."""
import os
import subprocess

BUILD = os.path.abspath(os.environ.get("ZESTER_BUILD", "build/asan"))
SECONDS = 60


def run(program, *words, status=0):
    result = subprocess.run([f"{BUILD}/{program}", *map(str, words)], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode == status, result.stdout + result.stderr
    return result


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def test_a_reactor_of_salt_is_converted_and_passes_the_check(tmp_path):
    write(tmp_path, {
        "master": f"file_roots:\n  base: [{tmp_path}/salt]\nreactor:\n  - 'myco/deploy':\n    - salt://reactor/deploy.sls\n",
        "master.d/more.conf": f"reactor:\n  - 'myco/*/done':\n    - {tmp_path}/many/*.sls\n",
        "master.d/README": "not a configuration",
        "salt/reactor/deploy.sls": "go:\n  local.state.apply:\n    - tgt: {{ data['id'] }}\n    - args: [ {mods: web} ]\n",
        "many/a.sls": "a:\n  local.test.ping:\n    - tgt: '*'\n",
        "many/b.sls": "b:\n  local.test.ping:\n    - tgt: '*'\n",
    })
    result = run("zester-migrate", "reactor", tmp_path / "master", tmp_path / "master.d", "--output", tmp_path / "out")
    assert result.stderr == ""
    assert sorted(os.listdir(tmp_path / "out")) == ["a.zy", "b.zy", "deploy.zy", "top.zy"]
    assert (tmp_path / "out/top.zy").read_text() == "reactor:\n  - '*/myco/deploy':\n      - reactor.deploy\n" \
        "  - '*/myco/*/done':\n      - reactor.a\n      - reactor.b\n"
    assert "tgt: {{ event.peel | tojson }}\n" in (tmp_path / "out/deploy.zy").read_text()
    run("zester", "reactor", "check", tmp_path / "out")


def test_what_cannot_be_converted_is_reported_with_its_place_and_nothing_is_overwritten(tmp_path):
    write(tmp_path, {"master": f"reactor:\n  - 'salt/cloud/*/created':\n    - {tmp_path}/x.sls\n  - 'myco/x':\n    - {tmp_path}/x.sls\n"
                               f"    - salt://none.sls\n",
                     "x.sls": "a:\n  runner.state.orchestrate:\n    - args: [ {mods: x} ]\n"})
    result = run("zester-migrate", "reactor", tmp_path / "master", "--output", tmp_path / "out", status=2)
    for line in (f"{tmp_path}/master:2:5: 'salt/cloud/*/created': there is no such event here",
                 f"{tmp_path}/x.sls:2:3: the states may be salt.state and salt.function",
                 f"{tmp_path}/master:6:7: 'salt://none.sls' is not in any of the file_roots"):
        assert line in result.stderr
    assert "exists" in run("zester-migrate", "reactor", tmp_path / "master", "--output", tmp_path / "out", status=1).stderr
    run("zester-migrate", "reactor", tmp_path / "none", "--output", tmp_path / "two", status=1)
    assert not (tmp_path / "two").exists()


def test_beacons_of_a_minion_are_printed_as_settings(tmp_path):
    write(tmp_path, {"minion": "beacons:\n  service:\n    - services:\n        nginx: {onchangeonly: true}\n    - interval: 10\n"
                               "  wtmp: []\n"})
    result = run("zester-migrate", "beacons", tmp_path / "minion", status=2)
    assert result.stdout == "beacons:\n  service:\n    services:\n      - nginx\n    onchangeonly: true\n    interval: 10\n"
    assert f"{tmp_path}/minion:6:3: the beacon 'wtmp' does not exist here" in result.stderr


def test_trees_of_states_become_one_and_what_does_not_run_is_reported_with_its_place(tmp_path):
    write(tmp_path, {
        "salt/top.sls": "base:\n  '*': [web]\n",
        "salt/web/init.sls": "include: [nginx]\nown: {test.nop: [{require: [{test: formula}]}]}\n",
        "salt/script.sls": "# a state\n",
        "salt/bad.sls": "#!py\ndef run(): return {}\n",
        "salt/_modules/mine.py": "def x(): pass\n",
        "salt/.git/config": "not a part of it",
        "formula/nginx/init.sls": "formula: {test.nop: []}\n",
        "formula/web/init.sls": "not the first one",
        "formula/nginx/files/run.sh": "#!/bin/sh\n",
    })
    (tmp_path / "formula/nginx/files/run.sh").chmod(0o755)
    (tmp_path / "more").mkdir()
    (tmp_path / "more/linked").symlink_to(tmp_path / "formula/nginx")
    words = ("states", tmp_path / "salt", tmp_path / "formula", tmp_path / "more", "--output", tmp_path / "out")
    result = run("zester-migrate", *words, "--test", status=2)
    assert f"would write {tmp_path}/out/web/init.sls from {tmp_path}/salt/web/init.sls\n" in result.stdout
    assert not (tmp_path / "out").exists()
    result = run("zester-migrate", *words, status=2)
    assert f"{tmp_path}/salt/bad.sls:1" in result.stderr and "'py'" in result.stderr
    assert f"{tmp_path}/salt/_modules/mine.py:1: modules in Python do not run here" in result.stderr
    assert "5 of these files end in .sls and run unchanged" in result.stdout
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert files == ["bad.sls", "linked/files/run.sh", "linked/init.sls", "nginx/files/run.sh", "nginx/init.sls", "script.sls", "top.sls",
                     "web/init.sls"]
    assert os.access(tmp_path / "out/nginx/files/run.sh", os.X_OK)
    run("zester", "--local", "--states-dir", tmp_path / "out", "--data-dir", tmp_path / "data", "state.apply", "web")
    assert "exists; choose an empty folder" in run("zester-migrate", *words, status=1).stderr
    assert "No such file" in run("zester-migrate", "states", tmp_path / "none", "--output", tmp_path / "two", status=1).stderr


def test_states_and_functions_that_are_not_here_are_reported_with_what_to_use(tmp_path):
    write(tmp_path, {
        "salt/web.sls": "{# salt['not.read']() #}\ninclude:\n  - other.file\nnginx:\n  pkg.installed:\n"
                        "    - version: {{ salt['pkg.available_version']('x') }}\n    - context:\n        my.key: 1\n"
                        "perm:\n  acl.present: []\ntypo:\n  mystate.present\nrun:\n  module.run:\n    - name: service.mask\n"
                        "    - service.restart:\n      - name: x\nguard:\n  cmd.run:\n    - onlyif:\n      - fun: my.check\n",
        "salt/map.jinja": "{% set a = salt.cmd.run('x') %}\n{% set b = salt[\"my.other\"]() %}\n",
        "salt/good.sls": "good:\n  pkg.installed:\n    - name: {{ salt['grains.get']('x') }}\n  service.running: []\n",
    })
    result = run("zester-migrate", "states", tmp_path / "salt", "--output", tmp_path / "out", status=2)
    web = f"{tmp_path}/salt/web.sls"
    assert [line for line in result.stderr.splitlines() if not line.startswith("      = ")] == [
        f"{tmp_path}/salt/map.jinja:2:18: there is no function 'my.other' here",
        f"{web}:6:25: there is no function 'pkg.available_version' here",
        f"{web}:10:3: there is no state 'acl.present' here",
        f"{web}:12:3: there is no state 'mystate.present' here",
        f"{web}:15:13: there is no function 'service.mask' here",
        f"{web}:21:14: there is no function 'my.check' here"]
    for advice in ("use pkg.latest_version", "use cmd.run with setfacl", "use state.single service.masked NAME", "use cmd.run with 'unless'"):
        assert advice in result.stderr
    assert "1 of these files end in .sls and run unchanged" in result.stdout and "1 end in .sls and need changes" in result.stdout
    # pillar has no states
    write(tmp_path, {"pillar/top.sls": "base: {'*': [x]}\n", "pillar/x.sls": "a:\n  b.c: 1\n"})
    assert "2 of these" in run("zester-migrate", "pillar", tmp_path / "pillar", "--output", tmp_path / "settings").stdout


def test_what_is_no_state_of_a_formula_is_left_out_and_named_in_one_line(tmp_path):
    write(tmp_path, {f"nginx-formula/{path}": "x: {test.nop: []}\n" for path in (
        "nginx/init.sls", "nginx/test/init.sls", "nginx/files/.bashrc", "FORMULA", "Gemfile", "kitchen.yml", "README.rst", ".github/a.yml",
        ".travis.yml", "test/salt/a.sls", "docs/init.sls", "bin/kitchen", "pillar.example", "tests.sls", "CHANGELOG.md")})
    write(tmp_path, {"salt/test/a.sls": "x: {test.nop: []}\n", "salt/docs/b.txt": "of states\n"})
    result = run("zester-migrate", "states", tmp_path / "salt", tmp_path / "nginx-formula", "--output", tmp_path / "out")
    assert "left out of clones of formulas, as they are not states: .github, .travis.yml, CHANGELOG.md, FORMULA, Gemfile, README.rst, " \
           "bin, kitchen.yml, pillar.example, test\n" in result.stdout
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert files == ["docs/b.txt", "docs/init.sls", "nginx/files/.bashrc", "nginx/init.sls", "nginx/test/init.sls", "test/a.sls", "tests.sls"]


def test_pillar_that_is_encrypted_is_reported_and_the_rest_runs_unchanged(tmp_path):
    write(tmp_path, {"pillar/top.sls": "base: {'*': [main]}\n", "pillar/main.sls": "port: {{ 40 + 40 }}\n",
                     "pillar/secret.sls": "key: |\n  -----BEGIN PGP MESSAGE-----\n"})
    result = run("zester-migrate", "pillar", tmp_path / "pillar", "--output", tmp_path / "out", status=2)
    assert f"{tmp_path}/pillar/secret.sls:2: values that are encrypted with GPG" in result.stderr
    result = run("zester", "--local", "--settings-dir", tmp_path / "out", "--data-dir", tmp_path / "data", "settings.get", "port")
    assert result.stdout == "80\n"


def test_a_top_file_of_salt_names_its_targets_by_letters(tmp_path):
    write(tmp_path, {"top.sls": "base:\n  '*': [common]\n  'os:Debian':\n    - match: grain\n    - deb\n  'web1,web2':\n    - match: list\n    - web\n"
                                "  'db and G@os:x':\n    - match: compound\n    - db\n  '%cluster':\n    - match: range\n    - far\n"
                                "prod:\n  'E x':\n    - match: pcre\n    - spaced\n",
                     "templated.sls": "base:\n  '*':\n    - {{ grains.os }}\n"})
    result = run("zester-migrate", "top", tmp_path / "top.sls", status=2)
    assert result.stdout == ("base:\n  '*':\n    - common\n  G@os:Debian:\n    - deb\n  L@web1,web2:\n    - web\n  db and G@os:x:\n    - db\n"
                             "prod:\n  E x:\n    - match: pcre\n    - spaced\n")
    assert f"{tmp_path}/top.sls:13:14: there is no match of this type here" in result.stderr
    assert f"{tmp_path}/top.sls:15:1: environments are labels here" in result.stderr
    (tmp_path / "top.zy").write_text(result.stdout)
    shown = run("zester", "--local", "--id", "web2", "--states-dir", tmp_path, "--data-dir", tmp_path / "data", "state.show_top")
    assert "common" in shown.stdout and "web" in shown.stdout and "db" not in shown.stdout
    diff = run("zester-migrate", "top", tmp_path / "top.sls", "--test", status=2).stdout
    assert "-  'os:Debian':\n" in diff and "+  G@os:Debian:\n" in diff
    result = run("zester-migrate", "top", tmp_path / "templated.sls", status=1)
    assert f"{tmp_path}/templated.sls:3: a top file with a template is not converted" in result.stderr
