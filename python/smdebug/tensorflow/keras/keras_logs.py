"""`KerasLogs`: saves the logs of Keras after each batch and at the end of an epoch."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from smdebug.array_values import NotTaken
from smdebug.hook_arguments import encodable
from smdebug.tensorflow import names
from smdebug.tensorflow.capture_sink import PlanView
from smdebug.tensorflow.keras.tensor_saver import TensorSaver
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.tensors import as_array


class KerasLogs:
    """Saves losses and metrics, and the number of the batch or epoch as tensor `batch`.

    Logs of a batch are saved when they are due. At the end of an epoch they are saved even if they
    are not due, into the last step of the epoch.
    """

    def __init__(self, plan: PlanView, session: ReplicaSessions, saver: TensorSaver) -> None:
        self._plan = plan
        self._session = session
        self._saver = saver
        self._slots: dict[str, Any] = {}
        self._batch = 0
        self._epoch = 0
        self._last_train_logs: Mapping[str, Any] | None = None  # of a step that may end its epoch
        self._is_training_saved = False  # of this epoch, before its validation
        self._is_epoch_saved = False

    def begin_run(self) -> None:
        """Begins a `fit`, `evaluate` or `predict`, perhaps inside another."""
        self._batch = 0

    def end_runs(self) -> None:
        """Ends all `fit`, `evaluate` and `predict` calls."""
        self._last_train_logs = None

    def begin_epoch(self, epoch: int) -> None:
        """Begins the epoch of that number."""
        self._batch, self._epoch = 0, epoch
        self._is_training_saved = self._is_epoch_saved = False

    def end_batch(self, kind: str, result: Any, is_due: bool) -> None:
        """Saves the logs of a batch if its step `is_due`. `kind` is "train", "test" or "predict",
        `result` the result of the step function."""
        logs = result if isinstance(result, dict) and kind != "predict" else {}
        self._last_train_logs = logs if kind == "train" else None
        if is_due:
            for name, value in {**logs, names.BATCH: self._batch}.items():
                self._saver.put(self._slot(name), name, value)
        self._batch += 1

    def end_training(self) -> None:
        """Saves the training logs of an epoch before its validation begins: the validation has
        its own steps, and the logs at the end of the epoch would belong to the last of them."""
        if self._last_train_logs is not None:
            self._save({**self._last_train_logs, names.BATCH: self._epoch})
            self._is_training_saved = True
            self._last_train_logs = None

    def end_epoch(self, epoch: int, logs: Mapping[str, Any]) -> None:
        """Saves the logs of Keras at the end of an epoch. A second call for it does nothing."""
        if self._is_epoch_saved:
            return
        logs = {**logs, names.BATCH: epoch}
        if self._is_training_saved:
            logs = {name: value for name, value in logs.items() if name.startswith("val_")}
        elif self._last_train_logs is None:
            return  # no batch has run
        self._is_epoch_saved = True
        self._save(logs)

    def _slot(self, name):
        slot = self._slots.get(name)
        if slot is None:
            slot = self._saver.slot(encodable(name), [_collection_of(name)])
            self._slots[name] = slot
        return slot

    def _save(self, logs):
        """Saves logs in the open step, unless their collection is switched off or the step has
        saved them already."""
        for name, value in logs.items():
            collection = _collection_of(name)
            slot = self._slots.get(name)
            is_saved = slot is not None and slot.is_due()
            if not is_saved and not self._plan.is_switched_off(collection):
                value = np.float32(value) if isinstance(value, float) else value
                try:
                    self._session.save_tensor(encodable(name), as_array(value), [collection])
                except NotTaken as why:
                    self._saver.skip(name, str(why))


def _collection_of(name):
    is_loss = name == names.LOSS or name.endswith(f"_{names.LOSS}")
    return "losses" if is_loss else "metrics"
