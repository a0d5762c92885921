"""Every kind of argument that adds tensors to a collection of a hook for PyTorch: the call
takes it, or refuses it and changes nothing. Neither affects the training."""

import warnings

import pytest
import torch
from added_kinds import FLAGS, INCLUDED, NO_FLAGS, ODD, OFF, members_of

import smdebug.pytorch as smd
from conftest import Net, read
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

EVERY_STEP = smd.SaveConfig(save_interval=1)


@pytest.fixture
def hook(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, include_collections=["weights", "mine"])
    yield hook
    hook.close()


def meta():
    return torch.ones(2, device="meta")


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(2)


def freed():
    """A tensor without its memory, as FSDP leaves one."""
    tensor = torch.ones(1)
    tensor.untyped_storage().resize_(0)
    return tensor


def compiled():
    return torch.compile(torch.nn.ReLU(), backend="eager")


def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(torch.nn.ReLU())


def lazy(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(2)


# Name -> makes a value of torch that has no name, so that no collection can hold it.
VALUES = {
    "tensor": lambda: torch.ones(2),
    "tensor of one element": lambda: torch.ones(1),
    "Parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "Buffer": lambda: torch.nn.Buffer(torch.ones(2)),
    "parameter of a lazy module": lambda: lazy(torch.nn.LazyLinear).weight,
    "meta": meta,
    "fake": fake,
    "freed": freed,
    "COO": lambda: torch.eye(2).to_sparse(),
    "list of tensors": lambda: [torch.ones(2)],
    "class of modules": lambda: torch.nn.Linear,
    "list of modules": lambda: [torch.nn.ReLU()],
    "function": lambda: torch.relu,
    "optimizer": lambda: torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1),
    "state_dict": lambda: torch.nn.Linear(1, 1).state_dict(),
}
# Name -> makes a module of a model whose tensors can be saved.
MODULES = {
    "Linear": lambda: torch.nn.Linear(4, 4),
    "ReLU": torch.nn.ReLU,
    "container": lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()),
    "lazy": lambda: lazy(torch.nn.LazyLinear),
    "compiled": compiled,
    "DataParallel": lambda: torch.nn.DataParallel(torch.nn.ReLU()),
    "parametrized": lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 4)),
}
# Name -> makes a module that is in no model, or that is never called.
STRANGERS = {
    "of no model": lambda: torch.nn.Linear(1, 1),
    "list": lambda: torch.nn.ModuleList([torch.nn.ReLU()]),
    "dict": lambda: torch.nn.ModuleDict({"a": torch.nn.ReLU()}),
    "parameters": lambda: torch.nn.ParameterList([torch.nn.Parameter(torch.ones(1))]),
    "meta": lambda: torch.nn.Linear(2, 1, device="meta"),
    "loss": torch.nn.MSELoss,
    "another model": Net,
    "of TorchScript": scripted,
}


def step(hook, model):
    """One step of a training; the model returns what it returns without a hook."""
    x = torch.ones(2, 4)
    hook.register_module(model)
    output = model(x)
    output.sum().backward()
    hook.close()
    assert hook.status().error is None
    return read(hook.out_dir)


@pytest.mark.parametrize("kind", MODULES)
def test_the_tensors_of_a_module_of_any_kind_can_be_added(hook, kind):
    module = MODULES[kind]()
    hook.get_collection("mine").add_module_tensors(module, inputs=True)
    trial = step(hook, torch.nn.Sequential(torch.nn.Linear(4, 4), module))
    assert trial.tensor_names(collection="mine") == ["1_input_0", "1_output_0"]


@pytest.mark.parametrize("kind", STRANGERS)
def test_a_module_that_no_step_calls_does_not_end_the_training(hook, kind):
    hook.get_collection("mine").add_module_tensors(STRANGERS[kind]())
    trial = step(hook, Net())
    assert trial.steps() == [0] and trial.tensor_names() == trial.tensor_names(collection="weights")


@pytest.mark.parametrize("kind", [*VALUES, *ODD])
def test_anything_but_a_module_is_refused_and_changes_nothing(hook, kind):
    thing = {**VALUES, **ODD}[kind]()
    collection = hook.get_collection("mine")
    before = members_of(collection)
    with pytest.raises(SMDebugTypeError, match="takes a torch.nn.Module"):
        collection.add_module_tensors(thing)
    assert members_of(collection) == before
    step(hook, Net())


@pytest.mark.parametrize("kind", INCLUDED)
def test_every_kind_of_patterns_is_included(hook, kind):
    make, expected = INCLUDED[kind]
    collection = hook.get_collection("mine")
    collection.include(make())
    assert collection.include_regex == expected
    names = step(hook, Net()).tensor_names(collection="mine")
    assert bool(names) == bool(expected)


