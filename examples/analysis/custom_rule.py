"""A rule in Python: reports the steps at which a gradient is below a threshold.

usage: custom_rule.py RUN [THRESHOLD]
"""

import sys

from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import create_trial


class GradientTooSmall(Rule):
    """Fires if the mean absolute gradient of any parameter is below `threshold`."""

    def __init__(self, base_trial, threshold=1e-7):
        super().__init__(base_trial)
        self.threshold = float(threshold)

    def set_required_tensors(self, step):
        for name in self.base_trial.tensor_names(step=step, collection="gradients"):
            self.req_tensors.add(name, steps=[step])

    def invoke_at_step(self, step):
        for tensor in self.req_tensors.get():
            if tensor.reduction_value(step, "mean", abs=True) < self.threshold:
                print(f"{tensor.name} vanishes")
                return True
        return False


rule = GradientTooSmall(create_trial(sys.argv[1]), *sys.argv[2:3])
try:
    invoke_rule(rule, raise_eval_cond=True)
except RuleEvaluationConditionMet as met:
    print(f"{met.rule_name} at step {met.step}")
except NoMoreData as end:
    print(f"nothing found up to step {end.last_step}")
