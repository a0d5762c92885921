"""Rules that judge inside `fit`, and what follows when one fires."""

import keras
import numpy as np
import pytest

import smdebug.tensorflow as smd
from conftest import digits
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugValueError

X, Y = digits(40)
BATCH = 8
BAD_BATCH = 2  # of five


def broken_images():
    images = X.copy()
    images[BAD_BATCH * BATCH] = np.nan
    return images


def fitted(hook, images, seen, epochs=2):
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    count = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(batch)
    )
    model.fit(
        images,
        Y,
        batch_size=BATCH,
        epochs=epochs,
        shuffle=False,
        verbose=0,
        callbacks=[hook, count],
    )
    return model


def hook_that(answer, out_dir):
    return smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        rules=[("ExplodingTensor", {"collection_names": "losses"})],
        on_fire=answer,
    )


def test_a_rule_that_fires_stops_fit_after_the_batch(out_dir, logged):
    seen = []
    hook = hook_that("stop", out_dir)
    fitted(hook, broken_images(), seen)
    assert seen == list(range(BAD_BATCH + 1))
    assert hook.verdicts()[0]["step"]["global"] == BAD_BATCH
    assert any("a rule stops fit" in line for line in logged)


def test_a_rule_that_fires_raises_out_of_fit_and_gives_the_model_back(out_dir):
    seen = []
    hook = hook_that("raise", out_dir)
    with pytest.raises(RuleEvaluationConditionMet, match="ExplodingTensor"):
        fitted(hook, broken_images(), seen)
    assert seen == list(range(BAD_BATCH))
    hook.close()
    assert hook.status().error is None


def test_a_healthy_fit_goes_on_to_its_end(out_dir):
    seen = []
    hook = hook_that("stop", out_dir)
    fitted(hook, X, seen)
    assert len(seen) == 2 * len(X) // BATCH
    hook.close()
    assert hook.verdicts()[0]["status"] == "NoIssuesFound"


def test_fit_cannot_skip_a_step(out_dir):
    with pytest.raises(SMDebugValueError, match="on_fire must be one of"):
        hook_that("skip_step", out_dir)
