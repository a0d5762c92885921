"""`Tensor`: one name in a run, at which steps it was saved and what it held."""

from __future__ import annotations

import numpy as np

from smdebug._core import ModeKeys, StepState
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
        """The elements at a step, an array of the caller's own.

        Its dtype is the one that was saved: bfloat16 and float8 are those of ml_dtypes, without
        which SMDebugRuntimeError is raised; text is of dtype str, strings of bytes of dtype bytes,
        of objects where an element ends in NUL. Of several workers' values, that of the first
        worker by name unless `worker` says which.
        """
        self._check(step_num, mode, worker)
        try:
            return _array(*self._core.value(step_num, mode, worker))
        except SMDebugError as error:
            if error.code not in ("not_found", "io"):
                raise
            saved = {}
            if error.code == "not_found":
                saved = self._core.saved_reductions(step_num, mode, worker)
            raise TensorUnavailableForStep(self.name, step_num, mode, bool(saved)) from error

    def values(self, mode=ModeKeys.GLOBAL, worker=None):
        """The elements at every step, by step."""
        return {step: self.value(step, mode, worker) for step in self.steps(mode)}

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


def _array(dtype_name, shape, elements):
    if dtype_name in ("str", "bytes"):
        return _string_array(dtype_name, elements).reshape(shape)
    return np.asarray(elements).view(_dtype(dtype_name)).reshape(shape)


def _string_array(dtype_name, elements):
    """Of fixed width; of objects where that would lose the NULs that an element ends in."""
    nul = "\0" if dtype_name == "str" else b"\0"
    ends_in_nul = any(element.endswith(nul) for element in elements)
    return np.array(elements, dtype=object if ends_in_nul else dtype_name)
