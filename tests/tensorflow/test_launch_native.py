"""Loops and sessions of scripts that do not know of smdebug."""

import json
import os
import subprocess
import sys

import pytest

import smdebug.tensorflow as smd
from conftest import read, tf

SETTINGS = {
    "save_interval": 2,
    "collections": [{"name": name} for name in ("weights", "gradients", "losses")],
}

TAPE = """
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
x = tf.Variable([1.0, 2.0], name="x")

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.dropout(x * x, 0.5))
    x.assign_sub(0.1 * tape.gradient(loss, x))

for _ in range(5):
    step()
print("result", x.numpy().tobytes().hex())
"""

EAGER = """
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
x = tf.Variable([1.0, 2.0], name="x")

for _ in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.dropout(x * x, 0.5))
    x.assign_sub(0.1 * tape.gradient(loss, x))
print("result", x.numpy().tobytes().hex())
"""

IN_TURN = """
import tensorflow as tf
one, other = tf.Variable(1.0, name="one"), tf.Variable(2.0, name="other")

for _ in range(5):
    with tf.GradientTape() as tape:
        loss = one * one
    one.assign_sub(0.1 * tape.gradient(loss, one))
    with tf.GradientTape() as second:
        loss = one * other * other
    other.assign_sub(0.1 * second.gradient(loss, other))
"""

KERAS = """
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(tf.ones((20, 3)), tf.ones((20, 2)), batch_size=4, verbose=0)
"""

SESSION = """
import tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.set_random_seed(1)
data = tf1.placeholder(tf.float32, (None,), name="data")
w = tf1.get_variable("w", initializer=tf.constant([3.0]))
loss = tf.reduce_mean(tf.nn.dropout((w - data) ** 2, rate=0.3), name="error")
train = tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
"""

PLAIN = """
with tf1.Session() as session:
    session.run(tf1.global_variables_initializer())
    for turn in range(5):
        error, _ = session.run([loss, train], feed_dict={data: [1.0, turn]})
        session.run(loss, {data: [1.0]})
    print("result", error.tobytes().hex(), session.run(w).tobytes().hex())
"""

MONITORED = """
with tf1.train.MonitoredTrainingSession() as session:
    for turn in range(5):
        error, _ = session.run([loss, train], feed_dict={data: [1.0, turn]})
    print("result", error.tobytes().hex(), session.run(w).tobytes().hex())
"""


def run(tmp_path, script, out_dir=None):
    """What a script prints behind "result"; with an `out_dir` it is recorded there."""
    path = tmp_path / "script.py"
    path.write_text(script)
    launch = (
        {} if out_dir is None else {"SMDEBUG_RUN": json.dumps({**SETTINGS, "out_dir": out_dir})}
    )
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **launch},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "not recorded" not in done.stderr, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("result")]


@pytest.mark.parametrize("script", [TAPE, EAGER, SESSION + PLAIN, SESSION + MONITORED])
def test_a_script_is_recorded_and_computes_the_same(script, tmp_path, out_dir):
    assert run(tmp_path, script) == run(tmp_path, script, out_dir)
    trial = read(out_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    (weight,) = trial.tensor_names(collection="weights")
    (gradient,) = trial.tensor_names(collection="gradients")
    (loss,) = trial.tensor_names(collection="losses")
    is_tape = script in (TAPE, EAGER)
    assert trial.series_names() == (["loss"] if is_tape else [])
    assert (weight, loss) == (("weights/x:0", "loss") if is_tape else ("w:0", "error:0"))
    start = [1.0, 2.0] if is_tape else [3.0]
    assert trial.tensor(weight).value(0, mode=smd.modes.TRAIN).tolist() == start
    assert trial.tensor(gradient).steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    assert trial.tensor(loss).steps(mode=smd.modes.TRAIN) == [0, 2, 4]


def test_a_script_that_imports_the_hook_before_tensorflow_is_recorded(tmp_path, out_dir):
    first = "import smdebug_ng.autostart\nfrom smdebug.tensorflow import SessionHook\n"
    run(tmp_path, first + SESSION + PLAIN, out_dir)
    assert read(out_dir).steps(mode=smd.modes.TRAIN) == [0, 2, 4]


def test_tapes_of_models_that_train_in_turn_share_a_step_in_eager_code(tmp_path, out_dir):
    run(tmp_path, IN_TURN, out_dir)
    trial = read(out_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    assert [len(trial.series(name)) for name in ("loss", "loss_1")] == [5, 5]


def test_the_tapes_of_keras_are_left_to_keras(tmp_path, out_dir):
    run(tmp_path, KERAS, out_dir)
    assert read(out_dir).steps(mode=smd.modes.TRAIN) == [0, 2, 4]


def test_tapes_are_as_they_were_where_nothing_watches():
    assert tf.GradientTape.__enter__.__module__.startswith("tensorflow.")
