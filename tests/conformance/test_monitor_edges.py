"""Every edge that judges a run gives the verdict of `smdebug check` on the same run: `watch`,
`run`, `builtin`, a hook with `rules`, and the callback of a trainer, for every built-in rule.
"""

import json
import shutil
import subprocess
import sys

import judged_training as program
import pytest
import torch

import smdebug.pytorch as smd
from smdebug import _core
from smdebug.rules import builtin
from smdebug.trials import create_trial

torch.set_num_threads(1)

# The rules that cannot judge inside a step as they judge a run, each with its reason.
NOT_IN_THE_STEP = {
    "StalledTrainingRule": "a hook refuses it: a training that stalls does not call its rules",
    "ReplicasDiffer": "a hook's rules see the steps of one worker",
    "CreateXgboostReport": "the report is written when the run has ended",
}
KEYS = ("status", "step", "message", "cause", "advice", "evidence", "observations_judged")


def command(*words):
    """(exit code, what `smdebug` with --json prints)."""
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in (0, 1, 3), done.stderr
    return done.returncode, done.stdout


def given(reference):
    return {
        rule: {name: text.format(reference=reference) for name, text in parameters.items()}
        for rule, parameters in program.RULES.items()
    }


def options(rules):
    words = []
    for rule, parameters in rules.items():
        words += ["--rule", rule]
        for name, text in parameters.items():
            words += ["--set", f"{name}={text}"]
    return words


def by_rule(verdicts):
    return {
        verdict["rule"]: {key: verdict[key] for key in KEYS if key in verdict}
        for verdict in verdicts
    }


def hook_options():
    return {"save_all": True, "save_config": smd.SaveConfig(save_interval=1)}


def record_with_hook(out_dir, is_sick, rules=None):
    """The verdicts of the hook's rules."""
    training = program.Training(is_sick)
    with smd.Hook(out_dir, rules=rules, **hook_options()) as hook:
        hook.register_module(training.model)
        hook.register_loss(training.loss)
        for number in range(program.STEPS):
            hook.set_mode(smd.modes.TRAIN)
            training.step(number, hook.save_tensor)
            if number % 3 == 2:
                hook.set_mode(smd.modes.EVAL)
                training.evaluate(number, hook.save_tensor)
    return hook.verdicts()


def record_with_callback(out_dir, is_sick, rules):
    from ignite.engine import Engine

    from smdebug.pytorch.ignite import SMDebugHandler

    training = program.Training(is_sick)
    handler = SMDebugHandler(out_dir, rules=rules, stop=False, **hook_options())
    handler.hook.register_loss(training.loss)

    def update(engine, number):
        training.step(number, handler.hook.save_tensor)

    trainer = Engine(update)
    handler.attach(trainer, training.model)
    trainer.run(range(program.STEPS), max_epochs=1)
    handler.close()
    return handler.hook.verdicts()


@pytest.fixture(scope="module", params=["healthy", "sick"])
def runs(request, tmp_path_factory):
    """The same training, recorded and judged through each edge."""
    folder = tmp_path_factory.mktemp(request.param)
    is_sick = request.param == "sick"
    record_with_hook(str(folder / "reference"), False)
    rules = given(folder / "reference")
    record_with_hook(str(folder / "run"), is_sick)
    code, out = command("check", folder / "run", "--json", *options(rules))
    [checked] = json.loads(out)
    assert {each["rule"] for each in checked["verdicts"]} == set(rules)
    return folder, is_sick, rules, by_rule(checked["verdicts"]), code


def checked(run, rules):
    _, out = command("check", run, "--json", *options(rules))
    return by_rule(json.loads(out)[0]["verdicts"])


def test_the_suite_names_every_rule():
    assert {rule["name"] for rule in _core.builtin_rules()} == set(program.RULES)


