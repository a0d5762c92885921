"""The table of cases: every training of the zoo, with its fault or healthy.

A case is a recipe or a training of `together`, a half, a seed, and a fault or none. Healthy cases
are the twins of faulty ones: the same recipe, half and seed. The cases of other frameworks are
added here (xgboost_cases.py, keras_cases.py, mxnet_cases.py).
"""

import dataclasses
from collections.abc import Callable

import faults
import judging
import keras_cases
import mxnet_cases
import recipes
import recording
import together
import training as zoo
import xgboost_cases
from faults import Fault

FAULTY_SEEDS = 2
HEALTHY_SEEDS = 3


@dataclasses.dataclass(frozen=True)
class Case:
    """A training. `train(request)` trains, recorded by the `smdebug run` of `request`, and returns
    the quality of the model, or None if that is not measured.

    `fault` is None for a healthy case. `more(out_dir)` returns further parameters of rules, and
    first trains what the training is compared with.
    """

    name: str
    half: str
    seed: int
    fault: Fault | None
    train: Callable
    framework: str = "PyTorch"
    more: Callable | None = None

    @property
    def meant(self):
        """The rules that must find the fault."""
        return self.fault.meant if self.fault else ()


_REPLICAS, _REPETITION, _STALLED = TOGETHER = (
    Fault(
        "replica that drifts",
        "gradients that are not averaged at some steps, or another learning rate on one replica",
        ("ReplicasDiffer",),
        spoil=together.replicas,
    ),
    Fault(
        "unrepeatable run",
        "a second run with the same seeds gets its samples in a different order",
        ("SimilarAcrossRuns",),
        spoil=together.repetition,
        shows_by_default=False,
    ),
    Fault(
        "stalled loader",
        "a data loader that stops returning batches",
        ("StalledTrainingRule",),
        spoil=together.stalled,
        shows_by_default=False,
    ),
)


TWINS = (keras_cases.TWINS, mxnet_cases.TWINS)


def all_cases():
    """Every case, the slow ones first."""
    return [
        *(case for each in TOGETHER for case in _together_cases(each)),
        *(case for twins in TWINS for case in twins.cases(Case)),
        *(case for half in recipes.HALVES for case in _healthy_cases(half)),
        *(case for fault in faults.FAULTS for case in _faulty_cases(fault)),
        *xgboost_cases.cases(Case),
    ]


def all_faults():
    """Every fault of PyTorch and XGBoost; those of the other frameworks are among them."""
    return [*faults.FAULTS, *TOGETHER, *xgboost_cases.FAULTS]


def _together_cases(kind):
    for half in recipes.HALVES:
        for seed in recipes.seeds(half, FAULTY_SEEDS):
            for is_faulty in (True, False):
                yield Case(
                    _name(kind.name, kind.spoil.__name__ if is_faulty else "healthy", half, seed),
                    half,
                    seed,
                    kind if is_faulty else None,
                    _run_together(kind.spoil, half, seed, is_faulty),
                    more=_more(kind, half, seed),
                )


def _healthy_cases(half):
    for recipe in recipes.RECIPES:
        for seed in recipes.seeds(half, HEALTHY_SEEDS):
            yield _of_recipe("healthy", recipe, half, seed, None)


def _faulty_cases(fault):
    for recipe in fault.recipes:
        for half in recipes.HALVES:
            for seed in recipes.seeds(half, FAULTY_SEEDS):
                yield _of_recipe(fault.name, recipe, half, seed, fault)


def _of_recipe(title, recipe, half, seed, fault):
    return Case(
        _name(title, recipe, half, seed),
        half,
        seed,
        fault,
        lambda request: recording.recorded(request, _run_recipe, recipe, half, seed, fault),
    )


def _name(fault, recipe, half, seed):
    return f"{fault}/{recipe}/{half}/{seed}"


def _run_recipe(recipe, half, seed, fault):
    training = recipes.RECIPES[recipe](half, seed)
    if fault:
        fault.spoil(training)
    quality = zoo.run(training)
    return quality if fault else zoo.learned(training, quality)


def _run_together(run, half, seed, is_faulty):
    return lambda request: run(half, seed, is_faulty, request)


def _more(kind, half, seed):
    if kind is _REPETITION:
        return lambda out_dir: together.first_of_repetition(half, seed, out_dir)
    if kind is _STALLED:
        return lambda _: {judging.NEEDS_TIME: {"threshold": str(judging.WATCHED_SECONDS)}}
    return None
