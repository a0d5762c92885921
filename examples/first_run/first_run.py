"""Records a small training in which a gradient explodes, then prints the largest weights."""

import sys

import torch

import smdebug.pytorch as smd

out_dir = sys.argv[1] if len(sys.argv) > 1 else "first-run"

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
loss_fn = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

hook = smd.Hook(
    out_dir,
    include_collections=["weights", "gradients", "losses"],
    save_config=smd.SaveConfig(save_interval=5),
)
hook.register_module(model)
hook.register_loss(loss_fn)

with hook:
    for step in range(40):
        if step == 20:
            optimizer.param_groups[0]["lr"] = 50.0  # the mistake
        x = torch.randn(32, 4)
        loss = loss_fn(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

trial = smd.create_trial(out_dir)
weight = trial.tensor("Sequential_0.weight")
for step in weight.steps():
    print(f"step {step:2}  largest weight {abs(weight.value(step)).max():.3g}")
