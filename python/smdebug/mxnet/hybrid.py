"""Captures the tensors inside of hybridized blocks.

A hybridized block runs as one graph. MXNet calls the hooks of the blocks inside only once, with
symbols, while it builds the graph; these calls show which output of an operator is an input or
output of which block. In steps that save any of these tensors a second graph runs, which passes
the outputs of its operators to a callback (`register_op_hook`). Other steps run MXNet's own graph.
"""

from __future__ import annotations

import ctypes
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from mxnet import gluon
from mxnet.base import NDArrayHandle
from mxnet.ndarray import NDArray

from smdebug.log import get_logger
from smdebug.mxnet import private_names
from smdebug.mxnet.arrays import arrays_in, host_copy, symbols_in
from smdebug.mxnet.block_hooks import CaptureSwitch, WatchedBlock
from smdebug.mxnet.graph_points import Call, op_hook_names, value_at, with_points

_logger = get_logger()

Isolate = Callable[[str], AbstractContextManager[None]]

# MXNet prints it in a call of the script's, about a callback that the script has not asked for. The
# values that the callback gets are tested against those without static memory.
_WARNING = "register_op_hook is experimental when static_alloc"


def _silence_warning() -> None:
    # Each filter that is added makes Python repeat warnings that are printed once.
    patterns = (each[1] for each in warnings.filters if each[1] is not None)
    if not any(getattr(each, "pattern", each) == _WARNING for each in patterns):
        warnings.filterwarnings("ignore", _WARNING, UserWarning)


class Graphs:
    """The graphs of one hook's blocks. `watched` maps blocks to their WatchedBlocks."""

    def __init__(
        self, switch: CaptureSwitch, watched: Mapping[gluon.Block, WatchedBlock], isolate: Isolate
    ) -> None:
        self._switch = switch
        self._watched = watched
        self._isolate = isolate
        self._taps: dict[gluon.Block, GraphTap] = {}
        self._running: gluon.Block | None = None  # the block whose graph is built or runs

    def is_tapped(self, block: gluon.Block) -> bool:
        """Returns whether tensors inside of a block may be captured."""
        return block in self._taps

    def follow_plan(self) -> None:
        """Determines again which tensors may be saved, after the plan has changed."""
        for tap in self._taps.values():
            tap.find_wanted()

    def enter(self, block: gluon.Block) -> None:
        """Call it before a block is called with data: selects the graph that runs."""
        self._running = None
        if not private_names.is_graph(block):
            return
        tap = self._taps.get(block)
        if tap is None:
            tap = GraphTap(block, self._watched)
            if not tap.is_wanted:
                return
            self._taps[block] = tap
        self._running = block
        tap.prepare(self._switch.is_on)

    def trace(self, watched: WatchedBlock, arguments: Any, output: Any) -> None:
        """Notes a call of a block inside, with symbols, while the graph is built."""
        if self._running is not None:
            with self._isolate("while a graph was built"):
                self._taps[self._running].trace(watched, arguments, output)

    def leave(self, block: gluon.Block, arguments: Any) -> None:
        """Call it after a block was called with data: saves the tensors of its graph."""
        if self._running is block:
            self._running = None
            self._taps[block].finish(arguments)

    def close(self) -> None:
        """Restores the graphs that MXNet would run."""
        for tap in self._taps.values():
            tap.remove()
        self._taps = {}


