"""`ignored_tokens`: the different tokens whose targets a loss ignores. See `LossInputFacts` in
include/smdebug/core/run_facts.h. It imports no framework."""

from __future__ import annotations

import numpy as np

from smdebug.token_shift import layouts

# Fewer targets than this, and a smaller share of tokens outside of the padding, do not tell.
_FEWEST_PLACES = 32
_LEAST_SHARE = 0.05


def ignored_tokens(
    tokens: np.ndarray, targets: np.ndarray, ignored: int | None, classes: int
) -> int | None:
    """Returns how many different tokens have the label that the loss ignores, if it is the label of
    one of the classes; 0 if those tokens are padding.

    None: it is no label of a class, the labels may be tokens themselves, or no target belongs to a
    token. `tokens` and `targets` are those of token_shift().
    """
    if ignored is None or not 0 <= ignored < classes or tokens.max(initial=0) < classes:
        return None
    for sequences, labels in layouts(tokens, targets):
        width = min(sequences.shape[1], labels.shape[1])
        found = sequences[:, :width][labels[:, :width] == ignored]
        values, counts = np.unique(found, return_counts=True)
        others = found.size - counts.max(initial=0)
        is_padding = found.size < _FEWEST_PLACES or others < _LEAST_SHARE * found.size
        return 0 if is_padding else len(values)
    return None
