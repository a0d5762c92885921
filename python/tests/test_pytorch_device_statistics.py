"""Statistics that are made on a device, against the accelerator of stand_in_accelerator.py."""

import contextlib
import functools
import math
import random

import ml_dtypes
import numpy as np
import pytest
import stand_in_accelerator
import torch
from recorded_runs import frame, record, statistics
from torch.utils._python_dispatch import TorchDispatchMode

import smdebug.pytorch as smd
from conftest import Given, Net, read, train
from smdebug.pytorch.device import device_copies, device_statistics, pinned_memory
from smdebug.rules import Rule

EVERY_STEP = smd.SaveConfig(save_interval=1)
SUMMARY = smd.ReductionConfig(summary=True)
HELD = {
    "reductions": ["min", "max", "mean", "std", "variance", "sum"],
    "norms": ["l1", "l2"],
    "abs_reductions": ["max", "mean", "sum"],
    "abs_norms": ["l1", "l2"],
}
# What is copied of a piece: ten numbers in float64.
NUMBERS_BYTES = 80

# What docs/performance.md says, of a piece, and operators that launch nothing.
LAUNCHES = {torch.float16: 22, torch.int32: 22, torch.float64: 28, torch.complex64: 24}
VIEWS = ("detach", "view", "select", "split", "slice", "alias")

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
]
OTHERS = [torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.fixture
def device(monkeypatch):
    """Every tensor that has elements is worth it."""
    monkeypatch.setattr(device_statistics, "_LEAST_BYTES", 1)
    with stand_in_accelerator.at_work() as accelerator:
        yield accelerator


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(device_statistics, "_MOST_ELEMENTS", 64)


# --- the numbers ---


def random_tensor(rng, generator, dtype):
    """A tensor of any shape and strides, with what is not finite, zeros and subnormals."""
    shape = [rng.choice([1, 2, 3, 7, 40]) for _ in range(rng.randrange(4))]
    if rng.random() < 0.1:
        shape = [*shape, 0]
    if dtype.is_floating_point or dtype.is_complex:
        at_least_float32 = dtype if dtype.itemsize >= 4 else torch.float32
        tensor = torch.randn(shape, dtype=at_least_float32, generator=generator)
        tensor = tensor * rng.choice([1, 1e-3, 30]) + rng.choice([0, 1, 100])
        flat = tensor.view(-1)
        specials = [math.nan, math.inf, -math.inf, 0.0, -0.0, torch.finfo(dtype).tiny / 2]
        if dtype.is_complex:
            specials += [complex(math.inf, math.nan), complex(0, -math.inf), 3 - 4j]
        for _ in range(rng.choice([0, 0, 1, 5, 60]) if len(flat) else 0):
            flat[rng.randrange(len(flat))] = rng.choice(specials)
        tensor = tensor.to(dtype)
    elif dtype == torch.bool:
        tensor = torch.rand(shape, generator=generator) < 0.5
    else:
        bytes_ = torch.randint(0, 256, [*shape, dtype.itemsize], generator=generator)
        tensor = bytes_.to(torch.uint8).view(dtype).view(shape)
    if tensor.dim() >= 2 and rng.random() < 0.5:
        tensor = tensor.transpose(0, -1)
    if tensor.dim() and rng.random() < 0.3:
        tensor = tensor[::2]
    if tensor.dim() == 2 and rng.random() < 0.2:
        tensor = tensor.unsqueeze(1).expand(-1, 3, -1)
    if dtype.is_complex and tensor.numel() and rng.random() < 0.5:
        tensor = tensor.conj() if rng.random() < 0.5 else tensor.conj().imag
    return tensor


def as_numpy(tensor):
    """In float64, complex elements by their absolute value."""
    resolved = tensor.resolve_conj().resolve_neg().contiguous()
    if resolved.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        kind = getattr(ml_dtypes, str(resolved.dtype).removeprefix("torch."))
        numbers = resolved.view(getattr(torch, f"uint{8 * kind(0).itemsize}")).numpy().view(kind)
    else:
        numbers = resolved.numpy()
    if np.iscomplexobj(numbers):
        return np.hypot(numbers.real.astype(float), numbers.imag.astype(float))
    return numbers.astype(float)


def expected_statistics(tensor):
    numbers = as_numpy(tensor)
    finite = numbers[np.isfinite(numbers)]
    mean = math.fsum(finite) / max(1, finite.size)
    return {
        "count": numbers.size,
        "nan": np.isnan(numbers).sum(),
        "positive_inf": np.isposinf(numbers).sum(),
        "negative_inf": np.isneginf(numbers).sum(),
        "zeros": (numbers == 0).sum(),
        "min": finite.min() if finite.size else 0,
        "max": finite.max() if finite.size else 0,
        "mean": mean,
        "m2": math.fsum((finite - mean) ** 2),
        "sum_abs": math.fsum(np.abs(finite)),
        "sum_squares": math.fsum(finite**2),
    }


def assert_alike(found, expected, what="", is_complex=False):
    """Counts and bounds are the same; sums are, to rounding, and absolutes of complex numbers."""
    count = max(1, expected["count"])
    rounding = {
        "mean": 1e-12 * expected["sum_abs"] / count,
        "m2": 1e-11 * expected["m2"] + 1e-15 * expected["sum_squares"],
        "sum_abs": 1e-12 * expected["sum_abs"],
        "sum_squares": 1e-11 * expected["sum_squares"],
    }
    if is_complex:
        rounding["min"] = rounding["max"] = 1e-15 * expected["max"]
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name in rounding:
            assert abs(found[name] - value) <= rounding[name], f"{what} {name}"
        else:
            assert found[name] == value, f"{what} {name}"


@pytest.mark.parametrize("dtypes", [FLOATS, INTEGERS, OTHERS], ids=["floats", "ints", "others"])
def test_the_numbers_are_those_of_numpy_and_of_host_memory(tmp_path, monkeypatch, dtypes):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    tensors = [random_tensor(rng, generator, dtype) for dtype in dtypes for _ in range(25)]
    assert len({tensor.shape for tensor in tensors}) > 10
    host, _ = record(str(tmp_path / "host"), *tensors, reduction_config=SUMMARY)
    monkeypatch.setattr(device_statistics, "_LEAST_BYTES", 1)
    monkeypatch.setattr(device_statistics, "_MOST_ELEMENTS", rng.choice([1, 50, 1000]))
    with stand_in_accelerator.at_work() as device:
        run, hook = record(str(tmp_path / "device"), *tensors, reduction_config=SUMMARY)
    assert hook.status().error is None and hook.status().skipped == {}
    assert device.copied == sum(tensor.numel() > 0 for tensor in tensors)
    assert device.copied_at_once == 0
    assert all(size % NUMBERS_BYTES == 0 for size in device.copied_bytes)
    assert frame(run) == frame(host)
    for number, tensor in enumerate(tensors):
        name = f"Given_output_{number}"
        what = f"{tensor.dtype} {list(tensor.shape)} {tensor.stride()}"
        found = run.tensor(name).statistics(0)
        for expected in (expected_statistics(tensor), host.tensor(name).statistics(0)):
            assert_alike(found, expected, what, tensor.is_complex())
        assert run.tensor(name).shape(0) == host.tensor(name).shape(0) == tuple(tensor.shape)


def test_a_large_mean_does_not_drown_the_deviations(tmp_path, device, small_pieces):
    generator = torch.Generator().manual_seed(5)
    tensor = 1e4 + 1e-2 * torch.randn(1000, generator=generator)
    run, _ = record(str(tmp_path / "run"), tensor, reduction_config=SUMMARY)
    numbers = tensor.double().numpy()
    found = run.tensor("Given_output_0").statistics(0)
    assert found["m2"] == pytest.approx(math.fsum((numbers - numbers.mean()) ** 2), rel=1e-9)
    assert device.copied_bytes == [16 * NUMBERS_BYTES]


def test_a_mean_is_there_where_the_sum_is_beyond_float64(tmp_path, device):
    tensors = [
        torch.tensor([1.5e308, 1.5e308, -1.0], dtype=torch.float64),
        torch.tensor([1e308, 1e308, -1e308], dtype=torch.complex128),
    ]
    run, _ = record(str(tmp_path / "run"), *tensors, reduction_config=SUMMARY)
    found, of_complex = (run.tensor(f"Given_output_{n}").statistics(0) for n in (0, 1))
    for each in (found, of_complex):
        assert each["mean"] == pytest.approx(1e308, rel=1e-15)
    assert found["m2"] == found["sum_squares"] == found["sum_abs"] == math.inf
    assert device.copied_bytes == [NUMBERS_BYTES] * 2


@pytest.mark.parametrize(
    "shape",
    [(1000,), (1, 1, 1000), (3, 65), (3, 130, 2), (500, 2), (2,) * 8, (64,), (7, 9)],
)
@pytest.mark.parametrize("is_transposed", [False, True])
def test_pieces_are_small_and_hold_each_element_once(small_pieces, shape, is_transposed):
    tensor = torch.arange(math.prod(shape)).reshape(shape)
    tensor = tensor.transpose(0, -1) if is_transposed else tensor
    pieces = list(device_statistics._pieces(tensor))
    assert max(piece.numel() for piece in pieces) <= 64
    assert len(pieces) <= 2 * math.ceil(tensor.numel() / 32)
    elements = sorted(element for piece in pieces for element in piece.flatten().tolist())
    assert elements == list(range(tensor.numel()))
    assert all(piece.data_ptr() >= tensor.data_ptr() for piece in pieces)


# --- what it costs ---


class Operators(TorchDispatchMode):
    """Notes what is asked of torch, and the size of the largest answer."""

    def __init__(self):
        super().__init__()
        self.names, self.most_bytes = [], 0

    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        answer = operator(*arguments, **(keywords or {}))
        self.names.append(operator.name())
        if not operator.is_view and isinstance(answer, torch.Tensor):
            self.most_bytes = max(self.most_bytes, answer.nbytes)
        return answer


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32, torch.complex64])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_nothing_waits_for_the_device_and_no_large_tensor_is_made(
    small_pieces, dtype, is_transposed
):
    tensor = torch.randn(2, 500, 3).to(dtype)
    tensor = tensor.transpose(0, 1) if is_transposed else tensor
    with Operators() as operators:
        numbers = device_statistics.begin_statistics(tensor)
    # These depend on values, or bring them to the program.
    waiting = ("_local_scalar_dense", "nonzero", "index", "masked_select", "unique", "equal")
    asked = {name.removeprefix("aten::").partition(".")[0] for name in operators.names}
    assert asked.isdisjoint(waiting) and "sum" in asked
    assert operators.most_bytes <= max(64 * 8, numbers.nbytes)
    launched = [name for name in operators.names if not any(view in name for view in VIEWS)]
    pieces = len(list(device_statistics._pieces(tensor)))
    assert len(launched) <= LAUNCHES[dtype] * pieces + 1  # they are stacked at the end


