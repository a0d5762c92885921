"""What losses are given: the facts that LossInput judges, from the graph of the loss."""

import copy
import functools

import pytest

from conftest import read

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import smdebug.pytorch as smd  # noqa: E402
from smdebug.loss_summary import LossInput, LossSummary  # noqa: E402
from smdebug.pytorch.launch import LaunchedHook  # noqa: E402
from smdebug.pytorch.loss_inputs import LossInputs  # noqa: E402


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.fc = nn.Linear(5, classes)

    def forward(self, x):
        return self.fc(x)


def features(rows=8):
    return torch.randn(rows, 5)


def classes(rows=8):
    return torch.arange(rows) % 4


def measured(loss_of, steps=3, classes=4):
    """The inputs of all losses in the graphs of `loss_of(scores)`, over some steps."""
    net = Net(classes)
    inputs = LossInputs()
    for step in range(steps):
        torch.manual_seed(step)
        loss = loss_of(net(features()))
        inputs.note_graph(loss, step)
        loss.sum().backward()
    return [each.input for each in inputs.facts({}, "loss")]


def the_input(loss_of, **options):
    (one,) = measured(loss_of, **options)
    return one


def facts_after(hook, net, loss_of, steps):
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        torch.manual_seed(step)
        optimizer.zero_grad()
        loss = loss_of(net(features()))
        if isinstance(hook, LaunchedHook):
            hook.backward_began("loss", loss, loss)
        loss.backward()
        optimizer.step()
    hook.close()
    return read(hook.out_dir).facts()


def test_a_softmax_before_a_cross_entropy_is_seen():
    one = the_input(lambda scores: functional.cross_entropy(scores.softmax(1), classes()))
    assert (one.function, one.steps, one.shape) == ("cross_entropy", 3, [8, 4])
    assert (one.activation, one.values) == ("Softmax", "probabilities")
    assert (one.ignored, one.equal_outputs) == (0, 0)


@pytest.mark.parametrize(
    "loss_of",
    [
        lambda p: functional.nll_loss(p.log_softmax(1), classes()),
        lambda p: functional.cross_entropy(p, classes(), label_smoothing=0.1),
        lambda p: functional.cross_entropy(p, classes(), weight=torch.rand(4)),
        lambda p: functional.cross_entropy(p, torch.full((8, 4), 0.25)),
        lambda p: 1024 * functional.cross_entropy(p, classes()) + 0.1 * p.square().mean(),
        lambda p: functional.cross_entropy(p[None].movedim(2, 1), classes()[None]),
    ],
    ids=["nll", "smoothing", "weight", "soft labels", "scaled sum", "token labels"],
)
def test_a_softmax_is_seen_before_every_kind_of_cross_entropy_and_scores_are_not(loss_of):
    faulty = the_input(lambda scores: loss_of(scores.softmax(1)))
    assert (faulty.function, faulty.activation) == ("cross_entropy", "Softmax")
    assert faulty.values == "probabilities"
    healthy = the_input(loss_of)
    assert (healthy.function, healthy.activation) == ("cross_entropy", "Linear")
    assert healthy.values == ""


@pytest.mark.parametrize("off", [0, 3, 8])
def test_rows_of_class_probabilities_that_do_not_sum_to_1_are_counted(off):
    net, inputs, criterion = Net(), LossInputs(), nn.CrossEntropyLoss()
    targets = functional.one_hot(classes(), 4).float()
    targets[:off, :3] = 1
    for step in range(3):
        scores = net(features())
        loss = criterion(scores, targets)
        inputs.note_call(criterion, (scores, targets), step)
        inputs.note_graph(loss, step)
        loss.backward()
    (one,) = [each.input for each in inputs.facts({}, "loss")]
    wrong = sum(row.sum() != 1 for row in targets.numpy())
    assert one.outside == pytest.approx(wrong / 8)
    assert one.function == "cross_entropy"


