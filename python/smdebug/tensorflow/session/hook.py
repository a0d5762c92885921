"""`SessionHook` and `EstimatorHook`: graphs of TensorFlow 1.

A run of the session is a step. Variables are read before it, so that they have the values that the
step starts from; tensors are fetched with it, where that changes nothing of what it computes
(session_graph.py).
"""

import re

import tensorflow as tf

from smdebug.exceptions import (
    SMDebugError,
    SMDebugNotImplementedError,
)
from smdebug.log import get_logger
from smdebug.tensorflow.session.optimizers import SessionOptimizers
from smdebug.tensorflow.session.session_graph import GraphWalk
from smdebug.tensorflow.session.session_tensors import GraphTensors
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook

logger = get_logger()

# So many names of tensors are told in one line.
_TOLD = 5
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
    | variables to train, before the run | biases where a pattern of it is in the name, or weights |
    | variables of a wrapped optimizer, before the run | optimizer_variables |
    | gradients that a wrapped optimizer applies | gradients |
    | what a wrapped optimizer minimizes, what tf.compat.v1.losses keeps, those added | losses |
    | any other tensor of the graph | those with a pattern in its name, or that it was added to |

    Names are TensorFlow's (`dense/kernel:0`). Each run is a step, and can be read when it has
    returned. A tensor is saved where the run computes it anyhow, or where computing it changes
    nothing: not where it hangs on a placeholder that is not fed, draws random numbers, takes from a
    queue, or stands in a branch or loop. What is asked for and cannot be had is logged once.

    `rules` judge each run when it has returned; "stop" asks the session to stop, "raise" raises
    RuleEvaluationConditionMet out of it.
    """

    vetoes = ("raise", "stop")

    def __init__(self, *args, **kwargs):
        self._optimizers = SessionOptimizers()
        self._walk = None
        self._tensors = None
        self._looked_over = None  # the walk and the version of the plan that _tensors are of
        self._fetched = []
        self._missed = {}  # name of a tensor that was due -> whether no run gave it so far
        super().__init__(*args, **kwargs)
        # A bias is told among the variables: their names are in those of many other tensors.
        self.get_collection(_BIASES).include_regex = []

    def wrap_optimizer(self, optimizer):
        """Has the gradients and variables of `optimizer`, a tf.compat.v1.train.Optimizer, recorded.
        Before it is asked to minimize. Returns it.

        Raises SMDebugTypeError for anything else.
        """
        self._optimizers.wrap(optimizer)
        return optimizer

    def use_optimizers(self, optimizers):
        """Takes what was noted of optimizers by somebody else, a SessionOptimizers."""
        self._optimizers = optimizers

    def computes_update(self, graph, arguments):
        """Whether a run with these arguments, a SessionRunArgs, has an optimizer act."""
        updates = self._optimizers.updates(graph)
        if not updates:
            return False
        self._walk_over(graph)
        computed = self._walk.computed(arguments.fetches, arguments.feed_dict or {})
        return not updates.isdisjoint(computed)

    # --- what the session calls ---

    def begin(self):
        """The graph is made, and can still be added to."""
        self._follow(tf.compat.v1.get_default_graph())

    def before_run(self, run_context):
        """Begins a step; asks for what is due in it."""
        if not self._session or self._failure:
            return None
        self._fetched = []
        try:
            if not self._begin_step():
                return None
            self._follow(run_context.session.graph)
            self._put_variables(run_context.session)
            self._fetched = self._due_tensors(run_context.original_args)
        except SMDebugError:  # the configuration makes no sense
            raise
        except Exception as error:
            self._latch("before a session's run", error)
        if not self._fetched:
            return None
        return tf.compat.v1.train.SessionRunArgs([each.tensor for each in self._fetched])

    def after_run(self, run_context, run_values):
        """Records what came, and publishes the step."""
        if not self._session or self._failure:
            return
        with self._unharmed("after a session's run"):
            for each, value in zip(self._fetched, run_values.results or [], strict=True):
                each.put(value)
            self._session.end_step()
        self._fetched = []
        if self._rules:
            self._rules.apply(lambda verdict: self._stop(run_context, verdict))

    def end(self, session):
        """Says what was asked for and came with no run."""
        with self._unharmed("at the end of a session"):
            self._tell_missed()

    # --- a step ---

    def _follow(self, graph):
        """Looks over the graph, where it or the configuration is new."""
        self._walk_over(graph)
        of_this = (self._walk, self._session.plan_version)
        if self._looked_over != of_this:
            self._looked_over = of_this
            self.graph_made(graph)
            self._write_graph(self.mode)
            self._tensors = GraphTensors(
                self._session,
                graph,
                self._walk,
                self._optimizers,
                self._wanted(),
                self.get_collection(_BIASES).include_regex or [_BIAS_PATTERN],
            )

    def _walk_over(self, graph):
        if self._walk is None or not self._walk.is_of(graph):
            self._walk = GraphWalk(graph)

    def _wanted(self):
        """(collection, patterns) of those whose tensors are found by name."""
        wanted = []
        for name, collection in self.get_collections().items():
            patterns = [*collection.include_regex]
            patterns += [f"^{re.escape(each)}$" for each in collection.tensor_names]
            # Of an operation, all that it gives.
            patterns += [each[:-1] + r"(:\d+)?$" for each in collection.added_patterns()]
            if name == "default":
                patterns += self.include_regex
            if name == "all" and (self.save_all or "all" in self.include_collections):
                patterns.append(".*")
            if patterns:
                wanted.append((name, patterns))
        return wanted

    def _put_variables(self, session):
        due = [each for each in self._tensors.variables if each.site.is_due()]
        if not due:
            return
        try:
            values = session.run([each.tensor for each in due])
        except tf.errors.FailedPreconditionError:  # they have no values yet
            return
        for each, value in zip(due, values, strict=True):
            each.put(value)

    def _due_tensors(self, arguments):
        feeds = arguments.feed_dict or {}
        found = self._tensors.of_run(arguments.fetches, feeds)
        due = {each.name: each for each in found if each.site.is_due()}
        wanted = {each.name for each in self._tensors.tensors if each.site.is_due()}
        for name in wanted:
            self._missed[name] = self._missed.get(name, True) and name not in due
        return list(due.values())

    def _tell_missed(self):
        missed = sorted(name for name, is_missed in self._missed.items() if is_missed)
        self._missed = {}
        if missed:
            logger.warning(
                "%d tensors are not saved, such as '%s': no run computed them, and computing them "
                "would have changed something. They hang on a placeholder that was not fed, on "
                "random numbers or a queue, or stand in a branch or loop",
                len(missed),
                "', '".join(missed[:_TOLD]),
            )

    def _detach(self):
        self._tell_missed()
        super()._detach()

    def _stop(self, run_context, verdict):
        logger.error("a rule stops the session: %s", verdict["message"])
        run_context.request_stop()


class EstimatorHook(SessionHook):
    """A SessionHook for `estimator.train(hooks=[hook])`, `evaluate` and `predict`. Say with
    `set_mode` which of them comes.

    Raises SMDebugNotImplementedError where TensorFlow has no Estimator any more.
    """

    def __init__(self, *args, **kwargs):
        if not hasattr(tf, "estimator"):
            raise SMDebugNotImplementedError(
                f"TensorFlow {tf.__version__} has no tf.estimator, which EstimatorHook records: "
                "use TensorFlow 2.15, SessionHook with a MonitoredSession, or KerasHook"
            )
        super().__init__(*args, **kwargs)
