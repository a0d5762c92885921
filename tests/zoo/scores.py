"""What the results of the cases say of a rule: recall, false alarms, steps until detection."""

import dataclasses
import statistics

import judging


@dataclasses.dataclass
class Score:
    """One rule with one preset over one half of the zoo.

    `meant` faulty cases are of a fault that the rule is meant to find, `found` of them fired it.
    `judged` healthy cases held what the rule looks at, `alarms` names those that fired it. `steps`
    are the global steps at which it fired on the `found`.
    """

    meant: int = 0
    found: int = 0
    judged: int = 0
    missed: list = dataclasses.field(default_factory=list)
    alarms: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)

    @property
    def recall(self):
        """From 0 to 1, or None where no fault of the zoo is the rule's."""
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


def default_set(results):
    """The rules that judge a training when its user asks for none: they need no argument, judged
    healthy runs, and fired on none of them with the tuned preset. Sorted by name."""
    needing = {*judging.NEEDED, judging.COMPARES_RUNS}
    names = {rule for result in results for rule in result["verdicts"]} - needing
    return sorted(name for name in names if _is_quiet(results, name))


def _is_quiet(results, rule):
    tuned = [
        result["verdicts"][rule]["tuned"][0]
        for result in results
        if result["fault"] is None and rule in result["verdicts"]
    ]
    return "NoIssuesFound" in tuned and "IssuesFound" not in tuned


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
