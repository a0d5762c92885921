"""Mistakes in reading a run from Python: each message names the mistake and the remedy."""

import re
from types import SimpleNamespace

import pytest

import smdebug.pytorch as smd
from conftest import read, record_two_steps
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.exceptions import (
    SMDebugError,
    SMDebugTypeError,
    SMDebugValueError,
    StepUnavailable,
)
from smdebug.rules import Rule, builtin, invoke_rule
from smdebug.trials import create_trial


@pytest.mark.parametrize(
    "take", [lambda path: builtin("vanishing_gradient", path), Rule, no_refresh, refresh]
)
def test_the_path_of_a_run_in_place_of_a_trial_is_refused(tmp_path, take):
    def use(path):
        taken = take(path)
        if hasattr(taken, "__enter__"):
            with taken:
                pass

    for path in ("runs/amp", tmp_path):
        with pytest.raises(SMDebugTypeError, match=r"takes a trial.*use create_trial\('"):
            use(path)
    with pytest.raises(SMDebugTypeError, match="other_trials of rule Rule takes a trial"):
        Rule(None, other_trials="runs/amp")


def test_a_folder_above_runs_is_refused_at_once_and_an_empty_one_is_waited_for(
    tmp_path, monkeypatch
):
    record_two_steps(tmp_path / "runs" / "one")
    with pytest.raises(SMDebugError, match=r"holds no files of a run, but runs, such as .*/one'"):
        create_trial(tmp_path / "runs")
    assert create_trial(tmp_path / "runs" / "one").steps() == [0, 1]

    class Waits(Exception):
        pass

    def opened(path, name, first, end, timeout, drain, cache):
        assert timeout is None
        raise Waits

    (tmp_path / "new").mkdir()
    monkeypatch.setattr("smdebug.trials.trial.CoreTrial", SimpleNamespace(open=opened))
    for path in (tmp_path / "new", tmp_path / "runs" / "one"):
        with pytest.raises(Waits):
            create_trial(path)


def test_a_wrong_type_of_a_trials_argument_is_refused_with_the_name_of_the_argument(tmp_path):
    record_two_steps(tmp_path / "run")
    for path in (5, b"run", None):
        with pytest.raises(SMDebugTypeError, match="path"):
            create_trial(path)
    with pytest.raises(SMDebugTypeError, match=r"range_steps .* pair .* found '1:5'"):
        create_trial(tmp_path / "run", range_steps="1:5")


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda trial, path: create_trial(path, range_step=(0, 1)), "create_trial.*'range_steps'"),
        (lambda trial, path: trial.tensor_names(regexp="w"), "tensor_names.*did you mean 'regex'"),
        (lambda trial, path: trial.steps(modes=None), "steps.*did you mean 'mode'"),
        (lambda trial, path: trial.tensor("Net_fc1.weight").value(step=0), "value.*'step_num'"),
        (
            lambda trial, path: trial.tensor("Net_fc1.weight").reduction_value(
                0, "mean", absolute=True
            ),
            "reduction_value.*it takes step_num, reduction_name, mode, worker, abs",
        ),
        (lambda trial, path: invoke_rule(None, first=3), "invoke_rule.*it takes rule_obj"),
    ],
)
def test_an_unknown_argument_of_the_reading_is_refused_with_those_to_use(tmp_path, call, text):
    record_two_steps(tmp_path / "run")
    with pytest.raises(SMDebugTypeError, match=text):
        call(read(tmp_path / "run"), tmp_path / "run")


def test_a_misspelled_collection_of_a_trial_is_logged_with_the_nearest_names(tmp_path, capfd):
    record_two_steps(tmp_path / "run")
    assert not read(tmp_path / "run").collection("weigths").has_members()
    logged = capfd.readouterr().err
    assert "no collection 'weigths'; the nearest names are 'weights'" in logged


def test_a_wrong_mode_is_refused_with_the_values_to_use(hook, tmp_path):
    record_two_steps(tmp_path / "other")
    trial = read(tmp_path / "other")
    calls = [
        lambda mode: hook.set_mode(mode),
        lambda mode: trial.steps(mode=mode),
        lambda mode: smd.SaveConfig().get_save_config(mode),
    ]
    for call in calls:
        with pytest.raises(SMDebugValueError, match=r"modes\.TRAIN, modes\.EVAL.*found 'train'"):
            call("train")


@pytest.mark.parametrize(
    "query, named",
    [
        (lambda trial: trial.wait_for_steps(5), "a list of steps, found 5"),
        (lambda trial: trial.wait_for_steps([0], timeout="x"), "a number of seconds or None"),
        (lambda trial: trial.wait_for_steps([0], timeout=-1), "a number of seconds from 0"),
        (lambda trial: create_trial(trial.path, timeout="soon"), "found 'soon'"),
        (lambda trial: create_trial(trial.path, timeout=float("nan")), "found nan"),
    ],
)
def test_a_wrong_wait_is_refused_with_what_is_expected(tmp_path, query, named):
    record_two_steps(tmp_path / "run")
    with pytest.raises((SMDebugTypeError, SMDebugValueError), match=named):
        query(read(tmp_path / "run"))


