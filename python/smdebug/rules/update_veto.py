"""`UpdateVeto`: prevents the update of a step when a rule fires inside the step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from smdebug.log import get_logger

if TYPE_CHECKING:
    from smdebug._core import Session
    from smdebug.rules.step_monitor import StepMonitor

_logger = get_logger()


class UpdateVeto:
    """Runs the rules on the tensors of a step and answers before the parameters change.

    "skip_step" skips the update: no parameter and no optimizer state changes. "raise" raises
    RuleEvaluationConditionMet from the call that would update, and "stop" raises SystemExit with
    the code 3. Both leave parameters and optimizer state unchanged.

    One of several processes that train the same model cannot skip a step, because their parameters
    would then differ. Logs an error once in that case and lets the update happen.
    """

    def __init__(
        self,
        session: Session,
        rules: StepMonitor,
        judges_every_worker: bool,
        world_size: Callable[[], int],
        isolate: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._session = session
        self._rules = rules
        self._judges_every_worker = judges_every_worker
        self._world_size = world_size
        self._isolate = isolate
        self._has_warned = False

    def skips_update(self, obstacle: str | None = None) -> bool:
        """Whether to skip the update. `obstacle` is the reason why the adapter cannot skip it."""
        with self._isolate("judging a step"):
            self._session.before_update()
        verdict = self._rules.apply()
        if verdict is None or not self._can_skip(obstacle):
            return False
        self._rules.skipped_steps.append(verdict["step"]["global"])
        _logger.warning(
            "the update of step %d is skipped: %s fired", verdict["step"]["global"], verdict["rule"]
        )
        return True

    def _can_skip(self, obstacle: str | None) -> bool:
        if obstacle is None and self._world_size() > 1 and not self._judges_every_worker:
            obstacle = "one of several workers judges; give the hook include_workers='all'"
        if obstacle and not self._has_warned:
            self._has_warned = True
            _logger.error("no update can be skipped: %s", obstacle)
        return obstacle is None
