"""`StepFunction`: a model's train, test or predict function, and how tensors leave it.

Keras traces the function once and calls it per batch. Here there are up to two: a lean one, which
is the function that Keras would have, and a capturing one, whose result also holds the tensors
that the hook saves. The lean one runs every batch: a graph with more results is another program to
TensorFlow, which may fuse its operations, and so round, in another way. Where something is due the
capturing one runs after it on the same batch, from the state in which the batch began, and what it
changes is taken back.

The lean one hands out the random numbers that its graph draws from a state of its own, as those of
tf.nn.dropout are, for the other one to take.

A graph that does more, such as to call Python, cannot be run twice, nor one that XLA compiles and
that draws such numbers. It has only one function, which always hands its tensors out.
"""

from smdebug._core import ModeKeys
from smdebug.log import get_logger
from smdebug.tensorflow.keras.step_backend import NAME, backend, why_closed
from smdebug.tensorflow.keras.step_trace import LayerCalls, StepTrace, collecting
from smdebug.tensorflow.private_names import as_traced, left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod

# Sorts behind every key of a log: Keras takes the first tensor of a result for its own ends.
CAPTURES = "~smdebug"
_DRAWS = "~smdebug_draws"
_OUTPUTS = "outputs"

MODES = {"train": ModeKeys.TRAIN, "test": ModeKeys.EVAL, "predict": ModeKeys.PREDICT}


def is_functional():
    """Whether Keras runs on JAX: a step takes and gives all state."""
    return NAME == "jax"


