"""`RequiredTensors`: what a rule wants to look at, fetched before it looks."""

import re

from smdebug.exceptions import TensorUnavailable


class RequiredTensors:
    def __init__(self, trials):
        self._trials = trials
        self._steps = {}  # trial -> name -> steps

    def add(self, name, steps, trial=None, should_match_regex=False):
        """Asks for a tensor, or for all that a regex finds, at `steps` of `trial` (the first)."""
        trial = self._trials[0] if trial is None else trial
        if should_match_regex:
            names = [known for known in trial.tensor_names() if re.search(name, known)]
        elif trial.has_tensor(name):
            names = [name]
        else:
            raise TensorUnavailable(name)
        wanted = self._steps.setdefault(trial, {})
        for each in names:
            known = wanted.setdefault(each, [])
            known.extend(step for step in steps if step not in known)

    def get_tensor_steps(self, name, trial=None):
        return list(self._of(trial).get(name, []))

    def get_names(self, trial=None):
        return sorted(self._of(trial))

    def get(self, trial=None):
        """The tensors that were asked for."""
        trial = self._trials[0] if trial is None else trial
        return [trial.tensor(name) for name in self.get_names(trial)]

    def clear(self):
        self._steps = {}

    def fetch(self):
        """Waits for the steps and reads the values."""
        for trial, wanted in self._steps.items():
            steps = sorted({step for steps in wanted.values() for step in steps})
            trial.wait_for_steps(steps)
            for name, steps in wanted.items():
                tensor = trial.tensor(name)
                for step in steps:
                    tensor.value(step)

    def _of(self, trial):
        return self._steps.get(self._trials[0] if trial is None else trial, {})
