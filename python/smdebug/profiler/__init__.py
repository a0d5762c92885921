"""Import path of the original's profiler, which smdebug does not have yet.

Training scripts import `str2bool` from `smdebug.profiler.utils`. Any other module raises
ModuleNotFoundError, which names what to use instead.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _MissingModules(MetaPathFinder):
    """Explains an import of a module of the profiler. It comes last, after the finders that find
    modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        # Without the `name` of the module: Python ignores an error with it in `from … import`.
        raise ModuleNotFoundError(
            f"no module named '{fullname}': smdebug has no profiler yet. To profile a training, "
            "use the profiler of its framework, such as torch.profiler; to analyze recorded "
            "profiles, install smdebug 1.0.34 in a separate environment"
        )


sys.meta_path.append(_MissingModules())
