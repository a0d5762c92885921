"""The hook of this process: the state behind `get_hook`, `set_hook` and `del_hook`.

This is the only process-wide state; the core has none. A reader in the same process uses
`before_refresh` to see every finished step.

No hook is kept alive here except the current one, and that one only until a model holds it: a hook
has its model, and a notebook makes both again in each run of a cell. A hook that is collected is
closed.
"""

from __future__ import annotations

import functools
import logging
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from smdebug import _core
from smdebug.booleans import find_boolean
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.unknown_arguments import with_known_arguments

if TYPE_CHECKING:
    from smdebug.hook import BaseHook

HookClass = TypeVar("HookClass", bound="BaseHook")
HookClass_co = TypeVar("HookClass_co", bound="BaseHook", covariant=True)

_open_hooks: weakref.WeakSet[BaseHook] = weakref.WeakSet()
_current: weakref.ref[BaseHook] | _Kept | None = None
_hooks_made = 0


class _Kept:
    """A reference like weakref.ref that keeps its hook alive."""

    def __init__(self, hook: BaseHook) -> None:
        self._hook = hook

    def __call__(self) -> BaseHook:
        return self._hook


def get_current() -> BaseHook | None:
    """The most recently created hook, of any adapter."""
    return _current and _current()


def set_current(hook: BaseHook | None) -> None:
    """Makes `hook` the one that `get_current` returns."""
    global _current
    if hook is None:
        _current = None
    else:
        _current = weakref.ref(hook) if hook.is_held_by_model else _Kept(hook)


def held_by_model(hook: BaseHook) -> None:
    """Notes that a model keeps `hook` alive from now on."""
    hook.is_held_by_model = True
    if get_current() is hook:
        set_current(hook)


def hook_of(
    kind: type[HookClass], create: Callable[[], HookClass] | None = None
) -> HookClass | None:
    """The most recently created hook, if it is an instance of `kind`.

    Otherwise `create()` makes one, if given. Returns None if the configuration file that `create`
    reads is missing, or if the environment variable USE_SMDEBUG is false.
    """
    _check_switch(os.environ.get("USE_SMDEBUG"))
    if not _core.JobEnvironment.read().is_enabled:
        return None
    current = get_current()
    if isinstance(current, kind):
        return current
    try:
        return create() if create else None
    except FileNotFoundError as error:
        # A script may run without a configuration, but not without one that it names.
        is_named = bool(os.environ.get("SMDEBUG_CONFIG_FILE_PATH"))
        get_logger().log(
            logging.WARNING if is_named else logging.INFO, "no hook was created: %s", error
        )
        return None


@functools.cache
def _check_switch(word: str | None) -> None:
    """Logs, once, a value of USE_SMDEBUG that is no boolean."""
    if word and find_boolean(word) is None:
        text = "USE_SMDEBUG=%s is taken for true; use true or false"
        get_logger().warning(text, word)


def set_hook_of(kind: type[HookClass], hook: HookClass) -> None:
    """Makes `hook` the one that `hook_of` returns. Raises SMDebugTypeError if it is not an instance
    of `kind`."""
    if not isinstance(hook, kind):
        adapter = kind.__module__.rpartition(".")[0]
        raise SMDebugTypeError(f"expected a hook of {adapter}, found {shown(hook)}")
    set_current(hook)


class GetHook(Protocol[HookClass_co]):
    """The signature of an adapter's `get_hook`."""

    def __call__(
        self, json_config_path: str | None = None, create_if_not_exists: bool = ...
    ) -> HookClass_co | None:
        """The most recently created hook, or None."""


def functions_of(
    kind: type[HookClass], create_by_default: bool
) -> tuple[GetHook[HookClass], Callable[[HookClass], None], Callable[[], None]]:
    """The functions `get_hook`, `set_hook` and `del_hook` of an adapter whose hooks are instances
    of `kind`. `create_by_default` is the default of `create_if_not_exists`."""

    @with_known_arguments
    def get_hook(
        json_config_path: str | None = None, create_if_not_exists: bool = create_by_default
    ) -> HookClass | None:
        """The most recently created hook.

        If there is none, `create_if_not_exists` creates one from a JSON configuration: the file at
        `json_config_path`, or the default of Hook.create_from_json_file. Returns None if that file
        is missing, or if the environment variable USE_SMDEBUG is false.
        """

        def create() -> HookClass:
            return kind.create_from_json_file(json_config_path)

        return hook_of(kind, create if create_if_not_exists else None)

    def set_hook(custom_hook: HookClass) -> None:
        """Makes `custom_hook` the one that `get_hook` returns."""
        set_hook_of(kind, custom_hook)

    def del_hook() -> None:
        """Forgets the hook, which continues to record until it is closed."""
        set_current(None)

    return get_hook, set_hook, del_hook


def opened(hook: BaseHook) -> None:
    """Adds a hook to the open ones."""
    global _hooks_made
    _hooks_made += 1
    _open_hooks.add(hook)


def hooks_made() -> int:
    """The number of hooks that this process has made so far."""
    return _hooks_made


def closed(hook: BaseHook) -> None:
    """Removes a hook from the open ones."""
    _open_hooks.discard(hook)


def open_hooks() -> list[BaseHook]:
    """The hooks of this process that record."""
    return list(_open_hooks)


def before_refresh(location: str | os.PathLike[str]) -> Callable[[], None] | None:
    """A function that flushes the hooks of this process that write to `location`, a path or an
    address; None for an address of this process's memory."""

    def place(path: str) -> str:
        if "://" in path:
            return path.rstrip("/")
        return os.path.realpath(os.path.expanduser(path))

    if str(location).startswith("memory://"):
        return None
    wanted = place(str(location))

    def drain() -> None:
        for hook in open_hooks():
            if place(hook.out_dir) == wanted:
                hook.flush()

    return drain
