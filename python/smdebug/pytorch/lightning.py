"""`SMDebugCallback` for Lightning: the path that scripts import it from."""

from smdebug.pytorch.trainers.lightning import SMDebugCallback

__all__ = ["SMDebugCallback"]