def test_outputs_that_sum_to_1_are_told_from_those_of_each_class():
    several = functional.one_hot(classes(), 4).float()
    several[:6, 0] = 1  # two of these have no other class

    def loss_of(activation, targets=several):
        return lambda scores: functional.binary_cross_entropy(activation(scores), targets)

    softmax = the_input(loss_of(lambda scores: scores.softmax(1)))
    assert (softmax.values, softmax.outside) == ("distributions", pytest.approx(4 / 8))
    sigmoid = the_input(loss_of(torch.sigmoid))
    assert (sigmoid.values, sigmoid.outside) == ("probabilities", 0)
    one_class = functional.one_hot(classes(), 4).float()
    assert the_input(loss_of(lambda scores: scores.softmax(1), one_class)).outside == 0


def test_log_probabilities_are_known_as_such():
    one = the_input(lambda p: functional.cross_entropy(p.log_softmax(1), classes()))
    assert (one.activation, one.values) == ("LogSoftmax", "log_probabilities")
    one = the_input(lambda p: functional.nll_loss(p.softmax(1).log(), classes()))
    assert (one.function, one.activation, one.values) == ("nll_loss", "Log", "log_probabilities")


def test_a_log_softmax_over_the_batch_is_seen():
    one = the_input(lambda p: functional.nll_loss(p.log_softmax(0), classes()))
    assert (one.function, one.values) == ("cross_entropy", "log_probabilities_of_batch")
    for dim in (1, -1):
        one = the_input(lambda p, dim=dim: functional.nll_loss(p.log_softmax(dim), classes()))
        assert one.values == ""


@pytest.mark.parametrize(
    "select",
    [
        lambda p, rows: p[rows],
        lambda p, rows: p[:6],
        lambda p, rows: p[rows].double(),
        lambda p, rows: p[None, :6].squeeze(0),
        lambda p, rows: p.T.T[rows].clone(),
    ],
    ids=["mask", "slice", "cast", "new dimension", "transposed twice"],
)
@pytest.mark.parametrize("function", ["log_softmax", "log of softmax"])
def test_a_softmax_over_the_batch_is_seen_before_a_selection_of_the_rows(select, function):
    rows = torch.arange(8) < 6

    def loss_over(dim):
        def loss_of(p):
            logs = p.log_softmax(dim) if function == "log_softmax" else p.softmax(dim).log()
            return functional.nll_loss(select(logs, rows), classes(6))

        return the_input(loss_of)

    faulty = loss_over(0)
    assert (faulty.values, faulty.shape) == ("log_probabilities_of_batch", [8, 4])
    for dim in (1, -1):
        assert loss_over(dim).values in ("", "log_probabilities")


def test_a_log_softmax_over_a_third_dimension_is_seen():
    def loss_over(dim):
        def loss_of(p):
            images = p.unsqueeze(2) * torch.rand(1, 1, 3)
            return functional.nll_loss(images.log_softmax(dim), classes()[:, None].expand(8, 3))

        return the_input(loss_of)

    for dim in (2, -1):
        assert loss_over(dim).values == "log_probabilities_of_others"
        assert loss_over(dim).shape == [8, 4, 3]
    assert loss_over(0).values == "log_probabilities_of_batch"
    assert loss_over(1).values == ""


def test_classes_that_lie_in_another_dimension_are_found():
    def loss_over(dim):
        def loss_of(p):
            tokens = p.view(2, 4, 4)[:, :3]
            return functional.nll_loss(tokens.log_softmax(dim).reshape(-1, 4), classes(6))

        return the_input(loss_of)

    assert loss_over(2).values == ""
    assert loss_over(1).values == "log_probabilities_of_others"
    # Probabilities (class, sample), turned for the loss.
    one = the_input(lambda p: functional.nll_loss(p.T.log_softmax(0).T, classes()))
    assert one.values == ""


