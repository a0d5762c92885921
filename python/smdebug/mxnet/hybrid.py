"""The insides of hybridized blocks.

A hybridized block runs as one graph: the hooks of the blocks inside are called once, with symbols,
while the graph is made. They tell then which output of an operator is whose input and output. In
steps that save any of these, a second graph runs that hands over what its operators give
(`register_op_hook`); the others run the graph that MXNet would run anyhow.
"""

import collections
import ctypes
import re

from mxnet.base import NDArrayHandle
from mxnet.ndarray import NDArray

from smdebug.log import get_logger
from smdebug.mxnet import private_names
from smdebug.mxnet.arrays import arrays_in, host_copy, symbols_in

logger = get_logger()

# Which output of which operator: its name in the graph, and the how manieth of that name.
Place = collections.namedtuple("Place", "name occurrence")
# Inputs and outputs are symbols while the graph is made; then they are places, None for what cannot
# be told from another one of the same name.
Call = collections.namedtuple("Call", "watched inputs outputs")

# Outputs to which an operator gives no names are "x_output" or "x_output1" in a graph, and "x_0" or
# "x_1" in an op hook.
_NUMBERED = re.compile(r"_output(\d*)$")


def _number(match):
    return f"_{match[1] or 0}"


class Graphs:
    """The graphs of one hook's blocks. `watched` are its WatchedBlocks by block."""

    def __init__(self, gate, watched, unharmed):
        self._gate = gate
        self._watched = watched
        self._unharmed = unharmed
        self._taps = {}  # block -> its GraphTap
        self._running = None  # the block whose graph is made or runs

    def is_tapped(self, block):
        return block in self._taps

    def follow_plan(self):
        for tap in self._taps.values():
            tap.find_wanted()

    def enter(self, block):
        """`block` is about to be called with data."""
        self._running = None
        if not private_names.is_graph(block):
            return
        tap = self._taps.get(block)
        if tap is None:
            tap = GraphTap(block, self._watched, self._unharmed)
            if not tap.is_wanted:
                return
            self._taps[block] = tap
        self._running = block
        tap.prepare(self._gate.is_open)

    def trace(self, watched, arguments, output):
        """A block inside was called while the graph is made."""
        if self._running is not None:
            with self._unharmed("while a graph was made"):
                self._taps[self._running].trace(watched, arguments, output)

    def leave(self, block, arguments):
        """`block` was called with `arguments`."""
        if self._running is block:
            self._running = None
            self._taps[block].finish(arguments)

    def close(self):
        for tap in self._taps.values():
            tap.remove()
        self._taps = {}


