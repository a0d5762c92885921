"""`valid_configuration`: the configuration of a hook without the parts that have a mistake.

A constructor raises for a mistake in its arguments. A script can also edit the configuration
afterwards, and may name a collection before it fills it, so that some mistakes show only when a
step begins. They must not end the training: the part with the mistake is reported and left out.
"""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from smdebug._core import ModeKeys
from smdebug.hook_arguments import shown
from smdebug.unknown_arguments import SAVE_CONFIG_ARGUMENTS

if TYPE_CHECKING:
    from smdebug import _core
    from smdebug.collection import Collection
    from smdebug.save_config import SaveConfig

    # Returns the configuration with these collections, `include_collections` and `include_regex`.
    Snapshot = Callable[[Sequence[Collection], Sequence[str], Sequence[str]], _core.HookConfig]


def valid_configuration(
    snapshot: Snapshot,
    collections: Sequence[Collection],
    names: Sequence[str],
    patterns: Sequence[str],
    check: Callable[[_core.HookConfig], object],
    report: Callable[[str], None],
    left_out: set[str],
) -> _core.HookConfig | None:
    """Returns `snapshot(collections, names, patterns)` without the parts that make it invalid, or
    None if the rest is invalid too.

    `check(config)` raises for an invalid configuration, as `snapshot` may. `report(text)` takes a
    sentence about each part that is left out. Adds the names of these collections to `left_out`.
    """

    def mistake(
        collections: Sequence[Collection],
        names: Sequence[str] = (),
        patterns: Sequence[str] = (),
    ) -> str | None:
        try:
            check(snapshot(collections, names, patterns))
        except Exception as error:
            return str(error) or repr(error)
        return None

    if error := mistake([]):
        report(f"the edits of the configuration are ignored: {error}")
        return None
    # Each part is checked without the others: a check takes time that grows with their number.
    kept: dict[str, Collection] = {}
    for collection in collections:
        error = mistake([collection])
        if error is None:
            kept[collection.name] = collection
            continue
        left_out.add(collection.name)
        subject = f"collection '{collection.name}'"
        report(f"a collection is ignored: {error if subject in error else f'{subject}: {error}'}")
    kept_names: list[str] = []
    for name in names:
        if not isinstance(name, str):
            report(f"a name is ignored: include_collections must hold text, found {name!r}")
        elif name in left_out:
            continue
        elif error := mistake([kept[name]] if name in kept else [], [name]):
            report(f"a name is ignored: {error}")
        else:
            kept_names.append(name)
    kept_patterns: list[str] = []
    for pattern in patterns:
        if not isinstance(pattern, str):
            report(f"a pattern is ignored: include_regex must hold text, found {pattern!r}")
        elif error := mistake([], [], [pattern]):
            report(f"a pattern is ignored: {_without_default(error)}")
        else:
            kept_patterns.append(pattern)

    def with_patterns(collections: Sequence[Collection], names: Sequence[str]) -> _core.HookConfig:
        return snapshot(collections, names, kept_patterns)

    return _as_many_as_possible(with_patterns, mistake, list(kept.values()), kept_names, report)


def _without_default(error: str) -> str:
    """The error without the name of the collection in which the core keeps `include_regex`."""
    return error.removeprefix("collection 'default': ")


def _as_many_as_possible(
    snapshot: Callable[[Sequence[Collection], Sequence[str]], _core.HookConfig],
    mistake: Callable[[Sequence[Collection], Sequence[str]], str | None],
    collections: list[Collection],
    names: list[str],
    report: Callable[[str], None],
) -> _core.HookConfig | None:
    """Returns `snapshot(collections, names)` with the first of the collections only, if there are
    too many of them. Each of them is valid."""

    def first(number: int) -> tuple[list[Collection], list[str]]:
        known = {each.name for each in collections}
        few = collections[:number]
        cut = known - {each.name for each in few}
        return few, [name for name in names if name not in cut]

    error = mistake(collections, names)
    if error is None:
        return snapshot(collections, names)
    numbers = range(1, len(collections) + 1)
    valid = bisect.bisect_left(numbers, True, key=lambda number: bool(mistake(*first(number))))
    if valid == 0:
        report(f"the edits of the configuration are ignored: {error}")
        return None
    report(f"the collections after '{collections[valid - 1].name}' are ignored: {error}")
    return snapshot(*first(valid))


def odd_ranges(name: str, config: SaveConfig | None) -> list[str]:
    """A sentence for each range of steps in `config`, that of `name`, that is empty or begins
    below 0, with its modes. The original accepts such a range, so it raises nothing."""
    found: dict[str, list[str]] = {}
    for mode in ModeKeys.__members__.values():
        steps = config.get_save_config(mode) if config else None
        if steps is None or steps.save_steps:
            continue
        if steps.end_step is not None and steps.end_step <= steps.start_step:
            reason = f"end_step {steps.end_step} is not after start_step {steps.start_step}"
            found.setdefault(f"saves nothing in mode {{modes}}: {reason}", []).append(mode.name)
        elif steps.start_step < 0:
            text = f"begins at step 0 in mode {{modes}}: start_step {steps.start_step} is below 0"
            found.setdefault(text, []).append(mode.name)
    return [f"{name} {text.format(modes=', '.join(modes))}" for text, modes in found.items()]


def lacks_global_mode(name: str, config: SaveConfig | None, fallback: str) -> list[str]:
    """A sentence if `config`, that of `name`, has settings for some modes but not for GLOBAL, the
    mode of the steps before the first `set_mode`. They take `fallback`."""
    if config is None or config.get_save_config(ModeKeys.GLOBAL) is not None:
        return []
    modes = [mode.name for mode in ModeKeys.__members__.values() if config.get_save_config(mode)]
    if not modes:
        return []
    first = "TRAIN" if "TRAIN" in modes else modes[0]
    return [
        f"{name} has settings for mode {' and '.join(modes)} only, but no mode is set, and steps "
        f"in mode GLOBAL take {fallback}: call hook.set_mode(modes.{first}) before the loop, or "
        "use SaveConfig(...) for all modes"
    ]


def misplaced_attributes(
    subject: str, config: object, settings: Sequence[str] | None = None
) -> list[str]:
    """A sentence for each attribute that a script has set on `config`, which `subject` names, and
    that looks like one of `settings`, by default all public attributes of its class. Scripts may
    set any other attribute."""
    known = settings or [name for name in dir(type(config)) if not name.startswith("_")]
    texts = []
    for name, value in vars(config).items() if config is not None else ():
        hint = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if name in SAVE_CONFIG_ARGUMENTS:
            argument = shown(value) if isinstance(value, (int, list, tuple)) else "..."
            hint = [f"save_config = SaveConfig({name}={argument})"]
        if hint and not name.startswith("_"):
            texts.append(f"{subject} has no setting '{name}', which is ignored; use {hint[0]}")
    return texts
