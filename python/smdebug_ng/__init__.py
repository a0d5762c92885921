"""The entries of smdebug-ng: its command and its start-up file.

This distribution is called smdebug-ng, and the original one smdebug. Both install the folder
`smdebug`, so that the one that is installed last overwrites files of the other. This package has
files of its own, so that it works in either case and reports the conflict.
"""

from __future__ import annotations

import os

OWN = "smdebug-ng"
_OTHER, _SUFFIX = "smdebug-", ".dist-info"


def conflict(folder: str = os.path.dirname(os.path.dirname(__file__))) -> str | None:
    """Returns what is wrong and what to do if `folder`, which contains the package, also has the
    original distribution; None if not. Reads the names of its files only: importlib.metadata would
    cost a process that does not train tens of milliseconds."""
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        if name.startswith(_OTHER) and name.endswith(_SUFFIX):
            version = name[len(_OTHER) : -len(_SUFFIX)]
            return (
                f"the packages smdebug {version} and {OWN} are both installed and overwrite each "
                f"other's files; run 'pip uninstall -y smdebug {OWN}', then 'pip install' with the "
                f"wheel or the folder of {OWN} again"
            )
    return None
