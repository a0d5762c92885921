"""`LossSeries`: notes the losses of every step of a loop with a tape, saved or not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import tensorflow as tf

from smdebug import _core
from smdebug.log import get_logger
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.late_numbers import LateNumbers
from smdebug.tensorflow.tape.tape_facts import TapeFacts

_logger = get_logger()

# A step of most loops has one or two losses.
_MOST_LOSSES = 4


class LossSeries:
    """Scalar series of one hook: `loss`, `loss_1`, ..., the targets of `tape.gradient` in a step.

    A series has the name of the saved tensor. Losses that train other variables have series of
    their own, so that models that are trained in turn, as in a GAN, do not share one: they get the
    next free name.

    Only single numbers are noted, of at most four losses, and of several replicas those of the
    first. A graph whose loss has no known shape notes none, and of the turns of a loop inside a
    function that XLA compiles, only the last is noted.

    A number that eager code has on a device is fetched in the next saved step, so that the training
    does not wait for it. The graph of a tf.function passes its losses out in every step, so that
    its call waits for them, but not for the update. No method raises.
    """

    def __init__(self, session: _core.Session) -> None:
        self._session = session
        self._slots: dict[tuple[int, str], _core.ScalarSlot] = {}  # by (group, name)
        self._groups: list[set[str]] = []  # names of variables that are trained together
        self._late = LateNumbers()
        # (slot, step, number) that a graph passed out, perhaps on a thread that may note nothing.
        self._passed_out: list[tuple[_core.ScalarSlot, Any, float]] = []
        self._is_off = False
        self.facts: TapeFacts | None = None  # None: they need no values

    @property
    def is_on(self) -> bool:
        """Whether numbers are still noted."""
        return not self._is_off

    def slot_of(
        self, name: str, loss: Any, variables: Collection[str], replica: int | None
    ) -> _core.ScalarSlot | None:
        """Returns the series for the loss of that name, whose gradient is taken with respect to
        `variables`, by name; None if it is not noted."""
        is_number = isinstance(loss, tf.Tensor) and loss.dtype.is_floating
        if replica or not is_number or loss.shape.num_elements() != 1:
            return None
        key = (self._group_of(variables), name)
        slot = self._slots.get(key)
        if slot is None and len(self._slots) < _MOST_LOSSES:
            slot = self._slots[key] = self._session.scalar(self._free_name(name))
        return slot

    def _group_of(self, variables):
        for number, known in enumerate(self._groups):
            if not known.isdisjoint(variables) or (not known and not variables):
                known.update(variables)
                return number
        self._groups.append(set(variables))
        return len(self._groups) - 1

    def _free_name(self, name):
        known = {slot.name for slot in self._slots.values()}
        number = 0
        while name in known:
            number += 1
            name = f"{names.LOSS}_{number}"
        return name

    def note(self, slot: _core.ScalarSlot, loss: Any) -> None:
        """Notes an eager tensor as the number of the open step. On the thread of the step."""
        if self._is_off:
            return
        try:
            step = self._session.step
            if _is_on_host(loss):
                number = _number_in(loss.numpy())
                slot.note_at(step, number)
                self._tell(number, step)
                return
            self._late.add([tf.reshape(loss, [])], lambda numbers: slot.note_at(step, numbers[0]))
            if self._late.are_many or self._session.is_capturing():
                self._late.fetch()
        except Exception as error:  # a tensor without a value of its own
            self._stop(error)

    def pass_out(self, slot: _core.ScalarSlot, array: np.ndarray) -> None:
        """Keeps the number that a graph computed in the open step, on any thread, until the next
        step begins."""
        if self._is_off:
            return
        try:
            self._passed_out.append((slot, self._session.step, _number_in(array)))
        except Exception as error:
            self._stop(error)

    def end_step(self) -> None:
        """Notes the numbers that graphs passed out. Call before a step begins, on its thread."""
        if not self._passed_out:
            return
        passed_out, self._passed_out = self._passed_out, []
        self._session.bind_to_current_thread()
        for slot, step, number in passed_out:
            slot.note_at(step, number)
            self._tell(number, step)

    def _tell(self, number, step):
        if self.facts is not None and self.facts.wants_values:
            self.facts.note_value(number, step[0])

    def close(self) -> None:
        """Notes the numbers that are left. No further one is noted."""
        if self._is_off:
            return
        self.end_step()
        try:
            self._late.fetch()
        except Exception as error:
            self._stop(error)
        self._is_off = True

    def _stop(self, error):
        self._is_off = True
        _logger.warning("losses are recorded in saved steps only from now on: %r", error)


def _is_on_host(loss):
    return "device:CPU:" in loss.device


def _number_in(array):
    return float(np.reshape(array, -1)[0])
