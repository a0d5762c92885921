"""`Trial.to_arrow`: polars, pyarrow, pandas and DuckDB read the statistics of a run from it."""

import pathlib

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from smdebug import modes
from smdebug.core.writer import FileWriter
from smdebug.trials import create_trial

GOLDEN = pathlib.Path(__file__).parents[2] / "tests/golden"
READERS = {
    "polars": lambda table: polars.DataFrame(table).to_pandas(),
    "pyarrow": lambda table: pyarrow.table(table).to_pandas(),
    "duckdb": lambda statistics: duckdb.sql("from statistics").df(),
}


@pytest.fixture
def run(tmp_path):
    """Two steps, TRAIN and EVAL: a matrix with a NaN, text, and a vector of NaNs."""
    path = str(tmp_path / "run")
    matrix = np.array([[1, 2, 0], [np.nan, -4, np.inf]], np.float32)
    with FileWriter(path, "worker_0", step=0) as writer:
        writer.write_tensor(tdata=matrix, tname="matrix", mode=modes.TRAIN)
        writer.write_tensor(tdata=np.array(["a", "b"]), tname="text", mode=modes.TRAIN)
    with FileWriter(path, "worker_0", step=1) as writer:
        writer.write_tensor(tdata=np.full(3, np.nan, np.float64), tname="nothing", mode=modes.EVAL)
    return create_trial(path)


@pytest.mark.parametrize("reader", READERS)
def test_a_library_reads_the_numbers_that_numpy_computes(run, reader):
    rows = READERS[reader](run.to_arrow()).set_index("tensor")
    assert sorted(rows.index) == ["matrix", "nothing"]
    finite = np.array([1, 2, 0, -4], np.float64)
    row = rows.loc["matrix"]
    assert (row["step"], row["mode"], row["mode_step"], row["worker"]) == (
        0,
        "TRAIN",
        0,
        "worker_0",
    )
    assert (row["dtype"], row["shape"], row["bytes"]) == ("float32", "2,3", 24)
    counts = row[["count", "nan", "positive_inf", "negative_inf", "zeros"]]
    assert list(counts) == [6, 1, 1, 0, 1]
    assert (row["min"], row["max"]) == (-4, 2)
    np.testing.assert_allclose([row["mean"], row["std"]], [finite.mean(), finite.std()])
    np.testing.assert_allclose([row["l1"], row["l2"]], [7, np.sqrt(21)])
    nothing = rows.loc["nothing"]
    assert nothing["nan"] == 3 and nothing["l1"] == 0
    assert nothing[["min", "max", "mean", "std"]].isna().all()


def test_a_query_selects_modes_and_tensors(run):
    def names(**query):
        return polars.DataFrame(run.to_arrow(**query))["tensor"].to_list()

    assert names(mode=modes.EVAL) == ["nothing"]
    assert names(regex="^mat") == ["matrix"]
    assert names(regex="^none$") == []


@pytest.mark.parametrize("case", ["pytorch_save_all", "pytorch_reductions", "workers_two"])
def test_a_run_of_the_original_has_the_rows_of_to_pandas(case):
    trial = create_trial(str(GOLDEN / case / "run"))
    expected = trial.to_pandas("statistics").rename(columns={"name": "tensor"})
    rows = pyarrow.table(trial.to_arrow()).to_pandas()
    expected["shape"] = [",".join(map(str, shape)) for shape in expected["shape"]]
    order = ["tensor", "step", "worker"]
    columns = list(expected.columns)
    left = rows.sort_values(order)[columns].reset_index(drop=True)
    right = expected.sort_values(order).reset_index(drop=True)
    assert len(left) == len(right)
    for column in columns:
        if left[column].dtype.kind == "f":
            np.testing.assert_array_equal(left[column], right[column], column)
        else:
            assert list(left[column]) == list(right[column]), column


def test_a_table_sees_the_steps_that_follow(run):
    table = run.to_arrow(regex="matrix")
    assert len(pyarrow.table(table)) == 1
    with FileWriter(run.path, "worker_0", step=2) as writer:
        writer.write_tensor(tdata=np.ones(2, np.float32), tname="matrix", mode=modes.TRAIN)
    assert isinstance(pyarrow.table(table).to_pandas(), pandas.DataFrame)
    assert len(pyarrow.table(table)) == 2
