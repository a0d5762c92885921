"""`StopTrainingAction`: ends the training when a rule fires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smdebug.rules.action.performed import PerformedAction

if TYPE_CHECKING:
    from smdebug.trials import Trial


class StopTrainingAction(PerformedAction):
    """Ends the process that writes the run if it runs on this machine. Otherwise ends the one cloud
    job whose name starts with `training_job_prefix`, if there are credentials.
    """

    def __init__(
        self, rule_name: str, training_job_prefix: str = "", trial: Trial | None = None
    ) -> None:
        super().__init__(rule_name, "stop", training_job_prefix, trial)
        self._training_job_prefix = training_job_prefix