def test_tensors_that_are_cheaper_to_copy_are_copied(tmp_path):
    with stand_in_accelerator.at_work() as device:
        run, _ = record(
            str(tmp_path / "run"),
            torch.ones((3 << 18) - 1),
            torch.ones(3 << 18),
            reduction_config=SUMMARY,
        )
    assert device.copied_bytes == [(3 << 20) - 4, NUMBERS_BYTES]
    assert [run.tensor(f"Given_output_{n}").statistics(0)["sum_abs"] for n in (0, 1)] == [
        (3 << 18) - 1,
        3 << 18,
    ]


@pytest.fixture
def pinned(monkeypatch):
    """Memory that a kernel can write to."""
    monkeypatch.setattr(
        pinned_memory, "pinned", lambda count_bytes: torch.empty(count_bytes, dtype=torch.uint8)
    )


def test_a_kernel_computes_what_it_can_at_every_size(tmp_path, pinned):
    tensors = [torch.randn(3, 5), torch.zeros(()), torch.tensor([math.nan, -math.inf, 2.0])]
    others = [torch.ones(4, dtype=torch.float64), torch.ones(0)]
    host, _ = record(str(tmp_path / "host"), *tensors, *others, reduction_config=SUMMARY)
    with stand_in_accelerator.at_work() as device:
        device.has_kernels = True
        run, hook = record(str(tmp_path / "device"), *tensors, *others, reduction_config=SUMMARY)
    assert hook.status().error is None and hook.status().skipped == {}
    assert device.reduced == len(tensors)
    assert frame(run) == frame(host)
    for number in range(len(tensors) + len(others)):
        name = f"Given_output_{number}"
        assert_alike(run.tensor(name).statistics(0), host.tensor(name).statistics(0), name)


