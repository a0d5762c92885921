"""Tensors that were expanded (a stride of 0): counted once, and never written at any size."""

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Given, read

OPS = "min,max,mean,median,std,variance,sum,prod,l1,l2,abs_min,abs_median,abs_std".split(",")
HUGE = (2**20, 2**20, 3)  # 12 TiB as float32

SMALL = {
    "a row": lambda: torch.tensor([[1.5, -2.0, 0.25]]).expand(5, 3),
    "a column": lambda: torch.tensor([[1.5], [-2.0], [0.25]]).expand(3, 7),
    "one element": lambda: torch.tensor(-1.25).expand(4, 3),
    "in the middle": lambda: torch.arange(-6.0, 6.0).reshape(3, 1, 4).expand(3, 5, 4),
    "twice": lambda: torch.tensor([1.0, -1.5]).reshape(1, 2, 1).expand(3, 2, 2),
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).T.unsqueeze(1).expand(3, 4, 2),
    "with nan and inf": lambda: torch.tensor([1.0, np.nan, np.inf, -np.inf, 0]).expand(3, 5),
    "int8": lambda: torch.tensor([100, -100, 7], dtype=torch.int8).expand(9, 3),
    "complex": lambda: torch.tensor([3 + 4j, 1j]).expand(3, 2),
    "empty": lambda: torch.empty(0, 1).expand(0, 3),
    "more than a message": lambda: torch.arange(700.0).reshape(700, 1).expand(700, 700),
}


def record(out_dir, tensor, **arguments):
    """Records the tensor as an output of a module."""
    model = Given(tensor)
    hook = smd.Hook(out_dir, include_regex=["_output_"], **arguments)
    hook.register_module(model)
    model()
    hook.close()
    assert hook.status().error is None
    return read(out_dir).tensor("Given_output_0"), hook.status()


def elements_of(tensor):
    """The float64 elements, as many as the tensor shows."""
    array = tensor.contiguous().numpy().ravel()
    return np.abs(array) if array.dtype.kind == "c" else array.astype("float64")


def by_numpy(op, elements):
    """The reduction of elements; deviations are those of samples, as torch computes them."""
    x = np.abs(elements) if op.startswith("abs_") else elements
    with np.errstate(all="ignore"):
        return {
            "std": lambda: np.std(x, ddof=1),
            "variance": lambda: np.var(x, ddof=1),
            "l1": lambda: np.abs(x).sum(),
            "l2": lambda: np.sqrt(np.square(x).sum()),
        }.get(op.removeprefix("abs_"), lambda: getattr(np, op.removeprefix("abs_"))(x))()


@pytest.mark.parametrize("saves", ["values", "statistics"])
@pytest.mark.parametrize("kind", SMALL)
def test_an_expanded_tensor_has_the_statistics_of_what_it_shows(out_dir, kind, saves):
    tensor = SMALL[kind]()
    reductions = smd.ReductionConfig(summary=True) if saves == "statistics" else None
    saved, status = record(out_dir, tensor, reduction_config=reductions)
    assert status.skipped == {}
    x = elements_of(tensor)
    finite = x[np.isfinite(x)]
    found = saved.statistics(0)
    assert found["count"] == x.size
    assert found["nan"] == np.isnan(x).sum()
    assert found["zeros"] == (x == 0).sum()
    assert found["positive_inf"] == found["negative_inf"] or "inf" not in kind
    if finite.size:
        assert found["min"] == finite.min() and found["max"] == finite.max()
        np.testing.assert_allclose(found["mean"], finite.mean(), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            found["m2"], np.square(finite - finite.mean()).sum(), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(found["sum_abs"], np.abs(finite).sum(), rtol=1e-12)
        np.testing.assert_allclose(found["sum_squares"], np.square(finite).sum(), rtol=1e-12)
    if saves == "values":
        np.testing.assert_array_equal(saved.value(0), tensor.contiguous().numpy())


@pytest.mark.parametrize("kind", [each for each in SMALL if each not in ("empty",)])
def test_the_reductions_of_an_expanded_tensor_are_those_of_what_it_shows(out_dir, kind):
    tensor = SMALL[kind]()
    config = smd.ReductionConfig(
        reductions=[op for op in OPS if "l" != op[0] and "abs" not in op],
        abs_reductions=["min", "median", "std"],
        norms=["l1", "l2"],
    )
    saved, _ = record(out_dir, tensor, reduction_config=config)
    for op in OPS:
        expected = by_numpy(op, elements_of(tensor))
        found = saved.reduction_value(0, op.removeprefix("abs_"), abs=op.startswith("abs_"))
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=op)


def huge(kind):
    row = np.array([1, -2, 0.5], np.float32)
    return np.broadcast_to(row, HUGE) if kind == "numpy" else torch.from_numpy(row).expand(HUGE)


def check_huge(saved):
    count = HUGE[0] * HUGE[1] * 3
    found = saved.statistics(0)
    assert saved.shape(0) == HUGE
    assert (found["count"], found["min"], found["max"]) == (count, -2, 1)
    np.testing.assert_allclose(found["mean"], -0.5 / 3)
    np.testing.assert_allclose(found["sum_squares"], 5.25 * count / 3)


@pytest.mark.parametrize(
    "reductions",
    [None, {"summary": True}, {"reductions": ["median", "mean"], "abs_reductions": ["min"]}],
    ids=["values", "statistics", "reductions"],
)
def test_a_huge_expanded_output_costs_what_its_elements_cost(out_dir, reductions, capfd):
    config = smd.ReductionConfig(**reductions) if reductions else None
    saved, status = record(out_dir, huge("torch"), reduction_config=config)
    check_huge(saved)
    if reductions is None:
        assert "expanded" in status.skipped["Given_output_0"]
        assert capfd.readouterr().err.count("its values are not") == 1
    elif "reductions" in reductions:
        assert saved.reduction_value(0, "median") == 0.5
        assert saved.reduction_value(0, "min", abs=True) == 0.5


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("moment", ["before the first step", "in a step"])
def test_a_huge_expanded_value_is_saved_with_its_statistics(out_dir, kind, moment):
    model = Given()
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    if moment == "in a step":
        model()
    hook.save_tensor("t", huge(kind))
    if moment != "in a step":
        model()
    hook.close()
    assert hook.status().error is None and list(hook.status().skipped) == ["t"]
    check_huge(read(out_dir).tensor("t"))


def test_a_histogram_counts_an_expanded_tensor_as_often_as_it_is_shown(out_dir, tmp_path):
    tensorboard = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model = Given(torch.tensor([1.0, -1.0, 1.0]).expand(2**16, 3), huge("torch"))
    hook = smd.Hook(out_dir, include_regex=["_output_"], tensorboard_dir=str(tmp_path / "board"))
    hook.get_collection("default").save_histogram = True
    hook.register_module(model)
    model()
    hook.close()
    assert hook.status().error is None and hook.status().tensorboard_error is None
    folder = next((tmp_path / "board").rglob("*tfevents*")).parent
    events = tensorboard.EventAccumulator(str(folder), {"histograms": 0})
    events.Reload()
    for tag in events.Tags()["histograms"]:
        (event,) = events.Histograms(tag)
        total = 2**40 * 3 if tag.endswith("1") else 2**16 * 3
        assert sum(event.histogram_value.bucket) == event.histogram_value.num == total