class GraphTap:
    """One hybridized block that is called with data, with its two graphs."""

    def __init__(self, block: gluon.Block, watched: Mapping[gluon.Block, WatchedBlock]) -> None:
        self._block = block
        self._watched = watched
        self._current: Any = None  # the graph of the last call
        self._other: Any = None  # the graph for steps of the other kind
        self._is_on = False
        self._calls: list[Call] = []
        self._is_traced = False  # whether the calls have points of the graph
        self._needed: dict[str, str] | None = None  # name in an op hook -> name in the graph
        self._arrays: defaultdict[str, list[np.ndarray]] | None = None  # values of one call
        self._failure: Exception | None = None
        self._has_warned = False
        self.find_wanted()

    def find_wanted(self) -> None:
        """Finds the blocks inside whose tensors the plan may save."""
        inside = set()
        self._block.apply(inside.add)
        inside.discard(self._block)
        self._wanted = {
            watched
            for block, watched in self._watched.items()
            if block in inside and watched.can_match()
        }

    @property
    def is_wanted(self) -> bool:
        """Whether the plan may save any tensor inside."""
        return bool(self._wanted)

    def prepare(self, is_saved_step: bool) -> None:
        """Selects the graph of the coming call: the observed one in a saved step."""
        block = self._block
        wants = is_saved_step and self.is_wanted and not self._is_taken()
        op = private_names.cached_op(block)
        if op is None or op is not self._current:
            if op is not None:  # built before smdebug observed it
                private_names.forget_graph(block)
            self._other, self._is_on = None, wants
            self._calls, self._is_traced = [], False
        elif wants != self._is_on:
            private_names.set_cached_op(block, self._other)
            self._other, self._is_on = op, wants
        self._needed = None
        if wants:
            self._arrays = defaultdict(list)
            _silence_warning()
            block.register_op_hook(self._on_operator)
        elif self._is_ours():
            block.register_op_hook(None)

    def trace(self, watched: WatchedBlock, arguments: Any, output: Any) -> None:
        """Notes a call with symbols, unless the calls of this graph are known."""
        call = Call(watched, list(symbols_in(arguments)), list(symbols_in(output)))
        if not self._is_traced:
            self._calls.append(call)

    def finish(self, arguments: Any) -> None:
        """Saves the tensors of the call that ended, in the order in which the blocks were called.

        Raises the error that the op hook ran into.
        """
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
            taken = [value_at(arrays, point) for point in inputs]
            made = [value_at(arrays, point) for point in outputs]
            watched.capture_inputs(taken)
            watched.capture_outputs(made)
            if any(value is None for value in (*taken, *made)):
                unseen.append(watched.name)
        self._warn_of_missing(unseen)

    def remove(self) -> None:
        """Restores the graph that MXNet would run."""
        if self._is_ours():
            self._block.register_op_hook(None)
        if self._is_on and private_names.cached_op(self._block) is self._current:
            private_names.set_cached_op(self._block, self._other)

    def _end_trace(self) -> None:
        if not self._is_traced:
            self._is_traced = True
            self._calls = with_points(self._calls, private_names.graph_of(self._block))

    def _names_needed(self) -> dict[str, str]:
        self._end_trace()
        if self._needed is None:
            names = {
                point.name
                for call in self._calls
                if call.watched in self._wanted
                for point in (*call.inputs, *call.outputs)
                if point
            }
            self._needed = op_hook_names(names)
        return self._needed

    # ctypes calls it, and discards its exceptions.
    def _on_operator(self, name: bytes, operator: bytes, handle: Any) -> None:
        array = NDArray(ctypes.cast(handle, NDArrayHandle), writable=False)  # frees the handle
        if self._arrays is None or self._failure is not None:
            return
        try:
            known = self._names_needed().get(name.decode())
            if known is not None:
                self._arrays[known].append(host_copy(array))
        except Exception as error:
            self._failure = error

    def _is_ours(self) -> bool:
        return private_names.own_op_hook(self._block) == self._on_operator

    def _is_taken(self) -> bool:
        """Returns whether the script has registered an op hook."""
        own = private_names.own_op_hook(self._block)
        is_taken = own is not None and own != self._on_operator
        if is_taken and not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "the script registered an op hook on block '%s': the tensors inside are not saved",
                self._block.name,
            )
        return is_taken

    def _warn_of_missing(self, unseen: list[str]) -> None:
        if unseen and not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "block '%s' is hybridized, and its graph does not show all tensors of %s: they "
                "are not saved. Graphs with static_shape=True run several operators as one; "
                "call the block without hybridize() to save all tensors",
                self._block.name,
                ", ".join(f"'{name}'" for name in dict.fromkeys(unseen)),
            )
