"""The losses of evaluation batches, which `smdebug run` records in every step, saved or not."""

import json
import textwrap

import pytest

from conftest import read, run_script
from smdebug import modes

# Each script prints what it has computed as JSON: series -> (step of EVAL, value).
TRAINING = """
import smdebug_ng.autostart
import json
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
noted = {}
def note(name, loss, step):
    noted.setdefault(name, []).append((step, loss.item()))
def train(model, criterion, steps=30):
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


def recorded(tmp_path, out_dir, script):
    """What a script printed last, and the trial of its run, of which only the first steps and every
    tenth are saved."""
    request = {
        "out_dir": out_dir,
        "save_interval": 10,
        "first_steps": 5,
        "collections": [{"name": "losses"}],
        "include_workers": "all",
    }
    done = run_script(
        tmp_path,
        TRAINING + textwrap.dedent(script) + "\nprint(json.dumps(noted))",
        environment={"SMDEBUG_RUN": json.dumps(request)},
    )
    assert "Traceback" not in done.stderr
    noted = json.loads(done.stdout.splitlines()[-1])
    return {name: [tuple(each) for each in all] for name, all in noted.items()}, read(out_dir)


def test_every_evaluation_batch_has_its_loss(tmp_path, out_dir):
    noted, trial = recorded(
        tmp_path,
        out_dir,
        """
        criterion = nn.CrossEntropyLoss()
        for epoch in range(3):
            train(model, criterion)
            model.eval()
            with torch.no_grad():
                for batch in range(7):
                    part = slice(batch, batch + 4)
                    loss = criterion(model(x[part]), y[part])
                    note("CrossEntropyLoss_output_0", loss, 7 * epoch + batch)
        train(model, criterion)
        """,
    )
    (name,) = noted
    assert len(noted[name]) == 21
    assert trial.series(name, mode=modes.EVAL) == noted[name]
    assert trial.series(name, mode=modes.TRAIN) == []
    assert len(trial.series("loss_output_0", mode=modes.TRAIN)) == 120
    assert trial.tensor(name).steps(mode=modes.EVAL) == [0, 1, 2, 3, 4, 10, 20]
    assert len(trial.tensor(name).steps(mode=modes.TRAIN)) == 5 + 11


def test_the_loss_has_no_hook_of_smdebug_in_training_steps_that_are_not_saved(tmp_path, out_dir):
    noted, _ = recorded(
        tmp_path,
        out_dir,
        """
        criterion = nn.CrossEntropyLoss()
        counts = noted["training"] = []
        def count(module, arguments):
            if model.training:
                counts.append((len(counts), len(criterion._forward_hooks)))
        criterion.register_forward_pre_hook(count)
        for epoch in range(2):
            train(model, criterion)
            model.eval()
            with torch.no_grad():
                criterion(model(x), y)
        """,
    )
    hooks = dict(noted["training"])
    assert {step for step, count in hooks.items() if count} <= {0, 1, 2, 3, 4, *range(0, 60, 10)}


def test_several_losses_and_calls_have_the_names_of_their_saved_tensors(tmp_path, out_dir):
    noted, trial = recorded(
        tmp_path,
        out_dir,
        """
        first, second = nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.5)
        other = nn.MSELoss()
        train(model, first)
        model.eval()
        for step in range(6):  # with gradients
            output = model(x + step)
            note("CrossEntropyLoss_output_0", first(output, y), step)
            note("CrossEntropyLoss_output_1", second(output, y), step)
            note("MSELoss_output_0", other(output, output + step), step)
            first(output[:, :2], y.clamp(max=1)) if step < 5 else None
        """,
    )
    for name, expected in noted.items():
        assert trial.series(name, mode=modes.EVAL) == expected
        tensor = trial.tensor(name)
        saved = [(step, tensor.value(step, mode=modes.EVAL).item()) for step in range(5)]
        assert saved == expected[:5]
    assert len(trial.series("CrossEntropyLoss_output_2", mode=modes.EVAL)) == 5


def test_a_loss_inside_the_model_is_noted(tmp_path, out_dir):
    noted, trial = recorded(
        tmp_path,
        out_dir,
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 3)
                self.loss = nn.CrossEntropyLoss()
            def forward(self, x, y):
                return self.loss(self.layer(x), y)
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            model.train()
            for _ in range(25):
                optimizer.zero_grad()
                model(x, y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for batch in range(9):
                    note("loss_output_0", model(x + batch, y), 9 * epoch + batch)
        """,
    )
    assert trial.series("loss_output_0", mode=modes.EVAL) == noted["loss_output_0"]
    assert len(trial.series("loss_output_0", mode=modes.TRAIN)) == 50


