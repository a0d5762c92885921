"""What `smdebug run`, without any option, tells of the course of a loss."""

from launched_script import result_of

SCRIPT = """
import torch
from torch import nn
torch.manual_seed({seed})
centers = torch.randn(5, 12)
model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 5))
optimizer = torch.optim.{optimizer}
loss_of = nn.CrossEntropyLoss()
for step in range({steps}):
    labels = torch.randint(0, 5, (32,))
    inputs = centers[labels] + 0.5 * torch.randn(32, 12)
    {batch}
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained to the end")
"""
HEALTHY = {
    "seed": 0,
    "optimizer": "Adam(model.parameters(), lr=1e-2)",
    "steps": 150,
    "batch": "pass",
    "loss": "loss_of(model(inputs), labels)",
}


def told(folder, **changes):
    """The verdict of LossNotDecreasing on the training with `changes`."""
    result = result_of(folder, SCRIPT.format(**HEALTHY | changes))
    return next(each for each in result["verdicts"] if each["rule"] == "LossNotDecreasing")


def test_a_loss_that_falls_passes(tmp_path):
    verdict = told(tmp_path)
    assert verdict["status"] == "NoIssuesFound"


def test_a_learning_rate_that_is_far_too_low_leaves_the_loss_where_it_was(tmp_path):
    verdict = told(tmp_path, optimizer="SGD(model.parameters(), lr=1e-6)")
    assert verdict["status"] == "IssuesFound"
    assert "loss_output_0: the loss does not fall: 1." in verdict["message"]
    assert "learning rate that is too low" in verdict["cause"]


def test_a_loss_of_the_wrong_sign_diverges(tmp_path):
    verdict = told(tmp_path, optimizer="SGD(model.parameters(), lr=0.3, maximize=True)", steps=60)
    assert verdict["severity"] == "error"
    assert "the loss rises" in verdict["message"]
    assert verdict["step"]["global"] <= 60


def test_a_few_steps_are_too_few_to_tell(tmp_path):
    verdict = told(tmp_path, steps=15)
    assert verdict["status"] == "Error"
    assert verdict["message"] == (
        "nothing to judge: 15 steps are too few to tell whether the loss falls; it needs about 40"
    )
