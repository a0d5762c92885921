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


def hook_of(kind, create=None):
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


def set_hook_of(kind, hook):
    """Makes `hook`, a `kind`, the one that `hook_of` returns."""
    if not isinstance(hook, kind):
        adapter = kind.__module__.rpartition(".")[0]
        raise SMDebugTypeError(f"expected a hook of {adapter}, found {hook!r}")
    set_current(hook)


def functions_of(kind, create_by_default):
    """The functions `get_hook`, `set_hook` and `del_hook` of an adapter whose hooks are `kind`, a
    class; `create_by_default` is what `create_if_not_exists` is where it is not given."""

    def get_hook(json_config_path=None, create_if_not_exists=create_by_default):
        """The hook that was made last.

        Where there is none, `create_if_not_exists` makes one from a JSON configuration: the file
        at `json_config_path`, else the one that Hook.create_from_json_file takes. Returns None
        where that file is missing, or where the environment variable USE_SMDEBUG is false.
        """

        def create():
            return kind.create_from_json_file(json_config_path)

        return hook_of(kind, create if create_if_not_exists else None)

    def set_hook(hook):
        """Makes `hook` the one that `get_hook` returns."""
        set_hook_of(kind, hook)

    def del_hook():
        """Forgets the hook, which goes on recording until it is closed."""
        set_current(None)

    return get_hook, set_hook, del_hook


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
