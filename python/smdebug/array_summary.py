"""Measures numpy arrays: the data of a training, and what its losses are given. See `DataFacts` and
`LossInputFacts` in include/smdebug/core/run_facts.h."""

from __future__ import annotations

import numpy as np

from smdebug.data_summary import MOST_ELEMENTS, MOST_FEATURES, DataSummary

# Labels that are stored as floating-point numbers are below this.
_MOST_CLASSES = 1 << 20
# Probabilities sum to 1 up to this number, in half precision.
ROUNDING = 0.1


class ArraySummary(DataSummary):
    """Adds up arrays of several steps."""

    def add(self, data: np.ndarray, shape: list[int], step: int) -> None:
        """Adds the numbers of a step, of which `data` are the first samples. `shape` is that of
        all."""
        self.begin_step(data.dtype.name, shape)
        if data.ndim > 1 and data.size and np.issubdtype(data.dtype, np.integer):
            self.add_range(int(data.min()), int(data.max()))
        if not np.issubdtype(data.dtype, np.floating) or not data.size:
            return
        features = data.shape[1] if data.ndim == 2 and data.shape[1] <= MOST_FEATURES else 1
        rows = data.reshape(-1, features).astype(np.float64)
        if np.isfinite(rows).all():
            extremes = float(rows.min()), float(rows.max())
            self.add_numbers(len(rows), rows.mean(axis=0), rows.var(axis=0), extremes)
        else:
            self.set_not_finite(step)

    def add_classes(
        self, labels: np.ndarray, dtype: str, shape: list[int], ignored: int | None = None
    ) -> None:
        """Adds the class labels of a step, of data of that form. Those that equal `ignored` do not
        count."""
        self.begin_step(dtype, shape)
        classes, counts = np.unique(labels, return_counts=True)
        self.add_labels(dict(zip(classes.tolist(), counts.tolist(), strict=True)), ignored)


def labels_in(targets: np.ndarray) -> np.ndarray | None:
    """The class labels, one per sample, that the targets are: whole numbers of any dtype. None for
    anything else."""
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1 or not targets.size:
        return None
    if np.issubdtype(targets.dtype, np.integer):
        return targets
    if not np.issubdtype(targets.dtype, np.floating):
        return None
    labels = targets.astype(np.float64)
    is_whole = np.isfinite(labels).all() and (labels == np.round(labels)).all()
    return labels.astype(np.int64) if is_whole and np.abs(labels).max() < _MOST_CLASSES else None


def labels_of_one_hot(targets: np.ndarray) -> np.ndarray | None:
    """The class labels of rows that have a single 1 among zeros; None for anything else."""
    if targets.ndim != 2 or targets.shape[1] < 2 or not targets.size:
        return None
    is_one_hot = ((targets == 0) | (targets == 1)).all() and (targets.sum(axis=1) == 1).all()
    return targets.argmax(axis=1) if is_one_hot else None


def rows_of(data: np.ndarray) -> np.ndarray:
    """Some of the rows along the last dimension: (row, element)."""
    width = data.shape[-1] if data.ndim else 1
    rows = data.reshape(-1, max(1, width))
    return rows[: max(2, MOST_ELEMENTS // max(1, width))].astype(np.float64)


def samples_of(data: np.ndarray) -> np.ndarray:
    """Some of the samples along the first dimension: (sample, element)."""
    samples = data.reshape(len(data) if data.ndim else 1, -1)
    width = max(1, samples.shape[1])
    return samples[: max(2, MOST_ELEMENTS // width), :MOST_ELEMENTS].astype(np.float64)


def are_distributions(rows: np.ndarray) -> bool:
    """Whether each row is a probability distribution."""
    if not rows.size or not np.isfinite(rows).all():
        return False
    is_sum_one = np.abs(rows.sum(axis=1) - 1).max() <= 1e-2
    return bool(is_sum_one and rows.min() >= 0 and rows.max() <= 1.0001)


def are_between(rows: np.ndarray, low: float, high: float) -> bool:
    """Whether all elements are finite and in the range."""
    return bool(rows.size and np.isfinite(rows).all() and rows.min() >= low and rows.max() <= high)


def share_fractional(labels: np.ndarray) -> float:
    """The share of elements that are finite and no whole numbers."""
    if not np.issubdtype(labels.dtype, np.floating) or not labels.size:
        return 0.0
    numbers = labels.astype(np.float64)
    return float((np.isfinite(numbers) & (numbers != np.round(numbers))).mean())


def share_outside(targets: np.ndarray, bounds: tuple[float, float]) -> float:
    """The share of elements that are clearly outside of `bounds`."""
    low, high = bounds
    outside = (targets < low - 1e-6) | (targets > high + 1e-6)
    return float(outside.mean()) if targets.size else 0.0


def share_off_one(targets: np.ndarray) -> float | None:
    """The share of rows along the last dimension that do not sum to 1; None for rows of one
    element. Rows of zeros may be padding where a sample has several rows: these count as right."""
    rows = rows_of(targets)
    if targets.ndim < 2 or rows.shape[1] < 2 or not rows.size:
        return None
    is_off = np.abs(rows.sum(axis=1) - 1) > ROUNDING
    if targets.ndim > 2:
        is_off &= rows.any(axis=1)
    return float(is_off.mean())


def are_equal(rows: np.ndarray, targets: np.ndarray) -> bool:
    """Whether samples with different targets have the same output. A layer that starts at zero
    gives equal outputs until its first update: equal numbers within a row do not count."""
    if len(rows) < 2 or len(rows) != len(targets) or not rows.size:
        return False
    largest = np.abs(rows).max()
    has_pattern = largest > 0 if rows.shape[1] == 1 else rows[0].max() > rows[0].min()
    is_spread = np.abs(rows - rows[0]).max() > 1e-6 * largest
    return bool(has_pattern and not is_spread and (targets != targets[0]).any())
