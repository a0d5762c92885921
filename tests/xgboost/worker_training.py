"""One of two processes that train together: RANK PORT HOST OUT_DIR HOOK_ARGUMENTS(JSON).

Prints the results of the training, as JSON."""

import json
import sys

import numpy as np
import xgboost
from xgboost import collective

import smdebug.xgboost as smd

rank, port, host, out_dir, arguments = sys.argv[1:6]
arguments = json.loads(arguments)
coordinates = {
    "dmlc_communicator": "rabit",
    "dmlc_tracker_uri": host,
    "dmlc_tracker_port": int(port),
    "dmlc_task_id": rank,
    "dmlc_nworker": 2,
}
with collective.CommunicatorContext(**coordinates):
    random = np.random.RandomState(int(rank))
    x = random.rand(40, 3)
    dtrain = xgboost.DMatrix(x, (x[:, 0] > 0.5).astype(int))
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)
    result = {}
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 2, "nthread": 1},
        dtrain,
        6,
        evals=[(dtrain, "train")],
        evals_result=result,
        callbacks=[hook],
        verbose_eval=False,
    )
    mine = collective.get_rank()
    hook.close()
    status = hook.status()
    print(
        json.dumps(
            {
                "rank": mine,
                "rounds": booster.num_boosted_rounds(),
                "loss": result["train"]["logloss"],
                "state": status.state,
                "reason": status.reason,
            }
        )
    )
