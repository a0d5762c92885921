"""Loops of the user's own with a tf.GradientTape: what is recorded of them, and that they go on as
without."""

import json
import random

import numpy as np
import pytest
from conftest import KERAS_3, REPOSITORY, digits, read, tf

import smdebug.tensorflow as smd
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugError, SMDebugTypeError
from smdebug.tensorflow.tape_recorder import TapeRecorder

EVERYTHING = ["weights", "biases", "gradients", "losses", "optimizer_variables"]


def two_layers(dropout=0.0):
    """A model whose weights depend on the seed alone."""
    tf.keras.utils.set_random_seed(5)
    layers = [
        tf.keras.layers.Input((64,)),
        tf.keras.layers.Dense(6, activation="relu", name="first"),
        tf.keras.layers.Dense(10, name="second"),
    ]
    if dropout:
        layers.insert(2, tf.keras.layers.Dropout(dropout))
    model = tf.keras.Sequential(layers)
    names = [tape_name(variable) for variable in model.trainable_variables]
    return model, names


def tape_name(variable):
    """The name of a variable as TensorFlow 2.15 has it."""
    return variable.path + ":0" if KERAS_3 else variable.name


def sgd(rate=0.1):
    return tf.keras.optimizers.SGD(rate)


cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def make_step(hook, model, optimizer, drop=lambda logits: logits):
    """One step of a loop; returns (loss, gradients)."""

    def step(images, labels):
        tape = tf.GradientTape()
        with hook.wrap_tape(tape) if hook else tape:
            loss = cross_entropy(labels, drop(model(images, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, gradients

    return step


def as_is(step):
    return step


LOOPS = {
    "eager": as_is,
    "function": tf.function,
    "compiled": lambda step: tf.function(step, jit_compile=True),
}
LOOP_KINDS = pytest.mark.parametrize("kind", LOOPS)


def batches(count, size=8):
    images, labels = digits(count * size)
    return [(images[i : i + size], labels[i : i + size]) for i in range(0, count * size, size)]


@LOOP_KINDS
def test_what_is_recorded_is_what_the_step_computes(kind, out_dir):
    model, names = two_layers()
    optimizer = sgd()
    hook = TapeRecorder(
        out_dir, include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=2)
    )
    step = LOOPS[kind](make_step(hook, model, optimizer))
    seen = []
    for images, labels in batches(5):
        before = [np.array(variable) for variable in model.trainable_variables]
        loss, gradients = step(images, labels)
        seen.append((before, float(loss), [np.array(each) for each in gradients]))
    hook.close()

    trial = read(out_dir)
    assert trial.steps() == [0, 2, 4]
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    for number in (0, 2, 4):
        before, loss, gradients = seen[number]
        np.testing.assert_array_equal(trial.tensor("loss").value(number), np.float32([loss]))
        for name, weight, gradient in zip(names, before, gradients, strict=True):
            saved = trial.tensor(f"weights/{name}").value(number)
            np.testing.assert_array_equal(saved, weight)
            saved = trial.tensor(f"gradients/{name[:-2]}Grad").value(number)
            np.testing.assert_array_equal(saved, gradient)
    kernels = [f"weights/{name}" for name in names if "kernel" in name]
    biases = [f"weights/{name}" for name in names if "bias" in name]
    assert trial.tensor_names(collection="weights") == sorted(kernels)
    assert trial.tensor_names(collection="biases") == sorted(biases)
    assert trial.tensor_names(collection="losses") == ["loss"]
    assert hook.status().dropped_tensors == 0
    assert hook.status().error is None


@LOOP_KINDS
@pytest.mark.parametrize("interval", [1, 3, 1000])
def test_the_weights_after_training_are_bit_identical_with_dropout(kind, interval, out_dir):
    # XLA draws other random numbers in each process and function, whatever the seed.
    is_seeded = kind != "compiled"

    def drop(logits):
        if is_seeded:
            return tf.nn.dropout(logits, 0.3)
        return tf.nn.experimental.stateless_dropout(logits, 0.3, seed=[1, 2])

    def trained(hook):
        model, _ = two_layers(dropout=0.5 if is_seeded else 0.0)
        step = LOOPS[kind](make_step(hook, model, sgd(), drop))
        for images, labels in batches(7):
            step(images, labels)
        return [np.array(variable) for variable in model.trainable_variables]

    without = trained(None)
    hook = TapeRecorder(
        out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=interval)
    )
    with_hook = trained(hook)
    hook.close()
    assert hook.status().steps == 7
    assert hook.status().tensors > 0
    for one, other in zip(without, with_hook, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["function", "compiled"])
def test_a_function_is_traced_as_often_as_without_a_hook(kind, out_dir):
    def traces(hook):
        model, _ = two_layers()
        counted = []
        inner = make_step(hook, model, sgd())

        def step(images, labels):
            counted.append(1)
            return inner(images, labels)

        compiled = LOOPS[kind](step)
        for images, labels in batches(6):
            compiled(images, labels)
        return len(counted)

    without = traces(None)
    hook = TapeRecorder(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=2))
    assert traces(hook) == without