def test_a_kernel_computes_more_rows_than_a_block_of_memory_has(tmp_path, pinned):
    tensors = [torch.full((2, 2), float(n)) for n in range(1100)]
    with stand_in_accelerator.at_work() as device:
        device.has_kernels = True
        run, hook = record(str(tmp_path / "run"), *tensors, reduction_config=SUMMARY)
    assert hook.status().skipped == {} and device.reduced == 1100
    means = [run.tensor(f"Given_output_{n}").statistics(0)["mean"] for n in range(1100)]
    assert means == list(range(1100))


def test_no_kernel_writes_to_memory_that_is_not_pinned(tmp_path, monkeypatch):
    def refuse(count_bytes):
        raise RuntimeError("no pinned memory today")

    monkeypatch.setattr(pinned_memory, "pinned", refuse)
    with stand_in_accelerator.at_work() as device:
        device.has_kernels = True
        run, _ = record(str(tmp_path / "run"), *torch.ones(3, 4), reduction_config=SUMMARY)
    assert device.reduced == 0
    assert run.tensor("Given_output_2").statistics(0)["mean"] == 1


def test_a_kernel_takes_no_tensor_whose_elements_are_saved(tmp_path, pinned):
    with stand_in_accelerator.at_work() as device:
        device.has_kernels = True
        run, _ = record(str(tmp_path / "run"), torch.arange(6.0))
    assert device.reduced == 0
    np.testing.assert_array_equal(run.tensor("Given_output_0").value(0), np.arange(6.0))


