"""Repeats the data of one call of a model's function."""

import collections
import collections.abc
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.private_names import steps_per_execution


def can_be_given_twice(model: Any, data: Any) -> bool:
    """Returns whether a function of `model` can be called with the same `data` twice: not if a
    strategy distributes it, or if the number of batches in a call is unknown."""
    has_replicas = model.distribute_strategy.num_replicas_in_sync > 1
    is_distributed = has_replicas or isinstance(data, tf.distribute.DistributedIterator)
    return not is_distributed and steps_per_execution(model) is not None


def takes_one_batch(model: Any) -> bool:
    """Returns whether a call of a function of `model` takes exactly one batch."""
    return steps_per_execution(model) == 1


class BatchRepeater:
    """Takes the data of each call of one function, and repeats it.

    The repeated data has the type of the data that the function was traced with, so that the
    function is not traced again.
    """

    def __init__(self) -> None:
        self._spec: Any = None
        self._dataset: Any = None
        self._iterator: Any = None
        self._given: collections.deque[list[Any]] = collections.deque()

    def prepare(self, data: Any) -> None:
        """Prepares for a call of `taken` with the same data."""
        if isinstance(data, tf.data.Iterator):
            self._follow(data.element_spec)

    def clear(self) -> None:
        """Releases the batches."""
        self._given.clear()

    def taken(self, model: Any, data: Any) -> "RepeatedBatch":
        """Takes a RepeatedBatch out of `data`: an iterator, of which a call takes one batch or
        `steps_per_execution` batches, or the batch itself."""
        count = steps_per_execution(model)
        if isinstance(data, tf.data.Iterator):
            return RepeatedBatch(data, count, lambda batches: self._again(batches, count))
        if isinstance(data, collections.abc.Iterator):
            return RepeatedBatch(data, count, iter)
        return RepeatedBatch((), 0, lambda _: data)

    def _follow(self, spec):
        if self._spec == spec:
            return
        parts = tf.nest.flatten(spec, expand_composites=True)

        def element(_):
            given = tf.py_function(self._given.popleft, [], [part.dtype for part in parts])
            for tensor, part in zip(given, parts, strict=True):
                tensor.set_shape(part.shape)
            return tf.nest.pack_sequence_as(spec, given, expand_composites=True)

        plain = tf.data.Options()  # so that nothing is taken ahead of time
        plain.experimental_optimization.apply_default_optimizations = False
        self._dataset = tf.data.Dataset.counter().map(element).with_options(plain)
        self._iterator = iter(self._dataset)
        self._spec = spec

    def _again(self, batches, count):
        self.clear()
        self._given += (tf.nest.flatten(each, expand_composites=True) for each in batches)
        if len(batches) < count:  # the last ones: the function must find the end of the data
            return iter(self._dataset.take(len(batches)))
        return self._iterator


class RepeatedBatch:
    """The data of one call: up to `count` elements of `data`. `again(batches)` returns them in the
    form that the function takes.

    Raises an error that the data raises before its first batch. A later error is kept for
    `raise_late_error`, because a call runs the batches before it.
    """

    def __init__(self, data: Iterable[Any], count: int, again: Callable[[list[Any]], Any]) -> None:
        self._data = data
        self._again = again
        self._batches: list[Any] = []
        self._late_error: Exception | None = None
        try:
            for batch in itertools.islice(data, count):
                self._batches.append(batch)
        except Exception as error:
            if not self._batches:
                raise
            self._late_error = error
        self._is_over = count > 0 and not self._batches

    def again(self) -> Any:
        """Returns the data, for one call."""
        return self._data if self._is_over else self._again(self._batches)

    def raise_late_error(self) -> None:
        """Raises the error that came after the first batch, if there was one."""
        if self._late_error is not None:
            raise self._late_error
