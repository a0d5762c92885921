"""The loss, gradients, update and variables of optimizers of TensorFlow 1.

A wrapped optimizer gets a class derived from its own, which notes them while the graph is built.
"""

import functools
import weakref
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import name_hint, shown


class SessionOptimizers:
    """The wrapped optimizers, and their additions to each graph."""

    def __init__(self) -> None:
        self._optimizers: list[Any] = []
        self._losses: Any = weakref.WeakKeyDictionary()  # graph -> [tensor]
        self._applied: Any = weakref.WeakKeyDictionary()  # graph -> [(gradient, variable)]
        self._updates: Any = weakref.WeakKeyDictionary()  # graph -> {operation}

    def wrap(self, optimizer: Any) -> None:
        """Follows a tf.compat.v1.train.Optimizer from now on. Raises SMDebugTypeError for anything
        else."""
        if not callable(getattr(optimizer, "apply_gradients", None)) or not callable(
            getattr(optimizer, "minimize", None)
        ):
            raise SMDebugTypeError(
                f"wrap_optimizer takes a tf.compat.v1.train.Optimizer, found {shown(optimizer)}"
                f"{name_hint(optimizer, 'the optimizer itself', tf.compat.v1.train.Optimizer)}"
            )
        if not hasattr(optimizer, "smdebug_optimizers"):
            optimizer.__class__ = _watched_class(type(optimizer))
        optimizer.smdebug_optimizers = self

    def note(
        self, optimizer: Any, gradients_and_variables: Iterable[tuple[Any, Any]], update: Any
    ) -> None:
        """Notes that `optimizer` applies these (gradient, variable) by the operation `update`."""
        if not any(optimizer is each for each in self._optimizers):
            self._optimizers.append(optimizer)
        if isinstance(update, tf.Operation):
            self._updates.setdefault(update.graph, set()).add(update)
        for gradient, variable in gradients_and_variables:
            if gradient is not None:
                graph = getattr(gradient, "values", gradient).graph
                self._applied.setdefault(graph, []).append((gradient, variable))

    def note_loss(self, loss: Any) -> None:
        """Notes that an optimizer minimizes the tensor `loss`."""
        if isinstance(loss, tf.Tensor) and hasattr(loss, "graph"):
            self._losses.setdefault(loss.graph, []).append(loss)

    def losses(self, graph: Any) -> list[Any]:
        """Returns the tensors that optimizers minimize in `graph`."""
        return self._losses.get(graph, [])

    def applied(self, graph: Any) -> list[tuple[Any, Any]]:
        """Returns (gradient, variable) of the gradients that optimizers apply in `graph`."""
        return self._applied.get(graph, [])

    def updates(self, graph: Any) -> set[Any]:
        """Returns the operations of `graph` in which optimizers act."""
        return self._updates.get(graph, set())

    def variables(self, graph: Any) -> list[Any]:
        """Returns the optimizers' variables that are in `graph`, each once."""
        found = {}
        for optimizer in self._optimizers:
            own = getattr(optimizer, "variables", ())
            for variable in own() if callable(own) else own:
                if getattr(variable, "graph", None) is graph:
                    found[variable.name] = variable
        return list(found.values())


@functools.cache
def _watched_class(kind):
    class WatchedOptimizer(kind):
        def compute_gradients(self, loss, *args, **kwargs):
            self.smdebug_optimizers.note_loss(loss)
            return super().compute_gradients(loss, *args, **kwargs)

        def apply_gradients(self, grads_and_vars, *args, **kwargs):
            grads_and_vars = list(grads_and_vars)
            update = super().apply_gradients(grads_and_vars, *args, **kwargs)
            self.smdebug_optimizers.note(self, grads_and_vars, update)
            return update

    WatchedOptimizer.__name__ = kind.__name__
    WatchedOptimizer.__qualname__ = kind.__qualname__
    WatchedOptimizer.__module__ = kind.__module__
    return WatchedOptimizer
