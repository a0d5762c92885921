"""Mistakes in collections and their patterns: each message names the mistake and the remedy."""

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, record_two_steps, train
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.trials import create_trial
from smdebug.valid_configuration import valid_configuration


def test_a_recorded_value_that_no_collection_saves_is_logged_once(hook, tmp_path, capfd):
    model = Net()
    hook.register_module(model)
    for value in (2.0, 3.0):
        model(torch.ones(2, 4))
        hook.record_tensor_value("mse", torch.tensor([value]))
        hook.record_tensor_value("my_loss", torch.tensor([value]))
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("the value 'mse' is in no collection that is saved: record a loss") == 1
    assert "my_loss_output_0" in read(tmp_path / "run").tensor_names(collection="losses")
    assert "'my_loss'" not in logged


def test_a_pattern_that_is_wrong_at_its_start_is_refused_with_this_place(tmp_path):
    with pytest.raises(SMDebugValueError, match=r"'\*x' does not compile: .* at its start"):
        smd.Hook(tmp_path / "run", include_regex="*x")


def test_an_edit_of_the_configuration_logs_the_location_and_a_wrong_pattern_once(tmp_path, capfd):
    hook = smd.Hook(
        tmp_path / "run", include_regex="nosuch", save_config=smd.SaveConfig(save_interval=1)
    )
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.get_collection("weights").include("another")
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("recording to") == 1
    assert logged.count("'nosuch' matched no tensor") == 1


def test_an_empty_collection_of_ones_own_is_reported_with_what_to_do(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", save_all=True)
    hook.get_collection("mine")
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    assert (
        "nothing belongs to collection 'mine': it has neither patterns nor tensor names; fill it "
        "with hook.get_collection('mine').include(pattern) or add_module_tensors(module), or do "
        "not create it\n"
    ) in capfd.readouterr().err


def test_more_collections_than_possible_are_told_once_and_the_first_are_saved(tmp_path, capfd):
    hook = smd.Hook(
        tmp_path / "run",
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["c0", "c1", "c399"],
    )
    for number in range(400):
        hook.get_collection(f"c{number}").include(f"fc{number}.weight")
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    told = [line for line in capfd.readouterr().err.splitlines() if "at most" in line]
    assert len(told) == 1 and "are ignored: " in told[0]
    assert "Net_fc1.weight" in read(tmp_path / "run").tensor_names()


@pytest.mark.parametrize(
    ("pattern", "text"), [("(", "pattern '(' does not compile"), (5, "must hold text, found 5")]
)
def test_one_pattern_with_a_mistake_leaves_the_other_edits_as_they_are(
    tmp_path, capfd, pattern, text
):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1))
    model = Net()
    hook.register_module(model)
    hook.include_collections.append("biases")
    hook.include_regex.append("fc1.weight")
    hook.include_regex.append(pattern)
    hook.get_collection("mine").include("fc2.weight")
    hook.include_collections.append("mine")
    train(model, 2)
    hook.close()
    names = read(tmp_path / "run").tensor_names()
    assert {"Net_fc1.weight", "Net_fc1.bias", "Net_fc2.weight"} <= set(names)
    logged = capfd.readouterr().err
    assert logged.count("a pattern is ignored: include_regex") == 1
    assert text in logged


def test_a_collection_that_is_filled_but_not_included_is_logged_at_the_end(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", include_collections=["weights", "saved"])
    hook.get_collection("saved").include("fc1")
    hook.get_collection("forgotten").include("fc2")
    hook.get_collection("biases")  # only looked at
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    logged = [line for line in capfd.readouterr().err.splitlines() if "is not saved" in line]
    assert logged == [
        "smdebug: warning: collection 'forgotten' selects tensors, but is not saved: add it to "
        "include_collections"
    ]


class CountingRevision:
    """A ConfigRevision that counts the objects that it was given."""

    def __init__(self, revision):
        self._revision = revision
        self.followed = 0

    def follow(self, objects):
        objects = list(objects)
        self.followed += len(objects)
        self._revision.follow(objects)

    def __getattr__(self, name):
        return getattr(self._revision, name)


def test_collections_are_followed_once_however_many_a_script_adds(tmp_path):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1))
    hook._revision = revision = CountingRevision(hook._revision)
    for number in range(200):
        hook.add_collection(smd.Collection(f"c{number}", include_regex=[f"x{number}"]))
    model = Net()
    hook.register_module(model)
    train(model, 3)
    assert 200 <= revision.followed < 300
    hook.get_collection("c7").include("fc1.weight")  # an edit of one of them is still seen
    hook.include_collections.append("c7")
    train(model, 1)
    hook.close()
    assert read(tmp_path / "run").tensor("Net_fc1.weight").steps() == [3]


