"""git.cloned and git.latest with real repositories, over files and over plain http."""
import base64
import functools
import http.server
import os
import subprocess
import threading

import pytest

from machine import Machine, by_name, skip_without

ENV = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
       "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"]}


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], env=ENV, check=True, text=True,
                          capture_output=True).stdout.strip()


class Repo:
    def __init__(self, path):
        self.path = path
        path.mkdir()
        git(path, "init", "-q", "-b", "main")
        self.commit("one")

    def commit(self, text):
        (self.path / "file").write_text(text)
        git(self.path, "add", "file")
        git(self.path, "commit", "-q", "-m", text)
        return git(self.path, "rev-parse", "HEAD")


@pytest.fixture
def machine(tmp_path):
    skip_without("git")
    return Machine(tmp_path, namespace=False)


@pytest.fixture
def repo(tmp_path):
    skip_without("git")
    return Repo(tmp_path / "repo")


def cloned(machine, repo, **more):
    lines = "".join(f"\n    - {key}: {value}" for key, value in more.items())
    return f"copy:\n  git.cloned:\n    - name: {machine.root}/copy\n    - url: {repo.path}{lines}\n"


def latest(machine, url, **more):
    lines = "".join(f"\n    - {key}: {value}" for key, value in more.items())
    return f"copy:\n  git.latest:\n    - name: {url}\n    - target: {machine.root}/copy{lines}\n"


def test_a_clone_is_made_once_and_removed_by_a_revert(machine, repo):
    machine.settles(cloned(machine, repo))
    assert (machine.root / "copy/file").read_text() == "one"
    repo.commit("two")
    assert not machine.apply(cloned(machine, repo))["git.cloned:copy"]["changed"]
    machine.revert()
    assert not (machine.root / "copy").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="a repository of another user needs root")
def test_a_repository_of_another_user_is_refused_with_its_owner_and_what_to_do(machine, repo, tmp_path):
    subprocess.run(["chown", "-R", "nobody:nogroup", repo.path], check=True)
    for state in ("git.cloned:copy", "git.latest:copy"):
        text = cloned(machine, repo) if state.startswith("git.cloned") else latest(machine, repo.path)
        error = machine.apply(text)[state]["error"]
        assert f"'{repo.path}/.git' belongs to 'nobody'" in error and "\n" not in error
        assert "give the state 'user: nobody', or chown the repository to 'root'" in error
        assert not (machine.root / "copy").exists()


def test_a_cause_that_is_known_comes_before_what_git_says(machine):
    error = machine.apply(latest(machine, machine.root / "nosuch"))["git.latest:copy"]["error"]
    first, second = error.split("\n")[:2]
    assert first == "git clone: there is no repository, or no right to read it; check the URL"
    assert second.startswith("exit status 128: fatal: ")


def test_a_clone_moves_to_a_revision_and_back(machine, repo):
    first = git(repo.path, "rev-parse", "HEAD")
    git(repo.path, "tag", "-a", "-m", "t", "v1")
    machine.apply(cloned(machine, repo))
    second = repo.commit("two")
    machine.settles(cloned(machine, repo, rev=second))
    assert (machine.root / "copy/file").read_text() == "two"
    machine.settles(cloned(machine, repo, rev="v1"))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == first
    result = machine.apply(cloned(machine, repo, rev="no-such"))["git.cloned:copy"]
    assert "no-such" in result["error"]


def test_a_changed_url_is_repaired_and_taken_back(machine, repo, tmp_path):
    machine.apply(cloned(machine, repo))
    other = Repo(tmp_path / "other")
    result = machine.settles(cloned(machine, other))["git.cloned:copy"]
    assert result["changed"]
    assert git(machine.root / "copy", "remote", "get-url", "origin") == str(other.path)


def test_a_folder_with_other_things_is_not_overwritten(machine, repo):
    (machine.root / "copy").mkdir()
    (machine.root / "copy/mine").write_text("mine")
    assert "set force: true to replace it" in machine.apply(cloned(machine, repo))["git.cloned:copy"]["error"]
    machine.settles(cloned(machine, repo, force="true"))
    assert not (machine.root / "copy/mine").exists()
    machine.revert()
    assert (machine.root / "copy/mine").read_text() == "mine"
    assert sorted(os.listdir(machine.root / "copy")) == ["mine"]


