"""What the tests of several files begin with."""
import pytest

from kepler_home import Home


@pytest.fixture
def home():
    """A folder with a daemon of its own; files that want another one say so themselves."""
    home = Home()
    home.start_daemon()
    yield home
    home.close()
