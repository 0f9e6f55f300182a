"""Root works in the folder of somebody who swaps what is in it for links to root's files."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = (TOP / os.environ.get("ZESTER_BUILD", "build/asan") / "zester").resolve()
SWAPPER = pathlib.Path(__file__).parents[1] / "swapper.py"
SECONDS = float(os.environ.get("ZESTER_RACE_SECONDS", "0.4"))  # of each race, and three turns at least
OWNER = 65534  # 'nobody' is an account everywhere
COUNT = 12  # of states in a run
SECRET = "root: secret\n"
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="to be attacked by another user needs root")


class Scene:
    """A folder `home` of the attacker, a folder `victim` of root's, states that work in `home`."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="zester-paths-"))
        self.root.chmod(0o755)
        self.home, self.victim, self.states = self.root / "home", self.root / "victim", self.root / "states"
        self.home.mkdir()
        os.chown(self.home, OWNER, OWNER)
        self.states.mkdir(mode=0o700)
        self.victim.mkdir()
        self.fill(self.victim, 0, SECRET, 0o600)
        (self.states / "files").mkdir()
        self.before = self.snapshot()
        self.process = None

    def close(self):
        self.stop()
        shutil.rmtree(self.root)

    @staticmethod
    def fill(folder, owner, text, mode):
        for number in range(COUNT):
            path = folder / f"f{number}"
            path.write_text(text)
            path.chmod(mode)
            os.chown(path, owner, owner)

    def snapshot(self):
        found = {}
        for path in [self.victim, *sorted(self.victim.rglob("*"))]:
            info = path.lstat()
            text = path.read_text() if stat.S_ISREG(info.st_mode) else ""
            found[str(path)] = (oct(info.st_mode), info.st_uid, info.st_gid, text, info.st_mtime_ns if text else 0)
        return found

    def make_folder(self):
        folder = self.home / "d"
        folder.mkdir()
        self.fill(folder, OWNER, "line\n", 0o644)
        os.chown(folder, OWNER, OWNER)

    def make_file(self):
        path = self.home / "f"
        path.write_text("line\n")
        os.chown(path, OWNER, OWNER)

    def swap(self, name, target):
        """`home/name` with a link to `target`."""
        other = self.home / (name + ".other")
        other.symlink_to(target)
        os.chown(other, OWNER, OWNER, follow_symlinks=False)
        self.process = subprocess.Popen(
            [sys.executable, SWAPPER, self.home / name, other], stdout=subprocess.PIPE, text=True,
            user=OWNER, group=OWNER, extra_groups=[])
        assert self.process.stdout.readline() == "ready\n"

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
        self.process = None

    def empty(self):
        for path in self.home.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def run(self, *words):
        done = subprocess.run([PROGRAM, "--local", "--states-dir", self.states, "--data-dir", self.root / "data", *words],
                              check=False, capture_output=True, text=True, cwd="/")
        assert done.returncode in (0, 1, 2, 3), done.stdout + done.stderr
        return done.stdout + done.stderr

    def apply(self, text, *words, suffix="zy"):
        (self.states / f"work.{suffix}").write_text(text)
        return self.run("state.apply", "work", *words)

    def revert(self):
        said = self.run("state.revert", "work")
        assert "0 failed" in said, said

    def settles(self, text, suffix="zy"):
        """Applied, and nothing to do the second time."""
        said = self.apply(text, suffix=suffix)
        assert "0 failed" in said, said
        again = self.apply(text, suffix=suffix)
        assert "0 changed" in again and "0 failed" in again, again

    def check(self):
        assert self.snapshot() == self.before
        for path in self.home.rglob("*"):
            info = path.lstat()
            readable = info.st_uid == OWNER or info.st_mode & 0o004
            if stat.S_ISREG(info.st_mode) and readable:
                assert SECRET not in path.read_text(), path


@pytest.fixture
def scene():
    scene = Scene()
    yield scene
    scene.close()


def each(template):
    """The same state for every number; `{turn}` is another number in every run."""
    return lambda scene, turn: "\n".join(
        template.format(n=n, turn=turn, odd=turn % 2, home=scene.home, root=scene.root) for n in range(COUNT))


def patch(scene, turn):
    lines = "".join(f"--- a/f{n}\n+++ b/f{n}\n@@ -1 +1 @@\n-line\n+turn {turn}\n" for n in range(COUNT))
    (scene.states / "files" / "work.patch").write_text(lines)
    return f"work: {{file.patch: [name: {scene.home}/d, source: 'zester://files/work.patch']}}"


