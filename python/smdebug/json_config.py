"""Hooks from JSON configurations: what SageMaker writes, and what a user may write anywhere.

The format is described in include/smdebug/config/hook_config_file.h, which parses it.
"""

import json

from smdebug import _core
from smdebug.exceptions import SMDebugValueError
from smdebug.log import get_logger

logger = get_logger()


def create_hook_from_json_config(hook_cls, json_config_path=None, default_values=None):
    """A hook of class `hook_cls` as the JSON file says.

    `json_config_path` None stands for the path in SMDEBUG_CONFIG_FILE_PATH, and without it
    /opt/ml/input/config/debughookconfig.json. `default_values` are HookParameters that count
    where the file does not give them. What the file says and nobody knows is logged.

    Raises FileNotFoundError where there is no such file, and SMDebugValueError, naming file,
    line, column and key, where it makes no sense.
    """
    path = _path(json_config_path)
    file = _load(path, hook_cls.make_framework(), default_values)
    for warning in file.warnings:
        logger.warning("%s", warning)
    return _make_hook(hook_cls, file.config)


def get_json_config_as_dict(json_config_path=None):
    """The JSON configuration as it was written; the path as above."""
    with open(_path(json_config_path), encoding="utf-8") as file:
        return json.load(file)


def _path(json_config_path):
    return str(json_config_path or _core.JobEnvironment.read().hook_config_path)


def _load(path, framework, default_values):
    job = _core.JobEnvironment.read()
    file = _core.load_hook_config(path, framework, job)
    if not default_values:
        return file
    whole = get_json_config_as_dict(path)
    whole["HookParameters"] = {**default_values, **(whole.get("HookParameters") or {})}
    return _core.parse_hook_config(json.dumps(whole), path, framework, job)


def _make_hook(hook_cls, config):
    tensorboard = {}
    if config.tensorboard_dir is not None:
        tensorboard = {"export_tensorboard": True, "tensorboard_dir": config.tensorboard_dir}
    of_adapter = {
        name: value
        for name, value in (("step_on", config.step_on), ("gradients", config.gradients))
        if value is not None
    }
    for name in of_adapter:
        if name not in hook_cls.adapter_options:
            raise SMDebugValueError(
                f"{hook_cls.__module__}.{hook_cls.__name__} has no '{name}'; "
                "take it out of the configuration"
            )
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
        **tensorboard,
        **of_adapter,
    )
    for collection in config.collections:
        hook.add_collection(hook_cls.collection_class.from_collection(collection))
    return hook
