"""`revealing_features`: the features of an input that are the targets. See `LossInputFacts` in
include/smdebug/core/run_facts.h. It imports no framework."""

from __future__ import annotations

import numpy as np

from smdebug.data_summary import MOST_ELEMENTS

_FEWEST_SAMPLES = 8
_ROUNDING = 1e-8  # of a correlation of 1, in single precision


def revealing_features(inputs: np.ndarray, targets: np.ndarray) -> set[int] | None:
    """Returns the numbers of the features that equal the targets times a number plus a number.

    `inputs` has the shape (samples, features), `targets` (samples,) or (samples, 1), of any dtype.
    None if that is unknown: other shapes, a single feature, fewer than 8 samples, constant
    targets, or numbers that are not finite.
    """
    if inputs.ndim != 2 or inputs.shape[1] < 2 or not np.issubdtype(inputs.dtype, np.floating):
        return None
    samples, features = inputs.shape
    if samples < _FEWEST_SAMPLES or targets.shape not in ((samples,), (samples, 1)):
        return None
    samples = min(samples, max(_FEWEST_SAMPLES, MOST_ELEMENTS // features))
    given = inputs[:samples].astype(np.float64)
    wanted = targets[:samples].reshape(-1).astype(np.float64)
    if not np.isfinite(given).all() or not np.isfinite(wanted).all() or not np.ptp(wanted):
        return None
    given, wanted = given - given.mean(axis=0), wanted - wanted.mean()
    sizes = np.linalg.norm(wanted) * np.linalg.norm(given, axis=0)
    with np.errstate(all="ignore"):  # the size of a constant feature may be 0
        correlations = np.abs(wanted @ given) / sizes
    return set(np.flatnonzero(correlations >= 1 - _ROUNDING).tolist())
