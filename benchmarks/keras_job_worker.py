"""One Keras training watched in one way, timed in blocks of steps on request.

    python keras_job_worker.py JOB WAY RUN_FOLDER

Works like benchmarks/torch_job_worker.py: it reads the number of blocks per line and answers each
with one line of JSON, in which the watched job and the same job bare alternate. A block is one
epoch of `fit` on scikit-learn's digits; the first step of a block and each tenth are saved, if the
way saves any.
"""

import json
import os
import pathlib
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402

STEPS, BATCH = 40, 32
NEVER = 10**9
L = keras.layers


def mlp():
    return [keras.Input((64,)), *[L.Dense(256, activation="relu") for _ in range(3)]]


def cnn():
    return [
        keras.Input((64,)),
        L.Reshape((8, 8, 1)),
        L.Conv2D(16, 3, activation="relu"),
        L.Conv2D(32, 3, activation="relu"),
        L.Flatten(),
    ]


JOBS = {"mlp": mlp, "cnn": cnn}
REDUCTIONS = {"reductions": ["min", "max", "mean", "std"], "norms": ["l2"]}
WAYS = {
    "nothing": (NEVER, {}),
    "default": (10, {}),
    "everything": (1, {"save_all": True}),
    "reductions": (1, {"save_all": True, "reduces": True}),
}


class Training:
    def __init__(self, job, callbacks=()):
        images, labels = load_digits(return_X_y=True)
        count = STEPS * BATCH
        x, y = (images[:count] / 16).astype("float32"), labels[:count]
        self.data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).cache()
        self.model = keras.Sequential([*JOBS[job](), L.Dense(10)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile(keras.optimizers.SGD(0.01), loss, metrics=["accuracy"])
        self.callbacks = list(callbacks)

    def run(self):
        self.model.fit(self.data, verbose=0, callbacks=self.callbacks)

    def after_block(self):
        """Not timed."""


class Hooked(Training):
    def __init__(self, job, way, folder):
        import smdebug.tensorflow as smd

        interval, how = WAYS[way]
        how = dict(how)
        if how.pop("reduces", False):
            how["reduction_config"] = smd.ReductionConfig(**REDUCTIONS)
        self.folder = folder
        config = smd.SaveConfig(save_interval=interval)
        self.hook = smd.KerasHook(str(folder), save_config=config, **how)
        super().__init__(job, [self.hook])

    def after_block(self):
        self.hook.flush()
        for path in (self.folder / "events").glob("*/*.tfevents"):
            path.unlink(missing_ok=True)


def timed(training):
    """Wall-clock seconds, and CPU seconds of all threads, since TensorFlow uses its own."""
    wall, cpu = time.perf_counter(), time.process_time()
    training.run()
    took = time.perf_counter() - wall, time.process_time() - cpu
    training.after_block()
    return took


def main():
    job, way, folder = sys.argv[1:]
    # Output of a library must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    bare, watched = Training(job), Hooked(job, way, pathlib.Path(folder))
    for _ in range(2):
        timed(bare), timed(watched)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        pairs = [(timed(bare), timed(watched)) for _ in range(int(line))]
        answer = {"bare": [p[0] for p in pairs], "watched": [p[1] for p in pairs]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
