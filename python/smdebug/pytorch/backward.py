"""`BackwardWatch`: learns of each loss that a training goes backward from."""

import functools

import torch


class BackwardWatch:
    """Calls `on_backward(loss)` before each backward pass that starts from one number.

    Stands in place of `torch.autograd.backward` until `undo`: `Tensor.backward` looks that up
    when it is called, so both ways of going backward pass here. What `on_backward` raises goes
    to `on_error` and not to the training.
    """

    def __init__(self, on_backward, on_error):
        self._original = original = torch.autograd.backward

        @functools.wraps(original)
        def watched(tensors, *args, **kwargs):
            try:
                on_backward(_only_number(tensors))
            except Exception as error:
                on_error(error)
            return original(tensors, *args, **kwargs)

        self._watched = torch.autograd.backward = watched

    def undo(self):
        """Leaves it alone if somebody else has replaced the function since."""
        if torch.autograd.backward is self._watched:
            torch.autograd.backward = self._original


def _only_number(tensors):
    if isinstance(tensors, (tuple, list)):
        tensors = tensors[0] if len(tensors) == 1 else None
    is_number = isinstance(tensors, torch.Tensor) and tensors.numel() == 1
    return tensors if is_number else None
