"""The Debian packages: what is in them, what they need, the source package, and a fleet made of them on a Debian of its own."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from chroot import Chroot, shared_packages

TOP = pathlib.Path(__file__).resolve().parents[3]
RELEASE = TOP / "build/release"
NAMES = ["zester", "zester-master", "zester-peel", "zester-watchdog", "kepler"]
# The master can do little more than talk; the others change their machine.
EXPOSURE_MAX = {"zester-master.service": 3.0, "zester-nats.service": 3.0}
SECONDS = 60

pytestmark = pytest.mark.skipif(not RELEASE.exists(), reason="no release build")


# Packages that are made to be looked at once are not worth the time of the best compression.
ENV = {**os.environ, "DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}


def run(*command, cwd=TOP):
    return subprocess.run([str(word) for word in command], cwd=cwd, text=True, capture_output=True, check=False, env=ENV)


def make(folder, version):
    programs = sorted(path.stem for path in (TOP / "src/commands/programs").glob("*.c"))
    result = run("/usr/bin/python3", "tools/make-deb", "--version", version, "--build", RELEASE, "--output", folder, *programs)
    assert result.returncode == 0, result.stderr
    paths = [pathlib.Path(line) for line in result.stdout.splitlines()]
    return {path.name.split("_")[0]: path for path in paths}


@pytest.fixture(scope="module")
def version():
    return run("make", "-s", "version").stdout.strip()


@pytest.fixture(scope="module")
def packages(tmp_path_factory, version):
    return make(tmp_path_factory.mktemp("deb"), version)


@pytest.fixture(scope="module")
def unpacked(packages, tmp_path_factory):
    """Each package with its control files, in a folder of its own."""
    folder = tmp_path_factory.mktemp("unpacked")
    for name, path in packages.items():
        assert run("dpkg-deb", "-R", path, folder / name).returncode == 0
    return folder


def field(package, name):
    return run("dpkg-deb", "-f", package, name).stdout.strip()


def test_there_are_five_packages_that_say_what_they_are(packages, version):
    architecture = run("dpkg", "--print-architecture").stdout.strip()
    assert list(packages) == NAMES
    for name, path in packages.items():
        assert path.name == f"{name}_{version}_{architecture}.deb"
        assert (field(path, "Version"), field(path, "Architecture")) == (version, architecture)
        assert int(field(path, "Installed-Size")) > 10
        for key in ("Depends", "Description"):
            assert field(path, key) and "@" not in field(path, key)
        assert not field(path, "Files") and not field(path, "Units")


@pytest.mark.parametrize("name", NAMES)
def test_a_package_belongs_to_root_and_holds_only_usr(packages, name):
    for line in run("dpkg-deb", "-c", packages[name]).stdout.splitlines():
        mode, owner, path = line.split()[0], line.split()[1], line.split()[5]
        assert owner == "root/root" and mode[5] == "-" and mode[8] == "-", line
        assert path == "./" or path.startswith("./usr/"), line


@pytest.mark.parametrize("name, path", [
    ("zester", "usr/bin/zester"), ("zester", "usr/libexec/zester/zester-fleet"), ("zester", "usr/share/fish/vendor_completions.d/zester.fish"),
    ("zester-master", "usr/lib/systemd/system/zester-nats.service"), ("zester-master", "usr/lib/sysusers.d/zester-master.conf"), ("zester", "usr/share/man/man1/zester.1.gz"), ("zester", "usr/share/doc/zester/README.md"),
    ("zester", "usr/share/bash-completion/completions/zester"), ("zester-master", "usr/lib/systemd/system/zester-master.service"),
    ("zester-peel", "usr/lib/systemd/system/zester-peel.service"), ("zester-peel", "usr/share/man/man8/zester-peel.8.gz"),
    ("kepler", "usr/lib/systemd/system/kepler-daemon.service"), ("kepler", "usr/share/zsh/vendor-completions/_kepler"),
    *((name, f"usr/share/doc/{name}/copyright") for name in NAMES)])
def test_a_file_is_in_its_package(unpacked, name, path):
    assert (unpacked / name / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_package_depends_on_every_library_that_its_programs_name(packages, unpacked, name):
    depends = {word.split()[0] for word in field(packages[name], "Depends").split(", ")}
    for program in [*(unpacked / name / "usr/bin").iterdir(), *(unpacked / name).glob("usr/libexec/zester/*")]:
        needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", program).stdout)
        assert needed
        for library in needed:
            owners = {line.split(":")[0] for line in run("dpkg-query", "-S", f"*/{library}").stdout.splitlines()}
            assert owners & depends, f"{program.name} needs {library} of {owners}"


def test_lintian_finds_nothing_in_the_packages(packages):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    result = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *packages.values())
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_each_override_of_lintian_has_a_reason(unpacked):
    overrides = list(unpacked.glob("*/usr/share/lintian/overrides/*"))
    assert overrides
    for path in overrides:
        assert path.read_text().startswith("# "), path


def test_the_packages_bring_users_and_groups_that_systemd_can_make(unpacked, tmp_path):
    if not shutil.which("systemd-sysusers"):
        pytest.skip("systemd-sysusers is not installed")
    files = sorted(unpacked.glob("*/usr/lib/sysusers.d/*.conf"))
    assert [path.name for path in files] == ["kepler.conf", "zester-master.conf"]
    (tmp_path / "etc").mkdir()
    result = run("systemd-sysusers", f"--root={tmp_path}", *files)
    assert result.returncode == 0, result.stderr
    assert re.search("^zester:.*:/var/lib/zester:", (tmp_path / "etc/passwd").read_text(), re.M)
    assert re.search("^kepler:", (tmp_path / "etc/group").read_text(), re.M)


@pytest.mark.parametrize("name", NAMES)
def test_the_checksums_of_a_package_are_right_and_its_scripts_are_shell(unpacked, name):
    folder = unpacked / name
    result = run("md5sum", "-c", "--quiet", "DEBIAN/md5sums", cwd=folder)
    assert result.returncode == 0, result.stdout
    has_unit = (folder / "usr/lib/systemd/system").exists()
    assert has_unit == (name not in ("zester", "zester-watchdog"))
    for script in ("postinst", "prerm", "postrm"):
        assert (folder / "DEBIAN" / script).exists() == (has_unit or (name, script) == ("zester", "postinst"))
        if has_unit:
            assert run("sh", "-n", folder / "DEBIAN" / script).returncode == 0
            assert "@" not in (folder / "DEBIAN" / script).read_text()


def test_units_are_well_formed_and_the_master_is_locked_in(unpacked, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    units = sorted(unpacked.glob("*/usr/lib/systemd/system/*.service"))
    assert len(units) == 4
    for unit in units:
        program = re.search(r"^ExecStart=(\S+)", unit.read_text(), re.M).group(1)
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace(program, "/bin/true"))
        result = run("systemd-analyze", "security", "--offline=true", copy)
        exposure = re.search(r"exposure level for \S+: ([\d.]+)", result.stdout)
        assert exposure, result.stdout + result.stderr
        assert float(exposure.group(1)) <= EXPOSURE_MAX.get(unit.name, 10)


def test_a_file_that_no_package_names_stops_the_build(tmp_path):
    source = TOP / "packaging/deb/packages"
    tree = tmp_path / "tree"
    for part in ("tools", "packaging", "docs", "examples"):
        shutil.copytree(TOP / part, tree / part)
    for part in ("README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(TOP / part, tree / part)
    (tree / "packaging/deb/packages").write_text(source.read_text().replace(" bin/kepler-daemon", ""))
    programs = sorted(path.stem for path in (TOP / "src/commands/programs").glob("*.c"))
    result = run("/usr/bin/python3", tree / "tools/make-deb", "--version", "1", "--build", RELEASE, "--output", tmp_path, *programs)
    assert result.returncode == 1 and "bin/kepler-daemon belongs to no package" in result.stderr


# --- the source package -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def source(tmp_path_factory, version):
    """Its .dsc."""
    if not shutil.which("dpkg-source") or not (TOP / ".git").exists():
        pytest.skip("dpkg-dev is not installed, or this is no checkout")
    folder = tmp_path_factory.mktemp("source")
    result = run("/usr/bin/python3", "tools/make-deb", "--version", version, "--output", folder, "--source")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"{folder}/zester_{version}.dsc", f"{folder}/zester_{version}.tar.xz"]
    return folder / f"zester_{version}.dsc"


def unpack(source, folder):
    result = run("dpkg-source", "--extract", source, folder / "tree")
    assert result.returncode == 0, result.stderr
    return folder / "tree"


def test_the_source_package_holds_the_checkout_and_names_what_builds_it(source, tmp_path):
    tree = unpack(source, tmp_path)
    debian = {f"debian/{name}" for name in ("changelog", "control", "copyright", "rules", "source/format")}
    tracked = {path for path in run("git", "ls-files", "-z").stdout.split("\0") if os.path.lexists(TOP / path) and path and not path.startswith(".git")}
    assert {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()} == tracked | debian
    hash_, seconds = (tree / "packaging/commit").read_text().split()
    assert re.fullmatch("[0-9a-f]{40}(-dirty)?", hash_) and seconds.isdigit(), "programs that are built of it name the commit"
    listed = re.findall(r"^([a-z]\S+) +build ", (TOP / "packaging/packages.txt").read_text(), re.M)
    control = (tree / "debian/control").read_text()
    named = re.search("^Build-Depends: (.*)$", control, re.M)[1].split(", ")
    assert set(listed) - set(named) == {"gcc", "libc6-dev", "make"} and set(named) < set(listed)
    assert re.findall("^Package: (.*)$", control, re.M) == NAMES and "@" not in control.replace("packages@", "")
    assert run("dpkg-checkbuilddeps", cwd=tree).returncode == 0


def test_lintian_finds_nothing_in_the_source_package(source):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    result = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", source)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def shape(package):
    """What a package says, and what is in it; sizes may differ with the folder in which it was built."""
    fields = [line for line in run("dpkg-deb", "-f", package).stdout.splitlines() if not line.startswith("Installed-Size")]
    return fields, [(line.split()[:2], line.split()[5:]) for line in run("dpkg-deb", "-c", package).stdout.splitlines()]


@pytest.mark.skipif(os.environ.get("FAULTS") != "all", reason="it compiles everything: make faults")
def test_the_source_package_builds_the_same_packages(packages, source, tmp_path):
    tree = unpack(source, tmp_path)
    result = run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=tree)
    assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]
    assert {path.name for path in tmp_path.glob("*.deb")} == {path.name for path in packages.values()}
    for path in packages.values():
        assert shape(tmp_path / path.name) == shape(path)
    assert len(list(tmp_path.glob("zester_*.changes"))) == 1
    assert run("make", "-f", "debian/rules", "clean", cwd=tree).returncode == 0 and not (tree / "build").exists()


# --- on a Debian of its own -------------------------------------------------------------------------


def libraries_of(packages):
    """What has to be there before: everything that the packages depend on, but for each other."""
    names = {word.split()[0] for path in packages.values() for word in field(path, "Depends").split(", ")}
    return sorted(names - set(NAMES))


def wait_for_ping(machine):
    """A peel of the machine answers; else what all say about it."""
    deadline = time.monotonic() + SECONDS
    while "true" not in (answer := machine.run("zester", "*", "test.ping", check=False)).stdout:
        if time.monotonic() > deadline:
            logs = [machine.run("kepler", "-f", f"/etc/zester/{name}.yaml", "logs", check=False).stdout[-8000:] for name in ("kepler", "kepler-peel")]
            pytest.fail("\n".join([answer.stdout, answer.stderr, machine.run("zester", "doctor", check=False).stdout, *logs]))
        time.sleep(0.2)


def test_packages_are_installed_make_a_fleet_are_upgraded_and_removed(packages, tmp_path, version):
    newer = make(tmp_path, f"{version}+1")
    assert set(libraries_of(packages)) <= set(shared_packages())
    machine = Chroot(tmp_path, include=shared_packages(), name="box")
    try:
        os.remove(machine.path("/usr/local/bin/zester"))
        before = set(machine.listing())
        put(machine, packages)
        assert version in machine.run("zester", "--version")
        token = machine.run("zester-master", "setup", "--host", "127.0.0.1", "--supervisor", "kepler").split()[-1]
        machine.run("zester-peel", "join", "127.0.0.1", token, "--supervisor", "kepler")
        wait_for_ping(machine)

        put(machine, newer)
        assert machine.run("dpkg-query", "-W", "-f=${Version} ", *NAMES).split() == [f"{version}+1"] * len(NAMES)
        assert "true" in machine.run("zester", "*", "test.ping"), "the daemons go on"
        machine.run("kepler", "daemon", "stop")
        machine.run("dpkg", "-r", *reversed(NAMES))
        left = {path for path in set(machine.listing()) - before if not re.match(r"/(etc|var|run|tmp|root)/", path)}
        assert left == set()
        assert machine.path("/var/lib/zester/auth").exists(), "keys stay"
    finally:
        machine.leave()


def put(machine, packages):
    for path in packages.values():
        shutil.copy(path, machine.path("/tmp"))
    machine.run("dpkg", "-i", *(f"/tmp/{packages[name].name}" for name in sorted(NAMES)))
