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
    """Judges the steps from `start_step` up to, not including, `end_step`.

    Steps and tensors that were not saved are passed over. Where the rule's condition is met, the
    step is logged, or RuleEvaluationConditionMet raised with `raise_eval_cond`. A run that has
    ended ends the call with NoMoreData.
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
            if getattr(met, "end_of_rule", False):
                return
        except NoMoreProfilerData:
            return
        step += 1
