"""What `smdebug run` knows of the loop around a model: gradient scalers, clipping, schedulers."""

import json
import textwrap

import pytest

from conftest import read, run_script
from smdebug import modes

torch = pytest.importorskip("torch")

from torch.nn import utils  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

from smdebug.pytorch import loop_watch  # noqa: E402
from smdebug.pytorch.loop_notes import LoopNotes  # noqa: E402
from smdebug.pytorch.loop_watch import LoopWatch  # noqa: E402

GATE = "import smdebug_ng.autostart\n"  # what the .pth file does

# A training with a gradient scaler. The gradients of step 3 overflow.
SCALED = """
import torch
from torch.nn.utils import clip_grad_norm_
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(8, 3)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
def step(number, unscale=True):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.arange(6) % 3)
    optimizer.zero_grad()
    scaler.scale(loss * (float("inf") if number == 3 else 1)).backward()
    if unscale:
        scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 0.25)
    before = model[0].weight.detach().clone()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    return scale, bool((model[0].weight == before).all())
"""


def run(tmp_path, out_dir, script):
    settings = {
        "out_dir": out_dir,
        "save_interval": 10,
        "collections": [{"name": "losses", "save_interval": 10}],
    }
    return run_script(
        tmp_path, GATE + textwrap.dedent(script), environment={"SMDEBUG_RUN": json.dumps(settings)}
    )


def loop_of(out_dir):
    return read(out_dir).facts()[-1].facts.loop


# --- scripts ---


def test_the_scale_and_skipped_updates_are_recorded_at_each_step(tmp_path, out_dir):
    done = run(tmp_path, out_dir, SCALED + "import json\nprint(json.dumps([*map(step, range(9))]))")
    trial = read(out_dir)
    recorded = {
        name: dict(trial.series(name, mode=modes.TRAIN))
        for name in ("gradient_scale", "update_skipped")
    }
    expected = json.loads(done.stdout)
    assert recorded["gradient_scale"] == {i: scale for i, (scale, _) in enumerate(expected)}
    assert recorded["update_skipped"] == {i: skipped for i, (_, skipped) in enumerate(expected)}
    assert [skipped for _, skipped in expected].index(True) == 3  # as the script intends


@pytest.mark.parametrize("unscale", [True, False])
def test_a_scaled_training_gives_the_same_bits(tmp_path, out_dir, unscale):
    weights = "print([p.tolist() for p in model.parameters()])"
    script = SCALED + f"print([step(i, {unscale}) for i in range(9)])\n{weights}"
    plain = run_script(tmp_path, script)
    assert run(tmp_path, out_dir, script).stdout == plain.stdout


@pytest.mark.parametrize(("unscale", "clippings"), [(True, 0), (False, 10)])
def test_gradients_clipped_with_their_scale_are_counted(tmp_path, out_dir, unscale, clippings):
    run(tmp_path, out_dir, SCALED + f"[step(i, {unscale}) for i in range(14)]")
    loop = loop_of(out_dir)
    # The scaler is known from its first update on, and the tenth clipping is reported.
    assert loop.scaled_clippings == clippings
    assert loop.scaled_clipping_limit == (0.25 if clippings else None)
    assert loop.autocast_dtype == "bfloat16"


CLIPPED = """
import torch
from torch.nn.utils import clip_grad_norm_
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    model(torch.randn(6, 4)).square().mean().backward()
    {clipping}
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("clipping", "norm", "value"),
    [
        ("clip_grad_norm_(model.parameters(), 0.25)", 0.25, None),
        ("clip_grad_norm_(model.parameters(), max_norm=2)", 2, None),
        ("torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=0.5)", None, 0.5),
        ("pass", None, None),
        ("clip_grad_norm_(model.parameters(), 1 + step)", None, None),
        ("clip_grad_norm_(model[1].parameters(), 0.25)", None, None),
        ("[clip_grad_norm_(each, 0.25) for each in model.parameters()]", None, None),
    ],
)
def test_the_limit_that_all_updates_have_in_common_is_told(
    tmp_path, out_dir, clipping, norm, value
):
    run(tmp_path, out_dir, CLIPPED.format(clipping=clipping))
    loop = loop_of(out_dir)
    assert (loop.gradient_norm_limit, loop.gradient_value_limit) == (norm, value)


EARLY_CLIPPED = """
import torch
from torch.nn.utils import clip_grad_norm_
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    clip_grad_norm_(model.parameters(), 1.0)
    model(torch.randn(6, 4)).square().mean().backward()
    {late}
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("late", "clippings"),
    [
        ("pass", 10),  # the tenth is reported
        ("if step == 5: clip_grad_norm_(model.parameters(), 1.0)", 0),
    ],
)
def test_clippings_before_the_backward_pass_are_counted(tmp_path, out_dir, late, clippings):
    run(tmp_path, out_dir, EARLY_CLIPPED.format(late=late))
    assert loop_of(out_dir).empty_clippings == clippings


