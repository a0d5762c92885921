"""The first data of a training: the facts that LabelsAndInputs judges."""

import itertools

import numpy as np
import pytest

from conftest import read

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import smdebug.pytorch as smd  # noqa: E402
from smdebug.pytorch.data_summary import TensorSummary  # noqa: E402
from smdebug.pytorch.launch import LaunchedHook  # noqa: E402


class Net(nn.Module):
    def __init__(self, first=nn.Identity):
        super().__init__()
        self.first = first()
        self.fc = nn.Linear(4, 3)

    def forward(self, x, *_):
        return self.fc(self.first(x))


def summary_of(*batches, ignored=None):
    summary = TensorSummary()
    for step, batch in enumerate(batches):
        summary.add(torch.as_tensor(batch), step, ignored)
    return summary.facts("x")


def random_batches(seed, sizes, features):
    print("seed", seed)
    random = np.random.RandomState(seed)
    scales = 10.0 ** random.uniform(-3, 5, features)
    offsets = random.uniform(-3, 3, features) * scales
    return [
        (random.standard_normal((size, features)) * scales + offsets).astype(np.float32)
        for size in sizes
    ]


@pytest.mark.parametrize("seed", range(5))
def test_mean_and_deviations_are_those_of_all_steps_together(seed):
    batches = random_batches(seed, [7, 32, 1, 50], features=5)
    data = np.concatenate(batches).astype(np.float64)
    facts = summary_of(*batches)
    assert facts.steps == 4 and facts.shape == [50, 5] and facts.dtype == "float32"
    assert facts.mean == pytest.approx(data.mean(), rel=1e-5)
    assert facts.deviation == pytest.approx(data.std(), rel=1e-5)
    assert facts.median_feature_deviation == pytest.approx(np.median(data.std(0)), rel=1e-4)
    assert facts.largest_feature_deviation == pytest.approx(data.std(0).max(), rel=1e-4)


def smooth_images(seed, dtype=np.float32):
    """Images (samples, rows, columns, channels), each channel a slope of its own."""
    random = np.random.RandomState(seed)
    rows, columns = np.mgrid[:16, :16] / 16
    slopes = random.uniform(-1, 1, (2, 8, 1, 1, 3))
    images = slopes[0] * rows[None, ..., None] + slopes[1] * columns[None, ..., None]
    images += random.uniform(0, 2, (8, 1, 1, 3)) + random.normal(0, 0.02, images.shape)
    return (images * 40).clip(0, 255).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_channels_that_a_view_has_mixed_are_found(dtype):
    images = [smooth_images(seed, dtype) for seed in range(3)]
    mixed = [each.reshape(8, 3, 16, 16) for each in images]
    assert summary_of(*mixed).has_mixed_channels is True
    moved = [each.transpose(0, 3, 1, 2) for each in images]
    assert summary_of(*moved).has_mixed_channels is False
    assert summary_of(mixed[0], moved[1]).has_mixed_channels is False


def test_only_images_of_three_channels_have_channels_to_mix():
    noise = np.random.RandomState(1).standard_normal((8, 3, 16, 16)).astype(np.float32)
    assert summary_of(noise).has_mixed_channels is False
    assert summary_of(noise[:, :1]).has_mixed_channels is None
    assert summary_of(noise[..., :4]).has_mixed_channels is None
    assert summary_of(noise.reshape(8, -1)).has_mixed_channels is None


@pytest.mark.parametrize("shape", [(16, 5), (4, 3, 8, 8)])
def test_steps_with_the_numbers_of_the_first_are_counted(shape):
    torch.manual_seed(1)
    first, other = torch.randn(shape), torch.randn(shape)
    assert summary_of(first, first.clone(), other, first, other).repeats == 2
    assert summary_of(first, other, other).repeats == 0
    almost = first.clone()
    almost.view(-1)[3] += 1e-3
    assert summary_of(first, almost).repeats == 0


def test_constant_features_have_no_scale():
    batch = np.random.RandomState(0).standard_normal((64, 4)).astype(np.float32)
    batch[:, 1:3] = 5
    facts = summary_of(batch)
    # Of an even number, the lower is the median.
    assert facts.median_feature_deviation == pytest.approx(batch[:, [0, 3]].std(0).min(), rel=1e-5)


def test_data_that_are_no_features_are_summarized_as_a_whole():
    images = np.random.RandomState(0).uniform(0, 255, (5, 3, 4, 4)).astype(np.float32)
    facts = summary_of(images)
    assert facts.mean == pytest.approx(images.mean(), rel=1e-5)
    assert facts.median_feature_deviation is None


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_the_first_step_that_is_not_finite_is_named_and_left_out(wrong):
    sound = np.random.RandomState(0).standard_normal((3, 6, 2)).astype(np.float32)
    spoiled = sound[1].copy()
    spoiled[4, 1] = wrong
    facts = summary_of(sound[0], spoiled, spoiled, sound[2])
    assert facts.not_finite == 1
    assert facts.mean == pytest.approx(sound[[0, 2]].mean(), rel=1e-4)


def test_numbers_whose_square_overflows_are_finite():
    assert summary_of(np.array([[1e30], [-1e30]], np.float32)).not_finite is None


def test_labels_are_counted_without_those_that_are_ignored():
    sorted_labels = [[0] * 20, [0] * 17 + [1] * 3, [2] * 8 + [-100] * 90, [0, 1, 2] * 5, [1] * 7]
    facts = summary_of(*map(torch.tensor, sorted_labels), ignored=-100)
    assert (facts.labels, facts.classes) == (20 + 20 + 8 + 15 + 7, 3)
    assert (facts.largest_class, facts.smallest_class) == (20 + 17 + 5, 8 + 5)


