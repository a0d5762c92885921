"""`token_shift`: by how many places the targets of a loss are shifted against an input of tokens.
See `LossInputFacts` in include/smdebug/core/run_facts.h. It imports no framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

NO_SHIFT = -1  # of a target that is no token of an input
_SHIFTS = (0, 1, 2)  # constant and periodic tokens fit several
_SHORTEST_SEQUENCE = 8
_FEWEST_PLACES = 32
_LEAST_SHARE = 0.99  # of the places that are equal


def token_shift(
    inputs: Collection[np.ndarray],
    targets: np.ndarray,
    ignored: int | None,
    further: Iterable[np.ndarray] = (),
) -> int | None:
    """Returns k if the target at each place t is token t + k of one of the inputs, NO_SHIFT if it
    is of none, and None if there are no inputs.

    `inputs` are whole numbers of shape (samples, places), (places, samples) or (places,); others
    are ignored. `targets` are whole numbers, one per place of each sample in the order of the
    input, or one less. Those that equal `ignored` do not count. Of several inputs, such as those of
    an encoder and a decoder, one with the next tokens decides, also if it is one of `further`.
    """
    if not inputs:
        return None
    found = _shifts(inputs, targets, ignored)
    if 1 in found or 1 in _shifts(further, targets, ignored):
        return 1
    return max(found, default=NO_SHIFT)


def _shifts(inputs: Iterable[np.ndarray], targets: np.ndarray, ignored: int | None) -> set[int]:
    return {
        shift
        for tokens in inputs
        for sequences, labels in layouts(tokens, targets)
        for shift in _SHIFTS
        if _fits(sequences, labels, ignored, shift)
    }


def layouts(tokens: np.ndarray, targets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields (tokens, targets), each of shape (samples, places), in which the sizes of both agree.
    See token_shift() for the arguments; there may be one target less per sample than tokens."""
    if tokens.ndim == 1:
        tokens = tokens[np.newaxis]
    if tokens.ndim != 2:
        return
    for places_first in (False, True):
        sequences = tokens.T if places_first else tokens
        samples, places = sequences.shape
        count = targets.size // max(samples, 1)
        is_whole = samples > 0 and count * samples == targets.size
        if is_whole and places >= _SHORTEST_SEQUENCE and places - 1 <= count <= places:
            shape = (count, samples) if places_first else (samples, count)
            labels = targets.reshape(shape)
            yield sequences, labels.T if places_first else labels


def places_of(tokens: np.ndarray, targets: np.ndarray) -> int:
    """The number of places of a sequence; 0 if its size and that of the targets do not agree."""
    return next((sequences.shape[1] for sequences, _ in layouts(tokens, targets)), 0)


def _fits(tokens: np.ndarray, labels: np.ndarray, ignored: int | None, shift: int) -> bool:
    width = min(labels.shape[1], tokens.shape[1] - shift)
    labels = labels[:, :width]
    counts = np.ones(labels.shape, bool) if ignored is None else labels != ignored
    places = counts.sum()
    are_equal = (tokens[:, shift : shift + width] == labels) & counts
    return bool(places >= _FEWEST_PLACES and are_equal.sum() >= _LEAST_SHARE * places)
