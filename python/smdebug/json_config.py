"""Hooks from JSON configurations, which SageMaker or a user writes.

include/smdebug/config/hook_config_file.h describes the format and parses it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from smdebug import _core
from smdebug.exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger

if TYPE_CHECKING:
    from smdebug.hook import BaseHook

HookClass = TypeVar("HookClass", bound="BaseHook")
Path = str | os.PathLike[str]

_logger = get_logger()


def create_hook_from_json_config(
    hook_cls: type[HookClass],
    json_config_path: Path | None = None,
    default_values: Mapping[str, Any] | None = None,
) -> HookClass:
    """A hook of class `hook_cls` with the configuration of a JSON file.

    `json_config_path` defaults to the path in SMDEBUG_CONFIG_FILE_PATH, else to
    /opt/ml/input/config/debughookconfig.json. `default_values` are HookParameters for keys that the
    file does not have. Unknown keys of the file are logged.

    Raises FileNotFoundError if the file does not exist, SMDebugRuntimeError for a folder,
    SMDebugTypeError for a path of another type and SMDebugValueError, which names the file, line,
    column and key, for invalid content.
    """
    path = _path(json_config_path)
    file = _load(path, hook_cls.make_framework(), default_values)
    for warning in file.warnings:
        _logger.warning("%s", warning)
    return _make_hook(hook_cls, file.config, path)


def get_json_config_as_dict(json_config_path: Path | None = None) -> dict[str, Any]:
    """The content of the JSON file, whose path has the same default. Raises FileNotFoundError."""
    with open(_path(json_config_path), encoding="utf-8") as file:
        return json.load(file)


def _path(json_config_path: Path | None) -> str:
    if json_config_path is not None and not isinstance(json_config_path, (str, os.PathLike)):
        raise SMDebugTypeError(
            f"the configuration is the path of a JSON file, found {shown(json_config_path)}"
        )
    return os.fspath(json_config_path or _core.JobEnvironment.read().hook_config_path)


def _source(path: str, job: _core.JobEnvironment) -> str:
    """Where the path of a file that cannot be read comes from."""
    if path != job.hook_config_path:
        return "the path that was passed"
    if os.environ.get("SMDEBUG_CONFIG_FILE_PATH"):
        return "from SMDEBUG_CONFIG_FILE_PATH"
    return "the default; pass a path or set SMDEBUG_CONFIG_FILE_PATH"


def _load(
    path: str, framework: _core.Framework, default_values: Mapping[str, Any] | None
) -> _core.HookConfigFile:
    job = _core.JobEnvironment.read()
    if os.path.isdir(path):
        raise SMDebugRuntimeError(
            f"hook configuration: '{path}' is a folder ({_source(path, job)}); name the JSON file "
            "in it"
        )
    try:
        file = _core.load_hook_config(path, framework, job)
    except FileNotFoundError as error:
        error.args = (f"{error} ({_source(path, job)})",)
        raise
    if not default_values:
        return file
    whole = get_json_config_as_dict(path)
    whole["HookParameters"] = {**default_values, **(whole.get("HookParameters") or {})}
    return _core.parse_hook_config(json.dumps(whole), path, framework, job)


def _make_hook(hook_cls: type[HookClass], config: _core.HookConfig, path: str) -> HookClass:
    options: dict[str, Any] = {}
    if config.tensorboard_dir is not None:
        options = {"export_tensorboard": True, "tensorboard_dir": config.tensorboard_dir}
    for name in ("step_on", "gradients"):
        value = getattr(config, name)
        if value is None:
            continue
        if name not in hook_cls.adapter_options:
            raise SMDebugValueError(
                f"{path}: HookParameters.{name}: {hook_cls.__module__}.{hook_cls.__name__} has no "
                f"'{name}'; remove it"
            )
        options[name] = value
    hook = hook_cls(
        config.out_dir,
        dry_run=config.dry_run,
        reduction_config=config.reduction_config,
        save_config=config.save_config,
        include_regex=config.include_regex,
        include_collections=config.include_collections,
        save_all=config.save_all,
        include_workers="all" if config.all_workers else "one",
        checksum="crc32c" if config.true_checksum else "constant",
        max_run_bytes=config.max_run_bytes,
        keep_every=config.keep_every,
        private=config.private,
        durability="step" if config.keeps_steps else "process",
        **options,
    )
    for collection in config.collections:
        hook.add_collection(hook_cls.collection_class.from_collection(collection))
    return hook
