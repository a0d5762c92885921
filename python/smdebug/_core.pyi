"""The C++ library, as the Python package sees it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
import enum
import types
from typing import Any, Self, overload


version: str = '2.0.0'

def set_leak_warnings(on: bool) -> None:
    """
    Sets whether objects of this module that are alive at exit are reported.
    """

class ModeKeys(enum.Enum):
    """The mode of a step: the use that the program makes of the model."""

    TRAIN = 1

    EVAL = 2

    PREDICT = 3

    GLOBAL = 4

def parameter_name(root: str, path: str) -> str:
    """Returns 'Net_fc1.weight'."""

def gradient_name(parameter: str) -> str:
    """Returns 'gradient/Net_fc1.weight' for 'Net_fc1.weight'."""

def input_name(module: str, number: int) -> str:
    """Returns 'fc1_input_0'."""

def output_name(module: str, number: int) -> str:
    """Returns 'fc1_output_0'."""

def buffer_name(root: str, path: str) -> str:
    """Returns 'buffer/Net_bn1.running_mean'."""

def optimizer_state_name(parameter: str, key: str) -> str:
    """Returns 'optimizer_state/Net_fc1.weight/exp_avg'."""

def learning_rate_name(optimizer: str, group: int) -> str:
    """Returns 'learning_rate/SGD/0'."""

REPEATED_CALLS: str = 'repeated_calls'

GRADIENT_SCALE: str = 'gradient_scale'

UPDATE_SKIPPED: str = 'update_skipped'

def scalar_name(name: str) -> str:
    """Returns 'scalar/accuracy'."""

def activation_gradient_module(module: str) -> str:
    """Returns 'activation_gradient/fc1'."""

def variable_name(variable: str) -> str:
    """Returns 'dense/kernel:0', with or without the number given."""

def layer_weight_name(layer: str, variable: str) -> str:
    """Returns 'dense/weights/dense/kernel:0'."""

def weight_name(variable: str) -> str:
    """Returns 'weights/dense/kernel:0'."""

def variable_gradient_name(variable: str) -> str:
    """Returns 'gradients/dense/kernelGrad' for 'dense/kernel:0'."""

def layer_inputs_name(layer: str) -> str:
    """Returns 'dense/inputs'."""

def layer_outputs_name(layer: str) -> str:
    """Returns 'dense/outputs'."""

def activation_input_name(layer: str, activation: str) -> str:
    """Returns 'dense/relu_input'."""

def numbered_names(name: str, count: int) -> list[str]:
    """
    Returns the names of `count` tensors that share a name: numbered from 0 if there are several.
    """

def metric_name(evaluation_set: str, metric: str) -> str:
    """Returns 'train-rmse'."""

def metric_deviation_name(evaluation_set: str, metric: str) -> str:
    """Returns 'train-rmse-std'."""

def member_name(collection: str, member: str) -> str:
    """Returns 'trees/Gain'."""

def feature_importance_name(importance: str, feature: str) -> str:
    """Returns 'feature_importance/gain/f0'."""

class UniqueNames:
    """Makes names unique: 'Net', 'Net_1', 'Net_2' for three of one name."""

    def __init__(self, taken: Sequence[str] = []) -> None: ...

    def take(self, name: str) -> str:
        """
        Returns the name, with the first free number appended if it is taken, and takes it.
        """

    def take_inside(self, outer: str, name: str) -> str:
        """
        Returns the same for an object inside another one: '<outer>/<name>' if its name is taken.
        """

class Edits:
    """
    Counts the edits of one configuration object and of the lists that it holds.
    """

    def __init__(self) -> None: ...

    def add(self) -> None:
        """Counts one edit."""

    @property
    def count(self) -> int:
        """The number of edits."""

class SaveConfigMode:
    """
    The steps that are saved in one mode.

    A step is saved if `save_steps` lists it, or if it lies in [`start_step`, `end_step`)
    and is a multiple of `save_interval`. Steps are those of the mode, counted from 0.

    Every property may be set at any time; a hook applies the edit when its next step begins.
    """

    def __init__(self, save_interval: int | None = None, start_step: int | None = None, end_step: int | None = None, save_steps: list[int] | tuple[int, ...] | None = None) -> None:
        """
        None stands for the default: every 500th step, from step 0, without an end.

        Raises SMDebugValueError for an interval below 1 and for anything but whole numbers.
        """

    @property
    def save_interval(self) -> int:
        """Saves the steps that are a multiple of it: 1 or more, by default 500."""

    @save_interval.setter
    def save_interval(self, value: int | None) -> None: ...

    @property
    def start_step(self) -> int:
        """The first step of the range, included; by default 0."""

    @start_step.setter
    def start_step(self, value: int | None) -> None: ...

    @property
    def end_step(self) -> int | None:
        """The end of the range, excluded; None (the default) for no end."""

    @end_step.setter
    def end_step(self, value: int | None) -> None: ...

    @property
    def save_steps(self) -> list[int]:
        """
        Steps that are saved whatever the range and the interval are. May be edited in place.
        """

    @save_steps.setter
    def save_steps(self, value: list[int] | tuple[int, ...] | None) -> None: ...

    def should_save_step(self, step_num: int) -> bool:
        """Returns whether a step of this mode is saved."""

    def to_json_dict(self) -> dict[str, Any]:
        """Returns the four values, in the order of collections files."""

    def copy(self) -> SaveConfigMode:
        """Returns a copy that shares nothing."""

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[Any, ...]: ...

    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

    def __eq__(self, other: object) -> bool: ...

    __hash__: None = None

    @classmethod
    def from_dict(cls, params: dict[str, Any], default_values: dict[str, Any] | None = None) -> Self:
        """
        Makes one from the keys of `to_json_dict`; `default_values` holds the keys that `params` lacks.

        Raises SMDebugValueError for a key that does not exist.
        """

class SaveConfig:
    """
    The steps that are saved: the same in every mode or, with `mode_save_configs`, mode by mode.

    A mode that `mode_save_configs` leaves out takes the configuration that this one is merged with,
    at last the default. The properties `save_interval`, `start_step`, `end_step` and `save_steps`
    read and set all modes at once.

    It may be edited at any time; a hook applies the edit when its next step begins.
    """

    def __init__(self, mode_save_configs: dict[ModeKeys, SaveConfigMode | None] | None = None, save_interval: int | None = None, start_step: int | None = None, end_step: int | None = None, save_steps: list[int] | tuple[int, ...] | None = None) -> None:
        """
        With `mode_save_configs` the other arguments have no effect, and are logged. See SaveConfigMode
        for them.

        Raises SMDebugTypeError unless `mode_save_configs` is a dict, and SMDebugValueError for a key
        or value in it that is not a mode or a SaveConfigMode.
        """

    def get_save_config(self, mode: ModeKeys) -> SaveConfigMode | None:
        """
        Returns the SaveConfigMode of a mode, which may be edited; None where none is set.
        """

    def set_save_config(self, mode: ModeKeys, save_config_mode: SaveConfigMode) -> None:
        """Sets the SaveConfigMode of a mode. The object is kept, not copied."""

    def should_save_step(self, mode: ModeKeys, step_num: int) -> bool:
        """Returns whether a step of `mode`, counted in that mode, is saved."""

    def merge_default_save_config(self, default_save_config: SaveConfig) -> None:
        """
        Gives each mode without a configuration that of `default_save_config`, shared with it.
        """

    def copy(self) -> SaveConfig:
        """Returns a copy that shares nothing."""

    def to_json_dict(self) -> dict[str, Any]:
        """
        Returns a dict from the name of each mode to that of its SaveConfigMode, or None.
        """

    def to_json(self) -> str:
        """
        Returns {"TRAIN": {"save_interval": 500, ...} or null, ...}, as in collections files.
        """

    @classmethod
    def from_dict(cls, params: dict[Any, Any], default_values: dict[str, Any] | None = None) -> Self:
        """
        Makes one from a dict of modes or of their names, in either case: {"TRAIN": {"save_interval": 10}}.

        `default_values` holds the keys that the dict of a mode lacks. Raises SMDebugValueError for a name that is not a mode.
        """

    @classmethod
    def from_json(cls, json_str: str) -> Self:
        """Makes one from the text of `to_json`."""

    @classmethod
    def from_save_config_mode(cls, save_config_mode: SaveConfigMode) -> Self:
        """Makes one with a copy of a SaveConfigMode for every mode."""

    @classmethod
    def parse(cls, obj: SaveConfig | SaveConfigMode | dict[Any, Any] | None) -> SaveConfig:
        """
        Returns `obj` itself if it is a SaveConfig, and a new one of None, a SaveConfigMode or a dict.

        Raises SMDebugTypeError for anything else.
        """

    @property
    def save_interval(self) -> int:
        """
        The value in every mode: reading returns that of mode GLOBAL, setting changes all modes. See SaveConfigMode.
        """

    @save_interval.setter
    def save_interval(self, value: int | None) -> None: ...

    @property
    def start_step(self) -> int:
        """
        The value in every mode: reading returns that of mode GLOBAL, setting changes all modes. See SaveConfigMode.
        """

    @start_step.setter
    def start_step(self, value: int | None) -> None: ...

    @property
    def end_step(self) -> int | None:
        """
        The value in every mode: reading returns that of mode GLOBAL, setting changes all modes. See SaveConfigMode.
        """

    @end_step.setter
    def end_step(self, value: int | None) -> None: ...

    @property
    def save_steps(self) -> list[int]:
        """
        The value in every mode: reading returns that of mode GLOBAL, setting changes all modes. See SaveConfigMode.
        """

    @save_steps.setter
    def save_steps(self, value: list[int] | tuple[int, ...] | None) -> None: ...

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[Any, ...]: ...

    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

    __hash__: None = None

class ReductionConfig:
    """
    The numbers that tensors are reduced to.

    `reductions` and `norms` are computed from the elements, `abs_reductions` and `abs_norms` from
    their absolute values. The elements themselves are saved only with `save_raw_tensor`, the shape
    with `save_shape`. `summary` asks only for the statistics, which every captured tensor has.

    Reductions of every dtype are computed in float64 and never fail: NaN propagates as in numpy,
    bools count as 0 and 1, complex elements by their absolute value. Strings and tensors without
    elements have none. In PyTorch `std` and `variance` are unbiased, as torch computes them;
    elsewhere they are of the population. `median` of an even count is the mean of the middle two,
    as in numpy (torch.median gives the lower one); l1 and l2 are always of the flattened tensor.

    A saved reduction has the tensor's dtype where that is float16, bfloat16, float32 or float64
    (a number beyond its range is saved as infinite), float32 for complex64 and float8, and float64
    for integers, bools and complex128. Its shape is () in PyTorch, (1,) elsewhere.

    Every property may be set at any time, and its lists edited in place; a hook applies the edit
    when its next step begins.
    """

    def __init__(self, reductions: list[str] | tuple[str, ...] | None = None, abs_reductions: list[str] | tuple[str, ...] | None = None, norms: list[str] | tuple[str, ...] | None = None, abs_norms: list[str] | tuple[str, ...] | None = None, save_raw_tensor: bool = False, save_shape: bool = False, summary: bool = False) -> None:
        """
        None stands for an empty list.

        Raises SMDebugValueError for a name that is not a reduction or not a norm, and for flags
        that are not bool.
        """

    @property
    def reductions(self) -> list[str]:
        """
        Computed from the elements: min, max, median, mean, std, variance, sum, prod.
        """

    @reductions.setter
    def reductions(self, value: list[str] | tuple[str, ...] | None) -> None: ...

    @property
    def abs_reductions(self) -> list[str]:
        """The same, computed from the absolute values."""

    @abs_reductions.setter
    def abs_reductions(self, value: list[str] | tuple[str, ...] | None) -> None: ...

    @property
    def norms(self) -> list[str]:
        """Computed from the elements: l1, l2."""

    @norms.setter
    def norms(self, value: list[str] | tuple[str, ...] | None) -> None: ...

    @property
    def abs_norms(self) -> list[str]:
        """The same, computed from the absolute values."""

    @abs_norms.setter
    def abs_norms(self, value: list[str] | tuple[str, ...] | None) -> None: ...

    @property
    def save_raw_tensor(self) -> bool:
        """Whether the elements are saved too."""

    @save_raw_tensor.setter
    def save_raw_tensor(self, value: bool) -> None: ...

    @property
    def save_shape(self) -> bool:
        """Whether the shape is saved too."""

    @save_shape.setter
    def save_shape(self, value: bool) -> None: ...

    @property
    def summary(self) -> bool:
        """Whether tensors are captured only for their statistics."""

    @summary.setter
    def summary(self, value: bool) -> None: ...

    def ops_text(self) -> str:
        """
        Returns "mean,l2_norm,abs_max": the spelling of JSON configurations and collections files.
        """

    def to_json_dict(self) -> dict[str, Any]:
        """Returns the keys of `from_dict`."""

    def to_json(self) -> str:
        """Returns the keys of `from_dict` as text, as in collections files."""

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> Self:
        """
        Makes one from {"reductions": "mean,abs_max,l2_norm", "save_raw_tensor": True, ...}.

        Flags may be text, "true" or "False", as in JSON configurations. Raises SMDebugValueError
        for a key or a reduction that does not exist.
        """

    @classmethod
    def from_json(cls, json_str: str) -> Self:
        """Makes one from the text of `to_json`."""

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[Any, ...]: ...

    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

    __hash__: None = None

class Collection:
    """
    A name for the tensors that are listed or whose name a regex matches.

    Every property may be changed at any time, and its lists edited in place; a hook that holds the
    collection applies the edit when its next step begins. If an edit is not valid, such as a
    pattern that does not compile, the hook logs a warning and keeps the previous configuration.
    """

    def __init__(self, name: str, include_regex: str | list[str] | tuple[str, ...] | set[str] | None = None, tensor_names: list[str] | tuple[str, ...] | set[str] | frozenset[str] | None = None, reduction_config: ReductionConfig | None = None, save_config: SaveConfig | SaveConfigMode | dict[Any, Any] | None = None, save_histogram: bool = True) -> None:
        """
        Lists are copied; the configurations are kept, so later edits of them count.

        Raises SMDebugTypeError for an argument of the wrong kind, and SMDebugValueError for a pattern
        that does not compile.
        """

    @property
    def name(self) -> str:
        """The name; it cannot be changed."""

    @property
    def include_regex(self) -> list[str]:
        """
        Regular expressions: a tensor belongs to the collection if one matches in its name. May be edited in place.
        """

    @include_regex.setter
    def include_regex(self, value: str | list[str] | tuple[str, ...] | set[str] | None) -> None: ...

    @property
    def tensor_names(self) -> set[str]:
        """
        Names of tensors that belong to the collection. May be edited in place.
        """

    @tensor_names.setter
    def tensor_names(self, value: list[str] | tuple[str, ...] | set[str] | frozenset[str] | None) -> None: ...

    @property
    def save_config(self) -> SaveConfig | None:
        """
        When it is saved. In a hook it starts as a copy of the hook's, and may be edited in place.
        """

    @save_config.setter
    def save_config(self, value: SaveConfig | SaveConfigMode | dict[Any, Any] | None) -> None: ...

    @property
    def reduction_config(self) -> ReductionConfig | None:
        """The reductions to save instead of the elements; None for the hook's."""

    @reduction_config.setter
    def reduction_config(self, value: ReductionConfig | None) -> None: ...

    @property
    def save_histogram(self) -> bool:
        """Whether TensorBoard shows histograms of its tensors."""

    @save_histogram.setter
    def save_histogram(self, value: bool) -> None: ...

    @property
    def is_optional(self) -> bool:
        """Whether the hook stays silent if the collection matches no tensor."""

    @is_optional.setter
    def is_optional(self, arg: bool, /) -> None: ...

    @property
    def max_elements(self) -> int:
        """
        The most elements of each tensor that are saved; 0 saves all. Of a larger tensor, every n-th index of each dimension is saved, unless another collection saves the whole tensor at that step.
        """

    @max_elements.setter
    def max_elements(self, value: int) -> None: ...

    def include(self, *patterns: str | list[str] | tuple[str, ...] | set[str], t: str | list[str] | tuple[str, ...] | set[str] | None = None) -> None:
        """
        Adds the tensors whose name contains a match of a pattern, or of any pattern of a list. `t` is one more.

        Raises SMDebugValueError for a pattern that does not compile.
        """

    def add_tensor_name(self, tname: str) -> None:
        """Adds the tensor of that name."""

    def remove_tensor_name(self, tname: str) -> None:
        """
        Removes a name from `tensor_names`, if present. Patterns may still match the tensor.
        """

    def has_tensor_name(self, tname: str) -> bool:
        """Returns whether `tensor_names` holds a name. Patterns do not count."""

    def has_members(self) -> bool:
        """Returns whether the collection has a pattern or a tensor name."""

    def inherit(self, save_config: SaveConfig | None) -> None:
        """
        Sets the configuration that `save_config` starts as a copy of, if the collection has none.
        """

    def mark_edited(self) -> None:
        """Makes the hooks that hold the collection check it for edits."""

    def to_json_dict(self) -> dict[str, Any]:
        """
        Returns the arguments of the constructor, in the order of collections files.
        """

    def to_json(self) -> str:
        """Returns the text of this collection in a collections file."""

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> Self:
        """
        Makes one from the keys of `to_json_dict`.

        Raises SMDebugValueError without a `name`.
        """

    @classmethod
    def from_json(cls, json_str: str) -> Self:
        """Makes one from the text of `to_json`."""

    @classmethod
    def from_collection(cls, other: Collection) -> Self:
        """
        Makes one of this class with the fields of another. The two share the configurations of `other`.
        """

    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[Any, ...]: ...

    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

