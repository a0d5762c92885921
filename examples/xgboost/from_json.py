"""Creates a hook with get_hook from a JSON configuration, as SageMaker writes it.

SMDEBUG_CONFIG_FILE_PATH=hook.json python examples/xgboost/from_json.py
"""

import xgboost
from sklearn.datasets import load_iris

import smdebug.xgboost as smd

rows, label = load_iris(return_X_y=True)
dtrain = xgboost.DMatrix(rows, label)
params = {"objective": "multi:softprob", "num_class": 3}

hook = smd.get_hook() or smd.Hook(out_dir="runs/xgboost_from_json")
hook.hyperparameters = params
hook.train_data = dtrain
xgboost.train(params, dtrain, 11, evals=[(dtrain, "train")], callbacks=[hook], verbose_eval=False)
hook.close()
