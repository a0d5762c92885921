"""Values from Python: whose memory they are, many at once, and files that are missing."""

import pathlib
import shutil

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from smdebug import modes
from smdebug.exceptions import TensorUnavailableForStep
from smdebug.trials import create_trial
from smdebug.trials import tensor as tensor_module

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"
LARGE = (300, 301)


@pytest.fixture
def large_run(tmp_path):
    """Three steps of a large weight; the elements of step s, by s."""
    net = torch.nn.Linear(*reversed(LARGE), bias=False)
    hook = smd.Hook(
        str(tmp_path / "run"),
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["weights"],
    )
    hook.register_module(net)
    saved = []
    for step in range(3):
        with torch.no_grad():
            net.weight.fill_(step).view(-1)[::7] = 0.5
            saved.append(net.weight.numpy().copy())
            net(torch.zeros(1, LARGE[1]))
    hook.close()
    return str(tmp_path / "run"), saved


@pytest.mark.parametrize("cache", [False, True])
def test_writing_into_a_value_changes_neither_the_run_nor_another_value(large_run, cache):
    path, saved = large_run
    trial = create_trial(path, cache=cache)
    weight = trial.tensor(trial.tensor_names()[0])
    for step in (0, 1, 1):
        value = weight.value(step)
        assert value.flags.writeable and value.flags.aligned
        np.testing.assert_array_equal(value, saved[step])
        value[:] = -1
    for step, value in weight.values().items():
        np.testing.assert_array_equal(value, saved[step])
        value[:] = -1
    again = create_trial(path).tensor(weight.name)
    np.testing.assert_array_equal(again.value(2), saved[2])


def test_a_value_outlives_its_trial_and_its_file(large_run):
    path, saved = large_run
    trial = create_trial(path)
    values = trial.tensor(trial.tensor_names()[0]).values()
    del trial
    shutil.rmtree(path)
    for step, value in values.items():
        np.testing.assert_array_equal(value, saved[step])


def test_all_values_at_once_are_the_values_of_each_step(tmp_path):
    shutil.unpack_archive(GOLDEN / "many_steps" / "run.tar.gz", tmp_path)
    trial = create_trial(str(next(tmp_path.rglob("index")).parent))
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for mode in (modes.GLOBAL, modes.TRAIN):
            values = tensor.values(mode)
            assert list(values) == tensor.steps(mode)
            for step in list(values)[::97]:
                np.testing.assert_array_equal(values[step], tensor.value(step, mode))


@pytest.fixture
def incomplete_run(tmp_path, monkeypatch):
    """A run that goes on, whose last event file is not there; how often was waited for it."""
    run = tmp_path / "run"
    shutil.copytree(GOLDEN / "pytorch_modes" / "run", run)
    (run / "training_job_end.ts").unlink()
    event_file = max(run.glob("events/*/*.tfevents"))
    hidden = event_file.rename(tmp_path / "hidden")
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            hidden.rename(event_file)

    monkeypatch.setattr(tensor_module.time, "sleep", sleep)
    trial = create_trial(str(run))
    tensor = trial.tensor("CrossEntropyLoss_output_0")
    return tensor, waits


def test_an_event_file_that_may_still_come_is_waited_for(incomplete_run):
    tensor, waits = incomplete_run
    assert np.isfinite(tensor.value(tensor.steps()[-1]))
    assert waits == [2.0] * 3
    assert len(tensor.values()) == len(tensor.steps())


def test_a_missing_event_file_is_given_up_after_as_many_tries_as_set(incomplete_run, monkeypatch):
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "2")
    tensor, waits = incomplete_run
    with pytest.raises(TensorUnavailableForStep, match="event file"):
        tensor.value(tensor.steps()[-1])
    assert waits == [2.0] * 2


def test_an_event_file_that_its_worker_has_passed_is_not_waited_for(incomplete_run):
    tensor, waits = incomplete_run
    path = pathlib.Path(tensor._trial.path)
    next((path / "events/000000000000").iterdir()).unlink()
    with pytest.raises(TensorUnavailableForStep):
        tensor.value(0)
    assert waits == []
