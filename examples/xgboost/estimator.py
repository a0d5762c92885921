"""A hook in a scikit-learn estimator, with a rule that ends the training.

python examples/xgboost/estimator.py [RUN_FOLDER]
"""

import sys

import xgboost
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import smdebug.xgboost as smd


def main(out_dir):
    rows, other_rows, target, other_target = train_test_split(
        *load_diabetes(return_X_y=True), random_state=0
    )
    hook = smd.Hook(
        out_dir=out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        rules=[("LossNotDecreasing", {"num_steps": 5})],
        on_fire="stop",
    )
    model = xgboost.XGBRegressor(n_estimators=200, learning_rate=0.5, callbacks=[hook])
    model.fit(rows, target, eval_set=[(other_rows, other_target)], verbose=False)
    hook.close()
    print("rounds", model.get_booster().num_boosted_rounds())
    for verdict in hook.verdicts():
        print(verdict["rule"], verdict["status"], verdict["message"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/xgboost_estimator")