class ConfigRevision:
    """
    The edits of a hook's configuration, as one number that only grows. A hook compares it once per step.
    """

    def __init__(self) -> None: ...

    def follow(self, objects: Iterable[Collection | SaveConfig | ReductionConfig]) -> None:
        """
        Counts the edits of these objects from here on, and of no others. Counts as an edit itself.
        """

    def add(self) -> None:
        """Counts an edit of anything else that decides what is saved."""

    @property
    def number(self) -> int:
        """The number of edits so far."""

class Framework:
    """The collections and defaults of a framework."""

    @property
    def name(self) -> str:
        """The name of the framework."""

    @property
    def collections(self) -> list[Collection]:
        """The built-in collections."""

    @property
    def default_saved(self) -> list[str]:
        """The names of the collections that are saved by default."""

    @property
    def default_save_interval(self) -> int:
        """The interval of steps that are saved by default."""

    def find(self, collection: str) -> Collection:
        """The framework's own collection of that name, or None."""

    def knows(self, collection: str) -> bool:
        """Whether a collection needs neither pattern nor tensor names."""

def pytorch_framework() -> Framework:
    """Returns the collections and defaults of PyTorch."""

def xgboost_framework() -> Framework:
    """Returns the collections and defaults of XGBoost."""

def mxnet_framework() -> Framework:
    """Returns the collections and defaults of MXNet."""

