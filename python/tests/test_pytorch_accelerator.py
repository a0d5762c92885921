"""Recording a training on a real accelerator. What can be tested without one is in
test_pytorch_device_copies.py."""

import math

import numpy as np
import pytest
import torch
from recorded_runs import contents, frame, statistics

import smdebug.pytorch as smd
from conftest import Given, read
from smdebug.pytorch.device import device_copies
from smdebug.pytorch.device.cuda_statistics import CudaStatistics

pytestmark = pytest.mark.skipif(
    not torch.accelerator.is_available(),
    reason="no accelerator: torch.accelerator.is_available() is False",
)

EVERY_STEP = smd.SaveConfig(save_interval=1)
EVERYTHING = ["all", "buffers", "optimizer_state", "activation_gradients"]


class Net(torch.nn.Module):
    """Layers of which some overwrite what others gave."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(16, 64, bias=False)
        self.norm = torch.nn.BatchNorm1d(64)
        self.relu = torch.nn.ReLU(inplace=True)
        self.dropout = torch.nn.Dropout(0.2)
        self.last = torch.nn.Linear(64, 3)

    def forward(self, x):
        return self.last(self.dropout(self.relu(self.norm(self.fc(x)))))


def accelerator():
    return torch.accelerator.current_accelerator()


def has_fp64(device):
    return device.type != "mps"


class Training:
    """A training of six steps on `device` with a validation in between, in mixed precision if
    `amp`. A step in `bad_steps` gets a NaN."""

    def __init__(self, device, hook=None, amp=False, dropout=0.2, dtype=None, bad_steps=()):
        torch.manual_seed(0)
        net = Net()
        net.dropout.p = dropout
        self.model = net.to(device, dtype)
        self.device, self.dtype, self.amp, self.bad_steps = device, dtype, amp, bad_steps
        self.loss = torch.nn.CrossEntropyLoss()
        self.hook = hook
        if hook:
            hook.register_module(self.model)
            hook.register_loss(self.loss)

    def run(self, on_step=lambda step, model: None):
        """Returns the losses and the final parameters, as bytes."""
        # Not Adam: it makes steps of one size of gradients that are rounding errors.
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp)
        random = torch.Generator().manual_seed(1)
        torch.manual_seed(2)
        losses = []
        for step in range(6):
            self._set_mode(smd.modes.TRAIN)
            x = torch.randn(32, 16, generator=random)
            if step in self.bad_steps:
                x[0, 0] = float("nan")
            y = torch.randint(0, 3, (32,), generator=random).to(self.device)
            optimizer.zero_grad()
            with torch.autocast(self.device.type, enabled=self.amp):
                loss = self.loss(self.model(x.to(self.device, self.dtype)), y)
            scaler.scale(loss).backward()
            on_step(step, self.model)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.detach())
            if step == 2:
                self._set_mode(smd.modes.EVAL)
                self.model.eval()
                with torch.inference_mode():
                    self.model(torch.ones(2, 16).to(self.device, self.dtype))
                self.model.train()
        state = [each.detach().cpu().numpy().tobytes() for each in self.model.parameters()]
        return [loss.item() for loss in losses], state

    def _set_mode(self, mode):
        if self.hook:
            self.hook.set_mode(mode)


def hook_for(folder, **options):
    return smd.Hook(
        str(folder), **{"include_collections": EVERYTHING, "save_config": EVERY_STEP, **options}
    )


@pytest.mark.parametrize("gradients", ["backward", "final"])
def test_a_run_is_that_of_the_same_training_on_the_cpu(tmp_path, gradients):
    device = accelerator()
    dtype = torch.float64 if has_fp64(device) else torch.float32
    rtol, atol = (1e-9, 1e-12) if has_fp64(device) else (1e-3, 1e-4)
    runs = []
    for name, where in ("host", torch.device("cpu")), ("device", device):
        with hook_for(tmp_path / name, gradients=gradients) as hook:
            Training(where, hook, dropout=0.0, dtype=dtype).run()
        assert hook.status().error is None and hook.status().skipped == {}
        runs.append(read(str(tmp_path / name)))
    host, run = runs
    assert frame(run) == frame(host)
    found, expected = contents(run), contents(host)
    assert found.keys() == expected.keys()
    for key, (kind, shape, elements) in expected.items():
        assert found[key][:2] == (kind, shape)
        np.testing.assert_allclose(
            np.frombuffer(found[key][2], kind),
            np.frombuffer(elements, kind),
            rtol=rtol,
            atol=atol,
            err_msg=str(key),
        )
    found, expected = statistics(run), statistics(host)
    for key, values in expected.items():
        for name, value in values.items():
            np.testing.assert_allclose(
                found[key][name], value, rtol=10 * rtol, atol=1000 * atol, err_msg=f"{key} {name}"
            )


def large_tensors():
    """More than a piece each, of every kind, with what is not finite, zeros and a large mean."""
    random = torch.Generator().manual_seed(7)
    tensors = []
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor = 100 + torch.randn(3, 1_500_001, generator=random, dtype=torch.float64)
        specials = torch.tensor([math.nan, math.inf, -math.inf, 0, -0.0, 1e-40])
        tensor.view(-1)[:6000:1000] = specials
        tensors += [tensor.to(dtype), tensor.to(dtype)[:, ::2].transpose(0, 1)]
    numbers = torch.randint(-100, 100, (4_000_000,), generator=random)
    tensors += [numbers.to(torch.int8), numbers, numbers > 0]
    tensors += [torch.complex(tensors[at], tensors[at]) for at in (4, 6)]
    return [*tensors, tensors[-1].conj()]


@pytest.mark.parametrize("with_kernels", [True, False])
def test_statistics_are_those_of_the_elements_and_no_element_is_copied(
    tmp_path, monkeypatch, with_kernels
):
    device = accelerator()
    if not has_fp64(device):
        pytest.skip("statistics are made on devices that have float64")
    tensors = large_tensors()
    copied = []
    if not with_kernels:
        monkeypatch.setattr(
            device_copies.TorchAccelerator, "has_kernel_for", lambda self, tensor: False
        )
    torchs_own = device_copies.TorchAccelerator.copy

    def note(accelerator, source, copy):
        copied.append(source.nbytes)
        return torchs_own(accelerator, source, copy)

    monkeypatch.setattr(device_copies.TorchAccelerator, "copy", note)
    runs = []
    for name, where in ("host", torch.device("cpu")), ("device", device):
        with hook_for(
            tmp_path / name,
            include_collections=[],
            include_regex=["_output_"],
            reduction_config=smd.ReductionConfig(summary=True),
        ) as hook:
            model = Given(*(tensor.to(where) for tensor in tensors))
            hook.register_module(model)
            hook.set_mode(smd.modes.TRAIN)
            model()
        assert hook.status().error is None and hook.status().skipped == {}
        runs.append(read(str(tmp_path / name)))
    host, run = runs
    has_kernels = CudaStatistics.create(torch.device(device.type, 0)) is not None
    assert len(copied) <= len(tensors) and max(copied) < 1000
    assert (len(copied) < len(tensors)) == (with_kernels and has_kernels)
    assert frame(run) == frame(host)
    found, expected = statistics(run), statistics(host)
    # Bounds too are rounded, of complex numbers.
    near = dict.fromkeys(("min", "max"), 1e-15)
    near |= {"mean": 1e-12, "m2": 1e-9, "sum_abs": 1e-12, "sum_squares": 1e-9}
    assert len(expected) == len(tensors)
    for key, values in expected.items():
        for name, value in values.items():
            assert found[key][name] == pytest.approx(value, rel=near.get(name, 0)), f"{key} {name}"


SPECIALS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -2e-7, 6e4]


def kernel_cases():
    random = torch.Generator().manual_seed(3)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for size in (1, 2, 255, 256, 257, 4096, 100_003, 5_000_001):
            tensor = torch.randn(size, generator=random, dtype=torch.float64)
            yield tensor.to(dtype)
            tensor[torch.randint(0, size, (size // 3,), generator=random)] = 0
            tensor[: len(SPECIALS)] = torch.tensor(SPECIALS)[:size]
            yield tensor.flip(0).to(dtype)
            yield (1e3 + 1e-2 * tensor).to(dtype)
        yield torch.full((1000,), math.nan, dtype=dtype)
        yield torch.full((1000,), -math.inf, dtype=dtype)
        yield torch.zeros(1000, dtype=dtype)
        yield torch.randn(300, 7, generator=random).to(dtype).t()
        yield torch.randn(4, 3, 5, 7, generator=random).to(dtype, memory_format=torch.channels_last)


def test_a_kernel_computes_the_ten_numbers_of_numpy():
    device = accelerator()
    kernels = CudaStatistics.create(torch.device(device.type, 0))
    if kernels is None:
        pytest.skip("no kernel for this device")
    results = torch.empty(100, 10, dtype=torch.float64).pin_memory()
    cases = list(kernel_cases())
    on_device = [case.to(device) for case in cases]
    for tensor, result in zip(on_device, results, strict=False):
        assert kernels.takes(tensor)
        kernels.begin(tensor, result.data_ptr())
    torch.accelerator.synchronize()
    for case, result in zip(cases, results, strict=False):
        values = case.double().numpy()
        finite = values[np.isfinite(values)].astype(np.longdouble)
        infinite = values[np.isinf(values)]
        what = f"{case.dtype} {list(case.shape)} {result.tolist()}"
        exact = [
            *(finite.size, values.size - finite.size, np.sign(infinite).sum(), infinite.size),
            *(np.count_nonzero(finite), finite.min(initial=np.inf), finite.max(initial=-np.inf)),
        ]
        assert result[:7].tolist() == exact, what
        mean = finite.mean() if finite.size else 0
        expected = [mean, ((finite - mean) ** 2).sum(), np.abs(finite).sum()]
        scale = float(np.abs(finite).max(initial=1))
        for found, value in zip(result[7:].tolist(), expected, strict=True):
            assert found == pytest.approx(float(value), rel=1e-9, abs=1e-12 * scale), what


def test_a_kernel_works_on_each_stream_of_its_own():
    device = accelerator()
    kernels = CudaStatistics.create(torch.device(device.type, 0))
    if kernels is None:
        pytest.skip("no kernel for this device")
    tensors = [torch.full((3_000_000,), float(n), device=device) for n in range(8)]
    results = torch.empty(8, 50, 10, dtype=torch.float64).pin_memory()
    torch.accelerator.synchronize()
    streams = [torch.cuda.Stream() for _ in tensors]
    for turn in range(50):
        for tensor, rows, stream in zip(tensors, results, streams, strict=True):
            with torch.cuda.stream(stream):
                kernels.begin(tensor, rows[turn].data_ptr())
    torch.accelerator.synchronize()
    for n, rows in enumerate(results):
        assert rows[:, 0].tolist() == [3_000_000] * 50
        assert rows[:, 7].tolist() == [n] * 50 and rows[:, 8].abs().max() == 0


def test_the_device_is_not_waited_for_while_a_step_runs(tmp_path):
    device = accelerator()
    if device.type != "cuda":
        pytest.skip("a wait that is not asked for is an error on CUDA devices alone")
    with hook_for(
        tmp_path / "run",
        include_collections=[],
        include_regex=["_output_"],
        reduction_config=smd.ReductionConfig(summary=True),
    ) as hook:
        model = Given(*(torch.ones(1 << 22, device=device) * n for n in range(3)))
        hook.register_module(model)
        model()  # memory is pinned
        torch.cuda.set_sync_debug_mode("error")
        try:
            model()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert hook.status().error is None and hook.status().skipped == {}
    run = read(str(tmp_path / "run"))
    assert [run.tensor(f"Given_output_{n}").statistics(1)["mean"] for n in range(3)] == [0, 1, 2]


def test_what_is_recorded_is_what_lay_on_the_device(tmp_path):
    seen = {}
    with hook_for(tmp_path / "run", include_collections=["weights", "gradients"]) as hook:
        training = Training(accelerator(), hook)

        def note(step, model):
            torch.accelerator.synchronize()
            for name, parameter in model.named_parameters():
                if "weight" in name:
                    seen[f"Net_{name}", step] = parameter.detach().cpu().numpy().copy()
                seen[f"gradient/Net_{name}", step] = parameter.grad.cpu().numpy().copy()

        training.run(note)
    run = read(str(tmp_path / "run"))
    assert len(seen) == 6 * (3 + 5)
    for (name, step), expected in seen.items():
        found = run.tensor(name).value(step, mode=smd.modes.TRAIN)
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} {step}")


@pytest.mark.parametrize("amp", [False, True], ids=["fp32", "amp"])
def test_no_bit_of_the_training_changes(tmp_path, amp):
    device = accelerator()
    bare = Training(device, amp=amp).run()
    with hook_for(tmp_path / "run") as hook:
        watched = Training(device, hook, amp=amp).run()
    assert hook.status().error is None
    assert watched == bare


def test_a_rule_skips_the_step_that_would_break_the_parameters(tmp_path):
    with hook_for(
        tmp_path / "run", include_collections=[], rules=["ExplodingTensor"], on_fire="skip_step"
    ) as hook:
        training = Training(accelerator(), hook, bad_steps=(3,))
        training.run()
    assert hook.status().error is None
    assert len(hook.skipped_steps) == 1
    assert all(torch.isfinite(each).all() for each in training.model.parameters())


def test_a_graph_can_be_captured_while_a_hook_is_there(tmp_path):
    device = accelerator()
    if device.type != "cuda":
        pytest.skip("graphs are captured on CUDA devices alone")
    model = torch.nn.Linear(4, 4).to(device)
    x = torch.ones(2, 4, device=device)
    with hook_for(tmp_path / "run") as hook:
        hook.register_module(model)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side), torch.no_grad():
            model(x)  # outside of the graph: what a first call needs is there
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            y = model(x)
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(y, torch.nn.functional.linear(x, model.weight, model.bias))
    assert any("graph" in reason for reason in hook.status().skipped.values())
