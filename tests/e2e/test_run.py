"""The main job: `smdebug run` on scripts that know nothing of smdebug.

These run the installed command, whose `.pth` file is what reaches the scripts.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from smdebug.trials import create_trial

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
DIGITS = ROOT / "examples/digits/train.py"


def smdebug(*arguments, cwd=None):
    done = subprocess.run(
        [str(word) for word in (SMDEBUG, *arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=cwd,
    )
    return done


def line_of(title, done):
    """The line of the summary that begins with `title`."""
    return next(line for line in done.stderr.splitlines() if line.strip().startswith(title))


def script(folder, text):
    path = folder / "train.py"
    path.write_text(text)
    return path


def test_a_healthy_training_ends_with_nothing_found(tmp_path):
    run = tmp_path / "healthy"
    done = smdebug(
        "run", "--out", run, "--stop", "--", sys.executable, DIGITS, "--epochs", "8", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "epoch 7" in done.stdout
    assert "smdebug: nothing found" in done.stderr
    assert "VanishingGradient" in line_of("no issue", done)
    said = done.stderr[done.stderr.index("smdebug: nothing found") :]
    assert len(said.splitlines()) <= 10, said
    assert "TreeDepth" not in done.stderr and "pattern" not in done.stderr
    trial = create_trial(str(run))
    assert trial.loaded_all_steps
    losses = trial.tensor("CrossEntropyLoss_output_0")
    assert losses.value(losses.steps()[-1]) < losses.value(losses.steps()[0])


@pytest.mark.parametrize("fault", [[], ["--planted-fault"]])
def test_a_watch_ends_with_the_text_of_the_run(tmp_path, fault):
    run = tmp_path / "run"
    rules = ("--rule", "VanishingGradient", "--rule", "ExplodingTensor", "--rule", "TreeDepth")
    launched = smdebug(
        "run", "--out", run, *rules, "--", sys.executable, DIGITS, *fault, "--epochs", "2"
    )
    watched = smdebug("watch", run, *rules)
    assert watched.returncode == launched.returncode == (3 if fault else 1), watched.stderr

    def rows(text):
        text = text[text.rindex("smdebug: ") :]
        rows = [" ".join(line.split()) for line in text.splitlines()]
        return [row for row in rows if not row.startswith("training ")]

    # `run` leaves out more of them, because it has printed more before.
    short, whole = rows(launched.stderr), rows(watched.stdout)
    assert len(short) >= 5
    assert [row for row in whole if row in short] == short
    assert len(rows(watched.stdout)) < (12 if fault else 10)


def test_a_planted_fault_is_found_live_and_the_training_is_stopped(tmp_path):
    run = tmp_path / "faulty"
    done = smdebug(
        *("run", "--json", "--out", run, "--rule", "VanishingGradient", "--stop", "--"),
        *(sys.executable, DIGITS, "--planted-fault", "--epochs", "500"),
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stderr
    assert "epoch 499" not in done.stdout

    trial = create_trial(str(run))
    verdict = json.dumps(json.loads(done.stdout[done.stdout.index("{") :]))
    assert "VanishingGradient" in verdict and "IssuesFound" in verdict
    # The evidence is what the run holds: the first layer's gradient, at the first saved step.
    gradient = trial.tensor("gradient/Sequential_0.weight")
    mean = gradient.reduction_value(0, "mean", abs=True)
    assert 0 < mean < 1e-7
    assert "gradient/Sequential_0.weight" in verdict


# Images between 0 and 1, as torchvision's ToTensor returns them.
UNCENTERED = """
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(120):
    images = torch.rand(256, 1, 8, 8)
    labels = (images.mean(dim=(1, 2, 3)) > 0.5).long()
    loss = torch.nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("went on to the end")
