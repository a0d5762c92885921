"""`Tensor`: one name in a run, at which steps it was saved and what it held."""

from __future__ import annotations

import functools
import time

import numpy as np

from smdebug._core import ModeKeys, StepState
from smdebug.exceptions import (
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)
from smdebug.trials.limits import number_from

# How far apart a missing event file is looked for.
_RETRY_SECONDS = 2.0
_REDUCTIONS = ("min", "max", "mean", "median", "std", "variance", "sum", "prod", "l1", "l2")
_NORM_SUFFIX = "_norm"
_KEEP_DTYPE = ("min", "max")
_KEEP_INTEGERS = ("sum", "prod")


class Tensor:
    """Made by `Trial.tensor`. Steps are steps of `mode`, values are numpy arrays."""

    def __init__(self, trial, core):
        self._trial = trial
        self._core = core
        self.name = core.name

    @property
    def original_name(self):
        """The framework's own name, where the run saved shapes; else None."""
        return self._core.original_name

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        return self._core.steps(mode, show_incomplete_steps)

    def prev_steps(self, step, n=None, mode=ModeKeys.GLOBAL):
        """The last `n` steps up to and including `step`; all of them without `n`."""
        return self._core.prev_steps(step, n or 0, mode)

    def workers(self, step_num, mode=ModeKeys.GLOBAL):
        """The workers that saved this tensor at a step."""
        try:
            return self._core.workers(step_num, mode)
        except SMDebugError as error:
            if error.code not in ("not_found", "not_yet"):
                raise
            raise TensorUnavailableForStep(self.name, step_num, mode) from error

    def value(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The elements at a step, an array of the caller's own: what is written into it stays
        there. Large ones are views of the file, copied page by page where they are written to.

        Of several workers' values, that of the first worker by name unless `worker` says which.
        """
        try:
            return _array(*self._core.value(step_num, mode, worker))
        except SMDebugError as error:
            return _array(*self._value_after(error, step_num, mode, worker))

    def values(self, mode=ModeKeys.GLOBAL, worker=None):
        """The elements at every step, by step, as `value` gives them."""
        try:
            groups = self._core.values(mode, worker)
        except SMDebugError:
            # One step at a time says what is wrong, and waits for what may still come.
            return {step: self.value(step, mode, worker) for step in self.steps(mode)}
        return {
            step: _array(dtype, shape, elements)
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
        """The shape at a step, as a tuple: the saved one, or that of the value."""
        self._check(step_num, mode, worker)
        try:
            return tuple(self._core.shape(step_num, mode, worker))
        except SMDebugError as error:
            if error.code != "not_found":
                raise
            raise ShapeUnavailableForStep(self.name, step_num, mode) from error

    def shapes(self, mode=ModeKeys.GLOBAL, worker=None):
        """The shape at every step, by step."""
        return {step: self.shape(step, mode, worker) for step in self.steps(mode)}

    def reduction_value(
        self, step_num, reduction_name, mode=ModeKeys.GLOBAL, worker=None, abs=False
    ):
        """A reduction at a step: the saved one, or one computed from what was saved.

        What is computed takes `std` and `variance` of the population, and norms of the flattened
        tensor.
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
                return _array(*saved)
            op = f"abs_{name}" if abs else name
            number = self._core.reduction(step_num, mode, worker, op)
        except SMDebugError as error:
            if error.code not in ("not_found", "io"):
                raise
            raise TensorUnavailableForStep(self.name, step_num, mode) from error
        return self._as_numpy_would(number, name, step_num, mode, worker)

    def _as_numpy_would(self, number, reduction, step_num, mode, worker):
        """The number in the dtype that numpy gives this reduction of such a tensor."""
        try:
            dtype = _dtype(self._core.dtype(step_num, mode, worker))
        except SMDebugError:
            return np.float64(number)
        is_float = np.issubdtype(dtype, np.floating)
        if is_float or (reduction in _KEEP_DTYPE and dtype.kind in "iub"):
            return dtype.type(number)
        if reduction in _KEEP_INTEGERS and dtype.kind in "iub":
            return np.int64(number)
        return np.float64(number)

    def reduction_values(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The reductions that were saved: (name, of absolute values?) -> value."""
        self._check(step_num, mode, worker)
        saved = self._core.saved_reductions(step_num, mode, worker)
        return {key: _array(*parts) for key, parts in saved.items()}

    def statistics(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """Counts and moments at a step, as a dict; from the index where the run has them."""
        self._check(step_num, mode, worker)
        try:
            return self._core.statistics(step_num, mode, worker)
        except SMDebugError as error:
            if error.code != "not_found":
                raise
            raise TensorUnavailableForStep(self.name, step_num, mode) from error

    def step(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        raise SMDebugNotImplementedError("Tensor.step was removed; use value, shape or workers")

    def _check(self, step_num, mode, worker):
        """Raises what the original raises where the step or the worker is not there."""
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


@functools.cache
def _dtype(name):
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def _array(dtype_name, shape, elements):
    if dtype_name == "str":
        return np.array(elements, dtype=str).reshape(shape)
    return np.ndarray(shape, _dtype(dtype_name), elements)
