"""Built-in rules over small trainings with a planted fault, each beside a healthy twin."""

import json
import pathlib
import re
import shutil

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import read, run_script
from smdebug import _core
from smdebug.exceptions import (
    NoMoreData,
    RuleEvaluationConditionMet,
    SMDebugError,
    SMDebugValueError,
    StepUnavailable,
)
from smdebug.rules import builtin, invoke_rule

FEATURES = 6
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Perceptron(torch.nn.Module):
    """Three linear layers with an activation between them, under names or in a Sequential."""

    def __init__(self, kind="relu"):
        super().__init__()
        activation = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid}
        self.fc1 = torch.nn.Linear(FEATURES, 16)
        self.add_module(f"{kind}1", activation[kind]())
        self.fc2 = torch.nn.Linear(16, 16)
        self.add_module(f"{kind}2", activation[kind]())
        self.fc3 = torch.nn.Linear(16, 3)

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x


def perceptron(kind="relu", fault=None):
    """A model from a fixed seed, then spoilt by `fault(model)`."""
    torch.manual_seed(1)
    model = Perceptron(kind)
    if fault:
        with torch.no_grad():
            fault(model)
    return model


def record(
    out_dir,
    model,
    *,
    steps=6,
    lr=0.05,
    scale=1.0,
    collections=None,
    save_interval=1,
    with_loss=True,
):
    """Trains on one fixed batch and saves everything, or `collections`, at every step."""
    options = {"include_collections": collections} if collections else {"save_all": True}
    config = smd.SaveConfig(save_interval=save_interval)
    torch.manual_seed(2)
    inputs, labels = scale * torch.randn(32, FEATURES), torch.randint(0, 3, (32,))
    loss = torch.nn.CrossEntropyLoss()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=lr)
    with smd.Hook(out_dir, save_config=config, **options) as hook:
        for name in collections or []:
            hook.get_collection(name)
        hook.register_module(model)
        if with_loss:
            hook.register_loss(loss)
        for _ in range(steps):
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()
    return out_dir


def run_command(*words):
    """The command line, without what it can ask of Python."""
    return _core.run_command_line(list(words), *[lambda *_: None] * 3)


@pytest.fixture
def check(capfd):
    """What `smdebug check --json` says of a run by one rule."""

    def run(out_dir, rule, *settings):
        options = [word for setting in settings for word in ("--set", setting)]
        code = run_command("check", "--json", out_dir, "--rule", rule, *options)
        said = capfd.readouterr()
        assert code in (0, 3), said.err
        [judged] = json.loads(said.out)
        [verdict] = judged["verdicts"]
        assert (code == 3) == (verdict["status"] == "IssuesFound")
        return verdict

    return run


def dead(model):
    model.fc1.bias[:12] = -100.0


def test_a_dead_relu_is_found_with_the_share_of_its_units(out_dir, check):
    record(out_dir, perceptron(fault=dead))
    verdict = check(out_dir, "DeadRelu")
    assert verdict["status"] == "IssuesFound"
    outputs = read(out_dir).tensor("relu1_output_0").value(0)
    share = 100 * np.mean(np.mean(outputs > 0, axis=0) < 0.01)
    assert verdict["evidence"][0]["tensor"] == "relu1_output_0"
    assert verdict["evidence"][0]["value"] == pytest.approx(share) and share >= 75
    assert "of layer relu1" in verdict["message"]
    assert check(out_dir, "dead_relu", "threshold_layer=99")["status"] == "NoIssuesFound"


def test_one_rule_asked_twice_is_told_apart_by_what_it_was_given(out_dir, capfd):
    record(out_dir, perceptron(fault=dead))
    asked = ["--rule", "DeadRelu", "--set", "threshold_layer=99", "--rule", "DeadRelu"]
    assert run_command("check", "--json", out_dir, *asked) == 3
    [judged] = json.loads(capfd.readouterr().out)
    said = [(verdict["parameters"], verdict["status"]) for verdict in judged["verdicts"]]
    assert said == [({}, "IssuesFound"), ({"threshold_layer": "99"}, "NoIssuesFound")]
    assert run_command("check", out_dir, *asked) == 3
    assert "DeadRelu (threshold_layer=99)  NoIssuesFound" in capfd.readouterr().out


