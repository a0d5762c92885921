"""Whether gradients are cleared between updates: what a run knows of each optimizer."""

import copy
import gc
import itertools
import weakref

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.optim import optimizer as of_all_optimizers

import smdebug.pytorch as smd
from conftest import Net, read, run_ranks
from smdebug.pytorch import kept_gradients

UPDATES = 8  # more than are needed for an answer


def every_step(out_dir, *models, **options):
    options = {"save_config": smd.SaveConfig(save_interval=1)} | options
    hook = smd.Hook(out_dir, include_collections=["weights"], **options)
    for model in models:
        hook.register_module(model)
    return hook


def loss_of(model):
    return cross_entropy(model(torch.randn(6, 4)), torch.randint(3, (6,)))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.01)


def answers(out_dir):
    """(step, answers for all optimizers) of each report with new answers."""
    all_answers = [
        (each.facts.step, [one.keeps_gradients for one in each.facts.optimizers])
        for each in read(out_dir).facts()
    ]
    groups = itertools.groupby(all_answers, key=lambda answer: answer[1])
    return [next(same) for _, same in groups]


def last_answers(out_dir):
    return answers(out_dir)[-1][1]


def test_gradients_that_nothing_clears_are_kept(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        loss_of(model).backward()
        optimizer.step()
    hook.close()
    # Five intervals between six updates.
    assert answers(out_dir) == [(0, [None]), (5, [True])]


def to_zero(model):
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.data.zero_()  # unseen by autograd's counter of changes


def to_none(model):
    for parameter in model.parameters():
        parameter.grad = None


def to_new_zeros(model):
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)


CLEARED = {
    "zero_grad": lambda model, optimizer: optimizer.zero_grad(),
    "zeros": lambda model, optimizer: optimizer.zero_grad(set_to_none=False),
    "of the model": lambda model, optimizer: model.zero_grad(),
    "data.zero_": lambda model, optimizer: to_zero(model),
    "None": lambda model, optimizer: to_none(model),
    "new zeros": lambda model, optimizer: to_new_zeros(model),
}


@pytest.mark.parametrize("clear", CLEARED.values(), ids=CLEARED)
@pytest.mark.parametrize("place", ["before forward", "before backward", "after step"])
def test_gradients_that_are_cleared_anywhere_are_not_kept(out_dir, clear, place):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        if place == "before forward":
            clear(model, optimizer)
        loss = loss_of(model)
        if place == "before backward":
            clear(model, optimizer)
        loss.backward()
        optimizer.step()
        if place == "after step":
            clear(model, optimizer)
    hook.close()
    assert answers(out_dir) == [(0, [None]), (1, [False])]


