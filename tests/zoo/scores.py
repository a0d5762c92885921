"""The scores of a rule over all cases: recall, false alarms, steps until detection."""

import dataclasses
import statistics

import judging

from smdebug import _core

HEALTHY_PER_ADVICE = 60


@dataclasses.dataclass
class Score:
    """One rule with one preset over one half of the zoo.

    `meant` counts the faulty cases whose fault the rule must find, and `found` those on which it
    fired. `judged` counts the healthy cases with the tensors of the rule, `alarms` names those on
    which it fired. `steps` are the global steps at which it fired on the `found`.
    """

    meant: int = 0
    found: int = 0
    judged: int = 0
    missed: list = dataclasses.field(default_factory=list)
    alarms: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)

    @property
    def recall(self):
        """From 0 to 1, or None if no fault of the zoo is meant for the rule."""
        return self.found / self.meant if self.meant else None

    @property
    def median_step(self):
        return statistics.median(self.steps) if self.steps else None


def score(results, rule, preset, half):
    """The `Score` of a rule, from results as run_zoo.py collects them."""
    total = Score()
    for result in results:
        if result["half"] != half or rule not in result["verdicts"]:
            continue
        status, step, _ = result["verdicts"][rule][preset]
        fired = status == "IssuesFound"
        if result["fault"] is None:
            total.judged += status != "Error"
            if fired:
                total.alarms.append(result["case"])
        elif rule in result["meant"]:
            total.meant += 1
            total.found += fired
            (total.steps if fired else total.missed).append(step if fired else result["case"])
    return total


def admitted(results):
    """The rules that may judge a training if the user names none: they need no argument, judged
    healthy runs, and fired on none of them with the tuned preset. A rule that only advises may fire
    on one in HEALTHY_PER_ADVICE. Sorted by name."""
    needing = {*judging.NEEDED, judging.COMPARES_RUNS}
    names = {rule for result in results for rule in result["verdicts"]} - needing
    return sorted(name for name in names if _is_quiet(results, name))


def only_advise():
    """The names of the rules all of whose findings are advice."""
    return {
        rule["name"]
        for rule in _core.builtin_rules()
        if all(advice["severity"] == "advice" for advice in rule["advice"])
    }


def _is_quiet(results, rule):
    tuned = [
        result["verdicts"][rule]["tuned"][0]
        for result in results
        if result["fault"] is None and rule in result["verdicts"]
    ]
    fired, clean = tuned.count("IssuesFound"), tuned.count("NoIssuesFound")
    if not clean:
        return False
    return HEALTHY_PER_ADVICE * fired <= fired + clean if rule in only_advise() else not fired


def also_fires(results, preset):
    """fault -> rule -> how many of its cases fired a rule that is not meant for it."""
    table = {}
    for result in results:
        if result["fault"] is None:
            continue
        for rule, verdicts in result["verdicts"].items():
            if verdicts[preset][0] == "IssuesFound" and rule not in result["meant"]:
                rules = table.setdefault(result["fault"], {})
                rules[rule] = rules.get(rule, 0) + 1
    return table
