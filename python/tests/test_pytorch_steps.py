"""What a step is: a call of a model, or what an optimizer acts upon; with one model or several."""

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read
from smdebug import modes
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


class Generator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.main = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU())
        self.last = torch.nn.Linear(8, 4)

    def forward(self, z):
        return self.last(self.main(z))


class Discriminator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.main = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.3))
        self.last = torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.last(self.main(x))


def train_gan(generator, discriminator, iterations):
    """The usual loop: the discriminator learns from real and fake, then the generator."""
    torch.manual_seed(5)
    loss = torch.nn.BCEWithLogitsLoss()
    of_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
    of_g = torch.optim.Adam(generator.parameters(), lr=0.02)
    losses = []
    for _ in range(iterations):
        real, fake = torch.randn(6, 4), generator(torch.randn(6, 2))
        of_d.zero_grad()
        d_loss = loss(discriminator(real), torch.ones(6, 1))
        d_loss = d_loss + loss(discriminator(fake.detach()), torch.zeros(6, 1))
        d_loss.backward()
        of_d.step()
        of_g.zero_grad()
        g_loss = loss(discriminator(fake), torch.ones(6, 1))
        g_loss.backward()
        of_g.step()
        losses += [d_loss.item(), g_loss.item()]
    return losses


def test_a_gan_has_one_step_per_update_and_its_names_do_not_clash(out_dir):
    torch.manual_seed(0)
    generator, discriminator = Generator(), Discriminator()
    with every_step(out_dir, save_all=True, step_on="optimizer") as hook:
        hook.register_module(generator)
        hook.register_module(discriminator)
        train_gan(generator, discriminator, 3)
    trial = read(out_dir)
    assert trial.steps() == list(range(6))
    first = set(trial.tensor_names(step=0))
    assert {"Generator_last.weight", "Discriminator_last.weight"} <= first
    # The generator was registered first and has the plain paths; the discriminator's would clash.
    assert {"last_output_0", "main.0_output_0"} <= first
    assert {"Discriminator.last_output_0", "Discriminator.last_output_1"} <= first
    assert "last_output_1" not in first  # one call of the generator, two of the discriminator
    assert trial.tensor("last_output_0").value(0).shape == (6, 4)
    assert trial.tensor("Discriminator.last_output_1").value(0).shape == (6, 1)
    # The second step of an iteration calls the discriminator alone.
    second = set(trial.tensor_names(step=1))
    assert "Discriminator.last_output_0" in second and "last_output_0" not in second


def test_a_gan_trains_to_the_same_bits(out_dir):
    runs = []
    for is_watched in (False, True):
        torch.manual_seed(0)
        generator, discriminator = Generator(), Discriminator()
        if is_watched:
            further = ["optimizer_state", "learning_rate", "activation_gradients", "buffers"]
            hook = every_step(
                out_dir,
                save_all=True,
                include_collections=further,
                step_on="optimizer",
                gradients="final",
            )
            hook.register_module(generator)
            hook.register_module(discriminator)
        losses = train_gan(generator, discriminator, 5)
        parameters = [*generator.parameters(), *discriminator.parameters()]
        runs.append((losses, [p.detach().numpy().tobytes() for p in parameters]))
    hook.close()
    assert hook.status().error is None and hook.status().steps_saved == 10
    assert runs[0] == runs[1]


def test_without_being_asked_each_call_is_a_step(out_dir):
    torch.manual_seed(0)
    generator, discriminator = Generator(), Discriminator()
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.register_module(generator)
        hook.register_module(discriminator)
        train_gan(generator, discriminator, 2)
    trial = read(out_dir)
    assert trial.steps() == list(range(8))  # G, D, D, D
    assert trial.tensor("Generator_last.weight").steps() == [0, 4]
    assert trial.tensor("Discriminator_last.weight").steps() == [1, 2, 3, 5, 6, 7]


def test_two_models_of_one_class_have_names_of_their_own(out_dir):
    torch.manual_seed(0)
    one, two, three = Net(), Net(), Net()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(one)
        hook.register_module(two)
        hook.register_module(three, name="Teacher")
        for model in (one, two, three):
            model(torch.ones(2, 4)).sum().backward()
    trial = read(out_dir)
    for step, (name, model, front) in enumerate(
        [("Net", one, ""), ("Net_1", two, "Net_1."), ("Teacher", three, "Teacher.")]
    ):
        weight = trial.tensor(f"{name}_fc1.weight")
        assert weight.steps() == [step]
        np.testing.assert_array_equal(weight.value(step), model.fc1.weight.detach())
        gradient = trial.tensor(f"gradient/{name}_fc1.weight").value(step)
        np.testing.assert_array_equal(gradient, model.fc1.weight.grad)
        with torch.no_grad():
            expected = model.fc1(torch.ones(2, 4))
        np.testing.assert_array_equal(trial.tensor(f"{front}fc1_output_0").value(step), expected)
        assert trial.tensor(f"{name}_output_0").steps() == [step]


def test_batches_that_are_accumulated_are_one_step(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    outputs = []
    with every_step(out_dir, save_all=True, step_on="optimizer") as hook:
        hook.register_module(model)
        hook.set_mode(modes.TRAIN)
        for _ in range(2):
            for _ in range(3):
                output = model(torch.randn(2, 4))
                outputs.append(output.detach().clone())
                output.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1]
    for step in range(2):
        for call in range(3):
            value = trial.tensor(f"Net_output_{call}").value(step, mode=modes.TRAIN)
            np.testing.assert_array_equal(value, outputs[3 * step + call])
    assert not trial.has_tensor("Net_output_3")
    assert trial.tensor("Net_fc1.weight").steps() == [0, 1]
    assert hook.status().tensors == 2 * (4 + 3 * 4 + 3 * 10)  # parameters once a step


