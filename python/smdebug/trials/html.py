"""Trials and tensors in a notebook: a few lines of HTML without scripts, names escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugError

if TYPE_CHECKING:
    from smdebug.trials.tensor import Tensor
    from smdebug.trials.trial import Trial

_TENSORS_SHOWN = 20
_STEPS_SHOWN = 5
_CELL = 'style="text-align:left"'


def trial_html(trial: Trial) -> str:
    """A table of facts about a trial and a table of its first tensors."""
    names = trial.tensor_names()
    facts: list[tuple[object, object]] = [
        ("run", trial.path),
        ("state", "ended" if trial.loaded_all_steps else "running, or cut off"),
        ("steps", _steps_text(trial.steps())),
        *((mode.name, _steps_text(trial.steps(mode=mode))) for mode in trial.modes()),
        ("workers", ", ".join(trial.workers())),
        ("tensors", len(names)),
    ]
    if trial.attempt > 1:
        facts.append(("attempt", f"{trial.attempt}: see attempts()"))
    if damage := trial.damage():
        facts.append(("left out", f"{len(damage)} damaged parts: see damage()"))
    shown = names[:_TENSORS_SHOWN]
    rows = [(name, _steps_text(trial.tensor(name).steps())) for name in shown]
    more = len(names) - len(rows)
    note = f"<p>and {more} more: see tensor_names()</p>" if more else ""
    return _facts(facts) + _table(("tensor", "steps"), rows) + note


def tensor_html(tensor: Tensor) -> str:
    """A table of facts about a tensor and a table of its last steps."""
    steps = tensor.steps()
    facts: list[tuple[object, object]] = [("tensor", tensor.name)]
    if tensor.original_name not in (None, tensor.name):
        facts.append(("original name", tensor.original_name))
    facts.append(("steps", _steps_text(steps)))
    rows = [_row_of_step(tensor, step) for step in steps[-_STEPS_SHOWN:]]
    header = ("step", "worker", "shape", "min", "mean", "max", "NaN")
    return _facts(facts) + _table(header, rows)


def _row_of_step(tensor: Tensor, step: int) -> list[object]:
    worker = tensor.workers(step)[0]
    try:
        shape = tensor.shape(step, ModeKeys.GLOBAL, worker)
    except SMDebugError:
        shape = ""
    return [step, worker, shape, *_numbers(tensor, step, worker)]


def _numbers(tensor: Tensor, step: int, worker: str) -> list[object]:
    """min, mean, max and the count of NaN; empty texts if they are unknown."""
    try:
        summary = tensor.summary(step, ModeKeys.GLOBAL, worker)
        return [f"{x:.6g}" for x in (summary.min, summary.mean, summary.max)] + [summary.nan]
    except SMDebugError:  # text, damage, or only reductions or a shape
        pass
    try:
        saved = tensor.reduction_values(step, ModeKeys.GLOBAL, worker)
    except SMDebugError:
        saved = {}
    found = [saved.get((name, False)) for name in ("min", "mean", "max")]
    return ["" if x is None else f"{x.item():.6g}" for x in found] + [""]


def _steps_text(steps: Sequence[int]) -> str:
    if not steps:
        return "none"
    if len(steps) == 1:
        return f"{steps[0]}"
    return f"{len(steps)}, from {steps[0]} to {steps[-1]}"


def _facts(rows: Iterable[tuple[object, object]]) -> str:
    cells = (f"<tr><th {_CELL}>{_text(a)}</th><td {_CELL}>{_text(b)}</td></tr>" for a, b in rows)
    return f"<table>{''.join(cells)}</table>"


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th {_CELL}>{_text(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td {_CELL}>{_text(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _text(value: object) -> str:
    return escape(str(value))
