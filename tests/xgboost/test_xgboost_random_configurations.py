"""A mistake in the configuration of a hook never ends or changes a training with XGBoost."""

import pytest
import xgboost
from random_configurations import Configuration, seeds

import smdebug.xgboost as smd
from conftest import BINARY, binary, rows, train

DATA = [None, binary(), binary(1, 5), xgboost.DMatrix(rows(1)), xgboost.DMatrix(rows(features=2))]
DATA += [rows(), ("/no/such/file", "csv"), ("x", "parquet"), 5]
OWN = {
    "hyperparameters": [None, {}, {"eta": 0.3, "x": "text"}, {"x": object(), 5: [1]}, [1], 5],
    "train_data": DATA,
    "validation_data": DATA,
}


class Script(xgboost.callback.TrainingCallback):
    """What a script does between the rounds."""

    def __init__(self, hook, configuration):
        self.hook = hook
        self.configuration = configuration

    def after_iteration(self, model, epoch, evals_log):
        self.configuration.use(self.hook)
        if epoch == 1:
            self.configuration.edit(self.hook)
        return False


def trained_with(hook, configuration):
    matrix = binary()
    booster = xgboost.train(
        BINARY,
        matrix,
        num_boost_round=4,
        evals=[(matrix, "train")],
        callbacks=[hook, Script(hook, configuration)],
        verbose_eval=False,
    )
    hook.close()
    return bytes(booster.save_raw("json"))


@pytest.fixture(scope="module")
def plain():
    return bytes(train(None, rounds=4).save_raw("json"))


@pytest.mark.parametrize("seed", seeds(40))
def test_a_training_is_the_same_whatever_its_hook_is_told(seed, out_dir, plain):
    configuration = Configuration(seed, own=OWN)
    hook = configuration.hook(smd.Hook, out_dir)
    configuration.edit(hook)
    assert trained_with(hook, configuration) == plain
    assert hook.status().error is None, hook.status()
