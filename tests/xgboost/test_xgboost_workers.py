"""Two real processes that train one model with xgboost.collective."""

import json
import pathlib
import subprocess
import sys

from xgboost.tracker import RabitTracker

import smdebug.xgboost as smd

SCRIPT = pathlib.Path(__file__).with_name("worker_training.py")


def train_together(out_dir, **arguments):
    """What each of two workers printed, by rank."""
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()
    place = tracker.worker_args()
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                SCRIPT,
                str(rank),
                str(place["dmlc_tracker_port"]),
                str(place["dmlc_tracker_uri"]),
                out_dir,
                json.dumps(arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        answers = []
        for worker in workers:
            out, err = worker.communicate(timeout=240)
            assert worker.returncode == 0, err
            answers.append(json.loads(out.splitlines()[-1]) | {"err": err})
        tracker.wait_for(timeout=60)
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
    return sorted(answers, key=lambda answer: answer["rank"])


def test_one_worker_writes_unless_all_are_asked_for(tmp_path):
    out_dir = str(tmp_path / "run")
    first, second = train_together(out_dir)
    assert (first["state"], second["state"]) == ("closed", "silent")
    assert "include_workers" in second["reason"]
    trial = smd.create_trial(out_dir, timeout=5)
    assert trial.workers() == ["worker_0"]
    saved = [trial.tensor("train-logloss").value(step)[0] for step in range(6)]
    assert saved == first["loss"] == second["loss"]  # of the rows of both


def test_all_workers_write_one_run(tmp_path):
    out_dir = str(tmp_path / "run")
    first, second = train_together(out_dir, include_workers="all", include_collections=["trees"])
    trial = smd.create_trial(out_dir, timeout=5)
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps() == list(range(6))
    for worker, answer in (("worker_0", first), ("worker_1", second)):
        tensor = trial.tensor("train-logloss")
        assert [tensor.value(step, worker=worker)[0] for step in range(6)] == answer["loss"]
        assert tensor is not None and trial.tensor("trees/Node").value(5, worker=worker).size > 1


STOP_AT_ONCE = {"rules": [["TreeDepth", {"depth": 0}]], "on_fire": "stop"}


def test_a_rule_ends_the_training_of_all_workers_together(tmp_path):
    answers = train_together(str(tmp_path / "run"), include_workers="all", **STOP_AT_ONCE)
    assert [answer["rounds"] for answer in answers] == [1, 1]


def test_one_judge_of_two_workers_ends_nothing_and_says_so(tmp_path):
    answers = train_together(str(tmp_path / "run"), **STOP_AT_ONCE)
    assert [answer["rounds"] for answer in answers] == [6, 6]
    assert "include_workers='all'" in answers[0]["err"]