def tensorflow_framework() -> Framework:
    """Returns the collections and defaults of TensorFlow and Keras."""

class HookConfig:
    """
    A snapshot of the configuration of a hook. smdebug.hook_options.HookOptions describes the fields.
    """

    def __init__(self, out_dir: str, *, save_config: SaveConfig | None = None, reduction_config: ReductionConfig | None = None, include_regex: Sequence[str], include_collections: Sequence[str], save_all: bool, dry_run: bool, all_workers: bool, collections: Iterable[Collection], further_patterns: Mapping[str, Sequence[str]] = {}, tensorboard_dir: str | None = None, true_checksum: bool = False, max_run_bytes: int | None = None, keep_every: int = 0, private: bool = False, keeps_steps: bool = False, announces_first_step: bool = True, max_tensors_per_module: int = 0, steps_after_leap: int = 0, parameters_by_role: bool = False) -> None: ...

    @property
    def out_dir(self) -> str:
        """The folder of the run."""

    @property
    def save_config(self) -> SaveConfig | None:
        """The steps to save; None for the framework's default."""

    @property
    def reduction_config(self) -> ReductionConfig | None:
        """The reductions to save; None to save the elements."""

    @property
    def include_regex(self) -> list[str]:
        """Patterns of further tensor names to save."""

    @property
    def include_collections(self) -> list[str]:
        """Collections to save in addition to the framework's defaults."""

    @property
    def save_all(self) -> bool:
        """Whether every tensor is saved."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing is written."""

    @property
    def all_workers(self) -> bool:
        """Whether all workers are recorded, or only the first."""

    @property
    def collections(self) -> list[Collection]:
        """The collections that were created or edited."""

    @property
    def tensorboard_dir(self) -> str | None:
        """The folder of TensorBoard files; None to write none."""

    @property
    def true_checksum(self) -> bool:
        """Whether records end with their true checksum."""

    @property
    def max_run_bytes(self) -> int | None:
        """The size limit of the run per worker, in bytes; None for no limit."""

    @property
    def keep_every(self) -> int:
        """Steps that are a multiple of it are removed last; 0 for none."""

    @property
    def private(self) -> bool:
        """Whether only the owner may read the files."""

    @property
    def keeps_steps(self) -> bool:
        """Whether a power failure keeps published steps."""

    @property
    def step_on(self) -> str | None:
        """The event that begins a step; None for the adapter's default."""

    @property
    def gradients(self) -> str | None:
        """The gradients to save; None for the adapter's default."""

    def __eq__(self, other: object) -> bool: ...

def saved_collections(config: HookConfig, framework: Framework) -> list[str]:
    """The collections that a hook of this configuration saves."""

class JobEnvironment:
    """
    The SageMaker job of this process, if any, and the paths of its configuration files. JobEnvironment() holds the defaults; read() reads the environment.
    """

    def __init__(self) -> None: ...

    @staticmethod
    def read() -> JobEnvironment:
        """Reads the environment variables of this process."""

    @property
    def is_enabled(self) -> bool:
        """Whether `get_hook` may create a hook: False if USE_SMDEBUG is false."""

    @property
    def training_job_name(self) -> str | None:
        """The name of the SageMaker job; None outside of a job."""

    @property
    def is_sagemaker_job(self) -> bool:
        """Whether this process belongs to a SageMaker job."""

    @property
    def hook_config_path(self) -> str:
        """The path of the JSON configuration of hooks."""

    @property
    def tensorboard_config_path(self) -> str:
        """The path of the configuration of TensorBoard."""

    @property
    def checkpoint_config_path(self) -> str:
        """The path of the configuration of checkpoints."""

    @property
    def profiler_config_path(self) -> str:
        """The path of the configuration of the profiler."""

sagemaker_out_dir: str = '/opt/ml/output/tensors'

def resolve_tensorboard_dir(export_tensorboard: bool, tensorboard_dir: str | None, out_dir: str, job: JobEnvironment) -> str | None:
    """The directory for TensorBoard files, or None."""

class HookConfigFile:
    """A parsed JSON configuration."""

    @property
    def config(self) -> HookConfig:
        """The configuration."""

    @property
    def warnings(self) -> list[str]:
        """One sentence for each unknown or ignored key."""

def parse_hook_config(text: str, file: str, framework: Framework, job: JobEnvironment) -> HookConfigFile:
    """
    Parses the text of a JSON configuration; `file` is its name in messages. Raises SMDebugValueError if it is not valid.
    """

def load_hook_config(path: str, framework: Framework, job: JobEnvironment) -> HookConfigFile:
    """
    Reads a JSON configuration; an empty path stands for that of `job`. Raises FileNotFoundError if there is no such file, and SMDebugValueError if it is not valid.
    """

def log(level: int, message: str) -> None:
    """Writes a line to the process's logger; levels as Python's `logging`."""

class HookStatus:
    """
    The state of a hook: totals since it was created, and its first error.

    Immutable; compares by value.
    """

    def __init__(self, **fields: Any) -> None:
        """
        Fields that are left out are 0, empty or None. Raises TypeError for a field that does not exist.
        """

    @property
    def state(self) -> str:
        """
        "active", "silent" (another process writes the run), "failed" or "closed".
        """

    @property
    def error(self) -> str | None:
        """The first error, or None."""

    @property
    def error_step(self) -> int | None:
        """The global step of `error`; None without an error."""

    @property
    def tensorboard_error(self) -> str | None:
        """
        The first error in writing TensorBoard files, with its step, or None. The run is still written.
        """

    @property
    def reason(self) -> str:
        """Why `state` is "silent" or "closed", if there is a reason."""

    @property
    def last_step(self) -> int:
        """The newest global step; -1 before the first one."""

    @property
    def steps(self) -> int:
        """Steps that have begun."""

    @property
    def steps_saved(self) -> int:
        """Steps in which tensors were due."""

    @property
    def steps_published(self) -> int:
        """Steps that can be read."""

    @property
    def tensors(self) -> int:
        """Captured tensors."""

    @property
    def records(self) -> int:
        """Written records."""

    @property
    def bytes(self) -> int:
        """Written bytes."""

    @property
    def removed_steps(self) -> int:
        """Published steps that `max_run_bytes` removed."""

    @property
    def first_kept_step(self) -> int | None:
        """The lowest step that is left; None if none was removed."""

    @property
    def replaced_tensors(self) -> int:
        """Written tensors that a later one of the same name and step replaced."""

    @property
    def dropped_tensors(self) -> int:
        """Tensors dropped because the write queue was full."""

    @property
    def dropped_bytes(self) -> int:
        """Bytes of the dropped tensors."""

    @property
    def dropped_scalars(self) -> int:
        """Scalars that came from another thread or had an unknown step."""

    @property
    def calls_after_failure(self) -> int:
        """Calls that were ignored after the first error."""

    @property
    def skipped(self) -> dict[str, str]:
        """Tensors that could not be captured: name to reason."""

    def replace(self, **changes: Any) -> Self:
        """
        Returns a copy with other values in these fields. Raises TypeError for a field that does not exist.
        """

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> dict[str, Any]: ...

    def __setstate__(self, state: dict[str, Any]) -> None: ...

    __hash__: None = None

