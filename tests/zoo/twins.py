"""Twins of PyTorch's cases, trained by another framework in a separate interpreter.

Data, sizes, learning rates, steps and faults are exactly those of PyTorch. The change that a fault
makes to a model is given by a name that the framework's script knows. Nothing was tuned on these
cases, so all of them belong to the half "report".
"""

import dataclasses

import elsewhere
import faults
import judging
import recipes


@dataclasses.dataclass(frozen=True)
class Twins:
    """The twins in one framework.

    `framework` is its name, `environment` that of its environment, `prefix` precedes the names of
    recipes, and `script` trains: see `elsewhere.train`. `recipes` are the names of those that have
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
            fault.name if fault else None,
            fault.meant if fault else (),
            lambda out_dir: self._train(out_dir, recipe, half, seed, fault, changes),
            self.framework,
        )

    def _train(self, out_dir, recipe, half, seed, fault, changes):
        training = recipes.RECIPES[recipe](half, seed)
        if fault:
            fault.spoil(training)
        arrays = {
            name: getattr(training.task, name).numpy()
            for name in ("train_x", "train_y", "test_x", "test_y")
        }
        described = _description(training) | changes
        told = elsewhere.train(self.environment, self.script, described, arrays, out_dir)
        if not fault and not told["quality"] >= training.goal:
            raise RuntimeError(
                f"the healthy {recipe} of {self.framework} with seed {seed} reached "
                f"{told['quality']:.3f}, less than {training.goal}: a healthy training must "
                "learn"
            )
        return judging.judge(out_dir), told["quality"]


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
        "save_interval": training.save_interval,
        "classes": training.task.classes,
        "outputs": training.task.outputs,
        "seed": training.seed,
    }
