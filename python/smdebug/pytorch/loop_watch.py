"""`LoopWatch`: observes gradient scalers, the clipping of gradients, schedulers, and data loaders.

These functions of torch are replaced while a launched hook is open, and restored when it closes:

| replaced | why | without it |
|---|---|---|
| torch.amp.GradScaler.update | the scale, and whether an update is skipped | no such series |
| torch.amp.GradScaler.unscale_ | clipped before or after it | such clipping is not found |
| clip_grad._clip_grads_with_norm_ | what `clip_grad_norm_` calls | `clip_grad_norm_` itself |
| torch.nn.utils.clip_grad_value_ | clipping, and its limit | such clipping is not found |
| LRScheduler.step, and of its subclasses | how often they step | no facts of schedulers |
| DataLoader.__iter__ | passes over the data | that each step begins one is not found |

Nothing here waits for a device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.compiler import is_compiling
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from smdebug.log import get_logger
from smdebug.pytorch.loop_notes import LoopNotes
from smdebug.pytorch.private_names import found_infinities, norm_clippers, scale_of
from smdebug.replaced import Replaced

_logger = get_logger()

_MOST_CLIPPINGS = 8  # that are kept until the gradients are unscaled


class LoopWatch:
    """Reports to `notes`, and with `on_scale(scale, infinities)` before each update of the scale:
    the tensor with the scale, and one tensor per optimizer that is above 0 if its update is
    skipped. Errors end the watch and never reach the training."""

    def __init__(
        self, notes: LoopNotes, on_scale: Callable[[torch.Tensor, list[torch.Tensor]], None]
    ) -> None:
        self._notes = notes
        self._on_scale = on_scale
        self._replaced = Replaced()
        self._has_scaler = False  # one has acted
        # Since the last update of the scale: (a clipped parameter, the limit).
        self._clipped: list[tuple[Any, float | None]] = []
        self._schedulers: list[Any] = []  # our functions for them
        self._is_off = False

    def install(self) -> None:
        """Replaces the functions of torch. A second call does nothing."""
        if self._replaced:
            return
        scaler = torch.amp.GradScaler
        self._replaced.replace(scaler, "update", self._watched_update(scaler.update))
        self._replaced.replace(scaler, "unscale_", self._watched_unscale(scaler.unscale_))
        of_value = (torch.nn.utils, torch.nn.utils.clip_grad), "clip_grad_value_"
        for is_of_norm, (owners, name) in ((True, norm_clippers()), (False, of_value)):
            ours = self._watched_clip(getattr(owners[0], name), is_of_norm)
            for owner in owners:
                self._replaced.replace(owner, name, ours)
        for kind in _with_subclasses(LRScheduler):
            if "step" in vars(kind):
                ours = self._watched_step(kind.step)
                self._schedulers.append(ours)
                self._replaced.replace(kind, "step", ours)
        self._replaced.replace(DataLoader, "__iter__", self._watched_iter(DataLoader.__iter__))

    def remove(self) -> None:
        """Restores the functions."""
        self._is_off = True
        self._clipped = []
        self._replaced.restore()

    def note_update(self, optimizer: Any) -> None:
        """Notes that an optimizer is about to act: no clipping before it concerns the next
        update."""
        self._clipped.clear()
        self._notes.note_update(optimizer)

    # --- the functions that replace torch's ---

    def _watched_update(self, update: Any) -> Any:
        @functools.wraps(update)
        def watched(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            self._isolated(self._note_scaler, scaler)
            return update(scaler, *args, **kwargs)

        return watched

    def _watched_unscale(self, unscale: Any) -> Any:
        @functools.wraps(unscale)
        def watched(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._clipped:
                self._isolated(self._note_unscaling, optimizer)
            return unscale(scaler, optimizer, *args, **kwargs)

        return watched

    def _watched_clip(self, clip: Any, is_of_norm: bool) -> Any:
        @functools.wraps(clip)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if args and not is_compiling():
                if not isinstance(args[0], (list, tuple, torch.Tensor)):
                    args = (list(args[0]), *args[1:])  # it may be readable only once
                named = kwargs.get("max_norm", kwargs.get("clip_value"))
                limit = args[1] if len(args) > 1 else named
                self._isolated(self._note_clipping, (is_of_norm, args[0], limit))
            return clip(*args, **kwargs)

        return watched

    def _watched_step(self, step: Any) -> Any:
        @functools.wraps(step)
        def watched(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            outermost = type(scheduler).step
            # A step may call that of its base class.
            if outermost is watched or outermost not in self._schedulers:
                self._isolated(self._notes.note_scheduler, scheduler)
            return step(scheduler, *args, **kwargs)

        return watched

    def _watched_iter(self, iterate: Any) -> Any:
        @functools.wraps(iterate)
        def watched(loader: Any) -> Any:
            self._isolated(self._notes.note_data_pass, loader)
            return iterate(loader)

        return watched

    # --- what they note ---

    def _note_scaler(self, scaler: Any) -> None:
        self._clipped.clear()
        scale = scale_of(scaler)
        if scaler.is_enabled() and scale is not None:
            self._has_scaler = True
            self._notes.note_scaler()
            self._on_scale(scale, found_infinities(scaler))

    def _note_unscaling(self, optimizer: Any) -> None:
        """Before the gradients of an optimizer are unscaled: whether they were clipped."""
        updated = {id(each) for group in optimizer.param_groups for each in group["params"]}
        limits = [limit for parameter, limit in self._clipped if id(parameter) in updated]
        if limits:
            self._notes.note_scaled_clipping(limits[-1])
            self._clipped = [one for one in self._clipped if id(one[0]) not in updated]

    def _note_clipping(self, clipping: tuple[bool, Any, Any]) -> None:
        is_of_norm, parameters, limit = clipping
        if isinstance(parameters, torch.Tensor):
            parameters = [parameters]
        if not self._has_scaler:
            self._notes.note_clipping(is_of_norm, parameters, limit)
            return
        if len(self._clipped) == _MOST_CLIPPINGS:
            return
        first = next((each for each in parameters if each.grad is not None), None)
        if first is not None:
            is_number = isinstance(limit, (int, float))
            self._clipped.append((first, float(limit) if is_number else None))

    def _isolated(self, action: Callable[[Any], None], argument: Any) -> None:
        if self._is_off:
            return
        try:
            action(argument)
        except Exception as error:
            self._is_off = True
            self._clipped = []
            _logger.warning(
                "what gradient scalers, schedulers and data loaders do is not noted: %r", error
            )


def _with_subclasses(kind: type) -> Iterable[type]:
    yield kind
    for each in kind.__subclasses__():
        yield from _with_subclasses(each)
