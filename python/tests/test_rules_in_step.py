"""Rules inside the step: `Hook(rules=[...], on_fire=...)`, with real optimizers."""

import copy
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import smdebug.pytorch as smd
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugTypeError, SMDebugValueError
from smdebug.rules import Rule, builtin
from smdebug.rules.step_monitor import StepMonitor
from smdebug.trials import create_trial

EVERY_STEP = smd.SaveConfig(save_interval=1)


def make_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))


class Training:
    """Some steps of a small net, of which those in `bad_steps` get NaN as input."""

    def __init__(self, optimizer=None, bad_steps=(), hook=None):
        self.net = make_net()
        optimizer = optimizer or (lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.1))
        self.optimizer = optimizer(self.net.parameters())
        self.bad_steps = bad_steps
        self.loss = nn.MSELoss()
        if hook:
            hook.register_module(self.net)
            hook.register_loss(self.loss)

    def state(self):
        return copy.deepcopy((self.net.state_dict(), self.optimizer.state_dict()["state"]))

    def run(self, steps, on_step=lambda step: None):
        random = torch.Generator().manual_seed(1)
        torch.manual_seed(2)
        for step in range(steps):
            x = torch.randn(16, 4, generator=random)
            if step in self.bad_steps:
                x[3, 1] = float("nan")
            self.optimizer.zero_grad()
            self.loss(self.net(x), torch.ones(16, 1)).backward()
            before = self.state()
            self.optimizer.step()
            on_step((step, before, self.state()))
        return self


def same(left, right):
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, tuple):
        return all(map(same, left, right))
    return torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right


def hook_with(out_dir, rules, on_fire="record", **options):
    return smd.Hook(out_dir, save_config=EVERY_STEP, rules=rules, on_fire=on_fire, **options)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1),
        lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.1),
        lambda p: torch.optim.Adam(p, 0.1, amsgrad=True, foreach=True),
    ],
)
def test_a_skipped_step_leaves_parameters_and_state_untouched(out_dir, optimizer):
    hook = hook_with(out_dir, ["ExplodingTensor"], "skip_step")
    moved = []
    training = Training(optimizer, bad_steps=(3, 4, 8), hook=hook)
    training.run(12, lambda seen: moved.append(not same(seen[1], seen[2])))
    hook.close()
    assert [step for step in range(12) if not moved[step]] == [3, 4, 8]
    assert hook.skipped_steps == [3, 4, 8]
    assert all(torch.isfinite(each).all() for each in training.net.parameters())
    (verdict,) = hook.verdicts()
    assert verdict["status"] == "IssuesFound" and verdict["step"]["global"] == 3
    assert hook.status().error is None


def test_a_training_goes_on_as_if_the_skipped_step_had_not_been(out_dir):
    hook = hook_with(out_dir, ["ExplodingTensor"], "skip_step")
    skipped = Training(bad_steps=(3,), hook=hook).run(8)
    hook.close()

    class WithoutTheStep(Training):
        def run(self, steps):
            act = self.optimizer.step
            calls = iter(range(steps))
            self.optimizer.step = lambda: None if next(calls) == 3 else act()
            return super().run(steps)

    assert same(skipped.state(), WithoutTheStep(bad_steps=(3,)).run(8).state())


def test_rules_that_do_not_fire_change_no_bit_of_the_training(out_dir):
    rules = ["ExplodingTensor", ("VanishingGradient", {"threshold": 1e-30}), "DeadRelu"]
    hook = hook_with(out_dir, rules, "skip_step")
    watched = Training(hook=hook).run(10)
    hook.close()
    assert same(watched.state(), Training().run(10).state())
    assert [each["status"] for each in hook.verdicts()] == ["NoIssuesFound"] * 3
    assert [each["steps_judged"] for each in hook.verdicts()] == [10] * 3


