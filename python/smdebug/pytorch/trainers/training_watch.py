"""`TrainingWatch`: what the callbacks of all trainers share.

A callback translates the events of its trainer into the calls here, and hands `should_stop` to
the trainer's own flag. Nothing here raises once it is made, and every callback method goes
through `contained`: an error of ours ends the recording, never the training.
"""

import contextlib
import functools

import torch

from smdebug.exceptions import SMDebugTypeError
from smdebug.log import get_logger
from smdebug.pytorch.backward_watch import BackwardWatch
from smdebug.pytorch.trainers.trainer_hook import TrainerHook
from smdebug.rules.run_monitor import RunMonitor

logger = get_logger()


def contained(method):
    """For methods of a callback, whose attribute `watch` takes what they raise."""

    @functools.wraps(method)
    def safe(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.watch.fail(f"in {type(self).__name__}.{method.__name__}", error)

    return safe


class TrainingWatch:
    """One run, over as many trainings as its callback sees.

    `rules` are judged when a saved step ends (see RunMonitor); where one fires and `stop` is
    true, `should_stop` becomes true. `hook_options` are those of smdebug.pytorch.Hook.
    """

    def __init__(self, out_dir, rules, stop, hook_options):
        if not isinstance(stop, bool):
            raise SMDebugTypeError(f"stop must be True or False, found {stop!r}")
        if isinstance(rules, str):
            rules = [rules]
        self._options = {"out_dir": out_dir, **hook_options}
        self._rule_requests = list(rules)
        self._wants_stop = stop
        self._set_up()

    def _set_up(self):
        self.hook = TrainerHook(**self._options)
        self.should_stop = False
        self._rules = None
        if self._rule_requests:
            self._rules = self._make_rules()
            self._rules.request_tensors(self.hook)
        self._backward = None
        self._is_fitting = False

    def __getstate__(self):
        """For a trainer that starts processes: each gets a watch with a hook of its own."""
        return {name: self.__dict__[name] for name in ("_options", "_rule_requests", "_wants_stop")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._set_up()

    def __deepcopy__(self, memo):
        return self

    # --- a training ---

    def begin_fit(self, model):
        """A training of `model` begins."""
        self.end_fit()
        self.should_stop = False
        hook = self.hook
        status = hook.status()
        if status.state in ("failed", "closed"):
            logger.warning(
                "this training is not recorded: the run in '%s' is over (%s); make a new callback",
                hook.out_dir,
                status.error or "it was closed",
            )
            return
        if self._rules and status.last_step >= 0:
            self._rules = self._make_rules(status.last_step + 1)
        if _rank() > 0:
            self._rules = None  # one judge suffices
        self._backward = BackwardWatch(
            hook.add_loss, hook.wants_loss, lambda error: self.fail("looking at a loss", error)
        )
        self._is_fitting = True
        hook.attach_to(model)
        self._backward.install()
        if self._rules and self._wants_stop and _world_size() > 1:
            logger.warning(
                "a rule that fires will be reported, but will not stop this training: it runs in "
                "%d processes, and one that stops alone leaves the others waiting; to stop all "
                "of them, start it with 'smdebug run --stop'",
                _world_size(),
            )

    def end_fit(self):
        """The training is over: takes everything out of the model and torch, and sums up."""
        if not self._is_fitting:
            return
        self._is_fitting = False
        self._backward.remove()
        self.hook.release()
        self._judge()
        if self._rules:
            self._rules.finish()
        self._sum_up()

    def end_step(self):
        """A step of training is over. Judges it, so that `should_stop` is up to date."""
        was_saving = self.hook.is_saving()
        self.hook.end_update()
        if self._rules and was_saving:
            self.hook.end_step()
            self._judge()

    def save_scalars(self, values):
        """Saves the numbers among `values`, a dict, as `scalar/<name>` of the open step, if any."""
        if not self.hook.takes_scalars():
            return
        for name, value in values.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number or (isinstance(value, torch.Tensor) and value.numel() == 1):
                self.hook.save_scalar(name, value)

    @property
    def is_fitting(self):
        return self._is_fitting

    def close(self):
        """Ends the run."""
        with contextlib.suppress(Exception):
            self.end_fit()
        self.hook.close()

    def fail(self, where, error):
        """Something of ours went wrong: recording ends, the training goes on. What stands in torch
        does nothing more, and comes out at the end: torch may be walking over it."""
        try:
            self._rules = None
            self.hook.fail(where, error)
        except Exception as second:
            logger.error("cleaning up after that failed too: %r", second)

    # --- inside ---

    def _make_rules(self, first_step=0):
        self.hook.monitor = RunMonitor(self._rule_requests, self.hook.out_dir, first_step)
        return self.hook.monitor

    def _judge(self):
        if not self._rules:
            return
        self.hook.flush()
        for verdict in self._rules.poll():
            logger.error("%s", verdict["message"])
            self.should_stop = self._wants_stop and _world_size() == 1

    def _sum_up(self):
        status, cost = self.hook.status(), self.hook.cost()
        lines = [
            f"{status.steps} steps, {status.steps_saved} saved, {status.tensors} tensors, "
            f"{status.bytes / 1e6:.1f} MB in '{self.hook.out_dir}' ({status.state})"
        ]
        if cost.run_seconds > 0:
            share = 100 * cost.step_thread_seconds / cost.run_seconds
            lines.append(
                f"watching took {cost.step_thread_seconds:.2f} s, {share:.1f} % of the time"
            )
        for problem in filter(None, (status.error, status.reason)):
            lines.append(problem)
        if self._rules:
            lines.append(self._rules.text().rstrip())
        logger.info("the training is over: %s", "\n".join(lines))


def _is_distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _world_size():
    return torch.distributed.get_world_size() if _is_distributed() else 1


def _rank():
    return torch.distributed.get_rank() if _is_distributed() else 0
