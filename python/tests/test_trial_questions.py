"""What a trial and a tensor are asked with, and what they answer: every method of the API."""

import inspect
import json
import pathlib
import pickle
import random
import re
import shutil

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
import smdebug.trials
from conftest import Net, read
from smdebug import exceptions, modes
from smdebug.collection import Collection
from smdebug.collection_manager import CollectionManager
from smdebug.core.tensor import StepState
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    TensorUnavailableForStep,
)
from smdebug.trials import LocalTrial, S3Trial, Trial, create_trial

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"


@pytest.fixture(autouse=True)
def _no_delay_at_the_end(monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")


@pytest.fixture
def open_run(tmp_path):
    def open_copy(case, **kwargs):
        run = tmp_path / case
        shutil.copytree(GOLDEN / case / "run", run)
        return create_trial(str(run), **kwargs)

    return open_copy


def test_create_trial_takes_what_the_original_s_took(open_run):
    path = open_run("pytorch_modes").path
    trial = create_trial(path, "a name", False, "/reports", check=True, index_mode=True, cache=True)
    assert isinstance(trial, LocalTrial) and trial.name == "a name"
    assert create_trial(f"{path}/").name == "pytorch_modes"
    again = LocalTrial("a name", path, (0, 5), True, False, True, False)
    assert again == trial and again.steps() == [0, 1, 2, 3, 4]
    assert set(inspect.signature(create_trial).parameters) >= {
        *("path", "name", "profiler", "output_dir", "range_steps"),
        *("check", "index_mode", "cache", "timeout", "out_dir"),
    }
    assert issubclass(LocalTrial, Trial) and issubclass(S3Trial, Trial)


def test_a_kept_value_does_not_need_its_file_again(open_run):
    trial = open_run("pytorch_modes", cache=True)
    bias = trial.tensor("Net_fc.bias")
    before, last = bias.value(0), bias.steps()[-1]
    shutil.rmtree(pathlib.Path(trial.path) / "events")
    assert (bias.value(0) == before).all()
    with pytest.raises(TensorUnavailableForStep):
        bias.value(last)


def test_a_trial_that_cannot_be_asked_for_says_so(tmp_path):
    with pytest.raises(SMDebugNotImplementedError, match="profiler"):
        create_trial(tmp_path, profiler=True)
    with pytest.raises(SMDebugTypeError, match="path"):
        create_trial()
    with pytest.raises(SMDebugValueError, match="path"):
        create_trial("  ")
    for bad in (7, (1, 2, 3)):
        with pytest.raises(AssertionError, match=r"range_steps .* such as \(0, 100\)") as raised:
            create_trial(tmp_path, range_steps=bad)
        assert isinstance(raised.value, SMDebugValueError)


def test_waiting_for_steps_ends_with_the_timeout(open_run):
    trial = open_run("workers_two_running")
    trial.wait_for_steps([0, 2], timeout=0)
    with pytest.raises(StepNotYetAvailable) as raised:
        trial.wait_for_steps([0, 1000], timeout=0)
    assert (raised.value.step, raised.value.mode) == (1000, modes.GLOBAL)


def index_of(path):
    """name -> {(mode, mode step, global step)}, read without smdebug."""
    found = {}
    for file in pathlib.Path(path).glob("index/*/*.json"):
        content = json.loads(file.read_text())
        place = content["meta"]["mode"], content["meta"]["mode_step"], int(file.name.split("_")[0])
        for row in content["tensor_payload"] + content["shape_payload"]:
            name = re.sub("^smdebug/reductions/[a-z0-9_]+/", "", row["tensorname"])
            found.setdefault(name, set()).add(place)
    return found


def test_names_are_those_that_pass_every_filter(open_run):
    trial = open_run("pytorch_modes")
    index = index_of(trial.path)
    collections = trial.collections()
    seed = random.randrange(10**6)
    print("seed", seed)
    dice = random.Random(seed)
    for _ in range(300):
        mode = dice.choice(list(modes))
        step = dice.choice([None, *range(14)])
        regex = dice.choice([None, "weight", "^gradient/.*bias$", ["conv", "output_\\d"]])
        collection = None if regex else dice.choice([None, *collections])
        as_object = dice.random() < 0.5

        def is_seen(places, mode=mode, step=step):
            return any(
                mode in (modes.GLOBAL, modes[place[0]])
                and step in (None, place[2] if mode == modes.GLOBAL else place[1])
                for place in places
            )

        patterns = [regex] if isinstance(regex, str) else regex
        members = set()
        if collection is not None:
            patterns = collections[collection].include_regex
            members = collections[collection].tensor_names
        expected = sorted(
            name
            for name, places in index.items()
            if is_seen(places)
            and (
                patterns is None
                or name in members
                or any(re.search(pattern, name) for pattern in patterns)
            )
        )
        asked = collections[collection] if collection and as_object else collection
        got = trial.tensor_names(step=step, mode=mode, regex=regex, collection=asked)
        assert got == expected, (mode, step, regex, collection)
    assert trial.tensor_names(True) == sorted(index)


def test_a_collection_of_one_s_own_finds_names_and_patterns(open_run):
    trial = open_run("pytorch_modes")
    listed = Collection("mine", tensor_names=["Net_fc.bias", "never saved"])
    assert trial.tensor_names(collection=listed) == ["Net_fc.bias"]
    both = Collection("mine", include_regex=["^Net_fc.w"], tensor_names=["Net_fc.bias"])
    assert trial.tensor_names(collection=both) == ["Net_fc.bias", "Net_fc.weight"]
    assert trial.tensor_names(collection=Collection("nothing")) == []


def test_steps_and_modes_are_those_of_the_index(open_run):
    trial = open_run("pytorch_modes")
    places = {place for places in index_of(trial.path).values() for place in places}
    for mode_name, mode_step, step in places:
        mode = modes[mode_name]
        assert (trial.mode(step), trial.mode_step(step)) == (mode, mode_step)
        assert trial.mode_modestep(step) == (mode, mode_step)
        assert trial.global_step(mode, mode_step) == step
    assert trial.global_step(modes.GLOBAL, 3) == 3
    assert trial.mode_modestep(999) == (None, None)
    for mode in (modes.TRAIN, modes.EVAL):
        assert trial.steps(mode) == sorted(s for m, s, _ in places if m == mode.name)


def test_a_step_may_be_any_whole_number_and_nothing_else(open_run):
    trial = open_run("pytorch_modes")
    tensor = trial.tensor("Net_fc.weight")
    assert (tensor.value(np.int64(0)) == tensor.value(0)).all()
    assert trial.mode(np.uint8(0)) == trial.mode(0)
    asked = {
        "value": tensor.value,
        "shape": tensor.shape,
        "dtype": tensor.dtype,
        "workers": tensor.workers,
        "summary": tensor.summary,
        "reduction_values": tensor.reduction_values,
        "reduction_value": lambda step: tensor.reduction_value(step, "mean"),
        "prev_steps": tensor.prev_steps,
        "tensor_names": lambda step: trial.tensor_names(step=step),
        "mode": trial.mode,
        "mode_step": trial.mode_step,
        "global_step": lambda step: trial.global_step(modes.EVAL, step),
        "has_passed_step": trial.has_passed_step,
        "wait_for_steps": lambda step: trial.wait_for_steps([step]),
        "inputs": trial.inputs,
        "labels": trial.labels,
        "predictions": trial.predictions,
    }
    for name, ask in asked.items():
        for bad in ("0", 0.5, [0]):
            with pytest.raises(SMDebugTypeError, match="whole number"):
                ask(bad)
                pytest.fail(f"{name} took {bad!r}")
        with pytest.raises(SMDebugValueError, match="63 bits"):
            ask(2**70)
            pytest.fail(name)
    with pytest.raises(SMDebugValueError):
        tensor.prev_steps(0, -1)


def test_a_mode_is_one_of_modes_and_nothing_else(open_run):
    trial = open_run("pytorch_modes")
    tensor = trial.tensor("Net_fc.weight")
    asked = [
        *(tensor.steps, tensor.values, tensor.shapes, trial.steps),
        *(lambda mode, ask=ask: ask(0, mode=mode) for ask in (tensor.value, tensor.shape)),
        *(lambda mode, ask=ask: ask(0, mode=mode) for ask in (tensor.summary, tensor.workers)),
        lambda mode: tensor.prev_steps(0, mode=mode),
        lambda mode: trial.tensor_names(mode=mode),
        lambda mode: trial.global_step(mode, 0),
        lambda mode: trial.has_passed_step(0, mode=mode),
        lambda mode: trial.wait_for_steps([], mode=mode),
    ]
    for ask in asked:
        for bad in ("TRAIN", 1):
            with pytest.raises(SMDebugValueError, match="smdebug.modes"):
                ask(bad)
        assert repr(ask(None)) == repr(ask(modes.GLOBAL))


def test_a_name_and_a_regex_are_text(open_run):
    trial = open_run("pytorch_modes")
    for ask in (trial.tensor, trial.has_tensor, lambda x: trial.tensor_names(regex=[x])):
        with pytest.raises(SMDebugTypeError, match="text"):
            ask(3)


def test_an_unknown_collection_is_empty_and_said_once(open_run, logged):
    trial = open_run("pytorch_modes")
    assert trial.tensor_names(collection="gradient") == []
    assert trial.collection("gradient") is trial.collection("gradient")
    assert [line for line in logged if "'gradient'" in line and "'gradients'" in line] == logged
    assert len(logged) == 1


class CountedCalls:
    """Passes every attribute on, and counts them by name."""

    def __init__(self, core):
        self.core, self.calls = core, {}

    def __getattr__(self, name):
        self.calls[name] = self.calls.get(name, 0) + 1
        return getattr(self.core, name)


def test_a_collection_is_copied_from_the_run_only_when_it_has_changed(open_run):
    trial = open_run("pytorch_modes")
    trial._core = counted = CountedCalls(trial._core)
    losses = trial.collection("losses")
    for _ in range(100):
        assert trial.collection("losses") is losses
        assert trial.collections()["losses"] is losses
    assert counted.calls["collections"] == 1


def test_a_collection_that_grows_is_copied_again(out_dir):
    with FileWriter(out_dir, "worker_0") as writer:
        writer.write_tensor(np.ones(1), "a")
    for names in (["a"], ["a", "b"]):
        manager = CollectionManager()
        manager.get("mine").tensor_names = names
        manager.export(out_dir, "worker_0_collections.json")
        if names == ["a"]:
            trial = create_trial(out_dir)
        assert trial.collection("mine").tensor_names == set(names)


def test_incomplete_steps_are_given_up_in_half_windows(out_dir, monkeypatch):
    """20 steps of one of three workers, window 10: 4 on opening, 9 at the next query."""
    monkeypatch.setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "10")
    for worker in ("worker_0", "worker_1", "worker_2"):
        CollectionManager(num_workers=3).export(out_dir, f"{worker}_collections.json")
    for step in range(20):
        with FileWriter(out_dir, "worker_0", step) as writer:
            writer.write_tensor(np.ones(1), "a")
    trial = create_trial(out_dir)
    assert trial.last_complete_step == 4
    for _ in range(3):
        assert trial.steps() == list(range(10))
        assert trial.last_complete_step == 9


