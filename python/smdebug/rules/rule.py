"""`Rule`: the base class of rules written in Python."""

from smdebug.analysis.utils import no_refresh
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugNotImplementedError
from smdebug.log import get_logger
from smdebug.rules.required_tensors import RequiredTensors


class Rule:
    """A condition on a run that is looked at step by step.

    A subclass writes `invoke_at_step(step)`, which returns True where the condition is met, and
    may say in `set_required_tensors(step)` which tensors it wants, so that they are fetched
    before. `step` is a global step.
    """

    def __init__(self, base_trial, action_str="", other_trials=None):
        if action_str:
            raise SMDebugNotImplementedError(
                f"actions are not there yet; leave action_str out, found {action_str!r}"
            )
        self.base_trial = base_trial
        self.other_trials = list(other_trials or [])
        self.trials = [base_trial, *self.other_trials]
        self.req_tensors = RequiredTensors(self.trials)
        self.logger = get_logger()
        self.rule_name = type(self).__name__
        self.report = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }

    def set_required_tensors(self, step):
        """Adds to `self.req_tensors` what `invoke_at_step(step)` will look at."""

    def invoke_at_step(self, step):
        """Whether the condition is met at `step`."""
        raise SMDebugNotImplementedError(f"{self.rule_name} has no method invoke_at_step(step)")

    def invoke(self, step):
        """Judges one step. Raises RuleEvaluationConditionMet where the condition is met."""
        self.base_trial.wait_for_steps([step])
        with no_refresh(self.trials):
            self.req_tensors.clear()
            self.set_required_tensors(step)
            self.req_tensors.fetch()
            condition_met = self.invoke_at_step(step)
        if condition_met:
            raise RuleEvaluationConditionMet(self.rule_name, step)
