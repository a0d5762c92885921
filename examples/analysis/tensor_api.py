"""Every query of a `Tensor`.

usage: tensor_api.py RUN TENSOR
"""

import sys

from smdebug import modes
from smdebug.exceptions import TensorUnavailableForStep
from smdebug.trials import create_trial

trial = create_trial(sys.argv[1])
tensor = trial.tensor(sys.argv[2])

steps = tensor.steps()
print(f"{tensor.name}: saved at {steps}, in training at {tensor.steps(mode=modes.TRAIN)}")
print(f"the last two: {tensor.prev_steps(steps[-1], n=2)}")
print(f"by {tensor.workers(steps[0])}")
print(f"value: {tensor.value(steps[0])}")
print(f"of one worker: {tensor.value(steps[0], worker=tensor.workers(steps[0])[0])}")
print(f"{len(tensor.values())} values, {len(tensor.values(mode=modes.TRAIN))} in training")
print(f"shape {tensor.shape(steps[0])} of {tensor.dtype(steps[0])}, {len(tensor.shapes())} shapes")
print(f"mean {tensor.reduction_value(steps[0], 'mean')}")
print(f"l2 of absolutes {tensor.reduction_value(steps[0], 'l2', abs=True)}")
print(f"saved reductions: {tensor.reduction_values(steps[0])}")
print(tensor.summary(steps[0]))
try:
    tensor.value(trial.steps()[0])
except TensorUnavailableForStep as error:
    print(error)
