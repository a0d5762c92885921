"""`LateVariables`: finds variables that a loop with a tape uses, but does not train, because its
list of variables was made before their layers were built.

Found are trainable variables that were made inside the first steps of the loop and that no call of
`tape.gradient` names, if the script passes the same list in several calls. A script that asks the
model for its variables in each step has a new list each time. After 20 steps they must still have
their first values: those of a target network are assigned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.tensorflow.private_names import age_of, newest_number

_logger = get_logger()

_SEARCHED_CALLS = 3  # of tape.gradient
_JUDGED_AFTER = 20  # steps, of which each may have several calls
_MOST_VARIABLES = 1000


class LateVariables:
    """The variables of one hook. No method raises."""

    def __init__(self) -> None:
        self._start: int | None = None  # older variables have smaller numbers
        self._calls = 0
        self._steps = 0
        self._is_done = False
        self._late: dict[int, Any] = {}  # by id of the handle
        self._trained: set[int] = set()  # ids of handles
        self._lists: list[Any] = []  # the sources of the first calls, which keeps their ids valid
        self._first: np.ndarray | None = None  # the value of one of them

    def begin_step(self) -> None:
        """Notes that a tape is about to be entered."""
        if self._start is None:
            self._start = newest_number()
            self._is_done = self._start is None
        self._steps += 1

    def note_call(self, tape: Any, sources: Any) -> None:
        """Notes a call of `tape.gradient(target, sources)`."""
        if self._is_done:
            return
        try:
            self._note(tape, sources)
        except Exception as error:  # a variable of a script
            self._end()
            _logger.debug("variables that are not trained are unknown: %r", error)

    def _note(self, tape, sources):
        self._calls += 1
        listed = sources if isinstance(sources, (list, tuple)) else [sources]
        if len(listed) > _MOST_VARIABLES:
            return self._end()
        self._trained |= {_key(each) for each in listed}
        if self._calls <= _SEARCHED_CALLS:
            self._lists.append(sources)
            for each in tape.watched_variables()[:_MOST_VARIABLES]:
                if each.trainable and (age_of(each) or 0) > self._start:
                    self._late[_key(each)] = each
        elif not self._untrained() or not self._is_listed_once():
            self._end()

    def _untrained(self):
        return [each for key, each in self._late.items() if key not in self._trained]

    def _is_listed_once(self):
        """Whether the script passes a list that it keeps, rather than a new one each time."""
        return any(
            each is other
            for number, each in enumerate(self._lists)
            for other in self._lists[:number]
        )

    def take(self) -> list[str]:
        """Returns the names of the layers whose variables are not trained, once that is certain.
        Reads the value of one of them. On a step that is saved."""
        if self._is_done or self._calls < _SEARCHED_CALLS:
            return []
        try:
            return self._judge()
        except Exception as error:
            self._end()
            _logger.debug("variables that are not trained are unknown: %r", error)
            return []

    def _judge(self):
        untrained = self._untrained()
        if not untrained or not self._is_listed_once():
            return []
        read = max(untrained, key=lambda each: len(each.shape))  # no bias, which may stay 0
        if self._first is None:
            self._first = read.numpy()
        if self._steps < _JUDGED_AFTER:
            return []
        is_unchanged = np.array_equal(self._first, read.numpy())
        self._end()
        return _layers_of(untrained) if is_unchanged else []

    def _end(self):
        self._is_done = True
        self._late, self._trained, self._lists, self._first = {}, set(), [], None


def _key(variable: Any) -> int:
    """A number of the memory of a variable of TensorFlow or Keras."""
    inner = getattr(variable, "_value", variable)
    return id(inner.handle) if hasattr(inner, "handle") else id(inner)


def _layers_of(variables: list[Any]) -> list[str]:
    """The names of layers, as their variables tell, each once."""
    names = [encodable(each.name) for each in variables]
    return list(dict.fromkeys(name.rpartition("/")[0] or name for name in names))
