"""Templates made by chance, rendered by ours and by Jinja2: the same bytes, or both fail.

The seed of a case is printed when it differs; ZESTER_SEED=N runs that one alone, ZESTER_CASES=N
sets how many: 400 in `make test`, 5,000 in `make faults`. They are the same everywhere, also on a machine that is fast or slow.
"""
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import jinja2

from template_maker import CONTEXT, Maker

BUILD = os.environ.get("ZESTER_BUILD", "build/asan")
ZESTER = os.path.abspath(os.path.join(BUILD, "zester"))
FIRST_SEED = 20260000
CASES = int(os.environ.get("ZESTER_CASES", "400"))


def environment(settings):
    return jinja2.Environment(
        undefined=jinja2.StrictUndefined if settings["strict"] else jinja2.Undefined,
        trim_blocks=settings["trim"], lstrip_blocks=settings["lstrip"], keep_trailing_newline=True,
        autoescape=settings["escape"], extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])


def render_theirs(template, settings):
    """The text, or None when it fails, or False when no comparison makes sense."""
    try:
        text = environment(settings).from_string(template).render(**json.loads(json.dumps(CONTEXT)))
    except RecursionError:
        return False
    except Exception:
        return None
    if " at 0x" in text or re.search(r"\d{19,}", text):
        return False  # an address, or an integer beyond 64 bits
    return text


def render_ours(template, settings, context_file):
    words = [ZESTER, "render", "-", "--context", context_file, "--undefined", "strict" if settings["strict"] else "lenient"]
    words += ["--trim-blocks"] * settings["trim"] + ["--lstrip-blocks"] * settings["lstrip"] + ["--autoescape"] * settings["escape"]
    run = subprocess.run(words, input=template.encode(), capture_output=True, timeout=60)
    assert run.returncode in (0, 1), "exit %d\n%s\n%s" % (run.returncode, template, run.stderr.decode("utf-8", "replace"))
    if run.returncode == 1 and b"integer overflow" in run.stderr:
        return False
    return run.stdout.decode() if run.returncode == 0 else None


def differs(seed, context_file):
    maker = Maker(seed)
    settings = {k: maker.chance(p) for k, p in (("strict", 0.5), ("trim", 0.3), ("lstrip", 0.3), ("escape", 0.15))}
    template = maker.template()
    theirs = render_theirs(template, settings)
    if theirs is False:
        return None
    ours = render_ours(template, settings, context_file)
    if ours is False or ours == theirs:
        return None
    return "seed %d %s\n--- template\n%s\n--- ours\n%r\n--- Jinja2\n%r\n" % (seed, settings, template, ours, theirs)


def test_generated_templates_render_as_jinja2_renders_them(tmp_path):
    context_file = str(tmp_path / "context.json")
    with open(context_file, "w") as f:
        json.dump(CONTEXT, f)
    if "ZESTER_SEED" in os.environ:
        seeds = [int(os.environ["ZESTER_SEED"])]
    else:
        seeds = range(FIRST_SEED, FIRST_SEED + CASES)
    with ThreadPoolExecutor(2) as pool:
        found = [result for result in pool.map(lambda seed: differs(seed, context_file), seeds) if result]
    assert not found, "%d of %d differ\n\n%s" % (len(found), len(seeds), "\n".join(found[:20]))