def test_a_living_relu_is_let_pass(out_dir, check):
    record(out_dir, perceptron())
    verdict = check(out_dir, "DeadRelu")
    assert verdict["status"] == "NoIssuesFound"
    assert verdict["observations_judged"] == 2 * 6


def test_a_relu_in_a_sequential_is_found_by_its_kind(out_dir, check):
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
    )
    with torch.no_grad():
        model[0].bias[:] = -100.0
    record(out_dir, model, collections=["relu_output", "relu_input"])
    trial = read(out_dir)
    assert trial.tensor_names(collection="relu_output") == ["1_output_0"]
    assert trial.tensor_names(collection="relu_input") == ["1_input_0"]
    assert check(out_dir, "DeadRelu")["evidence"][0]["tensor"] == "1_output_0"


def test_a_collection_that_names_tensors_itself_is_left_alone(out_dir):
    model = perceptron()
    with smd.Hook(out_dir, include_collections=["relu_output"]) as hook:
        hook.get_collection("relu_output").include("relu2_output")
        hook.register_module(model)
        model(torch.randn(4, FEATURES))
    assert read(out_dir).tensor_names(collection="relu_output") == ["relu2_output_0"]


def test_a_model_without_the_activation_saves_the_rest(out_dir):
    record(out_dir, torch.nn.Linear(FEATURES, 3), collections=["tanh_input", "losses"])
    assert read(out_dir).tensor_names() == ["CrossEntropyLoss_output_0"]


@pytest.mark.parametrize("kind", ["tanh", "sigmoid"])
def test_saturated_units_are_found_where_inputs_are_far_too_large(out_dir, check, kind):
    record(out_dir, perceptron(kind), scale=1e6, lr=1e-6)
    verdict = check(out_dir, "SaturatedActivation")
    assert verdict["status"] == "IssuesFound"
    taken = read(out_dir).tensor(f"{kind}1_input_0").value(0)
    low, high = {"tanh": (-9.4999, 9.4999), "sigmoid": (-23, 16.99999)}[kind]
    share = 100 * np.mean(np.mean((taken > low) & (taken < high), axis=0) < 0.01)
    assert verdict["evidence"][0]["value"] == pytest.approx(share) and share > 50
    assert verdict["evidence"][0]["tensor"] == f"{kind}1_input_0"


@pytest.mark.parametrize("kind", ["tanh", "sigmoid"])
def test_units_in_range_are_let_pass(out_dir, check, kind):
    record(out_dir, perceptron(kind))
    assert check(out_dir, "SaturatedActivation")["status"] == "NoIssuesFound"


def freeze(model):
    model.fc2.requires_grad_(False)


def test_a_frozen_layer_is_found_unchanged(out_dir, check):
    record(out_dir, perceptron(fault=freeze))
    verdict = check(out_dir, "UnchangedTensor", "collection_names=weights,biases")
    assert verdict["status"] == "IssuesFound" and verdict["step"]["global"] == 2
    assert {e["tensor"] for e in verdict["evidence"]} == {
        "Perceptron_fc2.weight",
        "Perceptron_fc2.bias",
    }
    assert all(e["value"] == 0 for e in verdict["evidence"])


def test_layers_that_learn_are_not_unchanged(out_dir, check):
    record(out_dir, perceptron())
    verdict = check(out_dir, "UnchangedTensor", "collection_names=weights,biases")
    assert verdict["status"] == "NoIssuesFound"
    values = read(out_dir).tensor("Perceptron_fc2.weight")
    assert not np.allclose(values.value(2), values.value(1))


