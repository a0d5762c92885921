"""Keeps MXNet from warning about the hooks of smdebug.

`HybridBlock.hybridize` warns if a block has hooks, because none is called inside a graph. Those of
smdebug need not be: tensors inside a graph are recorded from the graph (hybrid.py). Hooks of the
script still cause the warning.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from mxnet import gluon

from smdebug.hook import BaseHook
from smdebug.mxnet.block_hooks import WatchedBlock
from smdebug.mxnet.private_names import hooks_of
from smdebug.replaced import Replaced

_users: weakref.WeakSet[BaseHook] = weakref.WeakSet()
_replaced = Replaced()


def keep_quiet(hook: BaseHook) -> None:
    """Suppresses the warning about smdebug's hooks, until `forget`."""
    _users.add(hook)
    if not _replaced:
        _replaced.replace(gluon.HybridBlock, "hybridize", _quiet(gluon.HybridBlock.hybridize))


def forget(hook: BaseHook) -> None:
    """Restores MXNet's own method after the last hook."""
    _users.discard(hook)
    if not _users:
        _replaced.restore()


def _quiet(hybridize: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(hybridize)
    def quiet(block: gluon.HybridBlock, *args: Any, **kwargs: Any) -> Any:
        with _own_hooks_hidden(block):
            return hybridize(block, *args, **kwargs)

    return quiet


@contextlib.contextmanager
def _own_hooks_hidden(block: gluon.HybridBlock) -> Iterator[None]:
    """Removes the hooks of a block for a moment, unless the script has registered one too."""
    tables = hooks_of(block)
    if not all(_is_own(hook) for table in tables for hook in table.values()):
        yield
        return
    hidden = [list(table.items()) for table in tables]
    for table in tables:
        table.clear()
    try:
        yield
    finally:
        for table, hooks in zip(tables, hidden, strict=True):
            table.update(hooks)


def _is_own(hook: Any) -> bool:
    return isinstance(getattr(hook, "__self__", None), (BaseHook, WatchedBlock))
