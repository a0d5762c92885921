"""`RequiredTensors`: the tensors that a rule needs, fetched before it runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

if TYPE_CHECKING:
    from smdebug.trials import Tensor, Trial


class RequiredTensors:
    """Tensor names and global steps for each trial of a rule.

    `trial` defaults to the base trial. A trial that the rule does not have raises
    SMDebugValueError.
    """

    def __init__(self, base_trial: Trial, other_trials: Iterable[Trial] | None = None) -> None:
        self._trials = [base_trial, *(other_trials or [])]
        self._steps: dict[Trial, dict[str, list[int]]] = {}  # trial -> name -> steps

    def add(
        self,
        name: str,
        steps: Iterable[int],
        trial: Trial | None = None,
        should_match_regex: bool = False,
    ) -> None:
        """Requests the tensor `name` at the global steps `steps`, in addition to earlier requests.

        With `should_match_regex`, `name` is a regular expression, and every tensor of the trial
        whose name it matches is requested; there may be none. Raises TensorUnavailable, which
        suggests similar names, for a name that the trial does not know.
        """
        trial = self._known(trial)
        if not isinstance(steps, (list, tuple, set, range)):
            raise SMDebugTypeError(f"steps is a list of global steps, found {steps!r}")
        if should_match_regex:
            names = trial.tensor_names(regex=name)
        else:
            names = [trial.tensor(name).name]
        wanted = self._steps.setdefault(trial, {})
        for each in names:
            known = wanted.setdefault(each, [])
            known.extend(step for step in steps if step not in known)

    def get_tensor_steps(self, name: str, trial: Trial | None = None) -> list[int]:
        """The global steps requested for a tensor, in the order of the requests."""
        return list(self._of(trial).get(name, []))

    def get_names(self, trial: Trial | None = None) -> list[str]:
        """The requested names, sorted."""
        return sorted(self._of(trial))

    def get(self, trial: Trial | None = None) -> list[Tensor]:
        """The requested tensors, in the order of `get_names`."""
        return [self._known(trial).tensor(name) for name in self.get_names(trial)]

    def clear(self) -> None:
        """Drops all requests."""
        self._steps = {}

    def fetch(self) -> None:
        """Waits for the requested steps and reads the values.

        Raises what `Trial.wait_for_steps` and `Tensor.value` raise: TensorUnavailableForStep also
        if only reductions were saved.
        """
        for trial, wanted in self._steps.items():
            trial.wait_for_steps(sorted({step for steps in wanted.values() for step in steps}))
            for name, steps in wanted.items():
                tensor = trial.tensor(name)
                for step in steps:
                    tensor.value(step)

    def _of(self, trial: Trial | None) -> dict[str, list[int]]:
        return self._steps.get(self._known(trial), {})

    def _known(self, trial: Trial | None) -> Trial:
        if trial is None:
            return self._trials[0]
        if trial not in self._trials:
            raise SMDebugValueError(f"the rule has no trial {trial!r}; it has {self._trials}")
        return trial
