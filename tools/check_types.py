#!/usr/bin/env python3
"""Checks the types that users of the Python package see.

    tools/check_types.py [--fix]

Runs pyright, at the version locked in tools/pyright, to check two things:

1. A user's program, tests/typing/, passes in strict mode.
2. No module has more public names of unknown type than tools/types.toml
   allows. The numbers may only shrink; --fix updates them.

Reads the sources and their stub; needs the packages in .venv/torch.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/torch/bin/python"
FOLDER = ROOT / "tools/pyright"
PYRIGHT = FOLDER / "node_modules/.bin/pyright"
LOCK_IN_USE = FOLDER / "node_modules/.package-lock.json"
RATCHET = ROOT / "tools/types.toml"
HEADER = """\
# How many public names of each module have no known type. The numbers may only
# shrink: annotate a module, then run tools/check --fix types.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()
    complaint = install_pyright() or check_user_program() or check_ratchet(options.fix)
    if complaint:
        print(complaint)
    return bool(complaint)


def install_pyright() -> str:
    """Installs pyright as the lock file says, once per lock file."""
    lock = FOLDER / "package-lock.json"
    if PYRIGHT.exists() and LOCK_IN_USE.stat().st_mtime >= lock.stat().st_mtime:
        return ""
    if not shutil.which("npm"):
        return "npm is not installed; run tools/bootstrap"
    done = subprocess.run(
        ["npm", "ci", "--silent", "--no-audit", "--no-fund"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    return (done.stdout + done.stderr or "npm ci failed") if done.returncode else ""


def check_user_program() -> str:
    done = pyright("-p", ROOT / "tests/typing")
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check_ratchet(fix: bool) -> str:
    found = unknown_types_by_module()
    allowed = tomllib.loads(RATCHET.read_text())["unknown"] if RATCHET.exists() else {}
    grown = [
        f"{module}: {names[0]} and {len(names) - 1} more have no known type; "
        f"{allowed.get(module, 0)} are allowed"
        for module, names in sorted(found.items())
        if len(names) > allowed.get(module, 0) and RATCHET.exists()
    ]
    if grown:
        return "\n".join(grown)
    counts = {module: len(names) for module, names in sorted(found.items())}
    if counts == allowed:
        return ""
    if not fix:
        return f"fewer types are unknown than {RATCHET.name} says: tools/check --fix types"
    lines = [f'"{module}" = {count}' for module, count in counts.items()]
    RATCHET.write_text(HEADER + "\n[unknown]\n" + "\n".join(lines) + "\n")
    return ""


def unknown_types_by_module() -> dict[str, list[str]]:
    done = pyright("--verifytypes", "smdebug", "--ignoreexternal", "--outputjson")
    report = json.loads(done.stdout)["typeCompleteness"]
    if not report["symbols"]:
        sys.exit(f"pyright found no package smdebug:\n{done.stdout}")
    modules = sorted((module["name"] for module in report["modules"]), key=len, reverse=True)
    found = collections.defaultdict(list)
    for symbol in report["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            name = symbol["name"]
            module = next((m for m in modules if name.startswith(m + ".")), name)
            found[module].append(name)
    return found


def pyright(*arguments) -> subprocess.CompletedProcess:
    # The sources with their stub, not the installed copy: the answer is about this checkout.
    # --verifytypes asks the first python of PATH for its packages, whatever --pythonpath says.
    path = f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python")}
    command = [str(word) for word in (PYRIGHT, "--pythonpath", PYTHON, *arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
