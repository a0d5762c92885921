"""Runs the golden scripts again with the installed `smdebug` and compares its files with the golden files.

Usage: python tests/golden/rewrite.py [--accept FILE] [--from FOLDER] [CASE]...
Default: the cases in this folder (or FOLDER) that a script in make/ writes.
Compared: the set of file names, index and collection files as text, event files byte by byte.
Not compared: wall times (the 8 bytes of each record's field 1), TensorBoard payload checksums (they cover the wall
time), process id and host in TensorBoard file names, contents of *.tmp, `run.json`, `progress.json`, `facts/`,
`series/`, `statistics/`, and the key `smdebug` of index files; the last six do not exist in the original.

The last digits of the results of a framework depend on the processor. Therefore floats of the cases that train
may differ by 1e-5 of their value or 1e-6 of the largest value of their tensor; saved reductions by 1e-3, or by 1e-6
for means and sums, which cancel. A different order of the same records or collections is reported but does not count
as a difference: the original orders them like a set, differently in each process. FILE is that of check.py, except
that `where` is a file name.
"""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from common import Accepted  # noqa: E402

SCRIPTS = {"core": "core_runs.py", "pytorch": "pytorch_runs.py", "workers": "worker_runs.py",
           "unfinished": "worker_runs.py", "many": "worker_runs.py", "xgboost": "xgboost_runs.py"}
# Those that run in another environment than PyTorch's, and only if they are named.
OTHER_SCRIPTS = {"mxnet": "mxnet_runs.py"}
# The dtype numbers of floats, and numpy's names.
FLOATS = {1: "<f4", 2: "<f8", 19: "<f2"}


def script_of(case):
    return {**SCRIPTS, **OTHER_SCRIPTS}.get(case.split("_")[0])


def masked_events(body, tensorboard):
    out, pos = [], 0
    while pos < len(body):
        (n,) = struct.unpack_from("<Q", body, pos)
        payload = bytearray(body[pos + 12: pos + 12 + n])
        if payload[:1] == b"\x09":
            payload[1:9] = bytes(8)
        tail = b"" if tensorboard else body[pos + 12 + n: pos + 16 + n]
        out.append((body[pos: pos + 12], bytes(payload), tail))
        pos += n + 16
    return out


def without_own_key(index):
    """The text of an index file as the original would have written it: our key is its last."""
    return re.sub(r', "smdebug": \{.*\}\}$', "}", index)


def load(run):
    """Returns the compared part of each file, by its name in the run."""
    got = {}
    for root, _, names in os.walk(run):
        for n in names:
            p = os.path.join(root, n)
            rel = os.path.relpath(p, run)
            if rel.startswith("tensorboard"):  # process id and host of the writer
                rel = re.sub(r"_\d+_[^/]*(?=\.tfevents)", "_PID_HOST", rel)
            with open(p, "rb") as f:
                body = f.read()
            if rel in ("run.json", "progress.json") or rel.startswith(
                ("facts/", "series/", "statistics/")
            ):
                continue
            if n.endswith(".tmp"):
                got[rel] = None
            elif n.endswith((".json", ".csv")):
                got[rel] = without_own_key(body.decode()) if rel.startswith("index") else body.decode()
            elif n.endswith(".tfevents"):
                got[rel] = masked_events(body, rel.startswith("tensorboard"))
            else:
                got[rel] = body
    return got


def fields(b):
    """The fields of a protobuf message: number -> list of raw values."""
    out, i = {}, 0

    def varint():
        nonlocal i
        v = shift = 0
        while True:
            c = b[i]
            i += 1
            v |= (c & 127) << shift
            shift += 7
            if c < 128:
                return v

    while i < len(b):
        key = varint()
        kind = key & 7
        if kind == 0:
            v = varint()
        else:
            n = {1: 8, 5: 4}.get(kind) or varint()
            v, i = b[i: i + n], i + n
        out.setdefault(key >> 3, []).append(v)
    return out


def parts(record):
    """(tag, all else of a tensor's record but the elements, dtype number, elements); None for other records."""
    try:
        event = fields(record[1])
        value = fields(fields(event[5][0])[1][0])
        tensor = fields(value[8][0])
        number, content = tensor[1][0], tensor[4][0]
    except (KeyError, IndexError):
        return None
    return value[1][0], (record[0], record[2], event.get(2), value[9], tensor[2]), number, content


