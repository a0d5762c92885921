"""Observes where a backward pass begins, to find the loss of an unmodified script.

Two functions of torch are replaced while a launched hook is open, and restored when it closes:

| replaced | why | without it |
|---|---|---|
| torch.autograd.backward | `Tensor.backward` looks it up when it is called | no functional losses |
| torch.amp.GradScaler.scale | backward starts from the scaled loss | losses with their scale |
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch

from smdebug.replaced import Replaced


class BackwardWatch:
    """Calls `on_backward(loss, start)` before each backward pass. `start` is the single number from
    which it starts, or None, and `loss` the same without the scale of a GradScaler. `is_wanted()`
    returns whether the loss is needed. `on_error(error)` receives what `on_backward` raises."""

    def __init__(
        self,
        on_backward: Callable[[torch.Tensor | None, torch.Tensor | None], None],
        is_wanted: Callable[[], bool],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._on_backward = on_backward
        self._is_wanted = is_wanted
        self._on_error = on_error
        self._scaled = None  # (reference to a scaled loss, the loss itself)
        self._replaced = Replaced()

    def install(self) -> None:
        """Replaces the functions of torch. A second call does nothing."""
        if self._replaced:
            return
        backward, scale = torch.autograd.backward, torch.amp.GradScaler.scale

        @functools.wraps(backward)
        def watched_backward(tensors, *args, **kwargs):
            self._report(tensors)
            return backward(tensors, *args, **kwargs)

        @functools.wraps(scale)
        def watched_scale(scaler, outputs):
            scaled = scale(scaler, outputs)
            self._remember(outputs, scaled)
            return scaled

        self._replaced.replace(torch.autograd, "backward", watched_backward)
        self._replaced.replace(torch.amp.GradScaler, "scale", watched_scale)

    def remove(self) -> None:
        """Restores the functions, unless other code has replaced them in the meantime."""
        self._replaced.restore()
        self._scaled = None

    def _remember(self, loss: Any, scaled: Any) -> None:
        if isinstance(loss, torch.Tensor) and self._is_wanted():
            self._scaled = weakref.ref(scaled), loss.detach()

    def _report(self, tensors: Any) -> None:
        try:
            start = _start_of(tensors)
            self._on_backward(self._loss_of(start), start)
        except Exception as error:
            self._on_error(error)

    def _loss_of(self, start: torch.Tensor | None) -> torch.Tensor | None:
        return self._scaled[1] if self._scaled and self._scaled[0]() is start else start


def _start_of(tensors: Any) -> torch.Tensor | None:
    if isinstance(tensors, (tuple, list)):
        tensors = tensors[0] if len(tensors) == 1 else None
    return tensors if isinstance(tensors, torch.Tensor) and tensors.numel() == 1 else None
