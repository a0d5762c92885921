"""`LoopNotes`: notes what the loop around a model does: schedulers, clipping, autocast, its log.

See `LoopFacts` in include/smdebug/core/run_facts.h.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterableDataset

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.pytorch.bad_operations import operation_of, operation_of_gradient
from smdebug.pytorch.gradient_limits import GradientLimits
from smdebug.pytorch.plain_tensors import can_read
from smdebug.pytorch.summed_passes import SummedPasses

if TYPE_CHECKING:
    from smdebug.pytorch.roots import Root

_logger = get_logger()

_MOST_CALLS = 10  # of models, in which autocast is searched
_MOST_SCHEDULERS = 4
# The numbers of steps of a scheduler, of clipped updates, of short-lived optimizers, of evaluations
# in training mode, and of passes over the data after which the facts are reported again.
_REPORTED_AFTER = (1, 3, 10, 100, 1000)
# The attributes of schedulers that are facts.
_SCHEDULER_SETTINGS = (
    *("step_size", "gamma", "T_max", "eta_min", "T_0", "T_mult", "total_steps", "total_iters"),
    *("start_factor", "end_factor", "factor", "patience", "power"),
)
_SHORT_LIFE = 2  # updates, of all optimizers
# Of a group of an optimizer that keeps averages of the gradients, if not 0.
_AVERAGES = ("betas", "momentum", "alpha", "rho")
_MOST_STEPS_LATER = 10  # from a gradient that is not finite to the loss that it spoils
_TRAINER_MODULE = "transformers.trainer"


class LoopNotes:
    """The notes of one hook. No method raises."""

    def __init__(self) -> None:
        self.version: int = 0  # increases when `facts` returns something worth a report
        self._autocast_dtype = ""
        self._calls = 0
        # In the order in which they first stepped: (reference, its steps).
        self._schedulers: list[_Scheduler] = []
        self._updates: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._all_updates = 0
        # By the id of its first parameter: the updates before those of the newest optimizer.
        self._begun: dict[int, int] = {}
        self._short_lived: int | None = None  # none acted yet
        self._in_training_mode = 0  # losses of evaluations
        self._has_evaluation_mode = False  # one was in evaluation mode
        self._data_passes: int | None = None  # none was seen
        self._clippings = 0
        self._limit: float | None = None
        # Clippings that found no gradient; None once one has found some.
        self._empty_clippings: int | None = 0
        self._gradient_limits = GradientLimits()
        self._summed_passes = SummedPasses()
        self._hides_nan: bool | None = None
        self._not_finite_by: _core.OperationFacts | None = None
        self._suspect: _core.OperationFacts | None = None  # in the last graph with finite numbers
        self._is_off = False

    def facts(
        self, optimizers: list[Any], layers_outside: Sequence[str] = (), empty_loads: int = 0
    ) -> _core.LoopFacts:
        """The current facts. `optimizers` are those of the run's facts."""
        return _core.LoopFacts(
            autocast_dtype=self._autocast_dtype,
            schedulers=[each.facts(optimizers, self._updates) for each in self._schedulers],
            scaled_clippings=self._clippings,
            scaled_clipping_limit=self._limit,
            empty_clippings=self._empty_clippings or 0,
            gradient_norm_limit=self._gradient_limits.norm,
            gradient_value_limit=self._gradient_limits.value,
            log_hides_not_finite=bool(self._hides_nan),
            not_finite_by=self._not_finite_by,
            short_lived_optimizers=self._reported_short_lived(),
            evaluations_in_training_mode=self._evaluations_in_training_mode(),
            data_passes=None if self._data_passes is None else _reported(self._data_passes),
            layers_outside=layers_outside,
            summed_passes=self._summed_passes.count,
            empty_loads=empty_loads,
        )

    def _reported_short_lived(self) -> int | None:
        """The number when it was last worth a report: each new optimizer is described anyway."""
        return None if self._short_lived is None else _reported(self._short_lived)

    def _evaluations_in_training_mode(self) -> int | None:
        is_known = self._in_training_mode > 0 and not self._has_evaluation_mode
        return self._in_training_mode if is_known else None

    def note_call(self, root: Root) -> None:
        """Notes a call of a model in a saved step."""
        if self._autocast_dtype or self._calls == _MOST_CALLS:
            return
        self._calls += 1
        try:
            self._autocast_dtype = _autocast_dtype(root.module)
        except Exception:  # a device without autocast, or an earlier torch
            self._calls = _MOST_CALLS
        if self._autocast_dtype:
            self.version += 1

    def note_evaluation(self, is_training_mode: bool) -> None:
        """Notes a loss without a gradient, and the mode of the model."""
        if self._has_evaluation_mode:
            return
        if is_training_mode:
            self._in_training_mode += 1
            self.version += self._in_training_mode in _REPORTED_AFTER
        else:
            self._has_evaluation_mode = True
            self.version += self._in_training_mode > 0

    def note_backward(self, start: torch.Tensor | None) -> None:
        """Notes a backward pass from `start`, from inside the call that starts it."""
        self._summed_passes.note_backward(start)
        if self._hides_nan is None:
            self._hides_nan = _trainer_hides_nan()
            self.version += self._hides_nan

    def note_not_finite(self, loss: torch.Tensor, step: int) -> None:
        """Searches the operation that made a loss NaN or infinite, before its backward pass."""
        try:
            if loss.grad_fn is not None and can_read(loss):
                self._not_finite_by = operation_of(loss, step) or self._suspect_of(step)
                self.version += self._not_finite_by is not None
        except Exception as error:  # a graph may have nodes of other libraries
            _logger.debug("the operation that made a loss not finite is unknown: %r", error)

    def _suspect_of(self, step: int) -> _core.OperationFacts | None:
        """The operation whose gradient may have made the loss of a later step not finite."""
        suspect = self._suspect
        return suspect if suspect and step <= suspect.step + _MOST_STEPS_LATER else None

    def note_gradient(self, loss: torch.Tensor, step: int) -> None:
        """Searches an operation whose gradient may be NaN or infinite, before the backward pass of
        a loss that is finite. It is reported if the next loss is not finite: a clamp or a ReLU
        before the operation stops such gradients."""
        try:
            is_readable = type(loss) is torch.Tensor and loss.grad_fn is not None and can_read(loss)
            if self._not_finite_by is None and is_readable and loss.isfinite().all():
                self._suspect = operation_of_gradient(loss, step)
        except Exception as error:
            _logger.debug("the gradients of the operations of a loss are unknown: %r", error)

    def note_update(self, optimizer: Any) -> None:
        """Notes that an optimizer is about to act."""
        if self._is_off:
            return
        try:
            self.version += self._gradient_limits.note_update(optimizer)
            self.version += self._summed_passes.note_update(optimizer)
            updates = self._updates.get(optimizer, 0)
            self._updates[optimizer] = updates + 1
            if updates == 0:
                self._note_new(optimizer)
            self._all_updates += 1
        except Exception as error:  # it has no hash, takes no reference, or has no groups
            self._stop(error)

    def _note_new(self, optimizer: Any) -> None:
        """Notes an optimizer that acts for the first time. The one that it replaces was short-lived
        if it acted at most twice."""
        parameters = (each for group in optimizer.param_groups for each in group["params"])
        first = id(next(parameters, None))
        self._short_lived = self._short_lived or 0
        begun = self._begun.get(first)
        self._begun[first] = self._all_updates
        if begun is None or self._all_updates - begun > _SHORT_LIFE:
            return
        if _keeps_averages(optimizer):
            self._short_lived += 1
            self.version += self._short_lived in _REPORTED_AFTER

    def note_scheduler(self, scheduler: Any) -> None:
        """Notes that a scheduler is about to step. The step that it takes when it is made does not
        count."""
        if self._is_off or getattr(scheduler, "last_epoch", 0) == -1:
            return
        try:
            known = next((each for each in self._schedulers if each.is_of(scheduler)), None)
            if known is None:
                if len(self._schedulers) == _MOST_SCHEDULERS:
                    return
                known = _Scheduler(scheduler)
                self._schedulers.append(known)
            known.steps += 1
            self.version += known.steps in _REPORTED_AFTER
        except Exception as error:  # a scheduler of a library may lack what torch's have
            self._stop(error)

    def note_data_pass(self, loader: Any) -> None:
        """Notes that a pass over a data loader begins. One of a single batch, or of an evaluation,
        does not count."""
        if self._data_passes is None:
            self._data_passes = 0
            self.version += 1
        if torch.is_grad_enabled() and _batches_in(loader) != 1:
            self._data_passes += 1
            self.version += self._data_passes in _REPORTED_AFTER

    def note_clipping(
        self, is_of_norm: bool, parameters: Sequence[torch.Tensor], limit: Any
    ) -> None:
        """Notes that the gradients of some parameters are clipped to a limit of their norm, or of
        their elements."""
        if self._empty_clippings is not None:
            if all(each.grad is None for each in parameters):
                self._empty_clippings += 1
                self.version += self._empty_clippings in _REPORTED_AFTER
            else:
                self.version += self._empty_clippings > 0
                self._empty_clippings = None
        self._gradient_limits.note_clipping(is_of_norm, len(parameters), limit)

    def note_scaler(self) -> None:
        """Notes that a gradient scaler acts: gradients of one step carry its scale, and limits are
        those of gradients without it."""
        self.version += self._gradient_limits.give_up()

    def note_scaled_clipping(self, limit: float | None) -> None:
        """Notes an update whose gradients were clipped while they carried the scale of a gradient
        scaler."""
        self._clippings += 1
        self._limit = limit
        self.version += self._clippings in _REPORTED_AFTER

    def _stop(self, error: Exception) -> None:
        self._is_off = True
        _logger.warning("the schedulers of learning rates are not described: %r", error)


