"""`RateSeries`: notes the learning rate of every update, saved or not."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.mxnet.private_names import optimizer_of

if TYPE_CHECKING:
    from mxnet import gluon

_logger = get_logger()


class RateSeries:
    """Scalar series of one hook: `learning_rate/<optimizer>/0`, the learning rate of each update.

    A schedule computes it when it is asked. Those of MXNet answer twice alike; one of a script may
    count its calls, so that it is not asked. No method raises.
    """

    def __init__(self, session: _core.Session) -> None:
        self._session = session
        self._names = _core.UniqueNames()
        self._slots: weakref.WeakKeyDictionary[gluon.Trainer, _core.ScalarSlot] = (
            weakref.WeakKeyDictionary()
        )
        self._is_off = False

    def note(self, trainer: gluon.Trainer) -> None:
        """Notes the learning rate of the update that `trainer` has made in the open step."""
        if self._is_off:
            return
        try:
            schedule = getattr(optimizer_of(trainer), "lr_scheduler", None)
            if schedule is None or type(schedule).__module__.startswith("mxnet."):
                self._slot(trainer).note_at(self._session.step, float(trainer.learning_rate))
        except Exception as error:  # an optimizer of a library, or none
            self._is_off = True
            _logger.warning("learning rates are not recorded: %r", error)

    def _slot(self, trainer: gluon.Trainer) -> _core.ScalarSlot:
        slot = self._slots.get(trainer)
        if slot is None:
            name = self._names.take(encodable(type(optimizer_of(trainer)).__name__))
            slot = self._slots[trainer] = self._session.scalar(_core.learning_rate_name(name, 0))
        return slot
