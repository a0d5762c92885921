"""Trains a small network with a script for smdebug 1.0.34, and lists the saved steps."""

import torch

import smdebug.pytorch as smd
from smdebug.trials import create_trial

torch.manual_seed(0)
model = torch.nn.Sequential()
model.add_module("fc", torch.nn.Linear(4, 8))
model.add_module("relu", torch.nn.ReLU())
model.add_module("out", torch.nn.Linear(8, 2))
loss_fn = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

hook = smd.get_hook(create_if_not_exists=True)
hook.register_module(model)
hook.register_loss(loss_fn)

for _ in range(2):
    hook.set_mode(smd.modes.TRAIN)
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = loss_fn(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hook.set_mode(smd.modes.EVAL)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(16, 4)
            loss_fn(model(x), (x[:, 0] > 0).long())
hook.close()

trial = create_trial(hook.out_dir)
for name in sorted(trial.tensor_names()):
    tensor = trial.tensor(name)
    print(f"{name}: {tensor.steps(mode=smd.modes.TRAIN)} {tensor.steps(mode=smd.modes.EVAL)}")
