"""Hooks from JSON: what a run made from a file saves, and what a mistake in it says."""

import json
import pathlib

import pytest

import smdebug.pytorch as smd
from conftest import Net, read, run_script, train
from smdebug import _core
from smdebug.core.json_config import create_hook_from_json_config, get_json_config_as_dict
from smdebug.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugValueError,
)


@pytest.fixture(autouse=True)
def _no_job(monkeypatch):
    for variable in ("USE_SMDEBUG", "TRAINING_JOB_NAME", "SMDEBUG_CONFIG_FILE_PATH"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def config_file(tmp_path, out_dir):
    """Writes a configuration and returns its path."""

    def write(parameters=None, collections=None, **top):
        whole = {
            "LocalPath": out_dir,
            "HookParameters": parameters,
            "CollectionConfigurations": collections,
            **top,
        }
        path = tmp_path / "debughookconfig.json"
        path.write_text(json.dumps(whole))
        return str(path)

    return write


def collection(name, **parameters):
    return {"CollectionName": name, "CollectionParameters": parameters}


def record(hook, steps, modes=(smd.modes.GLOBAL,)):
    """Trains `steps` steps in each mode, and returns the run."""
    model, loss = Net(), smd_loss()
    hook.register_module(model)
    hook.register_loss(loss)
    for mode in modes:
        hook.set_mode(mode)
        train(model, steps, loss=loss)
    hook.close()
    return read(hook.out_dir)


def smd_loss():
    import torch

    return torch.nn.CrossEntropyLoss()


def test_a_run_saves_what_the_file_says(config_file, out_dir):
    path = config_file(
        {
            "save_interval": "4",
            "eval.save_interval": 3,
            "include_workers": "all",
            "max_run_bytes": "1e9",
            "keep_every": "4",
            "checksum": "crc32c",
            "private": "true",
            "durability": "step",
        },
        [
            collection(
                "weights", save_interval="2", reductions="mean,abs_l1", save_raw_tensor="True"
            ),
            collection("relu", include_regex=["relu_output_[0-9]{1,2}$"], **{"train.end_step": 1}),
            collection("losses", save_histogram="true"),
        ],
    )
    hook = smd.Hook.create_from_json_file(path)
    assert hook.out_dir == out_dir
    assert hook.include_workers == "all"
    assert (hook.max_run_bytes, hook.keep_every, hook.checksum) == (10**9, 4, "crc32c")
    assert hook.private is True
    assert hook.durability == "step"
    assert hook.get_collection("losses").save_histogram is True
    trial = record(hook, 6, [smd.modes.TRAIN, smd.modes.EVAL])

    weight = trial.tensor("Net_fc1.weight")
    assert weight.steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    assert weight.steps(mode=smd.modes.EVAL) == [0, 2, 4]
    value = weight.value(2, mode=smd.modes.TRAIN)
    assert weight.reduction_value(2, "mean", mode=smd.modes.TRAIN) == pytest.approx(
        value.mean(dtype="float64")
    )
    assert weight.reduction_value(2, "l1", mode=smd.modes.TRAIN, abs=True) == pytest.approx(
        abs(value).sum()
    )
    loss = trial.tensor("CrossEntropyLoss_output_0")
    assert loss.steps(mode=smd.modes.TRAIN) == [0, 4]
    assert loss.steps(mode=smd.modes.EVAL) == [0, 3]
    relu = trial.tensor("relu_output_0")
    assert relu.steps(mode=smd.modes.TRAIN) == [0]
    assert relu.steps(mode=smd.modes.EVAL) == [0, 3]
    assert "relu" in trial.collections()


def test_an_empty_file_gives_the_defaults(config_file):
    hook = smd.Hook.create_from_json_file(config_file())
    assert hook.has_default_hook_configuration()
    assert record(hook, 2).tensor_names() == ["CrossEntropyLoss_output_0"]


def test_raw_tensors_are_saved_without_reductions_being_named(config_file):
    path = config_file({"save_interval": 1, "save_all": "true", "save_shape": "true"})
    hook = smd.Hook.create_from_json_file(path)
    assert hook.reduction_config == smd.ReductionConfig(save_shape=True)
    assert hook.save_all is True
    trial = record(hook, 1)
    assert trial.tensor("Net_fc1.weight").shape(0) == (8, 4)


def test_dry_run_of_the_file_is_honoured(config_file):
    assert smd.Hook.create_from_json_file(config_file({"dry_run": "True"})).dry_run is True


def test_include_collections_of_the_file_is_honoured(config_file):
    path = config_file({"include_collections": "biases", "save_interval": 1})
    trial = record(smd.Hook.create_from_json_file(path), 1)
    assert "Net_fc1.bias" in trial.tensor_names()


def test_a_default_collection_is_turned_off_by_its_end_step(config_file):
    path = config_file(
        {"save_interval": 1}, [collection("losses", end_step=0), collection("metrics", end_step=0)]
    )
    trial = record(smd.Hook.create_from_json_file(path), 2)
    assert trial.tensor_names() == []


def test_a_collection_of_the_file_may_be_filled_by_the_script(config_file):
    path = config_file({"save_interval": 1}, [collection("mine")])
    hook = smd.Hook.create_from_json_file(path)
    hook.get_collection("mine").include("fc2.bias")
    assert "Net_fc2.bias" in record(hook, 1).tensor_names()


def test_a_collection_that_nobody_fills_is_logged_and_ignored(config_file, logged):
    path = config_file({"save_interval": 1}, [collection("mine"), collection("biases")])
    hook = smd.Hook.create_from_json_file(path)
    assert not hook.has_default_hook_configuration()
    assert "Net_fc1.bias" in record(hook, 1).tensor_names()
    assert len([text for text in logged if "collection 'mine' can match nothing" in text]) == 1


def test_a_mistake_names_file_line_column_and_key(tmp_path):
    path = tmp_path / "wrong.json"
    path.write_text('{\n "HookParameters": {\n  "save_interval": "often"}}')
    with pytest.raises(SMDebugValueError) as raised:
        smd.Hook.create_from_json_file(str(path))
    assert str(raised.value) == (
        f"{path}:3:20: HookParameters.save_interval: "
        'expected a number or numeric text, found "often"'
    )
    with pytest.raises(SMDebugValueError):
        smd.get_hook(str(path), create_if_not_exists=True)


def test_an_unknown_key_is_logged_with_its_neighbours(config_file, capfd):
    smd.Hook.create_from_json_file(config_file({"save_intervall": 3}))
    said = capfd.readouterr().err
    assert 'HookParameters: "save_intervall" is unknown here and ignored' in said
    assert "'save_interval'" in said


def test_a_missing_file_raises_here_and_is_none_there(tmp_path):
    path = str(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match="none.json"):
        smd.Hook.create_from_json_file(path)
    smd.del_hook()
    assert smd.get_hook(path, create_if_not_exists=True) is None
    assert smd.get_hook() is None


def test_a_folder_in_place_of_the_file_is_refused_with_what_to_name(tmp_path, monkeypatch):
    with pytest.raises(
        SMDebugRuntimeError, match="is a folder .*was passed.*name the JSON file in"
    ):
        smd.Hook.create_from_json_file(tmp_path)
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path))
    with pytest.raises(SMDebugRuntimeError, match="is a folder .from SMDEBUG_CONFIG_FILE_PATH"):
        smd.Hook.create_from_json_file()


