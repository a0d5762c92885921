"""What users of such tools complain of, each as a training that it must not happen to.

Only what no test of a feature shows by itself.
"""

import gc
import sys
import textwrap

import numpy as np
import pytest
import torch
from test_autostart import GATE, settings

import smdebug.pytorch as smd
from conftest import Net, run_script, train
from smdebug.rules import Rule
from smdebug.rules.run_monitor import RunMonitor

EVERY_STEP = smd.SaveConfig(save_interval=1)


def test_a_hooked_model_can_be_traced(out_dir):
    model = Net().eval()
    x = torch.randn(5, 4)
    expected = model(x)
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_module(model)
    traced = torch.jit.trace(model, x)
    hook.close()
    assert torch.equal(traced(x), expected)


@pytest.mark.parametrize("make", ["torch.jit.script(model)", "torch.jit.trace(model, x)"])
def test_a_scripted_training_under_smdebug_run_goes_on(tmp_path, out_dir, make):
    script = f"""
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
    model = {make}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
    """
    plain = run_script(tmp_path, script)
    watched = run_script(tmp_path, GATE + textwrap.dedent(script), environment=settings(out_dir))
    assert watched.stdout == plain.stdout
    assert len(plain.stdout.split()) == 4
    if "script" in make:
        assert "ScriptModule takes no hooks" in watched.stderr


def test_nothing_is_switched_on_without_being_asked(tmp_path):
    done = run_script(
        tmp_path,
        """
        import sys
        import torch
        from torch.nn.modules import module
        from torch.optim import optimizer
        model = torch.nn.Linear(2, 2)
        model(torch.ones(1, 2)).sum().backward()
        torch.optim.SGD(model.parameters()).step()
        print([name for name in sys.modules if name == "smdebug._core"])
        print(module._global_forward_pre_hooks or [], optimizer._global_optimizer_pre_hooks or [])
        print(torch.autograd.backward.__module__)
        """,
    )
    assert done.stdout.split() == ["[]", "[]", "[]", "torch.autograd"]


def test_a_pattern_that_matches_nothing_is_said_after_the_first_step(out_dir, capfd):
    hook = smd.Hook(out_dir, include_regex=["fc1_ouput"], save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    train(model, 2)
    said = capfd.readouterr().err
    hook.close()
    (line,) = [line for line in said.splitlines() if "warning" in line and "fc1_ouput" in line]
    assert "fc1_output_0" in said[said.index(line) :]


def test_the_first_step_with_a_nan_is_found(out_dir):
    hook = smd.Hook(out_dir, include_collections=["gradients", "losses"], save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)

    def overflow(step):
        if step == 2:
            model.fc1.weight.grad[0, 0] = float("nan")

    losses = train(model, 6, on_step=overflow)
    hook.close()
    assert np.isnan(losses[3:]).all() and np.isfinite(losses[:3]).all()
    rules = RunMonitor(["ExplodingTensor"], out_dir)
    (verdict,) = rules.poll()
    assert (
        verdict["step"]["global"] == 3
    )  # the gradient is made there from the weight that step 2 spoiled


class RaisesLater(Rule):
    def invoke_at_step(self, step):
        if step == 1:
            raise ValueError("no")
        return False


def test_a_rule_that_fails_during_a_training_is_told_when_it_fails(out_dir, capfd):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    train(model, 3)
    hook.flush()
    rules = RunMonitor([RaisesLater], out_dir)
    assert rules.poll() == rules.poll() == []
    hook.close()
    lines = [line for line in capfd.readouterr().err.splitlines() if "RaisesLater" in line]
    assert len(lines) == 1
    assert "rule RaisesLater failed at step 1: ValueError: no (" in lines[0]
    assert lines[0].endswith("); this rule judges no later step")


def calls_of_ours(work):
    """How many Python functions of the package, or of its hooks' making, run during `work`."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call" and "/smdebug/" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def layers(number):
    return torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(number)])


@pytest.mark.parametrize("collections", [[], ["gradients", "weights", "biases"]])
def test_a_step_that_saves_nothing_costs_as_many_calls_however_large_the_model(
    tmp_path, collections, nothing_is_compiled
):
    taken, x = [], torch.randn(2, 4)
    for number in (2, 50):
        model = layers(number)
        hook = smd.Hook(
            str(tmp_path / str(number)),
            save_all=not collections,
            include_collections=collections,
            save_config=smd.SaveConfig(save_interval=1000),
        )
        hook.register_module(model)
        for _ in range(2):
            model(x).sum().backward()
        taken.append(calls_of_ours(lambda model=model: model(x).sum().backward()))
        hook.close()
    assert taken[0] == taken[1] <= 20


def test_a_step_that_saves_nothing_costs_backward_no_call(out_dir):
    model, x = layers(10), torch.randn(2, 4)
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1000))
    hook.register_module(model)
    for _ in range(2):
        loss = model(x).sum()
        is_saved_step = bool(model[0].weight._backward_hooks)
        assert is_saved_step == (hook.status().steps == 1)
        assert calls_of_ours(loss.backward) == 0
    hook.close()


def test_memory_does_not_grow_with_the_steps(out_dir):
    model = Net()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, max_run_bytes=200_000)
    hook.register_module(model)
    counts = []

    def count(step):
        if step % 20 == 19:
            gc.collect()
            counts.append(len(gc.get_objects()))

    train(model, 100, on_step=count)
    hook.close()
    assert max(counts[1:]) - counts[1] < 20, counts
