"""A run as tables: the columns and rows of a DataFrame, and a stream of Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError, TensorUnavailableForStep
from smdebug.log import get_logger

if TYPE_CHECKING:
    import types

    import pandas

    from smdebug.trials.summary import TensorSummary
    from smdebug.trials.tensor import Tensor
    from smdebug.trials.trial import Trial

_logger = get_logger()


class StatisticsTable:
    """The statistics of a run, for every library that takes tables through the Arrow PyCapsule
    interface, without a copy; `Trial.to_arrow` makes it and documents its columns. It has the steps
    that are complete whenever it is read:

        polars.DataFrame(statistics)
        pyarrow.table(statistics)
        duckdb.sql("select tensor, max(l2) from statistics group by tensor")
    """

    def __init__(self, trial: Trial, names: list[str], mode: ModeKeys) -> None:
        self._trial = trial
        self._names = names
        self._mode = mode

    def __arrow_c_stream__(self, requested_schema: object = None) -> types.CapsuleType:
        """A capsule with an ArrowArrayStream of one batch; `requested_schema` is ignored."""
        capsule, unreadable = self._trial._core.statistics_stream(self._mode, self._names)
        if unreadable:
            _logger.warning("to_arrow skips damaged values, first: %s", unreadable)
        return capsule

    def __repr__(self) -> str:
        return f"<StatisticsTable of {self._trial!r}: {len(self._names)} tensors>"


_Row = tuple[Any, ...]

KINDS = ("names", "statistics", "scalars")

_NAMES = ("name", "mode", "steps", "first_step", "last_step")
_PLACE = ("name", "step", "mode", "mode_step", "worker")
_STATISTICS = (
    *("dtype", "shape", "count", "nan", "positive_inf", "negative_inf", "zeros"),
    *("min", "max", "mean", "std", "l1", "l2"),
)
# Those of the columns above that TensorSummary holds.
_SUMMARY = _STATISTICS[2:]


def data_frame(trial: Trial, kind: str, names: list[str], mode: ModeKeys) -> pandas.DataFrame:
    """A DataFrame of the tensors `names` of a trial; `Trial.to_pandas` documents it."""
    rows_of, columns = _TABLES.get(kind, (None, None))
    if rows_of is None:
        raise SMDebugValueError(f"no table '{kind}'; there are {', '.join(KINDS)}")
    try:
        import pandas
    except ImportError as error:
        raise SMDebugRuntimeError(
            "to_pandas needs the package pandas, which cannot be imported: pip install pandas"
        ) from error
    rows = [row for name in names for row in rows_of(trial, trial.tensor(name), mode)]
    return pandas.DataFrame.from_records(rows, columns=columns)


def _rows_of_names(trial: Trial, tensor: Tensor, wanted: ModeKeys) -> Iterator[_Row]:
    steps_of: dict[ModeKeys, list[int]] = {}
    for step in tensor.steps():
        mode, mode_step = trial.mode_modestep(step)
        if wanted in (ModeKeys.GLOBAL, mode):
            steps_of.setdefault(mode, []).append(mode_step)
    for mode, steps in steps_of.items():
        yield tensor.name, mode.name, len(steps), min(steps), max(steps)


def _rows_of_statistics(trial: Trial, tensor: Tensor, mode: ModeKeys) -> Iterator[_Row]:
    for place, at, summary in _summaries(trial, tensor, mode):
        numbers = (getattr(summary, column) for column in _SUMMARY)
        yield *place, str(tensor.dtype(**at)), tensor.shape(**at), *numbers


def _rows_of_scalars(trial: Trial, tensor: Tensor, mode: ModeKeys) -> Iterator[_Row]:
    for place, at, summary in _summaries(trial, tensor, mode):
        if summary.count == 1:
            yield *place, float(tensor.reduction_value(reduction_name="sum", **at))


def _summaries(
    trial: Trial, tensor: Tensor, wanted: ModeKeys
) -> Iterator[tuple[_Row, dict[str, Any], TensorSummary]]:
    """For each step and worker with numbers: the first columns of a row, the arguments for further
    queries, and the summary."""
    for step in tensor.steps():
        mode, mode_step = trial.mode_modestep(step)
        if wanted not in (ModeKeys.GLOBAL, mode):
            continue
        for worker in tensor.workers(step):
            at = {"step_num": step, "worker": worker}
            if summary := _summary_or_none(tensor, at):
                yield (tensor.name, step, mode.name, mode_step, worker), at, summary


def _summary_or_none(tensor: Tensor, at: dict[str, Any]) -> TensorSummary | None:
    try:
        return tensor.summary(**at)
    except TensorUnavailableForStep:  # only reductions or a shape were saved, or text
        return None
    except SMDebugRuntimeError as damage:
        _logger.warning("to_pandas skips a damaged value: %s", damage)
        return None


_TABLES = {
    "names": (_rows_of_names, _NAMES),
    "statistics": (_rows_of_statistics, (*_PLACE, *_STATISTICS)),
    "scalars": (_rows_of_scalars, (*_PLACE, "value")),
}
