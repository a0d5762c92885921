"""`TrainingRules`: rules that judge a training from inside, between its steps."""

import inspect
import json
import os

from smdebug._core import RunJudge
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.reduction_config import ReductionConfig
from smdebug.rules.judge import Judge
from smdebug.rules.rule import Rule


class TrainingRules:
    """The rules of one training.

    `rules` is a list. Each is the name of a built-in rule ("VanishingGradient"), a class derived
    from smdebug.rules.Rule, or a pair of one of these and its parameters:
    ("VanishingGradient", {"threshold": 1e-6}).

    Raises SMDebugTypeError for what is no rule, SMDebugError for an unknown name, and
    SMDebugValueError for parameters that the rule does not take.
    """

    def __init__(self, rules, out_dir, first_step=0):
        run = out_dir if "://" in out_dir else os.path.realpath(os.path.expanduser(out_dir))
        self._judge = RunJudge.create(run, [_parsed(rule, run) for rule in rules], first_step)

    def request_tensors(self, hook):
        """Has `hook` save what the rules look at: statistics where these suffice, as often as
        the hook saves. What the user asked for stays as it is."""
        if hook.save_all:
            return
        asked = set(hook.include_collections)
        for wanted in json.loads(self._judge.request)["collections"]:
            if wanted["name"] in asked:
                continue
            collection = hook.get_collection(wanted["name"])
            if wanted.get("include_regex"):
                collection.include(wanted["include_regex"])
            is_plain = collection.reduction_config is None and hook.reduction_config is None
            if wanted["summary"] and is_plain:
                collection.reduction_config = ReductionConfig(summary=True)
            hook.include_collections.append(wanted["name"])

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


def _parsed(rule, run):
    """What the core takes: a name and texts, or a judge."""
    rule, parameters = rule if isinstance(rule, (tuple, list)) and len(rule) == 2 else (rule, {})
    if not isinstance(parameters, dict):
        raise SMDebugTypeError(f"a rule's parameters are a dict, found {parameters!r}")
    if isinstance(rule, str):
        return rule, {str(name): str(value) for name, value in parameters.items()}
    if not (inspect.isclass(rule) and issubclass(rule, Rule)):
        raise SMDebugTypeError(
            "a rule is the name of a built-in one, a class derived from smdebug.rules.Rule, or "
            f"a pair of one of these and its parameters, found {rule!r}"
        )
    try:
        inspect.signature(rule).bind(None, **parameters)
    except TypeError as error:
        raise SMDebugValueError(f"{rule.__name__} is not made with {parameters}: {error}") from None
    return Judge(rule, parameters, run), {}
