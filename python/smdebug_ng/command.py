"""The command `smdebug`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from smdebug_ng import conflict


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with `arguments`, by default those of the process. Returns its exit code,
    1 with a message on standard error if the original has overwritten the package."""
    if (reason := conflict()) and _is_overwritten():
        print("smdebug: error:", reason, file=sys.stderr)
        return 1
    from smdebug.cli import main

    return main(arguments)


def _is_overwritten() -> bool:
    # Importing the original fails where its dependencies do not fit.
    try:
        return not hasattr(importlib.import_module("smdebug"), "conflict")
    except Exception:
        return True
