"""FSDP2 and DTensor: each worker saves its shard, and a reader puts the statistics together."""

import math

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import read, run_ranks
from smdebug.exceptions import SMDebugValueError, TensorUnavailableForStep
from smdebug.pytorch.shards import offsets_of_part
from smdebug.rules import builtin
from smdebug.trials import ShardPlacement

# Rows that do not divide evenly, a module of its own group and two of the root's.
MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = torch.nn.Linear(5, width)
        self.relu = torch.nn.ReLU()
        self.fc2 = torch.nn.Linear(width, 3)
        self.norm = torch.nn.LayerNorm(3)

    def forward(self, x):
        return self.norm(self.fc2(self.relu(self.fc1(x))))

def make(width=7):
    torch.manual_seed(0)
    return Net(width)

def batch(step):
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(step))

def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(batch(step))[:, 0].square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
"""

SHARDED = (
    MODEL
    + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

def shard(model, mesh=None):
    mesh = mesh or init_device_mesh("cpu", (ranks,))
    fully_shard(model.fc1, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model

def make_hook(**arguments):
    return smd.Hook(out_dir, save_all=True, include_workers="all",
                    save_config=smd.SaveConfig(save_interval=1), **arguments)

"""
)
PARAMETERS = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "norm.weight", "norm.bias"]
TENSORS = [f"{kind}Net_{path}" for kind in ("", "gradient/") for path in PARAMETERS]


