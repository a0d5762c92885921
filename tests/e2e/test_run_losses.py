"""What `smdebug run`, without any option, tells of the course of a loss."""

from launched_script import findings_of, result_of

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
    assert verdict["message"].endswith("; the learning rate of SGD is 1e-06")
    assert verdict["cause"] == "a learning rate that is too low: the weights hardly move"


def test_a_schedule_that_is_stepped_after_each_batch_is_named(tmp_path):
    verdict = told(
        tmp_path,
        optimizer=(
            "SGD(model.parameters(), lr=0.01)\n"
            "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)"
        ),
        batch="schedule.step() if step else None",
    )
    assert verdict["status"] == "IssuesFound"
    assert "; the learning rate of SGD has fallen from 0.01 to 1e-" in verdict["message"]
    assert "stepped after each batch" in verdict["cause"]


def test_a_learning_rate_that_is_far_too_high_explains_the_units_that_it_kills(tmp_path):
    script = SCRIPT.format(**HEALTHY | {"optimizer": "Adam(model.parameters(), lr=3)"})
    script = script.replace("nn.Tanh()", "nn.ReLU(), nn.Linear(32, 32), nn.ReLU()")
    found = findings_of(tmp_path, script)
    assert list(found)[0] == "LearningRate" and len(found) > 1
    assert found["LossNotDecreasing"]["step"]["global"] < 5
    assert found["LossNotDecreasing"]["message"].endswith("; the learning rate of Adam is 3")


def test_a_loss_of_the_wrong_sign_diverges(tmp_path):
    verdict = told(tmp_path, optimizer="SGD(model.parameters(), lr=0.3, maximize=True)", steps=60)
    assert verdict["severity"] == "fatal"
    assert "the loss rises" in verdict["message"]
    assert verdict["step"]["global"] <= 60


def test_a_few_steps_are_too_few_to_tell(tmp_path):
    verdict = told(tmp_path, steps=15)
    assert verdict["status"] == "Error"
    assert verdict["message"] == (
        "nothing to judge: 15 steps are too few to tell whether the loss falls; it needs about 40"
    )
