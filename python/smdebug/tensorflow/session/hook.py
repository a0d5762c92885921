"""`SessionHook` and `EstimatorHook`: graphs of TensorFlow 1."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from smdebug.exceptions import SMDebugNotImplementedError
from smdebug.hook_options import HookOptions
from smdebug.log import get_logger
from smdebug.tensorflow.capture_sink import CaptureContext, CaptureSink, PlanView
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.session.adapter import SessionAdapter
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook

_logger = get_logger()

_BIASES = "biases"
_BIAS_PATTERN = "bias"


class SessionHook(TensorFlowHook, tf.compat.v1.train.SessionRunHook):
    """Records the runs of a tf.compat.v1.train.MonitoredSession, or of an Estimator.

        hook = SessionHook(out_dir="runs/1", include_collections=["weights", "gradients", "losses"])
        optimizer = hook.wrap_optimizer(tf.compat.v1.train.AdamOptimizer())
        hook.add_to_collection("losses", loss)
        with tf.compat.v1.train.MonitoredSession(hooks=[hook]) as session: ...

    | tensor | collection |
    |---|---|
    | variables to train, before the run | biases if the name matches its patterns, or weights |
    | variables of a wrapped optimizer, before the run | optimizer_variables |
    | gradients that a wrapped optimizer applies | gradients |
    | minimized by a wrapped optimizer, kept by tf.compat.v1.losses, or added | losses |
    | any other tensor of the graph | those that it was added to, or whose patterns match it |

    Names are TensorFlow's (`dense/kernel:0`). Each run is a step, and can be read when it has
    returned. A tensor is saved if the run computes it anyway, or if computing it changes nothing.
    So it is not saved if it depends on a placeholder that is not fed, draws random numbers, takes
    from a queue, or is inside a branch or loop. A requested tensor that cannot be saved is logged
    once.

    `rules` judge each run when it has returned; "stop" asks the session to stop, "raise" raises
    RuleEvaluationConditionMet out of it.
    """

    vetoes: tuple[str, ...] = ("raise", "stop")
    advice: str = "pass the hook as MonitoredSession(hooks=[hook]), or to an Estimator"
    instead_of: Mapping[str, str] = MappingProxyType(
        {"set_model": "a SessionHook records sessions: pass a KerasHook to model.fit"}
    )
    filling_methods: str = "include(pattern) or add(tensor)"

    def _initialize(self, options: HookOptions) -> None:
        super()._initialize(options)
        # Its patterns are for variables only: the names of other tensors contain the same word.
        self.get_collection(_BIASES).include_regex = []
        self._session = ReplicaSessions(self._session, None)
        self._sink = CaptureSink(self)
        context = CaptureContext(self._sink, PlanView(self, []), self._session)
        self._adapter = SessionAdapter(context, self._bias_patterns)

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Records the gradients and variables of `optimizer`, a tf.compat.v1.train.Optimizer. Call
        it before the optimizer's `minimize`. Returns the optimizer.

        Raises SMDebugTypeError for anything else.
        """
        self._adapter.optimizers.wrap(optimizer)
        return optimizer

    # --- events of the session ---

    def begin(self) -> None:
        """Finds the tensors to save in the default graph, which can still grow."""
        self._warn_if_closed("the hook in a session")
        with self._sink.isolate_errors("at the beginning of a session"):
            self._adapter.follow(tf.compat.v1.get_default_graph())

    def before_run(self, run_context: Any) -> Any:
        """Begins a step, and returns the tensors that are due in it: a SessionRunArgs or None."""
        return self._adapter.before_run(run_context) if self._session else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Saves the results of the run and publishes the step. Raises what a rule requests."""
        if not self._session or not self._sink.is_recording:
            return
        self._adapter.after_run(run_values.results)
        if self._rules:
            self._rules.apply(lambda verdict: self._stop(run_context, verdict))

    def end(self, session: Any) -> None:
        """Logs the requested tensors that no run has returned."""
        with self._sink.isolate_errors("at the end of a session"):
            self._adapter.report_missed()

    def _bias_patterns(self):
        return self.get_collection(_BIASES).include_regex or [_BIAS_PATTERN]

    def _detach(self):
        self._adapter.report_missed()
        self._sink.close()
        super()._detach()

    def _stop(self, run_context, verdict):
        _logger.error("a rule stops the session: %s", verdict["message"])
        run_context.request_stop()


class EstimatorHook(SessionHook):
    """A SessionHook for `estimator.train(hooks=[hook])`, `evaluate` and `predict`. Call `set_mode`
    before each of them.

    Raises SMDebugNotImplementedError if this version of TensorFlow has no Estimator.
    """

    def _initialize(self, options: HookOptions) -> None:
        if not hasattr(tf, "estimator"):
            raise SMDebugNotImplementedError(
                f"TensorFlow {tf.__version__} has no tf.estimator, which EstimatorHook records: "
                "use TensorFlow 2.15, SessionHook with a MonitoredSession, or KerasHook"
            )
        super()._initialize(options)
