#!/usr/bin/python3
"""check-layers: who includes whom in src/, against src/LAYERS and the table of doors below.

src/LAYERS has the floors and their folders: a folder includes itself, the folders of its floor that its line names,
and the lower floors that its floor may use. Each library is included in the folders of its door, so that replacing it touches one place.
"""
import os

from csource import LAYERS, Problem, main

# Library header, or its folder with a slash -> the folders of src/ that may include it.
DOORS = {
    "archive.h": {"states/modules"},
    "archive_entry.h": {"states/modules"},
    "curl/": {"core/sys"},
    "jansson.h": {"core/data"},
    "lauxlib.h": {"language/lua"},
    "lua.h": {"language/lua"},
    "lualib.h": {"language/lua"},
    "microhttpd.h": {"core/http"},
    "msgpack.h": {"core/data"},
    "msgpack/": {"core/data"},
    "openssl/": {"fleet/enroll", "fleet/nats"},
    "openssl/evp.h": {"core/base"},
    "pcre2.h": {"core/base"},
    "sodium.h": {"core/base"},
    "sodium/": {"core/base"},
    "sqlite3.h": {"core/sql"},
    "systemd/": {"states/provider"},
    "xxhash.h": {"core/base"},
    "yaml.h": {"core/data"},
}

# Everything else in angle brackets is the C library or the kernel.
SYSTEM_FOLDERS = ("arpa/", "asm/", "linux/", "net/", "netinet/", "sys/")
SYSTEM = set("""
    acl aio alloca assert complex crypt ctype dirent dlfcn elf endian err errno error execinfo fcntl features fenv
    float fnmatch fts ftw getopt glob grp iconv ifaddrs inttypes langinfo libgen limits link locale malloc math
    mntent mqueue netdb nl_types paths poll pthread pty pwd regex resolv sched search semaphore setjmp shadow
    signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdio_ext stdlib stdnoreturn string strings
    syscall sysexits syslog termios tgmath threads time uchar ucontext unistd utime utmp utmpx wchar wctype wordexp
""".split())


def check_folders(tree, problems):
    """Each folder of each floor has a line."""
    for floor in sorted(os.listdir(tree.path("src"))):
        if not os.path.isdir(tree.path("src", floor)):
            continue
        if floor not in tree.floors.floors:
            problems.append(Problem(LAYERS, 1, f"no line for the floor 'src/{floor}'; say what it may use"))
            continue
        for name in sorted(os.listdir(tree.path("src", floor))):
            known = any(folder == f"{floor}/{name}" or folder.startswith(f"{floor}/{name}/") for folder in tree.floors.folders)
            if os.path.isdir(tree.path("src", floor, name)) and not known:
                problems.append(Problem(LAYERS, 1, f"no line for 'src/{floor}/{name}'; say what it may use"))
            elif not os.path.isdir(tree.path("src", floor, name)):
                problems.append(Problem(f"src/{floor}/{name}", 1, "a file beside the folders of a floor; move it into one"))


def door_of(path):
    if path in DOORS:
        return DOORS[path]
    return next((folders for door, folders in DOORS.items() if door.endswith("/") and path.startswith(door)), None)


def is_system(path):
    return path.startswith(SYSTEM_FOLDERS) or path.removesuffix(".h") in SYSTEM


def check_library(source, number, path, problems):
    door = door_of(path)
    if door is None and not is_system(path):
        text = f"<{path}> is not in tools/check_layers.py; give the library a door: one folder that includes it"
        problems.append(Problem(source.path, number, text))
    elif door is not None and source.folder not in door:
        text = f"<{path}> may be included in {' '.join(sorted(door))} only; call what that folder offers"
        problems.append(Problem(source.path, number, text))


def check_own(tree, source, number, path, problems):
    folder = tree.floors.folder_of(path)
    if path.count("/") < 2:
        text = f'"{path}" is included without its folder; write "floor/folder/{os.path.basename(path)}"'
        problems.append(Problem(source.path, number, text))
    elif folder not in tree.floors.folders.get(source.folder, set()):
        text = f"'{source.folder}' may not include '{folder}' ({LAYERS}); move the need down or the code up"
        problems.append(Problem(source.path, number, text))


def check_own_first(tree, source, includes, problems):
    own = source.path.removeprefix("src/")[:-2] + ".h"
    if source.path.endswith(".c") and includes and os.path.exists(tree.path("src", own)) and includes[0][2] != own:
        text = f'the own header comes first, which proves that it stands alone; begin with "{own}"'
        problems.append(Problem(source.path, includes[0][0], text))


def check(tree):
    problems = list(tree.floors.problems)
    check_folders(tree, problems)
    for source in tree.sources:
        if not source.folder:
            continue
        includes = list(source.includes())
        check_own_first(tree, source, includes, problems)
        for number, kind, path in includes:
            if kind == "<":
                check_library(source, number, path, problems)
            else:
                check_own(tree, source, number, path, problems)
    return problems


if __name__ == "__main__":
    main(check)