def unsharded(folder, steps, width=7):
    """The run of the same model in one process."""
    own = {}
    exec(MODEL, own)
    model = own["make"](width)
    with smd.Hook(folder, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        own["train"](model, steps)
    return read(folder)


def whole_of(tensor, step):
    """The tensor put together from the shards that the workers saved, each exactly once."""
    whole = None
    for worker in tensor.workers(step):
        shard, place = tensor.value(step, worker=worker), tensor.placement(step, worker=worker)
        if whole is None:
            whole = np.full(place.global_shape, np.nan, shard.dtype)
        box = tuple(slice(o, o + n) for o, n in zip(place.offsets, shard.shape, strict=True))
        assert np.isnan(whole[box]).all()
        whole[box] = shard
    return whole


def assert_same_summary(found, expected):
    for field in ("count", "nan", "positive_inf", "negative_inf", "zeros", "min", "max"):
        assert getattr(found, field) == getattr(expected, field), field
    for field in ("mean", "std", "l1", "l2"):
        assert math.isclose(
            getattr(found, field), getattr(expected, field), rel_tol=1e-12, abs_tol=1e-15
        ), field


@pytest.mark.parametrize("order", ["registered first", "sharded first"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_shards_make_up_the_tensors_of_the_unsharded_model(tmp_path, out_dir, ranks, order):
    script = SHARDED + (
        "model = make()\nhook = make_hook()\n"
        + (
            "hook.register_module(model)\nshard(model)\n"
            if order == "registered first"
            else "hook.register_module(shard(model))\n"
        )
        + "train(model, 3)\nleave(hook)\n"
    )
    run_ranks(tmp_path, script, out_dir, ranks=ranks)
    trial, expected = read(out_dir), unsharded(str(tmp_path / "unsharded"), 3)
    assert trial.workers() == [f"worker_{rank}" for rank in range(ranks)]
    assert trial.tensor_names() == expected.tensor_names()
    for name in TENSORS:
        tensor, whole = trial.tensor(name), expected.tensor(name)
        assert tensor.steps() == whole.steps() == [0, 1, 2]
        for step in range(3):
            np.testing.assert_array_equal(whole_of(tensor, step), whole.value(step), err_msg=name)
            assert_same_summary(tensor.summary(step, merged=True), whole.summary(step))
    first = trial.tensor("Net_fc1.weight")
    rows = -(-7 // ranks)
    for rank in range(ranks):
        assert first.placement(0, worker=f"worker_{rank}") == ShardPlacement(
            (7, 5), (min(rank * rows, 7), 0)
        )


def test_replicas_of_shards_count_once(tmp_path, out_dir):
    run_ranks(
        tmp_path,
        SHARDED
        + """
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))
model = shard(make(), mesh)
hook = make_hook()
hook.register_module(model)
train(model, 2)
leave(hook)
""",
        out_dir,
        ranks=4,
    )
    trial, expected = read(out_dir), unsharded(str(tmp_path / "unsharded"), 2)
    for name in TENSORS:
        tensor = trial.tensor(name)
        assert len(tensor.workers(1)) == 4
        assert_same_summary(tensor.summary(1, merged=True), expected.tensor(name).summary(1))
    assert builtin("ReplicasDiffer", trial).judge()["status"] == "NoIssuesFound"


def test_what_is_no_shard_is_not_merged(tmp_path, out_dir):
    run_ranks(
        tmp_path,
        SHARDED
        + """
hook = make_hook()
model = shard(make())
hook.register_module(model)
train(model, 1)
leave(hook)
""",
        out_dir,
    )
    output = read(out_dir).tensor("Net_output_0")
    assert output.placement(0, worker="worker_1") is None
    with pytest.raises(SMDebugValueError, match="worker_0 saved a whole tensor"):
        output.summary(0, merged=True)
    with pytest.raises(SMDebugValueError, match="worker_1"):
        output.summary(0, worker="worker_1", merged=True)


def test_one_worker_s_shard_is_not_taken_for_the_whole(tmp_path, out_dir):
    run_ranks(
        tmp_path,
        SHARDED
        + """
hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
model = shard(make())
hook.register_module(model)
train(model, 1)
leave(hook)
""",
        out_dir,
    )
    weight = read(out_dir).tensor("Net_fc2.weight")
    assert weight.summary(0).count == 14
    with pytest.raises(TensorUnavailableForStep) as raised:
        weight.summary(0, merged=True)
    assert "14 of 21 elements" in str(raised.value)


def test_a_sharded_training_is_the_same_bit_for_bit_and_calls_as_many_collectives(
    tmp_path, out_dir
):
    said = run_ranks(
        tmp_path,
        SHARDED
        + """
def trained(watched):
    hook = make_hook() if watched else None
    model = make()
    model.relu = torch.nn.Dropout(0.5)
    shard(model)
    if hook:
        hook.register_module(model)
    before = dist.group.WORLD._get_sequence_number_for_group()
    torch.manual_seed(7)
    losses = train(model, 5)
    calls = dist.group.WORLD._get_sequence_number_for_group() - before
    if hook:
        hook.close()
    bits = [p.to_local().detach().numpy().tobytes() for p in model.parameters()]
    return losses, calls, bits

plain, watched = trained(False), trained(True)
assert plain[1] > 5
print(plain == watched)
leave()
""",
        out_dir,
    )
    assert said == ["True\n", "True\n"]
    assert read(out_dir).steps() == list(range(5))


def test_distributed_tensors_of_tensor_parallel_models_are_saved_as_their_shards(tmp_path, out_dir):
    run_ranks(
        tmp_path,
        SHARDED
        + """
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module)

mesh = init_device_mesh("cpu", (ranks,))
model = make(8)
parallelize_module(model, mesh, {"fc1": ColwiseParallel(), "fc2": RowwiseParallel()})
hook = make_hook()
hook.register_module(model)
train(model, 2)
hook.save_tensor("mine", distribute_tensor(torch.arange(12.0).reshape(3, 4), mesh, [Shard(1)]))
leave(hook)
""",
        out_dir,
    )
    trial, expected = read(out_dir), unsharded(str(tmp_path / "unsharded"), 2, width=8)
    for name in ("Net_fc1.weight", "Net_fc1.bias", "Net_fc2.weight"):
        for kind in ("", "gradient/"):
            tensor, whole = trial.tensor(kind + name), expected.tensor(kind + name)
            np.testing.assert_allclose(whole_of(tensor, 1), whole.value(1), rtol=1e-4, atol=1e-6)
            assert tensor.summary(1, merged=True).count == whole.value(1).size
    assert trial.tensor("Net_fc2.weight").placement(0, worker="worker_1").offsets == (0, 4)
    assert trial.tensor("mine").summary(1, merged=True).l1 == 66


def test_parameters_sharded_in_two_ways_have_their_place(tmp_path, out_dir):
    """fully_shard around tensor parallelism: where both cut along one dimension torch speaks of
    strided shards."""
    run_ranks(
        tmp_path,
        SHARDED
        + """
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module)

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
model = make(8)
parallelize_module(model, mesh["tp"], {"fc1": ColwiseParallel(), "fc2": RowwiseParallel()})
fully_shard(model.fc1, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
kinds = [type(each).__name__ for each in model.fc1.weight.placements]
hook = make_hook()
hook.register_module(model)
train(model, 2)
print(kinds)
leave(hook)
""",
        out_dir,
        ranks=4,
    )
    trial, expected = read(out_dir), unsharded(str(tmp_path / "unsharded"), 2, width=8)
    for name in ("Net_fc1.weight", "Net_fc1.bias"):
        for kind in ("", "gradient/"):
            tensor, whole = trial.tensor(kind + name), expected.tensor(kind + name)
            np.testing.assert_allclose(whole_of(tensor, 1), whole.value(1), rtol=1e-4, atol=1e-6)
            assert tensor.summary(1, merged=True).count == whole.value(1).size
    places = [
        trial.tensor("Net_fc1.weight").placement(0, worker=f"worker_{rank}").offsets[0]
        for rank in range(4)
    ]
    assert places == [0, 4, 2, 6]


def test_a_compiled_sharded_model_saves_what_the_eager_one_saves(tmp_path, out_dir):
    for name, called in {
        "eager": "model",
        "compiled": "torch.compile(model, backend='aot_eager')",
    }.items():
        run_ranks(
            tmp_path,
            SHARDED
            + f"""
model = shard(make())
called = {called}
hook = make_hook()
hook.register_module(called)
train(called, 3)
leave(hook)
""",
            f"{out_dir}-{name}",
        )
    eager, compiled = read(f"{out_dir}-eager"), read(f"{out_dir}-compiled")
    assert compiled.tensor_names() == eager.tensor_names()
    assert compiled.steps() == eager.steps() == [0, 1, 2]
    for name in (*TENSORS, "relu_output_0", "fc2_input_0"):
        for worker in compiled.tensor(name).workers(2):
            np.testing.assert_allclose(
                compiled.tensor(name).value(2, worker=worker),
                eager.tensor(name).value(2, worker=worker),
                rtol=1e-5,
                atol=1e-7,
            )


def test_parts_lie_where_torch_cuts_them():
    from torch.distributed.tensor import Partial, Replicate, Shard

    seed = torch.seed() % 2**32
    random = np.random.default_rng(seed)
    for _ in range(200):
        shape = random.integers(1, 9, size=2).tolist()
        mesh = random.integers(1, 4, size=2).tolist()
        placements = [
            Shard(int(random.integers(2))) if random.random() < 0.7 else Replicate() for _ in mesh
        ]
        whole = torch.arange(shape[0] * shape[1]).reshape(shape)
        for coordinate in np.ndindex(*mesh):
            part = whole
            for processes, position, placement in zip(mesh, coordinate, placements, strict=True):
                if isinstance(placement, Shard):
                    pieces = list(part.chunk(processes, placement.dim))
                    empty = part.narrow(placement.dim, 0, 0)
                    pieces += [empty] * (processes - len(pieces))
                    part = pieces[position]
            found = offsets_of_part(shape, mesh, coordinate, placements, part.shape)
            if all(isinstance(placement, Replicate) for placement in placements):
                assert found is None
            elif part.numel():
                first = int(part.flatten()[0])
                assert found == [first // shape[1], first % shape[1]], f"seed {seed}"
    assert offsets_of_part([4], [2], [0], [Partial()], [4]) is None


def test_strided_parts_lie_where_torch_puts_them():
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.placement_types import _StridedShard

    seed = torch.seed() % 2**32
    random = np.random.default_rng(seed)
    boxes = 0
    for _ in range(200):
        outer, inner = random.integers(1, 4, size=2).tolist()
        rows = int(random.integers(1, 5)) * (outer * inner if random.random() < 0.7 else 1)
        factor = inner if random.random() < 0.8 else inner + 1
        whole = torch.arange(rows)
        for coordinate in np.ndindex(outer, inner):
            # The rows of each of `factor` pieces that this process's place along the outer
            # dimension has, then its share of those.
            pieces = [
                each.tensor_split(outer)[coordinate[0]] for each in whole.tensor_split(factor)
            ]
            part = torch.cat(pieces).tensor_split(inner)[coordinate[1]]
            placements = [_StridedShard(0, split_factor=factor), Shard(0)]
            found = offsets_of_part([rows], [outer, inner], coordinate, placements, part.shape)
            if found is not None:
                assert part.tolist() == list(range(found[0], found[0] + len(part))), f"seed {seed}"
                boxes += 1
            else:
                assert factor != inner or rows % (outer * inner), f"seed {seed}"
    assert boxes
