"""Import path of the original library."""

from smdebug.trials.location import check_dir_exists, has_training_ended, is_s3

__all__ = ["check_dir_exists", "has_training_ended", "is_s3"]
