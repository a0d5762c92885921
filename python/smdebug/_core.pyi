"""The C++ library, as the Python package sees it."""

from collections.abc import Callable, Mapping, Sequence
import enum
from typing import overload


version: str = '2.0.0'

def set_leak_warnings(on: bool) -> None:
    """Reports objects of this module that are alive at exit, or not."""

class ModeKeys(enum.Enum):
    """What the program is doing with the model."""

    TRAIN = 1

    EVAL = 2

    PREDICT = 3

    GLOBAL = 4

class SaveConfigMode:
    def __init__(self, save_interval: int, start_step: int, end_step: int | None, save_steps: Sequence[int]) -> None: ...

    @property
    def save_interval(self) -> int: ...

    @property
    def start_step(self) -> int: ...

    @property
    def end_step(self) -> int | None: ...

    @property
    def save_steps(self) -> list[int]: ...

    def is_due(self, mode_step: int) -> bool: ...

    def check(self) -> None: ...

class SaveConfig:
    def __init__(self, modes: Mapping[ModeKeys, SaveConfigMode]) -> None: ...

    def mode(self, mode: ModeKeys) -> SaveConfigMode | None: ...

class ReductionConfig:
    @staticmethod
    def parse(ops: str, save_raw_tensor: bool = False, save_shape: bool = False, summary: bool = False) -> ReductionConfig: ...

    @property
    def ops(self) -> list[str]: ...

    @property
    def save_raw_tensor(self) -> bool: ...

    @property
    def save_shape(self) -> bool: ...

    @property
    def summary(self) -> bool: ...

    def ops_text(self) -> str: ...

class Collection:
    def __init__(self, name: str, include_regex: Sequence[str], tensor_names: Sequence[str], save_config: SaveConfig | None = None, reduction_config: ReductionConfig | None = None, save_histogram: bool = True, is_optional: bool = False) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def include_regex(self) -> list[str]: ...

    @property
    def tensor_names(self) -> list[str]: ...

    @property
    def save_config(self) -> SaveConfig | None: ...

    @property
    def reduction_config(self) -> ReductionConfig | None: ...

    @property
    def save_histogram(self) -> bool: ...

def check_pattern(collection: str, pattern: str) -> None:
    """Raises SMDebugValueError if `pattern` does not compile."""

class Framework:
    @property
    def name(self) -> str: ...

    @property
    def collections(self) -> list[Collection]: ...

    @property
    def default_saved(self) -> list[str]: ...

    def find(self, collection: str) -> Collection:
        """The framework's own collection of that name, or None."""

    def knows(self, collection: str) -> bool:
        """Whether a collection needs neither pattern nor tensor names."""

def pytorch_framework() -> Framework: ...

def xgboost_framework() -> Framework: ...

def mxnet_framework() -> Framework: ...

def tensorflow_framework() -> Framework: ...

class HookConfig:
    def __init__(self, out_dir: str, *, save_config: SaveConfig | None = None, reduction_config: ReductionConfig | None = None, include_regex: Sequence[str], include_collections: Sequence[str], save_all: bool, dry_run: bool, all_workers: bool, collections: Sequence[Collection], tensorboard_dir: str | None = None, true_checksum: bool = False, max_run_bytes: int | None = None, keep_every: int = 0) -> None: ...

    @property
    def out_dir(self) -> str: ...

    @property
    def save_config(self) -> SaveConfig | None: ...

    @property
    def reduction_config(self) -> ReductionConfig | None: ...

    @property
    def include_regex(self) -> list[str]: ...

    @property
    def include_collections(self) -> list[str]: ...

    @property
    def save_all(self) -> bool: ...

    @property
    def dry_run(self) -> bool: ...

    @property
    def all_workers(self) -> bool: ...

    @property
    def collections(self) -> list[Collection]: ...

    @property
    def tensorboard_dir(self) -> str | None: ...

    @property
    def true_checksum(self) -> bool: ...

    @property
    def max_run_bytes(self) -> int | None: ...

    @property
    def keep_every(self) -> int: ...

    @property
    def step_on(self) -> str | None: ...

    @property
    def gradients(self) -> str | None: ...

