"""A user's program: records, reads and judges a run. Passes pyright in strict mode."""

from __future__ import annotations

import sys
import tempfile

import numpy as np
import numpy.typing as npt
import torch

import smdebug.pytorch as smd
from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.exceptions import RuleEvaluationConditionMet, TensorUnavailable
from smdebug.rules import Rule, builtin, invoke_rule
from smdebug.trials import Tensor, Trial, create_trial

STEPS = 6


class LossAbove(Rule):
    """Fires at the first step whose loss is above a limit."""

    def __init__(self, base_trial: Trial, limit: float) -> None:
        super().__init__(base_trial)
        self.limit = limit

    def invoke_at_step(self, step: int) -> bool:
        for name in self.base_trial.tensor_names(collection="losses"):
            value = self.base_trial.tensor(name).reduction_value(step, "mean")
            if float(value) > self.limit:
                return True
        return False


def train(folder: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    criterion = torch.nn.MSELoss()
    hook = smd.Hook(
        out_dir=folder,
        save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=2)}),
        reduction_config=ReductionConfig(reductions=["mean"], save_raw_tensor=True),
        include_collections=["weights", "losses"],
    )
    hook.get_collection("relu").include("relu")
    hook.register_module(model)
    hook.register_loss(criterion)
    hook.set_mode(modes.TRAIN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss: torch.Tensor = criterion(model(torch.ones(8, 4)), torch.zeros(8, 1))
        loss.backward()  # pyright: ignore[reportUnknownMemberType]  torch leaves it partly untyped
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]
    hook.save_scalar("epochs", 1)
    hook.close()


def read(folder: str) -> int:
    trial = create_trial(folder)
    names: list[str] = trial.tensor_names(regex="weight$")
    tensor: Tensor = trial.tensor(names[0])
    steps: list[int] = tensor.steps(mode=modes.TRAIN)
    value: npt.NDArray[np.generic] = tensor.value(steps[-1], mode=modes.TRAIN)
    try:
        trial.tensor("no such tensor")
    except TensorUnavailable as error:
        print(error)
    print(tensor.name, value.shape, trial.collection("losses").name)
    return len(steps)


def judge(folder: str) -> bool:
    try:
        invoke_rule(LossAbove(create_trial(folder), limit=-1.0), raise_eval_cond=True)
    except RuleEvaluationConditionMet:
        fired = True
    else:
        fired = False
    rule = builtin("loss_not_decreasing", create_trial(folder))
    print(rule)
    return fired


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        train(run)
        saved, fired = read(run), judge(run)
        print(f"{saved} steps, fired: {fired}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
