"""The stand-in of a tool that records what the real one does, or replays it; see transcripts.py. It is started for every
command line, so it needs little."""
import fcntl
import glob
import json
import os
import re
import sys

ROOT = "@ROOT@"  # stands for the folder of the test

# What each tool is: its programs, how it tells its version, the words of command lines that only look, and the files
# that our providers read. "text" files are kept as they are, of "empty" ones the path says it all, and "stamp" ones are
# watched only for having changed.
TOOLS = {
    "dnf": {
        "programs": ["dnf", "rpm"], "version": ["dnf", "--version"], "looks": ["list", "-qa", "--test"],
        "files": {"/etc/dnf/plugins/versionlock.list": "text", "/var/lib/rpm/rpmdb.sqlite": "stamp"},
    },
    "zypper": {
        "programs": ["zypper", "rpm"], "version": ["zypper", "--version"], "looks": ["search", "-qa", "--test"],
        "files": {"/etc/zypp/locks": "text", "/var/lib/rpm/rpmdb.sqlite": "stamp"},
    },
    "pacman": {
        "programs": ["pacman"], "version": ["pacman", "--version"], "looks": ["-Si", "-Rp"],
        "files": {"/var/lib/pacman/local/ALPM_DB_VERSION": "text", "/var/lib/pacman/local/*/desc": "empty"},
    },
    # recorded from the manager of a user: that of a machine has to be its first process
    "systemd": {
        "programs": ["systemctl"], "version": ["systemctl", "--version"], "looks": ["show", "is-enabled"], "files": {},
        "real": ["--user"],
    },
    "openrc": {
        "programs": ["rc-service", "rc-update"], "version": ["rc-service", "--version"],
        "looks": ["--exists", "status", "show"], "files": {},
    },
}


def snapshot(files):
    """The files of a tool as they are now."""
    found = {}
    for pattern, kind in files.items():
        for path in sorted(glob.glob(pattern)):
            if kind == "text":
                with open(path, encoding="utf-8") as file:
                    found[path] = file.read()
            else:
                info = os.stat(path)
                found[path] = "" if kind == "empty" else f"{info.st_mtime_ns} {info.st_size}"
    return found


def main(root, program, words):
    """A stand-in was called: record what the real program does, or replay it."""
    with open(f"{root}/transcript.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(f"{root}/transcript.state", encoding="utf-8") as file:
            state = json.load(file)
        argv = [plain(word, root) for word in [program, *words]]
        with open(f"{root}/commands", "a", encoding="utf-8") as commands:
            commands.write(" ".join(argv) + "\n")
        step = record(root, state, [program, *words], argv) if state["recording"] else replay(state, argv)
        with open(f"{root}/transcript.state", "w", encoding="utf-8") as file:
            json.dump(state, file)
    sys.stdout.write(step["stdout"].replace(ROOT, root))
    sys.stderr.write(step["stderr"].replace(ROOT, root))
    return step["status"]


def plain(text, root):
    """Without the names that differ from run to run."""
    return re.sub(rf"{re.escape(os.environ.get('TMPDIR', '/tmp'))}/zester-\w+", "@TEMP@", text.replace(root, ROOT))


def is_look(tool, argv):
    return any(word in TOOLS[tool]["looks"] for word in argv[1:])


def record(root, state, command, argv):
    import shutil  # pylint: disable=import-outside-toplevel
    import subprocess  # pylint: disable=import-outside-toplevel
    path = os.environ["PATH"].replace(f"{root}/bin:", "")
    before = snapshot(TOOLS[state["tool"]]["files"])
    real = [shutil.which(command[0], path=path), *TOOLS[state["tool"]].get("real", []), *command[1:]]
    result = subprocess.run(real, text=True, capture_output=True,
                            check=False, env={**os.environ, "PATH": path})
    step = {"argv": argv, "status": result.returncode, "stdout": plain(result.stdout, root),
            "stderr": plain(result.stderr, root)}
    after = snapshot(TOOLS[state["tool"]]["files"])
    if after != before:
        step["files"] = after
    state["steps"].append(step)
    return step


def replay(state, argv):
    """The step for this command line: among the looks up to the next deed, or that deed. Looks may be repeated; when a
    look was recorded more than once, its answers come in their order and the last one stays."""
    steps, done = state["steps"], state["done"]
    end = next((i for i in range(state["cursor"], len(steps)) if not is_look(state["tool"], steps[i]["argv"])), len(steps))
    matches = [i for i in range(state["cursor"], min(end + 1, len(steps))) if steps[i]["argv"] == argv]
    if not matches:
        state["refused"].append(argv)
        wanted = " ".join(steps[end]["argv"]) if end < len(steps) else "nothing"
        return {"status": 97, "stdout": "", "stderr": f"not recorded here: {' '.join(argv)}\nthe next deed is: {wanted}\n"}
    i = next((i for i in matches if i not in done), matches[-1])
    if i == end:
        state["cursor"], state["done"] = i + 1, []
    else:
        done.append(i)
    if "files" in steps[i]:
        put_files(state, steps[i]["files"])
    return steps[i]


def put_files(state, files):
    for path in state["files"]:
        if path not in files:
            os.unlink(path)
            folder = os.path.dirname(path)
            if not os.listdir(folder):
                os.rmdir(folder)
    for path, text in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    state["files"] = list(files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
