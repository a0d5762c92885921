"""The README's loop with a GradientTape on digits, which also saves the accuracy.

python examples/tensorflow/gradient_tape.py [OUT_DIR]
"""

import sys

import tensorflow as tf
from sklearn.datasets import load_digits

import smdebug.tensorflow as smd

out_dir = sys.argv[1] if len(sys.argv) > 1 else "tape-run"

images, labels = load_digits(return_X_y=True)
dataset = tf.data.Dataset.from_tensor_slices((images[:512] / 16, labels[:512])).batch(64)

hook = smd.KerasHook(
    out_dir=out_dir,
    include_collections=["weights", "gradients", "losses", "metrics"],
    save_config=smd.SaveConfig(save_interval=4),
)

tf.keras.utils.set_random_seed(0)
model = tf.keras.models.Sequential(
    [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(10)]
)
opt = tf.keras.optimizers.SGD(0.5)
cce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_acc_metric = tf.keras.metrics.SparseCategoricalAccuracy()

n_epochs = 2
for _ in range(n_epochs):
    for data, labels in dataset:
        dataset_labels = labels
        # wrap the tape to capture tensors
        with hook.wrap_tape(tf.GradientTape(persistent=True)) as tape:
            logits = model(data, training=True)  # (64, 10)
            loss_value = cce(labels, logits)
        grads = tape.gradient(loss_value, model.variables)
        opt.apply_gradients(zip(grads, model.variables, strict=True))
        acc = train_acc_metric(dataset_labels, logits)
        # manually save metric values
        hook.record_tensor_value(tensor_name="accuracy", tensor_value=acc)
hook.close()

trial = smd.create_trial(out_dir)
for step in trial.tensor("loss").steps():
    loss, accuracy = (trial.tensor(name).value(step).item() for name in ("loss", "accuracy"))
    print(f"step {step:2}  loss {loss:.2f}  accuracy {accuracy:.2f}")
