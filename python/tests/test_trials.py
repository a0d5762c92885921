"""Reading runs from Python: what golden runs of the original hold, and what is raised."""

import pathlib
import shutil
import threading

import numpy as np
import pytest

from smdebug import modes
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.core.access_layer.utils import check_dir_exists, has_training_ended, is_s3
from smdebug.core.tensor import StepState
from smdebug.exceptions import (
    InvalidWorker,
    MissingCollectionFiles,
    NoMoreData,
    ShapeUnavailableForStep,
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.trials import Trial, create_trial

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"


@pytest.fixture
def open_run(tmp_path, monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")

    def open_copy(case, **kwargs):
        run = tmp_path / case
        shutil.copytree(GOLDEN / case / "run", run)
        return create_trial(str(run), **kwargs)

    return open_copy


def test_every_way_to_name_a_run_opens_it(open_run):
    trial = open_run("pytorch_modes")
    again = create_trial(out_dir=f" {trial.path} ")
    assert again == trial and hash(again) == hash(trial)
    assert create_trial(pathlib.Path(trial.path), name="other") != trial


def test_a_run_that_does_not_appear_is_an_error_after_the_timeout(tmp_path):
    with pytest.raises(SMDebugError, match="no run at") as raised:
        create_trial(str(tmp_path), timeout=0)
    assert raised.value.code == "not_found"


def test_a_mistyped_path_is_answered_with_the_nearest_run(open_run):
    run = pathlib.Path(open_run("pytorch_modes").path)
    for timeout in (None, 0, 0.01):
        with pytest.raises(SMDebugError, match=f"does not exist; nearest: '{run}'") as raised:
            create_trial(run.with_name(run.name + "x"), timeout=timeout)
        assert raised.value.code == "not_found"
    note = run.parent / "note.txt"
    note.write_text("")
    with pytest.raises(SMDebugError, match="it is a file"):
        create_trial(note, timeout=0)


def test_a_damaged_event_file_is_named_with_the_tensor_and_the_step(open_run):
    trial = open_run("pytorch_modes")
    event_file = min(pathlib.Path(trial.path).glob("events/*/*.tfevents"))
    content = bytearray(event_file.read_bytes())
    content[-5] ^= 1
    event_file.write_bytes(content)
    messages = []
    for name in trial.tensor_names(step=0):
        try:
            trial.tensor(name).value(0)
        except SMDebugError as error:
            messages.append(str(error))
    assert len(messages) == 1
    path = f"events/{event_file.parent.name}/{event_file.name}"
    assert f"at step 0: its value cannot be read: event file '{path}'" in messages[0]
    assert "is damaged" in messages[0]


def test_a_finished_run_without_every_collections_file_says_so(open_run):
    path = pathlib.Path(open_run("workers_two").path)
    next(path.glob("collections/*/worker_1*")).unlink()
    with pytest.raises(MissingCollectionFiles):
        create_trial(str(path))


def test_values_are_arrays_of_the_callers_own(open_run):
    tensor = open_run("pytorch_modes").tensor("Net_fc.bias")
    value = tensor.value(0)
    value[:] = 0
    assert tensor.value(0).any()


def test_steps_of_a_mode_and_of_the_run(open_run):
    trial = open_run("pytorch_modes")
    assert trial.modes() == [modes.TRAIN, modes.EVAL]
    tensor = trial.tensor("CrossEntropyLoss_output_0")
    step = trial.global_step(modes.EVAL, 1)
    assert trial.mode_modestep(step) == (modes.EVAL, 1)
    assert tensor.value(1, mode=modes.EVAL) == tensor.value(step)
    assert set(tensor.values(modes.EVAL)) == set(tensor.steps(modes.EVAL))
    assert tensor.shapes() == {s: () for s in tensor.steps()}


def test_what_is_not_there_is_an_empty_list_or_none(open_run):
    trial = open_run("pytorch_modes")
    assert trial.tensor_names(mode=modes.PREDICT) == []
    assert trial.tensor_names(step=10_000) == []
    assert trial.tensor_names(step=10_000, mode=modes.EVAL) == []
    assert trial.steps(mode=modes.PREDICT) == []
    assert trial.mode(10_000) is None and trial.mode_step(10_000) is None
    assert trial.global_step(modes.EVAL, 10_000) is None
    assert trial.collection("no such").tensor_names == set()
    assert not trial.has_tensor("no such")


def test_each_missing_thing_has_its_exception(open_run):
    trial = open_run("pytorch_modes")
    weight, gradient = trial.tensor("Net_fc.weight"), trial.tensor("gradient/Net_fc.weight")
    evaluated = trial.global_step(modes.EVAL, 0)
    with pytest.raises(TensorUnavailable, match="did you mean.*'Net_fc.weight'"):
        trial.tensor("Net_fc.wieght")
    with pytest.raises(TensorUnavailableForStep):
        gradient.value(evaluated)
    with pytest.raises(StepUnavailable):
        weight.value(10_000)
    with pytest.raises(InvalidWorker):
        weight.value(0, worker="worker_9")
    with pytest.raises(TensorUnavailableForStep):
        gradient.workers(evaluated)
    with pytest.raises(SMDebugValueError, match="no reduction"):
        weight.reduction_value(0, "average")
    with pytest.raises(SMDebugValueError, match="smdebug.modes"):
        trial.steps(mode="TRAIN")
    with pytest.raises(SMDebugValueError):
        trial.tensor_names(regex="(")
    with pytest.raises(ValueError):
        trial.tensor_names(regex="a", collection="losses")
    with pytest.raises(SMDebugNotImplementedError):
        weight.step(0)


def test_a_step_that_may_still_come_is_not_yet_available(open_run):
    trial = open_run("workers_two_running")
    loss = trial.tensor("MSELoss_output_0")
    assert trial.has_passed_step(10) == StepState.NOT_YET_AVAILABLE
    with pytest.raises(StepNotYetAvailable):
        loss.value(10)
    with pytest.raises(StepUnavailable):
        trial.wait_for_steps([3])


def test_waiting_past_the_end_of_a_run_raises_no_more_data(open_run):
    trial = open_run("pytorch_modes")
    with pytest.raises(NoMoreData) as raised:
        trial.wait_for_steps([0, 99], mode=modes.TRAIN)
    assert (raised.value.step, raised.value.last_step) == (99, 7)
    trial.wait_for_steps(trial.steps())


def test_reductions_that_were_saved_are_given_as_saved(open_run):
    tensor = open_run("pytorch_reductions").tensor("Net_fc.weight")
    saved = tensor.reduction_values(0)
    assert saved[("mean", False)].dtype == np.float32
    assert tensor.reduction_value(0, "l2_norm", abs=True) == saved[("l2", True)]
    with pytest.raises(TensorUnavailableForStep) as raised:
        tensor.value(0)
    assert raised.value.has_reductions
    with pytest.raises(ShapeUnavailableForStep):
        tensor.shape(0)
    with pytest.raises(TensorUnavailableForStep):
        tensor.reduction_value(0, "median")


def test_reductions_are_computed_as_numpy_does(open_run):
    tensor = open_run("pytorch_modes").tensor("Net_conv.weight")
    value = tensor.value(0)
    flat = value.astype(np.float64).ravel()
    expected = {
        "median": np.median(flat),
        "std": flat.std(),
        "variance": flat.var(),
        "prod": flat.prod(),
        "l1": np.abs(flat).sum(),
        "l2": np.sqrt((flat**2).sum()),
    }
    for name, number in expected.items():
        got = tensor.reduction_value(0, name)
        assert got.dtype == value.dtype
        np.testing.assert_allclose(got, number, rtol=1e-6)
    np.testing.assert_allclose(tensor.reduction_value(0, "std", abs=True), np.abs(flat).std())
    assert tensor.statistics(0)["count"] == value.size


def test_a_broken_event_file_is_an_error_that_names_it(open_run):
    trial = open_run("pytorch_modes")
    path = next(pathlib.Path(trial.path).glob("events/*0/*0_worker_0.tfevents"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(SMDebugRuntimeError, match=path.name) as raised:
        trial.tensor("gradient/Net_fc.weight").value(0)
    assert raised.value.code == "corrupt"
    path.unlink()
    with pytest.raises(TensorUnavailableForStep, match=path.name):
        trial.tensor("gradient/Net_fc.weight").value(0)


def test_a_range_leaves_steps_unread(open_run):
    trial = open_run("pytorch_modes", range_steps=(2, 5))
    assert trial.steps() == [2, 3, 4]
    for bad in ((3, 3), (-1, 2), ("a", None)):
        with pytest.raises(AssertionError):
            Trial(trial.path, range_steps=bad)


def test_a_context_hands_on_the_trials_that_it_was_given(open_run):
    trial = open_run("pytorch_modes")
    for context in (no_refresh, refresh):
        with context(trial) as same:
            assert same is trial
        several = [trial]
        with context(several) as same:
            assert same is several


def test_a_trial_opens_with_the_arguments_of_the_original_and_with_a_path(open_run):
    path = open_run("pytorch_modes").path
    own = pathlib.Path(path).name
    for trial, name in [
        (Trial(path), own),
        (Trial(path, (2, 5), True, False, True, True), own),
        (Trial(name=path, range_steps=(2, 5), parallel=False, check=True, cache=True), own),
        (Trial(path, "mine", timeout=5), "mine"),
        (Trial(path=path, name="mine", range_steps=(2, 5)), "mine"),
    ]:
        assert (trial.path, trial.name) == (path, name)
        assert trial.steps()[:3] in ([0, 1, 2], [2, 3, 4])
    with pytest.raises(SMDebugTypeError, match="needs the path of a run"):
        Trial()


def test_collections_are_those_of_the_run(open_run):
    trial = open_run("pytorch_modes")
    losses = trial.collection("losses")
    assert "CrossEntropyLoss_output_0" in losses.tensor_names
    by_name = trial.tensor_names(collection="losses")
    assert trial.tensor_names(collection=losses) == by_name == ["CrossEntropyLoss_output_0"]


def test_refreshing_is_switched_for_a_while_and_back(open_run):
    trial = open_run("workers_two_running")
    with pytest.raises(ZeroDivisionError):
        with no_refresh([trial]):
            assert not trial.dynamic_refresh
            with refresh(trial):
                assert trial.dynamic_refresh
            assert not trial.dynamic_refresh
            raise ZeroDivisionError
    assert trial.dynamic_refresh
    trial.wait_for_steps([0])
    assert trial.dynamic_refresh


def test_waiting_sees_a_step_that_another_thread_publishes(open_run, tmp_path):
    path = pathlib.Path(open_run("workers_two_running").path)
    index = path / "index/000000000/000000000006_worker_1.json"
    held = index.rename(tmp_path / index.name)
    trial = create_trial(str(path))
    assert trial.steps() == [0, 2, 4]
    publisher = threading.Timer(0.2, held.rename, [index])
    publisher.start()
    trial.wait_for_steps([6])
    publisher.join()
    assert trial.tensor("MSELoss_output_0").workers(6) == ["worker_0", "worker_1"]


def test_places_are_told_apart(tmp_path):
    assert is_s3("s3://a/b/c") == (True, "a", "b/c")
    assert is_s3("s3://a") == is_s3("s3://a/") == (True, "a", "")
    assert is_s3("/tmp/s3://a") == (False, None, None)
    check_dir_exists(str(tmp_path))
    assert not has_training_ended(str(tmp_path))
    (tmp_path / "training_job_end.ts").touch()
    assert has_training_ended(str(tmp_path))
    with pytest.raises(SMDebugRuntimeError):
        check_dir_exists(str(tmp_path))


@pytest.mark.parametrize("name", ["index", "collections", "run.json", "progress.json"])
def test_a_file_of_a_run_that_is_huge_is_damage_and_the_rest_is_readable(tmp_path, name):
    run = shutil.copytree(GOLDEN / "pytorch_modes" / "run", tmp_path / "run")
    file = run / name if "." in name else min((run / name).glob("*/*"))
    with open(file, "ab") as zeros:
        zeros.truncate(1 << 40)  # takes no space on the disk
    trial = create_trial(run, timeout=20)
    assert len(trial.steps()) >= 6
    assert [damaged for damaged, _ in trial.damage()] == [str(file.relative_to(run))]
