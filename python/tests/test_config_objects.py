"""Configuration objects as Python objects: pickled, copied, compared, subclassed and edited."""

import copy
import inspect
import json
import multiprocessing
import pickle
import threading

import pytest
import torch

import smdebug.core.collection
import smdebug.core.reduction_config
import smdebug.core.save_config
import smdebug.pytorch as smd
from conftest import Net, read
from smdebug import modes
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig, SaveConfigMode


class NamedCollection(Collection):
    """A user's subclass: arguments of its own, an attribute, an overridden method."""

    def __init__(self, name, owner="nobody", **keywords):
        super().__init__(name, **keywords)
        self.owner = owner

    def include(self, *patterns):
        super().include(*patterns)
        self.last = patterns


class NamedSaveConfig(SaveConfig):
    note = "of a class"


class NamedMode(SaveConfigMode):
    pass


class NamedReductionConfig(ReductionConfig):
    pass


def a_collection():
    return Collection(
        "acts",
        include_regex=["relu", "tanh"],
        tensor_names={"b", "a"},
        reduction_config=ReductionConfig(["mean"], ["max"], ["l1"], ["l2"], True, True, True),
        save_config=SaveConfig({modes.TRAIN: SaveConfigMode(3, 1, 9, [2, 4]), modes.EVAL: None}),
        save_histogram=False,
    )


def a_subclass():
    made = NamedCollection("mine", owner="me", include_regex="x", save_config=NamedSaveConfig())
    made.save_config.note = "of an object"
    made.reduction_config = NamedReductionConfig(norms=["l2"])
    made.note = {"any": ["thing"]}
    return made


MADE = [
    a_collection,
    a_subclass,
    lambda: a_collection().save_config,
    lambda: a_collection().reduction_config,
    lambda: NamedMode(7, save_steps=[1]),
    lambda: smd.Collection("modules"),
]


def same_pickle(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("again", [same_pickle, copy.copy, copy.deepcopy])
def test_an_object_comes_back_from_a_pickle_and_a_copy(make, again):
    thing = make()
    made = again(thing)
    assert type(made) is type(thing) and made is not thing
    assert made == thing and repr(made) == repr(thing)
    assert vars(made).get("owner") == vars(thing).get("owner")


@pytest.mark.parametrize("again", [same_pickle, copy.deepcopy])
def test_a_deep_copy_is_edited_apart(again):
    thing = a_subclass()
    made = again(thing)
    made.include("y")
    made.tensor_names.add("t")
    made.save_config.save_interval = 2
    made.reduction_config.reductions.append("min")
    made.note["any"].append("more")
    assert thing == a_subclass() and thing.note == {"any": ["thing"]}
    assert made.include_regex == ["x", "y"] and made.tensor_names == {"t"}
    assert made.owner == "me" and made.last == ("y",)
    assert type(made.save_config) is NamedSaveConfig and made.save_config.note == "of an object"
    assert type(made.reduction_config) is NamedReductionConfig


def test_a_deep_copy_keeps_what_is_shared_shared():
    save_config = SaveConfig(save_interval=3)
    one, two = copy.deepcopy([Collection(n, save_config=save_config) for n in "ab"])
    assert one.save_config is two.save_config is not save_config
    both = pickle.loads(pickle.dumps([save_config, Collection("a", save_config=save_config)]))
    assert both[0] is both[1].save_config


def test_the_copy_method_of_a_save_config_shares_nothing():
    config = SaveConfig({modes.TRAIN: SaveConfigMode(3, save_steps=[1])})
    made = config.copy()
    made.get_save_config(modes.TRAIN).save_steps.append(2)
    made.set_save_config(modes.EVAL, SaveConfigMode(5))
    assert config == SaveConfig({modes.TRAIN: SaveConfigMode(3, save_steps=[1])})
    mode = config.get_save_config(modes.TRAIN)
    assert mode.copy() == mode and mode.copy() is not mode


def edit_in_a_child(collection, queue):
    collection.include("child")
    queue.put((collection, type(collection).__name__, collection.owner))


def test_a_spawned_worker_receives_them():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=edit_in_a_child, args=(a_subclass(), queue))
    child.start()
    made, name, owner = queue.get(timeout=120)
    child.join()
    assert (name, owner) == ("NamedCollection", "me")
    assert made.include_regex == ["x", "child"] and made.last == ("child",)


