"""`RememberedInputs`: what a model got, to compare the targets of its loss with it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from smdebug.counted_padding import counted_padding
from smdebug.data_summary import MOST_ELEMENTS
from smdebug.ignored_tokens import ignored_tokens
from smdebug.pytorch.plain_tensors import can_read, is_plain
from smdebug.revealing_features import revealing_features
from smdebug.token_shift import NO_SHIFT, places_of, token_shift

_MOST_INPUTS = 4
_DTYPES = (torch.int64, torch.int32)
_MOST_DIMENSIONS = 2
# In the names of keywords with which a model gets its targets.
_OF_TARGETS = ("label", "target")


@dataclass(frozen=True)
class ComparedTokens:
    """How targets relate to the tokens of a model: see token_shift, counted_padding and
    ignored_tokens. `are_only`: the loss follows a single call with a single input of tokens;
    `places` is then the length of its sequences, 0 if the targets do not tell."""

    shift: int | None = None
    padding: tuple[float, int | None] | None = None
    are_only: bool = False
    places: int = 0
    ignored: int | None = None


class RememberedInputs:
    """The tokens and features of the last call. It keeps few tokens alive until `forget` and the
    next call, and no features: a script may pass a part of a tensor that nothing else refers to."""

    def __init__(self) -> None:
        self._inputs: list[torch.Tensor] = []
        self._further: list[torch.Tensor] = []  # inputs that may be the targets
        self._features: list[weakref.ref[torch.Tensor]] = []  # of the first input
        self._step = -1
        self._calls = 0  # of the step, with tokens

    def remember(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any], step: int) -> None:
        """Remembers the inputs of a call."""
        named = (
            value
            for name, value in keywords.items()
            if not any(each in name.lower() for each in _OF_TARGETS)
        )
        self._inputs = _tokens_in((*arguments[:1], *named))
        self._further = _tokens_in(arguments[1:])
        self._calls = bool(self._inputs) + (self._calls if step == self._step else 0)
        self._step = step
        self._features = [weakref.ref(each) for each in arguments[:1] if _has_features(each)]

    def forget(self) -> None:
        """Releases the tokens."""
        self._inputs, self._further = [], []

    def compare_tokens(
        self, targets: torch.Tensor, ignored: int | None, classes: int
    ) -> ComparedTokens:
        """Compares the remembered tokens with targets of `classes` classes, 0 if unknown."""
        if not self._inputs or not _can_compare(targets):
            return ComparedTokens()
        inputs, further = _arrays(self._inputs), _arrays(self._further)
        labels = targets.detach().cpu().numpy()
        shift = token_shift(inputs, labels, ignored, further)
        are_only = self._calls == 1 and len(inputs) == 1 and not further
        return ComparedTokens(
            shift=shift,
            padding=counted_padding([*inputs, *further], labels, ignored),
            are_only=are_only,
            places=places_of(inputs[0], labels) if are_only else 0,
            ignored=(
                ignored_tokens(inputs[0], labels, ignored, classes)
                if are_only and shift == NO_SHIFT
                else None
            ),
        )

    def revealing(self, targets: torch.Tensor) -> set[int] | None:
        """The remembered features that are the targets: see revealing_features. None on a device,
        for which a comparison would wait."""
        for reference in self._features:
            features = reference()
            if targets.is_cpu and _can_compare(targets) and _can_compare(features):
                wanted = targets.detach().double().numpy()
                return revealing_features(features.detach().numpy(), wanted)
        return None


def _tokens_in(values: Iterable[Any]) -> list[torch.Tensor]:
    return list(islice(filter(_has_tokens, values), _MOST_INPUTS))


def _arrays(tensors: Iterable[torch.Tensor]) -> list[np.ndarray]:
    return [each.detach().cpu().numpy() for each in tensors if _can_compare(each)]


def _has_tokens(value: Any) -> bool:
    is_of_tokens = is_plain(value) and value.dtype in _DTYPES
    return is_of_tokens and 0 < value.dim() <= _MOST_DIMENSIONS and value.numel() <= MOST_ELEMENTS


def _has_features(value: Any) -> bool:
    is_of_features = is_plain(value) and value.dim() == _MOST_DIMENSIONS
    return is_of_features and value.dtype is torch.float32 and value.is_cpu


def _can_compare(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and can_read(tensor) and tensor.numel() <= MOST_ELEMENTS
