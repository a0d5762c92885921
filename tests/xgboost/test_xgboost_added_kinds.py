"""Every kind of argument that adds tensors to a collection of a hook for XGBoost: it is taken, or
refused by the call itself and changes nothing; the training is the one without a hook."""

import pandas as pd
import pytest
import scipy.sparse
import xgboost
from added_kinds import (
    INCLUDED,
    ODD,
    check_is_refused_everywhere,
    check_save_all_is_what_scripts_pass,
)

import smdebug.xgboost as smd
from conftest import EVERY_ROUND, binary, train
from smdebug.exceptions import SMDebugTypeError

# Name -> makes what no collection takes.
REFUSED = {
    **ODD,
    "DMatrix": binary,
    "Booster": xgboost.Booster,
    "callback": lambda: xgboost.callback.EarlyStopping(rounds=3),
    "Series": lambda: pd.Series(["trees"]),
    "DataFrame": lambda: pd.DataFrame({"trees": [1]}),
    "index": lambda: pd.Index(["trees"]),
    "NA": lambda: pd.NA,
    "sparse matrix": lambda: scipy.sparse.eye(2, format="csr"),
}


@pytest.fixture
def hook(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["metrics", "mine"])
    yield hook
    hook.close()


def trained(hook):
    """The run of a training, whose model is the one without a hook."""
    model = train(hook).save_raw("ubj")
    hook.close()
    assert model == train(None).save_raw("ubj")
    assert hook.status().error is None
    trial = smd.create_trial(hook.out_dir)
    assert trial.steps() == [0, 1, 2]
    return trial


@pytest.mark.parametrize("kind", REFUSED)
def test_anything_but_patterns_and_collections_is_refused_and_changes_nothing(hook, kind):
    check_is_refused_everywhere(hook, REFUSED[kind]())


def test_a_training_is_the_same_after_everything_that_was_refused(hook):
    for make in REFUSED.values():
        for add in (hook.get_collection("mine").include, hook.add_collection):
            with pytest.raises(SMDebugTypeError):
                add(make())
    assert "mine" not in trained(hook).collections()


@pytest.mark.parametrize("kind", INCLUDED)
def test_every_kind_of_patterns_is_included(hook, kind):
    make, expected = INCLUDED[kind]
    hook.get_collection("mine").include(make())
    assert hook.get_collection("mine").include_regex == expected
    trained(hook)


def test_save_all_takes_what_scripts_pass(out_dir):
    check_save_all_is_what_scripts_pass(lambda **given: smd.Hook(out_dir, **given))


def test_a_collection_of_any_tensors_of_a_training_can_be_added(hook):
    hook.add_collection(smd.Collection("mine", ["^train-"], ["validation-logloss"]))
    names = trained(hook).tensor_names(collection="mine")
    assert names == ["train-logloss", "validation-logloss"]
