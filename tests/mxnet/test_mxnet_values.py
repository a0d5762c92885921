"""Every kind of value that a script may save with MXNet: it is saved with its elements, or skipped
and logged once, and never raises into the training."""

import numpy as np
import pytest
from listed_tensors import check_collections_list_what_was_saved
from mxnet import gluon

from conftest import EVERY_STEP, mx, smd
from smdebug.exceptions import SMDebugTypeError

ROWS = [[1.0, 2.0], [0.0, 0.0]]
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]


@pytest.fixture
def hook(out_dir):
    """A hook in the middle of a step."""
    net = gluon.nn.Dense(2)
    net.initialize()
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    hook.register_block(net)
    net(mx.nd.ones((1, 3)))
    yield hook
    hook.close()


def initialized(parameter):
    parameter.initialize(mx.init.One())
    return parameter


def sparse(kind):
    return mx.nd.array(ROWS).tostype(kind)


def csr_outside():
    """An array whose index is outside of its shape."""
    arrays = (mx.nd.ones(1), mx.nd.array([9], dtype="int64"), mx.nd.array([0, 1, 1], dtype="int64"))
    return mx.nd.sparse.csr_matrix(arrays, shape=(2, 2))


def row_sparse_outside():
    return mx.nd.sparse.row_sparse_array((mx.nd.ones((1, 2)), [9]), shape=(2, 2))


def empty():
    with mx.util.np_shape(True):
        return mx.np.zeros((0, 2))


def computed_in_record():
    array = mx.nd.ones(2)
    array.attach_grad()
    with mx.autograd.record():
        return array * 2


def on_two_devices():
    parameter = gluon.Parameter("p", shape=(2,))
    parameter.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    return parameter


def of_one_element(*devices):
    parameter = gluon.Parameter("p", shape=(1,))
    parameter.initialize(mx.init.Constant(1.5), ctx=list(devices))
    return parameter


def constant(value):
    parameter = gluon.Constant("c", value)
    parameter.initialize()
    return parameter


def deferred():
    dense = gluon.nn.Dense(2)
    dense.initialize()
    return dense.weight


def containing_itself():
    values = [mx.nd.ones(1)]
    values.append(values)
    return values


