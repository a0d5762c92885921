"""Rules over Gluon trainings: faults planted in small nets on scikit-learn's digits, and the same
nets without them."""

import numpy as np
import pytest
from gluon_nets import stack, train_step
from mxnet import gluon
from mxnet.gluon import nn
from sklearn.datasets import load_digits

from conftest import EVERY_STEP, Training, mx, smd
from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.rules import Rule

STEPS = 12
BATCH = 120


def digits():
    """1797 images as rows of 64 numbers in 0..1, and their labels, float32."""
    pixels, labels = load_digits(return_X_y=True)
    return (pixels / 16).astype(np.float32), labels.astype(np.float32)


def deep_net(activation, layers):
    return stack(activation, layers, width=64, outputs=10, prefix="deep_")


def train_on_digits(hook, net, learning_rate=0.1, spoil=lambda step, x: x):
    """Trains for some steps; `spoil` may change the batch of a step."""
    mx.random.seed(5)
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    hook.register_block(net)
    hook.register_block(loss)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": learning_rate})
    pixels, labels = digits()
    random = np.random.RandomState(5)
    for step in range(STEPS):
        rows = random.choice(len(pixels), BATCH)
        x, y = mx.nd.array(spoil(step, pixels[rows])), mx.nd.array(labels[rows])
        train_step(net, loss, trainer, x, y)
    hook.close()


def verdict(hook):
    (found,) = hook.verdicts()
    return found


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    ("activation", "layers", "status"),
    [("sigmoid", 14, "IssuesFound"), ("relu", 2, "NoIssuesFound")],
)
def test_a_vanishing_gradient_is_found_in_a_deep_stack_of_sigmoids_alone(
    out_dir, activation, layers, status, hybridize
):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=["VanishingGradient"])
    net = deep_net(activation, layers)
    net.hybridize(hybridize)
    train_on_digits(hook, net)
    found = verdict(hook)
    assert found["status"] == status, found
    if status == "IssuesFound":
        assert found["evidence"][0]["tensor"].startswith("gradient/deep_dense0_")


@pytest.mark.parametrize(
    ("learning_rate", "status"), [(1e12, "IssuesFound"), (0.1, "NoIssuesFound")]
)
def test_an_exploding_tensor_is_found_where_the_learning_rate_is_absurd(
    out_dir, learning_rate, status
):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=["ExplodingTensor"])
    train_on_digits(hook, deep_net("relu", 2), learning_rate)
    assert verdict(hook)["status"] == status


# Gluon's losses are one number per sample: it is their mean that is judged.
@pytest.mark.parametrize(
    ("learning_rate", "status"), [(1e-6, "IssuesFound"), (0.5, "NoIssuesFound")]
)
def test_a_loss_that_does_not_fall_is_found_by_its_mean_over_the_batch(
    out_dir, learning_rate, status
):
    rule = (
        "LossNotDecreasing",
        {
            "preset": "tuned",
            "num_steps": STEPS - 1,
            "average": 1,
            "diff_percent": 5,
            "strict": True,
        },
    )
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=[rule])
    train_on_digits(hook, deep_net("relu", 2), learning_rate)
    found = verdict(hook)
    assert found["status"] == status, found


def test_a_nan_is_found_in_the_step_that_brought_it(out_dir):
    def spoil(step, x):
        if step == 7:
            x[3, 5] = np.nan
        return x

    hook = smd.Hook(
        out_dir, save_config=EVERY_STEP, rules=[("ExplodingTensor", {"only_nan": True})]
    )
    train_on_digits(hook, deep_net("relu", 2), spoil=spoil)
    found = verdict(hook)
    assert found["status"] == "IssuesFound" and found["step"]["global"] == 7


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("is_dead", [True, False])
def test_dead_relus_are_found_where_no_unit_ever_opens(out_dir, is_dead, hybridize):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=["DeadRelu"])
    net = deep_net("relu", 2)
    net.hybridize(hybridize)
    if is_dead:  # biases so low that no ReLU ever opens
        for layer in list(net)[:2]:
            layer.bias.init = mx.init.Constant(-100)
    train_on_digits(hook, net)
    found = verdict(hook)
    assert found["status"] == ("IssuesFound" if is_dead else "NoIssuesFound"), found
    if is_dead:
        assert "relu_output_0" in found["evidence"][0]["tensor"]


def test_a_relu_is_found_by_its_kind_whatever_its_name(out_dir, read):
    hook = smd.Hook(out_dir, include_collections=["relu_output"], save_config=EVERY_STEP)
    net = nn.HybridSequential(prefix="odd_")
    with net.name_scope():
        net.add(nn.Dense(4), nn.Activation("relu", prefix="gate_"), nn.Activation("tanh"))
    net.initialize()
    hook.register_block(net)
    net(mx.nd.ones((2, 3)))
    hook.close()
    assert read().tensor_names(collection="relu_output") == ["odd_gate_output_0"]


def spoiled_training(hook, bad_step=2, steps=4):
    """Weights before and after each update; the batch of `bad_step` has a NaN."""
    training, moved = Training(hook), []
    training.net.collect_params().initialize(mx.init.Xavier(), force_reinit=True)
    for step in range(steps):
        x, y = training.batch()
        if step == bad_step:
            x[0, 0] = np.nan
        training.backward(x, y)
        before = training.weights()
        training.trainer.step(len(x))
        after = training.weights()
        moved.append(any((before[name] != after[name]).any() for name in before))
    return training, moved


def test_a_skipped_step_moves_no_parameter_and_the_training_recovers(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=["ExplodingTensor"], on_fire="skip_step")
    training, moved = spoiled_training(hook)
    assert moved == [True, True, False, True]
    assert hook.skipped_steps == [2]
    assert all(np.isfinite(value).all() for value in training.weights().values())


@pytest.mark.parametrize(
    ("on_fire", "error"), [("raise", RuleEvaluationConditionMet), ("stop", SystemExit)]
)
def test_a_rule_that_fires_ends_the_training_before_the_update(out_dir, on_fire, error):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=["ExplodingTensor"], on_fire=on_fire)
    training = Training(hook).steps(1)
    x, y = training.batch()
    training.backward(np.full_like(x, np.nan), y)
    before = training.weights()
    with pytest.raises(error):
        training.trainer.step(len(x))
    after = training.weights()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


def test_a_rule_of_the_users_own_judges_gluons_tensors(out_dir):
    class LargeGradient(Rule):
        def invoke_at_step(self, step):
            for name in self.base_trial.tensor_names(step=step, regex="^gradient"):
                if np.abs(self.base_trial.tensor(name).value(step)).max() > 0:
                    return True
            return False

    hook = smd.Hook(
        out_dir, save_config=EVERY_STEP, include_collections=["gradients"], rules=[LargeGradient]
    )
    Training(hook).steps(2)
    hook.close()
    assert verdict(hook)["status"] == "IssuesFound", verdict(hook)


def test_the_inputs_of_a_loss_are_labels_and_scores_for_class_imbalance(out_dir):
    rule = ("ClassImbalance", {"samples": 100})
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=[rule])

    net = deep_net("relu", 2)
    pixels, labels = digits()
    net.initialize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    hook.register_block(net)
    hook.register_block(loss)
    rows = np.flatnonzero(labels == 3)[:100].tolist() + np.flatnonzero(labels == 4)[:2].tolist()
    loss(net(mx.nd.array(pixels[rows])), mx.nd.array(labels[rows]))
    hook.close()
    assert verdict(hook)["status"] == "IssuesFound"
