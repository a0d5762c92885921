"""What a hook tells rules of the first data of a training with Gluon: inputs, losses and labels."""

import math

import mxnet as mx
import numpy as np
import pytest
from gluon_nets import stack
from mxnet import autograd, gluon

from conftest import smd
from smdebug.rules.builtin_rule import builtin

ROWS, BATCH, FEATURES = 144, 12, 4


def random():
    return np.random.RandomState(5)


def inputs():
    return (3 + 2 * random().normal(size=(ROWS, FEATURES))).astype("float32")


def labels(classes=3):
    return random().randint(0, classes, ROWS).astype("float32")


def amounts():
    return random().uniform(-2, 2, (ROWS, 1)).astype("float32")


def trained(out_dir, loss, x, y, outputs=1, steps=12, learning_rate=0.01, hybridize=False, **how):
    """The facts and the trial of a training with a hook. Returns also its last weights."""
    mx.random.seed(1)
    np.random.seed(1)
    net = stack("relu", 1, 6, outputs, prefix="net_")
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
        loss.hybridize()
    hook = None
    if out_dir is not None:
        hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
        hook.register_block(net)
        hook.register_block(loss)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": learning_rate})
    for step in range(steps):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        batch = mx.nd.array(x[rows]), mx.nd.array(y[rows])
        with autograd.record():
            value = loss(net(batch[0]), batch[1], *(each[rows] for each in how.values()))
        value.backward()
        trainer.step(BATCH)
    weights = [each.data().asnumpy() for each in net.collect_params().values()]
    if hook is None:
        return weights
    hook.close()
    assert hook.status().error is None
    trial = smd.create_trial(out_dir)
    return trial.facts()[-1].facts, trial, weights


def test_inputs_are_told_with_their_scale_and_the_first_layer(out_dir):
    x = inputs()
    facts, _, _ = trained(out_dir, gluon.loss.L2Loss(), x, amounts())
    (told,) = facts.inputs
    measured = x[: 10 * BATCH]
    assert (told.tensor, told.received_by, told.steps) == ("net_input_0", "Dense", 10)
    assert told.shape == [BATCH, FEATURES]
    assert told.mean == pytest.approx(measured.mean(), rel=1e-5)
    assert told.deviation == pytest.approx(measured.std(), rel=1e-5)


