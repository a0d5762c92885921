"""SaveConfig, ReductionConfig, Collection: what is accepted, what is refused and where."""

import pytest

import smdebug
from smdebug import modes
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig, SaveConfigMode


def saved_steps(config, until, mode=modes.TRAIN):
    return [step for step in range(until) if config.should_save_step(mode, step)]


@pytest.mark.parametrize(
    "arguments, until, expected",
    [
        ({}, 1001, [0, 500, 1000]),
        ({"save_interval": 100, "end_step": 200}, 400, [0, 100]),
        ({"save_interval": 100, "end_step": 201}, 400, [0, 100, 200]),
        ({"save_interval": 100, "start_step": 150}, 400, [200, 300]),
        ({"save_steps": [3, 7]}, 501, [0, 3, 7, 500]),
        ({"save_interval": 4, "start_step": 3, "end_step": 9, "save_steps": [1, 10]}, 20,
         [1, 4, 8, 10]),
        ({"save_interval": "4"}, 9, [0, 4, 8]),
        ({"end_step": 0}, 501, []),
    ],
)  # fmt: skip
def test_save_config_saves_the_documented_steps(arguments, until, expected):
    assert saved_steps(SaveConfig(**arguments), until) == expected


def test_a_mode_that_is_left_out_takes_the_default():
    config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=1)})
    assert saved_steps(config, 3) == [0, 1, 2]
    assert saved_steps(config, 501, modes.EVAL) == [0, 500]


def test_a_property_of_save_config_sets_every_mode():
    config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=1)})
    config.end_step = 0
    assert [saved_steps(config, 600, mode) for mode in modes] == [[], [], [], []]


def test_save_config_is_compared_by_value():
    assert SaveConfig(save_interval=3) == SaveConfig(save_interval=3.0)
    assert SaveConfig(save_interval=3) != SaveConfig(save_interval=4)
    assert SaveConfig.parse(SaveConfigMode(save_interval=3)) == SaveConfig(save_interval=3)
    assert SaveConfig.parse({"TRAIN": {"save_interval": 3}}) == SaveConfig(
        {modes.TRAIN: SaveConfigMode(save_interval=3)}
    )


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: SaveConfig(save_interval=0), SMDebugValueError, "0"),
        (lambda: SaveConfig(save_interval=-3), SMDebugValueError, "-3"),
        (lambda: SaveConfig(save_interval="often"), SMDebugValueError, "often"),
        (lambda: SaveConfig(save_steps="1,2"), SMDebugValueError, "1,2"),
        (lambda: SaveConfig({"TRAIN": SaveConfigMode()}), SMDebugValueError, "TRAIN"),
        (lambda: SaveConfig({modes.TRAIN: 3}), SMDebugValueError, "3"),
        (lambda: SaveConfig([1]), SMDebugTypeError, "[1]"),
        (lambda: SaveConfig.parse(7), SMDebugTypeError, "7"),
        (lambda: SaveConfig.parse({"TRAINING": {}}), SMDebugValueError, "TRAINING"),
        (lambda: ReductionConfig(reductions=["avg"]), SMDebugValueError, "avg"),
        (lambda: ReductionConfig(reductions="mean"), SMDebugValueError, "mean"),
        (lambda: ReductionConfig(norms=["l3"]), SMDebugValueError, "l3"),
        (lambda: ReductionConfig(reductions=["l1"]), SMDebugValueError, "l1"),
        (lambda: ReductionConfig(save_raw_tensor="yes"), SMDebugValueError, "yes"),
        (lambda: ReductionConfig.from_dict({"reductions": "mean,typo"}), SMDebugValueError, "typo"),
        (lambda: Collection(3), SMDebugTypeError, "3"),
        (lambda: Collection("a", include_regex="["), SMDebugValueError, "["),
        (lambda: Collection("a").include("(?P<x"), SMDebugValueError, "(?P<x"),
        (lambda: Collection("a").include(5), SMDebugTypeError, "5"),
        (lambda: Collection("a", tensor_names="x"), SMDebugTypeError, "x"),
        (lambda: Collection("a", save_config=5), SMDebugTypeError, "5"),
        (lambda: Collection("a", reduction_config={}), SMDebugTypeError, "{}"),
    ],
)
def test_a_mistake_raises_at_the_call_that_made_it(make, error, words):
    with pytest.raises(error) as raised:
        make()
    assert words in str(raised.value)


def test_reduction_config_spells_its_operations_as_on_disk():
    config = ReductionConfig(
        reductions=["min", "median"], abs_reductions=["mean"], norms=["l1"], abs_norms=["l2_norm"]
    )
    assert config.ops_text() == "min,median,l1_norm,abs_mean,abs_l2_norm"
    assert ReductionConfig.from_dict({"reductions": config.ops_text()}) == config
    assert ReductionConfig.from_dict({"reductions": "l2, abs_l1"}).norms == ["l2"]


def test_a_collection_comes_back_from_json():
    collection = Collection(
        "acts",
        ["relu.*_output"],
        {"b", "a"},
        ReductionConfig(reductions=["mean"]),
        SaveConfig(save_interval=3),
        save_histogram=False,
    )
    assert Collection.from_json(collection.to_json()) == collection
    assert hash(collection) == hash(Collection("acts"))


def test_the_package_names_what_scripts_import():
    assert smdebug.modes.TRAIN.value == 1
    assert smdebug.SaveConfig is SaveConfig
    assert smdebug.CollectionKeys.LOSSES == "losses"
    assert smdebug.__version__ == "2.0.0"
    with pytest.raises(AttributeError, match="nonsense"):
        smdebug.nonsense  # noqa: B018
