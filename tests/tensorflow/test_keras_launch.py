"""`smdebug run` records scripts of Keras that know nothing of smdebug."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import smdebug.tensorflow as smd
from conftest import read

HEAD = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import {keras}
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
x, y = (x[:40] / 16).astype("float32"), y[:40]
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10, name="last")])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("sgd", loss, metrics=["accuracy"])
"""
IMPORTS = ["keras", "tensorflow; keras = tensorflow.keras"]
SETTINGS = {
    "save_interval": 2,
    "collections": [
        {"name": "losses"},
        {"name": "gradients", "summary": True, "save_interval": 2},
    ],
}


def launched(tmp_path, script, keras="keras"):
    path, out_dir = tmp_path / "train.py", str(tmp_path / "run")
    path.write_text(HEAD.format(keras=keras) + textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "SMDEBUG_RUN": json.dumps({**SETTINGS, "out_dir": out_dir})},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "not recorded" not in done.stderr, done.stderr[-3000:]
    return read(out_dir)


@pytest.mark.parametrize("keras", IMPORTS)
def test_fit_evaluate_and_predict_are_recorded_each_in_its_mode(tmp_path, keras):
    trial = launched(
        tmp_path,
        """
        model.fit(x, y, 8, 1, 0, validation_data=(x[:16], y[:16]), shuffle=False)
        model.evaluate(x, y, batch_size=40, verbose=0)
        model.predict(x, batch_size=40, verbose=0)
        """,
        keras,
    )
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    assert trial.steps(mode=smd.modes.EVAL) == [0, 1, 2], "1 ends an epoch"
    gradient = next(name for name in trial.tensor_names() if name.endswith("kernelGrad"))
    assert trial.tensor(gradient).steps(mode=smd.modes.TRAIN) == [0, 2, 4]


def test_a_script_that_imports_the_hook_before_keras_is_recorded(tmp_path):
    imports = "smdebug.tensorflow; smdebug.tensorflow.KerasHook; import keras"
    trial = launched(tmp_path, "model.fit(x, y, 8, 1, 0)", imports)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4]


def test_a_loop_of_train_on_batch_is_recorded(tmp_path):
    trial = launched(tmp_path, "for _ in range(5): model.train_on_batch(x[:8], y[:8])")
    assert trial.tensor("loss").steps(mode=smd.modes.TRAIN) == [0, 2, 4]


def test_a_callback_of_the_script_stays_and_its_own_hook_goes_before(tmp_path):
    trial = launched(
        tmp_path,
        """
        import smdebug.tensorflow as smd
        seen = []
        class Counts(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                seen.append(batch)
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[Counts()])
        model.fit(x, y, batch_size=8, verbose=0, callbacks=Counts())
        assert seen == 2 * [0, 1, 2, 3, 4]
        """,
    )
    assert trial.tensor("loss").steps() == [0, 2, 4, 6, 8, 9]


def test_the_metrics_that_callbacks_watch_are_described(tmp_path):
    launched(
        tmp_path,
        f"""
        C = keras.callbacks
        callbacks = [
            C.EarlyStopping("val_accuracy", mode="min"),
            C.EarlyStopping("loss", mode="min"),
            C.ReduceLROnPlateau("loss", mode="min"),
            C.ModelCheckpoint("{tmp_path}/last.keras", "val_loss", mode="max"),
            C.ModelCheckpoint("{tmp_path}/best.keras", "val_loss", mode="max", save_best_only=True),
            C.EarlyStopping("val_loss"),
        ]
        model.fit(x, y, batch_size=8, epochs=3, validation_split=0.2, callbacks=callbacks)
        """,
    )
    *_, last = read(str(tmp_path / "run")).facts()
    watches = last.facts.loop.metric_watches
    assert [(w.kind, w.metric, w.prefers_high, w.is_of_training) for w in watches] == [
        ("EarlyStopping", "val_accuracy", False, False),
        ("EarlyStopping", "loss", False, True),
        ("ReduceLROnPlateau", "loss", False, False),
        ("ModelCheckpoint", "val_loss", True, False),
        ("EarlyStopping", "val_loss", False, False),
    ]
