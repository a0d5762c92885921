"""The loss and the learning rate of every step, which `smdebug run` notes beside the saved ones."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import digits, read
from smdebug.tensorflow.keras.loss_growth import LossGrowth

L = keras.layers
X, Y = digits(44)  # 44 is no multiple of the batch size
SIZE = 8
STEPS = 6  # of an epoch
SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def made(optimizer=None, kind=keras.Sequential, loss=SPARSE, **how):
    keras.utils.set_random_seed(3)
    layers = [keras.Input((64,)), L.Dense(8, activation="relu"), L.Dense(10)]
    model = kind(layers)
    model.compile(optimizer or keras.optimizers.SGD(0.1), loss, metrics=["accuracy"], **how)
    return model


def recorder(out_dir, interval=100):
    """A hook as `smdebug run` makes it."""
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=interval))
    hook.note_every_step()
    return hook


def batches(size=SIZE):
    return [slice(begin, begin + size) for begin in range(0, len(X), size)]


def cross_entropy(model, batch):
    """The loss of a batch, by numpy."""
    hidden, out = model.layers[-2:]
    kernel, bias = hidden.get_weights()
    logits = np.maximum(X[batch].astype(np.float64) @ kernel + bias, 0)
    kernel, bias = out.get_weights()
    logits = logits @ kernel + bias
    logits -= logits.max(axis=1, keepdims=True)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return -np.log(probabilities[np.arange(len(logits)), Y[batch]]).mean()


class ByNumpy(keras.callbacks.Callback):
    """Computes the loss of each batch from the weights before its step, and keeps the learning
    rate."""

    def __init__(self, size=SIZE):
        super().__init__()
        self.losses, self.rates, self._size = [], [], size

    def on_train_batch_begin(self, batch, logs=None):
        self.losses.append(cross_entropy(self.model, batches(self._size)[batch]))
        self.rates.append(float(self.model.optimizer.learning_rate.numpy()))


def fitted(hook, model, *callbacks, epochs=3, **how):
    how = {"batch_size": SIZE, "shuffle": False, "verbose": 0, **how}
    model.fit(X, Y, epochs=epochs, callbacks=[*callbacks, *([hook] if hook else [])], **how)
    return model.get_weights()


def series(hook, name="loss"):
    """(steps, values) of a series of the closed run."""
    hook.close()
    assert hook.status().error is None
    steps, values = zip(*read(hook.out_dir).series(name, mode=smd.modes.TRAIN), strict=True)
    return list(steps), list(values)


@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}, {"jit_compile": True}])
def test_every_step_of_every_epoch_has_the_loss_of_its_own_batch(out_dir, how):
    hook, expected = recorder(out_dir), ByNumpy()
    fitted(hook, made(**how), expected, validation_data=(X, Y))
    steps, losses = series(hook)
    assert steps == list(range(3 * STEPS))
    np.testing.assert_allclose(losses, expected.losses, rtol=1e-5)


def test_the_series_has_the_name_of_the_saved_loss_and_starts_with_its_value(out_dir):
    hook = recorder(out_dir)
    fitted(hook, made(), epochs=1)
    _, losses = series(hook)
    trial = read(out_dir)
    assert "loss" in trial.tensor_names(collection="losses")
    assert losses[0] == pytest.approx(float(trial.tensor("loss").value(0)[0]), rel=1e-6)


def test_a_hook_that_smdebug_run_did_not_make_notes_no_series(out_dir):
    with smd.KerasHook(out_dir) as hook:
        fitted(hook, made(), epochs=1)
    assert read(out_dir).series_names() == []


@pytest.mark.parametrize("kind", ["sgd", "adam"])
@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}, {"steps_per_execution": 2}])
def test_weights_and_history_are_the_same_to_the_bit(out_dir, kind, how):
    def trained(hook):
        model = made(kind, **how)
        model.add(L.Dropout(0.3))
        model.compile(kind, SPARSE, metrics=["accuracy"], **how)
        validation = {"validation_data": (X[:12], Y[:12])}
        history = keras.callbacks.History()
        weights = fitted(hook, model, history, **validation)
        return weights, history.history, float(tf.random.uniform(()))

    plain = trained(None)
    hook = recorder(out_dir, interval=5)
    mine = trained(hook)
    for one, other in zip(mine[0], plain[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert mine[1:] == plain[1:]
    assert series(hook)[0], "a series was noted"


def test_no_function_is_traced_for_a_series(out_dir):
    traces = []

    class Counting(keras.Sequential):
        def train_step(self, data):
            traces.append(None)
            return super().train_step(data)

    config = smd.SaveConfig(save_interval=100)
    with smd.KerasHook(f"{out_dir}_plain", save_config=config) as plain:
        fitted(plain, made(kind=Counting))
    without = len(traces)
    hook = recorder(out_dir)
    fitted(hook, made(kind=Counting))
    hook.close()
    assert len(traces) == 2 * without


def test_a_step_of_several_batches_has_their_mean_loss(out_dir):
    hook = recorder(out_dir)
    model = made(steps_per_execution=2, optimizer=keras.optimizers.SGD(0.0))
    fitted(hook, model, epochs=2)
    pairs = [(cross_entropy(model, slice(a, a + 16)), min(a + 16, 44) - a) for a in (0, 16, 32)]
    _, losses = series(hook)
    np.testing.assert_allclose(losses, 2 * [loss for loss, _ in pairs], rtol=1e-5)


def test_a_callback_that_evaluates_or_resets_metrics_between_batches_changes_no_loss(out_dir):
    class Meddling(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                self.model.evaluate(X, Y, verbose=0)
            if batch == 3:
                self.model.reset_metrics()

    hook, expected = recorder(out_dir), ByNumpy()
    fitted(hook, made(), expected, Meddling())
    steps, losses = series(hook)
    assert len(steps) == 3 * STEPS
    np.testing.assert_allclose(losses, expected.losses, rtol=1e-5)


def test_train_on_batch_notes_what_it_returns(out_dir):
    hook, model, returned = recorder(out_dir), made(), []
    hook.register_model(model)
    for batch in 3 * batches():
        model.reset_metrics()
        returned.append(float(model.train_on_batch(X[batch], Y[batch])[0]))
        model.test_on_batch(X[:8], Y[:8])
    _, losses = series(hook)
    np.testing.assert_allclose(losses, returned, rtol=1e-6)


class ReturnsTheLoss(keras.Sequential):
    """Its log is the loss of the batch, while a metric of the same name has the mean."""

    mean_name = "loss"

    def __init__(self, layers):
        super().__init__(layers)
        self.mean = keras.metrics.Mean(name=self.mean_name)

    @property
    def metrics(self):
        return [self.mean]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = SPARSE(y, self(x, training=True))
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.mean.update_state(loss)
        return {"loss": loss}


class KeepsItsOwnMean(ReturnsTheLoss):
    """Its log is the mean of a metric of another name."""

    mean_name = "total"

    def train_step(self, data):
        super().train_step(data)
        return {"loss": self.mean.result()}


@pytest.mark.parametrize("kind", [ReturnsTheLoss, KeepsItsOwnMean])
def test_a_train_step_of_the_script_has_its_losses_too(out_dir, kind):
    hook, expected = recorder(out_dir), ByNumpy()
    fitted(hook, made(kind=kind), expected)
    steps, losses = series(hook)
    assert steps == list(range(3 * STEPS))
    np.testing.assert_allclose(losses, expected.losses, rtol=1e-5)


def test_a_model_that_is_compiled_again_has_its_new_losses(out_dir):
    hook, model = recorder(out_dir), made()
    first, second = ByNumpy(), ByNumpy()
    fitted(hook, model, first, epochs=1)
    model.compile(keras.optimizers.Adam(0.01), SPARSE)
    fitted(hook, model, second, epochs=2)
    steps, losses = series(hook)
    assert steps == list(range(3 * STEPS))
    np.testing.assert_allclose(losses, first.losses + second.losses, rtol=1e-5)
    trial = read(out_dir)
    assert [step for step, _ in trial.series("learning_rate/SGD/0")] == list(range(STEPS))
    assert len(trial.series("learning_rate/Adam/0")) == 2 * STEPS


class Constant(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return 0.0 * tf.reduce_sum(y_pred, axis=-1) + 0.7


def test_a_constant_loss_is_constant_to_the_last_bit(out_dir):
    hook = recorder(out_dir)
    fitted(hook, made(loss=Constant()), epochs=30)
    _, losses = series(hook)
    assert len(losses) == 30 * STEPS
    assert len(set(losses)) == 1


def test_a_loss_of_nan_is_noted_once_and_those_after_it_are_unknown(out_dir):
    class Spoils(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 3:
                self.model.layers[-1].bias.assign(np.full(10, np.nan, np.float32))

    hook = recorder(out_dir)
    fitted(hook, made(), Spoils(), epochs=1)
    steps, losses = series(hook)
    assert steps == [0, 1, 2, 3]
    assert np.isfinite(losses[:3]).all()
    assert np.isnan(losses[3])


def test_the_learning_rate_of_every_step_is_that_before_its_update(out_dir):
    def rate(epoch):
        return 0.1 / (epoch + 1)

    hook, expected = recorder(out_dir), ByNumpy()
    fitted(hook, made(), keras.callbacks.LearningRateScheduler(rate), expected)
    steps, rates = series(hook, "learning_rate/SGD/0")
    assert steps == list(range(3 * STEPS))
    assert rates == expected.rates


def test_a_schedule_of_the_script_is_not_called_for_a_series(out_dir):
    class Counted(keras.optimizers.schedules.LearningRateSchedule):
        calls = 0

        def __call__(self, step):
            Counted.calls += 1
            return 0.1

    fitted(None, made(keras.optimizers.SGD(Counted())))
    without, Counted.calls = Counted.calls, 0
    hook = recorder(out_dir)
    fitted(hook, made(keras.optimizers.SGD(Counted())))
    assert Counted.calls == without
    assert len(series(hook)[0]) == 3 * STEPS


def test_a_second_model_has_a_series_of_its_own(out_dir):
    hook = recorder(out_dir)
    for _ in range(2):
        fitted(hook, made(), epochs=1)
    hook.close()
    trial = read(out_dir)
    assert [step for step, _ in trial.series("loss")] == list(range(STEPS))
    assert [step for step, _ in trial.series("loss_1")] == list(range(STEPS, 2 * STEPS))


def test_an_error_ends_the_series_with_a_word_and_nothing_else(out_dir, logged, monkeypatch):
    hook = recorder(out_dir)
    monkeypatch.setattr(LossGrowth, "end_step", lambda *arguments: 1 / 0)
    plain = fitted(None, made())
    for one, other in zip(fitted(hook, made()), plain, strict=True):
        np.testing.assert_array_equal(one, other)
    hook.close()
    assert hook.status().error is None
    assert sum("recorded in saved steps only" in message for message in logged) == 1
    assert len(read(out_dir).tensor("loss").steps()) > 0
