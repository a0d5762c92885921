"""Every kind of value that a script may save by name with TensorFlow: it is saved with its
elements, or skipped and logged once, and never raises into the training."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import KERAS_3, read
from smdebug.exceptions import SMDebugTypeError

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
    "list of tensors": (lambda: [tf.ones(2), tf.zeros(2)], [[1, 1], [0, 0]]),
    "list of numbers": (lambda: [1, 2], [1, 2]),
    "number": (lambda: 2.5, [2.5]),
    "numpy": (lambda: np.asarray(ROWS), ROWS),
}
VARIABLE = tf.Variable(ROWS)
KERAS_VARIABLE = tf.keras.layers.Dense(2, kernel_initializer="ones")
KERAS_VARIABLE.build((None, 1))
SAVED["Variable"] = (lambda: VARIABLE, ROWS)
SAVED["list of variables"] = (lambda: [VARIABLE, VARIABLE], [ROWS, ROWS])
SAVED["variable of a layer"] = (lambda: KERAS_VARIABLE.kernel, [[1, 1]])
SKIPPED = {
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


def test_a_metric_is_recorded_from_a_variable(hook, out_dir):
    hook.get_collection("metrics").save_config = smd.SaveConfig(save_interval=1)
    hook.record_tensor_value("accuracy", tf.Variable(0.5))
    hook.close()
    assert hook.status().error is None
    assert read(out_dir).tensor("accuracy").value(0).tolist() == 0.5


def test_a_tensor_of_several_elements_is_no_scalar(hook):
    with pytest.raises(SMDebugTypeError, match="must be one number"):
        hook.save_scalar("s", tf.ones(2))


def test_what_is_no_value_at_all_is_refused(hook):
    for value in (None, object(), {"a": 1}):
        with pytest.raises(SMDebugTypeError, match="'odd'"):
            hook.save_tensor("odd", value)
