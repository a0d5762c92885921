"""`StepMonitor`: the rules of one hook, which judge each saved step while it runs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from smdebug import _core
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.rules.builtin_rule import BuiltinRule, Verdict
from smdebug.rules.judge import LiveJudge
from smdebug.rules.rule import Rule
from smdebug.rules.rule_specs import core_rule, request_tensors

_logger = get_logger()

_NOTHING_TO_JUDGE = "nothing to judge"
# The end of the reason if nothing was recorded, which the hook reports itself.
_EMPTY_RUN = ("the run has no tensor", "the run has no complete step")

RECORD = "record"
# The later one wins where several rules fire at once.
ANSWERS = (RECORD, "skip_step", "raise", "stop")


def exit_training(verdict: Verdict) -> None:
    """Ends the program with the exit code of a rule that fired: raises SystemExit(3)."""
    _logger.error("%s ends the training at step %d", verdict["rule"], verdict["step"]["global"])
    raise SystemExit(_core.EXIT_RULE_FIRED)


class StepMonitor:
    """The rules of one hook, and the response when one of them fires. The core's StepMonitor
    judges. If a hook records several workers, each worker gets its own rules.

    `rules` and `on_fire` are those of HookOptions: `on_fire` is one of ANSWERS, or a function that
    takes a verdict and returns one of them or None, which means "record". `vetoes` are the answers
    that the adapter can give. `out_dir` is where the run is written.

    Raises SMDebugTypeError and SMDebugValueError for an invalid rule or answer, and SMDebugError
    for a run to compare with that cannot be opened.
    """

    def __init__(
        self,
        rules: Any,
        on_fire: str | Callable[[Verdict], str | None],
        vetoes: Sequence[str],
        out_dir: str,
    ) -> None:
        self._on_fire = checked_answer(on_fire, vetoes)
        self._vetoes = vetoes
        self._rules = _listed(rules)
        self._out_dir = out_dir
        self._core = _core.StepMonitor()
        self._add_worker()
        self._fired: set[str] = set()
        self.skipped_steps: list[int] = []
        self._is_finished = False
        self._has_warned = False  # of an answer that cannot be given

    def join(self, hook: Any, session: _core.Session) -> None:
        """Makes `hook` save what the rules need, and judges the steps of `session`."""
        request_tensors(hook, self._core.request)
        self._core.follow(session)

    def join_worker(self, session: _core.Session) -> None:
        """Judges the steps of a further worker's session, with its own rules."""
        self._add_worker()
        self._core.follow(session)

    def apply(self, stop: Callable[[Verdict], None] = exit_training) -> Verdict | None:
        """Carries out the answers of the rules that fired since the last call: raises
        RuleEvaluationConditionMet for "raise", calls `stop(verdict)` for "stop". Returns the
        verdict that asks to skip the update, else None. Raises whatever an `on_fire` function
        raises."""
        answer, verdict = self._answer()
        if answer == "raise":
            raise RuleEvaluationConditionMet(verdict["rule"], verdict["step"]["global"])
        if answer == "stop":
            stop(verdict)
        return verdict if answer == "skip_step" else None

    def finish(self, reported: Collection[str] = ()) -> None:
        """Ends the rules: no step follows. Logs each rule that judged nothing, unless the hook has
        `reported` each of its collections as one that does not exist."""
        self._core.finish()
        if self._is_finished:
            return
        self._is_finished = True
        for verdict in self.verdicts():
            prefix, _, reason = verdict["message"].partition(": ")
            if prefix != _NOTHING_TO_JUDGE or reason.endswith(_EMPTY_RUN):
                continue
            text = verdict["parameters"].get("collection_names", "")
            wanted = {name.strip() for name in text.split(",")} - {""}
            if not wanted or not wanted <= set(reported):
                _logger.warning("rule %s judged nothing: %s", verdict["rule"], reason)

    def verdicts(self) -> list[Verdict]:
        """The verdict of each rule, in the order given. With several workers it is that of the
        first that fired, else of the first that failed, else of the first worker."""
        return [json.loads(text) for text in self._core.verdicts()]

    def _add_worker(self) -> None:
        def judge(rule: type[Rule], parameters: dict[str, Any]) -> LiveJudge:
            return LiveJudge(rule, parameters, self._out_dir)

        self._core.add_worker([core_rule(rule, judge) for rule in self._rules])

    def _answer(self) -> tuple[str, Verdict]:
        """The strongest answer to the findings since the last call, and the verdict that requests
        it."""
        strongest, reason = RECORD, {}
        for verdict in map(json.loads, self._core.take_findings()):
            self._log_once(verdict)
            wanted = self._on_fire
            if callable(wanted):
                wanted = self._usable(wanted(verdict))
            if not reason or ANSWERS.index(wanted) > ANSWERS.index(strongest):
                strongest, reason = wanted, verdict
        return strongest, reason

    def _usable(self, answer: Any) -> str:
        """The answer of an `on_fire` function. One that the adapter cannot give is "record", which
        is logged once: a mistake must not end the training."""
        if isinstance(answer, str) and answer in (RECORD, *self._vetoes):
            return answer
        if answer is not None and not self._has_warned:
            self._has_warned = True
            name = getattr(self._on_fire, "__qualname__", shown(self._on_fire))
            text = "the function %s of on_fire returned %s, which is taken for 'record'; return %s"
            known = " or ".join(map(repr, (RECORD, *self._vetoes)))
            _logger.warning(text, name, shown(answer), known)
        return RECORD

    def _log_once(self, verdict: Verdict) -> None:
        rule = verdict["rule"]
        if rule not in self._fired:
            self._fired.add(rule)
            # The message of a rule in Python begins with its name.
            _logger.warning("%s: %s", rule, verdict["message"].removeprefix(f"{rule}: "))


def _listed(rules: Any) -> list[Any]:
    """Returns `rules` as a list; a single rule is one. Raises SMDebugTypeError for what is none."""
    if isinstance(rules, (str, tuple, BuiltinRule)) or inspect.isclass(rules):
        return [rules]
    try:
        return list(rules)
    except TypeError:
        raise SMDebugTypeError(f"rules must be a list of rules, found {shown(rules)}") from None


def checked_answer(answer: str | Callable[[Verdict], str | None], vetoes: Sequence[str]) -> Any:
    """Returns `answer`. Raises SMDebugTypeError or SMDebugValueError unless it is a function of one
    argument, or "record", or one of `vetoes`."""
    if callable(answer):
        return _checked_function(answer)
    known = (RECORD, *(each for each in ANSWERS if each in vetoes))
    wanted = f"on_fire must be one of {', '.join(map(repr, known))} or a function"
    if not isinstance(answer, str):
        raise SMDebugTypeError(f"{wanted}, found {shown(answer)}")
    if answer not in known:
        raise SMDebugValueError(f"{wanted}, found {answer!r}")
    return answer


def _checked_function(function: Callable[[Verdict], str | None]) -> Any:
    try:
        signature = inspect.signature(function)
    except ValueError:  # Python does not know that of some functions in C
        return function
    try:
        signature.bind({})
    except TypeError:
        name = getattr(function, "__qualname__", shown(function))
        raise SMDebugTypeError(
            f"a function for on_fire takes one argument, the verdict, found {name}{signature}"
        ) from None
    return function