def test_the_attributes_of_a_trial_say_where_it_stands(open_run):
    trial = open_run("workers_two_running")
    assert trial.name == "workers_two_running"
    assert (trial.num_workers, trial.worker_set) == (2, {"worker_0", "worker_1"})
    assert trial.workers() == ["worker_0", "worker_1"]
    assert not trial.loaded_all_steps and trial.dynamic_refresh
    assert trial.last_complete_step == max(trial.steps())
    assert trial.last_index_token.startswith(trial.path)
    assert trial.has_passed_step(trial.last_complete_step) == StepState.AVAILABLE


def test_a_tensor_s_steps_are_complete_when_the_run_s_are(open_run):
    trial = open_run("workers_two_running")
    tensor = trial.tensor("MSELoss_output_0")
    for mode in (modes.GLOBAL, *trial.modes()):
        assert tensor.steps(mode) == trial.steps(mode)
        assert tensor.steps(mode, show_incomplete_steps=True) == trial.steps(mode, True)
    assert set(trial.steps()) < set(trial.steps(show_incomplete_steps=True))


def test_a_path_with_two_underscores_keeps_the_names_of_workers(tmp_path):
    run = tmp_path / "a__b" / "run"
    shutil.copytree(GOLDEN / "workers_two" / "run", run)
    trial = create_trial(run)
    assert (
        trial.workers() == trial.tensor("MSELoss_output_0").workers(0) == ["worker_0", "worker_1"]
    )