def recurse(scene, turn):
    tree = scene.states / "files" / "tree"
    tree.mkdir(exist_ok=True)
    for number in range(COUNT):
        (tree / f"f{number}").write_text(f"{turn}\n")
    return f"work: {{file.recurse: [name: {scene.home}/d, source: 'zester://files/tree', user: nobody]}}"


def extract(scene, turn):
    """Into a folder that is there, and into one that is not."""
    archive = scene.states / "files" / "work.tar"
    tree = scene.root / "packed"
    tree.mkdir(exist_ok=True)
    for number in range(COUNT):
        (tree / f"f{number}").write_text(f"{turn}\n")
    subprocess.run(["tar", "-cf", archive, "-C", tree, "."], check=True)
    return "\n".join(f"{name}: {{archive.extracted: [name: {scene.home}/{name}, source: 'zester://files/work.tar', "
                     "user: nobody, enforce_toplevel: false]}" for name in ("d", "d/new"))


MANAGED = "m{n}: {{file.managed: [name: {home}/d/f{n}, contents: 'turn {turn}', mode: '0666', user: nobody]}}"
FOLDERS = {
    "file.directory with recurse: [user]": lambda scene, turn:
        f"d: {{file.directory: [name: {scene.home}/d, user: daemon, recurse: [user]]}}",
    "file.directory with recurse: [mode]": lambda scene, turn:
        f"d: {{file.directory: [name: {scene.home}/d, file_mode: '0666', dir_mode: '0777', recurse: [mode]]}}",
    "file.directory with clean": lambda scene, turn:
        f"d: {{file.directory: [name: {scene.home}/d, clean: true]}}",
    "file.managed": each(MANAGED),
    "file.managed that follows no link": each(MANAGED.replace("]}}", ", follow_symlinks: false]}}")),
    "file.managed of attributes only": each(
        "m{n}: {{file.managed: [name: {home}/d/f{n}, replace: false, mode: '0666', user: nobody]}}"),
    "file.recurse": recurse,
    "archive.extracted": extract,
    "ssh_auth.present": each("k{n}: {{ssh_auth.present: [name: 'ssh-ed25519 " + KEY[:-6] +
                             "{turn:06d}', user: nobody, config: '{home}/d/f{n}']}}"),
    "file.copy": each("c{n}: {{file.copy: [name: {home}/d/f{n}, source: {root}/plain{odd}, force: true, user: nobody]}}"),
    "file.symlink": each("l{n}: {{file.symlink: [name: {home}/d/f{n}, target: /turn/{turn}, force: true]}}"),
    "file.absent": lambda scene, turn: f"d: {{file.absent: [name: {scene.home}/d]}}",
    "file.append": each("a{n}: {{file.append: [name: {home}/d/f{n}, text: 'turn {turn}']}}"),
    "file.replace": each("r{n}: {{file.replace: [name: {home}/d/f{n}, pattern: '.+', repl: 'turn {turn}']}}"),
    "file.patch": patch,
    "file.touch": each("t{n}: {{file.touch: [name: {home}/d/f{n}, mtime: '{turn}']}}"),
    "file.rename": each("n{n}: {{file.rename: [name: {home}/d/g{n}, source: {home}/d/f{n}, force: true]}}"),
}

# Here the name itself is swapped for a link to one of root's files.
FILES = {
    "file.managed": each("m: {{file.managed: [name: {home}/f, contents: 'turn {turn}', user: nobody]}}"),
    "file.managed that follows no link": each(
        "m: {{file.managed: [name: {home}/f, contents: 'turn {turn}', user: nobody, follow_symlinks: false]}}"),
    "file.managed with a backup": each(
        "m: {{file.managed: [name: {home}/f, contents: 'turn {turn}', user: nobody, backup: true]}}"),
    "file.managed of attributes only": each(
        "m: {{file.managed: [name: {home}/f, replace: false, mode: '0666', user: nobody]}}"),
    "file.append": each("a: {{file.append: [name: {home}/f, text: 'turn {turn}']}}"),
    "file.replace": each("r: {{file.replace: [name: {home}/f, pattern: '$', repl: 'turn {turn}']}}"),
    "file.copy from it": each("c: {{file.copy: [name: {home}/copy, source: {home}/f, force: true, user: nobody]}}"),
    "ssh_auth.present": each("k: {{ssh_auth.present: [name: 'ssh-ed25519 " + KEY[:-6] +
                             "{turn:06d}', user: nobody, config: '{home}/f']}}"),
    "file.serialize that merges": each(
        "s: {{file.serialize: [name: {home}/f, dataset: {{turn: {turn}}}, formatter: yaml, merge_if_exists: true]}}"),
    "file.touch": each("t: {{file.touch: [name: {home}/f, mtime: '{turn}']}}"),
}


