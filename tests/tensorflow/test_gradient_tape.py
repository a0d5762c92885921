"""Loops of the user's own with a tf.GradientTape: what is recorded of them, and that they go on as
without."""

import gc
import json
import random
import weakref

import numpy as np
import pytest
from listed_tensors import check_collections_list_what_was_saved

import smdebug.tensorflow as smd
from conftest import KERAS_3, REPOSITORY, digits, read, tf
from smdebug import current_hook
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugError, SMDebugTypeError
from smdebug.tensorflow.tape.tape_tensors import TapeTensors

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
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
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
    hook = smd.KerasHook(
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
def test_the_weights_after_training_are_bit_identical_with_dropout(kind, interval, out_dir, warned):
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

    with warned() as usual:
        without = trained(None)
    with warned() as texts:
        config = smd.SaveConfig(save_interval=interval)
        hook = smd.KerasHook(out_dir, save_all=True, save_config=config)
        with_hook = trained(hook)
        hook.close()
    assert texts <= usual
    assert hook.status().steps == 7
    assert hook.status().tensors > 0
    for one, other in zip(without, with_hook, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_sums_and_products_that_tensorflow_rearranges_are_the_same_to_the_bit(kind, out_dir):
    """A gradient that somebody else wants too would keep it from meeting vectors and scalars of an
    update in another order than they are written in."""
    layers = tf.keras.layers

    def trained(hook):
        tf.keras.utils.set_random_seed(5)
        model = tf.keras.Sequential(
            [
                *(layers.Input((64,)), layers.Dense(64), layers.BatchNormalization()),
                *(layers.Activation("swish"), layers.Dropout(0.4), layers.Dense(32, "tanh")),
                *(layers.BatchNormalization(), layers.Dense(10)),
            ]
        )
        optimizer = tf.keras.optimizers.SGD(0.05, momentum=0.9)
        both = make_step(hook, model, optimizer)
        step = LOOPS[kind](lambda *batch: both(*batch)[0])
        losses = [step(images, labels) for images, labels in batches(12)]
        return [np.array(each) for each in [*model.variables, *losses]]

    without = trained(None)
    hook = smd.KerasHook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=2))
    with_hook = trained(hook)
    hook.close()
    assert hook.status().error is None
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
    hook = smd.KerasHook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=2))
    assert traces(hook) == without


@LOOP_KINDS
def test_where_nothing_is_due_no_tensor_is_read(kind, out_dir, monkeypatch):
    from smdebug.tensorflow.tape import tape_tensors

    model, _ = two_layers()
    hook = smd.KerasHook(
        out_dir,
        include_collections=EVERYTHING,
        save_config=smd.SaveConfig(save_interval=3),
    )
    read_at = []
    put_array = tape_tensors.put_array

    def counted(site, array):
        read_at.append(hook.status().last_step)
        put_array(site, array)

    for module in ("tape_tensors", "function_steps", "compiled_steps"):
        monkeypatch.setattr(f"smdebug.tensorflow.tape.{module}.put_array", counted)
    step = LOOPS[kind](make_step(hook, model, sgd()))
    for images, labels in batches(5):
        step(images, labels)
    hook.close()
    assert hook.status().tensors == len(read_at) == 2 * (1 + 4 + 4)


def test_the_names_collections_and_steps_are_those_of_the_original(out_dir):
    expected = json.loads((REPOSITORY / "tests/golden/gradient_tape/expected.json").read_text())[
        "trial"
    ]
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
    hook = smd.KerasHook(
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
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
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


def weights_alone(out_dir, **settings):
    settings = {"include_collections": EVERYTHING, **settings}
    return smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1), **settings)


