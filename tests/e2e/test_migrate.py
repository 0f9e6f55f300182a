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
    write(tmp_path, {"master": f"reactor:\n  - 'salt/minion/*/start':\n    - {tmp_path}/x.sls\n  - 'myco/x':\n    - {tmp_path}/x.sls\n"
                               f"    - salt://none.sls\n",
                     "x.sls": "a:\n  runner.state.orchestrate:\n    - args: [ {mods: x} ]\n"})
    result = run("zester-migrate", "reactor", tmp_path / "master", "--output", tmp_path / "out", status=2)
    for line in (f"{tmp_path}/master:2:5: 'salt/minion/*/start': there is no such event here",
                 f"{tmp_path}/x.sls:2:3: reactions do not orchestrate: ",
                 f"{tmp_path}/master:6:7: 'salt://none.sls' is in none of the file_roots"):
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
