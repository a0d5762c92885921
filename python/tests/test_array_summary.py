"""Measures of numpy arrays, against torch's own and against counts by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from smdebug.array_summary import (  # noqa: E402
    ArraySummary,
    are_distributions,
    are_equal,
    labels_in,
    labels_of_one_hot,
    rows_of,
    share_off_one,
    share_outside,
)
from smdebug.pytorch.data_summary import TensorSummary  # noqa: E402


@pytest.mark.parametrize("shape", [(30, 5), (30,), (30, 4, 6), (30, 1)])
def test_arrays_and_tensors_of_the_same_numbers_have_the_same_facts(shape):
    arrays, tensors = ArraySummary(), TensorSummary()
    for step in range(3):
        data = np.random.default_rng(step).normal(50, 3, shape).astype("float32")
        arrays.add(data, list(shape), step)
        tensors.add(torch.tensor(data), step)
    ours, theirs = arrays.facts("x", "Dense"), tensors.facts("x", "Dense")
    assert (ours.steps, ours.shape, ours.dtype) == (theirs.steps, theirs.shape, theirs.dtype)
    names = ["mean", "deviation"]
    if shape == (30, 5):
        names += ["median_feature_deviation", "largest_feature_deviation"]
    for name in names:
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-4)
    assert (ours.median_feature_deviation is None) == (shape != (30, 5))


def test_of_indices_in_arrays_and_tensors_the_range_is_known():
    arrays, tensors = ArraySummary(), TensorSummary()
    for step, rows in enumerate(([[4, 9]], [[2, 5], [6, 6]])):
        arrays.add(np.array(rows), [len(rows), 2], step)
        tensors.add(torch.tensor(rows), step)
    for facts in (arrays.facts(), tensors.facts()):
        assert (facts.low, facts.high, facts.mean) == (2, 9, None)


def test_nan_and_infinity_are_dated_by_the_first_step():
    summary = ArraySummary()
    for step, last in enumerate([1.0, np.inf, np.nan]):
        summary.add(np.array([[0.0, last]]), [1, 2], step)
    assert summary.facts().not_finite == 1


def test_whole_numbers_are_labels_of_any_dtype():
    for dtype in ("int8", "int64", "uint8", "float32"):
        assert labels_in(np.array([[0], [2], [1]], dtype)).tolist() == [0, 2, 1]
    assert labels_in(np.array([0.0, 0.5])) is None
    assert labels_in(np.array([0.0, np.nan])) is None
    assert labels_in(np.zeros((4, 2), int)) is None
    assert labels_in(np.array(["a", "b"])) is None


def test_rows_with_a_single_one_are_labels():
    assert labels_of_one_hot(np.eye(3)[[2, 0]]).tolist() == [2, 0]
    assert labels_of_one_hot(np.array([[1, 1], [0, 1]])) is None
    assert labels_of_one_hot(np.array([[0.9, 0.1]])) is None
    assert labels_of_one_hot(np.array([[1.0]])) is None


def test_distributions_are_rows_that_add_up_to_one():
    assert are_distributions(np.array([[0.2, 0.8], [1.0, 0.0]]))
    assert not are_distributions(np.array([[0.2, 0.8], [1.0, 0.5]]))
    assert not are_distributions(np.array([[1.5, -0.5]]))
    assert not are_distributions(np.array([[np.nan, 1.0]]))
    assert not are_distributions(np.zeros((0, 2)))


def test_equal_outputs_count_only_if_targets_differ_and_the_output_has_a_pattern():
    targets = np.array([[0.0], [1.0]])
    assert are_equal(np.array([[3.0], [3.0]]), targets)
    assert not are_equal(np.array([[3.0], [3.1]]), targets)
    assert not are_equal(np.array([[3.0], [3.0]]), targets * 0)
    assert not are_equal(np.array([[0.0], [0.0]]), targets)
    assert not are_equal(np.array([[0.5, 0.5], [0.5, 0.5]]), targets)
    assert are_equal(np.array([[0.4, 0.6], [0.4, 0.6]]), targets)


def test_the_share_outside_of_bounds_is_counted():
    assert share_outside(np.array([[-1.0], [0.0], [0.5], [2.0]]), (0.0, 1.0)) == 0.5
    assert share_outside(np.zeros((0, 1)), (0.0, 1.0)) == 0


def test_rows_of_large_arrays_are_the_first_ones():
    data = np.arange(3 << 18, dtype="float32").reshape(-1, 2)
    rows = rows_of(data)
    assert rows.shape == (1 << 17, 2)
    assert (rows == data[: 1 << 17]).all()


def test_the_share_of_rows_that_do_not_sum_to_one_is_counted():
    rows = np.float32([[1, 0, 0], [0, 0, 0], [0.05, 0.05, 0.85], [1, 1, 0]])
    assert share_off_one(rows) == 0.5
    assert share_off_one(rows[:1]) == 0
    assert share_off_one(rows.reshape(2, 2, 3)) == 0.25  # zeros may be padding
    assert share_off_one(rows[:, :1]) is None and share_off_one(rows[0]) is None
