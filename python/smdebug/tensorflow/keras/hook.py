"""`KerasHook`: a callback that records trainings with Keras."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import keras

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.array_values import NotTaken
from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.hook_arguments import checked_name, name_hint, shown
from smdebug.hook_options import HookOptions
from smdebug.tensorflow.capture_sink import CaptureContext, CaptureSink, PlanView
from smdebug.tensorflow.keras.activations import activation_patterns
from smdebug.tensorflow.keras.adapter import KerasAdapter
from smdebug.tensorflow.keras.facts import KerasFacts, weights_by_class
from smdebug.tensorflow.keras.step_backend import HAS_TENSORFLOW
from smdebug.tensorflow.keras.step_series import StepSeries
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook
from smdebug.tensorflow.user_values import UserValue
from smdebug.unknown_arguments import with_known_arguments

if TYPE_CHECKING or HAS_TENSORFLOW:
    from smdebug.tensorflow.tape.loss_series import LossSeries
    from smdebug.tensorflow.tape.tape_adapter import TapeAdapter


class KerasHook(TensorFlowHook, keras.callbacks.Callback):
    """Records `fit`, `evaluate` and `predict` as a callback, and loops with a tf.GradientTape.

        hook = KerasHook(out_dir="runs/1", include_collections=["gradients"])
        model.fit(x, y, callbacks=[hook])

        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = loss_of(labels, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)

    In `fit`, `evaluate` and `predict`, losses and metrics are those that Keras logs; at the end of
    an epoch they are saved even if they are not due. Weights and the optimizer's variables have
    their values after the update; gradients are those that the optimizer received. The mode of a
    step is that of the call: TRAIN, EVAL or PREDICT. `register_model` also records
    `train_on_batch`, `test_on_batch` and `predict_on_batch`.

    In a loop with a tape, a step begins when the tape is entered. Losses and gradients are those of
    `tape.gradient`, and weights have their values before the update.

    Under a tf.distribute.MirroredStrategy `include_workers="all"` makes each replica a worker,
    named after its device, with its own inputs, outputs, gradients, copies of variables and, as
    `replica_loss`, loss. `rules` judge each replica separately. "one" records the first replica, as
    `worker_0`.

    See HookOptions for the arguments. Here `on_fire` may also be "stop", which ends `fit` after
    the batch as `model.stop_training` does, or "raise", which raises RuleEvaluationConditionMet out
    of Keras. In a loop with a tape both act before the update: "stop" ends the program (exit code
    3), "raise" raises there.
    """

    patterned_collections = ACTIVATION_COLLECTIONS
    vetoes: tuple[str, ...] = ("raise", "stop")
    advice: str = (
        "pass the hook as model.fit(callbacks=[hook]), call hook.register_model(model) before a "
        "loop of train_on_batch or test_on_batch, or write 'with hook.wrap_tape(tf.GradientTape()) "
        "as tape:' in each step of a loop"
    )
    filling_methods: str = "include(pattern), add(variable) or add_keras_layer(layer)"
    # A hook that was unpickled has no adapters and does nothing.
    _keras: KerasAdapter | None = None
    _facts: KerasFacts | None = None
    _foreign: Sequence[str] = ()  # sentences about layers that no recorded model has
    _tapes: "TapeAdapter | None" = None

    def _initialize(self, options: HookOptions) -> None:
        keras.callbacks.Callback.__init__(self)
        super()._initialize(options)
        biases = self.get_collection("biases")
        patterns, biases.include_regex = list(biases.include_regex), []
        make_another = self._make_replica_session if self.include_workers == "all" else None
        self._first_session = self._session
        self._session = ReplicaSessions(self._session, make_another)
        self._sink = CaptureSink(self)
        context = CaptureContext(self._sink, PlanView(self, patterns), self._session)
        self._keras = KerasAdapter(context, self.out_dir)
        if HAS_TENSORFLOW:
            self._tapes = TapeAdapter(context, self._keras.is_counting)

    def _make_replica_session(self):
        session = self._make_session()
        if self._handed_over is not None:
            session.set_config(self._handed_over)
        if self._rules:
            self._rules.join_worker(session)
        return session

    # --- what a script calls ---

    @with_known_arguments
    def register_model(self, model: keras.Model) -> None:
        """Records every step of `model`, with the hook among the callbacks or without: also the
        steps of `train_on_batch`, `test_on_batch` and `predict_on_batch`. These have the mode that
        `set_mode` was given, or their own.

        Raises SMDebugTypeError for anything but a keras.Model.
        """
        if not isinstance(model, keras.Model):
            raise SMDebugTypeError(
                f"register_model takes a keras.Model, found {shown(model)}"
                f"{name_hint(model, 'the model itself', keras.Model)}"
            )
        self._warn_if_closed("register_model")
        if self._keras and not self._was_closed:
            self._keras.register(model)

    def wrap_tape(self, tape: Any) -> Any:
        """Records the loop step of `tape`, a tf.GradientTape that was not entered yet. Returns it.

        Raises SMDebugTypeError for anything else, and SMDebugNotImplementedError where Keras runs
        without TensorFlow.
        """
        self._warn_if_closed("wrap_tape")
        if self._tapes:
            self._tapes.watch_tape(tape)
        elif self._keras:
            raise SMDebugNotImplementedError(
                f"wrap_tape takes a tf.GradientTape, found {shown(tape)}: "
                "TensorFlow is not imported; "
                "Keras on this backend is recorded in fit, evaluate and predict"
            )
        return tape

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Records the variables of `optimizer`, a Keras optimizer, in a loop with a tape: after
        each update, in collection `optimizer_variables`, under their own names. Returns it.

        Raises SMDebugTypeError for anything else.
        """
        has_gradients = callable(getattr(optimizer, "apply_gradients", None))
        if inspect.isclass(optimizer) or not has_gradients or not hasattr(optimizer, "variables"):
            raise SMDebugTypeError(
                f"wrap_optimizer takes a Keras optimizer, found {shown(optimizer)}"
                f"{name_hint(optimizer, 'the optimizer itself', keras.optimizers.Optimizer)}"
            )
        if self._tapes:
            self._tapes.watch_optimizer(optimizer)
        return optimizer

    def record_tensor_value(self, tensor_name: str, tensor_value: Any) -> None:
        """Saves a value of a loop, such as a metric, in collection `metrics` if the current step
        saves that. `save_tensor` saves in every step.

        Raises SMDebugTypeError for a name that is not a string and a value that is not a tensor.
        """
        tensor_name = checked_name("a tensor's name", tensor_name)

        def record(name, value):
            if self.should_save_tensor_or_collection(name, "metrics"):
                self.save_tensor(name, value, "metrics")

        self._save(
            tensor_name,
            self.record_tensor_value,
            record,
            tensor_value,
            lambda value: (tensor_name, value),
        )

    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default"
    ) -> None:
        """Saves a tensor at the current step, due or not, see BaseHook."""
        tensor_name = checked_name("a tensor's name", tensor_name)
        self._save(
            tensor_name,
            self.save_tensor,
            super().save_tensor,
            tensor_value,
            lambda value: (tensor_name, value, collections_to_write),
        )

    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: float | None = None
    ) -> None:
        """Saves one number at the current step, see BaseHook."""
        name = checked_name("a scalar's name", name)
        self._save(
            _core.scalar_name(name),
            self.save_scalar,
            super().save_scalar,
            value,
            lambda number: (name, number, sm_metric, timestamp),
        )

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the steps outside of fit, evaluate and predict."""
        super().set_mode(mode)
        if self._keras:
            self._keras.keep_mode()

    # --- events of Keras ---

    def set_model(self, model: keras.Model | None = None) -> None:
        """Prepares for a run of `model`. Raises SMDebugTypeError if the class is among the
        callbacks in place of a hook: then the model comes as `self`."""
        if not isinstance(self, KerasHook):
            raise SMDebugTypeError(
                "callbacks takes a hook, found the class KerasHook; pass an object of it, "
                "callbacks=[KerasHook(out_dir)]"
            )
        super().set_model(model)
        self._warn_if_closed("the callback in fit, evaluate or predict")
        if self._keras:
            self._keras.attach(model)

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins a `fit` or `predict`."""
        if self._keras:
            self._keras.begin_run()

    on_predict_begin = on_train_begin

    def on_test_begin(self, logs: Any = None) -> None:
        """Begins an `evaluate` or a validation."""
        if self._keras:
            self._keras.begin_evaluation()

    def on_train_end(self, logs: Any = None) -> None:
        """Ends a `fit`, `evaluate`, validation or `predict`."""
        if self._keras:
            self._keras.end_run()

    on_test_end = on_train_end
    on_predict_end = on_train_end

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begins an epoch of `fit`."""
        if self._keras:
            self._keras.begin_epoch(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Ends an epoch of `fit`, and saves the `logs` of Keras."""
        if self._keras:
            self._keras.end_epoch(epoch, logs)

    # --- for `smdebug run` ---

    def note_every_step(self) -> None:
        """Notes the loss and the learning rate of every training step as scalar series, and the
        losses of every step of a loop with a tape."""
        if self._keras:
            self._keras.note_every_step(StepSeries(self._first_session))
        if self._tapes:
            self._tapes.note_losses(LossSeries(self._first_session))

    def report_facts(self) -> None:
        """Reports what the training is made of, and measures its first data."""
        if not self._keras:
            return
        self._facts = KerasFacts(self._first_session)
        self._keras.report_facts(self._facts)
        if self._tapes:
            self._tapes.report_facts(self._facts)

    def note_class_weights(self, model: Any, class_weight: Any) -> None:
        """Notes the `class_weight` of the coming `fit` of a model: weights by class, or None."""
        if self._facts is not None:
            self._facts.note_class_weights(model, weights_by_class(class_weight))

    def note_callbacks(self, callbacks: Iterable[Any], has_validation: bool) -> None:
        """Notes the callbacks of the coming `fit`, and whether it evaluates the model."""
        if self._facts is not None:
            self._facts.note_callbacks(callbacks, has_validation)

    # --- for the base classes ---

    def _save(
        self,
        tensor_name: str,
        method: Callable[..., None],
        save: Callable[..., None],
        value: Any,
        arguments_of: Callable[[Any], tuple[Any, ...]],
    ) -> None:
        """Calls `save(*arguments_of(value))`; for a value of a graph, `method` with the value that
        it has when the graph runs. An exception there would end the graph, so that a mistake in the
        arguments is logged."""
        try:
            if self._tapes:
                self._tapes.save(method, save, value, arguments_of)
            else:
                save(*arguments_of(value))
        except NotTaken as why:
            self._skip(tensor_name, str(why))
        except SMDebugTypeError as mistake:
            if not isinstance(value, UserValue):
                raise
            self._skip(tensor_name, str(mistake))

    def _why_no_step(self) -> str:
        if self._tapes and self._tapes.has_wrapped:
            return (
                "a tape was wrapped, but never entered: write 'with "
                "hook.wrap_tape(tf.GradientTape()) as tape:'"
            )
        return (self._keras and self._keras.why_no_batch()) or self.advice

    def _foreign_layers(self):
        """Returns a sentence about each layer in a collection that no recorded model has."""
        return [
            f"layer '{layer.name}' of collection '{collection.name}' is in no model that this hook "
            "records: add a layer of the model that is trained"
            for collection in self._collections.values()
            for layer, _, _ in getattr(collection, "added_layers", list)()
            if self._keras.is_foreign(layer)
        ]

    def _report_unrecorded_parts(self) -> None:
        for text in self._foreign:
            self._report_mistake(text)
        if self._tapes and self._tapes.has_begun and not self._tapes.has_gradients:
            self._report_end(
                "tape.gradient was called on no wrapped tape, so that neither losses nor gradients "
                "nor weights were recorded",
                "wrap the tape of the training, and call tape.gradient(loss, variables) on it",
            )

    def _reasons_of_empty_collections(self) -> dict[str, str]:
        if not self._tapes or not self._tapes.has_begun:
            return {}
        reason = "no optimizer is wrapped: call hook.wrap_optimizer(optimizer) before the loop"
        return {"optimizer_variables": reason}

    def _module_patterns(self, collection):
        layers = self._keras.named_layers() if self._keras else []
        return super()._module_patterns(collection) + activation_patterns(collection, layers)

    def _layer_name(self, layer):
        return self._keras.layer_name(layer) if self._keras else layer.name

    def _detach(self):
        self._foreign = self._foreign_layers()
        if self._tapes:
            self._tapes.detach()
        self._sink.close()
        self._keras.detach()
        super()._detach()
