"""Import path of the original library."""

from smdebug.trials.trial import S3Trial

__all__ = ["S3Trial"]
