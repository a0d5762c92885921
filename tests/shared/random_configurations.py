"""Random configurations of hooks, many of them with mistakes, for every framework.

A mistake may raise an error of smdebug out of the constructor or out of an edit. After that, no
call may raise: the training ends as it does without a hook.
"""

import contextlib
import random
import traceback

import numpy as np

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.collection import Collection as PlainCollection
from smdebug.exceptions import SMDebugError

NAMES = (
    "all default weights biases gradients losses metrics outputs inputs layers labels trees "
    "optimizer_variables relu_output learning_rate average_shap mine flatten weigths a/b".split()
)
PATTERNS = ("relu", ".*", "weight$", "^no such", "(?i)LOSS", "[0-9]{1,2}", "(", "[a-", "*x", "")
FLAGS = (True, False, 1, 0, "true", "no", "perhaps", None, [], ["true"], np.True_, np.ones(2))
NUMBERS = (0, 1, 2, 3, 5, -1, "2", "often", 2.0, None, 10**30)
REDUCTIONS = ("min", "max", "mean", "median", "std", "prod", "l1", "typo")


def seeds(count):
    """Seeds of this run of the tests, which pytest prints as parts of the tests' names."""
    source = random.SystemRandom()
    return [source.randrange(2**32) for _ in range(count)]


class Configuration:
    """A random configuration. `hook(make, out_dir)` returns a hook, made from the first arguments
    that the constructor accepts; `edit(hook)` changes its configuration."""

    def __init__(self, seed, odd=()):
        print("seed", seed)
        self._random = random.Random(seed)
        self._odd = odd  # functions of a hook's collection that add members in a framework's way

    def hook(self, make, out_dir):
        while True:
            with self._mistakes():
                return make(out_dir, **self._arguments())

    def edit(self, hook):
        for _ in range(self._random.randrange(8)):
            with self._mistakes():
                self._pick(EDITS)(self, hook)

    def use(self, hook):
        """Calls the methods that take no configuration; none of them may raise."""
        hook.save_tensor("mine", np.ones(2), "mine")
        hook.save_tensor("other", np.ones(2), ["default", *self._some(NAMES, 1)])
        hook.save_scalar("number", 1)
        hook.record_trace_events(1.0)
        hook.should_save_tensor_or_collection("a", "mine")
        hook.has_default_hook_configuration()
        hook.get_collections()
        hook.export_collections()
        hook.flush()
        assert repr(hook) and isinstance(hook.summary(), str)
        hook.set_mode(self._pick(list(modes)))

    @contextlib.contextmanager
    def _mistakes(self):
        try:
            yield
        except SMDebugError as error:
            assert len(str(error)) > 10, repr(error)
        except (TypeError, ValueError) as error:  # of our own lists, sets and bindings
            inner = traceback.extract_tb(error.__traceback__)[-1].filename
            assert "random_configurations" in inner or "edited" in inner, repr(error)

    def _pick(self, values):
        return self._random.choice(values)

    def _some(self, values, most=3):
        return [self._pick(values) for _ in range(self._random.randrange(most + 1))]

    def _arguments(self):
        makers = {
            "export_tensorboard": lambda: self._pick(FLAGS),
            "dry_run": lambda: self._pick(FLAGS),
            "save_all": lambda: self._pick(FLAGS),
            "reduction_config": self._reductions,
            "save_config": self._schedule,
            "include_regex": lambda: self._pick([self._some(PATTERNS), self._pick(PATTERNS)]),
            "include_collections": lambda: self._pick(
                [self._some(NAMES), [self._some(NAMES)], self._pick(NAMES), 5, [5]]
            ),
            "include_workers": lambda: self._pick(["one", "all", "two"]),
        }
        wanted = [name for name in makers if self._random.random() < 0.35]
        return {name: makers[name]() for name in wanted}

    def _window(self):
        keys = ("save_interval", "start_step", "end_step")
        window = {key: self._pick(NUMBERS) for key in keys if self._random.random() < 0.4}
        if self._random.random() < 0.3:
            window["save_steps"] = self._pick([self._some(NUMBERS), "1,2", [0, 1]])
        return window

    def _schedule(self):
        kind = self._pick(["none", "every", "one", "modes", "dict"])
        if kind == "none":
            return None
        if kind == "every":
            return SaveConfig(save_interval=1)
        if kind == "one":
            return SaveConfig(**self._window())
        configs = {mode: self._window() for mode in self._random.sample(list(modes), 2)}
        if kind == "dict":
            return configs
        return SaveConfig({mode: SaveConfigMode(**window) for mode, window in configs.items()})

    def _reductions(self):
        return self._pick([None, "mean"]) or ReductionConfig(
            reductions=self._some(REDUCTIONS),
            norms=self._some(["l1", "l2", "l3"], 1),
            save_raw_tensor=self._pick(FLAGS),
            save_shape=self._pick(FLAGS),
        )

    # --- edits ---

    def _collection(self, hook):
        return hook.get_collection(self._pick(NAMES))

    def include(self, hook):
        self._collection(hook).include(self._pick(PATTERNS))

    def name_only(self, hook):
        name = self._pick(NAMES)
        hook.get_collection(name)
        hook.include_collections.append(name)

    def add_collection(self, hook):
        kind = self._pick([hook.collection_class, PlainCollection])
        made = kind(
            self._pick(NAMES),
            self._some(PATTERNS),
            self._some(["a", "b"]),
            self._reductions(),
            self._schedule(),
            self._pick(FLAGS),
        )
        hook.add_collection(self._pick([made, made, made.name]))

    def edit_patterns_in_place(self, hook):
        patterns = self._pick([self._collection(hook).include_regex, hook.include_regex])
        patterns.append(self._pick([*PATTERNS, 5]))

    def edit_names_in_place(self, hook):
        self._collection(hook).tensor_names.add(self._pick(["a", 5, None]))

    def edit_included(self, hook):
        if self._random.random() < 0.5:
            hook.include_collections.append(self._pick([*NAMES, 5, ["mine"]]))
        else:
            hook.include_collections = self._pick([self._some(NAMES), "mine", None, 7])

    def edit_schedule(self, hook):
        target = self._pick([self._collection(hook), hook])
        if self._random.random() < 0.5:
            target.save_config = self._schedule()
        elif target.save_config is not None:
            field = self._pick(["save_interval", "start_step", "end_step"])
            setattr(target.save_config, field, self._pick(NUMBERS))

    def edit_reductions(self, hook):
        self._pick([self._collection(hook), hook]).reduction_config = self._reductions()

    def edit_flags(self, hook):
        if self._random.random() < 0.5:
            hook.save_all = self._pick(FLAGS)
        else:
            self._collection(hook).save_histogram = self._pick(FLAGS)

    def add_odd_members(self, hook):
        if self._odd:
            self._pick(self._odd)(self._collection(hook))


EDITS = [
    Configuration.include,
    Configuration.name_only,
    Configuration.add_collection,
    Configuration.edit_patterns_in_place,
    Configuration.edit_names_in_place,
    Configuration.edit_included,
    Configuration.edit_schedule,
    Configuration.edit_reductions,
    Configuration.edit_flags,
    Configuration.add_odd_members,
]
