"""The base class of all actions: the core performs an action, and Python logs the result."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from smdebug import _core
from smdebug.exceptions import SMDebugError, SMDebugTypeError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.trials.arguments import checked_step

if TYPE_CHECKING:
    from smdebug.trials import Trial

_logger = get_logger()

_MOST_FAILURES = 3


class PerformedAction:
    """An action of the rule `rule_name`. `kind` and `target` have the meaning that they have in
    `smdebug run --action KIND=TARGET`."""

    def __init__(self, rule_name: str, kind: str, target: str, trial: Trial | None = None) -> None:
        self._rule_name = rule_name
        self._kind = kind
        self._target = target
        self._trial = trial
        self._was_done = False
        self._failures = 0

    def invoke(self, message: str = "", step: int = -1) -> str:
        """Performs the action unless it was performed before or has failed three times, and logs
        the result.

        Returns the sentence that was logged. Never raises.
        """
        if self._was_done or self._failures == _MOST_FAILURES:
            return "not done again"
        status, sentence = self._perform(message, step)
        self._was_done = status in ("done", "not_repeated")
        self._failures += status == "failed"
        if self._failures == _MOST_FAILURES:
            sentence += f"; given up after {_MOST_FAILURES} failures"
        level = logging.WARNING if status == "failed" else logging.INFO
        _logger.log(
            level, "rule '%s': action %s: %s: %s", self._rule_name, self._kind, status, sentence
        )
        return sentence

    def _perform(self, message: str, step: int) -> tuple[str, str]:
        try:
            if not isinstance(message, str):
                raise SMDebugTypeError(f"the message of an action is text, found {shown(message)}")
            return _core.perform_action(
                (self._kind, self._target),
                self._rule_name,
                message,
                checked_step(step, "the step of an action"),
                getattr(self._trial, "_published", None),
            )
        except SMDebugError as error:
            return "failed", str(error)
