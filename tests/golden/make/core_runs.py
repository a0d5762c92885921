"""Runs that are written with FileWriter directly: dtypes, strings, odd names, several modes, foreign workers.

This script of our project wrote the golden runs with the original; its queries about them are removed. ../rewrite.py
runs it in the folder that receives the runs.
"""
import json
import os
import sys

import numpy as np
from runs import fresh

from smdebug import modes
from smdebug.collection import Collection
from smdebug.core.writer import FileWriter


def collections(run, workers=("worker_0",), **named):
    tensors = {"default": [], **named}
    every = {name: Collection(name, tensor_names=names).to_json_dict() for name, names in tensors.items()}
    folder = os.path.join(run, "collections", "0" * 9)
    os.makedirs(folder)
    for w in workers:
        with open(os.path.join(folder, f"{w}_collections.json"), "w") as f:
            json.dump({"collections": every, "_meta": {"num_workers": len(workers)}}, f)


def end(run):
    open(os.path.join(run, "training_job_end.ts"), "w").close()


def core_dtypes():
    run = fresh("core_dtypes")
    r = np.random.RandomState(5)
    base = r.randn(2, 3)
    arrays = {"float16": base.astype("f2"), "float32": base.astype("f4"), "float64": base,
              "complex64": (base + 1j * base[::-1]).astype("c8"), "complex128": base + 1j * base[::-1],
              "bool": base > 0}
    for bits in (8, 16, 32, 64):
        i, u = np.iinfo(f"int{bits}"), np.iinfo(f"uint{bits}")
        arrays[f"int{bits}"] = np.array([i.min, -1, 0, 1, i.max], dtype=f"int{bits}")
        arrays[f"uint{bits}"] = np.array([0, 1, u.max], dtype=f"uint{bits}")
    arrays.update({
        "zero_rank": np.array(2.5), "zero_rank_int": np.array(7),
        "fortran_order": np.asfortranarray(np.arange(6, dtype="f4").reshape(2, 3)),
        "strided": np.arange(12, dtype="f8").reshape(3, 4)[::2, ::-1],
        "special": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
        "special32": np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], dtype="f4"),
        "five_dims": np.arange(16, dtype="i4").reshape(1, 2, 2, 2, 2),
        "long": np.linspace(-1, 1, 3000).astype("f4"),
        "empty": np.zeros((0, 3), "f4"),
        "qint8": np.array([(-3,), (4,)], dtype=[("qint8", "i1")]),
        "quint8": np.array([(3,), (250,)], dtype=[("quint8", "u1")]),
        "qint16": np.array([(-300,), (4,)], dtype=[("qint16", "i2")]),
    })
    python = {"py_int": 3, "py_float": 2.5, "py_str": "text", "py_list": [1.0, 2.0], "py_tuple": (1, 2, 3),
              "np_scalar": np.float32(0.1), "np_int_scalar": np.int16(-5)}
    names = []
    fw = FileWriter(trial_dir=run, step=0, worker="worker_0")
    for n, a in list(arrays.items()) + list(python.items()):
        fw.write_tensor(a, n, mode=modes.TRAIN, mode_step=0, timestamp=1600000000.0)
        names.append(n)
    fw.close()
    collections(run, default=names)
    end(run)


def core_strings():
    run = fresh("core_strings")
    data = {"ascii": np.array(["foo", "barz"]), "unicode": np.array(["é", "日本", "", "🙂 x"]),
            "objects": np.array(["a", "bc"], dtype=object), "one": np.array(["solo"])}
    for step in (0, 1):
        with FileWriter(trial_dir=run, step=step, worker="algo-1") as fw:
            for n, a in data.items():
                fw.write_tensor(a if step == 0 else a[::-1], n, timestamp=1600000000.0 + step)
    collections(run, workers=("algo-1",), default=sorted(data))
    end(run)


def core_modes():
    run = fresh("core_modes")
    plan = [modes.TRAIN] * 3 + [modes.EVAL] * 2 + [modes.TRAIN] * 2 + [modes.PREDICT] + [modes.GLOBAL]
    count = {}
    for step, m in enumerate(plan):
        s = count[m] = count.get(m, -1) + 1
        fw = FileWriter(trial_dir=run, step=step * 10, worker="worker_0")
        fw.write_tensor(np.full((2,), step, "f4"), "x", mode=m, mode_step=s, timestamp=1600000000.0 + step)
        fw.write_tensor(np.full((2,), -step, "f4"), "dup", mode=m, mode_step=s, timestamp=1600000000.0 + step)
        fw.write_tensor(np.full((3,), step, "f8"), "dup", mode=m, mode_step=s, timestamp=1600000000.0 + step)
        if m == modes.EVAL:
            fw.write_tensor(np.ones(1), "only/eval:0", mode=m, mode_step=s, timestamp=1600000000.0 + step)
        fw.write_shape("shape_only", (3, 4), mode=m, mode_step=s, original_name="given/name:0")
        fw.close()
    collections(run, first=["x"], second=["dup", "only/eval:0"])
    end(run)


def core_devices():
    run = fresh("core_devices")
    workers = ["_job-localhost_replica-0_task-0_device-GPU-0", "_job-localhost_replica-0_task-0_device-GPU-1"]
    for step in (0, 2000):
        for i, w in enumerate(workers):
            with FileWriter(trial_dir=run, step=step, worker=w) as fw:
                fw.write_tensor(np.full((2, 2), i + step, "f4"), "dense/kernel:0", timestamp=1600000000.0)
    collections(run, workers=workers, weights=["dense/kernel:0"])
    end(run)


def core_foreign():
    """Files as an older version or another producer may leave them: no shape_payload, unknown step gaps, csv name."""
    run = fresh("core_foreign")
    for step in (5, 7):
        with FileWriter(trial_dir=run, step=step, worker="w") as fw:
            fw.write_tensor(np.arange(4, dtype="i8") + step, "t", timestamp=1600000000.0)
    collections(run, workers=("w",), default=["t"])
    p = run + "/index/000000000/000000000005_w.json"
    with open(p) as f:
        doc = json.load(f)
    del doc["shape_payload"]
    with open(p, "w") as f:
        json.dump(doc, f)
    os.rename(run + "/index/000000000/000000000007_w.json", run + "/index/000000000/000000000007_w.csv")
    end(run)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