def race(scene, name, target, make, states):
    deadline = time.monotonic() + SECONDS
    turn = 0
    (scene.root / "plain0").write_text("0\n")
    (scene.root / "plain1").write_text("1\n")
    while turn < 3 or time.monotonic() < deadline:
        turn += 1
        make()
        scene.swap(name, target)
        try:
            scene.apply(states(scene, turn))
        finally:
            scene.stop()
        scene.check()
        scene.empty()


@pytest.mark.parametrize("state", FOLDERS)
def test_a_folder_that_is_swapped_for_a_link_gives_nobody_what_is_roots(scene, state):
    race(scene, "d", scene.victim, scene.make_folder, FOLDERS[state])


def test_a_revert_in_a_folder_that_is_swapped_for_a_link_restores_nothing_elsewhere(scene):
    deadline = time.monotonic() + SECONDS
    turn = 0
    while turn < 3 or time.monotonic() < deadline:
        turn += 1
        scene.make_folder()
        scene.apply(FOLDERS["file.managed"](scene, turn) + f"\nr: {{file.recurse: [name: {scene.home}/d/new, "
                    "source: 'zester://files']}")
        scene.swap("d", scene.victim)
        try:
            subprocess.run([PROGRAM, "--local", "--data-dir", scene.root / "data", "state.revert", "work", "--force"],
                           check=False, capture_output=True, cwd="/")
        finally:
            scene.stop()
        scene.check()
        scene.empty()


@pytest.mark.parametrize("state", FILES)
def test_a_file_that_is_swapped_for_a_link_gives_nobody_what_is_roots(scene, state):
    def states(scene, turn):
        return FILES[state](scene, turn).split("\n", 1)[0]  # one is enough: all have one name
    race(scene, "f", scene.victim / "f0", scene.make_file, states)


# --- what is refused, and what is not ---------------------------------------------------------------------------------


def give(path, owner=OWNER):
    os.chown(path, owner, owner, follow_symlinks=False)
    return path


def mode_and_owner(path):
    info = path.lstat()
    return oct(info.st_mode & 0o7777), info.st_uid


def test_what_root_manages_in_homes_keeps_working(scene):
    home = scene.home
    (home / "old").mkdir()  # of root's
    (home / "own").mkdir()
    give(home / "own")
    give_link = home / "to-own"
    give_link.symlink_to(home / "own")
    give(give_link)
    scene.settles(f"""
rc: {{file.managed: [name: {home}/.bashrc, contents: x, user: nobody]}}
deep: {{file.managed: [name: {home}/.config/app/x, contents: x, makedirs: true]}}
roots: {{file.managed: [name: {home}/roots, contents: x, user: root, mode: '0600']}}
old: {{file.directory: [name: {home}/old, user: nobody, mode: '0700']}}
linked: {{file.managed: [name: {home}/to-own/x, contents: x, user: nobody]}}
through: {{file.append: [name: {home}/.profile, text: line]}}
""")
    assert mode_and_owner(home / ".config") == mode_and_owner(home / ".config/app") == ("0o755", OWNER)
    assert mode_and_owner(home / "roots") == ("0o600", 0)
    assert mode_and_owner(home / "old") == ("0o700", OWNER)
    assert (home / "own" / "x").read_text() == "x\n"
    scene.settles(f"roots: {{file.managed: [name: {home}/roots, contents: y, user: nobody, mode: '0644']}}")
    assert mode_and_owner(home / "roots") == ("0o644", OWNER)


PARENTS = """
managed: {file.managed: [name: TOP/managed/a/x, contents: x, user: nobody, mode: '0640', makedirs: true]}
secret: {file.managed: [name: TOP/secret/a/x, contents: x, user: nobody, mode: '0600', makedirs: true]}
chosen: {file.managed: [name: TOP/chosen/x, contents: x, user: nobody, mode: '0600', dir_mode: '0711', makedirs: true]}
plain: {file.managed: [name: TOP/plain/x, contents: x, makedirs: true]}
data: {file.serialize: [name: TOP/data/x, dataset: {a: 1}, user: nobody, mode: '0440', makedirs: true]}
copy: {file.copy: [name: TOP/copy/x, source: TOP/given, user: nobody, mode: '0600', makedirs: true]}
folder: {file.directory: [name: TOP/folder/a/b, user: nobody, mode: '0700', makedirs: true]}
link: {file.symlink: [name: TOP/link/x, target: /, user: nobody, makedirs: true]}
tree: {file.recurse: [name: TOP/tree/a, source: 'zester://files', user: nobody, dir_mode: '0750', makedirs: true]}
HOME_FILE: {file.managed: [name: HOME/.config/app/x, contents: x, user: root, mode: '0600', makedirs: true]}
"""


