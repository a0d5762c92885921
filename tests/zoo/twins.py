"""Twins of PyTorch's cases, trained by another framework in a separate interpreter.

Data, sizes, learning rates, steps and faults are exactly those of PyTorch. The change that a fault
makes to a model is given by a name that the framework's script knows. Nothing was tuned on these
cases, so all of them belong to the half "report".
"""

import dataclasses

import elsewhere
import faults
import recipes
import training as zoo


@dataclasses.dataclass(frozen=True)
class Twins:
    """The twins in one framework.

    `framework` is its name, `environment` that of its environment, `prefix` precedes the names of
    recipes, and `script` trains: see `elsewhere.serve`. `recipes` are the names of those that have
    healthy twins; `faults` is fault -> (its recipes here, the changes of the model).
    """

    framework: str
    environment: str
    prefix: str
    script: str
    recipes: tuple[str, ...]
    faults: dict[str, tuple[tuple[str, ...], dict]]
    faulty_seeds: int
    healthy_seeds: int

    def cases(self, case_class):
        """Every case, as a `case_class` (cases.Case)."""
        by_name = {fault.name: fault for fault in faults.FAULTS}
        half = recipes.REPORT
        for recipe in self.recipes:
            for seed in recipes.seeds(half, self.healthy_seeds):
                yield self._case(case_class, recipe, half, seed, None, {})
        for name, (of_fault, changes) in self.faults.items():
            for recipe in of_fault:
                for seed in recipes.seeds(half, self.faulty_seeds):
                    yield self._case(case_class, recipe, half, seed, by_name[name], changes)

    def _case(self, case_class, recipe, half, seed, fault, changes):
        return case_class(
            f"{fault.name if fault else 'healthy'}/{self.prefix}{recipe}/{half}/{seed}",
            half,
            seed,
            fault,
            lambda request: self._train(recipe, half, seed, fault, changes, request),
            self.framework,
        )

    def _train(self, recipe, half, seed, fault, changes, request):
        training = recipes.RECIPES[recipe](half, seed)
        if fault:
            fault.spoil(training)
        arrays = {
            name: getattr(training.task, name).numpy()
            for name in ("train_x", "train_y", "test_x", "test_y")
        }
        described = _description(training) | changes
        quality = elsewhere.train(self.environment, described, arrays, request)
        return quality if fault else zoo.learned(training, quality)


def _description(training):
    """Describes a `training.Training` for a script that does not have PyTorch."""
    make_model, optimizer = training.make_model.__name__, training.make_optimizer.__name__
    return {
        "model": make_model.strip("_"),
        "activation": training.activation.__name__.lower(),
        "width": training.width,
        "depth": training.depth,
        "optimizer": "momentum" if optimizer == "<lambda>" else optimizer,
        "lr": training.lr,
        "has_schedule": training.has_schedule,
        "batch": training.batch,
        "steps": training.steps,
        "evaluate_every": training.evaluate_every,
        "classes": training.task.classes,
        "outputs": training.task.outputs,
        "seed": training.seed,
    }
