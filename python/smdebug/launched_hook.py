"""`make_hook`: the hook that `smdebug run` requests, for any framework."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig

if TYPE_CHECKING:
    from smdebug.hook import BaseHook

HookClass = TypeVar("HookClass", bound="BaseHook")

# Runs of one script: each has a monitor of its own, and a search may train thousands of models.
MOST_MODELS = 20
# A recurrent cell, or a model in an episode, may be called thousands of times in a step.
_MAX_TENSORS_PER_MODULE = 16
# No one asked for these files, so they must not fill a disk. Of the oldest steps, some are removed
# last.
_MAX_RUN_BYTES = 2 << 30
_KEEP_EVERY = 100
_STEPS_AFTER_LEAP = 3

_state = threading.local()


def is_recorded() -> bool:
    """Whether a launch records the training of this thread.

    Keras may run on another framework, whose own launch must then not record it too.
    """
    return getattr(_state, "is_recorded", False)


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Within the context, `is_recorded` is true."""
    outer, _state.is_recorded = is_recorded(), True
    try:
        yield
    finally:
        _state.is_recorded = outer


def settings_of_model(settings: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
    """The settings to record the model that a script trains as its `number`th, from 2 on, in a run
    of its own. None if it is not to be recorded."""
    if number > MOST_MODELS or "next_out_dir" not in settings:
        return None
    return {**settings, "out_dir": f"{settings['next_out_dir']}{number}"}


def make_hook(hook_class: type[HookClass], settings: Mapping[str, Any]) -> HookClass:
    """A `hook_class` configured by `settings`: the JSON of the environment variable SMDEBUG_RUN
    (the core's CaptureRequest)."""
    framework = hook_class.make_framework()
    # A framework may lack a collection, for example the weights; then there is nothing to look for.
    collections = [
        collection
        for collection in settings.get("collections", [])
        if collection.get("include_regex") or framework.knows(collection["name"])
    ]
    first_steps = list(range(settings.get("first_steps", 0)))
    hook = hook_class(
        out_dir=settings["out_dir"],
        save_config=SaveConfig(
            save_interval=settings.get("save_interval", 10), save_steps=first_steps
        ),
        include_collections=[collection["name"] for collection in collections],
        include_workers=settings.get("include_workers", "all"),
        max_run_bytes=_MAX_RUN_BYTES,
        keep_every=_KEEP_EVERY,
    )
    hook.announces_first_step = False  # `smdebug run` has announced the run
    hook.max_tensors_per_module = _MAX_TENSORS_PER_MODULE
    hook.steps_after_leap = _STEPS_AFTER_LEAP
    hook.parameters_by_role = True
    for wanted in collections:
        collection = hook.get_collection(wanted["name"])
        collection.is_optional = wanted.get("optional", False)
        if wanted.get("include_regex"):
            collection.include(wanted["include_regex"])
        if wanted.get("summary"):
            collection.reduction_config = ReductionConfig(summary=True)
        collection.max_elements = wanted.get("max_elements", 0)
        if wanted.get("save_interval"):
            collection.save_config = SaveConfig(
                save_interval=wanted["save_interval"], save_steps=first_steps
            )
    return hook