class StepFunction:
    """One of the three functions of one model.

    `recorder` is asked before each batch and told after it: see KerasHook.
    """

    # Whether XLA compiles a graph that draws random numbers: it does so by a count of all its calls
    # in the process, so that none may be added.
    _are_calls_counted = False

    def __init__(self, recorder, model, kind, layer_names):
        self.kind = kind
        self.mode = MODES[kind]
        self._recorder = recorder
        self.model = model
        self._layer_names = layer_names
        self._function = self._dispatch  # one object, by which it is known again
        self._ready = {}  # whether it captures -> a function that was not called yet
        self._functions = {}  # the same of those that were called
        self._only = None  # the one function of a graph that cannot run twice
        self._is_capturing = None  # during a call: whether this batch wants tensors
        self._is_installed = False
        if NAME == "tensorflow":
            self._state, self._repeater = backend.GraphState(), backend.BatchRepeater()
            self._draws = backend.RandomDraws()
        self._data = None  # of the call that runs
        self._is_repeatable = True  # as far as its graphs are known
        self._drawn_count = 0  # of random numbers' tensors, in a step
        self._drawn = ()  # those that the last call handed out
        self._replaced = []
        self._apart = None  # during a call under a strategy: the ReplicaCaptures
        self._sites = {}  # name of a tensor of the graph -> its site
        self._handed_out = set()  # names that the capturing function returns

    # --- in and out ---

    def install(self):
        """Replaces the model's own functions, on this instance alone."""
        if self._is_installed:
            return
        self._has_replicas = backend.are_replicas_known(self._strategy)
        self._original_make = self._replace(f"make_{self.kind}_function", self._make)
        if not why_closed(self.model):
            step = left_alone(self._watched_step)
            self._original_step = self._replace(f"{self.kind}_step", step)
        self._is_installed = True

    def _replace(self, name, method):
        """Returns what was there."""
        replaced = ReplacedMethod(self.model, name, method)
        self._replaced.append(replaced)
        return replaced.original

    def uninstall(self):
        """Gives the model back. Its function stays, so that nothing is traced again."""
        if not self._is_installed:
            return
        self._is_installed = False
        LayerCalls.leave(self)
        for replaced in self._replaced:
            replaced.undo()
        self._replaced = []

    def forget(self):
        """The functions that were made capture too little: the next batch makes new ones."""
        if self._only is None:
            self._functions.pop(True, None)

    @property
    def _current(self):
        return getattr(self.model, f"{self.kind}_function")

    @_current.setter
    def _current(self, function):
        setattr(self.model, f"{self.kind}_function", function)

    def _make(self, force=False):
        """In the place of make_train_function."""
        if not self._recorder.expects(self):
            self._recorder.release(self.model)
            return self._original_make(force)
        if self._current is self._function and not force:
            return self._function
        self._functions, self._only = {}, None
        # Both are made now: in the last steps of an epoch, which may be fewer than
        # `steps_per_execution`, Keras would make one that runs as few for ever.
        self._ready = {is_capturing: self._make_function() for is_capturing in (False, True)}
        self._current = self._function
        return self._function

    def _make_function(self):
        """A function of Keras's own: it is traced when it is called."""
        made = self._original_make(force=True)
        made = self._current if made is None else made  # Keras 3 returns nothing
        self._current = self._function
        return made

    # --- a batch ---

    def _dispatch(self, *arguments):
        """In the place of the function: runs one batch."""
        if not self._is_installed:
            return self._split(self._run_uninstalled(arguments))[0]
        self._is_capturing = self._recorder.batch_begins(self)
        try:
            result, captures = self._run(arguments)
        except backend.END_OF_DATA:
            raise
        except BaseException:
            self._recorder.batches_are_over()
            raise
        finally:
            is_capturing, self._is_capturing = self._is_capturing, None
            self._data = None
        if is_functional():
            logs, state = result
            self._recorder.batch_ended(self, logs, None, state)
            return result
        self._recorder.batch_ended(self, result, captures if is_capturing else None)
        return result

    def _run(self, arguments):
        """The function's result, and what it hands out or None."""
        self._data = arguments[0]
        if self._is_capturing and self._only is None and self._can_run_twice():
            return self._run_twice()
        return self._split(self._call(arguments))

    def _can_run_twice(self):
        if not self._is_repeatable or not backend.makes_graphs(self.model):
            return False
        if self.model.jit_compile and StepFunction._are_calls_counted:
            return False
        return backend.can_be_given_twice(self.model, self._data)

    def _run_twice(self):
        """Runs the lean function, and the capturing one beside it."""
        self._is_capturing = False
        if not self._recorder.unharmed(self._prepare_twice, "before a batch is captured"):
            return self._split(self._call((self._data,)))
        try:
            batch = self._repeater.taken(self.model, self._data)
            try:
                result, captures = self._split(self._call((batch.again(),)))
            finally:
                batch.raise_late_error()
            self._is_capturing = True
            if self._is_repeatable:  # also by the trace, if there was one
                captures = self._recorder.unharmed(
                    lambda: self._captured_beside(batch), "while a batch is captured"
                )
            return result, captures
        finally:
            self._state.end()
            self._repeater.clear()

    def _prepare_twice(self):
        self._repeater.prepare(self._data)
        self._state.begin()
        return True

    def _captured_beside(self, batch):
        if self.is_known and not self.wants_next():
            return None
        if len(self._drawn) != self._drawn_count:
            self._recorder.skip_graph(
                "the step draws random numbers, and was traced before something inside it was to "
                "be saved"
            )
            return None
        drawn = self._drawn
        with self._state.taken_back():
            self._draws.say(drawn)
            return self._split(self._call((batch.again(),)))[1]

    def _call(self, arguments):
        function = self._chosen(self._is_capturing)
        if not self._has_replicas:
            return function(*arguments)
        with backend.ReplicaCaptures(self._strategy, CAPTURES, self._recorder.skip) as apart:
            self._apart = apart
            try:
                return function(*arguments)
            finally:
                self._apart = None

    @property
    def _strategy(self):
        return getattr(self.model, "distribute_strategy", None)

    @property
    def is_in_batch(self):
        return self._is_capturing is not None

    def _run_uninstalled(self, arguments):
        """Keras 2 looks the step up when it traces one: that is not to go unnoticed."""
        if not self._recorder.is_recording or why_closed(self.model):
            return self._resting()(*arguments)
        self._data = arguments[0]
        replaced = ReplacedMethod(self.model, f"{self.kind}_step", left_alone(self._watched_step))
        try:
            return self._resting()(*arguments)
        finally:
            replaced.undo()
            self._data = None

    def _resting(self):
        if self._only or self._functions:
            return self._only or self._functions.get(False) or self._functions[True]
        return self._chosen(False)

    def _chosen(self, is_capturing):
        if self._only is not None:
            return self._only
        if is_capturing not in self._functions:
            ready = self._ready.pop(is_capturing, None)
            self._functions[is_capturing] = ready or self._make_function()
        self._called = self._functions[is_capturing]
        return self._called

    def _split(self, result):
        self._drawn = ()
        if not isinstance(result, dict) or not (CAPTURES in result or _DRAWS in result):
            return result, None
        result = dict(result)
        captures, self._drawn = result.pop(CAPTURES, None), result.pop(_DRAWS, ())
        return (result[_OUTPUTS] if self.kind == "predict" else result), captures

    # --- a step, while it is traced or run eagerly ---

    def _watched_step(self, data):
        """In the place of train_step."""
        step = as_traced(self._original_step)
        graph = backend.graph()
        if graph is not None:
            self._recorder.graph_made(graph)
        if not self._wants_trace():
            result = step(data)
            self._recorder.unharmed(lambda: self._note_graph(graph), "after a trace")
            return self._joined(result)
        LayerCalls.watch(self)
        trace = StepTrace(self.model, self._layer_names, self._recorder)
        self._recorder.unharmed(lambda: trace.step_begins(data), "before a step is traced")
        with collecting(trace):
            result = step(data)
        handed_out = self._recorder.unharmed(
            lambda: self._handed(trace, graph, self._note_graph(graph)), "while a step is traced"
        )
        return self._joined(result, *(handed_out or ()))

    def _note_graph(self, graph):
        """Whether the step that was traced in `graph` can be run twice; eager code has none."""
        if graph is None:
            return False
        self._state.note_graph(graph)
        can_say_draws = (
            not self.model.jit_compile
            and backend.can_be_given_twice(self.model, self._data)
            and backend.takes_one_batch(self.model)
        )
        if backend.can_be_repeated(graph, can_say_draws):
            self._drawn_count = len(self._draws.of(graph))
            return True
        self._is_repeatable = False
        StepFunction._are_calls_counted |= bool(self.model.jit_compile)
        return False

    def _wants_trace(self):
        if self._is_capturing is None or not self._recorder.is_recording:
            return False
        unknown = backend.unknown_replicas()
        if unknown:
            self._recorder.skip_graph(
                f"Keras adds up what the replicas of {unknown} hand out; it is saved under a "
                "MirroredStrategy"
            )
            return False
        return self._is_capturing or backend.graph() is not None

    def _handed(self, trace, graph, is_repeatable):
        """What this function hands out, (name -> tensor, random numbers)."""
        wanted = {}
        for name, collections, tensor in trace.finished():
            site = self._sites[name] = self._recorder.site(name, collections)
            if site.is_next_due() or (site.can_match() and graph is not None):
                wanted[name] = tensor
        if not wanted:
            return None, None
        if graph is not None:
            if self._only is None and is_repeatable:
                if not self._is_capturing:
                    return None, self._draws.of(graph)
                self._draws.replace(graph)
            else:
                self._note_only_function()
            self._handed_out |= set(wanted)
        return {name: backend.dense(tensor) for name, tensor in wanted.items()}, None

    def _note_only_function(self):
        if self._only is not None:
            return
        self._only = self._called
        if len(self._functions) > 1:
            get_logger().warning(
                "%s: the step cannot be run twice, and only now something inside it is to be "
                "saved: from here on its random numbers are others than without the hook",
                self.kind,
            )

    def _joined(self, result, captures=None, draws=None):
        """A step's result with what it hands out: a dict, or None for nothing. Replicas hand out
        something each, since their results must be alike."""
        captures = captures or {}
        if not captures and not draws and self._apart is None:
            return result
        if self.kind == "predict":
            result = {_OUTPUTS: result}
        if not isinstance(result, dict):
            if captures:
                self._recorder.skip_graph(f"{self.kind}_step returns no dict")
            return result
        if draws:
            return {**result, _DRAWS: draws}
        captures = captures if self._apart is None else self._apart.of_replica(captures)
        return {**result, CAPTURES: captures}

    # --- what is due ---

    def wants_next(self):
        """Whether the coming step saves a tensor of this graph, as far as it is known."""
        due = {name for name, site in self._sites.items() if site.is_next_due()}
        if self._handed_out and not due <= self._handed_out:
            self.forget()  # after an edit: it was traced for less
        return bool(due)

    @property
    def is_known(self):
        """Whether a step was seen, so that the tensors inside have names."""
        return bool(self._sites)

    def put(self, captures):
        """Saves what is due of the tensors that a batch handed out."""
        for name, tensor in captures.items():
            self._recorder.put(self._sites[name], name, tensor)
