"""`SaveConfig`: at which steps tensors are saved, for each mode."""

from smdebug._core import SaveConfig, SaveConfigMode

DEFAULT_SAVE_INTERVAL = 500

__all__ = ["DEFAULT_SAVE_INTERVAL", "SaveConfig", "SaveConfigMode"]
