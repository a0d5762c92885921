"""`TensorSummary`: a DataSummary of tensors of torch."""

from __future__ import annotations

import numpy as np
import torch

from smdebug.data_summary import MOST_ELEMENTS, MOST_FEATURES, DataSummary

_CHANNELS = 3  # of a colored image
_LEAST_SIDE = 8  # of an image, in pixels
_MOST_IMAGES = 16  # that are searched for mixed channels
# Of the mean distance of neighbors: that of elements three apart, where channels are mixed. Of an
# image in its right order, it is above 1.
_ALIKE = 0.7
_INDICES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class TensorSummary(DataSummary):
    """Adds up tensors of several steps."""

    def add(self, data: torch.Tensor, step: int, ignored: int | None = None) -> None:
        """Adds the data of a step. Labels that equal `ignored` do not count. The caller ensures
        that operations on `data` run at once and in this process only."""
        self.begin_step(_dtype_of(data), list(data.shape))
        with torch.no_grad():
            if _is_of_images(data):
                self.add_channels(_has_mixed_channels(data))
            if data.is_floating_point():
                self._add_tensor(_first_samples(data), step)
            elif data.dim() > 1 and data.dtype in _INDICES and data.numel():
                low, high = torch.aminmax(_first_samples(data))
                self.add_range(int(low), int(high))
            elif data.dim() == 1 and not data.is_complex() and data.dtype is not torch.bool:
                classes, counts = torch.unique(data[:MOST_ELEMENTS], return_counts=True)
                self.add_labels(dict(zip(classes.tolist(), counts.tolist(), strict=True)), ignored)

    def note_not_finite(self, data: torch.Tensor, step: int) -> bool:
        """Notes whether the data contain NaN or infinity. Returns whether that is new."""
        if not self.is_finite or not data.is_floating_point():
            return False
        self.describe_once(_dtype_of(data), list(data.shape))
        if torch.isfinite(data.detach()).all().item():
            return False
        self.set_not_finite(step)
        return True

    def _add_tensor(self, data: torch.Tensor, step: int) -> None:
        features = data.shape[1] if data.dim() == 2 and data.shape[1] <= MOST_FEATURES else 1
        rows = data.reshape(-1, features).float()
        if not len(rows):
            return
        variances, means = torch.var_mean(rows, dim=0, correction=0)
        variances, means = np.array(torch.stack([variances, means]).tolist())
        if np.isfinite(variances + means).all():
            low, high = torch.stack(torch.aminmax(rows)).tolist()
            self.add_numbers(len(rows), means, variances, (low, high))
        else:
            # The variance of large numbers may overflow.
            self.note_not_finite(data, step)


def _dtype_of(data: torch.Tensor) -> str:
    return str(data.dtype).removeprefix("torch.")


def _first_samples(data: torch.Tensor) -> torch.Tensor:
    """The first samples of large data."""
    data = data.detach()
    if data.numel() <= MOST_ELEMENTS or data.dim() == 0:
        return data
    width = max(1, data.numel() // len(data))
    return data[: max(2, MOST_ELEMENTS // width)]


def _is_of_images(data: torch.Tensor) -> bool:
    """Whether the shape is (samples, 3, rows, columns)."""
    has_shape = (
        data.dim() == 4 and data.shape[1] == _CHANNELS and min(data.shape[2:]) >= _LEAST_SIDE
    )
    is_real = data.is_floating_point() or data.dtype is torch.uint8
    return has_shape and is_real and data.numel() > 0


def _has_mixed_channels(images: torch.Tensor) -> bool:
    """Whether the elements have the order of (rows, columns, channels): those that are three apart
    are then neighbors in one channel."""
    elements = images.detach()[:_MOST_IMAGES].flatten(1).float()
    of_neighbors = (elements[:, 1:] - elements[:, :-1]).abs().mean()
    of_pixels = (elements[:, _CHANNELS:] - elements[:, :-_CHANNELS]).abs().mean()
    return bool(of_pixels < _ALIKE * of_neighbors)
