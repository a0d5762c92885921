"""Where a backward pass begins: how an unmodified script shows its loss.

Two functions of torch are replaced while a launched hook lives, and put back when it closes:

| replaced | why | without it |
|---|---|---|
| torch.autograd.backward | `Tensor.backward` looks it up when it is called | no functional losses |
| torch.amp.GradScaler.scale | backward starts from the scaled loss | losses with their scale |
"""

import functools
import weakref

import torch


class BackwardWatch:
    """Calls `on_backward(loss)` before each backward pass; `loss` is the one number that it starts
    from, without the scale of a GradScaler, or None. `is_wanted()` says whether somebody will look
    at it. What `on_backward` raises goes to `on_error(error)`."""

    def __init__(self, on_backward, is_wanted, on_error):
        self._on_backward = on_backward
        self._is_wanted = is_wanted
        self._on_error = on_error
        self._scaled = None  # (reference to a scaled loss, the loss itself)
        self._replaced = []  # (owner, name, torch's own, ours)

    def install(self):
        if self._replaced:
            return
        backward, scale = torch.autograd.backward, torch.amp.GradScaler.scale

        @functools.wraps(backward)
        def watched_backward(tensors, *args, **kwargs):
            self._tell(tensors)
            return backward(tensors, *args, **kwargs)

        @functools.wraps(scale)
        def watched_scale(scaler, outputs):
            scaled = scale(scaler, outputs)
            self._remember(outputs, scaled)
            return scaled

        self._replace(torch.autograd, "backward", watched_backward)
        self._replace(torch.amp.GradScaler, "scale", watched_scale)

    def remove(self):
        """Puts back what is still ours: somebody else may have replaced it meanwhile."""
        for owner, name, original, ours in self._replaced:
            if getattr(owner, name) is ours:
                setattr(owner, name, original)
        self._replaced = []
        self._scaled = None

    def _replace(self, owner, name, ours):
        self._replaced.append((owner, name, getattr(owner, name), ours))
        setattr(owner, name, ours)

    def _remember(self, loss, scaled):
        if isinstance(loss, torch.Tensor) and self._is_wanted():
            self._scaled = weakref.ref(scaled), loss.detach()

    def _tell(self, tensors):
        try:
            self._on_backward(self._loss_of(tensors))
        except Exception as error:
            self._on_error(error)

    def _loss_of(self, tensors):
        if isinstance(tensors, (tuple, list)):
            tensors = tensors[0] if len(tensors) == 1 else None
        if not isinstance(tensors, torch.Tensor) or tensors.numel() != 1:
            return None
        scaled, self._scaled = self._scaled, None
        return scaled[1] if scaled and scaled[0]() is tensors else tensors