def test_the_file_is_found_through_the_environment(config_file, monkeypatch):
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", config_file({"save_interval": 7}))
    hook = smd.Hook.create_from_json_file()
    assert hook.save_config.save_interval == 7
    assert smd.get_hook() is hook
    smd.del_hook()
    made = smd.get_hook(create_if_not_exists=True)
    assert made is not hook
    assert smd.get_hook(create_if_not_exists=True) is made


def test_use_smdebug_false_gives_no_hook_and_leaves_constructors_alone(out_dir, monkeypatch):
    monkeypatch.setenv("USE_SMDEBUG", "False")
    hook = smd.Hook(out_dir)
    assert smd.get_hook() is None
    assert smd.get_hook(create_if_not_exists=True) is None
    monkeypatch.setenv("USE_SMDEBUG", "true")
    assert smd.get_hook() is hook


def test_tensorboard_is_resolved_by_the_core(config_file, out_dir, tmp_path, monkeypatch):
    def resolved(parameters):
        framework, job = _core.pytorch_framework(), _core.JobEnvironment.read()
        return _core.load_hook_config(
            config_file(parameters), framework, job
        ).config.tensorboard_dir

    assert resolved({}) is None
    assert resolved({"export_tensorboard": "true"}) == f"{out_dir}/tensorboard"
    assert resolved({"tensorboard_dir": "/tb"}) == "/tb"
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(tmp_path / "tb.json"))
    assert resolved({"tensorboard_dir": "/tb"}) is None
    (tmp_path / "tb.json").write_text('{"LocalPath": "/opt/tb"}')
    assert resolved({}) == "/opt/tb"


def test_default_values_count_where_the_file_is_silent(config_file):
    path = config_file({"eval.save_interval": 3})
    hook = create_hook_from_json_config(smd.Hook, path, {"save_interval": 10})
    assert hook.save_config.get_save_config(smd.modes.TRAIN).save_interval == 10
    assert hook.save_config.get_save_config(smd.modes.EVAL).save_interval == 3
    assert get_json_config_as_dict(path)["HookParameters"] == {"eval.save_interval": 3}