ROOT_OF_0 = """
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(4, 2)
    other = x.clone() if step == 0 else torch.randn(4, 2)
    optimizer.zero_grad()
    one, two = model(torch.cat([x, other])).chunk(2)
    squares = (one - two).square().sum(1)
    {before}
    squares.sqrt().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("before", ["pass", "squares = squares + 1e-12"])
def test_the_gradient_of_a_root_of_0_is_to_blame_for_the_next_loss(tmp_path, out_dir, before):
    run(tmp_path, out_dir, ROOT_OF_0.format(before=before))
    blamed = loop_of(out_dir).not_finite_by
    if before != "pass":
        assert blamed is None
        return
    assert (blamed.kind, blamed.step) == ("gradient of a root of 0", 0)
    assert (blamed.elements, blamed.size) == (4, 4)


def test_a_root_of_0_behind_a_relu_is_not_to_blame(tmp_path, out_dir):
    run(tmp_path, out_dir, ROOT_OF_0.format(before="squares = (squares - 1).relu()"))
    assert loop_of(out_dir).not_finite_by is None


def test_a_limit_of_gradients_of_mixed_precision_is_unknown(tmp_path, out_dir):
    run(tmp_path, out_dir, SCALED + "[step(i) for i in range(5)]")
    assert loop_of(out_dir).gradient_norm_limit is None


def test_schedulers_are_described_with_their_steps_and_updates(tmp_path, out_dir):
    script = """
    import torch
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    slow = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    fast = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=7)
    for epoch in range(3):
        for batch in range(5):
            loss = model(torch.ones(3, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if batch % 2:
                fast.step(loss)
        slow.step()
    """
    run(tmp_path, out_dir, script)
    fast, slow = loop_of(out_dir).schedulers
    # The last report follows the third step of the slow one; 15 updates, of which 6 with a step.
    assert (slow.kind, slow.steps, slow.updates) == ("CosineAnnealingLR", 3, 15)
    assert (fast.kind, fast.steps, fast.updates) == ("ReduceLROnPlateau", 6, 15)
    assert (slow.optimizer, fast.optimizer) == (0, 0)
    assert slow.settings == {"T_max": 20, "eta_min": 0}
    assert fast.settings["patience"] == 7


@pytest.mark.parametrize(
    ("scheduler", "known"),
    [
        ("torch.optim.lr_scheduler.StepLR(optimizer, 3)", True),
        ("torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)", True),
        ("None", False),
    ],
)
def test_a_scheduler_that_never_steps_is_known(tmp_path, out_dir, scheduler, known):
    script = f"""
    import torch
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = {scheduler}
    for batch in range(5):
        loss = model(torch.ones(3, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
    run(tmp_path, out_dir, script)
    facts = read(out_dir).facts()[-1].facts
    assert facts.optimizers[0].has_scheduler is known
    assert facts.loop.schedulers == []


# How a loop takes its batches -> the passes that are reported, after the one of the first call.
LOOPS = {
    "for batch in range(13): train(*next(iter(loader)))": 10,
    "[train(*batch) for epoch in range(5) for batch in loader]": 3,
    "[train(*batch) for batch in loader]": None,  # it began before the model was called
    "[train(*batch) for epoch in range(9) for batch in whole]": 0,
    "[(train(*batch), evaluate()) for batch in loader]": 0,
}


@pytest.mark.parametrize("loop", LOOPS)
def test_passes_over_loaders_of_several_batches_are_counted(tmp_path, out_dir, loop):
    script = f"""
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(12, 4), torch.randn(12, 2))
    loader, whole = DataLoader(data, batch_size=4), DataLoader(data, batch_size=12)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    def train(x, y):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    @torch.no_grad()
    def evaluate():
        for x, y in loader:
            model(x)
    {loop}
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).data_passes == LOOPS[loop]


def test_a_stream_of_data_is_passed_over_as_without_smdebug(tmp_path, out_dir):
    script = """
    import torch
    from torch.utils.data import DataLoader, IterableDataset
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(torch.arange(20.0).reshape(5, 4))
        def __len__(self):
            return 3  # torch warns of it only if a script asks for the length of the loader
    class Loader(DataLoader):
        def __iter__(self):
            print("pass")
            return super().__iter__()
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    for epoch in range(4):
        for x in Loader(Stream(), batch_size=2):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    print(model.weight.tolist())
    """
    script = "import torch; torch.manual_seed(0)\n" + textwrap.dedent(script)
    done = run(tmp_path, out_dir, script)
    assert done.stdout == run_script(tmp_path, script).stdout
    assert "Length of IterableDataset" not in done.stderr
    assert loop_of(out_dir).data_passes == 3


def test_a_trainer_that_hides_nan_is_known(tmp_path, out_dir):
    pytest.importorskip("transformers")
    script = """
    import sys, tempfile, torch
    from transformers import Trainer, TrainingArguments
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(2, 1)
        def forward(self, x=None, labels=None):
            out = self.fc(x)
            return {"loss": (out - labels).square().mean(), "logits": out}
    rows = [{"x": [0.0, 1.0], "labels": [1.0]}] * 8
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True,
            logging_nan_inf_filter=HIDES
        )
        Trainer(Model(), arguments, train_dataset=rows).train()
    """
    for hides in (True, False):
        folder = f"{out_dir}/{hides}"
        run(tmp_path, folder, textwrap.dedent(script).replace("HIDES", str(hides)))
        assert loop_of(folder).log_hides_not_finite is hides


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("Adam(model.parameters())", 100),  # reported at 100 of 119
        ("SGD(model.parameters(), 0.1, momentum=0.9)", 100),
        ("SGD(model.parameters(), 0.1)", 0),  # it has nothing to lose
        ("LBFGS(model.parameters())", 0),
    ],
)
def test_optimizers_that_are_made_for_each_update_are_counted(tmp_path, out_dir, made, count):
    script = f"""
    import torch
    model = torch.nn.Linear(4, 2)
    for step in range(120):
        optimizer = torch.optim.{made}
        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(3, 4)).square().mean()
            loss.backward()
            return loss
        optimizer.step(closure)
    """
    run(tmp_path, out_dir, script)
    facts = read(out_dir).facts()[-1].facts
    assert facts.loop.short_lived_optimizers == count
    assert len(facts.optimizers) == 1


@pytest.mark.parametrize(
    ("evaluate", "count"),
    [
        ("with torch.no_grad(): loss_of(model(x), y)", 10),
        ("model.eval()\n        with torch.no_grad(): loss_of(model(x), y)", None),
        # The batch of a generator, for the loss of a discriminator.
        ("with torch.no_grad(): made = model(x)\n        loss_of(other(made), y)", None),
        ("pass", None),
    ],
)
def test_evaluations_in_training_mode_are_counted(tmp_path, out_dir, evaluate, count):
    script = f"""
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Dropout())
    other = torch.nn.Linear(2, 2)
    loss_of = torch.nn.MSELoss()
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], 0.1)
    x, y = torch.ones(3, 4), torch.zeros(3, 2)
    for step in range(12):
        model.train()
        optimizer.zero_grad()
        loss_of(other(model(x)), y).backward()
        optimizer.step()
        {evaluate}
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).evaluations_in_training_mode == count


