"""The hook of this process, for scripts that fetch it where they need it."""

from smdebug import _core, current_hook
from smdebug.exceptions import SMDebugTypeError
from smdebug.log import get_logger
from smdebug.mxnet.hook import Hook


def get_hook(json_config_path=None):
    """The hook that was made last.

    Where there is none, one is made from a JSON configuration: the file at `json_config_path`,
    else the one that Hook.create_from_json_file takes. Returns None where that file is missing,
    or where the environment variable USE_SMDEBUG is false.
    """
    if not _core.JobEnvironment.read().is_enabled:
        return None
    hook = current_hook.get_current()
    if isinstance(hook, Hook):
        return hook
    try:
        return Hook.create_from_json_file(json_config_path)
    except FileNotFoundError as error:
        get_logger().info("no hook is made: %s", error)
        return None


def set_hook(hook):
    """Makes `hook` the one that `get_hook` returns."""
    if not isinstance(hook, Hook):
        raise SMDebugTypeError(f"expected a smdebug.mxnet.Hook, found {hook!r}")
    current_hook.set_current(hook)


def del_hook():
    """Forgets the hook, which goes on recording until it is closed."""
    current_hook.set_current(None)
