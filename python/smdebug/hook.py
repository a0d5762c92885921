"""`BaseHook`: the common part of the hooks of all frameworks.

It begins the steps of a run, saves what the script hands it, and ends the run when the program
ends. Its configuration is in configured_hook.py. An adapter, such as smdebug/pytorch/hook.py,
decides when to read the tensors of its framework.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from smdebug import _core, current_hook
from smdebug._core import ModeKeys
from smdebug.array_values import NotTaken, as_number, as_tensor
from smdebug.aws_credentials import renew_credentials, use_boto3_credentials
from smdebug.configured_hook import ConfiguredHook
from smdebug.error_isolation import isolate_errors
from smdebug.exceptions import (
    SMDebugError,
    SMDebugValueError,
)
from smdebug.hook_arguments import (
    checked_collection_names,
    checked_name,
    checked_path,
    checked_tensorboard_dir,
    wrong_mode,
)
from smdebug.hook_options import HookOptions, takes_options
from smdebug.hook_status import HookCost, HookStatus
from smdebug.json_config import create_hook_from_json_config
from smdebug.log import get_logger
from smdebug.misplaced_options import checked_flag, refuse_misplaced_options
from smdebug.near_names import refuse_attribute_of
from smdebug.profiler_calls import ProfilerCalls
from smdebug.rules.step_monitor import StepMonitor, checked_answer
from smdebug.save_config import SaveConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Self


_logger = get_logger()
_UNPICKLED = (
    "this hook was unpickled and records nothing; create the hook in the process that trains"
)
_FORKED = (
    "this process was forked from the one that made the hook and records nothing; "
    "create the hook in this process"
)
# Methods that the hooks of some frameworks have, and those of others do not.
_REGISTRATIONS = ("register_module", "register_loss", "register_block", "register_model")


class BaseHook(ConfiguredHook, ProfilerCalls):
    """Records what a training does into `out_dir`.

    See HookOptions for the arguments.

    SIGTERM publishes every finished step before the process terminates, unless the program has its
    own handler. A storage that does not respond ends the recording after 60 seconds
    (SMDEBUG_STORAGE_TIMEOUT), never the training.

    Invalid arguments raise in the call. No other error reaches the training. A part of the
    configuration that turns out to be invalid when a step begins is logged and left out, such as an
    unknown name in `include_collections`; any other error is kept in `status()` and logged once.
    """

    _failure: dict[str, Any] | None = None
    _rules: StepMonitor | None = None
    _is_in_s3: bool = False  # the run, or its files for TensorBoard
    is_held_by_model: bool = False  # so that nothing else needs to keep it alive
    _is_open: bool = False
    _has_begun: bool = False
    _has_mode_of_script: bool = True  # not one that follows the model or a trainer
    _was_closed: bool = False
    _hooks_at_close: int = 0  # that the process had made
    _has_warned_of_use: bool = False  # after the end of the run
    _replaced_value: str = ""  # saved by hand twice before the first step
    _mode: ModeKeys = ModeKeys.GLOBAL
    # Which of "step_on" and "gradients" the adapter takes.
    adapter_options: tuple[str, ...] = ()
    # What to do for a hook that has seen no step.
    advice: str = ""
    # Attributes that hooks of other kinds have -> what to use here, as the end of a message.
    instead_of: Mapping[str, str] = MappingProxyType({})
    _has_warned_of_no_step: bool = False
    _raised: type[BaseException] | None = None  # what ended the program or the `with` block
    _was_refused: bool = False  # a call of smdebug raised it, and its text names the mistake
    # The answers to a rule that fires, besides "record", that the adapter supports.
    vetoes: tuple[str, ...] = ()

    @takes_options(HookOptions)
    def __init__(self, options: HookOptions) -> None:
        """See HookOptions for the arguments.

        Raises SMDebugTypeError or SMDebugValueError for an invalid one, and SMDebugError if
        `out_dir` contains an ended run.
        """
        self._initialize(options)

    def _initialize(self, options: HookOptions) -> None:
        refuse_misplaced_options(options)
        self._out_dir = checked_path(options.out_dir)
        self.tensorboard_dir: str | None = _core.resolve_tensorboard_dir(
            checked_flag("export_tensorboard", options.export_tensorboard),
            checked_tensorboard_dir(options.tensorboard_dir),
            self.out_dir,
            _core.JobEnvironment.read(),
        )
        self._take_configuration(options)
        self._is_in_s3 = use_boto3_credentials(self._out_dir, self.tensorboard_dir)
        self._saved_by_hand: set[str] = set()  # calls before the first step
        checked_answer(options.on_fire, self.vetoes)
        if options.rules is None and options.on_fire != "record":
            _logger.warning(
                "on_fire=%r has no effect without rules; name some in `rules`", options.on_fire
            )
        if options.rules:
            self._rules = StepMonitor(options.rules, options.on_fire, self.vetoes, self.out_dir)
        self._session = self._make_session()
        if self._rules:
            self._rules.join(self, self._session)
        self._is_open = True
        current_hook.opened(self)
        current_hook.set_current(self)

    @classmethod
    def create_from_json_file(cls, json_file_path: str | os.PathLike[str] | None = None) -> Self:
        """A hook configured by a JSON file: see smdebug/json_config.py. The default path is the
        file that SMDEBUG_CONFIG_FILE_PATH names, else /opt/ml/input/config/debughookconfig.json.

        Raises FileNotFoundError if the file does not exist and SMDebugValueError if its content is
        invalid.
        """
        return create_hook_from_json_config(cls, json_file_path)

    # --- implemented by adapters ---

    def _environment(self) -> dict[str, str]:
        """Returns the environment variables that run.json records."""
        return {}

    def _versions(self) -> dict[str, str]:
        return {"python": sys.version.split()[0]}

    def _rank_and_size(self) -> tuple[int, int]:
        return 0, 1

    def _device_transfer(self) -> Callable[[_core.TensorSlot, Any], bool] | None:
        """The `device_transfer` of Session.create; None to wait for each copy."""
        return None

    def _readable(self, value: Any) -> Any:
        """Returns a value of the framework, or a list of them, in a form that numpy or the core
        reads; any other value unchanged. Raises NotTaken for one that has no elements."""
        return value

    def _readable_number(self, value: Any) -> Any:
        """Returns a value of the framework with one element in a form that has a method `item`; any
        other value unchanged. Raises NotTaken for one that has no elements."""
        return self._readable(value)

    def _detach(self) -> None:
        """Removes every hook from the framework."""

    def _reasons_of_empty_collections(self) -> dict[str, str]:
        """Why built-in collections have no tensor in this training, if they have none, and what to
        do: as in Session.explain_empty."""
        return {}

    def _was_trained_since_close(self) -> bool:
        """Whether a registered model was trained after `close`, if the adapter can tell without a
        hook in the framework: closing removes all of them."""
        return False

    # --- saving ---

    @property
    def out_dir(self) -> str:
        """The folder of the run."""
        return self._out_dir

    @out_dir.setter
    def out_dir(self, value: object) -> None:
        raise AttributeError(
            "out_dir is fixed by the constructor; create another hook to write to another folder"
        )

    @property
    def mode(self) -> ModeKeys:
        """The mode of the following steps."""
        return self._mode

    @mode.setter
    def mode(self, value: object) -> None:
        raise AttributeError("the mode is not set by assignment; use hook.set_mode(modes.TRAIN)")

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the following steps: one of smdebug.modes."""
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(wrong_mode(mode))
        self._mode = mode
        if self._session:
            self._session.set_mode(mode)

    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: float | None = None
    ) -> None:
        """Saves one number as tensor `scalar/<name>` at the current step, due or not.

        It belongs to the step and the mode of the call; before the first step, to the first step.
        `timestamp` is its time in seconds since the epoch, by default the time of the step.
        `sm_metric` made the original send the number to a cloud service and has no effect here.

        Raises SMDebugTypeError for a value that is not a single number. A number that float64
        cannot hold, or an array whose element cannot be read, is skipped and logged once.
        """
        name = checked_name("a scalar's name", name)
        if not self._is_open:
            return self._warn_if_closed("save_scalar")
        try:
            number = as_number(name, self._readable_number(value))
            seconds = None if timestamp is None else float(as_number("timestamp", timestamp))
        except NotTaken as why:
            return self._skip(_core.scalar_name(name), str(why))
        if not self._has_begun:
            self._note_saved(f"save_scalar('{name}')")
        if self._session:
            save = self._session.save_scalar
            if isinstance(number, int):
                save = self._session.save_integer
            save(name, number, seconds)

    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default"
    ) -> None:
        """Saves a tensor at the current step, due or not, and adds it to collections.

        `tensor_value` is an array or tensor of any shape and dtype, a list, or a number, which
        gets shape (1,); it is copied before this returns. `collections_to_write` is a collection
        or its name, or several of them. They determine what is written: the values, unless their
        settings request reductions. A collection that does not exist is created. Before the first
        step and between steps, the tensor belongs to the next step. Of several values in one step,
        the last one counts.

        Raises SMDebugTypeError for a value that is not a tensor and for an invalid collection. A
        tensor whose elements cannot be read or saved is skipped and logged once.
        """
        tensor_name = checked_name("a tensor's name", tensor_name)
        names = checked_collection_names(collections_to_write)
        if not self._is_open:
            return self._warn_if_closed("save_tensor")
        try:
            tensor = as_tensor(tensor_name, self._readable(tensor_value))
        except NotTaken as why:
            return self._skip(tensor_name, str(why))
        if not self._has_begun:
            self._note_saved(f"save_tensor('{tensor_name}')")
        if not self._session:
            return
        for collection in filter(None, map(self._collections.get, names)):
            if not collection.has_members():  # its settings are passed on with its tensors
                collection.add_tensor_name(tensor_name)
        self._session.save_tensor(tensor_name, tensor, names)

    def _note_saved(self, call: str) -> None:
        """Notes a value that replaces another one, because no step has begun."""
        if call in self._saved_by_hand:
            self._replaced_value = call
        self._saved_by_hand.add(call)

    def _skip(self, tensor_name: str, reason: str) -> None:
        """Reports, in the status and once in the log, that a tensor is not saved."""
        if self._session:
            self._session.tensor(tensor_name).skip(reason)

    def should_save_tensor_or_collection(self, tensor_name: str, collection_name: str) -> bool:
        """Whether the open step saves a tensor of that name, or the collection."""
        return bool(self._session) and self._session.is_due(tensor_name, collection_name)

    def export_collections(self) -> None:
        """Writes the collections file with the tensors seen so far. The run also writes it at its
        first saved step and with each new tensor."""
        if self._session:
            self._session.export_collections()
            self.flush()

    def pause(self) -> None:
        """Stops recording from the next step on, until `resume`. Steps are still counted."""
        if self._session:
            self._session.pause()

    def resume(self) -> None:
        """Resumes recording from the next step on."""
        if self._session:
            self._session.resume()

    def flush(self) -> None:
        """Waits until every finished step can be read."""
        if self._session:
            with contextlib.suppress(SMDebugError):  # latched in status(), logged once
                self._session.flush()

    def close(self) -> None:
        """Ends the run: publishes the last step and removes the hooks. Never raises. A hook that
        is garbage collected is closed."""
        if self._was_closed:
            self._warn_of_training_since_close()
        if not self._session or not self._is_open:
            return
        self._is_open = False
        self._was_closed = True
        self._hooks_at_close = current_hook.hooks_made()
        is_unused = not self._has_begun and not self.status().error and not self._was_refused
        was_active = False
        try:
            with self._isolate("close"):
                self._detach()
                if self._is_in_s3:
                    renew_credentials()
                was_active = self._session.status().state == "active"
                for collection, reason in self._reasons_of_empty_collections().items():
                    self._session.explain_empty(collection, reason)
        finally:  # also after a Ctrl-C
            self._close_session()
        # Values that were saved without a step have begun one now.
        if is_unused and self._session.status().steps == 0:
            _logger.warning("run '%s': %s", self.out_dir, self._reason_of_no_step())
        elif is_unused and self._replaced_value:
            text = "run '%s': of the values of %s, only the last one is saved: %s"
            _logger.warning(text, self.out_dir, self._replaced_value, self._reason_of_no_step())
        if was_active:
            with self._isolate("the last look at the settings"):
                self._report_misplaced_attributes()
        if self._has_begun and was_active:
            with self._isolate("the last look at the configuration"):
                self._report_empty_collections()
                self._report_unsaved_collections()
                self._report_unrecorded_parts()
                self._warn_of_no_saved_step()
        if self._rules:
            with self._isolate("the end of the rules"):
                self._rules.finish(self._ignored)

    def _close_session(self) -> None:
        """Publishes the last step. If a Ctrl-C prevents that, it is done when the interpreter
        exits."""
        with contextlib.suppress(SMDebugError):
            self._session.close(self._raised.__name__ if self._raised else "")
        current_hook.closed(self)

    def __del__(self) -> None:
        if self._is_open:
            self.close()
        elif self._was_closed:
            self._warn_of_training_since_close()

    def __enter__(self) -> Self:
        self._warn_if_closed("with hook:")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: object = None,
    ) -> None:
        if error is not None:
            self._note_raised(error)
        self.close()

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            advice = self.advice if name in _REGISTRATIONS else ""
            refuse_attribute_of(self, name, self.instead_of.get(name, advice))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_dir!r}, {self.status().state})"

    # --- status ---

    def status(self) -> HookStatus:
        """The state of the recording, with counts and the first error."""
        if not self._session:
            return HookStatus(state="closed", reason="this hook was unpickled")
        status = self._session.status()
        if self._failure and not status.error:
            return status.replace(state="failed", **self._failure)
        if self._was_closed and status.state == "active":  # the run never began
            return status.replace(state="closed", reason=self._reason_of_no_step())
        return status

    def _warn_if_closed(self, call: str) -> None:
        """Logs, once, that `call` has no effect if the hook is closed, or a copy in a process that
        has no run."""
        if self._is_open or self._has_warned_of_use:
            return
        self._has_warned_of_use = True
        if not self._session:
            _logger.warning("%s has no effect: %s", call, _UNPICKLED)
        elif self._was_closed:
            text = (
                "run '%s': %s after close() has no effect: the hook is closed; create another one"
            )
            _logger.warning(text, self.out_dir, call)
        else:
            _logger.warning("run '%s': %s has no effect: %s", self.out_dir, call, _FORKED)

    def _warn_of_training_since_close(self) -> None:
        """Logs, once, that a training continued after the hook was closed, unless another hook was
        made meanwhile. Never raises."""
        if self._has_warned_of_use or current_hook.hooks_made() != self._hooks_at_close:
            return
        with self._isolate("after the end of the run"):
            if self._was_trained_since_close():
                self._has_warned_of_use = True
                text = (
                    "run '%s': the steps since the first close(), at step %d, were not recorded: "
                    "the hook is closed; close it after the last epoch"
                )
                _logger.warning(text, self.out_dir, self._session.step[0])

    def verdicts(self) -> list[dict[str, Any]]:
        """The verdicts of the `rules` of this hook, in the order given: dicts of the shape that
        `smdebug check --json` prints. "InProgress" until the rule fires or the hook is closed."""
        return self._rules.verdicts() if self._rules else []

    @property
    def skipped_steps(self) -> list[int]:
        """The global steps whose update a rule of this hook has skipped."""
        return list(self._rules.skipped_steps) if self._rules else []

    def cost(self) -> HookCost:
        """The overhead of recording so far."""
        return self._session.cost() if self._session else HookCost()

    def summary(self) -> str:
        """The collections and patterns, and how many tensors of the first saved step each matched,
        also in the log at level debug; empty before that step."""
        return self._session.summary() if self._session else ""

    # --- the core ---

    def _begin_step(self) -> bool:
        """Begins a step and returns whether anything is due in it."""
        self._prepare_step()
        if self._is_in_s3:
            renew_credentials()
        return self._session.begin_step()

    def _prepare_step(self) -> None:
        """Passes the configuration for the next step to the core."""
        if not self._has_begun:
            self._hand_over_configuration()
            if self._session.mode is ModeKeys.GLOBAL:
                self._report_unset_mode()
            self._session.set_worker(*self._rank_and_size())
            _core.install_termination_flush()
            self._has_begun = True
        else:
            self._take_up_edits()

    def _report_unrecorded_parts(self) -> None:
        """Reports what the script handed over, or left out, so that less is recorded than it may
        expect."""

    def _report_end(self, finding: str, advice: str) -> None:
        """Logs what was found at the end of the run, and what to do."""
        self._report_mistake(f"run '{self.out_dir}': {finding}: {advice}")

    def _make_session(self) -> _core.Session:
        # A script may fill the other collections before its first step.
        built_in = {collection.name for collection in self._framework.collections}
        return _core.Session.create(
            self._core_configuration([n for n in self.include_collections if n in built_in], []),
            self._framework,
            [sys.executable, *sys.argv],
            self._versions(),
            self._environment(),
            self._device_transfer(),
        )

    def _isolate(self, where: str) -> AbstractContextManager[Any]:
        """Keeps errors of smdebug from the training: latches and logs the first one."""
        return isolate_errors(self._latch, where)

    def _latch(self, where: str, error: Exception) -> None:
        if self._failure:
            return
        step = self._session.step[0]
        self._failure = {"error": f"{where}: {error!r}", "error_step": step}
        _logger.error(
            "recording stops at step %d, the training continues: %s", step, where, exc_info=error
        )

    def _warn_of_no_saved_step(self) -> None:
        status = self._session.status()
        if status.steps == 0 or status.steps_saved > 0 or self.dry_run:
            return
        config = self.save_config or SaveConfig()
        steps = config.get_save_config(self._session.mode)  # None: the default, from step 0 on
        start = steps.start_step if steps else 0
        has_end = steps is not None and steps.end_step is not None and not steps.save_steps
        if has_end and steps.end_step <= start:
            return  # logged when the configuration was read
        reason = (
            f"save_config starts at step {start}"
            if start > 0
            else "no step of save_config is among them, or the recording was paused"
        )
        text = "run '%s': %d steps, none saved: %s"
        _logger.warning(text, self.out_dir, status.steps, reason)

    def _reason_of_no_step(self) -> str:
        if self._raised:
            return f"no step was recorded: {self._raised.__name__} was raised before the first step"
        if self._has_warned_of_no_step:
            return "no step was recorded, see the warning above"
        return f"no step was recorded: {self._why_no_step()}"

    def _why_no_step(self) -> str:
        """Why no step began, or what to do so that one begins."""
        return self.advice

    def _note_raised(self, error: BaseException) -> None:
        """Notes the error that ends the program or the `with` block, without keeping it alive."""
        self._raised = type(error)
        owner = type(getattr(error, "obj", None))  # that has no such attribute
        is_ours = owner.__module__.partition(".")[0] == "smdebug"
        self._was_refused = isinstance(error, SMDebugError) or is_ours

    def _warn_of_no_step(self, finding: str, advice: str = "") -> None:
        """Logs what was found, and what to do so that steps are recorded."""
        self._has_warned_of_no_step = True
        _logger.warning("run '%s': %s: %s", self.out_dir, finding, advice or self.advice)

    def _is_set_to_evaluate(self) -> bool:
        """Whether the script has set a mode in which no model is trained."""
        return self._has_mode_of_script and self._mode in (ModeKeys.EVAL, ModeKeys.PREDICT)

    def _report_update_in_mode(self, finding: str) -> None:
        """Reports an update of a model in a mode in which no model is trained."""
        text = (
            f"{finding} in mode {self._mode.name}: call hook.set_mode(modes.TRAIN) before each "
            "training, and EVAL before each evaluation, so that rules can tell their steps apart"
        )
        self._report_mistake(text)

    # --- copies and children ---

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a hook that takes a configuration and records nothing."""
        self._take_configuration(HookOptions())

    def _after_fork_in_child(self) -> None:
        self._session.after_fork_in_child()


@atexit.register
def _close_all() -> None:
    # Set by the interpreter for the exception that ends a script. In a console, it is that of some
    # earlier line.
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    for hook in current_hook.open_hooks():
        if error is not None:
            hook._note_raised(error)
        # A second Ctrl-C ends the wait for the storage; a traceback would tell nothing.
        with contextlib.suppress(KeyboardInterrupt):
            hook.close()
    for hook in current_hook.open_hooks():  # whose `close` was interrupted
        with contextlib.suppress(KeyboardInterrupt):
            hook._close_session()
    last = current_hook.get_current()
    if last is not None and last._was_closed:
        last._warn_of_training_since_close()


def _after_fork_in_child() -> None:
    for hook in current_hook.open_hooks():
        hook._after_fork_in_child()
        hook._is_open = False
        current_hook.closed(hook)


os.register_at_fork(after_in_child=_after_fork_in_child)
