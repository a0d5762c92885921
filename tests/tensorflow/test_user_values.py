"""Every kind of value that a script may save by name with TensorFlow: it is saved with its
elements, or skipped and logged once, and never raises into the training."""

import functools

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import KERAS_3, read, split_cpu
from smdebug.exceptions import SMDebugTypeError

split_cpu()  # before the variables of the tables
FLOAT8 = tf.dtypes.experimental.float8_e4m3fn
ROWS = [[1.0, 2.0], [0.0, 4.0]]


@pytest.fixture
def hook(out_dir):
    """A hook in the middle of a step."""
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    with hook.wrap_tape(tf.GradientTape()):
        pass
    yield hook
    hook.close()


def rows():
    return tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [2, 2], [3, 2])


def rows_of(dtype):
    return tf.IndexedSlices(tf.cast([[2.0, 2.0]], dtype), [1], [3, 2])


def in_order(indices):
    return tf.SparseTensor(indices, [1.0, 2.0], (2, 2))


def sparse(values, shape=(2, 2)):
    return tf.SparseTensor([[0, 1], [1, 0]], values, shape)


# Name -> (value, the array that it is saved as). Each is made inside of graphs too.
SAVED = {
    "constant": (lambda: tf.constant(ROWS), ROWS),
    "computed": (lambda: tf.constant(ROWS) * 2, np.multiply(ROWS, 2)),
    "0-d": (lambda: tf.constant(2.5), 2.5),
    "empty": (lambda: tf.zeros((0, 2)), np.zeros((0, 2))),
    "bfloat16": (lambda: tf.constant(ROWS, tf.bfloat16), ROWS),
    "int8": (lambda: tf.constant([1, 2], tf.int8), [1, 2]),
    "bool": (lambda: tf.constant([True, False]), [True, False]),
    "complex": (lambda: tf.constant([1 + 2j]), [1 + 2j]),
    "string": (lambda: tf.constant([b"a", b"bc"]), [b"a", b"bc"]),
    "IndexedSlices": (rows, [[0, 0], [0, 0], [4, 6]]),
    "SparseTensor": (lambda: sparse([1.0, 2.0]), [[0, 1], [2, 0]]),
    "sparse strings": (lambda: sparse([b"x", b"y"]), [[b"", b"x"], [b"y", b""]]),
    "sparse of other orders": (lambda: in_order([[1, 0], [0, 1]]), [[0, 2], [1, 0]]),
    "SparseTensor without values": (
        lambda: tf.sparse.from_dense(tf.zeros((2, 2))),
        np.zeros((2, 2)),
    ),
    "sparse booleans": (lambda: sparse([True, True]), [[False, True], [True, False]]),
    "sparse bfloat16": (lambda: sparse(tf.constant([1, 2], tf.bfloat16)), [[0, 1], [2, 0]]),
    "rows of float8": (lambda: rows_of(FLOAT8), [[0, 0], [2, 2], [0, 0]]),
    "float8_e4m3fn": (lambda: tf.cast(ROWS, FLOAT8), ROWS),
    "float8_e5m2": (lambda: tf.cast(ROWS, tf.dtypes.experimental.float8_e5m2), ROWS),
    "uint64": (lambda: tf.constant([2**63], tf.uint64), [2**63]),
    "quantized": (lambda: tf.bitcast(tf.constant([1, 2], tf.int8), tf.qint8), [1, 2]),
    "0-d string": (lambda: tf.constant("a"), np.array(b"a")),
    "no strings": (lambda: tf.zeros((0,), tf.string), np.zeros((0,), "U1")),
    "list of tensors": (lambda: [tf.ones(2), tf.zeros(2)], [[1, 1], [0, 0]]),
    "list of tensors and numbers": (lambda: [tf.ones(2), [1.0, 2.0]], [[1, 1], [1, 2]]),
    "list of float8": (lambda: [tf.cast(each, FLOAT8) for each in ROWS], ROWS),
    "list of numbers": (lambda: [1, 2], [1, 2]),
    "number": (lambda: 2.5, [2.5]),
    "numpy": (lambda: np.asarray(ROWS), ROWS),
}
_NUMBERS = "float16 float32 float64 int16 int32 int64 uint8 uint16 uint32 complex64 complex128"
for _name in _NUMBERS.split():
    SAVED[_name] = (functools.partial(tf.cast, [1, 2], _name), [1, 2])
