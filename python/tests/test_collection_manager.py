"""CollectionManager: collections by name, and the file that holds them."""

import json
import os

import pytest

import smdebug.pytorch as smd
from conftest import Net, train
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError

# What the original wrote: spec §4.
THEIRS = (
    '{"collections": {"losses": {"name": "losses", "include_regex": ["[Ll]oss_(?!input).*output"],'
    ' "tensor_names": ["MSELoss_output_0"], "reduction_config": {"save_raw_tensor": true,'
    ' "reductions": "", "save_shape": false}, "save_config": {"TRAIN": {"save_interval": 500,'
    ' "save_steps": [], "start_step": 0, "end_step": null}, "EVAL": null, "PREDICT": null,'
    ' "GLOBAL": null}, "save_histogram": false}}, "_meta": {"num_workers": 1}}'
)


def test_a_file_of_the_original_comes_back_byte_for_byte(tmp_path):
    manager = CollectionManager.load_from_string(THEIRS)
    losses = manager.get("losses")
    assert losses.has_tensor_name("MSELoss_output_0")
    assert losses.save_config.get_save_config(smd.modes.TRAIN) == smd.SaveConfigMode()
    assert losses.save_config.get_save_config(smd.modes.EVAL) is None
    assert losses.reduction_config == smd.ReductionConfig(save_raw_tensor=True)
    assert losses.save_histogram is False
    assert json.dumps(manager.to_json_dict()) == THEIRS

    manager.export(tmp_path, "worker_0_collections.json")
    file = tmp_path / "collections/000000000/worker_0_collections.json"
    assert file.read_text() == THEIRS
    assert CollectionManager.load(file) == manager


def test_a_file_that_is_too_large_for_collections_is_refused_unread(tmp_path):
    file = tmp_path / "worker_0_collections.json"
    with open(file, "wb") as zeros:
        zeros.truncate(1 << 40)  # takes no space on the disk
    with pytest.raises(SMDebugError, match="has more than 134217728 bytes: too large"):
        CollectionManager.load(file)


def test_a_file_is_loaded_through_a_link(tmp_path, monkeypatch):
    (tmp_path / "real.json").write_text(THEIRS)
    (tmp_path / "link.json").symlink_to("real.json")
    monkeypatch.chdir(tmp_path)
    assert CollectionManager.load("link.json") == CollectionManager.load_from_string(THEIRS)


def test_what_is_no_file_of_collections_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        CollectionManager.load(tmp_path / "nowhere.json")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(SMDebugError, match=r"pipe\.json"):
        CollectionManager.load(tmp_path / "pipe.json")
    (tmp_path / "latin.json").write_bytes(b'{"collections": {"caf\xe9": 1}}')
    with pytest.raises(SMDebugValueError):
        CollectionManager.load(tmp_path / "latin.json")


def test_the_file_of_a_hook_is_loaded(out_dir):
    hook = smd.Hook(out_dir, save_all=True, include_workers="all")
    hook.get_collection("mine").include("relu")
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    path = f"{out_dir}/collections/000000000/worker_0_collections.json"
    manager = CollectionManager.load(path, smd.Collection)
    assert isinstance(manager.get("mine"), smd.Collection)
    assert "relu_output_0" in manager.get("mine").tensor_names
    with open(path) as file:
        assert json.dumps(manager.to_json_dict()) == file.read()


def test_collections_are_made_replaced_and_kept_in_order():
    manager = CollectionManager()
    manager.add("z")
    manager.create_collection("a", cls=smd.Collection)
    mine = Collection("z", include_regex=["x"])
    manager.add(mine)
    assert manager.get("z") is mine
    manager.create_collection("z")
    assert manager.get("z") is mine
    assert isinstance(manager.get("a"), smd.Collection)
    assert list(manager.get_collections()) == ["z", "a"]
    assert manager.get("new").include_regex == []
    assert len(manager) == 3


def test_the_number_of_workers_is_kept():
    manager = CollectionManager()
    assert manager.get_num_workers() == 1
    manager.set_num_workers(3)
    assert CollectionManager.load_from_string(json.dumps(manager.to_json_dict())) == manager
    assert manager != CollectionManager()


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda m: m.get("absent", create=False), SMDebugError, "absent"),
        (lambda m: m.get(["a"]), SMDebugTypeError, "['a']"),
        (lambda m: m.add(3), SMDebugTypeError, "3"),
        (lambda m: m.set_num_workers(0), SMDebugValueError, "0"),
        (lambda m: m.set_num_workers("2"), SMDebugValueError, "2"),
        (lambda m: m.load_from_string("{"), SMDebugValueError, "line 1"),
        (lambda m: m.load_from_string('{"x": 1}'), SMDebugValueError, "collections"),
        (lambda m: m.load("no/such/file"), FileNotFoundError, "no/such/file"),
        (lambda m: m.export("/tmp", "../../x"), SMDebugValueError, ".."),
    ],
)
def test_a_mistake_raises_at_the_call_that_made_it(call, error, words):
    with pytest.raises(error) as raised:
        call(CollectionManager())
    assert words in str(raised.value)


@pytest.mark.parametrize("wrong", [-1, "10", 1.5, None, True])
def test_an_invalid_number_of_elements_is_refused_when_it_is_set(wrong):
    collection = Collection("outputs")
    collection.max_elements = 5
    with pytest.raises(SMDebugValueError, match="max_elements of collection 'outputs' must be"):
        collection.max_elements = wrong
    assert collection.max_elements == 5
