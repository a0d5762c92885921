"""DistributedDataParallel: one worker per rank, the gradients of each, and no call that is not
the training's own."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from conftest import RANK, read, run_ranks
from smdebug import modes

MODEL = """
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(4, 8)
        self.relu = torch.nn.ReLU()
        self.dropout = torch.nn.Dropout(0.5)
        self.fc2 = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(self.dropout(self.relu(self.fc1(x))))

def make():
    torch.manual_seed(0)
    return Net()

def batch(step):
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(100 * rank + step))

def make_hook(**arguments):
    arguments = {"include_workers": "all", "save_all": True,
                 "save_config": smd.SaveConfig(save_interval=1)} | arguments
    return smd.Hook(out_dir, **arguments)

def train(model, steps, losses=None, final=None):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(batch(step)).square().mean()
        loss.backward()
        if losses is not None:
            losses.append(loss.item())
        if final is not None:
            final.append({n.replace("module.", ""): p.grad.clone().numpy()
                          for n, p in model.named_parameters()})
        optimizer.step()

def remember(name, values):
    import pickle
    with open(f"{out_dir}.{name}.{rank}", "wb") as file:
        pickle.dump(values, file)
"""
PARAMETERS = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]


def remembered(out_dir, name, rank):
    import pickle

    with open(f"{out_dir}.{name}.{rank}", "rb") as file:
        return pickle.load(file)


REGISTRATIONS = {
    "the model, then wrapped": "hook.register_module(model); ddp = DDP(model)",
    "the wrapper": "ddp = DDP(model); hook.register_module(ddp)",
    "the wrapper, static graph": """
ddp = DDP(model, static_graph=True, gradient_as_bucket_view=True); hook.register_module(ddp)""",
}


@pytest.mark.parametrize(
    "ranks, registration", [*((2, each) for each in REGISTRATIONS), (4, "the wrapper")]
)
def test_each_rank_is_a_worker_that_saves_its_own(tmp_path, out_dir, ranks, registration):
    run_ranks(
        tmp_path,
        MODEL
        + f"""
model, hook = make(), make_hook()
{REGISTRATIONS[registration]}
final = []
train(ddp, 3, final=final)
remember("final", final)
leave(hook)
""",
        out_dir,
        ranks=ranks,
    )
    trial = read(out_dir)
    workers = [f"worker_{rank}" for rank in range(ranks)]
    assert trial.workers() == workers
    assert trial.steps() == [0, 1, 2]
    assert not [name for name in trial.tensor_names() if "module" in name]
    for path in PARAMETERS:
        weight, gradient = trial.tensor(f"Net_{path}"), trial.tensor(f"gradient/Net_{path}")
        assert weight.workers(2) == gradient.workers(2) == workers
        for step in range(3):
            weights = [weight.value(step, worker=worker) for worker in workers]
            assert all((other == weights[0]).all() for other in weights)
            # What each rank's backward left; the mean over ranks is what the optimizer used.
            mean = np.mean([gradient.value(step, worker=worker) for worker in workers], axis=0)
            for rank in range(ranks):
                used = remembered(out_dir, "final", rank)[step][path]
                np.testing.assert_allclose(mean, used, rtol=1e-5, atol=1e-7)
    outputs = [trial.tensor("fc1_output_0").value(1, worker=worker) for worker in workers]
    assert not (outputs[0] == outputs[1]).all()  # each rank has its own batch


def test_final_gradients_are_the_reduced_ones_on_every_rank(tmp_path, out_dir):
    """As by default each rank has those of its own backward: see the test before this one."""
    run_ranks(
        tmp_path,
        MODEL
        + """
model, hook = make(), make_hook(gradients="final")
ddp = DDP(model)
hook.register_module(ddp)
final = []
train(ddp, 3, final=final)
remember("final", final)
leave(hook)
""",
        out_dir,
    )
    trial = read(out_dir)
    for path in PARAMETERS:
        gradient = trial.tensor(f"gradient/Net_{path}")
        for step in range(3):
            for rank in range(2):
                used = remembered(out_dir, "final", rank)[step][path]
                found = gradient.value(step, worker=f"worker_{rank}")
                np.testing.assert_array_equal(found, used)
            np.testing.assert_array_equal(found, gradient.value(step, worker="worker_0"))


def test_by_default_the_first_rank_alone_saves(tmp_path, out_dir):
    said = run_ranks(
        tmp_path,
        MODEL
        + """
model, hook = make(), make_hook(include_workers="one")
hook.register_module(model)
train(DDP(model), 3)
status = hook.status()
print(status.state, status.reason)
leave(hook)
""",
        out_dir,
    )
    assert said[0].startswith("active") and said[1].startswith("silent worker_1 saves nothing")
    trial = read(out_dir)
    assert trial.workers() == ["worker_0"] and trial.num_workers == 1
    assert trial.steps() == [0, 1, 2] and trial.loaded_all_steps


def test_accumulation_without_sync_saves_what_each_backward_leaves(tmp_path, out_dir):
    run_ranks(
        tmp_path,
        MODEL
        + """
