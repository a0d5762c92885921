"""`model_graph`: the structure of a model, as its graph shows it.

It is read from the input of a loss on, and never changed. See `LossInputFacts` in
include/smdebug/core/run_facts.h.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from smdebug.pytorch.plain_tensors import is_plain
from smdebug.pytorch.private_names import node_name, saved_tensor, signed

_MOST_NODES = 1000
# Operations that are linear in their operands.
_LINEAR = frozenset(
    "View UnsafeView ReshapeAlias Squeeze Unsqueeze Transpose Permute T ToCopy Clone Alias Slice "
    "Select Index Expand Repeat Neg Sum Mean Add Sub Rsub Cat Stack Split SplitWithSizes Unbind "
    "AvgPool1D AvgPool2D AvgPool3D AdaptiveAvgPool2D AdaptiveAvgPool3D ConstantPadNd "
    "NativeBatchNorm CudnnBatchNorm NativeDropout Embedding EmbeddingBag "
    "torch::autograd::AccumulateGrad".split()
)
# Those that are linear if only one operand depends on the input of the model.
_PRODUCTS = frozenset("Mul Div Addmm Mm Bmm Baddbmm Linear Convolution".split())
_LAYERS = frozenset("Addmm Mm Linear Convolution".split())
_MATRIX_PRODUCTS = frozenset("Addmm Mm".split())
_SOFTMAXES = ("Softmax", "SafeSoftmax")
_FUSED_ATTENTION = "ScaledDotProduct"
# Nodes between a weight and the product.
_OF_WEIGHTS = frozenset("T Transpose View ReshapeAlias ToCopy Clone".split())


@dataclass
class ModelGraph:
    """The structure that was found from the input of a loss on, in at most 1000 operations.

    `linear_layers` counts the layers that follow each other without an activation, if the model has
    none at all and no layer in between has fewer units than its inputs and outputs; else None.
    `sees_later`: whether all attentions over the places of a sequence use later places; None if
    there is no such attention. `has_softmax_of_one`: whether a softmax is computed over a dimension
    of size 1, of scores that a layer has computed. `has_softmax_of_batch`: whether one of three
    dimensions or more is computed over the first, whose size is the number of samples.
    """

    linear_layers: int | None = None
    sees_later: bool | None = None
    has_softmax_of_one: bool = False
    has_softmax_of_batch: bool = False


@dataclass
class _Search:
    """`chains` are the shapes (outputs, inputs) of the layers on a path to the loss, the last layer
    of the model first."""

    places: int
    samples: int
    is_linear: bool = True
    longest: tuple[tuple[int, int], ...] = ()
    are_causal: list[bool] = field(default_factory=list)
    has_softmax_of_one: bool = False
    has_softmax_of_batch: bool = False


def model_graph(start: Any, places: int, samples: int) -> ModelGraph:
    """Searches the graph below `start`, the node that computed the input of a loss. `places` is the
    length of the sequences, 0 for none, and `samples` the number of rows of the input."""
    search = _Search(places, samples)
    chains: dict[Any, tuple[tuple[int, int], ...]] = {start: ()}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        chain = _visited(search, node, chains[node])
        for below, _ in node.next_functions:
            if below is None or below in chains:
                continue
            if len(chains) == _MOST_NODES:
                search.is_linear = False  # unknown
                break
            chains[below] = chain
            waiting.append(below)
    return ModelGraph(
        linear_layers=_needless_layers(search),
        sees_later=not any(search.are_causal) if search.are_causal else None,
        has_softmax_of_one=search.has_softmax_of_one,
        has_softmax_of_batch=search.has_softmax_of_batch,
    )


def _visited(
    search: _Search, node: Any, chain: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Adds what a node shows; returns the chain of the nodes below it."""
    name = node_name(node)
    if name in _PRODUCTS:
        operands = [below for below, _ in node.next_functions if below is not None]
        search.is_linear &= sum(_weight_of(each) is None for each in operands) <= 1
        search.is_linear &= name != "Div" or node.next_functions[1][0] is None
        shape = _layer_shape(node, operands) if name in _LAYERS else None
        if shape is not None:
            chain = (*chain, shape)
            search.longest = max(search.longest, chain, key=len)
    elif name not in _LINEAR:
        search.is_linear = False
        if name in _SOFTMAXES:
            _add_softmax(search, node)
        elif name.startswith(_FUSED_ATTENTION):
            _add_fused_attention(search, node)
    return chain


def _weight_of(node: Any) -> tuple[torch.Tensor, bool] | None:
    """(the weight that an operand is, whether it is transposed); None if it is none."""
    is_transposed = False
    while node_name(node) in _OF_WEIGHTS and len(node.next_functions) == 1:
        is_transposed ^= node_name(node) in ("T", "Transpose")
        node = node.next_functions[0][0]
    variable = getattr(node, "variable", None)
    return None if variable is None else (variable, is_transposed)


def _layer_shape(node: Any, operands: list[Any]) -> tuple[int, int] | None:
    """The numbers of outputs and inputs of a layer; None if its weight is unknown."""
    for operand in operands:
        weight, is_transposed = _weight_of(operand) or (None, False)
        if weight is None or weight.dim() < 2:
            continue
        first, second = int(weight.shape[0]), int(weight.shape[1])
        has_inputs_first = node_name(node) in _MATRIX_PRODUCTS and not is_transposed
        return (second, first) if has_inputs_first else (first, second)
    return None


def _needless_layers(search: _Search) -> int | None:
    """The length of the longest chain, if one layer can do the same."""
    chain = search.longest
    if not search.is_linear or len(chain) < 2:
        return None
    narrowest = min(outputs for outputs, _ in chain[1:])
    return len(chain) if narrowest >= min(chain[0][0], chain[-1][1]) else None


def _add_softmax(search: _Search, node: Any) -> None:
    result = saved_tensor(node, "result")
    if not is_plain(result) or result.dim() < 2:
        return
    dim = signed(node._saved_dim)
    below = node.next_functions[0][0]
    if result.shape[dim] == 1 and result.dim() > 2:
        while node_name(below) in ("View", "UnsafeView", "ReshapeAlias"):
            below = below.next_functions[0][0]
        search.has_softmax_of_one |= node_name(below) in _LAYERS
    # A graph's nodes are its samples: attention between all of them has a square of places.
    if result.dim() > 2 and dim % result.dim() == 0 and result.shape[0] != result.shape[1]:
        search.has_softmax_of_batch |= 1 < search.samples == result.shape[0]
    if search.places and tuple(result.shape[-2:]) == (search.places, search.places):
        weights = result.detach().reshape(-1, search.places, search.places)[0]
        search.are_causal.append(not bool(weights.triu(1).any()))


def _add_fused_attention(search: _Search, node: Any) -> None:
    query, key = saved_tensor(node, "query"), saved_tensor(node, "key")
    if not search.places or not is_plain(query) or not is_plain(key):
        return
    if query.shape[-2] != search.places or key.shape[-2] != search.places:
        return
    if getattr(node, "_saved_is_causal", None):
        search.are_causal.append(True)
        return
    mask = saved_tensor(node, "attn_mask")
    mask = saved_tensor(node, "attn_bias") if mask is None else mask
    if mask is None:
        search.are_causal.append(False)
    elif is_plain(mask) and tuple(mask.shape[-2:]) == (search.places, search.places):
        later = mask.detach().reshape(-1, search.places, search.places)[0].triu(1)
        hidden = torch.ones_like(later, dtype=torch.bool).triu(1)
        search.are_causal.append(bool((later[hidden] < -1e4).all()))
