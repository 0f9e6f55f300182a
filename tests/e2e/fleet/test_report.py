"""'zester report', as a person sees it in a browser: headless Chromium opens the file."""
import json
import os
import re
import stat
import subprocess

import pytest

from browser import CHROMIUM, Browser
from fleet import BUILD

needs_browser = pytest.mark.skipif(not CHROMIUM, reason="no chromium in PATH")
HOSTILE = "<img src=x onerror=alert(1)><script>document.title='owned'</script>"
STATES = """
first:
  file.managed:
    - name: {folder}/conf
    - contents: "{long}"
broken:
  cmd.run:
    - name: echo "{hostile}" >&2; exit 3
    - require: [file: first]
"<b>{hostile}":
  cmd.run:
    - name: 'true'
    - require: [cmd: broken]
slow:
  cmd.run:
    - name: sleep 0.1
"""


def zester(*words, status=0, **more):
    result = subprocess.run([f"{BUILD}/zester", "--local", *map(str, words)], capture_output=True, text=True, timeout=60, **more)
    assert result.returncode == status, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder with the report of a run in which a state failed."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "states").mkdir()
    (folder / "states/web.zy").write_text(STATES.format(folder=folder, hostile=HOSTILE.replace('"', "'"), long="x" * 3000))
    zester("--states-dir", folder / "states", "--data-dir", folder / "data", "state.apply", "web", status=2)
    zester("--data-dir", folder / "data", "report", "--out", folder / "report.html")
    return folder


@pytest.fixture(scope="module")
def page(folder):
    with Browser(folder) as browser:
        yield browser.open(folder / "report.html")


def test_without_a_run_on_record_there_is_no_report_but_a_hint(tmp_path):
    result = zester("--data-dir", tmp_path, "report", "--out", tmp_path / "report.html", status=1)
    assert "no recorded run" in result.stderr and "state.apply" in result.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_new_report_is_for_its_owner_an_old_one_keeps_its_mode_and_a_link_is_replaced(folder, tmp_path):
    out = tmp_path / "report.html"
    zester("--data-dir", folder / "data", "report", "--out", out)
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o600
    out.chmod(0o644)
    zester("--data-dir", folder / "data", "report", "--out", out)
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o644
    precious = tmp_path / "precious"
    precious.write_text("mine")
    out.unlink()
    out.symlink_to(precious)
    zester("--data-dir", folder / "data", "report", "--out", out)
    assert precious.read_text() == "mine" and not out.is_symlink()
    assert os.listdir(tmp_path) and sorted(os.listdir(tmp_path)) == ["precious", "report.html"]
    assert zester("--data-dir", folder / "data", "report", "--out", "-").stdout.startswith("<!DOCTYPE html>")


@needs_browser
def test_a_person_sees_the_run_its_failure_and_what_was_slow(page):
    text = page.evaluate("document.body.innerText")
    for words in ("zester report", "1 failed", "Failures by cause", "exit status 3", "Slowest states", "cmd.run:slow", "skipped"):
        assert words in text, words
    assert page.evaluate("document.title") == "zester report"
    failed = "[...document.querySelectorAll('td.failed')].filter(e => e.getBoundingClientRect().height > 0).length"
    assert page.evaluate(failed) >= 2
    rows = page.evaluate("[...document.querySelectorAll('#slowest tbody tr')].map(e => e.innerText)")
    slow, = (row for row in rows if row.startswith("cmd.run:slow"))
    assert re.search(r"\t([1-9][0-9]{2,}(\.[0-9]+)? ms|[0-9.]+ (s|m.*))\t", slow)  # it sleeps for a tenth of a second


@needs_browser
def test_the_same_numbers_are_there_for_programs(folder, tmp_path):
    data = json.loads(zester("--data-dir", folder / "data", "report", "--format", "json").stdout)
    html = (folder / "report.html").read_text()
    assert data["summary"] == {"machines": 1, "converged": 0, "drifted": 0, "failed": 1, "unknown": 0}
    for word, count in (("converged", 0), ("drifted", 0), ("failed", 1), ("unknown", 0)):
        assert f">{count}</b>{word}</div>" in html and data["summary"][word] == count
    machine, = data["machines"]
    run, states = machine["last_run"], machine["states"]
    row = re.search(r"(?:<td class=\"n wide\">(\d+)</td>){3}", html).group(0)
    assert re.findall(r"\d+", row) == [str(run[key]) for key in ("states", "changed", "failed")]
    assert run["states"] == len(states) and run["failed"] == sum(state["outcome"] == "failed" for state in states)
    assert [cause["state"] for cause in data["failures"]] == [state["name"] for state in states if state["outcome"] == "failed"]
    assert len(data["slowest"]) == html.split('id="slowest"')[1].split("</section>")[0].count("<tr>") - 1
    written = zester("--data-dir", folder / "data", "report", "--format", "yaml", "--out", tmp_path / "report.yaml")
    assert "wrote" in written.stderr and "summary:" in (tmp_path / "report.yaml").read_text() and written.stdout == ""


