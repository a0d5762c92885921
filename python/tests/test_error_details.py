"""Each detail of a core error arrives as its exception, with its arguments and the full message."""

import pathlib
import pickle
import shutil

import numpy as np
import pytest

import smdebug.pytorch as smd
from smdebug import exceptions, modes
from smdebug.core.reader import FileReader
from smdebug.core.writer import FileWriter
from smdebug.trials import create_trial

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"


@pytest.fixture
def path_of(tmp_path, monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")

    def copy(case):
        run = tmp_path / case
        if not run.exists():
            shutil.copytree(GOLDEN / case / "run", run)
        return run

    return copy


def tensor_of(path_of, case, name):
    return create_trial(path_of(case), timeout=0).tensor(name)


def without_a_collections_file(path_of):
    run = path_of("workers_two")
    next(run.glob("collections/*/worker_1*")).unlink()
    create_trial(run)


def without_an_event_file(path_of):
    shutil.rmtree(path_of("pytorch_modes") / "events")
    tensor_of(path_of, "pytorch_modes", "Net_fc.weight").value(0)


def of_a_step(step, mode=modes.GLOBAL, **rest):
    return {"step": step, "mode": mode, **rest}


WEIGHT = "Net_fc.weight"
LOSS = "MSELoss_output_0"
# What is asked, the class of what is raised, its code, its attributes, a part of its message.
CASES = {
    "collections_missing": (
        without_a_collections_file,
        *("MissingCollectionFiles", "not_found", {}, "1 of 2 workers"),
    ),
    "tensor_unknown": (
        lambda path_of: tensor_of(path_of, "pytorch_modes", "Net_fc.wieght"),
        *("TensorUnavailable", "not_found", {"tname": "Net_fc.wieght"}, "did you mean"),
    ),
    "worker_unknown": (
        lambda path_of: tensor_of(path_of, "pytorch_modes", WEIGHT).value(0, worker="w"),
        *("InvalidWorker", "invalid_argument", {"worker": "w"}, "there are 'worker_0'"),
    ),
    "step_not_yet": (
        lambda path_of: tensor_of(path_of, "workers_two_running", LOSS).value(10),
        *("StepNotYetAvailable", "not_yet", of_a_step(10), LOSS),
    ),
    "step_passed": (
        lambda path_of: tensor_of(path_of, "workers_two_running", LOSS).value(3),
        *("StepUnavailable", "not_found", of_a_step(3), LOSS),
    ),
    "no_more_data": (
        lambda path_of: create_trial(path_of("pytorch_modes")).wait_for_steps([99], modes.TRAIN),
        *("NoMoreData", "not_found", of_a_step(99, modes.TRAIN, last_step=7), "has ended"),
    ),
    "tensor_not_at_step": (
        lambda path_of: tensor_of(path_of, "pytorch_modes", f"gradient/{WEIGHT}").value(
            0, mode=modes.EVAL
        ),
        "TensorUnavailableForStep",
        "not_found",
        of_a_step(0, modes.EVAL, tname=f"gradient/{WEIGHT}", has_reductions=False),
        "other tensors",
    ),
    "only_reductions": (
        lambda path_of: tensor_of(path_of, "pytorch_reductions", WEIGHT).value(0),
        "TensorUnavailableForStep",
        "not_found",
        of_a_step(0, tname=WEIGHT, has_reductions=True),
        "only its reductions",
    ),
    "elements_unavailable": (
        without_an_event_file,
        "TensorUnavailableForStep",
        "io",
        of_a_step(0, tname=WEIGHT, has_reductions=False),
        "event file",
    ),
    "shape_unavailable": (
        lambda path_of: tensor_of(path_of, "pytorch_reductions", WEIGHT).shape(0),
        *("ShapeUnavailableForStep", "not_found", of_a_step(0, tname=WEIGHT), "not saved"),
    ),
    "type_unsupported": (
        lambda path_of: FileWriter(path_of("workers_two"), "w", 1).write_tensor(object(), "t"),
        *("SMDebugTypeError", "unsupported", {}, "tensor 't' cannot be written"),
    ),
    "file_missing": (
        lambda path_of: smd.Hook.create_from_json_file(path_of("workers_two") / "nothing.json"),
        *("FileNotFoundError", "not_found", {}, "hook configuration: .*nothing.json"),
    ),
    "nothing_written": (
        lambda path_of: FileWriter(path_of("workers_two"), "w", 1).name(),
        *("SMDebugRuntimeError", "not_found", {}, "no file yet"),
    ),
}


@pytest.mark.parametrize("detail", CASES)
def test_each_detail_has_its_class_its_arguments_and_its_message(path_of, detail):
    ask, name, code, attributes, message = CASES[detail]
    kind = getattr(exceptions, name, None) or FileNotFoundError
    with pytest.raises(kind, match=message) as raised:
        ask(path_of)
    error = raised.value
    assert type(error) is kind
    assert error.code == code
    assert {key: getattr(error, key) for key in attributes} == attributes
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (kind, str(error), code)


def test_a_record_that_is_not_a_tensor_is_a_value_error(tmp_path):
    with FileWriter(str(tmp_path), "worker_0", 0, wtype="tensorboard") as writer:
        writer.write_scalar_summary("loss", 1.0)
        path = writer.name()
    with pytest.raises(exceptions.SMDebugValueError) as raised:
        list(FileReader(path).read_tensors(check="full"))
    assert raised.value.code == "unsupported"
    assert FileReader(path).read_events(check="full") == []


@pytest.mark.parametrize(
    ("step", "mode", "said"),
    [
        (77, modes.GLOBAL, "the step was not saved; the tensor has 3 steps: 5, 75, 80"),
        (3, modes.GLOBAL, "the step was not saved; the tensor has 3 steps, nearest: 5, 75"),
        (90, modes.GLOBAL, "the tensor has 3 steps, nearest: 75, 80"),
        (3, modes.EVAL, "the run has no EVAL steps, its modes are TRAIN"),
    ],
)
def test_a_step_that_was_not_saved_is_answered_with_those_that_were(tmp_path, step, mode, said):
    for saved in (5, 75, 80):
        with FileWriter(str(tmp_path / "run"), "worker_0", step=saved) as writer:
            writer.write_tensor(tdata=np.zeros(3), tname="loss", mode=modes.TRAIN, mode_step=saved)
    (tmp_path / "run/training_job_end.ts").touch()
    tensor = create_trial(tmp_path / "run").tensor("loss")
    with pytest.raises(exceptions.StepUnavailable, match=said):
        tensor.value(step, mode=mode)
