"""`RequiredTensors`: what a rule wants to look at, fetched before it looks."""

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError, TensorUnavailable


class RequiredTensors:
    """Names and global steps, for each trial of a rule. Without a `trial`, the base trial is
    meant; a trial that the rule does not have raises SMDebugValueError.
    """

    def __init__(self, trials):
        self._trials = trials
        self._steps = {}  # trial -> name -> steps

    def add(self, name, steps, trial=None, should_match_regex=False):
        """Asks for the tensor `name` at a list of global steps, also in addition to others.

        With `should_match_regex`, for every tensor of the trial in whose name the regex is found,
        which may be none. Raises TensorUnavailable for a name that the trial does not know.
        """
        trial = self._known(trial)
        if not isinstance(steps, (list, tuple, set, range)):
            raise SMDebugTypeError(f"steps is a list of global steps, found {steps!r}")
        if should_match_regex:
            names = trial.tensor_names(regex=name)
        elif trial.has_tensor(name):
            names = [name]
        else:
            raise TensorUnavailable(name)
        wanted = self._steps.setdefault(trial, {})
        for each in names:
            known = wanted.setdefault(each, [])
            known.extend(step for step in steps if step not in known)

    def get_tensor_steps(self, name, trial=None):
        """The steps at which a tensor was asked for, in the order of asking: a list of int."""
        return list(self._of(trial).get(name, []))

    def get_names(self, trial=None):
        """The names that were asked for: a sorted list of str."""
        return sorted(self._of(trial))

    def get(self, trial=None):
        """The tensors that were asked for: a list of `Tensor` in the order of `get_names`."""
        return [self._known(trial).tensor(name) for name in self.get_names(trial)]

    def clear(self):
        """Forgets everything."""
        self._steps = {}

    def fetch(self):
        """Waits for the steps and reads the values.

        Raises what `Trial.wait_for_steps` and `Tensor.value` raise: TensorUnavailableForStep also
        where only reductions were saved.
        """
        for trial, wanted in self._steps.items():
            trial.wait_for_steps(sorted({step for steps in wanted.values() for step in steps}))
            for name, steps in wanted.items():
                tensor = trial.tensor(name)
                for step in steps:
                    tensor.value(step)

    def _of(self, trial):
        return self._steps.get(self._known(trial), {})

    def _known(self, trial):
        if trial is None:
            return self._trials[0]
        if trial not in self._trials:
            raise SMDebugValueError(f"the rule has no trial {trial!r}; it has {self._trials}")
        return trial
