"""Records an XGBoost training: metrics, importances, trees and SHAP values.

python examples/xgboost/train.py [RUN_FOLDER]
"""

import sys

import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import smdebug.xgboost as smd


def main(out_dir):
    table = load_breast_cancer(as_frame=True)
    rows, other_rows, label, other_label = train_test_split(
        table.data, table.target, random_state=0
    )
    dtrain = xgboost.DMatrix(rows, label)
    dval = xgboost.DMatrix(other_rows, other_label)
    params = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.3}

    hook = smd.Hook(
        out_dir=out_dir,
        include_collections=[
            "losses",
            "predictions",
            "labels",
            "feature_importance",
            "trees",
            "average_shap",
        ],
        save_config=smd.SaveConfig(save_interval=5),
        hyperparameters=params,
        train_data=dtrain,
        validation_data=dval,
    )
    hook.get_collection("average_shap").save_config = smd.SaveConfig(save_interval=10)
    xgboost.train(
        params,
        dtrain,
        num_boost_round=21,
        evals=[(dtrain, "train"), (dval, "validation")],
        callbacks=[hook],
        verbose_eval=False,
    )
    hook.close()

    trial = smd.create_trial(out_dir)
    print("steps", trial.steps())
    for step in trial.tensor("validation-logloss").steps():
        print(f"step {step:2}  logloss {trial.tensor('validation-logloss').value(step)[0]:.4f}")
    gains = {
        name: trial.tensor(name).value(20)[0]
        for name in trial.tensor_names(step=20, regex="^feature_importance/total_gain/")
    }
    largest = max(gains, key=gains.get)
    print("largest importance", largest.rpartition("/")[2], f"{gains[largest]:.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/xgboost")
