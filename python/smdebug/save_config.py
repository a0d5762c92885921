"""`SaveConfig`: at which steps tensors are saved, for each mode."""

import json

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.edits import CountingList, edits
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

DEFAULT_SAVE_INTERVAL = 500


class SaveConfigMode:
    """The steps that are saved in one mode.

    A step is saved if it is listed in `save_steps`, or if it lies in [`start_step`, `end_step`)
    and is a multiple of `save_interval`.
    """

    def __init__(self, save_interval=None, start_step=None, end_step=None, save_steps=None):
        self._save_interval = _interval(save_interval)
        self._start_step = _whole_number("start_step", start_step, 0)
        self._end_step = _whole_number("end_step", end_step, None)
        self._save_steps = _step_list(save_steps)

    @property
    def save_interval(self):
        return self._save_interval

    @save_interval.setter
    def save_interval(self, value):
        self._save_interval = _interval(value)
        edits.count += 1

    @property
    def start_step(self):
        return self._start_step

    @start_step.setter
    def start_step(self, value):
        self._start_step = _whole_number("start_step", value, 0)
        edits.count += 1

    @property
    def end_step(self):
        return self._end_step

    @end_step.setter
    def end_step(self, value):
        self._end_step = _whole_number("end_step", value, None)
        edits.count += 1

    @property
    def save_steps(self):
        return self._save_steps

    @save_steps.setter
    def save_steps(self, value):
        self._save_steps = _step_list(value)
        edits.count += 1

    def should_save_step(self, step_num):
        return self.to_core().is_due(step_num)

    @classmethod
    def from_dict(cls, params, default_values=None):
        """From the keys of `to_json`; missing ones are taken from `default_values`."""
        values = {**(default_values or {}), **params}
        unknown = sorted(set(values) - set(_KEYS))
        if unknown:
            raise SMDebugValueError(f"'{unknown[0]}' is no key of a save config; use {_KEYS}")
        return cls(**values)

    def to_json_dict(self):
        """The four values, in the order of collections files."""
        return {
            "save_interval": self._save_interval,
            "save_steps": list(self._save_steps),
            "start_step": self._start_step,
            "end_step": self._end_step,
        }

    def copy(self):
        return SaveConfigMode(**self.to_json_dict())

    def to_core(self):
        return _core.SaveConfigMode(
            self._save_interval, self._start_step, self._end_step, list(self._save_steps)
        )

    @classmethod
    def from_core(cls, mode):
        return cls(mode.save_interval, mode.start_step, mode.end_step, mode.save_steps)

    def __eq__(self, other):
        if not isinstance(other, SaveConfigMode):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__ = None

    def __repr__(self):
        return "SaveConfigMode(" + ", ".join(f"{k}={getattr(self, k)!r}" for k in _KEYS) + ")"


_KEYS = ("save_interval", "start_step", "end_step", "save_steps")