def test_updates_as_large_as_the_weights_are_found(out_dir, check):
    record(out_dir, perceptron(), lr=1000.0, steps=3)
    verdict = check(out_dir, "WeightUpdateRatio")
    assert verdict["status"] == "IssuesFound"
    worst = verdict["evidence"][0]
    weight = read(out_dir).tensor(worst["tensor"])
    before, after = (weight.value(step).astype(np.float64) for step in (0, 1))
    ratio = np.linalg.norm(after - before) / (np.linalg.norm(before) + 1e-9)
    assert worst["value"] == pytest.approx(ratio, rel=1e-12) and ratio > 10


def test_updates_of_next_to_nothing_are_found(out_dir, check):
    record(out_dir, perceptron(), lr=0.0)
    verdict = check(out_dir, "WeightUpdateRatio")
    assert verdict["status"] == "IssuesFound"
    assert verdict["evidence"][0]["relation"] == "<"


def test_healthy_updates_pass_and_a_frozen_layer_beside_them(out_dir, check):
    record(out_dir, perceptron(fault=freeze))
    verdict = check(out_dir, "WeightUpdateRatio")
    assert verdict["status"] == "NoIssuesFound"
    assert "Perceptron_fc2.weight" in verdict["message"]
    verdict = check(out_dir, "WeightUpdateRatio", "skip_frozen=false")
    assert verdict["evidence"][0]["tensor"] == "Perceptron_fc2.weight"


def he(model):
    for layer in (model.fc1, model.fc2, model.fc3):
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        layer.bias.zero_()


def lopsided(model):
    he(model)
    model.fc2.weight.mul_(100)


def constant(model):
    for parameter in model.parameters():
        parameter.zero_()


def test_layers_of_very_different_size_are_found(out_dir, check):
    record(out_dir, perceptron(fault=lopsided), lr=1e-6)
    verdict = check(out_dir, "PoorWeightInitialization")
    assert verdict["status"] == "IssuesFound" and verdict["step"]["global"] == 0
    trial = read(out_dir)
    variances = [
        trial.tensor(name).value(0).astype(np.float64).var()
        for name in ("relu1_input_0", "relu2_input_0")
    ]
    worst = verdict["evidence"][0]
    assert worst["tensor"] == "relu2_input_0"
    assert worst["value"] == pytest.approx(variances[1] / variances[0], rel=1e-9)


def test_constant_weights_are_found_by_their_gradients(out_dir, check):
    record(out_dir, perceptron(fault=constant))
    verdict = check(out_dir, "PoorWeightInitialization")
    worst = verdict["evidence"][0]
    assert worst["quantity"] == "p95 - p5" and worst["tensor"].startswith("gradient/")
    gradient = read(out_dir).tensor(worst["tensor"]).value(0)
    low, high = np.percentile(gradient.astype(np.float64), [5, 95])
    assert worst["value"] == pytest.approx(high - low)


def test_a_loss_that_does_not_move_is_found_early(out_dir, check):
    record(out_dir, perceptron(fault=he), lr=0.0, steps=8)
    verdict = check(out_dir, "PoorWeightInitialization")
    assert verdict["step"]["global"] == 5
    assert verdict["evidence"][0]["tensor"] == "CrossEntropyLoss_output_0"


def test_a_good_initialization_passes_all_three_checks(out_dir, check):
    record(out_dir, perceptron(fault=he), steps=12)
    verdict = check(out_dir, "PoorWeightInitialization")
    assert verdict["status"] == "NoIssuesFound"
    assert "not judged" not in verdict["message"]


def test_a_missing_loss_is_named_where_nothing_was_found(out_dir, check):
    record(out_dir, perceptron(fault=he), with_loss=False)
    verdict = check(out_dir, "PoorWeightInitialization")
    assert verdict["status"] == "NoIssuesFound"
    assert verdict["message"].endswith("not judged: the loss (none was saved)")


