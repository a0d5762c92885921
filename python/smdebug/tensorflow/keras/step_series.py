"""`StepSeries`: notes the loss and the learning rate of every training step, saved or not."""

from __future__ import annotations

from typing import Any

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.late_numbers import LateNumbers
from smdebug.tensorflow.keras.loss_growth import LossGrowth
from smdebug.tensorflow.keras.step_backend import backend
from smdebug.tensorflow.private_names import learning_rate_variable, scaled_optimizer

_logger = get_logger()


class StepSeries:
    """Scalar series of one hook.

    | series | value |
    |---|---|
    | `loss` | the mean loss of the samples of the step; `loss_1`, … of further models |
    | `learning_rate/<optimizer>/0` | the learning rate, if a variable holds it |

    Numbers are fetched in saved steps, so that the training does not wait for a device. No method
    raises.
    """

    def __init__(self, session: _core.Session) -> None:
        self._session = session
        self._late = LateNumbers()
        self._losses: dict[int, LossGrowth] = {}  # by the id of a model
        self._rates = _Rates(session, self._late)
        self._is_off = False

    def before_batch(self, model: Any, is_in_fit: bool) -> None:
        """Notes that a training step of `model` is about to run, in `fit` or without."""
        if self._is_off:
            return
        try:
            loss = self._losses.get(id(model))
            if loss is None:
                if not _is_readable(model):
                    return
                loss = self._losses[id(model)] = self._make_loss(model)
            if not is_in_fit:
                loss.interrupt()
            loss.begin_step()
        except Exception as error:  # a metric of a script may lack what those of Keras have
            self._stop(error)

    def after_batch(self, model: Any, result: Any) -> None:
        """Notes a training step, which is the open one, and its result."""
        loss = self._losses.get(id(model))
        if self._is_off or loss is None:
            return
        try:
            step = self._session.step
            loss.end_step(step, result.get(names.LOSS) if isinstance(result, dict) else None)
            self._rates.end_step(step, getattr(model, "optimizer", None))
            if self._late.are_many or self._session.is_capturing():
                self._late.fetch()
        except Exception as error:
            self._stop(error)

    def interrupt(self) -> None:
        """Notes that metrics may be reset, or take other losses, before the next training step."""
        for loss in self._losses.values():
            loss.interrupt()

    def fetch(self) -> None:
        """Notes the numbers of the steps until now."""
        if self._is_off:
            return
        try:
            self._late.fetch()
        except Exception as error:
            self._stop(error)

    def close(self) -> None:
        """Notes the numbers that are left. No further one is noted."""
        self.fetch()
        self._is_off = True

    def _make_loss(self, model: Any) -> LossGrowth:
        number = len(self._losses)
        name = f"{names.LOSS}_{number}" if number else names.LOSS
        return LossGrowth(model, self._session.scalar(name), self._late)

    def _stop(self, error: Exception) -> None:
        self._is_off = True
        _logger.warning(
            "losses and learning rates are recorded in saved steps only from now on: %r", error
        )


class _Rates:
    """The learning rates of optimizers."""

    def __init__(self, session: _core.Session, late: LateNumbers) -> None:
        self._session = session
        self._late = late
        self._names = _core.UniqueNames()
        self._slots: dict[int, tuple[Any, _core.ScalarSlot]] = {}  # by the id of an optimizer
        # Of the last step:
        self._optimizer: Any = None
        self._variable: Any = None
        self._reader: Any = None
        self._slot: Any = None

    def end_step(self, step: Any, optimizer: Any) -> None:
        """Call after a training step, which is the open `step`."""
        variable = learning_rate_variable(optimizer)
        if variable is None:
            return
        if optimizer is not self._optimizer or variable is not self._variable:
            self._optimizer, self._variable = optimizer, variable
            self._reader, self._slot = backend.VariableReader(variable), self._slot_of(optimizer)
        slot = self._slot
        self._late.add(self._reader.read(), lambda rates: slot.note_at(step, rates[0]))

    def _slot_of(self, optimizer: Any) -> _core.ScalarSlot:
        known = self._slots.get(id(optimizer))
        if known is None:
            name = self._names.take(encodable(type(scaled_optimizer(optimizer)).__name__))
            slot = self._session.scalar(_core.learning_rate_name(name, 0))
            known = self._slots[id(optimizer)] = (optimizer, slot)
        return known[1]


def _is_readable(model: Any) -> bool:
    """Whether this process holds the variables of all replicas."""
    strategy = getattr(model, "distribute_strategy", None)
    replicas = getattr(strategy, "num_replicas_in_sync", 1)
    return replicas == 1 or backend.are_replicas_known(strategy)
