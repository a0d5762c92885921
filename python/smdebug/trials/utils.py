"""Import path of the original library."""

from smdebug.trials.trial import create_trial

__all__ = ["create_trial"]
