"""`KerasHook`: a callback that records what Keras does."""

from smdebug.tensorflow.tensorflow_hook import TensorFlowHook


class KerasHook(TensorFlowHook):
    """Records `fit`, `evaluate` and `predict` as a callback: `callbacks=[hook]`."""
