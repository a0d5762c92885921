"""Reads two runs and times it; benchmarks/reading.py starts it in the environment of each library.

    python reading_worker.py WIDE_RUN LONG_RUN

The runs have not ended, so each question looks for new steps. It reads the number of rounds per
line and answers each with one line of JSON: seconds, the least of the rounds.
"""

import json
import os
import sys
import time

VALUES = 300


def least(rounds, work, times=1):
    def once():
        start = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - start) / times

    return min(once() for _ in range(rounds))


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def figures(wide_run, long_run, rounds):
    from smdebug.analysis.utils import no_refresh
    from smdebug.trials import create_trial

    before = resident_bytes()
    wide = create_trial(wide_run)
    memory = resident_bytes() - before
    long = create_trial(long_run)
    name = wide.tensor_names()[0]
    weight, loss = wide.tensor(name), long.tensor(long.tensor_names()[0])
    step = wide.steps()[10]
    look_again = getattr(wide, "refresh", None) or wide.maybe_refresh
    found = {
        "open": least(rounds, lambda: create_trial(wide_run)),
        "open long": least(rounds, lambda: create_trial(long_run)),
        "memory": memory,
        "refresh": least(rounds, look_again, 10),
        "steps": least(rounds, long.steps),
        "names": least(rounds, wide.tensor_names),
        "value": least(3 * rounds, lambda: weight.value(step), VALUES),
    }
    with no_refresh(long):
        found["values"] = least(rounds, loss.values)
    assert len(loss.values()) == len(long.steps())
    return found


def main():
    # The original logs to the standard output, from its import on.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(figures(sys.argv[1], sys.argv[2], int(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