def test_tapes_that_are_entered_together_share_a_step(out_dir):
    """As in the loop of a GAN."""
    hook = weights_alone(out_dir)
    one = tf.Variable([1.0, 2.0], name="one")
    two = tf.Variable([3.0], name="two")
    for _ in range(3):
        with (
            hook.wrap_tape(tf.GradientTape()) as first,
            hook.wrap_tape(tf.GradientTape()) as second,
        ):
            loss_of_one = tf.reduce_sum(one**2)
            loss_of_two = tf.reduce_sum(two**3)
        first.gradient(loss_of_one, [one])
        second.gradient(loss_of_two, {"two": two})
    hook.close()
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    np.testing.assert_array_equal(trial.tensor("loss").value(2), [5.0])
    np.testing.assert_array_equal(trial.tensor("loss_1").value(2), [27.0])
    np.testing.assert_array_equal(trial.tensor("gradients/oneGrad").value(2), [2.0, 4.0])
    np.testing.assert_array_equal(trial.tensor("gradients/twoGrad").value(2), [27.0])


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_a_persistent_tape_gives_gradients_several_times_in_its_step(kind, out_dir):
    hook = weights_alone(out_dir)
    one = tf.Variable([1.0, 2.0], name="one")
    two = tf.Variable([3.0], name="two")

    def step():
        with hook.wrap_tape(tf.GradientTape(persistent=True)) as tape:
            loss = tf.reduce_sum(one) * tf.reduce_sum(two)
        return tape.gradient(loss, one), tape.gradient(loss, two)

    step = LOOPS[kind](step)
    for _ in range(2):
        step()
    hook.close()
    trial = read(out_dir)
    assert trial.steps() == [0, 1]
    np.testing.assert_array_equal(trial.tensor("gradients/oneGrad").value(1), [3.0, 3.0])
    np.testing.assert_array_equal(trial.tensor("gradients/twoGrad").value(1), [3.0])


@LOOP_KINDS
def test_a_loss_of_which_several_gradients_are_taken_is_one_tensor(kind, out_dir):
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["weights", "losses"],
    )
    one = tf.Variable([1.0, 2.0], name="one")
    two = tf.Variable([3.0], name="two")

    def step():
        with hook.wrap_tape(tf.GradientTape(persistent=True)) as tape:
            loss = tf.reduce_sum(one) * tf.reduce_sum(two)
            other = tf.reduce_sum(two)
        tape.gradient(loss, [one, two])
        tape.gradient([loss, other], one)
        return tape.gradient(other, [one, two]), loss, other

    step = LOOPS[kind](step)
    for _ in range(2):
        step()
    hook.close()
    trial = read(out_dir)
    assert trial.tensor_names(collection="losses") == ["loss", "loss_1"]
    for number in range(2):
        assert trial.tensor("loss").value(number).item() == 9
        assert trial.tensor("loss_1").value(number).item() == 3
    assert hook.status().replaced_tensors == 0


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_gradients_of_gradients_and_jacobians_are_as_without_a_hook(kind, out_dir):
    def computed(wrap):
        x = tf.Variable([1.0, 2.0, 3.0], name="x")

        def step():
            with wrap(tf.GradientTape()) as outer:
                with wrap(tf.GradientTape()) as inner:
                    y = tf.reduce_sum(x**3)
                slope = inner.gradient(y, x)
                penalty = tf.reduce_sum(slope**2)
            slope_of_penalty = outer.gradient(penalty, x)
            with wrap(tf.GradientTape(persistent=True)) as rows:
                z = tf.stack([x[0] * x[1], x[2] ** 2])
            return slope_of_penalty, rows.jacobian(z, x)

        step = LOOPS[kind](step)
        step()
        return [each.numpy() for each in step()]

    hook = weights_alone(out_dir)
    for one, other in zip(computed(lambda t: t), computed(hook.wrap_tape), strict=True):
        np.testing.assert_array_equal(one, other)
    hook.close()
    assert hook.status().error is None
    # The last gradient of a step counts: 36 x^3, the outer one's.
    value = read(out_dir).tensor("gradients/xGrad").value(0)
    np.testing.assert_allclose(value, [36 * 1.0, 36 * 8.0, 36 * 27.0])


