"""Records a small training, losses at every step and weights as reductions, and opens it.

usage: saving_api.py RUN
"""

import sys

import torch

import smdebug.pytorch as smd

out_dir = sys.argv[1]

save_config = smd.SaveConfig(save_interval=10)
reduction_config = smd.ReductionConfig(reductions=["min", "max", "mean"], norms=["l1"])
hook = smd.Hook(out_dir, save_config=save_config, include_collections=["weights", "losses"])

collection = hook.get_collection("losses")
collection.save_config = smd.SaveConfig(save_interval=1)
hook.get_collection("weights").reduction_config = reduction_config

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
hook.register_module(model)
hook.register_loss(criterion)

hook.set_mode(smd.modes.TRAIN)
for _ in range(20):
    optimizer.zero_grad()
    criterion(model(torch.randn(16, 4)), torch.randint(0, 3, (16,))).backward()
    optimizer.step()
hook.set_mode(smd.modes.EVAL)
with torch.no_grad():
    for _ in range(5):
        criterion(model(torch.randn(16, 4)), torch.randint(0, 3, (16,)))
hook.close()

trial = smd.create_trial(out_dir=out_dir)
print(f"{len(trial.steps())} steps, {len(trial.tensor_names())} tensors")
loss = trial.tensor("CrossEntropyLoss_output_0")
print(f"losses of training: {len(loss.steps(mode=smd.modes.TRAIN))}")
print(f"losses of evaluation: {len(loss.steps(mode=smd.modes.EVAL))}")
for name in trial.tensor_names(collection="weights"):
    mean = trial.tensor(name).reduction_value(10, "mean")
    print(f"{name}: mean {float(mean):+.4f} at step 10")