def test_inputs_of_evaluations_are_told_apart(out_dir):
    net = stack("relu", 1, 6, 1, prefix="net_")
    net.initialize(mx.init.Xavier())
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_block(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    x = inputs()
    for step in range(12):
        rows = x[step * BATCH :][:BATCH]
        with autograd.record():
            loss = net(mx.nd.array(rows)).square().mean()
        loss.backward()
        trainer.step(1)
        if step == 3:
            net(mx.nd.array(255 * rows))
    hook.close()
    facts = smd.create_trial(out_dir).facts()[-1].facts
    (trained_on,), (evaluated,) = facts.inputs, facts.evaluation_inputs
    assert (trained_on.steps, evaluated.steps) == (10, 1)
    assert trained_on.high == pytest.approx(x[: 10 * BATCH].max())
    assert evaluated.low == pytest.approx(255 * x[3 * BATCH : 4 * BATCH].min())


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_cross_entropy_is_told_with_its_classes_and_labels(out_dir, hybridize):
    y = labels()
    loss = gluon.loss.SoftmaxCrossEntropyLoss(prefix="loss_")
    facts, _, _ = trained(out_dir, loss, inputs(), y, outputs=3, hybridize=hybridize)
    (told,) = facts.losses
    assert (told.tensor, told.kind) == ("loss_output_0", "SoftmaxCrossEntropyLoss")
    assert told.reduction == "mean"
    given = told.input
    assert (given.function, given.shape, given.steps) == ("cross_entropy", [BATCH, 3], 10)
    counts = np.unique(y[: 10 * BATCH], return_counts=True)[1]
    targets = given.targets
    assert (targets.classes, targets.labels) == (3, 10 * BATCH)
    assert (targets.largest_class, targets.smallest_class) == (counts.max(), counts.min())


@pytest.mark.parametrize("weight, reduction", [(1, "half_mean"), (2, "mean"), (3, "scaled_mean")])
def test_a_regression_is_told_with_the_factor_of_its_mean(out_dir, weight, reduction):
    y = amounts()
    facts, trial, _ = trained(out_dir, gluon.loss.L2Loss(weight, prefix="loss_"), inputs(), y)
    (told,) = facts.losses
    assert (told.input.function, told.reduction) == ("mse_loss", reduction)
    assert told.input.targets.deviation == pytest.approx(y[: 10 * BATCH].std(), rel=1e-5)
    # The factor by which Gluon multiplies the mean square of an error of 1.
    factor = {"half_mean": 0.5, "mean": 1, "scaled_mean": 1.5}[reduction]
    assert gluon.loss.L2Loss(weight)(mx.nd.ones((1, 1)), mx.nd.zeros((1, 1))).asscalar() == factor


@pytest.mark.parametrize(
    "loss, function",
    [
        (lambda: gluon.loss.SigmoidBCELoss(), "binary_cross_entropy_with_logits"),
        (lambda: gluon.loss.SigmoidBCELoss(from_sigmoid=True), "binary_cross_entropy"),
        (lambda: gluon.loss.L1Loss(), "l1_loss"),
        (lambda: gluon.loss.HuberLoss(), None),
    ],
)
def test_other_losses_are_told_as_far_as_they_are_known(out_dir, loss, function):
    facts, _, _ = trained(out_dir, loss(), inputs(), labels(2)[:, None])
    (told,) = facts.losses
    assert (told.input and told.input.function) == function


def test_weights_of_samples_hide_the_labels(out_dir):
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    ones = mx.nd.ones((ROWS, 1))
    facts, _, _ = trained(out_dir, loss, inputs(), labels(), outputs=3, weights=ones)
    assert facts.losses[0].input.targets is None


def test_a_loss_of_the_script_has_no_known_function(out_dir):
    class Own(gluon.loss.L2Loss):
        pass

    facts, _, _ = trained(out_dir, Own(), inputs(), amounts())
    assert [(each.kind, each.input) for each in facts.losses] == [("Own", None)]


def test_nan_in_the_inputs_is_found(out_dir):
    x = inputs()
    x[3 * BATCH] = np.nan
    facts, _, _ = trained(out_dir, gluon.loss.L2Loss(), x, amounts())
    assert facts.inputs[0].not_finite == 3


@pytest.mark.parametrize("is_target", [True, False])
def test_a_feature_that_is_the_target_is_told(out_dir, is_target):
    x = inputs()
    y = x[:, 2:3] / 7 if is_target else amounts()
    facts, _, _ = trained(out_dir, gluon.loss.L2Loss(), x, y)
    assert facts.losses[0].input.revealing_feature == (2 if is_target else None)


def test_sorted_labels_are_found(out_dir):
    y = np.repeat([0, 1, 2], ROWS // 3).astype("float32")
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    _, trial, _ = trained(out_dir, loss, inputs(), y, outputs=3)
    assert "the labels of a step are alike" in builtin("LabelsAndInputs", trial).judge()["message"]


def test_a_loss_that_stays_at_that_of_a_guess_is_named(out_dir):
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    x = np.zeros((ROWS, FEATURES), "float32")  # of which nothing can be learned
    y = np.arange(ROWS).astype("float32") % 3
    _, trial, _ = trained(out_dir, loss, x, y, outputs=3, steps=300, learning_rate=0.5)
    message = builtin("LossNotDecreasing", trial, preset="tuned").judge()["message"]
    assert f"{math.log(3):.4g}" in message


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_the_shift_of_targets_against_the_tokens_is_told(out_dir, shift):
    tokens = random().randint(0, 9, (BATCH, 14)).astype("float32")
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Embedding(9, 4), gluon.nn.Dense(9, flatten=False))
    net.initialize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_block(net)
        hook.register_block(loss)
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        for _ in range(4):
            with autograd.record():
                scores = net(mx.nd.array(tokens[:, :12]))
                value = loss(scores, mx.nd.array(tokens[:, shift : 12 + shift]))
            value.backward()
            trainer.step(BATCH)
    (told,) = smd.create_trial(out_dir).facts()[-1].facts.losses
    assert told.input.target_shift == shift


def test_the_weights_are_the_same_to_the_bit_with_and_without_a_hook(out_dir):
    for hybridize in (False, True):
        runs = [
            trained(
                folder,
                gluon.loss.SoftmaxCrossEntropyLoss(),
                inputs(),
                labels(),
                outputs=3,
                hybridize=hybridize,
            )
            for folder in (f"{out_dir}_{hybridize}", None)
        ]
        for ours, plain in zip(runs[0][2], runs[1], strict=True):
            np.testing.assert_array_equal(ours, plain)


# --- a registered block that no trainer updates ---


def test_a_trainer_of_another_net_is_named_at_the_end(out_dir, caplog):
    def made(prefix):
        net = stack("relu", 1, 4, 1, prefix=prefix)
        net.initialize()
        return net

    registered, other = made("registered_"), made("other_")
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_block(registered)
    x = mx.nd.array(inputs()[:BATCH])
    registered(x)
    other(x)
    trainer = gluon.Trainer(other.collect_params(), "sgd")
    for _ in range(2):
        with autograd.record():
            value = (other(x) + registered(x)).mean()
        value.backward()
        trainer.step(BATCH)
    hook.close()
    (text,) = [each.getMessage() for each in caplog.records if "no trainer acted" in each.message]
    assert "such as 'other_dense0_" in text
    assert "hook.register_block(net) with the net that the trainer updates" in text


def test_a_trainer_of_a_further_net_beside_the_registered_one_is_not_named(out_dir, caplog):
    trained(out_dir, gluon.loss.L2Loss(), inputs(), amounts())
    assert "no trainer acted" not in caplog.text
