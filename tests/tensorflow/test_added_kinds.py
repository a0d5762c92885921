"""Every kind of value that adds tensors to a collection of a hook for TensorFlow: the call
takes it, or refuses it and changes nothing. Neither affects the training."""

import pathlib

import numpy as np
import pytest
from added_kinds import (
    FLAGS,
    INCLUDED,
    NO_FLAGS,
    ODD,
    OFF,
    check_save_all_is_what_scripts_pass,
    members_of,
)

import smdebug.tensorflow as smd
from conftest import KERAS_3, digits, read, split_cpu, tf
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

split_cpu()  # before the first variable
keras, tf1 = tf.keras, tf.compat.v1
EVERY_STEP = smd.SaveConfig(save_interval=1)
WANTED = ["weights", "mine"]


def model():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((64,), name="digits")
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")(inputs)
    return keras.Model(inputs, keras.layers.Dense(10, name="scores")(hidden))


@pytest.fixture
def hook(out_dir):
    hook = smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=WANTED)
    yield hook
    hook.close()


def fitted(hook, net):
    """The run of two steps of `fit`."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    net.compile(optimizer="sgd", loss=loss)
    net.fit(*digits(16), batch_size=8, callbacks=[hook], verbose=0)
    hook.close()
    assert hook.status().error is None
    trial = read(hook.out_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 1]
    return trial


def mirrored():
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        return tf.Variable(1.0, name="stranger")


def of_any_shape():
    return tf.Variable([1.0], shape=tf.TensorShape(None), name="stranger")


KERNEL = "hidden/weights/hidden/kernel:0"
BIAS = "hidden/weights/hidden/bias:0"
# Name -> (what is added of a model, the tensors that belong to the collection then).
ADDED = {
    "variable of a layer": (lambda net: net.get_layer("hidden").kernel, [KERNEL]),
    "list": (lambda net: net.get_layer("hidden").weights, [BIAS, KERNEL]),
    "tuple": (lambda net: tuple(net.get_layer("hidden").weights), [BIAS, KERNEL]),
    "list of lists": (lambda net: [[net.get_layer("hidden").kernel], []], [KERNEL]),
    "empty list": (lambda net: [], []),
    "input": (lambda net: net.inputs[0], None),
    "output of a layer": (lambda net: net.get_layer("hidden").output, ["hidden/outputs"]),
    "output": (lambda net: net.outputs, ["scores/outputs"]),
    "variable of no model": (lambda net: tf.Variable(1.0, name="stranger"), []),
    "variable without a name": (lambda net: tf.Variable(1.0), []),
    "variable of unknown shape": (lambda net: of_any_shape(), []),
    "variable of bfloat16": (lambda net: tf.Variable(tf.zeros(2, tf.bfloat16)), []),
    "variable of strings": (lambda net: tf.Variable(["a"]), []),
    "variable with copies": (lambda net: mirrored(), []),
    "one of its copies": (lambda net: mirrored().values[1], []),
    "variable of Keras": (lambda net: (keras.Variable if KERAS_3 else tf.Variable)(1.0), []),
    "sparse input": (lambda net: keras.Input((2,), sparse=True), []),
    "input of another model": (lambda net: keras.Input((2,), name="stranger"), []),
}


def containing_itself():
    values = []
    values.append(values)
    return values


def concrete():
    return tf.function(lambda: tf.constant(1.0)).get_concrete_function()


# Name -> makes what no collection takes.
REFUSED = {
    **ODD,
    "eager tensor": lambda: tf.ones(2),
    "eager scalar": lambda: tf.constant(1.0),
    "eager string": lambda: tf.constant("a"),
    "SparseTensor": lambda: tf.SparseTensor([[0, 1]], [1.0], (2, 2)),
    "IndexedSlices": lambda: tf.IndexedSlices(tf.ones((1, 2)), [0], [3, 2]),
    "RaggedTensor": lambda: tf.ragged.constant([[1], [2, 3]]),
    "TensorArray": lambda: tf.TensorArray(tf.float32, 1),
    "TensorSpec": lambda: tf.TensorSpec([1], name="stranger"),
    "TensorShape": lambda: tf.TensorShape([1]),
    "dtype": lambda: tf.float32,
    "dataset": lambda: tf.data.Dataset.range(3),
    "layer": lambda: keras.layers.Dense(1),
    "model": model,
    "class of layers": lambda: keras.layers.Dense,
    "optimizer": lambda: keras.optimizers.SGD(),
    "metric": lambda: keras.metrics.Mean(name="stranger"),
    "loss": lambda: keras.losses.MeanSquaredError(),
    "function": lambda: tf.function(lambda: 1.0),
    "concrete function": concrete,
    "module": lambda: tf.Module(name="stranger"),
    "path": lambda: pathlib.Path("stranger"),
    "text": lambda: "hidden",
    "list that contains itself": containing_itself,
    "list with an eager tensor": lambda: [tf.Variable(1.0), tf.constant(1.0)],
    "dict of variables": lambda: {"a": tf.Variable(1.0)},
}
METHODS = {
    "add": lambda hook, thing: hook.get_collection("mine").add(thing),
    "add_for_mode": lambda hook, thing: hook.get_collection("mine").add_for_mode(
        thing, smd.modes.TRAIN
    ),
    "add_to_collection": lambda hook, thing: hook.add_to_collection("mine", thing),
}


@pytest.mark.parametrize("kind", ADDED)
def test_every_kind_of_variable_and_tensor_of_a_model_is_added(hook, kind):
    make, expected = ADDED[kind]
    net = model()
    hook.get_collection("mine").add(make(net))
    found = fitted(hook, net).tensor_names(collection="mine")
    assert expected is None or found == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", REFUSED)
def test_anything_else_is_refused_by_the_call_and_changes_nothing(hook, kind, method):
    thing = REFUSED[kind]()
    before = members_of(hook.get_collection("mine"))
    with pytest.raises(SMDebugTypeError, match="a collection|a layer has several"):
        METHODS[method](hook, thing)
    assert members_of(hook.get_collection("mine")) == before


def test_a_training_goes_on_after_everything_that_was_refused(hook):
    for kind, make in REFUSED.items():
        for method in METHODS.values():
            with pytest.raises(SMDebugTypeError):
                method(hook, make())
        if kind not in ("layer", "model", "metric"):  # a metric of Keras 2 is a layer
            with pytest.raises(SMDebugTypeError, match="takes a Keras layer"):
                hook.get_collection("mine").add_keras_layer(make())
    assert "mine" not in fitted(hook, model()).collections()


@pytest.mark.parametrize(
    "make",
    [
        lambda net: net.get_layer("hidden"),
        lambda net: net.layers[0],
        lambda net: net,
        lambda net: keras.layers.Dense(1, name="stranger"),
        lambda net: model(),
        lambda net: keras.Sequential(name="empty"),
        lambda net: keras.layers.Activation("relu"),
    ],
    ids="layer input model stranger another empty activation".split(),
)
def test_every_kind_of_layer_is_added(hook, make):
    net = model()
    layer = make(net)
    hook.get_collection("mine").add_keras_layer(layer, inputs=True)
    found = fitted(hook, net).tensor_names(collection="mine")
    if layer is net.get_layer("hidden"):
        assert found == ["hidden/inputs", "hidden/outputs"]


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_of_any_kind_that_has_a_truth_chooses_the_tensors(hook, name):
    net, flag = model(), FLAGS[name]
    mine = hook.get_collection("mine")
    mine.add_keras_layer(net.get_layer("scores"), inputs=flag, outputs=False)
    expected = ["scores/inputs"] if name not in OFF else []
    assert fitted(hook, net).tensor_names(collection="mine") == expected


@pytest.mark.parametrize("flag", [*NO_FLAGS.values(), tf.ones(2)], ids=[*NO_FLAGS, "tensor"])
def test_a_flag_without_a_truth_is_refused_and_changes_nothing(hook, flag):
    mine = hook.get_collection("mine")
    for flags in ({"inputs": flag}, {"outputs": flag}):
        with pytest.raises(SMDebugTypeError, match="must be True or False"):
            mine.add_keras_layer(keras.layers.Dense(1), **flags)
    assert mine.added_layers() == []


@pytest.mark.parametrize("kind", [smd.KerasHook, smd.SessionHook])
def test_save_all_takes_what_scripts_pass(out_dir, kind):
    check_save_all_is_what_scripts_pass(lambda **given: kind(out_dir, **given))


@pytest.mark.parametrize("mode", ["TRAIN", 1, tf.constant(1)])
def test_what_is_no_mode_is_refused_and_changes_nothing(hook, mode):
    with pytest.raises(SMDebugTypeError, match="mode must be one of"):
        hook.get_collection("mine").add_for_mode(tf.Variable(1.0), mode)
    assert hook.get_collection("mine").added_patterns() == []


@pytest.mark.parametrize("name", [None, 3, tf.constant("mine"), np.ones(2)])
def test_what_is_no_name_of_a_collection_is_refused(hook, name):
    with pytest.raises(SMDebugTypeError, match="a collection's name must be text"):
        hook.add_to_collection(name, tf.Variable(1.0))


def test_every_kind_of_patterns_is_included_and_others_are_refused(hook):
    mine = hook.get_collection("mine")
    for make, expected in INCLUDED.values():
        mine.include_regex = []
        mine.include(make())
        assert mine.include_regex == expected
    for make in (*ODD.values(), lambda: tf.ones(2), lambda: tf.constant("a"), model):
        with pytest.raises(SMDebugTypeError, match="takes a pattern or a list of patterns"):
            mine.include(make())
    mine.include_regex = ["hidden/weights"]
    assert fitted(hook, model()).tensor_names(collection="mine") == [BIAS, KERNEL]


# --- sessions ---


def sparse():
    return tf.SparseTensor([[0, 1]], [1.0], (2, 2))


def variable(**options):
    return tf1.get_variable("extra", **{"initializer": [1.0], "use_resource": True, **options})


def partitioned():
    parts = tf1.fixed_size_partitioner(2)
    return tf1.get_variable("parts", initializer=tf.ones((4, 2)), partitioner=parts)


def assigned():
    return tf1.assign_add(variable(), [1.0])


# Name -> (what is added of a graph, the names of the tensors then, None: any).
OF_GRAPHS = {
    "tensor": (lambda loss: loss, ["loss:0"]),
    "constant": (lambda loss: tf.constant(1.0, name="one"), ["one:0"]),
    "operation": (lambda loss: tf.identity(loss, name="same").op, ["same:0"]),
    "operation without outputs": (lambda loss: tf.no_op(), []),
    "placeholder": (lambda loss: tf1.placeholder(tf.float32, [None]), []),
    "variable": (lambda loss: variable(), ["extra:0"]),
    "variable of the old kind": (lambda loss: variable(use_resource=False), ["extra:0"]),
    "variable of strings": (lambda loss: variable(initializer=["a"]), None),
    "variable in parts": (lambda loss: partitioned(), ["parts/part_0:0", "parts/part_1:0"]),
    "assignment": (lambda loss: assigned(), None),
    "handle of a variable": (lambda loss: variable().handle, None),
    "variant": (
        lambda loss: tf.raw_ops.TensorListReserve(
            element_shape=[1], num_elements=2, element_dtype=tf.float32
        ),
        [],
    ),
    "string": (lambda loss: tf.constant(["a"], name="text"), None),
    "bfloat16": (lambda loss: tf.cast(loss, tf.bfloat16, name="half"), ["half:0"]),
    "IndexedSlices": (
        lambda loss: tf.IndexedSlices(tf.ones((1, 2)) * loss, [0], [3, 2]),
        None,
    ),
    "parts of a SparseTensor": (lambda loss: [sparse().values, sparse().indices], None),
    "dense form of a SparseTensor": (lambda loss: tf.sparse.to_dense(sparse()), None),
    "list": (lambda loss: [loss, [tf.identity(loss, name="same").op]], ["loss:0", "same:0"]),
    "tensor of another graph": (lambda loss: ELSEWHERE, []),
    "variable of another graph": (lambda loss: ELSEWHERE_VARIABLE, []),
}
with tf.Graph().as_default():
    ELSEWHERE = tf.constant(1.0, name="elsewhere")
    ELSEWHERE_VARIABLE = tf1.get_variable("elsewhere_too", initializer=1.0, use_resource=True)
REFUSED_OF_GRAPHS = {
    **ODD,
    "SparseTensor": sparse,
    "sparse placeholder": lambda: tf1.sparse_placeholder(tf.float32),
    "SparseTensorValue": lambda: tf1.SparseTensorValue(np.array([[0, 1]]), [2.0], (1, 3)),
    "RaggedTensor": lambda: tf.ragged.constant([[1], [2, 3]]),
    "TensorArray": lambda: tf.TensorArray(tf.float32, 1),
    "queue": lambda: tf.queue.FIFOQueue(3, [tf.float32]),
    "graph": lambda: tf1.get_default_graph(),
    "optimizer": lambda: tf1.train.GradientDescentOptimizer(0.1),
    "name": lambda: "loss:0",
    "list with a SparseTensor": lambda: [tf.constant(1.0), sparse()],
    "list that contains itself": containing_itself,
}


def session_hook(out_dir):
    return smd.SessionHook(out_dir, save_config=EVERY_STEP, include_collections=WANTED)


def ran(hook, add):
    """The run of two steps of a session, whose losses are those of a session without a hook.
    `add(loss)` is called while the graph is made."""
    with tf.Graph().as_default():
        weight = tf1.get_variable("weight", initializer=[1.0, 2.0], use_resource=True)
        loss = tf.reduce_mean((weight - 3.0) ** 2, name="loss")
        train = hook.wrap_optimizer(tf1.train.GradientDescentOptimizer(0.5)).minimize(loss)
        add(loss)
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            losses = [session.run([loss, train])[0] for _ in range(2)]
    hook.close()
    assert losses == [2.5, 0.625]  # each weight halves its distance to 3
    assert hook.status().error is None
    trial = read(hook.out_dir)
    assert trial.steps() == [0, 1]
    return trial


@pytest.mark.parametrize("kind", OF_GRAPHS)
def test_every_kind_of_tensor_operation_and_variable_of_a_graph_is_added(out_dir, kind):
    make, expected = OF_GRAPHS[kind]
    hook = session_hook(out_dir)
    trial = ran(hook, lambda loss: hook.add_to_collection("mine", make(loss)))
    assert expected is None or trial.tensor_names(collection="mine") == expected


def test_anything_else_of_a_graph_is_refused_by_the_call_and_changes_nothing(out_dir):
    hook = session_hook(out_dir)
    mine = hook.get_collection("mine")

    def add(loss):
        for make in REFUSED_OF_GRAPHS.values():
            thing = make()
            for method in METHODS.values():
                with pytest.raises(SMDebugTypeError, match="a collection"):
                    method(hook, thing)
                assert members_of(mine) == ([], set(), [[], [], [], []])

    assert "mine" not in ran(hook, add).collections()


# --- estimators ---


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="this TensorFlow has no tf.estimator")
def test_every_kind_is_added_or_refused_while_an_estimator_makes_its_graph(out_dir, tmp_path):
    hook = smd.EstimatorHook(out_dir, save_config=EVERY_STEP, include_collections=WANTED)

    def make_model(features, labels, mode):
        prediction = tf1.layers.dense(features, 1, name="line")
        loss = tf1.losses.mean_squared_error(labels, prediction)
        for name, (make, _) in OF_GRAPHS.items():
            with tf1.variable_scope(name.replace(" ", "_")):
                hook.add_to_collection("mine", make(tf.identity(loss, name="loss")))
        for make in REFUSED_OF_GRAPHS.values():
            with pytest.raises(SMDebugTypeError, match="a collection"):
                hook.add_to_collection("mine", make())
        optimizer = hook.wrap_optimizer(tf1.train.GradientDescentOptimizer(0.1))
        train = optimizer.minimize(loss, tf1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def inputs():
        return tf.data.Dataset.from_tensors((tf.ones((4, 2)), tf.ones((4, 1)))).repeat(2)

    estimator = tf.estimator.Estimator(make_model, str(tmp_path / "model"))
    estimator.train(inputs, hooks=[hook], steps=2)
    hook.close()
    assert hook.status().error is None
    trial = read(out_dir)
    assert trial.steps() == [0, 1]
    names = trial.tensor_names(collection="mine")
    assert {"tensor/loss:0", "constant/one:0", "operation/same:0", "variable/extra:0"} <= set(names)


@pytest.mark.parametrize("pattern", ["(", "[a-", "*x", ["hidden", "("]])
def test_a_pattern_that_does_not_compile_is_refused_and_changes_nothing(hook, pattern):
    mine = hook.get_collection("mine")
    with pytest.raises(SMDebugValueError, match="does not compile"):
        mine.include(pattern)
    assert mine.include_regex == []
