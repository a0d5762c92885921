"""`smdebug run` and what models may be: several of them, keywords, dictionaries, scaled losses."""

import json
import os
import textwrap

import pytest

from conftest import read, run_script
from smdebug import modes

GATE = "import smdebug_ng.autostart\n"  # what the .pth file does


def run(tmp_path, out_dir, script, collections=("gradients", "losses"), **more):
    settings = {
        **more,
        "out_dir": out_dir,
        "save_interval": 1,
        "collections": [{"name": name, "save_interval": 1} for name in collections],
    }
    return run_script(
        tmp_path, GATE + textwrap.dedent(script), environment={"SMDEBUG_RUN": json.dumps(settings)}
    )


KEYWORDS = """
import torch
torch.manual_seed(0)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)
    def forward(self, x=None, labels=None):
        logits = self.fc(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(x=torch.ones(2, 4), labels=torch.tensor([0, 2]))["loss"]
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def test_a_model_that_takes_keywords_and_gives_a_dictionary(tmp_path, out_dir):
    wanted = ["inputs", "outputs", "gradients", "losses"]
    done = run(tmp_path, out_dir, KEYWORDS, wanted)
    losses = [float(line) for line in done.stdout.split()]
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2]
    for step in range(3):
        assert trial.tensor("Model_input_0").value(step).tolist() == [[1.0] * 4] * 2
        assert trial.tensor("Model_input_1").value(step).tolist() == [0, 2]
        assert trial.tensor("Model_output_0").value(step).item() == pytest.approx(losses[step])
        assert trial.tensor("loss_output_0").value(step).item() == pytest.approx(losses[step])
    assert trial.tensor("gradient/Model_fc.weight").steps() == [0, 1, 2]


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_compiled_model_that_takes_keywords(tmp_path, out_dir, fullgraph):
    options = f"backend='aot_eager', fullgraph={fullgraph}"
    compiled = KEYWORDS.replace("= Model()", f"= torch.compile(Model(), {options})")
    done = run(tmp_path, out_dir, compiled, ["inputs", "gradients", "losses"])
    assert done.stdout == run_script(tmp_path, compiled).stdout
    trial = read(out_dir)
    for step in range(3):
        assert trial.tensor("Model_input_1").value(step).tolist() == [0, 2]
    assert trial.tensor("gradient/Model_fc.weight").steps() == [0, 1, 2]


GAN = """
import torch
from torch import nn
torch.manual_seed(0)
class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(2, 4)
    def forward(self, z):
        return self.last(z)
class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 1)
    def forward(self, x):
        return self.last(x)
g, d = Generator(), Discriminator()
of_g, of_d = (torch.optim.Adam(m.parameters()) for m in (g, d))
criterion = nn.BCEWithLogitsLoss()
for _ in range(3):
    of_d.zero_grad()
    criterion(d(torch.ones(6, 4)), torch.ones(6, 1)).backward()
    fake = g(torch.ones(6, 2))
    criterion(d(fake.detach()), torch.zeros(6, 1)).backward()
    of_d.step()
    of_g.zero_grad()
    loss = criterion(d(fake), torch.ones(6, 1))
    loss.backward()
    of_g.step()
    print(loss.item())
print(list(torch.nn.modules.module._global_forward_pre_hooks))
from torch.optim import optimizer as of_all
print([hook.__module__ for hook in of_all._global_optimizer_post_hooks.values()])
"""


def test_both_models_of_a_gan_are_recorded(tmp_path, out_dir):
    done = run(tmp_path, out_dir, GAN, ["weights", "gradients", "losses"])
    *losses, module_hooks, optimizer_hooks = done.stdout.split("\n")[:5]
    # The search has ended. The last step is saved, so its optimizers are still noted.
    assert (module_hooks, optimizer_hooks) == ("[]", "['smdebug.pytorch.facts']")
    plain = run_script(tmp_path, GAN)
    assert plain.stdout.split("\n")[:3] == losses
    trial = read(out_dir)
    names = trial.tensor_names()
    assert {"Discriminator_last.weight", "Generator_last.weight"} <= set(names)
    gradient = trial.tensor("gradient/Generator_last.weight")
    assert len(gradient.steps()) == 3
    loss = trial.tensor("BCEWithLogitsLoss_output_0")
    of_generator = [loss.value(step).item() for step in gradient.steps()]
    assert of_generator == pytest.approx([float(line) for line in losses])


ENCODER_DECODER = """
import torch
from torch import nn
class Encoder(nn.Linear): pass
class Decoder(nn.Linear): pass
encoder, decoder = Encoder(4, 4), Decoder(4, 4)
teacher = nn.Linear(4, 4).eval()
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    state = encoder(torch.ones(2, 4))
    for _ in range(3):
        state = decoder(state)
    with torch.no_grad():
        target = teacher(state)
    (state - target).square().sum().backward()
    optimizer.step()