def test_each_turn_of_a_loop_inside_a_function_is_a_step(out_dir):
    hook = smd.KerasHook(
        out_dir, include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=3)
    )
    x = tf.Variable([1.0], name="x")

    @tf.function
    def epoch(factors):
        for factor in factors:
            with hook.wrap_tape(tf.GradientTape()) as tape:
                loss = tf.reduce_sum(x * factor)
            x.assign_sub(tape.gradient(loss, x))

    epoch(tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]))
    hook.close()
    trial = read(out_dir)
    assert trial.steps() == [0, 3]
    np.testing.assert_array_equal(trial.tensor("weights/x:0").value(3), [1.0 - 1 - 2 - 3])
    np.testing.assert_array_equal(trial.tensor("gradients/xGrad").value(3), [4.0])


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_the_variables_of_a_wrapped_optimizer_are_those_after_the_update(kind, out_dir):
    hook = weights_alone(out_dir)
    model, _ = two_layers()
    optimizer = hook.wrap_optimizer(tf.keras.optimizers.SGD(0.1, momentum=0.9))
    step = LOOPS[kind](make_step(hook, model, optimizer))
    after = []
    for images, labels in batches(3):
        step(images, labels)
        variables = optimizer.variables
        variables = variables() if callable(variables) else variables
        after.append({tape_name(v): np.array(v).reshape(np.shape(v) or 1) for v in variables})
    hook.close()
    trial = read(out_dir)
    names = trial.tensor_names(collection="optimizer_variables")
    assert names == sorted(after[-1])
    for step in (0, 1, 2):
        for name in names:
            np.testing.assert_array_equal(trial.tensor(name).value(step), after[step][name])


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_what_a_loop_saves_itself_goes_into_its_step(kind, out_dir):
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=2))
    x = tf.Variable([1.0], name="x")

    def step(number):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_sum(x)
        hook.save_tensor("inside", number * 10)
        hook.save_scalar("inside", number)
        hook.record_tensor_value(tensor_name="accuracy", tensor_value=number / 2)
        return tape.gradient(loss, x)

    step = LOOPS[kind](step)
    for number in range(4):
        step(tf.constant(float(number)))
        hook.save_tensor("outside", np.float32([number]))
        hook.save_scalar("outside", number)
    hook.close()
    trial = read(out_dir)
    for name in ("scalar/inside", "scalar/outside", "outside"):
        assert [trial.tensor(name).value(s).item() for s in range(4)] == [0, 1, 2, 3], name
    assert [trial.tensor("inside").value(s).item() for s in range(4)] == [0, 10, 20, 30]
    assert trial.tensor("accuracy").steps() == [0, 2]
    assert trial.tensor_names(collection="metrics") == ["accuracy"]
    assert trial.tensor("accuracy").value(2).item() == 1.0


@LOOP_KINDS
def test_a_mode_that_is_set_counts_its_own_steps(kind, out_dir):
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(
            {
                smd.modes.TRAIN: smd.SaveConfigMode(save_interval=2),
                smd.modes.EVAL: smd.SaveConfigMode(save_interval=1),
            }
        ),
    )
    model, _ = two_layers()
    step = LOOPS[kind](make_step(hook, model, sgd()))
    for number, (images, labels) in enumerate(batches(6)):
        hook.set_mode(smd.modes.EVAL if number in (2, 4) else smd.modes.TRAIN)
        step(images, labels)
    hook.close()
    trial = read(out_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2]
    assert trial.steps(mode=smd.modes.EVAL) == [0, 1]
    assert trial.steps() == [0, 2, 3, 4]


# --- gradients of every kind ---


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_sparse_gradients_are_filled_up_with_zeros(kind, out_dir):
    hook = weights_alone(out_dir)
    table = tf.Variable(np.ones((6, 2), np.float32), name="table")
    seed = random.randrange(2**32)
    print("seed", seed)
    rows = np.random.RandomState(seed).randint(0, 6, 9)

    def step():
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_sum(tf.gather(table, rows))
        return tape.gradient(loss, table)

    assert isinstance(LOOPS[kind](step)(), tf.IndexedSlices)
    hook.close()
    expected = np.zeros((6, 2), np.float32)
    for row in rows:
        expected[row] += 1
    np.testing.assert_array_equal(read(out_dir).tensor("gradients/tableGrad").value(0), expected)


