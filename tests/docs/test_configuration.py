"""The documents' configurations are files of examples/configuration, which run as they are."""

import pathlib
import runpy
import sys

import pytest

from smdebug import _core

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/configuration"


@pytest.fixture
def lines_of(monkeypatch, capsys):
    """Runs an example and returns what it printed."""

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_save_config_saves_the_steps_that_the_documents_name(lines_of):
    assert lines_of("saving_steps.py") == [
        "every 500th: 0, 500, 1000 (3 of 1001)",
        "every step: 0, 1, 2, 3 (1001 of 1001)",
        "up to 200, exclusive: 0, 100 (2 of 1001)",
        "up to 201, exclusive: 0, 100, 200 (3 of 1001)",
        "from 150: 200, 300, 400, 500 (9 of 1001)",
        "3, 7 and every 500th: 0, 3, 7, 500 (5 of 1001)",
        "TRAIN: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
        "EVAL: [0, 2, 4, 6, 8, 10, 12]",
        "PREDICT: [0, 3, 6, 9, 12]",
        "GLOBAL: [0, 4, 8, 12]",
        "EVAL at 500: True",
    ]


def test_reduction_config_saves_what_torch_computes(tmp_path, lines_of):
    assert lines_of("saving_reductions.py", tmp_path / "run") == [
        "std: True",
        "variance: True",
        "abs mean: True",
        "l1: True",
    ]


def test_each_collection_is_saved_in_its_own_way(tmp_path, lines_of):
    *tensors, collections = lines_of("tensor_collections.py", tmp_path / "run")
    assert tensors == [
        "Sequential_fc1.bias: [0, 3]",
        "Sequential_fc1.weight: [0, 2]",
        "Sequential_fc2.bias: [0, 3]",
        "Sequential_fc2.weight: [0, 2]",
        "fc1_input_0: [0, 2]",
        "gradient/Sequential_fc1.bias: [0, 3]",
        "gradient/Sequential_fc2.bias: [0, 3]",
        "relu_output_0: [0, 2]",
    ]
    assert "activations" in collections and "unused" in collections


@pytest.mark.parametrize(
    "name, expected",
    [
        (
            "built_in_collections.json",
            {
                "CrossEntropyLoss_output_0": "[0, 5, 10] [0, 5, 10]",
                "Sequential_0.weight": "[0, 5, 10] [0, 5, 10]",
                "Sequential_0.bias": "[0, 5, 10] [0, 5, 10]",
                "Sequential_2.weight": "[0, 5, 10] [0, 5, 10]",
                "Sequential_2.bias": "[0, 5, 10] [0, 5, 10]",
                "gradient/Sequential_0.weight": "[0, 5, 10] []",
                "gradient/Sequential_0.bias": "[0, 5, 10] []",
                "gradient/Sequential_2.weight": "[0, 5, 10] []",
                "gradient/Sequential_2.bias": "[0, 5, 10] []",
            },
        ),
        ("losses_by_mode.json", {"CrossEntropyLoss_output_0": "[0, 10] [0, 5, 10]"}),
        (
            "custom_collection.json",
            {"1_output_0": "[0] [0]", "CrossEntropyLoss_output_0": "[0] [0]"},
        ),
    ],
)
def test_a_json_file_configures_a_script_that_says_nothing(
    tmp_path, name, expected, lines_of, monkeypatch
):
    path = tmp_path / name
    path.write_text((EXAMPLES / name).read_text().replace("OUT_DIR", str(tmp_path / "run")))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    lines = lines_of("from_json.py")
    assert dict(line.split(": ") for line in lines) == expected


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.name)
def test_every_key_that_the_documents_name_is_known(path):
    file = _core.load_hook_config(str(path), _core.pytorch_framework(), _core.JobEnvironment())
    assert file.warnings == []