def test_a_wrong_checksum_is_an_error_that_names_the_file(open_run):
    trial = open_run("pytorch_modes")
    path = next(pathlib.Path(trial.path).glob("events/*0/*0_worker_0.tfevents"))
    damaged = bytearray(path.read_bytes())
    damaged[8] ^= 1  # of the first record's length
    path.write_bytes(damaged)
    first = json.loads(next(pathlib.Path(trial.path).glob("index/*/*0_worker_0.json")).read_text())
    name = first["tensor_payload"][0]["tensorname"]
    with pytest.raises(SMDebugRuntimeError, match=path.name) as raised:
        trial.tensor(name).value(0)
    assert raised.value.code == "corrupt"


class TakesTwo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, a, b):
        return self.layer(a + b)


def test_inputs_labels_and_predictions_are_of_the_mode_and_in_order(out_dir):
    model = TakesTwo()
    given = {}
    with smd.Hook(
        out_dir,
        include_collections=["inputs"],
        save_config=smd.SaveConfig(save_interval=1),
    ) as hook:
        hook.get_collection("inputs").include("^TakesTwo_input_")
        hook.register_module(model)
        for mode in (smd.modes.TRAIN, smd.modes.TRAIN, smd.modes.EVAL):
            hook.set_mode(mode)
            a, b = torch.randn(2, 4), torch.randn(2, 4)
            given.setdefault(mode, []).append((a, b))
            model(a, b)
            for i in (2, 10, 1):
                hook.save_scalar(f"labels_{i}", i)
    trial = read(out_dir)
    for mode, steps in given.items():
        for step, pair in enumerate(steps):
            got = trial.inputs(step, mode=mode)
            assert len(got) == 2
            assert all((x == y.numpy()).all() for x, y in zip(got, pair, strict=True))
    assert [x.item() for x in trial.labels(0, mode=modes.EVAL)] == [1, 2, 10]
    assert trial.predictions(0) == []


