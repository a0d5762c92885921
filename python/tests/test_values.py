"""Values from Python: whose memory they are, many at once, and files that are missing."""

import pathlib
import shutil
import threading

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from smdebug import modes
from smdebug.exceptions import TensorUnavailableForStep
from smdebug.trials import create_trial

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
    values = weight.values()
    assert list(values) == [0, 1, 2]
    for step, value in values.items():
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
    assert list(values) == [0, 1, 2]
    for step, value in values.items():
        np.testing.assert_array_equal(value, saved[step])


def test_all_values_at_once_are_the_values_of_each_step(tmp_path):
    shutil.unpack_archive(GOLDEN / "many_steps" / "run.tar.gz", tmp_path)
    trial = create_trial(str(next(tmp_path.rglob("index")).parent))
    names = trial.tensor_names()
    assert names
    for name in names:
        tensor = trial.tensor(name)
        for mode in (modes.GLOBAL, modes.TRAIN):
            values = tensor.values(mode)
            assert list(values) == tensor.steps(mode)
            for step in list(values)[::97]:
                np.testing.assert_array_equal(values[step], tensor.value(step, mode))


@pytest.fixture
def incomplete_run(tmp_path):
    """A run that has not ended, whose last event file is missing: the run, the file, its bytes."""
    run = tmp_path / "run"
    shutil.copytree(GOLDEN / "pytorch_modes" / "run", run)
    (run / "training_job_end.ts").unlink()
    event_file = max(run.glob("events/*/*.tfevents"))
    content = event_file.read_bytes()
    event_file.unlink()
    return run, event_file, content


def test_an_event_file_that_may_still_come_is_waited_for(incomplete_run):
    run, event_file, content = incomplete_run
    tensor = create_trial(run).tensor("CrossEntropyLoss_output_0")
    writer = threading.Timer(0.2, event_file.write_bytes, [content])
    writer.start()
    assert np.isfinite(tensor.value(tensor.steps()[-1]))
    writer.join()
    assert len(tensor.values()) == len(tensor.steps())


@pytest.mark.parametrize("limit", ["0", "1"])
def test_a_missing_event_file_is_given_up_after_its_retries(incomplete_run, monkeypatch, limit):
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", limit)
    tensor = create_trial(incomplete_run[0]).tensor("CrossEntropyLoss_output_0")
    step = tensor.steps()[-1]
    for ask in (tensor.value, lambda _: tensor.values()):
        with pytest.raises(TensorUnavailableForStep, match="event file") as raised:
            ask(step)
        assert (raised.value.tname, raised.value.step) == (tensor.name, step)
        assert raised.value.code == "unavailable"
        assert not raised.value.has_reductions


def test_an_event_file_that_its_worker_has_passed_is_not_waited_for(incomplete_run):
    run, event_file, content = incomplete_run
    event_file.write_bytes(content)
    next((run / "events/000000000000").iterdir()).unlink()
    with pytest.raises(TensorUnavailableForStep) as raised:
        create_trial(run).tensor("CrossEntropyLoss_output_0").value(0)
    assert raised.value.code == "io"
