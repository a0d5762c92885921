"""The README's first run: trains on digits with `fit` and `evaluate`, then reads the tensors.

python examples/tensorflow/keras_fit.py [OUT_DIR]
"""

import sys

import tensorflow as tf
from sklearn.datasets import load_digits

import smdebug.tensorflow as smd

out_dir = sys.argv[1] if len(sys.argv) > 1 else "~/smd_outputs/"

images, labels = load_digits(return_X_y=True)
x_train, y_train = images[:512] / 16, labels[:512]
x_test, y_test = images[512:640] / 16, labels[512:640]

hook = smd.KerasHook(out_dir=out_dir)

model = tf.keras.models.Sequential(
    [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(10, activation="softmax")]
)
model.compile(
    optimizer="adam",
    loss="sparse_categorical_crossentropy",
)

# Add the hook as a callback
model.fit(x_train, y_train, epochs=2, callbacks=[hook], verbose=0)
model.evaluate(x_test, y_test, callbacks=[hook], verbose=0)

# Create a trial to inspect the saved tensors
trial = smd.create_trial(out_dir=out_dir)
print(f"Saved these tensors: {trial.tensor_names()}")
print(f"Loss values during evaluation were {trial.tensor('loss').values(mode=smd.modes.EVAL)}")
