"""How tensors get in: every dtype, any strides, and those that cannot be read."""

import warnings

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Given, read
from smdebug import _core

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.bool,
    torch.complex64,
    torch.complex128,
]


def record(out_dir, *tensors):
    """Records tensors as outputs; returns the run and the hook's status."""
    model = Given(*tensors)
    hook = smd.Hook(out_dir, include_regex=["_output_"])
    hook.register_module(model)
    model()
    hook.close()
    return read(out_dir), hook.status()


def value(trial, index):
    return trial.tensor(f"Given_output_{index}").value(0)


def as_bytes(tensor):
    return bytes(tensor.contiguous().flatten().view(torch.uint8).tolist())


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_every_dtype_arrives_bit_by_bit(out_dir, dtype):
    tensor = torch.tensor([[0, 1, 2], [1, 0, 1]]).to(dtype)
    trial, status = record(out_dir, tensor)
    assert status.skipped == {}
    saved = value(trial, 0)
    assert saved.shape == (2, 3)
    assert str(saved.dtype) == str(dtype).removeprefix("torch.")
    assert saved.tobytes() == as_bytes(tensor)


def test_any_strides_arrive_in_c_order(out_dir):
    base = torch.arange(24.0).reshape(2, 3, 4)
    views = [
        base.transpose(0, 2),
        base[:, ::2, 1:],
        base[0, 0].expand(3, 4),
        base.permute(1, 2, 0)[1],
        torch.tensor(5.0),
        base[1:, 2, 3],
    ]
    trial, status = record(out_dir, *views)
    assert status.skipped == {}
    for index, view in enumerate(views):
        np.testing.assert_array_equal(value(trial, index), view.numpy())


def test_an_empty_tensor_is_known_by_its_name(out_dir):
    trial, status = record(out_dir, torch.zeros(0, 3), torch.ones(2, 2)[:0])
    assert status.skipped == {} and status.error is None
    assert trial.tensor_names() == ["Given_output_0", "Given_output_1"]


def test_lazy_conjugates_and_negatives_are_resolved(out_dir):
    number = torch.tensor([1 + 2j, 3 - 4j])
    views = [number.conj(), number.conj().imag, number[:1].conj().imag]
    assert views[0].is_conj() and views[1].is_neg() and views[2].is_neg()
    trial, _ = record(out_dir, *views)
    assert value(trial, 0).tolist() == [1 - 2j, 3 + 4j]
    assert value(trial, 1).tolist() == [-2.0, 4.0]
    assert value(trial, 2).tolist() == [-2.0]


def test_what_cannot_be_read_is_said_once_and_skipped(out_dir, capfd):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.empty(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)
    unreadable = [torch.empty(3, device="meta"), quantized, fake]
    model = Given(*unreadable, torch.ones(2))
    hook = smd.Hook(
        out_dir, include_regex=["_output_"], save_config=smd.SaveConfig(save_interval=1)
    )
    hook.register_module(model)
    for _ in range(3):
        model()
    hook.close()
    skipped = hook.status().skipped
    assert set(skipped) == {f"Given_output_{index}" for index in range(3)}
    assert all(skipped.values()) and hook.status().error is None
    assert capfd.readouterr().err.count("'Given_output_1' is not saved") == 1
    assert value(read(out_dir), 3).tolist() == [1.0, 1.0]


def test_tensors_of_numpy_are_taken_too(out_dir):
    config = _core.HookConfig(
        out_dir,
        include_regex=["."],
        include_collections=[],
        save_all=False,
        dry_run=False,
        all_workers=False,
        collections=[],
    )
    session = _core.Session.create(config, _core.pytorch_framework(), [], {}, {})
    arrays = {
        "plain": np.arange(6.0).reshape(2, 3),
        "strided": np.arange(24, dtype=np.int16).reshape(2, 3, 4)[:, ::-1, ::2],
        "half": np.ones(3, np.float16),
        "complex": np.array([1 + 2j]),
        "flag": np.array(True),
    }
    session.begin_step()
    for name, array in arrays.items():
        session.tensor(name).put(array)
    session.tensor("text").put("not a tensor")
    session.tensor("records").put(np.zeros(2, dtype=[("a", "f4")]))
    session.close()
    assert set(session.status().skipped) == {"text", "records"}
    trial = read(out_dir)
    for name, array in arrays.items():
        np.testing.assert_array_equal(trial.tensor(name).value(0), array)
