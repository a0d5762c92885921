"""Capture inside torch.compile: operators that a compiled graph contains and calls.

torch.compile traces the hooks of a module into its graph. A hook cannot pass a tensor to the core
there. It emits a call of an operator instead, which passes the tensor each time the graph runs. One
bool selects the graph before it runs: one without such calls for steps that save nothing, and one
with them.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch

from smdebug.import_watch import after_import
from smdebug.log import get_logger
from smdebug.pytorch.private_names import current_graph_task_id, graphs_compiled

_logger = get_logger()

# Number of a hook -> its GraphPoints. A graph refers to a point by its text, which is the same in
# the next run of the same program, so that torch's cache on disk stays valid.
_owners: weakref.WeakValueDictionary[str, GraphPoints] = weakref.WeakValueDictionary()
_numbers = itertools.count()

# Compilers keep a call without a result only if it declares that it writes something: this.
_mark = torch.zeros(1)

_library = torch.library.Library("smdebug", "DEF")
_library.define("take(Tensor(a!) mark, Tensor[] tensors, str point) -> ()")


def _take(mark: torch.Tensor, tensors: list[torch.Tensor], point: str) -> None:
    owner = _owner_of(point)
    taker = owner and owner.takers.get(point)
    if taker and current_graph_task_id() == -1:  # not recomputed inside backward
        taker(tensors)


_library.impl("take", _take, "CompositeExplicitAutograd")
torch.library.register_fake("smdebug::take", lambda mark, tensors, point: None, lib=_library)


class GraphPoints:
    """The points in compiled graphs where one hook captures tensors. The text of a point that
    captures nothing is only the number of the hook, so that one text decides whether to emit a
    call. Compiled code, which may outlive the hook, does not keep it alive.
    """

    def __init__(self) -> None:
        self._number = f"{next(_numbers)}/"
        self.are_traced: bool = False  # a compiled graph refers to one of them
        # Point -> the function that takes its tensors.
        self.takers: dict[str, Callable[[list[torch.Tensor]], Any]] = {}
        # Point where the steps of a root begin -> the function that prepares a graph with it.
        self.starts: dict[str, Callable[[], Any]] = {}
        _owners[self._number] = self

    def add(
        self, name: str, taker: Callable[[list[torch.Tensor]], Any], is_wanted: bool = True
    ) -> str:
        """Adds a point and returns its text. `taker` is called with a list of tensors."""
        if not is_wanted:
            return self._number
        point = self._number + name
        self.takers[point] = taker
        return point

    def add_start(
        self,
        name: str,
        taker: Callable[[list[torch.Tensor]], Any],
        prepare: Callable[[], Any],
    ) -> str:
        """Adds the point where the steps of a root begin and returns its text. `prepare` is called
        when a graph that contains it is compiled."""
        point = self.add(name, taker)
        self.starts[point] = prepare
        return point

    def close(self) -> None:
        """Removes all points; graphs that refer to them capture nothing from now on."""
        self.takers, self.starts = {}, {}


def _owner_of(point: str) -> GraphPoints | None:
    return _owners.get(point[: point.find("/") + 1])


def after_compiler_import(inform: Callable[[], None]) -> None:
    """Calls `inform` when the program has imported the compiler of torch. smdebug does not import
    it: that takes a second, and some modules of torch.distributed, which the compiler imports, keep
    the process group that exists at that time alive until the process ends."""

    def complain(reason: str) -> None:
        _logger.warning("torch.compile compiles the hooks of smdebug: %s", reason)

    def inform_safely() -> None:
        try:
            inform()
        except Exception as error:
            complain(repr(error))

    after_import("torch._dynamo", inform_safely, complain)


# `_note_trace` and `refresh_capture_flag` run once when a graph is compiled, and not when the graph
# runs.


def _note_trace(point: str) -> bool:
    owner = _owner_of(point)
    if owner is not None:
        owner.are_traced = True
    return True


def refresh_capture_flag(point: str) -> bool:
    """Updates the bool that selects a graph that begins the steps of a root."""
    owner = _owner_of(point)
    prepare = owner and owner.starts.get(point)
    if prepare:
        prepare()
    return True


def is_captured(point: str) -> bool:
    """Whether the graph that is being compiled captures tensors at a point. An exported program
    captures nothing, because it runs elsewhere."""
    _note_trace(point)
    return point[-1:] not in ("", "/") and not torch.compiler.is_exporting()


def is_traced() -> bool:
    """Whether torch.compile is tracing the caller. The hooks of an eager model check this at each
    call; torch's own function for it takes longer than everything else that they do."""
    return False


def _is_traced_in_graph() -> bool:
    return True


def _inform_compiler() -> None:
    for run_once in (_note_trace, refresh_capture_flag):
        torch.compiler.assume_constant_result(run_once)
    torch.compiler.substitute_in_graph(is_traced)(_is_traced_in_graph)


after_compiler_import(_inform_compiler)


def has_real_values() -> bool:
    """Whether the caller computes real values for the first time: it is neither traced nor
    recomputed inside a backward pass."""
    return current_graph_task_id() == -1 and not torch.compiler.is_compiling()


def emit_capture_op(tensors: Any, point: str) -> None:
    """Makes the graph that is being compiled capture the tensors of a value when it runs."""
    found: list[torch.Tensor] = []
    _collect(tensors, found)
    torch.ops.smdebug.take(_mark, found, point)


def _collect(value: Any, found: list[torch.Tensor]) -> None:
    """Collects the tensors of nested tuples, lists and dictionaries, depth first."""
    if isinstance(value, torch.Tensor):
        found.append(value.detach())
    elif isinstance(value, (tuple, list)):
        for item in value:
            _collect(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, found)


def has_compiled() -> bool:
    """Whether torch.compile has compiled anything in this process."""
    return "torch._dynamo" in sys.modules and graphs_compiled() > 0


def forget_compiled(name: str) -> None:
    """Makes torch compile again, because it does not check a compiled model for new hooks."""
    if not has_compiled():
        return
    torch.compiler.reset()
    _logger.info(
        "hooks for '%s' were registered after torch.compile had compiled code: torch compiles it "
        "again at the next call to include them",
        name,
    )
