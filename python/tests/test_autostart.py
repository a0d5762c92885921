"""`smdebug run` from inside the trainer: scripts that do not know of smdebug."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from free_ports import free_port

from conftest import read, run_script
from smdebug import modes

GATE = "import smdebug_ng.autostart\n"  # what the .pth file does

TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
def step():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
"""


def settings(out_dir, *, interval=1, collections=("gradients", "losses")):
    return {
        "SMDEBUG_RUN": json.dumps(
            {
                "out_dir": out_dir,
                "save_interval": interval,
                "collections": [
                    {"name": name, "summary": name != "losses", "save_interval": interval}
                    for name in collections
                ],
                "include_workers": "all",
            }
        )
    }


def run(tmp_path, out_dir, script, **options):
    return run_script(
        tmp_path, GATE + textwrap.dedent(script), environment=settings(out_dir, **options)
    )


def test_an_unmodified_script_is_recorded(tmp_path, out_dir):
    script = """
import io, json
losses, named = [step() for _ in range(5)], []
for each in (model, criterion, optimizer):
    file = io.BytesIO()
    torch.save(each, file)
    named.append(b"smdebug" in file.getvalue())
print(json.dumps([losses, named]))
"""
    done = run(tmp_path, out_dir, TRAINING + script)
    losses, named = json.loads(done.stdout)
    assert named == [False, False, False]  # such files are loaded without smdebug
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2, 3, 4]
    loss = trial.tensor("CrossEntropyLoss_output_0")
    assert [loss.value(step).item() for step in range(5)] == pytest.approx(losses)
    assert "gradient/Sequential_0.weight" in trial.tensor_names()
    assert trial.workers() == ["worker_0"]
    assert trial.loaded_all_steps


def test_a_script_that_imports_smdebug_before_torch_is_recorded(tmp_path, out_dir):
    script = "from smdebug.pytorch import Hook\n" + TRAINING + "for _ in range(3): step()"
    done = run(tmp_path, out_dir, script)
    assert "not recorded" not in done.stderr
    assert read(out_dir).steps(mode=modes.TRAIN) == [0, 1, 2]


def test_outputs_are_saved_as_samples_and_the_run_is_limited(tmp_path, out_dir):
    environment = settings(out_dir, collections=("relu_output", "losses"))
    request = json.loads(environment["SMDEBUG_RUN"])
    request["collections"][0] |= {"summary": False, "max_elements": 48}
    environment["SMDEBUG_RUN"] = json.dumps(request)
    script = (
        GATE
        + TRAINING
        + """
def note(module, arguments, output):
    print(json.dumps(output.tolist()))
import json
step()
model[1].register_forward_hook(note)
step()
from smdebug.current_hook import open_hooks
print(open_hooks()[0].max_run_bytes)
"""
    )
    done = run_script(tmp_path, script, environment=environment)
    output, limit = map(json.loads, done.stdout.splitlines())
    assert limit == 2 << 30
    assert [len(output), len(output[0])] == [12, 8]
    found = read(out_dir).tensor("1_output_0").value(1)
    assert found.tolist() == [row[::2] for row in output]


def test_the_script_gives_the_same_bits(tmp_path, out_dir):
    script = TRAINING + "print([step() for _ in range(8)])"
    plain = run_script(tmp_path, script)
    assert run(tmp_path, out_dir, script).stdout == plain.stdout


def test_training_and_evaluation_are_told_apart(tmp_path, out_dir):
    run(
        tmp_path,
        out_dir,
        TRAINING
        + """
for epoch in range(2):
    model.train()
    for _ in range(3):
        step()
    model.eval()
    with torch.no_grad():
        nn.CrossEntropyLoss()(model(x), y)
""",
    )
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == list(range(6))
    assert trial.steps(mode=modes.EVAL) == [0, 1]
    assert trial.tensor("CrossEntropyLoss_output_0").steps(mode=modes.EVAL) == [0, 1]


def test_updates_in_evaluation_mode_are_training_steps_from_the_second_on(tmp_path, out_dir):
    run(
        tmp_path,
        out_dir,
        TRAINING
        + """
step(); step()
model.eval()
with torch.no_grad():
    criterion(model(x), y)
for _ in range(3):
    step()
with torch.no_grad():
    criterion(model(x), y)
step()
model.train()
step()
model.eval()
criterion(model(x), y)
""",
    )
    trial = read(out_dir)
    # Of the three updates that follow the evaluation, the first one shows that they train.
    assert trial.steps(mode=modes.TRAIN) == list(range(6))
    assert trial.steps(mode=modes.EVAL) == list(range(4))
    losses = dict(trial.series("loss_output_0", mode=modes.TRAIN))
    assert sorted(losses) == list(range(6))


