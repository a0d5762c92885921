"""`LiveTrial`: the run of this process as a rule inside the step sees it.

The running step answers from memory, earlier steps from the files that the run has published.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from smdebug._core import ModeKeys, StepState, find_names
from smdebug._core import Tensor as CoreTensor
from smdebug._core import Trial as CoreTrial
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugError, TensorUnavailable, TensorUnavailableForStep
from smdebug.trials import Tensor, Trial
from smdebug.trials.arrays import Array, array_from, dtype_from, reduction_of
from smdebug.trials.trial import Patterns

GLOBAL = ModeKeys.GLOBAL

RunningStep = tuple[int, ModeKeys, int]
Parts = tuple[str, list[int], Any]


class LiveTrial(Trial):
    """The `Trial` of the run that this process writes at `out_dir`, with the running step on top.

    Before the run publishes its first files, a query about another step raises SMDebugError.
    """

    def __init__(self, out_dir: str) -> None:
        self.path = os.path.expanduser(out_dir)
        self.name = os.path.basename(self.path.rstrip("/"))
        self._collections: dict[str, Collection] = {}
        self._step: RunningStep = (-1, GLOBAL, -1)
        self._values: dict[str, Parts | None] = {}
        self._past: Trial | None = None
        self._is_refreshing = True

    def show(self, step: RunningStep, tensors: Iterable[tuple[str, Parts | None]]) -> None:
        """Makes `step` the running one: (global step, mode, step of that mode). `tensors` are pairs
        of a name and the parts of an array, or None if the elements were not kept."""
        self._step = step
        self._values = dict(tensors)

    def past(self) -> Trial:
        """The published part of the run. Raises SMDebugError if nothing is published yet."""
        if self._past is None:
            self._past = Trial(self.path, timeout=0)
        return self._past

    @property
    def _core(self) -> CoreTrial:
        return self.past()._core

    def _has_past(self) -> bool:
        try:
            return self.past() is not None
        except SMDebugError:
            return False

    def _running(self, mode: ModeKeys) -> int | None:
        """The number of the running step in `mode`; None if it belongs to another mode."""
        global_step, its_mode, mode_step = self._step
        if mode is GLOBAL:
            return global_step
        return mode_step if mode is its_mode else None

    def _with_running(self, steps: list[int], mode: ModeKeys) -> list[int]:
        now = self._running(mode)
        return steps if now is None else [step for step in steps if step < now] + [now]

    def tensor_names(
        self,
        show_prefixed_tensors: bool = False,
        *,
        step: int | None = None,
        mode: ModeKeys = GLOBAL,
        regex: Patterns | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """The sorted names at `step`, or in the run so far; the arguments are those of `Trial`."""
        now = self._running(mode)
        names: set[str] = set()
        if now is not None and step in (None, now):
            selection = self._selection(regex, collection)
            names.update(self._values if selection is None else self._running_names(*selection))
        if step not in (None, now) or (step is None and self._has_past()):
            names.update(
                super().tensor_names(step=step, mode=mode, regex=regex, collection=collection)
            )
        return sorted(names)

    def _running_names(self, patterns: list[str], names: list[str]) -> list[str]:
        listed = [name for name in names if name in self._values]
        return listed + find_names(list(self._values), patterns)

    def has_tensor(self, tname: str) -> bool:
        """Whether the running step or the run so far has a tensor of that name."""
        return tname in self._values or (self._has_past() and super().has_tensor(tname))

    def tensor(self, tname: str) -> LiveTensor:
        """The tensor of that name. Raises TensorUnavailable."""
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname)
        return LiveTensor(self, tname)

    def steps(self, mode: ModeKeys = GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """The steps of `mode` in ascending order, the running one last."""
        past = super().steps(mode, show_incomplete_steps) if self._has_past() else []
        return self._with_running(past, mode)

    def mode_modestep(self, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]:
        """(mode, step of that mode) of a global step; (None, None) if the run does not have it."""
        if global_step == self._step[0]:
            return self._step[1:]
        return super().mode_modestep(global_step)

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        """The global step of a step of `mode`, or None; for GLOBAL, `mode_step` itself."""
        if mode_step == self._running(mode):
            return self._step[0]
        return super().global_step(mode, mode_step)

    def has_passed_step(self, step: int, mode: ModeKeys = GLOBAL) -> StepState:
        """The state of a step of `mode`; the running step is AVAILABLE."""
        if step == self._running(mode):
            return StepState.AVAILABLE
        return super().has_passed_step(step, mode)

    def wait_for_steps(
        self, required_steps: Iterable[int], mode: ModeKeys = GLOBAL, timeout: float | None = None
    ) -> None:
        """Returns at once: nothing new can come while the step waits for its rules."""

    @property
    def dynamic_refresh(self) -> bool:
        """Whether queries look for new steps first; the running step does not depend on it."""
        return self._is_refreshing

    @dynamic_refresh.setter
    def dynamic_refresh(self, value: bool) -> None:
        self._is_refreshing = bool(value)


class LiveTensor(Tensor):
    """A tensor of the running step and of the steps before it."""

    def __init__(self, trial: LiveTrial, name: str) -> None:
        self.name = name
        self._trial: LiveTrial = trial

    @property
    def _core(self) -> CoreTensor:
        return self._trial._core.tensor(self.name)

    def _running_parts(self, step_num: int, mode: ModeKeys) -> Parts | None:
        """The parts of the array if that is the running step. Raises TensorUnavailableForStep."""
        if step_num != self._trial._running(mode):
            return None
        parts = self._trial._values.get(self.name)
        if parts is None:
            raise TensorUnavailableForStep(self.name, step_num, mode)
        return parts

    def value(self, step_num: int, mode: ModeKeys = GLOBAL, worker: str | None = None) -> Array:
        """The elements at a step, as an array that the caller owns. Raises what `Tensor.value`
        raises."""
        parts = self._running_parts(step_num, mode)
        return array_from(*parts) if parts else super().value(step_num, mode, worker)

    def shape(
        self, step_num: int, mode: ModeKeys = GLOBAL, worker: str | None = None
    ) -> tuple[int, ...]:
        """The shape at a step."""
        parts = self._running_parts(step_num, mode)
        return tuple(parts[1]) if parts else super().shape(step_num, mode, worker)

    def dtype(self, step_num: int, mode: ModeKeys = GLOBAL, worker: str | None = None) -> Any:
        """The numpy dtype of the elements at a step."""
        parts = self._running_parts(step_num, mode)
        return dtype_from(parts[0]) if parts else super().dtype(step_num, mode, worker)

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: ModeKeys = GLOBAL,
        worker: str | None = None,
        abs: bool = False,
    ) -> Any:
        """A reduction at a step, as `Tensor.reduction_value` documents it."""
        parts = self._running_parts(step_num, mode)
        if parts:
            return reduction_of(array_from(*parts), reduction_name, abs)
        return super().reduction_value(step_num, reduction_name, mode, worker, abs)

    def steps(self, mode: ModeKeys = GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """The steps of `mode` that have the tensor, in ascending order."""
        try:
            past = super().steps(mode, show_incomplete_steps)
        except SMDebugError:
            past = []
        has_running = self.name in self._trial._values
        return self._trial._with_running(past, mode) if has_running else past

    def prev_steps(self, step: int, n: int | None = None, mode: ModeKeys = GLOBAL) -> list[int]:
        """The last `n` steps up to and including `step`; all of them without `n`."""
        before = [each for each in self.steps(mode) if each <= step]
        return before[-n:] if n else before