def recorded(out_dir, *tensors):
    """A run whose tensors `Given_output_0`, … at step 0 are the given ones."""

    class Given(torch.nn.Module):
        def forward(self):
            return tensors

    model = Given()
    with smd.Hook(out_dir, include_regex=["_output_"]) as hook:
        hook.register_module(model)
        model()
    return read(out_dir)


def test_a_summary_is_of_the_finite_elements_and_needs_no_value(out_dir):
    seed = random.randrange(10**6)
    print("seed", seed)
    x = np.random.default_rng(seed).normal(3, 5, size=(7, 11)).astype(np.float32)
    x[0, :4] = np.nan, np.inf, -np.inf, 0
    trial = recorded(out_dir, torch.from_numpy(x), torch.full((2,), torch.nan))
    shutil.rmtree(pathlib.Path(out_dir) / "events")
    summary = trial.tensor("Given_output_0").summary(0)
    finite = x[np.isfinite(x)].astype(np.float64)
    counts = (summary.count, summary.nan, summary.positive_inf, summary.negative_inf, summary.zeros)
    assert counts == (x.size, 1, 1, 1, 1)
    assert (summary.min, summary.max) == (finite.min(), finite.max())
    np.testing.assert_allclose(
        [summary.mean, summary.std, summary.l1, summary.l2],
        [finite.mean(), finite.std(), np.abs(finite).sum(), np.sqrt(np.square(finite).sum())],
    )
    nothing = trial.tensor("Given_output_1").summary(0)
    assert (nothing.count, nothing.nan, nothing.l2) == (2, 2, 0)
    assert all(np.isnan(number) for number in (nothing.min, nothing.max, nothing.mean, nothing.std))
    assert trial.tensor("Given_output_0").dtype(0) == np.float32


def test_a_summary_of_text_or_of_reductions_alone_is_refused(open_run):
    text = open_run("core_strings").tensor("ascii")
    with pytest.raises(TensorUnavailableForStep, match="text"):
        text.summary(0)
    with pytest.raises(TensorUnavailableForStep, match="no numbers"):
        text.reduction_value(0, "mean")
    with pytest.raises(TensorUnavailableForStep):
        open_run("pytorch_reductions").tensor("Net_fc.weight").summary(0)


