"""A script that does not use smdebug:

smdebug run --rule Overfit -- python examples/xgboost/unmodified.py
"""

import numpy as np
import xgboost

random = np.random.RandomState(0)
rows, label = random.rand(200, 6), random.randint(0, 2, 200)  # there is nothing to learn
dtrain = xgboost.DMatrix(rows[:150], label[:150])
dval = xgboost.DMatrix(rows[150:], label[150:])
booster = xgboost.train(
    {"objective": "binary:logistic", "max_depth": 6},
    dtrain,
    num_boost_round=31,
    evals=[(dtrain, "train"), (dval, "validation")],
    verbose_eval=10,
)
print(f"trained {booster.num_boosted_rounds()} rounds")
