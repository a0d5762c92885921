"""The hook that `smdebug run` asks for, in any framework."""

import contextlib
import threading

from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig

_state = threading.local()


def is_recorded():
    """Whether a launch records what this thread runs now: Keras may run on another framework,
    whose own launch is to leave that alone."""
    return getattr(_state, "is_recorded", False)


@contextlib.contextmanager
def recorded():
    """Within it, `is_recorded`."""
    outer, _state.is_recorded = is_recorded(), True
    try:
        yield
    finally:
        _state.is_recorded = outer


def make_hook(hook_class, settings):
    """A `hook_class` that saves what `settings` say, a dict: the JSON of the environment variable
    SMDEBUG_RUN (the core's CaptureRequest)."""
    interval = settings.get("save_interval", 10)
    framework = hook_class.make_framework()
    # Weights and gradients of a framework that has none: there is nothing to look for.
    collections = [
        collection
        for collection in settings.get("collections", [])
        if collection.get("include_regex") or framework.knows(collection["name"])
    ]
    hook = hook_class(
        out_dir=settings["out_dir"],
        save_config=SaveConfig(save_interval=interval),
        include_collections=[collection["name"] for collection in collections],
        include_workers=settings.get("include_workers", "all"),
    )
    for wanted in collections:
        collection = hook.get_collection(wanted["name"])
        collection.is_optional = wanted.get("optional", False)
        if wanted.get("include_regex"):
            collection.include(wanted["include_regex"])
        if wanted.get("summary"):
            collection.reduction_config = ReductionConfig(summary=True)
        if wanted.get("save_interval"):
            collection.save_config = SaveConfig(save_interval=wanted["save_interval"])
    return hook