class WordVectors(torch.nn.Module):
    """A model whose gradients are all sparse."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(20, 3, sparse=True)
        self.bags = torch.nn.EmbeddingBag(20, 3, mode="sum", sparse=True)

    def forward(self, numbers):
        return (self.words(numbers).sum(1) - self.bags(numbers)).sigmoid().sum()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.SparseAdam])
@pytest.mark.parametrize("clear", ["never", "zero_grad", "zeros", "of the model", "None"])
def test_sparse_gradients_are_followed_too(out_dir, kind, clear):
    model = WordVectors()
    optimizer = kind(model.parameters(), lr=0.01)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        if clear in CLEARED:
            CLEARED[clear](model, optimizer)
        model(torch.randint(20, (4, 6))).backward()
        optimizer.step()
    hook.close()
    expected = [(5, [True])] if clear == "never" else [(1, [False])]
    assert answers(out_dir) == [(0, [None]), *expected]


@pytest.mark.parametrize("is_cleared", [True, False])
def test_accumulation_of_sparse_gradients_is_not_keeping(out_dir, is_cleared):
    model = WordVectors()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for batch in range(3 * UPDATES):
        model(torch.randint(20, (4, 6))).backward()
        if batch % 3 == 2:
            optimizer.step()
            if is_cleared:
                optimizer.zero_grad()
    hook.close()
    assert last_answers(out_dir) == [not is_cleared]


@pytest.mark.parametrize("is_cleared", [True, False])
@pytest.mark.parametrize("save_interval", [1, 3, 100])
def test_accumulation_is_not_keeping(out_dir, is_cleared, save_interval):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model, save_config=smd.SaveConfig(save_interval=save_interval))
    for batch in range(4 * UPDATES):
        (loss_of(model) / 4).backward()
        if batch % 4 == 3:
            optimizer.step()
            if is_cleared:
                optimizer.zero_grad()
    hook.close()
    assert answers(out_dir) == [(3, [None]), (7, [False]) if is_cleared else (23, [True])]


def test_gradients_that_every_second_update_clears_are_not_kept(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for number in range(2 * UPDATES):
        if number % 2 == 0:
            optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    hook.close()
    assert last_answers(out_dir) == [False]


def test_gradients_that_are_cleared_once_per_epoch_are_kept(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(UPDATES):
            loss_of(model).backward()
            optimizer.step()
    hook.close()
    assert answers(out_dir) == [(0, [None]), (5, [True])]


def train_gan(discriminator, generator, forgets, updates=UPDATES):
    """Trains a GAN whose discriminator gets gradients also while the generator trains, which are
    cleared before its own backward pass."""
    first = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
    second = torch.optim.SGD(generator.parameters(), lr=1e-3)
    for _ in range(updates):
        if forgets != "discriminator":
            first.zero_grad()
        real, fake = discriminator(torch.randn(6, 3)), discriminator(generator(torch.randn(6, 4)))
        (fake.mean() - real.mean()).backward()
        first.step()
        if forgets != "generator":
            second.zero_grad()
        (-discriminator(generator(torch.randn(6, 4))).mean()).backward()
        second.step()


@pytest.mark.parametrize(
    "forgets, expected",
    [(None, [False, False]), ("discriminator", [True, False]), ("generator", [False, True])],
)
def test_each_optimizer_of_a_gan_has_its_own_answer(out_dir, forgets, expected):
    discriminator, generator = torch.nn.Linear(3, 1), Net()
    hook = every_step(out_dir, discriminator, generator, step_on="optimizer")
    train_gan(discriminator, generator, forgets)
    hook.close()
    assert last_answers(out_dir) == expected


@pytest.mark.parametrize("is_cleared", [True, False])
def test_an_optimizer_with_a_closure_is_followed(out_dir, is_cleared):
    model = Net()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=3)
    hook = every_step(out_dir, model)
    rows, labels = torch.randn(6, 4), torch.randint(3, (6,))

    def closure():
        if is_cleared:
            optimizer.zero_grad()
        loss = cross_entropy(model(rows), labels)
        loss.backward()
        return loss

    for _ in range(UPDATES):
        optimizer.step(closure)
    hook.close()
    assert last_answers(out_dir) == [not is_cleared]


def train_with_scaler(model, is_cleared):
    optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu")
    for _ in range(UPDATES):
        if is_cleared:
            optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()


@pytest.mark.parametrize("is_cleared", [True, False])
def test_clipped_and_unscaled_gradients_are_those_that_the_update_leaves(out_dir, is_cleared):
    model = Net()
    hook = every_step(out_dir, model)
    train_with_scaler(model, is_cleared)
    hook.close()
    assert last_answers(out_dir) == [not is_cleared]


@pytest.mark.parametrize(
    "options", [{"foreach": True}, {"fused": True}, {"maximize": True}, {"weight_decay": 0.1}]
)
@pytest.mark.parametrize("is_cleared", [True, False])
def test_every_implementation_of_an_optimizer_is_followed(out_dir, options, is_cleared):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **options)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        if is_cleared:
            optimizer.zero_grad(set_to_none=False)
        loss_of(model).backward()
        optimizer.step()
    hook.close()
    assert last_answers(out_dir) == [not is_cleared]


def decay(parameter, gradient):
    parameter.grad = 0.9 * parameter.grad + gradient  # a momentum by hand


def test_gradients_that_decay_are_not_kept(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        loss_of(model).backward()
        optimizer.step()
        for parameter in model.parameters():
            parameter.grad *= 0.9
    hook.close()
    assert last_answers(out_dir) == [False]


def replace(parameter, gradient):
    parameter.grad = gradient


def overwrite(parameter, gradient):
    if parameter.grad is None:
        parameter.grad = torch.empty_like(gradient)
    parameter.grad.copy_(gradient)


@pytest.mark.parametrize("put", [replace, overwrite, decay])
def test_gradients_that_no_backward_pass_adds_are_unknown(out_dir, put):
    model = Net()
    parameters = list(model.parameters())
    optimizer = sgd(model)
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    hook = every_step(out_dir, model)
    for _ in range(20):
        gradients = torch.autograd.grad(loss_of(model), parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            put(parameter, gradient)
        optimizer.step()
    hook.close()
    assert answers(out_dir) == [(0, [None])]
    assert not any(parameter._backward_hooks for parameter in parameters)  # it was given up


def test_gradients_that_are_replaced_before_the_update_are_not_kept(out_dir):
    model = Net()
    parameters = list(model.parameters())
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        gradients = torch.autograd.grad(loss_of(model), parameters)
        loss_of(model).backward()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
    hook.close()
    assert last_answers(out_dir) == [False]


@pytest.mark.parametrize("is_cleared", [True, False])
def test_an_update_without_a_backward_pass_counts_for_nothing(out_dir, is_cleared):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        loss_of(model).backward()
        optimizer.step()
        optimizer.step()
        if is_cleared:
            optimizer.zero_grad()
    hook.close()
    assert last_answers(out_dir) == [not is_cleared]


def test_gradients_of_zero_are_unknown(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        (0 * loss_of(model)).backward()
        optimizer.step()
    hook.close()
    assert last_answers(out_dir) == [None]


def test_gradients_with_a_graph_of_their_own_are_followed(out_dir):
    """A gradient penalty: torch then makes a new tensor of the sum."""
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        loss_of(model).backward(create_graph=True)
        optimizer.step()
    hook.close()
    for parameter in model.parameters():
        parameter.grad = None  # a cycle
    assert last_answers(out_dir) == [True]


@pytest.mark.parametrize("clears", [True, False])
def test_optimizers_that_act_during_the_backward_pass_are_left_alone(out_dir, clears):
    model = Net()
    optimizers = {each: torch.optim.SGD([each], lr=0.01) for each in model.parameters()}

    def act(parameter):
        optimizers[parameter].step()
        if clears:
            optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(act)
    hook = every_step(out_dir, model)
    for _ in range(20):
        loss_of(model).backward()
    model(torch.randn(6, 4))
    assert not any(each._backward_hooks for each in model.parameters())  # they were given up
    hook.close()
    assert last_answers(out_dir) == [None] * 4


# --- gradients that are cleared too often ---


def last_discards(out_dir):
    return [one.discards_gradients for one in list(read(out_dir).facts())[-1].facts.optimizers]


def accumulate(model, optimizer, batches, clear, updates=2 * UPDATES):
    """`batches` backward passes for each update; `clear` is called before each of them."""
    for number in range(batches * updates):
        clear(model, optimizer)
        loss_of(model).backward()
        if number % batches == batches - 1:
            optimizer.step()


@pytest.mark.parametrize("clear", CLEARED.values(), ids=CLEARED)
@pytest.mark.parametrize("save_interval", [1, 3, 100])
def test_gradients_that_are_cleared_for_each_batch_are_discarded(out_dir, clear, save_interval):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model, save_config=smd.SaveConfig(save_interval=save_interval))
    accumulate(model, optimizer, 4, clear)
    hook.close()
    assert last_discards(out_dir) == [True]
    assert last_answers(out_dir) == [False]
    assert not any(each._backward_hooks for each in model.parameters())


def test_five_intervals_tell_that_gradients_are_discarded(out_dir):
    model = Net()
    hook = every_step(out_dir, model)
    accumulate(model, sgd(model), 3, CLEARED["zero_grad"], updates=6)
    hook.close()
    answers_by_step = {
        each.facts.step: one.discards_gradients
        for each in read(out_dir).facts()
        for one in each.facts.optimizers
    }
    last_step, last = answers_by_step.popitem()
    assert (last_step, last) == (17, True)  # of the sixth update, which ends the fifth interval
    assert set(answers_by_step.values()) == {None}


@pytest.mark.parametrize("batches", [1, 2])
def test_a_single_cleared_batch_is_not_discarded(out_dir, batches):
    model = Net()
    hook = every_step(out_dir, model)
    accumulate(model, sgd(model), batches, CLEARED["zero_grad"])
    hook.close()
    assert last_discards(out_dir) == [False]


def test_accumulated_gradients_are_not_discarded(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for batch in range(4 * UPDATES):
        loss_of(model).backward()
        if batch % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
    hook.close()
    assert last_discards(out_dir) == [False]


def test_clipped_and_unscaled_gradients_are_discarded_too(out_dir):
    model = Net()
    optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu")
    hook = every_step(out_dir, model)
    for batch in range(4 * UPDATES):
        optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        if batch % 4 == 3:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            scaler.step(optimizer)
            scaler.update()
    hook.close()
    assert last_discards(out_dir) == [True]


@pytest.mark.parametrize("is_copied", [True, False])
def test_gradients_of_several_tasks_that_a_script_adds_are_not_discarded(out_dir, is_copied):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for _ in range(UPDATES):
        taken = []
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(model).backward()
            taken.append([parameter.grad.clone() for parameter in model.parameters()])
        for parameter, *gradients in zip(model.parameters(), *taken, strict=True):
            if is_copied:
                parameter.grad.copy_(sum(gradients))
            else:
                parameter.grad = sum(gradients)
        optimizer.step()
    hook.close()
    assert last_discards(out_dir) == [False]


def test_each_optimizer_of_two_halves_discards(out_dir):
    model = Net()
    parameters = list(model.parameters())
    first, second = (torch.optim.SGD(half, lr=0.01) for half in (parameters[:2], parameters[2:]))
    hook = every_step(out_dir, model)
    for batch in range(4 * UPDATES):
        model.zero_grad()
        loss_of(model).backward()
        if batch % 4 == 3:
            first.step()
            second.step()
    hook.close()
    assert last_discards(out_dir) == [True, True]


def test_the_search_ends_if_an_optimizer_never_acts_again(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    for number in range(200):
        optimizer.zero_grad()
        loss_of(model).backward()
        if number == 0:
            optimizer.step()
    assert not any(each._backward_hooks for each in model.parameters())
    hook.close()


def test_passes_that_another_optimizer_uses_are_not_discarded(out_dir):
    """A GAN whose generator acts after three updates of the discriminator, which do not detach."""
    discriminator, generator = torch.nn.Linear(3, 1), Net()
    first, second = sgd(discriminator), sgd(generator)
    hook = every_step(out_dir, discriminator, generator, step_on="optimizer")
    for number in range(3 * UPDATES):
        first.zero_grad()
        second.zero_grad()
        discriminator(generator(torch.randn(6, 4))).mean().backward()
        first.step()
        if number % 3 == 2:
            second.zero_grad()
            (-discriminator(generator(torch.randn(6, 4))).mean()).backward()
            second.step()
    hook.close()
    assert last_discards(out_dir) == [False, False]


def test_the_passes_of_a_closure_are_not_discarded(out_dir):
    model = Net()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=4)
    hook = every_step(out_dir, model)
    rows, labels = torch.randn(6, 4), torch.randint(3, (6,))

    def closure():
        optimizer.zero_grad()
        loss = cross_entropy(model(rows), labels)
        loss.backward()
        return loss

    for _ in range(UPDATES):
        optimizer.step(closure)
    hook.close()
    assert last_discards(out_dir) == [False]


def test_no_hook_before_updates_stays_when_the_answers_are_known(out_dir):
    before = len(of_all_optimizers._global_optimizer_pre_hooks)
    model = Net()
    hook = every_step(out_dir, model)
    accumulate(model, sgd(model), 1, CLEARED["zero_grad"])
    assert len(of_all_optimizers._global_optimizer_pre_hooks) == before
    hook.close()


# --- the training ---


def trained(train, out_dir=None):
    """The bits of a model and the state of the random numbers after a training."""
    torch.manual_seed(1)
    model = Net(dropout=0.5)
    hook = every_step(out_dir, model) if out_dir else None
    train(model)
    if hook:
        hook.close()
    bits = [each.detach().numpy().tobytes() for each in model.parameters()]
    return bits, torch.get_rng_state().numpy().tobytes()


@pytest.mark.parametrize("is_cleared", [True, False])
def test_the_training_is_bit_identical(out_dir, is_cleared):
    def train(model):
        train_with_scaler(model, is_cleared)

    assert trained(train, out_dir) == trained(train)
    assert last_answers(out_dir) == [not is_cleared]


def hooks_of(model):
    return [each._backward_hooks for each in model.parameters()] + [
        each._post_accumulate_grad_hooks for each in model.parameters()
    ]


@pytest.mark.parametrize("is_cleared", [True, False])
def test_no_hook_stays_after_the_answer(out_dir, is_cleared):
    model = Net()
    optimizer = sgd(model)
    updates = set(of_all_optimizers._global_optimizer_post_hooks)
    hook = every_step(out_dir, model, save_config=smd.SaveConfig(save_interval=100))
    for number in range(UPDATES):
        loss = loss_of(model)
        if number == (2 if is_cleared else 6):
            assert set(of_all_optimizers._global_optimizer_post_hooks) <= updates
            assert not any(hooks_of(model))
        elif number == 1 or not is_cleared and 0 < number < 6:
            assert sum(map(bool, hooks_of(model))) == 6  # of three parameters
        if is_cleared:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hook.close()


def test_closing_removes_the_hooks(out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    loss_of(model).backward()
    optimizer.step()
    assert any(hooks_of(model))
    hook.close()
    assert not any(hooks_of(model))


def test_an_optimizer_that_was_dropped_leaves_no_hooks(out_dir):
    model = Net()
    hook = every_step(out_dir, model)
    optimizer = sgd(model)
    loss_of(model).backward()
    optimizer.step()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    gc.collect()
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    model(torch.randn(6, 4))
    assert not any(hooks_of(model))
    hook.close()
    assert last_answers(out_dir) == [False]


def test_a_model_that_is_copied_and_saved_while_it_is_followed_has_no_hooks(tmp_path, out_dir):
    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    loss_of(model).backward()
    optimizer.step()
    assert any(hooks_of(model))
    torch.save(model, tmp_path / "model.pt")
    torch.save(optimizer, tmp_path / "optimizer.pt")
    for other in copy.deepcopy(model), torch.load(tmp_path / "model.pt", weights_only=False):
        assert not any(hooks_of(other))
    hook.close()


def test_a_model_is_freed_although_its_hooks_are_still_installed(out_dir):
    def train():
        model = Net()
        optimizer = sgd(model)
        hook = every_step(out_dir, model)
        loss_of(model).backward()
        optimizer.step()
        hook.close()
        return weakref.ref(model)

    reference = train()
    gc.collect()
    assert reference() is None


def test_an_error_does_not_harm_the_training(out_dir, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("no sample")

    model = Net()
    optimizer = sgd(model)
    hook = every_step(out_dir, model)
    loss_of(model).backward()
    optimizer.step()
    monkeypatch.setattr(kept_gradients, "_sample", fail)
    with caplog.at_level("WARNING"):
        for _ in range(UPDATES):
            loss_of(model).backward()
            optimizer.step()
    model(torch.randn(6, 4))
    assert not any(hooks_of(model))
    hook.close()
    assert last_answers(out_dir) == [None]
    assert caplog.text.count("rules do not learn whether gradients are cleared") == 1


@pytest.fixture
def device(monkeypatch):
    """Samples of gradients are tensors, as on a device. Returns the context in which a stand-in for
    an accelerator works."""
    import stand_in_accelerator

    monkeypatch.setattr(
        kept_gradients,
        "_sample",
        lambda gradient: gradient.detach().flatten()[:16].clone(),
    )
    return stand_in_accelerator.at_work


@pytest.mark.parametrize("is_cleared", [True, False])
def test_the_answer_of_a_device_arrives_with_the_tensors_of_a_saved_step(
    out_dir, device, is_cleared
):
    model = Net()
    optimizer = sgd(model)
    with device():
        hook = every_step(out_dir, model, save_config=smd.SaveConfig(save_interval=10))
        for _ in range(25):
            if is_cleared:
                optimizer.zero_grad(set_to_none=False)
            loss_of(model).backward()
            optimizer.step()
        hook.close()
    # Five intervals until step 5. The copy begins at step 10, which is saved, and arrives after it.
    assert answers(out_dir) == [(0, [None]), (11, [not is_cleared])]


def test_gradients_of_a_device_that_are_cleared_after_another_pass_are_not_kept(out_dir, device):
    discriminator, generator = torch.nn.Linear(3, 1), Net()
    with device():
        hook = every_step(out_dir, discriminator, generator, step_on="optimizer")
        train_gan(discriminator, generator, None, updates=20)
        hook.close()
    assert last_answers(out_dir) == [False, False]
    assert last_discards(out_dir) == [False, False]


def test_gradients_of_a_device_that_become_none_for_each_batch_are_discarded(out_dir, device):
    model = Net()
    with device():
        hook = every_step(out_dir, model)
        accumulate(model, sgd(model), 4, CLEARED["zero_grad"])
        hook.close()
    assert last_discards(out_dir) == [True]


# --- several processes, compiled code ---

LOOP = """
def train(model, updates=8):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(updates):
        if is_cleared:
            optimizer.zero_grad({given})
        model(torch.randn(6, 4)).square().mean().backward()
        optimizer.step()

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
hook = smd.Hook(out_dir, include_workers="all", include_collections=["weights"],
                save_config=smd.SaveConfig(save_interval=1))
