"""Small trainings with one bug each, of which docs/diagnosis.md shows the diagnosis."""

TRAINING = """
import torch
from torch import nn

torch.manual_seed(0)
centers = torch.randn(5, 12)
inputs_of = lambda labels: centers[labels] + 0.5 * torch.randn(len(labels), 12)
model = {model}
{before}
optimizer = {optimizer}
loss_of = {loss_of}
for step in range({steps}):
    labels = {labels}
    inputs = {inputs}
    loss = {loss}
    {clear}
    loss.backward()
    {update}
print("trained to the end")
"""
RIGHT = {
    "model": "nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5))",
    "before": "",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1)",
    "loss_of": "nn.CrossEntropyLoss()",
    "steps": "150",
    "labels": "torch.randint(0, 5, (32,))",
    "inputs": "inputs_of(labels)",
    "loss": "loss_of(model(inputs), labels)",
    "clear": "optimizer.zero_grad()",
    "update": "optimizer.step()",
}
IMAGES = """nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))"""

# Ten times or more during the training, with 200 samples.
EVALUATIONS = """
test_labels = torch.randint(0, 5, (200,))
test_inputs = inputs_of(test_labels)
def evaluate():
    model.eval()
    with torch.no_grad():
        for part in range(0, 200, 20):
            loss_of(model(test_inputs[part:part + 20]), test_labels[part:part + 20])
    model.train()
"""
EVALUATED = {
    "before": EVALUATIONS,
    "optimizer": "torch.optim.Adam(model.parameters(), lr=0.01)",
    "update": "optimizer.step()\n    if step % 15 == 14: evaluate()",
    "labels": "few_labels",
    "inputs": "few_inputs",
}

BOOSTING = """
import numpy as np
import xgboost

random = np.random.default_rng(0)
rows = random.normal(size=(600, 8)).astype(np.float32)
labels = (rows[:, 0] + rows[:, 1] * rows[:, 2] + random.normal(size=600) > 0).astype(int)
train, validation = (
    xgboost.DMatrix(rows[part], labels[part]) for part in (slice(0, 400), slice(400, 600))
)
booster = xgboost.train(
    {"objective": "binary:logistic", "eta": 0.1}, train, 100,
    evals=[(train, "train"), (validation, "validation")],
    early_stopping_rounds=10, maximize=True, verbose_eval=False,
)
print("trained to the end")
"""

# Rule -> the bug that it finds, and what it changes in the training, or a training of its own.
BUGS = {
    "CheckInputImages": (
        "images between 0 and 2 that are not centered",
        {
            "model": IMAGES,
            "labels": "torch.randint(0, 5, (256,))",
            "inputs": "torch.rand(256, 1, 8, 8) * (labels.view(-1, 1, 1, 1) + 1) / 2.5",
        },
    ),
    "GradientsDiscarded": (
        "zero_grad() for each of the four batches of an update",
        {"update": "if step % 4 == 3: optimizer.step()"},
    ),
    "GradientsNotCleared": ("a forgotten zero_grad()", {"clear": "pass"}),
    "InitialLoss": (
        "a last layer with weights of standard deviation 10",
        {
            "model": "nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(),\n"
            "    nn.Linear(32, 5))",
            "before": "nn.init.normal_(model[4].weight, std=10)",
            "optimizer": "torch.optim.Adam(model.parameters(), lr=0.003)",
        },
    ),
    "LabelsAndInputs": (
        "data sorted by class",
        {"labels": "torch.arange(32).add(step * 32).mul(5).div(4800).long()"},
    ),
    "LearningRate": (
        "a learning rate of 1e-6",
        {"optimizer": "torch.optim.Adam(model.parameters(), lr=1e-6)"},
    ),
    "LossInput": (
        "a softmax before a cross entropy",
        {"loss": "loss_of(model(inputs).softmax(1), labels)"},
    ),
    "LossNotDecreasing": (
        "a learning rate of 10",
        {"optimizer": "torch.optim.SGD(model.parameters(), lr=10)"},
    ),
    "MixedPrecision": (
        "gradients that are clipped before they are unscaled",
        {
            "before": "scaler = torch.amp.GradScaler('cpu')",
            "loss": "scaler.scale(loss_of(model(inputs), labels))",
            "update": "nn.utils.clip_grad_norm_(model.parameters(), 1.0); "
            "scaler.step(optimizer); scaler.update()",
        },
    ),
    "MixedSamples": (
        "an LSTM without batch_first=True",
        {
            "model": """None
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 16)
        self.head = nn.Linear(16, 5)
    def forward(self, rows):
        return self.head(self.lstm(rows)[0][:, -1])
model = Classifier()""",
            "inputs": "inputs_of(labels).view(32, 4, 3)",
        },
    ),
    "NoGeneralization": (
        "labels that were shuffled apart from their inputs",
        EVALUATED
        | {
            "before": EVALUATIONS
            + """
few_labels = torch.randint(0, 5, (64,))
few_inputs = inputs_of(torch.randint(0, 5, (64,)))
""",
        },
    ),
    "NormalizationTrouble": (
        "a batch normalization with the momentum 0",
        EVALUATED
        | {
            "model": "nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32, momentum=0), nn.ReLU(),\n"
            "    nn.Linear(32, 5))",
            "labels": RIGHT["labels"],
            "inputs": RIGHT["inputs"],
        },
    ),
    "Overfit": (
        "forty samples, of which ten have a wrong label",
        EVALUATED
        | {
            "before": EVALUATIONS
            + """
right_labels = torch.arange(40) % 5
few_inputs = inputs_of(right_labels)
few_labels = (right_labels + (torch.arange(40) < 10)) % 5
""",
            "steps": "300",
        },
    ),
    "ParametersNotTrained": ("a forgotten optimizer.step()", {"update": "pass"}),
    "PoorWeightInitialization": (
        "weights that all begin with 0",
        {"before": "for layer in (model[0], model[2]): nn.init.zeros_(layer.weight)"},
    ),
    "SchedulerNotStepped": (
        "a forgotten scheduler.step()",
        EVALUATED
        | {
            "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3)",
            "labels": RIGHT["labels"],
            "inputs": RIGHT["inputs"],
        },
    ),
    "ShortLivedOptimizers": (
        "an optimizer that is constructed in the loop",
        {"update": "torch.optim.Adam(model.parameters()).step()"},
    ),
    "StalledTrainingRule": (
        "a data loader that hangs",
        {"before": "import time", "update": "optimizer.step(); time.sleep(45 * (step == 30))"},
    ),
    "WatchedMetric": ("an early stopping that maximizes the loss", BOOSTING),
    "WrongMode": (
        "a model.eval() that is never undone",
        {
            "model": "nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 5))",
            "before": "model.eval()",
        },
    ),
}


# Rule -> the options of `smdebug run` with which it finds the bug.
OPTIONS = {
    "StalledTrainingRule": ["--rule", "StalledTrainingRule", "--set", "threshold=30"],
}


def script_with(**changes: str) -> str:
    """The training with these changes."""
    return TRAINING.format(**RIGHT | changes)


def script_of(rule: str) -> str:
    """The training with the bug that `rule` finds."""
    _, training = BUGS[rule]
    return training if isinstance(training, str) else script_with(**training)
