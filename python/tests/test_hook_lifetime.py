"""A hook that is not closed: it ends with its model, loses nothing, and a forgotten registration is
logged."""

import contextlib
import gc
import pathlib
import threading
import time
import weakref

import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, run_script
from smdebug import current_hook

KINDS = {
    "plain": {},
    "all collections": {
        "include_collections": ["optimizer_state", "learning_rate", "activation_gradients"],
    },
    "final gradients": {"include_collections": ["gradients"], "gradients": "final"},
    "optimizer steps": {"step_on": "optimizer"},
    "rules": {"rules": ["ExplodingTensor"], "on_fire": "skip_step"},
}


def train_in_a_cell(out_dir, steps=2, **arguments):
    """What a cell of a notebook does; returns weak references to what it made."""
    model = Net()
    hook = smd.Hook(
        out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1), **arguments
    )
    hook.register_module(model)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        torch.nn.functional.mse_loss(model(torch.ones(2, 4)), torch.ones(2, 3)).backward()
        optimizer.step()
    return weakref.ref(model), weakref.ref(hook)


def write_threads():
    """How many there are. A thread that was joined may still be listed for a moment."""
    names = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text().strip())
    return names.count("smdebug-write")


def end_within_10_s(count, expected):
    end = time.monotonic() + 10
    while count() != expected and time.monotonic() < end:
        pass
    return count() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_that_was_not_closed_ends_with_its_model(tmp_path, kind):
    gc.collect()
    before = write_threads()
    model, hook = train_in_a_cell(str(tmp_path / "run"), **KINDS[kind])
    gc.collect()
    assert model() is None and hook() is None
    assert end_within_10_s(write_threads, before)
    trial = read(tmp_path / "run")
    assert trial.loaded_all_steps  # it was closed
    assert trial.steps() == [0, 1]


def test_a_cell_that_runs_again_keeps_no_former_model(tmp_path):
    made = [train_in_a_cell(str(tmp_path / str(i))) for i in range(3)]
    gc.collect()
    assert [reference() for pair in made for reference in pair] == [None] * 6
    for i in range(3):
        assert read(tmp_path / str(i)).steps() == [0, 1]


def test_a_hook_that_records_a_living_model_stays_open(out_dir):
    model = Net()
    smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)).register_module(
        model
    )
    gc.collect()
    model(torch.ones(2, 4))
    model(torch.ones(2, 4))
    smd.get_hook().close()
    assert read(out_dir).steps() == [0, 1]


def test_a_hook_that_has_no_model_yet_is_kept_as_the_current_one(tmp_path):
    smd.Hook(str(tmp_path / "first"))
    smd.Hook(str(tmp_path / "second"))
    gc.collect()
    assert smd.get_hook().out_dir == str(tmp_path / "second")
    assert [hook.out_dir for hook in current_hook.open_hooks()] == [str(tmp_path / "second")]
    smd.get_hook().close()


def test_a_compiled_model_does_not_keep_its_hook(tmp_path, nothing_is_compiled):
    def cell(out_dir):
        model = Net()
        hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
        hook.register_module(model)
        compiled = torch.compile(model, backend="eager")
        compiled(torch.ones(2, 4))
        return weakref.ref(hook)

    hook = cell(str(tmp_path / "run"))
    torch.compiler.reset()
    gc.collect()
    assert hook() is None
    assert read(tmp_path / "run").steps() == [0]


def test_a_hook_that_is_collected_on_another_thread_loses_nothing(tmp_path):
    made = []
    thread = threading.Thread(target=lambda: made.extend(train_in_a_cell(str(tmp_path / "run"))))
    thread.start()
    thread.join()
    gc.collect()
    assert made[1]() is None
    assert read(tmp_path / "run").steps() == [0, 1]


ENDS = ["", "del model, hook", "sys.exit(1)", "raise ValueError"]
# Ctrl-C while `close` removes the hooks, and after it.
ENDS += [f"hook.{part} = interrupted; hook.close()" for part in ["_detach", "_close_session"]]


@pytest.mark.parametrize("end", ENDS)
def test_the_last_step_of_a_hook_that_was_not_closed_is_saved_at_exit(tmp_path, out_dir, end):
    script = f"""
    import sys, torch, smdebug.pytorch as smd
    model = torch.nn.Linear(2, 1)
    hook = smd.Hook({out_dir!r}, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    for _ in range(3):
        model(torch.ones(1, 2))
    def interrupted():
        hook.__dict__.pop("_close_session", None)
        raise KeyboardInterrupt
    {end}
    """
    ended = run_script(tmp_path, script, check=False)
    assert ("KeyboardInterrupt" in ended.stderr) == ("interrupted" in end), ended.stderr
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps


# ---- a forgotten registration ----


def warnings_in(logged):
    return [line for line in logged if "register_module" in line or "no step was" in line]


def test_a_forgotten_registration_is_logged_at_the_first_update_and_at_the_end(out_dir, logged):
    model = Net()
    hook = smd.Hook(out_dir)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    (warning,) = warnings_in(logged)
    assert out_dir in warning and "no model is registered" in warning
    hook.close()
    assert "no step was recorded" in warnings_in(logged)[1]
    hook.close()
    assert len(warnings_in(logged)) == 2


def test_a_registered_model_that_is_never_called_is_logged_at_the_first_update(out_dir, logged):
    model = Net()
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    model.forward(torch.ones(2, 4)).sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    (warning,) = [line for line in logged if "no registered model ('Net') was called" in line]
    assert out_dir in warning and "model(x)" in warning
    hook.close()
    (end,) = warnings_in(logged)
    assert "no step was recorded, see the warning above" in end


def test_a_hook_that_records_logs_no_advice_and_leaves_the_optimizers_alone(out_dir, logged):
    from torch.optim import optimizer as of_torch

    before = set(of_torch._global_optimizer_post_hooks)

    def added():
        hooks = of_torch._global_optimizer_post_hooks.items()
        return [each.__qualname__ for key, each in hooks if key not in before]

    model = Net()
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    model(torch.ones(2, 4)).sum().backward()
    # The hook that reports facts acts, and no one that waits for a mistake.
    assert not any("OptimizerWatch" in name for name in added())
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    hook.close()
    assert added() == []
    assert not warnings_in(logged)


def test_a_compiled_update_without_a_registration_compiles_as_before(out_dir, nothing_is_compiled):
    model = Net()
    hook = smd.Hook(out_dir)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 4)).sum().backward()
    torch.compile(optimizer.step, backend="eager")()
    hook.close()
    assert hook.status().error is None
