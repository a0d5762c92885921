"""`LoopRecorder`: stands in for TapeRecorder where Keras runs without TensorFlow."""

from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook


class LoopRecorder(TensorFlowHook):
    """A hook without loops of TensorFlow's own."""

    vetoes = ("raise", "stop")
    are_replicas_apart = False

    def follow_strategy(self, strategy):
        """There are none of TensorFlow's."""

    def wrap_tape(self, tape):
        """Raises SMDebugNotImplementedError: there is no tf.GradientTape without TensorFlow."""
        raise SMDebugNotImplementedError(
            f"wrap_tape takes a tf.GradientTape, and TensorFlow is not imported, found {tape!r}: "
            "Keras on this backend is recorded in fit, evaluate and predict"
        )

    def wrap_optimizer(self, optimizer):
        """Returns `optimizer`, a Keras optimizer: its variables are recorded where collection
        `optimizer_variables` is saved. Raises SMDebugTypeError for anything else."""
        if not callable(getattr(optimizer, "apply_gradients", None)):
            raise SMDebugTypeError(f"wrap_optimizer takes a Keras optimizer, found {optimizer!r}")
        return optimizer

    def record_tensor_value(self, tensor_name, tensor_value):
        """Records a value, such as a metric, in collection `metrics`, where the present step saves
        that. `save_tensor` saves at every step."""
        if not isinstance(tensor_name, str):
            raise SMDebugTypeError(f"a tensor's name must be text, found {tensor_name!r}")
        if self.should_save_tensor_or_collection(tensor_name, "metrics"):
            self.save_tensor(tensor_name, tensor_value, "metrics")
