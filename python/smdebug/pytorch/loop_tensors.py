"""Collections of the tensors of the training loop: `inputs`, `outputs` and `labels`.

They select tensors that are recorded anyway, whatever the class of the model: the inputs and
outputs of registered models, and all inputs of registered losses after the first. A model or loss
that is registered during a step belongs to them from the next step on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LOOP_COLLECTIONS = frozenset({"inputs", "outputs", "labels"})


def loop_patterns(
    collection_name: str, root_names: Iterable[str], loss_names: Iterable[str]
) -> list[str]:
    """The patterns of one of LOOP_COLLECTIONS, for the models and losses of those names."""
    if collection_name == "inputs":
        return [f"^{re.escape(name)}_input_" for name in root_names]
    if collection_name == "outputs":
        return [f"^{re.escape(name)}_output_" for name in root_names]
    if collection_name == "labels":
        return [rf"^{re.escape(name)}_input_(?!0\b)" for name in loss_names]
    return []
