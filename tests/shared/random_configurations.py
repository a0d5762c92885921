"""Random configurations of hooks, many of them with mistakes, for every framework.

A mistake may raise an error of smdebug out of the constructor or out of an edit. After that, no
call may raise: the training ends as it does without a hook.
"""

import contextlib
import json
import random
import traceback

import numpy as np

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.collection import Collection as PlainCollection
from smdebug.exceptions import SMDebugError
from smdebug.rules import Rule, builtin

NAMES = (
    "all default weights biases gradients losses metrics outputs inputs layers labels trees "
    "optimizer_variables relu_output learning_rate average_shap mine flatten weigths a/b".split()
)
PATTERNS = ("relu", ".*", "weight$", "^no such", "(?i)LOSS", "[0-9]{1,2}", "(", "[a-", "*x", "")
FLAGS = (True, False, 1, 0, "true", "no", "perhaps", None, [], ["true"], np.True_, np.ones(2))
NUMBERS = (0, 1, 2, 3, 5, -1, "2", "often", 2.0, None, 10**30)
REDUCTIONS = ("min", "max", "mean", "median", "std", "prod", "l1", "typo")
CHOICES = (
    *("constant", "crc32c", "process", "step", "forward", "optimizer", "final", "backward"),
    *("one", "all", "x", 5),
)


def seeds(count):
    """Seeds of this run of the tests, which pytest prints as parts of the tests' names."""
    source = random.SystemRandom()
    return [source.randrange(2**32) for _ in range(count)]


class Breaks(Rule):
    """A rule of the user that fails."""

    def invoke_at_step(self, step):
        raise KeyError(step)


# None of these fires, so that no answer changes the training.
RULES = (
    "ExplodingTensor",
    "NoSuchRule",
    ("ExplodingTensor", {"only_nan": "true"}),
    ("ExplodingTensor", {"nosuch": 1}),
    ("ExplodingTensor", {"collection_names": "flatten"}),
    ("ExplodingTensor", {"tensor_regex": "("}),
    builtin("ExplodingTensor"),
    Breaks,
    (Breaks, {"nosuch": 1}),
    Rule,
    5,
    (),
    None,
)
ANSWERS = ("record", "stop", "raise", "skip_step", "perhaps", lambda verdict: None, None, 5)


class Configuration:
    """A random configuration. `hook(make, out_dir)` returns a hook of the class `make`, made from
    the first arguments that the constructor accepts, or from the first JSON file; `edit(hook)`
    changes its configuration.

    `own` has the arguments that only this framework's hook takes: name -> values.
    """

    def __init__(self, seed, odd=(), own=None):
        print("seed", seed)
        self._random = random.Random(seed)
        self._odd = odd  # functions of a hook's collection that add members in a framework's way
        self._own = own or {}

    def hook(self, make, out_dir):
        is_from_file = self._random.random() < 0.25
        while True:
            with self._mistakes():
                if is_from_file:
                    return make.create_from_json_file(self._file(out_dir))
                return make(out_dir, **self._arguments(out_dir))

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

    def _arguments(self, out_dir):
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
        rarer = {
            "tensorboard_dir": lambda: self._pick([None, f"{out_dir}-board", "", 5]),
            "checksum": lambda: self._pick(CHOICES),
            "max_run_bytes": lambda: self._pick([*NUMBERS, 10**4, 2**63 - 1]),
            "keep_every": lambda: self._pick(NUMBERS),
            "private": lambda: self._pick(FLAGS),
            "durability": lambda: self._pick(CHOICES),
            "rules": lambda: self._pick([self._some(RULES), self._pick(RULES)]),
            "on_fire": lambda: self._pick(ANSWERS),
            **{
                name: lambda values=values: self._pick(values) for name, values in self._own.items()
            },
        }
        wanted = [name for name in makers if self._random.random() < 0.35]
        wanted += [name for name in rarer if self._random.random() < 0.15]
        return {name: (makers | rarer)[name]() for name in wanted}

    def _file(self, out_dir):
        """The path of a JSON file."""
        listed = [self._pick([5, "weights", {"CollectionName": self._pick([*NAMES, 5])}])]
        for name in self._some(NAMES):
            parameters = {"include_regex": self._some(PATTERNS), **self._parameters()}
            listed.append({"CollectionName": name, "CollectionParameters": parameters})
        whole = {
            "LocalPath": out_dir,
            "HookParameters": self._pick([None, 5, *[self._parameters() for _ in range(6)]]),
            "CollectionConfigurations": self._pick([None, 5, listed, *[listed[1:]] * 4]),
        }
        path = f"{out_dir}.json"
        with open(path, "w") as file:
            json.dump(whole, file, default=str)
        return path

    def _parameters(self):
        """Parameters of a hook or a collection as a JSON file has them, few at a time."""
        values = {
            "include_regex": [",".join(self._some(PATTERNS)), self._some(PATTERNS)],
            "include_collections": [",".join(self._some(NAMES)), self._some(NAMES)],
            "reductions": [",".join(self._some(REDUCTIONS)), self._some(REDUCTIONS)],
            "save_steps": [self._some(NUMBERS), "1,2", "a"],
            "typo": [1],
        }
        for name in ("save_interval", "start_step", "end_step", "max_run_bytes", "keep_every"):
            values[name] = NUMBERS
        for mode in ("train", "eval", "global", "perhaps"):
            values[f"{mode}.save_interval"] = NUMBERS
        for name in ("checksum", "durability", "step_on", "gradients", "include_workers"):
            values[name] = CHOICES
        for name in ("save_all", "save_raw_tensor", "save_shape", "save_histogram", "dry_run"):
            values[name] = FLAGS
        for name in ("private", "export_tensorboard"):
            values[name] = FLAGS
        return {name: self._pick(values[name]) for name in self._random.sample(sorted(values), 3)}

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
