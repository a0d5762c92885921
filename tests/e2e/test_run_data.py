"""What `smdebug run`, without any option, tells of the data of a training."""

import pytest
from launched_script import findings_of

SCRIPT = """
import torch
from torch import nn
torch.manual_seed(0)
y = torch.arange(2000) % 4
centers = torch.randn(4, 10)
x = centers[y] + 0.7 * torch.randn(2000, 10)
prices = x[:, :1] * 2 + 0.1 * torch.randn(2000, 1)
{data}
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, {outputs}))
optimizer = {optimizer}
order = {order}
for start in range(0, 2000, 20):
    rows = order[start : start + 20]
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained to the end")
"""
HEALTHY = {
    "data": "",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.05)",
    "order": "torch.randperm(2000)",
    "outputs": 4,
    "loss": "nn.functional.cross_entropy(model(x[rows]), y[rows])",
}
REGRESSION = {"outputs": 1, "loss": "nn.functional.mse_loss(model(x[rows]), prices[rows])"}


def findings(folder, **changes):
    return findings_of(folder, SCRIPT.format(**HEALTHY | changes))


@pytest.mark.parametrize("changes", [{}, REGRESSION])
def test_shuffled_and_scaled_data_pass(tmp_path, changes):
    assert findings(tmp_path, **changes) == {}


def test_a_missing_value_is_the_cause_of_a_loss_of_nan(tmp_path):
    found = findings(tmp_path, order="torch.arange(2000)", data="x[1237, 4] = float('nan')")
    first = next(iter(found))
    assert first == "LabelsAndInputs"
    # Row 1237 is in the batch of step 61.
    message = found[first]["message"]
    assert "Sequential_input_0: the inputs contain NaN or infinity at global step 61" in message
    assert found[first]["severity"] == "fatal"


def test_a_missing_target_is_the_cause_of_a_loss_of_nan(tmp_path):
    changes = REGRESSION | {"data": "prices[333] = float('inf')", "order": "torch.arange(2000)"}
    found = findings(tmp_path, **changes)
    first = next(iter(found))
    assert first == "LabelsAndInputs"
    assert "the targets contain NaN or infinity at global step 16" in found[first]["message"]


@pytest.mark.parametrize(
    "steps_per_class, message",
    [
        # The steps after step 25 are saved too, because the loss leaps there.
        (25, "the labels of a step are alike and differ from those of other steps"),
        # Ten steps are saved before the second class begins.
        (100, "all 200 labels of 10 saved steps are of one class of 4"),
    ],
)
def test_data_that_are_sorted_by_class_are_told(tmp_path, steps_per_class, message):
    repeated = f"torch.argsort(y).repeat_interleave({steps_per_class // 25})"
    found = findings(tmp_path, order=repeated)
    assert found["LabelsAndInputs"]["severity"] == "serious"
    assert message in found["LabelsAndInputs"]["message"]
    assert "not shuffled" in found["LabelsAndInputs"]["cause"]


@pytest.mark.parametrize(
    "changes", [{"data": "x[:, 6] = y"}, REGRESSION | {"data": "x[:, 6] = prices[:, 0]"}]
)
def test_a_target_that_is_left_among_the_features_is_told(tmp_path, changes):
    found = findings(tmp_path, **changes)
    first = next(iter(found))
    assert first == "LabelsAndInputs"
    assert "feature 6 of the model's input equals the targets" in found[first]["message"]
    assert found[first]["severity"] == "serious"


FIRST_BATCH = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
y = torch.arange(2000) % 4
x = torch.randn(4, 10)[y] + 0.7 * torch.randn(2000, 10)
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle={shuffle})
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batch = next(iter(loader))
for step in range(150):
    inputs, labels = {batch}
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained to the end")
"""


@pytest.mark.parametrize(
    ("batch", "shuffle", "is_found"),
    [
        ("next(iter(loader))", False, True),
        ("next(iter(loader))", True, False),
        ("batch", False, False),  # a script that fits one batch on purpose
    ],
)
def test_a_loop_that_takes_the_first_batch_of_each_pass_is_told(tmp_path, batch, shuffle, is_found):
    found = findings_of(tmp_path, FIRST_BATCH.format(batch=batch, shuffle=shuffle))
    assert list(found) == (["LabelsAndInputs"] if is_found else [])
    if is_found:
        assert "the inputs are the same in 10 saved steps" in found["LabelsAndInputs"]["message"]


def test_a_feature_in_its_own_unit_is_the_cause_of_a_divergence(tmp_path):
    found = findings(tmp_path, data="x[:, 3] *= 5000", **REGRESSION)
    first = next(iter(found))
    assert len(found) > 1, found
    assert first == "LabelsAndInputs"
    assert "the standard deviation of a feature is" in found[first]["message"]
    assert found[first]["severity"] == "serious"


def test_large_targets_are_advice_if_the_training_bears_them(tmp_path):
    changes = REGRESSION | {"data": "prices = prices * 8"}
    changes["optimizer"] = "torch.optim.Adam(model.parameters(), lr=0.01)"
    found = findings(tmp_path, **changes)
    assert {rule: each["severity"] for rule, each in found.items()} == {"LabelsAndInputs": "advice"}
