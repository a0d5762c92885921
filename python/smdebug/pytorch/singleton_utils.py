"""The hook of this process, for scripts that fetch it where they need it."""

from smdebug import current_hook
from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.pytorch.hook import Hook


def get_hook(json_config_path=None, create_if_not_exists=False):
    """The hook that was made last, or None."""
    hook = current_hook.get_current()
    if isinstance(hook, Hook):
        return hook
    if create_if_not_exists:
        raise SMDebugNotImplementedError(
            "a hook cannot be made from a JSON configuration yet; construct smdebug.pytorch.Hook"
        )
    return None


def set_hook(hook):
    """Makes `hook` the one that `get_hook` returns."""
    if not isinstance(hook, Hook):
        raise SMDebugTypeError(f"expected a smdebug.pytorch.Hook, found {hook!r}")
    current_hook.set_current(hook)


def del_hook():
    """Forgets the hook, which goes on recording until it is closed."""
    current_hook.set_current(None)
