"""What an operator sees of a fleet of real processes: the list of its machines, the report of their runs, the live view."""
import html.parser
import json
import re
import shutil
import signal
import tempfile

import pytest

from bus import Bus
from fleet import BUILD, SERVER, Fleet
from packing import pack
from peels import fetch_credentials, start_with_tree
from terminal import Screen, Tmux

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
NAMES = ("web-01", "web-02")
HOSTILE = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script><img src=http://evil.example/x>\x9b31m\u202egnp.exe"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Two peels whose highstate is one file, FOLDER/work/ID, and a command that fails while FOLDER/work/broken exists."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.work = fleet.folder / "work"
        fleet.work.mkdir()
        site = (f"{fleet.work}/{{{{ facts.id }}}}:\n  file.managed:\n    - contents: hello\n"
                f"check:\n  cmd.run:\n    - name: test ! -e {fleet.work}/broken\n"
                f"    - onlyif: test -e {fleet.work}/broken\n    - require: [file: '{fleet.work}/{{{{ facts.id }}}}']\n")
        late = (f"early: {{file.absent: [{{name: {fleet.work}/late}}]}}\n"
                f"late: {{cmd.run: [{{name: touch {fleet.work}/late, require: [{{file: early}}]}}]}}\n")
        (fleet.folder / "rules").mkdir()
        (fleet.folder / "rules/top.zy").write_text("reactor:\n  - '_admin/*': [reactor.apply]\n")
        (fleet.folder / "rules/apply.zy").write_text("site:\n  dispatch.state: { target: web-01, sls: site, wait: true }\n")
        start_with_tree(fleet, NAMES, {"top": "base:\n  '*': [site]\n", "site": site, "late": late}, reactor={"dir": str(fleet.folder / "rules")})
        yield fleet


def listed(fleet):
    return {row["peel_id"]: row for row in fleet.zester_json("peel", "list")}


def wait_drift(fleet, drift, name="web-01"):
    """Until the list shows this drift of a peel; returns its row."""
    fleet.wait(lambda: listed(fleet)[name]["drift"] == drift, f"{name} is '{drift}'")
    return listed(fleet)[name]


def forget_heartbeat(fleet, name):
    """What the bucket does by itself after half a minute."""
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "admin.creds") as bus:
        reply = bus.request("$JS.API.STREAM.PURGE.KV_peel-heartbeat", json.dumps({"filter": f"$KV.peel-heartbeat.{name}"}).encode())
    assert json.loads(reply)["success"] is True


def test_the_list_says_when_machines_converged_and_what_differs_since(fleet):
    row = listed(fleet)["web-01"]
    assert list(row)[:5] == ["peel_id", "os", "arch", "online", "last_seen"]
    assert (row["drift"], row["converged"], row["last_run"], row["differs"]) == ("unknown", None, None, [])

    fleet.zester("*", "state.highstate")
    row = wait_drift(fleet, "none")
    converged = row["converged"]
    assert converged and row["last_run"]["function"] == "state.highstate" and row["last_run"]["states"] == 2

    own = fleet.work / "web-01"
    own.write_text("by hand")
    fleet.zester("web-01", "state.highstate", "--test")
    row = wait_drift(fleet, "drifted")
    assert f"file.managed:{own}" in row["differs"] and row["last_run"]["test"] is True
    assert row["converged"] == converged
    assert listed(fleet)["web-02"]["drift"] == "none"
    assert f"file.managed:{own}" in fleet.zester("peel", "list").stdout

    (fleet.work / "broken").touch()
    answer, = fleet.zester_json("web-01", "state.highstate", status=2)
    assert {result["name"]: result["place"] for result in answer["results"] if "error" in result} == {"cmd.run:check": "site.zy:4:1"}, answer
    row = wait_drift(fleet, "failed")
    assert row["differs"] == ["cmd.run:check"] and row["converged"] == converged
    assert "1 failed: cmd.run:check" in fleet.zester("peel", "list").stdout

    (fleet.work / "broken").unlink()
    fleet.zester("web-01", "state.highstate")
    assert wait_drift(fleet, "none")["converged"] >= converged
    assert own.read_text() == "hello\n"


