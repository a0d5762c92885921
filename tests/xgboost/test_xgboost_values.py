"""Every kind of value that a script may save while XGBoost trains: it is saved as numpy has it, or
skipped and logged once, and the training is the one without a hook."""

import decimal
import fractions

import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xgboost

import smdebug.xgboost as smd
from conftest import BINARY, EVERY_ROUND, binary
from smdebug.exceptions import SMDebugTypeError

ROWS = [[1.5, 2.0], [0.0, 4.0]]
NUMBERS = "?bhilqBHILQefdFD"  # numpy's codes of the dtypes that smdebug has
SPARSE = ["csr", "csc", "coo", "bsr", "dok", "lil", "dia"]


class Broken:
    """An array whose library fails."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("the library failed")


def changed(matrix, attribute):
    """A sparse matrix whose indices are outside of its shape."""
    getattr(matrix, attribute)[:] = 9
    return matrix


def nested(depth):
    values = [1.0]
    for _ in range(depth):
        values = [values]
    return values


def containing_itself():
    values = [1.0]
    values.append(values)
    return values


# Name -> (value, the array that it is saved as).
SAVED = {
    **{f"dtype {each}": (np.array(ROWS).astype(each), np.array(ROWS, each)) for each in NUMBERS},
    "bfloat16": (np.array(ROWS, ml_dtypes.bfloat16), ROWS),
    "float8": (np.array(ROWS, ml_dtypes.float8_e5m2), ROWS),
    "big-endian": (np.array(ROWS, ">f8"), ROWS),
    "bytes": (np.array([b"a", b"bc"]), [b"a", b"bc"]),
    "text": (np.array(["a", "bc"]), ["a", "bc"]),
    "text of any length": (np.array(["a", "bc"], np.dtypes.StringDType()), ["a", "bc"]),
    "objects that are text": (np.array(["a", "bc"], object), ["a", "bc"]),
    "objects that are numbers": (np.array([True, 2.5], object), [1.0, 2.5]),
    "0-d": (np.array(7.0), np.array(7.0)),
    "0-d object": (np.array(7, object), np.array(7.0)),
    "0-d text": (np.array("a"), np.array("a")),
    "zero-size": (np.zeros((0, 3)), np.zeros((0, 3))),
    "not contiguous": (np.arange(12.0).reshape(3, 4).T[::2], [[0, 4, 8], [2, 6, 10]]),
    "masked": (np.ma.masked_array([1.0, 2.0], [False, True]), [1.0, 2.0]),
    "field": (np.ones(3, [("a", "f4"), ("b", "u1")])["a"], [1, 1, 1]),
    "numpy's float16": (np.float16(1.5), np.array(1.5)),
    "numpy's uint64": (np.uint64(2**64 - 1), np.array(2**64 - 1)),
    "numpy's bool": (np.bool_(True), np.array(True)),
    "numpy's text": (np.str_("a"), np.array("a")),
    "int": (3, [3]),
    "int of 64 bits": (2**63, [2**63]),
    "int above 64 bits": (-(2**70), [-(2.0**70)]),
    "nan": (float("nan"), [np.nan]),
    "Decimal": (decimal.Decimal("-Infinity"), [-np.inf]),
    "Fraction": (fractions.Fraction(1, 4), [0.25]),
    "complex": (1j, [1j]),
    "str": ("a", ["a"]),
    "nested list": (ROWS, ROWS),
    "list of arrays": ([np.ones(2), np.zeros(2)], [[1, 1], [0, 0]]),
    "list of text": (["a", "bc"], ["a", "bc"]),
    "Series": (pd.Series([1.0, None]), [1, np.nan]),
    "Series of Int64": (pd.Series([1, None], dtype="Int64"), [1, np.nan]),
    "Series of boolean": (pd.Series([True, False], dtype="boolean"), [True, False]),
    "Series of categories": (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    "Series of objects": (pd.Series([1, 2.5], dtype=object), [1, 2.5]),
    "sparse Series": (pd.Series(pd.arrays.SparseArray([0, 1.0])), [0, 1]),
    "empty Series": (pd.Series([], dtype=float), np.zeros(0)),
    "DataFrame": (pd.DataFrame(ROWS), ROWS),
    "DataFrame of two dtypes": (pd.DataFrame({"a": [True, False], "b": [1, 2]}), [[1, 1], [0, 2]]),
    "empty DataFrame": (pd.DataFrame(), np.zeros((0, 0))),
    "Index": (pd.Index([1, 2]), [1, 2]),
    "list of Series": ([pd.Series([1.0]), pd.Series([2.0])], [[1], [2]]),
    **{each: (getattr(scipy.sparse, f"{each}_matrix")(ROWS), ROWS) for each in SPARSE},
    "sparse array": (scipy.sparse.csr_array(ROWS), ROWS),
    "sparse array of one dimension": (scipy.sparse.coo_array(np.array([0, 1.0])), [0, 1]),
    "sparse booleans": (scipy.sparse.csr_matrix([[True, False]]), [[True, False]]),
}
# Name -> (value, what the log says).
SKIPPED = {
    "longdouble": (np.longdouble(1.5), "float128"),
    "array of longdouble": (np.array(ROWS, "g"), "wider than any supported dtype"),
    "sparse longdouble": (scipy.sparse.csr_matrix(ROWS, dtype="g"), "float128"),
    "structured": (np.zeros(2, "f4,i4"), "structured array"),
    "void": (np.void(b"ab"), "void"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "are times"),
    "date": (np.datetime64("2020-01-01"), "are times"),
    "no date": (np.datetime64("NaT"), "are times"),
    "time": (np.timedelta64(3, "s"), "are times"),
    "Series of dates": (pd.Series(pd.date_range("2020", periods=2)), "are times"),
    "Series of dates in a zone": (pd.Series(pd.date_range("2020", periods=1, tz="UTC")), "Time"),
    "Series of text and nothing": (pd.Series(["a", None], dtype=object), "'NoneType'"),
    "DataFrame of text and numbers": (pd.DataFrame({"a": [1], "b": ["x"]}), "'int'"),
    "objects": (np.array([None, 1], object), "objects"),
    "int4": (np.array([1, 2], ml_dtypes.int4), "int4"),
    "number that is too large": (10**400, "do not fit into float64"),
    "Decimal that is too large": (decimal.Decimal("1e999"), "do not fit into float64"),
    "array that fails": (Broken(), "the library failed"),
    "list with one": ([Broken()], "the library failed"),
    "list with None": ([1, None], "'int'"),
    "list of DMatrix": ([binary()], "'DMatrix'"),
    "list that contains itself": (containing_itself(), "contain themselves"),
    "lists in lists": (nested(5000), "nested more than"),
    "arrays of different shapes": ([np.ones(1), np.ones(2)], "one array"),
    "half of a surrogate pair": ("\udc80", "surrogate"),
    "huge sparse": (scipy.sparse.csr_matrix((2**30, 2**20)), "as a dense tensor"),
    "csr outside": (changed(scipy.sparse.csr_matrix(ROWS), "indices"), "cannot become dense"),
    "csc outside": (changed(scipy.sparse.csc_matrix(ROWS), "indices"), "cannot become dense"),
    "bsr outside": (changed(scipy.sparse.bsr_matrix(ROWS), "indices"), "cannot become dense"),
    "coo outside": (changed(scipy.sparse.coo_matrix(ROWS), "row"), "do not fit into its shape"),
}
REFUSED = {
    "None": None,
    "DMatrix": binary(),
    "dict": {"a": 1},
    "rows of different lengths": [[1], [1, 2]],
    "NA": pd.NA,
    "set": {1},
}
# Name -> (value, the number that it is saved as; None: it is skipped).
SCALARS = {
    "int": (3, 3),
    "0-d": (np.array(7), 7),
    "longdouble": (np.longdouble(1.5), 1.5),
    "Series": (pd.Series([2.5]), 2.5),
    "DataFrame": (pd.DataFrame([[2.5]]), 2.5),
    "sparse": (scipy.sparse.csr_matrix([[1.5]]), 1.5),
    "sparse array": (scipy.sparse.coo_array(np.array([1.5])), 1.5),
    "list": ([1.5], 1.5),
    "float8": (ml_dtypes.float8_e4m3fnuz(1.5), 1.5),
    "infinite Decimal": (decimal.Decimal("Infinity"), np.inf),
    "complex": (1j, None),
    "complex longdouble": (np.clongdouble(1 + 2j), None),
    "number that is too large": (10**400, None),
    "Decimal that is too large": (decimal.Decimal("1e999"), None),
    "longdouble that is too large": (np.longdouble("1e400"), None),
    "date": (np.datetime64("2020-01-01"), None),
    "record": (np.rec.array([(1, 2.0)], dtype="i4,f4"), None),
    "text": (np.array("1.5"), None),
    "huge sparse": (scipy.sparse.csr_matrix((2**30, 2**20)), SMDebugTypeError),
}


class Saves(xgboost.callback.TrainingCallback):
    """Saves every value of the tables in each round, and keeps what is raised."""

    def __init__(self, hook):
        super().__init__()
        self.hook = hook
        self.raised = {}

    def after_iteration(self, model, epoch, evals_log):
        for table in (SAVED, SKIPPED):
            for name, (value, _) in table.items():
                self.attempt(self.hook.save_tensor, name, value)
        for name, value in REFUSED.items():
            self.attempt(self.hook.save_tensor, name, value)
        for name, (value, _) in SCALARS.items():
            self.attempt(self.hook.save_scalar, name, value)
        return False

    def attempt(self, save, name, value):
        try:
            save(name, value)
        except Exception as error:
            self.raised[f"{save.__name__} {name}"] = error


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One training of two rounds that saves every value: (trial, status, log, raised errors)."""
    out_dir = str(tmp_path_factory.mktemp("values") / "run")
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    saves = Saves(hook)
    matrix = binary()
    booster = xgboost.train(BINARY, matrix, 2, callbacks=[hook, saves])
    hook.close()
    assert booster.save_raw("ubj") == xgboost.train(BINARY, matrix, 2).save_raw("ubj")
    assert hook.status().error is None
    return smd.create_trial(out_dir), hook.status().skipped, saves.raised


