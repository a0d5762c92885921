"""`StopTrainingAction`: a rule ends the training."""

from smdebug.rules.action.performed import PerformedAction


class StopTrainingAction(PerformedAction):
    """Ends the process that writes the run, if it is on this machine; else the one job in the cloud
    whose name begins with `training_job_prefix`, if there are credentials.
    """

    def __init__(self, rule_name, training_job_prefix="", trial=None):
        super().__init__(rule_name, "stop", training_job_prefix, trial)
        self._training_job_prefix = training_job_prefix