"""


def test_images_between_0_and_1_are_fine_unless_the_user_asks_for_their_rule(tmp_path):
    trainer = script(tmp_path, UNCENTERED)
    run = ("run", "--stop", "--json", "--out")
    done = smdebug(*run, tmp_path / "run", "--", sys.executable, trainer)
    assert "went on to the end" in done.stdout, done.stderr
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout[done.stdout.index("{") :])
    status = {each["rule"]: each["status"] for each in told["verdicts"]}
    assert "IssuesFound" not in status.values()
    assert status["CheckInputImages"] == "NoIssuesFound"

    named = smdebug(
        *run, tmp_path / "named", "--rule", "CheckInputImages", "--", sys.executable, trainer
    )
    assert named.returncode == 3, named.stderr


def test_watching_changes_no_bit_of_what_an_unmodified_script_prints(tmp_path):
    plain = subprocess.run(
        [sys.executable, DIGITS, "--epochs", "3"], capture_output=True, text=True, timeout=240
    )
    done = smdebug(
        "run",
        "--out",
        tmp_path / "run",
        "--",
        sys.executable,
        DIGITS,
        "--epochs",
        "3",
        cwd=tmp_path,
    )
    assert done.stdout == plain.stdout


def test_a_recording_that_fails_does_not_end_with_nothing_found(tmp_path):
    run = tmp_path / "full"
    command = f"ulimit -f 20; exec {sys.executable} {DIGITS} --epochs 2"  # 20 KiB a file
    done = smdebug("run", "--out", run, "--rule", "WeightUpdateRatio", "--", "bash", "-c", command)
    assert "epoch 1" in done.stdout
    assert "smdebug: the recording failed; no rule fired before" in done.stderr, done.stderr
    assert "File too large" in line_of("problem", done)
    assert "nothing found" not in done.stderr
    shown = smdebug("show", run)
    assert "not all of it was recorded" in shown.stdout and "File too large" in shown.stdout


def test_a_rule_in_python_judges_while_it_trains(tmp_path):
    (tmp_path / "my_rules.py").write_text(
        "from smdebug.rules import Rule\n"
        "class LossAbove(Rule):\n"
        "    def __init__(self, base_trial, limit='1.0'):\n"
        "        super().__init__(base_trial)\n"
        "        self.limit = float(limit)\n"
        "    def invoke_at_step(self, step):\n"
        "        loss = self.base_trial.tensor('CrossEntropyLoss_output_0')\n"
        "        return step in loss.steps() and loss.value(step) > self.limit\n"
    )
    done = smdebug(
        *("run", "--out", tmp_path / "run", "--stop", "--rule", "my_rules.py:LossAbove"),
        *("--set", "limit=0.5", "--", sys.executable, DIGITS, "--epochs", "200"),
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stderr
    assert "LossAbove: IssuesFound" in done.stderr
    assert "epoch 199" not in done.stdout


XGBOOST = """
import numpy, xgboost
rows = numpy.random.RandomState(0).rand(200, {columns})
labels = (rows[:, -1] > 0.5).astype(int)
matrix = xgboost.DMatrix(rows, labels)
parameters = {{'objective': 'binary:logistic', 'nthread': 1}}
xgboost.train(parameters, matrix, 30, evals=[(matrix, 'train')], verbose_eval=False)
"""


def test_a_default_rule_that_found_too_little_says_why_it_judged_nothing(tmp_path):
    single = script(tmp_path, XGBOOST.format(columns=1))
    done = smdebug(
        *("run", "--verbose", "--out", tmp_path / "run", "--", sys.executable, single), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "the model uses a single feature" in done.stderr
    done = smdebug("run", "--out", tmp_path / "other", "--", sys.executable, single, cwd=tmp_path)
    assert "FeatureImportanceOverweight" in line_of("too little", done)
    assert "DeadRelu" not in done.stderr


def test_a_feature_that_is_the_label_is_found_if_the_model_uses_no_other(tmp_path):
    leaking = script(tmp_path, XGBOOST.format(columns=5))
    done = smdebug("run", "--out", tmp_path / "run", "--", sys.executable, leaking, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "the model uses only 1 of 5 features" in line_of("found", done)
    assert "leaks the label" in line_of("cause", done)


def test_a_trainer_behind_a_shell_script_is_reached(tmp_path):
    shell = tmp_path / "train.sh"
    shell.write_text(f"#!/bin/sh\nexec {sys.executable} {DIGITS} --epochs 2\n")
    shell.chmod(0o755)
    done = smdebug("run", "--out", tmp_path / "run", "--", shell, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "gradient/Sequential_0.weight" in create_trial(str(tmp_path / "run")).tensor_names()


DDP = """
import atexit
import os

# At interpreter exit a thread of torch's that waits for the GIL is unwound and aborts the process,
# with or without smdebug, in about one of five runs. Registered first, this runs last.
atexit.register(os._exit, 0)

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    loss = torch.nn.functional.mse_loss(model(torch.randn(4, 3)), torch.zeros(4, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


def test_torchrun_gives_one_run_with_a_worker_per_rank(tmp_path):
    trainer = script(tmp_path, DDP)
    run = tmp_path / "run"
    done = smdebug(
        *("run", "--out", run, "--rule", "ExplodingTensor", "--"),
        *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
        *("--master-port", "0", "--standalone", trainer),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(run))
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps() == [*range(5), 10]
    loss = trial.tensor("loss_output_0")
    values = [loss.value(10, worker=worker) for worker in trial.workers()]
    assert all(np.isfinite(value) for value in values)


def test_a_finding_on_two_workers_counts_each_gradient_once(tmp_path):
    trainer = script(tmp_path, DDP.replace("loss.backward()", "(loss * 1e-12).backward()"))
    done = smdebug(
        *("run", "--json", "--out", tmp_path / "run", "--rule", "VanishingGradient", "--"),
        *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
        *("--master-port", "0", "--standalone", trainer),
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stderr
    # The gradients of one linear layer: its weight and its bias, on each worker.
    assert "this applies to 2 of 2 gradients of this step, on 2 workers" in done.stderr
    (verdict,) = json.loads(done.stdout[done.stdout.index("{") :])["verdicts"]
    assert {each["worker"] for each in verdict["evidence"]} == {"worker_0", "worker_1"}
    assert len(verdict["evidence"]) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rule", "VanishingGradiant"], "VanishingGradient"),
        (["--rule", "VanishingGradient", "--set", "treshold=1"], "threshold"),
        (["--rule", "VanishingGradient", "--set", "threshold=small"], "small"),
        (["--rule", "AllZero", "--set", "tensor_regex=(("], "pattern '((' does not compile"),
    ],
)
def test_a_mistake_in_the_rules_is_said_before_anything_runs(tmp_path, arguments, words):
    done = smdebug("run", *arguments, "--", sys.executable, DIGITS, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "epoch" not in done.stdout
