"""`SessionHook` and `EstimatorHook`, at the path that existing scripts import them from."""

from smdebug.tensorflow.session_hook import EstimatorHook, SessionHook

__all__ = ["EstimatorHook", "SessionHook"]
