"""`KerasHook`: a callback that records what Keras does.

A step is one call of the model's train, test or predict function: a batch, or as many as
`steps_per_execution` says. The hook stands in the place of these functions (step_function.py)
while Keras runs with it, so that nothing waits for a batch's log that need not be saved. A step
begins when its batch is done: a data set that turns out to be empty counts none.
"""

import re

import keras
import numpy as np

from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugError, SMDebugTypeError
from smdebug.log import get_logger
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.activations import activation_patterns
from smdebug.tensorflow.keras.step_backend import HAS_TENSORFLOW, why_closed
from smdebug.tensorflow.keras.watched_model import WatchedModel
from smdebug.tensorflow.tensors import NotTaken, as_array

if HAS_TENSORFLOW:
    from smdebug.tensorflow.tape.tape_adapter import TapeRecorder as LoopRecorder
else:
    from smdebug.tensorflow.keras.no_tapes import LoopRecorder

logger = get_logger()


class KerasHook(LoopRecorder, keras.callbacks.Callback):
    """Records `fit`, `evaluate` and `predict` as a callback.

        hook = KerasHook(out_dir="runs/1", include_collections=["gradients"])
        model.fit(x, y, callbacks=[hook])

    Losses and metrics are what Keras logs; at the end of an epoch they are saved, due or not.
    Weights and the optimizer's variables are those after the update; gradients are those that the
    optimizer was given. The modes are those of the call: TRAIN, EVAL, PREDICT. `register_model`
    also records `train_on_batch` and its like.

    Under a tf.distribute.MirroredStrategy `include_workers="all"` makes each replica a worker,
    named after its device, with its own inputs, outputs, gradients, copies of variables and, as
    `replica_loss`, loss, and `rules` judge each by itself; "one" records those of the first
    replica, as `worker_0`.

    The arguments are those of BaseHook. Here `on_fire` may also be "stop", which ends `fit` after
    the batch as `model.stop_training` does, or "raise", which raises RuleEvaluationConditionMet out
    of Keras; in a loop with a tape both act before the update, see TapeRecorder.
    """

    patterned_collections = ACTIVATION_COLLECTIONS

    def __init__(self, out_dir, *arguments, **keywords):
        keras.callbacks.Callback.__init__(self)
        self._watched = {}  # id of a model -> its WatchedModel
        self._registered = set()  # ids of the models that are recorded without a callback
        self._armed = None  # the model that Keras has just handed over
        self._depth = 0  # of fit, evaluate and predict that run now
        self._has_own_mode = False
        self._log_sites = {}
        self._batch = 0
        self._last_train_logs = None  # of a step that may end its epoch
        self._epoch = 0
        self._is_training_saved = False  # of this epoch, before its validation
        self._is_epoch_saved = False
        self._is_closing = False
        super().__init__(out_dir, *arguments, **keywords)
        # A bias is told among the weights: its name is in that of its optimizer's variables too.
        biases = self.get_collection("biases")
        self._bias_patterns, biases.include_regex = list(biases.include_regex), []

    # --- what the user calls ---

    def register_model(self, model):
        """Records every step of `model`, with the hook among the callbacks or not: also what
        `train_on_batch`, `test_on_batch` and `predict_on_batch` do, in the mode that `set_mode`
        was given, else in theirs."""
        if not isinstance(model, keras.Model):
            raise SMDebugTypeError(f"register_model takes a keras.Model, found {model!r}")
        if not self._session:
            return
        self._registered.add(id(model))
        self._watch(model).install()

    def set_mode(self, mode):
        super().set_mode(mode)
        self._has_own_mode = True

    # --- what Keras calls ---

    def set_model(self, model):
        super().set_model(model)
        if not self.is_recording:
            return
        if self._armed is model:
            logger.warning("the hook is among the callbacks twice; once is enough")
        if self._armed is None:
            self._depth = 0  # an earlier call may have been left by an exception
        self._armed = model
        self.unharmed(lambda: self._watch(model).install(), "when a model was handed over")

    def on_train_begin(self, logs=None):
        self._enter()

    def on_test_begin(self, logs=None):
        self.unharmed(self._save_end_of_training, "before the validation")
        self._enter()

    def on_predict_begin(self, logs=None):
        self._enter()

    def on_train_end(self, logs=None):
        self._leave()

    def on_test_end(self, logs=None):
        self._leave()

    def on_predict_end(self, logs=None):
        self._leave()

    def on_epoch_begin(self, epoch, logs=None):
        self._batch, self._epoch = 0, epoch
        self._is_training_saved = self._is_epoch_saved = False

    def on_epoch_end(self, epoch, logs=None):
        self.unharmed(lambda: self._save_epoch(epoch, logs or {}), "at the end of an epoch")

    def _enter(self):
        if self._session:
            self._armed = None
            self._depth += 1
            self._batch = 0

    def _leave(self):
        if self._session:
            self._depth = max(self._depth - 1, 0)
            if self._depth == 0:
                self.batches_are_over()

    def batches_are_over(self):
        """Keras has returned, or an exception goes through it."""
        self._armed, self._depth, self._last_train_logs = None, 0, None
        for watched in self._watched.values():
            self.release(watched.model)

    # --- what a step function asks ---

    @property
    def is_recording(self):
        """Whether a step would be counted."""
        return bool(self._session) and not self._failure and not self._is_closing

    def expects(self, function):
        """Whether this run of Keras has the hook: not so where a later `fit` goes without it."""
        model = function.model
        return (
            self._armed is model
            or id(model) in self._registered
            or (self._depth > 0 and function.kind != "train")
        )

    def release(self, model):
        """Takes the hook out of a model, unless it is registered."""
        if id(model) not in self._registered:
            self._watched[id(model)].uninstall()

    def batch_begins(self, function):
        """Before a batch: whether its graph is to hand tensors out."""
        if not self.is_recording:
            return False
        try:
            if not (self._has_own_mode and self._depth == 0):
                self._follow_mode(function.mode)
            self._prepare_step()
            return self._session.is_next_due() and self._wants_graph(function)
        except SMDebugError:  # the configuration makes no sense
            self._detach()
            raise
        except Exception as error:
            self._latch("before a batch", error)
            return False

    def batch_ended(self, function, result, captures, state=None):
        """After a batch: its step begins, and all that is due in it is saved. `state` is what JAX
        gives: lists of the values of the model's variables, by kind."""
        if not self.is_recording:
            return
        try:
            self._save_step(function, result, captures, state)
        except Exception as error:
            self._latch("after a batch", error)
        if self._rules:
            self._follow_rules(function.model)

    def _follow_rules(self, model):
        """Does what a rule asks for that fired in this batch, whose update is made by then."""
        self.unharmed(self._session.before_update, "judging a step")

        def stop(verdict):
            logger.error("a rule stops fit: %s", verdict["message"])
            model.stop_training = True

        try:
            self._rules.apply(stop)
        except RuleEvaluationConditionMet:
            self.batches_are_over()
            raise

    def site(self, name, collections):
        return self._session.tensor(name, list(collections))

    def put(self, site, name, tensor):
        """Saves a tensor where its site is due; of a tuple, which holds one for each replica, each
        under its worker, or the first where there is one worker."""
        if not site.is_due():
            return
        try:
            if not isinstance(tensor, tuple):
                site.put(as_array(tensor))
            elif self.are_replicas_apart:
                site.put_each([as_array(each) for each in tensor])
            else:
                site.put(as_array(tensor[0]))
        except NotTaken as why:
            self.skip(name, str(why))

    def skip(self, name, why):
        """Says once that a tensor is not saved."""
        self._say_once(f"tensor '{name}' is not saved: {why}", name)

    def skip_graph(self, why):
        """Says once that nothing from inside a step is saved."""
        self._say_once(f"layers, gradients, inputs and outputs are not saved: {why}", why)

    def unharmed(self, action, where):
        """What `action` returns, or None where it fails: that never reaches the training."""
        if not self.is_recording:
            return None
        with self._unharmed(where):
            return action()

    # --- a step ---

    def _watch(self, model):
        watched = self._watched.get(id(model))
        if watched is None:
            self.follow_strategy(getattr(model, "distribute_strategy", None))
            if self._watched:
                logger.warning(
                    "a second model is recorded in %s: its steps are counted on, and tensors of "
                    "the same name are told apart by their steps alone",
                    self.out_dir,
                )
            watched = self._watched[id(model)] = WatchedModel(self, self._session, model)
        return watched

    def _follow_mode(self, mode):
        if mode is not self.mode:
            super().set_mode(mode)

    def _wants_graph(self, function):
        why = why_closed(function.model)
        if why:
            self.skip_graph(why)
            return False
        if function.is_known:
            return function.wants_next()
        candidates = self._watched[id(function.model)].candidates(function.kind)
        return any(self._session.is_next_due(name, kind) for name, kind in candidates)

    def _save_step(self, function, result, captures, state):
        is_due = self._begin_step()
        is_training = function.kind == "train"
        logs = result if isinstance(result, dict) and function.kind != "predict" else {}
        self._last_train_logs = logs if is_training else None
        if is_due:
            self._write_graph(self.mode)
            function.put(captures or {})
            self._put_logs({**logs, names.BATCH: self._batch})
            self._watched[id(function.model)].put_variables(state)
        self._batch += 1

    def _put_logs(self, logs):
        for name, value in logs.items():
            site = self._log_sites.get(name)
            if site is None:
                site = self._log_sites[name] = self.site(name, [_log_collection(name)])
            self.put(site, name, value)

    # --- the end of an epoch ---

    def _save_end_of_training(self):
        """The training steps of an epoch are over when its validation begins: that has steps of
        its own, and what Keras says of the training at the end would fall into the last of them."""
        if self._depth > 0 and self._last_train_logs is not None:
            self._save_logs({**self._last_train_logs, names.BATCH: self._epoch})
            self._is_training_saved = True
            self._last_train_logs = None

    def _save_epoch(self, epoch, logs):
        if self._is_epoch_saved:
            return  # the hook is among the callbacks twice
        logs = {**logs, names.BATCH: epoch}
        if self._is_training_saved:
            logs = {name: value for name, value in logs.items() if name.startswith("val_")}
        elif self._last_train_logs is None:
            return  # no batch was run
        self._is_epoch_saved = True
        self._save_logs(logs)

    def _save_logs(self, logs):
        """Saves logs in the open step, due or not, unless their collection is switched off. What
        the step has saved already is the same."""
        for name, value in logs.items():
            collection = _log_collection(name)
            site = self._log_sites.get(name)
            is_saved = site is not None and site.is_due()
            if not is_saved and not self._is_switched_off(collection):
                value = np.float32(value) if isinstance(value, float) else value
                self._session.save_tensor(name, as_array(value), [collection])

    def _is_switched_off(self, collection):
        save_config = self.get_collection(collection).save_config
        mode = save_config and save_config.get_save_config(self.mode)
        return mode is not None and mode.end_step == 0

    # --- what the bases ask ---

    def is_bias(self, name):
        """Whether a variable of that name is a bias."""
        return any(re.search(pattern, name) for pattern in self._bias_patterns)

    _is_bias = is_bias

    def _has_own_steps(self):
        return self._depth > 0 or self._is_in_batch

    @property
    def _is_in_batch(self):
        return any(watched.is_in_batch for watched in self._watched.values())

    @property
    def wants_inner_inputs(self):
        """Whether a collection by kind is saved, and so what activations inside of layers take."""
        return not ACTIVATION_COLLECTIONS.isdisjoint(self.include_collections)

    def _module_patterns(self, collection):
        layers = [
            each
            for watched in self._watched.values()
            for each in watched.layer_names.named_layers()
        ]
        return super()._module_patterns(collection) + activation_patterns(collection, layers)

    def _layer_name(self, layer):
        for watched in self._watched.values():
            if watched.layer_names.knows(layer):
                return watched.layer_names(layer)
        return layer.name

    def _detach(self):
        self._is_closing = True
        for watched in self._watched.values():
            watched.uninstall()
        super()._detach()


def _log_collection(name):
    is_loss = name == names.LOSS or name.endswith(f"_{names.LOSS}")
    return "losses" if is_loss else "metrics"