def test_sparse_gradients_beyond_the_limit_are_left_out_with_a_word(out_dir, monkeypatch):
    monkeypatch.setattr("smdebug.tensorflow.tensors.LARGEST_DENSE_BYTES", 47)
    hook = weights_alone(out_dir)
    table = tf.Variable(np.ones((6, 2), np.float32), name="table")
    with hook.wrap_tape(tf.GradientTape()) as tape:
        loss = tf.reduce_sum(tf.gather(table, [1]))
    tape.gradient(loss, table)
    hook.close()
    assert "gradients/tableGrad" not in read(out_dir).tensor_names()
    assert "48 bytes" in hook.status().skipped["gradients/tableGrad"]
    check_collections_list_what_was_saved(read(out_dir))


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_missing_gradients_and_sources_that_are_no_variables_are_left_out(kind, out_dir):
    hook = weights_alone(out_dir)
    used, unused = tf.Variable([1.0], name="used"), tf.Variable([2.0], name="unused")

    def step(data):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            tape.watch(data)
            loss = tf.reduce_sum(used * data)
        return tape.gradient(loss, [used, unused, data])

    gradients = LOOPS[kind](step)(tf.constant([5.0]))
    assert gradients[1] is None and float(gradients[2][0]) == 1.0
    hook.close()
    trial = read(out_dir)
    assert trial.tensor_names() == [
        "gradients/usedGrad",
        "loss",
        "weights/unused:0",
        "weights/used:0",
    ]


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_ragged_and_sparse_targets_are_skipped_with_a_word(kind, out_dir):
    hook = weights_alone(out_dir)
    x = tf.Variable([1.0, 2.0, 3.0], name="x")

    def step():
        with hook.wrap_tape(tf.GradientTape()) as tape:
            ragged = tf.RaggedTensor.from_row_lengths(x * 2, [1, 2])
        return tape.gradient(ragged.flat_values, x), hook

    LOOPS[kind](lambda: step()[0])()
    with hook.wrap_tape(tf.GradientTape()) as tape:
        ragged = tf.RaggedTensor.from_row_lengths(x * 2, [1, 2])
    gradient = tape.gradient(ragged, x)
    np.testing.assert_array_equal(gradient, [2.0, 2.0, 2.0])
    hook.close()
    assert "rows differ in length" in hook.status().skipped["loss"]
    check_collections_list_what_was_saved(read(out_dir))
    assert read(out_dir).tensor("gradients/xGrad").steps() == [0, 1]


def test_half_precision_and_mixed_dtypes_are_recorded(out_dir):
    hook = weights_alone(out_dir)
    small = tf.Variable([1.5, 2.5], dtype=tf.bfloat16, name="small")
    large = tf.Variable([1.5], dtype=tf.float64, name="large")

    @tf.function
    def step():
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_sum(tf.cast(small, tf.float64)) * large
        return tape.gradient(loss, [small, large])

    step()
    hook.close()
    trial = read(out_dir)
    saved = trial.tensor("weights/small:0").value(0)
    assert str(saved.dtype) == "bfloat16"
    np.testing.assert_array_equal(saved.astype(np.float32), [1.5, 2.5])
    assert trial.tensor("gradients/largeGrad").value(0).dtype == np.float64


# --- mistakes and failures ---


@pytest.mark.parametrize("thing", [None, 3, "tape", tf.GradientTape, object()])
def test_only_tapes_are_wrapped(thing, out_dir):
    with pytest.raises(SMDebugTypeError, match="wrap_tape takes a tf.GradientTape"):
        smd.KerasHook(out_dir).wrap_tape(thing)


@pytest.mark.parametrize("thing", [None, 3, "adam", object(), tf.keras.optimizers.SGD])
def test_only_optimizers_are_wrapped(thing, out_dir):
    with pytest.raises(SMDebugTypeError, match="wrap_optimizer takes"):
        smd.KerasHook(out_dir).wrap_optimizer(thing)


