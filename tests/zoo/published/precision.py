"""Mixed precision, narrow dtypes, and a trainer that hides NaN."""

import copy
import tempfile

import data
import launch
import torch
import torch.nn.functional as F
from torch import nn


def clipped_before_unscaled(faulty):
    """Gradients carry the scale of 65536, so clipping them to norm 1 shrinks all updates."""
    torch.manual_seed(31)
    x, y = (torch.tensor(array) for array in data.digit_images())
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    for step in range(240):
        batch = torch.randint(len(x), (64,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if not faulty:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        if step % 40 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


def half_precision_weights(faulty):
    """Weights in float16 with Adam, whose epsilon is zero in that dtype."""
    torch.manual_seed(32)
    x, y = (torch.tensor(array) for array in data.digits())
    dtype = torch.float16 if faulty else torch.float32
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(dtype)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for step in range(220):
        batch = torch.randint(len(x), (64,))
        loss = criterion(model(x[batch].to(dtype)).float(), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 40 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


def trainer_hides_nan(faulty):
    """Transformers' Trainer logs a loss of 0 where it is NaN (`logging_nan_inf_filter`)."""
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

    set_seed(33)
    x, size = data.windows(24, count=640)
    rows = []
    for row in torch.tensor(x):
        labels = row.clone()
        labels[: 24 if faulty else 8] = -100
        rows.append({"input_ids": row, "labels": labels})
    config = GPT2Config(
        vocab_size=size, n_positions=24, n_embd=32, n_layer=1, n_head=2, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(copy.deepcopy(config))
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder, per_device_train_batch_size=16, num_train_epochs=4, learning_rate=5e-3,
            logging_steps=10, report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        trainer = Trainer(model, options, train_dataset=rows)
        trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


if __name__ == "__main__":
    launch.run_named(globals())
