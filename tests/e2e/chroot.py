"""A Debian of its own for a test: made by debootstrap from where this machine gets its packages, and
entered through namespaces. Its processes, mounts, network, names and kernel parameters are its own and go
with it; this machine stays as it was. Needs root. The files of one run of tools/run-tests share what debootstrap makes
of the same packages."""
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import urllib.request

import pytest

from machine import PROGRAM, TOP, skip_without

# What the program loads when it needs it; see src/states/modules/archive/unpack.c and src/core/sys/fetch.c.
LOADED = ["libarchive.so.13", "libcurl.so.4"]
REACH_SECONDS = 15
BUILD_SECONDS = 900
COMMAND_SECONDS = 600
# What debootstrap says when something does not come from the network, and how often it may.
OUT_OF_REACH = r"Couldn't download|Failed getting|Couldn't retrieve|Couldn't find these debs"
BUILD_TRIES = 3

# The first process of the namespaces, or what becomes systemd. It says which process it is outside, waits until the machine is built,
# goes to live there, and waits for the end of its input. Children that lost their parent come to it; as it ignores
# their end, the kernel buries them.
INIT = """
import fcntl, os, signal, socket, struct, subprocess, sys
root, name, memory, manager = sys.argv[1:]
mount = lambda *words: subprocess.run(["mount", *words], check=True)
mount("--make-rprivate", "/")
if memory == "memory":
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
print(os.readlink("/proc/self"), flush=True)
if not sys.stdin.readline():
    sys.exit()
mount("-t", "proc", "proc", root + "/proc")
mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", root + "/dev/pts")
socket.sethostname(name)
with socket.socket() as any:
    request = struct.pack("16sh14x", b"lo", 0x41)  # up and running
    fcntl.ioctl(any, 0x8914, request)  # SIOCSIFFLAGS
def mount_for_systemd():
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root + "/run")
    mount("-t", "sysfs", "-o", "ro", "sysfs", root + "/sys")
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        mount("-t", "cgroup2", "cgroup2", root + "/sys/fs/cgroup")
        return
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root + "/sys/fs/cgroup")
    os.mkdir(root + "/sys/fs/cgroup/systemd")
    mount("-t", "cgroup", "-o", "none,name=systemd", "cgroup", root + "/sys/fs/cgroup/systemd")
if manager == "systemd":
    mount_for_systemd()
os.chroot(root)
os.chdir("/")
if manager == "systemd":
    print("ready", flush=True)
    os.execve("/lib/systemd/systemd", ["systemd", "--system", "--show-status=no"], {"container": "zester", "PATH": os.environ["PATH"]})
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
sys.stdin.read()
"""
# So much memory must be free for a machine to live in it, away from a busy disk.
MEMORY_KB = 2 << 20


def signed_by(mirror):
    """The key file that a list of apt names for this mirror; None."""
    files = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    for path in files:
        text = path.read_text() if path.suffix in (".list", ".sources") and path.is_file() else ""
        for part in text.split("\n\n") if path.suffix == ".sources" else text.splitlines():
            found = re.search(r"signed-by[=:]\s*(/[^\s\],]+)", part, re.IGNORECASE)
            if mirror in part and found and os.path.exists(found[1]):
                return found[1]
    return None


def own_mirror():
    """Where this machine gets its packages: the address and the release."""
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)
    out = subprocess.run(["apt-get", "update", "--print-uris"], capture_output=True, text=True, check=False).stdout
    for address, suite in re.findall(r"'(\w+://\S+?)/dists/(\S+?)/InRelease'", out):
        if release and suite == release[1] and os.path.exists(f"/usr/share/debootstrap/scripts/{suite}"):
            return address, suite
    pytest.skip("apt of this machine names no repository of its own release")
    return None


def proxy():
    """The proxy of apt, as other programs are told of it."""
    out = subprocess.run(["apt-config", "dump", "--format", "%f=%v%n", "Acquire::http::Proxy"], capture_output=True,
                         text=True, check=False).stdout
    return {"http_proxy": out.strip().partition("=")[2]} if "=http" in out else {}


def reach(address, suite, env):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": env["http_proxy"]} if env else None))
    try:
        with opener.open(f"{address}/dists/{suite}/InRelease", timeout=REACH_SECONDS) as answer:
            answer.read(1)
    except OSError as error:
        pytest.skip(f"{address} cannot be reached: {error}")


def libraries(program):
    """What the program needs, and what it loads later: name -> path."""
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True,
                           env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}).stdout
    loaded = [re.search(rf"{re.escape(name)} .*=> (\S+)", known) for name in LOADED]
    found = {}
    for path in [str(program), *(match[1] for match in loaded if match)]:
        out = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        found.update(re.findall(r"(\S+) => (/\S+)", out))
        if path != str(program):
            found[os.path.basename(path)] = path
    return found


def shared_packages():
    """Those of the Debian that all files of a run share: what our own packages need, a bus, and what formulas manage."""
    own = re.findall(r"^(\S+) +run ", (TOP / "packaging/packages.txt").read_text(), re.MULTILINE)
    return sorted({*own, "nats-server", "cron", "locales"})


