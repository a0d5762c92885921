"""`TensorFlowHook`: what the hooks for TensorFlow and Keras share."""

import contextlib
import re
import sys
from collections.abc import Callable
from typing import Any

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.error_isolation import isolate_errors
from smdebug.exceptions import SMDebugError
from smdebug.hook import BaseHook
from smdebug.log import get_logger
from smdebug.rules.step_monitor import Verdict, exit_training
from smdebug.tensorflow import names
from smdebug.tensorflow.collection import Collection, layer_pattern
from smdebug.tensorflow.graph_file import GraphFile

logger = get_logger()


class TensorFlowHook(BaseHook):
    """A hook whose collections take variables, tensors and layers."""

    collection_class = Collection

    def add_to_collection(self, collection_name: str, variable: Any) -> None:
        """Adds `variable` to the collection of that name, which is created if needed. `variable` is
        a variable, a tensor of a graph, an operation, or a list of them.

        Raises SMDebugTypeError for what has no name, such as a tensor of eager code.
        """
        self.get_collection(collection_name).add(variable)

    @classmethod
    def make_framework(cls) -> _core.Framework:
        """The collections that are built in for TensorFlow."""
        return _core.tensorflow_framework()

    def _versions(self):
        found = {name: sys.modules.get(name) for name in ("tensorflow", "keras")}
        versions = {name: module.__version__ for name, module in found.items() if module}
        return super()._versions() | versions

    def _layer_name(self, layer):
        """The name that the tensors of a layer begin with."""
        return layer.name

    def _module_patterns(self, collection):
        patterns = list(getattr(collection, "added_patterns", list)())
        for layer, inputs, outputs in getattr(collection, "added_layers", list)():
            name = self._layer_name(layer)
            if inputs:
                patterns.append(layer_pattern(names.layer_inputs(name)))
            if outputs:
                patterns.append(layer_pattern(names.layer_outputs(name)))
        return patterns


class HookSink:
    """The CaptureSink of a TensorFlowHook. Only this class and HookPlan know the hook."""

    def __init__(self, hook: TensorFlowHook) -> None:
        self._hook = hook
        self._graph_file = GraphFile(None if hook.dry_run else hook.tensorboard_dir)
        self._warned: set[str] = set()
        self._is_closed = False

    @property
    def is_recording(self) -> bool:
        """See CaptureSink."""
        return not (self._is_closed or self._hook._failure)

    def close(self) -> None:
        """No step counts from here on."""
        self._is_closed = True

    def isolate_errors(
        self, where: str, passing: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> isolate_errors:
        """See CaptureSink."""
        return isolate_errors(self._hook._latch, where, passing)

    def prepare_step(self, mode: ModeKeys | None) -> bool:
        """See CaptureSink."""
        hook = self._hook
        try:
            if mode is not None and mode is not hook.mode:
                BaseHook.set_mode(hook, mode)
            hook._prepare_step()
            return hook._session.is_next_due()
        except SMDebugError:
            hook._detach()
            raise
        except Exception as error:
            hook._latch("before a step", error)
            return False

    def begin_step(self, mode: ModeKeys | None = None) -> bool:
        """See CaptureSink."""
        hook = self._hook
        if mode is not None:
            hook._session.set_mode(mode)
        is_due = hook._begin_step()
        if is_due:
            self._graph_file.write(hook.mode if mode is None else mode)
        return is_due

    def judge_step(self, on_stop: Callable[[Verdict], None] = exit_training) -> None:
        """See CaptureSink."""
        rules = self._hook._rules
        if not rules:
            return
        if self.is_recording:
            with self.isolate_errors("while rules judge a step"):
                self._hook._session.before_update()
        rules.apply(on_stop)

    def offer_graph(self, graph: Any) -> None:
        """See CaptureSink."""
        self._graph_file.offer(graph)

    def warn_once(self, message: str, subject: str) -> None:
        """See CaptureSink."""
        if subject not in self._warned:
            self._warned.add(subject)
            logger.warning(message)


class HookPlan:
    """The PlanView of a TensorFlowHook.

    `bias_patterns` are regular expressions for the names of variables that are biases. Collection
    `biases` must not have them itself: the names of an optimizer's variables contain the same word.
    """

    def __init__(self, hook: TensorFlowHook, bias_patterns: list[str]) -> None:
        self._hook = hook
        self._bias_patterns = bias_patterns

    @property
    def mode(self) -> ModeKeys:
        """See PlanView."""
        return self._hook.mode

    @property
    def has_rules(self) -> bool:
        """See PlanView."""
        return bool(self._hook._rules)

    @property
    def saves_activations(self) -> bool:
        """See PlanView."""
        return not ACTIVATION_COLLECTIONS.isdisjoint(self._hook.include_collections)

    def is_bias(self, variable_name: str) -> bool:
        """See PlanView."""
        return any(re.search(pattern, variable_name) for pattern in self._bias_patterns)

    def is_switched_off(self, collection: str) -> bool:
        """See PlanView."""
        save_config = self._hook.get_collection(collection).save_config
        mode = save_config and save_config.get_save_config(self._hook.mode)
        return mode is not None and mode.end_step == 0

    def check(self) -> None:
        """See PlanView."""
        if not self._hook._has_begun:
            self._hook._hand_over_configuration()

    def mark_edited(self) -> None:
        """See PlanView."""
        self._hook.mark_edited()

    def is_next_due(self) -> bool:
        """See PlanView."""
        hook = self._hook
        if hook._failure:
            return False
        if hook._has_begun:
            with contextlib.suppress(SMDebugError):  # the step that begins reports it
                hook._take_up_edits()
        return hook._session.is_next_due()

    def tensor_patterns(self) -> list[tuple[str, list[str]]]:
        """See PlanView."""
        hook, found = self._hook, []
        for name, collection in hook.get_collections().items():
            patterns = [*collection.include_regex]
            patterns += [f"^{re.escape(each)}$" for each in collection.tensor_names]
            # An operation stands for all of its outputs.
            patterns += [each[:-1] + r"(:\d+)?$" for each in collection.added_patterns()]
            if name == "default":
                patterns += hook.include_regex
            if name == "all" and (hook.save_all or "all" in hook.include_collections):
                patterns.append(".*")
            if patterns:
                found.append((name, patterns))
        return found