def test_latest_follows_a_branch_and_goes_back(machine, repo):
    machine.settles(latest(machine, repo.path))
    first = git(machine.root / "copy", "rev-parse", "HEAD")
    second = repo.commit("two")
    looked = machine.apply(latest(machine, repo.path), "--test")["git.latest:copy"]
    assert looked["changed"] and "is behind origin" in looked["diff"]
    assert git(machine.root / "copy", "rev-parse", "HEAD") == first
    (machine.states / "case2.zy").write_text(latest(machine, repo.path))
    machine.zester("state.apply", "case2")
    assert git(machine.root / "copy", "rev-parse", "HEAD") == second
    machine.zester("state.revert", "case2")
    assert git(machine.root / "copy", "rev-parse", "HEAD") == first
    assert git(machine.root / "copy", "symbolic-ref", "--short", "HEAD") == "main"


def test_latest_on_a_named_branch_and_a_tag(machine, repo):
    git(repo.path, "checkout", "-q", "-b", "dev")
    repo.commit("dev")
    git(repo.path, "tag", "-a", "-m", "t", "v2")
    git(repo.path, "checkout", "-q", "main")
    machine.settles(latest(machine, repo.path))
    machine.settles(latest(machine, repo.path, branch="dev"))
    assert (machine.root / "copy/file").read_text() == "dev"
    assert not machine.apply(latest(machine, repo.path, rev="v2"))["git.latest:copy"]["changed"]
    assert "has no branch or tag 'nope'" in machine.apply(
        latest(machine, repo.path, branch="nope"))["git.latest:copy"]["error"]


def test_latest_drops_local_work_only_when_told(machine, repo):
    machine.apply(latest(machine, repo.path))
    (machine.root / "copy/file").write_text("local")
    git(machine.root / "copy", "commit", "-q", "-am", "local")
    repo.commit("two")
    assert "force_reset: true" in machine.apply(latest(machine, repo.path))["git.latest:copy"]["error"]
    machine.settles(latest(machine, repo.path, force_reset="true"))
    assert (machine.root / "copy/file").read_text() == "two"


class Server:
    """Repositories below a folder over http, with a password when one is given."""

    def __init__(self, folder, password=None):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                want = "Basic " + base64.b64encode(f"ada:{password}".encode()).decode()
                if password and self.headers.get("Authorization") != want:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="git"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                super().do_GET()

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self):
        return self.url

    def __exit__(self, *why):
        self.http.shutdown()
        self.http.server_close()


def serve(tmp_path, repo, name="served"):
    git(tmp_path, "clone", "-q", "--bare", repo.path, name)
    git(tmp_path / name, "update-server-info")


def test_over_http(machine, repo, tmp_path):
    serve(tmp_path, repo)
    machine.env["no_proxy"] = "127.0.0.1"
    with Server(tmp_path) as url:
        machine.settles(latest(machine, f"{url}/served"))
    assert (machine.root / "copy/file").read_text() == "one"


def test_over_http_with_a_password_that_is_kept_nowhere(machine, repo, tmp_path):
    serve(tmp_path, repo)
    machine.env["no_proxy"] = "127.0.0.1"
    with Server(tmp_path, "open-sesame") as url:
        failed = machine.apply(latest(machine, f"{url}/served"))["git.latest:copy"]
        assert failed["failed"] and not (machine.root / "copy/.git").exists()
        machine.settles(latest(machine, f"{url}/served", https_user="ada", https_pass="open-sesame"))
        wrong = machine.apply(latest(machine, f"{url}/served", https_user="ada", https_pass="guessed-it"))
    assert "guessed-it" not in str(wrong) and wrong["git.latest:copy"]["failed"]
    assert "open-sesame" not in (machine.root / "copy/.git/config").read_text()
    journals = list((machine.root / "data/undo").rglob("journal"))
    assert journals and all(path.stat().st_mode & 0o077 == 0 for path in journals)