def test_only_the_sample_of_a_tensor_leaves_the_device(tmp_path):
    tensor = torch.arange(256.0 * 6).view(256, 6)
    runs = []
    with stand_in_accelerator.at_work() as device:
        runs.append(sampled(tmp_path / "device", tensor))
    runs.append(sampled(tmp_path / "host", tensor))
    assert device.copied_bytes == [128 * 3 * 4]
    for run in runs:
        np.testing.assert_array_equal(run.tensor("Given_output_0").value(0), tensor[::2, ::2])


def sampled(folder, tensor):
    """The run of a hook that saves at most 400 elements of a tensor."""
    with smd.Hook(str(folder), include_collections=["outputs"], save_config=EVERY_STEP) as hook:
        outputs = hook.get_collection("outputs")
        outputs.include("_output_")
        outputs.max_elements = 400
        model = Given(tensor)
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
        model()
    assert hook.status().error is None and hook.status().skipped == {}
    return read(str(folder))


# --- the run ---


def recorded(folder, steps=3, **options):
    """A training, and a step of evaluation behind it."""
    with smd.Hook(str(folder), save_config=EVERY_STEP, **options) as hook:
        torch.manual_seed(0)
        model = Net()
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
        train(model, steps)
        hook.set_mode(smd.modes.EVAL)
        with torch.inference_mode():
            model(torch.randn(2, 4))
    assert hook.status().error is None and hook.status().skipped == {}
    return read(str(folder)), hook


def recorded_twice(tmp_path, **options):
    """The run of tensors in host memory, that of tensors on a device, and the device."""
    host, _ = recorded(tmp_path / "host", **options)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(device_statistics, "_LEAST_BYTES", 1)
        with stand_in_accelerator.at_work() as device:
            run, _ = recorded(tmp_path / "device", **options)
    return host, run, device


def assert_same_run(run, host):
    assert frame(run) == frame(host)
    found, expected = statistics(run), statistics(host)
    assert list(found) == list(expected) and len(found) >= 16
    for key, values in expected.items():
        assert_alike(found[key], values, key)
    for name, mode, step in expected:
        reduced = [each.tensor(name).reduction_values(step, mode=mode) for each in (run, host)]
        assert reduced[0].keys() == reduced[1].keys()
        for op, value in reduced[1].items():
            found = reduced[0][op]
            assert found == pytest.approx(value, rel=1e-6, abs=1e-12, nan_ok=True), f"{name} {op}"
            assert (found.dtype, np.shape(found)) == (value.dtype, np.shape(value))


@pytest.mark.parametrize(
    "reduction_config",
    [smd.ReductionConfig(**HELD), SUMMARY, smd.ReductionConfig(summary=True, save_shape=True)],
    ids=["reductions", "summary", "shape"],
)
def test_a_run_is_the_one_that_tensors_in_host_memory_give(tmp_path, reduction_config):
    host, run, device = recorded_twice(tmp_path, save_all=True, reduction_config=reduction_config)
    assert_same_run(run, host)
    assert device.copied > 30 and device.copied_at_once == 0
    assert set(device.copied_bytes) == {NUMBERS_BYTES}


