#!/usr/bin/env python3
"""Shows how far a build is, from the output of pip and ninja on standard input.

    pip wheel -v ... 2>&1 | tools/build_progress.py LOG

Writes all that it reads to LOG. On a terminal it keeps one line up to date, and elsewhere it prints
a line at each quarter of the steps.
"""

import re
import sys

STEP = re.compile(r"\[(\d+)/(\d+)\] ")


def main() -> int:
    last = 0
    with open(sys.argv[1], "w") as log:
        for line in sys.stdin:
            log.write(line)
            if found := STEP.search(line):
                last = show(int(found[1]), int(found[2]), last)
    if sys.stdout.isatty() and last:
        print()
    return 0


def show(step: int, steps: int, last: int) -> int:
    """Prints the progress. Returns the step that was printed last."""
    if sys.stdout.isatty():
        print(f"\r  {step} of {steps} steps", end="", flush=True)
        return step
    quarter = max(steps // 4, 1)
    if step // quarter == last // quarter and step != steps:
        return last
    print(f"  {step} of {steps} steps", flush=True)
    return step


if __name__ == "__main__":
    sys.exit(main())
