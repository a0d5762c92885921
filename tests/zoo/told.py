"""Counts what `smdebug run` reports without options: the outcome of each case.

The rules are the default ones of this version, whatever the zoo would choose.
"""

import collections
import dataclasses
import enum
import statistics


class Outcome(enum.Enum):
    """Of a faulty training, from best to worst."""

    right = "right cause leads"
    half = "half right"
    wrong = "wrong"
    silent = "not found"


def outcome(fault, told):
    """How well `told` (`judging.default_rules`) names `fault` (faults.Fault).

    If the leading diagnosis names the cause, it is right; if it lists it among more causes, or
    another finding names it, half right. Other findings are wrong, and advice counts as silence.
    Where nothing above advice was found, a note that tells the cause is right.
    """
    if not above_advice(told) and fault.is_noted_in(told["notes"]):
        return Outcome.right
    leading = told["causes"][:1] or told["findings"]  # only advice
    if any(fault.is_named_by(rule, kind) for rule, kind, *_ in leading):
        return Outcome.right
    if any(fault.is_hinted_by(rule, kind) for rule, kind, *_ in leading):
        return Outcome.half
    if not above_advice(told):
        return Outcome.silent
    is_named = any(fault.is_named_by(rule, kind) for rule, kind, *_ in told["findings"])
    return Outcome.half if is_named else Outcome.wrong


def above_advice(told):
    """The findings that are more than advice."""
    return [finding for finding in told["findings"] if finding[2] != "advice"]


def advice(told):
    return [finding for finding in told["findings"] if finding[2] == "advice"]


@dataclasses.dataclass
class Counts:
    """Of results as run_zoo.py collects them; those without `told` are left out."""

    outcomes: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    harmless: int = 0  # not found, and as good as the worst of the healthy trainings
    healthy: int = 0
    alarmed: int = 0  # healthy trainings
    alarms: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by rule
    advice: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by rule
    steps: list = dataclasses.field(default_factory=list)
    lines: list = dataclasses.field(default_factory=list)

    @property
    def faulty(self):
        return self.outcomes.total()

    @property
    def found(self):
        return self.faulty - self.outcomes[Outcome.silent]


def count(results, faults):
    """The `Counts` of results; `faults` are by name."""
    counts = Counts()
    healthy = _worst_healthy(results)
    for result in results:
        told = result.get("told")
        if told is None:
            continue
        counts.lines.append(told["lines"])
        if result["fault"] is None:
            _count_healthy(counts, told)
            continue
        found = outcome(faults[result["fault"]], told)
        counts.outcomes[found] += 1
        if found is Outcome.silent:
            worst = healthy.get(_recipe(result))
            counts.harmless += worst is not None and result["quality"] >= worst
        else:
            findings = above_advice(told) or told["findings"]
            if findings:  # else a note, which tells no step
                counts.steps.append(min(step for *_, step in findings))
    return counts


def _worst_healthy(results):
    """The lowest quality of the healthy trainings of each recipe."""
    worst = {}
    for result in results:
        if result["fault"] is None and result.get("quality") is not None:
            recipe = _recipe(result)
            worst[recipe] = min(worst.get(recipe, result["quality"]), result["quality"])
    return worst


def _recipe(result):
    """("text", "tune") for "healthy/text/tune/0"."""
    return tuple(result["case"].split("/")[-3:-1])


def _count_healthy(counts, told):
    counts.healthy += 1
    counts.alarmed += bool(above_advice(told))
    counts.alarms.update(rule for rule, *_ in above_advice(told))
    counts.advice.update(rule for rule, *_ in advice(told))


def summary(counts):
    """As JSON has it."""
    return {
        "faulty": counts.faulty,
        "found": counts.found,
        **{each.name: counts.outcomes[each] for each in Outcome},
        "harmless": counts.harmless,
        "healthy": counts.healthy,
        "healthy_with_false_alarm": counts.alarmed,
        "false_alarms": dict(sorted(counts.alarms.items())),
        "advice": dict(sorted(counts.advice.items())),
        "median_step": median(counts.steps),
        "median_lines": median(counts.lines),
        "most_lines": max(counts.lines, default=None),
    }


def median(values):
    return statistics.median(values) if values else None
