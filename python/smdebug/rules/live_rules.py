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
    """The rules of one hook. Where it records several workers, each of them has rules of its own,
    as the processes of a training that has one hook each.

    `on_fire` is one of ANSWERS, or a function that takes a verdict (a dict with "rule", "step",
    "message", "evidence", ...) and returns one of them or None, which is "record". `vetoes` are the
    answers that the adapter can give.
    """

    def __init__(self, rules, on_fire, vetoes, out_dir):
        self._on_fire = _checked(on_fire, vetoes)
        self._vetoes = vetoes
        self._rules = [rules] if isinstance(rules, (str, tuple)) else list(rules)
        self._out_dir = out_dir
        self._workers = [_WorkerRules(self._make_core())]
        self._answered = {}  # (rule, its parameters) -> (global step, number of the worker)
        self._fired = set()
        self.skipped_steps = []

    def join(self, hook, session):
        """Has `hook` save what the rules need, and shows them the steps of `session`."""
        first = self._workers[0]
        request_tensors(hook, first.core.request)
        first.follow(session)

    def join_worker(self, session):
        """Shows the steps of a further worker's session to rules of its own."""
        self._workers.append(_WorkerRules(self._make_core()))
        self._workers[-1].follow(session)

    def answer(self):
        """(what follows from the rules that fired since the last call, the verdict of the one
        that says so). A rule that fires for several workers at one step is answered once, for the
        first. What a function that is `on_fire` raises is raised."""
        strongest, reason = RECORD, None
        for verdict in self._to_answer():
            self._tell(verdict)
            wanted = self._on_fire(verdict) if callable(self._on_fire) else self._on_fire
            wanted = _checked(wanted or RECORD, self._vetoes)
            if reason is None or ANSWERS.index(wanted) > ANSWERS.index(strongest):
                strongest, reason = wanted, verdict
        return strongest, reason

    def finish(self):
        """No step will follow."""
        for worker in self._workers:
            worker.finish()

    def verdicts(self):
        """The verdict of each rule, in the order given: a list of dicts. Of several workers it is
        that of the first who fired, else of the first who failed, else of the first of all; what
        was judged is what all of them have judged."""
        of_workers = [worker.verdicts() for worker in self._workers]
        return [_together(verdicts) for verdicts in zip(*of_workers, strict=True)]

    def _make_core(self):
        def judge(rule, parameters):
            return LiveJudge(rule, parameters, self._out_dir)

        return StepRules.create([core_rule(rule, judge) for rule in self._rules])

    def _to_answer(self):
        """The verdicts that nobody has answered yet."""
        found = []
        for number, worker in enumerate(self._workers):
            for verdict in worker.take_findings():
                rule = verdict["rule"], json.dumps(verdict["parameters"], sort_keys=True)
                step = verdict["step"]["global"]
                last_step, last_number = self._answered.get(rule, (None, None))
                if step != last_step or number == last_number:
                    self._answered[rule] = step, number
                    found.append(verdict)
        return found

    def _tell(self, verdict):
        if verdict["rule"] not in self._fired:
            self._fired.add(verdict["rule"])
            logger.warning("%s: %s", verdict["rule"], verdict["message"])


class _WorkerRules:
    """The core's rules of one worker, and the session whose steps they are shown."""

    def __init__(self, core):
        self.core = core

    def follow(self, session):
        self._session = session
        self.core.judge(session)

    def take_findings(self):
        return [json.loads(text) for text in self.core.take_findings()]

    def verdicts(self):
        return [json.loads(text) for text in self.core.verdicts()]

    def finish(self):
        self.core.finish(self._session)


def _together(verdicts):
    """One verdict of those that a rule gives for each worker."""
    chosen = verdicts[0]
    for status in ("Error", "IssuesFound"):
        found = [each for each in verdicts if each["status"] == status]
        if found:
            chosen = min(found, key=lambda each: each["step"]["global"])
    counted = ("observations_found", "observations_judged")
    return (
        chosen
        | {"steps_judged": max(each["steps_judged"] for each in verdicts)}
        | {name: sum(each[name] for each in verdicts) for name in counted}
    )


def _checked(answer, vetoes):
    if callable(answer):
        return answer
    known = (RECORD, *(each for each in ANSWERS if each in vetoes))
    if not isinstance(answer, str):
        raise SMDebugTypeError(f"on_fire is one of {known} or a function, found {answer!r}")
    if answer not in known:
        raise SMDebugValueError(f"on_fire must be one of {known} here, found {answer!r}")
    return answer