def chance_of_different(labels):
    """The share of the pairs of labels that differ."""
    pairs = list(itertools.combinations(labels, 2))
    return sum(a != b for a, b in pairs) / len(pairs)


def label_order_of(*batches):
    return summary_of(*map(torch.tensor, batches)).label_order


def test_the_order_of_labels_is_the_share_of_their_diversity_that_lies_between_steps():
    batches = [[0] * 12, [0] * 3 + [1] * 6, [1, 2] * 5, [2] * 9 + [0]]
    labels = sum(batches, [])
    within = sum(len(each) * chance_of_different(each) for each in batches) / len(labels)
    expected = 1 - within / chance_of_different(labels)
    assert 0.3 < expected < 0.9
    assert label_order_of(*batches) == pytest.approx(expected, rel=1e-12)
    assert label_order_of([0] * 8, [1] * 8, [2] * 8) == 1
    assert label_order_of([0, 1] * 8, [0, 1] * 8, [0, 1] * 8) == 0


@pytest.mark.parametrize("seed", range(5))
def test_labels_in_random_order_have_an_order_near_0_and_sorted_ones_near_1(seed):
    random = np.random.RandomState(seed)
    labels = np.sort(random.randint(0, 8, 1120))
    batches = [labels[start : start + 64] for start in range(0, 1120, 64)]
    steps = [0, 1, 2, 3, 4, 10]
    assert label_order_of(*(batches[step] for step in steps)) > 0.6
    shuffled = random.permutation(labels).reshape(-1, 8)
    assert label_order_of(*shuffled[:10]) < 0.2


def test_the_order_of_labels_is_unknown_of_one_class_and_of_few_labels():
    assert label_order_of([3] * 9, [3] * 9, [3] * 9) is None
    assert label_order_of([0] * 9, [1] * 9) is None
    assert label_order_of([0] * 9, [1] * 9, [2] * 7) is None


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_of_tokens_the_range_over_all_steps_is_known(dtype):
    facts = summary_of(*(torch.tensor(rows, dtype=dtype) for rows in ([[3, 7], [5, 4]], [[9, 3]])))
    assert (facts.low, facts.high) == (3, 9)
    assert facts.mean is None and facts.deviation is None and facts.labels == 0


def test_of_labels_truths_and_no_elements_no_range_is_known():
    for data in (
        torch.tensor([1, 2]),
        torch.tensor([[True]]),
        torch.zeros(0, 4, dtype=torch.int64),
    ):
        facts = summary_of(data)
        assert facts.low is None and facts.high is None


def test_labels_per_pixel_are_not_counted():
    facts = summary_of(torch.zeros(4, 8, 8, dtype=torch.long))
    assert (facts.labels, facts.steps) == (0, 1)


def facts_after(out_dir, batches, first=nn.Identity, save_interval=10):
    """The last facts of a regression on `batches` of inputs and targets under `smdebug run`."""
    hook = LaunchedHook(out_dir, save_config=smd.SaveConfig(save_interval=save_interval))
    net = Net(first)
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-9)
    for x, y in batches:
        loss = functional.mse_loss(net(x, None), y)
        hook.backward_began("loss", loss, loss)
        loss.backward()
        optimizer.step()
    hook.close()
    return read(out_dir).facts()[-1].facts


def sound_batches(steps):
    torch.manual_seed(0)
    return [(torch.randn(8, 4) * 3 + 1, torch.randn(8, 3) * 50) for _ in range(steps)]


def test_inputs_and_targets_of_the_first_saved_steps_are_facts(out_dir):
    batches = sound_batches(5)
    facts = facts_after(out_dir, batches, nn.Dropout, save_interval=1)
    (given,) = facts.inputs
    assert (given.tensor, given.received_by, given.shape) == ("Net_input_0", "Dropout", [8, 4])
    assert given.mean == pytest.approx(torch.cat([x for x, _ in batches]).mean().item(), rel=1e-5)
    targets = facts.losses[0].input.targets
    expected = torch.cat([y for _, y in batches])
    assert targets.deviation == pytest.approx(expected.std(correction=0).item(), rel=1e-5)


def test_inputs_of_evaluations_are_facts_of_their_own(out_dir):
    torch.manual_seed(0)
    model, hook = Net(), LaunchedHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    seen = {True: [], False: []}  # by mode of the model
    for step in range(14):
        model.train(step not in (0, 5, 13))
        x = torch.randn(16, 4) if model.training else torch.rand(16, 4) * 255
        seen[model.training].append(x)
        with torch.set_grad_enabled(model.training):
            loss = model(x).square().mean()
        if model.training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    hook.close()
    facts = read(out_dir).facts()[-1].facts
    for told, is_training in [(facts.inputs, True), (facts.evaluation_inputs, False)]:
        (given,) = told
        # The last report was made after ten training steps.
        data = torch.cat(seen[is_training][: 10 if is_training else 2])
        assert given.tensor == "Net_input_0"
        assert (given.low, given.high) == (data.min().item(), data.max().item())
        assert given.mean == pytest.approx(data.mean().item(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("is_target", [False, True])
def test_a_nan_in_a_step_that_is_not_saved_is_found_in_the_data(out_dir, is_target):
    batches = sound_batches(30)
    batches[17][is_target][3, 1] = float("nan")
    facts = facts_after(out_dir, batches)
    assert facts.inputs[0].not_finite == (None if is_target else 17)
    assert facts.losses[0].input.targets.not_finite == (17 if is_target else None)


def test_a_loss_that_overflows_does_not_blame_the_data(out_dir):
    batches = sound_batches(30)
    batches[17][0].mul_(1e30)
    facts = facts_after(out_dir, batches)
    assert facts.inputs[0].not_finite is None
    assert facts.losses[0].input.targets.not_finite is None
