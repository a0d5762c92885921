"""`smdebug sql`: its answers, against numpy, for runs of smdebug and of the original."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import read

GOLDEN = pathlib.Path(__file__).parents[2] / "tests/golden"
STATISTICS = "count, nan, positive_inf, negative_inf, zeros, min, max, mean, std, l1, l2"


def answer(query, *runs):
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", "sql", query, *map(str, runs), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expected(value):
    """The statistics of an array, as the columns of a row."""
    value = np.asarray(value, np.float64)
    finite = value[np.isfinite(value)]
    counts = [value.size, np.isnan(value).sum(), (value == np.inf).sum()]
    counts += [(value == -np.inf).sum(), (value == 0).sum()]
    moments = [finite.min(), finite.max(), finite.mean(), finite.std()]
    moments += [np.abs(finite).sum(), np.sqrt((finite**2).sum())]
    return dict(zip(STATISTICS.split(", "), [*map(int, counts), *moments], strict=True))


def check_rows(rows, trial):
    places = {(row.pop("tensor"), row.pop("step")): row for row in rows}
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for step in tensor.steps():
            found = places.pop((name, step))
            assert found == pytest.approx(expected(tensor.value(step)), rel=1e-5, abs=1e-12), (
                name,
                step,
            )
    assert not places


def test_the_statistics_are_those_of_the_values(tmp_path):
    for run, rate in [("slow", 0.01), ("fast", 0.3)]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        hook = smd.Hook(
            tmp_path / run,
            save_config=smd.SaveConfig(save_interval=1),
            include_collections=["weights", "gradients"],
        )
        hook.register_module(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for _ in range(5):
            optimizer.zero_grad()
            (model(torch.randn(16, 4)) ** 2).mean().backward()
            optimizer.step()
        hook.close()
        rows = answer(f"select tensor, step, {STATISTICS} from statistics", tmp_path / run)
        check_rows(rows, read(tmp_path / run))
    largest = {
        row["run"]: row["largest"]
        for row in answer(
            "select run, max(l2) as largest from statistics "
            "where collection = 'gradients' group by run",
            tmp_path,
        )
    }
    for run in ["slow", "fast"]:
        trial = read(tmp_path / run)
        norms = [
            np.linalg.norm(trial.tensor(name).value(step).astype(np.float64))
            for name in trial.tensor_names(collection="gradients")
            for step in trial.tensor(name).steps()
        ]
        assert largest[str(tmp_path / run)] == pytest.approx(max(norms), rel=1e-5)


def test_statistics_of_a_run_of_the_original_are_computed():
    run = GOLDEN / "pytorch_save_all/run"
    rows = answer(f"select tensor, step, {STATISTICS} from statistics", run)
    assert rows
    check_rows(rows, read(run))
