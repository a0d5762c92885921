"""XGBoost runs: every collection that the hook knows, and the default hook.

This script of our project wrote the golden runs with the original; its queries about them are removed. ../rewrite.py
runs it in the folder that receives the runs, one case per process.
"""
import sys

import numpy as np
import xgboost
from runs import fresh

import smdebug.xgboost as smd

r = np.random.RandomState(0)
names = ["age", "f1", "height", "bias_term"]
PARAMS = {"objective": "binary:logistic", "max_depth": 2, "eta": 0.3, "eval_metric": ["logloss", "auc", "error@0.7"],
          "base_score": 0.5, "seed": 1}


def data():
    x = r.rand(40, 4)
    y = (x[:, 0] + 0.3 * x[:, 2] > 0.7).astype(int)
    return (xgboost.DMatrix(x[:30], y[:30], feature_names=names), xgboost.DMatrix(x[30:], y[30:], feature_names=names))


def fit(hook, dtrain, dval, rounds):
    xgboost.train(PARAMS, dtrain, num_boost_round=rounds, evals=[(dtrain, "train"), (dval, "validation")],
                  callbacks=[hook], verbose_eval=False)
    hook.close()


def xgboost_all():
    run = fresh("xgboost_all")
    dtrain, dval = data()
    hook = smd.Hook(run, save_config=smd.SaveConfig(save_interval=2), hyperparameters=PARAMS, train_data=dtrain,
                    validation_data=dval, include_collections=[
                        "metrics", "losses", "hyperparameters", "predictions", "labels", "feature_importance",
                        "average_shap", "full_shap", "trees"])
    fit(hook, dtrain, dval, 5)


def xgboost_default():
    run = fresh("xgboost_default")
    dtrain, dval = data()
    fit(smd.Hook(run), dtrain, dval, 12)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
