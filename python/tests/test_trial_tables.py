"""A run as pandas tables, and as HTML in a notebook."""

import html.parser
import json
import pathlib
import shutil
import sys

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug import modes
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError
from smdebug.trials import create_trial

pandas = pytest.importorskip("pandas")

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"


@pytest.fixture(autouse=True)
def _no_delay_at_the_end(monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")


@pytest.fixture
def trial(out_dir):
    """Three steps of training, two of evaluation."""
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    with smd.Hook(
        out_dir,
        include_collections=["weights", "losses"],
        save_config=smd.SaveConfig(save_interval=1),
    ) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        hook.set_mode(smd.modes.TRAIN)
        train(model, 3, loss=loss)
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            for _ in range(2):
                loss(model(torch.randn(2, 4)), torch.tensor([0, 1]))
    return read(out_dir)


def test_the_table_of_names_has_a_row_per_tensor_and_mode(trial):
    table = trial.to_pandas("names")
    assert list(table.columns) == ["name", "mode", "steps", "first_step", "last_step"]
    expected = {
        (name, mode.name): (len(steps), steps[0], steps[-1])
        for name in trial.tensor_names()
        for mode in trial.modes()
        if (steps := trial.tensor(name).steps(mode))
    }
    got = {(row[0], row[1]): row[2:] for row in table.itertuples(index=False, name=None)}
    assert got == expected and len(table) == len(expected)


def test_the_table_of_statistics_is_what_numpy_says_of_the_values(trial):
    table = trial.to_pandas()
    rows = 0
    for row in table.to_dict("records"):
        tensor = trial.tensor(row["name"])
        value = tensor.value(row["step"], worker=row["worker"])
        x = value.astype(np.float64)
        assert (modes[row["mode"]], row["mode_step"]) == trial.mode_modestep(row["step"])
        assert (row["shape"], row["dtype"], row["count"]) == (value.shape, "float32", value.size)
        got = [row[key] for key in ("min", "max", "mean", "std", "l1", "l2")]
        norms = np.abs(x).sum(), np.sqrt((x**2).sum())
        np.testing.assert_allclose(got, [x.min(), x.max(), x.mean(), x.std(), *norms], atol=1e-12)
        rows += 1
    assert rows == sum(len(trial.tensor(name).steps()) for name in trial.tensor_names())


def test_the_table_of_scalars_holds_every_loss_of_the_mode(trial):
    table = trial.to_pandas("scalars", mode=modes.EVAL)
    assert set(table["mode"]) == {"EVAL"}
    losses = trial.tensor("CrossEntropyLoss_output_0").values(mode=modes.EVAL)
    assert dict(zip(table["mode_step"], table["value"], strict=True)) == {
        step: float(value) for step, value in losses.items()
    }
    named = trial.to_pandas("scalars", collection="losses")
    assert len(named) == 5 and set(named["name"]) == {"CrossEntropyLoss_output_0"}
    assert len(trial.to_pandas("scalars", regex="weight")) == 0


def test_a_table_reads_the_original_s_runs_with_every_worker():
    run = GOLDEN / "workers_two" / "run"
    trial = create_trial(run)
    table = trial.to_pandas("scalars", collection="losses")
    expected = json.loads((run.parent / "expected.json").read_text())["trial"]["tensors"]
    places = {
        (int(step), worker): answer["value"]["value"]
        for step, workers in expected["MSELoss_output_0"]["at"].items()
        for worker, answer in workers.items()
    }
    got = {(row["step"], row["worker"]): row["value"] for row in table.to_dict("records")}
    assert got == places


def test_what_is_damaged_is_left_out_of_a_table_and_logged(tmp_path, logged):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN / "workers_two" / "run", run)
    whole = create_trial(run).to_pandas("scalars", collection="losses")
    damaged = next(run.glob("events/*4/*4_worker_1.tfevents"))
    damaged.write_bytes(damaged.read_bytes()[:40])
    table = create_trial(run).to_pandas("scalars", collection="losses")
    assert len(table) == len(whole) - 1
    assert any(damaged.name in line for line in logged)


def test_a_table_of_another_kind_or_without_pandas_says_so(trial, monkeypatch):
    with pytest.raises(SMDebugValueError, match="names, statistics, scalars"):
        trial.to_pandas("histograms")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SMDebugRuntimeError, match="pip install pandas"):
        trial.to_pandas()


class Text(html.parser.HTMLParser):
    def __init__(self, source):
        super().__init__()
        self.tags, self.cells = [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.cells.append(data)


def test_a_notebook_shows_names_as_text(out_dir):
    name = "<script>alert('x')</script>&amp;"
    model = Net()
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4))
        hook.save_scalar(name, 2.5)
    trial = read(out_dir)
    shown = Text(trial._repr_html_())
    assert f"scalar/{name}" in shown.cells
    of_tensor = Text(trial.tensor(f"scalar/{name}")._repr_html_())
    assert f"scalar/{name}" in of_tensor.cells and "2.5" in of_tensor.cells
    assert set(shown.tags + of_tensor.tags) == {"table", "tr", "th", "td"}


@pytest.mark.parametrize("case", sorted(path.parent.name for path in GOLDEN.glob("*/run")), ids=str)
def test_a_notebook_shows_every_run_and_tensor_in_a_few_lines(case):
    trial = create_trial(GOLDEN / case / "run")
    shown = Text(trial._repr_html_())
    assert trial.path in shown.cells and str(len(trial.tensor_names())) in shown.cells
    assert len(trial._repr_html_()) < 10_000
    for name in trial.tensor_names():
        source = trial.tensor(name)._repr_html_()
        assert name in Text(source).cells
        assert len(source) < 10_000


def test_a_notebook_shows_the_reductions_of_a_tensor_without_values():
    tensor = create_trial(GOLDEN / "pytorch_reductions" / "run").tensor("Net_fc.weight")
    cells = Text(tensor._repr_html_()).cells
    for name in ("min", "mean", "max"):
        assert f"{float(tensor.reduction_value(0, name)):.6g}" in cells


def test_a_notebook_shows_that_something_is_damaged(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN / "workers_two" / "run", run)
    next(run.glob("index/*/*4_worker_1.json")).write_text("{")
    assert "1 damaged parts: see damage()" in Text(create_trial(run)._repr_html_()).cells
