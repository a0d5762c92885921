"""The losses of every step of a loop with a tape, which `smdebug run` notes beside those that it
saves."""

import numpy as np
import pytest

import smdebug.tensorflow as smd
from conftest import digits, read, tf
from smdebug.tensorflow.keras.late_numbers import LateNumbers

SIZE = 8
STEPS = 12
cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

LOOPS = {
    "eager": lambda step: step,
    "function": tf.function,
    "compiled": lambda step: tf.function(step, jit_compile=True),
}
LOOP_KINDS = pytest.mark.parametrize("kind", LOOPS)


def recorder(out_dir, interval=5):
    """A hook as `smdebug run` makes it."""
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=interval))
    hook.note_every_step()
    return hook


def made(dropout=0.0):
    tf.keras.utils.set_random_seed(3)
    layers = [
        tf.keras.layers.Input((64,)),
        tf.keras.layers.Dense(8, activation="relu"),
        tf.keras.layers.Dense(10),
    ]
    if dropout:
        layers.insert(2, tf.keras.layers.Dropout(dropout))
    return tf.keras.Sequential(layers)


def batches(count=STEPS):
    x, y = digits(count * SIZE)
    return [(x[i : i + SIZE], y[i : i + SIZE]) for i in range(0, count * SIZE, SIZE)]


