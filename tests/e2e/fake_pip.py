"""A stand-in for pip, which takes a second to start."""
import sys

PIP = f"""#!{sys.executable}
# Answers as pip 23.0.1 of Debian 12 does; what is installed is in a file.
import pathlib, sys
store = pathlib.Path("DIR/pip")
have = dict(line.split("==") for line in store.read_text().split()) if store.exists() else {{}}
words = [word for word in sys.argv[1:] if word not in ("--disable-pip-version-check", "--no-input")]
with open("DIR/log", "a") as log: log.write(" ".join(words) + "\\n")
packages = [word for word in words[1:] if not word.startswith("-")]
newest = dict(line.split("==") for line in pathlib.Path("DIR/newest").read_text().split()) if pathlib.Path("DIR/newest").exists() else {{}}
if "--outdated" in words:
    old = [(name, version, newest[name], "wheel") for name, version in sorted(have.items()) if newest.get(name, version) != version]
    for row in [("Package", "Version", "Latest", "Type"), ("-" * 9, "-" * 7, "-" * 6, "-" * 5), *old] if old else []:
        print("%-9s %-7s %-6s %s" % row)
elif words[0] == "list":
    print("\\n".join(f"{{name}}=={{version}}" for name, version in sorted(have.items())))
elif words[0] == "install":
    for package in packages:
        name, _, version = package.partition("==")
        if name == "missing":
            sys.exit("ERROR: No matching distribution found for missing")
        have[name] = version or newest.get(name) or have.get(name, "9.9")
        have.setdefault("dependency", "1.0")
else:
    for name in packages: have.pop(name, None)
store.write_text("\\n".join(f"{{name}}=={{version}}" for name, version in have.items()))
"""


def install(program):
    """Installed packages are in the file `pip` beside it, newer ones in `newest`, its calls in `log`."""
    program.parent.mkdir(exist_ok=True)
    program.write_text(PIP.replace("DIR", str(program.parent)))
    program.chmod(0o755)
    return program
