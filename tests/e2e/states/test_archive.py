"""archive.extracted with archives of several kinds, made by the usual programs."""
import ctypes
import hashlib
import io
import os
import shutil
import struct
import subprocess
import tarfile
import zipfile

import pytest

from machine import PROGRAM, Machine, skip_without

FILES = {"app/bin/run": "#!/bin/sh\n", "app/etc/app.conf": "port=80\n", "app/README": "read me\n"}


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path, namespace=False)
    for name, text in FILES.items():
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "from/app/bin/run").chmod(0o755)
    (tmp_path / "from/app/link").symlink_to("README")
    return machine


# What libarchive writes as well as it reads.
BSDTAR = {"7z": ["--format=7zip"], "iso": ["--format=iso9660"], "xar": ["--format=xar"], "pax": ["--format=pax"],
          "tar.zst": ["--zstd"], "tar.lz4": ["--lz4"], "tar.lzma": ["--lzma"], "tar.Z": ["--compress"]}


def pack(machine, kind):
    out = machine.root / f"app.{kind}"
    folder = machine.root / "from"
    if kind == "zip":
        skip_without("zip")
        subprocess.run(["zip", "-qry", out, "app"], cwd=folder, check=True)
    elif kind == "cpio":
        skip_without("cpio")
        subprocess.run(f"find app | cpio -o -H newc --quiet > {out}", shell=True, cwd=folder, check=True)
    elif kind in BSDTAR:
        skip_without("bsdtar")
        subprocess.run(["bsdtar", "-cf", out, *BSDTAR[kind], "app"], cwd=folder, check=True)
    else:
        subprocess.run(["tar", "-caf", out, "app"], cwd=folder, check=True)
    return out


def state(machine, source, **more):
    lines = "".join(f"\n    - {key}: {value}" for key, value in more.items())
    return f"x:\n  archive.extracted:\n    - name: {machine.root}/to\n    - source: {source}{lines}\n"


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.xz", "tar.bz2", "zip", "cpio", *BSDTAR])
def test_every_kind_is_extracted_once_and_taken_away(machine, kind):
    archive = pack(machine, kind)
    machine.settles(state(machine, archive))
    for name, text in FILES.items():
        assert (machine.root / "to" / name).read_text() == text
    assert os.access(machine.root / "to/app/bin/run", os.X_OK)
    assert os.readlink(machine.root / "to/app/link") == "README"
    machine.revert()
    assert not (machine.root / "to").exists()


def test_parts_of_paths_are_left_out(machine):
    archive = pack(machine, "tar")
    machine.settles(state(machine, archive, options="--strip-components=1"))
    assert (machine.root / "to/README").read_text() == "read me\n"


def test_a_changed_archive_and_a_missing_file_extract_again(machine):
    archive = pack(machine, "tar.gz")
    machine.settles(state(machine, archive))
    (machine.root / "to/app/README").unlink()
    machine.settles(state(machine, archive))
    (machine.root / "from/app/README").write_text("new\n")
    pack(machine, "tar.gz")
    machine.settles(state(machine, archive))
    assert (machine.root / "to/app/README").read_text() == "new\n"


def test_what_was_in_the_folder_comes_back(machine):
    archive = pack(machine, "tar")
    (machine.root / "to/app").mkdir(parents=True)
    (machine.root / "to/app/README").write_text("mine\n")
    (machine.root / "to/other").write_text("other\n")
    machine.settles(state(machine, archive))
    assert (machine.root / "to/app/README").read_text() == "read me\n"
    machine.revert()
    assert (machine.root / "to/app/README").read_text() == "mine\n"
    assert sorted(os.listdir(machine.root / "to/app")) == ["README"]
    assert sorted(os.listdir(machine.root / "to")) == ["app", "other"]


class Opens:
    """How often a file was opened."""
    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        # They are different events, or equal neighbours would be merged.
        assert libc.inotify_add_watch(self.fd, os.fsencode(path), 0x20 | 0x10) >= 0  # IN_OPEN, IN_CLOSE_NOWRITE

    def count(self):
        events = os.read(self.fd, 65536)
        os.close(self.fd)
        return sum(struct.unpack_from("iI", events, at)[1] == 0x20 for at in range(0, len(events), 16))


