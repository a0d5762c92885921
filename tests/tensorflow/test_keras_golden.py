"""The program of the golden run keras_save_all, run with our hook (tests/golden/README.md): the
original's names, collections, steps and reductions, and beside them what the original could not
have without a patched TensorFlow."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import KERAS_3, read

if KERAS_3:
    pytest.skip("its optimizer is one of Keras 2", allow_module_level=True)

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/keras_save_all/expected.json"
# Under fit, the original needs keys in Keras's logs that no TensorFlow of Google's has.
OURS = {
    "inputs": {"inputs"},
    "outputs": {"labels", "predictions"},
    "gradients": {
        f"gradients/{layer}/{variable}Grad"
        for layer in ("first", "second")
        for variable in ("kernel", "bias")
    },
}
ALL_OURS = set().union(*OURS.values())


@pytest.fixture(scope="module")
def expected():
    return json.loads(GOLDEN.read_text())["trial"]


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    out_dir = str(tmp_path_factory.mktemp("golden") / "run")
    tf.keras.utils.set_random_seed(5)
    random = np.random.RandomState(0)
    x, y = random.rand(40, 5).astype("float32"), random.randint(0, 3, 40)
    reductions = smd.ReductionConfig(
        reductions=["mean", "std"], norms=["l1", "l2"], abs_reductions=["max"], save_shape=True
    )
    hook = smd.KerasHook(
        out_dir,
        save_all=True,
        export_tensorboard=True,
        save_config=smd.SaveConfig(save_interval=3),
        reduction_config=reductions,
    )
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(4, activation="relu", input_shape=(5,), name="first"),
            tf.keras.layers.Dense(3, activation="softmax", name="second"),
        ]
    )
    optimizer = hook.wrap_optimizer(tf.keras.optimizers.legacy.SGD(0.1))
    model.compile(optimizer, "sparse_categorical_crossentropy", run_eagerly=True)
    hook.register_model(model)
    model.fit(x, y, batch_size=10, epochs=1, shuffle=False, callbacks=[hook], verbose=0)
    hook.close()
    return read(out_dir)


def test_names_are_the_originals_and_those_that_it_could_not_have(trial, expected):
    assert set(trial.tensor_names()) == {*expected["tensor_names"], *ALL_OURS}
    for step in trial.steps():
        names = set(trial.tensor_names(step=step))
        assert names == {*expected["tensor_names_by_step"][str(step)], *ALL_OURS}


def test_collections_are_the_originals(trial, expected):
    collections = trial.collections()
    assert set(collections) == set(expected["collections"])
    for name, answer in expected["collections"].items():
        ours = ALL_OURS if name == "all" else OURS.get(name, set())
        if name != "biases":  # its pattern fits names of an optimizer's variables too: not used so
            assert collections[name].include_regex == answer["include_regex"], name
        names = expected["tensor_names_by_collection"][name]
        assert set(trial.tensor_names(collection=name)) == {*names, *ours}, name


def test_steps_and_modes_are_the_originals(trial, expected):
    assert trial.steps() == expected["steps"]["GLOBAL"]
    for mode in (smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT):
        assert trial.steps(mode=mode) == expected["steps"][mode.name]
    for name in expected["tensor_names"]:
        answer = expected["tensors"][name]["steps"]
        assert trial.tensor(name).steps(mode=smd.modes.TRAIN) == answer["TRAIN"], name


def test_shapes_reductions_and_logs_are_the_originals(trial, expected):
    """As the first of them: the same seed draws the same weights, and TensorFlow 2.11, which the
    original ran on, rounds as 2.15 does but for the last digits. What has no axis has one of length
    1 here, as its values have with the original too."""
    compared = 0
    for name in expected["tensor_names"]:
        tensor = trial.tensor(name)
        for step, workers in expected["tensors"][name]["at"].items():
            (answer,) = workers.values()
            assert list(tensor.shape(int(step))) == (answer["shape"] or [1]), name
            saved = answer.get("saved_reductions")
            if saved is None:  # losses and metrics are saved as they are
                found = {"value": tensor.value(int(step))}
                saved = {"value": answer["value"]}
            else:
                found = {
                    kind: tensor.reduction_value(
                        int(step), kind.removeprefix("abs_"), abs=kind.startswith("abs_")
                    )
                    for kind in saved
                }
            if (name, step) == ("batch", "3"):  # the original puts the number of the epoch over it
                assert (found["value"], answer["value"]["value"]) == ([3], [0])
                continue
            for kind, wanted in saved.items():
                if kind in ("l1", "l2") and len(answer["shape"]) == 2:
                    continue  # the original's are norms of a matrix, ours of all elements
                about = f"{kind} of {name} in step {step}"
                close = {"rtol": 1e-4, "atol": 1e-6, "err_msg": about}
                np.testing.assert_allclose(found[kind], wanted["value"], **close)
                compared += 1
    assert compared == 2 * (2 + 5 * 12 - 2 * 6) - 1
