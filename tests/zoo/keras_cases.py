"""The Keras twins of the zoo: PyTorch's recipes and faults, trained by Keras (keras_training.py).

Data, sizes, learning rates, steps and the faults of these are PyTorch's own, word for word. What a
fault does to a model is said here by a name that keras_training.py knows. Faults of loops that
`fit` does not let its user write have no twin: a forgotten zero_grad, a layer that the optimizer
was not given. Nothing was tuned on these cases, so they are all of the half "report".
"""

import elsewhere
import faults
import judging
import recipes

FRAMEWORK = "Keras"
ENVIRONMENT = "tensorflow"
FAULTY_SEEDS = 1
HEALTHY_SEEDS = 2
RECIPES = (
    "perceptron",
    "small_table",
    "tanh_perceptron",
    "deep_perceptron",
    "convolutions",
    "plain_convolutions",
    "regression",
    "text",
    "slow_start",
)
# Fault -> its recipes here, and what is changed in the model, if anything.
FAULTS = {
    "vanishing gradient": (("perceptron", "small_table"), {}),
    "exploding": (("deep_perceptron",), {"scale": 1e4}),
    "NaN from log(0)": (("perceptron",), {"loss": "log_of_shares"}),
    "dead ReLU": (("perceptron", "plain_convolutions"), {"bury": -30.0}),
    "frozen layer": (("perceptron", "tanh_perceptron"), {"freeze": True}),
    "learning rate too high": (("perceptron", "regression"), {}),
    "learning rate too low": (("perceptron",), {}),
    "bad initialization: zeros": (("perceptron", "plain_convolutions"), {"scale": 0.0}),
    "bad initialization: large": (("perceptron", "plain_convolutions"), {"scale": 40.0}),
    "bad initialization: small": (("perceptron", "plain_convolutions"), {"scale": 0.01}),
    "shuffled labels": (("perceptron",), {}),
    "class imbalance": (("perceptron",), {}),
    "overfitting": (("perceptron", "tanh_perceptron"), {}),
    "saturated tanh": (("tanh_perceptron",), {"scale": 40.0}),
    "all-zero input": (("perceptron", "convolutions"), {}),
    "images between 0 and 1": (("convolutions", "plain_convolutions"), {}),
    "images between 0 and 255": (("convolutions", "plain_convolutions"), {}),
    "wrong token padding": (("text",), {}),
}


def all_of(case_class):
    """Every Keras case, as a `case_class` (cases.Case)."""
    by_name = {fault.name: fault for fault in faults.FAULTS}
    half = recipes.REPORT
    for recipe in RECIPES:
        for seed in recipes.seeds(half, HEALTHY_SEEDS):
            yield _case(case_class, recipe, half, seed, None, {})
    for name, (of_fault, changes) in FAULTS.items():
        for recipe in of_fault:
            for seed in recipes.seeds(half, FAULTY_SEEDS):
                yield _case(case_class, recipe, half, seed, by_name[name], changes)


def _case(case_class, recipe, half, seed, fault, changes):
    def train(out_dir):
        training = recipes.RECIPES[recipe](half, seed)
        if fault:
            fault.spoil(training)
        arrays = {
            name: getattr(training.task, name).numpy()
            for name in ("train_x", "train_y", "test_x", "test_y")
        }
        description = _description(training) | changes
        told = elsewhere.train(ENVIRONMENT, "keras_training.py", description, arrays, out_dir)
        if not fault and not told["quality"] >= training.goal:
            raise RuntimeError(
                f"the healthy {recipe} of Keras with seed {seed} reached {told['quality']:.3f}, "
                f"less than {training.goal}: a twin that has learned nothing is none"
            )
        return judging.judge(out_dir), told["quality"]

    return case_class(
        f"{fault.name if fault else 'healthy'}/keras_{recipe}/{half}/{seed}",
        half,
        seed,
        fault.name if fault else None,
        fault.meant if fault else (),
        train,
        FRAMEWORK,
    )


def _description(training):
    """What keras_training.py is told: what can be said of a `training.Training` without PyTorch."""
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
