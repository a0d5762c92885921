"""Saves reductions in place of tensors: the example of the ReductionConfig documentation."""

import sys

import torch

import smdebug.pytorch as smd

hook = smd.Hook(
    out_dir=sys.argv[1],
    include_collections=["weights"],
    reduction_config=smd.ReductionConfig(
        reductions=["std", "variance"], abs_reductions=["mean"], norms=["l1"]
    ),
)
model = torch.nn.Linear(4, 2)
hook.register_module(model)
model(torch.ones(1, 4)).sum().backward()
hook.close()

weight = smd.create_trial(out_dir=sys.argv[1]).tensor("Linear_weight")
expected = model.weight.detach()
for name, is_abs, value in (
    ("std", False, expected.std()),
    ("variance", False, expected.var()),
    ("mean", True, expected.abs().mean()),
    ("l1", False, expected.abs().sum()),
):
    saved = weight.reduction_value(0, name, abs=is_abs)
    print(f"{'abs ' if is_abs else ''}{name}: {abs(saved - value.item()) < 1e-5}")