def test_one_event_marks_the_end_of_numbers_and_elements(out_dir, device):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, include_collections=["weights", "biases"])
    hook.get_collection("weights").reduction_config = SUMMARY
    model = Net()
    hook.register_module(model)
    weights, biases, seen = [], [], []

    def note(step):
        weights.append(model.fc1.weight.detach().clone())
        biases.append(model.fc1.bias.detach().clone())
        seen.append((len(device.events), device.waits))

    train(model, 3, on_step=note)
    assert seen == [(1, 0), (2, 1), (3, 2)]
    hook.close()
    assert (len(device.events), device.waits) == (3, 3)
    sizes = {NUMBERS_BYTES, model.fc1.bias.nbytes, model.fc2.bias.nbytes}
    assert device.copied == 12 and set(device.copied_bytes) == sizes
    run = read(out_dir)
    for step in range(3):
        found = run.tensor("Net_fc1.weight").statistics(step)
        assert_alike(found, expected_statistics(weights[step]), f"as it was in step {step}")
        assert run.tensor("Net_fc1.bias").value(step).tolist() == biases[step].tolist()


class WantsValues(Rule):
    def set_required_tensors(self, step):
        self.req_tensors.add("Given_output_0", steps=[step])

    def invoke_at_step(self, step):
        self.base_trial.tensor("Given_output_0").value(step)
        return False


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reduction_config": smd.ReductionConfig(reductions=["mean", "median"])},
        {"reduction_config": smd.ReductionConfig(reductions=["prod"])},
        {"reduction_config": smd.ReductionConfig(abs_reductions=["min"])},
        {"reduction_config": smd.ReductionConfig(abs_reductions=["std"])},
        {"reduction_config": smd.ReductionConfig(save_raw_tensor=True, reductions=["mean"])},
        {"reduction_config": SUMMARY, "export_tensorboard": True},
        {"reduction_config": SUMMARY, "rules": [WantsValues]},
    ],
    ids=["values", "median", "prod", "abs_min", "abs_std", "both", "histogram", "rule"],
)
def test_elements_are_copied_where_they_are_looked_at(tmp_path, device, options):
    tensor = torch.arange(20.0)
    run, hook = record(str(tmp_path / "run"), tensor, **options)
    assert hook.status().error is None and hook.status().skipped == {}
    assert device.copied_bytes == [tensor.nbytes] and device.copied_at_once == 0
    assert_alike(run.tensor("Given_output_0").statistics(0), expected_statistics(tensor))


def test_a_rule_that_needs_statistics_sees_them_in_time(tmp_path):
    """The third step's gradients are NaN: the rule keeps them from the parameters."""

    def run(folder):
        hook = smd.Hook(
            str(folder),
            include_collections=["gradients"],
            reduction_config=SUMMARY,
            save_config=EVERY_STEP,
            rules=["ExplodingTensor"],
            on_fire="skip_step",
        )
        torch.manual_seed(0)
        model = Net()
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
        factors = iter([1.0, 1.0, math.nan, 1.0])
        criterion = torch.nn.CrossEntropyLoss()
        train(model, 4, loss=lambda x, y: criterion(x, y) * next(factors))
        hook.close()
        assert hook.status().error is None
        assert all(parameter.isfinite().all() for parameter in model.parameters())
        return hook.skipped_steps, read(str(folder))

    skipped, host = run(tmp_path / "host")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(device_statistics, "_LEAST_BYTES", 1)
        with stand_in_accelerator.at_work() as device:
            found, seen = run(tmp_path / "device")
    assert found == skipped == [2]
    assert_same_run(seen, host)
    assert set(device.copied_bytes) == {NUMBERS_BYTES}


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    "mode",
    [
        *(torch.inference_mode, torch.enable_grad, deterministic),
        functools.partial(torch.autocast, "cpu", dtype=torch.bfloat16),
    ],
    ids=["inference", "grad", "deterministic", "autocast"],
)
def test_the_numbers_are_the_same_in_every_mode_of_torch(tmp_path, device, mode):
    tensor = torch.tensor([1e-3, 2.0, math.nan, 70000.0], requires_grad=True)
    with mode():
        run, hook = record(str(tmp_path / "run"), tensor, reduction_config=SUMMARY)
    assert hook.status().skipped == {} and device.copied_bytes == [NUMBERS_BYTES]
    found = run.tensor("Given_output_0").statistics(0)
    assert_alike(found, expected_statistics(tensor.detach()))