class HookCost:
    """The overhead of a hook so far. Immutable; compares by value."""

    def __init__(self, **fields: Any) -> None:
        """
        Fields that are left out are 0, empty or None. Raises TypeError for a field that does not exist.
        """

    @property
    def step_thread_seconds(self) -> float:
        """Seconds that smdebug took from the training thread, waits included."""

    @property
    def wait_seconds(self) -> float:
        """Seconds of these in which the training waited."""

    @property
    def writer_cpu_seconds(self) -> float:
        """CPU seconds of the writer thread."""

    @property
    def bytes_captured(self) -> int:
        """Captured bytes."""

    @property
    def bytes_written(self) -> int:
        """Written bytes."""

    @property
    def steps(self) -> int:
        """Steps that have begun."""

    @property
    def run_seconds(self) -> float:
        """Seconds since the first step began."""

    def replace(self, **changes: Any) -> Self:
        """
        Returns a copy with other values in these fields. Raises TypeError for a field that does not exist.
        """

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> dict[str, Any]: ...

    def __setstate__(self, state: dict[str, Any]) -> None: ...

    __hash__: None = None

class ParameterFacts:
    """The facts of one parameter."""

    def __init__(self, tensor: str, *, is_trainable: bool = True, dtype: str = '', device: str = '', shape: Sequence[int] = [], shared_with: str = '', updated_by: tuple[int, int] | None = None) -> None:
        """`updated_by` is (position of the optimizer, of its group)."""

    @property
    def tensor(self) -> str: ...

    @property
    def is_trainable(self) -> bool: ...

    @property
    def dtype(self) -> str: ...

    @property
    def device(self) -> str: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def shared_with(self) -> str: ...

    @property
    def updated_by(self) -> tuple[int, int] | None: ...

class OptimizerGroupFacts:
    """The facts of a group of an optimizer."""

    def __init__(self, *, parameters: int, foreign_parameters: int = 0, settings: Mapping[str, float] = {}) -> None:
        """`foreign_parameters` of `parameters` are of no recorded model."""

    @property
    def parameters(self) -> int: ...

    @property
    def foreign_parameters(self) -> int: ...

    @property
    def settings(self) -> dict[str, float]: ...

class OptimizerFacts:
    """The facts of one optimizer."""

    def __init__(self, kind: str, groups: Sequence[OptimizerGroupFacts], *, keeps_gradients: bool | None = None, discards_gradients: bool | None = None, has_scheduler: bool | None = None) -> None: ...

    @property
    def kind(self) -> str: ...

    @property
    def groups(self) -> list[OptimizerGroupFacts]: ...

    @property
    def keeps_gradients(self) -> bool | None:
        """
        Whether its updates use sums of the gradients of all batches; None if that is unknown.
        """

    @property
    def discards_gradients(self) -> bool | None:
        """
        Whether its updates use only the gradients of the last of several backward passes; None if that is unknown.
        """

    @property
    def has_scheduler(self) -> bool | None:
        """
        Whether a scheduler of learning rates was made for it; None if that is unknown.
        """