def test_a_class_in_place_of_an_object_is_refused_with_the_call(out_dir):
    hook = smd.KerasHook(out_dir)
    with pytest.raises(SMDebugTypeError, match=r"pass an object of it, GradientTape\(...\)"):
        hook.wrap_tape(tf.GradientTape)
    with pytest.raises(SMDebugTypeError, match=r"pass an object of it, SGD\(...\)"):
        hook.wrap_optimizer(tf.keras.optimizers.SGD)
    with pytest.raises(SMDebugTypeError, match=r"pass an object of it, Sequential\(...\)"):
        hook.register_model(tf.keras.Sequential)
    with pytest.raises(SMDebugTypeError, match=r"pass an object of it, Dense\(...\)"):
        hook.get_collection("mine").add_keras_layer(tf.keras.layers.Dense)
    for call in (hook.wrap_tape, hook.wrap_optimizer, hook.register_model):
        with pytest.raises(SMDebugTypeError, match="found <class 'dict'>$"):
            call(dict)


def test_a_name_in_place_of_an_object_is_refused_with_what_to_pass(out_dir):
    hook = smd.KerasHook(out_dir)
    with pytest.raises(SMDebugTypeError, match=r"pass the tape itself, tf.GradientTape\(\)"):
        hook.wrap_tape("tape")
    with pytest.raises(SMDebugTypeError, match="found 'adam'; pass the optimizer itself"):
        hook.wrap_optimizer("adam")
    with pytest.raises(SMDebugTypeError, match="found 'model'; pass the model itself"):
        hook.register_model("model")


def test_an_optimizer_that_is_not_wrapped_is_named_with_the_call(out_dir, capfd):
    config = smd.SaveConfig(save_interval=1)
    hook = smd.KerasHook(out_dir, include_collections=["optimizer_variables"], save_config=config)
    variable = tf.Variable(1.0)
    with hook.wrap_tape(tf.GradientTape()) as tape:
        loss = variable * 2
    tape.gradient(loss, [variable])
    hook.close()
    assert "no optimizer is wrapped: call hook.wrap_optimizer" in capfd.readouterr().err


def test_a_wrapped_tape_is_a_tape_of_its_class_and_wrapped_once(out_dir):
    hook = smd.KerasHook(out_dir)
    tape = tf.GradientTape()
    assert hook.wrap_tape(hook.wrap_tape(tape)) is tape
    assert isinstance(tape, tf.GradientTape) and type(tape).__name__ == "GradientTape"
    assert type(tf.GradientTape()) is tf.GradientTape


def test_a_tape_that_is_used_wrongly_fails_as_without_a_hook(out_dir):
    hook = weights_alone(out_dir)
    x = tf.Variable([1.0], name="x")

    def misuse(tape):
        with tape:
            loss = tf.reduce_sum(x)
        tape.gradient(loss, x)
        tape.gradient(loss, x)

    def message(tape):
        with pytest.raises(RuntimeError) as raised:
            misuse(tape)
        return str(raised.value)

    def message_outside(tape):
        with pytest.raises(RuntimeError) as raised:
            tape.gradient(tf.constant(1.0), x)
        return str(raised.value)

    assert message(hook.wrap_tape(tf.GradientTape())) == message(tf.GradientTape())
    never_entered = hook.wrap_tape(tf.GradientTape())
    assert message_outside(never_entered) == message_outside(tf.GradientTape())
    assert hook.status().error is None


def test_an_interrupt_inside_a_tape_leaves_what_was_saved_and_the_count_of_steps(out_dir):
    hook = weights_alone(out_dir)
    x = tf.Variable([1.0], name="x")

    def step(fails):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            if fails:
                raise KeyboardInterrupt
            loss = tf.reduce_sum(x)
        tape.gradient(loss, x)

    step(False)
    with pytest.raises(KeyboardInterrupt):
        step(True)
    step(False)
    hook.close()
    assert read(out_dir).tensor("loss").steps() == [0, 2]


