"""`smdebug export`: other libraries read its files, and the values are those of the run."""

import csv
import subprocess
import sys

import ml_dtypes
import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest
import safetensors
import torch

import smdebug.pytorch as smd
from conftest import read

HIDDEN = """
import sys
for name in ["pyarrow", "polars", "safetensors"]:
    sys.modules[name] = None
from smdebug.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    torch.manual_seed(0)
    run = tmp_path_factory.mktemp("runs") / "a"
    model = torch.nn.Linear(4, 3)
    hook = smd.Hook(
        run, save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"]
    )
    hook.register_module(model)
    for _ in range(3):
        model(torch.randn(2, 4)).sum().backward()
        hook.save_tensor("narrow", torch.randn(5).bfloat16(), collections_to_write="weights")
    hook.close()
    return run


def export(run, format, *words, program=("-m", "smdebug"), folder=None, code=0):
    done = subprocess.run(
        [sys.executable, *program, "export", str(run), "--format", format, *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
    )
    assert done.returncode == code, done.stderr
    return done


def norms(run):
    trial = read(run)
    return {
        (name, step): np.linalg.norm(trial.tensor(name).value(step).astype(np.float64))
        for name in trial.tensor_names()
        for step in trial.tensor(name).steps()
    }


def test_tables_have_a_row_for_each_tensor_and_step(run, tmp_path):
    for format in ["csv", "arrow", "parquet"]:
        done = export(run, format, folder=tmp_path)
        assert done.stdout == f"a.{format}\n"
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["tensor"], int(row["step"])): float(row["l2"]) for row in rows} == pytest.approx(
        norms(run), rel=1e-6
    )
    arrow = pyarrow.feather.read_table(tmp_path / "a.arrow")
    parquet = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert arrow.num_rows == len(rows)
    assert parquet.to_pylist() == arrow.to_pylist()
    assert arrow.to_pylist() == [
        {
            name: None if text == "" and name != "shape" else type(value)(text)
            for (name, text), value in zip(row.items(), typed.values(), strict=True)
        }
        for row, typed in zip(rows, arrow.to_pylist(), strict=True)
    ]


def test_npz_has_the_tensors_of_the_last_step(run, tmp_path):
    export(run, "npz", folder=tmp_path)
    trial = read(run)
    with np.load(tmp_path / "a.npz") as arrays:
        assert sorted(arrays) == trial.tensor_names(step=2)
        for name, array in arrays.items():
            value = trial.tensor(name).value(2)
            assert array.dtype == (np.float32 if name == "narrow" else value.dtype)
            np.testing.assert_array_equal(array, value.astype(array.dtype))


def test_safetensors_have_the_tensors_of_a_step_and_their_dtypes(run, tmp_path):
    export(run, "safetensors", "--step", "1", "--tensor", "narrow", folder=tmp_path)
    with safetensors.safe_open(tmp_path / "a.safetensors", framework="pt") as file:
        assert list(file.keys()) == ["narrow"]
        tensor = file.get_tensor("narrow")
    assert tensor.dtype == torch.bfloat16
    value = read(run).tensor("narrow").value(1)
    assert value.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(tensor.float().numpy(), value.astype(np.float32))


@pytest.mark.parametrize(("format", "package"), [("parquet", "pyarrow"), ("safetensors",) * 2])
def test_a_missing_library_is_named(run, tmp_path, format, package):
    done = export(run, format, program=("-c", HIDDEN), folder=tmp_path, code=1)
    assert f"pip install {package}" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["npz", "safetensors"])
def test_tensors_without_elements_are_counted_once(tmp_path, format):
    model = torch.nn.Linear(4, 3)
    hook = smd.Hook(
        tmp_path / "run",
        save_config=smd.SaveConfig(save_interval=1),
        reduction_config=smd.ReductionConfig(reductions=["mean"]),
        include_collections=["weights", "biases"],
    )
    hook.register_module(model)
    model(torch.randn(2, 4)).sum().backward()
    hook.save_tensor("kept", torch.ones(3), collections_to_write="custom")
    hook.close()
    out = tmp_path / "out"
    done = export(tmp_path / "run", format, "--tensor", "Linear", "--out", str(out), code=1)
    assert "2 of 2 tensors of step 0 cannot be written: tensor 'Linear" in done.stderr
    assert done.stderr.count("Linear") == 1
    assert not out.exists()
    done = export(tmp_path / "run", format, "--out", str(out))
    assert "2 of 3 tensors of step 0 cannot be written: " in done.stderr
    assert out.stat().st_mode == (tmp_path / "run/run.json").stat().st_mode


def test_a_step_or_a_tensor_that_does_not_exist_is_named(run, tmp_path):
    done = export(run, "npz", "--step", "7", folder=tmp_path, code=1)
    assert f"run '{run}' has no tensor with any name at GLOBAL step 7" in done.stderr
    done = export(run, "npz", "--tensor", "none$", "--mode", "EVAL", folder=tmp_path, code=1)
    assert "no tensor with the names none$ at any step" in done.stderr
    assert not list(tmp_path.iterdir())
