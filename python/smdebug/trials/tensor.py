"""`Tensor`: one named tensor of a run, with its steps and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from smdebug._core import ModeKeys
from smdebug._core import Tensor as CoreTensor
from smdebug.booleans import as_flag
from smdebug.exceptions import (
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugValueError,
    TensorUnavailableForStep,
)
from smdebug.trials.arguments import (
    checked_mode,
    checked_mode_of_all,
    checked_query,
    checked_step,
)
from smdebug.trials.arrays import Array, array_from, checked_reduction, dtype_from, scalar_from
from smdebug.trials.html import tensor_html
from smdebug.trials.shard_placement import ShardPlacement
from smdebug.trials.summary import TensorSummary
from smdebug.unknown_arguments import methods_with_known_arguments

if TYPE_CHECKING:
    from smdebug.trials.trial import Trial

GLOBAL = ModeKeys.GLOBAL
Mode = ModeKeys | None  # None stands for GLOBAL
Worker = str | None


@methods_with_known_arguments
class Tensor:
    """One tensor of a run; made by `Trial.tensor`.

    Steps are steps of `mode`, global steps by default. If several workers saved the tensor, the
    methods describe that of the first one by name, or that of `worker`.

    A method that takes a step raises StepNotYetAvailable for a step that may still come,
    StepUnavailable for one that was not saved although later ones were, TensorUnavailableForStep
    if the step holds other tensors, InvalidWorker for a worker that did not save the tensor at
    this step, SMDebugTypeError for a step that is not a whole number, SMDebugValueError for an
    invalid mode, and SMDebugRuntimeError for damaged bytes, naming the file.
    """

    def __init__(self, trial: Trial, core: CoreTensor) -> None:
        self._trial = trial
        self._core = core
        self.name: str = core.name

    @property
    def original_name(self) -> str | None:
        """The framework's own name if the run saved shapes, else None."""
        return self._core.original_name

    def steps(self, mode: Mode = GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """The steps of `mode` at which the tensor was saved, in ascending order: those that every
        worker has written, with `show_incomplete_steps` all."""
        return self._core.steps(checked_mode(mode), show_incomplete_steps)

    def prev_steps(self, step: int, n: int | None = None, mode: Mode = GLOBAL) -> list[int]:
        """The last `n` steps up to and including `step`; all of them if `n` is None or 0."""
        count = checked_step(n or 0, "n, the number of steps,")
        if count < 0:
            raise SMDebugValueError(f"prev_steps takes a count n of 0 or more, found {n!r}")
        return self._core.prev_steps(checked_step(step), count, checked_mode(mode))

    def workers(self, step_num: int, mode: Mode = GLOBAL) -> list[str]:
        """The workers that saved the tensor at a step, sorted by name."""
        return self._core.workers(checked_step(step_num), checked_mode(mode))

    def value(self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None) -> Array:
        """The elements at a step, as an array that the caller owns and may write into.

        It has the saved shape and dtype: bfloat16 and float8 are types of ml_dtypes, or without
        that package the next wider float; text has dtype str or bytes, or object if an element
        ends in NUL. If the event file is missing and may still come, retries every 2 s, up to
        SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT times (100 by default). Raises
        TensorUnavailableForStep after that, and if the elements were not saved; its
        `has_reductions` is True if reductions were.
        """
        if mode.__class__ is not ModeKeys:  # the core accepts their numbers too
            step_num, mode, worker = checked_query(step_num, mode, worker)
        try:
            return array_from(*self._core.value(step_num, mode, worker))
        except TypeError:  # of the binding: faster than checking each call
            return array_from(*self._core.value(*checked_query(step_num, mode, worker)))

    def values(self, mode: Mode = GLOBAL, worker: Worker = None) -> dict[int, Array]:
        """The elements at every step: a dict from each of `steps(mode)` to its `value`."""
        mode = checked_mode_of_all(mode, "values", "value")
        return {
            step: array_from(dtype, shape, elements)
            for dtype, shape, steps, all_elements in self._core.values(mode, worker)
            for step, elements in zip(steps, all_elements, strict=True)
        }

    def shape(self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None) -> tuple[int, ...]:
        """The shape at a step. Raises ShapeUnavailableForStep if neither it nor the value was
        saved."""
        return tuple(self._core.shape(*checked_query(step_num, mode, worker)))

    def shapes(self, mode: Mode = GLOBAL, worker: Worker = None) -> dict[int, tuple[int, ...]]:
        """The shape at every step: a dict from each of `steps(mode)` to its `shape`."""
        mode = checked_mode_of_all(mode, "shapes", "shape")
        return {step: self.shape(step, mode, worker) for step in self.steps(mode)}

    def dtype(self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None) -> np.dtype[Any]:
        """The numpy dtype of the elements at a step, even if only the index knows it."""
        return dtype_from(self._core.dtype(*checked_query(step_num, mode, worker)))

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: Mode = GLOBAL,
        worker: Worker = None,
        abs: bool = False,
    ) -> Any:
        """A reduction at a step: the saved one, unchanged, or a numpy scalar computed now.

        `reduction_name` is min, max, mean, median, std, variance, sum, prod, l1 or l2 (also
        l1_norm, l2_norm); other names raise SMDebugValueError. `abs` applies it to absolute values.

        Computation is in float64: NaN propagates, `std` and `variance` are those of the
        population, norms those of the flattened tensor, and complex elements count by their
        absolute value. The result has the tensor's dtype if that is float16, float32 or float64.
        For an integer or bool tensor, min, max, sum and prod are integers where that is exact;
        everything else is float64. (A saved std or variance of PyTorch is that of the sample.)

        Raises TensorUnavailableForStep if there are no numbers to compute it from.
        """
        if isinstance(step_num, str) and not isinstance(reduction_name, str):
            call = f"reduction_value({reduction_name!r}, {step_num!r})"
            raise SMDebugValueError(f"the step comes first, then the reduction: use {call}")
        name = checked_reduction(reduction_name)
        query = checked_query(step_num, mode, worker)
        abs = as_flag("abs", abs)
        saved = self._core.saved_reductions(*query).get((name, abs))
        if saved is not None:
            return array_from(*saved)
        number = self._core.reduction(*query, f"abs_{name}" if abs else name)
        try:
            dtype = dtype_from(self._core.dtype(*query))
        except SMDebugError:  # only reductions were saved
            return np.float64(number)
        return scalar_from(number, name, dtype)

    def reduction_values(
        self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None
    ) -> dict[tuple[str, bool], Array]:
        """The saved reductions: a dict from (name, whether of absolute values) to an array."""
        saved = self._core.saved_reductions(*checked_query(step_num, mode, worker))
        return {key: array_from(*parts) for key, parts in saved.items()}

    def statistics(
        self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None
    ) -> dict[str, int | float]:
        """The statistics of the index at a step, by column (docs/format.md), or else computed from
        the value. `summary` explains what they mean."""
        return self._core.statistics(*checked_query(step_num, mode, worker))

    def placement(
        self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None
    ) -> ShardPlacement | None:
        """The part of a larger tensor that a worker saved at a step. None for a whole tensor, and
        for a part that is not a box of the whole."""
        parts = self._core.placement(*checked_query(step_num, mode, worker))
        return None if parts is None else ShardPlacement(*parts)

    def summary(
        self,
        step_num: int,
        mode: Mode = GLOBAL,
        worker: Worker = None,
        merged: bool = False,
    ) -> TensorSummary:
        """Counts, bounds, mean, deviation and norms at a step, from the index or else computed
        from the value. Raises TensorUnavailableForStep if there is neither, and for text.

        With `merged`, they describe the whole tensor whose shards the workers saved; workers that
        saved the same shard are replicas and count once. Then a `worker` raises SMDebugValueError,
        as do several workers that each saved a tensor that is not a shard; missing shards raise
        TensorUnavailableForStep.
        """
        if merged and worker is not None:
            raise SMDebugValueError(
                f"merged combines the shards of all workers: leave out worker={worker!r}"
            )
        query = checked_query(step_num, mode, worker)
        if self.dtype(*query).kind in "SU":
            error = TensorUnavailableForStep(self.name, step_num, mode)
            error.full_message = f"tensor '{self.name}' holds text, which has no summary"
            raise error
        read = self._core.merged_statistics if merged else self._core.statistics
        return TensorSummary.from_statistics(read(*(query[:2] if merged else query)))

    def step(self, step_num: int, mode: Mode = GLOBAL, worker: Worker = None) -> NoReturn:
        """Removed from the API: raises SMDebugNotImplementedError."""
        raise SMDebugNotImplementedError("Tensor.step was removed; use value, shape or workers")

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r} of {self._trial!r}>"

    def _repr_html_(self) -> str:
        return tensor_html(self)