def test_a_compiled_graph_gives_the_same_numbers(out_dir, device, nothing_is_compiled):
    model = torch.nn.Tanh()
    x = torch.tensor([1e-3, 2.0, math.nan, -70000.0])
    with smd.Hook(
        out_dir, include_regex=["Tanh_output_0"], save_config=EVERY_STEP, reduction_config=SUMMARY
    ) as hook:
        hook.register_module(model)
        torch.compile(model, backend="eager")(x)
    assert hook.status().skipped == {} and device.copied_bytes == [NUMBERS_BYTES]
    found = read(out_dir).tensor("Tanh_output_0").statistics(0)
    assert_alike(found, expected_statistics(torch.tanh(x)))


def test_a_shard_keeps_its_place_in_the_whole(tmp_path, monkeypatch):
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    monkeypatch.setattr(device_statistics, "_LEAST_BYTES", 1)
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        whole = torch.arange(6.0).reshape(3, 2)
        tensor = distribute_tensor(whole, init_device_mesh("cpu", (1,)), [Shard(0)])
        host, _ = record(str(tmp_path / "host"), tensor, reduction_config=SUMMARY)
        with stand_in_accelerator.at_work() as device:
            run, hook = record(str(tmp_path / "device"), tensor, reduction_config=SUMMARY)
    finally:
        torch.distributed.destroy_process_group()
    assert device.copied_bytes == [NUMBERS_BYTES] and hook.status().skipped == {}
    place = run.tensor("Given_output_0").placement(0)
    assert place is not None and place == host.tensor("Given_output_0").placement(0)
    assert_alike(run.tensor("Given_output_0").statistics(0), expected_statistics(whole))


def test_an_operator_of_the_users_own_type_is_not_asked(tmp_path, device):
    class Guarded(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), keywords=None):
            if function.__name__ in ("nan_to_num", "sum", "amin", "sub"):
                raise AssertionError(f"{function.__name__} was asked")
            return super().__torch_function__(function, types, arguments, keywords or {})

    tensor = torch.arange(9.0)
    guarded = tensor.clone().as_subclass(Guarded)
    run, _ = record(str(tmp_path / "run"), guarded, reduction_config=SUMMARY)
    assert device.copied_bytes == [NUMBERS_BYTES]
    assert_alike(run.tensor("Given_output_0").statistics(0), expected_statistics(tensor))


# --- what goes wrong ---


def test_a_device_that_cannot_make_them_copies_elements(tmp_path, device, logged, monkeypatch):
    def refuse(piece):
        raise TypeError("no float64 today")

    monkeypatch.setattr(device_statistics, "_in_float64", refuse)
    tensors = torch.arange(3.0), torch.arange(5.0)
    run, hook = record(str(tmp_path / "run"), *tensors, reduction_config=SUMMARY)
    assert hook.status().error is None and hook.status().skipped == {}
    assert len([line for line in logged if "no float64 today" in line]) == 1
    assert device.copied_bytes == [12, 20] and device.copied_at_once == 0
    for number, tensor in enumerate(tensors):
        found = run.tensor(f"Given_output_{number}").statistics(0)
        assert_alike(found, expected_statistics(tensor))


def test_numbers_that_the_device_did_not_copy_are_said(tmp_path, device):
    device.fails_at = "synchronize"
    run, hook = record(str(tmp_path / "run"), torch.ones(3), reduction_config=SUMMARY)
    assert "no synchronize today" in hook.status().skipped["Given_output_0"]
    assert "Given_output_0" not in run.tensor_names()


def test_statistics_of_a_tensor_larger_than_the_memory_for_copies(tmp_path, device, monkeypatch):
    monkeypatch.setattr(device_copies.DeviceCopies.__init__, "__defaults__", (None, 4096))
    tensors = [torch.arange(5000.0) - number for number in range(20)]
    run, hook = record(str(tmp_path / "run"), *tensors, reduction_config=SUMMARY)
    assert device.copied_at_once == 0 and device.waits > 1  # 8 places of 512 bytes
    for number, tensor in enumerate(tensors):
        found = run.tensor(f"Given_output_{number}").statistics(0)
        assert_alike(found, expected_statistics(tensor))