def test_a_selection_of_classes_is_no_softmax_over_the_batch():
    one = the_input(lambda p: functional.nll_loss(p.log_softmax(1)[:, :3], classes() % 3))
    assert one.values == ""
    half = the_input(lambda p: functional.nll_loss((p * 9).bfloat16().log_softmax(1), classes()))
    assert half.values == ""


def test_a_softmax_over_the_batch_without_a_logarithm_is_one_without_a_logarithm():
    one = the_input(lambda p: functional.nll_loss(p.softmax(0), classes()))
    assert (one.activation, one.values) == ("Softmax", "probabilities")


@pytest.mark.parametrize(
    "dim, values", [(0, "log_probabilities_of_batch"), (1, "log_probabilities")]
)
def test_a_divergence_is_given_a_log_softmax_over_the_batch(out_dir, dim, values):
    target = torch.rand(8, 4).softmax(1)
    criterion = nn.KLDivLoss(reduction="batchmean")
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_loss(criterion)
    reported = facts_after(hook, Net(), lambda p: criterion(p.log_softmax(dim), target), 3)
    assert reported[-1].facts.losses[0].input.values == values


def test_a_missing_log_softmax_is_seen_before_a_negative_log_likelihood():
    one = the_input(lambda p: functional.nll_loss(p, classes()))
    assert (one.function, one.activation, one.values) == ("nll_loss", "Linear", "scores")
    one = the_input(lambda p: functional.nll_loss(p.softmax(1), classes()))
    assert (one.activation, one.values) == ("Softmax", "probabilities")
    # The log-probabilities of a focal loss.
    one = the_input(
        lambda p: functional.nll_loss((1 - p.softmax(1)) ** 2 * p.log_softmax(1), classes())
    )
    assert one.activation == "Mul"


def test_a_sigmoid_is_seen_before_a_binary_cross_entropy_with_logits():
    loss = functional.binary_cross_entropy_with_logits
    one = the_input(lambda p: loss(p[:, 0].sigmoid(), (classes() > 1).float()))
    assert one.function == "binary_cross_entropy_with_logits"
    assert (one.activation, one.values, one.shape) == ("Sigmoid", "probabilities", [8])
    assert (one.outside, one.target_range) == (0, (0, 1))
    one = the_input(lambda p: loss(p[:, 0], (classes() > 1).float() * 2 - 1))
    assert (one.activation, one.outside) == ("Linear", 0.5)
    one = the_input(lambda p: functional.binary_cross_entropy(p.sigmoid(), torch.ones(8, 4)))
    assert one.function == "binary_cross_entropy"


def test_the_shapes_are_those_before_the_loss_has_broadcast_them():
    with pytest.warns(UserWarning, match="target size"):
        one = the_input(lambda p: functional.mse_loss(p[:, :1], torch.randn(8)))
    assert (one.shape, one.target_shape) == ([8, 1], [8])
    with pytest.warns(UserWarning, match="target size"):
        one = the_input(lambda p: functional.huber_loss(p[:, 0], torch.randn(8, 1)))
    assert (one.shape, one.target_shape) == ([8], [8, 1])
    one = the_input(lambda p: functional.smooth_l1_loss(p, torch.randn(8, 4)))
    assert (one.shape, one.target_shape) == ([8, 4], [8, 4])
    # Pairs on purpose, and one target for all.
    with pytest.warns(UserWarning, match="target size"):
        one = the_input(lambda p: functional.mse_loss(p[:, 0, None], torch.randn(8)[None]))
    assert one.target_shape is None
    with pytest.warns(UserWarning, match="target size"):
        one = the_input(lambda p: functional.mse_loss(p, torch.ones(())))
    assert one.target_shape is None


