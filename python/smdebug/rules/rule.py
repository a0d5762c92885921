"""`Rule`: the base class of rules written in Python."""

from smdebug.analysis.utils import no_refresh
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugNotImplementedError
from smdebug.log import get_logger
from smdebug.rules.action import Actions
from smdebug.rules.required_tensors import RequiredTensors


class Rule:
    """A condition on a run that is looked at step by step.

    A subclass writes `invoke_at_step(step)`, which returns True where the condition is met, and
    may say in `set_required_tensors(step)` which tensors it wants, so that they are fetched
    before. `step` is a global step.

    `base_trial` is the `Trial` that is judged, `other_trials` a list of those it is compared
    with; `action_str` lists what to do when the condition is met (see `Actions`). Their
    attributes: `base_trial`, `other_trials`, `trials` (all of them, the base first),
    `req_tensors` (a `RequiredTensors`), `logger`, `rule_name` (the class's name), and `report`, a
    dict that the subclass may fill.
    """

    def __init__(self, base_trial, action_str=None, other_trials=None):
        self.base_trial = base_trial
        self.other_trials = list(other_trials or [])
        self.trials = [base_trial, *self.other_trials]
        self.req_tensors = RequiredTensors(self.trials)
        self.logger = get_logger()
        self.rule_name = type(self).__name__
        self._actions = Actions(action_str, self.rule_name, base_trial)
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
        """Whether the condition is met at `step`. A subclass must write it."""
        raise SMDebugNotImplementedError(f"{self.rule_name} has no method invoke_at_step(step)")

    def invoke(self, step):
        """Judges one step of the base trial, for which it waits.

        While the rule looks, no trial looks for new steps. Where the condition is met, the
        actions are performed and RuleEvaluationConditionMet is raised. Raises what
        `Trial.wait_for_steps` and `RequiredTensors.fetch` raise.
        """
        self.base_trial.wait_for_steps([step])
        with no_refresh(self.trials):
            self.req_tensors.clear()
            self.set_required_tensors(step)
            self.req_tensors.fetch()
            condition_met = self.invoke_at_step(step)
        if condition_met:
            self._actions.invoke(f"the condition of the rule is met at step {step}", step)
            raise RuleEvaluationConditionMet(self.rule_name, step)