def test_an_archive_is_read_once_to_check_it_and_once_to_extract_it(machine):
    archive = pack(machine, "tar.gz")
    for expected in (2, 1):
        opens = Opens(archive)
        machine.apply(state(machine, archive))
        assert (machine.root / "to/app/README").is_file() and opens.count() == expected


def test_an_empty_folder_is_not_taken_for_an_extracted_one(machine):
    (machine.root / "to").mkdir()
    machine.settles(state(machine, pack(machine, "tar")))


def test_if_missing_is_all_that_counts(machine):
    archive = pack(machine, "tar")
    (machine.root / "there").touch()
    result = machine.apply(state(machine, archive, if_missing=machine.root / "there"))["archive.extracted:x"]
    assert not result["changed"] and "already extracted" in result["diff"]
    assert not (machine.root / "to").exists()


def test_a_wrong_hash_extracts_nothing(machine):
    archive = pack(machine, "tar")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    result = machine.apply(state(machine, archive, source_hash="sha256=" + "0" * 64))["archive.extracted:x"]
    assert digest in result["error"] and not (machine.root / "to").exists()
    machine.settles(state(machine, archive, source_hash="sha256=" + digest))


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil-absolute", "a/../../evil"])
def test_nothing_is_written_outside(machine, name):
    archive = machine.root / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        info = tarfile.TarInfo(name)
        info.size = 4
        tar.addfile(info, io.BytesIO(b"evil"))
    result = machine.apply(state(machine, archive))["archive.extracted:x"]
    assert "would write outside its folder" in result["error"]
    assert not (machine.root / "to").exists() and not (machine.root / "evil").exists()


def test_nothing_is_written_through_a_link_of_the_archive(machine):
    archive = machine.root / "evil.tar"
    (machine.root / "outside").mkdir()
    with tarfile.open(archive, "w") as tar:
        link = tarfile.TarInfo("door")
        link.type = tarfile.SYMTYPE
        link.linkname = str(machine.root / "outside")
        tar.addfile(link)
        info = tarfile.TarInfo("door/evil")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"evil"))
    machine.apply(state(machine, archive))
    assert not (machine.root / "outside/evil").exists()


def test_a_damaged_archive_leaves_nothing(machine):
    archive = pack(machine, "tar.gz")
    archive.write_bytes(archive.read_bytes()[:60])
    result = machine.apply(state(machine, archive))["archive.extracted:x"]
    assert result["failed"] and not (machine.root / "to").exists()
    assert sorted(path.name for path in machine.root.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("kind", ["zip", "tar.xz", "7z"])
def test_an_archive_with_a_flipped_bit_fails_and_leaves_nothing(machine, kind):
    (machine.root / "from/app/noise").write_bytes(os.urandom(300_000))
    archive = pack(machine, kind)
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 4
    archive.write_bytes(bytes(data))
    for _ in range(2):
        result = machine.apply(state(machine, archive))["archive.extracted:x"]
        assert result["failed"] and not (machine.root / "to").exists(), result
    assert [path.name for path in machine.root.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_full_disk_fails_and_leaves_nothing_torn(tmp_path, kind, there):
    machine = Machine(tmp_path)
    (tmp_path / "from/app").mkdir(parents=True)
    for i in range(20):
        (tmp_path / f"from/app/{i:02}").write_bytes(os.urandom(100_000))
    archive = pack(machine, kind)
    try:
        machine.run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt")
        if there:
            machine.run("mkdir", "/mnt/to")
        text = state(machine, archive).replace(f"{machine.root}/to", "/mnt/to")
        for _ in range(2):
            result = machine.apply(text)["archive.extracted:x"]
            assert result["failed"] and "No space left" in result["error"], result
            assert machine.sh("ls -A /mnt /mnt/to 2>/dev/null; true").split() == (["/mnt:", "to", "/mnt/to:"] if there
                                                                                else ["/mnt:"])
        machine.run("mount", "-o", "remount,size=9m", "/mnt")
        machine.settles(text)
        machine.run("diff", "-r", tmp_path / "from/app", "/mnt/to/app")
    finally:
        machine.leave()


def test_a_revert_that_is_stopped_still_knows_what_was_extracted(machine, tmp_path):
    machine.settles(state(machine, pack(machine, "tar")))
    folder = machine.root / "to/app"
    if os.geteuid() == 0:
        subprocess.run(["chattr", "+i", folder / "README"], check=False, capture_output=True)
        if "i" not in subprocess.run(["lsattr", folder / "README"], text=True, check=False,
                                     capture_output=True).stdout.split(" ")[0]:
            pytest.skip("no immutable files here")
    else:
        pytest.skip("needs root")
    try:
        failed = machine.revert()["archive.extracted:x"]
    finally:
        subprocess.run(["chattr", "-i", folder / "README"], check=True)
    assert failed["failed"] and (machine.root / "to").exists()
    machine.revert()
    assert not (machine.root / "to").exists()


def as_somebody(tmp_path, *words):
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *map(str, words)], text=True,
                          check=False, capture_output=True, env=dict(os.environ, HOME=str(tmp_path)))