def test_a_loss_by_hand_that_compares_each_prediction_with_all_targets_is_seen():
    one = the_input(lambda p: ((p - torch.randn(8)) ** 2).mean(), classes=1)
    assert (one.function, one.shape, one.target_shape) == ("squared_error", [8, 1], [8])
    assert one.steps == 3
    one = the_input(lambda p: (torch.randn(8, 1) - p.squeeze(1)).abs().sum(), classes=1)
    assert (one.function, one.shape, one.target_shape) == ("absolute_error", [8], [8, 1])

    def product(p):
        difference = p - torch.randn(8)
        return 0.5 * (difference * difference).mean()

    assert the_input(product, classes=1).function == "squared_error"
    assert the_input(lambda p: (p[:, :1] - torch.randn(8)).square().mean()).shape == [8, 1]
    assert the_input(lambda p: (p.sigmoid() - torch.randn(8)).pow(2).mean(), classes=1).steps == 3


@pytest.mark.parametrize(
    "loss_of",
    [
        lambda p: ((p - torch.randn(8, 1)) ** 2).mean(),
        lambda p: ((p[:, 0] - torch.randn(8)) ** 2).mean(),
        lambda p: ((p - torch.randn(())) ** 2).mean(),
        lambda p: ((p - torch.randn(1)) ** 2).mean(),
        lambda p: ((p - torch.randn(5)) ** 2).mean(),
        lambda p: ((p.view(-1, 1) - torch.randn(1, 8)) ** 2).mean(),  # pairs on purpose
        lambda p: ((p[:, 0][:, None] - torch.randn(8)) ** 2).mean(),
        lambda p: ((p - p.T) ** 2).mean(),
        lambda p: ((p - p.detach().T) * p).mean(),
    ],
)
def test_other_losses_by_hand_are_not_measured(loss_of):
    assert measured(loss_of, classes=1) == []


def test_the_smallest_share_of_ignored_labels_is_kept():
    shares = iter([4, 8, 6])

    def loss_of(scores):
        labels = classes()
        labels[: next(shares)] = -100
        return functional.cross_entropy(scores, labels)

    assert the_input(loss_of).ignored == 0.5
    assert the_input(lambda p: functional.cross_entropy(p, classes() * 0 - 100)).ignored == 1


def test_equal_outputs_are_counted_only_if_targets_differ_and_the_output_has_a_pattern():
    mse = functional.mse_loss
    targets = torch.arange(8.0)[:, None]
    assert the_input(lambda p: mse(p[:, :1].softmax(1), targets)).equal_outputs == 3
    assert the_input(lambda p: mse(p[:, :1], targets)).equal_outputs == 0
    assert the_input(lambda p: mse(p[:, :1].softmax(1), targets * 0)).equal_outputs == 0
    # A layer that starts at zero.
    assert the_input(lambda p: mse(p[:, :1] * 0, targets)).equal_outputs == 0
    assert the_input(lambda p: functional.cross_entropy(p * 0, classes())).equal_outputs == 0
    # A parameter that is fitted to all samples.
    assert the_input(lambda p: mse(p[:1, :1].expand(8, 1), targets)).equal_outputs == 0
    dead = nn.Linear(4, 4)
    one = the_input(lambda p: functional.cross_entropy(dead(p.relu() * 0), classes()))
    assert one.equal_outputs == 3


def test_targets_that_an_activation_cannot_give_are_counted():
    targets = torch.tensor([-2.0, -1, 0, 1])
    for activation, share in (("relu", 0.5), ("sigmoid", 0.5), ("tanh", 0.25)):

        def loss_of(scores, activation=activation):
            return functional.mse_loss(getattr(scores[:4, 0], activation)(), targets)

        one = the_input(loss_of)
        assert (one.outside, one.target_range) == (share, (-2, 1)), activation
    assert the_input(lambda p: functional.mse_loss(p[:4, 0], targets)).outside is None


def test_what_differs_between_steps_is_unknown():
    takes = iter([True, False, True])

    def loss_of(scores):
        return functional.cross_entropy(scores.softmax(1) if next(takes) else scores, classes())

    one = the_input(loss_of)
    assert (one.activation, one.values, one.steps) == ("", "", 3)