def test_submodules_come_along(machine, repo, tmp_path):
    inner = Repo(tmp_path / "inner")
    inner.commit("inside")
    serve(tmp_path, inner, "inner-served")
    machine.env["no_proxy"] = "127.0.0.1"
    with Server(tmp_path) as url:
        subprocess.run(["git", "-C", repo.path, "submodule", "add", "-q", f"{url}/inner-served", "sub"],
                       env=dict(ENV, no_proxy="127.0.0.1"), check=True, capture_output=True)
        git(repo.path, "commit", "-q", "-m", "with a submodule")
        machine.settles(latest(machine, repo.path, submodules="true"))
        assert (machine.root / "copy/sub/file").read_text() == "inside"
        machine.revert()
        machine.settles(latest(machine, repo.path))
    assert not (machine.root / "copy/sub/file").exists()


def test_a_revision_that_is_a_branch_is_followed(machine, repo):
    machine.settles(latest(machine, repo.path, rev="main"))
    second = repo.commit("two")
    machine.settles(latest(machine, repo.path, rev="main"))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == second
    assert git(machine.root / "copy", "symbolic-ref", "--short", "HEAD") == "main"
    third = repo.commit("three")
    machine.settles(latest(machine, repo.path, rev="HEAD"))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == third
    git(repo.path, "checkout", "-q", "-b", "side")
    fourth = repo.commit("four")
    machine.settles(latest(machine, repo.path, rev="side"))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == fourth
    git(repo.path, "tag", "-a", "-m", "v1", "v1", third)
    machine.settles(latest(machine, repo.path, rev="v1"))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == third
    machine.settles(latest(machine, repo.path, rev=fourth[:10]))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == fourth


def test_a_name_is_the_whole_name_of_a_branch_or_a_tag(machine, repo):
    copy = machine.root / "copy"
    main = git(repo.path, "rev-parse", "HEAD")
    for other in ("experimental/main", "old/v1"):
        git(repo.path, "checkout", "-q", "-b", other, "main")
        repo.commit(other)
    git(repo.path, "tag", "v1", "main")
    git(repo.path, "tag", "x/main", "old/v1")
    git(repo.path, "checkout", "-q", "main")
    for more in ({"rev": "main"}, {"branch": "main"}, {"rev": "v1"}):
        machine.settles(latest(machine, repo.path, **more))
        assert git(copy, "rev-parse", "HEAD") == main, more
        machine.revert()
    # nothing of this name: that another ends in it is no help
    git(repo.path, "checkout", "-q", "old/v1")
    git(repo.path, "branch", "-q", "-D", "main")
    machine.apply(latest(machine, repo.path, rev="old/v1"))
    assert "main" in machine.apply(latest(machine, repo.path, branch="main"))["git.latest:copy"]["error"]


def test_a_branch_wins_over_a_tag_of_its_name(machine, repo):
    copy = machine.root / "copy"
    git(repo.path, "tag", "both", "main")
    git(repo.path, "checkout", "-q", "-b", "both")
    branch = repo.commit("branch")
    git(repo.path, "checkout", "-q", "main")
    machine.settles(latest(machine, repo.path, rev="both"))
    assert git(copy, "rev-parse", "HEAD") == branch
    machine.settles(latest(machine, repo.path, rev="main"))
    git(repo.path, "checkout", "-q", "both")
    branch = repo.commit("more")
    machine.settles(latest(machine, repo.path, rev="both"))
    assert git(copy, "rev-parse", "HEAD") == branch
    machine.revert()
    machine.apply(latest(machine, repo.path, branch="main"))
    machine.settles(latest(machine, repo.path, branch="both"))
    assert git(copy, "rev-parse", "HEAD") == branch