def same_but_for_rounding(x, y):
    """Two records of one tensor whose floats differ in the last digits only."""
    a, b = parts(x), parts(y)
    if a is None or b is None or a[:3] != b[:3] or a[2] not in FLOATS:
        return False
    u, v = (np.frombuffer(r[3], FLOATS[r[2]]) for r in (a, b))
    # The input of a reduction, and so its error, can be far larger than its result.
    rtol = 1e-3 if b"smdebug/reductions/" in a[0] else 1e-5
    cancels = b"smdebug/reductions/mean/" in a[0] or b"smdebug/reductions/sum/" in a[0]
    largest = np.abs(u).max(initial=0, where=np.isfinite(u))
    atol = max(1e-6 * largest, 1e-6 if cancels else 0)
    return np.allclose(u, v, rtol=rtol, atol=atol, equal_nan=True)


def same(case, name, a, b):
    """Whether two files hold the same in the same order."""
    if a == b:
        return True
    if case.startswith("core") or not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b)):
        return False
    return all(x == y or same_but_for_rounding(x, y) for x, y in zip(a, b))


def sorted_content(name, x):
    """The same content in an order that does not depend on that of the file."""
    if isinstance(x, list):
        return sorted(x, key=lambda r: (parts(r) or (b"",))[0])
    if name.startswith("collections"):
        return json.loads(x)
    if not name.startswith("index") or not x:
        return x
    x = json.loads(x)
    return (x.get("meta"), sorted((t["tensorname"], t["length"]) for t in x["tensor_payload"]),
            sorted(map(str, x.get("shape_payload", []))))


def describe(a, b):
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{len(a)} records there, {len(b)} here"
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y and not same_but_for_rounding(x, y):
                return f"record {i}: there {x[1][:120]!r} here {y[1][:120]!r}"
    return f"there {str(a)[:300]} here {str(b)[:300]}"


def write_again(case, folder):
    """Runs the script of `case` in `folder`; returns why it failed, or None."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "make", script_of(case)), case], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if done.returncode:
        return "the script failed: " + "\n      ".join(done.stdout.strip().splitlines()[-3:])
    return None


def has_run(golden, case):
    return any(os.path.exists(os.path.join(golden, case, run)) for run in ("run", "run.tar.gz"))


def golden_run(golden, case, folder):
    packed = os.path.join(golden, case, "run.tar.gz")
    if not os.path.exists(packed):
        return os.path.join(golden, case, "run")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return os.path.join(folder, "run")


def compare(golden, case, accepted, tmp):
    """Prints how our files differ from the golden run; returns whether they do."""
    new, old = os.path.join(tmp, "new"), os.path.join(tmp, "old")
    for d in (new, old):
        shutil.rmtree(d, ignore_errors=True)
        os.makedirs(d)
    failure = write_again(case, new)
    a, b = load(golden_run(golden, case, old)), load(os.path.join(new, case, "run"))
    named = {f for f in set(a) | set(b) if not same(case, f, a.get(f, 0), b.get(f, 0))}
    waived = {f for f in named if accepted(case, f)}
    named -= waived
    bad = [failure] if failure else []
    bad += [f"missing here: {f}" for f in sorted(named & (set(a) - set(b)))]
    bad += [f"only here: {f}" for f in sorted(named & (set(b) - set(a)))]
    differ = sorted(named & set(a) & set(b))
    moved = [f for f in differ if same(case, f, sorted_content(f, a[f]), sorted_content(f, b[f]))]
    bad += [f"{f}: {describe(a[f], b[f])}" for f in differ if f not in moved]
    order = f", {len(moved)} have their records in another order" if moved else ""
    print(f"{case}: {len(a)} files, {len(bad)} differ{order}" + (f", {len(waived)} accepted" if waived else ""), flush=True)
    for line in bad[:8]:
        print("   " + line)
    return bool(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accept", metavar="FILE")
    parser.add_argument("--from", dest="golden", metavar="FOLDER", default=HERE)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    accepted = Accepted.from_args(["--accept", options.accept] if options.accept else [])[0]
    there = sorted(d for d in os.listdir(options.golden) if d.split("_")[0] in SCRIPTS and has_run(options.golden, d))
    cases = options.cases or there
    with tempfile.TemporaryDirectory() as tmp:
        wrong = sum(compare(options.golden, case, accepted, tmp) for case in cases)
    return 1 if wrong + (0 if options.cases else accepted.unused()) else 0


if __name__ == "__main__":
    sys.exit(main())
