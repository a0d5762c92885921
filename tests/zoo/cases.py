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
import together
import training as zoo
import xgboost_cases

FAULTY_SEEDS = 2
HEALTHY_SEEDS = 3


@dataclasses.dataclass(frozen=True)
class Case:
    """`train(out_dir)` trains and judges: (verdicts as of `judging.judge`, quality or None).

    `fault` is None for a healthy case, whose quality must reach the goal of its training.
    """

    name: str
    half: str
    seed: int
    fault: str | None
    meant: tuple[str, ...]
    train: Callable
    framework: str = "PyTorch"


@dataclasses.dataclass(frozen=True)
class Together:
    """A fault that shows only with more than one process or training."""

    name: str
    why: str
    meant: tuple[str, ...]
    run: Callable


TOGETHER = (
    Together(
        "replica that drifts",
        "gradients that are not averaged at some steps, or another learning rate on one replica",
        ("ReplicasDiffer",),
        together.replicas,
    ),
    Together(
        "unrepeatable run",
        "a second run with the same seeds gets its samples in a different order",
        ("SimilarAcrossRuns",),
        together.repetition,
    ),
    Together(
        "stalled loader",
        "a data loader that stops returning batches",
        ("StalledTrainingRule",),
        together.stalled,
    ),
)


def all_cases():
    """Every case, the slow ones first."""
    return [
        *(case for each in TOGETHER for case in _together_cases(each)),
        *(case for half in recipes.HALVES for case in _healthy_cases(half)),
        *(case for fault in faults.FAULTS for case in _faulty_cases(fault)),
        *(Case(*row, framework="XGBoost") for row in xgboost_cases.rows_of_cases()),
        *keras_cases.TWINS.cases(Case),
        *mxnet_cases.TWINS.cases(Case),
    ]


def all_faults():
    """Everything with a name, a `why` and `meant` rules."""
    return [*faults.FAULTS, *TOGETHER, *xgboost_cases.FAULTS]


def _together_cases(kind):
    for half in recipes.HALVES:
        for seed in recipes.seeds(half, FAULTY_SEEDS):
            for is_faulty in (True, False):
                yield Case(
                    _name(kind.name, kind.run.__name__ if is_faulty else "healthy", half, seed),
                    half,
                    seed,
                    kind.name if is_faulty else None,
                    kind.meant if is_faulty else (),
                    _run_together(kind.run, half, seed, is_faulty),
                )


def _healthy_cases(half):
    for recipe in recipes.RECIPES:
        for seed in recipes.seeds(half, HEALTHY_SEEDS):
            yield Case(
                _name("healthy", recipe, half, seed), half, seed, None, (),
                _run_recipe(recipe, half, seed, None),
            )  # fmt: skip


def _faulty_cases(fault):
    for recipe in fault.recipes:
        for half in recipes.HALVES:
            for seed in recipes.seeds(half, FAULTY_SEEDS):
                yield Case(
                    _name(fault.name, recipe, half, seed), half, seed, fault.name, fault.meant,
                    _run_recipe(recipe, half, seed, fault),
                )  # fmt: skip


def _name(fault, recipe, half, seed):
    return f"{fault}/{recipe}/{half}/{seed}"


def _run_recipe(recipe, half, seed, fault):
    def train(out_dir):
        training = recipes.RECIPES[recipe](half, seed)
        if fault:
            fault.spoil(training)
        quality = zoo.run(training, out_dir)
        if not fault and not quality >= training.goal:
            raise RuntimeError(
                f"the healthy {recipe} of half {half} with seed {seed} reached {quality:.3f}, "
                f"less than {training.goal}: a healthy training must learn"
            )
        return judging.judge(out_dir), quality

    return train


def _run_together(run, half, seed, is_faulty):
    return lambda out_dir: (run(out_dir, half, seed, is_faulty), None)