@pytest.mark.parametrize("kind", SAVED)
def test_a_value_is_saved_as_numpy_has_it(run, kind):
    trial, skipped, raised = run
    assert kind not in skipped and f"save_tensor {kind}" not in raised
    expected = np.asarray(SAVED[kind][1])
    found = trial.tensor(kind).value(1)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.astype(expected.dtype), expected)
    if kind.startswith("dtype"):
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_value_that_cannot_be_saved_is_skipped_with_its_reason(run, kind):
    trial, skipped, raised = run
    assert f"save_tensor {kind}" not in raised
    assert SKIPPED[kind][1] in skipped[kind] and "\n" not in skipped[kind]
    assert kind not in trial.tensor_names()


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_value_is_refused_by_the_call(run, kind):
    trial, skipped, raised = run
    assert isinstance(raised[f"save_tensor {kind}"], SMDebugTypeError)
    assert kind not in skipped and kind not in trial.tensor_names()


@pytest.mark.parametrize("kind", SCALARS)
def test_a_scalar_is_any_value_of_one_element(run, kind):
    trial, skipped, raised = run
    expected = SCALARS[kind][1]
    if expected is SMDebugTypeError:
        assert isinstance(raised[f"save_scalar {kind}"], SMDebugTypeError)
    elif expected is None:
        assert f"scalar/{kind}" in skipped and f"scalar/{kind}" not in trial.tensor_names()
    else:
        assert trial.tensor(f"scalar/{kind}").value(1).tolist() == [expected]


def test_the_tables_leave_no_error_behind(run):
    _, skipped, raised = run
    others = {name for name, error in raised.items() if not isinstance(error, SMDebugTypeError)}
    assert others == set()
    assert set(skipped) == set(SKIPPED) | {
        f"scalar/{name}" for name, (_, expected) in SCALARS.items() if expected is None
    } | {"metrics"}


def test_the_check_of_indices_leaves_a_sparse_matrix_as_it_is(out_dir):
    matrix = scipy.sparse.csr_matrix(ROWS)
    matrix.data = np.append(matrix.data, 7.0)  # more than its indices need
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    hook.save_tensor("sparse", matrix)
    hook.close()
    assert matrix.data.tolist() == [1.5, 2.0, 4.0, 7.0]
