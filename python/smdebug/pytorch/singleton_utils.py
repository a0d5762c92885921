"""The hook of this process, for scripts that fetch it where they need it."""

from smdebug import current_hook
from smdebug.pytorch.hook import Hook


def get_hook(json_config_path=None, create_if_not_exists=False):
    """The hook that was made last.

    Where there is none, `create_if_not_exists` makes one from a JSON configuration: the file at
    `json_config_path`, else the one that Hook.create_from_json_file takes. Returns None where
    that file is missing, or where the environment variable USE_SMDEBUG is false.
    """

    def create():
        return Hook.create_from_json_file(json_config_path)

    return current_hook.get_hook(Hook, create if create_if_not_exists else None)


def set_hook(hook):
    """Makes `hook` the one that `get_hook` returns."""
    current_hook.set_hook(Hook, hook)


def del_hook():
    """Forgets the hook, which goes on recording until it is closed."""
    current_hook.set_current(None)
