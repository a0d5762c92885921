"""`smdebug run` on the scripts that people have: functional losses, GANs, trainers, launchers."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from smdebug import modes
from smdebug.trials import create_trial

BIN = pathlib.Path(sys.executable).parent
RUN_ALL = ("--rule", "ExplodingTensor")
# At interpreter exit a thread of torch's that waits for the GIL is unwound and aborts the process,
# with or without smdebug, in about one of five runs. Registered first, this runs last.
LEAVE_AT_ONCE = "import atexit, os\natexit.register(os._exit, 0)\n"


def smdebug_run(folder, script, *launcher, rules=RUN_ALL, check=True):
    """Runs the text `script` under `smdebug run`; returns what it said, and the run."""
    path = folder / "train.py"
    path.write_text(script)
    run = folder / "run"
    command = [BIN / "smdebug", "run", "--out", run, *rules, "--"]
    done = subprocess.run(
        [str(word) for word in (*command, *(launcher or [sys.executable]), path)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done, run


def printed(done):
    """The one line of JSON that a script printed."""
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("[")]
    return json.loads(line)


MODEL = """
import json
import torch
from torch.nn import functional
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
losses = []
"""


@pytest.mark.parametrize(
    "way", ["loss.backward()", "torch.autograd.backward(loss)", "torch.autograd.backward([loss])"]
)
def test_a_functional_loss(tmp_path, way):
    done, run = smdebug_run(
        tmp_path,
        MODEL
        + f"""
from torch.nn.functional import cross_entropy  # before anybody could replace it
for _ in range(21):
    optimizer.zero_grad()
    loss = cross_entropy(model(x), y)
    {way}
    optimizer.step()
    losses.append(loss.item())
print(json.dumps(losses))
""",
    )
    loss = create_trial(str(run)).tensor("loss_output_0")
    assert loss.steps(mode=modes.TRAIN) == [*range(5), 10, 20]
    recorded = [loss.value(step, mode=modes.TRAIN).item() for step in (0, 4, 10, 20)]
    trained = printed(done)
    assert recorded == pytest.approx([trained[step] for step in (0, 4, 10, 20)])


GAN = """
import torch
torch.manual_seed(0)
class Generator(torch.nn.Sequential): pass
class Discriminator(torch.nn.Sequential): pass
generator = Generator(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
discriminator = Discriminator(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
criterion = torch.nn.BCEWithLogitsLoss()
ours = torch.optim.Adam(generator.parameters())
theirs = torch.optim.Adam(discriminator.parameters())
for _ in range(12):
    real, fake = torch.randn(6, 4), generator(torch.randn(6, 2))
    theirs.zero_grad()
    told = criterion(discriminator(real), torch.ones(6, 1))
    told = told + criterion(discriminator(fake.detach()), torch.zeros(6, 1))
    told.backward()
    theirs.step()
    ours.zero_grad()
    criterion(discriminator(fake), torch.ones(6, 1)).backward()
    ours.step()
"""


def test_a_gan(tmp_path):
    _, run = smdebug_run(tmp_path, GAN)
    trial = create_trial(str(run))
    assert "gradient/Generator_0.weight" in trial.tensor_names()
    assert "BCEWithLogitsLoss_output_0" in trial.tensor_names()


def test_of_a_model_whose_forward_alone_is_called_the_layers_are_found(tmp_path):
    _, run = smdebug_run(
        tmp_path,
        MODEL
        + """
for _ in range(3):
    optimizer.zero_grad()
    functional.cross_entropy(model.forward(x), y).backward()
    optimizer.step()
""",
    )
    assert "gradient/Linear_weight" in create_trial(str(run)).tensor_names()


def test_a_training_without_any_call_of_a_module_is_said(tmp_path):
    done, run = smdebug_run(
        tmp_path,
        MODEL
        + """
for _ in range(3):
    optimizer.zero_grad()
    functional.cross_entropy(functional.linear(x, model[2].weight[:, :4]), y).backward()
    optimizer.step()
""",
        check=False,
    )
    first, _, summary = done.stderr.partition("smdebug: nothing was recorded\n")
    for part in (first, summary):  # at once, and where the reader of a long output looks
        assert part.count("no model with trainable parameters was called") == 1
    assert "recognized no training" not in done.stderr
    assert "Error: " not in done.stderr
    assert not run.exists()


def test_metrics_and_other_modules_without_parameters_are_no_models(tmp_path):
    _, run = smdebug_run(
        tmp_path,
        MODEL
        + """
softmax = torch.nn.Softmax(1)
softmax(x)
for _ in range(2):
    optimizer.zero_grad()
    functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    softmax(model(x))
""",
    )
    assert "gradient/Sequential_0.weight" in create_trial(str(run)).tensor_names()
    assert not any("Softmax" in name for name in create_trial(str(run)).tensor_names())


def test_a_compiled_model(tmp_path):
    done, run = smdebug_run(
        tmp_path,
        MODEL
        + """
compiled = torch.compile(model, backend="aot_eager")
for _ in range(11):
    optimizer.zero_grad()
    loss = functional.cross_entropy(compiled(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(json.dumps(losses))
""",
    )
    trial = create_trial(str(run))
    assert trial.tensor("loss_output_0").value(10, mode=modes.TRAIN) == pytest.approx(
        printed(done)[10]
    )
    assert "gradient/Sequential_0.weight" in trial.tensor_names()


def test_the_layer_that_torch_computes_otherwise_when_watched_is_said(tmp_path):
    done, _ = smdebug_run(
        tmp_path,
        MODEL
        + """
model = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(x[None]).sum().backward()
    optimizer.step()
""",
    )
    assert done.stderr.count("does not use the fast path of TransformerEncoderLayer") == 1


LIGHTNING = """
import json, logging, warnings
warnings.filterwarnings("ignore")
import torch
import lightning.pytorch as lightning
from torch.nn import functional

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 3))
        self.losses = []

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, batch_idx):
        loss = functional.cross_entropy(self(batch[0]), batch[1])
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

lightning.seed_everything(1)
data = torch.utils.data.TensorDataset(torch.randn(44, 4), torch.randint(0, 3, (44,)))
lit = Lit()
lightning.Trainer(
    max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
).fit(lit, torch.utils.data.DataLoader(data, 4))
print(json.dumps(lit.losses))
"""


def test_a_lightning_script(tmp_path):
    done, run = smdebug_run(tmp_path, LIGHTNING)
    trial = create_trial(str(run))
    loss = trial.tensor("loss_output_0")
    recorded = [loss.value(step, mode=modes.TRAIN).item() for step in (0, 10)]
    assert recorded == pytest.approx(printed(done)[::10])
    assert "gradient/Lit_layers.0.weight" in trial.tensor_names()


BERT = """
import json, warnings
warnings.filterwarnings("ignore")
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

class Words(torch.utils.data.Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.words = torch.randint(0, 50, (64, 8), generator=generator)
        self.labels = torch.randint(0, 2, (64,), generator=generator)
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return {"input_ids": self.words[i], "labels": self.labels[i]}

def make_trainer(*callbacks, **arguments):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=16,
    )
    arguments = TrainingArguments(
        "checkpoints", per_device_train_batch_size=4, logging_steps=1, save_strategy="no",
        disable_tqdm=True, report_to=[], use_cpu=True, seed=1, **arguments,
    )
    model = BertForSequenceClassification(config)
    return Trainer(model, arguments, train_dataset=Words(), callbacks=list(callbacks))
"""


def test_a_trainer_script(tmp_path):
    done, run = smdebug_run(
        tmp_path,
        BERT
        + """
trainer = make_trainer(max_steps=11)
trainer.train()
print(json.dumps([line["loss"] for line in trainer.state.log_history if "loss" in line]))
""",
    )
    trial = create_trial(str(run))
    loss = trial.tensor("loss_output_0")
    assert loss.steps(mode=modes.TRAIN) == [*range(5), 10]
    recorded = [loss.value(step, mode=modes.TRAIN).item() for step in (0, 10)]
    assert recorded == pytest.approx(printed(done)[::10], rel=1e-5)
    gradient = "gradient/BertForSequenceClassification_classifier.weight"
    assert gradient in trial.tensor_names()


def test_a_script_whose_main_runs_in_a_spawned_process(tmp_path):
    done, run = smdebug_run(
        tmp_path,
        """
import multiprocessing

def main():
"""
        + MODEL.replace("\n", "\n    ")
        + """
    for _ in range(11):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps(losses), flush=True)

