"""page - what `make bench` leaves behind: build/bench/results.json, the tables as results.md, and the ratios as ratios.svg.

A run of one benchmark replaces its part of the results and keeps the others; each part says when it was measured and how busy the machine was.
"""
import html
import json
import math
import os
import time

FOLDER = "build/bench"
RESULTS = f"{FOLDER}/results.json"
# The chart, in pixels.
ROW, LABEL, PLOT, MARGIN = 18, 330, 460, 24
LOW, HIGH = -4, 2  # powers of ten of a ratio
COLOURS = {True: "#2a7f62", False: "#b5533c"}


def load():
    try:
        with open(RESULTS, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def as_part(title, header, rows, notes, ratios):
    return {"title": title, "header": header, "rows": rows, "notes": notes, "ratios": ratios, "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "load": os.getloadavg()[0], "cores": os.cpu_count()}


def as_tables(parts):
    """Markdown."""
    lines = []
    for name, part in parts.items():
        lines += [f"### {name}", "", f"{part['title']}. `make bench BENCH={name}`, {part['when']}, load {part['load']:.1f} on {part['cores']} cores.", ""]
        lines += ["| " + " | ".join(part["header"]) + " |", "|" + "---|" * len(part["header"])]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in part["rows"]]
        lines += ["", *(f"{note[0].upper()}{note[1:]}.\n" for note in part["notes"])]
    return "\n".join(lines) + "\n"


def place(ratio):
    """Where a ratio is on the axis."""
    power = min(max(math.log10(ratio), LOW), HIGH)
    return LABEL + (power - LOW) / (HIGH - LOW) * PLOT


def bar(y, what, ratio):
    one, at = place(1), place(ratio)
    begin, width = min(one, at), max(abs(at - one), 1)
    label = html.escape(what)
    return (f'<text x="{LABEL - 8}" y="{y + 13}" text-anchor="end">{label}</text>'
            f'<rect x="{begin:.1f}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}" fill="{COLOURS[ratio <= 1]}"><title>{label}: {ratio:.3g}</title></rect>'
            f'<text x="{LABEL + PLOT + 8}" y="{y + 13}">{ratio:.3g}</text>')


def as_chart(parts):
    """A bar for each row: to the left of 1 we need less time than the peer, to the right more."""
    body, y = [], MARGIN + ROW
    for name, part in parts.items():
        body.append(f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end" font-weight="bold">{html.escape(name)}</text>')
        y += ROW
        for what, ratio in part["ratios"]:
            body.append(bar(y, what, ratio))
            y += ROW
    axis = "".join(f'<line x1="{place(10.0**power):.1f}" x2="{place(10.0**power):.1f}" y1="{MARGIN + ROW}" y2="{y}" stroke="{"#333" if power == 0 else "#ddd"}"/>'
                   f'<text x="{place(10.0**power):.1f}" y="{MARGIN + 12}" text-anchor="middle">{10.0**power:g}</text>' for power in range(LOW, HIGH + 1))
    width, height = LABEL + PLOT + 80, y + MARGIN
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
            f'<rect width="{width}" height="{height}" fill="white"/><text x="{LABEL}" y="16">our time divided by that of the peer: less is better</text>'
            f'{axis}{"".join(body)}</svg>\n')


def write(name, text):
    with open(f"{FOLDER}/{name}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{FOLDER}/{name}.new", f"{FOLDER}/{name}")


def keep(name, part):
    parts = load()
    parts[name] = part
    parts = dict(sorted(parts.items()))
    os.makedirs(FOLDER, exist_ok=True)
    write("results.json", json.dumps(parts, indent=1))
    write("results.md", as_tables(parts))
    write("ratios.svg", as_chart(parts))
