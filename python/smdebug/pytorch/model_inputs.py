"""Measures the inputs of models, in the first saved steps that train and in those that evaluate.

Measured are tensors in plain memory that are positional arguments of a model. Where the loss is on
the CPU and not finite for the first time, the inputs of that step are searched for NaN and
infinity. See `DataFacts` in include/smdebug/core/run_facts.h.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.loss_summary import EVALUATIONS_REPORTED_AFTER, MEASURED_STEPS
from smdebug.pytorch.data_summary import TensorSummary
from smdebug.pytorch.plain_tensors import can_read, is_plain
from smdebug.pytorch.shards import class_name

if TYPE_CHECKING:
    from smdebug.pytorch.roots import Root

_logger = get_logger()

_REPORTED_AFTER = (5, MEASURED_STEPS)
_MOST_INPUTS = 4  # of all models


class _Summaries:
    """The inputs in the first steps of one kind."""

    def __init__(self, reported_after: tuple[int, ...]) -> None:
        self._reported_after = reported_after
        self._of: dict[str, tuple[str, TensorSummary]] = {}  # tensor -> (first layer, summary)
        self._step = -1
        self._steps = 0

    def wants(self, step: int) -> bool:
        """Whether a call in this step is measured: the first of a step, in the first steps."""
        return step != self._step and self._steps < MEASURED_STEPS

    def add(self, root: Root, arguments: Any, step: int) -> bool:
        """Measures the inputs of a call. Returns whether they are worth a report."""
        self._step = step
        self._steps += 1
        for number, tensor in _tensors_of(arguments):
            if can_read(tensor):
                summary = self.summary_of(root, number)
                if summary is not None:
                    summary.add(tensor, step)
        return self._steps in self._reported_after

    def summary_of(self, root: Root, number: int) -> TensorSummary | None:
        name = _core.input_name(root.name, number)
        if name not in self._of:
            if len(self._of) == _MOST_INPUTS:
                return None
            self._of[name] = (_first_layer_of(root.module), TensorSummary())
        return self._of[name][1]

    def facts(self) -> list[_core.DataFacts]:
        return [summary.facts(name, layer) for name, (layer, summary) in self._of.items()]


class ModelInputs:
    """The inputs of the models of one hook. No method raises."""

    def __init__(self) -> None:
        self.version: int = 0  # increases when `facts` returns something new
        self._training = _Summaries(_REPORTED_AFTER)
        self._evaluation = _Summaries(EVALUATIONS_REPORTED_AFTER)
        # The inputs of the last call: (tensor's name, first layer, reference).
        self._last: list[tuple[Root, int, weakref.ref[torch.Tensor]]] = []

    def note_call(self, root: Root, arguments: Any, step: int) -> None:
        """Measures the inputs of a call in a saved step. A further call in a step does not
        count."""
        try:
            summaries = self._summaries_for(root)
            if summaries is not None and summaries.wants(step):
                self.version += summaries.add(root, arguments, step)
        except Exception as error:  # a tensor of another library
            _logger.debug("the inputs of a model are unknown: %r", error)

    def remember(self, root: Root, arguments: Any) -> None:
        """Remembers the inputs of a call, without keeping them alive."""
        self._last = [
            (root, number, weakref.ref(tensor)) for number, tensor in _tensors_of(arguments)
        ]

    def note_not_finite(self, step: int) -> None:
        """Searches the remembered inputs after a loss that is not finite."""
        try:
            for root, number, reference in self._last:
                tensor = reference()
                if tensor is None or not can_read(tensor):
                    continue
                summary = self._training.summary_of(root, number)
                if summary is not None and summary.note_not_finite(tensor, step):
                    self.version += 1
        except Exception as error:
            _logger.debug("the inputs of a model are unknown: %r", error)

    def facts(self) -> list[_core.DataFacts]:
        """The inputs so far of steps that train."""
        return self._training.facts()

    def evaluation_facts(self) -> list[_core.DataFacts]:
        """The inputs so far of steps that evaluate."""
        return self._evaluation.facts()

    def _summaries_for(self, root: Root) -> _Summaries | None:
        if not root.module.training:
            return self._evaluation
        return self._training if torch.is_grad_enabled() else None


def _tensors_of(arguments: Any) -> list[tuple[int, torch.Tensor]]:
    """The tensors before the first container, numbered as the run names them."""
    tensors = []
    for argument in arguments:
        if isinstance(argument, (list, tuple, dict)):
            break
        if is_plain(argument):
            tensors.append((len(tensors), argument))
        elif isinstance(argument, torch.Tensor):
            break
    return tensors


def _first_layer_of(root: nn.Module) -> str:
    """The kind of the first module without submodules."""
    layers = (each for each in root.modules() if next(each.children(), None) is None)
    first = next(layers, None)
    return "" if first is None else encodable(class_name(first))