def test_a_run_that_has_not_converged_is_drift_and_a_change_since_makes_it_unknown(fleet):
    answer, = fleet.zester_json("web-01", "state.apply", "late")
    assert (answer["status"], answer["converged"]) == ("success", False)
    assert {result["name"]: result.get("would_change_again") for result in answer["results"]} == {
        "file.absent:early": f"{fleet.work}/late exists and should be absent", "cmd.run:late": None}
    row = wait_drift(fleet, "drifted")
    assert row["differs"] == ["file.absent:early"] and row["last_run"]["would_change_again"] == 1
    assert "1 would change again: file.absent:early" in fleet.zester("peel", "list").stdout
    text = fleet.zester("web-01", "state.apply", "late").stdout
    assert "would change again: " in text and "    not converged: 1 would change again\n" in text and "1 not converged" in text
    report = json.loads(fleet.zester("report", "web-01", "--format", "json").stdout)
    assert report["summary"]["drifted"] == 1
    assert [state.get("would_change_again") for state in report["machines"][0]["states"] if state["name"] == "file.absent:early"] == [
        f"{fleet.work}/late exists and should be absent"]

    assert fleet.zester_json("web-01", "state.highstate")[0]["converged"] is True
    assert wait_drift(fleet, "none")["last_run"]["stale"] is False
    fleet.zester("web-01", "file.absent", f"{fleet.work}/late")
    assert wait_drift(fleet, "unknown")["last_run"]["stale"] is True
    assert "unknown: changed since the last run" in fleet.zester("peel", "list").stdout
    fleet.zester("web-01", "state.highstate")
    wait_drift(fleet, "none")


def test_of_a_machine_that_is_down_the_jobs_tell(fleet):
    (fleet.work / "web-02").unlink(missing_ok=True)
    fleet.zester("web-02", "state.highstate")
    fleet.zester("web-02", "state.highstate", "--test")
    before = wait_drift(fleet, "none", "web-02")
    fleet.peels["web-02"].stop()
    forget_heartbeat(fleet, "web-02")
    row = listed(fleet)["web-02"]
    assert not row["online"] and row["last_seen"] is None
    assert (row["drift"], row["converged"], row["last_run"]["id"]) == (before["drift"], before["converged"], before["last_run"]["id"])
    fleet.peels["web-02"].start()
    fleet.wait_ready(fleet.peels["web-02"])


def test_why_leads_from_a_state_of_a_machine_to_the_job_that_ran_it_and_who_asked(fleet):
    fleet.zester("*", "state.highstate")
    found = fleet.zester_json("why", "web-01", f"file.managed:{fleet.work}/web-01")
    assert [link["kind"] for link in found["chain"]] == ["state", "run", "job"], found
    assert found["chain"][0]["what"].startswith("on web-01, ") and found["chain"][1]["id"] == found["chain"][2]["id"]
    assert found["chain"][2]["what"].startswith("state.highstate on 2 peels, complete, 2 of 2 succeeded")
    assert found["first_cause"].startswith("requested by ")
    assert "no state 'nope' in the last job of web-01" in fleet.zester("why", "web-01", "nope", status=1).stderr
    assert "no peel 'nope'" in fleet.zester("why", "nope", "check", status=1).stderr


def test_why_leads_from_a_state_over_the_job_of_a_reaction_to_the_event(fleet):
    assert "no event of the last week matched a rule with 'reactor.nope'" in fleet.zester("why", "reactor.nope", status=1).stderr
    event = fleet.zester_json("event", "send", "site/changed", "by=hand")["id"]

    def why(*thing):
        result = fleet.zester("why", *thing, "--format", "json", status=None)
        return json.loads(result.stdout) if result.returncode == 0 else None
    reaction = fleet.wait(lambda: why("reactor.apply"), "the reaction is recorded")
    assert [link["id"] for link in reaction["chain"]] == ["reactor.apply", event] and reaction["kind"] == "reaction", reaction
    assert reaction["chain"][0]["what"].startswith("dispatched for _admin/site/changed, site dispatched (rxn-"), reaction
    assert reaction["first_cause"] == "sent by an operator"
    found = why("web-01", f"file.managed:{fleet.work}/web-01")
    assert [link["kind"] for link in found["chain"]] == ["state", "run", "job", "reaction", "event"], found
    assert found["chain"][1]["id"].startswith("rxn-") and found["chain"][-1]["id"] == event, found