def test_a_value_of_a_mode_without_steps_names_the_modes_of_the_run(tmp_path):
    record_two_steps(tmp_path / "run")
    trial = read(tmp_path / "run")
    tensor = trial.tensor(trial.tensor_names()[0])
    with pytest.raises(SMDebugError, match="has no EVAL steps, its modes are GLOBAL"):
        tensor.value(0, mode=smd.modes.EVAL)


def test_a_worker_that_is_no_name_is_refused_with_an_example(tmp_path):
    record_two_steps(tmp_path / "run")
    with pytest.raises(SMDebugError, match="a worker such as 'worker_0', found 0"):
        read(tmp_path / "run").tensor("Net_fc1.weight").value(0, worker=0)


def test_a_query_of_a_trial_that_lacks_a_keyword_is_refused_with_it(tmp_path):
    record_two_steps(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    assert trial.tensor_names(True) == trial.tensor_names(False) == trial.tensor_names()
    for given, meant in {
        "relu": "regex='relu'",
        "weights": "collection='weights'",
        3: "step=3",
        smd.modes.TRAIN: "mode=modes.TRAIN",
        ("fc1", "fc2"): "regex=('fc1', 'fc2')",
    }.items():
        with pytest.raises(SMDebugTypeError, match=re.escape(f"tensor_names({meant})?")):
            trial.tensor_names(given)
    with pytest.raises(SMDebugTypeError, match="pass the text of a compiled pattern: 'relu'"):
        trial.tensor_names(regex=re.compile("relu"))


def test_an_argument_that_a_query_needs_is_named_with_its_values(tmp_path):
    record_two_steps(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    tensor = trial.tensor("relu_output_0")
    text = r"value needs the argument 'step_num', one of those that steps\(\) returns; values\(\)"
    with pytest.raises(SMDebugTypeError, match=text):
        tensor.value()
    with pytest.raises(SMDebugTypeError, match="reduction_value needs the argument 'reduction_na"):
        tensor.reduction_value(0)
    with pytest.raises(SMDebugTypeError, match="tensor needs the argument 'tname', one of those"):
        trial.tensor()
    assert tensor.value(step_num=0).shape == (6, 8)


TRAIN = smd.modes.TRAIN


@pytest.mark.parametrize(
    "query, text",
    [
        (lambda t: t.reduction_value("mean", 1), r"step comes first.*reduction_value\(1, 'mean'\)"),
        (lambda t: t.reduction_value(1, "abs_mean"), "use 'mean' with abs=True"),
        (lambda t: t.reduction_value(1, "abs_l2_norm"), "use 'l2' with abs=True"),
        (lambda t: t.values(1), r"values\(\) takes no step: use value\(1\)"),
        (lambda t: t.shapes(1), r"shapes\(\) takes no step: use shape\(1\)"),
        (lambda t: t.prev_steps(1, n="2"), "n, the number of steps, is a whole number, found '2'"),
        (lambda t: t.value(TRAIN, 1), r"the step comes first, .*; use \(1, modes.TRAIN\)"),
        (lambda t: t.shape(TRAIN, 1), r"the step comes first, .*; use \(1, modes.TRAIN\)"),
    ],
)
def test_swapped_arguments_of_a_tensor_are_refused_in_their_order(tmp_path, query, text):
    record_two_steps(tmp_path / "run")
    tensor = read(tmp_path / "run").tensor("Net_fc1.weight")
    with pytest.raises((SMDebugTypeError, SMDebugValueError), match=text):
        query(tensor)
    assert tensor.value(1, None).shape == tensor.values()[1].shape


def test_a_step_below_0_is_answered_with_the_steps_that_exist(tmp_path):
    record_two_steps(tmp_path / "run")
    tensor = read(tmp_path / "run").tensor("Net_fc1.weight")
    with pytest.raises(StepUnavailable, match="steps begin at 0; the tensor has 2 steps") as raised:
        tensor.value(-1)
    assert "save_steps" not in str(raised.value)


def test_a_word_for_no_is_no_for_the_absolute_values_of_a_reduction(tmp_path):
    record_two_steps(tmp_path / "run")
    tensor = read(tmp_path / "run").tensor("Net_fc1.weight")
    assert tensor.reduction_value(0, "min", abs="no") == tensor.value(0).min()
    assert tensor.reduction_value(0, "min", abs="yes") == abs(tensor.value(0)).min()


def test_a_number_in_place_of_the_name_of_a_collection_is_refused_at_once(tmp_path, capfd):
    record_two_steps(tmp_path / "run")
    trial = read(tmp_path / "run")
    trial.collection("nosuch")
    capfd.readouterr()
    with pytest.raises(SMDebugTypeError, match="a collection's name must be text, found 5"):
        trial.collection(5)
    assert "no collection" not in capfd.readouterr().err