def saved_collections(config: HookConfig, framework: Framework) -> list[str]:
    """The collections that a hook of this configuration saves."""

class JobEnvironment:
    """
    Whether this is a SageMaker job, and where configuration files lie. JobEnvironment() holds the defaults, read() what the environment says.
    """

    def __init__(self) -> None: ...

    @staticmethod
    def read() -> JobEnvironment: ...

    @property
    def is_enabled(self) -> bool: ...

    @property
    def training_job_name(self) -> str | None: ...

    @property
    def is_sagemaker_job(self) -> bool: ...

    @property
    def hook_config_path(self) -> str: ...

    @property
    def tensorboard_config_path(self) -> str: ...

    @property
    def checkpoint_config_path(self) -> str: ...

    @property
    def profiler_config_path(self) -> str: ...

sagemaker_out_dir: str = '/opt/ml/output/tensors'

def resolve_tensorboard_dir(export_tensorboard: bool, tensorboard_dir: str | None, out_dir: str, job: JobEnvironment) -> str | None:
    """The directory for TensorBoard files, or None."""

class HookConfigFile:
    @property
    def config(self) -> HookConfig: ...

    @property
    def warnings(self) -> list[str]: ...

def parse_hook_config(text: str, file: str, framework: Framework, job: JobEnvironment) -> HookConfigFile: ...

def load_hook_config(path: str, framework: Framework, job: JobEnvironment) -> HookConfigFile:
    """An empty path stands for the environment's."""

def log(level: int, message: str) -> None:
    """Writes a line to the process's logger; levels as Python's `logging`."""

def set_local_part(function: object) -> None:
    """
    Sets what shows this process's part of a tensor that is spread over several: a function of a tensor that returns None for any other, else (part, shape of the whole, offsets of the part).
    """

