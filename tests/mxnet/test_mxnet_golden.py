"""The programs of the golden MXNet runs, run with our hook (tests/golden/README.md)."""

import json
import pathlib
import subprocess
import sys

import pytest

import smdebug.mxnet as smd

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"


def rewrite(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "ignore", GOLDEN / "rewrite.py", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_run_with_reductions_is_written_as_the_original_wrote_it():
    check = rewrite("mxnet_reductions")
    assert check.returncode == 0, check.stdout + check.stderr
    assert "0 differ" in check.stdout and "accepted" not in check.stdout


def test_the_run_with_modes_differs_from_the_originals_only_where_the_original_is_wrong():
    differences = pathlib.Path(__file__).parent / "golden_differences.toml"
    check = rewrite("--accept", differences, "mxnet_modes")
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.fixture(scope="module")
def modes_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    script = GOLDEN / "make/mxnet_runs.py"
    subprocess.run(
        [sys.executable, "-W", "ignore", script, "mxnet_modes"], cwd=folder, check=True, timeout=120
    )
    return smd.create_trial(folder / "mxnet_modes/run")


def expected():
    return json.loads((GOLDEN / "mxnet_modes/expected.json").read_text())["trial"]


def test_names_and_collections_are_the_originals(modes_run):
    original = expected()
    assert sorted(modes_run.tensor_names()) == original["tensor_names"]
    for name, answer in original["collections"].items():
        ours = modes_run.collections()[name]
        assert sorted(ours.tensor_names) == answer["tensor_names"]
        assert ours.include_regex == answer["include_regex"]
        names = original["tensor_names_by_collection"][name]
        assert sorted(modes_run.tensor_names(collection=name)) == names


def test_steps_are_the_originals_and_those_of_the_scalars_between(modes_run):
    original = expected()["steps"]
    weights = {
        mode: modes_run.tensor("net_dense0_weight").steps(mode=smd.modes[mode])
        for mode in ("TRAIN", "EVAL")
    }
    assert weights == {mode: original[mode] for mode in weights}
    # The original moves the scalar of an unsaved step to the next saved one.
    assert modes_run.tensor("scalar/lr").steps() == list(range(7))


def test_what_the_original_lost_when_the_mode_changed_is_there(modes_run):
    """A training step followed by an evaluation: the original asked whether the evaluation's step
    was due, and saved no parameters and gradients of the training's."""
    lost = {"gradient/net_dense0_weight", "net_dense0_weight"}
    assert not lost & set(expected()["tensor_names_by_step"]["2"])
    assert lost < set(modes_run.tensor_names(step=2))
    # What it saved of the evaluation instead were the gradients of the training before.
    assert "gradient/net_dense0_weight" in expected()["tensor_names_by_step"]["4"]
    assert "gradient/net_dense0_weight" not in modes_run.tensor_names(step=4)
