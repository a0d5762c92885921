"""`FunctionPair`: Keras's own function of one kind, in a lean and in a capturing form."""

from collections.abc import Callable
from typing import Any

# The type of `make_train_function` and similar methods: takes `force`, and returns the function on
# Keras 2 or leaves it in an attribute of the model on Keras 3.
MakeFunction = Callable[..., Any]


class FunctionPair:
    """Chooses the function that runs a batch.

    The lean function is the one that Keras would have without a hook. The result of the capturing
    one also holds the tensors that the hook saves. Keras makes both; each is traced when it is
    called first. If a batch cannot run twice, only one function remains: `is_single` is true.

    `dispatch` replaces the function in the model, such as in `model.train_function`. It is
    recognized by identity.
    """

    def __init__(self, model: Any, kind: str, dispatch: Callable[..., Any]) -> None:
        self._model = model
        self._attribute = f"{kind}_function"
        self._dispatch = dispatch
        self._ready: dict[bool, Any] = {}  # functions not called yet, by whether they capture
        self._called: dict[bool, Any] = {}  # functions that were called
        self._last: Any = None  # the one that `choose` returned last
        self._single: Any = None
        self.make_original: MakeFunction | None = None

    @property
    def is_single(self) -> bool:
        """Whether one function runs every batch, and always captures."""
        return self._single is not None

    def make(self, force: bool) -> Any:
        """Makes both functions and puts `dispatch` into the model. Does nothing if the model has it
        already, except with `force`. Returns `dispatch`."""
        if getattr(self._model, self._attribute) is self._dispatch and not force:
            return self._dispatch
        self._called, self._single = {}, None
        # Both are made now: in the last steps of an epoch, which may be fewer than
        # `steps_per_execution`, Keras would make one that runs as few batches forever.
        self._ready = {is_capturing: self._make_one() for is_capturing in (False, True)}
        self._put_in_place()
        return self._dispatch

    def choose(self, is_capturing: bool) -> Any:
        """Returns the function for a batch."""
        if self._single is not None:
            return self._single
        if is_capturing not in self._called:
            ready = self._ready.pop(is_capturing, None)
            self._called[is_capturing] = ready or self._make_one()
        self._last = self._called[is_capturing]
        return self._last

    def resting(self) -> Any:
        """Returns the function for a batch while the hook is not in the model, preferably a traced
        one."""
        if self.is_single or self._called:
            return self._single or self._called.get(False) or self._called[True]
        return self.choose(False)

    def forget_capturing(self) -> None:
        """Discards the capturing function, so that the next batch makes a new one."""
        if not self.is_single:
            self._called.pop(True, None)

    def keep_single(self) -> bool:
        """Keeps the function that runs now as the only one. Returns whether the other one has run
        before."""
        self._single = self._last
        return len(self._called) > 1

    def _make_one(self):
        made = self.make_original(force=True)
        made = getattr(self._model, self._attribute) if made is None else made
        self._put_in_place()
        return made

    def _put_in_place(self):
        setattr(self._model, self._attribute, self._dispatch)
