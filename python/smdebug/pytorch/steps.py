"""When a step begins: the answers to `Hook(step_on=...)`, and that of `smdebug run`."""

from smdebug._core import ModeKeys


class ForwardSteps:
    """Each call of a registered model is a step."""

    def begins_with(self, model, mode):
        return True

    def optimizer_acted(self):
        pass


class OptimizerSteps:
    """A step lasts until an optimizer has acted, over all calls of all models before that: batches
    whose gradients are accumulated, the two halves of a GAN, the closures of LBFGS. Optimizers
    that act one after the other act in the same step.

    A call that does not train (mode EVAL or PREDICT, or mode GLOBAL and a model in `eval()`) is
    a step of its own.
    """

    def __init__(self):
        self._is_over = True
        self._mode = None

    def begins_with(self, model, mode):
        """Whether this call of `model`, in `mode`, begins a step."""
        is_training = mode is ModeKeys.TRAIN or (mode is ModeKeys.GLOBAL and model.training)
        begins = self._is_over or not is_training or mode is not self._mode
        self._is_over = not is_training
        self._mode = mode
        return begins

    def optimizer_acted(self):
        self._is_over = True


class CallsTogether:
    """For a script that says nothing: models that are called together are one step.

    It begins with each call of the model that leads: the one that was called first of all, and
    where that one is called no more, the first that is called after two backward passes. So the
    two halves of a GAN are one step.
    """

    _MOST_BACKWARDS = 2

    def __init__(self):
        self._leader = None
        self._backwards = 0

    def begins_with(self, model, mode):
        """Whether this call of `model` begins a step."""
        begins = model is self._leader or self._leader is None
        if begins or self._backwards >= self._MOST_BACKWARDS:
            self._leader = model
            self._backwards = 0
            return True
        return False

    def backward_began(self):
        self._backwards += 1

    def optimizer_acted(self):
        pass


STEPS = {"forward": ForwardSteps, "optimizer": OptimizerSteps}
