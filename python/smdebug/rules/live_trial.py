"""`LiveTrial`: the run of this process as a rule inside the step sees it.

The step that is running answers from memory; steps before it from the files of the run, as far as
they are published.
"""

import re

import numpy as np

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugError, TensorUnavailable, TensorUnavailableForStep
from smdebug.trials import create_trial
from smdebug.trials.arrays import array_from, reduction_of

_LONGEST_WAIT_SECONDS = 0


class LiveTrial:
    """What a rule asks of a `Trial`, for one that is being written.

    `tensor_names`, `tensor`, `has_tensor`, `steps`, `mode`, `mode_step`, `wait_for_steps` are those
    of `Trial`. Everything else is asked of the published part: a `Trial`, with what it raises.
    """

    def __init__(self, out_dir):
        self.path = out_dir
        self.dynamic_refresh = True
        self._step = None  # (global step, mode, step of the mode)
        self._values = {}
        self._past = None

    def show(self, step, tensors):
        """The step that is running, and its tensors: name -> parts of an array, or None."""
        self._step = step
        self._values = dict(tensors)

    def past(self):
        """The published part of the run. Raises SMDebugError where nothing is published."""
        if self._past is None:
            self._past = create_trial(self.path, timeout=_LONGEST_WAIT_SECONDS)
        return self._past

    def is_now(self, step, mode=ModeKeys.GLOBAL):
        """Whether that is the step that is running."""
        global_step, its_mode, mode_step = self._step
        if mode is ModeKeys.GLOBAL:
            return step == global_step
        return mode is its_mode and step == mode_step

    def tensor_names(self, *, step=None, mode=ModeKeys.GLOBAL, regex=None, collection=None):
        """Names at `step`, or in the run so far: a sorted list of str."""
        names = set() if step is None or self.is_now(step, mode) else None
        if names is None or collection is not None:
            return self.past().tensor_names(
                step=step, mode=mode, regex=regex, collection=collection
            )
        patterns = [regex] if isinstance(regex, str) else regex
        names.update(
            name
            for name in self._values
            if patterns is None or any(re.search(pattern, name) for pattern in patterns)
        )
        if step is None and self._has_past():
            names.update(self.past().tensor_names(mode=mode, regex=regex))
        return sorted(names)

    def has_tensor(self, tname):
        return tname in self._values or (self._has_past() and self.past().has_tensor(tname))

    def tensor(self, tname):
        """Raises TensorUnavailable for a name that neither the step nor the run has."""
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname)
        return LiveTensor(self, tname)

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """The steps of `mode`, ascending, the one that is running last."""
        past = self.past().steps(mode, show_incomplete_steps) if self._has_past() else []
        return self.with_now(past, mode)

    def with_now(self, steps, mode):
        """`steps` of `mode`, with the one that is running where it is of that mode."""
        global_step, its_mode, mode_step = self._step
        if mode not in (ModeKeys.GLOBAL, its_mode):
            return steps
        now = global_step if mode is ModeKeys.GLOBAL else mode_step
        return [step for step in steps if step < now] + [now]

    def wait_for_steps(self, required_steps, mode=ModeKeys.GLOBAL, timeout=None):
        """Nothing is waited for: inside the step nothing else can come."""

    def mode(self, global_step):
        return self._step[1] if self.is_now(global_step) else self.past().mode(global_step)

    def mode_step(self, global_step):
        return self._step[2] if self.is_now(global_step) else self.past().mode_step(global_step)

    def value(self, name, step, mode, worker):
        """The elements at the running step. Raises TensorUnavailableForStep."""
        parts = self._values.get(name)
        if parts is None:
            raise TensorUnavailableForStep(name, step, mode)
        return array_from(*parts)

    def holds(self, name):
        return name in self._values

    def _has_past(self):
        try:
            return self.past() is not None
        except SMDebugError:
            return False

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.past(), name)


class LiveTensor:
    """What a rule asks of a `Tensor`, for the running step and those before it."""

    def __init__(self, trial, name):
        self.name = name
        self._trial = trial

    def value(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The elements at a step: a numpy array of the caller's own. Raises
        TensorUnavailableForStep."""
        if self._trial.is_now(step_num, mode):
            return self._trial.value(self.name, step_num, mode, worker)
        return self._past().value(step_num, mode, worker)

    def reduction_value(
        self, step_num, reduction_name, mode=ModeKeys.GLOBAL, worker=None, abs=False
    ):
        """A reduction at a step, by the name of ReductionConfig."""
        if self._trial.is_now(step_num, mode):
            return reduction_of(self.value(step_num, mode), reduction_name, abs)
        return self._past().reduction_value(step_num, reduction_name, mode, worker, abs)

    def shape(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        return np.shape(self.value(step_num, mode, worker))

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """The steps of `mode` that have the tensor, ascending."""
        try:
            past = self._past().steps(mode, show_incomplete_steps)
        except SMDebugError:
            past = []
        return self._trial.with_now(past, mode) if self._trial.holds(self.name) else past

    def prev_steps(self, step, n=None, mode=ModeKeys.GLOBAL):
        """The last `n` steps up to and including `step`; all of them without `n`."""
        before = [each for each in self.steps(mode) if each <= step]
        return before[-n:] if n else before

    def _past(self):
        return self._trial.past().tensor(self.name)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._past(), name)
