"""`divergence_weight`: how much the divergence of a normal distribution counts beside the rest of
a loss, as in a variational autoencoder.

A loss is expanded into terms, each with the factor of one of its elements. The divergence from the
standard normal distribution has terms v, log(v) and m squared, where v is the variance and m the
mean, often with log(v) as a result of the model.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque

from smdebug.tensorflow.operations import PASSING, Value

_MOST_TERMS = 1000
_SAME = 1e-4  # the relative difference of factors that are equal but for rounding
# A batch of unknown size has at least as many samples.
_FEWEST_SAMPLES = 8
_DIFFERENCES = frozenset("Sub SquaredDifference".split())
_CROSS_ENTROPIES = {
    "Log1p": "binary_cross_entropy_with_logits",
    "SoftmaxCrossEntropyWithLogits": "cross_entropy",
    "SparseSoftmaxCrossEntropyWithLogits": "cross_entropy",
}


@dataclasses.dataclass(frozen=True)
class _Factor:
    """`number` times the size of the batch to the power of `samples`."""

    number: float
    samples: int = 0

    def times(self, other: _Factor) -> _Factor:
        return _Factor(self.number * other.number, self.samples + other.samples)

    def over(self, other: _Factor) -> _Factor:
        return _Factor(self.number / other.number, self.samples - other.samples)

    def plus(self, other: _Factor) -> _Factor:
        """The sum; of different powers, the first that is not 0."""
        if not self.number:
            return other
        is_same = self.samples == other.samples
        return _Factor(self.number + other.number, self.samples) if is_same else self

    def is_close(self, other: _Factor) -> bool:
        is_same = math.isclose(self.number, other.number, rel_tol=_SAME)
        return is_same and self.samples == other.samples


@dataclasses.dataclass
class _Term:
    value: Value
    factor: _Factor


class _Unknown(Exception):
    """The factor of a term depends on more than the shapes."""


def divergence_weight(loss: Value) -> tuple[str, float] | None:
    """(the kind of the loss beside it, the weight of the divergence relative to that loss). The
    weight is 1 in an evidence lower bound. None if `loss` has no such terms."""
    terms = _terms_of(loss)
    divergence = _divergence_in(terms)
    if divergence is None:
        return None
    losses = [(_loss_kind(each.value), each.factor) for each in terms]
    known = [(kind, factor) for kind, factor in losses if kind and factor.number]
    if not known:
        return None
    kind, factor = max(known, key=lambda each: abs(each[1].number))
    weight = divergence.over(factor)
    return kind, abs(weight.number) * float(_FEWEST_SAMPLES) ** weight.samples


# --- the terms ---


def _terms_of(loss: Value) -> list[_Term]:
    """The terms of which a loss is the sum, and the sums on the way to them."""
    terms: dict[int, _Term] = {}
    waiting = deque([_Term(loss, _Factor(1.0))])
    for _ in range(_MOST_TERMS):
        if not waiting:
            break
        term = waiting.popleft()
        known = terms.setdefault(id(term.value), _Term(term.value, _Factor(0.0)))
        known.factor = known.factor.plus(term.factor)
        try:
            parts = _parts(term.value)
        except (_Unknown, ZeroDivisionError):
            continue
        waiting += [_Term(value, term.factor.times(own)) for value, own in parts]
    return list(terms.values())


def _parts(value: Value) -> list[tuple[Value, _Factor]]:
    """The values whose sum is `value`, each with the factor of one of its elements; none if it is
    no sum."""
    kind, inputs = value.kind, value.inputs
    if kind in PASSING:
        return [(inputs[0], _Factor(1.0))] if inputs else []
    if kind == "Neg":
        return [(inputs[0], _Factor(-1.0))]
    if kind in ("Add", "AddV2", "AddN"):
        return [(each, _repeats(value, each)) for each in inputs]
    if kind == "Sub":
        minus = _Factor(-1.0).times(_repeats(value, inputs[1]))
        return [(inputs[0], _repeats(value, inputs[0])), (inputs[1], minus)]
    if kind == "Sum":
        return [(inputs[0], _Factor(1.0))]
    if kind == "Mean":
        return [(inputs[0], _size(value).over(_size(inputs[0])))]
    if kind == "Mul":
        return _scaled(value)
    if kind in ("RealDiv", "Div", "DivNoNan") and not inputs[1].shape:
        divisor = _count(inputs[1])
        return [(inputs[0], _Factor(1.0).over(divisor))]
    return []


def _scaled(product: Value) -> list[tuple[Value, _Factor]]:
    """The other operand of a product with a number, and the number; nothing if there is none."""
    for number, other in (product.inputs, product.inputs[::-1]):
        if number.number is not None:
            return [(other, _Factor(number.number))]
    return []


def _repeats(result: Value, operand: Value) -> _Factor:
    """How often an element of an operand occurs in the result of a sum."""
    return _size(result).over(_size(operand))


def _size(value: Value) -> _Factor:
    """The number of elements. Sizes that are unknown are taken to be that of the batch."""
    if value.shape is None:
        raise _Unknown
    known = math.prod(size for size in value.shape if size is not None)
    return _Factor(float(known), value.shape.count(None))


def _count(value: Value) -> _Factor:
    """The value of a divisor: a number, or a size that the graph computes."""
    if value.number is not None:
        return _Factor(value.number)
    value = value.computed()
    if value.number is not None:
        return _Factor(value.number)
    if value.kind == "Size":
        return _size(value.inputs[0])
    if value.kind == "Prod":
        return _product_of(value.inputs[0].computed())
    if value.kind == "StridedSlice" and value.inputs[1].sizes:
        return _size_at(value.inputs[0], value.inputs[1].sizes[0])
    raise _Unknown


def _size_at(shape: Value, position: int) -> _Factor:
    sizes = shape.inputs[0].shape if shape.kind == "Shape" else shape.sizes
    if sizes is None or not -len(sizes) <= position < len(sizes):
        raise _Unknown
    size = sizes[position]
    return _Factor(1.0, 1) if size is None else _Factor(float(size))


def _product_of(sizes: Value) -> _Factor:
    if sizes.kind == "Shape":
        return _size(sizes.inputs[0])
    if sizes.sizes:
        return _Factor(float(math.prod(sizes.sizes)))
    if sizes.kind != "Pack":
        raise _Unknown
    product = _Factor(1.0)
    for each in sizes.inputs:
        product = product.times(_count(each))
    return product


# --- the divergence ---


def _divergence_in(terms: list[_Term]) -> _Factor | None:
    """The factor of a divergence among the terms; None if there is none."""
    squares = [each for each in terms if _is_square(each.value)]
    for variance in terms:
        factor = variance.factor
        has_mean = any(each is not variance and each.factor.is_close(factor) for each in squares)
        if has_mean and any(_is_logarithm(each, variance) for each in terms):
            return _Factor(2 * factor.number, factor.samples)
    return None


def _is_square(value: Value) -> bool:
    """Whether it is the square of anything but a difference from data."""
    base = _base_of_square(value)
    return base is not None and not _is_difference(base)


def _base_of_square(value: Value) -> Value | None:
    if value.kind == "Square":
        return value.inputs[0]
    if value.kind == "Pow" and value.inputs[1].number == 2:
        return value.inputs[0]
    is_own = value.kind == "Mul" and value.inputs[0] is value.inputs[1]
    return value.inputs[0] if is_own else None


def _is_logarithm(term: _Term, variance: _Term) -> bool:
    """Whether `term` is the logarithm in a divergence with this `variance`."""
    logarithms, roots = _logarithms_of(variance.value), _roots_of(variance.value)
    if term.value.kind == "Log":
        logarithms, argument = roots, term.value.inputs[0]
    else:
        argument = term.value
    return any(
        term.factor.is_close(_Factor(-variance.factor.number * scale, variance.factor.samples))
        and _is_same(argument, value)
        for value, scale in logarithms
    )


def _logarithms_of(variance: Value) -> list[tuple[Value, float]]:
    """(value, factor) whose product has `variance` as its exponential."""
    base = _base_of_square(variance)
    root = None if base is None else base.computed()
    if variance.kind == "Exp":
        return [_without_factor(variance.inputs[0])]
    if root is not None and root.kind == "Exp":
        value, scale = _without_factor(root.inputs[0])
        return [(value, 2 * scale)]
    return []


def _roots_of(variance: Value) -> list[tuple[Value, float]]:
    """(value, factor): the logarithm of a value times the factor is that of `variance`."""
    base = _base_of_square(variance)
    return [(variance, 1.0)] if base is None else [(variance, 1.0), (base, 2.0)]


def _without_factor(value: Value) -> tuple[Value, float]:
    """(value, factor) whose product is `value`."""
    scale = 1.0
    while value.inputs:
        if value.kind == "Neg":
            parts = [(value.inputs[0], _Factor(-1.0))]
        elif value.kind == "Mul":
            parts = _scaled(value)
        else:
            parts = [(value.inputs[0], _Factor(1.0))] if value.kind in PASSING else []
        if not parts:
            break
        value, scale = parts[0][0], scale * parts[0][1].number
    return value, scale


def _is_same(value: Value, other: Value, depth: int = 3) -> bool:
    """Whether two values are one, or computed in the same way from the same."""
    value, other = value.computed(), other.computed()
    if value is other:
        return True
    if not depth or not value.inputs or value.kind != other.kind:
        return False
    if len(value.inputs) != len(other.inputs):
        return False
    pairs = zip(value.inputs, other.inputs, strict=True)
    return all(_are_equal(*pair) or _is_same(*pair, depth - 1) for pair in pairs)


def _are_equal(value: Value, other: Value) -> bool:
    return value.number is not None and value.number == other.number


# --- the loss beside it ---


def _loss_kind(value: Value) -> str:
    """The kind of the loss of one element that a term is; "" if it is none."""
    if value.kind in _CROSS_ENTROPIES:
        return _CROSS_ENTROPIES[value.kind]
    if value.kind == "Mul" and any(each.computed().kind == "Log" for each in value.inputs):
        return "binary_cross_entropy" if _has_data(value.inputs) else ""
    if value.kind == "SquaredDifference":
        return "squared_error" if _has_data(value.inputs) else ""
    base = _base_of_square(value)
    is_absolute = value.kind == "Abs"
    base = value.inputs[0] if is_absolute else base
    if base is None or not _is_difference(base):
        return ""
    return "absolute_error" if is_absolute else "squared_error"


def _is_difference(value: Value) -> bool:
    """Whether it is a difference from data."""
    value = value.computed()
    return value.kind in _DIFFERENCES and _has_data(value.inputs)


def _has_data(operands: list[Value]) -> bool:
    """Whether an operand is no constant, and was computed without variables."""
    return any(each.number is None and not each.may_read_variable() for each in operands)