def test_default_configurations_are_told_from_those_that_were_asked_for(tmp_path, monkeypatch):
    def hook(**arguments):
        return smd.Hook(str(tmp_path / str(len(list(tmp_path.iterdir())))), **arguments)

    profiler_config = tmp_path / "profilerconfig.json"
    monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(profiler_config))
    default = hook(save_config=smd.SaveConfig(save_interval=1), include_workers="all")
    assert default.has_default_hook_configuration()
    assert default.has_default_configuration()
    assert not hook(include_collections=["weights"]).has_default_hook_configuration()
    assert not hook(save_all=True).has_default_configuration()
    assert not hook(include_regex="relu").has_default_configuration()
    profiler_config.write_text("{}")
    assert default.has_default_hook_configuration()
    assert not default.has_default_configuration()


def test_the_hook_tells_what_the_open_step_saves(out_dir):
    hook = smd.Hook(out_dir, include_regex=["^relu"], save_config=smd.SaveConfig(save_interval=2))
    model, answers = Net(), []
    hook.register_module(model)
    assert not hook.should_save_tensor_or_collection("relu_output_0", "losses")

    def ask(step):
        answers.append(
            [
                hook.should_save_tensor_or_collection("relu_output_0", "none"),
                hook.should_save_tensor_or_collection("fc1_output_0", "losses"),
                hook.should_save_tensor_or_collection("fc1_output_0", "weights"),
            ]
        )

    train(model, 3, on_step=ask)
    assert answers == [[True, True, False], [False] * 3, [True, True, False]]


def test_collections_are_exported_when_asked(out_dir):
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    file = pathlib.Path(out_dir) / "collections/000000000/worker_0_collections.json"
    model = Net()
    hook.register_module(model)
    hook.export_collections()
    assert not file.exists()
    train(model, 1)
    hook.export_collections()
    assert "Net_fc1.weight" in json.loads(file.read_text())["collections"]["all"]["tensor_names"]


def test_a_script_gets_its_hook_from_the_environment_alone(config_file, tmp_path, out_dir):
    script = """
        import torch
        import smdebug.pytorch as smd

        hook = smd.get_hook(create_if_not_exists=True)
        model = torch.nn.Linear(2, 1)
        hook.register_module(model)
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
    """
    path = config_file({"save_interval": "2"}, [collection("weights")])
    run_script(tmp_path, script, environment={"SMDEBUG_CONFIG_FILE_PATH": path})
    assert read(out_dir).tensor("Linear_weight").steps() == [0, 2]


def test_the_log_goes_where_the_environment_says(tmp_path):
    script = """
        from smdebug.core.logger import get_logger

        logger = get_logger()
        assert get_logger() is logger and len(logger.handlers) == 1
        logger.info("quiet")
        logger.warning("loud %d", 7)
        logger.error("graver")
    """
    log = tmp_path / "smdebug.log"
    done = run_script(
        tmp_path,
        script,
        environment={
            "SMDEBUG_LOG_LEVEL": "warning",
            "SMDEBUG_LOG_CONTEXT": "rank 3",
            "SMDEBUG_LOG_ALL_TO_STDOUT": "false",
            "SMDEBUG_LOG_PATH": str(log),
        },
    )
    assert done.stdout == "smdebug: [rank 3] warning: loud 7\n"
    assert done.stderr == "smdebug: [rank 3] error: graver\n"
    assert [line.split("] ")[1] for line in log.read_text().splitlines()] == ["loud 7", "graver"]


def test_the_agent_keeps_failures_of_a_default_hook_from_the_caller(out_dir, capfd):
    from smdebug.core.error_handling_agent import BASE_ERROR_MESSAGE, ErrorHandlingAgent

    agent = ErrorHandlingAgent()

    @agent.catch_smdebug_errors(default_return_val=lambda x: -x)
    def double(x):
        if x == 0:
            raise RuntimeError("broken")
        return 2 * x

    hook = smd.Hook(out_dir, save_all=True)
    with pytest.raises(RuntimeError, match="broken"):
        double(0)
    assert double(3) == 6
    hook.save_all = False
    assert double(0) == 0
    assert double(3) == -3
    said = capfd.readouterr().err
    assert BASE_ERROR_MESSAGE in said and "RuntimeError: broken" in said


def test_a_broken_hook_is_no_default_one(out_dir):
    hook = smd.Hook(out_dir)
    hook.get_collection("losses").save_config = smd.SaveConfig()
    hook.add_collection(smd.Collection("empty"))
    assert not hook.has_default_hook_configuration()
    assert issubclass(InvalidCollectionConfiguration, SMDebugError)
