"""SaveConfig, ReductionConfig, Collection: what is accepted, what is refused and where."""

import random

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


def test_configurations_come_back_from_json():
    save = SaveConfig({modes.TRAIN: SaveConfigMode(3, 1, 9, [2])})
    assert save.to_json() == (
        '{"TRAIN": {"save_interval": 3, "save_steps": [2], "start_step": 1, "end_step": 9}, '
        '"EVAL": null, "PREDICT": null, "GLOBAL": null}'
    )
    assert SaveConfig.from_json(save.to_json()) == save
    reduction = ReductionConfig(reductions=["mean"], norms=["l1"], abs_norms=["l2"])
    assert reduction.to_json() == (
        '{"save_raw_tensor": false, "reductions": "mean,l1_norm,abs_l2_norm", "save_shape": false}'
    )
    assert ReductionConfig.from_json(reduction.to_json()) == reduction


def test_a_dict_of_configurations_takes_default_values():
    config = SaveConfig.from_dict({"TRAIN": {"save_interval": "3"}}, {"start_step": 4})
    assert config == SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=3, start_step=4)})


def test_merging_gives_each_missing_mode_that_of_the_default():
    default = SaveConfig({modes.EVAL: SaveConfigMode(save_interval=7)})
    config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=3)})
    config.merge_default_save_config(default)
    assert config.get_save_config(modes.TRAIN).save_interval == 3
    assert config.get_save_config(modes.EVAL) is default.get_save_config(modes.EVAL)
    assert config.get_save_config(modes.PREDICT) == SaveConfigMode()


def test_flags_of_a_reduction_config_may_be_text_in_a_dict():
    config = ReductionConfig.from_dict({"reductions": "mean", "save_raw_tensor": "True"})
    assert config == ReductionConfig(reductions=["mean"], save_raw_tensor=True)
    assert ReductionConfig.from_dict({"save_shape": "false"}) == ReductionConfig()
    with pytest.raises(SMDebugValueError, match="perhaps"):
        ReductionConfig.from_dict({"save_shape": "perhaps"})


def model_is_due(config, step):
    """Spec 6.1, in Python."""
    if config is None:
        config = {}
    end = config.get("end_step")
    in_range = config.get("start_step", 0) <= step and (end is None or step < end)
    return step in config.get("save_steps", []) or (
        in_range and step % config.get("save_interval", 500) == 0
    )


def random_mode_config(random):
    choices = {
        "save_interval": lambda: random.randint(1, 9),
        "start_step": lambda: random.randint(0, 20),
        "end_step": lambda: random.randint(0, 30),
        "save_steps": lambda: [random.randint(0, 40) for _ in range(2)],
    }
    return {key: make() for key, make in choices.items() if random.random() < 0.5}


def random_config(random):
    return {mode: random_mode_config(random) for mode in modes if random.random() < 0.7}


def made(config):
    """The SaveConfig of a dict of modes."""
    return SaveConfig({mode: SaveConfigMode(**one) for mode, one in config.items()})


def test_random_configurations_save_what_a_model_of_the_specification_saves():
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    numbers = random.Random(seed)
    for _ in range(100):
        of_hook, of_collection = random_config(numbers), random_config(numbers)
        hook, collection = made(of_hook), made(of_collection)
        merged = collection.copy()
        merged.merge_default_save_config(hook)
        again = SaveConfig.from_json(merged.to_json())
        for mode in modes:
            mine = of_collection.get(mode, of_hook.get(mode))
            for step in range(45):
                due = model_is_due(mine, step)
                assert merged.should_save_step(mode, step) == due
                assert again.should_save_step(mode, step) == due
                assert hook.should_save_step(mode, step) == model_is_due(of_hook.get(mode), step)


def test_the_old_import_paths_name_the_same_things():
    from smdebug.core import (
        collection,
        config_constants,
        error_handling_agent,
        json_config,
        logger,
        reduction_config,
        save_config,
        utils,
    )
    from smdebug.core import modes as core_modes
    from smdebug.json_config import create_hook_from_json_config
    from smdebug.log import get_logger

    assert core_modes.ModeKeys is modes
    assert collection.Collection is Collection
    assert collection.CollectionKeys is smdebug.CollectionKeys
    assert save_config.SaveConfigMode is SaveConfigMode
    assert reduction_config.ALLOWED_NORMS == ["l1", "l2"]
    assert "median" in reduction_config.ALLOWED_REDUCTIONS
    assert json_config.create_hook_from_json_config is create_hook_from_json_config
    assert logger.get_logger is get_logger
    assert utils.FRAMEWORK.PYTORCH.value == "pytorch"
    assert isinstance(utils.error_handling_agent, error_handling_agent.ErrorHandlingAgent)
    assert config_constants.DEFAULT_CONFIG_FILE_PATH == (
        "/opt/ml/input/config/debughookconfig.json"
    )
    assert config_constants.DEFAULT_SAGEMAKER_OUTDIR == "/opt/ml/output/tensors"
