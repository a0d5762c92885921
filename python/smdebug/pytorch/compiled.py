"""What is recorded inside torch.compile: operators that a compiled graph keeps and calls.

torch.compile traces the hooks of a module into its graph. There a hook cannot hand a tensor to the
core; it leaves a call of an operator in the graph instead, which does so when the graph runs, at
its place and as often as it runs. A graph is chosen by one bool before it runs, so there is one
without such calls for the steps that save nothing, and one with them.
"""

import itertools
import sys

import torch

from smdebug.log import get_logger
from smdebug.pytorch.private_names import current_graph_task_id, graphs_compiled

logger = get_logger()

# Place -> what takes the tensors there. A graph knows a place by its text, which is the same in
# the next run of the same program, so that torch's cache on disk still holds.
_takers = {}
_starts = {}  # place where a root's steps begin -> what prepares a graph that holds it
_owners = {}  # number of a hook -> its Places
_numbers = itertools.count()

# Compilers keep a call that returns nothing only because it says that it writes: to this.
_mark = torch.zeros(1)

_library = torch.library.Library("smdebug", "DEF")
_library.define("take(Tensor(a!) mark, Tensor[] tensors, str place) -> ()")


def _take(mark, tensors, place):
    taker = _takers.get(place)
    if taker is not None and current_graph_task_id() == -1:  # not recomputed inside backward
        taker(tensors)


_library.impl("take", _take, "CompositeExplicitAutograd")
torch.library.register_fake("smdebug::take", lambda mark, tensors, place: None, lib=_library)


class Places:
    """The places of one hook in compiled graphs. A place that wants nothing is the number of the
    hook alone, so that code can tell whether to leave a call by one text."""

    def __init__(self):
        self._number = f"{next(_numbers)}/"
        self.are_traced = False  # a graph was compiled that looked at one of them

    def add(self, name, taker, is_wanted=True):
        """The text that a graph knows the place by; `taker` is called with a list of tensors."""
        _owners[self._number] = self  # also after `close`
        if not is_wanted:
            return self._number
        place = self._number + name
        _takers[place] = taker
        return place

    def add_start(self, name, taker, prepare):
        """The same of the place where a root's steps begin; `prepare` is called when a graph is
        compiled that holds it."""
        place = self.add(name, taker)
        _starts[place] = prepare
        return place

    def close(self):
        """From now on nothing is taken."""
        for kept in (_takers, _starts, _owners):
            for place in [place for place in kept if place.startswith(self._number)]:
                del kept[place]


# What runs once when a graph is compiled, and not when the graph runs.


@torch.compiler.assume_constant_result
def _note_trace(place):
    owner = _owners.get(place[: place.find("/") + 1])
    if owner is not None:
        owner.are_traced = True
    return True


@torch.compiler.assume_constant_result
def look_ahead(place):
    """Brings the bool up to date by which a graph that begins the steps of a root is chosen."""
    prepare = _starts.get(place)
    if prepare is not None:
        prepare()
    return True


def is_wanted(place):
    """While a graph is compiled: whether anything of that place is to be saved. A program that is
    exported runs elsewhere."""
    _note_trace(place)
    return place[-1:] not in ("", "/") and not torch.compiler.is_exporting()


def is_traced():
    """Whether torch.compile is looking at the code that asks. This is what the hooks of an eager
    model ask at each call: torch's own question takes longer than all else that they do."""
    return False


@torch.compiler.substitute_in_graph(is_traced)
def _is_traced_in_graph():
    return True


def is_live():
    """Whether the code that asks works on tensors that have elements, for the first time: it is
    neither traced nor run again inside backward."""
    return current_graph_task_id() == -1 and not torch.compiler.is_compiling()


def leave_call(tensors, place):
    """While a graph is compiled: has it hand over the tensors of a value when it runs."""
    found = []
    _collect(tensors, found)
    torch.ops.smdebug.take(_mark, found, place)


def _collect(value, found):
    """The tensors of nested tuples, lists and dictionaries, depth first."""
    if isinstance(value, torch.Tensor):
        found.append(value.detach())
    elif isinstance(value, (tuple, list)):
        for item in value:
            _collect(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, found)


def has_compiled():
    """Whether torch.compile has been at work in this process."""
    return "torch._dynamo" in sys.modules and graphs_compiled() > 0


def forget_compiled(name):
    """Has torch compile anew, so that hooks registered now are seen: it does not look for new ones
    in a model that it has compiled."""
    if not has_compiled():
        return
    torch.compiler.reset()
    logger.info(
        "hooks for '%s' came in after torch.compile had been at work: what it compiled is compiled "
        "again at its next call, for else it would not see them",
        name,
    )