@pytest.mark.parametrize("suffix", ["zy", "sls"])
def test_new_parents_have_the_owner_and_the_mode_of_their_state_and_execution_for_readers(scene, suffix):
    top = scene.root / "top"
    top.mkdir()
    (top / "given").write_text("x")
    (scene.states / "files" / "f").write_text("x")
    scene.settles(PARENTS.replace("TOP", str(top)).replace("HOME", str(scene.home)), suffix)
    root = ("0o755", 0)
    assert {path: mode_and_owner(top / path) for path in
            ("managed", "managed/a", "secret", "secret/a", "chosen", "plain", "data", "copy", "folder", "folder/a", "link", "tree")} == {
        "managed": root, "managed/a": ("0o750", OWNER), "secret": root, "secret/a": ("0o700", OWNER),
        "chosen": ("0o711", OWNER), "plain": root, "data": ("0o550", OWNER), "copy": ("0o700", OWNER), "folder": root,
        "folder/a": ("0o700", OWNER), "link": ("0o755", OWNER), "tree": ("0o750", OWNER)}
    # what is in the folder of a user leads to no other owner
    assert mode_and_owner(scene.home / ".config") == mode_and_owner(scene.home / ".config/app") == ("0o700", OWNER)
    scene.revert()
    assert [path.name for path in top.iterdir()] == ["given"] and list(scene.home.iterdir()) == []


