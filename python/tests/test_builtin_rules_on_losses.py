"""Built-in rules over small trainings of PyTorch: those with a fault, and their healthy twins.

What each rule should say is computed a second time from the numbers that the training itself saw.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import read

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/xgboost_all/run"


class Classifier(torch.nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.fc1 = torch.nn.Linear(features, hidden)
        self.fc2 = torch.nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def check(run, rule, **parameters):
    """The verdict of `rule` over the run, as the command prints it; steps by global number."""
    words = [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", "check", str(run), "--json", "--rule", rule, *words],
        capture_output=True,
        text=True,
        timeout=120,
    )
    (judged,) = json.loads(done.stdout)
    (verdict,) = judged["verdicts"]
    for place in (verdict, *verdict["evidence"]):
        place["step"] = place["step"]["global"]
    return verdict


def blobs(samples, noise, seed, classes=2, features=20):
    """Points about one centre per class; labels are right but for a share of `noise`."""
    random = np.random.RandomState(seed)
    labels = random.randint(0, classes, samples)
    centres = np.random.RandomState(99).randn(classes, features)
    points = centres[labels] + 0.3 * random.randn(samples, features)
    wrong = random.rand(samples) < noise
    labels[wrong] = random.randint(0, classes, wrong.sum())
    return torch.tensor(points, dtype=torch.float32), torch.tensor(labels)


def batches(data, size):
    """(points, labels) of `size` samples each."""
    return zip(*(part.split(size) for part in data), strict=True)


def fit(out_dir, train_set, eval_set, epochs, learning_rate=0.01):
    """Trains with an evaluation after each epoch; returns [(mode, loss)] in order of the steps."""
    torch.manual_seed(0)
    model = Classifier(20, 64, 2)
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    seen = []
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        hook.register_loss(loss_function)
        for _ in range(epochs):
            hook.set_mode(smd.modes.TRAIN)
            for points, labels in batches(train_set, 8):
                optimizer.zero_grad()
                loss = loss_function(model(points), labels)
                loss.backward()
                optimizer.step()
                seen.append(("TRAIN", loss.item()))
            hook.set_mode(smd.modes.EVAL)
            with torch.no_grad():
                for points, labels in batches(eval_set, 16):
                    seen.append(("EVAL", loss_function(model(points), labels).item()))
    return seen


def evaluations(seen):
    """(last EVAL step, mean training loss, mean validation loss) of each epoch."""
    found, parts = [], {"TRAIN": [], "EVAL": []}
    for step, (mode, loss) in enumerate([*seen, ("TRAIN", 0)]):
        if mode == "TRAIN" and parts["EVAL"]:
            found.append((step - 1, np.mean(parts["TRAIN"]), np.mean(parts["EVAL"])))
            parts = {"TRAIN": [], "EVAL": []}
        parts[mode].append(loss)
    return found


def test_overfit_fires_where_labels_are_noise_and_not_where_they_are_right(tmp_path):
    noisy = fit(str(tmp_path / "noisy"), blobs(48, 1.0, seed=1), blobs(48, 1.0, seed=2), epochs=12)
    verdict = check(tmp_path / "noisy", "Overfit", ratio_threshold=0.5, patience=2)
    assert verdict["status"] == "IssuesFound"
    ratios = [(step, (ev - tr) / tr) for step, tr, ev in evaluations(noisy)]
    step, ratio = next(
        ratios[i] for i in range(1, len(ratios)) if min(ratios[i - 1][1], ratios[i][1]) > 0.5
    )
    (evidence,) = verdict["evidence"]
    assert evidence["step"] == step
    assert evidence["value"] == pytest.approx(ratio, rel=1e-5)

    right = fit(str(tmp_path / "right"), blobs(96, 0.0, seed=1), blobs(48, 0.0, seed=2), epochs=4)
    assert max((ev - tr) / tr for _, tr, ev in evaluations(right)) < 0.5
    healthy = check(tmp_path / "right", "Overfit", ratio_threshold=0.5, patience=2)
    assert healthy["status"] == "NoIssuesFound"


def stale_steps(seen, mode, delta):
    """For each step, how many losses of `mode` came since its last new best."""
    best, stale, counts = np.inf, 0, []
    for of_mode, loss in seen:
        if of_mode == mode:
            stale = 0 if loss < best - delta else stale + 1
            best = min(best, loss) if stale == 0 else best
        counts.append(stale)
    return counts


def test_overtraining_fires_where_a_training_goes_on_after_its_best(tmp_path):
    data = blobs(48, 0.0, seed=1), blobs(48, 0.0, seed=2)
    long = fit(str(tmp_path / "long"), *data, epochs=12, learning_rate=0.03)
    verdict = check(tmp_path / "long", "Overtraining")
    assert verdict["status"] == "IssuesFound"
    expected = next(
        step
        for step, (train, validation) in enumerate(
            zip(stale_steps(long, "TRAIN", 0.01), stale_steps(long, "EVAL", 0.01), strict=True)
        )
        if train >= 5 and validation >= 10
    )
    assert verdict["step"] == expected
    assert {row["threshold"] for row in verdict["evidence"]} == {5, 10}

    fit(str(tmp_path / "short"), *data, epochs=3, learning_rate=0.002)
    assert "too few" in check(tmp_path / "short", "Overtraining")["message"]


def test_rules_that_need_a_validation_loss_say_that_there_is_none(tmp_path):
    out_dir = str(tmp_path / "run")
    model, loss_function = Classifier(20, 4, 2), torch.nn.CrossEntropyLoss()
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        hook.register_loss(loss_function)
        hook.set_mode(smd.modes.TRAIN)
        for points, labels in batches(blobs(48, 0.0, seed=1), 8):
            loss_function(model(points), labels).backward()
    for rule in ("Overfit", "Overtraining"):
        verdict = check(out_dir, rule)
        assert verdict["status"] == "Error"
        assert "nothing to judge" in verdict["message"]


def classify(out_dir, share_of_ones, *, named):
    """Trains on labels of 0 and 1; saves them by name, or leaves them to the loss's inputs."""
    torch.manual_seed(0)
    random = np.random.RandomState(3)
    labels = torch.tensor((random.rand(600) < share_of_ones).astype(np.int64))
    points = torch.randn(600, 20) + 2 * labels[:, None]
    model, loss_function = Classifier(20, 8, 2), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    patterns = [] if named else ["Loss_input"]
    with smd.Hook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_regex=patterns
    ) as hook:
        hook.register_module(model)
        hook.register_loss(loss_function)
        for x, y in batches((points, labels), 50):
            optimizer.zero_grad()
            scores = model(x)
            if named:
                hook.save_tensor("labels", y)
                hook.save_tensor("predictions", scores.argmax(1))
            loss_function(scores, y).backward()
            optimizer.step()
    return labels.numpy()