@pytest.mark.parametrize("kind", [each for each in (*VALUES, *ODD) if each != "freed"])
def test_anything_but_patterns_is_refused_and_changes_nothing(hook, kind):
    thing = {**VALUES, **ODD}[kind]
    collection = hook.get_collection("mine")
    before = members_of(collection)
    with pytest.raises(SMDebugTypeError, match="takes a pattern or a list of patterns"):
        collection.include(thing())
    assert members_of(collection) == before
    step(hook, Net())


@pytest.mark.parametrize("pattern", ["(", "[a-", "*x", ["relu", "("]])
def test_a_pattern_that_does_not_compile_is_refused_and_changes_nothing(hook, pattern):
    collection = hook.get_collection("mine")
    with pytest.raises(SMDebugValueError, match="does not compile"):
        collection.include(pattern)
    assert collection.include_regex == []
    step(hook, Net())


@pytest.mark.parametrize("kind", [*VALUES, *ODD])
def test_a_hook_refuses_anything_but_a_collection_and_its_name(hook, kind):
    thing = {**VALUES, **ODD}[kind]
    before = dict(hook.get_collections())
    with pytest.raises(SMDebugTypeError, match="add_collection takes a Collection, found"):
        hook.add_collection(thing())
    with pytest.raises(SMDebugTypeError, match="a collection's name must be text"):
        hook.get_collection(thing())
    assert hook.get_collections() == before
    step(hook, Net())


@pytest.mark.parametrize("kind", [smd.Collection, Collection])
def test_a_hook_takes_collections_of_its_own_class_and_of_the_common_one(hook, kind):
    hook.add_collection(kind("mine", ["relu_output"]))
    assert step(hook, Net()).tensor_names(collection="mine") == ["relu_output_0"]


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_of_any_kind_that_has_a_truth_chooses_the_tensors(hook, name):
    model = Net()
    hook.get_collection("mine").add_module_tensors(model.relu, inputs=FLAGS[name], outputs=False)
    expected = ["relu_input_0"] if name not in OFF else []
    assert step(hook, model).tensor_names(collection="mine") == expected


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize(
    "flag", [*NO_FLAGS.values(), torch.ones(2), meta()], ids=[*NO_FLAGS, "tensor", "meta"]
)
def test_a_flag_without_a_truth_is_refused_and_changes_nothing(hook, flag, side):
    collection = hook.get_collection("mine")
    model = Net()
    with pytest.raises(SMDebugTypeError, match=f"{side} must be True or False"):
        collection.add_module_tensors(model.relu, **{side: flag})
    assert collection.module_tensors() == []
    step(hook, model)


def test_half_of_a_surrogate_pair_in_a_collections_name_becomes_text(hook):
    assert hook.get_collection("mine\udc80") is hook.get_collection("mine\\udc80")
    step(hook, Net())


NO_NAMES = {
    "a number": 3,
    "none": None,
    "a list": ["fc.weight"],
    "a tensor": torch.ones(2),
    "a lazy parameter": torch.nn.parameter.UninitializedParameter(),
}


@pytest.mark.parametrize("kind", NO_NAMES)
def test_the_name_of_a_tensor_is_text(kind):
    collection = smd.Collection("mine")
    for call in (collection.add_tensor_name, collection.remove_tensor_name):
        with pytest.raises(SMDebugTypeError, match="'mine' takes the name of a tensor, found"):
            call(NO_NAMES[kind])
    assert not collection.has_tensor_name(NO_NAMES[kind])
    with pytest.raises(SMDebugTypeError, match="takes the name of a tensor, found"):
        collection.tensor_names = [NO_NAMES[kind]]
    assert not collection.tensor_names


@pytest.mark.parametrize("kind", ["a number", "a tensor", "a lazy parameter"])
def test_a_pattern_is_text(kind):
    collection = smd.Collection("mine")
    with pytest.raises(SMDebugTypeError, match="takes a pattern or a list of patterns, found"):
        collection.include_regex = NO_NAMES[kind]
    with pytest.raises(SMDebugTypeError, match="takes a pattern or a list of patterns, found"):
        collection.include(NO_NAMES[kind])
    assert not collection.include_regex


def test_text_that_cannot_be_encoded_is_refused():
    collection = smd.Collection("mine")
    for call in (collection.include, collection.add_tensor_name):
        with pytest.raises(SMDebugValueError, match="cannot be encoded in UTF-8"):
            call("half \udc80")
    assert not collection.has_tensor_name("half \udc80")
    assert not collection.include_regex and not collection.tensor_names
