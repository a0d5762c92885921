"""The table of published faults and healthy trainings: cases.toml, read and checked.

A case belongs to one of three parts by a hash of its name, so that nobody chooses: rules are tuned
on `tune`, the default set is chosen by `choose`, and `report` is looked at only for the published
figures. README.md lists each look at it.
"""

import dataclasses
import enum
import hashlib
import pathlib

import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TUNE, CHOOSE, REPORT = PARTS = ("tune", "choose", "report")
# The environment below .venv that trains with a framework.
ENVIRONMENTS = {"PyTorch": "torch", "Keras": "tensorflow"}


class Cause(enum.Enum):
    """What a user should be told. The names are permanent; rules and pages may refer to them."""

    gradients_not_cleared = "gradients are not cleared between updates"
    parameters_not_in_optimizer = "trainable parameters are in no optimizer"
    parameters_frozen = "parameters that should train have requires_grad=False"
    part_detached = "a part of the model is detached from the loss"
    weights_equal = "units start with equal weights and stay equal"
    softmax_before_loss = "the loss applies softmax or sigmoid to probabilities"
    activation_before_loss = "the last activation cuts off what the loss needs"
    labels_out_of_range = "the last activation cannot produce the labels"
    outputs_collapse = "the outputs are the same for every sample"
    too_few_outputs = "there are fewer outputs than classes"
    shapes_broadcast = "outputs and labels have different shapes and broadcast"
    labels_ignored = "the loss ignores every label"
    labels_shifted = "labels are shifted by another number of places than one"
    gradient_undefined = "an operation of the loss has no finite gradient at this value"
    inputs_not_scaled = "inputs are not scaled"
    labels_sorted = "batches contain samples of one class"
    learning_rate_too_high = "the learning rate is too high"
    learning_rate_too_low = "the learning rate is too low"
    scheduler_too_often = "the scheduler steps for each batch instead of each epoch"
    evaluation_mode = "the model trains in evaluation mode"
    gradients_vanish = "gradients vanish on their way to the first layers"
    units_dead = "most units are always zero"
    clipped_while_scaled = "gradients are clipped before they are unscaled"
    dtype_too_narrow = "weights or activations exceed the range of their dtype"
    replicas_differ = "replicas do not train in step"


@dataclasses.dataclass(frozen=True)
class Case:
    """A published fault. Its twin is the same training with the published repair.

    `tell` is the sentence that a user should read; `rules_that_name_it` are the rules whose firing
    says so, and is empty if there is no such rule yet. `launcher` are words before the script, such
    as those of torchrun.
    """

    name: str
    script: str
    citation: str
    framework: str
    fault: str
    repair: str
    cause: Cause
    tell: str
    rules_that_name_it: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()

    @property
    def part(self):
        return part_of(self.name)


@dataclasses.dataclass(frozen=True)
class Healthy:
    """A training in which no rule may fire."""

    name: str
    script: str
    framework: str
    kind: str

    launcher = ()

    @property
    def part(self):
        return part_of(self.name)


def part_of(name):
    """The part of a case: fixed by its name alone."""
    return PARTS[hashlib.sha256(name.encode()).digest()[0] % len(PARTS)]


def faults():
    """All published faults, in the order of the table."""
    return [Case(**_with_tuples(row) | {"cause": Cause[row["cause"]]}) for row in _rows()["fault"]]


def healthy():
    """All healthy trainings that are no twins."""
    return [Healthy(**row) for row in _rows().get("healthy", [])]


def _rows():
    return tomllib.loads((HERE / "cases.toml").read_text())


def _with_tuples(row):
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