def test_each_loss_of_a_graph_is_measured():
    first, second = measured(
        lambda p: (
            functional.cross_entropy(p, classes())
            + functional.mse_loss(p.tanh(), torch.zeros(8, 4))
        )
    )
    assert {first.function, second.function} == {"cross_entropy", "mse_loss"}


@pytest.mark.parametrize("runs", [10, 12])
def test_ten_steps_are_measured(runs):
    assert the_input(lambda p: functional.cross_entropy(p, classes()), steps=runs).steps == 10


def test_a_checkpointed_loss_is_not_computed_again():
    calls = []

    def loss_of(scores):
        calls.append(1)
        return functional.cross_entropy(scores, classes())

    assert measured(lambda p: checkpoint(loss_of, p, use_reentrant=False), steps=1) == []
    assert len(calls) == 2  # forward, and by the backward pass itself


def test_a_loss_that_is_offloaded_or_was_freed_or_has_no_graph_is_unknown():
    def offloaded(scores):
        with torch.autograd.graph.save_on_cpu():
            return functional.cross_entropy(scores, classes())

    assert measured(offloaded) == []
    inputs = LossInputs()
    loss = functional.cross_entropy(Net()(features()), classes())
    loss.backward()
    inputs.note_graph(loss, 0)
    for anything in (loss.detach(), None, 3.5, (loss,), nn.Parameter(torch.ones(()))):
        inputs.note_graph(anything, 0)
    assert inputs.facts({}, "loss") == []


def test_custom_functions_and_losses_of_ones_own_are_unknown():
    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.softmax(1)

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    one = the_input(lambda p: functional.cross_entropy(Custom.apply(p), classes()))
    assert (one.activation, one.values) == ("Custom", "")
    assert measured(lambda p: (p.softmax(1) - 1).square().mean()) == []


def test_measuring_changes_neither_the_gradients_nor_the_random_numbers():
    def gradients(is_measured):
        torch.manual_seed(7)
        net = Net()
        loss = functional.cross_entropy(net(features()).softmax(1), classes())
        if is_measured:
            LossInputs().note_graph(loss, 0)
        return torch.autograd.grad(loss, net.parameters(), create_graph=True), torch.rand(3)

    (a, random_a), (b, random_b) = gradients(True), gradients(False)
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
    assert torch.equal(random_a, random_b)


def test_a_loss_module_is_measured_by_a_hook_of_the_user(out_dir):
    criterion = nn.CrossEntropyLoss()
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_loss(criterion)
    reported = facts_after(hook, Net(), lambda p: criterion(p.softmax(1), classes()), 12)
    assert [each.facts.step for each in reported] == [0, 1, 2, 4, 9]
    (loss,) = reported[-1].facts.losses
    assert (loss.tensor, loss.kind) == ("CrossEntropyLoss_output_0", "CrossEntropyLoss")
    assert (loss.reduction, loss.ignored_label) == ("mean", -100)
    assert (loss.input.function, loss.input.steps) == ("cross_entropy", 10)
    assert (loss.input.activation, loss.input.values) == ("Softmax", "probabilities")


def test_a_divergence_tells_what_it_is_given_if_it_is_a_module(out_dir):
    target = torch.rand(8, 4).softmax(1)
    criterion = nn.KLDivLoss(reduction="batchmean")
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_loss(criterion)
    reported = facts_after(hook, Net(), lambda p: criterion(p.softmax(1), target), 3)
    (loss,) = reported[-1].facts.losses
    assert (loss.input.function, loss.input.activation) == ("kl_div", "Softmax")
    assert loss.input.values == "probabilities"


def test_a_function_is_measured_under_smdebug_run_and_reported_with_its_name(out_dir):
    hook = LaunchedHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    reported = facts_after(
        hook, Net(), lambda p: functional.cross_entropy(p.softmax(1), classes()), 4
    )
    (loss,) = reported[-1].facts.losses
    assert (loss.tensor, loss.kind) == ("loss_output_0", "cross_entropy")
    assert loss.input.steps == 3


