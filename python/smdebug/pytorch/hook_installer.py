"""`HookInstaller`: installs and removes the forward hooks of watched modules.

Between saved steps, only the roots keep their hooks, because each other hook would be a call of
Python. Compiled code is the exception: torch.compile does not check for hooks that return.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from smdebug._core import ModeKeys
from smdebug.pytorch.compiled import forget_compiled, has_compiled
from smdebug.pytorch.module_hooks import CaptureSwitch, WatchedModule
from smdebug.pytorch.roots import Root

if TYPE_CHECKING:
    import torch


class HookState(enum.Enum):
    """Whether the module hooks are installed."""

    REMOVED = enum.auto()
    # For a saved step, or for good because compiled code contains them.
    INSTALLED = enum.auto()
    # Since a registration, a new plan, a new mode or a copy of the model: the next step decides
    # whether they stay, even if no step was saved in between.
    PROVISIONAL = enum.auto()


class HookInstaller:
    """The watched modules of one hook and the state of their forward hooks.

    `switch` is shared with the hooks: it is on while a step is saved.
    """

    def __init__(self, switch: CaptureSwitch) -> None:
        self.watched: list[WatchedModule] = []
        # Plain attributes, because each step compares them, and an idle step must cost no more.
        self.is_provisional: bool = False
        self.plan_version: int | None = None  # of the plan that the hooks were installed for
        self.mode: ModeKeys | None = None  # of the last step that `settle_for_mode` saw
        self._state = HookState.REMOVED
        self._switch = switch
        self._unsettled: list[WatchedModule] = []  # may have hooks that never save anything
        self._awaits_call = True  # nothing was called since the last registration
        self._modes_seen: set[ModeKeys] = set()

    def add(self, watched: WatchedModule, has_begun: bool) -> None:
        """Installs the hooks of a newly registered module.

        `has_begun`: a step has begun, so there is a plan to look up its tensors in.
        """
        watched.install()
        if has_begun:
            watched.find_points()
        if self._switch.is_on:
            watched.put_in()
        self.watched.append(watched)
        self._enter(HookState.PROVISIONAL)
        self._awaits_call = True

    def drop(self, module: torch.nn.Module) -> None:
        """Removes the hooks of a module that is recorded no longer."""
        for watched in self.watched:
            if watched.module is module:
                watched.remove()
        self.watched = [each for each in self.watched if each.module is not module]
        self._unsettled = [each for each in self._unsettled if each.module is not module]

    def settle(self) -> None:
        """Installs all hooks again. `prune` removes those that cannot save anything."""
        was_given_up = [watched.install() for watched in self.watched]
        self._unsettled = list(self.watched)
        self._enter(HookState.PROVISIONAL)
        if any(was_given_up) and self._switch.points.are_traced:
            forget_compiled("a collection")

    def prune(self) -> None:
        """After a saved step: removes the hooks that can never save anything."""
        if self._unsettled:
            self._unsettled = [watched for watched in self._unsettled if not watched.prune()]

    def takes_up_plan(self, version: int) -> bool:
        """Whether the plan of that version is new; if so, the caller must call `settle`."""
        if version == self.plan_version:
            return False
        self.plan_version = version
        return True

    def settle_for_mode(self, mode: ModeKeys) -> None:
        """Calls `settle` at the first step of each mode, which may call other modules."""
        self.mode = mode
        if mode not in self._modes_seen:
            self._modes_seen.add(mode)
            self.settle()

    def find_points(self) -> None:
        """Decides from the next plan what compiled code captures."""
        for watched in self.watched:
            watched.find_points()

    def prepare_graph(self) -> None:
        """Installs all hooks for a graph that is being compiled and begins its own steps."""
        for watched in self.watched:
            watched.find_points()
            watched.keep_inputs()
        if self._state is HookState.REMOVED:
            self._enter(HookState.INSTALLED)

    def install(self) -> None:
        """Installs the hooks for a saved step."""
        was_removed = self._state is HookState.REMOVED
        if was_removed:
            self._enter(HookState.INSTALLED)
        for watched in self.watched:
            watched.put_in()
        if was_removed and has_compiled():  # code that may contain these modules without hooks
            forget_compiled("a saved step")

    def install_for_copy(self) -> None:
        """Installs the hooks before the model is copied: the copy keeps those it is made with."""
        self.install()
        self._enter(HookState.PROVISIONAL)

    def remove(self, roots: list[Root]) -> None:
        """Removes the hooks for a step that is not saved, unless they must stay.

        They stay where torch.compile has worked or may work, and during the first call after a
        registration.
        """
        if self._awaits_call:
            self._enter(HookState.PROVISIONAL)
        elif has_compiled() or any(root.is_compiled for root in roots):
            self._enter(HookState.INSTALLED)
        else:
            self._enter(HookState.REMOVED)
        for watched in self.watched:
            if self._state is HookState.REMOVED:
                watched.take_out()
            else:
                watched.close_inputs()

    def note_call(self) -> None:
        """Notes that a root is being called. Modules registered from now on await the next call."""
        self._awaits_call = False

    def detach(self) -> None:
        """Removes all hooks for good."""
        for watched in self.watched:
            watched.remove()

    def clear(self) -> None:
        """Forgets the modules and the plan, to record another model."""
        self.watched.clear()
        self.plan_version = None

    def _enter(self, state: HookState) -> None:
        self._state = state
        self.is_provisional = state is HookState.PROVISIONAL
