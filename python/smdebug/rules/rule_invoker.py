"""`invoke_rule`: runs one rule over the steps of a run as they arrive."""

from __future__ import annotations

from typing import Protocol

from smdebug.exceptions import (
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

    Raises SMDebugTypeError for anything but a rule object, and SMDebugValueError for an `end_step`
    below `start_step`. Without `end_step`, raises NoMoreData at
    the end of the run and returns at NoMoreProfilerData. Other exceptions of the
    rule reach the caller.
    """
    if not hasattr(rule_obj, "invoke"):
        raise SMDebugTypeError(
            f"invoke_rule takes a rule, found {shown(rule_obj)}; make one with builtin(name, trial)"
        )
    if end_step is not None and end_step < start_step:
        raise SMDebugValueError(
            f"end_step must not be less than start_step, found start_step={start_step}, "
            f"end_step={end_step}"
        )
    step = start_step
    while end_step is None or step < end_step:
        try:
            rule_obj.invoke(step)
        except (TensorUnavailableForStep, StepUnavailable, TensorUnavailable) as missing:
            _logger.debug("%s skips step %d: %s", rule_obj.rule_name, step, missing)
        except RuleEvaluationConditionMet as met:
            if raise_eval_cond:
                raise
            _logger.info("%s", met)
            if met.end_of_rule:
                return
        except NoMoreProfilerData:
            return
        step += 1
