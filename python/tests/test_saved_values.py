"""Every kind of value that a script may save by name: it is saved as numpy has it, or skipped and
logged once, and never raises into the training."""

import datetime
import decimal
import fractions
import warnings

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse
import torch

import smdebug.pytorch as smd
from conftest import read
from smdebug.exceptions import SMDebugTypeError

SECOND = [[1.5, -2.0], [0.0, 4.0]]


@pytest.fixture
def hook(out_dir):
    """A hook in the middle of a step."""
    model = torch.nn.Linear(2, 1)
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    model(torch.ones(1, 2))
    yield hook
    hook.close()


def quietly(make):
    """Calls `make` without the warnings of torch's prototypes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(2, 2)


def lazy():
    return quietly(lambda: torch.nn.LazyLinear(3).weight)


class Subclass(torch.Tensor):
    """A tensor class of the user."""


class Weird:
    """An array for numpy, of a library that smdebug does not know."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(SECOND, dtype)


class Broken:
    """An array whose library fails."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("the library failed")


def numpys(dtype):
    return np.asarray(SECOND).astype(dtype)


# Name -> (value, the array that it is saved as).
PYTHON = {
    "bool": (True, [True]),
    "int": (-3, [-3]),
    "int above 64 bits": (2**70, [float(2**70)]),
    "float": (0.25, [0.25]),
    "nan": (float("nan"), [np.nan]),
    "complex": (1 + 2j, [1 + 2j]),
    "Decimal": (decimal.Decimal("1.25"), [1.25]),
    "Fraction": (fractions.Fraction(1, 4), [0.25]),
    "list": (SECOND, SECOND),
    "tuple of ints": ((1, 2), [1, 2]),
    "empty list": ([], []),
    "list of Decimals": ([decimal.Decimal(2), 3], [2.0, 3.0]),
    "list of ints above 64 bits": ([2**70, 1], [2.0**70, 1.0]),
    "objects that are numbers": (np.array([1, 2.5], object), [1.0, 2.5]),
    "list of arrays": ([np.ones(2), np.zeros(2)], [[1, 1], [0, 0]]),
    "scipy": (scipy.sparse.csr_matrix(SECOND), SECOND),
    "of another library": (Weird(), SECOND),
    "range of ints": (list(range(3)), [0, 1, 2]),
}
NUMPY = {
    **{name: (numpys(name), numpys(name)) for name in ("f2", "f4", "f8", "i1", "u8", "c8", "?")},
    "bfloat16": (numpys(ml_dtypes.bfloat16), SECOND),
    "big-endian": (numpys(">f8"), SECOND),
    "scalar": (np.float32(2.5), np.float32(2.5)),
    "0-d": (np.array(7), np.array(7)),
    "empty": (np.zeros((0, 3)), np.zeros((0, 3))),
    "transposed": (numpys("f4").T, np.transpose(SECOND)),
    "negative strides": (numpys("f4")[::-1, ::-1], np.asarray(SECOND)[::-1, ::-1]),
    "broadcast": (np.broadcast_to(np.float32(3), (2, 2)), np.full((2, 2), 3)),
    "field": (np.ones(3, [("a", "f4"), ("b", "u1")])["a"], np.ones(3)),
    "masked": (np.ma.masked_array([1.0, 2.0], [False, True]), [1.0, 2.0]),
    "matrix": (np.matrix(SECOND), SECOND),
}
NUMPY["f4"][0].flags.writeable = False
TORCH = {
    "with gradient": (lambda: torch.tensor(SECOND, requires_grad=True), SECOND),
    "computed": (lambda: torch.tensor(SECOND, requires_grad=True) * 2, np.multiply(SECOND, 2)),
    "Parameter": (lambda: torch.nn.Parameter(torch.tensor(SECOND)), SECOND),
    "Buffer": (lambda: torch.nn.Buffer(torch.tensor(SECOND)), SECOND),
    "subclass": (lambda: torch.tensor(SECOND).as_subclass(Subclass), SECOND),
    "bfloat16": (lambda: torch.tensor(SECOND).to(torch.bfloat16), SECOND),
    "float8": (lambda: torch.tensor(SECOND).to(torch.float8_e5m2), SECOND),
    "bool": (lambda: torch.tensor([True, False]), [True, False]),
    "conj": (lambda: torch.tensor([1 + 2j]).conj(), [1 - 2j]),
    "neg": (lambda: torch.tensor([1 + 2j]).conj().imag, [-2]),
    "expanded": (lambda: torch.tensor([1.0, 2.0]).expand(3, 2), [[1, 2]] * 3),
    "COO": (lambda: torch.tensor(SECOND).to_sparse(), SECOND),
    "CSR": (lambda: quietly(torch.tensor(SECOND).to_sparse_csr), SECOND),
    "0-d": (lambda: torch.tensor(3.5), np.array(3.5)),
    "empty": (lambda: torch.empty(0, 2), np.empty((0, 2))),
    "list of tensors": (
        lambda: [torch.ones(2, requires_grad=True), torch.zeros(2)],
        [[1, 1], [0, 0]],
    ),
    "nested list": (lambda: [[torch.tensor(1.0), 2.0], [3.0, 4.0]], [[1, 2], [3, 4]]),
    "list of bfloat16": (lambda: [torch.ones(1, dtype=torch.bfloat16)], [[1]]),
}
# Name -> (value, what the log says).
SKIPPED = {
    "number that is too large": (lambda: 10**400, "do not fit into float64"),
    "list with one": (lambda: [1, 10**400], "do not fit into float64"),
    "dates": (lambda: np.array(["2020-01-01"], "M8[D]"), "are times"),
    "date objects": (lambda: [datetime.date(2020, 1, 1)], "of type 'date'"),
    "structured": (lambda: np.zeros(2, "f4,i4"), "structured array"),
    "objects": (lambda: np.array([None, 1], object), "objects"),
    "array that fails": (lambda: Broken(), "the library failed"),
    "tensors of different shapes": (lambda: [torch.ones(1), torch.ones(2)], "cannot be stacked"),
    "arrays of different shapes": (lambda: [np.ones(1), np.ones(2)], "one array"),
    "huge scipy": (lambda: scipy.sparse.csr_matrix((2**30, 2**20)), "as a dense tensor"),
    "huge sparse": (
        lambda: torch.sparse_coo_tensor(torch.zeros(2, 1), [1.0], (2**30, 2**20)),
        "as a dense tensor",
    ),
    "meta": (lambda: torch.empty(2, device="meta"), ""),
    "fake": (fake, "FakeTensor"),
    "lazy": (lazy, "first call of its module"),
    "nested": (
        lambda: quietly(lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])),
        "",
    ),
    "quantized": (
        lambda: quietly(lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)),
        "",
    ),
}


def saved(hook, value):
    hook.save_tensor("t", value)
    hook.close()
    assert hook.status().error is None and hook.status().skipped == {}
    return read(hook.out_dir).tensor("t").value(0)


@pytest.mark.parametrize("kind", [*PYTHON, *(f"numpy {name}" for name in NUMPY)])
def test_a_value_of_python_or_numpy_is_saved_as_numpy_has_it(hook, kind):
    table, name = (NUMPY, kind[6:]) if kind.startswith("numpy ") else (PYTHON, kind)
    value, expected = table[name]
    found = saved(hook, value)
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found.astype(np.asarray(expected).dtype), expected)


@pytest.mark.parametrize("kind", TORCH)
def test_a_value_of_torch_is_saved_with_its_elements(hook, kind):
    make, expected = TORCH[kind]
    found = saved(hook, make())
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found.astype(np.asarray(expected).dtype), expected)


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_value_that_cannot_be_saved_is_logged_once_and_raises_nothing(hook, kind, capfd):
    make, reason = SKIPPED[kind]
    values = [quietly(make) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in values:
            hook.save_tensor("odd", value)
    hook.save_tensor("sound", 1.0)
    assert reason in hook.status().skipped["odd"]
    assert hook.status().error is None
    hook.close()
    assert capfd.readouterr().err.count("'odd' is not saved") == 1
    assert "sound" in read(hook.out_dir).tensor_names()
    assert "odd" not in read(hook.out_dir).tensor_names()


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_a_value_inside_a_function_transform_raises_nothing(hook, transform):
    def function(x):
        hook.save_tensor("t", x)
        hook.save_scalar("s", x.sum())
        return x.sum()

    x = torch.arange(6.0).reshape(2, 3)
    assert getattr(torch.func, transform)(function)(x).shape in ((2,), (2, 3))
    assert hook.status().error is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (True, 1.0),
        (2**70, 2.0**70),
        (decimal.Decimal("0.5"), 0.5),
        (np.float16(0.5), 0.5),
        (np.array([[7]]), 7),
        (np.uint64(2**63), 2.0**63),
        (ml_dtypes.bfloat16(1.5), 1.5),
        ([2.5], 2.5),
        (torch.tensor(1.5, requires_grad=True), 1.5),
        (torch.nn.Parameter(torch.tensor([1.5])), 1.5),
        (torch.tensor([1.5]).to_sparse(), 1.5),
        ([torch.tensor(1.5, requires_grad=True)], 1.5),
        (torch.tensor(1.5, dtype=torch.bfloat16), 1.5),
        (torch.tensor([True]), 1.0),
    ],
    ids=repr,
)
def test_a_scalar_is_any_number_or_array_of_one(hook, value, expected):
    hook.save_scalar("s", value)
    hook.close()
    assert hook.status().skipped == {}
    assert read(hook.out_dir).tensor("scalar/s").value(0).tolist() == [expected]


@pytest.mark.parametrize(
    "make",
    [
        lambda: 10**400,
        lambda: -(10**400),
        lambda: 1 + 2j,
        lambda: decimal.Decimal("sNaN"),
        lambda: np.datetime64("2020-01-01"),
        lambda: np.complex64(1),
        lambda: np.array([None]),
        lambda: torch.empty(1, device="meta"),
        lambda: fake()[0, 0],
        lazy,
        lambda: torch.tensor(1j),
    ],
)
def test_a_scalar_that_no_float_can_hold_is_logged_once(hook, make, capfd):
    for _ in range(2):
        hook.save_scalar("odd", make())
    hook.save_scalar("late", 1, timestamp=10**400)
    assert set(hook.status().skipped) == {"scalar/odd", "scalar/late"}
    assert hook.status().error is None
    assert capfd.readouterr().err.count("'scalar/odd' is not saved") == 1


@pytest.mark.parametrize("value", [None, object(), {"a": 1}, "text", [1, 2], torch.ones(2)])
def test_an_argument_that_is_no_number_is_still_refused(hook, value):
    with pytest.raises(SMDebugTypeError, match="must be one number"):
        hook.save_scalar("s", value)


def test_names_with_half_of_a_surrogate_pair_are_saved_as_text(out_dir):
    half = "x\udc80"
    model = torch.nn.Sequential()
    model.add_module(half, torch.nn.Linear(2, 1))
    model.register_buffer(half + "b", torch.ones(1))
    optimizer = torch.optim.Adam(model.parameters())
    with smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model, half)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        hook.save_tensor(half, 1.0, [half])
        hook.save_scalar(half, 2.0)
        hook.record_tensor_value(half, torch.ones(1))
    assert hook.status().error is None and hook.status().skipped == {}
    written = "x\\udc80"
    names = set(read(out_dir).tensor_names())
    assert {written, f"scalar/{written}", f"{written}_output_0"} <= names
    assert {f"{written}_{written}.weight", f"gradient/{written}_{written}.weight"} <= names


@pytest.mark.parametrize("name", [3, None, b"bytes"])
def test_a_name_that_is_no_text_is_refused_by_every_call(hook, name):
    for save in (hook.save_tensor, hook.save_scalar, hook.record_tensor_value):
        with pytest.raises(SMDebugTypeError, match="must be text"):
            save(name, torch.ones(1))