if __name__ == "__main__":
    import torch
    torch.nn.Linear(2, 2)
    process = multiprocessing.get_context("spawn").Process(target=main)
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
""",
    )
    trial = create_trial(str(run))
    loss = trial.tensor("loss_output_0")
    assert trial.workers() == ["worker_0"]
    assert loss.value(10, mode=modes.TRAIN) == pytest.approx(printed(done)[10])


ACCELERATE = (
    LEAVE_AT_ONCE
    + """
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
torch.manual_seed(accelerator.process_index)
for step in range(11):
    loss = model(torch.randn(4, 3)).square().mean()
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
accelerator.end_training()
"""
)


@pytest.mark.parametrize(
    "launcher",
    [
        [BIN / "accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
        + ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"],
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        + ["--master-port", "0", "--standalone"],
    ],
    ids=["accelerate launch", "torchrun"],
)
def test_two_processes_are_two_workers_of_one_run(tmp_path, launcher):
    _, run = smdebug_run(tmp_path, ACCELERATE, *launcher)
    trial = create_trial(str(run))
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps() == [*range(5), 10]
    loss = trial.tensor("loss_output_0")
    values = [loss.value(10, mode=modes.TRAIN, worker=each) for each in trial.workers()]
    assert np.isfinite(values).all()
    assert values[0] != values[1]


def test_the_callback_in_two_processes_records_one_and_stops_none(tmp_path):
    script = tmp_path / "train.py"
    run = tmp_path / "run"
    script.write_text(
        LEAVE_AT_ONCE
        + BERT
        + f"""
from smdebug.pytorch import SaveConfig
from smdebug.pytorch.transformers import SMDebugCallback
callback = SMDebugCallback(
    {str(run)!r},
    rules=[("VanishingGradient", {{"threshold": 1e9}})],
    save_config=SaveConfig(save_interval=1),
)
trainer = make_trainer(callback, max_steps=4, ddp_backend="gloo")
trainer.train()
callback.close()
steps = (trainer.state.global_step, callback.hook.status().steps_saved)
with open(f"steps-{{trainer.args.process_index}}", "w") as file:  # lines of both may mix
    print(*steps, file=file)
torch.distributed.destroy_process_group()
"""
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*launcher, "--master-port", "0", "--standalone", str(script)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    steps = [(tmp_path / f"steps-{rank}").read_text().split() for rank in (0, 1)]
    assert steps == [["4", "4"], ["4", "0"]]
    trial = create_trial(str(run))
    assert trial.workers() == ["worker_0"]
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2, 3]
    assert "it runs in 2 processes" in done.stderr
    assert "VanishingGradient fired" in done.stderr
