"""An Ignite trainer and its evaluator, recorded by the handler."""

import sys

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import MeanSquaredError

import smdebug.pytorch as smd
from smdebug.pytorch.ignite import SMDebugHandler

out_dir = sys.argv[1] if len(sys.argv) > 1 else "ignite-run"

torch.manual_seed(0)
x = torch.randn(32, 4)
batches = [(rows, rows.sum(dim=1, keepdim=True)) for rows in x.split(8)]
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.mse_loss)
evaluator = create_supervised_evaluator(model, metrics={"mse": MeanSquaredError()})
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(batches[:1]))

handler = SMDebugHandler(
    out_dir, rules=["ExplodingTensor"], save_config=smd.SaveConfig(save_interval=1)
)
handler.attach(trainer, model, evaluators=[evaluator])
trainer.run(batches, max_epochs=2)

trial = smd.create_trial(out_dir)
for mode in (smd.modes.TRAIN, smd.modes.EVAL):
    print(f"{mode.name}: {trial.steps(mode=mode)}")
print(f"scalar/mse at {trial.tensor('scalar/mse').steps(mode=smd.modes.EVAL)}")