def test_mistakes_are_searched_in_each_collection_once():
    checked = []

    def snapshot(collections, names, patterns):
        checked.append(len(collections) + len(names) + len(patterns))
        if any(each.name == "bad" for each in collections):
            raise SMDebugValueError("it is bad")
        return list(collections), list(names), list(patterns)

    collections = [smd.Collection(f"c{number}") for number in range(1000)]
    collections.insert(500, smd.Collection("bad"))
    reported, left_out = [], set()
    patterns = [f"p{number}" for number in range(1000)]
    kept, names, kept_patterns = valid_configuration(
        snapshot,
        collections,
        [each.name for each in collections],
        patterns,
        lambda config: None,
        reported.append,
        left_out,
    )
    assert [each.name for each in kept] == names == [f"c{number}" for number in range(1000)]
    assert reported == ["a collection is ignored: collection 'bad': it is bad"]
    assert left_out == {"bad"}
    assert kept_patterns == patterns
    assert sum(checked) < 10 * 1000


def test_a_misspelled_collection_of_a_hook_is_logged_once_with_the_nearest_name(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1))
    hook.get_collection("weigths").save_histogram = True
    hook.get_collection("mine"), hook.get_collection("yours")
    hook.get_collection("relu_output"), hook.get_collection("weights")
    model = Net()
    hook.register_module(model)
    train(model, 2, on_step=lambda step: hook.save_tensor("x", np.ones(2), "yours"))
    assert capfd.readouterr().err.count("'weigths': it has neither patterns nor tensor names") == 1
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("nothing belongs to collection 'mine'") == 1
    assert logged.count("nothing belongs to") == 1


def log_of(capfd, out_dir, names, *, model=None, optimizer=None, prepare=lambda hook: None):
    """The log of three steps with these collections."""
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir, include_collections=names, save_config=every_step)
    model = model or Net()
    hook.register_module(model)
    prepare(hook)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 1])).backward()
        optimizer.step()
    hook.close()
    return capfd.readouterr().err


EMPTY = {
    "tanh_input": "the registered models have no module nn.Tanh, and functions such as torch.tanh",
    "buffers": "the registered models have no buffers, such as the running mean of BatchNorm",
    "optimizer_state": "the optimizer of this training, SGD, keeps no state; SGD has one with mom",
    "labels": "no loss is registered: pass the loss module to hook.register_loss(loss_fn)",
}


def test_a_built_in_collection_that_stays_empty_is_logged_with_the_reason(tmp_path, capfd):
    logged = log_of(capfd, tmp_path / "run", [*EMPTY, "relu_output", "inputs", "learning_rate"])
    for name, reason in EMPTY.items():
        assert logged.count(f"collection '{name}' should be saved, but {reason}") == 1
    assert logged.count("should be saved, but") == len(EMPTY)
    assert "include_regex" not in logged and "names that were seen" not in logged


def test_a_state_that_no_saved_step_has_is_logged_with_the_reason(tmp_path, capfd):
    model = Net()
    other = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))])
    logged = log_of(
        capfd, tmp_path / "run", ["optimizer_state", "weights"], model=model, optimizer=other
    )
    assert "'optimizer_state' should be saved, but no optimizer of torch.optim has upd" in logged
    model.requires_grad_(False)
    model.fc2.requires_grad_(True)
    logged = log_of(capfd, tmp_path / "frozen", ["gradients"], model=model)
    assert "'gradients' should be" not in logged


def test_a_pattern_that_is_added_to_the_losses_is_the_only_one_that_is_logged(tmp_path, capfd):
    def prepare(hook):
        hook.get_collection("losses").include("my_loss")

    logged = log_of(capfd, tmp_path / "run", ["losses", "buffers"], prepare=prepare)
    said = "'losses' should be saved, but 'my_loss' matched no tensor of the first saved step, and"
    assert said + " no loss was seen there: pass a loss module to hook.register_loss" in logged
    assert "[Ll]oss_" not in logged


def test_the_name_of_a_module_in_a_collection_is_refused_with_the_module(hook):
    collection = hook.get_collection("mine")
    with pytest.raises(SMDebugTypeError, match=r"pass the module itself, .*get_submodule\('fc1'\)"):
        collection.add_module_tensors("fc1")
    for method in ("add_block_tensors", "add_keras_layer"):
        with pytest.raises(AttributeError, match=f"'{method}'; use add_module_tensors"):
            getattr(collection, method)
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'$"):
        collection.nosuch  # noqa: B018


def test_a_regex_and_a_collection_of_another_type_are_refused(tmp_path):
    record_two_steps(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    with pytest.raises(SMDebugTypeError, match="a regex is text or a list of texts, found 5"):
        trial.tensor_names(regex=5)
    with pytest.raises(SMDebugTypeError, match="must be a Collection or its name, found 5"):
        trial.tensor_names(collection=5)


def test_a_collection_that_does_not_exist_is_looked_up_with_the_nearest_names(hook, tmp_path):
    record_two_steps(tmp_path / "other")
    trial = create_trial(tmp_path / "other")
    for collections in (
        hook.get_collections(),
        trial.collections(),
        trial.collection_manager.get_collections(),
    ):
        with pytest.raises(KeyError, match="no collection 'weigths'; the nearest .* 'weights'"):
            collections["weigths"]
        assert collections.get("weigths") is None
    with pytest.raises(KeyError, match="no collection 5; there are 'weights', "):
        collections[5]
