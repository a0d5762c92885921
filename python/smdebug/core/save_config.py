"""Import path of the original library."""

from smdebug.save_config import SaveConfig, SaveConfigMode

__all__ = ["SaveConfig", "SaveConfigMode"]
