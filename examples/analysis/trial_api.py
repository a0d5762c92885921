"""Every query of a `Trial`.

usage: trial_api.py RUN
"""

import sys

from smdebug import modes
from smdebug.core.tensor import StepState
from smdebug.exceptions import NoMoreData, StepUnavailable
from smdebug.trials import create_trial

trial = create_trial(sys.argv[1])

print(f"all: {trial.tensor_names()}")
print(f"of step 10 of training: {trial.tensor_names(step=10, mode=modes.TRAIN)}")
print(f"named like relu: {trial.tensor_names(regex='relu')}")
print(f"of a collection: {trial.tensor_names(collection='gradients')}")
print(f"all at once: {trial.tensor_names(step=10, mode=modes.TRAIN, regex='weight')}")

name = trial.tensor_names()[0]
assert trial.has_tensor(name)
print(trial.tensor(name))
print(f"workers: {trial.workers()}")

print(f"steps: {trial.steps()}")
print(f"steps that any worker wrote: {trial.steps(show_incomplete_steps=True)}")
for mode in trial.modes():
    steps = trial.steps(mode=mode)
    print(f"steps of {mode.name}: {steps}")
    global_step = trial.global_step(mode, steps[-1])
    assert (trial.mode(global_step), trial.mode_step(global_step)) == (mode, steps[-1])

print(f"collections: {sorted(trial.collections())}")
print(f"patterns of losses: {trial.collection('losses').include_regex}")

trial.wait_for_steps(trial.steps())
assert trial.has_passed_step(trial.steps()[-1]) == StepState.AVAILABLE
try:
    trial.wait_for_steps([trial.steps()[-1] + 1])
except (StepUnavailable, NoMoreData) as error:
    print(f"the next step: {error}")
