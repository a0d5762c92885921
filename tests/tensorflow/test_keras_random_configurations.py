"""A mistake in the configuration of a hook never ends or changes a training with Keras."""

import keras
import numpy as np
import pytest
from random_configurations import Configuration, seeds

import smdebug.tensorflow as smd
from conftest import digits, tf

STRANGER = keras.layers.Dense(1, name="stranger")
# Made here, because the graph of a session may be finalized.
VARIABLE, CONSTANT = tf.Variable(1.0, name="stranger"), tf.constant(1.0)
ODD = (
    lambda collection: collection.add_keras_layer(STRANGER, inputs=True),
    lambda collection: collection.add_keras_layer("first"),
    lambda collection: collection.add(VARIABLE),
    lambda collection: collection.add(CONSTANT),
)
SESSION_HOOKS = [smd.SessionHook]
if hasattr(tf, "estimator"):
    SESSION_HOOKS.append(smd.EstimatorHook)
LOOP = [STRANGER.name]
LOOP.append(LOOP)
ODD_IN_SESSIONS = (
    *ODD,
    lambda collection: collection.add(in_graph(lambda: tf.constant(1.0))),
    lambda collection: collection.add(in_graph(lambda: tf.constant(1.0).op)),
    lambda collection: collection.add(in_graph(tf.no_op)),
    lambda collection: collection.add(in_graph(lambda: tf.compat.v1.placeholder(tf.float32))),
    lambda collection: collection.add(
        in_graph(lambda: tf.compat.v1.Variable(1.0, use_resource=False))
    ),
    lambda collection: collection.add(
        in_graph(lambda: tf.IndexedSlices(tf.ones((1, 2)), [0], [3, 2]))
    ),
    lambda collection: collection.add(in_graph(lambda: tf.SparseTensor([[0]], [1.0], (2,)))),
    lambda collection: collection.add(tf.compat.v1.get_default_graph()),
    lambda collection: collection.add(LOOP),
    lambda collection: collection.add_for_mode(in_graph(tf.no_op), "train"),
    lambda collection: collection.add_keras_layer(STRANGER, inputs=np.ones(2)),
)


def in_graph(make):
    """What `make` makes in the graph of a session, or in another one if it is not open for new
    operations."""
    graph = tf.compat.v1.get_default_graph()
    with (tf.Graph() if graph.finalized or tf.executing_eagerly() else graph).as_default():
        return make()


def make_model():
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(5, activation="relu"), keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((64,)), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="sgd", loss=loss, metrics=["accuracy"])
    return model


def weights(model):
    return [np.asarray(each).tobytes() for each in model.get_weights()]


def fitted(hook, configuration):
    """The weights after two epochs of `fit` with a validation."""
    model, (images, labels) = make_model(), digits(32)
    if hook:
        hook.register_model(model)

    def between(epoch, logs):
        configuration.use(hook)
        configuration.edit(hook)

    script = [keras.callbacks.LambdaCallback(on_epoch_begin=between), hook] if hook else []
    data = {"validation_data": (images[:8], labels[:8]), "shuffle": False, "verbose": 0}
    model.fit(images, labels, batch_size=8, epochs=2, callbacks=script, **data)
    return weights(model)


def looped(hook, configuration):
    """The weights after four steps of a loop with a tape."""
    model, (images, labels) = make_model(), digits(32)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(0.1)
    if hook:
        hook.wrap_optimizer(optimizer)
    for step in range(4):
        tape = tf.GradientTape()
        with hook.wrap_tape(tape) if hook else tape:
            batch = slice(8 * step, 8 * step + 8)
            loss = loss_of(labels[batch], model(images[batch], training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        if hook:
            hook.record_tensor_value("loss", loss)
            configuration.use(hook)
            if step == 1:
                configuration.edit(hook)
    return weights(model)


PROGRAMS = {"fit": fitted, "loop": looped}


@pytest.fixture(scope="module")
def plain():
    return {kind: program(None, None) for kind, program in PROGRAMS.items()}


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("seed", seeds(12))
def test_a_training_is_the_same_whatever_its_hook_is_told(seed, kind, out_dir, plain):
    configuration = Configuration(seed, ODD)
    hook = configuration.hook(smd.KerasHook, out_dir)
    configuration.edit(hook)
    assert PROGRAMS[kind](hook, configuration) == plain[kind]
    hook.close()
    assert hook.status().error is None, hook.status()


def ran(hook, configuration):
    """The variable after a session of TensorFlow 1."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        weight = v1.get_variable("weight", initializer=np.ones((3, 2), np.float32))
        loss = tf.reduce_mean((weight - 3.0) ** 2)
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        if hook:
            hook.wrap_optimizer(optimizer)
            hook.add_to_collection("losses", loss)
        update = optimizer.minimize(loss)
        with v1.train.MonitoredSession(hooks=[hook] if hook else []) as session:
            for step in range(4):
                session.run(update)
                if hook:
                    configuration.use(hook)
                    if step == 1:
                        configuration.edit(hook)
            return session.run(weight).tobytes()


def test_a_list_among_the_names_of_collections_does_not_end_the_recording(out_dir):
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.include_collections.append(["mine"])
    model, (images, labels) = make_model(), digits(8)
    model.fit(images, labels, callbacks=[hook], verbose=0)
    assert hook.status().error is None
    assert hook.status().steps_saved > 0
    hook.close()


@pytest.mark.parametrize("seed", seeds(16))
def test_a_session_is_the_same_whatever_its_hook_is_told(seed, out_dir):
    configuration = Configuration(seed, ODD_IN_SESSIONS)
    hook = configuration.hook(SESSION_HOOKS[seed % len(SESSION_HOOKS)], out_dir)
    configuration.edit(hook)
    assert ran(hook, configuration) == ran(None, None)
    hook.close()
    assert hook.status().error is None, hook.status()
