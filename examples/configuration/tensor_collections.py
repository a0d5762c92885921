"""Groups of tensors, each saved in its own way: the examples of the Collection documentation."""

import sys

import torch

import smdebug.pytorch as smd

hook = smd.Hook(
    out_dir=sys.argv[1],
    export_tensorboard=False,
    tensorboard_dir=None,
    dry_run=False,
    reduction_config=None,
    save_config=smd.SaveConfig(save_interval=2),
    include_regex=["fc1_input"],
    include_collections=["weights", "activations", "custom"],
    save_all=False,
    include_workers="one",
)

model = torch.nn.Sequential()
model.add_module("fc1", torch.nn.Linear(4, 8))
model.add_module("relu", torch.nn.ReLU())
model.add_module("fc2", torch.nn.Linear(8, 2))
loss_fn = torch.nn.MSELoss()

# By pattern, every third step, as one number each.
custom = hook.get_collection("custom")
custom.include(["bias$"])
custom.save_config = smd.SaveConfig(save_interval=3)
custom.reduction_config = smd.ReductionConfig(norms=["l2"])

# By module.
hook.get_collection("activations").add_module_tensors(model.relu, inputs=False, outputs=True)

# Created separately and added.
hook.add_collection(smd.Collection("unused", include_regex=["nothing"], save_histogram=False))

# Losses are saved by default, and so are metrics if the framework has any.
hook.get_collection("losses").save_config.end_step = 0
hook.get_collection("metrics").save_config.end_step = 0

hook.set_mode(smd.modes.TRAIN)
hook.register_module(model)
hook.register_loss(loss_fn)
for _ in range(4):
    loss_fn(model(torch.ones(1, 4)), torch.ones(1, 2)).backward()
hook.close()

trial = smd.create_trial(out_dir=sys.argv[1])
for name in trial.tensor_names():
    print(f"{name}: {trial.tensor(name).steps(mode=smd.modes.TRAIN)}")
print(f"collections: {sorted(trial.collections())}")
