"""The planted faults: each changes one thing in a healthy training.

`meant` are the rules that must find the fault, and `why` describes it in a sentence. Other rules
may fire on its consequences; the page shows this, but it counts neither for nor against them.

`named_by` are the findings that tell a user this cause, as rules or "rule: part of the kind": it is
one of at most two usual causes that the finding lists, or the advice leads to it. It is `meant`
unless given. `hinted_by` are those that list it among more causes. `noted_as` is a part of the note
that tells it where a training may have it on purpose.
"""

import dataclasses
import functools
from collections.abc import Callable

import recipes
import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Fault:
    """`spoil(training)` plants the fault; `recipes` are the names of the recipes that get it.
    `shows_by_default` is false if `smdebug run` cannot find it without options."""

    name: str
    why: str
    meant: tuple[str, ...]
    recipes: tuple[str, ...] = ()
    spoil: Callable[..., None] | None = None  # of its framework's own kind of training
    named_by: tuple[str, ...] | None = None
    hinted_by: tuple[str, ...] = ()
    noted_as: str | None = None
    shows_by_default: bool = True

    def is_named_by(self, rule, kind):
        """Whether a finding tells the user this cause."""
        return _is_among(self.meant if self.named_by is None else self.named_by, rule, kind)

    def is_noted_in(self, notes):
        """Whether one of the notes tells it."""
        return self.noted_as is not None and any(self.noted_as in note for note in notes)

    def is_hinted_by(self, rule, kind):
        """Whether a finding lists this cause among more than two."""
        return _is_among(self.hinted_by, rule, kind)


def _is_among(findings, rule, kind):
    pairs = (each.partition(": ") for each in findings)
    return any(name == rule and part in (kind or "") for name, _, part in pairs)


def _vanishing(training):
    training.make_model = recipes.stack
    training.activation = nn.Sigmoid
    training.depth = max(training.depth, 10)
    training.on_model = []


def _exploding(training):
    training.make_model = recipes.stack
    training.make_optimizer = recipes.plain_sgd
    _scaled_weights(1e4)(training)


def _scaled_weights(factor):
    def scale(model):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("weight") and parameter.dim() > 1:
                    parameter.mul_(factor)

    return lambda training: training.on_model.append(scale)


def _zero_weights(training):
    def fill(model):
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.zero_()

    training.on_model.append(fill)


def _evaluates_other_numbers(training):
    task = training.task
    training.task = dataclasses.replace(task, test_x=0.3 * task.test_x + 0.4)


def _fixed_statistics(training):
    def fix(model):
        for module in model.modules():
            if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
                module.momentum = 0.0

    training.on_model.append(fix)


class LogOfShares(nn.NLLLoss):
    """The negative logarithm of the right class' share of all positive scores."""

    def forward(self, scores, labels):
        positive = torch.relu(scores)
        shares = positive / positive.sum(1, keepdim=True)
        return super().forward(shares.log(), labels)


def _log_of_zero(training):
    training.loss = LogOfShares()


def _dead_relus(training):
    def bury(model):
        with torch.no_grad():
            modules = list(model.modules())
            before = [
                a for a, b in zip(modules, modules[1:], strict=False) if isinstance(b, nn.ReLU)
            ]
            before[len(before) // 2].bias.fill_(-30.0)

    training.on_model.append(bury)


def _frozen(training):
    def freeze(model):
        layer = next(m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d)))
        layer.requires_grad_(False)

    training.on_model.append(freeze)