def test_objects_are_equal_by_value_and_only_collections_have_a_hash():
    assert a_collection() == a_collection() and a_collection() != Collection("acts")
    assert a_subclass() == Collection(
        "mine", ["x"], reduction_config=ReductionConfig(norms=["l2"]), save_config=SaveConfig()
    )
    assert NamedMode(3) == SaveConfigMode(3) and SaveConfigMode(3) != SaveConfigMode(4)
    for thing in (a_collection(), SaveConfig(), SaveConfigMode(), ReductionConfig()):
        assert (thing == 3) is False and (thing != "x") is True and thing != None  # noqa: E711
    assert hash(a_collection()) == hash("acts") and len({Collection("a"), Collection("a")}) == 1
    for thing in (SaveConfig(), SaveConfigMode(), ReductionConfig()):
        with pytest.raises(TypeError, match="unhashable"):
            hash(thing)


def test_an_absent_mode_differs_from_the_default_one():
    assert SaveConfig({modes.TRAIN: SaveConfigMode()}) != SaveConfig()
    assert SaveConfig({modes.EVAL: None}) == SaveConfig({})


def test_objects_print_what_they_hold():
    assert repr(a_collection()) == "Collection('acts', ['relu', 'tanh'])"
    assert repr(a_subclass()) == "NamedCollection('mine', ['x'])"
    assert repr(SaveConfigMode(3, end_step=9)) == (
        "SaveConfigMode(save_interval=3, start_step=0, end_step=9, save_steps=[])"
    )
    assert repr(SaveConfig({modes.EVAL: SaveConfigMode(), modes.TRAIN: None})) == (
        "SaveConfig({'EVAL': SaveConfigMode(save_interval=500, start_step=0, end_step=None, "
        "save_steps=[]), 'TRAIN': None})"
    )
    assert repr(ReductionConfig(["mean"], summary=True)) == (
        "ReductionConfig({'save_raw_tensor': False, 'reductions': 'mean', 'save_shape': False, "
        "'summary': True})"
    )


def test_settings_beside_a_dict_of_modes_are_logged_with_the_place_for_them(capfd):
    mode = SaveConfigMode(save_interval=1)
    config = SaveConfig({modes.TRAIN: mode}, save_interval=5)
    assert config.get_save_config(modes.TRAIN) == mode
    assert (
        "SaveConfig: save_interval has no effect beside mode_save_configs: set it in the "
        "SaveConfigMode of each mode, and add EVAL, PREDICT and GLOBAL, which the dict lacks\n"
    ) in capfd.readouterr().err
    SaveConfig(dict.fromkeys(modes, mode), start_step=1, save_steps=[2])
    assert (
        "start_step and save_steps have no effect beside mode_save_configs: set them in the "
        "SaveConfigMode of each mode\n"
    ) in capfd.readouterr().err
    pickle.loads(pickle.dumps(SaveConfig({modes.TRAIN: mode}))).copy()
    assert capfd.readouterr().err == ""


def test_every_argument_has_its_name_and_its_place():
    names = ["reductions", "abs_reductions", "norms", "abs_norms"]
    flags = ["save_raw_tensor", "save_shape", "summary"]
    by_name = ReductionConfig(
        **{n: [v] for n, v in zip(names, ["mean", "max", "l1", "l2"], strict=True)},
        **dict.fromkeys(flags, True),
    )
    assert by_name == a_collection().reduction_config
    mode = SaveConfigMode(save_interval=3, start_step=1, end_step=9, save_steps=[2])
    assert mode == SaveConfigMode(3, 1, 9, [2])
    by_place = SaveConfig(None, 3, 1, 9, [2])
    assert by_place == SaveConfig(save_interval=3, start_step=1, end_step=9, save_steps=[2])
    assert by_place == SaveConfig(mode_save_configs=dict.fromkeys(modes, mode))
    arguments = a_collection().to_json_dict().keys()
    fields = {name: getattr(a_collection(), name) for name in arguments}
    assert Collection(**fields) == a_collection()
    for cls in (Collection, SaveConfig, SaveConfigMode, ReductionConfig):
        with pytest.raises(TypeError):
            cls("x", no_such_argument=1)


