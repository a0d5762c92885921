"""A graph of TensorFlow 1 in a MonitoredSession: fits a line, then reads its slope from the run.

python examples/tensorflow/session.py [OUT_DIR]
"""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

import smdebug.tensorflow as smd

out_dir = sys.argv[1] if len(sys.argv) > 1 else "session-run"

tf.disable_eager_execution()
hook = smd.SessionHook(
    out_dir,
    include_collections=["weights", "gradients", "losses", "errors"],
    save_config=smd.SaveConfig(save_interval=10),
)
hook.set_mode(smd.modes.TRAIN)

x = tf.placeholder(tf.float32, (None,), name="x")
slope = tf.get_variable("slope", initializer=0.0)
error = tf.subtract(slope * x, 2 * x, name="error")
loss = tf.reduce_mean(error**2, name="loss")
optimizer = hook.wrap_optimizer(tf.train.GradientDescentOptimizer(0.3))
train = optimizer.minimize(loss)

hook.add_to_collection("losses", loss)
hook.get_collection("errors").include("^error")  # any tensor of the graph, by its name

batches = np.random.RandomState(0)
with tf.train.MonitoredSession(hooks=[hook]) as session:
    for _ in range(31):
        session.run(train, {x: batches.rand(16)})
hook.close()

trial = smd.create_trial(out_dir)
for step in trial.tensor("slope:0").steps():
    largest = abs(trial.tensor("error:0").value(step)).max()
    print(
        f"step {step:2}  slope {trial.tensor('slope:0').value(step).item():.2f}  "
        f"largest error {largest:.2f}"
    )
