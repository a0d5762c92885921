"""`StopTrainingAction`: a rule asks for the end of a training job."""

import logging

logger = logging.getLogger("smdebug")


class StopTrainingAction:
    """Names the job by the prefix of its name. Cloud jobs are not stopped: that is logged.

    A training on this machine is stopped by `smdebug run --stop`.
    """

    def __init__(self, rule_name, training_job_prefix):
        self._rule_name = rule_name
        self._training_job_prefix = training_job_prefix

    def invoke(self):
        """Logs that the job goes on. Never raises."""
        logger.warning(
            "rule '%s': action stoptraining: the job '%s…' is not stopped, this version acts on no "
            "cloud jobs; `smdebug run --stop` stops a training on this machine",
            self._rule_name,
            self._training_job_prefix,
        )