def test_lists_and_sets_are_lists_and_sets():
    collection, mode = a_collection(), SaveConfigMode(save_steps=(1, 2))
    lists = [collection.include_regex, mode.save_steps]
    reduction = collection.reduction_config
    lists += [reduction.reductions, reduction.abs_reductions, reduction.norms, reduction.abs_norms]
    assert [isinstance(each, list) for each in lists] == [True] * 6
    assert isinstance(collection.tensor_names, set)
    assert json.dumps(lists) == ('[["relu", "tanh"], [1, 2], ["mean"], ["max"], ["l1"], ["l2"]]')
    assert collection.include_regex is collection.include_regex
    assert collection.tensor_names | {"c"} == {"a", "b", "c"}
    assert collection.include_regex + ["x"] == ["relu", "tanh", "x"]


def test_what_is_given_is_kept_and_lists_are_copied():
    save_config, mode, patterns = SaveConfig(), SaveConfigMode(4), ["x"]
    collection = Collection("a", patterns, save_config=save_config)
    patterns.append("y")
    assert collection.save_config is save_config and collection.include_regex == ["x"]
    save_config.set_save_config(modes.TRAIN, mode)
    assert save_config.get_save_config(modes.TRAIN) is mode
    mode.save_interval = 6
    assert collection.save_config.save_interval == 500
    assert collection.to_json_dict()["save_config"]["TRAIN"]["save_interval"] == 6
    reduction_config = ReductionConfig()
    collection.reduction_config = reduction_config
    assert collection.reduction_config is reduction_config
    collection.save_config = SaveConfigMode(9)
    assert collection.save_config == SaveConfig(save_interval=9)
    collection.save_config = {"EVAL": {"save_interval": 2}}
    assert collection.save_config == SaveConfig({modes.EVAL: SaveConfigMode(2)})
    collection.save_config = collection.reduction_config = None
    assert collection.save_config is None and collection.reduction_config is None


def test_a_list_of_a_collection_is_set_to_itself():
    collection = a_collection()
    collection.include_regex += ["x"]
    collection.tensor_names |= {"c"}
    collection.include_regex = collection.include_regex
    assert collection.include_regex == ["relu", "tanh", "x"]
    assert collection.tensor_names == {"a", "b", "c"}
    collection.include_regex = None
    collection.tensor_names = None
    assert collection.include_regex == [] and collection.tensor_names == set()
    assert not collection.has_members()


def test_the_names_of_tensors_are_added_removed_and_found():
    collection = Collection("a", tensor_names=("x", "x"))
    collection.add_tensor_name("y")
    collection.remove_tensor_name("x")
    collection.remove_tensor_name("never there")
    assert collection.tensor_names == {"y"}
    assert collection.has_tensor_name("y") and not collection.has_tensor_name("x")
    assert collection.has_members()


class NoTruth:
    """Is neither true nor false, as an array of several elements."""

    def __bool__(self):
        raise ValueError("ambiguous")