VARIABLE = tf.Variable(ROWS)
KERAS_VARIABLE = tf.keras.layers.Dense(2, kernel_initializer="ones")
KERAS_VARIABLE.build((None, 1))
SAVED["Variable"] = (lambda: VARIABLE, ROWS)
SAVED["list of variables"] = (lambda: [VARIABLE, VARIABLE], [ROWS, ROWS])
SAVED["variable of a layer"] = (lambda: KERAS_VARIABLE.kernel, [[1, 1]])
OF_ANY_SHAPE = tf.Variable([1.0], shape=tf.TensorShape(None))
OF_ANY_SHAPE.assign(ROWS)
SAVED["variable of unknown shape"] = (lambda: OF_ANY_SHAPE, ROWS)
FLOAT8_VARIABLE = tf.Variable(tf.cast(ROWS, FLOAT8))
SAVED["variable of float8"] = (lambda: FLOAT8_VARIABLE, ROWS)
STRINGS = tf.Variable(["a", "bc"])
SAVED["variable of strings"] = (lambda: STRINGS, [b"a", b"bc"])
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    MIRRORED = tf.Variable(ROWS)
    SUMMED = tf.Variable(
        ROWS,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
SAVED["variable with copies"] = (lambda: MIRRORED, ROWS)
SAVED["one of its copies"] = (lambda: MIRRORED.values[1], ROWS)
SAVED["variable that is summed when read"] = (lambda: SUMMED, np.multiply(ROWS, 2))
with tf.Graph().as_default():
    ELSEWHERE = tf.constant([1.0])
    PLACEHOLDER = tf.compat.v1.placeholder(tf.float32, [None])


def containing_itself():
    values = [tf.ones(1)]
    values.append(values)
    return values


SKIPPED = {
    "tensor of another graph": lambda: ELSEWHERE,
    "placeholder": lambda: PLACEHOLDER,
    "list that contains itself": containing_itself,
    "list of tensors and None": lambda: [tf.ones(1), None],
    "RaggedTensor in a list": lambda: [tf.ragged.constant([[1], [2, 3]])],
    "RaggedTensor of strings": lambda: tf.ragged.constant([["a"], ["b", "c"]]),
    "negative index of a SparseTensor": lambda: tf.SparseTensor([[0, -1]], [1.0], (2, 2)),
    "negative extent of a SparseTensor": lambda: tf.SparseTensor([[0, 1]], [1.0], (-1, 2)),
    "negative index of IndexedSlices": lambda: tf.IndexedSlices(tf.ones((1, 2)), [-1], [3, 2]),
    "index of IndexedSlices outside": lambda: tf.IndexedSlices(tf.ones((1, 2)), [5], [3, 2]),
    "variant": lambda: tf.raw_ops.TensorListReserve(
        element_shape=[1], num_elements=2, element_dtype=tf.float32
    ),
    "int4": lambda: np.asarray([1, 2], ml_dtypes.int4),
    "float8_e4m3fnuz": lambda: np.asarray([1, 2], ml_dtypes.float8_e4m3fnuz),
    "dataset": lambda: tf.data.Dataset.range(3),
    "iterator": lambda: iter(tf.data.Dataset.range(3)),
    "TensorShape": lambda: tf.TensorShape([1, 2]),
    "TensorSpec": lambda: tf.TensorSpec([1]),
    "date": lambda: np.datetime64("2020-01-01"),
    "layer": lambda: KERAS_VARIABLE,
    "number that is too large": lambda: 10**400,
    "RaggedTensor": lambda: tf.ragged.constant([[1], [2, 3]]),
    "KerasTensor": lambda: tf.keras.Input((2,)),
    "IndexedSlices without a shape": lambda: tf.IndexedSlices(tf.ones(1), [0]),
    "huge SparseTensor": lambda: sparse([1.0, 2.0], (2**20, 2**20)),
    "SparseTensor with indices outside": lambda: sparse([1.0, 2.0], (1, 1)),
    "TensorArray": lambda: tf.TensorArray(tf.float32, 1),
    "resource": lambda: VARIABLE.handle,
    "tensors of different shapes": lambda: [tf.ones(1), tf.ones(2)],
}


def check(out_dir, expected):
    tensor = read(out_dir).tensor("t")
    (step,) = tensor.steps()  # the next one, if another thread of TensorFlow saved it
    found, expected = tensor.value(step), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.astype(expected.dtype), expected)


