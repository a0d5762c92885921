"""`UpdateVeto`: what becomes of a step's update when a rule fires inside the step."""

from smdebug.log import get_logger

logger = get_logger()


class UpdateVeto:
    """Has the rules judge what the step holds, and answers before the parameters move.

    "skip_step" leaves the update out, as the adapter can: no parameter and no state of the
    optimizer moves. "raise" raises RuleEvaluationConditionMet out of the call that would update,
    "stop" raises SystemExit with the code 3; both leave parameters and state untouched.

    One of several processes that train one model cannot skip a step: they would then differ. That
    is said once.
    """

    def __init__(self, session, rules, judges_every_worker, world_size, unharmed):
        self._session = session
        self._rules = rules
        self._judges_every_worker = judges_every_worker
        self._world_size = world_size
        self._unharmed = unharmed
        self._has_told = False

    def skips_update(self, obstacle=None):
        """Whether the update is to be left out. `obstacle` is why the adapter cannot, a str."""
        with self._unharmed("judging a step"):
            self._session.before_update()
        verdict = self._rules.apply()
        if verdict is None or not self._can_skip(obstacle):
            return False
        self._rules.skipped_steps.append(verdict["step"]["global"])
        logger.warning("the update of this step is skipped: %s", verdict["message"])
        return True

    def _can_skip(self, obstacle):
        if obstacle is None and self._world_size() > 1 and not self._judges_every_worker:
            obstacle = "one of several workers judges; give the hook include_workers='all'"
        if obstacle and not self._has_told:
            self._has_told = True
            logger.error("no update can be skipped: %s", obstacle)
        return obstacle is None