@pytest.mark.parametrize(
    "edit, error, words",
    [
        (lambda c: setattr(c, "include_regex", "["), SMDebugValueError, "["),
        (lambda c: setattr(c, "include_regex", 3), SMDebugTypeError, "3"),
        (lambda c: c.include(None), SMDebugTypeError, "None"),
        (lambda c: Collection(None), SMDebugTypeError, "None"),
        (lambda c: setattr(c.reduction_config, "norms", ["l3"]), SMDebugValueError, "l3"),
        (lambda c: c.save_config.get_save_config(None), SMDebugValueError, "None"),
        (lambda c: c.save_config.set_save_config(modes.TRAIN, None), SMDebugValueError, "None"),
        (lambda c: setattr(c, "tensor_names", "x"), SMDebugTypeError, "x"),
        (lambda c: setattr(c, "save_config", 5), SMDebugTypeError, "5"),
        (lambda c: setattr(c, "reduction_config", {}), SMDebugTypeError, "{}"),
        (lambda c: setattr(c, "save_histogram", NoTruth()), SMDebugTypeError, "NoTruth"),
        (lambda c: setattr(c, "name", "x"), AttributeError, "set"),
        (lambda c: setattr(c.save_config, "save_interval", 0), SMDebugValueError, "0"),
        (lambda c: setattr(c.save_config, "start_step", "x"), SMDebugValueError, "start_step"),
        (lambda c: setattr(c.save_config, "save_steps", [1.5]), SMDebugValueError, "1.5"),
        (lambda c: c.save_config.get_save_config("TRAIN"), SMDebugValueError, "TRAIN"),
        (lambda c: c.save_config.set_save_config(modes.TRAIN, 3), SMDebugValueError, "3"),
        (lambda c: SaveConfig.from_dict({"TRAIN": {"often": 1}}), SMDebugValueError, "often"),
        (lambda c: ReductionConfig.from_dict({"often": 1}), SMDebugValueError, "often"),
        (lambda c: Collection.from_dict({"include_regex": []}), SMDebugValueError, "name"),
    ],
)
def test_a_wrong_edit_raises_and_changes_nothing(edit, error, words):
    collection = a_collection()
    with pytest.raises(error) as raised:
        edit(collection)
    assert words in str(raised.value)
    assert collection == a_collection()


def test_the_dict_forms_make_the_class_that_is_asked():
    made = NamedCollection.from_json(a_collection().to_json())
    assert type(made) is NamedCollection and made == a_collection() and made.owner == "nobody"
    assert type(NamedSaveConfig.from_json(SaveConfig().to_json())) is NamedSaveConfig
    assert type(NamedReductionConfig.from_dict({"reductions": "mean"})) is NamedReductionConfig
    assert NamedMode.from_dict({"save_interval": 2}, {"end_step": 4}) == SaveConfigMode(2, 0, 4)
    given = SaveConfig()
    assert SaveConfig.parse(given) is given
    assert SaveConfig.parse(None) == SaveConfig()
    assert SaveConfig.from_save_config_mode(SaveConfigMode(2)) == SaveConfig(save_interval=2)


def test_the_classes_are_found_where_they_were():
    assert smdebug.SaveConfigMode is smdebug.core.save_config.SaveConfigMode is SaveConfigMode
    assert smdebug.ReductionConfig is smdebug.core.reduction_config.ReductionConfig
    assert smdebug.core.collection.Collection is Collection
    assert issubclass(smd.Collection, Collection)
    for cls in (Collection, SaveConfig, SaveConfigMode, ReductionConfig):
        assert inspect.isclass(cls) and inspect.getdoc(cls)


def step(model):
    model(torch.rand(2, 4)).sum().backward()


def saved(trial, name="Net_fc1.weight"):
    return trial.tensor(name).steps() if trial.has_tensor(name) else []


EDITS = [
    lambda hook, c: c.include_regex.append("fc1.weight"),
    lambda hook, c: c.include("fc1.weight"),
    lambda hook, c: setattr(c, "include_regex", ["fc1.weight"]),
    lambda hook, c: c.tensor_names.add("Net_fc1.weight"),
    lambda hook, c: c.add_tensor_name("Net_fc1.weight"),
    lambda hook, c: setattr(c, "tensor_names", ["Net_fc1.weight"]),
    lambda hook, c: hook.add_collection(smd.Collection("mine", include_regex=["fc1.weight"])),
]


@pytest.mark.parametrize("edit", EDITS)
def test_a_running_hook_takes_up_an_edit_of_its_collections(edit, out_dir):
    with smd.Hook(
        out_dir, include_collections=["mine"], save_config=SaveConfig(save_interval=1)
    ) as hook:
        collection = hook.get_collection("mine")
        collection.include("fc2.weight")
        model = Net()
        hook.register_module(model)
        step(model)
        edit(hook, collection)
        step(model)
    assert saved(read(out_dir)) == [1]


