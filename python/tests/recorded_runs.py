"""Runs that are recorded for a comparison, record by record."""

import numpy as np

import smdebug.pytorch as smd
from conftest import Given, read


def record(out_dir, *tensors, **options):
    """Records tensors as outputs of one step; returns the run and the hook."""
    options = {"save_config": smd.SaveConfig(save_interval=1), **options}
    with smd.Hook(out_dir, include_regex=["_output_"], **options) as hook:
        model = Given(*tensors)
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
        model()
    return read(out_dir), hook


def modes_of(run):
    """The modes of the steps; GLOBAL for a run that sets none."""
    return run.modes() or [smd.modes.GLOBAL]


def contents(run):
    """(name, mode, step of the mode) -> (dtype, shape, bytes) of each value of a Trial."""
    found = {}
    for name in run.tensor_names():
        tensor = run.tensor(name)
        for mode in modes_of(run):
            for step in tensor.steps(mode=mode):
                value = np.asarray(tensor.value(step, mode=mode))
                found[name, mode, step] = str(value.dtype), value.shape, value.tobytes()
    return found


def statistics(run):
    """(name, mode, step of the mode) -> the statistics of each tensor of a Trial."""
    return {
        (name, mode, step): run.tensor(name).statistics(step, mode=mode)
        for name in run.tensor_names()
        for mode in modes_of(run)
        for step in run.tensor(name).steps(mode=mode)
    }


def frame(run):
    """Everything in a run except the values: steps, modes, workers, collections."""
    return {
        "steps": {mode: run.steps(mode=mode) for mode in modes_of(run)},
        "global steps": run.steps(),
        "workers": run.workers(),
        "collections": {
            name: sorted(run.tensor_names(collection=name)) for name in run.collections()
        },
    }
