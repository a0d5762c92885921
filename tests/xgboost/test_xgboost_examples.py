"""The samples of examples/xgboost run, and show what they are for."""

import json
import os
import pathlib
import re
import subprocess
import sys

import smdebug.xgboost as smd

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/xgboost"
SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"


def run(*command, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout + done.stderr


def test_the_training_shows_its_metrics_and_importances(tmp_path):
    code, out = run(sys.executable, SAMPLES / "train.py", tmp_path / "run")
    assert code == 0, out
    assert "steps [0, 5, 10, 15, 20]" in out and "largest importance" in out
    losses = [float(value) for value in re.findall(r"logloss (\S+)", out)]
    assert len(losses) == 5 and losses[-1] < losses[0]
    trial = smd.create_trial(str(tmp_path / "run"))
    assert len(trial.tensor_names(collection="average_shap")) == 30
    assert trial.tensor("average_shap/mean radius").steps() == [0, 10, 20]


def test_the_estimator_is_stopped_by_its_rule(tmp_path):
    code, out = run(sys.executable, SAMPLES / "estimator.py", tmp_path / "run")
    assert code == 0, out
    assert int(re.search(r"rounds (\d+)", out)[1]) < 200
    assert "LossNotDecreasing IssuesFound" in out


def test_the_json_sample_saves_what_the_file_says(tmp_path):
    (tmp_path / "hook.json").write_text(
        json.dumps(
            {
                "LocalPath": str(tmp_path / "run"),
                "CollectionConfigurations": [
                    {"CollectionName": "hyperparameters"},
                    {"CollectionName": "average_shap"},
                ],
            }
        )
    )
    code, out = run(
        sys.executable,
        SAMPLES / "from_json.py",
        SMDEBUG_CONFIG_FILE_PATH=str(tmp_path / "hook.json"),
    )
    assert code == 0, out
    trial = smd.create_trial(str(tmp_path / "run"))
    assert trial.steps() == [0, 10]
    assert trial.tensor("hyperparameters/num_class").value(10).tolist() == [3]
    assert trial.tensor("average_shap/f0").value(10).shape == (3,)  # one per class


def test_the_unmodified_script_is_judged_by_smdebug_run(tmp_path):
    code, out = run(
        *(SMDEBUG, "run", "--out", tmp_path / "run", "--rule", "Overfit", "--"),
        *(sys.executable, SAMPLES / "unmodified.py"),
    )
    assert "trained 31 rounds" in out and "Overfit: IssuesFound" in out, out
    assert code == 3
    assert smd.create_trial(str(tmp_path / "run")).steps() == [*range(5), 10, 20, 30]
