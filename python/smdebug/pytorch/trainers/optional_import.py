"""`require`: imports the package of a trainer, or names the version to install in an error."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any


def require(module: str, attributes: Iterable[str], package: str, oldest: str) -> Any:
    """Imports `module`, which must have `attributes`.

    Raises ImportError if the module or an attribute is missing. The message names `package` and the
    `oldest` version of it that is known to work.
    """
    wanted = f'pip install "{package}>={oldest}"'
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this needs {package}, which cannot be imported ({error}): {wanted}"
        ) from error
    for path in attributes:
        place = found
        for name in path.split("."):
            place = getattr(place, name, None)
        if place is None:
            version = getattr(found, "__version__", "of unknown version")
            raise ImportError(f"{package} {version} has no {path}, and is too old: {wanted}")
    return found