def test_a_user_takes_back_folders_that_nobody_may_write_to(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    machine = Machine(tmp_path, namespace=False)
    (tmp_path / "from/app/bin").mkdir(parents=True)
    (tmp_path / "from/app/bin/run").write_text("x")
    for path in ("app/bin", "app"):
        (tmp_path / "from" / path).chmod(0o555)
    archive = pack(machine, "tar")
    (machine.states / "case.zy").write_text(state(machine, archive))
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(folder.stat().st_mode | 0o755)
    os.chown(tmp_path, 65534, 65534)
    words = [PROGRAM, "--local", "--states-dir", machine.states, "--data-dir", tmp_path / "data"]
    done = as_somebody(tmp_path, *words, "state.apply", "case")
    assert done.returncode == 0, done
    assert (tmp_path / "to/app").stat().st_mode & 0o777 == 0o555
    done = as_somebody(tmp_path, *words, "state.revert", "case")
    assert done.returncode == 0 and not (tmp_path / "to").exists(), done
    # into a folder that is there: nothing is left of where it was extracted
    (tmp_path / "to").mkdir()
    os.chown(tmp_path / "to", 65534, 65534)
    done = as_somebody(tmp_path, *words, "state.apply", "case")
    assert done.returncode == 0 and (tmp_path / "to/app/bin/run").exists(), done
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_more_than_one_entry_at_the_top(machine):
    archive = machine.root / "two.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("a", "a")
        bundle.writestr("b/c", "c")
    result = machine.apply(state(machine, archive, enforce_toplevel="true"))["archive.extracted:x"]
    assert "2 top-level entries" in result["error"]
    machine.settles(state(machine, archive))


def test_a_source_on_the_network_requires_a_hash(machine):
    said = machine.mistakes(state(machine, "http://127.0.0.1:1/x.tar"))
    assert "requires 'source_hash'" in said and "skip_verify" in said
    assert "accepts '--strip-components=N' and" in machine.mistakes(state(machine, "/x", options="--evil"))


def test_nothing_is_written_through_a_link_of_an_earlier_archive(machine):
    outside = machine.root / "outside"
    outside.mkdir()
    with tarfile.open(machine.root / "one.tar", "w") as tar:
        link = tarfile.TarInfo("sub")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside)
        tar.addfile(link)
    with tarfile.open(machine.root / "two.tar", "w") as tar:
        folder = tarfile.TarInfo("sub")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        evil = tarfile.TarInfo("sub/evil")
        evil.size = 4
        tar.addfile(evil, io.BytesIO(b"evil"))
    machine.settles(state(machine, machine.root / "one.tar"))
    result = machine.apply(state(machine, machine.root / "two.tar"))["archive.extracted:x"]
    assert "refusing to extract through it" in result["error"]
    assert list(outside.iterdir()) == []


def test_an_encrypted_zip_requires_its_password_and_shows_it_nowhere(machine):
    skip_without("zip")
    subprocess.run(["zip", "-qr", "-P", "sesame-open", machine.root / "app.zip", "app"], cwd=machine.root / "from",
                   check=True)
    result = machine.apply(state(machine, machine.root / "app.zip"))["archive.extracted:x"]
    assert "is encrypted: set 'password'" in result["error"]
    assert not (machine.root / "to").exists()
    result = machine.apply(state(machine, machine.root / "app.zip", password="wrong-word"))["archive.extracted:x"]
    assert result["failed"] and "wrong-word" not in str(result)
    machine.settles(state(machine, machine.root / "app.zip", password="sesame-open"))
    assert (machine.root / "to/app/README").read_text() == "read me\n"


