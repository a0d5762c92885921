"""The callback for Hugging Face's Trainer, in real trainings of a tiny BERT with dropout."""

import io
import os
import re

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
from torch.nn.modules import module as torch_modules
from torch.optim import optimizer as torch_optimizers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from conftest import FIRES, check_end_is_that_of_watch, read
from smdebug import SaveConfig, modes
from smdebug.exceptions import SMDebugError, SMDebugTypeError
from smdebug.pytorch.transformers import SMDebugCallback
from smdebug.rules import Rule

EVERY_STEP = SaveConfig(save_interval=1)
CLASSIFIER = "BertForSequenceClassification_classifier.weight"


class Words(torch.utils.data.Dataset):
    """Random words with a random label each, the same for the same count."""

    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        self.words = torch.randint(0, 50, (count, 8), generator=generator)
        self.labels = torch.randint(0, 2, (count,), generator=generator)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return {"input_ids": self.words[i], "labels": self.labels[i]}


def bert():
    torch.manual_seed(0)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=50,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=16,
        )
    )


def make_trainer(folder, *callbacks, model=None, trainer_class=Trainer, **arguments):
    arguments = {
        "max_steps": 4,
        "per_device_train_batch_size": 4,
        "logging_steps": 1,
        "save_strategy": "no",
        "learning_rate": 1e-2,
        "disable_tqdm": True,
        "report_to": [],
        "use_cpu": True,
        "seed": 1,
        **arguments,
    }
    return trainer_class(
        model or bert(),
        TrainingArguments(str(folder / "checkpoints"), **arguments),
        train_dataset=Words(64),
        eval_dataset=Words(24),
        callbacks=list(callbacks),
    )


def logged_losses(trainer):
    return [line["loss"] for line in trainer.state.log_history if "loss" in line]


def values(trial, name, mode=modes.TRAIN):
    tensor = trial.tensor(name)
    return [tensor.value(step, mode=mode) for step in tensor.steps(mode=mode)]


def hooks_in(model):
    return sum(
        len(each._forward_hooks) + len(each._forward_pre_hooks) for each in model.modules()
    ) + sum(bool(each._backward_hooks) for each in model.parameters())


class Watcher(TrainerCallback):
    """Notes gradients and weights around each update in another way than ours."""

    def __init__(self):
        self.gradients, self.weights, self.files = [], [], []

    def on_step_begin(self, args, state, control, model=None, **kwargs):
        self.weights.append(model.classifier.weight.detach().numpy().copy())

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.gradients.append(model.classifier.weight.grad.numpy().copy())

    def on_step_end(self, args, state, control, model=None, **kwargs):
        file = io.BytesIO()
        torch.save(model, file)
        self.files.append(file.getvalue())


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"gradient_accumulation_steps": 2},
        {"bf16": True},
        {"gradient_checkpointing": True},
        {"eval_strategy": "steps", "eval_steps": 2},
    ],
    ids=lambda arguments: next(iter(arguments), "plain"),
)
def test_the_training_has_the_same_bits(tmp_path, out_dir, arguments):
    plain = make_trainer(tmp_path, **arguments)
    plain.train()
    callback = SMDebugCallback(
        out_dir, rules=["ExplodingTensor"], save_all=True, save_config=EVERY_STEP
    )
    watched = make_trainer(tmp_path, callback, **arguments)
    watched.train()
    assert callback.hook.status().tensors > 100
    assert logged_losses(watched) == logged_losses(plain)
    for one, other in zip(
        plain.model.state_dict().values(), watched.model.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other)


def test_under_gradient_accumulation_an_update_is_one_step(tmp_path, out_dir):
    watcher = Watcher()
    callback = SMDebugCallback(
        out_dir,
        include_collections=["losses", "gradients", "weights"],
        save_config=EVERY_STEP,
    )
    trainer = make_trainer(
        tmp_path, watcher, callback, gradient_accumulation_steps=3, max_grad_norm=0.1
    )
    trainer.train()
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2, 3]
    assert values(trial, "loss_output_0") == pytest.approx(logged_losses(trainer), rel=1e-6)
    # As the optimizer got them: of all three batches, and clipped.
    np.testing.assert_array_equal(values(trial, f"gradient/{CLASSIFIER}"), watcher.gradients)
    np.testing.assert_array_equal(values(trial, CLASSIFIER), watcher.weights)
    assert [b"smdebug" in file for file in watcher.files] == [False] * 4


