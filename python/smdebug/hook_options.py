"""`HookOptions`: the arguments of a hook's constructor, which adapters pass on whole."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from smdebug.unknown_arguments import refuse_unknown_arguments

if TYPE_CHECKING:
    from typing import TypeAlias

    from smdebug.reduction_config import ReductionConfig
    from smdebug.rules.builtin_rule import BuiltinRule, Verdict
    from smdebug.rules.rule import Rule
    from smdebug.save_config import SaveConfig, SaveConfigMode

    # A built-in rule or a class, with or without parameters.
    RequestedRule: TypeAlias = (
        str | BuiltinRule | type[Rule] | tuple[str | type[Rule], dict[str, Any]]
    )

Parameters = ParamSpec("Parameters")
Options = TypeVar("Options", bound="HookOptions")
Hook = TypeVar("Hook")


@dataclass(frozen=True)
class HookOptions:
    """The arguments that the hooks of all frameworks take.

    - `out_dir`: the folder of the run, created if needed; required. It must not contain an ended
      run.
    - `export_tensorboard` also writes histograms of the saved tensors, and losses and saved
      scalars as numbers, for TensorBoard: into `tensorboard_dir`, by default
      `<out_dir>/tensorboard`. Giving a `tensorboard_dir` has the same effect. In a SageMaker job
      the platform decides.
    - `dry_run` counts steps and writes nothing.
    - `reduction_config`: the reductions to save instead of elements; None saves elements.
    - `save_config`: the steps to save; None for the framework's default, every 500th step (XGBoost:
      every 10th). A dict maps modes, or their names, to the SaveConfigMode of each.
    - `include_regex`: patterns of further tensor names to save.
    - `include_collections`: names of collections to save in addition to the framework's defaults.
    - `save_all` saves every tensor.
    - `include_workers`: "one" or "all" of the workers of a distributed training.
    - `checksum`: "constant", which the original's Trial requires, or "crc32c", the true checksum
      of each record, which TFRecord tools require.
    - `max_run_bytes` limits the size of the files of each worker, over all attempts: after each
      published step, the oldest ones are removed until the rest fits. None for no limit. Steps
      that are a multiple of `keep_every` (0: none) are removed after the others, those on which a
      rule fired last, and the newest step always stays.
    - `private` creates the files of the run and for TensorBoard with mode 0600 and folders with
      0700, so that only their owner can read them.
    - `durability`: what a published step survives: "process", the end of the process, or "step",
      also a power failure of the machine. The write thread then waits for the disk at each step.
    - `rules` judge each saved step while it runs: a list of names of built-in rules, of results of
      `smdebug.rules.builtin`, of classes derived from `smdebug.rules.Rule`, or of pairs of a name
      or a class and its parameters, `("ExplodingTensor", {"only_nan": True})`. The tensors that
      they need are saved as often as `save_config` says.
    - `on_fire`: the response when a rule fires. "record" logs it once and lists it in
      `verdicts()`. The adapter may support other answers. A function takes the verdict, a dict,
      and returns one of the answers or None, which means "record". The training gets the error that
      it raises, as that of any function it calls itself.
    """

    out_dir: str | os.PathLike[str] | None = None
    export_tensorboard: bool = False
    tensorboard_dir: str | os.PathLike[str] | None = None
    dry_run: bool = False
    reduction_config: ReductionConfig | None = None
    save_config: SaveConfig | SaveConfigMode | dict[Any, Any] | None = None
    include_regex: list[str] | None = None
    include_collections: list[str] | None = None
    save_all: bool = False
    include_workers: str = "one"
    _: KW_ONLY
    checksum: str = "constant"
    max_run_bytes: int | None = None
    keep_every: int = 0
    private: bool = False
    durability: str = "process"
    rules: str | Iterable[RequestedRule] | None = None
    on_fire: str | Callable[[Verdict], str | None] = "record"

    def replace(self: Options, **changes: Any) -> Options:
        """Returns a copy with other values for these arguments."""
        return dataclasses.replace(self, **changes)


def takes_options(
    options_class: Callable[Parameters, Options],
) -> Callable[[Callable[[Hook, Options], None]], Callable[Concatenate[Hook, Parameters], None]]:
    """A decorator for a constructor that takes a HookOptions: it gets the parameters of
    `options_class`, in `inspect.signature` and for type checkers."""

    signature = inspect.signature(options_class)

    def decorate(
        initialize: Callable[[Hook, Options], None],
    ) -> Callable[Concatenate[Hook, Parameters], None]:
        @functools.wraps(initialize)
        def constructor(
            self: Hook, *arguments: Parameters.args, **keywords: Parameters.kwargs
        ) -> None:
            refuse_unknown_arguments(type(self).__name__, keywords, signature.parameters)
            initialize(self, options_class(*arguments, **keywords))

        own, *_ = inspect.signature(initialize).parameters.values()
        constructor.__dict__["__signature__"] = signature.replace(
            parameters=[own, *signature.parameters.values()]
        )
        return constructor

    return decorate