def test_the_two_trainings_tell_the_rules_apart(runs):
    _, is_sick, _, verdicts, code = runs
    fired = {rule for rule, verdict in verdicts.items() if verdict["status"] == "IssuesFound"}
    judged = {rule for rule, verdict in verdicts.items() if verdict["status"] != "Error"}
    # One worker has no replicas, an ended run does not say when its steps came, twelve updates are
    # too few for a learning rate, and the training has no normalization, no sequences, no float16,
    # no gradient scaler and no scheduler of learning rates.
    not_judged = {
        *("ReplicasDiffer", "StalledTrainingRule", "LearningRate", "MixedPrecision"),
        *("NormalizationTrouble", "MixedSamples", "ShortLivedOptimizers", "SchedulerNotStepped"),
        "WatchedMetric",
    }
    assert set(verdicts) - judged == not_judged
    if is_sick:
        # All labels of the sick training are of one class, so its losses are low from the start.
        # Each of its backward passes has an update.
        quiet = {"CreateXgboostReport", "InitialLoss", "NoGeneralization", "Overfit"}
        quiet |= {"GradientsDiscarded"}
        assert judged - fired <= quiet, judged - fired
        assert code == 3
    else:
        assert not fired
        assert code == 1  # a rule that was asked for had nothing to judge


def test_watch_gives_the_verdicts_and_the_exit_code_of_check(runs):
    folder, _, rules, verdicts, code = runs
    shutil.copytree(folder / "run", folder / "watched")
    watched_code, out = command("watch", folder / "watched", "--json", *options(rules))
    watched = by_rule(json.loads(out)[0]["verdicts"])
    del watched["StalledTrainingRule"], verdicts["StalledTrainingRule"]
    assert watched == verdicts
    # Of a run that it watches the rule about time knows the time.
    assert watched_code == code
    statuses = {path.stem for path in (folder / "watched/rules").glob("*.json")}
    assert statuses == set(rules)


@pytest.mark.parametrize("rule", program.RULES)
def test_builtin_gives_the_verdict_of_check(runs, rule):
    folder, _, rules, _, _ = runs
    # What a rule says of tensors that were not there names the ones that all rules asked for.
    alone = checked(folder / "run", {rule: rules[rule]})
    trial = create_trial(str(folder / "run"), timeout=5)
    verdict = builtin(rule, trial, **rules[rule]).judge()
    assert by_rule([verdict]) == alone


def test_builtin_writes_the_report_that_check_writes(runs):
    folder, _, rules, _, _ = runs
    written = {}
    for name in ("checked", "built_in"):
        shutil.copytree(folder / "run", folder / name, ignore=shutil.ignore_patterns("rule-output"))
    command("check", folder / "checked", "--rule", "CreateXgboostReport")
    trial = create_trial(str(folder / "built_in"), timeout=5)
    builtin("CreateXgboostReport", trial).judge()
    for name in ("checked", "built_in"):
        root = folder / name / "rule-output"
        written[name] = sorted(path.relative_to(root) for path in root.rglob("*.*"))
    assert written["checked"] == written["built_in"] and len(written["checked"]) == 2


def test_a_hook_with_rules_gives_the_verdicts_of_check(runs):
    folder, is_sick, rules, _, _ = runs
    inside = {rule: rules[rule] for rule in rules if rule not in NOT_IN_THE_STEP}
    run = folder / "live"
    verdicts = by_rule(record_with_hook(str(run), is_sick, list(inside.items())))
    expected = checked(run, inside)
    for rule in inside:  # inside the step a rule goes on judging after it has fired
        if expected[rule]["status"] == "IssuesFound":
            del expected[rule]["observations_judged"], verdicts[rule]["observations_judged"]
    assert verdicts == expected
    statuses = {path.stem for path in (run / "rules").glob("*.json")}
    assert statuses == set(inside)


def test_a_trainer_callback_gives_the_verdicts_of_check(runs):
    pytest.importorskip("ignite")
    folder, is_sick, rules, _, _ = runs
    run = folder / "callback"
    inside = {rule: rules[rule] for rule in rules if rule != "StalledTrainingRule"}
    verdicts = by_rule(record_with_callback(str(run), is_sick, list(inside.items())))
    assert verdicts == checked(run, inside)
    statuses = {path.stem for path in (run / "rules").glob("*.json")}
    assert statuses == set(inside)


def test_run_gives_the_verdicts_of_check(runs):
    folder, is_sick, rules, _, _ = runs
    run = folder / "launched"
    script = [sys.executable, program.__file__, "sick" if is_sick else "healthy"]
    code, out = command("run", "--json", "--out", run, *options(rules), "--", *script)
    launched = by_rule(json.loads(out)["verdicts"])
    after = checked(run, rules)
    for rule in ("StalledTrainingRule",):  # while it runs, the rule knows the time
        del launched[rule], after[rule]
    assert launched == after
    assert code == (3 if is_sick else 1)
