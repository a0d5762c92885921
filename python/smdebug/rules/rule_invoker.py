"""`invoke_rule`: runs one rule over the steps of a run as they arrive."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

from smdebug.exceptions import (
    NoMoreData,
    NoMoreProfilerData,
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.trials.arguments import checked_step
from smdebug.unknown_arguments import with_known_arguments

_logger = get_logger()


class InvocableRule(Protocol):
    """A `Rule`, or a rule that `builtin` returns."""

    rule_name: str

    def invoke(self, step: int) -> None:
        """Judges the global step `step`."""


@with_known_arguments
def invoke_rule(
    rule_obj: InvocableRule,
    start_step: int = 0,
    end_step: int | None = None,
    raise_eval_cond: bool = False,
) -> None:
    """Judges the global steps from `start_step` to `end_step`, `end_step` excluded, one by one.

    Waits for steps that may still arrive, and skips steps and tensors that were not saved. When
    the condition of the rule is met, logs it and continues with the next step, unless the exception
    has `end_of_rule` set. With `raise_eval_cond`, raises the RuleEvaluationConditionMet instead.

    Raises SMDebugTypeError for anything but a rule object and for a step that is no number, and
    SMDebugValueError for an `end_step` below `start_step`. Without `end_step`, raises NoMoreData at
    the end of the run, which a built-in rule has then judged as well, and returns at
    NoMoreProfilerData. Other exceptions of the rule reach the caller.
    """
    if inspect.isclass(rule_obj):
        name = rule_obj.__name__
        raise SMDebugTypeError(
            f"invoke_rule takes a rule, found the class {name}; use invoke_rule({name}(trial))"
        )
    if not hasattr(rule_obj, "invoke"):
        raise SMDebugTypeError(
            f"invoke_rule takes a rule, found {shown(rule_obj)}; make one with builtin(name, "
            "trial), or derive its class from smdebug.rules.Rule"
        )
    start_step = checked_step(start_step, "start_step")
    if end_step is not None and _is_before(end_step, start_step):
        raise SMDebugValueError(
            f"end_step must not be less than start_step, found start_step={start_step}, "
            f"end_step={end_step}"
        )
    if start_step < 0:
        _logger.warning("start_step is %d; the first step of a run is 0", start_step)
        start_step = 0
    _Invocation(rule_obj, raise_eval_cond).run(start_step, end_step)


def _is_before(end_step: Any, start_step: int) -> bool:
    """Whether `end_step`, any number such as float("inf"), is below `start_step`. Raises
    SMDebugTypeError if it is no number."""
    try:
        return bool(end_step < start_step)
    except TypeError:
        raise SMDebugTypeError(
            f"end_step is a whole number, or None for no end, found {shown(end_step)}"
        ) from None


class _Invocation:
    def __init__(self, rule: InvocableRule, raises_findings: bool) -> None:
        self._rule = rule
        self._raises_findings = raises_findings
        self._has_judged = False
        self._missing = ""

    def run(self, start_step: int, end_step: int | None) -> None:
        step = start_step
        try:
            while (end_step is None or step < end_step) and self._judge(step):
                step += 1
            self._report_unjudged()
        except NoMoreData:
            self._conclude()
            raise
        finally:
            if self._missing and not self._has_judged:
                text = "rule %s judged no step: %s"
                _logger.warning(text, self._rule.rule_name, self._missing)

    def _conclude(self) -> None:
        """Lets a built-in rule judge the end of the run."""
        conclude = getattr(self._rule, "conclude", None)
        if conclude is None:
            return
        try:
            conclude()
        except RuleEvaluationConditionMet as met:
            if self._raises_findings:
                raise
            _logger.info("%s", met)

    def _report_unjudged(self) -> None:
        """Lets a built-in rule say that it had nothing to judge until the last step."""
        report = getattr(self._rule, "report_unjudged", None)
        if report is not None:
            report()

    def _judge(self, step: int) -> bool:
        """Returns whether another step may follow."""
        try:
            self._rule.invoke(step)
            self._has_judged = True
        except StepUnavailable as missing:
            _logger.debug("%s skips step %d: %s", self._rule.rule_name, step, missing)
        except (TensorUnavailableForStep, TensorUnavailable) as missing:
            self._missing = str(missing)
            _logger.debug("%s skips step %d: %s", self._rule.rule_name, step, missing)
        except RuleEvaluationConditionMet as met:
            self._has_judged = True
            if self._raises_findings:
                raise
            _logger.info("%s", met)
            return not met.end_of_rule
        except NoMoreProfilerData:
            return False
        return True