def make_step(hook, model, wrap=lambda hook, tape: hook.wrap_tape(tape) if hook else tape):
    """One step of a loop; returns its loss."""
    optimizer = tf.keras.optimizers.SGD(0.1)

    def step(x, y):
        tape = tf.GradientTape()
        with wrap(hook, tape):
            loss = cross_entropy(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


def recorded(hook, step, count=STEPS):
    """What `step` returns of each batch, once the hook is closed."""
    results = [step(x, y) for x, y in batches(count)]
    hook.close()
    assert hook.status().error is None
    return tf.nest.map_structure(float, results)


def series(hook, name="loss", mode=smd.modes.TRAIN):
    """(steps, values) of a series of the closed run."""
    steps, values = zip(*read(hook.out_dir).series(name, mode=mode), strict=True)
    return list(steps), list(values)


@LOOP_KINDS
@pytest.mark.parametrize("interval", [1, 5, 100])
def test_every_step_has_the_loss_of_its_own_batch(kind, interval, out_dir):
    hook = recorder(out_dir, interval)
    losses = recorded(hook, LOOPS[kind](make_step(hook, made())))
    assert series(hook) == (list(range(STEPS)), losses)
    saved = read(out_dir).tensor("loss")
    assert saved.steps() == list(range(0, STEPS, interval))
    for step in saved.steps():
        assert saved.value(step) == np.float32(losses[step])


@LOOP_KINDS
def test_a_hook_that_smdebug_run_did_not_make_notes_no_series_of_a_loop(kind, out_dir):
    hook = smd.KerasHook(out_dir)
    recorded(hook, LOOPS[kind](make_step(hook, made())))
    assert read(out_dir).series_names() == []


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_weights_are_the_same_to_the_bit_with_a_series(kind, out_dir):
    def trained(hook):
        model = made(dropout=0.5)
        step = LOOPS[kind](make_step(hook, model))
        losses = [float(step(x, y)) for x, y in batches()]
        return [each.numpy() for each in model.trainable_variables], losses

    plain, plain_losses = trained(None)
    hook = recorder(out_dir)
    mine, my_losses = trained(hook)
    hook.close()
    assert my_losses == plain_losses == series(hook)[1]
    for one, other in zip(mine, plain, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["function", "compiled"])
def test_a_function_is_traced_no_more_often_for_a_series(kind, out_dir):
    def traces(hook):
        counted, inner = [], make_step(hook, made())

        def step(x, y):
            counted.append(1)
            return inner(x, y)

        function = LOOPS[kind](step)
        for x, y in batches(4):
            function(x, y)
        return len(counted)

    assert traces(recorder(out_dir)) == traces(None)


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_a_loop_inside_of_a_function_has_the_loss_of_each_turn(kind, out_dir):
    hook = recorder(out_dir)
    step = make_step(hook, made())
    x, y = map(tf.constant, batches(1)[0])

    def turns():
        losses = tf.TensorArray(tf.float32, 6)
        for turn in tf.range(6):
            losses = losses.write(turn, step(x, y))
        return losses.stack()

    losses = LOOPS[kind](turns)().numpy().tolist()
    hook.close()
    assert series(hook) == (list(range(6)), losses)


@LOOP_KINDS
def test_losses_of_a_step_are_noted_under_the_names_of_their_tensors(kind, out_dir):
    """As in a step of a GAN, with a tape for each of two models and one target that is no single
    number."""
    hook = recorder(out_dir)
    one, other = tf.Variable(1.0, name="one"), tf.Variable(2.0, name="other")

    def step(x, y):
        with (
            hook.wrap_tape(tf.GradientTape()) as first,
            hook.wrap_tape(tf.GradientTape(persistent=True)) as second,
        ):
            all_of_x = tf.reduce_sum(x)
            product, row, square = one * all_of_x, other * x, other**2 + all_of_x
        first.gradient(product, one)
        second.gradient(row, other)
        for _ in range(2):
            second.gradient(square, other)
        one.assign_add(0.25)
        other.assign_add(0.5)
        return product, square

    pairs = recorded(hook, LOOPS[kind](step))
    assert read(out_dir).series_names() == ["loss", "loss_2"]
    assert series(hook)[1] == [each[0] for each in pairs]
    assert series(hook, "loss_2")[1] == [each[1] for each in pairs]
    trial = read(out_dir)
    assert trial.tensor("loss_1").value(0).shape == (SIZE, 64)
    assert trial.tensor("loss_2").value(5) == np.float32(pairs[5][1])


@LOOP_KINDS
def test_models_that_are_trained_in_turn_have_a_series_each(kind, out_dir):
    hook = recorder(out_dir)
    weights = [tf.Variable(1.0, name="one"), tf.Variable(2.0, name="other")]

    def turn(weight):
        def step(x, y):
            with hook.wrap_tape(tf.GradientTape()) as tape:
                loss = 3.0 * weight
            tape.gradient(loss, weight)
            weight.assign_add(1.0)
            return loss

        return LOOPS[kind](step)

    turns = [turn(weight) for weight in weights]
    recorded(hook, lambda x, y: [step(x, y) for step in turns], 4)
    assert series(hook) == ([0, 2, 4, 6], [3.0, 6.0, 9.0, 12.0])
    assert series(hook, "loss_1") == ([1, 3, 5, 7], [6.0, 9.0, 12.0, 15.0])
    assert read(out_dir).tensor_names(collection="losses") == ["loss"]


@LOOP_KINDS
def test_at_most_four_losses_of_a_step_are_noted(kind, out_dir):
    hook = recorder(out_dir)
    weight = tf.Variable(1.0)

    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            losses = [weight * float(i) for i in range(6)]
        tape.gradient(losses, weight)
        return losses[0]

    recorded(hook, LOOPS[kind](step), 3)
    assert read(out_dir).series_names() == ["loss", "loss_1", "loss_2", "loss_3"]
    assert len(read(out_dir).tensor_names(collection="losses")) == 6


@LOOP_KINDS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_losses_of_any_precision_are_noted(kind, dtype, out_dir):
    hook = recorder(out_dir)
    weight = tf.Variable(1.5, dtype=dtype)

    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reshape(weight * 0.5, [1])
        tape.gradient(loss, weight)
        weight.assign_add(0.5)
        return loss[0]

    losses = recorded(hook, LOOPS[kind](step), 6)
    assert series(hook)[1] == losses == [0.75 + 0.25 * i for i in range(6)]


@LOOP_KINDS
def test_a_loss_of_nan_is_noted(kind, out_dir):
    hook = recorder(out_dir)
    weight = tf.Variable(2.0)

    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.math.log(weight)
        tape.gradient(loss, weight)
        weight.assign_sub(1.0)
        return loss

    recorded(hook, LOOPS[kind](step), 4)
    assert np.isfinite(series(hook)[1][1]) and series(hook)[1][2] == -np.inf
    assert np.isnan(series(hook)[1][3])


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_steps_that_evaluate_have_a_series_in_their_mode(kind, out_dir):
    hook = recorder(out_dir)
    step = LOOPS[kind](make_step(hook, made()))
    losses = []
    for number, (x, y) in enumerate(batches(6)):
        hook.set_mode(smd.modes.EVAL if number % 2 else smd.modes.TRAIN)
        losses.append(float(step(x, y)))
    hook.close()
    assert series(hook)[1] == losses[::2]
    assert series(hook, mode=smd.modes.EVAL)[1] == losses[1::2]


@LOOP_KINDS
def test_nothing_is_noted_once_the_hook_is_closed(kind, out_dir):
    hook = recorder(out_dir)
    step = LOOPS[kind](make_step(hook, made()))
    for number, (x, y) in enumerate(batches(6)):
        if number == 3:
            hook.close()
        step(x, y)
    assert series(hook)[0] == [0, 1, 2]


@pytest.mark.parametrize("kind", ["eager", "compiled"])
def test_numbers_on_a_device_wait_for_the_next_saved_step(kind, out_dir, monkeypatch):
    hook, fetched, fetch = recorder(out_dir), [], LateNumbers.fetch

    def counted(late):
        fetched.append(hook.status().last_step)
        fetch(late)

    monkeypatch.setattr("smdebug.tensorflow.tape.loss_series._is_on_host", lambda loss: False)
    monkeypatch.setattr(LateNumbers, "fetch", counted)
    losses = recorded(hook, LOOPS[kind](make_step(hook, made())))
    assert sorted(set(fetched)) == [0, 5, 10, STEPS - 1]
    assert series(hook) == (list(range(STEPS)), losses)


@LOOP_KINDS
def test_an_error_ends_the_series_of_a_loop_with_a_word_and_nothing_else(
    kind, out_dir, logged, monkeypatch
):
    monkeypatch.setattr("smdebug.tensorflow.tape.loss_series._number_in", lambda array: 1 / 0)
    hook = recorder(out_dir)
    losses = recorded(hook, LOOPS[kind](make_step(hook, made())))
    assert sum("recorded in saved steps only" in message for message in logged) == 1
    saved = read(out_dir).tensor("loss")
    assert saved.steps() == [0, 5, 10]
    assert saved.value(10) == np.float32(losses[10])
