"""Import path of the original library."""

from smdebug.trials.trial import LocalTrial

__all__ = ["LocalTrial"]
