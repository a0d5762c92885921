"""`invoke_rule`: one rule over the steps of a run, as they come."""

from smdebug.exceptions import (
    NoMoreProfilerData,
    RuleEvaluationConditionMet,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.log import get_logger

logger = get_logger()


def invoke_rule(rule_obj, start_step=0, end_step=None, raise_eval_cond=False):
    """Judges the global steps from `start_step` up to, not including, `end_step`, one by one.

    Waits for steps that may still come. Steps and tensors that were not saved are passed over.
    Where the rule's condition is met, that is logged and the next step judged, unless the
    exception says `end_of_rule`; with `raise_eval_cond` the RuleEvaluationConditionMet is raised
    instead. Without `end_step` the call ends with NoMoreData when the run has, or returns at
    NoMoreProfilerData. What else a rule raises goes through.
    """
    step = start_step
    while end_step is None or step < end_step:
        try:
            rule_obj.invoke(step)
        except (TensorUnavailableForStep, StepUnavailable, TensorUnavailable) as missing:
            logger.debug("%s passes over step %d: %s", rule_obj.rule_name, step, missing)
        except RuleEvaluationConditionMet as met:
            if raise_eval_cond:
                raise
            logger.info("%s", met)
            if met.end_of_rule:
                return
        except NoMoreProfilerData:
            return
        step += 1
