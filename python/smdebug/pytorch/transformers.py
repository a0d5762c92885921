"""`SMDebugCallback` for Transformers: the path that scripts import it from."""

from smdebug.pytorch.trainers.transformers import SMDebugCallback

__all__ = ["SMDebugCallback"]
