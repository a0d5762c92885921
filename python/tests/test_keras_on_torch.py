"""Keras 3 on torch: what a callback records of fit, evaluate and predict, against torch itself."""

import json
import os
import subprocess
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import pytest
import torch

import smdebug.tensorflow as smd
from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.trials import create_trial

L = keras.layers
EVERYTHING = [
    "weights", "biases", "gradients", "losses", "metrics", "inputs", "outputs", "layers",
    "optimizer_variables",
]  # fmt: skip
SEED = 20261121
_random = np.random.default_rng(SEED)
X = _random.random((40, 12), np.float32)
Y = _random.integers(0, 5, 40)


def made(optimizer=None, dropout=0.0, **how):
    keras.utils.set_random_seed(SEED)
    first = [keras.Input((12,)), L.Dense(8, activation="relu", name="first"), L.Dropout(dropout)]
    model = keras.Sequential([*first, L.Dense(5, name="second")], name="model")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer or keras.optimizers.SGD(0.5), loss, metrics=["accuracy"], **how)
    return model


def fitted(hook, model, epochs=1, **how):
    callbacks = [] if hook is None else [hook]
    how = {"batch_size": 8, "shuffle": False, "verbose": 0, **how}
    return model.fit(X, Y, epochs=epochs, callbacks=callbacks, **how).history


def recorder(out_dir, collections=EVERYTHING, interval=1, **how):
    config = smd.SaveConfig(save_interval=interval)
    return smd.KerasHook(out_dir, include_collections=[*collections], save_config=config, **how)


def closed(hook):
    hook.close()
    assert hook.status().error is None, hook.status()
    return create_trial(hook.out_dir, timeout=5)


def array(tensor):
    return tensor.detach().cpu().numpy()


def test_tensorflow_is_not_imported(out_dir):
    fitted(recorder(out_dir, ["losses"]), made())
    assert "tensorflow" not in sys.modules


def test_a_step_holds_what_torch_computes(out_dir):
    hook = recorder(out_dir)
    model = made()
    weights = [each.value.detach().clone().requires_grad_() for each in model.trainable_variables]
    fitted(hook, model)
    trial = closed(hook)
    assert trial.steps(mode=smd.modes.TRAIN) == list(range(5))
    w1, b1, w2, b2 = weights
    close = {"rtol": 1e-4, "atol": 1e-5}
    losses = []
    for step in range(5):
        x, y = X[8 * step : 8 * step + 8], Y[8 * step : 8 * step + 8]
        hidden = torch.relu(torch.tensor(x, device=w1.device) @ w1 + b1)
        logits = hidden @ w2 + b2
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(y, device=w1.device))
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= 0.5 * gradient
        losses.append(loss.item())

        def value(name, step=step):
            return trial.tensor(name).value(step)

        np.testing.assert_array_equal(value("inputs"), x)
        np.testing.assert_array_equal(value("labels").reshape(-1), y)
        np.testing.assert_allclose(value("first/outputs"), array(hidden), **close)
        np.testing.assert_allclose(value("second/inputs"), array(hidden), **close)
        np.testing.assert_allclose(value("predictions"), array(logits), **close)
        for name, gradient, weight in (
            ("first/kernel", gradients[0], w1),
            ("second/bias", gradients[3], b2),
        ):
            np.testing.assert_allclose(
                value(f"gradients/model/{name}Grad"), array(gradient), **close
            )
            layer = name.split("/")[0]
            np.testing.assert_allclose(
                value(f"{layer}/weights/model/{name}:0"), array(weight), **close
            )
        # Keras logs the mean since the epoch began.
        np.testing.assert_allclose(value("loss"), [np.mean(losses)], rtol=1e-4)
    rate = f"{model.optimizer.name}/learning_rate:0"
    assert rate in trial.tensor_names(collection="optimizer_variables")
    np.testing.assert_allclose(trial.tensor(rate).value(4), [0.5])


