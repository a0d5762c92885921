"""What a program saves by name: tensors, scalars, and when recording is paused."""

import pathlib

import numpy as np
import pytest
import torch
from torch import nn

from smdebug.core.reader import FileReader
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.pytorch import Collection, Hook, ReductionConfig, SaveConfig, create_trial, modes


@pytest.fixture
def training(tmp_path):
    """A hook that saves every second step, and a function that runs one step."""
    net = nn.Linear(2, 1)
    hook = Hook(
        out_dir=tmp_path / "run",
        include_collections=["weights"],
        save_config=SaveConfig(save_interval=2),
    )
    hook.register_module(net)
    hook.set_mode(modes.TRAIN)
    return hook, lambda: net(torch.ones(1, 2))


def events(hook):
    return sorted(pathlib.Path(hook.out_dir).glob("events/*/*.tfevents"))


def test_a_tensor_is_saved_in_the_step_that_is_open_due_or_not(training):
    hook, step = training
    for number in range(4):
        step()
        hook.save_tensor("number", np.full(3, number, dtype=np.int16))
    hook.close()
    number = create_trial(hook.out_dir).tensor("number")
    assert number.steps() == [0, 1, 2, 3]
    for at in range(4):
        value = number.value(at)
        assert value.dtype == np.int16 and value.tolist() == [at] * 3


def test_a_tensor_keeps_the_mode_of_its_step(training):
    hook, step = training
    step()
    hook.set_mode(modes.EVAL)
    step()
    hook.save_tensor("accuracy", 0.5)
    hook.close()
    trial = create_trial(hook.out_dir)
    assert trial.tensor("accuracy").steps(mode=modes.EVAL) == [0]
    assert trial.tensor("accuracy").steps(mode=modes.TRAIN) == []


def test_a_tensor_from_before_the_first_step_goes_into_that(training):
    hook, step = training
    array = np.arange(6.0).reshape(2, 3)
    hook.save_tensor("start", array.T)
    array[:] = -1  # it was copied
    step()
    hook.close()
    start = create_trial(hook.out_dir).tensor("start")
    assert start.steps() == [0]
    np.testing.assert_array_equal(start.value(0), np.arange(6.0).reshape(2, 3).T)


def test_a_tensor_is_listed_in_every_collection_it_is_given_to(training):
    hook, step = training
    step()
    hook.save_tensor("mine", torch.ones(2), collections_to_write=["weights", Collection("new")])
    hook.save_tensor("other", torch.ones(2))
    hook.close()
    trial = create_trial(hook.out_dir)
    assert "mine" in trial.tensor_names(collection="weights")
    assert trial.tensor_names(collection="new") == ["mine"]
    assert trial.tensor_names(collection="default") == ["other"]


def test_a_collection_says_what_is_written_of_a_tensor(tmp_path):
    hook = Hook(out_dir=tmp_path / "run", save_config=SaveConfig(save_interval=1))
    hook.add_collection(
        Collection(
            "reduced",
            include_regex="^none$",
            reduction_config=ReductionConfig(reductions=["mean"], norms=["l2"]),
        )
    )
    net = nn.Linear(1, 1)
    hook.register_module(net)
    net(torch.ones(1, 1))
    values = torch.tensor([3.0, 4.0])
    hook.save_tensor("vector", values, collections_to_write="reduced")
    hook.close()
    vector = create_trial(hook.out_dir).tensor("vector")
    saved = vector.reduction_values(0)
    assert saved["mean", False] == 3.5
    assert saved["l2", False] == 5.0
    with pytest.raises(Exception, match="vector"):
        vector.value(0)


def test_the_last_of_several_values_of_a_step_counts(training):
    hook, step = training
    step()
    hook.save_tensor("again", 1.0)
    hook.save_tensor("again", 2.0)
    hook.close()
    assert create_trial(hook.out_dir).tensor("again").value(0).tolist() == [2.0]


@pytest.mark.parametrize("value", [None, object(), {"a": 1}, [[1], [2, 3]]])
def test_what_is_no_tensor_is_refused_at_the_call(training, value):
    hook, _ = training
    with pytest.raises(SMDebugTypeError, match="'odd'"):
        hook.save_tensor("odd", value)


def test_what_is_no_collection_is_refused_at_the_call(training):
    hook, _ = training
    with pytest.raises(SMDebugTypeError, match="collections_to_write"):
        hook.save_tensor("x", 1.0, collections_to_write=[3])


def test_scalars_keep_their_own_step_mode_and_time(training):
    hook, step = training
    for number in range(3):
        step()
        hook.save_scalar("number", number, timestamp=1000.5 + number)
    hook.close()
    number = create_trial(hook.out_dir).tensor("scalar/number")
    assert number.steps(mode=modes.TRAIN) == [0, 1, 2]
    assert [number.value(at).tolist() for at in range(3)] == [[0], [1], [2]]
    times = [
        event["timestamp"]
        for path in events(hook)
        for event in FileReader(path).read_events(check="minimal", regex_list=["scalar"])
    ]
    assert times == [1000.5, 1001.5, 1002.5]


def test_a_paused_hook_counts_steps_and_saves_nothing(training):
    hook, step = training
    step()
    hook.pause()
    for _ in range(4):
        step()
        hook.save_scalar("unheard", 1)
        hook.save_tensor("unseen", 1)
    hook.resume()
    step()
    step()
    hook.close()
    trial = create_trial(hook.out_dir)
    assert trial.steps() == [0, 6]
    assert trial.tensor_names() == ["Linear_weight"]


def test_a_true_checksum_stands_behind_every_record(tmp_path):
    net = nn.Linear(300, 300)
    hook = Hook(
        out_dir=tmp_path / "run",
        save_all=True,
        save_config=SaveConfig(save_interval=1),
        reduction_config=ReductionConfig(reductions=["median"], save_raw_tensor=True),
        checksum="crc32c",
    )
    hook.register_module(net)
    net(torch.ones(4, 300)).sum().backward()
    hook.save_tensor("text", ["a", "bc"])
    hook.save_tensor("large", torch.arange(700_000.0))  # of several messages
    hook.close()
    (path,) = events(hook)
    names = [name for name, *_ in FileReader(path).read_tensors(check="full")]
    assert {"Linear_weight", "gradient/Linear_weight", "text", "large"} <= set(names)
    assert "smdebug/reductions/median/Linear_weight" in names
    large = create_trial(hook.out_dir).tensor("large").value(0)
    np.testing.assert_array_equal(large, np.arange(700_000.0, dtype=np.float32))


def test_an_unknown_checksum_is_refused(tmp_path):
    with pytest.raises(SMDebugValueError, match="crc32c"):
        Hook(out_dir=tmp_path / "run", checksum="md5")