"""


def test_models_that_are_called_together_are_one_step(tmp_path, out_dir):
    run(tmp_path, out_dir, ENCODER_DECODER, ["weights", "gradients", "losses", "outputs"])
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == trial.steps() == [0, 1, 2, 3]
    assert trial.tensor("Decoder_weight").steps() == [0, 1, 2, 3]
    assert trial.tensor("gradient/Decoder_weight").steps() == [0, 1, 2, 3]
    # Found during step 0, it is named in the collection from the next step on.
    assert trial.tensor("Decoder_output_2").steps() == [1, 2, 3]
    assert not trial.has_tensor("Decoder_output_3")
    assert not [name for name in trial.tensor_names() if name.startswith("Linear")]


WARMED_UP = """
import torch
from torch import nn
class Warm(nn.Linear): pass
class Main(nn.Linear): pass
warm, main = Warm(4, 4), Main(4, 4)
optimizer = torch.optim.SGD(main.parameters(), lr=0.1)
warm(torch.ones(2, 4)).sum().backward()
for _ in range(4):
    optimizer.zero_grad()
    main(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


def test_a_model_that_was_called_first_and_never_again_does_not_end_the_steps(tmp_path, out_dir):
    run(tmp_path, out_dir, WARMED_UP, ["weights", "gradients", "losses"])
    trial = read(out_dir)
    assert trial.tensor("Warm_weight").steps() == [0]
    assert trial.tensor("Main_weight").steps() == [0, 1, 2, 3]
    assert trial.tensor("gradient/Main_weight").steps() == [0, 1, 2, 3]


SCALED = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 2]))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
"""


def test_a_functional_loss_is_recorded_without_the_scale_of_a_grad_scaler(tmp_path, out_dir):
    done = run(tmp_path, out_dir, SCALED)
    loss = read(out_dir).tensor("loss_output_0")
    expected = [float(line) for line in done.stdout.split()]
    assert [loss.value(step).item() for step in range(3)] == pytest.approx(expected)


def test_torch_is_as_it_was_when_the_hook_closes(tmp_path, out_dir):
    script = """
    import torch
    before = torch.autograd.backward, torch.amp.GradScaler.scale
    model = torch.nn.Linear(4, 3)
    model(torch.ones(2, 4)).sum().backward()
    assert torch.autograd.backward is not before[0]
    assert torch.amp.GradScaler.scale is not before[1]
    from smdebug import current_hook
    current_hook.get_current().close()
    assert (torch.autograd.backward, torch.amp.GradScaler.scale) == before
    assert not torch.nn.modules.module._global_forward_hooks
    from torch.optim import optimizer as of_all
    assert not of_all._global_optimizer_post_hooks
    """
    run(tmp_path, out_dir, textwrap.dedent(script))


LBFGS = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
def closure():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 2]))
    loss.backward()
    return loss
for _ in range(2):
    print(optimizer.step(closure).item())
"""


def test_a_model_that_only_a_closure_calls_is_not_said_to_be_missing(tmp_path, out_dir):
    done = run(tmp_path, out_dir, LBFGS)
    assert done.returncode == 0, done.stderr
    assert "not recorded" not in done.stderr and "no model" not in done.stderr
    trial = read(out_dir)
    assert len(trial.tensor("loss_output_0").steps()) >= 4


NEVER_CALLED = """
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model.forward(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


def test_a_model_that_is_never_called_is_said_to_be_missing(tmp_path, out_dir):
    done = run(tmp_path, out_dir, NEVER_CALLED)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no model with trainable parameters was called") == 1


FOLDS = """
import torch
torch.manual_seed(0)
for fold in range(2):
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 2])).backward()
        optimizer.step()
"""


def test_a_second_model_that_is_not_recorded_is_reported_once(tmp_path, out_dir):
    done = run(tmp_path, out_dir, FOLDS)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("another model trains now that is not recorded") == 1


CROSS_VALIDATION = """
import torch
kept = []
for fold in range(3):
    torch.manual_seed(fold)
    model = torch.nn.Linear(4, 3)
    kept.append(model)
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        loss = loss_of(model(torch.ones(2, 4)), torch.tensor([0, 2]))
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.ones(2, 4))
    print(repr(loss.item()), model.weight.sum().item())