def test_an_update_that_is_never_saved_still_reports_the_losses(out_dir):
    hook = LaunchedHook(out_dir, save_config=smd.SaveConfig(save_interval=2))
    net = Net()
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(8):  # updates in steps 1, 3, 5 and 7, which are not saved
        loss = functional.cross_entropy(net(features()), classes())
        hook.backward_began("loss", loss, loss)
        loss.backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
        net.eval()
        copy.deepcopy(net)
        net.train()
    hook.close()
    last = read(out_dir).facts()[-1].facts
    assert last.losses[0].input.steps == 3
    assert all(module.is_training for module in last.modules)
    assert all(each.updated_by == (0, 0) for each in last.parameters)


# --- models of a language ---


class Letters(nn.Module):
    """Predicts tokens from tokens; given targets, it computes its loss itself."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.head = nn.Linear(8, 30)

    def forward(self, tokens, targets=None):
        scores = self.head(self.embed(tokens))
        if targets is None:
            return scores
        return functional.cross_entropy(scores.reshape(-1, 30), targets.reshape(-1))


def batch():
    return torch.randint(30, (6, 22))


def shift_seen(out_dir, loss_of, hook_class=LaunchedHook):
    """The shift of the targets in a training whose loss is `loss_of(model, tokens)`."""
    return loss_of_tokens(out_dir, loss_of, hook_class=hook_class).input.target_shift


def loss_of_tokens(out_dir, loss_of, tokens_of=batch, hook_class=LaunchedHook):
    """The facts of the loss of a training whose loss is `loss_of(model, tokens)`."""
    torch.manual_seed(3)
    model = Letters()
    hook = hook_class(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = loss_of(model, tokens_of())
        if isinstance(hook, LaunchedHook):
            hook.backward_began("loss", loss, loss)
        loss.backward()
        optimizer.step()
    hook.close()
    (told,) = read(out_dir).facts()[-1].facts.losses
    return told


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_the_shift_of_targets_against_the_tokens_is_seen(out_dir, shift):
    def loss_of(model, tokens):
        scores = model(tokens[:, :20])
        return functional.cross_entropy(scores.mT, tokens[:, shift : 20 + shift])

    assert shift_seen(out_dir, loss_of) == shift


def test_targets_among_the_arguments_of_a_model_are_no_tokens(out_dir):
    assert shift_seen(out_dir, lambda model, tokens: model(tokens[:, :-1], tokens[:, 1:])) == 1


def test_labels_of_tokens_have_no_shift(out_dir):
    def loss_of(model, tokens):
        return model(tokens, (tokens * 7 + tokens.roll(3, 1)) % 30)

    assert shift_seen(out_dir, loss_of) is None


def padded_batch():
    """Tokens from 1 on, filled with 0 behind 4, 7, ... and 19 places: 63 of 132."""
    tokens = torch.randint(1, 30, (6, 22))
    places = torch.arange(22)
    return torch.where(places < torch.arange(4, 22, 3)[:, None], tokens, 0)


@pytest.mark.parametrize(
    ("ignored", "share", "label"), [(-100, 63 / 132, 0), (0, 0, None), (7, None, 0)]
)
def test_padding_that_a_loss_counts_is_told(out_dir, ignored, share, label):
    def loss_of(model, tokens):
        return functional.cross_entropy(model(tokens).mT, tokens, ignore_index=ignored)

    given = loss_of_tokens(out_dir, loss_of, padded_batch).input
    assert given.padding_label == label
    assert given.padding == pytest.approx(share) if share is not None else given.padding > 63 / 132


@pytest.mark.parametrize(
    "options", [{"reduction": "none"}, {"weight": torch.tensor([0.0] + [1.0] * 29)}]
)
def test_padding_that_a_mask_or_a_weight_may_hide_is_unknown(out_dir, options):
    def loss_of(model, tokens):
        return functional.cross_entropy(model(tokens).mT, tokens, **options).mean()

    assert loss_of_tokens(out_dir, loss_of, padded_batch).input.padding is None


def test_tokens_without_padding_have_none(out_dir):
    def loss_of(model, tokens):
        return functional.cross_entropy(model(tokens).mT, tokens)

    assert loss_of_tokens(out_dir, loss_of).input.padding == 0


@pytest.mark.parametrize(
    ("shares", "seen"),
    [
        ([(0.4, 0), (0.3, 0)], (0.3, 0)),
        ([(0.4, 0), (0.3, 1)], (0.3, None)),
        ([(0.4, 0), None], (None, None)),
        ([(0.4, 0), (0.0, None)], (0, None)),
    ],
)
def test_padding_counts_as_far_as_all_steps_have_it(shares, seen):
    summary = LossSummary("cross_entropy")
    for padding in shares:
        summary.add(LossInput([6, 30], padding=padding))
    told = summary.facts(None)
    assert (told.padding, told.padding_label) == seen


@pytest.mark.parametrize("is_module", [True, False])
@pytest.mark.parametrize(
    ("after", "reduction"),
    [
        (lambda loss: loss, "sum"),
        (lambda loss: loss / 6, "scaled_sum"),
        (lambda loss: loss + 1, "scaled_sum"),
    ],
)
def test_a_sum_that_is_only_a_part_of_what_is_minimized_is_told(
    out_dir, is_module, after, reduction
):
    criterion = nn.CrossEntropyLoss(reduction="sum")
    if not is_module:
        criterion = functools.partial(functional.cross_entropy, reduction="sum")

    def loss_of(model, tokens):
        return after(criterion(model(tokens).mT, tokens))

    assert loss_of_tokens(out_dir, loss_of).reduction == reduction


def test_tokens_given_by_name_are_seen(out_dir):
    def loss_of(model, tokens):
        return model(tokens=tokens[:, :-2], targets=tokens[:, 2:])

    assert shift_seen(out_dir, loss_of) == 2


@pytest.mark.parametrize("is_target", [True, False])
@pytest.mark.parametrize(
    ("dtype", "loss_of"),
    [
        (torch.long, functional.cross_entropy),
        (torch.float32, lambda out, y: functional.mse_loss(out[:, 0], y)),
        (torch.float64, lambda out, y: functional.mse_loss(out[:, :1].double(), y[:, None])),
        (torch.bfloat16, lambda out, y: functional.mse_loss(out[:, 0].bfloat16(), y)),
    ],
)
def test_a_feature_that_is_the_target_is_told(out_dir, dtype, loss_of, is_target):
    torch.manual_seed(4)
    model = nn.Linear(5, 3)
    hook = LaunchedHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        x, y = torch.randn(16, 5), torch.randint(3, (16,)).to(dtype)
        if is_target:
            x[:, 2] = (y.float() - 1) * 4
        loss = loss_of(model(x), y)
        hook.backward_began("loss", loss, loss)
        loss.backward()
        optimizer.step()
    hook.close()
    (told,) = read(out_dir).facts()[-1].facts.losses
    assert told.input.revealing_feature == (2 if is_target else None)
    assert told.input.targets is not None


@pytest.mark.parametrize(
    ("features", "seen"),
    [([{1, 4}, None, {4}], 4), ([{1}, set()], None), ([None, None], None), ([{3, 2}], 2)],
)
def test_a_feature_counts_if_it_is_the_target_in_all_steps(features, seen):
    summary = LossSummary("mse_loss")
    for revealing in features:
        summary.add(LossInput([6, 1], revealing=revealing))
    assert summary.facts(None).revealing_feature == seen


@pytest.mark.parametrize(("shifts", "seen"), [([None, 2, 2], 2), ([1, 2], None), ([1, -1], None)])
def test_a_shift_counts_if_all_steps_with_tokens_have_it(shifts, seen):
    summary = LossSummary("cross_entropy")
    for shift in shifts:
        summary.add(LossInput([6, 30], target_shift=shift))
    assert summary.facts(None).target_shift == seen
