"""Mistakes in locations and configuration files: each message names the mistake and the remedy."""

import json

import pytest

import smdebug.pytorch as smd
from conftest import Net, train
from smdebug.exceptions import SMDebugValueError


def test_a_configuration_that_the_environment_names_and_that_is_missing_is_a_warning(
    monkeypatch, capfd
):
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "missing.json")
    assert smd.get_hook(create_if_not_exists=True) is None
    assert "warning: no hook was created: " in capfd.readouterr().err


def test_a_missing_configuration_file_is_reported_with_the_source_of_its_path(monkeypatch):
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "missing.json")
    with pytest.raises(FileNotFoundError, match=r"'missing.json'.*\(from SMDEBUG_CONFIG_FILE_PATH"):
        smd.Hook.create_from_json_file()
    with pytest.raises(FileNotFoundError, match=r"'other.json'.*\(the path that was passed\)"):
        smd.Hook.create_from_json_file("other.json")
    monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH")
    with pytest.raises(FileNotFoundError, match="the default; pass a path or set SMDEBUG_CONFIG"):
        smd.Hook.create_from_json_file()


@pytest.mark.parametrize("name", ["file", "file/run"])
def test_a_folder_that_is_a_file_is_reported_once_and_the_training_goes_on(tmp_path, capfd, name):
    (tmp_path / "file").write_text("")
    out_dir = tmp_path / name
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    text = f"'{tmp_path}/file' is a file, not a folder; choose another folder"
    assert hook.status().error == f"out_dir '{out_dir}' cannot be written: {text}"
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    lines = capfd.readouterr().err.splitlines()
    # An earlier test of this process may have compiled a model, which is information.
    logged = [line for line in lines if "smdebug" in line and ": info:" not in line]
    assert logged == [
        f"smdebug: error: nothing will be recorded: out_dir '{out_dir}' cannot be written: {text}"
    ]
    assert hook.status().state == "failed"


def test_a_location_that_is_no_folder_is_refused_with_the_name_of_the_argument():
    with pytest.raises(NotImplementedError, match=r"^out_dir: cannot open 'abfs://bucket/run': "):
        smd.Hook("abfs://bucket/run")


def test_a_folder_in_which_nobody_can_create_a_file_is_reported_when_the_hook_is_made(capfd):
    hook = smd.Hook("/proc/run")
    assert "no file can be created in '/proc'" in hook.status().error
    hook.close()
    assert "nothing will be recorded" in capfd.readouterr().err


def configured(folder, monkeypatch, **parameters):
    """A hook of the configuration file that the environment names."""
    path = folder / "config.json"
    path.write_text(json.dumps(parameters))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    return smd.get_hook(create_if_not_exists=True)


def test_a_folder_that_is_a_file_in_a_json_configuration_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    smd.del_hook()
    hook = configured(tmp_path, monkeypatch, LocalPath=str(tmp_path / "file"))
    assert hook.status().error.startswith(f"out_dir '{tmp_path}/file' cannot be written: ")
    hook.close()


@pytest.mark.parametrize("place", ["argument", "json", "environment"])
def test_a_tensorboard_folder_that_is_a_file_leaves_the_run_as_it_is(
    tmp_path, monkeypatch, capfd, place
):
    (tmp_path / "file").write_text("")
    folder, run = str(tmp_path / "file" / "tb"), str(tmp_path / "run")
    parameters = {"save_interval": 1, "save_all": True}
    smd.del_hook()
    if place == "argument":
        every_step = smd.SaveConfig(save_interval=1)
        hook = smd.Hook(run, save_all=True, save_config=every_step, tensorboard_dir=folder)
    elif place == "json":
        parameters["tensorboard_dir"] = folder
        hook = configured(tmp_path, monkeypatch, LocalPath=run, HookParameters=parameters)
    else:
        (tmp_path / "tb.json").write_text(json.dumps({"LocalPath": folder}))
        monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(tmp_path / "tb.json"))
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        hook = configured(tmp_path, monkeypatch, LocalPath=run, HookParameters=parameters)
    assert hook.status().tensorboard_error.startswith(
        f"tensorboard_dir '{folder}' cannot be written: '{tmp_path}/file' is a file, not a folder"
    )
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    assert hook.status().error is None and hook.status().steps_saved == 2
    assert capfd.readouterr().err.count("cannot be written") == 1


def test_an_empty_configuration_file_is_called_empty(tmp_path):
    (tmp_path / "hook.json").write_text("")
    with pytest.raises(SMDebugValueError, match="hook.json:1:1: not JSON: it is empty"):
        smd.Hook.create_from_json_file(tmp_path / "hook.json")
