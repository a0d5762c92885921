"""The common part of the callbacks of all trainers: `TrainingCallback` and `TrainingWatch`.

A callback translates the events of its trainer into calls of its TrainingWatch, and copies
`should_stop` to the flag of the trainer. Only the constructor raises. Every method of a callback is
decorated with `isolated`: an error of smdebug ends the recording, never the training.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import torch

from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.pytorch.backward_watch import BackwardWatch
from smdebug.pytorch.hook import PyTorchOptions
from smdebug.pytorch.shards import rank_and_size
from smdebug.pytorch.trainers.trainer_hook import TrainerHook
from smdebug.rules.run_monitor import RunMonitor
from smdebug.unknown_arguments import refuse_unknown_arguments

_logger = get_logger()
# `gradients` is always "final".
_HOOK_OPTIONS = [
    field.name for field in dataclasses.fields(PyTorchOptions) if field.name != "gradients"
]

Method = TypeVar("Method", bound=Callable[..., Any])


def isolated(method: Method) -> Method:
    """Decorates a method of a callback: an error in it ends the recording of `self.watch`."""

    @functools.wraps(method)
    def safe(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.watch.fail(f"in {type(self).__name__}.{method.__name__}", error)

    return cast(Method, safe)


class TrainingCallback:
    """The members that the callbacks of all trainers share: arguments, `hook` and `close`."""

    def __init__(
        self,
        out_dir: str | None = None,
        rules: str | Iterable[Any] = (),
        stop: bool = True,
        **hook_options: Any,
    ) -> None:
        super().__init__()
        taker = type(self).__name__
        if "on_fire" in hook_options:
            raise SMDebugTypeError(
                f"{taker} takes stop=True or stop=False in place of on_fire, "
                f"found on_fire={shown(hook_options['on_fire'])}"
            )
        refuse_unknown_arguments(taker, hook_options, ("out_dir", "rules", "stop", *_HOOK_OPTIONS))
        self.watch: TrainingWatch = TrainingWatch(out_dir, rules, stop, hook_options)

    @property
    def hook(self) -> TrainerHook:
        """The hook that records, for its collections, modes and `status()`."""
        return self.watch.hook

    def close(self) -> None:
        """Publishes the last step and ends the run. The end of the program does the same."""
        self.watch.close()


class TrainingWatch:
    """One run, over all trainings that its callback sees.

    The `rules` judge each saved step when it ends (see RunMonitor). If one fires and `stop` is
    true, `should_stop` becomes true. `hook_options` are those of smdebug.pytorch.Hook.
    """

    def __init__(
        self,
        out_dir: str | None,
        rules: str | Iterable[Any],
        stop: bool,
        hook_options: Mapping[str, Any],
    ) -> None:
        if not isinstance(stop, bool):
            raise SMDebugTypeError(f"stop must be True or False, found {stop!r}")
        if isinstance(rules, str):
            rules = [rules]
        self._options = {"out_dir": out_dir, **hook_options}
        self._rule_requests = list(rules)
        self._wants_stop = stop
        self._set_up()

    def _set_up(self) -> None:
        self.hook: TrainerHook = TrainerHook(**self._options)
        self.should_stop: bool = False
        self._rules: RunMonitor | None = None
        if self._rule_requests:
            self._rules = self._make_rules()
            self._rules.request_tensors(self.hook)
        self._backward: BackwardWatch | None = None
        self._is_fitting = False

    def __getstate__(self) -> dict[str, Any]:
        """For a trainer that starts processes: each process makes its own watch and hook."""
        return {name: self.__dict__[name] for name in ("_options", "_rule_requests", "_wants_stop")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_up()

    def __deepcopy__(self, memo: object) -> TrainingWatch:
        return self

    # --- a training ---

    def begin_fit(self, model: torch.nn.Module) -> None:
        """Starts to record a training of `model`."""
        self.end_fit()
        self.should_stop = False
        hook = self.hook
        status = hook.status()
        if status.state in ("failed", "closed"):
            _logger.warning(
                "this training is not recorded: the run in '%s' has ended (%s); "
                "make a new callback",
                hook.out_dir,
                status.error or "it was closed",
            )
            return
        if self._rules and status.last_step >= 0:
            self._rules = self._make_rules(status.last_step + 1)
        rank, world_size = rank_and_size()
        if rank > 0:
            self._rules = None  # the first process judges
        self._backward = BackwardWatch(
            hook.add_loss, hook.wants_loss, lambda error: self.fail("while saving a loss", error)
        )
        self._is_fitting = True
        hook.attach_to(model)
        self._backward.install()
        if self._rules and self._wants_stop and world_size > 1:
            _logger.warning(
                "a rule that fires will be logged but will not stop this training: it runs in %d "
                "processes, and if only one stops, the others hang; to stop all of them, start "
                "the training with 'smdebug run --stop'",
                world_size,
            )

    def end_fit(self) -> None:
        """Ends the recording of a training: removes all hooks and logs a summary."""
        if not self._is_fitting:
            return
        self._is_fitting = False
        self._backward.remove()
        self.hook.release()
        self._judge()
        if self._rules:
            self._rules.finish()
        self._sum_up()

    def end_step(self) -> None:
        """Ends a training step and judges it, so that `should_stop` is up to date."""
        was_saving = self.hook.is_saving()
        self.hook.end_update()
        if self._rules and was_saving:
            self.hook.end_step()
            self._judge()

    def save_scalars(self, values: Mapping[str, Any]) -> None:
        """Saves the numbers in `values` as `scalar/<name>` of the open step, if there is one."""
        if not self.hook.takes_scalars():
            return
        for name, value in values.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number or (isinstance(value, torch.Tensor) and value.numel() == 1):
                self.hook.save_scalar(name, value)

    @property
    def is_fitting(self) -> bool:
        """Whether a training is being recorded."""
        return self._is_fitting

    def close(self) -> None:
        """Ends the run."""
        with contextlib.suppress(Exception):
            self.end_fit()
        self.hook.close()

    def fail(self, where: str, error: BaseException) -> None:
        """Ends the recording after an error of smdebug; the training continues. Installed hooks
        become inactive now and are removed at the end, because torch may be iterating over them."""
        try:
            self._rules = None
            self.hook.fail(where, error)
        except Exception as second:
            _logger.error("cleaning up after this error failed too: %r", second)

    # --- internals ---

    def _make_rules(self, first_step: int = 0) -> RunMonitor:
        self.hook.monitor = RunMonitor(self._rule_requests, self.hook.out_dir, first_step)
        return self.hook.monitor

    def _judge(self) -> None:
        if not self._rules:
            return
        self.hook.flush()
        for verdict in self._rules.poll():
            self.should_stop = self._wants_stop and rank_and_size()[1] == 1
            end = "; the training stops (stop=True)" if self.should_stop else ""
            _logger.error("%s: %s%s", verdict["rule"], verdict["message"], end)

    def _sum_up(self) -> None:
        self.hook.flush()  # else the counts lack the last steps
        status, cost = self.hook.status(), self.hook.cost()
        ending = f"{status.steps} steps"
        if status.state not in ("active", "silent"):
            ending += f" ({status.state})"
        recording = f"{status.tensors} tensors, {status.bytes:,} bytes"
        if cost.run_seconds > 0:
            share = 100 * cost.step_thread_seconds / cost.run_seconds
            recording += f"; {cost.step_thread_seconds:.2f} s, {share:.1f} % of the time"
        problem = str(status.error or status.reason or "")
        has_nothing = status.steps > 0 and status.steps_saved == 0
        if self._rules and not has_nothing:
            text = self._rules.summary(ending, recording, problem).rstrip()
        else:
            lines = [
                f"{ending}, {status.steps_saved} saved, {recording} in '{self.hook.out_dir}'",
                problem,
            ]
            if self._rules:
                lines.append("the rules judged no step, because none was saved: see save_config")
            text = "\n".join(filter(None, lines))
        _logger.info("the training has ended: %s", text)
