"""Trainings whose updates do not reach the model as intended, under `smdebug run` without options:
scripts that know nothing of smdebug."""

import pytest
from launched_script import findings_of

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
{before}
optimizer = {optimizer}
loss_function = nn.CrossEntropyLoss()
model.train()
for step in range(120):
    rows = torch.randint(512, (32,))
    loss = {loss}
    loss.backward()
    {update}
    if step % 40 == 39:
        model.eval()
        with torch.no_grad():
            model(x)
        {after}
print("trained to the end")
"""
HEALTHY = {
    "before": "model.head = nn.Linear(16, 3)",
    "optimizer": "torch.optim.Adam(model.parameters(), lr=1e-3)",
    "loss": "loss_function(model(x[rows]), y[rows])",
    "update": "optimizer.step(); optimizer.zero_grad()",
    "after": "model.train()",
}


def told(folder, **changes):
    """Rule -> verdict of the findings of the training with `changes`."""
    return findings_of(folder, SCRIPT.format(**HEALTHY | changes))


def test_a_healthy_training_with_a_new_head_and_evaluations_passes(tmp_path):
    assert told(tmp_path) == {}


@pytest.mark.parametrize("update", ["optimizer.zero_grad()", "model.zero_grad(); optimizer.step()"])
def test_updates_that_never_come_are_found_within_60_steps(tmp_path, update):
    verdict = told(tmp_path, update=update)["ParametersNotTrained"]
    assert verdict["step"]["global"] <= 80  # with an evaluation in between
    assert verdict["severity"] == "fatal"
    assert verdict["message"].startswith("none of 6 trainable parameters has moved since step 0")
    is_forgotten = "step()" not in update
    assert ("is never called" in verdict["cause"]) == is_forgotten
    assert ("cleared" in verdict["cause"]) != is_forgotten


def test_a_head_that_was_replaced_after_the_optimizer_was_made_is_named(tmp_path):
    verdict = told(tmp_path, optimizer="optimizer")["ParametersNotTrained"]
    assert verdict["step"]["global"] <= 40
    assert "2 of 6 trainable parameters" in verdict["message"]
    assert "Net_head.weight, Net_head.bias; " in verdict["message"]
    assert "replaced after the optimizer was made" in verdict["cause"]


def test_an_optimizer_of_an_older_model_is_told(tmp_path):
    changes = {"before": "model = Net(); model.head = nn.Linear(16, 3)", "optimizer": "optimizer"}
    verdict = told(tmp_path, **changes)["ParametersNotTrained"]
    assert verdict["severity"] == "fatal"
    assert "only parameters that no recorded model has" in verdict["message"]


def test_a_body_that_is_detached_from_the_loss_is_found(tmp_path):
    before = "model.head = nn.Linear(16, 3); model.body[3].register_forward_hook("
    before += "lambda module, given, returned: returned.detach())"
    verdict = told(tmp_path, before=before)["ParametersNotTrained"]
    assert "Net_body.0.weight" in verdict["message"]
    assert "never receive a gradient" in verdict["message"]
    assert verdict["step"]["global"] <= 80


def test_gradients_that_are_never_cleared_are_found_within_20_steps(tmp_path):
    verdict = told(tmp_path, update="optimizer.step()")["GradientsNotCleared"]
    assert verdict["step"]["global"] <= 20
    assert verdict["severity"] == "serious"
    assert verdict["message"].startswith("Adam, which updates Net_body.0.weight and 5 others: five")
    assert "never calls zero_grad()" in verdict["cause"]


@pytest.mark.parametrize(
    "update",
    [
        "optimizer.step(); optimizer.zero_grad(set_to_none=False)",
        "optimizer.step(); [p.grad.data.zero_() for p in model.parameters()]",
        "step % 4 == 3 and (optimizer.step(), optimizer.zero_grad())",
        "optimizer.step(); step % 2 and optimizer.zero_grad()",
    ],
)
def test_gradients_that_are_cleared_in_time_pass(tmp_path, update):
    assert not {"GradientsNotCleared", "GradientsDiscarded"} & told(tmp_path, update=update).keys()


def test_gradients_that_are_cleared_for_each_batch_of_an_update_are_found(tmp_path):
    update = "step % 4 == 3 and optimizer.step(); optimizer.zero_grad()"
    found = told(tmp_path, update=update)
    verdict = found["GradientsDiscarded"]
    assert "GradientsNotCleared" not in found
    assert verdict["step"]["global"] <= 30
    assert verdict["severity"] == "serious"
    assert "calls zero_grad() for each of them" in verdict["cause"]


def test_an_evaluation_mode_that_is_never_undone_is_found(tmp_path):
    verdict = told(tmp_path, after="")["WrongMode"]
    assert 40 < verdict["step"]["global"] <= 70
    assert "2 of 2 dropout and normalization modules" in verdict["message"]
    assert "body.1 (BatchNorm1d)" in verdict["message"]


@pytest.mark.parametrize("function", ["loss_function", "nn.functional.cross_entropy"])
def test_a_softmax_before_a_cross_entropy_is_found(tmp_path, function):
    verdict = told(tmp_path, loss=f"{function}(model(x[rows]).softmax(1), y[rows])")["LossInput"]
    assert verdict["step"]["global"] <= 20
    assert verdict["severity"] == "serious"
    assert "the result of a softmax, and applies a softmax itself" in verdict["message"]
    assert "a softmax at the end of the model" in verdict["cause"]


@pytest.mark.parametrize(
    "loss",
    [
        "nn.functional.mse_loss(model(x[rows])[:, :1], y[rows].float())",
        "((model(x[rows])[:, :1] - y[rows]) ** 2).mean()",
    ],
)
def test_targets_that_broadcast_are_found(tmp_path, loss):
    verdict = told(tmp_path, loss=loss)["LossInput"]
    assert "an input of shape (32, 1) and targets of shape (32,)" in verdict["message"]


def test_labels_that_are_all_ignored_are_found(tmp_path):
    verdict = told(tmp_path, loss="loss_function(model(x[rows]), y[rows] * 0 - 100)")["LossInput"]
    assert "only labels that it ignores" in verdict["message"]
