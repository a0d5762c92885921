"""`KeptGradients`: finds optimizers whose gradients are never cleared, so that each update uses the
sum of all batches so far, and those whose gradients are cleared too often.

An optimizer is followed from its first update to the next one. Hooks on up to three of its
parameters look at the gradient to which the backward pass adds. It was kept if the first addition
finds, bit for bit, what the update has left, no later addition finds zeros, and the next update
uses the sum. The gradients of a discriminator, to which the backward pass of the generator adds and
which are cleared afterwards, were not kept. One interval in which gradients were not kept answers
the question, and so do five in a row in which they were. Then the hooks are removed.

Gradients are cleared too often if at least three backward passes follow the update, each finds
cleared gradients, and the next update uses those of the last one: a script that accumulates, and
calls zero_grad() for each batch. One batch that is cleared unused is no fault: the backward pass of
the generator of a GAN gives the discriminator such gradients. Gradients that another optimizer may
have used before they are cleared, and passes within the update, from a closure, do not count. Here,
too, five intervals in a row answer the question.

Nothing here changes a gradient, draws a random number or waits for a device.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.compiler import is_compiling
from torch.optim.optimizer import register_optimizer_step_pre_hook

from smdebug.log import get_logger
from smdebug.pytorch.private_names import free_of_hooks

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from smdebug.pytorch.device.device_copies import DeviceCopies

_logger = get_logger()

_ENOUGH_INTERVALS = 5  # in a row
_FEWEST_DISCARDED = 2  # backward passes between two updates
# Ends the search if no backward pass adds to the parameters of an optimizer, or only between some
# of its updates.
_MOST_INTERVALS = 16
# Ends it if an optimizer never acts again.
_MOST_ADDITIONS = 400  # between two updates, to all parameters that are looked at
_MOST_PARAMETERS = 3  # of an optimizer
_MOST_OPTIMIZERS = 4  # a program may have one for each parameter
_ELEMENTS = 16  # that are compared, spread over the gradient


class KeptGradients:
    """Answers for each optimizer of one hook whether it keeps its gradients. `copies` brings
    answers from a device. `on_answer` is called when hooks can be removed, maybe during a backward
    pass. No method raises."""

    def __init__(self, copies: DeviceCopies, on_answer: Callable[[], None]) -> None:
        self._copies = copies
        self._on_answer = on_answer
        self._searches: list[_Search] = []
        self._handle: RemovableHandle | None = None  # of a hook before updates
        self._is_off = False

    @property
    def wants_updates(self) -> bool:
        """Whether `note_update` must be called for the next update, even in a step that is not
        saved."""
        return not self._is_off and any(search.wants_update for search in self._searches)

    def answer_of(self, optimizer: Any) -> bool | None:
        """Whether an optimizer keeps its gradients; None: unknown."""
        search = self._search_of(optimizer)
        return search.answer if search else None

    def discards_of(self, optimizer: Any) -> bool | None:
        """Whether the updates of an optimizer use only the last of several backward passes; None:
        unknown."""
        search = self._search_of(optimizer)
        return search.discards if search and search.answer is not None else None

    def note_update(
        self, optimizer: Any, parameters: Callable[[], Iterable[Any]], is_saved_step: bool
    ) -> bool:
        """Notes that `optimizer` has acted, and returns whether its answer has become known since
        the last call. `parameters` returns those that it updates and a model of the hook owns."""
        if self._is_off:
            return False
        try:
            search = self._search_of(optimizer)
            if search is None:
                if len(self._searches) == _MOST_OPTIMIZERS:
                    return False
                search = _Search(optimizer, self)
                self._searches.append(search)
                self._watch_beginnings()
            return search.note_update(parameters, self._copies if is_saved_step else None)
        except Exception as error:  # a parameter or an optimizer of another library
            self.give_up(error)
            return False

    def _watch_beginnings(self) -> None:
        """Notes when updates begin."""
        if self._handle is not None:
            return
        reference = weakref.ref(self)

        def before(optimizer: Any, arguments: Any, keywords: Any) -> None:
            owner = None if is_compiling() else reference()
            for search in owner._searches if owner else ():
                search.note_beginning(optimizer)

        self._handle = register_optimizer_step_pre_hook(before)

    def remove_hooks(self) -> None:
        """Removes the hooks of searches that have ended."""
        for search in self._searches:
            if self._is_off or not search.is_open or search.optimizer() is None:
                search.end()
        if self._handle is not None and not any(search.is_open for search in self._searches):
            self._handle.remove()
            self._handle = None

    def close(self) -> None:
        """Removes all hooks. No further update is noted."""
        self._is_off = True
        self.remove_hooks()

    def is_recorded(self, device: torch.device) -> bool:
        """Whether the current calls on `device` are recorded to run later."""
        return self._copies.is_recorded(device)

    def note_answer(self) -> None:
        """Notes that a search has ended."""
        self._on_answer()

    def give_up(self, error: Exception) -> None:
        """Ends all searches: whatever happened must not harm the training."""
        if self._is_off:
            return
        self._is_off = True
        self._on_answer()
        _logger.warning("rules do not learn whether gradients are cleared: %r", error)

    def _search_of(self, optimizer: Any) -> _Search | None:
        return next((each for each in self._searches if each.optimizer() is optimizer), None)


class _Search:
    """The search for the answer of one optimizer."""

    def __init__(self, optimizer: Any, owner: KeptGradients) -> None:
        self.optimizer: Callable[[], Any] = weakref.ref(optimizer)
        self.answer: bool | None = None
        self.discards: bool = False
        self.is_open: bool = True  # hooks are needed
        self.is_updating: bool = False
        self._owner = owner
        self._looks: list[_Look] = []
        self._intervals = -1
        self._kept_intervals = 0
        self._discarding_intervals = 0
        # In this interval:
        self._additions = 0
        self._is_cleared = False
        self._has_company = False  # another optimizer acted, maybe with what was added
        self._flags: list[torch.Tensor] = []  # on a device; all are true if gradients were kept
        self._is_told = False

    def note_beginning(self, optimizer: Any) -> None:
        """Notes that an update begins, of this optimizer or of another one."""
        if optimizer is self.optimizer():
            self.is_updating = True
        elif self._additions:
            self._has_company = True

    @property
    def wants_update(self) -> bool:
        """Whether the next update matters: it ends an interval, or the answer is reported then."""
        is_news = self.answer is not None and not self._is_told
        return (self.is_open or is_news) and self.optimizer() is not None

    def note_update(
        self, parameters: Callable[[], Iterable[Any]], copies: DeviceCopies | None
    ) -> bool:
        """Ends an interval and begins the next one. `copies` is None if nothing can be copied."""
        self.is_updating = False
        if self.is_open:
            self._end_interval()
            if self.is_open:
                self._begin_interval(parameters())
        elif self._flags and copies is not None:
            self._fetch_answer(copies)
        is_news = self.answer is not None and not self._is_told
        self._is_told = self._is_told or is_news
        return is_news

    def end(self) -> None:
        """Removes the hooks."""
        self.is_open = False
        for look in self._looks:
            look.remove()
        self._looks = []

    def note_addition(self, is_kept: bool | torch.Tensor) -> None:
        """Notes whether a backward pass has added to a gradient that was kept."""
        if isinstance(is_kept, torch.Tensor):
            self._flags.append(is_kept)
        elif not is_kept:
            self._is_cleared = True
        self._additions += 1
        if self._is_cleared and self._has_company:
            self.conclude(False)
        elif self._additions == _MOST_ADDITIONS:
            self._flags = []
            self.conclude(False if self._is_cleared else None)

    def conclude(self, keeps: bool | None, discards: bool = False) -> None:
        """Ends the search with an answer, or with None if there is none."""
        self.is_open = False
        self.answer, self.discards = keeps, discards
        if keeps is not None:
            self._flags = []
        self._owner.note_answer()

    def _fetch_answer(self, copies: DeviceCopies) -> None:
        flags, self._flags = self._flags, []
        if len({flag.device for flag in flags}) == 1:
            copies.fetch(
                torch.stack(flags).all().reshape(1), lambda copy: self.conclude(bool(copy.item()))
            )

    def _end_interval(self) -> None:
        self._intervals += 1
        results = [look.was_kept() for look in self._looks]
        if self._is_cleared or False in results:
            self._end_cleared_interval()
            return
        self._kept_intervals += True in results
        if self._kept_intervals == _ENOUGH_INTERVALS:
            self.conclude(None if self._flags else True)
        elif self._intervals == _MOST_INTERVALS:
            self._flags = []
            self.conclude(None)

    def _end_cleared_interval(self) -> None:
        results = [look.has_discarded() for look in self._looks]
        if True not in results or False in results:
            self.conclude(False)
            return
        self._is_cleared = False
        self._discarding_intervals += 1
        if self._discarding_intervals == _ENOUGH_INTERVALS:
            self.conclude(False, discards=True)

    def _begin_interval(self, parameters: Iterable[Any]) -> None:
        for look in self._looks:
            look.remove()
        self._looks = []
        self._additions, self._has_company = 0, False
        usable = [each for each in parameters if _is_usable(each, self._owner)]
        for parameter in _spread(usable):
            look = _Look(parameter, self, self._owner)
            if look.has_sample:
                look.install(parameter)
                self._looks.append(look)


class _Look:
    """Looks at the gradient of one parameter between two updates."""

    def __init__(
        self, parameter: torch.nn.Parameter, search: _Search, owner: KeptGradients
    ) -> None:
        self._parameter = weakref.ref(parameter)
        self._search = search
        self._owner = owner
        gradient = cast("torch.Tensor", parameter.grad)
        self._shape = gradient.shape
        self._left = _sample(gradient)  # by the update
        self._address = 0  # of the gradient after the last addition
        self._found: bool | torch.Tensor | None = None  # before an addition that may follow
        self._added: list[Any] = []  # a sample after the last addition, of a gradient on the CPU
        self._finds_cleared = False  # before an addition that may follow
        self._additions = 0  # before the next update
        self._cleared_additions = 0  # of them, those that found cleared gradients
        self._is_usable = True
        self._handles: list[RemovableHandle] = []

    @property
    def has_sample(self) -> bool:
        """Whether the gradient that the update has left differs from zeros and equals itself."""
        if isinstance(self._left, torch.Tensor):
            return True
        return any(self._left) and all(number == number for number in self._left)

    def install(self, parameter: torch.nn.Parameter) -> None:
        """Installs hooks that do not keep this object, and with it the models, alive."""
        reference = weakref.ref(self)

        def before(gradient: torch.Tensor) -> None:
            look = None if is_compiling() else reference()
            if look is not None:
                look.note(look.look, gradient)

        def after(parameter: torch.Tensor) -> None:
            look = None if is_compiling() else reference()
            if look is not None:
                look.note(look.add, parameter)

        self._handles = [
            parameter.register_hook(before),
            parameter.register_post_accumulate_grad_hook(after),
        ]

    def remove(self) -> None:
        """Removes the hooks."""
        parameter = self._parameter()
        for handle in self._handles:
            handle.remove()
        if parameter is not None and self._handles:
            free_of_hooks(parameter)
        self._handles = []

    def note(self, action: Callable[[torch.Tensor], None], tensor: torch.Tensor) -> None:
        """Runs one of the actions below, if it is needed."""
        if not self._search.is_open or not self._is_usable:
            return
        try:
            action(tensor)
        except Exception as error:
            self._owner.give_up(error)

    def look(self, addend: torch.Tensor) -> None:
        """Before an addition, and for torch.autograd.grad, which adds nothing."""
        parameter = self._parameter()
        gradient = None if parameter is None else parameter.grad
        self._finds_cleared = gradient is None
        if gradient is None:
            self._found = False
        elif addend.shape != self._shape or self._owner.is_recorded(gradient.device):
            self._is_usable = False  # a shard, to which a sharding library adds later
        elif gradient.shape != self._shape or _elements(gradient) is None:
            self._found = False
        else:
            sample = _sample(gradient)
            # Zeros are not a sign of clearing if nothing else was added.
            before = self._added if self._address else self._left
            self._finds_cleared = isinstance(sample, list) and not any(sample) and any(before)
            self._found = _is_nonzero(sample) if self._address else _are_same(sample, self._left)

    def add(self, parameter: torch.Tensor) -> None:
        """After an addition."""
        if self._found is None or parameter.grad is None:
            self._is_usable = False
            return
        found, self._found = self._found, None
        self._address = _address(parameter.grad)
        if not self._search.is_updating:
            self._additions += 1
            self._cleared_additions += self._finds_cleared
            sample = _sample(parameter.grad)
            self._added = sample if isinstance(sample, list) else []
        self._search.note_addition(found)

    def was_kept(self) -> bool | None:
        """At the next update: whether it has used a sum with the gradient of the last one. None if
        nothing was added."""
        if not self._is_usable or not self._address:
            return None
        parameter = self._parameter()
        gradient = None if parameter is None else parameter.grad
        return gradient is not None and _address(gradient) == self._address

    def has_discarded(self) -> bool | None:
        """At the next update: whether it has used the gradient of the last of several backward
        passes, and those of the others were cleared. None if nothing was added."""
        if not self._is_usable or not self._address:
            return None
        is_last = self.was_kept() and self._is_multiple_of_added()
        is_cleared = self._cleared_additions == self._additions
        return bool(is_last and is_cleared and self._additions > _FEWEST_DISCARDED)

    def _is_multiple_of_added(self) -> bool:
        """Whether the gradient is that of the last backward pass times a scale, which clipping and
        a gradient scaler change. A script may write another one in its place, such as one made of
        the gradients of several tasks."""
        sample = _sample(cast("torch.Tensor", cast("torch.Tensor", self._parameter()).grad))
        if not isinstance(sample, list):
            return True  # on a device: the address has to do
        largest = max(self._added, key=abs, default=0.0)
        if not largest or len(sample) != len(self._added):
            return False
        scale = sample[self._added.index(largest)] / largest
        return all(
            abs(new - scale * old) <= 1e-3 * abs(scale * largest)
            for new, old in zip(sample, self._added, strict=True)
        )


def _is_usable(parameter: Any, owner: KeptGradients) -> bool:
    """Whether the gradient of a parameter can be read in place. Those of DTensors cannot."""
    if type(parameter) is not torch.nn.Parameter or not parameter.requires_grad:
        return False
    gradient = parameter.grad
    if type(gradient) is not torch.Tensor or owner.is_recorded(gradient.device):
        return False
    elements = _elements(gradient)
    return elements is not None and elements.numel() > 0


def _elements(gradient: torch.Tensor) -> torch.Tensor | None:
    """The elements in one dimension, of a sparse gradient those that it stores; None if they cannot
    be read in place. A backward pass adds to a sparse gradient by storing more of them."""
    values = gradient.detach()
    if values.layout is torch.sparse_coo:
        values = values._values()
    if values.layout is not torch.strided or not values.is_contiguous():
        return None
    return values.view(-1)


def _address(gradient: torch.Tensor) -> int:
    """Where the elements are; 0 if they cannot be read in place."""
    elements = _elements(gradient)
    return 0 if elements is None else elements.data_ptr()


def _spread(parameters: list[Any]) -> list[Any]:
    """Up to three parameters: the first, one in the middle, the last."""
    last = len(parameters) - 1
    positions = {round(i * last / (_MOST_PARAMETERS - 1)) for i in range(_MOST_PARAMETERS)}
    return [parameters[i] for i in sorted(positions)] if parameters else []


def _sample(gradient: torch.Tensor) -> list[Any] | torch.Tensor:
    """Some elements: numbers, or on a device a tensor."""
    flat = cast("torch.Tensor", _elements(gradient))
    some = flat[:: max(1, flat.numel() // _ELEMENTS)][:_ELEMENTS]
    return some.tolist() if some.is_cpu else some.clone()


def _are_same(sample: Any, left: Any) -> bool | torch.Tensor:
    if isinstance(sample, torch.Tensor) and isinstance(left, torch.Tensor):
        return sample.shape == left.shape and (sample == left).all() & (sample != 0).any()
    return isinstance(sample, list) and sample == left


def _is_nonzero(sample: Any) -> bool | torch.Tensor:
    return (sample != 0).any() if isinstance(sample, torch.Tensor) else any(sample)
