"""The gradients that an optimizer of Keras applies, and its variables."""

from typing import Any

from smdebug.tensorflow.capture_sink import CaptureSink
from smdebug.tensorflow.keras.step_backend import backend
from smdebug.tensorflow.keras.step_trace import current_trace
from smdebug.tensorflow.private_names import hyper_variables, left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod


class WatchedOptimizer:
    """Reports the gradients of one optimizer to the trace that runs.

    These are the gradients that the training computed: without the scale of a mixed precision
    optimizer, and before the optimizer clips them.
    """

    def __init__(self, optimizer: Any, sink: CaptureSink) -> None:
        self.optimizer = optimizer
        self._sink = sink
        self._replaced: ReplacedMethod | None = None
        self._takes_pairs = not callable(getattr(optimizer, "apply", None))  # Keras 2

    def install(self) -> None:
        """Replaces the method that applies gradients. A second call does nothing."""
        name = "apply_gradients" if self._takes_pairs else "apply"
        if name in vars(self.optimizer):
            return
        watched = self._watched_pairs if self._takes_pairs else self._watched_apply
        self._replaced = ReplacedMethod(self.optimizer, name, left_alone(watched))
        self._original = self._replaced.original

    def uninstall(self) -> None:
        """Restores the optimizer's own method."""
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None

    def _watched_pairs(self, grads_and_vars, *arguments, **keywords):
        pairs = list(grads_and_vars)
        self._report(lambda: pairs)
        return self._original(pairs, *arguments, **keywords)

    def _watched_apply(self, grads, trainable_variables=None, **keywords):
        grads = list(grads)
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
        self._report(lambda: self._unscaled(grads, trainable_variables))
        return self._original(grads, trainable_variables, **keywords)

    def _report(self, pairs):
        trace = current_trace()
        if trace is None:
            return

        def report():
            for gradient, variable in pairs():
                trace.gradient_found(variable, gradient)

        self._sink.attempt(report, "at the gradients")

    def _unscaled(self, gradients, variables):
        """Divides gradients by the loss scale: Keras 3 passes scaled ones to its
        LossScaleOptimizer."""
        if variables is None:
            variables = self.optimizer._trainable_variables
        if hasattr(self.optimizer, "initial_scale"):
            scale = self.optimizer.initial_scale
            if self.optimizer.built:
                scale = self.optimizer.dynamic_scale.value
            gradients = [
                None if each is None else backend.unscaled(each, scale) for each in gradients
            ]
        return list(zip(gradients, variables, strict=True))


def optimizer_variables(optimizer: Any) -> list[Any]:
    """Returns the variables of an optimizer of Keras 2 or 3."""
    variables = getattr(optimizer, "variables", ())
    if callable(variables) and not isinstance(variables, (list, tuple)):
        variables = variables()
    variables = list(variables)
    known = {id(variable) for variable in variables}
    return variables + [each for each in hyper_variables(optimizer) if id(each) not in known]
