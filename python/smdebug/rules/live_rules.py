"""`LiveRules`: rules that judge each saved step while it runs, and what follows when one fires."""

import json

from smdebug._core import StepRules
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.log import get_logger
from smdebug.rules.judge import LiveJudge
from smdebug.rules.requested import core_rule, request_tensors

logger = get_logger()

RECORD = "record"
# The later one wins where several rules fire at once.
ANSWERS = (RECORD, "skip_step", "raise", "stop")


class LiveRules:
    """The rules of one hook.

    `on_fire` is one of ANSWERS, or a function that takes a verdict (a dict with "rule", "step",
    "message", "evidence", ...) and returns one of them or None, which is "record". `vetoes` are the
    answers that the adapter can give.
    """

    def __init__(self, rules, on_fire, vetoes, out_dir):
        self._on_fire = _checked(on_fire, vetoes)
        self._vetoes = vetoes
        if isinstance(rules, (str, tuple)):
            rules = [rules]
        made = [
            core_rule(rule, lambda rule, parameters: LiveJudge(rule, parameters, out_dir))
            for rule in rules
        ]
        self._core = StepRules.create(made)
        self._fired = set()
        self.skipped_steps = []

    def join(self, hook, session):
        """Has `hook` save what the rules need, and shows them the steps of `session`."""
        request_tensors(hook, self._core.request)
        self._session = session
        self._core.judge(session)

    def answer(self):
        """(what follows from the rules that fired since the last call, the verdict of the one
        that says so). What a function that is `on_fire` raises is raised."""
        strongest, reason = RECORD, None
        for text in self._core.take_findings():
            verdict = json.loads(text)
            self._tell(verdict)
            wanted = self._on_fire(verdict) if callable(self._on_fire) else self._on_fire
            wanted = _checked(wanted or RECORD, self._vetoes)
            if reason is None or ANSWERS.index(wanted) > ANSWERS.index(strongest):
                strongest, reason = wanted, verdict
        return strongest, reason

    def finish(self):
        """No step will follow."""
        self._core.finish(self._session)

    def verdicts(self):
        """The verdict of each rule, in the order given: a list of dicts."""
        return [json.loads(line) for line in self._core.verdicts()]

    def text(self):
        """One line per rule."""
        return self._core.text()

    def _tell(self, verdict):
        if verdict["rule"] not in self._fired:
            self._fired.add(verdict["rule"])
            logger.warning("%s: %s", verdict["rule"], verdict["message"])


def _checked(answer, vetoes):
    if callable(answer):
        return answer
    known = (RECORD, *(each for each in ANSWERS if each in vetoes))
    if not isinstance(answer, str):
        raise SMDebugTypeError(f"on_fire is one of {known} or a function, found {answer!r}")
    if answer not in known:
        raise SMDebugValueError(f"on_fire must be one of {known} here, found {answer!r}")
    return answer
