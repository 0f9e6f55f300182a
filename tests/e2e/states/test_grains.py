"""States of grains, on a machine of its own: facts of the administrator, as Salt's states manage them."""
import pytest

from machine import Machine


class SaltMachine(Machine):
    DIALECT = "sls"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    machine = SaltMachine(tmp_path_factory.mktemp("machine"))
    yield machine
    machine.leave()


@pytest.fixture
def machine(shared):
    shared.path("/etc/zester/facts").unlink(missing_ok=True)
    return shared


def facts_of(machine):
    return machine.zester("grains.items")[0][0]["results"][0]["details"]["result"]


def test_states_of_grains_are_kept_seen_at_once_and_reverted(machine):
    (machine.states / "roles.txt").write_text("{{ grains.roles | join(',') }} {{ grains.site.dc }}\n")
    before = facts_of(machine)
    done = machine.apply("""
roles: {grains.present: [{value: [web]}]}
more: {grains.list_present: [{name: roles, value: [db, web]}]}
one: {grains.append: [{name: roles, value: mail}]}
less: {grains.list_absent: [{name: roles, value: [db, none]}]}
site:dc: {grains.present: [{value: north}]}
gone: {grains.present: [{value: 1}]}
null it: {grains.absent: [{name: gone}]}
there: {grains.exists: [{name: roles}]}
/srv/x: {file.managed: [{template: jinja, source: salt://roles.txt}]}
""")
    assert not [name for name, state in done.items() if state["failed"]], done
    assert [name for name, state in done.items() if not state["changed"]] == ["grains.exists:there"]
    assert machine.path("/srv/x").read_text() == "web,mail north\n"
    after = facts_of(machine)
    assert {key: after[key] for key in ("roles", "site", "gone")} == {"roles": ["web", "mail"], "site": {"dc": "north"}, "gone": None}
    assert not any(state["failed"] for state in machine.revert().values())
    assert facts_of(machine).keys() == before.keys() and not machine.path("/srv/x").exists()


def apply_to(machine, first, body):
    """The result of one state for a grain that has a value."""
    if first:
        machine.zester("grains.setval", "it", first)
    done = machine.apply("it: {%s}\n" % body)
    return done["%s:it" % body.split(":")[0]]


@pytest.mark.parametrize("first,body,mistake", (
    ("[1]", "grains.present: [{value: 2}]", "set 'force' to overwrite it"),
    ("[1]", "grains.absent: []", "set 'force' to overwrite it"),
    ("text", "grains.append: [{value: 2}]", "not a list; set 'convert'"),
    ("text", "grains.list_present: [{value: 2}]", "not a list"),
    ("text", "grains.list_absent: [{value: 2}]", "not a list"),
    (None, "grains.append: [{value: 2}]", "grain 'it' does not exist"),
    (None, "grains.exists: []", "grain 'it' does not exist")))
def test_a_grain_of_another_kind_is_not_overwritten(machine, first, body, mistake):
    state = apply_to(machine, first, body)
    assert state["failed"] and mistake in state["text"]


@pytest.mark.parametrize("first,body,left", (
    ("[1]", "grains.present: [{value: 2, force: true}]", 2),
    ("[1]", "grains.absent: [{destructive: true, force: true}]", "missing"),
    ("text", "grains.append: [{value: 2, convert: true}]", ["text", 2]),
    ("[1, 2]", "grains.list_absent: [{value: [1, 2]}]", []),
    ("{a: 1}", "grains.present: [{name: it/b, delimiter: /, value: 3}]", {"a": 1, "b": 3})))
def test_a_grain_changes_once(machine, first, body, left):
    assert apply_to(machine, first, body)["changed"]
    assert facts_of(machine).get("it", "missing") == left
    assert not apply_to(machine, None, body)["changed"]
