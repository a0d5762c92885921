"""The hook of this process: the state behind `get_hook`, `set_hook` and `del_hook`.

It lives here and nowhere else; the core knows no process-wide state. `before_refresh` is what a
reader in the same process needs, so that it sees every step that has ended.
"""

import os

from smdebug import _core
from smdebug.exceptions import SMDebugTypeError
from smdebug.log import get_logger

_open_hooks = set()
_current = None


def get_current():
    return _current


def set_current(hook):
    global _current
    _current = hook


def get_hook(kind, create=None):
    """The hook that was made last, if it is a `kind`, a class.

    Where there is none, `create()` makes it, if given. Returns None where the configuration file
    that it reads is missing, or where the environment variable USE_SMDEBUG is false.
    """
    if not _core.JobEnvironment.read().is_enabled:
        return None
    if isinstance(_current, kind):
        return _current
    try:
        return create() if create else None
    except FileNotFoundError as error:
        get_logger().info("no hook is made: %s", error)
        return None


def set_hook(kind, hook):
    """Makes `hook`, a `kind`, the one that `get_hook` returns."""
    if not isinstance(hook, kind):
        adapter = kind.__module__.rpartition(".")[0]
        raise SMDebugTypeError(f"expected a hook of {adapter}, found {hook!r}")
    set_current(hook)


def opened(hook):
    _open_hooks.add(hook)


def closed(hook):
    _open_hooks.discard(hook)


def open_hooks():
    return list(_open_hooks)


def before_refresh(location):
    """A function that drains the hooks of this process that write to `location`, or None."""

    def same(out_dir):
        return os.path.realpath(os.path.expanduser(out_dir)) == path

    if "://" in str(location):
        return None
    path = os.path.realpath(os.path.expanduser(str(location)))

    def drain():
        for hook in open_hooks():
            if same(hook.out_dir):
                hook.flush()

    return drain