class Chroot:
    """Of the release of this machine, unless `suite` names another one; with `program`, which may be None."""

    def __init__(self, folder, include=(), name="web1", suite=None, program=PROGRAM, systemd=False):
        if os.geteuid() != 0:
            pytest.skip("only root may make a machine of its own")
        skip_without("debootstrap", "unshare", "nsenter", "mount", "apt-get", "ldconfig")
        if subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "true"], capture_output=True,
                          check=False).returncode:
            pytest.skip("namespaces are not allowed here")
        self.folder = folder / "root"  # where it is mounted, if it is
        self.folder.mkdir()
        self.suite = suite
        self.systemd = systemd  # as its first process; `include` must have it
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                    "LC_ALL": "C.UTF-8", **{key: os.environ[key] for key in os.environ if key.endswith("SAN_OPTIONS")}}
        self.enter(name)
        try:
            self.build(include)
            if program:
                self.install_program(program)
            self.path("/etc/hostname").write_text(name + "\n")
            self.move_in()
        except BaseException:
            self.leave()
            raise

    def enter(self, name):
        script = self.folder.parent / "init.py"
        script.write_text(INIT)
        free = re.search(r"^MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.MULTILINE)
        words = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", *(["--cgroup"] if self.systemd else []), "--fork", "--kill-child",
                 "/usr/bin/python3", str(script), str(self.folder), name, "memory" if free and int(free[1]) > MEMORY_KB else "disk",
                 "systemd" if self.systemd else "alone"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.stdout.readline().strip()
        assert self.pid, "the namespaces could not be set up"
        self.root = pathlib.Path(f"/proc/{self.pid}/root{self.folder}")

    def build(self, include):
        shared = os.environ.get("ZESTER_TEST_SHARED")
        if not shared:
            self.bootstrap(include)
            return
        archive = f"{shared}/{'-'.join([self.suite or 'debian', *sorted(include)])}.tar"
        with open(archive + ".lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(archive):
                self.tar("--extract", archive)
            else:
                self.bootstrap(include)
                self.tar("--create", archive + ".new", ".")
                os.rename(archive + ".new", archive)

    def tar(self, action, archive, *names):
        status, said = self.outside(["tar", action, "--xattrs", "--xattrs-include=*", "--numeric-owner", "--same-permissions", "-C", str(self.folder),
                                     "-f", archive, *names])
        assert status == 0, said[-4000:]

    def bootstrap(self, include):
        address, suite = own_mirror()
        suite = self.suite or suite
        env = proxy()
        reach(address, suite, env)
        key = signed_by(address)
        words = ["debootstrap", "--variant=minbase", *([f"--include={','.join(include)}"] if include else []),
                 *([f"--keyring={key}"] if key else []), suite, str(self.folder), address]
        for _ in range(BUILD_TRIES):
            status, said = self.outside(words, env)
            if status == 0 or not re.search(OUT_OF_REACH, said):
                break
            self.outside(["find", str(self.folder), "-mindepth", "1", "-delete"])
        if status != 0 and re.search(OUT_OF_REACH, said):
            pytest.skip(f"{address} does not give all packages: {said[-1000:]}")
        assert status == 0, said[-4000:]
        for path in self.path("/var/cache/apt/archives").glob("*.deb"):
            path.unlink()
        self.path("/etc/apt/sources.list").write_text("")

    def outside(self, words, env=None):
        """A program of this machine, which sees the folder as it is mounted: its exit status, and what it printed."""
        result = subprocess.run(["nsenter", "-t", self.pid, "--mount", *words], text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_SECONDS,
                                env={**os.environ, **(env or {})})
        return result.returncode, result.stdout

    def install_program(self, program):
        shutil.copy2(program, self.path("/usr/local/bin/zester"))
        for name, path in libraries(program).items():
            if not any(self.path(folder + name).exists() for folder in
                       ("/lib/", "/usr/lib/", "/lib64/", f"/usr/lib/{os.uname().machine}-linux-gnu/")):
                shutil.copy2(path, self.path("/usr/local/lib/" + name))
        subprocess.run(["chroot", self.root, "/sbin/ldconfig"], check=True)

    def move_in(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ready\n", "nobody could move in"
        self.root = pathlib.Path(f"/proc/{self.pid}/root")

    def leave(self):
        """The end: all its processes and mounts go with the first process."""
        self.process.stdin.close()
        if self.systemd:
            os.kill(int(self.pid), signal.SIGKILL)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.kill(int(self.pid), signal.SIGKILL)
            self.process.wait(60)
        self.process.stdout.close()
        shutil.rmtree(self.folder)

    def path(self, path):
        """A path of this machine, as this process sees it."""
        return self.root / str(path).lstrip("/")

    def run(self, *words, check=True, seconds=COMMAND_SECONDS):
        """A program on this machine: what it printed."""
        argv = ["nsenter", "-t", self.pid, "--mount", "--pid", "--net", "--uts", "--ipc", "--root", "--wd",
                *map(str, words)]
        result = subprocess.run(argv, text=True, capture_output=True, check=False, env=self.env,
                                timeout=seconds, stdin=subprocess.DEVNULL)
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout if check else result

    def sh(self, text, check=True):
        return self.run("sh", "-c", text, check=check)

    def zester(self, *words):
        """--local with these words: the record, and the exit status."""
        result = self.run("zester", "--local", "--quiet", "-o", "json", *words, check=False)
        assert result.returncode in (0, 2), result.stdout + result.stderr
        assert "Sanitizer" not in result.stderr, result.stderr
        return json.loads(result.stdout)[0], result.returncode

    def listing(self):
        """Everything on the disk: path -> kind, owner, mode, and what is in it. Times are left out."""
        found, root = {}, str(self.root)
        for folder, folders, files in os.walk(root):
            for name in folders + files:
                path = os.path.join(folder, name)
                found[path[len(root):]] = describe(path)
            if folder == root:
                folders.remove("proc")
        return found


def describe(path):
    info = os.lstat(path)
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest()
    elif stat.S_ISLNK(info.st_mode):
        content = os.readlink(path)
    else:
        content = str(info.st_rdev) if stat.S_ISCHR(info.st_mode) else ""
    return f"{stat.filemode(info.st_mode)} {info.st_uid}:{info.st_gid} {content}"