@pytest.mark.parametrize("kind", SAVED)
def test_a_value_is_saved_with_its_elements(hook, out_dir, kind):
    make, expected = SAVED[kind]
    hook.save_tensor("t", make())
    hook.close()
    assert hook.status().skipped == {} and hook.status().error is None
    check(out_dir, expected)


@pytest.mark.parametrize("kind", SAVED)
def test_a_value_inside_a_function_is_saved_each_time_it_runs(hook, out_dir, kind):
    make, expected = SAVED[kind]

    @tf.function
    def step():
        hook.save_tensor("t", make())

    step()
    hook.close()
    assert hook.status().skipped == {} and hook.status().error is None
    check(out_dir, expected)


@pytest.mark.parametrize("where", ["eager", "function"])
@pytest.mark.parametrize("kind", SKIPPED)
def test_a_value_without_elements_is_logged_once_and_raises_nothing(
    hook, out_dir, kind, where, capfd
):
    def step():
        hook.save_tensor("odd", SKIPPED[kind]())

    step = tf.function(step) if where == "function" else step
    for _ in range(3):
        step()
        hook.save_scalar("sound", 1)
    assert list(hook.status().skipped) == ["odd"] and hook.status().error is None
    hook.close()
    assert capfd.readouterr().err.count("'odd' is not saved") == 1
    assert "scalar/sound" in read(out_dir).tensor_names()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.constant(1.5),
        lambda: tf.constant([1.5]),
        lambda: tf.Variable(1.5),
        lambda: tf.Variable([1.5], dtype=tf.bfloat16),
        lambda: tf.keras.Variable(1.5) if KERAS_3 else tf.Variable(1.5),
        lambda: [tf.constant(1.5)],
        lambda: tf.IndexedSlices(tf.constant([1.5]), [0], [1]),
        lambda: np.float32(1.5),
        lambda: ml_dtypes.bfloat16(1.5),
    ],
)
def test_a_scalar_is_any_tensor_or_variable_of_one_element(hook, out_dir, make):
    hook.save_scalar("s", make())
    hook.close()
    assert hook.status().skipped == {}
    assert read(out_dir).tensor("scalar/s").value(0).tolist() == [1.5]


@pytest.mark.parametrize("where", ["eager", "function"])
@pytest.mark.parametrize("kind", SAVED)
def test_a_metric_is_recorded_from_every_kind_of_value(hook, out_dir, kind, where):
    make, expected = SAVED[kind]
    hook.get_collection("metrics").save_config = smd.SaveConfig(save_interval=1)

    def step():
        hook.record_tensor_value("t", make())

    (tf.function(step) if where == "function" else step)()
    hook.close()
    assert hook.status().skipped == {} and hook.status().error is None
    check(out_dir, expected)
    assert read(out_dir).collection("metrics").tensor_names == {"t"}


@pytest.mark.parametrize("where", ["eager", "function"])
@pytest.mark.parametrize("kind", SKIPPED)
def test_a_metric_without_elements_is_logged_once_and_raises_nothing(hook, kind, where, capfd):
    hook.get_collection("metrics").save_config = smd.SaveConfig(save_interval=1)

    def step():
        hook.record_tensor_value("odd", SKIPPED[kind]())

    step = tf.function(step) if where == "function" else step
    for _ in range(3):
        step()
    hook.close()
    assert list(hook.status().skipped) == ["odd"] and hook.status().error is None
    assert capfd.readouterr().err.count("'odd' is not saved") == 1


