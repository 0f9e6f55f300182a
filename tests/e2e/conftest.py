"""What the tests of several files begin with."""
import signal

import pytest

from kepler_home import Home

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