REFUSALS = {
    "a link to a file of root's": (
        "file.managed: [name: HOME/link, contents: x]",
        "refusing to follow 'HOME/link': it belongs to 'nobody' and leads to a file of 'root'"),
    "a link that is edited": (
        "file.append: [name: HOME/link, text: x]",
        "refusing to follow 'HOME/link': it belongs to 'nobody' and leads to a file of 'root'"),
    "a link to a folder of root's": (
        "file.managed: [name: HOME/folder/f0, contents: x]",
        "refusing to follow 'HOME/folder': it belongs to 'nobody' and leads to a file of 'root'"),
    "a folder of root's": (
        "file.managed: [name: HOME/roots/x, contents: x]",
        "refusing to enter 'HOME/roots': it belongs to 'root', in a folder of 'nobody'"),
    "a second name of a file of root's": (
        "file.managed: [name: HOME/hard, mode: '0644', user: nobody, replace: false]",
        "refusing to touch 'HOME/hard'"),
    "a second name below a folder": (
        "file.directory: [name: HOME, user: nobody, recurse: [user]]",
        "refusing to touch 'HOME/hard'"),
    "a source behind a link": (
        "file.copy: [name: HOME/copy, source: HOME/link]",
        "refusing to follow 'HOME/link'"),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("dry", [False, True])
def test_nothing_leads_from_a_home_to_what_is_roots(scene, case, dry):
    state, said = (text.replace("HOME", str(scene.home)) for text in REFUSALS[case])
    (scene.home / "link").symlink_to(scene.victim / "f0")
    (scene.home / "folder").symlink_to(scene.victim)
    give(scene.home / "link")
    give(scene.home / "folder")
    (scene.home / "roots").mkdir()
    os.link(scene.victim / "f1", scene.home / "hard")
    output = scene.apply(f"it: {{{state}}}", *(["test=true"] if dry else []))
    assert said in output.replace("\\n", "\n"), output
    scene.check()


def test_a_second_name_of_a_file_of_roots_is_replaced_and_removed_as_a_name(scene):
    os.link(scene.victim / "f1", scene.home / "hard")
    assert "0 failed" in scene.apply(f"it: {{file.absent: [name: {scene.home}/hard]}}")
    assert not (scene.home / "hard").exists()
    scene.check()


def test_a_patch_does_not_leave_its_folder_by_a_link(scene):
    folder = scene.root / "tree"
    folder.mkdir()
    (folder / "out").symlink_to(scene.victim)
    (folder / "f1").symlink_to(scene.victim / "f1")
    (folder / "in").write_text("line\n")
    (folder / "f2").symlink_to("in")
    patch = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-{1}\n+mine\n"
    new = "--- /dev/null\n+++ b/out/deep/new\n@@ -0,0 +1 @@\n+mine\n"
    for text in (patch.format("out/f0", SECRET.strip()), patch.format("f1", SECRET.strip()), new):
        (scene.states / "files" / "work.patch").write_text(text)
        said = scene.apply(f"it: {{file.patch: [name: {folder}, source: 'zester://files/work.patch']}}")
        assert "a link leads out of the folder" in said
        scene.check()
    (scene.states / "files" / "work.patch").write_text(patch.format("f2", "line"))
    assert "0 failed" in scene.apply(f"it: {{file.patch: [name: {folder}, source: 'zester://files/work.patch']}}")
    assert (folder / "in").read_text() == "mine\n"


def test_a_copy_is_never_more_open_than_its_source(scene):
    tree = scene.root / "private"
    tree.mkdir(mode=0o700)
    (tree / "key").write_text("key\n")
    (tree / "key").chmod(0o600)
    scene.settles(f"""
file: {{file.copy: [name: {scene.root}/key, source: {tree}/key]}}
tree: {{file.copy: [name: {scene.root}/copy, source: {tree}]}}
""")
    assert mode_and_owner(scene.root / "key") == ("0o600", 0)
    assert mode_and_owner(scene.root / "copy") == ("0o700", 0)
    assert mode_and_owner(scene.root / "copy" / "key") == ("0o600", 0)


def test_a_backup_of_a_private_file_is_private(scene):
    path, backup = scene.root / "conf", scene.root / "conf.bak"
    path.write_text("secret\n")
    path.chmod(0o600)
    backup.write_text("older\n")
    backup.chmod(0o644)
    scene.apply(f"it: {{file.managed: [name: {path}, contents: new, backup: true]}}")
    assert backup.read_text() == "secret\n" and mode_and_owner(backup) == ("0o600", 0)


def test_set_id_bits_go_with_the_owner_they_speak_for_and_come_back_with_a_revert(scene):
    path = scene.home / "tool"
    path.write_text("tool\n")
    give(path)
    path.chmod(0o4755)
    scene.apply(f"it: {{file.managed: [name: {path}, replace: false, user: root]}}")
    assert mode_and_owner(path) == ("0o755", 0)
    subprocess.run([PROGRAM, "--local", "--data-dir", scene.root / "data", "state.revert", "work"], check=True, capture_output=True)
    assert mode_and_owner(path) == ("0o4755", OWNER)
    scene.apply(f"it: {{file.managed: [name: {path}, replace: false, user: root, mode: '4755']}}")
    assert mode_and_owner(path) == ("0o4755", 0)


def test_set_id_bits_come_back_to_the_same_content_only(scene):
    """Whoever owned the file between a run and its revert does not choose what runs as its former owner."""
    path = scene.home / "tool"
    path.write_text("tool\n")
    path.chmod(0o4755)
    scene.apply(f"it: {{file.managed: [name: {path}, replace: false, user: nobody]}}")
    assert mode_and_owner(path) == ("0o755", OWNER)
    path.write_text("something else\n")
    revert = [PROGRAM, "--local", "--data-dir", scene.root / "data", "state.revert", "work"]
    done = subprocess.run(revert, capture_output=True, text=True)
    assert done.returncode == 2 and "was changed since run" in done.stdout
    assert mode_and_owner(path) == ("0o755", OWNER)
    path.write_text("tool\n")
    subprocess.run(revert, check=True, capture_output=True)
    assert mode_and_owner(path) == ("0o4755", 0)


def test_the_lock_of_runs_can_be_opened_by_its_owner_only(scene):
    scene.apply("it: {test.nop: []}")
    lock = scene.root / "data" / "run.lock"
    assert mode_and_owner(lock) == ("0o600", 0)
    lock.chmod(0o644)
    scene.apply("it: {test.nop: []}")
    assert mode_and_owner(lock) == ("0o600", 0)


def test_an_archive_is_extracted_into_a_folder_of_somebody_else(scene):
    states = extract(scene, 1).replace("/d,", "/a,").replace("/d/new,", "/b,")
    scene.settles(states)
    for folder in ("a", "b"):
        assert mode_and_owner(scene.home / folder) == ("0o755", OWNER)
        assert mode_and_owner(scene.home / folder / "f0")[1] == OWNER
        assert (scene.home / folder / "f0").read_text() == "1\n"
    subprocess.run([PROGRAM, "--local", "--data-dir", scene.root / "data", "state.revert", "work"], check=True, capture_output=True)
    assert not list(scene.home.iterdir())
    assert not [path for path in (scene.root / "data").iterdir() if path.name.startswith(".zester-")]
