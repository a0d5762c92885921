"""What an optimizer of TensorFlow 1 shows while its graph is made: the gradients that it applies,
and its variables.

The optimizer gets a class of its own, derived from the one it has, which notes what
`apply_gradients` is given.
"""

import functools
import weakref

from smdebug.exceptions import SMDebugTypeError


class SessionOptimizers:
    """The optimizers that were wrapped, and what each graph was given by them."""

    def __init__(self):
        self._optimizers = []
        self._applied = weakref.WeakKeyDictionary()  # graph -> [(gradient, variable)]

    def wrap(self, optimizer):
        if not callable(getattr(optimizer, "apply_gradients", None)) or not callable(
            getattr(optimizer, "minimize", None)
        ):
            raise SMDebugTypeError(
                f"wrap_optimizer takes a tf.compat.v1.train.Optimizer, found {optimizer!r}"
            )
        if not any(optimizer is each for each in self._optimizers):
            self._optimizers.append(optimizer)
            optimizer.smdebug_optimizers = self
            optimizer.__class__ = _watched_class(type(optimizer))

    def note(self, gradients_and_variables):
        for gradient, variable in gradients_and_variables:
            if gradient is not None:
                graph = getattr(gradient, "values", gradient).graph
                self._applied.setdefault(graph, []).append((gradient, variable))

    def applied(self, graph):
        """The gradients that optimizers apply in `graph`, and their variables."""
        return self._applied.get(graph, [])

    def variables(self, graph):
        """The variables of the optimizers that are in `graph`, each once."""
        found = {}
        for optimizer in self._optimizers:
            own = getattr(optimizer, "variables", ())
            for variable in own() if callable(own) else own:
                if getattr(variable, "graph", None) is graph:
                    found[variable.name] = variable
        return list(found.values())


@functools.lru_cache(maxsize=None)
def _watched_class(kind):
    class WatchedOptimizer(kind):
        def apply_gradients(self, grads_and_vars, *args, **kwargs):
            grads_and_vars = list(grads_and_vars)
            self.smdebug_optimizers.note(grads_and_vars)
            return super().apply_gradients(grads_and_vars, *args, **kwargs)

    WatchedOptimizer.__name__ = kind.__name__
    WatchedOptimizer.__qualname__ = kind.__qualname__
    WatchedOptimizer.__module__ = kind.__module__
    return WatchedOptimizer