class ModuleFacts:
    """The facts of a module or a layer."""

    def __init__(self, path: str, kind: str, *, is_training: bool | None = None, settings: Mapping[str, float] = {}, input_shape: Sequence[int] = []) -> None: ...

    @property
    def path(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def is_training(self) -> bool | None: ...

    @property
    def settings(self) -> dict[str, float]: ...

    @property
    def input_shape(self) -> list[int]: ...

class DataFacts:
    """
    The data in the first saved steps that train: an input of a model, or the targets of a loss. Numbers are None if they are unknown.
    """

    def __init__(self, tensor: str = '', *, received_by: str = '', dtype: str = '', steps: int = 0, repeats: int = 0, shape: Sequence[int] = [], mean: float | None = None, deviation: float | None = None, low: float | None = None, high: float | None = None, median_feature_deviation: float | None = None, largest_feature_deviation: float | None = None, not_finite: int | None = None, labels: int = 0, classes: int = 0, largest_class: int = 0, smallest_class: int = 0, label_order: float | None = None, has_mixed_channels: bool | None = None) -> None: ...

    @property
    def tensor(self) -> str: ...

    @property
    def received_by(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def steps(self) -> int: ...

    @property
    def repeats(self) -> int: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def mean(self) -> float | None: ...

    @property
    def deviation(self) -> float | None: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...

    @property
    def median_feature_deviation(self) -> float | None: ...

    @property
    def largest_feature_deviation(self) -> float | None: ...

    @property
    def not_finite(self) -> int | None: ...

    @property
    def labels(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def largest_class(self) -> int: ...

    @property
    def smallest_class(self) -> int: ...

    @property
    def label_order(self) -> float | None: ...

    @property
    def has_mixed_channels(self) -> bool | None: ...

class LossInputFacts:
    """
    The input of a loss in the first saved steps. Texts are empty, and shares None, if they are unknown or differed between the steps.
    """

    def __init__(self, function: str, *, steps: int, shape: Sequence[int] = [], target_shape: Sequence[int] | None = None, activation: str = '', values: str = '', ignored: float | None = None, equal_outputs: int = 0, outside: float | None = None, target_range: tuple[float, float] | None = None, target_shift: int | None = None, targets: DataFacts | None = None, fractional: float | None = None, revealing_feature: int | None = None, padding: float | None = None, padding_label: int | None = None, linear_layers: int | None = None, sees_later: bool | None = None, has_softmax_of_one: bool | None = None, has_softmax_of_batch: bool | None = None, mixes_places: bool | None = None, ignored_tokens: int | None = None, class_weights: tuple[float, float] | None = None, divergence_weight: float | None = None) -> None: ...

    @property
    def function(self) -> str: ...

    @property
    def steps(self) -> int: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def target_shape(self) -> list[int] | None: ...

    @property
    def activation(self) -> str: ...

    @property
    def values(self) -> str: ...

    @property
    def ignored(self) -> float | None: ...

    @property
    def fractional(self) -> float | None: ...

    @property
    def padding(self) -> float | None: ...

    @property
    def padding_label(self) -> int | None: ...

    @property
    def equal_outputs(self) -> int: ...

    @property
    def outside(self) -> float | None: ...

    @property
    def target_range(self) -> tuple[float, float] | None: ...

    @property
    def target_shift(self) -> int | None: ...

    @property
    def revealing_feature(self) -> int | None: ...

    @property
    def linear_layers(self) -> int | None: ...

    @property
    def sees_later(self) -> bool | None: ...

    @property
    def has_softmax_of_one(self) -> bool | None: ...

    @property
    def has_softmax_of_batch(self) -> bool | None: ...

    @property
    def mixes_places(self) -> bool | None: ...

    @property
    def ignored_tokens(self) -> int | None: ...

    @property
    def class_weights(self) -> tuple[float, float] | None: ...

    @property
    def divergence_weight(self) -> float | None: ...

    @property
    def targets(self) -> DataFacts | None: ...

class LossFacts:
    """The facts of a loss."""

    def __init__(self, tensor: str, kind: str, *, reduction: str = '', ignored_label: int | None = None, input: LossInputFacts | None = None, margin: float | None = None) -> None: ...

    @property
    def tensor(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def reduction(self) -> str: ...

    @property
    def ignored_label(self) -> int | None: ...

    @property
    def input(self) -> LossInputFacts | None: ...

    @property
    def margin(self) -> float | None: ...

class SchedulerFacts:
    """The facts of a scheduler of learning rates."""

    def __init__(self, kind: str, *, optimizer: int | None = None, steps: int, updates: int, settings: Mapping[str, float] = {}) -> None: ...

    @property
    def kind(self) -> str: ...

    @property
    def optimizer(self) -> int | None: ...

    @property
    def steps(self) -> int: ...

    @property
    def updates(self) -> int: ...

    @property
    def settings(self) -> dict[str, float]: ...

class OperationFacts:
    """
    The operation that made a loss not finite, for example "log of 0": `elements` of the `size` elements of its argument are outside of what it is defined for.
    """

    def __init__(self, kind: str, *, step: int, elements: int, size: int) -> None: ...

    @property
    def kind(self) -> str: ...

    @property
    def step(self) -> int: ...

    @property
    def elements(self) -> int: ...

    @property
    def size(self) -> int: ...

class MetricWatchFacts:
    """
    A metric that a callback watches, to stop a training, to keep the best model or to lower the learning rate.
    """

    def __init__(self, kind: str, metric: str, *, prefers_high: bool, is_of_training: bool = False) -> None: ...

    @property
    def kind(self) -> str: ...

    @property
    def metric(self) -> str: ...

    @property
    def prefers_high(self) -> bool: ...

    @property
    def is_of_training(self) -> bool: ...

class LoopFacts:
    """The facts of the loop around a model."""

    def __init__(self, *, autocast_dtype: str = '', schedulers: Sequence[SchedulerFacts] = [], scaled_clippings: int = 0, scaled_clipping_limit: float | None = None, gradient_norm_limit: float | None = None, gradient_value_limit: float | None = None, log_hides_not_finite: bool = False, not_finite_by: OperationFacts | None = None, short_lived_optimizers: int | None = None, evaluations_in_training_mode: int | None = None, data_passes: int | None = None, layers_outside: Sequence[str] = [], empty_clippings: int = 0, summed_passes: int | None = None, empty_loads: int = 0, metric_watches: Sequence[MetricWatchFacts] = []) -> None: ...

    @property
    def autocast_dtype(self) -> str: ...

    @property
    def schedulers(self) -> list[SchedulerFacts]: ...

    @property
    def scaled_clippings(self) -> int: ...

    @property
    def scaled_clipping_limit(self) -> float | None: ...

    @property
    def empty_clippings(self) -> int: ...

    @property
    def gradient_norm_limit(self) -> float | None: ...

    @property
    def gradient_value_limit(self) -> float | None: ...

    @property
    def log_hides_not_finite(self) -> bool: ...

    @property
    def not_finite_by(self) -> OperationFacts | None: ...

    @property
    def short_lived_optimizers(self) -> int | None: ...

    @property
    def evaluations_in_training_mode(self) -> int | None: ...

    @property
    def data_passes(self) -> int | None: ...

    @property
    def layers_outside(self) -> list[str]: ...

    @property
    def summed_passes(self) -> int | None: ...

    @property
    def empty_loads(self) -> int: ...

    @property
    def metric_watches(self) -> list[MetricWatchFacts]: ...

class RunFacts:
    """
    The facts of a worker from `step` on: its parameters, optimizers, modules, losses, inputs, loop and training sets.
    """

    def __init__(self, *, parameters: Sequence[ParameterFacts] = [], optimizers: Sequence[OptimizerFacts] = [], modules: Sequence[ModuleFacts] = [], losses: Sequence[LossFacts] = [], inputs: Sequence[DataFacts] = [], evaluation_inputs: Sequence[DataFacts] = [], loop: LoopFacts = ..., training_sets: Sequence[str] = []) -> None: ...

    @property
    def step(self) -> int: ...

    @property
    def parameters(self) -> list[ParameterFacts]: ...

    @property
    def optimizers(self) -> list[OptimizerFacts]: ...

    @property
    def modules(self) -> list[ModuleFacts]: ...

    @property
    def losses(self) -> list[LossFacts]: ...

    @property
    def inputs(self) -> list[DataFacts]: ...

    @property
    def evaluation_inputs(self) -> list[DataFacts]: ...

    @property
    def loop(self) -> LoopFacts: ...

    @property
    def training_sets(self) -> list[str]: ...

    def __eq__(self, arg: RunFacts, /) -> bool: ...

class WorkerFacts:
    """The facts of one worker."""

    @property
    def worker(self) -> str: ...

    @property
    def facts(self) -> RunFacts: ...

def set_local_part(function: object) -> None:
    """
    Sets the function that returns this process's part of a tensor that several processes share: (part, shape of the whole, offsets of the part), or None for any other tensor.
    """

class TensorStatistics:
    """
    The statistics of a tensor, or of a part of it, from one pass. The moments are over its finite elements, 0 where there are none; `m2` is the sum of squared distances from `mean`.
    """

    def __init__(self, *, count: int = 0, nan: int = 0, positive_inf: int = 0, negative_inf: int = 0, zeros: int = 0, min: float = 0.0, max: float = 0.0, mean: float = 0.0, m2: float = 0.0, sum_abs: float = 0.0, sum_squares: float = 0.0) -> None: ...

    def merge(self, other: TensorStatistics) -> None:
        """Adds the elements that `other` describes."""

class ScalarSlot:
    """The slot of one scalar series, which an adapter keeps."""

    def note(self, value: float) -> None:
        """
        Notes the value of the step that was begun last, saved or not. The last of several values for a step counts. The thread that owns the step; values from other threads are dropped and counted.
        """

    def note_at(self, step: tuple[int, ModeKeys, int], value: float) -> None:
        """
        Does the same for a value that is known late, such as one from a device. `step` is `Session.step` of its step; any other is dropped and counted.
        """

    @property
    def name(self) -> str:
        """The name of the series."""

class TensorSlot:
    """
    The slot of one tensor, which an adapter keeps: it holds every decision made about the tensor.
    """

    def put(self, tensor: object) -> None:
        """Captures the tensor if it is due. Any thread."""

    def put_number(self, value: float) -> None:
        """Captures the number, a float64 of shape (1,), if it is due."""

    def put_copy(self, copy: object) -> None:
        """
        Captures a host copy of the device tensor that was put: see `device_transfer` of Session.create.
        """

    def needs_elements(self) -> bool:
        """
        Returns whether the open step saves more of the tensor than its statistics. False if it is not due.
        """

    def sample_steps(self, shape: Sequence[int]) -> list[int]:
        """
        Returns the distance between the indices of each dimension that are saved of a tensor of that shape; empty if all are.
        """

    def put_statistics(self, dtype: str, shape: Sequence[int], statistics: TensorStatistics) -> None:
        """
        Captures the statistics of a tensor instead of its elements, if it is due. `dtype` is numpy's name. If `needs_elements()`, the tensor is skipped.
        """

    def is_due(self) -> bool:
        """Returns whether the open step saves the tensor."""

    def is_next_due(self) -> bool:
        """Returns whether the next step saves the tensor."""

    def can_match(self) -> bool:
        """Returns whether the plan in use can ever save the tensor."""

    def skip(self, reason: str) -> None:
        """
        Reports that the tensor cannot be saved, in the status and once in the log.
        """

    def leave_out(self, reason: str) -> None:
        """Like `skip`, without a log message."""

class TensorSlots:
    """The slots of tensors that are put together, once per step."""

    def put(self, tensors: list[object]) -> None:
        """Captures those that are due, by position."""

    def put_shared(self, tensor: object) -> None:
        """
        Captures one tensor under all these names that are due; it is stored once.
        """

    def is_any_due(self) -> bool:
        """Returns whether the open step saves any of them."""

    def can_match(self) -> list[bool]:
        """Returns, for each of them, whether the plan in use can ever save it."""

class ModuleSlots:
    """The slots of the inputs and outputs of one module, numbered by step."""

    @property
    def was_called(self) -> bool:
        """Whether a call of the module was ever reported."""

    def capture_inputs(self, arguments: object, keywords: object) -> None:
        """Captures the tensors in the arguments of a call that are due."""

    def capture_outputs(self, output: object | None) -> None:
        """Captures the tensors in the result of a call that are due."""

    def capture_call(self, arguments: object, keywords: object, output: object | None) -> None:
        """Captures the inputs and outputs of a call that are due."""

    def watch_gradients(self, output: object | None) -> None:
        """
        Saves the gradient of each tensor in `output` when the backward pass computes it, if an output is due.
        """

    def next_input(self) -> TensorSlot | None:
        """
        Counts one more input of this step. Returns its slot, or None if it is not due.
        """

    def next_output(self) -> TensorSlot | None:
        """
        Counts one more output of this step. Returns its slot, or None if it is not due.
        """

    def may_match_input(self) -> bool:
        """
        Returns whether the plan of the next step can save an input, before the module is called.
        """

    def may_match_output(self) -> bool:
        """
        Returns whether the plan of the next step can save an output, before the module is called.
        """

    def can_match_input(self) -> bool:
        """
        Returns whether the plan in use saves any input seen so far; True before the first call.
        """

    def can_match_output(self) -> bool:
        """
        Returns whether the plan in use saves any output seen so far; True before the first call.
        """

class Session:
    """Records one worker's part of a run."""

    @property
    def plan_version(self) -> int:
        """The number of the plan in use. It changes with the configuration."""

    @overload
    def is_next_due(self) -> bool:
        """Returns whether anything is due in the next step."""

    @overload
    def is_next_due(self, tensor_name: str, collection: str) -> bool:
        """Returns the same for one tensor, by its name or its collection."""

    def saves(self, collection: str) -> bool:
        """Whether the plan in use saves the collection at all."""

    def is_due(self, tensor_name: str, collection: str) -> bool:
        """
        Returns whether the open step saves a tensor, by its name or its collection.
        """

    def due_collections(self) -> list[str]:
        """The names of the collections that the open step saves."""

    @staticmethod
    def create(config: HookConfig, framework: Framework, command: Sequence[str], versions: Mapping[str, str], environment: Mapping[str, str], device_transfer: object | None = None) -> Session:
        """
        Opens a session of the run that `config` describes. `device_transfer` copies tensors from a device: a function of a slot and the tensor that is due in it. It returns whether it will call `put_copy`, `put_statistics` or `skip` of the slot before the step ends. If not, the tensor is copied at once and the call waits. Raises SMDebugError if the configuration is not valid or the run has ended.
        """

    def set_config(self, config: HookConfig) -> None:
        """
        Sets the configuration, from the next step on. Raises SMDebugError, and keeps the previous one, if it is not valid.
        """

    def set_worker(self, rank: int, world_size: int, name: str = '') -> None:
        """
        Names the worker; by default `worker_<rank>`. Ignored after the first step has begun.
        """

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the next steps."""

    @property
    def mode(self) -> ModeKeys:
        """The mode of the next steps."""

    def begin_step(self) -> bool:
        """
        Ends the open step, if any, and begins the next one. Returns whether anything is due in it.
        """

    def bind_to_current_thread(self) -> None:
        """Makes the calling thread the owner of the open step."""

    def before_update(self) -> None:
        """Lets the rules judge the open step before the optimizer acts."""

    def end_step(self) -> None:
        """Ends the open step and passes it to the writer."""

    @property
    def step(self) -> tuple[int, ModeKeys, int]:
        """(global step, mode, step of the mode) of the open step."""

    def set_facts(self, facts: RunFacts) -> None:
        """
        Reports what is trained from the open step on. Does nothing if it equals the facts reported last.
        """

    def scalar(self, name: str) -> ScalarSlot:
        """
        Returns the slot of a scalar series, which has one number per step, and creates it on first use. A name that is empty or longer than 1000 bytes is logged, and its samples are ignored.
        """

    def is_capturing(self) -> bool:
        """Returns whether anything is due in the open step."""

    def tensor(self, name: str, collections: Sequence[str] = []) -> TensorSlot:
        """
        Returns the slot of a tensor. It belongs to `collections`, whatever its name, and to those that match it.
        """

    def gradient(self, root: str, path: str) -> TensorSlot:
        """Returns the slot `gradient/<root>_<path>`."""

    def tensors(self, names: Sequence[str], collections: Sequence[str] = []) -> TensorSlots:
        """
        The slots of several tensors that belong to the same collections, and are put together.
        """

    def parameters(self, root: str, paths: Sequence[str]) -> TensorSlots:
        """Returns the slots `<root>_<path>` of the parameters of a model."""

    def gradients(self, root: str, paths: Sequence[str]) -> TensorSlots:
        """Returns the slots of the gradients of these parameters."""

    def module(self, path: str) -> ModuleSlots:
        """Returns the slots of the inputs and outputs of the module at `path`."""

    def save_scalar(self, name: str, value: float, wall_seconds: float | None = None) -> None:
        """
        Saves a float as tensor `scalar/<name>` in the current step, due or not. `wall_seconds` is its time since the epoch; None for that of the step.
        """

    def save_integer(self, name: str, value: int, wall_seconds: float | None = None) -> None:
        """Saves an int as tensor `scalar/<name>`: see `save_scalar`."""

    def save_tensor(self, name: str, tensor: object, collections: Sequence[str]) -> None:
        """
        Saves a copy of a tensor in the current step, due or not, in the form that the collections ask for. A tensor that cannot be read is skipped, with a message.
        """

    def explain_empty(self, collection: str, reason: str) -> None:
        """
        Gives the reason that the log reports at the end if no tensor belongs to a built-in collection that is saved.
        """

    def pause(self) -> None:
        """Stops recording from the next step on. Steps are still counted."""

    def resume(self) -> None:
        """Resumes recording from the next step on."""

    @property
    def is_paused(self) -> bool:
        """Whether recording is paused."""

    def export_collections(self) -> None:
        """Writes the collections file with the tensors seen so far."""

    def flush(self) -> None:
        """Waits until every finished step can be read. Raises the first error."""

    def close(self, raised: str = '') -> None:
        """
        Publishes the open step, writes the end marker and stops the writer. `raised`: the name of the exception that ends the training. Raises the first error.
        """

    def status(self) -> HookStatus:
        """Returns the state of the recording."""

    def cost(self) -> HookCost:
        """Returns the overhead so far."""

    @property
    def worker(self) -> str:
        """The name of the worker in the run."""

    def summary(self) -> str:
        """
        Returns the collections, patterns and numbers of matched tensors of the first saved step; empty before it.
        """

    def after_fork_in_child(self) -> None:
        """Disables recording in the child of a fork: it writes nothing."""

def install_termination_flush() -> bool:
    """
    Makes SIGTERM publish the finished steps of every session before it ends the process. Returns False, and changes nothing, if the program has its own handler.
    """

class GroupSlot:
    """
    The slots of one tensor, one for each worker of a SessionGroup. The first selected worker answers.
    """

    def put(self, tensor: object) -> None:
        """Captures the tensor for the selected workers, where it is due."""

    def put_each(self, tensors: list[object]) -> None:
        """
        Captures a list of tensors, one of each worker, for the selected workers. Raises SMDebugValueError for a list of another length.
        """

    def is_due(self) -> bool:
        """Returns whether the open step saves the tensor."""

    def is_next_due(self) -> bool:
        """Returns whether the next step saves it."""

    def can_match(self) -> bool:
        """Returns whether the plan in use can ever save it."""

    def skip(self, reason: str) -> None:
        """Reports, once, that the tensor cannot be saved."""

    def leave_out(self, reason: str) -> None:
        """Like `skip`, without a log message."""

class WorkerContext:
    """Keeps one worker selected for the current thread."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...

class SessionGroup:
    """
    Drives the sessions of several workers in one process as one session: each worker has files of its own. Steps and values apply to the worker that the calling thread selected, or to all.
    """

    def __init__(self, first: Session) -> None:
        """Makes a group of one session."""

    def spread(self, further: Sequence[Session], workers: Sequence[str]) -> None:
        """
        Adds the sessions `further` of the same run, and names all workers, the first session's included. Raises SMDebugValueError if the numbers do not match, after a step has begun, and in a second call.
        """

    @property
    def size(self) -> int:
        """The number of workers."""

    @property
    def has_begun(self) -> bool:
        """Whether a step has begun."""

    def has_worker(self, worker: int) -> bool:
        """Returns whether the worker of that number has a session."""

    def for_worker(self, worker: int | None) -> WorkerContext:
        """
        A context in which the steps and tensors of this thread belong to one worker; None means to all workers.
        """

    def tensor(self, name: str, collections: Sequence[str] = []) -> GroupSlot:
        """
        Returns the slots of a tensor. It belongs to `collections`, whatever its name, and to those that match it.
        """

    @property
    def mode(self) -> ModeKeys:
        """The mode of the next steps."""

    @property
    def step(self) -> tuple[int, ModeKeys, int]:
        """(global step, mode, step of the mode) of the open step."""

    @property
    def plan_version(self) -> int:
        """The number of the plan in use. It changes with the configuration."""

    def is_capturing(self) -> bool:
        """Returns whether anything is due in the open step."""

    @overload
    def is_next_due(self) -> bool:
        """Returns whether anything is due in the next step."""

    @overload
    def is_next_due(self, tensor_name: str, collection: str) -> bool:
        """Returns the same for one tensor, by its name or its collection."""

    def is_due(self, tensor_name: str, collection: str) -> bool:
        """
        Returns whether the open step saves a tensor, by its name or its collection.
        """

    def summary(self) -> str:
        """
        Returns the collections, patterns and numbers of matched tensors of the first saved step; empty before it.
        """

    def begin_step(self) -> bool:
        """
        Ends the open step, if any, and begins the next one. Returns whether anything is due in it.
        """

    def before_update(self) -> None:
        """Lets the rules judge the open step before the optimizer acts."""

    def end_step(self) -> None:
        """Ends the open step and passes it to the writer."""

    def bind_to_current_thread(self) -> None:
        """Makes the calling thread the owner of the open step."""

    def save_scalar(self, name: str, value: float, wall_seconds: float | None = None) -> None:
        """
        Saves a float as tensor `scalar/<name>` in the current step, due or not. `wall_seconds` is its time since the epoch; None for that of the step.
        """

    def save_integer(self, name: str, value: int, wall_seconds: float | None = None) -> None:
        """Saves an int as tensor `scalar/<name>`: see `save_scalar`."""

    def save_tensor(self, name: str, tensor: object, collections: Sequence[str]) -> None:
        """
        Saves a copy of a tensor in the current step, due or not, in the form that the collections ask for.
        """

    def set_config(self, config: HookConfig) -> None:
        """
        Sets the configuration, from the next step on. Raises SMDebugError, and keeps the previous one, if it is not valid.
        """

    def set_worker(self, rank: int, world_size: int) -> None:
        """
        Names the worker of a group of one. Ignored once the workers have names.
        """

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the next steps."""

    def pause(self) -> None:
        """Stops recording from the next step on. Steps are still counted."""

    def resume(self) -> None:
        """Resumes recording from the next step on."""

    def export_collections(self) -> None:
        """Writes the collections file with the tensors seen so far."""

    def explain_empty(self, collection: str, reason: str) -> None:
        """
        Gives the reason that the log reports at the end if no tensor belongs to a built-in collection that is saved.
        """

    def flush(self) -> None:
        """Waits until every finished step can be read. Raises the first error."""

    def close(self, raised: str = '') -> None:
        """
        Publishes the open step, writes the end marker and stops the writer. `raised`: the name of the exception that ends the training. Raises the first error.
        """

    def after_fork_in_child(self) -> None:
        """Disables recording in the child of a fork: it writes nothing."""

    def status(self) -> HookStatus:
        """
        Returns the status of the first session that failed, or of the first session if none did. Counts of tensors and bytes are sums over all sessions.
        """

    def cost(self) -> HookCost:
        """Returns the overhead of all sessions together."""

class StepPolicy:
    """
    Decides which calls of a model begin a step: every one ('forward'), the first after an optimizer has acted ('optimizer'), or those of the model that was called first ('leading_model').
    """

    @staticmethod
    def create(step_on: str) -> StepPolicy:
        """Raises SMDebugValueError for a policy that does not exist."""

    def begins_step(self, model: int, mode: ModeKeys, is_training: bool, can_learn: bool = True, device: str = '') -> bool:
        """
        Returns whether a call of a model begins a step. `model` is any number that differs between models, `can_learn` whether a backward pass can follow, `device` where this part of the batch is.
        """

    @property
    def each_call_is_a_step(self) -> bool:
        """Whether every call begins a step as long as no call names its device."""

    def backward_began(self) -> None:
        """Reports that a backward pass begins."""

    def optimizer_acted(self) -> None:
        """Reports that an optimizer has updated the models."""

class StepState(enum.Enum):
    """Whether a step can be read."""

    UNAVAILABLE = 0

    AVAILABLE = 1

    NOT_YET_AVAILABLE = 2

class Tensor:
    """
    The steps and values of one tensor of a run. Arguments `worker` name a worker; None stands for the first one that saved the tensor at the step.
    """

    @property
    def name(self) -> str:
        """The name of the tensor."""

    @property
    def original_name(self) -> str | None:
        """The framework's name for it, if it differs from `name`."""

    def steps(self, mode: ModeKeys, incomplete: bool) -> list[int]:
        """
        Returns the steps of `mode` at which any worker saved the tensor, ascending; with `incomplete`, also steps that workers are still writing.
        """

    def prev_steps(self, step: int, n: int, mode: ModeKeys) -> list[int]:
        """
        Returns the last `n` steps up to and including `step`, ascending; all of them if `n` is 0.
        """

    def workers(self, step: int, mode: ModeKeys) -> list[str]:
        """
        Returns the names of the workers that saved the tensor at this step, sorted.
        """

    def value(self, step: int, mode: ModeKeys, worker: str | None) -> tuple[str, list[int], Any]:
        """
        Returns (dtype, shape, elements). The elements are bytes in C order, or a list of str or bytes.
        """

    def values(self, mode: ModeKeys, worker: str | None) -> list[tuple[str, list[int], list[int], list[Any]]]:
        """
        Returns the values at all steps of `mode` as groups of consecutive steps that have the same dtype and shape: (dtype, shape, steps, elements of each step).
        """

    def dtype(self, step: int, mode: ModeKeys, worker: str | None) -> str:
        """Returns numpy's name of the dtype."""

    def shape(self, step: int, mode: ModeKeys, worker: str | None) -> list[int]:
        """Returns the shape."""

    def saved_reductions(self, step: int, mode: ModeKeys, worker: str | None) -> dict[tuple[str, bool], tuple[str, list[int], Any]]:
        """
        Returns the reductions that the run holds: {(name, is_abs): (dtype, shape, elements)}.
        """

    def reduction(self, step: int, mode: ModeKeys, worker: str | None, op: str) -> float:
        """
        Returns the reduction `op`, such as "abs_max" or "l2_norm": the saved one, or computed from the statistics or the elements.
        """

    def placement(self, step: int, mode: ModeKeys, worker: str | None) -> object:
        """
        Returns (shape of the whole tensor, offsets of the saved part in it); None for a whole tensor.
        """

    def merged_statistics(self, step: int, mode: ModeKeys) -> dict[str, int | float]:
        """
        Returns the statistics of the whole tensor, merged from the shards of all workers, as a dict.
        """

    def statistics(self, step: int, mode: ModeKeys, worker: str | None) -> dict[str, int | float]:
        """
        Returns the statistics of the elements as a dict: those of the index, or computed from the elements.
        """

def has_end_marker(location: str) -> bool:
    """
    Returns whether the run at a path or URL has its end marker. Raises SMDebugError if that cannot be found out.
    """

class Attempt:
    """A start of the training in the folder of a run."""

    @property
    def number(self) -> int:
        """Counts from 1; 0: before the first that is recorded."""

    @property
    def started_seconds(self) -> float:
        """When it began, in seconds since the epoch."""

    @property
    def ended_seconds(self) -> float | None:
        """When it ended; None if it runs or was killed."""

    @property
    def first_step(self) -> int | None:
        """Its first global step."""

    @property
    def status(self) -> str:
        """"running", "finished", or its first error."""

    @property
    def raised(self) -> str:
        """The exception that ended its training, as "ValueError"; "": none did."""

    @property
    def location(self) -> str:
        """
        The run with its steps that later attempts replaced; "" if there are none.
        """

class Trial:
    """Reads a run. smdebug.trials.Trial wraps it."""

    @staticmethod
    def open(location: str, name: str, first_step: int | None, end_step: int | None, timeout_seconds: float | None, before_refresh: object | None, keep_values: bool) -> Trial:
        """
        Opens the run at a path or URL, limited to steps in [`first_step`, `end_step`). Waits up to `timeout_seconds` until every worker has written its collections; None waits without a limit. Calls `before_refresh` before each refresh.
        """

    @property
    def name(self) -> str:
        """The name of the trial."""

    @property
    def location(self) -> str:
        """The path or URL of the run."""

    def refresh(self) -> None:
        """Loads new steps. Does nothing after the end of the run."""

    @property
    def is_refreshing(self) -> bool:
        """Whether queries refresh the trial first."""

    @is_refreshing.setter
    def is_refreshing(self, arg: bool, /) -> None: ...

    def has_ended(self) -> bool:
        """Returns whether the end marker exists and every file is loaded."""

    def tensor_names(self, step: int | None, mode: ModeKeys, regexes: Sequence[str], names: Sequence[str]) -> list[str]:
        """
        Returns the names that match one of `regexes` or are in `names`, sorted; all names if both are empty. `step` limits them to those of one step.
        """

    def statistics_stream(self, mode: ModeKeys, names: Sequence[str]) -> tuple[types.CapsuleType, str]:
        """
        Returns the statistics of the tensors `names` as a capsule of the Arrow PyCapsule interface, and the reason why the first value that was skipped cannot be read; empty if none was.
        """

    def tensor(self, name: str) -> Tensor:
        """
        Returns the tensor of that name. Raises TensorUnavailable if there is none.
        """

    def has_tensor(self, name: str) -> bool:
        """Returns whether the run has a tensor of that name."""

    def steps(self, mode: ModeKeys, incomplete: bool) -> list[int]:
        """
        Returns the steps of `mode`, ascending; with `incomplete`, also steps that not every worker has written.
        """

    def modes(self) -> list[ModeKeys]:
        """Returns the modes that have steps, never GLOBAL."""

    def step_id(self, global_step: int) -> tuple[ModeKeys, int] | None:
        """
        Returns (mode, step of the mode) of a global step; None if the run has no such step.
        """

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        """
        Returns the global step of a step of a mode; None if the run has no such step.
        """

    def workers(self) -> list[str]:
        """Returns the names of the workers that have written files, sorted."""

    @property
    def num_workers(self) -> int:
        """The number of workers that the collections files state."""

    @property
    def last_complete_step(self) -> int:
        """
        The last global step that is complete or no longer waited for; -1 if there is none.
        """

    @property
    def last_index_token(self) -> str:
        """The key of the index file from which the original would list next."""

    def collections_version(self) -> int:
        """Returns a number that changes with the collections."""

    def collections(self) -> list[Collection]:
        """Returns the collections in the order of the collections file."""

    def has_passed_step(self, step: int, mode: ModeKeys) -> StepState:
        """
        Returns whether a step can be read now, may still appear, or never will.
        """

    def wait_for_steps(self, steps: Sequence[int], mode: ModeKeys, timeout_seconds: float | None) -> None:
        """
        Waits until all of `steps` can be read. Raises for a step that never will be, and after `timeout_seconds`; None waits without a limit.
        """

    @property
    def attempt(self) -> int:
        """
        The number of the attempt that this trial shows; 0 if the run has no run.json. Does not refresh.
        """

    def facts(self) -> list[WorkerFacts]:
        """
        Returns what each worker trains, sorted by the step from which on it holds; empty for a run without facts.
        """

    def series_names(self) -> list[str]:
        """Returns the names of the scalar series, sorted."""

    def series(self, name: str, mode: ModeKeys, worker: str | None) -> list[tuple[int, float]]:
        """
        Returns pairs (step of the mode, value) of a scalar series, ascending. None: of the first worker that recorded it.
        """

    def attempts(self) -> list[Attempt]:
        """Returns every attempt, in order; none for a run without run.json."""

    def refused_writer(self) -> str | None:
        """
        Returns a sentence about the last writer that was refused because another one wrote the run, or None.
        """

    def damage(self) -> list[tuple[str, str]]:
        """
        Returns a pair (file, description) for each file that was skipped because it is damaged.
        """

    @property
    def dropped_tensors(self) -> int:
        """
        The number of tensors that the writer dropped because its buffer was full.
        """

    def bytes(self) -> int:
        """Returns the number of bytes in the files of the run."""

    def run_file_text(self) -> str:
        """Returns the content of run.json as text."""

def find_names(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Returns those of `names` that match one of `patterns`, in their order."""

class FileWriter:
    """Writes one event file. smdebug.file_writer.FileWriter wraps it."""

    @staticmethod
    def create(run: str, step: int, worker: str, write_checksum: bool, is_tensorboard: bool, mode: ModeKeys) -> FileWriter:
        """
        Creates the event file of one worker and step in the folder `run`. `write_checksum` writes the true checksum of each record.
        """

    def write_tensor(self, name: str, tensor: object | None, mode: ModeKeys, mode_step: int | None, wall_seconds: float | None, is_indexed: bool, is_quantized: bool) -> None:
        """
        Writes the value of a tensor. `mode_step` None stands for the step of the file, `wall_seconds` None for the current time, in seconds since the epoch.
        """

    def write_shape(self, name: str, shape: Sequence[int], original_name: str, mode: ModeKeys, mode_step: int | None) -> None:
        """Writes only the shape of a tensor."""

    def write_scalar_summary(self, tag: str, value: float, step: int | None, wall_seconds: float | None) -> None:
        """Writes a number for TensorBoard."""

    def write_histogram_summary(self, tag: str, tensor: object, step: int | None, wall_seconds: float | None) -> bool:
        """
        Writes a histogram of the elements for TensorBoard. Returns whether the tensor has elements to count.
        """

    def write_summary(self, summary: bytes, step: int | None, timestamp: float | None) -> None:
        """Writes a serialized Summary message for TensorBoard."""

    def write_graph(self, graph: bytes) -> None:
        """Writes a serialized GraphDef message for TensorBoard."""

    def flush(self) -> None:
        """Writes buffered records to storage."""

    def close(self) -> None:
        """Completes the file. Later calls raise."""

    def name(self) -> str:
        """Returns the path of the file in the folder of the run."""

class RecordCheck(enum.Enum):
    """Which checksums a record must have."""

    NONE = 0

    MINIMAL = 1

    FULL = 2

class FileReader:
    """Reads one event file. smdebug.file_reader wraps it."""

    @staticmethod
    def open(path: str, check: RecordCheck, patterns: Sequence[str] | None) -> FileReader:
        """
        Opens an event file. With `patterns`, it returns only the tensors whose name matches one of them.
        """

    def next(self, skip_others: bool) -> object:
        """
        Returns the next tensor. With `skip_others`, records without a tensor are not an error.
        """

    @property
    def skipped_count(self) -> int:
        """The number of ranges that were skipped."""

    @property
    def skipped(self) -> list[tuple[int, int, str]]:
        """The first 20 ranges that were skipped: (offset, bytes, reason)."""

class SavedCollections:
    """
    The collections file of one worker: the collections and the number of workers.
    """

    def __init__(self, collections: Iterable, num_workers: int) -> None: ...

    @staticmethod
    def parse(text: str) -> SavedCollections:
        """
        Parses the text of a collections file. Raises SMDebugValueError for any other text.
        """

    @staticmethod
    def read(folder: str, file_name: str) -> SavedCollections:
        """
        Reads a collections file. Raises SMDebugValueError for a file that is none, and SMDebugError for one that is too large or cannot be read.
        """

    def text(self) -> str:
        """Returns the text of the file."""

    def write(self, out_dir: str, file_name: str) -> None:
        """Writes the file into the collections folder of the run at `out_dir`."""

    @property
    def collections(self) -> list[Collection]:
        """The collections, in the order of the file."""

    @property
    def num_workers(self) -> int:
        """The number of workers of the run."""

def builtin_rules() -> list:
    """Returns the built-in rules: name, summary, parameters and advice."""

def default_rules() -> list:
    """Returns the rules that judge by default: (name, parameters)."""

def checked_rule_name(name: str, parameters: Mapping[str, str]) -> str:
    """
    The full name of a built-in rule that can be made with these parameters.
    """

def reduction(tensor: object, op: str) -> float:
    """A reduction of the elements, in float64."""

EXIT_RULE_FIRED: int = 3

def cause_table() -> str:
    """JSON: which finding explains which."""

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
    def is_judging(self) -> bool:
        """Whether any rule is still in progress."""

    def verdicts(self) -> list[str]:
        """One JSON object per rule."""

    def diagnosis(self) -> str:
        """JSON: the causes of what the rules found, with their consequences."""

    def summary(self, ending: str, cost: str, problem: str) -> str:
        """
        The end of `smdebug run` as text, after `finish`: how the training ended, what recording it cost and what went wrong are added as given.
        """

class StepMonitor:
    """Rules over the steps of sessions while they run."""

    def __init__(self) -> None: ...

    def add_worker(self, rules: list) -> None:
        """Makes the rules of a further worker."""

    def follow(self, session: Session) -> None:
        """Judges the steps of `session` with the rules that were added last."""

    def take_findings(self) -> list[str]:
        """
        Returns the findings since the last call: one JSON object each time that a rule fired.
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
    Returns the actions of an action string as (kind, target), and a sentence for each entry that is not an action.
    """

def perform_action(action: tuple[str, str], rule: str, message: str, step: int, trial: Trial | None) -> tuple[str, str]:
    """
    Performs an action (kind, target) once, and returns its status and a sentence.
    """

def run_command_line(arguments: Sequence[str], load_rule: Callable, judge_on_ray: Callable, write_export: Callable) -> int:
    """Runs the command `smdebug` and returns its exit code."""

def judge_for_ray(arguments: Sequence[str], load_rule: Callable) -> bytes:
    """
    Judges the run of a command line of `smdebug check --ray` and returns its result in bytes, for the process that made the command line.
    """

def set_aws_snapshot(access_key_id: str, secret_access_key: str, session_token: str, expires: float | None, precedes_variables: bool) -> None:
    """
    Makes requests to AWS use these credentials until `expires`, in seconds since the epoch; None for credentials that never expire.
    """

def remove_aws_snapshot() -> None:
    """Makes requests to AWS use the credentials that the core finds."""

def is_aws_renewal_due() -> bool:
    """
    Whether the credentials of set_aws_snapshot expire within 15 minutes, or have expired.
    """
