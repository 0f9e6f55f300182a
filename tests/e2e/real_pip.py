"""The real pip in a virtual environment that has no copy of it, which would take seconds to make and to start."""
import pathlib
import subprocess

import pytest

PYTHON = "/usr/bin/python3"


def make_venv(folder):
    """A virtual environment whose bin/pip is the pip of the machine."""
    found = subprocess.run([PYTHON, "-c", "import pip; print(pip.__file__)"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip("python3-pip is not installed")
    # What 'pip --python' starts, without the pip that only starts it.
    runner = pathlib.Path(found.stdout.strip()).with_name("__pip-runner__.py")
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    pip = folder / "bin/pip"
    pip.write_text(f'#!/bin/sh\nunset PIP_FIND_LINKS PIP_INDEX_URL\nexec {folder}/bin/python {runner} "$@"\n')
    pip.chmod(0o755)