def test_a_short_history_reaches_an_older_revision(machine, repo):
    first = git(repo.path, "rev-parse", "HEAD")
    repo.commit("two")
    last = repo.commit("three")
    git(repo.path, "config", "uploadpack.allowAnySHA1InWant", "true")
    machine.settles(latest(machine, f"file://{repo.path}", depth=1))
    assert git(machine.root / "copy", "rev-list", "--count", "HEAD") == "1"
    assert git(machine.root / "copy", "rev-parse", "HEAD") == last
    machine.revert()
    machine.settles(latest(machine, f"file://{repo.path}", depth=1, rev=first))
    assert git(machine.root / "copy", "rev-parse", "HEAD") == first
    machine.revert()
    machine.settles(f"copy: {{git.cloned: [{{name: {machine.root}/copy, url: 'file://{repo.path}', depth: 1,"
                    f" rev: '{first}'}}]}}")
    assert git(machine.root / "copy", "rev-parse", "HEAD") == first


def test_the_form_of_salt_names_the_repository_first(machine, repo):
    machine.settles(f"copy: {{git.cloned: [{{name: {repo.path}, target: {machine.root}/copy}}]}}")
    assert (machine.root / "copy/file").read_text() == "one"
    assert "requires 'url'" in machine.mistakes("copy: {git.cloned: [{name: /srv/x}]}")
    assert "begins with '/'" in machine.mistakes("copy: {git.cloned: [{name: 'https://x/y', url: u}]}")