@LOOP_KINDS
def test_where_nothing_is_due_no_tensor_is_read(kind, out_dir, monkeypatch):
    from smdebug.tensorflow import tape_tensors

    model, _ = two_layers()
    hook = TapeRecorder(
        out_dir,
        include_collections=EVERYTHING,
        save_config=smd.SaveConfig(save_interval=3),
    )
    read_at = []
    put_array = tape_tensors.put_array

    def counted(site, array):
        read_at.append(hook.status().last_step)
        put_array(site, array)

    for module in ("tape_tensors", "graph_steps", "compiled_steps"):
        monkeypatch.setattr(f"smdebug.tensorflow.{module}.put_array", counted)
    step = LOOPS[kind](make_step(hook, model, sgd()))
    for images, labels in batches(5):
        step(images, labels)
    hook.close()
    assert hook.status().tensors == len(read_at) == 2 * (1 + 4 + 4)


def test_the_names_collections_and_steps_are_those_of_the_original(out_dir):
    expected = json.loads(
        (REPOSITORY / "tests/golden/gradient_tape/expected.json").read_text()
    )["trial"]
    tf.keras.utils.set_random_seed(5)
    generator = np.random.RandomState(0)
    images = generator.rand(40, 5).astype("float32")
    labels = generator.randint(0, 3, 40)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((5,)),
            tf.keras.layers.Dense(4, activation="relu", name="first"),
            tf.keras.layers.Dense(3, activation="softmax", name="second"),
        ],
        name="net",
    )
    hook = TapeRecorder(
        out_dir,
        include_collections=["weights", "biases", "gradients", "losses", "metrics", "default"],
        save_config=smd.SaveConfig(save_interval=2),
    )
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy()
    optimizer = sgd()
    for i in range(5):
        some = slice(i * 8, i * 8 + 8)
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = loss_of(labels[some], model(images[some], training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        hook.save_scalar("count", i)
        hook.save_tensor("labels_seen", tf.constant(labels[some]), collections_to_write="default")
    hook.close()

    trial = read(out_dir)

    def known(names):
        """Keras 3 puts the model's name in front of its variables."""
        return sorted(name.replace("net/", "") for name in names)

    given = ["labels_seen", "scalar/count"]  # ours are saved at the step of the call, due or not
    assert known(trial.tensor_names()) == expected["tensor_names"]
    assert [mode.name for mode in trial.modes()] == expected["modes"]
    for name, names in expected["tensor_names_by_collection"].items():
        assert known(trial.tensor_names(collection=name)) == names
    for step in ("0", "2", "4"):
        assert known(trial.tensor_names(step=int(step))) == sorted(
            {*expected["tensor_names_by_step"][step], *given}
        )
    assert [s for s in trial.steps() if known(trial.tensor_names(step=s)) != given] == (
        expected["steps"]["GLOBAL"]
    )
