"""A repository of small packages that a test builds; apt reads it as `file:FOLDER ./` or `copy:FOLDER ./`."""
import hashlib
import os
import subprocess
import tempfile


class Repository:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, name, version, depends="", files=None, folders=(), conffiles=(), scripts=None, fields=None):
        """Build a package. `files` is path -> (text, mode), `scripts` the maintainer's, by name."""
        control = {"Package": name, "Version": version, "Architecture": "all",
                   "Maintainer": "Nobody <nobody@example.org>", "Depends": depends, **(fields or {}),
                   "Description": "a package of a test"}
        text = "".join(f"{key}: {value}\n" for key, value in control.items() if value)
        meta = {"control": (text, 0o644), **{key: (script, 0o755) for key, script in (scripts or {}).items()}}
        if conffiles:
            meta["conffiles"] = ("".join(path + "\n" for path in conffiles), 0o644)
        target = self.folder / f"{name}_{version.replace(':', '%3a')}_all.deb"
        with tempfile.TemporaryDirectory() as tree:
            os.chmod(tree, 0o755)
            for path in folders:
                os.makedirs(tree + path)
            for path, (content, mode) in {**(files or {}), **{f"/DEBIAN/{key}": meta[key] for key in meta}}.items():
                os.makedirs(os.path.dirname(tree + path), exist_ok=True)
                with open(tree + path, "w", encoding="utf-8") as file:
                    file.write(content)
                os.chmod(tree + path, mode)
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, str(target)], check=True,
                           capture_output=True)
        with open(self.folder / "Packages", "a", encoding="utf-8") as index:
            index.write(text + f"Filename: ./{target.name}\nSize: {target.stat().st_size}\n"
                        f"SHA256: {hashlib.sha256(target.read_bytes()).hexdigest()}\n\n")
        return target
