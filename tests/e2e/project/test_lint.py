"""make lint refuses what it says it refuses: each check on a tiny tree with one mistake."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
FLOORS = """\
core:
    base:
    data: base
    sys: base
commands: core
    programs:
"""
HEADER = """\
#ifndef CORE_BASE_THING_H
#define CORE_BASE_THING_H

int thing_count(void);

#endif
"""
SOURCE = """\
#include "core/base/thing.h"

#include <stdio.h>

int thing_count(void)
{
    return 1;
}
"""


PROGRAM = """\
#include "core/base/thing.h"

int main(void)
{
    return thing_count();
}
"""


@pytest.fixture
def tree(tmp_path):
    """A tree without a mistake; write(path, text) adds one."""
    write(tmp_path, "src/LAYERS", FLOORS)
    write(tmp_path, "src/core/base/thing.h", HEADER)
    write(tmp_path, "src/core/base/thing.c", SOURCE)
    write(tmp_path, "Makefile", "WARNINGS := -Wall -Wshadow -Wconversion -Wvla -Werror\n")
    for name in (".clang-format", ".clang-tidy"):
        shutil.copy(TOP / name, tmp_path / name)
    return tmp_path


def write(root, path, text):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def build(root):
    """A program, and the objects of all sources where the release build has them."""
    write(root, "src/commands/programs/program.c", PROGRAM)
    for source in root.glob("src/*/*/*.c"):
        made = root / "build/release" / source.relative_to(root).with_suffix(".o")
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-c", "-I", str(root / "src"), "-o", str(made), str(source)], check=True)


def lint(root, *words):
    command = [sys.executable, str(TOP / "tools/lint"), "--root", str(root), *words]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def refused(root, *words):
    """The problems of a refused tree."""
    result = lint(root, *words)
    assert result.returncode == 1, result.stdout + result.stderr
    assert not result.stderr
    return result.stdout


def test_a_tree_without_mistakes_passes(tree):
    build(tree)
    result = lint(tree, "--fast")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "layers: ok" in result.stdout and "format: ok" in result.stdout


LAYERS = {
    "an include upwards": ('#include "core/data/value.h"\n', "'core/base' may not include 'core/data'"),
    "no folder": ('#include "value.h"\n', 'write "floor/folder/value.h"'),
    "a library behind another door": ("#include <yaml.h>\n", "<yaml.h> may be included in core/data only"),
    "a library in a folder": ("#include <msgpack/pack.h>\n", "<msgpack/pack.h> may be included in core/data only"),
    "a library without a door": ("#include <glib.h>\n", "give the library a door"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_an_include_that_breaks_the_layers_is_refused(tree, name):
    line, wanted = LAYERS[name]
    write(tree, "src/core/base/other.c", line)
    out = refused(tree, "--only", "layers")
    assert "src/core/base/other.c:1: " in out and wanted in out


def test_the_own_header_comes_first(tree):
    write(tree, "src/core/base/thing.c", "#include <stdio.h>\n" + SOURCE)
    assert 'src/core/base/thing.c:1: the own header comes first' in refused(tree, "--only", "layers")


def test_a_layer_names_only_folders_above_it(tree):
    write(tree, "src/LAYERS", "core:\n    base: data\n    data:\n")
    assert "src/LAYERS:2: 'core/base' names 'core/data', which is not above it" in refused(tree, "--only", "layers")


def test_a_layer_has_one_line(tree):
    write(tree, "src/LAYERS", "core:\n    base:\n    base:\ncore:\n")
    out = refused(tree, "--only", "layers")
    assert "src/LAYERS:3: a second line for 'base'" in out and "src/LAYERS:4: a second line for 'core'" in out


def test_a_folder_without_a_layer_is_refused(tree):
    write(tree, "src/core/drawer/x.c", "")
    write(tree, "src/cellar/base/x.c", "")
    write(tree, "src/core/loose.c", "")
    out = refused(tree, "--only", "layers")
    assert "no line for 'src/core/drawer'" in out and "no line for the floor 'src/cellar'" in out
    assert "src/core/loose.c:1: a file beside the folders of a floor" in out


def test_a_floor_uses_lower_floors_only(tree):
    write(tree, "src/LAYERS", "core: commands\n    base:\ncommands: core\n    programs:\n")
    assert "src/LAYERS:1: 'core' names 'commands', which is not above it" in refused(tree, "--only", "layers")
    write(tree, "src/LAYERS", FLOORS)
    write(tree, "src/core/base/other.c", '#include "commands/programs/thing.h"\n')
    write(tree, "src/commands/programs/thing.c", '#include "core/data/thing.h"\n')
    out = refused(tree, "--only", "layers")
    assert "src/core/base/other.c:1: 'core/base' may not include 'commands/programs'" in out and "programs/thing.c" not in out


# --- links -----------------------------------------------------------------------------------


def test_a_call_upwards_is_refused_without_an_include(tree):
    write(tree, "src/core/data/value.c", "int value_count(void);\nint value_count(void)\n{\n    return 2;\n}\n")
    write(tree, "src/core/base/thing.c", SOURCE.replace("return 1", "extern int value_count(void);\n    return value_count()"))
    build(tree)
    assert "src/core/base/thing.c:1: uses 'value_count' of src/core/data/value.c, and 'core/base' may not use 'core/data'" in \
        refused(tree, "--only", "links")


def test_a_header_without_its_code_is_refused(tree):
    write(tree, "src/core/data/thing.c", SOURCE)
    (tree / "src/core/base/thing.c").unlink()
    build(tree)
    assert "src/core/base/thing.h:4: 'thing_count' is declared here and defined in src/core/data/thing.c" in \
        refused(tree, "--only", "links")


def test_a_variable_that_is_declared_elsewhere_is_refused(tree):
    write(tree, "src/core/base/thing.h", HEADER.replace("int thing_count(void);", "int thing_count(void);\nextern int sum[2];"))
    write(tree, "src/core/data/sum.c", '#include "core/base/thing.h"\n\nint sum[2];\n')
    build(tree)
    assert "src/core/base/thing.h:5: 'sum' is declared here and defined in src/core/data/sum.c" in refused(tree, "--only", "links")


def test_a_table_that_the_build_makes_may_name_anything(tree):
    """The folder that declares it may use it; what stands in it may be above."""
    write(tree, "src/core/base/thing.h", HEADER.replace("int thing_count(void);", "typedef int count_fn(void);\ncount_fn thing_count;\nextern count_fn *const table[];"))
    write(tree, "src/core/base/thing.c", SOURCE.replace("return 1", "return table[0]()"))
    write(tree, "src/core/data/value.c", "int value_count(void);\nint value_count(void)\n{\n    return 2;\n}\n")
    build(tree)
    write(tree, "build/generated/table.c", "int value_count(void);\nint (*const table[])(void) = { value_count };\n")
    made = tree / "build/release/build/generated/table.o"
    made.parent.mkdir(parents=True)
    subprocess.run(["gcc", "-c", "-o", str(made), str(tree / "build/generated/table.c")], check=True)
    result = lint(tree, "--only", "links")
    assert result.returncode == 0, result.stdout


def test_a_file_that_no_program_needs_is_refused(tree):
    write(tree, "src/core/data/dead.c", "int dead(void);\nint dead(void)\n{\n    return 0;\n}\n")
    build(tree)
    assert "src/core/data/dead.c:1: no program is linked with this" in refused(tree, "--only", "links")


def test_objects_that_are_missing_or_old_are_reported(tree):
    assert "run make first" in refused(tree, "--only", "links")
    build(tree)
    newer = (tree / "build/release/src/core/base/thing.o").stat().st_mtime + 1
    os.utime(tree / "src/core/base/thing.c", (newer, newer))
    assert "src/core/base/thing.c:1: has no object of the release build that is new enough" in refused(tree, "--only", "links")


BODY = "int f(char *a)\n{{\n    {}\n}}\n"
TEXTS = {
    "strcpy": (BODY.format('strcpy(a, "b");'), ":3: 'strcpy' is banned"),
    "sscanf": (BODY.format('return sscanf(a, "%d", &n);'), ":3: 'sscanf' is banned"),
    "atoi": (BODY.format("return atoi(a);"), ":3: 'atoi' is banned"),
    "alloca": (BODY.format("return alloca(3);"), ":3: 'alloca' is banned"),
    "C++ comment": ("int a; // why\n", ":1: a C++ comment"),
    "work for later": ("/* one\n * FIX" + "ME: two */\n", ":2: work left for later"),
    "conditional": ("#ifdef __linux__\n#endif\n", ":1: conditional compilation"),
    "pragma": ('#pragma GCC diagnostic ignored "-Wvla"\n', ":1: a pragma"),
    "bare array": ("static char text[256];\n", ":1: an array of 256 characters"),
    "file in a pure folder": (BODY.format("return open(a, 0);"), ":3: 'open' in 'core/base', which is pure"),
    "clock in a pure folder": (BODY.format("return time(0);"), ":3: 'time' in 'core/base', which is pure"),
    "log in a library": (BODY.format('log_info("x");'), ":3: 'core/base' does not log"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_does_not_belong_into_a_source_is_refused(tree, name):
    text, wanted = TEXTS[name]
    write(tree, "src/core/base/other.c", text)
    assert f"src/core/base/other.c{wanted}" in refused(tree, "--only", "text")


@pytest.mark.parametrize("folder, call, wanted", [
    ("states/modules/file", "open(a, 0)", "'open' resolves a path of its own; use core/sys/site.h"),
    ("states/modules/file", "lchown(a, 0, 0)", "'lchown' resolves a path of its own"),
    ("states/run", "rename(a, a)", "'rename' resolves a path of its own"),
    ("states/undo", "chmod(a, 0)", "'chmod' resolves a path of its own"),
    ("states/modules/file", "fs_rename(a, a, 0)", "'fs_rename' is for our own data"),
    ("states/undo", "fs_unlink(a, 0)", None),
    ("core/sys", "lchown(a, 0, 0)", None),
    ("states/modules/file", "site_open(a, 0, 0)", None),
])
def test_what_changes_files_of_others_walks_their_paths_once(tree, folder, call, wanted):
    write(tree, "src/LAYERS", FLOORS + "states: core\n    undo:\n    run:\n    modules:\n")
    write(tree, f"src/{folder}/other.c", BODY.format(f"return {call};"))
    if wanted:
        assert f"src/{folder}/other.c:3: {wanted}" in refused(tree, "--only", "text")
    else:
        assert lint(tree, "--only", "text").returncode == 0


def test_words_in_texts_and_comments_are_not_calls(tree):
    text = '/* never strcpy(a, b) */\nstatic const char *help = "sprintf(x) // \\" gets(y)";\n'
    write(tree, "src/core/base/other.c", text)
    assert lint(tree, "--only", "text").returncode == 0


def test_a_constant_table_is_not_a_buffer(tree):
    write(tree, "src/core/base/other.c", "static const char forms[128] = { 0 };\n")
    assert lint(tree, "--only", "text").returncode == 0


def test_fields_and_longer_names_are_not_banned_calls(tree):
    write(tree, "src/core/base/other.c", BODY.format("return v->open(a) + s.time(a) + my_strcpy(a);"))
    assert lint(tree, "--only", "text").returncode == 0


def test_one_file_may_ask_for_the_processor(tree):
    for path in ("src/core/base/other.c", "src/core/sys/child.c"):
        write(tree, path, "#ifdef __x86_64__\n#endif\n")
    out = refused(tree, "--only", "text")
    assert "src/core/base/other.c:1: conditional compilation" in out and "src/core/sys/child.c:1:" not in out


GUARDS = {
    "another name": HEADER.replace("CORE_BASE_THING_H", "THING_H"),
    "none": "int thing_count(void);\n",
    "pragma once": "#pragma once\nint thing_count(void);\n",
    "code behind it": HEADER + "int more;\n",
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_header_without_its_guard_is_refused(tree, name):
    write(tree, "src/core/base/thing.h", GUARDS[name])
    assert "no header guard 'CORE_BASE_THING_H'" in refused(tree, "--only", "text")


def test_the_compiler_must_be_asked_to_refuse_arrays_of_variable_length(tree):
    write(tree, "Makefile", "WARNINGS := -Wall -Wshadow -Wconversion -Werror\n")
    assert "Makefile:1: the compiler is not asked for -Wvla" in refused(tree, "--only", "text")


WORDS = {
    "is no": ("/* A text that\n * is no number. */\n", ":2: 'is no'; write 'is not a ...'"),
    "wants": ('static const char *text = "the option wants a value";\n', ":1: 'wants'; write 'requires'"),
    "told": ("/* Mistakes are told. */\n", ":1: 'are told'; write 'is reported'"),
    "taken back": ('static const char *text = "2 runs were taken back";\n', ":1: 'taken back'; write 'revert'"),
    "as they should be": ("/* 25 are as they should be. */\n", ":1: 'as they should be'; write 'unchanged'"),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_that_the_glossary_replaces_are_refused(tree, name):
    text, wanted = WORDS[name]
    write(tree, "src/core/base/other.c", text)
    assert f"src/core/base/other.c{wanted}" in refused(tree, "--only", "words")


@pytest.mark.parametrize("path", ["Makefile", "packaging/man/zester.1", "tools/demo", "examples/kepler/README.md"])
def test_words_of_manual_pages_examples_and_tools_are_checked(tree, path):
    write(tree, path, "# WARNINGS := -Wvla\n# everything is as it should be\n")
    assert f"{path}:2: 'as it should be'; write 'up to date'" in refused(tree, "--only", "words")


@pytest.mark.parametrize("path, text", [
    ("src/core/base/other.c", "/* There is no such file, and it is no longer open. */\n"),
])
def test_usual_words_pass(tree, path, text):
    write(tree, path, text)
    assert lint(tree, "--only", "words").returncode == 0


STATIC = "static int {}(void)\n{{\n    return 1;\n}}\n"
TAG = "struct {} {{\n    int a;\n}};\n"


def test_a_static_function_has_two_words(tree):
    write(tree, "src/core/base/other.c", STATIC.format("look"))
    assert "src/core/base/other.c:1: a function called 'look'; add what it works on" in refused(tree, "--only", "names")
    write(tree, "src/core/base/other.c", STATIC.format("look").replace("static ", ""))
    assert lint(tree, "--only", "names").returncode == 0


def write_statics(tree, shared, others):
    """So many files with a static function of one name, and one with so many other functions."""
    for number in range(shared):
        write(tree, f"src/core/base/shared{number}.c", STATIC.format("find_end"))
    write(tree, "src/core/data/others.c", "".join(STATIC.format(f"find_{number}") for number in range(others)))


@pytest.mark.parametrize("files, others, wanted", [
    (3, 100, None),
    (4, 100, "src/core/base/shared0.c:1: 'find_end' is a static function of 4 files; at most 3"),
    (3, 30, "src:1: 3 of 33 static functions share their name with another file's; at most 8%"),
])
def test_few_static_functions_share_a_name(tree, files, others, wanted):
    write_statics(tree, files, others)
    if wanted:
        assert wanted in refused(tree, "--only", "names")
    else:
        assert lint(tree, "--only", "names").returncode == 0


def test_verbs_of_modules_are_alike(tree):
    write(tree, "src/LAYERS", FLOORS + "states: core\n    modules:\n")
    for family in ("a", "b", "c", "d", "e"):
        write(tree, f"src/states/modules/{family}/present.c", STATIC.format("present_check"))
    assert lint(tree, "--only", "names").returncode == 0
    for family in ("a", "b", "c", "d", "e"):
        write(tree, f"src/states/modules/{family}/present.c", STATIC.format("present_look"))
    assert "'present_look' is a static function of 5 files" in refused(tree, "--only", "names")


@pytest.mark.parametrize("first, second, status", [("base/thing.h", "data/x.h", 1), ("base/thing.h", "data/x.c", 1), ("base/x.c", "data/x.c", 0)])
def test_the_struct_of_a_header_is_defined_nowhere_else(tree, first, second, status):
    for path in (first, second):
        write(tree, f"src/core/{path}", TAG.format("thing"))
    result = lint(tree, "--only", "names")
    assert result.returncode == status
    assert (f"src/core/{second}:1: 'thing' is also defined in src/core/{first}" in result.stdout) == bool(status)


def function(lines):
    return "int\nbig(void)\n{\n" + "    call();\n" * (lines - 4) + "}\n"


@pytest.mark.parametrize("lines, status, word", [(60, 0, ""), (61, 0, "note: 'big' has 61 lines"),
                                                 (100, 0, "note: 'big' has 100"), (101, 1, ":1: 'big' has 101 lines")])
def test_long_functions_are_noted_and_then_refused(tree, lines, status, word):
    write(tree, "src/core/base/other.c", function(lines))
    result = lint(tree, "--only", "sizes")
    assert result.returncode == status and word in result.stdout
    assert word or "big" not in result.stdout


@pytest.mark.parametrize("lines, status", [(800, 0), (801, 1)])
def test_long_files_are_refused(tree, lines, status):
    write(tree, "src/core/base/other.c", "int a;\n" * lines)
    result = lint(tree, "--only", "sizes")
    assert result.returncode == status
    assert ("src/core/base/other.c:1: 801 lines" in result.stdout) == bool(status)


@pytest.mark.parametrize("tool, status", [("tools/gen-x", 0), ("tools/gen-gone", 1)])
def test_a_long_file_may_be_written_by_a_tool_that_is_there(tree, tool, status):
    write(tree, "tools/gen-x", "")
    write(tree, "src/core/base/other.c", f"/* Written by {tool}. */\n" + "int a;\n" * 900)
    assert lint(tree, "--only", "sizes").returncode == status


def test_a_tour_names_functions_that_are_there_with_their_files(tree):
    write(tree, "docs/ARCHITECTURE.md", "First `thing.c:thing_count()` runs.\nThen `thing.c:thing_gone()` runs.\nIt has a `struct gone`.\n"
                                        "`other.c:thing_count()`\n`thing_count()`\n")
    out = refused(tree, "--only", "docs")
    assert "docs/ARCHITECTURE.md:1:" not in out
    assert "docs/ARCHITECTURE.md:2: 'thing_gone()' is not defined in a file 'thing.c'" in out
    assert "docs/ARCHITECTURE.md:3: 'struct gone' is not defined" in out
    assert "docs/ARCHITECTURE.md:4: 'thing_count()' is not defined in a file 'other.c'" in out
    assert "docs/ARCHITECTURE.md:5: 'thing_count()' is named without its file" in out


def test_a_comment_that_names_a_function_or_a_header_that_is_gone_is_refused(tree):
    write(tree, "src/core/base/other.h", """\