class SaveConfig:
    """The steps that are saved, the same in every mode or, with `mode_save_configs`, mode by mode.

    A mode that `mode_save_configs` leaves out takes the default configuration. The properties
    `save_interval`, `start_step`, `end_step` and `save_steps` read and set all modes at once.
    """

    def __init__(
        self,
        mode_save_configs=None,
        save_interval=None,
        start_step=None,
        end_step=None,
        save_steps=None,
    ):
        if mode_save_configs is None:
            simple = SaveConfigMode(save_interval, start_step, end_step, save_steps)
            self._modes = {mode: simple.copy() for mode in ModeKeys}
            return
        if not isinstance(mode_save_configs, dict):
            raise SMDebugTypeError(
                f"mode_save_configs must be a dict of modes, found {mode_save_configs!r}"
            )
        self._modes = {}
        for mode, config in mode_save_configs.items():
            if not isinstance(mode, ModeKeys):
                raise SMDebugValueError(
                    f"the keys of mode_save_configs must be smdebug.modes, found {mode!r}"
                )
            if config is not None and not isinstance(config, SaveConfigMode):
                raise SMDebugValueError(
                    f"mode {mode.name} of mode_save_configs must be a SaveConfigMode, "
                    f"found {config!r}"
                )
            self._modes[mode] = config

    @classmethod
    def parse(cls, value):
        """A SaveConfig from what users pass for one: None, a SaveConfigMode or a dict, too."""
        if value is None:
            return cls()
        if isinstance(value, SaveConfig):
            return value
        if isinstance(value, SaveConfigMode):
            return cls.from_save_config_mode(value)
        if isinstance(value, dict):
            return cls.from_dict(value)
        raise SMDebugTypeError(
            f"save_config must be a SaveConfig, a SaveConfigMode or a dict, found {value!r}"
        )

    @classmethod
    def from_save_config_mode(cls, save_config_mode):
        """The same SaveConfigMode for every mode."""
        return cls({mode: save_config_mode.copy() for mode in ModeKeys})

    @classmethod
    def from_dict(cls, params, default_values=None):
        """From a dict of modes, or of mode names: {"TRAIN": {"save_interval": 10}}."""
        modes = {}
        for key, value in params.items():
            if isinstance(key, str):
                if key.upper() not in ModeKeys.__members__:
                    raise SMDebugValueError(f"'{key}' is no mode; use {list(ModeKeys.__members__)}")
                key = ModeKeys[key.upper()]
            if isinstance(value, dict):
                value = SaveConfigMode.from_dict(value, default_values)
            modes[key] = value
        return cls(modes)

    def get_save_config(self, mode):
        """The SaveConfigMode of `mode`, which may be changed; None where none is set."""
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(f"mode must be one of smdebug.modes, found {mode!r}")
        return self._modes.get(mode)

    def set_save_config(self, mode, save_config_mode):
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(f"mode must be one of smdebug.modes, found {mode!r}")
        if not isinstance(save_config_mode, SaveConfigMode):
            raise SMDebugValueError(f"expected a SaveConfigMode, found {save_config_mode!r}")
        self._modes[mode] = save_config_mode
        edits.count += 1

    def should_save_step(self, mode, step_num):
        config = self.get_save_config(mode) or SaveConfigMode()
        return config.should_save_step(step_num)

    def merge_default_save_config(self, default):
        """Gives each mode without a configuration that of `default`."""
        for mode in ModeKeys:
            if self._modes.get(mode) is None:
                self._modes[mode] = default._modes.get(mode) or SaveConfigMode()
        edits.count += 1

    def copy(self):
        return SaveConfig({mode: c and c.copy() for mode, c in self._modes.items()})

    def to_json_dict(self):
        configs = {mode.name: self._modes.get(mode) for mode in ModeKeys}
        return {name: c and c.to_json_dict() for name, c in configs.items()}

    def to_json(self):
        """{"TRAIN": {"save_interval": 500, ...} or null, ...}, as in collections files."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_json(cls, json_str):
        """From the text of `to_json`."""
        return cls.from_dict(json.loads(json_str))

    def to_core(self):
        return _core.SaveConfig({mode: c.to_core() for mode, c in self._modes.items() if c})

    @classmethod
    def from_core(cls, config):
        modes = {mode: config.mode(mode) for mode in ModeKeys}
        return cls({mode: SaveConfigMode.from_core(c) if c else None for mode, c in modes.items()})

    def __eq__(self, other):
        if not isinstance(other, SaveConfig):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__ = None

    def __repr__(self):
        return f"SaveConfig({ {mode.name: c for mode, c in self._modes.items()} })"


def _of_all_modes(name):
    """A property of all modes: reading gives what they agree on, else that of GLOBAL."""

    def read(self):
        config = self._modes.get(ModeKeys.GLOBAL) or SaveConfigMode()
        return getattr(config, name)

    def write(self, value):
        for mode in ModeKeys:
            if self._modes.get(mode) is None:
                self._modes[mode] = SaveConfigMode()
            setattr(self._modes[mode], name, value)

    return property(read, write)


for _key in _KEYS:
    setattr(SaveConfig, _key, _of_all_modes(_key))


def _whole_number(name, value, default):
    if value is None:
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise SMDebugValueError(f"{name} must be a whole number, found {value!r}") from None


def _interval(value):
    interval = _whole_number("save_interval", value, DEFAULT_SAVE_INTERVAL)
    _core.SaveConfigMode(interval, 0, None, []).check()
    return interval


def _step_list(value):
    if value is None:
        return CountingList()
    if not isinstance(value, (list, tuple)) or not all(type(step) is int for step in value):
        raise SMDebugValueError(f"save_steps must be a list of whole numbers, found {value!r}")
    return CountingList(value)