def test_what_the_trainer_logs_is_in_the_step_it_is_about(tmp_path, out_dir):
    callback = SMDebugCallback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback)
    trainer.train()
    trial = read(out_dir)
    assert values(trial, "scalar/global_step") == [1, 2, 3, 4]
    logged = [line["learning_rate"] for line in trainer.state.log_history if "loss" in line]
    assert values(trial, "scalar/learning_rate") == pytest.approx(logged)
    assert trial.tensor("scalar/learning_rate").steps(mode=modes.TRAIN) == [0, 1, 2, 3]
    assert trial.tensor("scalar/train_loss").steps(mode=modes.TRAIN) == [3]
    assert values(trial, "scalar/epoch") == pytest.approx([1 / 16, 2 / 16, 3 / 16, 4 / 16])


def test_the_epoch_of_a_trainer_that_logs_nothing_before_its_summary_is_saved(tmp_path, out_dir):
    callback = SMDebugCallback(out_dir, save_config=EVERY_STEP)
    make_trainer(tmp_path, callback, logging_strategy="no").train()
    assert read(out_dir).tensor("scalar/epoch").steps(mode=modes.TRAIN) == [3]


def test_nothing_is_saved_twice_in_a_step(tmp_path, out_dir, logged):
    callback = SMDebugCallback(out_dir, save_config=EVERY_STEP)
    make_trainer(tmp_path, callback, eval_strategy="steps", eval_steps=2).train()
    callback.close()
    assert not [line for line in logged if "more than once" in line]


def test_a_loss_of_the_users_own_is_recorded(tmp_path, out_dir):
    class Doubled(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **kwargs)
            return (2 * loss, outputs) if return_outputs else 2 * loss

    callback = SMDebugCallback(out_dir, save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback, trainer_class=Doubled)
    trainer.train()
    assert values(read(out_dir), "loss_output_0") == pytest.approx(logged_losses(trainer))


def test_an_evaluation_in_the_middle_is_steps_of_its_own(tmp_path, out_dir):
    callback = SMDebugCallback(out_dir, include_regex=["classifier_output"], save_config=EVERY_STEP)
    trainer = make_trainer(
        tmp_path,
        callback,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=2,
        per_device_eval_batch_size=8,
    )
    trainer.train()
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2, 3]
    assert trial.steps(mode=modes.EVAL) == list(range(6))  # 24 rows, 8 at once, twice
    losses = [line["eval_loss"] for line in trainer.state.log_history if "eval_loss" in line]
    assert values(trial, "scalar/eval_loss", modes.EVAL) == pytest.approx(losses)
    assert trial.tensor("scalar/eval_loss").steps(mode=modes.EVAL) == [2, 5]
    assert not trial.has_tensor("scalar/train_loss")  # of the training, and no step of it is open


def test_evaluate_and_predict_outside_of_a_training_are_recorded_where_asked(tmp_path, out_dir):
    callback = SMDebugCallback(out_dir, include_regex=["classifier_output"], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback, per_device_eval_batch_size=8)
    trainer.train()
    trainer.evaluate()
    with callback.recording(trainer.model):
        trainer.evaluate()
    with callback.recording(trainer.model, modes.PREDICT):
        logits = trainer.predict(Words(24)).predictions
    assert hooks_in(trainer.model) == 0
    callback.close()
    trial = read(out_dir)
    assert trial.steps(mode=modes.EVAL) == [0, 1, 2]
    assert trial.steps(mode=modes.PREDICT) == [0, 1, 2]
    recorded = values(trial, "classifier_output_0", modes.PREDICT)
    np.testing.assert_array_equal(np.concatenate(recorded), logits)


def test_a_rule_that_fires_stops_the_trainer_at_once(tmp_path, out_dir, logged):
    class ThirdStep(Rule):
        def invoke_at_step(self, step):
            return step == 2

    callback = SMDebugCallback(out_dir, rules=[ThirdStep], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback, max_steps=50)
    trainer.train()
    assert trainer.state.global_step == 3
    (line,) = [line for line in logged if line.startswith("ThirdStep: ")]
    assert "step 2" in line
    assert line.endswith("; the training stops (stop=True)")
    assert read(out_dir).steps(mode=modes.TRAIN) == [0, 1, 2]


def test_a_second_training_is_not_stopped_by_the_steps_of_the_first(tmp_path, out_dir):
    class ThirdStep(Rule):
        def invoke_at_step(self, step):
            return step == 2

    callback = SMDebugCallback(out_dir, rules=[ThirdStep], save_config=EVERY_STEP)
    for updates in (3, 4):
        trainer = make_trainer(tmp_path, callback)
        trainer.train()
        assert trainer.state.global_step == updates