class _Scheduler:
    """A scheduler and its steps."""

    def __init__(self, scheduler: Any) -> None:
        self.steps: int = 0
        self._scheduler = weakref.ref(scheduler)
        self._kind = encodable(type(scheduler).__name__)
        self._optimizer = weakref.ref(scheduler.optimizer)
        self._settings = _settings(scheduler)

    def is_of(self, scheduler: Any) -> bool:
        return self._scheduler() is scheduler

    def facts(self, optimizers: list[Any], updates: Mapping[Any, int]) -> _core.SchedulerFacts:
        optimizer = self._optimizer()
        positions = [i for i, each in enumerate(optimizers) if each is optimizer]
        return _core.SchedulerFacts(
            self._kind,
            optimizer=positions[0] if positions else None,
            steps=self.steps,
            updates=0 if optimizer is None else updates.get(optimizer, 0),
            settings=self._settings,
        )


def _reported(count: int) -> int:
    """A count when it was last worth a report."""
    return max((each for each in _REPORTED_AFTER if each <= count), default=0)


def _batches_in(loader: Any) -> int | None:
    """The number of batches of a data loader; None if it is unknown. A stream is not asked: torch
    would then warn if it has another length than it says."""
    if isinstance(loader.dataset, IterableDataset):
        return None
    try:
        return len(loader)
    except Exception:  # from a sampler of the script
        return None


def _keeps_averages(optimizer: Any) -> bool:
    return any(group.get(name) for group in optimizer.param_groups for name in _AVERAGES)


def _settings(scheduler: Any) -> dict[str, float]:
    values = {name: getattr(scheduler, name, None) for name in _SCHEDULER_SETTINGS}
    milestones = getattr(scheduler, "milestones", None) or getattr(scheduler, "_milestones", None)
    if milestones:
        values["last_milestone"] = max(milestones)
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _autocast_dtype(model: torch.nn.Module) -> str:
    """The dtype of the autocast that is open now; empty if there is none."""
    device = next(model.parameters()).device.type
    if not torch.is_autocast_enabled(device):
        return ""
    return str(torch.get_autocast_dtype(device)).removeprefix("torch.")


def _trainer_hides_nan() -> bool:
    """Whether the innermost Trainer of Transformers among the callers leaves losses that are not
    finite out of its log."""
    if _TRAINER_MODULE not in sys.modules:
        return False
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == _TRAINER_MODULE:
            arguments = getattr(frame.f_locals.get("self"), "args", None)
            return bool(getattr(arguments, "logging_nan_inf_filter", False))
        frame = frame.f_back
    return False
