"""docs/from-sagemaker.md: its snippets run, and smdebug reads the requests of the real SDK.

`tools/venv sagemaker-2` and `tools/venv sagemaker-core` make the environments of the SDK.
"""

import functools
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from aiosmtpd.controller import Controller
from free_ports import free_port

from smdebug import _core, modes
from smdebug.core.json_config import create_hook_from_json_config
from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError, SMDebugValueError
from smdebug.pytorch import Hook
from smdebug.sagemaker import ProfilerRule, Rule, profiler_configs, rule_configs
from smdebug.trials import create_trial

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/from_sagemaker"
PAGE = (ROOT / "docs/from-sagemaker.md").read_text()
MODULES = {"sagemaker-2": "sagemaker.debugger", "sagemaker-core": "sagemaker.core.debugger"}
ORIGINAL = ROOT / ".venv/original/bin/python"
SAVED = [
    "CrossEntropyLoss_output_0: [0, 4, 8] [0, 2, 4]",
    "Sequential_fc.weight: [0, 4, 8] [0, 2, 4]",
    "Sequential_out.weight: [0, 4, 8] [0, 2, 4]",
    "gradient/Sequential_fc.bias: [1, 3] []",
    "gradient/Sequential_fc.weight: [1, 3] []",
    "gradient/Sequential_out.bias: [1, 3] []",
    "gradient/Sequential_out.weight: [1, 3] []",
    "relu_output_0: [0, 4, 8] [0, 2, 4]",
]
# As write_configuration.py writes it.
CONFIGURATION = {
    "S3OutputPath": None,
    "HookParameters": {"save_interval": "4", "eval.save_interval": "2"},
    "CollectionConfigurations": [
        {"CollectionName": "weights", "CollectionParameters": {"reductions": "mean,max"}},
        {
            "CollectionName": "gradients",
            "CollectionParameters": {"save_steps": "1,3", "end_step": "0"},
        },
        {
            "CollectionName": "activations",
            "CollectionParameters": {"include_regex": ".*relu_output"},
        },
    ],
}


@pytest.fixture(autouse=True)
def _outside_of_a_job(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("SMDEBUG_", "AWS_")) or name.endswith("_CONFIG_FILE_PATH"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)


def run(words, cwd, **variables):
    """Runs a command with the programs of this environment first on its path."""
    folder = pathlib.Path(sys.executable).parent
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        env={
            **os.environ,
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
            **variables,
        },
    )