@pytest.mark.parametrize("named", [True, False])
def test_class_imbalance_fires_on_rare_labels_and_not_on_balanced_ones(tmp_path, named):
    labels = classify(str(tmp_path / "rare"), 0.04, named=named)
    verdict = check(tmp_path / "rare", "ClassImbalance", threshold_misprediction=1)
    assert verdict["status"] == "IssuesFound", verdict
    # Judged as soon as 500 labels were seen, ten batches of 50.
    counts = np.bincount(labels[:500])
    (evidence,) = verdict["evidence"]
    assert evidence["value"] == pytest.approx(counts.max() / counts.min())
    assert verdict["step"] == 9
    assert f"{counts.max()} labels" in verdict["message"]

    classify(str(tmp_path / "balanced"), 0.5, named=named)
    assert check(tmp_path / "balanced", "ClassImbalance")["status"] == "NoIssuesFound"


def test_a_run_started_for_a_rule_saves_the_labels_that_it_needs(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "torch.manual_seed(0)\n"
        "model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()\n"
        "for step in range(101):\n"
        "    labels = (torch.arange(64) == 5).long()\n"
        "    loss(model(torch.randn(64, 4)), labels).backward()\n"
    )
    command = pathlib.Path(sys.executable).parent / "smdebug"
    done = subprocess.run(
        [command, "run", "--json", "--out", tmp_path / "run", "--rule", "ClassImbalance"]
        + ["--", sys.executable, script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 3, done.stderr
    assert "class 0 has 504 labels and class 1 has 8" in done.stderr
    # The loss is found when it is first called, in step 0: its inputs are saved from then on.
    np.testing.assert_array_equal(
        read(str(tmp_path / "run")).tensor("CrossEntropyLoss_input_1").value(10),
        (np.arange(64) == 5).astype(np.int64),
    )


@pytest.fixture
def golden(tmp_path):
    """A run of the original's XGBoost hook: rounds 0, 2 and 4, two features, trees of depth 2."""
    shutil.copytree(GOLDEN, tmp_path / "golden")
    return tmp_path / "golden"


def test_rules_of_boosted_trees_judge_a_run_of_the_original(golden):
    trial = read(str(golden))
    nodes = max(trial.tensor("trees/Node").value(step).max() for step in trial.steps())
    assert np.floor(np.log2(nodes + 1)) == 2
    assert check(golden, "TreeDepth", depth=1)["evidence"][0]["value"] == 2
    assert check(golden, "TreeDepth", depth=2)["status"] == "NoIssuesFound"

    names = [name for name in trial.tensor_names() if name.startswith("feature_importance/weight/")]
    shares = {
        step: [
            float(trial.tensor(name).value(step)[0])
            for name in names
            if step in trial.tensor(name).steps()
        ]
        for step in trial.steps()
    }
    assert [len(of_step) for of_step in shares.values()] == [1, 2, 2]
    verdict = check(golden, "FeatureImportanceOverweight", nfeatures=1)
    assert (verdict["status"], verdict["step"]) == ("IssuesFound", 2)
    assert verdict["evidence"][0]["value"] == pytest.approx(max(shares[2]) / sum(shares[2]))
    above = check(golden, "FeatureImportanceOverweight", nfeatures=1, threshold=0.84)
    assert above["status"] == "NoIssuesFound"
    # Three features of two say nothing.
    too_few = check(golden, "FeatureImportanceOverweight")
    assert too_few["status"] == "Error"
    assert "the largest 3 always" in too_few["message"]


def test_confusion_judges_a_run_of_the_original(golden):
    trial = read(str(golden))
    first_bad = None
    for step in trial.steps():
        labels = trial.tensor("labels").value(step).astype(int)
        predicted = np.round(trial.tensor("predictions").value(step)).astype(int)
        matrix = np.zeros((2, 2))
        np.add.at(matrix, (labels, predicted), 1)
        right = np.diag(matrix) / matrix.sum(axis=0)
        if first_bad is None and right.min() < 0.9:
            first_bad = step, right.min()
    assert first_bad == (0, 0.75)
    verdict = check(golden, "Confusion")
    assert (verdict["status"], verdict["step"]) == ("IssuesFound", 0)
    assert verdict["evidence"][0]["value"] == 0.75
    # Later rounds tell the two classes apart.
    later = check(golden, "Confusion", start_step=1, category_no=2)
    assert later["status"] == "NoIssuesFound"


def test_overfit_pairs_the_losses_of_a_run_of_the_original(golden):
    trial = read(str(golden))
    ratios = {}
    for step in trial.steps():
        train = float(trial.tensor("train-logloss").value(step)[0])
        validation = float(trial.tensor("validation-logloss").value(step)[0])
        ratios[step] = (validation - train) / train
    assert [step for step, ratio in ratios.items() if ratio > 0.05] == [4]
    verdict = check(golden, "Overfit", ratio_threshold=0.05, tensor_regex="logloss")
    assert (verdict["status"], verdict["step"]) == ("IssuesFound", 4)
    assert verdict["evidence"][0]["value"] == pytest.approx(ratios[4], rel=1e-9)