def test_losses_that_are_no_single_numbers_are_left_out(tmp_path, out_dir):
    _, trial = recorded(
        tmp_path,
        out_dir,
        """
        criterion = nn.CrossEntropyLoss()
        each = nn.L1Loss(reduction="none")
        train(model, criterion)
        model.eval()
        for _ in range(8):
            each(model(x), torch.zeros(12, 3))
        """,
    )
    assert trial.series_names() == ["learning_rate/SGD/0", "loss_output_0"]


@pytest.mark.parametrize("compiled", ["criterion", "model"])
def test_a_compiled_loss_is_not_noted_and_computes_the_same(tmp_path, out_dir, compiled):
    script = f"""
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.loss = nn.Linear(4, 3), nn.CrossEntropyLoss()
            def forward(self, x, y):
                return self.loss(self.layer(x), y)
        is_of_model = {compiled == "model"}
        model = Both() if is_of_model else nn.Linear(4, 3)
        criterion = torch.compile(nn.CrossEntropyLoss(), backend="eager")
        called = torch.compile(model, backend="eager") if is_of_model else model
        def loss_of(x):
            return called(x, y) if is_of_model else criterion(called(x), y)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            model.train()
            for _ in range(12):
                optimizer.zero_grad()
                loss_of(x).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for batch in range(3):
                    note("evaluation", loss_of(x + batch), batch)
    """
    noted, trial = recorded(tmp_path, out_dir, script)
    names = [name for name in trial.series_names() if trial.series(name, mode=modes.EVAL)]
    assert names == []
    plain = run_script(
        tmp_path,
        TRAINING.replace("import smdebug_ng.autostart", "")
        + textwrap.dedent(script)
        + "\nprint(json.dumps(noted))",
    )
    assert [tuple(each) for each in json.loads(plain.stdout)["evaluation"]] == noted["evaluation"]


def test_copies_and_scripted_losses_work_during_an_evaluation(tmp_path, out_dir):
    noted, trial = recorded(
        tmp_path,
        out_dir,
        """
        import copy, pickle, warnings
        criterion = nn.CrossEntropyLoss()
        train(model, criterion)
        model.eval()
        with torch.no_grad():
            note("CrossEntropyLoss_output_0", criterion(model(x), y), 0)
            output = model(x)
            copied, loaded = copy.deepcopy(criterion), pickle.loads(pickle.dumps(criterion))
            scripted = torch.jit.script(criterion)
            with warnings.catch_warnings():
                warnings.simplefilter("error", torch.jit.TracerWarning)
                traced = torch.jit.trace(criterion, (output, y))
            assert len({each(output, y).item() for each in (copied, loaded, scripted, traced)}) == 1
            losses = torch.vmap(lambda a, b: criterion(a[None], b[None]))(output, y)
            assert losses.shape == (12,)
            note("CrossEntropyLoss_output_0", criterion(model(x + 1), y), 2)
        train(model, copied)
        """,
    )
    samples = dict(trial.series("CrossEntropyLoss_output_0", mode=modes.EVAL))
    for step, value in noted["CrossEntropyLoss_output_0"]:
        assert samples[step] == value
    assert trial.series("CrossEntropyLoss_output_0", mode=modes.TRAIN) == []


def test_a_loss_that_is_changed_in_place_was_noted_before(tmp_path, out_dir):
    noted, trial = recorded(
        tmp_path,
        out_dir,
        """
        criterion = nn.CrossEntropyLoss()
        train(model, criterion)
        model.eval()
        with torch.no_grad():
            for step in range(7):
                loss = criterion(model(x + step), y)
                note("CrossEntropyLoss_output_0", loss, step)
                loss += 100
        """,
    )
    name = "CrossEntropyLoss_output_0"
    assert trial.series(name, mode=modes.EVAL) == noted[name]