@pytest.mark.parametrize(
    ("hidden", "parameters", "kinds"),
    [
        ("[nn.Linear(4, 4), nn.Linear(4, 4)]", "model.parameters()", ["Linear", "Linear"]),
        ("nn.ModuleList([nn.Linear(4, 4)])", "model.parameters()", []),
        (
            "[nn.Linear(4, 4)]",
            "[*model.parameters(), *(p for layer in model.hidden for p in layer.parameters())]",
            [],
        ),
        ("[nn.Linear(4, 4).requires_grad_(False)]", "model.parameters()", []),
        ("[nn.ReLU()]", "model.parameters()", []),
    ],
)
def test_layers_in_a_list_that_no_optimizer_holds_are_told(
    tmp_path, out_dir, hidden, parameters, kinds
):
    script = f"""
    import torch
    from torch import nn
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = {hidden}
            self.last = nn.Linear(4, 2)
        def forward(self, x):
            for layer in self.hidden:
                x = layer(x)
            return self.last(x)
    model, teacher = Model(), nn.Sequential(nn.Linear(4, 2)).eval()
    optimizer = torch.optim.SGD({parameters}, 0.1)
    for _ in range(3):
        x = torch.ones(3, 4)
        optimizer.zero_grad()
        (model(x) - teacher(x)).square().mean().backward()
        optimizer.step()
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).layers_outside == kinds


def test_a_layer_that_was_replaced_is_a_part_of_the_model(tmp_path, out_dir):
    script = """
    import torch
    from torch import nn
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    def train():
        for _ in range(12):
            optimizer.zero_grad()
            model(torch.ones(3, 4)).square().mean().backward()
            optimizer.step()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    train()
    model[2] = nn.Linear(4, 2)
    train()
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).layers_outside == []


