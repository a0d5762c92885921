"""Python rules for the core, which drives a `Judge` like a built-in rule (python/src/rules.cc)."""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules.live_trial import LiveTrial, Parts, RunningStep
from smdebug.rules.rule import Rule
from smdebug.trials import Trial, create_trial


class Judge:
    """One Python rule over one run, which it opens at the first step.

    Attributes: `name`, the name of the class, `steps_judged`, and `missing`: the reason
    why the rule could not judge the last step of that kind, or "". Raises SMDebugValueError for
    parameters that the class does not accept.
    """

    def __init__(self, rule_class: type[Rule], parameters: Mapping[str, Any], run: str) -> None:
        signature = inspect.signature(rule_class)
        try:
            signature.bind(None, **parameters)
        except TypeError as error:
            raise SMDebugValueError(
                f"{rule_class.__name__} does not accept {parameters}: {error}; it takes {signature}"
            ) from None
        self.name: str = rule_class.__name__
        self.steps_judged: int = 0
        self.missing: str = ""
        self._rule_class = rule_class
        self._parameters = parameters
        self._run = run
        self._rule: Rule | None = None

    def judge(self, step: int) -> str | None:
        """Judges the global step `step`. Returns a sentence if the rule fired, else None."""
        if self._rule is None:
            self._rule = self._rule_class(self._open_trial(), **self._parameters)
        try:
            self._rule.invoke(step)
        except (TensorUnavailableForStep, StepUnavailable, TensorUnavailable) as missing:
            self.missing = str(missing)
            return None
        except RuleEvaluationConditionMet:
            self.steps_judged += 1
            return f"{self.name}: the condition of the rule is met at step {step}"
        self.steps_judged += 1
        return None

    def _open_trial(self) -> Trial:
        return create_trial(self._run)


class LiveJudge(Judge):
    """One Python rule over the running steps of the run that this process writes."""

    takes_tensors: bool = True

    def __init__(self, rule_class: type[Rule], parameters: Mapping[str, Any], run: str) -> None:
        super().__init__(rule_class, parameters, run)
        self._trial = LiveTrial(run)

    def judge(  # type: ignore[override]
        self, step: RunningStep, tensors: Iterable[tuple[str, Parts | None]]
    ) -> str | None:
        """Judges the running step `step` with its tensors, which are those of `LiveTrial.show`."""
        self._trial.show(step, tensors)
        return super().judge(step[0])

    def _open_trial(self) -> Trial:
        return self._trial


def load_judge(spec: str, parameters: Mapping[str, str], run: str) -> Judge:
    """The judge for `spec`, "file.py:Class". `parameters` are text, as given with `--set`.

    Raises SMDebugValueError for a file, class or parameter that does not exist.
    """
    path, _, class_name = spec.rpartition(":")
    if not path or not class_name:
        raise SMDebugValueError(f"a Python rule is given as file.py:Class, found '{spec}'")
    rule_class = getattr(_import_file(path), class_name, None)
    if not inspect.isclass(rule_class) or not issubclass(rule_class, Rule):
        raise SMDebugValueError(
            f"'{class_name}' in '{path}' is not a class derived from smdebug.rules.Rule"
        )
    return Judge(rule_class, parameters, run)


def _import_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise SMDebugValueError(f"the rule's file '{path}' does not exist")
    name = os.path.splitext(os.path.basename(path))[0]
    module_spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module