def test_weights_and_history_are_the_same_to_the_bit(out_dir):
    def trained(hook):
        model = made(keras.optimizers.Adam(0.01), dropout=0.3)
        history = fitted(hook, model, epochs=2, validation_data=(X[:12], Y[:12]))
        return history, model.get_weights()

    history, weights = trained(None)
    hook = recorder(out_dir, interval=3)
    watched = trained(hook)
    assert watched[0] == history
    for mine, theirs in zip(watched[1], weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    trial = closed(hook)
    assert trial.tensor("gradients/model/second/kernelGrad").steps(mode=smd.modes.TRAIN) == [
        0, 3, 6, 9,
    ]  # fmt: skip


class ByTorch(keras.callbacks.Callback):
    """Computes the loss of each batch from the weights before its step."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_begin(self, batch, logs=None):
        w1, b1, w2, b2 = (torch.tensor(each) for each in self.model.get_weights())
        here = slice(8 * batch, 8 * batch + 8)
        x, y = torch.tensor(X[here]), torch.tensor(Y[here])
        logits = torch.relu(x @ w1 + b1) @ w2 + b2
        self.losses.append(torch.nn.functional.cross_entropy(logits, y).item())


def test_every_step_has_the_loss_of_its_own_batch_and_its_learning_rate(out_dir):
    plain = made()
    fitted(None, plain, epochs=3)
    hook, expected, model = recorder(out_dir, ["losses"], interval=100), ByTorch(), made()
    hook.note_every_step()
    model.fit(X, Y, 8, 3, 0, callbacks=[expected, hook], shuffle=False, validation_data=(X, Y))
    trial = closed(hook)
    steps, losses = zip(*trial.series("loss", mode=smd.modes.TRAIN), strict=True)
    assert list(steps) == list(range(15))
    np.testing.assert_allclose(losses, expected.losses, rtol=1e-5)
    rates = trial.series("learning_rate/SGD/0", mode=smd.modes.TRAIN)
    assert rates == [(step, 0.5) for step in range(15)]
    for mine, theirs in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_facts_of_the_model_its_loss_and_its_data_change_no_weight(out_dir):
    plain = made(dropout=0.3)
    fitted(None, plain, epochs=3)
    hook, model = recorder(out_dir, ["gradients"]), made(dropout=0.3)
    hook.report_facts()
    fitted(hook, model, epochs=3)
    facts = closed(hook).facts()[-1].facts
    assert [each.updated_by for each in facts.parameters] == [(0, 0)] * 4
    assert facts.optimizers[0].groups[0].settings["learning_rate"] == 0.5
    (loss,), (inputs,) = facts.losses, facts.inputs
    given = loss.input
    assert (given.function, given.values, given.steps) == ("cross_entropy", "scores", 10)
    assert (given.activation, given.shape) == ("Linear", [8, 5])
    assert (given.targets.labels, given.targets.classes) == (80, 5)
    assert inputs.received_by == "Dense"
    np.testing.assert_allclose([inputs.mean, inputs.deviation], [X.mean(), X.std()], rtol=1e-5)
    for mine, theirs in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_softmax_before_a_loss_that_applies_it_is_told(out_dir):
    model = keras.Sequential([keras.Input((12,)), L.Dense(5, activation="softmax")])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    hook = recorder(out_dir, ["gradients"])
    hook.report_facts()
    fitted(hook, model)
    given = closed(hook).facts()[-1].facts.losses[0].input
    assert (given.function, given.activation) == ("cross_entropy", "Softmax")
    assert given.values == "probabilities"


def test_each_call_has_its_mode_and_predict_returns_what_it_does(out_dir):
    model = made()
    plain = model.predict(X, batch_size=20, verbose=0)
    hook = recorder(out_dir)
    model.evaluate(X, Y, batch_size=20, verbose=0, callbacks=[hook])
    watched = model.predict(X, batch_size=20, verbose=0, callbacks=[hook])
    trial = closed(hook)
    np.testing.assert_array_equal(plain, watched)
    assert trial.steps(mode=smd.modes.EVAL) == [0, 1]
    predictions = trial.tensor("predictions")
    np.testing.assert_array_equal(predictions.value(1, mode=smd.modes.PREDICT), plain[20:])


def test_gradients_are_those_before_the_optimizer_clips_them_and_without_a_scale(out_dir):
    inner = keras.optimizers.SGD(0.0, clipnorm=1e-3)
    optimizer = keras.mixed_precision.LossScaleOptimizer(inner, initial_scale=1024.0)
    model = made(optimizer)
    hook = recorder(out_dir, ["gradients"])
    fitted(hook, model)
    weights = [each.value.detach().clone().requires_grad_() for each in model.trainable_variables]
    w1, b1, w2, b2 = weights
    logits = torch.relu(torch.tensor(X[:8], device=w1.device) @ w1 + b1) @ w2 + b2
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(Y[:8], device=w1.device))
    expected = array(torch.autograd.grad(loss, weights)[0])
    found = closed(hook).tensor("gradients/model/first/kernelGrad").value(0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_tensors_of_bfloat16_keep_their_type(out_dir):
    keras.utils.set_random_seed(SEED)
    layers = [keras.Input((12,)), L.Dense(5, name="last", dtype="mixed_bfloat16")]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.0), loss)
    hook = recorder(out_dir, ["layers"])
    fitted(hook, model)
    found = closed(hook).tensor("last/outputs").value(0)
    assert str(found.dtype) == "bfloat16"
    weights = [torch.tensor(each).bfloat16() for each in model.get_weights()]
    expected = torch.tensor(X[:8]).bfloat16() @ weights[0] + weights[1]
    np.testing.assert_allclose(found.astype(np.float32), array(expected.float()), rtol=0.02)


# TensorFlow, MXNet and XGBoost refuse such names by themselves.
def test_a_layer_with_half_of_a_surrogate_pair_in_its_name_is_recorded(out_dir):
    model = keras.Sequential([keras.Input((12,)), L.Dense(5, name="x\udc80")], name="model")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    hook = recorder(out_dir)
    fitted(hook, model)
    names = closed(hook).tensor_names()
    assert {r"x\udc80/outputs", r"x\udc80/weights/model/x\udc80/bias:0"} <= set(names)
    assert r"gradients/model/x\udc80/biasGrad" in names


def test_what_torch_compile_compiles_is_recorded_from_outside_with_a_word(
    out_dir, monkeypatch, caplog
):
    monkeypatch.setattr(torch, "compile", lambda function: function)
    model = made(jit_compile=True)
    hook = recorder(out_dir)
    fitted(hook, model)
    trial = closed(hook)
    said = [each for each in caplog.messages if "torch.compile compiles" in each]
    assert len(said) == 1
    assert not trial.tensor_names(collection="gradients")
    assert "train_step" not in vars(model)
    kernel = trial.tensor("second/weights/model/second/kernel:0").value(4)
    np.testing.assert_array_equal(kernel, array(model.get_layer("second").kernel.value))


def test_the_model_is_its_own_again_when_fit_is_over(out_dir):
    model, call = made(), keras.layers.Layer.__call__
    hook = recorder(out_dir)
    fitted(hook, model)
    assert "train_step" not in vars(model) and "make_train_function" not in vars(model)
    assert keras.layers.Layer.__call__ is call
    steps = hook.status().steps
    fitted(None, model)
    assert hook.status().steps == steps, "a fit without the hook is not recorded"


def test_a_tape_is_refused_and_an_optimizer_given_back(out_dir):
    hook = recorder(out_dir)
    with pytest.raises(SMDebugNotImplementedError, match="TensorFlow is not imported"):
        hook.wrap_tape(object())
    with pytest.raises(SMDebugTypeError, match="takes a Keras optimizer"):
        hook.wrap_optimizer(object())
    with pytest.raises(SMDebugTypeError, match="found 'adam'; pass the optimizer itself"):
        hook.wrap_optimizer("adam")
    with pytest.raises(SMDebugTypeError, match="found <class 'dict'>$"):
        hook.wrap_optimizer(dict)
    with pytest.raises(SMDebugTypeError, match="found 'model'; pass the model itself"):
        hook.register_model("model")
    optimizer = keras.optimizers.SGD()
    assert hook.wrap_optimizer(optimizer) is optimizer
    with pytest.raises(SMDebugTypeError, match="must be text"):
        hook.record_tensor_value(3, 1.0)


def test_the_class_of_the_hook_among_the_callbacks_is_refused():
    with pytest.raises(SMDebugTypeError, match=r"found the class KerasHook; pass .*KerasHook\("):
        fitted(smd.KerasHook, made())


def test_a_rule_stops_fit_after_the_batch(out_dir):
    model = made()
    model.set_weights([np.full_like(each, np.nan) for each in model.get_weights()])
    hook = recorder(out_dir, ["losses", "weights"], rules=["ExplodingTensor"], on_fire="stop")
    fitted(hook, model, epochs=3)
    assert hook.status().steps == 1
    assert hook.verdicts()[0]["status"] == "IssuesFound"
    closed(hook)


def test_an_unknown_collection_is_logged_and_ignored(out_dir, logged):
    hook = recorder(out_dir, ["flatten", "gradients"])
    fitted(hook, made())
    trial = closed(hook)
    assert len([text for text in logged if "include_collections names 'flatten'" in text]) == 1
    assert trial.tensor("gradients/model/second/biasGrad").steps() == list(range(5))


SCRIPT = """
import keras, numpy as np
x, y = np.random.rand(40, 12).astype("float32"), np.arange(40) % 5
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(5, name="last")], name="model")
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=8, epochs=2, verbose=0)
model.train_on_batch(x[:8], y[:8])
"""


def test_a_launched_script_is_recorded_as_one_of_keras(tmp_path, out_dir):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    settings = {
        "save_interval": 2,
        "collections": [{"name": "losses"}, {"name": "gradients"}],
        "out_dir": out_dir,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path)],
        env={**os.environ, "SMDEBUG_RUN": json.dumps(settings)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "nothing will be saved" not in done.stderr and "meta" not in done.stderr
    trial = create_trial(out_dir, timeout=5)
    gradients = trial.tensor_names(collection="gradients")
    assert gradients == ["gradients/model/last/biasGrad", "gradients/model/last/kernelGrad"]
    assert trial.tensor(gradients[0]).steps(mode=smd.modes.TRAIN) == [0, 2, 4, 6, 8, 10]
    # With the end of the second epoch.
    assert trial.tensor("loss").steps(mode=smd.modes.TRAIN) == [0, 2, 4, 6, 8, 9, 10]


# Name -> (makes a value of Keras on torch, the array that it is saved as, None: it is skipped).
VALUES = {
    "tensor": (lambda: torch.ones(2), [1, 1]),
    "tensor of one element": (lambda: torch.tensor(1.5), 1.5),
    "Parameter": (lambda: torch.nn.Parameter(torch.ones(2)), [1, 1]),
    "bfloat16": (lambda: torch.ones(2, dtype=torch.bfloat16), [1, 1]),
    "variable of Keras": (lambda: keras.Variable([1.0, 2.0]), [1, 2]),
    "variable of one element": (lambda: keras.Variable(1.5), 1.5),
    "COO": (lambda: torch.eye(2).to_sparse(), np.eye(2)),
    "list of numbers": (lambda: [1, 2], [1, 2]),
    "meta": (lambda: torch.ones(2, device="meta"), None),
    "KerasTensor": (lambda: keras.Input((2,)), None),
    "layer": (lambda: L.Dense(1), None),
}


class SavesValues(keras.callbacks.Callback):
    """Saves every value of the table, and adds it to a collection, at the end of each batch."""

    def __init__(self, hook):
        super().__init__()
        self.hook = hook

    def on_train_batch_end(self, batch, logs=None):
        for name, (make, expected) in VALUES.items():
            value = make()
            self.hook.save_tensor(name, value)
            self.hook.record_tensor_value(f"record {name}", value)
            try:
                self.hook.save_scalar(name, value)
            except SMDebugTypeError:
                assert np.size(expected) != 1 or expected is None
            try:
                self.hook.add_to_collection("mine", value)
            except SMDebugTypeError:
                assert "variable" not in name and name != "KerasTensor"


def test_every_kind_of_value_is_saved_or_skipped_and_fit_goes_on(out_dir):
    hook = recorder(out_dir, ["metrics"])
    model = made()
    history = fitted(None, made())
    callbacks = [hook, SavesValues(hook)]
    how = {"batch_size": 8, "shuffle": False, "verbose": 0}
    assert model.fit(X, Y, callbacks=callbacks, **how).history == history
    trial = closed(hook)
    assert trial.steps(mode=smd.modes.TRAIN) == list(range(5))
    for name, (_, expected) in VALUES.items():
        if expected is None:
            assert name in hook.status().skipped and name not in trial.tensor_names()
            continue
        for each in (name, f"record {name}"):
            np.testing.assert_array_equal(trial.tensor(each).value(4), np.asarray(expected))
        is_number = np.size(expected) == 1
        assert (f"scalar/{name}" in trial.tensor_names()) == is_number
