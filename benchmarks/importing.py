#!/usr/bin/env python3
"""The cost of importing smdebug with its extension, on top of numpy: time and memory.

    benchmarks/importing.py [--rounds N] [--json FILE]

Interpreters that import numpy, and numpy and smdebug, take turns. The figures are the differences
of the minima over all rounds. The memory is what is resident after the imports.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from step_cost import at_most, target_table

PYTHON = pathlib.Path(__file__).resolve().parent.parent / ".venv/torch/bin/python"
MOST_MS, MOST_MB = 60, 15
IMPORTS = {
    "numpy": "import numpy",
    "smdebug": "import numpy, smdebug, smdebug._core",
    "trials": "import numpy, smdebug.trials",
}
PROGRAM = """
import resource, time
start = time.perf_counter()
{imports}
end = time.perf_counter()
print((end - start) * 1e3, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    costs = {name: [] for name in IMPORTS}
    for _ in range(options.rounds):
        for name, imports in IMPORTS.items():
            costs[name].append(cost_of(imports))
    least = {name: [min(column) for column in zip(*of, strict=True)] for name, of in costs.items()}
    rows = []
    for name, shown in (("smdebug", "smdebug"), ("trials", "smdebug.trials")):
        ms, mb = (a - b for a, b in zip(least[name], least["numpy"], strict=True))
        rows += [
            at_most(f"T29 importing {shown}, ms over numpy", MOST_MS, ms),
            at_most(f"T29 importing {shown}, MB over numpy", MOST_MB, mb),
        ]
    print(target_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"targets": rows}, indent=1) + "\n")
    return 0


def cost_of(imports: str) -> tuple[float, float]:
    """Milliseconds and MiB of an interpreter that runs `imports`."""
    program = PROGRAM.format(imports=imports)
    done = subprocess.run([PYTHON, "-c", program], check=True, capture_output=True, text=True)
    ms, mb = done.stdout.split()
    return float(ms), float(mb)


if __name__ == "__main__":
    sys.exit(main())
