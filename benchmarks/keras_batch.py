#!/usr/bin/env python3
"""The hook's own share of a Keras batch, in microseconds, while its code is warm.

    .venv/tensorflow-2.15/bin/python benchmarks/keras_batch.py

The model's train function runs once. After that a stand-in returns the logs of that batch, so that
only the hook is timed. Figures are minima over blocks of batches, for the training thread and for
all threads; the difference is the writer's share.
"""

import pathlib
import time

import keras
import keras_job_worker as job
from jobs_in_pairs import memory_folder

import smdebug.tensorflow as smd

BLOCKS, BATCHES = 10, 5000
WAYS = {"nothing due": job.NEVER, "default every 10 steps": 10, "default every step": 1}


class OneBatch(keras.Sequential):
    """Computes its first batch, and returns the same logs for all others."""

    def make_train_function(self, force=False):
        made = super().make_train_function(force=True)
        compute = self.train_function if made is None else made
        logs = []

        def again(iterator):
            if not logs:
                logs.append(compute(iterator))
            return logs[0]

        self.train_function = again
        return again


def cost(interval: int, folder: pathlib.Path) -> tuple[float, float]:
    """Microseconds of a batch: of the training thread, of all threads."""
    bare = job.Training("mlp")
    model = OneBatch(bare.model.layers)
    model.compile("sgd", bare.model.loss, metrics=["accuracy"])
    with smd.KerasHook(str(folder), save_config=smd.SaveConfig(save_interval=interval)) as hook:
        hook.register_model(model)
        model.fit(bare.data, verbose=0)
        blocks = [timed(model.train_function) for _ in range(BLOCKS)]
    return tuple(1e6 / BATCHES * min(times) for times in zip(*blocks, strict=True))


def timed(function) -> tuple[float, float]:
    thread, process = time.thread_time(), time.process_time()
    for _ in range(BATCHES):
        function(None)
    return time.thread_time() - thread, time.process_time() - process


def main() -> None:
    print("| what is saved | µs of the training thread | µs of all threads |")
    print("| --- | ---: | ---: |")
    with memory_folder("keras_batch") as folder:
        for name, interval in WAYS.items():
            thread, process = cost(interval, folder / str(interval))
            print(f"| {name} | {thread:.2f} | {process:.2f} |")


if __name__ == "__main__":
    main()
