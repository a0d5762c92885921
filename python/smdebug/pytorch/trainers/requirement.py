"""`require`: a trainer's package, or an error that says what to install."""

import importlib


def require(module, attributes, package, oldest):
    """The module of that name, which must have `attributes`.

    Raises ImportError, naming `package` and the `oldest` version of it that is known to work,
    where it is missing or lacks one of them.
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
