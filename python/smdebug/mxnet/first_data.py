"""`FirstData`: measures the inputs of models, and what losses are given, in the first saved steps
that train, and the inputs also in the first that evaluate. See `DataFacts` and `LossInputFacts` in
include/smdebug/core/run_facts.h.

Measured are positional arguments of registered models before the first container, and the
predictions and labels of registered losses. Gluon returns the loss of each sample, and a run has
their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mxnet import autograd, gluon
from mxnet.base import MXNetError
from mxnet.ndarray import NDArray

from smdebug import _core
from smdebug.array_summary import ArraySummary
from smdebug.data_summary import MOST_ELEMENTS
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.loss_summary import EVALUATIONS_REPORTED_AFTER, MEASURED_STEPS, REPORTED_AFTER
from smdebug.measured_loss import LossBatch, LossKind, MeasuredLoss
from smdebug.mxnet.arrays import host_copy
from smdebug.mxnet.private_names import loss_settings

if TYPE_CHECKING:
    import numpy as np

_logger = get_logger()

_MOST_INPUTS = 8  # of all models
_Inputs = dict[str, tuple[str, ArraySummary]]  # tensor -> (first layer, summary)
# Blocks that do not change the elements of what they are given.
_PASSING = ("Flatten",)
_ELEMENTWISE = {"L2Loss": "mse_loss", "L1Loss": "l1_loss"}
_LAYERS = tuple(f"mxnet.gluon.nn.{name}" for name in ("basic_layers", "conv_layers", "activations"))


class FirstData:
    """The first data of all models and losses of one hook. Only an MXNetError is raised: that of an
    operator of the training, which whoever waits for its result gets."""

    def __init__(self) -> None:
        self._inputs: _Inputs = {}
        self._evaluation_inputs: _Inputs = {}
        self._losses: dict[str, tuple[LossKind, MeasuredLoss]] = {}  # by the name of the block
        self._steps = 0  # that train
        self._evaluation_steps = 0
        self._is_evaluation = False  # the open step
        self._seen: set[str] = set()  # names of models and losses that the open step has called
        self._step: int | None = None  # the open one, if it is measured
        self._last_inputs: tuple[np.ndarray, ...] = ()  # of the model called last, in part

    @property
    def reports(self) -> int:
        """How often the facts have changed enough to be reported again."""
        return sum(self._steps >= steps for steps in REPORTED_AFTER) + sum(
            self._evaluation_steps >= steps for steps in EVALUATIONS_REPORTED_AFTER
        )

    def begin_step(self, step: int, is_saved: bool) -> None:
        """Begins a step. It is measured if it is saved, and one of the first of its kind."""
        self._is_evaluation = not autograd.is_training()
        steps = self._evaluation_steps if self._is_evaluation else self._steps
        is_measured = is_saved and steps < MEASURED_STEPS
        self._step = step if is_measured else None
        self._last_inputs = ()
        if is_measured:
            self._seen.clear()
            self._steps += not self._is_evaluation
            self._evaluation_steps += self._is_evaluation

    def note_model(self, block: gluon.Block, name: str, arguments: Iterable[Any]) -> None:
        """Measures the inputs of a model. A further call in a step does not count."""
        self._note(self._add_inputs, block, name, arguments)

    def note_loss(self, block: gluon.loss.Loss, name: str, arguments: tuple[Any, ...]) -> None:
        """Measures what a loss is given, as `note_model` does."""
        self._note(self._add_loss, block, name, arguments)

    def inputs(self) -> list[_core.DataFacts]:
        """The facts of the inputs so far, in steps that train."""
        return _facts_of(self._inputs)

    def evaluation_inputs(self) -> list[_core.DataFacts]:
        """The facts of the inputs so far, in steps that evaluate."""
        return _facts_of(self._evaluation_inputs)

    def losses(self) -> list[_core.LossFacts]:
        """The facts of the losses so far."""
        return [
            _core.LossFacts(
                _core.output_name(name, 0),
                kind.kind,
                reduction=kind.reduction,
                ignored_label=None,
                input=measured.facts(),
            )
            for name, (kind, measured) in self._losses.items()
        ]

    def _note(
        self, add: Callable[[Any, str, Any], None], block: gluon.Block, name: str, arguments: Any
    ) -> None:
        if self._step is None or name in self._seen:
            return
        self._seen.add(name)
        try:
            add(block, name, arguments)
        except MXNetError:
            raise
        except Exception as error:  # an array of another library
            _logger.debug("what '%s' is given is unknown: %r", name, error)

    def _add_inputs(self, block: gluon.Block, name: str, arguments: Iterable[Any]) -> None:
        self._last_inputs = ()
        inputs = self._evaluation_inputs if self._is_evaluation else self._inputs
        for number, argument in enumerate(arguments):
            if not isinstance(argument, NDArray) or len(inputs) == _MOST_INPUTS:
                return
            tensor = _core.input_name(name, number)
            layer, summary = inputs.setdefault(tensor, (_first_layer(block), ArraySummary()))
            array = _first_samples(argument)
            if array is not None:
                summary.add(array, list(argument.shape), self._step)
                self._last_inputs += (array,)

    def _add_loss(self, block: gluon.loss.Loss, name: str, arguments: tuple[Any, ...]) -> None:
        if self._is_evaluation:
            return
        kind = loss_kind(block)
        _, measured = self._losses.setdefault(name, (kind, MeasuredLoss()))
        if not kind.function or len(arguments) < 2:
            return
        predictions, labels = arguments[:2]
        if not isinstance(predictions, NDArray) or not isinstance(labels, NDArray):
            return
        given, targets = _first_samples(predictions), _first_samples(labels)
        if given is None or targets is None or not given.ndim:
            return
        shape = list(predictions.shape)
        # Gluon gives labels the shape of the predictions, where both have as many elements.
        is_same = labels.size == predictions.size
        batch = LossBatch(
            given,
            targets,
            shape,
            shape if is_same else list(labels.shape),
            hides_targets=len(arguments) > 2 and arguments[2] is not None,
            inputs=self._last_inputs,
        )
        measured.add(kind, batch, self._step, are_targets_told=True)


def _facts_of(inputs: _Inputs) -> list[_core.DataFacts]:
    return [summary.facts(name, layer) for name, (layer, summary) in inputs.items()]


def loss_kind(block: gluon.loss.Loss) -> LossKind:
    """The kind of a loss: without a function if it belongs to a script or is unknown."""
    name = type(block).__name__
    kind = LossKind(encodable(name))
    if type(block).__module__ != gluon.loss.__name__:
        return kind
    found = loss_settings(block)
    factor = found.get("weight") or 1
    if name == "SoftmaxCrossEntropyLoss" and found.keys() >= {"axis", "from_logits"}:
        if found["axis"] != -1:
            return kind
        kind.function = "nll_loss" if found["from_logits"] else "cross_entropy"
        kind.is_sparse = bool(found.get("sparse_label"))
    elif name == "SigmoidBinaryCrossEntropyLoss" and "from_sigmoid" in found:
        is_given_shares = found["from_sigmoid"]
        kind.function = "binary_cross_entropy" + ("" if is_given_shares else "_with_logits")
    elif name in _ELEMENTWISE and "weight" in found:
        kind.function = _ELEMENTWISE[name]
        factor = factor / 2 if name == "L2Loss" else factor
    kind.reduction = {1: "mean", 0.5: "half_mean"}.get(factor, "scaled_mean")
    return kind


def _first_samples(array: NDArray) -> np.ndarray | None:
    """Waits for the first samples of an array and copies them; None if it is no array of
    numbers."""
    if array.stype != "default" or not array.size:
        return None
    width = max(1, array.size // max(1, array.shape[0])) if array.ndim else 1
    most = max(2, MOST_ELEMENTS // width)
    if array.ndim and array.shape[0] > most:
        with autograd.pause():  # which the graph of the training must not have
            array = array[:most]
    copy = host_copy(array)
    return copy.astype("float32") if copy.dtype.name == "bfloat16" else copy


def _first_layer(block: gluon.Block) -> str:
    """The kind of the block that a model's inputs reach first; "" if it is unknown."""
    if type(block) not in (gluon.nn.Sequential, gluon.nn.HybridSequential):
        is_known = type(block).__module__ in _LAYERS
        return encodable(type(block).__name__) if is_known else ""
    for child in block:
        if type(child).__name__ not in _PASSING:
            return _first_layer(child)
    return ""
