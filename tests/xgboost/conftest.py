"""Small trainings and functions that the tests of this folder share."""

import numpy as np
import xgboost

import smdebug.xgboost as smd
from smdebug.xgboost.collection import MODEL_COLLECTIONS, TRAINING_COLLECTIONS

EVERY_ROUND = smd.SaveConfig(save_interval=1)
COLLECTIONS = [*TRAINING_COLLECTIONS, *MODEL_COLLECTIONS]
BINARY = {"objective": "binary:logistic", "max_depth": 2, "eta": 0.3, "seed": 1, "nthread": 1}


def rows(seed=0, count=60, features=4):
    return np.random.RandomState(seed).rand(count, features)


def binary(seed=0, count=60, **options):
    """A DMatrix whose label depends on its first columns."""
    x = rows(seed, count)
    return xgboost.DMatrix(x, (x[:, 0] + 0.2 * x[:, 1] > 0.6).astype(int), **options)


def train(hook, params=None, dtrain=None, dval=None, rounds=3, **options):
    """A Booster that was trained with `hook` (None: without), and evaluated on both matrices."""
    dtrain = binary() if dtrain is None else dtrain
    dval = binary(1, 20) if dval is None else dval
    return xgboost.train(
        params or BINARY,
        dtrain,
        num_boost_round=rounds,
        evals=[(dtrain, "train"), (dval, "validation")],
        callbacks=[hook] if hook else [],
        verbose_eval=False,
        **options,
    )


def whole_hook(out_dir, dtrain, dval, **options):
    """A hook that saves everything of every round."""
    return smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        include_collections=COLLECTIONS,
        train_data=dtrain,
        validation_data=dval,
        **options,
    )