class GraphTap:
    """One hybridized block that is called with data."""

    def __init__(self, block, watched, unharmed):
        self._block = block
        self._watched = watched
        self._unharmed = unharmed
        self._current = None  # the graph of the last call, and the one for steps of the other kind
        self._other = None
        self._is_on = False
        self._calls = []
        self._is_traced = False  # whether the calls have places
        self._needed = None  # what an op hook calls an output -> its name in the graph
        self._arrays = None  # name -> values of one call
        self._failure = None
        self._has_told = False
        self.find_wanted()

    def find_wanted(self):
        """Asks the plan whether anything inside may be saved."""
        inside = set()
        self._block.apply(inside.add)
        inside.discard(self._block)
        self._wanted = {
            watched
            for block, watched in self._watched.items()
            if block in inside and watched.can_match()
        }

    @property
    def is_wanted(self):
        return bool(self._wanted)

    def prepare(self, is_saved_step):
        """Has the right graph run: the watched one in a saved step."""
        block = self._block
        wants = is_saved_step and self.is_wanted and not self._is_taken()
        op = private_names.cached_op(block)
        if op is None or op is not self._current:
            if op is not None:  # made before anybody looked
                private_names.forget_graph(block)
            self._other, self._is_on = None, wants
            self._calls, self._is_traced = [], False
        elif wants != self._is_on:
            private_names.set_cached_op(block, self._other)
            self._other, self._is_on = op, wants
        self._needed = None
        if wants:
            self._arrays = collections.defaultdict(list)
            block.register_op_hook(self._on_operator)
        elif self._is_ours():
            block.register_op_hook(None)

    def trace(self, watched, arguments, output):
        call = Call(watched, list(symbols_in(arguments)), list(symbols_in(output)))
        if not self._is_traced:
            self._calls.append(call)

    def finish(self, arguments):
        """Saves what the call has shown, block by block as they were called."""
        self._current = private_names.cached_op(self._block)
        arrays, self._arrays = self._arrays, None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._end_trace()
        if arrays is None:
            return
        for name, array in zip(
            private_names.graph_inputs(self._block), arrays_in(arguments), strict=False
        ):
            arrays[name] = [array]
        unseen = []
        for watched, inputs, outputs in self._calls:
            if watched not in self._wanted:
                continue
            values = [_value(arrays, place) for place in inputs]
            watched.capture_inputs(values)
            results = [_value(arrays, place) for place in outputs]
            watched.capture_outputs(results)
            if any(value is None for value in (*values, *results)):
                unseen.append(watched.name)
        self._tell(unseen)

    def remove(self):
        if self._is_ours():
            self._block.register_op_hook(None)
        if self._is_on and private_names.cached_op(self._block) is self._current:
            private_names.set_cached_op(self._block, self._other)

    def _end_trace(self):
        if not self._is_traced:
            self._is_traced = True
            self._calls = with_places(self._calls, private_names.graph_of(self._block))

    def _names_needed(self):
        self._end_trace()
        if self._needed is None:
            places = {
                place.name
                for call in self._calls
                if call.watched in self._wanted
                for place in (*call.inputs, *call.outputs)
                if place
            }
            self._needed = {_NUMBERED.sub(_number, name): name for name in places}
            self._needed.update({name: name for name in places})
        return self._needed

    # ctypes calls it, and drops what it raises.
    def _on_operator(self, name, operator, handle):
        array = NDArray(ctypes.cast(handle, NDArrayHandle), writable=False)  # frees the handle
        if self._arrays is None or self._failure is not None:
            return
        try:
            known = self._names_needed().get(name.decode())
            if known is not None:
                self._arrays[known].append(host_copy(array))
        except Exception as error:
            self._failure = error

    def _is_ours(self):
        return private_names.own_op_hook(self._block) == self._on_operator

    def _is_taken(self):
        """Whether the script has an op hook of its own there."""
        own = private_names.own_op_hook(self._block)
        is_taken = own is not None and own != self._on_operator
        if is_taken and not self._has_told:
            self._has_told = True
            logger.warning(
                "block '%s' has an op hook of the script: what happens inside is not saved",
                self._block.name,
            )
        return is_taken

    def _tell(self, unseen):
        if unseen and not self._has_told:
            self._has_told = True
            logger.warning(
                "block '%s' is hybridized, and its graph does not show all tensors of %s: they "
                "are not saved. Graphs with static_shape=True run several operators as one; "
                "without hybridize() everything is seen",
                self._block.name,
                ", ".join(f"'{name}'" for name in dict.fromkeys(unseen)),
            )


def with_places(calls, graph):
    """The calls with places for symbols, which are nodes of `graph`.

    A block that is called twice gives its operators the same names twice. They run in the order of
    the graph: each after those that it depends on. So one that depends on n others of its name is
    the n-th, where no two depend on as many.
    """
    nodes = graph.get_internals()
    names = collections.Counter(nodes.list_outputs())
    depths = collections.defaultdict(list)  # of the names that there are several of
    for number, name in enumerate(nodes.list_outputs()):
        if names[name] > 1:
            depths[name].append(_depth(nodes[number], name))

    def places(symbols):
        for symbol in symbols:
            for name in symbol.list_outputs():
                if name not in depths:
                    yield Place(name, 0)
                elif len(set(depths[name])) < len(depths[name]):
                    yield None
                else:
                    yield Place(name, _depth(symbol, name))

    return [
        Call(call.watched, list(places(call.inputs)), list(places(call.outputs))) for call in calls
    ]


def _depth(symbol, name):
    """How many operators' outputs of that name the symbol depends on, beside its own."""
    return symbol.get_internals().list_outputs().count(name) - 1


def _value(arrays, place):
    values = arrays.get(place.name, []) if place else []
    return values[place.occurrence] if place and place.occurrence < len(values) else None
