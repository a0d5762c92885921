"""Import path of the original library."""

from smdebug.trials.local_trial import check_dir_exists, has_training_ended
from smdebug.trials.s3_trial import is_s3

__all__ = ["check_dir_exists", "has_training_ended", "is_s3"]
