"""Statistics files of a run: other programs read them, with the values that numpy computes, and a
reader opens a run in a store with them."""

import pathlib
import subprocess
import sys

import duckdb
import numpy as np
import polars
import pyarrow
import pyarrow.feather
import pytest
import torch

import smdebug.pytorch as smd
from smdebug.trials import create_trial

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
STEPS = 70


def train(out_dir, steps=STEPS):
    """Returns the weights of each step and their gradients, as arrays."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hook = smd.Hook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["weights", "gradients"],
    )
    hook.register_module(model)
    seen = []
    for _ in range(steps):
        weight = model.weight.detach().numpy().copy()
        optimizer.zero_grad()
        model(torch.randn(4, 3)).square().mean().backward()
        seen.append((weight, model.weight.grad.numpy().copy()))
        optimizer.step()
    hook.close()
    return seen


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out_dir = tmp_path_factory.mktemp("statistics") / "run"
    return out_dir, train(str(out_dir))


def statistics_file(out_dir):
    (path,) = (out_dir / "statistics").rglob("*.arrow")
    return path


def tables(path):
    """The rows of the gradient of the weight, in ascending order of steps, by each program."""
    name = "gradient/Linear_weight"
    arrow = pyarrow.feather.read_table(path).to_pandas()
    yield "pyarrow", arrow[arrow.tensor == name]
    frame = polars.read_ipc(path)
    yield "polars", frame.filter(polars.col("tensor") == name).to_pandas()
    connection = duckdb.connect()
    connection.register("rows", pyarrow.ipc.open_file(path).read_all())
    yield "duckdb", connection.sql(f"from rows where tensor = '{name}' order by step").df()


def test_other_programs_read_the_statistics_that_numpy_computes(run):
    out_dir, seen = run
    gradients = [gradient.astype(np.float64) for _, gradient in seen]
    for program, rows in tables(statistics_file(out_dir)):
        assert list(rows.step) == list(range(STEPS)), program
        assert set(rows["mode"]) == {"GLOBAL"}, program
        assert set(rows["dtype"]) == {"float32"} and set(rows["shape"]) == {"2,3"}, program
        assert list(rows["count"]) == [6] * STEPS, program
        np.testing.assert_array_equal(rows["min"], [g.min() for g in gradients], program)
        np.testing.assert_array_equal(rows["max"], [g.max() for g in gradients], program)
        np.testing.assert_allclose(rows["mean"], [g.mean() for g in gradients], err_msg=program)
        squares = [np.square(g).sum() for g in gradients]
        np.testing.assert_allclose(rows["sum_squares"], squares, err_msg=program)


def test_a_packed_run_reads_like_one_without_statistics_files(run, tmp_path):
    out_dir, seen = run
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", out_dir, copy], check=True)
    statistics_file(copy).unlink()
    packed, unpacked = create_trial(str(out_dir)), create_trial(str(copy))
    assert packed.tensor_names() == unpacked.tensor_names()
    for name in packed.tensor_names():
        for step in packed.tensor(name).steps():
            one, other = packed.tensor(name), unpacked.tensor(name)
            np.testing.assert_array_equal(one.value(step), other.value(step))
            assert one.summary(step) == other.summary(step)
    np.testing.assert_array_equal(packed.tensor("Linear_weight").value(9), seen[9][0])


def test_pack_restores_a_statistics_file_that_was_damaged(run, tmp_path):
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", run[0], copy], check=True)
    path = statistics_file(copy)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    ((key, _),) = create_trial(str(copy)).damage()
    assert key == str(path.relative_to(copy))
    done = subprocess.run([SMDEBUG, "pack", copy], capture_output=True, text=True, check=True)
    assert done.stdout == f"{copy}: packed {STEPS} index files into 1 statistics file\n"
    assert path.read_bytes() == whole
    assert not create_trial(str(copy)).damage()