@LOOP_KINDS
def test_a_failure_of_ours_never_reaches_the_loop(kind, out_dir, monkeypatch):
    hook = weights_alone(out_dir)
    model, _ = two_layers()
    step = LOOPS[kind](make_step(hook, model, sgd()))
    monkeypatch.setattr(TapeTensors, "is_due", lambda *given: 1 / 0)
    monkeypatch.setattr(TapeTensors, "sorted_out", lambda *given: 1 / 0)
    losses = [float(step(images, labels)[0]) for images, labels in batches(3)]
    assert len(losses) == 3 and np.isfinite(losses).all()
    assert "ZeroDivisionError" in hook.status().error


@LOOP_KINDS
def test_an_unknown_collection_is_logged_and_ignored_in_a_loop(kind, out_dir, logged):
    config = smd.SaveConfig(save_interval=1)
    hook = smd.KerasHook(out_dir, include_collections=["mine", "weights"], save_config=config)
    model, _ = two_layers()
    step = LOOPS[kind](make_step(hook, model, sgd()))
    for images, labels in batches(3):
        step(images, labels)
    hook.close()
    assert len([text for text in logged if "include_collections names 'mine'" in text]) == 1
    assert hook.status().error is None
    assert read(out_dir).tensor("loss").steps() == [0, 1, 2]


@LOOP_KINDS
def test_a_closed_hook_leaves_the_loop_alone(kind, out_dir):
    hook = weights_alone(out_dir)
    model, _ = two_layers()
    step = LOOPS[kind](make_step(hook, model, sgd()))
    some = batches(4)
    step(*some[0])
    hook.close()
    for images, labels in some[1:]:
        step(images, labels)
    assert read(out_dir).steps() == [0]
    assert hook.status().error is None


@LOOP_KINDS
@pytest.mark.parametrize("answer", ["raise", "stop"])
def test_a_rule_that_fires_ends_the_loop(kind, answer, out_dir):
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        rules=[("ExplodingTensor", {"collection_names": "losses"})],
        on_fire=answer,
    )
    model, _ = two_layers()
    scale = tf.Variable(1.0, trainable=False)
    step = LOOPS[kind](make_step(hook, model, sgd(), lambda logits: logits * scale))
    images, labels = batches(1)[0]
    step(images, labels)
    scale.assign(np.nan)
    before = [np.array(variable) for variable in model.trainable_variables]
    ending = RuleEvaluationConditionMet if answer == "raise" else SystemExit
    with pytest.raises(ending) as raised:
        step(images, labels)
    if answer == "stop":
        assert raised.value.code == 3
    if kind != "compiled":  # there the update is made when we hear of it
        for variable, value in zip(model.trainable_variables, before, strict=True):
            np.testing.assert_array_equal(np.array(variable), value)
    assert hook.verdicts()[0]["status"] == "IssuesFound"


def test_a_tape_cannot_skip_a_step(out_dir):
    with pytest.raises(SMDebugError, match="on_fire must be one of"):
        smd.KerasHook(out_dir, rules=["ExplodingTensor"], on_fire="skip_step")


@LOOP_KINDS
def test_a_hook_that_is_closed_is_not_kept_alive_by_its_loop(kind, out_dir):
    """TensorFlow keeps the Python functions that a graph calls to the end of the process."""

    def hook_of_a_loop():
        hook = weights_alone(out_dir)
        model, _ = two_layers()
        loop = make_step(hook, model, sgd())

        def step(images, labels):
            loss, _ = loop(images, labels)
            if kind != "compiled":
                hook.save_scalar("rate", loss)
                hook.save_tensor("mine", loss)
            return loss

        step = LOOPS[kind](step)
        for images, labels in batches(2):
            step(images, labels)
        hook.close()
        return weakref.ref(hook)

    hook = hook_of_a_loop()
    assert read(out_dir).tensor("loss").steps() == [0, 1]
    current_hook.set_current(None)
    gc.collect()
    assert hook() is None