class SessionStatus:
    """Where a hook stands: nothing here raises."""

    @property
    def state(self) -> str: ...

    @property
    def error(self) -> object: ...

    @property
    def error_step(self) -> object: ...

    @property
    def tensorboard_error(self) -> object: ...

    @property
    def reason(self) -> str: ...

    @property
    def last_step(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def steps_saved(self) -> int: ...

    @property
    def steps_published(self) -> int: ...

    @property
    def tensors(self) -> int: ...

    @property
    def records(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def replaced_tensors(self) -> int: ...

    @property
    def removed_steps(self) -> int: ...

    @property
    def first_kept_step(self) -> int | None: ...

    @property
    def dropped_tensors(self) -> int: ...

    @property
    def dropped_bytes(self) -> int: ...

    @property
    def calls_after_failure(self) -> int: ...

    @property
    def skipped(self) -> dict[str, str]: ...

class SessionCost:
    """What watching has cost so far."""

    @property
    def step_thread_seconds(self) -> float: ...

    @property
    def wait_seconds(self) -> float: ...

    @property
    def writer_cpu_seconds(self) -> float: ...

    @property
    def bytes_captured(self) -> int: ...

    @property
    def bytes_written(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def run_seconds(self) -> float: ...

class TensorStatistics:
    """
    What one pass over a tensor, or a part of it, leaves behind. The moments are over its finite elements, 0 where there are none; `m2` is the sum of squared distances from `mean`.
    """

    def __init__(self, *, count: int = 0, nan: int = 0, positive_inf: int = 0, negative_inf: int = 0, zeros: int = 0, min: float = 0.0, max: float = 0.0, mean: float = 0.0, m2: float = 0.0, sum_abs: float = 0.0, sum_squares: float = 0.0) -> None: ...

    def merge(self, other: TensorStatistics) -> None:
        """Adds the elements behind `other`."""

class TensorSlot:
    def put(self, tensor: object) -> None:
        """Captures the tensor if it is due. Any thread."""

    def put_number(self, value: float) -> None:
        """Captures the number, a float64 of shape (1,), if it is due."""

    def put_copy(self, copy: object) -> None:
        """
        Captures a copy in host memory of what lay on a device when it was put: see `device_transfer` of Session.create.
        """

    def needs_elements(self) -> bool:
        """
        Whether more is kept of a tensor that is put now than its statistics hold. False where it is not due.
        """

    def put_statistics(self, dtype: str, shape: Sequence[int], statistics: TensorStatistics) -> None:
        """
        Captures a tensor by the statistics of its elements, which lie elsewhere, if it is due. `dtype` is numpy's name. Ask `needs_elements` first: where they are, it is skipped.
        """

    def is_due(self) -> bool: ...

    def is_next_due(self) -> bool: ...

    def can_match(self) -> bool: ...

    def skip(self, reason: str) -> None:
        """Says that the tensor cannot be saved: once, in the status and the log."""

class TensorSlots:
    def put(self, tensors: list) -> None:
        """Captures those that are due, by position."""

    def put_shared(self, tensor: object) -> None:
        """
        Captures one tensor under all these names that are due; it is stored once.
        """

    def is_any_due(self) -> bool: ...

    def can_match(self) -> list[bool]: ...

class ModuleSlots:
    @property
    def was_called(self) -> bool: ...

    def capture_inputs(self, arguments: object, keywords: object) -> None: ...

    def capture_outputs(self, output: object | None) -> None: ...

    def capture_call(self, arguments: object, keywords: object, output: object | None) -> None: ...

    def watch_gradients(self, output: object | None) -> None:
        """
        Saves the gradient of each tensor in `output` when backward comes to it, if an output is due.
        """

    def next_input(self) -> TensorSlot | None:
        """
        Counts one more input of this step. Returns its slot, or None where it is not due.
        """

    def next_output(self) -> TensorSlot | None:
        """The same of an output."""

    def may_match_input(self) -> bool: ...

    def may_match_output(self) -> bool: ...

    def can_match_input(self) -> bool: ...

    def can_match_output(self) -> bool: ...

class Session:
    @staticmethod
    def create(config: HookConfig, framework: Framework, command: Sequence[str], versions: Mapping[str, str], environment: Mapping[str, str], device_transfer: object | None = None) -> Session:
        """
        `device_transfer` copies tensors that lie on a device: a function of the slot in which a tensor is due, and the tensor. It returns whether it will call `put_copy`, `put_statistics` or `skip` of the slot before the step ends. Tensors that it does not take are copied at once, and waited for.
        """

    def set_config(self, config: HookConfig) -> None: ...

    @property
    def plan_version(self) -> int: ...

    def set_worker(self, rank: int, world_size: int, name: str = '') -> None: ...

    def set_mode(self, mode: ModeKeys) -> None: ...

    @property
    def mode(self) -> ModeKeys: ...

    def begin_step(self) -> bool: ...

    @overload
    def is_next_due(self) -> bool: ...

    @overload
    def is_next_due(self, tensor_name: str, collection: str) -> bool:
        """The same of one tensor, by its name or its collection."""

    def bind_to_current_thread(self) -> None:
        """Makes the calling thread the owner of the open step."""

    def before_update(self) -> None: ...

    def end_step(self) -> None: ...

    @property
    def step(self) -> tuple: ...

    def is_capturing(self) -> bool: ...

    def tensor(self, name: str, collections: Sequence[str] = []) -> TensorSlot:
        """
        The slot of a tensor. It belongs to `collections`, whatever its name, beside those that match it.
        """

    def gradient(self, root: str, path: str) -> TensorSlot: ...

    def tensors(self, names: Sequence[str], collections: Sequence[str] = []) -> TensorSlots:
        """
        The slots of several tensors that belong to the same collections, and are put together.
        """

    def parameters(self, root: str, paths: Sequence[str]) -> TensorSlots: ...

    def gradients(self, root: str, paths: Sequence[str]) -> TensorSlots: ...

    def module(self, path: str) -> ModuleSlots: ...

    def save_scalar(self, name: str, value: float, wall_seconds: float | None = None) -> None: ...

    def save_integer(self, name: str, value: int, wall_seconds: float | None = None) -> None: ...

    def save_tensor(self, name: str, tensor: object, collections: Sequence[str]) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    @property
    def is_paused(self) -> bool: ...

    def saves(self, collection: str) -> bool:
        """Whether the plan in use saves the collection at all."""

    def is_due(self, tensor_name: str, collection: str) -> bool: ...

    def due_collections(self) -> list[str]:
        """The names of the collections that the open step saves."""

    def export_collections(self) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def status(self) -> SessionStatus: ...

    def cost(self) -> SessionCost: ...

    @property
    def worker(self) -> str: ...

    def summary(self) -> str: ...

    def after_fork_in_child(self) -> None: ...

def install_termination_flush() -> bool:
    """
    From now on SIGTERM lets every session publish the steps that ended before the process dies of it. Returns False, and changes nothing, where the program has its own handler.
    """

class StepState(enum.Enum):
    """Whether a step can be read."""

    UNAVAILABLE = 0

    AVAILABLE = 1

    NOT_YET_AVAILABLE = 2

class Tensor:
    @property
    def name(self) -> str: ...

    @property
    def original_name(self) -> str | None: ...

    def steps(self, mode: ModeKeys, incomplete: bool) -> list[int]: ...

    def prev_steps(self, step: int, n: int, mode: ModeKeys) -> list[int]: ...

    def workers(self, step: int, mode: ModeKeys) -> list[str]: ...

    def value(self, step: int, mode: ModeKeys, worker: str | None) -> tuple: ...

    def values(self, mode: ModeKeys, worker: str | None) -> list: ...

    def dtype(self, step: int, mode: ModeKeys, worker: str | None) -> str: ...

    def shape(self, step: int, mode: ModeKeys, worker: str | None) -> list[int]: ...

    def saved_reductions(self, step: int, mode: ModeKeys, worker: str | None) -> dict: ...

    def reduction(self, step: int, mode: ModeKeys, worker: str | None, op: str) -> float: ...

    def placement(self, step: int, mode: ModeKeys, worker: str | None) -> object: ...

    def merged_statistics(self, step: int, mode: ModeKeys) -> dict: ...

    def statistics(self, step: int, mode: ModeKeys, worker: str | None) -> dict: ...

class Trial:
    @staticmethod
    def open(location: str, name: str, first_step: int | None, end_step: int | None, timeout_seconds: float | None, before_refresh: object | None, keep_values: bool) -> Trial: ...

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> str: ...

    def refresh(self) -> None: ...

    @property
    def is_refreshing(self) -> bool: ...

    @is_refreshing.setter
    def is_refreshing(self, arg: bool, /) -> None: ...

    def has_ended(self) -> bool: ...

    def tensor_names(self, step: int | None, mode: ModeKeys, regexes: Sequence[str], names: Sequence[str]) -> list[str]: ...

    def tensor(self, name: str) -> Tensor: ...

    def has_tensor(self, name: str) -> bool: ...

    def steps(self, mode: ModeKeys, incomplete: bool) -> list[int]: ...

    def modes(self) -> list[ModeKeys]: ...

    def step_id(self, global_step: int) -> tuple[ModeKeys, int] | None: ...

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None: ...

    def workers(self) -> list[str]: ...

    @property
    def num_workers(self) -> int: ...

    @property
    def last_complete_step(self) -> int: ...

    @property
    def last_index_token(self) -> str: ...

    def collections(self) -> list[Collection]: ...

    def has_passed_step(self, step: int, mode: ModeKeys) -> StepState: ...

    def wait_for_steps(self, steps: Sequence[int], mode: ModeKeys, timeout_seconds: float | None) -> None: ...

    def damage(self) -> list[tuple[str, str]]: ...

    @property
    def dropped_tensors(self) -> int: ...

    def bytes(self) -> int: ...

    def run_file_text(self) -> str: ...

def find_names(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Those of `names` that one of `patterns` finds, in their order."""

class FileWriter:
    @staticmethod
    def create(run: str, step: int, worker: str, write_checksum: bool, is_tensorboard: bool, mode: ModeKeys) -> FileWriter: ...

    def write_tensor(self, name: str, tensor: object | None, mode: ModeKeys, mode_step: int | None, wall_seconds: float | None, is_indexed: bool, is_quantized: bool) -> None: ...

    def write_shape(self, name: str, shape: Sequence[int], original_name: str, mode: ModeKeys, mode_step: int | None) -> None: ...

    def write_scalar_summary(self, tag: str, value: float, step: int | None, wall_seconds: float | None) -> None: ...

    def write_histogram_summary(self, tag: str, tensor: object, step: int | None, wall_seconds: float | None) -> bool: ...

    def write_summary(self, summary: bytes, step: int | None) -> None: ...

    def write_graph(self, graph: bytes) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def name(self) -> str: ...

class RecordCheck(enum.Enum):
    """Which checksums a record must have."""

    NONE = 0

    MINIMAL = 1

    FULL = 2

class FileReader:
    @staticmethod
    def open(path: str, check: RecordCheck, patterns: Sequence[str] | None) -> FileReader: ...

    def next(self, skip_others: bool) -> object:
        """
        The next tensor; with `skip_others`, records that hold no tensor are no error.
        """

    @property
    def skipped_count(self) -> int: ...

    @property
    def skipped(self) -> list[tuple[int, int, str]]: ...

class SavedCollections:
    def __init__(self, collections: Sequence[Collection], num_workers: int) -> None: ...

    @staticmethod
    def parse(text: str) -> SavedCollections: ...

    def text(self) -> str: ...

    def write(self, out_dir: str, file_name: str) -> None: ...

    @property
    def collections(self) -> list[Collection]: ...

    @property
    def num_workers(self) -> int: ...

def builtin_rules() -> list:
    """
    The rules that come with smdebug: name, summary, parameters and advice.
    """

def default_rules() -> list:
    """The rules that judge where none are asked for: (name, parameters)."""

def checked_rule_name(name: str, parameters: Mapping[str, str]) -> str:
    """
    The full name of a built-in rule that can be made with these parameters.
    """

def reduction(tensor: object, op: str) -> float:
    """A reduction of the elements, in float64."""

EXIT_RULE_FIRED: int = 3

class RunMonitor:
    """Rules over a run."""

    @staticmethod
    def of_own_run(run: str, rules: list, first_step: int = 0) -> RunMonitor:
        """
        A monitor of the run that this process writes at `run`, which need not exist yet. Steps before `first_step` are not judged. The status files of the rules are kept beside it.
        """

    @staticmethod
    def of_trial(trial: Trial, rules: list) -> RunMonitor:
        """A monitor of an open trial; it writes nothing but reports."""

    def poll(self, first: int = 0) -> None:
        """Judges the complete steps from `first` on that were not judged yet."""

    def finish(self) -> None:
        """Ends the rules: no step will follow. Raises what went wrong."""

    @property
    def request(self) -> str:
        """JSON: the collections that must be saved for the rules."""

    @property
    def is_judging(self) -> bool: ...

    def verdicts(self) -> list[str]:
        """One JSON object per rule."""

    def text(self) -> str:
        """One line per rule."""

class StepMonitor:
    """Rules over the steps of sessions while they run."""

    def __init__(self) -> None: ...

    def add_worker(self, rules: list) -> None:
        """Makes the rules of a further worker."""

    def follow(self, session: Session) -> None:
        """Judges the steps of `session` with the rules that were added last."""

    def take_findings(self) -> list[str]:
        """
        What was found since the last call: one JSON object each time that a rule fired.
        """

    def finish(self) -> None:
        """Ends the rules: no step will follow."""

    @property
    def request(self) -> str:
        """JSON: the collections that must be saved for the rules."""

    def verdicts(self) -> list[str]:
        """One JSON object per rule."""

def parse_action_string(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """
    The actions of an action string as (kind, target), and a sentence for each entry that is none.
    """

def perform_action(action: tuple[str, str], rule: str, message: str, step: int, trial: Trial | None) -> tuple[str, str]:
    """
    Performs an action (kind, target) once, and returns its status and a sentence.
    """

def run_command_line(arguments: Sequence[str], load_rule: Callable) -> int:
    """Runs the command `smdebug` and returns its exit code."""
