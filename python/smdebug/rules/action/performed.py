"""What all actions have in common: the core performs them, and they say what came of it."""

import logging

from smdebug import _core
from smdebug.exceptions import SMDebugError

logger = logging.getLogger("smdebug")


class PerformedAction:
    """An action of rule `rule_name`. `kind` and `target` are those of `smdebug run --action`."""

    def __init__(self, rule_name, kind, target, trial=None):
        self._rule_name = rule_name
        self._kind = kind
        self._target = target
        self._trial = trial
        self._was_done = False

    def invoke(self, message="", step=-1):
        """Performs the action, unless it was done before, and logs what came of it.

        Never raises. Returns the sentence that was logged.
        """
        if self._was_done:
            return "not done again"
        status, sentence = self._perform(message, step)
        self._was_done = status in ("done", "not_repeated")
        level = logging.WARNING if status == "failed" else logging.INFO
        logger.log(
            level, "rule '%s': action %s: %s: %s", self._rule_name, self._kind, status, sentence
        )
        return sentence

    def _perform(self, message, step):
        try:
            return _core.perform_action(
                (self._kind, self._target),
                self._rule_name,
                message,
                step,
                getattr(self._trial, "_core", None),
            )
        except (SMDebugError, TypeError) as error:
            return "failed", str(error)
