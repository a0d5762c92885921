"""Our hook writes what the original wrote for the same program: every tensor, at every step."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import smdebug.xgboost as smd

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
# What the original's patterns leave out (tests/golden/rewrite_differences.toml).
ADDED = {
    "xgboost_all": set(),
    "xgboost_default": {"train-error@0.7", "validation-error@0.7"},
}
# How many tensors each collection of the original's runs holds.
COLLECTED = {
    "xgboost_all": {"average_shap": 4, "feature_importance": 10, "full_shap": 4}
    | {"hyperparameters": 6, "labels": 1, "losses": 4, "metrics": 4, "predictions": 1, "trees": 11},
    "xgboost_default": {"losses": 2, "metrics": 4},
}


def write_again(case, folder):
    done = subprocess.run(
        [sys.executable, GOLDEN / "make/xgboost_runs.py", case],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return smd.create_trial(str(folder / case / "run"), timeout=5)


@pytest.mark.parametrize("case", ADDED)
def test_every_tensor_of_the_original_is_written_again(case, tmp_path):
    theirs = smd.create_trial(str(GOLDEN / case / "run"))
    ours = write_again(case, tmp_path)
    assert ours.steps() == theirs.steps()
    assert set(ours.tensor_names()) - set(theirs.tensor_names()) == ADDED[case]
    for name in theirs.tensor_names():
        assert ours.tensor(name).steps() == theirs.tensor(name).steps()
        for step in theirs.tensor(name).steps():
            expected, found = (each.tensor(name).value(step) for each in (theirs, ours))
            assert (found.dtype.kind, found.shape) == (expected.dtype.kind, expected.shape), name
            if expected.dtype.kind == "U":
                assert found.tolist() == expected.tolist(), name
            else:
                assert found.dtype == expected.dtype
                # Means of SHAP values cancel; the original adds them up in float32.
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("case", ADDED)
def test_a_tensor_is_in_the_collections_that_the_original_says(case, tmp_path):
    theirs = smd.create_trial(str(GOLDEN / case / "run"))
    ours = write_again(case, tmp_path)
    collections = theirs.collections()
    counts = {name: len(theirs.tensor_names(collection=name)) for name in collections}
    assert {name: count for name, count in counts.items() if count} == COLLECTED[case]
    for collection in collections:
        expected = set(theirs.tensor_names(collection=collection))
        found = set(ours.tensor_names(collection=collection))
        assert expected <= found, collection
        assert all("error@0.7" in name for name in found - expected), collection
