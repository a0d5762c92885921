"""A tiny BERT under Hugging Face's Trainer, recorded by the callback."""

import sys

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import smdebug.pytorch as smd
from smdebug.pytorch.transformers import SMDebugCallback

out_dir = sys.argv[1] if len(sys.argv) > 1 else "trainer-run"

torch.manual_seed(0)
words = torch.randint(0, 50, (64, 8))
data = [{"input_ids": row, "labels": row[0] % 2} for row in words]
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
)

callback = SMDebugCallback(
    out_dir,
    rules=["ExplodingTensor"],
    include_collections=["losses", "gradients"],
    include_regex=["classifier_output"],
    save_config=smd.SaveConfig(save_interval=2),
)
trainer = Trainer(
    model,
    TrainingArguments(
        "checkpoints",
        max_steps=6,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=3,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    ),
    train_dataset=data,
    eval_dataset=data[:16],
    callbacks=[callback],
)
trainer.train()

with callback.recording(trainer.model, smd.modes.PREDICT):
    trainer.predict(data[:8])
callback.close()

trial = smd.create_trial(out_dir)
for mode in (smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT):
    print(f"{mode.name}: {trial.steps(mode=mode)}")
print(f"updates with a loss: {trial.tensor('loss_output_0').steps(mode=smd.modes.TRAIN)}")