def test_an_evaluation_between_two_updates_has_steps_of_its_own(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with every_step(out_dir, include_collections=["weights"], step_on="optimizer") as hook:
        hook.register_module(model)
        for _ in range(2):
            model.train()
            model(torch.randn(2, 4)).sum().backward()
            model(torch.randn(2, 4)).sum().backward()
            optimizer.step()
            model.eval()
            for _ in range(2):
                model(torch.randn(2, 4))
        model.train()
        model(torch.randn(2, 4))
        model.eval()
        model(torch.randn(2, 4))
    assert read(out_dir).steps() == list(range(8))  # update, eval, eval, twice; batch, eval


def test_modes_part_steps_that_no_optimizer_has_ended(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["weights"], step_on="optimizer") as hook:
        hook.register_module(model)
        for mode in (modes.TRAIN, modes.TRAIN, modes.EVAL, modes.EVAL, modes.TRAIN):
            hook.set_mode(mode)
            model(torch.randn(2, 4))
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1]
    assert trial.steps(mode=modes.EVAL) == [0, 1]


def test_two_optimizers_that_act_together_are_one_step(out_dir):
    model = Net()
    first = torch.optim.SGD(model.fc1.parameters(), lr=0.1)
    second = torch.optim.Adam(model.fc2.parameters(), lr=0.1)
    with every_step(out_dir, include_collections=["weights"], step_on="optimizer") as hook:
        hook.register_module(model)
        for _ in range(3):
            model(torch.randn(2, 4)).sum().backward()
            first.step()
            second.step()
    assert read(out_dir).steps() == [0, 1, 2]


def test_the_closures_of_lbfgs_are_one_step_with_the_last_gradient(out_dir):
    def run(model, remember=None):
        torch.manual_seed(1)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        losses = []

        def closure():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(3):
            optimizer.step(closure)
            if remember is not None:
                remember.append((len(losses), model.fc1.weight.grad.clone().numpy()))
        return losses

    torch.manual_seed(0)
    plain, watched = Net(dropout=0.5), Net(dropout=0.5)
    watched.load_state_dict(plain.state_dict())
    expected = run(plain)
    remembered = []
    wanted = ["gradients", "optimizer_state"]
    with every_step(
        out_dir,
        include_collections=wanted,
        include_regex=["^Net_output"],
        step_on="optimizer",
        gradients="final",
    ) as hook:
        hook.register_module(watched)
        assert run(watched, remembered) == expected
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    gradient = trial.tensor("gradient/Net_fc1.weight")
    for step, (_, value) in enumerate(remembered):
        np.testing.assert_array_equal(gradient.value(step), value)
    calls = [0, *(count for count, _ in remembered)]
    for step in range(3):
        outputs = trial.tensor_names(step=step, regex="^Net_output")
        assert len(outputs) == calls[step + 1] - calls[step]
    assert trial.tensor("optimizer_state/Net_fc1.weight/d").value(0).shape == (67,)


def test_an_optimizer_of_something_else_ends_no_step(out_dir):
    model, other = Net(), torch.nn.Parameter(torch.ones(2))
    foreign = torch.optim.SGD([other], lr=0.1)
    wanted = ["weights", "learning_rate"]
    with every_step(out_dir, include_collections=wanted, step_on="optimizer") as hook:
        hook.register_module(model)
        for _ in range(2):
            model(torch.randn(2, 4))
            other.sum().backward()
            foreign.step()
    trial = read(out_dir)
    assert trial.steps() == [0]
    assert trial.tensor_names(collection="learning_rate") == []


def test_closing_takes_the_hooks_out_of_the_optimizers(out_dir):
    from torch.optim import optimizer

    before = len(optimizer._global_optimizer_pre_hooks), len(optimizer._global_optimizer_post_hooks)
    model = Net()
    hook = every_step(out_dir, step_on="optimizer", gradients="final")
    hook.register_module(model)
    model(torch.randn(2, 4))
    assert len(optimizer._global_optimizer_pre_hooks) == before[0] + 1
    hook.close()
    after = len(optimizer._global_optimizer_pre_hooks), len(optimizer._global_optimizer_post_hooks)
    assert after == before


def test_nothing_hangs_in_the_optimizers_where_nobody_asked(out_dir):
    from torch.optim import optimizer

    before = len(optimizer._global_optimizer_pre_hooks)
    model = Net()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4))
        assert len(optimizer._global_optimizer_pre_hooks) == before


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"step_on": "epoch"}, "step_on must be 'forward' or 'optimizer', found 'epoch'"),
        ({"step_on": None}, "step_on"),
        ({"gradients": "all"}, "gradients must be 'backward' or 'final', found 'all'"),
        ({"gradients": ["final"]}, "gradients"),
    ],
)
def test_a_choice_that_does_not_exist_raises(out_dir, arguments, words):
    with pytest.raises(SMDebugValueError) as raised:
        smd.Hook(out_dir, **arguments)
    assert words in str(raised.value)


@pytest.mark.parametrize("name", ["", 7])
def test_a_model_s_name_is_text(out_dir, name):
    with every_step(out_dir) as hook, pytest.raises(SMDebugTypeError, match="name must be text"):
        hook.register_module(Net(), name=name)
