"""What the tests of several files begin with."""
import pathlib
import signal
import sys

import pytest

from kepler_home import Home

# Files of one folder may use what those of another define.
sys.path += sorted(str(path) for path in pathlib.Path(__file__).parent.iterdir() if any(path.glob("test_*.py")))

# A shell starts what runs in the background with SIGINT ignored, and nohup with SIGHUP; programs of ours leave it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def home():
    """A folder with its own daemon; files that need another kind define their own."""
    home = Home()
    home.start_daemon()
    yield home
    home.close()