def test_what_a_machine_says_is_text_and_nothing_is_loaded_or_run(page, folder):
    assert HOSTILE in page.evaluate("document.querySelector('#failures pre').innerText")
    assert page.evaluate("document.querySelectorAll('script, img, b:not(.card b), link, iframe').length") == 0
    assert page.evaluate("document.querySelectorAll('[onerror], [onload]').length") == 0
    assert page.requests == [f"file://{folder}/report.html"]


@needs_browser
def test_the_graph_is_drawn_a_column_for_each_level(page):
    boxes = page.evaluate("""[...document.querySelectorAll('svg.graph rect.box')].map(e => {
        const r = e.getBoundingClientRect(); return [r.left, r.width, r.height, e.getAttribute('class')] })""")
    assert len(boxes) == 4 and all(width > 20 and height > 10 for _, width, height, _ in boxes)
    assert len({left for left, *_ in boxes}) == 3
    assert [look for *_, look in boxes].count("box failed") == 1
    arrows = page.evaluate("[...document.querySelectorAll('svg.graph > path')].map(e => e.getTotalLength())")
    assert len(arrows) == 2 and all(length > 20 for length in arrows)
    fits = """[...document.querySelectorAll('svg.graph rect.box')].every(e =>
        e.nextElementSibling.getBBox().width <= e.getBBox().width)"""
    assert page.evaluate(fits)
    margins = page.evaluate("""(svg => { const all = [...svg.querySelectorAll('rect.box')].map(e => e.getBBox());
        const size = svg.viewBox.baseVal;
        return [Math.min(...all.map(b => b.x)), Math.min(...all.map(b => b.y)), size.width - Math.max(...all.map(b => b.x + b.width)),
                size.height - Math.max(...all.map(b => b.y + b.height))]; })(document.querySelector('svg.graph'))""")
    assert margins == [20] * 4


@needs_browser
def test_nothing_sticks_out_of_the_window_neither_wide_nor_narrow(page, folder):
    for width in (1200, 420, 390):
        page.resize(width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(folder / f"report-{width}.png")
        assert (folder / f"report-{width}.png").stat().st_size > 5000
    page.resize(1200)


@needs_browser
def test_a_telephone_shows_each_machine_and_its_drift_without_scrolling(page):
    page.resize(390)
    table = "(e => [e.scrollWidth, e.clientWidth])(document.querySelector('#machines .scroll'))"
    wide, room = page.evaluate(table)
    assert wide <= room <= 390
    assert page.evaluate("document.querySelector('#machines tbody tr').innerText").endswith("1 failed: cmd.run:broken")
    page.resize(1200)


@needs_browser
def test_differences_are_shown_unchanged_states_are_folded_and_labels_are_whole(tmp_path):
    name = "a-name-that-is-much-longer-than-the-boxes-of-graphs-once-were-allowed-to-be"
    (tmp_path / "states").mkdir()
    (tmp_path / "states/web.zy").write_text(f"same: {{test.nop: []}}\n{name}:\n  file.managed:\n    - name: {tmp_path}/conf\n"
                                            "    - contents: workers = 2\n    - require: [test: same]\n")
    zester("--states-dir", tmp_path / "states", "--data-dir", tmp_path / "data", "state.apply", "web")
    (tmp_path / "conf").write_text("workers = 99\n")
    zester("--states-dir", tmp_path / "states", "--data-dir", tmp_path / "data", "state.apply", "web", "--test")
    zester("--data-dir", tmp_path / "data", "report", "--out", tmp_path / "report.html", env={**os.environ, "TZ": "UTC-3"})
    with Browser(tmp_path) as browser:
        page = browser.open(tmp_path / "report.html")
        text = page.evaluate("document.body.innerText")
        assert "-workers = 99\n+workers = 2" in text and "1 unchanged" in text and "would change" in text and "+0300" in text
        assert "test.nop:same" not in page.evaluate("document.querySelector('#states').innerText")
        assert "test.nop:same" in page.evaluate("document.querySelector('#states details.fold').textContent")
        labels = page.evaluate("[...document.querySelectorAll('svg.graph text')].map(e => e.firstChild.data)")
        assert f"file.managed:{name}" in labels
        assert page.evaluate("document.querySelector('.legend').innerText").split() == ["failed", "changed", "skipped", "unchanged"]
        page.resize(390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@needs_browser
def test_it_is_dark_where_the_reader_is_and_white_on_paper(page):
    colours = "(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))"
    page.emulate(prefers_color_scheme="light")
    light = page.evaluate(colours)
    page.emulate(prefers_color_scheme="dark")
    dark = page.evaluate(colours)
    assert light == ["rgb(28, 35, 41)", "rgb(255, 255, 255)"] and dark == ["rgb(227, 232, 236)", "rgb(20, 25, 29)"]
    page.emulate("print")
    assert page.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert page.evaluate("getComputedStyle(document.querySelector('pre')).maxHeight") == "none"
    page.emulate()
