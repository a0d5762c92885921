"""`Tensor`: one name in a run, at which steps it was saved and what it held."""

from __future__ import annotations

import functools
import time

import numpy as np

from smdebug._core import ModeKeys, StepState, reduction
from smdebug.exceptions import (
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)
from smdebug.trials.arguments import checked_mode, checked_step
from smdebug.trials.html import tensor_html
from smdebug.trials.limits import number_from
from smdebug.trials.shard_placement import ShardPlacement
from smdebug.trials.summary import TensorSummary

# How far apart a missing event file is looked for.
_RETRY_SECONDS = 2.0
_REDUCTIONS = ("min", "max", "mean", "median", "std", "variance", "sum", "prod", "l1", "l2")
_NORM_SUFFIX = "_norm"
_OF_ELEMENT_DTYPE = ("min", "max")
_WHOLE_OF_INTEGERS = ("min", "max", "sum", "prod")
_EXACT_IN_FLOAT64 = 2**53


class Tensor:
    """One tensor of a run; made by `Trial.tensor`.

    Every question takes a `mode`: without one, steps are global steps, with one they are the
    steps of that mode. Where several workers saved the tensor, the first by name answers unless
    `worker` names another.

    What is asked of a step raises StepNotYetAvailable for a step that may still come,
    StepUnavailable for one that was passed over, TensorUnavailableForStep where the step holds
    other tensors, InvalidWorker for a worker that did not save the tensor there,
    SMDebugTypeError for a step that is no whole number, SMDebugValueError for a mode that is
    none, and SMDebugRuntimeError for damaged bytes, naming the file.
    """

    def __init__(self, trial, core):
        self._trial = trial
        self._core = core
        self.name = core.name

    @property
    def original_name(self):
        """The framework's own name, where the run saved shapes; else None."""
        return self._core.original_name

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """The steps of `mode` at which the tensor was saved, ascending: a list of int.

        Those that every worker of the run has written, or with `show_incomplete_steps` all. A
        mode in which it was never saved has none.
        """
        return self._core.steps(checked_mode(mode), show_incomplete_steps)

    def prev_steps(self, step, n=None, mode=ModeKeys.GLOBAL):
        """The last `n` steps up to and including `step`; all of them without `n`, or with 0."""
        count = checked_step(n or 0)
        if count < 0:
            raise SMDebugValueError(f"prev_steps gives the last n steps, from 0 on, found {n!r}")
        return self._core.prev_steps(checked_step(step), count, checked_mode(mode))

    def workers(self, step_num, mode=ModeKeys.GLOBAL):
        """The workers that saved the tensor at a step, by name: a list of str.

        Raises TensorUnavailableForStep where none did.
        """
        try:
            return self._core.workers(checked_step(step_num), checked_mode(mode))
        except SMDebugError as error:
            if error.code not in ("not_found", "not_yet"):
                raise
            raise TensorUnavailableForStep(self.name, step_num, mode) from error

    def value(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The elements at a step: a numpy array of the caller's own. What is written into it stays
        there; large ones are views of the file, copied page by page where they are written to.

        It has the shape and the dtype that were saved: bfloat16 and float8 are those of ml_dtypes,
        without which SMDebugRuntimeError is raised; text is of dtype str, strings of bytes of
        dtype bytes, of objects where an element ends in NUL. Of several workers' values, that of
        the first worker by name unless `worker` says which. Raises TensorUnavailableForStep with
        `has_reductions` where only reductions were saved.
        """
        if mode.__class__ is not ModeKeys:  # the binding takes their numbers too
            checked_mode(mode)
        try:
            return array_from(*self._core.value(step_num, mode, worker))
        except SMDebugError as error:
            return array_from(*self._value_after(error, step_num, mode, worker))
        except TypeError:  # of the binding, which is quicker than looking first
            self._check(step_num, mode, worker)
            raise

    def values(self, mode=ModeKeys.GLOBAL, worker=None):
        """The elements at every step: a dict from each of `steps(mode)` to its `value`."""
        checked_mode(mode)
        try:
            groups = self._core.values(mode, worker)
        except SMDebugError:
            # One step at a time says what is wrong, and waits for what may still come.
            return {step: self.value(step, mode, worker) for step in self.steps(mode)}
        return {
            step: array_from(dtype, shape, elements)
            for dtype, shape, steps, all_elements in groups
            for step, elements in zip(steps, all_elements, strict=True)
        }

    def _value_after(self, error, step_num, mode, worker):
        """The value where asking for it failed: tried again while its event file may still
        come; else raises what the original raises."""
        self._check(step_num, mode, worker)
        for _ in range(number_from("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", 100)):
            if error.code != "unavailable":
                break
            time.sleep(_RETRY_SECONDS)
            self._trial.refresh()
            try:
                return self._core.value(step_num, mode, worker)
            except SMDebugError as again:
                error = again
        if error.code not in ("not_found", "io", "unavailable"):
            raise error
        saved = {}
        if error.code == "not_found":
            saved = self._core.saved_reductions(step_num, mode, worker)
        raise TensorUnavailableForStep(self.name, step_num, mode, bool(saved)) from error

    def shape(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The shape at a step: a tuple of int; the saved one, or that of the value.

        Raises ShapeUnavailableForStep where neither was saved.
        """
        self._check(step_num, mode, worker)
        try:
            return tuple(self._core.shape(step_num, mode, worker))
        except SMDebugError as error:
            if error.code != "not_found":
                raise
            raise ShapeUnavailableForStep(self.name, step_num, mode) from error

    def shapes(self, mode=ModeKeys.GLOBAL, worker=None):
        """The shape at every step: a dict from each of `steps(mode)` to its `shape`."""
        return {step: self.shape(step, mode, worker) for step in self.steps(mode)}

    def dtype(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The numpy dtype of the elements at a step, also where only the index has it."""
        return _dtype(self._ask(self._core.dtype, step_num, mode, worker))

    def reduction_value(
        self, step_num, reduction_name, mode=ModeKeys.GLOBAL, worker=None, abs=False
    ):
        """A reduction at a step: the saved one as it was saved, or a numpy scalar computed now.

        `reduction_name` is min, max, mean, median, std, variance, sum, prod, l1 or l2 (also
        l1_norm, l2_norm), else SMDebugValueError; with `abs` it is of the absolute values.

        What is computed is computed in float64: NaN propagates, `std` and `variance` are of the
        population, norms of the flattened tensor, complex elements count by their absolute value.
        It comes in the tensor's dtype if that is float16, float32 or float64. Of an integer or
        bool tensor min, max, sum and prod come as integers where they are exact; all else is
        float64. (A saved std or variance of PyTorch is of the sample, as torch has it.)

        Raises TensorUnavailableForStep where the run holds nothing to compute it from, or the
        tensor holds no numbers.
        """
        name = str(reduction_name).removesuffix(_NORM_SUFFIX)
        if name not in _REDUCTIONS:
            raise SMDebugValueError(
                f"no reduction '{reduction_name}'; there are {', '.join(_REDUCTIONS)}"
            )
        self._check(step_num, mode, worker)
        try:
            saved = self._core.saved_reductions(step_num, mode, worker).get((name, bool(abs)))
            if saved is not None:
                return array_from(*saved)
            op = f"abs_{name}" if abs else name
            number = self._core.reduction(step_num, mode, worker, op)
        except SMDebugError as error:
            if error.code not in ("not_found", "io"):
                raise
            raise TensorUnavailableForStep(self.name, step_num, mode) from error
        try:
            dtype = _dtype(self._core.dtype(step_num, mode, worker))
        except SMDebugError:  # of a tensor saved as reductions only
            return np.float64(number)
        return _as_numpy_would(number, name, dtype)

    def reduction_values(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The reductions that were saved: a dict (name, of absolute values?) -> numpy array.

        Empty where none were.
        """
        self._check(step_num, mode, worker)
        saved = self._core.saved_reductions(step_num, mode, worker)
        return {key: array_from(*parts) for key, parts in saved.items()}

    def statistics(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The columns that a run keeps of a tensor at a step (docs/format.md), as a dict.

        From the index, or computed from the value. See `summary` for what they mean.
        """
        return self._ask(self._core.statistics, step_num, mode, worker)

    def placement(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """Which part of a larger tensor a worker saved at a step: a `ShardPlacement`.

        None for a whole tensor, and for a part that is no box of the whole.
        """
        parts = self._ask(self._core.placement, step_num, mode, worker)
        return None if parts is None else ShardPlacement(*parts)

    def summary(self, step_num, mode=ModeKeys.GLOBAL, worker=None, merged=False):
        """A `TensorSummary` of a step: counts, bounds, mean, deviation and norms.

        From the index where the run has statistics there, without reading the value; else
        computed from it. Raises TensorUnavailableForStep where there is neither, and where the
        elements are text.

        With `merged` it is that of the whole tensor whose shards the workers saved; workers that
        saved the same shard are replicas and count once. Raises SMDebugValueError with a
        `worker` beside it, and where several workers each saved a tensor that is no shard;
        TensorUnavailableForStep where shards are missing.
        """
        if merged:
            if worker is not None:
                raise SMDebugValueError(
                    f"merged takes the shards of all workers, found worker={worker!r} beside it"
                )
            statistics = self._ask(
                lambda step, mode, _: self._core.merged_statistics(step, mode), step_num, mode, None
            )
        else:
            statistics = self.statistics(step_num, mode, worker)
        if self.dtype(step_num, mode, worker).kind in "SU":
            text = SMDebugError(f"tensor '{self.name}' holds text, which has no summary")
            raise TensorUnavailableForStep(self.name, step_num, mode) from text
        return TensorSummary.from_statistics(statistics)

    def step(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """Was removed from the API: raises SMDebugNotImplementedError."""
        raise SMDebugNotImplementedError("Tensor.step was removed; use value, shape or workers")

    def _ask(self, question, step_num, mode, worker):
        self._check(step_num, mode, worker)
        try:
            return question(step_num, mode, worker)
        except SMDebugError as error:
            if error.code not in ("not_found", "io"):
                raise
            raise TensorUnavailableForStep(self.name, step_num, mode) from error

    def _check(self, step_num, mode, worker):
        """Raises what the original raises where the step or the worker is not there."""
        step_num, mode = checked_step(step_num), checked_mode(mode)
        try:
            workers = self._core.workers(step_num, mode)
        except SMDebugError as error:
            if error.code not in ("not_found", "not_yet"):
                raise
            state = self._trial.has_passed_step(step_num, mode)
            if state == StepState.NOT_YET_AVAILABLE:
                raise StepNotYetAvailable(step_num, mode) from error
            if state == StepState.UNAVAILABLE:
                raise StepUnavailable(step_num, mode) from error
            raise TensorUnavailableForStep(self.name, step_num, mode) from error
        if worker is not None and worker not in workers:
            raise InvalidWorker(worker)

    def __repr__(self):
        return f"<Tensor {self.name!r} of {self._trial!r}>"

    def _repr_html_(self):
        return tensor_html(self)


def _as_numpy_would(number, reduction, dtype):
    """The float64 `number` as the scalar that numpy gives for such a tensor."""
    if dtype.kind in "iub":
        return _of_integers(number, reduction, dtype)
    if np.issubdtype(dtype, np.floating):  # of numpy's own; those of ml_dtypes hold too little
        with np.errstate(over="ignore"):
            return dtype.type(number)
    return np.float64(number)


def _of_integers(number, reduction, dtype):
    if reduction not in _WHOLE_OF_INTEGERS or not -_EXACT_IN_FLOAT64 <= number <= _EXACT_IN_FLOAT64:
        return np.float64(number)
    if reduction not in _OF_ELEMENT_DTYPE:
        return (np.uint64 if dtype.kind == "u" else np.int64)(number)
    if dtype.kind == "b":
        return np.bool_(number)
    limits = np.iinfo(dtype)
    is_held = limits.min <= number <= limits.max
    return dtype.type(number) if is_held else np.float64(number)


@functools.cache
def _dtype(name):
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError as error:
        raise SMDebugRuntimeError(
            f"numpy knows {name} only through the package ml_dtypes, which is not installed: "
            "pip install ml_dtypes"
        ) from error
    return np.dtype(getattr(ml_dtypes, name))


def reduction_of(array, reduction_name, abs=False):
    """A reduction of an array, computed as `Tensor.reduction_value` says."""
    name = str(reduction_name).removesuffix(_NORM_SUFFIX)
    if name not in _REDUCTIONS:
        raise SMDebugValueError(
            f"no reduction '{reduction_name}'; there are {', '.join(_REDUCTIONS)}"
        )
    number = reduction(array, f"abs_{name}" if abs else name)
    return _as_numpy_would(number, name, array.dtype)


def array_from(dtype_name, shape, elements):
    if dtype_name in ("str", "bytes"):
        return _string_array(dtype_name, elements).reshape(shape)
    return np.ndarray(shape, _dtype(dtype_name), elements)


def _string_array(dtype_name, elements):
    """Of fixed width; of objects where that would lose the NULs that an element ends in."""
    nul = "\0" if dtype_name == "str" else b"\0"
    ends_in_nul = any(element.endswith(nul) for element in elements)
    return np.array(elements, dtype=object if ends_in_nul else dtype_name)
