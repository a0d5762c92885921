"""`SMDebugHandler` for Ignite: the path that scripts import it from."""

from smdebug.pytorch.trainers.ignite import SMDebugHandler

__all__ = ["SMDebugHandler"]
