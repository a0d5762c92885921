"""`LossSeries`: notes the losses of every step, saved or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet.base import MXNetError

from smdebug.log import get_logger
from smdebug.mxnet.arrays import host_copy

if TYPE_CHECKING:
    from mxnet.ndarray import NDArray

    from smdebug import _core

_logger = get_logger()

# A step of most trainings has a loss per device.
_MOST_LOSSES = 4
# A larger output is no loss per sample: it is in saved steps only.
_MOST_ELEMENTS = 1 << 16
# So many losses wait for the next saved step.
_MOST_LATE = 64


class LossSeries:
    """Scalar series of one hook: the mean of each output of a loss, under the name of its tensor,
    `<loss>_output_<i>`.

    MXNet computes asynchronously. A loss is read at the end of the next saved step, where the hook
    waits for later arrays anyway, so that the training does not wait for it.
    """

    def __init__(self, session: _core.Session) -> None:
        self._session = session
        self._slots: dict[str, list[_core.ScalarSlot]] = {}  # by name of a loss
        self._counts: dict[str, int] = {}  # of the losses of the open step
        self._late: list[tuple[_core.ScalarSlot, Any, NDArray]] = []
        self._is_off = False

    def begin_step(self) -> None:
        """The numbers of outputs start again."""
        self._counts.clear()

    def note(self, name: str, outputs: Iterable[NDArray]) -> None:
        """Notes what the loss of that name returned. Does not raise."""
        for output in outputs:
            number = self._counts.get(name, 0)
            if self._is_off or number == _MOST_LOSSES:
                return
            self._counts[name] = number + 1
            try:
                if 0 < output.size <= _MOST_ELEMENTS and output.stype == "default":
                    late = (self._slot(name, number), self._session.step, output.detach())
                    self._late.append(late)
            except Exception as error:  # an array of another library
                self._stop(error)

    def read_late(self) -> None:
        """Reads the losses that are left. Raises MXNetError if an operator of the training that
        computes one failed."""
        late, self._late = self._late, []
        try:
            for slot, step, loss in late:
                slot.note_at(step, float(np.asarray(host_copy(loss), np.float64).mean()))
        except MXNetError:
            raise
        except Exception as error:
            self._stop(error)

    def read_some(self) -> None:
        """Reads the older half of the losses if many are left, as `read_late` does."""
        if len(self._late) >= _MOST_LATE:
            newer = self._late[_MOST_LATE // 2 :]
            del self._late[_MOST_LATE // 2 :]
            self.read_late()
            self._late = newer

    def _slot(self, name: str, number: int) -> _core.ScalarSlot:
        slots = self._slots.setdefault(name, [])
        while len(slots) <= number:
            slots.append(self._session.scalar(f"{name}_output_{len(slots)}"))
        return slots[number]

    def _stop(self, error: Exception) -> None:
        self._is_off = True
        self._late = []
        _logger.warning("losses are recorded in saved steps only from now on: %r", error)
