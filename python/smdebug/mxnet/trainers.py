"""Reports each update of a `gluon.Trainer`, so that hooks save gradients and rules can skip it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from mxnet import gluon


class UpdateListener(Protocol):
    """An object that is notified of the updates of all trainers."""

    def before(self, trainer: gluon.Trainer, is_reduced: bool) -> bool:
        """Called before an update. Returns whether it may happen.

        `is_reduced` means that the gradients of several devices are summed already.
        """
        ...

    def after(self, trainer: gluon.Trainer) -> None:
        """Called after an update."""
        ...


_listeners: list[UpdateListener] = []
_originals: dict[str, Callable[..., Any]] = {}


def listen(listener: UpdateListener) -> None:
    """Notifies `listener` of every update of every trainer, until `forget`."""
    if listener in _listeners:
        return
    _listeners.append(listener)
    if not _originals:
        for name, is_reduced in (("step", False), ("update", True)):
            _originals[name] = getattr(gluon.Trainer, name)
            setattr(gluon.Trainer, name, _reported(_originals[name], is_reduced))


def forget(listener: UpdateListener) -> None:
    """Stops notifying `listener`. Without listeners MXNet's own methods are restored."""
    if listener in _listeners:
        _listeners.remove(listener)
    if not _listeners:
        while _originals:
            name, original = _originals.popitem()
            if getattr(getattr(gluon.Trainer, name), "__wrapped__", None) is original:
                setattr(gluon.Trainer, name, original)


def _reported(update: Callable[..., Any], is_reduced: bool) -> Callable[..., Any]:
    @functools.wraps(update)
    def reported(trainer: gluon.Trainer, *args: Any, **kwargs: Any) -> Any:
        # Notify every listener, because each of them saves tensors.
        if not all([listener.before(trainer, is_reduced) for listener in list(_listeners)]):
            return None
        result = update(trainer, *args, **kwargs)
        for listener in list(_listeners):
            listener.after(trainer)
        return result

    return reported