hook.register_module(model)
"""


@pytest.mark.parametrize("is_cleared", [True, False])
@pytest.mark.parametrize("options", ["", ", gradient_as_bucket_view=True", ", static_graph=True"])
def test_reduced_gradients_are_followed_on_every_rank(tmp_path, out_dir, is_cleared, options):
    given = "set_to_none=False" if options else ""
    run_ranks(
        tmp_path,
        f"""
from torch.nn.parallel import DistributedDataParallel as DDP
is_cleared = {is_cleared}
{LOOP.format(given=given)}
train(DDP(model{options}))
leave(hook)
""",
        out_dir,
        ranks=2,
    )
    last = {each.worker: each.facts for each in read(out_dir).facts()}
    found = {worker: facts.optimizers[0].keeps_gradients for worker, facts in last.items()}
    assert found == {"worker_0": not is_cleared, "worker_1": not is_cleared}


@pytest.mark.parametrize("is_cleared", [True, False])
def test_sharded_gradients_are_left_alone(tmp_path, out_dir, is_cleared):
    run_ranks(
        tmp_path,
        f"""
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
is_cleared = {is_cleared}
{LOOP.format(given="")}
fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
train(model)
leave(hook)
""",
        out_dir,
        ranks=2,
    )
    assert {each.facts.optimizers[0].keeps_gradients for each in read(out_dir).facts()} == {None}


@pytest.mark.parametrize("is_cleared", [True, False])
def test_a_compiled_model_is_followed_without_another_compilation(
    out_dir, nothing_is_compiled, is_cleared
):
    from torch._dynamo.utils import counters

    def graphs(hook_of=None):
        torch.compiler.reset()
        counters.clear()
        model = Net()
        hook = hook_of(model) if hook_of else None
        compiled = torch.compile(model, backend="aot_eager")
        optimizer = sgd(model)
        seen = []
        for _ in range(UPDATES):
            if is_cleared:
                optimizer.zero_grad()
            loss_of(compiled).backward()
            optimizer.step()
            seen.append(counters["stats"]["unique_graphs"])
        if hook:
            hook.close()
        return seen

    seen = graphs(lambda model: every_step(out_dir, model))
    assert seen[0] == seen[-1]
    assert last_answers(out_dir) == [not is_cleared]
