"""When a step begins: the answers to `Hook(step_on=...)`, and that of `smdebug run`."""

from smdebug._core import ModeKeys


class ForwardSteps:
    """Each call of a registered model is a step.

    A batch that is split over several devices is one step: a call on another device than those
    that the open step has seen goes on with it.
    """

    def __init__(self):
        self._devices = {}  # model -> where the open step has called it

    def begins_with(self, model, mode, device, is_training):
        """Whether this call of `model`, on `device`, begins a step."""
        seen = self._devices.get(model)
        if seen and device not in seen:
            seen.add(device)
            return False
        self._devices = {model: {device}}
        return True

    def trainer_acted(self):
        self._devices = {}


class OptimizerSteps:
    """A step lasts until a trainer has acted, over all calls of all models before that: batches
    whose gradients are accumulated, the two halves of a GAN.

    A call that does not train (mode EVAL or PREDICT, or mode GLOBAL outside of autograd's training
    mode) is a step of its own.
    """

    def __init__(self):
        self._is_over = True
        self._mode = None

    def begins_with(self, model, mode, device, is_training):
        """Whether this call, in `mode`, begins a step."""
        trains = mode is ModeKeys.TRAIN or (mode is ModeKeys.GLOBAL and is_training)
        begins = self._is_over or not trains or mode is not self._mode
        self._is_over = not trains
        self._mode = mode
        return begins

    def trainer_acted(self):
        self._is_over = True


STEPS = {"forward": ForwardSteps, "optimizer": OptimizerSteps}
