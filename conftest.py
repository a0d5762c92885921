"""What the tests of every framework's adapter share."""

import logging

import pytest

from smdebug import current_hook


@pytest.fixture(autouse=True)
def _every_hook_is_closed():
    yield
    for hook in current_hook.open_hooks():
        hook.close()
    current_hook.set_current(None)


@pytest.fixture
def out_dir(tmp_path):
    return str(tmp_path / "run")


class _KeptMessages(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


@pytest.fixture
def logged():
    """The messages that the Python face logs during the test, a list of str."""
    handler = _KeptMessages()
    logging.getLogger("smdebug").addHandler(handler)
    yield handler.messages
    logging.getLogger("smdebug").removeHandler(handler)