# Name -> (value, the array that it is saved as).
SAVED = {
    **{f"nd {each}": (lambda each=each: mx.nd.array(ROWS, dtype=each), ROWS) for each in DTYPES},
    **{f"np {each}": (lambda each=each: mx.np.array(ROWS, dtype=each), ROWS) for each in DTYPES},
    "np bool": (lambda: mx.np.array([1.0, 2.0]) > 1, [False, True]),
    "nd bool": (lambda: mx.nd.array(ROWS).astype("bool"), np.array(ROWS) > 0),
    "nd bfloat16": (lambda: mx.nd.array(ROWS).astype(BFLOAT16), ROWS),
    "np 0-d": (lambda: mx.np.array(1.5), np.array(1.5)),
    "np empty": (empty, np.zeros((0, 2))),
    "np transposed": (lambda: mx.np.array(ROWS).T, np.transpose(ROWS)),
    "nd broadcast": (lambda: mx.nd.ones((1, 2)).broadcast_to((3, 2)), np.ones((3, 2))),
    "nd of another device": (lambda: mx.nd.array(ROWS, ctx=mx.cpu(1)), ROWS),
    "nd of a graph": (computed_in_record, [2, 2]),
    "row_sparse without rows": (lambda: mx.nd.sparse.zeros("row_sparse", (2, 2)), np.zeros((2, 2))),
    "row_sparse float64": (lambda: sparse("row_sparse").astype("float64"), ROWS),
    "csr without values": (lambda: mx.nd.sparse.zeros("csr", (2, 2)), np.zeros((2, 2))),
    "csr slice": (lambda: sparse("csr")[0:1], ROWS[:1]),
    "list of csr": (lambda: [sparse("csr"), sparse("csr")], [ROWS, ROWS]),
    "view": (lambda: mx.nd.array(ROWS)[0], ROWS[0]),
    "transposed": (lambda: mx.nd.array(ROWS).T, np.transpose(ROWS)),
    "computed": (lambda: mx.nd.array(ROWS) * 2, np.multiply(ROWS, 2)),
    "row_sparse": (lambda: mx.nd.array(ROWS).tostype("row_sparse"), ROWS),
    "csr": (lambda: mx.nd.array(ROWS).tostype("csr"), ROWS),
    "Parameter": (lambda: initialized(gluon.Parameter("p", shape=(2,))), [1, 1]),
    "Parameter on two devices": (on_two_devices, [1, 1]),
    "Parameter without gradient": (
        lambda: initialized(gluon.Parameter("p", shape=(2,), grad_req="null")),
        [1, 1],
    ),
    "Constant": (lambda: initialized(gluon.Constant("c", mx.nd.ones(2))), [1, 1]),
    "list of parameters": (lambda: [on_two_devices(), on_two_devices()], [[1, 1], [1, 1]]),
    "list of arrays and numbers": (
        lambda: [mx.nd.ones(2), np.zeros(2), [1, 2]],
        [[1, 1], [0, 0], [1, 2]],
    ),
    "list": (lambda: [mx.nd.ones(2), mx.nd.zeros(2)], [[1, 1], [0, 0]]),
    "numpy": (lambda: np.asarray(ROWS), ROWS),
    "number": (lambda: 2.5, [2.5]),
}
SKIPPED = {
    "parameter of unknown shape": lambda: gluon.nn.Dense(2).weight,
    "parameter that is not initialized": lambda: gluon.Parameter("p", shape=(2,)),
    "sparse parameter": lambda: initialized(gluon.Parameter("p", shape=(2, 2), stype="row_sparse")),
    "deferred parameter": deferred,
    "list with one": lambda: [deferred()],
    "Constant that is not initialized": lambda: gluon.Constant("c", mx.nd.ones(2)),
    "variable of a parameter": lambda: gluon.Parameter("p", shape=(2,)).var(),
    "symbol of mx.np": lambda: mx.sym.Variable("x").as_np_ndarray(),
    "group of symbols": lambda: mx.sym.Group([mx.sym.Variable("x"), mx.sym.Variable("y")]),
    "list of symbols": lambda: [mx.sym.Variable("x")],
    "csr outside": csr_outside,
    "row_sparse outside": row_sparse_outside,
    "list of csr outside": lambda: [csr_outside()],
    "list that contains itself": containing_itself,
    "list of arrays and None": lambda: [mx.nd.ones(1), None],
    "objects": lambda: np.array([mx.nd.ones(1), None], object),
    "date": lambda: np.datetime64("2020-01-01"),
    "structured": lambda: np.zeros(2, "f4,i4"),
    "symbol": lambda: mx.sym.Variable("x"),
    "arrays of different shapes": lambda: [mx.nd.ones(1), mx.nd.ones(2)],
    "huge sparse": lambda: mx.nd.sparse.zeros("csr", (2**15, 2**15)),
    "number that is too large": lambda: 10**400,
}


@pytest.mark.parametrize("kind", SAVED)
def test_an_array_or_parameter_is_saved_with_its_elements(hook, read, kind):
    make, expected = SAVED[kind]
    hook.save_tensor("t", make())
    hook.close()
    assert hook.status().skipped == {} and hook.status().error is None
    found = read().tensor("t").value(0)
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found, expected)
    if kind.split()[-1] in DTYPES:
        assert found.dtype == kind.split()[-1]


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_value_without_elements_is_logged_once_and_raises_nothing(hook, read, kind, capfd):
    for _ in range(3):
        hook.save_tensor("odd", SKIPPED[kind]())
        hook.save_scalar("sound", 1)
    assert list(hook.status().skipped) == ["odd"] and hook.status().error is None
    hook.close()
    assert capfd.readouterr().err.count("'odd' is not saved") == 1
    assert "scalar/sound" in read().tensor_names()


