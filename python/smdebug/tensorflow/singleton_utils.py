"""The current hook of this process."""

from typing import Literal

from smdebug import current_hook
from smdebug.exceptions import SMDebugTypeError
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook


def get_hook(
    hook_type: Literal["keras", "session", "estimator"] | None = None,
    json_config_path: str | None = None,
    create_if_not_exists: bool = False,
) -> TensorFlowHook | None:
    """Returns the hook that was created last.

    If there is none, `create_if_not_exists` creates one from a JSON configuration: the file at
    `json_config_path`, or the file that create_from_json_file takes. `hook_type` is its class; the
    default is "keras". Returns None if that file is missing, or if the environment variable
    USE_SMDEBUG is false. Raises SMDebugTypeError for an unknown `hook_type`.
    """

    def create():
        return _hook_class(hook_type).create_from_json_file(json_config_path)

    return current_hook.hook_of(TensorFlowHook, create if create_if_not_exists else None)


def set_hook(custom_hook: TensorFlowHook) -> None:
    """Makes `custom_hook` the one that `get_hook` returns. Raises SMDebugTypeError for anything but
    a hook of smdebug.tensorflow."""
    current_hook.set_hook_of(TensorFlowHook, custom_hook)


def del_hook() -> None:
    """Forgets the hook, which records until it is closed."""
    current_hook.set_current(None)


def _hook_class(hook_type):
    import smdebug.tensorflow

    names = {"keras": "KerasHook", "session": "SessionHook", "estimator": "EstimatorHook"}
    name = names.get(hook_type or "keras")
    if name is None:
        raise SMDebugTypeError(f"hook_type must be one of {sorted(names)}, found {hook_type!r}")
    return getattr(smdebug.tensorflow, name)
