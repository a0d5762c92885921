"""The parts of the Keras adapter, each without a hook and without a training."""

import pytest

import smdebug.tensorflow as smd
from smdebug.tensorflow.keras.function_pair import FunctionPair
from smdebug.tensorflow.keras.keras_logs import KerasLogs


class Model:
    """Makes a function as Keras 2 does, or as Keras 3, which returns nothing."""

    train_function = None

    def __init__(self, returns):
        self._returns = returns
        self.made = []

    def make_train_function(self, force=False):
        self.made.append(f"function {len(self.made)}")
        self.train_function = self.made[-1]
        return self.train_function if self._returns else None


@pytest.fixture(params=[True, False], ids=["Keras 2", "Keras 3"])
def pair(request):
    model = Model(request.param)
    pair = FunctionPair(model, "train", dispatch)
    pair.make_original = model.make_train_function
    assert pair.make(force=False) is dispatch and model.train_function is dispatch
    return pair


def dispatch():
    """Stays in the model's place of its function."""


def test_a_pair_has_one_function_that_captures_and_one_that_does_not(pair):
    lean, capturing = pair.choose(False), pair.choose(True)
    assert lean != capturing
    assert (pair.choose(False), pair.choose(True), pair.resting()) == (lean, capturing, lean)


def test_a_pair_is_made_again_only_by_force(pair):
    lean = pair.choose(False)
    pair.make(force=False)
    assert pair.choose(False) == lean
    pair.make(force=True)
    assert pair.choose(False) != lean


def test_a_capturing_function_that_captures_too_little_is_made_again(pair):
    lean, capturing = pair.choose(False), pair.choose(True)
    pair.forget_capturing()
    assert pair.choose(True) != capturing and pair.choose(False) == lean


def test_the_single_function_runs_every_batch(pair):
    lean = pair.choose(False)
    assert pair.keep_single() is False and pair.is_single
    assert (pair.choose(True), pair.choose(False), pair.resting()) == (lean, lean, lean)


def test_a_pair_says_whether_the_other_function_has_run(pair):
    pair.choose(False)
    capturing = pair.choose(True)
    assert pair.keep_single() is True
    assert pair.choose(False) == capturing


class Slot:
    def is_due(self):
        return False


class Saved:
    """Stands for the plan, the session and the saver of KerasLogs."""

    def __init__(self, switched_off=()):
        self._switched_off = switched_off
        self.due, self.not_due = [], []

    def is_switched_off(self, collection):
        return collection in self._switched_off

    def slot(self, name, collections):
        return Slot()

    def put(self, slot, name, value):
        self.due.append((name, value))

    def save_tensor(self, name, value, collections):
        self.not_due.append((name, float(value[0]), *collections))


def logs_and_saved(**how):
    saved = Saved(**how)
    return KerasLogs(saved, saved, saved), saved


def test_logs_of_a_batch_are_saved_with_its_number_where_they_are_due():
    logs, saved = logs_and_saved()
    logs.begin_epoch(0)
    logs.end_batch("train", {"loss": 3.0}, is_due=False)
    logs.end_batch("train", {"loss": 2.0}, is_due=True)
    assert saved.due == [("loss", 2.0), ("batch", 1)] and saved.not_due == []


def test_an_epoch_is_saved_once_though_it_is_not_due():
    logs, saved = logs_and_saved()
    logs.begin_epoch(4)
    logs.end_batch("train", {"loss": 3.0}, is_due=False)
    for _ in range(2):
        logs.end_epoch(4, {"loss": 3.0, "accuracy": 0.5})
    expected = [("loss", 3.0, "losses"), ("accuracy", 0.5, "metrics"), ("batch", 4.0, "metrics")]
    assert saved.not_due == expected


def test_of_an_epoch_with_a_validation_the_training_is_saved_before_it():
    logs, saved = logs_and_saved()
    logs.begin_epoch(0)
    logs.end_batch("train", {"loss": 3.0}, is_due=False)
    logs.end_training()
    assert [name for name, *_ in saved.not_due] == ["loss", "batch"]
    logs.end_batch("test", {"loss": 1.0}, is_due=False)
    logs.end_epoch(0, {"loss": 3.0, "val_loss": 1.0})
    assert saved.not_due[2:] == [("val_loss", 1.0, "losses")]


def test_a_collection_that_is_switched_off_is_not_saved_at_the_end_of_an_epoch():
    logs, saved = logs_and_saved(switched_off=["metrics"])
    logs.begin_epoch(0)
    logs.end_batch("train", {"loss": 3.0}, is_due=False)
    logs.end_epoch(0, {"loss": 3.0, "accuracy": 0.5})
    assert saved.not_due == [("loss", 3.0, "losses")]


def test_an_epoch_without_a_batch_saves_nothing():
    logs, saved = logs_and_saved()
    logs.begin_epoch(0)
    logs.end_epoch(0, {"loss": 3.0})
    assert saved.not_due == []


def test_a_hook_that_was_unpickled_does_nothing(tmp_path):
    import pickle

    with smd.KerasHook(str(tmp_path / "run")) as hook:
        copy = pickle.loads(pickle.dumps(hook))
    tape = object()
    assert copy.wrap_tape(tape) is tape
    copy.on_train_begin()
    copy.save_scalar("rate", 1.0)
    copy.close()
    assert copy.status().state == "closed"
