#!/usr/bin/python3
"""check-text: what C code of this project does not contain.

Calls that have a better form, effects in pure folders, logging below the programs, C++ comments, work
left for later, conditional compilation, arrays of a bare number, header guards with other names.
"""
import re

from csource import Problem, main

# The conditions that there must be, and why.
CONDITIONS = {
    # libc has no clone3, and one cannot be written in C
    ("src/core/sys/child.c", "#ifdef __x86_64__"),
}

# Call -> what to write instead.
BANNED = {
    "strcpy": "arena_strdup or struct buf",
    "strcat": "struct buf",
    "strncpy": "arena_strndup or struct buf",
    "strncat": "struct buf",
    "stpcpy": "struct buf",
    "sprintf": "buf_printf or arena_printf",
    "vsprintf": "buf_vprintf or arena_vprintf",
    "strtok": "str_cut",
    "strtok_r": "str_cut",
    "atoi": "the number parser of base/",
    "atol": "the number parser of base/",
    "atoll": "the number parser of base/",
    "atof": "the number parser of base/",
    "gets": "fgets with a limit",
    "alloca": "an arena",
    "scanf": "a parser with a limit",
    "fscanf": "a parser with a limit",
    "sscanf": "a parser with a limit",
    "vscanf": "a parser with a limit",
    "vfscanf": "a parser with a limit",
    "vsscanf": "a parser with a limit",
}

# The same, in src/ only: a test may want the plain thing.
BANNED_IN_SRC = {
    "mktemp": "mkostemp with O_CLOEXEC",
    "tmpnam": "mkostemp with O_CLOEXEC",
    "signal": "sigaction, or the loop's signals",
    "system": "the process spawner of sys/",
    "popen": "the process spawner of sys/",
    "strerror": "err_sys, which is safe in threads",
}

# Folders that only turn bytes and values into bytes and values, and what they may not call.
PURE = {"core/base", "core/data", "core/graph", "core/edit", "language/jinja", "language/jinja/methods", "language/jinja/filters",
        "language/jmespath", "language/lua", "language/target", "kepler/access", "fleet/wire", "fleet/update", "fleet/reactor"}
EFFECTS = {
    "files": "open openat creat fopen freopen unlink rename mkdir rmdir opendir stat lstat fstatat readlink chdir getcwd",
    "the clock": "time clock_gettime gettimeofday nanosleep sleep usleep clock localtime localtime_r",
    "the environment": "getenv secure_getenv setenv unsetenv putenv gethostname getpid getuid",
    "threads and processes": "pthread_create pthread_mutex_lock fork vfork execve execvp waitpid kill socket connect",
}
EFFECT_OF = {call: what for what, calls in EFFECTS.items() for call in calls.split()}

# Where files of others are changed: only through core/sys/site.h (or states/undo/change.h, which stands on it), which walks a path
# once. These resolve it anew, and whoever owns a folder on the way decides where it leads by then.
WALKED = {"states/state", "states/modules", "states/run", "states/undo"}
BY_PATH = set(
    "open openat openat2 creat fopen freopen unlink unlinkat remove rmdir rename renameat renameat2 mkdir mkdirat mkdtemp "
    "mkstemp mkostemp mkstemps mkostemps mknod mknodat mkfifo mkfifoat symlink symlinkat link linkat chmod fchmodat chown "
    "lchown fchownat truncate utime utimes utimensat futimesat lutimes".split())
# The same through fs.h and its like, which follow whatever the path says: for our own data, which no module has.
IN_OWN_DATA = set(
    "fs_replace fs_keep fs_write fs_copy fs_mkdirs fs_rename fs_unlink fs_utimens tree_remove draft_open".split())
# Calls that there must be, and why.
AT_PATHS = {
    ("src/states/undo/undo.c", "open"): "the journal, in our own data",
    ("src/states/modules/user/accounts.c", "open"): "the lock of the account files, which has one path",
    ("src/states/modules/sysctl/present.c", "open"): "what is in /proc is written as it is",
}

LOGGING = re.compile(r"\blog_(?:error|warning|info|debug)\s*\(")
MAY_LOG = ("fleet/peel", "fleet/reactor", "fleet/master", "fleet/watchdog", "kepler/daemon", "commands/")

