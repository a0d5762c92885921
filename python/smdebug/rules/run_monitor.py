"""`RunMonitor`: rules that judge a training from inside its process, between its steps."""

import json
import os
from collections.abc import Iterable
from typing import Any

from smdebug import _core
from smdebug.log import get_logger
from smdebug.rules.builtin_rule import Verdict
from smdebug.rules.judge import Judge
from smdebug.rules.rule_specs import core_rule, request_tensors

_logger = get_logger()


class RunMonitor:
    """The rules of the run that this process writes at `out_dir`, which need not exist yet. Like
    `smdebug run`, they judge the steps that are published; the core's RunMonitor drives them.

    `rules` is a list of what `core_rule` takes: names of built-in rules, classes derived from
    smdebug.rules.Rule, or pairs of one of these and its parameters. Steps before `first_step` are
    not judged. Raises what `core_rule` raises, and SMDebugError for an unknown name.
    """

    def __init__(self, rules: Iterable[Any], out_dir: str, first_step: int = 0) -> None:
        run = out_dir if "://" in out_dir else os.path.realpath(os.path.expanduser(out_dir))
        made = [core_rule(rule, lambda *of_class: Judge(*of_class, run)) for rule in rules]
        self._core = _core.RunMonitor.of_own_run(run, made, first_step)
        self._reported: set[int] = set()  # the rules whose verdict `poll` has returned
        self._failed: set[int] = set()  # the rules whose failure is logged

    def request_tensors(self, hook: Any) -> None:
        """Makes `hook` save the tensors that the rules need."""
        request_tensors(hook, self._core.request)

    def poll(self) -> list[Verdict]:
        """Judges the steps that were published and not judged yet, and returns the verdicts of the
        rules that fired since the last call."""
        if self._core.is_judging:
            self._core.poll()
        verdicts = self.verdicts()
        self._log_failures(verdicts)
        new = {
            number: verdict
            for number, verdict in enumerate(verdicts)
            if verdict["status"] == "IssuesFound" and number not in self._reported
        }
        self._reported.update(new)
        return list(new.values())

    def _log_failures(self, verdicts: list[Verdict]) -> None:
        for number, verdict in enumerate(verdicts):
            if verdict["status"] == "Error" and number not in self._failed:
                self._failed.add(number)
                _logger.warning("%s; this rule judges no later step", verdict["message"])

    def fired(self) -> list[Verdict]:
        """The verdicts of all rules that have fired, in the order of the rules."""
        return [each for each in self.verdicts() if each["status"] == "IssuesFound"]

    def finish(self) -> None:
        """Ends the rules: the training is over."""
        self._core.poll()
        self._core.finish()

    def verdicts(self) -> list[Verdict]:
        """The present verdict of each rule, in the order given."""
        return [json.loads(text) for text in self._core.verdicts()]

    def diagnosis(self) -> list[dict[str, Any]]:
        """The causes of what the rules found, the likeliest first: objects with the keys `cause`,
        `confidence`, `consequences`, `evidence` and `try`."""
        return json.loads(self._core.diagnosis())

    def summary(self, ending: str, cost: str = "", problem: str = "") -> str:
        """The text at the end of `smdebug run`, after `finish`: `ending` is how the training
        ended, `cost` what recording took, `problem` what went wrong."""
        return self._core.summary(ending, cost, problem)
