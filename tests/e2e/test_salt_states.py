"""States of Salt and their parameters, in files of Salt. docs/salt.md names what differs."""
import pytest

from test_salt import SaltMachine


@pytest.fixture
def machine(tmp_path):
    return SaltMachine(tmp_path)


# --- parameters ----------------------------------------------------------------------------------------------------

def test_a_parameter_without_effect_is_a_warning_that_gives_the_reason(machine):
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - contents: hello\n    - win_owner: Administrators\n")
    result = machine.run("state.apply", "web", status=0)
    assert "web.sls:4:7: parameter 'win_owner' of file.managed is not supported: Windows only" in result.stderr
    assert (machine.root / "x").read_text() == "hello\n"


def test_a_parameter_that_cannot_work_fails_its_state_and_no_other(machine):
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - contents: hello\n    - selinux: {setype: etc_t}\n"
                       "ROOT/y:\n  file.managed:\n    - contents: hello\n")
    record = machine.record("state.apply", "web", status=2)
    assert "parameter 'selinux' of file.managed is not supported" in record["results"][0]["error"]
    assert not (machine.root / "x").exists() and (machine.root / "y").exists()


def test_the_arguments_of_a_state_are_variables_of_its_template(machine):
    machine.file("a.j2", "{{ name }} {{ source }} {{ user }} {{ group }} {{ mode }} {{ context.port }} {{ port }} {{ host }} "
                         "{{ color }} {{ defaults }}\n")
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - source: salt://a.j2\n    - template: jinja\n    - mode: 0640\n"
                       "    - host: db1\n    - color: red\n    - context: {port: 80, color: blue}\n")
    result = machine.run("state.apply", "web", status=0)
    assert "host" not in result.stderr
    assert (machine.root / "x").read_text() == f"{machine.root}/x salt://a.j2 None None 640 80 80 db1 blue None\n"
