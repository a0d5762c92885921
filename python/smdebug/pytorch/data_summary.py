"""Summarizes the data of the first saved steps: an input of a model, or the targets of a loss. See
`DataFacts` in include/smdebug/core/run_facts.h."""

from __future__ import annotations

import math

import torch

from smdebug import _core

_MOST_ELEMENTS = 1 << 18  # of a tensor
_MOST_FEATURES = 1 << 14
_FEWEST_LABELS = 8  # of a step
_LEADING_SHARE = 0.8


class DataSummary:
    """Adds up tensors of several steps, which may have different numbers of samples."""

    def __init__(self) -> None:
        self._steps = 0
        self._dtype = ""
        self._shape: list[int] = []
        self._not_finite: int | None = None  # the first step with NaN or infinity
        # Of each feature, over all samples, in float64 on the CPU:
        self._samples = 0
        self._means: torch.Tensor | None = None
        self._squares: torch.Tensor | None = None  # sums of squared distances from the mean
        self._labels = 0
        self._classes: set[int] = set()
        self._one_class_steps = 0
        self._leading: set[int] = set()

    def add(self, data: torch.Tensor, step: int, ignored: int | None = None) -> None:
        """Adds the data of a step. Labels that equal `ignored` do not count. The caller ensures
        that operations on `data` run at once and in this process only."""
        self._steps += 1
        self._dtype = str(data.dtype).removeprefix("torch.")
        self._shape = list(data.shape)
        with torch.no_grad():
            if data.is_floating_point():
                self._add_numbers(_first_samples(data), step)
            elif data.dim() == 1 and not data.is_complex() and data.dtype is not torch.bool:
                self._add_labels(data[:_MOST_ELEMENTS], ignored)

    def note_not_finite(self, data: torch.Tensor, step: int) -> bool:
        """Notes whether the data contain NaN or infinity. Returns whether that is new."""
        if self._not_finite is None and data.is_floating_point():
            if not self._shape:
                self._dtype = str(data.dtype).removeprefix("torch.")
                self._shape = list(data.shape)
            if not torch.isfinite(data.detach()).all().item():
                self._not_finite = step
                return True
        return False

    def facts(self, tensor: str = "", received_by: str = "") -> _core.DataFacts:
        """The data so far, under the name of their tensor."""
        mean, deviation, median, largest = self._numbers()
        return _core.DataFacts(
            tensor,
            received_by=received_by,
            dtype=self._dtype,
            steps=self._steps,
            shape=self._shape,
            mean=mean,
            deviation=deviation,
            median_feature_deviation=median,
            largest_feature_deviation=largest,
            not_finite=self._not_finite,
            labels=self._labels,
            classes=len(self._classes),
            one_class_steps=self._one_class_steps,
            leading_classes=len(self._leading),
        )

    def _add_numbers(self, data: torch.Tensor, step: int) -> None:
        features = data.shape[1] if data.dim() == 2 and data.shape[1] <= _MOST_FEATURES else 1
        rows = data.reshape(-1, features).float()
        if not len(rows):
            return
        variances, means = torch.var_mean(rows, dim=0, correction=0)
        variances, means = torch.tensor(torch.stack([variances, means]).tolist()).double()
        if not torch.isfinite(variances + means).all():
            # The variance of large numbers may overflow.
            self.note_not_finite(data, step)
        elif self._means is None:
            self._samples, self._means, self._squares = len(rows), means, variances * len(rows)
        elif len(self._means) == features:
            self._merge(len(rows), means, variances)

    def _merge(self, samples: int, means: torch.Tensor, variances: torch.Tensor) -> None:
        """Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979."""
        total = self._samples + samples
        difference = means - self._means
        self._squares = (
            self._squares
            + variances * samples
            + difference.square() * (self._samples * samples / total)
        )
        self._means = self._means + difference * (samples / total)
        self._samples = total

    def _numbers(self) -> tuple[float | None, float | None, float | None, float | None]:
        """(mean, standard deviation, of the features their median and largest)."""
        if self._means is None or self._squares is None:
            return None, None, None, None
        variances = self._squares / self._samples
        mean = self._means.mean()
        deviation = (variances + (self._means - mean).square()).mean().sqrt()
        deviations = variances[variances > 0].sqrt()
        if len(self._means) < 2 or not len(deviations):
            return mean.item(), deviation.item(), None, None
        median, largest = deviations.median().item(), deviations.max().item()
        return mean.item(), deviation.item(), median, largest

    def _add_labels(self, labels: torch.Tensor, ignored: int | None) -> None:
        classes, counts = torch.unique(labels, return_counts=True)
        count_of = dict(zip(classes.tolist(), counts.tolist(), strict=True))
        if ignored is not None:
            count_of.pop(ignored, None)
        if not count_of:
            return
        total = sum(count_of.values())
        self._labels += total
        self._classes |= count_of.keys()
        leading = max(count_of, key=count_of.__getitem__)
        if total >= _FEWEST_LABELS and count_of[leading] >= math.ceil(_LEADING_SHARE * total):
            self._one_class_steps += 1
            self._leading.add(leading)


def _first_samples(data: torch.Tensor) -> torch.Tensor:
    """The first samples of large data."""
    data = data.detach()
    if data.numel() <= _MOST_ELEMENTS or data.dim() == 0:
        return data
    width = max(1, data.numel() // len(data))
    return data[: max(2, _MOST_ELEMENTS // width)]
