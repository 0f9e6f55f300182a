"""A peel uses the plan of an earlier run again, and never when it would be another one now."""
import pytest

from fleet import SERVER, Fleet
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
USED = "plan of an earlier run used"


class Home:
    """A fleet of one peel whose highstate writes a file; what is in it comes from files, facts and settings."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.tree, self.settings, self.out, self.said = (fleet.folder / name for name in ("tree", "settings", "out", "said"))
        for folder in (self.tree, self.settings):
            folder.mkdir()
        self.write_states("one")
        (self.tree / "map.jinja").write_text("{% set word = 'two' %}\n")
        (self.tree / "top.zy").write_text("base: {'*': [made]}\n")
        (self.tree / "asking.zy").write_text(f"{fleet.folder}/asked: {{file.managed: [contents: \"{{{{ salt['cmd.run']('cat {self.said}') }}}}\"]}}\n")
        (self.settings / "top.zy").write_text("base: {'*': [port]}\n")
        (self.settings / "port.zy").write_text("port: 80\n")
        fleet.start_server()
        self.master = fleet.start_ready_master(enroll={"rate_burst": 0}, states_dir=str(self.tree), settings_dir=str(self.settings))
        self.peel = start_peel(fleet, self.master, "web-01", log_level="debug")
        self.wait_for("one two none 80")

    def write_states(self, word):
        (self.tree / "made.zy").write_text(
            "{% from 'map.jinja' import word %}\n"
            f"{self.out}:\n  file.managed:\n    - contents: {word} {{{{ word }}}} {{{{ facts.get('colour', 'none') }}}} {{{{ pillar.get('port', 0) }}}}\n")

    def run(self):
        return self.fleet.zester("web-01", "state.highstate", status=None)

    def uses(self):
        return self.peel.log().count(USED)

    def uses_plan(self):
        """One more run: has it used a plan of before?"""
        before = self.uses()
        return self.run().returncode == 0 and self.uses() > before

    def wait_for_use(self):
        self.fleet.wait(self.uses_plan, "a run uses the plan of an earlier one")

    def wait_for(self, text):
        """New files, facts and settings take a moment to get there."""
        def is_written():
            return self.run().returncode == 0 and self.out.exists() and self.out.read_text() == f"{text}\n"
        self.fleet.wait(is_written, text)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        yield Home(fleet)


def test_a_run_with_the_plan_of_an_earlier_one_repairs_what_has_drifted(home):
    text = home.out.read_text()

    def repairs():
        home.out.write_text("drifted\n")
        used = home.uses_plan()
        assert home.out.read_text() == text
        return used
    home.fleet.wait(repairs, "a run with a plan of before repairs the file")
    assert "changed: false" in home.run().stdout


def test_changed_files_facts_and_settings_are_in_the_next_plan(home):
    home.wait_for_use()
    home.write_states("uno")
    home.wait_for("uno two none 80")
    home.wait_for_use()
    (home.tree / "map.jinja").write_text("{% set word = 'due' %}\n")
    home.wait_for("uno due none 80")
    home.wait_for_use()
    (home.settings / "port.zy").write_text("port: 81\n")
    home.wait_for("uno due none 81")
    home.wait_for_use()
    home.fleet.zester("web-01", "facts.set", "key=colour", "value=red")
    home.wait_for("uno due red 81")
    home.wait_for_use()
    assert home.out.read_text() == "uno due red 81\n"


def test_a_template_that_runs_a_command_is_rendered_each_time(home):
    before = home.uses()
    for word in ("first", "second", "third"):
        home.said.write_text(word)
        home.fleet.zester("web-01", "state.apply", "asking")
        assert (home.fleet.folder / "asked").read_text() == f"{word}\n"
    assert home.uses() == before
