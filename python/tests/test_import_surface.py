"""Every public name that existing scripts import is there, at every path that they use."""

import argparse
import importlib
import importlib.util
import pathlib

import pytest

import smdebug
from conftest import run_script

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
    "smdebug.core.access_layer": "has_training_ended check_dir_exists",
    "smdebug.core.access_layer.utils": "has_training_ended is_s3 check_dir_exists",
    "smdebug.core.config_constants": (
        "CLAIM_FILENAME DEFAULT_WORKER_NAME DEFAULT_COLLECTIONS_FILE_NAME"
    ),
    "smdebug.core.json_config": (
        "create_hook_from_json_config get_json_config_as_dict CONFIG_FILE_PATH_ENV_STR "
        "DEFAULT_SAGEMAKER_OUTDIR DEFAULT_RESOURCE_CONFIG_FILE DEFAULT_WORKER_NAME"
    ),
    "smdebug.core.logger": "get_logger",
    "smdebug.core.error_handling_agent": "BASE_ERROR_MESSAGE",
    "smdebug.core.utils": "FRAMEWORK error_handling_agent get_logger is_s3",
    "smdebug.rules.req_tensors": "RequiredTensors",
    "smdebug.profiler.utils": "str2bool",
}

# Each framework has its own.
OF_A_FRAMEWORK = {"Hook", "Collection", "get_hook", "set_hook", "del_hook"}

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
    return any(module == part or module.startswith(part + ".") for part in NEEDED)


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


MISSING_FRAMEWORKS = {
    "smdebug.pytorch": ("torch", "PyTorch"),
    "smdebug.mxnet": ("mxnet", "MXNet"),
    "smdebug.xgboost": ("xgboost", "XGBoost"),
    "smdebug.tensorflow.KerasHook": ("keras", "Keras"),
    "smdebug.tensorflow.keras.KerasHook": ("keras", "Keras"),
    "smdebug.tensorflow.SessionHook": ("tensorflow", "TensorFlow"),
    "smdebug.tensorflow.session.SessionHook": ("tensorflow", "TensorFlow"),
}


@pytest.mark.parametrize("imported", MISSING_FRAMEWORKS)
def test_an_adapter_without_its_framework_names_the_package_to_install(imported, tmp_path):
    framework, name = MISSING_FRAMEWORKS[imported]
    package, _, hook = imported.rpartition(".")
    statement = f"from {package} import {hook}" if hook[0].isupper() else f"import {imported}"
    script = f"""
        import sys

        class Missing:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ({framework!r}, "tensorflow"):
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name={framework!r})

        sys.meta_path.insert(0, Missing())
        try:
            {statement}
        except ImportError as error:
            print(error)
    """
    text = run_script(tmp_path, script).stdout
    assert f"records trainings with {name}, which is not installed: run pip install" in text
    assert "smdebug.trials" in text


@pytest.mark.parametrize(
    "name, hint",
    [
        ("Hook", "use smdebug.pytorch.Hook, smdebug.tensorflow.KerasHook, "),
        ("create_trial", "use from smdebug.trials import create_trial"),
        ("Rule", "use from smdebug.rules import Rule"),
    ],
)
def test_a_name_that_another_module_has_is_refused_with_the_place_to_import_it_from(name, hint):
    with pytest.raises(AttributeError, match=f"'smdebug' has no attribute '{name}'; {hint}"):
        getattr(smdebug, name)
    with pytest.raises(ImportError, match=f"cannot import '{name}' from 'smdebug'; {hint}"):
        exec(f"from smdebug import {name}")
    assert not hasattr(smdebug, name)
    with pytest.raises(ImportError, match="cannot import name 'nosuch'"):
        exec("from smdebug import nosuch")


def test_the_import_of_the_profiler_says_what_to_use_instead():
    for module in ("smdebug.profiler.analysis.utils", "smdebug.profiler.python_profiler"):
        with pytest.raises(ModuleNotFoundError, match="has no profiler yet.*torch.profiler"):
            importlib.import_module(module)
    with pytest.raises(ModuleNotFoundError, match="has no profiler yet"):
        from smdebug.profiler import tf_profiler_parser  # noqa: F401
    assert not hasattr(importlib.import_module("smdebug.profiler"), "tf_profiler_parser")


def test_str2bool_reads_the_arguments_of_training_scripts(capsys):
    from smdebug.profiler.utils import str2bool

    for word in ("true", "True", "yes", "y", "t", "on", "1", True):
        assert str2bool(word) is True
    for word in ("false", "False", "no", "n", "f", "off", "0", False):
        assert str2bool(word) is False
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=str2bool, default=True)
    assert parser.parse_args(["--gpu", "no"]).gpu is False
    with pytest.raises(SystemExit):
        parser.parse_args(["--gpu", "perhaps"])
    assert "invalid str2bool value: 'perhaps'" in capsys.readouterr().err


def test_modules_of_the_original_s_core_only_name_what_lives_elsewhere():
    folder = pathlib.Path(smdebug.__file__).parent / "core"
    modules = list(folder.rglob("*.py"))
    assert len(modules) >= 13
    for path in modules:
        code = path.read_text().partition('"""\n')[2]
        assert "def " not in code and "class " not in code, path.name


@pytest.mark.parametrize(
    "module, name, hint",
    [
        ("smdebug", "CollectionManager", r"use hook.get_collection\(name\), or from smdebug.core"),
        ("smdebug", "SaveConfg", "did you mean 'SaveConfig'"),
        ("smdebug.pytorch", "KerasHook", "use smdebug.tensorflow.KerasHook"),
        ("smdebug.trials", "create_trail", "did you mean 'create_trial'"),
        ("smdebug.rules", "VanishingGradient", r"use smdebug.rules.builtin\('VanishingG"),
    ],
)
def test_a_name_that_a_module_does_not_have_is_refused_with_the_one_to_use(module, name, hint):
    with pytest.raises(AttributeError, match=f"'{module}' has no attribute '{name}'; {hint}"):
        getattr(importlib.import_module(module), name)
    with pytest.raises(ImportError, match=f"cannot import '{name}' from '{module}'; {hint}"):
        exec(f"from {module} import {name}")


def test_a_module_with_a_name_near_to_another_one_is_imported(tmp_path):
    script = "from smdebug import save_config; print(save_config.__name__)"
    assert run_script(tmp_path, script).stdout.strip() == "smdebug.save_config"
