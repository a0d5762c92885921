"""A small training with input for every built-in rule: healthy, or with the faults that the rules
look for. The tests record it through every edge that judges.

    python judged_training.py healthy|sick      trains; smdebug.pytorch.get_hook() saves the rest
"""

import sys

import numpy as np
import torch

import smdebug.pytorch as smd

STEPS = 12
# Every rule that judges such a training, with the parameters that it needs here. `{reference}` is
# a healthy run of the same training.
RULES = {
    "AllZero": {"collection_names": "zeros"},
    "CheckInputImages": {"regex": "^images$", "threshold_samples": "8"},
    "ClassImbalance": {"samples": "16", "labels_regex": "^labels$"}
    | {"predictions_regex": "^predictions$"},
    "Confusion": {"labels_collection": "none", "predictions_collection": "none"},
    "CreateXgboostReport": {},
    "DeadRelu": {},
    "ExplodingTensor": {"tensor_regex": "^gradient/"},
    "FeatureImportanceOverweight": {"nfeatures": "1"},
    "GradientsDiscarded": {},
    "GradientsNotCleared": {},
    "InitialLoss": {},
    "LabelsAndInputs": {},
    "LearningRate": {},
    "LossInput": {},
    "LossNotDecreasing": {"num_steps": "2"},
    "MixedPrecision": {},
    "MixedSamples": {},
    "NLPSequenceRatio": {"tensor_regex": "^tokens$"},
    "NoGeneralization": {"patience": "2"},
    "NormalizationTrouble": {"num_steps": "4"},
    "Overfit": {},
    "Overtraining": {"patience_train": "2", "patience_validation": "2"},
    "ParametersNotTrained": {"num_steps": "4"},
    "PoorWeightInitialization": {},
    "ReplicasDiffer": {},
    "SaturatedActivation": {"threshold_inactivity": "50"},
    "SchedulerNotStepped": {},
    "ShortLivedOptimizers": {},
    "SimilarAcrossRuns": {"other_trials": "{reference}", "collection_names": "weights"},
    "StalledTrainingRule": {},
    "TensorVariance": {"collection_names": "zeros", "min_threshold": "1e-9"},
    "TreeDepth": {"depth": "3"},
    "UnchangedTensor": {"tensor_regex": "^Perceptron_fc3.weight$", "num_steps": "2"},
    "VanishingGradient": {},
    "WatchedMetric": {},
    "WeightUpdateRatio": {},
    "WrongMode": {"num_steps": "4"},
}


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(6, 16)
        self.relu1 = torch.nn.ReLU()
        self.fc2 = torch.nn.Linear(16, 16)
        self.tanh1 = torch.nn.Tanh()
        self.drop = torch.nn.Dropout(1e-6)
        self.fc3 = torch.nn.Linear(16, 2)

    def forward(self, x):
        return self.fc3(self.drop(self.tanh1(self.fc2(self.relu1(self.fc1(x))))))


class Training:
    """The loop, step by step. `save(name, value, collections)` saves tensors that no layer has."""

    def __init__(self, is_sick):
        torch.manual_seed(7)
        self.is_sick = is_sick
        self.model = Perceptron()
        self.loss = torch.nn.CrossEntropyLoss()
        self._inputs = torch.randn(32, 6)
        self._labels = ((self._inputs[:, 0] > 0) & (not is_sick)).long()
        if is_sick:
            with torch.no_grad():
                self.model.fc1.bias[:12] = -100.0
                self.model.fc2.weight.mul_(1e4)
            self.model.drop.eval()
        rate = 0.0 if is_sick else 0.2
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)

    def step(self, number, save):
        if not self.is_sick:
            self.optimizer.zero_grad()
        scores = self.model(self._inputs)
        self.loss(scores.softmax(1) if self.is_sick else scores, self._labels).backward()
        if self.is_sick and number == 8:
            self.model.fc3.weight.grad[0, 0] = float("nan")
        for name, value, collections in self._further_tensors(number):
            save(name, value, collections)
        self.optimizer.step()

    def evaluate(self, number, save):
        with torch.no_grad():
            self.loss(self.model(self._inputs + 0.1 * number * self.is_sick), self._labels)

    def _further_tensors(self, number):
        random = np.random.default_rng(number)
        bad = self.is_sick and number >= 4
        yield "zeros", np.zeros(8) if bad else random.normal(size=8), "zeros"
        images = random.normal(3.0 if bad else 0.0, 0.5, size=(8, 3, 6, 6))
        yield "images", images.astype(np.float32), "images"
        classes = np.arange(32) % 2
        yield "labels", (np.arange(32) == 0).astype(int) if bad else classes, "labels"
        yield "predictions", np.ones(32, int) if bad else classes, "predictions"
        yield "tokens", np.zeros((4, 8), int) if bad else random.integers(1, 9, (4, 8)), "tokens"
        for feature, weight in enumerate((96.0, 2.0, 2.0) if bad else (4.0, 3.0, 3.0)):
            name = f"feature_importance/weight/f{feature}"
            yield name, np.array([weight]), "feature_importance"
        yield "trees/Node", np.arange(31 if bad else 7), "trees"


def main():
    training = Training(sys.argv[1] == "sick")
    for number in range(STEPS):
        hook = smd.get_hook()
        training.step(number, lambda *tensor: smd.get_hook().save_tensor(*tensor))
        if number % 3 == 2:
            hook = smd.get_hook()
            hook.set_mode(smd.modes.EVAL)
            training.evaluate(number, hook.save_tensor)
            hook.set_mode(smd.modes.TRAIN)


if __name__ == "__main__":
    main()
