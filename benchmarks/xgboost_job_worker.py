"""One XGBoost training watched in one way, timed in blocks of rounds on request.

benchmarks/xgboost_jobs.py starts one such program per job and way, in our environment or the
original's, and asks for a few blocks at a time. Each answer pairs the watched training with the
same training bare, in the same program; both alternate. A block is a whole training; one hook
serves them all, so that what its first round costs is not in the figures.

    python xgboost_job_worker.py JOB WAY RUN_FOLDER

It reads the number of blocks per line and answers each with one line of JSON.
"""

import json
import os
import pathlib
import shutil
import sys
import time

import numpy as np
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes

BLOCK = 20  # rounds: two of them are saved
COLLECTIONS = [
    "metrics",
    "losses",
    "hyperparameters",
    "predictions",
    "labels",
    "feature_importance",
    "full_shap",
    "average_shap",
    "trees",
]


def generated():
    random = np.random.RandomState(0)
    rows = random.rand(100_000, 50).astype(np.float32)
    label = rows[:, :5].sum(axis=1) + 0.2 * random.rand(len(rows)) > 2.6
    return rows, label.astype(int), "binary:logistic"


def breast_cancer():
    return *load_breast_cancer(return_X_y=True), "binary:logistic"


def diabetes():
    return *load_diabetes(return_X_y=True), "reg:squarederror"


JOBS = {"generated": generated, "breast cancer": breast_cancer, "diabetes": diabetes}


class Training:
    """`run` makes one training of a block's rounds."""

    callbacks = ()

    def __init__(self, job):
        rows, label, objective = JOBS[job]()
        cut = len(label) * 9 // 10
        self.dtrain = xgboost.DMatrix(rows[:cut], label[:cut])
        self.dval = xgboost.DMatrix(rows[cut:], label[cut:])
        self.params = {"objective": objective, "max_depth": 6, "nthread": 1, "seed": 1}

    def run(self):
        xgboost.train(
            self.params,
            self.dtrain,
            BLOCK,
            evals=[(self.dtrain, "train"), (self.dval, "validation")],
            callbacks=list(self.callbacks),
            verbose_eval=False,
        )

    def after_block(self):
        """Not timed."""


class EmptyCallback(Training):
    callbacks = (xgboost.callback.TrainingCallback(),)


def name_distribution():
    """The original asks setuptools for the version of a distribution called `xgboost`; the build
    without CUDA has another name."""
    try:
        import pkg_resources
    except ImportError:  # it is only there where the original is
        return
    pkg_resources.working_set.add(
        pkg_resources.Distribution(project_name="xgboost", version=xgboost.__version__)
    )


class Hooked(Training):
    def __init__(self, job, way, folder):
        super().__init__(job)
        name_distribution()
        import smdebug.xgboost as smd

        self.folder = folder
        options = {}
        if way == "everything":
            options = {
                "include_collections": COLLECTIONS,
                "hyperparameters": self.params,
                "train_data": self.dtrain,
                "validation_data": self.dval,
            }
        self.hook = smd.Hook(out_dir=str(folder), **options)
        self.callbacks = (self.hook,)

    def after_block(self):
        if hasattr(self.hook, "flush"):  # the original has no such thing
            self.hook.flush()
        if not any(self.folder.glob("events/*/*.tfevents")):
            raise RuntimeError(f"the hook saved nothing under {self.folder}")
        for name in ("events", "index"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


def timed(training):
    """Wall-clock seconds, and CPU seconds of the training thread."""
    wall, cpu = time.perf_counter(), time.thread_time()
    training.run()
    took = time.perf_counter() - wall, time.thread_time() - cpu
    training.after_block()
    return took


def main():
    job, way, folder = sys.argv[1:]
    # Output of a library must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    bare = Training(job)
    if way == "empty callback":
        watched = EmptyCallback(job)
    else:
        watched = Hooked(job, way, pathlib.Path(folder))
    timed(bare), timed(watched)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        pairs = [(timed(bare), timed(watched)) for _ in range(int(line))]
        answer = {"bare": [p[0] for p in pairs], "watched": [p[1] for p in pairs]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