def test_a_built_in_rule_stops_it_and_asks_for_its_tensors_itself(tmp_path, out_dir):
    callback = SMDebugCallback(
        out_dir, rules=[("VanishingGradient", {"threshold": 1e9})], save_config=EVERY_STEP
    )
    trainer = make_trainer(tmp_path, callback, max_steps=50, logging_steps=20)
    trainer.train()
    assert trainer.state.global_step == 1
    gradient = read(out_dir).tensor(f"gradient/{CLASSIFIER}")
    assert gradient.reduction_value(0, "mean", mode=modes.TRAIN, abs=True) > 0


def test_a_nan_that_the_trainers_log_hides_stops_it(tmp_path, out_dir):
    class Overflowing(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            loss = super().compute_loss(model, inputs, **kwargs)
            return loss * (float("nan") if self.state.global_step == 2 else 1)

    callback = SMDebugCallback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback, max_steps=50, trainer_class=Overflowing)
    trainer.train()
    assert trainer.state.global_step == 3
    assert np.isfinite(logged_losses(trainer)).all()
    losses = values(read(out_dir), "loss_output_0")
    assert np.isfinite(losses).tolist() == [True, True, False]


def test_with_stop_false_it_is_only_told(tmp_path, out_dir, logged):
    callback = SMDebugCallback(
        out_dir,
        rules=[("VanishingGradient", {"threshold": 1e9})],
        stop=False,
        save_config=EVERY_STEP,
    )
    trainer = make_trainer(tmp_path, callback)
    trainer.train()
    assert trainer.state.global_step == 4
    assert sum("is below" in line and "the training has ended" not in line for line in logged) == 1


def test_the_log_sums_up_at_the_end(tmp_path, out_dir, logged):
    callback = SMDebugCallback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    make_trainer(tmp_path, callback).train()
    (summary,) = [line for line in logged if "the training has ended" in line]
    assert "the training has ended: nothing found\n  training  4 steps\n" in summary
    files = [path for path in (tmp_path / "run").rglob("*_worker_0*") if path.is_file()]
    (written,) = re.findall(r" ([\d,]+) bytes", summary)  # includes files that were replaced
    assert int(written.replace(",", "")) > sum(path.stat().st_size for path in files) > 0
    assert "active" not in summary
    assert f"\n  run       {out_dir}\n" in summary
    assert "\n  no issue  ExplodingTensor\n" in summary


@pytest.mark.parametrize("rule", [FIRES, ("ExplodingTensor", {})])
def test_the_log_ends_as_a_watch_does(tmp_path, out_dir, logged, rule):
    callback = SMDebugCallback(out_dir, rules=[rule], stop=False, save_config=EVERY_STEP)
    make_trainer(tmp_path, callback).train()
    callback.close()
    check_end_is_that_of_watch(logged, out_dir, rule)


def test_the_log_of_a_callback_without_rules_is_a_line(tmp_path, out_dir, logged):
    make_trainer(tmp_path, SMDebugCallback(out_dir, save_config=EVERY_STEP)).train()
    (summary,) = [line for line in logged if "the training has ended" in line]
    assert "the training has ended: 4 steps, 4 saved, " in summary
    assert summary.endswith(f" in '{out_dir}'")


def test_nothing_stays_hooked(tmp_path, out_dir):
    before = set(torch_optimizers._global_optimizer_pre_hooks)
    backward = torch.autograd.backward
    callback = SMDebugCallback(out_dir, save_all=True, save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback)
    trainer.train()
    assert hooks_in(trainer.model) == 0
    assert torch.autograd.backward is backward
    assert set(torch_optimizers._global_optimizer_pre_hooks) <= before
    assert not torch_modules._global_forward_hooks


def test_several_trainings_with_one_callback_follow_each_other(tmp_path, out_dir):
    callback = SMDebugCallback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback)
    trainer.train()
    first = logged_losses(trainer)
    trainer.train()
    other = make_trainer(tmp_path, callback, max_steps=2)
    other.train()
    callback.close()
    trial = read(out_dir)
    assert trial.loaded_all_steps
    assert trial.steps(mode=modes.TRAIN) == list(range(10))
    assert values(trial, "loss_output_0")[:4] == pytest.approx(first)
    assert values(trial, "loss_output_0")[8:] == pytest.approx(logged_losses(other))


def test_a_training_after_the_run_was_closed_is_said_not_to_be_recorded(tmp_path, out_dir, logged):
    callback = SMDebugCallback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback)
    trainer.train()
    callback.close()
    trainer.train()
    assert trainer.state.global_step == 4
    assert hooks_in(trainer.model) == 0
    assert any("not recorded" in line and "it was closed" in line for line in logged)
    assert read(out_dir).steps(mode=modes.TRAIN) == [0, 1, 2, 3]


