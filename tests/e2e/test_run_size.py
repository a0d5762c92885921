"""The size limit of a run that another process judges: what a rule fired on is kept longest."""

import json
import subprocess
import sys

from launched_script import SMDEBUG, result_of

from smdebug.trials import create_trial

# A weight is NaN after step 40, so step 50 is the first saved one with NaN on schedule. The script
# goes on when the rule has fired, so that it does not matter how fast it is judged, and then trains
# until the limit has removed all other steps of that time.
TRAINING = """
import pathlib, time
import torch

def train(run, register=lambda model: None):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    register(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(480):
        loss = torch.nn.functional.mse_loss(model(torch.randn(8, 16)), torch.zeros(8, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 40:
            with torch.no_grad():
                model[0].weight[0, 0] = float("nan")
        if step == 75:
            end = time.monotonic() + 60
            while not list(pathlib.Path(run).glob("rules/fired/*_ExplodingTensor.json")):
                assert time.monotonic() < end, "the rule has not fired"
                time.sleep(0.02)
    print("trained to the end")
"""
# Before torch is imported, which makes the hook. As if the training were long.
LIMITED = """
import smdebug.launched_hook
smdebug.launched_hook._MAX_RUN_BYTES = 100_000
"""
LAUNCHED = """
import json, os
train(json.loads(os.environ["SMDEBUG_RUN"])["out_dir"])
"""
RECORDED = """
import sys
import smdebug.pytorch as smd

every_tenth = smd.SaveConfig(save_interval=10)
hook = smd.Hook(
    sys.argv[1], save_all=True, save_config=every_tenth, max_run_bytes=250_000, keep_every=100
)
train(sys.argv[1], hook.register_module)
hook.close()
"""


def check_kept(run, nan, after):
    """The step of the first NaN and the saved steps before and `after` it outlive the others."""
    cost = json.loads((run / "run.json").read_text())["attempts"][0]["cost"]
    assert cost["removed_steps"] > 10
    steps = create_trial(str(run)).steps()
    assert {40, nan, after} <= set(steps), steps
    assert not {30, 70, 110, 210} & set(steps), steps


def test_the_step_of_the_first_nan_survives_the_limit_of_a_launched_training(tmp_path):
    result = result_of(tmp_path, LIMITED + TRAINING + LAUNCHED)
    [fired] = (each for each in result["verdicts"] if each["rule"] == "ExplodingTensor")
    # Steps that are saved because the loss became NaN in step 41.
    assert fired["step"]["global"] == 42
    check_kept(tmp_path / "run", nan=42, after=43)


def test_the_step_of_the_first_nan_survives_the_limit_of_a_watched_training(tmp_path):
    run, script = tmp_path / "run", tmp_path / "train.py"
    script.write_text(TRAINING + RECORDED)
    watch = subprocess.Popen(
        [SMDEBUG, "watch", run, "--rule", "ExplodingTensor", "--timeout", "120"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        trained = subprocess.run(
            [sys.executable, script, run], capture_output=True, text=True, timeout=240
        )
        assert "trained to the end" in trained.stdout, trained.stderr
        said, _ = watch.communicate(timeout=120)
        assert watch.returncode == 3, said
        # To the end of the training, although its only rule fired in step 50; removed steps are no
        # damage.
        assert "training  ended" in said
        assert "damage" not in said
    finally:
        watch.kill()
    check_kept(run, nan=50, after=60)
