"""What a tool of the system did before it failed, or before the program was killed, is reverted: packages of gem, npm and pip."""
import os

import pytest

from test_states import Machine

# gem, npm and pip: a package is a file with its version. Once its work is done, `after` is done as well.
TOOL = r"""#!/bin/sh
tool=${0##*/} verb= names= version=
while [ $# -gt 0 ]; do
    case $1 in
    --version) shift; version=$1 ;;
    -*) ;;
    *) if [ -z "$verb" ]; then verb=$1; else names="$names $1"; fi ;;
    esac
    shift
done
cd DB || exit 9
case $tool$verb in
gemlist) for name in *; do [ ! -e "$name" ] || echo "$name ($(cat "$name"))"; done; exit ;;
npmlist)
    printf '{"dependencies": {'
    for name in *; do [ ! -e "$name" ] || { printf '%s"%s": {"version": "%s"}' "$comma" "$name" "$(cat "$name")"; comma=,; }; done
    echo '}}'; exit ;;
pip3list | pip3freeze) for name in *; do [ ! -e "$name" ] || echo "$name==$(cat "$name")"; done; exit ;;
esac
for name in $names; do
    case $name in *==*) version=${name##*==} name=${name%%==*} ;; *@*) version=${name#*@} name=${name%%@*} ;; esac
    case $verb in
    install) echo "${version:-2.0}" > "$name"; if [ "$name" = app ]; then echo 1.0 > needed; fi ;;
    uninstall) rm -f "$name" ;;
    esac
done
[ ! -e AFTER ] || . AFTER
"""
STATES = {"gem": ("gem.installed: [name: app]", "gem.removed: [name: old]"),
          "npm": ("npm.installed: [name: app]", "npm.removed: [name: old]"),
          "pip3": ("pip.installed: [name: app==2.0, bin: BIN/pip3]", "pip.removed: [name: old, bin: BIN/pip3]")}


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    machine = Machine(tmp_path)
    machine.db, machine.after = tmp_path / "db", tmp_path / "after"
    for folder in (machine.db, tmp_path / "bin"):
        folder.mkdir()
    for name in STATES:
        path = tmp_path / "bin" / name
        path.write_text(TOOL.replace("DB", str(machine.db)).replace("AFTER", str(machine.after)))
        path.chmod(0o755)
    for name in ("old", "other"):
        (machine.db / name).write_text("1.0\n")
    machine.env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    return machine


def installed(machine):
    return {path.name: path.read_text().strip() for path in machine.db.iterdir()}


@pytest.mark.parametrize("how", ["exit 1", "kill -KILL $PPID"])
@pytest.mark.parametrize("tool", STATES)
def test_what_was_done_before_the_end_is_reverted(machine, tool, how):
    before = installed(machine)
    for state in STATES[tool]:
        machine.state("it", f"it: {{{state.replace('BIN', str(machine.folder / 'bin'))}}}\n")
        machine.after.write_text(how + "\n")
        assert machine.run("state.apply", "it", env=machine.env).returncode in (2, -9)
        machine.after.unlink()
        assert installed(machine) != before
        (machine.db / "others").write_text("1.0\n")  # since then, by somebody else
        machine.run("state.revert", "it", status=0, env=machine.env)
        (machine.db / "others").unlink()
        left = installed(machine)
        if "KILL" in how:  # nobody knows then what else came with a package
            left.pop("needed", None)
            (machine.db / "needed").unlink(missing_ok=True)
        assert left == before, state