def test_parameters_are_recorded_by_their_role_whatever_their_names(tmp_path, out_dir):
    run(
        tmp_path,
        out_dir,
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.pos_embed = nn.Parameter(torch.ones(4))
        self.attention = nn.MultiheadAttention(4, 1)
    def forward(self, x):
        x = self.fc(x) + self.pos_embed
        return self.attention(x, x, x)[0]
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
""",
        collections=("weights", "biases", "losses"),
    )
    trial = read(out_dir)
    assert trial.tensor_names(collection="weights") == [
        "Net_attention.in_proj_weight",
        "Net_attention.out_proj.weight",
        "Net_fc.weight",
        "Net_pos_embed",
    ]
    assert trial.tensor_names(collection="biases") == [
        "Net_attention.in_proj_bias",
        "Net_attention.out_proj.bias",
        "Net_fc.bias",
    ]


def test_an_evaluation_of_the_module_inside_ddp_is_no_training_step(tmp_path, out_dir):
    run(
        tmp_path,
        out_dir,
        """
import torch
from torch import nn
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0,
                                     world_size=1)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
x, y = torch.ones(3, 4), torch.zeros(3, 2)
for _ in range(3):
    model.train()
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        criterion(model.module(x), y)
""",
    )
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2]
    assert trial.steps(mode=modes.EVAL) == [0, 1, 2]


def test_a_model_that_the_script_drops_is_freed_once_the_next_one_trains(tmp_path, out_dir):
    environment = settings(out_dir)
    request = json.loads(environment["SMDEBUG_RUN"]) | {"next_out_dir": f"{out_dir}-model-"}
    done = run_script(
        tmp_path,
        GATE
        + """
import gc, weakref
import torch
def train():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model(torch.ones(3, 4)).square().mean().backward()
        optimizer.step()
    return weakref.ref(model)
first = train()
second = train()
gc.collect()
print(first() is None)
""",
        environment={"SMDEBUG_RUN": json.dumps(request)},
    )
    assert done.stdout.splitlines() == ["True"]


def test_a_loss_that_a_model_creates_in_each_call_is_not_recorded_in_one_evaluation_alone(
    tmp_path, out_dir
):
    run(
        tmp_path,
        out_dir,
        """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, x, y):
        return nn.CrossEntropyLoss()(self.layer(x), y)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.ones(8, 4), torch.zeros(8, dtype=torch.long)