from smdebug import modes
model, hook = make(), make_hook(include_collections=["gradients"], save_all=False)
ddp = DDP(model)
hook.register_module(ddp)
hook.set_mode(modes.TRAIN)
left = []
for step in range(4):
    if step % 2 == 0:
        ddp.zero_grad()
        with ddp.no_sync():
            ddp(batch(step)).square().mean().backward()
            left.append(model.fc1.weight.grad.clone().numpy())
    else:
        ddp(batch(step)).square().mean().backward()
remember("left", left)
leave(hook)
""",
        out_dir,
    )
    gradient = read(out_dir).tensor("gradient/Net_fc1.weight")
    assert gradient.steps(mode=modes.TRAIN) == [0, 1, 2, 3]
    for rank in range(2):
        left = remembered(out_dir, "left", rank)
        for i, step in enumerate((0, 2)):
            np.testing.assert_array_equal(gradient.value(step, worker=f"worker_{rank}"), left[i])


def test_a_compiled_wrapper_is_recorded_like_the_eager_one(tmp_path, out_dir):
    for name, wrap in {
        "eager": "DDP(model)",
        "compiled": "torch.compile(DDP(model), backend='aot_eager')",
        "inside": "DDP(torch.compile(model, backend='aot_eager'))",
    }.items():
        run_ranks(
            tmp_path,
            MODEL
            + f"""
from torch._dynamo.utils import counters
model, hook = make(), make_hook(save_config=smd.SaveConfig(save_interval=2))
model.dropout.p = 0.0
called = {wrap}
hook.register_module(called)
train(called, 4)
settled = counters["stats"]["unique_graphs"]
train(called, 4)
assert counters["stats"]["unique_graphs"] == settled, counters
leave(hook)
""",
            f"{out_dir}-{name}",
        )
    eager = read(f"{out_dir}-eager")
    for name in ("compiled", "inside"):
        trial = read(f"{out_dir}-{name}")
        assert trial.tensor_names() == eager.tensor_names()
        assert trial.steps() == [0, 2, 4, 6]
        for tensor in ("fc1_output_0", "fc2_input_0", "gradient/Net_fc1.weight"):
            for step in trial.steps():
                np.testing.assert_allclose(
                    trial.tensor(tensor).value(step, worker="worker_1"),
                    eager.tensor(tensor).value(step, worker="worker_1"),
                    rtol=1e-5,
                    atol=1e-7,
                )


def test_the_training_is_the_same_bit_for_bit_and_calls_as_many_collectives(tmp_path, out_dir):
    said = run_ranks(
        tmp_path,
        MODEL
        + """
def trained(watched):
    model, losses = DDP(make()), []
    hook = make_hook() if watched else None
    if hook:
        hook.register_module(model)
    before = dist.group.WORLD._get_sequence_number_for_group()
    train(model, 10, losses)
    calls = dist.group.WORLD._get_sequence_number_for_group() - before
    if hook:
        hook.close()
    return losses, calls, [p.detach().numpy().tobytes() for p in model.parameters()]

plain, watched = trained(False), trained(True)
assert plain[1] >= 10
print(plain == watched)
leave()
""",
        out_dir,
    )
    assert said == ["True\n", "True\n"]
    assert read(out_dir).steps() == list(range(10))


def test_torchrun_names_the_workers(tmp_path, out_dir):
    script = tmp_path / "train.py"
    own = RANK.replace(
        """dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING_PLACE"],
                        rank=rank, world_size=ranks)""",
        """dist.init_process_group("gloo")""",
    )
    script.write_text(
        own
        + textwrap.dedent(MODEL)
        + """
hook = make_hook()  # before the model is wrapped, as scripts do
model = make()
hook.register_module(model)
train(DDP(model), 2)
leave(hook)
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         str(script), out_dir],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    trial = read(out_dir)
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps() == [0, 1]


def test_a_rule_in_a_trainer_of_several_processes_is_reported_and_stops_none_of_them(
    tmp_path, out_dir
):
    said = run_ranks(
        tmp_path,
        MODEL
        + """
import logging
from smdebug.pytorch.trainers.training_watch import TrainingWatch
from smdebug.rules import Rule

class ThirdStep(Rule):
    def invoke_at_step(self, step):
        return step == 2

class Kept(logging.Handler):
    lines = []
    def emit(self, record):
        self.lines.append(record.getMessage())

logging.getLogger("smdebug").addHandler(Kept())
options = {"save_config": smd.SaveConfig(save_interval=1)}
watch = TrainingWatch(out_dir, [ThirdStep], True, options)
ddp = DDP(make())
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
watch.begin_fit(ddp)
stops = []
for step in range(5):
    watch.hook.begin_update()
    optimizer.zero_grad()
    ddp(batch(step)).square().mean().backward()
    optimizer.step()
    watch.end_step()
    stops.append(watch.should_stop)
watch.close()
fired = any("ThirdStep" in line and "step 2" in line for line in Kept.lines)
print(stops, sum("will not stop" in line for line in Kept.lines), fired)
leave()
""",
        out_dir,
    )
    assert said == [f"{[False] * 5} 1 True\n", f"{[False] * 5} 0 False\n"]