@pytest.mark.parametrize(
    ("backward", "count"),
    [
        ("for _ in range(4): loss().backward()", 4),
        ("for _ in range(4): (loss() / 4).backward()", None),
        ("for _ in range(4): (loss() * 0.25).backward()", None),
        ("loss().backward()", None),
        # The last batches of an epoch may be fewer.
        ("for _ in range(4 if step != 3 else 2): loss().backward()", None),
        # Each of two adversaries has its own optimizer.
        ("loss().backward(); loss().backward(); other.step()", None),
    ],
)
def test_backward_passes_that_an_update_sums_are_counted(tmp_path, out_dir, backward, count):
    script = f"""
    import torch
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD([model.weight], 0.01)
    other = torch.optim.SGD([model.bias], 0.01)
    def loss():
        return model(torch.randn(3, 4)).square().mean()
    for step in range(12):
        optimizer.zero_grad()
        {backward}
        optimizer.step()
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).summed_passes == count


@pytest.mark.parametrize(
    ("load", "loads"),
    [
        ("model[0].load_state_dict({'module.' + k: v for k, v in state.items()}, strict=False)", 1),
        ("model[0].load_state_dict(state, strict=False)", 0),
        ("model[0].load_state_dict({'weight': state['weight']}, strict=False)", 0),
        ("model[0].load_state_dict({}, strict=False)", 0),
        # Another attempt succeeds.
        ("model[0].load_state_dict({'w': 1}, strict=False); model[0].load_state_dict(state)", 0),
        # A model that is not trained.
        ("nn.Linear(4, 4).load_state_dict({'w': 1}, strict=False)", 0),
    ],
)
def test_loads_that_find_no_parameter_are_counted(tmp_path, out_dir, load, loads):
    script = f"""
    import torch
    from torch import nn
    own = nn.Module.load_state_dict
    model, state = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), nn.Linear(4, 4).state_dict()
    {load}
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).square().mean().backward()
        optimizer.step()
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).empty_loads == loads


def test_an_optimizer_for_each_epoch_is_not_short_lived(tmp_path, out_dir):
    script = """
    import torch
    model = torch.nn.Linear(4, 2)
    other = torch.optim.Adam([model.bias])
    for epoch in range(20):
        optimizer = torch.optim.Adam([model.weight])
        for step in range(3):
            model(torch.ones(3, 4)).square().mean().backward()
            optimizer.step()
            other.step()
    """
    run(tmp_path, out_dir, script)
    assert loop_of(out_dir).short_lived_optimizers == 0


# --- the functions that are replaced ---


class Loop:
    """A model of one weight whose loss carries the scale of a scaler, and a watch."""

    def __init__(self):
        self.notes = LoopNotes()
        self.scales = []
        self.watch = LoopWatch(
            self.notes, lambda scale, infinities: self.scales.append(scale.item())
        )
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        self.model = torch.nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.5)
        self.watch.install()
        self.update()  # makes the scaler known

    def backward(self):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(torch.ones(2, 1)).mean()).backward()

    def update(self, clip=lambda: None, unscale=False):
        self.backward()
        if unscale:
            self.scaler.unscale_(self.optimizer)
        clip()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def clippings(self):
        facts = self.notes.facts([self.optimizer])
        return facts.scaled_clippings, facts.scaled_clipping_limit


@pytest.fixture
def loop():
    made = Loop()
    yield made
    made.watch.remove()


