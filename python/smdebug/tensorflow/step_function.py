"""`StepFunction`: a model's train, test or predict function, and how tensors leave it.

Keras traces the function once and calls it per batch. Here there are up to two: a lean one, which
is the function that Keras would have, and a capturing one, whose result also holds the tensors
that the hook saves. Each batch takes the one it needs. A graph that draws random numbers from a
state of its own has only one function, which always hands its tensors out: with two, the stream
of random numbers would be split, and the training would be another one.
"""

from smdebug._core import ModeKeys
from smdebug.log import get_logger
from smdebug.tensorflow.private_names import as_traced, left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod
from smdebug.tensorflow.step_backend import NAME, backend, why_closed
from smdebug.tensorflow.step_trace import LayerCalls, StepTrace, collecting

# Sorts behind every key of a log: Keras takes the first tensor of a result for its own ends.
CAPTURES = "~smdebug"
_OUTPUTS = "outputs"

MODES = {"train": ModeKeys.TRAIN, "test": ModeKeys.EVAL, "predict": ModeKeys.PREDICT}


def is_functional():
    """Whether Keras runs on JAX: a step takes and gives all state."""
    return NAME == "jax"


class StepFunction:
    """One of the three functions of one model.

    `recorder` is asked before each batch and told after it: see KerasHook.
    """

    def __init__(self, recorder, model, kind, layer_names):
        self.kind = kind
        self.mode = MODES[kind]
        self._recorder = recorder
        self.model = model
        self._layer_names = layer_names
        self._function = self._dispatch  # one object, by which it is known again
        self._ready = {}  # whether it captures -> a function that was not called yet
        self._functions = {}  # the same of those that were called
        self._only = None  # the one function of a graph with random numbers
        self._is_capturing = None  # during a call: whether this batch wants tensors
        self._is_installed = False
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
            return self._split(self._resting()(*arguments))[0]
        self._is_capturing = self._recorder.batch_begins(self)
        try:
            result = self._run(arguments)
        except backend.END_OF_DATA:
            raise
        except BaseException:
            self._recorder.batches_are_over()
            raise
        finally:
            is_capturing, self._is_capturing = self._is_capturing, None
        if is_functional():
            logs, state = result
            self._recorder.batch_ended(self, logs, None, state)
            return result
        result, captures = self._split(result)
        self._recorder.batch_ended(self, result, captures if is_capturing else None)
        return result

    def _run(self, arguments):
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
        if isinstance(result, dict) and CAPTURES in result:
            result = dict(result)
            captures = result.pop(CAPTURES)
            return (result[_OUTPUTS] if self.kind == "predict" else result), captures
        return result, None

    # --- a step, while it is traced or run eagerly ---

    def _watched_step(self, data):
        """In the place of train_step."""
        step = as_traced(self._original_step)
        if backend.graph() is not None:
            self._recorder.graph_made(backend.graph())
        if not self._wants_trace():
            return self._joined(step(data), None)
        LayerCalls.watch(self)
        trace = StepTrace(self.model, self._layer_names, self._recorder)
        self._recorder.unharmed(lambda: trace.step_begins(data), "before a step is traced")
        with collecting(trace):
            result = step(data)
        captures = self._recorder.unharmed(lambda: self._captures(trace), "while a step is traced")
        return self._joined(result, captures)

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

    def _captures(self, trace):
        """What this function hands out: name -> tensor."""
        is_eager = backend.graph() is None
        wanted = {}
        for name, collections, tensor in trace.finished():
            site = self._sites[name] = self._recorder.site(name, collections)
            if site.is_next_due() or (site.can_match() and not is_eager):
                wanted[name] = tensor
        if not wanted or not (self._is_capturing or self._must_stay_one()):
            return None
        if not is_eager:
            self._note_random_numbers()
            self._handed_out |= set(wanted)
        return {name: backend.dense(tensor) for name, tensor in wanted.items()}

    def _must_stay_one(self):
        """Whether a batch that wants nothing is traced with captures all the same."""
        return self._only is not None or backend.draws_random_numbers(backend.graph())

    def _note_random_numbers(self):
        if self._only is not None or not self._must_stay_one():
            return
        self._only = self._called
        if len(self._functions) > 1:
            get_logger().warning(
                "%s: the model draws random numbers, and only now something inside it is to be "
                "saved: from here on it draws others than it would without the hook",
                self.kind,
            )

    def _joined(self, result, captures):
        """A step's result with what it hands out: a dict, or None for nothing. Replicas hand out
        something each, since their results must be alike."""
        captures = captures or {}
        if not captures and self._apart is None:
            return result
        if self.kind == "predict":
            result = {_OUTPUTS: result}
        if not isinstance(result, dict):
            if captures:
                self._recorder.skip_graph(f"{self.kind}_step returns no dict")
            return result
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
