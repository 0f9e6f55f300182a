"""What the tests of several files begin with."""
import pytest

from kepler_home import Home


@pytest.fixture
def home():
    """A folder with its own daemon; files that need another kind define their own."""
    home = Home()
    home.start_daemon()
    yield home
    home.close()