def run_sdk(environment, script, *arguments, cwd):
    """Runs a script in an environment of the SDK, without a network, and returns its output."""
    python = ROOT / ".venv" / environment / "bin/python"
    if not python.exists():
        pytest.skip(f"{python} does not exist: run tools/venv {environment}")
    nowhere = "http://127.0.0.1:9"
    done = run(
        [python, "-W", "ignore", script, *arguments],
        cwd,
        PYTHONPATH="",
        HTTP_PROXY=nowhere,
        HTTPS_PROXY=nowhere,
        AWS_EC2_METADATA_DISABLED="true",
        SAGEMAKER_SUPPRESS_V2_WARNING="1",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_example(environment, name, *arguments, cwd):
    """Runs an example in an environment of the SDK, with the import of its version."""
    text = (EXAMPLES / name).read_text()
    assert text.count("from sagemaker.debugger import") == 1
    script = cwd / f"{environment}_{name}"
    script.write_text(text.replace("sagemaker.debugger", MODULES[environment]))
    return run_sdk(environment, script, *arguments, cwd=cwd)


@functools.cache
def text_of_requests(environment):
    """The requests of one version of the SDK, those of sdk_requests.py, as JSON."""
    script = pathlib.Path(__file__).with_name("sdk_requests.py")
    return run_sdk(environment, script, MODULES[environment], cwd=ROOT).splitlines()[-1]


@pytest.fixture(params=MODULES)
def requests(request):
    """The requests of each version of the SDK."""
    return json.loads(text_of_requests(request.param))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run that train.py has written."""
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "debughookconfig.json"
    path.write_text(json.dumps({**CONFIGURATION, "LocalPath": str(folder / "run")}))
    done = run([sys.executable, EXAMPLES / "train.py"], folder, SMDEBUG_CONFIG_FILE_PATH=str(path))
    assert done.returncode == 0, done.stderr
    return folder / "run"


class Mails:
    """A server that keeps the mails that it receives."""

    def __init__(self):
        self.recipients = []

    async def handle_DATA(self, server, session, envelope):
        self.recipients += envelope.rcpt_tos
        return "250 OK"


@pytest.fixture
def mails():
    kept = Mails()
    port = free_port()
    server = Controller(kept, hostname="127.0.0.1", port=port)
    server.start()
    kept.url = f"smtp://127.0.0.1:{port}"
    yield kept
    server.stop()


def parsed(request):
    """Our configuration of a hook from a request, which is also the text of the file."""
    return _core.parse_hook_config(
        json.dumps(request),
        "debughookconfig.json",
        _core.pytorch_framework(),
        _core.JobEnvironment.read(),
    )


# --- the page


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_snippets_of_the_page_are_parts_of_files_that_run():
    texts = [path.read_text() for path in EXAMPLES.glob("*.py")]
    assert len(blocks("python")) == 5
    for block in blocks("python"):
        assert any(block in text for text in texts), block


def test_the_page_has_no_command_that_no_test_runs():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert lines == [
        "python write_configuration.py .",
        "SMDEBUG_CONFIG_FILE_PATH=debughookconfig.json python train.py",
        "SMDEBUG_SMTP_URL=smtp://127.0.0.1:2525 python local_rules.py python flat_loss.py",
        "python cloud_rules.py > job.json",
        "SMDEBUG_SMTP_URL=smtp://127.0.0.1:2525 python rules_of_a_job.py job.json run",
    ]
    assert len(re.findall(r"^```\w", PAGE, re.MULTILINE)) == 5 + len(blocks("sh"))
    assert set(re.findall(r"from_sagemaker/(\w+\.py)", PAGE)) | {"flat_loss.py"} == {
        path.name for path in EXAMPLES.glob("*.py")
    }


def test_rules_move_from_the_cloud_with_nothing_but_their_import():
    in_the_cloud = (EXAMPLES / "cloud_rules.py").read_text()
    here = (EXAMPLES / "local_rules.py").read_text()
    (rules,) = re.findall(r"^(from sagemaker.*?^\])", in_the_cloud, re.DOTALL | re.MULTILINE)
    assert rules.replace("sagemaker.debugger", "smdebug.sagemaker") in here


def test_a_training_is_stopped_and_mailed_about_by_the_rules_of_a_script_for_the_cloud(
    tmp_path, mails
):
    for name in ("local_rules.py", "flat_loss.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    line = "python local_rules.py python flat_loss.py"
    done = run(["sh", "-c", line], tmp_path, SMDEBUG_SMTP_URL=mails.url)
    assert done.returncode == 3, done.stderr
    assert "trained to the end" not in done.stdout
    assert mails.recipients == ["ann@example.com"]
    status = json.loads((tmp_path / "judged/rules/LossNotDecreasing.json").read_text())
    assert status["status"] == "IssuesFound"
    other = json.loads((tmp_path / "judged/rules/TensorVariance.json").read_text())
    assert other["status"] == "NoIssuesFound"


def test_a_mail_without_a_server_is_refused_before_the_training_starts(tmp_path):
    for name in ("local_rules.py", "flat_loss.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    done = run(["sh", "-c", "python local_rules.py python flat_loss.py"], tmp_path)
    assert done.returncode == 2
    assert "action email=ann@example.com: set SMDEBUG_SMTP_URL" in done.stderr
    assert not (tmp_path / "judged").exists()


# --- the file of a training container


def test_the_file_of_a_container_has_its_path_and_a_variable_overrides_it(tmp_path, monkeypatch):
    path = "/opt/ml/input/config/debughookconfig.json"
    if os.path.exists(path):
        pytest.skip(f"this machine has {path}")
    with pytest.raises(FileNotFoundError, match=re.escape(path)):
        create_hook_from_json_config(Hook)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**CONFIGURATION, "LocalPath": str(tmp_path / "run")}))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(other))
    assert create_hook_from_json_config(Hook).out_dir == str(tmp_path / "run")


def test_a_script_finds_the_file_of_a_container(tmp_path):
    """In a mount namespace that has this path."""
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]
    mount = "mount -t tmpfs tmpfs /opt; mkdir -p /opt/ml/input/config"
    probe = run([*inside, f"{mount}; exec {sys.executable} -c pass"], tmp_path)
    if probe.returncode:
        pytest.skip(f"no mount namespace: {probe.stderr}")
    path = tmp_path / "written.json"
    path.write_text(json.dumps({**CONFIGURATION, "LocalPath": str(tmp_path / "run")}))
    copy = f"cp {path} /opt/ml/input/config/debughookconfig.json"
    script = f"exec {sys.executable} {EXAMPLES / 'train.py'}"
    done = run([*inside, f"{mount}; {copy}; {script}"], tmp_path)
    assert done.stdout.splitlines() == SAVED, done.stderr


def test_tensorboard_files_go_where_the_container_says(tmp_path, monkeypatch):
    path = tmp_path / "tensorboardoutputconfig.json"
    path.write_text(json.dumps({"S3OutputPath": "s3://bucket/tb", "LocalPath": "/opt/ml/tb"}))
    monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(path))
    assert parsed(CONFIGURATION).config.tensorboard_dir is None
    monkeypatch.setenv("TRAINING_JOB_NAME", "job-1")
    assert parsed(CONFIGURATION).config.tensorboard_dir == "/opt/ml/tb"


# --- requests that are wrong


@pytest.mark.parametrize(
    ("request_", "error", "text"),
    [
        ("VanishingGradient", SMDebugTypeError, "found 'VanishingGradient'"),
        ({"RuleParameters": {}}, SMDebugValueError, "its keys are 'RuleParameters'"),
        (
            {"RuleConfigurationName": "Mine", "RuleParameters": ["a"]},
            SMDebugTypeError,
            r"rule 'Mine': RuleParameters is a dict, found \['a'\]",
        ),
    ],
)
@pytest.mark.parametrize(
    "read", [Rule.from_debugger_rule_config_dict, ProfilerRule.from_profiler_rule_config_dict]
)
def test_a_request_that_is_none_is_refused(read, request_, error, text):
    with pytest.raises(error, match=text):
        read(request_)


def test_a_key_of_a_request_that_is_unknown_is_named(logged):
    rule = Rule.from_debugger_rule_config_dict(
        {"RuleConfigurationName": "Overfit", "Environment": {}, "LocalPath": None}
    )
    assert rule.arguments() == ["--rule", "Overfit"]
    assert len(logged) == 1 and "rule 'Overfit': the key 'Environment'" in logged[0]


def test_an_action_that_does_not_exist_is_named(logged):
    actions = '[{"name": "pager", "endpoint": "x"}, {"name": "stoptraining"}]'
    rule = Rule.from_debugger_rule_config_dict(
        {"RuleConfigurationName": "Overfit", "RuleParameters": {"action_json": actions}}
    )
    assert rule.arguments() == ["--rule", "Overfit", "--action", "stop"]
    assert len(logged) == 1 and "not an action: 'pager'" in logged[0]


def test_a_request_in_place_of_a_configuration_is_refused():
    with pytest.raises(SMDebugTypeError, match="from_debugger_rule_config_dict"):
        Rule.sagemaker({"RuleConfigurationName": "Overfit"})


# --- the SDK


@pytest.mark.long
def test_the_third_version_has_no_module_of_the_old_name(tmp_path):
    with pytest.raises(AssertionError, match="was removed in the SageMaker Python SDK v3"):
        script = tmp_path / "old.py"
        script.write_text("import sagemaker.debugger")
        run_sdk("sagemaker-core", script, cwd=tmp_path)


@pytest.mark.long
def test_both_versions_make_the_same_requests():
    two, three = (json.loads(text_of_requests(name)) for name in MODULES)
    for made in (two, three):
        made.pop("job")
        # The time is part of its name.
        made["profiler_rules"]["DetailedProfilerProcessing"].pop("RuleConfigurationName")
    assert two == three


@pytest.mark.long
@pytest.mark.parametrize("environment", MODULES)
def test_both_libraries_save_what_the_sdk_configures(environment, tmp_path):
    run_example(environment, "write_configuration.py", ".", cwd=tmp_path)
    path = tmp_path / "debughookconfig.json"
    assert json.loads(path.read_text()) == {**CONFIGURATION, "LocalPath": "run"}
    shutil.copy(EXAMPLES / "train.py", tmp_path)
    line = "SMDEBUG_CONFIG_FILE_PATH=debughookconfig.json python train.py"
    done = run(["sh", "-c", line], tmp_path)
    assert done.stdout.splitlines() == SAVED, done.stderr
    if not ORIGINAL.exists():
        pytest.skip(f"{ORIGINAL} does not exist: run tools/venv original")
    (tmp_path / "run").rename(tmp_path / "ours")
    variables = {"PYTHONPATH": "", "SMDEBUG_CONFIG_FILE_PATH": str(path)}
    done = run([ORIGINAL, "train.py"], tmp_path, **variables)
    lines = [line for line in done.stdout.splitlines() if re.match(r"\S+: \[", line)]
    assert lines == SAVED, done.stderr
    assert _read(tmp_path / "run") == _read(tmp_path / "ours")


def _read(path):
    """The mode steps of each tensor of a run, whichever library wrote it."""
    trial = create_trial(str(path))
    return {
        name: [trial.tensor(name).steps(mode=mode) for mode in (modes.TRAIN, modes.EVAL)]
        for name in trial.tensor_names()
    }


@pytest.mark.long
def test_the_hook_takes_every_key_that_the_sdk_documents(requests):
    request = requests["hook"]
    assert set(request) == {
        "S3OutputPath",
        "LocalPath",
        "HookParameters",
        "CollectionConfigurations",
    }
    file = parsed(request)
    assert file.warnings == []
    assert file.config.out_dir == "/opt/ml/output/tensors"
    assert file.config.include_collections == ["weights", "gradients", "mine"]
    # sdk_requests.py adds the number of the mode to each value; the key without a mode is 0.
    expected = {
        mode: {
            "save_interval": 3 + number,
            "start_step": 20 + number,
            "end_step": 40 + number,
            "save_steps": [60 + number, 70 + number],
        }
        for number, mode in enumerate(("TRAIN", "EVAL", "PREDICT", "GLOBAL"), start=1)
    }
    assert file.config.save_config.to_json_dict() == expected
    weights, gradients, mine = file.config.collections
    assert weights.save_config is None and gradients.save_config is None
    assert mine.save_config.to_json_dict() == expected
    assert mine.include_regex == ["relu", "tanh"]
    assert mine.save_histogram is False
    assert mine.reduction_config.reductions == [
        *("min", "max", "median", "mean", "std", "variance", "sum", "prod")
    ]


@pytest.mark.long
def test_each_key_of_the_sdk_acts_by_itself(requests):
    """Also without the keys of the modes, which override it."""
    parameters = requests["hook"]["CollectionConfigurations"][2]["CollectionParameters"]
    assert len(parameters) == 23
    for key, value in parameters.items():
        entry = {"CollectionName": "mine", "CollectionParameters": {key: value}}
        file = parsed({"CollectionConfigurations": [entry]})
        assert file.warnings == []
        (mine,) = file.config.collections
        if key in ("include_regex", "save_histogram", "reductions"):
            assert mine.save_config is None
            found = {
                "include_regex": mine.include_regex == ["relu", "tanh"],
                "save_histogram": not mine.save_histogram,
                "reductions": mine.reduction_config is not None,
            }
            assert [name for name, acts in found.items() if acts] == [key]
            continue
        mode, _, name = key.rpartition(".")
        wanted = [int(part) for part in value.split(",")]
        for each, steps in mine.save_config.to_json_dict().items():
            default = {"save_interval": 500, "start_step": 0, "end_step": None, "save_steps": []}
            if mode in ("", each.lower()):
                default[name] = wanted if name == "save_steps" else wanted[0]
            assert steps == default, key


@pytest.mark.long
def test_the_hook_takes_a_request_without_settings(requests):
    assert requests["default_hook"] == {"S3OutputPath": None}
    file = parsed(requests["default_hook"])
    assert file.warnings == []
    assert file.config.out_dir == "/opt/ml/output/tensors"
    assert (file.config.save_config, file.config.collections) == (None, [])


@pytest.mark.long
def test_the_hook_names_parameters_that_only_the_reference_of_the_api_lists(requests):
    file = parsed(requests["hook_by_the_api"])
    (mine,) = file.config.collections
    assert (mine.include_regex, mine.save_histogram) == (["relu"], True)
    named = [re.findall(r'"(\w+)" is unknown here and ignored', text) for text in file.warnings]
    assert named == [["name"], ["reduction_config"], ["save_config"], ["tensor_names"]]


@pytest.mark.long
def test_tensorboard_files_go_where_the_sdk_says(requests, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINING_JOB_NAME", "job-1")
    path = tmp_path / "tensorboardoutputconfig.json"
    monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(path))
    path.write_text(json.dumps(requests["tensorboard"]))
    assert parsed(requests["hook"]).config.tensorboard_dir == "/opt/ml/output/tb"
    assert requests["default_tensorboard"] == {"S3OutputPath": "s3://bucket/tb"}
    path.write_text(json.dumps(requests["default_tensorboard"]))
    assert parsed(requests["hook"]).config.tensorboard_dir == "/opt/ml/output/tensorboard"


@pytest.mark.long
def test_every_built_in_rule_of_the_sdk_is_a_rule_of_ours(requests):
    names = set(rule_configs.__all__) - {"get_collection"}
    assert set(requests["debug_rules"]) == names and len(names) == 21
    ours = {rule["name"] for rule in _core.builtin_rules()}
    for name, made in requests["debug_rules"].items():
        assert made["base_config"] == getattr(rule_configs, name)()
        assert Rule.sagemaker(made["base_config"]).collection_configs == made["collections"]
        rule = Rule.from_debugger_rule_config_dict(made["request"])
        assert rule.to_debugger_rule_config_dict() == made["request"]
        assert rule.name in ours
        assert rule.arguments() == ["--rule", rule.name]
        file = parsed({"CollectionConfigurations": made["collections"]})
        assert file.warnings == []


@pytest.mark.long
def test_a_script_finds_the_names_and_arguments_of_the_sdk(requests):
    of_the_sdk_itself = {"is_valid_action_object"}
    missing = {name for name in requests["names"] if not hasattr(rule_configs, name)}
    assert len(requests["names"]) > 35 and missing == of_the_sdk_itself
    for method, parameters in requests["methods"].items():
        kind, _, name = method.partition(".")
        ours = getattr({"Rule": Rule, "ProfilerRule": ProfilerRule}[kind], name)
        assert list(inspect.signature(ours).parameters) == parameters


@pytest.mark.long
def test_every_documented_parameter_of_a_rule_is_known(requests, recorded, tmp_path):
    """All rules judge one run, with the parameters that the documentation of the cloud lists."""
    options, expected = [], []
    for name, made in sorted(requests["debug_rules"].items()):
        given = made["request_with_parameters"]
        if name == "similar_across_runs":
            assert given["RuleParameters"]["other_trial_0"] == "/other/run"
            given["RuleParameters"]["other_trial_0"] = str(recorded)
            made["parameters"]["other_trial_0"] = str(recorded)
        options += Rule.from_debugger_rule_config_dict(given).arguments()
        expected.append((given["RuleConfigurationName"], made["parameters"]))
    assert sum(len(parameters) for _, parameters in expected) == 81
    done = run(["smdebug", "check", recorded, *options, "--json"], tmp_path)
    # Some rules find nothing to judge, such as those of XGBoost.
    assert done.returncode == 1 and done.stderr == ""
    verdicts = json.loads(done.stdout)[0]["verdicts"]
    for verdict in verdicts:
        is_judged = verdict["status"] == "NoIssuesFound"
        assert is_judged or verdict["message"].startswith("nothing to judge: "), verdict
    assert sorted(verdict["rule"] for verdict in verdicts) == sorted(name for name, _ in expected)
    found = {verdict["rule"]: verdict["parameters"] for verdict in verdicts}
    for name, parameters in expected:
        assert found[name] == parameters, name


@pytest.mark.long
def test_a_parameter_that_a_rule_does_not_have_is_named(requests, recorded, tmp_path):
    request = requests["debug_rules"]["vanishing_gradient"]["request"]
    request["RuleParameters"]["base_trial"] = "s3://bucket/run"
    options = Rule.from_debugger_rule_config_dict(request).arguments()
    done = run(["smdebug", "check", recorded, *options], tmp_path)
    assert done.returncode == 2
    assert "rule VanishingGradient has no parameter 'base_trial'" in done.stderr


@pytest.mark.long
def test_the_threshold_of_a_request_decides(requests, recorded, tmp_path):
    request = requests["debug_rules"]["vanishing_gradient"]["request"]
    for threshold, code in (("1e-30", 0), ("1e6", 3)):
        request["RuleParameters"]["threshold"] = threshold
        options = Rule.from_debugger_rule_config_dict(request).arguments()
        assert run(["smdebug", "check", recorded, *options], tmp_path).returncode == code


@pytest.mark.long
def test_every_key_of_a_rule_is_read(requests, recorded, tmp_path):
    request = requests["every_key_of_a_rule"]
    rule = Rule.from_debugger_rule_config_dict(request)
    assert vars(rule) == {
        "name": "Mine",
        "rule_parameters": request["RuleParameters"],
        "image_uri": "image",
        "instance_type": "ml.t3.medium",
        "volume_size_in_gb": 30,
        "container_local_output_path": "/opt/ml/processing/output/rule",
        "s3_output_path": "s3://bucket/rule",
        "collection_configs": [],
        "actions": None,
    }
    assert rule.to_debugger_rule_config_dict() == request
    assert rule.arguments() == [
        *("--rule", "rules.py:MyRule", "--set", "other_trial_0=s3://bucket/a"),
        *("--set", "other_trial_1=s3://bucket/b", "--set", "threshold=2"),
    ]
    request["RuleParameters"]["source_s3_uri"] = "s3://bucket/rules.py"
    options = Rule.from_debugger_rule_config_dict(request).arguments()
    done = run(["smdebug", "check", recorded, *options], tmp_path)
    assert done.returncode == 2
    assert "the rule's file 's3://bucket/rules.py' does not exist" in done.stderr


@pytest.mark.long
def test_every_action_of_the_sdk_is_performed_or_named(requests, logged):
    options = {
        name: Rule.from_debugger_rule_config_dict(request).arguments()[2:]
        for name, request in requests["actions"].items()
    }
    stop, mail, text = "stop", "email=ann@example.com", "sms=+4912345"
    assert options == {
        "StopTraining": ["--action", stop],
        "StopTraining with a prefix": ["--action", stop],
        "Email": ["--action", mail],
        "SMS": ["--action", text],
        "ActionList": ["--action", stop, "--action", mail, "--action", text],
    }
    prefixes = [re.findall(r"the job prefix '([\w-]+)' is ignored", text) for text in logged]
    assert prefixes == [["job-1"], ["prefix"], ["job-1"]]


@pytest.mark.long
def test_every_profiler_rule_of_the_sdk_is_read_and_refused_by_name(requests):
    made = requests["profiler_rules"]
    rules = set(made) - {"a report with a parameter", "a custom rule"}
    ours = set(profiler_configs.__all__) - {"InvalidProfilerRule"}
    assert rules == ours | {"DetailedProfilerProcessing"} and len(rules) == 12
    for request in made.values():
        rule = ProfilerRule.from_profiler_rule_config_dict(request)
        assert rule.to_profiler_rule_config_dict() == request
        with pytest.raises(SMDebugNotImplementedError, match=f"'{rule.name}' cannot run"):
            rule.arguments()
    for name in ours - {"ProfilerReport"}:
        config = getattr(rule_configs, name)()
        ours_made = ProfilerRule.sagemaker(config).to_profiler_rule_config_dict()
        assert ours_made == {
            key: value for key, value in made[name].items() if key != "RuleEvaluatorImage"
        }


@pytest.mark.long
def test_the_request_of_a_whole_job_is_read(requests):
    """That of an Estimator (version 2), or of classes named after the API (version 3)."""
    job = requests["job"]
    file = parsed(job["DebugHookConfig"])
    assert file.warnings == []
    rules = [Rule.from_debugger_rule_config_dict(x) for x in job["DebugRuleConfigurations"]]
    for rule, request in zip(rules, job["DebugRuleConfigurations"], strict=True):
        assert rule.to_debugger_rule_config_dict() == request
    for request in job["ProfilerRuleConfigurations"]:
        rule = ProfilerRule.from_profiler_rule_config_dict(request)
        assert rule.to_profiler_rule_config_dict() == request
    intervals = {
        collection.name: (collection.save_config or file.config.save_config).to_json_dict()[
            "TRAIN"
        ]["save_interval"]
        for collection in file.config.collections
    }
    if len(rules) == 1:
        assert intervals == {"weights": 2}
        assert rules[0].arguments() == ["--rule", "VanishingGradient", "--set", "threshold=0.1"]
    else:
        assert intervals == {"weights": 5, "gradients": 500, "relu_output": 500}
        assert [rule.arguments() for rule in rules] == [
            ["--rule", "VanishingGradient", "--action", "stop"],
            ["--rule", "DeadRelu"],
        ]


@pytest.mark.long
@pytest.mark.parametrize("environment", MODULES)
def test_a_run_is_judged_with_the_rules_of_a_job(environment, recorded, tmp_path, mails):
    output = run_example(environment, "cloud_rules.py", cwd=tmp_path)
    job = json.loads(output.splitlines()[-1])
    (tmp_path / "job.json").write_text(json.dumps(job))
    shutil.copy(EXAMPLES / "rules_of_a_job.py", tmp_path)
    shutil.copytree(recorded, tmp_path / "run", ignore=shutil.ignore_patterns("rules"))
    line = "python rules_of_a_job.py job.json run"
    done = run(["sh", "-c", line], tmp_path, SMDEBUG_SMTP_URL=mails.url)
    assert done.returncode in (0, 3), done.stderr
    rows = dict(re.findall(r"^run +(\w+) +(\w+)", done.stdout, re.MULTILINE))
    losses = _losses(tmp_path / "run")
    # LossNotDecreasing at default limits, by hand: steps 0, 4 and 8, at least 5 apart.
    falls = (losses[0] - losses[8]) / losses[0] * 100
    fires = falls < 0.1 if losses[8] <= losses[0] else -falls > 5
    assert rows["LossNotDecreasing"] == ("IssuesFound" if fires else "NoIssuesFound")
    assert rows["TensorVariance"] == "NoIssuesFound"
    assert mails.recipients == (["ann@example.com"] if fires else [])


def _losses(path):
    tensor = create_trial(str(path)).tensor("CrossEntropyLoss_output_0")
    return {
        step: float(tensor.value(step, mode=modes.TRAIN)) for step in tensor.steps(mode=modes.TRAIN)
    }