def test_git_runs_as_another_user_who_owns_the_copy(machine, repo, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(folder.stat().st_mode | 0o755)
    git(tmp_path, "clone", "-q", "--bare", repo.path, "public.git")
    subprocess.run(["chown", "-R", "nobody", tmp_path / "public.git"], check=True)
    machine.settles(latest(machine, tmp_path / "public.git", user="nobody"))
    owners = {path.stat().st_uid for path in (machine.root / "copy").rglob("*")}
    assert owners == {65534}


def open_folders(path):
    for folder in [path, *path.parents][:4]:
        folder.chmod(folder.stat().st_mode | 0o755)


# Settings of a copy that name a program; in each "PROGRAM" is one that leaves a mark.
PROGRAMS = {
    "core.alternateRefsCommand": "PROGRAM", "core.askPass": "PROGRAM", "core.editor": "PROGRAM",
    "core.fsmonitor": "PROGRAM", "core.gitProxy": "PROGRAM", "core.hooksPath": "HOOKS", "core.pager": "PROGRAM",
    "core.sshCommand": "PROGRAM", "credential.helper": "!PROGRAM", "credential.http://127.0.0.1.helper": "!PROGRAM",
    "diff.external": "PROGRAM", "diff.mark.textconv": "PROGRAM", "filter.mark.clean": "PROGRAM",
    "filter.mark.process": "PROGRAM", "filter.mark.required": "true", "filter.mark.smudge": "PROGRAM",
    "filter.a=b.smudge": "PROGRAM", "gpg.program": "PROGRAM", "merge.mark.driver": "PROGRAM",
    "merge.verifySignatures": "true", "protocol.ext.allow": "always", "remote.origin.uploadpack": "PROGRAM",
    "submodule.sub.update": "!PROGRAM",
}


def set_traps(copy, folder, attributes=True):
    """The copy names a program wherever it can; returns the file that the program writes to."""
    mark, program = folder / "mark", folder / "program"
    program.write_text(f'#!/bin/sh\necho "$(id -u) $0 $*" >> {mark}\n')
    program.chmod(0o755)
    mark.touch()
    mark.chmod(0o666)
    hooks = folder / "hooks"
    hooks.mkdir()
    for hook in ["post-checkout", "post-merge", "reference-transaction", "pre-auto-gc", "post-index-change"]:
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
        (copy / ".git/hooks").mkdir(exist_ok=True)
        (copy / ".git/hooks" / hook).write_text(program.read_text())
        (copy / ".git/hooks" / hook).chmod(0o755)
    for key, value in PROGRAMS.items():
        git(copy, "config", key, value.replace("PROGRAM", str(program)).replace("HOOKS", str(hooks)))
    if attributes:
        (copy / ".git/info/attributes").write_text("* filter=mark diff=mark merge=mark\n")
    return mark


@pytest.mark.parametrize("state", ["git.cloned", "git.latest"])
def test_a_copy_runs_no_program_that_its_configuration_names(machine, repo, tmp_path, state):
    copy = machine.root / "copy"
    git(tmp_path, "clone", "-q", repo.path, copy)
    mark = set_traps(copy, tmp_path)
    commit = repo.commit("two")
    text = f"copy: {{{state}: [{{name: '{repo.path}', target: {copy}, rev: '{commit}'}}]}}"
    result = machine.apply(text)[f"{state}:copy"]
    assert not result["failed"], result
    assert git(copy, "-c", "core.fsmonitor=false", "rev-parse", "HEAD") == commit
    assert (copy / "file").read_text() == "two"
    assert machine.zester("git.revision", str(copy))[1] == 0
    machine.revert()
    assert mark.read_text() == ""
    subprocess.run(["git", "-C", copy, "status"], check=False, env=ENV, capture_output=True)
    assert mark.read_text() != ""


def test_submodules_run_no_program_that_their_configuration_names(machine, repo, tmp_path):
    inner = Repo(tmp_path / "inner")
    inner.commit("one inside")
    serve(tmp_path, inner, "inner-served")
    machine.env["no_proxy"] = "127.0.0.1"
    env = dict(ENV, no_proxy="127.0.0.1")
    with Server(tmp_path) as url:
        subprocess.run(["git", "-C", repo.path, "submodule", "add", "-q", f"{url}/inner-served", "deep/sub"], env=env,
                       check=True, capture_output=True)
        git(repo.path, "commit", "-q", "-m", "with a submodule")
        text = latest(machine, repo.path, submodules="true")
        machine.settles(text)
        module = machine.root / "copy/.git/modules/deep/sub"
        mark = tmp_path / "mark"
        mark.touch()
        for key in ("filter.mark.smudge", "filter.mark.clean", "filter.mark.process"):
            git(module, "config", key, f"sh -c 'echo {key} >> {mark}'")
        (module / "info/attributes").write_text("* filter=mark\n")
        inner.commit("two inside")
        git(tmp_path / "inner-served", "fetch", "-q", inner.path, "+main:main")
        git(tmp_path / "inner-served", "update-server-info")
        subprocess.run(["git", "-C", repo.path / "deep/sub", "pull", "-q"], env=env, check=True, capture_output=True)
        git(repo.path, "commit", "-q", "-a", "-m", "a newer submodule")
        result = machine.apply(text)["git.latest:copy"]
        assert result["changed"] and not result["failed"], result
        assert (machine.root / "copy/deep/sub/file").read_text() == "two inside"
        assert mark.read_text() == ""
        git(module, "config", "remote.origin.uploadpack", f"touch {mark}.upload")
        assert "remote.NAME.uploadpack" in machine.apply(text)["git.latest:copy"]["error"]
    assert not (tmp_path / "mark.upload").exists()


def test_a_copy_that_fetches_by_itself_runs_no_program_for_it(machine, repo, tmp_path):
    copy = machine.root / "copy"
    git(repo.path, "config", "uploadpack.allowFilter", "true")
    git(repo.path, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo.path}", copy)
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexec git-upload-pack \"$@\"\n")
    program.chmod(0o755)
    git(copy, "config", "remote.origin.uploadpack", str(program))
    result = machine.apply(latest(machine, f"file://{repo.path}"))["git.latest:copy"]
    assert "remote.NAME.uploadpack" in result["error"]
    assert not mark.exists()
    git(copy, "checkout", "-q", "-f")
    assert mark.exists()  # so it would have been run
    git(copy, "config", "--unset", "remote.origin.uploadpack")
    repo.commit("two")
    result = machine.apply(latest(machine, f"file://{repo.path}"))["git.latest:copy"]
    assert not result["failed"] and (copy / "file").read_text() == "two", result