def _forgotten_by_the_optimizer(training):
    model = training.make_model(training)
    names = [name for name, p in model.named_parameters() if p.dim() > 1]
    forgotten = names[len(names) // 2].rpartition(".")[0]
    training.learns = lambda name: name.rpartition(".")[0] != forgotten


def _keeps_gradients(training):
    training.clears_gradients = False


def _clears_each_of_four(training):
    training.update_every = 4


def _learning_rate(factor):
    def spoil(training):
        training.lr *= factor

    return spoil


def _decays_each_batch(training):
    training.schedule_every = 1


def _endless_warm_up(training):
    training.warm_up = 100_000  # that of a large training, copied


def _clips_scaled(training):
    training.clips_scaled = True


def _clips_to_nothing(training):
    training.make_optimizer = recipes.plain_sgd
    training.lr = 0.05
    training.clips_to = 1e-3


def _sums_the_loss(training):
    training.make_optimizer = recipes.plain_sgd
    training.lr = 0.05
    kind = nn.CrossEntropyLoss if training.task.classes else nn.MSELoss
    training.loss = kind(reduction="sum")


def _sums_of_passes(training):
    training.make_optimizer = recipes.plain_sgd
    training.lr = 0.1
    training.update_every = 24
    training.accumulates = True


def _all_in_bfloat16(training):
    training.make_optimizer = recipes.plain_sgd
    training.lr = 1e-4
    training.on_model.append(lambda model: model.to(torch.bfloat16))
    for name in ("train_x", "test_x"):
        setattr(training.task, name, getattr(training.task, name).to(torch.bfloat16))


def _drops_most(training):
    def drop(model):
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.9

    training.on_model.append(drop)


def _loads_other_names(training):
    def load(model):
        weights = {f"module.{name}": value for name, value in model.state_dict().items()}
        model.load_state_dict(weights, strict=False)

    training.on_model.append(load)


def _counts_padding(training):
    training.loss = nn.CrossEntropyLoss()


class RootOfMasked(nn.Module):
    """The gradient of the root is infinite where the mask is 0, and their product is NaN."""

    def forward(self, x):
        return (x * (x > 0)).sqrt()


def _roots(training):
    training.activation = RootOfMasked


def _softmax(training):
    make = training.make_model
    # Twins know the model by the name of the function.
    training.make_model = functools.wraps(make)(lambda it: nn.Sequential(make(it), nn.Softmax(-1)))


def _flat_targets(training):
    training.task.train_y = training.task.train_y.squeeze(1)


def _two_labels(training):
    task = training.task
    one, other = (
        nn.functional.one_hot((task.train_y + shift) % task.classes, task.classes)
        for shift in (0, 1)
    )
    task.train_y = (one + other).float()


def _sorted(training):
    task = training.task
    order = task.train_y.argsort(stable=True)
    task.train_x, task.train_y = task.train_x[order], task.train_y[order]
    training.batches = lambda: _in_order(training)


def _sorted_in_large_batches(training):
    training.batch = 200
    _sorted(training)


def _samples_for_steps(training):
    training.on_model.append(lambda model: setattr(model.gru, "batch_first", False))


def _in_order(training):
    for step in range(training.steps):
        first = step % training.epoch * training.batch
        yield torch.arange(first, first + training.batch)


def _renewed_optimizer(training):
    training.make_optimizer = torch.optim.Adam
    training.lr = 1e-3
    training.renews_optimizer = True


def _resting_schedule(training):
    training.has_schedule = True
    training.schedule_every = training.steps + 1


def _target_among_the_features(training):
    task = training.task
    for x, y in ((task.train_x, task.train_y), (task.test_x, task.test_y)):
        x[:, 0] = y.reshape(len(y))


def _stays_in_evaluation(training):
    training.returns_to_training = False


def _evaluates_in_training(training):
    training.evaluates = False


def _missing_values(training):
    x = training.task.train_x
    x[torch.rand(len(x), generator=torch.Generator().manual_seed(training.seed)) < 0.02, 0] = float(
        "nan"
    )


def _shuffled_labels(training):
    order = torch.Generator().manual_seed(training.seed)
    labels = training.task.train_y
    training.task.train_y = labels[torch.randperm(len(labels), generator=order)]


def _imbalanced(training):
    training.steps *= 2
    task = training.task
    for part in ("train", "test"):
        labels = getattr(task, f"{part}_y")
        keep = labels == 0
        for label in range(1, task.classes):
            places = (labels == label).nonzero().flatten()
            keep[places[: 1 + len(places) // 25]] = True
        setattr(task, f"{part}_x", getattr(task, f"{part}_x")[keep])
        setattr(task, f"{part}_y", labels[keep])


def _few_samples(training):
    task = training.task
    task.train_x, task.train_y = task.train_x[:40], task.train_y[:40]
    training.width *= 2
    training.steps += 300
    training.batch = 16
    training.has_schedule = False


def _empty_inputs(training):
    training.task.train_x = torch.zeros_like(training.task.train_x)


def _raw_images(scale):
    def spoil(training):
        for name in ("train_x", "test_x"):
            x = getattr(training.task, name)
            low = x.amin()
            setattr(training.task, name, scale * (x - low) / (x.amax() - low))

    return spoil


def _long_padding(training):
    for name in ("train_x", "test_x"):
        setattr(training.task, name, nn.functional.pad(getattr(training.task, name), (0, 40)))


NAMES_HIGH_RATE = (
    "DeadRelu: dead after updates",
    "LearningRate: too large",
    "LossNotDecreasing: as high again",
    "LossNotDecreasing: diverges",
    "LossNotDecreasing: grew until",
    "LossNotDecreasing: leapt",
    "LossNotDecreasing: the loss is not finite",
    "LossNotDecreasing: the loss rises",
    "LossNotDecreasing: the loss rose",
    "WeightUpdateRatio: too large",
)
NAMES_LOW_RATE = (
    "LearningRate: too small",
    "LossNotDecreasing: the learning rate is low",
    "WeightUpdateRatio: too small",
)
HINTS_AT_RATE = ("ExplodingTensor", "LossNotDecreasing: the loss does not fall")
HINTS_AT_HIGH_RATE = (*HINTS_AT_RATE, "SaturatedActivation")
CLASSIFIERS = ("perceptron", "small_table", "transformer")

FAULTS = (
    Fault(
        "vanishing gradient",
        "ten or more layers of sigmoids: no gradient reaches the first ones",
        ("VanishingGradient",),
        ("perceptron", "small_table", "deep_perceptron"),
        _vanishing,
    ),
    Fault(
        "exploding",
        "weights ten thousand times too large in ten or more layers: the signal overflows",
        ("ExplodingTensor",),
        ("deep_perceptron",),
        _exploding,
        named_by=("PoorWeightInitialization", "TensorVariance"),
    ),
    Fault(
        "NaN from log(0)",
        "a loss that takes the logarithm of a probability that becomes 0",
        ("ExplodingTensor",),
        ("perceptron", "small_table", "convolutions"),
        _log_of_zero,
        # Where all scores of a sample are below 0, their shares are divided by 0 first.
        named_by=("LossInput: log of 0", "LossInput: division by 0"),
        hinted_by=("ExplodingTensor", "LossNotDecreasing: suddenly not finite"),
    ),
    Fault(
        "dead ReLU",
        "a layer whose biases are so low that no sample activates a unit",
        ("DeadRelu",),
        ("perceptron", "deep_perceptron", "plain_convolutions"),
        _dead_relus,
        named_by=("DeadRelu: dead from the first step",),
    ),
    Fault(
        "frozen layer",
        "the first layer receives no gradient: its weights do not change",
        ("UnchangedTensor",),
        ("perceptron", "tanh_perceptron", "plain_convolutions"),
        _frozen,
        noted_as="frozen",
    ),
    Fault(
        "layer not in the optimizer",
        "a layer has gradients that no optimizer applies",
        ("ParametersNotTrained", "UnchangedTensor", "WeightUpdateRatio"),
        ("perceptron", "tanh_perceptron", "transformer"),
        _forgotten_by_the_optimizer,
        named_by=("ParametersNotTrained", "UnchangedTensor", "WeightUpdateRatio: too small"),
    ),
    Fault(
        "forgotten zero_grad",
        "gradients of all steps add up: the loss oscillates and grows",
        ("GradientsNotCleared", "LossNotDecreasing"),
        ("perceptron", "tanh_perceptron", "regression"),
        _keeps_gradients,
        named_by=("GradientsNotCleared",),
        hinted_by=("LossNotDecreasing: the loss rises",),
    ),
    Fault(
        "cleared gradients of batches",
        "gradients of four batches should add up, but zero_grad() is called for each",
        ("GradientsDiscarded",),
        ("perceptron", "tanh_perceptron", "regression"),
        _clears_each_of_four,
        named_by=("GradientsDiscarded",),
    ),
    Fault(
        "evaluation without normalization",
        "the test set has the numbers from before the normalization of the training set",
        ("LabelsAndInputs",),
        ("perceptron", "plain_convolutions", "regression"),
        _evaluates_other_numbers,
        named_by=("LabelsAndInputs: evaluation inputs",),
    ),
    Fault(
        "learning rate too high",
        "a hundred times that of the healthy twin: the loss grows, the weights jump",
        ("LearningRate", "LossNotDecreasing", "WeightUpdateRatio"),
        ("perceptron", "regression", "transformer"),
        _learning_rate(100.0),
        named_by=NAMES_HIGH_RATE,
        hinted_by=HINTS_AT_HIGH_RATE,
    ),
    Fault(
        "learning rate too low",
        "a hundredth of that of the healthy twin: the weights hardly change",
        ("LearningRate", "WeightUpdateRatio"),
        ("perceptron", "regression", "transformer"),
        _learning_rate(0.01),
        named_by=NAMES_LOW_RATE,
        hinted_by=HINTS_AT_RATE,
    ),
    Fault(
        "bad initialization: zeros",
        "all weights are 0: no layer propagates a gradient to the previous one",
        ("PoorWeightInitialization", "TensorVariance"),
        ("perceptron", "plain_convolutions", "small_table"),
        _zero_weights,
        named_by=(
            "AllZero",
            "DeadRelu: dead from the first step",
            "ParametersNotTrained: gradients of 0",
            "PoorWeightInitialization",
            "TensorVariance",
        ),
        hinted_by=("VanishingGradient",),
    ),
    Fault(
        "bad initialization: large",
        "weights forty times too large: each layer multiplies the signal",
        ("PoorWeightInitialization", "TensorVariance"),
        ("perceptron", "plain_convolutions", "small_table"),
        _scaled_weights(40.0),
        hinted_by=("VanishingGradient",),
    ),
    Fault(
        "bad initialization: small",
        "weights a hundred times too small: the signal dies on its way",
        ("PoorWeightInitialization", "TensorVariance"),
        ("perceptron", "plain_convolutions", "small_table"),
        _scaled_weights(0.01),
        hinted_by=("VanishingGradient",),
    ),
    Fault(
        "shuffled labels",
        "labels unrelated to the inputs: classes are mispredicted throughout the training",
        ("ClassImbalance", "Confusion", "NoGeneralization"),
        ("perceptron", "convolutions", "transformer"),
        _shuffled_labels,
        named_by=(
            "ClassImbalance",
            "Confusion",
            "LossNotDecreasing: at a usual learning rate",
            "NoGeneralization",
        ),
        hinted_by=("LossNotDecreasing: the loss does not fall",),
    ),
    Fault(
        "class imbalance",
        "all samples of one class, 4 % of the samples of every other class",
        ("ClassImbalance",),
        CLASSIFIERS,
        _imbalanced,
        named_by=("ClassImbalance: a class is larger", "LabelsAndInputs: a rare class"),
    ),
    Fault(
        "overfitting",
        "40 samples, twice the width, and too many steps",
        ("Overfit", "Overtraining"),
        ("perceptron", "tanh_perceptron", "transformer"),
        _few_samples,
        named_by=("NoGeneralization", "Overfit", "Overtraining"),
    ),
    Fault(
        "saturated tanh",
        "weights forty times too large before tanh",
        ("SaturatedActivation",),
        ("tanh_perceptron",),
        _scaled_weights(40.0),
        named_by=("PoorWeightInitialization", "SaturatedActivation", "TensorVariance"),
        hinted_by=("VanishingGradient",),
    ),
    Fault(
        "all-zero input",
        "a data loader that returns zeros",
        ("AllZero",),
        ("perceptron", "convolutions", "recurrent"),
        _empty_inputs,
        named_by=("AllZero", "LabelsAndInputs: constant inputs"),
    ),
    Fault(
        "images that are not centered",
        "pixels divided by their standard deviation, whose mean is not subtracted",
        ("CheckInputImages",),
        ("convolutions", "plain_convolutions"),
        _raw_images(4.0),
    ),
    Fault(
        "images between 0 and 255",
        "pixels that are neither centered nor scaled",
        ("CheckInputImages",),
        ("convolutions", "plain_convolutions"),
        _raw_images(255.0),
        named_by=("CheckInputImages", "LabelsAndInputs: large inputs"),
        hinted_by=("DeadRelu", "LossNotDecreasing: diverges", "LossNotDecreasing: grew until"),
    ),
    Fault(
        "wrong token padding",
        "each text is padded to nearly three times the length of the longest one",
        ("NLPSequenceRatio",),
        ("text",),
        _long_padding,
    ),
    Fault(
        "learning rate thirty times too high",
        "thirty times that of the healthy twin",
        ("LearningRate", "LossNotDecreasing", "WeightUpdateRatio"),
        ("tanh_perceptron", "convolutions", "recurrent"),
        _learning_rate(30.0),
        named_by=NAMES_HIGH_RATE,
        hinted_by=HINTS_AT_HIGH_RATE,
    ),
    Fault(
        "decay at each batch",
        "a schedule that is meant for epochs and steps after each batch",
        ("LearningRate",),
        ("decayed",),
        _decays_each_batch,
        named_by=("LearningRate: decayed early", "LossNotDecreasing: has decayed"),
        hinted_by=(*NAMES_LOW_RATE, *HINTS_AT_RATE),
    ),
    Fault(
        "warm-up that never ends",
        "a warm-up of a hundred thousand steps, as large trainings have it",
        ("LearningRate",),
        ("warmed_up",),
        _endless_warm_up,
        named_by=("LearningRate: warm-up", "LossNotDecreasing: the learning rate is low"),
        hinted_by=(*NAMES_LOW_RATE, *HINTS_AT_RATE),
    ),
    Fault(
        "clipped before unscaled",
        "gradients are clipped while they carry the scale of a gradient scaler",
        ("MixedPrecision",),
        ("scaled", "scaled_convolutions"),
        _clips_scaled,
        named_by=("MixedPrecision: clipped",),
    ),
    Fault(
        "gradients clipped to almost nothing",
        "gradients are clipped to a norm of 0.001, as if it were a learning rate",
        ("LearningRate",),
        ("perceptron", "plain_convolutions", "regression"),
        _clips_to_nothing,
        named_by=("LearningRate: a clipping",),
        hinted_by=(*NAMES_LOW_RATE, *HINTS_AT_RATE),
    ),
    Fault(
        "summed loss",
        "a loss with reduction='sum', for a learning rate that is meant for a mean",
        ("LearningRate", "LossNotDecreasing", "WeightUpdateRatio"),
        ("perceptron", "convolutions", "regression"),
        _sums_the_loss,
        named_by=("LearningRate: for a loss that is a sum",),
        hinted_by=(*NAMES_HIGH_RATE, *HINTS_AT_HIGH_RATE),
    ),
    Fault(
        "sum of batches",
        "gradients of 24 batches add up for an update, and the loss is not divided by 24",
        ("LearningRate",),
        ("perceptron", "plain_convolutions", "regression"),
        _sums_of_passes,
        named_by=("LearningRate: for gradients that are summed",),
        hinted_by=(*NAMES_HIGH_RATE, *HINTS_AT_HIGH_RATE),
    ),
    Fault(
        "weights in bfloat16",
        "weights without a float32 copy, and updates smaller than half of their last bit",
        ("LearningRate",),
        ("perceptron", "tanh_perceptron", "plain_convolutions"),
        _all_in_bfloat16,
        named_by=("LearningRate: that the weights round away",),
        hinted_by=(*NAMES_LOW_RATE, *HINTS_AT_RATE),
    ),
    Fault(
        "dropout of most units",
        "dropout with the share to keep where it expects the share to drop",
        ("LossNotDecreasing",),
        ("dropout",),
        _drops_most,
        named_by=("LossNotDecreasing: dropout",),
        hinted_by=HINTS_AT_RATE,
    ),
    Fault(
        "weights of other names",
        "load_state_dict(strict=False) with the names of another wrapper loads nothing",
        ("ParametersNotTrained",),
        ("perceptron", "transformer"),
        _loads_other_names,
        named_by=("ParametersNotTrained: were not loaded",),
    ),
    Fault(
        "padding in the loss",
        "a loss without ignore_index: half of what it averages is padding",
        ("LossInput",),
        ("tagger",),
        _counts_padding,
        named_by=("LossInput: targets that are padding",),
    ),
    Fault(
        "scaler at its floor",
        "square roots of 0 whose gradients are not finite at any scale: each update is skipped",
        ("MixedPrecision",),
        ("scaled",),
        _roots,
        named_by=("ExplodingTensor", "MixedPrecision: skips each update"),
        hinted_by=("ParametersNotTrained: no optimizer acts",),
    ),
    Fault(
        "softmax before the loss",
        "the model ends with a softmax, and the loss applies another one",
        ("LossInput",),
        ("perceptron", "recurrent", "transformer"),
        _softmax,
    ),
    Fault(
        "targets that broadcast",
        "targets of shape (N,) for outputs of shape (N, 1): each meets all others",
        ("LossInput",),
        ("regression",),
        _flat_targets,
    ),
    Fault(
        "several labels per sample",
        "targets with two ones in each row, for a loss that expects one class",
        ("LossInput",),
        ("perceptron", "recurrent", "transformer"),
        _two_labels,
        named_by=("LossInput: rows of targets",),
    ),
    Fault(
        "sorted labels",
        "the samples are sorted by class and not shuffled",
        ("LabelsAndInputs",),
        ("perceptron", "transformer", "text"),
        _sorted,
        named_by=("LabelsAndInputs: sorted labels", "LabelsAndInputs: labels of one class"),
    ),
    Fault(
        "sorted labels of small classes",
        "the samples are sorted by class, and a batch is larger than a class",
        ("LabelsAndInputs",),
        ("perceptron", "transformer", "text"),
        _sorted_in_large_batches,
        named_by=("LabelsAndInputs: sorted labels", "LabelsAndInputs: labels of one class"),
    ),
    Fault(
        "samples taken for steps",
        "a recurrent layer without batch_first=True, for inputs with the samples first",
        ("MixedSamples",),
        ("recurrent",),
        _samples_for_steps,
    ),
    Fault(
        "optimizer of one update",
        "Adam is constructed for each update",
        ("ShortLivedOptimizers",),
        ("perceptron", "convolutions"),
        _renewed_optimizer,
    ),
    Fault(
        "schedule that never steps",
        "scheduler.step() is never called",
        ("SchedulerNotStepped",),
        ("perceptron", "transformer", "recurrent"),
        _resting_schedule,
    ),
    Fault(
        "stays in evaluation mode",
        "model.train() is not called again after the first evaluation",
        ("WrongMode",),
        ("convolutions", "dropout"),
        _stays_in_evaluation,
    ),
    Fault(
        "evaluated in training mode",
        "model.eval() is never called",
        ("WrongMode",),
        ("convolutions", "dropout"),
        _evaluates_in_training,
    ),
    Fault(
        "statistics that do not change",
        "batch normalizations with the momentum 0",
        ("NormalizationTrouble",),
        ("convolutions",),
        _fixed_statistics,
        named_by=("NormalizationTrouble: do not change",),
    ),
    Fault(
        "target among the features",
        "the first feature is the label",
        ("LabelsAndInputs",),
        ("perceptron", "small_table"),
        _target_among_the_features,
        named_by=("LabelsAndInputs: targets among",),
    ),
    Fault(
        "missing values",
        "NaN in two percent of the rows",
        ("LabelsAndInputs",),
        ("perceptron", "small_table"),
        _missing_values,
        named_by=("LabelsAndInputs: not finite",),
    ),
)
