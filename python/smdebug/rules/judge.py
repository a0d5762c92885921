"""Python rules for the core, which drives a `Judge` like a built-in rule (python/src/rules.cc)."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import traceback
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from smdebug.booleans import find_boolean
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugRuntimeError,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.log import get_logger
from smdebug.rules.live_trial import LiveTrial, Parts, RunningStep
from smdebug.rules.rule import Rule, refuse_unusual_methods
from smdebug.trials import Trial, create_trial

_logger = get_logger()
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Judge:
    """One Python rule over one run, which it opens at the first step.

    Attributes: `name`, the name of the class, `steps_judged`, and `missing`: the reason
    why the rule could not judge the last step of that kind, or "". Raises SMDebugValueError for
    parameters that the class does not accept.
    """

    def __init__(self, rule_class: type[Rule], parameters: Mapping[str, Any], run: str) -> None:
        _check_parameters(rule_class, parameters)
        _check_methods(rule_class)
        self.name: str = rule_class.__name__
        self.steps_judged: int = 0
        self.missing: str = ""
        self._rule_class = rule_class
        self._parameters = parameters
        self._run = run
        self._rule: Rule | None = None

    def judge(self, step: int) -> str | None:
        """Judges the global step `step`. Returns a sentence if the rule fired, else None. Raises
        SMDebugRuntimeError, with one line, for what the rule raises; the log has the traceback at
        level debug."""
        what = "cannot be made" if self._rule is None else f"failed at step {step}"
        try:
            if self._rule is None:
                self._rule = self._rule_class(self._open_trial(), **self._parameters)
            what = f"failed at step {step}"
            return self._judge(self._rule, step)
        except BaseException as error:  # the core takes only an error with a sentence
            _logger.debug("rule %s %s", self.name, what, exc_info=error)
            text = f"rule {self.name} {what}: {_one_line(error)}"
            raise SMDebugRuntimeError(text) from error

    def _judge(self, rule: Rule, step: int) -> str | None:
        try:
            rule.invoke(step)
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
        try:
            return super().judge(step[0])
        except SMDebugRuntimeError as failure:
            # Nothing else shows it before the hook is closed.
            _logger.warning("%s; this rule judges no later step", failure)
            raise

    def _open_trial(self) -> Trial:
        return self._trial


def load_judge(spec: str, parameters: Mapping[str, str], run: str) -> Judge:
    """The judge for `spec`, "file.py:Class". `parameters` are text, as given with `--set`.

    Raises SMDebugValueError for a file, class or parameter that does not exist.
    """
    path, _, class_name = spec.rpartition(":")
    if not path or not class_name:
        raise SMDebugValueError(f"a Python rule is given as file.py:Class, found '{spec}'")
    module = _import_file(path)
    rule_class = getattr(module, class_name, None)
    if rule_class is None:
        raise SMDebugValueError(f"'{path}' has no class '{class_name}'; {_rules_text(module)}")
    if not _is_rule(rule_class):
        raise SMDebugValueError(
            f"'{class_name}' in '{path}' is not a class derived from smdebug.rules.Rule"
        )
    return Judge(rule_class, _typed(rule_class, parameters), run)


def _typed(rule_class: type[Rule], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Returns the values as the types of the parameters' defaults, where these are numbers or
    booleans. For a parameter without a default, text that is a number becomes one; other values
    stay text."""
    taken = inspect.signature(rule_class).parameters
    return {
        name: _typed_value(f"rule {rule_class.__name__}: parameter '{name}'", text, taken.get(name))
        for name, text in parameters.items()
    }


def _typed_value(subject: str, text: str, parameter: inspect.Parameter | None) -> Any:
    default = parameter.default if parameter else None
    if parameter and default is parameter.empty:  # its type is unknown
        return _number_of(text, text)
    if type(default) is bool:
        value: Any = find_boolean(text)
        if value is None:
            raise SMDebugValueError(f"{subject} should be true or false, found '{text}'")
        return value
    if type(default) not in (int, float):
        return text
    number = _number_of(text, None)
    if number is None:
        raise SMDebugValueError(f"{subject} should be a number, found '{text}'")
    return number


def _number_of(text: str, other: Any) -> Any:
    """Returns the number in `text`, or `other` if it is none."""
    for convert in (int, float):
        with contextlib.suppress(ValueError):
            return convert(text)
    return other


def _is_rule(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Rule)


def _rules_text(module: ModuleType) -> str:
    rules = [name for name, value in vars(module).items() if _is_rule(value) and value is not Rule]
    return f"its rules are {', '.join(rules)}" if rules else "it has no class derived from Rule"


def _import_file(path: str) -> ModuleType:
    if path.startswith("s3://"):
        raise SMDebugValueError(
            f"the rule's file '{path}' is in an object store: download it, and give its path on "
            "this machine"
        )
    if not os.path.isfile(path):
        raise SMDebugValueError(f"the rule's file '{path}' does not exist: check its path")
    name = os.path.splitext(os.path.basename(path))[0]
    module_spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(module_spec)
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        _logger.debug("the rule's file '%s' cannot be imported", path, exc_info=error)
        text = f"the rule's file '{path}' cannot be imported: {_one_line(error)}"
        raise SMDebugValueError(text) from error
    return module


def _check_methods(rule_class: type[Rule]) -> None:
    """Raises SMDebugValueError for a class that can judge no step."""
    if rule_class.invoke_at_step is Rule.invoke_at_step:
        has_invoke = rule_class.invoke is not Rule.invoke
        raise SMDebugValueError(
            f"rule {rule_class.__name__} has no method invoke_at_step(step): add one that returns "
            "whether its condition is met" + ("; do not replace invoke" if has_invoke else "")
        )
    refuse_unusual_methods(rule_class)


def _check_parameters(rule_class: type[Rule], parameters: Mapping[str, Any]) -> None:
    """Raises SMDebugValueError for parameters that the class does not take, and for those that it
    needs and does not get."""
    signature = inspect.signature(rule_class)
    rest = list(signature.parameters.values())[1:]  # without the trial
    takes_any = any(each.kind is each.VAR_KEYWORD for each in rest)
    named = [each for each in rest if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    known = [each.name for each in named]
    for name in parameters:
        if name not in known and not takes_any:
            raise SMDebugValueError(
                f"rule {rule_class.__name__} has no parameter '{name}'; {_known_text(known)}"
            )
    for each in named:
        if each.default is each.empty and each.name not in parameters:
            raise SMDebugValueError(
                f"rule {rule_class.__name__} needs a value for its parameter '{each.name}': "
                f"pass --set {each.name}=... on the command line, or "
                f"({rule_class.__name__}, {{'{each.name}': ...}}) in the rules of a hook"
            )
    try:
        signature.bind(None, **parameters)
    except TypeError as error:
        raise SMDebugValueError(
            f"rule {rule_class.__name__} cannot be made: {error}; it takes {signature}"
        ) from None


def _known_text(known: list[str]) -> str:
    return f"it takes {', '.join(known)}" if known else "it takes none"


def _one_line(error: BaseException) -> str:
    """The error and its place, the innermost one outside of smdebug: "ValueError: no (my.py:8)"."""
    text = " ".join(str(error).split())
    sentence = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        reason = " ".join(str(error.msg).split())
        return f"{type(error).__name__}: {reason} ({error.filename}:{error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_ours = frame.filename.startswith(_PACKAGE) or frame.filename.startswith("<frozen ")
        if not is_ours:
            return f"{sentence} ({frame.filename}:{frame.lineno})"
    return sentence
