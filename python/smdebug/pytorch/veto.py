"""`UpdateVeto`: what becomes of an optimizer's step when a rule fires inside it."""

import weakref

from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.log import get_logger

logger = get_logger()

# As `smdebug run` exits when a rule fires.
_EXIT_CODE = 3


class UpdateVeto:
    """Has the rules judge what the step holds, and answers before the optimizer acts.

    "skip_step" hides the gradients from the optimizer until its step is over: no parameter and no
    state moves, weight decay and momentum included. "raise" raises RuleEvaluationConditionMet out
    of `optimizer.step()`, "stop" raises SystemExit with the code 3; both leave parameters and
    state untouched.

    A step cannot be skipped where the optimizer computes its gradients in a closure (LBFGS), nor in
    one of several processes that train one model, which would then differ. That is said once.
    """

    def __init__(self, session, rules, judges_every_worker, world_size, unharmed):
        self._session = session
        self._rules = rules
        self._judges_every_worker = judges_every_worker
        self._world_size = world_size
        self._unharmed = unharmed
        self._hidden = weakref.WeakKeyDictionary()  # optimizer -> its parameters and gradients
        self._has_told = False

    def before(self, optimizer, has_closure):
        with self._unharmed("judging a step"):
            self._session.before_update()
        answer, verdict = self._rules.answer()
        if answer == "skip_step" and self._can_skip(has_closure):
            self._hide(optimizer)
            self._rules.skipped_steps.append(verdict["step"]["global"])
            logger.warning("the update of this step is skipped: %s", verdict["message"])
        elif answer == "raise":
            raise RuleEvaluationConditionMet(verdict["rule"], verdict["step"]["global"])
        elif answer == "stop":
            logger.error("the training is ended before its update: %s", verdict["message"])
            raise SystemExit(_EXIT_CODE)

    def after(self, optimizer):
        for parameter, gradient in self._hidden.pop(optimizer, ()):
            parameter.grad = gradient

    def _hide(self, optimizer):
        self._hidden[optimizer] = [
            (parameter, parameter.grad)
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        for parameter, _ in self._hidden[optimizer]:
            parameter.grad = None

    def _can_skip(self, has_closure):
        reason = None
        if has_closure:
            reason = "the optimizer computes its gradients in a closure"
        elif self._world_size() > 1 and not self._judges_every_worker:
            reason = "one of several workers judges; give the hook include_workers='all'"
        if reason and not self._has_told:
            self._has_told = True
            logger.error("no update can be skipped: %s", reason)
        return reason is None