def test_a_resumed_training_says_which_of_the_trainers_steps_it_records(tmp_path, out_dir):
    trainer = make_trainer(tmp_path, save_strategy="steps", save_steps=2)
    trainer.train()
    callback = SMDebugCallback(out_dir, save_config=EVERY_STEP)
    resumed = make_trainer(tmp_path, callback, save_strategy="steps", save_steps=2)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoints" / "checkpoint-2"))
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1]
    assert values(trial, "scalar/global_step") == [3, 4]
    assert values(trial, "loss_output_0") == pytest.approx(logged_losses(trainer)[2:], rel=1e-6)


def test_a_compiled_model_is_recorded(tmp_path, out_dir):
    callback = SMDebugCallback(
        out_dir, include_collections=["losses", "gradients"], save_config=EVERY_STEP
    )
    trainer = make_trainer(
        tmp_path, callback, max_steps=2, torch_compile=True, torch_compile_backend="eager"
    )
    trainer.train()
    trial = read(out_dir)
    assert values(trial, "loss_output_0") == pytest.approx(logged_losses(trainer), rel=1e-5)
    assert trial.tensor(f"gradient/{CLASSIFIER}").steps(mode=modes.TRAIN) == [0, 1]


def test_an_error_of_ours_ends_the_recording_and_not_the_training(tmp_path, out_dir, monkeypatch):
    callback = SMDebugCallback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    trainer = make_trainer(tmp_path, callback)
    begin_update = callback.hook.begin_update

    def fails_at_the_third_step():
        if trainer.state.global_step == 2:
            raise ZeroDivisionError("planted")
        begin_update()

    monkeypatch.setattr(callback.hook, "begin_update", fails_at_the_third_step)
    trainer.train()
    assert trainer.state.global_step == 4
    assert hooks_in(trainer.model) == 0
    status = callback.hook.status()
    assert status.state == "failed"
    assert "on_step_begin: ZeroDivisionError('planted')" in status.error
    callback.close()
    assert read(out_dir).steps(mode=modes.TRAIN) == [0, 1]


def test_a_folder_that_cannot_be_written_does_not_reach_the_trainer(tmp_path):
    (tmp_path / "file").write_text("")
    callback = SMDebugCallback(
        str(tmp_path / "file" / "run"), rules=["ExplodingTensor"], save_config=EVERY_STEP
    )
    trainer = make_trainer(tmp_path, callback)
    trainer.train()
    assert trainer.state.global_step == 4
    assert callback.hook.status().state == "failed"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"rules": ["VanishingGradiant"]}, SMDebugError, "VanishingGradient"),
        ({"rules": [("VanishingGradient", {"treshold": 1})]}, SMDebugError, "threshold"),
        ({"rules": [3]}, SMDebugTypeError, "found 3"),
        ({"rules": [], "stop": "no"}, SMDebugTypeError, "stop must be True or False"),
        ({"save_everything": True}, TypeError, "save_everything"),
    ],
)
def test_mistakes_in_the_arguments_are_said_when_it_is_made(out_dir, arguments, error, words):
    with pytest.raises(error, match=words):
        SMDebugCallback(out_dir, **arguments)


def test_wrong_arguments_of_the_callback_are_refused_with_those_to_use(tmp_path):
    with pytest.raises(SMDebugError, match="out_dir is missing"):
        SMDebugCallback()
    with pytest.raises(SMDebugTypeError, match="^SMDebugCallback has no argument 'rule'"):
        SMDebugCallback(tmp_path / "run", rule="ExplodingTensor")
    with pytest.raises(SMDebugTypeError, match="^SMDebugCallback takes stop=True"):
        SMDebugCallback(tmp_path / "run", rules=["ExplodingTensor"], on_fire="stop")


def test_a_callback_that_no_trainer_got_says_so(tmp_path):
    callback = SMDebugCallback(tmp_path / "run")
    callback.close()
    assert "no step was recorded: pass the callback" in callback.hook.status().reason


def test_the_summary_of_a_training_without_a_saved_step_claims_no_clean_bill(tmp_path, capfd):
    callback = SMDebugCallback(
        tmp_path / "run", rules=["ExplodingTensor"], save_config=SaveConfig(start_step=100)
    )
    make_trainer(tmp_path, callback, max_steps=2).train()
    callback.close()
    logged = capfd.readouterr().err
    assert "the rules judged no step, because none was saved" in logged
    assert "no issue" not in logged and "nothing found" not in logged


def test_the_second_callback_of_a_folder_says_once_that_another_one_writes_it(tmp_path, capfd):
    first, second = SMDebugCallback(tmp_path / "run"), SMDebugCallback(tmp_path / "run")
    make_trainer(tmp_path, first, second, max_steps=2).train()
    summary = capfd.readouterr().err.rpartition("the training has ended")[2]
    assert summary.count("another hook") == 1 and "(silent)" not in summary
    first.close(), second.close()
