"""What modules take and give beside one tensor: keywords, dictionaries, dataclasses."""

import collections
import dataclasses

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    hidden: tuple = ()
    text: str = "a"


class ModelOutput(collections.OrderedDict):
    """A dictionary with attributes, as transformers gives it."""

    def __getattr__(self, name):
        return self[name]


class Answers(collections.abc.Mapping):
    def __init__(self, **values):
        self._values = values

    def __getitem__(self, key):
        return self._values[key]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)


class Stubborn(Answers):
    def values(self):
        raise RuntimeError("not now")


Pair = collections.namedtuple("Pair", "first second")


class Gives(torch.nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


def numbers_of(out_dir, make):
    """The first elements of what a module that gives `make(zeros)` is saved with, by number."""
    with every_step(out_dir, include_regex=["inner_output"]) as hook:
        model = torch.nn.Sequential()
        model.add_module("inner", Gives(make))
        hook.register_module(model)
        model(torch.zeros(2))
    trial = read(out_dir)
    names = [f"inner_output_{i}" for i in range(len(trial.tensor_names()))]
    assert set(names) == set(trial.tensor_names())
    return [trial.tensor(name).value(0)[0].item() for name in names]


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda x: {"b": x + 1, "a": x + 2}, [1, 2]),
        (lambda x: ModelOutput(logits=x + 1, past=((x + 2, x + 3), (x + 4,))), [1, 2, 3, 4]),
        (lambda x: Output(logits=x + 1, hidden=(x + 2, [x + 3])), [1, 2, 3]),
        (lambda x: Output(logits=x + 1, loss=x + 2), [1, 2]),
        (lambda x: Answers(one=x + 1, more={"two": x + 2}), [1, 2]),
        (lambda x: collections.UserDict(a=x + 1), [1]),
        (lambda x: Pair(x + 1, Pair(x + 2, None)), [1, 2]),
        (lambda x: [[[[[[x + 1]]]]], x + 2], [1, 2]),
        (lambda x: {"a": [{"b": (Output(x + 1), 5, "x", 2.0)}], "c": x + 2}, [1, 2]),
        (lambda x: (torch.nn.Parameter(x + 1), x + 2), [1, 2]),
        (lambda x: (Stubborn(a=x), x + 1), [1]),
        (lambda x: (Output, Answers, x + 1), [1]),
        (lambda x: None, []),
        (lambda x: 5, []),
    ],
)
def test_tensors_are_numbered_in_their_order_whatever_holds_them(out_dir, make, expected):
    assert numbers_of(out_dir, make) == expected


def test_containers_that_hold_themselves_end(out_dir):
    def make(x):
        rows, table = [x + 1], {"a": x + 2}
        rows.append(rows)
        table["b"] = table
        return rows[0], table["a"], rows, table

    numbers = numbers_of(out_dir, make)
    assert numbers[:2] == [1, 2]
    assert set(numbers) == {1, 2}


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, query, *, key, mask=None, scale=1.0):
        # A leaf by keyword, and one with its inputs by position.
        return self.drop(input=self.fc(query)) + key * scale


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, tokens, *, context):
        return self.attention(tokens, key=context["keys"], mask=None, scale=2.0)


def test_keyword_inputs_follow_the_positional_ones(out_dir):
    tokens, keys = torch.randn(2, 4), torch.randn(2, 4)
    model = Model()
    with every_step(out_dir, include_regex=["_input_"]) as hook:
        hook.register_module(model)
        for _ in range(2):
            model(tokens, context={"keys": keys})
        model(context={"keys": keys}, tokens=tokens)
    trial = read(out_dir)
    with torch.no_grad():
        hidden = model.attention.fc(tokens)
    for step in range(2):
        assert trial.tensor_names(step=step) == [
            "Model_input_0",
            "Model_input_1",
            "attention.drop_input_0",
            "attention.fc_input_0",
            "attention_input_0",
            "attention_input_1",
        ]
        for name, expected in [
            ("Model_input_0", tokens),
            ("Model_input_1", keys),
            ("attention_input_0", tokens),
            ("attention_input_1", keys),
            ("attention.drop_input_0", hidden),
        ]:
            np.testing.assert_array_equal(trial.tensor(name).value(step), expected)
    # All by keyword: in the order of the call.
    np.testing.assert_array_equal(trial.tensor("Model_input_0").value(2), keys)
    np.testing.assert_array_equal(trial.tensor("Model_input_1").value(2), tokens)


def test_a_keyword_input_is_saved_as_it_was_before_an_inplace_module(out_dir):
    class Inplace(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 8)
            self.relu = torch.nn.ReLU(inplace=True)

        def forward(self, x):
            return self.relu(input=self.fc(x))

    model = Inplace()
    before = []
    model.relu.register_forward_pre_hook(
        lambda module, args, kwargs: before.append(kwargs["input"].detach().clone()),
        with_kwargs=True,
    )
    with every_step(out_dir, include_regex=["relu_input"]) as hook:
        hook.register_module(model)
        model(torch.randn(6, 4))
    assert before[0].min() < 0
    np.testing.assert_array_equal(read(out_dir).tensor("relu_input_0").value(0), before[0])


@pytest.mark.parametrize("kind", ["eager", "compiled"])
def test_a_model_called_by_keyword_alone_is_recorded(out_dir, kind):
    class Named(Net):
        def forward(self, x=None, labels=None):
            logits = super().forward(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Named()
    called = model if kind == "eager" else torch.compile(model, backend="aot_eager")
    x, labels = torch.randn(2, 4), torch.tensor([0, 2])
    wanted = ["inputs", "outputs", "gradients"]
    with every_step(out_dir, include_collections=wanted) as hook:
        hook.register_module(called)
        for _ in range(3):
            model.zero_grad()
            output = called(x=x, labels=labels)
            output["loss"].backward()
    trial = read(out_dir)
    for step in range(3):
        np.testing.assert_array_equal(trial.tensor("Named_input_0").value(step), x)
        np.testing.assert_array_equal(trial.tensor("Named_input_1").value(step), labels)
        gradient = trial.tensor("gradient/Named_fc1.weight").value(step)
        np.testing.assert_array_equal(gradient, model.fc1.weight.grad)
    if kind == "eager":
        loss = trial.tensor("Named_output_0").value(2)
        np.testing.assert_array_equal(loss, output["loss"].detach())
