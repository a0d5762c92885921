"""Models that several threads call at the same time."""

import subprocess
import sys
import textwrap

import pytest

from smdebug.trials import create_trial

SCRIPT = """
    import sys, threading
    import torch
    import smdebug.pytorch as smd

    out_dir, kind = sys.argv[1:]
    torch.set_num_threads(1)
    models = [torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Linear(64, 3)) for _ in "ab"]
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), save_all=True)
    if kind == "one model":
        models = models[:1] * 2
    for model in dict.fromkeys(models):
        hook.register_module(model)
    start = threading.Barrier(3)

    def work(model):
        start.wait()
        for _ in range(100):
            model(torch.ones(2, 4)).sum().backward()

    def flush():
        start.wait()
        for _ in range(20):
            hook.flush()

    threads = [threading.Thread(target=work, args=(model,)) for model in models]
    threads.append(threading.Thread(target=flush))
    for thread in threads:
        thread.start()
    if kind == "closed early":
        hook.close()
    for thread in threads:
        thread.join()
    hook.close()
    print(hook.status().state, hook.status().error)
"""


@pytest.mark.parametrize("kind", ["one model", "two models", "closed early"])
def test_threads_that_begin_steps_at_the_same_time_harm_neither_training_nor_run(tmp_path, kind):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), tmp_path / "run", kind],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "closed None\n"
    if kind == "closed early":
        return  # perhaps before the first step
    trial = create_trial(tmp_path / "run")
    assert trial.steps() == list(range(200))
    assert trial.damage() == []
    values = trial.tensor("Sequential_0.weight")
    assert {values.value(step).shape for step in values.steps()} == {(64, 4)}
