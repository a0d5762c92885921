"""Defines a collection, records it, and reads it back.

usage: tensor_collections.py RUN
"""

import sys

import torch

import smdebug.pytorch as smd

out_dir = sys.argv[1]

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
hook = smd.Hook(
    out_dir,
    save_config=smd.SaveConfig(save_interval=1),
    include_collections=["relu", "biases"],
)

# Never saved.
hook.get_collection("metrics").save_config.end_step = 0

# A custom collection: the tensors that a regex matches, and the outputs of a module.
coll = hook.get_collection("relu")
coll.include("relu_.*")
coll.add_module_tensors(model[1], inputs=True, outputs=True)
coll.save_histogram = False
print(f"properties: {coll.include_regex} {sorted(coll.tensor_names)}")
print(f"{coll.reduction_config} {coll.save_config} {coll.save_histogram}")

hook.register_module(model)
model(torch.randn(16, 4))
model(torch.randn(16, 4))
hook.close()

trial = smd.create_trial(out_dir)
for name, collection in trial.collections().items():
    print(f"{name}: {sorted(collection.tensor_names)}")
print(f"of relu: {trial.tensor_names(collection=trial.collection('relu'))}")
