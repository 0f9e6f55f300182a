#!/usr/bin/python3
"""check-layers: who includes whom in src/, against src/LAYERS and the table of doors below.

A folder includes itself and the folders that its line in src/LAYERS names; a line names only folders
above it. Each library is included in the folders of its door, so that replacing it touches one place.
"""
import os
import re

from csource import Problem, main

# Library header, or its folder with a slash -> the folders of src/ that may include it.
DOORS = {
    "archive.h": {"modules"},
    "archive_entry.h": {"modules"},
    "curl/": {"sys"},
    "jansson.h": {"data"},
    "lauxlib.h": {"lua"},
    "lua.h": {"lua"},
    "lualib.h": {"lua"},
    "microhttpd.h": {"http"},
    "msgpack.h": {"data"},
    "msgpack/": {"data"},
    "openssl/": {"enroll", "nats"},
    "openssl/evp.h": {"base"},
    "pcre2.h": {"base"},
    "sodium.h": {"base"},
    "sodium/": {"base"},
    "sqlite3.h": {"sql"},
    "systemd/": {"provider"},
    "xxhash.h": {"base"},
    "yaml.h": {"data"},
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


def read_layers(tree, problems):
    """Folder -> the folders that it may include."""
    layers = {}
    for number, line in enumerate(tree.read("src/LAYERS").split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"(\w+):((?:\s+\w+)*)", line)
        if not match:
            problems.append(Problem("src/LAYERS", number, "not 'folder: folder...'"))
            continue
        folder, uses = match.group(1), match.group(2).split()
        if folder in layers:
            problems.append(Problem("src/LAYERS", number, f"a second line for '{folder}'; join the two"))
        for use in uses:
            if use not in layers:
                text = f"'{folder}' names '{use}', which is not above it; move what it needs down, or the line"
                problems.append(Problem("src/LAYERS", number, text))
        layers[folder] = {folder, *uses}
    return layers


def check_folders(tree, layers, problems):
    for name in sorted(os.listdir(tree.path("src"))):
        if os.path.isdir(tree.path("src", name)) and name not in layers:
            problems.append(Problem("src/LAYERS", 1, f"no line for 'src/{name}'; say what it may include"))


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


def check_own(source, layers, number, path, problems):
    folder = path.split("/")[0] if "/" in path else None
    if folder is None:
        text = f'"{path}" is included without its folder; write "folder/{path}"'
        problems.append(Problem(source.path, number, text))
    elif folder not in layers.get(source.folder, set()):
        text = f"'{source.folder}' may not include '{folder}' (src/LAYERS); move the need down or the code up"
        problems.append(Problem(source.path, number, text))


def check_own_first(tree, source, includes, problems):
    own = source.path.removeprefix("src/")[:-2] + ".h"
    if source.path.endswith(".c") and includes and os.path.exists(tree.path("src", own)) and includes[0][2] != own:
        text = f'the own header comes first, which proves that it stands alone; begin with "{own}"'
        problems.append(Problem(source.path, includes[0][0], text))


def check(tree):
    problems = []
    layers = read_layers(tree, problems)
    check_folders(tree, layers, problems)
    for source in tree.sources:
        if not source.folder:
            continue
        includes = list(source.includes())
        check_own_first(tree, source, includes, problems)
        for number, kind, path in includes:
            if kind == "<":
                check_library(source, number, path, problems)
            else:
                check_own(source, layers, number, path, problems)
    return problems


if __name__ == "__main__":
    main(check)
