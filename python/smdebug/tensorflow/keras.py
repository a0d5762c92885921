"""`KerasHook`, at the path that existing scripts import it from."""

from smdebug.tensorflow.keras_hook import KerasHook

__all__ = ["KerasHook"]
