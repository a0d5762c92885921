"""A custom training loop with Accelerate, recorded update by update."""

import sys

import torch
from accelerate import Accelerator

import smdebug.pytorch as smd
from smdebug.pytorch.accelerate import SMDebugRecorder

out_dir = sys.argv[1] if len(sys.argv) > 1 else "accelerate-run"

torch.manual_seed(0)
x = torch.randn(32, 4)
data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
model, optimizer, loader = accelerator.prepare(
    model, optimizer, torch.utils.data.DataLoader(data, batch_size=2)
)

with SMDebugRecorder(
    accelerator,
    model,
    out_dir,
    rules=["ExplodingTensor"],
    save_config=smd.SaveConfig(save_interval=1),
) as recorder:
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if recorder.should_stop:
            break

trial = smd.create_trial(out_dir)
print(f"{len(loader)} batches, updates {trial.steps(mode=smd.modes.TRAIN)}")
