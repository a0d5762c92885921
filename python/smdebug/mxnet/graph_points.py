"""Where the tensors of blocks are in a graph: the outputs of its operators, by name and order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mxnet.symbol import Symbol

if TYPE_CHECKING:
    import numpy as np

    from smdebug.mxnet.block_hooks import WatchedBlock

# An operator's unnamed outputs are "x_output" or "x_output1" in a graph, and "x_0" or "x_1" in an
# op hook.
_NUMBERED = re.compile(r"_output(\d*)$")


class GraphPoint(NamedTuple):
    """One output of an operator: its name in the graph, and its index among those of that name."""

    name: str
    occurrence: int


class Call(NamedTuple):
    """One call of a block inside of a graph.

    Inputs and outputs are symbols while the graph is built, and GraphPoints afterwards: None for a
    tensor that cannot be distinguished from another one of the same name.
    """

    watched: WatchedBlock
    inputs: list[Any]
    outputs: list[Any]


def op_hook_names(names: Collection[str]) -> dict[str, str]:
    """Returns the names of a graph's outputs by the names that an op hook may give them."""
    numbered = {_NUMBERED.sub(lambda match: f"_{match[1] or 0}", name): name for name in names}
    return numbered | {name: name for name in names}


def with_points(calls: list[Call], graph: Symbol) -> list[Call]:
    """Returns the calls with GraphPoints in place of their symbols, which are nodes of `graph`.

    A block that is called twice gives its operators the same names twice. Operators run in the
    order of the graph, each after those that it depends on: one that depends on n others of its
    name has index n, unless another one depends on as many.
    """
    nodes = graph.get_internals()
    names = Counter(nodes.list_outputs())
    depths: defaultdict[str, list[int]] = defaultdict(list)  # of names that several operators have
    for number, name in enumerate(nodes.list_outputs()):
        if names[name] > 1:
            depths[name].append(_depth(nodes[number], name))

    def points(symbols: list[Symbol]) -> Iterator[GraphPoint | None]:
        for symbol in symbols:
            for name in symbol.list_outputs():
                if name not in depths:
                    yield GraphPoint(name, 0)
                elif len(set(depths[name])) < len(depths[name]):
                    yield None
                else:
                    yield GraphPoint(name, _depth(symbol, name))

    return [
        Call(call.watched, list(points(call.inputs)), list(points(call.outputs))) for call in calls
    ]


def _depth(symbol: Symbol, name: str) -> int:
    """Returns how many other outputs of that name the symbol depends on."""
    return symbol.get_internals().list_outputs().count(name) - 1


def value_at(arrays: Mapping[str, list[np.ndarray]], point: GraphPoint | None) -> np.ndarray | None:
    """Returns the array of a point, or None if it is not among `arrays`, lists by name."""
    values = arrays.get(point.name, []) if point else []
    return values[point.occurrence] if point and point.occurrence < len(values) else None
