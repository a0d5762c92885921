"""`LiveTrial`: the run of this process as a rule inside the step sees it.

A `Trial` and its tensors ask the core. Here they ask `_LiveRun` and `_LiveTensor`, which have the
methods of the core's classes: they answer for the running step from memory, and pass every other
question to the files that the run has published.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, cast

from smdebug._core import ModeKeys, StepState, find_names, reduction
from smdebug._core import Tensor as CoreTensor
from smdebug._core import Trial as CoreTrial
from smdebug.exceptions import SMDebugError, TensorUnavailable, TensorUnavailableForStep
from smdebug.trials import Trial
from smdebug.trials.arrays import array_from

RunningStep = tuple[int, ModeKeys, int]
Parts = tuple[str, list[int], Any]


class LiveTrial(Trial):
    """The `Trial` of the run that this process writes at `out_dir`, with the running step on top.

    Before the run publishes its first files, a query about another step raises SMDebugError.
    """

    def __init__(self, out_dir: str) -> None:
        self.path: str = os.path.expanduser(out_dir)
        self.name: str = os.path.basename(self.path.rstrip("/"))
        self._collections = {}
        self._run = _LiveRun(self.path)
        self._core = cast(CoreTrial, self._run)

    def show(self, step: RunningStep, tensors: Iterable[tuple[str, Parts | None]]) -> None:
        """Makes `step` the running one: (global step, mode, step of that mode). `tensors` are pairs
        of a name and the parts of an array, or None if the elements were not kept."""
        self._run.running, self._run.values = step, dict(tensors)

    def past(self) -> Trial:
        """The published part of the run. Raises SMDebugError if nothing is published yet."""
        return self._run.past()

    @property
    def _published(self) -> CoreTrial:  # type: ignore[override]
        return self.past()._core


class _LiveRun:
    """The core's `Trial` with a running step: (global step, mode, step of that mode), and its
    `values`, the parts of each array by name."""

    def __init__(self, path: str) -> None:
        self.running: RunningStep = (-1, ModeKeys.GLOBAL, -1)
        self.values: dict[str, Parts | None] = {}
        self.is_refreshing = True  # does not concern the running step
        self._path = path
        self._past: Trial | None = None

    def past(self) -> Trial:
        if self._past is None:
            self._past = Trial(self._path, timeout=0)
        return self._past

    def __getattr__(self, name: str) -> Any:
        return getattr(self.past()._core, name)

    def has_past(self) -> bool:
        try:
            return self.past() is not None
        except SMDebugError:
            return False

    def number(self, mode: ModeKeys) -> int | None:
        """The number of the running step in `mode`; None if it belongs to another mode."""
        global_step, its_mode, mode_step = self.running
        if mode is ModeKeys.GLOBAL:
            return global_step
        return mode_step if mode is its_mode else None

    def with_running(self, steps: list[int], mode: ModeKeys) -> list[int]:
        now = self.number(mode)
        return steps if now is None else [step for step in steps if step < now] + [now]

    def tensor_names(
        self, step: int | None, mode: ModeKeys, patterns: list[str], names: list[str]
    ) -> list[str]:
        now = self.number(mode)
        found: set[str] = set()
        if now is not None and step in (None, now):
            found.update(find_names(list(self.values), patterns))
            found.update(self.values.keys() & names if patterns or names else self.values)
        if step not in (None, now) or (step is None and self.has_past()):
            found.update(self.past()._core.tensor_names(step, mode, patterns, names))
        return sorted(found)

    def has_tensor(self, name: str) -> bool:
        return name in self.values or (self.has_past() and self.past()._core.has_tensor(name))

    def tensor(self, name: str) -> _LiveTensor:
        if not self.has_tensor(name):
            raise TensorUnavailable(name)
        return _LiveTensor(self, name)

    def steps(self, mode: ModeKeys, incomplete: bool) -> list[int]:
        past = self.past()._core.steps(mode, incomplete) if self.has_past() else []
        return self.with_running(past, mode)

    def step_id(self, global_step: int) -> tuple[ModeKeys, int] | None:
        is_running = global_step == self.running[0]
        return self.running[1:] if is_running else self.past()._core.step_id(global_step)

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        is_running = mode_step == self.number(mode)
        return self.running[0] if is_running else self.past()._core.global_step(mode, mode_step)

    def has_passed_step(self, step: int, mode: ModeKeys) -> StepState:
        is_running = step == self.number(mode)
        return StepState.AVAILABLE if is_running else self.past()._core.has_passed_step(step, mode)

    def wait_for_steps(self, steps: list[int], mode: ModeKeys, timeout: float | None) -> None:
        """Returns at once: nothing new can come while the step waits for its rules."""


class _LiveTensor:
    """The core's `Tensor` with its value in the running step."""

    def __init__(self, run: _LiveRun, name: str) -> None:
        self.name = name
        self._run = run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._past(), name)

    def _past(self) -> CoreTensor:
        return self._run.past()._core.tensor(self.name)

    def value(self, step: int, mode: ModeKeys, worker: str | None) -> Parts:
        return self._running(step, mode) or self._past().value(step, mode, worker)

    def dtype(self, step: int, mode: ModeKeys, worker: str | None) -> str:
        parts = self._running(step, mode)
        return parts[0] if parts else self._past().dtype(step, mode, worker)

    def shape(self, step: int, mode: ModeKeys, worker: str | None) -> list[int]:
        parts = self._running(step, mode)
        return parts[1] if parts else self._past().shape(step, mode, worker)

    def saved_reductions(self, step: int, mode: ModeKeys, worker: str | None) -> dict[Any, Any]:
        is_running = self._running(step, mode)
        return {} if is_running else self._past().saved_reductions(step, mode, worker)

    def reduction(self, step: int, mode: ModeKeys, worker: str | None, op: str) -> float:
        parts = self._running(step, mode)
        if parts:
            return reduction(array_from(*parts), op)
        return self._past().reduction(step, mode, worker, op)

    def steps(self, mode: ModeKeys, incomplete: bool) -> list[int]:
        try:
            past = self._past().steps(mode, incomplete)
        except SMDebugError:
            past = []
        return self._run.with_running(past, mode) if self.name in self._run.values else past

    def prev_steps(self, step: int, n: int, mode: ModeKeys) -> list[int]:
        before = [each for each in self.steps(mode, False) if each <= step]
        return before[-n:]

    def _running(self, step: int, mode: ModeKeys) -> Parts | None:
        """The parts of the array if `step` is the running step, else None. Raises
        TensorUnavailableForStep if it has none."""
        if step != self._run.number(mode):
            return None
        parts = self._run.values.get(self.name)
        if parts is None:
            raise TensorUnavailableForStep(self.name, step, mode)
        return parts
