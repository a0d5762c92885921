"""The hook of this process, for scripts that fetch it where they need it."""

from smdebug import current_hook
from smdebug.exceptions import SMDebugTypeError
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook


def get_hook(hook_type=None, json_config_path=None, create_if_not_exists=False):
    """The hook that was made last.

    Where there is none, `create_if_not_exists` makes one from a JSON configuration: the file at
    `json_config_path`, else the one that create_from_json_file takes. `hook_type` says of which
    class: "keras" (the default), "session" or "estimator". Returns None where that file is missing,
    or where the environment variable USE_SMDEBUG is false.
    """

    def create():
        return _hook_class(hook_type).create_from_json_file(json_config_path)

    return current_hook.hook_of(TensorFlowHook, create if create_if_not_exists else None)


def set_hook(hook):
    """Makes `hook` the one that `get_hook` returns."""
    current_hook.set_hook_of(TensorFlowHook, hook)


def del_hook():
    """Forgets the hook, which goes on recording until it is closed."""
    current_hook.set_current(None)


def _hook_class(hook_type):
    import smdebug.tensorflow

    names = {"keras": "KerasHook", "session": "SessionHook", "estimator": "EstimatorHook"}
    name = names.get(hook_type or "keras")
    if name is None:
        raise SMDebugTypeError(f"hook_type must be one of {sorted(names)}, found {hook_type!r}")
    return getattr(smdebug.tensorflow, name)
