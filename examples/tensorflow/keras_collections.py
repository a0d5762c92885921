"""Collections of Keras tensors, selected by a pattern, a layer and a variable.

python examples/tensorflow/keras_collections.py [OUT_DIR]
"""

import sys

import keras
from sklearn.datasets import load_digits

import smdebug.tensorflow as smd

out_dir = sys.argv[1] if len(sys.argv) > 1 else "collections-run"

images, labels = load_digits(return_X_y=True)
x, y = images[:256] / 16, labels[:256]

model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(32, activation="relu", name="hidden"),
        keras.layers.Dense(10, name="scores"),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))

hook = smd.KerasHook(
    out_dir=out_dir,
    save_config=smd.SaveConfig(save_interval=4),
    include_collections=["gradients", "hidden_outputs", "score_weights", "biases_only"],
    reduction_config=smd.ReductionConfig(reductions=["mean"], norms=["l2"]),
)
hook.get_collection("hidden_outputs").add_keras_layer(model.get_layer("hidden"))
hook.add_to_collection("score_weights", model.get_layer("scores").kernel)
hook.get_collection("biases_only").include("weights/.*bias:0$")
hook.get_collection("metrics").save_config.end_step = 0  # none of them

model.fit(x, y, batch_size=32, verbose=0, callbacks=[hook])
hook.close()

trial = smd.create_trial(out_dir)
for name in ("gradients", "hidden_outputs", "score_weights", "biases_only", "metrics"):
    print(name, len(trial.tensor_names(collection=name)))
mean = trial.tensor("hidden/outputs").reduction_value(4, "mean")
print(f"mean of hidden at step 4: {mean.item():.4f}")