class Tags(html.parser.HTMLParser):
    """The elements of a page, and the values of attributes that could load something."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.links.update(value for name, value in attrs if name in ("src", "href", "xlink:href", "style", "action"))


def test_the_report_has_the_last_run_of_every_machine_and_folds_failures(fleet):
    (fleet.work / "broken").touch()
    fleet.zester("*", "state.highstate", status=2)
    out = fleet.folder / "report.html"
    assert "2 machines, 2 failed" in fleet.zester("report", "--out", out).stderr
    data = fleet.zester_json("report")
    assert (data["summary"]["machines"], data["summary"]["failed"]) == (2, 2) and len(data["failures"][0]["machines"]) == 2
    page = out.read_text()
    causes = re.search('<section id="failures">(.*?)</section>', page, re.S).group(1)
    assert causes.count("<tr><td") == 1 and '<td class="n">2</td>' in causes and "cmd.run:check" in causes
    assert page.count('<svg class="graph"') == 1  # the plans are the same but for the names of the machines
    assert page.count('class="box') == 2 and page.count('marker-end="url(#tip)"') == 1
    (fleet.work / "broken").unlink()
    assert "1 machine, " in fleet.zester("report", "web-01", "--out", out).stderr
    assert "web-02" not in out.read_text()
    assert fleet.zester("report", "nobody", "--out", out, status=5).stderr == "No peels matched the target expression.\n"


def test_the_report_has_the_states_of_a_run_that_was_not_a_job(fleet):
    fleet.zester("*", "state.highstate")
    fleet.zester("web-01", "state.apply", "site", "--direct")
    out = fleet.folder / "own.html"

    def has_own_run():
        fleet.zester("report", "web-01", "--out", out)
        return "state.apply site" in out.read_text()

    fleet.wait(has_own_run, "the heartbeat has the run")
    page = out.read_text()
    assert f"file.managed:{fleet.work}/web-01" in page and "cmd.run:check" in page
    assert listed(fleet)["web-01"]["last_run"]["refs"] == ["site"]
    assert "only its summary is known" not in page and page.count('<svg class="graph"') == 1


@pytest.fixture(scope="module")
def evil(fleet):
    """A machine with good credentials, all of whose texts are hostile."""
    fetch_credentials(fleet, fleet.master, "evil-01", fleet.folder / "evil/auth")
    run = {"id": HOSTILE, "function": HOSTILE, "refs": [HOSTILE], "success": False, "states": 1, "failed": 1,
           "differs": [HOSTILE], "error": HOSTILE}
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.folder / "evil/auth/evil-01.creds") as bus:
        bus.publish("$KV.facts.evil-01", pack({"os": {"name": HOSTILE, "arch": HOSTILE}}))
        bus.publish("$KV.peel-heartbeat.evil-01", pack({"version": HOSTILE, "run": run}))
        bus.flush()
    return "evil-01"


def test_a_hostile_machine_writes_nothing_but_text(fleet, evil):
    text = fleet.zester("peel", "list").stdout
    assert evil in text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    fleet.zester("report", "--out", fleet.folder / "evil.html")
    tags = Tags((fleet.folder / "evil.html").read_text())
    assert evil in (fleet.folder / "evil.html").read_text()
    assert not tags.names & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert all(link == "" or link.startswith("#") or link == "position:absolute" or link.startswith("fill:") for link in tags.links)


def top(fleet, **more):
    return Screen([f"{BUILD}/zester", "top", "--config", str(fleet.write_cli_conf())], **more)


def test_without_a_terminal_top_prints_once_or_says_how(fleet):
    assert "--once" in fleet.zester("top", status=1).stderr
    fleet.zester("web-01", "test.ping")
    fleet.zester("event", "send", "seen/once")
    frame = fleet.zester_json("top")
    rows = {row["peel_id"]: row for row in frame["machines"]}
    assert rows["web-01"]["online"] is True and frame["masters"] == 1 and frame["lag"] is not None
    assert "test.ping" in {row["function"] for row in frame["jobs"]}
    assert "_admin/seen/once" in {row["key"] for row in frame["events"]}
    text = fleet.zester("top", "--once").stdout
    assert "\x1b" not in text and "MACHINE" in text and "test.ping" in text and "_admin/seen/once" in text


def test_top_follows_the_fleet_and_its_keys_work(fleet):
    with top(fleet) as screen:
        lines = screen.wait("web-02")
        assert len(lines) == 24 and lines[0].startswith("zester top") and lines[-1].startswith("q quit")
        fleet.zester("event", "send", "seen/live")
        screen.press("3")
        screen.wait("_admin/seen/live")
        fleet.zester("web-01", "cmd.run", "true")
        screen.press("2")
        screen.wait("cmd.run")
        screen.press("1/WEB-01\r")
        screen.wait("/ filter: WEB-01")
        assert not any(line.startswith("web-02") for line in screen.lines())
        screen.press("\x1b[B")  # an arrow is not an Escape
        screen.press("\x1b")
        screen.wait("web-02")
        screen.press("s")
        screen.wait("sort: drift")
        screen.resize(30, 60)
        fleet.wait(lambda: screen.read() or len(screen.lines()) == 30, "a frame of the new size")
        assert not [line for line in screen.lines() if len(line) > 60]
        screen.press("q")
        assert screen.end() == 0 and screen.is_restored()


@pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux in PATH")
def test_in_tmux_top_draws_what_a_person_reads_and_gives_the_screen_back(fleet):
    with tempfile.TemporaryDirectory(prefix="tmux-") as folder, \
            Tmux(folder, f"{BUILD}/zester top --config {fleet.write_cli_conf()}") as window:
        lines = window.wait("web-02")
        assert lines[0].startswith("zester top") and lines[23].startswith("q quit") and "begun" not in lines
        assert " lag " in lines[0], "the head fits"
        window.press("2")
        fleet.zester("web-01", "cmd.run", "true")
        window.wait("cmd.run")
        window.press("Enter")
        lines = window.wait("zester job show ")
        assert any(line.split() == ["FUNCTION", "cmd.run"] for line in lines) and lines[23].startswith("q back"), lines
        window.press("Escape")
        window.wait("RETURNS")
        window.press("?")
        assert any(line.startswith("Enter ") for line in window.wait("choose the list"))
        window.press("q")
        window.wait("q quit")
        window.press("1", "Enter")
        window.wait("state.last")
        window.press("q")
        window.wait("MACHINE")
        window.press("/", "web-01", "Enter")
        lines = window.wait("/ filter: web-01")
        assert any(line.startswith("web-01") for line in lines) and not any(line.startswith("web-02") for line in lines)
        window.press("Escape")
        window.wait("web-02")
        window.resize(30, 60)
        fleet.wait(lambda: window.lines()[29].startswith("q quit"), "a frame of the new size")
        window.press("q")
        assert [line for line in window.wait("ended") if line] == ["begun", "ended 0"]


@pytest.mark.parametrize("way, status", [("q", 0), ("\x03", 0), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
                                         (signal.SIGABRT, -6)])
def test_however_top_ends_the_terminal_is_as_it_was(fleet, way, status):
    with top(fleet) as screen:
        screen.wait("web-01")
        if isinstance(way, str):
            screen.press(way)
        else:
            screen.process.send_signal(way)
        assert screen.end() == status and screen.is_restored()


def test_a_hostile_machine_does_not_steer_the_terminal_of_top(fleet, evil):
    with top(fleet) as screen:
        screen.wait(evil)
        screen.press("q")
        assert screen.end() == 0
    assert "owned" in screen.output
    ours = re.sub("\x1b\\[(\\?[0-9]+[hl]|[0-9;]*m|[HJK]|2J)", "", screen.output)
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", ours)
