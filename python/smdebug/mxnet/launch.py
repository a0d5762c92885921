"""Records the model of an unmodified script: the part of `smdebug run` inside the trainer.

`Block.__call__` is replaced to find the models, which are blocks with trainable parameters that are
called from outside, and the losses. A normal `Hook` then records them, and `Block.__call__` is
restored when the step after the first update begins. `backward` stays replaced, to record losses
that are not the output of a block. Nothing is created before a model is called.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import mxnet
from mxnet import autograd, gluon
from mxnet.base import MXNetError

from smdebug._core import ModeKeys, StepPolicy
from smdebug.launched_hook import make_hook
from smdebug.mxnet import trainers
from smdebug.mxnet.arrays import arrays_in, is_symbolic
from smdebug.mxnet.hook import Hook
from smdebug.mxnet.loss_series import LossSeries
from smdebug.mxnet.rate_series import RateSeries
from smdebug_ng.autostart import complain, complain_of

FUNCTIONAL_LOSS = "loss"


def watch(settings: Mapping[str, Any]) -> None:
    """Waits for a model. `settings` are those that SMDEBUG_RUN holds."""
    launch = Launch(settings)
    launch.find()
    trainers.listen(launch)


class LaunchedHook(Hook):
    """A hook for a script that sets neither its mode nor the beginning of its steps. It also notes
    the losses and learning rates of every step."""

    _has_mode_of_script = False
    _has_updated = False
    _series: LossSeries | None = None
    _rates: RateSeries | None = None
    _heads: tuple[Any, ...] = ()  # of backward, in the open step; an array takes no weak references

    def _make_steps(self) -> StepPolicy:
        return StepPolicy.create("leading_model")

    def _begin_model_step(self, block: gluon.Block) -> None:
        mode = ModeKeys.TRAIN if autograd.is_training() else ModeKeys.EVAL
        if mode is not self.mode:
            self.set_mode(mode)
            self.on_mode_change()
        elif self._has_updated:
            self.on_full_step()
        self._has_updated = False
        super()._begin_model_step(block)
        self._heads = ()
        if self._series is not None:
            self._series.begin_step()
            self._series.read_some()
        elif self._session:
            self._series = LossSeries(self._session)
            self._rates = RateSeries(self._session)
            self._switch.on_loss = self._series.note

    def _finish_step(self) -> None:
        super()._finish_step()
        if self._switch.is_on and self._series is not None:
            self._series.read_late()

    def after(self, trainer: gluon.Trainer) -> None:
        """Notes an update, as every hook does, and its learning rate."""
        if self._rates is not None and self._parameters_of(trainer):
            self._rates.note(trainer)
        super().after(trainer)
        self._has_updated = True

    def on_mode_change(self) -> None:
        """Called when the mode changes: another loss may come into use. The launch replaces it."""

    def on_full_step(self) -> None:
        """Called when all models and losses of this mode were called. The launch replaces it."""

    def on_detach(self) -> None:
        """Called when the hook closes, to restore MXNet. The launch replaces it."""

    def note_losses_of_backward(self, heads: Any) -> None:
        """Notes the arrays at which backward starts, and records them in a saved step, unless a
        loss block ran in this step. An array at which several passes start counts once."""
        if self._series is None or self._switch.has_loss:
            return
        for head in arrays_in(heads):
            if not any(head is each for each in self._heads):
                self._heads = (*self._heads, head)
                self._series.note(FUNCTIONAL_LOSS, [head])
                self.record_loss_of_backward(FUNCTIONAL_LOSS, head)

    def __del__(self) -> None:
        self._series = None  # as for the arrays of the net
        super().__del__()

    def _detach(self) -> None:
        if self._series is not None:
            try:
                self._series.read_late()
            except MXNetError as error:
                self._latch("at the end of the last step", error)
        super()._detach()
        self._heads = ()
        self._switch.on_loss = None
        self.on_detach()


class Launch:
    """Finds the models and losses of this process and gives them a hook."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._hook: LaunchedHook | None = None
        self._depth = threading.local()
        self._call: Callable[..., Any] | None = None  # the original while it is replaced
        self._backwards: dict[tuple[Any, str], Callable[..., Any]] = {}  # the originals

    def find(self) -> None:
        """Checks every block that is called from outside: for models, later for losses."""
        if self._call is not None:
            return
        self._depth = threading.local()
        self._call = call = gluon.Block.__call__

        @functools.wraps(call)
        def watched_call(block: gluon.Block, *args: Any) -> Any:
            depth = getattr(self._depth, "value", 0)
            self._depth.value = depth + 1
            try:
                if depth == 0:
                    self._on_call(block, args)
                return call(block, *args)
            finally:
                self._depth.value = depth

        gluon.Block.__call__ = watched_call

    def _stop_finding(self) -> None:
        call, self._call = self._call, None
        if call is not None and getattr(gluon.Block.__call__, "__wrapped__", None) is call:
            gluon.Block.__call__ = call

    def _on_call(self, block: gluon.Block, arguments: tuple[Any, ...]) -> None:
        if is_symbolic(arguments) or not any(True for _ in arrays_in(arguments)):
            return
        try:
            if isinstance(block, gluon.loss.Loss):
                if self._hook is not None and not self._hook.is_registered(block):
                    self._hook.register_block(block)
            elif self._is_new_model(block):
                self._found_model(block)
        except Exception as error:
            self._give_up(error)

    def _is_new_model(self, block: gluon.Block) -> bool:
        """Returns whether to record a block. A further model must train: a fixed teacher is not
        recorded."""
        if self._hook is None:
            return _is_trainable(block)
        known: list[bool] = []
        block.apply(lambda each: known.append(self._hook.is_registered(each)))
        return autograd.is_training() and not any(known) and _is_trainable(block)

    def _found_model(self, block: gluon.Block) -> None:
        if self._hook is None:
            self._hook = hook = make_hook(LaunchedHook, self._settings)
            hook.on_mode_change = self.find
            hook.on_full_step = self._stop_finding
            hook.on_detach = self._undo
            hook.expect_loss(FUNCTIONAL_LOSS)
            self._watch_backward()
        self._hook.register_block(block)

    def _watch_backward(self) -> None:
        for owner, name in ((mxnet.nd.NDArray, "backward"), (autograd, "backward")):
            self._backwards[owner, name] = original = getattr(owner, name)
            setattr(owner, name, self._recording_losses(original))

    def _recording_losses(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def backward(heads: Any, *args: Any, **kwargs: Any) -> Any:
            self._hook.note_losses_of_backward(heads)
            return original(heads, *args, **kwargs)

        return backward

    def before(self, trainer: gluon.Trainer, is_reduced: bool) -> bool:
        """Called before the first update: warns if no model was called until then."""
        trainers.forget(self)
        if self._hook is None:
            complain(
                "a trainer acts, but no block with trainable parameters was called: smdebug "
                "records a model that is called as net(x), not as net.forward(x)"
            )
        return True

    def after(self, trainer: gluon.Trainer) -> None:
        """Does nothing: the launch only needs the first update to begin."""

    def _undo(self) -> None:
        self._stop_finding()
        while self._backwards:
            (owner, name), original = self._backwards.popitem()
            if getattr(getattr(owner, name), "__wrapped__", None) is original:
                setattr(owner, name, original)

    def _give_up(self, error: Exception) -> None:
        self._stop_finding()
        complain_of(error)
        if self._hook is not None:
            self._hook.close()


def _is_trainable(block: gluon.Block) -> bool:
    return any(each.grad_req != "null" for each in block.collect_params().values())
