"""`builtin`: a rule that comes with smdebug, over a trial."""

import json

from smdebug import _core
from smdebug.exceptions import (
    InsufficientInformationForRuleInvocation,
    RuleEvaluationConditionMet,
    SMDebugValueError,
)
from smdebug.log import get_logger

logger = get_logger()


def builtin(name, base_trial=None, **parameters):
    """The built-in rule `name`, "DeadRelu" or "dead_relu", with its parameters.

        invoke_rule(builtin("dead_relu", trial, threshold_inactivity=2))
        verdict = builtin("dead_relu").over(trial).judge()

    `smdebug rules NAME` and docs/rules.md list parameters and defaults. A list stands for text
    with commas, None for the default. Raises SMDebugError with the code "not_found" for a name
    that is none, SMDebugValueError for parameters that make no sense.
    """
    return BuiltinRule(name, base_trial, parameters)


class BuiltinRule:
    """One built-in rule, which judges the run of `base_trial` once, from its first step on. The
    core's RunMonitor drives it.

    Attributes: `rule_name`, `base_trial`, `parameters` (texts, as given).
    """

    def __init__(self, name, base_trial, parameters):
        self.parameters = {key: _text(value) for key, value in parameters.items()}
        self.rule_name = _core.checked_rule_name(name, self.parameters)
        self.base_trial = base_trial
        self._monitor = None
        if base_trial is not None:
            self._monitor = _core.RunMonitor.of_trial(
                base_trial._core, [(self.rule_name, self.parameters)]
            )

    def over(self, trial):
        """The same rule, which has judged nothing yet, for `trial`."""
        return BuiltinRule(self.rule_name, trial, self.parameters)

    def invoke(self, step):
        """Judges up to the global step `step`, for which it waits, beginning with the first one
        that is asked for.

        Raises RuleEvaluationConditionMet, with `end_of_rule`, once the rule has fired at `step`
        or before; InsufficientInformationForRuleInvocation where it cannot go on; and what
        `Trial.wait_for_steps` raises.
        """
        monitor = self._checked_monitor()
        self.base_trial.wait_for_steps([step])
        monitor.poll(step)
        verdict = self.verdict()
        if verdict["status"] == "Error":
            raise InsufficientInformationForRuleInvocation(self.rule_name, verdict["message"])
        if verdict["status"] == "IssuesFound" and verdict["step"]["global"] <= step:
            logger.info("%s: %s", self.rule_name, verdict["message"])
            raise RuleEvaluationConditionMet(
                self.rule_name, verdict["step"]["global"], end_of_rule=True
            )

    def judge(self):
        """Judges every step of the run, as if none would follow, and returns the verdict.

        CreateXgboostReport writes its report into the run. Raises SMDebugError for a report that
        cannot be written, and for a run to compare with that cannot be read.
        """
        monitor = self._checked_monitor()
        self.base_trial._core.refresh()
        monitor.poll()
        monitor.finish()
        return self.verdict()

    def verdict(self):
        """What the rule says so far: a dict like those of `smdebug check --json`."""
        return json.loads(self._checked_monitor().verdicts()[0])

    def _checked_monitor(self):
        if self._monitor is None:
            raise SMDebugValueError(
                f"rule {self.rule_name} has no trial to judge; make it with builtin(name, trial)"
            )
        return self._monitor


def _text(value):
    if isinstance(value, (list, tuple, set)):
        return ",".join(map(str, value))
    return str(value)
