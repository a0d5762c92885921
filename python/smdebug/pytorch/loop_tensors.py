"""Collections of what the training loop hands over: `inputs`, `outputs` and `labels`.

They name tensors that are recorded anyhow, whatever the model's class is called: what the
registered models take and give, and what the registered losses take behind their first input. A
model or loss that is registered during a step is named in them from the next step on.
"""

import re

LOOP_COLLECTIONS = frozenset({"inputs", "outputs", "labels"})


def loop_patterns(collection_name, root_names, loss_names):
    """The patterns of one of LOOP_COLLECTIONS, for the models and losses of those names."""
    if collection_name == "inputs":
        return [f"^{re.escape(name)}_input_" for name in root_names]
    if collection_name == "outputs":
        return [f"^{re.escape(name)}_output_" for name in root_names]
    if collection_name == "labels":
        return [rf"^{re.escape(name)}_input_(?!0\b)" for name in loss_names]
    return []
