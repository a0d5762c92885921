"""Every public name that existing scripts import is there, at every path that they use."""

import importlib
import importlib.util
import pathlib

import pytest

import smdebug

HOOK_NAMES = (
    "Collection CollectionKeys SaveConfig SaveConfigMode ReductionConfig modes create_trial "
    "get_hook set_hook del_hook"
)
EXCEPTIONS = """
    SMDebugError SMDebugCustomerError SMDebugTypeError SMDebugRuntimeError
    SMDebugNotImplementedError SMDebugValueError InvalidCollectionConfiguration
    StepNotYetAvailable StepUnavailable MissingCollectionFiles IndexReaderException
    TensorUnavailableForStep ShapeUnavailableForStep TensorUnavailable InvalidWorker
    NoMoreProfilerData NoMoreData RuleEvaluationConditionMet
    InsufficientInformationForRuleInvocation
"""

SURFACE = {
    "smdebug": "modes SaveConfig SaveConfigMode ReductionConfig CollectionKeys __version__",
    "smdebug.pytorch": f"Hook {HOOK_NAMES}",
    "smdebug.pytorch.hook": "Hook",
    "smdebug.pytorch.collection": "Collection CollectionKeys",
    "smdebug.pytorch.singleton_utils": "get_hook set_hook del_hook",
    "smdebug.tensorflow": f"KerasHook SessionHook EstimatorHook {HOOK_NAMES}",
    "smdebug.tensorflow.keras": "KerasHook",
    "smdebug.tensorflow.session": "SessionHook EstimatorHook",
    "smdebug.tensorflow.collection": "Collection CollectionKeys",
    "smdebug.tensorflow.singleton_utils": "get_hook set_hook del_hook",
    "smdebug.mxnet": f"Hook {HOOK_NAMES}",
    "smdebug.mxnet.hook": "Hook",
    "smdebug.mxnet.collection": "Collection CollectionKeys",
    "smdebug.mxnet.singleton_utils": "get_hook set_hook del_hook",
    "smdebug.xgboost": f"Hook {HOOK_NAMES}",
    "smdebug.xgboost.hook": "Hook",
    "smdebug.xgboost.collection": "Collection CollectionKeys",
    "smdebug.xgboost.singleton_utils": "get_hook set_hook del_hook",
    "smdebug.trials": "create_trial Trial LocalTrial S3Trial modes",
    "smdebug.trials.trial": "Trial",
    "smdebug.trials.local_trial": "LocalTrial",
    "smdebug.trials.s3_trial": "S3Trial",
    "smdebug.trials.utils": "create_trial",
    "smdebug.rules": "Rule invoke_rule",
    "smdebug.rules.rule": "Rule",
    "smdebug.rules.rule_invoker": "invoke_rule",
    "smdebug.rules.action": "Actions StopTrainingAction MessageAction",
    "smdebug.exceptions": EXCEPTIONS,
    "smdebug.analysis.utils": "no_refresh refresh",
    "smdebug.core.modes": "ModeKeys",
    "smdebug.core.collection": "Collection CollectionKeys",
    "smdebug.core.collection_manager": "CollectionManager",
    "smdebug.core.save_config": "SaveConfig SaveConfigMode",
    "smdebug.core.reduction_config": "ReductionConfig ALLOWED_REDUCTIONS ALLOWED_NORMS",
    "smdebug.core.tensor": "Tensor StepState",
    "smdebug.core.writer": "FileWriter",
    "smdebug.core.reader": "FileReader",
    "smdebug.core.access_layer.utils": "has_training_ended is_s3 check_dir_exists",
    "smdebug.core.config_constants": (
        "CLAIM_FILENAME DEFAULT_WORKER_NAME DEFAULT_COLLECTIONS_FILE_NAME"
    ),
    "smdebug.core.json_config": "create_hook_from_json_config get_json_config_as_dict",
    "smdebug.core.logger": "get_logger",
    "smdebug.core.error_handling_agent": "BASE_ERROR_MESSAGE",
    "smdebug.core.utils": "FRAMEWORK error_handling_agent",
    "smdebug.profiler": "",
}

# Each framework has its own.
OF_A_FRAMEWORK = {"Hook", "Collection", "get_hook", "set_hook", "del_hook"}

NOT_BUILT = {"smdebug.profiler"}

# Where a framework is missing, its adapter cannot be imported. Those of other environments:
# tests/tensorflow/test_import_names.py, tests/mxnet/test_mxnet_api.py.
NEEDED = {
    "smdebug.tensorflow": "tensorflow",
    "smdebug.mxnet": "mxnet",
    "smdebug.xgboost": "xgboost",
}


def is_built(module):
    """Whether the package has it, and what it needs; of a package, it and so its modules."""
    needed = NEEDED.get(module)
    if needed and importlib.util.find_spec(needed) is None:
        return False
    *parents, last = module.split(".")
    if parents and not is_built(".".join(parents)):
        return False
    return importlib.util.find_spec(module) is not None


def is_excused(module):
    return any(module == part or module.startswith(part + ".") for part in {*NOT_BUILT, *NEEDED})


@pytest.mark.parametrize("module", SURFACE)
def test_a_module_has_the_names_that_scripts_import(module):
    if is_excused(module) and not is_built(module):
        pytest.skip(f"{module} is not built")
    found = importlib.import_module(module)
    missing = [name for name in SURFACE[module].split() if not hasattr(found, name)]
    assert not missing


def test_a_name_means_the_same_thing_at_every_path():
    first = {}
    for module, names in SURFACE.items():
        if not is_built(module):
            continue
        for name in set(names.split()) - OF_A_FRAMEWORK:
            thing = getattr(importlib.import_module(module), name)
            assert first.setdefault(name, thing) is thing, f"{module}.{name}"
    assert first["ModeKeys"] is first["modes"]


def test_modules_of_the_original_s_core_only_name_what_lives_elsewhere():
    folder = pathlib.Path(smdebug.__file__).parent / "core"
    modules = list(folder.rglob("*.py"))
    assert len(modules) >= 13
    for path in modules:
        code = path.read_text().partition('"""\n')[2]
        assert "def " not in code and "class " not in code, path.name