@pytest.mark.parametrize(
    "given",
    [
        torch.tensor([-(2**63), -1, 2**63 - 1]),
        torch.tensor([-128, 127], dtype=torch.int8),
        torch.tensor([0, 255, 255], dtype=torch.uint8),
        torch.tensor([True, False, True]),
        torch.tensor([5, -7], dtype=torch.int32),
    ],
    ids=lambda tensor: str(tensor.dtype),
)
def test_reductions_of_integers_are_never_an_error(out_dir, given):
    tensor = recorded(out_dir, given).tensor("Given_output_0")
    whole = [int(x) for x in given]  # Python's integers do not wrap around
    for absolute in (False, True):
        numbers = [abs(x) for x in whole] if absolute else whole
        product = float(np.prod([float(x) for x in numbers]))
        expected = {"min": min(numbers), "max": max(numbers), "sum": sum(numbers)}
        expected |= {"mean": sum(numbers) / len(numbers), "prod": product}
        for name, number in expected.items():
            got = tensor.reduction_value(0, name, abs=absolute)
            scale = sum(map(abs, whole))
            assert float(got) == pytest.approx(float(number), rel=1e-12, abs=1e-12 * scale)
            if name == "mean" or abs(number) > 2**53:
                assert got.dtype == np.float64
    assert tensor.reduction_value(0, "min").dtype in (tensor.dtype(0), np.float64)


EXAMPLES = {
    "InvalidCollectionConfiguration": {"c_name": "c"},
    "StepNotYetAvailable": {"step": 1, "mode": modes.EVAL},
    "StepUnavailable": {"step": 1, "mode": modes.EVAL},
    "MissingCollectionFiles": {},
    "IndexReaderException": {"message": "m"},
    "TensorUnavailableForStep": {
        "tname": "t",
        "step": 1,
        "mode": modes.EVAL,
        "has_reductions": True,
    },
    "ShapeUnavailableForStep": {"tname": "t", "step": 1, "mode": modes.EVAL},
    "TensorUnavailable": {"tname": "t"},
    "InvalidWorker": {"worker": "w"},
    "NoMoreProfilerData": {"timestamp": 1.5},
    "NoMoreData": {"step": 9, "mode": modes.EVAL, "last_step": 7},
    "RuleEvaluationConditionMet": {"rule_name": "r", "step": 1, "end_of_rule": True},
    "InsufficientInformationForRuleInvocation": {"rule_name": "r", "message": "m"},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_exception_keeps_its_arguments_also_in_another_process(name):
    arguments = EXAMPLES[name]
    error = getattr(exceptions, name)(*arguments.values())
    assert isinstance(error, SMDebugError)
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert {key: getattr(each, key) for key in arguments} == arguments
        shown = [v for v in arguments.values() if not isinstance(v, bool | type(modes.EVAL))]
        assert all(str(value) in str(each) for value in shown)


def test_exceptions_have_the_defaults_and_bases_of_the_original():
    assert exceptions.TensorUnavailableForStep("t", 1).mode == modes.GLOBAL
    assert exceptions.TensorUnavailableForStep("t", 1).has_reductions is False
    assert exceptions.ShapeUnavailableForStep("t", 1).mode == modes.GLOBAL
    assert exceptions.RuleEvaluationConditionMet("r", 1).end_of_rule is False
    for name, base in {
        "SMDebugTypeError": TypeError,
        "SMDebugRuntimeError": RuntimeError,
        "SMDebugNotImplementedError": NotImplementedError,
        "SMDebugValueError": ValueError,
    }.items():
        assert issubclass(getattr(exceptions, name), (base, SMDebugError))
        assert issubclass(getattr(exceptions, name), base)


def test_everything_public_of_trials_has_a_docstring():
    things = [getattr(smdebug.trials, name) for name in smdebug.trials.__all__]
    for thing in things:
        assert inspect.getdoc(thing), thing
        if not inspect.isclass(thing) or thing is modes:
            continue
        for name, member in vars(thing).items():
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{thing.__name__}.{name}"


def test_a_run_made_here_is_read_while_it_grows(out_dir):
    model = Net()
    hook = smd.Hook(
        out_dir, include_collections=["weights"], save_config=smd.SaveConfig(save_interval=1)
    )
    hook.register_module(model)
    model(torch.randn(2, 4))
    model(torch.randn(2, 4))
    trial = read(out_dir)
    assert trial.steps() == [0] and not trial.loaded_all_steps
    hook.close()
    assert trial.steps() == [0, 1] and trial.loaded_all_steps


def test_the_collection_manager_holds_the_runs_collections(open_run):
    trial = open_run("pytorch_modes")
    manager = trial.collection_manager
    assert isinstance(manager, CollectionManager)
    assert manager.get_num_workers() == trial.num_workers
    assert list(manager.get_collections()) == list(trial.collections())
    assert manager.get("losses").tensor_names == trial.collection("losses").tensor_names