LATER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
BARE_ARRAY = re.compile(r"(?<!const )\bchar\s+\w+\[(\d+)\]")  # a const table is not a buffer
BARE_ARRAY_MAX = 63  # a number in digits, a flag, a line of hexadecimal: the reader sees why


def check_calls(source, number, line, problems):
    for name in CALL.findall(line):
        instead = BANNED.get(name) or (BANNED_IN_SRC.get(name) if source.folder else None)
        if instead:
            problems.append(Problem(source.path, number, f"'{name}' is banned; use {instead}"))
        elif source.folder in WALKED and name in BY_PATH and (source.path, name) not in AT_PATHS:
            text = f"'{name}' resolves a path of its own; use core/sys/site.h, or states/undo/change.h in a module"
            problems.append(Problem(source.path, number, text))
        elif source.folder == "states/modules" and name in IN_OWN_DATA:
            text = f"'{name}' is for our own data; use states/undo/change.h, or core/sys/site.h for what is never reverted"
            problems.append(Problem(source.path, number, text))
        elif source.folder in PURE and name in EFFECT_OF:
            text = f"'{name}' in '{source.folder}', which is pure and knows nothing of {EFFECT_OF[name]}; let the caller do it"
            problems.append(Problem(source.path, number, text))
    if source.folder and not source.folder.startswith(MAY_LOG) and LOGGING.search(line) and not source.path.startswith("src/core/base/log."):
        text = f"'{source.folder}' does not log; return an error or emit an event, and let the program speak"
        problems.append(Problem(source.path, number, text))


def check_comments(source, problems):
    for comment in source.comments:
        if comment.text.startswith("//"):
            problems.append(Problem(source.path, comment.line, "a C++ comment; write /* */"))
        for offset, line in enumerate(comment.text.split("\n")):
            if LATER.search(line):
                text = "work left for later; do it now, or write an issue"
                problems.append(Problem(source.path, comment.line + offset, text))


def check_arrays(source, number, line, problems):
    match = BARE_ARRAY.search(line)
    if source.folder and match and int(match.group(1)) > BARE_ARRAY_MAX:
        text = f"an array of {match.group(1)} characters; give the limit a name (#define or enum)"
        problems.append(Problem(source.path, number, text))


def guard_of(path):
    return re.sub(r"\W", "_", path.removeprefix("src/")).upper()


def check_guard(source, problems):
    """The lines of the guard, which are the conditionals that may be there."""
    guard = guard_of(source.path)
    lines = [(n, line.strip()) for n, line in enumerate(source.lines, 1) if line.strip()]
    if len(lines) < 3 or lines[0][1] != f"#ifndef {guard}" or lines[1][1] != f"#define {guard}" \
            or lines[-1][1] != "#endif":
        text = f"no header guard '{guard}' around all of it; write #ifndef, #define, and #endif as the last line"
        problems.append(Problem(source.path, lines[0][0] if lines else 1, text))
        return set()
    return {lines[0][0], lines[-1][0]}


def check_conditionals(source, guard, problems):
    for number, line in enumerate(source.lines, 1):
        if number in guard or (source.path, line) in CONDITIONS:
            continue
        if re.match(r"\s*#\s*(?:if|ifdef|ifndef|elif)\b", line):
            text = "conditional compilation; one platform, one build: decide at run time or by a table"
            problems.append(Problem(source.path, number, text))
        if re.match(r"\s*#\s*pragma\b", line):
            problems.append(Problem(source.path, number, "a pragma; fix what the compiler warns about"))


def check_makefile(tree, problems):
    """The rules that the compiler holds: arrays of variable length among them."""
    makefile = tree.read("Makefile")
    for flag in ("-Wvla", "-Wshadow", "-Wconversion", "-Werror"):
        if not re.search(rf"(?<!\S){flag}(?!\S)", makefile):
            problems.append(Problem("Makefile", 1, f"the compiler is not asked for {flag}; add it to WARNINGS"))


def check(tree):
    problems = []
    check_makefile(tree, problems)
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            check_calls(source, number, line, problems)
            check_arrays(source, number, line, problems)
        check_comments(source, problems)
        guard = check_guard(source, problems) if source.path.endswith(".h") else set()
        if source.folder:
            check_conditionals(source, guard, problems)
    return problems


if __name__ == "__main__":
    main(check)