def test_the_kind_is_shown_and_weak_and_published_hashes_are_checked(machine):
    archive = pack(machine, "tar.gz")
    md5 = hashlib.md5(archive.read_bytes()).hexdigest()
    (machine.states / "SUMS").write_text(f"{'0' * 32}  other.tar.gz\n{md5}  {archive.name}\n")
    first = machine.settles(state(machine, archive, source_hash="salt://SUMS"))["archive.extracted:x"]
    assert f"extracted {archive} into {machine.root}/to (tar)" in first["text"]
    assert first["details"]["format"] == "tar"
    machine.revert()
    machine.settles(state(machine, archive, source_hash=f"md5={md5}"))
    result = machine.apply(state(machine, archive, source_hash="md5=" + "0" * 32))["archive.extracted:x"]
    assert "has md5 " in result["error"]


def test_options_of_tar_that_are_needed_and_those_that_are_not(machine):
    archive = pack(machine, "tar.gz")
    machine.settles(state(machine, archive, options="-z --strip-components 1"))
    assert (machine.root / "to/README").exists()
    said = machine.mistakes(state(machine, archive, options="--exclude=README"))
    assert "'options' accepts '--strip-components=N'" in said


def test_overwrite_extracts_every_time(machine):
    archive = pack(machine, "tar")
    machine.apply(state(machine, archive))
    (machine.root / "to/app/README").write_text("changed")
    assert not machine.apply(state(machine, archive))["archive.extracted:x"]["changed"]
    assert machine.apply(state(machine, archive, overwrite=True))["archive.extracted:x"]["changed"]
    assert (machine.root / "to/app/README").read_text() == "read me\n"


def test_clean_keeps_what_other_states_manage(machine):
    archive = pack(machine, "tar")
    (machine.root / "to").mkdir()
    (machine.root / "to/stray").write_text("x")
    text = state(machine, archive, clean=True) + f"y: {{file.managed: [{{name: {machine.root}/to/mine, contents: a}}]}}\n"
    machine.settles(text)
    assert (machine.root / "to/mine").exists() and not (machine.root / "to/stray").exists()


@pytest.mark.parametrize("kind", ["zipcrypt", "aes128", "aes256"])
def test_encrypted_zips_of_every_kind_require_their_password(machine, kind):
    skip_without("bsdtar")
    archive = machine.root / "app.zip"
    subprocess.run(["bsdtar", "-cf", archive, "--format", "zip", "--options", f"zip:encryption={kind}", "--passphrase",
                    "open sesame", "app"], cwd=machine.root / "from", check=True)
    for word, error in ((None, "is encrypted: set 'password'"), ("wrong", "Incorrect passphrase")):
        more = {"password": word} if word else {}
        failed = machine.apply(state(machine, archive, **more))["archive.extracted:x"]
        assert error in failed["error"] and not (machine.root / "to").exists(), failed
    machine.settles(state(machine, archive, password="open sesame"))
    assert (machine.root / "to/app/README").read_text() == "read me\n"


@pytest.mark.parametrize("text", [b"", b"not found\n", b"<html>gone</html>\n", b"name\nother name\n", b"#mtree\nfile mode=0644\n"])
def test_what_is_not_an_archive_is_reported_and_extracts_nothing(machine, text):
    archive = machine.root / "app.tar.gz"
    archive.write_bytes(text)
    failed = machine.apply(state(machine, archive))["archive.extracted:x"]
    assert "app.tar.gz': " in failed["error"] and not (machine.root / "to").exists(), failed


def test_a_revert_takes_what_was_extracted_and_leaves_what_others_put_there(machine):
    machine.settles(state(machine, pack(machine, "tar")))
    (machine.root / "to/mine").write_text("data")
    (machine.root / "to/app/bin/mine").write_text("data")
    result = machine.revert()["archive.extracted:x"]
    assert not result["failed"] and "kept the rest" in result["diff"], result
    found = sorted(str(path.relative_to(machine.root / "to")) for path in (machine.root / "to").rglob("*"))
    assert found == ["app", "app/bin", "app/bin/mine", "mine"]


def test_a_revert_follows_no_link_that_was_laid_since(machine):
    machine.settles(state(machine, pack(machine, "tar")))
    shutil.move(machine.root / "to/app", machine.root / "away")
    (machine.root / "to/app").symlink_to(machine.root / "away")
    assert not machine.revert()["archive.extracted:x"]["failed"]
    assert (machine.root / "away/README").read_text() == "read me\n"
    assert not (machine.root / "to").exists()
