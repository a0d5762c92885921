"""`CaptureSink` and `PlanView`: the hook, as its adapters see it.

A hook owns its adapters (for Keras, for tapes, for sessions) and passes them these two and the
session of the core. No adapter knows the hook itself, so each can be read and tested without it.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from smdebug._core import ModeKeys
from smdebug.error_isolation import isolate_errors
from smdebug.rules.step_monitor import Verdict, exit_training

Result = TypeVar("Result")


class CaptureSink(Protocol):
    """Takes the steps of an adapter, and whatever goes wrong in them."""

    @property
    def is_recording(self) -> bool:
        """Whether steps still count: not after an error or once the hook closes."""

    def isolate_errors(
        self, where: str, passing: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> isolate_errors:
        """A context that ends the recording at an exception, and lets the training continue.
        Exceptions of the classes `passing` are raised."""

    def prepare_step(self, mode: ModeKeys | None) -> bool:
        """Applies the configuration to the next step, and returns whether that step saves anything.
        `mode` is the mode of the step; None keeps the current one.

        Raises SMDebugError for an invalid configuration, after which nothing is
        recorded. Every other error ends the recording.
        """

    def begin_step(self, mode: ModeKeys | None = None) -> bool:
        """Begins a step and returns whether it saves anything. `mode` is the mode of the step; None
        keeps the current one. Raises what goes wrong."""

    def judge_step(self, on_stop: Callable[[Verdict], None] = exit_training) -> None:
        """Lets the rules judge the open step, and does what those that fire ask for. `on_stop`
        takes the verdict that asks to stop. Raises RuleEvaluationConditionMet where one asks for
        "raise", and what an `on_fire` function raises."""

    def offer_graph(self, graph: Any) -> None:
        """Shows TensorBoard the tf.Graph `graph`, which need not be complete yet. Only the first
        graph of a run is shown."""

    def warn_once(self, message: str, subject: str) -> None:
        """Logs a warning, the first time for its `subject`."""


class PlanView(Protocol):
    """A view of what the configuration of a hook asks for."""

    @property
    def mode(self) -> ModeKeys:
        """The mode that the script or Keras set last; GLOBAL before that."""

    @property
    def has_rules(self) -> bool:
        """Whether rules judge the steps."""

    @property
    def saves_activations(self) -> bool:
        """Whether a collection of activations by type is saved, such as `relu_input`."""

    def is_bias(self, variable_name: str) -> bool:
        """Whether a variable of that name belongs to collection `biases`."""

    def is_switched_off(self, collection: str) -> bool:
        """Whether the collection saves nothing in the current mode."""

    def check(self) -> None:
        """Raises SMDebugError for an invalid configuration, before the first step."""

    def mark_edited(self) -> None:
        """Makes the next step resolve the configuration anew, because a new layer changed the
        patterns of its collections."""

    def is_next_due(self) -> bool:
        """Whether the next step saves anything."""

    def tensor_patterns(self) -> list[tuple[str, list[str]]]:
        """(collection, regular expressions) of the collections that find tensors by name."""


def attempt(sink: CaptureSink, action: Callable[[], Result], where: str) -> Result | None:
    """Returns what `action()` returns; None where it fails or `sink` does not record."""
    if not sink.is_recording:
        return None
    with sink.isolate_errors(where):
        return action()
    return None
