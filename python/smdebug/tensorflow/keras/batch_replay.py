"""`BatchReplay`: runs a batch a second time, without effect.

The second run gets the same batch, the variables as they were before the first run, and the random
numbers that the first graph drew. Its changes are undone.

Some graphs cannot run twice: those that do more than compute and change variables, such as
calling Python, and those that XLA compiles and that draw random numbers.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from smdebug.tensorflow.keras.random_draws import RandomDraws
from smdebug.tensorflow.keras.repeated_batch import (
    BatchRepeater,
    RepeatedBatch,
    can_be_given_twice,
    takes_one_batch,
)
from smdebug.tensorflow.keras.step_variables import StepVariables, can_be_repeated


class _XlaRandomness:
    """Whether XLA compiles a graph of this process that draws random numbers. XLA draws them by a
    count of all its calls in the process, so no call may be added from then on."""

    def __init__(self):
        self.is_used = False


_xla_randomness = _XlaRandomness()


class BatchReplay:
    """Repeats the batches of one step function of `model`.

    Between `begin` and `end`, `take` gets the data of the batch, and `undone` is the context of the
    second run.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._variables = StepVariables()
        self._repeater = BatchRepeater()
        self._draws = RandomDraws()
        self._draw_count = 0  # tensors of random numbers in a step
        self.is_possible: bool = True  # as far as the graphs are known

    def can_run(self, data: Any) -> bool:
        """Returns whether a batch can run twice, as far as its graph is known. `data` is the
        argument that Keras passes to the function."""
        if not self.is_possible or self._model.run_eagerly:
            return False
        if self._model.jit_compile and _xla_randomness.is_used:
            return False
        return can_be_given_twice(self._model, data)

    # --- while a step is traced ---

    def note_graph(self, graph: Any, data: Any) -> bool:
        """Finds the variables that `graph`, which was just built for `data`, reads and changes.
        Returns whether it can run twice."""
        self._variables.note_graph(graph)
        can_set_draws = (
            not self._model.jit_compile
            and can_be_given_twice(self._model, data)
            and takes_one_batch(self._model)
        )
        if can_be_repeated(graph, can_set_draws):
            self._draw_count = len(self._draws.of(graph))
            return True
        self.is_possible = False
        _xla_randomness.is_used |= bool(self._model.jit_compile)
        return False

    def draws_of(self, graph: Any) -> list[Any]:
        """Returns the random numbers that a lean graph draws, so that it can return them."""
        return self._draws.of(graph)

    def replace_draws(self, graph: Any) -> None:
        """Makes a capturing graph, while it is built, use the random numbers of the lean one."""
        self._draws.replace(graph)

    # --- a batch ---

    def begin(self, data: Any) -> bool:
        """Prepares for a batch that runs twice. Returns True."""
        self._repeater.prepare(data)
        self._variables.begin()
        return True

    def take(self, data: Any) -> RepeatedBatch:
        """Takes the batch out of `data`. Raises every error of `data`, such as StopIteration."""
        return self._repeater.taken(self._model, data)

    def knows_draws(self, draws: Sequence[Any]) -> bool:
        """Returns whether `draws`, which the lean function returned, are all random numbers of its
        step."""
        return len(draws) == self._draw_count

    @contextlib.contextmanager
    def undone(self, draws: Sequence[Any]) -> Iterator[None]:
        """Returns a context in which the variables have their values from `begin`, and random
        operations give `draws`. Afterwards the variables have their present values again."""
        with self._variables.taken_back():
            self._draws.set(draws)
            yield

    def end(self) -> None:
        """Releases the batch."""
        self._variables.end()
        self._repeater.clear()