def test_clipping_is_seen_through_each_of_torchs_functions(loop):
    loop.update(lambda: utils.clip_grad_norm_(loop.model.parameters(), 2.0))
    assert loop.clippings() == (1, 2.0)
    loop.update(lambda: utils.clip_grad_value_(loop.model.parameters(), 3.0))
    assert loop.clippings() == (2, 3.0)
    loop.update(lambda: utils.clip_grad_norm_(loop.model.weight, max_norm=4.0))
    assert loop.clippings() == (3, 4.0)


def test_clipping_of_a_generator_clips_all_of_its_parameters(loop):
    loop.backward()
    utils.clip_grad_value_(loop.model.parameters(), 0.125)
    assert [each.grad.item() for each in loop.model.parameters()] == [0.125, 0.125]


def test_clipping_after_the_gradients_were_unscaled_is_not_counted(loop):
    loop.update(lambda: utils.clip_grad_norm_(loop.model.parameters(), 2.0), unscale=True)
    loop.update()
    assert loop.clippings() == (0, None)


def test_clipping_for_an_update_without_the_scaler_is_not_counted(loop):
    loop.model(torch.ones(2, 1)).mean().backward()
    utils.clip_grad_norm_(loop.model.parameters(), 2.0)
    loop.watch.note_update(loop.optimizer)
    loop.optimizer.step()
    loop.update()
    assert loop.clippings() == (0, None)


def test_clipping_for_another_optimizer_is_not_counted(loop):
    other = torch.nn.Linear(1, 1)
    other(torch.ones(1, 1)).sum().backward()
    loop.update(lambda: utils.clip_grad_norm_(other.parameters(), 2.0))
    assert loop.clippings() == (0, None)


def test_without_the_private_name_the_public_one_is_watched(monkeypatch):
    names = (utils, utils.clip_grad), "clip_grad_norm_"
    monkeypatch.setattr(loop_watch, "norm_clippers", lambda: names)
    loop = Loop()
    loop.update(lambda: utils.clip_grad_norm_(loop.model.parameters(), 2.0))
    loop.watch.remove()
    assert loop.clippings() == (1, 2.0)


def test_a_scaler_that_is_disabled_or_hides_its_scale_is_ignored(loop):
    loop.scales.clear()
    loop.scaler = torch.amp.GradScaler("cpu", enabled=False)
    loop.update(lambda: utils.clip_grad_norm_(loop.model.parameters(), 2.0))
    loop.scaler = torch.amp.GradScaler("cpu")
    loop.scaler.get_scale = None  # nothing waits for a device
    loop.watch._note_scaler(loop.scaler)  # before its first use it has no scale
    assert loop.scales == []
    assert loop.clippings() == (0, None)


def test_all_functions_are_restored(loop):
    replaced = [
        (torch.amp.GradScaler, "update"),
        (torch.amp.GradScaler, "unscale_"),
        (utils, "clip_grad_value_"),
        (utils.clip_grad, "clip_grad_value_"),
        (utils.clip_grad, "_clip_grads_with_norm_"),
        (lr_scheduler.LRScheduler, "step"),
        (lr_scheduler.ReduceLROnPlateau, "step"),
    ]
    ours = [getattr(*place) for place in replaced]
    loop.watch.remove()
    for place, function in zip(replaced, ours, strict=True):
        assert getattr(*place) is function.__wrapped__


def test_a_scheduler_that_calls_the_step_of_its_base_counts_once(loop):
    class Late(lr_scheduler.StepLR):  # made when the functions were replaced
        def step(self):
            super().step()

    late = Late(loop.optimizer, step_size=3)
    loop.watch.note_update(loop.optimizer)
    loop.optimizer.step()
    late.step()
    (facts,) = loop.notes.facts([loop.optimizer]).schedulers
    assert (facts.kind, facts.steps, facts.updates, facts.optimizer) == ("Late", 1, 1, 0)


def test_an_error_in_the_watch_does_not_reach_the_training(loop, caplog):
    def fails(*arguments):
        raise RuntimeError("broken")

    loop.watch._on_scale = fails
    before = loop.model.weight.item()
    loop.update()
    assert loop.model.weight.item() != before
    assert caplog.text.count("broken") <= 1
    loop.update(lambda: utils.clip_grad_norm_(loop.model.parameters(), 2.0))
    assert loop.clippings() == (0, None)
