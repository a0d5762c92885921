"""Records Keras in an unmodified script: the part of `smdebug run` inside the trainer.

`fit`, `evaluate` and `predict` of keras.Model are replaced by functions that put a hook among the
callbacks, unless the callbacks contain one; `train_on_batch` and `test_on_batch` register the
model. Nothing is created before one of them is called. launch_native.py records loops with a tape,
and sessions.
"""

import functools
import inspect
import sys
from collections.abc import Mapping
from typing import Any

from smdebug.error_isolation import CallsUntilError
from smdebug.launched_hook import make_hook, recorded
from smdebug_ng.autostart import complain

_WITH_CALLBACKS = ("fit", "evaluate", "predict")
_WITHOUT_CALLBACKS = ("train_on_batch", "test_on_batch")

_launch = None


def watch(settings: Mapping[str, Any]) -> None:
    """Watches for a training. Called after the import of TensorFlow and after that of Keras, in any
    order. `settings` is the JSON object of the environment variable SMDEBUG_RUN."""
    global _launch
    if _launch is None:
        _launch = _Launch(settings)
    _launch.follow_imports()


class _Launch:
    def __init__(self, settings):
        self._settings = settings
        self._hook = None
        self._attempt = CallsUntilError(complain)
        self._followed = set()

    def follow_imports(self):
        tensorflow, keras = sys.modules.get("tensorflow"), sys.modules.get("keras")
        if hasattr(tensorflow, "GradientTape") and "tensorflow" not in self._followed:
            self._followed.add("tensorflow")
            self._watch_native_loops()
        if hasattr(keras, "Model") and "keras" not in self._followed:
            self._followed.add("keras")
            self._watch_models(keras.Model)

    def _watch_native_loops(self):
        try:
            from smdebug.tensorflow.launch_native import watch_native_loops
        except ImportError as error:
            complain(f"loops without Keras: {error}")
            return
        watch_native_loops(functools.partial(make_hook, settings=self._settings), self.hook)

    def _watch_models(self, model_class):
        for name in _WITH_CALLBACKS:
            original = getattr(model_class, name)
            setattr(model_class, name, self._with_hook(original))
        for name in _WITHOUT_CALLBACKS:
            original = getattr(model_class, name)
            setattr(model_class, name, self._registered(original))

    def hook(self):
        """Returns the hook of this process, created by the first call."""
        if self._hook is None:
            from smdebug.tensorflow.keras.hook import KerasHook

            self._hook = make_hook(KerasHook, self._settings)
            self._hook.note_every_step()
            self._hook.report_facts()
        return self._hook

    def _with_hook(self, original):
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(model, *arguments, **keywords):
            callbacks = self._attempt(
                lambda: self._callbacks(signature.bind_partial(model, *arguments, **keywords))
            )
            if callbacks is None:
                return original(model, *arguments, **keywords)
            bound = signature.bind_partial(model, *arguments, **keywords)
            bound.arguments["callbacks"] = callbacks
            with recorded():
                return original(*bound.args, **bound.kwargs)

        return call

    def _callbacks(self, bound):
        """Returns the callbacks of a call with the hook among them; None to leave the call
        unchanged."""
        given = bound.arguments.get("callbacks")
        if not (given is None or isinstance(given, (list, tuple)) or hasattr(given, "set_model")):
            return None
        if hasattr(given, "callbacks"):  # Keras's own list, which holds the hook of an outer call
            return None
        given = list(given) if isinstance(given, (list, tuple)) else [given] * (given is not None)
        hook = self.hook()
        if "batch_size" in bound.signature.parameters and hasattr(bound.args[0], "compile"):
            self._note_class_weights(hook, bound)
            is_evaluated = bound.arguments.get("validation_data") is not None
            is_evaluated |= bool(bound.arguments.get("validation_split"))
            hook.note_callbacks(given, is_evaluated)
        return None if any(isinstance(each, type(hook)) for each in given) else [*given, hook]

    def _note_class_weights(self, hook, bound):
        given = bound.arguments
        # Keras 2 multiplies the weights of classes with those of samples.
        is_alone = given.get("sample_weight") is None and given.get("y") is not None
        hook.note_class_weights(given["self"], given.get("class_weight") if is_alone else None)

    def _registered(self, original):
        @functools.wraps(original)
        def call(model, *arguments, **keywords):
            self._attempt(lambda: self.hook().register_model(model))
            with recorded():
                return original(model, *arguments, **keywords)

        return call