@pytest.mark.parametrize(
    "make",
    [
        lambda: mx.nd.array([1.5]),
        lambda: mx.np.array(1.5),
        lambda: [mx.nd.array([1.5])],
        lambda: mx.nd.array([1.5], dtype="float64"),
        lambda: mx.nd.array([[1.5]]).tostype("row_sparse"),
        lambda: of_one_element(mx.cpu(0)),
        lambda: of_one_element(mx.cpu(0), mx.cpu(1)),
        lambda: constant(mx.nd.array([1.5])),
        lambda: np.float32(1.5),
        lambda: 1.5,
    ],
)
def test_a_scalar_is_any_array_of_one_element(hook, read, make):
    hook.save_scalar("s", make())
    hook.close()
    assert read().tensor("scalar/s").value(0).tolist() == [1.5]


NO_SCALARS = {
    "list of arrays and None",
    "objects",
    "structured",
    "arrays of different shapes",
}  # whatever the arrays contain


@pytest.mark.parametrize("kind", [each for each in SKIPPED if each not in NO_SCALARS])
def test_a_scalar_without_a_value_is_logged_once_and_raises_nothing(hook, kind, capfd):
    for _ in range(3):
        hook.save_scalar("odd", SKIPPED[kind]())
    hook.close()
    assert list(hook.status().skipped) == ["scalar/odd"] and hook.status().error is None
    assert capfd.readouterr().err.count("'scalar/odd' is not saved") == 1


def test_an_array_of_several_elements_is_no_scalar(hook):
    with pytest.raises(SMDebugTypeError, match="must be one number"):
        hook.save_scalar("s", mx.nd.ones(2))


class Gives(gluon.Block):
    """Returns what `make` returns."""

    def __init__(self, make, **options):
        super().__init__(**options)
        self.make = make

    def forward(self, x):
        return self.make()


@pytest.mark.parametrize("kind", [each for each in SAVED if each[:2] in ("nd", "np", "ro", "cs")])
def test_the_output_of_a_block_is_saved_with_its_elements(out_dir, read, kind):
    make, expected = SAVED[kind]
    net = Gives(make, prefix="gives_")
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_block(net)
    net(mx.nd.ones(1))
    hook.close()
    assert hook.status().skipped == {} and hook.status().error is None
    found = read().tensor("gives_output_0").value(0)
    np.testing.assert_array_equal(found, expected)
    if kind != "nd bfloat16":
        assert found.dtype == (bool if kind == "np bool" else make().asnumpy().dtype)


@pytest.mark.parametrize(
    "make",
    [csr_outside, row_sparse_outside, lambda: mx.nd.sparse.zeros("csr", (2**15, 2**15))],
    ids=["csr outside", "row_sparse outside", "huge csr"],
)
def test_a_sparse_output_that_cannot_become_dense_is_skipped(out_dir, read, make, capfd):
    net = Gives(make, prefix="gives_")
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_block(net)
    for step in range(2):
        net(mx.nd.full(1, step))
    hook.close()
    assert list(hook.status().skipped) == ["gives_output_0"] and hook.status().error is None
    assert capfd.readouterr().err.count("'gives_output_0' is not saved") == 1
    trial = read()
    assert trial.tensor("gives_input_0").value(1).tolist() == [1]
    assert trial.collections()["all"].tensor_names == {"gives_input_0"}
    check_collections_list_what_was_saved(trial)


@pytest.mark.parametrize("kind", [*SAVED, *SKIPPED])
def test_a_scalar_of_every_kind_is_saved_or_refused_but_never_breaks(hook, read, kind):
    make, expected = SAVED[kind] if kind in SAVED else (SKIPPED[kind], [])
    expected = np.asarray(expected)
    is_number = expected.size == 1 and expected.dtype.kind in "fiub"
    try:
        hook.save_scalar("s", make())
    except SMDebugTypeError as error:
        assert "'s'" in str(error) and not is_number
    hook.save_scalar("sound", 1)
    hook.close()
    assert hook.status().error is None
    assert ("scalar/s" in read().tensor_names()) == is_number
    if is_number:
        assert read().tensor("scalar/s").value(0).tolist() == [float(expected.reshape(()))]
