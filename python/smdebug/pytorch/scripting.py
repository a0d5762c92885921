"""Keeps the hooks of smdebug out of TorchScript.

torch.jit.script compiles the forward hooks of a module along with it, and fails for those that are
not TorchScript. So the modules that it compiles have only the hooks of the user meanwhile. One
function of torch is replaced for this while a hook is open: see `script_maker` in private_names.py.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from smdebug.pytorch.module_hooks import is_ours
from smdebug.pytorch.private_names import hook_tables, script_maker

_users: weakref.WeakSet[Any] = weakref.WeakSet()  # the owners of open hooks
_replaced: list[tuple[Any, str, Any, Any]] = []  # (module, name, torch's own function, ours)


def hide_hooks(owner: object) -> None:
    """Hides the hooks of smdebug from TorchScript until `show_hooks` was called for every owner."""
    _users.add(owner)
    found = script_maker()
    if found is None or _replaced:
        return
    place, name = found
    make = getattr(place, name)

    @functools.wraps(make)
    def make_without_hooks(nn_module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        with without_hooks(nn_module):
            return make(nn_module, *args, **kwargs)

    _replaced.append((place, name, make, make_without_hooks))
    setattr(place, name, make_without_hooks)


def show_hooks(owner: object) -> None:
    """Ends `hide_hooks` of an owner. After the last one, restores torch's own function, unless
    other code has replaced it in the meantime."""
    _users.discard(owner)
    while _replaced and not _users:
        place, name, make, ours = _replaced.pop()
        if getattr(place, name) is ours:
            setattr(place, name, make)


@contextlib.contextmanager
def without_hooks(root: torch.nn.Module) -> Iterator[None]:
    """A context in which the modules of `root` have no hooks of smdebug."""
    kept = [
        (hooks, dict(hooks)) for module in root.modules() for hooks in _tables_with_ours(module)
    ]
    for hooks, before in kept:
        for number, hook in before.items():
            if is_ours(hook):
                del hooks[number]
    try:
        yield
    finally:
        for hooks, before in kept:
            added = {number: hook for number, hook in hooks.items() if number not in before}
            hooks.clear()
            hooks.update(before)
            hooks.update(added)


def _tables_with_ours(module: torch.nn.Module) -> Iterator[Any]:
    for is_before in (True, False):
        tables = hook_tables(module, is_before)
        if tables is not None and any(map(is_ours, tables[0].values())):
            yield tables[0]