for _ in range(3):
    model(x, y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for _ in range(3):
        model(x, y)
    nn.CrossEntropyLoss()(model.layer(x), y)
""",
    )
    trial = read(out_dir)
    assert trial.tensor("loss_output_0").steps(mode=modes.TRAIN) == [0, 1, 2]
    # The loss outside of the model, after the last of its calls.
    assert trial.tensor("CrossEntropyLoss_output_0").steps(mode=modes.EVAL) == [2]


@pytest.mark.parametrize("scaled", ["loss", "torch.amp.GradScaler('cpu').scale(loss)"])
def test_a_loss_that_two_backward_passes_start_from_is_one_tensor(tmp_path, out_dir, scaled):
    script = f"""
    import torch
    model = torch.nn.Linear(2, 1)
    for _ in range(2):
        loss = model(torch.ones(4, 2)).square().mean()
        start = {scaled}
        start.backward(retain_graph=True)
        start.backward()
        print(loss.item())
    """
    done = run(tmp_path, out_dir, script)
    trial = read(out_dir)
    assert trial.tensor_names(collection="losses") == ["loss_output_0"]
    saved = [trial.tensor("loss_output_0").value(step).item() for step in range(2)]
    assert saved == pytest.approx(list(map(float, done.stdout.split())))


def test_a_functional_loss_is_found_at_backward(tmp_path, out_dir):
    done = run(
        tmp_path,
        out_dir,
        TRAINING
        + """
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
""",
    )
    loss = read(out_dir).tensor("loss_output_0")
    assert [loss.value(step).item() for step in range(3)] == pytest.approx(
        [float(line) for line in done.stdout.split()]
    )


def test_a_recorded_loss_module_is_not_counted_twice(tmp_path, out_dir):
    run(tmp_path, out_dir, TRAINING + "step(); step()")
    losses = read(out_dir).tensor_names(collection="losses")
    assert losses == ["CrossEntropyLoss_output_0"]


def test_statistics_are_kept_where_a_summary_suffices(tmp_path, out_dir):
    run(tmp_path, out_dir, TRAINING + "step()")
    gradient = read(out_dir).tensor("gradient/Sequential_0.weight")
    assert gradient.reduction_value(0, "mean", abs=True) > 0


def test_hooks_on_all_modules_are_gone_after_the_first_step(tmp_path, out_dir):
    done = run(
        tmp_path,
        out_dir,
        TRAINING
        + """
step()
from torch.nn.modules import module
print(len(module._global_forward_pre_hooks), len(module._global_forward_hooks))
""",
    )
    assert done.stdout.split() == ["0", "0"]


def test_a_process_without_torch_pays_for_nothing(tmp_path, out_dir):
    done = run(
        tmp_path,
        out_dir,
        "import sys; print([m for m in sys.modules if m in ('smdebug._core', 'numpy', 'torch')])",
    )
    assert done.stdout.strip() == "[]"
    assert not os.path.exists(out_dir)


def test_a_process_that_trains_nothing_leaves_no_run(tmp_path, out_dir):
    run(tmp_path, out_dir, "import torch; torch.nn.Softmax(0)(torch.ones(3))")
    assert not os.path.exists(out_dir)


def test_the_compiler_of_torch_is_not_imported_earlier_than_without_smdebug(tmp_path, out_dir):
    done = run(
        tmp_path,
        out_dir,
        """
        import sys, torch
        model = torch.nn.Linear(4, 2)
        for _ in range(3):
            torch.nn.functional.mse_loss(model(torch.ones(1, 4)), torch.zeros(1, 2)).backward()
        print("torch._dynamo" in sys.modules)
        """,
    )
    assert done.stdout.strip() == "False"
    assert read(out_dir).steps() == [0, 1, 2]


def test_a_process_group_is_kept_alive_by_as_many_as_without_smdebug(tmp_path, out_dir):
    # torch joins the threads of a group that is freed while the GIL is held, and such a thread may
    # wait for the GIL. Functions of torch.distributed, which the compiler imports, have the group
    # that exists then as a default argument.
    script = """
    import sys, torch, torch.distributed as dist
    dist.init_process_group(
        "gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1
    )
    group = dist.group.WORLD
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    for _ in range(3):
        model(torch.ones(1, 4)).sum().backward()
    print(sys.getrefcount(group), flush=True)
    import os; os._exit(0)
    """
    plain = run_script(tmp_path, script, arguments=[tmp_path / "plain"])
    recorded = run_script(
        tmp_path,
        GATE + textwrap.dedent(script),
        environment=settings(out_dir),
        arguments=[tmp_path / "recorded"],
    )
    assert recorded.stdout == plain.stdout


def test_data_loader_workers_do_not_disturb_the_run(tmp_path, out_dir):
    run(
        tmp_path,
        out_dir,
        TRAINING
        + """
from torch.utils.data import DataLoader, TensorDataset
for _ in range(2):
    for bx, by in DataLoader(TensorDataset(x, y), batch_size=6, num_workers=2):
        optimizer.zero_grad(); criterion(model(bx), by).backward(); optimizer.step()
""",
    )
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.workers() == ["worker_0"]


def test_a_compiled_model_is_recorded_and_not_compiled_twice(tmp_path, out_dir):
    done = run(
        tmp_path,
        out_dir,
        TRAINING
        + """
from torch._dynamo.utils import counters
model = torch.compile(model, fullgraph=True, backend="aot_eager")
for _ in range(5):
    step()
print(counters["stats"]["unique_graphs"] <= 2 and not counters["graph_break"])
""",
    )
    assert done.stdout == "True\n"
    assert "compiles it again" not in done.stderr
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2, 3, 4]
    assert "CrossEntropyLoss_output_0" in trial.tensor_names()
    assert "gradient/Sequential_0.weight" in trial.tensor_names()


def test_ranks_become_workers(tmp_path, out_dir):
    script = tmp_path / "script.py"
    # At interpreter exit a thread of torch's that waits for the GIL is unwound and aborts the
    # process, with or without smdebug, in about one of five runs. Registered first, this runs last.
    leave_at_once = "import atexit, os\natexit.register(os._exit, 0)\n"
    script.write_text(
        leave_at_once
        + GATE
        + TRAINING
        + """
import torch.distributed as dist
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(model)
for _ in range(3):
    step()
dist.destroy_process_group()
"""
    )
    environment = {
        **os.environ,
        **settings(out_dir),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
    }
    ranks = [
        subprocess.Popen([sys.executable, str(script)], env={**environment, "RANK": str(rank)})
        for rank in range(2)
    ]
    assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
    trial = read(out_dir)
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps() == [0, 1, 2]
    assert "gradient/Sequential_0.weight" in trial.tensor_names()


def test_settings_that_make_no_sense_cost_one_line(tmp_path):
    script = GATE + TRAINING + "print(step() > 0)"
    done = run_script(tmp_path, script, environment={"SMDEBUG_RUN": "{not json"})
    assert done.stdout.strip() == "True"
    assert done.stderr.count("smdebug:") == 1


def test_a_terminated_script_publishes_the_steps_that_ended(tmp_path, out_dir):
    script = tmp_path / "script.py"
    script.write_text(GATE + TRAINING + "while True:\n    step()\n    print(flush=True)\n")
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, **settings(out_dir)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(5):
        assert process.stdout.readline()
    process.terminate()
    process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == -signal.SIGTERM
    # The fifth step was open, as far as the hook knows, when the signal was sent.
    assert len(read(out_dir).steps()) >= 4
