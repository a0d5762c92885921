"""Reports each update of a `gluon.Trainer`, so that hooks save gradients and rules can skip it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from mxnet import gluon

from smdebug.replaced import Replaced


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


# They hold their models, so they are not kept alive here.
_listeners: list[weakref.ref[UpdateListener]] = []
_replaced = Replaced()


def listen(listener: UpdateListener) -> None:
    """Notifies `listener` of every update of every trainer, until `forget`."""
    if listener in _alive():
        return
    _listeners.append(weakref.ref(listener))
    if not _replaced:
        for name, is_reduced in (("step", False), ("update", True)):
            update = getattr(gluon.Trainer, name)
            _replaced.replace(gluon.Trainer, name, _reported(update, is_reduced))


def forget(listener: UpdateListener) -> None:
    """Stops notifying `listener`. Without listeners MXNet's own methods are restored."""
    _listeners[:] = [each for each in _listeners if each() not in (listener, None)]
    if not _listeners:
        _replaced.restore()


def _alive() -> list[UpdateListener]:
    found = [each() for each in _listeners]
    return [each for each in found if each is not None]


def _reported(update: Callable[..., Any], is_reduced: bool) -> Callable[..., Any]:
    @functools.wraps(update)
    def reported(trainer: gluon.Trainer, *args: Any, **kwargs: Any) -> Any:
        # Notify every listener, because each of them saves tensors.
        if not all([listener.before(trainer, is_reduced) for listener in _alive()]):
            return None
        result = update(trainer, *args, **kwargs)
        for listener in _alive():
            listener.after(trainer)
        return result

    return reported