def test_zeros_and_variance_are_judged_by_statistics_alone(out_dir, check):
    model = perceptron(fault=lambda model: model.fc3.weight.zero_())
    with smd.Hook(
        out_dir,
        include_collections=["weights"],
        reduction_config=smd.ReductionConfig(summary=True),
        save_config=smd.SaveConfig(save_interval=1),
    ) as hook:
        hook.register_module(model)
        model(torch.randn(4, FEATURES))
    for rule, settings in (("AllZero", []), ("TensorVariance", ["min_threshold=1e-9"])):
        verdict = check(out_dir, rule, "collection_names=weights", *settings)
        assert [e["tensor"] for e in verdict["evidence"]] == ["Perceptron_fc3.weight"], rule


def test_the_command_saves_what_the_rule_needs_of_an_unmodified_script(tmp_path):
    script = """
        import sys, torch
        from smdebug.cli import main
        if len(sys.argv) > 1 and sys.argv[1] == "train":
            torch.manual_seed(0)
            model = torch.nn.Sequential(
                torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
            with torch.no_grad():
                model[0].bias[:] = -100.0
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(30):
                loss = torch.nn.functional.mse_loss(model(torch.randn(8, 6)), torch.zeros(8, 1))
                optimizer.zero_grad(); loss.backward(); optimizer.step()
        else:
            command = ["run", "--json", "--out", sys.argv[1], "--rule", "DeadRelu", "--"]
            sys.exit(main([*command, sys.executable, __file__, "train"]))
    """
    done = run_script(tmp_path, script, arguments=[tmp_path / "run"], check=False)
    assert done.returncode == 3, done.stderr
    assert "1_output_0: 8 of 8 units of layer 1" in done.stdout


def test_a_built_in_rule_judges_a_trial(out_dir, check):
    trial = read(record(out_dir, perceptron(fault=dead)))
    verdict = builtin("dead_relu", trial).judge()
    assert verdict == check(out_dir, "DeadRelu")
    rule = builtin("DeadRelu", threshold_layer=99.5, tensor_regex=["relu1_out", "relu2_out"])
    assert rule.parameters == {"threshold_layer": "99.5", "tensor_regex": "relu1_out,relu2_out"}
    assert rule.over(trial).judge()["status"] == "NoIssuesFound"
    assert rule.over(trial).judge()["observations_judged"] == 2 * 6


def test_invoke_rule_drives_a_built_in_rule(out_dir):
    trial = read(record(out_dir, perceptron(fault=freeze)))
    rule = builtin("unchanged_tensor", trial, collection_names="weights", num_steps=4)
    assert rule.rule_name == "UnchangedTensor"
    with pytest.raises(RuleEvaluationConditionMet) as met:
        invoke_rule(rule, raise_eval_cond=True)
    assert (met.value.rule_name, met.value.step) == ("UnchangedTensor", 3)
    assert met.value.end_of_rule
    invoke_rule(rule.over(trial), end_step=6)  # ends where the rule has fired
    late = rule.over(trial)
    with pytest.raises(RuleEvaluationConditionMet) as met:
        invoke_rule(late, start_step=2, raise_eval_cond=True)
    assert met.value.step == 5
    healthy = builtin("ExplodingTensor", trial)
    with pytest.raises(NoMoreData):
        invoke_rule(healthy)
    assert healthy.verdict()["status"] == "NoIssuesFound"
    assert healthy.judge()["status"] == "NoIssuesFound"


def test_invoke_rule_reports_that_a_built_in_rule_judged_nothing(out_dir, capfd):
    trial = read(record(out_dir, perceptron()))
    with pytest.raises(NoMoreData):
        invoke_rule(builtin("AllZero", trial, collection_names="typo"))
    assert "rule AllZero: nothing to judge: the run has no collection 'typo'" in (
        capfd.readouterr().err
    )


def test_a_built_in_rule_passes_over_steps_that_were_not_saved(out_dir):
    trial = read(record(out_dir, perceptron(fault=freeze), save_interval=2))
    rule = builtin("unchanged_tensor", trial, collection_names=["weights"], num_steps=2)
    rule.invoke(0)
    with pytest.raises(StepUnavailable):
        rule.invoke(1)
    with pytest.raises(RuleEvaluationConditionMet) as met:
        invoke_rule(rule, start_step=1, raise_eval_cond=True)
    assert met.value.step == 2


