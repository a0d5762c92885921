"""Shared by the golden checks: the answers of a reader about a run, as JSON.

Only the public API is used, so the same queries also work with the original.
"""
import hashlib
import json
import os

os.environ.setdefault("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "1")
os.environ.setdefault("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
os.environ.setdefault("SMDEBUG_LOG_LEVEL", "error")
import numpy as np  # noqa: E402

MODES = ("GLOBAL", "TRAIN", "EVAL", "PREDICT")
REDUCTIONS = ("min", "max", "mean", "std", "variance", "sum", "prod", "l1", "l2")


def _plain(x):
    if isinstance(x, list):
        return [_plain(v) for v in x]
    if isinstance(x, complex):
        return [_plain(x.real), _plain(x.imag)]
    if isinstance(x, float):
        return repr(x) if x != x or x in (float("inf"), float("-inf")) else x
    return x.decode() if isinstance(x, bytes) else x


def array(a, limit=40):
    """An array as JSON: always dtype, shape and the hash of its C-order bytes; values when small, else a summary."""
    a = np.asarray(a)
    out = {"dtype": "str" if a.dtype.kind in "UO" else a.dtype.name, "shape": list(a.shape)}
    if a.dtype.kind in "UO":
        out["value"] = [str(v) for v in a.ravel()[:limit]] if a.ndim else str(a)
        out["sha256"] = hashlib.sha256("\0".join(str(v) for v in a.ravel()).encode()).hexdigest()
        return out
    out["sha256"] = hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()
    if a.size <= limit:
        out["value"] = _plain(a.tolist())
    else:
        f = a.astype("float64").ravel() if a.dtype.kind != "c" else np.abs(a).ravel()
        out["summary"] = {
            "first": _plain(a.ravel()[:4].tolist()), "last": _plain(a.ravel()[-2:].tolist()),
            "min": _plain(float(f.min())), "max": _plain(float(f.max())), "mean": _plain(float(f.mean()))}
    return out


def attempt(fn):
    try:
        return fn()
    except Exception as e:
        return {"raises": type(e).__name__}


def files(run):
    """Sizes and hashes of everything in the run, so that a copy can be checked."""
    out = {}
    for root, _, names in os.walk(run):
        for n in names:
            p = os.path.join(root, n)
            body = open(p, "rb").read()
            out[os.path.relpath(p, run)] = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    return dict(sorted(out.items()))


def trial_answers(run, probe_steps=None, values=True, value_steps=None):
    """Returns the answers of the Trial and Tensor API about a run."""
    from smdebug import modes
    from smdebug.trials import create_trial

    t = create_trial(run)
    all_names = t.tensor_names()
    m = {k: getattr(modes, k) for k in MODES}
    used = ["GLOBAL"] + [k for k in MODES[1:] if m[k] in t.modes()]
    steps = {k: t.steps(mode=m[k]) for k in MODES}
    loose = {k: t.steps(mode=m[k], show_incomplete_steps=True) for k in MODES}
    every = loose["GLOBAL"]
    out = {
        "num_workers": t.num_workers,
        "workers": t.workers(),
        "modes": sorted(x.name for x in t.modes()),
        "loaded_all_steps": t.loaded_all_steps,
        "last_complete_step": t.last_complete_step,
        "last_index_token": t.last_index_token and os.path.relpath(t.last_index_token, run),
        "steps": steps,
        "steps_show_incomplete": loose,
        "tensor_names": all_names,
        "tensor_names_by_mode": {k: attempt(lambda: t.tensor_names(mode=m[k])) for k in MODES},
        "tensor_names_by_collection": {c: t.tensor_names(collection=c) for c in sorted(t.collections())},
        "collections": {c: {"tensor_names": sorted(o.tensor_names), "include_regex": list(o.include_regex or [])}
                        for c, o in sorted(t.collections().items())},
    }
    if probe_steps is None:
        top = max(every) if every else 0
        some = every[:4] + every[-3:]
        probe_steps = sorted(set(some + [0, 1, top + 1, top + 100]))
    out["tensor_names_by_step"] = {str(s): attempt(lambda: t.tensor_names(step=s)) for s in probe_steps}
    out["has_passed_step"] = {k: {str(s): attempt(lambda: t.has_passed_step(s, mode=m[k]).name) for s in probe_steps}
                              for k in MODES}
    out["mode_and_step_of_global_step"] = {
        str(s): attempt(lambda: [t.mode(s) and t.mode(s).name, t.mode_step(s)]) for s in probe_steps}
    out["global_step_of"] = {k: {str(s): t.global_step(m[k], s) for s in loose[k][:8]} for k in used}

    tensors = {}
    for name in all_names:
        x = t.tensor(name)
        d = {"steps": {k: x.steps(mode=m[k]) for k in used},
             "steps_show_incomplete": {k: x.steps(mode=m[k], show_incomplete_steps=True) for k in used},
             "original_name": x.original_name}
        if x.steps():
            d["prev_steps_2_of_last"] = x.prev_steps(x.steps()[-1], 2)
        if values:
            d["at"] = {}
            for s in d["steps_show_incomplete"]["GLOBAL"]:
                if value_steps is not None and s not in value_steps:
                    continue
                at = d["at"][str(s)] = {}
                for w in x.workers(s):
                    v = attempt(lambda: x.value(s, worker=w))
                    e = {"value": v if isinstance(v, dict) else array(v)}
                    shape = attempt(lambda: x.shape(s, worker=w))
                    e["shape"] = shape if isinstance(shape, dict) else list(shape)
                    r = attempt(lambda: x.reduction_values(s, worker=w))
                    if "raises" in r:
                        e["saved_reductions"] = r
                    elif r:
                        e["saved_reductions"] = {("abs_" if a else "") + op: array(v)
                                                 for (op, a), v in sorted(r.items())}
                    if not isinstance(v, dict) and v.dtype.kind in "fiu" and v.size <= 400:
                        calc = {}
                        for op in REDUCTIONS:
                            for a in (False, True):
                                got = attempt(lambda: x.reduction_value(s, op, worker=w, abs=a))
                                calc[("abs_" if a else "") + op] = (
                                    got if isinstance(got, dict) else None if got is None else array(got))
                        e["reduction_value"] = calc
                    at[w] = e
        tensors[name] = d
    out["tensors"] = tensors
    return out


class Accepted:
    """The accepted differences of a TOML file; records which entries were needed."""

    def __init__(self, entries=()):
        self.entries = list(entries)
        self.hits = [0] * len(self.entries)

    @classmethod
    def from_args(cls, args):
        """(Accepted, remaining arguments) from a command line that may begin with `--accept FILE`."""
        if args[:1] != ["--accept"]:
            return cls(), args
        import tomllib

        with open(args[1], "rb") as f:
            return cls(tomllib.load(f).get("difference", [])), args[2:]

    def __call__(self, case, where):
        from fnmatch import fnmatchcase

        hit = False
        for i, e in enumerate(self.entries):
            if fnmatchcase(case, e["case"]) and fnmatchcase(where, e["where"]):
                self.hits[i] += 1
                hit = True
        return hit

    def unused(self):
        """Prints the entries that matched nothing, and returns their number."""
        idle = [e for e, n in zip(self.entries, self.hits) if not n]
        for e in idle:
            print(f"accepted but not seen: {e['case']} {e['where']} ({e.get('why', 'no reason given')})")
        return len(idle)
