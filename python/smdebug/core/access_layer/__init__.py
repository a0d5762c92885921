"""Import path of the original library."""

from smdebug.core.access_layer.utils import check_dir_exists, has_training_ended

__all__ = ["check_dir_exists", "has_training_ended"]
