"""Measures what losses are given, in the first saved steps of a training.

The graph of a loss has what its function was given: autograd saved it for the backward pass. It is
read just before that pass, or when a loss module returns. Nothing of torch is replaced, and no
tensor is changed or kept. See `LossInputFacts` in include/smdebug/core/run_facts.h.

Measured are tensors in plain memory. Losses in compiled code, of custom functions, of sharded
tensors, and tensors that are packed until the backward pass (checkpoints, offloading) are unknown.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from smdebug import _core
from smdebug.array_summary import ROUNDING
from smdebug.data_summary import MOST_ELEMENTS
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.loss_summary import (
    BINARY,
    BINARY_OF_PROBABILITIES,
    DISTRIBUTIONS,
    ELEMENTWISE,
    MEASURED_STEPS,
    RANGES,
    REPORTED_AFTER,
    LossInput,
    LossSummary,
)
from smdebug.pytorch.data_summary import TensorSummary
from smdebug.pytorch.latent_terms import divergence_weights
from smdebug.pytorch.model_graph import model_graph
from smdebug.pytorch.plain_tensors import can_read, is_plain
from smdebug.pytorch.private_names import node_name, saved_tensor, signed
from smdebug.pytorch.remembered_inputs import RememberedInputs

_logger = get_logger()

_MOST_PASSES = 4  # backward passes of a step, or calls of loss modules
_MOST_LOSSES = 8
_GRAPH_STEPS = 3  # in which the graph of the model is searched
_MOST_NODES = 200  # of a graph, from the loss on

# The functions that are recognized, by their node in the graph.
_KINDS = {
    "NllLoss": "nll_loss",
    "NllLoss2D": "nll_loss",
    "MseLoss": "mse_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "BinaryCrossEntropy": "binary_cross_entropy",
    "BinaryCrossEntropyWithLogits": "binary_cross_entropy_with_logits",
}
_MODULE_KINDS = {
    "cross_entropy": (nn.CrossEntropyLoss, nn.NLLLoss),
    "nll_loss": (nn.NLLLoss,),
    "mse_loss": (nn.MSELoss,),
    "smooth_l1_loss": (nn.SmoothL1Loss,),
    "huber_loss": (nn.HuberLoss,),
    "binary_cross_entropy": (nn.BCELoss,),
    "binary_cross_entropy_with_logits": (nn.BCEWithLogitsLoss,),
    "kl_div": (nn.KLDivLoss,),
    "l1_loss": (nn.L1Loss,),
}
# Losses whose graph does not contain what they were given. Their modules tell.
_BY_ARGUMENTS = ("kl_div", "l1_loss")
# Nodes that pass values on.
_PASSING = frozenset(
    "View UnsafeView ReshapeAlias Squeeze Unsqueeze Transpose Permute T ToCopy Clone Alias Slice "
    "Select Index Expand".split()
)
# Losses that a script computes itself, by the node above the difference of its operands. They are
# reported only where the difference pairs each prediction with all targets, and beside the
# divergence of a variational autoencoder.
_OF_DIFFERENCES = {"Pow": "squared_error", "Mul": "squared_error", "Abs": "absolute_error"}
# Nodes by which a script gives predictions the shape (N, 1), to pair them with all targets.
_PAIRING = frozenset("Unsqueeze View UnsafeView ReshapeAlias Transpose Permute T Expand".split())
_LINEAR = frozenset("Addmm Mm Linear Convolution Baddbmm Bmm".split())


class _Loss(LossSummary):
    """The inputs of a loss over the steps. `position`: among the backward passes of a step."""

    def __init__(self, kind: str, position: int, reduction: str, ignored_label: int | None) -> None:
        super().__init__(kind)
        self.position = position
        self.reduction = reduction
        self.ignored_label = ignored_label
        # Whether what is minimized is a sum, and the loss only one of its terms or factors.
        self.is_part: bool = False
        self.targets: TensorSummary | None = None

    def whole_reduction(self, reduction: str) -> str:
        """The reduction in what is minimized, given that of the loss: see LossFacts."""
        return "scaled_sum" if self.is_part and reduction == "sum" else reduction

    def add_targets(self, targets: torch.Tensor, step: int) -> None:
        """Adds the targets of a further step."""
        if self.targets is None:
            self.targets = TensorSummary()
        self.targets.add(targets, step, self.ignored_label)


@dataclass
class _Input(LossInput):
    """The input of one loss in one step, with its targets until they are summarized."""

    target: torch.Tensor | None = None
    classes: int = 0  # of a cross entropy; 0: unknown
    places: int = 0  # of sequences whose next tokens are the targets


class LossInputs:
    """The losses of one hook. No method raises."""

    def __init__(self) -> None:
        self.version: int = 0  # increases when `facts` returns something new
        self._losses: dict[tuple[int, str, int], _Loss] = {}
        self._step = -1
        self._steps = 0
        self._passes = 0  # of the step
        # Of the loss that was called last with probabilities as targets: (step, the share of rows
        # that do not sum to 1).
        self._rows_off: tuple[int, float] | None = None
        self._inputs = RememberedInputs()

    def is_wanted(self, step: int) -> bool:
        """Whether a further backward pass of this step is measured."""
        if step != self._step:
            return self._steps < MEASURED_STEPS
        return self._passes < _MOST_PASSES

    def note_model(self, arguments: Any, keywords: Mapping[str, Any], step: int) -> None:
        """Remembers the inputs of a call of a model, whose loss follows."""
        if self.is_wanted(step):
            self._inputs.remember(arguments, keywords, step)
        else:
            self._inputs.forget()

    def note_graph(self, loss: torch.Tensor, step: int) -> None:
        """Measures the losses in a graph that starts at `loss`, before its backward pass."""
        try:
            if not self._can_read(loss) or not self.is_wanted(step):
                return
            position = self._begin(step)
            self._passes += 1
            weights = divergence_weights(loss.grad_fn)
            for kind, number, node, log_softmax in _numbered_losses_in(loss):
                key = (position, kind, number)
                self._measure_node(key, node, log_softmax, weights.get(node))
                if node is not loss.grad_fn and key in self._losses:
                    self._losses[key].is_part = True
            self._add_reconstructions(position, weights)
        except Exception as error:  # a graph may have nodes of other libraries
            _logger.debug("what a loss is given is unknown: %r", error)

    def note_not_finite(self, loss: torch.Tensor, step: int) -> None:
        """Searches the targets in the graph of a loss that is not finite."""
        try:
            if not self._can_read(loss):
                return
            for kind, number, node, _ in _numbered_losses_in(loss):
                target = None if node is None else saved_tensor(node, "target")
                # The position among the passes of a step that is not measured is unknown.
                known = self._losses.get((0, kind, number))
                if known is None or known.targets is None or not is_plain(target):
                    continue
                if known.targets.note_not_finite(target, step):
                    self.version += 1
        except Exception as error:
            _logger.debug("the targets of a loss are unknown: %r", error)

    def note_call(self, module: nn.Module, arguments: Any, step: int) -> None:
        """Measures the arguments of a loss module whose graph does not contain them."""
        try:
            kind = _kind_of(module)
            if kind == "cross_entropy" and self.is_wanted(step):
                self._rows_off = _rows_off(step, *arguments[:2])
            if kind not in _BY_ARGUMENTS or len(arguments) < 2 or not self._can_read(arguments[0]):
                return
            if self.is_wanted(step):
                position = self._begin(step)
                self._measure_arguments((position, kind, 0), module, *arguments[:2])
        except Exception as error:
            _logger.debug("what a loss is given is unknown: %r", error)

    def facts(self, modules: Mapping[nn.Module, str], name: str) -> list[_core.LossFacts]:
        """The losses that were measured, under the names of their `modules` or after `name`, and
        the modules that were not."""
        unmeasured = dict(modules)
        facts = []
        for loss in self._losses.values():
            module = self._module_of(loss, unmeasured)
            if module is not None:
                facts.append(_module_facts(module, unmeasured.pop(module), loss))
                continue
            facts.append(
                _core.LossFacts(
                    _core.output_name(name, loss.position),
                    loss.kind,
                    reduction=loss.whole_reduction(loss.reduction),
                    ignored_label=loss.ignored_label,
                    input=loss.facts(loss.targets),
                )
            )
        return [*(_module_facts(*each) for each in unmeasured.items()), *facts]

    def _module_of(self, loss: _Loss, modules: Mapping[nn.Module, str]) -> nn.Module | None:
        """The module that is surely the loss: the only one of its kind."""
        of_kind = [each for each in modules if type(each) in _MODULE_KINDS.get(loss.kind, ())]
        rivals = [each for each in self._losses.values() if each.kind == loss.kind]
        return of_kind[0] if len(of_kind) == len(rivals) == 1 else None

    @staticmethod
    def _can_read(loss: Any) -> bool:
        """Whether the loss has a graph, and reading it has no effect."""
        return type(loss) is torch.Tensor and loss.grad_fn is not None and can_read(loss)

    def _begin(self, step: int) -> int:
        """Returns the position of the backward pass that follows in the step."""
        if step != self._step:
            self._step, self._passes = step, 0
            self._steps += 1
        return self._passes

    def _measure_node(
        self,
        key: tuple[int, str, int],
        node: Any,
        log_softmax: Any,
        divergence_weight: float | None,
    ) -> None:
        kind = key[1]
        measured = _of_node(kind, node, log_softmax)
        if measured is not None:
            measured.divergence_weight = divergence_weight
            reduction, label = _settings_of(node)
            label = label if kind in _WITH_LABELS else None
            if node is None and self._rows_off is not None and self._rows_off[0] == self._step:
                measured.outside = self._rows_off[1]
            if kind in _WITH_LABELS and measured.target is not None:
                self._compare_tokens(measured, label)
                weight = saved_tensor(node, "weight")
                if reduction == "none" or weight is not None:
                    measured.padding = None  # a mask or a weight of 0 may follow
                measured.class_weights = _class_weights(weight)
            known = self._losses.get(key)
            if known is None or known.steps < _GRAPH_STEPS:
                _measure_model(measured, _below(log_softmax or node))
            self._add(key, measured, reduction, label)

    def _add_reconstructions(self, position: int, weights: Mapping[Any, float]) -> None:
        """Adds the losses of differences that a script computes itself, and by how much the
        divergence beside each is too heavy."""
        for node, weight in weights.items():
            kind = _OF_DIFFERENCES.get(node_name(node))
            if kind is not None:
                measured = _Input(_result_shape(node, 0) or [], divergence_weight=weight)
                self._add((position, kind, 0), measured, "", None)

    def _compare_tokens(self, measured: _Input, label: int | None) -> None:
        """Compares the targets with the tokens that the model got."""
        tokens = self._inputs.compare_tokens(measured.target, label, measured.classes)
        measured.target_shift, measured.padding = tokens.shift, tokens.padding
        measured.ignored_tokens = tokens.ignored
        if tokens.shift == 1 and tokens.are_only:
            measured.places = tokens.places

    def _measure_arguments(
        self, key: tuple[int, str, int], module: Any, given: torch.Tensor, target: torch.Tensor
    ) -> None:
        if not is_plain(given) or not is_plain(target):
            return
        measured = _of_values(key[1], given, target, *_producer(given.grad_fn))
        measured.target_shape = list(target.shape)
        softmax = _computing(given.grad_fn)
        are_of_classes = given.shape == target.shape and _sum_to_one(_rows_of_classes(target))
        if key[1] == "kl_div" and node_name(softmax) == "LogSoftmax" and are_of_classes:
            measured.values = _normalized_otherwise(given, softmax) or measured.values
        self._add(key, measured, module.reduction, None)

    def _add(
        self, key: tuple[int, str, int], measured: _Input, reduction: str, label: int | None
    ) -> None:
        loss = self._losses.get(key)
        if loss is None:
            if len(self._losses) == _MOST_LOSSES:
                return
            loss = self._losses[key] = _Loss(key[1], key[0], reduction, label)
        if measured.target is not None:
            measured.revealing = self._inputs.revealing(measured.target)
            loss.add_targets(measured.target, self._step)
            measured.target = None
        loss.add(measured)
        if loss.steps in REPORTED_AFTER:
            self.version += 1


_WITH_LABELS = ("cross_entropy", "nll_loss")
_REDUCTIONS = ("none", "mean", "sum")


def _settings_of(node: Any) -> tuple[str, int | None]:
    reduction = getattr(node, "_saved_reduction", None)
    label = getattr(node, "_saved_ignore_index", None)
    if isinstance(label, int):
        label = signed(label)
    is_known = isinstance(reduction, int) and 0 <= reduction < len(_REDUCTIONS)
    return _REDUCTIONS[reduction] if is_known else "", label


def _kind_of(module: nn.Module) -> str:
    for kind, classes in _MODULE_KINDS.items():
        if type(module) in classes:
            return kind
    return ""


def _module_facts(module: nn.Module, path: str, loss: _Loss | None = None) -> _core.LossFacts:
    reduction = getattr(module, "reduction", "")
    reduction = reduction if isinstance(reduction, str) else ""
    ignored = getattr(module, "ignore_index", None)
    return _core.LossFacts(
        _core.output_name(path, 0),
        encodable(type(module).__name__),
        reduction=reduction if loss is None else loss.whole_reduction(reduction),
        ignored_label=ignored if isinstance(ignored, int) else None,
        input=None if loss is None else loss.facts(loss.targets),
        margin=module.margin if type(module) is nn.TripletMarginLoss else None,
    )


def _rows_off(step: int, given: Any = None, target: Any = None) -> tuple[int, float] | None:
    """(the step, the share of rows of probabilities that do not sum to 1); None for labels."""
    if not (is_plain(given) and is_plain(target) and can_read(target)):
        return None
    if given.shape != target.shape or not target.is_floating_point():
        return None
    return (step, _share_off_one(target)) if target.numel() else None


def _share_off_one(target: torch.Tensor) -> float:
    """The share of the rows of classes that do not sum to 1."""
    with torch.no_grad():
        sums = _rows_of_classes(target).sum(1)
        return ((sums - 1).abs() > ROUNDING).float().mean().item()


# --- the graph ---


def _below(node: Any) -> Any:
    """The node that computed the first operand; None if there is none."""
    functions = node.next_functions
    return functions[0][0] if functions else None


def _producer(node: Any) -> tuple[str, bool]:
    """(what computed a tensor, whether its elements are the computed ones: neither expanded nor
    rounded)."""
    is_whole = True
    while node_name(node) in _PASSING:
        is_whole &= node_name(node) not in ("Expand", "ToCopy")
        node = _below(node)
    name = node_name(node)
    if name in _LINEAR:
        return "Linear", is_whole
    return ("" if "::" in name else name), is_whole


def _computing(node: Any) -> Any:
    """The node that computed the elements that `node` passes on."""
    while node_name(node) in _PASSING:
        node = _below(node)
    return node


def _log_softmax_of(node: Any) -> Any:
    """The log-softmax of which the node received elements, or None."""
    node = _computing(_below(node))
    return node if node_name(node) == "LogSoftmax" else None


def _softmax_of_log(node: Any) -> Any:
    """The softmax of whose elements a script has computed the logarithm, or None."""
    log = _computing(node)
    softmax = _computing(_below(log)) if node_name(log) == "Log" else None
    return softmax if node_name(softmax) == "Softmax" else None


def _losses_in(start: Any) -> list[tuple[str, Any, Any]]:
    """(kind, node, its log-softmax or None) of the losses next to the start of a graph. A
    log-softmax that is multiplied by probabilities is a cross entropy without a node."""
    found: list[tuple[str, Any, Any]] = []
    multiplied = []
    seen = {start}
    waiting = deque([(start, "")])
    while waiting:
        node, parent = waiting.popleft()
        name = node_name(node)
        kind = _KINDS.get(name)
        if kind == "nll_loss":
            log_softmax = _log_softmax_of(node)
            found.append(("cross_entropy" if log_softmax else kind, node, log_softmax))
        elif kind is not None:
            found.append((kind, node, None))
        elif name == "LogSoftmax" and parent == "Mul":
            multiplied.append(node)
        elif name in _OF_DIFFERENCES and _paired_shapes(_operand(node)) is not None:
            found.append((_OF_DIFFERENCES[name], _operand(node), None))
        else:
            for below, _ in node.next_functions:
                if below is not None and below not in seen and len(seen) < _MOST_NODES:
                    seen.add(below)
                    waiting.append((below, name))
    known = [log_softmax for _, _, log_softmax in found]
    return found + [("cross_entropy", None, node) for node in multiplied if node not in known]


def _operand(node: Any) -> Any:
    """The node that computed the only operand; of a product, that of both."""
    operands = {each for each, _ in node.next_functions}
    return operands.pop() if len(operands) == 1 else None


def _paired_shapes(difference: Any) -> tuple[list[int], list[int]] | None:
    """The shapes of predictions and targets, if a node subtracts them and broadcasting pairs each
    with all others. None where a script may want the pairs."""
    if node_name(difference) not in ("Sub", "Rsub"):
        return None
    operands = [each for each in difference.next_functions if each[0] is not None]
    if len(operands) != 1:  # targets have no gradient
        return None
    below, number = operands[0]
    shape, result = _result_shape(below, number), _result_shape(difference, 0)
    if shape is None or result is None or len(result) != 2 or len(set(result)) != 1:
        return None
    rows = result[0]
    if rows > 1 and shape == [rows, 1] and node_name(below) not in _PAIRING:
        return shape, [rows]
    if rows > 1 and shape == [rows] and _producer(below)[0]:
        return shape, [rows, 1]
    return None


def _result_shape(node: Any, number: int) -> list[int] | None:
    """The shape of a result of a node; None if torch does not tell."""
    results = getattr(node, "_input_metadata", ())
    return [int(size) for size in results[number].shape] if number < len(results) else None


def _numbered_losses_in(loss: torch.Tensor) -> list[tuple[str, int, Any, Any]]:
    """(kind, number among those of the kind, node, log-softmax) of the losses."""
    counts: dict[str, int] = {}
    numbered = []
    for kind, node, log_softmax in _losses_in(loss.grad_fn):
        number = counts[kind] = counts.get(kind, -1) + 1
        numbered.append((kind, number, node, log_softmax))
    return numbered


# --- the values ---


def _of_node(kind: str, node: Any, log_softmax: Any) -> _Input | None:
    if log_softmax is not None:
        return _of_cross_entropy(node, log_softmax)
    if kind in _OF_DIFFERENCES.values():
        shapes = _paired_shapes(node)
        return None if shapes is None else _Input(shapes[0], shapes[1])
    if _below(node) is None:  # the first operand is not what is trained
        return None
    given, target = saved_tensor(node, "self"), saved_tensor(node, "target")
    if given is None or target is None or not is_plain(given) or not is_plain(target):
        return None
    measured = _of_values(kind, given, target, *_producer(_below(node)))
    if kind == "nll_loss":
        measured.ignored = _ignored(node, target)
        softmax = _softmax_of_log(_below(node))
        values = "" if softmax is None else _normalized_otherwise(given, softmax)
        if values:
            measured.values = values
            measured.shape = list(saved_tensor(softmax, "result").shape)
    elif kind in ELEMENTWISE:
        measured.shape, measured.target_shape = _shapes(node, given, target)
    return measured


def _of_cross_entropy(node: Any, log_softmax: Any) -> _Input | None:
    result = saved_tensor(log_softmax, "result")
    if result is None or not is_plain(result):
        return None
    dim = signed(log_softmax._saved_dim) % max(result.dim(), 1)
    activation, is_whole = _producer(_below(log_softmax))
    measured = _Input(list(result.shape), activation=activation, classes=result.shape[dim])
    measured.mixes_places = _mixes_places(_below(log_softmax), result, dim)
    rows = _rows(result, dim)
    if activation in ("LogSoftmax", "Log"):
        measured.values = "log_probabilities"
    elif activation == "Softmax" and _were_probabilities(rows):
        measured.values = "probabilities"
    if node is None:
        return measured
    given, target = saved_tensor(node, "self"), saved_tensor(node, "target")
    if is_plain(given):
        measured.values = _normalized_otherwise(given, log_softmax) or measured.values
        rows = _rows_of_classes(given)
    if is_plain(target):
        measured.ignored = _ignored(node, target)
        measured.target = target.detach()
        labels = target.detach().reshape(-1)[: len(rows)]
        measured.are_outputs_equal = is_whole and _are_equal(rows, labels.unsqueeze(1))
    return measured


def _measure_model(measured: _Input, start: Any) -> None:
    """Adds what the graph of the model shows that computed the input of a loss at `start`."""
    if start is None:
        return
    graph = model_graph(start, measured.places, measured.shape[0] if measured.shape else 0)
    measured.linear_layers = graph.linear_layers or 0
    measured.sees_later = graph.sees_later
    measured.has_softmax_of_one = graph.has_softmax_of_one
    measured.has_softmax_of_batch = graph.has_softmax_of_batch


def _mixes_places(node: Any, scores: torch.Tensor, dim: int) -> bool:
    """Whether rows of scores are a view of (samples, classes, places...): each row then has scores
    of one class at several places."""
    if node_name(node) not in ("View", "UnsafeView", "ReshapeAlias") or scores.dim() != 2:
        return False
    shape, classes = list(node._saved_self_sym_sizes), scores.shape[1]
    if dim != 1 or len(shape) < 3 or shape[1] != classes or shape[-1] == classes:
        return False
    if math.prod(shape[2:]) == 1:
        return False
    # Of three dimensions, the second may have the number of classes by chance.
    return len(shape) > 3 or shape[-1] % classes != 0


def _class_weights(weight: Any) -> np.ndarray | None:
    """The weights of the classes; None if the loss has none."""
    if not is_plain(weight) or weight.dim() != 1 or weight.numel() > MOST_ELEMENTS:
        return None
    return np.array(weight.tolist())


def _normalized_otherwise(given: torch.Tensor, softmax: Any) -> str:
    """The kind of values that a loss gets from a softmax or log-softmax over another dimension
    than that of its classes; "" if they sum to 1 over the classes, or if a script may have selected
    some of the classes: then no dimension has their number."""
    result = saved_tensor(softmax, "result")
    rows = _rows_of_classes(given)
    if not is_plain(result) or rows.shape[1] not in result.shape or _sum_to_one(rows.exp()):
        return ""
    is_of_batch = result.dim() > 1 and signed(softmax._saved_dim) in (0, -result.dim())
    return "log_probabilities_of_batch" if is_of_batch else "log_probabilities_of_others"


def _sum_to_one(rows: torch.Tensor) -> bool:
    """Whether all rows of probabilities sum to 1, as far as half precision can tell."""
    return not rows.numel() or (rows.sum(1) - 1).abs().max().item() <= ROUNDING


def _of_values(
    kind: str, given: torch.Tensor, target: torch.Tensor, activation: str, is_whole: bool
) -> _Input:
    measured = _Input(list(given.shape), activation=activation, target=target.detach())
    if kind == "nll_loss":
        rows = _rows_of_classes(given)
        labels = target.detach().reshape(-1)[: len(rows)].unsqueeze(1)
        measured.values = "probabilities" if activation == "Softmax" else _kind_of_rows(rows)
    else:
        rows, labels = _samples(given), _samples(target)
        measured.values = _kind_of_elements(kind, rows, activation)
        if kind in ELEMENTWISE or kind in BINARY:
            low, high = _range(labels)
            measured.target_range = low, high
            bounds = RANGES["Sigmoid"] if kind in BINARY else RANGES.get(activation)
            if bounds is not None:
                measured.outside = _share_outside(labels, bounds)
        is_of_rows = given.dim() > 1 and given.shape[1] > 1 and given.shape == target.shape
        if kind == BINARY_OF_PROBABILITIES and is_of_rows and _sum_to_one(_rows_of_classes(given)):
            measured.values = DISTRIBUTIONS
            measured.outside = max(measured.outside or 0.0, _share_off_one(target))
    measured.are_outputs_equal = is_whole and _are_equal(rows, labels)
    return measured


def _rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Some of the rows along `dim`: (row, element)."""
    tensor = tensor.detach()
    if tensor.dim() == 0:
        return tensor.reshape(1, 1)
    width = tensor.shape[dim]
    for outer in range(tensor.dim()):
        if outer != dim and tensor.numel() > MOST_ELEMENTS:
            rest = max(1, tensor.numel() // max(1, tensor.shape[outer]))
            least = min(tensor.shape[outer], 2)
            tensor = tensor.narrow(outer, 0, max(least, MOST_ELEMENTS // rest))
    return tensor.movedim(dim, -1).reshape(-1, width).float()


def _rows_of_classes(given: torch.Tensor) -> torch.Tensor:
    """Some of the rows of a negative log-likelihood."""
    return _rows(given, 1 if given.dim() > 1 else 0)


def _samples(tensor: torch.Tensor) -> torch.Tensor:
    """Some of the samples along the first dimension: (sample, element)."""
    tensor = tensor.detach()
    if tensor.dim() == 0:
        return tensor.reshape(1, 1).float()
    width = max(1, tensor.numel() // max(1, len(tensor)))
    tensor = tensor[: max(2, MOST_ELEMENTS // width)].reshape(-1, width)
    return tensor[:, :MOST_ELEMENTS].float()


def _kind_of_rows(rows: torch.Tensor) -> str:
    """The kind of the rows, if all have the same: probabilities, their logarithms, or scores."""
    if not rows.numel():
        return ""
    total, least, most, logs = torch.stack(
        [
            (rows.sum(1) - 1).abs().max(),
            rows.min(),
            rows.max(),
            rows.logsumexp(1).abs().max(),
        ]
    ).tolist()
    if logs <= 1e-2:
        return "log_probabilities"
    if total <= 1e-2 and least >= 0 and most <= 1.0001:
        return "probabilities"
    return "scores" if most > 1e-2 else ""


def _kind_of_elements(kind: str, rows: torch.Tensor, activation: str) -> str:
    if not rows.numel() or kind in ELEMENTWISE:
        return ""
    low, high = _range(rows)
    if kind in BINARY and 0 <= low and high <= 1:
        return "probabilities"
    if kind == "kl_div":
        if activation == "Softmax" and low >= 0:
            return "probabilities"
        if activation in ("LogSoftmax", "Log"):
            return "log_probabilities"
    return "scores" if low < 0 < high or high > 1 else ""


def _were_probabilities(rows: torch.Tensor) -> bool:
    """Whether a log-softmax got probabilities. It has subtracted one number from each row, which
    follows from their sum of 1."""
    low, high = _range(rows + (1 - rows.sum(1, keepdim=True)) / max(1, rows.shape[1]))
    return -1e-2 <= low and high <= 1.01


def _range(rows: torch.Tensor) -> tuple[float, float]:
    if not rows.numel():
        return 0.0, 0.0
    low, high = torch.stack(torch.aminmax(rows.detach())).tolist()
    return low, high


def _share_outside(targets: torch.Tensor, bounds: tuple[float, float]) -> float:
    low, high = bounds
    outside = (targets < low - 1e-6) | (targets > high + 1e-6)
    return outside.float().mean().item() if targets.numel() else 0.0


def _ignored(node: Any, target: torch.Tensor) -> float | None:
    _, label = _settings_of(node)
    if label is None or not target.numel() or target.numel() > 64 * MOST_ELEMENTS:
        return None
    return (target.detach() == label).float().mean().item()


def _are_equal(rows: torch.Tensor, targets: torch.Tensor) -> bool:
    """Whether samples with different targets have the same output. A layer that starts at zero
    gives equal outputs until its first update: equal numbers within a row do not count."""
    if len(rows) < 2 or len(rows) != len(targets) or not rows.numel():
        return False
    spread, largest, within, differing = torch.stack(
        [
            (rows - rows[0]).abs().max(),
            rows.abs().max(),
            rows[0].max() - rows[0].min(),
            (targets != targets[0]).any().float(),
        ]
    ).tolist()
    has_pattern = largest > 0 if rows.shape[1] == 1 else within > 0
    return bool(differing) and has_pattern and spread <= 1e-6 * largest


def _shapes(
    node: Any, given: torch.Tensor, target: torch.Tensor
) -> tuple[list[int], list[int] | None]:
    """The shapes of input and target before the loss has broadcast them. None: unknown."""
    shape = list(given.shape)
    below = _below(node)
    is_target_expanded = any(
        stride == 0 and size > 1 for size, stride in zip(shape, target.stride(), strict=True)
    )
    if node_name(below) != "Expand":
        return shape, None if is_target_expanded else shape
    own = list(below._saved_self_sym_sizes)
    if own == shape or not is_target_expanded or node_name(_below(below)) == "Unsqueeze":
        return shape, None  # not by the loss, or on purpose
    base = target._base
    sizes = [
        1 if stride == 0 else size for size, stride in zip(shape, target.stride(), strict=True)
    ]
    while base is not None and len(sizes) > base.dim() and sizes[0] == 1:
        sizes.pop(0)
    return own, sizes