def test_helpers_for_passwords_are_not_those_of_the_copy(machine, repo, tmp_path):
    serve(tmp_path, repo)
    served = tmp_path / "served"
    machine.env.update(no_proxy="127.0.0.1", HOME=str(tmp_path))
    with Server(tmp_path, "pw") as url:
        machine.apply(latest(machine, f"{url}/served", https_user="ada", https_pass="pw"))
        mark = set_traps(machine.root / "copy", tmp_path, attributes=False)
        (tmp_path / ".gitconfig").write_text(f"""[credential]
helper = "!f() {{ echo username=ada; echo password=pw; touch {tmp_path}/own; }}; f"
""")
        repo.commit("two")
        git(served, "fetch", "-q", repo.path, "+main:main")
        git(served, "update-server-info")
        result = machine.apply(latest(machine, f"{url}/served"))["git.latest:copy"]
    assert result["changed"] and not result["failed"], result
    assert mark.read_text() == "" and (tmp_path / "own").exists()


def test_git_runs_with_the_rights_of_the_owner_of_the_copy(machine, repo, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    open_folders(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", repo.path, "public.git")
    subprocess.run(["chown", "-R", "nobody", tmp_path / "public.git"], check=True)
    copy = machine.root / "copy"
    copy.mkdir()
    os.chown(copy, 65534, 65534)
    machine.settles(latest(machine, tmp_path / "public.git"))
    assert {path.stat().st_uid for path in copy.rglob("*")} == {65534}
    assert "controlled by user 'nobody'" in machine.apply(
        latest(machine, tmp_path / "public.git", user="root"))["git.latest:copy"]["error"]
    # below a folder of somebody else, and of a number without a name
    for uid in (65534, 4242):
        home = tmp_path / f"home{uid}"
        home.mkdir()
        os.chown(home, uid, uid)
        subprocess.run(["chown", "-R", str(uid), tmp_path / "public.git"], check=True)
        text = f"copy: {{git.cloned: [{{name: {home}/app, url: '{tmp_path}/public.git'}}]}}"
        machine.settles(text)
        assert {path.stat().st_uid for path in [home / "app", *(home / "app").rglob("*")]} == {uid}
        assert machine.apply(text.replace("app,", "other, user: root,"))["git.cloned:copy"]["failed"]


def test_urls_that_run_commands_are_refused(machine):
    said = machine.mistakes("""
a: {git.latest: [{name: 'ext::sh -c true', target: /x}]}
b: {git.cloned: [{name: /x, url: '--upload-pack=touch /tmp/x'}]}
c: {git.cloned: [{name: /x, url: u, branch: --orphan}]}
""")
    assert said.count("case.zy:") >= 3, said


@pytest.mark.parametrize("state", ["git.cloned: [{url: file:///nowhere.git}]", "git.latest: [{name: file:///nowhere.git}, {target: /srv/app}]"])
def test_a_clone_that_fails_leaves_no_folder(machine, state):
    assert machine.apply(f"/srv/app: {{{state}}}").popitem()[1]["failed"]
    assert not machine.path("/srv/app").exists()


def test_what_came_after_a_clone_that_failed_outlives_its_revert(machine, repo):
    failed = machine.apply(latest(machine, machine.root / "nowhere"))["git.latest:copy"]
    assert "does not exist" in failed["error"]
    (machine.root / "copy").mkdir()
    (machine.root / "copy" / "mine").write_text("data")
    machine.revert()
    assert (machine.root / "copy" / "mine").read_text() == "data"


@pytest.mark.parametrize("state", ["git.cloned", "git.latest"])
def test_a_short_history_of_one_branch_moves_to_another(machine, repo, state):
    git(repo.path, "branch", "side")
    repo.commit("two")
    url, copy = f"file://{repo.path}", machine.root / "copy"

    def text(branch):
        return f"copy: {{{state}: [{{name: '{url}', target: {copy}, branch: {branch}, depth: 1}}]}}"

    machine.settles(text("side"))
    assert (copy / "file").read_text() == "one"
    machine.settles(text("main"))
    assert (copy / "file").read_text() == "two" and git(copy, "branch", "--show-current") == "main"
    machine.revert()
    assert not copy.exists()


def test_a_revision_that_the_repository_does_not_have_is_named(machine, repo):
    machine.settles(cloned(machine, repo))
    for wish in ({"branch": "nowhere"}, {"rev": "abcdef1"}):
        name = list(wish.values())[0]
        failed = machine.apply(cloned(machine, repo, **wish))["git.cloned:copy"]
        assert f"{repo.path} has no branch, tag or commit '{name}'" in failed["error"], failed


def refs(path):
    return dict(reversed(line.split()) for line in git(path, "for-each-ref", "--format=%(objectname) %(refname)").splitlines())


@pytest.mark.parametrize("kind", ["bare", "mirror"])
def test_a_bare_repository_follows_and_goes_back(machine, repo, kind):
    copy, text = machine.root / "copy", latest(machine, repo.path, **{kind: "true"})
    git(repo.path, "branch", "old")
    git(repo.path, "update-ref", "refs/notes/x", "HEAD")
    machine.settles(text)
    assert git(copy, "rev-parse", "--is-bare-repository") == "true" and not (copy / "file").exists()
    assert {"refs/heads/main", "refs/heads/old"} <= set(refs(copy))
    assert ("refs/notes/x" in refs(copy)) == (kind == "mirror")
    repo.commit("two")
    git(repo.path, "tag", "v1")
    git(repo.path, "branch", "-D", "old")
    git(repo.path, "commit", "-q", "--amend", "-m", "another two")
    result = machine.settles(text)["git.latest:copy"]
    assert "updated" in result["diff"]
    assert refs(copy)["refs/heads/main"] == git(repo.path, "rev-parse", "main") and "refs/tags/v1" in refs(copy)
    assert ("refs/heads/old" in refs(copy)) == (kind == "bare")
    undone = machine.revert()["git.latest:copy"]
    assert not undone["failed"] and "restored the references of" in undone["diff"], undone
    assert not copy.exists()


def test_the_references_of_a_bare_repository_come_back_alone(machine, repo):
    copy, text = machine.root / "copy", latest(machine, repo.path, mirror="true")
    subprocess.run(["git", "clone", "-q", "--mirror", repo.path, copy], check=True)
    before = refs(copy)
    repo.commit("two")
    git(repo.path, "branch", "side")
    machine.settles(text)
    assert refs(copy) == refs(repo.path) != before
    assert not machine.revert()["git.latest:copy"]["failed"]
    assert refs(copy) == before


def test_a_bare_repository_is_not_a_working_copy(machine, repo):
    said = machine.mistakes(latest(machine, repo.path, bare="true", rev="main", submodules="true"))
    assert "'rev' and 'bare' are mutually exclusive" in said and "'submodules' and 'bare' are mutually exclusive" in said
    machine.settles(latest(machine, repo.path))
    failed = machine.apply(latest(machine, repo.path, mirror="true"))["git.latest:copy"]
    assert "is not a bare repository and not empty" in failed["error"]
    machine.settles(latest(machine, repo.path, mirror="true", force_clone="true"))
    failed = machine.apply(latest(machine, repo.path))["git.latest:copy"]
    assert "is not a working copy and not empty" in failed["error"]


# --- files of Salt -----------------------------------------------------------------------------------------------------

class Copy:
    """A working copy that a Salt file keeps up to date."""

    def __init__(self, machine, repo):
        self.machine, self.repo, self.path, self.sls = machine, repo, machine.root / "copy", "salt"

    def apply(self, state="latest", **more):
        text = latest(self.machine, self.repo.path, **more).replace("git.latest", "git." + state)
        (self.machine.states / f"{self.sls}.sls").write_text(text)
        return by_name(self.machine.zester("state.apply", self.sls)[0])[f"git.{state}:copy"]

    def settles(self, **more):
        assert self.apply(**more)["changed"]
        again = self.apply(**more)
        assert not again["changed"] and not again["failed"]

    def git(self, *words):
        return git(self.path, *words)

    def where(self):
        """The branch that is checked out, what it tracks, and its file."""
        upstream = self.git("for-each-ref", "--format=%(upstream:short)", self.git("symbolic-ref", "HEAD"))
        return self.git("symbolic-ref", "--short", "HEAD"), upstream, (self.path / "file").read_text()


@pytest.fixture
def copy(machine, repo):
    git(repo.path, "tag", "-a", "-m", "one", "v1")
    git(repo.path, "checkout", "-q", "-b", "dev")
    repo.commit("dev")
    git(repo.path, "checkout", "-q", "main")
    repo.commit("two")
    return Copy(machine, repo)


def test_the_branch_of_a_salt_file_is_the_local_one_that_follows_a_revision(copy):
    copy.settles(branch="work", rev="dev")
    assert copy.where() == ("work", "origin/dev", "dev")
    git(copy.repo.path, "checkout", "-q", "dev")
    copy.repo.commit("newer")
    copy.settles(branch="work", rev="dev")
    assert copy.where() == ("work", "origin/dev", "newer")
    copy.sls = "later"
    copy.settles(branch="old", rev="v1")
    assert copy.where() == ("old", "", "one")
    copy.machine.zester("state.revert", "later")
    assert copy.where() == ("work", "origin/dev", "newer")


def test_without_a_branch_of_a_salt_file_the_one_that_is_there_follows(copy):
    copy.settles(rev="dev")
    assert copy.where() == ("main", "origin/dev", "dev")
    assert "cannot be fast-forwarded to v1" in copy.apply(rev="v1")["error"]
    copy.settles(rev="v1", force_reset="true")
    assert copy.where() == ("main", "", "one")
    copy.settles(rev="main")
    assert copy.where() == ("main", "origin/main", "two")
    copy.git("checkout", "-q", "--detach")
    copy.repo.commit("three")
    copy.settles(rev="main")
    assert (copy.path / "file").read_text() == "three" and copy.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_local_changes_are_dropped_in_a_salt_file_only_as_far_as_it_says(copy):
    copy.apply(rev="main")
    (copy.path / "file").write_text("mine")
    assert not copy.apply(rev="main")["changed"]
    assert not copy.apply(rev="main", force_reset="remote-changes")["changed"]
    assert (copy.path / "file").read_text() == "mine"
    copy.repo.commit("three")
    assert "uncommitted changes" in copy.apply(rev="main", force_checkout="true")["error"]
    copy.settles(rev="main", force_reset="remote-changes")
    assert (copy.path / "file").read_text() == "three"
    (copy.path / "file").write_text("mine")
    copy.settles(rev="main", force_reset="true")
    assert (copy.path / "file").read_text() == "three"


def test_a_tag_that_has_moved_is_followed_in_a_salt_file_only_with_force(copy):
    copy.apply(rev="v1")
    git(copy.repo.path, "tag", "-f", "v1", "main")
    assert "tag 'v1' has moved" in copy.apply(rev="v1")["error"]
    copy.settles(rev="v1", force_reset="true")
    assert copy.where() == ("main", "", "two")


def test_a_revision_of_a_salt_file_that_is_nowhere_leaves_no_clone(copy):
    assert "has no branch or tag 'none'" in copy.apply(rev="none")["error"]
    assert not copy.path.exists()


def test_a_short_history_of_a_salt_file_reaches_a_commit_and_a_branch(repo, copy):
    first = git(repo.path, "rev-parse", "v1^{commit}")
    repo.path = f"file://{repo.path}" # without it, git makes no short history of a repository on this machine
    copy.settles(rev=first, depth=1)
    assert copy.where() == ("main", "", "one")
    assert copy.git("rev-list", "--count", "HEAD") == "1"
    copy.settles(rev="dev", depth=1, branch="dev")
    assert copy.where() == ("dev", "origin/dev", "dev")


def test_a_detached_copy_moves_with_the_branch_that_it_names_and_settles(copy):
    copy.apply("cloned")
    assert copy.apply("detached", rev="main")["changed"]
    assert not copy.apply("detached", rev="main")["changed"]
    three = copy.repo.commit("three")
    assert copy.apply("detached", rev="main")["changed"] and copy.git("rev-parse", "HEAD") == three
    assert not copy.apply("detached", rev="main")["changed"]
