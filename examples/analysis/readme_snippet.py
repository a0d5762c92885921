"""Prints the names of the saved tensors and the losses of the evaluation.

usage: readme_snippet.py RUN [TENSOR]
"""

import sys

import smdebug.trials as smd

tensors_path = sys.argv[1]
loss = sys.argv[2] if len(sys.argv) > 2 else "CrossEntropyLoss_output_0"

trial = smd.create_trial(out_dir=tensors_path)
print(f"Saved these tensors: {trial.tensor_names()}")
print(f"Loss values during evaluation were {trial.tensor(loss).values(mode=smd.modes.EVAL)}")