def test_mistakes_are_said_when_the_rule_is_made(out_dir):
    with pytest.raises(SMDebugError, match="DeadRelu") as unknown:
        builtin("dead_rely")
    assert unknown.value.code == "not_found"
    with pytest.raises(SMDebugValueError, match="threshold_layer.*101"):
        builtin("dead_relu", threshold_layer=101)
    with pytest.raises(SMDebugValueError, match="collection_names"):
        builtin("all_zero")
    with pytest.raises(SMDebugValueError, match="no trial"):
        builtin("dead_relu").judge()
    assert builtin("dead_relu", threshold_layer=None).parameters == {"threshold_layer": "None"}


def golden_trial(case, tmp_path):
    """A run that the original wrote."""
    folder = ROOT / "tests/golden" / case
    if not folder.exists():
        pytest.skip(f"the run of the original '{case}' is not among tests/golden")
    shutil.copytree(folder / "run", tmp_path / case)
    return read(str(tmp_path / case))


def test_workers_of_the_original_that_differ_are_found(tmp_path):
    trial = golden_trial("workers_two", tmp_path)
    verdict = builtin("ReplicasDiffer", trial).judge()
    step = verdict["step"]["global"]
    worst = verdict["evidence"][0]
    weight = trial.tensor(worst["tensor"])
    first, second = (weight.value(step, worker=f"worker_{rank}") for rank in (0, 1))
    assert worst["worker"] == "worker_1"
    assert worst["value"] == pytest.approx(np.abs(second.astype(float) - first).max(), rel=1e-12)


def test_the_reductions_of_the_original_suffice_for_the_variance(tmp_path):
    trial = golden_trial("pytorch_reductions", tmp_path)
    rule = builtin("TensorVariance", trial, tensor_regex="weight|bias", max_threshold=0)
    found = {each["tensor"]: each["value"] for each in rule.judge()["evidence"]}
    step = trial.steps()[0]
    saved = {name: trial.tensor(name).reduction_value(step, "variance") for name in found}
    assert len(found) >= 6 and found == saved


def test_a_tuned_rule_takes_what_is_given_and_tunes_the_rest(out_dir):
    trial = read(record(out_dir, perceptron()))
    assert "too few" in builtin("VanishingGradient", trial, preset="tuned").judge()["message"]
    # One of six gradients is below this: enough as documented, too few as tuned.
    step = trial.steps()[-1]
    means = sorted(
        np.abs(trial.tensor(name).value(step)).mean()
        for name in trial.tensor_names(collection="gradients")
    )
    rule = {"threshold": (means[0] + means[1]) / 2, "start_step": step, "patience": 0}
    assert builtin("VanishingGradient", trial, **rule).judge()["status"] == "IssuesFound"
    tuned = builtin("VanishingGradient", trial, preset="tuned", **rule)
    assert tuned.judge()["status"] == "NoIssuesFound"
    given = builtin("VanishingGradient", trial, preset="tuned", aggregate="any", **rule)
    assert given.judge()["status"] == "IssuesFound"


def test_an_unknown_preset_is_refused_with_those_that_there_are():
    with pytest.raises(SMDebugValueError, match="'default', 'tuned'.*'best'"):
        builtin("VanishingGradient", preset="best")


def test_a_rule_is_explained_with_both_its_presets(capfd):
    assert run_command("rules", "VanishingGradient") == 0
    [head] = re.findall(r"^ +parameter.*$", capfd.readouterr().out, re.MULTILINE)
    assert head.split() == ["parameter", "type", "default", "tuned"]
    assert run_command("rules", "--json", "VanishingGradient") == 0
    [rule] = json.loads(capfd.readouterr().out)
    tuned = {each["name"]: (each["default"], each["tuned"]) for each in rule["parameters"]}
    assert tuned["aggregate"] == ("any", "fraction:0.3")
    assert tuned["threshold"] == ("1e-7", "1e-7")
    assert tuned["start_step"] == (None, None)
