"""`CaptureSink` and `PlanView`: the hook, as its adapters see it.

A hook owns its adapters (for Keras, for tapes, for sessions) and passes them these two and the
session of the core. No adapter knows the hook itself, so each can be read and tested without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from smdebug._core import ModeKeys
from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.error_isolation import isolate_errors
from smdebug.hook import BaseHook
from smdebug.log import get_logger
from smdebug.rules.step_monitor import Verdict, exit_training
from smdebug.tensorflow.graph_file import GraphFile
from smdebug.tensorflow.replica_sessions import ReplicaSessions

if TYPE_CHECKING:
    from smdebug.tensorflow.tensorflow_hook import TensorFlowHook

Result = TypeVar("Result")

_logger = get_logger()


class CaptureSink:
    """Takes the steps of an adapter and its errors, for a hook."""

    def __init__(self, hook: TensorFlowHook) -> None:
        self._hook = hook
        self._graph_file = GraphFile(None if hook.dry_run else hook.tensorboard_dir)
        self._warned: set[str] = set()
        self._is_closed = False

    @property
    def is_recording(self) -> bool:
        """Whether steps still count: not after an error or once the hook closes."""
        return not (self._is_closed or self._hook._failure)

    def close(self) -> None:
        """Ends the recording."""
        self._is_closed = True

    def isolate_errors(self, where: str) -> isolate_errors:
        """Returns a context that ends the recording at an exception, and lets the training
        continue."""
        return isolate_errors(self._hook._latch, where)

    def attempt(self, action: Callable[[], Result], where: str) -> Result | None:
        """Returns the result of `action()`; None if it fails or nothing is recorded."""
        if not self.is_recording:
            return None
        with self.isolate_errors(where):
            return action()
        return None

    def prepare_step(self, mode: ModeKeys | None) -> bool:
        """Applies the configuration to the next step, and returns whether that step saves
        anything. `mode` is the mode of the step; None keeps the current one. An error ends the
        recording.
        """
        hook = self._hook
        try:
            if mode is not None and mode is not hook.mode:
                BaseHook.set_mode(hook, mode)
            hook._prepare_step()
            return hook._session.is_next_due()
        except Exception as error:
            hook._latch("before a step", error)
            return False

    def begin_step(self, mode: ModeKeys | None = None) -> bool:
        """Begins a step and returns whether it saves anything. `mode` is the mode of the step; None
        keeps the current one. Raises every error."""
        hook = self._hook
        if mode is not None:
            hook._session.set_mode(mode)
        is_due = hook._begin_step()
        if is_due:
            self._graph_file.write(hook.mode if mode is None else mode)
        return is_due

    def judge_step(self, on_stop: Callable[[Verdict], None] = exit_training) -> None:
        """Lets the rules judge the open step, and responds if one fires. `on_stop` takes the
        verdict that asks to stop. Raises RuleEvaluationConditionMet if a rule asks for "raise", and
        every exception of an `on_fire` function."""
        rules = self._hook._rules
        if not rules:
            return
        if self.is_recording:
            with self.isolate_errors("while rules judge a step"):
                self._hook._session.before_update()
        rules.apply(on_stop)

    def offer_graph(self, graph: Any) -> None:
        """Shows TensorBoard the tf.Graph `graph`, which need not be complete yet. Only the first
        graph of a run is shown."""
        self._graph_file.offer(graph)

    def warn_once(self, message: str, subject: str) -> None:
        """Logs a warning, the first time for its `subject`."""
        if subject not in self._warned:
            self._warned.add(subject)
            _logger.warning(message)


class PlanView:
    """Answers queries about the configuration of a hook.

    `bias_patterns` are regular expressions for the names of variables that are biases. Collection
    `biases` must not have them itself: the names of an optimizer's variables contain the same word.
    """

    def __init__(self, hook: TensorFlowHook, bias_patterns: list[str]) -> None:
        self._hook = hook
        self._bias_patterns = bias_patterns

    @property
    def mode(self) -> ModeKeys:
        """The mode that the script or Keras set last; GLOBAL before that."""
        return self._hook.mode

    @property
    def has_rules(self) -> bool:
        """Whether rules judge the steps."""
        return bool(self._hook._rules)

    @property
    def saves_activations(self) -> bool:
        """Whether a collection of activations by type is saved, such as `relu_input`."""
        names = self._hook.include_collections  # a script may append what has no hash
        return any(name in names for name in ACTIVATION_COLLECTIONS)

    def is_bias(self, variable_name: str) -> bool:
        """Returns whether a variable of that name belongs to collection `biases`."""
        return any(re.search(pattern, variable_name) for pattern in self._bias_patterns)

    def is_switched_off(self, collection: str) -> bool:
        """Returns whether the collection saves nothing in the current mode."""
        save_config = self._hook.get_collection(collection).save_config
        mode = save_config and save_config.get_save_config(self._hook.mode)
        return mode is not None and mode.end_step == 0

    def take_up(self) -> None:
        """Applies the configuration before the first step: a graph that is traced now must know
        the tensors to save."""
        if not self._hook._has_begun:
            self._hook._hand_over_configuration()

    def mark_edited(self) -> None:
        """Makes the next step resolve the configuration again, because a new layer changed the
        patterns of its collections."""
        self._hook.mark_edited()

    def is_next_due(self) -> bool:
        """Returns whether the next step saves anything."""
        hook = self._hook
        if hook._failure:
            return False
        if hook._has_begun:
            hook._take_up_edits()
        return hook._session.is_next_due()

    def tensor_patterns(self) -> list[tuple[str, list[str]]]:
        """Returns (collection, regular expressions) of the collections that find tensors by
        name."""
        hook, found = self._hook, []
        for name, collection in hook.get_collections().items():
            patterns = [*collection.include_regex]
            names = [each for each in collection.tensor_names if isinstance(each, str)]
            patterns += [f"^{re.escape(each)}$" for each in names]
            # An operation stands for all of its outputs.
            added = getattr(collection, "added_patterns", list)()
            patterns += [each[:-1] + r"(:\d+)?$" for each in added]
            if name == "default":
                patterns += hook.include_regex
            if name == "all" and (hook.save_all or "all" in hook.include_collections):
                patterns.append(".*")
            if patterns:
                found.append((name, patterns))
        return found


class CaptureContext(NamedTuple):
    """The parts of a hook that its adapters work with."""

    sink: CaptureSink
    plan: PlanView
    session: ReplicaSessions
