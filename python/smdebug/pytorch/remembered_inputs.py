"""`RememberedInputs`: what a model got, to compare the targets of its loss with it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch

from smdebug.counted_padding import counted_padding
from smdebug.data_summary import MOST_ELEMENTS
from smdebug.pytorch.plain_tensors import can_read, is_plain
from smdebug.revealing_features import revealing_features
from smdebug.token_shift import token_shift

_MOST_INPUTS = 4
_DTYPES = (torch.int64, torch.int32)
_MOST_DIMENSIONS = 2
# In the names of keywords with which a model gets its targets.
_OF_TARGETS = ("label", "target")


class RememberedInputs:
    """The tokens and features of the last call. It keeps no tensor alive."""

    def __init__(self) -> None:
        self._inputs: list[weakref.ref[torch.Tensor]] = []
        self._further: list[weakref.ref[torch.Tensor]] = []  # inputs that may be the targets
        self._features: list[weakref.ref[torch.Tensor]] = []  # of the first input

    def remember(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """Remembers the inputs of a call."""
        named = (
            value
            for name, value in keywords.items()
            if not any(each in name.lower() for each in _OF_TARGETS)
        )
        self._inputs = _references((*arguments[:1], *named))
        self._further = _references(arguments[1:])
        self._features = [weakref.ref(each) for each in arguments[:1] if _has_features(each)]

    def compare_tokens(
        self, targets: torch.Tensor, ignored: int | None
    ) -> tuple[int | None, tuple[float, int | None] | None]:
        """(by how many places the targets are shifted against the remembered tokens, those that are
        padding and count): see token_shift and counted_padding."""
        if not self._inputs or not _can_compare(targets):
            return None, None
        inputs, further = _arrays(self._inputs), _arrays(self._further)
        labels = targets.detach().cpu().numpy()
        padding = counted_padding([*inputs, *further], labels, ignored)
        return token_shift(inputs, labels, ignored, further), padding

    def revealing(self, targets: torch.Tensor) -> set[int] | None:
        """The remembered features that are the targets: see revealing_features. None on a device,
        for which a comparison would wait."""
        for reference in self._features:
            features = reference()
            if targets.is_cpu and _can_compare(targets) and _can_compare(features):
                wanted = targets.detach().double().numpy()
                return revealing_features(features.detach().numpy(), wanted)
        return None


def _references(values: Iterable[Any]) -> list[weakref.ref[torch.Tensor]]:
    return [weakref.ref(each) for each in islice(filter(_has_tokens, values), _MOST_INPUTS)]


def _arrays(references: Iterable[weakref.ref[torch.Tensor]]) -> list[np.ndarray]:
    tensors = (reference() for reference in references)
    return [each.detach().cpu().numpy() for each in tensors if _can_compare(each)]


def _has_tokens(value: Any) -> bool:
    return is_plain(value) and value.dtype in _DTYPES and 0 < value.dim() <= _MOST_DIMENSIONS


def _has_features(value: Any) -> bool:
    is_of_features = is_plain(value) and value.dim() == _MOST_DIMENSIONS
    return is_of_features and value.dtype is torch.float32 and value.is_cpu


def _can_compare(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and can_read(tensor) and tensor.numel() <= MOST_ELEMENTS
