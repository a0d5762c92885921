"""The data of one call of a model's function, for more calls than one."""

import collections
import collections.abc
import itertools

import tensorflow as tf

from smdebug.tensorflow.private_names import steps_per_execution


def can_be_given_twice(model, data):
    """Whether a function of `model` can be called with the same `data` twice: not so where a
    strategy distributes it, or Keras does not tell how many batches a call takes."""
    has_replicas = model.distribute_strategy.num_replicas_in_sync > 1
    is_distributed = has_replicas or isinstance(data, tf.distribute.DistributedIterator)
    return not is_distributed and steps_per_execution(model) is not None


def takes_one_batch(model):
    """Whether a call of a function of `model` takes one batch."""
    return steps_per_execution(model) == 1


class BatchRepeater:
    """Takes what calls of one function are given, and gives it again.

    The iterator that a function gets again has the type of the one that it was traced with, and so
    does not have it traced once more.
    """

    def __init__(self):
        self._spec = None
        self._dataset = self._iterator = None
        self._given = collections.deque()

    def prepare(self, data):
        """To be called before `taken`, with the same."""
        if isinstance(data, tf.data.Iterator):
            self._follow(data.element_spec)

    def clear(self):
        self._given.clear()

    def taken(self, model, data):
        """A RepeatedBatch of `data`: an iterator, of which a call takes a batch, or as many as
        `steps_per_execution` says, or the batches themselves."""
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

        as_it_is = tf.data.Options()  # nothing is taken ahead
        as_it_is.experimental_optimization.apply_default_optimizations = False
        self._dataset = tf.data.Dataset.counter().map(element).with_options(as_it_is)
        self._iterator = iter(self._dataset)
        self._spec = spec

    def _again(self, batches, count):
        self.clear()
        self._given += (tf.nest.flatten(each, expand_composites=True) for each in batches)
        if len(batches) < count:  # the last ones: a function finds out that there are no more
            return iter(self._dataset.take(len(batches)))
        return self._iterator


class RepeatedBatch:
    """What one call is given. Raises what the data raises before its first batch; an error after it
    is kept for `raise_late_error`, as a call runs the batches before it."""

    def __init__(self, data, count, again):
        self._data = data
        self._again = again
        self._batches = []
        self._late_error = None
        try:
            for batch in itertools.islice(data, count):
                self._batches.append(batch)
        except Exception as error:
            if not self._batches:
                raise
            self._late_error = error
        self._is_over = count > 0 and not self._batches

    def again(self):
        """The data, for one call."""
        return self._data if self._is_over else self._again(self._batches)

    def raise_late_error(self):
        if self._late_error is not None:
            raise self._late_error
