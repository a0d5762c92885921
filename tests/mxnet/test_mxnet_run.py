"""`smdebug run` on Gluon scripts that know nothing of smdebug."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from conftest import run_text, smd

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
DIGITS = ROOT / "examples/mxnet/digits.py"

# A net, a loss and a trainer; `sys.argv` says what is planted.
SCRIPT = """
import sys
import mxnet as mx
from mxnet import autograd, gluon
mx.random.seed(1)
net = gluon.nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(gluon.nn.Dense(8, activation="relu"), gluon.nn.Dense(1))
net.initialize()
if "hybrid" in sys.argv:
    net.hybridize()
loss = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
x = mx.nd.random.uniform(shape=(16, 4))
losses = []
for step in range(20):
    with autograd.record():
        if "functional" in sys.argv:
            value = ((net(x) - 1) ** 2).mean()
        else:
            value = loss(net(x), mx.nd.ones((16, 1)))
    value.backward(retain_graph="twice" in sys.argv)
    if "twice" in sys.argv:
        value.backward()
    trainer.step(16)
    losses.append(float(value.mean().asscalar()))
    if step % 10 == 9:
        loss(net(x), mx.nd.ones((16, 1)))
print("done", gluon.Block.__call__.__module__)
print("losses", losses)
"""


def smdebug(*arguments, cwd=None):
    return subprocess.run(
        [str(word) for word in (SMDEBUG, *arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=cwd,
    )


def run(tmp_path, *words, text=SCRIPT, options=()):
    script = tmp_path / "train.py"
    script.write_text(text)
    done = smdebug("run", "--out", tmp_path / "run", *options, "--", sys.executable, script, *words)
    assert done.returncode == 0, done.stderr
    return done, smd.create_trial(tmp_path / "run")


@pytest.mark.parametrize("words", [[], ["hybrid"]])
def test_a_script_is_recorded_with_its_modes_losses_and_gradients(tmp_path, words):
    done, trial = run(tmp_path, *words)
    assert "done mxnet.gluon.block" in done.stdout
    assert "smdebug: nothing found" in done.stderr
    assert trial.steps(mode=smd.modes.TRAIN) == [*range(5), 10]
    assert trial.steps(mode=smd.modes.EVAL) == [0, 1]
    assert "gradient/net_dense0_weight" in trial.tensor_names(mode=smd.modes.TRAIN, step=0)
    (loss,) = trial.tensor_names(collection="losses")
    assert loss == "l2loss0_output_0"
    assert trial.tensor(loss).steps(mode=smd.modes.EVAL) == [0, 1]
    values = [trial.tensor(loss).value(step, mode=smd.modes.TRAIN).mean() for step in (0, 10)]
    assert values[1] < values[0]


def test_a_script_that_imports_smdebug_before_mxnet_is_recorded(tmp_path):
    done, trial = run(tmp_path, text="from smdebug.mxnet import Hook\n" + SCRIPT)
    assert "not recorded" not in done.stderr
    assert trial.steps(mode=smd.modes.TRAIN) == [*range(5), 10]


@pytest.mark.parametrize("words", [[], ["twice"]])
def test_a_loss_that_no_block_gives_is_recorded_where_backward_starts(tmp_path, words):
    _, trial = run(tmp_path, "functional", *words)
    assert "loss_output_1" not in trial.tensor_names()
    losses = trial.tensor("loss_output_0")
    assert losses.steps(mode=smd.modes.TRAIN) == [*range(5), 10]
    assert np.asarray(losses.value(0, mode=smd.modes.TRAIN)).size == 1


@pytest.mark.parametrize("words", [[], ["hybrid"], ["functional"], ["functional", "twice"]])
def test_the_loss_of_every_step_is_a_series_under_the_name_of_its_tensor(tmp_path, words):
    done, trial = run(tmp_path, *words)
    (printed,) = (line for line in done.stdout.splitlines() if line.startswith("losses "))
    name = "loss_output_0" if "functional" in words else "l2loss0_output_0"
    assert set(trial.series_names()) == {name, "l2loss0_output_0", "learning_rate/SGD/0"}
    steps, noted = zip(*trial.series(name, mode=smd.modes.TRAIN), strict=True)
    assert list(steps) == list(range(20))
    np.testing.assert_allclose(noted, json.loads(printed.removeprefix("losses ")), 1e-6)
    saved = trial.tensor("l2loss0_output_0")
    means = [saved.value(step, mode=smd.modes.EVAL).mean() for step in (0, 1)]
    steps, noted = zip(*trial.series("l2loss0_output_0", mode=smd.modes.EVAL), strict=True)
    assert list(steps) == [0, 1]
    np.testing.assert_allclose(noted, means, 1e-6)


def test_the_facts_name_frozen_parameters_and_their_optimizer(tmp_path):
    frozen = 'net[0].collect_params().setattr("grad_req", "null")\nloss ='
    script = SCRIPT.replace("loss =", frozen, 1).replace(
        'gluon.nn.Dense(8, activation="relu")',
        'gluon.nn.Dense(8, activation="relu"), gluon.nn.BatchNorm()',
    )
    done, trial = run(tmp_path, text=script)
    assert "2 of 6 parameters are frozen: net_dense0_weight, net_dense0_bias" in done.stderr
    worker = trial.facts()[-1]
    parameters = {each.tensor: each for each in worker.facts.parameters}
    # Without the running statistics, which no trainer updates.
    assert set(parameters) == {
        *("net_dense0_weight", "net_dense0_bias", "net_dense1_weight", "net_dense1_bias"),
        *("net_batchnorm0_gamma", "net_batchnorm0_beta"),
    }
    weight, head = parameters["net_dense0_weight"], parameters["net_dense1_weight"]
    assert (weight.is_trainable, weight.updated_by) == (False, None)
    assert (head.is_trainable, head.updated_by) == (True, (0, 0))
    assert (head.shape, head.dtype, head.device) == ([1, 8], "float32", "cpu")
    (optimizer,) = worker.facts.optimizers
    assert (optimizer.kind, optimizer.groups[0].parameters) == ("SGD", 4)
    assert optimizer.groups[0].settings == {
        **{"momentum": 0, "weight_decay": 0, "rescale_grad": 1 / 16}
    }


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (None, [0.01] * 20),
        # It is halved after every third update.
        (
            "mx.lr_scheduler.FactorScheduler(step=3, factor=0.5)",
            [0.01 * 0.5 ** (update // 3) for update in range(20)],
        ),
        ("Counting()", None),
    ],
)
def test_the_learning_rate_of_every_update_is_a_series(tmp_path, schedule, rates):
    given = '{"learning_rate": 0.01}'
    script = SCRIPT.replace(
        given, f'{{"learning_rate": 0.01, "lr_scheduler": {schedule}}}' if schedule else given
    ).replace(
        "net = gluon",
        """
