"""The build itself, on the tree that was built for the tests and on tiny copies of the Makefile."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
# The tests run the programs of build/asan; beside it is what would be installed.
RELEASE = TOP / os.environ.get("ZESTER_BUILD", "build/asan").replace("asan", "release")


def run(*command, cwd=TOP, **how):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "CC"))}
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False, env=env, **how)


def make(*words, cwd=TOP):
    result = run("make", "--no-print-directory", *words, cwd=cwd)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def version():
    return make("version").strip()


@pytest.fixture
def project(tmp_path):
    """The Makefile of this tree around a few small sources."""
    for path in ("Makefile", "tools/compile-commands", "tools/gen-build", "tools/gen-modules", "tools/gen-providers", "packaging/commit", ".gitattributes"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / path, tmp_path / path)
    files = {"src/core/base/a.h": "int a(void);\n", "src/core/base/a.c": '#include "core/base/a.h"\n\nint a(void)\n{\n    return 0;\n}\n',
             "src/core/base/b.h": "int b(void);\n", "src/core/base/b.c": '#include "core/base/b.h"\n\nint b(void)\n{\n    return 1;\n}\n',
             "src/core/base/build.h": "struct build {\n    const char *version, *commit, *built;\n};\nextern const struct build build_info;\n",
             "src/states/state/module.h": "#include <stddef.h>\n\nstruct module {\n    const char *name;\n};\n"
                                   "extern const struct module *const module_table[];\nextern const size_t module_count;\n",
             "src/states/modules/m/n.c": '#include "states/state/module.h"\n\nextern const struct module module_m_n;\n'
                                  'const struct module module_m_n = {\n    .name = "m.n",\n};\n',
             "src/commands/programs/p.c": '#include <stdio.h>\n\n#include "core/base/a.h"\n#include "core/base/build.h"\n\nint main(void)\n{\n'
                                 '    return printf("%s\\n%s\\n%s\\n", ZESTER_VERSION, build_info.commit, build_info.built) < 0 ? 1 : a();\n}\n'}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_a_second_build_does_nothing_and_is_quick(project):
    assert "cc build/release/src/core/base/a.o" in make("-j2", cwd=project)
    times = []
    for _ in range(3):
        started = time.monotonic()
        assert make("-j2", cwd=project) == ""
        times.append(time.monotonic() - started)
    assert min(times) < 15  # below one, unless other work shares the machine


def test_a_changed_header_rebuilds_those_who_include_it(project):
    make("-j2", cwd=project)
    (project / "src/core/base/a.h").write_text("int a(void);\n#define A 1\n")
    out = make(cwd=project)
    assert "src/core/base/a.o" in out and "programs/p.o" in out and "src/core/base/b.o" not in out


def git(folder, *words, when=0):
    date = f"{1700000000 + when} +0000"
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True, text=True, capture_output=True).stdout.strip()


def built_from(folder):
    """The commit and the time that the program of a project says."""
    return subprocess.run([folder / "build/release/p"], check=True, text=True, capture_output=True).stdout.split()[1:]


def test_a_tree_without_a_repository_is_built_from_an_unknown_commit(project):
    make("-j2", cwd=project)
    assert built_from(project) == ["unknown", "unknown"]
    (project / "packaging/commit").write_text("0123abcd 1700000000\n")
    assert "build/generated/build.o" in make("-j2", cwd=project)
    assert built_from(project) == ["0123abcd", "2023-11-14T22:13:20Z"]
    (project / "packaging/commit").write_text('"; system("true 1\n')
    make("-j2", cwd=project)
    assert built_from(project)[0] == "unknown"


def test_a_new_commit_compiles_one_file_and_says_when_files_differ_from_it(project):
    (project / ".gitignore").write_text("/build/\n/compile_commands.json\n")
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "one")
    make("-j2", cwd=project)
    assert built_from(project) == [git(project, "rev-parse", "HEAD"), "2023-11-14T22:13:20Z"]
    git(project, "commit", "-q", "--allow-empty", "-m", "two", when=60)
    out = make("-j2", cwd=project)
    assert re.findall(r"cc (\S+)", out) == ["build/release/build/generated/build.o"], out
    assert built_from(project) == [git(project, "rev-parse", "HEAD"), "2023-11-14T22:14:20Z"]
    assert make("-j2", cwd=project) == ""
    (project / "src/core/base/b.c").write_text((project / "src/core/base/b.c").read_text() + "\n")
    make("-j2", cwd=project)
    assert built_from(project) == [git(project, "rev-parse", "HEAD") + "-dirty", "2023-11-14T22:14:20Z"]


def test_an_archive_of_a_commit_knows_it_and_a_packager_says_the_time(project, tmp_path):
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "one")
    git(project, "archive", "--prefix=copy/", "-o", "copy.tar", "HEAD")
    run("tar", "-xf", "copy.tar", cwd=project)
    make("-j2", cwd=project / "copy")  # inside another repository, which is not its own
    assert built_from(project / "copy") == [git(project, "rev-parse", "HEAD"), "2023-11-14T22:13:20Z"]
    subprocess.run(["make", "--no-print-directory"], cwd=project / "copy", env={**os.environ, "SOURCE_DATE_EPOCH": "1"}, check=True, capture_output=True)
    assert built_from(project / "copy")[1] == "1970-01-01T00:00:01Z"


def test_a_deleted_source_leaves_the_library_and_breaks_nothing(project):
    make("-j2", cwd=project)
    (project / "src/core/base/b.c").unlink()
    (project / "src/core/base/b.h").unlink()
    make(cwd=project)
    members = run("ar", "t", "build/release/libcore.a", cwd=project).stdout.split()
    assert sorted(members) == ["a.o", "modules.o", "n.o"]
    assert make(cwd=project) == ""


def test_a_deleted_header_does_not_stop_the_build(project):
    make("-j2", cwd=project)
    (project / "src/core/base/b.h").unlink()
    (project / "src/core/base/b.c").write_text("int b(void);\nint b(void)\n{\n    return 1;\n}\n")
    assert "src/core/base/b.o" in make(cwd=project)


def test_other_flags_rebuild_everything_and_the_same_flags_nothing(project):
    make("-j2", cwd=project)
    assert "src/core/base/b.o" in make("CFLAGS=-DX", cwd=project)
    assert make("CFLAGS=-DX", cwd=project) == ""


def test_the_other_compiler_has_folders_of_its_own(project):
    make("-j2", "CC=clang", cwd=project)
    assert (project / "build/release-clang/p").exists()
    assert not (project / "build/release").exists()


def test_the_version_is_in_one_place_and_reaches_the_program(project):
    make("-j2", cwd=project)
    makefile = (project / "Makefile").read_text()
    (project / "Makefile").write_text(re.sub(r"(?m)^VERSION :=.*$", "VERSION := 9.8.7", makefile))
    make(cwd=project)
    assert run("build/release/p", cwd=project).stdout.splitlines()[0] == "9.8.7"


def test_the_compilation_database_is_json_with_the_flags_of_the_release_build(project, version):
    make("-j2", "V=asan", cwd=project)
    entries = json.loads((project / "compile_commands.json").read_text())
    assert [entry["file"] for entry in entries] == ["src/commands/programs/p.c", "src/core/base/a.c", "src/core/base/b.c", "src/states/modules/m/n.c"]
    arguments = entries[0]["arguments"]
    assert f'-DZESTER_VERSION="{version}"' in arguments and "-O2" in arguments
    assert not any("sanitize" in word for word in arguments)


def test_help_names_every_command():
    out = make("help")
    for word in ("all", "demo", "test", "lint", "fuzz", "bench", "install", "uninstall", "deb", "clean"):
        assert re.search(rf"^  make {word} +\S", out, re.M), word


@pytest.mark.parametrize("target", ["demo", "test"])
def test_a_clean_clone_installs_packages_before_anything_is_built(tmp_path, target):
    """Not even pkg-config may be asked before the packages are there."""
    shutil.copy(TOP / "Makefile", tmp_path)
    (tmp_path / "tools").mkdir()
    tool = tmp_path / "tools/install-packages"
    tool.write_text("#!/bin/sh\necho packages: $*\nexit 1\n")
    tool.chmod(0o755)
    fake = tmp_path / "bin/pkg-config"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n# A fake pkg-config of a test.\ntouch {tmp_path}/asked\n")
    fake.chmod(0o755)
    result = run("make", target, f"PATH={fake.parent}:{os.environ['PATH']}", cwd=tmp_path)
    assert result.returncode == 2 and result.stdout.startswith("packages: build")
    assert not (tmp_path / "asked").exists()


def test_every_header_can_be_included_first():
    headers = sorted(str(path.relative_to(TOP)) for path in TOP.glob("src/**/*.h"))
    assert len(headers) > 200
    libraries = run("pkg-config", "--cflags", "yaml-0.1", "jansson", "msgpack", "libpcre2-8", "lua5.4").stdout.split()
    result = run("gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Isrc", *libraries, "-fsyntax-only", "-x", "c", *headers)
    assert (result.returncode, result.stderr) == (0, "")


# These talk TLS.
FLEET = ("zester-fleet", "zester-master", "zester-peel", "zester-watchdog")


@pytest.mark.parametrize("name", ["libcrypto", "libcurl", "libarchive", "libsystemd"])
def test_libraries_that_few_runs_need_are_not_linked(name):
    """Each costs a part of a millisecond or more at every start: they are loaded when they are needed."""
    for program in sorted((TOP / "src/commands/programs").glob("*.c")):
        if name == "libcrypto" and program.stem in FLEET:
            continue
        assert name not in run("ldd", str(RELEASE / program.stem)).stdout


# --- one file each ------------------------------------------------------------------------------

PACKAGE_MANAGER = r'''/* madeup - a package manager that exists in this test only. */
#include "states/provider/package/manager.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/offers.h"

static int compare(struct str a, struct str b)
{
    return str_compare(a, b);
}

static int parse_installed(struct package_db *db, struct str text, struct err *err)
{
    while (text.p && text.n > 0) {
        struct str version = str_cut(&text, '\n'), name = str_cut(&version, ' ');
        struct package *package;

        if (package_db_add(db, name, version, STR(""), PACKAGE_INSTALLED, &package, err) < 0)
            return -1;
    }
    return 0;
}

static void parse_offers(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = package_offers_find(offers, STR("tree"));

    if (offer)
        package_offer_add(offer, arena, str_trim(text));
}

static int managed(const struct package_repo_host *host, const struct package_repo *repo,
                   struct package_repo_files *files, struct err *err)
{
    struct package_repo_file *file;

    if (package_repo_add_file(host, files, host->place, &file, err) < 0)
        return -1;
    file->now = str_from(arena_printf(host->arena, "feed %s\n", repo->baseurl));
    return 0;
}

const struct package_manager package_manager_madeup = {
    .name = "madeup",
    .rank = 99,
    .families = "nowhere",
    .programs = TOOL("madeup"),
    .compare = compare,
    .installed_command = TOOL("madeup", "list"),
    .parse_installed = parse_installed,
    .offers_command = TOOL("madeup", "versions"),
    .parse_offers = parse_offers,
    .index = TOOL("/nowhere"),
    .actions = { [PACKAGE_INSTALL] = TOOL("madeup", "add") },
    .repos = { "PLACE", 0, managed, managed },
};
'''

SERVICE_MANAGER = r'''/* runner - a service manager that exists in this test only. */
#include "states/provider/service/manager.h"

#include "core/base/err.h"

static bool is_here(struct arena *arena)
{
    (void)arena;
    return false;
}

static int look(const struct tool *tool, const char *name, struct service_status *ret, struct err *err)
{
    (void)tool, (void)name, (void)err;
    *ret = (struct service_status){ .known = true, .running = true, .word = "running" };
    return 0;
}

static int act(const struct tool *tool, const char *name, enum service_action action, unsigned flags,
               struct err *err)
{
    (void)tool, (void)action, (void)flags;
    return err_set(err, ERR_UNSUPPORTED, "the runner cannot touch '%s'", name);
}

const struct service_manager service_manager_runner = {
    .name = "runner",
    .rank = 99,
    .needs = "nothing",
    .is_here = is_here,
    .look = look,
    .act = act,
};
'''


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """This tree with one more file for each kind of manager, built on from the objects that are there."""
    top = tmp_path_factory.mktemp("grown")
    for path in ("Makefile", "src", "tools"):
        run("cp", "-a", TOP / path, top / path)
    (top / "build").mkdir()
    run("cp", "-a", TOP / "build/generated", top / "build/generated")
    run("cp", "-a", RELEASE, top / "build/release")
    (top / "src/states/provider/package/madeup.c").write_text(PACKAGE_MANAGER.replace("PLACE", str(top / "feeds")))
    (top / "src/states/provider/service/runner.c").write_text(SERVICE_MANAGER)
    (top / "bin").mkdir()
    tool = top / "bin/madeup"
    tool.write_text(f"""#!/bin/sh
