"""`HookStatus` and `HookCost`: the state of a hook, and its overhead."""

from smdebug._core import HookCost, HookStatus

__all__ = ["HookCost", "HookStatus"]