class Counting(mx.lr_scheduler.LRScheduler):
    calls = 0
    def __call__(self, num_update):
        self.calls += 1
        return 0.01
net = gluon""",
        1,
    )
    if schedule == "Counting()":
        script += "print('calls', trainer._optimizer.lr_scheduler.calls)\n"
    done, trial = run(tmp_path, text=script)
    if rates is None:
        assert "learning_rate/SGD/0" not in trial.series_names()
        alone = tmp_path / "alone.py"
        alone.write_text(script)
        told = subprocess.run(
            [sys.executable, alone], capture_output=True, text=True, check=True
        ).stdout
        assert done.stdout.splitlines()[-1] == told.splitlines()[-1]
        return
    steps, noted = zip(*trial.series("learning_rate/SGD/0", mode=smd.modes.TRAIN), strict=True)
    assert list(steps) == list(range(20))
    np.testing.assert_allclose(noted, rates, 1e-9)


def test_a_planted_fault_is_found_live_and_the_training_is_stopped(tmp_path):
    done = smdebug(
        *("run", "--out", tmp_path / "run", "--rule", "VanishingGradient", "--stop", "--"),
        *(sys.executable, "-W", "ignore", DIGITS, "--planted-fault", "--epochs", "500"),
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stderr
    assert "epoch 499" not in done.stdout
    assert "IssuesFound" in done.stderr
    gradient = smd.create_trial(tmp_path / "run").tensor("gradient/digits_dense0_weight")
    assert gradient.reduction_value(0, "mean", abs=True, mode=smd.modes.TRAIN) < 1e-7


def test_the_healthy_script_ends_with_nothing_found(tmp_path):
    done = smdebug(
        *("run", "--out", tmp_path / "run", "--stop", "--"),
        *(sys.executable, "-W", "ignore", DIGITS, "--epochs", "2"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "epoch 1" in done.stdout and "smdebug: nothing found" in done.stderr


def test_a_script_that_calls_forward_alone_is_told_why_nothing_is_recorded(tmp_path):
    script = SCRIPT.replace("net(x)", "net.forward(x)").replace("HybridSequential(", "Dense(1, ")
    script = script.replace("    net.add", "    pass #")
    done = smdebug("run", "--out", tmp_path / "run", "--", *_written(tmp_path, script))
    assert "done" in done.stdout
    assert "called as net(x), not as net.forward(x)" in done.stderr


def _written(tmp_path, text):
    path = tmp_path / "train.py"
    path.write_text(text)
    return sys.executable, path


def test_a_script_with_two_nets_in_turn_records_both_in_one_step(tmp_path):
    script = """
import mxnet as mx
from mxnet import autograd, gluon
def dense(name):
    net = gluon.nn.Dense(2, prefix=name)
    net.initialize()
    return net, gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
(one, first), (two, second) = dense("one_"), dense("two_")
x = mx.nd.ones((4, 2))
for step in range(11):
    for net, trainer in ((one, first), (two, second)):
        with autograd.record():
            value = (net(x) ** 2).mean()
        value.backward()
        trainer.step(4)
"""
    _, trial = run(tmp_path, text=script)
    assert trial.steps(mode=smd.modes.TRAIN) == [*range(5), 10]
    names = trial.tensor_names(step=10, mode=smd.modes.TRAIN)
    assert {"gradient/one_weight", "gradient/two_weight"} <= set(names)


def test_a_process_that_never_trains_leaves_no_trace(tmp_path):
    done = run_text(
        tmp_path,
        "import mxnet; mxnet.nd.ones((2,)).asnumpy(); print('fine')",
        environment={"SMDEBUG_RUN": '{"out_dir": "%s"}' % (tmp_path / "run")},
    )
    assert "fine" in done.stdout and not (tmp_path / "run").exists()
