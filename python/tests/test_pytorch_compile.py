"""torch.compile: one graph for steps that save nothing and one for the others, never a break, and
the same tensors as without it."""

import itertools

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug import modes


@pytest.fixture(autouse=True)
def _nothing_is_compiled():
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()
    counters.clear()


def graphs():
    return counters["stats"]["unique_graphs"]


def assert_no_break():
    assert not counters["graph_break"]
    assert not counters["unimplemented"]


def hook_for(out_dir, interval=1, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=interval), **arguments)


def bits(model):
    return [parameter.detach().numpy().tobytes() for parameter in model.parameters()]


class Twice(torch.nn.Module):
    """Calls both of its modules twice, one of them in place."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.relu = torch.nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.fc(self.relu(self.fc(x))))


class Nested(torch.nn.Module):
    """Takes and gives tuples."""

    class Inner(torch.nn.Module):
        def forward(self, pair):
            return pair[0] + 1, [pair[1] * 2, (pair[0] - pair[1],)], None

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.inner = Nested.Inner()

    def forward(self, x):
        y = self.fc(x)
        first, (second, (third,)), _ = self.inner((x, y))
        return first + second + third


def run_of(folder, make, compiled, steps=4, batch=None):
    """Trains a model that is registered and then compiled; returns its run."""
    torch.manual_seed(1)
    model = make()
    with hook_for(folder, save_all=True) as hook:
        hook.register_module(model)
        called = compiled(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(steps):
            torch.manual_seed(step)
            optimizer.zero_grad()
            called(torch.randn(batch(step) if batch else 3, 4)).square().mean().backward()
            optimizer.step()
    return read(folder)


def assert_same_run(run, expected, **tolerance):
    assert run.tensor_names() == expected.tensor_names()
    assert run.steps() == expected.steps()
    for name in expected.tensor_names():
        assert run.tensor(name).steps() == expected.tensor(name).steps(), name
        for step in expected.tensor(name).steps():
            np.testing.assert_allclose(
                run.tensor(name).value(step),
                expected.tensor(name).value(step),
                err_msg=f"{name} at {step}",
                **(tolerance or {"rtol": 0, "atol": 0}),
            )


@pytest.mark.parametrize("make", [Twice, Nested, Net])
def test_a_compiled_model_saves_what_the_eager_one_saves(tmp_path, make):
    eager = run_of(str(tmp_path / "eager"), make, lambda model: model)
    compiled = run_of(
        str(tmp_path / "compiled"),
        make,
        lambda model: torch.compile(model, backend="aot_eager", fullgraph=True),
    )
    assert_same_run(compiled, eager)
    assert_no_break()


def test_inductor_with_shapes_that_change_saves_what_the_eager_model_saves(tmp_path):
    def batch(step):
        return 3 + step

    eager = run_of(str(tmp_path / "eager"), Twice, lambda model: model, 5, batch)
    compiled = run_of(
        str(tmp_path / "compiled"),
        Twice,
        lambda model: torch.compile(model, fullgraph=True, dynamic=True),
        5,
        batch,
    )
    assert {"fc_output_0", "fc_output_1", "relu_input_0", "relu_input_1"} <= set(
        compiled.tensor_names()
    )
    assert_same_run(compiled, eager, rtol=1e-5, atol=1e-6)
    assert graphs() == 1
    assert_no_break()


def test_training_with_inductor_and_dropout_is_bit_identical(tmp_path):
    def trained(folder):
        torch._dynamo.reset()
        torch.manual_seed(3)
        model = Net(dropout=0.5, inplace=True)
        compiled = torch.compile(model, fullgraph=True)
        if folder is None:
            return train(compiled, 6), bits(model)
        with hook_for(folder, interval=2, save_all=True) as hook:
            hook.register_module(model)
            return train(compiled, 6), bits(model)

    plain = trained(None)
    assert trained(str(tmp_path / "run")) == plain
    assert read(str(tmp_path / "run")).tensor("fc2_output_0").steps() == [0, 2, 4]


class Own(torch.nn.Sequential):
    """A container whose frame torch.compile does look at."""

    def forward(self, x):
        return super().forward(x)


ORDERS = ["registered first", "compiled first", "run first"]
WAYS = [  # Sequential.compile() alone compiles nothing, and says so
    (Own, "torch.compile"),
    (Own, "model.compile"),
    (Own, "a function"),
    (torch.nn.Sequential, "torch.compile"),
    (torch.nn.Sequential, "a function"),
]


@pytest.mark.parametrize(
    "container, way, order", [(*way, order) for way, order in itertools.product(WAYS, ORDERS)]
)
def test_there_is_one_lean_and_one_capturing_graph(out_dir, container, way, order):
    options = {"fullgraph": True, "backend": "aot_eager"}
    model = container(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True))
    x = torch.randn(2, 4)

    def compiled():
        if way == "torch.compile":
            return torch.compile(model, **options)
        if way == "model.compile":
            model.compile(**options)
            return model
        return torch.compile(lambda x: model(x), **options)

    with hook_for(out_dir, interval=3, save_all=True) as hook:
        if order == "registered first":
            hook.register_module(model)
        called = compiled()
        if order == "run first":
            called(x)
        if order != "registered first":
            hook.register_module(called if way == "torch.compile" else model)
        before = graphs()
        expected = [called(x).detach().clone() for _ in range(4)]
        settled = graphs()
        expected += [called(x).detach().clone() for _ in range(8)]
        assert graphs() == settled, "compiled again although nothing had changed"
        assert settled - before <= 2
        assert_no_break()
        assert hook.status().steps == 12
    trial = read(out_dir)
    assert trial.steps() == [0, 3, 6, 9]
    for name in ("0_input_0", "0_output_0", "1_input_0", "1_output_0"):
        assert trial.tensor(name).steps() == [0, 3, 6, 9], name
    np.testing.assert_array_equal(trial.tensor("1_output_0").value(9), expected[9])
    np.testing.assert_array_equal(trial.tensor("0_input_0").value(9), x)
    assert trial.tensor("1_input_0").value(9).min() < 0  # before the module overwrote it
    root = container.__name__
    assert trial.tensor(f"{root}_input_0").steps() == [0, 3, 6, 9]
    assert f"{root}_input_1" not in trial.tensor_names()


def test_nothing_that_is_saved_in_the_model_leaves_one_graph(out_dir):
    model = Net()
    loss = torch.nn.CrossEntropyLoss()
    with hook_for(out_dir, interval=2) as hook:  # losses alone
        hook.register_module(model)
        hook.register_loss(loss)
        train(torch.compile(model, fullgraph=True, backend="aot_eager"), 6, loss=loss)
    assert graphs() == 1
    assert read(out_dir).tensor("CrossEntropyLoss_output_0").steps() == [0, 2, 4]


def test_a_compiled_loss_is_recorded(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    called = lambda output, label: compiled(output, label)  # noqa: E731
    with hook_for(out_dir, interval=2) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        losses = train(model, 6, loss=called)
        settled = graphs()
        train(model, 4, loss=called)
        assert graphs() == settled
    saved = read(out_dir).tensor("CrossEntropyLoss_output_0")
    assert [saved.value(step).item() for step in (0, 2, 4)] == losses[::2]


def test_compiled_submodules_of_an_eager_model_are_recorded(tmp_path):
    def compile_parts(model):
        model.fc1 = torch.compile(model.fc1, fullgraph=True, backend="aot_eager")
        model.relu.compile(fullgraph=True, backend="aot_eager")
        return model

    folders = [str(tmp_path / name) for name in ("eager", "compiled")]
    runs = []
    for folder, prepare in zip(folders, (lambda model: model, compile_parts), strict=True):
        torch.manual_seed(1)
        model = prepare(Net())
        with hook_for(folder, interval=2, save_all=True) as hook:
            hook.register_module(model)
            train(model, 6)
            settled = graphs()
            train(model, 4)
            assert graphs() == settled
        runs.append(read(folder))
    assert_same_run(runs[1], runs[0])
    assert_no_break()


def test_a_model_that_ran_compiled_before_is_made_to_see_the_hooks_and_that_is_said(
    out_dir, logged
):
    model = torch.compile(Net(), fullgraph=True, backend="aot_eager")
    train(model, 2)
    with hook_for(out_dir, include_regex=["relu_output"]) as hook:
        hook.register_module(model)
        assert any("torch compiles it again" in message and "Net" in message for message in logged)
        train(model, 2)
    assert read(out_dir).tensor("relu_output_0").steps() == [0, 1]


def test_nothing_is_said_of_compiling_where_nothing_was_compiled(out_dir, logged):
    with hook_for(out_dir) as hook:
        hook.register_module(Net())
    assert not any("compile" in message for message in logged)


def test_modes_of_a_compiled_model_keep_their_own_intervals(out_dir):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4))
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    config = smd.SaveConfig(
        {
            modes.TRAIN: smd.SaveConfigMode(save_interval=2),
            modes.EVAL: smd.SaveConfigMode(save_interval=3),
        }
    )
    with smd.Hook(out_dir, save_config=config, include_regex=["0_output"]) as hook:
        hook.register_module(model)
        for _ in range(2):
            hook.set_mode(modes.TRAIN)
            for _ in range(3):
                compiled(torch.randn(2, 4))
            hook.set_mode(modes.EVAL)
            for _ in range(2):
                compiled(torch.randn(2, 4))
        assert graphs() == 2
    output = read(out_dir).tensor("0_output_0")
    assert output.steps(mode=modes.TRAIN) == [0, 2, 4]
    assert output.steps(mode=modes.EVAL) == [0, 3]


def test_an_edit_reaches_compiled_code(out_dir):
    model = Net()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")

    def edit(step):
        if step == 2:
            hook.get_collection("default").include("fc2_output")

    with hook_for(out_dir, include_regex=["fc1_output"]) as hook:
        hook.register_module(model)
        train(compiled, 6, on_step=edit)
    trial = read(out_dir)
    assert trial.tensor("fc1_output_0").steps() == list(range(6))
    assert trial.tensor("fc2_output_0").steps() == [3, 4, 5]


def test_what_is_computed_again_in_backward_is_not_saved_again(out_dir):
    class Checkpointed(Net):
        def forward(self, x):
            return checkpoint(super().forward, x, use_reentrant=False)

    model = Checkpointed()
    with hook_for(out_dir, include_regex=["relu_output", "fc1_input"]) as hook:
        hook.register_module(model)
        train(torch.compile(model, fullgraph=True, backend="aot_eager"), 2)
    assert read(out_dir).tensor_names() == ["fc1_input_0", "relu_output_0"]
    assert_no_break()


def test_a_closed_hook_leaves_compiled_code_to_itself(out_dir):
    model = Net()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    hook = hook_for(out_dir, save_all=True)
    hook.register_module(model)
    train(compiled, 2)
    hook.close()
    train(compiled, 3)
    assert read(out_dir).steps() == [0, 1]


def test_an_exported_program_holds_none_of_our_calls(out_dir):
    model = Net()
    with hook_for(out_dir, save_all=True) as hook:
        hook.register_module(model)
        train(model, 1)
        program = torch.export.export(model, (torch.randn(2, 4),))
    assert "smdebug" not in program.graph_module.code
