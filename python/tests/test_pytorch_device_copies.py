"""Tensors on a device, against the accelerator of stand_in_accelerator.py."""

import os
import threading

import numpy as np
import pytest
import stand_in_accelerator
import torch
from recorded_runs import contents, frame, record, statistics
from stand_in_accelerator import UNWRITTEN

import smdebug.pytorch as smd
from conftest import Given, Net, read, run_script, train
from smdebug.pytorch.device import device_copies, pinned_memory
from smdebug.pytorch.step_series import StepSeries
from smdebug.pytorch.trainers.trainer_hook import TrainerHook
from smdebug.rules import Rule

EVERY_STEP = smd.SaveConfig(save_interval=1)
EVERYTHING = ["all", "buffers", "optimizer_state", "learning_rate", "activation_gradients"]


@pytest.fixture
def device():
    with stand_in_accelerator.at_work() as accelerator:
        yield accelerator


class InPlace(torch.nn.Module):
    """What modules give is overwritten by the next one, and a running mean by each call."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.relu = torch.nn.ReLU(inplace=True)
        self.last = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.relu(self.norm(self.fc(x))))


def train_in_modes(model, hook):
    """Four steps of training with a validation in between; returns the losses."""
    torch.manual_seed(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    criterion = torch.nn.CrossEntropyLoss()
    if hook:
        hook.register_module(model)
        hook.register_loss(criterion)
    losses = []
    for step in range(4):
        if hook:
            hook.set_mode(smd.modes.TRAIN)
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        if hook:
            hook.save_scalar("number", step)
        losses.append(loss.item())
        if step == 1:
            if hook:
                hook.set_mode(smd.modes.EVAL)
            model.eval()
            with torch.inference_mode():
                model(torch.randn(2, 4))
    return losses


def test_a_sparse_tensor_on_a_device_is_saved_as_a_dense_one(out_dir, device):
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP) as hook:
        hook.save_tensor("coo", torch.eye(3).to_sparse())
    assert hook.status().skipped == {}
    np.testing.assert_array_equal(read(out_dir).tensor("coo").value(0), np.eye(3))


def made_with_seed(make):
    torch.manual_seed(0)
    return make()


def recorded(folder, make=InPlace, **options):
    options = {"include_collections": EVERYTHING, "save_config": EVERY_STEP, **options}
    with smd.Hook(str(folder), **options) as hook:
        losses = train_in_modes(made_with_seed(make), hook)
    return read(str(folder)), losses, hook


# --- the same run ---


@pytest.mark.parametrize("make", [Net, InPlace])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradients": "final"},
        {"step_on": "optimizer"},
        {"save_config": smd.SaveConfig(save_interval=2)},
        {"reduction_config": smd.ReductionConfig(reductions=["min", "median"], norms=["l1"])},
    ],
    ids=lambda options: next(iter(options), "every step"),
)
def test_a_run_is_the_one_that_tensors_in_host_memory_give(tmp_path, make, options):
    host, _, _ = recorded(tmp_path / "host", make, **options)
    with stand_in_accelerator.at_work() as device:
        run, _, hook = recorded(tmp_path / "device", make, **options)
    assert device.copied > 30 and device.copied_at_once == 0
    assert hook.status().error is None and hook.status().skipped == {}
    assert frame(run) == frame(host)
    assert statistics(run) == statistics(host)
    if "reduction_config" not in options:
        assert contents(run) == contents(host)
    for name in host.tensor_names():
        for mode in host.modes():
            for step in host.tensor(name).steps(mode=mode):
                found, expected = (
                    each.tensor(name).reduction_values(step, mode=mode) for each in (run, host)
                )
                assert found == expected, name


def test_the_training_is_the_same_with_and_without_a_hook(tmp_path, device):
    bare = train_in_modes(made_with_seed(InPlace), None)
    _, losses, _ = recorded(tmp_path / "run")
    assert losses == bare


def test_elements_of_every_kind_arrive_as_they_are(tmp_path):
    base = torch.arange(24.0).reshape(2, 3, 4)
    number = torch.tensor([[1 + 2j, 3 - 4j], [0j, 5 + 0j]])
    tensors = [
        base.transpose(0, 2),
        base[:, ::2, 1:],
        base[0, 0].expand(3, 4),
        torch.tensor(5.0),
        torch.zeros(0, 3),
        number.conj(),
        number.conj().imag,
        *(
            base.to(dtype)
            for dtype in (torch.bfloat16, torch.float8_e5m2, torch.float64, torch.bool, torch.uint8)
        ),
    ]
    host, _ = record(str(tmp_path / "host"), *tensors)
    with stand_in_accelerator.at_work() as device:
        run, hook = record(str(tmp_path / "device"), *tensors)
    assert device.copied >= len(tensors) - 1 and hook.status().skipped == {}
    assert contents(run) == contents(host) and frame(run) == frame(host)


def test_a_shard_on_a_device_keeps_its_place_in_the_whole(tmp_path):
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        whole = torch.arange(6.0).reshape(3, 2)
        tensor = distribute_tensor(whole, init_device_mesh("cpu", (1,)), [Shard(0)])
        host, _ = record(str(tmp_path / "host"), tensor)
        with stand_in_accelerator.at_work() as device:
            run, hook = record(str(tmp_path / "device"), tensor)
    finally:
        torch.distributed.destroy_process_group()
    assert device.copied > 0 and hook.status().skipped == {}
    assert contents(run) == contents(host)
    place = run.tensor("Given_output_0").placement(0)
    assert place is not None and place == host.tensor("Given_output_0").placement(0)


# --- waiting ---


def test_a_saved_step_has_one_event_and_is_waited_for_once(out_dir, device):
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=3))
    model = Net()
    hook.register_module(model)
    seen = []
    train(model, 7, on_step=lambda step: seen.append((len(device.events), device.waits)))
    # Steps 0, 3 and 6 are saved; each is waited for when the next one begins.
    assert seen == [(1, 0), (1, 1), (1, 1), (2, 1), (2, 2), (2, 2), (3, 2)]
    hook.close()
    assert (len(device.events), device.waits) == (3, 3)
    assert hook.cost().wait_seconds > 0


def assert_records_in_peace(hook):
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    assert hook.status().error is None and hook.status().skipped == {}


def test_nothing_is_asked_of_the_device_where_tensors_lie_in_host_memory(out_dir):
    class Refuses:
        def __getattr__(self, name):
            raise AssertionError(f"{name} was asked")

    with stand_in_accelerator.at_work():
        device_copies.TorchAccelerator = Refuses
        hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    assert_records_in_peace(hook)


def test_a_hook_looks_for_no_accelerator_before_a_tensor_lies_on_one(out_dir, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("it was looked for")

    for name in ("is_available", "current_accelerator", "current_stream"):
        monkeypatch.setattr(torch.accelerator, name, refuse)
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    assert_records_in_peace(hook)


def test_what_is_asked_of_torch_is_there(monkeypatch):
    here = torch.device("xpu", 1)
    assert not device_copies.TorchAccelerator().serves(here)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("xpu"))
    monkeypatch.setattr(torch.accelerator, "current_stream", lambda device: f"of {device}")
    accelerator = device_copies.TorchAccelerator()
    assert accelerator.serves(here) and not accelerator.serves(torch.device("cpu"))
    assert not accelerator.is_recorded(here)
    source, copy = torch.ones(2), torch.zeros(2)
    assert accelerator.copy(source, copy) == "of cpu" and copy.tolist() == [1, 1]
    for owner, name in (
        (torch.Event, "record"),
        (torch.Event, "synchronize"),
        (torch.cuda, "is_current_stream_capturing"),
    ):
        assert callable(getattr(owner, name))


def test_each_stream_that_copies_has_its_event(out_dir, device):
    class OnTwoStreams(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x):
            device.stream = "side"
            y = self.one(x)
            device.stream = "stream"
            return self.other(y)

    model = made_with_seed(OnTwoStreams)
    with smd.Hook(out_dir, include_regex=["output"], save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        x = torch.ones(1, 2)
        y = model.one(x)
        model(x)
    assert len(device.events) == 2
    assert read(out_dir).tensor("one_output_0").value(0).tolist() == y.tolist()


def test_tensors_may_be_put_by_another_thread(out_dir, device):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    x = torch.randn(3, 4)
    model(x)
    thread = threading.Thread(target=hook.record_tensor_value, args=("late", torch.ones(2)))
    thread.start()
    thread.join()
    hook.close()
    assert read(out_dir).tensor("late_output_0").value(0).tolist() == [1, 1]


def test_rules_are_asked_when_the_values_are_there(out_dir, device):
    class LooksAtValues(Rule):
        seen = []

        def __init__(self, base_trial):
            super().__init__(base_trial)

        def set_required_tensors(self, step):
            for name in self.base_trial.tensor_names(regex="^gradient/.*weight"):
                self.req_tensors.add(name, steps=[step])

        def invoke_at_step(self, step):
            values = [
                self.base_trial.tensor(name).value(step)
                for name in self.base_trial.tensor_names(regex="^gradient/.*weight")
            ]
            self.seen.append([value.tobytes() for value in values])
            return step == 1

    gradients, moved = [], []
    hook = smd.Hook(
        out_dir,
        include_collections=["gradients"],
        save_config=EVERY_STEP,
        rules=[LooksAtValues],
        on_fire="skip_step",
    )
    model = Net()
    hook.register_module(model)

    def note(step):
        gradients.append(
            [
                parameter.grad.numpy().tobytes()
                for name, parameter in model.named_parameters()
                if "weight" in name
            ]
        )
        moved.append([parameter.detach().clone() for parameter in model.parameters()])

    train(model, 3, on_step=note)
    hook.close()
    assert hook.status().error is None
    assert hook.skipped_steps == [1]
    assert LooksAtValues.seen[:3] == gradients
    assert all(map(torch.equal, moved[1], moved[2])) and not torch.equal(moved[0][0], moved[1][0])


def test_a_trainers_step_holds_its_tensors_when_it_ends(out_dir, device):
    model = Net()
    hook = TrainerHook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.attach_to(model)
    hook.begin_update()
    x = torch.randn(3, 4)
    y = model(x)
    hook.add_loss(y.sum())
    hook.end_step()
    hook.flush()
    run = read(out_dir)
    assert run.tensor("fc2_output_0").value(0).tolist() == y.tolist()
    assert run.tensor("loss_output_0").value(0) == y.sum().item()
    hook.close()


# --- nothing is lost ---


def test_the_last_step_is_there_after_an_exception(out_dir, device):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    with pytest.raises(ZeroDivisionError):
        train(model, 3, on_step=lambda step: 1 // (1 - step))
    assert device.waits == 1
    hook.close()
    run = read(out_dir)
    assert run.steps() == [0, 1]
    expected = model.fc2.weight.grad.numpy()
    np.testing.assert_array_equal(run.tensor("gradient/Net_fc2.weight").value(1), expected)


def test_the_last_step_is_there_when_the_program_just_ends(tmp_path, out_dir):
    here = os.path.dirname(__file__)
    run_script(
        tmp_path,
        f"""
        import sys
        sys.path.insert(0, {here!r})
        import stand_in_accelerator, torch, smdebug.pytorch as smd
        work = stand_in_accelerator.at_work()
        work.__enter__()
        model = torch.nn.Linear(2, 2)
        torch.nn.init.ones_(model.weight)
        hook = smd.Hook(sys.argv[1], save_all=True)
        hook.register_module(model)
        model(torch.ones(1, 2)).sum().backward()
        """,
        arguments=[out_dir],
    )
    run = read(out_dir)
    assert run.tensor("Linear_weight").value(0).tolist() == [[1, 1], [1, 1]]
    assert run.tensor("gradient/Linear_bias").value(0).tolist() == [1, 1]


def test_a_step_that_needs_more_memory_than_there_is_waits_in_between(
    tmp_path, device, monkeypatch
):
    sizes = [300, 100, 800, 5000, 200, 0, 1024, 1]
    tensors = [torch.arange(float(size)) for size in sizes]
    monkeypatch.setattr(pinned_memory, "_FIRST_BLOCK_BYTES", 1024)
    monkeypatch.setattr(device_copies.DeviceCopies.__init__, "__defaults__", (None, 4096))
    run, hook = record(str(tmp_path / "run"), *tensors)
    assert hook.status().skipped == {}
    assert device.waits > 1
    assert device.copied_at_once >= 1  # 5000 floats never fit
    for number, tensor in enumerate(tensors):
        if sizes[number]:
            assert run.tensor(f"Given_output_{number}").value(0).tolist() == tensor.tolist()


def test_in_a_child_of_a_fork_nothing_is_waited_for(out_dir, device):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    model(torch.randn(3, 4))
    child = os.fork()
    if child == 0:
        model(torch.randn(3, 4))
        hook.close()
        os._exit(10 + device.waits)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
    hook.close()
    assert device.waits == 1 and read(out_dir).steps() == [0]


# --- what goes wrong ---


@pytest.mark.parametrize("fails_at", ["copy", "event"])
def test_where_copies_cannot_be_begun_they_are_made_at_once(tmp_path, device, logged, fails_at):
    device.fails_at = fails_at
    run, _, hook = recorded(tmp_path / "device")
    assert device.copied_at_once > 30 and hook.status().skipped == {}
    assert len([line for line in logged if f"no {fails_at} today" in line]) == 1
    stand_in_accelerator._at_work = None
    host, _, _ = recorded(tmp_path / "host")
    assert contents(run) == contents(host)


def test_what_a_broken_device_does_not_give_is_said(out_dir, device):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    losses = train(model, 2, on_step=lambda step: setattr(device, "fails_at", "synchronize"))
    hook.close()
    assert len(losses) == 2
    status = hook.status()
    assert status.error is None
    assert "no synchronize today" in status.skipped["fc1_output_0"]
    assert read(out_dir).tensor("fc1_output_0").steps() == [1]


def test_the_copies_of_a_step_are_not_waited_for_while_a_graph_is_captured(out_dir, device):
    model = Given(torch.arange(2.0))
    with smd.Hook(out_dir, include_regex=["_output_"], save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        model()
        device.is_recording = True
        model()
        assert device.copied == 1 and device.waits == 0
        device.is_recording = False
        model()
        assert device.copied == 2 and device.waits == 1
    run = read(out_dir)
    assert run.steps() == [0, 1]  # the captured call is none
    assert run.tensor("Given_output_0").value(0).tolist() == [0, 1]


def test_a_graph_that_is_captured_is_left_alone(out_dir, device):
    device.is_recording = True
    _, hook = record(out_dir, torch.ones(2))
    assert device.copied == device.copied_at_once == 0
    assert "graph" in hook.status().skipped["Given_output_0"]


def test_memory_that_cannot_be_pinned_is_said_once(out_dir, device, logged, monkeypatch):
    def refuse(count_bytes):
        raise RuntimeError("no pinned memory today\nand a trace")

    monkeypatch.setattr(pinned_memory, "pinned", refuse)
    run, _ = record(out_dir, torch.ones(2), torch.zeros(1 << 19))
    assert run.tensor("Given_output_0").value(0).tolist() == [1, 1]
    assert [line for line in logged if "no pinned memory today" in line] == [
        "host memory for copies from the device cannot be pinned, so copies take longer: "
        "no pinned memory today"
    ]


# --- the memory ---


def test_memory_is_made_once_for_steps_of_one_size(out_dir, device, monkeypatch):
    made = []

    def allocate(count_bytes):
        made.append(count_bytes)
        return torch.empty(count_bytes, dtype=torch.uint8)

    monkeypatch.setattr(pinned_memory, "pinned", allocate)
    monkeypatch.setattr(pinned_memory, "_FIRST_BLOCK_BYTES", 1024)
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    model = Net()
    hook.register_module(model)
    in_step = []
    train(model, 5, on_step=lambda step: in_step.append(len(made)))
    hook.close()
    assert in_step[0] > 1  # grown piece by piece
    assert in_step[1:] == [in_step[0] + 1] * 4  # then one piece for all


def test_memory_that_a_prediction_made_serves_a_training(out_dir, device):
    model = Given(torch.ones(3, dtype=torch.uint8))
    with smd.Hook(out_dir, include_regex=["_output_"], save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        with torch.inference_mode():
            model()
        model()
    assert device.copied == 2 and device.copied_at_once == 0
    assert read(out_dir).tensor("Given_output_0").value(1).tolist() == [1, 1, 1]


def test_pieces_of_memory_never_overlap_and_never_exceed_the_limit():
    seed = 20240117
    random = np.random.default_rng(seed)
    for most_bytes in (0, 4096, 1 << 20, 3 << 20):
        memory = pinned_memory.PinnedMemory(most_bytes)
        for _ in range(30):
            spans = []
            for _ in range(random.integers(1, 20)):
                shape = tuple(int(each) for each in random.integers(0, 60, random.integers(0, 4)))
                dtype = [torch.uint8, torch.float32, torch.complex128][random.integers(3)]
                piece = memory.allocate(shape, dtype)
                assert memory.held_bytes <= most_bytes
                if piece is None:
                    continue
                assert piece.shape == shape and piece.dtype == dtype and piece.is_contiguous()
                if piece.nbytes:
                    spans.append((piece.data_ptr(), piece.data_ptr() + piece.nbytes, piece))
            spans.sort(key=lambda span: span[0])
            for one, other in zip(spans, spans[1:], strict=False):
                assert one[1] <= other[0], f"seed {seed}"
            memory.rewind()
        wanted = most_bytes // 2
        fits = memory.allocate((wanted,), torch.uint8) is not None
        assert fits == (wanted >= 512), f"seed {seed}: room came back"


def test_a_copy_is_not_read_before_it_is_there(out_dir, device):
    """The stand-in itself: a copy that nobody waited for holds nothing."""
    seen = []
    place = device_copies._Receiver(lambda copy: seen.append(copy.tolist()))
    copies = device_copies.DeviceCopies()
    source = torch.tensor([1, 2], dtype=torch.uint8)
    assert copies.take(place, source)
    source.zero_()  # behind the copy
    assert copies._under_way[0][1].tolist() == [UNWRITTEN, UNWRITTEN] and seen == []
    copies.hand_over()
    assert seen == [[1, 2]]


def test_of_an_expanded_tensor_each_element_is_copied_once(out_dir, device):
    tensors = [torch.arange(3.0).expand(500, 3), torch.arange(4.0).reshape(2, 1, 2).expand(2, 9, 2)]
    model = Given(*tensors)
    with smd.Hook(out_dir, include_regex=["_output_"], save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        model()
    assert device.copied_bytes == [12, 16]
    assert hook.status().skipped == {} and hook.status().error is None
    for number, tensor in enumerate(tensors):
        saved = read(out_dir).tensor(f"Given_output_{number}").value(0)
        np.testing.assert_array_equal(saved, tensor.numpy())


class OnDevice:
    """A loss that torch reports to be on a device."""

    is_cpu = False

    def __init__(self, value):
        self._value = torch.tensor(value)
        self.device = self._value.device

    def detach(self):
        return self._value


class ScaleOnDevice(OnDevice):
    """A scale that torch reports to be on a device and then changes in place."""

    def change_to(self, value):
        self._value.fill_(value)


def test_scales_and_skipped_updates_are_copied_with_the_next_saved_step(device, tmp_path):
    folder = str(tmp_path / "run")
    hook = smd.Hook(
        folder, include_collections=["weights"], save_config=smd.SaveConfig(save_interval=5)
    )
    model = Net()
    hook.register_module(model)
    series = StepSeries(hook._session, hook._device_copies, "loss")
    scale = ScaleOnDevice(0.0)
    waits = []
    for step in range(13):
        series.end_step()
        model(torch.zeros(2, 4))
        scale.change_to(2.0**step)
        # Two optimizers: the second one finds an infinity in step 7.
        series.note_scaler(scale, [torch.tensor(0.0), torch.tensor(float(step == 7))])
        waits.append(device.waits)
    series.close()
    hook.close()
    trial = read(folder)
    assert trial.series("gradient_scale") == [(step, 2.0**step) for step in range(13)]
    assert trial.series("update_skipped") == [(step, step == 7) for step in range(13)]
    grew = [step for step in range(1, 13) if waits[step] > waits[step - 1]]
    assert grew == [1, 6, 11]


class OutputOnDevice(OnDevice):
    """What a loss module returns, which a script then changes in place."""

    def numel(self):
        return self._value.numel()

    def is_complex(self):
        return False

    def change(self):
        self._value.fill_(-1.0)


def test_losses_of_evaluation_are_copied_without_waiting(device, tmp_path):
    folder = str(tmp_path / "run")
    hook = smd.Hook(
        folder, include_collections=["weights"], save_config=smd.SaveConfig(save_interval=5)
    )
    model = Net()
    hook.register_module(model)
    series = StepSeries(hook._session, hook._device_copies, "loss")
    hook.set_mode(smd.modes.EVAL)
    waits = []
    for step in range(13):
        series.end_step()
        model(torch.zeros(2, 4))
        output = OutputOnDevice(float(step) / 8)
        series.note_evaluation("L1Loss", output)
        output.change()
        waits.append(device.waits)
    series.close()
    hook.close()
    expected = [(step, step / 8) for step in range(13)]
    assert read(folder).series("L1Loss_output_0", mode=smd.modes.EVAL) == expected
    grew = [step for step in range(1, 13) if waits[step] > waits[step - 1]]
    assert grew == [1, 6, 11]


def test_losses_of_steps_between_saved_ones_are_copied_with_the_next_saved_step(device, tmp_path):
    folder = str(tmp_path / "run")
    hook = smd.Hook(
        folder, include_collections=["weights"], save_config=smd.SaveConfig(save_interval=5)
    )
    model = Net()
    hook.register_module(model)
    series = StepSeries(hook._session, hook._device_copies, "loss")
    waits = []
    for step in range(13):
        series.end_step()
        model(torch.zeros(2, 4))
        series.note_loss(OnDevice(float(step) / 8))
        waits.append(device.waits)
    series.close()
    hook.close()
    assert read(folder).series("loss_output_0") == [(step, step / 8) for step in range(13)]
    # The training waits at the end of saved steps only.
    grew = [step for step in range(1, 13) if waits[step] > waits[step - 1]]
    assert grew == [1, 6, 11]
