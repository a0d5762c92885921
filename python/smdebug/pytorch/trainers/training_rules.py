"""`TrainingRules`: rules that judge a training from inside, between its steps."""

import json
import os

from smdebug._core import RunJudge
from smdebug.rules.judge import Judge
from smdebug.rules.requested import core_rule, request_tensors


class TrainingRules:
    """The rules of one training.

    `rules` is a list of what `core_rule` takes: names of built-in rules, classes derived from
    smdebug.rules.Rule, or pairs of one of these and its parameters. Raises what that raises, and
    SMDebugError for an unknown name.
    """

    def __init__(self, rules, out_dir, first_step=0):
        run = out_dir if "://" in out_dir else os.path.realpath(os.path.expanduser(out_dir))
        made = [core_rule(rule, lambda *of_class: Judge(*of_class, run)) for rule in rules]
        self._judge = RunJudge.create(run, made, first_step)

    def request_tensors(self, hook):
        """Has `hook` save what the rules look at."""
        request_tensors(hook, self._judge.request)

    def look(self):
        """Judges the steps that were published and not judged yet; returns the verdicts of the
        rules that fired, each a dict with "rule", "step", "message", ..."""
        if not self._judge.is_judging:
            return []
        fired_before = len(self.fired())
        self._judge.look()
        return self.fired()[fired_before:]

    def fired(self):
        """The verdicts of all rules that have fired."""
        return [each for each in self.verdicts() if each["status"] == "IssuesFound"]

    def finish(self):
        """The training is over: a rule that judged something and did not fire found no issue."""
        self._judge.look()
        self._judge.finish()

    def verdicts(self):
        """The present verdict of each rule, in the order given."""
        return [json.loads(line) for line in self._judge.verdicts()]

    def text(self):
        """One line per rule."""
        return self._judge.text()