kept[0].train()
optimizer = torch.optim.SGD(kept[0].parameters(), lr=0.1)
for _ in range(20):
    kept[0](torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


def test_each_model_of_a_cross_validation_has_a_run_of_its_own(tmp_path, out_dir):
    wanted = ["weights", "losses"]
    next_out_dir = f"{out_dir}-model-"
    done = run(tmp_path, out_dir, CROSS_VALIDATION, wanted, next_out_dir=next_out_dir)
    assert done.returncode == 0, done.stderr
    alone = run_script(tmp_path, textwrap.dedent(CROSS_VALIDATION))
    assert done.stdout == alone.stdout
    last_losses = [float(line.split()[0]) for line in done.stdout.splitlines()]
    # The first steps of a later model show that there is one.
    for number, (first, loss) in enumerate(zip([20, 18, 18], last_losses, strict=True), start=1):
        trial = read(out_dir if number == 1 else f"{next_out_dir}{number}")
        assert trial.loaded_all_steps
        assert trial.steps(mode=modes.TRAIN) == list(range(first))
        assert trial.steps(mode=modes.EVAL) == [0]
        losses = trial.tensor("CrossEntropyLoss_output_0")
        assert losses.value(first - 1, mode=modes.TRAIN) == pytest.approx(loss, rel=1e-6)
        assert trial.tensor_names(collection="losses") == ["CrossEntropyLoss_output_0"]
    # A model whose run has ended is not recorded again.
    assert not os.path.exists(f"{next_out_dir}4")
    assert done.stderr.count("another model trains now that is not recorded") == 1


ACTOR_AND_CRITIC = """
import torch
torch.manual_seed(0)
actor, critic = torch.nn.Linear(4, 3), torch.nn.Linear(4, 1)
optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (critic, actor)]
temperature = torch.zeros(1, requires_grad=True)
optimizers.append(torch.optim.SGD([temperature], lr=0.1))
for _ in range(20):
    for loss_of, optimizer in zip(
        (
            lambda: critic(torch.ones(2, 4)).pow(2).sum(),
            lambda: actor(torch.ones(2, 4)).pow(2).sum(),
            lambda: (temperature - 1).pow(2).sum(),
        ),
        optimizers,
    ):
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()
"""


def test_models_that_train_in_turn_share_a_run(tmp_path, out_dir):
    next_out_dir = f"{out_dir}-model-"
    done = run(tmp_path, out_dir, ACTOR_AND_CRITIC, next_out_dir=next_out_dir)
    assert done.returncode == 0, done.stderr
    assert "another model" not in done.stderr
    assert not os.path.exists(f"{next_out_dir}2")
    trial = read(out_dir)
    assert len(trial.steps(mode=modes.TRAIN)) >= 20
    gradients = trial.tensor_names(collection="gradients")
    assert {"gradient/Linear_weight", "gradient/Linear_1_weight"} <= set(gradients)


SEVERAL_BACKWARD_PASSES = """
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    for row in model(torch.ones(4, 4)):
        row.sum().backward(retain_graph=True)
    optimizer.step()
"""


def test_several_backward_passes_of_one_model_are_no_second_model(tmp_path, out_dir):
    done = run(tmp_path, out_dir, SEVERAL_BACKWARD_PASSES)
    assert done.returncode == 0, done.stderr
    assert "another model" not in done.stderr


CALLED_OFTEN = """
import torch
torch.manual_seed(0)
encoder = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
for update in range(12):
    outputs = [encoder(torch.randn(3, 4)) for _ in range({calls})]
    with torch.no_grad():
        target = encoder(torch.ones(3, 4))
    loss = sum((each - target).pow(2).mean() for each in outputs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), encoder.weight.grad.norm().item())
"""


@pytest.mark.parametrize("calls", [1, 2, 4, 20])
def test_a_model_called_several_times_before_one_backward_pass_has_a_step_per_update(
    tmp_path, out_dir, calls
):
    done = run(
        tmp_path, out_dir, CALLED_OFTEN.format(calls=calls), ["outputs", "gradients", "losses"]
    )
    numbers = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    trial = read(out_dir)
    steps = trial.steps(mode=modes.TRAIN)[-11:]  # that a backward pass follows is known since then
    losses = [trial.tensor("loss_output_0").value(step, mode=modes.TRAIN).item() for step in steps]
    assert losses == pytest.approx([loss for loss, _ in numbers[1:]])
    gradient = trial.tensor("gradient/Linear_weight")
    norms = [gradient.reduction_value(step, "l2", mode=modes.TRAIN) for step in steps]
    assert norms == pytest.approx([norm for _, norm in numbers[1:]])
    # However often the model is called.
    outputs = trial.tensor_names(regex="Linear_output")
    assert len(outputs) == min(calls + 1, 16)


def test_the_gradient_of_a_discriminator_is_the_one_that_its_optimizer_uses(tmp_path, out_dir):
    done = run(
        tmp_path,
        out_dir,
        """
        import torch
        torch.manual_seed(0)
        class Generator(torch.nn.Linear): pass
        class Critic(torch.nn.Linear): pass
        generator, critic = Generator(2, 3), Critic(3, 1)
        of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
        of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(3):
            fake = generator(torch.randn(4, 2))
            of_critic.zero_grad()
            (critic(fake.detach()).mean() - critic(torch.randn(4, 3)).mean()).backward()
            of_critic.step()
            print(critic.weight.grad.norm().item())
            of_generator.zero_grad()
            (-critic(fake).mean()).backward()
            of_generator.step()
            print(generator.weight.grad.norm().item())
        """,
        ["gradients"],
    )
    printed = [float(line) for line in done.stdout.split()]
    trial = read(out_dir)
    for name, expected in [("Critic", printed[::2]), ("Generator", printed[1::2])]:
        gradient = trial.tensor(f"gradient/{name}_weight")
        assert [gradient.reduction_value(step, "l2") for step in range(3)] == pytest.approx(
            expected
        )
    assert "saved more than once" not in done.stderr


EVERY_STEP = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(
    [{"params": [model.weight]}, {"params": [model.bias], "lr": 1.0}], lr=0.5
)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
for _ in range(25):
    loss = torch.nn.functional.mse_loss(model(torch.randn(3, 4)), torch.zeros(3, 2))
    optimizer.zero_grad()
    loss.backward()
    rates = [group["lr"] for group in optimizer.param_groups]
    optimizer.step()
    schedule.step()
    print(loss.item(), *rates)
    if _ % 5 == 0:
        with torch.no_grad():
            model(torch.zeros(1, 4))
"""


def test_the_loss_and_the_learning_rates_of_every_step_are_recorded(tmp_path, out_dir):
    settings = {
        "out_dir": out_dir,
        "collections": [{"name": "losses", "save_interval": 10}],
    }
    done = run_script(
        tmp_path, GATE + EVERY_STEP, environment={"SMDEBUG_RUN": json.dumps(settings)}
    )
    expected = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    trial = read(out_dir)
    assert trial.tensor("loss_output_0").steps(mode=modes.TRAIN) == [0, 10, 20]
    names = ["loss_output_0", "learning_rate/SGD/0", "learning_rate/SGD/1"]
    for column, name in enumerate(names):
        steps, values = zip(*trial.series(name, mode=modes.TRAIN), strict=True)
        assert list(steps) == list(range(25))
        assert values == pytest.approx([line[column] for line in expected], rel=1e-6)


LEAP = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
model = COMPILED(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    target = torch.full((3, 2), 100.0 if step == 23 else 1.0)
    loss = torch.nn.functional.mse_loss(model(torch.randn(3, 4)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


@pytest.mark.parametrize(
    "compiled",
    [
        "lambda model: model",
        "lambda model: torch.compile(model, backend='aot_eager', fullgraph=True)",
    ],
)
def test_three_steps_are_saved_after_the_leap_of_a_loss(tmp_path, out_dir, compiled):
    settings = {
        "out_dir": out_dir,
        "collections": [{"name": name, "save_interval": 10} for name in ("gradients", "losses")],
    }
    script = LEAP.replace("COMPILED", f"({compiled})")
    done = run_script(tmp_path, GATE + script, environment={"SMDEBUG_RUN": json.dumps(settings)})
    assert done.stdout == run_script(tmp_path, script).stdout
    trial = read(out_dir)
    for name in trial.tensor_names(collection="gradients"):
        assert trial.tensor(name).steps() == [0, 10, 20, 24, 25, 26, 30]


REPEATED = """
import torch
torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for repeats in (0, 3, 0, 1):
    hidden = encoder(torch.randn(3, 4))
    loss = sum(decoder(hidden).square().mean() for _ in range(1 + repeats))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_the_calls_of_a_model_after_the_first_of_a_step_are_counted(tmp_path, out_dir):
    run_script(
        tmp_path, GATE + REPEATED, environment={"SMDEBUG_RUN": json.dumps({"out_dir": out_dir})}
    )
    assert read(out_dir).series("repeated_calls", mode=modes.TRAIN) == [(1, 3.0), (3, 1.0)]