SAVE_EDITS = [
    lambda c: setattr(c, "save_interval", 1),
    lambda c: c.save_steps.extend([1, 2]),
    lambda c: c.get_save_config(modes.GLOBAL).save_steps.append(1),
    lambda c: [c.set_save_config(mode, SaveConfigMode(1)) for mode in modes],
]


@pytest.mark.parametrize("edit", SAVE_EDITS)
@pytest.mark.parametrize("where", ["of the collection", "of the hook", "given to both"])
def test_a_running_hook_takes_up_an_edit_of_a_save_config(edit, where, out_dir):
    config = SaveConfig(save_interval=100)
    given = SaveConfig(save_interval=100)
    with smd.Hook(out_dir, include_collections=["mine", "weights"], save_config=config) as hook:
        collection = hook.get_collection("mine")
        collection.include("fc1.weight")
        if where == "given to both":
            collection.save_config = given
        model = Net()
        hook.register_module(model)
        step(model)
        edit({"of the collection": collection.save_config, "of the hook": config}.get(where, given))
        step(model)
    name = "Net_fc2.weight" if where == "of the hook" else "Net_fc1.weight"
    assert saved(read(out_dir), name) == [0, 1]


def test_a_running_hook_takes_up_an_edit_of_a_reduction_config(out_dir):
    config = ReductionConfig(reductions=["min"])
    with smd.Hook(
        out_dir,
        include_collections=["weights"],
        reduction_config=config,
        save_config=SaveConfig(save_interval=1),
    ) as hook:
        model = Net()
        hook.register_module(model)
        step(model)
        config.reductions.append("max")
        config.save_raw_tensor = True
        step(model)
    tensor = read(out_dir).tensor("Net_fc1.weight")
    assert tensor.reduction_value(0, "min") is not None
    assert tensor.reduction_value(1, "max") == tensor.value(1).max()


def test_an_edit_that_is_replaced_by_an_older_object_is_seen(out_dir):
    """Whatever counts edits must not come back to a number that it had."""
    every = SaveConfig(save_interval=1)
    never = SaveConfig(save_interval=100)
    for _ in range(3):
        never.end_step = 50
    with smd.Hook(out_dir, include_collections=["mine"], save_config=never) as hook:
        collection = smd.Collection("mine", "fc1.weight", save_config=never)
        hook.add_collection(collection)
        model = Net()
        hook.register_module(model)
        step(model)
        collection.save_config = every
        step(model)
        other = smd.Collection("mine", "fc1.weight", save_config=never)
        hook.add_collection(other)
        step(model)
    assert saved(read(out_dir)) == [0, 1]


def test_a_wrong_edit_of_a_running_hook_leaves_the_training_alone(out_dir, capfd):
    with smd.Hook(out_dir, save_all=True, save_config=SaveConfig(save_interval=1)) as hook:
        model = Net()
        hook.register_module(model)
        step(model)
        hook.get_collection("mine").include_regex.append("(")
        step(model)
        assert hook.status().state == "active"
    assert saved(read(out_dir)) == [0, 1]


def test_edits_from_another_thread_while_steps_run(out_dir):
    over = threading.Event()

    def keep_editing(collection):
        number = 0
        while not over.is_set():
            collection.tensor_names.add(f"t{number % 50}")
            collection.include_regex.append("fc1")
            collection.include_regex.pop()
            collection.save_config.save_interval = 1 + number % 2
            collection.reduction_config = ReductionConfig(["max"]) if number % 3 else None
            number += 1

    with smd.Hook(out_dir, save_all=True, save_config=SaveConfig(save_interval=1)) as hook:
        model = Net()
        hook.register_module(model)
        collection = hook.get_collection("mine")
        collection.include("fc2")
        thread = threading.Thread(target=keep_editing, args=(collection,))
        thread.start()
        try:
            for _ in range(60):
                step(model)
        finally:
            over.set()
            thread.join()
        assert hook.status().error is None
    assert saved(read(out_dir)) == list(range(60))