def test_the_sample_loses_its_network_only_where_nobody_looks(tmp_path):
    sample = pathlib.Path(__file__).resolve().parents[2] / "examples/digits/skip_nan.py"

    def run(*options):
        command = [sys.executable, sample, tmp_path / "run", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout, float(re.search(r"steps: ([\d.]+)%", done.stdout)[1])

    said, accuracy = run()
    assert "updates skipped: [40]" in said and "NaN" in said
    assert accuracy > 80
    assert run("--unwatched")[1] < 20


def test_a_rule_may_raise_out_of_the_optimizers_step(out_dir):
    hook = hook_with(out_dir, ["ExplodingTensor"], "raise")
    training = Training(bad_steps=(2,), hook=hook)
    states = []
    with pytest.raises(RuleEvaluationConditionMet, match="ExplodingTensor"):
        training.run(5, lambda seen: states.append(seen[2]))
    assert len(states) == 2
    assert same(training.state(), states[-1])
    hook.close()


def test_a_rule_may_end_the_program_before_the_update(out_dir, logged):
    hook = hook_with(out_dir, [builtin("exploding_tensor", only_nan=True)], "stop")
    with pytest.raises(SystemExit) as raised:
        Training(bad_steps=(2,), hook=hook).run(5)
    assert raised.value.code == 3
    hook.close()
    assert any("ExplodingTensor ends the training at step 2" in line for line in logged)


def test_a_rule_that_judged_nothing_is_reported_once_with_the_reason(out_dir, logged):
    hook = hook_with(out_dir, ["VanishingGradient", "ReplicasDiffer"])
    Training(hook=hook).run(3)
    hook.close()
    hook.close()
    said = [line for line in logged if "judged nothing" in line]
    assert len(said) == 1
    assert "rule ReplicasDiffer judged nothing: only worker_0 saved these tensors" in said[0]


def test_a_function_decides_by_the_verdict(out_dir):
    verdicts = []

    def decide(verdict):
        verdicts.append(verdict)
        return "skip_step" if len(verdicts) == 2 else None

    hook = hook_with(out_dir, ["ExplodingTensor"], decide)
    Training(bad_steps=(1,), hook=hook).run(4)
    hook.close()
    # The first update with NaN is let through, so that every later step has it too.
    assert [each["step"]["global"] for each in verdicts] == [1, 2, 3]
    assert verdicts[0]["rule"] == "ExplodingTensor" and verdicts[0]["evidence"]
    assert hook.skipped_steps == [2]


def test_what_is_recorded_only_is_said_once(out_dir, logged):
    hook = hook_with(out_dir, ["ExplodingTensor"])
    Training(bad_steps=(1, 2), hook=hook).run(4)
    hook.close()
    said = [line for line in logged if "ExplodingTensor: " in line]
    assert len(said) == 1
    assert hook.skipped_steps == []


def test_an_optimizer_with_a_closure_is_let_through_and_that_is_said(out_dir, logged):
    hook = hook_with(out_dir, ["ExplodingTensor"], "skip_step")
    training = Training(lambda p: torch.optim.LBFGS(p, 0.1, max_iter=2), hook=hook)

    def closure():
        training.optimizer.zero_grad()
        loss = training.loss(training.net(torch.full((2, 4), float("nan"))), torch.ones(2, 1))
        loss.backward()
        return loss

    for _ in range(3):
        training.optimizer.step(closure)
    hook.close()
    said = [line for line in logged if "no update can be skipped" in line]
    assert len(said) == 1 and "closure" in said[0]
    assert hook.skipped_steps == []


class LossRises(Rule):
    """Fires where the loss is higher than at the step before."""

    def __init__(self, base_trial, factor="1"):
        super().__init__(base_trial)
        self.factor = float(factor)
        self.seen = []

    def invoke_at_step(self, step):
        loss = self.base_trial.tensor("MSELoss_output_0")
        self.seen.append(loss.value(step))
        assert loss.steps()[-1] == step
        assert loss.reduction_value(step, "mean") == np.mean(self.seen[-1])
        (before,) = loss.prev_steps(step, 2)[:-1] or (None,)
        if before is None:
            return False
        self.base_trial.past().wait_for_steps([before])
        return loss.value(step) > self.factor * loss.value(before)


def test_a_rule_in_python_sees_the_running_step_and_those_before_it(out_dir):
    losses = []
    hook = hook_with(out_dir, [(LossRises, {"factor": "1.0"})], "skip_step")
    training = Training(lambda p: torch.optim.SGD(p, 0.0), hook=hook)
    training.net.register_forward_hook(lambda *_: hook.flush())
    training.loss.register_forward_hook(lambda m, i, output: losses.append(output.item()))
    training.run(8)
    hook.close()
    rises = [step for step in range(1, 8) if losses[step] > losses[step - 1]]
    assert hook.skipped_steps == rises != []


def test_a_rule_in_python_that_fails_ends_alone(out_dir):
    class Fails(Rule):
        def invoke_at_step(self, step):
            raise ValueError("my own mistake")

    hook = hook_with(out_dir, [Fails, "ExplodingTensor"], "skip_step")
    Training(bad_steps=(2,), hook=hook).run(4)
    hook.close()
    failed, exploding = hook.verdicts()
    assert failed["status"] == "Error" and "my own mistake" in failed["message"]
    assert exploding["status"] == "IssuesFound"
    assert hook.skipped_steps == [2]


def test_what_rules_look_at_is_saved_as_statistics_and_the_users_wish_stays(out_dir):
    hook = hook_with(out_dir, ["VanishingGradient"], include_collections=["biases"])
    Training(hook=hook).run(2)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.tensor("Sequential_0.bias").value(0).shape == (8,)
    gradient = trial.tensor("gradient/Sequential_0.weight")
    assert gradient.summary(0).count == 32
    with pytest.raises(Exception, match="gradient/Sequential_0.weight"):
        gradient.value(0)


@pytest.mark.parametrize(
    ("rules", "on_fire", "error", "said"),
    [
        (["NoSuchRule"], "record", Exception, "NoSuchRule"),
        ([("ExplodingTensor", {"only": True})], "record", SMDebugValueError, "only"),
        ([3], "record", SMDebugTypeError, "3"),
        (3, "record", SMDebugTypeError, "rules must be a list of rules, found 3"),
        (int, "record", SMDebugTypeError, "found <class 'int'>"),
        ([(LossRises, {"speed": 1})], "record", SMDebugValueError, "speed"),
        (["ExplodingTensor"], "explode", SMDebugValueError, "explode"),
        (["ExplodingTensor"], 7, SMDebugTypeError, "7"),
    ],
)
def test_rules_that_make_no_sense_are_refused_where_they_are_given(
    out_dir, rules, on_fire, error, said
):
    with pytest.raises(error, match=re.escape(said)):
        hook_with(out_dir, rules, on_fire)


def test_an_adapter_that_cannot_veto_refuses_it_at_construction(out_dir):
    for veto in ("skip_step", "raise", "stop"):
        with pytest.raises(SMDebugValueError, match=veto):
            StepMonitor(["ExplodingTensor"], veto, (), out_dir)
    assert StepMonitor(["ExplodingTensor"], "record", (), out_dir).apply() is None


def statuses(out_dir):
    folder = pathlib.Path(out_dir) / "rules"
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def smdebug(*words):
    return subprocess.run(
        [sys.executable, "-m", "smdebug", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_verdicts_are_kept_beside_the_run_as_a_watch_keeps_them(out_dir, tmp_path):
    hook = hook_with(out_dir, ["ExplodingTensor", "VanishingGradient"])
    Training(bad_steps=[3], hook=hook).run(6)
    hook.close()
    kept = statuses(out_dir)
    assert list(kept) == ["ExplodingTensor", "VanishingGradient"]
    assert [each["verdict"] for each in kept.values()] == hook.verdicts()
    fired = kept["ExplodingTensor"]
    assert (fired["status"], fired["training"]) == ("IssuesFound", "Completed")
    assert fired["steps"]["last"] == 5
    assert kept["VanishingGradient"]["status"] == "NoIssuesFound"
    assert not list((pathlib.Path(out_dir) / "rules").glob("*/watcher.json"))  # let go

    watched = tmp_path / "watched"
    hook = smd.Hook(watched, save_config=EVERY_STEP, include_collections=["gradients"])
    Training(hook=hook).run(3)
    hook.close()
    assert smdebug("watch", watched, "--rule", "ExplodingTensor").returncode == 0
    theirs = statuses(watched)["ExplodingTensor"]
    assert theirs.keys() == fired.keys()
    assert theirs["verdict"].keys() == fired["verdict"].keys()

    shown = smdebug("show", out_dir).stdout
    assert "ExplodingTensor: IssuesFound" in shown
    assert "VanishingGradient: NoIssuesFound" in shown


def test_a_watch_beside_the_hook_leaves_the_status_to_it(out_dir):
    hook = hook_with(out_dir, ["VanishingGradient"])
    training = Training(hook=hook).run(3)
    hook.flush()
    mark = pathlib.Path(out_dir) / "rules/VanishingGradient/watcher.json"
    while not mark.exists():
        pass  # the status has a thread of its own
    watch = smdebug(
        *("watch", out_dir, "--rule", "VanishingGradient"),
        *("--set", "threshold=1e9", "--timeout", "0"),
    )
    assert "is already watched by process" in watch.stderr
    assert watch.returncode == 3  # it judges all the same
    assert statuses(out_dir)["VanishingGradient"]["status"] == "InProgress"
    training.run(1)
    hook.close()
    assert statuses(out_dir)["VanishingGradient"]["status"] == "NoIssuesFound"


def test_the_patterns_of_a_built_in_rule_need_not_match(out_dir, capfd):
    net = make_net()
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, rules=["DeadRelu"])
    hook.register_module(net)
    for _ in range(2):
        net(torch.randn(5, 4)).sum().backward()
    hook.close()
    assert "rule_DeadRelu" not in capfd.readouterr().err


def test_a_status_that_cannot_be_written_harms_nothing(out_dir, capfd):
    hook = hook_with(out_dir, ["ExplodingTensor"])
    pathlib.Path(out_dir).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(out_dir) / "rules").write_text("what stands in the way")
    watched = Training(bad_steps=[2], hook=hook).run(4)
    hook.close()
    bare = Training(bad_steps=[2]).run(4)
    states = [bare.net.state_dict(), watched.net.state_dict()]
    for mine, theirs in zip(*(state.values() for state in states), strict=True):
        assert torch.equal(mine.nan_to_num(7), theirs.nan_to_num(7))
    assert hook.verdicts()[0]["status"] == "IssuesFound"
    said = capfd.readouterr().err
    assert said.count("cannot write the status of the rules beside run") == 1


# With "record", every step from the first NaN on has NaN. With "skip_step", one step has.
@pytest.mark.parametrize("on_fire", ["record", "skip_step"])
def test_the_step_on_which_a_rule_fired_first_outlives_the_size_limit(out_dir, on_fire):
    hook = hook_with(out_dir, ["ExplodingTensor"], on_fire, max_run_bytes=150_000)
    # Without the marks that the status files leave for a size limit in another process.
    pathlib.Path(out_dir).mkdir(parents=True)
    (pathlib.Path(out_dir) / "rules").write_text("what stands in the way")
    Training(bad_steps=[20], hook=hook).run(200)
    hook.close()
    steps = create_trial(out_dir).steps()
    assert steps[:3] == [19, 20, 21]
    assert steps[3:] == list(range(steps[3], 200)) and steps[3] > 100


def test_a_dry_run_keeps_no_status(out_dir):
    hook = hook_with(out_dir, ["ExplodingTensor"], dry_run=True)
    Training(hook=hook).run(2)
    hook.close()
    assert not pathlib.Path(out_dir).exists() or not statuses(out_dir)


def test_a_rule_that_the_user_named_acts_on_advice_too(out_dir):
    """Images between 0 and 1 are advice, which a default rule would only report."""
    rules = [("CheckInputImages", {"threshold_samples": 8})]
    hook = hook_with(out_dir, rules, "raise")
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 1))
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with pytest.raises(RuleEvaluationConditionMet):
        for _ in range(5):
            net(torch.rand(16, 1, 8, 8)).sum().backward()
            optimizer.step()
    (verdict,) = hook.verdicts()
    assert verdict["severity"] == "advice"
    hook.close()