case $1 in
list) cat {top}/installed ;;
versions) echo 2.1 ;;
add) echo "$2 2.1" >> {top}/installed ;;
esac
""")
    tool.chmod(0o755)
    (top / "installed").write_text("bash 5.2\n")
    (top / "settings").mkdir()
    (top / "settings/top.zy").write_text("base:\n  '*':\n    - all\n")
    (top / "settings/all.zy").write_text("providers:\n  pkg: madeup\n")
    make("-j2", cwd=top)
    return top


def ask_grown(top, *words):
    return run("env", f"PATH={top}/bin:{os.environ['PATH']}", top / "build/release/zester", "--local", *words,
               f"--data-dir={top}/data", f"--settings-dir={top}/settings", cwd=top)


def test_a_package_manager_is_one_file(grown):
    assert ask_grown(grown, "pkg.version", "bash").stdout.strip().endswith("5.2")
    assert ask_grown(grown, "pkg.latest_version", "tree").stdout.strip().endswith("2.1")
    result = ask_grown(grown, "pkg.install", "tree")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (grown / "installed").read_text() == "bash 5.2\ntree 2.1\n"
    (grown / "settings/all.zy").write_text("providers:\n  pkg: brew\n")
    assert "apt, dnf, yum, zypper, apk, pacman, madeup)" in ask_grown(grown, "pkg.version", "bash").stderr
    (grown / "settings/all.zy").write_text("providers:\n  pkg: madeup\n")


def test_repositories_of_a_package_manager_are_in_its_file(grown):
    (grown / "states").mkdir()
    (grown / "states/feed.zy").write_text("f:\n  pkgrepo.managed:\n    - name: f\n    - baseurl: http://x\n    - refresh: false\n")
    result = ask_grown(grown, "state.apply", "feed", f"--states-dir={grown}/states")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (grown / "feeds").read_text() == "feed http://x\n"


def test_a_service_manager_is_one_file(grown):
    assert "running" in ask_grown(grown, "service.status", "web", "provider=runner").stdout
    assert "the runner cannot touch 'web'" in ask_grown(grown, "service.restart", "web", "provider=runner").stderr
    assert "auto|systemd|openrc|kepler|systemctl|sysv|runner" in run(grown / "build/release/zester", "doc", "service.running").stdout


def test_a_file_that_exports_no_manager_is_reported(grown):
    wrong = grown / "src/states/provider/package/wrong.c"
    wrong.write_text("int wrong;\n")
    result = run("make", "--no-print-directory", cwd=grown)
    wrong.unlink()
    assert result.returncode == 2
    assert "wrong.c: does not define 'const struct package_manager package_manager_wrong'" in result.stderr


# --- install ------------------------------------------------------------------------------------


def install_files(prefix, action, version, *programs):
    return run("/usr/bin/python3", "tools/install-files", "--version", version, "--build", str(RELEASE), action,
               str(prefix), *programs)


@pytest.fixture
def programs():
    found = sorted(path.stem for path in (TOP / "src/commands/programs").glob("*.c"))
    if not found:
        pytest.skip("no program yet")
    return found


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_installed_programs_run_and_uninstall_leaves_nothing(tmp_path, version, programs):
    prefix = tmp_path / "usr"
    result = install_files(prefix, "install", version, *programs)
    assert result.returncode == 0, result.stderr
    assert version in run(str(prefix / "bin/zester"), "--version").stdout
    assert (prefix / "libexec/zester/zester-fleet").exists() and not (prefix / "bin/zester-fleet").exists()
    assert "unknown command" not in run(str(prefix / "bin/zester"), "job", "list", "--config", "/nonexistent").stderr, "its helper is found"
    assert "complete -c zester " in (prefix / "share/fish/vendor_completions.d/zester.fish").read_text()
    page = gzip.decompress((prefix / "share/man/man1/zester.1.gz").read_bytes()).decode()
    assert f".Os zester {version}" in page and "@VERSION@" not in page
    assert (prefix / "share/doc/zester/README.md").exists()
    assert "_zester" in (prefix / "share/bash-completion/completions/zester").read_text()
    assert (prefix / "share/zsh/site-functions/_kepler").read_text().startswith("#compdef kepler\n")
    mine = prefix / "bin/mine"
    mine.write_text("not ours")
    assert install_files(prefix, "uninstall", version).returncode == 0
    assert files_below(prefix) == ["bin/mine"]
    assert not (prefix / "share").exists()


def test_the_unit_of_the_daemon_starts_the_installed_program_and_systemd_accepts_it(tmp_path, version, programs):
    assert install_files(tmp_path, "install", version, *programs).returncode == 0
    unit = tmp_path / "lib/systemd/system/kepler-daemon.service"
    assert f"ExecStart={tmp_path}/bin/kepler-daemon\n" in unit.read_text() and "@" not in unit.read_text()
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    result = run("systemd-analyze", "--man=no", "verify", str(unit))
    assert not [line for line in result.stderr.splitlines() if "kepler-daemon" in line]


def test_uninstall_says_when_nothing_is_installed(tmp_path, version):
    result = install_files(tmp_path, "uninstall", version)
    assert result.returncode == 1 and "nothing installed below" in result.stderr


def test_a_program_that_is_not_built_stops_the_installation(tmp_path, version):
    result = install_files(tmp_path, "install", version, "no-such-program")
    assert result.returncode == 1 and "no-such-program" in result.stderr
    assert files_below(tmp_path) == []



# --- demo and benchmarks ------------------------------------------------------------------------


def test_the_demo_runs_to_its_end(programs, version):
    result = run("tools/demo", str(RELEASE))
    assert result.returncode == 0, result.stderr
    assert version in result.stdout
    assert "\033" not in result.stdout
    assert "$ zester --local state.revert site" in result.stdout and "Started 2 services" in result.stdout
    assert "30 states: 0 changed, 0 failed" in result.stdout and "30 states: 4 would change" in result.stdout
    assert result.stdout.count("\n") < 60 and re.search(r"^    \.\.\. \d+ more lines$", result.stdout, re.M)


def test_long_output_of_the_demo_is_cut_unless_all_is_wanted():
    lines = "".join(f"{number}\n" for number in range(1, 9)) + "\n"
    cut = [subprocess.run(["tools/cut-lines", "2", "1"], cwd=TOP, input=text, env=env, text=True, capture_output=True, check=True).stdout
           for text, env in ((lines, {}), ("1\n\n2\n3\n4\n", {}), (lines, {"VERBOSE": "1"}))]
    assert cut == ["1\n2\n    ... 5 more lines\n8\n", "1\n2\n3\n4\n", lines]


def test_a_fleet_in_a_box_is_shown_and_nothing_of_it_is_left():
    result = run("tools/demo-fleet", str(RELEASE))
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr
    folder, = set(re.findall(r"/\S+/zester-fleet-\w+", result.stdout))
    assert not os.path.exists(folder) and not run("pgrep", "-f", folder).stdout
    assert re.search(r"^job rxn-\w+: state.apply on web-02, complete, .*\n  <- reaction reactor.revive: .*\n  <- event .*\n"
                     r"  first cause: seen by a beacon of web-02$", result.stdout, re.M)
    assert result.stdout.count("\n") < 100
    summary = result.stdout[result.stdout.index("# Shown in "):]
    assert "approved by a reaction" in summary and "a killed service came back" in summary and "killed with -9 in the middle of a job" in summary


def test_a_leg_elsewhere_that_cannot_run_says_why_and_an_unknown_one_is_an_error(tmp_path):
    result = subprocess.run(["/usr/bin/python3", "tools/elsewhere", "trixie"], cwd=TOP, env={"PATH": str(tmp_path)}, text=True, capture_output=True, check=False)
    assert result.returncode == 2 and re.search(r"^trixie: could not run: (only root|\w+ is not installed)", result.stdout, re.M), result.stdout + result.stderr
    result = run("/usr/bin/python3", "tools/elsewhere", "nosuch")
    assert result.returncode != 0 and "no leg 'nosuch' (there are: clang, trixie, arm64)" in result.stderr


def test_a_benchmark_prints_a_ratio(programs):
    result = run("/usr/bin/python3", "bench/run", "--build", str(RELEASE), "--runs", "3", "startup")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^  zester --version +[\d.]+ \w+ +[\d.]+ MiB +true .* [\d.]+$", result.stdout, re.M)


def test_an_unknown_benchmark_is_an_error_that_names_those_there_are():
    result = run("/usr/bin/python3", "bench/run", "nosuch")
    assert result.returncode == 1 and "no benchmark 'nosuch' (there are: " in result.stderr


def test_a_benchmark_of_programs_that_are_not_built_is_an_error(tmp_path):
    result = run("/usr/bin/python3", "bench/run", "--build", str(tmp_path), "startup")
    assert result.returncode == 1 and "is not built" in result.stderr