def test_a_tensor_of_several_elements_inside_a_function_does_not_end_it(hook, out_dir):
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def step(x):
        hook.save_scalar("s", x)
        return x + 1

    assert step(tf.ones(2)).numpy().tolist() == [2, 2]
    assert step(tf.ones(1)).numpy().tolist() == [2]
    hook.close()
    assert "must be one number" in hook.status().skipped["scalar/s"]
    assert hook.status().error is None
    saved = read(out_dir).tensor("scalar/s")
    assert [saved.value(each).tolist() for each in saved.steps()] == [[1]]


def test_a_tensor_that_has_left_its_function_is_skipped_and_the_next_function_runs(hook):
    kept = []

    @tf.function
    def step(x):
        kept.append(x * 2)
        return x

    step(tf.ones(1))
    for save in (hook.save_tensor, hook.save_scalar, hook.record_tensor_value):
        save("eager", kept[0])
        tf.function(lambda save=save: save("inside", kept[0]))()
    hook.close()
    assert set(hook.status().skipped) == {"eager", "inside", "scalar/eager", "scalar/inside"}
    assert all("another graph" in each for each in hook.status().skipped.values())
    assert hook.status().error is None


@pytest.mark.parametrize(
    "make", [lambda: tf.ones(1), lambda: [tf.ones(1)], lambda: np.ones(1), lambda: 3]
)
def test_what_has_no_name_is_refused_by_a_collection_and_changes_nothing(hook, make):
    collection = hook.get_collection("mine")
    with pytest.raises(SMDebugTypeError, match="takes variables"):
        collection.add(make())
    with pytest.raises(SMDebugTypeError, match="takes a Keras layer"):
        collection.add_keras_layer(make())
    assert collection.added_patterns() == [] and collection.added_layers() == []


def test_the_name_of_a_layer_in_a_collection_is_refused_with_the_layer(hook):
    collection = hook.get_collection("mine")
    with pytest.raises(SMDebugTypeError, match=r"the layer itself, model.get_layer\('dense'\)"):
        collection.add_keras_layer("dense")
    with pytest.raises(AttributeError, match=r"use add_keras_layer\(layer\)"):
        collection.add_module_tensors("dense")


@pytest.mark.parametrize(
    "kind", ["variable of unknown shape", "variable of float8", "variable with copies"]
)
def test_a_collection_takes_every_kind_of_variable(hook, kind):
    make, _ = SAVED[kind]
    hook.get_collection("mine").add([make()])
    assert len(hook.get_collection("mine").added_patterns()) == 1


def test_a_tensor_of_several_elements_is_no_scalar(hook):
    with pytest.raises(SMDebugTypeError, match="must be one number"):
        hook.save_scalar("s", tf.ones(2))


def test_what_is_no_value_at_all_is_refused(hook):
    for value in (None, object(), {"a": 1}):
        with pytest.raises(SMDebugTypeError, match="'odd'"):
            hook.save_tensor("odd", value)


def number_in(expected):
    """The number that a scalar of these elements is, or None if they are not one number."""
    expected = np.asarray(expected)
    return (
        float(expected.reshape(()))
        if expected.size == 1 and expected.dtype.kind in "fiub"
        else None
    )


@pytest.mark.parametrize("where", ["eager", "function"])
@pytest.mark.parametrize("kind", [*SAVED, *SKIPPED])
def test_a_scalar_of_every_kind_is_saved_or_refused_but_never_breaks(hook, out_dir, kind, where):
    make, expected = SAVED[kind] if kind in SAVED else (SKIPPED[kind], [])

    def step():
        hook.save_scalar("s", make())

    number = number_in(expected)
    try:
        # Without autograph, which would wrap the error.
        (tf.function(step, autograph=False) if where == "function" else step)()
    except SMDebugTypeError as error:
        assert "s" in str(error) and number is None
    hook.save_scalar("sound", 1)
    hook.close()
    assert hook.status().error is None
    assert ("scalar/s" in read(out_dir).tensor_names()) == (number is not None)
    if number is not None:
        saved = read(out_dir).tensor("scalar/s")
        assert saved.value(saved.steps()[0]).tolist() == [number]
