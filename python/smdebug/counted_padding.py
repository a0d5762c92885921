"""`counted_padding`: the targets of a loss that belong to the padding of sequences of tokens. See
`LossInputFacts` in include/smdebug/core/run_facts.h. It imports no framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smdebug.token_shift import layouts

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEWEST_SAMPLES = 4
# The share of the tokens outside of the padding that may be the token of the padding, and of the
# targets in the padding that may have another label than most.
_LEAST_SHARE = 0.01


def counted_padding(
    inputs: Iterable[np.ndarray], targets: np.ndarray, ignored: int | None
) -> tuple[float, int | None] | None:
    """Returns (the share of the targets that count although they belong to padding, their label).

    None: no input has a token per target. Padding is one token that fills the samples at their end,
    or at their beginning, by different lengths, and occurs nowhere else. `inputs` and `targets` are
    those of token_shift(); targets that equal `ignored` do not count.
    """
    found: list[tuple[float, int | None]] = []
    for tokens in inputs:
        for sequences, labels in layouts(tokens, targets):
            width = min(sequences.shape[1], labels.shape[1])
            sequences, labels = sequences[:, :width], labels[:, :width]
            found.append(_share_of(sequences, labels, ignored))
            found.append(_share_of(sequences[:, ::-1], labels[:, ::-1], ignored))
    return max(found, key=lambda each: each[0], default=None)


def _share_of(
    sequences: np.ndarray, labels: np.ndarray, ignored: int | None
) -> tuple[float, int | None]:
    """The share of padding at the ends of the samples, and its label."""
    padding = _padding_of(sequences)
    if padding is None:
        return 0.0, None
    values, counts = np.unique(labels[padding], return_counts=True)
    label = int(values[counts.argmax()])
    others = counts.sum() - counts.max()
    if label == ignored or others > _LEAST_SHARE * counts.sum():
        return 0.0, None
    counting = labels.size if ignored is None else int((labels != ignored).sum())
    return float(counts.max() / max(counting, 1)), label


def _padding_of(sequences: np.ndarray) -> np.ndarray | None:
    """Which tokens are padding at the ends of the samples; None if none are."""
    samples = len(sequences)
    last, counts = np.unique(sequences[:, -1], return_counts=True)
    are_token = sequences == last[counts.argmax()]
    # Those after which no other token follows.
    padding = np.logical_and.accumulate(are_token[:, ::-1], axis=1)[:, ::-1]
    lengths = np.unique(padding.sum(axis=1))
    elsewhere = are_token.sum() - padding.sum()
    if samples < _FEWEST_SAMPLES or len(lengths) < 2 or lengths.max() < 2:
        return None
    return padding if elsewhere <= _LEAST_SHARE * (~padding).sum() else None
