"""Told when a `gluon.Trainer` acts: gradients are there then, and rules may keep it from acting."""

import functools

from mxnet import gluon

_listeners = []
_originals = {}


def listen(listener):
    """Tells `listener` of every update of every trainer: `before(trainer, is_reduced)`, which
    returns whether the update may happen, and `after(trainer)`.

    `is_reduced` says that the gradients of several devices were summed already.
    """
    if listener in _listeners:
        return
    _listeners.append(listener)
    if not _originals:
        for name, is_reduced in (("step", False), ("update", True)):
            _originals[name] = getattr(gluon.Trainer, name)
            setattr(gluon.Trainer, name, _told(_originals[name], is_reduced))


def forget(listener):
    if listener in _listeners:
        _listeners.remove(listener)
    if not _listeners:
        while _originals:
            name, original = _originals.popitem()
            if getattr(getattr(gluon.Trainer, name), "__wrapped__", None) is original:
                setattr(gluon.Trainer, name, original)


def _told(update, is_reduced):
    @functools.wraps(update)
    def told(trainer, *args, **kwargs):
        # All are asked: each saves what it sees.
        if not all([listener.before(trainer, is_reduced) for listener in list(_listeners)]):
            return None
        result = update(trainer, *args, **kwargs)
        for listener in list(_listeners):
            listener.after(trainer)
        return result

    return told
