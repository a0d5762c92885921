"""The samples under examples/analysis run, and say what the run holds."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read

SAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "analysis"
STEPS, BROKEN_AT, EVALUATIONS = 12, 8, 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Twelve steps of training whose gradients are zero from step 8 on, three of evaluation."""
    out_dir = str(tmp_path_factory.mktemp("samples") / "run")
    torch.manual_seed(0)
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    with smd.Hook(
        out_dir,
        include_collections=["weights", "gradients", "losses"],
        include_regex=["relu"],
        save_config=smd.SaveConfig(save_interval=1),
    ) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        hook.set_mode(smd.modes.TRAIN)
        for step in range(STEPS):
            model.zero_grad()
            scale = 0.0 if step >= BROKEN_AT else 1.0
            (loss(model(torch.randn(6, 4)), torch.randint(0, 3, (6,))) * scale).backward()
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            for _ in range(EVALUATIONS):
                loss(model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
    return out_dir


def sample(name, *arguments):
    done = subprocess.run(
        [sys.executable, SAMPLES / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_snippet_of_the_readme_prints_names_and_losses_of_evaluation(run):
    said = sample("readme_snippet.py", run)
    trial = read(run)
    assert str(trial.tensor_names()) in said
    values = trial.tensor("CrossEntropyLoss_output_0").values(mode=smd.modes.EVAL)
    assert len(values) == EVALUATIONS and str(values) in said


def test_the_saving_sample_keeps_every_loss_and_every_tenth_weight(tmp_path):
    said = sample("saving_api.py", tmp_path / "run")
    assert "losses of training: 20" in said and "losses of evaluation: 5" in said
    assert re.search(r"0\.weight: mean [+-]0\.\d{4} at step 10", said)


def test_the_collections_sample_saves_what_it_names(tmp_path):
    said = sample("tensor_collections.py", tmp_path / "run")
    (found,) = re.findall(r"of relu: (.*)", said)
    assert "input_0" in found and "output_0" in found
    assert "biases: ['Sequential_0.bias', 'Sequential_2.bias']" in said
    assert "metrics: []" in said  # its settings were edited, but no tensor belongs to it


def test_the_trial_sample_asks_everything(run):
    said = sample("trial_api.py", run)
    trial = read(run)
    assert f"all: {trial.tensor_names()}" in said
    assert f"named like relu: {trial.tensor_names(regex='relu')}" in said
    assert "'gradient/Net_fc1.weight'" in re.search(r"of a collection: (.*)", said).group(1)
    assert f"steps of EVAL: {list(range(EVALUATIONS))}" in said
    assert "has ended; its last saved step is 14" in said


def test_the_tensor_sample_asks_everything(run):
    said = sample("tensor_api.py", run, "gradient/Net_fc1.bias")
    tensor = read(run).tensor("gradient/Net_fc1.bias")
    assert f"the last two: {[STEPS - 2, STEPS - 1]}" in said
    assert f"value: {tensor.value(0)}" in said
    assert str(tensor.summary(0)) in said


def test_the_rule_sample_names_the_step_of_the_mistake(run):
    assert f"GradientTooSmall at step {BROKEN_AT}" in sample("custom_rule.py", run)
    assert "nothing found up to step 14" in sample("custom_rule.py", run, "0")


def test_the_tables_sample_shows_every_loss(run):
    pytest.importorskip("pandas")
    said = sample("tables.py", run)
    values = read(run).tensor("CrossEntropyLoss_output_0").values(mode=smd.modes.TRAIN)
    losses = {step: float(value) for step, value in values.items()}
    shown = dict(re.findall(r"^(\d+) +(\d\.\d+)$", said, re.MULTILINE))
    assert {int(s): float(v) for s, v in shown.items()} == pytest.approx(losses, rel=1e-4)


def test_the_sql_sample_names_the_step_of_the_largest_gradient(run):
    pytest.importorskip("duckdb")
    shown = re.findall(r"│ (\S+) +│ +(\d+) │ +(\S+) │", sample("sql.py", run))
    trial = read(run)
    names = trial.tensor_names(collection="gradients")
    assert [row[0] for row in shown] == names
    for name, step, ratio in shown:
        steps = trial.tensor(name).steps()
        norms = [np.linalg.norm(trial.tensor(name).value(step).astype(float)) for step in steps]
        assert int(step) == steps[int(np.argmax(norms))]
        assert float(ratio) == pytest.approx(max(norms) / np.median(norms), rel=1e-4)


def test_every_sample_is_tested_and_listed():
    text = pathlib.Path(__file__).read_text()
    readme = (SAMPLES / "README.md").read_text()
    samples = list(SAMPLES.glob("*.py"))
    assert len(samples) >= 7
    for path in samples:
        assert f'"{path.name}"' in text and f"({path.name})" in readme
