"""What the tests of every framework's adapter share."""

import contextlib
import logging
import os
import re
import signal
import traceback
import warnings

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


@pytest.fixture
def warned():
    """Collects what is warned of in a block, `with warned() as texts: ...`, to see that a hook adds
    nothing: a set of str."""

    @contextlib.contextmanager
    def collect():
        texts = set()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield texts
        named = [f"{each.category.__name__}: {each.message}" for each in caught]
        texts.update(re.sub(r"\d\d:\d\d:\d\d", "", text) for text in named)

    return collect


@pytest.fixture
def forked():
    """Calls a function in a fork of this process, `forked(function)`, and returns how it ended: an
    exit code like that of subprocess."""

    def call(function):
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        signal.alarm(300)
        try:
            function()
        except BaseException:
            traceback.print_exc()
        os._exit(1)

    return call
