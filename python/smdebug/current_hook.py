"""The hook of this process: the state behind `get_hook`, `set_hook` and `del_hook`.

It lives here and nowhere else; the core knows no process-wide state. `before_refresh` is what a
reader in the same process needs, so that it sees every step that has ended.
"""

import os

_open_hooks = set()
_current = None


def get_current():
    return _current


def set_current(hook):
    global _current
    _current = hook


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
