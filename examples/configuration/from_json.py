"""A hook that the script does not configure: SMDEBUG_CONFIG_FILE_PATH names a JSON file."""

import torch

import smdebug.pytorch as smd

hook = smd.Hook.create_from_json_file()

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
loss_fn = torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss_fn)
for mode in (smd.modes.TRAIN, smd.modes.EVAL):
    hook.set_mode(mode)
    for _ in range(11):
        loss_fn(model(torch.ones(1, 4)), torch.tensor([1])).backward()
hook.close()

trial = smd.create_trial(hook.out_dir)
for name in trial.tensor_names():
    tensor = trial.tensor(name)
    print(f"{name}: {tensor.steps(mode=smd.modes.TRAIN)} {tensor.steps(mode=smd.modes.EVAL)}")
