"""`builtin`: a built-in rule over a trial."""

from __future__ import annotations

import json
from typing import Any

from smdebug import _core
from smdebug.analysis.utils import refuse_path
from smdebug.exceptions import (
    InsufficientInformationForRuleInvocation,
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.trials import Trial

_logger = get_logger()

Verdict = dict[str, Any]


def builtin(name: str, base_trial: Trial | None = None, **parameters: object) -> BuiltinRule:
    """The built-in rule `name`, such as "DeadRelu" or "dead_relu", with its parameters.

        invoke_rule(builtin("dead_relu", trial, threshold_inactivity=2))
        verdict = builtin("dead_relu").over(trial).judge()

    `smdebug rules NAME` and docs/rules.md list the parameters and their defaults. Pass a list where
    the command line takes text with commas, and None for the default. Raises SMDebugError with the
    code "not_found" for an unknown name, SMDebugTypeError for a name that is not text, and
    SMDebugValueError for invalid parameters.
    """
    return BuiltinRule(name, base_trial, parameters)


class BuiltinRule:
    """One built-in rule. It judges the run of `base_trial` once, from the first step on.

    Attributes: `rule_name`, `base_trial`, and `parameters`, the given parameters as text.
    """

    def __init__(self, name: str, base_trial: Trial | None, parameters: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise SMDebugTypeError(_wrong_name(name, base_trial))
        refuse_path(f"rule {name}", base_trial)
        if "action_str" in parameters:
            raise SMDebugValueError(
                f"builtin takes no action_str: use 'smdebug check RUN --rule {name} --action "
                "stop', or perform Actions(...) when the rule has fired: see docs/actions.md"
            )
        self.parameters: dict[str, str] = {key: _text(value) for key, value in parameters.items()}
        self.rule_name: str = _core.checked_rule_name(name, self.parameters)
        self.base_trial = base_trial
        self._monitor = None
        if base_trial is not None:
            self._monitor = _core.RunMonitor.of_trial(
                base_trial._published, [(self.rule_name, self.parameters)]
            )

    def over(self, trial: Trial) -> BuiltinRule:
        """A new rule of the same kind and with the same parameters, for `trial`."""
        return BuiltinRule(self.rule_name, trial, self.parameters)

    def invoke(self, step: int) -> None:
        """Waits for the global step `step`, and judges the run up to it. The first call decides
        where judging starts.

        Raises RuleEvaluationConditionMet, with `end_of_rule` set, once the rule has fired at `step`
        or before; InsufficientInformationForRuleInvocation if the rule cannot continue; and what
        `Trial.wait_for_steps` raises.
        """
        trial, monitor = self._checked()
        trial.wait_for_steps([step])
        monitor.poll(step)
        verdict = self.verdict()
        if verdict["status"] == "Error":
            raise InsufficientInformationForRuleInvocation(self.rule_name, verdict["message"])
        if verdict["status"] == "IssuesFound" and verdict["step"]["global"] <= step:
            self._raise_finding(verdict)

    def conclude(self) -> None:
        """Judges the end of the run after `invoke` has judged its steps. Logs a warning if the rule
        judged nothing. Raises RuleEvaluationConditionMet as `invoke` if it fires only now."""
        _, monitor = self._checked()
        monitor.finish()
        verdict = self.verdict()
        if verdict["status"] == "Error":
            _logger.warning("rule %s: %s", self.rule_name, verdict["message"])
        elif verdict["status"] == "IssuesFound":
            self._raise_finding(verdict)

    def report_unjudged(self) -> None:
        """Logs a warning if the run so far has nothing that the rule could judge."""
        trial, _ = self._checked()
        if self.verdict()["observations_found"]:
            return
        verdict = self.over(trial).judge()
        if verdict["status"] == "Error":
            _logger.warning("rule %s: %s", self.rule_name, verdict["message"])

    def _raise_finding(self, verdict: Verdict) -> None:
        _logger.info("%s: %s", self.rule_name, verdict["message"])
        raise RuleEvaluationConditionMet(
            self.rule_name, verdict["step"]["global"], end_of_rule=True
        )

    def judge(self) -> Verdict:
        """Judges every step of the run as if no other step would follow. Returns the verdict.

        CreateXgboostReport also writes its report into the run. Raises SMDebugError if the report
        cannot be written or a run to compare with cannot be read.
        """
        trial, monitor = self._checked()
        trial.refresh()
        monitor.poll()
        monitor.finish()
        return self.verdict()

    def verdict(self) -> Verdict:
        """The verdict so far: a dict of the shape that `smdebug check --json` prints."""
        _, monitor = self._checked()
        return json.loads(monitor.verdicts()[0])

    def _checked(self) -> tuple[Trial, _core.RunMonitor]:
        if self.base_trial is None or self._monitor is None:
            raise SMDebugValueError(
                f"rule {self.rule_name} has no trial to judge; make it with builtin(name, trial)"
            )
        return self.base_trial, self._monitor


def _wrong_name(name: object, base_trial: object) -> str:
    if isinstance(base_trial, str):
        return (
            f"the name of the rule and the trial are swapped: builtin({shown(name)}, "
            f"{base_trial!r}); use builtin({base_trial!r}, trial)"
        )
    return f"builtin takes the name of a rule first, found {shown(name)}; use builtin(name, trial)"


def _text(value: object) -> str:
    if isinstance(value, (list, tuple, set)):
        return ",".join(map(_text, value))
    return value.path if isinstance(value, Trial) else str(value)