/*
 * other - see core/base/thing.h, core/base/gone.h and linux/fs.h.
 *
 *     thing_count -> thing_gone... -> the end
 */
""")
    out = refused(tree, "--only", "docs")
    assert "src/core/base/other.h:2: 'core/base/gone.h' is not there" in out and "src/core/base/other.h:4: 'thing_gone' is not defined" in out
    assert "thing_count" not in out and "thing.h" not in out and "linux" not in out


def test_a_document_that_names_a_file_that_is_gone_is_refused(tree):
    write(tree, "README.md", "See `src/core/base/gone.c`, `src/core/base/thing.c`\nand [more](docs/gone.md).\n")
    out = refused(tree, "--only", "docs")
    assert "README.md:1: 'src/core/base/gone.c' is not there" in out
    assert "README.md:2: the link to 'docs/gone.md' leads nowhere" in out
    assert "thing.c" not in out


def test_another_layout_is_refused(tree):
    write(tree, "src/core/base/other.c", "int a;\nint  b;\n")
    out = refused(tree, "--only", "format")
    assert "src/core/base/other.c:2: not the layout of .clang-format; run: clang-format -i src/core/base/other.c" in out


def test_clang_tidy_refuses_what_it_finds_and_remembers_what_passed(tree):
    subprocess.run([sys.executable, str(TOP / "tools/compile-commands"), "compile_commands.json", "gcc", "-Isrc", "--",
                    "src/core/base/thing.c", "src/core/base/other.c"], cwd=tree, check=True)
    write(tree, "src/core/base/other.c", "int f(int a);\nint f(int a)\n{\n    int *p = 0;\n    return a ? *p : 0;\n}\n")
    out = refused(tree, "--all", "--only", "tidy")
    assert "src/core/base/other.c:5: Dereference of null pointer" in out
    assert "thing.c" not in out
    assert len(list((tree / "build/lint").iterdir())) == 1


def test_clang_tidy_asks_for_its_database(tree):
    assert "run: make compile_commands.json" in refused(tree, "--only", "tidy")


def git(root, *words):
    names = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", *names, *words], cwd=root, check=True, capture_output=True)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_clang_tidy_looks_at_what_changed_only(tree):
    write(tree, "src/core/base/old.c", "int g(void);\nint g(void)\n{\n    int *p = 0;\n    return *p;\n}\n")
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "one")
    git(tree, "checkout", "-q", "-b", "work")
    write(tree, "src/core/base/new.c", "int h(void);\nint h(void)\n{\n    int *p = 0;\n    return *p;\n}\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "two")
    subprocess.run([sys.executable, str(TOP / "tools/compile-commands"), "compile_commands.json", "gcc", "-Isrc", "--",
                    "src/core/base/old.c", "src/core/base/new.c"], cwd=tree, check=True)
    out = refused(tree, "--only", "tidy")
    assert "src/core/base/new.c:5:" in out and "old.c" not in out


# --- lists --------------------------------------------------------------------------------------

def add_table(tree):
    write(tree, "src/LAYERS", FLOORS + "states: core\n    compile:\n")
    write(tree, "src/states/compile/requisite.c", '/* words */\nconst char *const words[] = { BOTH("require"), BOTH("watch"), BOTH("onfail") };\n')


def test_a_word_of_a_table_is_not_written_a_second_time(tree):
    add_table(tree)
    assert lint(tree, "--only", "lists").returncode == 0
    write(tree, "src/commands/cli/show.c", '/* "watch" */\nconst char *const shown = "watch";\n')
    assert "src/commands/cli/show.c:2: 'watch' is the name of a requisite" in refused(tree, "--only", "lists")


def test_a_second_list_of_the_words_is_refused_also_in_prose(tree):
    add_table(tree)
    write(tree, "src/commands/cli/show.c", 'const char *const shown = "one of require, "\n                          "watch and onfail";\n')
    out = refused(tree, "--only", "lists")
    assert "src/commands/cli/show.c:1: a list of requisites (onfail, require, watch)" in out
    write(tree, "src/commands/cli/show.c", 'const char *const shown = "what they require and watch";\n')
    assert lint(tree, "--only", "lists").returncode == 0


def test_a_difference_to_salt_without_a_test_is_refused(tree):
    write(tree, "tests/e2e/states/test_salt.py", "def test_order():\n    pass\n")
    write(tree, "docs/reference/salt.md", "\n".join([
        "# Salt", "", "Nothing of this is a point.", "", "## What the suffix changes", "", "| | a | b |", "|---|---|---|",
        "| order | 1 | 2 <!-- test_order --> |", "| listen | 1 | 2 |", "", "## What differs", "", "**One.** Some", "text. <!-- test_gone",
        "test_order -->", "", "**Two.** More.", "", "## What is not there", "", "Nothing."]))
    out = refused(tree, "--only", "docs")
    assert "docs/reference/salt.md:10: this point names no test" in out and "docs/reference/salt.md:18: this point names no test" in out
    assert "docs/reference/salt.md:16: there is no test 'test_gone'" in out and out.count("docs/reference/salt.md:") == 3


def test_a_promise_without_a_test_is_refused(tree):
    write(tree, "tests/e2e/fleet/test_jobs.py", "def test_one():\n    pass\n")
    write(tree, "tests/unit/test_two.c", "TEST(two_is_true)\n{\n}\n")
    write(tree, "tests/promises/fleet.txt", "\n".join([
        "# Fleet", "", "## Jobs", "one", "    tests/e2e/fleet/test_jobs.py::test_one", "    tests/unit/test_two.c::two_is_true", "two", "    tests/unit/test_two.c::two_is",
        "three", "four", "    not built: nobody asked", "five", "    tests/gone.py::test_five", ""]))
    out = refused(tree, "--only", "docs")
    assert "tests/promises/fleet.txt:8: there is no test 'two_is' in 'tests/unit/test_two.c'" in out
    assert "tests/promises/fleet.txt:9: 'three' names no test" in out
    assert "tests/promises/fleet.txt:13: there is no test 'test_five'" in out and out.count("tests/promises/fleet.txt:") == 3


def test_a_document_that_the_index_does_not_name_is_refused(tree):
    write(tree, "docs/README.md", "[one](one.md)\n")
    write(tree, "docs/one.md", "One.\n")
    write(tree, "docs/two.md", "Two.\n")
    out = refused(tree, "--only", "docs")
    assert "docs/two.md:1: this document is not in docs/README.md" in out and "docs/one.md:" not in out


def test_a_test_that_any_document_names_exists(tree):
    write(tree, "tests/unit/test_two.c", "TEST(one_is)\n{\n}\n")
    write(tree, "docs/explanation/reliability.md", "| kept | `tests/unit/test_two.c::one_is` |\n| lost | `tests/unit/test_two.c::two_is` |\n\n`a::b` is no test.\n")
    out = refused(tree, "--only", "docs")
    assert "docs/explanation/reliability.md:2: there is no test 'two_is' in 'tests/unit/test_two.c'" in out and out.count("docs/explanation/reliability.md:") == 1
