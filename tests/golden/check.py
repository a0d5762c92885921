"""Runs the queries of expected.json with the installed `smdebug` and compares its answers with the original's.

Usage: python tests/golden/check.py [--accept FILE] [CASE]...
Runs are copied to a temporary folder first. Stored values, names, steps and states must agree exactly, and reductions
that the reader computes itself (`reduction_value`) to a relative 1e-6. Prints every difference with its JSON path and
exits with status 1 if there is any.

FILE is a TOML file of accepted differences. Each is a table `[[difference]]` with `case` and `where` (patterns as in
fnmatch, `where` against the JSON path), `why`, and `row`: the row of README.md's table that explains it. With `raised`,
an entry applies only if the original raised that exception or recorded no answer. Accepted differences are counted, not
printed. An entry that matches nothing or names no row is reported. Without FILE, every difference is printed.
"""
import json
import math
import os
import re
import shutil
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from common import Accepted, files, trial_answers  # noqa: E402


def diff(want, got, path, out, loose=False):
    if isinstance(want, dict) and isinstance(got, dict):
        for k in want:
            p = f"{path}/{k}"
            if k not in got:
                out.append((p, want[k], "(absent)"))
            elif not (loose and k == "sha256"):
                diff(want[k], got[k], p, out, loose or k == "reduction_value")
        out.extend((f"{path}/{k}", "(absent)", got[k]) for k in got if k not in want)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (a, b) in enumerate(zip(want, got)):
            diff(a, b, f"{path}/{i}", out, loose)
    elif loose and isinstance(want, (int, float)) and isinstance(got, (int, float)):
        if not math.isclose(want, got, rel_tol=1e-6, abs_tol=1e-9):
            out.append((path, want, got))
    elif want != got:
        out.append((path, want, got))


def leaves(x):
    return sum(map(leaves, x.values() if isinstance(x, dict) else x)) if isinstance(x, (dict, list)) else 1


class AcceptedByRow(Accepted):
    """Accepts a difference; an entry with `raised` applies only if the original raised that exception."""

    def __call__(self, case, where, original):
        hits = list(self.hits)
        if not super().__call__(case, where):
            return False
        meant = [i for i, e in enumerate(self.entries) if self.hits[i] > hits[i] and is_meant(e, original)]
        self.hits = [n + (i in meant) for i, n in enumerate(hits)]
        return bool(meant)


def is_meant(entry, original):
    raised = entry.get("raised")
    return raised is None or original == "(absent)" or original == raised or original == {"raises": raised}


def without_a_row(entries):
    """Prints the entries whose row is not in README.md's table, and returns their number."""
    text = open(os.path.join(HERE, "README.md")).read().partition("## Where smdebug answers differently")[2]
    rows = set(re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE))
    stray = [e for e in entries if e.get("row") not in rows]
    for e in stray:
        print(f"accepted without a row of README.md: {e['case']} {e['where']} (row {e.get('row')!r})")
    return len(stray)


def check(case, tmp):
    want = json.load(open(os.path.join(HERE, case, "expected.json")))
    packed = os.path.join(HERE, case, "run.tar.gz")
    os.makedirs(os.path.join(tmp, case))
    if os.path.exists(packed):
        tarfile.open(packed).extractall(os.path.join(tmp, case))
    else:
        shutil.copytree(os.path.join(HERE, case, "run"), os.path.join(tmp, case, "run"))
    os.chdir(tmp)
    run = os.path.join(case, "run")
    bad = []
    diff(want["files"], files(run), "files", bad)
    t = want.get("trial")
    if t is not None:
        steps = [int(s) for s in t["has_passed_step"]["GLOBAL"]]
        valued = {int(s) for x in t["tensors"].values() for s in x.get("at", {})}
        got = json.loads(json.dumps(trial_answers(run, probe_steps=steps, value_steps=valued)))
        diff(t, got, "trial", bad)
    return leaves(t or {}), bad


def main():
    import smdebug

    print("smdebug:", getattr(smdebug, "__file__", None))
    accepted, args = AcceptedByRow.from_args(sys.argv[1:])
    cases = args or sorted(d for d in os.listdir(HERE) if os.path.exists(os.path.join(HERE, d, "expected.json")))
    wrong = without_a_row(accepted.entries)
    with tempfile.TemporaryDirectory() as tmp:
        for case in cases:
            try:
                n, bad = check(case, tmp)
            except Exception as e:
                wrong += 1
                print(f"{case}: {type(e).__name__}: {e}")
                continue
            found = len(bad)
            bad = [b for b in bad if not accepted(case, b[0], b[1])]
            wrong += bool(bad)
            print(f"{case}: {n} answers, {len(bad)} differ" + (f", {found - len(bad)} accepted" if found > len(bad) else ""))
            for p, a, b in bad[:20]:
                print(f"   {p}\n      original {str(a)[:150]}\n      here     {str(b)[:150]}")
    return 1 if wrong + (0 if args else accepted.unused()) else 0


if __name__ == "__main__":
    sys.exit(main())
