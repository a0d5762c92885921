"""What `smdebug run` tells rules of a training with Keras: its parameters, optimizer, layers, loss
and first data."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import read, split_cpu

split_cpu()

L = keras.layers
ROWS, BATCH, FEATURES = 96, 8, 4
BINARY = "binary_cross_entropy"
CATEGORICAL = "categorical_cross_entropy"


def random():
    return np.random.default_rng(5)


def inputs():
    return (3 + 2 * random().normal(size=(ROWS, FEATURES))).astype("float32")


def labels(classes=3):
    return random().integers(0, classes, ROWS)


def one_hot(classes=3):
    return np.eye(classes, dtype="float32")[labels(classes)]


def amounts(low=-2.0, high=2.0):
    return random().uniform(low, high, (ROWS, 1)).astype("float32")


def model_with(*last, loss="mse", optimizer="sgd", **how):
    keras.utils.set_random_seed(2)
    model = keras.Sequential([keras.Input((FEATURES,)), L.Dense(6, activation="tanh"), *last])
    model.compile(optimizer, loss, **how)
    return model


def recorder(out_dir, **how):
    """A hook as `smdebug run` makes it."""
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["gradients"],
        **how,
    )
    hook.report_facts()
    return hook


def fitted(out_dir, model, x=None, y=None, **how):
    """The last facts of a training of one epoch."""
    hook = recorder(out_dir)
    data = (inputs() if x is None else x, amounts() if y is None else y)
    how = {"batch_size": BATCH, "shuffle": False, "verbose": 0, **how}
    if isinstance(x, tf.data.Dataset):
        data, how["batch_size"] = (x,), None
    model.fit(*data, callbacks=[hook], **how)
    return reported(hook)


def reported(hook):
    hook.close()
    assert hook.status().error is None
    return read(hook.out_dir).facts()[-1].facts


def the_input(out_dir, model, y, **how):
    (loss,) = fitted(out_dir, model, y=y, **how).losses
    return loss.input


# --- the model ---


def test_parameters_and_the_optimizer_are_told_with_their_settings(out_dir):
    optimizer = keras.optimizers.Adam(0.02, beta_1=0.8, epsilon=1e-5)
    facts = fitted(out_dir, model_with(L.BatchNormalization(), L.Dense(1), optimizer=optimizer))
    trainable = [each.tensor.split("/")[-1] for each in facts.parameters if each.is_trainable]
    assert trainable == ["kernel:0", "bias:0", "gamma:0", "beta:0", "kernel:0", "bias:0"]
    fixed = [each for each in facts.parameters if not each.is_trainable]
    assert [each.tensor.split("/")[-1] for each in fixed] == ["moving_mean:0", "moving_variance:0"]
    assert {each.updated_by for each in fixed} == {None}
    first = facts.parameters[0]
    assert (first.dtype, first.shape, first.updated_by) == ("float32", [FEATURES, 6], (0, 0))
    (told,) = facts.optimizers
    assert told.kind == "Adam" and told.keeps_gradients is False
    (group,) = told.groups
    assert group.parameters == 6 and group.foreign_parameters == 0
    settings = {name: pytest.approx(value) for name, value in group.settings.items()}
    assert settings == {"learning_rate": 0.02, "beta1": 0.8, "beta2": 0.999, "eps": 1e-5}


def test_the_momentum_of_sgd_is_told(out_dir):
    model = model_with(L.Dense(1), optimizer=keras.optimizers.SGD(0.1, momentum=0.75))
    ((group,),) = [each.groups for each in fitted(out_dir, model).optimizers]
    assert group.settings["momentum"] == 0.75


def test_parameters_have_the_names_of_the_saved_weights(out_dir):
    hook = recorder(out_dir)
    hook.include_collections += ["weights", "biases"]
    model_with(L.Dense(1)).fit(inputs(), amounts(), verbose=0, callbacks=[hook])
    facts = reported(hook)
    saved = read(out_dir).tensor_names(regex="/weights/")
    assert {each.tensor for each in facts.parameters} == set(saved)


def test_frozen_layers_are_told(out_dir):
    model = model_with(L.BatchNormalization(), L.Dense(1))
    model.layers[0].trainable = model.layers[1].trainable = False
    model.compile("sgd", "mse")
    facts = fitted(out_dir, model)
    trained = [each.tensor for each in facts.parameters if each.updated_by is not None]
    assert len(trained) == 2 and all("dense" in each for each in trained)
    modes = {each.kind: each.is_training for each in facts.modules}
    assert modes["BatchNormalization"] is False
    assert modes["Sequential"] is True


def test_the_optimizer_of_a_model_that_is_all_frozen_holds_no_parameter(out_dir):
    """The layer that it shares is trained by the model before it."""
    hook, first = recorder(out_dir), model_with(L.Dense(1))
    first.fit(inputs(), amounts(), batch_size=BATCH, verbose=0, callbacks=[hook])
    second = keras.Sequential([*first.layers[:-1], L.Dense(3), L.Dense(1), L.Softmax()])
    for layer in second.layers[:-1]:
        layer.trainable = False
    second.compile("sgd", "mse")
    second.fit(inputs(), amounts(), batch_size=BATCH, verbose=0, callbacks=[hook])
    facts = reported(hook)
    assert [each.groups[0].parameters for each in facts.optimizers] == [4, 0]
    frozen = [each for each in facts.parameters if not each.is_trainable]
    assert len(frozen) == 4 and not any(each.updated_by for each in frozen)


def test_what_is_frozen_without_a_new_compile_still_trains(out_dir):
    model = model_with(L.Dense(1))
    model.fit(inputs(), amounts(), batch_size=BATCH, verbose=0)
    hook = recorder(out_dir)
    freeze = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: setattr(model.layers[0], "trainable", False)
    )
    before = model.layers[0].get_weights()[0]
    model.compile("sgd", "mse")
    model.fit(inputs(), amounts(), epochs=2, verbose=0, callbacks=[hook, freeze])
    assert not np.array_equal(before, model.layers[0].get_weights()[0])
    assert all(each.is_trainable for each in reported(hook).parameters)


def test_layers_are_told_with_their_settings(out_dir):
    facts = fitted(out_dir, model_with(L.Dropout(0.25), L.LayerNormalization(), L.Dense(1)))
    settings = {each.kind: each.settings for each in facts.modules}
    assert settings["Dropout"] == {"p": 0.25}
    assert settings["LayerNormalization"] == {"eps": pytest.approx(0.001)}
    assert settings["Dense"] == {}


def test_a_learning_rate_of_zero_is_told_as_soon_as_it_is_set(out_dir):
    model, hook = model_with(L.Dense(1)), recorder(out_dir)
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 if epoch == 0 else 0.0)
    model.fit(inputs(), amounts(), epochs=3, verbose=0, callbacks=[rates, hook])
    hook.close()
    told = [
        each.facts.optimizers[0].groups[0].settings["learning_rate"]
        for each in read(out_dir).facts()
    ]
    assert told[0] == pytest.approx(0.1) and told[-1] == 0


def test_a_schedule_has_no_learning_rate_that_could_be_told(out_dir):
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    facts = fitted(out_dir, model_with(L.Dense(1), optimizer=keras.optimizers.SGD(schedule)))
    assert facts.optimizers[0].kind == "SGD"
    assert facts.optimizers[0].groups[0].settings.get("learning_rate", 0.1) > 0


# --- the loss ---


@pytest.mark.parametrize(
    "loss, targets, function, kind",
    [
        ("mse", amounts, "mse_loss", "mean_squared_error"),
        ("mae", amounts, "l1_loss", "mean_absolute_error"),
        (keras.losses.Huber(), amounts, "huber_loss", "Huber"),
    ],
)
def test_a_regression_is_told_with_the_range_of_its_targets(out_dir, loss, targets, function, kind):
    y = targets()
    (told,) = fitted(out_dir, model_with(L.Dense(1), loss=loss), y=y).losses
    assert (told.tensor, told.kind, told.reduction) == ("loss", kind, "mean")
    given = told.input
    assert (given.function, given.activation, given.steps) == (function, "Linear", 10)
    assert given.shape == given.target_shape == [BATCH, 1]
    measured = y[: 10 * BATCH]
    assert given.target_range == pytest.approx((measured.min(), measured.max()))
    assert given.outside is None and given.equal_outputs == 0
    assert given.targets.mean == pytest.approx(measured.mean(), abs=1e-6)
    assert given.targets.deviation == pytest.approx(measured.std(), rel=1e-5)


@pytest.mark.parametrize(
    "activation, outside", [("relu", 0.5), ("sigmoid", 0.75), ("tanh", 0.5), (None, None)]
)
def test_targets_that_the_activation_cannot_give_are_counted(out_dir, activation, outside):
    y = np.tile(np.float32([-1.5, -0.5, 0.5, 1.5]), ROWS // 4)
    given = the_input(out_dir, model_with(L.Dense(1, activation=activation)), y)
    assert given.outside == outside


@pytest.mark.parametrize("activation", ["softmax", tf.nn.softmax])
def test_a_softmax_over_one_unit_gives_the_same_output_for_all(out_dir, activation):
    model = model_with(L.Dense(1, activation=activation), loss="binary_crossentropy")
    given = the_input(out_dir, model, labels(2))
    assert (given.activation, given.equal_outputs, given.shape) == ("Softmax", 10, [BATCH, 1])


def test_three_classes_for_one_output_are_counted(out_dir):
    y = labels(3)
    for loss in ("binary_crossentropy", "mse"):
        model = model_with(L.Dense(1, activation="sigmoid"), loss=loss)
        given = the_input(f"{out_dir}_{loss}", model, y)
        assert (given.targets.classes, given.targets.labels) == (3, 10 * BATCH)
        per_step = [(y[begin : begin + BATCH] > 1).mean() for begin in range(0, 80, BATCH)]
        assert given.outside == pytest.approx(min(per_step))


@pytest.mark.parametrize(
    "activation, values", [("softmax", "probabilities"), ("relu", ""), (None, "scores")]
)
def test_a_cross_entropy_of_classes_is_told_with_what_it_is_given(out_dir, activation, values):
    for loss, y in (
        ("categorical_crossentropy", one_hot()),
        ("sparse_categorical_crossentropy", labels()),
    ):
        model = model_with(L.Dense(3, activation=activation), loss=loss)
        given = the_input(f"{out_dir}_{loss}", model, y)
        assert (given.function, given.shape) == (CATEGORICAL, [BATCH, 3])
        name = {"softmax": "Softmax", "relu": "Relu", None: "Linear"}[activation]
        assert (given.activation, given.values) == (name, values)
        assert (given.targets.classes, given.targets.labels) == (3, 10 * BATCH)


@pytest.mark.parametrize("from_logits", [False, True])
def test_rows_of_targets_that_do_not_sum_to_one_are_counted(out_dir, from_logits):
    """As of labels from 1 on, of which tf.one_hot does not know the last."""
    y = tf.one_hot(labels() + 1, 3).numpy()
    loss = keras.losses.CategoricalCrossentropy(from_logits)
    last = L.Dense(3, activation=None if from_logits else "softmax")
    given = the_input(out_dir, model_with(last, loss=loss), y)
    assert given.function == ("cross_entropy" if from_logits else CATEGORICAL)
    per_step = [(y[begin : begin + BATCH].sum(1) == 0).mean() for begin in range(0, 80, BATCH)]
    assert given.outside == pytest.approx(min(per_step)) and max(per_step) > 0


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_probabilities_of_classes_sum_to_one_with_label_smoothing_too(out_dir, smoothing):
    y = one_hot() * (1 - smoothing) + np.float32(smoothing / 3)
    model = model_with(L.Dense(3, activation="softmax"), loss="categorical_crossentropy")
    assert the_input(out_dir, model, y).outside == 0


def test_several_classes_of_a_sample_do_not_sum_to_one(out_dir):
    y = np.maximum(one_hot(), np.float32([1, 0, 0]))
    model = model_with(L.Dense(3, activation="softmax"), loss="categorical_crossentropy")
    counts = (y.sum(1) == 2)[: 10 * BATCH].reshape(10, BATCH)
    assert the_input(out_dir, model, y).outside == pytest.approx(counts.mean(1).min())


@pytest.mark.parametrize(("activation", "has_rows"), [("softmax", True), ("sigmoid", False)])
def test_outputs_that_sum_to_one_are_told_from_those_of_each_class(out_dir, activation, has_rows):
    y = np.maximum(one_hot(), np.float32([1, 0, 0]))
    model = model_with(L.Dense(3, activation=activation), loss="binary_crossentropy")
    given = the_input(out_dir, model, y)
    counts = (y.sum(1) == 2)[: 10 * BATCH].reshape(10, BATCH)
    assert given.values == ("distributions" if has_rows else "probabilities")
    assert given.outside == pytest.approx(counts.mean(1).min() if has_rows else 0)


def test_rows_of_zeros_in_sequences_may_be_padding(out_dir):
    y = np.stack([one_hot(), np.zeros((ROWS, 3), "float32")], 1)
    last = [L.Dense(6), L.Reshape((2, 3)), L.Softmax()]
    given = the_input(out_dir, model_with(*last, loss="categorical_crossentropy"), y)
    assert (given.function, given.outside) == (CATEGORICAL, 0)


def test_sums_of_rows_that_weights_may_hide_are_unknown(out_dir):
    model = model_with(L.Dense(3, activation="softmax"), loss="categorical_crossentropy")
    (loss,) = fitted(
        out_dir, model, y=tf.one_hot(labels() + 1, 3).numpy(), sample_weight=np.ones(ROWS)
    ).losses
    assert loss.input.outside is None


def test_a_loss_with_scores_is_another_function(out_dir):
    for number, (loss, y, expected) in enumerate(
        [
            (keras.losses.BinaryCrossentropy(True), labels(2), "binary_cross_entropy_with_logits"),
            (keras.losses.CategoricalCrossentropy(True), one_hot(), "cross_entropy"),
            (keras.losses.SparseCategoricalCrossentropy(True), labels(), "cross_entropy"),
        ]
    ):
        units = 1 if number == 0 else 3
        given = the_input(f"{out_dir}_{number}", model_with(L.Dense(units), loss=loss), y)
        assert (given.function, given.values) == (expected, "scores")


@pytest.mark.parametrize("eagerly", [False, True])
def test_keras_finds_the_scores_behind_a_softmax_whatever_from_logits_says(out_dir, eagerly):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    found = model_with(L.Dense(3, activation="softmax"), loss=loss, run_eagerly=eagerly)
    given = the_input(out_dir, found, labels())
    assert (given.function, given.values) == (CATEGORICAL, "probabilities")


def test_a_softmax_that_keras_cannot_look_behind_is_applied_twice(out_dir):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = model_with(L.Dense(3, activation="softmax"), L.Reshape((3,)), loss=loss)
    given = the_input(out_dir, model, labels())
    assert given.activation == "Softmax" and given.values == "probabilities"
    x = inputs()[:BATCH]
    probabilities = np.asarray(model(x))
    twice = keras.losses.SparseCategoricalCrossentropy()(
        labels()[:BATCH], tf.nn.softmax(probabilities)
    )
    is_twice = np.isclose(model.evaluate(x, labels()[:BATCH], verbose=0), float(twice), rtol=1e-4)
    assert (given.function == "cross_entropy") == is_twice


def test_sorted_labels_are_told(out_dir):
    y = np.repeat([0, 1, 2], ROWS // 3)
    given = the_input(
        out_dir,
        model_with(L.Dense(3, activation="softmax"), loss="sparse_categorical_crossentropy"),
        y,
    )
    assert given.targets.label_order > 0.9


def test_labels_of_a_sequence_have_rows_of_classes(out_dir):
    model = keras.Sequential([keras.Input((5,)), L.Embedding(9, 4), L.Dense(9, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    x = random().integers(0, 9, (ROWS, 5))
    given = the_input(out_dir, model, x, x=x)
    assert (given.shape, given.values) == ([BATCH * 5, 9], "probabilities")


def test_ignored_labels_are_told(out_dir):
    y = np.tile([0, 1, 2, 2], ROWS // 4)
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=2)
    (told,) = fitted(out_dir, model_with(L.Dense(3, "softmax"), loss=loss), y=y).losses
    assert told.ignored_label == 2
    assert told.input.ignored == 0.5
    assert told.input.targets.classes == 2


def test_class_labels_that_are_no_whole_numbers_are_told(out_dir):
    y = np.tile([0, 0.5, 1, 2], ROWS // 4)
    model = model_with(L.Dense(3, "softmax"), loss="sparse_categorical_crossentropy")
    assert the_input(out_dir, model, y).fractional == 0.25


def test_whole_numbers_of_any_dtype_are_class_labels(out_dir):
    model = model_with(L.Dense(3, "softmax"), loss="sparse_categorical_crossentropy")
    assert the_input(out_dir, model, labels().astype("float32")).fractional == 0


@pytest.mark.parametrize(
    ("target", "revealing"), [(lambda: 5 - 3 * inputs()[:, 1], 1), (amounts, None)]
)
def test_a_feature_that_is_the_target_is_told(out_dir, target, revealing):
    assert the_input(out_dir, model_with(L.Dense(1)), target()).revealing_feature == revealing


def test_a_batch_that_comes_again_is_told(out_dir):
    facts = fitted(out_dir, model_with(L.Dense(1)), x=np.tile(inputs()[:BATCH], (ROWS // BATCH, 1)))
    (given,) = facts.inputs
    assert given.steps > 1 and given.repeats == given.steps - 1


# --- the inputs ---


def test_inputs_are_told_with_their_scale_and_the_first_layer(out_dir):
    x = inputs() * np.float32([1, 1, 1, 500])
    (told,) = fitted(out_dir, model_with(L.Dense(1)), x=x).inputs
    measured = x[: 10 * BATCH]
    assert (told.tensor, told.received_by, told.shape) == ("inputs", "Dense", [BATCH, FEATURES])
    assert told.mean == pytest.approx(measured.mean(), rel=1e-5)
    assert told.deviation == pytest.approx(measured.std(), rel=1e-5)
    assert told.largest_feature_deviation == pytest.approx(measured.std(axis=0).max(), rel=1e-5)
    assert told.not_finite is None


def test_inputs_of_evaluations_are_told_apart(out_dir):
    other = 255 * inputs()
    facts = fitted(out_dir, model_with(L.Dense(1)), validation_data=(other, amounts()), epochs=2)
    (told,) = facts.evaluation_inputs
    assert (told.tensor, told.received_by) == ("inputs", "Dense")
    # They are reported after the first and the tenth batch.
    assert told.steps in (1, 10)
    measured = other[: told.steps * BATCH]
    assert told.mean == pytest.approx(measured.mean(), rel=1e-5)
    assert (told.low, told.high) == (measured.min(), measured.max())
    assert facts.inputs[0].high == pytest.approx(inputs()[: 10 * BATCH].max())


def test_nan_in_the_data_is_found(out_dir):
    x, y = inputs(), amounts()
    x[3 * BATCH, 1] = np.nan
    y[2 * BATCH] = np.inf
    facts = fitted(out_dir, model_with(L.Dense(1)), x=x, y=y)
    assert facts.inputs[0].not_finite == 3
    assert facts.losses[0].input.targets.not_finite == 2


@pytest.mark.parametrize("first", [L.Rescaling(0.1), L.BatchNormalization()])
def test_a_first_layer_that_scales_is_told(out_dir, first):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((FEATURES,)), first, L.Dense(1)])
    model.compile("sgd", "mse")
    assert fitted(out_dir, model).inputs[0].received_by == type(first).__name__


def test_an_operation_before_the_first_layer_may_scale(out_dir):
    given = keras.Input((FEATURES,))
    model = keras.Model(given, L.Dense(1)(given / 10.0))
    model.compile("sgd", "mse")
    assert fitted(out_dir, model).inputs[0].received_by in ("TFOpLambda", "TrueDivide")


# --- nothing rather than something wrong ---


class OwnStep(keras.Model):
    def train_step(self, data):
        return super().train_step(data)


class OwnLoss(keras.Model):
    def compute_loss(self, *arguments, **keywords):
        return super().compute_loss(*arguments, **keywords)


@pytest.mark.parametrize("kind", [OwnStep, OwnLoss])
def test_of_a_step_of_the_script_only_parameters_and_layers_are_known(out_dir, kind):
    given = keras.Input((FEATURES,))
    model = kind(given, L.Dense(1)(given))
    model.compile("sgd", "mse")
    facts = fitted(out_dir, model)
    assert [each.is_trainable for each in facts.parameters] == [True, True]
    assert (facts.losses, facts.inputs, facts.optimizers) == ([], [], [])


def test_a_model_that_calls_its_layers_itself_has_no_known_activation(out_dir):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.last = L.Dense(1, activation="sigmoid")

        def call(self, x):
            return 100 * self.last(x / 100)

    model = Own()
    model.compile("sgd", "mse")
    facts = fitted(out_dir, model, y=amounts(0, 50))
    assert facts.inputs[0].received_by == ""
    assert facts.losses[0].input.activation == "" and facts.losses[0].input.outside is None


def test_a_loss_of_the_script_is_not_measured(out_dir):
    model = model_with(L.Dense(1), loss=lambda y, p: tf.reduce_mean(tf.square(y - p)))
    (told,) = fitted(out_dir, model).losses
    assert told.input is None and told.reduction == ""


def test_weights_of_samples_hide_targets(out_dir):
    model = model_with(L.Dense(1, activation="sigmoid"))
    (told,) = fitted(out_dir, model, sample_weight=np.ones(ROWS)).losses
    assert told.reduction == "weighted_mean"
    assert told.input.outside is None and told.input.targets is None
    assert told.input.activation == "Sigmoid"


def test_labels_that_a_script_chooses_for_each_batch_are_not_judged(out_dir):
    # As for the discriminator of a GAN: all real, then all generated.
    model = model_with(L.Dense(1, activation="sigmoid"), loss="binary_crossentropy")
    hook = recorder(out_dir)
    hook.register_model(model)
    for step in range(10):
        model.train_on_batch(inputs()[:BATCH], np.full((BATCH, 1), step % 2))
    given = reported(hook).losses[0].input
    assert (given.steps, given.targets) == (10, None)


def test_a_mask_hides_targets(out_dir):
    model = keras.Sequential(
        [L.Embedding(9, 4, mask_zero=True), L.LSTM(4, return_sequences=True), L.Dense(1)]
    )
    model.compile("sgd", "mse")
    x = random().integers(0, 9, (ROWS, 5))
    y = random().normal(size=(ROWS, 5, 1)).astype("float32")
    given = the_input(out_dir, model, y, x=x)
    assert given.targets is None and given.target_range is None


def test_sparse_inputs_are_listed_and_not_measured(out_dir):
    given = keras.Input((FEATURES,), sparse=True)
    model = keras.Model(given, L.Dense(1)(given))
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((tf.sparse.from_dense(inputs()), amounts()))
    facts = fitted(out_dir, model, x=data.batch(BATCH))
    assert [each.steps for each in facts.inputs] == [0]
    assert facts.losses[0].input.steps == 10


def test_a_strategy_of_several_replicas_is_not_measured(out_dir):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = model_with(L.Dense(1))
    facts = fitted(out_dir, model)
    assert facts.inputs == [] and facts.losses[0].input is None
    assert len(facts.parameters) == 4


# --- harmless ---


def trained(out_dir, with_facts, make, **how):
    keras.utils.set_random_seed(7)
    model, callbacks = make(), []
    if with_facts:
        callbacks = [recorder(out_dir)]
    history = model.fit(
        inputs(), labels(2), epochs=3, batch_size=BATCH, verbose=0, callbacks=callbacks, **how
    )
    if with_facts:
        assert reported(callbacks[0]).losses[0].input.steps == 10
    return model.get_weights(), history.history


def with_dropout(**how):
    layers = [L.BatchNormalization(), L.Dropout(0.4), L.Dense(5, activation="gelu"), L.Dropout(0.1)]
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    last = L.Dense(1, activation="sigmoid")
    return model_with(*layers, last, loss="binary_crossentropy", optimizer=optimizer, **how)


@pytest.mark.parametrize(
    "how, fit",
    [
        ({}, {}),
        ({"run_eagerly": True}, {}),
        ({}, {"class_weight": {0: 1.0, 1: 3.0}}),
        ({"steps_per_execution": 1, "jit_compile": False}, {"validation_split": 0.25}),
    ],
)
def test_weights_and_history_are_the_same_to_the_bit_with_facts(out_dir, how, fit):
    weights, history = trained(out_dir, True, lambda: with_dropout(**how), **fit)
    plain, plain_history = trained(out_dir, False, lambda: with_dropout(**how), **fit)
    assert history == plain_history
    for ours, others in zip(weights, plain, strict=True):
        np.testing.assert_array_equal(ours, others)


def test_the_functions_of_the_script_are_traced_no_more_often_than_for_saving(out_dir):
    traces = []

    def loss(y, p):
        traces.append(1)
        return tf.reduce_mean(tf.square(y - p), axis=-1)

    counts = []
    for number, has_facts in enumerate((True, False)):
        traces.clear()
        hook = smd.KerasHook(
            f"{out_dir}_{number}",
            save_config=smd.SaveConfig(save_interval=2),
            include_collections=["gradients"],
        )
        if has_facts:
            hook.report_facts()
        model_with(L.Dense(1), loss=loss).fit(
            inputs(), amounts(), epochs=3, batch_size=BATCH, verbose=0, callbacks=[hook]
        )
        hook.close()
        counts.append(len(traces))
    assert counts[0] == counts[1]


def test_a_layer_that_cannot_be_described_ends_only_the_facts(out_dir, monkeypatch, caplog):
    from smdebug.tensorflow.keras import facts as module

    def fail(layer):
        raise ValueError("no settings")

    monkeypatch.setattr(module, "layer_settings", fail)
    hook = recorder(out_dir)
    model_with(L.Dense(1)).fit(inputs(), amounts(), verbose=0, callbacks=[hook])
    hook.close()
    assert hook.status().error is None
    assert len(read(out_dir).steps()) > 1
    assert "is not described to rules" in caplog.text


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_the_shift_of_targets_against_the_tokens_is_told(out_dir, shift):
    tokens = random().integers(0, 9, (ROWS, 14))
    model = keras.Sequential([keras.Input((12,)), L.Embedding(9, 4), L.Dense(9, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    (told,) = fitted(out_dir, model, tokens[:, :12], tokens[:, shift : 12 + shift]).losses
    assert told.input.target_shift == shift
    assert told.input.padding == 0


@pytest.mark.parametrize("masks", [False, True])
def test_padding_that_the_loss_counts_is_told(out_dir, masks):
    tokens = random().integers(1, 9, (8, 14))[np.arange(ROWS) % 8]
    tokens[np.arange(14) >= np.arange(14, 0, -2)[np.arange(ROWS) % 7, None]] = 0
    embedding = L.Embedding(9, 4, mask_zero=masks)
    model = keras.Sequential([keras.Input((14,)), embedding, L.Dense(9, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    (told,) = fitted(out_dir, model, tokens, tokens).losses
    # Of each sample, 0, 2, ... or 12 of 14 places are padding.
    assert told.input.padding is None if masks else 0.3 < told.input.padding < 0.5
    assert told.input.padding_label == (None if masks else 0)
