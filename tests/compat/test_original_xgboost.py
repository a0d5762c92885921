"""The original's reader, from PyPI, reads what our XGBoost hook writes."""

import numpy as np
import xgboost
from test_original_reader import as_array, read_with_original

import smdebug.xgboost as smd
from smdebug.xgboost.collection import MODEL_COLLECTIONS, TRAINING_COLLECTIONS


def test_the_original_reads_every_collection_of_our_xgboost_run(tmp_path):
    x = np.random.RandomState(0).rand(50, 4)
    matrix = xgboost.DMatrix(x, x[:, 0] > 0.5, feature_names=["age", "größe 2", "bias", "d"])
    hook = smd.Hook(
        tmp_path / "run",
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=[*TRAINING_COLLECTIONS, *MODEL_COLLECTIONS],
        train_data=matrix,
        validation_data=matrix,
    )
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 3},
        matrix,
        5,
        evals=[(matrix, "train"), (matrix, "validation_0")],
        callbacks=[hook],
        verbose_eval=False,
    )
    hook.close()

    answers = read_with_original(tmp_path / "run")
    assert answers["steps"]["GLOBAL"] == [0, 2, 4]
    assert answers["workers"] == ["worker_0"]
    ours = smd.create_trial(str(tmp_path / "run"))
    assert sorted(answers["tensors"]) == ours.tensor_names()
    contributions = booster.predict(matrix, pred_contribs=True)
    for name in matrix.feature_names:
        whole = answers["tensors"][f"full_shap/{name}"]["GLOBAL"]["4"]["value"]
        np.testing.assert_array_equal(as_array(whole), contributions)
    for name, modes in answers["tensors"].items():
        for step, answer in modes["GLOBAL"].items():
            assert "raises" not in answer, f"{name} at step {step}: {answer}"
            value = ours.tensor(name).value(int(step))
            np.testing.assert_array_equal(as_array(answer["value"]), value, err_msg=name)
