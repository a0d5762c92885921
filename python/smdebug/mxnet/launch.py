"""Records the model of an unmodified script: the part of `smdebug run` inside the trainer.

`Block.__call__` is replaced only to find things: the models, which are blocks with parameters to
train that are called from outside, and the losses. Then a normal `Hook` takes over, and the
replacement is gone when the step after the first update begins. `backward` stays replaced, to see
losses that no block gives. Nothing is made before a model is called.
"""

import functools
import threading

import mxnet
from mxnet import autograd, gluon

from smdebug._core import ModeKeys, StepPolicy
from smdebug.autostart import complain
from smdebug.launched_hook import make_hook
from smdebug.mxnet import trainers
from smdebug.mxnet.arrays import arrays_in, is_symbolic
from smdebug.mxnet.hook import Hook

FUNCTIONAL_LOSS = "loss"


def watch(settings):
    """Waits for a model. `settings` is what SMDEBUG_RUN says."""
    launch = Launch(settings)
    launch.find()
    trainers.listen(launch)


class LaunchedHook(Hook):
    """A hook for a script that says neither its mode nor when a step begins."""

    _has_updated = False

    def _make_steps(self):
        return StepPolicy.create("leading_model")

    def _begin_model_step(self, block):
        mode = ModeKeys.TRAIN if autograd.is_training() else ModeKeys.EVAL
        if mode is not self.mode:
            self.set_mode(mode)
            self.on_mode_change()
        elif self._has_updated:
            self.on_full_step()
        self._has_updated = False
        super()._begin_model_step(block)

    def after(self, trainer):
        super().after(trainer)
        self._has_updated = True

    def on_mode_change(self):
        """Another loss may come into use."""

    def on_full_step(self):
        """All models and losses of this mode were called."""

    def on_detach(self):
        """Undoes what the launch did to MXNet."""

    def _detach(self):
        super()._detach()
        self.on_detach()


class Launch:
    def __init__(self, settings):
        self._settings = settings
        self._hook = None
        self._depth = threading.local()
        self._call = None  # Block.__call__ as it was, while it is replaced
        self._backwards = {}  # (owner, name) -> the function as it was

    def find(self):
        """Looks at every block that is called from outside: for models, later for losses."""
        if self._call is not None:
            return
        self._depth = threading.local()
        self._call = call = gluon.Block.__call__

        @functools.wraps(call)
        def watched_call(block, *args):
            depth = getattr(self._depth, "value", 0)
            self._depth.value = depth + 1
            try:
                if depth == 0:
                    self._on_call(block, args)
                return call(block, *args)
            finally:
                self._depth.value = depth

        gluon.Block.__call__ = watched_call

    def _stop_finding(self):
        call, self._call = self._call, None
        if call is not None and getattr(gluon.Block.__call__, "__wrapped__", None) is call:
            gluon.Block.__call__ = call

    def _on_call(self, block, arguments):
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

    def _is_new_model(self, block):
        """A further model must be training: a teacher that only judges is none."""
        if self._hook is None:
            return _is_trainable(block)
        known = []
        block.apply(lambda each: known.append(self._hook.is_registered(each)))
        return autograd.is_training() and not any(known) and _is_trainable(block)

    def _found_model(self, block):
        if self._hook is None:
            self._hook = hook = make_hook(LaunchedHook, self._settings)
            hook.on_mode_change = self.find
            hook.on_full_step = self._stop_finding
            hook.on_detach = self._undo
            hook.expect_loss(FUNCTIONAL_LOSS)
            self._watch_backward()
        self._hook.register_block(block)

    def _watch_backward(self):
        for owner, name in ((mxnet.nd.NDArray, "backward"), (autograd, "backward")):
            self._backwards[owner, name] = original = getattr(owner, name)
            setattr(owner, name, self._told_of_loss(original))

    def _told_of_loss(self, original):
        @functools.wraps(original)
        def backward(heads, *args, **kwargs):
            if self._hook.wants_loss_of_backward():
                self._record_losses(heads)
            return original(heads, *args, **kwargs)

        return backward

    def _record_losses(self, heads):
        for head in arrays_in(heads):
            self._hook.record_loss_of_backward(FUNCTIONAL_LOSS, head)

    def before(self, trainer, is_reduced):
        """The first update: by now a model was called."""
        trainers.forget(self)
        if self._hook is None:
            complain(
                "a trainer acts, but no block with parameters to train was called: a model is "
                "recorded when it is called as net(x), not as net.forward(x)"
            )
        return True

    def after(self, trainer):
        pass

    def _undo(self):
        self._stop_finding()
        while self._backwards:
            (owner, name), original = self._backwards.popitem()
            if getattr(getattr(owner, name), "__wrapped__", None) is original:
                setattr(owner, name, original)

    def _give_up(self, error):
        self._stop_finding()
        complain(repr(error))
        if self._hook is not None:
            self._hook.close()


def _is_trainable(block):
    return any(each.grad_req != "null" for each in block.collect_params().values())
