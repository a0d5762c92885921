"""`WrittenLosses`: the facts of losses that a script writes out itself, or passes to Keras as a
function. loss_graph.py reads their operations, while a graph is built or in the first steps of
eager code.
"""

from __future__ import annotations

import math
from typing import Any

from smdebug import _core
from smdebug.log import get_logger
from smdebug.loss_summary import MEASURED_STEPS, REPORTED_AFTER
from smdebug.tensorflow import names
from smdebug.tensorflow.loss_graph import DivergenceLoss, LossGraph, PairedLoss, read_loss
from smdebug.tensorflow.operations import Shape, Value, of_graph

_logger = get_logger()

_MOST_GRAPHS = 20  # a function may be traced again and again


class WrittenLosses:
    """The findings in the losses of one hook. No method raises."""

    def __init__(self) -> None:
        self.version: int = 0  # increases when the facts are new
        self._paired: PairedLoss | None = None
        self._divergence: DivergenceLoss | None = None
        self._has_bare_logarithm = False
        self._not_finite_at: int | None = None  # the global step
        self._batch: int | None = None  # the samples of a step; None: unknown
        self._graphs = 0
        self._steps = 0  # saved ones that train, since something was found

    @property
    def has_found(self) -> bool:
        """Whether there is anything to report."""
        return bool(self._paired or self._divergence or self._is_blamed)

    @property
    def wants_batch(self) -> bool:
        """Whether the number of samples of a step is needed and unknown."""
        return self._paired is not None and None in self._paired.shape and self._batch is None

    @property
    def wants_value(self) -> bool:
        """Whether it matters if the next loss is finite."""
        return self._has_bare_logarithm and self._not_finite_at is None

    @property
    def not_finite_by(self) -> _core.OperationFacts | None:
        """The operation that made a loss not finite; None if it is unknown."""
        if not self._is_blamed:
            return None
        return _core.OperationFacts("log of 0", step=self._not_finite_at, elements=0, size=0)

    @property
    def _is_blamed(self) -> bool:
        return self._has_bare_logarithm and self._not_finite_at is not None

    # --- what is found ---

    def note_graph(self, loss: Any) -> None:
        """Reads the graph that is being built of a loss, or of several."""
        if self._graphs >= _MOST_GRAPHS:
            return
        self._graphs += 1
        for each in loss if isinstance(loss, (list, tuple)) else [loss]:
            self._note(lambda each=each: of_graph(each))

    def note_operations(self, loss: Value) -> None:
        """Reads the recorded operations of a loss."""
        self._note(lambda: loss)

    def _note(self, make):
        try:
            found = read_loss(make())
        except Exception as error:  # a graph may have operations of other libraries
            _logger.debug("what a loss is made of is unknown: %r", error)
            return
        self._add(found)

    def _add(self, found: LossGraph) -> None:
        self._has_bare_logarithm |= found.has_bare_logarithm
        self._paired = found.paired or self._paired
        # Of several losses, the first with a divergence is reported.
        self._divergence = self._divergence or found.divergence

    def note_batch(self, samples: int) -> None:
        """Notes the number of samples of a step."""
        self._batch = samples

    def note_value(self, loss: float, step: int) -> None:
        """Notes the value of a loss of the global `step`."""
        if self.wants_value and not math.isfinite(loss):
            self._not_finite_at = step
            self.version += 1

    def end_step(self) -> None:
        """Counts a saved step that trains."""
        if (self._paired or self._divergence) and self._steps < MEASURED_STEPS:
            self._steps += 1
            self.version += self._steps in REPORTED_AFTER

    # --- the facts ---

    def added_to(self, losses: list[_core.LossFacts]) -> list[_core.LossFacts]:
        """`losses` with what was found: the first that was not measured gets it."""
        own = self._inputs()
        if not own:
            return losses
        added = []
        for each in losses:
            if each.input is None and own:
                added.append(_with_input(each, own.pop(0)))
            else:
                added.append(each)
        return added + [_core.LossFacts(names.LOSS, each.function, input=each) for each in own]

    def _inputs(self) -> list[_core.LossInputFacts]:
        if not self._steps:
            return []
        found, paired = [], self._paired
        if paired is not None and not self.wants_batch:
            found.append(
                _core.LossInputFacts(
                    paired.kind,
                    steps=self._steps,
                    shape=self._sizes(paired.shape),
                    target_shape=self._sizes(paired.target_shape),
                )
            )
        if self._divergence is not None:
            kind, weight = self._divergence.kind, self._divergence.weight
            found.append(_core.LossInputFacts(kind, steps=self._steps, divergence_weight=weight))
        return found

    def _sizes(self, shape: Shape) -> list[int]:
        return [(self._batch or 0) if size is None else size for size in shape]


def _with_input(loss: _core.LossFacts, given: _core.LossInputFacts) -> _core.LossFacts:
    return _core.LossFacts(
        loss.tensor,
        loss.kind,
        reduction=loss.reduction,
        ignored_label=loss.ignored_label,
        input=given,
    )
