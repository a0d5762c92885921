"""`SMDebugRecorder` for Accelerate: the path that scripts import it from."""

from smdebug.pytorch.trainers.accelerate import SMDebugRecorder

__all__ = ["SMDebugRecorder"]
