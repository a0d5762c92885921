"""The tensors of a call of `tape.gradient`: their names, their places, and how each is read."""

import dataclasses

import numpy as np
import tensorflow as tf

from smdebug.tensorflow import names
from smdebug.tensorflow.tensors import LARGEST_DENSE_BYTES, as_array, why_not
from smdebug.tensorflow.variable_values import value_of

KINDS = LOSSES, WEIGHTS, GRADIENTS = "losses", "weights", "gradients"


class TapeTensors:
    """The places of all tensors that tapes have shown."""

    def __init__(self, session, is_bias):
        self._session = session
        self._is_bias = is_bias
        self._sites = {kind: {} for kind in KINDS}

    def sorted_out(self, step, target, sources, gradients):
        """What `tape.gradient(target, sources)` and its result show, a list of TapeTensor. `step`
        counts its losses. Values that cannot be saved are left out, with a word."""
        found = [self._loss(step, each) for each in tf.nest.flatten(target)]
        pairs = zip(tf.nest.flatten(sources), tf.nest.flatten(gradients), strict=True)
        for source, gradient in pairs:
            if not is_variable(source):
                continue
            name = names.variable_name(source)
            weight = names.tape_weight(name)
            collections = ["biases" if self._is_bias(weight) else WEIGHTS]
            found.append(Weight(WEIGHTS, self._site(WEIGHTS, weight, collections), source))
            if gradient is not None:
                site = self._site(GRADIENTS, names.gradient(name), [GRADIENTS])
                found.append(_gradient(site, source, gradient))
        return [each for each in found if _can_be_saved(each)]

    def is_due(self, kind):
        return any(site.is_due() for site in self._sites[kind].values())

    def can_match(self, kind):
        return any(site.can_match() for site in self._sites[kind].values())

    def _loss(self, step, loss):
        name = names.LOSS if step.losses == 0 else f"{names.LOSS}_{step.losses}"
        step.losses += 1
        return TapeTensor(LOSSES, self._site(LOSSES, name, [LOSSES]), loss)

    def _site(self, kind, name, collections):
        known = self._sites[kind]
        if name not in known:
            known[name] = self._session.tensor(name, collections)
        return known[name]


@dataclasses.dataclass
class TapeTensor:
    """A tensor and its place. In a graph it is read by its `parts`: tensors of the graph, which
    `whole` makes one array of when they have left it."""

    kind: str
    site: object
    tensor: object

    def why_not(self):
        return why_not(self.tensor)

    def parts(self):
        return [self.tensor]

    def specs(self):
        """What the parts are like, a tf.TensorSpec each."""
        return [tf.TensorSpec(part.shape, part.dtype) for part in self.parts()]

    def whole(self, arrays):
        return arrays[0]

    def put(self):
        """Records it in eager code, where it is due."""
        if self.site.is_due():
            put_array(self.site, self.whole([as_array(part) for part in self.parts()]))


class Weight(TapeTensor):
    """A variable, read when its value is asked for."""

    def parts(self):
        return [value_of(self.tensor)]

    def specs(self):
        return [tf.TensorSpec(self.tensor.shape, self.tensor.dtype)]


@dataclasses.dataclass
class SparseGradient(TapeTensor):
    """tf.IndexedSlices: rows of a gradient, which is zero elsewhere."""

    shape: tuple

    def why_not(self):
        if not all(self.shape):
            return None
        dense_bytes = int(np.prod(self.shape, dtype=np.int64)) * self.tensor.dtype.size
        if dense_bytes <= LARGEST_DENSE_BYTES:
            return None
        return f"filled up with zeros it would take {dense_bytes} bytes"

    def parts(self):
        return [self.tensor.values, self.tensor.indices]

    def whole(self, arrays):
        rows, indices = arrays
        dense = np.zeros(self.shape, rows.dtype)
        np.add.at(dense, indices, rows)
        return dense


def _gradient(site, source, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        return SparseGradient(GRADIENTS, site, gradient, tuple(source.shape))
    return TapeTensor(GRADIENTS, site, gradient)


def is_variable(source):
    return isinstance(source, tf.Variable) or callable(getattr(source, "assign", None))


def put_variable(site, variable):
    """Records what a variable holds now, where it is due."""
    if site.is_due():
        put_array(site, as_array(value_of(variable)))


def put_array(site, array):
    site.put(array.reshape(1) if array.ndim == 0 else array)


def _can_be_saved(each):
    reason = each.why_not()
    if reason is not None:
        each.site.skip(reason)
    return reason is None
